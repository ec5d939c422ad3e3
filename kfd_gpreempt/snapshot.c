// SPDX-License-Identifier: MIT
/*
 * snapshot.c - what the MQDs of a preempted queue must look like until it is resumed
 *
 * A copy is made when the queue has left the device: the CP writes its state back while it unmaps, so what was copied
 * earlier would be older than the queue. Whatever the driver changes in the MQDs meanwhile is changed in the copy as
 * well, by the driver's own function; after that any difference means that somebody else has written there.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "core.h"
#include "kfd_device_queue_manager.h"
#include "v9_structs.h"

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

static struct mqd_manager *manager_of(const struct queue *q)
{
	return q->device->dqm->mqd_mgrs[KFD_MQD_TYPE_CP];
}

static u32 nr_xcc(const struct queue *q)
{
	return NUM_XCC(q->device->xcc_mask);
}

/**
 * gpreempt_snapshot_alloc() - room for the snapshot of a queue
 * @q: a compute queue
 *
 * Looks at the queue's properties only: the MQDs of a queue on its way out may be gone.
 *
 * Context: may sleep.
 *
 * Return: an invalid snapshot, for kvfree(); NULL without memory, or if the MQDs do not lie as they are known to
 */
struct gpreempt_snapshot *gpreempt_snapshot_alloc(struct queue *q)
{
	struct mqd_manager *mm = manager_of(q);
	struct gpreempt_snapshot *snapshot;
	u32 offset = ALIGN(mm->mqd_size, PAGE_SIZE);
	u64 stride;

	if (!mm->mqd_stride)
		return NULL;
	stride = mm->mqd_stride(mm, &q->properties);
	if (stride < offset)
		return NULL;
	snapshot = kvzalloc(struct_size(snapshot, mqds, stride * nr_xcc(q)), GFP_KERNEL);
	if (!snapshot)
		return NULL;
	snapshot->stride = stride;
	snapshot->ctl_stack_offset = offset;
	return snapshot;
}

/**
 * gpreempt_snapshot_take() - copy the MQDs of a queue that has just left the device
 * @gq: the queue
 *
 * The driver's own functions for this, get_checkpoint_info() and checkpoint_mqd(), take topology_lock. Memory is allocated under that, which may
 * evict queues, which takes dqm_lock.
 *
 * Context: dqm_lock held.
 */
void gpreempt_snapshot_take(struct gpreempt_queue *gq)
{
	struct gpreempt_snapshot *snapshot = gq->snapshot;
	struct mqd_manager *mm = manager_of(gq->q);
	u32 xcc;

	if (!snapshot)
		return;
	snapshot->valid = true;
	for (xcc = 0; xcc < nr_xcc(gq->q); xcc++) {
		const struct v9_mqd *m = gq->q->mqd + snapshot->stride * xcc;
		u8 *copy = snapshot->mqds + snapshot->stride * xcc;

		snapshot->ctl_stack_bytes = min_t(u64, m->cp_hqd_cntl_stack_size, snapshot->stride - snapshot->ctl_stack_offset);
		memcpy(copy, m, mm->mqd_size);
		memcpy(copy + snapshot->ctl_stack_offset, (const u8 *)m + snapshot->ctl_stack_offset, snapshot->ctl_stack_bytes);
	}
}

/**
 * gpreempt_snapshot_update() - the driver has changed the MQDs of a queue; the snapshot follows
 * @gq: the queue
 * @minfo: what it changed beside the queue's properties; may be NULL
 *
 * Context: dqm_lock held.
 */
void gpreempt_snapshot_update(struct gpreempt_queue *gq, struct mqd_update_info *minfo)
{
	struct queue_properties properties = gq->q->properties;
	struct mqd_manager *mm = manager_of(gq->q);

	if (gq->snapshot && gq->snapshot->valid)
		mm->update_mqd(mm, gq->snapshot->mqds, &properties, minfo);
}

/**
 * gpreempt_snapshot_mqds() - the copies, for what else writes to MQDs
 * @gq: the queue; may be NULL
 *
 * Context: dqm_lock held.
 *
 * Return: where they are, laid out as the queue's own; NULL if there are none
 */
void *gpreempt_snapshot_mqds(struct gpreempt_queue *gq)
{
	return gq && gq->snapshot && gq->snapshot->valid ? gq->snapshot->mqds : NULL;
}

/**
 * __kfd_gpreempt_mqd_updated() - the driver has changed the MQDs of a queue
 * @q: the queue; not on the device
 * @minfo: what it changed beside the queue's properties; may be NULL
 *
 * Context: p->mutex and dqm_lock held.
 */
void __kfd_gpreempt_mqd_updated(struct queue *q, struct mqd_update_info *minfo)
{
	/* Pairs with the release at registration. */
	struct gpreempt_queue *gq = smp_load_acquire(&q->gpreempt);

	if (!gq)
		return;
	gpreempt_snapshot_update(gq, minfo);
	gpreempt_hw_priority_forget(gq);
	if (!gq->gn->backend->reprioritizes)
		return;
	/* Without runlists it is here that its waves are off the device, and come back a little later. */
	WRITE_ONCE(gq->gn->runlists_built, gq->gn->runlists_built + 1);
	gpreempt_hw_priority_write(gq);
	gpreempt_hw_priority_count(gq->gn);
}

/**
 * kfd_gpreempt_may_return() - may a queue that is off the device come back at any moment, because only we keep it off?
 * @q: the queue
 *
 * What was saved of it lies still only as long as nobody may load it: to programs it counts as one that runs. One that was also
 * suspended, evicted or disabled stays off when it is resumed.
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
 * gpreempt_snapshot_forget() - the snapshot is out of date: the queue is resumed, or never left
 * @gq: the queue
 *
 * Context: dqm_lock held.
 */
void gpreempt_snapshot_forget(struct gpreempt_queue *gq)
{
	if (gq->snapshot)
		gq->snapshot->valid = false;
}

/* Of the control stack only the part in use counts: it grows down from its end, and the MQD knows how far. */
static bool xcc_matches(const struct gpreempt_snapshot *snapshot, const void *mqd, const void *copy, u32 mqd_bytes)
{
	const struct v9_mqd *m = copy;
	u32 unused = min(m->cp_hqd_cntl_stack_offset, snapshot->ctl_stack_bytes);

	return !memcmp(mqd, copy, mqd_bytes) &&
	       !memcmp(mqd + snapshot->ctl_stack_offset + unused, copy + snapshot->ctl_stack_offset + unused,
		       snapshot->ctl_stack_bytes - unused);
}

/**
 * gpreempt_snapshot_matches() - do the MQDs of a preempted queue still say what they said?
 * @gq: the queue
 *
 * Context: dqm_lock held.
 *
 * Return: true if they do, or if nothing is known
 */
bool gpreempt_snapshot_matches(const struct gpreempt_queue *gq)
{
	const struct gpreempt_snapshot *snapshot = gq->snapshot;
	struct mqd_manager *mm = manager_of(gq->q);
	u32 xcc;

	if (!snapshot || !snapshot->valid)
		return true;
	for (xcc = 0; xcc < nr_xcc(gq->q); xcc++)
		if (!xcc_matches(snapshot, gq->q->mqd + snapshot->stride * xcc,
				 snapshot->mqds + snapshot->stride * xcc, mm->mqd_size))
			return false;
	return true;
}
