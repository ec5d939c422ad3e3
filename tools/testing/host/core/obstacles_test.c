// SPDX-License-Identifier: MIT
/* obstacles_test.c - what keeps a queue from being preempted */
#include "rivals.h"

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
	low_runs(hws);
	high->kernel_ns = MS;
	low->kernel_ns = SEC;
	submit(high, 4000);
	EACH(i, ARRAY_SIZE(obstacles), "obstacle %u: ", i) {
		u64 before = skipped(obstacles[i].skip);

		obstacles[i].change(true);
		CHECK_AFTER(20 * MS, !preempted(low));
		/* What was reset is off the device already. */
		CHECK_EQ(low->q.gpreempt->policy.verdict,
			 obstacles[i].skip == GPREEMPT_SKIP_RESET ? GPREEMPT_VERDICT_DRIVER : GPREEMPT_VERDICT_OBSTACLE);
		CHECK_EQ(skipped(obstacles[i].skip), before + 1);
		obstacles[i].change(false);
		/* What was lost in a reset comes back with the next decision of the driver. */
		evict_and_restore(low);
		CHECK_AFTER(20 * MS, preempted(low) && !on_device(low));
	}
}

BOTH(debugging_oneself_is_no_exemption, "a process that enables the debug trap on itself, or is debugged without the right to exempt it, yields like any other")
{
	struct task_struct child = { .pid = 98 };

	low_runs(hws);
	debug_itself(process_of(low), true);
	high_preempts_low();
	CHECK_EQ(skipped(GPREEMPT_SKIP_DEBUGGED), 0);
	low_resumes_after_high(5 * MS);
	debug_itself(process_of(low), false);

	/* A child that it has for this purpose. */
	debug_process_by(process_of(low), &child);
	high_preempts_low();
	CHECK_EQ(skipped(GPREEMPT_SKIP_DEBUGGED), 0);
	CHECK(run_until_idle(high, SEC));
	run(5 * MS);

	/* A tracer with the right, but no debugger of queues. */
	debug_process(process_of(low), true);
	debug_itself(process_of(low), false);
	high_preempts_low();
	CHECK(run_until_idle(high, SEC));
	run(5 * MS);
	debug_itself(process_of(low), true);
	high_comes();
	CHECK(!preempted(low));
	CHECK_EQ(skipped(GPREEMPT_SKIP_DEBUGGED), 1);
	debug_process(process_of(low), false);
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
	CHECK(!node_of(0)->hw.turns);
	CHECK(run_until_idle(high, SEC));
	CHECK_AFTER(5 * MS, !preempted(low) && process_of(low)->p.pdds[0].qpd.mapped_gws_queue);
	CHECK_EQ(dqm->gws_queue_count, 2);
	CHECK(node_of(0)->hw.turns);
	give_gws(high, false);
	high_preempts_low();
	give_gws(low, false);
	low_resumes_after_high(5 * MS);
	CHECK_EQ(dqm->gws_queue_count, 0);
}

BOTH(obstacle_while_preempted, "a debugger that attaches to a preempted process gets its queues back")
{
	low_is_preempted(hws);
	debug_process(process_of(low), true);
	CHECK_AFTER(10 * MS, !preempted(low) && on_device(low));
	debug_process(process_of(low), false);
}

/* What low looks like while its debugger keeps it. */
static bool looks_suspended(void)
{
	return !on_device(low) && !preempted(low) && low->q.gpreempt->policy.verdict == GPREEMPT_VERDICT_DRIVER &&
	       !strcmp(gpreempt_queue_sysfs_state(low->q.gpreempt, 1), "suspended");
}

TEST(suspended_by_its_debugger, "what a debugger suspends, preempted or not, stays off until the debugger lets it go, and is scheduled again")
{
	struct task_struct child = { .pid = 98 };

	/* Of a debugger without the right, the process is preempted as ever. */
	low_is_preempted_polled(true);
	debug_process_by(process_of(low), &child);
	run(20 * MS);
	CHECK(preempted(low));
	suspend_queue(low, true);
	CHECK(!strcmp(gpreempt_queue_sysfs_state(low->q.gpreempt, 1), "preempted"));
	CHECK(run_until_idle(high, SEC));
	CHECK_AFTER(20 * MS, looks_suspended());
	suspend_queue(low, false);
	CHECK(on_device(low));
	high_preempts_low();
	low_resumes_after_high(5 * MS);
	/* Let go while it is preempted. */
	suspend_queue(low, true);
	CHECK_AFTER(20 * MS, looks_suspended());
	suspend_queue(low, false);
	high_comes();
	CHECK(preempted(low));
	suspend_queue(low, true);
	suspend_queue(low, false);
	CHECK(preempted(low) && !on_device(low));
	debug_process_by(process_of(low), NULL);

	/* With the right it has the queue back, and does with it what it likes. */
	debug_process(process_of(low), true);
	CHECK_AFTER(10 * MS, !preempted(low) && on_device(low));
	submit(high, 20);
	suspend_queue(low, true);
	CHECK_AFTER(20 * MS, looks_suspended());
	suspend_queue(low, false);
	CHECK_AFTER(20 * MS, !preempted(low) && on_device(low));
	debug_process(process_of(low), false);
	CHECK_AFTER(20 * MS, preempted(low) && !on_device(low));
	CHECK(run_until_idle(high, 5 * SEC));
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
	CHECK(low->q.gpreempt->policy.set.immovable);
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
}
