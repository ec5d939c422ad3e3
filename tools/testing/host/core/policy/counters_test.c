// SPDX-License-Identifier: MIT
/*
 * counters_test.c - waves that counters do not show
 *
 * Where waves in flight cannot be read, or what is read is not true, launches tell instead, or
 * runlists do.
 */
#include "policy_node.h"
#include "tap.h"

/* ---- waves in flight cannot be read, or are counted late ---- */

TEST(without_wave_counts_launches_decide,
     "where waves in flight cannot be read, they are not asked for, and a queue is busy for a while after its last launch")
{
	node.device.waves_known = false;
	two_processes();
	start_hog(low);
	submit(high, 1);
	CHECK_LATER(50 * MS, !on_device(low));
	launch(high, 1, 8);
	CHECK_LATER(GPREEMPT_LAUNCHED_NS, !on_device(low));
	CHECK_AFTER(POLL, on_device(low));
	CHECK_EQ(node.nr_asked, 0);
}

TEST(without_wave_counts_saved_waves_count,
     "where waves in flight cannot be read, a queue that returns with saved waves is busy for a while")
{
	node.device.waves_known = false;
	three_processes();
	last_kernel(middle);
	start_both();
	CHECK_AFTER(0, !on_device(middle) && !on_device(low));
	drain(high);
	time_until(middle, true, 20 * POLL);
	CHECK(!on_device(low));
	CHECK_AFTER(POLL, !on_device(low));
	CHECK_AFTER(GPREEMPT_LAUNCHED_NS, on_device(low));
}

TEST(late_wave_counts_do_not_end_a_launch,
     "where waves are known to be counted late, a queue that shows none is busy for that long after a launch; elsewhere it is not")
{
	EACH_ANEW(i, 2, "late %u: ", i) {
		node.device.waves_lag_ns = i ? GPREEMPT_WAVES_LAG_NS : 0;
		two_processes();
		start_hog(low);
		submit(high, 1);
		passes_for(50 * MS, POLL);
		launch(high, 1, 8);
		CHECK_LATER(10 * MS, !on_device(low));
		submit(high, 1);
		finish(high);
		pass_after(POLL);
		launch(high, 1, 0);
		CHECK_AFTER(POLL, on_device(low) == !i);
		CHECK_AFTER(GPREEMPT_WAVES_LAG_NS - 1, on_device(low) == !i);
		CHECK_AFTER(1, on_device(low));
	}
}

/* ---- what is read is not true ---- */

TEST(a_kept_stack_offset_takes_no_relief_for_ever,
     "an idle queue whose control stack still says that waves were saved has one relief, and counts as idle until it launches again")
{
	struct queue *idle = new_queue(new_process(), LOW);

	past_kernel(idle);
	node.stack_kept = true;
	hog_preempts_low();
	CHECK(!on_device(idle) && idle->policy.saved_waves);
	TIMES(5) {
		pass_after(node.params.max_hold_ns);
		passes_for(node.params.relief_ns, POLL);
	}
	CHECK(idle->policy.seen.showed_none);
	CHECK_EQ(idle->preempted, 2);
	CHECK_WITHIN(node.nr_relief, 5, 6);
	submit(idle, 2);
	CHECK_AFTER(POLL, !idle->policy.seen.showed_none);
	TIMES(3) {
		pass_after(node.params.max_hold_ns);
		passes_for(node.params.relief_ns, POLL);
	}
	CHECK(idle->preempted >= 3);
}

TEST(counters_that_never_count_starve_nobody, "where waves always read as none, saved waves have their relief and still count after it, and no queue is found blocked")
{
	node.zero_waves = true;
	node.policy.waves_seen = false;
	low_is_preempted();
	/* Low has nothing but its saved waves; high has a long kernel and packets behind it. */
	low->rptr = low->wptr;
	start_hog(high);
	CHECK_LATER(owed_ns() - 2 * POLL, !high->policy.seen.blocked && !on_device(low));
	CHECK_EQ_LATER(5 * MS, node.nr_relief, 1);
	CHECK(on_device(low) && on_device(high));
	CHECK(!low->policy.seen.showed_none);
	CHECK(!high->policy.seen.blocked);
	/* The first wave that is seen proves them. */
	node.zero_waves = false;
	finish(high);
	low->waves = 0;
	drain(high);
	start_hog(high);
	passes_for(100 * MS, POLL);
	submit(low, 1);
	passes_for(10 * MS, POLL);
	node.policy.waves_seen = true;
	finish(high);
	CHECK_LATER(node.params.blocked_ns + 3 * GPREEMPT_WAVES_SETTLE_NS, high->policy.seen.blocked && on_device(low));
}

TEST(miscounted_waves_are_forgotten, "what counters said that turn out not to count does not bring a lower queue back")
{
	node.zero_waves = true;
	low_is_preempted();
	node.policy.waves_seen = false;
	launch(high, 1, 8);
	passes_for(GPREEMPT_LAUNCHED_NS - 4 * POLL, POLL);
	CHECK(!on_device(low) && high->policy.seen.waves_ns);
	node.device.waves_saved = true;
	passes_for(10 * MS, POLL);
	CHECK(!on_device(low));
}

TEST(a_late_read_pointer_costs_little, "a queue whose read pointer is not written before it is idle for long is taken for blocked, and those below it lose 5 % at most")
{
	u64 low_ns = 0, total_ns = 0;

	low_is_preempted();
	/* High is done, and nobody says so. */
	while (total_ns < 3 * SEC) {
		pass_after(POLL);
		total_ns += POLL;
		low_ns += on_device(low) ? POLL : 0;
	}
	CHECK(low_ns * 100 >= total_ns * 95);
}

/* ---- only runlists tell ---- */

static void only_runlists_tell(void)
{
	node.device.waves_saved = true;
	node.policy.waves_seen = false;
}

/* Both have work, high's is one kernel by now. */
static void high_runs_uncounted(void)
{
	only_runlists_tell();
	low_is_preempted();
	launch(high, 1, 8);
	pass_after(POLL);
}

TEST(runlists_tell_that_a_kernel_runs, "where only runlists tell, a long kernel holds those below, and is asked about ever more rarely")
{
	u32 asked;

	node.params.max_hold_ns = 0;
	high_runs_uncounted();
	CHECK_LATER(10 * MS, !on_device(low));
	asked = node.nr_runlists;
	CHECK_WITHIN(asked, 2, 5);
	CHECK_LATER(400 * MS, !on_device(low));
	CHECK(node.nr_runlists - asked <= 20);
	finish(high);
	CHECK_LATER(110 * MS, on_device(low));
	/* What has ended is not asked about again. */
	asked = node.nr_runlists;
	CHECK_EQ_LATER(500 * MS, node.nr_runlists, asked);
	CHECK_EQ(high->preempted, 0);
}

TEST(runlists_tell_no_more_often_than_that, "where only runlists tell, they are 2 ms and 16 passes apart, whoever launches when")
{
	node.pass_takes_ns = 500 * US;
	node.params.overhead_pct = 0;
	high_runs_uncounted();
	TIMES(100) {
		submit(high, 1);
		pass_after(POLL);
		launch(high, 1, 8);
		passes_for(3 * MS, POLL);
	}
	CHECK(!on_device(low));
	CHECK_WITHIN(node.nr_runlists, 5, 100 * 3 / 8 + 2);
}

TEST(uncounted_lower_waves_yield_at_once, "where only runlists tell, a lower queue that launched is taken off for work that is there, and not asked about first")
{
	only_runlists_tell();
	two_processes();
	last_kernel(low);
	CHECK_EQ_LATER(50 * MS, node.nr_runlists, 0);
	submit(high, 1000);
	CHECK_AFTER(POLL, !on_device(low));
	CHECK_EQ(node.nr_runlists, 0);
	CHECK_EQ(low->preempted, 1);
}

TEST(known_to_have_none_they_stay, "where only runlists tell, a lower queue that was found without waves is not taken off again before it launches")
{
	only_runlists_tell();
	two_processes();
	past_kernel(low);
	passes_for(10 * MS, POLL);
	TIMES(5) {
		submit(high, 1);
		pass_after(POLL);
		drain(high);
		CHECK_LATER(50 * MS, on_device(low));
	}
	CHECK_EQ(low->preempted, 1);
}

TEST(runlists_tell_who_is_blocked, "where only runlists tell, a queue that stands still without waves is found blocked, and one with a long kernel is not")
{
	only_runlists_tell();
	node.params.max_hold_ns = 0;
	low_is_preempted();
	submit(high, 10);
	CHECK_LATER(5 * node.params.blocked_ns, high->policy.seen.blocked && on_device(low));
	launch(high, 1, 8);
	CHECK_AFTER(POLL, !high->policy.seen.blocked && !on_device(low));
	CHECK_LATER(20 * node.params.blocked_ns, !high->policy.seen.blocked && !on_device(low));
}
