// SPDX-License-Identifier: MIT
/* hardware_priorities_test.c - what the hardware is told of priorities */
#include "rivals.h"

TEST(priorities_without_hws, "a queue leaves once for the priority that it should have; one that is held is given it there, and is not loaded for it")
{
	u32 before;

	low_is_preempted(false);
	CHECK_EQ(mqd_priority(low), NORMAL);
	CHECK_EQ(node_of(0)->mqd.nr_altered, 0);
	process_of(high)->task.nice = 2;
	run(10 * MS);
	before = node_of(0)->waves.epoch;
	set("gpreempt_hw_priority", "follow");
	CHECK_AFTER(10 * MS, preempted(low) && !on_device(low));
	CHECK_EQ(mqd_priority(low), 0);
	CHECK_EQ(mqd_priority(high), NORMAL - 2);
	CHECK_EQ(node_of(0)->mqd.nr_altered, 2);
	/* Of the two only one was on the device. */
	CHECK_EQ(node_of(0)->waves.epoch, before + 1);
	CHECK_EQ(failed(GPREEMPT_FAILURE_VERIFY), 0);
	update_queue(high, LOW);
	CHECK_EQ(mqd_priority(high), NORMAL - 2);
	set("gpreempt_hw_priority", "normal");
	CHECK_EQ_AFTER(10 * MS, mqd_priority(low), NORMAL);
	CHECK_EQ(node_of(0)->mqd.nr_altered, 1);
}

TEST(obstacles_to_priorities, "a queue that may not be taken off is not taken off for its priority either")
{
	world_polled(false);
	set("gpreempt_hw_priority", "follow");
	add_rivals(3, 0);
	debug_process(process_of(low), true);
	CHECK_EQ_AFTER(20 * MS, low->asked_ms, 0);
	CHECK_EQ(mqd_priority(low), NORMAL);
	debug_process(process_of(low), false);
	/* It is dormant: so soon it is looked at again. */
	CHECK_EQ_AFTER(1100 * MS, mqd_priority(low), NORMAL - 3);
}

TEST(priorities_from_the_first, "what MQDs say of a queue is not known before they were looked at, also if its priority is to be the lowest")
{
	world_make(false, 1, 1);
	set("gpreempt_hw_priority", "follow");
	set("gpreempt_enable", "1");
	low = add_queue(19);
	CHECK_EQ(mqd_priority(low), NORMAL);
	CHECK_EQ_AFTER(20 * MS, mqd_priority(low), 0);
}

BOTH(priorities_on_all_xccs, "the hardware's priority is the same on each XCC")
{
	world_make(hws, 2, 1);
	set("gpreempt_hw_priority", "follow");
	set("gpreempt_enable", "1");
	low = add_queue(3);
	run(20 * MS);
	evict_and_restore(low);
	CHECK_EQ(mqd_on(low, 0)->cp_hqd_queue_priority, NORMAL - 3);
	CHECK_EQ(mqd_on(low, 1)->cp_hqd_queue_priority, NORMAL - 3);
	CHECK_EQ(mqd_on(low, 1)->cp_hqd_pipe_priority, pipe_priority_map[NORMAL - 3]);
}

BOTH(parked_nodes_have_priorities, "the priorities of a node that is parked are the scheduler's")
{
	world_on(hws);
	set("gpreempt_hw_priority", "follow");
	low = add_queue_to(add_process(0), 0, NORMAL);
	high = add_queue_to(add_process(0), 0, HIGH);
	current->caps = 0;
	update_queue(high, HIGH);
	CHECK_AFTER(2500 * MS, state_is("parked"));
	evict_and_restore(high);
	CHECK_EQ(mqd_priority(high), NORMAL);
	CHECK_EQ(node_of(0)->mqd.nr_altered, 1);
}

TEST(only_compute_queues_have_priorities, "MQDs of other queues are not the scheduler's")
{
	world_on(true);
	low = add_queue_to(add_process(0), 0, LOW);
	high = add_queue(0);
	set("gpreempt_enable", "0");
	low->q.properties.type = KFD_QUEUE_TYPE_SDMA;
	mqd_on(low, 0)->cp_hqd_queue_priority = 3;
	set("gpreempt_enable", "1");
	run(10 * MS);
	evict_and_restore(high);
	CHECK_EQ(mqd_priority(low), 3);
	low->q.properties.type = KFD_QUEUE_TYPE_COMPUTE;
}

TEST(snapshots_know_of_priorities, "a priority that is written while a queue is preempted is no change by somebody else (hws)")
{
	world_on(true);
	set("gpreempt_verify", "1");
	add_rivals(10, 0);
	run_kernels(low, 1, 20 * MS, MS);
	high_preempts_low();
	set("gpreempt_hw_priority", "follow");
	run(10 * MS);
	evict_and_restore(high);
	CHECK_EQ(mqd_priority(low), 0);
	CHECK(run_until_idle(low, SEC));
	CHECK_EQ(failed(GPREEMPT_FAILURE_VERIFY), 0);
}
