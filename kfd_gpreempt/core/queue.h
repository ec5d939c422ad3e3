/* SPDX-License-Identifier: MIT */
/* queue.h - which queues exist on a node */
#ifndef GPREEMPT_QUEUE_H
#define GPREEMPT_QUEUE_H

#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/srcu.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct gpreempt_node;
struct gpreempt_queue;
struct gpreempt_process;

/* What queue.c keeps of a node, and writes alone. */
struct gpreempt_node_queues {
	/** @list: registered queues; written under gpreempt_lock, read under @srcu */
	struct list_head list;
	/** @srcu: protects the readers of @queues: passes, dumps, lists of queues, pace.c */
	struct srcu_struct srcu;
	/** @processes: their processes, under gpreempt_lock */
	struct list_head processes;
	/** @by_pid: the same by PID; written under gpreempt_lock, read under @srcu */
	DECLARE_HASHTABLE(by_pid, 6);
	/** @nr: length of @queues, written under gpreempt_lock */
	u32 nr;
	/** @nr_processes: length of @processes, written under gpreempt_lock */
	u32 nr_processes;
	/**
	 * @tends: there may be queues whose pointers gpreempt_queue_adopt() has to look after now
	 * and then
	 */
	bool tends;
	/**
	 * @adopt: registers queues that were there before switching on, and looks after the
	 * pointers of those that are registered
	 */
	struct delayed_work adopt;
	/** @renice: looks for changed nice values while the monitor is parked */
	struct delayed_work renice;
};

void gpreempt_queue_adopt_after(struct gpreempt_node *gn, unsigned int ms);
void gpreempt_queue_watch_nice(struct gpreempt_node *gn);
bool gpreempt_queue_adopt(struct gpreempt_node *gn);
void gpreempt_queue_unregister_all(struct gpreempt_node *gn);
int gpreempt_queue_init_node(struct gpreempt_node *gn);
void gpreempt_queue_stop(struct gpreempt_node *gn);
void gpreempt_queue_free_node(struct gpreempt_node *gn);

#endif /* GPREEMPT_QUEUE_H */
