// SPDX-License-Identifier: MIT
/* named_test.c - queues that leave and return by their names, while all others stay on the device */
#include "rivals.h"

static struct sim_node *sn(void)
{
	return &world.nodes[0];
}

/* Low yields to a request of high and comes back; a third program works beside both. */
static struct sim_queue *beside;

static int set_exempt(struct gpreempt_setting *setting, void *arg)
{
	setting->exempt = true;
	return 0;
}

static void three_run(const char *unmap)
{
	world_on(true);
	set("gpreempt_unmap", unmap);
	add_rivals(10, 0);
	beside = add_queue(10);
	CHECK_EQ(gpreempt_priority_change_process(&process_of(beside)->pid, set_exempt, NULL), 0);
	sn()->nr_wave_slots = 3;
	low->kernel_ns = beside->kernel_ns = 500 * MS;
	submit(low, 1);
	submit_and_run(beside, 1, 2 * MS);
	CHECK(low->in_slot && beside->in_slot);
}

/* Return: runlists that it took */
static u64 one_request(void)
{
	u64 runlists = sn()->runlists;

	run_kernels(high, 1, 5 * MS, 4 * MS);
	CHECK(preempted(low) && !on_device(low));
	CHECK(run_until_idle(high, SEC));
	run(10 * MS);
	CHECK(!preempted(low) && on_device(low));
	return sn()->runlists - runlists;
}

TEST(only_victims_leave, "by their names queues leave and return without a runlist, and what they were doing is done once")
{
	three_run("named");
	TIMES(5)
		one_request();
	CHECK(sn()->nr_named >= 4 && sn()->nr_named == sn()->nr_returned);
	CHECK_EQ(preemptions(), 5);
	CHECK_EQ(resumes(), 5);
	CHECK_EQ(one_request(), 0);
	CHECK(beside->in_slot);
	CHECK(run_until_idle(low, SEC) && run_until_idle(beside, SEC));
	CHECK_EQ(low->done, 1);
	CHECK_EQ(gpreempt_stats_failures(stats()), 0);
}

TEST(all_leave_by_default, "unless names are asked for, two runlists are a preemption and a resume")
{
	three_run("all");
	one_request();
	CHECK_EQ(one_request(), 2);
	CHECK_EQ(sn()->nr_named + sn()->nr_returned, 0);
}

TEST(names_and_runlists_take_turns, "what left by its name returns with a runlist once the driver has sent one, and the other way round")
{
	u64 runlists;

	three_run("named");
	one_request();
	run_kernels(high, 1, 5 * MS, 4 * MS);
	CHECK(preempted(low));
	evict_and_restore(beside);
	runlists = sn()->runlists;
	CHECK(run_until_idle(high, SEC));
	CHECK_AFTER(5 * MS, on_device(low));
	CHECK_EQ(sn()->runlists, runlists + 1);
	/* Off by a runlist, while the switch was there for nothing: it does not come back by its name. */
	set("gpreempt_unmap", "all");
	run_kernels(high, 1, 5 * MS, 4 * MS);
	CHECK(preempted(low));
	set("gpreempt_unmap", "named");
	runlists = sn()->runlists;
	CHECK(run_until_idle(high, SEC));
	CHECK_AFTER(5 * MS, on_device(low));
	CHECK_EQ(sn()->runlists, runlists + 1);
	CHECK_EQ(one_request(), 0);
}

TEST(many_are_named_together, "more queues than a packet names leave by several packets and one request, and return with their processes")
{
	struct sim_queue *more[9];
	u32 i, requests;

	three_run("named");
	for (i = 0; i < ARRAY_SIZE(more); i++) {
		more[i] = i % 3 ? add_queue_to(process_of(more[i - 1]), 0, NORMAL) : add_queue(10);
		more[i]->kernel_ns = 300 * MS;
	}
	sn()->nr_wave_slots = 20;
	for (i = 0; i < ARRAY_SIZE(more); i++)
		submit(more[i], 1);
	run(2 * MS);
	one_request();
	requests = sn()->nr_unmaps_named;
	run_kernels(high, 1, 5 * MS, 4 * MS);
	CHECK_EQ(nr_preempted(), 10);
	CHECK_EQ(sn()->nr_unmaps_named - requests, 3);
	CHECK(run_until_idle(high, SEC));
	CHECK_AFTER(10 * MS, !nr_preempted());
	CHECK(run_until_idle(low, SEC));
	for (i = 0; i < ARRAY_SIZE(more); i++) {
		CHECK(run_until_idle(more[i], SEC));
		CHECK_EQ(more[i]->done, 1);
	}
}

TEST(turns_need_runlists, "where firmware takes turns, all queues leave")
{
	three_run("named");
	sn()->nr_queue_slots = 2;
	evict_and_restore(beside);
	one_request();
	CHECK_EQ(sn()->nr_named + sn()->nr_returned, 0);
}

TEST(gws_needs_runlists, "beside a cooperative queue all leave")
{
	three_run("named");
	one_request();
	give_gws(beside, true);
	CHECK_EQ(one_request(), 2);
	give_gws(beside, false);
	one_request();
	CHECK_EQ(one_request(), 0);
}

TEST(an_mqd_to_be_written_needs_a_runlist, "a hardware priority that waits for a runlist gets one")
{
	three_run("named");
	one_request();
	CHECK_EQ(one_request(), 0);
	set("gpreempt_hw_priority", "follow");
	CHECK(one_request() > 0);
	CHECK_EQ(one_request(), 0);
}

TEST(a_name_that_is_not_heard, "a request by name that is not answered is followed by the driver's own, and that late answer is not taken for one to it")
{
	three_run("named");
	one_request();
	sn()->nr_deaf = 1;
	submit_and_run(high, 3000, 150 * MS);
	CHECK(preempted(low) && !on_device(low));
	CHECK_EQ(sn()->nr_deaf, 0);
	CHECK_EQ(gpreempt_stats_failures(stats()), 0);
	CHECK(sn()->late_answer && sn()->late_answer != KFD_FENCE_COMPLETED);
}

TEST(a_name_that_cannot_be_sent, "a request by name for which the HIQ has no room is a runlist")
{
	three_run("named");
	one_request();
	sn()->nr_send_fails = 1;
	CHECK(one_request() > 0);
	CHECK_EQ(gpreempt_stats_failures(stats()), 0);
	CHECK_EQ(one_request(), 0);
}

TEST(a_named_queue_that_does_not_leave, "when firmware gives up on a queue that was named, the driver's unmap follows, which resets it")
{
	u64 runlists;

	three_run("named");
	one_request();
	runlists = sn()->runlists;
	low->abandoned = true;
	run_kernels(high, 1, 5 * MS, 4 * MS);
	CHECK(low->reset && !on_device(low));
	CHECK_EQ(failed(GPREEMPT_FAILURE_VICTIM_RESET), 1);
	CHECK_EQ(sn()->runlists, runlists + 1);
}

/* Firmware has mapped it again, and it is a kernel further. */
static void goes_on(struct sim_queue *sq)
{
	mqd_on(sq, 0)->cp_hqd_pq_rptr = ++sq->pointers[0];
	sq->done++;
}

TEST(firmware_that_maps_again, "a queue that goes on although it was unmapped by its name ends names on this device")
{
	three_run("named");
	one_request();
	CHECK_EQ(one_request(), 0);
	submit(low, 3);
	run_kernels(high, 1, 5 * MS, 4 * MS);
	CHECK(preempted(low));
	goes_on(low);
	CHECK(run_until_idle(high, SEC));
	CHECK_AFTER(5 * MS, on_device(low));
	CHECK(strstr(shim_log, "was unmapped by its name went on") != NULL);
	CHECK_EQ(one_request(), 2);
}
