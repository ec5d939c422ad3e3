// SPDX-License-Identifier: MIT
/*
 * backend.c - what the ways of preempting share
 *
 * Part of backends.c, before them.
 */
#include "node.h"
#include "compat/compat.h"
#include "demand.h"
#include "obstacle.h"
#include "rooms.h"
#include "amdgpu_reset.h"
#include "v9_structs.h"
#include "kfd_pm4_headers_ai.h"

/**
 * kfd_gpreempt_is_full() - would no slot be left, were the preempted queues on the device?
 * @dqm: the queue manager
 *
 * Where over-subscription is not allowed (amdgpu.sched_policy=1) queues that are not active only
 * because they are preempted count as active: they come back, and must fit then.
 *
 * Context: p->mutex held; takes dqm_lock.
 *
 * Return: true if another queue would not fit
 */
bool kfd_gpreempt_is_full(struct device_queue_manager *dqm)
{
	struct device_process_node *cur;
	unsigned int n = 0;
	struct queue *q;

	dqm_lock(dqm);
	list_for_each_entry(cur, &dqm->queues, list)
		list_for_each_entry(q, &cur->qpd->queues_list, list)
			n += !q->properties.is_active && kfd_gpreempt_may_return(q);
	n += dqm->active_queue_count;
	dqm_unlock(dqm);
	return n >= get_cp_queues_num(dqm);
}

/**
 * gpreempt_backend_init_queue() - a queue is being registered
 * @gq: the queue
 *
 * Context: p->mutex held.
 */
void gpreempt_backend_init_queue(struct gpreempt_queue *gq)
{
	/* That flag is left over only where nothing may load the queue any more. */
	gq->hw.lost = gq->q->properties.is_preempted;
}

/*
 * What is found on a list under dqm_lock is not destroyed yet, and so is what was registered for
 * it.
 */
static struct gpreempt_queue *backend_registered(struct queue *q)
{
	/* Pairs with the release at registration. */
	return smp_load_acquire(&q->gpreempt);
}

/* Does the device take requests? One that has not answered is about to be reset. */
static bool backend_answers(const struct device_queue_manager *dqm)
{
	return dqm->sched_running && !dqm->is_hws_hang;
}

/* Why the queue may not be taken off the device; GPREEMPT_NR_SKIPS: it may. */
static enum gpreempt_skip backend_obstacle(struct device_queue_manager *dqm,
					   const struct gpreempt_queue *gq)
{
	if (!backend_answers(dqm) || gpreempt_compat_is_halted(dqm))
		return GPREEMPT_SKIP_STOPPED;
	if (!gq->q->properties.is_active)
		return GPREEMPT_SKIP_INACTIVE;
	return gpreempt_obstacle(gq);
}

/* gpreempt_node_read() under dqm_lock, which keeps the queue, but not the view of its pointers */
static bool backend_read(const struct gpreempt_queue *gq, u64 *rptr, u64 *wptr, u64 *pending)
{
	struct srcu_struct *srcu = &gq->gn->queues.srcu;
	int idx = srcu_read_lock(srcu);
	bool read = gpreempt_node_read(gq, rptr, wptr, pending);

	srcu_read_unlock(srcu, idx);
	return read;
}

/*
 * Was it stopped in the middle of a kernel when it last left the device? The CP writes the offsets
 * when it unmaps a queue, and leaves them alone when it maps it. The control stack grows down from
 * its end.
 */
static bool backend_saved_waves(struct device_queue_manager *dqm, struct queue *q)
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

/**
 * struct backend_pass - a decision that is being carried out
 * @gn: the node
 * @dqm: its queue manager, locked
 * @start_ns: when the hardware was asked (hws)
 * @now_ns: when the hardware was done
 * @saved_ns: when the victims were saved (hws)
 * @changed: the hardware has to follow, or did
 * @mapped: a runlist saved all queues and maps those that are not preempted (hws)
 * @preempting: a queue is taken off the device
 * @whole: a runlist has to do it (hws)
 * @left: victims have left the device (hws)
 * @named: all was done without a runlist, and no other queue left the device (hws)
 * @nr_named: queues that packets name so far (hws)
 * @packet: the next one, in the HIQ (hws)
 * @victim: the first such queue, to name in messages
 * @parking: the driver is about to suspend or reset the device (mqd)
 * @again: see &gpreempt_outcome (mqd)
 * @stop: see &gpreempt_outcome (mqd)
 * @error: see &gpreempt_outcome (mqd)
 */
struct backend_pass {
	struct gpreempt_node *gn;
	struct device_queue_manager *dqm;
	u64 start_ns;
	u64 now_ns;
	u64 saved_ns;
	bool changed;
	bool mapped;
	bool preempting;
	bool whole;
	bool left;
	bool named;
	u32 nr_named;
	u32 *packet;
	struct gpreempt_queue *victim;
	bool parking;
	bool again;
	bool stop;
	int error;
};

/* Until the next time that obstacles are looked for: it is not asked again in each pass. */
static void backend_refuse(struct backend_pass *pass, struct gpreempt_queue *gq,
			   enum gpreempt_skip skip)
{
	gq->policy.set.immovable = true;
	gq->policy.action = GPREEMPT_KEEP;
	WRITE_ONCE(gq->policy.verdict, gq->q->properties.is_active ? GPREEMPT_VERDICT_OBSTACLE :
								     GPREEMPT_VERDICT_DRIVER);
	gpreempt_stats_skip(pass->gn, gq, skip);
}

/*
 * Victims have left the device. If firmware gives up on a queue, the driver resets it, takes its
 * is_active away and goes on as if nothing had happened. That one has nothing left to resume.
 */
static void backend_take(struct backend_pass *pass, struct qcm_process_device *qpd, struct queue *q,
			 struct gpreempt_queue *gq)
{
	if (gq->hw.done != GPREEMPT_PREEMPT || q->properties.is_preempted)
		return;
	if (!q->properties.is_active) {
		gq->hw.done = GPREEMPT_KEEP;
		backend_refuse(pass, gq, GPREEMPT_SKIP_RESET);
		gpreempt_stats_failure(pass->gn, gq, GPREEMPT_FAILURE_VICTIM_RESET, -EIO);
		return;
	}
	q->properties.is_preempted = true;
	WRITE_ONCE(q->properties.is_active, false);
	decrement_queue_count(pass->dqm, qpd, q);
}

/* What it has just saved, if gpreempt_verify asks whether that stays as it is. */
static void backend_snapshot(struct backend_pass *pass, struct gpreempt_queue *gq)
{
	if (pass->gn->tun.verify)
		gpreempt_mqd_snapshot_take(gq);
}

/*
 * Is it still what was saved? This is for diagnosis alone. Nothing is put back: firmware may know
 * better than a copy, and a copy of the control stack, which the device does not keep coherent, may
 * be older than what it has saved.
 */
static void backend_verify(struct backend_pass *pass, struct gpreempt_queue *gq)
{
	if (!gpreempt_mqd_snapshot_matches(gq))
		gpreempt_stats_failure(pass->gn, gq, GPREEMPT_FAILURE_VERIFY, -EUCLEAN);
	gpreempt_mqd_snapshot_forget(gq);
}

/* When a queue runs that is mapped now: firmware connects it, and brings its waves back. */
static u64 backend_back_ns(const struct backend_pass *pass, bool waves)
{
	const struct gpreempt_policy_node *policy = &pass->gn->policy;

	return pass->now_ns + policy->device.connect_ns + (waves ? policy->device.restore_ns : 0);
}

static void backend_resumed(struct backend_pass *pass, struct gpreempt_queue *gq)
{
	bool saved_waves = gq->policy.saved_waves;

	gpreempt_rooms_tell(resumed, gq);
	gpreempt_stats_resumed(gq, pass->now_ns);
	gpreempt_policy_resumed(&gq->policy, pass->now_ns);
	gpreempt_accounts_tell(interrupted, &gq->policy, pass->now_ns,
			       backend_back_ns(pass, saved_waves));
}

/* All that takes waves off, or waits for that, holds dqm_lock. */
static bool backend_is_unlocked(struct gpreempt_node *gn)
{
	return !mutex_is_locked(&gn->node->dqm->lock_hidden);
}

typedef void (*backend_fn)(struct backend_pass *pass, struct qcm_process_device *qpd,
			   struct queue *q, struct gpreempt_queue *gq);

static void backend_for_each(struct backend_pass *pass, backend_fn fn)
{
	struct device_process_node *cur;
	struct gpreempt_queue *gq;
	struct queue *q;

	list_for_each_entry(cur, &pass->dqm->queues, list) {
		list_for_each_entry(q, &cur->qpd->queues_list, list) {
			gq = backend_registered(q);
			if (gq)
				fn(pass, cur->qpd, q, gq);
		}
	}
}
