// SPDX-License-Identifier: MIT
/*
 * backend_hws.c - preempting through the hardware scheduler's runlist
 *
 * Included at the end of kfd_device_queue_manager.c, for its static functions; uses what that file includes. A queue is preempted by
 * leaving it out of the runlist: unmapping saves its waves (CWSR), mapping it again continues them. Each pass unmaps every queue of
 * every process once, so a whole decision is carried out by one pass.
 */
#ifdef CONFIG_KFD_GPREEMPT

#include "../kfd_gpreempt/core.h"
#include "v9_structs.h"

/* The CP takes this many times 1000 clocks for waves to end by themselves before it saves them; 0 means for ever. */
#define HWS_GRACE_PERIOD	1

/**
 * kfd_gpreempt_leaves_out() - must a process stay out of the runlist?
 * @qpd: the process on the node
 *
 * A process in the runlist takes one of few VMIDs even if none of its queues is mapped. With more processes than VMIDs the beneficiary of
 * a preemption would go on waiting for its turn. Only processes that we emptied are left out.
 *
 * Context: dqm_lock held.
 *
 * Return: true if it must
 */
bool kfd_gpreempt_leaves_out(struct qcm_process_device *qpd)
{
	bool preempted = false;
	struct queue *q;

	if (!list_empty(&qpd->priv_queue_list))
		return false;
	list_for_each_entry(q, &qpd->queues_list, list) {
		if (q->properties.is_active)
			return false;
		preempted |= q->properties.is_preempted;
	}
	return preempted;
}

/**
 * kfd_gpreempt_left_out() - how many processes stay out of the runlist
 * @dqm: the queue manager
 *
 * Context: dqm_lock held.
 *
 * Return: their number
 */
unsigned int kfd_gpreempt_left_out(struct device_queue_manager *dqm)
{
	struct device_process_node *cur;
	unsigned int n = 0;

	list_for_each_entry(cur, &dqm->queues, list)
		n += kfd_gpreempt_leaves_out(cur->qpd);
	return n;
}

/* The acquire pairs with the release at registration. What is on the list under dqm_lock is not destroyed yet. */
#define hws_for_each_queue(cur, q, gq, dqm)								\
	list_for_each_entry(cur, &(dqm)->queues, list)							\
		list_for_each_entry(q, &(cur)->qpd->queues_list, list)					\
			for_each_if((gq = smp_load_acquire(&(q)->gpreempt)))

/* Why the queue may not be taken off the device; GPREEMPT_NR_SKIPS: it may. */
static enum gpreempt_skip hws_obstacle(struct device_queue_manager *dqm, struct qcm_process_device *qpd,
				       struct queue *q)
{
	if (!dqm->sched_running || dqm->sched_halt || dqm->is_hws_hang)
		return GPREEMPT_SKIP_STOPPED;
	if (!q->properties.is_active)
		return GPREEMPT_SKIP_INACTIVE;
	if (q->properties.is_being_destroyed)
		return GPREEMPT_SKIP_DESTROYED;
	if (q->properties.is_gws)
		return GPREEMPT_SKIP_GWS;
	if (qpd->is_debug || q->process->debug_trap_enabled)
		return GPREEMPT_SKIP_DEBUGGED;
	if (qpd_to_pdd(qpd)->has_reset_queue)
		return GPREEMPT_SKIP_RESET;
	if (!q->properties.ctx_save_restore_area_address)
		return GPREEMPT_SKIP_SAVE_AREA;
	return GPREEMPT_NR_SKIPS;
}

static void hws_deactivate(struct device_queue_manager *dqm, struct qcm_process_device *qpd, struct queue *q)
{
	q->properties.is_preempted = true;
	q->properties.is_active = false;
	decrement_queue_count(dqm, qpd, q);
}

/* Returns whether the queue is to be mapped again. Never after a reset: its state is gone, and QUEUE_IS_ACTIVE does not know. */
static bool hws_activate(struct device_queue_manager *dqm, struct qcm_process_device *qpd, struct queue *q)
{
	q->properties.is_preempted = false;
	if (!QUEUE_IS_ACTIVE(q->properties) || qpd_to_pdd(qpd)->has_reset_queue)
		return false;
	q->properties.is_active = true;
	increment_queue_count(dqm, qpd, q);
	return true;
}

/* Was it stopped in the middle of a kernel? The CP writes the offsets when it unmaps; the control stack grows down from its end. */
static bool hws_saved_waves(struct device_queue_manager *dqm, struct queue *q)
{
	struct mqd_manager *mm = dqm->mqd_mgrs[KFD_MQD_TYPE_CP];
	u32 xcc;

	for (xcc = 0; xcc < NUM_XCC(dqm->dev->xcc_mask); xcc++) {
		const struct v9_mqd *m = q->mqd + mm->mqd_stride(mm, &q->properties) * xcc;

		if (READ_ONCE(m->cp_hqd_cntl_stack_offset) < READ_ONCE(m->cp_hqd_cntl_stack_size))
			return true;
	}
	return false;
}

/* Set the flags of a decision. Returns whether the hardware has to follow. */
static bool hws_flag(struct gpreempt_node *gn, struct device_queue_manager *dqm, bool *preempting)
{
	struct device_process_node *cur;
	struct gpreempt_queue *gq;
	enum gpreempt_skip skip;
	bool changed = false;
	struct queue *q;

	*preempting = false;
	hws_for_each_queue(cur, q, gq, dqm) {
		gq->done = GPREEMPT_KEEP;
		if (gq->policy.action == GPREEMPT_PREEMPT && !q->properties.is_preempted) {
			skip = hws_obstacle(dqm, cur->qpd, q);
			if (skip != GPREEMPT_NR_SKIPS) {
				/* Until the next time that obstacles are looked for: not again in each pass. */
				gq->policy.immovable = true;
				gq->policy.action = GPREEMPT_KEEP;
				gpreempt_stats_skip(gn, gq, skip);
				continue;
			}
			hws_deactivate(dqm, cur->qpd, q);
			gq->done = GPREEMPT_PREEMPT;
			changed = true;
			*preempting = true;
		} else if (gq->policy.action == GPREEMPT_RESUME && q->properties.is_preempted) {
			changed |= hws_activate(dqm, cur->qpd, q);
			gq->done = GPREEMPT_RESUME;
		}
	}
	return changed;
}

/* Nothing was saved: the victims are where they were. */
static void hws_undo_preemptions(struct device_queue_manager *dqm)
{
	struct device_process_node *cur;
	struct gpreempt_queue *gq;
	struct queue *q;

	hws_for_each_queue(cur, q, gq, dqm) {
		if (gq->done != GPREEMPT_PREEMPT)
			continue;
		hws_activate(dqm, cur->qpd, q);
		gq->done = GPREEMPT_KEEP;
		gq->policy.action = GPREEMPT_KEEP;
	}
}

static void hws_confirm(struct gpreempt_node *gn, struct device_queue_manager *dqm, u64 now_ns)
{
	struct device_process_node *cur;
	struct gpreempt_queue *gq;
	struct queue *q;

	hws_for_each_queue(cur, q, gq, dqm) {
		if (gq->done == GPREEMPT_PREEMPT) {
			gpreempt_policy_preempted(&gq->policy, hws_saved_waves(dqm, q), now_ns);
			gpreempt_stats_preempted(gq);
			/* The CP may have abandoned a queue, and the driver reset it and still returned 0. */
			if (qpd_to_pdd(cur->qpd)->has_reset_queue) {
				gq->policy.immovable = true;
				gpreempt_stats_failure(gn, -EIO);
			}
		} else if (gq->done == GPREEMPT_RESUME) {
			gpreempt_stats_resumed(gq, now_ns);
			gpreempt_policy_resumed(&gq->policy, now_ns);
		}
	}
}

/*
 * What an error of a hardware pass means:
 * - there is no runlist on the device: the unmap was acknowledged, everything is saved, mapping failed. Try again.
 * - -ETIME: unmapping was not acknowledged; the driver has scheduled a reset. The victims stay as they are.
 * - else: a reset is under way or the packets did not get out. Nothing was saved, so nothing was preempted.
 */
static void hws_error(struct gpreempt_node *gn, struct device_queue_manager *dqm, int error,
		      struct gpreempt_outcome *outcome)
{
	outcome->error = error;
	gpreempt_stats_failure(gn, error);
	if (!dqm->active_runlist) {
		outcome->map_again = true;
	} else if (error == -ETIME) {
		outcome->stop = true;
	} else {
		hws_undo_preemptions(dqm);
		outcome->map_again = true;
	}
}

static void hws_apply(struct gpreempt_node *gn, struct gpreempt_outcome *outcome)
{
	struct device_queue_manager *dqm = gn->node->dqm;
	bool changed, preempting;
	u64 start_ns, now_ns;
	int r = 0;

	dqm_lock(dqm);
	start_ns = ktime_get_ns();
	now_ns = start_ns;
	changed = hws_flag(gn, dqm, &preempting);
	/* While the driver's scheduler is stopped the flags are enough: it maps what is active when it starts. */
	if ((changed || gn->map_again) && dqm->sched_running && !dqm->is_hws_hang) {
		r = execute_queues_cpsch(dqm, KFD_UNMAP_QUEUES_FILTER_DYNAMIC_QUEUES, 0,
					 preempting ? HWS_GRACE_PERIOD : USE_DEFAULT_GRACE_PERIOD);
		now_ns = ktime_get_ns();
		gpreempt_stats_runlist(gn, now_ns - start_ns, preempting);
		if (r)
			hws_error(gn, dqm, r, outcome);
	}
	hws_confirm(gn, dqm, now_ns);
	dqm_unlock(dqm);
}

const struct gpreempt_backend gpreempt_backend_hws = {
	.name = "hws",
	.apply = hws_apply,
};

#endif /* CONFIG_KFD_GPREEMPT */
