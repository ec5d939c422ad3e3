// SPDX-License-Identifier: MIT
/*
 * fairness.c - the rules around the decision (budget, ageing, minimum run, resume delay, opt-out, hold) and the policies
 *
 * Stories as in rules.c. Documentation/design.rst ("Precedence", "Policies") is the specification.
 */
#include <stdlib.h>
#include <string.h>

#include "demand.h"
#include "policy_node.h"
#include "tap.h"

/* ---- opt-out ---- */

TEST(opt_out_is_never_a_victim, "queues of a process that opted out stay on the device, and alone cause no pass")
{
	two_processes();
	low->process->policy.opt_out = true;
	start_both();
	CHECK_EQ_LATER_EVERY(3 * SEC, 5 * MS, node.nr_preempted, 0);
}

TEST(opt_out_while_preempted_resumes, "a process that opts out gets its preempted queues back with the next pass")
{
	hog_preempts_low();
	low->process->policy.opt_out = true;
	CHECK_AFTER(POLL, on_device(low));
}

TEST(opt_out_does_not_shield_others, "a queue that opted out keeps its place, other lower queues yield")
{
	struct queue *out = new_queue(new_process(), LOW);

	out->process->policy.opt_out = true;
	start_hog(out);
	hog_preempts_low();
	CHECK(on_device(out));
	CHECK(!out->policy.in_the_way);
}

TEST(opt_out_comes_before_relief, "not even for a relief is a queue that opted out taken off")
{
	hog_preempts_low();
	high->process->policy.opt_out = true;
	time_until(low, true, 2 * SEC);
	CHECK(on_device(high));
	CHECK_EQ_LATER(100 * MS, high->preempted, 0);
}

/* ---- explicit holds ---- */

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

TEST(a_hold_that_ends_gives_back_the_own_rank, "what is outranked stays off when a hold reaches its maximum, and starves only from when nothing asks for a hold any more")
{
	hog_preempts_low();
	passes_for(node.params.max_hold_ns / 2, POLL);
	low->policy.set.hold = true;
	CHECK_LATER(5 * node.params.max_hold_ns, !on_device(low));
	CHECK_EQ(node.nr_relief, 0);
	low->policy.set.hold = false;
	CHECK_EQ_AFTER(POLL, time_until(low, true, 2 * SEC), node.params.max_hold_ns);
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

TEST(a_hold_waits_for_a_relief, "a queue that is asked to hold in its relief holds after it")
{
	hog_preempts_low();
	time_until(low, true, 2 * SEC);
	low->policy.set.hold = true;
	CHECK_LATER(node.params.relief_ns - POLL, on_device(low) && !on_device(high));
	CHECK_AFTER(POLL, !on_device(low));
	CHECK_EQ_LATER_EVERY(5 * node.params.max_hold_ns, MS, node.nr_relief, 1);
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

/* ---- announced work ---- */

TEST(announced_work_clears_the_device, "a queue whose work was announced has demand before the work comes, and keeps it for the work")
{
	low_works();
	high->policy.set.expected_until_ns = node.now_ns + 10 * MS;
	CHECK_AFTER(POLL, !on_device(low));
	CHECK_LATER(5 * MS, !on_device(low));
	submit(high, 1);
	pass_after(POLL);
	launch(high, 1, 8);
	CHECK_LATER(20 * MS, !on_device(low));
	finish(high);
	CHECK(time_until(low, true, 10 * MS) <= 2 * GPREEMPT_WAVES_SETTLE_NS);
	CHECK_EQ(node.nr_acting, 2);
}

TEST(announced_work_that_does_not_come, "an announcement ends when it says, and the sleep before that is no longer")
{
	u64 start_ns;

	node.params.poll_ns = 0;
	low_works();
	start_ns = node.now_ns;
	high->policy.set.expected_until_ns = start_ns + 4 * MS;
	CHECK_AFTER(MS, !on_device(low));
	CHECK_EQ(node.decision.next_ns, 3 * MS);
	CHECK_AFTER(3 * MS, on_device(low));
}

TEST(announced_work_ends_with_the_work, "an announcement does not outlive the work that it announced, a new one counts")
{
	low_works();
	high->policy.set.expected_until_ns = node.now_ns + 500 * MS;
	pass_after(POLL);
	submit(high, 1);
	pass_after(POLL);
	drain(high);
	time_until(low, true, 10 * MS);
	CHECK_LATER(10 * MS, on_device(low));
	high->policy.set.expected_until_ns = node.now_ns + 400 * MS;
	CHECK_AFTER(POLL, !on_device(low));
}

TEST(announced_work_of_a_process, "of several queues of a process whose work was announced, the first that gets some has been meant")
{
	struct queue *other, *busy, *stranger;

	two_processes();
	other = new_queue(high->process, HIGH);
	busy = new_queue(high->process, HIGH);
	stranger = new_queue(new_process(), MIDDLE);
	start_hog(low);
	busy->policy.set.expected_until_ns = node.now_ns + 600 * MS;
	submit(busy, 1);
	pass();
	launch(busy, 1, 0);
	CHECK_AFTER(POLL, gpreempt_demand_came(&busy->policy));
	high->policy.set.expected_until_ns = other->policy.set.expected_until_ns = node.now_ns + 500 * MS;
	CHECK_AFTER(POLL, !on_device(low));
	CHECK(!gpreempt_demand_came(&high->policy) && !gpreempt_demand_came(&other->policy));
	/* Work that was announced before is another matter, now and whenever it goes on. */
	submit(busy, 1);
	CHECK_AFTER(POLL, !gpreempt_demand_came(&high->policy) && !gpreempt_demand_came(&other->policy));
	submit(other, 1);
	CHECK_AFTER(POLL, gpreempt_demand_came(&high->policy) && gpreempt_demand_came(&other->policy));
	drain(other);
	pass_after(POLL);
	drain(busy);
	CHECK_AFTER(POLL, gpreempt_demand_came(&high->policy) && gpreempt_demand_came(&other->policy));
	time_until(low, true, 10 * MS);
	CHECK_LATER(10 * MS, on_device(low));
	/* Another process's work is none of theirs, and another announcement is another one. */
	high->policy.set.expected_until_ns = node.now_ns + 400 * MS;
	stranger->policy.set.expected_until_ns = node.now_ns + 300 * MS;
	submit(stranger, 1);
	CHECK_AFTER(POLL, !gpreempt_demand_came(&high->policy) && gpreempt_demand_came(&stranger->policy));
	CHECK(!on_device(low));
}

TEST(announced_work_of_a_preempted_queue, "a queue that was taken along idle comes back when its work is announced")
{
	struct queue *idle = new_queue(new_process(), HIGH - 1);

	hog_preempts_low();
	CHECK(!on_device(idle));
	drain(high);
	idle->policy.set.priority = HIGH + 1;
	idle->policy.set.expected_until_ns = node.now_ns + 10 * MS;
	CHECK_AFTER(POLL, on_device(idle) && !on_device(low));
	CHECK_EQ(node.decision.level, HIGH + 1);
}

/* ---- overhead budget ---- */

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

TEST(one_slow_pass_does_not_stop_service, "a hardware pass of seconds is not held against the node for minutes")
{
	budget_is_used_up();
	gpreempt_policy_overhead(&node.policy, 4 * SEC, true, node.now_ns);
	CHECK(time_until(low, false, 10 * SEC) <= SEC);
}

TEST(relief_does_not_wait_for_the_budget, "a queue preempted for too long gets the device, whatever that costs")
{
	hog_preempts_low();
	pass_after(node.params.max_hold_ns - POLL);
	gpreempt_policy_overhead(&node.policy, 100 * MS, false, node.now_ns);
	CHECK_AFTER(POLL, on_device(low) && !on_device(high));
}

TEST(resumes_wait_for_the_budget_for_a_while,
     "what need not be preempted comes back when the budget has room for taking it off again, and after GPREEMPT_RESUME_WAIT_MAX_NS at the latest")
{
	static const struct { u64 overhead_ns, wait_ns; } cases[] = {
		{ 9 * MS, 0 }, { 10 * MS + 200 * US, 2 * MS }, { 100 * MS, GPREEMPT_RESUME_WAIT_MAX_NS },
	};
	u64 waited_ns;

	EACH_CASE_ANEW(i, cases) {
		hog_preempts_low();
		launch(high, 999, 8);
		pass_after(POLL);
		drain(high);
		gpreempt_policy_overhead(&node.policy, cases[i].overhead_ns, false, node.now_ns);
		node.policy.pass_ns = 0;
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
		CHECK(i ? waited_ns < GPREEMPT_RESUME_WAIT_MAX_NS - MS : waited_ns / MS == 3);
	}
}

TEST(a_hold_that_ends_waits_for_nothing, "a queue that was held on request comes back at once, whatever the budget and resume_delay say")
{
	hog_preempts_low();
	drop_queue(high);
	node.params.resume_delay_ns = 5 * MS;
	CHECK_LATER(100 * MS, on_device(low));
	low->policy.set.hold = true;
	CHECK_AFTER(POLL, !on_device(low));
	gpreempt_policy_overhead(&node.policy, 100 * MS, false, node.now_ns);
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
		CHECK_EQ(node.policy.overhead_ns, 0);
	}
}

TEST(resumes_that_wait_are_seen_in_time, "the room in the budget that a resume waits for shortens the sleep")
{
	hog_preempts_low();
	drop_queue(high);
	node.params.poll_ns = 0;
	node.params.interval_ns = SEC;
	gpreempt_policy_overhead(&node.policy, 10 * MS + 200 * US, false, node.now_ns);
	node.policy.pass_ns = 0;
	CHECK_AFTER(100, !on_device(low));
	CHECK_WITHIN(node.decision.next_ns, 1900 * US, 2100 * US);
	CHECK_AFTER(node.decision.next_ns, on_device(low));
}

/* ---- gaps ---- */

/* A kernel of high, and the time until its next one. */
static void high_works(u64 work_ns, u64 gap_ns)
{
	submit(high, 1);
	pass_after(POLL);
	if (!on_device(high))
		return;
	launch(high, 1, 8);
	passes_for(work_ns, POLL);
	finish(high);
	passes_for(gap_ns, POLL);
}

static void high_and_hog(void)
{
	node.pass_takes_ns = 100 * US;
	node.params.poll_ns = POLL;
	node.params.max_hold_ns = 0;
	low_works();
}

TEST(short_gaps_bring_nobody_back, "after two short gaps of a higher queue what it holds stays off in those that follow, and comes back soon after the last")
{
	u32 before;

	high_and_hog();
	TIMES(3)
		high_works(MS, 400 * US);
	CHECK(low->preempted >= 2);
	before = node.nr_acting;
	TIMES(1000)
		high_works(MS, 400 * US);
	CHECK_EQ(node.nr_acting, before);
	CHECK(!on_device(low));
	CHECK(time_until(low, true, 10 * MS) <= GPREEMPT_GAP_SHARE * GPREEMPT_GAP_MAX_NS);
}

TEST(long_gaps_bring_back_at_once, "where gaps are long, none is waited out; after short ones three waits are in vain at most")
{
	high_and_hog();
	TIMES(20) {
		high_works(MS, 0);
		CHECK(time_until(low, true, 10 * MS) <= 2 * POLL);
		passes_for(20 * MS, POLL);
	}
	TIMES(20)
		high_works(MS, 400 * US);
	CHECK_EQ(low->policy.gaps, GPREEMPT_GAPS_MOST);
	EACH(i, 10, "case %u: ", i) {
		u64 waited_ns;

		high_works(MS, 0);
		waited_ns = time_until(low, true, 10 * MS);
		CHECK(waited_ns <= GPREEMPT_GAP_SHARE * GPREEMPT_GAP_MAX_NS + POLL);
		CHECK(i < 4 || waited_ns <= 2 * POLL);
		passes_for(20 * MS, POLL);
	}
}

TEST(gaps_that_are_worth_a_switch_are_used, "a gap that is longer than switching takes is no short one, nor is any longer than a millisecond")
{
	node.params.overhead_pct = 0;
	high_and_hog();
	TIMES(20) {
		high_works(MS, 800 * US);
		CHECK(on_device(low));
	}
	tap_reset();
	node.params.overhead_pct = 0;
	high_and_hog();
	node.pass_takes_ns = 100 * MS;
	TIMES(20)
		high_works(10 * MS, 1400 * US);
	CHECK_EQ(low->policy.gaps, 0);
}

TEST(requests_wait_behind_nobody_for_the_budget,
     "whatever gaps a higher queue leaves, its kernels do not wait for the overhead budget; what is below has those gaps that the budget has room for")
{
	static const u64 gaps_ns[] = { 200 * US, 400 * US, 600 * US, MS, 2 * MS, 4 * MS };
	u32 k, back;

	EACH_CASE_ANEW(i, gaps_ns) {
		high_and_hog();
		back = 0;
		for (k = 0; k < 2000; k++) {
			submit(high, 1);
			pass_after(POLL);
			if (on_device(low))
				tap_fail(__FILE__, __LINE__, "kernel %u waits", k);
			launch(high, 1, 8);
			passes_for(400 * US, POLL);
			finish(high);
			passes_for(gaps_ns[i], POLL);
			back += on_device(low);
		}
		CHECK(gaps_ns[i] < MS || back > 500);
	}
}

/* ---- the relief budget ---- */

#define STEP		(500 * US)
#define STAGGER		(20 * MS)
#define NR_VICTIMS	50

static struct queue *victims[NR_VICTIMS];

/* What came of a crowd of victims beside endless work of a higher queue. */
static struct {
	u64 high_ns;
	u64 total_ns;
	u64 waited_ns[NR_VICTIMS];
	u64 longest_ns;
} crowd;

/* A pass, and what the device does until the next one: a process at a time, so that it says who could fill the device. */
static void crowd_step(u32 nr)
{
	bool alone = on_device(high);
	u32 i;

	pass_after(STEP);
	for (i = 0; i < nr; i++) {
		bool runs = on_device(victims[i]) && has_work(victims[i]);

		if (runs)
			launch(victims[i], 1, 8);
		alone &= !runs;
		crowd.waited_ns[i] = runs || !has_work(victims[i]) ? 0 : crowd.waited_ns[i] + STEP;
		if (crowd.waited_ns[i] > crowd.longest_ns)
			crowd.longest_ns = crowd.waited_ns[i];
	}
	/* Shares count from when all work. */
	if (!has_work(victims[nr - 1]))
		return;
	crowd.total_ns += STEP;
	crowd.high_ns += alone ? STEP : 0;
}

/* @nr queues of low priority, each a process of its own or all of one, get work without end 20 ms after each other. */
static void stagger(u32 nr, bool processes, bool holds)
{
	struct process *p = new_process();
	u64 next_ns, end_ns;
	u32 i, begun = 0;

	memset(&crowd, 0, sizeof(crowd));
	high = new_queue(new_process(), 100);
	for (i = 0; i < nr; i++)
		victims[i] = new_queue(processes ? new_process() : p, -500);
	start_hog(high);
	pass();
	next_ns = node.now_ns;
	end_ns = node.now_ns + nr * STAGGER + 8 * SEC;
	while (node.now_ns < end_ns) {
		if (begun < nr && node.now_ns >= next_ns) {
			submit(victims[begun], 100000);
			victims[begun++]->policy.set.hold = holds;
			next_ns += STAGGER;
		}
		crowd_step(nr);
	}
}

static void check_crowd_share(void)
{
	if (crowd.high_ns * 100 < crowd.total_ns * 96)
		tap_fail(__FILE__, __LINE__, "the higher queue keeps %llu %% of the device",
			 (unsigned long long)(crowd.high_ns * 100 / crowd.total_ns));
}

/* As design.rst says: (1 + processes / N) * (max_hold + relief), of N processes that one relief has room for. */
static void check_crowd_waits(u32 processes)
{
	u64 room = node.params.relief_ns / GPREEMPT_RELIEF_TURN_NS;
	u64 most_ns = (1 + (processes + room - 1) / room) * (node.params.max_hold_ns + node.params.relief_ns) + STEP;

	if (crowd.longest_ns > most_ns)
		tap_fail(__FILE__, __LINE__, "a victim waits for %llu ms, not %llu", (unsigned long long)(crowd.longest_ns / MS),
			 (unsigned long long)(most_ns / MS));
}

TEST(staggered_victims_do_not_add_up,
     "whatever lower processes begin to work 20 ms after each other, a higher queue with endless work keeps 96 % of the device, and each of them runs")
{
	static const u32 counts[] = { 1, 10, 25, NR_VICTIMS };

	EACH_ANEW(i, ARRAY_SIZE(counts), "%u processes: ", counts[i]) {
		stagger(counts[i], true, false);
		check_crowd_share();
		check_crowd_waits(counts[i]);
		CHECK(node.nr_relief >= counts[i]);
	}
}

TEST(queues_of_one_process_do_not_add_up, "the same for queues of one process, which run side by side in its relief")
{
	stagger(NR_VICTIMS, false, false);
	check_crowd_share();
	check_crowd_waits(1);
}

TEST(own_holds_earn_no_relief, "a process that holds its own queues, 20 ms after each other, gets no relief for it: a higher queue keeps all of the device")
{
	static const u32 counts[] = { 1, 10, 25, NR_VICTIMS };

	EACH_ANEW(i, ARRAY_SIZE(counts), "%u queues: ", counts[i]) {
		stagger(counts[i], false, true);
		check_crowd_share();
		CHECK_EQ(node.nr_relief, 0);
		CHECK_EQ(crowd.high_ns, crowd.total_ns);
	}
}

/* @nr processes with a queue each that were outranked @apart_ns after each other; all of it is slept through from here on. */
static void victims_wait(u32 nr, u64 apart_ns)
{
	u32 i;

	high = new_queue(new_process(), HIGH);
	start_hog(high);
	for (i = 0; i < nr; i++)
		victims[i] = new_queue(new_process(), LOW);
	pass();
	for (i = 0; i < nr; i++) {
		submit(victims[i], 1000);
		CHECK_AFTER(apart_ns, !on_device(victims[i]));
	}
	node.params.poll_ns = 0;
	node.params.interval_ns = 10 * SEC;
	pass_after(POLL);
}

/* Sleeps for as long as the decision says; returns how long that was. */
static u64 sleep_and_pass(void)
{
	u64 slept_ns = node.decision.next_ns;
	u32 i;

	pass_after(slept_ns);
	for (i = 0; i < node.nr_created; i++)
		if (on_device(&node.queues[i]) && pending(&node.queues[i]) && !node.queues[i].waves)
			launch(&node.queues[i], 1, 8);
	return slept_ns;
}

static void only_runs(const struct queue *q)
{
	u32 i;

	for (i = 0; i < node.nr_created; i++)
		if (on_device(&node.queues[i]) != (&node.queues[i] == q))
			tap_fail(__FILE__, __LINE__, "queue %u is %son the device", i, on_device(&node.queues[i]) ? "" : "not ");
}

/* Sleeps until @q has the device, or has it no longer; returns how long that was. */
static u64 sleep_until(const struct queue *q, bool there)
{
	u64 slept_ns = 0;

	while (on_device(q) != there) {
		CHECK(slept_ns < 5 * SEC);
		slept_ns += sleep_and_pass();
	}
	return slept_ns;
}

TEST(turns_share_a_relief, "processes that starve have the device in turns, the one that waited longest first, and each turn begins in time")
{
	u64 slept_ns = 0;
	u32 i;

	victims_wait(4, MS);
	/* The first is due when it has been preempted for the maximum; the others come in the middle of its relief. */
	sleep_and_pass();
	for (i = 0; i < 4; i++) {
		only_runs(victims[i]);
		slept_ns += sleep_until(victims[i], false);
	}
	CHECK_EQ(slept_ns, node.params.relief_ns);
	only_runs(high);
	CHECK_EQ(node.nr_relief, 4);
	/* The next relief is that of the node, not of the one that has waited longest. */
	CHECK_EQ(sleep_until(victims[0], true), node.params.max_hold_ns);
	only_runs(victims[0]);
}

TEST(turns_begin_too_late_for_nobody, "who is due when a relief is nearly over waits for the next one: no turn is shorter than the least")
{
	victims_wait(2, node.params.relief_ns - GPREEMPT_RELIEF_TURN_NS / 2);
	sleep_and_pass();
	only_runs(victims[0]);
	CHECK_EQ(sleep_until(victims[0], false), node.params.relief_ns);
	only_runs(high);
	CHECK_EQ(node.nr_relief, 1);
	CHECK_EQ(sleep_until(victims[1], true), node.params.max_hold_ns);
	CHECK_EQ(node.nr_relief, 2);
}

TEST(turns_are_of_equal_length, "processes that are due when a relief begins share it evenly")
{
	victims_wait(4, US);
	sleep_and_pass();
	EACH(i, 4, "case %u: ", i) {
		only_runs(victims[i]);
		CHECK_EQ(sleep_until(victims[i], false), node.params.relief_ns / 4);
	}
	only_runs(high);
}

TEST(a_turn_is_of_a_process, "queues of one process that starve run side by side, and count as one")
{
	struct queue *sibling;

	victims_wait(2, US);
	sibling = new_queue(victims[0]->process, LOW - 1);
	submit(sibling, 10);
	CHECK_AFTER(0, !on_device(sibling));
	sibling->policy.seen.starved_ns = victims[0]->policy.seen.starved_ns;
	node.now_ns += SEC;
	CHECK_AFTER(0, on_device(victims[0]) && on_device(sibling) && !on_device(victims[1]) && !on_device(high));
	CHECK_EQ(sleep_and_pass(), node.params.relief_ns / 2);
	only_runs(victims[1]);
}

TEST(a_turn_is_not_for_what_is_held_on_request, "a queue that is held on request gets no relief with others of its process")
{
	struct queue *held;

	victims_wait(1, US);
	held = new_queue(victims[0]->process, LOW);
	held->policy.set.hold = true;
	held->policy.set.hold_unbounded = true;
	submit(held, 10);
	pass();
	held->policy.seen.starved_ns = victims[0]->policy.seen.starved_ns;
	node.now_ns += SEC;
	pass();
	only_runs(victims[0]);
	CHECK_EQ(node.nr_relief, 1);
}

TEST(a_turn_ends_with_its_work, "a process that has done its work in a relief leaves the rest to the others, and does not come back before the next one")
{
	victims_wait(2, US);
	node.params.poll_ns = POLL;
	node.now_ns += SEC;
	pass();
	only_runs(victims[0]);
	drain(victims[0]);
	CHECK_LATER(2 * GPREEMPT_WAVES_SETTLE_NS, on_device(victims[1]) && !on_device(high));
	launch(victims[1], 1, 8);
	/* It is not in relief any more. */
	submit(victims[0], 10);
	pass_after(POLL);
	only_runs(victims[1]);
	passes_for(node.params.relief_ns - 3 * MS, POLL);
	only_runs(victims[1]);
}

TEST(a_turn_has_a_least_length, "what is left of a relief is not given to a process that could do nothing in it: it waits for the next one")
{
	/* The fourth turn would be shorter. */
	victims_wait(25, US);
	node.params.relief_ns = 4 * MS - US;
	node.now_ns += SEC;
	CHECK_EQ_AFTER(0, sleep_and_pass(), GPREEMPT_RELIEF_TURN_NS);
	CHECK_EQ(sleep_and_pass(), GPREEMPT_RELIEF_TURN_NS);
	only_runs(victims[2]);
	CHECK_EQ(sleep_and_pass(), 2 * GPREEMPT_RELIEF_TURN_NS - US);
	only_runs(high);
	CHECK_EQ(sleep_until(victims[3], true), node.params.max_hold_ns);
	only_runs(victims[3]);
}

TEST(slow_passes_make_long_turns, "where taking off and giving back takes long, turns are so many times as long, but not longer than a relief")
{
	victims_wait(25, US);
	node.policy.pass_ns = MS;
	node.now_ns += SEC;
	CHECK_EQ_AFTER(0, node.decision.next_ns, GPREEMPT_RELIEF_TURN_SHARE * MS);
	node.policy.pass_ns = 10 * MS;
	CHECK_EQ_AFTER(10, node.decision.next_ns, node.params.relief_ns - 10);
}

TEST(a_relief_that_fails_is_due_again, "a queue that did not get the device in its turn is still the one that has waited longest")
{
	victims_wait(2, US);
	node.now_ns += SEC;
	look();
	CHECK(victims[0]->policy.action == GPREEMPT_RESUME);
	/* Nothing is carried out. */
	node.now_ns += node.params.relief_ns;
	look();
	CHECK(victims[0]->policy.action == GPREEMPT_KEEP);
	node.now_ns += node.params.max_hold_ns;
	look();
	CHECK(victims[0]->policy.action == GPREEMPT_RESUME);
	CHECK_EQ(node.nr_relief, 2);
}

TEST(reliefs_are_no_gaps, "what yields to two turns of a relief shortly after each other has learned nothing from that")
{
	victims_wait(2, 10 * MS);
	node.params.poll_ns = POLL;
	node.now_ns = victims[0]->policy.seen.starved_ns + node.params.max_hold_ns;
	CHECK_AFTER(0, on_device(victims[0]) && !on_device(high));
	drain(victims[0]);
	time_until(high, true, 2 * MS);
	pass_after(POLL);
	victims[1]->policy.seen.starved_ns = node.now_ns - node.params.max_hold_ns;
	node.policy.pass_ns = MS;
	CHECK_AFTER(POLL, on_device(victims[1]) && !on_device(high));
	CHECK_EQ(high->policy.gaps, 0);
}

/* ---- ageing ---- */

TEST(aging_raises_to_equality_at_most,
     "a preempted queue that ages comes to run beside the level, never instead of it, and is young again afterwards")
{
	node.params.aging_ns = 5 * MS;
	hog_preempts_low();
	CHECK_EQ(low->policy.effective_priority, LOW);
	CHECK_EQ_LATER(25 * MS, low->policy.effective_priority, LOW + 5);
	CHECK(!on_device(low));
	/* Ten steps. */
	CHECK_EQ_LATER(25 * MS, low->policy.effective_priority, HIGH);
	CHECK(on_device(low) && on_device(high));
	CHECK_EQ(node.decision.level, HIGH);
	CHECK_EQ(node.nr_relief, 0);
	CHECK_LATER(node.params.relief_ns - POLL, on_device(low));
	CHECK_LATER(2 * POLL, !on_device(low));
	CHECK_EQ(low->policy.effective_priority, LOW);
	CHECK_EQ(high->preempted, 0);
}

TEST(age_outranks_nobody, "an aged queue is no reason to take off one that it was below when it was young")
{
	middle = new_queue(new_process(), MIDDLE);
	node.params.aging_ns = 5 * MS;
	hog_preempts_low();
	CHECK_LATER(40 * MS, low->policy.effective_priority > MIDDLE);
	submit(middle, 1000);
	drain(high);
	time_until(middle, true, 10 * MS);
	CHECK_EQ(node.decision.level, MIDDLE);
	CHECK_EQ(low->policy.effective_priority, MIDDLE);
	CHECK_LATER(15 * MS, on_device(middle));
}

TEST(age_is_for_work, "a preempted queue without work does not age")
{
	struct queue *idle = new_queue(new_process(), LOW);

	node.params.aging_ns = 5 * MS;
	hog_preempts_low();
	CHECK_LATER(55 * MS, on_device(low) && !on_device(idle));
	CHECK_EQ(idle->policy.effective_priority, LOW);
}

TEST(age_is_seen_in_time, "the end of the wait for equality, and of the time beside the level, shorten the sleep")
{
	node.params.aging_ns = 1 * MS;
	node.params.interval_ns = 100 * MS;
	node.params.poll_ns = 0;
	hog_preempts_low();
	CHECK_EQ(node.decision.next_ns, 10 * MS);
	CHECK_AFTER(node.decision.next_ns, on_device(low));
	CHECK_EQ(node.decision.next_ns, node.params.relief_ns);
	CHECK_AFTER(node.decision.next_ns, !on_device(low));
}

TEST(aging_orders_a_process_too, "ageing counts between queues of one process whose priorities were asked for")
{
	node.params.aging_ns = 5 * MS;
	low = new_explicit_queue(new_process(), LOW);
	high = new_explicit_queue(low->process, HIGH);
	start_both();
	CHECK_AFTER(0, !on_device(low));
	CHECK_LATER(51 * MS, on_device(low) && on_device(high));
}

TEST(age_does_not_wait_for_a_resume_delay, "a queue that comes to run beside the level by its age has waited for long enough")
{
	node.params.aging_ns = 1 * MS;
	node.params.resume_delay_ns = 500 * MS;
	hog_preempts_low();
	CHECK_EQ(time_until(low, true, 100 * MS), 10 * MS);
}

TEST(staggered_ages_do_not_add_up, "what ages lets in queues for the length of a relief each time that one of them needs to get as old, however many they are")
{
	static const u32 counts[] = { 1, 10, NR_VICTIMS };
	u32 k;

	EACH_ANEW(i, ARRAY_SIZE(counts), "%u queues: ", counts[i]) {
		memset(&crowd, 0, sizeof(crowd));
		/* Ten steps. */
		node.params.aging_ns = 10 * MS;
		high = new_queue(new_process(), HIGH);
		start_hog(high);
		for (k = 0; k < counts[i]; k++)
			victims[k] = new_queue(new_process(), LOW);
		pass();
		for (k = 0; k < counts[i]; k++) {
			submit(victims[k], 100000);
			crowd_step(counts[i]);
			crowd_step(counts[i]);
		}
		while (crowd.total_ns < SEC)
			crowd_step(counts[i]);
		CHECK_EQ(high->preempted, 0);
		if (crowd.high_ns * 120 < crowd.total_ns * 99)
			tap_fail(__FILE__, __LINE__, "the higher queue is alone for %llu %% of the time",
				 (unsigned long long)(crowd.high_ns * 100 / crowd.total_ns));
		/* Each had its part. */
		CHECK(crowd.longest_ns < 2 * 120 * MS);
	}
}

TEST(age_waits_in_time, "a queue that is old enough, and has to wait for its time beside the level, is let in when that begins")
{
	node.params.aging_ns = MS;
	hog_preempts_low();
	passes_for(5 * MS, POLL);
	victims[0] = new_queue(new_process(), LOW);
	submit(victims[0], 10);
	pass_after(0);
	node.params.interval_ns = SEC;
	node.params.poll_ns = 0;
	time_until(low, true, 20 * MS);
	CHECK(!on_device(victims[0]));
	/* It gets old in the middle of the other's time, which it may use. */
	CHECK_EQ_AFTER(0, node.decision.next_ns, 5 * MS);
	CHECK_AFTER(node.decision.next_ns, on_device(victims[0]));
	CHECK_EQ(node.decision.next_ns, 15 * MS);
	/* But not what is left when too little is. */
	victims[1] = new_queue(new_process(), LOW);
	submit(victims[1], 10);
	pass_after(0);
	CHECK_AFTER(14 * MS + 500 * US, !on_device(victims[1]));
	CHECK_EQ(node.decision.next_ns, 500 * US);
	drain(low);
	drain(victims[0]);
	CHECK_AFTER(500 * US, !on_device(victims[1]));
	CHECK_EQ(node.decision.next_ns, 10 * MS);
	CHECK_AFTER(10 * MS, on_device(victims[1]));
}

TEST(aging_is_off_by_default, "without gpreempt_aging_ms the effective priority is the logical one")
{
	hog_preempts_low();
	CHECK_LATER_EVERY(900 * MS, MS, !on_device(low));
	CHECK_EQ(low->policy.effective_priority, LOW);
}

/* ---- minimum run ---- */

TEST(min_run_is_kept_after_a_resume, "a queue that was just resumed runs for gpreempt_min_run_us before it yields again")
{
	hog_preempts_low();
	node.params.min_run_ns = 3 * MS;
	drain(high);
	time_until(low, true, 10 * MS);
	start_hog(high);
	CHECK(time_until(low, false, 10 * MS) >= 3 * MS - POLL);
	CHECK_EQ(low->preempted, 2);
}

TEST(min_run_is_kept_by_new_work, "a queue that begins to work on the device is not interrupted before it ran its minimum")
{
	node.params.min_run_ns = 3 * MS;
	two_processes();
	pass();
	start_both();
	CHECK_AFTER(POLL, on_device(low));
	CHECK(node.decision.inversion);
	CHECK_EQ(time_until(low, false, 10 * MS), 3 * MS);
}

TEST(min_run_is_kept_by_a_single_kernel, "a kernel that was launched before anybody looked has its minimum run as well")
{
	node.params.min_run_ns = 3 * MS;
	two_processes();
	pass();
	last_kernel(low);
	pass_after(POLL);
	start_hog(high);
	CHECK_EQ(time_until(low, false, 10 * MS), 3 * MS);
}

TEST(min_run_takes_no_idle_ones_meanwhile, "as long as the queue in the way runs its minimum, nobody is taken off for nothing")
{
	struct queue *idle = new_queue(new_process(), LOW);

	node.params.min_run_ns = 3 * MS;
	two_processes();
	pass();
	start_both();
	CHECK_LATER(2 * MS, on_device(idle));
	CHECK_EQ(node.nr_acting, 0);
	CHECK_LATER(2 * MS, !on_device(idle));
	CHECK_EQ(node.nr_acting, 1);
}

TEST(min_run_is_seen_in_time, "the end of a minimum run shortens the sleep")
{
	node.params.min_run_ns = 3 * MS;
	node.params.poll_ns = 0;
	two_processes();
	pass();
	start_hog(low);
	pass_after(POLL);
	start_hog(high);
	CHECK_EQ_AFTER(MS, node.decision.next_ns, 2 * MS);
}

TEST(relief_does_not_wait_for_a_minimum_run, "a queue preempted for too long gets the device though another one has it only now")
{
	hog_preempts_low();
	node.params.min_run_ns = 100 * MS;
	pass_after(node.params.max_hold_ns - POLL);
	high->policy.seen.run_ns = node.now_ns;
	CHECK_AFTER(POLL, on_device(low) && !on_device(high));
}

/* ---- resume delay ---- */

TEST(resume_delay_spans_a_gap, "with a resume delay a short gap of the high queue costs no resume and no second preemption")
{
	node.params.resume_delay_ns = 5 * MS;
	hog_preempts_low();
	drain(high);
	CHECK_LATER(3 * MS, !on_device(low));
	start_hog(high);
	CHECK_EQ_LATER(10 * MS, node.nr_acting, 1);
}

TEST(resume_delay_ends, "a gap longer than the resume delay gives the device back, no later than it says")
{
	u64 waited_ns;

	node.params.resume_delay_ns = 5 * MS;
	hog_preempts_low();
	passes_for(20 * MS, POLL);
	drain(high);
	waited_ns = time_until(low, true, 20 * MS);
	CHECK_WITHIN(waited_ns, 5 * MS, 5 * MS + 2 * POLL);
	CHECK_EQ(node.nr_acting, 2);
}

TEST(resume_delay_is_seen_in_time, "the end of a resume delay shortens the sleep, and the node does not park before")
{
	node.params.resume_delay_ns = 3 * MS;
	node.params.poll_ns = 0;
	hog_preempts_low();
	drop_queue(high);
	CHECK_AFTER(MS, !on_device(low));
	CHECK(!node.decision.park);
	CHECK_EQ(node.decision.next_ns, 2 * MS);
	CHECK_AFTER(2 * MS, on_device(low));
}

TEST(safety_does_not_wait_for_a_resume_delay, "relief, and what the driver asks for, resume at once")
{
	struct queue *fixed = new_queue(new_process(), LOW);

	node.params.resume_delay_ns = 500 * MS;
	hog_preempts_low();
	drain(high);
	CHECK_LATER(10 * MS, !on_device(fixed));
	fixed->policy.set.immovable = true;
	CHECK_AFTER(POLL, on_device(fixed) && !on_device(low));
	node.params.resume_delay_ns = 2 * SEC;
	CHECK(time_until(low, true, 2 * SEC) <= node.params.max_hold_ns);
}

/* ---- policies ---- */

TEST(policies_have_names, "hpf comes first, every policy has a name and ranks")
{
	u32 i;

	CHECK(!strcmp(gpreempt_policies[0]->name, "hpf"));
	for (i = 0; gpreempt_policies[i]; i++)
		CHECK(gpreempt_policies[i]->name && gpreempt_policies[i]->rank);
	CHECK_EQ(i, 3);
}

TEST(switching_resumes_what_should_run, "what the new policy does not hold is resumed by the first pass under it, and back again")
{
	hog_preempts_low();
	use("edf");
	CHECK_AFTER(POLL, on_device(low) && on_device(high));
	CHECK_AFTER(POLL, node.decision.park);
	use("hpf");
	CHECK_AFTER(POLL, !on_device(low));
	use("wfq");
	CHECK_LATER(50 * MS, on_device(low) != on_device(high));
	CHECK(low->preempted + high->preempted >= 3);
}

/* Under wfq, and for how long each had the device. */
static struct queue *q[5];
static u64 ran_ns[5];

static void two_shares(void)
{
	use("wfq");
	q[0] = new_queue(new_process(), HIGH);
	q[1] = new_queue(new_process(), HIGH);
}

/* In passes, while @nr queues have work without end. */
static void run_shares(u32 nr, u64 ns)
{
	u64 end_ns = node.now_ns + ns;
	u32 i;

	memset(ran_ns, 0, sizeof(ran_ns));
	for (i = 0; i < nr; i++)
		start_hog(q[i]);
	while (node.now_ns < end_ns) {
		pass();
		for (i = 0; i < nr; i++)
			ran_ns[i] += on_device(q[i]) ? POLL : 0;
		node.now_ns += POLL;
	}
}

/* Is a : b = x : y, within 2 % of the whole? */
static bool shares_are(u64 a, u64 b, u32 x, u32 y)
{
	s64 is = (s64)(a * 1000 / (a + b)), should = 1000 * x / (x + y);

	return llabs(is - should) <= 20;
}

TEST(wfq_shares_by_weight, "weights of 75 and 25 give three quarters and one quarter of the device, within 2 %")
{
	two_shares();
	q[0]->process->policy.weight = 75;
	q[1]->process->policy.weight = 25;
	run_shares(2, 5 * SEC);
	CHECK(shares_are(ran_ns[0], ran_ns[1], 75, 25));
	/* One at a time, after the first pass. */
	CHECK_WITHIN(ran_ns[0] + ran_ns[1], 5 * SEC - 2 * POLL, 5 * SEC + 2 * POLL);
	/* A turn of each is a slice at least. */
	CHECK(q[0]->preempted + q[1]->preempted <= 5 * SEC / node.params.slice_ns);
	CHECK_EQ(node.nr_relief, 0);
}

TEST(wfq_shares_among_many, "five processes of different weights get their shares, whatever the order of their queues")
{
	static const u32 weights[] = { 10, 400, 50, 100, 40 };
	u64 sum = 0;
	u32 i;

	use("wfq");
	node.params.max_hold_ns = 0;
	for (i = 0; i < 5; i++) {
		q[i] = new_queue(new_process(), HIGH);
		q[i]->process->policy.weight = weights[i];
	}
	run_shares(5, 20 * SEC);
	for (i = 0; i < 5; i++)
		sum += ran_ns[i];
	for (i = 0; i < 5; i++)
		CHECK(shares_are(ran_ns[i], sum - ran_ns[i], weights[i], 600 - weights[i]));
}

TEST(wfq_weighs_by_priority, "without weights, three steps of priority double the share, and equals share equally")
{
	two_shares();
	q[2] = new_queue(new_process(), HIGH - 3);
	run_shares(3, 10 * SEC);
	CHECK(shares_are(ran_ns[0], ran_ns[2], 2, 1));
	CHECK(shares_are(ran_ns[0], ran_ns[1], 1, 1));
}

TEST(wfq_is_work_conserving, "a share without work leaves the device to the others, and has saved nothing when it comes back")
{
	two_shares();
	start_hog(q[0]);
	CHECK_EQ_LATER(2 * SEC, q[0]->preempted, 0);
	run_shares(2, 2 * SEC);
	CHECK(shares_are(ran_ns[0], ran_ns[1], 1, 1));
}

TEST(wfq_starts_anew, "what a share had before another policy ruled does not count any more")
{
	two_shares();
	start_hog(q[0]);
	start_hog(q[1]);
	q[0]->process->policy.weight = 1;
	passes_for(100 * MS, POLL);
	use("hpf");
	pass_after(POLL);
	use("wfq");
	q[0]->process->policy.weight = 0;
	run_shares(2, 2 * SEC);
	CHECK(shares_are(ran_ns[0], ran_ns[1], 1, 1));
}

TEST(wfq_accounts_processes, "two queues of one process share one weight, and do not yield to each other")
{
	two_shares();
	q[2] = new_queue(q[0]->process, HIGH);
	run_shares(3, 2 * SEC);
	CHECK_EQ(ran_ns[0], ran_ns[2]);
	CHECK(shares_are(ran_ns[0], ran_ns[1], 1, 1));
}

TEST(wfq_weighs_queues_of_a_process, "queues of one process with weights of their own share by them")
{
	use("wfq");
	q[0] = new_queue(new_process(), HIGH);
	q[1] = new_queue(q[0]->process, HIGH);
	q[0]->policy.set.weight = 300;
	q[1]->policy.set.weight = 100;
	run_shares(2, 2 * SEC);
	CHECK(shares_are(ran_ns[0], ran_ns[1], 3, 1));
}

TEST(wfq_ends_turns_in_time, "without polling too, a turn ends when the slice does")
{
	u64 start_ns;

	two_shares();
	node.params.poll_ns = 0;
	node.params.interval_ns = 100 * MS;
	start_hog(q[0]);
	start_hog(q[1]);
	pass();
	start_ns = node.now_ns;
	CHECK(on_device(q[0]) && !on_device(q[1]));
	while (on_device(q[0]) && node.now_ns - start_ns < SEC)
		pass_after(node.decision.next_ns);
	CHECK_WITHIN(node.now_ns - start_ns, node.params.slice_ns, node.params.slice_ns + 20 * US);
}

TEST(wfq_parks_alone, "a process alone needs no passes, two with equal weights do while both work")
{
	high = new_queue(new_process(), HIGH);
	use("wfq");
	start_hog(high);
	CHECK_AFTER(0, node.decision.park);
	low = new_queue(new_process(), HIGH);
	CHECK_AFTER(POLL, !node.decision.park);
	CHECK(!node.decision.contended);
	start_hog(low);
	CHECK_AFTER(POLL, node.decision.contended);
}

/* Work of one kernel; returns whether it was done by @due_ns. One kernel after the other has the device for @left_ns. */
struct job {
	struct queue *q;
	u64 period_ns;
	u64 work_ns;
	u64 released_ns;
	u64 left_ns;
	u32 done;
	u32 late;
};

static void release_and_finish(struct job *j)
{
	if (j->left_ns && on_device(j->q)) {
		j->left_ns = j->left_ns > POLL ? j->left_ns - POLL : 0;
		if (!j->left_ns) {
			drain(j->q);
			j->done++;
			j->late += node.now_ns > j->released_ns + j->period_ns;
		}
	}
	if (!j->left_ns && node.now_ns >= j->released_ns + j->period_ns) {
		j->released_ns += j->period_ns;
		j->left_ns = j->work_ns;
		submit(j->q, 2);
		j->q->rptr++;
		j->q->waves = 64;
	}
}

TEST(edf_meets_deadlines, "two periodic processes that need 85 % of the device together are never late, beside one without deadline")
{
	struct job jobs[2] = {
		{ .q = new_queue(new_process(), LOW), .period_ns = 40 * MS, .work_ns = 16 * MS },
		{ .q = new_queue(new_process(), HIGH), .period_ns = 100 * MS, .work_ns = 45 * MS },
	};
	u64 end_ns = node.now_ns + 4 * SEC;
	struct queue *background = new_queue(new_process(), HIGH);
	u64 ran_ns = 0;
	u32 i;

	use("edf");
	for (i = 0; i < 2; i++) {
		jobs[i].q->process->policy.deadline_ns = jobs[i].period_ns;
		jobs[i].released_ns = node.now_ns - jobs[i].period_ns;
	}
	start_hog(background);
	while (node.now_ns < end_ns) {
		for (i = 0; i < 2; i++)
			release_and_finish(&jobs[i]);
		pass();
		ran_ns += on_device(background) ? POLL : 0;
		node.now_ns += POLL;
	}
	for (i = 0; i < 2; i++) {
		CHECK(jobs[i].done >= 4 * SEC / jobs[i].period_ns - 1);
		CHECK_EQ(jobs[i].late, 0);
		CHECK_EQ(jobs[i].q->policy.missed, 0);
	}
	CHECK_WITHIN(ran_ns, 4 * SEC * 5 / 100, 4 * SEC * 20 / 100);
}

/* Under edf; 0: it has none. */
static void two_deadlines(u64 low_ns, u64 high_ns)
{
	use("edf");
	two_processes();
	low->process->policy.deadline_ns = low_ns;
	high->process->policy.deadline_ns = high_ns;
}

TEST(edf_earliest_first, "of two that work, the one whose deadline comes first has the device; a later one waits for its end")
{
	two_deadlines(20 * MS, 50 * MS);
	start_hog(high);
	pass();
	start_hog(low);
	CHECK_AFTER(POLL, !on_device(high) && on_device(low));
	drain(low);
	time_until(high, true, 10 * MS);
	/* The later one is released again 40 ms after: 60 ms, and high's is 50. */
	passes_for(35 * MS, POLL);
	start_hog(low);
	CHECK_LATER(5 * MS, on_device(high) && !on_device(low));
}

TEST(edf_without_deadline_is_last, "whoever has no deadline yields to whoever has one, and to nobody else")
{
	struct queue *other = new_queue(new_process(), HIGH);

	two_deadlines(SEC, 0);
	start_hog(high);
	start_hog(other);
	CHECK_EQ_LATER(20 * MS, node.nr_preempted, 0);
	start_hog(low);
	CHECK_AFTER(POLL, !on_device(high) && !on_device(other));
	drain(low);
	time_until(high, true, 10 * MS);
	CHECK(on_device(other));
}

TEST(edf_late_work_is_due_again, "one that never ends is due again each period: it misses, and does not keep others off for ever")
{
	two_deadlines(20 * MS, 50 * MS);
	start_both();
	CHECK_LATER(400 * MS, high->preempted >= 3);
	CHECK(low->preempted >= 3);
	CHECK_EQ(low->policy.missed, 19);
	CHECK(high->policy.missed >= 7);
	CHECK_EQ(node.nr_relief, 0);
}

TEST(edf_queues_of_a_process, "a queue with a deadline of its own comes before another one of its process that has a later one")
{
	use("edf");
	low = new_queue(new_process(), HIGH);
	high = new_queue(low->process, HIGH);
	low->policy.set.deadline_ns = 50 * MS;
	high->policy.set.deadline_ns = 10 * MS;
	start_both();
	CHECK_AFTER(0, on_device(high) && !on_device(low));
	CHECK(!node.decision.park);
}

TEST(edf_equal_queues_of_a_process_need_passes,
     "two queues of a process with the same deadline come before each other by turns: the node does not park")
{
	use("edf");
	low = new_queue(new_process(), HIGH);
	high = new_queue(low->process, HIGH);
	low->policy.set.deadline_ns = 10 * MS;
	high->policy.set.deadline_ns = 10 * MS;
	CHECK_AFTER(0, !node.decision.park);
}

TEST(edf_deadlines_count_from_the_work, "a deadline counts from the first work after idle time, however long that was")
{
	two_deadlines(0, 20 * MS);
	start_hog(low);
	passes_for(55 * MS, POLL);
	start_hog(high);
	CHECK_EQ_AFTER(POLL, high->policy.due_ns - node.now_ns, 20 * MS);
	drain(high);
	passes_for(75 * MS, POLL);
	submit(high, 1);
	CHECK_EQ_AFTER(POLL, high->policy.due_ns - node.now_ns, 20 * MS);
	CHECK_EQ(high->policy.missed, 0);
}

TEST(edf_parks_without_deadlines, "where nobody has a deadline, no passes are needed")
{
	use("edf");
	two_processes();
	start_both();
	CHECK_AFTER(0, node.decision.park);
	low->process->policy.deadline_ns = SEC;
	CHECK_AFTER(POLL, !node.decision.park);
	CHECK(!on_device(high));
}

TEST(idle_queues_do_not_come_and_go, "where ranks move by themselves, a preempted queue without work is no reason for a runlist")
{
	struct queue *idle;

	use("edf");
	idle = new_queue(new_process(), HIGH);
	two_processes();
	idle->process->policy.deadline_ns = 10 * MS;
	high->process->policy.deadline_ns = 20 * MS;
	start_hog(high);
	pass();
	/* High is due in 5 ms: idle could be due in 10 at the earliest. */
	pass_after(15 * MS);
	start_hog(low);
	CHECK_AFTER(POLL, !on_device(low) && !on_device(idle));
	/* High is due again in 20. */
	CHECK_LATER(500 * MS, !on_device(idle));
	CHECK_EQ(node.nr_acting, 1);
	/* When it has work, it has its place. */
	idle->process->policy.deadline_ns = 1 * MS;
	submit(idle, 1);
	CHECK_AFTER(POLL, on_device(idle));
}

TEST(relief_is_above_every_policy, "a queue preempted for too long runs under each policy, and its rank is not asked for")
{
	two_deadlines(0, 20 * MS);
	start_both();
	CHECK_AFTER(0, !on_device(low));
	CHECK_EQ(time_until(low, true, 2 * SEC), node.params.max_hold_ns);
	CHECK(!on_device(high));
	CHECK_EQ(node.decision.level, GPREEMPT_PRIORITY_RELIEF);
	CHECK_EQ(time_until(low, false, SEC), node.params.relief_ns);
}

TEST(wfq_weights_of_priorities, "a step of priority is worth a quarter more, three of them the double, between 1 and 6400")
{
	static const struct {
		s32 priority;
		u32 weight;
	} cases[] = {
		{ -1023, 1 }, { -12, 1 }, { -11, 1 }, { -8, 3 }, { -5, 6 }, { 4, 50 }, { 5, 63 }, { 6, 79 }, { 7, 100 }, { 8, 126 }, { 9, 159 },
		{ 10, 200 }, { 11, 252 }, { 22, 3200 }, { 24, 5088 }, { 25, 6400 }, { 26, 6400 }, { 1023, 6400 },
	};
	struct queue *q = new_queue(new_process(), 0);

	use("wfq");
	EACH(i, ARRAY_SIZE(cases), "priority %d: ", cases[i].priority) {
		q->policy.set.priority = cases[i].priority;
		CHECK_EQ_AFTER(MS, q->process->policy.share.weight, cases[i].weight);
	}
	/* That of the most urgent queue, or the one that was set. */
	new_queue(q->process, GPREEMPT_PRIORITY_NORMAL);
	q->policy.set.priority = 4;
	CHECK_EQ_AFTER(MS, q->process->policy.share.weight, 100);
	q->process->policy.weight = 3;
	CHECK_EQ_AFTER(MS, q->process->policy.share.weight, 3);
	q->policy.set.weight = 9;
	CHECK_EQ_AFTER(MS, q->policy.share.weight, 9);
}

TEST(wfq_shares_far_apart, "shares that are further apart than ranks can say keep their order")
{
	struct queue *far = new_queue(new_process(), GPREEMPT_PRIORITY_NORMAL), *near = new_queue(new_process(), GPREEMPT_PRIORITY_NORMAL);

	use("wfq");
	submit(far, 1);
	submit(near, 1);
	pass();
	far->process->policy.share.vtime_ns = 1ULL << 60;
	look();
	CHECK(far->policy.rank < near->policy.rank);
	CHECK_EQ(far->policy.rank, -((1LL << 60) + far->process->policy.share.index));
	far->process->policy.share.vtime_ns = near->process->policy.share.vtime_ns;
	near->process->policy.share.turn = true;
	near->process->policy.weight = 1;
	node.params.slice_ns = 1ULL << 49;
	look();
	CHECK_EQ(near->policy.rank, (1LL << 60) - near->process->policy.share.index);
	CHECK(near->policy.rank < GPREEMPT_RANK_RELIEF);
}

TEST(edf_looks_at_the_next_deadline, "without polling, the next look is when the first deadline of somebody with work is, whichever queue it is of")
{
	struct queue *a = new_queue(new_process(), GPREEMPT_PRIORITY_NORMAL), *b = new_queue(new_process(), GPREEMPT_PRIORITY_NORMAL), *idle = new_queue(new_process(), GPREEMPT_PRIORITY_NORMAL);
	const struct gpreempt_policy_ops *edf = policy_named("edf");

	use("edf");
	a->process->policy.deadline_ns = 3 * MS;
	b->process->policy.deadline_ns = 2 * MS;
	idle->process->policy.deadline_ns = MS;
	submit(a, 1);
	submit(b, 1);
	look();
	CHECK_EQ(edf->next_ns(&node.policy, node.now_ns), 2 * MS);
	CHECK_EQ(edf->next_ns(&node.policy, node.now_ns + MS), MS);
	/* One that has passed is none to wait for. */
	CHECK_EQ(edf->next_ns(&node.policy, node.now_ns + 2 * MS), MS);
	CHECK_EQ(edf->next_ns(&node.policy, node.now_ns + 3 * MS), ~0ULL);
	a->policy.pass.demand[1] = false;
	CHECK_EQ(edf->next_ns(&node.policy, node.now_ns + 2 * MS), ~0ULL);
	b->policy.pass.demand[1] = false;
	CHECK_EQ(edf->next_ns(&node.policy, node.now_ns), ~0ULL);
	a->policy.pass.demand[1] = true;
	CHECK_EQ(edf->next_ns(&node.policy, node.now_ns), 3 * MS);
}
