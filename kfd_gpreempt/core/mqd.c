// SPDX-License-Identifier: MIT
/*
 * mqd.c - what stands in the MQDs of queues: the priority that the hardware is told, and snapshots
 *
 * The CP and the dispatcher have priorities of their own, per pipe and queue, taken from the MQD
 * when the queue is mapped. They order launches, not waves that run. While processes of different
 * rank work, every queue gets the normal one by default: the order comes from the scheduler.
 * Otherwise each queue has what its program asked for, because streams of one program have an order
 * among themselves.
 *
 * MQDs are written only while their queue is not on the device: with the hardware scheduler on the
 * way to a runlist, without it when a queue is about to be loaded, and otherwise by taking it off
 * for that once. A runlist is sent for it alone when that rivalry begins or ends, at most twice a
 * second, and only if an MQD is not what it should be.
 *
 * A snapshot is a copy of the MQDs, made when the queue has left the device: the CP writes its
 * state back while it unmaps, so an earlier copy would be older than the queue. The driver's own
 * function repeats in the copy whatever the driver changes in the MQDs meanwhile. After that any
 * difference means that something else has written there.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "node.h"
#include "compat/compat.h"

/**
 * struct gpreempt_snapshot - a copy of the MQDs of a queue, one for each XCC
 * @stride: distance of two MQDs, in the queue and in @mqds, in bytes
 * @ctl_stack_offset: of the control stack behind each MQD in @mqds, in bytes
 * @ctl_stack_bytes: its size, while @valid
 * @valid: the queue is preempted and this is what it looked like
 * @mqds: laid out as the queue's, for the driver's functions to work on it
 */
struct gpreempt_snapshot {
	u64 stride;
	u32 ctl_stack_offset;
	u32 ctl_stack_bytes;
	bool valid;
	u8 mqds[] __aligned(8);
};

static struct mqd_manager *mqd_manager_of(const struct queue *q)
{
	return q->device->dqm->mqd_mgrs[KFD_MQD_TYPE_CP];
}

static u32 mqd_nr_xcc(const struct queue *q)
{
	return NUM_XCC(q->device->xcc_mask);
}

/**
 * gpreempt_mqd_snapshot_alloc() - room for the snapshot of a queue
 * @q: a compute queue
 *
 * Looks at the queue's properties only: the MQDs of a queue on its way out may be gone.
 *
 * Context: may sleep.
 *
 * Return: an invalid snapshot, for kvfree(); NULL without memory, or if the MQDs do not lie as they
 * are known to
 */
struct gpreempt_snapshot *gpreempt_mqd_snapshot_alloc(struct queue *q)
{
	struct mqd_manager *mm = mqd_manager_of(q);
	struct gpreempt_snapshot *snapshot;
	/* With MES it is in the save area of the program, and MQDs may share a page. */
	bool behind = !q->device->kfd->shared_resources.enable_mes;
	u32 offset = behind ? ALIGN(mm->mqd_size, PAGE_SIZE) : mm->mqd_size;
	u64 stride;

	if (!mm->mqd_stride)
		return NULL;
	stride = mm->mqd_stride(mm, &q->properties);
	if (stride < offset)
		return NULL;
	snapshot = kvzalloc(struct_size(snapshot, mqds, stride * mqd_nr_xcc(q)), GFP_KERNEL);
	if (!snapshot)
		return NULL;
	snapshot->stride = stride;
	snapshot->ctl_stack_offset = offset;
	return snapshot;
}

/**
 * gpreempt_mqd_snapshot_take() - copy the MQDs of a queue that has just left the device
 * @gq: the queue
 *
 * The driver's own functions for this, get_checkpoint_info() and checkpoint_mqd(), take
 * topology_lock. Memory is allocated under that, which may evict queues, which takes dqm_lock.
 *
 * Context: dqm_lock held.
 */
void gpreempt_mqd_snapshot_take(struct gpreempt_queue *gq)
{
	struct gpreempt_snapshot *snapshot = gq->mqd.snapshot;
	struct mqd_manager *mm = mqd_manager_of(gq->q);
	u32 xcc;

	if (!snapshot)
		return;
	snapshot->valid = true;
	for (xcc = 0; xcc < mqd_nr_xcc(gq->q); xcc++) {
		const struct v9_mqd *m = gq->q->mqd + snapshot->stride * xcc;
		u8 *copy = snapshot->mqds + snapshot->stride * xcc;

		snapshot->ctl_stack_bytes = min_t(u64, m->cp_hqd_cntl_stack_size,
						  snapshot->stride - snapshot->ctl_stack_offset);
		memcpy(copy, m, mm->mqd_size);
		memcpy(copy + snapshot->ctl_stack_offset,
		       (const u8 *)m + snapshot->ctl_stack_offset, snapshot->ctl_stack_bytes);
	}
}

/**
 * gpreempt_mqd_snapshot_update() - the driver has changed the MQDs of a queue; the snapshot follows
 * @gq: the queue
 * @minfo: what it changed beside the queue's properties; may be NULL
 *
 * Context: dqm_lock held.
 */
void gpreempt_mqd_snapshot_update(struct gpreempt_queue *gq, struct mqd_update_info *minfo)
{
	struct queue_properties properties = gq->q->properties;
	struct mqd_manager *mm = mqd_manager_of(gq->q);

	if (gq->mqd.snapshot && gq->mqd.snapshot->valid)
		mm->update_mqd(mm, gq->mqd.snapshot->mqds, &properties, minfo);
}

/**
 * gpreempt_mqd_snapshot_mqds() - the copies, for what else writes to MQDs
 * @gq: the queue; may be NULL
 *
 * Context: dqm_lock held.
 *
 * Return: where they are, laid out as the queue's own; NULL if there are none
 */
void *gpreempt_mqd_snapshot_mqds(struct gpreempt_queue *gq)
{
	return gq && gq->mqd.snapshot && gq->mqd.snapshot->valid ? gq->mqd.snapshot->mqds : NULL;
}

/**
 * __kfd_gpreempt_mqd_updated() - the driver has changed the MQDs of a queue
 * @q: the queue; not on the device
 * @minfo: what it changed beside the queue's properties; may be NULL
 *
 * Context: dqm_lock held; p->mutex as well, but where a profiler of AMD's package begins or ends.
 */
void __kfd_gpreempt_mqd_updated(struct queue *q, struct mqd_update_info *minfo)
{
	/* Pairs with the release at registration. */
	struct gpreempt_queue *gq = smp_load_acquire(&q->gpreempt);

	if (!gq)
		return;
	gpreempt_mqd_snapshot_update(gq, minfo);
	gpreempt_mqd_priority_forget(gq);
	if (!gq->gn->backend->reprioritizes)
		return;
	/*
	 * Without runlists it is here that its waves are off the device, and come back a little
	 * later.
	 */
	gpreempt_waves_moved(gq->gn);
	gpreempt_mqd_priority_write(gq);
	gpreempt_mqd_priority_count(gq->gn);
}

/**
 * kfd_gpreempt_may_return() - may a queue that is off the device come back at any moment, because
 * only the scheduler keeps it off?
 * @q: the queue
 *
 * What was saved of it stays as it is only until it is loaded again: to programs it counts as a
 * queue that runs. One that was also suspended, evicted or disabled stays off when it is resumed.
 *
 * Context: dqm_lock held.
 *
 * Return: true if it may
 */
bool kfd_gpreempt_may_return(const struct queue *q)
{
	struct queue_properties properties = q->properties;

	if (!properties.is_preempted)
		return false;
	properties.is_preempted = false;
	return QUEUE_IS_ACTIVE(properties);
}

/**
 * kfd_gpreempt_has_work() - has an evicted queue work that its MQDs do not tell of?
 * @q: the queue
 *
 * AMD's driver can keep an evicted process off for as long as it is idle, until it writes a
 * doorbell (amdgpu.keep_idle_process_evicted). MQDs say what was so when a queue left the device. A
 * preempted one may have been given work since, and no doorbell may follow.
 *
 * Context: dqm_lock held.
 *
 * Return: true if it has, or was stopped in the middle of some
 */
bool kfd_gpreempt_has_work(const struct queue *q)
{
	/* Pairs with the release at registration. */
	const struct gpreempt_queue *gq = smp_load_acquire(&q->gpreempt);
	bool work;
	int idx;

	if (!gq)
		return false;
	idx = srcu_read_lock(&gq->gn->queues.srcu);
	work = q->properties.is_preempted || gpreempt_node_pending(gq);
	srcu_read_unlock(&gq->gn->queues.srcu, idx);
	return work;
}

/**
 * gpreempt_mqd_snapshot_forget() - the snapshot is out of date: the queue is resumed, or never left
 * @gq: the queue
 *
 * Context: dqm_lock held.
 */
void gpreempt_mqd_snapshot_forget(struct gpreempt_queue *gq)
{
	if (gq->mqd.snapshot)
		gq->mqd.snapshot->valid = false;
}

/*
 * Of the control stack only the part in use counts: it grows down from its end, and the MQD knows
 * how far.
 */
static bool mqd_xcc_matches(const struct gpreempt_snapshot *snapshot, const void *mqd,
			    const void *copy, u32 mqd_bytes)
{
	const struct v9_mqd *m = copy;
	u32 unused = min(m->cp_hqd_cntl_stack_offset, snapshot->ctl_stack_bytes);

	return !memcmp(mqd, copy, mqd_bytes) && !memcmp(mqd + snapshot->ctl_stack_offset + unused,
							copy + snapshot->ctl_stack_offset + unused,
							snapshot->ctl_stack_bytes - unused);
}

/**
 * gpreempt_mqd_snapshot_matches() - do the MQDs of a preempted queue still say what they said?
 * @gq: the queue
 *
 * Context: dqm_lock held.
 *
 * Return: true if they do, or if nothing is known
 */
bool gpreempt_mqd_snapshot_matches(const struct gpreempt_queue *gq)
{
	const struct gpreempt_snapshot *snapshot = gq->mqd.snapshot;
	struct mqd_manager *mm = mqd_manager_of(gq->q);
	u32 xcc;

	if (!snapshot || !snapshot->valid)
		return true;
	for (xcc = 0; xcc < mqd_nr_xcc(gq->q); xcc++)
		if (!mqd_xcc_matches(snapshot, gq->q->mqd + snapshot->stride * xcc,
				     snapshot->mqds + snapshot->stride * xcc, mm->mqd_size))
			return false;
	return true;
}

/* Where its low word is, in dwords from the beginning of an MQD. The high one follows. */
#define MQD_STAMP(_name)	(offsetof(struct v9_mqd, cp_mqd_##_name##_time_lo) / sizeof(u32))

static u64 mqd_ticks(const struct v9_mqd *m, size_t at)
{
	const u32 *words = (const u32 *)m;

	return READ_ONCE(words[at]) | (u64)READ_ONCE(words[at + 1]) << 32;
}

/**
 * gpreempt_mqd_stamp() - what firmware has noted of a queue
 * @q: a compute queue
 * @xcc: on which XCC, counted from 0
 * @kind: what
 * @start: receives when it began, in ticks of the 100 MHz clock; 0: never, or this firmware notes
 *	nothing
 * @end: receives when it ended; the same; before @start while it goes on
 *
 * Context: dqm_lock held.
 */
void gpreempt_mqd_stamp(const struct queue *q, u32 xcc, enum gpreempt_stamp kind, u64 *start,
			u64 *end)
{
	static const size_t starts[] = {
		[GPREEMPT_STAMP_CONNECT] = MQD_STAMP(connect_start),
		[GPREEMPT_STAMP_SAVE] = MQD_STAMP(save_start),
		[GPREEMPT_STAMP_RESTORE] = MQD_STAMP(restore_start),
	};
	static const size_t ends[] = {
		[GPREEMPT_STAMP_CONNECT] = MQD_STAMP(connect_end),
		[GPREEMPT_STAMP_SAVE] = MQD_STAMP(save_end),
		[GPREEMPT_STAMP_RESTORE] = MQD_STAMP(restore_end),
	};
	struct mqd_manager *mm = mqd_manager_of(q);
	struct queue_properties properties = q->properties;
	const struct v9_mqd *m = q->mqd + mm->mqd_stride(mm, &properties) * xcc;

	/*
	 * Firmware may be at it, and notes the beginning first. Read in this order, an end belongs
	 * to its beginning or is before it.
	 */
	*end = mqd_ticks(m, ends[kind]);
	dma_rmb();
	*start = mqd_ticks(m, starts[kind]);
}

/* KFD's priorities: the index of pipe_priority_map. */
#define KFD_PRIORITY_MAX	15
/* No queue has it: it is not known yet what its MQDs say. */
#define HW_PRIORITY_UNKNOWN	U32_MAX

/* Is what the program asked for not what the hardware shall know? */
static bool mqd_is_ours(const struct gpreempt_node *gn)
{
	/* A queue that is not registered yet is about to be. */
	return READ_ONCE(gn->life.thread) && !gpreempt_tunables_observes(gn) &&
	       READ_ONCE(gn->monitor.state) != GPREEMPT_STATE_FAILED;
}

/* What the program asked for, as MQDs say it. UPDATE_QUEUE writes it under p->mutex alone. */
static u32 mqd_asked_for(const struct queue *q)
{
	return gpreempt_compat_hw_priority(READ_ONCE(q->properties.priority));
}

/* What its MQDs are to say. */
static u32 mqd_wanted(const struct gpreempt_node *gn, struct queue *q)
{
	/* Pairs with the release at registration. */
	const struct gpreempt_queue *gq = smp_load_acquire(&q->gpreempt);
	u32 priority = GPREEMPT_PRIORITY_NORMAL;

	if (!mqd_is_ours(gn))
		return mqd_asked_for(q);
	if (READ_ONCE(gn->tun.hw_priority) == GPREEMPT_HW_PRIORITY_NORMAL) {
		if (!READ_ONCE(gn->mqd.rivalry))
			return mqd_asked_for(q);
	} else if (gq) {
		priority = clamp(gpreempt_policy_read(gq->policy.set.priority), 0,
				 KFD_PRIORITY_MAX);
	} else {
		return mqd_asked_for(q);
	}
	return gpreempt_compat_hw_priority(priority);
}

static void mqd_write_priority(struct device_queue_manager *dqm, struct queue *q, void *mqds,
			       u32 hw_priority)
{
	struct mqd_manager *mm = dqm->mqd_mgrs[KFD_MQD_TYPE_CP];
	u32 xcc;

	for (xcc = 0; mqds && xcc < NUM_XCC(dqm->dev->xcc_mask); xcc++) {
		struct v9_mqd *m = mqds + mm->mqd_stride(mm, &q->properties) * xcc;

		gpreempt_compat_set_mqd_priority(m, hw_priority);
	}
}

/**
 * gpreempt_mqd_priority_forget() - a queue is about to be registered, or the driver has written its
 * MQDs
 * @gq: the queue; what its MQDs say is looked up by the next pass or runlist, under dqm_lock
 *
 * Context: any.
 */
void gpreempt_mqd_priority_forget(struct gpreempt_queue *gq)
{
	WRITE_ONCE(gq->mqd.priority, HW_PRIORITY_UNKNOWN);
}

/**
 * gpreempt_mqd_priority_stale() - might the hardware have to be told another priority of a queue?
 * @gq: the queue
 *
 * Context: the queue is on its list; no lock needed.
 *
 * Return: true if the backend has to look, under dqm_lock
 */
bool gpreempt_mqd_priority_stale(const struct gpreempt_queue *gq)
{
	return READ_ONCE(gq->mqd.priority) != mqd_wanted(gq->gn, gq->q);
}

/* May the MQDs of any queue say something else than they should? */
static bool mqd_any_stale(const struct gpreempt_node *gn)
{
	u32 i, normal = gpreempt_compat_hw_priority(GPREEMPT_PRIORITY_NORMAL);

	for (i = 0; i < gn->monitor.nr_sampled + gn->monitor.nr_dormant; i++) {
		const struct gpreempt_queue *gq = gpreempt_queue_of(gn->monitor.sampled[i]);
		u32 said = READ_ONCE(gq->mqd.priority);

		/*
		 * Until they have been looked at they say what the program asked for or the normal
		 * one.
		 */
		if (said == HW_PRIORITY_UNKNOWN ? mqd_asked_for(gq->q) != normal :
						  gpreempt_mqd_priority_stale(gq))
			return true;
	}
	return false;
}

/**
 * gpreempt_mqd_priority_decided() - take in a decision: are launches to be ordered by us from now
 * on, or no longer?
 * @gn: the node, sampled
 * @rivalry: of the decision: queues of processes of different rank work
 *
 * Context: the monitor, in the read section of its pass.
 *
 * Return: true if MQDs may have to be written for that: the backend has to be called, even without
 * an action
 */
bool gpreempt_mqd_priority_decided(struct gpreempt_node *gn, bool rivalry)
{
	if (gn->mqd.rivalry == rivalry)
		return false;
	WRITE_ONCE(gn->mqd.rivalry, rivalry);
	return READ_ONCE(gn->tun.hw_priority) == GPREEMPT_HW_PRIORITY_NORMAL && mqd_any_stale(gn);
}

/**
 * gpreempt_mqd_priority_differs() - do the MQDs of a queue say something else than they should?
 * @gq: the queue
 *
 * Context: dqm_lock held.
 *
 * Return: true if they do
 */
bool gpreempt_mqd_priority_differs(struct gpreempt_queue *gq)
{
	WRITE_ONCE(gq->mqd.priority, gpreempt_compat_mqd_priority(gq->q->mqd));
	return gpreempt_mqd_priority_stale(gq);
}

/**
 * gpreempt_mqd_priority_write() - give a queue's MQDs the priority that it is to be loaded with
 * @gq: the queue
 *
 * Context: dqm_lock held; the queue is not on the device.
 */
void gpreempt_mqd_priority_write(struct gpreempt_queue *gq)
{
	struct device_queue_manager *dqm = gq->gn->node->dqm;
	u32 priority = mqd_wanted(gq->gn, gq->q);

	if (!gpreempt_mqd_priority_differs(gq))
		return;
	mqd_write_priority(dqm, gq->q, gq->q->mqd, priority);
	mqd_write_priority(dqm, gq->q, gpreempt_mqd_snapshot_mqds(gq), priority);
	gpreempt_compat_mqds_written(gq->gn->node);
	WRITE_ONCE(gq->mqd.priority, priority);
}

/**
 * gpreempt_mqd_priority_count() - how many queues do not have the priority that their program asked
 * for?
 * @gn: the node, whose MQDs are written one by one
 *
 * Context: dqm_lock held.
 */
void gpreempt_mqd_priority_count(struct gpreempt_node *gn)
{
	struct device_process_node *cur;
	struct queue *q;
	u32 altered = 0;

	list_for_each_entry(cur, &gn->node->dqm->queues, list) {
		list_for_each_entry(q, &cur->qpd->queues_list, list) {
			/* Pairs with the release at registration. */
			const struct gpreempt_queue *gq = smp_load_acquire(&q->gpreempt);

			altered += gq && gq->mqd.priority != HW_PRIORITY_UNKNOWN &&
				   gq->mqd.priority != mqd_asked_for(q);
		}
	}
	WRITE_ONCE(gn->mqd.nr_altered, altered);
}

/**
 * gpreempt_mqd_priority_apply() - give each queue's MQD the priority that it is to be mapped with
 * @gn: the node
 *
 * Also takes back what an UPDATE_QUEUE has written, and when the node is no longer scheduled what
 * we have. MQDs are memory that the CPU does not cache, and this delays every runlist: what a
 * registered queue's say is remembered.
 *
 * Context: dqm_lock held; no queue is mapped, a runlist is about to be built.
 */
void gpreempt_mqd_priority_apply(struct gpreempt_node *gn)
{
	struct device_queue_manager *dqm = gn->node->dqm;
	struct device_process_node *cur;
	bool written = false;
	struct queue *q;
	u32 altered = 0;

	if (!gn->backend)
		return;
	list_for_each_entry(cur, &dqm->queues, list) {
		list_for_each_entry(q, &cur->qpd->queues_list, list) {
			/* Pairs with the release at registration. */
			struct gpreempt_queue *gq = smp_load_acquire(&q->gpreempt);
			u32 priority, said;

			/* During a suspend to disk MQDs may be out of reach. */
			if (q->properties.type != KFD_QUEUE_TYPE_COMPUTE || !q->mqd)
				continue;
			priority = mqd_wanted(gn, q);
			altered += priority != mqd_asked_for(q);
			said = gq ? gq->mqd.priority : HW_PRIORITY_UNKNOWN;
			if (said == HW_PRIORITY_UNKNOWN)
				said = gpreempt_compat_mqd_priority(q->mqd);
			if (said != priority) {
				mqd_write_priority(dqm, q, q->mqd, priority);
				mqd_write_priority(dqm, q, gpreempt_mqd_snapshot_mqds(gq),
						   priority);
				written = true;
			}
			if (gq)
				WRITE_ONCE(gq->mqd.priority, priority);
		}
	}
	if (written)
		gpreempt_compat_mqds_written(gn->node);
	WRITE_ONCE(gn->mqd.nr_altered, altered);
}

/**
 * gpreempt_mqd_add_snapshots() - give each queue room for a snapshot: it was not needed when it was
 * registered
 * @gn: the node
 *
 * Context: the node is kept by gpreempt_lifecycle or by a user of one of its files; may sleep.
 */
void gpreempt_mqd_add_snapshots(struct gpreempt_node *gn)
{
	struct gpreempt_snapshot *snapshot;
	struct gpreempt_queue *gq;

	mutex_lock(&gpreempt_lock);
	list_for_each_entry(gq, &gn->queues.list, link) {
		snapshot = gq->mqd.snapshot ? NULL : gpreempt_mqd_snapshot_alloc(gq->q);
		if (!snapshot)
			continue;
		dqm_lock(gn->node->dqm);
		gq->mqd.snapshot = snapshot;
		dqm_unlock(gn->node->dqm);
	}
	mutex_unlock(&gpreempt_lock);
}

/**
 * gpreempt_mqd_init_queue() - a queue is being registered: nothing is known of its MQDs
 * @gq: the queue
 * @verify: there has to be room for a snapshot
 *
 * Context: may sleep.
 */
void gpreempt_mqd_init_queue(struct gpreempt_queue *gq, bool verify)
{
	gpreempt_mqd_priority_forget(gq);
	if (verify)
		gq->mqd.snapshot = gpreempt_mqd_snapshot_alloc(gq->q);
}

/**
 * gpreempt_mqd_free_queue() - undo gpreempt_mqd_init_queue()
 * @gq: the queue
 *
 * Context: may sleep.
 */
void gpreempt_mqd_free_queue(struct gpreempt_queue *gq)
{
	kvfree(gq->mqd.snapshot);
}
