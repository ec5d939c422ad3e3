// SPDX-License-Identifier: MIT
/*
 * gang.c - what the nodes of a job have to know of each other's decisions
 *
 * Pure code: see policy.h for what may be used here. job.c has the rules.
 */
#include "core/budget.h"
#include "core/debt.h"
#include "core/demand.h"
#include "core/level.h"
#include "core/turn.h"

/* For whom does each job work? */
static void gang_begin(struct gpreempt_policy_node *pn)
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

/*
 * Until when is its job off other nodes that this one follows? Where ranks move by themselves these
 * are the ones before it: a job leaves the later nodes for what takes it off the first one, and has
 * its turn on all of them when it has it there. Two jobs cannot leave for each other so.
 */
static u64 gang_out_elsewhere(const struct gpreempt_policy_node *pn,
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
static int gang_look(const struct gpreempt_policy_node *pn, struct gpreempt_policy_queue *q,
		     int demand, u64 now_ns)
{
	const struct gpreempt_policy_job *job = q->process->job;

	q->pass.idle = demand == DEMAND_NONE;
	if (level_kept_off(q))
		return demand;
	q->pass.works = demand == DEMAND_SURE ||
			(demand == DEMAND_MAYBE && demand_of_launch(q, now_ns) == DEMAND_SURE);
	q->pass.spins = job->gang && now_ns < gang_out_elsewhere(pn, job) &&
			!q->pass.relieved && !level_fixed(q);
	q->pass.follows = demand != DEMAND_SURE && !q->seen.driver_off &&
			  now_ns < job->wanted_until_ns && !pn->ops->rotates &&
			  q->priority <= job->wanted_priority;
	return q->pass.follows ? DEMAND_SURE : demand;
}

/*
 * Until when has another node no room in its budget for what is at the level here? A job that it
 * does not let begin there would only wait here. 0: not all of the level is of such jobs.
 */
static u64 gang_shut(const struct gpreempt_policy_node *pn, const struct level *level, bool assume,
		     u64 now_ns)
{
	const struct gpreempt_policy_queue *q;
	u64 until_ns = 0;

	for (q = pn->busy; q; q = q->pass.next_busy) {
		const struct gpreempt_policy_job *job = q->process->job;

		if (!level_at(q, level) || !level_makes(q, assume))
			continue;
		if (!job || !job->gang || now_ns >= job->shut_elsewhere_ns)
			return 0;
		until_ns = gpreempt_later(until_ns, job->shut_elsewhere_ns);
	}
	return until_ns;
}

/* The highest priority of a queue's job, on all nodes; its own, if it has no job. */
static s32 gang_top_of(const struct gpreempt_policy_queue *q)
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
static void gang_pay_leaving(const struct gpreempt_policy_node *pn,
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
static void gang_begin_out(const struct gpreempt_policy_node *pn, struct gpreempt_policy_job *job)
{
	u64 cost_ns = pn->ops->rotates ? 0 : 2 * demand_switch_ns(pn);
	u64 most_ns = GPREEMPT_OVERHEAD_WINDOW_NS / 100 * gpreempt_budget_pct(pn);

	job->leaves = !cost_ns || job->unpaid_ns + cost_ns <= most_ns;
	if (!job->leaves)
		return;
	job->left_ns += cost_ns;
	job->unpaid_ns += cost_ns;
}

static void gang_begin_to_tell(struct gpreempt_policy_node *pn, u64 now_ns)
{
	struct gpreempt_policy_job *job;
	u32 i;

	for (job = pn->jobs; job; job = job->next) {
		gang_pay_leaving(pn, job, now_ns);
		job->holds_ns = gpreempt_later(GPREEMPT_LATE_NS, GPREEMPT_JOB_PASSES * pn->pass_ns);
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
gang_first_by_rank(const struct gpreempt_policy_node *pn)
{
	const struct gpreempt_policy_queue *q, *first = NULL;

	for (q = pn->busy; q; q = q->pass.next_busy)
		if (level_makes(q, true) && !q->pass.spins && (!first || q->rank > first->rank))
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
static bool gang_is_out(const struct gpreempt_policy_node *pn, const struct gpreempt_policy_queue *q,
			const struct gpreempt_policy_queue *first)
{
	bool rotates = pn->ops->rotates, yields = q->verdict == GPREEMPT_VERDICT_YIELDS;

	yields |= !rotates && q->verdict == GPREEMPT_VERDICT_JOB_YIELDS;
	return yields && !level_stays(q) &&
	       q->pass.demand[1] && !q->pass.idle && first && first->rank > q->rank &&
	       (rotates || gang_top_of(first) > gang_top_of(q));
}

/* What the other nodes of each job have to know of this decision. */
static void gang_decided(struct gpreempt_policy_node *pn, u64 now_ns)
{
	const struct gpreempt_policy_queue *first = gang_first_by_rank(pn);
	struct gpreempt_policy_job *job;
	u32 i;

	gang_begin_to_tell(pn, now_ns);
	for (i = 0; i < pn->nr; i++) {
		struct gpreempt_policy_queue *q = pn->queues[i];
		u64 due_ns;

		job = q->process->job;
		if (!job)
			continue;
		if (q->pass.works && !q->pass.spins && level_stays(q)) {
			job->works = true;
			if (q->priority > job->works_priority)
				job->works_priority = q->priority;
		}
		q->out = (!pn->ops->rotates || pn->ops->credits) && gang_is_out(pn, q, first);
		job->out |= q->out;
		if (pn->saved_up_ns && level_makes(q, true) && level_rank(q) == pn->level_rank)
			job->shut_until_ns = pn->saved_up_ns;
		/* What waits here for another node is due there. */
		due_ns = pn->ops->due_ns && q->pass.works ? pn->ops->due_ns(q) : 0;
		if (due_ns && (!job->due_ns || due_ns < job->due_ns))
			job->due_ns = due_ns;
		if (q->pass.relieved && q->process->turn_leads && level_stays(q))
			job->turn_until_ns = turn_ends(q, now_ns);
	}
	for (job = pn->jobs; job; job = job->next)
		if (job->out && !job->was_out)
			gang_begin_out(pn, job);
}

/* When what another node said of a job ends. */
static u64 gang_until(const struct gpreempt_policy_node *pn, u64 end_ns, u64 now_ns)
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
			end_ns = gpreempt_earlier(end_ns, now_ns + job->holds_ns / 2);
	}
	return end_ns;
}

/*
 * This node alone needs no look, if @park. May the monitor sleep for good? Not while others have to
 * know what a job does here.
 */
static bool gang_parks(const struct gpreempt_policy_node *pn, bool park, u64 now_ns)
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

const struct gpreempt_policy_gangs gpreempt_policy_gang = {
	.begin = gang_begin,
	.look = gang_look,
	.shut = gang_shut,
	.decided = gang_decided,
	.until = gang_until,
	.parks = gang_parks,
};
