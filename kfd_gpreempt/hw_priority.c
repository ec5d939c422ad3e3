// SPDX-License-Identifier: MIT
/*
 * hw_priority.c - what queues under software scheduling tell the hardware about their priority
 *
 * The CP and the dispatcher have priorities of their own, per pipe and queue, taken from the MQD when the queue is mapped.
 * They order launches, not waves that run. By default every queue gets the normal one: the order comes from above. MQDs
 * are written only while their queue is not on the device: with the hardware scheduler on the way to a runlist that is
 * sent anyway, without it whenever a queue is about to be loaded, and otherwise by taking it off for that once.
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
static bool is_ours(const struct gpreempt_node *gn, const struct gpreempt_queue *gq)
{
	if (!READ_ONCE(gn->thread) || READ_ONCE(gn->state) == GPREEMPT_STATE_FAILED)
		return false;
	/* A queue that is not registered yet is about to be. */
	return !gq || gq->sampled;
}

static u32 wanted(const struct gpreempt_node *gn, struct queue *q)
{
	/* Pairs with the release at registration. */
	const struct gpreempt_queue *gq = smp_load_acquire(&q->gpreempt);

	if (!is_ours(gn, gq))
		return q->properties.priority;
	if (READ_ONCE(gn->tun.hw_priority) == GPREEMPT_HW_PRIORITY_NORMAL)
		return GPREEMPT_PRIORITY_NORMAL;
	return gq ? clamp(gpreempt_peek(gq->policy.priority), 0, KFD_PRIORITY_MAX) : q->properties.priority;
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
 * gpreempt_hw_priority_init() - a queue is about to be registered
 * @gq: the queue; what its MQDs say is looked up by the next pass, under dqm_lock
 *
 * Context: any.
 */
void gpreempt_hw_priority_init(struct gpreempt_queue *gq)
{
	gq->hw_priority = HW_PRIORITY_UNKNOWN;
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

			altered += gq && gq->hw_priority != HW_PRIORITY_UNKNOWN && gq->hw_priority != q->properties.priority;
		}
	}
	WRITE_ONCE(gn->hw_priorities, altered);
}

/**
 * gpreempt_hw_priority_apply() - give each queue's MQD the priority that it is to be mapped with
 * @gn: the node
 *
 * Also takes back what an UPDATE_QUEUE has written, and when the node is no longer scheduled what we have.
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
			const struct v9_mqd *m = q->mqd;
			u32 priority;

			if (q->properties.type != KFD_QUEUE_TYPE_COMPUTE)
				continue;
			priority = wanted(gn, q);
			altered += priority != q->properties.priority;
			if (m->cp_hqd_queue_priority == priority)
				continue;
			write_mqds(dqm, q, q->mqd, priority);
			write_mqds(dqm, q, gpreempt_snapshot_mqds(q->gpreempt), priority);
		}
	}
	WRITE_ONCE(gn->hw_priorities, altered);
}
