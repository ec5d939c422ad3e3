// SPDX-License-Identifier: MIT
/*
 * slots_test.c - the backend without the hardware scheduler: slots that are left late or not at all, loads that fail
 */
#include "rivals.h"

/* ---- failures ---- */

TEST(late_victim, "a victim that leaves late is shown as leaving, never loaded meanwhile, and continues later")
{
	low_runs(false);
	low->stuck_ns = 300 * MS;
	run_kernels(high, 100, MS, 150 * MS);
	CHECK(preempted(low) && on_device(low) && low->q.gpreempt->hw.leaving);
	CHECK(low->q.properties.is_active);
	CHECK(!strcmp(gpreempt_queue_sysfs_state(low->q.gpreempt, 0), "leaving"));
	CHECK_EQ(failed(GPREEMPT_FAILURE_UNMAP_TIMEOUT), 1);
	low->stuck_ns = 0;
	CHECK_AFTER(400 * MS, !low->q.gpreempt->hw.leaving && !low->q.gpreempt->hw.lost);
	CHECK(run_until_idle(low, SEC));
	CHECK_EQ(world.nr_reset_events, 0);
}

TEST(late_victim_is_destroyed, "a victim that is on its way off can be destroyed")
{
	low_never_leaves();
	submit_and_run(high, 100, 200 * MS);
	CHECK(low->q.gpreempt->hw.leaving);
	destroy_queue(low);
	CHECK(run_until_idle(high, SEC));
}

TEST(stuck_victim_is_lost, "a victim that does not leave for 4 s loses its waves; its process is told, nobody else")
{
	low_never_leaves();
	submit_and_run(high, 10, 3900 * MS);
	CHECK(low->q.gpreempt->hw.leaving && !low->q.gpreempt->hw.lost);
	CHECK_AFTER(400 * MS, low->q.gpreempt->hw.lost && !on_device(low));
	CHECK(!strcmp(gpreempt_queue_sysfs_state(low->q.gpreempt, 0), "lost"));
	CHECK_EQ(world.nr_reset_events, 1);
	CHECK_EQ(world.nr_gpu_resets, 0);
	CHECK_EQ(failed(GPREEMPT_FAILURE_VICTIM_RESET), 1);
	CHECK(idle(high));
	CHECK_AFTER(100 * MS, preempted(low) && !on_device(low));
	CHECK_EQ(low->q.gpreempt->policy.preempted, false);
}

TEST(immortal_victim, "if not even that helps, the GPU is reset, and the node given up until then")
{
	low_never_leaves();
	low->immortal = true;
	submit_and_run(high, 10, 4500 * MS);
	CHECK_EQ(world.nr_gpu_resets, 1);
	CHECK_STATE("failed");
	CHECK(low->q.gpreempt->hw.killed);
	CHECK_EQ_AFTER(500 * MS, world.nr_gpu_resets, 1);
	low->immortal = false;
	low->stuck_ns = 0;
	reset_gpu();
	CHECK_STATE("idle");
}

TEST(killed_victim_leaves_late, "a victim whose waves were reset and that leaves only later is lost all the same")
{
	low_never_leaves();
	low->immortal = true;
	submit_and_run(high, 10, 4500 * MS);
	CHECK(low->q.gpreempt->hw.killed && !low->q.gpreempt->hw.lost);
	set("gpreempt_enable", "1");
	low->reset = true;
	low->left_ns = 0;
	low->stays_until_ns = 1;
	CHECK_AFTER(10 * MS, low->q.gpreempt->hw.lost);
	low->immortal = false;
	submit_and_run(high, 1, 300 * MS);
	CHECK(!on_device(low));
}

TEST(late_to_leave_for_its_priority, "a queue that gets its program's priority back when switched off, and leaves late for that, is not left behind")
{
	world_on(false);
	set("gpreempt_hw_priority", "follow");
	add_rivals(3, 0);
	CHECK_EQ_AFTER(20 * MS, mqd_priority(low), NORMAL - 3);
	low->stuck_ns = 250 * MS;
	set("gpreempt_enable", "0");
	CHECK(!preempted(low) && on_device(low));
	CHECK_EQ(mqd_priority(low), NORMAL);
	low->stuck_ns = 0;
}

TEST(load_fails, "a queue that could be loaded on one XCC only is taken off it again, and loaded later")
{
	world_on_xccs(false, 2);
	add_rivals(10, 0);
	world.nodes[0].nr_wave_slots = 1;
	set("gpreempt_max_hold_ms", "0");
	run_kernels(low, 1, 50 * MS, 2 * MS);
	high_preempts_low();
	world.nodes[0].nr_load_fails = 2;
	CHECK(run_until_idle(high, SEC));
	CHECK_EQ_AFTER(20 * MS, failed(GPREEMPT_FAILURE_MAP), 2);
	CHECK(!preempted(low));
	CHECK(run_until_idle(low, SEC));
	CHECK_EQ(resumes(), 1);
}

TEST(load_fails_and_stays, "if it does not leave that XCC either, it is leaving like any other")
{
	world_on_xccs(false, 2);
	add_rivals(10, 0);
	run_kernels(low, 1, 50 * MS, 2 * MS);
	high_preempts_low();
	world.nodes[0].nr_load_fails = 1;
	low->stuck_ns = 250 * MS;
	CHECK_AFTER(250 * MS, low->q.gpreempt->hw.leaving);
	low->stuck_ns = 0;
	CHECK(run_until_idle(low, SEC));
}

TEST(load_fails_for_good, "after three failures the node gives up, and resumes what it can")
{
	low_is_preempted(false);
	world.nodes[0].nr_load_fails = 8;
	CHECK_AFTER(400 * MS, state_is("failed"));
	CHECK_EQ(failed(GPREEMPT_FAILURE_MAP), 8);
	CHECK(!preempted(low));
}

TEST(a_reset_begins_while_unloading, "a slot that refuses because of a reset keeps its queue, and nothing is counted as failed")
{
	low_runs(false);
	world.nodes[0].nr_refusals = 1;
	submit_and_run(high, 300, 10 * MS);
	CHECK_EQ(skipped(GPREEMPT_SKIP_RESETTING), 1);
	CHECK_EQ(gpreempt_stats_failures(&node_of(0)->stats), 0);
	CHECK(preempted(low));
}

BOTH(registers_during_a_reset, "while the GPU is being reset neither registers nor slots are touched")
{
	low_runs(hws);
	world.reset_domain.sem.writer = true;
	world.nodes[0].error = -EIO;
	submit_and_run(high, 300, 10 * MS);
	CHECK(skipped(GPREEMPT_SKIP_RESETTING) > 0);
	CHECK_EQ(nr_preempted(), 0);
	world.reset_domain.sem.writer = false;
	world.nodes[0].error = 0;
	CHECK_AFTER(10 * MS, preempted(low));
}

TEST(mqd_verify, "asked for, MQDs that somebody wrote to while their queue was preempted are told, and left alone (mqd)")
{
	struct v9_mqd *mqd;

	low_runs(false);
	set("gpreempt_verify", "1");
	high_preempts_low();
	mqd = (void *)low->mqds;
	mqd->cp_hqd_pq_doorbell_control ^= 1;
	CHECK(run_until_idle(low, SEC));
	CHECK_EQ(failed(GPREEMPT_FAILURE_VERIFY), 1);
	CHECK_EQ(mqd->cp_hqd_pq_doorbell_control, (low->q.properties.doorbell_off | 1U << 31) ^ 1);
	/* Not asked for, nothing is copied or compared. */
	set("gpreempt_verify", "0");
	submit_and_run(low, 1, MS);
	high_preempts_low();
	CHECK(!gpreempt_mqd_snapshot_mqds(low->q.gpreempt));
	mqd->cp_hqd_pq_doorbell_control ^= 1;
	CHECK(run_until_idle(low, SEC));
	CHECK_EQ(failed(GPREEMPT_FAILURE_VERIFY), 1);
}

TEST(mqd_verify_second_xcc, "the control stack of another XCC counts as well, what is unused of it does not")
{
	u8 *second;

	world_make(false, 2, 1);
	set("gpreempt_verify", "1");
	set("gpreempt_enable", "1");
	add_rivals(10, 0);
	low->kernel_ns = 20 * MS;
	low->done = low->submitted = low->pointers[0] = low->pointers[1] = 1;
	submit_and_run(low, 1, MS);
	high_preempts_low();
	second = low->mqds + PAGE_SIZE + CTL_STACK_BYTES + PAGE_SIZE;
	second[10] ^= 1;
	CHECK(gpreempt_mqd_snapshot_matches(low->q.gpreempt));
	second[CTL_STACK_BYTES - 1] ^= 1;
	CHECK(!gpreempt_mqd_snapshot_matches(low->q.gpreempt));
	CHECK(run_until_idle(low, SEC));
	CHECK_EQ(failed(GPREEMPT_FAILURE_VERIFY), 1);
}

TEST(snapshots_follow_updates, "what the driver changes in the MQDs of a preempted queue is no change by somebody else")
{
	low_runs(false);
	set("gpreempt_verify", "1");
	high_preempts_low();
	update_queue(low, LOW);
	CHECK(run_until_idle(low, SEC));
	CHECK_EQ(failed(GPREEMPT_FAILURE_VERIFY), 0);
}

TEST(snapshots_need_a_layout_that_is_known, "where MQDs and control stacks do not lie as they are known to there is no snapshot")
{
	struct mqd_manager *mm;

	world_make(false, 1, 1);
	mm = &world.nodes[0].mm;
	mm->mqd_size = PAGE_SIZE + CTL_STACK_BYTES + 1;
	set("gpreempt_verify", "1");
	set("gpreempt_enable", "1");
	add_rivals(10, 0);
	CHECK(!low->q.gpreempt->mqd.snapshot);
	mm->mqd_size = sizeof(struct v9_mqd);
}

/* ---- single steps ---- */

static void is_idle(struct gpreempt_policy_queue *q) { q->seen.used = true; q->seen.waves = 0; q->seen.waves_ns = 1; }
static void is_new(struct gpreempt_policy_queue *q) { q->seen.used = false; q->seen.waves = 0; q->seen.waves_ns = 0; }
static void has_packets(struct gpreempt_policy_queue *q) { is_idle(q); q->seen.pending = 1; }
static void has_waves(struct gpreempt_policy_queue *q) { is_idle(q); q->seen.waves = 1; }
static void may_have_waves(struct gpreempt_policy_queue *q) { is_idle(q); q->seen.waves_ns = 0; }

TEST(who_works_leaves_first, "victims that keep the device from others are asked before those that only go along")
{
	static void (*const idlers[])(struct gpreempt_policy_queue *q) = { is_idle, is_new };
	static void (*const workers[])(struct gpreempt_policy_queue *q) = { has_packets, has_waves, may_have_waves };
	struct sim_queue *idler, *worker;
	u32 i;

	world_on(false);
	for (i = 0; i < ARRAY_SIZE(idlers); i++) {
		EACH(k, ARRAY_SIZE(workers), "idler %u, worker %u: ", i, k) {
			idler = add_queue(0);
			worker = add_queue(0);
			run(MS);
			low = worker;
			mutex_lock(&node_of(0)->pass_lock);
			idlers[i](&idler->q.gpreempt->policy);
			workers[k](&worker->q.gpreempt->policy);
			idler->q.gpreempt->policy.action = GPREEMPT_PREEMPT;
			mutex_unlock(&node_of(0)->pass_lock);
			apply(GPREEMPT_PREEMPT);
			CHECK(preempted(idler) && preempted(worker));
			CHECK(worker->asked < idler->asked);
			kill_process(process_of(idler));
			kill_process(process_of(worker));
		}
	}
}

TEST(idle_queues_go_along, "without the hardware scheduler as well, what is lower and idle leaves with what is not")
{
	struct sim_queue *quiet;

	low_runs(false);
	quiet = add_queue(10);
	run(2 * MS);
	high_comes();
	CHECK(preempted(low) && preempted(quiet));
}

TEST(a_refused_victim_is_not_asked_again, "a slot that refuses ends what was decided of its queue; the next decision is another one")
{
	low_runs(false);
	world.nodes[0].nr_refusals = 1;
	/* Failures are those of tasks of the scheduler. */
	current->fn = gpreempt_monitor;
	apply(GPREEMPT_PREEMPT);
	current->fn = NULL;
	CHECK(!preempted(low));
	CHECK_EQ(low->q.gpreempt->policy.action, GPREEMPT_KEEP);
	CHECK_EQ(skipped(GPREEMPT_SKIP_RESETTING), 1);
}

TEST(a_late_victim_is_an_error, "a slot that is not left in time is an error of the pass, which has to be looked after again")
{
	struct gpreempt_outcome outcome;

	low_runs(false);
	low->stuck_ns = 150 * MS;
	outcome = apply(GPREEMPT_PREEMPT);
	CHECK_EQ(outcome.error, -ETIME);
	CHECK(outcome.again && !outcome.stop && outcome.preempted);
	CHECK_EQ(low->asked_ms, 100);
	run(100 * MS);
	low->stuck_ns = 0;
}

TEST(late_victims_are_verified, "what a late victim saved is known from when it has left; without waves nothing is said to be saved")
{
	struct sim_queue *quiet;

	low_runs(false);
	set("gpreempt_max_hold_ms", "0");
	set("gpreempt_verify", "1");
	quiet = add_queue(10);
	run(2 * MS);
	quiet->stuck_ns = low->stuck_ns = 260 * MS;
	run_kernels(high, 900, MS, 230 * MS);
	CHECK(low->q.gpreempt->hw.leaving && low->q.gpreempt->policy.saved_waves);
	CHECK_AFTER(300 * MS, !low->q.gpreempt->hw.leaving && !quiet->q.gpreempt->hw.leaving);
	CHECK(preempted(low) && preempted(quiet));
	CHECK(low->q.gpreempt->policy.saved_waves);
	CHECK(!quiet->q.gpreempt->policy.saved_waves);
	CHECK(gpreempt_mqd_snapshot_mqds(low->q.gpreempt) != NULL);
	mqd_on(low, 0)->cp_hqd_pq_doorbell_control ^= 1;
	low->stuck_ns = quiet->stuck_ns = 0;
	CHECK(run_until_idle(low, 2 * SEC));
	CHECK_EQ(failed(GPREEMPT_FAILURE_VERIFY), 1);
}

TEST(steps_to_the_end_of_a_victim, "its own waves are reset first, then those of its process, and the GPU only if both do not help")
{
	/* One that its own reset helps, one that its process's helps. */
	low_never_leaves();
	submit_and_run(high, 10, 4300 * MS);
	CHECK(low->q.gpreempt->hw.lost);
	CHECK_EQ(low->asked_ms, 100);
	CHECK_EQ(world.nr_queue_resets, 1);
	CHECK_EQ(world.nr_process_resets, 0);
	CHECK(!gpreempt_mqd_snapshot_mqds(low->q.gpreempt));
	world_end();

	low_never_leaves();
	low->stubborn = true;
	submit_and_run(high, 10, 4500 * MS);
	CHECK(low->q.gpreempt->hw.lost);
	CHECK_EQ(world.nr_queue_resets, 2);
	CHECK_EQ(world.nr_process_resets, 1);
	CHECK_EQ(low->asked_ms, 100);
	CHECK_EQ(world.nr_gpu_resets, 0);
}

TEST(lost_queues_stay_lost, "a queue whose waves were reset is neither decided about nor loaded, also after switching off and on")
{
	low_never_leaves();
	submit_and_run(high, 10, 4300 * MS);
	CHECK(low->q.gpreempt->hw.lost);
	CHECK(low->q.gpreempt->policy.set.immovable);
	switch_off_and_on();
	CHECK_AFTER(20 * MS, low->q.gpreempt->hw.lost);
	CHECK(!strcmp(gpreempt_queue_sysfs_state(low->q.gpreempt, 0), "lost"));
	CHECK(!on_device(low));
}

/* And the device was suspended before it was reset for that. */
static void low_was_killed_once(u32 nr_xcc)
{
	world_on_xccs(false, nr_xcc);
	/* What it is owed meanwhile is no matter here. */
	set("gpreempt_max_hold_ms", "0");
	add_rivals(10, 0);
	low->kernel_ns = 50 * MS;
	world.nodes[0].nr_wave_slots = 1;
	submit_and_run(low, 1, 2 * MS);
	low->stuck_ns = U64_MAX;
	low->immortal = true;
	submit_and_run(high, 10, 4700 * MS);
	CHECK(low->q.gpreempt->hw.killed);
	low->immortal = false;
	low->stuck_ns = 0;
	suspend();
	resume();
	run(2 * MS);
	low->kernel_ns = high->kernel_ns = 50 * MS;
	submit_and_run(low, 3, 2 * MS);
}

TEST(what_was_killed_begins_anew, "after a suspend a queue that leaves late is waited for like any other, though its waves had been reset")
{
	low_was_killed_once(1);
	low->stuck_ns = 150 * MS;
	submit_and_run(high, 10, 120 * MS);
	CHECK(low->q.gpreempt->hw.leaving && !low->q.gpreempt->hw.killed);
	CHECK_AFTER(200 * MS, !low->q.gpreempt->hw.leaving && !low->q.gpreempt->hw.lost);
	low->stuck_ns = 0;
}

TEST(what_was_killed_is_loaded_anew, "and so is one that could not be loaded on all XCCs and does not leave at once")
{
	low_was_killed_once(2);
	submit_and_run(high, 1, 10 * MS);
	CHECK(preempted(low) && !low->q.gpreempt->hw.leaving);
	world.nodes[0].nr_load_fails = 1;
	low->stuck_ns = 250 * MS;
	CHECK_AFTER(200 * MS, low->q.gpreempt->hw.leaving);
	low->stuck_ns = 0;
	CHECK_AFTER(200 * MS, !low->q.gpreempt->hw.lost);
}

/* What UPDATE_QUEUE changes before it takes dqm_lock, and @loadable: under that as well. */
static void move_ring(struct sim_queue *sq, bool loadable)
{
	struct mqd_manager *mm = &world.nodes[0].mm;
	struct queue_properties properties;

	sq->q.properties.queue_address += 0x1000000;
	properties = sq->q.properties;
	if (loadable)
		mm->update_mqd(mm, sq->q.mqd, &properties, NULL);
}

TEST(a_ring_that_moved, "whether a queue that could not be loaded has left is seen by the ring that it was loaded with")
{
	low_runs_on(false, 0);
	set("gpreempt_max_hold_ms", "0");
	high_preempts_low();
	move_ring(low, true);
	world.nodes[0].nr_load_fails = 1;
	low->stuck_ns = 250 * MS;
	CHECK(run_until_idle(high, SEC));
	CHECK_AFTER(130 * MS, low->q.gpreempt->hw.leaving && on_device(low));
	CHECK_AFTER(60 * MS, low->q.gpreempt->hw.leaving);
	low->stuck_ns = 0;
}

TEST(a_ring_that_is_about_to_move, "a queue that does not leave has not left because UPDATE_QUEUE waits with another ring for the lock")
{
	low_runs_on(false, 0);
	low->stuck_ns = 400 * MS;
	move_ring(low, false);
	submit(high, 1);
	/* Each of two XCCs was waited for, for 100 ms. */
	CHECK_AFTER(230 * MS, low->q.gpreempt->hw.leaving && on_device(low));
	CHECK_AFTER(60 * MS, low->q.gpreempt->hw.leaving && on_device(low));
	low->stuck_ns = 0;
}

TEST(failed_loads_are_verified, "a queue that could not be loaded is saved anew, and what is written to it then is noticed")
{
	low_runs_on(false, 0);
	set("gpreempt_verify", "1");
	high_preempts_low();
	world.nodes[0].nr_load_fails = 1;
	current->fn = gpreempt_monitor;
	apply(GPREEMPT_RESUME);
	current->fn = NULL;
	CHECK(preempted(low) && !on_device(low));
	CHECK(!low->q.properties.is_active);
	mqd_on(low, 0)->cp_hqd_pq_doorbell_control ^= 1;
	CHECK(run_until_idle(low, SEC));
	CHECK_EQ(failed(GPREEMPT_FAILURE_VERIFY), 1);
}

TEST(late_victims_and_a_suspend, "before a suspend a queue that is leaving is the driver's again, as any other")
{
	low_never_leaves();
	submit_and_run(high, 10, 200 * MS);
	CHECK(low->q.gpreempt->hw.leaving);
	suspend();
	CHECK(!preempted(low) && !low->q.gpreempt->hw.leaving);
	low->stuck_ns = 0;
	resume();
}

TEST(a_reset_keeps_the_backend_off, "while the GPU is reset nothing is done without the hardware scheduler, and it is tried again")
{
	struct gpreempt_outcome outcome;

	low_runs(false);
	world.reset_domain.sem.writer = true;
	outcome = apply(GPREEMPT_PREEMPT);
	CHECK(outcome.again && !outcome.error && !outcome.elapsed_ns);
	CHECK_EQ(skipped(GPREEMPT_SKIP_RESETTING), 1);
	CHECK(!preempted(low));
	world.reset_domain.sem.writer = false;
}

TEST(slot_passes_are_counted, "a pass over slots that takes somebody off counts as long as that took; one that gives back is one as well")
{
	u64 before;

	low_runs(false);
	before = atomic64_read(&stats()->runlists);
	apply(GPREEMPT_PREEMPT);
	CHECK_EQ(atomic64_read(&stats()->runlists), before + 1);
	CHECK(atomic64_read(&stats()->preempt_ns_last) >= 5 * US && atomic64_read(&stats()->preempt_ns_last) < MS);
	CHECK_EQ(atomic64_read(&stats()->preempt_ns_max), atomic64_read(&stats()->preempt_ns_last));
	atomic64_set(&stats()->preempt_ns_last, 0);
	apply(GPREEMPT_RESUME);
	CHECK_EQ(atomic64_read(&stats()->runlists), before + 2);
	CHECK_EQ(atomic64_read(&stats()->preempt_ns_last), 0);
	apply(GPREEMPT_RESUME);
	CHECK_EQ(atomic64_read(&stats()->runlists), before + 2);
}
