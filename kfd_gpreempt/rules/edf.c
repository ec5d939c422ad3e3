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
 * A job is due on all of its nodes when the first of its work is.
 */
#include "core/debt.h"
#include "core/demand.h"

/* Ranks within so many nanoseconds, for work that is due at the same time. */
#define EDF_PLACES		1024

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

/* It has had work of late, so that a part of the device is its own. */
static bool edf_counts(const struct gpreempt_policy_queue *q, u64 now_ns)
{
	return edf_is_dated(q) &&
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

/* A server owns its part of a period, less what debts of work without a deadline may take. */
static u64 edf_runtime_ns(const struct gpreempt_policy_node *pn,
			  const struct gpreempt_policy_share *s)
{
	u64 part_ns = s->period_ns / s->parts;

	part_ns -= part_ns / GPREEMPT_DEBT_ONE * gpreempt_debt_phi(&pn->params);
	return gpreempt_later(part_ns, 1);
}

/*
 * Gives a server its part and its period. If its part becomes smaller, it has of the present period
 * what it owns by now, less what it has had, but no less than its part of the rest.
 */
static void edf_set_parts(const struct gpreempt_policy_node *pn, struct gpreempt_policy_share *s,
			  u32 parts, u64 deadline_ns, u64 now_ns)
{
	u64 rest_ns = s->end_ns > now_ns ? s->end_ns - now_ns : 0, own_ns, had_ns;
	bool more = parts > s->parts;

	own_ns = s->parts ? edf_runtime_ns(pn, s) : 0;
	had_ns = own_ns - gpreempt_earlier(s->left_ns, own_ns);
	s->parts = parts;
	s->period_ns = gpreempt_later(deadline_ns,
				      GPREEMPT_QUOTA_SHARE * parts * demand_switch_ns(pn));
	own_ns = edf_runtime_ns(pn, s);
	own_ns = gpreempt_later(rest_ns / parts, own_ns - gpreempt_earlier(had_ns, own_ns));
	if (more)
		s->left_ns = gpreempt_earlier(s->left_ns, own_ns);
}

/*
 * The servers with a deadline. A period is so long that leaving and coming back once in it costs a
 * tenth of the part at most.
 */
static struct gpreempt_policy_share *edf_list(struct gpreempt_policy_node *pn, u64 now_ns)
{
	u32 i, nr = edf_count(pn, now_ns);
	struct gpreempt_policy_share *first = NULL;

	for (i = 0; i < pn->nr; i++)
		edf_server_of(pn->queues[i])->listed = false;
	for (i = 0; i < pn->nr; i++) {
		const struct gpreempt_policy_queue *q = pn->queues[i];
		struct gpreempt_policy_share *s = edf_server_of(q);

		if (!edf_is_dated(q) || s->listed)
			continue;
		edf_set_parts(pn, s, nr * gpreempt_later(gpreempt_debt_tenant_of(pn, q)->nr, 1),
			      edf_deadline_of(q), now_ns);
		s->listed = true;
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
	if (s->end_ns <= now_ns || s->left_ns * s->parts > s->end_ns - now_ns) {
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
		u64 again_ns = s->end_ns - gpreempt_earlier(s->left_ns * s->parts, s->end_ns);
		u64 active_ns = again_ns > from_ns ? again_ns - from_ns : 0;

		if (s->wanted || active_ns > passed_ns)
			active_ns = passed_ns;
		owned_ns += active_ns / s->parts;
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
		if (!s->listed || !q->pass.demand[0])
			continue;
		if (!s->wanted && !s->wants)
			edf_wake(pn, s, edf_deadline_of(q), now_ns);
		s->wants = true;
	}
}

/* When its server has the work of a queue due; 0: the queue has no deadline. */
static u64 edf_due_of(const struct gpreempt_policy_queue *q)
{
	return edf_deadline_of(q) ? edf_server_of(q)->due_ns : 0;
}

/* A job is due on all of its nodes when the first of its work is. */
static s64 edf_rank_of(const struct gpreempt_policy_queue *q, u64 now_ns)
{
	const struct gpreempt_policy_job *job = q->process->job;
	const struct gpreempt_policy_share *s = edf_server_of(q);
	u64 due_ns = GPREEMPT_FOREVER_NS, place = 0;

	if (edf_deadline_of(q)) {
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
	struct gpreempt_policy_share *first = edf_list(pn, now_ns);
	u32 i;

	edf_account(pn, first, now_ns);
	for (i = 0; i < pn->nr; i++) {
		struct gpreempt_policy_queue *q = pn->queues[i];

		edf_note_missed(q, now_ns);
		q->rank = edf_rank_of(q, now_ns);
		q->own_rank = q->rank;
		q->orders = q->set.deadline_ns;
		q->standing = edf_is_dated(q);
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
		s->ran |= gpreempt_policy_runs(q);
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
		if (edf_deadline_of(q) && s->ran && s->left_ns < next_ns)
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
