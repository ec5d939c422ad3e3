// SPDX-License-Identifier: MIT
/*
 * dormant_test.c - queues that have had no work for long
 *
 * Passes spare them until their pointers move, and decide as if they had looked.
 */
#include "policy_node.h"
#include "tap.h"

/* Two that had work and have none for long, beside a hog that keeps the node awake. */
static struct queue *two_dormant_beside_a_hog(void)
{
	struct queue *idle = new_queue(new_process(), LOW);

	two_processes();
	past_kernel(idle);
	past_kernel(high);
	start_hog(low);
	passes_for(1500 * MS, MS);
	return idle;
}

TEST(long_idle_queues_are_dormant, "queues without work are looked at for a second after it, then they are spared until their pointers move")
{
	two_dormant_beside_a_hog();
	CHECK_EQ(node.nr_awake, 1);
	submit(high, 1);
	CHECK_EQ_AFTER(0, node.nr_awake, 2);
	CHECK_EQ(node.decision.nr_preempt, 2);
}

TEST(dormant_queues_go_along, "a queue that is dormant is taken along by a preemption, and returned by the end of it")
{
	struct queue *idle = two_dormant_beside_a_hog();

	submit(high, 1);
	CHECK_AFTER(0, !on_device(idle));
	launch(high, 1, 0);
	CHECK_LATER(10 * MS, on_device(idle) && on_device(low));
}

TEST(dormant_queues_keep_the_node_awake, "a queue that is dormant can still outrank another: the node does not park")
{
	two_dormant_beside_a_hog();
	finish(low);
	low->rptr = low->wptr;
	CHECK_EQ_LATER_EVERY(1900 * MS, MS, node.nr_awake, 0);
	CHECK(!node.decision.contended && !node.decision.park);
}

TEST(dormancy_ends_with_what_is_believed, "that a dormant queue has no waves is asked again when it was asked long enough ago")
{
	two_dormant_beside_a_hog();
	high->waves = 8;
	CHECK_LATER_EVERY(1500 * MS, MS, node.nr_awake > 1);
	CHECK(!on_device(low));
}

TEST(what_keeps_from_being_dormant, "a queue is dormant when nothing about it can matter before its pointers move, and each thing that can keeps it awake")
{
	const u64 now_ns = 100 * SEC, forever_ns = ~0ULL;
#define LONG_IDLE	.seen.used = true, .seen.active_ns = now_ns - SEC
#define NO_WAVES(since)	.seen.zero_ns = now_ns - (since), .seen.waves_ns = now_ns - 5 * MS
#define IDLE		LONG_IDLE, NO_WAVES(20 * MS)
#define LEFT_BY(_idle, _kept_off, _preempted) \
	LONG_IDLE, .set.hold = true, .set.hold_unbounded = true, .set.idle = _idle, .kept_off = _kept_off, .preempted = _preempted
#define LEFT		LEFT_BY(true, true, true)
	const struct {
		struct gpreempt_policy_queue q;
		/* 0: it is awake. */
		u64 until_ns;
		const char *policy;
		bool waves_unknown;
	} cases[] = {
		{ .q = { IDLE }, .until_ns = now_ns + 10 * MS },
		{ .q = { IDLE }, .policy = "wfq" },
		{ .q = { NO_WAVES(20 * MS), .seen.used = true, .seen.active_ns = now_ns - SEC + 1 } },
		{ .q = { IDLE, .preempted = true } },
		{ .q = { IDLE, .set.hold = true } },
		{ .q = { LEFT }, .until_ns = forever_ns },
		{ .q = { LEFT_BY(false, true, true) } },
		{ .q = { LEFT_BY(true, false, true) } },
		{ .q = { LEFT_BY(true, true, false) } },
		{ .q = { LEFT, .seen.pending = 1 } },
		{ .q = { LEFT, .saved_waves = true } },
		{ .q = { LEFT }, .policy = "wfq" },
		{ .q = { IDLE, .pass.demand[1] = true } },
		{ .q = { IDLE, .aged_until_ns = now_ns + 1 } },
		{ .q = { IDLE, .aged_until_ns = now_ns }, .until_ns = now_ns + 10 * MS },
		{ .q = { .seen.active_ns = now_ns - SEC }, .until_ns = forever_ns },
		{ .q = { LONG_IDLE }, .until_ns = forever_ns, .waves_unknown = true },
		{ .q = { LONG_IDLE, NO_WAVES(10 * MS) } },
		{ .q = { LONG_IDLE, NO_WAVES(10 * MS + 1) }, .until_ns = now_ns + 1 },
		{ .q = { LONG_IDLE } },
		{ .q = { .seen.used = false }, .until_ns = forever_ns },
	};
#undef LONG_IDLE
#undef NO_WAVES
#undef IDLE
#undef LEFT_BY
#undef LEFT
	struct gpreempt_policy_process process = { 0 };
	u64 until_ns;

	EACH_CASE(i, cases) {
		struct gpreempt_policy_queue q = cases[i].q;
		struct gpreempt_policy_node pn = { 0 };

		q.process = &process;
		gpreempt_policy_use(&pn, policy_named(cases[i].policy ?: "hpf"));
		pn.device.waves_known = !cases[i].waves_unknown;
		until_ns = forever_ns;
		CHECK_EQ(gpreempt_policy_dormant(&pn, &q, now_ns, &until_ns), cases[i].until_ns != 0);
		CHECK_EQ(until_ns, cases[i].until_ns ?: forever_ns);
		/* What ends sooner stays. */
		until_ns = now_ns + 1;
		gpreempt_policy_dormant(&pn, &q, now_ns, &until_ns);
		CHECK_EQ(until_ns, now_ns + 1);
	}
}
