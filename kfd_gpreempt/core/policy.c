// SPDX-License-Identifier: MIT
/*
 * policy.c - who is more urgent runs, with the rules that make it safe
 *
 * What a rank means is the business of a policy (hpf.c). Each pass looks at each queue, most
 * of which are idle or preempted with nothing new: for those it has to be cheap. What is inline is
 * inline for that.
 *
 * Pure code: see policy.h for what may be used here.
 */

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

/**
 * DOC: precedence
 *
 * The first rule in this table that has an answer decides.
 *
 * ===  ========  =========================================  ======================================
 * no.  rule      what it says                               bounded by
 * ===  ========  =========================================  ======================================
 * 1    driver    a queue that must not be taken (its        nothing: the driver knows
 *      safety    debugger has CAP_SYS_NICE, a reset is
 *                pending, it has no save area) stays on
 *                the device, or returns to it
 * 2    opt-out   the same for all queues of a process that  nothing: an administrator asked for it
 *                opted out
 * 3    explicit  a queue with a requested hold is off the   ``gpreempt_max_hold_ms``: then its own
 *      hold      device and has no demand                   rank counts for ``gpreempt_relief_ms``;
 *                                                           nothing, if asked for without bound
 * 4    debt      a process that starved has a turn, before  what it is owed, and its work
 *                the classes that its debt is worth
 * 5    own       a queue whose process works at the level   nothing: a process must not freeze its
 *      process   stays, unless both have a rank that was    own copy or utility queue
 *                asked for
 * 6    level     a queue that ranks below the level yields  debt
 * 7    ageing    a preempted queue gains rank up to         ``gpreempt_relief_ms`` beside the
 *                equality with the level, never above it    level, then it is young again
 * ===  ========  =========================================  ======================================
 *
 * By rule 5 a priority that is set for one queue lifts the other queues of its process while that
 * queue has demand. The queue may wait for one of them, which the scheduler cannot see. The process
 * could give them the same through the raised queue itself. Without that demand they have their own
 * rank.
 *
 * Four settings only say *when* rules 5 to 7 act. They delay nothing that rules 1 to 4 ask for:
 *
 * * the overhead budget delays preemptions (``gpreempt_overhead_pct``),
 * * the minimum run delays the preemption of one queue (``gpreempt_min_run_us``),
 * * work that is about to end is waited for instead of being preempted (``gpreempt_drain_us``),
 * * the resume delay delays resumes (``gpreempt_resume_delay_us``). So do short gaps, under ``hpf``
 *   only. Under ``wfq`` a turn lasts over short gaps (`Shares`_); under ``edf`` a gap is another
 *   queue's turn.
 *
 * Strict priority can wait for itself for ever, through a chain that the blocked rule does not see.
 * A turn for a debt ends that. Sharing the device would not: the device restores the higher queue's
 * saved waves first, and they may fill it.
 */

#include "beside.h"
#include "budget.h"
#include "debt.h"
#include "demand.h"

/* More steps than there are between two priorities: as old as can be. */
#define AGE_MAX			(2 * (GPREEMPT_PRIORITY_MAX + 1))

/**
 * struct level - what the queues together say
 * @valid: some queue has demand
 * @rank: highest rank with demand
 * @relief: that is a debtor in its turn, which comes before all others of this rank
 * @priority: of the queues that have both, the highest priority
 * @leader: one of these queues
 * @sole: the only process that it is of; NULL: there are several, or that is a debtor
 * @above: it works above the level, and lower work may run beside it; NULL: none does
 * @inversion: a queue below has demand and the device
 * @preempts: one of these may be taken off now
 * @drains: one may, and all that may are about to end by themselves
 * @unstarted: with @drains: none of them has waves yet
 */
struct level {
	bool valid;
	bool relief;
	s64 rank;
	s32 priority;
	struct gpreempt_policy_queue *leader;
	struct gpreempt_policy_process *sole;
	struct gpreempt_policy_process *above;
	bool inversion;
	bool preempts;
	bool drains;
	bool unstarted;
};

static s32 policy_clamp_priority(s64 priority)
{
	if (priority < GPREEMPT_PRIORITY_MIN)
		return GPREEMPT_PRIORITY_MIN;
	if (priority > GPREEMPT_PRIORITY_MAX)
		return GPREEMPT_PRIORITY_MAX;
	return (s32)priority;
}

/**
 * gpreempt_policy_priority() - derive logical priorities from what KFD and the kernel know
 * @kfd_priority: priority given to CREATE_QUEUE or UPDATE_QUEUE; KFD does not check it
 * @nice: nice value of the process, 0 to leave it out of account
 * @trusted: the owner may claim a priority above normal against others
 * @q: receives priority, own_priority and explicit_priority
 */
void gpreempt_policy_priority(u32 kfd_priority, int nice, bool trusted,
			      struct gpreempt_policy_queue *q)
{
	s64 own = kfd_priority;
	s64 claimed = own;

	if (!trusted && claimed > GPREEMPT_PRIORITY_NORMAL)
		claimed = GPREEMPT_PRIORITY_NORMAL;

	q->set.priority = policy_clamp_priority(claimed - nice);
	q->set.own_priority = policy_clamp_priority(own - nice);
	q->set.explicit_priority = kfd_priority != GPREEMPT_PRIORITY_NORMAL;
}

/* Neither by the driver nor by its owner's leave may it be taken off. */
static bool policy_fixed(const struct gpreempt_policy_queue *q)
{
	return q->set.immovable || q->process->opt_out;
}

static bool policy_preempted_too_long(const struct gpreempt_policy_queue *q,
				const struct gpreempt_policy_params *params, u64 now_ns)
{
	return demand_of_preempted(q) && params->max_hold_ns &&
	       now_ns - q->seen.starved_ns >= params->max_hold_ns;
}

/*
 * It waits for another node: a turn on this node alone is none. One of the nodes on which it is off
 * for its rank begins.
 */
static bool policy_relief_is_elsewhere(const struct gpreempt_policy_queue *q)
{
	const struct gpreempt_policy_job *job = q->process->job;

	return job && (q->out ? !job->begins_relief : q->pass.spins);
}

/* It is off the device with work, and no request keeps it off. */
static bool policy_starves(const struct gpreempt_policy_queue *q)
{
	return demand_of_off(q) && !q->kept_off && !policy_fixed(q);
}

/*
 * Its job has its turn on another node, and would wait for this queue there. What it is owed here
 * bounds that, whatever other nodes say.
 */
static bool policy_joins(const struct gpreempt_policy_node *pn,
			 const struct gpreempt_policy_queue *q, u64 now_ns)
{
	const struct gpreempt_policy_job *job = q->process->job;

	return job && now_ns < job->relief_until_ns && policy_starves(q) &&
	       gpreempt_debt_due(pn, q->process);
}

static bool policy_is_due(const struct gpreempt_policy_node *pn,
			  const struct gpreempt_policy_queue *q, u64 now_ns)
{
	return policy_joins(pn, q, now_ns) || (gpreempt_debt_due(pn, q->process) &&
					       policy_starves(q) && !policy_relief_is_elsewhere(q));
}

/*
 * Is it kept off by request? Not while the driver or its process does not let it go, and not for
 * the length of a relief after it was for the longest time that a hold may take. It has its own
 * rank then, and no more: a request to be held is no way to come before others. Time off the device
 * for one reason is not counted for the other.
 */
static void policy_keep_off(const struct gpreempt_policy_params *params,
			    struct gpreempt_policy_queue *q, u64 now_ns)
{
	bool held = q->kept_off & GPREEMPT_KEPT_HOLD, kept_off;

	if (held && !q->set.hold_unbounded && policy_preempted_too_long(q, params, now_ns))
		q->let_go_until_ns = now_ns + params->relief_ns;
	if (!q->set.hold)
		q->let_go_until_ns = 0;
	q->asked = q->set.hold;
	kept_off = q->set.hold && !params->observe && !policy_fixed(q) &&
		   now_ns >= q->let_go_until_ns;
	if (kept_off == held)
		return;
	demand_starve_anew(q, now_ns);
	q->kept_off ^= GPREEMPT_KEPT_HOLD;
}

/* It has no demand: those below it need not wait for what may not run. */
static bool policy_kept_off(const struct gpreempt_policy_queue *q)
{
	return q->kept_off && !q->pass.relieved;
}

static s32 policy_age_of(const struct gpreempt_policy_node *pn,
			 const struct gpreempt_policy_queue *q, u64 now_ns)
{
	const struct gpreempt_policy_params *params = &pn->params;
	u64 steps;

	if (now_ns < q->aged_until_ns)
		return AGE_MAX;
	if (!params->aging_ns || !pn->ops->ages || !demand_of_preempted(q))
		return 0;
	steps = (now_ns - q->seen.starved_ns) / params->aging_ns;
	return steps < AGE_MAX ? (s32)steps : AGE_MAX;
}

/* Does one have work that does not yield? Then the device may have no room for others. */
static bool policy_fixed_works(const struct gpreempt_policy_node *pn)
{
	u32 i;

	for (i = 0; i < pn->nr; i++) {
		const struct gpreempt_policy_queue *q = pn->queues[i];

		if (!q->preempted && policy_fixed(q) && (q->seen.pending || q->seen.waves))
			return true;
	}
	return false;
}

/*
 * Has it had the device in its relief, and nothing to do there? What was saved was none then.
 * Counters that have never counted prove nothing.
 */
static bool policy_shows_none(const struct gpreempt_policy_node *pn,
			      const struct gpreempt_policy_queue *q)
{
	return !q->preempted && !q->seen.driver_off && !q->seen.showed_none && pn->waves_seen &&
	       !policy_fixed_works(pn);
}

/*
 * Until when is its job off other nodes that this one follows? Where ranks move by themselves these
 * are the ones before it: a job leaves the later nodes for what takes it off the first one, and has
 * its turn on all of them when it has it there. Two jobs cannot leave for each other so.
 */
static u64 policy_out_elsewhere(const struct gpreempt_policy_node *pn,
				const struct gpreempt_policy_job *job)
{
	if (pn->ops->rotates)
		return pn->ops->credits ? job->out_before_until_ns : 0;
	return job->leave_until_ns;
}

/*
 * One of a job: what other nodes say of the job counts as well. Work that no wave has been seen of
 * for long is no news for them: otherwise queues that wait for each other on two nodes would keep
 * each other at work for ever.
 */
static noinline enum demand policy_look_at_job(const struct gpreempt_policy_node *pn,
					       struct gpreempt_policy_queue *q, enum demand demand,
					       u64 now_ns)
{
	const struct gpreempt_policy_job *job = q->process->job;

	q->pass.idle = demand == DEMAND_NONE;
	if (policy_kept_off(q))
		return demand;
	q->pass.works = demand == DEMAND_SURE ||
			(demand == DEMAND_MAYBE && demand_of_launch(q, now_ns) == DEMAND_SURE);
	q->pass.spins = job->gang && now_ns < policy_out_elsewhere(pn, job) &&
			!q->pass.relieved && !policy_fixed(q);
	q->pass.follows = demand != DEMAND_SURE && !q->seen.driver_off &&
			  now_ns < job->wanted_until_ns && !pn->ops->rotates &&
			  q->priority <= job->wanted_priority;
	return q->pass.follows ? DEMAND_SURE : demand;
}

/* What all rules ask for, once per pass. */
static __always_inline enum demand policy_look_at(const struct gpreempt_policy_node *pn,
						  struct gpreempt_policy_queue *q, u64 now_ns)
{
	enum demand demand;

	demand = demand_look(pn, q, now_ns);

	q->pass.relieved = q->process->turn && q->process->turn_rank >= q->rank &&
			   !(q->kept_off & (GPREEMPT_KEPT_HOLD | GPREEMPT_KEPT_MAXIMUM));
	if (q->pass.relieved && demand == DEMAND_NONE && policy_shows_none(pn, q))
		demand_note_none(q);
	if (q->set.hold | q->asked)
		policy_keep_off(&pn->params, q, now_ns);
	q->pass.age = policy_age_of(pn, q, now_ns);
	if (policy_kept_off(q))
		demand = DEMAND_NONE;
	/* Four bytes, one store */
	q->pass.works = false;
	q->pass.idle = false;
	q->pass.follows = false;
	q->pass.spins = false;
	if (pn->jobs && q->process->job)
		demand = policy_look_at_job(pn, q, demand, now_ns);
	q->pass.demand[0] = demand == DEMAND_SURE;
	q->pass.demand[1] = demand != DEMAND_NONE;
	return demand;
}

static void policy_make_busy(struct gpreempt_policy_node *pn, struct gpreempt_policy_queue *q)
{
	q->pass.next_busy = pn->busy;
	pn->busy = q;
}

/* Once it is known whose turn it is: what is kept off for that has no demand. */
static void policy_find_busy(struct gpreempt_policy_node *pn, u64 now_ns)
{
	u32 i;

	pn->busy = NULL;
	for (i = 0; i < pn->nr; i++)
		if (policy_look_at(pn, pn->queues[i], now_ns) != DEMAND_NONE)
			policy_make_busy(pn, pn->queues[i]);
}

/* A debtor in its turn has the rank of the last class that it comes before. */
static s64 policy_rank(const struct gpreempt_policy_queue *q)
{
	if (!(q->pass.relieved | q->pass.spins))
		return q->rank;
	return q->pass.relieved ? q->process->turn_rank : GPREEMPT_RANK_SPINS;
}

static bool policy_at_level(const struct gpreempt_policy_queue *q, const struct level *level)
{
	return policy_rank(q) == level->rank && q->pass.relieved == level->relief;
}

/* Does it come before what has made the level so far? */
static bool policy_above(const struct gpreempt_policy_queue *q, const struct level *level)
{
	s64 rank = policy_rank(q);

	return rank > level->rank || (rank == level->rank && q->pass.relieved && !level->relief);
}

/*
 * May others have to yield to it? Not to an unseen queue: there would be no telling when they may
 * come back. But in its relief it has to run.
 */
static bool policy_makes_level(const struct gpreempt_policy_queue *q, bool assume)
{
	return q->pass.demand[assume] && (!q->set.unseen || q->pass.relieved);
}

/*
 * Its process works at the level, and with which of its own ranks. Marks count only as long as they
 * are the last ones.
 */
static void policy_mark_process(const struct gpreempt_policy_node *pn,
				const struct gpreempt_policy_queue *q)
{
	struct gpreempt_policy_process *p = q->process;

	p->level_mark = pn->mark;
	if (q->orders && (p->top_mark != pn->mark || q->own_rank > p->own_top)) {
		p->top_mark = pn->mark;
		p->own_top = q->own_rank;
	}
}

/* Marks the processes that work at a level which is known. @assume: the demand that counts. */
static void policy_mark_processes(struct gpreempt_policy_node *pn, const struct level *level,
				  bool assume)
{
	const struct gpreempt_policy_queue *q;

	pn->mark++;
	for (q = pn->busy; q; q = q->pass.next_busy)
		if (policy_makes_level(q, assume) && policy_at_level(q, level))
			policy_mark_process(pn, q);
}

/* What the queues of all processes but one say; NULL: of all. Marks those that make the level. */
static struct level policy_level_without(struct gpreempt_policy_node *pn, bool assume,
					 struct gpreempt_policy_process *without)
{
	struct gpreempt_policy_queue *q;
	/* No rank is below. */
	struct level level = { .rank = GPREEMPT_RANK_SPINS, .above = without };

	pn->mark++;

	for (q = pn->busy; q; q = q->pass.next_busy) {
		bool above = policy_above(q, &level);

		if (!policy_makes_level(q, assume) || q->process == without ||
		    (!above && !policy_at_level(q, &level)))
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
		level.rank = policy_rank(q);
		level.relief = q->pass.relieved;
		policy_mark_process(pn, q);
	}
	if (level.relief)
		level.sole = NULL;
	return level;
}

/* @assume: the demand that counts. Marks the processes that work at the level. */
static struct level policy_find_level(struct gpreempt_policy_node *pn, bool assume)
{
	struct level level = policy_level_without(pn, assume, NULL), next;

	if (!level.sole || !gpreempt_beside_allowed(pn, level.sole))
		return level;
	next = policy_level_without(pn, assume, level.sole);
	if (next.valid)
		return next;
	policy_mark_processes(pn, &level, assume);
	return level;
}

/*
 * How much rank it lacks to run while this level lasts, if it may be taken off at all; 0 or less:
 * nothing.
 */
static inline s64 policy_missing_rank(const struct gpreempt_policy_node *pn,
				      const struct gpreempt_policy_queue *q,
				      const struct level *level)
{
	const struct gpreempt_policy_process *p = q->process;

	if (!level->valid || (q->pass.relieved && level->relief))
		return 0;
	/*
	 * A process must not freeze its own copy or utility queue: both sides have to have asked
	 * for it.
	 */
	if (p->level_mark == pn->mark)
		return q->orders && p->top_mark == pn->mark ? p->own_top - q->own_rank : 0;
	if (q->pass.relieved)
		return level->rank > policy_rank(q) ? level->rank - policy_rank(q) : 0;
	if (pn->jobs) {
		if (q->pass.spins)
			return level->rank > GPREEMPT_RANK_SPINS ? GPREEMPT_RANK_RELIEF : 0;
		if (level->rank == GPREEMPT_RANK_SPINS)
			return 0;
	}
	if (level->rank == GPREEMPT_RANK_RELIEF)
		return GPREEMPT_RANK_RELIEF;
	return level->rank - q->rank + level->relief;
}

/*
 * Has it to stay off the device while the level lasts? Age counts up to equality: the level is that
 * of ranks without.
 */
static bool policy_outranked(const struct gpreempt_policy_queue *q)
{
	return q->missing > q->pass.age && !policy_fixed(q);
}

/* It has not had the device for the time that it was promised. A relief does not wait for that. */
static bool policy_in_min_run(const struct gpreempt_policy_queue *q,
			      const struct gpreempt_policy_params *params,
			      const struct level *level, u64 now_ns)
{
	return params->min_run_ns && q->pass.demand[1] && !level->relief &&
	       now_ns - q->seen.run_ns < params->min_run_ns;
}

/* How long has what is at the level to wait before others are taken off for it? */
static u64 policy_budget_wait(const struct gpreempt_policy_node *pn, const struct level *level,
			      u64 now_ns)
{
	/* The owners of turns pay in service. */
	return level->relief || pn->ops->rotates ?
		       0 : gpreempt_budget_wait(pn, level->priority, now_ns);
}

/*
 * Until when has another node no room in its budget for what is at the level here? A job that it
 * does not let begin there would only wait here. 0: not all of the level is of such jobs.
 */
static noinline u64 policy_level_is_shut(const struct gpreempt_policy_node *pn,
					 const struct level *level, bool assume, u64 now_ns)
{
	const struct gpreempt_policy_queue *q;
	u64 until_ns = 0;

	for (q = pn->busy; q; q = q->pass.next_busy) {
		const struct gpreempt_policy_job *job = q->process->job;

		if (!policy_at_level(q, level) || !policy_makes_level(q, assume))
			continue;
		if (!job || !job->gang || now_ns >= job->shut_elsewhere_ns)
			return 0;
		until_ns = gpreempt_later(until_ns, job->shut_elsewhere_ns);
	}
	return until_ns;
}

/* It waits for slots that others have: nothing of it is on the device yet. */
static bool policy_unstarted(const struct gpreempt_policy_queue *q, u64 now_ns)
{
	return q->seen.pending && q->seen.waves_ns == now_ns && !q->seen.waves &&
	       !q->seen.restore_since_ns;
}

/* So long victims may be waited for: what a save takes. 0: none was timed. */
static u64 policy_drain_most(const struct gpreempt_policy_node *pn)
{
	return gpreempt_earlier(pn->params.drain_ns, pn->save_ns);
}

/* The mean length of its kernels while no queue was above it. 0: it is not known. */
static u64 policy_kernel_ns(const struct gpreempt_policy_queue *q, u64 now_ns)
{
	u64 launches = q->seen.rptr - q->seen.counted_rptr;

	if (q->drains)
		return q->drain_kernel_ns;
	return launches < GPREEMPT_DRAIN_LAUNCHES ? 0 : (now_ns - q->seen.counted_ns) / launches;
}

/*
 * By its past it is about to end, or its kernels are so short that those above hardly notice them.
 * What has been running for longer is something else.
 */
static bool policy_may_drain(const struct gpreempt_policy_queue *q, u64 most_ns, u64 now_ns)
{
	u64 began_ns = gpreempt_later(q->seen.launched_ns, q->seen.run_ns), kernel_ns;

	if (q->drain_skip || q->set.unseen ||
	    (now_ns - began_ns >= most_ns && !policy_unstarted(q, now_ns)))
		return false;
	if (q->seen.pending <= GPREEMPT_DRAIN_PACKETS)
		return true;
	kernel_ns = policy_kernel_ns(q, now_ns);
	return kernel_ns && kernel_ns <= most_ns / GPREEMPT_DRAIN_SHORT_SHARE;
}

/*
 * How much of the time since the last decision had those that are waited for? Of kernels whose
 * length is known it is as much as began.
 */
static u64 policy_drain_charge(const struct gpreempt_policy_node *pn, u64 now_ns)
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
		if (q->drain_kernel_ns && (launches || policy_unstarted(q, now_ns)))
			sum_ns += (u64)launches * q->drain_kernel_ns;
		else if (!policy_unstarted(q, now_ns))
			return span_ns;
	}
	return gpreempt_earlier(sum_ns, span_ns);
}

/* For how much longer may those at this level wait? */
static u64 policy_drain_left(const struct gpreempt_policy_node *pn, const struct level *level,
			     u64 now_ns)
{
	u64 most_ns = policy_drain_most(pn), waited_ns = 0;

	if (pn->drain.begun && pn->drain.rank == level->rank)
		waited_ns = pn->drain.waited_ns + policy_drain_charge(pn, now_ns);
	return waited_ns < most_ns ? most_ns - waited_ns : 0;
}

/* It has work on the device, and so has a higher one. */
static bool policy_has_to_go(const struct gpreempt_policy_queue *q, bool assume)
{
	return !demand_is_off(q) && q->pass.demand[assume] && policy_outranked(q);
}

/*
 * A hardware pass takes the device from everyone. Do those that it would be for take less of it by
 * themselves? What has not begun is in no one's way, so until then there is no hurry.
 */
static noinline void policy_find_drain(const struct gpreempt_policy_node *pn, struct level *level,
				       u64 now_ns, bool assume)
{
	u64 most_ns = policy_drain_most(pn);
	const struct gpreempt_policy_queue *q;

	/* Where waves do not show, neither does their end. Nodes of a job preempt together. */
	if (!most_ns || !pn->device.waves_known || pn->device.waves_saved || !pn->waves_seen ||
	    pn->device.turns_ns || pn->ops->rotates || pn->jobs || level->relief ||
	    now_ns < pn->drain.rest_until_ns)
		return;
	level->unstarted = true;
	for (q = pn->busy; q; q = q->pass.next_busy) {
		if (!policy_has_to_go(q, assume) ||
		    policy_in_min_run(q, &pn->params, level, now_ns))
			continue;
		if (!policy_may_drain(q, most_ns, now_ns))
			return;
		level->unstarted &= policy_unstarted(q, now_ns);
	}
	level->drains = policy_drain_left(pn, level, now_ns);
	level->preempts = !level->drains;
}

/* It was waited for in vain: it has to be taken off all the same. */
static void policy_learn_drain(struct gpreempt_policy_node *pn, struct gpreempt_policy_queue *q,
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
static bool policy_end_drain(struct gpreempt_policy_node *pn, const struct level *level,
			     u64 now_ns)
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
static void policy_drain(struct gpreempt_policy_queue *q, u64 now_ns)
{
	q->drain_kernel_ns = policy_kernel_ns(q, now_ns);
	q->drain_rptr = q->seen.rptr;
	q->drains = true;
	q->drains_now = true;
}

/* Takes in what the level waits for, and what came of what it waited for before. */
static noinline void policy_note_drain(struct gpreempt_policy_node *pn, const struct level *level,
				       u64 now_ns, struct gpreempt_decision *decision)
{
	u64 look_ns = policy_drain_most(pn) / GPREEMPT_DRAIN_LOOK_SHARE;
	struct gpreempt_policy_drain *drain = &pn->drain;
	struct gpreempt_policy_queue *q;
	u32 i;

	if (drain->begun && (!level->valid || level->rank != drain->rank))
		decision->drained = policy_end_drain(pn, level, now_ns);
	drain->waited_ns += policy_drain_charge(pn, now_ns);
	drain->at_ns = level->drains ? now_ns : 0;
	for (i = 0; i < pn->nr; i++)
		pn->queues[i]->drains_now = false;
	for (q = pn->busy; q; q = q->pass.next_busy) {
		if (!policy_has_to_go(q, true))
			continue;
		if (level->drains)
			policy_drain(q, now_ns);
		else if (level->preempts && q->drains)
			policy_learn_drain(pn, q, now_ns);
	}
	if (!level->drains)
		return;
	drain->begun = true;
	drain->rank = level->rank;
	drain->until_ns = level->unstarted ? GPREEMPT_FOREVER_NS :
					     now_ns + policy_drain_left(pn, level, now_ns);
	drain->next_ns = gpreempt_later(look_ns, pn->cost_ns);
}

/*
 * Is a queue in the way? Lower queues without work take nothing from others: only one with work
 * causes a pass. The processes at the level are marked.
 */
static void policy_find_inversion(const struct gpreempt_policy_node *pn, struct level *level,
				  u64 now_ns, bool assume)
{
	struct gpreempt_policy_queue *q;

	level->inversion = false;
	level->preempts = false;
	level->drains = false;
	for (q = pn->busy; q; q = q->pass.next_busy) {
		if (demand_is_off(q) || !q->pass.demand[assume])
			continue;
		q->missing = policy_missing_rank(pn, q, level);
		if (!policy_outranked(q))
			continue;
		level->inversion = true;
		level->preempts |= !policy_in_min_run(q, &pn->params, level, now_ns);
	}
	if (level->preempts &&
	    (policy_budget_wait(pn, level, now_ns) ||
	     (pn->jobs && !level->relief && policy_level_is_shut(pn, level, assume, now_ns))))
		level->preempts = false;
	if (level->preempts && pn->params.drain_ns)
		policy_find_drain(pn, level, now_ns, assume);
}

/*
 * Those above it are silent: when may it come back? Not before the time that was asked for, nor
 * before it is clear that this is none of the short gaps that they had before.
 */
static u64 policy_resume_from(const struct gpreempt_policy_node *pn,
			      const struct gpreempt_policy_queue *q)
{
	u64 gap_ns;

	if (pn->ops->rotates)
		return pn->kept_until_ns;
	gap_ns = demand_gap_wait_ns(&q->gaps, demand_short_gap_ns(pn));
	return q->outranked_ns + gpreempt_later(pn->params.resume_delay_ns, gap_ns);
}

/* Nothing outranks it any more. */
static noinline bool policy_resume_delayed(const struct gpreempt_policy_node *pn,
					   const struct gpreempt_policy_queue *q, u64 now_ns)
{
	/* In a pause a debtor waits as others, unless it has waited for too long already. */
	bool debtor = q->pass.relieved &&
		      (q->process->turn_above ||
		       q->process->debt_ns >= 2 * gpreempt_debt_turn_ns(pn));

	return !debtor && !policy_fixed(q) && now_ns < policy_resume_from(pn, q);
}

/* The least time that is worth switching for. */
static u64 policy_least_turn(const struct gpreempt_policy_node *pn)
{
	return gpreempt_later(GPREEMPT_RELIEF_TURN_NS, GPREEMPT_RELIEF_TURN_SHARE * pn->pass_ns);
}

/* So long it takes to get as old as it has to be. */
static u64 policy_aging_time(const struct gpreempt_policy_node *pn,
			     const struct gpreempt_policy_queue *q)
{
	return pn->params.aging_ns * q->missing;
}

/*
 * It is old enough to run beside the level. When may it? All that are have their time together, and
 * then not until one of them could have got as old again: otherwise so many could be let in one
 * after the other that the level never were alone.
 */
static u64 policy_aged_from(const struct gpreempt_policy_node *pn,
			    const struct gpreempt_policy_queue *q, u64 now_ns)
{
	if (!pn->aged_until_ns || now_ns + policy_least_turn(pn) <= pn->aged_until_ns)
		return now_ns;
	return pn->aged_until_ns + policy_aging_time(pn, q);
}

static noinline bool policy_waits_for_age(const struct gpreempt_policy_node *pn,
					  const struct gpreempt_policy_queue *q, u64 now_ns)
{
	return !policy_fixed(q) && now_ns >= q->aged_until_ns &&
	       now_ns < policy_aged_from(pn, q, now_ns);
}

/* It would have to go. */
static enum gpreempt_verdict policy_verdict_of_fixed(const struct gpreempt_policy_queue *q)
{
	return q->process->opt_out ? GPREEMPT_VERDICT_EXEMPT : GPREEMPT_VERDICT_OBSTACLE;
}

static inline enum gpreempt_verdict
policy_verdict_of_outranked(const struct gpreempt_policy_node *pn,
			    const struct gpreempt_policy_queue *q)
{
	if (q->process->level_mark == pn->mark)
		return GPREEMPT_VERDICT_OWN_PROCESS;
	return pn->jobs && q->pass.spins ? GPREEMPT_VERDICT_JOB_YIELDS : GPREEMPT_VERDICT_YIELDS;
}

static noinline enum gpreempt_verdict
policy_verdict_of_kept_off(const struct gpreempt_policy_queue *q)
{
	if (q->kept_off & GPREEMPT_KEPT_HOLD && q->set.idle)
		return GPREEMPT_VERDICT_IDLE;
	if (q->kept_off & GPREEMPT_KEPT_HOLD)
		return q->set.stopped ? GPREEMPT_VERDICT_STOPPED : GPREEMPT_VERDICT_HOLD;
	return q->kept_off & GPREEMPT_KEPT_MAXIMUM ? GPREEMPT_VERDICT_MAXIMUM :
						     GPREEMPT_VERDICT_SHARE;
}

/*
 * When something is preempted at all, idle lower queues go along: their next packet shall not cost
 * another pass. One that is on the device without work is in no queue's way: see
 * policy_verdict_on_device().
 */
static noinline enum gpreempt_verdict policy_judge(const struct gpreempt_policy_node *pn,
						   const struct gpreempt_policy_queue *q,
						   const struct level *level, u64 now_ns)
{
	if (policy_kept_off(q))
		return policy_verdict_of_kept_off(q);
	if (q->missing <= 0)
		return GPREEMPT_VERDICT_RUNS;
	if (policy_fixed(q))
		return policy_verdict_of_fixed(q);
	if (!policy_outranked(q))
		return q->preempted && policy_waits_for_age(pn, q, now_ns) ?
			       GPREEMPT_VERDICT_AGEING :
			       GPREEMPT_VERDICT_AGED;
	if (q->spared)
		return GPREEMPT_VERDICT_YIELDS;
	if (policy_in_min_run(q, &pn->params, level, now_ns))
		return GPREEMPT_VERDICT_MIN_RUN;
	if (level->drains)
		return GPREEMPT_VERDICT_DRAINS;
	if (!level->preempts)
		return GPREEMPT_VERDICT_BUDGET;
	return policy_verdict_of_outranked(pn, q);
}

static inline enum gpreempt_action policy_action_of(const struct gpreempt_policy_queue *q,
						    enum gpreempt_verdict verdict)
{
	bool off = verdict >= GPREEMPT_VERDICT_OFF;

	if (off == q->preempted)
		return GPREEMPT_KEEP;
	return off ? GPREEMPT_PREEMPT : GPREEMPT_RESUME;
}

/* Most often there is nothing else to say: it is preempted for its rank, and stays so. */
static inline bool policy_preempted_for_rank(const struct gpreempt_policy_queue *q)
{
	return q->preempted && policy_outranked(q) && !q->kept_off;
}

/* What would become of it. Call policy_find_inversion() first. */
static inline enum gpreempt_action policy_choose(const struct gpreempt_policy_node *pn,
						 struct gpreempt_policy_queue *q,
						 const struct level *level, u64 now_ns)
{
	q->missing = policy_missing_rank(pn, q, level);
	return policy_preempted_for_rank(q) ? GPREEMPT_KEEP :
					 policy_action_of(q, policy_judge(pn, q, level, now_ns));
}

/* It has no work, and is left on the device. */
static inline enum gpreempt_verdict policy_verdict_of_idle(const struct gpreempt_policy_queue *q)
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

/*
 * It stays on the device, or comes back; with work because of @verdict. Of one without work that
 * comes back see policy_drop_idle_resumes().
 */
static enum gpreempt_verdict policy_verdict_on_device(const struct gpreempt_policy_node *pn,
						      const struct gpreempt_policy_queue *q,
						      const struct level *level,
						      enum gpreempt_verdict verdict, u64 now_ns)
{
	if (q->seen.driver_off)
		return GPREEMPT_VERDICT_DRIVER;
	if (q->pass.relieved && q->pass.demand[1])
		return GPREEMPT_VERDICT_RELIEF;
	if (!q->pass.demand[1] && q->preempted && pn->ops->rotates && !pn->params.observe)
		return GPREEMPT_VERDICT_LEFT_OFF;
	if (!q->pass.demand[1])
		return policy_verdict_of_idle(q);
	if (verdict != GPREEMPT_VERDICT_RUNS)
		return verdict;
	/* Its hold does not count. */
	if (q->set.hold && !pn->params.observe)
		return policy_fixed(q) ? policy_verdict_of_fixed(q) : GPREEMPT_VERDICT_RELIEF;
	if (demand_expected(q, now_ns))
		return GPREEMPT_VERDICT_EXPECTED;
	if (q->pass.follows)
		return GPREEMPT_VERDICT_JOB;
	if (q->set.unseen)
		return GPREEMPT_VERDICT_UNSEEN;
	return q->rank < level->rank ? GPREEMPT_VERDICT_SIBLING : GPREEMPT_VERDICT_RUNS;
}

/* The same of those that are on the device: it has work and the highest rank, and stays. */
static inline bool policy_runs_for_rank(const struct gpreempt_policy_queue *q,
					const struct level *level, u64 now_ns)
{
	return q->missing <= 0 && !q->preempted && q->pass.demand[1] && q->rank == level->rank &&
	       now_ns >= q->set.expected_until_ns &&
	       !(q->set.hold | q->pass.relieved | q->set.unseen | q->seen.driver_off | q->spared |
		 q->pass.follows);
}

/* It need not yield any more: would it come back now, or as a preempted one wait for something? */
static bool policy_stays_spared(const struct gpreempt_policy_node *pn,
				const struct gpreempt_policy_queue *q, const struct level *level,
				u64 now_ns)
{
	/* As policy_drop_idle_resumes() has it. */
	if (pn->ops->rotates)
		return level->valid && !q->pass.demand[1];
	return q->missing <= 0 && policy_resume_delayed(pn, q, now_ns);
}

/* It leaves the device, or would if its node did not only observe. */
static void policy_leave(struct gpreempt_policy_queue *q)
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

/* The same of a node that only observes. @verdict: what would become of it. */
static noinline enum gpreempt_verdict policy_observe(const struct gpreempt_policy_node *pn,
						     struct gpreempt_policy_queue *q,
						     const struct level *level,
						     enum gpreempt_verdict verdict, u64 now_ns)
{
	bool off = verdict >= GPREEMPT_VERDICT_OFF ||
		   (q->spared && policy_stays_spared(pn, q, level, now_ns));

	q->action = q->preempted ? GPREEMPT_RESUME : GPREEMPT_KEEP;
	if (off && !q->spared) {
		q->would = GPREEMPT_PREEMPT;
		policy_leave(q);
	} else if (!off && q->spared) {
		q->would = GPREEMPT_RESUME;
	}
	q->spared = off;
	return off ? GPREEMPT_VERDICT_OBSERVED :
		     policy_verdict_on_device(pn, q, level, verdict, now_ns);
}

/* Sets @action of all others. */
static noinline enum gpreempt_verdict policy_decide_other(const struct gpreempt_policy_node *pn,
							  struct gpreempt_policy_queue *q,
							  const struct level *level, u64 now_ns)
{
	enum gpreempt_verdict verdict = policy_judge(pn, q, level, now_ns);

	if (pn->params.observe)
		return policy_observe(pn, q, level, verdict, now_ns);
	q->action = policy_action_of(q, verdict);
	if (q->action == GPREEMPT_RESUME && q->missing <= 0 &&
	    policy_resume_delayed(pn, q, now_ns)) {
		q->action = GPREEMPT_KEEP;
		return GPREEMPT_VERDICT_RESUME_DELAYED;
	}
	return verdict < GPREEMPT_VERDICT_OFF ?
		       policy_verdict_on_device(pn, q, level, verdict, now_ns) :
		       verdict;
}

static inline void policy_give_verdict(struct gpreempt_policy_queue *q,
				       enum gpreempt_verdict verdict, u64 now_ns)
{
	if (q->verdict == verdict)
		return;
	q->verdict = verdict;
	q->verdict_ns = now_ns;
}

/* ACTIVE: recently; UNARMED: no doorbell announces its work */
enum whom { ALL, ACTIVE, UNARMED };

/* RIVALS_WITHIN: queues of one process */
enum rivals { NO_RIVALS, RIVALS_WITHIN, RIVALS };

/* Could a queue ever outrank another one? @whom selects the queues that are compared. */
static enum rivals policy_can_outrank(struct gpreempt_policy_node *pn, u64 now_ns, enum whom whom)
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

/* Has a queue below the level work on the device, or gets it by the actions chosen? */
static bool policy_lower_runs(const struct gpreempt_policy_node *pn, const struct level *level,
			      bool assume)
{
	const struct gpreempt_policy_queue *q;

	for (q = pn->busy; q; q = q->pass.next_busy) {
		if ((!q->preempted || q->action == GPREEMPT_RESUME) && level->valid &&
		    q->pass.demand[assume] && policy_rank(q) <= level->rank &&
		    !policy_at_level(q, level))
			return true;
	}
	return false;
}

/*
 * Does a queue at the level stand still, so that it matters whether a lower one is in its way? It
 * does not matter for how long: while a lower one may be, policy_forget_stalls() begins anew in
 * each pass. It matters where a lower one may have waves and would not be taken off anyway, so
 * rarely.
 */
static bool policy_level_stalls(const struct gpreempt_policy_node *pn, const struct level *level)
{
	const struct gpreempt_policy_queue *q;

	if (pn->device.turns_ns)
		return false;
	for (q = pn->busy; q; q = q->pass.next_busy)
		if (q->seen.stalled_ns && level->valid && !q->seen.blocked &&
		    policy_rank(q) == level->rank)
			return true;
	return false;
}

/*
 * The queues that a decision is about: those that are dormant have no work, and only go along with
 * others that are preempted.
 */
static u32 policy_nr_concerned(const struct gpreempt_policy_node *pn, const struct level *level)
{
	return level->preempts ? pn->nr + pn->nr_dormant : pn->nr;
}

/* Would this level lead to other actions than those chosen? */
static bool policy_differs(const struct gpreempt_policy_node *pn, const struct level *level,
			   u64 now_ns)
{
	u32 i, nr = policy_nr_concerned(pn, level);

	for (i = 0; i < nr; i++)
		if (pn->queues[i]->action != policy_choose(pn, pn->queues[i], level, now_ns))
			return true;
	return false;
}

/**
 * gpreempt_policy_use() - decide by this policy from now on
 * @pn: the node, with its queues
 * @ops: the policy
 *
 * The first thing for a new node. Later, what is preempted stays preempted until the next decision
 * finds that it need not be.
 */
void gpreempt_policy_use(struct gpreempt_policy_node *pn, const struct gpreempt_policy_ops *ops)
{
	struct gpreempt_policy_tenant *tenant;
	u32 i;

	pn->ops = ops;
	pn->changed = true;
	pn->kept_until_ns = 0;
	pn->aged_until_ns = 0;
	for (i = 0; i < pn->nr; i++) {
		struct gpreempt_policy_queue *q = pn->queues[i];

		tenant = gpreempt_debt_tenant_of_process(pn, q->process);
		tenant->share = (struct gpreempt_policy_share){ 0 };
		tenant->vtime_ns = 0;
		q->share = (struct gpreempt_policy_share){ 0 };
		q->process->share = (struct gpreempt_policy_share){ 0 };
		q->process->turn = false;
		if (q->process->job)
			q->process->job->share = (struct gpreempt_policy_share){ 0 };
		q->due_ns = 0;
		q->aged_until_ns = 0;
	}
}

static bool policy_raise(s32 *priority, s32 to)
{
	bool raises = to > *priority;

	if (raises)
		*priority = to;
	return raises;
}

/* It has what its process is lent. Returns true if that makes its process lend more. */
static bool policy_pass_on(struct gpreempt_policy_queue *q)
{
	const struct gpreempt_policy_process *p = q->process;

	policy_raise(&q->priority, p->lent[0] < q->set.lent_max ? p->lent[0] : q->set.lent_max);
	policy_raise(&q->priority, p->lent[1]);
	return p->waits_for && policy_raise(&p->waits_for->lent[p->lends_all], q->priority);
}

/* A process that waits for another one lends it the highest priority of its queues. */
static noinline void policy_lend(struct gpreempt_policy_node *pn)
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
			more |= policy_pass_on(pn->queues[i]);
}

/* Ranks that do not move by themselves are good until what they come from changes. */
static void policy_rank_all(struct gpreempt_policy_node *pn, u64 now_ns)
{
	if (pn->changed || pn->ops->rotates)
		pn->ops->rank(pn, now_ns);
}

/* A job that waits for itself has its turn as one. */
static bool policy_takes_turn_with(const struct gpreempt_policy_process *a,
				   const struct gpreempt_policy_process *b)
{
	return a == b || (a->job && a->job == b->job);
}

/* The debt is not paid yet, there is work, and no higher class has ended the turn. */
static bool policy_turn_goes_on(const struct gpreempt_policy_queue *q, u64 now_ns)
{
	const struct gpreempt_policy_process *p = q->process;
	bool off = demand_is_off(q), may_rise = off && p->debt_ns >= p->turn_next_ns;

	return p->turn_leads && q->pass.relieved && p->debt_ns && now_ns < p->turn_until_ns &&
	       !may_rise && !(off && p->turn_ran);
}

/* What of a job joins a turn elsewhere comes first, then who is owed most. */
static bool policy_due_before(const struct gpreempt_policy_node *pn,
			      const struct gpreempt_policy_queue *q,
			      const struct gpreempt_policy_queue *other, u64 now_ns)
{
	bool joins = policy_joins(pn, q, now_ns);

	if (!other || joins != policy_joins(pn, other, now_ns))
		return !other || joins;
	return q->process->debt_ns > other->process->debt_ns;
}

/* The least rank above this one that works; the same if there is none. */
static s64 policy_next_rank(const struct gpreempt_policy_node *pn, s64 rank)
{
	const struct gpreempt_policy_queue *q;
	s64 next = rank;

	for (q = pn->busy; q; q = q->pass.next_busy)
		if (policy_makes_level(q, true) && !q->pass.relieved && !q->pass.spins &&
		    q->rank > rank && (next == rank || q->rank < next))
			next = q->rank;
	return next;
}

/* The rank of the last class that a debtor comes before; @next_ns: a debt worth one more. */
static s64 policy_rank_of_debtor(const struct gpreempt_policy_node *pn,
				 const struct gpreempt_policy_queue *q, u64 *next_ns, u64 now_ns)
{
	u32 nr_above = 0, nr, i;
	s64 next, rank = q->rank;

	*next_ns = GPREEMPT_FOREVER_NS;
	if (pn->ops->rotates || policy_joins(pn, q, now_ns))
		return GPREEMPT_RANK_RELIEF;
	for (next = policy_next_rank(pn, rank); next != rank; nr_above++) {
		rank = next;
		next = policy_next_rank(pn, rank);
	}
	nr = gpreempt_debt_classes(pn, q->process, nr_above);
	*next_ns = gpreempt_debt_of_class(pn, nr, nr_above);
	for (rank = q->rank, i = 0; i < nr; i++)
		rank = policy_next_rank(pn, rank);
	return rank;
}

static void policy_begin_turn(struct gpreempt_policy_node *pn,
			      const struct gpreempt_policy_queue *leader, u64 now_ns)
{
	u64 until_ns = now_ns + leader->process->debt_ns + demand_switch_ns(pn);
	u64 next_ns;
	s64 rank = policy_rank_of_debtor(pn, leader, &next_ns, now_ns);
	u32 i;

	pn->turn = true;
	if (policy_joins(pn, leader, now_ns))
		until_ns = leader->process->job->relief_until_ns;
	for (i = 0; i < pn->nr; i++) {
		struct gpreempt_policy_process *p = pn->queues[i]->process;

		if (!policy_takes_turn_with(p, leader->process))
			continue;
		p->turn = true;
		p->turn_leads = p == leader->process;
		p->turn_ran = false;
		p->turn_rank = rank;
		p->turn_above = rank > leader->rank;
		p->turn_next_ns = next_ns;
		p->turn_until_ns = until_ns;
		/* Before its equals alone it waits for a pause. */
		pn->nr_relief += rank > leader->rank && policy_starves(pn->queues[i]);
	}
}

static bool policy_end_turn(struct gpreempt_policy_node *pn)
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
static noinline void policy_find_debtor(struct gpreempt_policy_node *pn, u64 now_ns)
{
	const struct gpreempt_policy_queue *q, *first = NULL;
	bool changed;

	/* Ranks that need no demand are those of this pass. */
	if (pn->changed && !pn->ops->rotates)
		pn->ops->rank(pn, now_ns);
	for (q = pn->busy; q; q = q->pass.next_busy) {
		if (policy_turn_goes_on(q, now_ns))
			return;
		if (pn->params.max_hold_ns && policy_is_due(pn, q, now_ns) &&
		    policy_due_before(pn, q, first, now_ns))
			first = q;
	}
	changed = policy_end_turn(pn);
	if (first)
		policy_begin_turn(pn, first, now_ns);
	if (changed || first)
		policy_find_busy(pn, now_ns);
}

/* With all the waves that there may be? Then those that could not be found blocked have demand. */
static bool policy_preempts_anyway(struct gpreempt_policy_node *pn, u64 now_ns)
{
	struct level level = policy_find_level(pn, true);
	struct gpreempt_policy_queue *q;

	policy_find_inversion(pn, &level, now_ns, true);
	for (q = pn->busy; level.preempts && q; q = q->pass.next_busy)
		q->pass.demand[0] = true;
	return level.preempts;
}

/*
 * Where only runlists tell: queues below certain work are taken off without being asked about. That
 * tells as well, and it is what would follow if they have waves.
 */
static bool policy_preempts_to_know(struct gpreempt_policy_node *pn, u64 now_ns)
{
	struct level sure = policy_find_level(pn, false), level = policy_find_level(pn, true);

	return sure.valid && sure.rank == level.rank && policy_preempts_anyway(pn, now_ns);
}

/**
 * struct policy_doubt - what is not known about waves in a pass
 * @matters: of a queue it is not known whether it has any, and it has no packets
 * @unknown: that has been so for long
 * @first: of each such queue nothing has been known before
 * @preempted: a queue is off the device, or to be taken off on request
 * @told: a decision of another node may depend on it
 */
struct policy_doubt {
	bool matters;
	bool unknown;
	bool first;
	bool preempted;
	bool told;
};

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
static bool policy_unproven(const struct gpreempt_policy_node *pn)
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

/* Whose turn is it? */
static noinline void policy_look_at_shares(struct gpreempt_policy_node *pn, u64 now_ns)
{
	if (pn->shares->look(pn, now_ns))
		policy_find_busy(pn, now_ns);
}

/* For whom does each job work? */
static noinline void policy_find_payers(struct gpreempt_policy_node *pn)
{
	struct gpreempt_policy_job *job;
	u32 i;

	for (job = pn->jobs; job; job = job->next)
		job->payer = NULL;
	for (i = 0; i < pn->nr; i++) {
		job = pn->queues[i]->process->job;
		if (job && !job->payer)
			job->payer = gpreempt_debt_tenant_of(pn, pn->queues[i]);
	}
}

/* Looks at each queue, and makes the list of busy ones. */
static struct policy_doubt policy_look_at_all(struct gpreempt_policy_node *pn, u64 now_ns)
{
	struct policy_doubt doubt = { .first = true };
	bool off = false;
	u32 i;

	if (pn->jobs)
		policy_find_payers(pn);
	pn->busy = NULL;
	for (i = 0; i < pn->nr; i++) {
		struct gpreempt_policy_queue *q = pn->queues[i];
		enum demand demand = policy_look_at(pn, q, now_ns);

		off |= q->preempted | q->spared | q->set.hold;
		if (demand == DEMAND_NONE)
			continue;
		policy_make_busy(pn, q);
		if (demand != DEMAND_MAYBE)
			continue;
		doubt.matters = true;
		doubt.told |= pn->jobs && q->process->job && q->process->job->asked_elsewhere;
		doubt.unknown |= !pn->device.waves_saved &&
				 demand_unknown_for_long(pn, q, now_ns);
		doubt.first &= demand_first_look(pn, q, now_ns);
	}
	doubt.preempted = off;
	if (pn->nr_entities)
		policy_look_at_shares(pn, now_ns);
	if (pn->owing || pn->turn || pn->jobs)
		policy_find_debtor(pn, now_ns);
	return doubt;
}

/*
 * Would the decision be another one if what is not known were waves? @sure: the level without them.
 */
static bool policy_waves_change(struct gpreempt_policy_node *pn, const struct level *sure,
				u64 now_ns)
{
	struct level level = *sure;
	bool in_the_way;
	u32 i;

	policy_mark_processes(pn, &level, false);
	policy_find_inversion(pn, &level, now_ns, false);
	pn->nr_chosen = policy_nr_concerned(pn, &level);
	for (i = 0; i < pn->nr_chosen; i++)
		pn->queues[i]->action = policy_choose(pn, pn->queues[i], &level, now_ns);
	in_the_way = policy_lower_runs(pn, &level, false);

	level = policy_find_level(pn, true);
	policy_find_inversion(pn, &level, now_ns, true);
	if (policy_differs(pn, &level, now_ns))
		return true;
	/* A runlist may change who has the slots: no such side effect only in order to know. */
	if (!pn->device.waves_saved && pn->params.blocked_ns && policy_level_stalls(pn, &level) &&
	    in_the_way != policy_lower_runs(pn, &level, true))
		return true;

	/*
	 * A queue without waves exempts no other of its process while a lower one with waves still
	 * is in the way.
	 */
	policy_mark_processes(pn, &level, false);
	policy_find_inversion(pn, &level, now_ns, true);
	return policy_differs(pn, &level, now_ns);
}

/* Has what is waited for ended, or begun? If there is no answer in time, it goes without. */
static inline bool policy_drain_asks(const struct gpreempt_policy_node *pn, u64 now_ns)
{
	const struct gpreempt_policy_drain *drain = &pn->drain;

	return drain->at_ns && now_ns - drain->at_ns < drain->next_ns + policy_drain_most(pn);
}

/*
 * Would an answer about waves in flight change the decision? Asking takes register reads, so it is
 * done only then.
 */
static bool policy_waves_matter(struct gpreempt_policy_node *pn, u64 now_ns)
{
	struct policy_doubt doubt;
	struct level level, sure;

	if (pn->device.turns_ns)
		gpreempt_demand_begin_turns(pn, now_ns);
	else if (pn->device.waves_saved)
		gpreempt_demand_block_saved(pn, now_ns);
	doubt = policy_look_at_all(pn, now_ns);
	if (policy_drain_asks(pn, now_ns) || gpreempt_beside_asks(pn, now_ns))
		return true;
	if (!doubt.matters)
		return false;
	policy_rank_all(pn, now_ns);
	/*
	 * No answer could change this decision, and a higher queue waits for it. What it takes off
	 * the device need not be asked about any more.
	 */
	if (doubt.first && policy_preempts_anyway(pn, now_ns))
		return false;
	if (pn->device.waves_saved && policy_preempts_to_know(pn, now_ns))
		return false;
	if ((doubt.told && !pn->device.waves_saved) || pn->share_doubt)
		return true;
	if (doubt.unknown && (pn->idle_ns || policy_can_outrank(pn, now_ns, ALL)))
		return true;
	/* Alone it is in no other's way. */
	if (!doubt.preempted && (!pn->busy || !pn->busy->pass.next_busy))
		return false;

	/*
	 * Two short cuts. First: a preempted queue would come back either way or neither way,
	 * unless something else keeps it off.
	 */
	sure = policy_find_level(pn, false);
	level = policy_find_level(pn, true);
	if (doubt.preempted && (sure.valid != level.valid || sure.rank != level.rank))
		return true;
	/*
	 * Second: none is preempted, and with the most waves and the fewest exemptions none yields:
	 * so none does with fewer waves.
	 */
	policy_mark_processes(pn, &level, false);
	policy_find_inversion(pn, &level, now_ns, true);
	if (level.drains)
		return true;
	if (!doubt.preempted && !level.inversion &&
	    !(pn->params.blocked_ns && policy_level_stalls(pn, &level)))
		return false;

	return policy_waves_change(pn, &sure, now_ns);
}

/* It acts from now on: what would have been is over. */
static noinline void policy_end_observing(struct gpreempt_policy_node *pn)
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
		policy_end_observing(pn);
	if (pn->changed)
		policy_lend(pn);
	gpreempt_debt_account(pn, now_ns);
	gpreempt_beside_account(pn, now_ns);
	pn->asked = policy_waves_matter(pn, now_ns);
	pn->unproven = gpreempt_policy_matters(pn) && policy_unproven(pn);
	return pn->asked;
}

/* Do counters that have never shown any waves read 0 for a queue that has started packets? */
static bool policy_counters_doubtful(const struct gpreempt_policy_node *pn, u64 now_ns)
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
 * have been before, and the time to the next one is GPREEMPT_CHECK_NS doubled so often, up to
 * GPREEMPT_CHECK_MAX_NS: 10 in the first second, and one per second from then on. There is none
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
	    !policy_counters_doubtful(pn, now_ns))
		return false;
	pn->check_ns =
		now_ns + gpreempt_earlier(GPREEMPT_CHECK_NS << pn->checks, GPREEMPT_CHECK_MAX_NS);
	if (pn->checks < GPREEMPT_CHECKS)
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

/* When it may run beside the level for its age, of a wait since then. */
static noinline u64 policy_old_enough(const struct gpreempt_policy_node *pn,
				      const struct gpreempt_policy_queue *q, u64 since_ns,
				      u64 now_ns)
{
	u64 old_ns = since_ns + policy_aging_time(pn, q);

	if (q->missing <= 0 || q->missing >= AGE_MAX)
		return GPREEMPT_FOREVER_NS;
	return old_ns > now_ns ? old_ns : policy_aged_from(pn, q, now_ns);
}

/* When the longest time is over for which it may be held. */
static u64 policy_longest_hold(const struct gpreempt_policy_node *pn, u64 since_ns, u64 now_ns)
{
	u64 due_ns = since_ns + pn->params.max_hold_ns;

	return pn->params.max_hold_ns && due_ns > now_ns ? due_ns : GPREEMPT_FOREVER_NS;
}

/* When its turn ends, if no work ends it before. */
static u64 policy_turn_ends(const struct gpreempt_policy_queue *q, u64 now_ns)
{
	const struct gpreempt_policy_process *p = q->process;

	return gpreempt_earlier(p->turn_until_ns,
				p->turn_leads ? now_ns + p->debt_ns : GPREEMPT_FOREVER_NS);
}

/* No time ends that: a hold without bound, or what share.c decides. */
static bool policy_kept_off_unbounded(const struct gpreempt_policy_queue *q)
{
	return q->kept_off && (q->set.hold_unbounded || !(q->kept_off & GPREEMPT_KEPT_HOLD));
}

/* When a time of this queue ends that may change what becomes of it. */
static noinline u64 policy_first_deadline(const struct gpreempt_policy_node *pn,
					  const struct gpreempt_policy_queue *q,
					  const struct level *level, u64 now_ns)
{
	const struct gpreempt_policy_params *params = &pn->params;
	u64 end_ns = GPREEMPT_FOREVER_NS;

	if (q->pass.relieved && q->pass.demand[1] && gpreempt_policy_stays(q))
		return policy_turn_ends(q, now_ns);
	if (q->set.hold && now_ns < q->let_go_until_ns)
		end_ns = q->let_go_until_ns;
	if (now_ns < q->aged_until_ns)
		end_ns = gpreempt_earlier(end_ns, q->aged_until_ns);
	if (demand_expected(q, now_ns))
		end_ns = gpreempt_earlier(end_ns, q->set.expected_until_ns);
	if (q->seen.blocked)
		end_ns = gpreempt_earlier(end_ns, q->seen.try_ns);
	if (!gpreempt_policy_stays(q)) {
		u64 since_ns = q->preempted ? q->seen.starved_ns : now_ns;
		/* Of one that is taken off on request it is known then. */
		bool waits = demand_is_off(q) ? demand_of_off(q) :
							 q->pass.demand[1] || q->set.hold;

		if (waits && !(pn->jobs && policy_relief_is_elsewhere(q)) &&
		    !policy_kept_off_unbounded(q))
			end_ns = gpreempt_earlier(
				end_ns, q->set.hold ? policy_longest_hold(pn, since_ns, now_ns) :
						      gpreempt_debt_until(pn, q, now_ns));
		if (q->kept_off & GPREEMPT_KEPT_MAXIMUM)
			end_ns = gpreempt_earlier(end_ns, pn->shares->until(pn, q));
		if (waits && params->aging_ns && pn->ops->ages)
			end_ns = gpreempt_earlier(end_ns,
						  policy_old_enough(pn, q, since_ns, now_ns));
		if (demand_is_off(q) && q->missing <= 0 &&
		    policy_resume_delayed(pn, q, now_ns))
			end_ns = gpreempt_earlier(end_ns, policy_resume_from(pn, q));
	} else if (policy_outranked(q) && policy_in_min_run(q, params, level, now_ns)) {
		end_ns = gpreempt_earlier(end_ns, q->seen.run_ns + params->min_run_ns);
	} else if (q->verdict == GPREEMPT_VERDICT_DRAINS) {
		end_ns = gpreempt_earlier(end_ns, pn->drain.until_ns);
	}
	return end_ns;
}

/* The same of one that stays preempted for its rank: most often it has nothing else to wait for. */
static inline u64 policy_outranked_deadline(const struct gpreempt_policy_node *pn,
					    const struct gpreempt_policy_queue *q,
					    const struct level *level, u64 now_ns)
{
	u64 end_ns;

	if (q->set.hold || now_ns < q->set.expected_until_ns)
		return policy_first_deadline(pn, q, level, now_ns);
	if (!demand_of_preempted(q) || (pn->jobs && policy_relief_is_elsewhere(q)))
		return GPREEMPT_FOREVER_NS;
	end_ns = gpreempt_debt_until(pn, q, now_ns);
	if (pn->params.aging_ns && pn->ops->ages)
		end_ns = gpreempt_earlier(end_ns,
					  policy_old_enough(pn, q, q->seen.starved_ns, now_ns));
	return end_ns;
}

/*
 * A queue that stands behind a lower one has not had the device: it waits for the scheduler, not
 * for something else.
 */
static void policy_forget_stalls(const struct gpreempt_policy_node *pn, const struct level *level)
{
	struct gpreempt_policy_queue *q;

	if (!level->above && !policy_lower_runs(pn, level, true))
		return;
	for (q = pn->busy; q; q = q->pass.next_busy)
		if ((level->above || policy_rank(q) == level->rank) && !q->seen.blocked)
			demand_forget_stall(q);
}

/*
 * The runlist that carries these actions out takes all waves off and brings those of mapped queues
 * back.
 */
static void policy_mark_restored(struct gpreempt_policy_node *pn, u64 now_ns)
{
	struct gpreempt_policy_queue *q;

	pn->acting_ns = now_ns;
	for (q = pn->busy; q; q = q->pass.next_busy)
		if (q->pass.demand[q->set.unseen || (pn->asked && q->seen.waves_ns != now_ns)] &&
		    !demand_expected(q, now_ns) && !q->pass.follows)
			demand_await_waves(q, now_ns);
}

/* Does any come back for a reason of its own? */
static bool policy_resumes_for_work(const struct gpreempt_policy_node *pn)
{
	u32 i;

	for (i = 0; i < pn->nr; i++) {
		const struct gpreempt_policy_queue *q = pn->queues[i];

		if (q->action == GPREEMPT_RESUME && (q->pass.demand[1] || policy_fixed(q)))
			return true;
	}
	return false;
}

/*
 * Where ranks move by themselves, a preempted queue without work would come and go with them. It
 * waits for the next runlist that has a better reason. The device is in use meanwhile: while
 * something is preempted, whether there is a level is never left to assumption.
 */
static void policy_drop_idle_resumes(const struct gpreempt_policy_node *pn,
				     const struct level *level, u64 now_ns,
				     struct gpreempt_decision *decision)
{
	bool dropped = level->valid && !decision->nr_preempt && !policy_resumes_for_work(pn);
	u32 i;

	for (i = 0; i < pn->nr; i++) {
		struct gpreempt_policy_queue *q = pn->queues[i];

		if (q->action != GPREEMPT_RESUME)
			continue;
		if (dropped)
			q->action = GPREEMPT_KEEP;
		else if (q->verdict == GPREEMPT_VERDICT_LEFT_OFF)
			policy_give_verdict(q, GPREEMPT_VERDICT_NO_DEMAND, now_ns);
	}
	if (dropped)
		decision->nr_resume = 0;
}

/*
 * The decision does not concern it: it is idle on the device, and no queue is about to be
 * preempted.
 */
static bool policy_unconcerned(const struct gpreempt_policy_queue *q, const struct level *level)
{
	return !q->pass.demand[1] && !demand_is_off(q) && !(q->set.hold | q->kept_off) &&
	       !level->preempts && !q->pass.relieved && !q->pass.age && !q->seen.blocked;
}

/*
 * The gap in the work above a queue. If that work is there as soon as the queue is back, the queue
 * had nothing of the gap, which may have ended right after the decision to bring it back.
 */
static u64 policy_gap_ns(const struct gpreempt_policy_node *pn,
			 const struct gpreempt_policy_queue *q, u64 now_ns)
{
	bool vain = pn->acting_ns > q->outranked_ns &&
		    now_ns <= demand_back_ns(pn) + pn->params.poll_ns;

	return (vain ? pn->acting_ns : now_ns) - q->outranked_ns;
}

/* A higher one has work, which it is not old enough to run beside. */
static inline void policy_note_outranked(struct gpreempt_policy_node *pn,
					 struct gpreempt_policy_queue *q, const struct level *level,
					 u64 now_ns)
{
	if (q->released) {
		if (!level->relief && !q->pass.spins)
			gpreempt_demand_learn_gap(&q->gaps, policy_gap_ns(pn, q, now_ns),
						  demand_short_gap_ns(pn));
		q->released = false;
	}
	q->outranked_ns = now_ns;
	if (!level->relief && q->pass.demand[1])
		gpreempt_debt_outranked(pn, q->process, now_ns);
}

static void policy_note_age(struct gpreempt_policy_queue *q, const struct level *level)
{
	s32 aged = q->priority + q->pass.age;

	if (aged > q->priority)
		q->effective_priority = aged < level->priority ? aged : level->priority;
}

/* The action is chosen: what it means for the queue's own state. */
static void policy_note_action(struct gpreempt_policy_node *pn, struct gpreempt_policy_queue *q,
			       const struct level *level, u64 now_ns)
{
	if (q->missing <= 0) {
		q->released = true;
		return;
	}
	if (q->missing > q->pass.age) {
		policy_note_outranked(pn, q, level, now_ns);
		q->in_the_way = q->set.immovable && !q->preempted && q->pass.demand[1];
	} else if (q->action == GPREEMPT_RESUME) {
		/*
		 * Only its age lets it in: it has the time of a relief, beside the level, and is
		 * young again.
		 */
		if (now_ns >= pn->aged_until_ns)
			pn->aged_until_ns = now_ns + pn->params.relief_ns;
		q->aged_until_ns = pn->aged_until_ns;
	}
	if (q->pass.age)
		policy_note_age(q, level);
}

/*
 * While contended: as often as asked for, unless that costs too much, or no queue could be in
 * another's way. Afterwards ever more rarely, as long as a queue works that those now idle could
 * outrank.
 */
static u64 policy_time_to_poll(const struct gpreempt_policy_node *pn, bool contended, u64 now_ns)
{
	u64 poll_ns = pn->params.poll_ns, slow_ns = GPREEMPT_FOREVER_NS;

	if (contended)
		slow_ns = gpreempt_earlier((now_ns - pn->worked_ns) / GPREEMPT_QUIET_SHARE,
					   GPREEMPT_QUIET_MAX * poll_ns);
	else if (pn->level_valid)
		slow_ns = (now_ns - pn->contended_ns + GPREEMPT_CONTENDED_NS) / GPREEMPT_FADE_SHARE;
	return gpreempt_later(gpreempt_later(poll_ns, pn->cost_ns), slow_ns);
}

/**
 * gpreempt_policy_cost() - say what a pass cost the caller: it bounds how often the next ones are
 * @pn: the node
 * @look_ns: sampling and deciding
 * @ask_ns: asking for waves in flight; 0: it did not
 *
 * What only one of two passes in a row cost was no cost of its own: something came between.
 */
void gpreempt_policy_cost(struct gpreempt_policy_node *pn, u64 look_ns, u64 ask_ns)
{
	u64 cost_ns = gpreempt_later(GPREEMPT_LOOK_SHARE * look_ns, GPREEMPT_ASK_SHARE * ask_ns);

	pn->cost_ns = gpreempt_earlier(cost_ns, pn->last_cost_ns);
	pn->last_cost_ns = cost_ns;
}

static u64 policy_sleep(u64 ns)
{
	return gpreempt_later(ns, GPREEMPT_SLEEP_MIN_NS);
}

/* @end_ns: the first deadline of a queue. */
static void policy_time_to_next(const struct gpreempt_policy_node *pn, u64 end_ns, u64 now_ns,
				struct gpreempt_decision *decision)
{
	u64 next_ns = end_ns > now_ns ? end_ns - now_ns : 0;

	next_ns = gpreempt_earlier(next_ns, pn->params.interval_ns);
	if (pn->saved_up_ns)
		next_ns = gpreempt_earlier(next_ns, pn->saved_up_ns - now_ns);
	if (pn->drain.at_ns)
		next_ns = gpreempt_earlier(next_ns, pn->drain.next_ns);
	if (pn->ops->next_ns)
		next_ns = gpreempt_earlier(next_ns, pn->ops->next_ns(pn, now_ns));
	if (pn->nr_entities)
		next_ns = gpreempt_earlier(next_ns, pn->shares->next_ns(pn, now_ns));
	decision->until_ns = policy_sleep(next_ns);
	if (pn->params.poll_ns)
		next_ns = gpreempt_earlier(
			next_ns, policy_time_to_poll(pn, decision->contended, now_ns));
	decision->next_ns = policy_sleep(next_ns);
}

/*
 * Takes in what was read of waves since needs_waves() looked. If nothing could be read, what is
 * unknown is taken for waves.
 */
static void policy_look_again(struct gpreempt_policy_node *pn, u64 now_ns)
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
			policy_look_at(pn, q, now_ns);
		if (q->pass.demand[1])
			policy_make_busy(pn, q);
	}
	if (pn->nr_entities)
		policy_look_at_shares(pn, now_ns);
	if (pn->owing || pn->turn || pn->jobs)
		policy_find_debtor(pn, now_ns);
}

/* Is what is done about it what a hold asks for, or its end? */
static bool policy_on_request(const struct gpreempt_policy_queue *q)
{
	return q->action == GPREEMPT_PREEMPT ? policy_kept_off(q) : !q->outranked_ns;
}

/* Its work begins or ends. Of what ends, what is short counts at once, what is long by and by. */
static noinline void policy_note_demand(struct gpreempt_policy_queue *q, bool demand, u64 now_ns)
{
	u64 work_ns = now_ns - q->work_from_ns;

	q->came = demand;
	q->had_demand = demand;
	if (demand) {
		q->work_from_ns = now_ns;
		return;
	}
	if (q->work_ns && work_ns > q->work_ns)
		work_ns = q->work_ns + (work_ns - q->work_ns) / GPREEMPT_WORK_FADE_SHARE;
	q->work_ns = work_ns;
}

/* What is left of the last decision goes. */
static inline void policy_begin_choice(struct gpreempt_policy_node *pn,
				       struct gpreempt_policy_queue *q, u64 now_ns)
{
	bool demand = q->pass.demand[1];

	if (q->pass.demand[0])
		gpreempt_beside_note(q->process, now_ns);
	else if (q->seen.launched_ns == now_ns)
		gpreempt_beside_launched(pn, q->process, now_ns);
	q->came = false;
	if (q->had_demand != demand)
		policy_note_demand(q, demand, now_ns);
	q->effective_priority = q->priority;
	q->in_the_way = false;
	q->leads = false;
	q->action = GPREEMPT_KEEP;
	q->would = GPREEMPT_KEEP;
}

/* Which process or job will be the only one with work on the device? */
static void policy_note_sole(struct gpreempt_policy_node *pn)
{
	const struct gpreempt_policy_process *first = NULL;
	const struct gpreempt_policy_queue *q;
	bool process = true, job = true;

	for (q = pn->busy; q && (process || job); q = q->pass.next_busy) {
		if (!q->pass.demand[1] || !gpreempt_policy_stays(q) || q->seen.driver_off)
			continue;
		if (!first)
			first = q->process;
		process &= first == q->process;
		job &= first->job == q->process->job;
	}
	pn->sole = process ? first : NULL;
	pn->sole_job = first && job ? first->job : NULL;
}

/*
 * Chooses and notes what becomes of each queue; counts into @decision. Returns when the first of
 * their deadlines is.
 */
static u64 policy_choose_all(struct gpreempt_policy_node *pn, const struct level *level, u64 now_ns,
			     struct gpreempt_decision *decision)
{
	u32 nr_preempt = 0, nr_resume = 0, nr_preempted = 0, nr_in_the_way = 0;
	u32 i, nr = policy_nr_concerned(pn, level);
	u64 end_ns = GPREEMPT_FOREVER_NS;
	enum gpreempt_verdict verdict;
	bool charged = false;

	/* What was tried out on those that are dormant is taken back. */
	if (nr < pn->nr_chosen)
		nr = pn->nr_chosen;
	pn->nr_chosen = 0;
	for (i = 0; i < nr; i++) {
		struct gpreempt_policy_queue *q = pn->queues[i];

		policy_begin_choice(pn, q, now_ns);
		if (policy_unconcerned(q, level)) {
			q->until_ns = GPREEMPT_FOREVER_NS;
			policy_give_verdict(q, policy_verdict_of_idle(q), now_ns);
			continue;
		}
		if (q->pass.demand[1])
			demand_note_active(q, now_ns);
		q->missing = policy_missing_rank(pn, q, level);
		if (policy_preempted_for_rank(q) && !pn->params.observe) {
			policy_give_verdict(q, policy_verdict_of_outranked(pn, q), now_ns);
			policy_note_outranked(pn, q, level, now_ns);
			if (q->pass.age)
				policy_note_age(q, level);
			nr_preempted++;
			q->until_ns = policy_outranked_deadline(pn, q, level, now_ns);
			end_ns = gpreempt_earlier(end_ns, q->until_ns);
			continue;
		}
		verdict = policy_runs_for_rank(q, level, now_ns) ?
				  GPREEMPT_VERDICT_RUNS :
				  policy_decide_other(pn, q, level, now_ns);
		policy_give_verdict(q, verdict, now_ns);
		policy_note_action(pn, q, level, now_ns);
		nr_preempt += q->action == GPREEMPT_PREEMPT;
		nr_resume += q->action == GPREEMPT_RESUME;
		charged |= q->action != GPREEMPT_KEEP && !policy_on_request(q);
		/*
		 * A hold may wait for the end of a relief, or until the driver lets the queue go.
		 */
		nr_preempted += q->preempted || (q->set.hold && !q->process->opt_out);
		nr_in_the_way += q->in_the_way;
		q->until_ns = policy_first_deadline(pn, q, level, now_ns);
		end_ns = gpreempt_earlier(end_ns, q->until_ns);
	}
	if (level->leader)
		level->leader->leads = true;
	pn->on_request = !charged && (nr_preempt || nr_resume);
	decision->nr_preempt = nr_preempt;
	decision->nr_resume = nr_resume;
	decision->nr_preempted = nr_preempted;
	decision->nr_in_the_way = nr_in_the_way;
	return end_ns;
}

/* Does work that would be off the device run beside the level, or beside whose turn it is? */
static bool policy_spared_runs(const struct gpreempt_policy_node *pn)
{
	u32 i;

	for (i = 0; i < pn->nr; i++)
		if (pn->queues[i]->spared && pn->queues[i]->pass.demand[1] | pn->queues[i]->demands)
			return true;
	return false;
}

static void policy_begin_request(struct gpreempt_policy_queue *q, u64 now_ns)
{
	q->request = (struct gpreempt_policy_request){
		.since_ns = now_ns,
		.rptr = q->seen.rptr,
		/* What has piled up is launched before. */
		.came = q->came && !q->backlog.piles,
		.ended_ns = q->request.ended_ns,
	};
}

/*
 * Counts what would be done, and for how long work waits that nothing yields to, because the node
 * only observes. The first packet says so: the device takes it when it has room.
 */
static void policy_watch_requests(struct gpreempt_policy_node *pn, const struct level *level,
				  u64 now_ns, struct gpreempt_decision *decision)
{
	u32 i, nr = policy_nr_concerned(pn, level);
	bool beside = policy_spared_runs(pn);

	pn->piles = false;
	for (i = 0; i < pn->nr; i++)
		pn->piles |= gpreempt_demand_watch(pn->queues[i], now_ns - pn->watched_ns, now_ns);
	pn->watched_ns = now_ns;
	for (i = 0; i < nr; i++) {
		struct gpreempt_policy_queue *q = pn->queues[i];
		struct gpreempt_policy_request *request = &q->request;
		bool held_up = beside && !q->spared && policy_makes_level(q, true) &&
			       policy_rank(q) == level->rank;
		bool open = request->since_ns > request->ended_ns;

		if ((beside || q->backlog.piles) && !q->seen.blocked)
			demand_forget_stall(q);
		decision->nr_would_preempt += q->would == GPREEMPT_PREEMPT;
		decision->nr_would_resume += q->would == GPREEMPT_RESUME;
		if (open && request->came && !request->waited_ns && q->seen.rptr != request->rptr)
			request->waited_ns = now_ns - request->since_ns;
		if (open && !held_up) {
			request->ended_ns = now_ns;
			decision->nr_requests++;
		} else if (!open && held_up) {
			policy_begin_request(q, now_ns);
		}
	}
}

/* The highest priority of a queue's job, on all nodes; its own, if it has no job. */
static s32 policy_top_of(const struct gpreempt_policy_queue *q)
{
	const struct gpreempt_policy_job *job = q->process->job;

	if (!job)
		return q->priority;
	return job->top > job->top_elsewhere ? job->top : job->top_elsewhere;
}

/*
 * What other nodes have charged it for comes in, and its service since the last decision pays: it
 * works here, and is off no other node.
 */
static void policy_pay_leaving(const struct gpreempt_policy_node *pn,
			       struct gpreempt_policy_job *job, u64 now_ns)
{
	u64 heard_ns = job->heard_left_ns, served_ns = 0;

	if (job->works && now_ns > job->serves_from_ns)
		served_ns = now_ns - gpreempt_later(job->told_ns, job->serves_from_ns);
	job->unpaid_ns -=
		gpreempt_earlier(job->unpaid_ns, served_ns / 100 * gpreempt_budget_pct(pn));
	if (job->out || now_ns < job->out_until_ns)
		job->serves_from_ns = now_ns + demand_switch_ns(pn);
	/* What was before it came here is not its own. A node that goes takes its part along. */
	if (job->told_ns && job->left_elsewhere_ns > heard_ns)
		job->unpaid_ns += job->left_elsewhere_ns - heard_ns;
	/* Nodes on which a switch took very long once must not keep it for minutes. */
	job->unpaid_ns = gpreempt_earlier(job->unpaid_ns, GPREEMPT_OVERHEAD_WINDOW_NS);
	job->heard_left_ns = job->left_elsewhere_ns;
	job->told_ns = now_ns;
}

/* It is off here from now on. Does it leave the other nodes for that? */
static void policy_begin_out(const struct gpreempt_policy_node *pn,
			     struct gpreempt_policy_job *job)
{
	u64 cost_ns = pn->ops->rotates ? 0 : 2 * demand_switch_ns(pn);
	u64 most_ns = GPREEMPT_OVERHEAD_WINDOW_NS / 100 * gpreempt_budget_pct(pn);

	job->leaves = !cost_ns || job->unpaid_ns + cost_ns <= most_ns;
	if (!job->leaves)
		return;
	job->left_ns += cost_ns;
	job->unpaid_ns += cost_ns;
}

static void policy_begin_to_tell(struct gpreempt_policy_node *pn, u64 now_ns)
{
	struct gpreempt_policy_job *job;
	u32 i;

	for (job = pn->jobs; job; job = job->next) {
		policy_pay_leaving(pn, job, now_ns);
		job->works = false;
		job->works_priority = GPREEMPT_PRIORITY_MIN;
		job->top = GPREEMPT_PRIORITY_MIN;
		job->was_out = job->out;
		job->out = false;
		job->turn_until_ns = 0;
		job->dated = false;
		job->shut_until_ns = 0;
		job->due_ns = 0;
	}
	for (i = 0; i < pn->nr + pn->nr_dormant; i++) {
		const struct gpreempt_policy_queue *q = pn->queues[i];

		job = q->process->job;
		if (!job)
			continue;
		if (q->priority > job->top)
			job->top = q->priority;
		job->dated |= pn->ops->due_ns && (q->set.deadline_ns || q->process->deadline_ns);
	}
}

/* What has the highest rank by itself, whatever is in relief. NULL: none with work. */
static const struct gpreempt_policy_queue *
policy_first_by_rank(const struct gpreempt_policy_node *pn)
{
	const struct gpreempt_policy_queue *q, *first = NULL;

	for (q = pn->busy; q; q = q->pass.next_busy)
		if (policy_makes_level(q, true) && !q->pass.spins && (!first || q->rank > first->rank))
			first = q;
	return first;
}

/*
 * Is its job to leave the other nodes as well? Only if it comes after what is first here on all of
 * them: otherwise two jobs could leave for each other, each on another node, and neither run. That
 * it is off another node as well makes no difference: it comes back when the last one lets it.
 *
 * Where ranks move, the order of the nodes is that order. What it leaves for a node before this one
 * is that node's word, which those behind this one hear as well.
 */
static bool policy_is_out(const struct gpreempt_policy_node *pn,
			  const struct gpreempt_policy_queue *q,
			  const struct gpreempt_policy_queue *first)
{
	bool rotates = pn->ops->rotates, yields = q->verdict == GPREEMPT_VERDICT_YIELDS;

	yields |= !rotates && q->verdict == GPREEMPT_VERDICT_JOB_YIELDS;
	return yields && !gpreempt_policy_stays(q) &&
	       q->pass.demand[1] && !q->pass.idle && first && first->rank > q->rank &&
	       (rotates || policy_top_of(first) > policy_top_of(q));
}

/* What the other nodes of each job have to know of this decision. */
static noinline void policy_tell_jobs(struct gpreempt_policy_node *pn, u64 now_ns)
{
	const struct gpreempt_policy_queue *first = policy_first_by_rank(pn);
	struct gpreempt_policy_job *job;
	u32 i;

	policy_begin_to_tell(pn, now_ns);
	for (i = 0; i < pn->nr; i++) {
		struct gpreempt_policy_queue *q = pn->queues[i];
		u64 due_ns;

		job = q->process->job;
		if (!job)
			continue;
		if (q->pass.works && !q->pass.spins && gpreempt_policy_stays(q)) {
			job->works = true;
			if (q->priority > job->works_priority)
				job->works_priority = q->priority;
		}
		q->out = (!pn->ops->rotates || pn->ops->credits) && policy_is_out(pn, q, first);
		job->out |= q->out;
		if (pn->saved_up_ns && policy_makes_level(q, true) && policy_rank(q) == pn->level_rank)
			job->shut_until_ns = pn->saved_up_ns;
		/* What waits here for another node is due there. */
		due_ns = pn->ops->due_ns && q->pass.works ? pn->ops->due_ns(q) : 0;
		if (due_ns && (!job->due_ns || due_ns < job->due_ns))
			job->due_ns = due_ns;
		if (q->pass.relieved && q->process->turn_leads && gpreempt_policy_stays(q))
			job->turn_until_ns = policy_turn_ends(q, now_ns);
	}
	for (job = pn->jobs; job; job = job->next)
		if (job->out && !job->was_out)
			policy_begin_out(pn, job);
}

/* When what another node said of a job ends. */
static u64 policy_jobs_deadline(const struct gpreempt_policy_node *pn, u64 end_ns, u64 now_ns)
{
	const struct gpreempt_policy_job *job;

	for (job = pn->jobs; job; job = job->next) {
		const u64 ends_ns[] = { job->wanted_until_ns, job->out_until_ns,
					job->leave_until_ns, job->out_before_until_ns,
					job->relief_until_ns, job->shut_elsewhere_ns,
					job->due_elsewhere_until_ns };
		u32 i;

		for (i = 0; i < 7; i++)
			if (ends_ns[i] > now_ns)
				end_ns = gpreempt_earlier(end_ns, ends_ns[i]);
		/* What is said holds for so long only. */
		if (job->works || job->out || job->due_ns)
			end_ns = gpreempt_earlier(end_ns, now_ns + GPREEMPT_JOB_NS / 2);
	}
	return end_ns;
}

/*
 * This node alone needs no look, if @park. May the monitor sleep for good? Not while others have to
 * know what a job does here.
 */
static bool policy_jobs_park(const struct gpreempt_policy_node *pn, bool park, u64 now_ns)
{
	bool all_park = park;
	struct gpreempt_policy_job *job;

	for (job = pn->jobs; job; job = job->next) {
		bool works = job->works || now_ns < job->wanted_until_ns;

		job->asks = !park;
		all_park &= !(job->asked_elsewhere && works);
	}
	return all_park;
}

/* Which is the process that others have run beside it, or might? What gets nothing is owed. */
static u64 policy_note_beside(struct gpreempt_policy_node *pn, const struct level *level,
			      bool acts, u64 end_ns, u64 now_ns)
{
	struct gpreempt_policy_process *first = level->above ? level->above : level->sole;
	const struct gpreempt_policy_queue *q;
	bool lower_runs = false, works = false;

	for (q = pn->busy; q; q = q->pass.next_busy) {
		if (q->process == first) {
			works |= q->pass.demand[0];
			continue;
		}
		lower_runs |= gpreempt_policy_runs(q) && !q->seen.driver_off;
		if (level->above)
			gpreempt_debt_outranked(pn, q->process, now_ns);
	}
	gpreempt_beside_decided(pn, works ? first : NULL, lower_runs, acts, now_ns);
	if (pn->beside_ns)
		end_ns = gpreempt_earlier(end_ns, gpreempt_beside_until(pn, first, now_ns));
	return gpreempt_earlier(end_ns, pn->silent_ns);
}

static noinline void policy_tell_shares(struct gpreempt_policy_node *pn, u64 now_ns)
{
	const struct gpreempt_policy_queue *q;

	pn->shares->decided(pn, now_ns);
	for (q = pn->busy; q; q = q->pass.next_busy)
		if (gpreempt_policy_runs(q))
			pn->shares->runs(pn, q);
}

/* How long does a budget make preemptions wait, and which one pays for this pass? */
static void policy_find_wait(struct gpreempt_policy_node *pn, const struct level *level,
			     u64 now_ns, struct gpreempt_decision *decision)
{
	bool waits = level->inversion && !level->preempts;
	u64 wait_ns = waits ? policy_budget_wait(pn, level, now_ns) : 0;

	pn->paid_ns = now_ns + wait_ns;
	if (pn->jobs && waits)
		pn->paid_ns = gpreempt_later(pn->paid_ns,
					     policy_level_is_shut(pn, level, true, now_ns));
	decision->over_budget = wait_ns && !pn->saved_up_ns;
	pn->saved_up_ns = wait_ns ? now_ns + wait_ns : 0;
	/* What returns goes back to where this took it from. */
	if (!level->preempts)
		return;
	pn->pays = !level->relief && !pn->ops->rotates &&
		   !gpreempt_budget_exempts(pn, level->priority, now_ns);
	pn->payer = level->priority;
}

/* Could a queue outrank another one, now or with its next work? */
static void policy_find_rivals(struct gpreempt_policy_node *pn, u64 now_ns,
			       struct gpreempt_decision *decision)
{
	enum rivals rivals = policy_can_outrank(pn, now_ns, ACTIVE);

	/* Contended says already that a queue can. */
	decision->contended = rivals != NO_RIVALS;
	decision->rivals = rivals == RIVALS;
	if (decision->contended)
		pn->contended_ns = now_ns;
	pn->differs = decision->contended || policy_can_outrank(pn, now_ns, ALL);
	decision->park = !decision->nr_preempted && !decision->nr_preempt && !pn->differs;
}

/**
 * gpreempt_policy_decide() - who yields, who returns, when to look again
 * @pn: the node, after gpreempt_policy_needs_waves() of this pass
 * @now_ns: time of the samples
 * @decision: result; each queue's action is in the queue
 */
void gpreempt_policy_decide(struct gpreempt_policy_node *pn, u64 now_ns,
			    struct gpreempt_decision *decision)
{
	struct level level;
	u64 end_ns;

	*decision = (struct gpreempt_decision){ 0 };

	if (pn->asked || pn->unproven)
		policy_look_again(pn, now_ns);
	if (pn->beside_ns)
		gpreempt_beside_seen(pn, now_ns);
	policy_rank_all(pn, now_ns);
	pn->changed = false;

	level = policy_find_level(pn, true);
	policy_find_inversion(pn, &level, now_ns, true);
	if (level.drains || pn->drain.begun)
		policy_note_drain(pn, &level, now_ns, decision);
	pn->level_valid = level.valid;
	pn->level_rank = level.rank;
	pn->level_relief = level.relief && !level.above;
	if (level.valid)
		pn->worked_ns = now_ns;
	decision->nr_relief = pn->nr_relief;
	pn->nr_relief = 0;
	decision->level_valid = level.valid;
	decision->level = level.relief ? GPREEMPT_PRIORITY_RELIEF : level.priority;
	decision->inversion = level.inversion;
	policy_find_wait(pn, &level, now_ns, decision);

	end_ns = policy_choose_all(pn, &level, now_ns, decision);
	pn->observed = pn->params.observe;
	if (pn->params.observe)
		policy_watch_requests(pn, &level, now_ns, decision);
	else if (pn->ops->rotates && decision->nr_resume)
		policy_drop_idle_resumes(pn, &level, now_ns, decision);
	policy_forget_stalls(pn, &level);
	policy_note_sole(pn);
	end_ns = policy_note_beside(pn, &level, decision->nr_preempt || decision->nr_resume,
				    end_ns, now_ns);
	if (decision->nr_preempt || decision->nr_resume)
		policy_mark_restored(pn, now_ns);
	if (pn->ops->decided)
		pn->ops->decided(pn, now_ns);
	if (pn->nr_entities)
		policy_tell_shares(pn, now_ns);

	policy_find_rivals(pn, now_ns, decision);
	if (pn->jobs) {
		policy_tell_jobs(pn, now_ns);
		decision->park = policy_jobs_park(pn, decision->park, now_ns);
		end_ns = policy_jobs_deadline(pn, end_ns, now_ns);
	}
	policy_time_to_next(pn, end_ns, now_ns, decision);
}

/* It is off the device for idleness alone, and nothing was saved. */
static bool policy_left_idle(const struct gpreempt_policy_queue *q)
{
	return q->set.idle && q->kept_off && q->preempted && !demand_of_preempted(q);
}

/**
 * gpreempt_policy_dormant() - does a queue mean nothing to any decision until its pointers move?
 * @pn: the node
 * @q: one of its sampled queues, after the decision has been carried out
 * @now_ns: time of the samples
 * @until_ns: lowered to the time from which it has to be sampled again, even if they do not move
 *
 * That is so when it has had no work for long, is neither preempted nor was, but for idleness, and
 * has no waves for as long as that is believed. It has to be sampled again as well when anything
 * changes that the caller sets: its priority, a hold, announced work.
 *
 * Return: true if it may follow the sampled ones as one of &gpreempt_policy_node.nr_dormant
 */
bool gpreempt_policy_dormant(const struct gpreempt_policy_node *pn, struct gpreempt_policy_queue *q,
			   u64 now_ns, u64 *until_ns)
{
	u64 believed_until_ns = q->seen.waves_ns + demand_believed_for(q);
	/* A runlist told: without packets it stays so. */
	bool none_saved = pn->device.waves_saved && q->seen.waves_ns && !q->seen.waves;
	bool left = policy_left_idle(q);

	/* A queue with packets is active. A queue that comes back with work is not announced. */
	if (pn->ops->rotates || pn->nr_entities || q->set.unseen ||
	    (q->seen.driver_off && q->seen.driver_off_with_work) ||
	    demand_recently_active(q, now_ns) ||
	    (!left && (demand_is_off(q) || q->set.hold)) ||
	    q->pass.demand[1] || q->pass.spins || q->request.since_ns > q->request.ended_ns ||
	    q->process->turn || now_ns < q->aged_until_ns)
		return false;
	if (q->seen.used && pn->device.waves_known && !none_saved && !left) {
		if (pn->device.waves_saved || believed_until_ns <= now_ns)
			return false;
		*until_ns = gpreempt_earlier(*until_ns, believed_until_ns);
		*until_ns = gpreempt_earlier(*until_ns, gpreempt_beside_silent_until(q->process));
	}
	if (q->verdict == GPREEMPT_VERDICT_NO_DEMAND)
		policy_give_verdict(q, GPREEMPT_VERDICT_DORMANT, now_ns);
	return true;
}

/**
 * gpreempt_policy_can_outrank() - could a queue outrank another before one of an armed process gets
 * work?
 * @pn: the node, after the decision; &gpreempt_policy_process.armed of each process is set
 *
 * Return: false if only the caller's being told of new work can lead to another decision than to
 * leave everything as it is
 */
bool gpreempt_policy_can_outrank(struct gpreempt_policy_node *pn)
{
	return policy_can_outrank(pn, 0, UNARMED);
}

/* May its next work lead to another decision while the level of this rank lasts? */
static bool policy_may_interfere(const struct gpreempt_policy_node *pn,
				 const struct gpreempt_policy_queue *q, s32 standing)
{
	bool at_level = q->process->level_mark == pn->mark;

	if (q->process->armed || q->preempted || q->pass.demand[1])
		return false;
	return at_level ? q->orders || q->standing > standing : q->standing != standing;
}

/**
 * gpreempt_policy_end_wait() - how long may the end of higher work not be looked for?
 * @pn: the node, after the decision has been carried out; &gpreempt_policy_process.armed of each
 *	process is set
 * @now_ns: now
 *
 * Something is off the device until the level ends. How long its queues worked of late says when
 * that is to be expected.
 *
 * Return: a time; 0: it has to be looked for as ever
 */
u64 gpreempt_policy_end_wait(struct gpreempt_policy_node *pn, u64 now_ns)
{
	u64 from_ns = now_ns + 2 * gpreempt_later(pn->params.poll_ns, pn->cost_ns), end_ns = 0;
	const struct gpreempt_policy_queue *q;
	s32 standing = GPREEMPT_PRIORITY_MIN;
	u32 i;

	/*
	 * Where ranks move, the end of a turn counts. What a job's other nodes say has no
	 * beginning.
	 */
	if (!pn->level_valid || pn->level_relief || pn->jobs ||
	    pn->nr_entities || pn->ops->rotates || !pn->params.poll_ns)
		return 0;
	pn->mark++;
	for (q = pn->busy; q; q = q->pass.next_busy) {
		if (policy_rank(q) != pn->level_rank || !q->pass.demand[1])
			continue;
		q->process->level_mark = pn->mark;
		standing = q->standing > standing ? q->standing : standing;
		if (q->work_ns)
			end_ns = gpreempt_later(end_ns, q->work_from_ns + q->work_ns);
	}
	if (end_ns <= from_ns)
		return 0;
	for (i = 0; i < pn->nr + pn->nr_dormant; i++)
		if (policy_may_interfere(pn, pn->queues[i], standing))
			return 0;
	return gpreempt_earlier((end_ns - now_ns) / 2, GPREEMPT_END_WAIT_MAX_NS);
}

/**
 * gpreempt_policy_resume_all() - the decision that switches off
 * @pn: the node, with all its queues
 * @decision: result; each queue's action is in the queue
 */
void gpreempt_policy_resume_all(const struct gpreempt_policy_node *pn,
				struct gpreempt_decision *decision)
{
	u32 i;

	*decision = (struct gpreempt_decision){ .park = true };
	for (i = 0; i < pn->nr + pn->nr_dormant; i++) {
		struct gpreempt_policy_queue *q = pn->queues[i];

		q->action = q->preempted ? GPREEMPT_RESUME : GPREEMPT_KEEP;
		decision->nr_resume += q->preempted;
		q->verdict = GPREEMPT_VERDICT_NONE;
		q->leads = false;
		q->spared = false;
		q->request = (struct gpreempt_policy_request){ 0 };
		/*
		 * There are no looks from now on: whether a lower one has the device meanwhile will
		 * not be known.
		 */
		demand_forget_stall(q);
	}
}

/**
 * gpreempt_policy_preempted() - confirm that a queue left the device
 * @q: the queue
 * @saved_waves: waves were saved, it stopped in the middle of a kernel
 * @now_ns: when
 */
void gpreempt_policy_preempted(struct gpreempt_policy_queue *q, bool saved_waves, u64 now_ns)
{
	q->preempted = true;
	q->saved_waves = saved_waves;
	q->preempted_at_ns = now_ns;
	q->outranked_ns = now_ns;
	policy_leave(q);
	q->ran = false;
	q->action = GPREEMPT_KEEP;
	gpreempt_demand_preempted(q, now_ns);
	gpreempt_accounts_tell(moved, q, saved_waves, now_ns);
}

/**
 * gpreempt_policy_saved() - what a preempted queue had is known now: confirming it could not wait
 * for that
 * @q: the queue
 * @saved_waves: waves were saved, it stopped in the middle of a kernel
 */
void gpreempt_policy_saved(struct gpreempt_policy_queue *q, bool saved_waves)
{
	q->saved_waves = saved_waves;
}

/**
 * gpreempt_policy_resumed() - confirm that a queue may run again
 * @q: the queue
 * @now_ns: when
 */
void gpreempt_policy_resumed(struct gpreempt_policy_queue *q, u64 now_ns)
{
	bool saved_waves = q->saved_waves;

	gpreempt_demand_resumed(q, now_ns);
	q->ran = false;
	q->ran_rptr = q->seen.rptr;
	q->preempted = false;
	q->saved_waves = false;
	q->action = GPREEMPT_KEEP;
	gpreempt_accounts_tell(moved, q, saved_waves, now_ns);
}

/* One that had to wait for something else says little. */
static void policy_note_save(struct gpreempt_policy_node *pn, u64 took_ns)
{
	if (!pn->save_ns)
		pn->save_ns = took_ns;
	took_ns = gpreempt_earlier(took_ns, 2 * pn->save_ns);
	pn->save_ns += took_ns / GPREEMPT_SAVE_FADE_SHARE - pn->save_ns / GPREEMPT_SAVE_FADE_SHARE;
}

/**
 * gpreempt_policy_overhead() - a hardware pass has ended: account it to the overhead budget
 * @pn: the node
 * @elapsed_ns: how long it took
 * @preempted: it took queues off the device
 * @now_ns: when it was done
 *
 * Saving is a part of the pass. Connecting what stays comes after it, and restoring after the next
 * one.
 */
void gpreempt_policy_overhead(struct gpreempt_policy_node *pn, u64 elapsed_ns, bool preempted,
			      u64 now_ns)
{
	/* Flags alone cost the device nothing. */
	u64 cost_ns = elapsed_ns + demand_stamp_ns(pn->device.connect_ns, elapsed_ns);

	if (preempted)
		cost_ns += demand_restore_ns(pn, elapsed_ns);
	/*
	 * A hold is paid for by its queue. Otherwise holds in a loop would make preemptions of
	 * others wait.
	 */
	if (!pn->on_request)
		gpreempt_budget_spend(pn, cost_ns, now_ns);

	if (preempted && elapsed_ns)
		policy_note_save(pn, elapsed_ns);
	pn->acted_ns = now_ns;
	pn->pass_ns =
		gpreempt_later(elapsed_ns, pn->pass_ns - pn->pass_ns / GPREEMPT_PASS_FADE_SHARE);
}
