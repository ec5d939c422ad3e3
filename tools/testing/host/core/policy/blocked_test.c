// SPDX-License-Identifier: MIT
/*
 * blocked_test.c - blocked queues
 *
 * A queue whose packets stand still on the device without waves gives its level away, and is tried
 * again now and then.
 */
#include "policy_node.h"
#include "tap.h"

/* High waits on a barrier until it is taken for blocked, and low runs. */
static void high_is_blocked(void)
{
	low_is_preempted();
	CHECK_LATER(node.params.blocked_ns + GPREEMPT_WAVES_SETTLE_NS + 2 * POLL, high->policy.seen.blocked);
	CHECK(on_device(low));
}

TEST(blocked_high_lets_low_run,
     "a high queue that has the device and stands still without waves gives the level away")
{
	low_is_preempted();
	CHECK_LATER(node.params.blocked_ns - 2 * POLL, !on_device(low));
	CHECK_LATER(GPREEMPT_WAVES_SETTLE_NS + 4 * POLL, on_device(low));
	CHECK_EQ(node.decision.level, LOW);
	CHECK(on_device(high));
	CHECK_EQ_LATER(100 * MS, node.nr_acting, 2);
}

TEST(blocked_ends_when_rptr_moves, "a blocked queue has demand again as soon as its read pointer moves")
{
	high_is_blocked();
	submit(high, 1);
	CHECK_AFTER(POLL, on_device(low));
	launch(high, 1, 0);
	CHECK_AFTER(POLL, !on_device(low));
}

TEST(rings_wrap, "a read pointer that wraps to a smaller number is a launch like any other")
{
	high_is_blocked();
	high->rptr = 100;
	high->wptr = 101;
	CHECK_AFTER(POLL, !on_device(low));
}

TEST(blocked_ends_when_waves_appear,
     "a blocked queue has demand again when waves appear, though its read pointer stands")
{
	high_is_blocked();
	high->waves = 8;
	CHECK_LATER(node.params.blocked_ns + POLL, !on_device(low));
	CHECK_LATER(10 * MS, !on_device(low));
}

TEST(blocked_is_asked_now_and_then, "a blocked queue is asked about once per gpreempt_blocked_us, not at every pass")
{
	high_is_blocked();
	node.nr_asked = 0;
	CHECK_LATER(100 * MS, node.nr_asked >= 20);
	CHECK(node.nr_asked <= 51);
}

TEST(waves_are_not_blocked, "a queue whose kernel runs long in front of a waiting packet is not blocked")
{
	low_is_preempted();
	last_kernel(high);
	CHECK_LATER(100 * MS, !on_device(low));
	CHECK(!high->policy.seen.blocked);
}

TEST(stalled_behind_a_lower_is_not_blocked,
     "time in which a lower queue had work on the device does not make a queue blocked")
{
	struct queue *preempted = new_queue(new_process(), LOW);

	two_processes();
	low->policy.set.immovable = true;
	start_hog(low);
	start_hog(preempted);
	submit(high, 1);
	CHECK_LATER(100 * MS, !high->policy.seen.blocked);
	CHECK(!on_device(preempted));
}

TEST(a_stall_ends_where_a_relief_begins,
     "a queue that stood still before a relief, and stands behind the relieved queue now, is not blocked")
{
	struct queue *preempted;

	node.params.max_hold_ns = 4 * MS;
	low_is_preempted();
	preempted = new_queue(new_process(), LOW);
	launch(high, 1, 8);
	submit(high, 1);
	passes_for(1 * MS, POLL);
	start_hog(preempted);
	CHECK_LATER(1 * MS, !on_device(preempted));

	/* High's waves leave 1 ms before low's turn, and low fills the device then. */
	while (low->process->policy.debt_ns + 400 * US < owed_ns() * 20 / 24)
		pass_after(POLL);
	high->waves = 0;
	time_until(low, true, 2 * MS);
	CHECK_LATER(1000 * US, !high->policy.seen.blocked);
	CHECK(!on_device(preempted));
}

TEST(an_idle_bystander_does_not_hide_a_blocked_queue,
     "an idle lower queue that must stay (own process, immovable) does not keep a waiting queue from being blocked")
{
	struct queue *bystander = new_explicit_queue(new_process(), LOW);

	high = new_queue(bystander->process, HIGH);
	low = new_queue(new_process(), LOW);
	past_kernel(bystander);
	start_hog(low);
	submit(high, 1);
	CHECK_AFTER(0, !on_device(low));
	CHECK_LATER(50 * MS, high->policy.seen.blocked);
	CHECK(on_device(low));
}

TEST(who_is_in_the_way_may_be_blocked, "that the level stands still does not keep a lower one that stands still as well from being taken for blocked")
{
	two_processes();
	low->policy.set.immovable = true;
	submit(low, 1);
	submit(high, 1);
	CHECK_LATER(30 * MS, low->policy.seen.blocked);
	CHECK(high->policy.seen.blocked);
}

TEST(blocked_can_be_switched_off, "with gpreempt_blocked_us=0 a waiting queue keeps its level")
{
	node.params.blocked_ns = 0;
	low_is_preempted();
	CHECK_LATER(100 * MS, !on_device(low));
}

/* ---- tries ---- */

TEST(blocked_queues_are_tried_again,
     "a blocked queue whose kernel in truth waits for slots behind a resumed one gets the device back after a while, and keeps it")
{
	u32 i;

	high_is_blocked();
	/* What it waited for has come meanwhile. A launch that waits for slots shows nothing. */
	for (i = 0; on_device(low) && i < 1000; i++)
		pass_after(POLL);
	CHECK(!on_device(low));
	CHECK_EQ(high->policy.seen.tries, 1);
	launch(high, 1, 8);
	submit(high, 1);
	CHECK_LATER(10 * MS, !high->policy.seen.blocked);
	CHECK(!on_device(low));
	/* The next time it is new to it. */
	high->waves = 0;
	CHECK_LATER(node.params.blocked_ns + GPREEMPT_WAVES_SETTLE_NS + 4 * POLL, high->policy.seen.blocked && on_device(low));
	CHECK_EQ(high->policy.seen.tries, 0);
	CHECK(high->policy.seen.try_ns <= node.now_ns + GPREEMPT_TRY_SHARE * node.params.blocked_ns);
}

TEST(tries_get_rarer, "one that stays blocked is tried ever more rarely, down to once a second, and takes little from those below")
{
	u64 preempted_ns = 0, end_ns;

	high_is_blocked();
	for (end_ns = node.now_ns + 10 * SEC; node.now_ns < end_ns;) {
		pass_after(POLL);
		preempted_ns += on_device(low) ? 0 : POLL;
	}
	CHECK(high->policy.seen.tries >= 10 && high->policy.seen.tries <= 14);
	CHECK(preempted_ns < 60 * MS);
	CHECK_EQ(node.nr_preempted, 1 + high->policy.seen.tries);
	/* A longer gpreempt_blocked_us makes both rarer. */
	node.params.blocked_ns = SEC;
	node.params.max_hold_ns = 0;
	passes_for(5 * SEC, MS);
	end_ns = node.nr_preempted;
	CHECK_EQ_LATER_EVERY(50 * SEC, MS, node.nr_preempted, end_ns);
}

TEST(tries_are_not_slept_through, "however long the interval is, a blocked queue is tried when it is time")
{
	u64 due_ns;

	high_is_blocked();
	due_ns = high->policy.seen.try_ns;
	node.params.interval_ns = 10 * SEC;
	node.params.poll_ns = 0;
	node.params.max_hold_ns = 0;
	CHECK_AFTER(0, node.decision.next_ns <= due_ns - node.now_ns);
}

TEST(one_that_came_back_in_a_kernel_yields_unasked,
     "a queue that came back with waves and stands still yields without a question, though a look found none before they were back; it is asked if a later look found none, or if it came back without")
{
	static const struct { bool saved, early, asks; } cases[] = { { true, true, false }, { true, false, true }, { false, true, true } };

	EACH_CASE_ANEW(i, cases) {
		struct gpreempt_policy_queue *pq;

		low_is_preempted();
		pq = &low->policy;
		pq->saved_waves = cases[i].saved;
		drain(high);
		time_until(low, true, 10 * MS);
		passes_for(node.params.blocked_ns + 10 * MS, POLL);
		pq->seen.waves = 0;
		pq->seen.waves_ns = cases[i].early ? pq->seen.run_ns + 1 : node.now_ns - 5 * MS;
		pq->seen.zero_ns = pq->seen.waves_ns;
		pq->seen.restore_since_ns = 0;
		CHECK(!pq->seen.blocked);
		submit(high, 1);
		pass_after(POLL);
		CHECK_EQ(node.asked, cases[i].asks);
		CHECK(cases[i].asks || !on_device(low));
	}
}
