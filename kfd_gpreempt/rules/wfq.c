// SPDX-License-Identifier: MIT
/*
 * wfq.c - weighted fair queueing of device time
 *
 * Pure code: see policy.h for what may be used here.
 */
#include "core/debt.h"

/* Differences of virtual time that count; more is as good as for ever, and fits into a rank. */
#define WFQ_FAR_NS		(1LL << 50)
/* Ranks between two virtual times, for shares that have had the same. */
#define WFQ_PLACES		1024

static struct gpreempt_policy_share *wfq_share_of(const struct gpreempt_policy_queue *q)
{
	if (q->set.weight)
		return (struct gpreempt_policy_share *)&q->share;
	return q->process->job ? &q->process->job->share : &q->process->share;
}

static struct gpreempt_policy_share *wfq_tenant_share(const struct gpreempt_policy_node *pn,
							   const struct gpreempt_policy_queue *q)
{
	return &gpreempt_debt_tenant_of(pn, q)->share;
}

/*
 * Three steps of priority double the weight: about what three steps of nice(2) do to a share of the
 * CPU.
 */
static u32 wfq_weight_of_priority(s32 priority)
{
	static const u32 steps[] = { GPREEMPT_WEIGHT_NORMAL, GPREEMPT_WEIGHT_NORMAL * 126 / 100,
				     GPREEMPT_WEIGHT_NORMAL * 159 / 100 };
	s32 above = priority - GPREEMPT_PRIORITY_NORMAL + 18;

	if (above < 0)
		above = 0;
	if (above > 36)
		above = 36;
	return (steps[above % 3] << (above / 3)) >> 6;
}

static u64 wfq_virtual_ns(u64 ns, const struct gpreempt_policy_share *s)
{
	return ns * GPREEMPT_WEIGHT_NORMAL / s->weight;
}

static void wfq_weigh(struct gpreempt_policy_share *s, u32 weight)
{
	s->weight = weight > s->weight ? weight : s->weight;
}

/*
 * Lists tenants and their shares, and finds their weights: set, or that of the most urgent queue's
 * priority; a tenant has the largest of those that want the device.
 */
static void wfq_list(struct gpreempt_policy_node *pn)
{
	u32 i, weight;

	for (i = 0; i < pn->nr; i++) {
		struct gpreempt_policy_tenant *t = gpreempt_debt_tenant_of(pn, pn->queues[i]);
		struct gpreempt_policy_share *s = wfq_share_of(pn->queues[i]);

		s->listed = false;
		s->weight = 0;
		t->share.listed = false;
		t->share.weight = GPREEMPT_WEIGHT_MIN;
		t->least_ns = GPREEMPT_FOREVER_NS;
		t->first = NULL;
	}
	for (i = 0; i < pn->nr; i++) {
		const struct gpreempt_policy_queue *q = pn->queues[i];
		struct gpreempt_policy_share *s = wfq_share_of(q);

		weight = q->set.weight ? q->set.weight : q->process->weight;
		if (!weight)
			weight = wfq_weight_of_priority(q->set.priority);
		wfq_weigh(s, weight);
		if (q->pass.demand[1] || s->wanted)
			wfq_weigh(wfq_tenant_share(pn, q), weight);
	}
}

/* The time that has passed. Finds the least that one has had which wants the device. */
static void wfq_charge(struct gpreempt_policy_share *s, u64 passed_ns, u32 index, u64 *least_ns)
{
	if (s->listed)
		return;
	s->listed = true;
	s->index = index % WFQ_PLACES;
	if (s->ran)
		s->vtime_ns += wfq_virtual_ns(passed_ns, s);
	if (s->wanted && s->vtime_ns < *least_ns)
		*least_ns = s->vtime_ns;
}

static void wfq_move_line(u64 *vtime_ns, u64 least_ns)
{
	if (least_ns != GPREEMPT_FOREVER_NS && least_ns > *vtime_ns)
		*vtime_ns = least_ns;
}

/*
 * Accounts the time that has passed, and moves the lines from which tenants and shares start that
 * have been away.
 */
static void wfq_account(struct gpreempt_policy_node *pn, u64 now_ns)
{
	u64 passed_ns = pn->ranked_ns ? now_ns - pn->ranked_ns : 0, least_ns = GPREEMPT_FOREVER_NS;
	u32 i;

	for (i = 0; i < pn->nr; i++) {
		struct gpreempt_policy_tenant *t = gpreempt_debt_tenant_of(pn, pn->queues[i]);

		wfq_charge(&t->share, passed_ns, i, &least_ns);
		wfq_charge(wfq_share_of(pn->queues[i]), passed_ns, i, &t->least_ns);
	}
	for (i = 0; i < pn->nr; i++) {
		struct gpreempt_policy_tenant *t = gpreempt_debt_tenant_of(pn, pn->queues[i]);

		wfq_move_line(&t->vtime_ns, t->least_ns);
	}
	wfq_move_line(&pn->vtime_ns, least_ns);
	pn->ranked_ns = now_ns;
}

/*
 * The share that has had least for its weight comes first. The one that has the device has to be a
 * slice ahead of the others before it yields, or they would take turns with every pass. Idle time
 * is no credit.
 */
static s64 wfq_rank_of(u64 line_ns, u64 slice_ns, const struct gpreempt_policy_share *s)
{
	s64 ahead_ns = (s64)(s->vtime_ns - line_ns);

	if (ahead_ns < 0)
		ahead_ns = 0;
	if (s->turn)
		ahead_ns -= (s64)wfq_virtual_ns(slice_ns, s);
	if (ahead_ns > WFQ_FAR_NS)
		ahead_ns = WFQ_FAR_NS;
	if (ahead_ns < -WFQ_FAR_NS)
		ahead_ns = -WFQ_FAR_NS;
	return -(ahead_ns * WFQ_PLACES + s->index);
}

/* Which of a tenant's shares with work comes first? What waits for its job elsewhere does not. */
static void wfq_find_first(struct gpreempt_policy_node *pn, const struct gpreempt_policy_queue *q)
{
	struct gpreempt_policy_tenant *t = gpreempt_debt_tenant_of(pn, q);
	const struct gpreempt_policy_share *s = wfq_share_of(q);
	u64 slice_ns = pn->params.slice_ns;

	if (q->pass.demand[1] && !q->pass.spins &&
	    (!t->first || wfq_rank_of(t->vtime_ns, slice_ns, s) >
				  wfq_rank_of(t->vtime_ns, slice_ns, t->first)))
		t->first = s;
}

/* A tenant has its rank through the first of its shares; the others come after all tenants. */
static void wfq_rank(struct gpreempt_policy_node *pn, u64 now_ns)
{
	u32 i;

	wfq_list(pn);
	wfq_account(pn, now_ns);
	for (i = 0; i < pn->nr; i++)
		wfq_find_first(pn, pn->queues[i]);
	for (i = 0; i < pn->nr; i++) {
		struct gpreempt_policy_queue *q = pn->queues[i];
		const struct gpreempt_policy_tenant *t = gpreempt_debt_tenant_of(pn, q);
		const struct gpreempt_policy_share *s = wfq_share_of(q);

		q->rank = t->first && t->first != s ?
				  -((WFQ_FAR_NS + 1) * WFQ_PLACES + s->index) :
				  wfq_rank_of(pn->vtime_ns, pn->params.slice_ns, &t->share);
		q->own_rank = q->rank;
		q->orders = q->set.weight;
		q->standing = 1;
	}
}

static void wfq_forget(struct gpreempt_policy_share *s, bool keep_turn)
{
	s->wanted = false;
	s->ran = false;
	s->turn &= keep_turn;
}

/* One of its queues has work. */
static void wfq_note(struct gpreempt_policy_share *s, u64 line_ns, bool runs, bool turn)
{
	if (s->vtime_ns < line_ns)
		s->vtime_ns = line_ns;
	s->wanted = true;
	s->ran |= runs;
	s->turn |= turn;
}

static void wfq_decided(struct gpreempt_policy_node *pn, u64 now_ns)
{
	bool keep_turn = !pn->level_valid || pn->level_relief;
	u32 i;

	for (i = 0; i < pn->nr; i++) {
		wfq_forget(wfq_share_of(pn->queues[i]), keep_turn);
		wfq_forget(wfq_tenant_share(pn, pn->queues[i]), keep_turn);
	}
	for (i = 0; i < pn->nr; i++) {
		const struct gpreempt_policy_queue *q = pn->queues[i];
		struct gpreempt_policy_tenant *t = gpreempt_debt_tenant_of(pn, q);
		bool runs = gpreempt_policy_stays(q) && !q->spared;
		bool turn = !keep_turn && q->rank == pn->level_rank;

		if (!q->pass.demand[1])
			continue;
		wfq_note(wfq_share_of(q), t->vtime_ns, runs, turn);
		wfq_note(&t->share, pn->vtime_ns, runs, turn);
	}
}

/*
 * When is the one that has the device a slice ahead of the next: of the tenants, or of the shares
 * of @in? Says which tenant has it.
 */
static u64 wfq_turn_ns(const struct gpreempt_policy_node *pn,
		       const struct gpreempt_policy_tenant *in,
		       const struct gpreempt_policy_tenant **holder)
{
	const struct gpreempt_policy_share *running = NULL;
	s64 first = 0, second = -GPREEMPT_RANK_RELIEF, rank;
	u32 i;

	for (i = 0; i < pn->nr; i++) {
		const struct gpreempt_policy_queue *q = pn->queues[i];
		const struct gpreempt_policy_tenant *t = gpreempt_debt_tenant_of(pn, q);
		const struct gpreempt_policy_share *s = in ? wfq_share_of(q) : &t->share;

		/* What waits for its job elsewhere comes last, whatever its rank. */
		if ((in && t != in) || !s->wanted || q->pass.spins)
			continue;
		rank = wfq_rank_of(in ? in->vtime_ns : pn->vtime_ns, pn->params.slice_ns, s);
		if (s->turn && s->ran) {
			running = s;
			first = rank;
			*holder = t;
		} else if (!s->turn && rank > second) {
			second = rank;
		}
	}
	if (!running || second == -GPREEMPT_RANK_RELIEF || second > first)
		return GPREEMPT_FOREVER_NS;
	return (u64)(first - second) / WFQ_PLACES * running->weight / GPREEMPT_WEIGHT_NORMAL + 1;
}

static u64 wfq_next_ns(const struct gpreempt_policy_node *pn, u64 now_ns)
{
	const struct gpreempt_policy_tenant *holder = NULL;
	u64 next_ns = wfq_turn_ns(pn, NULL, &holder), own_ns;

	own_ns = holder ? wfq_turn_ns(pn, holder, &holder) : GPREEMPT_FOREVER_NS;
	return own_ns < next_ns ? own_ns : next_ns;
}

const struct gpreempt_policy_ops gpreempt_policy_wfq = {
	.name = "wfq",
	.rotates = true,
	.credits = true,
	.rank = wfq_rank,
	.decided = wfq_decided,
	.next_ns = wfq_next_ns,
};
