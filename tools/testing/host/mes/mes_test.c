// SPDX-License-Identifier: MIT
/* mes_test.c - MES is asked for one queue at a time, and all others stay on the device */
#include "rivals.h"

static struct sim_queue *beside;

static struct sim_node *sn(void)
{
	return &world.nodes[0];
}

static void world_of_mes(void)
{
	world.mes = true;
	world_on(true);
}

/* Low and one beside it fill the device for long. */
static void two_run(void)
{
	world_of_mes();
	add_rivals(10, 0);
	beside = add_queue(10);
	low->kernel_ns = beside->kernel_ns = 500 * MS;
	submit(low, 1);
	submit_and_run(beside, 1, 5 * MS);
	CHECK(low->in_slot && beside->in_slot);
}

TEST(each_queue_leaves_by_itself, "with MES each victim is removed and added again, without a runlist, and what it was doing is done once")
{
	u32 requests;

	two_run();
	TIMES(3) {
		requests = sn()->nr_requests;
		run_kernels(high, 2, 5 * MS, 6 * MS);
		CHECK(preempted(low) && preempted(beside) && !on_device(low));
		CHECK_EQ(sn()->nr_requests, requests + 2);
		CHECK(run_until_idle(high, SEC));
		CHECK_AFTER(10 * MS, !nr_preempted() && on_device(low) && on_device(beside));
		CHECK_EQ(sn()->nr_requests, requests + 4);
	}
	CHECK_EQ(preemptions(), 6);
	CHECK_EQ(resumes(), 6);
	CHECK_EQ(sn()->runlists, 0);
	CHECK(run_until_idle(low, SEC) && run_until_idle(beside, SEC));
	CHECK_EQ(low->done, 1);
	CHECK_EQ(beside->done, 1);
	CHECK_EQ(gpreempt_stats_failures(stats()), 0);
}

TEST(who_has_waves_leaves_first, "of those that are to leave, what has waves is removed first, wherever it is in the driver's list")
{
	struct sim_queue *waits;

	two_run();
	waits = add_queue(10);
	submit_and_run(waits, 1, 5 * MS);
	CHECK(!waits->in_slot);
	CHECK(list_first_entry(&sn()->dqm.queues, struct device_process_node, list)->qpd == &waits->q.process->pdds[0].qpd);
	sn()->nr_unmap_timeouts = 1;
	run_kernels(high, 2, 5 * MS, 6 * MS);
	CHECK_EQ(preemptions(), 1);
	CHECK_EQ(waits->q.gpreempt->account.preempt_count, 0);
	reset_gpu();
}

TEST(unanswered_removal_waits_for_the_reset, "after a removal that was not answered MES is asked for nothing more, and works after the reset")
{
	u32 requests;

	two_run();
	requests = sn()->nr_requests;
	sn()->nr_unmap_timeouts = 1;
	run_kernels(high, 2, 5 * MS, 6 * MS);
	CHECK_EQ(failed(GPREEMPT_FAILURE_UNMAP_TIMEOUT), 1);
	CHECK_STATE("failed");
	CHECK_EQ_AFTER(SEC, sn()->nr_requests, requests + 1);
	reset_gpu();
	kill_process(process_of(beside));
	rivals_begin_anew();
	submit(low, 1);
	run(5 * MS);
	run_kernels(high, 1, 5 * MS, 4 * MS);
	CHECK(preempted(low));
	CHECK(run_until_idle(high, SEC) && run_until_idle(low, SEC));
	CHECK_EQ(low->done, 1);
}

TEST(reset_under_way_is_waited_for, "while a reset is under way MES is asked for nothing, and afterwards for what still is to leave")
{
	u32 requests;

	two_run();
	requests = sn()->nr_requests;
	sn()->error = -EIO;
	run_kernels(high, 20, 5 * MS, 6 * MS);
	CHECK_EQ(nr_preempted(), 0);
	CHECK_EQ(sn()->nr_requests, requests);
	CHECK(skipped(GPREEMPT_SKIP_RESETTING));
	sn()->error = 0;
	CHECK_EQ_AFTER(20 * MS, nr_preempted(), 2);
	CHECK_EQ(gpreempt_stats_failures(stats()), 0);
}

TEST(refused_addition_is_a_failure, "a queue that MES did not add is no longer preempted, and the failure is counted")
{
	two_run();
	run_kernels(high, 2, 5 * MS, 6 * MS);
	CHECK_EQ(nr_preempted(), 2);
	sn()->nr_add_fails = 1;
	CHECK(run_until_idle(high, SEC));
	run(20 * MS);
	CHECK_EQ(failed(GPREEMPT_FAILURE_MAP), 1);
	CHECK_STATE("failed");
	CHECK_EQ(nr_preempted(), 0);
	reset_gpu();
}

TEST(what_the_driver_takes_it_gives_back, "evicted, suspended, updated or destroyed while it is off, a queue is added once or not at all")
{
	two_run();
	run_kernels(high, 10, 5 * MS, 6 * MS);
	CHECK_EQ(nr_preempted(), 2);
	evict_queue(low, true);
	suspend_queue(beside, true);
	CHECK(run_until_idle(high, SEC));
	CHECK_AFTER(20 * MS, !on_device(low) && !on_device(beside));
	evict_queue(low, false);
	suspend_queue(beside, false);
	CHECK(on_device(low) && on_device(beside));
	run_kernels(high, 10, 5 * MS, 6 * MS);
	CHECK_EQ(nr_preempted(), 2);
	CHECK_EQ(update_queue(low, NORMAL + 1), 0);
	destroy_queue(beside);
	CHECK(!on_device(low));
	CHECK(run_until_idle(high, SEC) && run_until_idle(low, 2 * SEC));
	CHECK_EQ(low->done, 1);
	CHECK_EQ(gpreempt_stats_failures(stats()), 0);
}

TEST(all_come_back_when_it_is_switched_off, "with MES switching off adds all that is preempted")
{
	two_run();
	run_kernels(high, 10, 5 * MS, 6 * MS);
	CHECK_EQ(nr_preempted(), 2);
	set("gpreempt_enable", "0");
	CHECK(!nr_preempted() && on_device(low) && on_device(beside));
}
