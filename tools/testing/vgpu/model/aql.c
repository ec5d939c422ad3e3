// SPDX-License-Identifier: MIT
/*
 * aql.c - AQL packets of user queues
 *
 * A kernel dispatch is taken when its packet reaches the head, launched workgroup by workgroup as slots become free, and consumed (header
 * invalid, read index advanced) when its last workgroup has started, possibly long before it is complete.
 *
 * On several XCCs each has its part of the queue: slot, MQD, save area and waves. The parts take packets together, that is when
 * all of them are mapped and ready; the first one's command processor reads them. A dispatch is spread over the XCCs, consumed when
 * the last of them has launched its share, and complete when all shares are. What one XCC knows of that is in its own saved
 * state: a share that is done stays in flight until the others are, so that nothing is lost or done twice whatever order they
 * leave and come back in.
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

/* The packet that comes next: some part may be ahead of another if its MQD was tampered with */
static u64 head_index(struct vgpu_model *m, struct vgpu_queue *q)
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

static bool all_mapped(struct vgpu_model *m, struct vgpu_queue *q)
{
	u32 i;

	for (i = 0; i < q->parts; i++)
		if (!vgpu_queue_part(m, q, i))
			return false;
	return true;
}

/* The packet at the head is consumed. */
static void consume(struct vgpu_model *m, struct vgpu_queue *q)
{
	u64 index = head_index(m, q);
	u32 as = vgpu_queue_as(q), i;
	u16 *header = vgpu_vm_ptr(m, as, packet_va(q, index), 2, true);

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
	if (q->rptr_addr)
		vgpu_vm_write64(m, as, q->rptr_addr, vgpu_fault(m, VGPU_FAULT_RPTR_GARBAGE) ?
				m->fault_value[VGPU_FAULT_RPTR_GARBAGE] : index + 1);
}

static struct vgpu_dispatch *find_dispatch(struct vgpu_queue *q, u64 index)
{
	struct vgpu_list *l;

	for (l = q->inflight.next; l != &q->inflight; l = l->next)
		if (container_of(l, struct vgpu_dispatch, link)->index == index)
			return container_of(l, struct vgpu_dispatch, link);
	return NULL;
}

static void drop(struct vgpu_queue *q, struct vgpu_dispatch *d)
{
	vgpu_list_del(&d->link);
	q->inflight_count--;
	if (q->head == d)
		q->head = NULL;
	vgpu_free(d);
}

static bool has_head(struct vgpu_model *m, struct vgpu_queue *q)
{
	u32 i;

	for (i = 0; i < q->parts; i++)
		if (vgpu_queue_part(m, q, i)->head)
			return true;
	return false;
}

/** vgpu_aql_launched() - all workgroups of the dispatch at the head of @q that are this part's have their slots */
void vgpu_aql_launched(struct vgpu_model *m, struct vgpu_queue *q)
{
	q->head = NULL;
	if (all_mapped(m, q) && !has_head(m, q))
		consume(m, q);
}

static bool part_complete(const struct vgpu_dispatch *d)
{
	return d->waves_done == (d->workgroups - 1) * d->wg_waves + d->last_wg_waves;
}

/** vgpu_aql_part_done() - all waves of @d, a dispatch or a part of one, are done; @d may be gone afterwards */
void vgpu_aql_part_done(struct vgpu_model *m, struct vgpu_dispatch *d)
{
	struct vgpu_queue *q = d->q;
	u64 index = d->index, signal = d->signal;
	struct vgpu_dispatch *share;
	u32 i;

	if (!all_mapped(m, q))
		return;
	for (i = 0; i < q->parts; i++) {
		share = find_dispatch(vgpu_queue_part(m, q, i), index);
		if (share && !part_complete(share))
			return;
	}
	for (i = 0; i < q->parts; i++) {
		struct vgpu_queue *part = vgpu_queue_part(m, q, i);

		share = find_dispatch(part, index);
		if (share)
			drop(part, share);
	}
	m->stats.dispatches_done++;
	vgpu_aql_signal(m, q, signal);
}

/** vgpu_aql_unread() - forget that the packet at the head was read, unless some of it has started: it will be read again */
void vgpu_aql_unread(struct vgpu_model *m, struct vgpu_queue *q)
{
	u64 index;
	u32 i;

	if (!q->head || !all_mapped(m, q))
		return;
	index = q->head->index;
	for (i = 0; i < q->parts; i++) {
		const struct vgpu_dispatch *d = find_dispatch(vgpu_queue_part(m, q, i), index);

		if (d && d->next_wg)
			return;
	}
	for (i = 0; i < q->parts; i++) {
		struct vgpu_queue *part = vgpu_queue_part(m, q, i);
		struct vgpu_dispatch *d = find_dispatch(part, index);

		if (d)
			drop(part, d);
	}
}

/**
 * vgpu_aql_joined() - a part of a queue was mapped and has its saved state back
 * @m: the device
 * @q: the part
 *
 * What had to wait for it is done once all parts are there.
 */
void vgpu_aql_joined(struct vgpu_model *m, struct vgpu_queue *q)
{
	struct vgpu_list *l, *next;
	u32 i;

	if (q->parts == 1 || !all_mapped(m, q))
		return;
	for (i = 0; i < q->parts && !has_head(m, q); i++)
		if (find_dispatch(vgpu_queue_part(m, q, i), head_index(m, q))) {
			consume(m, q);
			break;
		}
	for (i = 0; i < q->parts; i++) {
		struct vgpu_queue *part = vgpu_queue_part(m, q, i);

		for (l = part->inflight.next; l != &part->inflight; l = next) {
			struct vgpu_dispatch *d = container_of(l, struct vgpu_dispatch, link);

			next = l->next;
			if (part_complete(d))
				vgpu_aql_part_done(m, d);
		}
	}
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

/* What a packet says of a dispatch. Return: false, and the queue is in error, if it describes none. */
static bool parse_dispatch(struct vgpu_model *m, struct vgpu_queue *q, const u8 *p, struct vgpu_dispatch *d)
{
	u32 as = vgpu_queue_as(q), i, workgroup = 1, last = 1;
	struct vgpu_kernargs args = { 0 };
	u64 groups = 1, kernarg;
	struct vgpu_kernel k;

	if (!vgpu_vm_read(m, as, get64(p + DISPATCH_KERNEL), &k, sizeof(k)) || k.magic != VGPU_KERNEL_MAGIC ||
	    k.version != VGPU_KERNEL_VERSION || !k.steps) {
		vgpu_queue_error(m, q, "kernel_object is no model kernel", get64(p + DISPATCH_KERNEL));
		return false;
	}
	kernarg = get64(p + DISPATCH_KERNARG);
	for (i = 0; i < 3; i++) {
		u32 wg = get16(p + DISPATCH_WORKGROUP + 2 * i), grid = get32(p + DISPATCH_GRID + 4 * i);

		if (!wg || !grid || workgroup > 1024) {
			vgpu_queue_error(m, q, "bad grid", grid);
			return false;
		}
		workgroup *= wg;
		last *= grid % wg && !i ? grid % wg : wg;
		groups *= (grid + (u64)wg - 1) / wg;
		if (groups >= MAX_DIMENSION) {
			vgpu_queue_error(m, q, "bad grid", grid);
			return false;
		}
	}

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
		return false;
	}
	d->hung = vgpu_fault(m, VGPU_FAULT_HUNG_WAVE);
	return true;
}

/* Gives a part of the queue its share of a dispatch. Return: false without memory. */
static bool take_share(struct vgpu_model *m, struct vgpu_queue *q, const struct vgpu_dispatch *whole)
{
	u32 chunk = q->chunk ? q->chunk : whole->workgroups, round = chunk * q->parts;
	u32 first = q->logic_xcc * chunk, rest = whole->workgroups % round, share;
	struct vgpu_dispatch *d;

	share = whole->workgroups / round * chunk;
	if (rest > first)
		share += rest - first < chunk ? rest - first : chunk;
	if (!share)
		return true;
	d = vgpu_zalloc(sizeof(*d));
	if (!d)
		return false;
	*d = *whole;
	d->q = q;
	d->xccs = q->parts;
	d->xcc = q->logic_xcc;
	d->chunk = chunk;
	d->workgroups = share;
	if ((whole->workgroups - 1) / chunk % q->parts != q->logic_xcc % q->parts)
		d->last_wg_waves = d->wg_waves;
	vgpu_list_add(&d->link, &q->inflight);
	q->inflight_count++;
	q->head = d;
	q->head_ready_ns = m->now_ns + m->config.dispatch_ns;
	return true;
}

/* Takes the dispatch at the head. Return: false if that is not possible (now, or at all). */
static bool begin_dispatch(struct vgpu_model *m, struct vgpu_queue *q, u64 index, const u8 *p)
{
	struct vgpu_dispatch whole = { .index = index };
	u32 i;

	if (!parse_dispatch(m, q, p, &whole))
		return false;
	for (i = 0; i < q->parts; i++) {
		struct vgpu_queue *part = vgpu_queue_part(m, q, i);

		if (part->rptr == index && !take_share(m, part, &whole))
			break;
	}
	if (i < q->parts) {
		while (i--) {
			struct vgpu_queue *part = vgpu_queue_part(m, q, i);
			struct vgpu_dispatch *d = find_dispatch(part, index);

			if (d)
				drop(part, d);
		}
		return false;
	}
	m->place = true;
	return true;
}

/* May the next packet be taken? Return: the most dispatches that a part has in flight, or U32_MAX: no */
static u32 may_begin(struct vgpu_model *m, struct vgpu_queue *q)
{
	u32 i, inflight = 0;

	for (i = 0; i < q->parts; i++) {
		const struct vgpu_queue *part = vgpu_queue_part(m, q, i);

		if (!part || part->stuck || part->leaving || m->now_ns < part->ready_ns || part->head ||
		    !vgpu_list_empty(&part->pending))
			return U32_MAX;
		if (part->inflight_count > inflight)
			inflight = part->inflight_count;
	}
	return inflight;
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
	u32 pm4[4], inflight;
	u64 index;
	int met;

	if (q->part)
		return false;
	for (;;) {
		u8 p[AQL_BYTES];
		u16 *header;

		inflight = may_begin(m, q);
		index = head_index(m, q);
		if (inflight == U32_MAX || index >= q->wptr)
			break;
		header = vgpu_vm_ptr(m, vgpu_queue_as(q), packet_va(q, index), AQL_BYTES, false);
		if (!header) {
			vgpu_queue_error(m, q, "ring is not mapped", q->ring);
			break;
		}
		if (AQL_TYPE(READ_ONCE(*header)) == AQL_INVALID)
			break;
		vgpu_rmb();				/* the header is written last */
		memcpy(p, header, sizeof(p));
		if ((get16(p) & AQL_BARRIER) && inflight)
			break;
		switch (AQL_TYPE(get16(p))) {
		case AQL_DISPATCH:
			if (inflight >= VGPU_MAX_INFLIGHT || !begin_dispatch(m, q, index, p))
				return progress;
			progress = true;
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
