// SPDX-License-Identifier: MIT
/* bed.c - memory, time, driver and processes around the device model (see bed.h) */
#include <sys/mman.h>

#include "bed.h"

bool vgpu_quiet;

#define KIQ_ME		2
#define KIQ_PIPE	1		/* also where MES has a KIQ, on its own micro engine */
#define HIQ_PIPE	0
#define KIQ_DOORBELL	0x0
#define HIQ_DOORBELL	0x400
#define USER_DOORBELLS	0x1000
#define PM4(op, n)	(0xc0000000u | ((n) - 2) << 16 | (op) << 8)
#define LO(v)		((u32)(v))
#define HI(v)		((u32)((u64)(v) >> 32))

static void *sys_ptr(void *ctx, u64 addr, u32 len)
{
	struct bed *b = ctx;

	b->now += b->access_ns;
	if (addr < BED_SYSTEM_BASE || addr + len > BED_SYSTEM_BASE + BED_SYSTEM_BYTES)
		return NULL;
	return b->system + (addr - BED_SYSTEM_BASE);
}

static void *vram_ptr(void *ctx, u64 offset, u32 len)
{
	struct bed *b = ctx;

	b->now += b->access_ns;
	return offset + len <= BED_VRAM_BYTES && offset + len >= offset ? b->vram + offset : NULL;
}

/* Of all others, which have the same memory */
static void *peer_ptr(void *ctx, u32 node, u64 offset, u32 len)
{
	struct bed *b = ctx;

	return node && offset + len <= sizeof(b->peer) && offset + len >= offset ? b->peer + offset : NULL;
}

static u64 now_ns(void *ctx)
{
	struct bed *b = ctx;
	u64 now = b->now;
	void (*meanwhile)(void) = b->meanwhile;

	b->now += b->tick_ns;
	b->meanwhile = NULL;
	if (meanwhile)
		meanwhile();
	return now;
}

static void raise_irq(void *ctx)
{
	((struct bed *)ctx)->irqs++;
}

static bool cpu_wanted(void *ctx)
{
	return !((struct bed *)ctx)->idle;
}

static const struct vgpu_platform_ops ops = {
	.sys_ptr = sys_ptr, .vram_ptr = vram_ptr, .peer_ptr = peer_ptr, .now_ns = now_ns, .raise_irq = raise_irq, .cpu_wanted = cpu_wanted,
};

static void *must(void *p)
{
	if (!p) {
		fprintf(stderr, "out of memory\n");
		exit(2);
	}
	return p;
}

/* Zeroed pages that cost nothing until they are touched, and that the address sanitizer need not shadow */
static void *pages(u64 bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return must(p == MAP_FAILED ? NULL : p);
}

static void gfx942(struct vgpu_config *c, u32 xccs)
{
	c->asic = vgpu_asic_find("gfx942");
	c->xccs = xccs;
}

void bed_gfx942(struct vgpu_config *c)
{
	gfx942(c, 1);
}

void bed_xccs_2(struct vgpu_config *c)
{
	gfx942(c, 2);
}

void bed_xccs_4(struct vgpu_config *c)
{
	gfx942(c, 4);
}

void bed_mi308x(struct vgpu_config *c)
{
	const struct vgpu_product *p = vgpu_product_find("mi308x");

	gfx942(c, p->xccs);
	c->cus = p->cus;
	c->se = p->se;
	vgpu_firmware_parse(p->firmware, &c->firmware);
	vgpu_product_apply(p, c);
}

void bed_gfx1100(struct vgpu_config *c)
{
	c->asic = vgpu_asic_find("gfx1100");
}

struct bed *bed_new(void (*configure)(struct vgpu_config *c))
{
	struct bed *b = must(calloc(1, sizeof(*b)));

	b->vram = pages(BED_VRAM_BYTES);
	b->system = pages(BED_SYSTEM_BYTES);
	b->doorbells = must(calloc(1, BED_DOORBELL_BYTES));
	b->now = 1000000;
	b->next_doorbell = USER_DOORBELLS;
	b->next_pasid = 100;
	b->config = (struct vgpu_config) {
		.asic = vgpu_asic_find("gfx90a"),
		.vram_bytes = BED_VRAM_BYTES, .doorbells = b->doorbells, .doorbell_bytes = BED_DOORBELL_BYTES,
		.sclk_mhz = 1700, .xccs = 1, .cus = 8, .simds_per_cu = 4, .waves_per_simd = 8, .se = 4,
		.trap_ns = 10000, .runlist_ns = 20000, .connect_ns = 20000, .dispatch_ns = 2000, .hbm_bytes_per_us = 1600000, .quantum_ns = 100000,
	};
	if (configure)
		configure(&b->config);
	if (!b->config.layout)
		b->config.layout = &b->config.asic->layout;
	b->m = must(vgpu_model_create(&b->config, &ops, b));
	return b;
}

void bed_free(struct bed *b)
{
	vgpu_model_destroy(b->m);
	munmap(b->vram, BED_VRAM_BYTES);
	munmap(b->system, BED_SYSTEM_BYTES);
	free(b->doorbells);
	free(b);
}

/* Runs the model at every event, and at least every 20 us as the module does. */
bool bed_run_until(struct bed *b, bool (*done)(void *), void *arg, u64 ns)
{
	u64 end = b->now + ns, next;

	for (;;) {
		next = vgpu_model_run(b->m);
		if (done && done(arg))
			return true;
		if (b->now >= end)
			return !done;
		if (next <= b->now)
			next = b->now + 1;
		if (next > b->now + 20000)
			next = b->now + 20000;
		b->now = next < end ? next : end;
	}
}

void bed_run_for(struct bed *b, u64 ns)
{
	bed_run_until(b, NULL, NULL, ns);
}

u64 bed_vram(struct bed *b, u64 bytes)
{
	u64 offset = b->vram_used;

	b->vram_used += (bytes + VGPU_PAGE - 1) & ~(u64)(VGPU_PAGE - 1);
	if (b->vram_used > BED_VRAM_BYTES) {
		fprintf(stderr, "bed: VRAM is used up\n");
		exit(2);
	}
	return offset;
}

u64 bed_system(struct bed *b, u64 bytes)
{
	u64 offset = b->system_used;

	b->system_used += (bytes + VGPU_PAGE - 1) & ~(u64)(VGPU_PAGE - 1);
	if (b->system_used > BED_SYSTEM_BYTES) {
		fprintf(stderr, "bed: system memory is used up\n");
		exit(2);
	}
	return offset;
}

u64 bed_kernel_va(struct bed *b, u64 vram_offset)
{
	(void)b;
	return VGPU_FB_BASE + vram_offset;
}

static void reg(struct bed *b, u32 index, u32 value)
{
	vgpu_model_reg_write(b->m, index, value);
}

/* A register of regs.h */
static u32 gc_index(const struct bed *b, u32 index)
{
	return vgpu_place_of(b->config.asic, index) + vgpu_xcc_regs(&b->config, b->xcc);
}

static void gc_reg(struct bed *b, u32 index, u32 value)
{
	reg(b, gc_index(b, index), value);
}

static u32 gc_read(struct bed *b, u32 index)
{
	return vgpu_model_reg_read(b->m, gc_index(b, index));
}

void bed_write_reg(struct bed *b, u32 me, u32 pipe, u32 queue, enum vgpu_hqd_reg r, u32 value)
{
	gc_reg(b, VGPU_GRBM_GFX_CNTL, pipe | me << 2 | queue << 8);
	gc_reg(b, VGPU_HQD_FIRST + r, value);
	gc_reg(b, VGPU_GRBM_GFX_CNTL, 0);
}

u32 *bed_part(const struct bed *b, const struct bed_queue *q, u32 xcc)
{
	(void)b;
	return q->mqd_words + xcc * (BED_MQD_BYTES / 4);
}

static void vmid_mapping(struct bed *b, u32 atc, u32 status, u32 lut, u32 vmid, u32 mapping)
{
	reg(b, atc + vmid, mapping);
	while (!(vgpu_model_reg_read(b->m, b->config.asic->atc_status) & status << vmid))
		;
	reg(b, b->config.asic->atc_status, status << vmid);
	reg(b, lut + vmid, mapping);
}

void bed_vmid(struct bed *b, u32 vmid, const struct bed_process *p)
{
	const struct vgpu_asic *asic = b->config.asic;
	u32 mapping = p ? 1u << 31 | p->pasid : 0, hub;

	if (asic->lut_index) {
		for (hub = 0; hub < b->config.xccs; hub++) {
			reg(b, asic->lut_index, vgpu_xcc_node(&b->config, hub));
			vmid_mapping(b, asic->atc_mapping, 1, VGPU_IH_VMID_0_LUT, vmid, mapping);
			reg(b, asic->lut_index, vgpu_xcc_node(&b->config, hub) / 4 * 4);
			reg(b, VGPU_IH_VMID_0_LUT_MM + vmid, mapping);
		}
		reg(b, asic->lut_index, 0);
	} else {
		vmid_mapping(b, asic->atc_mapping, 1, VGPU_IH_VMID_0_LUT, vmid, mapping);
		vmid_mapping(b, asic->atc_mapping_mm, 1u << 16, VGPU_IH_VMID_0_LUT_MM, vmid, mapping);
	}
	for (hub = 0; p && hub < VGPU_HUBS; hub++) {
		if (!vgpu_hub_exists(b->m, hub))
			continue;
		reg(b, vgpu_hub_reg(b->m, hub, VGPU_VM_PT_BASE_LO) + 2 * vmid, LO(p->root | PTE_V));
		reg(b, vgpu_hub_reg(b->m, hub, VGPU_VM_PT_BASE_LO) + 2 * vmid + 1, HI(p->root));
	}
}

void bed_hqd_load(struct bed *b, const struct bed_queue *q, u32 pipe, u32 queue, u32 vmid)
{
	u32 i, *w = bed_part(b, q, b->xcc) + 0x80;

	w[VGPU_HQD_VMID] = vmid;
	gc_reg(b, VGPU_GRBM_GFX_CNTL, pipe | 1 << 2 | queue << 8);
	for (i = 0; i < VGPU_HQD_REGS; i++)
		gc_reg(b, VGPU_HQD_FIRST + i, w[i]);
	gc_reg(b, VGPU_HQD_FIRST + VGPU_HQD_PQ_DOORBELL, w[VGPU_HQD_PQ_DOORBELL] | 1u << 30);
	gc_reg(b, VGPU_HQD_FIRST + VGPU_HQD_PQ_WPTR_LO, w[VGPU_HQD_PQ_RPTR]);	/* empty until fetched */
	gc_reg(b, VGPU_CP_PQ_WPTR_POLL, 1u << (pipe * VGPU_QUEUES + queue));
	gc_reg(b, VGPU_HQD_FIRST + VGPU_HQD_ACTIVE, 1);
	gc_reg(b, VGPU_GRBM_GFX_CNTL, 0);
}

void bed_hqd_dequeue(struct bed *b, u32 pipe, u32 queue, u32 type)
{
	bed_write_reg(b, 1, pipe, queue, VGPU_HQD_DEQUEUE_REQUEST, type);
	bed_run_for(b, 0);
}

bool bed_hqd_active(struct bed *b, u32 pipe, u32 queue)
{
	return vgpu_hqd_get(b->m, b->xcc, 1, pipe, queue, VGPU_HQD_ACTIVE) & 1;
}

static void ring_write(u32 *ring, u64 *wptr, const u32 *dwords, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		ring[(*wptr)++ % BED_KERNEL_RING] = dwords[i];
}

void bed_kiq(struct bed *b, const u32 *dwords, u32 count)
{
	ring_write(b->kiq[b->xcc], &b->kiq_wptr[b->xcc], dwords, count);
	*(u64 *)((u8 *)b->doorbells + KIQ_DOORBELL + 8 * b->xcc) = b->kiq_wptr[b->xcc];
	bed_run_for(b, 0);
}

void bed_hiq(struct bed *b, const u32 *dwords, u32 count)
{
	ring_write(b->hiq, &b->hiq_wptr, dwords, count);
	*b->hiq_wptr_memory = b->hiq_wptr;
	*(u64 *)((u8 *)b->doorbells + HIQ_DOORBELL) = b->hiq_wptr;
	bed_run_for(b, 0);
}

static void hubs_up(struct bed *b)
{
	u64 gart = bed_vram(b, BED_GART_BYTES / VGPU_PAGE * 8);
	u32 hub, vmid;

	for (hub = 0; hub < VGPU_HUBS; hub++) {
		if (!vgpu_hub_exists(b->m, hub))
			continue;
		reg(b, vgpu_hub_reg(b->m, hub, VGPU_VM_CONTEXT0_CNTL), 1);
		reg(b, vgpu_hub_reg(b->m, hub, VGPU_VM_PT_BASE_LO), LO(gart | PTE_V));
		reg(b, vgpu_hub_reg(b->m, hub, VGPU_VM_PT_BASE_LO) + 1, HI(gart));
		reg(b, vgpu_hub_reg(b->m, hub, VGPU_VM_PT_END_LO), BED_GART_BYTES / VGPU_PAGE - 1);
		for (vmid = 1; vmid < 16; vmid++) {
			/* As amdgpu sets it up for this device: three levels, tables of 2^18 pages */
			reg(b, vgpu_hub_reg(b->m, hub, VGPU_VM_CONTEXT0_CNTL) + vmid, 1 | 2 << 1 | 9 << 3);
			reg(b, vgpu_hub_reg(b->m, hub, VGPU_VM_PT_END_LO) + 2 * vmid, 0xffffffff);
			reg(b, vgpu_hub_reg(b->m, hub, VGPU_VM_PT_END_LO) + 2 * vmid + 1, 0xf);
		}
	}
	/* GART: all of it is mapped to the beginning of system memory */
	for (vmid = 0; vmid < BED_GART_BYTES / VGPU_PAGE; vmid++)
		((u64 *)(b->vram + gart))[vmid] = (BED_SYSTEM_BASE + vmid * (u64)VGPU_PAGE) | PTE_V | PTE_S | PTE_RW;
}

static void ih_up(struct bed *b)
{
	u64 ring = bed_system(b, 65536), wb = bed_system(b, 4096);

	reg(b, VGPU_IH_RB_BASE, LO((BED_SYSTEM_BASE + ring) >> 8));
	reg(b, VGPU_IH_RB_BASE_HI, HI((BED_SYSTEM_BASE + ring) >> 8));
	reg(b, VGPU_IH_RB_WPTR_ADDR_LO, LO(BED_SYSTEM_BASE + wb));
	reg(b, VGPU_IH_RB_WPTR_ADDR_HI, HI(BED_SYSTEM_BASE + wb));
	reg(b, VGPU_IH_RB_CNTL, 1 | 14 << 1 | 0x00020000);
	b->ih_rptr = 0;
}

bool bed_interrupt(struct bed *b, u32 iv[VGPU_IV_DWORDS])
{
	u64 ring = (u64)vgpu_model_reg_read(b->m, VGPU_IH_RB_BASE) << 8;

	if (b->ih_rptr == vgpu_model_reg_read(b->m, VGPU_IH_RB_WPTR))
		return false;
	memcpy(iv, b->system + (ring - BED_SYSTEM_BASE) + b->ih_rptr, VGPU_IV_DWORDS * 4);
	b->ih_rptr = (b->ih_rptr + VGPU_IV_DWORDS * 4) & 0xffff;
	reg(b, VGPU_IH_RB_RPTR, b->ih_rptr);
	return true;
}

/* The ring of a kernel queue: its MQD from HQD on */
static void kernel_hqd(struct bed *b, u32 *w, u64 mqd, u64 ring, u64 page)
{
	w[VGPU_HQD_MQD_BASE_LO] = LO(bed_kernel_va(b, mqd));
	w[VGPU_HQD_MQD_BASE_HI] = HI(VGPU_FB_BASE);
	w[VGPU_HQD_PQ_BASE_LO] = LO(bed_kernel_va(b, ring) >> 8);
	w[VGPU_HQD_PQ_BASE_HI] = HI(bed_kernel_va(b, ring) >> 8);
	w[VGPU_HQD_PQ_CONTROL] = 11;
	w[VGPU_HQD_PQ_RPTR_REPORT_LO] = LO(bed_kernel_va(b, page));
	w[VGPU_HQD_PQ_RPTR_REPORT_HI] = HI(VGPU_FB_BASE);
}

/* MES by its KIQ, then its resources: VMIDs 8 to 15, two queues of each of four pipes, as 6.12 asks for */
static void mes_up(struct bed *b)
{
	u64 ring = bed_vram(b, BED_KERNEL_RING * 4), page = bed_vram(b, VGPU_PAGE), mqd = bed_vram(b, BED_MQD_BYTES);
	u32 rsrc[16] = { 0, 0, 0xffffff00, 0, 0, 0xc, 0xc, 0xc, 0xc, 0, 0, 0, 0, 0xfffffffe, 0, 0xfc };

	b->mes = (u32 *)(b->vram + ring);
	b->mes_wptr = 0;
	b->mes_frames = 0;
	b->mes_answer = (u64 *)(b->vram + page + 128);
	b->mes_passed = (u64 *)(b->vram + page + 192);
	kernel_hqd(b, (u32 *)(b->vram + mqd) + 0x80, mqd, ring, page);
	bed_kiq(b, (u32[]) { PM4(0xa2, 7), 5u << 26 | 1u << 29 | 1u << 18, HIQ_DOORBELL, LO(bed_kernel_va(b, mqd)),
			     HI(VGPU_FB_BASE), LO(bed_kernel_va(b, page + 64)), HI(VGPU_FB_BASE) }, 7);
	bed_mes(b, 0, rsrc, ARRAY_SIZE(rsrc), 50);
}

static void mes_write(struct bed *b, u32 *frame, u32 op, u32 status, const u64 *fence, u64 value)
{
	u64 va = bed_kernel_va(b, (u64)((const u8 *)fence - b->vram));

	frame[0] = 1 | op << 4 | 64 << 12;
	frame[status] = LO(va);
	frame[status + 1] = HI(va);
	frame[status + 2] = LO(value);
	frame[status + 3] = HI(value);
	ring_write(b->mes, &b->mes_wptr, frame, 64);
}

bool bed_mes_past(void *bed)
{
	struct bed *b = bed;

	return *b->mes_passed == b->mes_frames;
}

bool bed_mes(struct bed *b, u32 op, const u32 *words, u32 words_count, u32 status)
{
	u32 frame[64] = { 0 }, query[64] = { 0 };

	memcpy(frame, words, words_count * 4);
	*b->mes_answer = 0;
	mes_write(b, frame, op, status, b->mes_answer, 1);
	mes_write(b, query, 11, 2, b->mes_passed, ++b->mes_frames);
	*(u64 *)((u8 *)b->doorbells + HIQ_DOORBELL) = b->mes_wptr;
	bed_run_until(b, bed_mes_past, b, 1000000000);
	return *b->mes_answer == 1;
}

bool bed_mes_add(struct bed *b, struct bed_queue *q)
{
	u64 wptr = (u64)((u8 *)q->write_index - b->system);	/* all of GART begins at 0 */
	u32 f[50] = { 0 };

	if (wptr >= BED_GART_BYTES) {
		fprintf(stderr, "bed: the kernel does not see the write pointer\n");
		exit(2);
	}
	f[1] = q->p->pasid;
	f[2] = LO(q->p->root);
	f[3] = HI(q->p->root);
	f[8] = q->p->quantum * 10000;		/* of 100 ns */
	f[14] = LO(q->mqd);
	f[15] = HI(q->mqd);
	f[18] = q->doorbell / 4;
	f[19] = LO(q->mqd);
	f[20] = HI(q->mqd);
	f[21] = LO(wptr);
	f[22] = HI(wptr);
	f[27] = q->sdma ? 2 : 1;
	f[36] = q->gws << 14;
	return bed_mes(b, 2, f, ARRAY_SIZE(f), 37);
}

bool bed_mes_remove(struct bed *b, const struct bed_queue *q)
{
	return bed_mes(b, 3, (u32[]) { 0, q->doorbell / 4, LO(q->mqd), HI(q->mqd) }, 4, 5);
}

bool bed_mes_gang(struct bed *b, u32 op, const struct bed_queue *q, u64 va, u32 value)
{
	u32 f[7] = { 0, !q && op != 8, q ? LO(q->mqd) : 0, q ? HI(q->mqd) : 0, LO(va), HI(va), value };

	return bed_mes(b, op, f, op == 6 ? 7 : 4, op == 6 ? 7 : op == 7 ? 4 : 24);
}

/* KIQs: by registers */
static void kiqs_up(struct bed *b)
{
	u32 r, hqd[VGPU_HQD_REGS] = { 0 }, me = b->config.asic->mes ? VGPU_ME_MES : KIQ_ME;
	u64 ring, page;

	for (b->xcc = 0; b->xcc < b->config.xccs; b->xcc++) {
		ring = bed_vram(b, BED_KERNEL_RING * 4);
		page = bed_vram(b, VGPU_PAGE);
		b->kiq[b->xcc] = (u32 *)(b->vram + ring);
		b->kiq_wptr[b->xcc] = 0;
		kernel_hqd(b, hqd, bed_vram(b, BED_MQD_BYTES), ring, page);
		hqd[VGPU_HQD_PQ_DOORBELL] = (KIQ_DOORBELL + 8 * b->xcc) | 1u << 30;
		for (r = 0; r < VGPU_HQD_REGS; r++)
			if (hqd[r])
				bed_write_reg(b, me, KIQ_PIPE, 0, r, hqd[r]);
		bed_write_reg(b, me, KIQ_PIPE, 0, VGPU_HQD_ACTIVE, 1);
	}
	b->xcc = 0;
}

void bed_driver_up(struct bed *b)
{
	u64 hiq, page, mqd;
	u32 *w, i;

	hubs_up(b);
	ih_up(b);
	kiqs_up(b);
	if (b->config.asic->mes) {
		mes_up(b);
		return;
	}

	/* HIQ: by KIQ */
	hiq = bed_vram(b, BED_KERNEL_RING * 4);
	page = bed_vram(b, VGPU_PAGE);
	mqd = bed_vram(b, BED_MQD_BYTES * b->config.xccs);
	b->hiq = (u32 *)(b->vram + hiq);
	b->hiq_wptr_memory = (u64 *)(b->vram + page + 64);
	b->fence = (u64 *)(b->vram + page + 128);
	b->hiq_mqd_words = (u32 *)(b->vram + mqd);
	b->hiq_wptr = 0;
	for (i = 0; i < b->config.xccs; i++, mqd += BED_MQD_BYTES) {
		w = (u32 *)(b->vram + mqd);
		if (b->config.asic->xcp_ctl)
			w[BED_MQD_STRIDE] = BED_MQD_BYTES;
		kernel_hqd(b, w + 0x80, mqd, hiq, page);
		b->xcc = i;
		bed_kiq(b, (u32[]) { PM4(0xa2, 7), 1u << 26 | 1u << 29 | 1u << 18 | HIQ_PIPE << 16, HIQ_DOORBELL,
				     LO(bed_kernel_va(b, mqd)), HI(VGPU_FB_BASE), LO(bed_kernel_va(b, page + 64)),
				     HI(VGPU_FB_BASE) }, 7);
	}
	b->xcc = 0;

	/* slots: two queues of each pipe are the kernel's */
	bed_hiq(b, (u32[]) { PM4(0xa0, 8), BED_VMIDS | 1u << 29, 0xfcfcfcfc, 0, 0, 0, 0, 0 }, 8);
}

bool bed_hiq_fence(struct bed *b)
{
	u64 va = bed_kernel_va(b, (u64)((u8 *)b->fence - b->vram)), deadline = b->now + 100000000;

	b->fence_value++;
	bed_hiq(b, (u32[]) { PM4(0xa4, 7), 2u << 30, 0, LO(va), HI(va), LO(b->fence_value), HI(b->fence_value) }, 7);
	while (*b->fence != b->fence_value && b->now < deadline)
		bed_run_for(b, 1000);
	return *b->fence == b->fence_value;
}

/* ---- processes ---- */

struct bed_process *bed_process(struct bed *b)
{
	/* Objects of the test's own live in a corner of the simulated memory: they go away with the bed. */
	struct bed_process *p = (void *)(b->system + bed_system(b, sizeof(*p)));

	p->root = bed_vram(b, 8 << 9);
	p->pasid = b->next_pasid++;
	p->quantum = 10;
	p->next_va = 0x7f0000000000ULL;
	return p;
}

static u64 *entry(struct bed *b, u64 table, u32 index)
{
	return (u64 *)(b->vram + (table & 0x0000fffffffff000ULL)) + index;
}

/* Maps one page with three tables: the last but one has entries of 2 MiB that point at tables of pages ("translate further"). */
void bed_map(struct bed *b, struct bed_process *p, u64 va, u64 phys, u64 flags)
{
	u64 *e = entry(b, p->root, (va >> 39) & 511);

	if (!*e)
		*e = bed_vram(b, 4096) | PTE_V;
	e = entry(b, *e, (va >> 30) & 511);
	if (!*e)
		*e = bed_vram(b, 4096) | PTE_V | 9ULL << 59;
	e = entry(b, *e, (va >> 21) & 511);
	if (!*e)
		*e = bed_vram(b, 4096) | PTE_V | PTE_TF;
	*entry(b, *e, (va >> 12) & 511) = phys | flags;
}

u64 bed_alloc(struct bed *b, struct bed_process *p, u64 bytes, void **cpu)
{
	u64 va = p->next_va, offset = bed_system(b, bytes), i;

	for (i = 0; i < bytes; i += VGPU_PAGE)
		bed_map(b, p, va + i, BED_SYSTEM_BASE + offset + i, PTE_V | PTE_S | PTE_RW | PTE_X);
	p->next_va += i + VGPU_PAGE;		/* a hole behind everything */
	if (cpu)
		*cpu = b->system + offset;
	return va;
}

/* ---- queues and work ---- */

/* compute_static_thread_mgmt_se0..7 */
static const u8 cu_mask_word[8] = { 23, 24, 26, 27, 39, 40, 41, 42 };

void bed_cu_mask(struct bed_queue *q, const u32 *mask, u32 engines)
{
	while (engines--)
		q->mqd_words[cu_mask_word[engines]] = mask[engines];
}

struct bed_queue *bed_queue(struct bed *b, struct bed_process *p)
{
	struct bed_queue *q = (void *)(b->system + bed_system(b, sizeof(*q)));
	u64 mqd = bed_vram(b, BED_MQD_BYTES * b->config.xccs), i;
	void *page, *ring;
	u32 *w, xcc;

	q->p = p;
	q->mqd = bed_kernel_va(b, mqd);
	q->mqd_words = (u32 *)(b->vram + mqd);
	q->stack = b->vram + mqd + 4096;
	q->ring_va = bed_alloc(b, p, BED_RING_PACKETS * 64, &ring);
	q->ring = ring;
	for (i = 0; i < BED_RING_PACKETS; i++)
		q->ring[64 * i] = 1;
	q->page_va = bed_alloc(b, p, 4096, &page);
	q->write_index = (u64 *)((u8 *)page + 56);
	q->read_index = (u64 *)((u8 *)page + 128);
	/* The save area is large and only its records are looked at: VRAM pages on demand would do, all of it is simpler. */
	q->save_va = p->next_va;
	for (i = 0; i < BED_SAVE_BYTES * b->config.xccs; i += VGPU_PAGE)
		bed_map(b, p, q->save_va + i, bed_vram(b, VGPU_PAGE), PTE_V | PTE_RW);
	p->next_va += i + VGPU_PAGE;
	q->doorbell = b->next_doorbell;
	b->next_doorbell += 8;

	for (xcc = 0; xcc < b->config.xccs; xcc++) {
		w = bed_part(b, q, xcc);
		for (i = 0; i < VGPU_MAX_SE; i++)
			if (b->config.asic->cu_mask_words[i])
				w[b->config.asic->cu_mask_words[i]] = ~0u;
		if (b->config.asic->xcp_ctl) {
			w[BED_MQD_LOGIC_XCC] = xcc;
			w[BED_MQD_CHUNK] = 1;
			w[BED_MQD_STRIDE] = BED_MQD_BYTES;
		}
		w += 0x80;
		w[VGPU_HQD_MQD_BASE_LO] = LO(q->mqd + xcc * BED_MQD_BYTES);
		w[VGPU_HQD_MQD_BASE_HI] = HI(q->mqd);
		w[VGPU_HQD_PERSISTENT_STATE] = 1u << 30;
		w[VGPU_HQD_PQ_BASE_LO] = LO(q->ring_va >> 8);
		w[VGPU_HQD_PQ_BASE_HI] = HI(q->ring_va >> 8);
		w[VGPU_HQD_PQ_CONTROL] = __builtin_ctz(BED_RING_PACKETS * 16) - 1;
		w[VGPU_HQD_PQ_RPTR_REPORT_LO] = LO(q->page_va + 128);
		w[VGPU_HQD_PQ_RPTR_REPORT_HI] = HI(q->page_va);
		w[VGPU_HQD_PQ_WPTR_POLL_LO] = LO(q->page_va + 56);
		w[VGPU_HQD_PQ_WPTR_POLL_HI] = HI(q->page_va);
		w[VGPU_HQD_PQ_DOORBELL] = q->doorbell;
		w[VGPU_HQD_CTX_SAVE_LO] = LO(q->save_va + xcc * BED_SAVE_BYTES);
		w[VGPU_HQD_CTX_SAVE_HI] = HI(q->save_va + xcc * BED_SAVE_BYTES);
		w[VGPU_HQD_CTX_SAVE_SIZE] = BED_SAVE_BYTES;
		w[VGPU_HQD_CNTL_STACK_SIZE] = BED_STACK_BYTES;
		w[VGPU_HQD_CNTL_STACK_OFFSET] = BED_STACK_BYTES;
		w[VGPU_HQD_WG_STATE_OFFSET] = BED_STACK_BYTES;
		w[VGPU_HQD_AQL_CONTROL] = 1;
	}
	return q;
}

struct bed_queue *bed_sdma_queue(struct bed *b, struct bed_process *p, u32 engine)
{
	struct bed_queue *q = (void *)(b->system + bed_system(b, sizeof(*q)));
	u64 mqd = bed_vram(b, BED_MQD_BYTES);
	void *page, *ring;

	q->p = p;
	q->sdma = true;
	q->engine = engine;
	q->mqd = bed_kernel_va(b, mqd);
	q->mqd_words = (u32 *)(b->vram + mqd);
	q->ring_va = bed_alloc(b, p, 4096, &ring);
	q->ring = ring;
	q->page_va = bed_alloc(b, p, 4096, &page);
	q->write_index = (u64 *)((u8 *)page + 56);
	q->read_index = (u64 *)((u8 *)page + 128);
	q->doorbell = b->next_doorbell;
	b->next_doorbell += 8;
	q->mqd_words[0] = 10 << 1;
	q->mqd_words[1] = LO(q->ring_va >> 8);
	q->mqd_words[2] = HI(q->ring_va >> 8);
	q->mqd_words[b->config.asic->sdma_mqd.rptr_addr_hi] = HI(q->page_va + 128);
	q->mqd_words[b->config.asic->sdma_mqd.rptr_addr_hi + 1] = LO(q->page_va + 128);
	q->mqd_words[b->config.asic->sdma_mqd.doorbell_offset] = q->doorbell;
	return q;
}

void bed_submit_raw(struct bed *b, struct bed_queue *q, const void *packet, bool ring)
{
	u8 *slot = q->ring + *q->write_index % BED_RING_PACKETS * 64;
	u16 header;

	memcpy(&header, packet, 2);
	memcpy(slot + 2, (const u8 *)packet + 2, 62);
	(*q->write_index)++;
	memcpy(slot, &header, 2);
	if (ring)
		b->doorbells[q->doorbell / 8] = *q->write_index - 1;
}

struct bed_work *bed_work(struct bed *b, struct bed_process *p, u32 waves, u32 wg_waves, u32 steps, u64 step_ns)
{
	struct bed_work *w = (void *)(b->system + bed_system(b, sizeof(*w)));
	struct vgpu_kernel *k;
	struct vgpu_kernargs *a;
	void *cpu;
	u8 *s;

	w->p = p;
	w->waves = waves;
	w->wg_waves = wg_waves;
	w->steps = steps;
	w->kernel_va = bed_alloc(b, p, 4096, &cpu);
	k = cpu;
	w->args_va = w->kernel_va + 256;
	a = (void *)((u8 *)cpu + 256);
	w->signal_va = w->kernel_va + 512;
	s = (u8 *)cpu + 512;
	w->flag_va = w->kernel_va + 1024;
	w->flag = (u64 *)((u8 *)cpu + 1024);
	w->mailbox = (u64 *)((u8 *)cpu + 1032);
	w->signal = (s64 *)(s + 8);
	*w->signal = 1;
	w->counters_va = bed_alloc(b, p, (u64)waves * steps * 4, &cpu);
	w->counters = cpu;
	k->magic = VGPU_KERNEL_MAGIC;
	k->version = VGPU_KERNEL_VERSION;
	k->steps = steps;
	k->step_ns = step_ns;
	k->vgprs = 32;
	a->counters = w->counters_va;
	return w;
}

void bed_submit(struct bed *b, struct bed_queue *q, struct bed_work *w, bool barrier)
{
	u8 p[64] = { 0 };
	u16 header = 2 | (barrier ? 0x100 : 0), one = 1, lanes = (u16)(w->wg_waves * 64);
	u32 grid = w->waves * 64, unit = 1;

	memcpy(p, &header, 2);
	memcpy(p + 2, &one, 2);			/* dimensions */
	memcpy(p + 4, &lanes, 2);
	memcpy(p + 6, &one, 2);
	memcpy(p + 8, &one, 2);
	memcpy(p + 12, &grid, 4);
	memcpy(p + 16, &unit, 4);
	memcpy(p + 20, &unit, 4);
	memcpy(p + 32, &w->kernel_va, 8);
	memcpy(p + 40, &w->args_va, 8);
	memcpy(p + 56, &w->signal_va, 8);
	bed_submit_raw(b, q, p, true);
}

bool bed_work_done(void *work)
{
	return *((struct bed_work *)work)->signal <= 0;
}

u32 bed_work_lost(const struct bed_work *w)
{
	u32 i, n = 0;

	for (i = 0; i < w->waves * w->steps; i++)
		n += !w->counters[i];
	return n;
}

u32 bed_work_twice(const struct bed_work *w)
{
	u32 i, n = 0;

	for (i = 0; i < w->waves * w->steps; i++)
		n += w->counters[i] > 1;
	return n;
}

u32 bed_list(struct bed_queue **queues, u32 count, u32 *list)
{
	u32 n = 0, i, j;

	for (i = 0; i < count; i++) {
		for (j = 0; j < i; j++)
			if (queues[j]->p == queues[i]->p)
				break;
		if (j < i)
			continue;
		memcpy(list + n, (u32[21]) { PM4(0xa1, 21), queues[i]->p->pasid | queues[i]->p->quantum << 25,
					     LO(queues[i]->p->root | PTE_V), HI(queues[i]->p->root), 0,
					     queues[i]->p->retry ? 0 : 1u << 12, 0, 0, LO(queues[i]->p->tma >> 8),
					     HI(queues[i]->p->tma >> 8), 0, 0, 0, 0, queues[i]->p->traps, queues[i]->p->watch[0],
					     queues[i]->p->watch[1], queues[i]->p->watch[2], queues[i]->p->watch[3] }, 84);
		n += 21;
		for (j = i; j < count; j++) {
			const struct bed_queue *q = queues[j];
			u32 engine = q->sdma ? q->engine < 2 ? (q->engine + 2) << 26 : q->engine << 26 | 1 << 2 : 0;

			if (q->p != queues[i]->p || q->inactive)
				continue;
			memcpy(list + n, (u32[7]) { PM4(0xa2, 7), 1 << 4 | q->gws << 12 | (q->is_static ? 2u << 21 : 0) | engine |
						    1u << 29, q->doorbell, LO(q->mqd), HI(q->mqd), LO(q->page_va + 56),
						    HI(q->page_va) }, 28);
			n += 7;
		}
	}
	return n;
}

u32 bed_chain(u32 *packet, u64 va, u32 dwords)
{
	memcpy(packet, (u32[]) { PM4(0xa5, 4), LO(va), HI(va), dwords | 1u << 20 }, 16);
	return 4;
}

/* What amdkfd announces: the processes of the list, but no more than there are VMIDs */
static u32 announced(struct bed *b, const u32 *list, u32 dwords)
{
	u32 vmids = (u32)__builtin_popcount(b->m->xcc[0].hws_vmid_mask), i, n = 0;

	for (i = 0; i < dwords; i += (list[i] >> 16 & 0x3fff) + 2)
		n += (list[i] >> 8 & 0xff) == 0xa1;
	return n < vmids ? n : vmids;
}

void bed_send_runlist(struct bed *b, u64 va, const u32 *list, u32 dwords)
{
	u32 processes = announced(b, list, dwords) + b->announces_more;

	memcpy(b->vram + (va - VGPU_FB_BASE), list, dwords * 4);
	bed_hiq(b, (u32[]) { PM4(0xa5, 4), LO(va), HI(va), dwords | 1u << 23 | processes << 24 }, 4);
}

/* What amdkfd calls over-subscribed */
static bool oversubscribed(struct bed *b, struct bed_queue **queues, u32 count)
{
	u32 i, j, processes = 0, compute = 0, gws = 0;

	for (i = 0; i < count; i++) {
		for (j = 0; j < i && queues[j]->p != queues[i]->p; j++)
			;
		processes += j == i;
		compute += !queues[i]->sdma && !queues[i]->inactive;
		gws += queues[i]->gws;
	}
	return processes > (u32)__builtin_popcount(b->m->xcc[0].hws_vmid_mask) || gws > 1 ||
	       compute > (u32)__builtin_popcountll(b->m->xcc[0].hws_queue_mask);
}

bool bed_runlist(struct bed *b, struct bed_queue **queues, u32 count)
{
	u32 list[BED_LIST_DWORDS], n = bed_list(queues, count, list);
	u64 va = bed_kernel_va(b, bed_vram(b, (n + 4) * 4));

	if (oversubscribed(b, queues, count) && !b->never_chain) {
		n += bed_chain(list + n, va, n + 4);
		list[n - 1] |= announced(b, list, n) << 24;
	}
	bed_send_runlist(b, va, list, n);
	return bed_hiq_fence(b);
}

bool bed_unmap(struct bed *b, bool reset)
{
	bed_hiq(b, (u32[]) { PM4(0xa3, 6), reset | 3 << 4, 0, 0, 0, 0 }, 6);
	return bed_hiq_fence(b);
}

bool bed_unmap_pasid(struct bed *b, u16 pasid)
{
	bed_hiq(b, (u32[]) { PM4(0xa3, 6), 1 << 4, pasid, 0, 0, 0 }, 6);
	return bed_hiq_fence(b);
}

bool bed_unmap_named(struct bed *b, struct bed_queue **queues, u32 count)
{
	u32 p[6] = { PM4(0xa3, 6), count << 29 }, i;

	for (i = 0; i < count; i++)
		p[2 + i] = queues[i]->doorbell;
	bed_hiq(b, p, 6);
	return bed_hiq_fence(b);
}

/* The same packets as in a list, and no list around them */
bool bed_map_named(struct bed *b, struct bed_queue **queues, u32 count)
{
	u32 list[BED_LIST_DWORDS], n = bed_list(queues, count, list);

	bed_hiq(b, list, n);
	return bed_hiq_fence(b);
}

u64 bed_stat(struct bed *b, const char *name)
{
	char text[4096], *at;
	size_t len = strlen(name);

	vgpu_model_print_stats(b->m, text, sizeof(text));
	for (at = text; at && *at; at = strchr(at, '\n'), at = at ? at + 1 : NULL)
		if (!strncmp(at, name, len) && at[len] == ' ')
			return strtoull(at + len, NULL, 10);
	fprintf(stderr, "no statistic %s\n", name);
	exit(2);
}

/* What the driver's get_cu_occupancy adds up for a queue */
u32 bed_waves_by_register(struct bed *b, u32 doorbell)
{
	u32 se, q, map, n = 0, waves, xcc = b->xcc;

	for (b->xcc = 0; b->xcc < b->config.xccs; b->xcc++) {
		for (se = 0; se < b->config.se; se++) {
			gc_reg(b, VGPU_GRBM_GFX_CNTL, 1 << 2);
			gc_reg(b, VGPU_GRBM_GFX_INDEX, se << 16 | 1u << 30);
			map = gc_read(b, VGPU_SPI_CSQ_STATUS);
			for (q = 0; q < 32; q++) {
				if (!(map >> q & 1))
					continue;
				gc_reg(b, VGPU_GRBM_GFX_CNTL, 1 << 2 | q / 8 | q % 8 << 8);
				waves = gc_read(b, VGPU_SPI_CSQ_COUNT_0 + q % 8) & 0xffff;
				if ((gc_read(b, VGPU_HQD_FIRST + VGPU_HQD_PQ_DOORBELL) & 0x0ffffffc) == doorbell)
					n += waves;
			}
		}
		gc_reg(b, VGPU_GRBM_GFX_INDEX, 0xe0000000);
		gc_reg(b, VGPU_GRBM_GFX_CNTL, 0);
	}
	b->xcc = xcc;
	return n;
}

void bed_forget_waves(u32 *words, u32 count)
{
	u32 *hqd = words + 0x80, *top = words + (VGPU_PAGE + hqd[VGPU_HQD_CNTL_STACK_OFFSET]) / 4;

	memmove(top + count, top, BED_STACK_WORDS * 4);
	hqd[VGPU_HQD_CNTL_STACK_OFFSET] += count * 4;
	hqd[VGPU_HQD_WG_STATE_OFFSET] -= count * BED_WAVE_BYTES;
}
