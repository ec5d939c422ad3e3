// SPDX-License-Identifier: MIT
/*
 * unseen_test.c - queues whose pointers cannot be read
 *
 * They yield like any other, and nobody yields to them.
 */
#include "demand.h"
#include "policy_node.h"
#include "tap.h"

/* Low cannot be looked at and fills the device. */
static void low_is_unseen(void)
{
	two_processes();
	low->policy.set.unseen = true;
	start_hog(low);
	CHECK_AFTER(0, on_device(low));
}

TEST(unseen_queue_yields, "a queue whose pointers cannot be read yields to a higher one like any other, and returns after it")
{
	low_is_unseen();
	submit(high, 1);
	CHECK_AFTER(POLL, node.decision.inversion);
	CHECK(!on_device(low));
	launch(high, 1, 8);
	CHECK_LATER(20 * MS, !on_device(low));
	drain_and_settle(high);
	CHECK(on_device(low));
}

TEST(unseen_queue_yields_without_wave_counts, "where waves cannot be read a queue that cannot be looked at is always in the way")
{
	node.device.waves_known = false;
	low_is_unseen();
	passes_for(SEC, POLL);
	submit(high, 1);
	CHECK_AFTER(POLL, !on_device(low));
}

TEST(unseen_queue_without_waves_is_left_alone,
     "a queue that cannot be looked at and is known to have no waves is not taken off; that is believed for GPREEMPT_WAVES_SETTLE_NS at most")
{
	low_is_unseen();
	finish(low);
	start_hog(high);
	CHECK_EQ_LATER(100 * MS, low->preempted, 0);
	node.nr_asked = 0;
	CHECK_LATER(100 * MS, node.nr_asked >= 50 && node.nr_asked <= 110);
	low->waves = 8;
	CHECK_LATER(GPREEMPT_WAVES_SETTLE_NS + POLL, !on_device(low));
}

TEST(unseen_queue_raises_no_level, "no queue yields to one that cannot be looked at, whatever its priority and whatever was announced for it")
{
	struct queue *sibling;

	two_processes();
	sibling = new_queue(low->process, LOW - 1);
	high->policy.set.unseen = true;
	start_both();
	start_hog(sibling);
	high->policy.set.expected_until_ns = node.now_ns + 100 * MS;
	CHECK_EQ_LATER(200 * MS, node.nr_preempted, 0);
	CHECK_EQ(node.decision.level, LOW);
	/* Nor does it exempt its process. */
	sibling->policy.process = high->policy.process;
	CHECK_AFTER(POLL, !on_device(sibling) && on_device(high) && on_device(low));
}

TEST(unseen_queue_gets_relief, "a preempted queue that cannot be looked at counts as having work: it has its relief, and yields afterwards")
{
	low_is_unseen();
	start_hog(high);
	CHECK_AFTER(POLL, !on_device(low));
	finish_saved(low);
	CHECK_WITHIN(time_until(low, true, SEC), owed_ns() - 2 * POLL, owed_ns() + 2 * POLL);
	CHECK(!on_device(high));
	CHECK_EQ(node.nr_relief, 1);
	/* Work that came while it was preempted. */
	low->waves = 8;
	time_until(low, false, 5 * MS);
	CHECK(on_device(high));
}

TEST(unseen_queue_without_work_ends_its_relief, "the relief of a queue that cannot be looked at ends when it is known to have no waves")
{
	low_is_unseen();
	start_hog(high);
	pass_after(POLL);
	finish_saved(low);
	time_until(low, true, SEC);
	CHECK_LATER(2 * GPREEMPT_WAVES_SETTLE_NS, on_device(high));
}

TEST(unseen_queue_that_the_driver_took_is_in_nobodys_way, "a queue that cannot be looked at is not in the way while the driver keeps it off the device")
{
	low_is_unseen();
	gpreempt_demand_driver_off(&low->policy, true, false, node.now_ns);
	start_hog(high);
	CHECK_EQ_LATER(10 * MS, low->preempted, 0);
	gpreempt_demand_driver_off(&low->policy, false, false, node.now_ns);
	CHECK_AFTER(POLL, !on_device(low));
}

TEST(unseen_queue_comes_into_sight, "pointers that can be read after all say what they always say, and those that cannot any more say nothing")
{
	two_processes();
	high->policy.set.unseen = true;
	submit(high, 1);
	start_hog(low);
	CHECK_EQ_LATER(10 * MS, node.nr_preempted, 0);
	high->policy.set.unseen = false;
	CHECK_AFTER(POLL, !on_device(low));
	high->policy.set.unseen = true;
	CHECK_AFTER(POLL, on_device(low));
}

TEST(unseen_queue_has_waves_while_none_are_read, "what was known of a queue that cannot be looked at does not stay while waves cannot be read: it yields")
{
	low_is_unseen();
	finish(low);
	start_hog(high);
	CHECK_LATER(10 * MS, on_device(low));
	node.now_ns += 5 * MS;
	gpreempt_demand_waves_unread(&node.policy, node.now_ns);
	node.silent = true;
	CHECK_AFTER(0, !on_device(low));
}

TEST(unseen_queue_is_never_dormant, "a queue that cannot be looked at is looked at in each pass: no pointer would wake it")
{
	two_processes();
	low->policy.set.unseen = true;
	start_hog(high);
	CHECK_EQ_LATER(3 * SEC, low->preempted, 0);
	low->waves = 8;
	CHECK_LATER(GPREEMPT_WAVES_SETTLE_NS + POLL, !on_device(low));
}
