/* SPDX-License-Identifier: MIT */
/*
 * turn.h - turns of those that are owed service
 *
 * Pure code: see policy.h for what may be used here.
 */
#ifndef GPREEMPT_TURN_H
#define GPREEMPT_TURN_H

#include "demand.h"

void gpreempt_turn_find(struct gpreempt_policy_node *pn, u64 now_ns);

/* When its turn ends, if no work ends it before. */
static inline u64 turn_ends(const struct gpreempt_policy_queue *q, u64 now_ns)
{
	const struct gpreempt_policy_process *p = q->process;

	return gpreempt_earlier(p->turn_until_ns,
				p->turn_leads ? now_ns + p->debt_ns : GPREEMPT_FOREVER_NS);
}

#endif /* GPREEMPT_TURN_H */
