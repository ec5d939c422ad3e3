/* SPDX-License-Identifier: MIT */
/* hold.h - preemption on request */
#ifndef GPREEMPT_HOLD_H
#define GPREEMPT_HOLD_H

#include <linux/list.h>
#include <linux/types.h>

struct gpreempt_node;
struct gpreempt_queue;
struct gpreempt_target_match;

/**
 * struct gpreempt_holder - what asks for preemptions: an open file, or a process on /dev/kfd
 * @holds: what it holds, under gpreempt_lock
 */
struct gpreempt_holder {
	struct list_head holds;
};

/* What hold.c keeps of a node, and writes alone. */
struct gpreempt_node_hold {
	/** @changed: of one of its queues, in this call; under gpreempt_lock */
	bool changed;
};

/* What hold.c keeps of a queue, and writes alone. */
struct gpreempt_queue_holds {
	/** @list: holds of it, under gpreempt_lock */
	struct list_head list;
	/**
	 * @from: the look with this number, or a later one, has taken in that there are; under
	 * gpreempt_lock
	 */
	u32 from;
};

extern struct gpreempt_holder gpreempt_own_holder;
void gpreempt_holder_init(struct gpreempt_holder *holder);
int gpreempt_hold(struct gpreempt_holder *holder, const struct gpreempt_target_match *match,
		  bool unbounded, u32 timeout_ms, u32 *nr_queues);
int gpreempt_unhold(struct gpreempt_holder *holder, const struct gpreempt_target_match *match,
		    u32 timeout_ms, u32 *nr_queues, u32 *nr_off);
void gpreempt_holder_release(struct gpreempt_holder *holder);

#endif /* GPREEMPT_HOLD_H */
