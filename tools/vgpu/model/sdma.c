// SPDX-License-Identifier: MIT
/*
 * sdma.c - SDMA vgpu_sdma_engines: the kernel's rings (described by registers) and user queues (described by
 * MQDs)
 *
 * Copies take no device time. Kernel VMIDs and user VMIDs alike go through the memory hub.
 */
#include "model.h"
#include "sdma_regs.h"

#define SDMA_OP(h)		((h) & 0xff)
#define SDMA_SUBOP(h)		(((h) >> 8) & 0xff)
#define SDMA_MAX_DWORDS		10		/* of a packet without its data */
#define SDMA_BROADCAST		(1u << 27)	/* of a copy: there are two destinations */
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
	SDMA_GCR	= 17,		/* caches, which there are none of */
};

#define SDMA_USER_RING_ID	2
#define SDMA_INDIRECT_DWORDS	6

#define SDMA_SUBOP_INVALIDATE	4		/* of POLL: ask a hub's invalidation engine */
#define SDMA_INVALIDATE_ENGINE(h) ((h) >> 16 & 0x1f)	/* of the GFXHUB */

/*
 * The kernel's rings of an engine: buffer moves and everything else; page tables, if the firmware
 * is new enough
 */
#define SDMA_GFX_RING		0x80
#define SDMA_GFX_RING_ID	0
#define SDMA_PAGE_RING_ID	3

/* Of an engine's interrupts */
static u8 sdma_client_of(const struct vgpu_model *m, u32 engine)
{
	return m->config.asic->sdma_client[m->config.layout->sdma_place[vgpu_sdma_aid(m, engine)] + engine % m->config.layout->sdma_per_aid];
}

/* Packets name registers of the I/O die that their engine is on */
static u32 sdma_reg_index(const struct vgpu_model *m, const struct vgpu_queue *q, u32 index)
{
	return (index & (vgpu_aid_regs(&m->config, 1) - 1)) + vgpu_aid_regs(&m->config, vgpu_sdma_aid(m, q->engine));
}

static u64 sdma_addr64(const u32 *p)
{
	return p[0] | (u64)p[1] << 32;
}

/*
 * By words: the kernel's memmove() goes byte by byte on a CPU that says it is fast at that, as
 * QEMU's does.
 */
static void sdma_copy_words(u64 *to, const u64 *from, u32 words)
{
	u32 i;

	for (i = 0; i < words; i++)
		WRITE_ONCE(to[i], READ_ONCE(from[i]));
}

static void sdma_copy(void *to, const void *from, u32 n)
{
	if (!(((uintptr_t)to | (uintptr_t)from | n) & 7))
		sdma_copy_words(to, from, n / 8);
	else
		memmove(to, from, n);
}

static u32 sdma_to_page_end(u64 va, u32 most)
{
	u32 n = VGPU_PAGE - (va & (VGPU_PAGE - 1));

	return n < most ? n : most;
}

/* @dst: one or two; @done: bytes of it that an earlier try has copied, and this one */
static bool sdma_copy_linear(struct vgpu_model *m, u32 as, u64 src, const u64 *dst, u32 dsts,
			     u64 bytes, u64 *done)
{
	while (*done < bytes) {
		u64 left = bytes - *done;
		u32 n = sdma_to_page_end(src + *done, left < VGPU_PAGE ? (u32)left : VGPU_PAGE), i;
		void *from, *to[2];

		for (i = 0; i < dsts; i++)
			n = sdma_to_page_end(dst[i] + *done, n);
		from = vgpu_vm_ptr(m, as, src + *done, n, false);
		for (i = 0; i < dsts; i++)
			to[i] = vgpu_vm_ptr(m, as, dst[i] + *done, n, true);
		if (!from || !to[0] || !to[dsts - 1])
			return false;
		for (i = 0; i < dsts; i++)
			sdma_copy(to[i], from, n);
		*done += n;
	}
	*done = 0;
	return true;
}

/* @done: as in sdma_copy_linear() */
static bool sdma_const_fill(struct vgpu_model *m, u32 as, u64 dst, u32 value, u64 bytes, u64 *done)
{
	for (dst &= ~3ULL, bytes &= ~3ULL; *done < bytes;) {
		u64 d = dst + *done, left = bytes - *done;
		u32 n = VGPU_PAGE - (d & (VGPU_PAGE - 1)), i;
		u32 *to;

		n = n < left ? n : (u32)left;
		to = vgpu_vm_ptr(m, as, d, n, true);
		if (!to)
			return false;
		for (i = 0; i < n / 4; i++)
			to[i] = value;
		*done += n;
	}
	*done = 0;
	return true;
}

/* WRITE with @dwords of data behind the four dwords of its head */
static bool sdma_write_linear(struct vgpu_model *m, const struct vgpu_stream *s, u64 dst,
			      u32 dwords)
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

static bool sdma_write_ptes(struct vgpu_model *m, u32 as, const u32 *p)
{
	u64 dst = sdma_addr64(p + 1), mask = sdma_addr64(p + 3), value = sdma_addr64(p +
										     5), increment = sdma_addr64(p + 7);
	u32 count = (p[9] & 0x7ffff) + 1;

	for (; count; count--, dst += 8, value += increment)
		if (!vgpu_vm_write64(m, as, dst, value | mask))
			return false;
	return true;
}

/* Return: 1 done, 0 the comparison failed and is to be repeated, -1 fault or unknown */
static int sdma_atomic_packet(struct vgpu_model *m, u32 as, const u32 *p)
{
	bool loop = p[0] & (1u << 16), matched;

	if (!vgpu_atomic(m, as, (p[0] >> 25) & 0x7f, sdma_addr64(p + 1), sdma_addr64(p + 3),
			 sdma_addr64(p + 5), &matched))
		return -1;
	return !loop || matched;
}

/* How much of what follows a COND_EXE is left out. Return: dwords, U32_MAX after a fault */
static u32 sdma_left_out(struct vgpu_model *m, u32 as, const u32 *p)
{
	u32 value;

	if (!vgpu_vm_read(m, as, sdma_addr64(p + 1) & ~3ULL, &value, 4))
		return U32_MAX;
	return value == p[3] ? 0 : p[4] & 0x3fff;
}

/* Return: 1 it holds, 0 wait, -1 fault */
static int sdma_poll_packet(struct vgpu_model *m, const struct vgpu_queue *q, u32 as, const u32 *p)
{
	bool memory = p[0] >> 31, hdp = p[0] & (1u << 26);
	u32 function = (p[0] >> 28) & 7, value, reference = p[3], mask = p[4];

	if (SDMA_SUBOP(p[0]) == SDMA_SUBOP_INVALIDATE) {
		if (VGPU_AS_VMID(as) || SDMA_INVALIDATE_ENGINE(p[0]) >= VGPU_VM_INV_ENGINES)
			return -1;
		vgpu_model_reg_write(m, vgpu_hub_reg(m, VGPU_HUB_GFX, VGPU_VM_INV_ENG0_REQ) + SDMA_INVALIDATE_ENGINE(p[0]), p[1]);
		return 1;
	}
	if (memory) {
		if (!vgpu_vm_read(m, as, sdma_addr64(p + 1) & ~3ULL, &value, 4))
			return -1;
	} else {
		if (hdp && !VGPU_AS_VMID(as))
			vgpu_model_reg_write(m, sdma_reg_index(m, q, p[2] >> 2), reference);
		value = vgpu_model_reg_read(m, sdma_reg_index(m, q, p[1] >> 2));
	}
	return vgpu_compare(function, value & mask, reference);
}

static void sdma_raise_trap(struct vgpu_model *m, struct vgpu_queue *q, u32 context)
{
	const struct vgpu_asic *asic = m->config.asic;
	u32 iv[VGPU_IV_DWORDS];

	vgpu_iv_fill(iv, sdma_client_of(m, q->engine), asic->sdma_source,
		     asic->sdma_ring_shift ? q->ring_id | q->engine << asic->sdma_ring_shift : q->ring_id, q->vmid,
		     vgpu_ih_pasid(m, q->hub, q->vmid));
	iv[3] |= vgpu_hub_node(m, q->hub) << 16;
	iv[4] = context;
	vgpu_ih_push(m, iv);
}

/* Dwords of the packet that starts with @p (its first four are readable), 0 if it is unknown */
static u32 sdma_packet_dwords(const struct vgpu_model *m, const u32 *p)
{
	static const u8 dwords[] = {
		[SDMA_COPY] = 7, [SDMA_INDIRECT] = 6, [SDMA_FENCE] = 4, [SDMA_TRAP] = 2, [SDMA_POLL] = 6, [SDMA_COND_EXE] = 5,
		[SDMA_ATOMIC] = 8, [SDMA_FILL] = 5, [SDMA_PTEPDE] = 10, [SDMA_TIMESTAMP] = 3, [SDMA_SRBM_WRITE] = 3,
		[SDMA_GCR] = 5,
	};
	u32 op = SDMA_OP(p[0]);

	if (!m->config.asic->sdma_on_gfxhub && op == SDMA_GCR)
		return 0;
	if (m->config.asic->sdma_on_gfxhub && op == SDMA_POLL && SDMA_SUBOP(p[0]) == SDMA_SUBOP_INVALIDATE)
		return 4;
	if ((op == SDMA_COPY || op == SDMA_WRITE || op == SDMA_POLL || op == SDMA_PTEPDE) && SDMA_SUBOP(p[0]))
		return 0;
	if (op == SDMA_NOP)
		return 1 + ((p[0] >> 16) & 0x3fff);
	if (op == SDMA_WRITE)
		return 4 + (p[3] & 0xfffff) + 1;
	if (op == SDMA_COPY && p[0] & SDMA_BROADCAST)
		return 9;
	return op < ARRAY_SIZE(dwords) ? dwords[op] : 0;
}

/*
 * Where the next packet comes from: the indirect buffer, or the ring. User VMIDs and the kernel's
 * alike go through the memory hub.
 */
static struct vgpu_stream sdma_stream_of(const struct vgpu_queue *q)
{
	if (q->ib_depth)
		return q->ib[0];
	return (struct vgpu_stream) {
		.as = vgpu_queue_as(q),
		.base = q->ring,
		.mask = q->ring_bytes / 4 - 1,
		.pos = q->rptr / 4,
		.end = q->wptr / 4,
	};
}

static void sdma_advance(struct vgpu_queue *q, u32 dwords)
{
	if (q->ib_depth)
		q->ib[0].pos += dwords;
	else
		q->rptr += dwords * 4ULL;
}

/*
 * Not to be continued, also not after it is mapped again: SDMA has no way to tell a process. But what failed for a page that may come is
 * tried again: copies and fills go on where they were,
 * other packets may begin anew.
 */
static void sdma_failed(struct vgpu_model *m, struct vgpu_queue *q, const char *what, u64 detail)
{
	if (m->retried) {
		q->ready_ns = m->now_ns + VGPU_AGAIN_NS;
		return;
	}
	vgpu_queue_error(m, q, VGPU_EC_NONE, what, detail);
	if (q->regs)
		vgpu_reg_set(m, q->regs + VGPU_SDMA_CONTEXT_STATUS,
			     vgpu_reg(m, q->regs + VGPU_SDMA_CONTEXT_STATUS) | SDMA_CONTEXT_EXCEPTION);
}

/* One packet. Return: false if it has to wait, or is not complete, or the queue is stuck. */
static bool sdma_step(struct vgpu_model *m, struct vgpu_queue *q)
{
	const struct vgpu_stream s = sdma_stream_of(q);
	u64 left = s.end - s.pos;
	u32 p[SDMA_MAX_DWORDS] = { 0 }, dwords, skip = 0;
	bool ok = true;
	int holds = 1;

	if (!vgpu_stream_read(m, &s, 0, p, left < 4 ? (u32)left : 4)) {
		sdma_failed(m, q, "packets are not mapped", s.base);
		return false;
	}
	dwords = sdma_packet_dwords(m, p);
	if (!dwords) {
		sdma_failed(m, q, "bad SDMA packet", p[0]);
		return false;
	}
	if (SDMA_OP(p[0]) == SDMA_NOP) {
		sdma_advance(q, dwords < left ? dwords : (u32)left);
		return true;
	}
	if (dwords > left) {
		if (q->ib_depth)			/* a buffer does not grow */
			sdma_failed(m, q, "packet is cut off", p[0]);
		return false;
	}
	if (!vgpu_stream_read(m, &s, 0, p, dwords < SDMA_MAX_DWORDS ? dwords : SDMA_MAX_DWORDS)) {
		sdma_failed(m, q, "packets are not mapped", s.base);
		return false;
	}
	switch (SDMA_OP(p[0])) {
	case SDMA_COPY:
		ok = sdma_copy_linear(m, s.as, sdma_addr64(p + 3),
				      (const u64[]){ sdma_addr64(p + 5), sdma_addr64(p +
										     7) }, p[0] & SDMA_BROADCAST ? 2 : 1,
				      (u64)(p[1] & 0x3fffffff) + 1, &q->done);
		break;
	case SDMA_WRITE:
		ok = sdma_write_linear(m, &s, sdma_addr64(p + 1), (p[3] & 0xfffff) + 1);
		break;
	case SDMA_INDIRECT:
		if (q->ib_depth) {
			ok = false;
			break;
		}
		q->ib_depth = 1;
		q->ib[0] = (struct vgpu_stream) {
			.as = VGPU_AS(q->hub, q->vmid ? q->vmid : (p[0] >> 16) & 0xf),
			.base = sdma_addr64(p + 1) & ~0x1fULL,
			.mask = ~0ULL,
			.end = p[3] & 0xfffff,
		};
		return true;				/* the packet is left behind at the buffer's end */
	case SDMA_FENCE:
		ok = vgpu_vm_write32(m, s.as, sdma_addr64(p + 1), p[3]);
		break;
	case SDMA_TRAP:
		sdma_raise_trap(m, q, p[1] & 0x0fffffff);
		break;
	case SDMA_POLL:
		holds = sdma_poll_packet(m, q, s.as, p);
		break;
	case SDMA_COND_EXE:
		skip = sdma_left_out(m, s.as, p);
		ok = skip != U32_MAX;
		if (ok && skip > left - dwords)
			return false;
		break;
	case SDMA_ATOMIC:
		holds = sdma_atomic_packet(m, s.as, p);
		break;
	case SDMA_FILL:
		ok = sdma_const_fill(m, s.as, sdma_addr64(p + 1), p[3], (u64)(p[4] & 0x3fffffff) +
				     1, &q->done);
		break;
	case SDMA_PTEPDE:
		ok = sdma_write_ptes(m, s.as, p);
		break;
	case SDMA_TIMESTAMP:
		ok = vgpu_vm_write64(m, s.as, sdma_addr64(p + 1), m->now_ns / VGPU_REFERENCE_NS);
		break;
	case SDMA_SRBM_WRITE:
		if (!VGPU_AS_VMID(s.as))
			vgpu_model_reg_write(m, sdma_reg_index(m, q, p[1]), p[2]);
		break;
	}
	if (!ok || holds < 0) {
		sdma_failed(m, q, "SDMA packet failed", p[0]);
		return false;
	}
	if (!holds)
		return false;
	sdma_advance(q, dwords + skip);
	return true;
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

	m->client = VGPU_UTCL2_SDMA0 + q->engine;
	m->retried = false;
	/*
	 * Packets of an earlier lap would be executed again, with what is in their buffers by now.
	 */
	if (!q->stuck && q->wptr > q->rptr && q->wptr - q->rptr > q->ring_bytes)
		sdma_failed(m, q, "write pointer is beyond the ring", q->wptr);
	m->retry = vgpu_queue_retries(m, q);
	while (!q->stuck && !m->retried) {
		if (q->ib_depth && q->ib[0].pos >= q->ib[0].end) {
			q->ib_depth = 0;
			sdma_advance(q, SDMA_INDIRECT_DWORDS);
		} else if ((!q->ib_depth && (q->rptr >= q->wptr || q->closing)) ||
			   !sdma_step(m, q)) {
			break;
		}
		progress = true;
	}
	m->retry = false;
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

static u64 sdma_reg64(struct vgpu_model *m, u32 lo, u32 hi)
{
	return vgpu_reg(m, lo) | (u64)vgpu_reg(m, hi) << 32;
}

static u8 sdma_hub_of(const struct vgpu_model *m, u32 engine)
{
	return (u8)(m->config.asic->sdma_on_gfxhub ? VGPU_HUB_GFX : VGPU_HUB_MM + vgpu_sdma_aid(m, engine));
}

/* A queue as the registers from @regs on describe it */
static struct vgpu_queue *sdma_map_registers(struct vgpu_model *m, u32 engine, u32 regs, u8 ring_id)
{
	struct vgpu_queue *q = vgpu_queue_alloc(m, VGPU_QUEUE_SDMA);
	u32 cntl = vgpu_reg(m, regs + VGPU_SDMA_RB_CNTL);

	if (!q)
		return NULL;
	q->hub = sdma_hub_of(m, engine);
	q->engine = engine;
	q->ring_id = ring_id;
	q->regs = regs;
	q->vmid = SDMA_RB_VMID(cntl);
	q->pasid = q->vmid ? (u16)vgpu_ih_pasid(m, VGPU_HUB_MM, q->vmid) : 0;
	q->ring = sdma_reg64(m, regs + SDMA_RB_BASE, regs + SDMA_RB_BASE_HI) << 8;
	q->ring_bytes = SDMA_RB_BYTES(cntl);
	q->rptr_addr = sdma_reg64(m, regs + SDMA_RB_RPTR_ADDR_LO, regs + SDMA_RB_RPTR_ADDR_HI);
	q->rptr = sdma_reg64(m, regs + SDMA_RB_RPTR, regs + SDMA_RB_RPTR_HI);
	q->wptr = sdma_reg64(m, regs + SDMA_RB_WPTR, regs + SDMA_RB_WPTR_HI);
	q->has_doorbell = vgpu_reg(m, regs + VGPU_SDMA_DOORBELL) & VGPU_SDMA_DOORBELL_ENABLE;
	q->doorbell = vgpu_reg(m, regs + VGPU_SDMA_DOORBELL_OFFSET) & 0x0ffffffc;
	return q;
}

/* The kernel's rings stop at once: it has waited for what it cares for. */
static void sdma_poll_kernel_ring(struct vgpu_model *m, u32 engine, u32 ring)
{
	u32 regs = vgpu_sdma_engine_regs(m, engine) + (ring ? m->config.asic->sdma_page_ring : SDMA_GFX_RING);
	struct vgpu_queue **q = &m->sdma_ring[engine][ring];

	if (!(vgpu_reg(m, regs + VGPU_SDMA_RB_CNTL) & VGPU_SDMA_RB_ENABLE)) {
		if (*q)
			vgpu_queue_free(m, *q);
		*q = NULL;
		return;
	}
	if (!*q)
		*q = sdma_map_registers(m, engine, regs, ring ? SDMA_PAGE_RING_ID : SDMA_GFX_RING_ID);
	if (*q && !(*q)->has_doorbell)
		(*q)->wptr = sdma_reg64(m, regs + SDMA_RB_WPTR, regs + SDMA_RB_WPTR_HI);
}

/*
 * A process's queue that the driver wrote into registers runs while it is enabled and has a
 * doorbell; the driver enables it once more, without one, only to read its pointers. It is idle
 * when the indirect buffer that it was in has ended. Return: it is not.
 */
static bool sdma_poll_user_queue(struct vgpu_model *m, u32 engine, u32 n)
{
	u32 regs = vgpu_sdma_rlc_regs(m, engine, n);
	u32 status = regs + VGPU_SDMA_CONTEXT_STATUS;
	struct vgpu_queue **q = &m->sdma_rlc[engine][n];

	if ((vgpu_reg(m, regs + VGPU_SDMA_RB_CNTL) & VGPU_SDMA_RB_ENABLE) && (vgpu_reg(m, regs + VGPU_SDMA_DOORBELL) & VGPU_SDMA_DOORBELL_ENABLE)) {
		if (!*q)
			*q = sdma_map_registers(m, engine, regs, SDMA_USER_RING_ID);
		if (*q)
			(*q)->closing = false;
		vgpu_reg_set(m, status, vgpu_reg(m, status) & ~VGPU_SDMA_CONTEXT_IDLE);
		return true;
	}
	if (*q && (*q)->ib_depth && !(*q)->stuck) {
		(*q)->closing = true;
		return true;
	}
	if (*q)
		vgpu_queue_free(m, *q);
	*q = NULL;
	vgpu_reg_set(m, status, VGPU_SDMA_CONTEXT_IDLE);
	return false;
}

/* Starts and stops rings and queues as their registers say. */
void vgpu_sdma_poll_registers(struct vgpu_model *m)
{
	u32 e, i, rlcs = 0;
	bool written = READ_ONCE(m->regs.sdma_rlc_written);

	WRITE_ONCE(m->regs.sdma_rlc_written, false);
	for (e = 0; e < vgpu_sdma_engines(m); e++) {
		for (i = 0; i < (m->config.asic->sdma_page_ring ? VGPU_SDMA_RINGS : 1); i++)
			sdma_poll_kernel_ring(m, e, i);
		for (i = 0; (written || m->sdma_rlcs) && i < VGPU_SDMA_RLCS; i++)
			rlcs += sdma_poll_user_queue(m, e, i);
	}
	if (written || m->sdma_rlcs)
		m->sdma_rlcs = rlcs;
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
	const struct vgpu_asic *asic = m->config.asic;
	u32 mqd[SDMA_MQD_DWORDS], *ib = mqd + asic->sdma_mqd.ib_cntl;
	struct vgpu_queue *q;

	if (request->engine >= vgpu_sdma_engines(m) || !vgpu_vm_read(m, VGPU_AS_KERNEL, request->mqd, mqd, sizeof(mqd)))
		return NULL;
	q = vgpu_queue_alloc(m, VGPU_QUEUE_SDMA);
	if (!q)
		return NULL;
	q->hub = sdma_hub_of(m, request->engine);
	q->engine = request->engine;
	q->ring_id = SDMA_USER_RING_ID;
	q->from_runlist = true;
	q->is_static = request->is_static;
	q->vmid = request->vmid;
	q->pasid = request->pasid;
	q->mqd = request->mqd;
	q->ring = (u64)mqd[SDMA_RB_BASE] << 8 | (u64)mqd[SDMA_RB_BASE_HI] << 40;
	q->ring_bytes = SDMA_RB_BYTES(mqd[VGPU_SDMA_RB_CNTL]);
	q->rptr_addr = mqd[asic->sdma_mqd.rptr_addr_hi + 1] | (u64)mqd[asic->sdma_mqd.rptr_addr_hi] << 32;
	q->rptr = mqd[SDMA_RB_RPTR] | (u64)mqd[SDMA_RB_RPTR_HI] << 32;
	q->has_doorbell = true;
	q->doorbell = mqd[asic->sdma_mqd.doorbell_offset] & 0x0ffffffc;
	q->stuck = mqd[asic->sdma_mqd.context_status] & SDMA_CONTEXT_EXCEPTION;
	/* The driver enables buffers as well, without one. */
	if ((ib[0] & SDMA_IB_ENABLE) && ib[SDMA_MQD_IB_SIZE]) {
		q->ib_depth = 1;
		q->ib[0] = (struct vgpu_stream) {
			.as = vgpu_queue_as(q),
			.base = sdma_addr64(ib + SDMA_MQD_IB_BASE),
			.mask = ~0ULL,
			.pos = ib[SDMA_MQD_IB_OFFSET],
			.end = ib[SDMA_MQD_IB_SIZE],
		};
	}
	q->done = sdma_addr64(mqd + asic->sdma_mqd.done);
	vgpu_queue_fetch_wptr(m, q, vgpu_wptr_as(m, q), request->wptr_addr);
	return q;
}
