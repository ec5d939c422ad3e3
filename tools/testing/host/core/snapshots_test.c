// SPDX-License-Identifier: MIT
/* snapshots_test.c - what is saved of MQDs and control stacks, and compared */
#include "rivals.h"

TEST(snapshots_have_limits, "a manager that lacks any of the functions makes none; of a stack no more is taken than fits")
{
	struct mqd_manager *mm, complete;

	low_runs(false);
	set("gpreempt_verify", "1");
	high_preempts_low();
	mm = &world.nodes[0].mm;
	complete = *mm;
	mm->mqd_stride = NULL;
	CHECK(!gpreempt_mqd_snapshot_alloc(&low->q));
	*mm = complete;
	mm->mqd_size = PAGE_SIZE + CTL_STACK_BYTES;
	kvfree(gpreempt_mqd_snapshot_alloc(&low->q) ?: (tap_fail(__FILE__, __LINE__, "no snapshot"), NULL));
	mm->mqd_size = complete.mqd_size;
	/* The MQD says how large it is. Behind the last one there is nothing. */
	mqd_on(low, 0)->cp_hqd_cntl_stack_size = 2 * CTL_STACK_BYTES;
	gpreempt_mqd_snapshot_take(low->q.gpreempt);
	CHECK(gpreempt_mqd_snapshot_mqds(low->q.gpreempt) != NULL);
	mqd_on(low, 0)->cp_hqd_cntl_stack_size = CTL_STACK_BYTES;
	*mm = complete;
	gpreempt_mqd_snapshot_take(low->q.gpreempt);
}

TEST(nothing_is_written_back, "what somebody wrote to any of the MQDs or control stacks of a preempted queue is told once, and is what the queue continues with")
{
	u32 doorbell;
	u8 scribbled;

	EACH_ANEW(xcc, 2, "XCC %u: ", xcc) {
		u8 *last;

		low_runs_on(false, xcc);
		set("gpreempt_max_hold_ms", "0");
		set("gpreempt_verify", "1");
		high_preempts_low();
		last = (u8 *)mqd_on(low, xcc) + PAGE_SIZE + CTL_STACK_BYTES - 1;
		*last ^= 1;
		scribbled = *last;
		mqd_on(low, xcc)->cp_hqd_pq_doorbell_control ^= 1;
		doorbell = mqd_on(low, xcc)->cp_hqd_pq_doorbell_control;
		CHECK(run_until_idle(high, SEC));
		while (preempted(low))
			run(TICK_NS);
		CHECK_EQ(*last, scribbled);
		CHECK_EQ(mqd_on(low, xcc)->cp_hqd_pq_doorbell_control, doorbell);
		CHECK(run_until_idle(low, SEC));
		CHECK_EQ(failed(GPREEMPT_FAILURE_VERIFY), 1);
	}
}

BOTH(no_snapshot_is_no_exemption, "without memory for a snapshot a queue is not verified, and preempted all the same")
{
	world_on(hws);
	set("gpreempt_verify", "1");
	low = add_queue(10);
	kvfree(low->q.gpreempt->mqd.snapshot);
	low->q.gpreempt->mqd.snapshot = NULL;
	high = add_queue(0);
	low->kernel_ns = 50 * MS;
	world.nodes[0].nr_wave_slots = 1;
	submit_and_run(low, 2, 2 * MS);
	high_preempts_low();
	CHECK_EQ(skipped(GPREEMPT_SKIP_NO_MEMORY), 0);
}

TEST(snapshots_follow_doorbells, "a doorbell that moves while its queue is preempted moves in the snapshot as well")
{
	low_runs(false);
	set("gpreempt_verify", "1");
	high_preempts_low();
	low->q.properties.doorbell_off += 0x100;
	update_queue(low, LOW);
	CHECK(run_until_idle(low, SEC));
	CHECK_EQ(failed(GPREEMPT_FAILURE_VERIFY), 0);
}
