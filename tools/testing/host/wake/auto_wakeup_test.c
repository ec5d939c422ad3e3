// SPDX-License-Identifier: MIT
/*
 * auto_wakeup_test.c - gpreempt_wakeup=auto: doorbells are withdrawn where that costs less than to look, and programs cannot make it cost more
 */
#include "rivals.h"

static u64 arms(void)
{
	return atomic64_read(&stats()->doorbell_arms) + atomic64_read(&stats()->doorbell_late);
}

static u64 looks(void)
{
	return atomic64_read(&stats()->checks);
}

static void world_with_auto(bool hws, u32 nr_nodes)
{
	world_on_nodes(hws, nr_nodes);
	set("gpreempt_wakeup", "auto");
	world.nodes[0].nr_wave_slots = 1;
}

/* High has been idle for longer than any gap, low works without end. */
static void low_works(bool hws)
{
	world_with_auto(hws, 1);
	add_rivals(10, 0);
	low->kernel_ns = SEC;
	high->kernel_ns = 50 * US;
	submit_and_run(low, 20, 100 * MS);
	CHECK_STATE("armed");
	process_of(high)->nr_faults = 0;
}

/* Work that ends, and a gap. Returns how often its doorbell faulted. */
static u32 works_with_gaps(struct sim_queue *sq, u32 times, u64 gap_ns)
{
	u32 i, faults = process_of(sq)->nr_faults;

	for (i = 0; i < times; i++) {
		submit(sq, 1);
		CHECK(run_until_idle(sq, SEC));
		run(gap_ns);
	}
	return process_of(sq)->nr_faults - faults;
}

BOTH(auto_notices_a_doorbell, "as with doorbell, the first write after idleness takes the device from a lower program at once, and nothing is looked for before")
{
	u64 before;

	low_works(hws);
	before = looks();
	CHECK_AFTER(SEC, looks() - before < 25);
	submit_and_run(high, 1, 30 * US);
	CHECK(preempted(low));
	CHECK_EQ(process_of(high)->nr_faults, 1);
	CHECK(atomic64_read(&stats()->latency[GPREEMPT_LATENCY_NOTICE].max_ns) < 50 * US);
}

TEST(auto_leaves_a_program_alone_alone, "a program that has the device for itself writes its doorbell as ever, however long its gaps are, and nothing is looked for")
{
	u64 before;

	world_with_auto(true, 1);
	add_rivals(10, 0);
	high->kernel_ns = 50 * US;
	run(3 * SEC);
	CHECK_STATE("armed");
	CHECK_EQ(works_with_gaps(high, 1, 0), 1);
	before = looks();
	CHECK_EQ(works_with_gaps(high, 100, 150 * US), 0);
	CHECK_EQ(works_with_gaps(high, 20, 5 * MS), 0);
	CHECK_EQ(works_with_gaps(high, 5, 400 * MS), 0);
	CHECK(looks() - before < 60);
}

BOTH(auto_learns_that_gaps_are_short, "a program whose gaps are hardly longer than idleness has to be is armed later: it writes its doorbell as ever; with longer gaps it is armed again")
{
	low_works(hws);
	works_with_gaps(high, 8, 180 * US);
	CHECK(works_with_gaps(high, 100, 180 * US) <= 2);
	works_with_gaps(high, 12, 10 * MS);
	CHECK_EQ(works_with_gaps(high, 20, 10 * MS), 20);
}

/* ---- programs that are armed as often as they like ---- */

#define RINGERS	16

static struct sim_queue *ringers[RINGERS];
static bool ring;
static u32 ring_every_us, nr_ringing;
static struct task_struct *ringing[RINGERS];

static int rings(void *arg)
{
	while (READ_ONCE(ring)) {
		write_doorbell(arg);
		fsleep(ring_every_us);
	}
	return 0;
}

static void begin_to_ring(u32 nr, u32 every_us)
{
	ring_every_us = every_us;
	WRITE_ONCE(ring, true);
	for (nr_ringing = 0; nr_ringing < nr; nr_ringing++) {
		ringing[nr_ringing] = kthread_create(rings, ringers[nr_ringing], "ringer");
		wake_up_process(ringing[nr_ringing]);
	}
}

static void end_ringing(void)
{
	WRITE_ONCE(ring, false);
	while (nr_ringing)
		kthread_stop(ringing[--nr_ringing]);
}

static void ringers_come(u32 nr, u32 nr_nodes)
{
	u32 i;

	world_with_auto(true, nr_nodes);
	add_rivals(10, 0);
	for (i = 0; i < nr; i++)
		ringers[i] = add_queue(5);
	low->kernel_ns = SEC;
	high->kernel_ns = 2 * MS;
	submit_and_run(low, 20, 100 * MS);
	CHECK_STATE("armed");
}

TEST(a_loop_of_doorbells_is_armed_ever_later, "a program that writes its doorbell in a loop is armed once in a second in the end")
{
	u64 before;

	ringers_come(1, 1);
	begin_to_ring(1, 101);
	run(3 * SEC);
	before = arms();
	CHECK_AFTER(SEC, arms() - before <= 2);
	end_ringing();
}

TEST(who_stops_writing_in_a_loop_is_forgiven, "each time for which it pays that a program is armed makes the next one come sooner")
{
	u32 i;

	ringers_come(1, 1);
	begin_to_ring(1, 101);
	run(3 * SEC);
	end_ringing();
	for (i = 0; i < 14; i++) {
		write_doorbell(ringers[0]);
		CHECK_AFTER(1100 * MS, !process_of(ringers[0])->doorbell_pages[0]);
	}
	write_doorbell(ringers[0]);
	CHECK_AFTER(2 * MS, !process_of(ringers[0])->doorbell_pages[0]);
}

TEST(loops_of_doorbells_cost_no_more_than_looking, "many programs that write whenever it just pays cause no more looks than twice those of polling, and a higher one is found as if polled at the latest")
{
	u64 before, with_poll, armed;
	u32 i;

	ringers_come(RINGERS, 1);
	/* Longer than idleness and what pays together */
	begin_to_ring(RINGERS, 500);
	before = looks();
	armed = arms();
	run(SEC);
	CHECK(arms() - armed <= 4000 + 33);
	CHECK(arms() - armed > 100);
	armed = looks() - before;
	/* Whoever is not armed for it is looked at. */
	for (i = 0; i < 10; i++) {
		submit_and_run(high, 1, 200 * US);
		CHECK(preempted(low));
		CHECK(run_until_idle(high, SEC));
		run(20 * MS);
	}
	end_ringing();
	set("gpreempt_wakeup", "poll");
	submit(high, 1);
	CHECK(run_until_idle(high, SEC));
	before = looks();
	run(SEC);
	with_poll = looks() - before;
	CHECK(armed <= 2 * with_poll);
}

TEST(each_node_of_a_program_pays, "a program with queues on two nodes is armed only if both budgets have room")
{
	u64 before;
	u32 i;

	ringers_come(4, 2);
	for (i = 0; i < 4; i++)
		add_queue_to(process_of(ringers[i]), 1, NORMAL);
	run(2 * SEC);
	begin_to_ring(4, 300);
	PART(struct gpreempt_node_doorbell, doorbell, NODE, node_of(1))->due_ns = ktime_get_ns() + 500 * MS;
	run(10 * MS);
	before = arms();
	CHECK_EQ_AFTER(400 * MS, arms(), before);
	CHECK_AFTER(200 * MS, arms() > before);
	end_ringing();
}

static u64 withdrawing_ns;

static void goes_slowly(void)
{
	fsleep(withdrawing_ns / US);
}

TEST(slow_withdrawals_are_rare, "withdrawing doorbells takes a twenty-fourth of the time at most, however often a program has mapped them")
{
	u64 before;

	ringers_come(1, 1);
	withdrawing_ns = 2 * MS;
	world.before_unmapping = goes_slowly;
	begin_to_ring(1, 5000);
	run(100 * MS);
	before = arms();
	CHECK_AFTER(SEC, (arms() - before) * withdrawing_ns <= SEC / 24 + withdrawing_ns);
	CHECK(arms() > before);
	end_ringing();
	world.before_unmapping = NULL;
}

/* ---- where nothing is withdrawn ---- */

BOTH(auto_polls_programs_from_before, "programs that opened /dev/kfd before any node was scheduled keep their doorbells as ever and are looked at; later ones are told of")
{
	world_make(hws, 1, 1);
	set("gpreempt_wakeup", "auto");
	high = add_queue(0);
	CHECK(!process_of(high)->p.gpreempt);
	set("gpreempt_enable", "1");
	run(100 * MS);
	low = add_queue(10);
	CHECK(process_of(low)->p.gpreempt);
	low->kernel_ns = SEC;
	high->kernel_ns = 20 * MS;
	world.nodes[0].nr_wave_slots = 1;
	submit_and_run(low, 2, 20 * MS);
	CHECK_STATE("idle");
	submit_and_run(high, 1, 10 * MS);
	CHECK(preempted(low) && high->in_slot);
	CHECK_EQ(process_of(high)->nr_faults, 0);
	CHECK(!strcmp(gpreempt_doorbell_state(high->q.gpreempt->process), "fixed"));
}

TEST(auto_wants_nothing_while_off, "without a scheduled node auto gives no program an address space, doorbell does")
{
	world_make(true, 1, 1);
	set("gpreempt_wakeup", "auto");
	CHECK(!add_process(0)->p.gpreempt);
	set("gpreempt_wakeup", "doorbell");
	CHECK(add_process(0)->p.gpreempt);
}

/* ---- the end of what others are off the device for ---- */

/* Returns looks until the end of a kernel of that length, and how long after it low is back. */
static u64 looks_during(u64 kernel_ns, u64 *late_ns)
{
	u64 before = looks(), end_ns;

	high->kernel_ns = kernel_ns;
	submit(high, 1);
	CHECK(run_until_idle(high, SEC));
	end_ns = ktime_get_ns();
	before = looks() - before;
	CHECK(preempted(low));
	while (preempted(low) && ktime_get_ns() - end_ns < 10 * MS)
		run(10 * US);
	*late_ns = ktime_get_ns() - end_ns;
	run(20 * MS);
	return before;
}

BOTH(ends_are_expected, "of higher work that takes as long as before there are few looks, and no later ones; one that ends before that is found a millisecond later at most")
{
	u64 late_ns, known_late_ns;

	low_works(hws);
	set("gpreempt_overhead_pct", "0");
	CHECK(looks_during(20 * MS, &late_ns) > 100);
	EACH(i, 4, "time %u: ", i) {
		CHECK(looks_during(20 * MS, &known_late_ns) < 45);
		CHECK(known_late_ns <= late_ns + 200 * US);
	}
	looks_during(7 * MS, &known_late_ns);
	CHECK(known_late_ns <= late_ns + 1100 * US);
}

TEST(polled_ends_are_looked_for, "in the mode poll the end of higher work is looked for all the time")
{
	u64 late_ns;

	low_works(true);
	set("gpreempt_wakeup", "poll");
	looks_during(20 * MS, &late_ns);
	CHECK(looks_during(20 * MS, &late_ns) > 100);
}

TEST(who_outranks_both_is_told_of, "while the end of higher work is waited for, a still higher program is noticed by its doorbell, and one that tells of nothing as if polled")
{
	struct sim_queue *top;
	u64 late_ns;

	low_works(true);
	top = add_queue(-5);
	top->kernel_ns = MS;
	run(3 * SEC);
	looks_during(20 * MS, &late_ns);
	looks_during(20 * MS, &late_ns);
	high->kernel_ns = 20 * MS;
	submit_and_run(high, 1, 5 * MS);
	CHECK(preempted(low) && !preempted(high));
	submit_and_run(top, 1, 50 * US);
	CHECK(preempted(high));
	CHECK(run_until_idle(high, SEC));
	run(20 * MS);
	process_of(top)->p.gpreempt_fixed = true;
	submit_and_run(high, 1, 5 * MS);
	CHECK(preempted(low));
	write_packets(top, 1);
	CHECK_AFTER(200 * US, preempted(high));
}
