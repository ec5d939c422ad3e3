// SPDX-License-Identifier: MIT
/*
 * min_run_test.c - the minimum run
 *
 * A queue that just got the device keeps it for gpreempt_min_run_us.
 */
#include "policy_node.h"
#include "tap.h"

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

TEST(a_minimum_run_hides_nobody, "that one queue runs its minimum does not keep another one from being taken off, whichever comes first; it follows in time")
{
	struct queue *young, *old;

	EACH_ANEW(i, 4, "case %u: ", i) {
		node.params.min_run_ns = 5 * MS;
		young = i & 1 ? new_queue(new_process(), LOW) : NULL;
		old = new_queue(new_process(), LOW);
		if (!young)
			young = new_queue(new_process(), LOW);
		high = new_queue(new_process(), HIGH);
		/* Nobody is dormant: they stay in this order. */
		young->policy.seen.active_ns = high->policy.seen.active_ns = node.now_ns;
		start_hog(old);
		passes_for(10 * MS, POLL);
		/* One has packets, the other one maybe waves. */
		if (i & 2)
			start_hog(young);
		else
			last_kernel(young);
		submit(high, 100);
		CHECK_AFTER(POLL, !on_device(old) && on_device(young));
		CHECK_LATER(4 * MS, on_device(young));
		CHECK_LATER(2 * MS, !on_device(young));
	}
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

TEST(a_minimum_run_of_nobodys_concern, "the end of a minimum run is none to wait for where nobody would take the queue off then")
{
	node.params.poll_ns = 0;
	node.params.min_run_ns = 3 * MS;
	low_works();
	CHECK_EQ(node.decision.next_ns, node.params.interval_ns);
	start_hog(high);
	CHECK_AFTER(MS, on_device(low));
	CHECK_EQ(node.decision.next_ns, 2 * MS);
}

TEST(relief_does_not_wait_for_a_minimum_run, "a queue preempted for too long gets the device though another one has it only now")
{
	hog_preempts_low();
	node.params.min_run_ns = 100 * MS;
	pass_after(node.params.max_hold_ns - POLL);
	high->policy.seen.run_ns = node.now_ns;
	CHECK_AFTER(POLL, on_device(low) && !on_device(high));
}
