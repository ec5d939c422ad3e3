/* SPDX-License-Identifier: MIT */
/*
 * debt.h - service that processes are owed by those above them
 *
 * Pure code: see policy.h for what may be used here.
 */
#ifndef GPREEMPT_DEBT_H
#define GPREEMPT_DEBT_H

#include "policy.h"

/* All time, in parts of it */
#define GPREEMPT_DEBT_ONE	(1U << 20)

void gpreempt_debt_account(struct gpreempt_policy_node *pn, u64 now_ns);
void gpreempt_debt_outranked(struct gpreempt_policy_node *pn, struct gpreempt_policy_process *p,
			     u64 now_ns);
u64 gpreempt_debt_phi(const struct gpreempt_policy_params *params);
u64 gpreempt_debt_switch_ns(const struct gpreempt_policy_node *pn);
u64 gpreempt_debt_turn_ns(const struct gpreempt_policy_node *pn);
u32 gpreempt_debt_classes(const struct gpreempt_policy_node *pn,
			  const struct gpreempt_policy_process *p, u32 nr_above);
u64 gpreempt_debt_of_class(const struct gpreempt_policy_node *pn, u32 nr, u32 nr_above);
u64 gpreempt_debt_until(const struct gpreempt_policy_node *pn,
			const struct gpreempt_policy_queue *q, u64 now_ns);

/* For whom does its process work, if it is in no job? */
static inline struct gpreempt_policy_tenant *
gpreempt_debt_tenant_of_process(const struct gpreempt_policy_node *pn,
				  struct gpreempt_policy_process *p)
{
	if (p->group && pn->nr_entities)
		return &pn->entities[2 * p->group + 1].tenant;
	return p->user ? p->user : &p->alone;
}

/* For whom does it work? After a look; processes of a job wait for each other, so it has one. */
static inline struct gpreempt_policy_tenant *
gpreempt_debt_tenant_of(const struct gpreempt_policy_node *pn,
			  const struct gpreempt_policy_queue *q)
{
	const struct gpreempt_policy_job *job = q->process->job;

	return job && job->payer ? job->payer : gpreempt_debt_tenant_of_process(pn, q->process);
}

/* Is it due for a turn? Where ranks move, there are no classes for half a turn to be between. */
static inline bool gpreempt_debt_due(const struct gpreempt_policy_node *pn,
				     const struct gpreempt_policy_process *p)
{
	u64 turn_ns;

	if (!p->debt_ns)
		return false;
	turn_ns = gpreempt_debt_turn_ns(pn);
	return p->debt_ns >= (pn->ops->rotates ? turn_ns : turn_ns / 2);
}

#endif /* GPREEMPT_DEBT_H */
