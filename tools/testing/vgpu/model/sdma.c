// SPDX-License-Identifier: MIT
/*
 * sdma.c - SDMA engines: the kernel's rings (described by registers) and user queues (described by MQDs)
 *
 * Copies take no device time. Kernel VMIDs and user VMIDs alike go through the memory hub.
 */
#include "model.h"

#define SDMA_OP(h)		((h) & 0xff)
#define SDMA_SUBOP(h)		(((h) >> 8) & 0xff)
#define SDMA_MAX_DWORDS		10		/* of a packet without its data */
#define SDMA_CHUNK_DWORDS	64

enum {
	SDMA_NOP	= 0,
	SDMA_COPY	= 1,
	SDMA_WRITE	= 2,
	SDMA_INDIRECT	= 4,
	SDMA_FENCE	= 5,
	SDMA_TRAP	= 6,
	SDMA_POLL	= 8,
	SDMA_COND_EXE	= 9,
	SDMA_ATOMIC	= 10,
	SDMA_FILL	= 11,
	SDMA_PTEPDE	= 12,
	SDMA_TIMESTAMP	= 13,
	SDMA_SRBM_WRITE	= 14,
};

#define SDMA_ATOMIC_ADD64	47		/* opcode of the atomic units, as the shaders' */

/* A ring's registers, from its first one */
#define SDMA_RB_CNTL		0x00		/* enable 0, log2 of dwords 6:1, vmid 27:24 */
#define SDMA_RB_BASE		0x01
#define SDMA_RB_BASE_HI		0x02
#define SDMA_RB_RPTR		0x03
#define SDMA_RB_RPTR_HI		0x04
#define SDMA_RB_WPTR		0x05
#define SDMA_RB_WPTR_HI		0x06
#define SDMA_RB_RPTR_ADDR_HI	0x08
#define SDMA_RB_RPTR_ADDR_LO	0x09
#define SDMA_RB_DOORBELL	0x12		/* enable 28 */
#define SDMA_RB_DOORBELL_OFFSET	0x2b		/* in bytes, 27:2 */
#define SDMA_RB_ENABLE		1u
#define SDMA_RB_BYTES(cntl)	(4u << (((cntl) >> 1) & 0x3f))
#define SDMA_RB_VMID(cntl)	(((cntl) >> 24) & 0xf)
#define SDMA_DOORBELL_ENABLE	(1u << 28)

/* Dwords of the SDMA MQD that differ from the order of the registers */
#define SDMA_MQD_DOORBELL_OFFSET 22

#define SDMA_SRC_TRAP		224

/* The kernel's rings of an engine: buffer moves and everything else; page tables, if the firmware is new enough */
#define SDMA_GFX_RING		0x80
#define SDMA_GFX_RING_ID	0
#define SDMA_PAGE_RING_ID	3

static u32 engines(const struct vgpu_model *m)
{
	return (m->config.xccs + 1) / 2 * m->config.asic->sdma_per_aid;
}

static u32 aid_of(const struct vgpu_model *m, u32 engine)
{
	return engine / m->config.asic->sdma_per_aid;
}

/* Packets name registers of the I/O die that their engine is on */
static u32 reg_index(const struct vgpu_model *m, const struct vgpu_queue *q, u32 index)
{
	return (index & (VGPU_AID_STRIDE - 1)) + aid_of(m, q->engine) * VGPU_AID_STRIDE;
}

static u64 addr64(const u32 *p)
{
	return p[0] | (u64)p[1] << 32;
}

static bool copy_linear(struct vgpu_model *m, u32 as, u64 src, u64 dst, u64 bytes)
{
	while (bytes) {
		u32 n = VGPU_PAGE - (src & (VGPU_PAGE - 1)), room = VGPU_PAGE - (dst & (VGPU_PAGE - 1));
		void *from, *to;

		n = n < room ? n : room;
		n = n < bytes ? n : (u32)bytes;
		from = vgpu_vm_ptr(m, as, src, n, false);
		to = vgpu_vm_ptr(m, as, dst, n, true);
		if (!from || !to)
			return false;
		memmove(to, from, n);
		src += n;
		dst += n;
		bytes -= n;
	}
	return true;
}

static bool const_fill(struct vgpu_model *m, u32 as, u64 dst, u32 value, u64 bytes)
{
	u64 i;

	for (i = 0; i + 4 <= bytes; i += 4)
		if (!vgpu_vm_write(m, as, dst + i, &value, 4))
			return false;
	return true;
}

/* WRITE with @dwords of data behind the four dwords of its head */
static bool write_linear(struct vgpu_model *m, const struct vgpu_stream *s, u64 dst, u32 dwords)
{
	u32 chunk[SDMA_CHUNK_DWORDS], done, n;

	for (done = 0; done < dwords; done += n) {
		n = dwords - done < SDMA_CHUNK_DWORDS ? dwords - done : SDMA_CHUNK_DWORDS;
		if (!vgpu_stream_read(m, s, 4 + done, chunk, n) ||
		    !vgpu_vm_write(m, s->as, dst + done * 4ULL, chunk, n * 4ULL))
			return false;
	}
	return true;
}

static bool write_ptes(struct vgpu_model *m, u32 as, const u32 *p)
{
	u64 dst = addr64(p + 1), mask = addr64(p + 3), value = addr64(p + 5), increment = addr64(p + 7);
	u32 count = (p[9] & 0x7ffff) + 1;

	for (; count; count--, dst += 8, value += increment)
		if (!vgpu_vm_write64(m, as, dst, value | mask))
			return false;
	return true;
}

static bool atomic_op(struct vgpu_model *m, u32 as, const u32 *p)
{
	u32 op = (p[0] >> 25) & 0x7f;
	u64 value = addr64(p + 3);
	u64 *ptr;

	if (op != SDMA_ATOMIC_ADD64)
		return false;
	ptr = vgpu_vm_ptr(m, as, addr64(p + 1) & ~7ULL, 8, true);
	if (ptr)
		vgpu_atomic64_add(ptr, value);
	return ptr;
}

/* Return: 1 it holds, 0 wait, -1 fault */
static int poll_packet(struct vgpu_model *m, const struct vgpu_queue *q, u32 as, const u32 *p)
{
	bool memory = p[0] >> 31, hdp = p[0] & (1u << 26);
	u32 function = (p[0] >> 28) & 7, value, reference = p[3], mask = p[4];

	if (memory) {
		if (!vgpu_vm_read(m, as, addr64(p + 1) & ~3ULL, &value, 4))
			return -1;
	} else {
		if (hdp && !VGPU_AS_VMID(as))
			vgpu_model_reg_write(m, reg_index(m, q, p[2] >> 2), reference);
		value = vgpu_model_reg_read(m, reg_index(m, q, p[1] >> 2));
	}
	return vgpu_compare(function, value & mask, reference);
}

static void raise_trap(struct vgpu_model *m, struct vgpu_queue *q, u32 context)
{
	u32 iv[VGPU_IV_DWORDS];

	vgpu_iv_fill(iv, m->config.asic->sdma[q->engine % m->config.asic->sdma_per_aid].client, SDMA_SRC_TRAP, q->ring_id, q->vmid,
		     vgpu_ih_pasid(m, q->hub, q->vmid));
	iv[3] |= vgpu_hub_node(m, q->hub) << 16;
	iv[4] = context;
	vgpu_ih_push(m, iv);
}

/* Dwords of the packet that starts with @p (its first four are readable), 0 if it is unknown */
static u32 packet_dwords(const u32 *p)
{
	switch (SDMA_OP(p[0])) {
	case SDMA_NOP:
		return 1 + ((p[0] >> 16) & 0x3fff);
	case SDMA_COPY:
		return SDMA_SUBOP(p[0]) ? 0 : 7;
	case SDMA_WRITE:
		return SDMA_SUBOP(p[0]) ? 0 : 4 + (p[3] & 0xfffff) + 1;
	case SDMA_INDIRECT:
		return 6;
	case SDMA_FENCE:
		return 4;
	case SDMA_TRAP:
		return 2;
	case SDMA_POLL:
		return SDMA_SUBOP(p[0]) ? 0 : 6;
	case SDMA_COND_EXE:
		return 5;
	case SDMA_ATOMIC:
		return 8;
	case SDMA_FILL:
		return 5;
	case SDMA_PTEPDE:
		return SDMA_SUBOP(p[0]) ? 0 : 10;
	case SDMA_TIMESTAMP:
		return 3;
	case SDMA_SRBM_WRITE:
		return 3;
	default:
		return 0;
	}
}

/* One packet. Return: its dwords, 0 if it has to wait, or is not complete, or the queue is stuck. */
static u32 step(struct vgpu_model *m, struct vgpu_queue *q, const struct vgpu_stream *s)
{
	u64 left = s->end - s->pos;
	u32 p[SDMA_MAX_DWORDS] = { 0 }, dwords;
	bool ok = true;
	int holds;

	ok = vgpu_stream_read(m, s, 0, p, left < 4 ? (u32)left : 4);
	dwords = ok ? packet_dwords(p) : 0;
	if (!dwords) {
		vgpu_queue_error(m, q, "bad SDMA packet", p[0]);
		return 0;
	}
	if (SDMA_OP(p[0]) == SDMA_NOP)
		return dwords < left ? dwords : (u32)left;
	if (dwords > left)
		return 0;
	ok = vgpu_stream_read(m, s, 0, p, dwords < SDMA_MAX_DWORDS ? dwords : SDMA_MAX_DWORDS);
	if (!ok) {
		vgpu_queue_error(m, q, "ring is not mapped", s->base);
		return 0;
	}
	switch (SDMA_OP(p[0])) {
	case SDMA_COPY:
		ok = copy_linear(m, s->as, addr64(p + 3), addr64(p + 5), (u64)(p[1] & 0x3fffffff) + 1);
		break;
	case SDMA_WRITE:
		ok = write_linear(m, s, addr64(p + 1), (p[3] & 0xfffff) + 1);
		break;
	case SDMA_INDIRECT:
		if (q->in_ib) {
			ok = false;
			break;
		}
		q->in_ib = true;
		q->ib = (struct vgpu_stream) {
			.as = VGPU_AS(q->hub, q->vmid ? q->vmid : (p[0] >> 16) & 0xf),
			.base = addr64(p + 1) & ~0x1fULL,
			.mask = ~0ULL,
			.end = p[3] & 0xfffff,
		};
		break;
	case SDMA_FENCE:
		ok = vgpu_vm_write32(m, s->as, addr64(p + 1), p[3]);
		break;
	case SDMA_TRAP:
		raise_trap(m, q, p[1] & 0x0fffffff);
		break;
	case SDMA_POLL:
		holds = poll_packet(m, q, s->as, p);
		if (!holds)
			return 0;
		ok = holds > 0;
		break;
	case SDMA_ATOMIC:
		ok = atomic_op(m, s->as, p);
		break;
	case SDMA_FILL:
		ok = const_fill(m, s->as, addr64(p + 1), p[3], (u64)(p[4] & 0x3fffffff) + 1);
		break;
	case SDMA_PTEPDE:
		ok = write_ptes(m, s->as, p);
		break;
	case SDMA_TIMESTAMP:
		ok = vgpu_vm_write64(m, s->as, addr64(p + 1), m->now_ns / 10);
		break;
	case SDMA_SRBM_WRITE:
		if (!VGPU_AS_VMID(s->as))
			vgpu_model_reg_write(m, reg_index(m, q, p[1]), p[2]);
		break;
	}
	if (!ok) {
		vgpu_queue_error(m, q, "SDMA packet failed", p[0]);
		return 0;
	}
	return dwords;
}

/**
 * vgpu_sdma_run() - execute what is due of an SDMA ring or queue
 * @m: the device
 * @q: the queue
 *
 * Return: true if anything was executed.
 */
bool vgpu_sdma_run(struct vgpu_model *m, struct vgpu_queue *q)
{
	u64 start = q->rptr;
	bool progress = false;
	u32 n;

	m->client = VGPU_UTCL2_SDMA0 + q->engine;
	while (!q->stuck) {
		struct vgpu_stream s = {
			.as = vgpu_queue_as(q),
			.base = q->ring,
			.mask = q->ring_bytes / 4 - 1,
			.pos = q->rptr / 4,
			.end = q->wptr / 4,
		};

		if (q->in_ib) {
			if (q->ib.pos >= q->ib.end) {
				q->in_ib = false;
				continue;
			}
			n = step(m, q, &q->ib);
			q->ib.pos += n;
		} else {
			if (q->rptr >= q->wptr)
				break;
			n = step(m, q, &s);
			q->rptr += n * 4ULL;
		}
		if (!n)
			break;
		progress = true;
	}
	if (q->rptr != start) {
		if (q->rptr_addr)
			vgpu_vm_write64(m, vgpu_queue_as(q), q->rptr_addr, q->rptr);
		if (q->regs) {
			vgpu_reg_set(m, q->regs + SDMA_RB_RPTR, (u32)q->rptr);
			vgpu_reg_set(m, q->regs + SDMA_RB_RPTR_HI, (u32)(q->rptr >> 32));
		}
	}
	m->client = VGPU_UTCL2_CPC;
	return progress;
}

/* Starts and stops the kernel's rings as their registers say. */
void vgpu_sdma_poll_registers(struct vgpu_model *m)
{
	const struct vgpu_asic *asic = m->config.asic;
	u32 e, r;

	for (e = 0; e < engines(m); e++)
		for (r = 0; r < VGPU_SDMA_RINGS; r++) {
			u32 regs = asic->sdma[e % asic->sdma_per_aid].regs + aid_of(m, e) * VGPU_AID_STRIDE +
				   (r ? asic->sdma_page_ring : SDMA_GFX_RING);
			u32 cntl = vgpu_reg(m, regs + SDMA_RB_CNTL);
			struct vgpu_queue *q = m->sdma_ring[e][r];

			if (!(cntl & SDMA_RB_ENABLE)) {
				if (q) {
					vgpu_queue_free(m, q);
					m->sdma_ring[e][r] = NULL;
				}
				continue;
			}
			if (!q) {
				q = vgpu_queue_alloc(m, VGPU_QUEUE_SDMA);
				if (!q)
					continue;
				m->sdma_ring[e][r] = q;
				q->hub = (u8)(VGPU_HUB_MM + aid_of(m, e));
				q->engine = e;
				q->ring_id = r ? SDMA_PAGE_RING_ID : SDMA_GFX_RING_ID;
				q->regs = regs;
				q->vmid = SDMA_RB_VMID(cntl);
				q->ring = (u64)vgpu_reg(m, regs + SDMA_RB_BASE) << 8 |
					  (u64)vgpu_reg(m, regs + SDMA_RB_BASE_HI) << 40;
				q->ring_bytes = SDMA_RB_BYTES(cntl);
				q->rptr_addr = vgpu_reg(m, regs + SDMA_RB_RPTR_ADDR_LO) |
					       (u64)vgpu_reg(m, regs + SDMA_RB_RPTR_ADDR_HI) << 32;
				q->rptr = vgpu_reg(m, regs + SDMA_RB_RPTR) | (u64)vgpu_reg(m, regs + SDMA_RB_RPTR_HI) << 32;
				q->wptr = vgpu_reg(m, regs + SDMA_RB_WPTR) | (u64)vgpu_reg(m, regs + SDMA_RB_WPTR_HI) << 32;
				q->has_doorbell = vgpu_reg(m, regs + SDMA_RB_DOORBELL) & SDMA_DOORBELL_ENABLE;
				q->doorbell = vgpu_reg(m, regs + SDMA_RB_DOORBELL_OFFSET) & 0x0ffffffc;
			}
			if (!q->has_doorbell)
				q->wptr = vgpu_reg(m, regs + SDMA_RB_WPTR) | (u64)vgpu_reg(m, regs + SDMA_RB_WPTR_HI) << 32;
		}
}

/**
 * vgpu_sdma_map() - map a user queue from its MQD
 * @m: the device
 * @request: what was asked for
 *
 * Return: the queue, NULL if the MQD cannot be read.
 */
struct vgpu_queue *vgpu_sdma_map(struct vgpu_model *m, const struct vgpu_map_request *request)
{
	u32 mqd[SDMA_MQD_DOORBELL_OFFSET + 1];
	struct vgpu_queue *q;

	if (request->engine >= engines(m) || !vgpu_vm_read(m, VGPU_AS_KERNEL, request->mqd, mqd, sizeof(mqd)))
		return NULL;
	q = vgpu_queue_alloc(m, VGPU_QUEUE_SDMA);
	if (!q)
		return NULL;
	q->hub = (u8)(VGPU_HUB_MM + aid_of(m, request->engine));
	q->engine = request->engine;
	q->ring_id = 2;
	q->from_runlist = true;
	q->is_static = request->is_static;
	q->vmid = request->vmid;
	q->pasid = request->pasid;
	q->mqd = request->mqd;
	q->ring = (u64)mqd[SDMA_RB_BASE] << 8 | (u64)mqd[SDMA_RB_BASE_HI] << 40;
	q->ring_bytes = SDMA_RB_BYTES(mqd[SDMA_RB_CNTL]);
	q->rptr_addr = mqd[SDMA_RB_RPTR_ADDR_LO] | (u64)mqd[SDMA_RB_RPTR_ADDR_HI] << 32;
	q->rptr = mqd[SDMA_RB_RPTR] | (u64)mqd[SDMA_RB_RPTR_HI] << 32;
	q->has_doorbell = true;
	q->doorbell = mqd[SDMA_MQD_DOORBELL_OFFSET] & 0x0ffffffc;
	if (!vgpu_vm_read64(m, vgpu_queue_as(q), request->wptr_addr, &q->wptr))
		q->wptr = q->rptr;
	return q;
}

/* An unmapped user queue continues at the read pointer in its MQD. */
void vgpu_sdma_save(struct vgpu_model *m, struct vgpu_queue *q)
{
	vgpu_vm_write32(m, VGPU_AS_KERNEL, q->mqd + SDMA_RB_RPTR * 4, (u32)q->rptr);
	vgpu_vm_write32(m, VGPU_AS_KERNEL, q->mqd + SDMA_RB_RPTR_HI * 4, (u32)(q->rptr >> 32));
}
