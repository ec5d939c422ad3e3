// SPDX-License-Identifier: MIT
/*
 * policy.c - highest priority first, with the rules that make it safe
 *
 * A queue has *demand* when it could use the device now. The *level* is the highest priority with demand. Queues below it yield, unless
 * their own process works at the level, the driver forbids it, or they are in a relief. The rules and their reasons are in
 * Documentation/design.rst.
 *
 * Pure code: see policy.h for what may be used here.
 */
#include "policy.h"

/* Below this a sleep costs more than the pass that it delays. */
#define GPREEMPT_SLEEP_MIN_NS	10000ULL

#define GPREEMPT_FOREVER_NS	(~0ULL)

/**
 * struct level - what the queues together say
 * @valid: some queue has demand
 * @priority: highest priority with demand
 */
struct level {
	bool valid;
	s32 priority;
};

static s32 clamp_priority(s64 priority)
{
	if (priority < GPREEMPT_PRIORITY_MIN)
		return GPREEMPT_PRIORITY_MIN;
	if (priority > GPREEMPT_PRIORITY_MAX)
		return GPREEMPT_PRIORITY_MAX;
	return (s32)priority;
}

/**
 * gpreempt_policy_priority() - derive logical priorities from what KFD and the kernel know
 * @kfd_priority: priority given to CREATE_QUEUE or UPDATE_QUEUE; KFD does not check it
 * @nice: nice value of the process, 0 to leave it out of account
 * @trusted: the owner may claim a priority above normal against others
 * @q: receives priority, own_priority and explicit_priority
 */
void gpreempt_policy_priority(u32 kfd_priority, int nice, bool trusted, struct gpreempt_policy_queue *q)
{
	s64 own = kfd_priority;
	s64 claimed = own;

	if (!trusted && claimed > GPREEMPT_PRIORITY_NORMAL)
		claimed = GPREEMPT_PRIORITY_NORMAL;

	q->priority = clamp_priority(claimed - nice);
	q->own_priority = clamp_priority(own - nice);
	q->explicit_priority = kfd_priority != GPREEMPT_PRIORITY_NORMAL;
}

/* What was known of the queue's waves is void. */
static void forget_waves(struct gpreempt_policy_queue *q, u64 now_ns)
{
	q->waves_ns = 0;
	q->zero_ns = 0;
	q->moved_ns = now_ns;
}

/**
 * gpreempt_policy_sample() - take in a queue's pointers
 * @q: the queue
 * @rptr: read pointer
 * @wptr: write pointer
 * @pending: packets or dwords between them
 * @now_ns: time of the sample
 */
void gpreempt_policy_sample(struct gpreempt_policy_queue *q, u64 rptr, u64 wptr, u64 pending, u64 now_ns)
{
	if (rptr != q->rptr || !q->moved_ns) {
		/* A launch: it does not wait. */
		q->stalled_ns = 0;
		q->blocked = false;
		forget_waves(q, now_ns);
	}
	q->used |= rptr || pending;
	if (rptr != q->rptr || wptr != q->wptr || pending)
		q->active_ns = now_ns;
	/* Being held costs a queue nothing before it has work. */
	if (q->preempted && !q->saved_waves && !q->pending && pending)
		q->starved_ns = now_ns;
	if (q->preempted || !pending) {
		q->stalled_ns = 0;
		q->blocked = false;
	} else if (!q->stalled_ns) {
		q->stalled_ns = now_ns;
	}
	q->rptr = rptr;
	q->wptr = wptr;
	q->pending = pending;
}

/**
 * gpreempt_policy_set_waves() - take in the waves in flight of a mapped queue
 * @q: the queue
 * @waves: waves in flight
 * @now_ns: same time as the pass's samples
 */
void gpreempt_policy_set_waves(struct gpreempt_policy_queue *q, u32 waves, u64 now_ns)
{
	q->waves = waves;
	q->waves_ns = now_ns;
	if (!waves) {
		if (!q->zero_ns)
			q->zero_ns = now_ns;
		return;
	}
	q->zero_ns = 0;
	q->active_ns = now_ns;
	q->blocked = false;
	if (q->stalled_ns)
		q->stalled_ns = now_ns;
}

static bool has_work_held(const struct gpreempt_policy_queue *q)
{
	return q->preempted && (q->pending || q->saved_waves);
}

/* Held for so long that it must run, whoever else wants to. */
static bool hold_expired(const struct gpreempt_policy_queue *q, const struct gpreempt_policy_params *params, u64 now_ns)
{
	return params->max_hold_ns && has_work_held(q) && now_ns - q->starved_ns >= params->max_hold_ns;
}

static bool in_relief(const struct gpreempt_policy_queue *q, const struct gpreempt_policy_params *params, u64 now_ns)
{
	return now_ns < q->relief_until_ns || hold_expired(q, params, now_ns);
}

static bool stall_expired(const struct gpreempt_policy_queue *q, const struct gpreempt_policy_params *params, u64 now_ns)
{
	return params->waves_known && params->blocked_ns && q->stalled_ns &&
	       now_ns - q->stalled_ns >= params->blocked_ns;
}

/*
 * Is the answer to "has this mapped queue waves in flight?" still the one that was read? No waves and no packets are believed for as long
 * again as they have been read, since waves can hide for as long as they wait for slots; a blocked queue is asked again now and
 * then; everything else is true only for the pass that read it.
 */
static bool waves_fresh(const struct gpreempt_policy_queue *q, const struct gpreempt_policy_params *params, u64 now_ns)
{
	if (!params->waves_known || !q->used || q->waves_ns == now_ns)
		return true;
	if (!q->waves_ns || q->waves)
		return false;
	if (!q->pending) {
		u64 zero_for_ns = q->waves_ns - q->zero_ns;

		return zero_for_ns >= GPREEMPT_WAVES_SETTLE_NS && now_ns - q->waves_ns < zero_for_ns;
	}
	return q->blocked && now_ns - q->waves_ns < params->blocked_ns;
}

/* It read as without waves for long enough to be more than a runlist in progress. */
static bool zero_settled(const struct gpreempt_policy_queue *q, u64 now_ns)
{
	return q->zero_ns && now_ns - q->zero_ns >= GPREEMPT_WAVES_SETTLE_NS;
}

/* A runlist took its waves off, and they may not be back yet. */
static bool restoring(const struct gpreempt_policy_queue *q, u64 now_ns)
{
	return q->disturbed_ns && now_ns - q->disturbed_ns < GPREEMPT_WAVES_RESTORE_NS;
}

static bool has_waves(const struct gpreempt_policy_queue *q, const struct gpreempt_policy_params *params, u64 now_ns,
		      bool assume)
{
	if (!params->waves_known || !q->used)
		return false;
	if (!waves_fresh(q, params, now_ns))
		return assume;
	return (q->waves && q->waves_ns) || restoring(q, now_ns);
}

/* @assume: the answer where waves in flight decide and are not known. */
static bool has_demand(const struct gpreempt_policy_queue *q, const struct gpreempt_policy_params *params, u64 now_ns,
		       bool assume)
{
	if (q->preempted)
		return has_work_held(q);
	if (!q->pending)
		return has_waves(q, params, now_ns, assume);
	if (!q->blocked && !stall_expired(q, params, now_ns))
		return true;
	if (!waves_fresh(q, params, now_ns))
		return assume;
	return q->waves || !(q->blocked || zero_settled(q, now_ns));
}

static bool waves_matter(const struct gpreempt_policy_queue *q, const struct gpreempt_policy_params *params, u64 now_ns)
{
	return has_demand(q, params, now_ns, true) != has_demand(q, params, now_ns, false);
}

/* What a queue with work counts for. In relief it is above all others: beside waves that fill the device it would not run. */
static s32 rank(const struct gpreempt_policy_queue *q, const struct gpreempt_policy_params *params, u64 now_ns)
{
	return in_relief(q, params, now_ns) ? GPREEMPT_PRIORITY_RELIEF : q->priority;
}

static struct level find_level(struct gpreempt_policy_queue *const *queues, u32 nr,
			       const struct gpreempt_policy_params *params, u64 now_ns, bool assume)
{
	struct level level = { 0 };
	u32 i;

	for (i = 0; i < nr; i++) {
		const struct gpreempt_policy_queue *q = queues[i];

		if (!has_demand(q, params, now_ns, assume))
			continue;
		if (!level.valid || rank(q, params, now_ns) > level.priority) {
			level.valid = true;
			level.priority = rank(q, params, now_ns);
		}
	}
	return level;
}

/* Which processes work at the level, and with which of their own priorities? */
static void mark_processes(struct gpreempt_policy_queue *const *queues, u32 nr, const struct level *level,
			   const struct gpreempt_policy_params *params, u64 now_ns, bool assume)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		queues[i]->process->demand_at_level = false;
		queues[i]->process->own_top_valid = false;
	}
	for (i = 0; i < nr; i++) {
		const struct gpreempt_policy_queue *q = queues[i];
		struct gpreempt_policy_process *p = q->process;

		if (!level->valid || rank(q, params, now_ns) != level->priority ||
		    !has_demand(q, params, now_ns, assume))
			continue;
		p->demand_at_level = true;
		if (q->explicit_priority && (!p->own_top_valid || q->own_priority > p->own_top)) {
			p->own_top_valid = true;
			p->own_top = q->own_priority;
		}
	}
}

/* Would the queue have to stay off the device while this level lasts, if the driver allows it? */
static bool has_to_yield(const struct gpreempt_policy_queue *q, const struct level *level,
			 const struct gpreempt_policy_params *params, u64 now_ns)
{
	const struct gpreempt_policy_process *p = q->process;

	if (!level->valid || in_relief(q, params, now_ns))
		return false;
	/* A process must not freeze its own copy or utility queue: both sides have to have asked for it. */
	if (p->demand_at_level)
		return q->explicit_priority && p->own_top_valid && q->own_priority < p->own_top;
	return q->priority < level->priority;
}

static bool outranked(const struct gpreempt_policy_queue *q, const struct level *level,
		      const struct gpreempt_policy_params *params, u64 now_ns)
{
	return !q->immovable && has_to_yield(q, level, params, now_ns);
}

/* Lower queues without work take nothing from anybody: only one with work causes a pass. */
static bool find_inversion(struct gpreempt_policy_queue *const *queues, u32 nr, const struct level *level,
			   const struct gpreempt_policy_params *params, u64 now_ns, bool assume)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		const struct gpreempt_policy_queue *q = queues[i];

		if (!q->preempted && outranked(q, level, params, now_ns) && has_demand(q, params, now_ns, assume))
			return true;
	}
	return false;
}

/* When something is preempted at all, idle lower queues go along: their next packet shall not cost another pass. */
static enum gpreempt_action choose(const struct gpreempt_policy_queue *q, const struct level *level, bool inversion,
				   const struct gpreempt_policy_params *params, u64 now_ns)
{
	bool yields = outranked(q, level, params, now_ns);

	if (q->preempted)
		return yields ? GPREEMPT_KEEP : GPREEMPT_RESUME;
	return yields && inversion ? GPREEMPT_PREEMPT : GPREEMPT_KEEP;
}

static bool recently_active(const struct gpreempt_policy_queue *q, u64 now_ns)
{
	return q->active_ns && now_ns - q->active_ns < GPREEMPT_CONTENDED_NS;
}

/* Could one of these queues (all, or the recently active ones) ever outrank another? */
static bool can_outrank(struct gpreempt_policy_queue *const *queues, u32 nr, u64 now_ns, bool active_only)
{
	s32 min = GPREEMPT_PRIORITY_MAX, max = GPREEMPT_PRIORITY_MIN;
	u32 i, processes = 0;

	for (i = 0; i < nr; i++) {
		queues[i]->process->counted = false;
		queues[i]->process->spread_valid = false;
	}

	for (i = 0; i < nr; i++) {
		const struct gpreempt_policy_queue *q = queues[i];
		struct gpreempt_policy_process *p = q->process;

		if (active_only && !recently_active(q, now_ns))
			continue;
		if (!p->counted) {
			p->counted = true;
			processes++;
		}
		min = q->priority < min ? q->priority : min;
		max = q->priority > max ? q->priority : max;
		if (processes > 1 && min < max)
			return true;
		if (!q->explicit_priority)
			continue;
		if (!p->spread_valid) {
			p->spread_valid = true;
			p->own_min = q->own_priority;
			p->own_max = q->own_priority;
		}
		p->own_min = q->own_priority < p->own_min ? q->own_priority : p->own_min;
		p->own_max = q->own_priority > p->own_max ? q->own_priority : p->own_max;
		if (p->own_min < p->own_max)
			return true;
	}
	return false;
}

/* Has a queue below the level work on the device, or gets it by the actions chosen? */
static bool lower_runs(struct gpreempt_policy_queue *const *queues, u32 nr, const struct level *level,
		       const struct gpreempt_policy_params *params, u64 now_ns, bool assume)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		const struct gpreempt_policy_queue *q = queues[i];

		if (level->valid && rank(q, params, now_ns) < level->priority &&
		    (!q->preempted || q->action == GPREEMPT_RESUME) && has_demand(q, params, now_ns, assume))
			return true;
	}
	return false;
}

/* Does somebody at the level stand still, so that it matters whether a lower queue is in its way? */
static bool level_stalls(struct gpreempt_policy_queue *const *queues, u32 nr, const struct level *level,
			 const struct gpreempt_policy_params *params, u64 now_ns)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		const struct gpreempt_policy_queue *q = queues[i];

		if (params->blocked_ns && level->valid && rank(q, params, now_ns) == level->priority &&
		    q->stalled_ns && !q->blocked)
			return true;
	}
	return false;
}

static bool unknown_for_long(const struct gpreempt_policy_queue *q, const struct gpreempt_policy_params *params,
			     u64 now_ns)
{
	u64 since_ns = q->waves_ns > q->moved_ns ? q->waves_ns : q->moved_ns;

	return !q->preempted && !q->pending && !waves_fresh(q, params, now_ns) &&
	       now_ns - since_ns >= GPREEMPT_WAVES_UNKNOWN_NS;
}

/* Would these assumptions lead to other actions than those chosen? */
static bool differs(struct gpreempt_policy_queue *const *queues, u32 nr, const struct level *level, bool inversion,
		    const struct gpreempt_policy_params *params, u64 now_ns)
{
	u32 i;

	for (i = 0; i < nr; i++)
		if (queues[i]->action != choose(queues[i], level, inversion, params, now_ns))
			return true;
	return false;
}

/**
 * gpreempt_policy_disturbed() - the driver may have changed the runlist by itself
 * @queues: all queues of the node, sampled
 * @nr: how many
 * @now_ns: time of the samples
 *
 * Creating, changing and destroying a queue takes all waves off and brings them back, as our own passes do.
 */
void gpreempt_policy_disturbed(struct gpreempt_policy_queue *const *queues, u32 nr, u64 now_ns)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		struct gpreempt_policy_queue *q = queues[i];
		bool maybe = q->used && !q->waves_ns && now_ns - q->moved_ns < GPREEMPT_WAVES_UNKNOWN_NS;
		bool had_waves = maybe || (q->waves && q->waves_ns) || restoring(q, now_ns);

		if (!q->preempted && (q->pending || had_waves))
			q->disturbed_ns = now_ns;
	}
}

/**
 * gpreempt_policy_needs_waves() - would waves in flight change the decision?
 * @queues: all queues of the node, sampled
 * @nr: how many
 * @params: tunables
 * @now_ns: time of the samples
 *
 * Reading waves in flight costs register accesses and locks, so it is asked for only when the decisions under "none" and under "some"
 * differ, when it decides whether a stalled queue waits for the device, or when it has been unknown for long.
 *
 * Return: true if the caller should give gpreempt_policy_set_waves() for each mapped queue before it lets decide.
 */
bool gpreempt_policy_needs_waves(struct gpreempt_policy_queue *const *queues, u32 nr,
				 const struct gpreempt_policy_params *params, u64 now_ns)
{
	bool inversion, in_the_way, matter = false, unknown = false;
	struct level level;
	u32 i;

	for (i = 0; i < nr; i++) {
		matter |= waves_matter(queues[i], params, now_ns);
		unknown |= unknown_for_long(queues[i], params, now_ns);
	}
	if (!matter)
		return false;
	if (unknown && can_outrank(queues, nr, now_ns, false))
		return true;

	level = find_level(queues, nr, params, now_ns, false);
	mark_processes(queues, nr, &level, params, now_ns, false);
	inversion = find_inversion(queues, nr, &level, params, now_ns, false);
	for (i = 0; i < nr; i++)
		queues[i]->action = choose(queues[i], &level, inversion, params, now_ns);
	in_the_way = lower_runs(queues, nr, &level, params, now_ns, false);

	level = find_level(queues, nr, params, now_ns, true);
	mark_processes(queues, nr, &level, params, now_ns, true);
	inversion = find_inversion(queues, nr, &level, params, now_ns, true);
	if (differs(queues, nr, &level, inversion, params, now_ns))
		return true;
	if (level_stalls(queues, nr, &level, params, now_ns) &&
	    in_the_way != lower_runs(queues, nr, &level, params, now_ns, true))
		return true;

	/* An own queue without waves exempts nobody while a lower one with waves still is in the way. */
	mark_processes(queues, nr, &level, params, now_ns, false);
	inversion = find_inversion(queues, nr, &level, params, now_ns, true);
	return differs(queues, nr, &level, inversion, params, now_ns);
}

static u64 earlier(u64 a, u64 b)
{
	return a < b ? a : b;
}

/* Time until a hold or a relief of this queue ends. */
static u64 next_deadline(const struct gpreempt_policy_queue *q, const struct gpreempt_policy_params *params, u64 now_ns)
{
	u64 end = GPREEMPT_FOREVER_NS;

	if (now_ns < q->relief_until_ns)
		end = q->relief_until_ns;
	else if (params->max_hold_ns && q->action == GPREEMPT_PREEMPT)
		end = now_ns + params->max_hold_ns;
	else if (params->max_hold_ns && has_work_held(q))
		end = q->starved_ns + params->max_hold_ns;
	else
		return GPREEMPT_FOREVER_NS;
	return end > now_ns ? end - now_ns : 0;
}

/*
 * A queue that stands behind a lower one has not had the device: it waits for us, not for somebody else. The next sample starts the stall
 * anew, if it still is one.
 */
static void forget_stalls(struct gpreempt_policy_queue *const *queues, u32 nr, const struct level *level,
			  const struct gpreempt_policy_params *params, u64 now_ns)
{
	u32 i;

	if (!lower_runs(queues, nr, level, params, now_ns, true))
		return;
	for (i = 0; i < nr; i++) {
		struct gpreempt_policy_queue *q = queues[i];

		if (rank(q, params, now_ns) == level->priority && !q->blocked)
			q->stalled_ns = 0;
	}
}

/* The runlist that carries these actions out takes all waves off and brings those of mapped queues back. */
static void mark_disturbed(struct gpreempt_policy_queue *const *queues, u32 nr,
			   const struct gpreempt_policy_params *params, u64 now_ns)
{
	u32 i;

	for (i = 0; i < nr; i++)
		if (has_demand(queues[i], params, now_ns, false))
			queues[i]->disturbed_ns = now_ns;
}

/**
 * gpreempt_policy_decide() - who yields, who returns, when to look again
 * @queues: all queues of the node, sampled
 * @nr: how many
 * @params: tunables
 * @now_ns: time of the samples
 * @decision: result; each queue's action is in the queue
 */
void gpreempt_policy_decide(struct gpreempt_policy_queue *const *queues, u32 nr,
			    const struct gpreempt_policy_params *params, u64 now_ns, struct gpreempt_decision *decision)
{
	u64 next_ns = params->interval_ns;
	struct level level;
	bool any_preempted = false;
	u32 i;

	*decision = (struct gpreempt_decision){ 0 };

	for (i = 0; i < nr; i++) {
		struct gpreempt_policy_queue *q = queues[i];

		if (hold_expired(q, params, now_ns) && now_ns >= q->relief_until_ns) {
			q->relief_until_ns = now_ns + params->relief_ns;
			decision->nr_relief++;
		}
		if (stall_expired(q, params, now_ns) && q->waves_ns == now_ns && zero_settled(q, now_ns))
			q->blocked = true;
		if (has_demand(q, params, now_ns, true))
			q->active_ns = now_ns;
	}

	level = find_level(queues, nr, params, now_ns, true);
	mark_processes(queues, nr, &level, params, now_ns, true);
	decision->level_valid = level.valid;
	decision->level = level.priority;
	decision->inversion = find_inversion(queues, nr, &level, params, now_ns, true);
	decision->contended = can_outrank(queues, nr, now_ns, true);

	for (i = 0; i < nr; i++) {
		struct gpreempt_policy_queue *q = queues[i];

		q->action = choose(q, &level, decision->inversion, params, now_ns);
		q->in_the_way = q->immovable && !q->preempted && has_to_yield(q, &level, params, now_ns) &&
				has_demand(q, params, now_ns, true);
		decision->nr_preempt += q->action == GPREEMPT_PREEMPT;
		decision->nr_resume += q->action == GPREEMPT_RESUME;
		any_preempted |= q->preempted || q->action == GPREEMPT_PREEMPT;
		next_ns = earlier(next_ns, next_deadline(q, params, now_ns));
	}
	forget_stalls(queues, nr, &level, params, now_ns);
	if (decision->nr_preempt || decision->nr_resume)
		mark_disturbed(queues, nr, params, now_ns);

	/* Contended says already that somebody can. */
	decision->park = !any_preempted && !decision->contended && !can_outrank(queues, nr, now_ns, false);
	if (decision->contended && params->poll_ns)
		next_ns = earlier(next_ns, params->poll_ns);
	decision->next_ns = next_ns < GPREEMPT_SLEEP_MIN_NS ? GPREEMPT_SLEEP_MIN_NS : next_ns;
}

/**
 * gpreempt_policy_resume_all() - the decision that switches off
 * @queues: all queues of the node
 * @nr: how many
 * @decision: result; each queue's action is in the queue
 */
void gpreempt_policy_resume_all(struct gpreempt_policy_queue *const *queues, u32 nr,
				struct gpreempt_decision *decision)
{
	u32 i;

	*decision = (struct gpreempt_decision){ .park = true };
	for (i = 0; i < nr; i++) {
		queues[i]->action = queues[i]->preempted ? GPREEMPT_RESUME : GPREEMPT_KEEP;
		decision->nr_resume += queues[i]->preempted;
	}
}

/**
 * gpreempt_policy_preempted() - confirm that a queue left the device
 * @q: the queue
 * @saved_waves: waves were saved, it stopped in the middle of a kernel
 * @now_ns: when
 */
void gpreempt_policy_preempted(struct gpreempt_policy_queue *q, bool saved_waves, u64 now_ns)
{
	q->preempted = true;
	q->saved_waves = saved_waves;
	q->held_ns = now_ns;
	q->starved_ns = now_ns;
	q->relief_until_ns = 0;
	q->stalled_ns = 0;
	q->blocked = false;
	q->action = GPREEMPT_KEEP;
	forget_waves(q, now_ns);
}

/**
 * gpreempt_policy_resumed() - confirm that a queue may run again
 * @q: the queue
 * @now_ns: when
 */
void gpreempt_policy_resumed(struct gpreempt_policy_queue *q, u64 now_ns)
{
	q->preempted = false;
	q->saved_waves = false;
	q->active_ns = now_ns;
	q->stalled_ns = q->pending ? now_ns : 0;
	q->action = GPREEMPT_KEEP;
	forget_waves(q, now_ns);
}
