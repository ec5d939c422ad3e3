// SPDX-License-Identifier: MIT
/*
 * drain_test.c - work that is about to end
 *
 * Those above wait for it, instead of having it taken off the device, if that takes no longer: for gpreempt_drain_us at most, and for as long as a
 * preemption took of late.
 */
#include "demand.h"
#include "policy_node.h"
#include "tap.h"

#define SAVE	(100 * US)
/* How often these tests look: as often as the policy wants to while something is waited for */
#define OFTEN	(20 * US)

/* Low has been preempted once and is back, so that it is known what that takes. Neither has work. */
static void a_save_was_timed(void)
{
	node.pass_takes_ns = SAVE;
	node.params.poll_ns = 80 * US;
	node.params.overhead_pct = 0;
	hog_preempts_low();
	drain(high);
	time_until(low, true, 10 * MS);
	drain(low);
	passes_for(100 * MS, POLL);
	CHECK(on_device(low) && !low->policy.had_demand);
	CHECK_EQ(low->preempted, 1);
}

/* Kernels of low, one after the other, of this length. */
static void low_runs(u32 kernels, u64 kernel_ns)
{
	while (kernels--) {
		launch(low, 1, 64);
		pass_after(kernel_ns);
		low->waves = 0;
	}
}

/* Low always has packets, and its kernels take so long; one is on the device, and high has a request. */
static void high_meets_kernels_of(u64 kernel_ns)
{
	submit(low, 1000);
	low_runs(50, kernel_ns);
	launch(low, 1, 64);
	submit(high, 1);
	pass();
}

TEST(last_kernels_are_waited_for, "a kernel that has just begun and is the last one of its queue is waited for: it ends before a save would be done, so nothing is preempted and nothing resumed")
{
	u32 before;

	a_save_was_timed();
	before = node.nr_acting;
	TIMES(20) {
		last_kernel(low);
		submit(high, 1);
		pass();
		CHECK_EQ(low->policy.verdict, GPREEMPT_VERDICT_DRAINS);
		CHECK(node.decision.inversion && on_device(low));
		CHECK_WITHIN(low->policy.until_ns - node.now_ns, 1, SAVE);
		pass_after(OFTEN);
		finish(low);
		launch(high, 1, 64);
		passes_for(2 * MS, OFTEN);
		CHECK(!node.decision.inversion);
		finish(high);
		passes_for(10 * MS, POLL);
	}
	CHECK_EQ(node.nr_acting, before);
}

TEST(nothing_is_waited_for_longer_than_a_save, "a kernel that goes on is taken off when it was waited for as long as a preemption takes, or for gpreempt_drain_us if that is less")
{
	static const u64 most_ns[] = { 60 * US, 200 * US };

	EACH_CASE_ANEW(i, most_ns) {
		u64 waited_ns;

		a_save_was_timed();
		node.params.drain_ns = most_ns[i];
		last_kernel(low);
		submit(high, 1);
		pass();
		CHECK_EQ(low->policy.verdict, GPREEMPT_VERDICT_DRAINS);
		waited_ns = 0;
		while (on_device(low) && waited_ns < MS) {
			CHECK(node.decision.next_ns <= SAVE / GPREEMPT_DRAIN_LOOK_SHARE);
			pass_after(10 * US);
			waited_ns += 10 * US;
		}
		CHECK_EQ(waited_ns, gpreempt_earlier(most_ns[i], SAVE));
	}
}

TEST(long_kernels_are_not_waited_for, "a kernel that has run for longer than a save takes is taken off at once, also if it is the last one")
{
	a_save_was_timed();
	last_kernel(low);
	passes_for(MS, POLL);
	submit(high, 1);
	CHECK_AFTER(POLL, !on_device(low));
}

TEST(short_kernels_are_let_through, "kernels of less than half of what a save takes are let through beside a short request, however many wait behind them")
{
	u32 before;

	a_save_was_timed();
	before = node.nr_acting;
	TIMES(20) {
		high_meets_kernels_of(30 * US);
		CHECK_EQ(low->policy.verdict, GPREEMPT_VERDICT_DRAINS);
		finish(low);
		launch(high, 1, 64);
		passes_for(500 * US, OFTEN);
		CHECK(on_device(low));
		finish(high);
		low_runs(20, 30 * US);
		low->wptr = low->rptr;
		passes_for(10 * MS, POLL);
	}
	CHECK_EQ(node.nr_acting, before);
	high_meets_kernels_of(60 * US);
	CHECK(!on_device(low));
}

TEST(time_of_others_is_not_a_kernels, "kernels that had to wait while a request had the device are not taken for longer ones, however much of the time requests have")
{
	a_save_was_timed();
	submit(low, 1000);
	TIMES(40) {
		low_runs(6, 30 * US);
		launch(low, 1, 64);
		submit(high, 1);
		CHECK_EQ_AFTER(10 * US, low->policy.verdict, GPREEMPT_VERDICT_DRAINS);
		finish(low);
		launch(high, 1, 64);
		passes_for(MS, OFTEN);
		finish(high);
		pass();
	}
	CHECK_EQ(low->preempted, 1);
}

TEST(short_kernels_add_up, "as many short kernels are let through as a save takes time, and no more: then their queue is taken off, in the middle of the request")
{
	u32 let_through = 0;

	a_save_was_timed();
	high_meets_kernels_of(30 * US);
	submit(high, 100);
	while (on_device(low) && let_through < 100) {
		finish(low);
		launch(high, 1, 64);
		passes_for(500 * US, OFTEN);
		finish(high);
		if (!on_device(low))
			break;
		launch(low, 1, 64);
		let_through++;
		pass_after(30 * US);
	}
	/* The first one had begun before. */
	CHECK_WITHIN(let_through, 3, 4);
}

TEST(what_has_not_begun_is_in_no_ones_way, "a packet that waits for slots behind a long kernel of a higher queue is no reason to take both off the device")
{
	a_save_was_timed();
	submit(high, 1);
	launch(high, 1, 64);
	passes_for(MS, POLL);
	submit(low, 1);
	passes_for(MS, 80 * US);
	CHECK_EQ(low->policy.verdict, GPREEMPT_VERDICT_DRAINS);
	CHECK_EQ(low->policy.until_ns, ~0ULL);
	CHECK(on_device(low));
	/* It has, and goes on for long. */
	launch(low, 1, 64);
	CHECK(time_until(low, false, MS) <= SAVE + POLL);
}

TEST(waiting_in_vain_is_learned, "a queue that was waited for in vain is not waited for in the next preemptions, ever more of them; one in two is too many")
{
	u32 k, waited = 0;

	a_save_was_timed();
	for (k = 0; k < 400; k++) {
		last_kernel(low);
		submit(high, 1);
		pass();
		waited += low->policy.verdict == GPREEMPT_VERDICT_DRAINS;
		/* Each other time it would have ended. */
		if (on_device(low) && k % 2) {
			pass_after(OFTEN);
			finish(low);
		}
		launch(high, 1, 64);
		passes_for(MS, OFTEN);
		finish(high);
		time_until(low, true, 10 * MS);
		finish(low);
		passes_for(5 * MS, POLL);
	}
	CHECK_WITHIN(waited, 3, 20);
}

TEST(new_queues_are_waited_for_seldom, "queues of which nothing is known and that go on for long have higher work wait for a thirtieth of the time at most, however many come")
{
	u64 waited_ns = 0, began_ns;
	u32 k;

	a_save_was_timed();
	node.params.max_hold_ns = 0;
	began_ns = node.now_ns;
	for (k = 0; k < 40; k++) {
		struct queue *q = new_queue(new_process(), LOW);

		passes_for(300 * US, OFTEN);
		last_kernel(q);
		submit(high, 1);
		pass();
		while (on_device(q)) {
			pass_after(OFTEN);
			waited_ns += OFTEN;
		}
		launch(high, 1, 64);
		passes_for(200 * US, OFTEN);
		finish(high);
		time_until(q, true, 10 * MS);
		finish(q);
		passes_for(700 * US, OFTEN);
	}
	CHECK(waited_ns >= SAVE);
	CHECK(waited_ns <= SAVE + (node.now_ns - began_ns) / 30);
}

TEST(success_is_learned, "one that was in vain is forgotten after as many that were not")
{
	a_save_was_timed();
	low->policy.drain_misses = 2;
	TIMES(2) {
		last_kernel(low);
		submit(high, 1);
		pass();
		pass_after(OFTEN);
		finish(low);
		launch(high, 1, 64);
		passes_for(MS, OFTEN);
		finish(high);
		passes_for(10 * MS, POLL);
	}
	CHECK_EQ(low->policy.drain_misses, 0);
}

TEST(all_in_the_way_have_to_end, "as long as one that has to go would not end in time, all of them are taken off, with one pass")
{
	struct queue *other;
	u32 before;

	a_save_was_timed();
	other = new_queue(new_process(), LOW);
	start_hog(other);
	passes_for(10 * MS, POLL);
	before = node.nr_acting;
	last_kernel(low);
	submit(high, 1);
	pass();
	CHECK(!on_device(low) && !on_device(other));
	CHECK_EQ(node.nr_acting, before + 1);
}

TEST(nothing_is_waited_for_blindly, "nothing is waited for with gpreempt_drain_us=0, before a save was timed, where waves are not seen, or where queues take turns")
{
	EACH_ANEW(i, 5, "case %u: ", i) {
		a_save_was_timed();
		if (i == 0)
			node.params.drain_ns = 0;
		else if (i == 1)
			node.policy.save_ns = 0;
		else if (i == 2)
			node.device.waves_known = false;
		else if (i == 3)
			node.policy.waves_seen = false;
		else
			node.turns_ns = 20 * MS;
		node.zero_waves = i == 3;
		last_kernel(low);
		submit(high, 1);
		TIMES(400) {
			pass_after(5 * US);
			CHECK(low->policy.verdict != GPREEMPT_VERDICT_DRAINS);
		}
		CHECK_EQ(low->preempted, 2);
	}
}

TEST(a_new_level_waits_anew, "who comes above those that wait has its own time to wait; what is counted is told once the work is done")
{
	struct queue *top;
	u32 drained = 0;

	a_save_was_timed();
	top = new_queue(new_process(), HIGH + 10);
	passes_for(5 * MS, POLL);
	last_kernel(low);
	submit(high, 1);
	pass();
	pass_after(40 * US);
	CHECK_EQ(low->policy.verdict, GPREEMPT_VERDICT_DRAINS);
	submit(top, 1);
	pass_after(OFTEN);
	pass_after(OFTEN);
	CHECK(low->policy.until_ns > node.now_ns);
	CHECK(node.policy.drain.rank == HIGH + 10);
	finish(low);
	launch(top, 1, 64);
	passes_for(200 * US, OFTEN);
	CHECK(on_device(high) && node.policy.drain.waited_ns <= 40 * US);
	finish(top);
	launch(high, 1, 64);
	TIMES(10) {
		pass_after(OFTEN);
		drained += node.decision.drained;
	}
	CHECK_EQ(drained, 1);
}

TEST(preemptions_of_a_crowd_are_not_slow, "one preemption that took very long, because something else held the driver up, makes nobody wait so long afterwards")
{
	a_save_was_timed();
	gpreempt_policy_overhead(&node.policy, 50 * MS, true, node.now_ns);
	CHECK(node.policy.save_ns <= SAVE * 5 / 4);
}
