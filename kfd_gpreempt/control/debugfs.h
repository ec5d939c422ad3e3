/* SPDX-License-Identifier: MIT */
/* debugfs.h - dump and queues in debugfs */
#ifndef GPREEMPT_DEBUGFS_H
#define GPREEMPT_DEBUGFS_H

extern const struct gpreempt_room gpreempt_room_debugfs;

#endif /* GPREEMPT_DEBUGFS_H */
