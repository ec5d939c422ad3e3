// SPDX-License-Identifier: MIT
/*
 * demand.c - what was seen of queues: has it work?
 *
 * Pure code: see policy.h for what may be used here.
 */
#include "demand.h"

/* Work came: what was announced, for it or for its process, has come true. */
static void demand_meet(struct gpreempt_policy_queue *q)
{
	if (q->seen.expected_met_ns == q->set.expected_until_ns)
		return;
	q->seen.expected_met_ns = q->set.expected_until_ns;
	q->process->expected_met_ns = q->set.expected_until_ns;
}

/* What was known of the queue's waves is void. */
static void demand_forget_waves(struct gpreempt_policy_queue *q, u64 now_ns)
{
	q->seen.waves_ns = 0;
	q->seen.zero_ns = 0;
	q->seen.checked = false;
	q->seen.moved_ns = now_ns;
}

static bool demand_none_for_long(const struct gpreempt_policy_queue *q, u64 now_ns)
{
	return q->seen.waves_ns && !q->seen.waves && demand_zero_settled(q, now_ns);
}

/**
 * gpreempt_demand_doubt() - it may have waves that wait for slots, whatever counters said
 * @q: the queue
 * @now_ns: now
 *
 * It has demand until a runlist tells, for GPREEMPT_LAUNCHED_NS at most.
 */
void gpreempt_demand_doubt(struct gpreempt_policy_queue *q, u64 now_ns)
{
	demand_forget_waves(q, now_ns);
	q->seen.in_doubt = true;
}

/**
 * gpreempt_demand_driver_off() - the driver keeps a queue off the device, or does not any more
 * @q: the queue, not preempted
 * @off: it does: its memory was evicted, its program suspended it, and the like
 * @packets: there are packets in its ring
 * @now_ns: time of the sample that follows; while @off it has to say that nothing is pending,
 *	because no queue shall yield to it
 *
 * What a queue was taken off with comes back with it, without a pointer moving: its waves then wait
 * for slots that others may have got. A kernel that had no slots yet comes back as well: none is
 * ruled out before no waves were counted for long enough.
 */
void gpreempt_demand_driver_off(struct gpreempt_policy_queue *q, bool off, bool packets, u64 now_ns)
{
	if (off && !q->seen.driver_off)
		q->seen.driver_off_with_work =
			q->seen.pending || (q->seen.used && !demand_none_for_long(q, now_ns));
	q->seen.driver_off_with_work |= off && packets;
	if (!off && q->seen.driver_off && q->seen.driver_off_with_work) {
		demand_forget_waves(q, now_ns);
		demand_await_waves(q, now_ns);
	}
	q->seen.driver_off = off;
}

/* There is nothing to take in but that it is there: it may have work at any time. */
static void demand_sample_unseen(struct gpreempt_policy_queue *q, u64 now_ns)
{
	if (!q->seen.moved_ns)
		demand_forget_waves(q, now_ns);
	q->seen.pending = 0;
	q->seen.stalled_ns = 0;
	q->seen.blocked = false;
}

/**
 * gpreempt_demand_sample() - take in a queue's pointers
 * @q: the queue
 * @rptr: read pointer
 * @wptr: write pointer
 * @pending: packets or dwords between them
 * @now_ns: time of the sample
 *
 * Pointers and packets of an @unseen queue mean nothing and are not looked at.
 */
void gpreempt_demand_sample(struct gpreempt_policy_queue *q, u64 rptr, u64 wptr, u64 pending,
			    u64 now_ns)
{
	bool moved = rptr != q->seen.rptr;

	/* Nothing new of one that is idle or preempted: what there was to say has been said. */
	if (!moved && wptr == q->seen.wptr && pending == q->seen.pending && q->seen.moved_ns) {
		if (!pending)
			return;
		if (q->preempted) {
			demand_meet(q);
			q->seen.active_ns = now_ns;
			return;
		}
	}
	if (q->set.unseen) {
		demand_sample_unseen(q, now_ns);
		return;
	}
	if (moved || !q->seen.moved_ns) {
		/* A launch: it does not wait. What a runlist took off comes back before that. */
		if (q->seen.has_restore_rptr && rptr != q->seen.restore_rptr)
			q->seen.restore_since_ns = 0;
		q->seen.stalled_ns = 0;
		q->seen.blocked = false;
		q->seen.tries = 0;
		q->seen.in_kernel = false;
		q->seen.in_doubt = false;
		q->seen.waited = false;
		q->seen.launched_ns = now_ns;
		/* The pointers of a ring of dwords begin anew at its end. */
		q->process->launches += rptr > q->seen.rptr ? rptr - q->seen.rptr : 1;
		demand_forget_waves(q, now_ns);
	}
	if (pending || moved) {
		q->seen.showed_none = false;
		demand_meet(q);
		if (!q->preempted && !q->had_demand) {
			demand_count_launches(q, now_ns);
			q->seen.run_ns = now_ns;
		}
	}
	q->seen.used |= rptr || pending;
	if (pending || moved || wptr != q->seen.wptr)
		q->seen.active_ns = now_ns;
	/* Being preempted costs a queue nothing before it has work. */
	if (q->preempted && !q->saved_waves && !q->seen.pending && pending)
		q->seen.starved_ns = now_ns;
	if (q->preempted || !pending) {
		q->seen.stalled_ns = 0;
		q->seen.blocked = false;
	} else if (!q->seen.stalled_ns) {
		q->seen.stalled_ns = now_ns;
	}
	q->seen.rptr = rptr;
	q->seen.wptr = wptr;
	q->seen.pending = pending;
}

/**
 * gpreempt_demand_set_waves() - take in the waves in flight of a mapped queue
 * @q: the queue
 * @waves: waves in flight
 * @now_ns: same time as the pass's samples
 */
void gpreempt_demand_set_waves(struct gpreempt_policy_queue *q, u32 waves, u64 now_ns)
{
	q->seen.waves = waves;
	q->seen.waves_ns = now_ns;
	if (!waves) {
		if (!q->seen.zero_ns)
			q->seen.zero_ns = now_ns;
		return;
	}
	q->seen.zero_ns = 0;
	q->seen.waited |= q->seen.in_doubt;
	q->seen.in_doubt = false;
	q->seen.restore_since_ns = 0;
	q->seen.showed_none = false;
	q->seen.active_ns = now_ns;
	q->seen.blocked = false;
	q->seen.tries = 0;
	if (q->seen.stalled_ns)
		q->seen.stalled_ns = now_ns;
}

/**
 * gpreempt_demand_counted() - take in what counters say of a mapped queue
 * @pn: the node
 * @q: the queue
 * @waves: waves in flight
 * @may_hide: waves were saved when it last left the device
 * @now_ns: same time as the pass's samples
 *
 * While firmware takes turns, the counters show waves of the current queues only. If no waves of a
 * queue were saved, it has none as soon as the count has been zero for a moment: the CP may be
 * about to write what it saved. If some were saved, it has none once the count was zero for as long
 * as all turns take. Looks that are further apart than turns may each miss the queue's own turn:
 * they do not add up, unless looks may be no closer.
 */
void gpreempt_demand_counted(const struct gpreempt_policy_node *pn, struct gpreempt_policy_queue *q,
			     u32 waves, bool may_hide, u64 now_ns)
{
	u64 apart_ns = gpreempt_later(GPREEMPT_TURN_NS, 2 * demand_look_ns(pn));

	if (!waves && !demand_had_its_turn(pn, q) && now_ns - q->seen.waves_ns > apart_ns)
		q->seen.zero_ns = now_ns;
	gpreempt_demand_set_waves(q, waves, now_ns);
	if (!waves && !may_hide && !demand_had_its_turn(pn, q) && demand_zero_settled(q, now_ns))
		q->seen.zero_ns = now_ns - pn->device.turns_ns;
}

/**
 * gpreempt_demand_waves_quiescent() - waves were read while nothing had been on its way for as long
 * as it takes to bring them back
 * @pn: the node, after gpreempt_demand_counted() for each mapped queue
 * @now_ns: same time
 *
 * An empty ring without waves needs no second look then.
 */
void gpreempt_demand_waves_quiescent(struct gpreempt_policy_node *pn, u64 now_ns)
{
	u32 i;

	for (i = 0; i < pn->nr; i++) {
		struct gpreempt_policy_queue *q = pn->queues[i];

		if (q->seen.waves_ns != now_ns)
			continue;
		q->seen.restore_since_ns = 0;
		if (!q->seen.waves && !q->seen.pending &&
		    now_ns - q->seen.zero_ns < GPREEMPT_WAVES_SETTLE_NS)
			q->seen.zero_ns = now_ns - GPREEMPT_WAVES_SETTLE_NS;
	}
}

/**
 * gpreempt_demand_waves_unread() - waves cannot be read, and the decision waits for them no longer
 * @pn: the node, with its queues sampled
 * @now_ns: time of the samples
 *
 * An empty ring that had none for long enough to be believed has none still: nothing comes without
 * packets. So it is with a queue that was found blocked. Others may have some, and are taken to
 * have them; so are queues that cannot be looked at.
 */
void gpreempt_demand_waves_unread(struct gpreempt_policy_node *pn, u64 now_ns)
{
	u32 i;

	for (i = 0; i < pn->nr; i++) {
		struct gpreempt_policy_queue *q = pn->queues[i];
		bool known = q->seen.pending ?
				     q->seen.blocked :
				     demand_had_its_turn(pn, q) &&
					     q->seen.waves_ns - q->seen.zero_ns >=
						     GPREEMPT_WAVES_SETTLE_NS;

		if (!q->preempted && !q->set.unseen && q->seen.waves_ns && !q->seen.waves && known)
			gpreempt_demand_set_waves(q, 0, now_ns);
	}
}

/**
 * gpreempt_demand_block() - it waits for something else than the device
 * @q: the queue
 * @params: tunables of the pass
 * @now_ns: time of the pass
 */
void gpreempt_demand_block(struct gpreempt_policy_queue *q,
			   const struct gpreempt_policy_params *params, u64 now_ns)
{
	u64 after_ns = GPREEMPT_TRY_SHARE * params->blocked_ns,
	    most_ns = gpreempt_later(after_ns, GPREEMPT_RETRY_MAX_NS);

	q->seen.blocked = true;
	q->seen.try_ns = now_ns + demand_retry_ns(after_ns, q->seen.tries, most_ns);
}

/**
 * gpreempt_demand_try_again() - give a blocked queue its level back, to see
 * @q: the queue
 * @now_ns: time of the pass
 *
 * It has been blocked for so long that it may be mistaken by now: once more it has its level, until
 * it stands still for as long again.
 */
void gpreempt_demand_try_again(struct gpreempt_policy_queue *q, u64 now_ns)
{
	q->seen.blocked = false;
	q->seen.stalled_ns = now_ns;
	q->seen.tries++;
}

/**
 * gpreempt_demand_runlist_changed() - the driver may have changed the runlist by itself
 * @pn: the node, with its queues sampled
 * @now_ns: time of the samples
 *
 * Creating, changing and destroying a queue takes all waves off and brings them back, as our own
 * passes do.
 */
void gpreempt_demand_runlist_changed(const struct gpreempt_policy_node *pn, u64 now_ns)
{
	u32 i;

	for (i = 0; i < pn->nr; i++) {
		struct gpreempt_policy_queue *q = pn->queues[i];
		bool maybe = q->seen.used && !q->seen.waves_ns &&
			     now_ns - q->seen.moved_ns < GPREEMPT_WAVES_UNKNOWN_NS;
		bool had_waves = maybe || (q->seen.waves && q->seen.waves_ns) ||
				 demand_restore_pending(pn, q, now_ns);

		if (!q->preempted && (q->seen.pending || had_waves))
			demand_await_waves(q, now_ns);
	}
}

/**
 * gpreempt_demand_miscounted() - counters have turned out not to count: forget what they said
 * @pn: the node
 * @now_ns: time of the samples
 */
void gpreempt_demand_miscounted(const struct gpreempt_policy_node *pn, u64 now_ns)
{
	u32 i;

	for (i = 0; i < pn->nr + pn->nr_dormant; i++)
		if (!pn->queues[i]->preempted && !pn->queues[i]->seen.waves)
			demand_forget_waves(pn->queues[i], now_ns);
}

/**
 * gpreempt_demand_turns() - firmware takes turns from now on, or does not any more
 * @pn: the node
 * @turns_ns: so long may a queue wait for its turn; 0: it does not
 *
 * A queue that was known to have no waves still has none, unless a runlist was about to bring some
 * back.
 */
void gpreempt_demand_turns(struct gpreempt_policy_node *pn, u64 turns_ns)
{
	u32 i;

	for (i = 0; turns_ns > pn->device.turns_ns && i < pn->nr + pn->nr_dormant; i++) {
		struct gpreempt_policy_queue *q = pn->queues[i];

		if (q->seen.zero_ns && !q->seen.restore_since_ns && demand_had_its_turn(pn, q) &&
		    q->seen.waves_ns - q->seen.zero_ns < turns_ns)
			q->seen.zero_ns = q->seen.waves_ns - turns_ns;
	}
	pn->device.turns_ns = turns_ns;
}

/**
 * gpreempt_demand_begin_turns() - firmware takes turns: standing still says nothing
 * @pn: the node, sampled
 * @now_ns: time of the samples
 *
 * It may be the turn of another queue.
 */
void gpreempt_demand_begin_turns(const struct gpreempt_policy_node *pn, u64 now_ns)
{
	u32 i;

	for (i = 0; i < pn->nr; i++) {
		struct gpreempt_policy_queue *q = pn->queues[i];

		if (!q->seen.stalled_ns)
			continue;
		q->seen.blocked = false;
		q->seen.stalled_ns = now_ns;
	}
}

/**
 * gpreempt_demand_block_saved() - find queues blocked where only runlists tell
 * @pn: the node, sampled
 * @now_ns: time of the samples
 *
 * A queue is blocked that had stood still for so long when a runlist found it without waves.
 */
void gpreempt_demand_block_saved(const struct gpreempt_policy_node *pn, u64 now_ns)
{
	u32 i;

	for (i = 0; i < pn->nr; i++) {
		struct gpreempt_policy_queue *q = pn->queues[i];

		if (!q->seen.blocked && !q->seen.waves && q->seen.waves_ns > q->seen.stalled_ns &&
		    demand_stall_expired(pn, q, q->seen.waves_ns))
			gpreempt_demand_block(q, &pn->params, now_ns);
	}
}

/**
 * gpreempt_demand_counted_none() - have the counters of waves said for long enough that this queue
 * has none?
 * @pn: the node
 * @q: a queue on the device, not found to have waves since its last launch
 * @now_ns: now
 *
 * If it has some all the same, the counters do not count.
 *
 * Return: true if so
 */
bool gpreempt_demand_counted_none(const struct gpreempt_policy_node *pn,
				  const struct gpreempt_policy_queue *q, u64 now_ns)
{
	return q->seen.used && !q->set.unseen && !q->preempted && !q->seen.driver_off &&
	       !q->seen.pending && q->seen.waves_ns && !q->seen.waves &&
	       !q->seen.restore_since_ns && q->seen.zero_ns &&
	       q->seen.waves_ns - q->seen.zero_ns >= GPREEMPT_WAVES_SETTLE_NS &&
	       demand_had_its_turn(pn, q) && q->seen.launched_ns &&
	       now_ns - q->seen.launched_ns >= GPREEMPT_WAVES_LAG_NS;
}

/* A runlist tells: nothing of it is on its way. */
static void demand_end_doubt(struct gpreempt_policy_queue *q, bool waited, u64 now_ns)
{
	q->seen.in_doubt = false;
	q->seen.waited = waited;
	if (waited)
		return;
	gpreempt_demand_set_waves(q, 0, now_ns);
	q->seen.zero_ns = now_ns - GPREEMPT_WAVES_SETTLE_NS;
	q->seen.restore_since_ns = 0;
}

/**
 * gpreempt_demand_saw() - take in what a runlist saved of a queue
 * @q: the queue, whose pointers are still those of its last sample
 * @device: that of its node
 * @saved_waves: waves were saved
 * @now_ns: when
 *
 * Unlike counters this has no delay, and no wave hides from it: those that wait for slots are saved
 * as well. Only a launch may still be on its way.
 */
void gpreempt_demand_saw(struct gpreempt_policy_queue *q,
			 const struct gpreempt_policy_device *device, bool saved_waves, u64 now_ns)
{
	bool launching = !saved_waves && q->seen.launched_ns &&
			 now_ns - q->seen.launched_ns < GPREEMPT_WAVES_LAG_NS;

	q->seen.checked |= !saved_waves && !launching;
	if (q->seen.in_doubt && !launching)
		demand_end_doubt(q, saved_waves, now_ns);
	if (device->waves_saved && !launching)
		gpreempt_demand_set_waves(q, saved_waves, now_ns);
}

/**
 * gpreempt_demand_mapped() - a runlist has taken a queue off the device, and it is about to be back
 * @q: the queue
 * @rptr: its read pointer, read since it was taken off
 *
 * Once that moves the queue is back, and its waves are.
 */
void gpreempt_demand_mapped(struct gpreempt_policy_queue *q, u64 rptr)
{
	q->seen.restore_rptr = rptr;
	q->seen.has_restore_rptr = true;
}

/**
 * gpreempt_demand_preempted() - a queue has left the device
 * @q: the queue, its waves saved or not as &gpreempt_policy_queue.saved_waves says
 * @now_ns: when
 */
void gpreempt_demand_preempted(struct gpreempt_policy_queue *q, u64 now_ns)
{
	q->seen.starved_ns = now_ns;
	q->seen.stalled_ns = 0;
	q->seen.blocked = false;
	if (q->saved_waves || q->seen.pending || !q->seen.zero_ns || q->set.unseen)
		demand_forget_waves(q, now_ns);
}

/**
 * gpreempt_demand_resumed() - a queue may run again
 * @q: the queue, as it was preempted
 * @now_ns: when
 */
void gpreempt_demand_resumed(struct gpreempt_policy_queue *q, u64 now_ns)
{
	bool idle = !q->saved_waves && !q->seen.pending && !q->set.unseen;

	gpreempt_demand_mapped(q, q->seen.rptr);
	q->seen.in_kernel = q->saved_waves;
	if (q->saved_waves)
		q->seen.launched_ns = now_ns;
	if (!idle)
		q->seen.active_ns = now_ns;
	/* It was off the device without waves, and had no packets since: it still has none. */
	if (idle && q->seen.zero_ns)
		q->seen.waves_ns = now_ns;
	else
		demand_forget_waves(q, now_ns);
	demand_count_launches(q, now_ns);
	q->seen.run_ns = now_ns;
	q->seen.stalled_ns = q->seen.pending ? now_ns : 0;
}

/* Work has come. Does it pile up on what came before, which a program that waits does not? */
static void demand_note_work(struct gpreempt_policy_backlog *b, u64 came, u64 pending)
{
	if (pending <= came) {
		b->pending = pending;
	} else if (pending > b->pending + came / 2 + 1) {
		b->piles = GPREEMPT_PILES;
		b->pending = pending;
	} else {
		b->piles -= b->piles && pending <= b->pending;
	}
}

/**
 * gpreempt_demand_watch() - take in what a queue does that would run at other times if its node did
 * not only observe
 * @q: the queue, decided
 * @passed_ns: time since the last decision
 * @now_ns: time of the decision
 *
 * Work that piles up would have come as well if nothing lower ran beside it, and would be done
 * sooner: after as long as its kernels have waves, while its queue is not off the device. What does
 * not pile up may come only because what came before is done: it is done when it is.
 *
 * Return: true if waves are worth to be read until the next decision
 */
bool gpreempt_demand_watch(struct gpreempt_policy_queue *q, u64 passed_ns, u64 now_ns)
{
	struct gpreempt_policy_backlog *b = &q->backlog;
	u64 launches = q->seen.rptr - b->rptr, came = q->seen.wptr - b->wptr;

	b->rptr = q->seen.rptr;
	b->wptr = q->seen.wptr;
	if (came)
		demand_note_work(b, came, q->seen.pending);
	if (!b->piles) {
		b->done = false;
		b->launches = 0;
		b->ran_ns = 0;
		b->left_ns = 0;
		return false;
	}
	b->launches += launches;
	if (q->seen.waves_ns == now_ns && q->seen.waves)
		b->ran_ns += passed_ns;
	if (b->launches >= GPREEMPT_KERNELS_LEAST) {
		b->left_ns += came * (b->ran_ns / b->launches);
		if (!q->spared)
			b->left_ns -= gpreempt_earlier(b->left_ns, passed_ns);
		b->done = !b->left_ns;
	}
	return now_ns - q->seen.active_ns < GPREEMPT_LAUNCHED_NS;
}

/**
 * gpreempt_demand_learn_gap() - work is back after a gap
 * @gaps: the gaps before this one
 * @gap_ns: how long it was
 * @short_ns: no switch to others and back is worth one that is no longer
 *
 * What is long counts more than what is short, and lets the lengths of the short ones fade.
 */
void gpreempt_demand_learn_gap(struct gpreempt_policy_gaps *gaps, u64 gap_ns, u64 short_ns)
{
	if (gap_ns > short_ns) {
		gaps->nr /= 2;
		return;
	}
	if (gaps->nr < GPREEMPT_GAPS_MOST)
		gaps->nr++;
	gaps->longest_ns = gpreempt_later(
		gap_ns, gaps->longest_ns - gaps->longest_ns / GPREEMPT_FOLLOW_SHARE);
}
