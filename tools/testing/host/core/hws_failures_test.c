// SPDX-License-Identifier: MIT
/* hws_failures_test.c - requests to the hardware scheduler that fail */
#include "rivals.h"

TEST(send_fails_once, "a request that could not be sent leaves the victims where they were, and is tried again")
{
	low_runs(true);
	world.nodes[0].nr_send_fails = 1;
	submit_and_run(high, 300, 10 * MS);
	CHECK_EQ(failed(GPREEMPT_FAILURE_SEND), 1);
	CHECK(preempted(low));
	CHECK_EQ(preemptions(), 1);
	CHECK_EQ(node_of(0)->monitor.errors, 0);
}

TEST(send_fails_thrice, "after three failures in a row the node gives up; writing 1 to gpreempt_enable tries again")
{
	low_runs(true);
	world.nodes[0].nr_send_fails = 3;
	submit_and_run(high, 1000, 10 * MS);
	CHECK_STATE("failed");
	CHECK_EQ(failed(GPREEMPT_FAILURE_SEND), 3);
	CHECK_EQ(atomic64_read(&stats()->disabled), 1);
	CHECK_EQ(nr_preempted(), 0);
	CHECK(strstr(shim_log, "no longer scheduled") != NULL);
	CHECK_AFTER(50 * MS, state_is("failed"));
	CHECK_EQ(nr_preempted(), 0);
	set("gpreempt_enable", "1");
	CHECK_AFTER(10 * MS, preempted(low));
}

TEST(map_fails, "what was saved when mapping failed stays saved, and the runlist is sent again")
{
	low_runs(true);
	world.nodes[0].nr_map_fails = 2;
	submit_and_run(high, 300, 10 * MS);
	CHECK_EQ(failed(GPREEMPT_FAILURE_MAP), 2);
	CHECK_EQ(preemptions(), 1);
	CHECK(preempted(low) && on_device(high));
	CHECK_STATE("polling");
}

TEST(map_fails_for_long, "a node that gave up goes on sending the runlist until it is taken, with everything resumed")
{
	low_runs(true);
	world.nodes[0].nr_map_fails = 30;
	submit_and_run(high, 3000, 100 * MS);
	CHECK_STATE("failed");
	CHECK_EQ(nr_preempted(), 0);
	CHECK_EQ_AFTER(200 * MS, world.nodes[0].nr_map_fails, 0);
	CHECK(on_device(low) && on_device(high));
}

TEST(map_fails_while_switching_off, "what switching off could not map is mapped when the node is switched on again, though nobody else sends a runlist")
{
	u64 runlists;

	low_is_preempted(true);
	world.nodes[0].nr_map_fails = 3;
	set("gpreempt_enable", "0");
	CHECK_EQ(world.nodes[0].nr_map_fails, 0);
	CHECK_EQ(nr_preempted(), 0);
	CHECK(!on_device(low) && !on_device(high));
	/* Equals: no decision sends a runlist. */
	set_user_nice(&process_of(low)->task, 0);
	runlists = world.nodes[0].runlists;
	set("gpreempt_enable", "1");
	CHECK_AFTER(5 * MS, on_device(low) && on_device(high));
	CHECK_EQ(world.nodes[0].runlists, runlists + 1);
	CHECK_EQ(preemptions(), 1);
}

TEST(unmap_times_out, "an unmap that is not acknowledged ends scheduling at once; a reset of the GPU begins it anew")
{
	low_runs(true);
	world.nodes[0].nr_unmap_timeouts = 1;
	submit_and_run(high, 300, 10 * MS);
	CHECK_STATE("failed");
	CHECK_EQ(failed(GPREEMPT_FAILURE_UNMAP_TIMEOUT), 1);
	CHECK_EQ(nr_preempted(), 0);
	reset_gpu();
	CHECK_AFTER(2 * MS, strcmp(state(), "failed") != 0);
	rivals_begin_anew();
	run_kernels(low, 1, 50 * MS, 2 * MS);
	high_preempts_low();
}

TEST(resetting_is_no_failure, "a pass that meets a reset is given up, not counted as a failure, and done afterwards")
{
	low_runs(true);
	world.nodes[0].error = -EIO;
	submit_and_run(high, 300, 10 * MS);
	CHECK(skipped(GPREEMPT_SKIP_RESETTING) > 3);
	CHECK_EQ(gpreempt_stats_failures(&node_of(0)->stats), 0);
	CHECK_EQ(nr_preempted(), 0);
	CHECK(strcmp(state(), "failed") != 0);
	world.nodes[0].error = 0;
	CHECK_AFTER(5 * MS, preempted(low));
}


TEST(fatal_error, "a device that a fatal error has stopped is given up at the first request that it does not answer, and works after its reset")
{
	u32 requests;

	low_runs(true);
	world.adev.fatal = true;
	requests = world.nodes[0].nr_requests;
	submit_and_run(high, 300, 100 * MS);
	CHECK_EQ(world.nodes[0].nr_requests, requests + 1);
	CHECK_STATE("failed");
	CHECK_EQ(failed(GPREEMPT_FAILURE_UNMAP_TIMEOUT), 1);
	CHECK_EQ(skipped(GPREEMPT_SKIP_RESETTING), 0);
	CHECK_EQ(nr_preempted(), 0);
	world.adev.fatal = false;
	reset_gpu();
	rivals_begin_anew();
	run(2 * MS);
	submit_and_run(low, 1, 2 * MS);
	high_preempts_low();
}

TEST(unsettled_runlist, "while the driver changes the runlist a preemption is decided all the same, and carried out as soon as the driver lets go")
{
	low_runs(true);
	dqm_lock(&world.nodes[0].dqm);
	submit(high, 3);
	fsleep(5000);
	CHECK_EQ(atomic64_read(&stats()->inversions), 1);
	CHECK_EQ(preemptions(), 0);
	CHECK_EQ(skipped(GPREEMPT_SKIP_UNSETTLED), 0);
	fsleep(200000);
	dqm_unlock(&world.nodes[0].dqm);
	CHECK_EQ_AFTER(100 * US, preemptions(), 1);
}

TEST(lone_processes_stay_out_of_the_runlist, "a process that was emptied by preemption is left out, one with a queue left is not")
{
	struct sim_queue *other;

	low_is_preempted(true);
	CHECK(kfd_gpreempt_leaves_out(&process_of(low)->p.pdds[0].qpd));
	CHECK(!kfd_gpreempt_leaves_out(&process_of(high)->p.pdds[0].qpd));
	CHECK_EQ(kfd_gpreempt_left_out(&world.nodes[0].dqm), 1);
	other = add_queue_to(process_of(low), 0, NORMAL);
	CHECK(!kfd_gpreempt_leaves_out(&process_of(low)->p.pdds[0].qpd));
	destroy_queue(other);
	list_add_tail(&other->q.list, &process_of(low)->p.pdds[0].qpd.priv_queue_list);
	CHECK(!kfd_gpreempt_leaves_out(&process_of(low)->p.pdds[0].qpd));
	list_del(&other->q.list);
	evict_queue(high, true);
	CHECK(!kfd_gpreempt_leaves_out(&process_of(high)->p.pdds[0].qpd));
	evict_queue(high, false);
}

TEST(the_packet_announces_who_is_in_the_list, "RUN_LIST announces the processes that are in the list, as many as there are VMIDs, and asking who is changes nothing")
{
	const struct sim_node *sn = &world.nodes[0];
	u32 built;

	low_runs(true);
	CHECK_EQ(sn->listed, 2);
	CHECK_EQ(sn->announced, 2);
	high_preempts_low();
	CHECK_EQ(sn->listed, 1);
	CHECK_EQ(sn->announced, 1);
	built = node_of(0)->waves.epoch;
	CHECK_EQ(kfd_gpreempt_left_out(&world.nodes[0].dqm), 1);
	CHECK_EQ(kfd_gpreempt_left_out(&world.nodes[0].dqm), 1);
	CHECK_EQ(node_of(0)->waves.epoch, built);
	/* One more than are run at a time. */
	world.nodes[0].node.max_proc_per_quantum = 1;
	add_queue(0);
	CHECK_EQ(sn->listed, 2);
	CHECK_EQ(sn->announced, 1);
}

BOTH(preempted_queues_are_to_programs_as_if_they_ran, "a queue that may come back at any moment is not read as one that is off the device, and counts where slots are limited")
{
	struct device_queue_manager *dqm;
	struct queue *q;

	low_runs(hws);
	dqm = &world.nodes[0].dqm;
	q = &low->q;
	CHECK(!kfd_gpreempt_may_return(q));
	/* The third one fits. */
	world.nodes[0].nr_queue_slots = 3;
	CHECK(!kfd_gpreempt_is_full(dqm));
	world.nodes[0].nr_queue_slots = 2;
	CHECK(kfd_gpreempt_is_full(dqm));
	high_comes();
	CHECK(preempted(low) && !on_device(low));
	CHECK(kfd_gpreempt_may_return(q) && !kfd_gpreempt_may_return(&high->q));
	CHECK(kfd_gpreempt_is_full(dqm));
	world.nodes[0].nr_queue_slots = 3;
	CHECK(!kfd_gpreempt_is_full(dqm));
	world.nodes[0].nr_queue_slots = 2;
	/* Others keep it off as well: its debugger, its program, the driver. */
	q->properties.is_suspended = true;
	CHECK(!kfd_gpreempt_may_return(q));
	CHECK(!kfd_gpreempt_is_full(dqm));
	q->properties.is_suspended = false;
	q->properties.queue_percent = 0;
	CHECK(!kfd_gpreempt_may_return(q));
	q->properties.queue_percent = 100;
	evict_queue(low, true);
	CHECK(!kfd_gpreempt_may_return(q));
	evict_queue(low, false);
	CHECK(kfd_gpreempt_may_return(q));
	CHECK(q->properties.is_preempted);
	CHECK(run_until_idle(high, SEC));
	CHECK_AFTER(5 * MS, !kfd_gpreempt_may_return(q));
}

TEST(leaving_queues_count_once, "a queue that the device still holds is active, and not counted as one that comes back")
{
	low_runs(false);
	low->stuck_ns = 300 * MS;
	run_kernels(high, 100, MS, 150 * MS);
	CHECK(preempted(low) && low->q.properties.is_active);
	world.nodes[0].nr_queue_slots = 3;
	CHECK(!kfd_gpreempt_is_full(&world.nodes[0].dqm));
	low->stuck_ns = 0;
}

TEST(turns_are_known_from_the_runlist, "firmware takes turns while more is in the runlist than fits, which what is left out is not")
{
	struct sim_queue *other;

	low_runs(true);
	CHECK(!node_of(0)->hw.turns);
	/* More processes than VMIDs; without the one that is preempted they fit. */
	world.nodes[0].node.max_proc_per_quantum = 1;
	update_queue(high, LOW);
	CHECK(node_of(0)->hw.turns);
	CHECK_AFTER(5 * MS, node_of(0)->policy.device.turns_ns);
	update_queue(high, NORMAL);
	high_comes();
	CHECK(preempted(low) && !node_of(0)->hw.turns && !node_of(0)->policy.device.turns_ns);
	CHECK(run_until_idle(high, SEC));
	CHECK_AFTER(5 * MS, !preempted(low) && node_of(0)->hw.turns);
	/* More queues than slots. */
	world.nodes[0].node.max_proc_per_quantum = 8;
	world.nodes[0].nr_queue_slots = 2;
	other = add_queue_to(process_of(high), 0, NORMAL);
	CHECK(node_of(0)->hw.turns);
	destroy_queue(other);
	CHECK(!node_of(0)->hw.turns);
	/* Two queues with the one global wave sync. */
	give_gws(low, true);
	CHECK(!node_of(0)->hw.turns);
	give_gws(high, true);
	CHECK(node_of(0)->hw.turns);
	give_gws(high, false);
	CHECK(!node_of(0)->hw.turns);
	/* One process at a time, as the administrator has it; the driver does not call that over-subscribed. */
	world.adev.enforce_isolation[0] = true;
	evict_queue(low, true);
	CHECK(node_of(0)->hw.turns);
	kill_process(process_of(low));
	CHECK(!node_of(0)->hw.turns);
}

/* High's only kernel has run for 5 ms, low is away, and there are more queues than slots all the same. */
static void high_takes_turns(u64 kernel_ns)
{
	set("gpreempt_max_hold_ms", "0");
	set("gpreempt_idle_evict_us", "0");
	low_runs(true);
	add_queue_to(process_of(high), 0, NORMAL);
	world.nodes[0].nr_queue_slots = 1;
	run_kernels(high, 1, kernel_ns, 5 * MS);
	CHECK(preempted(low));
}

TEST(turns_keep_lower_ones_away, "a kernel whose turn it is not, and which the counters do not show, keeps lower queues off the device")
{
	high_takes_turns(50 * MS);
	CHECK_EQ(node_of(0)->policy.device.turns_ns, 3 * GPREEMPT_TURN_NS);
	TIMES(3) {
		end_turn(high);
		CHECK_AFTER(2 * GPREEMPT_TURN_NS, preempted(low));
		begin_turn(high);
		CHECK_AFTER(GPREEMPT_TURN_NS, preempted(low));
	}
	CHECK(run_until_idle(high, SEC));
	end_turn(high);
	CHECK_AFTER(5 * MS, !preempted(low));
	/* It is not taken off again, though it makes the turns more. */
	CHECK_EQ_AFTER(100 * MS, preemptions(), 1);
	CHECK_EQ(high->done, high->submitted);
}

TEST(turns_leave_old_offsets, "a queue that has ended since it came back for its turn is known to be idle after all turns, though its MQD says that waves were saved")
{
	high_takes_turns(10 * MS);
	end_turn(high);
	run(5 * MS);
	begin_turn(high);
	CHECK(run_until_idle(high, SEC));
	CHECK_AFTER(2 * GPREEMPT_TURN_NS, preempted(low));
	CHECK_AFTER(2 * GPREEMPT_TURN_NS, !preempted(low));
	CHECK_EQ(preemptions(), 1);
}

/* What the driver does when it changes a queue: a runlist, or a load. */
static void driver_loads(struct sim_queue *sq)
{
	evict_and_restore(sq);
}

BOTH(program_alone_keeps_its_stream_priorities, "a program has the hardware priorities that it asked for, except while another of different rank works")
{
	struct sim_queue *streams[3], *equal, *rival;
	static const u32 asked[] = { NORMAL, 11, HIGH };
	struct sim_process *program;
	u64 runlists;
	u32 i;

	world_on(hws);
	/* Above normal it counts only within the program. */
	current->caps = 0;
	program = add_process(0);
	for (i = 0; i < 3; i++) {
		streams[i] = add_queue_to(program, 0, asked[i]);
		submit(streams[i], 3);
	}
	/* It works, beside one of its rank, and one of another that is idle. */
	equal = add_queue(0);
	rival = add_queue(-3);
	rival->kernel_ns = 5 * MS;
	submit_and_run(equal, 3, 20 * MS);
	for (i = 0; i < 3; i++) {
		driver_loads(streams[i]);
		CHECK_EQ(mqd_priority(streams[i]), asked[i]);
	}
	CHECK_EQ(node_of(0)->mqd.nr_altered, 0);

	/* A rival makes all of them equal at once. */
	submit(rival, 1);
	for (i = 0; i < 3; i++)
		submit(streams[i], 1);
	run(2 * MS);
	for (i = 0; i < 3; i++)
		CHECK_EQ(mqd_priority(streams[i]), NORMAL);
	CHECK_EQ(node_of(0)->mqd.nr_altered, 2);

	/* And when it has been silent for a second, each gets back what it had: by one runlist, and once for all. */
	CHECK(run_until_idle(rival, SEC) && run_until_idle(streams[0], SEC));
	CHECK_EQ_AFTER(500 * MS, mqd_priority(streams[2]), NORMAL);
	runlists = world.nodes[0].runlists;
	run(600 * MS);
	for (i = 0; i < 3; i++)
		CHECK_EQ(mqd_priority(streams[i]), asked[i]);
	CHECK_EQ(world.nodes[0].runlists, runlists + hws);
	CHECK_EQ(node_of(0)->mqd.nr_altered, 0);
	CHECK_EQ_AFTER(2 * SEC, world.nodes[0].runlists, runlists + hws);
}

BOTH(nothing_is_sent_for_normal_priorities, "where all programs ask for the normal priority, nothing is done when rivals come and go")
{
	u64 runlists;

	low_is_preempted(hws);
	CHECK(node_of(0)->mqd.rivalry);
	CHECK(run_until_idle(high, SEC) && run_until_idle(low, 2 * SEC));
	runlists = world.nodes[0].runlists;
	world.nr_asked = 0;
	CHECK_AFTER(1200 * MS, !node_of(0)->mqd.rivalry);
	CHECK_EQ(world.nodes[0].runlists, runlists);
	CHECK_EQ(world.nr_asked, 0);
}

TEST(mqds_are_remembered, "a runlist reads the MQDs of a registered queue once, and again after the driver has written them")
{
	struct v9_mqd *mqd;

	world_on(true);
	low = add_queue_to(add_process(0), 0, LOW);
	high = add_queue(0);
	mqd = (struct v9_mqd *)low->mqds;
	driver_loads(high);
	/* A value of nobody's: what is remembered is neither read nor written. */
	mqd->cp_hqd_queue_priority = 3;
	driver_loads(high);
	CHECK_EQ(mqd_priority(low), 3);
	kfd_gpreempt_mqd_updated(&low->q, NULL);
	driver_loads(high);
	CHECK_EQ(mqd_priority(low), LOW);
	update_queue(low, HIGH);
	CHECK_EQ(mqd_priority(low), HIGH);
}

TEST(hardware_priorities, "queues of rivals tell the hardware the normal priority, or all the logical one; switched off, their program's")
{
	world_on(true);
	low = add_queue_to(add_process(0), 0, LOW);
	high = add_queue_to(add_process(0), 0, HIGH);
	low->kernel_ns = high->kernel_ns = 200 * MS;
	submit(low, 1);
	submit_and_run(high, 1, 10 * MS);
	CHECK(preempted(low));
	CHECK_EQ(mqd_priority(low), NORMAL);
	CHECK_EQ(mqd_priority(high), NORMAL);
	CHECK_EQ(((struct v9_mqd *)high->mqds)->cp_hqd_pipe_priority, 1);
	CHECK_EQ(node_of(0)->mqd.nr_altered, 2);
	process_of(low)->task.nice = 3;
	set("gpreempt_hw_priority", "follow");
	run(20 * MS);
	driver_loads(high);
	CHECK_EQ(mqd_priority(low), 0);
	CHECK_EQ(mqd_priority(high), HIGH);
	CHECK_EQ(((struct v9_mqd *)high->mqds)->cp_hqd_pipe_priority, 2);
	set("gpreempt_hw_priority", "normal");
	run(10 * MS);
	driver_loads(high);
	CHECK_EQ(mqd_priority(high), NORMAL);
	set("gpreempt_enable", "0");
	CHECK_EQ(mqd_priority(low), LOW);
	CHECK_EQ(mqd_priority(high), HIGH);
	CHECK_EQ(node_of(0)->mqd.nr_altered, 0);
}

TEST(hws_verify, "asked for, MQDs that somebody wrote to while their queue was preempted are told, and left alone")
{
	world_on(true);
	set("gpreempt_verify", "1");
	add_rivals(10, 0);
	run_kernels(low, 1, 20 * MS, MS);
	high_preempts_low();
	CHECK(low->q.gpreempt->mqd.snapshot != NULL);
	low->mqds[PAGE_SIZE + CTL_STACK_BYTES - 1] ^= 1;
	CHECK(run_until_idle(low, SEC));
	CHECK_EQ(failed(GPREEMPT_FAILURE_VERIFY), 1);
	set("gpreempt_verify", "0");
	set("gpreempt_verify", "1");
}
