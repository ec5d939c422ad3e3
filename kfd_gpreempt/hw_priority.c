// SPDX-License-Identifier: MIT
/*
 * hw_priority.c - what queues under software scheduling tell the hardware about their priority
 *
 * The CP and the dispatcher have priorities of their own, per pipe and queue, taken from the MQD when the queue is mapped.
 * They order launches, not waves that run. While processes of different rank work, every queue gets the normal one by
 * default: the order comes from above. Otherwise each has what its program asked for: streams of one program have an
 * order among themselves that we know nothing of.
 *
 * MQDs are written only while their queue is not on the device: with the hardware scheduler on the way to a runlist,
 * without it whenever a queue is about to be loaded, and otherwise by taking it off for that once. A runlist is sent for
 * it alone when that rivalry begins or ends, which is at most twice a second, and only if an MQD is not what it should be.
 */
#include "core.h"
#include "amdgpu.h"
#include "kfd_device_queue_manager.h"
#include "kfd_mqd_manager.h"
#include "v9_structs.h"

/* KFD's priorities: the index of pipe_priority_map. */
#define KFD_PRIORITY_MAX	15

/* No queue has it: it is not known yet what its MQDs say. */
#define HW_PRIORITY_UNKNOWN	U32_MAX

/* Is what the program asked for not what the hardware shall know? */
static bool is_ours(const struct gpreempt_node *gn)
{
	/* A queue that is not registered yet is about to be. */
	return READ_ONCE(gn->thread) && READ_ONCE(gn->state) != GPREEMPT_STATE_FAILED;
}

/* What the program asked for. UPDATE_QUEUE writes it under p->mutex alone. */
static u32 asked_for(const struct queue *q)
{
	return READ_ONCE(q->properties.priority);
}

static u32 wanted(const struct gpreempt_node *gn, struct queue *q)
{
	/* Pairs with the release at registration. */
	const struct gpreempt_queue *gq = smp_load_acquire(&q->gpreempt);

	if (!is_ours(gn))
		return asked_for(q);
	if (READ_ONCE(gn->tun.hw_priority) == GPREEMPT_HW_PRIORITY_NORMAL)
		return READ_ONCE(gn->rivalry) ? GPREEMPT_PRIORITY_NORMAL : asked_for(q);
	return gq ? clamp(gpreempt_peek(gq->policy.priority), 0, KFD_PRIORITY_MAX) : asked_for(q);
}

static void write_mqds(struct device_queue_manager *dqm, struct queue *q, void *mqds, u32 priority)
{
	struct mqd_manager *mm = dqm->mqd_mgrs[KFD_MQD_TYPE_CP];
	u32 xcc;

	for (xcc = 0; mqds && xcc < NUM_XCC(dqm->dev->xcc_mask); xcc++) {
		struct v9_mqd *m = mqds + mm->mqd_stride(mm, &q->properties) * xcc;

		m->cp_hqd_pipe_priority = pipe_priority_map[priority];
		m->cp_hqd_queue_priority = priority;
	}
}

/**
 * gpreempt_hw_priority_forget() - a queue is about to be registered, or the driver has written its MQDs
 * @gq: the queue; what its MQDs say is looked up by the next pass or runlist, under dqm_lock
 *
 * Context: any.
 */
void gpreempt_hw_priority_forget(struct gpreempt_queue *gq)
{
	WRITE_ONCE(gq->hw_priority, HW_PRIORITY_UNKNOWN);
}

/**
 * gpreempt_hw_priority_stale() - might the hardware have to be told another priority of a queue?
 * @gq: the queue
 *
 * Context: the queue is on its list; no lock needed.
 *
 * Return: true if the backend has to look, under dqm_lock
 */
bool gpreempt_hw_priority_stale(const struct gpreempt_queue *gq)
{
	return READ_ONCE(gq->hw_priority) != wanted(gq->gn, gq->q);
}

/* Have queues of two processes worked lately that could outrank each other? As the policy counts it, without the order within a process. */
static bool is_rivalry(const struct gpreempt_node *gn, u64 now_ns)
{
	const struct gpreempt_policy_process *first = NULL;
	bool rotates = gn->policy.ops->rotates, several = false;
	s32 lowest = GPREEMPT_PRIORITY_MAX, highest = GPREEMPT_PRIORITY_MIN;
	u32 i;

	/* What rests has not worked for longer. */
	for (i = 0; i < gn->nr_sampled; i++) {
		const struct gpreempt_policy_queue *pq = gn->sampled[i];

		if (!pq->active_ns || now_ns - pq->active_ns >= GPREEMPT_CONTENDED_NS)
			continue;
		first = first ?: pq->process;
		several |= pq->process != first;
		lowest = min(lowest, pq->standing);
		highest = max(highest, pq->standing);
		if (several && (lowest < highest || (rotates && highest > 0)))
			return true;
	}
	return false;
}

/* May the MQDs of any queue say something else than they should? */
static bool any_stale(const struct gpreempt_node *gn)
{
	u32 i;

	for (i = 0; i < gn->nr_sampled + gn->nr_resting; i++) {
		const struct gpreempt_queue *gq = gpreempt_queue_of(gn->sampled[i]);
		u32 said = READ_ONCE(gq->hw_priority);

		/* Until they have been looked at they say what the program asked for or the normal one. */
		if (said == HW_PRIORITY_UNKNOWN ? asked_for(gq->q) != GPREEMPT_PRIORITY_NORMAL : gpreempt_hw_priority_stale(gq))
			return true;
	}
	return false;
}

/**
 * gpreempt_hw_priority_decided() - take in a decision: are launches to be ordered by us from now on, or no longer?
 * @gn: the node, sampled
 * @contended: of the decision: without it there is no rivalry
 * @now_ns: time of the samples
 *
 * Context: the monitor, in the read section of its pass.
 *
 * Return: true if MQDs may have to be written for that: the backend has to be called, even without an action
 */
bool gpreempt_hw_priority_decided(struct gpreempt_node *gn, bool contended, u64 now_ns)
{
	bool rivalry = contended && is_rivalry(gn, now_ns);

	if (gn->rivalry == rivalry)
		return false;
	WRITE_ONCE(gn->rivalry, rivalry);
	return READ_ONCE(gn->tun.hw_priority) == GPREEMPT_HW_PRIORITY_NORMAL && any_stale(gn);
}

/**
 * gpreempt_hw_priority_differs() - do the MQDs of a queue say something else than they should?
 * @gq: the queue
 *
 * Context: dqm_lock held.
 *
 * Return: true if they do
 */
bool gpreempt_hw_priority_differs(struct gpreempt_queue *gq)
{
	const struct v9_mqd *m = gq->q->mqd;

	WRITE_ONCE(gq->hw_priority, m->cp_hqd_queue_priority);
	return gpreempt_hw_priority_stale(gq);
}

/**
 * gpreempt_hw_priority_write() - give a queue's MQDs the priority that it is to be loaded with
 * @gq: the queue
 *
 * Context: dqm_lock held; the queue is not on the device.
 */
void gpreempt_hw_priority_write(struct gpreempt_queue *gq)
{
	struct device_queue_manager *dqm = gq->gn->node->dqm;
	u32 priority = wanted(gq->gn, gq->q);

	if (!gpreempt_hw_priority_differs(gq))
		return;
	write_mqds(dqm, gq->q, gq->q->mqd, priority);
	write_mqds(dqm, gq->q, gpreempt_snapshot_mqds(gq), priority);
	WRITE_ONCE(gq->hw_priority, priority);
}

/**
 * gpreempt_hw_priority_count() - how many queues do not have the priority that their program asked for?
 * @gn: the node, whose MQDs are written one by one
 *
 * Context: dqm_lock held.
 */
void gpreempt_hw_priority_count(struct gpreempt_node *gn)
{
	struct device_process_node *cur;
	struct queue *q;
	u32 altered = 0;

	list_for_each_entry(cur, &gn->node->dqm->queues, list) {
		list_for_each_entry(q, &cur->qpd->queues_list, list) {
			/* Pairs with the release at registration. */
			const struct gpreempt_queue *gq = smp_load_acquire(&q->gpreempt);

			altered += gq && gq->hw_priority != HW_PRIORITY_UNKNOWN && gq->hw_priority != asked_for(q);
		}
	}
	WRITE_ONCE(gn->hw_priorities, altered);
}

/**
 * gpreempt_hw_priority_apply() - give each queue's MQD the priority that it is to be mapped with
 * @gn: the node
 *
 * Also takes back what an UPDATE_QUEUE has written, and when the node is no longer scheduled what we have. MQDs are memory that the CPU does not
 * cache, and this delays every runlist: what a registered queue's say is remembered.
 *
 * Context: dqm_lock held; no queue is mapped, a runlist is about to be built.
 */
void gpreempt_hw_priority_apply(struct gpreempt_node *gn)
{
	struct device_queue_manager *dqm = gn->node->dqm;
	struct device_process_node *cur;
	struct queue *q;
	u32 altered = 0;

	if (!gn->backend)
		return;
	list_for_each_entry(cur, &dqm->queues, list) {
		list_for_each_entry(q, &cur->qpd->queues_list, list) {
			/* Pairs with the release at registration. */
			struct gpreempt_queue *gq = smp_load_acquire(&q->gpreempt);
			const struct v9_mqd *m = q->mqd;
			u32 priority, said;

			if (q->properties.type != KFD_QUEUE_TYPE_COMPUTE)
				continue;
			priority = wanted(gn, q);
			altered += priority != asked_for(q);
			said = gq ? gq->hw_priority : HW_PRIORITY_UNKNOWN;
			if (said == HW_PRIORITY_UNKNOWN)
				said = m->cp_hqd_queue_priority;
			if (said != priority) {
				write_mqds(dqm, q, q->mqd, priority);
				write_mqds(dqm, q, gpreempt_snapshot_mqds(gq), priority);
			}
			if (gq)
				WRITE_ONCE(gq->hw_priority, priority);
		}
	}
	WRITE_ONCE(gn->hw_priorities, altered);
}
