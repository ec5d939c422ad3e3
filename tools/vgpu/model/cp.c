// SPDX-License-Identifier: MIT
/*
 * cp.c - the command processor: device, queues, doorbells, and the loop over device time
 *
 * Time passes from event to event: the end of a step of some waves, a queue that becomes ready, an
 * engine that finished a packet, the end of a quantum. vgpu_model_run() handles what is due in that
 * order, each at its own time even if the caller is late, and then looks at registers, doorbells
 * and polled memory once.
 */
#include "model.h"

#define DOORBELL_IDLE		(~0ULL)		/* what a doorbell holds after it was taken; no write pointer is that large */
#define WAVE_STEPS_PER_RUN	65536		/* then the caller gets a chance to ring and to sleep; device time slips */
#define RUN_NS			50000		/* the same, by the caller's clock */
#define CREDIT_NS		2000000		/* what it may take at once after it has slept for long; saving and restoring many waves is a burst */
#define EXECUTION_PAUSE_NS	5000		/* between two runs that execute machine code */
#define REPORT_PAUSE_NS		20000		/* who polls for it sleeps for up to 10 us between two looks, and has to wake up */
#define EVENT_WAVE_STEPS	16		/* what any other event counts */
#define AQL_PACKET_DWORDS	16
#define DEQUEUE_DRAIN		1
#define DEQUEUE_RESET_WAVES	2
#define DOORBELL_EN		0x40000000u	/* CP_HQD_PQ_DOORBELL_CONTROL */
#define HQD_ERROR_AQL		0x20u		/* CP_HQD_ERROR: a packet was refused */
#define HQD_ERROR_PQ_UTCL1	0x100u		/* or something that it refers to is not mapped */
#define SRC_CP_BAD_OPCODE	183
#define BAD_OPCODE_CODE		10		/* context id: exception code above the index of the process's doorbell */
#define PROCESS_DOORBELLS	8192u		/* bytes of a process's slice of the doorbell BAR */
#define HQD_IN_MQD		0x200		/* byte offset of the HQD registers in an MQD */
#define PIPE_PRIORITY_HIGH	2
#define LOST_VRAM		0xa5f00dbaadf00d5aULL	/* no valid page table entry, packet or MQD */
#define MQD_LOGIC_XCC		(0x27 * 4)	/* compute_current_logic_xcc_id: byte offsets in an MQD of gfx942 */
#define MQD_CHUNK		(0x29 * 4)	/* compute_tg_chunk_size */
#define MQD_PM4_TARGET		(0xe1 * 4)	/* pm4_target_xcc_in_xcp */
#define MQD_STRIDE		(0xe2 * 4)	/* cp_mqd_stride_size: bytes to the MQD of the next XCC */

/* Address space of a queue's ring, buffers and signals */
u32 vgpu_queue_as(const struct vgpu_queue *q)
{
	return VGPU_AS(q->hub, q->vmid);
}

/* The part of a queue on another XCC; NULL while it is not there, or is not because all of it has been saved */
struct vgpu_queue *vgpu_queue_part(struct vgpu_model *m, struct vgpu_queue *q, u32 part)
{
	struct vgpu_list *l;

	if (q->parts == 1)
		return q;
	for (l = m->queues.next; l != &m->queues; l = l->next) {
		struct vgpu_queue *other = container_of(l, struct vgpu_queue, link);

		if (other->group == q->group && other->kind == q->kind && other->part == part && other->leaving != VGPU_SAVES)
			return other;
	}
	return NULL;
}

/* A queue in the list, of which only the kind is known; NULL without memory */
struct vgpu_queue *vgpu_queue_alloc(struct vgpu_model *m, enum vgpu_queue_kind kind)
{
	struct vgpu_queue *q = vgpu_zalloc(sizeof(*q));

	if (!q)
		return NULL;
	q->kind = kind;
	q->parts = 1;
	vgpu_list_init(&q->inflight);
	vgpu_list_init(&q->pending);
	vgpu_list_init(&q->frozen);
	vgpu_list_add(&q->link, &m->queues);
	return q;
}

/* Forgets a queue and everything that it has on the device */
void vgpu_queue_free(struct vgpu_model *m, struct vgpu_queue *q)
{
	vgpu_waves_kill(m, q);
	vgpu_list_del(&q->link);
	vgpu_free(q);
}

/* Are there waves that do not let themselves be saved? */
bool vgpu_queue_hung(const struct vgpu_queue *q)
{
	struct vgpu_list *l;

	for (l = q->inflight.next; l != &q->inflight; l = l->next)
		if (container_of(l, struct vgpu_dispatch, link)->hung)
			return true;
	return false;
}

/* An interrupt from a compute queue */
void vgpu_queue_eop(struct vgpu_model *m, struct vgpu_queue *q, u32 source, u32 context_id)
{
	u32 iv[VGPU_IV_DWORDS];

	vgpu_iv_fill(iv, VGPU_CLIENT_GRBM_CP, source, q->pipe | (u32)q->me << 2 | (u32)q->slot << 4, q->vmid,
		     vgpu_ih_pasid(m, q->hub, q->vmid));
	iv[3] |= vgpu_hub_node(m, q->hub) << 16;
	iv[4] = context_id;
	vgpu_ih_push(m, iv);
}

/* Number of its doorbell among those of its process, by which the driver finds a queue */
u32 vgpu_queue_doorbell_index(const struct vgpu_queue *q)
{
	return q->doorbell % PROCESS_DOORBELLS / 8;
}

/* Read pointer as the hardware keeps it and the MQD has it */
u32 vgpu_queue_rptr_dwords(const struct vgpu_queue *q)
{
	return q->kind == VGPU_QUEUE_AQL ? (u32)q->rptr * AQL_PACKET_DWORDS : (u32)(q->rptr & (q->ring_bytes / 4 - 1));
}

/**
 * vgpu_queue_error() - a queue reads no more packets
 * @m: the device
 * @q: the queue
 * @code: what the driver is told; of kernel queues and SDMA it is told nothing, and waves tell of
 *	themselves
 * @what: for the log
 * @detail: for the log
 *
 * Waves in flight go on. CP_HQD_ERROR goes into the MQD with everything else, so the queue is as
 * stopped when it is mapped again.
 */
void vgpu_queue_error(struct vgpu_model *m, struct vgpu_queue *q, enum vgpu_exception code, const char *what, u64 detail)
{
	if (q->stuck)
		return;
	m->stats.bad_packets++;
	q->stuck = true;
	vgpu_err("queue me %u pipe %u slot %u vmid %u pasid %u doorbell %#x: %s (%#llx) at rptr %llu, wptr %llu", q->me, q->pipe,
		 q->slot, q->vmid, q->pasid, q->doorbell, what, (unsigned long long)detail, (unsigned long long)q->rptr,
		 (unsigned long long)q->wptr);
	if (!vgpu_queue_is_user_compute(q))
		return;
	vgpu_hqd_set(m, q->xcc, q->me, q->pipe, q->slot, VGPU_HQD_ERROR, code ? HQD_ERROR_AQL : HQD_ERROR_PQ_UTCL1);
	if (!code)
		return;
	if (code >= VGPU_EC_DISPATCH_DIM)
		vgpu_queue_eop(m, q, SRC_CP_BAD_OPCODE, (u32)code << BAD_OPCODE_CODE | vgpu_queue_doorbell_index(q));
	if (q->kind == VGPU_QUEUE_AQL)
		vgpu_aql_report(m, q, code);
}

static u32 hqd(struct vgpu_model *m, const struct vgpu_queue *q, enum vgpu_hqd_reg reg)
{
	return vgpu_hqd_get(m, q->xcc, q->me, q->pipe, q->slot, reg);
}

static u64 *doorbell_at(struct vgpu_model *m, u32 doorbell)
{
	if ((u64)doorbell + 8 > m->config.doorbell_bytes || (doorbell & 7))
		return NULL;
	return (u64 *)((u8 *)m->config.doorbells + doorbell);
}

static u64 *doorbell_ptr(struct vgpu_model *m, const struct vgpu_queue *q)
{
	return q->has_doorbell ? doorbell_at(m, q->doorbell) : NULL;
}

/** vgpu_doorbell_drop() - forget what was rung so far; any context */
void vgpu_doorbell_drop(struct vgpu_model *m, u32 doorbell)
{
	u64 *p = doorbell_at(m, doorbell);

	if (p)
		xchg(p, DOORBELL_IDLE);
}

static void ring(struct vgpu_queue *q, u64 value, u64 now_ns)
{
	q->rung_ns = now_ns;
	if (value >> 32 == DOORBELL_IDLE >> 32)		/* only the low half was written */
		value = (value & 0xffffffff) | (q->wptr & ~0xffffffffULL);
	if (q->kind == VGPU_QUEUE_AQL)
		value++;				/* the index of the last packet */
	if (value > q->wptr)
		q->wptr = value;
}

/* All parts of a queue hear its doorbell */
static void ring_parts(struct vgpu_model *m, struct vgpu_queue *q, u64 value)
{
	struct vgpu_list *l;
	u64 now_ns;

	if (value == DOORBELL_IDLE)
		return;
	now_ns = m->ops->now_ns(m->ctx);
	if (q->parts == 1) {
		ring(q, value, now_ns);
		return;
	}
	for (l = m->queues.next; l != &m->queues; l = l->next) {
		struct vgpu_queue *other = container_of(l, struct vgpu_queue, link);

		if (other->group == q->group && other->kind == q->kind)
			ring(other, value, now_ns);
	}
}

/**
 * vgpu_queue_fetch_wptr() - take the write pointer of a queue from memory, at map
 * @m: the device
 * @q: the queue
 * @va: where it is, in the queue's address space
 *
 * First makes the doorbell an edge, then fetches: a ring in between is seen twice, never missed,
 * and what an earlier queue left there is no ring.
 *
 * Return: false after a GPUVM fault; the queue is empty then.
 */
bool vgpu_queue_fetch_wptr(struct vgpu_model *m, struct vgpu_queue *q, u64 va)
{
	u64 *p = doorbell_ptr(m, q);

	if (p)
		ring_parts(m, q, xchg(p, DOORBELL_IDLE));	/* other parts of it are mapped already */
	if (vgpu_vm_read64(m, vgpu_queue_as(q), va, &q->wptr))
		return true;
	q->wptr = q->rptr;
	return false;
}

/* Takes what was written since the last time. Doorbells are edges: the same value twice is two of them. */
static void poll_doorbell(struct vgpu_model *m, struct vgpu_queue *q)
{
	u64 *p = doorbell_ptr(m, q), value;

	if (!p || READ_ONCE(*p) == DOORBELL_IDLE)
		return;
	value = xchg(p, DOORBELL_IDLE);
	vgpu_rmb();
	if (value == DOORBELL_IDLE)
		return;
	m->stats.doorbells++;
	ring_parts(m, q, value);
	if (q->kind == VGPU_QUEUE_PM4)
		vgpu_pm4_heard(m, q);
}

/*
 * The read pointer that hardware keeps is 32 bits of dwords; what lies above follows from the write
 * pointer, which is at most a ring ahead.
 */
static void set_pointers(struct vgpu_queue *q, u64 wptr, u32 rptr_dwords)
{
	u64 unit = q->kind == VGPU_QUEUE_AQL ? AQL_PACKET_DWORDS : 1;
	u64 behind;

	q->wptr = wptr;
	behind = q->kind == VGPU_QUEUE_AQL ? (u32)(wptr * unit - rptr_dwords) / unit :
					     (wptr - rptr_dwords) & (q->ring_bytes / 4 - 1);
	q->rptr = behind <= wptr ? wptr - behind : 0;
}

/* COMPUTE_STATIC_THREAD_MGMT_SEn: not among the registers of the slot, the CP takes them from the MQD. */
static bool read_cu_mask(struct vgpu_model *m, struct vgpu_queue *q)
{
	static const u8 word[VGPU_MAX_SE] = { 23, 24, 26, 27, 39, 40, 41, 42 };
	u32 se, known = m->config.asic->xcp_ctl ? 4 : VGPU_MAX_SE;	/* the other words have another meaning on gfx942 */

	for (se = 0; se < VGPU_MAX_SE; se++) {
		q->cu_mask[se] = ~0u;
		if (se < known && !vgpu_vm_read(m, VGPU_AS_KERNEL, q->mqd + word[se] * 4, &q->cu_mask[se], 4))
			return false;
	}
	return true;
}

/* Bytes from the MQD at @mqd to that of the next XCC, 0: the queue runs on one */
static u32 mqd_stride(struct vgpu_model *m, u64 mqd)
{
	u32 stride;

	return m->config.asic->xcp_ctl && mqd && vgpu_vm_read(m, VGPU_AS_KERNEL, mqd + MQD_STRIDE, &stride, 4) ? stride : 0;
}

/* What the MQD says about the XCCs that the queue runs on */
static void find_parts(struct vgpu_model *m, struct vgpu_queue *q)
{
	u32 stride = mqd_stride(m, q->mqd), target = 0, logic = 0;

	q->group = q->mqd;
	if (!stride)
		return;
	q->parts = (u8)vgpu_xccs_in_partition(m, q->xcc);
	q->part = (u8)vgpu_xcc_in_partition(m, q->xcc);
	q->group -= (u64)stride * q->part;
	vgpu_vm_read(m, VGPU_AS_KERNEL, q->mqd + MQD_LOGIC_XCC, &logic, 4);
	vgpu_vm_read(m, VGPU_AS_KERNEL, q->mqd + MQD_CHUNK, &q->chunk, 4);
	vgpu_vm_read(m, VGPU_AS_KERNEL, q->mqd + MQD_PM4_TARGET, &target, 4);
	q->logic_xcc = (u8)(logic % q->parts);
	q->idle = q->kind == VGPU_QUEUE_PM4 && q->vmid && target != q->part;
}

/**
 * vgpu_queue_map() - give a compute queue its slot and everything that memory says about it
 * @m: the device
 * @request: what to map, and where
 *
 * Return: the queue, NULL if the MQD cannot be read.
 */
struct vgpu_queue *vgpu_queue_map(struct vgpu_model *m, const struct vgpu_map_request *request)
{
	u32 r[VGPU_HQD_REGS], i, atc;
	struct vgpu_queue *q;
	bool from_memory;
	u64 wptr, mqd;

	if (request->from_registers) {
		for (i = 0; i < VGPU_HQD_REGS; i++)
			r[i] = vgpu_hqd_get(m, request->xcc, request->me, request->pipe, request->slot, i);
		mqd = r[VGPU_HQD_MQD_BASE_LO] | (u64)r[VGPU_HQD_MQD_BASE_HI] << 32;
	} else {
		mqd = request->mqd;
		if (request->from_runlist)
			mqd += (u64)mqd_stride(m, mqd) * vgpu_xcc_in_partition(m, request->xcc);
		if (!vgpu_vm_read(m, VGPU_AS_KERNEL, mqd + HQD_IN_MQD, r, sizeof(r)))
			return NULL;
		r[VGPU_HQD_VMID] = request->vmid;
		r[VGPU_HQD_DEQUEUE_REQUEST] = 0;
		for (i = 0; i < VGPU_HQD_REGS; i++)
			if (i != VGPU_HQD_ACTIVE)
				vgpu_hqd_set(m, request->xcc, request->me, request->pipe, request->slot, i, r[i]);
		vgpu_hqd_set(m, request->xcc, request->me, request->pipe, request->slot, VGPU_HQD_ACTIVE, 1);
	}
	q = vgpu_queue_alloc(m, r[VGPU_HQD_AQL_CONTROL] & 1 ? VGPU_QUEUE_AQL : VGPU_QUEUE_PM4);
	if (!q)
		return NULL;
	q->hub = (u8)(VGPU_HUB_GFX + request->xcc);
	q->xcc = request->xcc;
	q->me = request->me;
	q->pipe = request->pipe;
	q->slot = request->slot;
	q->from_runlist = request->from_runlist;
	q->is_static = request->is_static;
	q->pipe_priority = (u8)(r[VGPU_HQD_PIPE_PRIORITY] & 3);
	if (q->pipe_priority > PIPE_PRIORITY_HIGH)
		q->pipe_priority = PIPE_PRIORITY_HIGH;
	q->queue_priority = (u8)(r[VGPU_HQD_QUEUE_PRIORITY] & 0xf);
	q->vmid = r[VGPU_HQD_VMID] & 0xf;
	q->pasid = request->pasid;
	if (request->from_registers) {
		atc = vgpu_reg(m, m->config.asic->atc_mapping + q->vmid);
		q->pasid = atc & VGPU_ATC_PASID_VALID ? (u16)atc : 0;
	}
	q->mqd = mqd;
	find_parts(m, q);
	if (vgpu_queue_is_user_compute(q) && !read_cu_mask(m, q)) {
		vgpu_queue_free(m, q);
		return NULL;
	}
	q->doorbell = request->from_registers ? r[VGPU_HQD_PQ_DOORBELL] & 0x0ffffffc : request->doorbell;
	q->has_doorbell = !request->from_registers || (r[VGPU_HQD_PQ_DOORBELL] & DOORBELL_EN);
	q->ring = (u64)r[VGPU_HQD_PQ_BASE_LO] << 8 | (u64)r[VGPU_HQD_PQ_BASE_HI] << 40;
	q->ring_bytes = 8u << (r[VGPU_HQD_PQ_CONTROL] & 0x1f);
	q->rptr_addr = r[VGPU_HQD_PQ_RPTR_REPORT_LO] | (u64)r[VGPU_HQD_PQ_RPTR_REPORT_HI] << 32;
	q->wptr_addr = request->wptr_addr ? request->wptr_addr :
		       (r[VGPU_HQD_PQ_WPTR_POLL_LO] & ~3u) | (u64)r[VGPU_HQD_PQ_WPTR_POLL_HI] << 32;
	q->ready_ns = m->now_ns;
	q->stuck = r[VGPU_HQD_ERROR];
	if (vgpu_queue_is_user_compute(q))
		vgpu_pm4_load(m, q);

	wptr = r[VGPU_HQD_PQ_WPTR_LO] | (u64)r[VGPU_HQD_PQ_WPTR_HI] << 32;
	if (q->kind == VGPU_QUEUE_AQL)
		wptr /= AQL_PACKET_DWORDS;
	from_memory = q->wptr_addr && (!request->from_registers ||
				       vgpu_wptr_poll_take(m, request->xcc, request->me, request->pipe, request->slot));
	if (from_memory && vgpu_queue_fetch_wptr(m, q, q->wptr_addr))
		wptr = q->wptr;
	set_pointers(q, wptr, r[VGPU_HQD_PQ_RPTR]);
	q->told = q->rptr;
	if (q->kind == VGPU_QUEUE_PM4)
		vgpu_pm4_show(m, q);
	if (q->me == 1)
		vgpu_regs_set_waves(m, q->xcc, q->pipe, q->slot, true, 0);
	m->place = true;
	return q;
}

/* What firmware clears in the slot of a queue that leaves: pointers and doorbell. All else stays what it was. */
static void forget_slot(struct vgpu_model *m, const struct vgpu_queue *q)
{
	vgpu_hqd_set(m, q->xcc, q->me, q->pipe, q->slot, VGPU_HQD_PQ_RPTR, 0);
	vgpu_hqd_set(m, q->xcc, q->me, q->pipe, q->slot, VGPU_HQD_PQ_WPTR_LO, 0);
	vgpu_hqd_set(m, q->xcc, q->me, q->pipe, q->slot, VGPU_HQD_PQ_WPTR_HI, 0);
	vgpu_hqd_set(m, q->xcc, q->me, q->pipe, q->slot, VGPU_HQD_PQ_DOORBELL, hqd(m, q, VGPU_HQD_PQ_DOORBELL) & VGPU_DOORBELL_BIF_DROP);
}

/**
 * vgpu_queue_unmap() - take a queue off the hardware
 * @m: the device
 * @q: the queue, freed here
 * @save: preempt (its state goes to memory); otherwise its waves are killed
 *
 * Return: bytes that were saved.
 */
u64 vgpu_queue_unmap(struct vgpu_model *m, struct vgpu_queue *q, bool save)
{
	u32 xcc = q->xcc, me = q->me, pipe = q->pipe, slot = q->slot;
	u64 bytes = 0;

	if (q->kind == VGPU_QUEUE_SDMA) {
		vgpu_sdma_save(m, q);
		vgpu_queue_free(m, q);
		return 0;
	}
	if (save && vgpu_queue_is_user_compute(q)) {
		if (q->leaving != VGPU_SAVES)		/* otherwise memory has it already */
			bytes = vgpu_cwsr_save(m, q);
	} else if (!vgpu_vm_write32(m, VGPU_AS_KERNEL, q->mqd + HQD_IN_MQD + VGPU_HQD_PQ_RPTR * 4,
				    hqd(m, q, VGPU_HQD_PQ_RPTR))) {
		vgpu_err("MQD %#llx is not mapped", (unsigned long long)q->mqd);
	} else if (vgpu_queue_is_user_compute(q)) {
		vgpu_cwsr_discard(m, q);
	}
	if (vgpu_queue_is_user_compute(q))
		forget_slot(m, q);
	vgpu_queue_free(m, q);
	if (me == 1)
		vgpu_regs_set_waves(m, xcc, pipe, slot, false, 0);
	vgpu_hqd_set(m, xcc, me, pipe, slot, VGPU_HQD_DEQUEUE_REQUEST, 0);
	vgpu_hqd_set(m, xcc, me, pipe, slot, VGPU_HQD_ACTIVE, 0);	/* last: the driver reads the MQD then */
	m->place = true;
	return bytes;
}

/*
 * It is reported now that the waves of a request seen at @asked_ns are saved (0: no request, or no
 * waves). By the caller's clock, not m->now_ns: what the model's own instructions take is part of
 * it.
 */
void vgpu_save_reported(struct vgpu_model *m, u64 asked_ns)
{
	u64 ns;

	if (!asked_ns)
		return;
	ns = m->ops->now_ns(m->ctx) - asked_ns;
	m->save_ns[m->stats.save_requests++ % VGPU_SAVES_KEPT] = ns < U32_MAX ? (u32)ns : U32_MAX;
	m->stats.save_device_ns += ns;
	m->reported = true;
}

static struct vgpu_queue *queue_in_slot(struct vgpu_model *m, u32 xcc, u32 me, u32 pipe, u32 slot)
{
	struct vgpu_list *l;

	for (l = m->queues.next; l != &m->queues; l = l->next) {
		struct vgpu_queue *q = container_of(l, struct vgpu_queue, link);

		if (q->kind != VGPU_QUEUE_SDMA && q->xcc == xcc && q->me == me && q->pipe == pipe && q->slot == slot)
			return q;
	}
	return NULL;
}

/* CP_HQD_DEQUEUE_REQUEST: the queue stops taking packets and goes, at once or when its waves are out of the way */
static void dequeue(struct vgpu_model *m, struct vgpu_queue *q)
{
	u64 asked = m->ops->now_ns(m->ctx), waves = m->stats.waves_saved;
	u32 type = hqd(m, q, VGPU_HQD_DEQUEUE_REQUEST) & 7;

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
		vgpu_aql_unread(m, q);
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
static bool leave(struct vgpu_model *m)
{
	struct vgpu_list *l, *next;
	bool progress = false;

	for (l = m->queues.next; l != &m->queues; l = next) {
		struct vgpu_queue *q = container_of(l, struct vgpu_queue, link);
		u64 asked = q->leaving == VGPU_SAVES ? q->save_asked_ns : 0;

		next = l->next;
		if (q->leaving == VGPU_STAYS || q->leaving == VGPU_HANGS ||
		    (q->leaving == VGPU_DRAINS && !vgpu_aql_drained(m, q)) ||
		    ((q->leaving == VGPU_SAVES || q->leaving == VGPU_DEAD) && m->now_ns < q->leave_ns))
			continue;
		vgpu_queue_unmap(m, q, q->leaving != VGPU_DEAD);
		vgpu_cwsr_saved(m, m->now_ns);
		vgpu_save_reported(m, asked);
		progress = true;
	}
	return progress;
}

/* The waves of a queue are killed. If it was asked to leave before, now it can. */
static void reset_queue(struct vgpu_model *m, struct vgpu_queue *q)
{
	if (q->abandoned || q->leaving) {
		vgpu_queue_unmap(m, q, false);
		return;
	}
	vgpu_waves_kill(m, q);
	m->place = true;
}

/* What the driver asked of queue slots by writing registers */
static void poll_registers(struct vgpu_model *m)
{
	struct vgpu_map_request request = { .from_registers = true };
	u32 xcc, me, pipe, slot;
	enum vgpu_hqd_event event;

	while (vgpu_hqd_take(m, &xcc, &me, &pipe, &slot, &event)) {
		struct vgpu_queue *q = queue_in_slot(m, xcc, me, pipe, slot);

		if (q && event == VGPU_HQD_EVENT_DEQUEUE) {
			dequeue(m, q);
			continue;
		}
		if (event == VGPU_HQD_EVENT_RESET || event == VGPU_HQD_EVENT_PIPE_RESET) {
			if (!q || (event == VGPU_HQD_EVENT_PIPE_RESET && !q->abandoned) ||
			    vgpu_fault(m, event == VGPU_HQD_EVENT_RESET ? VGPU_FAULT_QUEUE_RESET_FAIL :
									      VGPU_FAULT_PIPE_RESET_FAIL))
				continue;
			m->stats.queue_resets++;
			reset_queue(m, q);
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
			vgpu_aql_joined(m, q);
		}
	}
	vgpu_sdma_poll_registers(m);
}

/* Everything that can be done at m->now_ns, unless something is reported first that the driver waits for */
static void work(struct vgpu_model *m)
{
	struct vgpu_list *l;
	bool progress;

	do {
		progress = vgpu_waves_expire(m);
		progress |= leave(m);
		if (m->reported)
			return;
		/* A packet may map and unmap queues, but never its own: the next pointer is only good if it did not. */
restart:
		for (l = m->queues.next; l != &m->queues; l = l->next) {
			struct vgpu_queue *q = container_of(l, struct vgpu_queue, link);

			vgpu_pm4_expire_full(m, q);
			if (q->stuck || q->leaving || q->idle || m->now_ns < q->ready_ns || m->now_ns < q->busy_until_ns)
				continue;
			if (q->kind == VGPU_QUEUE_AQL) {
				progress |= vgpu_aql_run(m, q);
			} else if (q->kind == VGPU_QUEUE_SDMA) {
				progress |= vgpu_sdma_run(m, q);
			} else if (vgpu_pm4_run(m, q)) {
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
static u64 next_event(struct vgpu_model *m)
{
	u64 next = vgpu_hws_next_event(m), end;
	struct vgpu_list *l;

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
 * wants to take work off the device. With QEMU's -icount they have it for as long as this one
 * sleeps, and no longer. Waves of many queues that have been saved a few times end one by one, and
 * keep it busy for longer than there is time; without a sleep the device would never be relieved of
 * any. So it sleeps for half of the time. What is due meanwhile comes late, and is then done as of
 * its own time. A run that took nothing from others is not counted. Return: how long to sleep,
 * whatever is due
 */
static u64 owed_sleep(struct vgpu_model *m, u64 begin, u64 end, bool wanted)
{
	s64 slept = (s64)(begin - m->ran_ns), credit = m->credit_ns + slept;

	m->credit_ns = (credit < CREDIT_NS ? credit : CREDIT_NS) - (wanted ? (s64)(end - begin) : 0);
	m->ran_ns = end;
	return wanted && m->credit_ns < 0 ? (u64)-m->credit_ns : 0;
}

/* What has become due until @wall, each at its own time */
static void catch_up(struct vgpu_model *m, u64 wall)
{
	u64 next;

	/* What was left when something had been reported: the driver noticing it took the device no time. */
	if (m->reported) {
		m->reported = false;
		work(m);
	}
	for (next = next_event(m); !m->reported && next <= wall && m->budget; next = next_event(m)) {
		if (next > m->now_ns)
			m->now_ns = next;
		m->budget -= m->budget < EVENT_WAVE_STEPS ? m->budget : EVENT_WAVE_STEPS;
		m->place = true;
		work(m);
	}
	/* What became due while the budget lasted is no event any more: waves that could have started since then start now. */
	if (next <= wall)
		m->place = true;
}

/* What is asked of it now */
static void look(struct vgpu_model *m, u64 wall)
{
	struct vgpu_list *l;

	if (wall > m->now_ns)
		m->now_ns = wall;
	poll_registers(m);
	for (l = m->queues.next; l != &m->queues; l = l->next)
		poll_doorbell(m, container_of(l, struct vgpu_queue, link));
	work(m);
}

/* See vgpu_model.h. */
u64 vgpu_model_run(struct vgpu_model *m)
{
	u64 begin = m->ops->now_ns(m->ctx), wall = begin, next, pause;
	bool wanted;

	m->budget = WAVE_STEPS_PER_RUN;
	m->run_until_ns = begin + RUN_NS;
	m->executed = 0;
	catch_up(m, wall);
	if (!m->reported)
		look(m, wall);
	if (m->state_lost)
		vgpu_model_reset(m);
	if (vgpu_ih_take_pending(m) && !vgpu_fault(m, VGPU_FAULT_IRQ_LOST))
		m->ops->raise_irq(m->ctx);
	next = next_event(m);
	wall = m->ops->now_ns(m->ctx);
	wanted = !m->ops->cpu_wanted || m->ops->cpu_wanted(m->ctx);
	pause = owed_sleep(m, begin, wall, wanted);
	/* Code has no times of its own: it stands still for as long as others need to get at it, if there are any. */
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
static void lose_vram(struct vgpu_model *m)
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
	}
	m->state_lost = false;
	m->saved_mqd = 0;
	m->saved_before = 0;
	m->saving_count = 0;
	vgpu_ih_take_pending(m);
	vgpu_regs_reset(m);
	memset(m->config.doorbells, 0, m->config.doorbell_bytes);
	if (vgpu_fault(m, VGPU_FAULT_VRAM_LOST))
		lose_vram(m);
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
