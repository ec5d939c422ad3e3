/* SPDX-License-Identifier: MIT */
/* life.h - a node is switched on and off, paused and brought back */
#ifndef GPREEMPT_LIFE_H
#define GPREEMPT_LIFE_H

#include <linux/types.h>

struct gpreempt_node;
struct gpreempt_queue;
struct gpreempt_process;
struct task_struct;

/* What life.c keeps of a node, and writes alone. */
struct gpreempt_node_life {
	/** @reason: why not */
	const char *reason;
	/** @reason_logged: the reason has been logged */
	bool reason_logged;
	/** @accepting: new queues are registered, under gpreempt_lock */
	bool accepting;
	/**
	 * @wanted: switched on; changed under gpreempt_lifecycle. False where there is no backend.
	 */
	bool wanted;
	/**
	 * @thread: the monitor; NULL while switched off. Changed under gpreempt_lock. It ends only
	 * after it is NULL, so a reader of RCU may wake it.
	 */
	struct task_struct *thread;
	/**
	 * @paused: the driver suspends the device or resets it, or is about to. Set before
	 * @pass_lock is taken, so that a later holder knows, and cleared under it
	 */
	bool paused;
};

void gpreempt_life_enable(bool on);
int gpreempt_life_enable_node(struct gpreempt_node *gn, bool on);
void gpreempt_life_add(struct gpreempt_node *gn);
void gpreempt_life_remove(struct gpreempt_node *gn);
void gpreempt_life_init_node(struct gpreempt_node *gn);

#endif /* GPREEMPT_LIFE_H */
