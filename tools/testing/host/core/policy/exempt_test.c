// SPDX-License-Identifier: MIT
/*
 * exempt_test.c - queues that stay, whoever else has work
 *
 * Their process opted out, or the driver holds on to them.
 */
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

/* ---- the driver ---- */

TEST(immovable_queue_is_never_a_victim,
     "a queue that the driver holds on to is not preempted, and alone causes no pass")
{
	two_processes();
	low->policy.set.immovable = true;
	start_hog(low);
	submit(high, 1);
	CHECK_EQ_LATER(10 * MS, node.nr_acting, 0);
}

TEST(immovable_queue_in_the_way_is_named,
     "a queue that the driver holds on to is in the way while it has work and a higher one has, and not otherwise")
{
	two_processes();
	low->policy.set.immovable = true;
	high->policy.set.immovable = true;
	submit(high, 1);
	CHECK_AFTER(0, !low->policy.in_the_way);
	start_hog(low);
	CHECK_AFTER(POLL, low->policy.in_the_way);
	CHECK(!high->policy.in_the_way);
	low->policy.set.immovable = false;
	CHECK_AFTER(POLL, !low->policy.in_the_way);
	CHECK(!on_device(low));
}

TEST(immovable_preempted_queue_is_resumed, "a queue that becomes immovable while it is preempted is resumed at once")
{
	low_is_preempted();
	low->policy.set.immovable = true;
	CHECK_AFTER(POLL, on_device(low));
}
