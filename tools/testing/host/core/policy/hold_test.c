// SPDX-License-Identifier: MIT
/*
 * hold_test.c - holds on request
 *
 * A queue that is asked to hold is off the device. If it has work, and the hold has a bound, it
 * runs for a while after gpreempt_max_hold_ms.
 */
#include "policy_node.h"
#include "tap.h"

TEST(a_hold_takes_off, "a queue that is asked to hold is taken off, whoever else has work, and stays off")
{
	high = new_queue(new_process(), HIGH);
	start_hog(high);
	pass();
	high->policy.set.hold = true;
	CHECK_AFTER(POLL, !on_device(high));
	CHECK_LATER(100 * MS, !on_device(high));
	CHECK_EQ(node.nr_acting, 1);
	CHECK(!node.decision.park);
}

TEST(a_hold_takes_nobody_along, "a hold is no reason to preempt lower queues, and gives them the level")
{
	hog_preempts_low();
	high->policy.set.hold = true;
	CHECK_AFTER(POLL, !on_device(high) && on_device(low));
	CHECK_EQ(node.decision.level, LOW);
}

TEST(a_hold_ends, "a queue that is not asked to hold any more comes back with the next pass")
{
	high_is_held();
	CHECK(!on_device(high));
	high->policy.set.hold = false;
	CHECK_AFTER(POLL, on_device(high));
}

TEST(a_hold_is_bounded, "after the maximum hold a queue that is asked to hold runs for the length of a relief if its rank lets it, then it holds again")
{
	two_processes();
	start_both();
	high->policy.set.hold = true;
	CHECK_AFTER(0, !on_device(high) && on_device(low));
	CHECK_EQ(time_until(high, true, 2 * SEC), node.params.max_hold_ns);
	CHECK(!on_device(low));
	CHECK_EQ(node.decision.level, HIGH);
	CHECK_EQ(time_until(high, false, SEC), node.params.relief_ns);
	CHECK(on_device(low));
	CHECK_EQ(time_until(high, true, 2 * SEC), node.params.max_hold_ns);
	CHECK_EQ(node.nr_relief, 0);
}

TEST(a_hold_that_ends_gives_back_the_own_rank, "what is outranked stays off when a hold reaches its maximum, and is owed nothing while something asks for a hold")
{
	hog_preempts_low();
	low->policy.set.hold = true;
	CHECK_LATER(5 * node.params.max_hold_ns, !on_device(low));
	CHECK_EQ(node.nr_relief, 0);
	low->process->policy.debt_ns = 0;
	low->policy.set.hold = false;
	CHECK_WITHIN(time_until(low, true, 2 * SEC), owed_ns(), owed_ns() + 2 * POLL);
	CHECK_EQ(node.nr_relief, 1);
}

TEST(a_hold_without_work_lasts, "a queue without work that is asked to hold is not given back now and then")
{
	high = new_queue(new_process(), HIGH);
	high->policy.set.hold = true;
	CHECK_AFTER(0, !on_device(high));
	CHECK_LATER_EVERY(3 * node.params.max_hold_ns, 5 * MS, !on_device(high));
	CHECK_EQ(node.nr_acting, 1);
}

TEST(a_hold_lets_go_in_time, "the maximum of a hold and the time for which it does not count shorten the sleep")
{
	node.params.poll_ns = 0;
	node.params.interval_ns = 10 * SEC;
	high_is_held();
	CHECK_EQ(node.decision.next_ns, node.params.max_hold_ns);
	CHECK_AFTER(node.decision.next_ns, on_device(high));
	CHECK_EQ(node.decision.next_ns, node.params.relief_ns);
	CHECK_AFTER(node.decision.next_ns, !on_device(high));
}

TEST(holds_have_deadlines, "the end of a hold that somebody asked for is known when it begins, unless it has none; age is nothing to it")
{
	EACH_ANEW(i, 4, "case %u: ", i) {
		node.params.poll_ns = 0;
		node.params.interval_ns = 10 * SEC;
		node.params.aging_ns = i & 2 ? MS : 0;
		high = new_queue(new_process(), HIGH);
		start_hog(high);
		high->policy.set.hold = true;
		high->policy.set.hold_unbounded = i & 1;
		CHECK_AFTER(0, !on_device(high));
		CHECK_EQ(node.decision.next_ns, i & 1 ? node.params.interval_ns : node.params.max_hold_ns);
		CHECK_EQ_AFTER(10 * MS, node.decision.next_ns, i & 1 ? node.params.interval_ns : node.params.max_hold_ns - 10 * MS);
	}
}

TEST(a_hold_ends_a_turn, "a queue that is asked to hold in its turn for a debt leaves the device")
{
	hog_preempts_low();
	time_until(low, true, 2 * SEC);
	low->policy.set.hold = true;
	CHECK_LATER(2 * POLL, !on_device(low) && on_device(high));
	CHECK_LATER_EVERY(SEC / 2, MS, !on_device(low) && on_device(high));
}

TEST(a_hold_counts_anew, "what was left of the time for which one hold did not count is nothing to the next one")
{
	high_is_held();
	time_until(high, true, 2 * SEC);
	high->policy.set.hold = false;
	CHECK_AFTER(POLL, on_device(high));
	high->policy.set.hold = true;
	CHECK_AFTER(POLL, !on_device(high));
}

TEST(a_hold_yields_to_the_driver, "a queue that the driver does not let go is not held, and one that opted out neither")
{
	high = new_queue(new_process(), HIGH);
	low = new_queue(new_process(), LOW);
	high->policy.set.hold = true;
	high->policy.set.immovable = true;
	low->policy.set.hold = true;
	low->process->policy.opt_out = true;
	start_both();
	CHECK_EQ_LATER(10 * MS, node.nr_preempted, 0);
}

TEST(a_hold_that_waits_keeps_the_monitor_awake,
     "a node does not park while a queue that is asked to hold is on the device: in relief, or because the driver holds on to it")
{
	high_is_held();
	CHECK(!on_device(high));
	CHECK_AFTER(node.params.max_hold_ns, on_device(high));
	CHECK_AFTER(POLL, on_device(high));
	CHECK(!node.decision.park);
	CHECK_AFTER(node.params.relief_ns, !on_device(high));
	high->policy.set.immovable = true;
	CHECK_AFTER(POLL, on_device(high));
	CHECK_AFTER(POLL, !node.decision.park);
	high->policy.set.hold = false;
	CHECK_AFTER(POLL, node.decision.park);
}

TEST(an_unbounded_hold_has_no_relief, "a queue that is asked to hold without bound stays off, however long its work waits")
{
	high = new_queue(new_process(), HIGH);
	start_hog(high);
	high->policy.set.hold = true;
	high->policy.set.hold_unbounded = true;
	pass();
	CHECK_LATER_EVERY(5 * SEC, 5 * MS, !on_device(high));
	CHECK_EQ(node.nr_relief, 0);
	CHECK_EQ(node.nr_acting, 1);
	CHECK_EQ(node.decision.next_ns, node.params.interval_ns);
	high->policy.set.hold = false;
	CHECK_AFTER(POLL, on_device(high));
}

TEST(an_unbounded_hold_is_a_hold, "a queue that is preempted for its rank has its relief, whatever was said about holds")
{
	hog_preempts_low();
	low->policy.set.hold_unbounded = true;
	time_until(low, true, 2 * SEC);
}

TEST(a_hold_that_ends_waits_for_nothing, "a queue that was held on request comes back at once, whatever the budget and resume_delay say")
{
	hog_preempts_low();
	drop_queue(high);
	node.params.resume_delay_ns = 5 * MS;
	CHECK_LATER(100 * MS, on_device(low));
	low->policy.set.hold = true;
	CHECK_AFTER(POLL, !on_device(low));
	spend(high, 100 * MS);
	low->policy.set.hold = false;
	CHECK_AFTER(POLL, on_device(low));
}

TEST(holds_spend_no_budget, "to hold and let go in a loop leaves the overhead budget to preemptions")
{
	hog_preempts_low();
	drop_queue(high);
	passes_for(100 * MS, POLL);
	TIMES(100) {
		low->policy.set.hold = !low->policy.set.hold;
		CHECK_EQ_AFTER(POLL, on_device(low), !low->policy.set.hold);
		gpreempt_policy_overhead(&node.policy, MS, low->policy.set.hold, node.now_ns);
		CHECK_EQ(spent_ns(), 0);
	}
}
