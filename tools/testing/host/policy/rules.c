// SPDX-License-Identifier: MIT
/*
 * rules.c - the decision rules, one test each
 *
 * Every test is a short story on one node: queues are made, programs and the device do something, passes follow, and
 * somebody runs or does not. Documentation/design.rst ("Demand and level", "Priorities") is the specification.
 */
#include <limits.h>

#include "demand.h"
#include "policy_node.h"
#include "tap.h"

/* All of its work is done, and "no waves" has been seen for as long as it takes to be believed. */
static void drain_and_settle(struct queue *q)
{
	drain(q);
	passes_for(GPREEMPT_WAVES_SETTLE_NS + POLL, POLL);
}

/* Its saved waves were its last: nothing is left to do when it comes back. */
static void finish_saved(struct queue *q)
{
	CHECK(!on_device(q));
	q->rptr = q->wptr;
	q->waves = 0;
	gpreempt_policy_saved(&q->policy, false);
}

/* ---- samples ---- */

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
	const struct gpreempt_policy_params params = { .waves_known = true };
	struct gpreempt_policy_node pn = { .params = params, .ops = gpreempt_policies[0] };
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

/* ---- level ---- */

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

TEST(waves_quiescent, "what is read after everything has come back is believed at once, but whether a queue is blocked takes a second look all the same")
{
	static const struct {
		u32 pending, waves;
		u64 zero_ns, waves_ns, zero_after_ns;
	} cases[] = {
		{ .zero_ns = SEC, .waves_ns = SEC, .zero_after_ns = SEC - MS },
		{ .zero_ns = SEC - MS / 2, .waves_ns = SEC, .zero_after_ns = SEC - MS },
		{ .zero_ns = SEC - 5 * MS, .waves_ns = SEC, .zero_after_ns = SEC - 5 * MS },
		{ .zero_ns = SEC, .waves_ns = SEC, .pending = 1, .zero_after_ns = SEC },
		{ .waves_ns = SEC, .waves = 1 },
		{ .zero_ns = MS, .waves_ns = MS, .zero_after_ns = MS },
	};

	EACH_CASE(i, cases) {
		struct gpreempt_policy_queue *pq = &new_queue(new_process(), LOW)->policy;
		struct gpreempt_policy_node pn = { .queues = &pq, .nr = 1 };

		pq->seen.pending = cases[i].pending;
		pq->seen.waves = cases[i].waves;
		pq->seen.zero_ns = cases[i].zero_ns;
		pq->seen.waves_ns = cases[i].waves_ns;
		pq->seen.restore_since_ns = 7;
		gpreempt_demand_waves_quiescent(&pn, SEC);
		CHECK_EQ(pq->seen.zero_ns, cases[i].zero_after_ns);
		CHECK_EQ(pq->seen.restore_since_ns, cases[i].waves_ns == SEC ? 0 : 7);
	}
}

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

/* ---- demand ---- */

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

TEST(saved_waves_get_relief, "saved waves alone are work that the maximum hold counts for")
{
	two_processes();
	last_kernel(low);
	start_hog(high);
	CHECK_AFTER(0, !on_device(low));
	CHECK_AFTER(node.params.max_hold_ns, on_device(low));
}

TEST(without_wave_counts_launches_decide,
     "where waves in flight cannot be read, they are not asked for, and a queue is busy for a while after its last launch")
{
	node.params.waves_known = false;
	two_processes();
	start_hog(low);
	submit(high, 1);
	CHECK_LATER(50 * MS, !on_device(low));
	launch(high, 1, 8);
	CHECK_LATER(GPREEMPT_LAUNCHED_NS, !on_device(low));
	CHECK_AFTER(POLL, on_device(low));
	CHECK_EQ(node.nr_asked, 0);
}

TEST(late_wave_counts_do_not_end_a_launch,
     "where waves are known to be counted late, a queue that shows none is busy for that long after a launch; elsewhere it is not")
{
	EACH_ANEW(i, 2, "late %u: ", i) {
		node.params.waves_lag_ns = i ? GPREEMPT_WAVES_LAG_NS : 0;
		two_processes();
		start_hog(low);
		submit(high, 1);
		passes_for(50 * MS, POLL);
		launch(high, 1, 8);
		CHECK_LATER(10 * MS, !on_device(low));
		submit(high, 1);
		finish(high);
		pass_after(POLL);
		launch(high, 1, 0);
		CHECK_AFTER(POLL, on_device(low) == !i);
		CHECK_AFTER(GPREEMPT_WAVES_LAG_NS - 1, on_device(low) == !i);
		CHECK_AFTER(1, on_device(low));
	}
}

TEST(without_wave_counts_saved_waves_count,
     "where waves in flight cannot be read, a queue that returns with saved waves is busy for a while")
{
	node.params.waves_known = false;
	three_processes();
	last_kernel(middle);
	start_both();
	CHECK_AFTER(0, !on_device(middle) && !on_device(low));
	drain(high);
	time_until(middle, true, 20 * POLL);
	CHECK(!on_device(low));
	CHECK_AFTER(POLL, !on_device(low));
	CHECK_AFTER(GPREEMPT_LAUNCHED_NS, on_device(low));
}

/* ---- asking for waves ---- */

TEST(waves_are_asked_only_when_they_matter,
     "an idle high queue beside a busy low one is not asked about at every pass")
{
	two_processes();
	past_kernel(high);
	start_hog(low);
	CHECK_LATER(100 * MS, node.nr_asked >= 1);
	node.nr_asked = 0;
	CHECK_LATER(100 * MS, node.nr_asked <= 2);
}

TEST(idle_nodes_are_not_asked, "when all queues have been idle for a while, passes read no waves")
{
	two_processes();
	past_kernel(high);
	past_kernel(low);
	passes_for(100 * MS, POLL);
	node.nr_asked = 0;
	CHECK_LATER(100 * MS, node.nr_asked <= 2);
}

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

TEST(waves_are_asked_when_they_decide, "an empty ring of the high queue decides nothing until its waves are known")
{
	low_is_preempted();
	launch(high, 1, 8);
	CHECK_AFTER(POLL, node.asked);
	CHECK_AFTER(POLL, node.asked);
}

TEST(pending_packets_need_no_waves, "while packets wait on both sides, waves in flight are not asked for")
{
	two_processes();
	start_hog(low);
	submit(high, 100);
	pass();
	launch(high, 1, 8);
	CHECK_EQ_AFTER(POLL, node.nr_asked, 0);
}

TEST(no_waves_seen_once_is_not_final,
     "waves that a runlist change hid from one pass are found again: the queue keeps the device and its level")
{
	u32 i;

	/* High's last kernel runs with an empty ring. The driver changes the runlist; a pass does not see its waves. */
	low_is_preempted();
	launch(high, 1, 8);
	pass_after(POLL);
	high->invisible = true;
	pass_after(POLL);
	high->invisible = false;
	for (i = 0; i < 100 && on_device(low); i++)
		pass_after(POLL);
	CHECK(!on_device(low));
}

TEST(no_waves_right_after_a_resume_is_not_final,
     "a low queue whose waves were not back at the first look after its resume can be preempted again")
{
	two_processes();
	last_kernel(low);
	submit(high, 1);
	CHECK_AFTER(0, !on_device(low));
	low->invisible = true;
	drain(high);
	time_until(low, true, 20 * POLL);
	/* A short request makes the next pass look. */
	past_kernel(high);
	CHECK_LATER(400 * US, on_device(low));

	low->invisible = false;
	passes_for(5 * MS, POLL);
	submit(high, 1);
	CHECK_AFTER(POLL, !on_device(low));
}

TEST(a_slow_restore_is_found,
     "a high queue whose saved waves waited long for their slots gets its level back")
{
	low_is_preempted();
	launch(high, 1, 8);
	passes_for(1 * MS, POLL);

	/* A runlist saved high's waves, and somebody else's got the slots first: they are not back for 10 ms. */
	high->invisible = true;
	CHECK_LATER(10 * MS, on_device(low));
	high->invisible = false;
	CHECK_LATER(40 * MS, !on_device(low));
}

TEST(the_drivers_runlists_hide_nobody, "waves that a runlist of the driver's own takes off for a moment are not taken for finished")
{
	low_is_preempted();
	launch(high, 1, 8);
	passes_for(10 * MS, POLL);
	node.runlist_changed = true;
	high->invisible = true;
	passes_for(400 * US, POLL);
	high->invisible = false;
	CHECK_LATER(10 * MS, !on_device(low));
	CHECK_EQ(node.nr_acting, 1);
}

/* High works, low is preempted for it; the pass took @pass_ns, and high's waves are hidden from its end on. */
static void hidden_by_a_pass_of(u64 pass_ns)
{
	node.pass_takes_ns = pass_ns;
	node.params.overhead_pct = 0;
	low_is_preempted();
	launch(high, 1, 8);
	high->invisible = true;
}

TEST(waves_are_awaited_for_as_long_as_saving_took,
     "where a pass takes long, hidden waves are waited for in proportion; where it is quick, for half a millisecond")
{
	static const struct { u64 pass_ns, await_ns; } cases[] = {
		{ 10 * US, GPREEMPT_WAVES_RESTORE_NS },
		{ MS, 4 * MS },
		{ 4 * SEC, GPREEMPT_WAVES_RESTORE_MAX_NS },
	};

	EACH_CASE_ANEW(i, cases) {
		hidden_by_a_pass_of(cases[i].pass_ns);
		CHECK_LATER(cases[i].await_ns - 2 * POLL, !on_device(low));
		CHECK_LATER(4 * POLL, on_device(low));
	}
}

TEST(waves_are_awaited_from_the_end_of_the_pass, "the time that the pass itself takes is not time in which waves could come back")
{
	hidden_by_a_pass_of(MS);
	node.now_ns += 10 * MS;
	gpreempt_policy_overhead(&node.policy, MS, true, node.now_ns);
	CHECK_LATER(3 * MS, !on_device(low));
	CHECK_LATER(2 * MS, on_device(low));
}

TEST(a_long_pass_blocks_nobody, "whoever could not launch while a pass was carried out is not taken for one that waits for something else")
{
	two_processes();
	start_hog(low);
	passes_for(10 * MS, POLL);
	submit(high, 1);
	node.pass_takes_ns = 16 * MS;
	pass_after(POLL);
	node.now_ns += node.pass_takes_ns;
	gpreempt_policy_overhead(&node.policy, node.pass_takes_ns, true, node.now_ns);
	TIMES(4) {
		CHECK_AFTER(MS, !on_device(low));
		CHECK(!high->policy.seen.blocked);
	}
	launch(high, 1, 8);
	CHECK_LATER(10 * MS, !on_device(low));
	CHECK_EQ(node.nr_acting, 1);
}

TEST(seen_waves_are_not_awaited, "waves that were seen after the pass have ended when they are not seen any more")
{
	hidden_by_a_pass_of(10 * MS);
	high->invisible = false;
	pass_after(POLL);
	drain(high);
	CHECK_AFTER(POLL, on_device(low));
}

TEST(a_slow_pass_is_forgotten, "after a hundred quick passes waves are waited for no longer than before the slow one")
{
	hidden_by_a_pass_of(MS);
	TIMES(100)
		gpreempt_policy_overhead(&node.policy, 10 * US, true, node.now_ns);
	CHECK_LATER(GPREEMPT_WAVES_RESTORE_NS + 2 * POLL, on_device(low));
}

TEST(a_new_queue_without_a_launch_has_no_waves, "creating an idle high queue, a runlist of the driver's own, preempts nobody")
{
	two_processes();
	start_hog(low);
	passes_for(10 * MS, POLL);
	new_queue(new_process(), HIGH);
	node.runlist_changed = true;
	CHECK_LATER(10 * MS, on_device(low));
	CHECK_EQ(node.nr_preempted, 0);
	CHECK_EQ(node.nr_asked, 0);
}

TEST(a_pass_does_not_undo_itself,
     "high's waves, hidden by the runlist that preempted low, are not taken for the end of high's work")
{
	low_is_preempted();
	launch(high, 1, 8);
	high->invisible = true;
	CHECK_LATER(400 * US, !on_device(low));
	high->invisible = false;
	CHECK_LATER(10 * MS, !on_device(low));
	CHECK_EQ(node.nr_acting, 1);
}

TEST(a_resume_does_not_undo_itself, "a resumed queue keeps the level for its saved waves until they are back")
{
	three_processes();
	last_kernel(middle);
	start_both();
	pass();
	drain(high);
	middle->invisible = true;
	time_until(middle, true, 20 * POLL);
	CHECK_LATER(400 * US, !on_device(low));
}

TEST(known_idle_queues_stay_idle, "a pass does not make a high queue that was idle before look busy")
{
	three_processes();
	submit(high, 1);
	drain_and_settle(high);
	start_hog(low);
	submit(middle, 1);
	CHECK_AFTER(POLL, !on_device(low) && on_device(middle));
	CHECK_EQ(node.decision.level, MIDDLE);
	CHECK_AFTER(POLL, on_device(middle));
	CHECK_EQ(node.decision.level, MIDDLE);
}

TEST(idle_preempted_queues_return_idle, "a queue that was taken along idle does not look busy when it returns")
{
	two_processes();
	new_queue(new_process(), MIDDLE);
	start_both();
	CHECK_EQ_AFTER(0, node.nr_preempted, 2);
	drain_and_settle(high);
	CHECK_LATER(10 * MS, on_device(low));
	CHECK_EQ(node.nr_acting, 2);
}

/* ---- the own process ---- */

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

/* ---- decisions without an answer about waves ---- */

TEST(no_answer_means_waves, "what could not be asked for waves has them: a higher queue keeps its level, a lower one is in the way, and nothing is blocked")
{
	/* High's last kernel. */
	two_processes();
	last_kernel(high);
	start_hog(low);
	node.silent = true;
	CHECK_AFTER(0, node.asked);
	CHECK(!on_device(low));
	CHECK_LATER(100 * MS, !on_device(low));

	/* Low's last kernel, and a high one that stands still. */
	tap_reset();
	two_processes();
	node.silent = true;
	last_kernel(low);
	pass();
	submit(high, 1);
	CHECK_AFTER(POLL, !on_device(low));
	CHECK_LATER(100 * MS, !high->policy.seen.blocked && !on_device(low));
}

TEST(no_answer_hides_no_waves, "waves that a runlist took off before the first answer are waited for like others")
{
	two_processes();
	last_kernel(high);
	start_hog(low);
	node.silent = true;
	CHECK_AFTER(0, !on_device(low));
	node.silent = false;
	high->invisible = true;
	CHECK_AFTER(POLL, node.asked);
	CHECK(!on_device(low));
	high->invisible = false;
	CHECK_AFTER(POLL, !on_device(low));
	CHECK_EQ(node.nr_acting, 1);
}

TEST(no_answer_delays_no_deadline, "relief, its end, the end of a hold, of a minimum run, and age come in time though no answer comes")
{
	low_is_preempted();
	start_hog(high);
	drain(high);
	last_kernel(high);
	node.silent = true;
	CHECK_AFTER(node.params.max_hold_ns - POLL, !on_device(low));
	CHECK_AFTER(POLL, on_device(low) && !on_device(high));
	CHECK_AFTER(node.params.relief_ns - 1, on_device(low) && !on_device(high));
	CHECK_AFTER(1, !on_device(low) && on_device(high));
	/* A hold. */
	high->policy.set.hold = true;
	CHECK_AFTER(POLL, !on_device(high) && on_device(low));
	CHECK_AFTER(node.params.max_hold_ns - 1, !on_device(high));
	CHECK_AFTER(1, on_device(high) && !on_device(low));
	CHECK_AFTER(node.params.relief_ns, !on_device(high) && on_device(low));
	high->policy.set.hold = false;
	CHECK_AFTER(POLL, on_device(high) && !on_device(low));
	/* Age. */
	node.params.aging_ns = MS;
	CHECK_AFTER((HIGH - LOW) * MS - 1, !on_device(low));
	CHECK_AFTER(1, on_device(low) && on_device(high));
	node.params.aging_ns = 0;
	node.params.min_run_ns = 50 * MS;
	CHECK_AFTER(50 * MS - 1, on_device(low));
	CHECK_AFTER(1, !on_device(low) && on_device(high));
}

/* ---- what firmware may do otherwise ---- */

TEST(a_kept_stack_offset_takes_no_relief_for_ever,
     "an idle queue whose control stack still says that waves were saved has one relief, and counts as idle until it launches again")
{
	struct queue *idle = new_queue(new_process(), LOW);

	past_kernel(idle);
	node.stack_kept = true;
	hog_preempts_low();
	CHECK(!on_device(idle) && idle->policy.saved_waves);
	TIMES(5) {
		pass_after(node.params.max_hold_ns);
		passes_for(node.params.relief_ns, POLL);
	}
	CHECK(idle->policy.seen.showed_none);
	CHECK_EQ(idle->preempted, 2);
	CHECK_WITHIN(node.nr_relief, 5, 6);
	submit(idle, 2);
	CHECK_AFTER(POLL, !idle->policy.seen.showed_none);
	TIMES(3) {
		pass_after(node.params.max_hold_ns);
		passes_for(node.params.relief_ns, POLL);
	}
	CHECK(idle->preempted >= 3);
}

TEST(a_relief_that_the_driver_takes_proves_nothing,
     "a queue that the driver keeps off the device in its relief has not shown that it is idle: it has another relief")
{
	low_is_preempted();
	low->rptr = low->wptr;
	start_hog(high);
	CHECK_AFTER(node.params.max_hold_ns, on_device(low) && !on_device(high));
	gpreempt_demand_driver_off(&low->policy, true, false, node.now_ns);
	low->invisible = true;
	CHECK_LATER(4 * GPREEMPT_WAVES_SETTLE_NS, on_device(high));
	CHECK(!low->policy.seen.showed_none);
	gpreempt_demand_driver_off(&low->policy, false, false, node.now_ns);
	low->invisible = false;
	CHECK_LATER(node.params.relief_ns, !on_device(low));
	CHECK_AFTER(node.params.max_hold_ns, on_device(low) && !on_device(high));
}

TEST(counters_that_never_count_starve_nobody, "where waves always read as none, saved waves have their relief and still count after it, and no queue is found blocked")
{
	node.zero_waves = true;
	node.policy.waves_seen = false;
	low_is_preempted();
	/* Low has nothing but its saved waves; high has a long kernel and packets behind it. */
	low->rptr = low->wptr;
	start_hog(high);
	CHECK_LATER(node.params.max_hold_ns - 2 * POLL, !high->policy.seen.blocked && !on_device(low));
	CHECK_EQ_LATER(node.params.relief_ns, node.nr_relief, 1);
	CHECK(on_device(low) && on_device(high));
	CHECK(!low->policy.seen.showed_none);
	CHECK(!high->policy.seen.blocked);
	/* The first wave that is seen proves them. */
	node.zero_waves = false;
	finish(high);
	low->waves = 0;
	drain(high);
	start_hog(high);
	passes_for(100 * MS, POLL);
	submit(low, 1);
	passes_for(10 * MS, POLL);
	node.policy.waves_seen = true;
	finish(high);
	CHECK_LATER(node.params.blocked_ns + 3 * GPREEMPT_WAVES_SETTLE_NS, high->policy.seen.blocked && on_device(low));
}

/* Waves are not counted, only runlists tell. Both have work, high's is one kernel by now. */
static void high_runs_uncounted(void)
{
	node.params.waves_saved = true;
	node.policy.waves_seen = false;
	low_is_preempted();
	launch(high, 1, 8);
	pass_after(POLL);
}

TEST(runlists_tell_that_a_kernel_runs, "where only runlists tell, a long kernel holds those below, and is asked about ever more rarely")
{
	u32 asked;

	high_runs_uncounted();
	CHECK_LATER(10 * MS, !on_device(low));
	asked = node.nr_runlists;
	CHECK_WITHIN(asked, 2, 5);
	CHECK_LATER(400 * MS, !on_device(low));
	CHECK(node.nr_runlists - asked <= 20);
	finish(high);
	CHECK_LATER(110 * MS, on_device(low));
	/* What has ended is not asked about again. */
	asked = node.nr_runlists;
	CHECK_EQ_LATER(500 * MS, node.nr_runlists, asked);
	CHECK_EQ(high->preempted, 0);
}

TEST(runlists_tell_no_more_often_than_that, "where only runlists tell, they are 2 ms and 16 passes apart, whoever launches when")
{
	node.pass_takes_ns = 500 * US;
	node.params.overhead_pct = 0;
	high_runs_uncounted();
	TIMES(100) {
		submit(high, 1);
		pass_after(POLL);
		launch(high, 1, 8);
		passes_for(3 * MS, POLL);
	}
	CHECK(!on_device(low));
	CHECK_WITHIN(node.nr_runlists, 5, 100 * 3 / 8 + 2);
}

TEST(uncounted_lower_waves_yield_at_once, "where only runlists tell, a lower queue that launched is taken off for work that is there, and not asked about first")
{
	node.params.waves_saved = true;
	node.policy.waves_seen = false;
	two_processes();
	last_kernel(low);
	CHECK_EQ_LATER(50 * MS, node.nr_runlists, 0);
	submit(high, 1000);
	CHECK_AFTER(POLL, !on_device(low));
	CHECK_EQ(node.nr_runlists, 0);
	CHECK_EQ(low->preempted, 1);
}

TEST(known_to_have_none_they_stay, "where only runlists tell, a lower queue that was found without waves is not taken off again before it launches")
{
	node.params.waves_saved = true;
	node.policy.waves_seen = false;
	two_processes();
	past_kernel(low);
	passes_for(10 * MS, POLL);
	TIMES(5) {
		submit(high, 1);
		pass_after(POLL);
		drain(high);
		CHECK_LATER(50 * MS, on_device(low));
	}
	CHECK_EQ(low->preempted, 1);
}

TEST(runlists_tell_who_is_blocked, "where only runlists tell, a queue that stands still without waves is found blocked, and one with a long kernel is not")
{
	node.params.waves_saved = true;
	node.policy.waves_seen = false;
	node.params.max_hold_ns = 0;
	low_is_preempted();
	submit(high, 10);
	CHECK_LATER(5 * node.params.blocked_ns, high->policy.seen.blocked && on_device(low));
	launch(high, 1, 8);
	CHECK_AFTER(POLL, !high->policy.seen.blocked && !on_device(low));
	CHECK_LATER(20 * node.params.blocked_ns, !high->policy.seen.blocked && !on_device(low));
}

TEST(a_late_read_pointer_costs_little, "a queue whose read pointer is not written before it is idle for long is taken for blocked, and those below it lose 5 % at most")
{
	u64 low_ns = 0, total_ns = 0;

	low_is_preempted();
	/* High is done, and nobody says so. */
	while (total_ns < 3 * SEC) {
		pass_after(POLL);
		total_ns += POLL;
		low_ns += on_device(low) ? POLL : 0;
	}
	CHECK(low_ns * 100 >= total_ns * 95);
}

/* ---- queues whose pointers cannot be read ---- */

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
	node.params.waves_known = false;
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
	CHECK_AFTER(node.params.max_hold_ns - POLL, !on_device(low));
	CHECK_AFTER(POLL, on_device(low) && !on_device(high));
	CHECK_EQ(node.nr_relief, 1);
	/* Work that came while it was preempted. */
	low->waves = 8;
	CHECK_LATER(node.params.relief_ns - POLL, on_device(low) && !on_device(high));
	CHECK_AFTER(POLL, !on_device(low) && on_device(high));
}

TEST(unseen_queue_without_work_ends_its_relief, "the relief of a queue that cannot be looked at ends when it is known to have no waves")
{
	low_is_unseen();
	start_hog(high);
	pass_after(POLL);
	finish_saved(low);
	CHECK_AFTER(node.params.max_hold_ns, on_device(low) && !on_device(high));
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

/* ---- blocked queues ---- */

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

/* High comes after low has stood still for longer than it takes to be blocked, and nobody has looked meanwhile. */
static void high_comes_late(void)
{
	submit(high, 1);
	pass_after(node.params.blocked_ns + GPREEMPT_WAVES_SETTLE_NS);
}

TEST(who_yields_is_not_asked_first,
     "a lower queue that stands still is taken off without asking for its waves, unless the answer could be that it is blocked")
{
	low_works();
	high_comes_late();
	CHECK(!on_device(low));
	CHECK(!node.asked);

	tap_reset();
	two_processes();
	submit(low, 1);
	pass();
	low->policy.seen.waves_ns = node.now_ns;
	low->policy.seen.zero_ns = node.now_ns;
	high_comes_late();
	CHECK(node.asked);
	CHECK(on_device(low));
	CHECK(low->policy.seen.blocked);

	/* Blocked, and taken by the driver for a while: what was read of its waves is void. */
	low->policy.seen.zero_ns = 0;
	launch(high, 1, 8);
	submit(high, 1);
	CHECK_AFTER(node.params.blocked_ns, node.asked);
}

TEST(who_is_not_asked_has_waves_to_wait_for, "the higher queue that stands still is not asked either, and what the runlist does to its waves is remembered")
{
	two_processes();
	submit(high, 1);
	pass();
	start_hog(low);
	CHECK_AFTER(node.params.blocked_ns + GPREEMPT_WAVES_SETTLE_NS, !on_device(low));
	CHECK(!node.asked);
	CHECK_EQ(high->policy.seen.restore_since_ns, node.now_ns);
}

TEST(who_stays_is_asked,
     "one that stands still, and may not be taken off or not yet, is asked for waves, so that it can be found blocked")
{
	EACH_ANEW(i, 2, "immovable %u: ", i) {
		two_processes();
		low->policy.set.immovable = i;
		node.params.min_run_ns = i ? 0 : SEC;
		submit(low, 1);
		pass();
		high_comes_late();
		CHECK(node.asked);
		CHECK_AFTER(GPREEMPT_WAVES_SETTLE_NS, low->policy.seen.blocked);
	}
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

	/* High's waves leave 1 ms before low's relief, and low fills the device then. */
	passes_for(800 * US, POLL);
	high->waves = 0;
	CHECK_LATER(1200 * US, on_device(low));
	/* Held's own relief is not due yet. */
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

/* What firmware needs until it has come to each of a few queues */
#define TURNS_NS	(4 * GPREEMPT_TURN_NS)

TEST(firmware_turns_block_nobody,
     "while firmware takes turns a queue that stands still is not blocked; that time does not count, and who was blocked is not any more")
{
	low_is_preempted();
	node.turns_ns = TURNS_NS;
	CHECK_LATER(500 * MS, !on_device(low));
	CHECK(!high->policy.seen.blocked);
	CHECK_EQ(node.nr_asked, 0);
	node.turns_ns = 0;
	CHECK_LATER(node.params.blocked_ns - 2 * POLL, !on_device(low));
	CHECK_LATER(GPREEMPT_WAVES_SETTLE_NS + 4 * POLL, high->policy.seen.blocked && on_device(low));
	node.turns_ns = TURNS_NS;
	CHECK_AFTER(POLL, !high->policy.seen.blocked);
	CHECK(!on_device(low));
}

TEST(firmware_turns_hide_waves, "while firmware takes turns an empty ring without counted waves may be a kernel that waits for its turn: nothing below comes back before all have had theirs")
{
	u64 end_ns;

	low_is_preempted();
	node.turns_ns = TURNS_NS;
	node.params.max_hold_ns = 0;
	launch(high, 1, 8);
	end_ns = node.now_ns + SEC;
	while (node.now_ns < end_ns) {
		high->invisible = true;
		CHECK_LATER(TURNS_NS - GPREEMPT_TURN_NS, !on_device(low));
		high->invisible = false;
		CHECK_LATER(GPREEMPT_TURN_NS, !on_device(low));
	}
	finish(high);
	high->invisible = true;
	CHECK_LATER(GPREEMPT_WAVES_SETTLE_NS + 3 * POLL, on_device(low));
}

TEST(firmware_turns_end, "a queue whose MQD says that waves were saved is idle once no waves have been counted for as long as all turns take")
{
	low_is_preempted();
	node.turns_ns = TURNS_NS;
	node.stack_kept = true;
	drain(high);
	CHECK_LATER(TURNS_NS - POLL, !on_device(low));
	CHECK_LATER(4 * POLL, on_device(low));
}

TEST(firmware_turns_are_looked_for_closely, "looks that miss turns between them do not add up to having seen all of them")
{
	low_is_preempted();
	node.turns_ns = TURNS_NS;
	node.params.max_hold_ns = 0;
	launch(high, 1, 8);
	high->invisible = true;
	TIMES(20) {
		CHECK_AFTER(GPREEMPT_TURN_NS + 2 * MS, !on_device(low));
	}
	/* Where passes may be so far apart, that is as close as it gets. */
	node.params.interval_ns = GPREEMPT_TURN_NS + 2 * MS;
	CHECK_LATER_EVERY(TURNS_NS + 2 * node.params.interval_ns, node.params.interval_ns, on_device(low));
	submit(high, 1);
	CHECK_AFTER(POLL, !on_device(low));
	launch(high, 1, 8);
	node.params.interval_ns = MS;
	node.params.poll_ns = GPREEMPT_TURN_NS + 2 * MS;
	CHECK_LATER_EVERY(TURNS_NS + 2 * node.params.poll_ns, node.params.poll_ns, on_device(low));
}

TEST(firmware_turns_begin_beside_idle_queues, "a queue that was known to have no waves has none when turns begin, or when there are more of them")
{
	low_is_preempted();
	drain(high);
	CHECK_LATER(2 * GPREEMPT_WAVES_SETTLE_NS, on_device(low));
	node.turns_ns = TURNS_NS;
	passes_for(2 * TURNS_NS, POLL);
	node.turns_ns = 4 * TURNS_NS;
	CHECK_LATER(2 * TURNS_NS, on_device(low));
	CHECK_EQ(low->preempted, 1);
}

TEST(firmware_turns_begin_with_a_runlist, "waves that a runlist had not brought back when firmware began to take turns may wait for a turn")
{
	low_is_preempted();
	node.params.max_hold_ns = 0;
	launch(high, 1, 8);
	pass_after(POLL);
	node.runlist_changed = true;
	high->invisible = true;
	pass_after(POLL);
	node.turns_ns = TURNS_NS;
	CHECK_LATER(TURNS_NS / 2, !on_device(low));
}

TEST(miscounted_waves_are_forgotten, "what counters said that turn out not to count does not bring a lower queue back")
{
	node.zero_waves = true;
	low_is_preempted();
	node.policy.waves_seen = false;
	launch(high, 1, 8);
	passes_for(GPREEMPT_LAUNCHED_NS - 4 * POLL, POLL);
	CHECK(!on_device(low) && high->policy.seen.waves_ns);
	node.params.waves_saved = true;
	passes_for(10 * MS, POLL);
	CHECK(!on_device(low));
}

TEST(firmware_turns_ask_nobody, "while firmware takes turns no queue is asked for waves to find another one blocked")
{
	two_processes();
	low->policy.set.immovable = true;
	last_kernel(low);
	submit(high, 1);
	node.turns_ns = TURNS_NS;
	CHECK_EQ_LATER(GPREEMPT_WAVES_UNKNOWN_NS / 2, node.nr_asked, 0);
	node.turns_ns = 0;
	CHECK_EQ_AFTER(POLL, node.nr_asked, 1);
}

TEST(blocked_can_be_switched_off, "with gpreempt_blocked_us=0 a waiting queue keeps its level")
{
	node.params.blocked_ns = 0;
	low_is_preempted();
	CHECK_LATER(100 * MS, !on_device(low));
}

/* ---- hold and relief ---- */

/* Low has been preempted for the maximum and is in relief, high has work without end. */
static void low_is_relieved(void)
{
	hog_preempts_low();
	CHECK_AFTER(node.params.max_hold_ns - POLL, !on_device(low));
	CHECK_AFTER(POLL, on_device(low));
}

TEST(hold_expires_into_relief,
     "a queue with work that has been preempted for gpreempt_max_hold_ms runs, whoever else wants to")
{
	low_is_relieved();
	CHECK_EQ(node.decision.nr_relief, 1);
}

TEST(relief_has_the_device,
     "in a relief the higher queue yields, or its waves would fill the device; it returns when the relieved queue has no more work")
{
	low_is_relieved();
	CHECK(!on_device(high));
	CHECK_LATER(node.params.relief_ns / 2, !on_device(high));
	drain(low);
	CHECK_LATER(2 * GPREEMPT_WAVES_SETTLE_NS, on_device(high));
}

TEST(relief_is_unpreemptable_and_ends,
     "a relief lasts gpreempt_relief_ms, then the queue yields and the hold starts anew")
{
	low_is_relieved();
	CHECK_LATER(node.params.relief_ns - POLL, on_device(low));
	CHECK_AFTER(POLL, !on_device(low));
	CHECK_AFTER(node.params.max_hold_ns - POLL, !on_device(low));
	CHECK_AFTER(POLL, on_device(low));
	CHECK_EQ(node.nr_relief, 2);
}

TEST(relief_does_not_shield_others, "during a relief, lower queues that have not been preempted so long stay preempted")
{
	struct queue *later;

	low_is_preempted();
	later = new_queue(new_process(), LOW);
	start_hog(high);
	passes_for(10 * MS, POLL);
	start_hog(later);
	CHECK_AFTER(POLL, !on_device(later));
	CHECK_AFTER(node.params.max_hold_ns - 10 * MS, on_device(low) && !on_device(later));
}

TEST(idle_preempted_queues_get_no_relief, "a preempted queue without work waits for nothing and gets no relief")
{
	struct queue *idle = new_queue(new_process(), LOW);

	low_is_preempted();
	CHECK(!on_device(idle));
	start_hog(high);
	CHECK_AFTER(node.params.max_hold_ns, on_device(low) && !on_device(idle));
	CHECK_EQ(node.nr_relief, 1);
}

TEST(a_hold_begins_with_work, "a queue that was taken along idle has waited only since its first packet")
{
	struct queue *idle = new_queue(new_process(), LOW);

	hog_preempts_low();
	finish_saved(low);
	pass_after(node.params.max_hold_ns / 2);
	submit(idle, 1);
	pass_after(POLL);
	CHECK_AFTER(node.params.max_hold_ns - POLL, !on_device(idle));
	CHECK_AFTER(POLL, on_device(idle));
}

TEST(relief_can_be_switched_off, "with gpreempt_max_hold_ms=0 a queue is preempted as long as the level lasts")
{
	node.params.max_hold_ns = 0;
	hog_preempts_low();
	CHECK_LATER_EVERY(10 * SEC, 100 * MS, !on_device(low));
	CHECK_EQ(node.nr_relief, 0);
}

/* ---- queues that the driver does not let go ---- */

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

/* ---- when to look again ---- */

TEST(parks_without_two_priorities, "no pass is needed while no queue could outrank another")
{
	struct process *p = new_process();

	CHECK_AFTER(0, node.decision.park);

	new_queue(p, HIGH);
	CHECK_AFTER(0, node.decision.park);

	new_queue(p, HIGH);
	new_queue(new_process(), HIGH);
	CHECK_AFTER(0, node.decision.park);

	new_queue(new_process(), LOW);
	CHECK_AFTER(0, !node.decision.park);
}

TEST(parks_with_one_process,
     "a process alone parks, unless two of its queues were explicitly given different priorities")
{
	struct process *p = new_process();

	new_queue(p, HIGH);
	new_explicit_queue(p, LOW);
	CHECK_AFTER(0, node.decision.park);
	new_explicit_queue(p, MIDDLE);
	CHECK_AFTER(0, !node.decision.park);
}

TEST(never_parks_while_something_is_preempted, "a node with a preempted queue does not park before the queue is back")
{
	low_is_preempted();
	low->policy.set.priority = HIGH;
	look();
	CHECK_EQ(node.decision.nr_resume, 1);
	CHECK(!node.decision.park);
	act();
	CHECK_AFTER(POLL, node.decision.park);
}

TEST(contended_polls_otherwise_interval,
     "the poll time rules while a lower and a higher queue have had work within the last second")
{
	low_works();
	CHECK(!node.decision.contended);
	CHECK_EQ(node.decision.next_ns, node.params.interval_ns);

	submit(high, 1);
	CHECK_AFTER(5 * MS, node.decision.contended);
	CHECK_EQ(node.decision.next_ns, node.params.poll_ns);

	drain(high);
	CHECK_LATER_EVERY(990 * MS, 5 * MS, node.decision.contended);
	CHECK_LATER_EVERY(20 * MS, 5 * MS, !node.decision.contended);
	CHECK_EQ_LATER_EVERY(10 * SEC, 5 * MS, node.decision.next_ns, node.params.interval_ns);
}

/* High has worked, and low works without end. */
static void contended(void)
{
	two_processes();
	start_hog(low);
	submit(high, 1);
	pass();
	drain(high);
	CHECK_LATER(5 * MS, on_device(low));
	CHECK(node.decision.contended);
}

/* How long is slept after two passes of this cost: one alone does not count. */
static u64 slept_at_cost(u64 look_ns, u64 ask_ns)
{
	gpreempt_policy_cost(&node.policy, look_ns, ask_ns);
	gpreempt_policy_cost(&node.policy, look_ns, ask_ns);
	pass_after(POLL);
	return node.decision.next_ns;
}

TEST(looks_that_cost_much_are_rarer, "looking takes 4 % of the time at most, asking for waves a quarter; the interval is not exceeded")
{
	contended();
	CHECK_EQ(slept_at_cost(node.params.poll_ns / 24, node.params.poll_ns / 4), node.params.poll_ns);
	CHECK_EQ(slept_at_cost(20 * US, 0), 480 * US);
	CHECK_EQ(slept_at_cost(US, 150 * US), 600 * US);
	CHECK_EQ(slept_at_cost(SEC, SEC), node.params.interval_ns);
	CHECK_EQ(slept_at_cost(0, 0), node.params.poll_ns);
}

TEST(a_look_that_was_interrupted_is_forgiven, "one pass that took long among others that do not changes nothing")
{
	contended();
	slept_at_cost(US, 0);
	gpreempt_policy_cost(&node.policy, SEC, 0);
	CHECK_EQ_AFTER(POLL, node.decision.next_ns, node.params.poll_ns);
	gpreempt_policy_cost(&node.policy, US, 0);
	gpreempt_policy_cost(&node.policy, US, 0);
	CHECK_EQ_AFTER(POLL, node.decision.next_ns, node.params.poll_ns);
}

TEST(deadlines_do_not_wait_for_costs, "however much looking costs, the end of a hold is not overslept")
{
	node.params.interval_ns = SEC;
	hog_preempts_low();
	slept_at_cost(SEC, SEC);
	CHECK_EQ_AFTER(node.params.max_hold_ns - POLL - 3 * MS, node.decision.next_ns, 3 * MS);
}

TEST(looks_become_rarer_with_silence, "after contention looks become rarer in proportion to the silence, while somebody works; never rarer than the interval")
{
	contended();
	while (node.decision.contended)
		pass_after(MS);
	CHECK_WITHIN(node.decision.next_ns, SEC / 2000, SEC / 2000 + 2 * US);
	passes_for(SEC, MS);
	CHECK_WITHIN(node.decision.next_ns, 2 * SEC / 2000, 2 * SEC / 2000 + 2 * US);
	CHECK_EQ(slept_at_cost(50 * US, 0), 1200 * US);
	slept_at_cost(0, 0);
	CHECK_EQ_LATER_EVERY(10 * SEC, 5 * MS, node.decision.next_ns, node.params.interval_ns);
	submit(high, 1);
	CHECK_EQ_AFTER(POLL, node.decision.next_ns, node.params.poll_ns);
	node.params.poll_ns = 0;
	drain(high);
	CHECK_EQ_LATER_EVERY(1500 * MS, 5 * MS, node.decision.next_ns, node.params.interval_ns);
}

TEST(nobody_at_work_is_looked_at_less, "while nobody has work the looks become rarer, up to ten times; with the first work they are as before")
{
	contended();
	drain(low);
	/* For some time it may have waves that nobody has asked for. */
	while (node.decision.next_ns == node.params.poll_ns)
		pass_after(POLL);
	CHECK(node.decision.contended);
	CHECK_EQ(node.decision.next_ns, (node.now_ns - node.policy.worked_ns) / 16);
	CHECK(node.decision.next_ns < 2 * node.params.poll_ns);
	CHECK(node.decision.next_ns > node.params.poll_ns);
	CHECK_EQ_LATER_EVERY(500 * MS, MS, node.decision.next_ns, 10 * node.params.poll_ns);
	submit(low, 1);
	CHECK_EQ_AFTER(MS, node.decision.next_ns, node.params.poll_ns);
	CHECK_EQ(node.policy.worked_ns, node.now_ns);
}

TEST(equal_priorities_are_not_contended, "busy queues of one priority do not make the node poll")
{
	struct queue *a = new_queue(new_process(), HIGH), *b = new_queue(new_process(), HIGH);

	new_queue(new_process(), LOW);
	start_hog(a);
	start_hog(b);
	CHECK_LATER(10 * MS, !node.decision.contended);
	CHECK(!node.decision.park);
}

TEST(without_poll_the_interval_rules, "gpreempt_poll_us=0 leaves the interval, contended or not")
{
	node.params.poll_ns = 0;
	low_is_preempted();
	CHECK(node.decision.contended);
	CHECK_EQ(node.decision.next_ns, node.params.interval_ns);
}

TEST(idle_bystanders_do_not_keep_a_node_polling,
     "when all queues have been idle for a second the node is not contended, with immovable ones too")
{
	two_processes();
	low->policy.set.immovable = true;
	past_kernel(high);
	past_kernel(low);
	CHECK_LATER_EVERY(2 * SEC, 5 * MS, !node.decision.contended);
	CHECK_EQ(node.decision.next_ns, node.params.interval_ns);
}

TEST(deadlines_shorten_the_sleep, "the end of a hold and the end of a relief come before poll and interval")
{
	node.params.poll_ns = 0;
	hog_preempts_low();
	CHECK_EQ_AFTER(node.params.max_hold_ns - 3 * MS, node.decision.next_ns, 3 * MS);
	CHECK_AFTER(3 * MS, on_device(low));
	CHECK_EQ_AFTER(node.params.relief_ns - 2 * MS, node.decision.next_ns, 2 * MS);
	/* Nobody sleeps for less than a sleep costs. */
	CHECK_EQ_AFTER(2 * MS - 1, node.decision.next_ns, 10 * US);
}

TEST(a_hold_shorter_than_the_interval_is_kept,
     "the sleep after the pass that preempts is not longer than the maximum hold")
{
	node.params.poll_ns = 0;
	node.params.max_hold_ns = 1 * MS;
	two_processes();
	start_hog(low);
	submit(high, 1);
	CHECK_AFTER(0, !on_device(low));
	CHECK(node.decision.next_ns <= 1 * MS);
}

/* ---- switching off ---- */

TEST(resume_all, "switching off resumes every preempted queue and nothing else, whatever the level")
{
	struct gpreempt_decision d;
	struct queue *immovable = new_queue(new_process(), LOW);

	low_is_preempted();
	immovable->policy.set.immovable = true;
	gpreempt_policy_resume_all(&node.policy, &d);
	CHECK_EQ(d.nr_resume, 2);
	CHECK_EQ(d.nr_preempt, 0);
	CHECK(d.park);
	CHECK_EQ(low->policy.action, GPREEMPT_RESUME);
	CHECK_EQ(immovable->policy.action, GPREEMPT_RESUME);
	CHECK_EQ(high->policy.action, GPREEMPT_KEEP);
	node.decision = d;
	act();
	CHECK(on_device(low));
}

TEST(an_unconfirmed_action_is_decided_again,
     "what the backend did not carry out and confirm is asked for by the next pass")
{
	two_processes();
	start_hog(low);
	submit(high, 1);
	look();
	CHECK_EQ(low->policy.action, GPREEMPT_PREEMPT);
	CHECK(on_device(low));
	node.now_ns += POLL;
	look();
	CHECK_EQ(low->policy.action, GPREEMPT_PREEMPT);
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

/* ---- extremes ---- */

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
	CHECK_EQ(node.decision.next_ns, node.params.poll_ns);
	CHECK_AFTER(UINT_MAX * MS - 1, !on_device(low));
	high->waves = 1;
	CHECK_AFTER(1, on_device(low));
}

TEST(rings_wrap, "a read pointer that wraps to a smaller number is a launch like any other")
{
	high_is_blocked();
	high->rptr = 100;
	high->wptr = 101;
	CHECK_AFTER(POLL, !on_device(low));
}

TEST(only_waves_are_restored, "after a runlist by the driver, queues with packets, waves or what may be waves wait for their waves, and no others")
{
	struct queue *q = new_queue(new_process(), LOW), *second = new_queue(new_process(), LOW);
	struct gpreempt_policy_queue *pq = &q->policy;
	u64 now_ns;

	static const struct {
		bool used, preempted;
		u64 pending, waves, waves_ago_ns, moved_ago_ns, restore_ago_ns;
		bool restored;
	} cases[] = {
		{ .used = false, .moved_ago_ns = MS },
		{ .used = true, .moved_ago_ns = MS, .restored = true },
		{ .used = true, .moved_ago_ns = GPREEMPT_WAVES_UNKNOWN_NS - 1, .restored = true },
		{ .used = true, .moved_ago_ns = GPREEMPT_WAVES_UNKNOWN_NS },
		{ .used = true, .moved_ago_ns = MS, .waves_ago_ns = US },
		{ .used = true, .moved_ago_ns = MS, .waves_ago_ns = US, .waves = 3, .restored = true },
		{ .used = true, .moved_ago_ns = SEC, .waves = 3 },
		{ .used = true, .moved_ago_ns = MS, .waves_ago_ns = US, .restore_ago_ns = GPREEMPT_WAVES_RESTORE_NS - 1, .restored = true },
		{ .used = true, .moved_ago_ns = MS, .waves_ago_ns = US, .restore_ago_ns = GPREEMPT_WAVES_RESTORE_NS },
		{ .used = true, .moved_ago_ns = SEC, .pending = 1, .restored = true },
		{ .used = true, .moved_ago_ns = SEC, .pending = 1, .preempted = true },
		{ .used = true, .moved_ago_ns = MS, .preempted = true },
	};

	pass();
	now_ns = node.now_ns;
	EACH_CASE(i, cases) {
		u64 before_ns = cases[i].restore_ago_ns ? now_ns - cases[i].restore_ago_ns : 0;

		pq->seen.used = cases[i].used;
		pq->preempted = cases[i].preempted;
		pq->seen.pending = cases[i].pending;
		pq->seen.waves = cases[i].waves;
		pq->seen.waves_ns = cases[i].waves_ago_ns ? now_ns - cases[i].waves_ago_ns : 0;
		pq->seen.moved_ns = now_ns - cases[i].moved_ago_ns;
		pq->seen.restore_since_ns = before_ns;
		second->policy.seen.pending = 1;
		second->policy.seen.restore_since_ns = 0;
		gpreempt_demand_runlist_changed(&node.policy, now_ns);
		CHECK_EQ(pq->seen.restore_since_ns, cases[i].restored ? now_ns : before_ns);
		CHECK_EQ(second->policy.seen.restore_since_ns, now_ns);
	}
}

TEST(what_was_put_off_is_forgotten, "a decision that was put off touches nothing that has gone by the next one")
{
	struct gpreempt_decision decision;

	two_processes();
	start_hog(low);
	passes_for(20 * MS, MS);
	/* Its only packet was launched between two looks: whether it has waves is the question. */
	submit(high, 1);
	launch(high, 1, 4);
	node.now_ns += MS;
	gpreempt_demand_sample(&low->policy, low->rptr, low->wptr, pending(low), node.now_ns);
	gpreempt_demand_sample(&high->policy, high->rptr, high->wptr, pending(high), node.now_ns);
	node.policy.nr = 2;
	node.policy.nr_dormant = 0;
	CHECK(gpreempt_policy_needs_waves(&node.policy, node.now_ns));
	gpreempt_policy_put_off(&node.policy);
	CHECK_EQ(low->policy.action, GPREEMPT_KEEP);
	CHECK_EQ(high->policy.action, GPREEMPT_KEEP);

	node.policies[0] = &high->policy;
	node.policies[1] = NULL;
	node.policy.nr = 1;
	node.now_ns += MS;
	gpreempt_demand_sample(&high->policy, high->rptr, high->wptr, pending(high), node.now_ns);
	CHECK(!gpreempt_policy_needs_waves(&node.policy, node.now_ns));
	gpreempt_policy_decide(&node.policy, node.now_ns, &decision);
	CHECK_EQ(decision.nr_preempt + decision.nr_resume, 0);
}

TEST(another_policy_begins_anew, "whoever decides from now on finds no accounts, deadlines or ages, in any queue")
{
	struct queue *queues[3];
	u32 i;

	for (i = 0; i < 3; i++) {
		queues[i] = new_queue(new_process(), LOW);
		queues[i]->policy.share.vtime_ns = queues[i]->process->policy.share.vtime_ns = 5;
		queues[i]->policy.due_ns = 5;
		queues[i]->policy.aged_until_ns = node.now_ns + SEC;
	}
	pass();
	gpreempt_policy_use(&node.policy, gpreempt_policies[0]);
	CHECK(node.policy.changed);
	for (i = 0; i < 3; i++) {
		CHECK_EQ(queues[i]->policy.share.vtime_ns + queues[i]->process->policy.share.vtime_ns, 0);
		CHECK_EQ(queues[i]->policy.due_ns, 0);
		CHECK_EQ(queues[i]->policy.aged_until_ns, 0);
	}
}

TEST(confirming_makes_a_queue_new, "what is confirmed as preempted or resumed has nothing left of the state before")
{
	struct gpreempt_policy_queue *pq;
	u64 now_ns;

	low_works();
	pq = &low->policy;
	now_ns = node.now_ns + MS;
	pq->relief_until_ns = pq->aged_until_ns = pq->seen.stalled_ns = pq->seen.zero_ns = pq->seen.waves_ns = now_ns;
	pq->seen.blocked = true;
	pq->action = GPREEMPT_PREEMPT;
	gpreempt_policy_preempted(pq, true, now_ns);
	CHECK(pq->preempted && pq->saved_waves && !pq->seen.blocked);
	CHECK_EQ(pq->relief_until_ns + pq->aged_until_ns + pq->seen.stalled_ns + pq->seen.zero_ns + pq->seen.waves_ns, 0);
	CHECK(pq->preempted_at_ns == now_ns && pq->seen.starved_ns == now_ns && pq->outranked_ns == now_ns && pq->seen.moved_ns == now_ns);
	CHECK_EQ(pq->action, GPREEMPT_KEEP);
	gpreempt_policy_saved(pq, false);
	CHECK(!pq->saved_waves);
	gpreempt_policy_saved(pq, true);

	now_ns += MS;
	pq->seen.zero_ns = pq->seen.waves_ns = now_ns;
	pq->action = GPREEMPT_RESUME;
	gpreempt_policy_resumed(pq, now_ns);
	CHECK(!pq->preempted && !pq->saved_waves);
	CHECK_EQ(pq->seen.zero_ns + pq->seen.waves_ns, 0);
	CHECK(pq->seen.launched_ns == now_ns && pq->seen.active_ns == now_ns && pq->seen.run_ns == now_ns && pq->seen.moved_ns == now_ns);
	CHECK_EQ(pq->seen.stalled_ns, now_ns);
	CHECK_EQ(pq->action, GPREEMPT_KEEP);
	pq->seen.pending = 0;
	gpreempt_policy_resumed(pq, now_ns);
	CHECK_EQ(pq->seen.stalled_ns, 0);
}
