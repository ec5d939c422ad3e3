// SPDX-License-Identifier: MIT
/*
 * level.c - which queues work, and what the highest rank among them is
 *
 * Pure code: see policy.h for what may be used here.
 */
#include "beside.h"
#include "debt.h"
#include "demand.h"
#include "level.h"

/**
 * DOC: demand and level
 *
 * A queue with an empty ring may have waves in flight, and waves that fill the device keep others
 * out for as long as they run. Pointers are read in each pass; waves only if a decision depends on
 * them.
 *
 * *Demand* means that a queue could use the device now.
 *
 * * A mapped queue has demand if packets are pending or waves are in flight. Packets alone do not
 *   tell: the CP may advance the read pointer when it launches a packet, so the last kernel of a
 *   request runs with an empty ring.
 * * A preempted queue has demand if packets are pending or if waves were saved. Saved waves show in
 *   the control stack, which is read after the unmap. Some firmware leaves the stack's offset
 *   unchanged, so that an idle queue seems to have saved waves. Such a queue counts as idle after a
 *   relief in which it showed no waves, until it launches again.
 * * A queue with announced work has demand until the work comes or the announcement ends, after a
 *   second at most. An announcement for a process ends with work for any of its queues.
 *   ``hints_used`` and ``hints_expired`` count both. A queue that yields to announced work earns
 *   relief like any other.
 * * A queue of a job has demand while the job works on another node (`Jobs`_).
 * * A queue on the device with pending packets, a still read pointer and no waves for
 *   ``gpreempt_blocked_us`` is *blocked*: it waits for a barrier, a signal or another queue,
 *   perhaps one that was preempted for it. It has no demand until its read pointer moves or waves
 *   appear. Time during which a lower queue had work on the device does not count, because the
 *   queue was waiting for slots. Later it may wait for slots again without being seen to, so it has
 *   demand once more after 64 times ``gpreempt_blocked_us``, then after twice as long each time, up
 *   to a second. This costs lower queues 1.6 % of their time at first and 0.3 % in the end.
 * * Firmware takes turns if there are more queues than slots or more processes than VMIDs. A still
 *   queue may then wait for its turn, so no queue is found blocked and blocked ones have demand
 *   again. A queue that really is blocked keeps lower ones off until their relief. The counters
 *   show waves of the current queues only. So an empty ring without counted waves is demand if
 *   waves were saved when the queue last left the device. This ends when the count was zero for as
 *   long as all turns take, 10 ms each.
 * * A queue whose pointers cannot be read is *unseen*. No queue yields to it, whatever its rank. It
 *   yields like others unless it is known to have no waves, which is believed for 1 ms. While it is
 *   preempted it counts as having work. In its relief others yield to it until it is known to have
 *   no waves.
 * * A queue that the driver keeps off the device (evicted, suspended, disabled) has no demand. When
 *   it returns, its packets and the waves that it may have been taken off with count in the next
 *   pass.
 *
 * Each queue has a *rank*: how urgent it is. Under the default policy the rank is the logical
 * priority. A process may say that it waits for another one, and then lends it the highest priority
 * of its queues, along up to eight links of such waits. It lends for as long as it says so, with
 * demand or without: a program that waits on the host has none. What is lent is a priority like any
 * other: debts, shares and jobs count with it, and what is stronger than rank stays so. A queue
 * whose job is off another node ranks below all others. The *level* is the highest rank with
 * demand. Queues below it yield, the others run.
 *
 * A pass that preempts takes every queue that has to yield, idle ones too, so that their next
 * packet needs no second pass. Lower queues without work never cause a pass.
 */

static bool level_raise(s32 *priority, s32 to)
{
	bool raises = to > *priority;

	if (raises)
		*priority = to;
	return raises;
}

/* It has what its process is lent. Returns true if that makes its process lend more. */
static bool level_pass_on(struct gpreempt_policy_queue *q)
{
	const struct gpreempt_policy_process *p = q->process;

	level_raise(&q->priority, p->lent[0] < q->set.lent_max ? p->lent[0] : q->set.lent_max);
	level_raise(&q->priority, p->lent[1]);
	return p->waits_for && level_raise(&p->waits_for->lent[p->lends_all], q->priority);
}

/**
 * gpreempt_level_lend() - give each queue the priority that its process is lent
 * @pn: the node, of which something has changed
 *
 * A process that waits for another one lends it the highest priority of its queues.
 */
void gpreempt_level_lend(struct gpreempt_policy_node *pn)
{
	u32 i, links, nr = pn->nr + pn->nr_dormant;
	bool more = false;

	for (i = 0; i < nr; i++) {
		struct gpreempt_policy_queue *q = pn->queues[i];

		q->priority = q->set.priority;
		q->process->lent[0] = GPREEMPT_PRIORITY_MIN;
		q->process->lent[1] = GPREEMPT_PRIORITY_MIN;
		more |= !!q->process->waits_for;
	}
	for (links = 0; more && links <= GPREEMPT_LEND_LINKS; links++)
		for (more = false, i = 0; i < nr; i++)
			more |= level_pass_on(pn->queues[i]);
}

static bool level_preempted_too_long(const struct gpreempt_policy_queue *q,
				     const struct gpreempt_policy_params *params, u64 now_ns)
{
	return demand_of_preempted(q) && params->max_hold_ns &&
	       now_ns - q->seen.starved_ns >= params->max_hold_ns;
}

/*
 * Is it kept off by request? Not while the driver or its process does not let it go, and not for
 * the length of a relief after it was for the longest time that a hold may take. It has its own
 * rank then, and no more: a request to be held is no way to come before others. Time off the device
 * for one reason is not counted for the other.
 */
static void level_keep_off(const struct gpreempt_policy_params *params,
			   struct gpreempt_policy_queue *q, u64 now_ns)
{
	bool held = q->kept_off & GPREEMPT_KEPT_HOLD, kept_off;

	if (held && !q->set.hold_unbounded && level_preempted_too_long(q, params, now_ns))
		q->let_go_until_ns = now_ns + params->relief_ns;
	if (!q->set.hold)
		q->let_go_until_ns = 0;
	q->asked = q->set.hold;
	kept_off = q->set.hold && !params->observe && !level_fixed(q) &&
		   now_ns >= q->let_go_until_ns;
	if (kept_off == held)
		return;
	demand_starve_anew(q, now_ns);
	q->kept_off ^= GPREEMPT_KEPT_HOLD;
}

static s32 level_age_of(const struct gpreempt_policy_node *pn,
			const struct gpreempt_policy_queue *q, u64 now_ns)
{
	const struct gpreempt_policy_params *params = &pn->params;
	u64 steps;

	if (now_ns < q->aged_until_ns)
		return GPREEMPT_AGE_MAX;
	if (!params->aging_ns || !pn->ops->ages || !demand_of_preempted(q))
		return 0;
	steps = (now_ns - q->seen.starved_ns) / params->aging_ns;
	return steps < GPREEMPT_AGE_MAX ? (s32)steps : GPREEMPT_AGE_MAX;
}

/* Does one have work that does not yield? Then the device may have no room for others. */
static bool level_fixed_works(const struct gpreempt_policy_node *pn)
{
	u32 i;

	for (i = 0; i < pn->nr; i++) {
		const struct gpreempt_policy_queue *q = pn->queues[i];

		if (!q->preempted && level_fixed(q) && (q->seen.pending || q->seen.waves))
			return true;
	}
	return false;
}

/*
 * Has it had the device in its relief, and nothing to do there? What was saved was none then.
 * Counters that have never counted prove nothing.
 */
static bool level_shows_none(const struct gpreempt_policy_node *pn,
			     const struct gpreempt_policy_queue *q)
{
	return !q->preempted && !q->seen.driver_off && !q->seen.showed_none && pn->waves_seen &&
	       !level_fixed_works(pn);
}

/* What all rules ask for, once per pass. */
static __always_inline enum demand level_look_at(const struct gpreempt_policy_node *pn,
						 struct gpreempt_policy_queue *q, u64 now_ns)
{
	enum demand demand;

	demand = demand_look(pn, q, now_ns);

	q->pass.relieved = q->process->turn && q->process->turn_rank >= q->rank &&
			   !(q->kept_off & (GPREEMPT_KEPT_HOLD | GPREEMPT_KEPT_MAXIMUM));
	if (q->pass.relieved && demand == DEMAND_NONE && level_shows_none(pn, q))
		demand_note_none(q);
	if (q->set.hold | q->asked)
		level_keep_off(&pn->params, q, now_ns);
	q->pass.age = level_age_of(pn, q, now_ns);
	if (level_kept_off(q))
		demand = DEMAND_NONE;
	/* Four bytes, one store */
	q->pass.works = false;
	q->pass.idle = false;
	q->pass.follows = false;
	q->pass.spins = false;
	if (pn->jobs && q->process->job)
		demand = gpreempt_gangs->look(pn, q, demand, now_ns);
	q->pass.demand[0] = demand == DEMAND_SURE;
	q->pass.demand[1] = demand != DEMAND_NONE;
	return demand;
}

static void level_make_busy(struct gpreempt_policy_node *pn, struct gpreempt_policy_queue *q)
{
	q->pass.next_busy = pn->busy;
	pn->busy = q;
}

/**
 * gpreempt_level_find_busy() - find out anew which queues have demand
 * @pn: the node
 * @now_ns: time of the samples
 *
 * To be called once it is known whose turn it is: what is kept off for that has no demand.
 */
void gpreempt_level_find_busy(struct gpreempt_policy_node *pn, u64 now_ns)
{
	u32 i;

	pn->busy = NULL;
	for (i = 0; i < pn->nr; i++)
		if (level_look_at(pn, pn->queues[i], now_ns) != DEMAND_NONE)
			level_make_busy(pn, pn->queues[i]);
}

/**
 * gpreempt_level_look() - look at each queue, and make the list of busy ones
 * @pn: the node, with its queues sampled
 * @now_ns: time of the samples
 *
 * Return: what is not known about waves
 */
struct level_doubt gpreempt_level_look(struct gpreempt_policy_node *pn, u64 now_ns)
{
	struct level_doubt doubt = { .first = true };
	bool off = false;
	u32 i;

	if (pn->jobs)
		gpreempt_gangs->begin(pn);
	pn->busy = NULL;
	for (i = 0; i < pn->nr; i++) {
		struct gpreempt_policy_queue *q = pn->queues[i];
		enum demand demand = level_look_at(pn, q, now_ns);

		off |= q->preempted | q->spared | q->set.hold;
		if (demand == DEMAND_NONE)
			continue;
		level_make_busy(pn, q);
		if (demand != DEMAND_MAYBE)
			continue;
		doubt.matters = true;
		doubt.told |= pn->jobs && q->process->job && q->process->job->asked_elsewhere;
		doubt.unknown |= !pn->device.waves_saved &&
				 demand_unknown_for_long(pn, q, now_ns);
		doubt.first &= demand_first_look(pn, q, now_ns);
	}
	doubt.preempted = off;
	return doubt;
}

/**
 * gpreempt_level_look_again() - take in what was read of waves since
 * @pn: the node, after gpreempt_level_look()
 * @now_ns: time of the samples
 *
 * If nothing could be read, what is unknown is taken for waves.
 */
void gpreempt_level_look_again(struct gpreempt_policy_node *pn, u64 now_ns)
{
	u32 i;

	pn->busy = NULL;
	for (i = 0; i < pn->nr; i++) {
		struct gpreempt_policy_queue *q = pn->queues[i];
		bool asked = q->seen.waves_ns == now_ns;

		/*
		 * Until a runlist has brought back what it took off, standing still says nothing:
		 * the device may not have come to this queue yet.
		 */
		pn->waves_seen |= asked && q->seen.waves && !pn->device.waves_saved;
		if (asked && pn->waves_seen && !q->seen.blocked && !q->seen.restore_since_ns &&
		    demand_stall_expired(pn, q, now_ns) && demand_zero_settled(q, now_ns))
			gpreempt_demand_block(q, &pn->params, now_ns);
		/*
		 * What gpreempt_policy_needs_waves() has seen still holds for queues that were not
		 * asked about.
		 */
		if (asked)
			level_look_at(pn, q, now_ns);
		if (q->pass.demand[1])
			level_make_busy(pn, q);
	}
}

/* Does it come before what has made the level so far? */
static bool level_above(const struct gpreempt_policy_queue *q, const struct level *level)
{
	s64 rank = level_rank(q);

	return rank > level->rank || (rank == level->rank && q->pass.relieved && !level->relief);
}

/*
 * Its process works at the level, and with which of its own ranks. Marks count only as long as they
 * are the last ones.
 */
static void level_mark_process(const struct gpreempt_policy_node *pn,
			       const struct gpreempt_policy_queue *q)
{
	struct gpreempt_policy_process *p = q->process;

	p->level_mark = pn->mark;
	if (q->orders && (p->top_mark != pn->mark || q->own_rank > p->own_top)) {
		p->top_mark = pn->mark;
		p->own_top = q->own_rank;
	}
}

/**
 * gpreempt_level_mark() - mark the processes that work at a level which is known
 * @pn: the node
 * @level: the level
 * @assume: the demand that counts
 */
void gpreempt_level_mark(struct gpreempt_policy_node *pn, const struct level *level, bool assume)
{
	const struct gpreempt_policy_queue *q;

	pn->mark++;
	for (q = pn->busy; q; q = q->pass.next_busy)
		if (level_makes(q, assume) && level_at(q, level))
			level_mark_process(pn, q);
}

/* What the queues of all processes but one say; NULL: of all. Marks those that make the level. */
static struct level level_without(struct gpreempt_policy_node *pn, bool assume,
				  struct gpreempt_policy_process *without)
{
	struct gpreempt_policy_queue *q;
	/* No rank is below. */
	struct level level = { .rank = GPREEMPT_RANK_SPINS, .above = without };

	pn->mark++;

	for (q = pn->busy; q; q = q->pass.next_busy) {
		bool above = level_above(q, &level);

		if (!level_makes(q, assume) || q->process == without ||
		    (!above && !level_at(q, &level)))
			continue;
		/* A higher one: the processes marked so far are not at the level. */
		if (level.valid && above)
			pn->mark++;
		if (!level.valid || above || q->priority > level.priority) {
			level.priority = q->priority;
			level.leader = q;
		}
		level.sole = !level.valid || above || level.sole == q->process ? q->process : NULL;
		level.valid = true;
		level.rank = level_rank(q);
		level.relief = q->pass.relieved;
		level_mark_process(pn, q);
	}
	if (level.relief)
		level.sole = NULL;
	return level;
}

/**
 * gpreempt_level_find() - what is the highest rank that works?
 * @pn: the node, with its list of busy queues
 * @assume: the demand that counts
 *
 * Marks the processes that work at the level.
 *
 * Return: the level
 */
struct level gpreempt_level_find(struct gpreempt_policy_node *pn, bool assume)
{
	struct level level = level_without(pn, assume, NULL), next;

	if (!level.sole || !gpreempt_beside_allowed(pn, level.sole))
		return level;
	next = level_without(pn, assume, level.sole);
	if (next.valid)
		return next;
	gpreempt_level_mark(pn, &level, assume);
	return level;
}

/**
 * gpreempt_level_lower_runs() - has a queue below the level work on the device?
 * @pn: the node
 * @level: the level
 * @assume: the demand that counts
 *
 * Return: true if it has, or gets it by the actions chosen
 */
bool gpreempt_level_lower_runs(const struct gpreempt_policy_node *pn, const struct level *level,
			       bool assume)
{
	const struct gpreempt_policy_queue *q;

	for (q = pn->busy; q; q = q->pass.next_busy) {
		if ((!q->preempted || q->action == GPREEMPT_RESUME) && level->valid &&
		    q->pass.demand[assume] && level_rank(q) <= level->rank &&
		    !level_at(q, level))
			return true;
	}
	return false;
}
