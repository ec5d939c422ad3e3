// SPDX-License-Identifier: MIT
/*
 * budget.c - what preempting may cost the device
 */
#include "budget.h"
#include "demand.h"

/**
 * DOC: budget
 *
 * Each priority has a budget: ``gpreempt_overhead_pct`` of the time. What saving and restoring
 * costs for this priority or for one above it is taken from it, so a priority never waits for what
 * lower ones cost, and all together cost no more than the lowest may.
 *
 * With ``gpreempt_overhead_pct`` at 0 the highest priority that had work within a second costs
 * whatever it costs, and is taken from no budget. All others have 10 percent of the time. A
 * request at the top waits for nothing; what works in the middle leaves the device to what is below
 * it where a switch costs much more than it brings.
 *
 * A budget delays preemptions, never a return: while a preemption waits, lower work goes on, and
 * the work that spent the time waits. It does not delay turns for debts, holds, maxima, and turns
 * among equals, whose owners pay in service.
 */

/* So much more of each budget is free again than at &gpreempt_policy_node.spent_at_ns. */
static u64 budget_freed_ns(const struct gpreempt_policy_node *pn, u64 now_ns)
{
	return (now_ns - pn->spent_at_ns) / 100 * gpreempt_budget_pct(pn);
}

/**
 * gpreempt_budget_exempts() - does a priority cost whatever it costs
 * @pn: the node
 * @priority: any
 * @now_ns: time of the samples
 *
 * Return: true if it is the highest that had work of late, and no budget was asked for
 */
bool gpreempt_budget_exempts(const struct gpreempt_policy_node *pn, s32 priority, u64 now_ns)
{
	u32 i;

	if (pn->params.overhead_pct)
		return false;
	for (i = 0; i < pn->nr; i++) {
		const struct gpreempt_policy_queue *q = pn->queues[i];

		if (q->priority > priority && demand_recently_active(q, now_ns))
			return false;
	}
	return true;
}

/* Time pays. What is no more than in the bucket above needs none of its own. */
static void budget_pay(struct gpreempt_policy_node *pn, u64 now_ns)
{
	u64 freed_ns = budget_freed_ns(pn, now_ns), above_ns = 0;
	u32 i, nr = 0;

	for (i = 0; i < pn->nr_buckets; i++) {
		struct gpreempt_policy_bucket bucket = pn->buckets[i];

		bucket.spent_ns -= gpreempt_earlier(bucket.spent_ns, freed_ns);
		if (bucket.spent_ns <= above_ns)
			continue;
		above_ns = bucket.spent_ns;
		pn->buckets[nr++] = bucket;
	}
	pn->nr_buckets = nr;
	pn->spent_at_ns = now_ns;
}

/* The bucket of a priority, or of the next one below it if there is no room for another */
static u32 budget_bucket(struct gpreempt_policy_node *pn, s32 priority)
{
	struct gpreempt_policy_bucket *buckets = pn->buckets;
	u32 i, at = 0;

	while (at < pn->nr_buckets && buckets[at].priority > priority)
		at++;
	if (at < pn->nr_buckets && buckets[at].priority == priority)
		return at;
	if (pn->nr_buckets == GPREEMPT_BUDGET_BUCKETS)
		return at < pn->nr_buckets ? at : at - 1;
	for (i = pn->nr_buckets++; i > at; i--)
		buckets[i] = buckets[i - 1];
	buckets[at].priority = priority;
	buckets[at].spent_ns = at ? buckets[at - 1].spent_ns : 0;
	return at;
}

/**
 * gpreempt_budget_spend() - a hardware pass for &gpreempt_policy_node.payer has ended
 * @pn: the node
 * @cost_ns: how long the device did nothing else
 * @now_ns: when it was done
 */
void gpreempt_budget_spend(struct gpreempt_policy_node *pn, u64 cost_ns, u64 now_ns)
{
	u32 i;

	budget_pay(pn, now_ns);
	if (!pn->pays)
		return;
	/* A pass that waited for a device in trouble must not cost minutes of service. */
	for (i = budget_bucket(pn, pn->payer); i < pn->nr_buckets; i++)
		pn->buckets[i].spent_ns = gpreempt_earlier(pn->buckets[i].spent_ns + cost_ns,
							   GPREEMPT_OVERHEAD_WINDOW_NS);
}

/**
 * gpreempt_budget_wait() - how long has a preemption to wait
 * @pn: the node
 * @priority: of the work that it is for
 * @now_ns: time of the samples
 *
 * Return: nanoseconds until its budget has room; 0: it has
 */
u64 gpreempt_budget_wait(const struct gpreempt_policy_node *pn, s32 priority, u64 now_ns)
{
	u64 window_ns = GPREEMPT_OVERHEAD_WINDOW_NS / 100 * gpreempt_budget_pct(pn);
	u64 spent_ns = 0, most_ns = window_ns + budget_freed_ns(pn, now_ns);
	u32 i;

	for (i = 0; i < pn->nr_buckets && pn->buckets[i].priority >= priority; i++)
		spent_ns = pn->buckets[i].spent_ns;
	if (spent_ns <= most_ns || gpreempt_budget_exempts(pn, priority, now_ns))
		return 0;
	return (spent_ns - most_ns) * 100 / gpreempt_budget_pct(pn) + 100;
}
