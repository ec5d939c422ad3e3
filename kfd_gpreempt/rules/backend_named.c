// SPDX-License-Identifier: MIT
/*
 * backend_named.c - with the hardware scheduler, queues that leave and return while all others stay
 *
 * Part of backends.c. A runlist takes every queue of every process off the device for a moment.
 * UNMAP_QUEUES can name queues by their doorbells instead, and MAP_PROCESS and MAP_QUEUES, of which
 * a list consists, can be given to the HIQ without a list. Neither was tried on hardware, so
 * gpreempt_unmap=named has to be asked for.
 *
 * It is done only to what the last runlist has brought, and only if that needs no turns: then there
 * is room for all that returns, and each process has its VMID. In all other cases, and whenever
 * something goes wrong, a runlist does it, which makes everything whatever the flags say.
 */
/* A packet has room for so many doorbells. */
#define NAMED_DOORBELLS		4
/* A pass that takes more room in the HIQ is as well a runlist. */
#define NAMED_DWORDS_MAX	256
/* Not the driver's: an answer that comes late is not taken for one to its own request. */
#define NAMED_FENCE		(KFD_FENCE_COMPLETED + 1)
/*
 * An unmap request takes tens of microseconds. If it takes so long, the driver's own is sent, which
 * knows what to do about firmware that does not answer.
 */
#define NAMED_TIMEOUT_NS	(100 * NSEC_PER_MSEC)

static bool named_left(const struct gpreempt_node *gn, const struct gpreempt_queue *gq)
{
	return gq->hw.named_list == gn->hw.lists;
}

/*
 * Firmware that does not know what was unmapped by its name may map it again, as its list says. The
 * queue has gone on then, in another's place. From then on all passes are runlists.
 */
static bool named_went_on(struct gpreempt_queue *gq)
{
	u64 rptr, wptr, pending;

	return backend_read(gq, &rptr, &wptr, &pending) && rptr != gq->hw.named_rptr;
}

/* What has become of those that left by their names, and can this pass do without a runlist? */
static void named_look(struct backend_pass *pass, struct qcm_process_device *qpd, struct queue *q,
		       struct gpreempt_queue *gq)
{
	bool returns = gq->hw.done == GPREEMPT_RESUME;

	/* MQDs are written while everything is off the device, and GWS has one owner at a time. */
	if (q->properties.is_gws || (q->properties.is_active && gq->hw.done != GPREEMPT_PREEMPT &&
				     gpreempt_mqd_priority_stale(gq)))
		pass->whole = true;
	if (!returns && !q->properties.is_preempted)
		return;
	if (!named_left(pass->gn, gq)) {
		/* One that was preempted by a runlist, and stays so, is no matter of this pass. */
		pass->whole |= returns;
	} else if (gq->hw.done != GPREEMPT_PREEMPT && named_went_on(gq)) {
		pass->gn->hw.unnamed = true;
		pass->whole = true;
	}
}

static bool named_may(struct backend_pass *pass)
{
	struct gpreempt_node *gn = pass->gn;
	bool unnamed = gn->hw.unnamed;

	if (gn->tun.unmap != GPREEMPT_UNMAP_NAMED || unnamed || !gpreempt_compat_names())
		return false;
	/* Something is unfinished, or only runlists tell what has waves. */
	pass->whole = gn->monitor.again || gn->waves.saved;
	/* There is no list, or firmware takes turns with it. */
	pass->whole |= !pass->dqm->active_runlist || gn->hw.behind || gn->hw.turns;
	backend_for_each(pass, named_look);
	if (gn->hw.unnamed)
		dev_warn(gn->node->adev->dev, "gpreempt: gpu %u: a queue that was unmapped by its name went on; all are unmapped from now on\n",
			 gn->node->id);
	return !pass->whole;
}

static void named_count(struct backend_pass *pass, struct qcm_process_device *qpd, struct queue *q,
			struct gpreempt_queue *gq)
{
	pass->nr_named += gq->hw.done == GPREEMPT_PREEMPT;
}

/* The driver builds the packet; that names queues instead is two numbers in it. */
static void named_leave(struct backend_pass *pass, struct qcm_process_device *qpd, struct queue *q,
			struct gpreempt_queue *gq)
{
	struct packet_manager *pm = &pass->dqm->packet_mgr;
	u32 nth = pass->nr_named % NAMED_DOORBELLS;
	struct pm4_mes_unmap_queues *packet;

	if (gq->hw.done != GPREEMPT_PREEMPT)
		return;
	if (!nth) {
		if (pass->nr_named)
			pass->packet += pm->pmf->unmap_queues_size / sizeof(u32);
		pm->pmf->unmap_queues(pm, pass->packet, KFD_UNMAP_QUEUES_FILTER_DYNAMIC_QUEUES, 0,
				      false);
	}
	packet = (struct pm4_mes_unmap_queues *)pass->packet;
	packet->bitfields2.queue_sel =
		queue_sel__mes_unmap_queues__perform_request_on_specified_queues;
	packet->bitfields2.num_queues = nth + 1;
	if (nth == 0)
		packet->bitfields3b.doorbell_offset0 = q->properties.doorbell_off;
	else if (nth == 1)
		packet->bitfields4.doorbell_offset1 = q->properties.doorbell_off;
	else if (nth == 2)
		packet->bitfields5.doorbell_offset2 = q->properties.doorbell_off;
	else
		packet->bitfields6.doorbell_offset3 = q->properties.doorbell_off;
	pass->nr_named++;
}

/* Reset lock held. Return: 0 when what was asked for before has been done */
static int named_wait(struct device_queue_manager *dqm)
{
	u64 end_ns = ktime_get_ns() + NAMED_TIMEOUT_NS;

	while (READ_ONCE(*dqm->fence_addr) != NAMED_FENCE) {
		if (amdgpu_amdkfd_is_fed(dqm->dev->adev) || amdgpu_in_reset(dqm->dev->adev))
			return -EIO;
		if (ktime_get_ns() > end_ns)
			return -ETIME;
		kfd_gpreempt_waits(dqm);
		schedule();
	}
	return 0;
}

/* Return: 0 if the HIQ has the packets of @dwords that pass->packet leads to now */
static int named_reserve(struct backend_pass *pass, size_t dwords)
{
	struct packet_manager *pm = &pass->dqm->packet_mgr;

	if (dwords > NAMED_DWORDS_MAX)
		return -E2BIG;
	mutex_lock(&pm->lock);
	pass->packet = NULL;
	kq_acquire_packet_buffer(pm->priv_queue, dwords, (unsigned int **)&pass->packet);
	if (pass->packet)
		return 0;
	mutex_unlock(&pm->lock);
	return -ENOMEM;
}

static void named_submit(struct backend_pass *pass)
{
	struct packet_manager *pm = &pass->dqm->packet_mgr;

	kq_submit_packet(pm->priv_queue);
	mutex_unlock(&pm->lock);
}

/* Reset lock held. Return: 0 if all victims have left, and nothing else has. */
static int named_unmap(struct backend_pass *pass)
{
	struct device_queue_manager *dqm = pass->dqm;
	struct packet_manager *pm = &dqm->packet_mgr;
	u32 packets;
	int r;

	pass->nr_named = 0;
	backend_for_each(pass, named_count);
	packets = DIV_ROUND_UP(pass->nr_named, NAMED_DOORBELLS);
	r = named_reserve(pass, (packets * pm->pmf->unmap_queues_size +
				 pm->pmf->query_status_size) / sizeof(u32));
	if (r)
		return r;
	pass->nr_named = 0;
	backend_for_each(pass, named_leave);
	pass->packet += pm->pmf->unmap_queues_size / sizeof(u32);
	WRITE_ONCE(*dqm->fence_addr, KFD_FENCE_INIT);
	pm->pmf->query_status(pm, pass->packet, dqm->fence_gpu_addr, NAMED_FENCE);
	named_submit(pass);
	r = named_wait(dqm);
	/* Firmware that gives up on a queue says so. The driver's unmap follows and resets it. */
	if (!r && gpreempt_compat_abandoned(dqm))
		r = -EBUSY;
	return r;
}

static u32 named_returning(struct qcm_process_device *qpd)
{
	struct gpreempt_queue *gq;
	struct queue *q;
	u32 n = 0;

	list_for_each_entry(q, &qpd->queues_list, list) {
		gq = backend_registered(q);
		n += gq && gq->hw.done == GPREEMPT_RESUME && q->properties.is_active;
	}
	return n;
}

static u32 named_map_dwords(struct backend_pass *pass)
{
	const struct packet_manager_funcs *pmf = pass->dqm->packet_mgr.pmf;
	struct device_process_node *cur;
	u32 n, bytes = 0;

	list_for_each_entry(cur, &pass->dqm->queues, list) {
		n = named_returning(cur->qpd);
		if (n)
			bytes += pmf->map_process_size + n * pmf->map_queues_size;
	}
	return bytes / sizeof(u32);
}

/* Reset lock held. Return: 0 if firmware was told; it is not waited for, as after a runlist. */
static int named_map(struct backend_pass *pass)
{
	struct packet_manager *pm = &pass->dqm->packet_mgr;
	struct device_process_node *cur;
	struct gpreempt_queue *gq;
	struct queue *q;
	u32 dwords = named_map_dwords(pass);
	int r;

	if (!dwords)
		return 0;
	r = named_reserve(pass, dwords);
	if (r)
		return r;
	list_for_each_entry(cur, &pass->dqm->queues, list) {
		if (!named_returning(cur->qpd))
			continue;
		pm->pmf->map_process(pm, pass->packet, cur->qpd);
		pass->packet += pm->pmf->map_process_size / sizeof(u32);
		list_for_each_entry(q, &cur->qpd->queues_list, list) {
			gq = backend_registered(q);
			if (!gq || gq->hw.done != GPREEMPT_RESUME || !q->properties.is_active)
				continue;
			pm->pmf->map_queues(pm, pass->packet, q, false);
			pass->packet += pm->pmf->map_queues_size / sizeof(u32);
			/* It is on the device. */
			gq->hw.named_list = 0;
		}
	}
	named_submit(pass);
	return 0;
}

static void named_note(struct backend_pass *pass, struct qcm_process_device *qpd, struct queue *q,
		       struct gpreempt_queue *gq)
{
	u64 wptr, pending;

	if (gq->hw.done != GPREEMPT_PREEMPT)
		return;
	/* Of a queue that is not seen it will not be known whether it goes on. */
	backend_read(gq, &gq->hw.named_rptr, &wptr, &pending);
	gq->hw.named_list = pass->gn->hw.lists;
}

/*
 * Carries out what the flags say, if that can be done while all other queues stay. dqm_lock held.
 * Return: false if a runlist has to do it
 */
static bool named_apply(struct backend_pass *pass)
{
	struct rw_semaphore *reset_sem = &pass->dqm->dev->adev->reset_domain->sem;
	struct gpreempt_node *gn = pass->gn;
	int r;

	if (!named_may(pass) || !down_read_trylock(reset_sem))
		return false;
	r = pass->preempting ? named_unmap(pass) : 0;
	WRITE_ONCE(gn->hw.unmapped_ns, ktime_get_ns());
	if (!r && pass->preempting) {
		pass->left = true;
		backend_for_each(pass, backend_take);
		backend_for_each(pass, named_note);
	}
	if (!r)
		r = named_map(pass);
	up_read(reset_sem);
	gpreempt_waves_moved(gn);
	pass->named = !r;
	return pass->named;
}
