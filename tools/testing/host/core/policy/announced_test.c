// SPDX-License-Identifier: MIT
/*
 * announced_test.c - work that was announced
 *
 * It has demand before it comes. The announcement ends with that work, or when it says.
 */
#include "demand.h"
#include "policy_node.h"
#include "tap.h"

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

TEST(samples_meet_announcements, "work that waits when it is announced is what was announced, also of a queue that is preempted")
{
	struct gpreempt_policy_process process = { 0 };
	struct gpreempt_policy_queue q = { .process = &process, .preempted = true };

	gpreempt_demand_sample(&q, 0, 2, 2, 100);
	q.set.expected_until_ns = 900;
	CHECK(!gpreempt_demand_came(&q));
	gpreempt_demand_sample(&q, 0, 2, 2, 200);
	CHECK_EQ(q.seen.expected_met_ns, 900);
	CHECK(gpreempt_demand_came(&q));
}
