// SPDX-License-Identifier: MIT
/*
 * backend_mqd.c - preempting without the hardware scheduler, queue by queue
 *
 * Part of backends.c. With amdgpu.sched_policy=2 the driver chooses the hardware slot of each queue
 * and writes it by itself, and so do we: a victim is asked to save its waves and leave its slot,
 * and loaded into the same slot later. Other queues go on. Slot and VMID stay the queue's own
 * meanwhile.
 *
 * A queue that does not leave in time is still running, on some XCCs or on all. It counts as
 * preempted (is_preempted), so it is not loaded again. is_active stays true, so an eviction or the
 * end of the queue asks and waits once more. Later passes look for its end, and bring one about if
 * it does not come.
 */
#include "hqd.h"

/*
 * Saving takes microseconds to some milliseconds. dqm_lock and the lock of the slot registers are
 * held for so long, so no more than that at first.
 */
#define MQD_SAVE_MS	100
/* For how long the driver itself waits before it calls a queue lost. */
#define MQD_PATIENCE_MS	KFD_UNMAP_LATENCY_MS
/* Waves that are reset need no time. */
#define MQD_RESET_MS	100

/*
 * Each XCC has a slot of its own, and all of them are asked even if one fails: the driver's own
 * function stops at the first error and would leave the others running.
 */
static int mqd_unload(struct device_queue_manager *dqm, struct queue *q, enum kfd_preempt_type type,
		      u32 timeout_ms)
{
	struct mqd_manager *mm = dqm->mqd_mgrs[KFD_MQD_TYPE_CP];
	u64 stride = mm->mqd_stride(mm, &q->properties);
	u32 xcc_mask = dqm->dev->xcc_mask;
	void *mqd = q->mqd;
	int xcc, r, error = 0;

	/* Everything but the reset of waves takes the device a moment. */
	if (type == KFD_PREEMPT_TYPE_WAVEFRONT_SAVE)
		gpreempt_hqd_ask(dqm->dev, q->pipe, q->queue);
	for_each_inst(xcc, xcc_mask) {
		r = dqm->dev->kfd2kgd->hqd_destroy(dqm->dev->adev, mqd, type, timeout_ms, q->pipe,
						   q->queue, xcc);
		if (r && error != -ETIME)
			error = r;
		mqd += stride;
	}
	return error;
}

/*
 * The ring that it was loaded with. UPDATE_QUEUE gives the queue another one before it waits for
 * dqm_lock, and its MQDs under that.
 */
static u64 mqd_ring(const struct queue *q)
{
	const struct v9_mqd *m = q->mqd;

	return ((u64)m->cp_hqd_pq_base_hi << 32 | m->cp_hqd_pq_base_lo) << 8;
}

/*
 * Does any XCC still run it? By the ring's address at that time: the queue may have been given
 * another one since.
 */
static bool mqd_on_device(struct device_queue_manager *dqm, struct queue *q,
			  struct gpreempt_queue *gq)
{
	u32 xcc_mask = dqm->dev->xcc_mask;
	int xcc;

	for_each_inst(xcc, xcc_mask)
		if (dqm->dev->kfd2kgd->hqd_is_occupied(dqm->dev->adev, gq->hw.leaving_ring, q->pipe,
						       q->queue, xcc))
			return true;
	return false;
}

static void mqd_deactivate(struct backend_pass *pass, struct qcm_process_device *qpd,
			   struct queue *q)
{
	if (!q->properties.is_active)
		return;
	WRITE_ONCE(q->properties.is_active, false);
	decrement_queue_count(pass->dqm, qpd, q);
}

/* Queues that keep the device from others first: each takes as long as it takes to save it. */
static bool mqd_has_work(const struct gpreempt_queue *gq)
{
	return gq->policy.seen.pending ||
	       (gq->policy.seen.used && (gq->policy.seen.waves || !gq->policy.seen.waves_ns));
}

/*
 * 0: it has left. -ETIME: it is leaving, and preempted until it has. Else: a reset has begun,
 * nothing was asked of it.
 */
static int mqd_take_off(struct backend_pass *pass, struct queue *q, struct gpreempt_queue *gq)
{
	u64 asked_ns = ktime_get_ns();
	int r;

	r = mqd_unload(pass->dqm, q, KFD_PREEMPT_TYPE_WAVEFRONT_SAVE, MQD_SAVE_MS);
	if (r && r != -ETIME) {
		gpreempt_stats_skip(pass->gn, gq, GPREEMPT_SKIP_RESETTING);
		return r;
	}
	gq->hw.leaving = r;
	pass->changed = true;
	pass->now_ns = ktime_get_ns();
	gpreempt_accounts_tell(interrupted, &gq->policy, asked_ns, pass->now_ns);
	if (!r)
		return 0;
	q->properties.is_preempted = true;
	gq->hw.done = GPREEMPT_PREEMPT;
	gq->hw.leaving_ring = mqd_ring(q);
	gq->hw.leaving_ns = pass->now_ns;
	gq->hw.killed = false;
	pass->again = true;
	pass->error = r;
	gpreempt_stats_failure(pass->gn, gq, GPREEMPT_FAILURE_UNMAP_TIMEOUT, r);
	return r;
}

static void mqd_preempt(struct backend_pass *pass, struct qcm_process_device *qpd, struct queue *q,
			struct gpreempt_queue *gq)
{
	enum gpreempt_skip skip;
	int r;

	if (gq->policy.action != GPREEMPT_PREEMPT || q->properties.is_preempted)
		return;
	skip = backend_obstacle(pass->dqm, gq);
	if (skip != GPREEMPT_NR_SKIPS) {
		backend_refuse(pass, gq, skip);
		return;
	}
	gpreempt_stats_preempting(gq);
	r = mqd_take_off(pass, q, gq);
	if (r && r != -ETIME) {
		gq->policy.action = GPREEMPT_KEEP;
		return;
	}
	q->properties.is_preempted = true;
	gq->hw.done = GPREEMPT_PREEMPT;
	pass->preempting = true;
	if (!r)
		mqd_deactivate(pass, qpd, q);
}

static void mqd_preempt_busy(struct backend_pass *pass, struct qcm_process_device *qpd,
			     struct queue *q, struct gpreempt_queue *gq)
{
	gq->hw.done = GPREEMPT_KEEP;
	if (mqd_has_work(gq))
		mqd_preempt(pass, qpd, q, gq);
}

/*
 * After all of them are off the device: copying is for later, the beneficiary is not to wait for
 * it.
 */
static void mqd_preempted(struct backend_pass *pass, struct qcm_process_device *qpd,
			  struct queue *q, struct gpreempt_queue *gq)
{
	if (gq->hw.done != GPREEMPT_PREEMPT)
		return;
	if (!gq->hw.leaving)
		backend_snapshot(pass, gq);
	/* What is still on the device may have waves. */
	gpreempt_policy_preempted(&gq->policy, gq->hw.leaving || backend_saved_waves(pass->dqm, q),
				  pass->now_ns);
	gpreempt_stats_preempted(gq, pass->now_ns);
}

/*
 * The last resort before the whole GPU is reset: the queue's own waves, then those of the whole
 * process.
 */
static bool mqd_kill(struct backend_pass *pass, struct queue *q, struct gpreempt_queue *gq)
{
	struct device_queue_manager *dqm = pass->dqm;

	mqd_unload(dqm, q, KFD_PREEMPT_TYPE_WAVEFRONT_RESET, MQD_RESET_MS);
	if (!mqd_on_device(dqm, q, gq))
		return true;
	dbgdev_wave_reset_wavefronts(dqm->dev, q->process);
	mqd_unload(dqm, q, KFD_PREEMPT_TYPE_WAVEFRONT_RESET, MQD_RESET_MS);
	return !mqd_on_device(dqm, q, gq);
}

/*
 * Its state is gone. is_preempted stays, so it is never loaded again. The process is told as the
 * driver tells it.
 */
static void mqd_lost(struct backend_pass *pass, struct qcm_process_device *qpd, struct queue *q,
		     struct gpreempt_queue *gq)
{
	gq->hw.leaving = false;
	gq->hw.lost = true;
	gq->policy.set.immovable = true;
	gpreempt_mqd_snapshot_forget(gq);
	GPREEMPT_COMPAT_SET_AS_RESET(pass->dqm, q, qpd);
	gpreempt_compat_tell_reset(pass->dqm);
	gpreempt_stats_failure(pass->gn, gq, GPREEMPT_FAILURE_VICTIM_RESET, -EIO);
}

/* What has become of a queue that did not leave in time? */
static void mqd_look_after(struct backend_pass *pass, struct qcm_process_device *qpd,
			   struct queue *q, struct gpreempt_queue *gq)
{
	if (!gq->hw.leaving)
		return;
	if (!mqd_on_device(pass->dqm, q, gq)) {
		if (gq->hw.killed) {		/* late, but without its waves all the same */
			mqd_lost(pass, qpd, q, gq);
			return;
		}
		gq->hw.leaving = false;
		mqd_deactivate(pass, qpd, q);
		backend_snapshot(pass, gq);
		gpreempt_policy_saved(&gq->policy, backend_saved_waves(pass->dqm, q));
		return;
	}
	/* Only a reset of the GPU helps. No call waits for the queue. */
	if (gq->hw.killed)
		return;
	pass->again = true;
	if (ktime_get_ns() - gq->hw.leaving_ns < (u64)MQD_PATIENCE_MS * NSEC_PER_MSEC)
		return;
	gq->hw.killed = true;
	/* Waves are not reset where the process would not be told. */
	if (gpreempt_compat_resets_queues() && mqd_kill(pass, q, gq))
		mqd_lost(pass, qpd, q, gq);
	else
		pass->stop = true;
}

static void mqd_load(struct backend_pass *pass, struct qcm_process_device *qpd, struct queue *q,
		     struct gpreempt_queue *gq)
{
	struct mqd_manager *mm = pass->dqm->mqd_mgrs[KFD_MQD_TYPE_CP];
	int r;

	gpreempt_mqd_priority_write(gq);
	/* No mm: this generation's CP fetches the write pointer by itself. */
	r = mm->load_mqd(mm, q->mqd, q->pipe, q->queue, &q->properties, NULL);
	WRITE_ONCE(q->properties.is_active, true);
	increment_queue_count(pass->dqm, qpd, q);
	pass->changed = true;
	if (!r)
		return;
	/* Some XCCs may run it. It leaves them again. */
	pass->again = true;
	pass->error = r;
	gpreempt_stats_failure(pass->gn, gq, GPREEMPT_FAILURE_MAP, r);
	q->properties.is_preempted = true;
	gq->hw.leaving_ring = mqd_ring(q);
	gq->hw.leaving_ns = ktime_get_ns();
	gq->hw.killed = false;
	gq->hw.leaving = mqd_unload(pass->dqm, q, KFD_PREEMPT_TYPE_WAVEFRONT_SAVE, MQD_SAVE_MS);
	if (gq->hw.leaving)
		return;
	mqd_deactivate(pass, qpd, q);
	backend_snapshot(pass, gq);
}

static void mqd_resume(struct backend_pass *pass, struct qcm_process_device *qpd, struct queue *q,
		       struct gpreempt_queue *gq)
{
	if (gq->policy.action != GPREEMPT_RESUME || !q->properties.is_preempted)
		return;
	if (gq->hw.leaving && !pass->parking)
		/* never loaded while the device has it: mqd_look_after() goes on */
		return;
	gq->hw.done = GPREEMPT_RESUME;
	if (gq->hw.lost)
		return;
	backend_verify(pass, gq);
	q->properties.is_preempted = false;
	if (gq->hw.leaving) {
		/* still active: the driver, which is about to evict it, goes on asking */
		gq->hw.leaving = false;
		return;
	}
	if (!QUEUE_IS_ACTIVE(q->properties))
		return;
	if (!pass->parking) {
		mqd_load(pass, qpd, q, gq);
		if (q->properties.is_preempted)
			gq->hw.done = GPREEMPT_KEEP;
		return;
	}
	WRITE_ONCE(q->properties.is_active, true);
	increment_queue_count(pass->dqm, qpd, q);
}

/*
 * Its MQDs have another priority than they should. They are the device's while it runs, so it
 * leaves for that once, as it does for every change that the driver makes. A failed node is left as
 * it is.
 */
static void mqd_reprioritize(struct backend_pass *pass, struct qcm_process_device *qpd,
			     struct queue *q, struct gpreempt_queue *gq)
{
	if (gq->hw.leaving || gq->hw.lost || !gpreempt_mqd_priority_stale(gq) ||
	    !gpreempt_mqd_priority_differs(gq))
		return;
	if (!q->properties.is_active) {
		gpreempt_mqd_priority_write(gq);
		return;
	}
	if (gq->policy.process->opt_out || backend_obstacle(pass->dqm, gq) != GPREEMPT_NR_SKIPS)
		return;
	if (!mqd_take_off(pass, q, gq)) {
		/*
		 * What was seen of its waves does not count any more, see
		 * __kfd_gpreempt_mqd_updated().
		 */
		gpreempt_waves_moved(pass->gn);
		mqd_deactivate(pass, qpd, q);
		mqd_load(pass, qpd, q, gq);
	}
	if (!q->properties.is_preempted)
		return;
	/*
	 * It did not leave, or could not be loaded: a preemption like any other, and resumed like
	 * one.
	 */
	gq->hw.done = GPREEMPT_PREEMPT;
	mqd_preempted(pass, qpd, q, gq);
}

static void mqd_resumed(struct backend_pass *pass, struct qcm_process_device *qpd, struct queue *q,
			struct gpreempt_queue *gq)
{
	if (gq->hw.done == GPREEMPT_KEEP)
		gpreempt_accounts_tell(made_room, &gq->policy, pass->now_ns);
	if (gq->hw.done == GPREEMPT_RESUME)
		backend_resumed(pass, gq);
}

static void mqd_apply(struct gpreempt_node *gn, struct gpreempt_outcome *outcome)
{
	struct device_queue_manager *dqm = gn->node->dqm;
	struct backend_pass pass = { .gn = gn, .dqm = dqm };
	struct gpreempt_request request = {};

	/*
	 * The driver is about to take all queues off, maybe of a device that does not answer: flags
	 * are enough.
	 */
	pass.parking = READ_ONCE(gn->life.paused);

	dqm_lock(dqm);
	if (!pass.parking && !down_read_trylock(&dqm->dev->adev->reset_domain->sem)) {
		gpreempt_stats_skip(gn, NULL, GPREEMPT_SKIP_RESETTING);
		outcome->again = true;
		dqm_unlock(dqm);
		return;
	}
	request.start_ns = ktime_get_ns();
	pass.now_ns = request.start_ns;
	if (!pass.parking)
		backend_for_each(&pass, mqd_look_after);
	backend_for_each(&pass, mqd_preempt_busy);
	backend_for_each(&pass, mqd_preempt);
	/* Those that are to have the device have their slots: this is all that they wait for. */
	request.preempts = pass.preempting;
	request.saved_ns = pass.preempting ? pass.now_ns : request.start_ns;
	backend_for_each(&pass, mqd_preempted);
	backend_for_each(&pass, mqd_resume);
	if (!pass.parking && READ_ONCE(gn->monitor.state) != GPREEMPT_STATE_FAILED)
		backend_for_each(&pass, mqd_reprioritize);
	gpreempt_mqd_priority_count(gn);
	pass.now_ns = ktime_get_ns();
	request.done_ns = pass.preempting ? request.saved_ns : pass.now_ns;
	if (pass.changed)
		gpreempt_stats_runlist(gn, &request);
	backend_for_each(&pass, mqd_resumed);
	if (!pass.parking)
		up_read(&dqm->dev->adev->reset_domain->sem);
	dqm_unlock(dqm);

	if (pass.stop)
		amdgpu_amdkfd_gpu_reset(dqm->dev->adev);
	outcome->error = pass.stop ? -ETIME : pass.error;
	outcome->stop = pass.stop;
	outcome->again = pass.again;
	outcome->preempted = pass.preempting;
	outcome->elapsed_ns = pass.changed ? pass.now_ns - request.start_ns : 0;
}

/* Slots are written, not asked. */
static bool mqd_taken_in(struct gpreempt_node *gn)
{
	return true;
}

static const struct gpreempt_backend gpreempt_backend_mqd = {
	.scheduler = GPREEMPT_BY_DRIVER,
	.name = "mqd",
	.reprioritizes = true,
	.apply = mqd_apply,
	.taken_in = mqd_taken_in,
	/* Waves come back tens of microseconds after it. */
	.runlist_quiescent = backend_is_unlocked,
};
