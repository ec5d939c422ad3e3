// SPDX-License-Identifier: MIT
/* stopped_test.c - gpreempt_follow_stop: queues of a stopped or frozen process are off the device until it goes on */
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
	for (i = 0; i < 1000; i++) {
		stop(process_of(low), STOPPED, i & 1);
		run(100 * US);
	}
	CHECK_WITHIN(atomic64_read(&stats()->preemptions) + atomic64_read(&stats()->resumes) - before, 1, 100 / 5 + 1);
	stop(process_of(low), STOPPED, false);
	low_has_ended();
}
