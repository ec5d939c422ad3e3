// SPDX-License-Identifier: MIT
/*
 * ih.c - interrupt ring of the virtual GPU
 *
 * Ring 0 in system memory, wptr written back behind it, rptr from the doorbell. Rings 1 and 2
 * (retry faults) stay empty.
 */
#include "model.h"

#define RB_ENABLE		0x00000001u
#define RB_SIZE(cntl)		(((cntl) >> 1) & 0x1f)		/* log2 of dwords */
#define RB_ENABLE_INTR		0x00020000u
#define DOORBELL_ENABLE		0x10000000u
#define DOORBELL_OFFSET(v)	((v) & 0x03ffffffu)		/* dwords */

static u32 ih_rptr(struct vgpu_model *m)
{
	u32 doorbell = vgpu_reg(m, VGPU_IH_DOORBELL_RPTR);
	u32 offset = DOORBELL_OFFSET(doorbell) * 4;

	if ((doorbell & DOORBELL_ENABLE) && offset + 4 <= m->config.doorbell_bytes)
		return READ_ONCE(*(u32 *)((u8 *)m->config.doorbells + offset));
	return vgpu_reg(m, VGPU_IH_RB_RPTR);
}

/**
 * vgpu_ih_push() - append an entry to the interrupt ring
 * @m: the device
 * @iv: the entry; the timestamp (dwords 1 and 2) is filled in here
 *
 * Return: false if the ring is disabled or full; the entry is lost then, as on the device.
 */
bool vgpu_ih_push(struct vgpu_model *m, const u32 iv[VGPU_IV_DWORDS])
{
	u32 cntl = vgpu_reg(m, VGPU_IH_RB_CNTL);
	u64 base = (u64)vgpu_reg(m, VGPU_IH_RB_BASE) << 8 | (u64)vgpu_reg(m, VGPU_IH_RB_BASE_HI) << 40;
	u64 wb = vgpu_reg(m, VGPU_IH_RB_WPTR_ADDR_LO) | (u64)vgpu_reg(m, VGPU_IH_RB_WPTR_ADDR_HI) << 32;
	u32 bytes = 4u << RB_SIZE(cntl);
	u32 wptr = vgpu_reg(m, VGPU_IH_RB_WPTR);
	u64 now = m->ops->now_ns(m->ctx) / 10;		/* 100 MHz */
	u32 *slot;

	if (!(cntl & RB_ENABLE) || ((ih_rptr(m) - wptr - 32) & (bytes - 1)) == 0)
		goto lost;
	slot = m->ops->sys_ptr(m->ctx, base + wptr, VGPU_IV_DWORDS * 4);
	if (!slot)
		goto lost;
	memcpy(slot, iv, VGPU_IV_DWORDS * 4);
	slot[1] = (u32)now;
	slot[2] = (u32)(now >> 32) & 0xffff;
	wptr = (wptr + VGPU_IV_DWORDS * 4) & (bytes - 1);
	vgpu_reg_set(m, VGPU_IH_RB_WPTR, wptr);
	slot = m->ops->sys_ptr(m->ctx, wb, 4);
	if (slot) {
		vgpu_wmb();
		WRITE_ONCE(*slot, wptr);
	}
	m->ih.pushed++;
	m->ih.pending |= !!(cntl & RB_ENABLE_INTR);
	return true;
lost:
	m->ih.lost++;
	return false;
}

/*
 * The process that an interrupt of a VMID is for: IH_VMID_n_LUT, written by the driver or by the
 * scheduler
 */
u32 vgpu_ih_pasid(struct vgpu_model *m, u32 hub, u32 vmid)
{
	return READ_ONCE(*vgpu_hub_lut(m, hub, vmid)) & 0xffff;
}

/**
 * vgpu_ih_take_pending() - is an interrupt due?
 * @m: the device
 *
 * Return: true if entries were pushed since the last call.
 */
bool vgpu_ih_take_pending(struct vgpu_model *m)
{
	bool pending = m->ih.pending;

	m->ih.pending = false;
	return pending;
}
