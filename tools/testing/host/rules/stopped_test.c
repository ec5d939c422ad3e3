// SPDX-License-Identifier: MIT
/* stopped_test.c - gpreempt_follow_stop, of a node or a process: queues of a stopped or frozen process are off the device until it goes on */
#include "rivals.h"

enum how { STOPPED, FROZEN, FROZEN_V1, NR_HOW };

/* As SIGSTOP, cgroup.freeze and the freezer of cgroups of version 1 do it, and the end of each. */
static void stop(struct sim_process *process, enum how how, bool on)
{
	if (how == STOPPED)
		WRITE_ONCE(process->signal.flags, on ? SIGNAL_STOP_STOPPED : 0);
	else if (how == FROZEN)
		WRITE_ONCE(process->task.frozen, on);
	else
		WRITE_ONCE(process->task.__state, on ? TASK_FROZEN : 0);
}

/* One that works, alone. */
static void low_works_alone(bool hws, const char *follow)
{
	world_make(hws, 1, 1);
	set("gpreempt_follow_stop", follow);
	set("gpreempt_enable", "1");
	low = add_queue(0);
	low->kernel_ns = 50 * MS;
	world.nodes[0].nr_wave_slots = 1;
	submit_and_run(low, 10, 30 * MS);
	CHECK(on_device(low));
	CHECK_STATE("parked");
}

static void low_has_ended(void)
{
	CHECK(run_until_idle(low, 2 * SEC));
	CHECK_EQ(low->done, low->submitted);
	CHECK_EQ(gpreempt_stats_failures(stats()), 0);
}

BOTH(stopped_process_leaves_the_device, "the queue of a process that works alone leaves the device within 20 ms of its stop, in whatever way it is stopped, and comes back when it goes on")
{
	enum how how;

	low_works_alone(hws, "1");
	for (how = STOPPED; how < NR_HOW; how++) {
		u64 done;

		stop(process_of(low), how, true);
		run(20 * MS);
		CHECK(!on_device(low) && preempted(low));
		CHECK_EQ(low->q.gpreempt->policy.verdict, GPREEMPT_VERDICT_STOPPED);
		done = low->done;
		/* Longer than any hold that is asked for without the right to keep it */
		run(3 * SEC);
		CHECK(!on_device(low));
		CHECK_EQ(low->done, done);
		stop(process_of(low), how, false);
		run(20 * MS);
		CHECK(on_device(low) && !preempted(low));
	}
	CHECK_EQ(preemptions(), NR_HOW);
	low_has_ended();
}

BOTH(frozen_without_its_main_thread, "the queue of a process whose main thread has ended leaves the device when its other threads are frozen, and comes back with them")
{
	struct task_struct ended = { .exit_state = 1 }, thread = { .frozen = true };

	low_works_alone(hws, "1");
	ended.next_thread = &thread;
	process_of(low)->task.next_thread = &ended;
	/* The main thread is the one that counts until it ends. */
	CHECK_AFTER(20 * MS, on_device(low));
	process_of(low)->task.exit_state = 1;
	CHECK_AFTER(20 * MS, !on_device(low) && preempted(low));
	WRITE_ONCE(thread.frozen, false);
	CHECK_AFTER(20 * MS, on_device(low));
	/* The last one ends. */
	thread.exit_state = 1;
	CHECK_AFTER(20 * MS, on_device(low));
	process_of(low)->task.exit_state = 0;
	process_of(low)->task.next_thread = NULL;
	low_has_ended();
}

BOTH(stops_are_not_followed_by_default, "without gpreempt_follow_stop a stopped process keeps the device, and no look is made for it")
{
	u64 wakeups;

	low_works_alone(hws, "0");
	stop(process_of(low), STOPPED, true);
	run(10 * MS);
	wakeups = atomic64_read(&stats()->wakeups);
	run(SEC);
	CHECK(on_device(low));
	CHECK_EQ(preemptions(), 0);
	CHECK_EQ(atomic64_read(&stats()->wakeups), wakeups);
	low_has_ended();
}

BOTH(stopped_process_comes_back_when_no_longer_followed, "what is off the device because its process is stopped comes back when the node follows that no more, and when it is switched off")
{
	low_works_alone(hws, "1");
	stop(process_of(low), STOPPED, true);
	run(20 * MS);
	CHECK(!on_device(low));
	set("gpreempt_follow_stop", "0");
	run(20 * MS);
	CHECK(on_device(low));
	set("gpreempt_follow_stop", "1");
	run(20 * MS);
	CHECK(!on_device(low));
	set("gpreempt_enable", "0");
	run(20 * MS);
	CHECK(on_device(low));
	low_has_ended();
}

BOTH(stopped_process_that_ends_leaves_nothing, "a process that is killed while it is stopped leaves nothing held")
{
	struct sim_queue *other;

	low_works_alone(hws, "1");
	other = add_queue(0);
	stop(process_of(low), STOPPED, true);
	run(20 * MS);
	CHECK(!on_device(low));
	kill_process(process_of(low));
	submit_and_run(other, 3, MS);
	CHECK(run_until_idle(other, SEC));
	CHECK_EQ(atomic64_read(&stats()->destroyed_preempted), 1);
	CHECK_EQ(gpreempt_stats_failures(stats()), 0);
}

BOTH(work_of_others_has_the_device, "while a high process is stopped in the middle of a kernel, low work has the device")
{
	world_make(hws, 1, 1);
	set("gpreempt_follow_stop", "1");
	set("gpreempt_enable", "1");
	add_rivals(10, 0);
	world.nodes[0].nr_wave_slots = 1;
	high->kernel_ns = 200 * MS;
	submit_and_run(high, 1, 5 * MS);
	submit_and_run(low, 5, 5 * MS);
	CHECK(high->in_slot && !low->done);
	stop(process_of(high), STOPPED, true);
	run(20 * MS);
	CHECK(!on_device(high) && on_device(low));
	CHECK(run_until_idle(low, SEC));
	stop(process_of(high), STOPPED, false);
	CHECK(run_until_idle(high, SEC));
	CHECK_EQ(high->done, 1);
}

static int set_follow_stop(struct gpreempt_setting *setting, void *value)
{
	setting->follow_stop = *(const enum gpreempt_follow_stop *)value;
	return 0;
}

static int set_low_priority(struct gpreempt_setting *setting, void *value)
{
	setting->has_priority = true;
	setting->privileged = true;
	setting->priority = -5;
	return 0;
}

static void follow(struct sim_queue *queue, enum gpreempt_follow_stop value)
{
	CHECK_EQ(gpreempt_priority_change_process(&process_of(queue)->pid, set_follow_stop, &value), 0);
}

/* Another process that works beside the first */
static struct sim_queue *other_works(void)
{
	struct sim_queue *other = add_queue(0);

	other->kernel_ns = 50 * MS;
	world.nodes[0].nr_wave_slots = 2;
	submit_and_run(other, 10, 30 * MS);
	return other;
}

BOTH(process_may_follow_where_its_node_does_not, "a process that always leaves when it is stopped does so on a node that follows no stops, and no other process does")
{
	struct sim_queue *other;

	low_works_alone(hws, "0");
	follow(low, GPREEMPT_FOLLOW_STOP_ALWAYS);
	other = other_works();
	CHECK(on_device(low) && on_device(other));
	stop(process_of(low), STOPPED, true);
	stop(process_of(other), STOPPED, true);
	run(20 * MS);
	CHECK(!on_device(low) && preempted(low));
	CHECK_EQ(low->q.gpreempt->policy.verdict, GPREEMPT_VERDICT_STOPPED);
	CHECK(on_device(other));
	follow(low, GPREEMPT_FOLLOW_STOP_NODE);
	run(20 * MS);
	CHECK(on_device(low));
	follow(low, GPREEMPT_FOLLOW_STOP_ALWAYS);
	run(20 * MS);
	CHECK(!on_device(low));
	stop(process_of(low), STOPPED, false);
	CHECK(run_until_idle(other, 2 * SEC));
	low_has_ended();
}

BOTH(process_may_stay_where_its_node_follows, "a process that never leaves when it is stopped stays on a node that follows stops, and others leave")
{
	struct sim_queue *other;

	low_works_alone(hws, "1");
	follow(low, GPREEMPT_FOLLOW_STOP_NEVER);
	other = other_works();
	stop(process_of(low), STOPPED, true);
	stop(process_of(other), STOPPED, true);
	run(20 * MS);
	CHECK(on_device(low) && !preempted(low));
	CHECK(!on_device(other));
	follow(low, GPREEMPT_FOLLOW_STOP_NODE);
	run(20 * MS);
	CHECK(!on_device(low));
	stop(process_of(low), STOPPED, false);
	stop(process_of(other), STOPPED, false);
	CHECK(run_until_idle(other, 2 * SEC));
	low_has_ended();
}

static void follow_cgroup(u64 id, enum gpreempt_follow_stop value)
{
	CHECK_EQ(gpreempt_priority_change_cgroup(id, set_follow_stop, &value), 0);
	run(20 * MS);
}

static void check_word(const struct sim_queue *sq, enum gpreempt_follow_stop value)
{
	tap_at("is %d, not %d: ", sq->q.gpreempt->process->priority.follow_stop, value);
	CHECK(sq->q.gpreempt->process->priority.follow_stop == value);
	tap_at("%s", "");
}

BOTH(processes_of_a_cgroup_may_follow, "what is set for the nearest cgroup holds for a process without a word of its own, and beside a priority of another cgroup")
{
	enum gpreempt_follow_stop none = GPREEMPT_FOLLOW_STOP_NODE;

	low_works_alone(hws, "0");
	follow_cgroup(1, GPREEMPT_FOLLOW_STOP_ALWAYS);
	stop(process_of(low), STOPPED, true);
	run(20 * MS);
	CHECK(!on_device(low) && preempted(low));
	check_word(low, GPREEMPT_FOLLOW_STOP_ALWAYS);
	/* A nearer one */
	follow_cgroup(3, GPREEMPT_FOLLOW_STOP_NEVER);
	CHECK(on_device(low));
	check_word(low, GPREEMPT_FOLLOW_STOP_NEVER);
	/* Its own */
	follow(low, GPREEMPT_FOLLOW_STOP_ALWAYS);
	run(20 * MS);
	CHECK(!on_device(low));
	follow(low, none);
	run(20 * MS);
	CHECK(on_device(low));
	follow_cgroup(3, none);
	CHECK(!on_device(low));
	/* The nearest priority is in another cgroup than the nearest word. */
	CHECK_EQ(gpreempt_priority_change_cgroup(2, set_low_priority, NULL), 0);
	run(20 * MS);
	check_word(low, GPREEMPT_FOLLOW_STOP_ALWAYS);
	CHECK_EQ(low->q.gpreempt->policy.set.priority, -5);
	follow_cgroup(1, none);
	check_word(low, none);
	CHECK(on_device(low));
	stop(process_of(low), STOPPED, false);
	low_has_ended();
}

BOTH(a_process_that_comes_to_a_cgroup_follows, "a process that is moved to a cgroup of whose processes stops are followed leaves when it is stopped, and on a parked node as well")
{
	low_works_alone(hws, "0");
	follow_cgroup(2, GPREEMPT_FOLLOW_STOP_ALWAYS);
	WRITE_ONCE(process_of(low)->task.cgroup, world_cgroup(1));
	run(2 * SEC);
	check_word(low, GPREEMPT_FOLLOW_STOP_NODE);
	WRITE_ONCE(process_of(low)->task.cgroup, world_cgroup(3));
	run(2 * SEC);
	check_word(low, GPREEMPT_FOLLOW_STOP_ALWAYS);
	submit(low, 3);
	stop(process_of(low), STOPPED, true);
	run(20 * MS);
	CHECK(!on_device(low));
	stop(process_of(low), STOPPED, false);
	CHECK(run_until_idle(low, SEC));
}

/* How many looks a node makes in 200 ms */
static u64 looks(void)
{
	u64 before = atomic64_read(&stats()->wakeups);

	run(200 * MS);
	return atomic64_read(&stats()->wakeups) - before;
}

BOTH(only_who_would_leave_costs_looks, "a parked node looks for stops while one of its processes would leave, and not a look longer")
{
	struct sim_queue *other;

	low_works_alone(hws, "0");
	CHECK_EQ(looks(), 0);
	follow(low, GPREEMPT_FOLLOW_STOP_ALWAYS);
	run(20 * MS);
	CHECK_WITHIN(looks(), 20, 21);
	/* Also when it has long had no work. */
	CHECK(run_until_idle(low, 2 * SEC));
	run(3 * SEC);
	CHECK_WITHIN(looks(), 20, 21);
	follow(low, GPREEMPT_FOLLOW_STOP_NODE);
	run(20 * MS);
	CHECK_EQ(looks(), 0);
	other = add_queue(0);
	follow(other, GPREEMPT_FOLLOW_STOP_ALWAYS);
	run(20 * MS);
	CHECK_WITHIN(looks(), 20, 21);
	kill_process(process_of(other));
	run(20 * MS);
	CHECK_EQ(looks(), 0);
	set("gpreempt_follow_stop", "1");
	follow(low, GPREEMPT_FOLLOW_STOP_NEVER);
	run(20 * MS);
	CHECK_EQ(looks(), 0);
}

static int set_exempt(struct gpreempt_setting *setting, void *arg)
{
	setting->exempt = true;
	return 0;
}

BOTH(exempt_process_is_not_taken_off, "an exempt process that is stopped stays on the device, as its user asked")
{
	low_works_alone(hws, "1");
	CHECK_EQ(gpreempt_priority_change_process(&process_of(low)->pid, set_exempt, NULL), 0);
	stop(process_of(low), STOPPED, true);
	run(50 * MS);
	CHECK(on_device(low));
	low_has_ended();
}

BOTH(stops_cost_a_runlist_per_interval, "a process that is stopped and goes on in a loop costs the device no more than a runlist in each gpreempt_interval_ms")
{
	u64 before;
	u32 i;

	low_works_alone(hws, "1");
	before = atomic64_read(&stats()->preemptions) + atomic64_read(&stats()->resumes);
	/* No part of the time between two looks, or all of them find the same. */
	for (i = 0; i < 1000; i++) {
		stop(process_of(low), STOPPED, i & 1);
		run(130 * US);
	}
	CHECK_WITHIN(atomic64_read(&stats()->preemptions) + atomic64_read(&stats()->resumes) - before, 1, 130 / 5 + 1);
	stop(process_of(low), STOPPED, false);
	low_has_ended();
}
