// SPDX-License-Identifier: MIT
/* obstacles_test.c - what keeps a queue from being preempted */
#include "own_file.h"

static void debugs(bool on) { debug_process(process_of(low), on); }
static void debugs_node(bool on) { WRITE_ONCE(process_of(low)->p.pdds[0].qpd.is_debug, on); }
static void is_destroyed(bool on) { WRITE_ONCE(low->q.properties.is_being_destroyed, on); }
static void has_no_area(bool on) { low->q.properties.ctx_save_restore_area_address = on ? 0 : 0x7000000; }

static const struct {
	void (*change)(bool on);
	enum gpreempt_skip skip;
} obstacles[] = {
	{ debugs, GPREEMPT_SKIP_DEBUGGED }, { debugs_node, GPREEMPT_SKIP_DEBUGGED },
	{ is_destroyed, GPREEMPT_SKIP_DESTROYED }, { has_no_area, GPREEMPT_SKIP_SAVE_AREA },
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
		CHECK_EQ(low->q.gpreempt->policy.verdict, GPREEMPT_VERDICT_OBSTACLE);
		CHECK_EQ(skipped(obstacles[i].skip), before + 1);
		obstacles[i].change(false);
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

/* Low's process has a second queue with work, and one of the two does not leave when it is asked to. */
static struct sim_queue *sibling;

static void low_has_a_sibling(bool hws)
{
	low_runs(hws);
	sibling = add_queue_to(process_of(low), 0, NORMAL);
	sibling->kernel_ns = 50 * MS;
}

static bool looks_reset(void)
{
	return !on_device(low) && !preempted(low) && !low->q.properties.is_active && low->reset &&
	       !strcmp(gpreempt_queue_sysfs_state(low->q.gpreempt, 1), "lost");
}

static void is_preempted_and_comes_back(struct sim_queue *sq)
{
	run_kernels(sq, 2, 50 * MS, 2 * MS);
	CHECK(sq->in_slot);
	run_kernels(high, 1, 20 * MS, 10 * MS);
	CHECK(preempted(sq) && high->in_slot);
	CHECK(run_until_idle(sq, SEC));
}

TEST(having_had_a_queue_reset_is_no_exemption, "a program of which a queue was reset is preempted with its others, with new ones, and with that one if the driver maps it again")
{
	low_has_a_sibling(true);
	/* The driver's own request, for another process. */
	low->abandoned = true;
	evict_and_restore(high);
	CHECK_AFTER(5 * MS, looks_reset());
	CHECK_EQ(world.nr_reset_events, 1);
	CHECK_EQ(failed(GPREEMPT_FAILURE_VICTIM_RESET), 0);
	is_preempted_and_comes_back(sibling);
	is_preempted_and_comes_back(add_queue_to(process_of(low), 0, NORMAL));
	CHECK_EQ(skipped(GPREEMPT_SKIP_RESET), 0);
	/* An eviction and its end. */
	evict_and_restore(low);
	CHECK(on_device(low));
	apply(GPREEMPT_PREEMPT);
	CHECK(preempted(low) && !on_device(low));
	apply(GPREEMPT_RESUME);
	CHECK(on_device(low));
}

TEST(a_refused_update_keeps_nobody_off, "an update that the driver refuses to a program of which a queue was reset leaves all others on the device")
{
	low_has_a_sibling(true);
	low->abandoned = true;
	evict_and_restore(high);
	CHECK_EQ(update_queue(sibling, NORMAL), -EACCES);
	CHECK(on_device(high) && on_device(sibling));
	submit(high, 1);
	CHECK(run_until_idle(high, SEC));
	/* Switched off, the driver does as it would without the package. */
	set("gpreempt_enable", "0");
	CHECK_EQ(update_queue(sibling, NORMAL), -EACCES);
	CHECK(!on_device(high) && !on_device(sibling));
	evict_and_restore(high);
	CHECK(on_device(high) && on_device(sibling));
}

TEST(a_victim_that_is_reset_is_told, "a victim that does not leave, and is reset, is counted, stays off, and is no victim; its sibling, taken in the same pass, comes back")
{
	u64 resumed;

	low_has_a_sibling(true);
	submit(sibling, 2);
	low->abandoned = true;
	set("gpreempt_max_hold_ms", "0");
	high_comes();
	CHECK(looks_reset());
	CHECK(preempted(sibling) && !on_device(sibling));
	CHECK_EQ(world.nr_reset_events, 1);
	CHECK_EQ(failed(GPREEMPT_FAILURE_VICTIM_RESET), 1);
	CHECK_EQ(skipped(GPREEMPT_SKIP_RESET), 1);
	CHECK_EQ(preemptions(), 1);
	CHECK_EQ_AFTER(5 * MS, low->q.gpreempt->policy.verdict, GPREEMPT_VERDICT_DRIVER);
	resumed = resumes();
	CHECK(run_until_idle(high, SEC));
	CHECK(run_until_idle(sibling, SEC));
	CHECK_EQ(resumes(), resumed + 1);
	CHECK(looks_reset());
}

TEST(what_was_preempted_meanwhile_comes_back, "a queue that is preempted or held while another of its program is reset comes back when it may, and RESUME finds nothing wrong")
{
	struct gpreempt_hold hold = { .target = { .scope = GPREEMPT_SCOPE_QUEUE } };

	low_has_a_sibling(true);
	open_own_file();
	hold.target.pid = process_of(low)->pid.nr;
	hold.target.gpu_id = world.nodes[0].node.id;
	hold.target.queue_id = sibling->q.properties.queue_id;
	CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, &hold), 0);
	CHECK(preempted(sibling));
	low->abandoned = true;
	evict_and_restore(high);
	CHECK_AFTER(5 * MS, looks_reset());
	hold.nr_queues = 0;
	CHECK_EQ(command(GPREEMPT_IOC_RESUME, &hold), 0);
	CHECK_AFTER(5 * MS, !preempted(sibling) && on_device(sibling));
	submit(sibling, 2);
	CHECK(run_until_idle(sibling, SEC));
}

TEST(resume_says_that_a_queue_was_reset, "RESUME of a queue that was reset says so, once, and ends the hold; PREEMPT refuses it from then on")
{
	struct gpreempt_hold hold = { .target = { .scope = GPREEMPT_SCOPE_PROCESS } };

	low_has_a_sibling(true);
	open_own_file();
	hold.target.pid = process_of(low)->pid.nr;
	low->abandoned = true;
	CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, &hold), 0);
	CHECK(looks_reset() && preempted(sibling));
	CHECK_EQ(failed(GPREEMPT_FAILURE_VICTIM_RESET), 1);
	hold.nr_queues = 0;
	CHECK_EQ(command(GPREEMPT_IOC_RESUME, &hold), -EIO);
	CHECK_EQ(hold.nr_queues, 2);
	CHECK_AFTER(5 * MS, looks_reset() && on_device(sibling));
	hold.nr_queues = 0;
	CHECK_EQ(command(GPREEMPT_IOC_RESUME, &hold), 0);
	CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, &hold), -EBUSY);
	hold.target = (struct gpreempt_target){ .scope = GPREEMPT_SCOPE_QUEUE, .pid = process_of(low)->pid.nr, .gpu_id = world.nodes[0].node.id,
						.queue_id = sibling->q.properties.queue_id };
	CHECK_EQ(command(GPREEMPT_IOC_PREEMPT, &hold), 0);
}

TEST(a_sibling_of_what_had_to_be_reset_comes_back, "without the hardware scheduler, the other queues of a program of which one had to be reset are preempted and come back")
{
	low_has_a_sibling(false);
	submit(sibling, 2);
	low->stuck_ns = U64_MAX;
	set("gpreempt_max_hold_ms", "0");
	run_kernels(high, 100, 50 * MS, 4500 * MS);
	CHECK(low->q.gpreempt->hw.lost && process_of(low)->p.pdds[0].has_reset_queue);
	CHECK(preempted(sibling));
	CHECK(run_until_idle(sibling, 60 * SEC));
	is_preempted_and_comes_back(sibling);
	CHECK(!on_device(low));
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
