// SPDX-License-Identifier: MIT
/* product_test.c - devices with the numbers of products; MI308X, whose registers a dump shows */
#include "model_test.h"

#define VMID		9u
#define IV_NODE(iv)	(((iv)[3] >> 16) & 0xff)

/* XCCs of an MI308X: where their GC registers begin, and which of the places on the I/O dies they have */
static const u32 xcc_regs[] = { 0, 0x30000, 0x40000, 0x70000 };
static const u32 xcc_place[] = { 0, 3, 4, 7 };

/* The first register of the first user queue of each SDMA engine, and the engine's place */
static const u32 sdma_rlc0[] = { 0x1390, 0x1990, 0x39530, 0x39930, 0x41390, 0x41990, 0x79530, 0x79930 };
static const u32 sdma_place[] = { 0, 1, 6, 7, 8, 9, 14, 15 };

static const u8 client[] = { VGPU_CLIENT_SDMA0, VGPU_CLIENT_SDMA1, VGPU_CLIENT_SDMA2, VGPU_CLIENT_SDMA3 };

TEST(products_are_known_by_name)
{
	const struct vgpu_product *p;
	struct vgpu_config c;
	u32 i;

	for (i = 0; vgpu_product_name(i); i++) {
		p = vgpu_product_find(vgpu_product_name(i));
		CHECK(p && !strcmp(p->name, vgpu_product_name(i)));
		c = (struct vgpu_config) { .asic = vgpu_asic_find(p->asic ? p->asic : "gfx90a"), .xccs = p->xccs };
		CHECK(c.asic && p->xccs <= c.asic->max_xccs && p->cus >= p->se);
		CHECK(vgpu_product_apply(p, &c));
		CHECK(c.device && c.layout && c.sclk_mhz);
	}
	CHECK(i > 5);
	CHECK(!vgpu_product_find("mi30"));
	CHECK(!vgpu_product_find("mi300xx"));
}

TEST(products_are_what_they_are)
{
	struct vgpu_config c = { .asic = vgpu_asic_find("gfx90a"), .xccs = 1 };

	vgpu_quiet = true;
	CHECK(!vgpu_product_apply(vgpu_product_find("mi308x"), &c));
	c.asic = vgpu_asic_find("gfx942");
	c.xccs = 8;
	CHECK(!vgpu_product_apply(vgpu_product_find("mi308x"), &c));
	CHECK(vgpu_product_apply(vgpu_product_find("mi300x"), &c));
	c.xccs = 2;
	CHECK(vgpu_product_apply(vgpu_product_find("mi308x"), &c));
	CHECK_EQ(c.device, 0x74a2);
}

TEST(mi308x_has_its_xccs_where_a_dump_shows_them)
{
	u32 xcc, pipe;

	up_as(bed_mi308x);
	CHECK_EQ(b->config.xccs * b->config.cus, 80);
	for (xcc = 0; xcc < 4; xcc++) {
		b->xcc = xcc;
		for (pipe = 0; pipe < VGPU_PIPES; pipe++)
			bed_write_reg(b, 1, pipe, 5, VGPU_HQD_QUEUE_PRIORITY, xcc * 4 + pipe + 1);
	}
	b->xcc = 0;
	for (xcc = 0; xcc < 4; xcc++)
		for (pipe = 0; pipe < VGPU_PIPES; pipe++) {
			vgpu_model_reg_write(b->m, xcc_regs[xcc] + VGPU_GRBM_GFX_CNTL, pipe | 1 << 2 | 5 << 8);
			CHECK_EQ(vgpu_model_reg_read(b->m, xcc_regs[xcc] + VGPU_HQD_FIRST + VGPU_HQD_QUEUE_PRIORITY), xcc * 4 + pipe + 1);
		}
	/* packets name them as those of the first one */
	for (b->xcc = 0; b->xcc < 4; b->xcc++)
		bed_kiq(b, (u32[]) { PM4(0x79, 3), VGPU_SCRATCH_REG0 - 0xc000, 100 + b->xcc }, 3);
	b->xcc = 0;
	for (xcc = 0; xcc < 4; xcc++)
		CHECK_EQ(vgpu_model_reg_read(b->m, VGPU_SCRATCH_REG0 + xcc_regs[xcc]), 100 + xcc);
}

static u32 get(const u8 *t, u32 at, u32 bytes)
{
	u32 v = 0, i;

	for (i = 0; i < bytes; i++)
		v |= (u32)t[at + i] << (8 * i);
	return v;
}

TEST(mi308x_tells_the_driver_its_places)
{
	u32 i, at, n, xccs = 0, engines = 0, dies = 0;
	u8 t[10240];

	up_as(bed_mi308x);
	CHECK(vgpu_discovery_build(&b->config, t, sizeof(t)));
	at = get(t, get(t, 12, 2) + 16, 2);		/* the die of the table of blocks */
	n = get(t, at + 2, 2);
	at += 4;
	for (i = 0; i < n; i++) {
		u32 block = get(t, at, 2), number = get(t, at + 2, 1), base = get(t, at + 8, 4);

		if (block == 11) {	/* GC */
			CHECK_EQ(number, xcc_place[xccs]);
			CHECK_EQ(base, VGPU_BASE_GC0 + xcc_regs[xccs]);
			xccs++;
		} else if (block == 42) {	/* SDMA */
			CHECK_EQ(number, sdma_place[engines]);
			CHECK_EQ(base + VGPU_SDMA_RLC_FIRST, sdma_rlc0[engines]);
			engines++;
		} else if (block == 34) {	/* MMHUB */
			CHECK_EQ(number, dies);
			dies++;
		}
		at += 8 + 4 * get(t, at + 3, 1);
	}
	CHECK_EQ(xccs, 4);
	CHECK_EQ(engines, 8);
	CHECK_EQ(dies, 4);
}

/* Each hub has registers of its own, and its faults say whose it is: by place, not by number. */
TEST(mi308x_interrupts_name_the_place)
{
	u32 hub, value = 1, hubs = 0, iv[VGPU_IV_DWORDS], status;
	struct bed_process *p;

	up_as(bed_mi308x);
	p = bed_process(b);
	vgpu_quiet = true;
	bed_vmid(b, VMID, p);
	drain_interrupts();
	for (hub = 0; hub < VGPU_HUBS; hub++) {
		if (!vgpu_hub_exists(b->m, hub))
			continue;
		hubs++;
		status = vgpu_hub_reg(b->m, hub, VGPU_VM_FAULT_STATUS);
		CHECK_EQ(vgpu_model_reg_read(b->m, status), 0);
		CHECK(!vgpu_vm_write(b->m, VGPU_AS(hub, VMID), 0x1000ULL * (hub + 1), &value, 4));
		CHECK(vgpu_model_reg_read(b->m, status) != 0);
		CHECK(bed_interrupt(b, iv));
		CHECK_EQ(IV_NODE(iv), hub < VGPU_HUB_MM ? xcc_place[hub] / 2 * 4 + xcc_place[hub] % 2 + 1 : (hub - VGPU_HUB_MM) * 4);
		CHECK_EQ(iv[3] & 0xffff, p->pasid);
	}
	CHECK_EQ(hubs, 4 + 4);
}

TEST(mi308x_has_two_sdma_engines_on_each_die)
{
	u32 engine, iv[VGPU_IV_DWORDS];
	struct bed_process *p;
	struct bed_queue *s;
	void *cpu;
	u64 va;

	for (engine = 0; engine < 8; engine++) {
		up_as(bed_mi308x);
		p = bed_process(b);
		s = bed_sdma_queue(b, p, engine);
		va = bed_alloc(b, p, 4096, &cpu);
		CHECK(bed_runlist(b, &s, 1));
		drain_interrupts();
		fence_and_trap(s, va);
		CHECK_EQ(*(u32 *)cpu, 1);
		CHECK(bed_interrupt(b, iv));
		CHECK_EQ(iv[0] & 0xff, client[sdma_place[engine] % 4]);
		CHECK_EQ(IV_NODE(iv), sdma_place[engine] / 4 * 4);
	}
}

/* Each die's memory is flushed by a register of its own, wherever it is among those of the XCCs. */
TEST(mi308x_flushes_are_done_at_once)
{
	u32 aid;

	up_as(bed_mi308x);
	for (aid = 0; aid < 4; aid++)
		CHECK_EQ(vgpu_model_reg_read(b->m, VGPU_HDP_FLUSH_DONE + vgpu_aid_regs(&b->config, aid)), ~0u);
}

/* All four take their share of a grid, and are preempted together. */
TEST(mi308x_runs_and_preempts_a_grid_on_all_xccs)
{
	struct bed_queue *q;
	struct bed_work *w;
	u32 round, xcc;

	up_as(bed_mi308x);
	q = bed_queue(b, bed_process(b));
	CHECK_EQ(bed_stat(b, "wave_slots"), 4 * 20 * 4 * 8);
	w = bed_work(b, q->p, 4 * 20 * 24, 4, 4, 100 * US);
	run_work(q, w, 50 * US);
	for (xcc = 0; xcc < 4; xcc++)
		CHECK_EQ(b->m->xcc[xcc].slots_busy, 20 * 24);
	for (round = 0; round < 3; round++) {
		unmap_after(50 * US);
		CHECK_EQ(bed_stat(b, "slots_busy"), 0);
		CHECK(bed_runlist(b, &q, 1));
	}
	CHECK_DONE(w);
	CHECK_EQ(bed_stat(b, "waves_saved"), bed_stat(b, "waves_restored"));
}
