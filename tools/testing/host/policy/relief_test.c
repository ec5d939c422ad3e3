// SPDX-License-Identifier: MIT
/*
 * relief_test.c - what has been preempted for long
 *
 * It has its relief, in turns with others that starve; or it ages, until it runs beside the level.
 */
#include <string.h>

#include "demand.h"
#include "policy_node.h"
#include "tap.h"

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

TEST(saved_waves_get_relief, "saved waves alone are work that the maximum hold counts for")
{
	two_processes();
	last_kernel(low);
	start_hog(high);
	CHECK_AFTER(0, !on_device(low));
	CHECK_AFTER(node.params.max_hold_ns, on_device(low));
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

TEST(a_relief_without_room_proves_nothing,
     "a queue that shows no waves in its relief beside one that never yields may have had no slots: a hold of it still ends in time")
{
	struct queue *exempt;

	low_is_preempted();
	low->rptr = low->wptr;
	start_hog(high);
	exempt = new_queue(new_process(), LOW);
	exempt->process->policy.opt_out = true;
	start_hog(exempt);
	low->invisible = true;
	CHECK_AFTER(node.params.max_hold_ns, on_device(low) && !on_device(high));
	CHECK_LATER(4 * GPREEMPT_WAVES_SETTLE_NS, on_device(low));
	low->policy.set.hold = true;
	CHECK_LATER(node.params.relief_ns, !on_device(low) && on_device(high));
	drain(high);
	CHECK_LATER(node.params.max_hold_ns, on_device(low));
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

/* ---- many who starve ---- */

#define STEP		(500 * US)
#define STAGGER		(20 * MS)
#define NR_VICTIMS	50

static struct queue *victims[NR_VICTIMS];

/* What came of a crowd of victims beside endless work of a higher queue. */
static struct {
	u64 high_ns;
	u64 total_ns;
	u64 waited_ns[NR_VICTIMS];
	u64 longest_ns;
} crowd;

/* A pass, and what the device does until the next one: a process at a time, so that it says who could fill the device. */
static void crowd_step(u32 nr)
{
	bool alone = on_device(high);
	u32 i;

	pass_after(STEP);
	for (i = 0; i < nr; i++) {
		bool runs = on_device(victims[i]) && has_work(victims[i]);

		if (runs)
			launch(victims[i], 1, 8);
		alone &= !runs;
		crowd.waited_ns[i] = runs || !has_work(victims[i]) ? 0 : crowd.waited_ns[i] + STEP;
		if (crowd.waited_ns[i] > crowd.longest_ns)
			crowd.longest_ns = crowd.waited_ns[i];
	}
	/* Shares count from when all work. */
	if (!has_work(victims[nr - 1]))
		return;
	crowd.total_ns += STEP;
	crowd.high_ns += alone ? STEP : 0;
}

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

/* As design.rst says: (1 + processes / N) * (max_hold + relief), of N processes that one relief has room for. */
static void check_crowd_waits(u32 processes)
{
	u64 room = node.params.relief_ns / GPREEMPT_RELIEF_TURN_NS;
	u64 most_ns = (1 + (processes + room - 1) / room) * (node.params.max_hold_ns + node.params.relief_ns) + STEP;

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

TEST(own_holds_earn_no_relief, "a process that holds its own queues, 20 ms after each other, gets no relief for it: a higher queue keeps all of the device")
{
	static const u32 counts[] = { 1, 10, 25, NR_VICTIMS };

	EACH_ANEW(i, ARRAY_SIZE(counts), "%u queues: ", counts[i]) {
		stagger(counts[i], false, true);
		check_crowd_share();
		CHECK_EQ(node.nr_relief, 0);
		CHECK_EQ(crowd.high_ns, crowd.total_ns);
	}
}

/* ---- turns ---- */

/* @nr processes with a queue each that were outranked @apart_ns after each other; all of it is slept through from here on. */
static void victims_wait(u32 nr, u64 apart_ns)
{
	u32 i;

	high = new_queue(new_process(), HIGH);
	start_hog(high);
	for (i = 0; i < nr; i++)
		victims[i] = new_queue(new_process(), LOW);
	pass();
	for (i = 0; i < nr; i++) {
		submit(victims[i], 1000);
		CHECK_AFTER(apart_ns, !on_device(victims[i]));
	}
	node.params.poll_ns = 0;
	node.params.interval_ns = 10 * SEC;
	pass_after(POLL);
}

/* Sleeps for as long as the decision says; returns how long that was. */
static u64 sleep_and_pass(void)
{
	u64 slept_ns = node.decision.next_ns;
	u32 i;

	pass_after(slept_ns);
	for (i = 0; i < node.nr_created; i++)
		if (on_device(&node.queues[i]) && pending(&node.queues[i]) && !node.queues[i].waves)
			launch(&node.queues[i], 1, 8);
	return slept_ns;
}

static void only_runs(const struct queue *q)
{
	u32 i;

	for (i = 0; i < node.nr_created; i++)
		if (on_device(&node.queues[i]) != (&node.queues[i] == q))
			tap_fail(__FILE__, __LINE__, "queue %u is %son the device", i, on_device(&node.queues[i]) ? "" : "not ");
}

/* Sleeps until @q has the device, or has it no longer; returns how long that was. */
static u64 sleep_until(const struct queue *q, bool there)
{
	u64 slept_ns = 0;

	while (on_device(q) != there) {
		CHECK(slept_ns < 5 * SEC);
		slept_ns += sleep_and_pass();
	}
	return slept_ns;
}

TEST(turns_share_a_relief, "processes that starve have the device in turns, the one that waited longest first, and each turn begins in time")
{
	u64 slept_ns = 0;
	u32 i;

	victims_wait(4, MS);
	/* The first is due when it has been preempted for the maximum; the others come in the middle of its relief. */
	sleep_and_pass();
	for (i = 0; i < 4; i++) {
		only_runs(victims[i]);
		slept_ns += sleep_until(victims[i], false);
	}
	CHECK_EQ(slept_ns, node.params.relief_ns);
	only_runs(high);
	CHECK_EQ(node.nr_relief, 4);
	/* The next relief is that of the node, not of the one that has waited longest. */
	CHECK_EQ(sleep_until(victims[0], true), node.params.max_hold_ns);
	only_runs(victims[0]);
}

TEST(turns_begin_too_late_for_nobody, "who is due when a relief is nearly over waits for the next one: no turn is shorter than the least")
{
	victims_wait(2, node.params.relief_ns - GPREEMPT_RELIEF_TURN_NS / 2);
	sleep_and_pass();
	only_runs(victims[0]);
	CHECK_EQ(sleep_until(victims[0], false), node.params.relief_ns);
	only_runs(high);
	CHECK_EQ(node.nr_relief, 1);
	CHECK_EQ(sleep_until(victims[1], true), node.params.max_hold_ns);
	CHECK_EQ(node.nr_relief, 2);
}

TEST(turns_are_of_equal_length, "processes that are due when a relief begins share it evenly")
{
	victims_wait(4, US);
	sleep_and_pass();
	EACH(i, 4, "case %u: ", i) {
		only_runs(victims[i]);
		CHECK_EQ(sleep_until(victims[i], false), node.params.relief_ns / 4);
	}
	only_runs(high);
}

TEST(a_turn_is_of_a_process, "queues of one process that starve run side by side, and count as one")
{
	struct queue *sibling;

	victims_wait(2, US);
	sibling = new_queue(victims[0]->process, LOW - 1);
	submit(sibling, 10);
	CHECK_AFTER(0, !on_device(sibling));
	sibling->policy.seen.starved_ns = victims[0]->policy.seen.starved_ns;
	node.now_ns += SEC;
	CHECK_AFTER(0, on_device(victims[0]) && on_device(sibling) && !on_device(victims[1]) && !on_device(high));
	CHECK_EQ(sleep_and_pass(), node.params.relief_ns / 2);
	only_runs(victims[1]);
}

TEST(a_turn_is_not_for_what_is_held_on_request, "a queue that is held on request gets no relief with others of its process")
{
	struct queue *held;

	victims_wait(1, US);
	held = new_queue(victims[0]->process, LOW);
	held->policy.set.hold = true;
	held->policy.set.hold_unbounded = true;
	submit(held, 10);
	pass();
	held->policy.seen.starved_ns = victims[0]->policy.seen.starved_ns;
	node.now_ns += SEC;
	pass();
	only_runs(victims[0]);
	CHECK_EQ(node.nr_relief, 1);
}

TEST(a_turn_ends_with_its_work, "a process that has done its work in a relief leaves the rest to the others, and does not come back before the next one")
{
	victims_wait(2, US);
	node.params.poll_ns = POLL;
	node.now_ns += SEC;
	pass();
	only_runs(victims[0]);
	drain(victims[0]);
	CHECK_LATER(2 * GPREEMPT_WAVES_SETTLE_NS, on_device(victims[1]) && !on_device(high));
	launch(victims[1], 1, 8);
	/* It is not in relief any more. */
	submit(victims[0], 10);
	pass_after(POLL);
	only_runs(victims[1]);
	passes_for(node.params.relief_ns - 3 * MS, POLL);
	only_runs(victims[1]);
}

TEST(a_turn_has_a_least_length, "what is left of a relief is not given to a process that could do nothing in it: it waits for the next one")
{
	/* The fourth turn would be shorter. */
	victims_wait(25, US);
	node.params.relief_ns = 4 * MS - US;
	node.now_ns += SEC;
	CHECK_EQ_AFTER(0, sleep_and_pass(), GPREEMPT_RELIEF_TURN_NS);
	CHECK_EQ(sleep_and_pass(), GPREEMPT_RELIEF_TURN_NS);
	only_runs(victims[2]);
	CHECK_EQ(sleep_and_pass(), 2 * GPREEMPT_RELIEF_TURN_NS - US);
	only_runs(high);
	CHECK_EQ(sleep_until(victims[3], true), node.params.max_hold_ns);
	only_runs(victims[3]);
}

TEST(slow_passes_make_long_turns, "where taking off and giving back takes long, turns are so many times as long, but not longer than a relief")
{
	victims_wait(25, US);
	node.policy.pass_ns = MS;
	node.now_ns += SEC;
	CHECK_EQ_AFTER(0, node.decision.next_ns, GPREEMPT_RELIEF_TURN_SHARE * MS);
	node.policy.pass_ns = 10 * MS;
	CHECK_EQ_AFTER(10, node.decision.next_ns, node.params.relief_ns - 10);
}

TEST(a_relief_that_fails_is_due_again, "a queue that did not get the device in its turn is still the one that has waited longest")
{
	victims_wait(2, US);
	node.now_ns += SEC;
	look();
	CHECK(victims[0]->policy.action == GPREEMPT_RESUME);
	/* Nothing is carried out. */
	node.now_ns += node.params.relief_ns;
	look();
	CHECK(victims[0]->policy.action == GPREEMPT_KEEP);
	node.now_ns += node.params.max_hold_ns;
	look();
	CHECK(victims[0]->policy.action == GPREEMPT_RESUME);
	CHECK_EQ(node.nr_relief, 2);
}

TEST(reliefs_are_no_gaps, "what yields to two turns of a relief shortly after each other has learned nothing from that")
{
	victims_wait(2, 10 * MS);
	node.params.poll_ns = POLL;
	node.now_ns = victims[0]->policy.seen.starved_ns + node.params.max_hold_ns;
	CHECK_AFTER(0, on_device(victims[0]) && !on_device(high));
	drain(victims[0]);
	time_until(high, true, 2 * MS);
	pass_after(POLL);
	victims[1]->policy.seen.starved_ns = node.now_ns - node.params.max_hold_ns;
	node.policy.pass_ns = MS;
	CHECK_AFTER(POLL, on_device(victims[1]) && !on_device(high));
	CHECK_EQ(high->policy.gaps.nr, 0);
}

/* ---- age ---- */

TEST(aging_raises_to_equality_at_most,
     "a preempted queue that ages comes to run beside the level, never instead of it, and is young again afterwards")
{
	node.params.aging_ns = 5 * MS;
	hog_preempts_low();
	CHECK_EQ(low->policy.effective_priority, LOW);
	CHECK_EQ_LATER(25 * MS, low->policy.effective_priority, LOW + 5);
	CHECK(!on_device(low));
	/* Ten steps. */
	CHECK_EQ_LATER(25 * MS, low->policy.effective_priority, HIGH);
	CHECK(on_device(low) && on_device(high));
	CHECK_EQ(node.decision.level, HIGH);
	CHECK_EQ(node.nr_relief, 0);
	CHECK_LATER(node.params.relief_ns - POLL, on_device(low));
	CHECK_LATER(2 * POLL, !on_device(low));
	CHECK_EQ(low->policy.effective_priority, LOW);
	CHECK_EQ(high->preempted, 0);
}

TEST(age_outranks_nobody, "an aged queue is no reason to take off one that it was below when it was young")
{
	middle = new_queue(new_process(), MIDDLE);
	node.params.aging_ns = 5 * MS;
	hog_preempts_low();
	CHECK_LATER(40 * MS, low->policy.effective_priority > MIDDLE);
	submit(middle, 1000);
	drain(high);
	time_until(middle, true, 10 * MS);
	CHECK_EQ(node.decision.level, MIDDLE);
	CHECK_EQ(low->policy.effective_priority, MIDDLE);
	CHECK_LATER(15 * MS, on_device(middle));
}

TEST(age_is_for_work, "a preempted queue without work does not age")
{
	struct queue *idle = new_queue(new_process(), LOW);

	node.params.aging_ns = 5 * MS;
	hog_preempts_low();
	CHECK_LATER(55 * MS, on_device(low) && !on_device(idle));
	CHECK_EQ(idle->policy.effective_priority, LOW);
}

TEST(age_is_seen_in_time, "the end of the wait for equality, and of the time beside the level, shorten the sleep")
{
	node.params.aging_ns = 1 * MS;
	node.params.interval_ns = 100 * MS;
	node.params.poll_ns = 0;
	hog_preempts_low();
	CHECK_EQ(node.decision.next_ns, 10 * MS);
	CHECK_AFTER(node.decision.next_ns, on_device(low));
	CHECK_EQ(node.decision.next_ns, node.params.relief_ns);
	CHECK_AFTER(node.decision.next_ns, !on_device(low));
}

TEST(aging_orders_a_process_too, "ageing counts between queues of one process whose priorities were asked for")
{
	node.params.aging_ns = 5 * MS;
	low = new_explicit_queue(new_process(), LOW);
	high = new_explicit_queue(low->process, HIGH);
	start_both();
	CHECK_AFTER(0, !on_device(low));
	CHECK_LATER(51 * MS, on_device(low) && on_device(high));
}

TEST(age_does_not_wait_for_a_resume_delay, "a queue that comes to run beside the level by its age has waited for long enough")
{
	node.params.aging_ns = 1 * MS;
	node.params.resume_delay_ns = 500 * MS;
	hog_preempts_low();
	CHECK_EQ(time_until(low, true, 100 * MS), 10 * MS);
}

TEST(staggered_ages_do_not_add_up, "what ages lets in queues for the length of a relief each time that one of them needs to get as old, however many they are")
{
	static const u32 counts[] = { 1, 10, NR_VICTIMS };
	u32 k;

	EACH_ANEW(i, ARRAY_SIZE(counts), "%u queues: ", counts[i]) {
		memset(&crowd, 0, sizeof(crowd));
		/* Ten steps. */
		node.params.aging_ns = 10 * MS;
		high = new_queue(new_process(), HIGH);
		start_hog(high);
		for (k = 0; k < counts[i]; k++)
			victims[k] = new_queue(new_process(), LOW);
		pass();
		for (k = 0; k < counts[i]; k++) {
			submit(victims[k], 100000);
			crowd_step(counts[i]);
			crowd_step(counts[i]);
		}
		while (crowd.total_ns < SEC)
			crowd_step(counts[i]);
		CHECK_EQ(high->preempted, 0);
		if (crowd.high_ns * 120 < crowd.total_ns * 99)
			tap_fail(__FILE__, __LINE__, "the higher queue is alone for %llu %% of the time",
				 (unsigned long long)(crowd.high_ns * 100 / crowd.total_ns));
		/* Each had its part. */
		CHECK(crowd.longest_ns < 2 * 120 * MS);
	}
}

TEST(age_waits_in_time, "a queue that is old enough, and has to wait for its time beside the level, is let in when that begins")
{
	node.params.aging_ns = MS;
	hog_preempts_low();
	passes_for(5 * MS, POLL);
	victims[0] = new_queue(new_process(), LOW);
	submit(victims[0], 10);
	pass_after(0);
	node.params.interval_ns = SEC;
	node.params.poll_ns = 0;
	time_until(low, true, 20 * MS);
	CHECK(!on_device(victims[0]));
	/* It gets old in the middle of the other's time, which it may use. */
	CHECK_EQ_AFTER(0, node.decision.next_ns, 5 * MS);
	CHECK_AFTER(node.decision.next_ns, on_device(victims[0]));
	CHECK_EQ(node.decision.next_ns, 15 * MS);
	/* But not what is left when too little is. */
	victims[1] = new_queue(new_process(), LOW);
	submit(victims[1], 10);
	pass_after(0);
	CHECK_AFTER(14 * MS + 500 * US, !on_device(victims[1]));
	CHECK_EQ(node.decision.next_ns, 500 * US);
	drain(low);
	drain(victims[0]);
	CHECK_AFTER(500 * US, !on_device(victims[1]));
	CHECK_EQ(node.decision.next_ns, 10 * MS);
	CHECK_AFTER(10 * MS, on_device(victims[1]));
}

TEST(aging_is_off_by_default, "without gpreempt_aging_ms the effective priority is the logical one")
{
	hog_preempts_low();
	CHECK_LATER_EVERY(900 * MS, MS, !on_device(low));
	CHECK_EQ(low->policy.effective_priority, LOW);
}
