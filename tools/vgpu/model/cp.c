// SPDX-License-Identifier: MIT
/*
 * cp.c - the command processor: mapping and unmapping of queues, and their doorbells
 */
#include "model.h"

#define DOORBELL_EN		0x40000000u	/* CP_HQD_PQ_DOORBELL_CONTROL */
#define PRIV_STATE		0x40000000u	/* CP_HQD_PQ_CONTROL */
#define GFX_WPTR		0x15		/* CP_GFX_HQD_WPTR and HI behind it; what is before is as in a compute queue's */
#define HQD_IN_MQD		0x200		/* byte offset of the HQD registers in an MQD */
#define PIPE_PRIORITY_HIGH	2
#define MQD_LOGIC_XCC		(0x27 * 4)	/* compute_current_logic_xcc_id: byte offsets in an MQD of gfx942 */
#define MQD_CHUNK		(0x29 * 4)	/* compute_tg_chunk_size */
#define MQD_PM4_TARGET		(0xe1 * 4)	/* pm4_target_xcc_in_xcp */
#define MQD_STRIDE		(0xe2 * 4)	/* cp_mqd_stride_size: bytes to the MQD of the next XCC */

/* Forgets a queue and everything that it has on the device */
void vgpu_queue_free(struct vgpu_model *m, struct vgpu_queue *q)
{
	vgpu_waves_kill(m, q);
	vgpu_list_del(&q->link);
	vgpu_free(q);
}

static u32 cp_hqd(struct vgpu_model *m, const struct vgpu_queue *q, enum vgpu_hqd_reg reg)
{
	return vgpu_hqd_get(m, q->xcc, q->me, q->pipe, q->slot, reg);
}

static u64 *cp_doorbell(struct vgpu_model *m, const struct vgpu_queue *q)
{
	return q->has_doorbell ? vgpu_doorbell_at(m, q->doorbell) : NULL;
}

static void cp_ring(struct vgpu_queue *q, u64 value, u64 now_ns)
{
	q->rung_ns = now_ns;
	if (value >> 32 == VGPU_DOORBELL_IDLE >> 32)		/* only the low half was written */
		value = (value & 0xffffffff) | (q->wptr & ~0xffffffffULL);
	if (q->kind == VGPU_QUEUE_AQL)
		value++;				/* the index of the last packet */
	if (value > q->wptr)
		q->wptr = value;
}

/* All parts of a queue hear its doorbell */
static void cp_ring_parts(struct vgpu_model *m, struct vgpu_queue *q, u64 value)
{
	struct vgpu_list *l;
	u64 now_ns;

	if (value == VGPU_DOORBELL_IDLE)
		return;
	now_ns = m->ops->now_ns(m->ctx);
	if (q->parts == 1) {
		cp_ring(q, value, now_ns);
		return;
	}
	for (l = m->queues.next; l != &m->queues; l = l->next) {
		struct vgpu_queue *other = container_of(l, struct vgpu_queue, link);

		if (other->group == q->group && other->kind == q->kind)
			cp_ring(other, value, now_ns);
	}
}

/**
 * vgpu_queue_fetch_wptr() - take the write pointer of a queue from memory, at map
 * @m: the device
 * @q: the queue
 * @as: address space
 * @va: where it is
 *
 * First makes the doorbell an edge, then fetches: a ring in between is seen twice, never missed,
 * and what an earlier queue left there is no ring.
 *
 * Return: false after a GPUVM fault; the queue is empty then.
 */
bool vgpu_queue_fetch_wptr(struct vgpu_model *m, struct vgpu_queue *q, u32 as, u64 va)
{
	u64 *p = cp_doorbell(m, q);

	if (p)
		cp_ring_parts(m, q, xchg(p, VGPU_DOORBELL_IDLE));	/* other parts of it are mapped already */
	if (vgpu_vm_read64(m, as, va, &q->wptr))
		return true;
	q->wptr = q->rptr;
	return false;
}

/*
 * Hardware sees each write of a doorbell. Between two looks the last one alone is left, and of
 * several producers that may be the lower one: the index in memory tells what the higher one was.
 */
static u64 cp_highest_ring(struct vgpu_model *m, const struct vgpu_queue *q, u64 value)
{
	u64 wptr;

	if (q->kind != VGPU_QUEUE_AQL || !q->wptr_addr ||
	    !vgpu_vm_read64(m, vgpu_wptr_as(m, q), q->wptr_addr, &wptr) || wptr <= value)
		return value;
	return wptr - 1;
}

/*
 * Takes what was written since the last time. Doorbells are edges: the same value twice is two of
 * them.
 */
void vgpu_doorbell_poll(struct vgpu_model *m, struct vgpu_queue *q)
{
	u64 *p = cp_doorbell(m, q), value;

	if (!p || READ_ONCE(*p) == VGPU_DOORBELL_IDLE)
		return;
	value = xchg(p, VGPU_DOORBELL_IDLE);
	vgpu_rmb();
	if (value == VGPU_DOORBELL_IDLE)
		return;
	m->stats.doorbells++;
	cp_ring_parts(m, q, cp_highest_ring(m, q, value));
	if (q->kind == VGPU_QUEUE_PM4)
		vgpu_ring_heard(m, q);
}

/*
 * The read pointer that hardware keeps is 32 bits of dwords; what lies above follows from the write
 * pointer, which is at most a ring ahead.
 */
static void cp_set_pointers(struct vgpu_queue *q, u64 wptr, u32 rptr_dwords)
{
	u64 unit = q->kind == VGPU_QUEUE_AQL ? VGPU_AQL_DWORDS : 1;
	u64 behind;

	q->wptr = wptr;
	behind = q->kind == VGPU_QUEUE_AQL ? (u32)(wptr * unit - rptr_dwords) / unit :
					     (wptr - rptr_dwords) & (q->ring_bytes / 4 - 1);
	q->rptr = behind <= wptr ? wptr - behind : 0;
}

/*
 * COMPUTE_STATIC_THREAD_MGMT_SEn: not among the registers of the slot, the CP takes them from the
 * MQD.
 */
static bool cp_read_cu_mask(struct vgpu_model *m, struct vgpu_queue *q)
{
	const u8 *word = m->config.asic->cu_mask_words;
	u32 se;

	for (se = 0; se < VGPU_MAX_SE; se++) {
		q->cu_mask[se] = ~0u;
		if (word[se] && !vgpu_vm_read(m, VGPU_AS_KERNEL, q->mqd + word[se] * 4, &q->cu_mask[se], 4))
			return false;
	}
	return true;
}

/* Bytes from the MQD at @mqd to that of the next XCC, 0: the queue runs on one */
static u32 cp_mqd_stride(struct vgpu_model *m, u64 mqd)
{
	u32 stride;

	return m->config.asic->xcp_ctl && mqd && vgpu_vm_read(m, VGPU_AS_KERNEL, mqd + MQD_STRIDE, &stride, 4) ? stride : 0;
}

/* What the MQD says about the XCCs that the queue runs on */
static void cp_find_parts(struct vgpu_model *m, struct vgpu_queue *q)
{
	u32 stride = cp_mqd_stride(m, q->mqd), target = 0, logic = 0;

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

/* Of what an MQD says of the slot */
static u64 cp_mqd_sum(const u32 *r)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < VGPU_HQD_REGS; i++)
		sum = (sum ^ r[i]) * 0x9e3779b97f4a7c15ULL;
	return sum;
}

/* Has anyone but the device written it since its queue was unmapped? A new one was written. */
static bool cp_mqd_is_written(const struct vgpu_model *m, u64 mqd, const u32 *r)
{
	u32 i;

	for (i = 0; i < VGPU_MQDS_LEFT; i++)
		if (m->left[i].mqd == mqd)
			return m->left[i].sum != cp_mqd_sum(r);
	return true;
}

static void cp_leave_mqd(struct vgpu_model *m, u64 mqd)
{
	u32 r[VGPU_HQD_REGS], i;

	if (!vgpu_vm_read(m, VGPU_AS_KERNEL, mqd + HQD_IN_MQD, r, sizeof(r)))
		return;
	for (i = 0; i < VGPU_MQDS_LEFT && m->left[i].mqd != mqd; i++)
		;
	if (i == VGPU_MQDS_LEFT)
		i = m->left_next++ % VGPU_MQDS_LEFT;
	m->left[i].mqd = mqd;
	m->left[i].sum = cp_mqd_sum(r);
}

/* What a graphics queue has of a slot's registers, as a compute queue has it */
static void cp_read_gfx_hqd(u32 *r)
{
	u32 wptr[2] = { r[GFX_WPTR], r[GFX_WPTR + 1] };

	memset(r + GFX_WPTR, 0, (VGPU_HQD_REGS - GFX_WPTR) * sizeof(*r));
	r[VGPU_HQD_PQ_WPTR_LO] = wptr[0];
	r[VGPU_HQD_PQ_WPTR_HI] = wptr[1];
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
	bool from_memory, written = false;
	u64 wptr, mqd;

	if (request->from_registers) {
		for (i = 0; i < VGPU_HQD_REGS; i++)
			r[i] = vgpu_hqd_get(m, request->xcc, request->me, request->pipe, request->slot, i);
		mqd = r[VGPU_HQD_MQD_BASE_LO] | (u64)r[VGPU_HQD_MQD_BASE_HI] << 32;
	} else {
		mqd = request->mqd;
		if (request->from_runlist)
			mqd += (u64)cp_mqd_stride(m, mqd) * vgpu_xcc_in_partition(m, request->xcc);
		if (!vgpu_vm_read(m, VGPU_AS_KERNEL, mqd + HQD_IN_MQD, r, sizeof(r)))
			return NULL;
		written = cp_mqd_is_written(m, mqd, r);
		r[VGPU_HQD_VMID] = request->vmid;
		r[VGPU_HQD_DEQUEUE_REQUEST] = 0;
		if (request->me == VGPU_ME_GFX)
			cp_read_gfx_hqd(r);
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
	q->privileged = q->me == VGPU_ME_GFX || (r[VGPU_HQD_PQ_CONTROL] & PRIV_STATE);
	if (request->from_registers && m->config.asic->atc_mapping) {
		atc = vgpu_reg(m, m->config.asic->atc_mapping + q->vmid);
		q->pasid = atc & VGPU_ATC_PASID_VALID ? (u16)atc : 0;
	}
	q->mqd = mqd;
	cp_find_parts(m, q);
	if (vgpu_queue_is_user_compute(q) && !cp_read_cu_mask(m, q)) {
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
	if (vgpu_queue_is_user_compute(q)) {
		vgpu_mqd_load(m, q);
		m->stats.mqds_written += written;
	}

	wptr = r[VGPU_HQD_PQ_WPTR_LO] | (u64)r[VGPU_HQD_PQ_WPTR_HI] << 32;
	if (q->kind == VGPU_QUEUE_AQL)
		wptr /= VGPU_AQL_DWORDS;
	from_memory = q->wptr_addr && (!request->from_registers ||
				       vgpu_wptr_poll_take(m, request->xcc, request->me, request->pipe, request->slot));
	if (from_memory && vgpu_queue_fetch_wptr(m, q, vgpu_wptr_as(m, q), q->wptr_addr))
		wptr = q->wptr;
	cp_set_pointers(q, wptr, r[VGPU_HQD_PQ_RPTR]);
	q->told = q->rptr;
	if (q->kind == VGPU_QUEUE_PM4)
		vgpu_queue_show(m, q);
	if (q->me == VGPU_ME_COMPUTE)
		vgpu_regs_set_waves(m, q->xcc, q->pipe, q->slot, true, 0);
	m->place = true;
	return q;
}

/*
 * What firmware clears in the slot of a queue that leaves: pointers and doorbell. All else stays
 * what it was.
 */
static void cp_forget_slot(struct vgpu_model *m, const struct vgpu_queue *q)
{
	vgpu_hqd_set(m, q->xcc, q->me, q->pipe, q->slot, VGPU_HQD_PQ_RPTR, 0);
	vgpu_hqd_set(m, q->xcc, q->me, q->pipe, q->slot, VGPU_HQD_PQ_WPTR_LO, 0);
	vgpu_hqd_set(m, q->xcc, q->me, q->pipe, q->slot, VGPU_HQD_PQ_WPTR_HI, 0);
	vgpu_hqd_set(m, q->xcc, q->me, q->pipe, q->slot, VGPU_HQD_PQ_DOORBELL, cp_hqd(m, q, VGPU_HQD_PQ_DOORBELL) & VGPU_DOORBELL_BIF_DROP);
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
		vgpu_mqd_save_sdma(m, q);
		vgpu_queue_free(m, q);
		return 0;
	}
	if (save && vgpu_queue_is_user_compute(q)) {
		if (q->leaving != VGPU_SAVES)		/* otherwise memory has it already */
			bytes = vgpu_cwsr_save(m, q);
	} else if (!vgpu_vm_write32(m, VGPU_AS_KERNEL, q->mqd + HQD_IN_MQD + VGPU_HQD_PQ_RPTR * 4,
				    cp_hqd(m, q, VGPU_HQD_PQ_RPTR))) {
		vgpu_err("MQD %#llx is not mapped", (unsigned long long)q->mqd);
	} else if (vgpu_queue_is_user_compute(q)) {
		vgpu_cwsr_discard(m, q);
	}
	if (vgpu_queue_is_user_compute(q)) {
		cp_leave_mqd(m, q->mqd);
		cp_forget_slot(m, q);
	}
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
