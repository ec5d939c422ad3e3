// SPDX-License-Identifier: MIT
/*
 * debt.c - service that processes are owed by those above them
 *
 * Pure code: see policy.h for what may be used here.
 */

/**
 * DOC: debts
 *
 * Strict priority keeps lower work off for as long as higher work lasts. So that no process
 * starves, each has a *debt*: service that it is owed. A process earns while it wants the device
 * and does not run, if a class above has kept it off within the last second. All that earn have
 * together the part phi = relief / (relief + max_hold) of the time: evenly by tenant, and what one
 * has evenly among its processes and jobs. What it runs, in whatever way, pays its debt one to one:
 * in a pause of those above, in a turn of its own, or beside others. Nothing else changes a debt: a
 * preemption, a resume and a pause that brings nothing pay nothing.
 *
 * A process earns as well while one of its queues is off the device and another one runs, because
 * it asked for that order or because the driver does not let the other one go. In its turn all
 * its queues run, so none waits for ever. Processes that come before each other by turns
 * (``wfq``, and ``edf`` with a deadline) owe each other nothing else.
 *
 * *It runs* if its read pointer moved since the last look, if waves were counted, if nothing else
 * has work on the device, or if it has a turn before a class above. Without news it goes on as it
 * was. What comes back does not run before there is news, and pays from when its waves are back; in
 * a turn it pays for the switch as well.
 *
 * A *turn* T is long enough for its switch: 4 to 10 times what leaving and coming back costs (C),
 * and in between relief / 2N, where N starved together within the last second. The process with the
 * largest debt, of T/2 at least, has a turn until its debt is paid:
 *
 * * from T/2 on it comes before its equals, so that a pause of those above is its own,
 * * from T on before the class above that works, and from 2T on before all; in between in
 *   proportion to the classes that work.
 *
 * So who pays is found, not computed: a class whose pauses are long enough has the debtor run in
 * them, before the debt is worth that class. In its turn the debtor has the device alone. Turns
 * are not charged to the overhead budget and do not wait for it.
 *
 * Without service a process that wants the device is no longer than 2 T N / phi + N (T + 2 C).
 * Those above lose phi, and one switch per turn. A class whose busy periods are shorter than T N
 * / (phi d) with d working classes above the debtor loses nothing.
 */
#include "debt.h"
#include "demand.h"

/* A debt is worth so many turns at most. */
#define DEBT_TURNS_MAX		8
/* A turn, in times of what its switch costs: more than a quarter would go into that otherwise */
#define DEBT_SWITCHES_LEAST	4
/* One pass that waited for a device in trouble must not make turns of minutes. */
#define DEBT_RELIEFS_MOST	10
/* The longest time between two looks that counts */
#define DEBT_LOOK_MAX_NS	10000000000ULL

/**
 * gpreempt_debt_switch_ns() - C: what does it cost to leave the device and to come back once?
 * @pn: the node
 *
 * Return: nanoseconds, by the last passes; before the first one what is assumed
 */
u64 gpreempt_debt_switch_ns(const struct gpreempt_policy_node *pn)
{
	return pn->pass_ns ? demand_switch_ns(pn) : GPREEMPT_SWITCH_NS;
}

/**
 * gpreempt_debt_turn_ns() - T: how long is a turn, and what debt is worth one?
 * @pn: the node
 *
 * Return: nanoseconds
 */
u64 gpreempt_debt_turn_ns(const struct gpreempt_policy_node *pn)
{
	u64 look_ns = gpreempt_earlier(gpreempt_later(pn->params.poll_ns, GPREEMPT_SLEEP_MIN_NS),
				       GPREEMPT_BRIEF_NS),
	    switch_ns = gpreempt_debt_switch_ns(pn),
	    part_ns = pn->params.relief_ns / (2 * gpreempt_later(pn->nr_owed, 1)), turn_ns;

	/*
	 * A switch is no quicker than the looks that see its ends. Rarer ones are no measure: ends
	 * of turns are deadlines.
	 */
	switch_ns = gpreempt_later(switch_ns, 2 * look_ns);
	turn_ns = gpreempt_earlier(GPREEMPT_SWITCHES * switch_ns,
				   gpreempt_later(DEBT_SWITCHES_LEAST * switch_ns, part_ns));
	return gpreempt_earlier(turn_ns, DEBT_RELIEFS_MOST * pn->params.relief_ns);
}

/**
 * gpreempt_debt_phi() - phi: which part of the time may debts take?
 * @params: tunables
 *
 * Return: in 1 / GPREEMPT_DEBT_ONE
 */
u64 gpreempt_debt_phi(const struct gpreempt_policy_params *params)
{
	u64 part_ns = (params->relief_ns + params->max_hold_ns) / GPREEMPT_DEBT_ONE + 1;

	if (!params->max_hold_ns)
		return 0;
	return gpreempt_later(params->relief_ns / part_ns, 1);
}

/*
 * May it use the device, as the last decision saw it? What asks to be held is owed nothing. One
 * that waits for slots behind equals may look as if it were blocked. What only waits for another
 * node may not: the node on which it is off for its rank owes.
 */
static bool debt_wants(const struct gpreempt_policy_queue *q)
{
	bool demands = q->had_demand ||
		       (q->seen.blocked && q->seen.pending && !demand_is_off(q));

	return demands && !q->kept_off && !q->set.hold && !q->seen.driver_off &&
	       (!q->pass.spins || q->out);
}

/* By the last decision it has the device before others, whatever it does there. */
static bool debt_has_turn(const struct gpreempt_policy_node *pn,
			  const struct gpreempt_policy_process *p)
{
	return p->turn && p->turn_above && pn->level_relief;
}

/* Had its process or its job the device for itself, by the last decision? */
static bool debt_is_alone(const struct gpreempt_policy_node *pn,
			  const struct gpreempt_policy_process *p)
{
	return p == pn->sole || (p->job && p->job == pn->sole_job);
}

/* Has it run since the last look? See the block above. */
static bool debt_ran(const struct gpreempt_policy_node *pn, const struct gpreempt_policy_queue *q)
{
	if (demand_is_off(q))
		return false;
	if (pn->params.observe || debt_is_alone(pn, q->process) || debt_has_turn(pn, q->process) ||
	    q->seen.rptr != q->ran_rptr || q->set.unseen ||
	    !pn->device.waves_known || pn->device.waves_saved)
		return true;
	return q->seen.waves_ns >= pn->debts_ns ? q->seen.waves : q->ran;
}

/* Has a class above kept it off within the last second, as the last look saw it? */
static bool debt_is_outranked(const struct gpreempt_policy_node *pn,
			      const struct gpreempt_policy_process *p)
{
	return p->outranked_ns && pn->debts_ns - p->outranked_ns < GPREEMPT_CONTENDED_NS;
}

/* Is it owed the time since the last look? */
static bool debt_earns(const struct gpreempt_policy_node *pn,
		       const struct gpreempt_policy_process *p)
{
	bool starves = p->by_turns ? p->ran && p->waits : !p->ran || p->waits;

	return p->wants && starves && !debt_has_turn(pn, p) && debt_is_outranked(pn, p);
}

static void debt_note(struct gpreempt_policy_node *pn, u64 mark)
{
	u32 i;

	for (i = 0; i < pn->nr; i++) {
		struct gpreempt_policy_queue *q = pn->queues[i];
		struct gpreempt_policy_process *p = q->process;

		if (p->debt_mark != mark) {
			p->debt_mark = mark;
			p->wants = false;
			p->ran = false;
			p->waits = false;
			p->by_turns = pn->ops->rotates;
		}
		q->ran = debt_ran(pn, q);
		q->ran_rptr = q->seen.rptr;
		p->ran |= q->ran && q->had_demand;
		if (!debt_wants(q))
			continue;
		p->wants = true;
		p->by_turns &= q->standing != 0;
		p->waits |= demand_is_off(q);
		p->turn_ran |= q->ran;
	}
}

/* Is it the first one seen of its process, or of its job? */
static bool debt_counts_anew(const struct gpreempt_policy_queue *q, u64 mark)
{
	u64 *counted = q->process->job ? &q->process->job->mark : &q->process->level_mark;
	bool anew = *counted != mark;

	*counted = mark;
	return anew;
}

/*
 * Those that starve in turn, as a class does that has the device in the pauses of another one,
 * count all the time. Otherwise turns would be shorter while the highest works, and a debt that was
 * not worth a lower class would be worth the highest.
 */
static void debt_note_owed(struct gpreempt_policy_node *pn, u32 nr, u64 now_ns)
{
	if (nr < pn->nr_owed && now_ns - pn->owed_ns < GPREEMPT_CONTENDED_NS)
		return;
	pn->nr_owed = nr;
	pn->owed_ns = now_ns;
}

/* Among how many tenants is what is earned divided, and in each among how many? */
static u32 debt_count(struct gpreempt_policy_node *pn, u64 mark, u64 now_ns)
{
	u32 i, nr = 0, nr_owed = 0;

	for (i = 0; i < pn->nr; i++) {
		const struct gpreempt_policy_queue *q = pn->queues[i];
		struct gpreempt_policy_tenant *t;

		if (!debt_earns(pn, q->process))
			continue;
		t = gpreempt_debt_tenant_of(pn, q);
		if (t->mark != mark) {
			t->mark = mark;
			t->nr = 0;
			nr++;
		}
		if (debt_counts_anew(q, mark)) {
			t->nr++;
			nr_owed++;
		}
	}
	debt_note_owed(pn, nr_owed, now_ns);
	return nr;
}

/*
 * Into how many parts goes what the tenant of this queue earns? A job that has just come has a
 * tenant for each of its processes until the next look.
 */
static u32 debt_parts(const struct gpreempt_policy_node *pn, const struct gpreempt_policy_queue *q)
{
	return gpreempt_later(gpreempt_debt_tenant_of(pn, q)->nr, 1);
}

/*
 * @earned: in 1 / GPREEMPT_DEBT_ONE ns: of many that earn each has less than that in the time of a
 * look
 */
static void debt_earn(struct gpreempt_policy_process *p, u64 earned, u64 turn_ns)
{
	earned += p->debt_rest;
	p->debt_rest = earned % GPREEMPT_DEBT_ONE;
	p->debt_ns = gpreempt_earlier(p->debt_ns + earned / GPREEMPT_DEBT_ONE,
				      DEBT_TURNS_MAX * turn_ns);
}

/*
 * The part of the time since the last look that a process which ran pays for. If the last decision
 * acted, nothing had run before its waves were back; a turn pays for the switch as well.
 */
static u64 debt_had_ns(const struct gpreempt_policy_node *pn,
		       const struct gpreempt_policy_process *p, u64 passed_ns, u64 now_ns)
{
	u64 back_ns = demand_back_ns(pn);

	if (pn->acting_ns != pn->debts_ns || debt_has_turn(pn, p))
		return passed_ns;
	return now_ns > back_ns ? gpreempt_earlier(passed_ns, now_ns - back_ns) : 0;
}

/**
 * gpreempt_debt_account() - those that starved earn, those that ran pay
 * @pn: the node, sampled; before the first look of a pass
 * @now_ns: time of the samples
 */
void gpreempt_debt_account(struct gpreempt_policy_node *pn, u64 now_ns)
{
	u64 passed_ns = gpreempt_earlier(now_ns - pn->debts_ns, DEBT_LOOK_MAX_NS), earned;
	u64 turn_ns, mark = ++pn->mark;
	u32 i, nr;

	if (!pn->owing || !pn->params.max_hold_ns) {
		pn->debts_ns = now_ns;
		return;
	}
	debt_note(pn, mark);
	nr = debt_count(pn, mark, now_ns);
	earned = passed_ns * gpreempt_debt_phi(&pn->params) / gpreempt_later(nr, 1);
	turn_ns = gpreempt_debt_turn_ns(pn);
	pn->owing = false;
	for (i = 0; i < pn->nr; i++) {
		struct gpreempt_policy_queue *q = pn->queues[i];
		struct gpreempt_policy_process *p = q->process;

		if (p->debt_mark != mark)
			continue;
		if (debt_earns(pn, p))
			debt_earn(p, earned / debt_parts(pn, q), turn_ns);
		else if (p->ran)
			p->debt_ns -= gpreempt_earlier(p->debt_ns,
						       debt_had_ns(pn, p, passed_ns, now_ns));
		pn->owing |= p->debt_ns || debt_is_outranked(pn, p);
		p->debt_mark = 0;
	}
	pn->debts_ns = now_ns;
}

/**
 * gpreempt_debt_outranked() - a class above keeps a process off the device
 * @pn: the node
 * @p: the process
 * @now_ns: time of the decision
 */
void gpreempt_debt_outranked(struct gpreempt_policy_node *pn, struct gpreempt_policy_process *p,
			     u64 now_ns)
{
	p->outranked_ns = now_ns;
	pn->owing = true;
}

/**
 * gpreempt_debt_classes() - before how many of the working classes above it comes a debtor?
 * @pn: the node
 * @p: the process, with a debt of half a turn at least
 * @nr_above: how many classes above its own work
 *
 * Return: 0: before its equals alone; @nr_above at most
 */
u32 gpreempt_debt_classes(const struct gpreempt_policy_node *pn,
			  const struct gpreempt_policy_process *p, u32 nr_above)
{
	u64 turn_ns = gpreempt_debt_turn_ns(pn), nr;

	if (p->debt_ns < turn_ns)
		return 0;
	nr = 1 + (p->debt_ns - turn_ns) * nr_above / turn_ns;
	return gpreempt_earlier(nr, nr_above);
}

/**
 * gpreempt_debt_of_class() - what debt is worth one class more?
 * @pn: the node
 * @nr: before so many of the working classes above it a debtor comes now
 * @nr_above: how many there are
 *
 * Return: nanoseconds; ~0: it comes before all
 */
u64 gpreempt_debt_of_class(const struct gpreempt_policy_node *pn, u32 nr, u32 nr_above)
{
	u64 turn_ns = gpreempt_debt_turn_ns(pn);

	return nr < nr_above ? turn_ns + turn_ns * nr / nr_above : GPREEMPT_FOREVER_NS;
}

/**
 * gpreempt_debt_until() - when is a process that starves worth more than now?
 * @pn: the node
 * @q: one of its queues, off the device with work
 * @now_ns: now
 *
 * Return: a time; ~0: never
 */
u64 gpreempt_debt_until(const struct gpreempt_policy_node *pn,
			const struct gpreempt_policy_queue *q, u64 now_ns)
{
	u64 turn_ns = gpreempt_debt_turn_ns(pn), debt_ns = q->process->debt_ns, lacks_ns;

	if (!pn->params.max_hold_ns || debt_ns >= 2 * turn_ns)
		return GPREEMPT_FOREVER_NS;
	lacks_ns = (debt_ns < turn_ns ? turn_ns : 2 * turn_ns) - debt_ns;
	return now_ns + lacks_ns * gpreempt_later(pn->nr_owed, 1) *
				(GPREEMPT_DEBT_ONE / gpreempt_debt_phi(&pn->params));
}
