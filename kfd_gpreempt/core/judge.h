/* SPDX-License-Identifier: MIT */
/*
 * judge.h - what becomes of a queue at a level, and until when
 *
 * Pure code: see policy.h for what may be used here.
 */
#ifndef GPREEMPT_JUDGE_H
#define GPREEMPT_JUDGE_H

#include "budget.h"
#include "level.h"

void gpreempt_judge_inversion(const struct gpreempt_policy_node *pn, struct level *level,
			      u64 now_ns, bool assume);
enum gpreempt_action gpreempt_judge_try(const struct gpreempt_policy_node *pn,
					struct gpreempt_policy_queue *q, const struct level *level,
					u64 now_ns);
enum gpreempt_verdict gpreempt_judge(const struct gpreempt_policy_node *pn,
				     struct gpreempt_policy_queue *q, const struct level *level,
				     u64 now_ns);
u64 gpreempt_judge_until(const struct gpreempt_policy_node *pn,
			 const struct gpreempt_policy_queue *q, const struct level *level,
			 u64 now_ns);
u64 gpreempt_judge_outranked_until(const struct gpreempt_policy_node *pn,
				   const struct gpreempt_policy_queue *q, const struct level *level,
				   u64 now_ns);

/* The owners of turns pay in service, and from no budget. */
static inline bool judge_pays_in_service(const struct gpreempt_policy_node *pn,
					 const struct level *level)
{
	return level->relief || pn->ops->rotates;
}

/* How long has what is at the level to wait before others are taken off for it? */
static inline u64 judge_budget_wait(const struct gpreempt_policy_node *pn,
				    const struct level *level, u64 now_ns)
{
	return judge_pays_in_service(pn, level) ?
		       0 : gpreempt_budget_wait(pn, level->priority, now_ns);
}

/* Most often there is nothing else to say: it is preempted for its rank, and stays so. */
static inline bool judge_preempted_for_rank(const struct gpreempt_policy_queue *q)
{
	return q->preempted && level_outranked(q) && !q->kept_off;
}

static inline enum gpreempt_verdict
judge_verdict_of_outranked(const struct gpreempt_policy_node *pn,
			   const struct gpreempt_policy_queue *q)
{
	if (q->process->level_mark == pn->mark)
		return GPREEMPT_VERDICT_OWN_PROCESS;
	return pn->jobs && q->pass.spins ? GPREEMPT_VERDICT_JOB_YIELDS : GPREEMPT_VERDICT_YIELDS;
}

/* It has no work, and is left on the device. */
static inline enum gpreempt_verdict judge_verdict_of_idle(const struct gpreempt_policy_queue *q)
{
	if (q->seen.driver_off)
		return GPREEMPT_VERDICT_DRIVER;
	if (q->seen.blocked)
		return GPREEMPT_VERDICT_BLOCKED;
	if (q->set.unseen)
		return GPREEMPT_VERDICT_UNSEEN;
	return q->verdict == GPREEMPT_VERDICT_DORMANT ? GPREEMPT_VERDICT_DORMANT :
							GPREEMPT_VERDICT_NO_DEMAND;
}

static inline void judge_give_verdict(struct gpreempt_policy_queue *q,
				      enum gpreempt_verdict verdict, u64 now_ns)
{
	if (q->verdict == verdict)
		return;
	q->verdict = verdict;
	q->verdict_ns = now_ns;
}

/* It leaves the device, or would if its node did not only observe. */
static inline void judge_leave(struct gpreempt_policy_queue *q)
{
	/*
	 * What is taken off on request comes back when that ends: no higher work was there, so none
	 * is expected back.
	 */
	if (q->kept_off)
		q->outranked_ns = 0;
	q->aged_until_ns = 0;
	q->drain_skip -= !!q->drain_skip;
	q->drains = false;
}

#endif /* GPREEMPT_JUDGE_H */
