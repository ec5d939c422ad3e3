// SPDX-License-Identifier: MIT
/*
 * aql.c - AQL packets of user queues
 *
 * A kernel dispatch is taken when its packet reaches the head, launched workgroup by workgroup as
 * slots become free, and consumed (header invalid, read index advanced) when its last workgroup has
 * started, possibly long before it is complete.
 *
 * On several XCCs each has its part of the queue: slot, MQD, save area and waves. The parts take
 * packets together, that is when all of them are mapped and ready; the first one's command
 * processor reads them. A dispatch is spread over the XCCs, consumed when the last of them has
 * launched its share, and complete when all shares are. What one XCC knows of that is in its own
 * saved state: a share that is done stays in flight until the others are, so that nothing is lost
 * or done twice whatever order they leave and come back in.
 */
#include "model.h"

#define AQL_BYTES		64
#define AQL_TYPE(h)		((h) & 0xff)
#define AQL_BARRIER		0x100
#define AQL_BARRIER_SIGNALS	5
#define SRC_CP_EOP		181
#define LAZY_PACKETS		16u		/* consumed ones that a lazy firmware does not report yet, at most */

enum {
	AQL_VENDOR	= 0,
	AQL_INVALID	= 1,
	AQL_DISPATCH	= 2,
	AQL_BARRIER_AND	= 3,
	AQL_AGENT	= 4,
	AQL_BARRIER_OR	= 5,
};

/* Formats of vendor packets */
enum {
	VENDOR_PM4_IB		= 1,
	VENDOR_BARRIER_VALUE	= 2,
};

/* Conditions of barrier-value packets */
enum {
	CONDITION_EQ	= 0,
	CONDITION_NE	= 1,
	CONDITION_LT	= 2,
	CONDITION_GTE	= 3,
};

/* Byte offsets in packets and signals */
#define DISPATCH_SETUP		2		/* u16, dimensions 1:0 */
#define DISPATCH_WORKGROUP	4		/* u16 x, y, z */
#define DISPATCH_GRID		12		/* u32 x, y, z */
#define DISPATCH_PRIVATE	24
#define DISPATCH_LDS		28
#define DISPATCH_KERNEL		32
#define DISPATCH_KERNARG	40
#define BARRIER_SIGNALS		8
#define BARRIER_VALUE		16		/* of a barrier-value packet, whose signal is at 8 */
#define BARRIER_MASK		24
#define BARRIER_CONDITION	32
#define VENDOR_FORMAT		2
#define PM4_IB_COMMAND		4
#define COMPLETION_SIGNAL	56
#define SIGNAL_VALUE		8
#define SIGNAL_MAILBOX		16
#define SIGNAL_EVENT_ID		24
#define SIGNAL_START		32		/* u64 start_ts, end_ts */

/* Byte offsets in amd_queue_t */
#define QUEUE_RPTR_OFFSET	136		/* u32, what the line above says */
#define QUEUE_TMPRING		140		/* u32 compute_tmpring_size */
#define QUEUE_SCRATCH_SEGMENT	144		/* u32[4], resource descriptor */
#define QUEUE_SCRATCH		160		/* scratch_backing_memory_location */
#define QUEUE_PROPERTIES	180
#define QUEUE_INACTIVE		192		/* queue_inactive_signal */
#define ENABLE_PROFILING	0x8		/* of the properties: completion signals get time stamps */
#define INACTIVE_FIRST_CODE	15		/* the code that would have bit 0 */
#define INACTIVE_BAD_FORMAT	32
#define INACTIVE_SCRATCH	1
#define INACTIVE_APERTURE	(1ULL << 29)
#define INACTIVE_ILLEGAL	(1ULL << 30)
#define INACTIVE_TRAP		(1ULL << 31)

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

/* The packet at the head is done with: its slot is free for the next one. */
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
	if (!q->rptr_addr || (vgpu_firmware(m, VGPU_FIRMWARE_LAZY_DISPATCH_ID) && index + 1 < q->wptr && index + 1 - q->told < LAZY_PACKETS))
		return;
	q->told = index + 1;
	vgpu_vm_write64(m, as, q->rptr_addr, vgpu_fault(m, VGPU_FAULT_RPTR_GARBAGE) ? m->fault_value[VGPU_FAULT_RPTR_GARBAGE] : index + 1);
}

static struct vgpu_dispatch *find_dispatch(struct vgpu_queue *q, u64 index)
{
	struct vgpu_list *l;

	for (l = q->inflight.next; l != &q->inflight; l = l->next)
		if (container_of(l, struct vgpu_dispatch, link)->index == index)
			return container_of(l, struct vgpu_dispatch, link);
	return NULL;
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

/** vgpu_aql_part_done() - all waves of @d, a dispatch or a part of one, are done; @d may be gone afterwards */
void vgpu_aql_part_done(struct vgpu_model *m, struct vgpu_dispatch *d)
{
	struct vgpu_queue *q = d->q;
	u64 index = d->index, signal = d->signal, start_ns = U64_MAX;
	struct vgpu_dispatch *share;
	u32 i;

	if (!all_mapped(m, q))
		return;
	for (i = 0; i < q->parts; i++) {
		share = find_dispatch(vgpu_queue_part(m, q, i), index);
		if (share && !vgpu_dispatch_complete(share))
			return;
	}
	for (i = 0; i < q->parts; i++) {
		share = find_dispatch(vgpu_queue_part(m, q, i), index);
		if (!share)
			continue;
		if (share->start_ns < start_ns)
			start_ns = share->start_ns;
		vgpu_dispatch_drop(share);
	}
	m->stats.dispatches_done++;
	vgpu_aql_signal(m, q, signal, start_ns);
}

/** vgpu_aql_unread() - forget that the packet at the head, AQL or PM4, was read unless some of it has started: it will be read again */
void vgpu_aql_unread(struct vgpu_model *m, struct vgpu_queue *q)
{
	u64 index;
	u32 i;

	if (!q->head || !all_mapped(m, q))
		return;
	if (q->head->index == VGPU_NO_INDEX) {
		if (!q->head->next_wg)
			vgpu_dispatch_drop(q->head);
		return;
	}
	index = q->head->index;
	for (i = 0; i < q->parts; i++) {
		const struct vgpu_dispatch *d = find_dispatch(vgpu_queue_part(m, q, i), index);

		if (d && d->next_wg)
			return;
	}
	for (i = 0; i < q->parts; i++) {
		struct vgpu_dispatch *d = find_dispatch(vgpu_queue_part(m, q, i), index);

		if (d)
			vgpu_dispatch_drop(d);
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
			if (vgpu_dispatch_complete(d))
				vgpu_aql_part_done(m, d);
		}
	}
}

/* Something of amd_queue_t, if the runtime has one. Where it begins follows from the place of the read index. */
static bool read_queue(struct vgpu_model *m, const struct vgpu_queue *q, u32 field, void *buf, u32 len)
{
	u32 as = vgpu_queue_as(q), offset = 0;

	return q->rptr_addr &&
	       vgpu_vm_read(m, as, q->rptr_addr + QUEUE_RPTR_OFFSET - VGPU_QUEUE_RPTR, &offset, sizeof(offset)) &&
	       offset == VGPU_QUEUE_RPTR && vgpu_vm_read(m, as, q->rptr_addr + field - VGPU_QUEUE_RPTR, buf, len);
}

/* When it began and ended, in ticks of the reference clock, if the runtime asked for it. The signal is not complete yet. */
static void stamp(struct vgpu_model *m, const struct vgpu_queue *q, u64 signal, u64 start_ns)
{
	u64 stamps[2] = { start_ns / VGPU_REFERENCE_NS, vgpu_now_ns(m) / VGPU_REFERENCE_NS };
	u32 properties;

	if (read_queue(m, q, QUEUE_PROPERTIES, &properties, sizeof(properties)) && (properties & ENABLE_PROFILING))
		vgpu_vm_write(m, vgpu_queue_as(q), signal + SIGNAL_START, stamps, sizeof(stamps));
}

/**
 * vgpu_aql_signal() - complete something: decrement its signal, and tell the host if it asked for
 * that
 * @m: the device
 * @q: queue, for the address space and the interrupt
 * @signal: address of the signal; 0: there is no waiter
 * @start_ns: when it began, device time
 */
void vgpu_aql_signal(struct vgpu_model *m, struct vgpu_queue *q, u64 signal, u64 start_ns)
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
	stamp(m, q, signal, start_ns);
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

/** vgpu_aql_drained() - is everything done that a part of a queue has begun? It does not wait for parts that are not there. */
bool vgpu_aql_drained(struct vgpu_model *m, struct vgpu_queue *q)
{
	struct vgpu_list *l;

	for (l = q->inflight.next; l != &q->inflight; l = l->next)
		if (!vgpu_dispatch_complete(container_of(l, struct vgpu_dispatch, link)) || all_mapped(m, q))
			return false;
	return true;
}

/* The runtime waits for bits in amd_queue_t.queue_inactive_signal. Return: false if it does not. */
static bool tell_runtime(struct vgpu_model *m, struct vgpu_queue *q, u64 bits)
{
	u32 as = vgpu_queue_as(q);
	u64 signal, mailbox, event;

	if (!read_queue(m, q, QUEUE_INACTIVE, &signal, sizeof(signal)) || !signal ||
	    !vgpu_vm_read64(m, as, signal + SIGNAL_MAILBOX, &mailbox) ||
	    !vgpu_vm_read64(m, as, signal + SIGNAL_EVENT_ID, &event) || !vgpu_vm_write64(m, as, signal + SIGNAL_VALUE, bits))
		return false;
	event &= 0xffffffff;
	if (mailbox && vgpu_vm_write64(m, as, mailbox, event))
		vgpu_queue_eop(m, q, SRC_CP_EOP, (u32)event);
	return true;
}

/**
 * vgpu_aql_report() - tell the runtime why its queue has stopped
 * @m: the device
 * @q: an AQL queue
 * @code: the reason, not VGPU_EC_NONE
 *
 * There is a bit for each reason; the numbers are ROCr's.
 */
void vgpu_aql_report(struct vgpu_model *m, struct vgpu_queue *q, enum vgpu_exception code)
{
	static const u64 bits[] = {
		[VGPU_EC_PACKET_RESERVED] = INACTIVE_BAD_FORMAT, [VGPU_EC_WAVE_ILLEGAL] = INACTIVE_ILLEGAL,
		[VGPU_EC_WAVE_APERTURE] = INACTIVE_APERTURE, [VGPU_EC_WAVE_TRAP] = INACTIVE_TRAP,
		[VGPU_EC_WAVE_ABORT] = INACTIVE_TRAP,
	};
	u64 bit = code < ARRAY_SIZE(bits) ? bits[code] : 0;

	tell_runtime(m, q, bit ? bit : 1ULL << (code - INACTIVE_FIRST_CODE));
}

/**
 * vgpu_aql_scratch() - find the scratch memory for a dispatch
 * @m: the device
 * @q: its queue
 * @d: what its waves begin with is filled in
 * @bytes: that each lane needs
 *
 * The runtime is asked for more if the queue has too little; the packet stays at the head until it
 * has answered.
 *
 * Return: false if there is not enough now.
 */
bool vgpu_aql_scratch(struct vgpu_model *m, struct vgpu_queue *q, struct vgpu_dispatch *d, u32 bytes)
{
	u64 signal, value;
	u32 tmpring;

	if (q->scratch_asked) {
		if (!read_queue(m, q, QUEUE_INACTIVE, &signal, sizeof(signal)) || !signal ||
		    !vgpu_vm_read64(m, vgpu_queue_as(q), signal + SIGNAL_VALUE, &value) || value)
			return false;
		q->scratch_asked = false;
	}
	if (!read_queue(m, q, QUEUE_TMPRING, &tmpring, sizeof(tmpring)) ||
	    !read_queue(m, q, QUEUE_SCRATCH_SEGMENT, d->launch.segment, sizeof(d->launch.segment)) ||
	    !read_queue(m, q, QUEUE_SCRATCH, &d->launch.scratch, sizeof(d->launch.scratch))) {
		vgpu_queue_error(m, q, VGPU_EC_DISPATCH_REGISTER, "no scratch memory", bytes);
		return false;
	}
	d->launch.scratch_bytes = bytes;
	d->scratch_waves = VGPU_TMPRING_WAVES(tmpring);
	d->scratch_wave_bytes = VGPU_TMPRING_WAVE_BYTES(tmpring);
	if (d->scratch_waves && d->scratch_wave_bytes >= (u64)bytes * VGPU_LANES)
		return true;
	q->scratch_asked = tell_runtime(m, q, INACTIVE_SCRATCH);
	if (!q->scratch_asked)
		vgpu_queue_error(m, q, VGPU_EC_DISPATCH_REGISTER, "no scratch memory", bytes);
	return false;
}

/* What a packet says of a dispatch. Return: false if it cannot be taken now; if it describes none, the queue is in error. */
static bool parse_dispatch(struct vgpu_model *m, struct vgpu_queue *q, u64 index, const u8 *p, struct vgpu_dispatch *d)
{
	struct vgpu_launch launch = {
		.kernel = get64(p + DISPATCH_KERNEL),
		.kernargs = get64(p + DISPATCH_KERNARG),
		.packet = packet_va(q, index),
		.private_bytes = get32(p + DISPATCH_PRIVATE),
		.signal = get64(p + COMPLETION_SIGNAL),
		.lds_bytes = get32(p + DISPATCH_LDS),
	};
	u32 i;

	if (!(get16(p + DISPATCH_SETUP) & 3)) {
		vgpu_queue_error(m, q, VGPU_EC_DISPATCH_DIM, "grid without dimensions", get16(p + DISPATCH_SETUP));
		return false;
	}
	for (i = 0; i < 3; i++) {
		launch.workgroup[i] = get16(p + DISPATCH_WORKGROUP + 2 * i);
		launch.grid[i] = get32(p + DISPATCH_GRID + 4 * i);
	}
	return vgpu_dispatch_parse(m, q, &launch, d);
}

/* Gives a part of the queue its share of a dispatch. Return: false without memory. */
static bool take_share(struct vgpu_model *m, struct vgpu_queue *q, const struct vgpu_dispatch *whole)
{
	u32 chunk = q->chunk ? q->chunk : whole->workgroups, round = chunk * q->parts;
	u32 first = q->logic_xcc * chunk, rest = whole->workgroups % round, share;
	struct vgpu_dispatch d = *whole;

	share = whole->workgroups / round * chunk;
	if (rest > first)
		share += rest - first < chunk ? rest - first : chunk;
	if (!share)
		return true;
	d.xccs = q->parts;
	d.xcc = q->logic_xcc;
	d.chunk = chunk;
	d.workgroups = share;
	if ((whole->workgroups - 1) / chunk % q->parts != q->logic_xcc % q->parts)
		d.last_wg_waves = d.wg_waves;
	return vgpu_dispatch_put(m, q, &d);
}

/* Takes the dispatch at the head. Return: false if that is not possible (now, or at all). */
static bool begin_dispatch(struct vgpu_model *m, struct vgpu_queue *q, u64 index, const u8 *p)
{
	struct vgpu_dispatch whole = { .index = index };
	u32 i;

	if (!parse_dispatch(m, q, index, p, &whole))
		return false;
	for (i = 0; i < q->parts; i++) {
		struct vgpu_queue *part = vgpu_queue_part(m, q, i);

		if (part->rptr == index && !take_share(m, part, &whole))
			break;
	}
	if (i < q->parts) {
		while (i--) {
			struct vgpu_dispatch *d = find_dispatch(vgpu_queue_part(m, q, i), index);

			if (d)
				vgpu_dispatch_drop(d);
		}
		return false;
	}
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
			vgpu_queue_error(m, q, VGPU_EC_NONE, "barrier signal is not mapped", signal);
			return -1;
		}
		one = true;
		zero |= !value;
		if (!any && value)
			return 0;
	}
	return !any || !one || zero;
}

/* AMD's barrier-value packet: a condition on some bits of one signal. Return: as barrier_met() */
static int barrier_value_met(struct vgpu_model *m, struct vgpu_queue *q, const u8 *p)
{
	u64 signal = get64(p + BARRIER_SIGNALS), raw;
	s64 value, reference = (s64)get64(p + BARRIER_VALUE);

	if (!signal)
		return 1;
	if (!vgpu_vm_read64(m, vgpu_queue_as(q), signal + SIGNAL_VALUE, &raw)) {
		vgpu_queue_error(m, q, VGPU_EC_NONE, "barrier signal is not mapped", signal);
		return -1;
	}
	value = (s64)(raw & get64(p + BARRIER_MASK));
	switch (get32(p + BARRIER_CONDITION)) {
	case CONDITION_EQ:
		return value == reference;
	case CONDITION_NE:
		return value != reference;
	case CONDITION_LT:
		return value < reference;
	case CONDITION_GTE:
		return value >= reference;
	default:
		vgpu_queue_error(m, q, VGPU_EC_VENDOR_UNSUPPORTED, "condition", get32(p + BARRIER_CONDITION));
		return -1;
	}
}

/* Return: 1 done, 0 not yet, -1 the queue is in error */
static int run_vendor(struct vgpu_model *m, struct vgpu_queue *q, const u8 *p)
{
	u32 pm4[4];

	switch (get16(p + VENDOR_FORMAT) & 0xff) {
	case VENDOR_PM4_IB:
		memcpy(pm4, p + PM4_IB_COMMAND, sizeof(pm4));
		return vgpu_pm4_ib(m, q, pm4);
	case VENDOR_BARRIER_VALUE:
		return barrier_value_met(m, q, p);
	default:
		vgpu_queue_error(m, q, VGPU_EC_VENDOR_UNSUPPORTED, "vendor packet", get16(p + VENDOR_FORMAT));
		return -1;
	}
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
	u32 inflight;
	u64 index;
	int done;

	if (q->part)
		return false;
	for (;;) {
		u8 p[AQL_BYTES];
		u16 *header;

		inflight = may_begin(m, q);
		index = head_index(m, q);
		if (inflight == U32_MAX || index >= q->wptr || m->now_ns < q->busy_until_ns)
			break;
		header = vgpu_vm_ptr(m, vgpu_queue_as(q), packet_va(q, index), AQL_BYTES, false);
		if (!header) {
			vgpu_queue_error(m, q, VGPU_EC_NONE, "ring is not mapped", q->ring);
			break;
		}
		if (AQL_TYPE(READ_ONCE(*header)) == AQL_INVALID)
			break;
		vgpu_rmb();				/* the header is written last */
		memcpy(p, header, sizeof(p));
		/* A buffer that has begun does not wait for its own waves. */
		if ((get16(p) & AQL_BARRIER) && inflight && !q->ib_depth)
			break;
		switch (AQL_TYPE(get16(p))) {
		case AQL_DISPATCH:
			if (inflight >= VGPU_MAX_INFLIGHT || !begin_dispatch(m, q, index, p))
				return progress;
			progress = true;
			continue;
		case AQL_BARRIER_AND:
		case AQL_BARRIER_OR:
			done = barrier_met(m, q, p, AQL_TYPE(get16(p)) == AQL_BARRIER_OR);
			break;
		case AQL_VENDOR:
			done = run_vendor(m, q, p);
			break;
		case AQL_AGENT:				/* for queues that a program serves */
			vgpu_queue_error(m, q, VGPU_EC_PACKET_UNSUPPORTED, "agent dispatch", get16(p));
			return progress;
		default:
			vgpu_queue_error(m, q, VGPU_EC_PACKET_RESERVED, "type of AQL packet", get16(p));
			return progress;
		}
		if (done <= 0)
			break;
		consume(m, q);
		vgpu_aql_signal(m, q, get64(p + COMPLETION_SIGNAL), m->now_ns);
		progress = true;
	}
	return progress;
}
