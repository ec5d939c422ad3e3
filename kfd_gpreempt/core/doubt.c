// SPDX-License-Identifier: MIT
/*
 * doubt.c - would what is not known change the decision?
 *
 * Pure code: see policy.h for what may be used here.
 */
#include "beside.h"
#include "debt.h"
#include "demand.h"
#include "doubt.h"
#include "drain.h"
#include "judge.h"
#include "level.h"
#include "turn.h"

/**
 * gpreempt_doubt_rivals() - could a queue ever outrank another one?
 * @pn: the node
 * @now_ns: time of the samples
 * @whom: the queues that are compared
 *
 * Return: whether, and whether they are of one process
 */
enum rivals gpreempt_doubt_rivals(struct gpreempt_policy_node *pn, u64 now_ns, enum whom whom)
{
	s32 min = GPREEMPT_PRIORITY_MAX, max = GPREEMPT_PRIORITY_MIN;
	bool rotates = pn->ops->rotates;
	u64 mark = ++pn->mark;
	/* What is dormant has not been active for long. */
	u32 nr = whom == ACTIVE ? pn->nr : pn->nr + pn->nr_dormant;
	const struct gpreempt_policy_process *first = NULL;
	u32 i, processes = 0;
	enum rivals rivals = NO_RIVALS;

	for (i = 0; i < nr; i++) {
		const struct gpreempt_policy_queue *q = pn->queues[i];
		s32 standing = pn->jobs && q->pass.spins ? GPREEMPT_PRIORITY_MIN - 1 : q->standing;
		struct gpreempt_policy_process *p = q->process;

		if (whom == ACTIVE && !demand_recently_active(q, now_ns))
			continue;
		if (whom == UNARMED && p->armed)
			continue;
		if (p->level_mark != mark) {
			p->level_mark = mark;
			processes++;
		}
		min = standing < min ? standing : min;
		max = standing > max ? standing : max;
		if (processes > 1 && (min < max || (rotates && max > 0)))
			return RIVALS;
		if (pn->nr_entities && pn->shares->rivals(pn, first ? first : p, p))
			return RIVALS;
		first = p;
		if (!q->orders)
			continue;
		/* The second one that asked for its place, and another one. */
		if (p->top_mark == mark && q->own_rank != p->own_top)
			rivals = RIVALS_WITHIN;
		p->top_mark = mark;
		p->own_top = q->own_rank;
	}
	return rivals;
}

/*
 * Does a queue at the level stand still, so that it matters whether a lower one is in its way? It
 * does not matter for how long: while a lower one may be, policy_forget_stalls() begins anew in
 * each pass. It matters where a lower one may have waves and would not be taken off anyway, so
 * rarely.
 */
static bool doubt_level_stalls(const struct gpreempt_policy_node *pn, const struct level *level)
{
	const struct gpreempt_policy_queue *q;

	if (pn->device.turns_ns)
		return false;
	for (q = pn->busy; q; q = q->pass.next_busy)
		if (q->seen.stalled_ns && level->valid && !q->seen.blocked &&
		    level_rank(q) == level->rank)
			return true;
	return false;
}

/* Would this level lead to other actions than those chosen? */
static bool doubt_differs(const struct gpreempt_policy_node *pn, const struct level *level,
			  u64 now_ns)
{
	u32 i, nr = level_nr_concerned(pn, level);

	for (i = 0; i < nr; i++)
		if (pn->queues[i]->action != gpreempt_judge_try(pn, pn->queues[i], level, now_ns))
			return true;
	return false;
}

/* With all the waves that there may be? Then those that could not be found blocked have demand. */
static bool doubt_preempts_anyway(struct gpreempt_policy_node *pn, u64 now_ns)
{
	struct level level = gpreempt_level_find(pn, true);
	struct gpreempt_policy_queue *q;

	gpreempt_judge_inversion(pn, &level, now_ns, true);
	for (q = pn->busy; level.preempts && q; q = q->pass.next_busy)
		q->pass.demand[0] = true;
	return level.preempts;
}

/*
 * Where only runlists tell: queues below certain work are taken off without being asked about. That
 * tells as well, and it is what would follow if they have waves.
 */
static bool doubt_preempts_to_know(struct gpreempt_policy_node *pn, u64 now_ns)
{
	struct level sure = gpreempt_level_find(pn, false), level = gpreempt_level_find(pn, true);

	return sure.valid && sure.rank == level.rank && doubt_preempts_anyway(pn, now_ns);
}

/**
 * gpreempt_policy_counters_count() - have the counters shown waves, of any queue whatsoever?
 * @pn: the node
 *
 * Return: true if they have: that they show none means none
 */
bool gpreempt_policy_counters_count(const struct gpreempt_policy_node *pn)
{
	return pn->waves_seen || pn->device.waves_counted;
}

/* It is not known whether the device counts waves, and some queue has launched since a look. */
static bool doubt_unproven(const struct gpreempt_policy_node *pn)
{
	u32 i;

	if (gpreempt_policy_counters_count(pn) || !pn->device.waves_known || pn->device.waves_saved)
		return false;
	for (i = 0; i < pn->nr; i++) {
		const struct gpreempt_policy_queue *q = pn->queues[i];

		if (q->seen.used && !q->preempted && !q->seen.waves_ns)
			return true;
	}
	return false;
}

/*
 * Would the decision be another one if what is not known were waves? @sure: the level without them.
 */
static bool doubt_waves_change(struct gpreempt_policy_node *pn, const struct level *sure,
			       u64 now_ns)
{
	struct level level = *sure;
	bool in_the_way;
	u32 i;

	gpreempt_level_mark(pn, &level, false);
	gpreempt_judge_inversion(pn, &level, now_ns, false);
	pn->nr_chosen = level_nr_concerned(pn, &level);
	for (i = 0; i < pn->nr_chosen; i++)
		pn->queues[i]->action = gpreempt_judge_try(pn, pn->queues[i], &level, now_ns);
	in_the_way = gpreempt_level_lower_runs(pn, &level, false);

	level = gpreempt_level_find(pn, true);
	gpreempt_judge_inversion(pn, &level, now_ns, true);
	if (doubt_differs(pn, &level, now_ns))
		return true;
	/* A runlist may change who has the slots: no such side effect only in order to know. */
	if (!pn->device.waves_saved && pn->params.blocked_ns && doubt_level_stalls(pn, &level) &&
	    in_the_way != gpreempt_level_lower_runs(pn, &level, true))
		return true;

	/*
	 * A queue without waves exempts no other of its process while a lower one with waves still
	 * is in the way.
	 */
	gpreempt_level_mark(pn, &level, false);
	gpreempt_judge_inversion(pn, &level, now_ns, true);
	return doubt_differs(pn, &level, now_ns);
}

/*
 * Would an answer about waves in flight change the decision? Asking takes register reads, so it is
 * done only then.
 */
static bool doubt_waves_matter(struct gpreempt_policy_node *pn, u64 now_ns)
{
	struct level_doubt doubt;
	struct level level, sure;

	if (pn->device.turns_ns)
		gpreempt_demand_begin_turns(pn, now_ns);
	else if (pn->device.waves_saved)
		gpreempt_demand_block_saved(pn, now_ns);
	doubt = gpreempt_level_look(pn, now_ns);
	gpreempt_turn_find(pn, now_ns);
	if (gpreempt_drain_asks(pn, now_ns) || gpreempt_beside_asks(pn, now_ns))
		return true;
	if (!doubt.matters)
		return false;
	level_rank_all(pn, now_ns);
	/*
	 * No answer could change this decision, and a higher queue waits for it. What it takes off
	 * the device need not be asked about any more.
	 */
	if (doubt.first && doubt_preempts_anyway(pn, now_ns))
		return false;
	if (pn->device.waves_saved && doubt_preempts_to_know(pn, now_ns))
		return false;
	if ((doubt.told && !pn->device.waves_saved) || pn->share_doubt)
		return true;
	if (doubt.unknown && (pn->idle_ns || gpreempt_doubt_rivals(pn, now_ns, ALL)))
		return true;
	/* Alone it is in no other's way. */
	if (!doubt.preempted && (!pn->busy || !pn->busy->pass.next_busy))
		return false;

	/*
	 * Two short cuts. First: a preempted queue would come back either way or neither way,
	 * unless something else keeps it off.
	 */
	sure = gpreempt_level_find(pn, false);
	level = gpreempt_level_find(pn, true);
	if (doubt.preempted && (sure.valid != level.valid || sure.rank != level.rank))
		return true;
	/*
	 * Second: none is preempted, and with the most waves and the fewest exemptions none yields:
	 * so none does with fewer waves.
	 */
	gpreempt_level_mark(pn, &level, false);
	gpreempt_judge_inversion(pn, &level, now_ns, true);
	if (level.drains)
		return true;
	if (!doubt.preempted && !level.inversion &&
	    !(pn->params.blocked_ns && doubt_level_stalls(pn, &level)))
		return false;

	return doubt_waves_change(pn, &sure, now_ns);
}

/* It acts from now on: what would have been is over. */
static noinline void doubt_end_observing(struct gpreempt_policy_node *pn)
{
	u32 i;

	for (i = 0; i < pn->nr + pn->nr_dormant; i++) {
		pn->queues[i]->spared = false;
		pn->queues[i]->request = (struct gpreempt_policy_request){ 0 };
		pn->queues[i]->backlog = (struct gpreempt_policy_backlog){ 0 };
	}
	pn->observed = false;
	pn->piles = false;
}

/**
 * gpreempt_policy_needs_waves() - would waves in flight change the decision?
 * @pn: the node, with its queues sampled
 * @now_ns: time of the samples
 *
 * Reading waves in flight costs register accesses and locks, so it is asked for only when the
 * decisions under "none" and under "some" differ, when it decides whether a stalled queue waits for
 * the device, or when it has been unknown for long.
 *
 * Return: true if the caller should give gpreempt_demand_counted() for each mapped queue before
 * it lets decide.
 */
bool gpreempt_policy_needs_waves(struct gpreempt_policy_node *pn, u64 now_ns)
{
	if (pn->observed && !pn->params.observe)
		doubt_end_observing(pn);
	if (pn->changed)
		gpreempt_level_lend(pn);
	gpreempt_debt_account(pn, now_ns);
	gpreempt_beside_account(pn, now_ns);
	pn->asked = doubt_waves_matter(pn, now_ns);
	pn->unproven = level_matters(pn) && doubt_unproven(pn);
	return pn->asked;
}

/* Do counters that have never shown any waves read 0 for a queue that has started packets? */
static bool doubt_counters_doubtful(const struct gpreempt_policy_node *pn, u64 now_ns)
{
	bool doubtful = false;
	u32 i;

	for (i = 0; i < pn->nr; i++) {
		const struct gpreempt_policy_queue *q = pn->queues[i];

		if (q->seen.waves_ns != now_ns)
			continue;
		if (q->seen.waves)
			return false;
		doubtful |= !q->seen.checked && gpreempt_demand_counted_none(pn, q, now_ns);
	}
	return doubtful;
}

/**
 * gpreempt_policy_needs_runlist() - does only a runlist tell what the decision depends on?
 * @pn: the node, after gpreempt_policy_needs_waves() said so, and
 *	gpreempt_demand_counted() if the device can tell
 * @now_ns: time of the samples
 *
 * Counters that have never shown any waves may not count at all; what a runlist saves tells. A
 * runlist checks them if a queue has started packets, and looks for a millisecond since then have
 * shown no waves of it. A launch is checked once. So many checks as &gpreempt_policy_node.checks
 * have been before, and the time to the next one is GPREEMPT_LAUNCHED_NS doubled so often, up to
 * GPREEMPT_RETRY_MAX_NS: 10 in the first second, and one per second from then on. There is none
 * once the counters of the node have shown a wave of any queue to any reader.
 *
 * Once counters are known not to count, a runlist tells whenever waves matter, but for a minimum
 * time between two. Meanwhile a queue of unknown state is taken to have waves.
 *
 * Return: true if the caller should put the decision off, send a runlist, and give
 * gpreempt_demand_saw()
 */
bool gpreempt_policy_needs_runlist(struct gpreempt_policy_node *pn, u64 now_ns)
{
	u64 least_ns = gpreempt_later(GPREEMPT_LAUNCHED_NS, GPREEMPT_RUNLIST_SHARE * pn->pass_ns);

	if (pn->params.observe)
		return false;
	if (pn->acted_ns && now_ns - pn->acted_ns < least_ns)
		return false;
	if (pn->device.waves_saved)
		return true;
	if (gpreempt_policy_counters_count(pn) || now_ns < pn->check_ns ||
	    !doubt_counters_doubtful(pn, now_ns))
		return false;
	pn->check_ns =
		now_ns + demand_retry_ns(GPREEMPT_LAUNCHED_NS, pn->checks, GPREEMPT_RETRY_MAX_NS);
	pn->checks++;
	return true;
}

/**
 * gpreempt_policy_put_off() - there is no decision this time: waves in flight cannot be read now
 * @pn: the node, as gpreempt_policy_needs_waves() saw it
 *
 * What that tried out is taken back while all queues are still there: by the next decision some may
 * be gone.
 */
void gpreempt_policy_put_off(struct gpreempt_policy_node *pn)
{
	u32 i;

	for (i = 0; i < pn->nr_chosen; i++)
		pn->queues[i]->action = GPREEMPT_KEEP;
	pn->nr_chosen = 0;
	pn->on_request = false;
}
