// SPDX-License-Identifier: MIT
/*
 * account.c - for how long has a queue used the device?
 *
 * Pure code: see policy.h for what may be used here.
 */

/**
 * DOC: account
 *
 * How exact the account is:
 *
 * * Exact are a preemption, a resume, the beginning and the end of a queue, and the beginning of
 *   work that a doorbell told of. A queue that is taken off was busy until the device was asked.
 *   What saving, connecting and restoring take is waiting, of all queues that a runlist takes off.
 *   So is the time from a doorbell until a pass has made room for its work. Packets that wait for a
 *   barrier are no work once the queue is found blocked.
 * * Work that a doorbell told of is looked at in spans: half a millisecond, and then half of the
 *   time for which it has run. A look comes at a random time of its span. If it finds the work, the
 *   whole span counts, if not, nothing of it: that is right on average, whatever the work takes.
 *   One request of 3 ms is off by half a millisecond, and of a thousand all together by 0.6 %.
 * * Everything else is found by looks, which read waves as well. They come every 5 ms while what
 *   queues do changes, and every 60 ms while it stays the same. Their times are random, and do not
 *   follow what queues do. So a single change is off by up to one look, to either side alike, and
 *   errors of many changes cancel out.
 * * Kernels that are shorter than the time between looks, and that no doorbell told of, are right
 *   on average. Each look that finds one counts for the time between two looks, so the error is
 *   that of a sample: one over the square root of how many looks found the queue at work. With a
 *   look every 5 ms, a queue that has worked for a minute in such kernels is right within 1 % in
 *   two of three cases, and within 3 % nearly always. For a hundred minutes it is a tenth of that.
 *   Of longer kernels it is less.
 * * Passes that read waves to decide look as well, every ``gpreempt_poll_us`` while lower work
 *   waits. There the end of work is off by that much alone.
 * * The moment between two kernels of a queue that is never without work is busy time.
 * * Waves are read for a 200th of the time at most, but for the first looks at some requests.
 * * After a second without work the node sleeps. Then a doorbell tells of new work, or it is
 *   noticed within a second.
 * * Where waves cannot be read a launch counts for 2 ms.
 *
 * It does not depend on the policy, nor on whether the node acts or only observes. Shares (share.c)
 * count something else, from pass to pass: for how long a group had its turn, with gaps between its
 * kernels, and only while groups compete. So neither uses the other.
 */

#include "demand.h"

/* Parts of the time between two looks */
#define ACCOUNT_WHOLE		256
#define ACCOUNT_HALF		128

static enum gpreempt_account_state account_state_off(const struct gpreempt_policy_queue *q)
{
	bool works = q->preempted ? q->seen.pending || (q->saved_waves && !q->seen.showed_none) :
				    q->seen.driver_off_with_work;

	return works ? GPREEMPT_ACCOUNT_WAITS : GPREEMPT_ACCOUNT_IDLE;
}

/* Of a queue on the device whose waves have just been read, if they can be. */
static enum gpreempt_account_state account_state_on(const struct gpreempt_policy_queue *q,
						    u64 now_ns)
{
	bool read = q->seen.waves_ns == now_ns;

	if (q->seen.blocked)
		return GPREEMPT_ACCOUNT_IDLE;
	if (read && q->seen.waves)
		return GPREEMPT_ACCOUNT_RUNS;
	if (!q->seen.pending)
		return GPREEMPT_ACCOUNT_IDLE;
	return read ? GPREEMPT_ACCOUNT_WAITS : GPREEMPT_ACCOUNT_RUNS;
}

/* Where waves cannot be read. */
static enum gpreempt_account_state account_state_launched(const struct gpreempt_policy_queue *q,
							  u64 now_ns)
{
	bool fresh = q->seen.used && q->seen.launched_ns &&
		     now_ns - q->seen.launched_ns < GPREEMPT_LAUNCHED_NS;

	return !q->seen.blocked && (q->seen.pending || fresh) ? GPREEMPT_ACCOUNT_RUNS :
								GPREEMPT_ACCOUNT_IDLE;
}

static enum gpreempt_account_state account_state_of(const struct gpreempt_policy_node *pn,
						    const struct gpreempt_policy_queue *q,
						    u64 now_ns)
{
	if (q->preempted || q->seen.driver_off)
		return account_state_off(q);
	return pn->account.tells ? account_state_on(q, now_ns) : account_state_launched(q, now_ns);
}

/* Its present state has lasted until then. */
static void account_close(struct gpreempt_account *a, u64 at_ns)
{
	u64 ns = at_ns > a->since_ns ? at_ns - a->since_ns : 0;
	u64 lost_ns = gpreempt_earlier(a->lost_ns, ns);

	if (!ns)
		return;
	if (a->state == GPREEMPT_ACCOUNT_RUNS) {
		a->busy_ns += ns - lost_ns;
		a->waiting_ns += lost_ns;
	} else if (a->state == GPREEMPT_ACCOUNT_WAITS) {
		a->waiting_ns += ns;
	}
	a->lost_ns = 0;
	a->since_ns = at_ns;
}

static void account_enter(struct gpreempt_account *a, enum gpreempt_account_state state, u64 at_ns,
			  u64 now_ns)
{
	account_close(a, at_ns);
	a->state = state;
	a->sure_ns = now_ns;
	a->began = false;
	a->came = false;
	a->part = ACCOUNT_HALF;
	a->told = false;
	a->span_ns = 0;
}

static u64 account_sure(const struct gpreempt_account *a)
{
	return gpreempt_later(a->since_ns, a->sure_ns);
}

/*
 * It changed between the time at which its state was last certain, and now, somewhere. @part: of
 * that time, in 256ths, for which it stayed.
 */
static u64 account_change(const struct gpreempt_account *a, u32 part, u64 now_ns)
{
	u64 sure_ns = account_sure(a);

	/* After a long sleep it is not known at all. */
	if (sure_ns < now_ns && now_ns - sure_ns > GPREEMPT_ACCOUNT_UNKNOWN_NS)
		sure_ns = now_ns - GPREEMPT_ACCOUNT_UNKNOWN_NS;
	return sure_ns < now_ns ? sure_ns + (now_ns - sure_ns) * part / ACCOUNT_WHOLE : now_ns;
}

/* Waves that were last read have run for as long as the queue has since. */
static void account_waves_until(struct gpreempt_account *a, u32 waves)
{
	u64 ran_ns = a->busy_ns - a->read_busy_ns;
	u64 mean = a->waves && waves ? ((u64)a->waves + waves) / 2 : a->waves + waves;

	a->wave_us += mean * ran_ns / 1000;
	a->read_busy_ns = a->busy_ns;
	a->waves = waves;
}

/**
 * gpreempt_account_begin() - a queue begins
 * @q: the queue, zeroed
 * @now_ns: when
 */
void gpreempt_account_begin(struct gpreempt_policy_queue *q, u64 now_ns)
{
	q->time.since_ns = now_ns;
	q->time.sure_ns = now_ns;
}

/**
 * gpreempt_account_expect() - queues have come, which may soon have work
 * @pn: the node
 * @now_ns: time of the samples
 */
void gpreempt_account_expect(struct gpreempt_policy_node *pn, u64 now_ns)
{
	pn->account.worked_ns = now_ns;
	pn->account.changed_ns = now_ns;
	pn->account.due_ns = gpreempt_earlier(pn->account.due_ns, now_ns);
}

/**
 * gpreempt_account_moved() - a queue has left the device, or has got it back
 * @q: the queue, as it is now
 * @ran: it was seen to run until then
 * @now_ns: when
 */
void gpreempt_account_moved(struct gpreempt_policy_queue *q, bool ran, u64 now_ns)
{
	enum gpreempt_account_state state = GPREEMPT_ACCOUNT_IDLE;
	bool had_work = q->seen.pending || ran;
	struct gpreempt_account *a = &q->time;
	u64 lost_ns = a->lost_ns;

	if (a->sure_ns == GPREEMPT_FOREVER_NS)
		return;

	if (had_work)
		state = q->preempted ? GPREEMPT_ACCOUNT_WAITS : GPREEMPT_ACCOUNT_RUNS;
	/* One in the middle of a kernel ran until then, whatever the last look found. */
	if (q->preempted && (a->state == GPREEMPT_ACCOUNT_RUNS) != ran)
		account_enter(a, ran ? GPREEMPT_ACCOUNT_RUNS : state,
			      account_change(a, ACCOUNT_HALF, now_ns), now_ns);
	a->lost_ns = lost_ns;
	account_enter(a, state, now_ns, now_ns);
	a->lost_ns = 0;
	a->began = state == GPREEMPT_ACCOUNT_RUNS;
	account_waves_until(a, 0);
}

/**
 * gpreempt_account_interrupted() - a hardware pass took a queue off: for a moment, or it stays off,
 * of which gpreempt_account_moved() tells next
 * @q: the queue
 * @from_ns: when the device was asked: waves stop at once
 * @until_ns: when it was back, or was known to have left
 */
void gpreempt_account_interrupted(struct gpreempt_policy_queue *q, u64 from_ns, u64 until_ns)
{
	struct gpreempt_account *a = &q->time;

	from_ns = gpreempt_later(from_ns, a->since_ns);
	if (until_ns > from_ns)
		a->lost_ns = gpreempt_earlier(a->lost_ns + until_ns - from_ns, ~0U);
}

/**
 * gpreempt_account_made_room() - a hardware pass has made room for a queue whose work has just come
 * @q: the queue; nothing is done to another one
 * @until_ns: when it could begin. It has waited until then
 */
void gpreempt_account_made_room(struct gpreempt_policy_queue *q, u64 until_ns)
{
	struct gpreempt_account *a = &q->time;

	if (!a->came)
		return;
	a->came = false;
	a->lost_ns = until_ns > a->since_ns ? gpreempt_earlier(until_ns - a->since_ns, ~0U) : 0;
}

/**
 * gpreempt_account_end() - a queue has ended
 * @q: the queue; nothing else has to do with it any more
 * @now_ns: when
 */
void gpreempt_account_end(struct gpreempt_policy_queue *q, u64 now_ns)
{
	struct gpreempt_account *a = &q->time;
	bool doubtful = a->state == GPREEMPT_ACCOUNT_RUNS && !q->seen.pending;

	account_enter(a, GPREEMPT_ACCOUNT_IDLE,
		      doubtful ? account_change(a, a->part, now_ns) : now_ns, now_ns);
	account_waves_until(a, 0);
}

static u64 account_random(struct gpreempt_account_node *node, u64 below_ns)
{
	node->random = node->random * 1664525 + 1013904223;
	return below_ns / 256 * (node->random >> 24);
}

static u64 account_least(const struct gpreempt_account_node *node)
{
	return gpreempt_later(GPREEMPT_ACCOUNT_LOOK_MIN_NS,
			     GPREEMPT_ACCOUNT_COST_SHARE * node->read_cost_ns);
}

/*
 * A part of the time for which nothing has changed. What the look finds that is made now has no
 * part in it: what is found more often would count for more.
 */
static u64 account_gap(const struct gpreempt_account_node *node, u64 now_ns)
{
	u64 least_ns = account_least(node);
	u64 most_ns = gpreempt_later(least_ns, node->nr_open ? GPREEMPT_ACCOUNT_LOOK_MAX_NS :
							      GPREEMPT_ACCOUNT_QUIET_MAX_NS);
	u64 gap_ns = (now_ns - node->changed_ns) / GPREEMPT_ACCOUNT_LOOK_SHARE;

	return gpreempt_earlier(gpreempt_later(gap_ns, least_ns), most_ns);
}

/**
 * gpreempt_account_due() - is it time to look for the account?
 * @pn: the node, sampled
 * @now_ns: time of the samples
 *
 * Return: true if so: gpreempt_account_look() is to be called
 */
bool gpreempt_account_due(const struct gpreempt_policy_node *pn, u64 now_ns)
{
	return now_ns >= pn->account.due_ns;
}

/**
 * gpreempt_account_wants_waves() - are waves to be read before that?
 * @pn: the node, sampled
 *
 * Return: true if some queue on the device works, or has launched since the last look, and waves
 * can be read at all
 */
bool gpreempt_account_wants_waves(const struct gpreempt_policy_node *pn)
{
	u32 i;

	for (i = 0; pn->account.tells && i < pn->nr; i++) {
		const struct gpreempt_policy_queue *q = pn->queues[i];
		bool works = q->time.state == GPREEMPT_ACCOUNT_RUNS || q->seen.pending ||
			     (q->seen.used && q->seen.launched_ns > pn->account.look_ns);

		if (!q->preempted && !q->seen.driver_off && (works || q->set.unseen))
			return true;
	}
	return false;
}

/* Of a look that is due, what the first one after an exact time tells of the end */
static u32 account_part(const struct gpreempt_account_node *node, u64 after_ns)
{
	return after_ns < node->gap_ns ?
		       ACCOUNT_WHOLE - 1 - after_ns * (ACCOUNT_WHOLE - 1) / node->gap_ns :
		       0;
}

/* When it began to run, if passes came so close to each other that they saw it; 0: they did not */
static u64 account_seen_to_begin(const struct gpreempt_account_node *node,
				 const struct gpreempt_policy_queue *q, u64 now_ns)
{
	return q->seen.run_ns > node->close_ns && q->seen.run_ns > account_sure(&q->time) &&
			       q->seen.run_ns <= now_ns ?
		       q->seen.run_ns :
		       0;
}

static void account_turns(const struct gpreempt_account_node *node,
			  struct gpreempt_policy_queue *q, enum gpreempt_account_state state,
			  bool due, u64 now_ns)
{
	struct gpreempt_account *a = &q->time;
	u32 part = a->began && due ? 0 : due ? a->part : ACCOUNT_HALF;
	u64 at_ns = 0;

	if (due && a->told) {
		at_ns = gpreempt_earlier(account_sure(a) + a->span_ns, now_ns);
		account_enter(a, state, at_ns, now_ns);
		return;
	}
	if (a->state == GPREEMPT_ACCOUNT_IDLE)
		at_ns = account_seen_to_begin(node, q, now_ns);
	else if (!due && a->state == GPREEMPT_ACCOUNT_RUNS && q->seen.active_ns < now_ns)
		a->sure_ns = gpreempt_later(a->sure_ns, q->seen.active_ns);
	account_enter(a, state, at_ns ? at_ns : account_change(a, part, now_ns), now_ns);
	if (at_ns && due)
		a->part = account_part(node, now_ns - at_ns);
}

/*
 * A look whose time is random stands for the whole gap in which it was drawn. The first one after a
 * time until which all is known (a beginning, or a look for a decision) comes at a random time of
 * that gap. If it finds the work ended, what followed counts for nothing. If it finds it, then what
 * is left of the gap counts when it has ended: that part of the gap in which the end is found. So
 * works count for what they took, on average, also those that are shorter than a gap.
 *
 * Looks for decisions are no random ones. They follow each other closely, and what changes between
 * two of them did in the middle.
 */
static void account_takes_in(const struct gpreempt_account_node *node,
			     struct gpreempt_policy_queue *q, enum gpreempt_account_state state,
			     bool due, u64 now_ns)
{
	struct gpreempt_account *a = &q->time;
	u64 until_ns;

	/* To look at work that has just begun tells nothing. */
	if (a->told && a->sure_ns == now_ns)
		return;
	if (state != a->state) {
		account_turns(node, q, state, due, now_ns);
		a->began = !due && state == GPREEMPT_ACCOUNT_RUNS;
		return;
	}
	if (!due)
		a->part = ACCOUNT_HALF;
	else if (a->began)
		a->part = account_part(node, now_ns - a->since_ns);
	until_ns = due ? node->span_ns : account_sure(a) + a->span_ns;
	account_close(a, now_ns);
	a->sure_ns = now_ns;
	a->began = !due && state == GPREEMPT_ACCOUNT_RUNS;
	if (a->told)
		a->span_ns = until_ns > now_ns ? until_ns - now_ns : 0;
}

static void account_look_at(struct gpreempt_policy_node *pn, struct gpreempt_policy_queue *q,
			    bool due, u64 now_ns)
{
	enum gpreempt_account_state state = account_state_of(pn, q, now_ns);
	struct gpreempt_account_node *node = &pn->account;
	struct gpreempt_account *a = &q->time;
	bool on = !q->preempted && !q->seen.driver_off;

	/* One that was dormant at the last look did not work. */
	if (a->state == GPREEMPT_ACCOUNT_IDLE)
		a->sure_ns = gpreempt_later(a->sure_ns, node->look_ns);
	if (state != GPREEMPT_ACCOUNT_IDLE ||
	    (q->seen.used && q->seen.launched_ns > node->look_ns))
		node->worked_ns = now_ns;
	if (state != a->state || a->since_ns > node->look_ns)
		node->changed_ns = now_ns;
	node->nr_open += state != GPREEMPT_ACCOUNT_IDLE;
	node->nr_busy += state == GPREEMPT_ACCOUNT_RUNS;
	account_takes_in(node, q, state, due, now_ns);
	if (on)
		account_waves_until(a, q->seen.waves_ns == now_ns ? q->seen.waves : 0);
}

/*
 * A span begins, and the next look is at a random time of it. Longer ones follow as long as work
 * goes on of which a doorbell told. Each that is found with work counts as a whole, whenever in it
 * the look came.
 */
static void account_begin_span(struct gpreempt_account_node *node, u64 from_ns, u64 ns)
{
	node->gap_ns = ns;
	node->span_ns = from_ns + ns;
	node->due_ns = from_ns + account_random(node, ns);
}

/* A doorbell told of work. Were each to begin a span, the looks for others could be put off. */
static void account_look_soon(struct gpreempt_account_node *node, u64 now_ns)
{
	u64 least_ns = account_least(node), due_ns = node->due_ns;
	bool waits = now_ns - node->look_ns > GPREEMPT_ACCOUNT_LOOK_MAX_NS && due_ns > now_ns;

	node->told_ns = now_ns;
	account_begin_span(node, now_ns,
			   node->paid_ns > now_ns ? least_ns : GPREEMPT_ACCOUNT_SPAN_MIN_NS);
	if (waits && node->nr_busy)
		node->due_ns = gpreempt_earlier(node->due_ns, due_ns);
}

/* The next look. @spans: work goes on of which a doorbell told. */
static void account_plan(struct gpreempt_account_node *node, bool spans, u64 gap_ns, u64 now_ns)
{
	u64 from_ns = gpreempt_later(node->span_ns, now_ns), span_ns;

	node->paid_ns = account_least(node) +
			gpreempt_later(node->paid_ns,
				       now_ns - gpreempt_earlier(now_ns, GPREEMPT_ACCOUNT_SAVED_NS));
	span_ns = (from_ns - node->told_ns) / GPREEMPT_ACCOUNT_SPAN_SHARE;
	if (spans) {
		span_ns = gpreempt_later(span_ns, node->gap_ns);
		account_begin_span(node, from_ns, gpreempt_earlier(span_ns, gap_ns));
		return;
	}
	node->span_ns = 0;
	node->gap_ns = gap_ns;
	node->due_ns = now_ns + gap_ns - gap_ns / 4 + account_random(node, gap_ns / 2);
}

/**
 * gpreempt_account_look() - take in what queues do
 * @pn: the node, sampled; if it wants waves, they have been read
 * @now_ns: time of the samples
 *
 * Walks all sampled queues; dormant ones do not work. If a look is due and waves could not be read
 * this time, it is not called, and the look stays due. It may be called as well when no look is due
 * and waves were read for a decision.
 */
void gpreempt_account_look(struct gpreempt_policy_node *pn, u64 now_ns)
{
	struct gpreempt_account_node *node = &pn->account;
	bool due = gpreempt_account_due(pn, now_ns);
	u64 gap_ns = node->due_ns ? account_gap(node, now_ns) : account_least(node);
	u32 i, was_busy = node->nr_busy;
	bool spans = false;

	node->nr_busy = 0;
	node->nr_open = 0;
	for (i = 0; i < pn->nr; i++) {
		account_look_at(pn, pn->queues[i], due, now_ns);
		spans |= pn->queues[i]->time.told;
	}
	if (was_busy && node->nr_busy)
		node->used_ns += now_ns - node->look_ns;
	else if (was_busy || node->nr_busy)
		node->used_ns += (now_ns - node->look_ns) / 2;
	node->look_ns = now_ns;
	if (due)
		account_plan(node, spans, gap_ns, now_ns);
}

/* Queues that were idle and have work. Returns how many. */
static u32 account_came(struct gpreempt_policy_node *pn, u64 at_ns, bool makes_room, u64 now_ns)
{
	u32 i, nr = 0;

	for (i = 0; i < pn->nr; i++) {
		struct gpreempt_policy_queue *q = pn->queues[i];
		struct gpreempt_account *a = &q->time;

		if (a->state != GPREEMPT_ACCOUNT_IDLE || at_ns < account_sure(a) || q->preempted ||
		    q->seen.driver_off || (!q->seen.pending && q->seen.launched_ns != now_ns))
			continue;
		account_enter(a, GPREEMPT_ACCOUNT_RUNS, at_ns, now_ns);
		a->told = true;
		a->came = makes_room;
		pn->account.changed_ns = now_ns;
		pn->account.worked_ns = now_ns;
		nr++;
	}
	pn->account.nr_open += nr;
	return nr;
}

/* Room has been made for work of which a doorbell told: it begins now. */
static void account_begins(struct gpreempt_policy_node *pn, u64 now_ns)
{
	u32 i;

	for (i = 0; i < pn->nr; i++) {
		struct gpreempt_account *a = &pn->queues[i]->time;

		if (a->told && !a->span_ns)
			a->sure_ns = now_ns;
	}
	pn->account.made_room = false;
	account_look_soon(&pn->account, now_ns);
}

/**
 * gpreempt_account_decided() - a pass has decided: did a doorbell tell of work?
 * @pn: the node
 * @told_ns: when a doorbell told of work that the pass takes in; 0: none did
 * @makes_room: the pass takes others off the device
 * @now_ns: time of the samples
 *
 * Comes before it is asked whether a look is due: to look at work that has just begun tells
 * nothing.
 */
void gpreempt_account_decided(struct gpreempt_policy_node *pn, u64 told_ns, bool makes_room,
			      u64 now_ns)
{
	struct gpreempt_account_node *node = &pn->account;

	if (now_ns - node->pass_ns > GPREEMPT_ACCOUNT_CLOSE_NS)
		node->close_ns = now_ns;
	node->pass_ns = now_ns;
	if (node->made_room)
		account_begins(pn, now_ns);
	/* What no doorbell told of is for looks to find. */
	if (told_ns && account_came(pn, told_ns, makes_room, now_ns)) {
		account_look_soon(node, now_ns);
		node->made_room = makes_room;
	}
}

/**
 * gpreempt_account_stop() - nothing runs from now on that will be looked at: the node is paused,
 * gave up, or is switched off
 * @pn: the node, with all its queues
 * @now_ns: when
 *
 * The first pass after that looks anew.
 */
void gpreempt_account_stop(struct gpreempt_policy_node *pn, u64 now_ns)
{
	u32 i;

	for (i = 0; i < pn->nr + pn->nr_dormant; i++) {
		struct gpreempt_account *a = &pn->queues[i]->time;

		/* What the next look finds has begun then. */
		account_enter(a, GPREEMPT_ACCOUNT_IDLE, now_ns, GPREEMPT_FOREVER_NS);
		account_waves_until(a, 0);
	}
	if (pn->account.nr_busy)
		pn->account.used_ns += now_ns - pn->account.look_ns;
	pn->account.nr_busy = 0;
	pn->account.nr_open = 0;
	pn->account.due_ns = 0;
}

/**
 * gpreempt_account_nap() - how long may the node sleep, as far as the account is concerned?
 * @pn: the node
 * @told: a doorbell tells of whatever work comes
 * @now_ns: now
 *
 * Return: nanoseconds; ~0: for ever
 */
u64 gpreempt_account_nap(const struct gpreempt_policy_node *pn, bool told, u64 now_ns)
{
	const struct gpreempt_account_node *node = &pn->account;

	if (!(pn->nr + pn->nr_dormant))
		return GPREEMPT_FOREVER_NS;
	if (!node->nr_open &&
	    (told || !node->worked_ns || now_ns - node->worked_ns > GPREEMPT_ACCOUNT_SILENCE_NS))
		return GPREEMPT_FOREVER_NS;
	/* One that is due still could not read waves. */
	return node->due_ns > now_ns ? node->due_ns - now_ns : GPREEMPT_ACCOUNT_RETRY_NS;
}
