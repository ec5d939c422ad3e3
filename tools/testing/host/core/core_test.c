// SPDX-License-Identifier: MIT
/*
 * core_test.c - the core of the scheduler on a device in user space, one story each; see fake_amdkfd.h
 */
#include "stories.h"

const bool tap_forks = true;

void tap_reset(void)
{
	shim_init();
}

/* ---- preempting ---- */

BOTH(low_yields_and_continues, "a low kernel is saved for a high one, and runs to its end later, once")
{
	low_is_held(hws);
	CHECK_EQ(preemptions(), 1);
	CHECK_EQ(resumes(), 0);
	CHECK_EQ(low->done, 0);
	CHECK_STATE("polling");
	CHECK(run_until_idle(high, 200 * MS));
	CHECK_EQ(low->done, 0);
	CHECK(run_until_idle(low, SEC));
	CHECK_EQ(resumes(), 1);
	CHECK_EQ(atomic64_read(&node_of(0)->stats.runlists), 2);
	CHECK_EQ(atomic64_read(&node_of(0)->stats.disabled), 0);
	CHECK_EQ(gpreempt_stats_failures(&node_of(0)->stats), 0);
	world_end();
}

BOTH(preempting_is_counted, "counters, histograms and the queue's own numbers say what was done")
{
	struct gpreempt_stats *stats;
	int i;

	low_is_held(hws);
	stats = &node_of(0)->stats;
	for (i = 0; i < GPREEMPT_NR_LATENCIES; i++) {
		const struct gpreempt_histogram *h = &stats->latency[i];
		bool yet = i != GPREEMPT_LATENCY_RESUME && i != GPREEMPT_LATENCY_HOLD && i != GPREEMPT_LATENCY_NOTICE;

		CHECK_EQ(atomic64_read(&h->count) != 0, yet);
		CHECK_EQ(gpreempt_stats_quantile_us(h, 99) != 0, yet);
	}
	CHECK_EQ(low->q.gpreempt->preempt_count, 1);
	CHECK_EQ(atomic64_read(&stats->inversions), 1);
	CHECK(atomic64_read(&stats->preempt_ns_max) >= 5 * US);
	CHECK_EQ(atomic64_read(&stats->preempt_ns_max), atomic64_read(&stats->preempt_ns_last));
	CHECK(atomic64_read(&stats->checks) > 10);
	CHECK(atomic64_read(&stats->wakeups) >= atomic64_read(&stats->checks) - 1);
	/* Decision, request, saved, done: each takes what the one before took, and more. */
	CHECK_EQ(atomic64_read(&stats->latency[GPREEMPT_LATENCY_REQUEST].count), 1);
	CHECK(atomic64_read(&stats->latency[GPREEMPT_LATENCY_REQUEST].sum_ns) < atomic64_read(&stats->latency[GPREEMPT_LATENCY_SAVE].sum_ns));
	CHECK(atomic64_read(&stats->latency[GPREEMPT_LATENCY_SAVE].sum_ns) <= atomic64_read(&stats->preempt_ns_last));
	CHECK_EQ(node_of(0)->level, NORMAL);
	CHECK(run_until_idle(high, SEC));
	run(2 * MS);
	CHECK(low->q.gpreempt->preempted_ns > 90 * MS);
	CHECK(low->q.gpreempt->preempted_ns < 110 * MS);
	CHECK_EQ(atomic64_read(&stats->latency[GPREEMPT_LATENCY_HOLD].count), 1);
	CHECK_EQ(atomic64_read(&stats->latency[GPREEMPT_LATENCY_HOLD].sum_ns), low->q.gpreempt->preempted_ns);
	CHECK_EQ(atomic64_read(&stats->latency[GPREEMPT_LATENCY_RESUME].count), 1);
	CHECK(gpreempt_stats_quantile_us(&stats->latency[GPREEMPT_LATENCY_HOLD], 50) == 131072);
	CHECK_EQ(gpreempt_stats_quantile_us(&stats->latency[GPREEMPT_LATENCY_HOLD], 0), 0);
	world_end();
}

/* Passes while high's last kernel runs, and low waits for its end. */
static u64 passes_in(u64 ns)
{
	u64 checks = atomic64_read(&node_of(0)->stats.checks);

	run(ns);
	return atomic64_read(&node_of(0)->stats.checks) - checks;
}

BOTH(looks_are_as_many_as_asked_for, "while contended a look begins every gpreempt_poll_us, unless asking for waves takes more than a quarter of that")
{
	low_is_held(hws);
	CHECK(preempted(low));
	CHECK(passes_in(20 * MS) >= 249);
	CHECK(passes_in(10 * MS) <= 126);
	/* One packet is left, its kernel runs: only waves tell when it ends. */
	run(20 * MS);
	CHECK(high->in_slot && !idle(high));
	world.nodes[0].ask_us = 200;
	run(5 * MS);
	CHECK(passes_in(10 * MS) <= 14);
	CHECK(passes_in(10 * MS) >= 12);
	CHECK(run_until_idle(high, 100 * MS));
	CHECK(run_until_idle(low, SEC));
	world_end();
}

BOTH(two_xccs, "a queue is saved and continued on all XCCs")
{
	world_make(hws, 2, 1);
	set("gpreempt_enable", "1");
	low = add_queue(10);
	high = add_queue(0);
	low->kernel_ns = 20 * MS;
	world.nodes[0].nr_wave_slots = 1;
	submit(low, 3);
	run(MS);
	submit(high, 30);
	CHECK(run_until_idle(high, SEC));
	CHECK_EQ(low->done, 0);
	CHECK(run_until_idle(low, SEC));
	CHECK(preemptions() && resumes() == preemptions());
	world_end();
}

BOTH(two_nodes, "each node has its own order, and is switched by itself")
{
	struct sim_process *a, *b;
	struct sim_queue *far;

	world_make(hws, 1, 2);
	set("gpreempt_enable", "1");
	a = add_process(10);
	b = add_process(0);
	low = add_queue_to(a, 0, NORMAL);
	far = add_queue_to(a, 1, NORMAL);
	high = add_queue_to(b, 0, NORMAL);
	low->kernel_ns = far->kernel_ns = high->kernel_ns = 20 * MS;
	submit(low, 2);
	submit(far, 2);
	submit(high, 2);
	run(10 * MS);
	CHECK(preempted(low));
	CHECK(!preempted(far));
	CHECK_EQ(gpreempt_core_enable_node(node_of(0), false), 0);
	CHECK(!preempted(low));
	CHECK(!gpreempt_core_enabled(1000));
	CHECK(gpreempt_core_enabled(1001));
	CHECK(gpreempt_core_enabled(0));
	CHECK_STATE("off");
	CHECK_EQ(gpreempt_core_enable_node(node_of(0), true), 0);
	CHECK_STATE("idle");
	run(20 * MS);
	CHECK(preempted(low));
	world_end();
}

BOTH(pm4_queues, "a queue that counts in dwords is read with its ring's size")
{
	world_on(hws);
	low = add_queue(0);
	low->q.gpreempt->aql = false;
	low->q.gpreempt->ring_mask = 0xff;
	((u32 *)low->pointers)[0] = 250;
	((u32 *)low->pointers)[2] = 4;
	CHECK_EQ(gpreempt_queue_pending(low->q.gpreempt), 10);
	((u32 *)low->pointers)[0] = ((u32 *)low->pointers)[2] = 0;
	low->q.gpreempt->aql = true;
	low->pointers[0] = 3;
	CHECK_EQ(gpreempt_queue_pending(low->q.gpreempt), 0);
	low->pointers[0] = 0;
	world_end();
}

BOTH(nice_values_count, "a parked node sees a new nice value within a second, a polling one with the next look at it")
{
	world_on(hws);
	low = add_queue(0);
	high = add_queue(0);
	low->kernel_ns = high->kernel_ns = 100 * MS;
	world.nodes[0].nr_wave_slots = 1;
	submit(low, 20);
	submit(high, 20);
	run(10 * MS);
	CHECK_STATE("parked");
	CHECK_EQ(nr_preempted(), 0);
	process_of(low)->task.nice = 5;
	run(1500 * MS);
	CHECK(preempted(low) && !preempted(high));
	process_of(high)->task.nice = 10;
	run(20 * MS);
	CHECK(preempted(high) && !preempted(low));
	set("gpreempt_nice", "0");
	run(20 * MS);
	CHECK_EQ(nr_preempted(), 0);
	world_end();
}

BOTH(priorities_of_queues_count, "a queue's priority orders it within its process; against others above normal only with the right to it")
{
	world_on(hws);
	current->caps = 0;
	low = add_queue(0);
	high = add_queue_to(process_of(low), 0, HIGH);
	CHECK(!high->q.gpreempt->trusted);
	low->kernel_ns = high->kernel_ns = 10 * MS;
	submit(low, 4);
	submit(high, 2);
	run(5 * MS);
	CHECK(!preempted(high));
	update_queue(low, LOW);
	run(5 * MS);
	CHECK(preempted(low));
	CHECK_EQ(high->q.gpreempt->policy.priority, NORMAL);
	current->caps = CAP_SYS_NICE;
	update_queue(high, HIGH);
	CHECK(high->q.gpreempt->trusted);
	run(5 * MS);
	CHECK_EQ(high->q.gpreempt->policy.priority, HIGH);
	world_end();
}

BOTH(relief_bounds_a_hold, "a queue that is held for too long gets the device for a while")
{
	low_runs(hws);
	set("gpreempt_max_hold_ms", "30");
	high->kernel_ns = MS;
	submit(high, 400);
	run(300 * MS);
	CHECK(low->done >= 2);
	CHECK(!idle(high));
	CHECK(atomic64_read(&node_of(0)->stats.relief_slices) >= 5);
	world_end();
}

/* ---- life cycle ---- */

BOTH(a_preempted_queue_goes, "a preempted queue can be destroyed; it counts as such")
{
	low_is_held(hws);
	destroy_queue(low);
	CHECK_EQ(atomic64_read(&node_of(0)->stats.destroyed_preempted), 1);
	CHECK_EQ(node_of(0)->nr_queues, 1);
	CHECK_EQ(node_of(0)->nr_processes, 1);
	CHECK(run_until_idle(high, SEC));
	world_end();
}

BOTH(the_beneficiary_dies, "when whoever it was held for dies, a queue is resumed")
{
	low_is_held(hws);
	kill_process(process_of(high));
	run(10 * MS);
	CHECK(!preempted(low));
	world_end();
}

BOTH(eviction_while_preempted, "evicted while preempted it stays preempted; resumed while evicted it stays off the device")
{
	low_is_held(hws);
	evict_queue(low, true);
	CHECK(preempted(low));
	CHECK(run_until_idle(high, SEC));
	run(10 * MS);
	CHECK(!preempted(low));
	CHECK(!on_device(low));
	evict_queue(low, false);
	CHECK(on_device(low));
	CHECK(run_until_idle(low, SEC));
	world_end();
}

BOTH(restored_while_preempted, "a restore by the driver does not bring a preempted queue back")
{
	low_is_held(hws);
	evict_queue(low, true);
	evict_queue(low, false);
	CHECK(preempted(low) && !on_device(low));
	update_queue(low, LOW);
	CHECK(preempted(low) && !on_device(low));
	world_end();
}

BOTH(switched_off_and_on, "switching off resumes everything before it returns; what is there is adopted when it is switched on")
{
	low_is_held(hws);
	set("gpreempt_enable", "0");
	CHECK_EQ(nr_preempted(), 0);
	CHECK(on_device(low) && !low->q.gpreempt);
	CHECK_EQ(node_of(0)->nr_queues, 0);
	CHECK_EQ(low->bo.pins, 0);
	set("gpreempt_enable", "1");
	run(20 * MS);
	CHECK(preempted(low));
	CHECK_EQ(node_of(0)->nr_queues, 2);
	world_end();
}

BOTH(adoption_waits_for_processes, "a process whose lock is taken is adopted later")
{
	world_make(hws, 1, 1);
	low = add_queue(0);
	high = add_queue(0);
	CHECK(!low->q.gpreempt);
	mutex_lock(&process_of(low)->p.mutex);
	set("gpreempt_enable", "1");
	run(25 * MS);
	CHECK(!low->q.gpreempt);
	CHECK(high->q.gpreempt != NULL);
	mutex_unlock(&process_of(low)->p.mutex);
	run(25 * MS);
	CHECK(low->q.gpreempt != NULL);
	world_end();
}

BOTH(adoption_knows_rights, "an adopted queue's priority counts above normal only if its owner has the right now")
{
	world_make(hws, 1, 1);
	low = add_queue_to(add_process(0), 0, HIGH);
	high = add_queue_to(add_process(0), 0, HIGH);
	process_of(high)->task.caps = CAP_SYS_NICE;
	set("gpreempt_enable", "1");
	run(25 * MS);
	CHECK(!low->q.gpreempt->trusted);
	CHECK(high->q.gpreempt->trusted);
	world_end();
}

BOTH(suspend_and_resume, "before a suspend everything is resumed; afterwards it is preempted anew")
{
	low_is_held(hws);
	suspend();
	CHECK_STATE("paused");
	CHECK_EQ(nr_preempted(), 0);
	kfd_gpreempt_pause(&world.kfd);
	run(MS);
	CHECK_EQ(nr_preempted(), 0);
	resume();
	CHECK_STATE("idle");
	run(10 * MS);
	CHECK(preempted(low));
	kfd_gpreempt_unpause(&world.kfd);
	world_end();
}

BOTH(switched_on_while_suspended, "switched on while suspended, a node begins when the device is back; switched off, it ends")
{
	world_make(hws, 1, 1);
	suspend();
	set("gpreempt_enable", "1");
	CHECK_STATE("paused");
	low = add_queue(10);
	high = add_queue(0);
	low->kernel_ns = 100 * MS;
	submit(low, 1);
	submit(high, 1000);
	run(10 * MS);
	CHECK_EQ(nr_preempted(), 0);
	resume();
	run(10 * MS);
	CHECK(preempted(low));
	suspend();
	set("gpreempt_enable", "0");
	resume();
	CHECK_STATE("off");
	world_end();
}

BOTH(reset_of_the_gpu, "a reset finds nothing preempted, and the node goes on after it")
{
	low_is_held(hws);
	reset_gpu();
	run(2 * MS);
	low->kernel_ns = high->kernel_ns = 50 * MS;
	submit(low, 2);
	submit(high, 2);
	run(20 * MS);
	CHECK(preempted(low));
	world_end();
}

/* ---- obstacles ---- */

static void debugs(bool on) { debug_process(process_of(low), on); }
static void debugs_node(bool on) { WRITE_ONCE(process_of(low)->p.pdds[0].qpd.is_debug, on); }
static void was_reset(bool on) { WRITE_ONCE(process_of(low)->p.pdds[0].has_reset_queue, on); }
static void is_destroyed(bool on) { WRITE_ONCE(low->q.properties.is_being_destroyed, on); }
static void has_no_area(bool on) { low->q.properties.ctx_save_restore_area_address = on ? 0 : 0x7000000; }

static const struct {
	void (*change)(bool on);
	enum gpreempt_skip skip;
} obstacles[] = {
	{ debugs, GPREEMPT_SKIP_DEBUGGED }, { debugs_node, GPREEMPT_SKIP_DEBUGGED },
	{ was_reset, GPREEMPT_SKIP_RESET }, { is_destroyed, GPREEMPT_SKIP_DESTROYED }, { has_no_area, GPREEMPT_SKIP_SAVE_AREA },
};

BOTH(obstacles_are_respected, "what the driver does not let go stays, is counted once, and goes when the obstacle does")
{
	u32 i;

	low_runs(hws);
	high->kernel_ns = MS;
	low->kernel_ns = SEC;
	submit(high, 4000);
	for (i = 0; i < ARRAY_SIZE(obstacles); i++) {
		u64 before = skipped(obstacles[i].skip);

		snprintf(tap_case, sizeof(tap_case), "obstacle %u: ", i);
		obstacles[i].change(true);
		run(20 * MS);
		CHECK(!preempted(low));
		/* What was reset is off the device already. */
		CHECK_EQ(low->q.gpreempt->policy.verdict,
			 obstacles[i].skip == GPREEMPT_SKIP_RESET ? GPREEMPT_VERDICT_DRIVER : GPREEMPT_VERDICT_OBSTACLE);
		CHECK_EQ(skipped(obstacles[i].skip), before + 1);
		obstacles[i].change(false);
		/* What was lost in a reset comes back with the next decision of the driver. */
		evict_queue(low, true);
		evict_queue(low, false);
		run(20 * MS);
		CHECK(preempted(low));
		CHECK(!on_device(low));
	}
	world_end();
}

BOTH(debugging_oneself_is_no_exemption, "a process that enables the debug trap on itself, or is debugged without the right to exempt it, yields like any other")
{
	struct task_struct child = { .pid = 98 };

	low_runs(hws);
	debug_itself(process_of(low), true);
	high_comes();
	CHECK(preempted(low));
	CHECK_EQ(skipped(GPREEMPT_SKIP_DEBUGGED), 0);
	CHECK(run_until_idle(high, SEC));
	run(5 * MS);
	CHECK(!preempted(low));
	debug_itself(process_of(low), false);

	/* A child that it has for this purpose. */
	debug_process_by(process_of(low), &child);
	high_comes();
	CHECK(preempted(low));
	CHECK_EQ(skipped(GPREEMPT_SKIP_DEBUGGED), 0);
	CHECK(run_until_idle(high, SEC));
	run(5 * MS);

	/* A tracer with the right, but no debugger of queues. */
	debug_process(process_of(low), true);
	debug_itself(process_of(low), false);
	high_comes();
	CHECK(preempted(low));
	CHECK(run_until_idle(high, SEC));
	run(5 * MS);
	debug_itself(process_of(low), true);
	high_comes();
	CHECK(!preempted(low));
	CHECK_EQ(skipped(GPREEMPT_SKIP_DEBUGGED), 1);
	debug_process(process_of(low), false);
	world_end();
}

TEST(gws_is_no_exemption, "a queue with the global wave sync yields like any other, keeps it while preempted, and may get and lose it meanwhile")
{
	const struct device_queue_manager *dqm = &world.nodes[0].dqm;

	low_runs(true);
	give_gws(low, true);
	CHECK_EQ(dqm->gws_queue_count, 1);
	high_comes();
	CHECK(preempted(low) && !on_device(low));
	CHECK_EQ(dqm->gws_queue_count, 0);
	CHECK(!process_of(low)->p.pdds[0].qpd.mapped_gws_queue);
	/* Nobody waits for a process that is off the device. */
	give_gws(high, true);
	CHECK(!node_of(0)->turns);
	CHECK(run_until_idle(high, SEC));
	run(5 * MS);
	CHECK(!preempted(low) && process_of(low)->p.pdds[0].qpd.mapped_gws_queue);
	CHECK_EQ(dqm->gws_queue_count, 2);
	CHECK(node_of(0)->turns);
	give_gws(high, false);
	high_comes();
	CHECK(preempted(low));
	give_gws(low, false);
	CHECK(run_until_idle(high, SEC));
	run(5 * MS);
	CHECK(!preempted(low));
	CHECK_EQ(dqm->gws_queue_count, 0);
	world_end();
}

BOTH(obstacle_while_held, "a debugger that attaches to a preempted process gets its queues back")
{
	low_is_held(hws);
	debug_process(process_of(low), true);
	run(10 * MS);
	CHECK(!preempted(low) && on_device(low));
	debug_process(process_of(low), false);
	world_end();
}

BOTH(the_backend_looks_again, "what became an obstacle between decision and lock is refused, and said")
{
	struct device_queue_manager *dqm;
	struct gpreempt_outcome outcome;

	low_runs(hws);
	dqm = &world.nodes[0].dqm;
	debug_process(process_of(low), true);
	outcome = apply(GPREEMPT_PREEMPT);
	CHECK(!preempted(low) && !outcome.preempted && !outcome.error && !outcome.elapsed_ns);
	CHECK_EQ(skipped(GPREEMPT_SKIP_DEBUGGED), 1);
	CHECK_EQ(low->q.gpreempt->policy.action, GPREEMPT_KEEP);
	CHECK(low->q.gpreempt->policy.immovable);
	CHECK_EQ(low->q.gpreempt->policy.verdict, GPREEMPT_VERDICT_OBSTACLE);
	debug_process(process_of(low), false);

	evict_queue(low, true);
	apply(GPREEMPT_PREEMPT);
	CHECK_EQ(skipped(GPREEMPT_SKIP_INACTIVE), 1);
	CHECK_EQ(low->q.gpreempt->policy.verdict, GPREEMPT_VERDICT_DRIVER);
	evict_queue(low, false);

	dqm->sched_halt = true;
	apply(GPREEMPT_PREEMPT);
	CHECK_EQ(skipped(GPREEMPT_SKIP_STOPPED), 1);
	dqm->sched_halt = false;
	dqm->sched_running = false;
	apply(GPREEMPT_PREEMPT);
	CHECK_EQ(skipped(GPREEMPT_SKIP_STOPPED), 2);
	dqm->sched_running = true;
	dqm->is_hws_hang = true;
	apply(GPREEMPT_PREEMPT);
	CHECK_EQ(skipped(GPREEMPT_SKIP_STOPPED), 3);
	dqm->is_hws_hang = false;
	CHECK_EQ(nr_preempted(), 0);

	outcome = apply(GPREEMPT_PREEMPT);
	CHECK(preempted(low) && outcome.preempted && outcome.elapsed_ns && !outcome.again);
	outcome = apply(GPREEMPT_PREEMPT);
	CHECK(!outcome.elapsed_ns);
	outcome = apply(GPREEMPT_RESUME);
	CHECK(!preempted(low) && !outcome.preempted && outcome.elapsed_ns && on_device(low));
	outcome = apply(GPREEMPT_RESUME);
	CHECK(!outcome.elapsed_ns);
	world_end();
}

/* ---- failures, with the hardware scheduler ---- */

TEST(send_fails_once, "a request that could not be sent leaves the victims where they were, and is tried again")
{
	low_runs(true);
	world.nodes[0].nr_send_fails = 1;
	submit(high, 300);
	run(10 * MS);
	CHECK_EQ(failed(GPREEMPT_FAILURE_SEND), 1);
	CHECK(preempted(low));
	CHECK_EQ(preemptions(), 1);
	CHECK_EQ(node_of(0)->errors, 0);
	world_end();
}

TEST(send_fails_thrice, "after three failures in a row the node gives up; writing 1 to gpreempt_enable tries again")
{
	low_runs(true);
	world.nodes[0].nr_send_fails = 3;
	submit(high, 1000);
	run(10 * MS);
	CHECK_STATE("failed");
	CHECK_EQ(failed(GPREEMPT_FAILURE_SEND), 3);
	CHECK_EQ(atomic64_read(&node_of(0)->stats.disabled), 1);
	CHECK_EQ(nr_preempted(), 0);
	CHECK(strstr(shim_log, "no longer scheduled") != NULL);
	run(50 * MS);
	CHECK_STATE("failed");
	CHECK_EQ(nr_preempted(), 0);
	set("gpreempt_enable", "1");
	run(10 * MS);
	CHECK(preempted(low));
	world_end();
}

TEST(map_fails, "what was saved when mapping failed stays saved, and the runlist is sent again")
{
	low_runs(true);
	world.nodes[0].nr_map_fails = 2;
	submit(high, 300);
	run(10 * MS);
	CHECK_EQ(failed(GPREEMPT_FAILURE_MAP), 2);
	CHECK_EQ(preemptions(), 1);
	CHECK(preempted(low) && on_device(high));
	CHECK_STATE("polling");
	world_end();
}

TEST(map_fails_for_long, "a node that gave up goes on sending the runlist until it is taken, with everything resumed")
{
	low_runs(true);
	world.nodes[0].nr_map_fails = 30;
	submit(high, 3000);
	run(100 * MS);
	CHECK_STATE("failed");
	CHECK_EQ(nr_preempted(), 0);
	run(200 * MS);
	CHECK_EQ(world.nodes[0].nr_map_fails, 0);
	CHECK(on_device(low) && on_device(high));
	world_end();
}

TEST(unmap_times_out, "an unmap that is not acknowledged ends scheduling at once; a reset of the GPU begins it anew")
{
	low_runs(true);
	world.nodes[0].nr_unmap_timeouts = 1;
	submit(high, 300);
	run(10 * MS);
	CHECK_STATE("failed");
	CHECK_EQ(failed(GPREEMPT_FAILURE_UNMAP_TIMEOUT), 1);
	CHECK_EQ(nr_preempted(), 0);
	reset_gpu();
	run(2 * MS);
	CHECK(strcmp(state(), "failed") != 0);
	low->kernel_ns = 50 * MS;
	submit(low, 1);
	run(2 * MS);
	high_comes();
	CHECK(preempted(low));
	world_end();
}

TEST(resetting_is_no_failure, "a pass that meets a reset is given up, not counted as a failure, and done afterwards")
{
	low_runs(true);
	world.nodes[0].error = -EIO;
	submit(high, 300);
	run(10 * MS);
	CHECK(skipped(GPREEMPT_SKIP_RESETTING) > 3);
	CHECK_EQ(gpreempt_stats_failures(&node_of(0)->stats), 0);
	CHECK_EQ(nr_preempted(), 0);
	CHECK(strcmp(state(), "failed") != 0);
	world.nodes[0].error = 0;
	run(5 * MS);
	CHECK(preempted(low));
	world_end();
}


TEST(fatal_error, "a device that a fatal error has stopped is given up at the first request that it does not answer, and works after its reset")
{
	u32 requests;

	low_runs(true);
	world.adev.fatal = true;
	requests = world.nodes[0].nr_requests;
	submit(high, 300);
	run(100 * MS);
	CHECK_EQ(world.nodes[0].nr_requests, requests + 1);
	CHECK_STATE("failed");
	CHECK_EQ(failed(GPREEMPT_FAILURE_UNMAP_TIMEOUT), 1);
	CHECK_EQ(skipped(GPREEMPT_SKIP_RESETTING), 0);
	CHECK_EQ(nr_preempted(), 0);
	world.adev.fatal = false;
	reset_gpu();
	run(2 * MS);
	submit(low, 1);
	run(2 * MS);
	high_comes();
	CHECK(preempted(low));
	world_end();
}

TEST(unsettled_runlist, "while the driver changes the runlist a preemption is decided all the same, and carried out as soon as the driver lets go")
{
	low_runs(true);
	dqm_lock(&world.nodes[0].dqm);
	submit(high, 3);
	fsleep(5000);
	CHECK_EQ(atomic64_read(&node_of(0)->stats.inversions), 1);
	CHECK_EQ(preemptions(), 0);
	CHECK_EQ(skipped(GPREEMPT_SKIP_UNSETTLED), 0);
	fsleep(200000);
	dqm_unlock(&world.nodes[0].dqm);
	run(100 * US);
	CHECK_EQ(preemptions(), 1);
	world_end();
}

TEST(lone_processes_stay_out_of_the_runlist, "a process that was emptied by preemption is left out, one with a queue left is not")
{
	struct sim_queue *other;

	low_is_held(true);
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
	world_end();
}

TEST(the_packet_announces_who_is_in_the_list, "RUN_LIST announces the processes that are in the list, as many as there are VMIDs, and asking who is changes nothing")
{
	const struct sim_node *sn = &world.nodes[0];
	u32 built;

	low_runs(true);
	CHECK_EQ(sn->listed, 2);
	CHECK_EQ(sn->announced, 2);
	high_comes();
	CHECK(preempted(low));
	CHECK_EQ(sn->listed, 1);
	CHECK_EQ(sn->announced, 1);
	built = node_of(0)->runlists_built;
	CHECK_EQ(kfd_gpreempt_left_out(&world.nodes[0].dqm), 1);
	CHECK_EQ(kfd_gpreempt_left_out(&world.nodes[0].dqm), 1);
	CHECK_EQ(node_of(0)->runlists_built, built);
	/* One more than are run at a time. */
	world.nodes[0].node.max_proc_per_quantum = 1;
	add_queue(0);
	CHECK_EQ(sn->listed, 2);
	CHECK_EQ(sn->announced, 1);
	world_end();
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
	run(5 * MS);
	CHECK(!kfd_gpreempt_may_return(q));
	world_end();
}

TEST(leaving_queues_count_once, "a queue that the device still holds is active, and not counted as one that comes back")
{
	low_runs(false);
	low->stuck_ns = 300 * MS;
	high->kernel_ns = MS;
	submit(high, 100);
	run(150 * MS);
	CHECK(preempted(low) && low->q.properties.is_active);
	world.nodes[0].nr_queue_slots = 3;
	CHECK(!kfd_gpreempt_is_full(&world.nodes[0].dqm));
	low->stuck_ns = 0;
	world_end();
}

TEST(turns_are_known_from_the_runlist, "firmware takes turns while more is in the runlist than fits, which what is left out is not")
{
	struct gpreempt_node *gn;
	struct sim_queue *other;

	low_runs(true);
	gn = node_of(0);
	CHECK(!gn->turns);
	/* More processes than VMIDs; without the one that is preempted they fit. */
	world.nodes[0].node.max_proc_per_quantum = 1;
	update_queue(high, LOW);
	CHECK(gn->turns);
	run(5 * MS);
	CHECK(gn->policy.turns);
	update_queue(high, NORMAL);
	high_comes();
	CHECK(preempted(low) && !gn->turns && !gn->policy.turns);
	CHECK(run_until_idle(high, SEC));
	run(5 * MS);
	CHECK(!preempted(low) && gn->turns);
	/* More queues than slots. */
	world.nodes[0].node.max_proc_per_quantum = 8;
	world.nodes[0].nr_queue_slots = 2;
	other = add_queue_to(process_of(high), 0, NORMAL);
	CHECK(gn->turns);
	destroy_queue(other);
	CHECK(!gn->turns);
	/* Two queues with the one global wave sync. */
	give_gws(low, true);
	CHECK(!gn->turns);
	give_gws(high, true);
	CHECK(gn->turns);
	give_gws(high, false);
	CHECK(!gn->turns);
	/* One process at a time, as the administrator has it; the driver does not call that over-subscribed. */
	world.adev.enforce_isolation[0] = true;
	evict_queue(low, true);
	CHECK(gn->turns);
	kill_process(process_of(low));
	CHECK(!gn->turns);
	world_end();
}

/* What the driver does when it changes a queue: a runlist, or a load. */
static void driver_loads(struct sim_queue *sq)
{
	evict_queue(sq, true);
	evict_queue(sq, false);
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
	submit(equal, 3);
	run(20 * MS);
	for (i = 0; i < 3; i++) {
		driver_loads(streams[i]);
		CHECK_EQ(mqd_priority(streams[i]), asked[i]);
	}
	CHECK_EQ(node_of(0)->hw_priorities, 0);

	/* A rival makes all of them equal at once. */
	submit(rival, 1);
	for (i = 0; i < 3; i++)
		submit(streams[i], 1);
	run(2 * MS);
	for (i = 0; i < 3; i++)
		CHECK_EQ(mqd_priority(streams[i]), NORMAL);
	CHECK_EQ(node_of(0)->hw_priorities, 2);

	/* And when it has been silent for a second, each gets back what it had: by one runlist, and once for all. */
	CHECK(run_until_idle(rival, SEC) && run_until_idle(streams[0], SEC));
	run(500 * MS);
	CHECK_EQ(mqd_priority(streams[2]), NORMAL);
	runlists = world.nodes[0].runlists;
	run(600 * MS);
	for (i = 0; i < 3; i++)
		CHECK_EQ(mqd_priority(streams[i]), asked[i]);
	CHECK_EQ(world.nodes[0].runlists, runlists + hws);
	CHECK_EQ(node_of(0)->hw_priorities, 0);
	run(2 * SEC);
	CHECK_EQ(world.nodes[0].runlists, runlists + hws);
	world_end();
}

BOTH(nothing_is_sent_for_normal_priorities, "where all programs ask for the normal priority, nothing is done when rivals come and go")
{
	u64 runlists;

	low_is_held(hws);
	CHECK(node_of(0)->rivalry);
	CHECK(run_until_idle(high, SEC) && run_until_idle(low, 2 * SEC));
	runlists = world.nodes[0].runlists;
	world.nr_asked = 0;
	run(1200 * MS);
	CHECK(!node_of(0)->rivalry);
	CHECK_EQ(world.nodes[0].runlists, runlists);
	CHECK_EQ(world.nr_asked, 0);
	world_end();
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
	world_end();
}

TEST(hardware_priorities, "queues of rivals tell the hardware the normal priority, or all the logical one; switched off, their program's")
{
	world_on(true);
	low = add_queue_to(add_process(0), 0, LOW);
	high = add_queue_to(add_process(0), 0, HIGH);
	low->kernel_ns = high->kernel_ns = 200 * MS;
	submit(low, 1);
	submit(high, 1);
	run(10 * MS);
	CHECK(preempted(low));
	CHECK_EQ(mqd_priority(low), NORMAL);
	CHECK_EQ(mqd_priority(high), NORMAL);
	CHECK_EQ(((struct v9_mqd *)high->mqds)->cp_hqd_pipe_priority, 1);
	CHECK_EQ(node_of(0)->hw_priorities, 2);
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
	CHECK_EQ(node_of(0)->hw_priorities, 0);
	world_end();
}

TEST(hws_verify, "asked for, MQDs that somebody wrote to while their queue was preempted are told, and left alone")
{
	world_on(true);
	set("gpreempt_verify", "1");
	low = add_queue(10);
	high = add_queue(0);
	low->kernel_ns = 20 * MS;
	submit(low, 1);
	run(MS);
	high_comes();
	CHECK(preempted(low));
	CHECK(low->q.gpreempt->snapshot != NULL);
	low->mqds[PAGE_SIZE + CTL_STACK_BYTES - 1] ^= 1;
	CHECK(run_until_idle(low, SEC));
	CHECK_EQ(failed(GPREEMPT_FAILURE_VERIFY), 1);
	set("gpreempt_verify", "0");
	set("gpreempt_verify", "1");
	world_end();
}

/* ---- failures, without it ---- */

TEST(late_victim, "a victim that leaves late is shown as leaving, never loaded meanwhile, and continues later")
{
	low_runs(false);
	low->stuck_ns = 300 * MS;
	high->kernel_ns = MS;
	submit(high, 100);
	run(150 * MS);
	CHECK(preempted(low) && on_device(low) && low->q.gpreempt->leaving);
	CHECK(low->q.properties.is_active);
	CHECK(!strcmp(gpreempt_queue_state(low->q.gpreempt, 0), "leaving"));
	CHECK_EQ(failed(GPREEMPT_FAILURE_UNMAP_TIMEOUT), 1);
	low->stuck_ns = 0;
	run(400 * MS);
	CHECK(!low->q.gpreempt->leaving && !low->q.gpreempt->lost);
	CHECK(run_until_idle(low, SEC));
	CHECK_EQ(world.nr_reset_events, 0);
	world_end();
}

TEST(late_victim_is_destroyed, "a victim that is on its way off can be destroyed")
{
	low_runs(false);
	low->stuck_ns = U64_MAX;
	submit(high, 100);
	run(200 * MS);
	CHECK(low->q.gpreempt->leaving);
	destroy_queue(low);
	CHECK(run_until_idle(high, SEC));
	world_end();
}

TEST(stuck_victim_is_lost, "a victim that does not leave for 4 s loses its waves; its process is told, nobody else")
{
	low_runs(false);
	low->stuck_ns = U64_MAX;
	submit(high, 10);
	run(3900 * MS);
	CHECK(low->q.gpreempt->leaving && !low->q.gpreempt->lost);
	run(400 * MS);
	CHECK(low->q.gpreempt->lost && !on_device(low));
	CHECK(!strcmp(gpreempt_queue_state(low->q.gpreempt, 0), "lost"));
	CHECK_EQ(world.nr_reset_events, 1);
	CHECK_EQ(world.nr_gpu_resets, 0);
	CHECK_EQ(failed(GPREEMPT_FAILURE_VICTIM_RESET), 1);
	CHECK(idle(high));
	run(100 * MS);
	CHECK(preempted(low) && !on_device(low));
	CHECK_EQ(low->q.gpreempt->policy.preempted, false);
	world_end();
}

TEST(immortal_victim, "if not even that helps, the GPU is reset, and the node given up until then")
{
	low_runs(false);
	low->stuck_ns = U64_MAX;
	low->immortal = true;
	submit(high, 10);
	run(4500 * MS);
	CHECK_EQ(world.nr_gpu_resets, 1);
	CHECK_STATE("failed");
	CHECK(low->q.gpreempt->killed);
	run(500 * MS);
	CHECK_EQ(world.nr_gpu_resets, 1);
	low->immortal = false;
	low->stuck_ns = 0;
	reset_gpu();
	CHECK_STATE("idle");
	world_end();
}

TEST(killed_victim_leaves_late, "a victim whose waves were reset and that leaves only later is lost all the same")
{
	low_runs(false);
	low->stuck_ns = U64_MAX;
	low->immortal = true;
	submit(high, 10);
	run(4500 * MS);
	CHECK(low->q.gpreempt->killed && !low->q.gpreempt->lost);
	set("gpreempt_enable", "1");
	low->reset = true;
	low->left_ns = 0;
	low->stays_until_ns = 1;
	run(10 * MS);
	CHECK(low->q.gpreempt->lost);
	low->immortal = false;
	submit(high, 1);
	run(300 * MS);
	CHECK(!on_device(low));
	world_end();
}

TEST(late_to_leave_for_its_priority, "a queue that gets its program's priority back when switched off, and leaves late for that, is not left behind")
{
	world_on(false);
	set("gpreempt_hw_priority", "follow");
	low = add_queue(3);
	high = add_queue(0);
	run(20 * MS);
	CHECK_EQ(mqd_priority(low), NORMAL - 3);
	low->stuck_ns = 250 * MS;
	set("gpreempt_enable", "0");
	CHECK(!preempted(low) && on_device(low));
	CHECK_EQ(mqd_priority(low), NORMAL);
	low->stuck_ns = 0;
	world_end();
}

TEST(load_fails, "a queue that could be loaded on one XCC only is taken off it again, and loaded later")
{
	world_make(false, 2, 1);
	set("gpreempt_enable", "1");
	low = add_queue(10);
	high = add_queue(0);
	world.nodes[0].nr_wave_slots = 1;
	low->kernel_ns = 50 * MS;
	submit(low, 1);
	run(2 * MS);
	high_comes();
	CHECK(preempted(low));
	world.nodes[0].nr_load_fails = 2;
	CHECK(run_until_idle(high, SEC));
	run(20 * MS);
	CHECK_EQ(failed(GPREEMPT_FAILURE_MAP), 2);
	CHECK(!preempted(low));
	CHECK(run_until_idle(low, SEC));
	CHECK_EQ(resumes(), 1);
	world_end();
}

TEST(load_fails_and_stays, "if it does not leave that XCC either, it is leaving like any other")
{
	world_make(false, 2, 1);
	set("gpreempt_enable", "1");
	low = add_queue(10);
	high = add_queue(0);
	low->kernel_ns = 50 * MS;
	submit(low, 1);
	run(2 * MS);
	high_comes();
	CHECK(preempted(low));
	world.nodes[0].nr_load_fails = 1;
	low->stuck_ns = 250 * MS;
	run(250 * MS);
	CHECK(low->q.gpreempt->leaving);
	low->stuck_ns = 0;
	CHECK(run_until_idle(low, SEC));
	world_end();
}

TEST(load_fails_for_good, "after three failures the node gives up, and resumes what it can")
{
	low_is_held(false);
	world.nodes[0].nr_load_fails = 8;
	run(400 * MS);
	CHECK_STATE("failed");
	CHECK_EQ(failed(GPREEMPT_FAILURE_MAP), 8);
	CHECK(!preempted(low));
	world_end();
}

TEST(a_reset_begins_while_unloading, "a slot that refuses because of a reset keeps its queue, and nothing is counted as failed")
{
	low_runs(false);
	world.nodes[0].nr_refusals = 1;
	submit(high, 300);
	run(10 * MS);
	CHECK_EQ(skipped(GPREEMPT_SKIP_RESETTING), 1);
	CHECK_EQ(gpreempt_stats_failures(&node_of(0)->stats), 0);
	CHECK(preempted(low));
	world_end();
}

BOTH(registers_during_a_reset, "while the GPU is being reset neither registers nor slots are touched")
{
	low_runs(hws);
	world.reset_domain.sem.writer = true;
	world.nodes[0].error = -EIO;
	submit(high, 300);
	run(10 * MS);
	CHECK(skipped(GPREEMPT_SKIP_RESETTING) > 0);
	CHECK_EQ(nr_preempted(), 0);
	world.reset_domain.sem.writer = false;
	world.nodes[0].error = 0;
	run(10 * MS);
	CHECK(preempted(low));
	world_end();
}

TEST(mqd_verify, "asked for, MQDs that somebody wrote to while their queue was preempted are told, and left alone (mqd)")
{
	struct v9_mqd *mqd;

	low_runs(false);
	set("gpreempt_verify", "1");
	high_comes();
	CHECK(preempted(low));
	mqd = (void *)low->mqds;
	mqd->cp_hqd_pq_doorbell_control ^= 1;
	CHECK(run_until_idle(low, SEC));
	CHECK_EQ(failed(GPREEMPT_FAILURE_VERIFY), 1);
	CHECK_EQ(mqd->cp_hqd_pq_doorbell_control, (low->q.properties.doorbell_off | 1U << 31) ^ 1);
	/* Not asked for, nothing is copied or compared. */
	set("gpreempt_verify", "0");
	submit(low, 1);
	run(MS);
	high_comes();
	CHECK(preempted(low));
	CHECK(!gpreempt_snapshot_mqds(low->q.gpreempt));
	mqd->cp_hqd_pq_doorbell_control ^= 1;
	CHECK(run_until_idle(low, SEC));
	CHECK_EQ(failed(GPREEMPT_FAILURE_VERIFY), 1);
	world_end();
}

TEST(mqd_verify_second_xcc, "the control stack of another XCC counts as well, what is unused of it does not")
{
	u8 *second;

	world_make(false, 2, 1);
	set("gpreempt_verify", "1");
	set("gpreempt_enable", "1");
	low = add_queue(10);
	high = add_queue(0);
	low->kernel_ns = 20 * MS;
	low->done = low->submitted = low->pointers[0] = low->pointers[1] = 1;
	submit(low, 1);
	run(MS);
	high_comes();
	CHECK(preempted(low));
	second = low->mqds + PAGE_SIZE + CTL_STACK_BYTES + PAGE_SIZE;
	second[10] ^= 1;
	CHECK(gpreempt_snapshot_matches(low->q.gpreempt));
	second[CTL_STACK_BYTES - 1] ^= 1;
	CHECK(!gpreempt_snapshot_matches(low->q.gpreempt));
	CHECK(run_until_idle(low, SEC));
	CHECK_EQ(failed(GPREEMPT_FAILURE_VERIFY), 1);
	world_end();
}

TEST(snapshots_follow_updates, "what the driver changes in the MQDs of a preempted queue is no change by somebody else")
{
	low_runs(false);
	set("gpreempt_verify", "1");
	high_comes();
	CHECK(preempted(low));
	update_queue(low, LOW);
	CHECK(run_until_idle(low, SEC));
	CHECK_EQ(failed(GPREEMPT_FAILURE_VERIFY), 0);
	world_end();
}

TEST(snapshots_need_a_layout_that_is_known, "where MQDs and control stacks do not lie as they are known to there is no snapshot")
{
	struct mqd_manager *mm;

	world_make(false, 1, 1);
	mm = &world.nodes[0].mm;
	mm->mqd_size = PAGE_SIZE + CTL_STACK_BYTES + 1;
	set("gpreempt_verify", "1");
	set("gpreempt_enable", "1");
	low = add_queue(10);
	high = add_queue(0);
	CHECK(!low->q.gpreempt->snapshot);
	mm->mqd_size = sizeof(struct v9_mqd);
	world_end();
}

/* ---- what is not supported ---- */

static void mes(void) { world.kfd.shared_resources.enable_mes = true; }
static void no_cwsr(void) { world.kfd.cwsr_enabled = false; }
static void old(void) { world.adev.gc_version = IP_VERSION(8, 0, 0); }
static void new(void) { world.adev.gc_version = IP_VERSION(10, 0, 0); }
static void virtual_function(void) { world.adev.virtual_function = true; }

TEST(unsupported_devices, "what cannot be scheduled says why, and is left alone")
{
	static void (*const changes[])(void) = { mes, no_cwsr, old, new, virtual_function };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(changes); i++) {
		snprintf(tap_case, sizeof(tap_case), "case %u: ", i);
		world_make(false, 1, 1);
		kfd_gpreempt_node_fini(&world.nodes[0].node);
		CHECK(!node_of(0));
		changes[i]();
		kfd_gpreempt_node_init(&world.nodes[0].node);
		CHECK(!node_of(0)->backend);
		CHECK(strlen(node_of(0)->reason) > 10);
		CHECK_STATE("unsupported");
		set("gpreempt_enable", "1");
		CHECK(strstr(shim_log, node_of(0)->reason) != NULL);
		CHECK_EQ(gpreempt_core_enable_node(node_of(0), true), -EOPNOTSUPP);
		CHECK_STATE("unsupported");
		CHECK(!gpreempt_core_enabled(0));
		set("gpreempt_enable", "0");
		world_down();
		shim_log[0] = 0;
	}
	world_make(false, 1, 1);
	CHECK(!strcmp(node_of(0)->backend->name, "mqd"));
	world_down();
	world_make(true, 1, 1);
	CHECK(!strcmp(node_of(0)->backend->name, "hws"));
	world_down();
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

		snprintf(tap_case, sizeof(tap_case), "allocation %d: ", n);
		shim_fail_alloc = n;
		sq = add_queue_to(process, 0, NORMAL);
		submit(sq, 5);
		run(5 * MS);
		shim_fail_alloc = n;
		set("gpreempt_enable", "0");
		set("gpreempt_enable", "1");
		run(30 * MS);
		shim_fail_alloc = 0;
		CHECK(run_until_idle(sq, SEC));
		set("gpreempt_enable", "0");
		set("gpreempt_enable", "1");
		run(30 * MS);
		CHECK(sq->q.gpreempt != NULL);
		kill_process(process);
	}
	world_end();
}

TEST(a_node_without_memory, "a node for which there is no memory is not there")
{
	int n;

	/* The first one is for all nodes: doorbells cannot be withdrawn. */
	for (n = 2; n < 4; n++) {
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
	run(50 * MS);
	CHECK(node_of(0)->max_sampled >= 30);
	CHECK_EQ(node_of(0)->nr_sampled, 30);
	world_end();
}

TEST(sdma_queues_are_not_ours, "only compute queues are registered, and once")
{
	world_on(true);
	low = add_queue(0);
	low->q.properties.type = KFD_QUEUE_TYPE_SDMA;
	set("gpreempt_enable", "0");
	set("gpreempt_enable", "1");
	run(20 * MS);
	CHECK(!low->q.gpreempt);
	low->q.properties.type = KFD_QUEUE_TYPE_COMPUTE;
	CHECK(gpreempt_queue_adopt(node_of(0)));
	CHECK(low->q.gpreempt != NULL);
	CHECK(gpreempt_queue_adopt(node_of(0)));
	CHECK_EQ(node_of(0)->nr_queues, 1);
	world_end();
}

TEST(dead_processes_are_not_sampled, "a process that was taken off the device is not looked at any more")
{
	low_is_held(true);
	WRITE_ONCE(process_of(high)->p.pdds[0].already_dequeued, true);
	run(10 * MS);
	CHECK_EQ(node_of(0)->nr_sampled, 1);
	CHECK(!preempted(low));
	WRITE_ONCE(process_of(high)->p.pdds[0].already_dequeued, false);
	world_end();
}
