// SPDX-License-Identifier: MIT
/*
 * device.c - the device: what is due, the loop over device time, and what debugfs shows
 *
 * Time passes from event to event: the end of a step of some waves, a queue that becomes ready, an
 * engine that finished a packet, the end of a quantum. vgpu_model_run() handles what is due in that
 * order, each at its own time even if the caller is late, and then looks at registers, doorbells
 * and polled memory once.
 */
#include "model.h"

#define WAVE_STEPS_PER_RUN	65536		/* then the caller gets a chance to ring and to sleep; device time slips */
#define RUN_NS			50000		/* the same, by the caller's clock */
#define CREDIT_NS		2000000		/* at once after a long sleep: saving many waves is a burst */
#define EXECUTION_PAUSE_NS	5000		/* between two runs that execute machine code */
#define REPORT_PAUSE_NS		20000		/* a poller sleeps for up to 10 us, and has to wake up */
#define EVENT_WAVE_STEPS	16		/* what any other event counts */
#define DEQUEUE_DRAIN		1
#define DEQUEUE_RESET_WAVES	2
#define LOST_VRAM		0xa5f00dbaadf00d5aULL	/* no valid page table entry, packet or MQD */

static struct vgpu_queue *device_queue_in_slot(struct vgpu_model *m, u32 xcc, u32 me, u32 pipe, u32 slot)
{
	struct vgpu_list *l;

	for (l = m->queues.next; l != &m->queues; l = l->next) {
		struct vgpu_queue *q = container_of(l, struct vgpu_queue, link);

		if (q->kind != VGPU_QUEUE_SDMA && q->xcc == xcc && q->me == me && q->pipe == pipe && q->slot == slot)
			return q;
	}
	return NULL;
}

/*
 * CP_HQD_DEQUEUE_REQUEST: the queue stops taking packets and goes, at once or when its waves are
 * out of the way
 */
static void device_dequeue(struct vgpu_model *m, struct vgpu_queue *q)
{
	u64 asked = m->ops->now_ns(m->ctx), waves = m->stats.waves_saved;
	u32 type = vgpu_hqd_get(m, q->xcc, q->me, q->pipe, q->slot, VGPU_HQD_DEQUEUE_REQUEST) & 7;

	if (vgpu_queue_is_user_compute(q) && (q->leaving == VGPU_DEAD || vgpu_fault_on(m, VGPU_FAULT_DEQUEUE_DEAD, q->xcc))) {
		if (q->leaving != VGPU_DEAD)
			q->leave_ns = m->fault_value[VGPU_FAULT_DEQUEUE_DEAD] ?
				      m->now_ns + m->fault_value[VGPU_FAULT_DEQUEUE_DEAD] * 1000 : U64_MAX;
		q->leaving = VGPU_DEAD;
		return;
	}
	if (type == DEQUEUE_RESET_WAVES || !vgpu_queue_is_user_compute(q)) {
		vgpu_queue_unmap(m, q, false);
		return;
	}
	if (q->leaving == VGPU_SAVES || q->leaving == VGPU_HANGS)
		return;
	if (vgpu_queue_hung(q) || vgpu_fault_on(m, VGPU_FAULT_DEQUEUE_LOST, q->xcc)) {
		q->leaving = VGPU_HANGS;
		return;
	}
	if (type == DEQUEUE_DRAIN) {
		q->leaving = VGPU_DRAINS;
		vgpu_ring_unread(m, q);
		return;
	}
	q->leave_ns = m->now_ns + vgpu_cwsr_ns(m, vgpu_cwsr_save(m, q));
	if (vgpu_fault_on(m, VGPU_FAULT_DEQUEUE_LATE, q->xcc))
		q->leave_ns += m->fault_value[VGPU_FAULT_DEQUEUE_LATE] * 1000;
	vgpu_cwsr_saved(m, q->leave_ns);
	vgpu_waves_freeze(m, q);
	q->leaving = VGPU_SAVES;
	if (m->stats.waves_saved != waves)
		q->save_asked_ns = asked;
}

/* Queues whose waves are done, or copied, become inactive. Return: true if there was one. */
static bool device_leave(struct vgpu_model *m)
{
	struct vgpu_list *l, *next;
	bool progress = false;

	for (l = m->queues.next; l != &m->queues; l = next) {
		struct vgpu_queue *q = container_of(l, struct vgpu_queue, link);
		u64 asked = q->leaving == VGPU_SAVES ? q->save_asked_ns : 0;

		next = l->next;
		if (q->leaving == VGPU_STAYS || q->leaving == VGPU_HANGS ||
		    (q->leaving == VGPU_DRAINS && !vgpu_ring_drained(m, q)) ||
		    ((q->leaving == VGPU_SAVES || q->leaving == VGPU_DEAD) && m->now_ns < q->leave_ns))
			continue;
		vgpu_queue_unmap(m, q, q->leaving != VGPU_DEAD);
		vgpu_cwsr_saved(m, m->now_ns);
		vgpu_save_reported(m, asked);
		progress = true;
	}
	return progress;
}

/* The waves of a queue are killed. If it was asked to device_leave before, now it can. */
static void device_reset_queue(struct vgpu_model *m, struct vgpu_queue *q)
{
	if (q->abandoned || q->leaving) {
		vgpu_queue_unmap(m, q, false);
		return;
	}
	vgpu_waves_kill(m, q);
	m->place = true;
}

/* What the driver asked of queue slots by writing registers */
static void device_poll_registers(struct vgpu_model *m)
{
	struct vgpu_map_request request = { .from_registers = true };
	u32 xcc, me, pipe, slot;
	enum vgpu_hqd_event event;

	while (vgpu_hqd_take(m, &xcc, &me, &pipe, &slot, &event)) {
		struct vgpu_queue *q = device_queue_in_slot(m, xcc, me, pipe, slot);

		if (q && event == VGPU_HQD_EVENT_DEQUEUE) {
			device_dequeue(m, q);
			continue;
		}
		if (event == VGPU_HQD_EVENT_RESET || event == VGPU_HQD_EVENT_PIPE_RESET) {
			if (!q || (event == VGPU_HQD_EVENT_PIPE_RESET && !q->abandoned) ||
			    vgpu_fault(m, event == VGPU_HQD_EVENT_RESET ? VGPU_FAULT_QUEUE_RESET_FAIL :
									      VGPU_FAULT_PIPE_RESET_FAIL))
				continue;
			m->stats.queue_resets++;
			device_reset_queue(m, q);
			continue;
		}
		if (q) {			/* the bank may be another's by now: nothing is written back */
			vgpu_queue_free(m, q);
			if (me == 1)
				vgpu_regs_set_waves(m, xcc, pipe, slot, false, 0);
			m->place = true;
		}
		if (event != VGPU_HQD_EVENT_ACTIVATE) {
			vgpu_hqd_set(m, xcc, me, pipe, slot, VGPU_HQD_ACTIVE, 0);
			continue;
		}
		vgpu_hqd_set(m, xcc, me, pipe, slot, VGPU_HQD_ACTIVE, 1);
		request.xcc = (u8)xcc;
		request.me = me;
		request.pipe = pipe;
		request.slot = slot;
		q = vgpu_queue_map(m, &request);
		if (q && vgpu_queue_is_user_compute(q)) {
			vgpu_stamp(m, q->mqd, VGPU_STAMP_CONNECT, m->now_ns, m->now_ns);
			q->ready_ns = m->now_ns + vgpu_cwsr_ns(m, vgpu_cwsr_restore(m, q));
			if (q->inflight_count)
				vgpu_stamp(m, q->mqd, VGPU_STAMP_RESTORE, m->now_ns, q->ready_ns);
			if (q->head)
				q->head_ready_ns = q->ready_ns;
			vgpu_ring_joined(m, q);
		}
	}
	vgpu_sdma_poll_registers(m);
}

/*
 * Everything that can be done at m->now_ns, unless something is reported first that the driver
 * waits for
 */
static void device_work(struct vgpu_model *m)
{
	struct vgpu_list *l;
	bool progress;

	do {
		progress = vgpu_waves_expire(m);
		progress |= device_leave(m);
		progress |= vgpu_mes_fences(m);
		if (m->reported)
			return;
		/*
		 * A packet may map and unmap queues, but never its own: the next pointer is only
		 * good if it did not.
		 */
restart:
		for (l = m->queues.next; l != &m->queues; l = l->next) {
			struct vgpu_queue *q = container_of(l, struct vgpu_queue, link);

			vgpu_ring_expire_full(m, q);
			if (q->stuck || q->leaving || q->idle || m->now_ns < q->ready_ns || m->now_ns < q->busy_until_ns)
				continue;
			if (q->kind == VGPU_QUEUE_AQL) {
				progress |= vgpu_aql_run(m, q);
			} else if (q->kind == VGPU_QUEUE_SDMA) {
				progress |= vgpu_sdma_run(m, q);
			} else if (q->kind == VGPU_QUEUE_MES ? vgpu_mes_run(m, q) : vgpu_pm4_run(m, q)) {
				if (m->reported)
					return;
				progress = true;
				goto restart;
			}
		}
		if (m->place)
			progress |= vgpu_waves_place(m);
		vgpu_hws_quantum(m);
	} while (progress);
}

/* When something happens by itself, after m->now_ns */
static u64 device_next_event(struct vgpu_model *m)
{
	u64 next = vgpu_hws_next_event(m), end = vgpu_mes_next_event(m);
	struct vgpu_list *l;

	next = end < next ? end : next;
	if (!vgpu_list_empty(&m->groups)) {
		end = container_of(m->groups.next, struct vgpu_group, link)->end_ns;
		next = end < next ? end : next;
	}
	for (l = m->queues.next; l != &m->queues; l = l->next) {
		const struct vgpu_queue *q = container_of(l, struct vgpu_queue, link);

		if ((q->leaving == VGPU_SAVES || q->leaving == VGPU_DEAD) && q->leave_ns > m->now_ns && q->leave_ns < next)
			next = q->leave_ns;
		if (q->ready_ns > m->now_ns && q->ready_ns < next)
			next = q->ready_ns;
		if (q->busy_until_ns > m->now_ns && q->busy_until_ns < next)
			next = q->busy_until_ns;
		if (q->full_until_ns && q->full_until_ns < next)
			next = q->full_until_ns;
		if (q->head && q->head_ready_ns > m->now_ns && q->head_ready_ns < next)
			next = q->head_ready_ns;
	}
	return next;
}

/*
 * What this takes of the CPU, others need as well: programs that submit, and the driver, which
 * wants to take device_work off the device. With QEMU's -icount they have it for as long as this one
 * sleeps, and no longer. Waves of many queues that have been saved a few times end one by one, and
 * keep it busy for longer than there is time; without a sleep the device would never be relieved of
 * any. So it sleeps for half of the time. What is due meanwhile comes late, and is then done as of
 * its own time. A run that took nothing from others is not counted. Return: how long to sleep,
 * whatever is due
 */
static u64 device_owed_sleep(struct vgpu_model *m, u64 begin, u64 end, bool wanted)
{
	s64 slept = (s64)(begin - m->ran_ns), credit = m->credit_ns + slept;

	m->credit_ns = (credit < CREDIT_NS ? credit : CREDIT_NS) - (wanted ? (s64)(end - begin) : 0);
	m->ran_ns = end;
	return wanted && m->credit_ns < 0 ? (u64)-m->credit_ns : 0;
}

/* What has become due until @wall, each at its own time */
static void device_catch_up(struct vgpu_model *m, u64 wall)
{
	u64 next;

	/*
	 * What was left when something had been reported: the driver noticing it took the device no
	 * time.
	 */
	if (m->reported) {
		m->reported = false;
		device_work(m);
	}
	for (next = device_next_event(m); !m->reported && next <= wall && m->budget; next = device_next_event(m)) {
		if (next > m->now_ns)
			m->now_ns = next;
		m->budget -= m->budget < EVENT_WAVE_STEPS ? m->budget : EVENT_WAVE_STEPS;
		m->place = true;
		device_work(m);
	}
	/*
	 * What became due while the budget lasted is no event any more: waves that could have
	 * started since then start now.
	 */
	if (next <= wall)
		m->place = true;
}

/* What is asked of it now */
static void device_look(struct vgpu_model *m, u64 wall)
{
	struct vgpu_list *l;

	if (wall > m->now_ns)
		m->now_ns = wall;
	device_poll_registers(m);
	for (l = m->queues.next; l != &m->queues; l = l->next)
		vgpu_doorbell_poll(m, container_of(l, struct vgpu_queue, link));
	device_work(m);
}

/* See vgpu_model.h. */
u64 vgpu_model_run(struct vgpu_model *m)
{
	u64 begin = m->ops->now_ns(m->ctx), wall = begin, next, pause;
	bool wanted;

	m->budget = WAVE_STEPS_PER_RUN;
	m->run_until_ns = begin + RUN_NS;
	m->executed = 0;
	device_catch_up(m, wall);
	if (!m->reported)
		device_look(m, wall);
	if (m->state_lost)
		vgpu_model_reset(m);
	if (vgpu_ih_take_pending(m) && !vgpu_fault(m, VGPU_FAULT_IRQ_LOST))
		m->ops->raise_irq(m->ctx);
	next = device_next_event(m);
	wall = m->ops->now_ns(m->ctx);
	wanted = !m->ops->cpu_wanted || m->ops->cpu_wanted(m->ctx);
	pause = device_owed_sleep(m, begin, wall, wanted);
	/*
	 * Code has no times of its own: it stands still for as long as others need to get at it, if
	 * there are any.
	 */
	if (m->executed && wanted) {
		m->execute_ns = wall + (wall - begin);
		pause = pause > EXECUTION_PAUSE_NS ? pause : EXECUTION_PAUSE_NS;
	}
	/* Who waits for that would see it now, on a CPU that is not the model's. */
	if (m->reported)
		return wall + (pause > REPORT_PAUSE_NS ? pause : REPORT_PAUSE_NS);
	return next < wall + pause ? wall + pause : next;
}

/**
 * vgpu_model_create() - a device that has just been powered on
 * @config: what is built
 * @ops: its surroundings
 * @ctx: for @ops
 *
 * Return: the device, NULL without memory or if the configuration is impossible.
 */
struct vgpu_model *vgpu_model_create(const struct vgpu_config *config, const struct vgpu_platform_ops *ops, void *ctx)
{
	struct vgpu_model *m = vgpu_zalloc(sizeof(*m));

	if (!m)
		return NULL;
	m->config = *config;
	m->ops = ops;
	m->ctx = ctx;
	vgpu_list_init(&m->queues);
	vgpu_fault_init(m);
	if (!config->xccs || config->xccs > config->asic->max_xccs)
		goto free;
	m->xcc = vgpu_zalloc(config->xccs * sizeof(*m->xcc));
	if (!m->xcc || !vgpu_tlb_init(m) || !vgpu_waves_init(m) || vgpu_regs_init(m))
		goto free;
	m->now_ns = ops->now_ns(ctx);
	return m;
free:
	vgpu_tlb_fini(m);
	vgpu_waves_fini(m);
	vgpu_free(m->xcc);
	vgpu_free(m);
	return NULL;
}

/** vgpu_model_destroy() - forget a device that is no longer in use */
void vgpu_model_destroy(struct vgpu_model *m)
{
	while (!vgpu_list_empty(&m->queues))
		vgpu_queue_free(m, container_of(m->queues.next, struct vgpu_queue, link));
	vgpu_waves_fini(m);
	vgpu_tlb_fini(m);
	vgpu_regs_fini(m);
	vgpu_free(m->xcc);
	vgpu_free(m);
}

/*
 * Not the end, where the discovery table is: what boots the device writes that anew. Other garbage
 * each time: the driver recognizes the loss by words that it has seen there before.
 */
static void device_lose_vram(struct vgpu_model *m)
{
	u64 garbage = LOST_VRAM ^ m->stats.resets << 32, page, *p;
	u32 i;

	for (page = 0; page < m->config.vram_bytes - VGPU_DISCOVERY_OFFSET; page += VGPU_PAGE) {
		p = m->ops->vram_ptr(m->ctx, page, VGPU_PAGE);
		for (i = 0; p && i < VGPU_PAGE / 8; i++)
			WRITE_ONCE(p[i], garbage);
	}
}

/* See vgpu_model.h. */
void vgpu_model_reset(struct vgpu_model *m)
{
	u32 xcc;

	while (!vgpu_list_empty(&m->queues))
		vgpu_queue_free(m, container_of(m->queues.next, struct vgpu_queue, link));
	memset(m->sdma_ring, 0, sizeof(m->sdma_ring));
	memset(m->sdma_rlc, 0, sizeof(m->sdma_rlc));
	m->sdma_rlcs = 0;
	for (xcc = 0; xcc < m->config.xccs; xcc++) {
		struct vgpu_xcc *x = &m->xcc[xcc];

		memset(x->vmid, 0, sizeof(x->vmid));
		memset(&x->runlist, 0, sizeof(x->runlist));
		x->hws_vmid_mask = 0;
		x->hws_queue_mask = 0;
		x->gfx_queue_mask = 0;
	}
	memset(&m->mes, 0, sizeof(m->mes));
	m->state_lost = false;
	m->saved_mqd = 0;
	m->saved_before = 0;
	m->saving_count = 0;
	vgpu_ih_take_pending(m);
	vgpu_regs_reset(m);
	memset(m->config.doorbells, 0, m->config.doorbell_bytes);
	if (vgpu_fault(m, VGPU_FAULT_VRAM_LOST))
		device_lose_vram(m);
	m->stats.resets++;
}

/* See vgpu_model.h. Lines "name value". */
u32 vgpu_model_print_stats(struct vgpu_model *m, char *buf, u32 size)
{
	const struct vgpu_stats *s = &m->stats;
	const struct {
		const char *name;
		u64 value;
	} line[] = {
		{ "runlists", s->runlists },
		{ "unmaps", s->unmaps },
		{ "unmaps_named", s->unmaps_named },
		{ "maps_named", s->maps_named },
		{ "mes_frames", s->mes_frames },
		{ "mes_adds", s->mes_adds },
		{ "mes_removes", s->mes_removes },
		{ "mes_failures", s->mes_failures },
		{ "rotations", s->rotations },
		{ "runlist_processes", m->xcc[0].runlist.processes },
		{ "runlist_announced", m->xcc[0].runlist.max_processes },
		{ "runlist_queues", m->xcc[0].runlist.queues },
		{ "runlist_chained", m->xcc[0].runlist.chained },
		{ "cwsr_saves", s->cwsr_saves },
		{ "cwsr_restores", s->cwsr_restores },
		{ "saved_bytes", s->saved_bytes },
		{ "save_requests", s->save_requests },
		{ "save_device_ns", s->save_device_ns },
		{ "waves_saved", s->waves_saved },
		{ "waves_restored", s->waves_restored },
		{ "waves_launched", s->waves_launched },
		{ "waves_done", s->waves_done },
		{ "instructions", s->instructions },
		{ "wave_exceptions", s->wave_exceptions },
		{ "dispatches_done", s->dispatches_done },
		{ "gpuvm_faults", s->gpuvm_faults },
		{ "retry_faults", s->retry_faults },
		{ "tlb_hits", s->tlb_hits },
		{ "tlb_misses", s->tlb_misses },
		{ "tlb_invalidations", m->regs.tlb_invalidations },
		{ "stale_translations", s->stale_translations },
		{ "stale_vmids", s->stale_vmids },
		{ "bad_packets", s->bad_packets },
		{ "bad_records", s->bad_records },
		{ "doorbells", s->doorbells },
		{ "wave_reads", s->wave_reads },
		{ "reg_reads", s->reg_reads },
		{ "mqds_written", s->mqds_written },
		{ "faults", s->faults },
		{ "queue_resets", s->queue_resets },
		{ "resets", s->resets },
		{ "busy_ns", s->busy_ns },
		{ "irqs", m->ih.pushed },
		{ "irqs_lost", m->ih.lost },
		{ "wave_slots", m->slots * m->config.xccs },
		{ "slots_busy", vgpu_waves_slots_busy(m) },
	};
	u32 n = 0, i;

	for (i = 0; i < ARRAY_SIZE(line); i++)
		n += vgpu_snprintf(buf + n, size - n, "%s %llu\n", line[i].name, (unsigned long long)line[i].value);
	return n;
}

/* See vgpu_model.h */
u32 vgpu_model_print_saves(struct vgpu_model *m, char *buf, u32 size)
{
	u64 count = m->stats.save_requests, i;
	u32 n = 0;

	for (i = count > VGPU_SAVES_KEPT ? count - VGPU_SAVES_KEPT : 0; i < count; i++)
		n += vgpu_snprintf(buf + n, size - n, "%llu %u\n", (unsigned long long)i, m->save_ns[i % VGPU_SAVES_KEPT]);
	return n;
}

/* See vgpu_model.h. Lines "pasid vmid doorbell mqd rptr wptr waves", kernel rings included. */
u32 vgpu_model_print_queues(struct vgpu_model *m, char *buf, u32 size)
{
	struct vgpu_list *l;
	u32 n = 0;

	for (l = m->queues.next; l != &m->queues; l = l->next) {
		const struct vgpu_queue *q = container_of(l, struct vgpu_queue, link);

		n += vgpu_snprintf(buf + n, size - n, "%u %u 0x%x 0x%llx %llu %llu %u\n", q->pasid, q->vmid, q->doorbell,
				   (unsigned long long)q->mqd, (unsigned long long)q->rptr, (unsigned long long)q->wptr,
				   q->waves);
	}
	return n;
}

/* See vgpu_model.h. Lines "xcc cu engine waves started": waves in slots now, and ever. */
u32 vgpu_model_print_cus(struct vgpu_model *m, char *buf, u32 size)
{
	u32 n = 0, xcc, cu, i, busy, per_cu = m->config.simds_per_cu;

	for (xcc = 0; xcc < m->config.xccs; xcc++)
		for (cu = 0; cu < m->config.cus; cu++) {
			for (i = 0, busy = 0; i < per_cu; i++)
				busy += m->config.waves_per_simd - m->xcc[xcc].simd[cu * per_cu + i].waves;
			n += vgpu_snprintf(buf + n, size - n, "%u %u %u %u %llu\n", xcc, cu, cu % m->config.se, busy,
					   (unsigned long long)m->xcc[xcc].cu_started[cu]);
		}
	return n;
}
