/* SPDX-License-Identifier: MIT */
/* debugfs.h - dump and queues in debugfs */
#ifndef GPREEMPT_DEBUGFS_H
#define GPREEMPT_DEBUGFS_H

struct gpreempt_node;
struct gpreempt_queue;
struct gpreempt_process;


extern const struct gpreempt_room gpreempt_room_debugfs;

#endif /* GPREEMPT_DEBUGFS_H */
