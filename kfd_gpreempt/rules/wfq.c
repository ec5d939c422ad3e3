// SPDX-License-Identifier: MIT
/*
 * wfq.c - weighted fair queueing of device time
 *
 * Pure code: see policy.h for what may be used here.
 */
#include "core/debt.h"
#include "core/level.h"
#include "rules/server.h"

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
		s->wants = false;
		t->share.listed = false;
		t->share.weight = GPREEMPT_WEIGHT_MIN;
		t->share.wants = false;
		t->least_ns = GPREEMPT_FOREVER_NS;
		t->first = NULL;
	}
	for (i = 0; i < pn->nr; i++) {
		const struct gpreempt_policy_queue *q = pn->queues[i];
		struct gpreempt_policy_share *s = wfq_share_of(q);

		weight = q->set.weight ? q->set.weight : q->process->weight;
		if (!weight)
			weight = wfq_weight_of_priority(q->priority);
		wfq_weigh(s, weight);
		if (q->pass.demand[1] || s->wanted)
			wfq_weigh(wfq_tenant_share(pn, q), weight);
		s->wants |= q->pass.demand[1];
		wfq_tenant_share(pn, q)->wants |= q->pass.demand[1];
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
		server_charge(&s->server, passed_ns, wfq_virtual_ns(passed_ns, s));
	if (s->wanted && s->server.vtime_ns < *least_ns)
		*least_ns = s->server.vtime_ns;
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

/* It begins to want the device: not far from the line. */
static void wfq_come(const struct gpreempt_policy_node *pn, struct gpreempt_policy_share *s,
		     u64 line_ns)
{
	u64 slice_ns = server_slice_ns(pn);

	if (s->wants && !s->wanted)
		server_come(&s->server, line_ns, slice_ns, (s64)wfq_virtual_ns(slice_ns, s));
}

/*
 * Those with work come by the lines. @holder: the tenant whose turn it is, and @share: which of its
 * shares has it.
 */
static void wfq_find_turn(struct gpreempt_policy_node *pn, struct gpreempt_policy_tenant **holder,
			  struct gpreempt_policy_share **share)
{
	u32 i;

	*holder = NULL;
	*share = NULL;
	for (i = 0; i < pn->nr; i++) {
		struct gpreempt_policy_tenant *t = gpreempt_debt_tenant_of(pn, pn->queues[i]);
		struct gpreempt_policy_share *s = wfq_share_of(pn->queues[i]);

		wfq_come(pn, &t->share, pn->vtime_ns);
		wfq_come(pn, s, t->vtime_ns);
		t->share.goes_on = false;
		s->goes_on = false;
		if (t->share.turn)
			*holder = t;
		if (s->turn)
			*share = s;
	}
}

/* Does its turn go on? Others are the tenants, or the shares of @in. */
static bool wfq_goes_on(const struct gpreempt_policy_node *pn,
			const struct gpreempt_policy_share *s,
			const struct gpreempt_policy_tenant *in, u64 now_ns)
{
	bool others = false, woken = false;
	u32 i;

	if (!s->wants)
		return server_in_grace(pn, &s->server, now_ns);
	for (i = 0; i < pn->nr; i++) {
		const struct gpreempt_policy_queue *q = pn->queues[i];
		const struct gpreempt_policy_tenant *t = gpreempt_debt_tenant_of(pn, q);
		const struct gpreempt_policy_share *other = in ? wfq_share_of(q) : &t->share;

		if ((in && t != in) || other == s || !q->pass.demand[1])
			continue;
		others = true;
		woken |= server_comes_before(pn, &other->server,
					     wfq_virtual_ns(server_burst_ns(pn, &other->server),
							    other),
					     &s->server);
	}
	return !others || (s->server.turn_ns < server_turn_ns(pn, &s->server) && !woken);
}

/* Until when do others wait for it, which has the turn and no work? 0: they do not. */
static u64 wfq_kept_until(const struct gpreempt_policy_node *pn,
			  const struct gpreempt_policy_share *s, u64 now_ns)
{
	u64 from_ns = s->server.idle_at_ns ? s->server.idle_at_ns : now_ns;

	return s->goes_on && !s->wants ? from_ns + server_grace_ns(pn, &s->server) : 0;
}

/* Whose turn is it still? */
static void wfq_continue(struct gpreempt_policy_node *pn, u64 now_ns)
{
	struct gpreempt_policy_tenant *holder;
	struct gpreempt_policy_share *s;

	wfq_find_turn(pn, &holder, &s);
	pn->kept_until_ns = 0;
	if (!holder || !s)
		return;
	holder->share.goes_on = wfq_goes_on(pn, &holder->share, NULL, now_ns);
	s->goes_on = holder->share.goes_on && wfq_goes_on(pn, s, holder, now_ns);
	pn->kept_until_ns = gpreempt_later(wfq_kept_until(pn, &holder->share, now_ns),
					   wfq_kept_until(pn, s, now_ns));
}

/* Whose turn goes on comes first, then the share that has had least for its weight. */
static s64 wfq_rank_of(u64 line_ns, const struct gpreempt_policy_share *s)
{
	s64 ahead_ns = s->goes_on ? -WFQ_FAR_NS : (s64)(s->server.vtime_ns - line_ns);

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

	if (q->pass.demand[1] && !q->pass.spins &&
	    (!t->first || wfq_rank_of(t->vtime_ns, s) > wfq_rank_of(t->vtime_ns, t->first)))
		t->first = s;
}

/* A tenant has its rank through the first of its shares; the others come after all tenants. */
static void wfq_rank(struct gpreempt_policy_node *pn, u64 now_ns)
{
	u32 i;

	wfq_list(pn);
	wfq_account(pn, now_ns);
	wfq_continue(pn, now_ns);
	for (i = 0; i < pn->nr; i++)
		wfq_find_first(pn, pn->queues[i]);
	for (i = 0; i < pn->nr; i++) {
		struct gpreempt_policy_queue *q = pn->queues[i];
		const struct gpreempt_policy_tenant *t = gpreempt_debt_tenant_of(pn, q);
		const struct gpreempt_policy_share *s = wfq_share_of(q);

		q->rank = t->first && t->first != s ?
				  -((WFQ_FAR_NS + 1) * WFQ_PLACES + s->index) :
				  wfq_rank_of(pn->vtime_ns, &t->share);
		q->own_rank = q->rank;
		q->orders = q->set.weight;
		q->standing = 1;
	}
}

/*
 * Notes what a share does at this decision; a second time changes nothing. In a short gap its turn
 * goes on, at its own cost.
 */
static void wfq_note(const struct gpreempt_policy_node *pn, struct gpreempt_policy_share *s,
		     bool keep_turn, u64 now_ns)
{
	server_note(pn, &s->server, s->wants, s->wanted, now_ns);
	s->wanted = s->wants || s->goes_on;
	s->ran = s->goes_on && !s->wants;
	s->turn &= keep_turn;
}

/* One of its queues has the device, with the highest rank. */
static bool wfq_give_turn(struct gpreempt_policy_share *s)
{
	s->turn = true;
	if (!s->goes_on)
		server_begin_turn(&s->server);
	return !s->goes_on;
}

/* A turn has begun, of tenants or in one of them: those that come from now on have come since. */
static void wfq_begin(struct gpreempt_policy_node *pn, const struct gpreempt_policy_queue *leader,
		      bool tenants)
{
	u32 i;

	for (i = 0; i < pn->nr; i++) {
		struct gpreempt_policy_tenant *t = gpreempt_debt_tenant_of(pn, pn->queues[i]);

		if (tenants)
			t->share.server.woke = false;
		if (t == gpreempt_debt_tenant_of(pn, leader))
			wfq_share_of(pn->queues[i])->server.woke = false;
	}
}

static void wfq_decided(struct gpreempt_policy_node *pn, u64 now_ns)
{
	bool keep_turn = !pn->level_valid || pn->level_relief || now_ns < pn->kept_until_ns;
	const struct gpreempt_policy_queue *leader = NULL;
	bool tenants = false, shares = false;
	u32 i;

	for (i = 0; i < pn->nr; i++) {
		wfq_note(pn, wfq_share_of(pn->queues[i]), keep_turn, now_ns);
		wfq_note(pn, wfq_tenant_share(pn, pn->queues[i]), keep_turn, now_ns);
	}
	for (i = 0; i < pn->nr; i++) {
		const struct gpreempt_policy_queue *q = pn->queues[i];

		if (!level_runs(q))
			continue;
		wfq_share_of(q)->ran = true;
		wfq_tenant_share(pn, q)->ran = true;
		if (keep_turn || q->rank != pn->level_rank)
			continue;
		leader = q;
		tenants |= wfq_give_turn(wfq_tenant_share(pn, q));
		shares |= wfq_give_turn(wfq_share_of(q));
	}
	if (tenants || shares)
		wfq_begin(pn, leader, tenants);
}

/* When does the turn of a share end, if no work ends it before? */
static u64 wfq_turn_ns(const struct gpreempt_policy_node *pn,
		       const struct gpreempt_policy_share *s)
{
	u64 turn_ns = server_turn_ns(pn, &s->server);

	return s->turn && s->ran && s->server.turn_ns < turn_ns ? turn_ns - s->server.turn_ns :
								  GPREEMPT_FOREVER_NS;
}

static u64 wfq_next_ns(const struct gpreempt_policy_node *pn, u64 now_ns)
{
	u64 next_ns = GPREEMPT_FOREVER_NS;
	bool waits = false;
	u32 i;

	for (i = 0; i < pn->nr; i++) {
		const struct gpreempt_policy_queue *q = pn->queues[i];

		next_ns = gpreempt_earlier(next_ns, wfq_turn_ns(pn, wfq_share_of(q)));
		next_ns = gpreempt_earlier(next_ns, wfq_turn_ns(pn, wfq_tenant_share(pn, q)));
		waits |= q->pass.demand[1] && !level_stays(q) && !q->pass.spins;
	}
	return waits ? next_ns : GPREEMPT_FOREVER_NS;
}

const struct gpreempt_policy_ops gpreempt_policy_wfq = {
	.name = "wfq",
	.rotates = true,
	.credits = true,
	.rank = wfq_rank,
	.decided = wfq_decided,
	.next_ns = wfq_next_ns,
};
