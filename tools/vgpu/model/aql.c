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
#include "aql.h"

#define AQL_TYPE(h)		((h) & 0xff)
#define AQL_BARRIER		0x100
#define AQL_BARRIER_SIGNALS	5

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

/* Byte offsets in packets */
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

static u64 aql_get64(const u8 *p)
{
	u64 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static u32 aql_get32(const u8 *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static u16 aql_get16(const u8 *p)
{
	u16 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/*
 * What a packet says of a dispatch. Return: false if it cannot be taken now; if it describes none,
 * the queue is in error.
 */
static bool aql_parse_dispatch(struct vgpu_model *m, struct vgpu_queue *q, u64 index, const u8 *p,
			       struct vgpu_dispatch *d)
{
	struct vgpu_launch launch = {
		.kernel = aql_get64(p + DISPATCH_KERNEL),
		.kernargs = aql_get64(p + DISPATCH_KERNARG),
		.packet = vgpu_ring_packet(q, index),
		.private_bytes = aql_get32(p + DISPATCH_PRIVATE),
		.signal = aql_get64(p + COMPLETION_SIGNAL),
		.lds_bytes = aql_get32(p + DISPATCH_LDS),
	};
	u32 i;

	if (!(aql_get16(p + DISPATCH_SETUP) & 3)) {
		vgpu_queue_error(m, q, VGPU_EC_DISPATCH_DIM, "grid without dimensions",
				 aql_get16(p + DISPATCH_SETUP));
		return false;
	}
	for (i = 0; i < 3; i++) {
		launch.workgroup[i] = aql_get16(p + DISPATCH_WORKGROUP + 2 * i);
		launch.grid[i] = aql_get32(p + DISPATCH_GRID + 4 * i);
	}
	return vgpu_dispatch_parse(m, q, &launch, d);
}

/* Gives a part of the queue its share of a dispatch. Return: false without memory. */
static bool aql_take_share(struct vgpu_model *m, struct vgpu_queue *q,
			   const struct vgpu_dispatch *whole)
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
static bool aql_begin_dispatch(struct vgpu_model *m, struct vgpu_queue *q, u64 index, const u8 *p)
{
	struct vgpu_dispatch whole = { .index = index };
	u32 i;

	if (!aql_parse_dispatch(m, q, index, p, &whole))
		return false;
	for (i = 0; i < q->parts; i++) {
		struct vgpu_queue *part = vgpu_queue_part(m, q, i);

		if (part->rptr == index && !aql_take_share(m, part, &whole))
			break;
	}
	if (i < q->parts) {
		while (i--) {
			struct vgpu_dispatch *d = vgpu_ring_find(vgpu_queue_part(m, q, i), index);

			if (d)
				vgpu_dispatch_drop(d);
		}
		return false;
	}
	return true;
}

/*
 * May the next packet be taken? Return: the most dispatches that a part has in flight, or U32_MAX:
 * no
 */
static u32 aql_may_begin(struct vgpu_model *m, struct vgpu_queue *q)
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
static int aql_barrier_met(struct vgpu_model *m, struct vgpu_queue *q, const u8 *p, bool any)
{
	bool one = false, zero = false;
	u32 i;

	for (i = 0; i < AQL_BARRIER_SIGNALS; i++) {
		u64 signal = aql_get64(p + BARRIER_SIGNALS + 8 * i), value;

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

/*
 * AMD's barrier-value packet: a condition on some bits of one signal. Return: as aql_barrier_met()
 */
static int aql_barrier_value_met(struct vgpu_model *m, struct vgpu_queue *q, const u8 *p)
{
	u64 signal = aql_get64(p + BARRIER_SIGNALS), raw;
	s64 value, reference = (s64)aql_get64(p + BARRIER_VALUE);

	if (!signal)
		return 1;
	if (!vgpu_vm_read64(m, vgpu_queue_as(q), signal + SIGNAL_VALUE, &raw)) {
		vgpu_queue_error(m, q, VGPU_EC_NONE, "barrier signal is not mapped", signal);
		return -1;
	}
	value = (s64)(raw & aql_get64(p + BARRIER_MASK));
	switch (aql_get32(p + BARRIER_CONDITION)) {
	case CONDITION_EQ:
		return value == reference;
	case CONDITION_NE:
		return value != reference;
	case CONDITION_LT:
		return value < reference;
	case CONDITION_GTE:
		return value >= reference;
	default:
		vgpu_queue_error(m, q, VGPU_EC_VENDOR_UNSUPPORTED, "condition",
				 aql_get32(p + BARRIER_CONDITION));
		return -1;
	}
}

/* Return: 1 done, 0 not yet, -1 the queue is in error */
static int aql_run_vendor(struct vgpu_model *m, struct vgpu_queue *q, const u8 *p)
{
	u32 pm4[4];

	switch (aql_get16(p + VENDOR_FORMAT) & 0xff) {
	case VENDOR_PM4_IB:
		memcpy(pm4, p + PM4_IB_COMMAND, sizeof(pm4));
		return vgpu_pm4_ib(m, q, pm4);
	case VENDOR_BARRIER_VALUE:
		return aql_barrier_value_met(m, q, p);
	default:
		vgpu_queue_error(m, q, VGPU_EC_VENDOR_UNSUPPORTED, "vendor packet",
				 aql_get16(p + VENDOR_FORMAT));
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

		inflight = aql_may_begin(m, q);
		index = vgpu_ring_head(m, q);
		if (inflight == U32_MAX || index >= q->wptr || m->now_ns < q->busy_until_ns)
			break;
		header = vgpu_vm_ptr(m, vgpu_queue_as(q), vgpu_ring_packet(q, index), AQL_BYTES, false);
		if (!header) {
			vgpu_queue_error(m, q, VGPU_EC_NONE, "ring is not mapped", q->ring);
			break;
		}
		if (AQL_TYPE(READ_ONCE(*header)) == AQL_INVALID)
			break;
		vgpu_rmb();				/* the header is written last */
		memcpy(p, header, sizeof(p));
		/* A buffer that has begun does not wait for its own waves. */
		if ((aql_get16(p) & AQL_BARRIER) && inflight && !q->ib_depth)
			break;
		switch (AQL_TYPE(aql_get16(p))) {
		case AQL_DISPATCH:
			if (inflight >= VGPU_MAX_INFLIGHT || !aql_begin_dispatch(m, q, index, p))
				return progress;
			progress = true;
			continue;
		case AQL_BARRIER_AND:
		case AQL_BARRIER_OR:
			done = aql_barrier_met(m, q, p, AQL_TYPE(aql_get16(p)) == AQL_BARRIER_OR);
			break;
		case AQL_VENDOR:
			done = aql_run_vendor(m, q, p);
			break;
		case AQL_AGENT:				/* for queues that a program serves */
			vgpu_queue_error(m, q, VGPU_EC_PACKET_UNSUPPORTED, "agent dispatch",
					 aql_get16(p));
			return progress;
		default:
			vgpu_queue_error(m, q, VGPU_EC_PACKET_RESERVED, "type of AQL packet",
					 aql_get16(p));
			return progress;
		}
		if (done <= 0)
			break;
		vgpu_ring_consume(m, q);
		vgpu_ring_signal(m, q, aql_get64(p + COMPLETION_SIGNAL), vgpu_begin_ns(m));
		progress = true;
	}
	return progress;
}
