// SPDX-License-Identifier: MIT
/* preempting_test.c - who is taken off the device and comes back, on both backends */
#include "rivals.h"

BOTH(low_yields_and_continues, "a low kernel is saved for a high one, and runs to its end later, once")
{
	low_is_preempted(hws);
	set("gpreempt_max_hold_ms", "0");
	CHECK_EQ(preemptions(), 1);
	CHECK_EQ(resumes(), 0);
	CHECK_EQ(low->done, 0);
	CHECK_STATE("polling");
	CHECK(run_until_idle(high, 200 * MS));
	CHECK_EQ(low->done, 0);
	CHECK(run_until_idle(low, SEC));
	CHECK_EQ(resumes(), 1);
	CHECK_EQ(atomic64_read(&stats()->runlists), 2);
	CHECK_EQ(atomic64_read(&stats()->disabled), 0);
	CHECK_EQ(gpreempt_stats_failures(&node_of(0)->stats), 0);
}

BOTH(preempting_is_counted, "counters, histograms and the queue's own numbers say what was done")
{
	low_is_preempted(hws);
	set("gpreempt_max_hold_ms", "0");
	EACH(i, GPREEMPT_NR_LATENCIES, "case %u: ", i) {
		const struct gpreempt_histogram *h = &stats()->latency[i];
		bool yet = i != GPREEMPT_LATENCY_RESUME && i != GPREEMPT_LATENCY_HOLD &&
			   i < GPREEMPT_LATENCY_NOTICE + IS_ENABLED(CONFIG_KFD_GPREEMPT_WAKE);

		CHECK_EQ(atomic64_read(&h->count) != 0, yet);
		CHECK_EQ(gpreempt_stats_quantile_us(h, 99) != 0, yet);
	}
	CHECK_EQ(low->q.gpreempt->account.preempt_count, 1);
	CHECK_EQ(atomic64_read(&stats()->inversions), 1);
	CHECK(atomic64_read(&stats()->preempt_ns_max) >= 5 * US);
	CHECK_EQ(atomic64_read(&stats()->preempt_ns_max), atomic64_read(&stats()->preempt_ns_last));
	CHECK(atomic64_read(&stats()->checks) > 10);
	CHECK(atomic64_read(&stats()->wakeups) >= atomic64_read(&stats()->checks) - 1);
	/* Decision, request, saved, done: each takes what the one before took, and more. */
	CHECK_EQ(atomic64_read(&stats()->latency[GPREEMPT_LATENCY_REQUEST].count), 1);
	CHECK(atomic64_read(&stats()->latency[GPREEMPT_LATENCY_REQUEST].sum_ns) < atomic64_read(&stats()->latency[GPREEMPT_LATENCY_SAVE].sum_ns));
	CHECK(atomic64_read(&stats()->latency[GPREEMPT_LATENCY_SAVE].sum_ns) <= atomic64_read(&stats()->preempt_ns_last));
	CHECK_EQ(node_of(0)->monitor.level, NORMAL);
	CHECK(run_until_idle(high, SEC));
	CHECK_AFTER(2 * MS, low->q.gpreempt->account.preempted_ns > 90 * MS);
	CHECK(low->q.gpreempt->account.preempted_ns < 110 * MS);
	CHECK_EQ(atomic64_read(&stats()->latency[GPREEMPT_LATENCY_HOLD].count), 1);
	CHECK_EQ(atomic64_read(&stats()->latency[GPREEMPT_LATENCY_HOLD].sum_ns), low->q.gpreempt->account.preempted_ns);
	CHECK_EQ(atomic64_read(&stats()->latency[GPREEMPT_LATENCY_RESUME].count), 1);
	CHECK(gpreempt_stats_quantile_us(&stats()->latency[GPREEMPT_LATENCY_HOLD], 50) == 131072);
	CHECK_EQ(gpreempt_stats_quantile_us(&stats()->latency[GPREEMPT_LATENCY_HOLD], 0), 0);
}

/* Passes while high's last kernel runs, and low waits for its end. */
static u64 passes_in(u64 ns)
{
	u64 checks = atomic64_read(&stats()->checks);

	run(ns);
	return atomic64_read(&stats()->checks) - checks;
}

BOTH(looks_are_as_many_as_asked_for, "while contended a look begins every gpreempt_poll_us, unless asking for waves takes more than a quarter of that")
{
	low_is_preempted(hws);
	CHECK(preempted(low));
	CHECK(passes_in(20 * MS) >= 249);
	CHECK(passes_in(10 * MS) <= 126);
	/* One packet is left, its kernel runs: only waves tell when it ends. */
	CHECK_AFTER(20 * MS, high->in_slot && !idle(high));
	world.nodes[0].ask_us = 200;
	run(5 * MS);
	CHECK(passes_in(10 * MS) <= 14);
	CHECK(passes_in(10 * MS) >= 12);
	CHECK(run_until_idle(high, 100 * MS));
	CHECK(run_until_idle(low, SEC));
}

BOTH(two_xccs, "a queue is saved and continued on all XCCs")
{
	world_on_xccs(hws, 2);
	add_rivals(10, 0);
	low->kernel_ns = 20 * MS;
	world.nodes[0].nr_wave_slots = 1;
	submit_and_run(low, 3, MS);
	submit(high, 30);
	CHECK(run_until_idle(high, SEC));
	CHECK_EQ(low->done, 0);
	CHECK(run_until_idle(low, SEC));
	CHECK(preemptions() && resumes() == preemptions());
}

BOTH(two_nodes, "each node has its own order, and is switched by itself")
{
	struct sim_process *a, *b;
	struct sim_queue *far;

	world_on_nodes(hws, 2);
	a = add_process(10);
	b = add_process(0);
	low = add_queue_to(a, 0, NORMAL);
	far = add_queue_to(a, 1, NORMAL);
	high = add_queue_to(b, 0, NORMAL);
	low->kernel_ns = far->kernel_ns = high->kernel_ns = 20 * MS;
	submit(low, 2);
	submit(far, 2);
	submit_and_run(high, 2, 10 * MS);
	CHECK(preempted(low) && !preempted(far));
	CHECK_EQ(gpreempt_life_enable_node(node_of(0), false), 0);
	CHECK(!preempted(low));
	CHECK(!gpreempt_node_enabled(1000));
	CHECK(gpreempt_node_enabled(1001));
	CHECK(gpreempt_node_enabled(0));
	CHECK_STATE("off");
	CHECK_EQ(gpreempt_life_enable_node(node_of(0), true), 0);
	CHECK_STATE("idle");
	CHECK_AFTER(20 * MS, preempted(low));
}

BOTH(pm4_queues, "a queue that counts in dwords is read with its ring's size")
{
	world_on(hws);
	low = add_queue(0);
	low->q.gpreempt->view.aql = false;
	low->q.gpreempt->view.ring_mask = 0xff;
	((u32 *)low->pointers)[0] = 250;
	((u32 *)low->pointers)[2] = 4;
	CHECK_EQ(gpreempt_node_pending(low->q.gpreempt), 10);
	((u32 *)low->pointers)[0] = ((u32 *)low->pointers)[2] = 0;
	low->q.gpreempt->view.aql = true;
	low->pointers[0] = 3;
	CHECK_EQ(gpreempt_node_pending(low->q.gpreempt), 0);
	low->pointers[0] = 0;
}

BOTH(nice_values_count, "a parked node sees a new nice value within a second, a polling one with the next look at it")
{
	world_on(hws);
	add_rivals(0, 0);
	low->kernel_ns = high->kernel_ns = 100 * MS;
	world.nodes[0].nr_wave_slots = 1;
	submit(low, 20);
	submit_and_run(high, 20, 10 * MS);
	CHECK_STATE("parked");
	CHECK_EQ(nr_preempted(), 0);
	process_of(low)->task.nice = 5;
	CHECK_AFTER(1500 * MS, preempted(low) && !preempted(high));
	process_of(high)->task.nice = 10;
	CHECK_AFTER(20 * MS, preempted(high) && !preempted(low));
	set("gpreempt_nice", "0");
	CHECK_EQ_AFTER(20 * MS, nr_preempted(), 0);
}

BOTH(priorities_of_queues_count, "a queue's priority orders it within its process; against others above normal only with the right to it")
{
	world_on(hws);
	current->caps = 0;
	low = add_queue(0);
	high = add_queue_to(process_of(low), 0, HIGH);
	CHECK(!high->q.gpreempt->priority.trusted);
	low->kernel_ns = high->kernel_ns = 10 * MS;
	submit(low, 4);
	submit_and_run(high, 2, 5 * MS);
	CHECK(!preempted(high));
	update_queue(low, LOW);
	CHECK_AFTER(5 * MS, preempted(low));
	CHECK_EQ(high->q.gpreempt->policy.set.priority, NORMAL);
	current->caps = CAP_SYS_NICE;
	update_queue(high, HIGH);
	CHECK(high->q.gpreempt->priority.trusted);
	CHECK_EQ_AFTER(5 * MS, high->q.gpreempt->policy.set.priority, HIGH);
}

BOTH(relief_bounds_a_hold, "a queue that is held for too long gets the device for a while")
{
	low_runs(hws);
	set("gpreempt_max_hold_ms", "30");
	run_kernels(high, 400, MS, 300 * MS);
	CHECK(low->done >= 1);
	CHECK(!idle(high));
	CHECK(atomic64_read(&stats()->relief_slices) >= 5);
}

BOTH(saved_waves_are_told, "that a queue was stopped in the middle of a kernel is seen on whichever XCC it is, and not of one that had none")
{
	struct sim_queue *quiet;

	EACH_ANEW(xcc, 2, "XCC %u: ", xcc) {
		low_runs_on(hws, xcc);
		quiet = add_queue(10);
		run(2 * MS);
		high_comes();
		CHECK(preempted(low) && preempted(quiet));
		CHECK(low->q.gpreempt->policy.saved_waves);
		CHECK(!quiet->q.gpreempt->policy.saved_waves);
	}
}

BOTH(each_pass_counts_one_runlist, "what the driver sends by itself is counted once, and is what makes the policy doubt what it saw of waves")
{
	u32 before;

	low_runs(hws);
	set("gpreempt_hw_priority", "follow");
	run(10 * MS);
	before = node_of(0)->waves.epoch;
	update_queue(high, LOW);
	CHECK_EQ(node_of(0)->waves.epoch, before + 1);
	/* What high asks for now counts from the next pass. */
	CHECK_EQ(node_of(0)->mqd.nr_altered, 2);
	update_queue(high, NORMAL);
	CHECK_EQ(node_of(0)->waves.epoch, before + 2);
}

BOTH(snapshots_end_with_the_hold, "a queue that runs has no snapshot; one that is preempted has what was saved")
{
	low_runs(hws);
	set("gpreempt_verify", "1");
	CHECK(!gpreempt_mqd_snapshot_mqds(low->q.gpreempt));
	high_comes();
	CHECK(gpreempt_mqd_snapshot_mqds(low->q.gpreempt) != NULL);
	CHECK(!memcmp(gpreempt_mqd_snapshot_mqds(low->q.gpreempt), low->mqds, sizeof(struct v9_mqd)));
	low_resumes_after_high(5 * MS);
	CHECK(!gpreempt_mqd_snapshot_mqds(low->q.gpreempt));
}

TEST(grace_is_set_once, "firmware waits for waves as briefly as it can from the first preemption until it is switched off, and is told so once")
{
	const struct sim_node *sn = &world.nodes[0];

	low_runs(true);
	CHECK_EQ(sn->grace_period, USE_DEFAULT_GRACE_PERIOD);
	high_comes();
	CHECK_EQ(sn->grace_period, 1);
	low_resumes_after_high(5 * MS);
	high_preempts_low();
	CHECK_EQ(sn->grace_period, 1);
	CHECK_EQ(sn->grace_packets, 1);
	CHECK(run_until_idle(high, SEC));
	run(5 * MS);
	/* What the driver sent may have come with another one. */
	evict_and_restore(low);
	high_preempts_low();
	CHECK_EQ(sn->grace_packets, 2);
	set("gpreempt_enable", "0");
	CHECK_EQ(sn->grace_period, USE_DEFAULT_GRACE_PERIOD);
	CHECK_EQ(sn->grace_packets, 3);
	CHECK_EQ(world.reset_domain.sem.readers, 0);
	/* Whoever switches it on begins anew. */
	CHECK(run_until_idle(high, SEC));
	submit(low, 10);
	set("gpreempt_enable", "1");
	run(5 * MS);
	high_preempts_low();
	CHECK_EQ(sn->grace_period, 1);
	CHECK_EQ(sn->grace_packets, 4);
}

TEST(no_packet_goes_to_a_device_in_reset, "while the GPU is reset nothing is sent to its firmware, and the queues stay as they are")
{
	const struct sim_node *sn = &world.nodes[0];
	struct gpreempt_outcome outcome;

	low_runs(true);
	world.reset_domain.sem.writer = true;
	outcome = apply(GPREEMPT_PREEMPT);
	CHECK(outcome.again && !outcome.error && !preempted(low) && on_device(low));
	CHECK_EQ(skipped(GPREEMPT_SKIP_RESETTING), 1);
	CHECK_EQ(sn->grace_packets, 0);
	world.reset_domain.sem.writer = false;
	outcome = apply(GPREEMPT_PREEMPT);
	CHECK(preempted(low) && !outcome.again);
	CHECK_EQ(sn->grace_packets, 1);
	CHECK_EQ(world.reset_domain.sem.readers, 0);
	apply(GPREEMPT_RESUME);
}

TEST(a_failed_send_is_taken_back, "victims of a request that did not get out are told by name, and not asked for again by themselves")
{
	struct gpreempt_outcome outcome;
	char name[64];

	low_runs(true);
	world.nodes[0].error = -ENOMEM;
	outcome = apply(GPREEMPT_PREEMPT);
	CHECK_EQ(outcome.error, -ENOMEM);
	CHECK(outcome.again && !outcome.stop);
	CHECK_EQ(low->q.gpreempt->policy.action, GPREEMPT_KEEP);
	snprintf(name, sizeof(name), "pid %d queue %u", process_of(low)->pid.nr, low->q.properties.queue_id);
	CHECK(strstr(shim_log, name) != NULL);
	world.nodes[0].error = 0;
}

TEST(the_first_victim_is_named, "of several victims the first one stands for all in the log")
{
	struct sim_queue *second;
	char name[64];

	low_runs(true);
	second = add_queue(10);
	run(2 * MS);
	mutex_lock(&node_of(0)->pass_lock);
	second->q.gpreempt->policy.action = GPREEMPT_PREEMPT;
	mutex_unlock(&node_of(0)->pass_lock);
	world.nodes[0].error = -ENOMEM;
	apply(GPREEMPT_PREEMPT);
	/* Of the driver, whose list begins with the last one. */
	snprintf(name, sizeof(name), "pid %d queue %u", process_of(second)->pid.nr, second->q.properties.queue_id);
	CHECK(strstr(shim_log, name) != NULL);
	world.nodes[0].error = 0;
}

TEST(flags_count_while_stopped, "what is resumed while the driver's scheduler stands still was held until now")
{
	low_is_preempted(true);
	world.nodes[0].dqm.sched_running = false;
	apply(GPREEMPT_RESUME);
	CHECK(!preempted(low));
	CHECK(low->q.gpreempt->account.preempted_ns > 5 * MS && low->q.gpreempt->account.preempted_ns < 20 * MS);
	world.nodes[0].dqm.sched_running = true;
	evict_and_restore(low);
}

TEST(the_hiq_wraps, "a HIQ whose pointers have gone round is settled all the same")
{
	low_runs(true);
	TIMES(40)
		evict_and_restore(high);
	CHECK_AFTER(MS, world.nodes[0].hiq.pending_wptr > 1024);
	high_preempts_low();
	CHECK(skipped(GPREEMPT_SKIP_UNSETTLED) < 5);
}

/* Each request of high's takes 2 ms, and low has so long between two of them. */
static u64 preemptions_by(u32 requests)
{
	u64 before = preemptions();

	high->kernel_ns = 2 * MS;
	for (; requests; requests--) {
		submit(high, 1);
		CHECK(run_until_idle(high, SEC));
		run(10 * MS);
	}
	return preemptions() - before;
}

TEST(a_resume_is_read_late, "while the device still reads the runlist of a resume no queue is preempted for work that has ended")
{
	low_runs(true);
	low->kernel_ns = SEC;
	world.nodes[0].read_us = 400;
	CHECK_EQ(preemptions_by(10), 10);
	CHECK(skipped(GPREEMPT_SKIP_UNSETTLED) > 10);
	CHECK(!preempted(low));
}

TEST(a_process_in_part_suspended_is_left_out, "a process whose queues are preempted, or off the device anyway, takes no VMID, whichever comes first")
{
	struct sim_queue *suspended;

	low_runs(true);
	suspended = add_queue_to(process_of(low), 0, NORMAL);
	suspend_queue(suspended, true);
	high_comes();
	CHECK(preempted(low) && !preempted(suspended));
	CHECK(kfd_gpreempt_leaves_out(&process_of(low)->p.pdds[0].qpd));
	suspend_queue(suspended, false);
}
