// SPDX-License-Identifier: MIT
/* debt_test.c - service that is owed, and the turns in which it is paid */
#include <string.h>

#include "victims.h"
#include "debt.h"
#include "demand.h"
#include "tap.h"

static u64 turn_ns(void)
{
	return gpreempt_debt_turn_ns(&node.policy);
}

static u64 debt_of(const struct queue *q)
{
	return q->process->policy.debt_ns;
}

/* Low has been worth the class above it and has its turn, high has work without end. */
static void low_has_its_turn(void)
{
	hog_preempts_low();
	CHECK_LATER(owed_ns() - 4 * POLL, !on_device(low));
	time_until(low, true, 8 * POLL);
}

TEST(a_debt_ends_a_wait, "a queue with work that starves for T / phi runs, whoever else wants to")
{
	low_has_its_turn();
	CHECK_EQ(node.decision.nr_relief, 1);
	CHECK_EQ(node.decision.level, GPREEMPT_PRIORITY_RELIEF);
}

TEST(a_turn_has_the_device, "in a turn the higher queue yields, or its waves would fill the device; it returns when the debtor has no more work")
{
	low_has_its_turn();
	CHECK_LATER(turn_ns() / 2, on_device(low) && !on_device(high));
	drain(low);
	CHECK_LATER(2 * GPREEMPT_WAVES_SETTLE_NS, on_device(high));
}

TEST(a_turn_ends_when_the_debt_is_paid, "a turn lasts as long as the debt that it pays, and the next one is owed anew")
{
	low_has_its_turn();
	CHECK_WITHIN(time_until(low, false, SEC), turn_ns(), turn_ns() + 2 * POLL);
	CHECK(on_device(high));
	CHECK_EQ(debt_of(low), 0);
	CHECK_WITHIN(time_until(low, true, SEC), owed_ns() - 2 * POLL, owed_ns() + 2 * POLL);
	CHECK_EQ(node.nr_relief, 2);
}

TEST(those_above_lose_phi, "below endless work a process has relief / (relief + max_hold) of the time, and no more")
{
	u64 low_ns = 0, n;

	hog_preempts_low();
	for (n = 0; n < 10 * SEC / POLL; n++) {
		pass_after(POLL);
		low_ns += on_device(low) ? POLL : 0;
	}
	CHECK_WITHIN(low_ns, 10 * SEC * 20 / 1020 * 9 / 10, 10 * SEC * 20 / 1020 * 21 / 20);
}

TEST(service_is_owed_over_pauses, "pauses of those above in which others have the slots pay nothing: what starves has its turn all the same")
{
	u64 n, served_ns = 0;
	struct queue *greedy;

	two_processes();
	greedy = new_queue(new_process(), LOW);
	start_hog(greedy);
	pass_after(POLL);
	submit(low, 1000);
	start_hog(high);
	for (n = 0; n < 2 * SEC / POLL; n++) {
		/* A pause of a millisecond in 20. In it the greedy one's waves come back first. */
		if (n % 100 == 95)
			drain(high);
		else if (n % 100 == 0)
			start_hog(high);
		pass_after(POLL);
		if (on_device(low) && !on_device(greedy) && (!on_device(high) || !has_work(high)))
			served_ns += POLL;
	}
	CHECK(served_ns >= 2 * SEC * 20 / 1020 / 2 / 2);
}

TEST(a_pause_belongs_to_who_is_owed_most, "from half a turn on a debtor has a pause of those above for itself, and yields when they are back")
{
	struct queue *equal;

	hog_preempts_low();
	equal = new_queue(new_process(), LOW);
	submit(equal, 100);
	while (debt_of(low) < turn_ns() / 2 || debt_of(low) <= debt_of(equal))
		pass_after(POLL);
	CHECK_EQ(node.nr_relief, 0);
	drain(high);
	time_until(low, true, 5 * MS);
	CHECK(!on_device(equal));
	start_hog(high);
	CHECK_AFTER(POLL, on_device(high) && !on_device(low));
	CHECK_EQ(node.nr_relief, 0);
}

TEST(a_debt_is_paid_below_who_owes_nothing, "a class whose pauses are long enough for the debtor never yields to it: the one that has no pauses does")
{
	u64 served_ns = 0;
	u32 n, k;

	three_processes();
	start_hog(low);
	pass_after(POLL);
	start_hog(middle);
	for (n = 0; n < 200; n++) {
		start_hog(high);
		for (k = 0; k < 2 * MS / POLL; k++) {
			pass_after(POLL);
			CHECK(on_device(high));
		}
		drain(high);
		for (k = 0; k < 18 * MS / POLL; k++) {
			pass_after(POLL);
			served_ns += on_device(low) && !on_device(middle) ? POLL : 0;
		}
	}
	CHECK_WITHIN(served_ns, 200 * 20 * MS * 20 / 1020 * 8 / 10, 200 * 20 * MS * 20 / 1020 * 11 / 10);
}

TEST(a_debt_rises_class_by_class, "with one turn a debtor comes before the class above it, with two before all")
{
	struct gpreempt_policy_process p = { 0 };
	static const u32 tenths[] = { 5, 9, 10, 14, 15, 19, 20, 80 };
	static const u32 of_four[] = { 0, 0, 1, 2, 3, 4, 4, 4 };
	u32 i;

	low_works();
	for (i = 0; i < ARRAY_SIZE(tenths); i++) {
		p.debt_ns = turn_ns() * tenths[i] / 10;
		CHECK_EQ(gpreempt_debt_classes(&node.policy, &p, 4), of_four[i]);
	}
}

TEST(nothing_but_service_pays, "preemptions and resumes that bring no service change no debt")
{
	u64 debts[2], n;

	EACH_ANEW(i, 2, "pairs %u: ", i) {
		hog_preempts_low();
		for (n = 0; n < 50 * MS / POLL; n++) {
			pass_after(POLL);
			if (!i || n % 10)
				continue;
			gpreempt_policy_resumed(&low->policy, node.now_ns);
			gpreempt_policy_preempted(&low->policy, low->waves, node.now_ns);
		}
		debts[i] = debt_of(low);
	}
	CHECK(debts[0]);
	CHECK_EQ(debts[0], debts[1]);
}

TEST(a_return_in_vain_pays_nothing, "what comes back and is taken off again as soon as its waves are there has had no service")
{
	u64 debt_ns;

	node.params.overhead_pct = 0;
	node.pass_takes_ns = 2 * MS;
	hog_preempts_low();
	passes_for(200 * MS, POLL);
	debt_ns = debt_of(low);
	CHECK(debt_ns >= MS);
	TIMES(3) {
		launch(high, 999, 8);
		drain(high);
		time_until(low, true, 20 * MS);
		node.now_ns += 2 * MS;
		start_hog(high);
		pass_after(POLL);
		CHECK(!on_device(low));
	}
	CHECK(debt_of(low) + 6 * POLL >= debt_ns);
}

TEST(a_turn_pays_for_its_switch, "who comes before higher work pays with the time in which its waves are brought back")
{
	u64 debt_ns;

	node.params.overhead_pct = 0;
	node.pass_takes_ns = 2 * MS;
	hog_preempts_low();
	time_until(low, true, 10 * owed_ns());
	CHECK(!on_device(high));
	debt_ns = debt_of(low);
	CHECK(debt_ns > 2 * MS);
	pass_after(2 * MS);
	CHECK_EQ(debt_of(low), debt_ns - 2 * MS);
}

TEST(equals_owe_each_other_nothing, "on a node without classes there are no debts, whoever has the slots")
{
	struct queue *equal = new_queue(new_process(), LOW);

	two_processes();
	start_hog(low);
	submit(equal, 100);
	passes_for(2 * SEC, MS);
	CHECK_EQ(debt_of(low) + debt_of(equal), 0);
	CHECK_EQ(node.nr_preempted, 0);
}

TEST(a_turn_does_not_shield_others, "during a turn, lower queues that are owed less stay preempted")
{
	struct queue *later;

	low_is_preempted();
	later = new_queue(new_process(), LOW);
	start_hog(high);
	passes_for(10 * MS, POLL);
	start_hog(later);
	CHECK_AFTER(POLL, !on_device(later));
	time_until(low, true, SEC);
	CHECK(!on_device(later));
}

TEST(idle_preempted_queues_are_owed_nothing, "a preempted queue without work waits for nothing and has no turn")
{
	struct queue *idle = new_queue(new_process(), LOW);

	low_is_preempted();
	CHECK(!on_device(idle));
	start_hog(high);
	time_until(low, true, SEC);
	CHECK(!on_device(idle));
	CHECK_EQ(debt_of(idle), 0);
	CHECK_EQ(node.nr_relief, 1);
}

TEST(saved_waves_are_work, "saved waves alone are work that is owed the device")
{
	two_processes();
	last_kernel(low);
	start_hog(high);
	CHECK_AFTER(0, !on_device(low));
	time_until(low, true, SEC);
}

TEST(a_turn_that_the_driver_takes_proves_nothing,
     "a queue that the driver keeps off the device in its turn has not shown that it is idle: it has another turn")
{
	low_is_preempted();
	low->rptr = low->wptr;
	start_hog(high);
	time_until(low, true, SEC);
	gpreempt_demand_driver_off(&low->policy, true, false, node.now_ns);
	low->invisible = true;
	CHECK_LATER(4 * GPREEMPT_WAVES_SETTLE_NS, on_device(high));
	CHECK(!low->policy.seen.showed_none);
	gpreempt_demand_driver_off(&low->policy, false, false, node.now_ns);
	low->invisible = false;
	time_until(low, false, 5 * MS);
	time_until(low, true, SEC);
	CHECK(!on_device(high));
}

TEST(a_turn_without_room_proves_nothing,
     "a queue that shows no waves in its turn beside one that never yields may have had no slots: a hold of it still ends in time")
{
	struct queue *exempt;

	low_is_preempted();
	low->rptr = low->wptr;
	start_hog(high);
	exempt = new_queue(new_process(), LOW);
	exempt->process->policy.opt_out = true;
	start_hog(exempt);
	low->invisible = true;
	time_until(low, true, SEC);
	CHECK(!on_device(high));
	CHECK(!low->policy.seen.showed_none);
	low->policy.set.hold = true;
	CHECK_LATER(node.params.relief_ns, !on_device(low) && on_device(high));
	drain(high);
	CHECK_LATER(node.params.max_hold_ns, on_device(low));
}

TEST(a_debt_begins_with_work, "a queue that was taken along idle is owed nothing before its first packet")
{
	struct queue *idle = new_queue(new_process(), LOW);

	hog_preempts_low();
	drop_queue(low);
	pass_after(SEC);
	submit(idle, 1);
	pass_after(POLL);
	CHECK_EQ(debt_of(idle), 0);
	CHECK_WITHIN(time_until(idle, true, SEC), owed_ns() - 2 * POLL, owed_ns() + 2 * POLL);
}

TEST(debts_can_be_switched_off, "with gpreempt_max_hold_ms=0 a queue is preempted as long as the level lasts")
{
	node.params.max_hold_ns = 0;
	hog_preempts_low();
	CHECK_LATER_EVERY(10 * SEC, 100 * MS, !on_device(low));
	CHECK_EQ(node.nr_relief, 0);
	CHECK_EQ(debt_of(low), 0);
}

TEST(a_turn_is_of_a_process, "queues of one process that starve run side by side")
{
	struct queue *sibling, *other;

	hog_preempts_low();
	sibling = new_queue(low->process, LOW - 1);
	other = new_queue(new_process(), LOW - 1);
	submit(sibling, 10);
	submit(other, 10);
	time_until(low, true, SEC);
	CHECK(on_device(sibling) && !on_device(other) && !on_device(high));
}

TEST(a_turn_is_not_for_what_is_held_on_request, "a queue that is held on request has no turn with others of its process")
{
	struct queue *held;

	hog_preempts_low();
	held = new_queue(low->process, LOW);
	held->policy.set.hold = true;
	held->policy.set.hold_unbounded = true;
	submit(held, 10);
	time_until(low, true, SEC);
	CHECK(!on_device(held) && !on_device(high));
	CHECK_EQ(node.nr_relief, 1);
}

TEST(a_turn_that_fails_is_due_again, "a queue that did not get the device in its turn is still owed what it was")
{
	u64 debt_ns;

	hog_preempts_low();
	while (debt_of(low) + 100 * US < turn_ns())
		pass_after(POLL);
	debt_ns = debt_of(low);
	TIMES(3) {
		node.now_ns += 2 * turn_ns();
		look();
		CHECK(low->policy.action == GPREEMPT_RESUME);
		CHECK(debt_of(low) >= debt_ns);
	}
}

TEST(turns_are_no_gaps, "what yields to two turns shortly after each other has learned nothing from that")
{
	struct queue *other;

	low_has_its_turn();
	other = new_queue(new_process(), LOW);
	submit(other, 100);
	other->process->policy.debt_ns = 2 * turn_ns();
	drain(low);
	time_until(other, true, 5 * MS);
	CHECK_EQ(high->policy.gaps.nr, 0);
}

TEST(turns_follow_what_switches_cost, "a turn is 4 to 10 times what leaving and coming back costs, and in between its part of a relief")
{
	low_works();
	CHECK_EQ(turn_ns(), 10 * 320 * US);
	node.policy.pass_ns = 60 * US;
	CHECK_EQ(turn_ns(), 10 * 180 * US);
	node.policy.nr_owed = 10;
	CHECK_EQ(turn_ns(), MS);
	node.policy.nr_owed = 50;
	CHECK_EQ(turn_ns(), 4 * 180 * US);
	/* No turn is shorter than the looks that see its ends. */
	node.policy.pass_ns = 7;
	CHECK_EQ(turn_ns(), 4 * 2 * 80 * US);
	/* One pass that waited for a device in trouble. */
	node.policy.pass_ns = 9 * SEC;
	CHECK_EQ(turn_ns(), 10 * node.params.relief_ns);
}

TEST(turns_count_all_that_starve_in_turn, "turns are as long while one of those that starve has the device in a pause as before and after it, for a second")
{
	struct queue *mid = new_queue(new_process(), (LOW + HIGH) / 2);

	low_works();
	submit(mid, 1000);
	submit(high, 1);
	pass_after(POLL);
	pass_after(POLL);
	CHECK_EQ(node.policy.nr_owed, 2);
	drain(high);
	time_until(mid, true, 20 * MS);
	pass_after(POLL);
	CHECK_EQ(node.policy.nr_owed, 2);
	CHECK_LATER(2 * SEC, node.policy.nr_owed == 1);
}

TEST(turns_end_in_time, "the end of a turn shortens the sleep")
{
	low_has_its_turn();
	node.params.poll_ns = 0;
	node.params.interval_ns = 10 * SEC;
	pass_after(POLL);
	CHECK_EQ(node.decision.next_ns, debt_of(low));
	CHECK_AFTER(node.decision.next_ns, on_device(high) && !on_device(low));
}

/* ---- many who starve ---- */

#define STAGGER		(20 * MS)

/* @nr queues of low priority, each a process of its own or all of one, get work without end 20 ms after each other. */
static void stagger(u32 nr, bool processes, bool holds)
{
	struct process *p = new_process();
	u64 next_ns, end_ns;
	u32 i, begun = 0;

	memset(&crowd, 0, sizeof(crowd));
	high = new_queue(new_process(), 100);
	for (i = 0; i < nr; i++)
		victims[i] = new_queue(processes ? new_process() : p, -500);
	start_hog(high);
	pass();
	next_ns = node.now_ns;
	end_ns = node.now_ns + nr * STAGGER + 8 * SEC;
	while (node.now_ns < end_ns) {
		if (begun < nr && node.now_ns >= next_ns) {
			submit(victims[begun], 100000);
			victims[begun++]->policy.set.hold = holds;
			next_ns += STAGGER;
		}
		crowd_step(nr);
	}
}

static void check_crowd_share(void)
{
	if (crowd.high_ns * 100 < crowd.total_ns * 96)
		tap_fail(__FILE__, __LINE__, "the higher queue keeps %llu %% of the device",
			 (unsigned long long)(crowd.high_ns * 100 / crowd.total_ns));
}

/* As the block at the head of debt.c says, and a look. */
static void check_crowd_waits(u32 processes)
{
	u64 phi_inverse = (node.params.max_hold_ns + node.params.relief_ns) / node.params.relief_ns;
	u64 turn_ns = gpreempt_debt_turn_ns(&node.policy);
	u64 most_ns = 2 * turn_ns * processes * phi_inverse + processes * (turn_ns + 2 * STEP) + STEP;

	/* Of one that starves alone turns are longest. */
	if (processes == 1)
		most_ns = 2 * 10 * 320 * US * phi_inverse;
	if (crowd.longest_ns > most_ns)
		tap_fail(__FILE__, __LINE__, "a victim waits for %llu ms, not %llu", (unsigned long long)(crowd.longest_ns / MS),
			 (unsigned long long)(most_ns / MS));
}

TEST(staggered_victims_do_not_add_up,
     "whatever lower processes begin to work 20 ms after each other, a higher queue with endless work keeps 96 % of the device, and each of them runs")
{
	static const u32 counts[] = { 1, 10, 25, NR_VICTIMS };

	EACH_ANEW(i, ARRAY_SIZE(counts), "%u processes: ", counts[i]) {
		stagger(counts[i], true, false);
		check_crowd_share();
		check_crowd_waits(counts[i]);
		CHECK(node.nr_relief >= counts[i]);
	}
}

TEST(queues_of_one_process_do_not_add_up, "the same for queues of one process, which run side by side in its relief")
{
	stagger(NR_VICTIMS, false, false);
	check_crowd_share();
	check_crowd_waits(1);
}

TEST(own_holds_earn_nothing, "a process that holds its own queues, 20 ms after each other, is owed nothing for it: a higher queue keeps the device")
{
	static const u32 counts[] = { 1, 10, 25, NR_VICTIMS };

	EACH_ANEW(i, ARRAY_SIZE(counts), "%u queues: ", counts[i]) {
		stagger(counts[i], false, true);
		check_crowd_share();
	}
}

