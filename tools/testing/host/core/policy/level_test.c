// SPDX-License-Identifier: MIT
/*
 * level_test.c - the level, and who yields to it
 *
 * The highest queue with work has the level. Those below it go when one of them is in the way, and
 * return together.
 */
#include <limits.h>

#include "policy_node.h"
#include "tap.h"

TEST(low_hog_yields_to_late_high,
     "a low queue that fills the device is preempted for a high one that comes later, then continues")
{
	low_works();
	CHECK(on_device(low));
	CHECK(!node.decision.inversion);

	submit(high, 1);
	CHECK_AFTER(POLL, node.decision.inversion);
	CHECK_EQ(node.decision.level, HIGH);
	CHECK(!on_device(low) && on_device(high));

	launch(high, 1, 8);
	CHECK_LATER(20 * MS, !on_device(low));

	/* Its end is seen by the next pass. */
	finish(high);
	CHECK_AFTER(POLL, on_device(low));
	CHECK_EQ(node.nr_acting, 2);
}

TEST(equal_priorities_are_left_alone, "no queue is preempted for another of the same priority")
{
	struct queue *a = new_queue(new_process(), LOW), *b = new_queue(new_process(), LOW);

	start_hog(a);
	start_hog(b);
	CHECK_EQ_LATER_EVERY(2 * SEC, 5 * MS, node.nr_preempted, 0);
	CHECK_EQ(node.nr_asked, 0);
}

TEST(a_higher_queue_is_never_a_victim, "a high queue that fills the device stays, whatever comes below it")
{
	two_processes();
	start_both();
	high->waves = 64;
	low->waves = 0;
	pass();
	CHECK_EQ_LATER(100 * MS, high->preempted, 0);
	CHECK_EQ(low->preempted, 1);
}

TEST(three_levels, "each level waits for the ones above, and returns in their order")
{
	three_processes();
	start_hog(low);
	start_hog(middle);
	CHECK_AFTER(0, !on_device(low) && on_device(middle));

	start_hog(high);
	CHECK_AFTER(POLL, !on_device(middle) && !on_device(low) && on_device(high));

	drain_and_settle(high);
	CHECK(on_device(middle) && !on_device(low));

	drain_and_settle(middle);
	CHECK(on_device(low));
}

TEST(raised_while_preempted_returns, "a preempted queue whose priority is raised to the level is resumed by the next pass")
{
	low_is_preempted();
	low->policy.set.priority = HIGH;
	CHECK_AFTER(POLL, on_device(low));
}

TEST(level_falls_when_the_high_queue_goes, "a preempted queue is resumed when the queue that it yielded to is destroyed")
{
	low_is_preempted();
	drop_queue(high);
	look();
	CHECK(!node.decision.park);
	act();
	CHECK(on_device(low));
	CHECK_AFTER(POLL, node.decision.park);
}

TEST(one_step_is_enough, "a queue one step below is in the way if it cannot be moved, and the end of its hold is known")
{
	struct queue *immovable;

	node.params.poll_ns = 0;
	node.params.resume_delay_ns = MS;
	high = new_queue(new_process(), HIGH);
	low = new_queue(new_process(), HIGH - 1);
	immovable = new_queue(new_process(), HIGH - 1);
	immovable->policy.set.immovable = true;
	start_hog(low);
	last_kernel(immovable);
	start_hog(high);
	CHECK_AFTER(0, !on_device(low));
	CHECK(immovable->policy.in_the_way);
	CHECK_EQ(node.decision.nr_in_the_way, 1);
	/* It is preempted, not delayed. */
	CHECK_EQ_AFTER(3 * MS, low->policy.outranked_ns, node.now_ns);
	CHECK_EQ(node.decision.next_ns, node.params.interval_ns);
	node.params.aging_ns = 4 * MS;
	CHECK_EQ_AFTER(500 * US, node.decision.next_ns, 500 * US);
	CHECK_AFTER(500 * US, on_device(low) && on_device(high));
}

TEST(level_has_the_highest_priority_of_its_rank, "where priorities do not rank, the level's is the highest of those who work at it, in whatever order they come")
{
	static const s32 priorities[][3] = { { LOW, MIDDLE, HIGH }, { HIGH, MIDDLE, LOW }, { MIDDLE, HIGH, LOW }, { LOW, HIGH, MIDDLE } };
	u32 k;

	EACH_ANEW(i, ARRAY_SIZE(priorities), "order %u: ", i) {
		/* Without deadlines all are equal. */
		use("edf");
		for (k = 0; k < 3; k++)
			start_hog(new_queue(new_process(), priorities[i][k]));
		CHECK_AFTER(0, node.decision.level_valid);
		CHECK_EQ(node.decision.level, HIGH);
		CHECK_EQ(node.nr_preempted, 0);
	}
}

/* ---- idle queues ---- */

TEST(idle_lower_queues_alone_cause_no_pass, "a busy high queue beside idle lower ones preempts nothing")
{
	two_processes();
	new_queue(new_process(), LOW);
	start_hog(high);
	CHECK_EQ_LATER(100 * MS, node.nr_acting, 0);
	CHECK(!node.decision.inversion);
}

TEST(idle_high_queues_hold_nothing, "a high queue without work takes nothing from a busy lower one")
{
	two_processes();
	past_kernel(high);
	start_hog(low);
	CHECK_EQ_LATER(100 * MS, node.nr_acting, 0);
}

TEST(a_pass_takes_idle_lower_queues_along,
     "when something is preempted, idle lower queues go in the same pass, and return in one")
{
	struct queue *idle;

	two_processes();
	idle = new_queue(new_process(), LOW);
	start_hog(low);
	submit(high, 2);
	CHECK_EQ_AFTER(0, node.decision.nr_preempt, 2);
	CHECK(!on_device(idle));
	launch(high, 1, 8);

	/* Its next packet costs no pass. */
	submit(idle, 1);
	CHECK_EQ_LATER(10 * MS, node.nr_acting, 1);

	drain_and_settle(high);
	CHECK(on_device(low) && on_device(idle));
	CHECK_EQ(node.nr_acting, 2);
}

TEST(idle_queues_return_when_nobody_works, "a queue that went along returns when nobody has work any more, whatever its priority")
{
	struct queue *idle = new_queue(new_process(), LOW);

	hog_preempts_low();
	CHECK(!on_device(idle));
	drop_queue(low);
	drain(high);
	CHECK_LATER(5 * MS, on_device(idle));
}

TEST(idle_queues_return_to_a_lower_level, "a queue that went along does not wait for the end of lower work")
{
	struct queue *idle = new_queue(new_process(), MIDDLE);

	hog_preempts_low();
	CHECK(!on_device(idle));
	low->process->policy.opt_out = true;
	CHECK_AFTER(POLL, on_device(low));
	drain(high);
	CHECK_LATER(5 * MS, on_device(idle));
}

/* ---- priorities ---- */

TEST(priority_derivation,
     "logical priority is KFD's minus nice; above normal counts against others only for the trusted")
{
	static const struct {
		u32 kfd;
		int nice;
		bool trusted;
		s32 priority, own;
		bool is_explicit;
	} table[] = {
		{  7,   0, false,    7,    7, false },
		{  7,  10, false,   -3,   -3, false },
		{  7,  19, true,   -12,  -12, false },
		{  7, -20, false,   27,   27, false },
		{  0,   0, false,    0,    0, true },
		{  0,  19, false,  -19,  -19, true },
		{ 15,   0, true,    15,   15, true },
		{ 15,   0, false,    7,   15, true },
		{ 15,  10, false,   -3,    5, true },
		{ 15, -20, false,   27,   35, true },
		{  8,   0, false,    7,    8, true },
		{ UINT_MAX,       0, true,  1023,  1023, true },
		{ UINT_MAX,       0, false,    7,  1023, true },
		{ UINT_MAX, INT_MIN, true,  1023,  1023, true },
		{        0, INT_MAX, true, -1023, -1023, true },
		{        7, INT_MIN, false, 1023,  1023, false },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		struct gpreempt_policy_queue q = {
			.set.priority = 99,
			.set.own_priority = 99,
			.set.explicit_priority = !table[i].is_explicit,
		};

		gpreempt_policy_priority(table[i].kfd, table[i].nice, table[i].trusted, &q);
		if (q.set.priority != table[i].priority || q.set.own_priority != table[i].own ||
		    q.set.explicit_priority != table[i].is_explicit)
			tap_fail(__FILE__, __LINE__, "kfd %u nice %d trusted %d: priority %d own %d explicit %d",
				 table[i].kfd, table[i].nice, table[i].trusted, q.set.priority, q.set.own_priority,
				 q.set.explicit_priority);
	}
}

TEST(largest_values_do_not_overflow, "priorities, pointers and tunables at their limits decide as ordinary ones do")
{
	/* Tunables are 32 bit in the user's unit; a clock of 64 bit nanoseconds lasts for centuries. */
	node.params.interval_ns = UINT_MAX * MS;
	node.params.poll_ns = UINT_MAX * US;
	node.params.max_hold_ns = UINT_MAX * MS;
	node.params.relief_ns = UINT_MAX * MS;
	node.params.blocked_ns = UINT_MAX * US;
	node.now_ns = 200ULL * 365 * 86400 * SEC;

	low = new_queue(new_process(), GPREEMPT_PRIORITY_MIN);
	high = new_queue(new_process(), GPREEMPT_PRIORITY_MAX);
	low->rptr = UINT64_MAX - 1;
	low->wptr = UINT64_MAX;
	low->waves = UINT_MAX;
	high->wptr = UINT64_MAX;
	CHECK_EQ_AFTER(0, node.decision.level, GPREEMPT_PRIORITY_MAX);
	CHECK(!on_device(low));
	CHECK(node.decision.next_ns && node.decision.next_ns <= node.params.poll_ns);
	high->waves = 1;
	CHECK_AFTER(UINT_MAX * MS, on_device(low));
}
