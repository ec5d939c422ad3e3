// SPDX-License-Identifier: MIT
/*
 * ih.c - interrupt ring of the virtual GPU
 *
 * Ring 0 in system memory, wptr written back behind it, rptr from its doorbell. Rings 1 and 2 (retry faults) stay empty.
 */
#include "model.h"

#define REG_IH_RB_CNTL			(OSSSYS_BASE0 + 0x0080)
#define REG_IH_RB_BASE			(OSSSYS_BASE0 + 0x0081)	/* 39:8 */
#define REG_IH_RB_BASE_HI		(OSSSYS_BASE0 + 0x0082)
#define REG_IH_RB_RPTR			(OSSSYS_BASE0 + 0x0083)
#define REG_IH_RB_WPTR			(OSSSYS_BASE0 + 0x0084)
#define REG_IH_RB_WPTR_ADDR_HI		(OSSSYS_BASE0 + 0x0085)
#define REG_IH_RB_WPTR_ADDR_LO		(OSSSYS_BASE0 + 0x0086)
#define REG_IH_DOORBELL_RPTR		(OSSSYS_BASE0 + 0x0087)

#define IH_RB_ENABLE			0x00000001u
#define IH_RB_BYTES(cntl)		(4u << (((cntl) >> 1) & 0x1f))
#define IH_RB_ENABLE_INTR		0x00020000u
#define IH_DOORBELL_ENABLE		0x10000000u
#define IH_DOORBELL_OFFSET(v)		((v) & 0x03ffffffu)	/* in dwords */
#define IV_DWORDS			8
#define IV_BYTES			(IV_DWORDS * 4)
#define IV_CLOCK_NS			10
#define IV_VMID_MMHUB			0x80000000u

/* Where the driver is: it rings a doorbell; the register is what it wrote when it set the ring up */
static u32 ih_rptr(struct vgpu_model *m)
{
	u32 doorbell = m->regs[REG_IH_DOORBELL_RPTR];
	u32 offset = IH_DOORBELL_OFFSET(doorbell) * 4;

	if ((doorbell & IH_DOORBELL_ENABLE) && offset + 4 <= m->config.doorbell_bytes)
		return READ_ONCE(*(u32 *)((u8 *)m->config.doorbells + offset));
	return m->regs[REG_IH_RB_RPTR];
}

static bool push(struct vgpu_model *m, const struct vgpu_ih_entry *e)
{
	const u32 *r = m->regs;
	u32 cntl = r[REG_IH_RB_CNTL];
	u32 mask = IH_RB_BYTES(cntl) - 1;
	u32 wptr = r[REG_IH_RB_WPTR] & mask;
	u64 base = (u64)r[REG_IH_RB_BASE] << 8 | (u64)r[REG_IH_RB_BASE_HI] << 40;
	u64 clock = m->ops->now_ns(m->ctx) / IV_CLOCK_NS;
	u32 iv[IV_DWORDS] = {
		e->client | e->src << 8 | e->ring_id << 16 | (u32)e->vmid << 24 | (e->mmhub ? IV_VMID_MMHUB : 0),
		(u32)clock, (u32)(clock >> 32) & 0xffff, e->pasid, e->data[0], e->data[1], e->data[2], e->data[3],
	};
	void *slot;
	u32 *writeback;

	if (!(cntl & IH_RB_ENABLE) || ((wptr + IV_BYTES - ih_rptr(m)) & mask) == 0)
		return false;
	slot = m->ops->sys_ptr(m->ctx, base + wptr, IV_BYTES);
	writeback = m->ops->sys_ptr(m->ctx, r[REG_IH_RB_WPTR_ADDR_LO] | (u64)r[REG_IH_RB_WPTR_ADDR_HI] << 32, 4);
	if (!slot || !writeback)
		return false;
	memcpy(slot, iv, IV_BYTES);
	wptr = (wptr + IV_BYTES) & mask;
	m->regs[REG_IH_RB_WPTR] = wptr;
	smp_wmb();
	WRITE_ONCE(*writeback, wptr);
	m->ih.pending |= !!(cntl & IH_RB_ENABLE_INTR);
	return true;
}

/**
 * vgpu_ih_push() - append an entry to the interrupt ring
 * @m: the device
 * @entry: what happened
 *
 * With the ring off or full the entry is lost, as on the device.
 */
void vgpu_ih_push(struct vgpu_model *m, const struct vgpu_ih_entry *entry)
{
	unsigned long flags;

	vgpu_lock(&m->lock, flags);
	if (!push(m, entry))
		m->ih.dropped++;
	vgpu_unlock(&m->lock, flags);
}
