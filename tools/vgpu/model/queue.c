// SPDX-License-Identifier: MIT
/*
 * queue.c - what a mapped queue is to all who serve it: its parts, its errors, and what its slot's
 * registers and the runtime are told of them
 */
#include "model.h"
#include "aql.h"

#define HQD_ERROR_AQL		0x20u		/* CP_HQD_ERROR: a packet was refused */
#define HQD_ERROR_PQ_UTCL1	0x100u		/* or something that it refers to is not mapped */
#define SRC_CP_BAD_OPCODE	183
#define BAD_OPCODE_CODE		10		/* context id: exception code above the index of the process's doorbell */
#define PROCESS_DOORBELLS	8192u		/* bytes of a process's slice of the doorbell BAR */

/* Address space of a queue's ring, buffers and signals */
u32 vgpu_queue_as(const struct vgpu_queue *q)
{
	return VGPU_AS(q->hub, q->vmid);
}

/*
 * The part of a queue on another XCC; NULL while it is not there, or is not because all of it has
 * been saved
 */
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
	return q->kind == VGPU_QUEUE_AQL ? (u32)q->rptr * VGPU_AQL_DWORDS : (u32)(q->rptr & (q->ring_bytes / 4 - 1));
}

/**
 * vgpu_queue_show() - what the slot's registers say of the pointers; the write pointer does not wrap
 * @m: the device
 * @q: the queue
 */
void vgpu_queue_show(struct vgpu_model *m, const struct vgpu_queue *q)
{
	u32 control = vgpu_hqd_get(m, q->xcc, q->me, q->pipe, q->slot, VGPU_HQD_PQ_CONTROL) & ~VGPU_PQ_EMPTY;

	vgpu_hqd_set(m, q->xcc, q->me, q->pipe, q->slot, VGPU_HQD_PQ_CONTROL, control | (q->rptr == q->wptr ? VGPU_PQ_EMPTY : 0));
	vgpu_hqd_set(m, q->xcc, q->me, q->pipe, q->slot, VGPU_HQD_PQ_RPTR, vgpu_queue_rptr_dwords(q));
	vgpu_hqd_set(m, q->xcc, q->me, q->pipe, q->slot, VGPU_HQD_PQ_WPTR_LO, (u32)q->wptr);
	vgpu_hqd_set(m, q->xcc, q->me, q->pipe, q->slot, VGPU_HQD_PQ_WPTR_HI, (u32)(q->wptr >> 32));
}

/*
 * Something of amd_queue_t, if the runtime has one. Where it begins follows from the place of the
 * read index.
 */
bool vgpu_queue_runtime_read(struct vgpu_model *m, const struct vgpu_queue *q, u32 field, void *buf, u32 len)
{
	u32 as = vgpu_queue_as(q), offset = 0;

	return q->rptr_addr &&
	       vgpu_vm_read(m, as, q->rptr_addr + QUEUE_RPTR_OFFSET - VGPU_QUEUE_RPTR, &offset, sizeof(offset)) &&
	       offset == VGPU_QUEUE_RPTR && vgpu_vm_read(m, as, q->rptr_addr + field - VGPU_QUEUE_RPTR, buf, len);
}

/* The runtime waits for bits in amd_queue_t.queue_inactive_signal. Return: false if it does not. */
bool vgpu_queue_runtime_tell(struct vgpu_model *m, struct vgpu_queue *q, u64 bits)
{
	u32 as = vgpu_queue_as(q);
	u64 signal, mailbox, event;

	if (!vgpu_queue_runtime_read(m, q, QUEUE_INACTIVE, &signal, sizeof(signal)) || !signal ||
	    !vgpu_vm_read64(m, as, signal + SIGNAL_MAILBOX, &mailbox) ||
	    !vgpu_vm_read64(m, as, signal + SIGNAL_EVENT_ID, &event) || !vgpu_vm_write64(m, as, signal + SIGNAL_VALUE, bits))
		return false;
	event &= 0xffffffff;
	if (mailbox && vgpu_vm_write64(m, as, mailbox, event))
		vgpu_queue_eop(m, q, SRC_CP_EOP, (u32)event);
	return true;
}

/*
 * Tells the runtime why its queue has stopped. There is a bit for each reason; the numbers are
 * ROCr's.
 */
static void queue_report(struct vgpu_model *m, struct vgpu_queue *q, enum vgpu_exception code)
{
	static const u64 bits[] = {
		[VGPU_EC_PACKET_RESERVED] = INACTIVE_BAD_FORMAT, [VGPU_EC_WAVE_ILLEGAL] = INACTIVE_ILLEGAL,
		[VGPU_EC_WAVE_APERTURE] = INACTIVE_APERTURE, [VGPU_EC_WAVE_TRAP] = INACTIVE_TRAP,
		[VGPU_EC_WAVE_ABORT] = INACTIVE_TRAP,
	};
	u64 bit = code < ARRAY_SIZE(bits) ? bits[code] : 0;

	vgpu_queue_runtime_tell(m, q, bit ? bit : 1ULL << (code - INACTIVE_FIRST_CODE));
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
		queue_report(m, q, code);
}
