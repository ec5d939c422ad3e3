// SPDX-License-Identifier: MIT
/* fault_test.c - unit tests of the device model: what goes wrong on demand, and resets */
#include "model_test.h"

#define VMID	HQD_VMID

static void fault(enum vgpu_fault fault, u32 times)
{
	*vgpu_model_fault_left(b->m, fault) = times;
}

/* What the driver reads from the MQD of the HIQ after an unmap, and clears */
static u32 failed_doorbell(void)
{
	u32 doorbell = b->hiq_mqd_words[0x3c0 / 4];

	b->hiq_mqd_words[0x3c0 / 4] = 0;
	return doorbell;
}

/* Number of slots of MEC1 whose queue is active; the last one of them is selected. */
static u32 active_slots(void)
{
	u32 pipe, queue, n = 0, found = 0;

	for (pipe = 0; pipe < VGPU_PIPES; pipe++)
		for (queue = 0; queue < VGPU_QUEUES; queue++)
			if (bed_hqd_active(b, pipe, queue)) {
				found = pipe | 1 << 2 | queue << 8;
				n++;
			}
	vgpu_model_reg_write(b->m, VGPU_GRBM_GFX_CNTL, found);
	return n;
}

/* Every register, banked ones in every bank, is what it was when the device was new. */
static void compare_registers(const struct vgpu_model *fresh)
{
	u32 i;

	for (i = 0; i < fresh->regs.count; i++)
		if (b->m->regs.ram[i] != fresh->regs.ram[i])
			check_failed(__FILE__, __LINE__, "register %#x is %#x, not %#x", i, b->m->regs.ram[i], fresh->regs.ram[i]);
	CHECK(!memcmp(b->m->regs.xcc, fresh->regs.xcc, fresh->config.xccs * sizeof(*fresh->regs.xcc)));
	CHECK(!memcmp(b->m->regs.indirect_key, fresh->regs.indirect_key, VGPU_INDIRECT_SLOTS * sizeof(u32)));
	CHECK_EQ(b->m->regs.hqd_events, 0);
}

static void compare_state(const struct vgpu_model *fresh)
{
	u32 i;

	CHECK(vgpu_list_empty(&b->m->queues));
	CHECK(vgpu_list_empty(&b->m->groups));
	CHECK(vgpu_list_empty(&b->m->waiting));
	for (i = 0; i < fresh->config.xccs; i++) {
		b->m->xcc[i].next_cu = 0;			/* does not matter */
		memset(b->m->xcc[i].cu_started, 0, sizeof(fresh->xcc[i].cu_started));	/* counts on */
		CHECK(!memcmp(&b->m->xcc[i], &fresh->xcc[i], sizeof(fresh->xcc[i])));
	}
	CHECK(!memcmp(b->m->sdma_ring, fresh->sdma_ring, sizeof(fresh->sdma_ring)));
	CHECK(!b->m->ih.pending);
	for (i = 0; i < BED_DOORBELL_BYTES / 8; i++)
		CHECK_EQ(b->doorbells[i], 0);
}

/* Whatever runs, by scheduler and by registers, waits, is being saved: a reset forgets all of it, and the device comes up again. */
TEST(reset_is_power_on)
{
	struct bed_process *p, *by_register;
	struct bed *fresh = bed_new(NULL);
	struct bed_queue *q[40];
	struct bed_work *w;
	u32 i, round;

	up();
	for (round = 0; round < 2; round++) {
		p = bed_process(b);
		by_register = bed_process(b);
		for (i = 0; i < ARRAY_SIZE(q); i++) {		/* more than there are slots for */
			q[i] = i == 1 ? bed_sdma_queue(b, p, 1) : bed_queue(b, p);
			if (i != 1)
				bed_submit(b, q[i], bed_work(b, p, 64, 4, 50, MS), false);
		}
		CHECK(bed_runlist(b, q, ARRAY_SIZE(q)));
		bed_vmid(b, 1, by_register);
		q[0] = bed_queue(b, by_register);
		w = bed_work(b, by_register, 64, 1, 50, MS);
		bed_submit(b, q[0], w, false);
		bed_hqd_load(b, q[0], 0, 0, 1);
		for (i = 0; i < 20; i++) {			/* registers that nothing uses here */
			vgpu_model_reg_write(b->m, 0x1000 + 97 * i, ~i);
			vgpu_model_reg_write(b->m, VGPU_PCIE_INDEX2, 0x3b10000 + 4 * i);
			vgpu_model_reg_write(b->m, VGPU_PCIE_DATA2, ~i);
		}
		vgpu_model_reg_write(b->m, VGPU_USER_SHADER_ARRAY, 0x30000);
		vgpu_model_reg_write(b->m, VGPU_BIOS_SCRATCH_0 + 7, 0);
		vgpu_model_reg_write(b->m, VGPU_GB_ADDR_CONFIG, 0);
		bed_run_for(b, 3 * MS);
		CHECK(bed_stat(b, "slots_busy") > 0);
		if (round)
			bed_write_reg(b, 1, 0, 0, VGPU_HQD_DEQUEUE_REQUEST, BED_SAVE);	/* not taken yet */
		vgpu_model_reset(b->m);
		CHECK_EQ(bed_stat(b, "resets"), round + 1);
		compare_registers(fresh->m);
		compare_state(fresh->m);
		bed_run_for(b, 10 * MS);
		compare_registers(fresh->m);

		bed_driver_up(b);
		p = bed_process(b);
		q[0] = bed_queue(b, p);
		w = bed_work(b, p, 64, 1, 4, MS);
		CHECK(bed_runlist(b, q, 1));
		bed_submit(b, q[0], w, false);
		CHECK_DONE(w);
		CHECK(bed_unmap(b, false));
	}
	bed_free(fresh);
}

/* Two queues with work of 4 ms run for 1.5 ms */
static struct bed_queue *q[2];
static struct bed_work *w[2];

static void two_queues(void)
{
	static u32 doorbell;			/* other garbage each time */

	up();
	doorbell = (doorbell + 8) % 1024;
	b->next_doorbell += doorbell;
	add_queues(q, w, 2, 64, 1, 4, MS);
	run_all(q, w, 2);
	bed_run_for(b, 1500 * US);
}

TEST(late_unmap_is_late)
{
	u64 start;

	two_queues();
	fault(VGPU_FAULT_UNMAP_LATE, 1);
	*vgpu_model_fault_value(b->m, VGPU_FAULT_UNMAP_LATE) = 7000;
	start = b->now;
	CHECK(bed_unmap(b, false));
	CHECK(b->now - start >= 7 * MS && b->now - start < 8 * MS);
	CHECK_EQ(bed_stat(b, "faults"), 1);
	CHECK(bed_runlist(b, q, 2));
	CHECK_ALL_DONE(w, 2);
}

/* The HIQ is of no use any more, queues run on, a reset helps. */
TEST(lost_unmap_stops_the_scheduler)
{
	two_queues();
	fault(VGPU_FAULT_UNMAP_LOST, 1);
	CHECK(!bed_unmap(b, false));
	CHECK(!bed_runlist(b, q, 1));
	CHECK_ALL_DONE(w, 2);
	vgpu_model_reset(b->m);
	bed_driver_up(b);
	q[0] = bed_queue(b, q[0]->p);
	w[0] = bed_work(b, q[0]->p, 64, 1, 4, MS);
	CHECK(bed_runlist(b, q, 1));
	bed_submit(b, q[0], w[0], false);
	CHECK_DONE(w[0]);
}

TEST(lost_fence_is_only_a_lost_fence)
{
	two_queues();
	fault(VGPU_FAULT_FENCE_LOST, 1);
	CHECK(!bed_unmap(b, false));
	CHECK_EQ(bed_stat(b, "slots_busy"), 0);
	CHECK_EQ(failed_doorbell(), 0);
	CHECK(bed_runlist(b, q, 2));
	CHECK_ALL_DONE(w, 2);
}

/* Reported, not true: what is put into the ring is executed. The truth comes by itself. */
TEST(full_ring_is_a_lie_and_ends)
{
	volatile u32 *told;

	two_queues();
	told = (u32 *)(b->hiq_wptr_memory - 8);
	CHECK_EQ(*told, b->hiq_wptr % BED_KERNEL_RING);
	fault(VGPU_FAULT_FULL_AFTER_UNMAP, 1);
	CHECK(bed_unmap(b, false));
	CHECK_EQ(*told, (b->hiq_wptr + 1) % BED_KERNEL_RING);
	bed_run_for(b, 25 * MS);
	CHECK_EQ(*told, b->hiq_wptr % BED_KERNEL_RING);
	fault(VGPU_FAULT_FULL_AFTER_RUNLIST, 1);
	CHECK(bed_runlist(b, q, 2));
	CHECK_EQ(*told, (b->hiq_wptr + 1) % BED_KERNEL_RING);
	CHECK(bed_unmap(b, false));
	bed_run_for(b, 25 * MS);
	CHECK_EQ(*told, b->hiq_wptr % BED_KERNEL_RING);
	CHECK_EQ(bed_stat(b, "faults"), 2);
	CHECK(bed_runlist(b, q, 2));
	CHECK_ALL_DONE(w, 2);
}

/* The scheduler gives up on one queue, which goes on; the others are saved. */
TEST(failed_preemption_is_logged)
{
	u32 doorbell, kept;

	two_queues();
	fault(VGPU_FAULT_PREEMPT_FAIL, 1);
	CHECK(bed_unmap(b, false));
	doorbell = failed_doorbell() * 4;
	kept = doorbell == q[1]->doorbell;
	CHECK_EQ(doorbell, q[kept]->doorbell);
	CHECK_EQ(active_slots(), 1);
	CHECK_DONE(w[kept]);
	CHECK(bed_work_lost(w[!kept]) > 0);
	/* It is in its slot: the next runlist does not map it a second time. */
	CHECK(bed_runlist(b, q, 2));
	CHECK_DONE(w[!kept]);
	CHECK_ONCE(w[kept]);
}

static void hung(void)
{
	two_queues();
	w[0] = bed_work(b, q[0]->p, 64, 1, 4, MS);
	fault(VGPU_FAULT_HUNG_WAVE, 1);
	bed_submit(b, q[0], w[0], false);
	unmap_after(MS);
	CHECK_EQ(failed_doorbell() * 4, q[0]->doorbell);
	CHECK_EQ(active_slots(), 1);
}

/* The same of those that a packet names. */
TEST(failed_preemption_by_name_is_logged)
{
	u32 kept;

	two_queues();
	fault(VGPU_FAULT_PREEMPT_FAIL, 1);
	CHECK(bed_unmap_named(b, q, 2));
	kept = failed_doorbell() * 4 == q[1]->doorbell;
	CHECK_EQ(active_slots(), 1);
	CHECK_DONE(w[kept]);
	CHECK(bed_work_lost(w[!kept]) > 0);
	/* It is in its slot: it is not mapped a second time. */
	CHECK(bed_map_named(b, &q[kept], 1));
	CHECK(bed_map_named(b, &q[!kept], 1));
	CHECK_DONE(w[!kept]);
	CHECK_ONCE(w[kept]);
}

/* Waves that do not let themselves be saved stay through any number of unmaps and rotations, until their queue is reset. */
TEST(hung_wave_needs_a_queue_reset)
{
	hung();
	CHECK(bed_runlist(b, q, 2));
	CHECK_EQ(active_slots(), 2);			/* and not a second time */
	CHECK_DONE(w[1]);
	CHECK(bed_unmap(b, false));
	CHECK_EQ(failed_doorbell() * 4, q[0]->doorbell);
	CHECK_EQ(bed_work_lost(w[0]), 64 * 4);
	CHECK_EQ(active_slots(), 1);
	vgpu_model_reg_write(b->m, VGPU_SPI_QUEUE_RESET, 1);
	bed_run_for(b, 0);
	CHECK_EQ(active_slots(), 0);
	CHECK_EQ(bed_stat(b, "slots_busy"), 0);
	CHECK_EQ(bed_stat(b, "queue_resets"), 1);
	CHECK(bed_unmap(b, false));
	CHECK_EQ(failed_doorbell(), 0);
}

/* The queue was not asked to leave: it goes on with its next packet. A reset of its pipe has no effect at all. */
TEST(queue_reset_kills_waves)
{
	struct bed_work *w[3];
	u32 i;
	struct bed_queue *q = queue_up();

	for (i = 0; i < 3; i++)
		w[i] = bed_work(b, q->p, 64, 1, 4, MS);
	run_work(q, w[0], 1500 * US);
	CHECK_EQ(active_slots(), 1);
	vgpu_model_reg_write(b->m, VGPU_CP_MEC_CNTL, 0xf0000);
	CHECK_DONE(w[0]);
	bed_submit(b, q, w[1], false);
	bed_run_for(b, 1500 * US);
	CHECK_EQ(active_slots(), 1);
	vgpu_model_reg_write(b->m, VGPU_SPI_QUEUE_RESET, 1);
	bed_run_for(b, 0);
	CHECK_EQ(bed_stat(b, "slots_busy"), 0);
	CHECK_EQ(active_slots(), 1);
	bed_submit(b, q, w[2], false);
	CHECK_DONE(w[2]);
	CHECK(bed_work_lost(w[1]) > 0);
}

TEST(hung_wave_may_need_a_pipe_reset)
{
	u32 pipe;

	hung();
	pipe = vgpu_model_reg_read(b->m, VGPU_GRBM_GFX_CNTL) & 3;
	fault(VGPU_FAULT_QUEUE_RESET_FAIL, 1);
	vgpu_model_reg_write(b->m, VGPU_SPI_QUEUE_RESET, 1);
	bed_run_for(b, MS);
	CHECK_EQ(active_slots(), 1);
	vgpu_model_reg_write(b->m, VGPU_CP_MEC_CNTL, 0x10000 << ((pipe + 1) % 4));	/* another pipe */
	vgpu_model_reg_write(b->m, VGPU_CP_MEC_CNTL, 0);
	bed_run_for(b, MS);
	CHECK_EQ(active_slots(), 1);
	fault(VGPU_FAULT_PIPE_RESET_FAIL, 1);
	vgpu_model_reg_write(b->m, VGPU_CP_MEC_CNTL, 0x10000 << pipe);
	bed_run_for(b, MS);
	CHECK_EQ(active_slots(), 1);
	vgpu_model_reg_write(b->m, VGPU_CP_MEC_CNTL, 0x10000 << pipe);
	vgpu_model_reg_write(b->m, VGPU_CP_MEC_CNTL, 0);
	bed_run_for(b, 0);
	CHECK_EQ(active_slots(), 0);
	CHECK_EQ(bed_stat(b, "slots_busy"), 0);
}

/* Unmapping with the action reset asks no wave for its state. */
TEST(unmap_with_reset_kills)
{
	hung();
	CHECK(bed_runlist(b, q, 2));
	bed_run_for(b, MS);
	CHECK(bed_unmap(b, true));
	CHECK_EQ(failed_doorbell(), 0);
	CHECK_EQ(active_slots(), 0);
	CHECK_EQ(bed_stat(b, "slots_busy"), 0);
	CHECK(bed_runlist(b, q, 2));
	bed_run_for(b, 20 * MS);
	CHECK_EQ(bed_work_lost(w[0]), 64 * 4);
	CHECK(bed_work_lost(w[1]) > 0);
	CHECK_EQ(bed_work_twice(w[1]), 0);
	w[1] = submit_work(q[1], 64, 1, 4, MS);
	CHECK_DONE(w[1]);
}

/* By register a queue with a hung wave does not leave its slot either, whatever is asked for but a reset. */
TEST(hung_wave_holds_its_slot_by_registers)
{
	struct bed_queue *q;
	struct bed_work *w;
	struct bed_process *p = up_process();

	bed_vmid(b, VMID, p);
	q = bed_queue(b, p);
	w = submit_work(q, 64, 1, 10, 100 * US);
	fault(VGPU_FAULT_HUNG_WAVE, 1);
	load_for(q, 0, 3, VMID, 150 * US);
	bed_hqd_dequeue(b, 0, 3, BED_SAVE);
	bed_run_for(b, 20 * MS);
	CHECK(bed_hqd_active(b, 0, 3));
	bed_hqd_dequeue(b, 0, 3, BED_DRAIN);
	bed_run_for(b, 20 * MS);
	CHECK(bed_hqd_active(b, 0, 3));
	bed_hqd_dequeue(b, 0, 3, BED_RESET);
	CHECK(!bed_hqd_active(b, 0, 3));
	CHECK_EQ(bed_stat(b, "slots_busy"), 0);
	CHECK_EQ(bed_work_lost(w), 640);
}

/* CP_HQD_DEQUEUE_REQUEST: late, only by reset, not at all */
TEST(dequeue_fails_in_three_ways)
{
	static const enum vgpu_fault kinds[] = { VGPU_FAULT_DEQUEUE_LATE, VGPU_FAULT_DEQUEUE_LOST, VGPU_FAULT_DEQUEUE_DEAD };
	struct bed_queue *q;
	struct bed_work *w;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		q = hqd_up(&w, 64, 10, 100 * US);
		fault(kinds[i], 1);
		load_for(q, 0, 3, VMID, 150 * US);
		bed_hqd_dequeue(b, 0, 3, BED_SAVE);
		bed_run_for(b, 15 * MS);
		CHECK(bed_hqd_active(b, 0, 3));
		bed_run_for(b, 10 * MS);
		CHECK_EQ(bed_hqd_active(b, 0, 3), i > 0);
		CHECK_EQ(bed_stat(b, "waves_saved"), i ? 0 : 64);
		/* Asking again is no help. */
		bed_hqd_dequeue(b, 0, 3, BED_SAVE);
		bed_run_for(b, 10 * MS);
		CHECK_EQ(bed_hqd_active(b, 0, 3), i > 0);
		CHECK_EQ(bed_stat(b, "waves_saved"), i ? 0 : 64);
		bed_hqd_dequeue(b, 0, 3, BED_RESET);
		bed_run_for(b, 10 * MS);
		CHECK_EQ(bed_hqd_active(b, 0, 3), i > 1);
		CHECK_EQ(bed_stat(b, "faults"), 1);
		vgpu_model_reset(b->m);
		CHECK(!bed_hqd_active(b, 0, 3));
	}
}

/* ... and later, when nothing counts on it any more, it is gone, with all that it had */
TEST(dead_queue_goes_without_its_waves)
{
	struct bed_work *w;
	struct bed_queue *q = hqd_up(&w, 64, 100, 100 * US);

	*vgpu_model_fault_value(b->m, VGPU_FAULT_DEQUEUE_DEAD) = 3000;
	fault(VGPU_FAULT_DEQUEUE_DEAD, 1);
	load_for(q, 0, 3, VMID, 150 * US);
	bed_hqd_dequeue(b, 0, 3, BED_SAVE);
	bed_run_for(b, 2 * MS);
	bed_hqd_dequeue(b, 0, 3, BED_RESET);
	CHECK(bed_hqd_active(b, 0, 3));
	bed_run_for(b, 2 * MS);
	CHECK(!bed_hqd_active(b, 0, 3));
	CHECK_EQ(bed_stat(b, "slots_busy"), 0);
	CHECK_EQ(bed_stat(b, "waves_saved"), 0);
	CHECK(bed_work_lost(w) > 0);
}

TEST(scribbling_hits_the_queue_saved_last)
{
	u32 before[2], i, hit;

	two_queues();
	CHECK(!vgpu_model_scribble(b->m));
	CHECK(bed_unmap(b, false));
	for (i = 0; i < 2; i++)
		before[i] = q[i]->mqd_words[0x80 + VGPU_HQD_PQ_BASE_LO];
	CHECK(vgpu_model_scribble(b->m));
	hit = q[1]->mqd_words[0x80 + VGPU_HQD_PQ_BASE_LO] != before[1];
	CHECK_EQ(q[!hit]->mqd_words[0x80 + VGPU_HQD_PQ_BASE_LO], before[!hit]);
	CHECK(q[hit]->mqd_words[0x80 + VGPU_HQD_PQ_BASE_LO] != before[hit]);
	vgpu_quiet = true;
	CHECK(bed_runlist(b, q, 2));
	CHECK(!vgpu_model_scribble(b->m));
	CHECK_DONE(w[!hit]);
	CHECK(bed_work_lost(w[hit]) > 0);
}

TEST(lost_state_needs_the_driver)
{
	two_queues();
	fault(VGPU_FAULT_STATE_LOST, 1);
	CHECK(!bed_unmap(b, false));
	CHECK_EQ(bed_stat(b, "resets"), 1);
	CHECK_EQ(bed_stat(b, "slots_busy"), 0);
	CHECK_EQ(vgpu_model_reg_read(b->m, VGPU_VM_CONTEXT0_CNTL), 0);
	bed_driver_up(b);
	CHECK(bed_hiq_fence(b));
}

TEST(lost_interrupt_is_seen_with_the_next_one)
{
	u32 irqs, iv[VGPU_IV_DWORDS], i;

	two_queues();
	for (i = 0; i < 2; i++)
		((u64 *)w[i]->signal)[1] = w[i]->flag_va + 8;		/* event mailbox */
	drain_interrupts();
	irqs = b->irqs;
	fault(VGPU_FAULT_IRQ_LOST, 1);
	CHECK_DONE(w[0]);
	CHECK_DONE(w[1]);				/* in the same instant, so in the same interrupt */
	bed_run_for(b, 20 * MS);
	CHECK_EQ(b->irqs, irqs);
	w[0] = bed_work(b, q[0]->p, 1, 1, 1, US);
	((u64 *)w[0]->signal)[1] = w[0]->flag_va + 8;
	bed_submit(b, q[0], w[0], false);
	CHECK_DONE(w[0]);
	CHECK_EQ(b->irqs, irqs + 1);
	for (i = 0; i < 3; i++)
		CHECK(bed_interrupt(b, iv));
	CHECK(!bed_interrupt(b, iv));
}

/* Garbage hurts its owner alone; the device lives on. */
TEST(garbage_stays_in_its_process)
{
	static const enum vgpu_fault kinds[] = { VGPU_FAULT_MQD_GARBAGE, VGPU_FAULT_CTL_STACK_GARBAGE };
	struct bed_work *next;
	u32 i;

	vgpu_quiet = true;
	for (i = 0; i < 32; i++) {
		two_queues();
		fault(kinds[i % 2], 1);			/* the queue that is saved first */
		CHECK(bed_unmap(b, false));
		CHECK_EQ(bed_stat(b, "faults"), 1);
		CHECK(bed_runlist(b, q, 2));
		bed_run_for(b, 20 * MS);
		CHECK(bed_work_lost(w[0]) == 0 || bed_work_lost(w[1]) == 0);
		CHECK(bed_work_lost(w[0]) > 0 || bed_work_lost(w[1]) > 0);
		CHECK_EQ(bed_work_twice(w[0]) + bed_work_twice(w[1]), 0);
		CHECK(bed_unmap(b, false));
		CHECK_EQ(failed_doorbell(), 0);
		q[0] = bed_queue(b, bed_process(b));
		next = bed_work(b, q[0]->p, 64, 1, 4, MS);
		CHECK(bed_runlist(b, q, 1));
		bed_submit(b, q[0], next, false);
		CHECK_DONE(next);
	}
}

TEST(garbage_read_index_is_reported_once)
{
	struct bed_work *w;
	struct bed_queue *q = grid_up(&w, 64, 1, 4, MS);

	fault(VGPU_FAULT_RPTR_GARBAGE, 1);
	*vgpu_model_fault_value(b->m, VGPU_FAULT_RPTR_GARBAGE) = 0x123456789abcULL;
	CHECK_DONE(w);
	CHECK(*q->read_index == 0x123456789abcULL);
	w = submit_work(q, 64, 1, 4, MS);
	CHECK_DONE(w);
	CHECK_EQ(*q->read_index, 2);
}

/* All of VRAM but the discovery table, once; other resets leave it as it is. */
TEST(lost_vram_is_garbage)
{
	const u64 words = (1 << 20) / 8, end = words - VGPU_DISCOVERY_OFFSET / 8;
	u64 *word, lost;

	up();
	b->m->config.vram_bytes = words * 8;
	word = (u64 *)b->vram;
	word[0] = word[end - 1] = word[end] = word[words] = 0x1234;
	vgpu_model_reset(b->m);
	CHECK(word[0] == 0x1234 && word[end - 1] == 0x1234);
	fault(VGPU_FAULT_VRAM_LOST, 1);
	vgpu_model_reset(b->m);
	CHECK(word[0] != 0x1234 && word[end / 2] && word[end - 1] != 0x1234);
	CHECK(!(word[0] & 1));				/* no valid page table entry */
	lost = word[0];
	CHECK(word[end] == 0x1234 && word[words] == 0x1234);
	word[0] = 0x1234;
	vgpu_model_reset(b->m);
	CHECK(word[0] == 0x1234);
	fault(VGPU_FAULT_VRAM_LOST, 1);
	vgpu_model_reset(b->m);
	CHECK(word[0] != 0x1234 && word[0] != lost);	/* which the driver may remember */
}

TEST(faults_have_names)
{
	u32 i, k;

	for (i = 0; i < VGPU_FAULTS; i++) {
		CHECK(vgpu_fault_name(i) && *vgpu_fault_name(i));
		for (k = 0; k < i; k++)
			CHECK(strcmp(vgpu_fault_name(i), vgpu_fault_name(k)));
	}
}
