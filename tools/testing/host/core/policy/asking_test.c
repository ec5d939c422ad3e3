// SPDX-License-Identifier: MIT
/*
 * asking_test.c - asking for waves in flight
 *
 * A pass asks where the answer decides something, and no more often. Without an answer there may be
 * waves.
 */
#include "policy_node.h"
#include "tap.h"

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

TEST(waves_are_asked_when_they_decide, "an empty ring of the high queue decides nothing until its waves are known")
{
	low_is_preempted();
	launch(high, 1, 8);
	CHECK_AFTER(POLL, node.asked);
	CHECK_AFTER(POLL, node.asked);
}

TEST(what_is_asked_for, "waves are asked for where they decide")
{
	struct queue *own;
	struct process *p;

	/* Is the only one in the way still there? */
	node.params.blocked_ns = 0;
	two_processes();
	past_kernel(low);
	pass();
	submit(high, 1);
	CHECK_AFTER(POLL, node.asked);
	CHECK(on_device(low));

	/* Alone, but somebody is preempted. */
	tap_reset();
	new_queue(new_process(), LOW);
	hog_preempts_low();
	drop_queue(low);
	launch(high, pending(high), 8);
	CHECK_AFTER(POLL, node.asked);
	CHECK_EQ(node.decision.nr_preempted, 1);

	/* Whether the level is there decides what becomes of a lower one beside its own process's, which cannot be moved. */
	tap_reset();
	high = new_queue(new_process(), HIGH);
	p = new_process();
	middle = new_queue(p, MIDDLE);
	middle->policy.set.immovable = true;
	own = new_queue(p, LOW);
	past_kernel(high);
	submit(middle, 100);
	start_hog(own);
	CHECK_AFTER(0, node.asked);
	CHECK(on_device(own));
}

/* How often waves were asked for in that time. */
static u32 asked_in(u64 ns)
{
	u32 before = node.nr_asked;

	passes_for(ns, POLL);
	return node.nr_asked - before;
}

TEST(what_is_not_asked_for, "waves are not asked for where they change nothing: beside packets of the level, for the own process, without packets")
{
	struct process *p;
	struct queue *other, *own;

	/* Equals: one has packets, of the other one nobody knows. */
	node.params.blocked_ns = 0;
	two_processes();
	other = new_queue(new_process(), HIGH);
	last_kernel(other);
	submit(high, 100000);
	CHECK_EQ_AFTER(0, asked_in(90 * MS), 0);
	CHECK(on_device(low));

	/* With somebody preempted. */
	tap_reset();
	node.params.blocked_ns = 0;
	other = new_queue(new_process(), HIGH);
	hog_preempts_low();
	last_kernel(other);
	CHECK_EQ_AFTER(POLL, asked_in(90 * MS), 0);
	CHECK(!on_device(low));

	/* A lower queue of the process that has the level, where no packets stand still behind it. */
	tap_reset();
	p = new_process();
	own = new_queue(p, LOW);
	high = new_explicit_queue(p, HIGH);
	new_queue(new_process(), LOW);
	high->policy.set.expected_until_ns = node.now_ns + SEC;
	last_kernel(own);
	CHECK_EQ_AFTER(0, asked_in(90 * MS), 0);
	CHECK(on_device(own));

	/* The level stands still behind somebody who cannot be moved: it is known why. */
	tap_reset();
	two_processes();
	other = new_queue(new_process(), HIGH);
	last_kernel(other);
	low->policy.set.immovable = true;
	start_hog(low);
	submit(high, 1);
	TIMES(400) {
		launch(low, 1, 0);
		CHECK_AFTER(POLL, !node.asked);
	}
	CHECK(!high->policy.seen.blocked);

	/* Somebody is taken off anyway, and who is between goes along; whoever is where in the list. */
	EACH_ANEW(i, 2, "order %u: ", i) {
		middle = i ? new_queue(new_process(), MIDDLE) : NULL;
		two_processes();
		if (!middle)
			middle = new_queue(new_process(), MIDDLE);
		last_kernel(middle);
		start_hog(low);
		submit(high, 100);
		CHECK_AFTER(0, !node.asked);
		CHECK(!on_device(low) && !on_device(middle));
	}
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

TEST(idle_nodes_are_not_asked, "when all queues have been idle for a while, passes read no waves")
{
	two_processes();
	past_kernel(high);
	past_kernel(low);
	passes_for(100 * MS, POLL);
	node.nr_asked = 0;
	CHECK_LATER(100 * MS, node.nr_asked <= 2);
}

TEST(asking_for_what_is_long_unknown, "waves that nothing depends on are asked for every 100 ms, of whichever queue, as long as somebody could outrank another")
{
	struct queue *moves, *stays;

	EACH_ANEW(i, 3, "order %u: ", i) {
		moves = i == 1 ? new_queue(new_process(), HIGH) : NULL;
		stays = new_queue(new_process(), HIGH);
		if (!moves)
			moves = new_queue(new_process(), HIGH);
		two_processes();
		node.params.blocked_ns = 0;
		submit(high, 100000);
		last_kernel(stays);
		pass();
		TIMES(50) {
			if (i < 2)
				last_kernel(moves);
			passes_for(20 * MS, POLL);
		}
		CHECK_WITHIN(node.nr_asked, 9, 10);
	}
	/* Nobody could. */
	tap_reset();
	stays = new_queue(new_process(), HIGH);
	last_kernel(stays);
	start_hog(new_queue(new_process(), HIGH));
	CHECK_EQ_AFTER(0, asked_in(SEC), 0);
}

TEST(asking_who_is_idle, "where the caller wants to know which queues are idle, waves are asked for that often among equals as well, and never where it does not")
{
	struct queue *equal = new_queue(new_process(), HIGH);

	high = new_queue(new_process(), HIGH);
	past_kernel(equal);
	past_kernel(high);
	high->waves = 8;
	CHECK_EQ(asked_in(SEC), 0);
	node.policy.idle_ns = 20 * MS;
	CHECK_WITHIN(asked_in(SEC), SEC / (22 * MS), SEC / (20 * MS) + 1);
	CHECK(high->policy.had_demand && !equal->policy.had_demand);
	/* While firmware takes turns, a queue is idle when all of them have shown none. */
	node.turns_ns = 40 * MS;
	finish(high);
	passes_for(100 * MS, 5 * MS);
	CHECK(!high->policy.had_demand && !equal->policy.had_demand);
	node.policy.idle_ns = 0;
	CHECK_EQ(asked_in(SEC), 0);
}

TEST(no_waves_are_believed_as_long_as_seen, "that there are no waves has to be seen for 1 ms, and is believed for as long again")
{
	static const struct { u64 seen_ns, ago_ns; bool asks; } cases[] = {
		{ MS, 500 * US, false }, { MS - 1, 500 * US, true }, { 1900 * US, 500 * US, false }, { 2 * MS, 1900 * US, false }, { 2 * MS, 2100 * US, true },
	};

	EACH_CASE_ANEW(i, cases) {
		struct gpreempt_policy_queue *pq;

		two_processes();
		start_hog(low);
		last_kernel(high);
		finish(high);
		pass();
		pq = &high->policy;
		pq->seen.waves = 0;
		pq->seen.waves_ns = node.now_ns + POLL - cases[i].ago_ns;
		pq->seen.zero_ns = pq->seen.waves_ns - cases[i].seen_ns;
		pq->seen.restore_since_ns = 0;
		CHECK_EQ_AFTER(POLL, node.asked, cases[i].asks);
	}
}

TEST(what_was_tried_out_is_taken_back, "what asking showed to be no reason to preempt takes nobody along, neither of those that are dormant nor of those that have gone")
{
	struct queue *dormant, *own, *compute, *gone;

	own = new_queue(new_process(), LOW);
	compute = new_explicit_queue(own->process, HIGH);
	high = new_queue(new_process(), HIGH);
	gone = new_queue(new_process(), HIGH);
	dormant = new_queue(new_process(), LOW);
	start_hog(own);
	last_kernel(compute);
	CHECK_LATER_EVERY(1100 * MS, MS, node.nr_awake < node.nr_queues);
	/* If compute has no waves, own yields to high, and dormant goes along. */
	submit(high, 1);
	CHECK_AFTER(POLL, node.asked);
	CHECK(on_device(own) && on_device(dormant));
	CHECK_EQ(dormant->policy.action, GPREEMPT_KEEP);
	CHECK_EQ(node.policy.nr_chosen, 0);
	(void)gone;
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

/* ---- no answer ---- */

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
	CHECK_AFTER(owed_ns() - MS, !on_device(low));
	CHECK_AFTER(2 * MS, on_device(low) && !on_device(high));
	CHECK_AFTER(low->process->policy.debt_ns - POLL, on_device(low) && !on_device(high));
	CHECK_AFTER(POLL, !on_device(low) && on_device(high));
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
