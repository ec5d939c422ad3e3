// SPDX-License-Identifier: MIT
/*
 * waves.c - waves in flight, read from the device
 *
 * The monitor asks when the answer would change a decision, and when no runlist is under way. LIST
 * asks for its caller, at a bounded rate; decisions do not know of that.
 */
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "node.h"
#include "compat/compat.h"
#include "demand.h"
#include "level.h"
#include "amdgpu.h"
#include "amdgpu_reset.h"
#include "kfd_device_queue_manager.h"

/*
 * So long does a decision wait for waves in flight: most runlists of the driver are through by
 * then. Neighbours may send one after the other, so this begins anew only after waves have been
 * read.
 */
#define MAX_PUT_OFF_NS	200000ULL
/*
 * If none could be read for so long, the driver is kept from changing the runlist until they are
 * back and read, for this part of the time at most. The device has so long to read what it was
 * sent.
 */
#define QUIESCE_AFTER_NS	5000000ULL
#define QUIESCE_SHARE	10
#define QUIESCE_READ_NS	2000000ULL

/*
 * Where waves seem not to be counted: so often the counters are read all the same, in case that was
 * a mistake.
 */
#define RECOUNT_NS	10000000ULL

static void waves_add(struct gpreempt_node *gn, const struct kfd_cu_occupancy *occupancy)
{
	u32 i;

	for (i = 0; i < gn->monitor.nr_sampled; i++) {
		struct gpreempt_queue *gq = gpreempt_queue_of(gn->monitor.sampled[i]);

		if (gq->q->properties.doorbell_off == occupancy->doorbell_off)
			gq->waves.sum += occupancy->wave_cnt;
	}
}

/*
 * Is no runlist being changed, by us or by the driver, and has none been since the pass began?
 * Otherwise waves in flight say nothing.
 */
bool gpreempt_waves_quiescent(struct gpreempt_node *gn)
{
	return gn->backend->runlist_quiescent(gn) && READ_ONCE(gn->waves.epoch) == gn->waves.epoch_seen;
}

/*
 * A pass of our own sent the last runlist, and waves could be read before it: they are on their way
 * back. What has just ended would count as busy, and take off what has just been resumed. No
 * neighbour can draw this out: another pass needs a decision, and a runlist of the driver ends it.
 */
static bool waves_come_back(const struct gpreempt_node *gn, u64 now_ns)
{
	u64 acted_ns = gn->policy.acted_ns;

	return gn->waves.changed_ns < acted_ns && gn->waves.unread_ns >= acted_ns &&
	       now_ns - acted_ns < gpreempt_demand_restore_ns(&gn->policy);
}

/*
 * Waves in flight could not be read. True: they are waited for no longer, the decision takes it
 * that there are some.
 */
static bool waves_waited_enough(struct gpreempt_node *gn, u64 now_ns)
{
	gpreempt_stats_skip(gn, NULL, GPREEMPT_SKIP_UNSETTLED);
	if (!gn->waves.unread_ns)
		gn->waves.unread_ns = now_ns;
	if (now_ns - gn->waves.unread_ns < MAX_PUT_OFF_NS || waves_come_back(gn, now_ns))
		return false;
	gpreempt_demand_waves_unread(&gn->policy, now_ns);
	return true;
}

/*
 * Have waves not been readable for long, or has the runlist been changed again and again before
 * they could be back?
 */
static bool waves_wants_quiescence(const struct gpreempt_node *gn, u64 now_ns)
{
	if (gn->waves.unread_ns && now_ns - gn->waves.unread_ns >= QUIESCE_AFTER_NS)
		return true;
	return now_ns - gn->waves.changed_ns < gpreempt_demand_restore_ns(&gn->policy) &&
	       gn->waves.changed_ns - gn->waves.changing_ns >= QUIESCE_AFTER_NS;
}

/**
 * gpreempt_waves_quiesce() - keep the driver from changing the runlist until waves are back, if
 * nothing else has helped
 * @gn: the node
 *
 * Neighbours may have the runlist changed in a loop. Called if @wants_quiescence.
 *
 * Context: the monitor, pass_lock held; takes dqm_lock and sleeps.
 *
 * Return: true: dqm_lock is held, and waves in flight can be read
 */
bool gpreempt_waves_quiesce(struct gpreempt_node *gn)
{
	struct device_queue_manager *dqm = gn->node->dqm;
	u64 began_ns, ended_ns;
	bool quiescent;

	if (ktime_get_ns() < gn->waves.quiesce_due_ns || READ_ONCE(gn->life.paused))
		return false;
	gn->waves.wants_quiescence = false;
	dqm_lock(dqm);
	began_ns = ktime_get_ns();
	while (!gn->backend->taken_in(gn) && ktime_get_ns() - began_ns < QUIESCE_READ_NS)
		usleep_range(20, 40);
	fsleep(gpreempt_demand_restore_ns(&gn->policy) / NSEC_PER_USEC);
	quiescent = gn->backend->taken_in(gn);
	ended_ns = ktime_get_ns();
	gn->waves.quiesce_due_ns = ended_ns + QUIESCE_SHARE * (ended_ns - began_ns);
	if (!quiescent)
		dqm_unlock(dqm);
	return quiescent;
}

/*
 * Takes the srbm and grbm mutexes for a few register accesses. The reset semaphore is held for
 * reading.
 */
static void waves_ask_xcc(struct gpreempt_node *gn, int xcc, struct kfd_cu_occupancy *buffer,
			  void (*add)(struct gpreempt_node *gn,
				      const struct kfd_cu_occupancy *occupancy))
{
	u32 i;

	memset(buffer, 0, gn->waves.nr_slots * sizeof(*buffer));
	rt_mutex_lock(&gn->waves.index_lock);
	gpreempt_compat_count_waves(gn->node, buffer, xcc);
	rt_mutex_unlock(&gn->waves.index_lock);
	for (i = 0; i < gn->waves.nr_slots; i++) {
		if (!buffer[i].wave_cnt)
			continue;
		WRITE_ONCE(gn->waves.counted, true);
		add(gn, &buffer[i]);
	}
}

/* pass_lock held. False: the GPU is being reset. */
static bool waves_ask(struct gpreempt_node *gn)
{
	struct rw_semaphore *reset_sem = &gn->node->adev->reset_domain->sem;
	u32 xcc_mask = gn->node->xcc_mask;
	int xcc;

	/* Registers are out of bounds then. */
	if (!down_read_trylock(reset_sem))
		return false;
	WRITE_ONCE(gn->waves.asking, true);
	for_each_inst(xcc, xcc_mask)
		waves_ask_xcc(gn, xcc, gn->waves.occupancy, waves_add);
	WRITE_ONCE(gn->waves.asking, false);
	up_read(reset_sem);
	return true;
}

/* Read section held. False: the decision is put off. */
static bool waves_read(struct gpreempt_node *gn, bool quiescent, u64 now_ns)
{
	bool looked;
	u32 i;

	if (!quiescent && !gpreempt_waves_quiescent(gn))
		return waves_waited_enough(gn, now_ns);
	for (i = 0; i < gn->monitor.nr_sampled; i++)
		gpreempt_queue_of(gn->monitor.sampled[i])->waves.sum = 0;
	if (!waves_ask(gn)) {
		gpreempt_stats_skip(gn, NULL, GPREEMPT_SKIP_RESETTING);
		return false;
	}
	/* In case a change began while registers were read. */
	if (!quiescent && !gpreempt_waves_quiescent(gn))
		return waves_waited_enough(gn, now_ns);
	gn->waves.unread_ns = 0;
	gn->waves.read_ns = now_ns;
	looked = gn->policy.device.turns_ns && gn->backend->look_for_saved &&
		 gn->backend->look_for_saved(gn, quiescent);
	for (i = 0; i < gn->monitor.nr_sampled; i++) {
		struct gpreempt_queue *gq = gpreempt_queue_of(gn->monitor.sampled[i]);

		if (!gq->policy.preempted)
			gpreempt_demand_counted(&gn->policy, &gq->policy, gq->waves.sum,
						!looked || gq->hw.may_hide, now_ns);
	}
	if (quiescent)
		gpreempt_demand_waves_quiescent(&gn->policy, now_ns);
	return true;
}

/* see_lock held. */
static void waves_add_seen(struct gpreempt_node *gn, const struct kfd_cu_occupancy *occupancy)
{
	u32 i;

	for (i = 0; i < gn->waves.nr_seen; i++)
		if (gn->waves.seen[i].doorbell_off == occupancy->doorbell_off)
			break;
	if (i == AMDGPU_MAX_QUEUES)
		return;
	if (i == gn->waves.nr_seen)
		gn->waves.seen[gn->waves.nr_seen++] =
			(struct kfd_cu_occupancy){ .doorbell_off = occupancy->doorbell_off };
	gn->waves.seen[i].wave_cnt += occupancy->wave_cnt;
}

/* see_lock held. False: not while the GPU is reset, or while the monitor asks. */
static bool waves_ask_seen(struct gpreempt_node *gn)
{
	struct rw_semaphore *reset_sem = &gn->node->adev->reset_domain->sem;
	u32 xcc_mask = gn->node->xcc_mask;
	bool gives_way = false;
	int xcc;

	if (!down_read_trylock(reset_sem))
		return false;
	gn->waves.nr_seen = 0;
	for_each_inst(xcc, xcc_mask) {
		gives_way |= READ_ONCE(gn->waves.asking);
		if (!gives_way)
			waves_ask_xcc(gn, xcc, gn->waves.see_buffer, waves_add_seen);
	}
	up_read(reset_sem);
	return !gives_way;
}

static u32 waves_seen_of(const struct gpreempt_node *gn, const struct gpreempt_queue *gq)
{
	u32 i;

	for (i = 0; i < gn->waves.nr_seen; i++)
		if (gn->waves.seen[i].doorbell_off == gq->q->properties.doorbell_off)
			return gn->waves.seen[i].wave_cnt;
	return 0;
}

/*
 * A runlist is on its way, or was a moment ago: the driver sees what the first XCC has taken in.
 * Another one may still map queues, and registers then show the waves of one queue as those of
 * another.
 */
static bool waves_move(struct gpreempt_node *gn, u64 now_ns)
{
	return !gn->backend->runlist_quiescent(gn) ||
	       now_ns - READ_ONCE(gn->waves.moved_ns) < GPREEMPT_WAVES_RESTORE_NS;
}

/* see_lock held. Registers have been read from then to then. */
static void waves_pay_for_look(struct gpreempt_node *gn, u64 began_ns, u64 seen_ns)
{
	u64 due_ns = seen_ns + GPREEMPT_WAVES_SEE_NS;

	gn->waves.see_paid_ns = max(gn->waves.see_paid_ns, began_ns) +
				GPREEMPT_WAVES_SEE_SHARE * (seen_ns - began_ns);
	if (gn->waves.see_paid_ns > due_ns + GPREEMPT_WAVES_SEE_SAVED_NS)
		due_ns = gn->waves.see_paid_ns - GPREEMPT_WAVES_SEE_SAVED_NS;
	WRITE_ONCE(gn->waves.see_due_ns, due_ns);
}

/* see_lock held. */
static void waves_see_locked(struct gpreempt_node *gn)
{
	u64 began_ns = ktime_get_ns(), seen_ns;
	u32 epoch = READ_ONCE(gn->waves.epoch);
	struct gpreempt_queue *gq;
	bool seen;
	int idx;

	if (READ_ONCE(gn->life.paused) || began_ns < gn->waves.see_due_ns ||
	    waves_move(gn, began_ns))
		return;
	seen = waves_ask_seen(gn);
	seen_ns = ktime_get_ns();
	waves_pay_for_look(gn, began_ns, seen_ns);
	if (!seen || READ_ONCE(gn->waves.epoch) != epoch || waves_move(gn, seen_ns))
		return;
	idx = srcu_read_lock(&gn->queues.srcu);
	list_for_each_entry_srcu(gq, &gn->queues.list, link,
				 srcu_read_lock_held(&gn->queues.srcu)) {
		if (gpreempt_policy_read(gq->policy.preempted))
			continue;
		WRITE_ONCE(gq->waves.seen, waves_seen_of(gn, gq));
		WRITE_ONCE(gq->waves.seen_ns, seen_ns);
	}
	srcu_read_unlock(&gn->queues.srcu, idx);
}

/**
 * gpreempt_waves_see() - ask the device for waves in flight, to show which queues work
 * @gn: the node
 *
 * The monitor asks only when it matters to a decision, and not at all while it is parked. Its
 * queues receive the answer in &gpreempt_queue_waves.seen. This does nothing while the monitor
 * asks, or while a runlist is under way or was a moment ago. Any user may want to see, so it asks
 * no more often than every GPREEMPT_WAVES_SEE_NS, and for one part in GPREEMPT_WAVES_SEE_SHARE of
 * the time, counted over GPREEMPT_WAVES_SEE_SAVED_NS. Decisions do not use the answer, and a pass
 * waits for it only at the index locks, while the registers of one XCC are read.
 *
 * Context: the node is kept by gpreempt_node_find(); may sleep.
 */
void gpreempt_waves_see(struct gpreempt_node *gn)
{
	if (!gn->backend || !gn->waves.occupancy || !READ_ONCE(gn->queues.nr) ||
	    ktime_get_ns() < READ_ONCE(gn->waves.see_due_ns))
		return;
	/* Another reader is about to know. */
	if (!mutex_trylock(&gn->waves.see_lock))
		return;
	waves_see_locked(gn);
	mutex_unlock(&gn->waves.see_lock);
}

/**
 * gpreempt_waves_shown() - waves in flight of a queue, to show them
 * @gq: the queue
 *
 * The youngest answer counts, the monitor's or LIST's: while a runlist moves waves there is no new
 * one.
 *
 * Context: in the read section of the queues, or gpreempt_lock held.
 *
 * Return: waves; ~0: not known
 */
u32 gpreempt_waves_shown(const struct gpreempt_queue *gq)
{
	u64 seen_ns = READ_ONCE(gq->waves.seen_ns);

	/* They are saved. */
	if (gpreempt_policy_read(gq->policy.preempted) && !READ_ONCE(gq->hw.leaving))
		return 0;
	if (seen_ns && seen_ns >= gpreempt_policy_read(gq->policy.seen.waves_ns))
		return READ_ONCE(gq->waves.seen);
	return gpreempt_queue_waves(gq);
}

/**
 * gpreempt_waves_moved() - a runlist, or a queue that is loaded anew, moves waves on the device
 * @gn: the node
 *
 * Waves in flight that were read before do not count any more.
 *
 * Context: dqm_lock held.
 */
void gpreempt_waves_moved(struct gpreempt_node *gn)
{
	WRITE_ONCE(gn->waves.epoch, gn->waves.epoch + 1);
	WRITE_ONCE(gn->waves.moved_ns, ktime_get_ns());
}

/**
 * gpreempt_waves_acted() - the pass under way changes the runlist itself
 * @gn: the node
 *
 * Context: the monitor, pass_lock held.
 */
void gpreempt_waves_acted(struct gpreempt_node *gn)
{
	gn->waves.acted = true;
}

/**
 * gpreempt_waves_begin() - a pass begins: tell the policy whether waves have been moved since the
 * last one
 * @gn: the node, with the policy's parameters of this pass
 * @now_ns: time of the samples
 *
 * Context: the monitor, pass_lock held.
 */
void gpreempt_waves_begin(struct gpreempt_node *gn, u64 now_ns)
{
	u32 epoch = READ_ONCE(gn->waves.epoch);

	gn->waves.asked_ns = 0;
	if (gn->waves.epoch_seen != epoch) {
		/* The driver's first one for a while? */
		if (!gn->waves.acted &&
		    now_ns - gn->waves.changed_ns >= gpreempt_demand_restore_ns(&gn->policy))
			gn->waves.changing_ns = now_ns;
		if (!gn->waves.acted)
			gn->waves.changed_ns = now_ns;
		gpreempt_demand_runlist_changed(&gn->policy, now_ns);
		gn->waves.epoch_seen = epoch;
	}
	gn->waves.acted = false;
}

/**
 * gpreempt_waves_read() - read waves in flight for a decision
 * @gn: the node, sampled
 * @quiescent: gpreempt_waves_quiesce() keeps the driver from changing the runlist
 * @now_ns: time of the samples
 *
 * Context: the monitor, pass_lock held, in the read section of its pass.
 *
 * Return: false if the decision is put off
 */
bool gpreempt_waves_read(struct gpreempt_node *gn, bool quiescent, u64 now_ns)
{
	u64 began_ns = ktime_get_ns();

	if (!waves_read(gn, quiescent, now_ns))
		return false;
	gn->waves.wants_quiescence = !quiescent && waves_wants_quiescence(gn, now_ns);
	gn->waves.asked_ns = ktime_get_ns() - began_ns;
	return true;
}

/**
 * gpreempt_waves_lag() - the counters of a node lag behind what runs
 * @gn: the node
 *
 * Context: the monitor, pass_lock held.
 */
void gpreempt_waves_lag(struct gpreempt_node *gn)
{
	gn->waves.lag_ns = GPREEMPT_WAVES_LAG_NS;
}

/**
 * gpreempt_waves_uncounted() - the counters of a node do not count
 * @gn: the node
 *
 * Context: the monitor, pass_lock held.
 */
void gpreempt_waves_uncounted(struct gpreempt_node *gn)
{
	gn->waves.saved = true;
	dev_info(gn->node->adev->dev, "gpreempt: gpu %u: waves in flight are not counted; what runlists save tells from now on\n",
		 gn->node->id);
}

/**
 * gpreempt_waves_count() - are waves counted, as far as is known?
 * @gn: the node, sampled
 * @now_ns: time of the samples
 *
 * A runlist may have saved waves that were none: the offset of a control stack may be left over
 * from what it had before. So the counters are read now and then where they seem not to count.
 *
 * Context: the monitor, pass_lock held, in the read section of its pass.
 *
 * Return: false if only runlists tell
 */
bool gpreempt_waves_count(struct gpreempt_node *gn, u64 now_ns)
{
	u64 began_ns;

	if (!gn->waves.saved)
		return true;
	if (now_ns >= gn->waves.recount_ns && level_matters(&gn->policy) &&
	    gpreempt_waves_quiescent(gn)) {
		began_ns = ktime_get_ns();
		waves_ask(gn);
		gn->waves.asked_ns = ktime_get_ns() - began_ns;
		gn->waves.recount_ns = now_ns + RECOUNT_NS;
	}
	if (!READ_ONCE(gn->waves.counted))
		return false;
	gn->waves.saved = false;
	gn->policy.device.waves_saved = false;
	dev_info(gn->node->adev->dev, "gpreempt: gpu %u: waves in flight are counted after all\n",
		 gn->node->id);
	return true;
}

/**
 * gpreempt_waves_init_node() - find out whether waves in flight can be read on a node
 * @gn: the node, new, with its backend
 *
 * RLC reads the registers of a virtual function, tens of microseconds each, and a look takes
 * hundreds of them. That is not tested: there, launches count instead, as with a driver that does
 * not tell queues apart.
 *
 * Context: may sleep.
 *
 * Return: 0 or -ENOMEM; gpreempt_waves_free_node() is to be called in both cases
 */
int gpreempt_waves_init_node(struct gpreempt_node *gn)
{
	struct amdgpu_device *adev = gn->node->adev;

	mutex_init(&gn->waves.see_lock);
	rt_mutex_init(&gn->waves.index_lock);
	gn->waves.known = gpreempt_compat_counts_waves(gn->node) && !amdgpu_sriov_vf(adev);
	if (gn->backend && amdgpu_sriov_vf(adev))
		dev_info(adev->dev, "gpreempt: gpu %u is a virtual function: its waves in flight are not read\n", gn->node->id);
	else if (gn->backend && !gn->waves.known)
		dev_info(adev->dev, "gpreempt: gpu %u: waves in flight are not read: this driver does not count them by queue\n",
			 gn->node->id);
	if (!gn->backend || !gn->waves.known)
		return 0;
	gn->waves.nr_slots =
		min_t(u32, AMDGPU_MAX_QUEUES,
		      adev->gfx.mec.num_pipe_per_mec * adev->gfx.mec.num_queue_per_pipe);
	gn->waves.occupancy = kcalloc(AMDGPU_MAX_QUEUES, sizeof(*gn->waves.occupancy), GFP_KERNEL);
	gn->waves.seen = kcalloc(AMDGPU_MAX_QUEUES, sizeof(*gn->waves.seen), GFP_KERNEL);
	gn->waves.see_buffer =
		kcalloc(AMDGPU_MAX_QUEUES, sizeof(*gn->waves.see_buffer), GFP_KERNEL);
	return gn->waves.occupancy && gn->waves.seen && gn->waves.see_buffer ? 0 : -ENOMEM;
}

/**
 * gpreempt_waves_free_node() - undo gpreempt_waves_init_node()
 * @gn: the node; nothing reads waves on it any more
 *
 * Context: may sleep.
 */
void gpreempt_waves_free_node(struct gpreempt_node *gn)
{
	kfree(gn->waves.see_buffer);
	kfree(gn->waves.seen);
	kfree(gn->waves.occupancy);
	mutex_destroy(&gn->waves.see_lock);
}
