// SPDX-License-Identifier: MIT
/*
 * restore_test.c - waves that a runlist took off and did not bring back yet
 *
 * Those that are not seen after it are not finished: for how long they are waited for, and whose
 * they may be.
 */
#include "demand.h"
#include "policy_node.h"
#include "tap.h"

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

/* Its last kernel begins while the pass is under way, and is taken off with the others. */
static void launch_in_pass(struct queue *q)
{
	launch(q, 1, 8);
	gpreempt_demand_mapped(&q->policy, q->rptr);
	q->invisible = true;
}

TEST(a_launch_after_a_pass_shows_that_it_is_back,
     "a kernel that began after the pass that preempted low, and is over at the next look, keeps low off no longer")
{
	low_is_preempted();
	launch(high, 1, 8);
	finish(high);
	CHECK_LATER(4 * POLL, on_device(low));
}

TEST(a_pass_does_not_undo_itself,
     "high's waves, hidden by the runlist that preempted low, are not taken for the end of high's work")
{
	low_is_preempted();
	launch_in_pass(high);
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

/* ---- for how long ---- */

/* High works, low is preempted for it; the pass took @pass_ns, and high's waves are hidden from its end on. */
static void hidden_by_a_pass_of(u64 pass_ns)
{
	node.pass_takes_ns = pass_ns;
	node.params.overhead_pct = 0;
	low_is_preempted();
	launch_in_pass(high);
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

/* ---- whose ---- */

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

TEST(known_work_is_restored, "after our own runlist, queues known to work wait for their waves, not those that may have some, nor announced ones")
{
	struct queue *maybe, *announced;

	maybe = new_queue(new_process(), HIGH);
	announced = new_queue(new_process(), HIGH);
	low_works();
	last_kernel(maybe);
	announced->policy.set.expected_until_ns = node.now_ns + 10 * MS;
	submit(high, 100);
	CHECK_AFTER(POLL, !on_device(low));
	CHECK(!node.asked);
	CHECK_EQ(high->policy.seen.restore_since_ns, node.now_ns);
	CHECK_EQ(maybe->policy.seen.restore_since_ns, 0);
	CHECK_EQ(announced->policy.seen.restore_since_ns, 0);
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
