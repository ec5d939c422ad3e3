// SPDX-License-Identifier: MIT
/*
 * ring.c - how far queues have been read, what they have completed, and who is told
 */
#include "model.h"
#include "aql.h"

#define LAZY_PACKETS		16u		/* at most, that lazy firmware does not report yet */
#define RPTR_BLOCK		64u		/* dwords: what amdkfd's RPTR_BLOCK_SIZE of 5 stands for */

u64 vgpu_ring_packet(const struct vgpu_queue *q, u64 index)
{
	return q->ring + (index * AQL_BYTES & (q->ring_bytes - 1));
}

/* The packet that comes next: some part may be ahead of another if its MQD was tampered with */
u64 vgpu_ring_head(struct vgpu_model *m, struct vgpu_queue *q)
{
	u64 index = q->rptr;
	u32 i;

	for (i = 0; i < q->parts; i++) {
		struct vgpu_queue *part = vgpu_queue_part(m, q, i);

		if (part && part->rptr < index)
			index = part->rptr;
	}
	return index;
}

static bool ring_all_mapped(struct vgpu_model *m, struct vgpu_queue *q)
{
	u32 i;

	for (i = 0; i < q->parts; i++)
		if (!vgpu_queue_part(m, q, i))
			return false;
	return true;
}

/* The packet at the head is done with: its slot is free for the next one. */
void vgpu_ring_consume(struct vgpu_model *m, struct vgpu_queue *q)
{
	u64 index = vgpu_ring_head(m, q);
	u32 as = vgpu_queue_as(q), i;
	u16 *header = vgpu_vm_ptr(m, as, vgpu_ring_packet(q, index), 2, true);

	if (header)
		WRITE_ONCE(*header, AQL_INVALID);
	for (i = 0; i < q->parts; i++) {
		struct vgpu_queue *part = vgpu_queue_part(m, q, i);

		if (part->rptr == index)
			part->rptr++;
		part->head_ready_ns = 0;
		vgpu_hqd_set(m, part->xcc, part->me, part->pipe, part->slot, VGPU_HQD_PQ_RPTR,
			     (u32)part->rptr * (AQL_BYTES / 4));
	}
	if (!q->rptr_addr || (vgpu_firmware(m, VGPU_FIRMWARE_LAZY_DISPATCH_ID) && index + 1 < q->wptr && index + 1 - q->told < LAZY_PACKETS))
		return;
	q->told = index + 1;
	vgpu_vm_write64(m, as, q->rptr_addr, vgpu_fault(m, VGPU_FAULT_RPTR_GARBAGE) ? m->fault_value[VGPU_FAULT_RPTR_GARBAGE] : index + 1);
}

struct vgpu_dispatch *vgpu_ring_find(struct vgpu_queue *q, u64 index)
{
	struct vgpu_list *l;

	for (l = q->inflight.next; l != &q->inflight; l = l->next)
		if (container_of(l, struct vgpu_dispatch, link)->index == index)
			return container_of(l, struct vgpu_dispatch, link);
	return NULL;
}

static bool ring_has_head(struct vgpu_model *m, struct vgpu_queue *q)
{
	u32 i;

	for (i = 0; i < q->parts; i++)
		if (vgpu_queue_part(m, q, i)->head)
			return true;
	return false;
}

/**
 * vgpu_ring_launched() - all workgroups of the dispatch at the head of @q that are this part's have
 * their slots
 */
void vgpu_ring_launched(struct vgpu_model *m, struct vgpu_queue *q)
{
	q->head = NULL;
	if (ring_all_mapped(m, q) && !ring_has_head(m, q))
		vgpu_ring_consume(m, q);
}

/*
 * When it began and ended, in ticks of the reference clock, if the runtime asked for it. The signal
 * is not complete yet. Ends are of the present, so what begins afterwards begins no earlier.
 */
static void ring_stamp(struct vgpu_model *m, const struct vgpu_queue *q, u64 signal, u64 start_ns)
{
	u64 stamps[2];
	u32 properties;

	m->ended_ns = vgpu_now_ns(m);
	stamps[0] = start_ns / VGPU_REFERENCE_NS;
	stamps[1] = m->ended_ns / VGPU_REFERENCE_NS;
	if (vgpu_queue_runtime_read(m, q, QUEUE_PROPERTIES, &properties, sizeof(properties)) && (properties & ENABLE_PROFILING))
		vgpu_vm_write(m, vgpu_queue_as(q), signal + SIGNAL_START, stamps, sizeof(stamps));
}

/**
 * vgpu_ring_signal() - complete something: decrement its signal, and tell the host if it asked for
 * that
 * @m: the device
 * @q: queue, for the address space and the interrupt
 * @signal: address of the signal; 0: there is no waiter
 * @start_ns: when it began, device time
 */
void vgpu_ring_signal(struct vgpu_model *m, struct vgpu_queue *q, u64 signal, u64 start_ns)
{
	u32 as = vgpu_queue_as(q);
	u64 *value, mailbox, event;

	if (!signal)
		return;
	value = vgpu_vm_ptr(m, as, signal + SIGNAL_VALUE, 8, true);
	if (!value) {
		vgpu_queue_error(m, q, VGPU_EC_NONE, "completion signal is not mapped", signal);
		return;
	}
	ring_stamp(m, q, signal, start_ns);
	vgpu_wmb();
	/* Read first: once the value is written, the owner may free the signal. */
	if (!vgpu_vm_read64(m, as, signal + SIGNAL_MAILBOX, &mailbox) ||
	    !vgpu_vm_read64(m, as, signal + SIGNAL_EVENT_ID, &event))
		mailbox = 0;
	vgpu_atomic64_add(value, -1LL);
	event &= 0xffffffff;
	if (mailbox) {
		vgpu_vm_write64(m, as, mailbox, event);
		vgpu_queue_eop(m, q, SRC_CP_EOP, (u32)event);
	}
}

/**
 * vgpu_ring_part_done() - all waves of @d, a dispatch or a part of one, are done; @d may be gone
 * afterwards
 */
void vgpu_ring_part_done(struct vgpu_model *m, struct vgpu_dispatch *d)
{
	struct vgpu_queue *q = d->q;
	u64 index = d->index, signal = d->signal, start_ns = U64_MAX;
	struct vgpu_dispatch *share;
	u32 i;

	if (!ring_all_mapped(m, q))
		return;
	for (i = 0; i < q->parts; i++) {
		share = vgpu_ring_find(vgpu_queue_part(m, q, i), index);
		if (share && !vgpu_dispatch_complete(share))
			return;
	}
	for (i = 0; i < q->parts; i++) {
		share = vgpu_ring_find(vgpu_queue_part(m, q, i), index);
		if (!share)
			continue;
		if (share->start_ns < start_ns)
			start_ns = share->start_ns;
		vgpu_dispatch_drop(share);
	}
	m->stats.dispatches_done++;
	vgpu_ring_signal(m, q, signal, start_ns);
}

/**
 * vgpu_ring_unread() - forget that the packet at the head, AQL or PM4, was read unless some of it
 * has started: it will be read again
 */
void vgpu_ring_unread(struct vgpu_model *m, struct vgpu_queue *q)
{
	u64 index;
	u32 i;

	if (!q->head || !ring_all_mapped(m, q))
		return;
	if (q->head->index == VGPU_NO_INDEX) {
		if (!q->head->next_wg)
			vgpu_dispatch_drop(q->head);
		return;
	}
	index = q->head->index;
	for (i = 0; i < q->parts; i++) {
		const struct vgpu_dispatch *d = vgpu_ring_find(vgpu_queue_part(m, q, i), index);

		if (d && d->next_wg)
			return;
	}
	for (i = 0; i < q->parts; i++) {
		struct vgpu_dispatch *d = vgpu_ring_find(vgpu_queue_part(m, q, i), index);

		if (d)
			vgpu_dispatch_drop(d);
	}
}

/**
 * vgpu_ring_joined() - a part of a queue was mapped and has its saved state back
 * @m: the device
 * @q: the part
 *
 * What had to wait for it is done once all parts are there.
 */
void vgpu_ring_joined(struct vgpu_model *m, struct vgpu_queue *q)
{
	struct vgpu_list *l, *next;
	u32 i;

	if (q->parts == 1 || !ring_all_mapped(m, q))
		return;
	for (i = 0; i < q->parts && !ring_has_head(m, q); i++)
		if (vgpu_ring_find(vgpu_queue_part(m, q, i), vgpu_ring_head(m, q))) {
			vgpu_ring_consume(m, q);
			break;
		}
	for (i = 0; i < q->parts; i++) {
		struct vgpu_queue *part = vgpu_queue_part(m, q, i);

		for (l = part->inflight.next; l != &part->inflight; l = next) {
			struct vgpu_dispatch *d = container_of(l, struct vgpu_dispatch, link);

			next = l->next;
			if (vgpu_dispatch_complete(d))
				vgpu_ring_part_done(m, d);
		}
	}
}

/**
 * vgpu_ring_drained() - is everything done that a part of a queue has begun? It does not wait for
 * parts that are not there.
 */
bool vgpu_ring_drained(struct vgpu_model *m, struct vgpu_queue *q)
{
	struct vgpu_list *l;

	for (l = q->inflight.next; l != &q->inflight; l = l->next)
		if (!vgpu_dispatch_complete(container_of(l, struct vgpu_dispatch, link)) || ring_all_mapped(m, q))
			return false;
	return true;
}

/* What memory is told of a read pointer */
static u32 ring_told_rptr(const struct vgpu_model *m, const struct vgpu_queue *q, u32 rptr)
{
	u32 mask = q->ring_bytes / 4 - 1;

	if (q->full_until_ns)
		return (u32)(q->wptr + 1) & mask;
	if (!q->vmid && vgpu_firmware(m, VGPU_FIRMWARE_LATE_RPTR))
		return rptr & ~(RPTR_BLOCK - 1);
	if (!q->vmid && vgpu_firmware(m, VGPU_FIRMWARE_EARLY_RPTR))
		return (u32)q->wptr & mask;
	return rptr;
}

void vgpu_ring_report(struct vgpu_model *m, struct vgpu_queue *q)
{
	u32 rptr = vgpu_queue_rptr_dwords(q);

	if (q->rptr_addr && (q->vmid || !q->part))	/* of the kernel's, one XCC reports for all */
		vgpu_vm_write32(m, vgpu_queue_as(q), q->rptr_addr, ring_told_rptr(m, q, rptr));
	vgpu_queue_show(m, q);
}

/* The kernel is told so before it hears of anything else. */
void vgpu_ring_report_full(struct vgpu_model *m, struct vgpu_queue *q, enum vgpu_fault fault)
{
	if (vgpu_fault_on(m, fault, q->xcc))
		q->full_until_ns = m->now_ns + m->fault_value[fault] * 1000;
	if (q->full_until_ns)
		vgpu_ring_report(m, q);
}

void vgpu_ring_advance(struct vgpu_queue *q, u32 dwords)
{
	if (q->ib_depth)
		q->ib[q->ib_depth - 1].pos += dwords;
	else
		q->rptr += dwords;
}

/**
 * vgpu_ring_expire_full() - tell the truth about a ring that was reported to be full, when it is
 * time
 */
void vgpu_ring_expire_full(struct vgpu_model *m, struct vgpu_queue *q)
{
	if (!q->full_until_ns || m->now_ns < q->full_until_ns)
		return;
	q->full_until_ns = 0;
	vgpu_ring_report(m, q);
}

/**
 * vgpu_ring_heard() - a kernel's ring was rung: firmware may take packets for read that it has not
 * executed
 */
void vgpu_ring_heard(struct vgpu_model *m, struct vgpu_queue *q)
{
	if (!q->vmid && vgpu_firmware(m, VGPU_FIRMWARE_EARLY_RPTR))
		vgpu_ring_report(m, q);
}

/**
 * vgpu_ring_pm4_launched() - the dispatch at the head has launched all its waves: on to the next
 * packet
 */
void vgpu_ring_pm4_launched(struct vgpu_model *m, struct vgpu_queue *q)
{
	u32 dwords = q->head->packet_dwords;

	q->head = NULL;
	vgpu_ring_advance(q, dwords);
	if (!q->ib_depth)
		vgpu_ring_report(m, q);
}
