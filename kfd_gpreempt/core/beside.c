// SPDX-License-Identifier: MIT
/*
 * beside.c - lower work that takes nothing from higher work
 *
 * Pure code: see policy.h for what may be used here.
 */

/**
 * DOC: beside
 *
 * Higher work that leaves most of the device free need not have it alone. Nothing in the device
 * tells whether a kernel is slowed by others, so this is measured: how many packets a process
 * launches in the time for which it works and no other one has its rank or a higher one.
 *
 * While no lower work is on the device, a process learns the mean time M between its launches
 * *alone*. The time of hardware passes does not count. A span of work, with its short gaps, is an
 * episode, and so is each part of it that is as long as 16 switches and 16 M. After 1023 episodes
 * and 64 launches lower work may stay *beside* it, or come back. From then on the process is late
 * by the time that passes, less 33/32 M for each launch. Late by 3 M, it has lower work taken off
 * at once, and is alone for another 1023 episodes. The same happens if its work is not known to
 * have begun ``gpreempt_drain_us`` after it came: no waves were seen, and only one packet was read.
 * After 1024 launches beside lower work it learns anew.
 *
 * So lower work costs it 1/32 of its speed at most, and 3 M and a switch in one of 1024 episodes:
 * less than 1/1000 of work that never pauses.
 *
 * Counters do not show waves that wait for slots. If none were seen of the last launch of an
 * episode, either its kernel was short, or it waits for slots that lower work keeps. When nothing
 * has followed for 64 times as long as the episode and a short gap take, a runlist tells: it saves
 * waves that wait as well.
 *
 * Lower work beside it that gets no slots is owed them like work that is off the device.
 * If a process gets none for as long as a turn, the one above has the device alone again: then the
 * other one has its turns as ever.
 *
 * Kernels of a second and more launch too little to be measured like that. While such a kernel has
 * the device alone, its waves are counted. From its second on lower work may come beside it, and
 * stays for as long as none of these waves is missing, no packet comes, the lower work gets slots,
 * and the kernel takes 33/32 of the shortest one before it at most. The first one has to end alone,
 * or to last for 64 seconds, after which it is taken for endless. After a mistake the next trial
 * waits for a second, and for twice as long after each further one. So long kernels lose 1/32 of
 * their speed at most. One that never ends keeps its slots; that others use the same memory is not
 * seen.
 *
 * This is for a process that is alone at the highest rank, under ``hpf``, where counters show waves
 * and firmware takes no turns. Jobs and shares exclude it: a job is as slow as its slowest node,
 * and a group is charged for all of the device. With ``gpreempt_drain_us=0`` higher work has the
 * device alone: it waits for nothing then.
 */
#include "beside.h"
#include "debt.h"
#include "demand.h"

/* So many launches tell what one takes: the time of the last one may be missing. */
#define BESIDE_LEARNT		64
/*
 * One episode of so many is a trial, the first one as well as each after a failure: p99 is of
 * others. What so many launches tell beside others is learnt anew: work may have changed.
 */
#define BESIDE_MOST		1024
#define BESIDE_EPISODES		(BESIDE_MOST - 1)
/* It may be slower by this part beside lower work: looks can hardly tell less. */
#define BESIDE_SLOWER_SHARE	32
/*
 * Work that lasts for so many switches and launches is another episode: bringing lower work back
 * costs a switch, and what it is late by is a number of launches.
 */
#define BESIDE_EPISODE		16
/* It may be late by so many of its launches: fewer are within what looks can tell of short ones. */
#define BESIDE_LATE		3
/* What lasts for so many times as long as what came before it does not end by itself. */
#define BESIDE_ENDLESS		64
/*
 * A packet is read before its kernel finds room, and the next one when it has found it: so many
 * launches show that the first has begun.
 */
#define BESIDE_BEGUN		2

/* Can it be measured, and is it one process that matters? */
static bool beside_possible(const struct gpreempt_policy_node *pn)
{
	const struct gpreempt_policy_job *job;

	for (job = pn->jobs; job; job = job->next)
		if (job->gang)
			return false;
	return pn->ops->ages && pn->waves_seen && pn->device.waves_known &&
	       !pn->device.waves_saved && !pn->device.turns_ns && !pn->nr_entities &&
	       !pn->params.observe && pn->params.drain_ns;
}

/* Was it first at the last decision? */
static bool beside_goes_on(const struct gpreempt_policy_node *pn,
			   const struct gpreempt_policy_process *p)
{
	return pn->beside_ns && p->beside.at_ns == pn->beside_ns;
}

/* It has paused for a short time at most: what it does is the same work. Debts are up to date. */
static bool beside_continues(const struct gpreempt_policy_node *pn,
			     const struct gpreempt_policy_process *p)
{
	u64 at_ns = p->beside.at_ns;

	return beside_goes_on(pn, p) ||
	       (at_ns && pn->debts_ns - at_ns <= demand_short_gap_ns(pn));
}

static bool beside_may_begin(const struct gpreempt_policy_beside *b)
{
	return b->episodes >= BESIDE_EPISODES && b->alone_launches >= BESIDE_LEARNT &&
	       b->launches < BESIDE_MOST;
}

/* Counts launches of an episode, up to as many as show that its work has begun. */
static void beside_shows(struct gpreempt_policy_beside *b, u32 launches)
{
	b->shows = gpreempt_earlier(b->shows + launches, BESIDE_BEGUN);
}

static void beside_begin(struct gpreempt_policy_beside *b, u32 launches, u64 now_ns)
{
	b->allowed = beside_may_begin(b);
	b->shows = 0;
	beside_shows(b, launches);
	b->since_ns = now_ns;
	b->episodes += !b->allowed && b->episodes < BESIDE_EPISODES;
	if (b->launches < BESIDE_MOST)
		return;
	b->launches = 0;
	b->alone_ns = 0;
	b->alone_launches = 0;
}

static u64 beside_mean_ns(const struct gpreempt_policy_beside *b)
{
	return b->alone_ns / gpreempt_later(b->alone_launches, 1);
}

static u64 beside_most_ns(const struct gpreempt_policy_beside *b)
{
	return BESIDE_LATE * beside_mean_ns(b);
}

/*
 * Lower work goes at this time unless higher work is known to have begun. Higher work that finds
 * room begins at once, so it waits no longer than it does for work that is about to end.
 */
static u64 beside_begins_ns(const struct gpreempt_policy_node *pn,
			    const struct gpreempt_policy_beside *b)
{
	return b->shows < BESIDE_BEGUN ? b->since_ns + pn->params.drain_ns : GPREEMPT_FOREVER_NS;
}

static void beside_learn_alone(struct gpreempt_policy_beside *b, u64 passed_ns, u32 launches)
{
	b->alone_ns += passed_ns;
	b->alone_launches += launches;
	if (b->alone_launches < BESIDE_MOST)
		return;
	b->alone_ns /= 2;
	b->alone_launches /= 2;
}

/* Has work below the device and no slots, as debts see it? */
static bool beside_lower_waits(const struct gpreempt_policy_node *pn,
			       const struct gpreempt_policy_beside *b)
{
	u32 i;

	for (i = 0; i < pn->nr; i++) {
		const struct gpreempt_policy_process *p = pn->queues[i]->process;

		if (&p->beside != b && !pn->queues[i]->preempted && p->wants && !p->ran)
			return true;
	}
	return false;
}

/* Has work below got no slots for as long as a turn? */
static bool beside_keeps_slots(const struct gpreempt_policy_node *pn,
			       struct gpreempt_policy_beside *b, u64 passed_ns)
{
	b->waits_ns = beside_lower_waits(pn, b) ? b->waits_ns + passed_ns : 0;
	return b->waits_ns >= gpreempt_debt_turn_ns(pn);
}

/* It is late, or so it seems: it has the device alone. */
static void beside_ends_trial(struct gpreempt_policy_beside *b)
{
	b->late_ns = 0;
	b->waits_ns = 0;
	b->episodes = 0;
	b->allowed = false;
}

/* Is its present kernel a long one that lower work may be tried beside? */
static bool beside_is_long(const struct gpreempt_policy_beside *b, u64 now_ns)
{
	u64 least_ns = GPREEMPT_LONG_KERNEL_NS * (b->least_ns ? 1 : BESIDE_ENDLESS);

	return b->kernel_ns >= least_ns && now_ns >= b->retry_ns;
}

/* Lower work took something from its kernel, or got no slots beside it. */
static void beside_ends_long_trial(struct gpreempt_policy_beside *b, u64 now_ns)
{
	b->long_allowed = false;
	b->waits_ns = 0;
	b->slots = 0;
	b->retry_ns = now_ns + demand_retry_ns(GPREEMPT_LONG_KERNEL_NS, b->mistakes,
					       GPREEMPT_LONG_KERNEL_NS * BESIDE_ENDLESS);
	b->mistakes += b->mistakes < 0xff;
}

/* A long kernel beside lower work: does it take longer than others had? */
static void beside_compare_long(const struct gpreempt_policy_node *pn,
				struct gpreempt_policy_beside *b, u64 passed_ns, u64 now_ns)
{
	u64 most_ns = b->least_ns + b->least_ns / BESIDE_SLOWER_SHARE;
	bool late = b->least_ns && b->kernel_ns > most_ns;

	b->long_shared = true;
	if (beside_keeps_slots(pn, b, passed_ns) || late)
		beside_ends_long_trial(b, now_ns);
}

/* What a process has launched, and what its busy queues have behind that */
static u64 beside_packets(const struct gpreempt_policy_node *pn,
			  const struct gpreempt_policy_process *p)
{
	const struct gpreempt_policy_queue *q;
	u64 packets = p->launches;

	for (q = pn->busy; q; q = q->pass.next_busy)
		packets += q->process == p ? q->seen.pending : 0;
	return packets;
}

/* Has it nothing but the long kernel that lower work may be beside, and what waited behind it? */
static bool beside_has_long_only(const struct gpreempt_policy_node *pn,
				 const struct gpreempt_policy_process *p)
{
	const struct gpreempt_policy_beside *b = &p->beside;

	return b->long_allowed && b->seen == p->launches && beside_packets(pn, p) == b->packets;
}

/* The waves of a long kernel are counted. Lower work may come, stays, or goes. */
static void beside_count_long(const struct gpreempt_policy_node *pn,
			      struct gpreempt_policy_process *p, u32 waves, u64 now_ns)
{
	struct gpreempt_policy_beside *b = &p->beside;

	b->counted_ns = now_ns;
	if (b->lower_runs) {
		if (b->long_allowed && waves < b->slots)
			beside_ends_long_trial(b, now_ns);
		return;
	}
	b->long_allowed = waves && waves == b->slots;
	b->slots = waves;
	b->packets = beside_packets(pn, p);
}

static void beside_compare(const struct gpreempt_policy_node *pn, struct gpreempt_policy_beside *b,
			   u64 passed_ns, u32 launches)
{
	u64 due_ns = launches * (beside_mean_ns(b) + beside_mean_ns(b) / BESIDE_SLOWER_SHARE);

	b->late_ns += passed_ns;
	b->late_ns -= gpreempt_earlier(b->late_ns, due_ns);
	b->launches += launches;
	beside_shows(b, launches);
	if (beside_keeps_slots(pn, b, passed_ns) || b->late_ns > beside_most_ns(b))
		beside_ends_trial(b);
}

static bool beside_others_run(const struct gpreempt_policy_node *pn,
			      const struct gpreempt_policy_process *p)
{
	u32 i;

	for (i = 0; i < pn->nr; i++)
		if (pn->queues[i]->process != p && pn->queues[i]->had_demand &&
		    !pn->queues[i]->preempted)
			return true;
	return false;
}

/*
 * Nothing has followed a launch for long: a runlist tells whether waves of it wait for slots. Lower
 * work leaves for that, and comes back if none do.
 */
static void beside_ask_the_silent(struct gpreempt_policy_node *pn, u64 now_ns)
{
	u32 i;

	for (i = 0; i < pn->nr; i++)
		if (now_ns >= gpreempt_beside_silent_until(pn->queues[i]->process) &&
		    beside_others_run(pn, pn->queues[i]->process))
			gpreempt_demand_doubt(pn->queues[i], now_ns);
	pn->silent_ns = GPREEMPT_FOREVER_NS;
	for (i = 0; i < pn->nr + pn->nr_dormant; i++) {
		struct gpreempt_policy_process *p = pn->queues[i]->process;
		struct gpreempt_policy_beside *b = &p->beside;

		if (now_ns >= gpreempt_beside_silent_until(p)) {
			b->silent_ns = GPREEMPT_FOREVER_NS;
			b->allowed = false;
			b->episodes -= b->episodes == BESIDE_EPISODES;
		}
		pn->silent_ns = gpreempt_earlier(pn->silent_ns, gpreempt_beside_silent_until(p));
	}
}

/**
 * gpreempt_beside_account() - what was launched since the last decision, alone and beside others
 * @pn: the node, sampled; before the first look of a pass
 * @now_ns: time of the samples
 */
void gpreempt_beside_account(struct gpreempt_policy_node *pn, u64 now_ns)
{
	struct gpreempt_policy_beside *b = NULL;
	u64 passed_ns, switch_ns;
	u32 i, launches;

	if (now_ns >= pn->silent_ns)
		beside_ask_the_silent(pn, now_ns);
	if (!pn->beside_ns)
		return;
	for (i = 0; i < pn->nr && !b; i++)
		if (beside_goes_on(pn, pn->queues[i]->process))
			b = &pn->queues[i]->process->beside;
	if (!b)
		return;
	launches = pn->queues[i - 1]->process->launches - b->seen + b->begun;
	passed_ns = now_ns - b->at_ns;
	switch_ns = gpreempt_earlier(b->switch_ns, passed_ns);
	b->switch_ns -= switch_ns;
	b->kernel_ns += passed_ns - switch_ns;
	if (b->lower_runs && b->long_allowed && !launches)
		beside_compare_long(pn, b, passed_ns, now_ns);
	else if (b->lower_runs && b->allowed)
		beside_compare(pn, b, passed_ns - switch_ns, launches);
	else if (b->is_alone)
		beside_learn_alone(b, passed_ns - switch_ns, launches);
	b->is_alone = !b->lower_runs && (b->is_alone || launches);
	if ((!b->allowed || b->launches >= BESIDE_MOST) &&
	    now_ns - b->since_ns >= gpreempt_later(BESIDE_EPISODE * demand_switch_ns(pn),
						   BESIDE_EPISODE * beside_mean_ns(b)))
		beside_begin(b, BESIDE_BEGUN, now_ns);
}

/**
 * gpreempt_beside_seen() - take in the waves of the process that was first
 * @pn: the node, after gpreempt_beside_account() and all looks at it
 * @now_ns: time of the samples
 */
void gpreempt_beside_seen(struct gpreempt_policy_node *pn, u64 now_ns)
{
	struct gpreempt_policy_process *p = NULL;
	struct gpreempt_policy_beside *b = NULL;
	const struct gpreempt_policy_queue *q;
	bool counted = true;
	u32 waves = 0;

	for (q = pn->busy; q; q = q->pass.next_busy) {
		if (!beside_goes_on(pn, q->process))
			continue;
		p = q->process;
		b = &p->beside;
		if (q->seen.waited)
			b->episodes = 0;
		counted &= q->seen.waves_ns == now_ns;
		waves += q->seen.waves;
		if (!q->seen.waves_ns || !q->seen.waves)
			continue;
		b->shown = q->process->launches;
		beside_shows(b, BESIDE_BEGUN);
	}
	if (b && b->long_allowed && !beside_has_long_only(pn, p)) {
		b->long_allowed = false;
		b->slots = 0;
	}
	if (b && counted && beside_is_long(b, now_ns))
		beside_count_long(pn, p, waves, now_ns);
	if (b && b->allowed && b->lower_runs && now_ns >= beside_begins_ns(pn, b))
		beside_ends_trial(b);
}

/**
 * gpreempt_beside_allowed() - may lower work run beside this process?
 * @pn: the node
 * @p: the only process of the highest rank with work
 *
 * Return: true if it takes nothing from it, as far as is known, or that is tried
 */
bool gpreempt_beside_allowed(const struct gpreempt_policy_node *pn,
			     const struct gpreempt_policy_process *p)
{
	if (!beside_possible(pn))
		return false;
	if (beside_has_long_only(pn, p))
		return true;
	return beside_continues(pn, p) ? p->beside.allowed : beside_may_begin(&p->beside);
}

/**
 * gpreempt_beside_asks() - has it to be known which work runs?
 * @pn: the node, after a look at each queue
 * @now_ns: time of the samples
 *
 * The end of the last kernel above is where time stops to count, and of those below it is known
 * from launches and waves alone whether they are owed anything.
 *
 * Return: true if waves have to be read
 */
bool gpreempt_beside_asks(const struct gpreempt_policy_node *pn, u64 now_ns)
{
	u64 stale_ns = gpreempt_debt_turn_ns(pn) / 4;
	bool allowed = false, unknown = false, doubted = false;
	const struct gpreempt_policy_queue *q;

	if (!pn->beside_ns && pn->silent_ns == GPREEMPT_FOREVER_NS)
		return false;
	for (q = pn->busy; q; q = q->pass.next_busy) {
		const struct gpreempt_policy_beside *b = &q->process->beside;
		u64 known_ns = gpreempt_later(q->seen.launched_ns, q->seen.waves_ns);

		if (beside_goes_on(pn, q->process)) {
			allowed = (b->allowed || b->long_allowed) && b->lower_runs;
			unknown |= !q->pass.demand[0] || b->shows < BESIDE_BEGUN;
			doubted |= beside_is_long(b, now_ns) && now_ns - b->counted_ns >= stale_ns &&
				   b->long_allowed == b->lower_runs;
		} else if (gpreempt_beside_silent_until(q->process) < GPREEMPT_FOREVER_NS) {
			doubted |= !q->pass.demand[0];
		} else {
			unknown |= !q->preempted && now_ns - known_ns >= stale_ns;
		}
	}
	return doubted || (allowed && unknown);
}

/**
 * gpreempt_beside_launched() - a launch is not known to have waves: did it end, or wait for slots?
 * @pn: the node, after gpreempt_beside_seen()
 * @p: a process that has launched
 * @now_ns: time of the samples
 */
void gpreempt_beside_launched(struct gpreempt_policy_node *pn, struct gpreempt_policy_process *p,
			      u64 now_ns)
{
	struct gpreempt_policy_beside *b = &p->beside;
	u64 worked_ns = beside_goes_on(pn, p) ? now_ns - b->since_ns : 0;

	if (!gpreempt_beside_allowed(pn, p) || !beside_others_run(pn, p))
		return;
	b->doubted = p->launches;
	b->silent_ns = now_ns + BESIDE_ENDLESS * (worked_ns + demand_short_gap_ns(pn));
	pn->silent_ns = gpreempt_earlier(pn->silent_ns, b->silent_ns);
}

/**
 * gpreempt_beside_decided() - take in who has the device from now on
 * @pn: the node
 * @first: the only process of the highest rank with work; NULL: there is none, or several
 * @lower_runs: work of a lower rank has the device
 * @acts: a hardware pass follows
 * @now_ns: time of the decision
 */
void gpreempt_beside_decided(struct gpreempt_policy_node *pn, struct gpreempt_policy_process *first,
			     bool lower_runs, bool acts, u64 now_ns)
{
	bool goes_on = first && beside_goes_on(pn, first);
	bool continues = first && beside_continues(pn, first);
	struct gpreempt_policy_beside *b;

	pn->beside_ns = 0;
	if (!first || !beside_possible(pn))
		return;
	b = &first->beside;
	if (!continues)
		beside_begin(b, b->launched, now_ns);
	b->is_alone = (b->is_alone || !goes_on) && !lower_runs;
	b->begun = goes_on ? 0 : b->launched;
	b->lower_runs = lower_runs;
	if (acts)
		b->switch_ns = pn->pass_ns + demand_stamp_ns(pn->device.connect_ns, pn->pass_ns) +
			       (lower_runs ? demand_restore_ns(pn, pn->pass_ns) : 0);
	b->at_ns = now_ns;
	pn->beside_ns = now_ns;
}

/**
 * gpreempt_beside_until() - when is lower work beside a process taken off, unless that launches?
 * @pn: the node, after gpreempt_beside_decided()
 * @p: the process
 * @now_ns: now
 *
 * Return: a time; ~0: at no time
 */
u64 gpreempt_beside_until(const struct gpreempt_policy_node *pn,
			  const struct gpreempt_policy_process *p, u64 now_ns)
{
	const struct gpreempt_policy_beside *b = &p->beside;
	u64 most_ns = beside_most_ns(b), left_ns = most_ns - gpreempt_earlier(most_ns, b->late_ns);

	if (!b->lower_runs || !(b->allowed || b->long_allowed))
		return GPREEMPT_FOREVER_NS;
	if (b->long_allowed)
		return now_ns + gpreempt_debt_turn_ns(pn) / 4;
	return gpreempt_earlier(beside_begins_ns(pn, b), now_ns + left_ns + 1);
}
