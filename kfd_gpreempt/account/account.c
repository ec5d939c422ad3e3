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
 * * Everything else is found by looks, which read waves as well. Between them the account goes on
 *   with what is known. A look that finds something else bills for as much time as looks are apart
 *   on average, and takes as much back of what counted instead. Distances are random and
 *   exponential: at each moment a look is as likely as at any other, whenever the last one was. So
 *   the account is right on average whatever a program does, even one that sees each look and all
 *   counters at once. What has counted too much is taken from what comes next: no counter becomes
 *   less.
 * * Looks are 5 ms apart on average while what queues do changes, and up to 50 ms while it stays
 *   the same. What never changes is exact. A single change is off by about that much, to either
 *   side alike, and errors of many changes cancel out.
 * * After a doorbell they are half a millisecond apart, and then half of the time for which the
 *   work has run. Thousands of requests of 0.3 ms are right within 3 %, of 2 ms and more within
 *   1 %. The time that the device takes to see the doorbell is busy time.
 * * Kernels that are shorter than that, and that no doorbell told of, are a sample. A queue that
 *   has worked in them for 20 s of a minute or more is off by less than 2 % in two of three cases.
 *   For a hundred minutes it is a tenth of that. Of longer kernels it is less.
 * * Passes that read waves to decide correct what is known from then on, and bill nothing: they
 *   come at some moments more often than at others, and programs know when.
 * * The moment between two kernels of a queue that is never without work is busy time.
 * * Waves are read for a 200th of the time at most, but for the first looks at some requests.
 * * While no queue works the node is looked at every 50 ms on average, or not at all if doorbells
 *   tell of all work.
 * * Where waves cannot be read a launch counts for 2 ms.
 *
 * It does not depend on the policy, nor on whether the node acts or only observes. Shares (share.c)
 * count something else, from pass to pass: for how long a group had its turn, with gaps between its
 * kernels, and only while groups compete. So neither uses the other.
 */

#include "core/demand.h"
#include "core/pass.h"
#include "account.h"

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

static u32 account_sum(u32 a_ns, u64 b_ns)
{
	return gpreempt_earlier(a_ns + b_ns, ~0U);
}

/* What comes pays first for what counted too much. Returns what is left of it. */
static u64 account_pay(u32 *owes_ns, u64 ns)
{
	u64 paid_ns = gpreempt_earlier(ns, *owes_ns);

	*owes_ns -= paid_ns;
	return ns - paid_ns;
}

static void account_count(struct gpreempt_account *a, enum gpreempt_account_state state, u64 ns)
{
	if (state == GPREEMPT_ACCOUNT_RUNS) {
		ns = account_pay(&a->owes_busy_ns, ns);
		a->busy_ns += ns;
		a->ran_ns = account_sum(a->ran_ns, ns);
	} else if (state == GPREEMPT_ACCOUNT_WAITS) {
		a->waiting_ns += account_pay(&a->owes_waiting_ns, ns);
	}
}

static void account_uncount(struct gpreempt_account *a, enum gpreempt_account_state state, u64 ns)
{
	if (state == GPREEMPT_ACCOUNT_RUNS)
		a->owes_busy_ns = account_sum(a->owes_busy_ns, ns);
	else if (state == GPREEMPT_ACCOUNT_WAITS)
		a->owes_waiting_ns = account_sum(a->owes_waiting_ns, ns);
}

/* It has been so until then, as far as it is not accounted. */
static void account_until(struct gpreempt_account *a, enum gpreempt_account_state state, u64 at_ns)
{
	if (at_ns <= a->since_ns)
		return;
	account_count(a, state, at_ns - a->since_ns);
	a->since_ns = at_ns;
}

static void account_enter(struct gpreempt_account *a, enum gpreempt_account_state state, u64 at_ns,
			  u64 now_ns)
{
	account_until(a, a->state, at_ns);
	a->state = state;
	a->sure_ns = now_ns;
	a->came = false;
	a->told = false;
}

/* Waves that were last read have run for as long as the queue has since. */
static void account_waves_until(struct gpreempt_account *a, u32 waves)
{
	u64 mean = a->waves && waves ? ((u64)a->waves + waves) / 2 : a->waves + waves;

	a->wave_us += mean * a->ran_ns / 1000;
	a->ran_ns = 0;
	a->waves = gpreempt_earlier(waves, 0xffff);
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

static void account_moved(struct gpreempt_policy_queue *q, bool ran, u64 now_ns)
{
	enum gpreempt_account_state state = GPREEMPT_ACCOUNT_IDLE;

	if (q->time.stopped)
		return;
	if (q->seen.pending || ran)
		state = q->preempted ? GPREEMPT_ACCOUNT_WAITS : GPREEMPT_ACCOUNT_RUNS;
	account_enter(&q->time, state, now_ns, now_ns);
	account_waves_until(&q->time, 0);
}

/**
 * gpreempt_account_interrupted() - a hardware pass took a queue off: for a moment, or it stays off,
 * of which account_moved() tells next
 * @q: the queue
 * @from_ns: when the device was asked: waves stop at once
 * @until_ns: when it was back, or was known to have left
 */
void gpreempt_account_interrupted(struct gpreempt_policy_queue *q, u64 from_ns, u64 until_ns)
{
	struct gpreempt_account *a = &q->time;
	u64 since_ns = gpreempt_earlier(a->sure_ns, a->since_ns);

	from_ns = gpreempt_later(from_ns, since_ns);
	if (a->state != GPREEMPT_ACCOUNT_RUNS || until_ns <= from_ns)
		return;
	account_uncount(a, GPREEMPT_ACCOUNT_RUNS, until_ns - from_ns);
	account_count(a, GPREEMPT_ACCOUNT_WAITS, until_ns - from_ns);
}

/**
 * gpreempt_account_made_room() - new work of a queue has room: a hardware pass took others off
 * @q: the queue; if it has no new work, nothing is done
 * @until_ns: when the work could begin. The queue has waited until then
 */
void gpreempt_account_made_room(struct gpreempt_policy_queue *q, u64 until_ns)
{
	struct gpreempt_account *a = &q->time;

	if (!a->came)
		return;
	a->came = false;
	account_until(a, GPREEMPT_ACCOUNT_WAITS, until_ns);
}

/**
 * gpreempt_account_end() - a queue has ended
 * @q: the queue; nothing else has to do with it any more
 * @now_ns: when
 *
 * Nothing comes that could pay for what counted too much: its counters become less by that.
 */
void gpreempt_account_end(struct gpreempt_policy_queue *q, u64 now_ns)
{
	struct gpreempt_account *a = &q->time;

	account_enter(a, GPREEMPT_ACCOUNT_IDLE, now_ns, now_ns);
	account_waves_until(a, 0);
	a->busy_ns -= gpreempt_earlier(a->busy_ns, a->owes_busy_ns);
	a->waiting_ns -= gpreempt_earlier(a->waiting_ns, a->owes_waiting_ns);
	a->owes_busy_ns = 0;
	a->owes_waiting_ns = 0;
}

/*
 * Exponentially distributed. A row of numbers, each less than the one before it, has an odd length
 * with a probability of exp(-first): then it is the first one. Otherwise it is one mean more.
 */
static u64 account_random(const struct gpreempt_account_node *node, u64 mean_ns)
{
	u32 first, last, next, nr;
	u64 ns = 0;

	for (;; ns += mean_ns) {
		first = node->random();
		next = first;
		nr = 0;
		do {
			last = next;
			next = node->random();
			nr++;
		} while (next < last);
		if (nr & 1)
			return ns + (mean_ns * (first >> 16) >> 16);
	}
}

static u64 account_least(const struct gpreempt_account_node *node)
{
	return gpreempt_later(GPREEMPT_ACCOUNT_LOOK_MIN_NS,
			     GPREEMPT_ACCOUNT_COST_SHARE * node->read_cost_ns);
}

/*
 * How far are looks apart on average? By what is known now, and a program may know as well. @told:
 * work goes on of which a doorbell told.
 */
static u64 account_gap(const struct gpreempt_account_node *node, bool told, u64 now_ns)
{
	u64 least_ns = account_least(node), most_ns, gap_ns;

	most_ns = gpreempt_later(least_ns, GPREEMPT_ACCOUNT_LOOK_MAX_NS);
	gap_ns = (now_ns - node->changed_ns) / GPREEMPT_ACCOUNT_LOOK_SHARE;
	gap_ns = gpreempt_earlier(gpreempt_later(gap_ns, least_ns), most_ns);
	if (!told || node->paid_ns > now_ns)
		return gap_ns;
	return gpreempt_earlier(gap_ns,
				gpreempt_later((now_ns - node->told_ns) / GPREEMPT_ACCOUNT_TOLD_SHARE,
					       GPREEMPT_ACCOUNT_TOLD_MIN_NS));
}

/* From now on looks are so far apart. It does not matter when the last one was. */
static void account_plan(struct gpreempt_account_node *node, u64 gap_ns, u64 now_ns)
{
	node->gap_ns = gap_ns;
	node->due_ns = now_ns + account_random(node, gap_ns);
}

/* One that is due is not put off, or programs could put off each. */
static void account_plan_anew(struct gpreempt_account_node *node, u64 gap_ns, u64 now_ns)
{
	if (now_ns < node->due_ns || now_ns - node->due_ns > node->gap_ns)
		account_plan(node, gap_ns, now_ns);
}

static bool account_due(const struct gpreempt_policy_node *pn, u64 now_ns)
{
	return now_ns >= pn->account.due_ns;
}

/*
 * Are waves to be read before a look? If some queue on the device works, or has launched since the
 * last one, and waves can be read at all.
 */
static bool account_wants_waves(const struct gpreempt_policy_node *pn)
{
	u32 i;

	for (i = 0; pn->account.tells && i < pn->nr; i++) {
		const struct gpreempt_policy_queue *q = pn->queues[i];
		bool works = q->time.state == GPREEMPT_ACCOUNT_RUNS || q->seen.pending ||
			     (q->seen.used && q->seen.launched_ns >= pn->account.look_ns);

		if (!q->preempted && !q->seen.driver_off && (works || q->set.unseen))
			return true;
	}
	return false;
}

/*
 * How much of the time does a look stand for? For as much as passes from one to the next on
 * average. One that comes very late is no random one: half of the time for which nothing is known.
 */
static u64 account_stands_for(const struct gpreempt_account_node *node,
			      const struct gpreempt_account *a, u64 now_ns)
{
	u64 sure_ns = gpreempt_later(a->since_ns, a->sure_ns), late_ns = now_ns - node->due_ns;

	if (late_ns <= node->gap_ns)
		return node->gap_ns + late_ns;
	return sure_ns < now_ns ?
		       gpreempt_earlier(now_ns - sure_ns, GPREEMPT_ACCOUNT_UNKNOWN_NS) / 2 : 0;
}

/*
 * Until now the account went on with what was known before. If it is something else, the look pays
 * for that: @ns, or nothing if it came for a decision.
 */
static void account_finds(struct gpreempt_account *a, enum gpreempt_account_state state, u64 ns,
			  u64 now_ns)
{
	account_until(a, a->state, now_ns);
	if (state != a->state && !a->stopped) {
		account_uncount(a, a->state, ns);
		account_count(a, state, ns);
	}
	a->state = state;
	a->sure_ns = now_ns;
	a->stopped = false;
	a->told = a->told && state != GPREEMPT_ACCOUNT_IDLE;
}

static void account_take_in(struct gpreempt_policy_node *pn, struct gpreempt_policy_queue *q,
			    bool due, u64 now_ns)
{
	enum gpreempt_account_state state = account_state_of(pn, q, now_ns);
	struct gpreempt_account_node *node = &pn->account;
	struct gpreempt_account *a = &q->time;

	/* One that was dormant at the last look did not work. */
	if (a->state == GPREEMPT_ACCOUNT_IDLE)
		a->sure_ns = gpreempt_later(a->sure_ns, node->look_ns);
	if (state != a->state || a->sure_ns > node->look_ns)
		node->changed_ns = now_ns;
	node->nr_open += state != GPREEMPT_ACCOUNT_IDLE;
	account_finds(a, state, due ? account_stands_for(node, a, now_ns) : 0, now_ns);
	if (!q->preempted && !q->seen.driver_off)
		account_waves_until(a, q->seen.waves_ns == now_ns ? q->seen.waves : 0);
}

/* A doorbell told of work. */
static void account_look_soon(struct gpreempt_account_node *node, u64 now_ns)
{
	node->told_ns = now_ns;
	account_plan_anew(node, account_gap(node, true, now_ns), now_ns);
}

/**
 * gpreempt_account_expect() - queues have come, which may soon have work
 * @pn: the node
 * @now_ns: time of the samples
 */
void gpreempt_account_expect(struct gpreempt_policy_node *pn, u64 now_ns)
{
	struct gpreempt_account_node *node = &pn->account;

	node->changed_ns = now_ns;
	if (node->gap_ns > account_least(node))
		account_plan_anew(node, account_least(node), now_ns);
}

/**
 * gpreempt_account_passed() - a hardware pass is over: what ran meanwhile is known otherwise
 * @pn: the node
 * @took_ns: for how long the device was busy with it
 * @now_ns: when it ended
 *
 * A look that became due in it would find what the pass has changed.
 */
void gpreempt_account_passed(struct gpreempt_policy_node *pn, u64 took_ns, u64 now_ns)
{
	struct gpreempt_account_node *node = &pn->account;

	if (node->due_ns <= now_ns && now_ns - node->due_ns < took_ns)
		account_plan(node, node->gap_ns, now_ns);
}

/**
 * gpreempt_account_look() - take in what queues do
 * @pn: the node, sampled; if it wants waves, they have been read
 * @asked: waves were read because a decision asked for them
 * @now_ns: time of the samples
 *
 * Walks all sampled queues; dormant ones do not work. If a look is due and waves could not be read
 * this time, it is not called, and the look stays due. It is called as well when no look is due,
 * and a decision asked.
 */
void gpreempt_account_look(struct gpreempt_policy_node *pn, bool asked, u64 now_ns)
{
	struct gpreempt_account_node *node = &pn->account;
	bool due = account_due(pn, now_ns), told = false, busy = false;
	u32 i;

	if (!due && !asked)
		return;
	node->nr_open = 0;
	for (i = 0; i < pn->nr; i++) {
		account_take_in(pn, pn->queues[i], due, now_ns);
		told |= pn->queues[i]->time.told;
		busy |= pn->queues[i]->time.state == GPREEMPT_ACCOUNT_RUNS;
	}
	account_finds(&node->any, busy ? GPREEMPT_ACCOUNT_RUNS : GPREEMPT_ACCOUNT_IDLE,
		      due ? account_stands_for(node, &node->any, now_ns) : 0, now_ns);
	node->look_ns = now_ns;
	if (!due)
		return;
	node->paid_ns = account_least(node) +
			gpreempt_later(node->paid_ns,
				       now_ns - gpreempt_earlier(now_ns, GPREEMPT_ACCOUNT_SAVED_NS));
	account_plan(node, account_gap(node, told, now_ns), now_ns);
}

/* Queues that were idle and have work. Returns how many. */
static u32 account_came(struct gpreempt_policy_node *pn, u64 at_ns, bool makes_room, u64 now_ns)
{
	u32 i, nr = 0;

	for (i = 0; i < pn->nr; i++) {
		struct gpreempt_policy_queue *q = pn->queues[i];
		struct gpreempt_account *a = &q->time;

		if (a->state != GPREEMPT_ACCOUNT_IDLE || at_ns < a->sure_ns || a->stopped ||
		    q->preempted || q->seen.driver_off ||
		    (!q->seen.pending && q->seen.launched_ns != now_ns))
			continue;
		account_enter(a, GPREEMPT_ACCOUNT_RUNS, at_ns, now_ns);
		a->told = true;
		a->came = makes_room;
		pn->account.changed_ns = now_ns;
		nr++;
	}
	if (nr && pn->account.any.state == GPREEMPT_ACCOUNT_IDLE)
		account_enter(&pn->account.any, GPREEMPT_ACCOUNT_RUNS, at_ns, now_ns);
	pn->account.nr_open += nr;
	return nr;
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

	/* Work begins when room has been made for it. */
	if (node->made_room)
		account_look_soon(node, now_ns);
	node->made_room = false;
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
	struct gpreempt_account_node *node = &pn->account;
	u32 i;

	for (i = 0; i < pn->nr + pn->nr_dormant; i++) {
		struct gpreempt_account *a = &pn->queues[i]->time;

		/* What the next look finds has begun then. */
		account_enter(a, GPREEMPT_ACCOUNT_IDLE, now_ns, now_ns);
		a->stopped = true;
		account_waves_until(a, 0);
	}
	account_enter(&node->any, GPREEMPT_ACCOUNT_IDLE, now_ns, now_ns);
	node->any.stopped = true;
	node->nr_open = 0;
	node->due_ns = 0;
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

	if (!(pn->nr + pn->nr_dormant) || (told && !node->nr_open))
		return GPREEMPT_FOREVER_NS;
	/* One that is due still could not read waves. */
	return node->due_ns > now_ns ? node->due_ns - now_ns : GPREEMPT_ACCOUNT_RETRY_NS;
}

static bool account_welcomes_waves(const struct gpreempt_policy_node *pn, u64 now_ns)
{
	return account_due(pn, now_ns) && account_wants_waves(pn);
}

/*
 * Looks for the account, if that is due, or costs no reading of waves. If waves cannot be read it
 * stays due.
 */
static void account_pass(struct gpreempt_policy_node *pn, const struct gpreempt_pass *pass)
{
	bool due;

	gpreempt_account_decided(pn, pass->told_ns, pass->decision.nr_preempt, pass->now_ns);
	due = account_due(pn, pass->now_ns);
	if (pass->read ? !due && !pass->needs_waves : !due || account_wants_waves(pn))
		return;
	if (pass->read)
		pn->account.read_cost_ns = pass->read_cost_ns;
	gpreempt_account_look(pn, pass->needs_waves, pass->now_ns);
}

const struct gpreempt_policy_accounts gpreempt_policy_account = {
	.welcomes_waves = account_welcomes_waves,
	.decided = account_pass,
	.moved = account_moved,
	.interrupted = gpreempt_account_interrupted,
	.made_room = gpreempt_account_made_room,
};
