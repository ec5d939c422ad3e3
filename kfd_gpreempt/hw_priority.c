// SPDX-License-Identifier: MIT
/*
 * hw_priority.c - what queues under software scheduling tell the hardware about their priority
 *
 * The CP and the dispatcher have priorities of their own, per pipe and queue, taken from the MQD when the queue is mapped.
 * They order launches, not waves that run. By default every queue gets the normal one: the order comes from above. MQDs
 * are written only while no queue is mapped, on the way to a runlist that is sent anyway.
 */
#include "core.h"
#include "amdgpu.h"
#include "kfd_device_queue_manager.h"
#include "kfd_mqd_manager.h"
#include "v9_structs.h"

/* KFD's priorities: the index of pipe_priority_map. */
#define KFD_PRIORITY_MAX	15

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
	return gq ? clamp(READ_ONCE(gq->policy.priority), 0, KFD_PRIORITY_MAX) : q->properties.priority;
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
