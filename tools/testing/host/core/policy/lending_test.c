// SPDX-License-Identifier: MIT
/* lending_test.c - a process that says that it waits for another one lends it its priority */
#include "policy_node.h"
#include "tap.h"

/* Of @q the process waits for that of @other, as an administrator says it or as a user does. */
static void wait_for(struct queue *q, struct queue *other, bool all)
{
	q->process->policy.waits_for = other ? &other->process->policy : NULL;
	q->process->policy.lends_all = all;
}

/* The middle one keeps the low one off the device; what the high one does is the test's. */
static void middle_works(void)
{
	three_processes();
	start_hog(low);
	start_hog(middle);
	CHECK_AFTER(0, !on_device(low) && on_device(middle));
}

TEST(who_is_waited_for_has_the_rank_of_who_waits,
     "a process that a higher one waits for comes before what is between the two, for as long as it is said")
{
	middle_works();
	wait_for(high, low, true);
	CHECK_AFTER(POLL, on_device(low) && !on_device(middle));
	CHECK_EQ(low->policy.effective_priority, HIGH);
	CHECK_EQ(low->policy.set.priority, LOW);
	CHECK_EQ(node.decision.level, HIGH);
	/* It waits without packets as well as with some that stand still: what it says counts. */
	submit(high, 1);
	CHECK_LATER(20 * MS, on_device(low) && on_device(high) && !on_device(middle));
	wait_for(high, NULL, false);
	drain(high);
	CHECK_LATER(20 * MS, !on_device(low) && on_device(middle));
	CHECK_EQ(low->policy.effective_priority, LOW);
}

TEST(who_waits_gets_nothing, "a process that waits for a higher one keeps its own place, and the higher one has its own")
{
	middle_works();
	wait_for(low, high, true);
	CHECK_EQ_LATER(20 * MS, low->policy.priority, LOW);
	CHECK(!on_device(low));
	CHECK_EQ(high->policy.priority, HIGH);
}

TEST(what_is_lent_is_passed_on, "along a chain of processes that wait each has the rank of the first one, in whatever order they came; over more than eight links it may end")
{
	struct queue *chain[GPREEMPT_LEND_LINKS + 1];
	u32 k, n = GPREEMPT_LEND_LINKS;

	EACH_ANEW(i, 2, "order %u: ", i) {
		for (k = 0; k <= n; k++)
			chain[i ? n - k : k] = new_queue(new_process(), LOW);
		for (k = 0; k < n; k++)
			wait_for(chain[k], chain[k + 1], true);
		middle = new_queue(new_process(), MIDDLE);
		chain[0]->policy.set.priority = HIGH;
		start_hog(chain[n]);
		start_hog(middle);
		CHECK_AFTER(0, on_device(chain[n]) && !on_device(middle));
		wait_for(chain[3], NULL, true);
		CHECK_AFTER(POLL, !on_device(chain[n]) && on_device(middle));
	}
}

TEST(circles_of_waits_are_harmless, "processes that wait for each other all have the highest rank among them, and no more")
{
	middle_works();
	wait_for(low, high, true);
	wait_for(high, low, true);
	CHECK_AFTER(POLL, on_device(low));
	CHECK_EQ(low->policy.priority, HIGH);
	CHECK_EQ(high->policy.priority, HIGH);
	/* One for itself */
	wait_for(high, high, true);
	wait_for(low, low, true);
	CHECK_AFTER(POLL, !on_device(low));
	CHECK_EQ(high->policy.priority, HIGH);
	CHECK_EQ(low->policy.priority, LOW);
}

TEST(a_user_lends_within_bounds, "what is lent without rights counts up to what a user may set, for each queue, and what is passed on is no more")
{
	struct queue *last;

	middle_works();
	low->policy.set.lent_max = MIDDLE - 1;
	wait_for(high, low, false);
	CHECK_AFTER(POLL, !on_device(low));
	CHECK_EQ(low->policy.priority, MIDDLE - 1);
	last = new_queue(new_process(), LOW);
	wait_for(low, last, true);
	CHECK_EQ_AFTER(POLL, last->policy.priority, MIDDLE - 1);
	low->policy.set.lent_max = 2 * HIGH;
	CHECK_AFTER(POLL, on_device(low) && !on_device(middle));
	CHECK_EQ(low->policy.priority, HIGH);
	/* The bound lowers nothing. */
	low->policy.set.lent_max = LOW - 1;
	CHECK_EQ_AFTER(POLL, low->policy.priority, LOW);
}

TEST(the_highest_queue_lends, "a process lends the highest priority of its queues, and all queues of the other one have it")
{
	struct queue *second;

	middle_works();
	second = new_queue(low->process, LOW - 1);
	new_queue(middle->process, HIGH);
	wait_for(middle, low, true);
	CHECK_AFTER(POLL, on_device(low));
	CHECK_EQ(low->policy.priority, HIGH);
	CHECK_EQ(second->policy.priority, HIGH);
	CHECK_EQ(middle->policy.priority, MIDDLE);
}

TEST(of_several_the_highest_lends, "of processes that wait for the same one the most urgent counts, and one that goes lends no more")
{
	middle_works();
	wait_for(middle, low, true);
	wait_for(high, low, true);
	CHECK_EQ_AFTER(POLL, low->policy.priority, HIGH);
	wait_for(high, NULL, false);
	CHECK_EQ_AFTER(POLL, low->policy.priority, MIDDLE);
	CHECK(on_device(low) && on_device(middle));
}

TEST(what_is_stronger_than_rank_stays_so, "a hold, and an opt-out of what is in the way, are no less for a rank that is lent")
{
	middle_works();
	wait_for(high, low, true);
	low->policy.set.hold = true;
	CHECK_LATER(10 * MS, !on_device(low) && on_device(middle));
	low->policy.set.hold = false;
	middle->process->policy.opt_out = true;
	CHECK_LATER(10 * MS, on_device(low) && on_device(middle));
	CHECK_EQ(middle->policy.verdict, GPREEMPT_VERDICT_EXEMPT);
}

TEST(a_lent_rank_owes, "who is outranked by a lent rank is owed service as by any other")
{
	middle_works();
	wait_for(high, low, true);
	CHECK_AFTER(POLL, !on_device(middle));
	CHECK_WITHIN(time_until(middle, true, 2 * SEC), owed_ns() - 8 * POLL, owed_ns() + 8 * POLL);
}

TEST(a_lent_rank_takes_turns, "with shares a group whose process is lent a rank takes turns with those that have it")
{
	struct queue *rival;
	u64 n, low_ns = 0;

	new_group(0, 100);
	new_group(0, 100);
	low = new_queue_in(1, LOW);
	rival = new_queue_in(2, HIGH);
	high = new_queue_in(2, HIGH);
	start_hog(low);
	start_hog(rival);
	CHECK_LATER(50 * MS, !on_device(low));
	wait_for(high, low, true);
	for (n = 0; n < SEC / POLL; n++) {
		pass_after(POLL);
		low_ns += on_device(low) ? POLL : 0;
	}
	CHECK_WITHIN(low_ns, SEC * 45 / 100, SEC * 55 / 100);
}

TEST(equals_by_lending_are_left_alone, "where what is lent makes all equal the node is left alone")
{
	two_processes();
	wait_for(high, low, true);
	start_hog(low);
	start_hog(high);
	CHECK_EQ_LATER(50 * MS, node.nr_preempted, 0);
	CHECK(node.decision.park);
}
