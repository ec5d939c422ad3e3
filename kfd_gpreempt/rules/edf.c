// SPDX-License-Identifier: MIT
/*
 * edf.c - earliest deadline first
 *
 * Pure code: see policy.h for what may be used here.
 */

/**
 * DOC: deadlines
 *
 * Under ``edf`` each process with a deadline has a *server*, and so has each queue with a deadline
 * of its own. Of n tenants that have worked within a second each has an n-th of the device, and
 * each of its servers an equal part of that. A server has that part of each *period*, less what
 * debts take. The period is the deadline, or so long that leaving and coming back once costs a
 * tenth of the part.
 *
 * Work is due a deadline after it came. A server that has used up its part of a period has work
 * that is due at the end of the next one. So a program that always works, whatever its deadline,
 * has its part and what is left over, and makes no other one late: work that needs no more than its
 * part is done by its deadline, one switch and one look. While only some want the device, they are
 * charged for their parts of it alone: what is left over makes them late at no later time. When
 * work comes again, what is left of a part counts if it is no more than time has earned; otherwise
 * a period begins. A server is late by a period at most: one that had to wait for longer comes
 * before others for no longer than that.
 *
 * A process may have a *reservation* as well: a runtime Q in each period P, which is its deadline.
 * Its server has Q + 2 C of each period, where C is what leaving and coming back once costs by the
 * last passes. It is admitted if P is 20 C at least, and if the sum of (Q + 2 C) / P, over all
 * reservations on the node, is no more than what debts leave. Once admitted it stays so until Q or
 * P change. One that does not fit is admitted when it does. Until then it is as if it had none.
 * What reservations leave is divided among the tenants whose servers have none. If that is too
 * little for a part to be worth a switch within 10000 C, these come last, as work without a
 * deadline.
 *
 * A job is due on all of its nodes when the first of its work is.
 */
#include "core/debt.h"
#include "core/demand.h"
#include "core/level.h"
#include "edf.h"

/* Ranks within so many nanoseconds, for work that is due at the same time. */
#define EDF_PLACES		1024
/* A smaller part is none: its period would be longer than 10000 switches. */
#define EDF_PART_LEAST		(GPREEMPT_DEBT_ONE >> 10)

/* So much of a time is a part of the device, or so long it takes to have that much. */
static u64 edf_part_of(u64 ns, u64 part)
{
	return ns * part / GPREEMPT_DEBT_ONE;
}

static u64 edf_takes_ns(u64 ns, u64 part)
{
	return ns * GPREEMPT_DEBT_ONE / part;
}

/**
 * gpreempt_edf_need() - which part of a node does a reservation take?
 * @switch_ns: C, see gpreempt_debt_switch_ns()
 * @runtime_ns: Q, device time in each period
 * @period_ns: P, not 0, no more than an hour
 *
 * Return: (Q + 2 C) / P in 1 / GPREEMPT_DEBT_ONE, rounded up
 */
u64 gpreempt_edf_need(u64 switch_ns, u64 runtime_ns, u64 period_ns)
{
	return ((runtime_ns + 2 * switch_ns) * GPREEMPT_DEBT_ONE + period_ns - 1) / period_ns;
}

/**
 * gpreempt_edf_room() - which part of a node may reservations take together?
 * @params: its tunables
 *
 * Return: what debts leave, in 1 / GPREEMPT_DEBT_ONE
 */
u64 gpreempt_edf_room(const struct gpreempt_policy_params *params)
{
	return GPREEMPT_DEBT_ONE - gpreempt_debt_phi(params);
}

/**
 * gpreempt_edf_least_ns() - how long is the period of a reservation at least?
 * @switch_ns: C, see gpreempt_debt_switch_ns()
 *
 * Return: 20 C in nanoseconds: two switches in each take a tenth
 */
u64 gpreempt_edf_least_ns(u64 switch_ns)
{
	return 20 * switch_ns;
}

static u64 edf_deadline_of(const struct gpreempt_policy_queue *q)
{
	return q->set.deadline_ns ? q->set.deadline_ns : q->process->deadline_ns;
}

/*
 * A queue that has work at the end of a period is late if that is work of the period. It is not if
 * it began after the period did, as the last decision saw it. It is not if packets have come since
 * that decision and the device has launched all older ones: a program whose period is its deadline
 * sends a request when the one before is due.
 */
static bool edf_is_late(const struct gpreempt_policy_queue *q, u64 deadline_ns)
{
	u64 came = q->seen.wptr - q->decided_wptr;

	return q->work_from_ns + deadline_ns <= q->due_ns && !(came && q->seen.pending <= came);
}

/*
 * A deadline counts from the first work after the last one has passed, so that it is a period as
 * well. Work starts with packets, so what is only assumed of waves is none.
 */
static void edf_note_missed(struct gpreempt_policy_queue *q, u64 now_ns)
{
	u64 deadline_ns = edf_deadline_of(q);

	if (!deadline_ns || q->due_ns > now_ns || !q->pass.demand[0])
		return;
	if (q->due_ns && q->had_demand) {
		q->missed += edf_is_late(q, deadline_ns);
		q->due_ns += ((now_ns - q->due_ns) / deadline_ns + 1) * deadline_ns;
	} else {
		q->due_ns = now_ns + deadline_ns;
	}
}

/* Queues with a deadline of their own have a server each; the others have their process's. */
static struct gpreempt_policy_share *edf_server_of(const struct gpreempt_policy_queue *q)
{
	return q->set.deadline_ns ? (struct gpreempt_policy_share *)&q->share : &q->process->share;
}

/* Its work is due at some time, on this node or on another one of its job. */
static bool edf_is_dated(const struct gpreempt_policy_queue *q)
{
	return edf_deadline_of(q) || (q->process->job && q->process->job->dated_elsewhere);
}

/* Its server is its process's, which has a reservation. */
static bool edf_is_reserved(const struct gpreempt_policy_queue *q)
{
	return !q->set.deadline_ns && q->process->admitted_ns;
}

/* It has had work of late, so that an equal part of the device is its own. */
static bool edf_counts(const struct gpreempt_policy_queue *q, u64 now_ns)
{
	return edf_is_dated(q) && !edf_is_reserved(q) &&
	       (q->pass.demand[1] ||
		(q->seen.active_ns && now_ns - q->seen.active_ns < GPREEMPT_CONTENDED_NS));
}

/*
 * Of n tenants with deadlines each has an n-th of the device, and each of its servers an equal part
 * of that.
 */
static u32 edf_count(struct gpreempt_policy_node *pn, u64 now_ns)
{
	u32 i, nr = 0;

	for (i = 0; i < pn->nr; i++) {
		struct gpreempt_policy_tenant *t = gpreempt_debt_tenant_of(pn, pn->queues[i]);

		t->share.listed = false;
		t->nr = 0;
		edf_server_of(pn->queues[i])->listed = false;
	}
	for (i = 0; i < pn->nr; i++) {
		struct gpreempt_policy_tenant *t = gpreempt_debt_tenant_of(pn, pn->queues[i]);
		struct gpreempt_policy_share *s = edf_server_of(pn->queues[i]);

		if (!edf_counts(pn->queues[i], now_ns) || s->listed)
			continue;
		s->listed = true;
		nr += !t->share.listed;
		t->share.listed = true;
		t->nr++;
	}
	return gpreempt_later(nr, 1);
}

static u64 edf_need_of(const struct gpreempt_policy_node *pn,
		       const struct gpreempt_policy_process *p)
{
	return gpreempt_edf_need(gpreempt_debt_switch_ns(pn), p->runtime_ns, p->deadline_ns);
}

/* It asks for a reservation, has none yet, and there is room for it beside those that take @all. */
static bool edf_fits(const struct gpreempt_policy_node *pn,
		     const struct gpreempt_policy_process *p, u64 all)
{
	u64 least_ns = gpreempt_edf_least_ns(gpreempt_debt_switch_ns(pn));

	return p->runtime_ns && !p->admitted_ns && p->deadline_ns >= least_ns &&
	       all + edf_need_of(pn, p) <= gpreempt_edf_room(&pn->params);
}

/* Which part of the device is reserved? Those that were admitted come before those that now fit. */
static u64 edf_reserve(struct gpreempt_policy_node *pn)
{
	u64 all = 0;
	u32 i;

	for (i = 0; i < pn->nr; i++) {
		struct gpreempt_policy_process *p = pn->queues[i]->process;

		p->share.listed = false;
		if (p->admitted_ns != p->runtime_ns || p->admitted_period_ns != p->deadline_ns)
			p->admitted_ns = 0;
	}
	for (i = 0; i < pn->nr; i++) {
		struct gpreempt_policy_process *p = pn->queues[i]->process;

		if (!p->admitted_ns || p->share.listed)
			continue;
		p->share.listed = true;
		all += edf_need_of(pn, p);
	}
	for (i = 0; i < pn->nr; i++) {
		struct gpreempt_policy_process *p = pn->queues[i]->process;

		if (!edf_fits(pn, p, all))
			continue;
		p->admitted_ns = p->runtime_ns;
		p->admitted_period_ns = p->deadline_ns;
		all += edf_need_of(pn, p);
	}
	return gpreempt_earlier(edf_takes_ns(all, gpreempt_edf_room(&pn->params)),
				GPREEMPT_DEBT_ONE);
}

/* Its server's part: what is reserved, or an equal one of the @rest */
static u64 edf_find_part(const struct gpreempt_policy_node *pn,
			 const struct gpreempt_policy_queue *q, u64 rest, u32 nr)
{
	u64 part;

	if (edf_is_reserved(q))
		return edf_takes_ns(edf_need_of(pn, q->process), gpreempt_edf_room(&pn->params));
	part = rest / (nr * gpreempt_later(gpreempt_debt_tenant_of(pn, q)->nr, 1));
	return part < EDF_PART_LEAST ? 0 : part;
}

/* A server owns its part of a period, less what debts of work without a deadline may take. */
static u64 edf_runtime_ns(const struct gpreempt_policy_node *pn,
			  const struct gpreempt_policy_share *s)
{
	u64 part_ns = edf_part_of(s->period_ns, s->part);

	part_ns -= edf_part_of(part_ns, gpreempt_debt_phi(&pn->params));
	return gpreempt_later(part_ns, 1);
}

/*
 * Gives a server its part and its period. If its part becomes smaller, it has of the present period
 * what it owns by now, less what it has had, but no less than its part of the rest.
 */
static void edf_set_part(const struct gpreempt_policy_node *pn, struct gpreempt_policy_share *s,
			 u64 part, u64 period_ns, u64 now_ns)
{
	u64 rest_ns = s->end_ns > now_ns ? s->end_ns - now_ns : 0, own_ns, had_ns;
	bool less = part < s->part;

	own_ns = s->part ? edf_runtime_ns(pn, s) : 0;
	had_ns = own_ns - gpreempt_earlier(s->left_ns, own_ns);
	s->part = part;
	s->period_ns = period_ns;
	own_ns = edf_runtime_ns(pn, s);
	own_ns = gpreempt_later(edf_part_of(rest_ns, part),
				own_ns - gpreempt_earlier(had_ns, own_ns));
	if (less)
		s->left_ns = gpreempt_earlier(s->left_ns, own_ns);
}

/*
 * The servers with a part. The period of an equal part is so long that leaving and coming back once
 * in it costs a tenth of the part at most.
 */
static struct gpreempt_policy_share *edf_list(struct gpreempt_policy_node *pn, u64 reserved,
					      u64 now_ns)
{
	u64 rest = GPREEMPT_DEBT_ONE - reserved, part, period_ns;
	u32 i, nr = edf_count(pn, now_ns);
	struct gpreempt_policy_share *first = NULL;

	for (i = 0; i < pn->nr; i++)
		edf_server_of(pn->queues[i])->listed = false;
	for (i = 0; i < pn->nr; i++) {
		const struct gpreempt_policy_queue *q = pn->queues[i];
		struct gpreempt_policy_share *s = edf_server_of(q);

		if (s->listed)
			continue;
		s->listed = true;
		part = edf_is_dated(q) ? edf_find_part(pn, q, rest, nr) : 0;
		if (!part) {
			s->part = 0;
			continue;
		}
		period_ns = edf_deadline_of(q);
		if (!edf_is_reserved(q))
			period_ns = gpreempt_later(period_ns,
						   edf_takes_ns(GPREEMPT_SWITCHES *
								demand_switch_ns(pn), part));
		edf_set_part(pn, s, part, period_ns, now_ns);
		s->index = i % EDF_PLACES;
		s->wants = false;
		s->next = first;
		first = s;
	}
	return first;
}

/*
 * Charges a server. When its part of the period is used up its work is due at the end of the next
 * one: it runs on if no other work is due sooner.
 */
static void edf_charge(const struct gpreempt_policy_node *pn, struct gpreempt_policy_share *s,
		       u64 used_ns)
{
	u64 runtime_ns = edf_runtime_ns(pn, s);

	if (used_ns < s->left_ns) {
		s->left_ns -= used_ns;
		return;
	}
	used_ns -= s->left_ns;
	s->left_ns = runtime_ns - used_ns % runtime_ns;
	s->end_ns += (1 + used_ns / runtime_ns) * s->period_ns;
	s->due_ns = s->end_ns;
}

/*
 * A server gets work. It keeps what is left of its part if the rest of the period earns as much;
 * otherwise a period begins.
 */
static void edf_wake(const struct gpreempt_policy_node *pn, struct gpreempt_policy_share *s,
		     u64 deadline_ns, u64 now_ns)
{
	if (s->end_ns <= now_ns || edf_takes_ns(s->left_ns, s->part) > s->end_ns - now_ns) {
		s->end_ns = now_ns + s->period_ns;
		s->left_ns = edf_runtime_ns(pn, s);
	}
	s->due_ns = gpreempt_earlier(now_ns + deadline_ns, s->end_ns);
}

/*
 * How much of the time that has passed belonged to servers that may use it: that have work, or had
 * so much that their parts are not their own again yet. The rest is not charged to who has it.
 */
static u64 edf_owned_ns(const struct gpreempt_policy_share *first, u64 from_ns, u64 passed_ns)
{
	const struct gpreempt_policy_share *s;
	u64 owned_ns = 0;

	for (s = first; s; s = s->next) {
		u64 takes_ns = edf_takes_ns(s->left_ns, s->part);
		u64 again_ns = s->end_ns - gpreempt_earlier(takes_ns, s->end_ns);
		u64 active_ns = again_ns > from_ns ? again_ns - from_ns : 0;

		if (s->wanted || active_ns > passed_ns)
			active_ns = passed_ns;
		owned_ns += edf_part_of(active_ns, s->part);
	}
	return gpreempt_earlier(owned_ns, passed_ns);
}

/* Accounts the time that has passed. A server is late by a period at most. */
static void edf_account(struct gpreempt_policy_node *pn, struct gpreempt_policy_share *first,
			u64 now_ns)
{
	u64 passed_ns = pn->ranked_ns ? now_ns - pn->ranked_ns : 0, owned_ns;
	struct gpreempt_policy_share *s;
	u32 i;

	/* A node that has not looked for long does not know what ran. */
	passed_ns = gpreempt_earlier(passed_ns, GPREEMPT_CONTENDED_NS);
	owned_ns = edf_owned_ns(first, now_ns - passed_ns, passed_ns);
	pn->ranked_ns = now_ns;
	for (s = first; s; s = s->next) {
		u64 least_ns = now_ns - gpreempt_earlier(s->period_ns, now_ns);

		if (s->ran && passed_ns)
			edf_charge(pn, s, owned_ns);
		s->end_ns = gpreempt_later(s->end_ns, least_ns);
		s->due_ns = gpreempt_later(s->due_ns, least_ns);
	}
	for (i = 0; i < pn->nr; i++) {
		const struct gpreempt_policy_queue *q = pn->queues[i];

		s = edf_server_of(q);
		if (!s->part || !q->pass.demand[0])
			continue;
		if (!s->wanted && !s->wants)
			edf_wake(pn, s, edf_deadline_of(q), now_ns);
		s->wants = true;
	}
}

/* Its work has a deadline that counts: there is a part of the device for it. */
static bool edf_has_part(const struct gpreempt_policy_queue *q)
{
	return edf_deadline_of(q) && edf_server_of(q)->part;
}

/* When its server has the work of a queue due; 0: the queue has no deadline. */
static u64 edf_due_of(const struct gpreempt_policy_queue *q)
{
	return edf_has_part(q) ? edf_server_of(q)->due_ns : 0;
}

/* A job is due on all of its nodes when the first of its work is. */
static s64 edf_rank_of(const struct gpreempt_policy_queue *q, u64 now_ns)
{
	const struct gpreempt_policy_job *job = q->process->job;
	const struct gpreempt_policy_share *s = edf_server_of(q);
	u64 due_ns = GPREEMPT_FOREVER_NS, place = 0;

	if (edf_has_part(q)) {
		due_ns = s->wants || s->wanted ? s->due_ns : now_ns + edf_deadline_of(q);
		place = s->index;
	}
	if (job && job->due_elsewhere_ns && job->due_elsewhere_ns < due_ns) {
		due_ns = job->due_elsewhere_ns;
		place = 0;
	}
	if (due_ns == GPREEMPT_FOREVER_NS)
		return -GPREEMPT_RANK_RELIEF;
	return -(s64)(due_ns / EDF_PLACES * EDF_PLACES + place);
}

static void edf_rank(struct gpreempt_policy_node *pn, u64 now_ns)
{
	u64 reserved = edf_reserve(pn);
	struct gpreempt_policy_share *first = edf_list(pn, reserved, now_ns), *s;
	u32 i;

	edf_account(pn, first, now_ns);
	/*
	 * A part of a long period that were due by a short deadline would make reservations late.
	 */
	for (s = reserved ? first : NULL; s; s = s->next)
		s->due_ns = s->end_ns;
	for (i = 0; i < pn->nr; i++) {
		struct gpreempt_policy_queue *q = pn->queues[i];

		edf_note_missed(q, now_ns);
		q->rank = edf_rank_of(q, now_ns);
		q->own_rank = q->rank;
		q->orders = q->set.deadline_ns;
		q->standing = edf_server_of(q)->part != 0;
	}
}

/* A server runs, and will be charged, if one of its queues has work and the device. */
static void edf_decided(struct gpreempt_policy_node *pn, u64 now_ns)
{
	u32 i;

	for (i = 0; i < pn->nr; i++) {
		struct gpreempt_policy_share *s = edf_server_of(pn->queues[i]);

		s->wanted = false;
		s->ran = false;
	}
	for (i = 0; i < pn->nr; i++) {
		struct gpreempt_policy_queue *q = pn->queues[i];
		struct gpreempt_policy_share *s = edf_server_of(q);

		q->decided_wptr = q->seen.wptr;
		if (!edf_is_dated(q))
			continue;
		s->wanted |= q->pass.demand[1];
		s->ran |= level_runs(q);
	}
}

/* When the first deadline passes, or who has the device has used up its part. */
static u64 edf_next_ns(const struct gpreempt_policy_node *pn, u64 now_ns)
{
	u64 next_ns = GPREEMPT_FOREVER_NS;
	u32 i;

	for (i = 0; i < pn->nr; i++) {
		const struct gpreempt_policy_queue *q = pn->queues[i];
		const struct gpreempt_policy_share *s = edf_server_of(q);

		if (q->pass.demand[1] && q->due_ns > now_ns && q->due_ns - now_ns < next_ns)
			next_ns = q->due_ns - now_ns;
		if (edf_has_part(q) && s->ran && s->left_ns < next_ns)
			next_ns = s->left_ns;
	}
	return next_ns;
}

const struct gpreempt_policy_ops gpreempt_policy_edf = {
	.name = "edf",
	.rotates = true,
	.due_ns = edf_due_of,
	.rank = edf_rank,
	.decided = edf_decided,
	.next_ns = edf_next_ns,
};
