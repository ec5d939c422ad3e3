// SPDX-License-Identifier: MIT
/*
 * steps.c - what single steps of the policy leave behind, ask for and count, where no story would notice
 */
#include <string.h>

#include "demand.h"
#include "policy_node.h"
#include "tap.h"

/* An idle queue that has never worked, taken off as if it had gone along with others. */
static void take_along(struct queue *q)
{
	pass();
	gpreempt_policy_preempted(&q->policy, false, node.now_ns);
}

/* How often waves were asked for in that time. */
static u32 asked_in(u64 ns)
{
	u32 before = node.nr_asked;

	passes_for(ns, POLL);
	return node.nr_asked - before;
}

/* ---- samples ---- */

TEST(samples_of_queues_that_may_not_run, "pointers and packets of a queue that the driver keeps off the device, and gives back, are taken in one by one")
{
	struct gpreempt_policy_process process = { 0 };
	struct gpreempt_policy_queue q = { .process = &process };

	gpreempt_demand_sample(&q, 0, 0, 0, 100);
	/* What is written meanwhile is not pending. */
	gpreempt_demand_sample(&q, 0, 2, 0, 200);
	CHECK(q.seen.wptr == 2 && q.seen.active_ns == 200 && !q.seen.pending);
	gpreempt_demand_sample(&q, 0, 2, 2, 300);
	CHECK(q.seen.pending == 2 && q.seen.stalled_ns == 300 && q.seen.active_ns == 300);
	gpreempt_demand_sample(&q, 0, 2, 0, 400);
	CHECK(!q.seen.pending && !q.seen.stalled_ns && q.seen.active_ns == 300);
	q.preempted = true;
	gpreempt_demand_sample(&q, 0, 2, 2, 500);
	CHECK(q.seen.pending == 2 && q.seen.starved_ns == 500);
	gpreempt_demand_sample(&q, 0, 2, 0, 600);
	CHECK(!q.seen.pending);
}

TEST(samples_meet_announcements, "work that waits when it is announced is what was announced, also of a queue that is preempted")
{
	struct gpreempt_policy_process process = { 0 };
	struct gpreempt_policy_queue q = { .process = &process, .preempted = true };

	gpreempt_demand_sample(&q, 0, 2, 2, 100);
	q.set.expected_until_ns = 900;
	CHECK(!gpreempt_demand_came(&q));
	gpreempt_demand_sample(&q, 0, 2, 2, 200);
	CHECK_EQ(q.seen.expected_met_ns, 900);
	CHECK(gpreempt_demand_came(&q));
}

TEST(used_is_for_ever, "a queue whose pointers wrap to 0 has had packets all the same")
{
	struct gpreempt_policy_process process = { 0 };
	struct gpreempt_policy_queue q = { .process = &process };

	gpreempt_demand_sample(&q, 5, 5, 0, 100);
	gpreempt_demand_sample(&q, 0, 0, 0, 200);
	CHECK(q.seen.used);
}

TEST(what_confirming_keeps, "that there were no waves is known on after a preemption and a resume of a queue that had neither waves nor packets")
{
	EACH(i, 8, "case %u: ", i) {
		bool saved = i & 1, pending = i & 2, zero = i & 4, keeps = !saved && !pending && zero;
		struct gpreempt_policy_queue q = { .seen.pending = pending, .seen.zero_ns = zero ? 100 : 0, .seen.waves_ns = 200, .seen.moved_ns = 50 };

		gpreempt_policy_preempted(&q, saved, 300);
		CHECK_EQ(q.seen.waves_ns, keeps ? 200 : 0);
		CHECK_EQ(q.seen.moved_ns, keeps ? 50 : 300);
		q = (struct gpreempt_policy_queue){ .preempted = true, .saved_waves = saved, .seen.pending = pending, .seen.zero_ns = zero ? 100 : 0,
						    .seen.waves_ns = 200, .seen.moved_ns = 50 };
		gpreempt_policy_resumed(&q, 300);
		CHECK_EQ(q.seen.waves_ns, keeps ? 300 : 0);
		CHECK_EQ(q.seen.zero_ns, keeps ? 100 : 0);
		CHECK_EQ(q.seen.moved_ns, keeps ? 50 : 300);
		CHECK_EQ(q.seen.active_ns, saved || pending ? 300 : 0);
	}
}

/* ---- demand ---- */

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

/* ---- level ---- */

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

TEST(counts_of_a_decision, "how many are preempted and how many are in the way is counted, and no longer than it lasts")
{
	struct queue *second, *immovable[2];
	u32 i;

	for (i = 0; i < 2; i++) {
		immovable[i] = new_queue(new_process(), LOW);
		immovable[i]->policy.set.immovable = true;
		start_hog(immovable[i]);
	}
	second = new_queue(new_process(), LOW);
	start_hog(second);
	hog_preempts_low();
	CHECK_AFTER(POLL, node.decision.level_valid);
	CHECK_EQ(node.decision.nr_preempted, 2);
	CHECK_EQ(node.decision.nr_in_the_way, 2);
	drain(immovable[0]);
	/* Nobody hurries to ask it. */
	CHECK_LATER(250 * MS, !immovable[0]->policy.in_the_way);
	CHECK_EQ(node.decision.nr_in_the_way, 1);
	drain(high);
	CHECK_EQ_LATER(5 * MS, node.decision.nr_in_the_way, 0);
	CHECK_EQ(node.decision.nr_preempted, 0);
	CHECK(!immovable[1]->policy.in_the_way);
}

TEST(a_decision_is_made_anew, "what was decided and not carried out means nothing to the next decision")
{
	two_processes();
	last_kernel(low);
	submit(high, 1);
	look();
	CHECK_EQ(low->policy.action, GPREEMPT_PREEMPT);
	finish(low);
	drain(high);
	node.now_ns += MS;
	look();
	CHECK_EQ(low->policy.action, GPREEMPT_KEEP);
	CHECK_EQ(node.decision.nr_preempt, 0);
}

/* ---- minimum run ---- */

TEST(a_minimum_run_hides_nobody, "that one queue runs its minimum does not keep another one from being taken off, whichever comes first; it follows in time")
{
	struct queue *young, *old;

	EACH_ANEW(i, 4, "case %u: ", i) {
		node.params.min_run_ns = 5 * MS;
		young = i & 1 ? new_queue(new_process(), LOW) : NULL;
		old = new_queue(new_process(), LOW);
		if (!young)
			young = new_queue(new_process(), LOW);
		high = new_queue(new_process(), HIGH);
		/* Nobody is dormant: they stay in this order. */
		young->policy.seen.active_ns = high->policy.seen.active_ns = node.now_ns;
		start_hog(old);
		passes_for(10 * MS, POLL);
		/* One has packets, the other one maybe waves. */
		if (i & 2)
			start_hog(young);
		else
			last_kernel(young);
		submit(high, 100);
		CHECK_AFTER(POLL, !on_device(old) && on_device(young));
		CHECK_LATER(4 * MS, on_device(young));
		CHECK_LATER(2 * MS, !on_device(young));
	}
}

TEST(a_minimum_run_of_nobodys_concern, "the end of a minimum run is none to wait for where nobody would take the queue off then")
{
	node.params.poll_ns = 0;
	node.params.min_run_ns = 3 * MS;
	low_works();
	CHECK_EQ(node.decision.next_ns, node.params.interval_ns);
	start_hog(high);
	CHECK_AFTER(MS, on_device(low));
	CHECK_EQ(node.decision.next_ns, 2 * MS);
}

/* ---- when to look again ---- */

TEST(the_budget_says_when, "a preemption that waits for the budget is looked at when there is room for it: the rest, at that percentage")
{
	node.params.poll_ns = 0;
	node.params.interval_ns = SEC;
	low_works();
	gpreempt_policy_overhead(&node.policy, 20 * MS, false, node.now_ns);
	start_hog(high);
	CHECK_AFTER(0, on_device(low));
	/* 10 ms more than 10 % of 100 ms; and what is lost by dividing. */
	CHECK_EQ(node.decision.next_ns, 100 * MS + 100);
	node.policy.params.overhead_pct = 0;
	gpreempt_policy_overhead(&node.policy, MS, false, node.now_ns);
	CHECK_EQ(node.policy.overhead_ns, 0);
}

TEST(holds_have_deadlines, "the end of a hold that somebody asked for is known when it begins, unless it has none; age is nothing to it")
{
	EACH_ANEW(i, 4, "case %u: ", i) {
		node.params.poll_ns = 0;
		node.params.interval_ns = 10 * SEC;
		node.params.aging_ns = i & 2 ? MS : 0;
		high = new_queue(new_process(), HIGH);
		start_hog(high);
		high->policy.set.hold = true;
		high->policy.set.hold_unbounded = i & 1;
		CHECK_AFTER(0, !on_device(high));
		CHECK_EQ(node.decision.next_ns, i & 1 ? node.params.interval_ns : node.params.max_hold_ns);
		CHECK_EQ_AFTER(10 * MS, node.decision.next_ns, i & 1 ? node.params.interval_ns : node.params.max_hold_ns - 10 * MS);
	}
}

TEST(sleeps_are_exact, "a deadline is met to the nanosecond where it is further off than the shortest sleep")
{
	node.params.poll_ns = 0;
	hog_preempts_low();
	CHECK_EQ_AFTER(node.params.max_hold_ns - 15 * US, node.decision.next_ns, 15 * US);
	CHECK_EQ_AFTER(10 * US, node.decision.next_ns, 10 * US);
}

/* ---- asking for waves ---- */

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

/* ---- blocked queues ---- */

TEST(who_is_in_the_way_may_be_blocked, "that the level stands still does not keep a lower one that stands still as well from being taken for blocked")
{
	two_processes();
	low->policy.set.immovable = true;
	submit(low, 1);
	submit(high, 1);
	CHECK_LATER(30 * MS, low->policy.seen.blocked);
	CHECK(high->policy.seen.blocked);
}

/* ---- dormant queues ---- */

TEST(what_keeps_from_being_dormant, "a queue is dormant when nothing about it can matter before its pointers move, and each thing that can keeps it awake")
{
	const u64 now_ns = 100 * SEC, forever_ns = ~0ULL;
#define LONG_IDLE	.seen.used = true, .seen.active_ns = now_ns - SEC
#define NO_WAVES(since)	.seen.zero_ns = now_ns - (since), .seen.waves_ns = now_ns - 5 * MS
#define IDLE		LONG_IDLE, NO_WAVES(20 * MS)
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
		{ .q = { IDLE, .pass.demand[1] = true } },
		{ .q = { IDLE, .pass.relieved = true } },
		{ .q = { IDLE, .relief_until_ns = now_ns + 1 } },
		{ .q = { IDLE, .aged_until_ns = now_ns + 1 } },
		{ .q = { IDLE, .relief_until_ns = now_ns, .aged_until_ns = now_ns }, .until_ns = now_ns + 10 * MS },
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
	struct gpreempt_policy_process process = { 0 };
	u64 until_ns;

	EACH_CASE(i, cases) {
		struct gpreempt_policy_queue q = cases[i].q;
		struct gpreempt_policy_node pn = { 0 };

		q.process = &process;
		gpreempt_policy_use(&pn, policy_named(cases[i].policy ?: "hpf"));
		pn.params.waves_known = !cases[i].waves_unknown;
		until_ns = forever_ns;
		CHECK_EQ(gpreempt_policy_dormant(&pn, &q, now_ns, &until_ns), cases[i].until_ns != 0);
		CHECK_EQ(until_ns, cases[i].until_ns ?: forever_ns);
		/* What ends sooner stays. */
		until_ns = now_ns + 1;
		gpreempt_policy_dormant(&pn, &q, now_ns, &until_ns);
		CHECK_EQ(until_ns, now_ns + 1);
	}
}

/* ---- parking ---- */

TEST(equal_wishes_order_nobody, "two queues of a process that were given the same priority need no passes, different ones do")
{
	struct process *p = new_process();

	new_explicit_queue(p, LOW);
	high = new_explicit_queue(p, LOW);
	CHECK_AFTER(0, node.decision.park);
	high->policy.set.own_priority = HIGH;
	CHECK_AFTER(POLL, !node.decision.park);
}

TEST(who_could_outrank_unannounced, "of armed processes it will be told when they work: only whoever is not armed could outrank another without a word")
{
	struct queue *q[3];
	u32 k;

	q[0] = new_queue(new_process(), LOW);
	q[1] = new_queue(new_process(), HIGH);
	q[2] = new_queue(new_process(), HIGH);
	pass();
	EACH(i, 8, "armed %x: ", i) {
		for (k = 0; k < 3; k++)
			q[k]->process->policy.armed = i & 1U << k;
		/* The low one and either high one. */
		CHECK_EQ(gpreempt_policy_can_outrank(&node.policy), !(i & 1) && (i & 6) != 6);
	}
}

/* ---- switching off ---- */

TEST(resuming_all_says_so, "the decision that switches off asks for nothing but resumes, and nobody stands still from then on")
{
	struct gpreempt_decision d;

	hog_preempts_low();
	submit(high, 1);
	CHECK_AFTER(POLL, high->policy.seen.stalled_ns != 0);
	memset(&d, 0x55, sizeof(d));
	gpreempt_policy_resume_all(&node.policy, &d);
	CHECK_EQ(d.nr_resume, 1);
	CHECK_EQ(d.nr_preempt + d.nr_preempted + d.nr_in_the_way + d.nr_relief, 0);
	CHECK(d.park && !d.inversion && !d.contended && !d.over_budget && !d.level_valid);
	CHECK_EQ(high->policy.seen.stalled_ns, 0);
	CHECK_EQ(low->policy.seen.stalled_ns, 0);
}

/* ---- wfq ---- */

static struct gpreempt_policy_share *share(struct queue *q)
{
	return &q->process->policy.share;
}

TEST(wfq_ranks, "a rank is how far ahead of the line a share is, a slice less for the one whose turn it is; who is behind has no credit")
{
	static const struct { s64 ahead_ns; u32 weight; bool turn; s64 virtual_ns; } cases[] = {
		{ 0, 100, false, 0 }, { 7 * MS, 100, false, 7 * MS }, { -3 * (s64)MS, 100, false, 0 }, { 0, 100, true, -5 * (s64)MS }, { 7 * MS, 100, true, 2 * MS },
		{ 7 * MS, 50, true, -3 * (s64)MS }, { -1, 200, true, -2500 * (s64)US }, { -1, 100, false, 0 }, { 1, 100, false, 1 },
	};
	struct queue *q = new_queue(new_process(), HIGH);

	use("wfq");
	pass();
	EACH_CASE(i, cases) {
		q->process->policy.weight = cases[i].weight;
		node.policy.vtime_ns = 3 * SEC;
		share(q)->vtime_ns = 3 * SEC + cases[i].ahead_ns;
		share(q)->turn = cases[i].turn;
		CHECK_EQ_AFTER(POLL, q->policy.rank, -cases[i].virtual_ns * 1024);
	}
}

TEST(wfq_says_when_a_turn_ends, "a turn ends when its share is a slice ahead of the next one that wants the device, whatever its weight; nobody else counts")
{
	static const u32 weights[] = { 100, 50, 400, 1 };
	struct queue *idle, *third;

	EACH_ANEW(i, ARRAY_SIZE(weights), "weight %u: ", weights[i]) {
		use("wfq");
		node.params.poll_ns = 0;
		node.params.interval_ns = SEC;
		node.params.max_hold_ns = 0;
		high = new_queue(new_process(), HIGH);
		idle = new_queue(new_process(), HIGH);
		high->process->policy.weight = weights[i];
		start_hog(high);
		CHECK_EQ_AFTER(0, node.decision.next_ns, node.params.interval_ns);
		CHECK(share(high)->turn && share(high)->ran && share(high)->wanted);
		CHECK(!share(idle)->turn && !share(idle)->ran && !share(idle)->wanted);
		low = new_queue(new_process(), HIGH);
		start_hog(low);
		CHECK_AFTER(MS, on_device(high) && !on_device(low));
		/* The other one begins where the line is. */
		CHECK_EQ(share(low)->vtime_ns, node.policy.vtime_ns);
		CHECK_EQ(node.decision.next_ns, node.params.slice_ns + 1);
		CHECK(share(low)->wanted && !share(low)->ran && !share(low)->turn);
		CHECK_EQ_AFTER(2 * MS, node.decision.next_ns, node.params.slice_ns - 2 * MS + 1);
		third = new_queue(new_process(), HIGH);
		start_hog(third);
		CHECK_EQ_AFTER(MS, node.decision.next_ns, node.params.slice_ns - 3 * MS + 1);
		/* What has no work any more does not want it. */
		drop_queue(low);
		drop_queue(third);
		drain(high);
		CHECK_LATER_EVERY(250 * MS, MS, !share(high)->wanted && !share(high)->ran);
	}
}

TEST(wfq_turns_survive, "whose turn it is stays known while nobody works and while somebody is in relief, and is nobody else's then")
{
	struct queue *other;

	use("wfq");
	high = new_queue(new_process(), HIGH);
	other = new_queue(new_process(), HIGH);
	start_hog(high);
	CHECK_AFTER(0, share(high)->turn && !share(other)->turn);
	drain(high);
	CHECK_LATER_EVERY(250 * MS, MS, !node.decision.level_valid);
	CHECK(share(high)->turn && !share(other)->turn);
	start_hog(high);
	start_hog(other);
	CHECK_AFTER(POLL, on_device(high) && !on_device(other));
	/* Other's relief. */
	other->policy.seen.starved_ns = node.now_ns - node.params.max_hold_ns;
	CHECK_AFTER(POLL, on_device(other) && !on_device(high));
	CHECK_EQ(node.decision.level, GPREEMPT_PRIORITY_RELIEF);
	CHECK(share(high)->turn && !share(other)->turn);
}

TEST(wfq_shares_have_queues, "a share has the device if one of its queues with work has it, whichever is looked at first, and wants it if one has maybe work")
{
	struct process *p;
	struct queue *off, *on;

	EACH_ANEW(i, 2, "order %u: ", i) {
		use("wfq");
		p = new_process();
		off = i ? new_queue(p, HIGH) : NULL;
		on = new_queue(p, HIGH);
		if (!off)
			off = new_queue(p, HIGH);
		start_hog(on);
		start_hog(off);
		pass();
		gpreempt_policy_preempted(&off->policy, true, node.now_ns);
		off->policy.set.hold = true;
		off->policy.set.hold_unbounded = true;
		node.now_ns += POLL;
		look();
		CHECK(share(on)->ran && share(on)->wanted && share(on)->turn);
	}
	tap_reset();
	use("wfq");
	on = new_queue(new_process(), HIGH);
	last_kernel(on);
	CHECK_AFTER(0, !node.asked);
	CHECK(share(on)->wanted && share(on)->ran);
}

TEST(idle_queues_return_with_others, "where ranks move by themselves, a preempted queue without work comes back with the next runlist that is sent for another reason")
{
	struct queue *idle;

	use("edf");
	idle = new_queue(new_process(), HIGH);
	two_processes();
	idle->process->policy.deadline_ns = MS;
	high->process->policy.deadline_ns = 20 * MS;
	start_hog(low);
	take_along(idle);
	CHECK(on_device(low));
	CHECK_AFTER(POLL, !on_device(idle));
	start_hog(high);
	CHECK_AFTER(POLL, !on_device(low) && on_device(idle));
}
