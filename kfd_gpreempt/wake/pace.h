/* SPDX-License-Identifier: MIT */
/* pace.h - runlists that programs ask for cost who asks */
#ifndef GPREEMPT_PACE_H
#define GPREEMPT_PACE_H

#include <linux/spinlock.h>
#include <linux/types.h>

struct gpreempt_node;
struct gpreempt_queue;
struct gpreempt_process;

/* What pace.c keeps of a node, and writes alone. */
struct gpreempt_node_pace {
	/** @lock: protects @due_ns; innermost */
	spinlock_t lock;
	/**
	 * @due_ns: when the next runlist that an outranked program asks for would be due without a
	 * burst
	 */
	s64 due_ns;
};

void gpreempt_pace_init_node(struct gpreempt_node *gn);

#endif /* GPREEMPT_PACE_H */
