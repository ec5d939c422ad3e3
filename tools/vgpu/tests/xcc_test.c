// SPDX-License-Identifier: MIT
/* xcc_test.c - gfx942: queues that run on several XCCs, and what tells the driver about them */
#include "model_test.h"

#define VMID		9u
#define IV_NODE(iv)	(((iv)[3] >> 16) & 0xff)

static struct bed_process *p;
static struct bed_queue *q;

static void up_2(void)
{
	up_as(bed_xccs_2);
	p = bed_process(b);
	q = bed_queue(b, p);
}

static void up_4(void)
{
	up_as(bed_xccs_4);
	p = bed_process(b);
	q = bed_queue(b, p);
}

static u32 busy(u32 xcc)
{
	return b->m->xcc[xcc].slots_busy;
}

static u32 word(u32 xcc, enum vgpu_hqd_reg r)
{
	return bed_part(b, q, xcc)[0x80 + r];
}

/* All shares of small grids are on one XCC then */
static void first_share_on(u32 xcc)
{
	u32 i;

	for (i = 0; i < b->config.xccs; i++)
		bed_part(b, q, i)[BED_MQD_LOGIC_XCC] = (i + b->config.xccs - xcc) % b->config.xccs;
}

TEST(grid_is_spread_over_xccs)
{
	struct bed_work *w;
	u32 i;

	up_4();
	CHECK_EQ(bed_stat(b, "wave_slots"), 4 * 256);
	w = bed_work(b, p, 4 * 256, 1, 3, 100 * US);
	run_work(q, w, 50 * US);
	for (i = 0; i < 4; i++)
		CHECK_EQ(busy(i), 256);
	CHECK_EQ(bed_waves_by_register(b, q->doorbell), 4 * 256);
	CHECK_EQ(*q->read_index, 1);
	CHECK_DONE(w);
	CHECK_EQ(bed_stat(b, "dispatches_done"), 1);
	CHECK_EQ(bed_stat(b, "waves_done"), 4 * 256);
}

TEST(every_grid_is_done_whatever_its_shares)
{
	struct bed_work *w;
	u32 chunk, waves, i;

	for (chunk = 1; chunk <= 3; chunk++) {
		up_4();
		first_share_on(chunk);
		for (i = 0; i < 4; i++)
			bed_part(b, q, i)[BED_MQD_CHUNK] = chunk;
		CHECK(bed_runlist(b, &q, 1));
		/* workgroups of three waves, the last one smaller; from fewer workgroups than XCCs to several rounds */
		for (waves = 1; waves <= 60; waves++) {
			w = bed_work(b, p, waves, 3, 2, US);
			bed_submit(b, q, w, waves % 2);
			CHECK_DONE(w);
		}
		CHECK_EQ(bed_stat(b, "dispatches_done"), 60);
		CHECK_EQ(bed_stat(b, "waves_done"), 60 * 61 / 2);
	}
}

TEST(shares_go_where_the_mqds_say)
{
	struct bed_work *w;
	u32 i, j;

	for (i = 0; i < 4; i++) {
		up_4();
		first_share_on(i);
		CHECK(bed_runlist(b, &q, 1));
		w = submit_work(q, 8, 8, 1, 100 * US);
		bed_run_for(b, 50 * US);
		for (j = 0; j < 4; j++)
			CHECK_EQ(busy(j), i == j ? 8 : 0);
		CHECK_DONE(w);
	}
}

TEST(packets_wait_for_all_shares)
{
	struct bed_work *first, *second;

	up_2();
	first_share_on(1);
	CHECK(bed_runlist(b, &q, 1));
	/* The second XCC has one workgroup more than the first, and room for sixteen. */
	first = bed_work(b, p, 33 * 16, 16, 1, 100 * US);
	second = bed_work(b, p, 2, 1, 1, US);
	bed_submit(b, q, first, false);
	bed_submit(b, q, second, true);
	bed_run_for(b, 150 * US);
	CHECK_EQ(busy(0), 0);
	CHECK_EQ(busy(1), 16);
	CHECK_EQ(*first->signal, 1);
	CHECK_EQ(*second->signal, 1);
	CHECK_EQ(bed_work_lost(second), 2);
	CHECK_DONE(first);
	CHECK_DONE(second);
}

TEST(preempted_parts_are_done_once)
{
	struct bed_work *w;
	u32 round, i;

	up_4();
	CHECK(bed_runlist(b, &q, 1));
	w = submit_work(q, 4 * 300, 1, 10, 100 * US);
	for (round = 0; round < 4; round++) {
		unmap_after(230 * US);
		CHECK_EQ(bed_stat(b, "slots_busy"), 0);
		/* each has saved its own: a dispatch and what was in its slots */
		for (i = 0; i < 4; i++) {
			CHECK_EQ(word(i, VGPU_HQD_CNTL_STACK_OFFSET), BED_STACK_BYTES - (BED_STACK_WORDS + 256) * 4);
			CHECK_EQ(word(i, VGPU_HQD_WG_STATE_OFFSET), BED_STACK_BYTES + 256 * BED_WAVE_BYTES);
		}
		CHECK(bed_runlist(b, &q, 1));
	}
	CHECK_DONE(w);
	CHECK_EQ(bed_stat(b, "waves_saved"), bed_stat(b, "waves_restored"));
	CHECK_EQ(bed_stat(b, "dispatches_done"), 1);
}

TEST(state_of_one_xcc_counts)
{
	struct bed_work *w;

	up_2();
	CHECK(bed_runlist(b, &q, 1));
	w = submit_work(q, 64, 1, 4, MS);
	unmap_after(1500 * US);
	/* ten waves of the second one's are forgotten */
	bed_forget_waves(bed_part(b, q, 1), 10);
	CHECK(bed_runlist(b, &q, 1));
	CHECK(!bed_run_until(b, bed_work_done, w, 20 * MS));
	CHECK_EQ(bed_work_lost(w), 10 * 3);
	CHECK_EQ(bed_work_twice(w), 0);
}

TEST(fence_waits_for_every_xcc)
{
	u64 bytes, start, save_ns, hiq_doorbell = 0x400;
	struct bed_work *w;

	/* the second XCC has something to save, the first one has nothing */
	up_2();
	first_share_on(1);
	CHECK(bed_runlist(b, &q, 1));
	w = submit_work(q, 16, 16, 1, 10 * MS);
	bed_run_for(b, MS);
	CHECK_EQ(busy(0), 0);
	CHECK_EQ(busy(1), 16);
	start = b->now;
	CHECK(bed_unmap(b, false));
	bytes = bed_stat(b, "saved_bytes");
	save_ns = b->config.trap_ns + bytes * 1000 / b->config.hbm_bytes_per_us;
	CHECK(b->now - start >= b->config.runlist_ns + save_ns);
	CHECK(b->now - start < b->config.runlist_ns + save_ns + 2 * US);
	CHECK_RUNS_ON(q, w);
	/* one that does not read its HIQ: no fence at all */
	b->xcc = 1;
	bed_kiq(b, (u32[]) { PM4(0xa3, 6), 1u << 29, (u32)hiq_doorbell, 0, 0, 0 }, 6);
	b->xcc = 0;
	CHECK(!bed_hiq_fence(b));
}

TEST(parts_may_leave_and_come_back_alone)
{
	struct bed_work *w, *next;
	u32 order, first, second;

	for (order = 0; order < 2; order++) {
		first = order;
		second = !order;
		up_2();
		bed_vmid(b, VMID, p);
		w = bed_work(b, p, 64, 1, 4, 100 * US);
		next = bed_work(b, p, 8, 1, 1, US);
		bed_submit(b, q, w, false);
		for (b->xcc = 0; b->xcc < 2; b->xcc++)
			load_for(q, 1, 4, VMID, 150 * US);
		CHECK_EQ(busy(0), 32);
		CHECK_EQ(busy(1), 32);
		b->xcc = first;
		bed_hqd_dequeue(b, 1, 4, BED_SAVE);
		bed_run_for(b, 100 * US);
		CHECK(!bed_hqd_active(b, 1, 4));
		CHECK_EQ(busy(first), 0);
		/* the other goes on to its end, which is not that of the dispatch; nothing new begins */
		bed_submit(b, q, next, false);
		bed_run_for(b, MS);
		CHECK_EQ(busy(second), 0);
		CHECK_EQ(*w->signal, 1);
		CHECK(bed_work_lost(w) > 0 && bed_work_lost(w) <= 32 * 4);
		CHECK_EQ(bed_work_lost(next), 8);
		if (order) {			/* that much it has to remember, too */
			b->xcc = second;
			bed_hqd_dequeue(b, 1, 4, BED_SAVE);
			bed_run_for(b, 100 * US);
			CHECK(!bed_hqd_active(b, 1, 4));
			CHECK_EQ(word(second, VGPU_HQD_CNTL_STACK_OFFSET), BED_STACK_BYTES - (BED_STACK_WORDS - 1) * 4);
			load_for(q, 1, 4, VMID, 100 * US);
			CHECK_EQ(*w->signal, 1);
		}
		b->xcc = first;
		bed_hqd_load(b, q, 1, 4, VMID);
		CHECK_DONE(w);
		CHECK_DONE(next);
		CHECK_EQ(bed_stat(b, "dispatches_done"), 2);
	}
}

TEST(drained_parts_wait_for_each_other)
{
	struct bed_work *w;

	up_2();
	bed_vmid(b, VMID, p);
	first_share_on(1);
	w = bed_work(b, p, 3, 1, 1, 100 * US);	/* two workgroups on the second XCC, one on the first */
	bed_submit(b, q, w, false);
	for (b->xcc = 0; b->xcc < 2; b->xcc++)
		load_for(q, 0, 2, VMID, 50 * US);
	b->xcc = 0;
	bed_hqd_dequeue(b, 0, 2, BED_DRAIN);
	CHECK(bed_hqd_active(b, 0, 2));
	bed_run_for(b, 100 * US);
	CHECK(!bed_hqd_active(b, 0, 2));
	CHECK_EQ(*w->signal, 0);
	CHECK_ONCE(w);
	/* nothing begins on the one that is left */
	w = submit_work(q, 3, 1, 1, 100 * US);
	bed_run_for(b, MS);
	CHECK_EQ(bed_work_lost(w), 3);
	bed_hqd_load(b, q, 0, 2, VMID);
	CHECK_DONE(w);
}

TEST(doorbell_between_two_loads_is_heard)
{
	struct bed_work *w;

	up_2();
	bed_vmid(b, VMID, p);
	w = bed_work(b, p, 64, 1, 1, US);
	b->xcc = 0;
	load_for(q, 0, 2, VMID, 10 * US);
	bed_submit(b, q, w, false);
	/* the first one has not looked yet when the second one takes its edge */
	b->xcc = 1;
	bed_hqd_load(b, q, 0, 2, VMID);
	CHECK_DONE(w);
	/* a ring is heard by both though only one is given it */
	w = submit_work(q, 64, 1, 1, US);
	CHECK_DONE(w);
}

TEST(interrupts_name_their_node)
{
	static const u32 node[] = { 1, 2, 5, 6 };
	u32 i, iv[VGPU_IV_DWORDS];
	struct bed_work *w;
	u64 *signal;

	for (i = 0; i < 4; i++) {
		up_4();
		first_share_on(i);
		CHECK(bed_runlist(b, &q, 1));
		w = bed_work(b, p, 1, 1, 1, US);
		signal = (u64 *)w->signal;
		signal[1] = w->flag_va + 8;
		signal[2] = 0x42;
		drain_interrupts();
		bed_submit(b, q, w, false);
		CHECK_DONE(w);
		CHECK(bed_interrupt(b, iv));
		CHECK_EQ(IV_NODE(iv), node[i]);
		CHECK_EQ(iv[3] & 0xffff, p->pasid);
		CHECK(!bed_interrupt(b, iv));
	}
}

TEST(hubs_are_separate)
{
	u32 hub, other, value = 1, iv[VGPU_IV_DWORDS];

	up_4();
	vgpu_quiet = true;
	bed_vmid(b, VMID, p);
	drain_interrupts();
	for (hub = 0; hub < VGPU_HUBS; hub++) {
		u32 status = vgpu_hub_reg(b->m, hub, VGPU_VM_FAULT_STATUS);

		if (!vgpu_hub_exists(b->m, hub))
			continue;
		for (other = 0; other < VGPU_HUBS; other++)
			CHECK(other == hub || !vgpu_hub_exists(b->m, other) ||
			      vgpu_hub_reg(b->m, other, VGPU_VM_FAULT_STATUS) != status);
		CHECK_EQ(vgpu_model_reg_read(b->m, status), 0);
		CHECK(!vgpu_vm_write(b->m, VGPU_AS(hub, VMID), 0x1000ULL * (hub + 1), &value, 4));
		CHECK(vgpu_model_reg_read(b->m, status) != 0);
		CHECK(bed_interrupt(b, iv));
		CHECK_EQ(IV_NODE(iv), hub < VGPU_HUB_MM ? hub / 2 * 4 + hub % 2 + 1 : (hub - VGPU_HUB_MM) * 4);
		CHECK_EQ(iv[3] & 0xffff, p->pasid);
		CHECK_EQ(iv[4], hub + 1);
	}
	CHECK_EQ(bed_stat(b, "gpuvm_faults"), 4 + 2);
}

TEST(packets_reach_their_own_xcc)
{
	u32 i;

	up_4();
	for (b->xcc = 0; b->xcc < 4; b->xcc++)
		bed_kiq(b, (u32[]) { PM4(0x79, 3), VGPU_SCRATCH_REG0 - 0xc000, 100 + b->xcc }, 3);
	for (i = 0; i < 4; i++)
		CHECK_EQ(vgpu_model_reg_read(b->m, VGPU_SCRATCH_REG0 + vgpu_xcc_regs(&b->config, i)), 100 + i);
	/* those of other blocks are what they are: an invalidation in the memory hub of the second I/O die */
	b->xcc = 3;
	i = vgpu_hub_reg(b->m, VGPU_HUB_MM + 1, VGPU_VM_INV_ENG0_REQ);
	bed_kiq(b, (u32[]) { PM4(0x3c, 7), 1 << 6 | 3, i + 4,
			     vgpu_hub_reg(b->m, VGPU_HUB_MM + 1, VGPU_VM_INV_ENG0_ACK) + 4, 1u << VMID | 0xf80000, 1u << VMID, 0x20,
			     PM4(0x79, 3), VGPU_SCRATCH_REG0 - 0xc000, 7 }, 10);
	CHECK_EQ(vgpu_model_reg_read(b->m, i + 4), 1u << VMID | 0xf80000);
	CHECK_EQ(vgpu_model_reg_read(b->m, VGPU_SCRATCH_REG0 + vgpu_xcc_regs(&b->config, 3)), 7);
	b->xcc = 0;
}

static void fast_turns(struct vgpu_config *c)
{
	bed_xccs_4(c);
	c->quantum_ns = 20 * US;
}

TEST(xccs_take_turns_together)
{
	enum { N = 12 };
	struct bed_queue *queue[N];
	struct bed_work *w[N];
	struct bed_process *process;
	u32 i, xcc, n;

	up_as(fast_turns);
	bed_hiq(b, (u32[]) { PM4(0xa0, 8), 0x38 | 1u << 29, 0xfcfcfcfc, 0, 0, 0, 0, 0 }, 8);	/* three VMIDs */
	for (i = 0; i < N; i++) {
		process = bed_process(b);
		queue[i] = bed_queue(b, process);
		/* uneven shares: the XCCs need different times to save */
		bed_part(b, queue[i], 0)[BED_MQD_LOGIC_XCC] = 3;
		bed_part(b, queue[i], 3)[BED_MQD_LOGIC_XCC] = 0;
		w[i] = bed_work(b, process, 16 * (1 + i % 7), 16, 5, 100 * US);
	}
	CHECK(bed_runlist(b, queue, N));
	for (i = 0; i < N; i++)
		bed_submit(b, queue[i], w[i], false);
	for (n = 0; n < 200; n++) {
		bed_run_for(b, 37 * US);
		for (xcc = 1; xcc < 4; xcc++)
			CHECK_EQ(b->m->xcc[xcc].runlist.pos, b->m->xcc[0].runlist.pos);
	}
	CHECK_ALL_DONE(w, N);
	CHECK(bed_stat(b, "rotations") > 8);
}

TEST(sdma_belongs_to_its_io_die)
{
	u32 engine, iv[VGPU_IV_DWORDS];
	struct bed_queue *s;
	void *cpu;
	u64 va;

	for (engine = 0; engine < 8; engine++) {
		up_4();
		s = bed_sdma_queue(b, p, engine);
		va = bed_alloc(b, p, 4096, &cpu);
		CHECK(bed_runlist(b, &s, 1));
		drain_interrupts();
		fence_and_trap(s, va);
		CHECK_EQ(*(u32 *)cpu, 1);
		CHECK_EQ(*s->read_index, 24);
		/* one of the four schedulers has mapped it */
		CHECK(bed_interrupt(b, iv));
		CHECK_EQ(iv[0] & 0xff, b->config.asic->sdma_client[engine % 4]);
		CHECK_EQ(IV_NODE(iv), engine / 4 * 4);
		CHECK_EQ(iv[4], 0x77);
		CHECK(!bed_interrupt(b, iv));
	}
}

static u32 get(const u8 *t, u32 at, u32 bytes)
{
	u32 v = 0, i;

	for (i = 0; i < bytes; i++)
		v |= (u32)t[at + i] << 8 * i;
	return v;
}

static u32 sum(const u8 *t, u32 from, u32 to)
{
	u32 s = 0;

	for (; from < to; from++)
		s += t[from];
	return s & 0xffff;
}

TEST(discovery_table_is_what_the_driver_expects)
{
	u32 size, at, n, i, xccs = 0, engines = 0, base;
	u8 t[10240], small[100];

	up_4();
	size = vgpu_discovery_build(&b->config, t, sizeof(t));
	CHECK(size > 0);
	CHECK_EQ(get(t, 0, 4), 0x28211407);
	CHECK_EQ(get(t, 10, 2), size);
	CHECK_EQ(get(t, 8, 2), sum(t, 10, size));
	/* what is where */
	at = get(t, 12, 2);
	CHECK_EQ(get(t, at, 4), 0x53445049);
	CHECK_EQ(get(t, 14, 2), sum(t, at, at + get(t, at + 6, 2)));
	at = get(t, at + 16, 2);		/* the die */
	n = get(t, at + 2, 2);
	at += 4;
	for (i = 0; i < n; i++) {
		base = get(t, at + 8, 4);
		if (get(t, at, 2) == 11) {	/* GC */
			CHECK_EQ(get(t, at + 2, 1), xccs);
			CHECK_EQ(base, VGPU_BASE_GC0 + xccs * 0x20000);
			xccs++;
		}
		if (get(t, at, 2) == 42) {	/* SDMA */
			CHECK_EQ(base, 0x4000 + engines % 4 * 0x600 + engines / 4 * 0x40000);
			engines++;
		}
		at += 8 + 4 * get(t, at + 3, 1);
	}
	CHECK_EQ(xccs, 4);
	CHECK_EQ(engines, 8);
	/* shader engines and compute units of an XCC */
	at = get(t, 20, 2);
	CHECK_EQ(get(t, at, 4), 0x4347);
	CHECK_EQ(get(t, 22, 2), sum(t, at, at + get(t, at + 8, 4)));
	CHECK_EQ(get(t, at + 12, 4), 4);
	CHECK_EQ(get(t, at + 16, 4), 2);
	/* caches: of a CU, for code and scalars of two, of an XCC, KiB */
	CHECK_EQ(get(t, at + 4, 4), 0x10002);
	CHECK_EQ(get(t, at + 84, 4), 32);
	CHECK_EQ(get(t, at + 92, 4), 2);
	CHECK_EQ(get(t, at + 96, 4), 64);
	CHECK_EQ(get(t, at + 100, 4), 16);
	CHECK_EQ(get(t, at + 104, 4), 4096);
	CHECK_EQ(vgpu_discovery_build(&b->config, small, sizeof(small)), 0);
	/* before the driver has mapped VRAM it has a window */
	*(u32 *)(b->vram + 0x123450) = 0xabcdef01;
	vgpu_model_reg_write(b->m, VGPU_MM_INDEX, 0x80123450);
	CHECK_EQ(vgpu_model_reg_read(b->m, VGPU_MM_DATA), 0xabcdef01);
	vgpu_model_reg_write(b->m, VGPU_MM_INDEX_HI, 1);
	CHECK_EQ(vgpu_model_reg_read(b->m, VGPU_MM_DATA), ~0u);
}

/* The driver writes who belongs together, XCC by XCC, and reads a name for it. */
TEST(partition_mode_follows_the_xccs)
{
	static const struct {
		u32 xccs;
		u32 mode;
	} modes[] = { { 4, 0 }, { 2, 1 }, { 1, 4 }, { 4, 0 } };	/* SPX, DPX, CPX, SPX */
	const struct vgpu_asic *asic;
	u32 i, xcc;

	up_4();
	asic = b->config.asic;
	CHECK_EQ(vgpu_model_reg_read(b->m, asic->xcp_status) >> 4 & 0xf, 0);
	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		for (xcc = 0; xcc < 4; xcc++)
			vgpu_model_reg_write(b->m, vgpu_xcc_regs(&b->config, xcc) + asic->xcp_ctl,
					     xcc % modes[i].xccs | modes[i].xccs << 3);
		CHECK_EQ(vgpu_model_reg_read(b->m, asic->xcp_status) >> 4 & 0xf, modes[i].mode);
		CHECK_EQ(vgpu_xccs_in_partition(b->m, 3), modes[i].xccs);
		CHECK_EQ(vgpu_xcc_in_partition(b->m, 3), 3 % modes[i].xccs);
	}
}
