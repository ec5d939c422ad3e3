// SPDX-License-Identifier: MIT
/*
 * policy.c - which queues run, which yield, and when to look again
 *
 * What a rank means is the business of a policy (hpf.c). Each pass looks at each queue, most
 * of which are idle or preempted with nothing new: for those it has to be cheap. What is inline is
 * inline for that.
 *
 * Pure code: see policy.h for what may be used here.
 */

#include "beside.h"
#include "budget.h"
#include "debt.h"
#include "demand.h"
#include "doubt.h"
#include "drain.h"
#include "judge.h"
#include "level.h"
#include "turn.h"

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

/* The same of those that are on the device: it has work and the highest rank, and stays. */
static inline bool policy_runs_for_rank(const struct gpreempt_policy_queue *q,
					const struct level *level, u64 now_ns)
{
	return q->missing <= 0 && !q->preempted && q->pass.demand[1] && q->rank == level->rank &&
	       now_ns >= q->set.expected_until_ns &&
	       !(q->set.hold | q->pass.relieved | q->set.unseen | q->seen.driver_off | q->spared |
		 q->pass.follows);
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

/*
 * A queue that stands behind a lower one has not had the device: it waits for the scheduler, not
 * for something else.
 */
static void policy_forget_stalls(const struct gpreempt_policy_node *pn, const struct level *level)
{
	struct gpreempt_policy_queue *q;

	if (!level->above && !gpreempt_level_lower_runs(pn, level, true))
		return;
	for (q = pn->busy; q; q = q->pass.next_busy)
		if ((level->above || level_rank(q) == level->rank) && !q->seen.blocked)
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

		if (q->action == GPREEMPT_RESUME && (q->pass.demand[1] || level_fixed(q)))
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
			judge_give_verdict(q, GPREEMPT_VERDICT_NO_DEMAND, now_ns);
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

/* Is what is done about it what a hold asks for, or its end? */
static bool policy_on_request(const struct gpreempt_policy_queue *q)
{
	return q->action == GPREEMPT_PREEMPT ? level_kept_off(q) : !q->outranked_ns;
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
		work_ns = q->work_ns + (work_ns - q->work_ns) / GPREEMPT_FOLLOW_SHARE;
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
		if (!q->pass.demand[1] || !level_stays(q) || q->seen.driver_off)
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
	u32 i, nr = level_nr_concerned(pn, level);
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
			judge_give_verdict(q, judge_verdict_of_idle(q), now_ns);
			continue;
		}
		if (q->pass.demand[1])
			demand_note_active(q, now_ns);
		q->missing = level_missing_rank(pn, q, level);
		if (judge_preempted_for_rank(q) && !pn->params.observe) {
			judge_give_verdict(q, judge_verdict_of_outranked(pn, q), now_ns);
			policy_note_outranked(pn, q, level, now_ns);
			if (q->pass.age)
				policy_note_age(q, level);
			nr_preempted++;
			q->until_ns = gpreempt_judge_outranked_until(pn, q, level, now_ns);
			end_ns = gpreempt_earlier(end_ns, q->until_ns);
			continue;
		}
		verdict = policy_runs_for_rank(q, level, now_ns) ?
				  GPREEMPT_VERDICT_RUNS :
				  gpreempt_judge(pn, q, level, now_ns);
		judge_give_verdict(q, verdict, now_ns);
		policy_note_action(pn, q, level, now_ns);
		nr_preempt += q->action == GPREEMPT_PREEMPT;
		nr_resume += q->action == GPREEMPT_RESUME;
		charged |= q->action != GPREEMPT_KEEP && !policy_on_request(q);
		/*
		 * A hold may wait for the end of a relief, or until the driver lets the queue go.
		 */
		nr_preempted += q->preempted || (q->set.hold && !q->process->opt_out);
		nr_in_the_way += q->in_the_way;
		q->until_ns = gpreempt_judge_until(pn, q, level, now_ns);
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
	u32 i, nr = level_nr_concerned(pn, level);
	bool beside = policy_spared_runs(pn);

	pn->piles = false;
	for (i = 0; i < pn->nr; i++)
		pn->piles |= gpreempt_demand_watch(pn->queues[i], now_ns - pn->watched_ns, now_ns);
	pn->watched_ns = now_ns;
	for (i = 0; i < nr; i++) {
		struct gpreempt_policy_queue *q = pn->queues[i];
		struct gpreempt_policy_request *request = &q->request;
		bool held_up = beside && !q->spared && level_makes(q, true) &&
			       level_rank(q) == level->rank;
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

/* Which is the process that others have run beside it, or might? What gets nothing is owed. */
static u64 policy_note_beside(struct gpreempt_policy_node *pn, const struct level *level, bool acts,
			      u64 end_ns, u64 now_ns)
{
	struct gpreempt_policy_process *first = level->above ? level->above : level->sole;
	const struct gpreempt_policy_queue *q;
	bool lower_runs = false, works = false;

	for (q = pn->busy; q; q = q->pass.next_busy) {
		if (q->process == first) {
			works |= q->pass.demand[0];
			continue;
		}
		lower_runs |= level_runs(q) && !q->seen.driver_off;
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
		if (level_runs(q))
			pn->shares->runs(pn, q);
}

/* How long does a budget make preemptions wait, and which one pays for this pass? */
static void policy_find_wait(struct gpreempt_policy_node *pn, const struct level *level, u64 now_ns,
			     struct gpreempt_decision *decision)
{
	bool waits = level->inversion && !level->preempts;
	u64 wait_ns = waits ? judge_budget_wait(pn, level, now_ns) : 0;

	pn->paid_ns = now_ns + wait_ns;
	if (pn->jobs && waits)
		pn->paid_ns = gpreempt_later(pn->paid_ns,
					     gpreempt_gangs->shut(pn, level, true, now_ns));
	decision->over_budget = wait_ns && !pn->saved_up_ns;
	pn->saved_up_ns = wait_ns ? now_ns + wait_ns : 0;
	/* What returns goes back to where this took it from. */
	if (!level->preempts)
		return;
	pn->pays = !judge_pays_in_service(pn, level) &&
		   !gpreempt_budget_exempts(pn, level->priority, now_ns);
	pn->payer = level->priority;
}

/* Could a queue outrank another one, now or with its next work? */
static void policy_find_rivals(struct gpreempt_policy_node *pn, u64 now_ns,
			       struct gpreempt_decision *decision)
{
	enum rivals rivals = gpreempt_doubt_rivals(pn, now_ns, ACTIVE);

	/* Contended says already that a queue can. */
	decision->contended = rivals != NO_RIVALS;
	decision->rivals = rivals == RIVALS;
	if (decision->contended)
		pn->contended_ns = now_ns;
	pn->differs = decision->contended || gpreempt_doubt_rivals(pn, now_ns, ALL);
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

	if (pn->asked || pn->unproven) {
		gpreempt_level_look_again(pn, now_ns);
		gpreempt_turn_find(pn, now_ns);
	}
	if (pn->beside_ns)
		gpreempt_beside_seen(pn, now_ns);
	level_rank_all(pn, now_ns);
	pn->changed = false;

	level = gpreempt_level_find(pn, true);
	gpreempt_judge_inversion(pn, &level, now_ns, true);
	if (level.drains || pn->drain.begun)
		gpreempt_drain_note(pn, &level, now_ns, decision);
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
		gpreempt_gangs->decided(pn, now_ns);
		decision->park = gpreempt_gangs->parks(pn, decision->park, now_ns);
		end_ns = gpreempt_gangs->until(pn, end_ns, now_ns);
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
		judge_give_verdict(q, GPREEMPT_VERDICT_DORMANT, now_ns);
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
	return gpreempt_doubt_rivals(pn, 0, UNARMED);
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
 * that is to be expected. It is looked for after half of what is left of that, so those below come
 * back GPREEMPT_BRIEF_NS late at most.
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
		if (level_rank(q) != pn->level_rank || !q->pass.demand[1])
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
	return gpreempt_earlier((end_ns - now_ns) / 2, GPREEMPT_BRIEF_NS);
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
	judge_leave(q);
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
	pn->save_ns += took_ns / GPREEMPT_FOLLOW_SHARE - pn->save_ns / GPREEMPT_FOLLOW_SHARE;
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
		gpreempt_later(elapsed_ns, pn->pass_ns - pn->pass_ns / GPREEMPT_FOLLOW_SHARE);
}
