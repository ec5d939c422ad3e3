/* SPDX-License-Identifier: MIT */
/* hqd.h - asks a hardware queue to save its waves */
#ifndef GPREEMPT_HQD_H
#define GPREEMPT_HQD_H

#include <linux/types.h>

struct gpreempt_node;
struct gpreempt_queue;
struct gpreempt_process;
struct kfd_node;

void gpreempt_hqd_ask(struct kfd_node *node, u32 pipe, u32 queue);

#endif /* GPREEMPT_HQD_H */
