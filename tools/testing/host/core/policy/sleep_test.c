// SPDX-License-Identifier: MIT
/*
 * sleep_test.c - when to look again
 *
 * A node without rivals parks. Others sleep for the poll time or longer, never beyond the interval
 * or a deadline.
 */
#include "policy_node.h"
#include "tap.h"

/* ---- parking ---- */

TEST(parks_without_two_priorities, "no pass is needed while no queue could outrank another")
{
	struct process *p = new_process();

	CHECK_AFTER(0, node.decision.park);

	new_queue(p, HIGH);
	CHECK_AFTER(0, node.decision.park);

	new_queue(p, HIGH);
	new_queue(new_process(), HIGH);
	CHECK_AFTER(0, node.decision.park);

	new_queue(new_process(), LOW);
	CHECK_AFTER(0, !node.decision.park);
}

TEST(parks_with_one_process,
     "a process alone parks, unless two of its queues were explicitly given different priorities")
{
	struct process *p = new_process();

	new_queue(p, HIGH);
	new_explicit_queue(p, LOW);
	CHECK_AFTER(0, node.decision.park);
	new_explicit_queue(p, MIDDLE);
	CHECK_AFTER(0, !node.decision.park);
}

TEST(equal_wishes_order_nobody, "two queues of a process that were given the same priority need no passes, different ones do")
{
	struct process *p = new_process();

	new_explicit_queue(p, LOW);
	high = new_explicit_queue(p, LOW);
	CHECK_AFTER(0, node.decision.park);
	high->policy.set.own_priority = HIGH;
	CHECK_AFTER(POLL, !node.decision.park);
}

TEST(who_could_outrank_unannounced, "of armed processes it will be told when they work: only whoever is not armed could outrank another without a word")
{
	struct queue *q[3];
	u32 k;

	q[0] = new_queue(new_process(), LOW);
	q[1] = new_queue(new_process(), HIGH);
	q[2] = new_queue(new_process(), HIGH);
	pass();
	EACH(i, 8, "armed %x: ", i) {
		for (k = 0; k < 3; k++)
			q[k]->process->policy.armed = i & 1U << k;
		/* The low one and either high one. */
		CHECK_EQ(gpreempt_policy_can_outrank(&node.policy), !(i & 1) && (i & 6) != 6);
	}
}

TEST(never_parks_while_something_is_preempted, "a node with a preempted queue does not park before the queue is back")
{
	low_is_preempted();
	low->policy.set.priority = HIGH;
	look();
	CHECK_EQ(node.decision.nr_resume, 1);
	CHECK(!node.decision.park);
	act();
	CHECK_AFTER(POLL, node.decision.park);
}

/* ---- poll time and interval ---- */

TEST(contended_polls_otherwise_interval,
     "the poll time rules while a lower and a higher queue have had work within the last second")
{
	low_works();
	CHECK(!node.decision.contended);
	CHECK_EQ(node.decision.next_ns, node.params.interval_ns);

	submit(high, 1);
	CHECK_AFTER(5 * MS, node.decision.contended);
	CHECK_EQ(node.decision.next_ns, node.params.poll_ns);

	drain(high);
	CHECK_LATER_EVERY(990 * MS, 5 * MS, node.decision.contended);
	CHECK_LATER_EVERY(20 * MS, 5 * MS, !node.decision.contended);
	CHECK_EQ_LATER_EVERY(10 * SEC, 5 * MS, node.decision.next_ns, node.params.interval_ns);
}

TEST(equal_priorities_are_not_contended, "busy queues of one priority do not make the node poll")
{
	struct queue *a = new_queue(new_process(), HIGH), *b = new_queue(new_process(), HIGH);

	new_queue(new_process(), LOW);
	start_hog(a);
	start_hog(b);
	CHECK_LATER(10 * MS, !node.decision.contended);
	CHECK(!node.decision.park);
}

TEST(without_poll_the_interval_rules, "gpreempt_poll_us=0 leaves the interval, contended or not")
{
	node.params.poll_ns = 0;
	low_is_preempted();
	CHECK(node.decision.contended);
	CHECK_EQ(node.decision.next_ns, node.params.interval_ns);
}

TEST(idle_bystanders_do_not_keep_a_node_polling,
     "when all queues have been idle for a second the node is not contended, with immovable ones too")
{
	two_processes();
	low->policy.set.immovable = true;
	past_kernel(high);
	past_kernel(low);
	CHECK_LATER_EVERY(2 * SEC, 5 * MS, !node.decision.contended);
	CHECK_EQ(node.decision.next_ns, node.params.interval_ns);
}

/* High has worked, and low works without end. */
static void contended(void)
{
	two_processes();
	start_hog(low);
	submit(high, 1);
	pass();
	drain(high);
	CHECK_LATER(5 * MS, on_device(low));
	CHECK(node.decision.contended);
}

/* How long is slept after two passes of this cost: one alone does not count. */
static u64 slept_at_cost(u64 look_ns, u64 ask_ns)
{
	gpreempt_policy_cost(&node.policy, look_ns, ask_ns);
	gpreempt_policy_cost(&node.policy, look_ns, ask_ns);
	pass_after(POLL);
	return node.decision.next_ns;
}

TEST(looks_that_cost_much_are_rarer, "looking takes 4 % of the time at most, asking for waves a quarter; the interval is not exceeded")
{
	contended();
	CHECK_EQ(slept_at_cost(node.params.poll_ns / 24, node.params.poll_ns / 4), node.params.poll_ns);
	CHECK_EQ(slept_at_cost(20 * US, 0), 480 * US);
	CHECK_EQ(slept_at_cost(US, 150 * US), 600 * US);
	CHECK_EQ(slept_at_cost(SEC, SEC), node.params.interval_ns);
	CHECK_EQ(slept_at_cost(0, 0), node.params.poll_ns);
}

TEST(a_look_that_was_interrupted_is_forgiven, "one pass that took long among others that do not changes nothing")
{
	contended();
	slept_at_cost(US, 0);
	gpreempt_policy_cost(&node.policy, SEC, 0);
	CHECK_EQ_AFTER(POLL, node.decision.next_ns, node.params.poll_ns);
	gpreempt_policy_cost(&node.policy, US, 0);
	gpreempt_policy_cost(&node.policy, US, 0);
	CHECK_EQ_AFTER(POLL, node.decision.next_ns, node.params.poll_ns);
}

TEST(looks_become_rarer_with_silence, "after contention looks become rarer in proportion to the silence, while somebody works; never rarer than the interval")
{
	contended();
	while (node.decision.contended)
		pass_after(MS);
	CHECK_WITHIN(node.decision.next_ns, SEC / 2000, SEC / 2000 + 2 * US);
	passes_for(SEC, MS);
	CHECK_WITHIN(node.decision.next_ns, 2 * SEC / 2000, 2 * SEC / 2000 + 2 * US);
	CHECK_EQ(slept_at_cost(50 * US, 0), 1200 * US);
	slept_at_cost(0, 0);
	CHECK_EQ_LATER_EVERY(10 * SEC, 5 * MS, node.decision.next_ns, node.params.interval_ns);
	submit(high, 1);
	CHECK_EQ_AFTER(POLL, node.decision.next_ns, node.params.poll_ns);
	node.params.poll_ns = 0;
	drain(high);
	CHECK_EQ_LATER_EVERY(1500 * MS, 5 * MS, node.decision.next_ns, node.params.interval_ns);
}

TEST(nobody_at_work_is_looked_at_less, "while nobody has work the looks become rarer, up to ten times; with the first work they are as before")
{
	contended();
	drain(low);
	/* For some time it may have waves that nobody has asked for. */
	while (node.decision.next_ns == node.params.poll_ns)
		pass_after(POLL);
	CHECK(node.decision.contended);
	CHECK_EQ(node.decision.next_ns, (node.now_ns - node.policy.worked_ns) / 16);
	CHECK(node.decision.next_ns < 2 * node.params.poll_ns);
	CHECK(node.decision.next_ns > node.params.poll_ns);
	CHECK_EQ_LATER_EVERY(500 * MS, MS, node.decision.next_ns, 10 * node.params.poll_ns);
	submit(low, 1);
	CHECK_EQ_AFTER(MS, node.decision.next_ns, node.params.poll_ns);
	CHECK_EQ(node.policy.worked_ns, node.now_ns);
}

/* ---- deadlines ---- */

TEST(deadlines_shorten_the_sleep, "the end of a hold comes before poll and interval")
{
	node.params.poll_ns = 0;
	high_is_held();
	CHECK_EQ_AFTER(node.params.max_hold_ns - 3 * MS, node.decision.next_ns, 3 * MS);
	CHECK_AFTER(3 * MS, on_device(high));
	CHECK_EQ_AFTER(node.params.relief_ns - 2 * MS, node.decision.next_ns, 2 * MS);
	/* Nobody sleeps for less than a sleep costs. */
	CHECK_EQ_AFTER(2 * MS - 1, node.decision.next_ns, 10 * US);
}

TEST(sleeps_are_exact, "a deadline is met to the nanosecond where it is further off than the shortest sleep")
{
	node.params.poll_ns = 0;
	high_is_held();
	CHECK_EQ_AFTER(node.params.max_hold_ns - 15 * US, node.decision.next_ns, 15 * US);
	CHECK_EQ_AFTER(10 * US, node.decision.next_ns, 10 * US);
}

TEST(a_hold_shorter_than_the_interval_is_kept,
     "the sleep after the pass that preempts is not longer than the maximum hold")
{
	node.params.poll_ns = 0;
	node.params.max_hold_ns = 1 * MS;
	high_is_held();
	CHECK(!on_device(high));
	CHECK(node.decision.next_ns <= 1 * MS);
}

TEST(deadlines_do_not_wait_for_costs, "however much looking costs, the end of a hold is not overslept")
{
	node.params.interval_ns = SEC;
	high_is_held();
	slept_at_cost(SEC, SEC);
	CHECK_EQ_AFTER(node.params.max_hold_ns - POLL - 3 * MS, node.decision.next_ns, 3 * MS);
}
