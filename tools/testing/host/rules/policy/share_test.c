// SPDX-License-Identifier: MIT
/*
 * share_test.c - groups: weights, minimum, maximum
 *
 * One at a time has the device, by turns; within a level, and below what comes first anyway.
 */
#include <string.h>

#include "policy_node.h"
#include "share.h"
#include "tap.h"

#define A	0
#define B	1

/* What has the device, and for how long each had it in run_for() */
static struct queue *q[5];
static u64 ran_ns[5];

/* Two groups of these weights, with a queue each at the same priority */
static void two_groups(u32 first, u32 second)
{
	new_group(0, first);
	new_group(0, second);
	q[A] = new_queue_in(1, HIGH);
	q[B] = new_queue_in(2, HIGH);
}

static struct gpreempt_policy_entity *group(u32 number)
{
	return &node.entities[gpreempt_share_members(number) - 1];
}

/* Groups 1 and 2 of these weights, 3 and 4 below the first one, and a queue in each of those that have none below: 2, 3, 4 */
static void tree_of_groups(u32 first, u32 second, u32 third, u32 fourth)
{
	u32 i;

	new_group(0, first);
	new_group(0, second);
	new_group(1, third);
	new_group(1, fourth);
	for (i = 0; i < 3; i++)
		q[i] = new_queue_in(i + 2, HIGH);
}

/* In passes, of work without end of @nr queues; at each time one has the device. */
static void run_for(u32 nr, u64 ns)
{
	u64 end_ns = node.now_ns + ns;
	u32 i, nr_on;

	memset(ran_ns, 0, sizeof(ran_ns));
	while (node.now_ns < end_ns) {
		pass();
		for (i = 0, nr_on = 0; i < nr; i++) {
			nr_on += on_device(q[i]);
			ran_ns[i] += on_device(q[i]) ? POLL : 0;
		}
		CHECK(nr_on <= 1);
		node.now_ns += POLL;
	}
}

static void start_all(u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		start_hog(q[i]);
	pass();
}

static u64 part(u32 i, u64 ns)
{
	return (100 * ran_ns[i] + ns / 2) / ns;
}

static u32 on(void)
{
	CHECK(on_device(q[A]) != on_device(q[B]));
	return on_device(q[B]);
}

/* The one that has the turn now, and the other one */
static struct queue *has_turn(void)
{
	return q[on()];
}

static struct queue *waits(void)
{
	return q[!on()];
}

TEST(share_follows_weights, "weights of 300 and 100 give 75 and 25 percent, by turns of a slice, and no relief comes between")
{
	two_groups(300, 100);
	start_all(2);
	run_for(2, 5 * SEC);
	CHECK_WITHIN(part(A, 5 * SEC), 74, 76);
	CHECK_WITHIN(part(B, 5 * SEC), 24, 26);
	CHECK(q[A]->preempted + q[B]->preempted <= 5 * SEC / node.params.slice_ns);
	CHECK_EQ(node.nr_relief, 0);
	CHECK(node.decision.contended && node.decision.rivals);
	CHECK_EQ(waits()->policy.verdict, GPREEMPT_VERDICT_SHARE);
}

TEST(share_turns_are_looked_for_in_time, "the next look is at the end of a turn, however long that is, and not when a hold would end")
{
	two_groups(100, 100);
	node.params.poll_ns = 0;
	node.params.interval_ns = 10 * SEC;
	node.params.slice_ns = 3 * SEC;
	start_all(2);
	CHECK_EQ_AFTER(SEC / 2, node.decision.next_ns, 5 * SEC / 2);
	CHECK_EQ_AFTER(5 * SEC / 2, node.decision.next_ns, 3 * SEC);
	CHECK_EQ(q[A]->preempted + q[B]->preempted, 2);
}

TEST(share_parks_only_where_one_group_is, "a node with processes of one group parks, with processes of two it looks")
{
	new_group(0, 100);
	new_group(0, 100);
	q[A] = new_queue_in(1, HIGH);
	q[B] = new_queue_in(1, HIGH);
	CHECK_AFTER(POLL, node.decision.park);
	q[2] = new_queue_in(2, HIGH);
	CHECK_AFTER(POLL, !node.decision.park);
}

TEST(share_waiting_is_no_starvation, "what has waited for its turn for two seconds is due for a relief no sooner than others when a class above comes")
{
	struct queue *above;

	two_groups(100, 100);
	above = new_queue(new_process(), HIGH + 1);
	node.params.slice_ns = 10 * SEC;
	start_all(2);
	passes_for(2 * SEC, POLL);
	CHECK_EQ(q[A]->process->policy.debt_ns + q[B]->process->policy.debt_ns, 0);
	start_hog(above);
	/* Both are owed half. */
	passes_for(owed_ns(), POLL);
	CHECK_EQ(node.nr_relief, 0);
	CHECK_LATER(2 * owed_ns(), node.nr_relief);
}

TEST(share_turns_pay_for_their_switch, "where a switch takes 2 ms, turns are so long that it takes no more than a twentieth")
{
	two_groups(100, 100);
	node.pass_takes_ns = 2 * MS;
	start_all(2);
	run_for(2, 2 * SEC);
	CHECK(q[A]->preempted + q[B]->preempted <= 2 * SEC / (40 * MS) + 1);
	CHECK_WITHIN(part(A, 2 * SEC), 48, 52);
}

TEST(share_is_no_overhead_of_others, "switching between groups takes nothing of the overhead budget: a class above is served at once")
{
	struct queue *above;

	two_groups(100, 100);
	above = new_queue(new_process(), HIGH + 1);
	node.params.slice_ns = 500 * US;
	node.pass_takes_ns = 20 * US;
	node.params.overhead_pct = 1;
	start_all(2);
	run_for(2, SEC);
	CHECK(node.nr_acting > 500);
	submit(above, 1);
	CHECK_AFTER(POLL, !on_device(q[A]) && !on_device(q[B]));
}

TEST(share_is_no_hold_for_equals_in_a_group, "queues of one group run side by side, those of the other wait")
{
	struct queue *sibling;

	two_groups(100, 100);
	sibling = new_queue_in(1, HIGH);
	start_hog(sibling);
	start_all(2);
	CHECK_EQ(on_device(sibling), on_device(q[A]));
	time_until(q[A], !on_device(q[A]), 10 * MS);
	CHECK_EQ(on_device(sibling), on_device(q[A]));
}

TEST(share_counts_within_a_level, "what has a higher priority has the device for as long as it works, whatever its group's weight")
{
	two_groups(1, 10000);
	node.params.max_hold_ns = 0;
	q[A]->policy.set.priority = HIGH + 1;
	start_all(2);
	run_for(2, 500 * MS);
	CHECK_EQ(ran_ns[B], 0);
	CHECK_EQ(q[B]->policy.verdict, GPREEMPT_VERDICT_YIELDS);
}

TEST(share_goes_on_after_a_class_above, "a class above interrupts a turn, which goes on afterwards, and what waits for its turn stays off")
{
	struct queue *above, *turn;
	u32 i;

	two_groups(300, 100);
	above = new_queue(new_process(), HIGH + 1);
	node.params.slice_ns = SEC;
	start_all(2);
	TIMES(20) {
		turn = has_turn();
		i = on();
		submit(above, 1);
		CHECK_AFTER(POLL, !on_device(q[A]) && !on_device(q[B]));
		drain(above);
		time_until(turn, true, 12 * MS);
		CHECK_EQ(on(), i);
		passes_for(MS, POLL);
	}
}

TEST(share_starves_none_below_a_class, "below a class that always works, each group has its turns of a relief")
{
	two_groups(100, 100);
	q[2] = new_queue(new_process(), HIGH + 1);
	start_hog(q[2]);
	start_all(2);
	passes_for(10 * SEC, POLL);
	CHECK(node.nr_relief > 5);
	CHECK(node.entities[gpreempt_share_members(1)].server.served_ns > 60 * MS);
	CHECK(node.entities[gpreempt_share_members(2)].server.served_ns > 60 * MS);
}

TEST(share_leaves_nothing_idle, "a group whose work ends gives its turn to the other at once, which then has the device alone")
{
	struct queue *ends, *other;

	two_groups(100, 100);
	start_all(2);
	passes_for(MS, POLL);
	ends = has_turn();
	other = waits();
	drain(ends);
	CHECK_AFTER(POLL, on_device(other));
	CHECK_LATER(100 * MS, on_device(other));
	CHECK_EQ(other->preempted, 1);
}

TEST(share_idle_time_is_no_credit, "a group that was away for ten seconds is a slice behind the other one at most")
{
	two_groups(100, 100);
	start_hog(q[A]);
	passes_for(10 * SEC, POLL);
	start_hog(q[B]);
	time_until(q[B], true, MS);
	run_for(2, 200 * MS);
	CHECK_WITHIN(part(B, 200 * MS), 48, 56);
}

TEST(share_time_alone_is_no_debt, "a group that worked alone for ten seconds waits for no more than its share when another comes")
{
	two_groups(100, 100);
	start_hog(q[A]);
	passes_for(10 * SEC, POLL);
	start_hog(q[B]);
	pass();
	run_for(2, 200 * MS);
	CHECK_WITHIN(part(A, 200 * MS), 44, 52);
}

TEST(share_debt_has_a_bound, "a group that comes back is a slice ahead of the others at most, whatever it had long ago")
{
	two_groups(100, 100);
	start_hog(q[B]);
	passes_for(100 * MS, POLL);
	/* As if it had worked for days before the others came */
	group(1)->server.vtime_ns += 10 * SEC;
	start_hog(q[A]);
	pass();
	run_for(2, 200 * MS);
	CHECK_WITHIN(part(A, 200 * MS), 44, 56);
}

/* The first group goes, and one like it comes, so often. What it has of the device, in percent. */
static u64 part_if_remade(u32 weight, u64 every_ns)
{
	u64 had_ns = 0, ns;

	two_groups(weight, 100);
	start_all(2);
	for (ns = 0; ns < 10 * SEC; ns += every_ns) {
		run_for(2, every_ns);
		had_ns += ran_ns[A];
		remake_group(1);
	}
	return (100 * had_ns + ns / 2) / ns;
}

TEST(share_made_anew_gains_nothing, "a group that is made anew all the time has what it has if it stays, no more and no less")
{
	static const u64 every_ns[] = { 100 * SEC, 200 * MS, 50 * MS, 10 * MS };

	EACH_ANEW(i, ARRAY_SIZE(every_ns), "each %llu us: ", (unsigned long long)every_ns[i] / US)
		CHECK_WITHIN(part_if_remade(100, every_ns[i]), 45, 53);
	EACH_ANEW(i, ARRAY_SIZE(every_ns), "of a tenth, each %llu us: ", (unsigned long long)every_ns[i] / US)
		CHECK_WITHIN(part_if_remade(11, every_ns[i]), 8, 11);
}

TEST(share_keeps_a_turn_over_short_gaps, "a group whose program waits shortly between two kernels has its three quarters all the same")
{
	u64 end_ns, had_ns = 0;
	u32 i = 0;

	two_groups(300, 100);
	/* No switch is worth it for a gap that is as short as its passes. */
	node.pass_takes_ns = 100 * US;
	start_hog(q[B]);
	pass();
	submit(q[A], 1);
	for (end_ns = node.now_ns + 2 * SEC; node.now_ns < end_ns; node.now_ns += POLL) {
		if (on_device(q[A])) {
			had_ns += POLL;
			/* A kernel of three looks, and a gap of one */
			if (i == 0)
				launch(q[A], 1, 8);
			else if (i == 3)
				drain(q[A]);
			else if (i == 4)
				submit(q[A], 1);
			i = (i + 1) % 5;
		}
		pass();
	}
	CHECK_WITHIN(100 * had_ns / (2 * SEC), 72, 78);
}

TEST(share_minimum_comes_before_weights, "a minimum of 20 percent is kept beside four groups with a hundred times the weight")
{
	u32 i;

	for (i = 0; i < 5; i++) {
		new_group(0, i ? 10000 : 100)->min_pct = i ? 0 : 20;
		q[i] = new_queue_in(i + 1, HIGH);
	}
	start_all(5);
	run_for(5, 10 * SEC);
	CHECK_WITHIN(part(0, 10 * SEC), 19, 22);
	for (i = 1; i < 5; i++)
		CHECK_WITHIN(part(i, 10 * SEC), 18, 22);
}

TEST(share_minimum_is_no_maximum, "a group with a minimum of 20 percent and most of the weight has what its weight gives")
{
	two_groups(300, 100);
	group(1)->min_pct = 20;
	start_all(2);
	run_for(2, 2 * SEC);
	CHECK_WITHIN(part(A, 2 * SEC), 74, 76);
}

TEST(share_minima_are_scaled, "minima of 90 and 60 percent give three fifths and two fifths")
{
	two_groups(100, 100);
	group(1)->min_pct = 90;
	group(2)->min_pct = 60;
	start_all(2);
	run_for(2, 2 * SEC);
	CHECK_WITHIN(part(A, 2 * SEC), 58, 62);
}

TEST(share_minimum_is_of_the_device, "a minimum is a part of the whole device also for a group below another one")
{
	tree_of_groups(100, 100, 100, 10000);
	group(3)->min_pct = 20;
	start_all(3);
	run_for(3, 4 * SEC);
	CHECK_WITHIN(part(0, 4 * SEC), 48, 52);
	CHECK_WITHIN(part(1, 4 * SEC), 18, 22);
	CHECK_WITHIN(part(2, 4 * SEC), 28, 32);
}

TEST(share_minima_below_scaled_ones, "what is promised below a group is measured by what that group has, where minima had to be scaled")
{
	tree_of_groups(100, 100, 100, 100);
	group(1)->min_pct = 90;
	group(2)->min_pct = 60;
	group(3)->min_pct = 50;
	start_all(3);
	run_for(3, 4 * SEC);
	CHECK_WITHIN(part(1, 4 * SEC), 48, 52);
	CHECK_WITHIN(part(2, 4 * SEC), 8, 12);
}

TEST(share_is_of_the_group_above, "groups below a group divide what that has")
{
	tree_of_groups(300, 100, 100, 100);
	start_all(3);
	run_for(3, 4 * SEC);
	CHECK_WITHIN(part(0, 4 * SEC), 24, 26);
	CHECK_WITHIN(part(1, 4 * SEC), 36, 39);
	CHECK_WITHIN(part(2, 4 * SEC), 36, 39);
}

TEST(share_of_those_directly_in_a_group, "processes directly in a group compete with the groups below it, with a weight of 100")
{
	new_group(0, 100);
	new_group(1, 300);
	q[A] = new_queue_in(1, HIGH);
	q[B] = new_queue_in(2, HIGH);
	start_all(2);
	run_for(2, 2 * SEC);
	CHECK_WITHIN(part(B, 2 * SEC), 74, 76);
}

static void one_with_a_maximum(u64 quota_ns, u64 period_ns)
{
	two_groups(100, 100);
	group(1)->quota_ns = quota_ns;
	group(1)->period_ns = period_ns;
}

TEST(share_maximum_holds_alone, "a group with 6 of each 20 ms has no more, though nothing else works, and says when it comes back")
{
	one_with_a_maximum(6 * MS, 20 * MS);
	start_hog(q[A]);
	pass();
	CHECK(on_device(q[A]) && !node.decision.park);
	run_for(1, 2 * SEC);
	CHECK_WITHIN(part(A, 2 * SEC), 28, 31);
	time_until(q[A], true, 30 * MS);
	time_until(q[A], false, 30 * MS);
	CHECK_EQ(q[A]->policy.verdict, GPREEMPT_VERDICT_MAXIMUM);
	CHECK(q[A]->policy.until_ns > node.now_ns && q[A]->policy.until_ns <= node.now_ns + 20 * MS);
	CHECK(!node.decision.park);
}

TEST(share_maximum_of_the_only_process, "a node with one process does not park where that has a maximum")
{
	new_group(0, 100);
	q[A] = new_queue_in(1, HIGH);
	start_hog(q[A]);
	CHECK_AFTER(POLL, node.decision.park);
	group(1)->quota_ns = 6 * MS;
	group(1)->period_ns = 20 * MS;
	CHECK_AFTER(POLL, !node.decision.park);
}

TEST(share_maximum_is_looked_for_in_time, "the next look is when the quota ends, and when the period does")
{
	one_with_a_maximum(6 * MS, 20 * MS);
	node.params.poll_ns = 0;
	node.params.interval_ns = SEC;
	start_hog(q[A]);
	pass();
	CHECK_EQ(node.decision.next_ns, 6 * MS);
	pass_after(6 * MS);
	CHECK(!on_device(q[A]));
	CHECK_EQ(node.decision.next_ns, 14 * MS);
	pass_after(14 * MS);
	CHECK(on_device(q[A]));
}

TEST(share_maximum_is_paid_back, "what a group had too much in one period it has less in the next ones")
{
	one_with_a_maximum(6 * MS, 20 * MS);
	start_hog(q[A]);
	pass();
	/* No look for as long as two quotas. */
	CHECK_AFTER(12 * MS, !on_device(q[A]));
	CHECK_AFTER(8 * MS, !on_device(q[A]));
	CHECK_LATER(19 * MS, !on_device(q[A]));
	CHECK_LATER(2 * MS, on_device(q[A]));
}

TEST(share_pays_for_no_time_unseen, "a node that did not look for an hour charges no group for it: a maximum lets its group back soon")
{
	one_with_a_maximum(6 * MS, 20 * MS);
	start_hog(q[A]);
	pass();
	node.now_ns += 3600 * SEC;
	pass();
	CHECK(time_until(q[A], true, SEC) < 100 * MS);
	CHECK(group(1)->server.served_ns < SEC);
}

TEST(share_maximum_takes_those_below_along, "the maximum of a group holds for the groups below it together")
{
	struct gpreempt_policy_entity *top = new_group(0, 100);

	new_group(1, 100);
	new_group(1, 100);
	q[A] = new_queue_in(2, HIGH);
	q[B] = new_queue_in(3, HIGH);
	top->quota_ns = 6 * MS;
	top->period_ns = 20 * MS;
	start_all(2);
	run_for(2, 2 * SEC);
	CHECK_WITHIN(part(A, 2 * SEC) + part(B, 2 * SEC), 28, 31);
	CHECK_WITHIN(part(A, 2 * SEC), 13, 17);
}

TEST(share_maximum_holds_for_every_class, "a group that has had its quota is off also where it has the highest priority, and what is below has the device")
{
	one_with_a_maximum(6 * MS, 20 * MS);
	q[A]->policy.set.priority = HIGH + 1;
	start_all(2);
	run_for(2, 2 * SEC);
	CHECK_WITHIN(part(A, 2 * SEC), 28, 31);
	CHECK(part(B, 2 * SEC) > 65);
}

TEST(share_maximum_holds_under_every_policy, "also where ranks move by themselves a group has no more than its maximum")
{
	u32 i;

	for (i = 1; i < nr_policies(); i++) {
		tap_reset();
		node.use = gpreempt_policies[i];
		one_with_a_maximum(6 * MS, 20 * MS);
		start_hog(q[A]);
		run_for(1, SEC);
		CHECK_WITHIN(part(A, SEC), 28, 31);
	}
}

TEST(share_what_may_not_be_taken_stays, "what the driver or its owner does not let go stays on the device beside the turns of others")
{
	two_groups(100, 100);
	q[A]->policy.set.immovable = true;
	q[B]->process->policy.opt_out = true;
	start_hog(q[A]);
	start_hog(q[B]);
	CHECK_LATER(100 * MS, on_device(q[A]) && on_device(q[B]));
}

TEST(share_takes_idle_queues_along, "when the others have to go, their idle queues go along, and new work of these waits for the turn")
{
	struct queue *idle;

	two_groups(100, 100);
	idle = new_queue_in(1, HIGH);
	start_all(2);
	time_until(q[A], true, 10 * MS);
	time_until(q[A], false, 10 * MS);
	CHECK(!on_device(idle));
	submit(idle, 1);
	CHECK_AFTER(POLL, !on_device(idle));
	time_until(q[A], true, 10 * MS);
	CHECK(on_device(idle));
}

TEST(share_asks_before_it_preempts, "of a queue that waits for its turn it is asked whether it has waves, before it is taken off for nothing")
{
	two_groups(100, 100);
	past_kernel(q[B]);
	start_hog(q[A]);
	CHECK_LATER(20 * MS, on_device(q[B]));
	CHECK_EQ(q[B]->preempted, 0);
}

TEST(share_sees_the_end_of_waves, "a group whose last kernel ends with an empty ring loses its turn, and not before")
{
	two_groups(100, 100);
	last_kernel(q[A]);
	start_hog(q[B]);
	pass();
	if (!on_device(q[A]))
		time_until(q[A], true, 10 * MS);
	CHECK_AFTER(POLL, !on_device(q[B]));
	CHECK_AFTER(POLL, !on_device(q[B]));
	finish(q[A]);
	CHECK(time_until(q[B], true, 5 * MS) < 3 * MS);
}

TEST(share_ends_with_the_last_group, "without groups all that shares have kept off comes back")
{
	two_groups(100, 100);
	start_all(2);
	CHECK(on_device(q[A]) != on_device(q[B]));
	gpreempt_share_use(&node.policy, NULL, 0);
	CHECK_AFTER(POLL, on_device(q[A]) && on_device(q[B]));
	CHECK_EQ(q[A]->policy.kept_off | q[B]->policy.kept_off, 0);
}

TEST(share_takes_nothing_where_a_node_observes, "a node that only observes takes no queue off for a share or a maximum")
{
	one_with_a_maximum(6 * MS, 20 * MS);
	node.params.observe = true;
	start_hog(q[A]);
	start_hog(q[B]);
	CHECK_LATER(100 * MS, on_device(q[A]) && on_device(q[B]));
}

/* How often a group is taken off for another one's turn, or would be, in a second */
static u32 turns(bool observe)
{
	tap_renew();
	node.params.observe = observe;
	two_groups(100, 100);
	start_all(2);
	passes_for(SEC, POLL);
	return observe ? node.nr_would_preempt : node.nr_preempted;
}

TEST(share_turns_are_observed, "two groups would take as many turns as they do where the node acts")
{
	u32 acted = turns(false), observed = turns(true);

	CHECK(acted > 20);
	CHECK_WITHIN(observed, acted * 9 / 10, acted * 11 / 10);
}

TEST(share_and_hold_are_apart, "a hold during another group's turn outlasts it, and its end does not end the wait for a turn")
{
	struct queue *held, *other;

	two_groups(100, 100);
	start_all(2);
	held = waits();
	other = has_turn();
	held->policy.set.hold = true;
	passes_for(20 * MS, POLL);
	node.nr_preempted = 0;
	CHECK_LATER(100 * MS, !on_device(held));
	CHECK_EQ(held->policy.verdict, GPREEMPT_VERDICT_HOLD);
	/* The other one has the device meanwhile. */
	CHECK(on_device(other) && !node.nr_preempted);
	held->policy.set.hold = false;
	CHECK(time_until(held, true, 10 * MS) <= node.params.slice_ns + POLL);
	CHECK(on_device(q[A]) != on_device(q[B]));
}

TEST(share_and_holds_have_their_bounds, "a hold ends after the longest time also where groups take turns")
{
	two_groups(100, 100);
	start_all(2);
	q[A]->policy.set.hold = true;
	passes_for(SEC - 10 * MS, POLL);
	CHECK(!on_device(q[A]));
	time_until(q[A], true, 30 * MS);
}

TEST(share_counts_only_where_ranks_are_priorities, "under wfq the weights of processes count, and those of groups do not")
{
	use("wfq");
	two_groups(300, 100);
	start_all(2);
	run_for(2, 2 * SEC);
	CHECK_WITHIN(part(A, 2 * SEC), 48, 52);
}

TEST(share_of_one_that_is_off_elsewhere, "a job that is off another node takes no turn here")
{
	static struct gpreempt_policy_job job;

	job = (struct gpreempt_policy_job){ .gang = true, .wanted_priority = GPREEMPT_PRIORITY_MIN,
		.top_elsewhere = GPREEMPT_PRIORITY_MIN };
	two_groups(100, 100);
	q[A]->process->policy.job = &job;
	node.policy.jobs = &job;
	job.leave_until_ns = node.now_ns + SEC;
	start_all(2);
	run_for(2, 100 * MS);
	CHECK_EQ(ran_ns[A], 0);
}
