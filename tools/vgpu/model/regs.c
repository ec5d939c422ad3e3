// SPDX-License-Identifier: MIT
/*
 * regs.c - register file of the virtual GPU
 *
 * A register is memory unless it has a case below. Never calls into the command processor: what
 * that has to notice is left in vgpu_regs and picked up by vgpu_model_run().
 */
#include "model.h"

#define GFX_CNTL_PIPE(v)	((v) & 3)
#define GFX_CNTL_ME(v)		(((v) >> 2) & 3)
#define GFX_CNTL_VMID(v)	(((v) >> 4) & 0xf)
#define GFX_CNTL_QUEUE(v)	(((v) >> 8) & 7)
#define GFX_INDEX_SE(v)		(((v) >> 16) & 0xff)
#define GFX_INDEX_ALL_SE	0x80000000u
#define FAULT_CLEAR		0x1u		/* of VM_L2_PROTECTION_FAULT_CNTL */
#define FAULT_MORE		0x1u		/* of VM_L2_PROTECTION_FAULT_STATUS */
#define INV_VMIDS(v)		((v) & 0xffff)
#define INV_PTES		0x00440000u	/* of the L2 and of the L1s */
#define INV_CLEAR_FAULT		0x00800000u
#define MEC1			1
#define MEC1_PIPE0_RESET_SHIFT	16
#define RLC_SAFE_MODE_CMD	0x1u
#define XCP_CTL(xcc, xccs)	((xcc) | (xccs) << 3)
#define XCP_CTL_XCC(v)		((v) & 7)
#define XCP_CTL_XCCS(v)		(((v) >> 3) & 0xf)
#define MM_INDEX_VRAM		0x80000000u

/** vgpu_place_of() - number of a register of regs.h on a device; VGPU_NO_REG: it has none such */
u32 vgpu_place_of(const struct vgpu_asic *asic, u32 reg)
{
	const struct vgpu_place *p = asic->places;

	if (!p)
		return reg;
	for (; p->count; p++)
		if (reg - p->reg < p->count)
			return p->at + (reg - p->reg);
	return VGPU_NO_REG;
}

/* The other way round: which register of regs.h is it? VGPU_NO_REG: it is only memory */
static u32 regs_meaning(const struct vgpu_asic *asic, u32 at)
{
	const struct vgpu_place *p = asic->places;

	if (!p)
		return at;
	for (; p->count; p++)
		if (at - p->at < p->count)
			return p->reg + (at - p->at);
	return VGPU_NO_REG;
}

/** vgpu_xcc_regs() - how far the GC registers of an XCC are behind those of the first place */
u32 vgpu_xcc_regs(const struct vgpu_config *c, u32 xcc)
{
	return (u32)c->layout->xcc_place[xcc] << c->layout->xcc_shift;
}

/** vgpu_aid_regs() - how far the registers of an I/O die are behind those of the first one */
u32 vgpu_aid_regs(const struct vgpu_config *c, u32 aid)
{
	return aid << c->layout->aid_shift;
}

/** vgpu_aids() - how many I/O dies there are */
u32 vgpu_aids(const struct vgpu_config *c)
{
	return c->layout->xcc_place[c->xccs - 1] / 2 + 1;
}

/**
 * vgpu_xcc_node() - who an interrupt of an XCC comes from: numbers of an AID, its two places, one
 * that is not used
 */
u32 vgpu_xcc_node(const struct vgpu_config *c, u32 xcc)
{
	return c->layout->xcc_place[xcc] / 2 * 4 + c->layout->xcc_place[xcc] % 2 + 1;
}

/*
 * The XCC whose GC block a register is in, VGPU_NO_XCC: none. @reg: which one of regs.h it is,
 * taken for that of the first place
 */
static u32 regs_xcc_of(const struct vgpu_model *m, u32 index, u32 *reg)
{
	u32 shift = m->config.layout->xcc_shift, place = index >> shift;

	*reg = regs_meaning(m->config.asic, index & ((1u << shift) - 1));
	return place < VGPU_MAX_XCCS ? m->regs.xcc_of_place[place] : VGPU_NO_XCC;
}

/* A GC register of regs.h of an XCC */
static u32 *regs_gc_reg(struct vgpu_model *m, u32 xcc, u32 reg)
{
	return &m->regs.ram[vgpu_xcc_regs(&m->config, xcc) + vgpu_place_of(m->config.asic, reg)];
}

u32 vgpu_sdma_engines(const struct vgpu_model *m)
{
	return vgpu_aids(&m->config) * m->config.layout->sdma_per_aid;
}

u32 vgpu_sdma_aid(const struct vgpu_model *m, u32 engine)
{
	return engine / m->config.layout->sdma_per_aid;
}

u32 vgpu_sdma_engine_regs(const struct vgpu_model *m, u32 engine)
{
	return m->config.layout->sdma[vgpu_sdma_aid(m, engine)][engine % m->config.layout->sdma_per_aid];
}

/* First register of user queue @n of an engine */
u32 vgpu_sdma_rlc_regs(const struct vgpu_model *m, u32 engine, u32 n)
{
	return vgpu_sdma_engine_regs(m, engine) + VGPU_SDMA_RLC_FIRST + n * VGPU_SDMA_RLC_REGS;
}

/* If @index is a register of a user queue: where these begin. Return: 0 if it is not. */
static u32 regs_sdma_rlc_of(const struct vgpu_model *m, u32 index)
{
	u32 e, offset;

	for (e = 0; e < vgpu_sdma_engines(m); e++) {
		offset = index - vgpu_sdma_rlc_regs(m, e, 0);
		if (offset < VGPU_SDMA_RLCS * VGPU_SDMA_RLC_REGS)
			return index - offset % VGPU_SDMA_RLC_REGS;
	}
	return 0;
}

/* Power-on values of registers; the caller sets all others to zero */
static void regs_reset_sdma(struct vgpu_model *m)
{
	u32 e, i;

	for (e = 0; e < vgpu_sdma_engines(m); e++)
		for (i = 0; i < VGPU_SDMA_RLCS; i++)
			vgpu_reg_set(m, vgpu_sdma_rlc_regs(m, e, i) + VGPU_SDMA_CONTEXT_STATUS, VGPU_SDMA_CONTEXT_IDLE);
}

u64 *vgpu_doorbell_at(struct vgpu_model *m, u32 doorbell)
{
	if ((u64)doorbell + 8 > m->config.doorbell_bytes || (doorbell & 7))
		return NULL;
	return (u64 *)((u8 *)m->config.doorbells + doorbell);
}

/* Forget what was rung so far; any context */
static void regs_drop_doorbell(struct vgpu_model *m, u32 doorbell)
{
	u64 *p = vgpu_doorbell_at(m, doorbell);

	if (p)
		xchg(p, VGPU_DOORBELL_IDLE);
}

int vgpu_regs_init(struct vgpu_model *m)
{
	struct vgpu_regs *r = &m->regs;
	u32 place = 0, i;

	vgpu_lock_init(&r->lock);
	memset(r->xcc_of_place, VGPU_NO_XCC, sizeof(r->xcc_of_place));
	for (i = 0; i < m->config.xccs; i++) {
		place = m->config.layout->xcc_place[i];
		r->xcc_of_place[place] = (u8)i;
	}
	for (r->count = 0x20000; r->count < (place + 1) << m->config.layout->xcc_shift; )
		r->count *= 2;
	r->ram = vgpu_zalloc(r->count * sizeof(u32));
	r->xcc = vgpu_zalloc(m->config.xccs * sizeof(*r->xcc));
	r->indirect_key = vgpu_zalloc(VGPU_INDIRECT_SLOTS * sizeof(u32));
	r->indirect_value = vgpu_zalloc(VGPU_INDIRECT_SLOTS * sizeof(u32));
	if (!r->ram || !r->xcc || !r->indirect_key || !r->indirect_value) {
		vgpu_regs_fini(m);
		return -1;
	}
	vgpu_regs_reset(m);
	return 0;
}

/* Power-on values, and no request of the driver pending */
void vgpu_regs_reset(struct vgpu_model *m)
{
	struct vgpu_regs *r = &m->regs;
	unsigned long flags = vgpu_lock(&r->lock);
	u32 hub, vmid, i;

	memset(r->ram, 0, r->count * sizeof(u32));
	memset(r->xcc, 0, m->config.xccs * sizeof(*r->xcc));
	r->hqd_events = 0;
	memset(r->lut, 0, sizeof(r->lut));
	memset(r->indirect_key, 0, VGPU_INDIRECT_SLOTS * sizeof(u32));
	memset(r->indirect_value, 0, VGPU_INDIRECT_SLOTS * sizeof(u32));

	/* What firmware leaves behind: "posted", where VRAM is and how much of it */
	r->ram[VGPU_BIOS_SCRATCH_0 + 7] = 0x200;
	r->ram[VGPU_RCC_CONFIG_MEMSIZE] = (u32)(m->config.vram_bytes >> 20);
	for (i = 0; i < VGPU_POWER_ON && m->config.asic->power_on[i].reg; i++)
		r->ram[m->config.asic->power_on[i].reg] = m->config.asic->power_on[i].value;
	for (i = 0; i < m->config.xccs; i++) {
		*regs_gc_reg(m, i, VGPU_GB_ADDR_CONFIG) = 0x2a114042;
		if (m->config.asic->xcp_ctl)
			r->ram[vgpu_xcc_regs(&m->config, i) + m->config.asic->xcp_ctl] = XCP_CTL(i, m->config.xccs);
	}
	for (hub = 0; hub < VGPU_HUBS; hub++) {
		if (!vgpu_hub_exists(m, hub))
			continue;
		for (vmid = 0; vmid < VGPU_VMIDS; vmid++)
			r->tlb_generation[hub][vmid]++;		/* nothing that was found before is good */
		r->ram[vgpu_hub_reg(m, hub, VGPU_VM_FB_LOCATION_BASE)] = (u32)(VGPU_FB_BASE >> 24);
		r->ram[vgpu_hub_reg(m, hub, VGPU_VM_FB_LOCATION_TOP)] =
			(u32)((VGPU_FB_BASE + (m->config.hive ? m->config.hive * m->config.hive_bytes : m->config.vram_bytes) - 1) >> 24);
	}
	if (m->config.hive) {
		r->ram[m->config.asic->xgmi] = m->config.hive_node | (m->config.hive - 1) << 4;
		r->ram[m->config.asic->xgmi + 1] = (u32)(m->config.hive_bytes >> 24);
	}
	regs_reset_sdma(m);
	vgpu_unlock(&r->lock, flags);
}

void vgpu_regs_fini(struct vgpu_model *m)
{
	struct vgpu_regs *r = &m->regs;

	vgpu_free(r->ram);
	vgpu_free(r->xcc);
	vgpu_free(r->indirect_key);
	vgpu_free(r->indirect_value);
}

/** vgpu_hub_exists() - is there a hub of this number? */
bool vgpu_hub_exists(const struct vgpu_model *m, u32 hub)
{
	return hub < VGPU_HUB_MM ? hub < m->config.xccs : hub - VGPU_HUB_MM < vgpu_aids(&m->config);
}

/** vgpu_hub_reg() - dword index of a hub's register, which is given as that of gfx90a's GFXHUB */
u32 vgpu_hub_reg(const struct vgpu_model *m, u32 hub, u32 reg)
{
	const struct vgpu_asic *asic = m->config.asic;
	bool fb = reg >= VGPU_VM_FB_LOCATION_BASE;
	u32 offset = reg - (fb ? VGPU_VM_FB_LOCATION_BASE : VGPU_VM_CONTEXT0_CNTL);

	if (hub < VGPU_HUB_MM)
		return offset + (fb ? asic->gfxhub_fb : asic->gfxhub) + vgpu_xcc_regs(&m->config, hub);
	return offset + (fb ? asic->mmhub_fb : asic->mmhub) + vgpu_aid_regs(&m->config, hub - VGPU_HUB_MM);
}

/**
 * vgpu_hub_node() - who an interrupt comes from
 * @m: the device
 * @hub: hub that the source's memory accesses go through
 *
 * Return: node id; 0 on a device that has one XCC and no such number.
 */
u32 vgpu_hub_node(const struct vgpu_model *m, u32 hub)
{
	if (!m->config.asic->lut_index)
		return 0;
	return hub < VGPU_HUB_MM ? vgpu_xcc_node(&m->config, hub) : (hub - VGPU_HUB_MM) * 4;
}

/**
 * vgpu_hub_lut() - IH_VMID_n_LUT of a VMID, for the accesses through a hub. Aligned words: no lock.
 */
u32 *vgpu_hub_lut(struct vgpu_model *m, u32 hub, u32 vmid)
{
	return &m->regs.lut[vgpu_hub_node(m, hub)][hub < VGPU_HUB_MM ? vmid : VGPU_LUT_REGS / 2 + vmid];
}

/** vgpu_xccs_in_partition() - XCCs that work on the queues of XCC @xcc together, itself included */
u32 vgpu_xccs_in_partition(struct vgpu_model *m, u32 xcc)
{
	u32 ctl = m->config.asic->xcp_ctl ? vgpu_reg(m, vgpu_xcc_regs(&m->config, xcc) + m->config.asic->xcp_ctl) : 0;

	return XCP_CTL_XCCS(ctl) ? XCP_CTL_XCCS(ctl) : 1;
}

/** vgpu_xcc_in_partition() - number of XCC @xcc among them; 0 is the first */
u32 vgpu_xcc_in_partition(struct vgpu_model *m, u32 xcc)
{
	return m->config.asic->xcp_ctl ? XCP_CTL_XCC(vgpu_reg(m, vgpu_xcc_regs(&m->config, xcc) + m->config.asic->xcp_ctl)) : 0;
}

/* The LUT register @index as seen through IH_VMID_LUT_INDEX, NULL if it is none */
static u32 *regs_lut_reg(struct vgpu_model *m, u32 index)
{
	struct vgpu_regs *r = &m->regs;
	u32 node = m->config.asic->lut_index ? r->ram[m->config.asic->lut_index] % VGPU_NODES : 0;

	return index - VGPU_IH_VMID_0_LUT < VGPU_LUT_REGS ? &r->lut[node][index - VGPU_IH_VMID_0_LUT] : NULL;
}

/*
 * MM_DATA: the driver's window to VRAM before it has mapped the BAR. NULL: there is nothing behind
 * it.
 */
static u32 *regs_mm_data(struct vgpu_model *m)
{
	u32 index = m->regs.ram[VGPU_MM_INDEX];

	if (!(index & MM_INDEX_VRAM))
		return NULL;
	return m->ops->vram_ptr(m->ctx, (u64)m->regs.ram[VGPU_MM_INDEX_HI] << 31 | (index & ~MM_INDEX_VRAM), 4);
}

/*
 * Slot of an indirect register, VGPU_INDIRECT_SLOTS if it was never written and @add is false, or
 * if the table is full
 */
static u32 regs_indirect_slot(struct vgpu_regs *r, u32 address, bool add)
{
	u32 i, slot = (address >> 2) * 2654435761u % VGPU_INDIRECT_SLOTS;

	for (i = 0; i < VGPU_INDIRECT_SLOTS; i++, slot = (slot + 1) % VGPU_INDIRECT_SLOTS) {
		if (r->indirect_key[slot] == address + 1)
			return slot;
		if (r->indirect_key[slot])
			continue;
		if (!add)
			break;
		r->indirect_key[slot] = address + 1;
		return slot;
	}
	return VGPU_INDIRECT_SLOTS;
}

/* The latest request counts. */
static void regs_hqd_event(struct vgpu_regs *r, u8 *event, u8 what)
{
	if (!*event)
		r->hqd_events++;
	*event = what;
}

static u32 *regs_hqd_bank(struct vgpu_model *m, u32 xcc)
{
	u32 cntl = *regs_gc_reg(m, xcc, VGPU_GRBM_GFX_CNTL);

	return m->regs.xcc[xcc].hqd[GFX_CNTL_ME(cntl)][GFX_CNTL_PIPE(cntl)][GFX_CNTL_QUEUE(cntl)];
}

static void regs_hqd_write(struct vgpu_model *m, u32 xcc, u32 reg, u32 value)
{
	struct vgpu_regs *r = &m->regs;
	u32 cntl = *regs_gc_reg(m, xcc, VGPU_GRBM_GFX_CNTL);
	u32 *bank = regs_hqd_bank(m, xcc);
	u8 *event = &r->xcc[xcc].hqd_event[GFX_CNTL_ME(cntl)][GFX_CNTL_PIPE(cntl)][GFX_CNTL_QUEUE(cntl)];
	u8 what = 0;

	if (reg == VGPU_HQD_ACTIVE)
		what = value & 1 ? VGPU_HQD_EVENT_ACTIVATE : bank[reg] & 1 ? VGPU_HQD_EVENT_DEACTIVATE : 0;
	else if (reg == VGPU_HQD_DEQUEUE_REQUEST && (value & 7) && (bank[VGPU_HQD_ACTIVE] & 1))
		what = VGPU_HQD_EVENT_DEQUEUE;
	bank[reg] = value;
	if (what)
		regs_hqd_event(r, event, what);
}

/* The queues of MEC1 whose pipes are in @pipes, a bit each */
static void regs_pipe_reset(struct vgpu_regs *r, u32 xcc, u32 pipes)
{
	struct vgpu_xcc_regs *x = &r->xcc[xcc];
	u32 pipe, queue;

	for (pipe = 0; pipe < VGPU_PIPES; pipe++)
		for (queue = 0; pipes >> pipe & 1 && queue < VGPU_QUEUES; queue++)
			if (x->hqd[MEC1][pipe][queue][VGPU_HQD_ACTIVE] & 1)
				regs_hqd_event(r, &x->hqd_event[MEC1][pipe][queue],
					       VGPU_HQD_EVENT_PIPE_RESET);
}

/* The queue in GRBM_GFX_CNTL */
static void regs_queue_reset(struct vgpu_model *m, u32 xcc)
{
	struct vgpu_regs *r = &m->regs;
	u32 cntl = *regs_gc_reg(m, xcc, VGPU_GRBM_GFX_CNTL);

	if (regs_hqd_bank(m, xcc)[VGPU_HQD_ACTIVE] & 1)
		regs_hqd_event(r,
			       &r->xcc[xcc].hqd_event[GFX_CNTL_ME(cntl)][GFX_CNTL_PIPE(cntl)][GFX_CNTL_QUEUE(cntl)],
			       VGPU_HQD_EVENT_RESET);
}

/*
 * Waves of all queues of an XCC are spread over the shader engines: what engine @se shows of a
 * queue
 */
static u32 regs_waves_on_se(struct vgpu_model *m, u32 waves, u32 se)
{
	return waves / m->config.se + (se < waves % m->config.se);
}

/* All engines are built alike; the last ones may lack what one fuse switches off */
static u32 regs_fused_off(struct vgpu_model *m, u32 xcc)
{
	u32 units = m->config.cus / m->config.asic->cus_per_fuse;
	u32 built = (units + m->config.se - 1) / m->config.se, whole = units % m->config.se;
	u32 se = GFX_INDEX_SE(*regs_gc_reg(m, xcc, VGPU_GRBM_GFX_INDEX));

	return whole && se >= whole && se < m->config.se ? 0x10000u << (built - 1) : 0;
}

/* As of VGPU_WAVES_LAG_NS ago. What is older than that is not needed any more. */
static u32 regs_lagging_waves(struct vgpu_waves_seen *s, u64 now)
{
	u32 i = 0;

	while (i + 1 < s->count && s->ns[i + 1] + VGPU_WAVES_LAG_NS <= now)
		i++;
	if (i) {
		s->count -= i;
		memmove(s->ns, s->ns + i, s->count * sizeof(s->ns[0]));
		memmove(s->waves, s->waves + i, s->count * sizeof(s->waves[0]));
	}
	return s->count ? s->waves[0] : 0;
}

/* What comes when there is no room is seen as early as the change before it. */
static void regs_note_waves(struct vgpu_model *m, struct vgpu_waves_seen *s, u32 waves)
{
	u64 now = m->ops->now_ns(m->ctx);

	if (!s->count) {				/* none until now */
		s->count = 1;
		s->ns[0] = 0;
		s->waves[0] = 0;
	}
	regs_lagging_waves(s, now);
	if (s->waves[s->count - 1] == waves)
		return;
	if (s->count < VGPU_WAVES_SEEN)
		s->ns[s->count++] = now;
	s->waves[s->count - 1] = waves;
}

/* What the registers say of the waves of a slot of MEC1 */
static u32 regs_waves_shown(struct vgpu_model *m, u32 xcc, u32 pipe, u32 queue)
{
	struct vgpu_xcc_regs *x = &m->regs.xcc[xcc];

	if (vgpu_firmware(m, VGPU_FIRMWARE_ZERO_WAVES))
		return 0;
	if (vgpu_firmware(m, VGPU_FIRMWARE_LAGGING_WAVES))
		return regs_lagging_waves(&x->seen[pipe][queue], m->ops->now_ns(m->ctx));
	return x->waves[pipe][queue];
}

static u32 regs_spi_csq_read(struct vgpu_model *m, u32 xcc, u32 reg)
{
	struct vgpu_regs *r = &m->regs;
	u32 gfx_index = *regs_gc_reg(m, xcc, VGPU_GRBM_GFX_INDEX);
	u32 cntl = *regs_gc_reg(m, xcc, VGPU_GRBM_GFX_CNTL);
	u32 se = gfx_index & GFX_INDEX_ALL_SE ? 0 : GFX_INDEX_SE(gfx_index);

	m->stats.wave_reads++;
	if (GFX_CNTL_ME(cntl) != MEC1 || se >= m->config.se)
		return 0;
	if (reg == VGPU_SPI_CSQ_STATUS)
		return r->xcc[xcc].mapped;
	return regs_waves_on_se(m,
				regs_waves_shown(m, xcc, GFX_CNTL_PIPE(cntl),
						 reg - VGPU_SPI_CSQ_COUNT_0), se);
}

static u32 regs_read(struct vgpu_model *m, u32 index)
{
	struct vgpu_regs *r = &m->regs;
	u32 reg, xcc = regs_xcc_of(m, index, &reg);
	u32 hub, eng, slot, *p;

	p = regs_lut_reg(m, index);
	if (p)
		return *p;
	for (hub = 0; hub < VGPU_HUBS; hub++) {
		if (!vgpu_hub_exists(m, hub))
			continue;
		eng = index - vgpu_hub_reg(m, hub, VGPU_VM_INV_ENG0_SEM);
		if (eng < VGPU_VM_INV_ENGINES)
			return 1;			/* there is no other user of the semaphore */
	}
	if ((index & (vgpu_aid_regs(&m->config, 1) - 1)) == VGPU_HDP_FLUSH_DONE)
		return ~0u;				/* all of it, at once */
	if (xcc == VGPU_NO_XCC)
		return r->ram[index];
	if (reg >= VGPU_HQD_FIRST && reg <= VGPU_HQD_LAST)
		return regs_hqd_bank(m, xcc)[reg - VGPU_HQD_FIRST];
	if (reg >= VGPU_SPI_CSQ_STATUS && reg < VGPU_SPI_CSQ_COUNT_0 + VGPU_QUEUES)
		return regs_spi_csq_read(m, xcc, reg);
	switch (reg) {
	case VGPU_MM_DATA:
		p = regs_mm_data(m);
		return p ? *p : ~0u;
	case VGPU_PCIE_DATA2:
		slot = regs_indirect_slot(r, r->ram[VGPU_PCIE_INDEX2], false);
		return slot < VGPU_INDIRECT_SLOTS ? r->indirect_value[slot] : 0;
	case VGPU_SQ_SHADER_TMA_LO:
	case VGPU_SQ_SHADER_TMA_HI:
		return r->xcc[xcc].tma[GFX_CNTL_VMID(*regs_gc_reg(m, xcc,
								  VGPU_GRBM_GFX_CNTL))][reg - VGPU_SQ_SHADER_TMA_LO];
	case VGPU_CC_SHADER_ARRAY:
		return regs_fused_off(m, xcc);
	case VGPU_USER_SHADER_ARRAY:
		slot = GFX_INDEX_SE(*regs_gc_reg(m, xcc, VGPU_GRBM_GFX_INDEX));
		return slot < 8 ? r->xcc[xcc].user_cu_mask[slot] : 0;
	default:
		return r->ram[index];
	}
}

static void regs_user_cu_write(struct vgpu_model *m, u32 xcc, u32 value)
{
	u32 gfx_index = *regs_gc_reg(m, xcc, VGPU_GRBM_GFX_INDEX);
	u32 se;

	for (se = 0; se < 8; se++)
		if ((gfx_index & GFX_INDEX_ALL_SE) || GFX_INDEX_SE(gfx_index) == se)
			m->regs.xcc[xcc].user_cu_mask[se] = value;
}

static void regs_clear_fault(struct vgpu_model *m, u32 hub)
{
	u32 *ram = m->regs.ram;

	ram[vgpu_hub_reg(m, hub, VGPU_VM_FAULT_STATUS)] = 0;
	ram[vgpu_hub_reg(m, hub, VGPU_VM_FAULT_ADDR_LO)] = 0;
	ram[vgpu_hub_reg(m, hub, VGPU_VM_FAULT_ADDR_HI)] = 0;
}

static void regs_invalidate(struct vgpu_regs *r, u32 hub, u32 vmids)
{
	u32 vmid;

	for (vmid = 0; vmid < VGPU_VMIDS; vmid++)
		if (vmids >> vmid & 1) {
			WRITE_ONCE(r->tlb_generation[hub][vmid], r->tlb_generation[hub][vmid] + 1);
			r->tlb_invalidations++;
		}
}

/* Registers that each hub has. Return: false if it is none of them. */
static bool regs_hub_write(struct vgpu_model *m, u32 index, u32 value)
{
	struct vgpu_regs *r = &m->regs;
	u32 hub, eng;

	for (hub = 0; hub < VGPU_HUBS; hub++) {
		if (!vgpu_hub_exists(m, hub))
			continue;
		eng = index - vgpu_hub_reg(m, hub, VGPU_VM_INV_ENG0_REQ);
		if (eng < VGPU_VM_INV_ENGINES) {
			if (value & INV_CLEAR_FAULT)
				regs_clear_fault(m, hub);
			if (value & INV_PTES)
				regs_invalidate(r, hub, INV_VMIDS(value));
			r->ram[vgpu_hub_reg(m, hub, VGPU_VM_INV_ENG0_ACK) + eng] = INV_VMIDS(value);
			r->ram[index] = value;
			return true;
		}
		if (index == vgpu_hub_reg(m, hub, VGPU_VM_FAULT_CNTL)) {
			if (value & FAULT_CLEAR)
				regs_clear_fault(m, hub);
			r->ram[index] = value & ~FAULT_CLEAR;
			return true;
		}
	}
	return false;
}

/*
 * User queues of SDMA. The driver waits for "idle" right after it has switched a queue off: it has
 * to be gone from the moment it was switched on. It is not heard before a queue has its doorbell.
 */
static void regs_sdma_rlc_write(struct vgpu_model *m, u32 rlc, u32 reg, u32 value)
{
	struct vgpu_regs *r = &m->regs;

	r->sdma_rlc_written = true;
	if (reg == VGPU_SDMA_RB_CNTL && (value & VGPU_SDMA_RB_ENABLE))
		r->ram[rlc + VGPU_SDMA_CONTEXT_STATUS] &= ~VGPU_SDMA_CONTEXT_IDLE;
	if (reg == VGPU_SDMA_DOORBELL && (value & ~r->ram[rlc + reg] & VGPU_SDMA_DOORBELL_ENABLE))
		regs_drop_doorbell(m, r->ram[rlc + VGPU_SDMA_DOORBELL_OFFSET] & 0x0ffffffc);
}

/* What the driver calls the division of all XCCs into partitions of so many */
static u32 regs_partition_mode(u32 xccs, u32 xccs_in_partition)
{
	u32 partitions = xccs_in_partition ? xccs / xccs_in_partition : 1;

	if (partitions <= 1)
		return 0;			/* SPX */
	return xccs_in_partition > 1 && partitions <= 4 ? partitions - 1 : 4;	/* DPX, TPX, QPX; CPX */
}

static void regs_write(struct vgpu_model *m, u32 index, u32 value)
{
	struct vgpu_regs *r = &m->regs;
	u32 reg, xcc = regs_xcc_of(m, index, &reg);
	const struct vgpu_asic *asic = m->config.asic;
	u32 slot, rlc, *p;
	u64 now;

	if (xcc != VGPU_NO_XCC && reg >= VGPU_HQD_FIRST && reg <= VGPU_HQD_LAST) {
		regs_hqd_write(m, xcc, reg - VGPU_HQD_FIRST, value);
		return;
	}
	p = regs_lut_reg(m, index);
	if (p) {
		*p = value;
		return;
	}
	if (regs_hub_write(m, index, value))
		return;
	rlc = regs_sdma_rlc_of(m, index);
	if (rlc)
		regs_sdma_rlc_write(m, rlc, index - rlc, value);
	if (xcc == VGPU_NO_XCC) {
		r->ram[index] = value;
		return;
	}
	/* A mapping takes effect at once, and says so. */
	if (asic->atc_mapping && index - asic->atc_mapping < VGPU_VMIDS)
		r->ram[asic->atc_status] |= 1u << (index - asic->atc_mapping);
	if (asic->atc_mapping_mm && index - asic->atc_mapping_mm < VGPU_VMIDS)
		r->ram[asic->atc_status] |= 0x10000u << (index - asic->atc_mapping_mm);
	if (asic->atc_mapping && index == asic->atc_status)
		value = r->ram[index] & ~value;
	if (asic->xcp_ctl && !xcc && reg == asic->xcp_ctl)
		r->ram[asic->xcp_status] = regs_partition_mode(m->config.xccs,
							       XCP_CTL_XCCS(value)) << 4;
	switch (reg) {
	case VGPU_MM_DATA:
		p = regs_mm_data(m);
		if (p)
			*p = value;
		return;
	case VGPU_SPI_QUEUE_RESET:
		if (value & 1)
			regs_queue_reset(m, xcc);
		return;					/* clears itself */
	case VGPU_CP_MEC_CNTL:
		regs_pipe_reset(r, xcc, value >> MEC1_PIPE0_RESET_SHIFT & 0xf);
		break;
	case VGPU_CP_PQ_WPTR_POLL:
		r->xcc[xcc].wptr_poll |= value;		/* the next queue's request must not take back this one's */
		break;
	case VGPU_PCIE_DATA2:
		slot = regs_indirect_slot(r, r->ram[VGPU_PCIE_INDEX2], true);
		if (slot < VGPU_INDIRECT_SLOTS)
			r->indirect_value[slot] = value;
		return;
	case VGPU_SQ_SHADER_TMA_LO:
	case VGPU_SQ_SHADER_TMA_HI:
		r->xcc[xcc].tma[GFX_CNTL_VMID(*regs_gc_reg(m, xcc,
							   VGPU_GRBM_GFX_CNTL))][reg - VGPU_SQ_SHADER_TMA_LO] = value;
		return;
	case VGPU_USER_SHADER_ARRAY:
		regs_user_cu_write(m, xcc, value);
		return;
	case VGPU_RLC_SAFE_MODE:
		value &= ~RLC_SAFE_MODE_CMD;		/* request taken */
		break;
	case VGPU_RLC_CLOCK_CAPTURE:
		now = m->ops->now_ns(m->ctx) / VGPU_REFERENCE_NS;
		*regs_gc_reg(m, xcc, VGPU_RLC_CLOCK_LSB) = (u32)now;
		*regs_gc_reg(m, xcc, VGPU_RLC_CLOCK_MSB) = (u32)(now >> 32);
		break;
	case VGPU_RCC_CONFIG_MEMSIZE:
		return;
	}
	r->ram[index] = value;
}

/* See vgpu_model.h. */
u32 vgpu_model_reg_bytes(const struct vgpu_model *m)
{
	return m->regs.count * sizeof(u32);
}

/**
 * vgpu_model_reg_read() - the driver (or a packet) reads a register
 * @m: the device
 * @index: dword index in BAR5
 *
 * Return: its value; all ones beyond the BAR.
 */
u32 vgpu_model_reg_read(struct vgpu_model *m, u32 index)
{
	unsigned long flags;
	u32 value;

	if (index >= m->regs.count)
		return ~0u;
	flags = vgpu_lock(&m->regs.lock);
	value = regs_read(m, index);
	/* The size of memory is read to post a flush, which the driver does at times of its own. */
	m->stats.reg_reads += index != VGPU_RCC_CONFIG_MEMSIZE;
	vgpu_unlock(&m->regs.lock, flags);
	return value;
}

/**
 * vgpu_model_reg_write() - the driver (or a packet) writes a register
 * @m: the device
 * @index: dword index in BAR5
 * @value: what
 *
 * Return: false if it only chooses what other registers are about, so that vgpu_model_run() has
 * nothing to do for it.
 */
bool vgpu_model_reg_write(struct vgpu_model *m, u32 index, u32 value)
{
	unsigned long flags;
	u32 reg;

	if (index >= m->regs.count)
		return false;
	flags = vgpu_lock(&m->regs.lock);
	regs_write(m, index, value);
	vgpu_unlock(&m->regs.lock, flags);
	regs_xcc_of(m, index, &reg);
	return reg != VGPU_GRBM_GFX_CNTL && reg != VGPU_GRBM_GFX_INDEX;
}

/**
 * vgpu_model_asked() - is there a queue of whose registers something was asked, and
 * vgpu_model_run() has not seen it?
 * @m: the device
 *
 * Context: any
 *
 * Return: true if there is one
 */
bool vgpu_model_asked(const struct vgpu_model *m)
{
	return READ_ONCE(m->regs.hqd_events);
}

/* Raw content of a register, for the model itself. Aligned words: no lock. */
u32 vgpu_reg(struct vgpu_model *m, u32 index)
{
	return READ_ONCE(m->regs.ram[index]);
}

void vgpu_reg_set(struct vgpu_model *m, u32 index, u32 value)
{
	WRITE_ONCE(m->regs.ram[index], value);
}

u32 vgpu_hqd_get(struct vgpu_model *m, u32 xcc, u32 me, u32 pipe, u32 queue, enum vgpu_hqd_reg reg)
{
	return READ_ONCE(m->regs.xcc[xcc].hqd[me][pipe][queue][reg]);
}

void vgpu_hqd_set(struct vgpu_model *m, u32 xcc, u32 me, u32 pipe, u32 queue, enum vgpu_hqd_reg reg, u32 value)
{
	WRITE_ONCE(m->regs.xcc[xcc].hqd[me][pipe][queue][reg], value);
}

/**
 * vgpu_hqd_take() - next thing that a register write asked of a queue slot
 * @m: the device
 * @xcc: out: XCC
 * @me: out: microengine
 * @pipe: out: pipe
 * @queue: out: queue
 * @event: out: what
 *
 * Return: false if there is none.
 */
bool vgpu_hqd_take(struct vgpu_model *m, u32 *xcc, u32 *me, u32 *pipe, u32 *queue, enum vgpu_hqd_event *event)
{
	const u32 banks = VGPU_MES * VGPU_PIPES * VGPU_QUEUES;
	struct vgpu_regs *r = &m->regs;
	unsigned long flags;
	bool found = false;
	u32 i;

	if (!READ_ONCE(r->hqd_events))
		return false;
	flags = vgpu_lock(&r->lock);
	for (i = 0; i < m->config.xccs * banks; i++) {
		u8 *e = (u8 *)r->xcc[i / banks].hqd_event + i % banks;

		if (!*e)
			continue;
		*xcc = i / banks;
		*me = i / (VGPU_PIPES * VGPU_QUEUES) % VGPU_MES;
		*pipe = i / VGPU_QUEUES % VGPU_PIPES;
		*queue = i % VGPU_QUEUES;
		*event = *e;
		*e = 0;
		r->hqd_events--;
		found = true;
		break;
	}
	vgpu_unlock(&r->lock, flags);
	return found;
}

/**
 * vgpu_wptr_poll_take() - did the driver ask for the write pointer of a queue from memory?
 * @m: the device
 * @xcc: XCC
 * @me: microengine
 * @pipe: pipe
 * @queue: queue
 *
 * Return: true once per request.
 */
bool vgpu_wptr_poll_take(struct vgpu_model *m, u32 xcc, u32 me, u32 pipe, u32 queue)
{
	struct vgpu_regs *r = &m->regs;
	u32 bit = me == MEC1 ? 1u << (pipe * VGPU_QUEUES + queue) : 0;
	unsigned long flags = vgpu_lock(&r->lock);
	bool asked = r->xcc[xcc].wptr_poll & bit;

	r->xcc[xcc].wptr_poll &= ~bit;
	vgpu_unlock(&r->lock, flags);
	return asked;
}

/** vgpu_regs_tma() - address of what the trap handler of a process works with, 0: it has none */
u64 vgpu_regs_tma(struct vgpu_model *m, u32 xcc, u32 vmid)
{
	const u32 *tma = m->regs.xcc[xcc].tma[vmid];
	unsigned long flags = vgpu_lock(&m->regs.lock);
	u64 va = ((u64)tma[1] << 32 | tma[0]) << 8;

	vgpu_unlock(&m->regs.lock, flags);
	return va;
}

/** vgpu_regs_set_tma() - the same, set by the scheduler: low and high word of SQ_SHADER_TMA */
void vgpu_regs_set_tma(struct vgpu_model *m, u32 xcc, u32 vmid, const u32 tma[2])
{
	unsigned long flags = vgpu_lock(&m->regs.lock);

	memcpy(m->regs.xcc[xcc].tma[vmid], tma, sizeof(m->regs.xcc[xcc].tma[vmid]));
	vgpu_unlock(&m->regs.lock, flags);
}

/**
 * vgpu_regs_fault() - what VM_L2_PROTECTION_FAULT_* show: the first fault until the driver clears
 * it
 * @m: the device
 * @hub: that found it
 * @page: of the address
 * @status: not 0
 */
void vgpu_regs_fault(struct vgpu_model *m, u32 hub, u64 page, u32 status)
{
	u32 *ram = m->regs.ram, *now = &ram[vgpu_hub_reg(m, hub, VGPU_VM_FAULT_STATUS)];
	unsigned long flags = vgpu_lock(&m->regs.lock);

	if (*now) {
		*now |= FAULT_MORE;
	} else {
		*now = status;
		ram[vgpu_hub_reg(m, hub, VGPU_VM_FAULT_ADDR_LO)] = (u32)page;
		ram[vgpu_hub_reg(m, hub, VGPU_VM_FAULT_ADDR_HI)] = (u32)(page >> 32) & 0xf;
	}
	vgpu_unlock(&m->regs.lock, flags);
}

/**
 * vgpu_tlb_invalidate() - forget all translations of some VMIDs, at once
 * @m: the device
 * @hub: whose
 * @vmids: a bit each
 */
void vgpu_tlb_invalidate(struct vgpu_model *m, u32 hub, u32 vmids)
{
	unsigned long flags = vgpu_lock(&m->regs.lock);

	regs_invalidate(&m->regs, hub, vmids);
	vgpu_unlock(&m->regs.lock, flags);
}

/* Generation of the translations that are good now, never 0 */
u32 vgpu_tlb_generation(struct vgpu_model *m, u32 hub, u32 vmid)
{
	return READ_ONCE(m->regs.tlb_generation[hub][vmid]);
}

/**
 * vgpu_regs_set_waves() - what SPI_CSQ_WF_ACTIVE_* shows of a slot of MEC1
 * @m: the device
 * @xcc: XCC
 * @pipe: pipe
 * @queue: queue
 * @mapped: a queue occupies the slot
 * @waves: waves in flight
 */
void vgpu_regs_set_waves(struct vgpu_model *m, u32 xcc, u32 pipe, u32 queue, bool mapped, u32 waves)
{
	struct vgpu_xcc_regs *r = &m->regs.xcc[xcc];
	u32 bit = 1u << (pipe * VGPU_QUEUES + queue);

	if (vgpu_firmware(m, VGPU_FIRMWARE_LAGGING_WAVES)) {
		unsigned long flags = vgpu_lock(&m->regs.lock);

		regs_note_waves(m, &r->seen[pipe][queue], mapped ? waves : 0);
		vgpu_unlock(&m->regs.lock, flags);
	}
	WRITE_ONCE(r->waves[pipe][queue], mapped ? waves : 0);
	WRITE_ONCE(r->mapped, mapped ? r->mapped | bit : r->mapped & ~bit);
}
