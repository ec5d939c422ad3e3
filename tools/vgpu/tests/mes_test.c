// SPDX-License-Identifier: MIT
/* mes_test.c - unit tests of the device model: a device that MES schedules, frame by frame */
#include "model_test.h"

#define SLOTS		8u		/* for queues of processes */
#define DOORBELL	0x800u		/* of a kernel ring */
#define ADD		2
#define REMOVE		3
#define SUSPEND		6
#define RESUME		7
#define RESET		8
#define MISC		14

static u32 otherwise;

static void configure(struct vgpu_config *c)
{
	bed_gfx1100(c);
	c->firmware = otherwise;
}

static void mes_up(u32 firmware)
{
	otherwise = firmware;
	up_as(configure);
}

/* A process with a queue that MES has, and a grid on it that is so far as to be in the middle of its steps */
static struct bed_queue *busy_queue(struct bed_work **w, u32 waves, u32 steps)
{
	struct bed_queue *q = bed_queue(b, bed_process(b));

	*w = bed_work(b, q->p, waves, 1, steps, 100 * US);
	CHECK(bed_mes_add(b, q));
	bed_submit(b, q, *w, false);
	bed_run_for(b, MS);
	return q;
}

static u32 steps_done(const struct bed_work *w)
{
	return w->waves * w->steps - bed_work_lost(w);
}

/* It does not do anything while so much time goes by. */
static bool stands_still(const struct bed_work *w, u64 ns)
{
	u32 done = steps_done(w);

	bed_run_for(b, ns);
	return steps_done(w) == done;
}

/* ---- the kernel's rings ---- */

/* A ring in VRAM that writes @value to SCRATCH_REG0, and its MQD, whose write pointer is at two words of its own */
static u64 ring_that_writes(u32 value, u32 wptr_lo)
{
	u64 ring = bed_vram(b, 4096), mqd = bed_vram(b, BED_MQD_BYTES), va = bed_kernel_va(b, ring);
	u32 *w = (u32 *)(b->vram + mqd) + 0x80;

	memcpy(b->vram + ring, (u32[]) { PM4(0x79, 3), 0x40, value }, 12);
	w[VGPU_HQD_PQ_BASE_LO] = (u32)(va >> 8);
	w[VGPU_HQD_PQ_BASE_HI] = (u32)(va >> 40);
	w[VGPU_HQD_PQ_CONTROL] = 9;
	w[wptr_lo] = 0;
	return bed_kernel_va(b, mqd);
}

static bool map_ring(u64 mqd, u32 type, u32 queue)
{
	u32 f[50] = { 0 };
	u64 wptr = bed_kernel_va(b, bed_vram(b, 4096));

	f[18] = DOORBELL / 4;
	f[19] = (u32)mqd;
	f[20] = (u32)(mqd >> 32);
	f[21] = (u32)wptr;
	f[22] = (u32)(wptr >> 32);
	f[27] = type;
	f[36] = 1u << 13;
	f[48] = 2 * type;
	f[49] = queue;
	return bed_mes(b, ADD, f, 50, 37);
}

static bool unmap_ring(u32 type, u32 queue)
{
	return bed_mes(b, REMOVE, (u32[15]) { 0, DOORBELL / 4, 0, 0, 1u << 3, 0, 0, 0, 0, 2 * type, queue, 0, 0, 0, type }, 15, 5);
}

static u32 scratch(void)
{
	return vgpu_model_reg_read(b->m, vgpu_place_of(b->config.asic, VGPU_SCRATCH_REG0));
}

static void ring_works(u32 type, u32 queue, u32 wptr_lo)
{
	mes_up(0);
	CHECK(map_ring(ring_that_writes(0x1234 + type, wptr_lo), type, queue));
	CHECK_EQ(scratch(), 0);
	b->doorbells[DOORBELL / 8] = 3;
	bed_run_for(b, 0);
	CHECK_EQ(scratch(), 0x1234 + type);
	CHECK(unmap_ring(type, queue));
	CHECK(!unmap_ring(type, queue));
	b->doorbells[DOORBELL / 8] = 3;
	vgpu_model_reg_write(b->m, vgpu_place_of(b->config.asic, VGPU_SCRATCH_REG0), 0);
	bed_run_for(b, MS);
	CHECK_EQ(scratch(), 0);
}

TEST(mes_maps_a_compute_ring)
{
	ring_works(1, 1, VGPU_HQD_PQ_WPTR_LO);
}

TEST(mes_maps_the_graphics_ring)
{
	ring_works(0, 0, 0x15);
}

/* ---- queues of processes ---- */

TEST(mes_runs_added_queue)
{
	struct bed_work *w;

	mes_up(0);
	busy_queue(&w, 40, 5);
	CHECK_DONE(w);
	CHECK_EQ(bed_stat(b, "mes_adds"), 1);
	CHECK_EQ(bed_stat(b, "mes_failures"), 0);
}

TEST(mes_remove_saves_waves_and_add_restores_them)
{
	struct bed_work *w;
	struct bed_queue *q;
	u32 i;

	mes_up(0);
	q = busy_queue(&w, 300, 80);		/* more than there are slots */
	for (i = 0; i < 5; i++) {
		CHECK(bed_mes_remove(b, q));
		CHECK_EQ(bed_stat(b, "slots_busy"), 0);
		CHECK(q->mqd_words[0x80 + VGPU_HQD_CNTL_STACK_OFFSET] < BED_STACK_BYTES);
		CHECK(stands_still(w, MS));
		CHECK(bed_mes_add(b, q));
		bed_run_for(b, MS);
	}
	CHECK_DONE(w);
	CHECK_EQ(bed_stat(b, "waves_saved"), 5 * 256);
	CHECK_EQ(bed_stat(b, "waves_restored"), 5 * 256);
	CHECK_EQ(bed_stat(b, "cwsr_saves"), 5);
}

/* The control stack is in the save area, before the waves. What is behind the MQD stays as it is. */
TEST(mes_device_has_the_control_stack_in_the_save_area)
{
	struct bed_work *w;
	struct bed_queue *q;
	u32 i, n = 0;

	mes_up(0);
	q = busy_queue(&w, 8, 80);
	CHECK(bed_mes_remove(b, q));
	for (i = 0; i < BED_STACK_BYTES; i++)
		n += q->stack[i];
	CHECK_EQ(n, 0);
	CHECK(bed_mes_add(b, q));
	CHECK_DONE(w);
}

TEST(mes_answers_remove_when_all_is_saved)
{
	struct bed_work *w;
	struct bed_queue *q;
	u64 start;

	mes_up(0);
	q = busy_queue(&w, 256, 80);
	start = b->now;
	CHECK(bed_mes_remove(b, q));
	CHECK(b->now - start >= b->config.runlist_ns + b->config.trap_ns + 256ULL * BED_WAVE_BYTES * 1000 / b->config.hbm_bytes_per_us);
	CHECK_EQ(bed_stat(b, "save_requests"), 1);
	CHECK(bed_stat(b, "save_device_ns") >= b->config.runlist_ns);
	/* what is idle is taken off sooner */
	q = bed_queue(b, bed_process(b));
	CHECK(bed_mes_add(b, q));
	start = b->now;
	CHECK(bed_mes_remove(b, q));
	CHECK(b->now - start < b->config.runlist_ns + b->config.trap_ns);
	CHECK_EQ(bed_stat(b, "save_requests"), 1);
}

TEST(mes_leaves_others_alone)
{
	struct bed_work *w, *other;
	struct bed_queue *q;

	mes_up(0);
	q = busy_queue(&w, 16, 80);
	busy_queue(&other, 16, 80);
	CHECK(bed_mes_remove(b, q));
	CHECK(!stands_still(other, MS));
	CHECK(bed_mes_add(b, q));
	CHECK_DONE(other);
	CHECK_DONE(w);
	CHECK_EQ(bed_stat(b, "waves_saved"), 16);
}

TEST(mes_does_not_know_what_it_has_removed)
{
	struct bed_work *w;
	struct bed_queue *q;

	mes_up(0);
	q = busy_queue(&w, 1, 1);
	CHECK(bed_mes_remove(b, q));
	CHECK(!bed_mes_remove(b, q));
	CHECK(!bed_mes_gang(b, SUSPEND, q, 0, 0));
	CHECK(!bed_mes_gang(b, RESUME, q, 0, 0));
	CHECK_EQ(bed_stat(b, "mes_failures"), 3);
}

TEST(mes_moves_packets_with_an_sdma_queue)
{
	struct bed_process *p;
	struct bed_queue *q;
	u64 va, *written;
	u32 iv[VGPU_IV_DWORDS];

	mes_up(0);
	p = bed_process(b);
	q = bed_sdma_queue(b, p, 0);
	va = bed_alloc(b, p, 4096, (void **)&written);
	CHECK(bed_mes_add(b, q));
	fence_and_trap(q, va);
	CHECK_EQ(*written, 1);
	CHECK(bed_interrupt(b, iv));
	CHECK_EQ(iv[0] & 0xffff, 0x0a | 49 << 8);
	CHECK_EQ(iv[3] & 0xffff, p->pasid);
	/* it goes on where it was */
	CHECK(bed_mes_remove(b, q));
	*written = 0;
	CHECK(bed_mes_add(b, q));
	bed_run_for(b, MS);
	CHECK_EQ(*written, 0);
	CHECK_EQ(*q->read_index, 24);
}

#define REQUEST_VMID_9	(1u << 9 | 0x00440000u)		/* forget what is translated */

/* An engine's kernel ring of so many dwords, which registers describe */
static void sdma_ring(const u32 *packets, u32 dwords)
{
	u32 regs = vgpu_sdma_engine_regs(b->m, 0) + 0x80;
	u64 ring = bed_vram(b, 4096), va = bed_kernel_va(b, ring);

	memcpy(b->vram + ring, packets, dwords * 4);
	vgpu_model_reg_write(b->m, regs + 1, (u32)(va >> 8));
	vgpu_model_reg_write(b->m, regs + 2, (u32)(va >> 40));
	vgpu_model_reg_write(b->m, regs + 5, dwords * 4);
	vgpu_model_reg_write(b->m, regs, 1 | 10 << 1);
	bed_run_for(b, 100 * US);
	CHECK_EQ(vgpu_model_reg_read(b->m, regs + 3), dwords * 4);
}

TEST(sdma_of_gfx11_asks_for_invalidations_in_a_packet)
{
	u64 before;

	mes_up(0);
	before = bed_stat(b, "tlb_invalidations");
	sdma_ring((u32[]) { 17, 0, 0, 0, 0, 8 | 4 << 8 | 4 << 16 | 0x1f << 24, REQUEST_VMID_9, ~0u, 1u << 9 }, 9);
	CHECK_EQ(bed_stat(b, "tlb_invalidations"), before + 1);
}

TEST(processes_do_not_ask_for_invalidations)
{
	u64 before;
	struct bed_queue *q;

	mes_up(0);
	q = bed_sdma_queue(b, bed_process(b), 0);
	CHECK(bed_mes_add(b, q));
	before = bed_stat(b, "tlb_invalidations");
	memcpy(q->ring, (u32[]) { 8 | 4 << 8 | 4 << 16 | 0x1f << 24, REQUEST_VMID_9, ~0u, 1u << 9 }, 16);
	*q->write_index = 16;
	vgpu_quiet = true;
	b->doorbells[q->doorbell / 8] = 16;
	bed_run_for(b, 100 * US);
	CHECK_EQ(bed_stat(b, "tlb_invalidations"), before);
	CHECK_EQ(bed_stat(b, "bad_packets"), 1);
}

/* ---- more than fits ---- */

TEST(mes_queues_take_turns)
{
	struct bed_queue *q[SLOTS + 4];
	struct bed_work *w[SLOTS + 4];
	u32 i;

	mes_up(0);
	for (i = 0; i < ARRAY_SIZE(q); i++)
		q[i] = busy_queue(&w[i], 8, 50);
	CHECK_ALL_DONE(w, ARRAY_SIZE(w));
	CHECK(bed_stat(b, "rotations") > 0);
	CHECK_EQ(bed_stat(b, "waves_saved"), bed_stat(b, "waves_restored"));
	for (i = 0; i < ARRAY_SIZE(q); i++)
		CHECK(bed_mes_remove(b, q[i]));
	i = (u32)bed_stat(b, "rotations");
	bed_run_for(b, 100 * MS);
	CHECK_EQ(bed_stat(b, "rotations"), i);
}

TEST(mes_has_one_process_of_those_that_want_to_be_alone)
{
	struct bed_queue *q[2];
	struct bed_work *w[2];
	u32 i;

	mes_up(0);
	for (i = 0; i < 2; i++) {
		q[i] = bed_queue(b, bed_process(b));
		q[i]->gws = true;
		CHECK(bed_mes_add(b, q[i]));
		w[i] = submit_work(q[i], 8, 1, 50, 100 * US);
	}
	bed_run_for(b, MS / 2);
	CHECK_EQ(bed_stat(b, "slots_busy"), 8);
	CHECK_ALL_DONE(w, 2);
	CHECK(bed_stat(b, "rotations") > 0);
}

TEST(mes_queue_that_waits_gets_the_room_of_one_that_goes)
{
	struct bed_queue *q[SLOTS + 1];
	struct bed_work *w[SLOTS + 1];
	u32 i;

	mes_up(0);
	for (i = 0; i < SLOTS; i++)
		q[i] = busy_queue(&w[i], 1, 1);
	q[SLOTS] = bed_queue(b, bed_process(b));
	q[SLOTS]->p->quantum = 200;
	CHECK(bed_mes_add(b, q[SLOTS]));
	w[SLOTS] = submit_work(q[SLOTS], 1, 1, 1, US);
	CHECK(bed_mes_remove(b, q[3]));
	bed_run_for(b, 200 * US);
	CHECK(bed_work_done(w[SLOTS]));
	CHECK_EQ(bed_stat(b, "rotations"), 0);
}

/*
 * A VMID that goes to another process has nothing of the one before. MES sees to that; what changes
 * in the tables of a process is the driver's to invalidate, also while its queues are not there.
 */
TEST(mes_cleans_a_vmid_that_changes_hands)
{
	struct bed_work *w;
	struct bed_queue *q, *other;
	u64 before;

	mes_up(0);
	q = busy_queue(&w, 1, 1);
	before = bed_stat(b, "tlb_invalidations");
	CHECK(bed_mes_remove(b, q));
	CHECK(bed_mes_add(b, q));
	w = submit_work(q, 1, 1, 1, US);
	CHECK_DONE(w);
	CHECK_EQ(bed_stat(b, "tlb_invalidations"), before);
	CHECK(bed_mes_remove(b, q));
	other = busy_queue(&w, 1, 1);		/* whose addresses are the same */
	CHECK_EQ(other->ring_va, q->ring_va);
	CHECK_DONE(w);
	CHECK(bed_stat(b, "tlb_invalidations") > before);
	CHECK_EQ(bed_stat(b, "stale_vmids"), 0);
	CHECK_EQ(bed_stat(b, "stale_translations"), 0);
}

/* ---- gangs ---- */

TEST(mes_suspends_and_resumes_a_gang)
{
	u64 page, va, *fence, start;
	struct bed_work *w, *other;
	struct bed_queue *q;

	mes_up(0);
	page = bed_vram(b, 4096);
	va = bed_kernel_va(b, page);
	fence = (u64 *)(b->vram + page);
	q = busy_queue(&w, 128, 80);
	busy_queue(&other, 8, 80);
	start = b->now;
	CHECK(bed_mes_gang(b, SUSPEND, q, va, 7));
	/* that it has begun is the answer, and that all is saved is the fence */
	CHECK_EQ(*fence, 0);
	bed_run_for(b, MS);
	CHECK_EQ(*fence, 7);
	CHECK(b->now - start > b->config.trap_ns);
	CHECK_EQ(bed_stat(b, "waves_saved"), 128);
	CHECK(stands_still(w, 2 * MS));
	CHECK(bed_mes_gang(b, RESUME, q, 0, 0));
	CHECK_DONE(w);
	CHECK_DONE(other);
	CHECK_EQ(bed_stat(b, "waves_restored"), 128);
}

TEST(mes_resumes_no_earlier_than_it_has_saved)
{
	u64 page, start, ns;
	struct bed_work *w;
	struct bed_queue *q;

	mes_up(0);
	page = bed_vram(b, 4096);
	q = busy_queue(&w, 256, 80);
	start = b->now;
	ns = b->config.trap_ns + 256ULL * BED_WAVE_BYTES * 1000 / b->config.hbm_bytes_per_us;
	CHECK(bed_mes_gang(b, SUSPEND, q, bed_kernel_va(b, page), 1));
	CHECK(bed_mes_gang(b, RESUME, q, 0, 0));
	CHECK(b->now - start >= b->config.runlist_ns + ns + b->config.connect_ns);
	CHECK_DONE(w);
}

TEST(mes_removes_what_is_suspended)
{
	struct bed_work *w;
	struct bed_queue *q;

	mes_up(0);
	q = busy_queue(&w, 8, 80);
	CHECK(bed_mes_gang(b, SUSPEND, q, 0, 0));
	CHECK(bed_mes_remove(b, q));
	CHECK(bed_mes_add(b, q));
	CHECK_DONE(w);
	CHECK_EQ(bed_stat(b, "waves_saved"), 8);
}

/* All gangs, and one by its name before them: what RESUME of all makes of that one is firmware's choice. */
static bool named_one_goes_on(u32 firmware)
{
	struct bed_work *w, *other;
	struct bed_queue *q;
	bool goes_on;

	mes_up(firmware);
	q = busy_queue(&w, 8, 80);
	busy_queue(&other, 8, 80);
	CHECK(bed_mes_gang(b, SUSPEND, q, 0, 0));
	CHECK(bed_mes_gang(b, SUSPEND, NULL, 0, 0));
	CHECK(stands_still(other, MS));
	CHECK_EQ(bed_stat(b, "slots_busy"), 0);
	CHECK(bed_mes_gang(b, RESUME, NULL, 0, 0));
	goes_on = !stands_still(w, MS);
	CHECK_DONE(other);
	return goes_on;
}

TEST(mes_resumes_all_but_those_suspended_by_name)
{
	CHECK(!named_one_goes_on(0));
}

TEST(mes_that_resumes_all)
{
	CHECK(named_one_goes_on(1u << VGPU_FIRMWARE_RESUME_ALL_RESUMES));
}

TEST(mes_with_an_early_fence_of_suspend)
{
	u64 page;
	struct bed_work *w;
	struct bed_queue *q;

	mes_up(1u << VGPU_FIRMWARE_EARLY_SUSPEND_FENCE);
	page = bed_vram(b, 4096);
	q = busy_queue(&w, 128, 80);
	CHECK(bed_mes_gang(b, SUSPEND, q, bed_kernel_va(b, page), 7));
	CHECK_EQ(*(u64 *)(b->vram + page), 7);
	CHECK(bed_mes_gang(b, RESUME, q, 0, 0));
	CHECK_DONE(w);
}

TEST(mes_reset_kills_the_waves_of_a_gang)
{
	struct bed_work *w, *other;
	struct bed_queue *q;

	mes_up(0);
	q = busy_queue(&w, 8, 80);
	busy_queue(&other, 8, 80);
	CHECK(bed_mes_gang(b, RESET, q, 0, 0));
	CHECK_EQ(bed_stat(b, "queue_resets"), 1);
	CHECK_EQ(bed_stat(b, "waves_saved"), 0);
	CHECK(stands_still(w, MS));
	CHECK(!bed_mes_remove(b, q));		/* it is not MES's any more */
	CHECK_DONE(other);
}

/* ---- registers ---- */

TEST(mes_reads_and_writes_registers)
{
	u32 reg = vgpu_place_of(vgpu_asic_find("gfx1100"), VGPU_SCRATCH_REG0);
	u64 page;

	mes_up(0);
	page = bed_vram(b, 4096);
	CHECK(bed_mes(b, MISC, (u32[8]) { 0, 0, 0, 0, 0, 0, reg, 0x55aa }, 8, 2));
	CHECK_EQ(scratch(), 0x55aa);
	CHECK(bed_mes(b, MISC, (u32[9]) { 0, 3, 0, 0, 0, 0, reg, (u32)bed_kernel_va(b, page), VGPU_FB_BASE >> 32 }, 9, 2));
	CHECK_EQ(*(u32 *)(b->vram + page), 0x55aa);
	CHECK(bed_mes(b, MISC, (u32[10]) { 0, 4, 0, 0, 0, 0, 0, 0x5500, 0xff00, reg }, 10, 2));
	CHECK(!bed_mes(b, MISC, (u32[2]) { 0, 99 }, 2, 2));
}

/* The driver's way to forget translations while MES runs: a request, and its acknowledgement */
TEST(mes_invalidates_by_registers)
{
	u32 req, ack;
	u64 before;

	mes_up(0);
	req = vgpu_hub_reg(b->m, VGPU_HUB_GFX, VGPU_VM_INV_ENG0_REQ) + 17;
	ack = vgpu_hub_reg(b->m, VGPU_HUB_GFX, VGPU_VM_INV_ENG0_ACK) + 17;
	before = bed_stat(b, "tlb_invalidations");
	CHECK(bed_mes(b, MISC, (u32[11]) { 0, 4, 0, 0, 0, 0, 1, REQUEST_VMID_9, 1u << 9, req, ack }, 11, 2));
	CHECK_EQ(bed_stat(b, "tlb_invalidations"), before + 1);
}

TEST(registers_of_gfx11_have_their_own_places)
{
	struct bed_work *w;
	struct bed_queue *q;
	u32 i, busy;

	mes_up(0);
	q = busy_queue(&w, 40, 80);
	CHECK_EQ(bed_waves_by_register(b, q->doorbell), 40);
	/* where gfx9 has its queue registers, there is only memory */
	vgpu_model_reg_write(b->m, VGPU_HQD_FIRST + VGPU_HQD_DEQUEUE_REQUEST, 3);
	bed_run_for(b, 0);
	for (i = 0, busy = 0; i < 40; i++)
		busy += b->m->xcc[0].simd[i % 32].waves < 8;
	CHECK(busy > 0);
	CHECK_DONE(w);
}

/* ---- what goes wrong ---- */

TEST(mes_says_nothing_of_a_frame_that_it_does_not_know)
{
	vgpu_quiet = true;
	mes_up(0);
	CHECK(!bed_mes(b, 13, (u32[1]) { 0 }, 1, 1));
	CHECK(!bed_mes_past(b));
	CHECK_EQ(bed_stat(b, "bad_packets"), 1);
}

TEST(silent_mes_does_nothing_any_more)
{
	struct bed_work *w;
	struct bed_queue *q;

	mes_up(0);
	q = busy_queue(&w, 8, 80);
	*vgpu_model_fault_left(b->m, VGPU_FAULT_MES_SILENT) = 1;
	CHECK(!bed_mes_remove(b, q));
	CHECK(!bed_mes_past(b));
	CHECK(!bed_mes_remove(b, q));
	CHECK_EQ(bed_stat(b, "mes_removes"), 0);
	CHECK_DONE(w);				/* queues run on */
}

TEST(late_mes_has_done_it_in_time)
{
	struct bed_work *w;
	struct bed_queue *q;
	u64 start;

	mes_up(0);
	q = busy_queue(&w, 8, 80);
	*vgpu_model_fault_left(b->m, VGPU_FAULT_MES_LATE) = 1;
	*vgpu_model_fault_value(b->m, VGPU_FAULT_MES_LATE) = 1500000;
	CHECK(!bed_mes_remove(b, q));		/* a second is not enough */
	CHECK(!bed_mes_past(b));
	CHECK_EQ(bed_stat(b, "slots_busy"), 0);
	start = b->now;
	CHECK(bed_run_until(b, bed_mes_past, b, LONG));
	CHECK(b->now - start < 510 * MS);
	CHECK_EQ(*b->mes_answer, 1);
	CHECK(bed_mes_add(b, q));
	CHECK_DONE(w);
}

TEST(mes_that_does_not_remove_goes_on)
{
	struct bed_work *w;
	struct bed_queue *q;

	mes_up(0);
	q = busy_queue(&w, 8, 80);
	*vgpu_model_fault_left(b->m, VGPU_FAULT_MES_REMOVE_FAILS) = 1;
	CHECK(!bed_mes_remove(b, q));
	CHECK(bed_mes_past(b));
	CHECK(!stands_still(w, MS));
	CHECK(bed_mes_remove(b, q));
	CHECK(bed_mes_add(b, q));
	CHECK_DONE(w);
	CHECK_EQ(bed_stat(b, "mes_failures"), 1);
}

TEST(hung_waves_are_not_removed_but_reset)
{
	struct bed_work *w;
	struct bed_queue *q;

	mes_up(0);
	*vgpu_model_fault_left(b->m, VGPU_FAULT_HUNG_WAVE) = 1;
	q = busy_queue(&w, 8, 2);
	CHECK(!bed_mes_remove(b, q));
	CHECK(bed_mes_past(b));
	CHECK(bed_stat(b, "slots_busy") > 0);
	CHECK(bed_mes_gang(b, RESET, q, 0, 0));
	CHECK_EQ(bed_stat(b, "slots_busy"), 0);
}

TEST(reset_device_forgets_its_mes)
{
	u64 page;
	struct bed_work *w;
	struct bed_queue *q;

	mes_up(0);
	page = bed_vram(b, 4096);
	q = busy_queue(&w, 128, 80);
	CHECK(bed_mes_gang(b, SUSPEND, q, bed_kernel_va(b, page), 7));
	vgpu_model_reset(b->m);
	bed_driver_up(b);
	bed_run_for(b, 10 * MS);
	CHECK_EQ(*(u64 *)(b->vram + page), 0);
	CHECK(!bed_mes_gang(b, RESUME, q, 0, 0));
	busy_queue(&w, 1, 1);
	CHECK_DONE(w);
}

/* Queues that come, go, stop and go on as a seed says: nothing is lost, nothing is done twice. */
static void life_with_mes(u32 seed)
{
	enum { AWAY, THERE, SUSPENDED } state[SLOTS + 4] = { AWAY };
	struct bed_queue *q[SLOTS + 4];
	struct bed_work *w[SLOTS + 4];
	u32 i, n;

	mes_up(0);
	for (i = 0; i < ARRAY_SIZE(q); i++) {
		q[i] = bed_queue(b, bed_process(b));
		w[i] = submit_work(q[i], 40, 4, 20, 100 * US);
	}
	for (n = 0; n < 60; n++) {
		seed = seed * 1664525u + 1013904223u;
		i = (seed >> 16) % ARRAY_SIZE(q);
		if (state[i] != THERE) {
			CHECK(state[i] == AWAY ? bed_mes_add(b, q[i]) : bed_mes_gang(b, RESUME, q[i], 0, 0));
			state[i] = THERE;
		} else {
			CHECK(seed >> 31 ? bed_mes_remove(b, q[i]) : bed_mes_gang(b, SUSPEND, q[i], 0, 0));
			state[i] = seed >> 31 ? AWAY : SUSPENDED;
		}
		bed_run_for(b, (seed >> 8 & 0xff) * 10 * US);
	}
	for (i = 0; i < ARRAY_SIZE(q); i++)
		if (state[i] != THERE)
			CHECK(state[i] == AWAY ? bed_mes_add(b, q[i]) : bed_mes_gang(b, RESUME, q[i], 0, 0));
	CHECK_ALL_DONE(w, ARRAY_SIZE(w));
	CHECK_EQ(bed_stat(b, "mes_failures"), 0);
}

TEST(mes_loses_nothing_whatever_comes_and_goes)
{
	draw_lots(life_with_mes);
}
