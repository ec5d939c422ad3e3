// SPDX-License-Identifier: MIT
/*
 * regs.c - register file of the virtual GPU
 *
 * A register is memory unless it has a case below. Runs in any context, with the model's lock, and never calls into the command
 * processor: a bank that was started or told to stop is flagged in hqd_event.
 */
#include "model.h"

/* NBIO */
#define REG_PCIE_INDEX2			0x000e
#define REG_PCIE_DATA2			0x000f
#define REG_RCC_CONFIG_MEMSIZE		0x0de3		/* MiB */
#define REG_GPU_HDP_FLUSH_DONE		0x0e27
#define BIOS_SCRATCH_7_POSTED		0x200

/* GC; the hubs' invalidation engines are 18 registers in a row each */
#define REG_GC_USER_SHADER_ARRAY_CONFIG	(GC_BASE0 + 0x0270)
#define REG_GB_ADDR_CONFIG		(GC_BASE0 + 0x063e)
#define REG_GCVM_INVALIDATE_ENG0_SEM	(GC_BASE0 + 0x0891)
#define REG_GCVM_INVALIDATE_ENG0_ACK	(GC_BASE0 + 0x08b5)
#define REG_RLC_SAFE_MODE		(GC_BASE1 + 0x4c05)
#define REG_RLC_GPU_CLOCK_COUNT_LSB	(GC_BASE1 + 0x4c24)
#define REG_RLC_GPU_CLOCK_COUNT_MSB	(GC_BASE1 + 0x4c25)
#define REG_RLC_CAPTURE_GPU_CLOCK_COUNT	(GC_BASE1 + 0x4c26)
#define REG_MMVM_INVALIDATE_ENG0_SEM	(MMHUB_BASE0 + 0x0bd1)
#define REG_MMVM_INVALIDATE_ENG0_ACK	(MMHUB_BASE0 + 0x0bf5)
#define INVALIDATE_ENGINES		18u
#define GB_ADDR_CONFIG_DEFAULT		0x2a114042u
#define RLC_SAFE_MODE_CMD		0x1u
#define GRBM_GFX_INDEX_ALL_SE		0x80000000u
#define DEQUEUE_REQUEST			0x7u

/* Clocks of the device tick at 100 MHz */
#define CLOCK_NS			10

#define GFX_CNTL_PIPE(v)		((v) & 3)
#define GFX_CNTL_ME(v)			(((v) >> 2) & 3)
#define GFX_CNTL_QUEUE(v)		(((v) >> 8) & 7)
#define GFX_INDEX_SE(v)			(((v) >> 16) & 0xff)

static bool within(u32 index, u32 first, u32 count)
{
	return index - first < count;
}

/**
 * vgpu_regs_reset() - registers as firmware leaves them: posted, VRAM in place
 * @m: the device; its config is set
 */
void vgpu_regs_reset(struct vgpu_model *m)
{
	u32 *r = m->regs;

	memset(r, 0, VGPU_REGS * sizeof(u32));
	memset(&m->reg_extra, 0, sizeof(m->reg_extra));
	r[REG_BIOS_SCRATCH_0 + 7] = BIOS_SCRATCH_7_POSTED;
	r[REG_RCC_CONFIG_MEMSIZE] = (u32)(m->config.vram_bytes >> 20);
	r[REG_GB_ADDR_CONFIG] = GB_ADDR_CONFIG_DEFAULT;
	r[REG_GCMC_FB_LOCATION_BASE] = (u32)(VGPU_FB_BASE >> 24);
	r[REG_GCMC_FB_LOCATION_TOP] = (u32)((VGPU_FB_BASE + m->config.vram_bytes - 1) >> 24);
	r[REG_MMMC_FB_LOCATION_BASE] = r[REG_GCMC_FB_LOCATION_BASE];
	r[REG_MMMC_FB_LOCATION_TOP] = r[REG_GCMC_FB_LOCATION_TOP];
}

/* Slot of an indirect register; VGPU_INDIRECT_SLOTS if there is none (and the table is full, with @add) */
static u32 indirect_slot(struct vgpu_reg_extra *x, u32 address, bool add)
{
	u32 i, slot = (address >> 2) * 2654435761u % VGPU_INDIRECT_SLOTS;

	for (i = 0; i < VGPU_INDIRECT_SLOTS; i++, slot = (slot + 1) % VGPU_INDIRECT_SLOTS) {
		if (x->indirect_key[slot] == address + 1)
			return slot;
		if (x->indirect_key[slot])
			continue;
		if (!add)
			break;
		x->indirect_key[slot] = address + 1;
		return slot;
	}
	return VGPU_INDIRECT_SLOTS;
}

/* The bank that GRBM_GFX_CNTL selects; NULL beyond the micro engines that exist */
static struct vgpu_hqd *selected_hqd(struct vgpu_model *m)
{
	u32 cntl = m->regs[REG_GRBM_GFX_CNTL];

	if (GFX_CNTL_ME(cntl) >= VGPU_MES)
		return NULL;
	return &m->hqd[GFX_CNTL_ME(cntl)][GFX_CNTL_PIPE(cntl)][GFX_CNTL_QUEUE(cntl)];
}

static void hqd_write(struct vgpu_model *m, u32 reg, u32 value)
{
	struct vgpu_hqd *hqd = selected_hqd(m);

	if (!hqd)
		return;
	if ((reg == HQD_ACTIVE && ((value ^ hqd->r[reg]) & 1)) ||
	    (reg == HQD_DEQUEUE_REQUEST && (value & DEQUEUE_REQUEST)))
		m->hqd_event = true;
	hqd->r[reg] = value;
}

static u32 csq_read(struct vgpu_model *m, u32 index)
{
	u32 cntl = m->regs[REG_GRBM_GFX_CNTL];
	u32 gfx_index = m->regs[REG_GRBM_GFX_INDEX];
	u32 se = gfx_index & GRBM_GFX_INDEX_ALL_SE ? 0 : GFX_INDEX_SE(gfx_index);

	if (index == REG_SPI_CSQ_WF_ACTIVE_STATUS)
		return vgpu_csq_active_status(m, GFX_CNTL_ME(cntl), se);
	return vgpu_csq_active_count(m, GFX_CNTL_ME(cntl), GFX_CNTL_PIPE(cntl), index - REG_SPI_CSQ_WF_ACTIVE_COUNT_0, se);
}

static u32 reg_read(struct vgpu_model *m, u32 index)
{
	struct vgpu_hqd *hqd;
	u32 slot;

	if (within(index, REG_HQD_FIRST, HQD_REGS)) {
		hqd = selected_hqd(m);
		return hqd ? hqd->r[index - REG_HQD_FIRST] : 0;
	}
	if (within(index, REG_SPI_CSQ_WF_ACTIVE_STATUS, 1 + VGPU_QUEUES))
		return csq_read(m, index);

	/* Invalidations are complete at once, and nobody else wants the semaphore */
	if (within(index, REG_GCVM_INVALIDATE_ENG0_ACK, INVALIDATE_ENGINES) ||
	    within(index, REG_MMVM_INVALIDATE_ENG0_ACK, INVALIDATE_ENGINES))
		return 0xffff;
	if (within(index, REG_GCVM_INVALIDATE_ENG0_SEM, INVALIDATE_ENGINES) ||
	    within(index, REG_MMVM_INVALIDATE_ENG0_SEM, INVALIDATE_ENGINES))
		return 1;

	switch (index) {
	case REG_PCIE_DATA2:
		slot = indirect_slot(&m->reg_extra, m->regs[REG_PCIE_INDEX2], false);
		return slot < VGPU_INDIRECT_SLOTS ? m->reg_extra.indirect_value[slot] : 0;
	case REG_GPU_HDP_FLUSH_DONE:
		return ~0u;
	case REG_GC_USER_SHADER_ARRAY_CONFIG:
		slot = GFX_INDEX_SE(m->regs[REG_GRBM_GFX_INDEX]);
		return slot < VGPU_MAX_SE ? m->reg_extra.user_cu_mask[slot] : 0;
	default:
		return m->regs[index];
	}
}

static void user_cu_write(struct vgpu_model *m, u32 value)
{
	u32 gfx_index = m->regs[REG_GRBM_GFX_INDEX];
	u32 se;

	for (se = 0; se < VGPU_MAX_SE; se++)
		if ((gfx_index & GRBM_GFX_INDEX_ALL_SE) || GFX_INDEX_SE(gfx_index) == se)
			m->reg_extra.user_cu_mask[se] = value;
}

static void reg_write(struct vgpu_model *m, u32 index, u32 value)
{
	u64 clock;
	u32 slot;

	if (within(index, REG_HQD_FIRST, HQD_REGS)) {
		hqd_write(m, index - REG_HQD_FIRST, value);
		return;
	}
	switch (index) {
	case REG_PCIE_DATA2:
		slot = indirect_slot(&m->reg_extra, m->regs[REG_PCIE_INDEX2], true);
		if (slot < VGPU_INDIRECT_SLOTS)
			m->reg_extra.indirect_value[slot] = value;
		return;
	case REG_GC_USER_SHADER_ARRAY_CONFIG:
		user_cu_write(m, value);
		return;
	case REG_RLC_SAFE_MODE:
		value &= ~RLC_SAFE_MODE_CMD;		/* the request is taken */
		break;
	case REG_RLC_CAPTURE_GPU_CLOCK_COUNT:
		clock = m->ops->now_ns(m->ctx) / CLOCK_NS;
		m->regs[REG_RLC_GPU_CLOCK_COUNT_LSB] = (u32)clock;
		m->regs[REG_RLC_GPU_CLOCK_COUNT_MSB] = (u32)(clock >> 32);
		break;
	case REG_RCC_CONFIG_MEMSIZE:
		return;
	}
	m->regs[index] = value;
}

/**
 * vgpu_model_reg_read() - the driver, or a packet, reads a register
 * @m: the device
 * @index: dword index in BAR5
 *
 * Return: its value; all ones beyond the BAR.
 */
u32 vgpu_model_reg_read(struct vgpu_model *m, u32 index)
{
	unsigned long flags;
	u32 value;

	if (index >= VGPU_REGS)
		return ~0u;
	vgpu_lock(&m->lock, flags);
	value = reg_read(m, index);
	vgpu_unlock(&m->lock, flags);
	return value;
}

/**
 * vgpu_model_reg_write() - the driver, or a packet, writes a register
 * @m: the device
 * @index: dword index in BAR5
 * @value: what
 */
void vgpu_model_reg_write(struct vgpu_model *m, u32 index, u32 value)
{
	unsigned long flags;

	if (index >= VGPU_REGS)
		return;
	vgpu_lock(&m->lock, flags);
	reg_write(m, index, value);
	vgpu_unlock(&m->lock, flags);
}
