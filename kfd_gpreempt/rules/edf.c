// SPDX-License-Identifier: MIT
/*
 * edf.c - earliest deadline first
 *
 * Pure code: see policy.h for what may be used here.
 */
#include "core/policy.h"

static u64 edf_deadline_of(const struct gpreempt_policy_queue *q)
{
	return q->set.deadline_ns ? q->set.deadline_ns : q->process->deadline_ns;
}

/*
 * Queues with their process's deadline have its periods: the first one with work begins one. With
 * periods of their own one of many queues would always be due soon.
 */
static u64 edf_in_period(const struct gpreempt_policy_queue *q, u64 due_ns, u64 now_ns)
{
	struct gpreempt_policy_process *p = q->process;

	if (q->set.deadline_ns)
		return due_ns;
	if (p->due_ns <= now_ns)
		p->due_ns = due_ns;
	return p->due_ns;
}

/*
 * A queue that has work at the end of a period is late if that is work of the period. It is not if
 * it began after the period did, as the last decision saw it. It is not if packets have come since
 * that decision and the device has launched all older ones: a program whose period is its deadline
 * sends a request when the one before is due.
 */
static bool edf_is_late(const struct gpreempt_policy_queue *q, u64 deadline_ns)
{
	u64 came = q->seen.wptr - q->decided_wptr;

	return q->work_from_ns + deadline_ns <= q->due_ns && !(came && q->seen.pending <= came);
}

/*
 * A deadline counts from the first work after the last one has passed, so that it is a period as
 * well. Work starts with packets, so what is only assumed of waves is none. Work that is not done
 * in time is due again a period later: one that is always late must not keep the device for ever.
 */
static u64 edf_due(struct gpreempt_policy_queue *q, u64 deadline_ns, u64 now_ns)
{
	if (q->due_ns > now_ns)
		return q->due_ns;
	if (!q->pass.demand[0])
		return now_ns + deadline_ns;
	if (q->due_ns && q->had_demand) {
		q->missed += edf_is_late(q, deadline_ns);
		q->due_ns += ((now_ns - q->due_ns) / deadline_ns + 1) * deadline_ns;
	} else {
		q->due_ns = now_ns + deadline_ns;
	}
	q->due_ns = edf_in_period(q, q->due_ns, now_ns);
	return q->due_ns;
}

/* A job is due on all of its nodes when the first of its work is. */
static u64 edf_due_of_job(struct gpreempt_policy_queue *q, u64 now_ns)
{
	const struct gpreempt_policy_job *job = q->process->job;
	u64 deadline_ns = edf_deadline_of(q),
	    due_ns = deadline_ns ? edf_due(q, deadline_ns, now_ns) : GPREEMPT_FOREVER_NS;

	return job && job->due_elsewhere_ns && job->due_elsewhere_ns < due_ns ?
		       job->due_elsewhere_ns :
		       due_ns;
}

static void edf_rank(struct gpreempt_policy_node *pn, u64 now_ns)
{
	u32 i;

	for (i = 0; i < pn->nr; i++) {
		struct gpreempt_policy_queue *q = pn->queues[i];
		const struct gpreempt_policy_job *job = q->process->job;
		u64 due_ns = edf_due_of_job(q, now_ns);

		q->rank = due_ns == GPREEMPT_FOREVER_NS ? -GPREEMPT_RANK_RELIEF : -(s64)due_ns;
		q->own_rank = q->rank;
		q->orders = q->set.deadline_ns;
		q->standing = edf_deadline_of(q) || (job && job->dated_elsewhere);
	}
}

static void edf_decided(struct gpreempt_policy_node *pn, u64 now_ns)
{
	u32 i;

	for (i = 0; i < pn->nr; i++)
		pn->queues[i]->decided_wptr = pn->queues[i]->seen.wptr;
}

/* When the first deadline passes. */
static u64 edf_next_ns(const struct gpreempt_policy_node *pn, u64 now_ns)
{
	u64 next_ns = GPREEMPT_FOREVER_NS;
	u32 i;

	for (i = 0; i < pn->nr; i++) {
		const struct gpreempt_policy_queue *q = pn->queues[i];

		if (q->pass.demand[1] && q->due_ns > now_ns && q->due_ns - now_ns < next_ns)
			next_ns = q->due_ns - now_ns;
	}
	return next_ns;
}

const struct gpreempt_policy_ops gpreempt_policy_edf = {
	.name = "edf",
	.rotates = true,
	.dated = true,
	.rank = edf_rank,
	.decided = edf_decided,
	.next_ns = edf_next_ns,
};
