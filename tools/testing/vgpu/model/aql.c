// SPDX-License-Identifier: MIT
/*
 * aql.c - AQL packets of user queues
 *
 * A kernel dispatch is taken when its packet reaches the head, launched workgroup by workgroup as slots become free, and consumed (header
 * invalid, read index advanced) when its last workgroup has started, possibly long before it is complete.
 */
#include "model.h"
#include "../vgpu_kernel.h"

#define AQL_BYTES		64
#define AQL_TYPE(h)		((h) & 0xff)
#define AQL_BARRIER		0x100
#define AQL_BARRIER_SIGNALS	5
#define SRC_CP_EOP		181
#define VENDOR_PM4_IB		1
#define MAX_DIMENSION		(1ULL << 32)

enum {
	AQL_VENDOR	= 0,
	AQL_INVALID	= 1,
	AQL_DISPATCH	= 2,
	AQL_BARRIER_AND	= 3,
	AQL_AGENT	= 4,
	AQL_BARRIER_OR	= 5,
};

/* Byte offsets in packets and signals */
#define DISPATCH_WORKGROUP	4		/* u16 x, y, z */
#define DISPATCH_GRID		12		/* u32 x, y, z */
#define DISPATCH_LDS		28
#define DISPATCH_KERNEL		32
#define DISPATCH_KERNARG	40
#define BARRIER_SIGNALS		8
#define PM4_IB_COMMAND		4
#define COMPLETION_SIGNAL	56
#define SIGNAL_VALUE		8
#define SIGNAL_MAILBOX		16
#define SIGNAL_EVENT_ID		24

static u64 get64(const u8 *p)
{
	u64 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static u32 get32(const u8 *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static u16 get16(const u8 *p)
{
	u16 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static u64 packet_va(const struct vgpu_queue *q, u64 index)
{
	return q->ring + (index * AQL_BYTES & (q->ring_bytes - 1));
}

/* The packet at the head is consumed. */
static void consume(struct vgpu_model *m, struct vgpu_queue *q)
{
	u32 as = vgpu_queue_as(q);
	u16 *header = vgpu_vm_ptr(m, as, packet_va(q, q->rptr), 2, true);

	if (header)
		WRITE_ONCE(*header, AQL_INVALID);
	q->rptr++;
	q->head_ready_ns = 0;
	if (q->rptr_addr)
		vgpu_vm_write64(m, as, q->rptr_addr, vgpu_fault(m, VGPU_FAULT_RPTR_GARBAGE) ?
				m->fault_value[VGPU_FAULT_RPTR_GARBAGE] : q->rptr);
	vgpu_hqd_set(m, q->xcc, q->me, q->pipe, q->slot, VGPU_HQD_PQ_RPTR, (u32)q->rptr * (AQL_BYTES / 4));
}

/** vgpu_aql_launched() - all workgroups of the dispatch at the head of @q have their slots */
void vgpu_aql_launched(struct vgpu_model *m, struct vgpu_queue *q)
{
	q->head = NULL;
	consume(m, q);
}

/**
 * vgpu_aql_signal() - complete something: decrement its signal, and tell the host if it asked for that
 * @m: the device
 * @q: queue, for the address space and the interrupt
 * @signal: address of the signal; 0: nobody waits
 */
void vgpu_aql_signal(struct vgpu_model *m, struct vgpu_queue *q, u64 signal)
{
	u32 as = vgpu_queue_as(q);
	u64 *value, mailbox, event;

	if (!signal)
		return;
	value = vgpu_vm_ptr(m, as, signal + SIGNAL_VALUE, 8, true);
	if (!value) {
		vgpu_queue_error(m, q, "completion signal is not mapped", signal);
		return;
	}
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

/* The dispatch that a packet describes; the queue is in error if it describes none. */
static struct vgpu_dispatch *new_dispatch(struct vgpu_model *m, struct vgpu_queue *q, const u8 *p)
{
	u32 as = vgpu_queue_as(q), i, workgroup = 1, last = 1;
	struct vgpu_kernargs args = { 0 };
	u64 groups = 1, kernarg;
	struct vgpu_kernel k;
	struct vgpu_dispatch *d;

	if (!vgpu_vm_read(m, as, get64(p + DISPATCH_KERNEL), &k, sizeof(k)) || k.magic != VGPU_KERNEL_MAGIC ||
	    k.version != VGPU_KERNEL_VERSION || !k.steps) {
		vgpu_queue_error(m, q, "kernel_object is no model kernel", get64(p + DISPATCH_KERNEL));
		return NULL;
	}
	kernarg = get64(p + DISPATCH_KERNARG);
	for (i = 0; i < 3; i++) {
		u32 wg = get16(p + DISPATCH_WORKGROUP + 2 * i), grid = get32(p + DISPATCH_GRID + 4 * i);

		if (!wg || !grid || workgroup > 1024) {
			vgpu_queue_error(m, q, "bad grid", grid);
			return NULL;
		}
		workgroup *= wg;
		last *= grid % wg && !i ? grid % wg : wg;
		groups *= (grid + (u64)wg - 1) / wg;
		if (groups >= MAX_DIMENSION) {
			vgpu_queue_error(m, q, "bad grid", grid);
			return NULL;
		}
	}

	d = vgpu_zalloc(sizeof(*d));
	if (!d)
		return NULL;
	d->q = q;
	d->index = q->rptr;
	d->signal = get64(p + COMPLETION_SIGNAL);
	/* It is the waves that fetch instructions and read arguments. */
	m->client = VGPU_UTCL2_SQC_INST;
	d->halted = !vgpu_vm_executable(m, as, get64(p + DISPATCH_KERNEL));
	m->client = VGPU_UTCL2_SQC_DATA;
	if (!d->halted && kernarg)
		d->halted = !vgpu_vm_read(m, as, kernarg, &args, sizeof(args));
	m->client = VGPU_UTCL2_CPC;
	d->counters = args.counters;
	d->flag = args.flag;
	d->step_ns = k.step_ns;
	d->steps = k.steps;
	d->vgprs = ((k.vgprs ? k.vgprs : 32) + 7) & ~7u;
	d->lds_bytes = k.lds_bytes > get32(p + DISPATCH_LDS) ? k.lds_bytes : get32(p + DISPATCH_LDS);
	d->workgroups = (u32)groups;
	d->wg_waves = (workgroup + VGPU_WAVE_LANES - 1) / VGPU_WAVE_LANES;
	/* Waves are numbered through; only the last workgroup of a grid in one dimension may be smaller. */
	d->last_wg_waves = get32(p + DISPATCH_GRID + 4) == 1 && get32(p + DISPATCH_GRID + 8) == 1 ?
			   (last + VGPU_WAVE_LANES - 1) / VGPU_WAVE_LANES : d->wg_waves;
	if (!vgpu_workgroup_fits(m, d->wg_waves, d->vgprs, d->lds_bytes)) {
		vgpu_queue_error(m, q, "workgroup does not fit on a compute unit", d->wg_waves);
		vgpu_free(d);
		return NULL;
	}
	d->hung = vgpu_fault(m, VGPU_FAULT_HUNG_WAVE);
	vgpu_list_add(&d->link, &q->inflight);
	q->inflight_count++;
	return d;
}

/* Return: 1 met, 0 not yet, -1 the queue is in error */
static int barrier_met(struct vgpu_model *m, struct vgpu_queue *q, const u8 *p, bool any)
{
	bool one = false, zero = false;
	u32 i;

	for (i = 0; i < AQL_BARRIER_SIGNALS; i++) {
		u64 signal = get64(p + BARRIER_SIGNALS + 8 * i), value;

		if (!signal)
			continue;
		if (!vgpu_vm_read64(m, vgpu_queue_as(q), signal + SIGNAL_VALUE, &value)) {
			vgpu_queue_error(m, q, "barrier signal is not mapped", signal);
			return -1;
		}
		one = true;
		zero |= !value;
		if (!any && value)
			return 0;
	}
	return !any || !one || zero;
}

/**
 * vgpu_aql_run() - take packets from the head of a queue as far as they can be
 * @m: the device
 * @q: an AQL queue
 *
 * Return: true if a packet was taken.
 */
bool vgpu_aql_run(struct vgpu_model *m, struct vgpu_queue *q)
{
	bool progress = false;
	u32 pm4[4];
	int met;

	while (!q->stuck && !q->head && vgpu_list_empty(&q->pending) && q->rptr < q->wptr) {
		u16 *header = vgpu_vm_ptr(m, vgpu_queue_as(q), packet_va(q, q->rptr), AQL_BYTES, false);
		u8 p[AQL_BYTES];

		if (!header) {
			vgpu_queue_error(m, q, "ring is not mapped", q->ring);
			break;
		}
		if (AQL_TYPE(READ_ONCE(*header)) == AQL_INVALID)
			break;
		vgpu_rmb();				/* the header is written last */
		memcpy(p, header, sizeof(p));
		if ((get16(p) & AQL_BARRIER) && q->inflight_count)
			break;
		switch (AQL_TYPE(get16(p))) {
		case AQL_DISPATCH:
			if (q->inflight_count >= VGPU_MAX_INFLIGHT)
				return progress;
			q->head = new_dispatch(m, q, p);
			if (q->head) {
				q->head_ready_ns = m->now_ns + m->config.dispatch_ns;
				m->place = true;
				progress = true;
			}
			break;
		case AQL_BARRIER_AND:
		case AQL_BARRIER_OR:
			met = barrier_met(m, q, p, AQL_TYPE(get16(p)) == AQL_BARRIER_OR);
			if (met <= 0)
				return progress;
			consume(m, q);
			vgpu_aql_signal(m, q, get64(p + COMPLETION_SIGNAL));
			progress = true;
			break;
		case AQL_VENDOR:
			if (get16(p + 2) != VENDOR_PM4_IB) {
				vgpu_queue_error(m, q, "unknown vendor packet", get16(p + 2));
				break;
			}
			memcpy(pm4, p + PM4_IB_COMMAND, sizeof(pm4));
			if (!vgpu_pm4_ib(m, q, pm4))
				return progress;
			consume(m, q);
			vgpu_aql_signal(m, q, get64(p + COMPLETION_SIGNAL));
			progress = true;
			break;
		default:
			vgpu_queue_error(m, q, "unknown AQL packet", get16(p));
		}
	}
	return progress;
}
