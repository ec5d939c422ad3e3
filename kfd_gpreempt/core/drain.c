// SPDX-License-Identifier: MIT
/*
 * drain.c - work that is about to end is waited for instead of being preempted
 *
 * Pure code: see policy.h for what may be used here.
 */
#include "demand.h"
#include "drain.h"
#include "level.h"

/* It waits for slots that others have: nothing of it is on the device yet. */
static bool drain_unstarted(const struct gpreempt_policy_queue *q, u64 now_ns)
{
	return q->seen.pending && q->seen.waves_ns == now_ns && !q->seen.waves &&
	       !q->seen.restore_since_ns;
}

/* So long victims may be waited for: what a save takes. 0: none was timed. */
static u64 drain_most(const struct gpreempt_policy_node *pn)
{
	return gpreempt_earlier(pn->params.drain_ns, pn->save_ns);
}

/* The mean length of its kernels while no queue was above it. 0: it is not known. */
static u64 drain_kernel_ns(const struct gpreempt_policy_queue *q, u64 now_ns)
{
	u64 launches = q->seen.rptr - q->seen.counted_rptr;

	if (q->drains)
		return q->drain_kernel_ns;
	return launches < GPREEMPT_KERNELS_LEAST ? 0 : (now_ns - q->seen.counted_ns) / launches;
}

/*
 * By its past it is about to end, or its kernels are so short that those above hardly notice them.
 * What has been running for longer is something else.
 */
static bool drain_may(const struct gpreempt_policy_queue *q, u64 most_ns, u64 now_ns)
{
	u64 began_ns = gpreempt_later(q->seen.launched_ns, q->seen.run_ns), kernel_ns;

	if (q->drain_skip || q->set.unseen ||
	    (now_ns - began_ns >= most_ns && !drain_unstarted(q, now_ns)))
		return false;
	if (q->seen.pending <= GPREEMPT_DRAIN_PACKETS)
		return true;
	kernel_ns = drain_kernel_ns(q, now_ns);
	return kernel_ns && kernel_ns <= most_ns / GPREEMPT_DRAIN_SHORT_SHARE;
}

/*
 * How much of the time since the last decision had those that are waited for? Of kernels whose
 * length is known it is as much as began.
 */
static u64 drain_charge(const struct gpreempt_policy_node *pn, u64 now_ns)
{
	u64 span_ns = now_ns - pn->drain.at_ns, sum_ns = 0;
	u32 i;

	if (!pn->drain.at_ns)
		return 0;
	for (i = 0; i < pn->nr; i++) {
		const struct gpreempt_policy_queue *q = pn->queues[i];
		u32 launches = (u32)q->seen.rptr - q->drain_rptr;

		if (!q->drains_now)
			continue;
		if (q->drain_kernel_ns && (launches || drain_unstarted(q, now_ns)))
			sum_ns += (u64)launches * q->drain_kernel_ns;
		else if (!drain_unstarted(q, now_ns))
			return span_ns;
	}
	return gpreempt_earlier(sum_ns, span_ns);
}

/* For how much longer may those at this level wait? */
static u64 drain_left(const struct gpreempt_policy_node *pn, const struct level *level, u64 now_ns)
{
	u64 most_ns = drain_most(pn), waited_ns = 0;

	if (pn->drain.begun && pn->drain.rank == level->rank)
		waited_ns = pn->drain.waited_ns + drain_charge(pn, now_ns);
	return waited_ns < most_ns ? most_ns - waited_ns : 0;
}

/* It has work on the device, and so has a higher one. */
static bool drain_has_to_go(const struct gpreempt_policy_queue *q, bool assume)
{
	return !demand_is_off(q) && q->pass.demand[assume] && level_outranked(q);
}

/**
 * gpreempt_drain_find() - do those that have to go take less by themselves than a pass would?
 * @pn: the node
 * @level: the level, which may preempt; its @drains, @preempts and @unstarted are set
 * @now_ns: time of the samples
 * @assume: the demand that counts
 *
 * A hardware pass takes the device from everyone. What has not begun is in no one's way, so until
 * then there is no hurry.
 */
void gpreempt_drain_find(const struct gpreempt_policy_node *pn, struct level *level, u64 now_ns,
			 bool assume)
{
	u64 most_ns = drain_most(pn);
	const struct gpreempt_policy_queue *q;

	/* Where waves do not show, neither does their end. Nodes of a job preempt together. */
	if (!most_ns || !pn->device.waves_known || pn->device.waves_saved || !pn->waves_seen ||
	    pn->device.turns_ns || pn->ops->rotates || pn->jobs || level->relief ||
	    now_ns < pn->drain.rest_until_ns)
		return;
	level->unstarted = true;
	for (q = pn->busy; q; q = q->pass.next_busy) {
		if (!drain_has_to_go(q, assume) ||
		    level_in_min_run(q, &pn->params, level, now_ns))
			continue;
		if (!drain_may(q, most_ns, now_ns))
			return;
		level->unstarted &= drain_unstarted(q, now_ns);
	}
	level->drains = drain_left(pn, level, now_ns);
	level->preempts = !level->drains;
}

/* It was waited for in vain: it has to be taken off all the same. */
static void drain_learn(struct gpreempt_policy_node *pn, struct gpreempt_policy_queue *q,
			u64 now_ns)
{
	q->drain_misses = gpreempt_earlier(q->drain_misses + GPREEMPT_DRAIN_MISS,
					   GPREEMPT_DRAIN_MISSES_MAX);
	q->drain_skip = (1 << q->drain_misses) - 1;
	q->drains = false;
	pn->drain.rest_until_ns = now_ns + GPREEMPT_DRAIN_REST_SHARE * pn->drain.waited_ns;
}

/*
 * The level is over: what was not taken off in its time need not have been. Returns whether there
 * was something.
 */
static bool drain_end(struct gpreempt_policy_node *pn, const struct level *level, u64 now_ns)
{
	bool over = !level->valid || level->rank < pn->drain.rank, drained = false;
	u32 i;

	for (i = 0; i < pn->nr + pn->nr_dormant; i++) {
		struct gpreempt_policy_queue *q = pn->queues[i];

		if (!q->drains)
			continue;
		drained |= over;
		q->drain_misses -= over && q->drain_misses;
		q->drains = false;
		demand_count_launches(q, now_ns);
	}
	pn->drain = (struct gpreempt_policy_drain){ .rest_until_ns = pn->drain.rest_until_ns };
	return drained;
}

/* It is waited for from now on, or still. */
static void drain_begin(struct gpreempt_policy_queue *q, u64 now_ns)
{
	q->drain_kernel_ns = drain_kernel_ns(q, now_ns);
	q->drain_rptr = q->seen.rptr;
	q->drains = true;
	q->drains_now = true;
}

/**
 * gpreempt_drain_note() - take in what the level waits for, and what came of its waits before
 * @pn: the node
 * @level: the level
 * @now_ns: time of the samples
 * @decision: its @drained is set
 */
void gpreempt_drain_note(struct gpreempt_policy_node *pn, const struct level *level, u64 now_ns,
			 struct gpreempt_decision *decision)
{
	u64 look_ns = drain_most(pn) / GPREEMPT_DRAIN_LOOK_SHARE;
	struct gpreempt_policy_drain *drain = &pn->drain;
	struct gpreempt_policy_queue *q;
	u32 i;

	if (drain->begun && (!level->valid || level->rank != drain->rank))
		decision->drained = drain_end(pn, level, now_ns);
	drain->waited_ns += drain_charge(pn, now_ns);
	drain->at_ns = level->drains ? now_ns : 0;
	for (i = 0; i < pn->nr; i++)
		pn->queues[i]->drains_now = false;
	for (q = pn->busy; q; q = q->pass.next_busy) {
		if (!drain_has_to_go(q, true))
			continue;
		if (level->drains)
			drain_begin(q, now_ns);
		else if (level->preempts && q->drains)
			drain_learn(pn, q, now_ns);
	}
	if (!level->drains)
		return;
	drain->begun = true;
	drain->rank = level->rank;
	drain->until_ns = level->unstarted ? GPREEMPT_FOREVER_NS :
					     now_ns + drain_left(pn, level, now_ns);
	drain->next_ns = gpreempt_later(look_ns, pn->cost_ns);
}

/**
 * gpreempt_drain_asks() - has what is waited for ended, or begun?
 * @pn: the node
 * @now_ns: time of the samples
 *
 * Return: true if waves tell. If there is no answer in time, it goes without
 */
bool gpreempt_drain_asks(const struct gpreempt_policy_node *pn, u64 now_ns)
{
	const struct gpreempt_policy_drain *drain = &pn->drain;

	return drain->at_ns && now_ns - drain->at_ns < drain->next_ns + drain_most(pn);
}
