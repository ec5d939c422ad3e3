// SPDX-License-Identifier: MIT
/*
 * wfq_test.c - the policy wfq
 *
 * Shares of the device by weight, and by turns.
 */
#include <stdlib.h>
#include <string.h>

#include "debt.h"
#include "policy_node.h"
#include "tap.h"

/* Under wfq, and for how long each had the device. */
static struct queue *q[5];
static u64 ran_ns[5];

static void two_shares(void)
{
	use("wfq");
	q[0] = new_queue(new_process(), HIGH);
	q[1] = new_queue(new_process(), HIGH);
}

/* In passes, while @nr queues have work without end. */
static void run_shares(u32 nr, u64 ns)
{
	u64 end_ns = node.now_ns + ns;
	u32 i;

	memset(ran_ns, 0, sizeof(ran_ns));
	for (i = 0; i < nr; i++)
		start_hog(q[i]);
	while (node.now_ns < end_ns) {
		pass();
		for (i = 0; i < nr; i++)
			ran_ns[i] += on_device(q[i]) ? POLL : 0;
		node.now_ns += POLL;
	}
}

/* Is a : b = x : y, within 2 % of the whole? */
static bool shares_are(u64 a, u64 b, u32 x, u32 y)
{
	s64 is = (s64)(a * 1000 / (a + b)), should = 1000 * x / (x + y);

	return llabs(is - should) <= 20;
}

TEST(wfq_shares_by_weight, "weights of 75 and 25 give three quarters and one quarter of the device, within 2 %")
{
	two_shares();
	q[0]->process->policy.weight = 75;
	q[1]->process->policy.weight = 25;
	run_shares(2, 5 * SEC);
	CHECK(shares_are(ran_ns[0], ran_ns[1], 75, 25));
	/* One at a time, after the first pass. */
	CHECK_WITHIN(ran_ns[0] + ran_ns[1], 5 * SEC - 2 * POLL, 5 * SEC + 2 * POLL);
	/* A turn of each is a slice at least. */
	CHECK(q[0]->preempted + q[1]->preempted <= 5 * SEC / node.params.slice_ns);
	CHECK_EQ(node.nr_relief, 0);
}

TEST(wfq_shares_among_many, "five processes of different weights get their shares, whatever the order of their queues")
{
	static const u32 weights[] = { 10, 400, 50, 100, 40 };
	u64 sum = 0;
	u32 i;

	use("wfq");
	node.params.max_hold_ns = 0;
	for (i = 0; i < 5; i++) {
		q[i] = new_queue(new_process(), HIGH);
		q[i]->process->policy.weight = weights[i];
	}
	run_shares(5, 20 * SEC);
	for (i = 0; i < 5; i++)
		sum += ran_ns[i];
	for (i = 0; i < 5; i++)
		CHECK(shares_are(ran_ns[i], sum - ran_ns[i], weights[i], 600 - weights[i]));
}

TEST(wfq_weighs_by_priority, "without weights, three steps of priority double the share, and equals share equally")
{
	two_shares();
	q[2] = new_queue(new_process(), HIGH - 3);
	run_shares(3, 10 * SEC);
	CHECK(shares_are(ran_ns[0], ran_ns[2], 2, 1));
	CHECK(shares_are(ran_ns[0], ran_ns[1], 1, 1));
}

TEST(wfq_is_work_conserving, "a share without work leaves the device to the others, and has saved nothing when it comes back")
{
	two_shares();
	start_hog(q[0]);
	CHECK_EQ_LATER(2 * SEC, q[0]->preempted, 0);
	run_shares(2, 2 * SEC);
	CHECK(shares_are(ran_ns[0], ran_ns[1], 1, 1));
}

TEST(wfq_starts_anew, "what a share had before another policy ruled does not count any more")
{
	two_shares();
	start_hog(q[0]);
	start_hog(q[1]);
	q[0]->process->policy.weight = 1;
	passes_for(100 * MS, POLL);
	use("hpf");
	pass_after(POLL);
	use("wfq");
	q[0]->process->policy.weight = 0;
	run_shares(2, 2 * SEC);
	CHECK(shares_are(ran_ns[0], ran_ns[1], 1, 1));
}

TEST(wfq_accounts_processes, "two queues of one process share one weight, and do not yield to each other")
{
	two_shares();
	q[2] = new_queue(q[0]->process, HIGH);
	run_shares(3, 2 * SEC);
	CHECK_EQ(ran_ns[0], ran_ns[2]);
	CHECK(shares_are(ran_ns[0], ran_ns[1], 1, 1));
}

TEST(wfq_weighs_queues_of_a_process, "queues of one process with weights of their own share by them")
{
	use("wfq");
	q[0] = new_queue(new_process(), HIGH);
	q[1] = new_queue(q[0]->process, HIGH);
	q[0]->policy.set.weight = 300;
	q[1]->policy.set.weight = 100;
	run_shares(2, 2 * SEC);
	CHECK(shares_are(ran_ns[0], ran_ns[1], 3, 1));
}

TEST(wfq_ends_turns_in_time, "without polling too, a turn ends when the slice does")
{
	u64 start_ns;

	two_shares();
	node.params.poll_ns = 0;
	node.params.interval_ns = 100 * MS;
	start_hog(q[0]);
	start_hog(q[1]);
	pass();
	start_ns = node.now_ns;
	CHECK(on_device(q[0]) && !on_device(q[1]));
	while (on_device(q[0]) && node.now_ns - start_ns < SEC)
		pass_after(node.decision.next_ns);
	CHECK_WITHIN(node.now_ns - start_ns, node.params.slice_ns, node.params.slice_ns + 20 * US);
}

TEST(wfq_parks_alone, "a process alone needs no passes, two with equal weights do while both work")
{
	high = new_queue(new_process(), HIGH);
	use("wfq");
	start_hog(high);
	CHECK_AFTER(0, node.decision.park);
	low = new_queue(new_process(), HIGH);
	CHECK_AFTER(POLL, !node.decision.park);
	CHECK(!node.decision.contended);
	start_hog(low);
	CHECK_AFTER(POLL, node.decision.contended);
}

TEST(wfq_weights_of_priorities, "a step of priority is worth a quarter more, three of them the double, between 1 and 6400")
{
	static const struct {
		s32 priority;
		u32 weight;
	} cases[] = {
		{ -1023, 1 }, { -12, 1 }, { -11, 1 }, { -8, 3 }, { -5, 6 }, { 4, 50 }, { 5, 63 }, { 6, 79 }, { 7, 100 }, { 8, 126 }, { 9, 159 },
		{ 10, 200 }, { 11, 252 }, { 22, 3200 }, { 24, 5088 }, { 25, 6400 }, { 26, 6400 }, { 1023, 6400 },
	};
	struct queue *q = new_queue(new_process(), 0);

	use("wfq");
	EACH(i, ARRAY_SIZE(cases), "priority %d: ", cases[i].priority) {
		q->policy.set.priority = cases[i].priority;
		CHECK_EQ_AFTER(MS, q->process->policy.share.weight, cases[i].weight);
	}
	/* That of the most urgent queue, or the one that was set. */
	new_queue(q->process, GPREEMPT_PRIORITY_NORMAL);
	q->policy.set.priority = 4;
	CHECK_EQ_AFTER(MS, q->process->policy.share.weight, 100);
	q->process->policy.weight = 3;
	CHECK_EQ_AFTER(MS, q->process->policy.share.weight, 3);
	q->policy.set.weight = 9;
	CHECK_EQ_AFTER(MS, q->policy.share.weight, 9);
}

/* ---- gaps ---- */

/* A service of short kernels beside one without end. Each of its kernels comes so long after the last one's end. */
struct service {
	struct queue *q;
	u64 kernel_ns;
	u64 gap_ns;
	u64 left_ns;
	u64 next_ns;
	u64 ran_ns;
};

static void serve(struct service *s)
{
	s->ran_ns += s->left_ns && on_device(s->q) ? POLL : 0;
	if (ends_with_this_look(s->q, &s->left_ns))
		s->next_ns = node.now_ns + s->gap_ns;
	if (!s->left_ns && node.now_ns >= s->next_ns) {
		s->left_ns = s->kernel_ns;
		begin_kernel(s->q);
	}
}

/* What the service has of the device beside one of equal weight, in percent, where a hardware pass takes so long */
static u64 served_over_gaps(u64 kernel_ns, u64 gap_ns, u64 pass_ns)
{
	struct service s = { .kernel_ns = kernel_ns, .gap_ns = gap_ns };
	u64 end_ns;

	two_shares();
	s.q = q[0];
	start_hog(q[1]);
	pass();
	for (end_ns = node.now_ns + 5 * SEC; node.now_ns < end_ns; node.now_ns += POLL) {
		serve(&s);
		node.policy.pass_ns = pass_ns;
		pass();
	}
	return s.ran_ns * 100 / (5 * SEC);
}

TEST(shares_are_had_over_gaps, "under wfq a service that submits one kernel after the other has its share beside one without end: its turn outlasts short gaps, and it interrupts when it comes back after long ones")
{
	static const struct { u64 kernel_ns; u64 gap_ns; u32 least; u32 most; } cases[] = {
		{ 2 * MS, 0, 45, 55 }, { 2 * MS, 200 * US, 40, 52 }, { 2 * MS, 2 * MS, 40, 52 }, { 2 * MS, 20 * MS, 8, 10 }, { 400 * US, 200 * US, 30, 36 }, { 20 * MS, 20 * MS, 40, 52 },
	};

	EACH_ANEW(i, ARRAY_SIZE(cases), "kernels of %llu us, gaps of %llu us: ", (unsigned long long)cases[i].kernel_ns / US,
		  (unsigned long long)cases[i].gap_ns / US)
		CHECK_WITHIN(served_over_gaps(cases[i].kernel_ns, cases[i].gap_ns, 100 * US), cases[i].least, cases[i].most);
}

TEST(short_bursts_end_no_turn, "under wfq what comes for less than half a switch ends no turn of another share")
{
	CHECK_WITHIN(served_over_gaps(POLL, 5 * MS, 400 * US), 1, 3);
	CHECK(q[1]->preempted <= 5 * SEC / (20 * 400 * US));
}

/* ---- ranks and turns ---- */

/* That of its process, which is a tenant by itself. */
static struct gpreempt_policy_share *share(struct queue *q)
{
	return &q->process->policy.alone.share;
}

TEST(wfq_ranks, "a rank is how far ahead of the line a share is; one that comes is a slice ahead or behind at most, and whose turn goes on is first")
{
	static const struct { s64 ahead_ns; u32 weight; bool turn; s64 virtual_ns; } cases[] = {
		{ 0, 100, false, 0 }, { 3 * (s64)MS, 100, false, 3 * (s64)MS }, { 7 * (s64)MS, 100, false, 5 * (s64)MS },
		{ -3 * (s64)MS, 100, false, -3 * (s64)MS }, { -7 * (s64)MS, 100, false, -5 * (s64)MS }, { 30 * (s64)MS, 50, false, 10 * (s64)MS },
		{ -30 * (s64)MS, 200, false, -2500 * (s64)US }, { 1, 100, false, 1 }, { 3 * (s64)MS, 100, true, -(1LL << 50) },
	};
	struct queue *q = new_queue(new_process(), HIGH);

	use("wfq");
	start_hog(q);
	pass();
	EACH_CASE(i, cases) {
		q->process->policy.weight = cases[i].weight;
		share(q)->ran = share(q)->wanted = false;
		node.policy.vtime_ns = 3 * SEC;
		share(q)->server.vtime_ns = 3 * SEC + cases[i].ahead_ns;
		share(q)->turn = cases[i].turn;
		CHECK_EQ_AFTER(POLL, q->policy.rank, -cases[i].virtual_ns * 1024);
	}
}

TEST(wfq_shares_far_apart, "shares that are further apart than ranks can say keep their order")
{
	struct queue *far = new_queue(new_process(), GPREEMPT_PRIORITY_NORMAL), *near = new_queue(new_process(), GPREEMPT_PRIORITY_NORMAL);

	use("wfq");
	submit(far, 1);
	submit(near, 1);
	pass();
	share(far)->server.vtime_ns = 1ULL << 60;
	share(far)->turn = false;
	look();
	CHECK(far->policy.rank < near->policy.rank);
	CHECK_EQ(far->policy.rank, -((1LL << 60) + share(far)->index));
	share(far)->server.vtime_ns = share(near)->server.vtime_ns;
	far->process->policy.share.turn = false;
	near->process->policy.share.turn = true;
	share(near)->turn = true;
	look();
	CHECK_EQ(near->policy.rank, (1LL << 60) - share(near)->index);
	CHECK(near->policy.rank < GPREEMPT_RANK_RELIEF);
}

TEST(wfq_says_when_a_turn_ends, "a turn ends when its share has had the device for a slice and another one waits, whatever its weight; nobody else counts")
{
	static const u32 weights[] = { 100, 50, 400 };
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
		/* The other one begins half a slice ahead of the line. */
		CHECK_EQ(share(low)->server.vtime_ns, node.policy.vtime_ns + node.params.slice_ns / 2);
		CHECK_EQ(node.decision.next_ns, node.params.slice_ns - MS);
		CHECK(share(low)->wanted && !share(low)->ran && !share(low)->turn);
		CHECK_EQ_AFTER(2 * MS, node.decision.next_ns, node.params.slice_ns - 3 * MS);
		third = new_queue(new_process(), HIGH);
		start_hog(third);
		CHECK_EQ_AFTER(MS, node.decision.next_ns, node.params.slice_ns - 4 * MS);
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
	/* What other was owed under another policy. */
	other->process->policy.debt_ns = gpreempt_debt_turn_ns(&node.policy);
	node.policy.owing = true;
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
