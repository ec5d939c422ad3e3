// SPDX-License-Identifier: MIT
/*
 * pm4.c - PM4 packets: kernel rings, KIQ, HIQ, user PM4 queues and the indirect buffers of AQL's vendor packets
 *
 * A packet is executed at once or not at all: one that has to wait stays at the head and is tried again in the next run.
 */
#include "model.h"

#define PM4_TYPE(h)		((h) >> 30)
#define PM4_OPCODE(h)		(((h) >> 8) & 0xff)
#define PM4_COUNT(h)		(((h) >> 16) & 0x3fff)
#define PM4_NOP_SINGLE		0x3fff			/* this count of a NOP means: nothing follows */
#define PM4_MAX_DWORDS		32			/* of a packet other than NOP and WRITE_DATA */

enum {
	IT_NOP			= 0x10,
	IT_CLEAR_STATE		= 0x12,
	IT_COND_EXEC		= 0x22,
	IT_WRITE_DATA		= 0x37,
	IT_WAIT_REG_MEM		= 0x3c,
	IT_INDIRECT_BUFFER	= 0x3f,
	IT_COPY_DATA		= 0x40,
	IT_EVENT_WRITE		= 0x46,
	IT_RELEASE_MEM		= 0x49,
	IT_ACQUIRE_MEM		= 0x58,
	IT_SET_CONFIG_REG	= 0x68,
	IT_SET_CONTEXT_REG	= 0x69,
	IT_SET_SH_REG		= 0x76,
	IT_SET_UCONFIG_REG	= 0x79,
	IT_SWITCH_BUFFER	= 0x8b,
	IT_FRAME_CONTROL	= 0x90,
	IT_INVALIDATE_TLBS	= 0x98,
	IT_SET_RESOURCES	= 0xa0,
	IT_MAP_PROCESS		= 0xa1,
	IT_MAP_QUEUES		= 0xa2,
	IT_UNMAP_QUEUES		= 0xa3,
	IT_QUERY_STATUS		= 0xa4,
	IT_RUN_LIST		= 0xa5,
};

#define CONFIG_REG_START	0x2000
#define SH_REG_START		0x2c00
#define XCC_REGS_0		0x2000
#define XCC_REGS_0_END		0x3400
#define XCC_REGS_1		0xa000
#define XCC_REGS_1_END		0x10000
#define CONTEXT_REG_START	0xa000
#define UCONFIG_REG_START	0xc000
#define REG_CPC_INT_STATUS	(VGPU_BASE_GC0 + 0x10b5u)
#define CPC_INT_GENERIC		0x20000000u
#define SRC_CP_IB2_INTERRUPT	178
#define SRC_CP_EOP		181

enum packet_result {
	PACKET_DONE,
	PACKET_WAIT,
	PACKET_BAD,
};

/**
 * vgpu_stream_read() - copy dwords out of a stream
 * @m: the device
 * @s: the stream; its position does not change
 * @offset: from the position, in dwords
 * @buf: where to
 * @dwords: how many
 *
 * Return: false after a GPUVM fault.
 */
bool vgpu_stream_read(struct vgpu_model *m, const struct vgpu_stream *s, u64 offset, u32 *buf, u32 dwords)
{
	u64 pos = s->pos + offset;

	while (dwords) {
		u64 at = pos & s->mask;
		u64 n = s->mask - at < dwords ? s->mask - at + 1 : dwords;

		if (n > dwords)
			n = dwords;
		if (!vgpu_vm_read(m, s->as, s->base + at * 4, buf, n * 4))
			return false;
		pos += n;
		buf += n;
		dwords -= (u32)n;
	}
	return true;
}

/* Packets name the registers of the XCC that reads them as those of the first one */
static u32 reg_index(const struct vgpu_queue *q, u32 index)
{
	bool own = (index >= XCC_REGS_0 && index < XCC_REGS_0_END) || (index >= XCC_REGS_1 && index < XCC_REGS_1_END);

	return own ? index + q->xcc * VGPU_XCC_STRIDE : index;
}

static u32 read_reg(struct vgpu_model *m, const struct vgpu_queue *q, u32 index)
{
	return vgpu_model_reg_read(m, reg_index(q, index));
}

/* Registers belong to the kernel: packets of a process have no effect on them. */
static void write_reg(struct vgpu_model *m, struct vgpu_queue *q, u32 as, u32 index, u32 value)
{
	if (VGPU_AS_VMID(as))
		return;
	vgpu_model_reg_write(m, reg_index(q, index), value);
	if (index == REG_CPC_INT_STATUS && (value & CPC_INT_GENERIC))
		vgpu_queue_eop(m, q, SRC_CP_IB2_INTERRUPT, 0);
}

static u64 addr64(const u32 *p)
{
	return p[0] | (u64)p[1] << 32;
}

static enum packet_result set_regs(struct vgpu_model *m, struct vgpu_queue *q, const struct vgpu_stream *s, const u32 *p,
				   u32 dwords, u32 start)
{
	u32 i, value, index = start + (p[1] & 0xffff);

	for (i = 2; i < dwords; i++) {
		if (!vgpu_stream_read(m, s, i, &value, 1))
			return PACKET_BAD;
		write_reg(m, q, s->as, index + i - 2, value);
	}
	return PACKET_DONE;
}

static enum packet_result write_data(struct vgpu_model *m, struct vgpu_queue *q, const struct vgpu_stream *s, const u32 *p,
				     u32 dwords)
{
	u32 dst = (p[1] >> 8) & 0xf, i, value;
	bool fixed = p[1] & (1u << 16);
	u64 addr = addr64(p + 2);

	for (i = 4; i < dwords; i++) {
		if (!vgpu_stream_read(m, s, i, &value, 1))
			return PACKET_BAD;
		if (!dst)
			write_reg(m, q, s->as, (u32)addr, value);
		else if (!vgpu_vm_write32(m, s->as, addr, value))
			return PACKET_BAD;
		if (!fixed)
			addr += dst ? 4 : 1;
	}
	return PACKET_DONE;
}

static enum packet_result copy_data(struct vgpu_model *m, struct vgpu_queue *q, u32 as, const u32 *p)
{
	u32 src = p[1] & 0xf, dst = (p[1] >> 8) & 0xf, bytes = p[1] & (1u << 16) ? 8 : 4;
	u64 value = 0;

	switch (src) {
	case 0:
		value = read_reg(m, q, p[2]);
		break;
	case 1:
	case 2:
		if (!vgpu_vm_read(m, as, addr64(p + 2), &value, bytes))
			return PACKET_BAD;
		break;
	case 5:
		value = addr64(p + 2);
		break;
	case 9:
		value = m->now_ns / 10;		/* 100 MHz */
		break;
	default:
		return PACKET_BAD;
	}
	if (!dst)
		write_reg(m, q, as, p[4], (u32)value);
	else if (!vgpu_vm_write(m, as, addr64(p + 4), &value, bytes))
		return PACKET_BAD;
	return PACKET_DONE;
}

static enum packet_result wait_reg_mem(struct vgpu_model *m, struct vgpu_queue *q, u32 as, const u32 *p)
{
	u32 function = p[1] & 7, operation = (p[1] >> 6) & 3, reference = p[4], mask = p[5], value;
	bool memory = p[1] & (1u << 4);

	if (operation == 1) {			/* write the first register, wait for the second */
		write_reg(m, q, as, p[2], reference);
		value = read_reg(m, q, p[3]);
		return (value & mask) == mask ? PACKET_DONE : PACKET_WAIT;
	}
	if (memory) {
		if (!vgpu_vm_read(m, as, addr64(p + 2) & ~3ULL, &value, 4))
			return PACKET_BAD;
	} else {
		value = read_reg(m, q, p[2]);
	}
	return vgpu_compare(function, value & mask, reference) ? PACKET_DONE : PACKET_WAIT;
}

static enum packet_result release_mem(struct vgpu_model *m, struct vgpu_queue *q, u32 as, const u32 *p)
{
	u32 data_sel = p[2] >> 29, int_sel = (p[2] >> 24) & 7;
	u64 addr = addr64(p + 3);
	bool ok = true;

	if (data_sel == 1)
		ok = vgpu_vm_write32(m, as, addr, p[5]);
	else if (data_sel == 2)
		ok = vgpu_vm_write64(m, as, addr, addr64(p + 5));
	else if (data_sel == 3)
		ok = vgpu_vm_write64(m, as, addr, m->now_ns / 10);
	if (!ok)
		return PACKET_BAD;
	if (int_sel == 1 || int_sel == 2)
		vgpu_queue_eop(m, q, SRC_CP_EOP, p[7]);
	return PACKET_DONE;
}

static enum packet_result map_queues(struct vgpu_model *m, const struct vgpu_queue *engine, const u32 *p)
{
	struct vgpu_map_request request = {
		.xcc = engine->xcc,
		.me = p[1] & (1u << 18) ? 2 : 1,
		.pipe = (p[1] >> 16) & 3,
		.slot = (p[1] >> 13) & 7,
		.vmid = (p[1] >> 8) & 0xf,
		.doorbell = p[2] & 0x0ffffffc,
		.mqd = addr64(p + 3),
		.wptr_addr = addr64(p + 5),
	};

	if (((p[1] >> 26) & 7) > 1)		/* 0 compute, 1 HIQ; the rest is not on this device */
		return PACKET_BAD;
	return vgpu_queue_map(m, &request) ? PACKET_DONE : PACKET_BAD;
}

static enum packet_result unmap_queues(struct vgpu_model *m, struct vgpu_queue *engine, const u32 *p)
{
	u32 action = p[1] & 3, sel = (p[1] >> 4) & 3, count = p[1] >> 29, i;
	bool save = action != 1;
	struct vgpu_list *l, *next;

	if (sel) {
		if (vgpu_fault_on(m, VGPU_FAULT_UNMAP_LOST, engine->xcc)) {
			engine->stuck = true;
			return PACKET_WAIT;
		}
		if (vgpu_fault_on(m, VGPU_FAULT_STATE_LOST, engine->xcc)) {
			engine->stuck = true;
			m->state_lost = true;
			return PACKET_WAIT;
		}
		vgpu_hws_unmap(m, engine, sel == 2, sel == 1, (u16)p[2], save);
		return PACKET_DONE;
	}
	for (i = 0; i < count && i < 4; i++)
		for (l = m->queues.next; l != &m->queues; l = next) {
			struct vgpu_queue *q = container_of(l, struct vgpu_queue, link);

			next = l->next;
			if (q != engine && q->xcc == engine->xcc && q->has_doorbell && q->doorbell == (p[2 + i] & 0x0ffffffc))
				vgpu_queue_unmap(m, q, save);
		}
	return PACKET_DONE;
}

static enum packet_result query_status(struct vgpu_model *m, struct vgpu_queue *q, const u32 *p)
{
	u32 i;

	/*
	 * Whatever was asked before is complete when this packet is reached: by all XCCs, which read the same ring. The first one answers
	 * when the others are past it.
	 */
	if (vgpu_fault_on(m, VGPU_FAULT_FENCE_LOST, q->xcc) || q->part)
		return PACKET_DONE;
	for (i = 1; i < q->parts; i++) {
		const struct vgpu_queue *other = vgpu_queue_part(m, q, i);

		if (!other || other->rptr <= q->rptr)
			return PACKET_WAIT;
	}
	if ((p[1] >> 30) == 0)
		vgpu_queue_eop(m, q, SRC_CP_EOP, p[1] & 0x0fffffff);
	else if (!vgpu_vm_write64(m, VGPU_AS_KERNEL, addr64(p + 3), addr64(p + 5)))
		return PACKET_BAD;
	return PACKET_DONE;
}

static enum packet_result indirect_buffer(struct vgpu_queue *q, const struct vgpu_stream *s, const u32 *p)
{
	u32 vmid = VGPU_AS_VMID(s->as) ? VGPU_AS_VMID(s->as) : (p[3] >> 24) & 0xf;

	if (q->in_ib)
		return PACKET_BAD;
	q->in_ib = true;
	q->ib = (struct vgpu_stream) {
		.as = VGPU_AS(q->hub, vmid),
		.base = addr64(p + 1) & ~3ULL,
		.mask = ~0ULL,
		.end = p[3] & 0xfffff,
	};
	return PACKET_DONE;
}

static enum packet_result execute(struct vgpu_model *m, struct vgpu_queue *q, const struct vgpu_stream *s, const u32 *p,
				  u32 dwords)
{
	u32 op = PM4_OPCODE(p[0]);
	bool kernel = !VGPU_AS_VMID(s->as);
	static const struct {
		u8 op, dwords;
	} shortest[] = {
		{ IT_WRITE_DATA, 5 }, { IT_WAIT_REG_MEM, 7 }, { IT_INDIRECT_BUFFER, 4 }, { IT_COPY_DATA, 6 },
		{ IT_RELEASE_MEM, 8 }, { IT_SET_RESOURCES, 8 }, { IT_MAP_QUEUES, 7 }, { IT_UNMAP_QUEUES, 6 },
		{ IT_QUERY_STATUS, 7 }, { IT_RUN_LIST, 4 }, { IT_INVALIDATE_TLBS, 2 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(shortest); i++)
		if (op == shortest[i].op && dwords < shortest[i].dwords)
			return PACKET_BAD;
	if (!kernel && op >= IT_INVALIDATE_TLBS)
		return PACKET_BAD;

	switch (op) {
	case IT_NOP:
	case IT_CLEAR_STATE:
	case IT_COND_EXEC:
	case IT_EVENT_WRITE:
	case IT_ACQUIRE_MEM:
	case IT_SWITCH_BUFFER:
	case IT_FRAME_CONTROL:
		return PACKET_DONE;
	case IT_INVALIDATE_TLBS:
		if (!vgpu_fault_on(m, VGPU_FAULT_INVALIDATION_LOST, q->xcc))
			vgpu_tlb_invalidate_pasid(m, VGPU_AS_HUB(s->as), p[1] & (1u << 4), (u16)(p[1] >> 5));
		return PACKET_DONE;
	case IT_WRITE_DATA:
		return write_data(m, q, s, p, dwords);
	case IT_COPY_DATA:
		return copy_data(m, q, s->as, p);
	case IT_WAIT_REG_MEM:
		return wait_reg_mem(m, q, s->as, p);
	case IT_INDIRECT_BUFFER:
		return indirect_buffer(q, s, p);
	case IT_RELEASE_MEM:
		return release_mem(m, q, s->as, p);
	case IT_SET_CONFIG_REG:
		return set_regs(m, q, s, p, dwords, CONFIG_REG_START);
	case IT_SET_CONTEXT_REG:
		return set_regs(m, q, s, p, dwords, CONTEXT_REG_START);
	case IT_SET_SH_REG:
		return set_regs(m, q, s, p, dwords, SH_REG_START);
	case IT_SET_UCONFIG_REG:
		return set_regs(m, q, s, p, dwords, UCONFIG_REG_START);
	case IT_SET_RESOURCES:
		if (p[1] >> 29)			/* KIQ's own resources do not matter here */
			vgpu_hws_set_resources(m, q->xcc, p[1] & 0xffff, addr64(p + 2));
		return PACKET_DONE;
	case IT_MAP_QUEUES:
		return map_queues(m, q, p);
	case IT_UNMAP_QUEUES:
		return unmap_queues(m, q, p);
	case IT_QUERY_STATUS:
		return query_status(m, q, p);
	case IT_RUN_LIST:
		return vgpu_hws_runlist(m, q, addr64(p + 1) & ~3ULL, p[3] & 0xfffff, (p[3] >> 24) & 0xf) ?
			PACKET_DONE : PACKET_BAD;
	default:
		return PACKET_BAD;
	}
}

/* One packet of a stream. Return: its dwords, 0 if it has to wait, or is not complete, or the queue is stuck. */
static u32 step(struct vgpu_model *m, struct vgpu_queue *q, struct vgpu_stream *s)
{
	u32 p[PM4_MAX_DWORDS], dwords, head;
	enum packet_result result;

	if (!vgpu_stream_read(m, s, 0, p, 1)) {
		vgpu_queue_error(m, q, "ring not mapped", s->base);
		return 0;
	}
	switch (PM4_TYPE(p[0])) {
	case 2:
		return 1;
	case 3:
		break;
	default:
		vgpu_queue_error(m, q, "bad PM4 header", p[0]);
		return 0;
	}
	dwords = PM4_COUNT(p[0]) + 2;
	if (PM4_OPCODE(p[0]) == IT_NOP && PM4_COUNT(p[0]) == PM4_NOP_SINGLE)
		dwords = 1;
	if (dwords > s->end - s->pos)
		return 0;
	head = dwords < PM4_MAX_DWORDS ? dwords : PM4_MAX_DWORDS;
	if (PM4_OPCODE(p[0]) != IT_NOP && !vgpu_stream_read(m, s, 0, p, head))
		result = PACKET_BAD;
	else
		result = execute(m, q, s, p, dwords);
	if (result == PACKET_BAD) {
		vgpu_queue_error(m, q, "bad PM4 packet", p[0]);
		return 0;
	}
	return result == PACKET_DONE ? dwords : 0;
}

/* Reads the indirect buffer to its end. Return: true when it is finished. */
static bool run_ib(struct vgpu_model *m, struct vgpu_queue *q)
{
	while (q->ib.pos < q->ib.end) {
		u32 dwords = step(m, q, &q->ib);

		if (!dwords)
			return false;
		q->ib.pos += dwords;
	}
	q->in_ib = false;
	return true;
}

/**
 * vgpu_pm4_ib() - execute an indirect buffer on behalf of an AQL packet
 * @m: the device
 * @q: AQL queue
 * @p: the four dwords of an INDIRECT_BUFFER packet; looked at when no buffer is in progress
 *
 * Return: true when it is finished.
 */
bool vgpu_pm4_ib(struct vgpu_model *m, struct vgpu_queue *q, const u32 *p)
{
	const struct vgpu_stream s = { .as = vgpu_queue_as(q) };

	if (!q->in_ib)
		indirect_buffer(q, &s, p);
	return run_ib(m, q);
}

/**
 * vgpu_pm4_run() - execute what is due of a PM4 queue
 * @m: the device
 * @q: the queue
 *
 * Return: true if anything was executed.
 */
bool vgpu_pm4_run(struct vgpu_model *m, struct vgpu_queue *q)
{
	u64 dwords = q->ring_bytes / 4, start = q->rptr;
	bool progress = false;
	u32 n;

	while (!q->stuck && m->now_ns >= q->busy_until_ns) {
		struct vgpu_stream s = {
			.as = vgpu_queue_as(q),
			.base = q->ring,
			.mask = dwords - 1,
			.pos = q->rptr,
			.end = q->wptr,
		};

		if (q->in_ib) {
			if (!run_ib(m, q))
				break;
			progress = true;
			continue;
		}
		if (q->rptr >= q->wptr)
			break;
		n = step(m, q, &s);
		if (!n)
			break;
		q->rptr += n;
		progress = true;
	}
	if (q->rptr != start) {
		u32 rptr = (u32)(q->rptr & (dwords - 1));

		if (q->rptr_addr && !q->part)
			vgpu_vm_write32(m, vgpu_queue_as(q), q->rptr_addr, rptr);
		vgpu_hqd_set(m, q->xcc, q->me, q->pipe, q->slot, VGPU_HQD_PQ_RPTR, rptr);
	}
	return progress;
}
