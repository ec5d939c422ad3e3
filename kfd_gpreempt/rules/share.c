// SPDX-License-Identifier: MIT
/*
 * share.c - device time by weights, minimum and maximum of groups: whose turn is it?
 *
 * Pure code: see policy.h for what may be used here.
 */

/**
 * DOC: shares
 *
 * Groups of processes form a tree. Each has a *weight*, and perhaps a *minimum* and a *maximum*.
 * Processes that are in no group are in the root group. The processes that are directly in a group
 * compete with the groups below it, as one more of them, with the default weight.
 *
 * A class above comes first: of all queues with work only those of the highest priority (the
 * level) take part. Their groups take *turns*. In its turn a group has the device alone. Queues of
 * the others are kept off as if they were held on request: they have no demand, their time off the
 * device is no starvation, and switching between them is no part of the overhead budget, so it
 * delays no preemption for a class above.
 *
 * *Whose turn.* Among the children of a group with work at the level, each has a part of what the
 * group has: by weight, but no less than its minimum, which is a part of the whole device. What is
 * promised in minima and cannot be had is scaled down. Each child's virtual time goes forward by
 * the device time that it had, over its part. At the end of a turn the next one goes to the child
 * with the least, from the root down to the processes. A turn lasts ``gpreempt_slice_us``, and
 * long enough for its switch to take less than a twentieth of it; up to 2.25 times as long, if that
 * is what the child needs from coming to going. Kernels of any length are interrupted at its end,
 * so shares do not depend on how long kernels are.
 *
 * *Coming and going.* A turn ends with the work. Where a group had short gaps between its kernels
 * before, it keeps its turn for as long as they took: otherwise a program that submits one kernel
 * after the other would lose a turn for each. A group that comes back is no more than a slice
 * behind or ahead of the others: time without work is no credit. A new one begins where one that
 * went has been, or half a slice ahead: a group that is made anew gains nothing. One that comes
 * while another one has its turn ends that turn, if it would still be no further than the other one
 * after what it needs from coming to going, and if that is worth half a switch. So groups that
 * submit one kernel after the other have what they were promised.
 *
 * *Maximum.* A group that has had its quota of device time in a period is off the device until the
 * next one begins, with all groups below it, at every priority and under every policy. What it had
 * too much is taken from the next periods. Over any time it has no more than the quota for each
 * period that begins in it, and one. Where a quota is less than ten switches, quota and period are
 * so many times as long.
 *
 * What may not be taken off the device (*precedence*) stays there; its time counts.
 * While a node only observes, turns are counted, and nothing is taken off. Under ``wfq`` and
 * ``edf`` ranks move by themselves: there only the maximum holds.
 */
#include "rules/server.h"
#include "share.h"

/* Parts of the whole device */
#define SHARE_ONE		(1U << 20)
#define SHARE_ROOT		0
/* What a weight counts, in parts of it */
#define SHARE_WEIGHT		256
#define SHARE_PLAIN		(SHARE_WEIGHT * GPREEMPT_WEIGHT_NORMAL)

#define SHARE_FOR_EACH(pn, i)						\
	for ((i) = (pn)->share_first; (i) != GPREEMPT_ENTITY_NONE;	\
	     (i) = (pn)->entities[i].next)

#define SHARE_FOR_EACH_CHILD(pn, above, i)				\
	for ((i) = share_child(pn, above, (pn)->share_first);		\
	     (i) != GPREEMPT_ENTITY_NONE;				\
	     (i) = share_child(pn, above, (pn)->entities[i].next))

/* The first child from there on, of those that are listed */
static u32 share_child(const struct gpreempt_policy_node *pn, u32 above, u32 from)
{
	while (from != GPREEMPT_ENTITY_NONE &&
	       (from == SHARE_ROOT || pn->entities[from].parent != above))
		from = pn->entities[from].next;
	return from;
}

/**
 * gpreempt_share_forget() - a group goes, and another one may take its place
 * @entities: those of the node
 * @group: the group, by number
 *
 * Zeroes both of its entities. A new group beside it begins no earlier than it got: a group that is
 * made anew all the time neither gains by that nor begins at the end each time.
 */
void gpreempt_share_forget(struct gpreempt_policy_entity *entities, u32 group)
{
	struct gpreempt_policy_entity *e = &entities[2 * group], *parent = &entities[e->parent];

	if ((s64)(e->server.vtime_ns - parent->gone_ns) > 0)
		parent->gone_ns = e->server.vtime_ns;
	e[0] = (struct gpreempt_policy_entity){ 0 };
	e[1] = (struct gpreempt_policy_entity){ 0 };
}

static u32 share_of_queue(const struct gpreempt_policy_queue *q)
{
	return gpreempt_share_members(q->process->group);
}

static bool share_is_fixed(const struct gpreempt_policy_queue *q)
{
	return q->set.immovable || q->process->opt_out;
}

static u64 share_virtual_ns(const struct gpreempt_policy_entity *e, u64 ns)
{
	return ns * SHARE_PLAIN / (e->counts ? e->counts : SHARE_PLAIN);
}

/* @from: an entity. Calls the rest of the statement for it and all above it. */
#define SHARE_FOR_EACH_UP(pn, from, i)						\
	for ((i) = (from); (i) != GPREEMPT_ENTITY_NONE;				\
	     (i) = (i) == SHARE_ROOT ? GPREEMPT_ENTITY_NONE : (pn)->entities[i].parent)

/*
 * The time since the last look, to those that have run since. Of a node that has not looked for
 * long, because it slept, was paused or switched off, it is not known what ran: that is not
 * charged.
 */
static void share_charge(struct gpreempt_policy_node *pn, u64 now_ns)
{
	u64 passed_ns = pn->shared_ns ? now_ns - pn->shared_ns : 0;
	u32 i;

	passed_ns = gpreempt_earlier(passed_ns, 2 * demand_look_ns(pn) + GPREEMPT_LATE_NS);
	pn->shared_ns = now_ns;
	if (!passed_ns)
		return;
	for (i = 0; i < pn->nr_entities; i++) {
		struct gpreempt_policy_entity *e = &pn->entities[i];

		if (!e->ran)
			continue;
		e->used_ns += passed_ns;
		server_charge(&e->server, passed_ns, share_virtual_ns(e, passed_ns));
	}
}

/*
 * Leaving and coming back once in a period costs a tenth of the quota at most: where it would cost
 * more, quota and period are so many times as long.
 */
static u64 share_stretch(const struct gpreempt_policy_node *pn,
			 const struct gpreempt_policy_entity *e)
{
	return 1 + GPREEMPT_SWITCHES * demand_switch_ns(pn) / e->quota_ns;
}

/* Periods begin. What was had too much in one is taken from the next. */
static void share_refill(struct gpreempt_policy_node *pn, u64 now_ns)
{
	u32 i;

	for (i = 0; i < pn->nr_entities; i++) {
		struct gpreempt_policy_entity *e = &pn->entities[i];
		u64 periods, times;

		if (!e->quota_ns || !e->used) {
			e->full = false;
			e->used_ns = 0;
			e->period_at_ns = now_ns;
			continue;
		}
		times = share_stretch(pn, e);
		periods = (now_ns - e->period_at_ns) / (times * e->period_ns) * times;
		if (periods) {
			e->period_at_ns += periods * e->period_ns;
			e->used_ns -= gpreempt_earlier(e->used_ns, periods * e->quota_ns);
		}
		e->full = e->used_ns >= times * e->quota_ns;
	}
}

/* It, or a group that it is in, has used its quota of the period. */
static const struct gpreempt_policy_entity *share_full(const struct gpreempt_policy_node *pn,
						       u32 from)
{
	u32 i;

	SHARE_FOR_EACH_UP(pn, from, i)
		if (pn->entities[i].full)
			return &pn->entities[i];
	return NULL;
}

/* Has it work, whatever keeps it off? What waits for its job on another node takes no turn. */
static enum demand share_demand(const struct gpreempt_policy_node *pn,
				struct gpreempt_policy_queue *q, u64 now_ns)
{
	const struct gpreempt_policy_job *job = q->process->job;

	if (q->pass.relieved || q->kept_off & GPREEMPT_KEPT_HOLD ||
	    (job && job->gang && now_ns < job->leave_until_ns))
		return DEMAND_NONE;
	if (q->kept_off)
		return demand_look(pn, q, now_ns);
	return q->pass.demand[0] ? DEMAND_SURE : q->pass.demand[1] ? DEMAND_MAYBE : DEMAND_NONE;
}

/* Which queues have work, and at which level; false: none has. */
static bool share_find_level(struct gpreempt_policy_node *pn, u64 now_ns)
{
	bool found = false;
	u32 i;

	for (i = 0; i < pn->nr; i++) {
		struct gpreempt_policy_queue *q = pn->queues[i];

		q->demands = share_demand(pn, q, now_ns);
		/* No queue yields to one that is unseen. */
		if (!q->demands || q->set.unseen || share_full(pn, share_of_queue(q)))
			continue;
		if (!found || q->priority > pn->share_level)
			pn->share_level = q->priority;
		found = true;
	}
	return found;
}

/* Those above it that are not listed yet come in front of it, behind the first that is. */
static void share_list_one(struct gpreempt_policy_node *pn, u32 members)
{
	u32 i, chain = GPREEMPT_ENTITY_NONE;

	SHARE_FOR_EACH_UP(pn, members, i) {
		if (pn->entities[i].wants)
			break;
		pn->entities[i].wants = true;
		pn->entities[i].next = chain;
		chain = i;
	}
	if (chain == GPREEMPT_ENTITY_NONE)
		return;
	/* The last of the chain is what it is about. */
	if (i == GPREEMPT_ENTITY_NONE) {
		pn->share_first = chain;
	} else {
		pn->entities[members].next = pn->entities[i].next;
		pn->entities[i].next = chain;
	}
}

/* Lists what has work at the level: parents before children. */
static void share_list(struct gpreempt_policy_node *pn)
{
	u32 i;

	pn->share_first = GPREEMPT_ENTITY_NONE;
	for (i = 0; i < pn->nr_entities; i++) {
		pn->entities[i].wants = false;
		pn->entities[i].sure = false;
	}
	for (i = 0; i < pn->nr; i++) {
		const struct gpreempt_policy_queue *q = pn->queues[i];
		u32 members = share_of_queue(q);

		if (!q->demands || q->priority != pn->share_level || share_full(pn, members))
			continue;
		share_list_one(pn, members);
		pn->entities[members].sure |= q->demands == DEMAND_SURE;
	}
}

/* What a child is promised at least of what its parent has, where so much is promised in all. */
static u64 share_least(const struct gpreempt_policy_entity *e, u64 all, u64 has)
{
	u64 least = (u64)e->min_pct * SHARE_ONE / 100;

	return all > has ? least * has / all : least;
}

/* What its part counts as, where a weight is worth so much: between siblings only that matters. */
static u32 share_counts(u64 share, u64 weights, u64 are_worth)
{
	return gpreempt_earlier(share * weights * SHARE_WEIGHT / gpreempt_later(are_worth, 1) + 1,
				~0U);
}

/*
 * Divides what a group has among its children with work. Those that would have less than they are
 * promised get that; the others divide the rest, until there is none of them.
 */
static void share_divide_one(struct gpreempt_policy_node *pn, u32 parent)
{
	u64 has = pn->entities[parent].share, rest = has, weights = 0, all = 0, promised = 0;
	bool again = true;
	u32 i;

	SHARE_FOR_EACH_CHILD(pn, parent, i) {
		pn->entities[i].share = 0;
		all += pn->entities[i].weight;
		promised += (u64)pn->entities[i].min_pct * SHARE_ONE / 100;
	}
	weights = all;
	while (again) {
		again = false;
		SHARE_FOR_EACH_CHILD(pn, parent, i) {
			struct gpreempt_policy_entity *e = &pn->entities[i];
			u64 least = share_least(e, promised, has);

			if (e->share || !least || least * weights <= rest * e->weight)
				continue;
			e->share = least;
			rest -= gpreempt_earlier(least, rest);
			weights -= e->weight;
			again = true;
		}
	}
	SHARE_FOR_EACH_CHILD(pn, parent, i) {
		struct gpreempt_policy_entity *e = &pn->entities[i];

		if (e->share) {
			e->counts = weights ? share_counts(e->share, weights, rest) :
					      share_counts(e->share, all, has);
			continue;
		}
		e->share = gpreempt_later(rest * e->weight / weights, 1);
		e->counts = e->weight * SHARE_WEIGHT;
	}
}

/* Even places are groups, odd ones the processes in them. */
static bool share_is_group(u32 i)
{
	return !(i & 1);
}

static void share_divide(struct gpreempt_policy_node *pn)
{
	u32 i;

	pn->entities[SHARE_ROOT].share = SHARE_ONE;
	SHARE_FOR_EACH(pn, i)
		if (share_is_group(i))
			share_divide_one(pn, i);
}

/* It had work at the level before. */
static bool share_stayed(const struct gpreempt_policy_node *pn,
			 const struct gpreempt_policy_entity *e)
{
	return e->wanted && e->level == pn->share_level;
}

/* The least virtual time of those siblings that have been there; without them, of all. */
static u64 share_floor(const struct gpreempt_policy_node *pn, u32 parent)
{
	const struct gpreempt_policy_entity *least = NULL;
	u32 i;

	SHARE_FOR_EACH_CHILD(pn, parent, i) {
		const struct gpreempt_policy_entity *e = &pn->entities[i];

		if (!least || (share_stayed(pn, e) && !share_stayed(pn, least)) ||
		    (share_stayed(pn, e) == share_stayed(pn, least) &&
		     (s64)(e->server.vtime_ns - least->server.vtime_ns) < 0))
			least = e;
	}
	return least->server.vtime_ns;
}

static void share_place(struct gpreempt_policy_node *pn)
{
	u64 slice_ns = server_slice_ns(pn);
	u32 i;

	SHARE_FOR_EACH(pn, i) {
		struct gpreempt_policy_entity *e = &pn->entities[i];
		const struct gpreempt_policy_entity *parent = &pn->entities[e->parent];
		u64 floor_ns;

		if (i == SHARE_ROOT || share_stayed(pn, e))
			continue;
		floor_ns = share_floor(pn, e->parent);
		if (server_is_new(&e->server) && parent->gone_ns)
			e->server.vtime_ns = gpreempt_later(parent->gone_ns, floor_ns);
		server_come(&e->server, floor_ns, slice_ns, (s64)share_virtual_ns(e, slice_ns));
	}
}

/* From the root down, the child that has had least for its part. */
static u32 share_choose(const struct gpreempt_policy_node *pn)
{
	u32 i, at = SHARE_ROOT;

	while (share_is_group(at)) {
		u32 best = GPREEMPT_ENTITY_NONE;

		SHARE_FOR_EACH_CHILD(pn, at, i) {
			const struct gpreempt_policy_entity *e = &pn->entities[i];
			s64 ahead_ns;

			ahead_ns = best == GPREEMPT_ENTITY_NONE ?
					   -1 :
					   (s64)(e->server.vtime_ns - pn->entities[best].server.vtime_ns);
			/* Of equals the one that has not had the turn. */
			if (ahead_ns < 0 || (!ahead_ns && pn->entities[best].turn))
				best = i;
		}
		at = best;
	}
	return at;
}

/* Has one come, beside the one that has the turn or a group above it, that comes before? */
static bool share_is_woken(const struct gpreempt_policy_node *pn, u32 turn)
{
	u32 i, at, child = turn;

	SHARE_FOR_EACH_UP(pn, pn->entities[turn].parent, at) {
		SHARE_FOR_EACH_CHILD(pn, at, i) {
			const struct gpreempt_policy_entity *e = &pn->entities[i];
			u64 counts_ns = share_virtual_ns(e, server_burst_ns(pn, &e->server));

			if (i != child && server_comes_before(pn, &e->server, counts_ns,
							      &pn->entities[child].server))
				return true;
		}
		child = at;
	}
	return false;
}

/* Whose turn it was at this level, if it may go on. */
static u32 share_goes_on(const struct gpreempt_policy_node *pn, bool others, u64 now_ns)
{
	u32 i;

	for (i = 1; i < pn->nr_entities; i += 2) {
		const struct gpreempt_policy_entity *e = &pn->entities[i];

		if (!e->turn || e->turn_level != pn->share_level)
			continue;
		if (!e->used || share_full(pn, i))
			break;
		if (e->wants ? others && (e->server.turn_ns >= server_turn_ns(pn, &e->server) ||
					  share_is_woken(pn, i)) :
			       !server_in_grace(pn, &e->server, now_ns))
			break;
		return i;
	}
	return GPREEMPT_ENTITY_NONE;
}

static void share_give_turn(struct gpreempt_policy_node *pn, u32 to)
{
	struct gpreempt_policy_entity *e;
	u32 i;

	for (i = 0; i < pn->nr_entities; i++) {
		e = &pn->entities[i];
		if (e->turn_level == pn->share_level)
			e->turn = false;
		e->server.woke = false;
	}
	e = &pn->entities[to];
	e->turn = true;
	e->turn_level = pn->share_level;
	server_begin_turn(&e->server);
}

static void share_find_turn(struct gpreempt_policy_node *pn, u64 now_ns)
{
	u32 i, nr = 0, turn;

	SHARE_FOR_EACH(pn, i)
		nr += !share_is_group(i);
	turn = share_goes_on(pn, nr > 1, now_ns);
	if (turn == GPREEMPT_ENTITY_NONE) {
		turn = share_choose(pn);
		share_give_turn(pn, turn);
	}
	pn->share_turn = turn;
	pn->share_waits = nr > pn->entities[turn].wants;
	pn->share_doubt = pn->share_waits && pn->entities[turn].wants && !pn->entities[turn].sure;
}

/* Is it kept off, if it may be? What is idle beside it is not looked at here. */
static u8 share_why_off(const struct gpreempt_policy_node *pn,
			const struct gpreempt_policy_queue *q)
{
	u32 members = share_of_queue(q);

	if (share_is_fixed(q))
		return 0;
	if (share_full(pn, members))
		return GPREEMPT_KEPT_MAXIMUM;
	if (pn->share_turn == GPREEMPT_ENTITY_NONE || pn->share_turn == members ||
	    q->priority != pn->share_level)
		return 0;
	return GPREEMPT_KEPT_SHARE;
}

/*
 * Those without work go along when others have to go, and stay away: their next packet shall not
 * cost another pass.
 */
static bool share_keep_off(struct gpreempt_policy_node *pn, u64 now_ns)
{
	bool go = false, changed = false;
	u32 i;

	for (i = 0; i < pn->nr; i++) {
		const struct gpreempt_policy_queue *q = pn->queues[i];

		if (!q->demands || demand_is_off(q) || !share_why_off(pn, q))
			continue;
		go = true;
		pn->share_doubt |= q->demands == DEMAND_MAYBE;
	}
	for (i = 0; i < pn->nr; i++) {
		struct gpreempt_policy_queue *q = pn->queues[i];
		u8 why = q->demands || demand_is_off(q) || go ? share_why_off(pn, q) : 0;

		why |= q->kept_off & GPREEMPT_KEPT_HOLD;
		if (q->kept_off == why)
			continue;
		q->kept_off = why;
		demand_starve_anew(q, now_ns);
		changed = true;
	}
	return changed;
}

/* May be called again when more is known of waves */
static bool share_look(struct gpreempt_policy_node *pn, u64 now_ns)
{
	bool level;

	share_charge(pn, now_ns);
	share_refill(pn, now_ns);
	level = share_find_level(pn, now_ns);
	pn->share_turn = GPREEMPT_ENTITY_NONE;
	pn->share_first = GPREEMPT_ENTITY_NONE;
	pn->share_doubt = false;
	pn->share_waits = false;
	if (level && !pn->ops->rotates) {
		share_list(pn);
		share_divide(pn);
		share_place(pn);
		share_find_turn(pn, now_ns);
	}
	return share_keep_off(pn, now_ns);
}

/* What of it was so at this decision. */
static void share_note(const struct gpreempt_policy_node *pn, struct gpreempt_policy_entity *e,
		       u64 now_ns)
{
	server_note(pn, &e->server, e->wants, share_stayed(pn, e), now_ns);
	if (e->wants)
		e->level = pn->share_level;
	if (e->level == pn->share_level)
		e->wanted = e->wants;
}

static void share_mark_run(struct gpreempt_policy_node *pn, u32 members)
{
	u32 i;

	SHARE_FOR_EACH_UP(pn, members, i)
		pn->entities[i].ran = true;
}

static void share_runs(struct gpreempt_policy_node *pn, const struct gpreempt_policy_queue *q)
{
	share_mark_run(pn, share_of_queue(q));
}

static void share_decided(struct gpreempt_policy_node *pn, u64 now_ns)
{
	u32 i;

	for (i = 0; i < pn->nr_entities; i++) {
		pn->entities[i].ran = false;
		if (pn->share_turn != GPREEMPT_ENTITY_NONE)
			share_note(pn, &pn->entities[i], now_ns);
	}
	if (!pn->share_waits || pn->entities[pn->share_turn].wants)
		return;
	/* Others wait while it has none. It is not placed anew after a short gap. */
	share_mark_run(pn, pn->share_turn);
	SHARE_FOR_EACH_UP(pn, pn->share_turn, i)
		pn->entities[i].wanted |= pn->entities[i].level == pn->share_level;
}

/* Of a full group the queues say when: see share_until() */
static u64 share_next_ns(const struct gpreempt_policy_node *pn, u64 now_ns)
{
	u64 next_ns = GPREEMPT_FOREVER_NS;
	u32 i;

	if (pn->share_waits) {
		const struct gpreempt_policy_entity *e = &pn->entities[pn->share_turn];
		const struct gpreempt_policy_server *turn = &e->server;
		u64 turn_ns = server_turn_ns(pn, turn);

		if (!e->wants)
			next_ns = turn->idle_at_ns + server_grace_ns(pn, turn) - now_ns;
		else if (turn->turn_ns < turn_ns)
			next_ns = turn_ns - turn->turn_ns;
	}
	for (i = 0; i < pn->nr_entities; i++) {
		const struct gpreempt_policy_entity *e = &pn->entities[i];

		if (!e->quota_ns || !e->used)
			continue;
		if (e->ran && !e->full)
			next_ns = gpreempt_earlier(next_ns, share_stretch(pn, e) * e->quota_ns -
								    e->used_ns);
	}
	return next_ns;
}

static u64 share_until(const struct gpreempt_policy_node *pn,
		       const struct gpreempt_policy_queue *q)
{
	const struct gpreempt_policy_entity *e = NULL;

	if (q->kept_off & GPREEMPT_KEPT_MAXIMUM && pn->nr_entities)
		e = share_full(pn, share_of_queue(q));
	return e ? e->period_at_ns + share_stretch(pn, e) * e->period_ns : GPREEMPT_FOREVER_NS;
}

static bool share_rivals(const struct gpreempt_policy_node *pn,
			 const struct gpreempt_policy_process *a,
			 const struct gpreempt_policy_process *b)
{
	u32 i;

	if (a->group != b->group)
		return true;
	SHARE_FOR_EACH_UP(pn, gpreempt_share_members(a->group), i)
		if (pn->entities[i].quota_ns)
			return true;
	return false;
}

static const struct gpreempt_policy_shares share_ops = {
	.look = share_look,
	.decided = share_decided,
	.runs = share_runs,
	.next_ns = share_next_ns,
	.until = share_until,
	.rivals = share_rivals,
};

/**
 * gpreempt_share_use() - divide device time by these entities from now on
 * @pn: the node, with its queues
 * @entities: as many as @nr_entities; the first two are the root group's
 * @nr_entities: 0: nothing has a share any more
 */
void gpreempt_share_use(struct gpreempt_policy_node *pn, struct gpreempt_policy_entity *entities,
			u32 nr_entities)
{
	u32 i;

	if (!pn->nr_entities)
		pn->shared_ns = 0;
	pn->shares = &share_ops;
	pn->entities = entities;
	pn->nr_entities = nr_entities;
	pn->share_turn = GPREEMPT_ENTITY_NONE;
	pn->share_doubt = false;
	for (i = 0; !nr_entities && i < pn->nr + pn->nr_dormant; i++)
		pn->queues[i]->kept_off &= GPREEMPT_KEPT_HOLD;
}
