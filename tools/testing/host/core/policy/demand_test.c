// SPDX-License-Identifier: MIT
/*
 * demand_test.c - has a queue work?
 *
 * What its pointers, its waves and the driver say about that, and since when.
 */
#include "demand.h"
#include "policy_node.h"
#include "tap.h"

/* ---- samples of pointers ---- */

/* A look at @q's pointers; then it must hold. */
#define CHECK_SAMPLE(rptr, wptr, pending, now_ns, condition)				\
	do {										\
		gpreempt_demand_sample(&q, rptr, wptr, pending, now_ns);		\
		CHECK(condition);							\
	} while (0)

TEST(samples_say_what_changed, "what two looks at the pointers say: launches, stalls, work, and since when")
{
	struct gpreempt_policy_process process = { 0 };
	struct gpreempt_policy_queue q = { .process = &process };

	CHECK_SAMPLE(0, 0, 0, 100, q.seen.moved_ns == 100 && !q.seen.used && !q.seen.active_ns && !q.seen.stalled_ns);
	CHECK_SAMPLE(0, 0, 0, 200, q.seen.moved_ns == 100 && !q.seen.used && !q.seen.active_ns);
	CHECK_SAMPLE(0, 2, 2, 300, q.seen.moved_ns == 100 && q.seen.used && q.seen.active_ns == 300 && q.seen.stalled_ns == 300 && q.seen.pending == 2);
	CHECK_SAMPLE(0, 2, 2, 400, q.seen.active_ns == 400 && q.seen.stalled_ns == 300);
	/* As many came as were launched. */
	CHECK_SAMPLE(1, 3, 2, 500, q.seen.moved_ns == 500 && q.seen.launched_ns == 500 && q.seen.active_ns == 500 && q.seen.stalled_ns == 500);
	CHECK_SAMPLE(3, 3, 0, 600, q.seen.launched_ns == 600 && q.seen.active_ns == 600 && !q.seen.stalled_ns && !q.seen.pending);
	CHECK_SAMPLE(4, 4, 0, 700, q.seen.moved_ns == 700 && q.seen.launched_ns == 700 && q.seen.active_ns == 700 && q.seen.rptr == 4 && q.seen.wptr == 4);
	CHECK_SAMPLE(4, 4, 0, 800, q.seen.moved_ns == 700 && q.seen.active_ns == 700 && q.seen.used);
}

TEST(samples_of_preempted_queues, "being preempted costs a queue nothing before it has work, and what it waits for meanwhile is no stall")
{
	struct gpreempt_policy_process process = { 0 };
	struct gpreempt_policy_queue q = { .process = &process, .preempted = true, .seen.used = true, .seen.moved_ns = 50, .seen.starved_ns = 60, .set.expected_until_ns = 7 };

	CHECK_SAMPLE(0, 2, 2, 100, q.seen.starved_ns == 100 && q.seen.active_ns == 100 && !q.seen.stalled_ns);
	CHECK_SAMPLE(0, 2, 2, 200, q.seen.starved_ns == 100 && q.seen.active_ns == 200 && !q.seen.stalled_ns && q.seen.expected_met_ns == 7);
	CHECK_SAMPLE(0, 3, 3, 300, q.seen.starved_ns == 100 && q.seen.active_ns == 300);
	q = (struct gpreempt_policy_queue){ .process = &process, .preempted = true, .saved_waves = true, .seen.used = true, .seen.moved_ns = 50, .seen.starved_ns = 60 };
	CHECK_SAMPLE(0, 2, 2, 100, q.seen.starved_ns == 60);
	q = (struct gpreempt_policy_queue){ .process = &process, .seen.used = true, .seen.moved_ns = 50, .seen.starved_ns = 60 };
	CHECK_SAMPLE(0, 2, 2, 100, q.seen.starved_ns == 60);
}

TEST(samples_end_what_blocks, "a queue that launches, runs dry or is preempted is not blocked any more; one that stands still is")
{
	struct gpreempt_policy_process process = { 0 };
	struct gpreempt_policy_queue q = { .process = &process, .seen.used = true, .seen.moved_ns = 50, .seen.wptr = 4, .seen.pending = 4 };

	q.seen.blocked = true;
	q.seen.stalled_ns = 60;
	CHECK_SAMPLE(0, 4, 4, 100, q.seen.blocked && q.seen.stalled_ns == 60);
	CHECK_SAMPLE(1, 4, 3, 200, !q.seen.blocked && q.seen.stalled_ns == 200);
	q.seen.blocked = true;
	CHECK_SAMPLE(4, 4, 0, 300, !q.seen.blocked && !q.seen.stalled_ns);
	q.seen.blocked = true;
	q.seen.stalled_ns = 60;
	q.preempted = true;
	CHECK_SAMPLE(4, 5, 1, 400, !q.seen.blocked && !q.seen.stalled_ns);
}

TEST(samples_of_queues_that_may_not_run, "pointers and packets of a queue that the driver keeps off the device, and gives back, are taken in one by one")
{
	struct gpreempt_policy_process process = { 0 };
	struct gpreempt_policy_queue q = { .process = &process };

	gpreempt_demand_sample(&q, 0, 0, 0, 100);
	/* What is written meanwhile is not pending. */
	CHECK_SAMPLE(0, 2, 0, 200, q.seen.wptr == 2 && q.seen.active_ns == 200 && !q.seen.pending);
	CHECK_SAMPLE(0, 2, 2, 300, q.seen.pending == 2 && q.seen.stalled_ns == 300 && q.seen.active_ns == 300);
	CHECK_SAMPLE(0, 2, 0, 400, !q.seen.pending && !q.seen.stalled_ns && q.seen.active_ns == 300);
	q.preempted = true;
	CHECK_SAMPLE(0, 2, 2, 500, q.seen.pending == 2 && q.seen.starved_ns == 500);
	CHECK_SAMPLE(0, 2, 0, 600, !q.seen.pending);
}

TEST(used_is_for_ever, "a queue whose pointers wrap to 0 has had packets all the same")
{
	struct gpreempt_policy_process process = { 0 };
	struct gpreempt_policy_queue q = { .process = &process };

	gpreempt_demand_sample(&q, 5, 5, 0, 100);
	CHECK_SAMPLE(0, 0, 0, 200, q.seen.used);
}

/* ---- waves, and what the driver takes ---- */

TEST(waves_say_what_they_say, "waves end a block and begin a stall anew; that there are none is known since the first look that found none")
{
	struct gpreempt_policy_queue q = { .seen.blocked = true, .seen.stalled_ns = 60 };

	gpreempt_demand_set_waves(&q, 0, 100);
	CHECK(q.seen.zero_ns == 100 && q.seen.waves_ns == 100 && q.seen.blocked && q.seen.stalled_ns == 60 && !q.seen.active_ns);
	gpreempt_demand_set_waves(&q, 0, 200);
	CHECK(q.seen.zero_ns == 100 && q.seen.waves_ns == 200);
	gpreempt_demand_set_waves(&q, 3, 300);
	CHECK(!q.seen.zero_ns && q.seen.waves == 3 && q.seen.active_ns == 300 && !q.seen.blocked && q.seen.stalled_ns == 300);
	q.seen.stalled_ns = 0;
	gpreempt_demand_set_waves(&q, 3, 400);
	CHECK(!q.seen.stalled_ns);
}

TEST(waves_that_are_not_read, "what is not read is known of an empty ring that had no waves for a millisecond and of a blocked queue, and of no other")
{
	static const struct {
		bool preempted, blocked;
		u32 pending, waves;
		u64 zero_ns, waves_ns;
		bool known;
	} cases[] = {
		{ .zero_ns = MS, .waves_ns = 2 * MS, .known = true },
		{ .zero_ns = MS, .waves_ns = 2 * MS - 1 },
		{ .zero_ns = MS, .waves_ns = 3 * MS, .preempted = true },
		{ .zero_ns = MS, .waves_ns = 3 * MS, .pending = 1 },
		{ .zero_ns = MS, .waves_ns = MS, .pending = 1, .blocked = true, .known = true },
		{ .waves_ns = 3 * MS, .waves = 1 },
		{ .known = false },
	};

	EACH_CASE(i, cases) {
		struct gpreempt_policy_queue *pq = &new_queue(new_process(), LOW)->policy;
		struct gpreempt_policy_node pn = { .queues = &pq, .nr = 1 };

		*pq = (struct gpreempt_policy_queue){
			.process = pq->process, .preempted = cases[i].preempted, .seen.blocked = cases[i].blocked, .seen.pending = cases[i].pending,
			.seen.waves = cases[i].waves, .seen.zero_ns = cases[i].zero_ns, .seen.waves_ns = cases[i].waves_ns,
		};
		gpreempt_demand_waves_unread(&pn, SEC);
		CHECK_EQ(pq->seen.waves_ns, cases[i].known ? SEC : cases[i].waves_ns);
		CHECK_EQ(pq->seen.zero_ns, cases[i].zero_ns);
		CHECK_EQ(pq->seen.waves, cases[i].waves);
	}
}

TEST(taken_queues_come_back, "a queue that the driver takes off and gives back has work from then on, if it had any or got some meanwhile")
{
	static const struct { bool used; u64 pending; u32 waves; u64 waves_ns; u64 zero_ns; bool packets; bool work; } cases[] = {
		{ .used = false },
		{ .used = true, .waves_ns = 60 },
		{ .used = true, .waves_ns = 60, .zero_ns = 61, .work = true },
		{ .used = true, .waves_ns = 60, .packets = true, .work = true },
		{ .used = true, .waves_ns = 60, .waves = 1, .work = true },
		{ .used = true, .waves_ns = 0, .work = true },
		{ .used = true, .waves_ns = 60, .pending = 1, .work = true },
		{ .used = false, .packets = true, .work = true },
	};
	struct gpreempt_policy_node pn = { .device.waves_known = true, .ops = gpreempt_policies[0] };
	/* Since 60 it has read as without waves, for just long enough. */
	const u64 off_ns = 60 + GPREEMPT_WAVES_SETTLE_NS;
	u64 until_ns;

	EACH_CASE(i, cases) {
		struct gpreempt_policy_process process = { 0 };
		struct gpreempt_policy_queue q = { .process = &process, .seen.moved_ns = 50, .seen.zero_ns = cases[i].zero_ns ?: 60 };

		q.seen.used = cases[i].used;
		q.seen.pending = cases[i].pending;
		q.seen.waves = cases[i].waves;
		q.seen.waves_ns = cases[i].waves_ns;
		gpreempt_demand_driver_off(&q, true, false, off_ns);
		CHECK(q.seen.driver_off && !q.seen.restore_since_ns && q.seen.moved_ns == 50);
		gpreempt_demand_driver_off(&q, true, cases[i].packets, off_ns + 200);
		/* Once is enough. */
		gpreempt_demand_driver_off(&q, true, false, off_ns + 300);
		CHECK_EQ(q.seen.driver_off_with_work, cases[i].work);
		if (cases[i].work)
			CHECK(!gpreempt_policy_dormant(&pn, &q, 10 * SEC, &until_ns));
		gpreempt_demand_driver_off(&q, false, false, off_ns + 400);
		CHECK(!q.seen.driver_off);
		CHECK_EQ(q.seen.restore_since_ns, cases[i].work ? off_ns + 400 : 0);
		CHECK_EQ(q.seen.moved_ns, cases[i].work ? off_ns + 400 : 50);
		/* It is over. */
		gpreempt_demand_driver_off(&q, false, false, off_ns + 500);
		CHECK(q.seen.restore_since_ns != off_ns + 500);
		q.seen.waves_ns = off_ns + 600;
		q.seen.zero_ns = off_ns + 600;
		gpreempt_demand_driver_off(&q, true, false, 2 * off_ns + 600);
		gpreempt_demand_driver_off(&q, false, false, 2 * off_ns + 700);
		CHECK(q.seen.restore_since_ns != 2 * off_ns + 700 || q.seen.pending || q.seen.waves);
	}
}

/* ---- who has demand ---- */

TEST(pending_zero_with_waves_is_demand,
     "a mapped queue whose last kernel still runs, with an empty ring, keeps the level")
{
	low_is_preempted();
	launch(high, 1, 8);
	CHECK_EQ(pending(high), 0);
	CHECK_LATER(50 * MS, !on_device(low));
	finish(high);
	CHECK_AFTER(POLL, on_device(low));
}

TEST(a_lower_last_kernel_is_an_inversion, "a low queue with an empty ring whose last kernel still runs is preempted")
{
	two_processes();
	last_kernel(low);
	pass();
	passes_for(20 * MS, POLL);
	submit(high, 1);
	CHECK_AFTER(POLL, !on_device(low));
}

TEST(saved_waves_are_demand, "a queue taken in the middle of its last kernel holds the level for its saved waves")
{
	three_processes();
	last_kernel(middle);
	start_both();
	CHECK_AFTER(0, !on_device(middle) && !on_device(low));

	/* Middle has nothing but saved waves, and it returns alone. */
	drain_and_settle(high);
	CHECK(on_device(middle) && !on_device(low));
	CHECK_EQ(node.decision.level, MIDDLE);
	CHECK_EQ(node.nr_acting, 2);
}

TEST(whoever_could_use_the_device_is_active, "a queue with packets, with announced work, or with waves for all that is known was active just now; others were not")
{
	struct queue *waits, *announced, *maybe, *idle;

	waits = new_queue(new_process(), HIGH);
	announced = new_queue(new_process(), HIGH);
	maybe = new_queue(new_process(), HIGH);
	idle = new_queue(new_process(), HIGH);
	last_kernel(maybe);
	pass();
	submit(waits, 1);
	announced->policy.set.expected_until_ns = node.now_ns + 10 * MS;
	CHECK_AFTER(POLL, !node.asked);
	CHECK_EQ(waits->policy.seen.active_ns, node.now_ns);
	CHECK_EQ(announced->policy.seen.active_ns, node.now_ns);
	CHECK_EQ(maybe->policy.seen.active_ns, node.now_ns);
	CHECK_EQ(idle->policy.seen.active_ns, 0);
	CHECK(waits->policy.had_demand && announced->policy.had_demand && maybe->policy.had_demand && !idle->policy.had_demand);
}
