/* SPDX-License-Identifier: MIT */
/* sysfs.h - the files of a node */
#ifndef GPREEMPT_SYSFS_H
#define GPREEMPT_SYSFS_H

#include <linux/completion.h>
#include <linux/kobject.h>
#include <linux/types.h>

struct gpreempt_node;
struct gpreempt_queue;
struct gpreempt_process;

/* What sysfs.c keeps of a node, and writes alone. */
struct gpreempt_node_sysfs {
	/** @kobj: its directory in sysfs */
	struct kobject kobj;
	/** @released: the last user of the directory is gone */
	struct completion released;
	/** @added: the directory exists */
	bool added;
};

void gpreempt_sysfs_add(struct gpreempt_node *gn);
void gpreempt_sysfs_del(struct gpreempt_node *gn);
void gpreempt_sysfs_init(void);
void gpreempt_sysfs_exit(void);

#endif /* GPREEMPT_SYSFS_H */
