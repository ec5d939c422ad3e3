// SPDX-License-Identifier: MIT
/*
 * steps.c - what single steps of the core leave behind: flags, counters, MQDs, order; where a story would not notice
 */
#include "stories.h"

static struct v9_mqd *mqd_on(struct sim_queue *sq, u32 xcc)
{
	return (void *)(sq->mqds + (PAGE_SIZE + CTL_STACK_BYTES) * xcc);
}

/* A device with two XCCs, one slot for waves, and a low queue whose kernel is on the XCC of that number. */
static void low_runs_on(bool hws, u32 xcc)
{
	world_make(hws, 2, 1);
	set("gpreempt_enable", "1");
	low = add_queue(10);
	high = add_queue(0);
	low->kernel_ns = 50 * MS;
	world.nodes[0].nr_wave_slots = 1;
	low->done = low->submitted = low->pointers[0] = low->pointers[1] = xcc;
	submit(low, 1);
	run(2 * MS);
	CHECK(low->in_slot);
}

/* ---- preempting ---- */

BOTH(saved_waves_are_told, "that a queue was stopped in the middle of a kernel is seen on whichever XCC it is, and not of one that had none")
{
	struct sim_queue *quiet;
	u32 xcc;

	for (xcc = 0; xcc < 2; xcc++) {
		snprintf(tap_case, sizeof(tap_case), "XCC %u: ", xcc);
		low_runs_on(hws, xcc);
		quiet = add_queue(10);
		run(2 * MS);
		high_comes();
		CHECK(preempted(low) && preempted(quiet));
		CHECK(low->q.gpreempt->policy.saved_waves);
		CHECK(!quiet->q.gpreempt->policy.saved_waves);
		world_end();
	}
}

BOTH(each_pass_counts_one_runlist, "what the driver sends by itself is counted once, and is what makes the policy doubt what it saw of waves")
{
	u32 before;

	low_runs(hws);
	set("gpreempt_hw_priority", "follow");
	run(10 * MS);
	before = node_of(0)->runlists_built;
	update_queue(high, LOW);
	CHECK_EQ(node_of(0)->runlists_built, before + 1);
	/* What high asks for now counts from the next pass. */
	CHECK_EQ(node_of(0)->hw_priorities, 2);
	update_queue(high, NORMAL);
	CHECK_EQ(node_of(0)->runlists_built, before + 2);
	world_end();
}

BOTH(snapshots_end_with_the_hold, "a queue that runs has no snapshot; one that is preempted has what was saved")
{
	low_runs(hws);
	set("gpreempt_verify", "1");
	CHECK(!gpreempt_snapshot_mqds(low->q.gpreempt));
	high_comes();
	CHECK(gpreempt_snapshot_mqds(low->q.gpreempt) != NULL);
	CHECK(!memcmp(gpreempt_snapshot_mqds(low->q.gpreempt), low->mqds, sizeof(struct v9_mqd)));
	CHECK(run_until_idle(high, SEC));
	run(5 * MS);
	CHECK(!preempted(low));
	CHECK(!gpreempt_snapshot_mqds(low->q.gpreempt));
	world_end();
}

TEST(grace_is_set_once, "firmware waits for waves as briefly as it can from the first preemption until it is switched off, and is told so once")
{
	const struct sim_node *sn = &world.nodes[0];

	low_runs(true);
	CHECK_EQ(sn->grace_period, USE_DEFAULT_GRACE_PERIOD);
	high_comes();
	CHECK_EQ(sn->grace_period, 1);
	CHECK(run_until_idle(high, SEC));
	run(5 * MS);
	CHECK(!preempted(low));
	high_comes();
	CHECK(preempted(low));
	CHECK_EQ(sn->grace_period, 1);
	CHECK_EQ(sn->grace_packets, 1);
	CHECK(run_until_idle(high, SEC));
	run(5 * MS);
	/* What the driver sent may have come with another one. */
	evict_queue(low, true);
	evict_queue(low, false);
	high_comes();
	CHECK(preempted(low));
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
	high_comes();
	CHECK(preempted(low));
	CHECK_EQ(sn->grace_period, 1);
	CHECK_EQ(sn->grace_packets, 4);
	world_end();
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
	world_end();
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
	world_end();
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
	snprintf(name, sizeof(name), "pid %d queue %u", process_of(low)->pid.nr, low->q.properties.queue_id);
	CHECK(strstr(shim_log, name) != NULL);
	world.nodes[0].error = 0;
	world_end();
}

TEST(an_abandoned_victim_is_told, "a queue that the device lost while it was saved is counted, and left to the driver")
{
	low_runs(true);
	low->abandoned = true;
	apply(GPREEMPT_PREEMPT);
	CHECK_EQ(failed(GPREEMPT_FAILURE_VICTIM_RESET), 1);
	CHECK(low->q.gpreempt->policy.immovable);
	world_end();
}

TEST(flags_count_while_stopped, "what is resumed while the driver's scheduler stands still was held until now")
{
	low_is_held(true);
	world.nodes[0].dqm.sched_running = false;
	apply(GPREEMPT_RESUME);
	CHECK(!preempted(low));
	CHECK(low->q.gpreempt->preempted_ns > 5 * MS && low->q.gpreempt->preempted_ns < 20 * MS);
	world.nodes[0].dqm.sched_running = true;
	evict_queue(low, true);
	evict_queue(low, false);
	world_end();
}

TEST(the_hiq_wraps, "a HIQ whose pointers have gone round is settled all the same")
{
	u32 i;

	low_runs(true);
	for (i = 0; i < 40; i++) {
		evict_queue(high, true);
		evict_queue(high, false);
	}
	run(MS);
	CHECK(world.nodes[0].hiq.pending_wptr > 1024);
	high_comes();
	CHECK(preempted(low));
	CHECK(skipped(GPREEMPT_SKIP_UNSETTLED) < 5);
	world_end();
}

TEST(a_process_in_part_evicted_is_left_out, "a process whose queues are preempted, or off the device anyway, takes no VMID, whichever comes first")
{
	struct sim_queue *evicted;

	low_runs(true);
	evicted = add_queue_to(process_of(low), 0, NORMAL);
	evict_queue(evicted, true);
	high_comes();
	CHECK(preempted(low) && !preempted(evicted));
	CHECK(kfd_gpreempt_leaves_out(&process_of(low)->p.pdds[0].qpd));
	evict_queue(evicted, false);
	world_end();
}

/* ---- without the hardware scheduler ---- */

static void is_idle(struct gpreempt_policy_queue *q) { q->used = true; q->waves = 0; q->waves_ns = 1; }
static void is_new(struct gpreempt_policy_queue *q) { q->used = false; q->waves = 0; q->waves_ns = 0; }
static void has_packets(struct gpreempt_policy_queue *q) { is_idle(q); q->pending = 1; }
static void has_waves(struct gpreempt_policy_queue *q) { is_idle(q); q->waves = 1; }
static void may_have_waves(struct gpreempt_policy_queue *q) { is_idle(q); q->waves_ns = 0; }

TEST(who_works_leaves_first, "victims that keep the device from others are asked before those that only go along")
{
	static void (*const idlers[])(struct gpreempt_policy_queue *q) = { is_idle, is_new };
	static void (*const workers[])(struct gpreempt_policy_queue *q) = { has_packets, has_waves, may_have_waves };
	struct sim_queue *idler, *worker;
	u32 i, k;

	world_on(false);
	for (i = 0; i < ARRAY_SIZE(idlers); i++) {
		for (k = 0; k < ARRAY_SIZE(workers); k++) {
			snprintf(tap_case, sizeof(tap_case), "idler %u, worker %u: ", i, k);
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
	world_end();
}

TEST(idle_queues_go_along, "without the hardware scheduler as well, what is lower and idle leaves with what is not")
{
	struct sim_queue *quiet;

	low_runs(false);
	quiet = add_queue(10);
	run(2 * MS);
	high_comes();
	CHECK(preempted(low) && preempted(quiet));
	world_end();
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
	world_end();
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
	world_end();
}

TEST(late_victims_are_verified, "what a late victim saved is known from when it has left; without waves nothing is said to be saved")
{
	struct sim_queue *quiet;

	low_runs(false);
	set("gpreempt_verify", "1");
	quiet = add_queue(10);
	run(2 * MS);
	quiet->stuck_ns = low->stuck_ns = 260 * MS;
	high->kernel_ns = MS;
	submit(high, 900);
	run(230 * MS);
	CHECK(low->q.gpreempt->leaving && low->q.gpreempt->policy.saved_waves);
	run(300 * MS);
	CHECK(!low->q.gpreempt->leaving && !quiet->q.gpreempt->leaving);
	CHECK(preempted(low) && preempted(quiet));
	CHECK(low->q.gpreempt->policy.saved_waves);
	CHECK(!quiet->q.gpreempt->policy.saved_waves);
	CHECK(gpreempt_snapshot_mqds(low->q.gpreempt) != NULL);
	mqd_on(low, 0)->cp_hqd_pq_doorbell_control ^= 1;
	low->stuck_ns = quiet->stuck_ns = 0;
	CHECK(run_until_idle(low, 2 * SEC));
	CHECK_EQ(failed(GPREEMPT_FAILURE_VERIFY), 1);
	world_end();
}

TEST(steps_to_the_end_of_a_victim, "its own waves are reset first, then those of its process, and the GPU only if both do not help")
{
	/* One that its own reset helps, one that its process's helps. */
	low_runs(false);
	low->stuck_ns = U64_MAX;
	submit(high, 10);
	run(4300 * MS);
	CHECK(low->q.gpreempt->lost);
	CHECK_EQ(low->asked_ms, 100);
	CHECK_EQ(world.nr_queue_resets, 1);
	CHECK_EQ(world.nr_process_resets, 0);
	CHECK(!gpreempt_snapshot_mqds(low->q.gpreempt));
	world_end();

	low_runs(false);
	low->stuck_ns = U64_MAX;
	low->stubborn = true;
	submit(high, 10);
	run(4500 * MS);
	CHECK(low->q.gpreempt->lost);
	CHECK_EQ(world.nr_queue_resets, 2);
	CHECK_EQ(world.nr_process_resets, 1);
	CHECK_EQ(low->asked_ms, 100);
	CHECK_EQ(world.nr_gpu_resets, 0);
	world_end();
}

TEST(lost_queues_stay_lost, "a queue whose waves were reset is neither decided about nor loaded, also after switching off and on")
{
	low_runs(false);
	low->stuck_ns = U64_MAX;
	submit(high, 10);
	run(4300 * MS);
	CHECK(low->q.gpreempt->lost);
	CHECK(low->q.gpreempt->policy.immovable);
	set("gpreempt_enable", "0");
	set("gpreempt_enable", "1");
	run(20 * MS);
	CHECK(low->q.gpreempt->lost);
	CHECK(!strcmp(gpreempt_queue_state(low->q.gpreempt, 0), "lost"));
	CHECK(!on_device(low));
	world_end();
}

/* After a reset of the GPU that its waves had made necessary. */
static void low_was_killed_once(u32 nr_xcc)
{
	world_make(false, nr_xcc, 1);
	set("gpreempt_enable", "1");
	low = add_queue(10);
	high = add_queue(0);
	low->kernel_ns = 50 * MS;
	world.nodes[0].nr_wave_slots = 1;
	submit(low, 1);
	run(2 * MS);
	low->stuck_ns = U64_MAX;
	low->immortal = true;
	submit(high, 10);
	run(4700 * MS);
	CHECK(low->q.gpreempt->killed);
	low->immortal = false;
	low->stuck_ns = 0;
	reset_gpu();
	run(2 * MS);
	low->kernel_ns = high->kernel_ns = 50 * MS;
	submit(low, 3);
	run(2 * MS);
}

TEST(what_was_killed_begins_anew, "after a reset of the GPU a queue that leaves late is waited for like any other")
{
	low_was_killed_once(1);
	low->stuck_ns = 150 * MS;
	submit(high, 10);
	run(120 * MS);
	CHECK(low->q.gpreempt->leaving && !low->q.gpreempt->killed);
	run(200 * MS);
	CHECK(!low->q.gpreempt->leaving && !low->q.gpreempt->lost);
	low->stuck_ns = 0;
	world_end();
}

TEST(what_was_killed_is_loaded_anew, "and so is one that could not be loaded on all XCCs and does not leave at once")
{
	low_was_killed_once(2);
	submit(high, 1);
	run(10 * MS);
	CHECK(preempted(low) && !low->q.gpreempt->leaving);
	world.nodes[0].nr_load_fails = 1;
	low->stuck_ns = 250 * MS;
	run(200 * MS);
	CHECK(low->q.gpreempt->leaving);
	low->stuck_ns = 0;
	run(200 * MS);
	CHECK(!low->q.gpreempt->lost);
	world_end();
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
	high_comes();
	CHECK(preempted(low));
	move_ring(low, true);
	world.nodes[0].nr_load_fails = 1;
	low->stuck_ns = 250 * MS;
	CHECK(run_until_idle(high, SEC));
	run(130 * MS);
	CHECK(low->q.gpreempt->leaving && on_device(low));
	run(60 * MS);
	CHECK(low->q.gpreempt->leaving);
	low->stuck_ns = 0;
	world_end();
}

TEST(a_ring_that_is_about_to_move, "a queue that does not leave has not left because UPDATE_QUEUE waits with another ring for the lock")
{
	low_runs_on(false, 0);
	low->stuck_ns = 400 * MS;
	move_ring(low, false);
	submit(high, 1);
	/* Each of two XCCs was waited for, for 100 ms. */
	run(230 * MS);
	CHECK(low->q.gpreempt->leaving && on_device(low));
	run(60 * MS);
	CHECK(low->q.gpreempt->leaving && on_device(low));
	low->stuck_ns = 0;
	world_end();
}

TEST(failed_loads_are_verified, "a queue that could not be loaded is saved anew, and what is written to it then is noticed")
{
	low_runs_on(false, 0);
	set("gpreempt_verify", "1");
	high_comes();
	CHECK(preempted(low));
	world.nodes[0].nr_load_fails = 1;
	current->fn = gpreempt_monitor;
	apply(GPREEMPT_RESUME);
	current->fn = NULL;
	CHECK(preempted(low) && !on_device(low));
	CHECK(!low->q.properties.is_active);
	mqd_on(low, 0)->cp_hqd_pq_doorbell_control ^= 1;
	CHECK(run_until_idle(low, SEC));
	CHECK_EQ(failed(GPREEMPT_FAILURE_VERIFY), 1);
	world_end();
}

TEST(late_victims_and_a_suspend, "before a suspend a queue that is leaving is the driver's again, as any other")
{
	low_runs(false);
	low->stuck_ns = U64_MAX;
	submit(high, 10);
	run(200 * MS);
	CHECK(low->q.gpreempt->leaving);
	suspend();
	CHECK(!preempted(low) && !low->q.gpreempt->leaving);
	low->stuck_ns = 0;
	resume();
	world_end();
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
	world_end();
}

TEST(slot_passes_are_counted, "a pass over slots that takes somebody off counts as long as that took; one that gives back is one as well")
{
	struct gpreempt_stats *stats;
	u64 before;

	low_runs(false);
	stats = &node_of(0)->stats;
	before = atomic64_read(&stats->runlists);
	apply(GPREEMPT_PREEMPT);
	CHECK_EQ(atomic64_read(&stats->runlists), before + 1);
	CHECK(atomic64_read(&stats->preempt_ns_last) >= 5 * US && atomic64_read(&stats->preempt_ns_last) < MS);
	CHECK_EQ(atomic64_read(&stats->preempt_ns_max), atomic64_read(&stats->preempt_ns_last));
	atomic64_set(&stats->preempt_ns_last, 0);
	apply(GPREEMPT_RESUME);
	CHECK_EQ(atomic64_read(&stats->runlists), before + 2);
	CHECK_EQ(atomic64_read(&stats->preempt_ns_last), 0);
	apply(GPREEMPT_RESUME);
	CHECK_EQ(atomic64_read(&stats->runlists), before + 2);
	world_end();
}

/* ---- hardware priorities ---- */

TEST(priorities_without_hws, "a queue leaves once for the priority that it should have; one that is held is given it there, and is not loaded for it")
{
	u32 before;

	low_is_held(false);
	CHECK_EQ(mqd_priority(low), NORMAL);
	CHECK_EQ(node_of(0)->hw_priorities, 0);
	process_of(high)->task.nice = 2;
	run(10 * MS);
	before = node_of(0)->runlists_built;
	set("gpreempt_hw_priority", "follow");
	run(10 * MS);
	CHECK(preempted(low) && !on_device(low));
	CHECK_EQ(mqd_priority(low), 0);
	CHECK_EQ(mqd_priority(high), NORMAL - 2);
	CHECK_EQ(node_of(0)->hw_priorities, 2);
	/* Of the two only one was on the device. */
	CHECK_EQ(node_of(0)->runlists_built, before + 1);
	CHECK_EQ(failed(GPREEMPT_FAILURE_VERIFY), 0);
	update_queue(high, LOW);
	CHECK_EQ(mqd_priority(high), NORMAL - 2);
	set("gpreempt_hw_priority", "normal");
	run(10 * MS);
	CHECK_EQ(mqd_priority(low), NORMAL);
	CHECK_EQ(node_of(0)->hw_priorities, 1);
	world_end();
}

TEST(obstacles_to_priorities, "a queue that may not be taken off is not taken off for its priority either")
{
	world_on(false);
	set("gpreempt_hw_priority", "follow");
	low = add_queue(3);
	high = add_queue(0);
	debug_process(process_of(low), true);
	run(20 * MS);
	CHECK_EQ(low->asked_ms, 0);
	CHECK_EQ(mqd_priority(low), NORMAL);
	debug_process(process_of(low), false);
	/* It rests: so soon it is looked at again. */
	run(1100 * MS);
	CHECK_EQ(mqd_priority(low), NORMAL - 3);
	world_end();
}

TEST(priorities_from_the_first, "what MQDs say of a queue is not known before they were looked at, also if its priority is to be the lowest")
{
	world_make(false, 1, 1);
	set("gpreempt_hw_priority", "follow");
	set("gpreempt_enable", "1");
	low = add_queue(19);
	CHECK_EQ(mqd_priority(low), NORMAL);
	run(20 * MS);
	CHECK_EQ(mqd_priority(low), 0);
	world_end();
}

BOTH(priorities_on_all_xccs, "the hardware's priority is the same on each XCC")
{
	world_make(hws, 2, 1);
	set("gpreempt_hw_priority", "follow");
	set("gpreempt_enable", "1");
	low = add_queue(3);
	run(20 * MS);
	evict_queue(low, true);
	evict_queue(low, false);
	CHECK_EQ(mqd_on(low, 0)->cp_hqd_queue_priority, NORMAL - 3);
	CHECK_EQ(mqd_on(low, 1)->cp_hqd_queue_priority, NORMAL - 3);
	CHECK_EQ(mqd_on(low, 1)->cp_hqd_pipe_priority, pipe_priority_map[NORMAL - 3]);
	world_end();
}

BOTH(parked_nodes_have_priorities, "the priorities of a node that is parked are the scheduler's")
{
	world_on(hws);
	set("gpreempt_hw_priority", "follow");
	low = add_queue_to(add_process(0), 0, NORMAL);
	high = add_queue_to(add_process(0), 0, HIGH);
	current->caps = 0;
	update_queue(high, HIGH);
	run(2500 * MS);
	CHECK_STATE("parked");
	evict_queue(high, true);
	evict_queue(high, false);
	CHECK_EQ(mqd_priority(high), NORMAL);
	CHECK_EQ(node_of(0)->hw_priorities, 1);
	world_end();
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
	evict_queue(high, true);
	evict_queue(high, false);
	CHECK_EQ(mqd_priority(low), 3);
	low->q.properties.type = KFD_QUEUE_TYPE_COMPUTE;
	world_end();
}

TEST(snapshots_know_of_priorities, "a priority that is written while a queue is preempted is no change by somebody else (hws)")
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
	set("gpreempt_hw_priority", "follow");
	run(10 * MS);
	evict_queue(high, true);
	evict_queue(high, false);
	CHECK_EQ(mqd_priority(low), 0);
	CHECK(run_until_idle(low, SEC));
	CHECK_EQ(failed(GPREEMPT_FAILURE_VERIFY), 0);
	world_end();
}

/* ---- snapshots ---- */

TEST(snapshots_have_limits, "a manager that lacks any of the functions makes none; of a stack no more is taken than fits")
{
	struct mqd_manager *mm, complete;

	low_runs(false);
	set("gpreempt_verify", "1");
	high_comes();
	CHECK(preempted(low));
	mm = &world.nodes[0].mm;
	complete = *mm;
	mm->mqd_stride = NULL;
	CHECK(!gpreempt_snapshot_alloc(&low->q));
	*mm = complete;
	mm->mqd_size = PAGE_SIZE + CTL_STACK_BYTES;
	kvfree(gpreempt_snapshot_alloc(&low->q) ?: (tap_fail(__FILE__, __LINE__, "no snapshot"), NULL));
	mm->mqd_size = complete.mqd_size;
	/* The MQD says how large it is. Behind the last one there is nothing. */
	mqd_on(low, 0)->cp_hqd_cntl_stack_size = 2 * CTL_STACK_BYTES;
	gpreempt_snapshot_take(low->q.gpreempt);
	CHECK(gpreempt_snapshot_mqds(low->q.gpreempt) != NULL);
	mqd_on(low, 0)->cp_hqd_cntl_stack_size = CTL_STACK_BYTES;
	*mm = complete;
	gpreempt_snapshot_take(low->q.gpreempt);
	world_end();
}

TEST(nothing_is_written_back, "what somebody wrote to any of the MQDs or control stacks of a preempted queue is told once, and is what the queue continues with")
{
	u32 xcc, doorbell;
	u8 scribbled;

	for (xcc = 0; xcc < 2; xcc++) {
		u8 *last;

		snprintf(tap_case, sizeof(tap_case), "XCC %u: ", xcc);
		low_runs_on(false, xcc);
		set("gpreempt_verify", "1");
		high_comes();
		CHECK(preempted(low));
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
		world_end();
	}
}

BOTH(no_snapshot_is_no_exemption, "without memory for a snapshot a queue is not verified, and preempted all the same")
{
	world_on(hws);
	set("gpreempt_verify", "1");
	low = add_queue(10);
	kvfree(low->q.gpreempt->snapshot);
	low->q.gpreempt->snapshot = NULL;
	high = add_queue(0);
	low->kernel_ns = 50 * MS;
	world.nodes[0].nr_wave_slots = 1;
	submit(low, 2);
	run(2 * MS);
	high_comes();
	CHECK(preempted(low));
	CHECK_EQ(skipped(GPREEMPT_SKIP_NO_MEMORY), 0);
	world_end();
}

TEST(snapshots_follow_doorbells, "a doorbell that moves while its queue is preempted moves in the snapshot as well")
{
	low_runs(false);
	set("gpreempt_verify", "1");
	high_comes();
	CHECK(preempted(low));
	low->q.properties.doorbell_off += 0x100;
	update_queue(low, LOW);
	CHECK(run_until_idle(low, SEC));
	CHECK_EQ(failed(GPREEMPT_FAILURE_VERIFY), 0);
	world_end();
}

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
		snprintf(tap_case, sizeof(tap_case), "%s, %u bytes: ", misaligned_pm4 ? "PM4" : "AQL", misaligned_by);
		low = add_queue(0);
		CHECK_EQ(seen(low), misaligned_by >= (misaligned_pm4 ? 4 : 8));
		kill_process(process_of(low));
	}
	CHECK_EQ(skipped(GPREEMPT_SKIP_UNMAPPED), 5);
	world_prepares = NULL;
	world_end();
}

TEST(rings_of_dwords, "what is pending in a PM4 ring wraps where its size says")
{
	world_on(true);
	world_prepares = misalign;
	misaligned_pm4 = true;
	misaligned_by = 0;
	low = add_queue(0);
	world_prepares = NULL;
	CHECK(seen(low) && !low->q.gpreempt->aql);
	((u32 *)low->pointers)[0] = 250;
	((u32 *)low->pointers)[2] = 5;
	CHECK_EQ(gpreempt_queue_pending(low->q.gpreempt), 11);
	low->q.properties.queue_size = 2048;
	update_queue(low, LOW);
	CHECK_EQ(gpreempt_queue_pending(low->q.gpreempt), 267);
	((u32 *)low->pointers)[0] = ((u32 *)low->pointers)[2] = 0;
	world_end();
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
	world_end();
}

BOTH(new_queues_say_what_they_are, "until the monitor has looked, a new queue shows the priority that it was created with")
{
	world_on(hws);
	low = add_queue_to(add_process(5), 0, 3);
	CHECK_EQ(low->q.gpreempt->policy.priority, 3);
	CHECK_EQ(low->q.gpreempt->policy.effective_priority, 3);
	CHECK(low->q.gpreempt_files);
	CHECK_EQ(low->q.kobj.nr_files, 5);
	high = add_queue_to(add_process(5), 0, NORMAL);
	CHECK(!high->q.gpreempt->trusted);
	run(10 * MS);
	CHECK_EQ(high->q.gpreempt->policy.priority, NORMAL - 5);
	CHECK(!strcmp(gpreempt_queue_state(low->q.gpreempt, 0), "idle"));
	CHECK(!strcmp(gpreempt_queue_state(low->q.gpreempt, 1), "active"));
	low->q.gpreempt->policy.blocked = true;
	CHECK(!strcmp(gpreempt_queue_state(low->q.gpreempt, 1), "blocked"));
	low->q.gpreempt->policy.blocked = false;
	low->q.gpreempt->policy.waves_ns = 1;
	low->q.gpreempt->policy.waves = 0;
	CHECK(!strcmp(gpreempt_queue_state(low->q.gpreempt, 0), "idle"));
	low->q.gpreempt->policy.waves = 1;
	CHECK(!strcmp(gpreempt_queue_state(low->q.gpreempt, 0), "active"));
	world_end();
}

TEST(queues_without_memory, "a queue for which there is no memory is counted, whichever part of it is missing")
{
	int n;

	world_on(true);
	for (n = 1; n <= 3; n++) {
		struct sim_process *process = add_process(0);

		snprintf(tap_case, sizeof(tap_case), "allocation %d: ", n);
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
	world_end();
}

BOTH(a_hold_is_timed, "how long a queue has been off the device is known while it is, and afterwards")
{
	u64 before_ns;

	low_is_held(hws);
	before_ns = gpreempt_queue_preempted_ns(low->q.gpreempt);
	CHECK(before_ns > 5 * MS && before_ns < 11 * MS);
	run(10 * MS);
	CHECK(gpreempt_queue_preempted_ns(low->q.gpreempt) >= before_ns + 10 * MS);
	CHECK(gpreempt_queue_preempted_ns(low->q.gpreempt) < before_ns + 11 * MS);
	CHECK(run_until_idle(high, SEC));
	run(5 * MS);
	CHECK(!preempted(low));
	before_ns = gpreempt_queue_preempted_ns(low->q.gpreempt);
	high_comes();
	CHECK(preempted(low));
	CHECK(gpreempt_queue_preempted_ns(low->q.gpreempt) > before_ns + 5 * MS);
	world_end();
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
	run(20 * MS);
	CHECK(low->q.gpreempt->gn == node_of(0) && far->q.gpreempt->gn == node_of(1));
	CHECK_EQ(node_of(0)->nr_queues, 1);
	CHECK_EQ(node_of(1)->nr_queues, 1);
	process_of(low)->task.caps = CAP_SYS_NICE;
	set("gpreempt_enable", "0");
	set("gpreempt_enable", "1");
	run(20 * MS);
	CHECK(low->q.gpreempt->trusted && !far->q.gpreempt->trusted);
	list_del(&kernels.process_queue_list);
	world_end();
}

TEST(snapshots_are_made_room_for, "verification that is switched on later makes room in each queue, once")
{
	struct gpreempt_snapshot *first;

	world_on(true);
	low = add_queue(0);
	CHECK(!low->q.gpreempt->snapshot);
	set("gpreempt_verify", "1");
	first = low->q.gpreempt->snapshot;
	CHECK(first != NULL);
	set("gpreempt_verify", "0");
	set("gpreempt_verify", "1");
	CHECK(low->q.gpreempt->snapshot == first);
	world_end();
}

/* ---- nodes ---- */

BOTH(nodes_come_and_go, "a node that comes up while the scheduler is on is on; one that goes lets its queues go; each has its folder meanwhile")
{
	struct kobject *root;

	CHECK(!gpreempt_core_enabled(0));
	world_make(hws, 1, 2);
	root = node_of(0)->kobj.parent;
	CHECK_EQ(shim_debugfs_files(), 2);
	CHECK_EQ(root->nr_folders, 2);
	CHECK(!strcmp(node_of(0)->reason, "-"));
	CHECK(!gpreempt_core_enabled(0));
	set("gpreempt_enable", "1");
	CHECK_EQ(node_of(0)->thread->nice, MIN_NICE);
	kfd_gpreempt_node_fini(&world.nodes[1].node);
	CHECK_EQ(root->nr_folders, 1);
	CHECK(gpreempt_core_enabled(0) && !gpreempt_core_enabled(1001));
	kfd_gpreempt_node_init(&world.nodes[1].node);
	CHECK_EQ(root->nr_folders, 2);
	CHECK(gpreempt_core_enabled(1001));
	low = add_queue_to(add_process(10), 1, NORMAL);
	CHECK(low->q.gpreempt->gn == node_of(1));
	set("gpreempt_enable", "0");
	kfd_gpreempt_node_fini(&world.nodes[1].node);
	kfd_gpreempt_node_init(&world.nodes[1].node);
	CHECK(!gpreempt_core_enabled(1001));
	set("gpreempt_enable", "1");
	kill_process(process_of(low));
	/* With both still on. */
	world_down();
}

BOTH(one_node_of_two, "what one node is told is not what the other one does, and the hooks stay on as long as one is scheduled")
{
	u64 checks[2];
	u32 i;

	world_make(hws, 1, 2);
	set("gpreempt_enable", "1");
	for (i = 0; i < 2; i++) {
		add_queue_to(add_process(0), i, NORMAL);
		high = add_queue_to(add_process(0), i, NORMAL);
	}
	run(2500 * MS);
	CHECK(!strcmp(gpreempt_core_state_name(node_of(0)), "parked") && !strcmp(gpreempt_core_state_name(node_of(1)), "parked"));
	for (i = 0; i < 2; i++)
		checks[i] = atomic64_read(&node_of(i)->stats.checks);
	/* Nothing happens, so nobody looks: not even those who look for nice values. */
	run(5 * SEC);
	for (i = 0; i < 2; i++)
		CHECK_EQ(atomic64_read(&node_of(i)->stats.checks), checks[i]);
	gpreempt_core_kick_all();
	run(MS);
	for (i = 0; i < 2; i++)
		CHECK(atomic64_read(&node_of(i)->stats.checks) > checks[i]);
	suspend();
	CHECK(!strcmp(gpreempt_core_state_name(node_of(0)), "paused") && !strcmp(gpreempt_core_state_name(node_of(1)), "paused"));
	resume();
	CHECK(strcmp(gpreempt_core_state_name(node_of(0)), "paused") && strcmp(gpreempt_core_state_name(node_of(1)), "paused"));
	/* High is on the second. */
	CHECK_EQ(gpreempt_core_enable_node(node_of(1), false), 0);
	CHECK(gpreempt_core_enabled(0) && gpreempt_core_enabled(1000) && !gpreempt_core_enabled(1001));
	CHECK(static_branch_unlikely(&kfd_gpreempt_key));
	CHECK(!high->q.gpreempt);
	low = add_queue_to(process_of(high), 1, NORMAL);
	CHECK(!low->q.gpreempt);
	low = add_queue_to(process_of(high), 0, NORMAL);
	CHECK(low->q.gpreempt != NULL);
	CHECK_EQ(gpreempt_core_enable_node(node_of(0), false), 0);
	CHECK(!static_branch_unlikely(&kfd_gpreempt_key));
	world_end();
}

TEST(a_node_less, "where there was no memory for one node, the other one is scheduled, and queues of the first are left alone")
{
	world_make(true, 1, 2);
	kfd_gpreempt_node_fini(&world.nodes[1].node);
	shim_fail_alloc = 1;
	kfd_gpreempt_node_init(&world.nodes[1].node);
	shim_fail_alloc = 2;
	kfd_gpreempt_node_init(&world.nodes[1].node);
	shim_fail_alloc = 0;
	CHECK(!node_of(1));
	set("gpreempt_enable", "1");
	low = add_queue_to(add_process(0), 1, NORMAL);
	CHECK(!low->q.gpreempt);
	suspend();
	resume();
	world_end();
}

BOTH(parked_nodes_see_nice_values_for_ever, "also after seconds without anything a parked node sees a new nice value, and wakes for nothing else")
{
	world_on(hws);
	low = add_queue(0);
	high = add_queue(0);
	low->kernel_ns = high->kernel_ns = 100 * MS;
	world.nodes[0].nr_wave_slots = 1;
	submit(low, 100);
	submit(high, 100);
	run(3500 * MS);
	CHECK_STATE("parked");
	process_of(low)->task.nice = 5;
	run(1100 * MS);
	CHECK(preempted(low));
	kill_process(process_of(low));
	kill_process(process_of(high));
	world_end();
}

BOTH(adoption_is_soon, "what could not be adopted is tried again every 10 ms")
{
	world_make(hws, 1, 1);
	low = add_queue(0);
	mutex_lock(&process_of(low)->p.mutex);
	set("gpreempt_enable", "1");
	run(5 * MS);
	mutex_unlock(&process_of(low)->p.mutex);
	CHECK(!low->q.gpreempt);
	run(6 * MS);
	CHECK(low->q.gpreempt != NULL);
	world_end();
}

BOTH(what_was_wrong_is_over, "after a suspend, and after switching off and on, a node begins without the errors that it had")
{
	struct gpreempt_node *gn;
	u32 i;

	world_on(hws);
	gn = node_of(0);
	for (i = 0; i < 2; i++) {
		snprintf(tap_case, sizeof(tap_case), "case %u: ", i);
		if (i)
			set("gpreempt_enable", "0");
		else
			suspend();
		gn->errors = 2;
		gn->again = true;
		gn->revive = true;
		gn->resuming_ns = 5;
		gn->clear_ns = 5;
		gn->kick = false;
		gn->state = GPREEMPT_STATE_PARKED;
		if (i)
			set("gpreempt_enable", "1");
		else
			resume();
		CHECK(!gn->errors && !gn->again && !gn->resuming_ns);
		CHECK_EQ(gn->clear_ns, ktime_get_ns());
		CHECK_EQ(gn->state, GPREEMPT_STATE_IDLE);
		CHECK(i ? !gn->revive : gn->kick);
		gn->revive = false;
		run(10 * MS);
	}
	world_end();
}

TEST(generations, "of GPUs Instincts are scheduled, from 9.0.1 to 9.5.0 and the APU of 9.4.3; the others say why, once")
{
	static const struct { u32 gc; bool apu, works; const char *reason; } versions[] = {
		{ IP_VERSION(9, 0, 0), false, false, "generation" }, { IP_VERSION(9, 0, 1), false, true, NULL },
		{ IP_VERSION(9, 0, 2), false, false, "Instinct" },
		{ IP_VERSION(9, 1, 0), true, false, "GFXOFF" }, { IP_VERSION(9, 2, 1), false, false, "Instinct" },
		{ IP_VERSION(9, 2, 2), true, false, "GFXOFF" }, { IP_VERSION(9, 3, 0), true, false, "GFXOFF" },
		{ IP_VERSION(9, 4, 0), false, true, NULL }, { IP_VERSION(9, 4, 1), false, true, NULL }, { IP_VERSION(9, 4, 2), false, true, NULL },
		{ IP_VERSION(9, 4, 3), false, true, NULL }, { IP_VERSION(9, 4, 3), true, true, NULL }, { IP_VERSION(9, 4, 4), false, true, NULL },
		{ IP_VERSION(9, 4, 5), false, false, "Instinct" }, { IP_VERSION(9, 5, 0), false, true, NULL },
		{ IP_VERSION(8, 0, 0), false, false, "generation" }, { IP_VERSION(10, 0, 0), false, false, "generation" },
		{ IP_VERSION(10, 0, 1), true, false, "generation" },
	};
	const char *told;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(versions); i++) {
		snprintf(tap_case, sizeof(tap_case), "version %x: ", versions[i].gc);
		world_make(true, 1, 1);
		kfd_gpreempt_node_fini(&world.nodes[0].node);
		world.adev.gc_version = versions[i].gc;
		world.adev.flags = versions[i].apu ? AMD_IS_APU : 0;
		kfd_gpreempt_node_init(&world.nodes[0].node);
		CHECK_EQ(node_of(0)->backend != NULL, versions[i].works);
		CHECK(versions[i].reason ? strstr(node_of(0)->reason, versions[i].reason) != NULL : !strcmp(node_of(0)->reason, "-"));
		set("gpreempt_enable", "1");
		set("gpreempt_enable", "0");
		set("gpreempt_enable", "1");
		set("gpreempt_enable", "0");
		if (!versions[i].works) {
			told = strstr(shim_log, "is not scheduled");
			CHECK(told && !strstr(told + 1, "is not scheduled"));
		}
		world_down();
		shim_log[0] = 0;
	}
}

/* The node has just come up: nothing but launches says what works. */
static void low_yields_without_waves(void)
{
	set("gpreempt_enable", "1");
	low = add_queue(10);
	high = add_queue(0);
	low->kernel_ns = 5 * MS;
	submit(low, 20);
	run(2 * MS);
	submit(high, 300);
	run(10 * MS);
	CHECK(preempted(low));
}

BOTH(waves_cannot_be_seen, "where the device does not tell its waves, launches count, and nobody asks")
{
	static struct kfd2kgd_calls blind;

	world_make(hws, 1, 1);
	kfd_gpreempt_node_fini(&world.nodes[0].node);
	blind = *world.nodes[0].node.kfd2kgd;
	blind.get_cu_occupancy = NULL;
	world.nodes[0].node.kfd2kgd = &blind;
	kfd_gpreempt_node_init(&world.nodes[0].node);
	CHECK(!node_of(0)->occupancy);
	low_yields_without_waves();
	mutex_lock(&gpreempt_lock);
	gpreempt_monitor_see(node_of(0));
	mutex_unlock(&gpreempt_lock);
	CHECK_EQ(node_of(0)->seen_ns, 0);
	world_end();
}

TEST(virtual_function_reads_no_waves, "a virtual function is scheduled by what its queues launch: its registers are not read for waves")
{
	world_make(true, 1, 1);
	kfd_gpreempt_node_fini(&world.nodes[0].node);
	world.adev.virtual_function = true;
	kfd_gpreempt_node_init(&world.nodes[0].node);
	CHECK(node_of(0)->backend && !node_of(0)->occupancy && !node_of(0)->tun.params.waves_known);
	CHECK(strstr(shim_log, "virtual function") != NULL);
	low_yields_without_waves();
	CHECK_EQ(world.nr_looks, 0);
	world_end();
}

/* ---- counting ---- */

TEST(times_are_counted_where_they_belong, "each bucket of a histogram is twice as long as the one before; sum and maximum are those of the times")
{
	static const struct { u64 ns; u32 bucket; } times[] = {
		{ 0, 0 }, { 999, 0 }, { 1000, 1 }, { 1999, 1 }, { 2000, 2 }, { 3999, 2 }, { 4000, 3 }, { 7999, 3 }, { 8000, 4 }, { 1000 * MS, 20 },
		{ 500 * SEC, 29 }, { 600 * SEC, 30 }, { 3600 * SEC, 30 }, { 5 * MS, 13 },
	};
	const struct gpreempt_histogram *h;
	u64 sum_ns = 0, max_ns = 0;
	u32 i;

	low_runs(true);
	h = &node_of(0)->stats.latency[GPREEMPT_LATENCY_HOLD];
	mutex_lock(&node_of(0)->pass_lock);
	for (i = 0; i < ARRAY_SIZE(times); i++) {
		u64 before = atomic64_read(&h->bucket[times[i].bucket]), held_ns = low->q.gpreempt->policy.held_ns;

		snprintf(tap_case, sizeof(tap_case), "%llu ns: ", (unsigned long long)times[i].ns);
		gpreempt_stats_resumed(low->q.gpreempt, held_ns + times[i].ns);
		sum_ns += times[i].ns;
		max_ns = times[i].ns > max_ns ? times[i].ns : max_ns;
		CHECK_EQ(atomic64_read(&h->bucket[times[i].bucket]), before + 1);
		CHECK_EQ(atomic64_read(&h->sum_ns), sum_ns);
		CHECK_EQ(atomic64_read(&h->max_ns), max_ns);
		CHECK_EQ(atomic64_read(&h->count), i + 1);
	}
	node_of(0)->resuming_ns = 0;
	mutex_unlock(&node_of(0)->pass_lock);
	world_end();
}

TEST(quantiles_of_histograms, "a quantile is the end of the bucket in which that many have been seen")
{
	struct gpreempt_histogram h = { 0 };

	CHECK_EQ(gpreempt_stats_quantile_us(&h, 50), 0);
	atomic64_set(&h.bucket[1], 507);
	atomic64_set(&h.bucket[3], 400);
	atomic64_set(&h.bucket[4], 93);
	CHECK_EQ(gpreempt_stats_quantile_us(&h, 1), 2);
	CHECK_EQ(gpreempt_stats_quantile_us(&h, 50), 2);
	CHECK_EQ(gpreempt_stats_quantile_us(&h, 51), 8);
	CHECK_EQ(gpreempt_stats_quantile_us(&h, 90), 8);
	CHECK_EQ(gpreempt_stats_quantile_us(&h, 91), 16);
	CHECK_EQ(gpreempt_stats_quantile_us(&h, 100), 16);
	CHECK_EQ(gpreempt_stats_quantile_us(&h, 0), 0);
	memset(&h, 0, sizeof(h));
	atomic64_set(&h.bucket[GPREEMPT_NR_BUCKETS - 1], 1);
	CHECK_EQ(gpreempt_stats_quantile_us(&h, 100), 1ULL << (GPREEMPT_NR_BUCKETS - 1));
}

TEST(failures_are_added_up, "the number of failures is the sum of those of each cause")
{
	static struct gpreempt_stats stats;
	u64 sum = 0;
	u32 i;

	for (i = 0; i < GPREEMPT_NR_FAILURES; i++) {
		atomic64_set(&stats.failed[i], 1 << i);
		sum += 1 << i;
	}
	CHECK_EQ(gpreempt_stats_failures(&stats), sum);
}

BOTH(durations_are_differences, "no duration that was counted is longer than the time that has passed")
{
	u64 began_ns = ktime_get_ns();
	struct gpreempt_stats *stats;
	u32 i;

	low_is_held(hws);
	CHECK(run_until_idle(high, SEC));
	run(10 * MS);
	stats = &node_of(0)->stats;
	for (i = 0; i < GPREEMPT_NR_LATENCIES; i++) {
		const struct gpreempt_histogram *h = &stats->latency[i];

		snprintf(tap_case, sizeof(tap_case), "latency %u: ", i);
		/* Nobody rings in the mode poll. */
		CHECK_EQ(atomic64_read(&h->count) > 0, i != GPREEMPT_LATENCY_NOTICE);
		CHECK(atomic64_read(&h->max_ns) <= ktime_get_ns() - began_ns);
		CHECK(atomic64_read(&h->sum_ns) <= atomic64_read(&h->count) * (ktime_get_ns() - began_ns));
	}
	/* A pass found none a poll before. */
	CHECK(atomic64_read(&stats->latency[GPREEMPT_LATENCY_DETECT].max_ns) <= 6 * MS);
	CHECK(atomic64_read(&stats->pass_ns_last) <= MS);
	CHECK(atomic64_read(&stats->latency[GPREEMPT_LATENCY_RESUME].max_ns) <= 20 * MS);
	world_end();
}

TEST(passes_are_counted, "of each pass it is known how long it took, how old the ring was that it took in, and since when an inversion can have been there")
{
	struct gpreempt_decision clear = { .level_valid = true, .level = 5 }, inverted = { .inversion = true, .nr_preempt = 1 };
	struct gpreempt_stats *stats;
	struct gpreempt_node *gn;
	u64 now_ns;

	low_runs(true);
	gn = node_of(0);
	stats = &gn->stats;
	mutex_lock(&gn->pass_lock);
	now_ns = ktime_get_ns();
	gn->rang_ns = now_ns - 700;
	gpreempt_stats_pass(gn, &clear, now_ns - 300, now_ns);
	CHECK_EQ(atomic64_read(&stats->pass_ns_last), 300);
	CHECK_EQ(atomic64_read(&stats->latency[GPREEMPT_LATENCY_NOTICE].max_ns), 700);
	CHECK_EQ(gn->rang_ns, 0);
	CHECK_EQ(gn->clear_ns, now_ns - 300);
	CHECK_EQ(gn->level, 5);
	gpreempt_stats_pass(gn, &inverted, now_ns + 1000, now_ns + 1500);
	CHECK_EQ(atomic64_read(&stats->pass_ns_last), 500);
	CHECK_EQ(atomic64_read(&stats->latency[GPREEMPT_LATENCY_NOTICE].count), 1);
	CHECK_EQ(atomic64_read(&stats->latency[GPREEMPT_LATENCY_DETECT].max_ns), 1800);
	CHECK_EQ(gn->clear_ns, now_ns - 300);
	CHECK_EQ(gn->level, GPREEMPT_LEVEL_NONE);
	mutex_unlock(&gn->pass_lock);
	world_end();
}

TEST(skips_mark_their_queue, "a skip that is about a queue marks it and its node, so that it is taken back once it is over; others mark nobody")
{
	struct gpreempt_node *gn;

	low_runs(true);
	gn = node_of(0);
	mutex_lock(&gn->pass_lock);
	WRITE_ONCE(gn->skipped, false);
	gpreempt_stats_skip(gn, NULL, GPREEMPT_SKIP_RESETTING);
	CHECK(!gn->skipped && !low->q.gpreempt->skipped);
	gpreempt_stats_skip(gn, low->q.gpreempt, GPREEMPT_SKIP_RESET);
	CHECK(gn->skipped && low->q.gpreempt->skipped && !high->q.gpreempt->skipped);
	mutex_unlock(&gn->pass_lock);
	gpreempt_core_kick_all();
	run(10 * MS);
	CHECK(!gn->skipped && !low->q.gpreempt->skipped);
	world_end();
}

TEST(slots_are_watched_for_a_moment, "a slot that was asked is looked at each 5 to 10 us, until it is left, for 200 us at most (mqd)")
{
	u64 began_ns, took_ns;

	low_runs(false);
	dqm_lock(&world.nodes[0].dqm);
	began_ns = ktime_get_ns();
	gpreempt_hqd_ask(&world.nodes[0].node, low->q.pipe, low->q.queue);
	took_ns = ktime_get_ns() - began_ns;
	CHECK(low->asked_closely);
	CHECK_EQ(low->close_looks, 2);
	CHECK(took_ns >= 5 * US && took_ns <= 10 * US);
	low->stuck_ns = SEC;
	began_ns = ktime_get_ns();
	gpreempt_hqd_ask(&world.nodes[0].node, low->q.pipe, low->q.queue);
	took_ns = ktime_get_ns() - began_ns;
	CHECK(took_ns >= 200 * US && took_ns <= 210 * US);
	low->stuck_ns = 0;
	low->asked_closely = false;
	dqm_unlock(&world.nodes[0].dqm);
	world_end();
}
