// SPDX-License-Identifier: MIT
/*
 * turn.c - turns of those that are owed service
 *
 * Pure code: see policy.h for what may be used here.
 */
#include "debt.h"
#include "demand.h"
#include "level.h"
#include "turn.h"

/* It is off the device with work, and no request keeps it off. */
static bool turn_starves(const struct gpreempt_policy_queue *q)
{
	return demand_of_off(q) && !q->kept_off && !level_fixed(q);
}

/*
 * Its job has its turn on another node, and would wait for this queue there. What it is owed here
 * bounds that, whatever other nodes say.
 */
static bool turn_joins(const struct gpreempt_policy_node *pn, const struct gpreempt_policy_queue *q,
		       u64 now_ns)
{
	const struct gpreempt_policy_job *job = q->process->job;

	return job && now_ns < job->relief_until_ns && turn_starves(q) &&
	       gpreempt_debt_due(pn, q->process);
}

static bool turn_is_due(const struct gpreempt_policy_node *pn,
			const struct gpreempt_policy_queue *q, u64 now_ns)
{
	return turn_joins(pn, q, now_ns) || (gpreempt_debt_due(pn, q->process) &&
					     turn_starves(q) && !level_relief_is_elsewhere(q));
}

/* A job that waits for itself has its turn as one. */
static bool turn_is_shared(const struct gpreempt_policy_process *a,
			   const struct gpreempt_policy_process *b)
{
	return a == b || (a->job && a->job == b->job);
}

/* The debt is not paid yet, there is work, and no higher class has ended the turn. */
static bool turn_goes_on(const struct gpreempt_policy_queue *q, u64 now_ns)
{
	const struct gpreempt_policy_process *p = q->process;
	bool off = demand_is_off(q), may_rise = off && p->debt_ns >= p->turn_next_ns;

	return p->turn_leads && q->pass.relieved && p->debt_ns && now_ns < p->turn_until_ns &&
	       !may_rise && !(off && p->turn_ran);
}

/* What of a job joins a turn elsewhere comes first, then who is owed most. */
static bool turn_due_before(const struct gpreempt_policy_node *pn,
			    const struct gpreempt_policy_queue *q,
			    const struct gpreempt_policy_queue *other, u64 now_ns)
{
	bool joins = turn_joins(pn, q, now_ns);

	if (!other || joins != turn_joins(pn, other, now_ns))
		return !other || joins;
	return q->process->debt_ns > other->process->debt_ns;
}

/* The least rank above this one that works; the same if there is none. */
static s64 turn_next_rank(const struct gpreempt_policy_node *pn, s64 rank)
{
	const struct gpreempt_policy_queue *q;
	s64 next = rank;

	for (q = pn->busy; q; q = q->pass.next_busy)
		if (level_makes(q, true) && !q->pass.relieved && !q->pass.spins &&
		    q->rank > rank && (next == rank || q->rank < next))
			next = q->rank;
	return next;
}

/* The rank of the last class that a debtor comes before; @next_ns: a debt worth one more. */
static s64 turn_rank_of_debtor(const struct gpreempt_policy_node *pn,
			       const struct gpreempt_policy_queue *q, u64 *next_ns, u64 now_ns)
{
	u32 nr_above = 0, nr, i;
	s64 next, rank = q->rank;

	*next_ns = GPREEMPT_FOREVER_NS;
	if (pn->ops->rotates || turn_joins(pn, q, now_ns))
		return GPREEMPT_RANK_RELIEF;
	for (next = turn_next_rank(pn, rank); next != rank; nr_above++) {
		rank = next;
		next = turn_next_rank(pn, rank);
	}
	nr = gpreempt_debt_classes(pn, q->process, nr_above);
	*next_ns = gpreempt_debt_of_class(pn, nr, nr_above);
	for (rank = q->rank, i = 0; i < nr; i++)
		rank = turn_next_rank(pn, rank);
	return rank;
}

static void turn_begin(struct gpreempt_policy_node *pn, const struct gpreempt_policy_queue *leader,
		       u64 now_ns)
{
	u64 until_ns = now_ns + leader->process->debt_ns + demand_switch_ns(pn);
	u64 next_ns;
	s64 rank = turn_rank_of_debtor(pn, leader, &next_ns, now_ns);
	u32 i;

	pn->turn = true;
	if (turn_joins(pn, leader, now_ns))
		until_ns = leader->process->job->relief_until_ns;
	for (i = 0; i < pn->nr; i++) {
		struct gpreempt_policy_process *p = pn->queues[i]->process;

		if (!turn_is_shared(p, leader->process))
			continue;
		p->turn = true;
		p->turn_leads = p == leader->process;
		p->turn_ran = false;
		p->turn_rank = rank;
		p->turn_above = rank > leader->rank;
		p->turn_next_ns = next_ns;
		p->turn_until_ns = until_ns;
		/* Before its equals alone it waits for a pause. */
		pn->nr_relief += rank > leader->rank && turn_starves(pn->queues[i]);
	}
}

static bool turn_end(struct gpreempt_policy_node *pn)
{
	bool ended = false;
	u32 i;

	for (i = 0; i < pn->nr; i++) {
		struct gpreempt_policy_process *p = pn->queues[i]->process;

		ended |= p->turn;
		p->turn = false;
		p->turn_leads = false;
	}
	pn->turn = false;
	return ended;
}

/*
 * Whose turn is it? May be called again when more is known of waves: only a turn without work ends
 * before its time then.
 */
static void turn_find_debtor(struct gpreempt_policy_node *pn, u64 now_ns)
{
	const struct gpreempt_policy_queue *q, *first = NULL;
	bool changed;

	/* Ranks that need no demand are those of this pass. */
	if (pn->changed && !pn->ops->rotates)
		pn->ops->rank(pn, now_ns);
	for (q = pn->busy; q; q = q->pass.next_busy) {
		if (turn_goes_on(q, now_ns))
			return;
		if (pn->params.max_hold_ns && turn_is_due(pn, q, now_ns) &&
		    turn_due_before(pn, q, first, now_ns))
			first = q;
	}
	changed = turn_end(pn);
	if (first)
		turn_begin(pn, first, now_ns);
	if (changed || first)
		gpreempt_level_find_busy(pn, now_ns);
}

/**
 * gpreempt_turn_find() - whose turn is it?
 * @pn: the node, after gpreempt_level_look() or gpreempt_level_look_again()
 * @now_ns: time of the samples
 *
 * First that among equals, then that of a process that is owed service.
 */
void gpreempt_turn_find(struct gpreempt_policy_node *pn, u64 now_ns)
{
	if (pn->nr_entities && pn->shares->look(pn, now_ns))
		gpreempt_level_find_busy(pn, now_ns);
	if (pn->owing || pn->turn || pn->jobs)
		turn_find_debtor(pn, now_ns);
}
