// SPDX-License-Identifier: MIT
/* registering_test.c - queues that become known, and memory that is not there */
#include "rivals.h"

/* ---- registering ---- */

static bool misaligned_pm4;
static u32 misaligned_by;

static void misalign(struct sim_queue *sq)
{
	sq->q.properties.format = misaligned_pm4 ? KFD_QUEUE_FORMAT_PM4 : KFD_QUEUE_FORMAT_AQL;
	sq->q.properties.queue_size = 1024;
	sq->q.properties.read_ptr = (void *)((unsigned long)sq->q.properties.read_ptr + misaligned_by);
	sq->q.properties.write_ptr = (void *)((unsigned long)sq->q.properties.write_ptr + misaligned_by);
}

TEST(pointers_are_aligned, "pointers that could be read in halves are not read: AQL counts in 64 bits, PM4 in 32")
{
	static const u32 bytes[] = { 1, 2, 4, 8 };
	u32 i;

	world_on(true);
	world_prepares = misalign;
	for (i = 0; i < 8; i++) {
		misaligned_pm4 = i >= 4;
		misaligned_by = bytes[i % 4];
		tap_at("%s, %u bytes: ", misaligned_pm4 ? "PM4" : "AQL", misaligned_by);
		low = add_queue(0);
		CHECK_EQ(seen(low), misaligned_by >= (misaligned_pm4 ? 4 : 8));
		kill_process(process_of(low));
	}
	CHECK_EQ(skipped(GPREEMPT_SKIP_UNMAPPED), 5);
	world_prepares = NULL;
}

TEST(rings_of_dwords, "what is pending in a PM4 ring wraps where its size says")
{
	world_on(true);
	world_prepares = misalign;
	misaligned_pm4 = true;
	misaligned_by = 0;
	low = add_queue(0);
	world_prepares = NULL;
	CHECK(seen(low) && !low->q.gpreempt->view.aql);
	((u32 *)low->pointers)[0] = 250;
	((u32 *)low->pointers)[2] = 5;
	CHECK_EQ(gpreempt_node_pending(low->q.gpreempt), 11);
	low->q.properties.queue_size = 2048;
	update_queue(low, LOW);
	CHECK_EQ(gpreempt_node_pending(low->q.gpreempt), 267);
	((u32 *)low->pointers)[0] = ((u32 *)low->pointers)[2] = 0;
}

static void in_user_pages(struct sim_queue *sq)
{
	sq->ttm.usermm = &process_of(sq)->mm;
	sq->ttm.userptr = (unsigned long)sq->pointers;
	process_of(sq)->mm.pages[0].address = sq->pointers;
}

static void by_somebody_else(struct sim_queue *sq)
{
	in_user_pages(sq);
	current->mm = NULL;
}

TEST(user_pages_are_the_callers, "user pages are looked for where the caller is the owner, and nowhere else")
{
	world_on(true);
	world_prepares = in_user_pages;
	low = add_queue(0);
	CHECK(seen(low));
	world_prepares = by_somebody_else;
	high = add_queue(0);
	CHECK(!seen(high));
	world_prepares = NULL;
}

BOTH(new_queues_say_what_they_are, "until the monitor has looked, a new queue shows the priority that it was created with")
{
	world_on(hws);
	low = add_queue_to(add_process(5), 0, 3);
	CHECK_EQ(low->q.gpreempt->policy.set.priority, 3);
	CHECK_EQ(low->q.gpreempt->policy.effective_priority, 3);
	CHECK_EQ(low->q.gpreempt_files, IS_ENABLED(CONFIG_KFD_GPREEMPT_CONTROL));
	CHECK_EQ(low->q.kobj.nr_files, 8 * IS_ENABLED(CONFIG_KFD_GPREEMPT_CONTROL));
	high = add_queue_to(add_process(5), 0, NORMAL);
	CHECK(!high->q.gpreempt->priority.trusted);
	CHECK_EQ_AFTER(10 * MS, high->q.gpreempt->policy.set.priority, NORMAL - 5);
	CHECK(!strcmp(gpreempt_queue_sysfs_state(low->q.gpreempt, 0), "idle"));
	CHECK(!strcmp(gpreempt_queue_sysfs_state(low->q.gpreempt, 1), "active"));
	low->q.gpreempt->policy.seen.blocked = true;
	CHECK(!strcmp(gpreempt_queue_sysfs_state(low->q.gpreempt, 1), "blocked"));
	/* It waits for its job's work on another node. */
	low->q.gpreempt->policy.verdict = GPREEMPT_VERDICT_JOB;
	CHECK(!strcmp(gpreempt_queue_sysfs_state(low->q.gpreempt, 1), "active"));
	low->q.gpreempt->policy.seen.blocked = false;
	low->q.gpreempt->policy.seen.waves_ns = 1;
	low->q.gpreempt->policy.seen.waves = 0;
	CHECK(!strcmp(gpreempt_queue_sysfs_state(low->q.gpreempt, 0), "idle"));
	low->q.gpreempt->policy.seen.waves = 1;
	CHECK(!strcmp(gpreempt_queue_sysfs_state(low->q.gpreempt, 0), "active"));
}

TEST(queues_without_memory, "a queue for which there is no memory is counted, whichever part of it is missing")
{
	int n;

	world_on(true);
	for (n = 1; n <= 3; n++) {
		struct sim_process *process = add_process(0);

		tap_at("allocation %d: ", n);
		shim_fail_alloc = n;
		low = add_queue_to(process, 0, NORMAL);
		shim_fail_alloc = 0;
		/* Without a view of its pointers it is registered, and looked at again. */
		CHECK(n == 2 ? low->q.gpreempt && !seen(low) : !low->q.gpreempt);
		CHECK_EQ(skipped(GPREEMPT_SKIP_UNMAPPED), n >= 2);
		CHECK_EQ(skipped(GPREEMPT_SKIP_NO_MEMORY), n == 3 ? 2 : 1);
		shim_fail_alloc = 1;
		CHECK(!gpreempt_queue_adopt(node_of(0)));
		shim_fail_alloc = 0;
		kill_process(process);
	}
	CHECK(gpreempt_queue_adopt(node_of(0)));
}

BOTH(a_hold_is_timed, "how long a queue has been off the device is known while it is, and afterwards")
{
	u64 before_ns;

	low_is_preempted(hws);
	set("gpreempt_max_hold_ms", "0");
	before_ns = gpreempt_stats_preempted_ns(low->q.gpreempt);
	CHECK(before_ns > 5 * MS && before_ns < 11 * MS);
	CHECK_AFTER(10 * MS, gpreempt_stats_preempted_ns(low->q.gpreempt) >= before_ns + 10 * MS);
	CHECK(gpreempt_stats_preempted_ns(low->q.gpreempt) < before_ns + 11 * MS);
	low_resumes_after_high(5 * MS);
	before_ns = gpreempt_stats_preempted_ns(low->q.gpreempt);
	high_preempts_low();
	CHECK(gpreempt_stats_preempted_ns(low->q.gpreempt) > before_ns + 5 * MS);
}

BOTH(nodes_adopt_their_own, "a node adopts its own queues, of all that a process has, and no place without one")
{
	struct process_queue_node kernels = { .q = NULL };
	struct sim_queue *far;

	world_make(hws, 1, 2);
	low = add_queue_to(add_process(0), 0, HIGH);
	far = add_queue_to(process_of(low), 1, NORMAL);
	list_add_tail(&kernels.process_queue_list, &process_of(low)->p.pqm.queues);
	set("gpreempt_enable", "1");
	CHECK_AFTER(20 * MS, low->q.gpreempt->gn == node_of(0) && far->q.gpreempt->gn == node_of(1));
	CHECK_EQ(node_of(0)->queues.nr, 1);
	CHECK_EQ(node_of(1)->queues.nr, 1);
	process_of(low)->task.caps = CAP_SYS_NICE;
	switch_off_and_on();
	CHECK_AFTER(20 * MS, low->q.gpreempt->priority.trusted && !far->q.gpreempt->priority.trusted);
	list_del(&kernels.process_queue_list);
}

TEST(snapshots_are_made_room_for, "verification that is switched on later makes room in each queue, once")
{
	struct gpreempt_snapshot *first;

	world_on(true);
	low = add_queue(0);
	CHECK(!low->q.gpreempt->mqd.snapshot);
	set("gpreempt_verify", "1");
	first = low->q.gpreempt->mqd.snapshot;
	CHECK(first != NULL);
	set("gpreempt_verify", "0");
	set("gpreempt_verify", "1");
	CHECK(low->q.gpreempt->mqd.snapshot == first);
}

/* ---- no memory ---- */

BOTH(allocations_fail, "whichever allocation fails, nothing is lost, and nothing stays behind")
{
	int n;

	world_on(hws);
	low = add_queue(10);
	low->kernel_ns = 5 * MS;
	submit(low, 100);
	for (n = 1; n < 12; n++) {
		struct sim_process *process = add_process(0);
		struct sim_queue *sq;

		tap_at("allocation %d: ", n);
		shim_fail_alloc = n;
		sq = add_queue_to(process, 0, NORMAL);
		submit_and_run(sq, 5, 5 * MS);
		shim_fail_alloc = n;
		switch_off_and_on();
		run(30 * MS);
		shim_fail_alloc = 0;
		CHECK(run_until_idle(sq, SEC));
		switch_off_and_on();
		CHECK_AFTER(30 * MS, sq->q.gpreempt != NULL);
		kill_process(process);
	}
}

TEST(a_node_without_memory, "a node for which there is no memory is not there")
{
	int n;

	/* The first ones are for all nodes: of doorbells, and of settings. */
	for (n = 3; n < 5; n++) {
		shim_fail_alloc = n;
		world_make(true, 1, 1);
		CHECK(!node_of(0));
		shim_fail_alloc = 0;
		kfd_gpreempt_pause(&world.kfd);
		kfd_gpreempt_unpause(&world.kfd);
		low = add_queue(0);
		kill_process(process_of(low));
		world_down();
	}
}

TEST(many_queues, "the array of a pass grows with the queues")
{
	u32 i;

	world_on(true);
	for (i = 0; i < 30; i++)
		submit(add_queue(i % 3), 3);
	CHECK_AFTER(50 * MS, node_of(0)->monitor.max_sampled >= 30);
	CHECK_EQ(node_of(0)->monitor.nr_sampled, 30);
}

TEST(sdma_queues_are_not_ours, "only compute queues are registered, and once")
{
	world_on(true);
	low = add_queue(0);
	low->q.properties.type = KFD_QUEUE_TYPE_SDMA;
	switch_off_and_on();
	CHECK_AFTER(20 * MS, !low->q.gpreempt);
	low->q.properties.type = KFD_QUEUE_TYPE_COMPUTE;
	CHECK(gpreempt_queue_adopt(node_of(0)));
	CHECK(low->q.gpreempt != NULL);
	CHECK(gpreempt_queue_adopt(node_of(0)));
	CHECK_EQ(node_of(0)->queues.nr, 1);
}

TEST(dead_processes_are_not_sampled, "a process that was taken off the device is not looked at any more")
{
	low_is_preempted(true);
	WRITE_ONCE(process_of(high)->p.pdds[0].already_dequeued, true);
	CHECK_EQ_AFTER(10 * MS, node_of(0)->monitor.nr_sampled, 1);
	CHECK(!preempted(low));
	WRITE_ONCE(process_of(high)->p.pdds[0].already_dequeued, false);
}
