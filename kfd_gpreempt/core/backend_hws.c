// SPDX-License-Identifier: MIT
/*
 * backend_hws.c - preempting through the hardware scheduler's runlist
 *
 * Part of backends.c. A queue is preempted by leaving it out of the runlist: unmapping saves its
 * waves (CWSR), mapping it again continues them. Each pass unmaps every queue of every process
 * once, so a whole decision is carried out by one pass, unless there is a shortcut.
 */
/*
 * The CP gives waves this many times 1000 clocks to end by themselves before it saves them; 0 means
 * for ever. This is the least: half a microsecond, where saving a full device takes tens, and the
 * queue that waits is more urgent. (The driver chooses the same for the APU of 9.4.3.)
 *
 * With each request it would be two packets more in the way of a queue that waits. So it is set
 * once and stays until the monitor ends or pauses, for the driver's own requests as well. Those
 * cost more by a bounded amount: each saves what is on the device, as our requests do, where it
 * might have waited for kernels of a few microseconds.
 */
#define HWS_GRACE_PERIOD	1

/**
 * kfd_gpreempt_leaves_out() - must a process stay out of the runlist?
 * @qpd: the process on the node
 *
 * A process in the runlist takes one of few VMIDs even if none of its queues is mapped. With more
 * processes than VMIDs the beneficiary of a preemption would go on waiting for its turn. Only
 * processes that we emptied are left out.
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
 * The size of the list and the RUN_LIST packet, which says how many processes are to be run at a
 * time, are computed from the processes that are in the list. A packet that announces more makes
 * firmware look for the rest: with the chain bit it would map one process twice.
 *
 * Context: dqm_lock held. Changes nothing, and is called more than once for a list.
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

/*
 * How many turns firmware takes until it has come to each queue of a runlist; 0: none. It does so
 * with one process at a time on the device (amdgpu.enforce_isolation) too, which the driver does
 * not call over-subscribed. Where processes and queues both have to wait, fewer fit side by side
 * than of either alone.
 */
static u32 hws_turns(struct device_queue_manager *dqm, bool over_subscribed)
{
	u32 processes = dqm->processes_count - kfd_gpreempt_left_out(dqm);
	u32 vmids = max(dqm->dev->max_proc_per_quantum, 1U);

	if (gpreempt_compat_isolates(dqm->dev))
		return processes > 1 ? processes : 0;
	if (!over_subscribed)
		return 0;
	return DIV_ROUND_UP(processes, vmids) +
	       DIV_ROUND_UP(dqm->active_cp_queue_count, get_cp_queues_num(dqm)) +
	       dqm->gws_queue_count;
}

/**
 * kfd_gpreempt_runlist_built() - a runlist is being built, by us or by the driver
 * @dqm: the queue manager
 * @over_subscribed: it has more queues than slots, more processes than VMIDs, or two GWS queues
 *
 * Is called once for each list, so it is here that lists are counted, that victims are known to be
 * saved, that MQDs get their hardware priority, and that it is known whether firmware takes turns.
 *
 * Context: dqm_lock held; no queue is mapped.
 */
void kfd_gpreempt_runlist_built(struct device_queue_manager *dqm, bool over_subscribed)
{
	struct gpreempt_node *gn = dqm->dev->gpreempt;

	if (!gn)
		return;
	/* In this order: who reads counters after the move knows whether they leave queues out. */
	WRITE_ONCE(gn->hw.turns, hws_turns(dqm, over_subscribed));
	/* 0 is none. */
	gn->hw.lists = gn->hw.lists + 1 ?: 1;
	gn->hw.behind = false;
	gpreempt_waves_moved(gn);
	WRITE_ONCE(gn->hw.unmapped_ns, ktime_get_ns());
	/* Everything has been unmapped: the only moment at which an MQD may be written. */
	gpreempt_mqd_priority_apply(gn);
}

/*
 * It stays active until it is off the device: so it is told from one that the driver resets
 * meanwhile, and it is as it was if nothing comes of the pass.
 */
static void hws_flag_preemption(struct backend_pass *pass, struct gpreempt_queue *gq)
{
	enum gpreempt_skip skip = backend_obstacle(pass->dqm, gq);

	if (skip != GPREEMPT_NR_SKIPS) {
		backend_refuse(pass, gq, skip);
		return;
	}
	gpreempt_stats_preempting(gq);
	gq->hw.done = GPREEMPT_PREEMPT;
	pass->changed = true;
	pass->preempting = true;
	if (!pass->victim)
		pass->victim = gq;
}

/*
 * It was off the device, where no reset of queues reaches: whatever became of others of its
 * process, it goes on.
 */
static void hws_unflag(struct backend_pass *pass, struct qcm_process_device *qpd, struct queue *q)
{
	q->properties.is_preempted = false;
	if (!QUEUE_IS_ACTIVE(q->properties))
		return;
	WRITE_ONCE(q->properties.is_active, true);
	increment_queue_count(pass->dqm, qpd, q);
	pass->changed = true;
}

static void hws_flag(struct backend_pass *pass, struct qcm_process_device *qpd, struct queue *q,
		     struct gpreempt_queue *gq)
{
	gq->hw.done = GPREEMPT_KEEP;
	if (gq->policy.action == GPREEMPT_PREEMPT && !q->properties.is_preempted) {
		hws_flag_preemption(pass, gq);
	} else if (gq->policy.action == GPREEMPT_RESUME && q->properties.is_preempted) {
		backend_verify(pass, gq);
		hws_unflag(pass, qpd, q);
		gq->hw.done = GPREEMPT_RESUME;
	}
}

static void hws_give_up(struct backend_pass *pass, struct qcm_process_device *qpd, struct queue *q,
			struct gpreempt_queue *gq)
{
	if (gq->hw.done != GPREEMPT_PREEMPT)
		return;
	gq->hw.done = GPREEMPT_KEEP;
	gq->policy.action = GPREEMPT_KEEP;
}

/*
 * A queue had no waves in flight when the pass began, nothing came since, and yet waves of it were
 * saved: the counters lag behind. Worth a look only at a queue that launched just before: the
 * others would cost an uncached read each.
 */
static bool hws_counters_lag(struct backend_pass *pass, struct queue *q, struct gpreempt_queue *gq)
{
	const struct gpreempt_policy_queue *policy = &gq->policy;
	u64 rptr, wptr, pending;

	if (pass->gn->waves.lag_ns || pass->gn->waves.saved || !q->properties.is_active ||
	    policy->set.unseen || policy->seen.waves || !policy->seen.launched_ns ||
	    policy->seen.launched_ns > policy->seen.waves_ns ||
	    pass->start_ns - policy->seen.launched_ns > GPREEMPT_WAVES_LAG_NS)
		return false;
	return backend_read(gq, &rptr, &wptr, &pending) && rptr == policy->seen.rptr &&
	       wptr == policy->seen.wptr && !pending && backend_saved_waves(pass->dqm, q);
}

/* Would saved waves of this queue prove that waves are not counted? */
static bool hws_counts_nothing(struct backend_pass *pass, const struct gpreempt_queue *gq)
{
	return pass->gn->waves.known && !pass->gn->waves.saved &&
	       !READ_ONCE(pass->gn->waves.counted) &&
	       gpreempt_demand_counted_none(&pass->gn->policy, &gq->policy, pass->start_ns);
}

/*
 * Where counters do not tell, or are not believed: did the runlist save waves of a queue that stays
 * on the device? The read is uncached, so only queues that have had work are asked.
 */
static void hws_saw(struct backend_pass *pass, struct queue *q, struct gpreempt_queue *gq)
{
	const struct gpreempt_policy_device *device = &pass->gn->policy.device;
	struct gpreempt_policy_queue *policy = &gq->policy;
	bool doubtful = hws_counts_nothing(pass, gq), saved;
	bool asked = pass->gn->waves.saved || policy->seen.in_doubt;
	u64 rptr, wptr, pending;

	if (!doubtful &&
	    (!asked || !policy->seen.used || policy->set.unseen || policy->preempted))
		return;
	if (!backend_read(gq, &rptr, &wptr, &pending) || rptr != policy->seen.rptr)
		return;
	saved = q->properties.is_active && backend_saved_waves(pass->dqm, q);
	if (saved && doubtful && !pass->gn->waves.saved)
		gpreempt_waves_uncounted(pass->gn);
	gpreempt_demand_saw(policy, device, saved, pass->saved_ns);
}

/* Where its read pointer stands before its waves come back. A later launch shows that they are. */
static void hws_note_rptr(struct gpreempt_queue *gq)
{
	u64 rptr, wptr, pending;

	if (gq->policy.seen.restore_since_ns && backend_read(gq, &rptr, &wptr, &pending))
		gpreempt_demand_mapped(&gq->policy, rptr);
}

/* The device was asked to save everything, also what stays. A queue that is named leaves alone. */
static void hws_account_other(struct backend_pass *pass, struct queue *q, struct gpreempt_queue *gq)
{
	if (!q->properties.is_active)
		return;
	/* Work that has just come has not run yet. */
	if (pass->mapped && !gq->policy.time.came)
		gpreempt_accounts_tell(interrupted, &gq->policy, pass->start_ns,
				       backend_back_ns(pass, true));
	gpreempt_accounts_tell(made_room, &gq->policy,
			       pass->mapped ? backend_back_ns(pass, false) : pass->saved_ns);
}

/* It stays where it is. With a runlist, what is mapped was off the device for the pass. */
static void hws_confirm_other(struct backend_pass *pass, struct queue *q, struct gpreempt_queue *gq)
{
	hws_account_other(pass, q, gq);
	if (pass->changed && !pass->named && hws_counters_lag(pass, q, gq)) {
		gpreempt_waves_lag(pass->gn);
		dev_info(pass->gn->node->adev->dev, "gpreempt: gpu %u: waves are counted late; a launch counts for %llu us from now on\n",
			 pass->gn->node->id, GPREEMPT_WAVES_LAG_NS / NSEC_PER_USEC);
	} else if (pass->mapped) {
		hws_note_rptr(gq);
		hws_saw(pass, q, gq);
	}
}

static void hws_confirm(struct backend_pass *pass, struct qcm_process_device *qpd, struct queue *q,
			struct gpreempt_queue *gq)
{
	if (gq->hw.done == GPREEMPT_PREEMPT) {
		bool saved = backend_saved_waves(pass->dqm, q);

		backend_snapshot(pass, gq);
		gpreempt_accounts_tell(interrupted, &gq->policy, pass->start_ns, pass->saved_ns);
		if (saved && hws_counts_nothing(pass, gq))
			gpreempt_waves_uncounted(pass->gn);
		gpreempt_policy_preempted(&gq->policy, saved, pass->saved_ns);
		/* It has none when it comes back, either. */
		if (!saved && !gq->policy.set.unseen)
			gpreempt_demand_saw(&gq->policy, &pass->gn->policy.device, false,
					    pass->saved_ns);
		gpreempt_stats_preempted(gq, pass->saved_ns);
	} else if (gq->hw.done == GPREEMPT_RESUME) {
		backend_resumed(pass, gq);
	} else {
		hws_confirm_other(pass, q, gq);
	}
}

/*
 * What an error of a hardware pass means:
 * - the victims have left, by a runlist or by their names: they are saved, mapping failed. Try
 * again.
 * - -ETIME: unmapping was not acknowledged. The victims are where they were, and belong to the
 * driver's recovery, as all other queues do.
 * - -EIO after a fatal error (RAS): the driver waits for no answer, but all else is as with -ETIME.
 * - -EIO: the GPU is being reset, or about to. No failure: the driver pauses us when it comes to
 * its queues.
 * - else: the packets did not get out.
 * In the last two cases nothing was saved, and the victims are where they were.
 */
static void hws_error(struct backend_pass *pass, int error, struct gpreempt_outcome *outcome)
{
	bool silent = error == -ETIME ||
		      (error == -EIO && amdgpu_amdkfd_is_fed(pass->dqm->dev->adev));
	enum gpreempt_failure cause = GPREEMPT_FAILURE_MAP;

	pass->gn->hw.behind = true;
	if (!pass->left) {
		backend_for_each(pass, hws_give_up);
		cause = silent ? GPREEMPT_FAILURE_UNMAP_TIMEOUT : GPREEMPT_FAILURE_SEND;
	}
	outcome->stop = silent;
	outcome->again = !silent;
	if (error == -EIO && !silent) {
		gpreempt_stats_skip(pass->gn, NULL, GPREEMPT_SKIP_RESETTING);
		return;
	}
	outcome->error = error;
	gpreempt_stats_failure(pass->gn, pass->victim, cause, error);
}

/*
 * dqm_lock held. A runlist that was not ours may have come with another grace period, or after a
 * reset. During a reset the packet is not sent: the request after it fails for the same reason. A
 * packet that does not get out is no failure: the request takes the grace period that there is.
 */
static void hws_shorten_grace(struct gpreempt_node *gn)
{
	struct device_queue_manager *dqm = gn->node->dqm;
	struct rw_semaphore *reset_sem = &dqm->dev->adev->reset_domain->sem;

	if (gn->hw.grace_set && gn->hw.grace_epoch == gn->waves.epoch)
		return;
	gn->hw.grace_set = false;
	if (!down_read_trylock(reset_sem))
		return;
	gn->hw.grace_set = !gpreempt_compat_set_grace(&dqm->packet_mgr, HWS_GRACE_PERIOD);
	up_read(reset_sem);
}

static void hws_leave(struct gpreempt_node *gn)
{
	struct device_queue_manager *dqm = gn->node->dqm;
	struct rw_semaphore *reset_sem = &dqm->dev->adev->reset_domain->sem;

	dqm_lock(dqm);
	if (gn->hw.grace_set && backend_answers(dqm) && down_read_trylock(reset_sem)) {
		gpreempt_compat_reset_grace(&dqm->packet_mgr);
		up_read(reset_sem);
	}
	gn->hw.grace_set = false;
	dqm_unlock(dqm);
}

/*
 * dqm_lock held. Firmware begins a new runlist with its first entries, and a pass ends the turn of
 * those that are on the device. Where passes come more often than turns, the last entries would
 * never have one: each list begins with others.
 */
static void hws_begin_with_others(struct device_queue_manager *dqm)
{
	struct device_process_node *cur;

	list_rotate_left(&dqm->queues);
	list_for_each_entry(cur, &dqm->queues, list)
		list_rotate_left(&cur->qpd->queues_list);
}

/*
 * Everything leaves the device, and what the flags leave active comes back: the driver's
 * execute_queues_cpsch(), with victims taken in between.
 */
static int hws_runlist(struct backend_pass *pass)
{
	struct device_queue_manager *dqm = pass->dqm;
	struct rw_semaphore *reset_sem = &dqm->dev->adev->reset_domain->sem;
	int r;

	if (pass->gn->hw.turns)
		hws_begin_with_others(dqm);
	if (!down_read_trylock(reset_sem))
		return -EIO;
	r = unmap_queues_cpsch(dqm, KFD_UNMAP_QUEUES_FILTER_DYNAMIC_QUEUES, 0,
			       USE_DEFAULT_GRACE_PERIOD, false);
	if (!r) {
		pass->left = true;
		backend_for_each(pass, backend_take);
		r = map_queues_cpsch(dqm);
	}
	up_read(reset_sem);
	return r;
}

/* Has something else than a runlist carried out what the flags say? */
static bool hws_take_shortcut(struct backend_pass *pass)
{
	bool (*const *shortcut)(struct backend_pass *pass);

	for (shortcut = gpreempt_backend_shortcuts; *shortcut; shortcut++)
		if ((*shortcut)(pass))
			return true;
	return false;
}

static void hws_apply(struct gpreempt_node *gn, struct gpreempt_outcome *outcome)
{
	struct device_queue_manager *dqm = gn->node->dqm;
	struct backend_pass pass = { .gn = gn, .dqm = dqm };
	struct gpreempt_request request = {};
	int r;

	dqm_lock(dqm);
	backend_for_each(&pass, hws_flag);
	request.start_ns = ktime_get_ns();
	request.preempts = pass.preempting;
	pass.start_ns = request.start_ns;
	pass.now_ns = request.start_ns;
	pass.saved_ns = request.start_ns;
	/*
	 * While the driver's scheduler is stopped the flags are enough: it maps what is active when
	 * it starts.
	 */
	if ((pass.changed || gn->monitor.again) && backend_answers(dqm)) {
		/* One that only observes gives back what it had taken off, and leaves no trace. */
		if (!gn->tun.params.observe)
			hws_shorten_grace(gn);
		r = hws_take_shortcut(&pass) ? 0 : hws_runlist(&pass);
		gn->hw.grace_epoch = gn->waves.epoch;
		pass.now_ns = ktime_get_ns();
		/* The driver builds no runlist for a device without queues. */
		if (pass.preempting)
			pass.saved_ns = gn->hw.unmapped_ns >= request.start_ns ?
						gn->hw.unmapped_ns :
						pass.now_ns;
		request.saved_ns = pass.saved_ns;
		request.done_ns = pass.now_ns;
		outcome->elapsed_ns = request.done_ns - request.start_ns;
		outcome->preempted = pass.preempting;
		gpreempt_stats_runlist(gn, &request);
		if (r)
			hws_error(&pass, r, outcome);
		pass.mapped = !r && !pass.named;
	}
	backend_for_each(&pass, hws_confirm);
	dqm_unlock(dqm);
}

/*
 * The driver asks for the HIQ's read pointer in blocks of so many dwords (RPTR_BLOCK_SIZE 5):
 * firmware may report no more exactly than that.
 */
#define HWS_RPTR_BLOCK_DW	64
/*
 * A runlist that was sent so long ago has been read, if the read pointer is no further behind: a
 * runlist takes tens of microseconds.
 */
#define HWS_READ_NS		NSEC_PER_MSEC

/*
 * Waves come back when the CP has read all packets of the HIQ. It lives as long as the driver's
 * scheduler runs, and we are paused while it does not.
 */
static bool hws_taken_in(struct gpreempt_node *gn)
{
	const struct kernel_queue *hiq = gn->node->dqm->packet_mgr.priv_queue;
	u32 size_dw = hiq->queue->properties.queue_size / sizeof(u32), behind_dw;

	behind_dw = (u32)(READ_ONCE(hiq->pending_wptr) - READ_ONCE(*hiq->rptr_kernel)) % size_dw;
	return !behind_dw || (behind_dw < HWS_RPTR_BLOCK_DW &&
			      ktime_get_ns() - READ_ONCE(gn->hw.unmapped_ns) >= HWS_READ_NS);
}

static bool hws_runlist_quiescent(struct gpreempt_node *gn)
{
	return backend_is_unlocked(gn) && hws_taken_in(gn);
}

/*
 * Queues are found in the driver's lists: their MQDs are freed before they are unregistered when a
 * program exits. Reads are uncached, so only queues in doubt are asked.
 */
static bool hws_look_for_saved(struct gpreempt_node *gn, bool locked)
{
	struct device_queue_manager *dqm = gn->node->dqm;
	struct device_process_node *cur;
	struct queue *q;

	if (!locked && !mutex_trylock(&dqm->lock_hidden))
		return false;
	list_for_each_entry(cur, &dqm->queues, list) {
		list_for_each_entry(q, &cur->qpd->queues_list, list) {
			struct gpreempt_queue *gq = backend_registered(q);

			if (gq)
				gq->hw.may_hide = !demand_awaits_turn(&gn->policy, &gq->policy) ||
						  backend_saved_waves(dqm, q);
		}
	}
	if (!locked)
		mutex_unlock(&dqm->lock_hidden);
	return true;
}

const struct gpreempt_backend gpreempt_backend_hws = {
	.name = "hws",
	.tells = true,
	.apply = hws_apply,
	.leave = hws_leave,
	.taken_in = hws_taken_in,
	.runlist_quiescent = hws_runlist_quiescent,
	.look_for_saved = hws_look_for_saved,
};
