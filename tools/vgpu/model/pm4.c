// SPDX-License-Identifier: MIT
/*
 * pm4.c - PM4 packets: kernel rings, KIQ, HIQ, user PM4 queues and the indirect buffers of AQL's
 * vendor packets
 *
 * A packet is executed at once or not at all: one that has to wait stays at the head and is tried
 * again in the next run. The packet that refers to an indirect buffer, and a dispatch that is being
 * launched, stay at the head until that is over.
 */
#include "model.h"
#include "aql.h"

#define PM4_TYPE(h)		((h) >> 30)
#define PM4_OPCODE(h)		(((h) >> 8) & 0xff)
#define PM4_COUNT(h)		(((h) >> 16) & 0x3fff)
#define PM4_NOP_SINGLE		0x3fff			/* this count of a NOP means: nothing follows */
#define PM4_MAX_DWORDS		32			/* of a packet other than NOP and WRITE_DATA */
#define PM4_IB_DWORDS		4
#define PM4_INDIRECT_DWORDS	4			/* of DISPATCH_INDIRECT, as a compute engine reads it */
#define PM4_IB_CHAIN		(1u << 20)		/* goes on in the other buffer and does not come back */
#define CHAIN_NS		1000			/* fetching it; so even a chain that has no end lets time pass */
#define EVENT_CS_PARTIAL_FLUSH	7

enum {
	IT_NOP			= 0x10,
	IT_CLEAR_STATE		= 0x12,
	IT_DISPATCH_DIRECT	= 0x15,
	IT_DISPATCH_INDIRECT	= 0x16,
	IT_ATOMIC_MEM		= 0x1e,
	IT_COND_EXEC		= 0x22,
	IT_CONTEXT_CONTROL	= 0x28,
	IT_WRITE_DATA		= 0x37,
	IT_WAIT_REG_MEM		= 0x3c,
	IT_INDIRECT_BUFFER	= 0x3f,
	IT_COPY_DATA		= 0x40,
	IT_PFP_SYNC_ME		= 0x42,
	IT_EVENT_WRITE		= 0x46,
	IT_RELEASE_MEM		= 0x49,
	IT_PREAMBLE_CNTL	= 0x4a,
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
#define COMPUTE_REG_START	0x2e00			/* what a process may set: the registers of its own dispatches */
#define REG_CPC_INT_STATUS	(VGPU_BASE_GC0 + 0x10b5u)
#define CPC_INT_GENERIC		0x20000000u
#define SRC_CP_IB2_INTERRUPT	178

/* What kind of queue MAP_QUEUES is about */
#define MAP_COMPUTE		0
#define MAP_HIQ			1
#define MAP_MES			5

/* The initiator of a dispatch */
#define COMPUTE_SHADER_EN	(1u << 0)
#define PARTIAL_TG_EN		(1u << 1)		/* the last workgroup of a dimension has a size of its own */
#define FORCE_START_AT_000	(1u << 2)		/* whatever COMPUTE_START_X and its neighbours say */
#define USE_THREAD_DIMENSIONS	(1u << 5)		/* the grid counts work-items, not workgroups */

enum packet_result {
	PACKET_DONE,
	PACKET_WAIT,
	PACKET_STAYS,		/* begun; it is left behind when what it began is over */
	PACKET_BAD,
};

/* Packets name the registers of the XCC that reads them as those of the first one */
static u32 pm4_reg_index(const struct vgpu_model *m, const struct vgpu_queue *q, u32 index)
{
	bool own = (index >= XCC_REGS_0 && index < XCC_REGS_0_END) || (index >= XCC_REGS_1 && index < XCC_REGS_1_END);

	return own ? index + vgpu_xcc_regs(&m->config, q->xcc) : index;
}

static u32 pm4_read_reg(struct vgpu_model *m, const struct vgpu_queue *q, u32 index)
{
	return vgpu_model_reg_read(m, pm4_reg_index(m, q, index));
}

/*
 * Registers belong to the kernel: packets of a process have no effect on them, beside those that
 * describe its own dispatches.
 */
static void pm4_write_reg(struct vgpu_model *m, struct vgpu_queue *q, u32 as, u32 index, u32 value)
{
	if (VGPU_AS_VMID(as) && !(q->vmid && q->privileged)) {
		index -= COMPUTE_REG_START;
		if (vgpu_mqd_has(index))
			q->compute[index] = value;
		return;
	}
	vgpu_model_reg_write(m, pm4_reg_index(m, q, index), value);
	if (index == REG_CPC_INT_STATUS && (value & CPC_INT_GENERIC))
		vgpu_queue_eop(m, q, SRC_CP_IB2_INTERRUPT, 0);
}

static u64 pm4_addr64(const u32 *p)
{
	return p[0] | (u64)p[1] << 32;
}

static enum packet_result pm4_set_regs(struct vgpu_model *m, struct vgpu_queue *q,
				       const struct vgpu_stream *s, const u32 *p,
				       u32 dwords, u32 start)
{
	u32 i, value, index = start + (p[1] & 0xffff);

	for (i = 2; i < dwords; i++) {
		if (!vgpu_stream_read(m, s, i, &value, 1))
			return PACKET_BAD;
		pm4_write_reg(m, q, s->as, index + i - 2, value);
	}
	return PACKET_DONE;
}

static enum packet_result pm4_write_data(struct vgpu_model *m, struct vgpu_queue *q,
					 const struct vgpu_stream *s, const u32 *p,
					 u32 dwords)
{
	u32 dst = (p[1] >> 8) & 0xf, i, value;
	bool fixed = p[1] & (1u << 16);
	u64 addr = pm4_addr64(p + 2);

	for (i = 4; i < dwords; i++) {
		if (!vgpu_stream_read(m, s, i, &value, 1))
			return PACKET_BAD;
		if (!dst)
			pm4_write_reg(m, q, s->as, (u32)addr, value);
		else if (!vgpu_vm_write32(m, s->as, addr, value))
			return PACKET_BAD;
		if (!fixed)
			addr += dst ? 4 : 1;
	}
	return PACKET_DONE;
}

static enum packet_result pm4_atomic_mem(struct vgpu_model *m, u32 as, const u32 *p)
{
	bool loop = ((p[1] >> 8) & 0xf) == 1, swapped;

	if (!vgpu_atomic(m, as, p[1] & 0x7f, pm4_addr64(p + 2), pm4_addr64(p + 4),
			 pm4_addr64(p + 6), &swapped))
		return PACKET_BAD;
	return loop && !swapped ? PACKET_WAIT : PACKET_DONE;
}

static enum packet_result pm4_copy_data(struct vgpu_model *m, struct vgpu_queue *q, u32 as,
					const u32 *p)
{
	u32 src = p[1] & 0xf, dst = (p[1] >> 8) & 0xf, bytes = p[1] & (1u << 16) ? 8 : 4;
	u64 value = 0;

	switch (src) {
	case 0:
		value = pm4_read_reg(m, q, p[2]);
		break;
	case 1:
	case 2:
		if (!vgpu_vm_read(m, as, pm4_addr64(p + 2), &value, bytes))
			return PACKET_BAD;
		break;
	case 5:
		value = pm4_addr64(p + 2);
		break;
	case 9:
		value = m->now_ns / 10;		/* 100 MHz */
		break;
	default:
		return PACKET_BAD;
	}
	if (!dst)
		pm4_write_reg(m, q, as, p[4], (u32)value);
	else if (!vgpu_vm_write(m, as, pm4_addr64(p + 4), &value, bytes))
		return PACKET_BAD;
	return PACKET_DONE;
}

static enum packet_result pm4_wait_reg_mem(struct vgpu_model *m, struct vgpu_queue *q, u32 as,
					   const u32 *p)
{
	u32 function = p[1] & 7, operation = (p[1] >> 6) & 3, reference = p[4], mask = p[5], value;
	bool memory = p[1] & (1u << 4);

	if (operation == 1) {			/* write the first register, wait for the second */
		pm4_write_reg(m, q, as, p[2], reference);
		value = pm4_read_reg(m, q, p[3]);
		return (value & mask) == mask ? PACKET_DONE : PACKET_WAIT;
	}
	if (memory) {
		if (!vgpu_vm_read(m, as, pm4_addr64(p + 2) & ~3ULL, &value, 4))
			return PACKET_BAD;
	} else {
		value = pm4_read_reg(m, q, p[2]);
	}
	return vgpu_compare(function, value & mask, reference) ? PACKET_DONE : PACKET_WAIT;
}

static enum packet_result pm4_release_mem(struct vgpu_model *m, struct vgpu_queue *q, u32 as,
					  const u32 *p)
{
	u32 data_sel = p[2] >> 29, int_sel = (p[2] >> 24) & 7;
	u64 addr = pm4_addr64(p + 3);
	bool ok = true;

	if (q->inflight_count)			/* the end of the pipe: behind all waves that were launched before */
		return PACKET_WAIT;
	if (data_sel == 1)
		ok = vgpu_vm_write32(m, as, addr, p[5]);
	else if (data_sel == 2)
		ok = vgpu_vm_write64(m, as, addr, pm4_addr64(p + 5));
	else if (data_sel == 3)
		ok = vgpu_vm_write64(m, as, addr, m->now_ns / 10);
	if (!ok)
		return PACKET_BAD;
	if (int_sel == 1 || int_sel == 2)
		vgpu_queue_eop(m, q, SRC_CP_EOP, p[7]);
	return PACKET_DONE;
}

static enum packet_result pm4_map_queues(struct vgpu_model *m, struct vgpu_queue *engine,
					 const u32 *p, u32 dwords)
{
	struct vgpu_map_request request = {
		.xcc = engine->xcc,
		.me = p[1] & (1u << 18) ? 2 : 1,
		.pipe = (p[1] >> 16) & 3,
		.slot = (p[1] >> 13) & 7,
		.vmid = (p[1] >> 8) & 0xf,
		.doorbell = p[2] & 0x0ffffffc,
		.mqd = pm4_addr64(p + 3),
		.wptr_addr = pm4_addr64(p + 5),
	};
	u32 selector = p[1] >> 26 & 7;
	struct vgpu_queue *q;

	if (((p[1] >> 4) & 3) == 1)		/* the scheduler chooses the slot */
		return engine->is_hiq && vgpu_hws_map_queue(m, engine, p, dwords) ? PACKET_DONE : PACKET_BAD;
	if (selector != MAP_COMPUTE && selector != (m->config.asic->mes ? MAP_MES : MAP_HIQ))
		return PACKET_BAD;
	if (selector == MAP_MES)
		request.me = VGPU_ME_MES;
	q = vgpu_queue_map(m, &request);
	if (!q)
		return PACKET_BAD;
	q->is_hiq = selector == MAP_HIQ;
	if (selector == MAP_MES)
		q->kind = VGPU_QUEUE_MES;
	return PACKET_DONE;
}

static enum packet_result pm4_unmap_queues(struct vgpu_model *m, struct vgpu_queue *engine,
					   const u32 *p)
{
	u32 action = p[1] & 3, sel = (p[1] >> 4) & 3, count = p[1] >> 29, i;
	bool save = action != 1;
	struct vgpu_list *l, *next;

	if (sel || engine->is_hiq) {
		if (vgpu_fault_on(m, VGPU_FAULT_UNMAP_LOST, engine->xcc)) {
			engine->stuck = true;
			return PACKET_WAIT;
		}
		if (vgpu_fault_on(m, VGPU_FAULT_STATE_LOST, engine->xcc)) {
			engine->stuck = true;
			m->state_lost = true;
			return PACKET_WAIT;
		}
		if (sel)
			vgpu_hws_unmap(m, engine, sel == 2, sel == 1, (u16)p[2], save);
		else
			vgpu_hws_unmap_named(m, engine, p + 2, count < 4 ? count : 4, save);
		return PACKET_DONE;
	}
	for (i = 0; i < count && i < 4; i++)
		for (l = m->queues.next; l != &m->queues; l = next) {
			struct vgpu_queue *q = container_of(l, struct vgpu_queue, link);

			next = l->next;
			if (q != engine && q->xcc == engine->xcc && q->has_doorbell && q->doorbell == (p[2 + i] & 0x0ffffffc))
				vgpu_queue_unmap(m, q, save);
		}
	vgpu_cwsr_saved(m, m->now_ns);
	return PACKET_DONE;
}

static enum packet_result pm4_query_status(struct vgpu_model *m, struct vgpu_queue *q, const u32 *p)
{
	u32 i;

	/*
	 * Whatever was asked before is complete when this packet is reached: by all XCCs, which
	 * read the same ring. The first one answers when the others are past it.
	 */
	if (q->part || vgpu_fault(m, VGPU_FAULT_FENCE_LOST))
		return PACKET_DONE;
	for (i = 1; i < q->parts; i++) {
		const struct vgpu_queue *other = vgpu_queue_part(m, q, i);

		if (!other || other->rptr <= q->rptr)
			return PACKET_WAIT;
	}
	vgpu_ring_report_full(m, q, VGPU_FAULT_FULL_AFTER_UNMAP);
	if ((p[1] >> 30) == 0)
		vgpu_queue_eop(m, q, SRC_CP_EOP, p[1] & 0x0fffffff);
	else if (!vgpu_vm_write64(m, VGPU_AS_KERNEL, pm4_addr64(p + 3), pm4_addr64(p + 5)))
		return PACKET_BAD;
	vgpu_save_reported(m, q->save_asked_ns);
	q->save_asked_ns = 0;
	return PACKET_DONE;
}

/*
 * Enters a buffer: the next packets come from there. A chained one takes the place of the buffer
 * that is being read.
 */
static bool pm4_indirect_buffer(struct vgpu_model *m, struct vgpu_queue *q, u32 as, const u32 *p)
{
	u32 vmid = VGPU_AS_VMID(as) ? VGPU_AS_VMID(as) : (p[3] >> 24) & 0xf;

	if (p[3] & PM4_IB_CHAIN) {
		if (!q->ib_depth)
			return false;
		q->ib_depth--;
		q->busy_until_ns = m->now_ns + CHAIN_NS;
	}
	if (q->ib_depth == VGPU_IB_LEVELS)
		return false;
	q->ib[q->ib_depth++] = (struct vgpu_stream) {
		.as = VGPU_AS(q->hub, vmid),
		.base = pm4_addr64(p + 1) & ~3ULL,
		.mask = ~0ULL,
		.end = p[3] & 0xfffff,
	};
	return true;
}

/*
 * A grid that ends at @end, in workgroups or work-items as the initiator says, and begins at a
 * workgroup that registers name. Return: false if there is nothing to launch.
 */
static bool pm4_grid_of(const u32 *r, const u32 *end, u32 initiator, struct vgpu_launch *launch)
{
	u32 i;

	if (!(initiator & COMPUTE_SHADER_EN))
		return false;
	for (i = 0; i < 3; i++) {
		u32 threads = r[VGPU_COMPUTE_NUM_THREAD_X + i], whole = threads & 0xffff, partial = threads >> 16;
		u32 start = initiator & FORCE_START_AT_000 ? 0 : r[VGPU_COMPUTE_START_X + i];

		if (!end[i])
			return false;
		launch->workgroup[i] = whole;
		launch->start[i] = start;
		if (!whole) {
			launch->start[i] = 0;
			launch->grid[i] = 1;		/* refused for the workgroup */
			continue;
		}
		if (initiator & USE_THREAD_DIMENSIONS)
			launch->grid[i] = end[i];
		else if ((initiator & PARTIAL_TG_EN) && partial && partial < whole)
			launch->grid[i] = (u64)(end[i] - 1) * whole + partial;
		else
			launch->grid[i] = (u64)end[i] * whole;
		if (start >= (launch->grid[i] + whole - 1) / whole)
			return false;
	}
	return true;
}

/* A dispatch of a grid up to @end, by a packet of @dwords */
static enum packet_result pm4_dispatch(struct vgpu_model *m, struct vgpu_queue *q, const u32 *end,
				       u32 initiator, u32 dwords)
{
	const u32 *r = q->compute;
	struct vgpu_dispatch d = { .index = VGPU_NO_INDEX, .packet_dwords = dwords, .xccs = 1, .chunk = 1 };
	struct vgpu_launch launch = {
		.kernel = (u64)r[VGPU_COMPUTE_PGM_LO] << 8 | (u64)(r[VGPU_COMPUTE_PGM_HI] & 0xff) << 40,
		.kernargs = pm4_addr64(r + VGPU_COMPUTE_USER_DATA_0),
		.registers = r,
		.vgprs = ((r[VGPU_COMPUTE_PGM_RSRC1] & 0x3f) + 1) * 8,
		.lds_bytes = ((r[VGPU_COMPUTE_PGM_RSRC2] >> 15) & 0x1ff) * 512,
	};

	if (!vgpu_queue_is_user_compute(q))
		return PACKET_BAD;
	if (!pm4_grid_of(r, end, initiator, &launch))
		return PACKET_DONE;
	if (q->inflight_count >= VGPU_MAX_INFLIGHT)
		return PACKET_WAIT;
	return vgpu_dispatch_parse(m, q, &launch, &d) && vgpu_dispatch_put(m, q, &d) ? PACKET_STAYS : PACKET_WAIT;
}

/* The grid is in memory. It is read when the packet is. */
static enum packet_result pm4_dispatch_indirect(struct vgpu_model *m, struct vgpu_queue *q, u32 as,
						const u32 *p, u32 dwords)
{
	u32 end[3];

	if (!vgpu_vm_read(m, as, pm4_addr64(p + 1) & ~3ULL, end, sizeof(end)))
		return PACKET_BAD;
	return pm4_dispatch(m, q, end, p[3], dwords);
}

static enum packet_result pm4_execute(struct vgpu_model *m, struct vgpu_queue *q,
				      const struct vgpu_stream *s, const u32 *p,
				      u32 dwords)
{
	u32 op = PM4_OPCODE(p[0]);
	bool kernel = !VGPU_AS_VMID(s->as);
	static const struct {
		u8 op, dwords;
	} shortest[] = {
		{ IT_WRITE_DATA, 5 }, { IT_WAIT_REG_MEM, 7 }, { IT_COND_EXEC, 5 }, { IT_ATOMIC_MEM, 9 }, { IT_EVENT_WRITE, 2 },
		 { IT_INDIRECT_BUFFER, 4 }, { IT_COPY_DATA, 6 },
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
	case IT_COND_EXEC:			/* pm4_step() skips what it says */
	case IT_ACQUIRE_MEM:
	case IT_CONTEXT_CONTROL:
	case IT_PREAMBLE_CNTL:
	case IT_PFP_SYNC_ME:
	case IT_SWITCH_BUFFER:
	case IT_FRAME_CONTROL:
		return PACKET_DONE;
	case IT_INVALIDATE_TLBS:
		if (!vgpu_fault_on(m, VGPU_FAULT_INVALIDATION_LOST, q->xcc))
			vgpu_tlb_invalidate_pasid(m, VGPU_AS_HUB(s->as), p[1] & (1u << 4), (u16)(p[1] >> 5));
		return PACKET_DONE;
	case IT_WRITE_DATA:
		return pm4_write_data(m, q, s, p, dwords);
	case IT_COPY_DATA:
		return pm4_copy_data(m, q, s->as, p);
	case IT_WAIT_REG_MEM:
		return pm4_wait_reg_mem(m, q, s->as, p);
	case IT_EVENT_WRITE:
		return (p[1] & 0x3f) == EVENT_CS_PARTIAL_FLUSH && q->inflight_count ? PACKET_WAIT : PACKET_DONE;
	case IT_ATOMIC_MEM:
		return pm4_atomic_mem(m, s->as, p);
	case IT_DISPATCH_DIRECT:
		return dwords == VGPU_DISPATCH_DWORDS ? pm4_dispatch(m, q, p + 1, p[4],
								     dwords) : PACKET_BAD;
	case IT_DISPATCH_INDIRECT:
		return dwords == PM4_INDIRECT_DWORDS ? pm4_dispatch_indirect(m, q, s->as, p,
									     dwords) : PACKET_BAD;
	case IT_INDIRECT_BUFFER:
		return dwords == PM4_IB_DWORDS && pm4_indirect_buffer(m, q, s->as,
								      p) ? PACKET_STAYS : PACKET_BAD;
	case IT_RELEASE_MEM:
		return pm4_release_mem(m, q, s->as, p);
	case IT_SET_CONFIG_REG:
		return pm4_set_regs(m, q, s, p, dwords, CONFIG_REG_START);
	case IT_SET_CONTEXT_REG:
		return pm4_set_regs(m, q, s, p, dwords, CONTEXT_REG_START);
	case IT_SET_SH_REG:
		return pm4_set_regs(m, q, s, p, dwords, SH_REG_START);
	case IT_SET_UCONFIG_REG:
		return pm4_set_regs(m, q, s, p, dwords, UCONFIG_REG_START);
	case IT_SET_RESOURCES:
		if (p[1] >> 29)			/* KIQ's own resources do not matter here */
			vgpu_hws_set_resources(m, q->xcc, p[1] & 0xffff, pm4_addr64(p + 2));
		return PACKET_DONE;
	case IT_MAP_PROCESS:
		return q->is_hiq && vgpu_hws_map_process(m, q, p, dwords) ? PACKET_DONE : PACKET_BAD;
	case IT_MAP_QUEUES:
		return pm4_map_queues(m, q, p, dwords);
	case IT_UNMAP_QUEUES:
		return pm4_unmap_queues(m, q, p);
	case IT_QUERY_STATUS:
		return pm4_query_status(m, q, p);
	case IT_RUN_LIST:
		if (!vgpu_hws_runlist(m, q, pm4_addr64(p + 1) & ~3ULL, p[3] & 0xfffff,
				      (p[3] >> 24) & 0xf))
			return PACKET_BAD;
		vgpu_ring_report_full(m, q, VGPU_FAULT_FULL_AFTER_RUNLIST);
		return PACKET_DONE;
	default:
		return PACKET_BAD;
	}
}

/* Where the next packet comes from: the innermost buffer, or the ring of a PM4 queue */
static struct vgpu_stream pm4_stream_of(const struct vgpu_queue *q)
{
	if (q->ib_depth)
		return q->ib[q->ib_depth - 1];
	return (struct vgpu_stream) {
		.as = vgpu_queue_as(q),
		.base = q->ring,
		.mask = q->ring_bytes / 4 - 1,
		.pos = q->rptr,
		.end = q->wptr,
	};
}

/* How much of what follows a COND_EXEC is left out. Return: dwords, U32_MAX after a fault */
static u32 pm4_left_out(struct vgpu_model *m, u32 as, const u32 *p)
{
	u32 value;

	if (!vgpu_vm_read(m, as, pm4_addr64(p + 1) & ~3ULL, &value, 4))
		return U32_MAX;
	return value ? 0 : p[4] & 0x3fff;
}

/* One packet. Return: false if it has to wait, or is not complete, or the queue is stuck. */
static bool pm4_step(struct vgpu_model *m, struct vgpu_queue *q)
{
	const struct vgpu_stream s = pm4_stream_of(q);
	u32 p[PM4_MAX_DWORDS], dwords, head, skip = 0;
	enum packet_result result;

	if (!vgpu_stream_read(m, &s, 0, p, 1)) {
		vgpu_queue_error(m, q, VGPU_EC_NONE, "packets are not mapped", s.base);
		return false;
	}
	switch (PM4_TYPE(p[0])) {
	case 2:
		vgpu_ring_advance(q, 1);
		return true;
	case 3:
		break;
	default:
		vgpu_queue_error(m, q, VGPU_EC_PACKET_RESERVED, "bad PM4 header", p[0]);
		return false;
	}
	dwords = PM4_COUNT(p[0]) + 2;
	if (PM4_OPCODE(p[0]) == IT_NOP && PM4_COUNT(p[0]) == PM4_NOP_SINGLE)
		dwords = 1;
	if (dwords > s.end - s.pos) {
		if (q->ib_depth)		/* a buffer does not grow */
			vgpu_queue_error(m, q, VGPU_EC_PACKET_RESERVED, "packet is cut off", p[0]);
		return false;
	}
	head = dwords < PM4_MAX_DWORDS ? dwords : PM4_MAX_DWORDS;
	if (PM4_OPCODE(p[0]) != IT_NOP && !vgpu_stream_read(m, &s, 0, p, head))
		result = PACKET_BAD;
	else
		result = pm4_execute(m, q, &s, p, dwords);
	if (result == PACKET_DONE && PM4_OPCODE(p[0]) == IT_COND_EXEC) {
		skip = pm4_left_out(m, s.as, p);
		if (skip == U32_MAX)
			result = PACKET_BAD;
		else if (skip > s.end - s.pos - dwords)
			result = PACKET_WAIT;
	}
	if (result == PACKET_BAD)
		vgpu_queue_error(m, q, VGPU_EC_PACKET_UNSUPPORTED, "bad PM4 packet", p[0]);
	if (result == PACKET_DONE)
		vgpu_ring_advance(q, dwords + skip);
	return result == PACKET_DONE || result == PACKET_STAYS;
}

/* Waves that buffers of an AQL queue launched are not all done */
static bool pm4_buffer_waves(const struct vgpu_queue *q)
{
	struct vgpu_list *l;

	for (l = q->inflight.next; l != &q->inflight; l = l->next)
		if (container_of(l, struct vgpu_dispatch, link)->index == VGPU_NO_INDEX)
			return true;
	return false;
}

/*
 * Reads packets, from the innermost buffer outwards, while anything is due; of an AQL queue the
 * buffer of its packet only, whose end comes after its waves. Return: true if there was anything.
 */
static bool pm4_run(struct vgpu_model *m, struct vgpu_queue *q)
{
	bool aql = q->kind == VGPU_QUEUE_AQL, progress = false;

	while (!q->stuck && !q->head && vgpu_list_empty(&q->pending) && m->now_ns >= q->busy_until_ns) {
		if (q->ib_depth && q->ib[q->ib_depth - 1].pos >= q->ib[q->ib_depth - 1].end) {
			if (aql && q->ib_depth == 1) {
				if (pm4_buffer_waves(q))
					break;
				q->ib_depth = 0;
				progress = true;
				break;
			}
			q->ib_depth--;
			vgpu_ring_advance(q, PM4_IB_DWORDS);
		} else if ((!q->ib_depth && q->rptr >= q->wptr) || !pm4_step(m, q)) {
			break;
		}
		progress = true;
	}
	return progress;
}

/**
 * vgpu_pm4_ib() - execute an indirect buffer on behalf of an AQL packet
 * @m: the device
 * @q: AQL queue
 * @p: the four dwords of an INDIRECT_BUFFER packet; looked at when no buffer is in progress
 *
 * Return: 1 when it is finished, 0 if it is not yet, -1 if the queue is in error.
 */
int vgpu_pm4_ib(struct vgpu_model *m, struct vgpu_queue *q, const u32 *p)
{
	if (!q->ib_depth && (PM4_TYPE(p[0]) != 3 || PM4_OPCODE(p[0]) != IT_INDIRECT_BUFFER ||
			     PM4_COUNT(p[0]) + 2 != PM4_IB_DWORDS || !pm4_indirect_buffer(m, q,
											  vgpu_queue_as(q), p))) {
		vgpu_queue_error(m, q, VGPU_EC_VENDOR_UNSUPPORTED, "not an indirect buffer", p[0]);
		return -1;
	}
	pm4_run(m, q);
	return q->stuck ? -1 : !q->ib_depth;
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
	u64 start = q->rptr;
	bool progress = pm4_run(m, q);

	if (q->rptr != start)
		vgpu_ring_report(m, q);
	return progress;
}
