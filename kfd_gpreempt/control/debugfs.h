/* SPDX-License-Identifier: MIT */
/* debugfs.h - dump and queues in debugfs */
#ifndef GPREEMPT_DEBUGFS_H
#define GPREEMPT_DEBUGFS_H

struct gpreempt_node;
struct gpreempt_queue;
struct gpreempt_process;

void gpreempt_debugfs_init(void);
void gpreempt_debugfs_exit(void);
void gpreempt_debugfs_init(void);
void gpreempt_debugfs_exit(void);

#endif /* GPREEMPT_DEBUGFS_H */
