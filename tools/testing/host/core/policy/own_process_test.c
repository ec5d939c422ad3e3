// SPDX-License-Identifier: MIT
/*
 * own_process_test.c - queues of one process
 *
 * They let each other stay, unless both were asked for different places.
 */
#include "policy_node.h"
#include "tap.h"

TEST(own_process_is_never_a_victim,
     "a queue of the process that works at the level stays, unless both priorities were asked for")
{
	struct queue *compute = new_explicit_queue(new_process(), 10), *copy = new_queue(compute->process, HIGH);

	low = new_queue(new_process(), LOW);
	start_hog(copy);
	start_hog(low);
	submit(compute, 1);
	CHECK_AFTER(0, !on_device(low) && on_device(copy));
	CHECK_EQ_LATER(100 * MS, copy->preempted, 0);
}

TEST(own_low_queue_stays_beside_a_default_one,
     "an explicitly low queue does not yield to a default queue of the same process")
{
	struct queue *compute = new_queue(new_process(), HIGH), *background = new_explicit_queue(compute->process, LOW);

	low = new_queue(new_process(), LOW);
	start_hog(background);
	start_hog(low);
	submit(compute, 1);
	CHECK_AFTER(0, !on_device(low) && on_device(background));
}

TEST(own_process_counts_only_at_the_level, "a process with an idle high queue has no privilege for its low one")
{
	struct process *p = new_process();

	new_queue(p, HIGH);
	low = new_explicit_queue(p, LOW);
	high = new_queue(new_process(), HIGH);
	start_hog(low);
	submit(high, 1);
	CHECK_AFTER(0, !on_device(low));
}

TEST(an_idle_own_queue_shields_nobody,
     "when a process's queue at the level has ended, its low queue yields to others, busy as it may be")
{
	struct queue *compute = new_queue(new_process(), HIGH), *background = new_explicit_queue(compute->process, LOW);

	/* A long last kernel; and two that move on, so that nothing stalls. */
	high = new_queue(new_process(), HIGH);
	last_kernel(high);
	start_hog(background);
	start_hog(compute);
	TIMES(50) {
		launch(compute, 1, 0);
		pass_after(POLL);
	}
	CHECK(on_device(background));
	drain_and_settle(compute);
	CHECK_LATER(4 * MS, !on_device(background));
}

TEST(explicit_own_priorities_order_a_process,
     "of two queues whose priorities were both asked for, the lower yields, in one process too")
{
	struct queue *urgent = new_explicit_queue(new_process(), HIGH), *background = new_explicit_queue(urgent->process, HIGH);

	/* Untrusted: equal against others, ordered among themselves. */
	urgent->policy.set.own_priority = 15;
	background->policy.set.own_priority = 11;
	start_hog(background);
	CHECK_AFTER(0, on_device(background));
	submit(urgent, 1);
	CHECK_AFTER(POLL, !on_device(background) && on_device(urgent));
	drain_and_settle(urgent);
	CHECK(on_device(background));
}

TEST(a_raised_queue_lifts_its_process_only_while_it_works,
     "other queues of a process whose one queue was raised run beside that one, and have their own rank against others as soon as it has no work")
{
	struct queue *raised = new_explicit_queue(new_process(), 100), *sibling, *other;

	sibling = new_queue(raised->process, LOW);
	other = new_queue(new_process(), MIDDLE);
	start_hog(sibling);
	start_hog(other);
	CHECK_AFTER(0, on_device(other) && !on_device(sibling));
	submit(raised, 1);
	CHECK_AFTER(POLL, !on_device(other) && on_device(sibling));
	launch(raised, 1, 8);
	CHECK_LATER(20 * MS, !on_device(other) && on_device(sibling));
	drain_and_settle(raised);
	CHECK(on_device(other) && !on_device(sibling));
	CHECK_LATER(100 * MS, on_device(other) && !on_device(sibling));
}

TEST(own_priority_means_nothing_to_others, "an untrusted claim orders a process, and preempts nobody else")
{
	struct queue *urgent = new_explicit_queue(new_process(), HIGH), *other = new_queue(new_process(), HIGH);

	urgent->policy.set.own_priority = 15;
	start_hog(other);
	start_hog(urgent);
	CHECK_EQ_LATER(100 * MS, node.nr_preempted, 0);
}
