/* SPDX-License-Identifier: MIT */
/* stopped.h - is a process stopped or frozen? */
#ifndef GPREEMPT_STOPPED_H
#define GPREEMPT_STOPPED_H

#include <linux/types.h>

struct gpreempt_node;
struct gpreempt_process;

bool gpreempt_stopped_matters(const struct gpreempt_process *process);
bool gpreempt_stopped(const struct gpreempt_process *process);
u64 gpreempt_stopped_within_ns(const struct gpreempt_node *gn, u64 ns);

#endif /* GPREEMPT_STOPPED_H */
