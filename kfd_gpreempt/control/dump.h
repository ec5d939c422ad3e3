/* SPDX-License-Identifier: MIT */
/* dump.h - everything about a node, as text */
#ifndef GPREEMPT_DUMP_H
#define GPREEMPT_DUMP_H

#include <linux/types.h>

struct gpreempt_node;
struct gpreempt_queue;
struct gpreempt_process;
struct drm_printer;

void gpreempt_dump(struct gpreempt_node *gn, struct drm_printer *p, u32 max_queues);
void gpreempt_dump_log(struct gpreempt_node *gn);

#endif /* GPREEMPT_DUMP_H */
