// SPDX-License-Identifier: MIT
/*
 * budget_test.c - the overhead budget
 *
 * Saving and restoring take their share of the time. Preemptions wait for room in it, resumes for a
 * while.
 */
#include "demand.h"
#include "policy_node.h"
#include "tap.h"

/* High has a short kernel each @period_ns, low works all the time; returns how often low was preempted in @ns. */
static u32 preemptions_of_a_bursty_high(u64 ns, u64 period_ns)
{
	u64 end_ns = node.now_ns + ns;
	u32 before;

	low_works();
	before = low->preempted;
	while (node.now_ns < end_ns) {
		u64 request_ns = node.now_ns;

		submit(high, 1);
		pass_after(POLL);
		time_until(low, false, 5 * SEC);
		launch(high, 1, 8);
		pass_after(POLL);
		finish(high);
		time_until(low, true, 10 * MS);
		if (node.now_ns - request_ns < period_ns)
			passes_for(request_ns + period_ns - node.now_ns, POLL);
	}
	return low->preempted - before;
}

TEST(overhead_budget_stretches_preemptions,
     "saving and restoring takes no more than its share of time, and all of that share where there is enough to do")
{
	u64 start_ns, took_ns;
	u32 n;

	/* 2 ms to save and as much to restore, 2 ms to map: 6 ms of overhead each. */
	node.pass_takes_ns = 2 * MS;
	node.params.overhead_pct = 20;
	start_ns = node.now_ns;
	n = preemptions_of_a_bursty_high(3 * SEC, 2 * MS);
	took_ns = node.now_ns - start_ns;
	CHECK_WITHIN(n * 6 * MS, took_ns * 18 / 100, took_ns * 20 / 100 + 20 * MS + 6 * MS);
}

TEST(budget_allows_bursts, "as long as little was preempted before, nothing waits for the budget")
{
	node.pass_takes_ns = 100 * US;
	CHECK_EQ(preemptions_of_a_bursty_high(20 * MS, 2 * MS), 10);
	CHECK(!node.policy.saving);
}

TEST(no_budget_no_wait, "gpreempt_overhead_pct=0 lets saving and restoring take any share of time")
{
	node.pass_takes_ns = 50 * MS;
	node.params.overhead_pct = 0;
	CHECK_EQ(preemptions_of_a_bursty_high(40 * MS, 2 * MS), 20);
	/* And leaves nothing to pay for later. */
	node.params.overhead_pct = 10;
	submit(high, 1);
	CHECK_AFTER(POLL, !on_device(low));
}

/* The budget is used up, low runs, high waits. */
static void budget_is_used_up(void)
{
	low_works();
	gpreempt_policy_overhead(&node.policy, 20 * MS, false, node.now_ns);
	start_hog(high);
	CHECK_AFTER(POLL, on_device(low));
	CHECK(node.decision.inversion);
	CHECK(node.decision.over_budget);
}

TEST(budget_is_told_once, "that a preemption waits for the budget is told once, and the wait ends when it says")
{
	u64 start_ns;

	node.params.poll_ns = 0;
	node.params.interval_ns = SEC;
	budget_is_used_up();
	start_ns = node.now_ns - POLL;
	CHECK_AFTER(POLL, !node.decision.over_budget);
	while (on_device(low)) {
		CHECK(node.decision.next_ns <= 100 * MS);
		CHECK(node.now_ns - start_ns < SEC);
		CHECK_AFTER(node.decision.next_ns, !node.decision.over_budget);
	}
	/* 10 ms more than 10 % of 100 ms: paid for in 100 ms. */
	CHECK_WITHIN(node.now_ns - start_ns, 100 * MS, 101 * MS);
}

TEST(the_budget_says_when, "a preemption that waits for the budget is looked at when there is room for it: the rest, at that percentage")
{
	node.params.poll_ns = 0;
	node.params.interval_ns = SEC;
	low_works();
	gpreempt_policy_overhead(&node.policy, 20 * MS, false, node.now_ns);
	start_hog(high);
	CHECK_AFTER(0, on_device(low));
	/* 10 ms more than 10 % of 100 ms; and what is lost by dividing. */
	CHECK_EQ(node.decision.next_ns, 100 * MS + 100);
	node.policy.params.overhead_pct = 0;
	gpreempt_policy_overhead(&node.policy, MS, false, node.now_ns);
	CHECK_EQ(node.policy.overhead_ns, 0);
}

TEST(one_slow_pass_does_not_stop_service, "a hardware pass of seconds is not held against the node for minutes")
{
	budget_is_used_up();
	gpreempt_policy_overhead(&node.policy, 4 * SEC, true, node.now_ns);
	CHECK(time_until(low, false, 10 * SEC) <= SEC);
}

TEST(relief_does_not_wait_for_the_budget, "a queue preempted for too long gets the device, whatever that costs")
{
	hog_preempts_low();
	passes_for(owed_ns() - 4 * POLL, POLL);
	gpreempt_policy_overhead(&node.policy, 100 * MS, false, node.now_ns);
	node.policy.pass_ns = 0;
	CHECK_LATER(8 * POLL, on_device(low) && !on_device(high));
}

TEST(resumes_wait_for_the_budget_for_a_while,
     "what need not be preempted comes back when the budget has room for taking it off again, and when it has waited for as long as a switch takes at the latest")
{
	static const struct { u64 overhead_ns, wait_ns; } cases[] = {
		{ 4 * MS, 0 }, { 5 * MS + 200 * US, 2 * MS }, { 100 * MS, 9 * MS },
	};
	u64 waited_ns;

	EACH_CASE_ANEW(i, cases) {
		hog_preempts_low();
		launch(high, 999, 8);
		pass_after(POLL);
		drain(high);
		gpreempt_policy_overhead(&node.policy, cases[i].overhead_ns, false, node.now_ns);
		node.policy.pass_ns = 3 * MS;
		waited_ns = time_until(low, true, 20 * MS);
		CHECK(waited_ns + POLL >= cases[i].wait_ns && waited_ns <= cases[i].wait_ns + 2 * POLL);
	}
	/* The pass that is to come counts as well, up to half of what there is. */
	EACH_ANEW(i, 2, "pass %u: ", i) {
		hog_preempts_low();
		launch(high, 999, 8);
		pass_after(POLL);
		drain(high);
		gpreempt_policy_overhead(&node.policy, i ? 5 * MS + 500 * US : 7 * MS, false, node.now_ns);
		node.policy.pass_ns = i ? SEC : 1100 * US;
		waited_ns = time_until(low, true, 30 * MS);
		CHECK(i ? waited_ns < 9 * MS : waited_ns / MS == 3);
	}
}

TEST(resumes_that_wait_are_seen_in_time, "the room in the budget that a resume waits for shortens the sleep")
{
	hog_preempts_low();
	drop_queue(high);
	node.params.poll_ns = 0;
	node.params.interval_ns = SEC;
	gpreempt_policy_overhead(&node.policy, 5 * MS + 200 * US, false, node.now_ns);
	node.policy.pass_ns = 3 * MS;
	CHECK_AFTER(100, !on_device(low));
	CHECK_WITHIN(node.decision.next_ns, 1900 * US, 2100 * US);
	CHECK_AFTER(node.decision.next_ns, on_device(low));
}

/* ---- what firmware notes ---- */

/* What the budget has been charged with, after a pass that preempted, and one that only resumed. */
static void charged(u64 connect_ns, u64 restore_ns, u64 preempting_ns, u64 resuming_ns)
{
	node.policy.device.connect_ns = connect_ns;
	node.policy.device.restore_ns = restore_ns;
	node.policy.overhead_ns = 0;
	node.policy.overhead_at_ns = node.now_ns;
	gpreempt_policy_overhead(&node.policy, 100 * US, true, node.now_ns);
	CHECK_EQ(node.policy.overhead_ns, preempting_ns);
	gpreempt_policy_overhead(&node.policy, 100 * US, false, node.now_ns);
	CHECK_EQ(node.policy.overhead_ns, preempting_ns + resuming_ns);
	/* Flags alone. */
	gpreempt_policy_overhead(&node.policy, 0, false, node.now_ns);
	CHECK_EQ(node.policy.overhead_ns, preempting_ns + resuming_ns);
}

TEST(stamps_are_charged, "connecting is charged for each pass, restoring as it was noted, and as saving where it was not")
{
	low_works();
	charged(0, 0, 200 * US, 100 * US);
	charged(160 * US, 0, 360 * US, 260 * US);
	charged(0, 30 * US, 130 * US, 100 * US);
	charged(160 * US, 30 * US, 290 * US, 260 * US);
}

TEST(waves_come_back_after_connecting, "so long as connecting and restoring take is waited for waves")
{
	node.policy.pass_ns = 100 * US;
	CHECK_EQ(gpreempt_demand_restore_ns(&node.policy), GPREEMPT_WAVES_RESTORE_NS);
	node.policy.device.connect_ns = 300 * US;
	node.policy.device.restore_ns = 100 * US;
	CHECK_EQ(gpreempt_demand_restore_ns(&node.policy), 1600 * US);
	node.policy.pass_ns = 500 * US;
	CHECK_EQ(gpreempt_demand_restore_ns(&node.policy), 2000 * US);
}

TEST(a_wrong_stamp_decides_nothing, "whatever stamps say, connecting and restoring count four passes at most")
{
	u64 charged_ns, restore_ns, switch_ns, k;

	for (k = 0; k < 2; k++) {
		tap_renew();
		node.policy.device.connect_ns = k ? 20 * MS : 400 * US;
		node.policy.device.restore_ns = k ? SEC : 400 * US;
		gpreempt_policy_overhead(&node.policy, 100 * US, true, node.now_ns);
		if (!k) {
			charged_ns = node.policy.overhead_ns;
			restore_ns = gpreempt_demand_restore_ns(&node.policy);
			switch_ns = demand_switch_ns(&node.policy);
		}
		CHECK_EQ(node.policy.overhead_ns, charged_ns);
		CHECK_EQ(gpreempt_demand_restore_ns(&node.policy), restore_ns);
		CHECK_EQ(demand_switch_ns(&node.policy), switch_ns);
	}
}

/* After 20 kernels of high with gaps of 320 us between them, seen by looks each 80 us: were they short ones? */
static bool gaps_are_short(u64 pass_ns, u64 connect_ns, u64 restore_ns)
{
	tap_renew();
	node.params.poll_ns = 80 * US;
	node.pass_takes_ns = pass_ns;
	node.policy.device.connect_ns = connect_ns;
	node.policy.device.restore_ns = restore_ns;
	low_works();
	TIMES(20) {
		submit(high, 1);
		passes_for(80 * US, 80 * US);
		if (!on_device(high))
			continue;
		launch(high, 1, 8);
		passes_for(MS, 80 * US);
		finish(high);
		passes_for(320 * US, 80 * US);
	}
	return low->policy.gaps.nr >= GPREEMPT_GAPS_LEAST;
}

TEST(a_gap_that_connecting_fills_is_short, "where connecting takes long, a gap is short that would be worth a switch otherwise; that firmware restores quickly makes none long")
{
	CHECK(!gaps_are_short(20 * US, 0, 0));
	CHECK(gaps_are_short(40 * US, 160 * US, 0));
	CHECK(gaps_are_short(90 * US, 0, 0));
	CHECK(gaps_are_short(90 * US, 0, 5 * US));
}
