// SPDX-License-Identifier: MIT
/*
 * backend_mes.c - preempting through MES, the scheduler in firmware of gfx11 and later
 *
 * Part of backends.c. The driver gives MES one queue at a time, and so do we: a victim is removed
 * from what MES schedules, which saves its waves, and is added again later. Other queues go on. MES
 * answers each request before the next one, so the largest holder of the device goes first, and
 * dqm_lock is dropped in between: evictions wait for it.
 *
 * A removal that is not answered may still be carried out, after the driver has given up. So its
 * queue is neither on the device nor off it: it counts as preempted, and nothing adds it again
 * before the reset that follows.
 */

/* Does the queue keep the device from others more than that one? */
static bool mes_holds_more(const struct gpreempt_queue *gq, const struct gpreempt_queue *other)
{
	return !other || (gq->policy.seen.waves && !other->policy.seen.waves);
}

/**
 * struct mes_pass - a decision that is being carried out, a queue at a time
 * @pass: what all backends know of it
 * @action: what queues are looked for
 * @qpd: the process of @gq on the node
 * @gq: the queue that is next; NULL: there is none
 */
struct mes_pass {
	struct backend_pass pass;
	enum gpreempt_action action;
	struct qcm_process_device *qpd;
	struct gpreempt_queue *gq;
};

/* What is wanted of it has been neither done nor tried. */
static void mes_choose(struct backend_pass *pass, struct qcm_process_device *qpd, struct queue *q,
		       struct gpreempt_queue *gq)
{
	struct mes_pass *mes = container_of(pass, struct mes_pass, pass);

	if (gq->policy.action != mes->action || gq->hw.done != GPREEMPT_KEEP ||
	    q->properties.is_preempted != (mes->action == GPREEMPT_RESUME) ||
	    !mes_holds_more(gq, mes->gq))
		return;
	mes->qpd = qpd;
	mes->gq = gq;
}

/* dqm_lock held. */
static bool mes_find(struct mes_pass *mes)
{
	mes->gq = NULL;
	backend_for_each(&mes->pass, mes_choose);
	return mes->gq;
}

static void mes_forget(struct backend_pass *pass, struct qcm_process_device *qpd, struct queue *q,
		       struct gpreempt_queue *gq)
{
	gq->hw.done = GPREEMPT_KEEP;
}

static void mes_failed(struct backend_pass *pass, struct gpreempt_queue *gq,
		       enum gpreempt_failure cause, int error)
{
	pass->stop = true;
	pass->error = error;
	gpreempt_stats_failure(pass->gn, gq, cause, error);
}

static void mes_taken(struct backend_pass *pass, struct gpreempt_queue *gq, u64 asked_ns, int error)
{
	bool saved = error || backend_saved_waves(pass->dqm, gq->q);

	pass->preempting = true;
	gpreempt_accounts_tell(interrupted, &gq->policy, asked_ns, pass->now_ns);
	if (!error)
		backend_snapshot(pass, gq);
	gpreempt_policy_preempted(&gq->policy, saved, pass->now_ns);
	gpreempt_stats_preempted(gq, pass->now_ns);
	if (error)
		mes_failed(pass, gq, GPREEMPT_FAILURE_UNMAP_TIMEOUT, error);
}

/* The driver's -EIO: a reset is under way, and nothing was asked. */
static void mes_preempt(struct backend_pass *pass, struct qcm_process_device *qpd, struct queue *q,
			struct gpreempt_queue *gq)
{
	enum gpreempt_skip skip = backend_obstacle(pass->dqm, gq);
	u64 asked_ns = ktime_get_ns();
	int r;

	if (skip != GPREEMPT_NR_SKIPS) {
		backend_refuse(pass, gq, skip);
		return;
	}
	gpreempt_stats_preempting(gq);
	r = remove_queue_mes(pass->dqm, q, qpd);
	pass->now_ns = ktime_get_ns();
	if (r == -EIO) {
		gq->policy.action = GPREEMPT_KEEP;
		gpreempt_stats_skip(pass->gn, gq, GPREEMPT_SKIP_RESETTING);
		pass->again = true;
		return;
	}
	pass->changed = true;
	gq->hw.done = GPREEMPT_PREEMPT;
	backend_take(pass, qpd, q, gq);
	if (gq->hw.done == GPREEMPT_PREEMPT)
		mes_taken(pass, gq, asked_ns, r);
}

/*
 * Of a device that is about to be suspended or reset the flags are enough: the driver evicts what
 * is active, and adds it when the device is back. Each request to a device that does not answer
 * would delay its reset by a time-out.
 */
static void mes_resume(struct backend_pass *pass, struct qcm_process_device *qpd, struct queue *q,
		       struct gpreempt_queue *gq)
{
	int r = 0;

	gq->hw.done = GPREEMPT_RESUME;
	backend_verify(pass, gq);
	q->properties.is_preempted = false;
	if (QUEUE_IS_ACTIVE(q->properties)) {
		WRITE_ONCE(q->properties.is_active, true);
		increment_queue_count(pass->dqm, qpd, q);
		if (!pass->parking && backend_answers(pass->dqm)) {
			gpreempt_mqd_priority_write(gq);
			r = add_queue_mes(pass->dqm, q, qpd);
			pass->changed = true;
		}
	}
	pass->now_ns = ktime_get_ns();
	backend_resumed(pass, gq);
	if (r && r != -EIO)
		mes_failed(pass, gq, GPREEMPT_FAILURE_MAP, r);
}

/* One request at a time holds dqm_lock. The list is looked through anew: it may have changed. */
static void mes_carry_out(struct mes_pass *mes, enum gpreempt_action action, backend_fn act)
{
	struct backend_pass *pass = &mes->pass;

	mes->action = action;
	dqm_lock(pass->dqm);
	while (!pass->stop && !pass->again && mes_find(mes)) {
		act(pass, mes->qpd, mes->gq->q, mes->gq);
		dqm_unlock(pass->dqm);
		dqm_lock(pass->dqm);
	}
	dqm_unlock(pass->dqm);
}

static void mes_apply(struct gpreempt_node *gn, struct gpreempt_outcome *outcome)
{
	struct mes_pass mes = { .pass = { .gn = gn, .dqm = gn->node->dqm } };
	struct backend_pass *pass = &mes.pass;
	struct gpreempt_request request = {};

	pass->parking = READ_ONCE(gn->life.paused);
	dqm_lock(pass->dqm);
	backend_for_each(pass, mes_forget);
	dqm_unlock(pass->dqm);
	request.start_ns = ktime_get_ns();
	pass->now_ns = request.start_ns;
	mes_carry_out(&mes, GPREEMPT_PREEMPT, mes_preempt);
	request.preempts = pass->preempting;
	request.saved_ns = pass->now_ns;
	mes_carry_out(&mes, GPREEMPT_RESUME, mes_resume);
	request.done_ns = pass->preempting ? request.saved_ns : pass->now_ns;
	if (pass->changed) {
		gpreempt_waves_moved(gn);
		gpreempt_stats_runlist(gn, &request);
	}
	outcome->error = pass->error;
	outcome->stop = pass->stop;
	outcome->again = pass->again;
	outcome->preempted = pass->preempting;
	outcome->elapsed_ns = pass->changed ? pass->now_ns - request.start_ns : 0;
}

/* MES answers each request before the next one. */
static bool mes_taken_in(struct gpreempt_node *gn)
{
	return true;
}

static const struct gpreempt_backend gpreempt_backend_mes = {
	.name = "mes",
	.scheduler = GPREEMPT_BY_MES,
	.apply = mes_apply,
	.taken_in = mes_taken_in,
	.runlist_quiescent = backend_is_unlocked,
};
