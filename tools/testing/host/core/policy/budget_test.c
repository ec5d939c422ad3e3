// SPDX-License-Identifier: MIT
/*
 * budget_test.c - the overhead budget
 *
 * Saving and restoring take their share of the time. Preemptions wait for room in it.
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
	CHECK(!node.policy.saved_up_ns);
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
	spend(high, 20 * MS);
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
	spend(high, 20 * MS);
	start_hog(high);
	CHECK_AFTER(0, on_device(low));
	/* 10 ms more than 10 % of 100 ms; and what is lost by dividing. */
	CHECK_EQ(node.decision.next_ns, 100 * MS + 100);
	node.params.overhead_pct = 0;
	CHECK_AFTER(POLL, !on_device(low));
}

TEST(one_slow_pass_does_not_stop_service, "a hardware pass of seconds is not held against the node for minutes")
{
	budget_is_used_up();
	spend(high, 4 * SEC);
	CHECK(time_until(low, false, 10 * SEC) <= SEC);
}

TEST(relief_does_not_wait_for_the_budget, "a queue preempted for too long gets the device, whatever that costs")
{
	hog_preempts_low();
	passes_for(owed_ns() - 4 * POLL, POLL);
	spend(high, 100 * MS);
	node.policy.pass_ns = 0;
	CHECK_LATER(8 * POLL, on_device(low) && !on_device(high));
}

/* ---- a budget for each priority ---- */

/* The budget of @spender is used up, low runs; does it leave for @q? */
static bool leaves_for(struct queue *q, struct queue *spender, u64 spent_ns)
{
	bool leaves;

	spend(spender, spent_ns);
	start_hog(q);
	pass_after(POLL);
	leaves = !on_device(low);
	drain(q);
	time_until(low, true, 20 * MS);
	return leaves;
}

TEST(a_priority_waits_for_what_it_and_those_above_spent,
     "what preempting for lower work has cost delays nothing above; what it has cost for higher work delays what is below")
{
	static const struct { bool waits_high, spends_high, leaves; } cases[] = {
		{ false, false, false }, { false, true, false }, { true, true, false }, { true, false, true },
	};

	EACH_CASE_ANEW(i, cases) {
		low_works();
		middle = new_queue(new_process(), MIDDLE);
		spend(middle, MS);
		CHECK_EQ(leaves_for(cases[i].waits_high ? high : middle, cases[i].spends_high ? high : middle,
				    50 * MS),
			 cases[i].leaves);
	}
}

TEST(waiting_for_the_budget_is_charged_to_the_middle,
     "without a budget the highest priority of late never waits and uses up no budget; those below it have a tenth of the time, and while they wait the lowest work runs")
{
	node.params.overhead_pct = 0;
	low_works();
	CHECK(leaves_for(high, high, 100 * MS));
	CHECK(leaves_for(high, high, 100 * MS));
	middle = new_queue(new_process(), MIDDLE);
	CHECK(leaves_for(middle, middle, 9 * MS));
	CHECK(!leaves_for(middle, middle, 9 * MS));
	CHECK(leaves_for(high, middle, 100 * MS));
	/* It is the highest of late when the other one has had no work for a second. */
	passes_for(GPREEMPT_CONTENDED_NS + POLL, 10 * MS);
	CHECK(leaves_for(middle, middle, 100 * MS));
}

TEST(turns_for_debts_are_free, "what takes higher work off for a debt is in no budget; that it comes back is in its own")
{
	hog_preempts_low();
	passes_for(SEC, POLL);
	time_until(low, true, 2 * owed_ns());
	CHECK(!node.policy.pays);
	CHECK_EQ(spent_ns(), 0);
	time_until(low, false, SEC);
	CHECK(node.policy.pays);
}

TEST(turns_among_equals_are_free, "what turns among equals cost is in no budget, and none waits for one")
{
	node.params.overhead_pct = 1;
	use("wfq");
	both_work();
	spend(high, 100 * MS);
	spend(low, 100 * MS);
	node.policy.pass_ns = 0;
	passes_for(SEC, POLL);
	CHECK(node.nr_preempted > 20);
	CHECK(!node.policy.pays);
}

TEST(many_priorities_share_buckets, "more priorities than have a budget of their own still wait for what they spend")
{
	struct queue *spenders[GPREEMPT_BUDGET_BUCKETS + 2];
	u32 i;

	low_works();
	for (i = 0; i < GPREEMPT_BUDGET_BUCKETS + 2; i++)
		spenders[i] = new_queue(new_process(), HIGH - (s32)i);
	for (i = 0; i < GPREEMPT_BUDGET_BUCKETS + 2; i++)
		spend(spenders[i], 2 * MS);
	CHECK_EQ(node.policy.nr_buckets, GPREEMPT_BUDGET_BUCKETS);
	CHECK_EQ(spent_ns(), 2 * MS * (GPREEMPT_BUDGET_BUCKETS + 2));
	CHECK(!leaves_for(spenders[GPREEMPT_BUDGET_BUCKETS + 1], high, 0));
	CHECK(leaves_for(spenders[0], high, 0));
	/* What time has paid needs no bucket. */
	passes_for(SEC, 10 * MS);
	spend(high, MS);
	CHECK_EQ(node.policy.nr_buckets, 1);
}

/* ---- what firmware notes ---- */

/* What the budget has been charged with, after a pass that preempted, and one that only resumed. */
static void charged(u64 connect_ns, u64 restore_ns, u64 preempting_ns, u64 resuming_ns)
{
	node.policy.device.connect_ns = connect_ns;
	node.policy.device.restore_ns = restore_ns;
	node.policy.nr_buckets = 0;
	spend(high, 0);
	gpreempt_policy_overhead(&node.policy, 100 * US, true, node.now_ns);
	CHECK_EQ(spent_ns(), preempting_ns);
	gpreempt_policy_overhead(&node.policy, 100 * US, false, node.now_ns);
	CHECK_EQ(spent_ns(), preempting_ns + resuming_ns);
	/* Flags alone. */
	gpreempt_policy_overhead(&node.policy, 0, false, node.now_ns);
	CHECK_EQ(spent_ns(), preempting_ns + resuming_ns);
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
		spend(high, 0);
		gpreempt_policy_overhead(&node.policy, 100 * US, true, node.now_ns);
		if (!k) {
			charged_ns = spent_ns();
			restore_ns = gpreempt_demand_restore_ns(&node.policy);
			switch_ns = demand_switch_ns(&node.policy);
		}
		CHECK_EQ(spent_ns(), charged_ns);
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
