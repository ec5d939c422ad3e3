/* SPDX-License-Identifier: MIT */
/* queue_sysfs.h - the files of a queue */
#ifndef GPREEMPT_QUEUE_SYSFS_H
#define GPREEMPT_QUEUE_SYSFS_H

#include <linux/types.h>

struct gpreempt_node;
struct gpreempt_queue;
struct gpreempt_process;
struct queue;

const char *gpreempt_queue_sysfs_state(const struct gpreempt_queue *gq, u64 pending);

#endif /* GPREEMPT_QUEUE_SYSFS_H */
