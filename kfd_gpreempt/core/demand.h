/* SPDX-License-Identifier: MIT */
/*
 * demand.h - has a queue work?
 *
 * *Demand* means that a queue could use the device now; the block at the head of policy.c has the
 * rules. What is read of queues comes in through the functions of demand.c, which alone write
 * &gpreempt_policy_queue.seen. The predicates are here because each pass asks them for each queue:
 * a call would take a tenth of the time that a pass may take.
 *
 * Pure code: see policy.h for what may be used here.
 */
#ifndef GPREEMPT_DEMAND_H
#define GPREEMPT_DEMAND_H

#include "policy.h"

void gpreempt_demand_doubt(struct gpreempt_policy_queue *q, u64 now_ns);
void gpreempt_demand_driver_off(struct gpreempt_policy_queue *q, bool off, bool packets,
				u64 now_ns);
void gpreempt_demand_sample(struct gpreempt_policy_queue *q, u64 rptr, u64 wptr, u64 pending,
			    u64 now_ns);
void gpreempt_demand_set_waves(struct gpreempt_policy_queue *q, u32 waves, u64 now_ns);
void gpreempt_demand_counted(const struct gpreempt_policy_node *pn, struct gpreempt_policy_queue *q,
			     u32 waves, bool may_hide, u64 now_ns);
void gpreempt_demand_waves_quiescent(struct gpreempt_policy_node *pn, u64 now_ns);
void gpreempt_demand_waves_unread(struct gpreempt_policy_node *pn, u64 now_ns);
void gpreempt_demand_block(struct gpreempt_policy_queue *q,
			   const struct gpreempt_policy_params *params, u64 now_ns);
void gpreempt_demand_try_again(struct gpreempt_policy_queue *q, u64 now_ns);
void gpreempt_demand_runlist_changed(const struct gpreempt_policy_node *pn, u64 now_ns);
void gpreempt_demand_begin_turns(const struct gpreempt_policy_node *pn, u64 now_ns);
void gpreempt_demand_block_saved(const struct gpreempt_policy_node *pn, u64 now_ns);
void gpreempt_demand_miscounted(const struct gpreempt_policy_node *pn, u64 now_ns);
void gpreempt_demand_turns(struct gpreempt_policy_node *pn, u64 turns_ns);
bool gpreempt_demand_counted_none(const struct gpreempt_policy_node *pn,
				  const struct gpreempt_policy_queue *q, u64 now_ns);
void gpreempt_demand_saw(struct gpreempt_policy_queue *q,
			 const struct gpreempt_policy_device *device, bool saved_waves, u64 now_ns);
void gpreempt_demand_mapped(struct gpreempt_policy_queue *q, u64 rptr);
void gpreempt_demand_preempted(struct gpreempt_policy_queue *q, u64 now_ns);
void gpreempt_demand_resumed(struct gpreempt_policy_queue *q, u64 now_ns);
bool gpreempt_demand_watch(struct gpreempt_policy_queue *q, u64 passed_ns, u64 now_ns);
void gpreempt_demand_learn_gap(struct gpreempt_policy_gaps *gaps, u64 gap_ns, u64 short_ns);

static inline u64 gpreempt_earlier(u64 a, u64 b)
{
	return a < b ? a : b;
}

static inline u64 gpreempt_later(u64 a, u64 b)
{
	return a > b ? a : b;
}

/* So far apart looks may be, though more often might be wished for */
static inline u64 demand_look_ns(const struct gpreempt_policy_node *pn)
{
	return gpreempt_later(pn->params.interval_ns,
			      gpreempt_later(pn->params.poll_ns, pn->cost_ns));
}

/* A trial was in vain so often: when is the next one? The shift is bounded, as its result is. */
static inline u64 demand_retry_ns(u64 first_ns, u32 mistakes, u64 most_ns)
{
	return gpreempt_earlier(first_ns << (mistakes < 16 ? mistakes : 16), most_ns);
}

/*
 * What firmware says of a hardware pass is believed up to so many times what the host saw it take:
 * a wrong stamp shall not decide who waits.
 */
static inline u64 demand_stamp_ns(u64 stamp_ns, u64 pass_ns)
{
	return gpreempt_earlier(stamp_ns, GPREEMPT_PASS_SHARE * pass_ns);
}

/*
 * What bringing waves back costs that took so long to save. It is not seen from here when that is
 * done: firmware may say so. Otherwise it moves the same bytes the other way, and is taken to cost
 * the same.
 */
static inline u64 demand_restore_ns(const struct gpreempt_policy_node *pn, u64 saved_ns)
{
	return pn->device.restore_ns ? demand_stamp_ns(pn->device.restore_ns, saved_ns) : saved_ns;
}

/* To come back and to be preempted again costs so much: what both passes are charged for. */
static inline u64 demand_switch_ns(const struct gpreempt_policy_node *pn)
{
	return 2 * (pn->pass_ns + demand_stamp_ns(pn->device.connect_ns, pn->pass_ns)) +
	       demand_restore_ns(pn, pn->pass_ns);
}

/*
 * Time at which the waves that the last pass brought back run again. The pass itself may have saved
 * nothing, so the ones before count as well. It takes no less than saving, whatever firmware says:
 * otherwise a return in vain looks like service. After a pass that waited for a device in trouble,
 * the length of the restore is not known.
 */
static inline u64 demand_back_ns(const struct gpreempt_policy_node *pn)
{
	u64 saved_ns = gpreempt_later(pn->pass_ns, pn->save_ns);

	if (saved_ns > GPREEMPT_PASS_SHARE * GPREEMPT_WAVES_RESTORE_MAX_NS)
		return pn->acted_ns;
	return pn->acted_ns + demand_stamp_ns(pn->device.connect_ns, saved_ns) +
	       gpreempt_later(demand_restore_ns(pn, saved_ns), saved_ns);
}

/* A gap that is worth no switch: there would be nothing left of it. */
static inline u64 demand_short_gap_ns(const struct gpreempt_policy_node *pn)
{
	/*
	 * What firmware noted of a restore is its own part of it: the host's time of a pass that
	 * saves has the way to the device as well.
	 */
	u64 cost_ns = gpreempt_later(demand_switch_ns(pn), 3 * pn->pass_ns);

	/* Both of its ends are seen up to a look late. */
	return gpreempt_earlier(cost_ns + 2 * gpreempt_later(pn->params.poll_ns, pn->cost_ns),
				GPREEMPT_BRIEF_NS);
}

/* So long it pays to wait for those that have been without work so often for a short time. */
static inline u64 demand_gap_wait_ns(const struct gpreempt_policy_gaps *gaps, u64 short_ns)
{
	if (gaps->nr < GPREEMPT_GAPS_LEAST)
		return 0;
	return GPREEMPT_GAP_SHARE * gpreempt_earlier(gaps->longest_ns, short_ns);
}

/* It is off the device, or would be if its node did not only observe. */
static inline bool demand_is_off(const struct gpreempt_policy_queue *q)
{
	return q->preempted || q->spared;
}

/* A queue that cannot be looked at may have got packets since it was taken off. */
static inline bool demand_of_preempted(const struct gpreempt_policy_queue *q)
{
	return q->preempted &&
	       (q->seen.pending || (q->saved_waves && !q->seen.showed_none) || q->set.unseen);
}

/* The same of one that would be off the device if its node did not only observe */
static inline bool demand_of_off(const struct gpreempt_policy_queue *q)
{
	return q->spared ? q->had_demand : demand_of_preempted(q);
}

static inline bool demand_stall_expired(const struct gpreempt_policy_node *pn,
					const struct gpreempt_policy_queue *q, u64 now_ns)
{
	u64 after_ns = pn->params.blocked_ns;

	if (!pn->device.waves_known || !after_ns || !q->seen.stalled_ns)
		return false;
	/* An answer costs a hardware pass: the longer a kernel runs, the rarer. */
	if (pn->device.waves_saved)
		after_ns = gpreempt_later(
			after_ns, (q->seen.stalled_ns -
				   gpreempt_earlier(q->seen.launched_ns, q->seen.stalled_ns)) /
					  GPREEMPT_SAVED_SHARE);
	return now_ns - q->seen.stalled_ns >= after_ns;
}

/*
 * For how long no waves and no packets are believed: as long again as they have been read, up to a
 * bound.
 */
static inline u64 demand_believed_for(const struct gpreempt_policy_queue *q)
{
	/* No pointer tells when its next work comes, or the program may write its pointers back. */
	return gpreempt_earlier(q->seen.waves_ns - q->seen.zero_ns,
				q->set.unseen ? GPREEMPT_WAVES_SETTLE_NS :
						GPREEMPT_WAVES_UNKNOWN_NS);
}

/*
 * A runlist told. No waves stay none until the queue launches, because nothing comes without
 * packets; some are believed for a while.
 */
static inline bool demand_saved_fresh(const struct gpreempt_policy_queue *q, u64 now_ns)
{
	u64 since_ns = gpreempt_later(q->seen.launched_ns, q->seen.run_ns);

	if (!q->seen.waves)
		return q->seen.blocked || !q->seen.pending;
	return now_ns - q->seen.waves_ns <
	       gpreempt_later(GPREEMPT_LAUNCHED_NS,
			      (q->seen.waves_ns - gpreempt_earlier(since_ns, q->seen.waves_ns)) /
				      GPREEMPT_SAVED_SHARE);
}

/* Have counters shown none for long enough, though it may have waited for its turn? */
static inline bool demand_had_its_turn(const struct gpreempt_policy_node *pn,
				       const struct gpreempt_policy_queue *q)
{
	return q->seen.waves_ns - q->seen.zero_ns >= pn->device.turns_ns;
}

/* Waves that are not counted may wait for the queue's turn. */
static inline bool demand_awaits_turn(const struct gpreempt_policy_node *pn,
				      const struct gpreempt_policy_queue *q)
{
	return !q->preempted && q->seen.used && !q->seen.pending && !q->set.unseen &&
	       (!q->seen.waves_ns || q->seen.waves || !demand_had_its_turn(pn, q));
}

/*
 * Is the answer to "has this mapped queue waves in flight?" still the one that was read? No waves
 * and no packets are believed for as long again as they have been read, up to
 * demand_believed_for()'s bound, since waves can hide for as long as they wait for slots; a blocked
 * queue is asked again now and then; everything else is true only for the pass that read it.
 */
static inline bool demand_waves_fresh(const struct gpreempt_policy_node *pn,
				      const struct gpreempt_policy_queue *q, u64 now_ns)
{
	if (q->seen.waves_ns && pn->device.waves_saved)
		return q->seen.waves_ns == now_ns || demand_saved_fresh(q, now_ns);
	if (q->seen.waves_ns == now_ns)
		return q->seen.waves || demand_had_its_turn(pn, q);
	if (!q->seen.waves_ns || q->seen.waves || !demand_had_its_turn(pn, q))
		return false;
	if (!q->seen.pending)
		return q->seen.waves_ns - q->seen.zero_ns >= GPREEMPT_WAVES_SETTLE_NS &&
		       now_ns - q->seen.waves_ns < demand_believed_for(q);
	return q->seen.blocked && now_ns - q->seen.waves_ns < pn->params.blocked_ns;
}

/* It read as without waves for long enough to be more than a runlist in progress. */
static inline bool demand_zero_settled(const struct gpreempt_policy_queue *q, u64 now_ns)
{
	return q->seen.zero_ns && now_ns - q->seen.zero_ns >= GPREEMPT_WAVES_SETTLE_NS;
}

/**
 * gpreempt_demand_restore_ns() - how long it may take until waves are back on the device after a
 * runlist
 * @pn: the node
 *
 * Return: nanoseconds, GPREEMPT_WAVES_RESTORE_MAX_NS at most
 */
static inline u64 gpreempt_demand_restore_ns(const struct gpreempt_policy_node *pn)
{
	u64 stamps_ns = demand_stamp_ns(pn->device.connect_ns, pn->pass_ns) +
			demand_stamp_ns(pn->device.restore_ns, pn->pass_ns);
	u64 takes_ns = gpreempt_later(pn->pass_ns, stamps_ns);
	u64 restore_ns =
		gpreempt_later(GPREEMPT_PASS_SHARE * takes_ns, GPREEMPT_WAVES_RESTORE_NS);

	return gpreempt_earlier(restore_ns, GPREEMPT_WAVES_RESTORE_MAX_NS);
}

/*
 * A runlist took its waves off, and they may not be back yet. Of a pass of our own they begin to
 * come back at its end.
 */
static inline bool demand_restore_pending(const struct gpreempt_policy_node *pn,
					  const struct gpreempt_policy_queue *q, u64 now_ns)
{
	u64 from_ns = q->seen.restore_since_ns;

	if (!from_ns)
		return false;
	if (from_ns == pn->acting_ns)
		from_ns = gpreempt_later(from_ns, pn->acted_ns);
	return now_ns - from_ns < gpreempt_demand_restore_ns(pn);
}

/*
 * It came back in the middle of a kernel, and has shown no waves, but to a look at which they may
 * not have been back: it is in there still. If it has ended that after all, no waves will be saved
 * with it, and the next time it is asked.
 */
static inline bool demand_in_kernel(const struct gpreempt_policy_node *pn,
				    const struct gpreempt_policy_queue *q)
{
	return q->seen.in_kernel &&
	       q->seen.zero_ns < q->seen.run_ns + gpreempt_demand_restore_ns(pn);
}

/*
 * One that stands still: asked now, it cannot be found blocked yet, whatever the answer is. That
 * takes a second look.
 */
static inline bool demand_first_look(const struct gpreempt_policy_node *pn,
				     const struct gpreempt_policy_queue *q, u64 now_ns)
{
	return q->seen.pending && !q->seen.blocked &&
	       (demand_in_kernel(pn, q) || !demand_zero_settled(q, now_ns));
}

/* DEMAND_MAYBE: it has demand if it has waves in flight, and that is not known. */
enum demand { DEMAND_NONE, DEMAND_MAYBE, DEMAND_SURE };

/* So soon after its last launch it counts as busy, without an answer about waves. */
static inline enum demand demand_of_launch(const struct gpreempt_policy_queue *q, u64 now_ns)
{
	return q->seen.launched_ns && now_ns - q->seen.launched_ns < GPREEMPT_LAUNCHED_NS ?
		       DEMAND_SURE :
		       DEMAND_NONE;
}

/* Where only runlists tell. Right after a launch none is sent in order to know. */
static inline enum demand demand_of_saved(const struct gpreempt_policy_node *pn,
					  const struct gpreempt_policy_queue *q, u64 now_ns)
{
	if (q->set.unseen)
		return DEMAND_SURE;
	if (q->seen.waves_ns && !q->seen.waves)
		return DEMAND_NONE;
	if (demand_of_launch(q, now_ns) == DEMAND_SURE)
		return DEMAND_SURE;
	return demand_waves_fresh(pn, q, now_ns) ? DEMAND_SURE : DEMAND_MAYBE;
}

static inline enum demand demand_of_waves(const struct gpreempt_policy_node *pn,
					  const struct gpreempt_policy_queue *q, u64 now_ns)
{
	const struct gpreempt_policy_device *device = &pn->device;

	if (!q->seen.used && !q->set.unseen)
		return DEMAND_NONE;
	/* No runlist may come that tells, and not every backend asks. */
	if (q->seen.in_doubt && now_ns - q->seen.moved_ns < GPREEMPT_LAUNCHED_NS)
		return DEMAND_SURE;
	if (!device->waves_known && q->set.unseen)
		return DEMAND_SURE;
	if (!device->waves_known)
		return demand_of_launch(q, now_ns);
	if (device->waves_saved)
		return demand_of_saved(pn, q, now_ns);
	if (!demand_waves_fresh(pn, q, now_ns))
		return DEMAND_MAYBE;
	if (device->waves_lag_ns && q->seen.launched_ns &&
	    now_ns - q->seen.launched_ns < device->waves_lag_ns)
		return DEMAND_SURE;
	if ((q->seen.waves && q->seen.waves_ns) || q->seen.restore_since_ns)
		return DEMAND_SURE;
	/* Counters that have never shown any waves may not count at all. */
	return pn->waves_seen ? DEMAND_NONE : demand_of_launch(q, now_ns);
}

/**
 * gpreempt_demand_came() - has announced work come?
 * @q: the queue
 *
 * Return: true if it has, to this queue or, if the same was announced for them, to another one of
 * its process
 */
static inline bool gpreempt_demand_came(const struct gpreempt_policy_queue *q)
{
	return q->set.expected_until_ns == q->seen.expected_met_ns ||
	       q->set.expected_until_ns == q->process->expected_met_ns;
}

/* Work that was announced, and that has not come yet. */
static inline bool demand_expected(const struct gpreempt_policy_queue *q, u64 now_ns)
{
	return now_ns < q->set.expected_until_ns && !gpreempt_demand_came(q);
}

static __always_inline enum demand demand_of(const struct gpreempt_policy_node *pn,
					     const struct gpreempt_policy_queue *q, u64 now_ns)
{
	if (demand_expected(q, now_ns))
		return DEMAND_SURE;
	if (q->preempted)
		return demand_of_preempted(q) ? DEMAND_SURE : DEMAND_NONE;
	/* Off the device it is in no other's way; of the others pending says so. */
	if (q->set.unseen && q->seen.driver_off)
		return DEMAND_NONE;
	if (!q->seen.pending)
		return demand_of_waves(pn, q, now_ns);
	if (!q->seen.blocked && !demand_stall_expired(pn, q, now_ns))
		return DEMAND_SURE;
	if (!demand_waves_fresh(pn, q, now_ns))
		return DEMAND_MAYBE;
	return q->seen.waves || !q->seen.blocked ? DEMAND_SURE : DEMAND_NONE;
}

/*
 * How long may it be unknown whether a queue has waves? To find that none show in any turn of
 * firmware's, looks for them must not be further apart than a turn.
 */
static inline u64 demand_unknown_at_most(const struct gpreempt_policy_node *pn,
					 const struct gpreempt_policy_queue *q)
{
	if (!pn->idle_ns)
		return GPREEMPT_WAVES_UNKNOWN_NS;
	if (q->seen.waves_ns && !q->seen.waves && !demand_had_its_turn(pn, q))
		return GPREEMPT_TURN_NS / 4;
	return gpreempt_earlier(GPREEMPT_WAVES_UNKNOWN_NS, pn->idle_ns);
}

static inline bool demand_unknown_for_long(const struct gpreempt_policy_node *pn,
					   const struct gpreempt_policy_queue *q, u64 now_ns)
{
	u64 since_ns = q->seen.waves_ns > q->seen.moved_ns ? q->seen.waves_ns : q->seen.moved_ns;

	return !q->preempted && !q->seen.pending && !demand_waves_fresh(pn, q, now_ns) &&
	       now_ns - since_ns >= demand_unknown_at_most(pn, q);
}

/* A queue whose runlist is sent now has its waves back only later. */
static inline void demand_await_waves(struct gpreempt_policy_queue *q, u64 now_ns)
{
	q->seen.restore_since_ns = now_ns;
	q->seen.has_restore_rptr = false;
}

/* From now on it waits off the device for another reason. */
static inline void demand_starve_anew(struct gpreempt_policy_queue *q, u64 now_ns)
{
	q->seen.starved_ns = now_ns;
}

/* From now on: what it launched before took its time beside others. */
static inline void demand_count_launches(struct gpreempt_policy_queue *q, u64 now_ns)
{
	q->seen.counted_ns = now_ns;
	q->seen.counted_rptr = q->seen.rptr;
}

/* It has work, whether a pointer moved or not. */
static inline void demand_note_active(struct gpreempt_policy_queue *q, u64 now_ns)
{
	q->seen.active_ns = now_ns;
}

static inline bool demand_recently_active(const struct gpreempt_policy_queue *q, u64 now_ns)
{
	return q->seen.active_ns && now_ns - q->seen.active_ns < GPREEMPT_CONTENDED_NS;
}

/* It had the device before all others, and nothing to do there. */
static inline void demand_note_none(struct gpreempt_policy_queue *q)
{
	q->seen.showed_none = true;
}

/* That it stands still says nothing. The next sample starts the stall anew, if it still is one. */
static inline void demand_forget_stall(struct gpreempt_policy_queue *q)
{
	q->seen.stalled_ns = 0;
}

/* Once in each pass, for each queue that it looks at. */
static __always_inline enum demand demand_look(const struct gpreempt_policy_node *pn,
					       struct gpreempt_policy_queue *q, u64 now_ns)
{
	if (q->seen.blocked && now_ns >= q->seen.try_ns)
		gpreempt_demand_try_again(q, now_ns);
	/* Once over it stays over, however long a later pass takes. */
	if (!demand_restore_pending(pn, q, now_ns))
		q->seen.restore_since_ns = 0;
	/* Its node only observes: that would be done by now. */
	if (q->backlog.done && q->seen.wptr == q->backlog.wptr)
		return DEMAND_NONE;
	return demand_of(pn, q, now_ns);
}

#endif /* GPREEMPT_DEMAND_H */
