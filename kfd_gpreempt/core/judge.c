// SPDX-License-Identifier: MIT
/*
 * judge.c - what becomes of a queue at a level, and until when
 *
 * Pure code: see policy.h for what may be used here.
 */
#include "debt.h"
#include "demand.h"
#include "drain.h"
#include "judge.h"
#include "turn.h"

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

/**
 * gpreempt_judge_inversion() - is a queue in the way?
 * @pn: the node
 * @level: the level, whose processes are marked; its @inversion, @preempts and @drains are set
 * @now_ns: time of the samples
 * @assume: the demand that counts
 *
 * Lower queues without work take nothing from others: only one with work causes a pass.
 */
void gpreempt_judge_inversion(const struct gpreempt_policy_node *pn, struct level *level,
			      u64 now_ns, bool assume)
{
	struct gpreempt_policy_queue *q;

	level->inversion = false;
	level->preempts = false;
	level->drains = false;
	for (q = pn->busy; q; q = q->pass.next_busy) {
		if (demand_is_off(q) || !q->pass.demand[assume])
			continue;
		q->missing = level_missing_rank(pn, q, level);
		if (!level_outranked(q))
			continue;
		level->inversion = true;
		level->preempts |= !level_in_min_run(q, &pn->params, level, now_ns);
	}
	if (level->preempts &&
	    (judge_budget_wait(pn, level, now_ns) ||
	     (pn->jobs && !level->relief && gpreempt_gangs->shut(pn, level, assume, now_ns))))
		level->preempts = false;
	if (level->preempts && pn->params.drain_ns)
		gpreempt_drain_find(pn, level, now_ns, assume);
}

/*
 * Those above it are silent: when may it come back? Not before the time that was asked for, nor
 * before it is clear that this is none of the short gaps that they had before.
 */
static u64 judge_resume_from(const struct gpreempt_policy_node *pn,
			     const struct gpreempt_policy_queue *q)
{
	u64 gap_ns;

	if (pn->ops->rotates)
		return pn->kept_until_ns;
	gap_ns = demand_gap_wait_ns(&q->gaps, demand_short_gap_ns(pn));
	return q->outranked_ns + gpreempt_later(pn->params.resume_delay_ns, gap_ns);
}

/* Nothing outranks it any more. */
static noinline bool judge_resume_delayed(const struct gpreempt_policy_node *pn,
					  const struct gpreempt_policy_queue *q, u64 now_ns)
{
	/* In a pause a debtor waits as others, unless it has waited for too long already. */
	bool debtor = q->pass.relieved &&
		      (q->process->turn_above ||
		       q->process->debt_ns >= 2 * gpreempt_debt_turn_ns(pn));

	return !debtor && !level_fixed(q) && now_ns < judge_resume_from(pn, q);
}

/* The least time that is worth switching for. */
static u64 judge_least_turn(const struct gpreempt_policy_node *pn)
{
	return gpreempt_later(GPREEMPT_BRIEF_NS, GPREEMPT_RELIEF_TURN_SHARE * pn->pass_ns);
}

/* So long it takes to get as old as it has to be. */
static u64 judge_aging_time(const struct gpreempt_policy_node *pn,
			    const struct gpreempt_policy_queue *q)
{
	return pn->params.aging_ns * q->missing;
}

/*
 * It is old enough to run beside the level. When may it? All that are have their time together, and
 * then not until one of them could have got as old again: otherwise so many could be let in one
 * after the other that the level never were alone.
 */
static u64 judge_aged_from(const struct gpreempt_policy_node *pn,
			   const struct gpreempt_policy_queue *q, u64 now_ns)
{
	if (!pn->aged_until_ns || now_ns + judge_least_turn(pn) <= pn->aged_until_ns)
		return now_ns;
	return pn->aged_until_ns + judge_aging_time(pn, q);
}

static noinline bool judge_waits_for_age(const struct gpreempt_policy_node *pn,
					 const struct gpreempt_policy_queue *q, u64 now_ns)
{
	return !level_fixed(q) && now_ns >= q->aged_until_ns &&
	       now_ns < judge_aged_from(pn, q, now_ns);
}

/* It would have to go. */
static enum gpreempt_verdict judge_verdict_of_fixed(const struct gpreempt_policy_queue *q)
{
	return q->process->opt_out ? GPREEMPT_VERDICT_EXEMPT : GPREEMPT_VERDICT_OBSTACLE;
}

static noinline enum gpreempt_verdict
judge_verdict_of_kept_off(const struct gpreempt_policy_queue *q)
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
 * judge_verdict_on_device().
 */
static noinline enum gpreempt_verdict judge_verdict(const struct gpreempt_policy_node *pn,
						    const struct gpreempt_policy_queue *q,
						    const struct level *level, u64 now_ns)
{
	if (level_kept_off(q))
		return judge_verdict_of_kept_off(q);
	if (q->missing <= 0)
		return GPREEMPT_VERDICT_RUNS;
	if (level_fixed(q))
		return judge_verdict_of_fixed(q);
	if (!level_outranked(q))
		return q->preempted && judge_waits_for_age(pn, q, now_ns) ?
			       GPREEMPT_VERDICT_AGEING :
			       GPREEMPT_VERDICT_AGED;
	if (q->spared)
		return GPREEMPT_VERDICT_YIELDS;
	if (level_in_min_run(q, &pn->params, level, now_ns))
		return GPREEMPT_VERDICT_MIN_RUN;
	if (level->drains)
		return GPREEMPT_VERDICT_DRAINS;
	if (!level->preempts)
		return GPREEMPT_VERDICT_BUDGET;
	return judge_verdict_of_outranked(pn, q);
}

static inline enum gpreempt_action judge_action_of(const struct gpreempt_policy_queue *q,
						   enum gpreempt_verdict verdict)
{
	bool off = verdict >= GPREEMPT_VERDICT_OFF;

	if (off == q->preempted)
		return GPREEMPT_KEEP;
	return off ? GPREEMPT_PREEMPT : GPREEMPT_RESUME;
}

/**
 * gpreempt_judge_try() - what would become of a queue?
 * @pn: the node
 * @q: one of its queues; its @missing is set
 * @level: the level, after gpreempt_judge_inversion()
 * @now_ns: time of the samples
 *
 * Return: the action
 */
enum gpreempt_action gpreempt_judge_try(const struct gpreempt_policy_node *pn,
					struct gpreempt_policy_queue *q, const struct level *level,
					u64 now_ns)
{
	q->missing = level_missing_rank(pn, q, level);
	return judge_preempted_for_rank(q) ? GPREEMPT_KEEP :
					 judge_action_of(q, judge_verdict(pn, q, level, now_ns));
}

/*
 * It stays on the device, or comes back; with work because of @verdict. Of one without work that
 * comes back see policy_drop_idle_resumes().
 */
static enum gpreempt_verdict judge_verdict_on_device(const struct gpreempt_policy_node *pn,
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
		return judge_verdict_of_idle(q);
	if (verdict != GPREEMPT_VERDICT_RUNS)
		return verdict;
	/* Its hold does not count. */
	if (q->set.hold && !pn->params.observe)
		return level_fixed(q) ? judge_verdict_of_fixed(q) : GPREEMPT_VERDICT_RELIEF;
	if (demand_expected(q, now_ns))
		return GPREEMPT_VERDICT_EXPECTED;
	if (q->pass.follows)
		return GPREEMPT_VERDICT_JOB;
	if (q->set.unseen)
		return GPREEMPT_VERDICT_UNSEEN;
	return q->rank < level->rank ? GPREEMPT_VERDICT_SIBLING : GPREEMPT_VERDICT_RUNS;
}

/* It need not yield any more: would it come back now, or as a preempted one wait for something? */
static bool judge_stays_spared(const struct gpreempt_policy_node *pn,
			       const struct gpreempt_policy_queue *q, const struct level *level,
			       u64 now_ns)
{
	/* As policy_drop_idle_resumes() has it. */
	if (pn->ops->rotates)
		return level->valid && !q->pass.demand[1];
	return q->missing <= 0 && judge_resume_delayed(pn, q, now_ns);
}

/* The same of a node that only observes. @verdict: what would become of it. */
static noinline enum gpreempt_verdict judge_observe(const struct gpreempt_policy_node *pn,
						    struct gpreempt_policy_queue *q,
						    const struct level *level,
						    enum gpreempt_verdict verdict, u64 now_ns)
{
	bool off = verdict >= GPREEMPT_VERDICT_OFF ||
		   (q->spared && judge_stays_spared(pn, q, level, now_ns));

	q->action = q->preempted ? GPREEMPT_RESUME : GPREEMPT_KEEP;
	if (off && !q->spared) {
		q->would = GPREEMPT_PREEMPT;
		judge_leave(q);
	} else if (!off && q->spared) {
		q->would = GPREEMPT_RESUME;
	}
	q->spared = off;
	return off ? GPREEMPT_VERDICT_OBSERVED :
		     judge_verdict_on_device(pn, q, level, verdict, now_ns);
}

/**
 * gpreempt_judge() - what becomes of a queue?
 * @pn: the node
 * @q: one of its queues; its @action is set
 * @level: the level
 * @now_ns: time of the samples
 *
 * Return: why
 */
enum gpreempt_verdict gpreempt_judge(const struct gpreempt_policy_node *pn,
				     struct gpreempt_policy_queue *q, const struct level *level,
				     u64 now_ns)
{
	enum gpreempt_verdict verdict = judge_verdict(pn, q, level, now_ns);

	if (pn->params.observe)
		return judge_observe(pn, q, level, verdict, now_ns);
	q->action = judge_action_of(q, verdict);
	if (q->action == GPREEMPT_RESUME && q->missing <= 0 &&
	    judge_resume_delayed(pn, q, now_ns)) {
		q->action = GPREEMPT_KEEP;
		return GPREEMPT_VERDICT_RESUME_DELAYED;
	}
	return verdict < GPREEMPT_VERDICT_OFF ?
		       judge_verdict_on_device(pn, q, level, verdict, now_ns) :
		       verdict;
}

/* When it may run beside the level for its age, of a wait since then. */
static noinline u64 judge_old_enough(const struct gpreempt_policy_node *pn,
				     const struct gpreempt_policy_queue *q, u64 since_ns,
				     u64 now_ns)
{
	u64 old_ns = since_ns + judge_aging_time(pn, q);

	if (q->missing <= 0 || q->missing >= GPREEMPT_AGE_MAX)
		return GPREEMPT_FOREVER_NS;
	return old_ns > now_ns ? old_ns : judge_aged_from(pn, q, now_ns);
}

/* When the longest time is over for which it may be held. */
static u64 judge_longest_hold(const struct gpreempt_policy_node *pn, u64 since_ns, u64 now_ns)
{
	u64 due_ns = since_ns + pn->params.max_hold_ns;

	return pn->params.max_hold_ns && due_ns > now_ns ? due_ns : GPREEMPT_FOREVER_NS;
}

/* No time ends that: a hold without bound, or what share.c decides. */
static bool judge_kept_off_unbounded(const struct gpreempt_policy_queue *q)
{
	return q->kept_off && (q->set.hold_unbounded || !(q->kept_off & GPREEMPT_KEPT_HOLD));
}

/**
 * gpreempt_judge_until() - when does a time end that may change what becomes of a queue?
 * @pn: the node
 * @q: one of its queues
 * @level: the level
 * @now_ns: time of the samples
 *
 * Return: that time
 */
u64 gpreempt_judge_until(const struct gpreempt_policy_node *pn,
			 const struct gpreempt_policy_queue *q, const struct level *level,
			 u64 now_ns)
{
	const struct gpreempt_policy_params *params = &pn->params;
	u64 end_ns = GPREEMPT_FOREVER_NS;

	if (q->pass.relieved && q->pass.demand[1] && level_stays(q))
		return turn_ends(q, now_ns);
	if (q->set.hold && now_ns < q->let_go_until_ns)
		end_ns = q->let_go_until_ns;
	if (now_ns < q->aged_until_ns)
		end_ns = gpreempt_earlier(end_ns, q->aged_until_ns);
	if (demand_expected(q, now_ns))
		end_ns = gpreempt_earlier(end_ns, q->set.expected_until_ns);
	if (q->seen.blocked)
		end_ns = gpreempt_earlier(end_ns, q->seen.try_ns);
	if (!level_stays(q)) {
		u64 since_ns = q->preempted ? q->seen.starved_ns : now_ns;
		/* Of one that is taken off on request it is known then. */
		bool waits = demand_is_off(q) ? demand_of_off(q) :
							 q->pass.demand[1] || q->set.hold;

		if (waits && !(pn->jobs && level_relief_is_elsewhere(q)) &&
		    !judge_kept_off_unbounded(q))
			end_ns = gpreempt_earlier(
				end_ns, q->set.hold ? judge_longest_hold(pn, since_ns, now_ns) :
						      gpreempt_debt_until(pn, q, now_ns));
		if (q->kept_off & GPREEMPT_KEPT_MAXIMUM)
			end_ns = gpreempt_earlier(end_ns, pn->shares->until(pn, q));
		if (waits && params->aging_ns && pn->ops->ages)
			end_ns = gpreempt_earlier(end_ns,
						  judge_old_enough(pn, q, since_ns, now_ns));
		if (demand_is_off(q) && q->missing <= 0 &&
		    judge_resume_delayed(pn, q, now_ns))
			end_ns = gpreempt_earlier(end_ns, judge_resume_from(pn, q));
	} else if (level_outranked(q) && level_in_min_run(q, params, level, now_ns)) {
		end_ns = gpreempt_earlier(end_ns, q->seen.run_ns + params->min_run_ns);
	} else if (q->verdict == GPREEMPT_VERDICT_DRAINS) {
		end_ns = gpreempt_earlier(end_ns, pn->drain.until_ns);
	}
	return end_ns;
}

/**
 * gpreempt_judge_outranked_until() - the same of a queue that stays preempted for its rank
 * @pn: the node
 * @q: one of its queues
 * @level: the level
 * @now_ns: time of the samples
 *
 * Most often it has nothing else to wait for.
 *
 * Return: that time
 */
u64 gpreempt_judge_outranked_until(const struct gpreempt_policy_node *pn,
				   const struct gpreempt_policy_queue *q, const struct level *level,
				   u64 now_ns)
{
	u64 end_ns;

	if (q->set.hold || now_ns < q->set.expected_until_ns)
		return gpreempt_judge_until(pn, q, level, now_ns);
	if (!demand_of_preempted(q) || (pn->jobs && level_relief_is_elsewhere(q)))
		return GPREEMPT_FOREVER_NS;
	end_ns = gpreempt_debt_until(pn, q, now_ns);
	if (pn->params.aging_ns && pn->ops->ages)
		end_ns = gpreempt_earlier(end_ns,
					  judge_old_enough(pn, q, q->seen.starved_ns, now_ns));
	return end_ns;
}
