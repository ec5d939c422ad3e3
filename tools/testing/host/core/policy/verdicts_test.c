// SPDX-License-Identifier: MIT
/*
 * verdicts_test.c - why a queue has the device or does not: each verdict is reached by a story
 *
 * look() checks after each pass of every test that a verdict and the action agree.
 */
#include "demand.h"
#include "policy_node.h"
#include "tap.h"

#define NEVER	(~0ULL)

#define CHECK_VERDICT(q, name)	CHECK_EQ((q)->policy.verdict, GPREEMPT_VERDICT_##name)
#define CHECK_VERDICT_AFTER(ns, q, name)	CHECK_EQ_AFTER(ns, (q)->policy.verdict, GPREEMPT_VERDICT_##name)
#define CHECK_VERDICT_LATER(ns, q, name)	CHECK_EQ_LATER(ns, (q)->policy.verdict, GPREEMPT_VERDICT_##name)

static u64 left_ns(const struct queue *q)
{
	return q->policy.until_ns == NEVER ? NEVER : q->policy.until_ns - node.now_ns;
}

static u64 age_ns(const struct queue *q)
{
	return node.now_ns - q->policy.verdict_ns;
}

/* High has work without end, low is preempted in the middle of a kernel, since the pass before the last. */
static void low_yields(void)
{
	hog_preempts_low();
	CHECK_VERDICT_AFTER(POLL, low, YIELDS);
	CHECK_EQ(low->policy.seen.starved_ns, node.now_ns - POLL);
}

/* It has had work, and has none: where nothing depends on that it takes two looks at its waves. */
static void has_worked(struct queue *q)
{
	submit(q, 1);
	pass_after(POLL);
	drain(q);
	CHECK_VERDICT_LATER(3 * GPREEMPT_WAVES_UNKNOWN_NS, q, NO_DEMAND);
}

TEST(who_has_work_runs, "a queue with work runs, since it got some, and without end; one without has no demand, since it has none")
{
	two_processes();
	CHECK_VERDICT(low, NONE);
	has_worked(high);
	start_hog(low);
	pass_after(POLL);
	CHECK_VERDICT_AFTER(POLL, low, RUNS);
	CHECK_EQ(age_ns(low), POLL);
	CHECK_EQ(left_ns(low), NEVER);
	CHECK_VERDICT(high, NO_DEMAND);
	CHECK_EQ(left_ns(high), NEVER);
	CHECK(age_ns(high) > 2 * POLL && age_ns(high) <= 2 * GPREEMPT_WAVES_UNKNOWN_NS);
}

TEST(who_is_dormant_is_told, "a queue that has had no work for long, or never any, is dormant until it gets some, also while all are looked at")
{
	u64 since_ns;

	two_processes();
	CHECK_VERDICT_AFTER(0, high, DORMANT);
	has_worked(high);
	start_hog(low);
	CHECK_EQ_LATER_EVERY(2 * SEC, MS, low->policy.verdict, GPREEMPT_VERDICT_RUNS);
	CHECK_VERDICT(high, DORMANT);
	CHECK(node.nr_spared);
	since_ns = high->policy.verdict_ns;
	CHECK_EQ_LATER_EVERY(3 * SEC, MS, high->policy.verdict, GPREEMPT_VERDICT_DORMANT);
	CHECK_EQ(high->policy.verdict_ns, since_ns);
	submit(high, 1);
	CHECK_VERDICT_AFTER(POLL, high, RUNS);
	CHECK_VERDICT(low, YIELDS);
}

TEST(who_is_outranked_yields, "a lower queue yields to the one that leads, until it was preempted for the longest time")
{
	low_yields();
	CHECK_VERDICT(high, RUNS);
	CHECK(high->policy.leads && !low->policy.leads);
	CHECK_EQ(age_ns(low), POLL);
	CHECK_WITHIN(left_ns(low), owed_ns() - MS, owed_ns());
	CHECK_EQ(left_ns(high), NEVER);
	CHECK_EQ_LATER(100 * MS, age_ns(low), POLL + 100 * MS);
	CHECK_WITHIN(left_ns(low), owed_ns() - 102 * MS, owed_ns() - 98 * MS);
	/* Nobody is preempted for ever who need not be. */
	node.params.max_hold_ns = 0;
	CHECK_VERDICT_AFTER(POLL, low, YIELDS);
	CHECK_EQ(left_ns(low), NEVER);
}

TEST(who_goes_along_yields, "a lower queue without work that is taken along yields as well, for as long as the others have work")
{
	struct queue *along;

	two_processes();
	along = new_queue(new_process(), LOW);
	start_hog(low);
	CHECK_VERDICT_AFTER(0, along, DORMANT);
	start_hog(high);
	pass_after(POLL);
	CHECK_VERDICT_AFTER(POLL, along, YIELDS);
	CHECK_EQ(left_ns(along), NEVER);
	submit(along, 1);
	pass_after(POLL);
	CHECK_WITHIN(left_ns(along), owed_ns() - MS, owed_ns());
	drain(high);
	while (!on_device(low))
		pass_after(POLL);
	CHECK_VERDICT(along, RUNS);
	CHECK_VERDICT(low, RUNS);
	CHECK_VERDICT(high, NO_DEMAND);
}

TEST(one_leads, "of the queues with the highest rank one leads, with the highest priority; none does without work")
{
	three_processes();
	CHECK_AFTER(0, !low->policy.leads && !middle->policy.leads && !high->policy.leads);
	start_hog(low);
	start_hog(middle);
	CHECK_AFTER(POLL, middle->policy.leads && !low->policy.leads && !high->policy.leads);
	start_hog(high);
	CHECK_AFTER(POLL, high->policy.leads && !low->policy.leads && !middle->policy.leads);
	drain(high);
	CHECK_LATER(10 * MS, middle->policy.leads && !low->policy.leads && !high->policy.leads);
	drain(middle);
	CHECK_LATER(10 * MS, low->policy.leads && !middle->policy.leads && !high->policy.leads);
}

TEST(own_queues_yield_to_each_other, "a queue yields to another one of its process if both were asked for their places")
{
	struct process *process = new_process();

	low = new_explicit_queue(process, LOW);
	high = new_explicit_queue(process, HIGH);
	start_both();
	pass();
	CHECK_AFTER(POLL, !on_device(low));
	CHECK_VERDICT(low, OWN_PROCESS);
	CHECK_WITHIN(left_ns(low), owed_ns() - MS, owed_ns());
	CHECK_VERDICT(high, RUNS);
}

TEST(siblings_of_the_level_run, "a queue below the level runs because one of its process is at the level")
{
	struct process *process = new_process();

	low = new_queue(process, LOW);
	high = new_queue(process, HIGH);
	start_both();
	CHECK_VERDICT_AFTER(0, low, SIBLING);
	CHECK_VERDICT(high, RUNS);
	CHECK(high->policy.leads && !low->policy.leads);
	drain(low);
	CHECK_VERDICT_LATER(10 * MS, low, NO_DEMAND);
}

TEST(exempt_is_who_would_have_to_go, "a queue of an exempt process is exempt while it has work that others would have it leave for")
{
	two_processes();
	low->process->policy.opt_out = true;
	start_hog(low);
	CHECK_VERDICT_AFTER(0, low, RUNS);
	start_hog(high);
	CHECK_AFTER(POLL, on_device(low));
	CHECK_VERDICT(low, EXEMPT);
	CHECK_EQ(left_ns(low), NEVER);
	drain(low);
	CHECK_VERDICT_LATER(10 * MS, low, NO_DEMAND);
	/* Nor is it held. */
	drain(high);
	passes_for(10 * MS, POLL);
	low->policy.set.hold = true;
	start_hog(low);
	CHECK_VERDICT_AFTER(POLL, low, EXEMPT);
}

TEST(an_obstacle_is_the_drivers, "a queue that the driver does not let go stays for that, whether it has to yield or is held")
{
	two_processes();
	low->policy.set.immovable = true;
	start_both();
	CHECK_AFTER(0, on_device(low));
	CHECK_VERDICT(low, OBSTACLE);
	drain(high);
	CHECK_VERDICT_LATER(3 * GPREEMPT_WAVES_UNKNOWN_NS, low, RUNS);
	low->policy.set.hold = true;
	CHECK_VERDICT_AFTER(POLL, low, OBSTACLE);
	low->policy.set.immovable = false;
	CHECK_VERDICT_AFTER(POLL, low, HOLD);
}

TEST(the_least_time_is_a_verdict, "a queue that just got the device keeps it for gpreempt_min_run_us, and it is told until when")
{
	node.params.min_run_ns = MS;
	low_works();
	start_hog(high);
	CHECK_VERDICT_AFTER(POLL, low, MIN_RUN);
	CHECK_EQ(left_ns(low), MS - POLL);
	CHECK_VERDICT_AFTER(left_ns(low), low, YIELDS);
}

TEST(without_work_nothing_ends, "of a queue whose work is done in its least time nothing more is told")
{
	node.params.min_run_ns = MS;
	low_works();
	start_hog(high);
	CHECK_VERDICT_AFTER(POLL, low, MIN_RUN);
	drain(low);
	CHECK_AFTER(POLL, on_device(low));
	CHECK_VERDICT(low, NO_DEMAND);
	CHECK_EQ(left_ns(low), NEVER);
}

TEST(the_budget_is_a_verdict, "a queue that the overhead budget keeps on the device is told so, and when there is room for its preemption")
{
	low_works();
	spend(high, 20 * MS);
	start_hog(high);
	CHECK_AFTER(POLL, on_device(low));
	CHECK_VERDICT(low, BUDGET);
	CHECK(node.policy.paid_ns > node.now_ns && node.policy.paid_ns <= node.now_ns + 101 * MS);
	CHECK_VERDICT_AFTER(node.policy.paid_ns - node.now_ns, low, YIELDS);
}

TEST(a_hold_is_a_verdict, "a queue that is held on request says so, whoever else has work, and for how long at most")
{
	low_yields();
	high->policy.set.hold = true;
	pass_after(POLL);
	CHECK_VERDICT_AFTER(POLL, high, HOLD);
	CHECK_VERDICT(low, RUNS);
	CHECK(low->policy.leads && !high->policy.leads);
	CHECK_EQ(left_ns(high), node.params.max_hold_ns - POLL);
	high->policy.set.hold_unbounded = true;
	CHECK_VERDICT_AFTER(POLL, high, HOLD);
	CHECK_EQ(left_ns(high), NEVER);
	high->policy.set.stopped = true;
	CHECK_VERDICT_AFTER(POLL, high, STOPPED);
	high->policy.set.stopped = false;
	high->policy.set.idle = true;
	CHECK_VERDICT_AFTER(POLL, high, IDLE);
	high->policy.set.idle = false;
	/* Of one that is below it is what it was asked for. */
	high->policy.set.hold = false;
	low->policy.set.hold = true;
	CHECK_VERDICT_AFTER(POLL, high, RUNS);
	CHECK_VERDICT(low, HOLD);
	CHECK_VERDICT_AFTER(POLL, low, HOLD);
	low->policy.set.hold = false;
	CHECK_VERDICT_AFTER(POLL, low, YIELDS);
}

TEST(a_hold_that_does_not_count_is_a_relief, "a queue that was held for the longest time is in relief, and it is told until when")
{
	high_is_held();
	CHECK_VERDICT(high, HOLD);
	CHECK_AFTER(node.params.max_hold_ns, on_device(high));
	CHECK_VERDICT(high, RELIEF);
	CHECK_EQ(left_ns(high), node.params.relief_ns);
	CHECK_VERDICT_AFTER(node.params.relief_ns, high, HOLD);
}

TEST(a_relief_is_a_verdict, "a queue that was preempted for its rank for the longest time is in relief, and others yield to it")
{
	low_yields();
	time_until(low, true, SEC);
	CHECK_VERDICT(low, RELIEF);
	CHECK_EQ(left_ns(low), low->process->policy.debt_ns);
	CHECK(low->policy.leads);
	CHECK_VERDICT(high, YIELDS);
	CHECK_VERDICT_AFTER(left_ns(low), low, YIELDS);
	CHECK_VERDICT(high, RUNS);
}

TEST(a_blocked_queue_is_told, "a queue whose packets wait for something else is blocked, until it is tried again, and nobody yields to it")
{
	two_processes();
	submit(high, 1);
	start_hog(low);
	CHECK_LATER(20 * MS, high->policy.seen.blocked);
	CHECK_VERDICT(high, BLOCKED);
	CHECK_EQ(high->policy.until_ns, high->policy.seen.try_ns);
	CHECK(left_ns(high) <= GPREEMPT_TRY_SHARE * node.params.blocked_ns);
	CHECK_VERDICT(low, RUNS);
	CHECK(low->policy.leads);
}

TEST(what_the_driver_took_is_told, "a queue that the driver has taken off is the driver's, with packets and without")
{
	two_processes();
	has_worked(high);
	start_hog(low);
	pass_after(POLL);
	gpreempt_demand_driver_off(&high->policy, true, false, node.now_ns);
	CHECK_VERDICT_AFTER(POLL, high, DRIVER);
	CHECK_VERDICT(low, RUNS);
	gpreempt_demand_driver_off(&high->policy, false, false, node.now_ns);
	CHECK_VERDICT_AFTER(POLL, high, NO_DEMAND);
	/* Its waves count while they are not known. */
	start_hog(high);
	CHECK_VERDICT_AFTER(POLL, high, RUNS);
	high->policy.seen.wptr = high->wptr = high->rptr;
	gpreempt_demand_driver_off(&high->policy, true, true, node.now_ns);
	CHECK_VERDICT_AFTER(POLL, high, DRIVER);
}

TEST(unseen_is_told, "a queue whose pointers cannot be read is unseen while it may run, and yields like any other")
{
	two_processes();
	low->policy.set.unseen = true;
	CHECK_VERDICT_AFTER(0, low, UNSEEN);
	CHECK_VERDICT_AFTER(POLL, low, UNSEEN);
	/* It is seen to have no waves. */
	start_hog(high);
	CHECK_AFTER(POLL, node.asked && on_device(low));
	CHECK_VERDICT(low, UNSEEN);
	low->waves = 16;
	CHECK_VERDICT_LATER(10 * MS, low, YIELDS);
	CHECK(high->policy.leads);
}

TEST(announced_work_is_a_verdict, "a queue whose work was announced is waited for until it comes, or until then; others yield to it")
{
	low_works();
	high->policy.set.expected_until_ns = node.now_ns + 10 * MS;
	CHECK_VERDICT_AFTER(POLL, high, EXPECTED);
	CHECK_EQ(left_ns(high), 10 * MS - POLL);
	CHECK(high->policy.leads);
	CHECK_VERDICT(low, YIELDS);
	submit(high, 1);
	CHECK_VERDICT_AFTER(POLL, high, RUNS);
	drain(high);
	CHECK_VERDICT_LATER(10 * MS, low, RUNS);
}

TEST(age_is_a_verdict, "a queue that is old enough runs beside the level for as long as is told, and is young again")
{
	node.params.aging_ns = 5 * MS;
	low_yields();
	CHECK_EQ(left_ns(low), (u64)(HIGH - LOW) * 5 * MS - POLL);
	CHECK_AFTER(left_ns(low), on_device(low));
	CHECK_VERDICT(low, AGED);
	CHECK_EQ(left_ns(low), node.params.relief_ns);
	CHECK_VERDICT(high, RUNS);
	CHECK(high->policy.leads && !low->policy.leads);
	CHECK_VERDICT_AFTER(left_ns(low), low, YIELDS);
}

TEST(who_waits_to_be_let_in_is_ageing, "a queue that gets old just after others had their time waits, and it is told until when")
{
	struct queue *later;

	node.params.aging_ns = 5 * MS;
	low_yields();
	later = new_queue(new_process(), LOW);
	passes_for(node.params.relief_ns + 2 * MS, POLL);
	submit(later, 1);
	while (low->policy.verdict != GPREEMPT_VERDICT_AGED)
		pass_after(POLL);
	while (later->policy.verdict == GPREEMPT_VERDICT_YIELDS || later->policy.verdict == GPREEMPT_VERDICT_NO_DEMAND)
		pass_after(POLL);
	CHECK_VERDICT(later, AGEING);
	CHECK(!on_device(later));
	CHECK(left_ns(later) <= (u64)(HIGH - LOW) * 5 * MS);
	CHECK_VERDICT_AFTER(left_ns(later), later, AGED);
}

TEST(a_resume_that_waits_is_told, "a queue that nobody outranks any more waits for gpreempt_resume_delay_us, and it is told until when")
{
	node.params.resume_delay_ns = 5 * MS;
	low_yields();
	drain(high);
	while (low->policy.verdict == GPREEMPT_VERDICT_YIELDS)
		pass_after(POLL);
	CHECK_VERDICT(low, RESUME_DELAYED);
	CHECK(!on_device(low));
	CHECK(left_ns(low) < 5 * MS);
	CHECK_AFTER(left_ns(low), on_device(low));
	CHECK_VERDICT(low, RUNS);
}

TEST(who_is_left_off_is_told, "where ranks move, a queue without work is left off the device until others come back, and has work to come back itself")
{
	struct queue *idle = idle_goes_along_by_deadline();
	u64 since_ns;

	CHECK_VERDICT(low, YIELDS);
	CHECK_VERDICT(idle, YIELDS);
	/* High is due again in 20. */
	CHECK_LATER(10 * MS, !on_device(idle));
	CHECK_VERDICT(idle, LEFT_OFF);
	since_ns = idle->policy.verdict_ns;
	CHECK_EQ(left_ns(idle), NEVER);
	CHECK_VERDICT_AFTER(POLL, idle, LEFT_OFF);
	CHECK_EQ(idle->policy.verdict_ns, since_ns);
	drain(high);
	while (idle->policy.verdict == GPREEMPT_VERDICT_LEFT_OFF && !on_device(low))
		pass_after(POLL);
	CHECK(on_device(idle) && on_device(low));
	CHECK_VERDICT(idle, NO_DEMAND);
}

TEST(announced_work_brings_back_who_was_left_off, "where ranks move, a queue that was left off without work is back on the device when its work is announced, before it comes")
{
	struct queue *sibling;

	use("edf");
	two_processes();
	sibling = new_queue(high->process, HIGH);
	start_hog(high);
	sibling->policy.set.hold = true;
	CHECK_VERDICT_AFTER(0, sibling, HOLD);
	sibling->policy.set.hold = false;
	CHECK_VERDICT_AFTER(POLL, sibling, LEFT_OFF);
	sibling->policy.set.expected_until_ns = node.now_ns + 10 * MS;
	CHECK_VERDICT_AFTER(POLL, sibling, EXPECTED);
	CHECK(on_device(sibling));
}

TEST(switched_off_has_no_verdict, "when everything is resumed nobody decides any more, and no queue has a verdict or leads")
{
	struct gpreempt_decision decision;

	low_yields();
	gpreempt_policy_resume_all(&node.policy, &decision);
	CHECK_VERDICT(low, NONE);
	CHECK_VERDICT(high, NONE);
	CHECK(!high->policy.leads);
}
