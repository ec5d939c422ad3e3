// SPDX-License-Identifier: MIT
/*
 * edf_test.c - the policy edf
 *
 * Of those with work, the one whose deadline comes first has the device.
 */
#include "debt.h"
#include "policy_node.h"
#include "rules/edf.h"
#include "tap.h"

/* Periodic work: one kernel after the other, which needs the device for @work_ns and has @left_ns of that to go. It is late after @slack_ns. */
struct job {
	struct queue *q;
	u64 period_ns;
	u64 work_ns;
	u64 slack_ns;
	u64 released_ns;
	u64 left_ns;
	u32 done;
	u32 late;
};

static void release_and_finish(struct job *j)
{
	if (ends_with_this_look(j->q, &j->left_ns)) {
		j->done++;
		j->late += node.now_ns > j->released_ns + j->period_ns + j->slack_ns;
	}
	if (!j->left_ns && node.now_ns >= j->released_ns + j->period_ns) {
		j->released_ns += j->period_ns;
		j->left_ns = j->work_ns;
		begin_kernel(j->q);
	}
}

TEST(edf_meets_deadlines, "two periodic processes that need 85 % of the device together are never late, beside one without deadline")
{
	struct job jobs[2] = {
		{ .q = new_queue(new_process(), LOW), .period_ns = 40 * MS, .work_ns = 16 * MS },
		{ .q = new_queue(new_process(), HIGH), .period_ns = 100 * MS, .work_ns = 45 * MS },
	};
	u64 end_ns = node.now_ns + 4 * SEC;
	struct queue *background = new_queue(new_process(), HIGH);
	u64 ran_ns = 0;
	u32 i;

	use("edf");
	for (i = 0; i < 2; i++) {
		jobs[i].q->process->policy.deadline_ns = jobs[i].period_ns;
		jobs[i].released_ns = node.now_ns - jobs[i].period_ns;
	}
	start_hog(background);
	while (node.now_ns < end_ns) {
		for (i = 0; i < 2; i++)
			release_and_finish(&jobs[i]);
		pass();
		ran_ns += on_device(background) ? POLL : 0;
		node.now_ns += POLL;
	}
	for (i = 0; i < 2; i++) {
		CHECK(jobs[i].done >= 4 * SEC / jobs[i].period_ns - 1);
		CHECK_EQ(jobs[i].late, 0);
		CHECK_EQ(jobs[i].q->policy.missed, 0);
	}
	CHECK_WITHIN(ran_ns, 4 * SEC * 5 / 100, 4 * SEC * 20 / 100);
}

static u64 chance;

/* A generator of Marsaglia's xorshift family */
static u64 any_between(u64 least, u64 most)
{
	chance ^= chance << 13;
	chance ^= chance >> 7;
	chance ^= chance << 17;
	return least + chance % (most - least + 1);
}

/*
 * Tasks whose work is less than their parts, each from any time on, beside one that never ends. Returns how long a hardware pass
 * takes.
 */
static u64 random_tasks(u64 seed, struct job *jobs, u32 nr)
{
	struct queue *endless = new_queue(new_process(), HIGH);
	u64 pass_ns;
	u32 i;

	chance = seed * 0x9e3779b97f4a7c15ULL + 1;
	pass_ns = any_between(0, 1) ? 200 * US : 0;
	endless->process->policy.deadline_ns = any_between(0, 1) ? any_between(100 * US, 5 * MS) : any_between(5 * MS, 200 * MS);
	for (i = 0; i < nr; i++) {
		struct job *j = &jobs[i];

		j->q = new_queue(new_process(), HIGH);
		j->period_ns = any_between(10 * MS, 100 * MS);
		j->work_ns = j->period_ns / (nr + 1) * any_between(20, 80) / 100;
		j->released_ns = node.now_ns + any_between(0, 300 * MS) - j->period_ns;
		j->q->process->policy.deadline_ns = j->period_ns;
		/* A switch, and a look at each end */
		j->slack_ns = 3 * pass_ns + 2 * POLL;
	}
	start_hog(endless);
	return pass_ns;
}

/* For two seconds */
static void run_jobs(struct job *jobs, u32 nr, u64 pass_ns)
{
	u64 end_ns = node.now_ns + 2 * SEC;
	u32 i;

	while (node.now_ns < end_ns) {
		for (i = 0; i < nr; i++)
			release_and_finish(&jobs[i]);
		node.policy.pass_ns = pass_ns;
		pass();
		node.now_ns += POLL;
	}
}

/* Makes jobs, and returns how long a hardware pass takes. */
typedef u64 (*make_jobs_fn)(u64 seed, struct job *jobs, u32 nr);

/* One to three of them, where debts take nothing. Returns how many. */
static u32 run_random_jobs(u64 seed, make_jobs_fn make, struct job *jobs)
{
	u32 nr = 1 + seed % 3;

	use("edf");
	node.params.max_hold_ns = 0;
	run_jobs(jobs, nr, make(seed, jobs, nr));
	return nr;
}

TEST(tasks_within_their_parts_are_in_time, "tasks that need less than their parts are done by their deadline, whatever the others need, and whatever deadline work without end has")
{
	u64 only = tap_setting("SEED", 0), nr_seeds = only ? 1 : tap_setting("COUNT", 60);

	EACH_ANEW(k, nr_seeds, "SEED=%llu: ", only ? only : k + 1ULL) {
		u64 seed = only ? only : k + 1;
		struct job jobs[3] = { 0 };
		u32 i, nr = run_random_jobs(seed, random_tasks, jobs);

		for (i = 0; i < nr; i++)
			CHECK_EQ(jobs[i].late, 0);
	}
}

/*
 * Reservations that take between the half and all of the device together, each of them used up in each period, from any time on, beside a
 * program that never ends and has a deadline as well. Returns how long a hardware pass takes.
 */
static u64 random_reservations(u64 seed, struct job *jobs, u32 nr)
{
	u64 pass_ns, switch_ns, left, need;
	struct queue *endless;
	u32 i;

	chance = seed * 0x9e3779b97f4a7c15ULL + 1;
	pass_ns = any_between(0, 1) ? 200 * US : 0;
	node.policy.pass_ns = pass_ns;
	switch_ns = gpreempt_debt_switch_ns(&node.policy);
	left = gpreempt_edf_room(&node.params);
	if (any_between(0, 1))
		left = left * any_between(50, 100) / 100;
	for (i = 0; i < nr; i++) {
		struct job *j = &jobs[i];

		j->q = new_queue(new_process(), HIGH);
		j->period_ns = any_between(20 * switch_ns, 100 * MS);
		need = i == nr - 1 ? left : left * any_between(20, 60) / 100;
		j->work_ns = j->period_ns * need / GPREEMPT_DEBT_ONE - 2 * switch_ns;
		/* It ends with a look. */
		j->work_ns -= j->work_ns % POLL;
		j->released_ns = node.now_ns + any_between(0, 300 * MS) - j->period_ns;
		j->q->process->policy.deadline_ns = j->period_ns;
		j->q->process->policy.runtime_ns = j->work_ns;
		left -= gpreempt_edf_need(switch_ns, j->work_ns, j->period_ns);
		/* A switch, and a look at each end */
		j->slack_ns = 3 * pass_ns + 2 * POLL;
	}
	endless = new_queue(new_process(), HIGH);
	if (any_between(0, 3))
		endless->process->policy.deadline_ns = any_between(100 * US, 200 * MS);
	start_hog(endless);
	return pass_ns;
}

TEST(tasks_within_their_runtimes_are_in_time, "reservations that fit are never late, however much of the device they take together, and whatever deadline work without end has")
{
	u64 only = tap_setting("SEED", 0), nr_seeds = only ? 1 : tap_setting("COUNT", 60);

	EACH_ANEW(k, nr_seeds, "SEED=%llu: ", only ? only : k + 1ULL) {
		u64 seed = only ? only : k + 1;
		struct job jobs[3] = { 0 };
		u32 i, nr = run_random_jobs(seed, random_reservations, jobs);

		for (i = 0; i < nr; i++) {
			CHECK(jobs[i].q->process->policy.admitted_ns);
			CHECK_EQ(jobs[i].late, 0);
			CHECK(jobs[i].done);
		}
	}
}

/* A process that never ends, with a runtime in each period; 0: without a reservation */
static struct queue *endless_with(u64 runtime_ns, u64 period_ns)
{
	struct queue *q = new_queue(new_process(), HIGH);

	q->process->policy.deadline_ns = period_ns;
	q->process->policy.runtime_ns = runtime_ns;
	start_hog(q);
	return q;
}

static bool is_admitted(const struct queue *q)
{
	return q->process->policy.admitted_ns;
}

TEST(reservations_need_switches_too, "a reservation takes its runtime and two switches of each period, debts keep their part of the device, and a period is 20 switches at least")
{
	use("edf");
	CHECK_EQ(gpreempt_edf_need(MS, 8 * MS, 20 * MS), GPREEMPT_DEBT_ONE / 2);
	CHECK_EQ(gpreempt_edf_need(0, 3600 * SEC, 3600 * SEC), GPREEMPT_DEBT_ONE);
	/* What is no whole part counts as one. */
	CHECK_EQ(gpreempt_edf_need(0, 1, 3), GPREEMPT_DEBT_ONE / 3 + 1);
	CHECK_EQ(gpreempt_edf_least_ns(MS), 20 * MS);
	CHECK_WITHIN(gpreempt_edf_room(&node.params), GPREEMPT_DEBT_ONE * 98 / 100, GPREEMPT_DEBT_ONE * 99 / 100);
	node.params.max_hold_ns = 0;
	CHECK_EQ(gpreempt_edf_room(&node.params), GPREEMPT_DEBT_ONE);
}

TEST(what_does_not_fit_is_not_reserved, "of reservations that do not fit together the one that came last has none until there is room, and a change of one is judged anew")
{
	struct queue *first, *second, *third;

	use("edf");
	first = endless_with(60 * MS, 100 * MS);
	second = endless_with(50 * MS, 100 * MS);
	CHECK_AFTER(POLL, is_admitted(first) && !is_admitted(second));
	third = endless_with(20 * MS, 100 * MS);
	CHECK_AFTER(POLL, is_admitted(first) && !is_admitted(second) && is_admitted(third));
	/* More than there is: it has lost what it had, and is beside an equal part of the rest again. */
	first->process->policy.runtime_ns = 90 * MS;
	CHECK_AFTER(POLL, !is_admitted(first) && is_admitted(second) && is_admitted(third));
	second->process->policy.runtime_ns = 0;
	third->process->policy.runtime_ns = 0;
	CHECK_AFTER(POLL, is_admitted(first) && !is_admitted(second) && !is_admitted(third));
	first->process->policy.deadline_ns = 90 * MS;
	CHECK_AFTER(POLL, !is_admitted(first));
}

TEST(short_periods_are_not_reserved, "a reservation whose period is shorter than 20 switches is not admitted; one that was stays when switches take longer")
{
	struct queue *q;

	use("edf");
	node.policy.pass_ns = 100 * US;
	q = endless_with(MS / 2, gpreempt_edf_least_ns(gpreempt_debt_switch_ns(&node.policy)) - 1);
	CHECK_AFTER(0, !is_admitted(q));
	node.policy.pass_ns = 100 * US;
	q->process->policy.deadline_ns++;
	CHECK_AFTER(POLL, is_admitted(q));
	node.policy.pass_ns = MS;
	CHECK_AFTER(POLL, is_admitted(q));
}

/* How much of two seconds each has, in percent */
static void measure_parts(struct queue *const *queues, u32 nr, u64 *pct)
{
	u32 i, k;

	for (i = 0; i < nr; i++)
		pct[i] = 0;
	for (k = 0; k < 2 * SEC / POLL; k++) {
		pass_after(POLL);
		for (i = 0; i < nr; i++)
			pct[i] += on_device(queues[i]);
	}
	for (i = 0; i < nr; i++)
		pct[i] = pct[i] * 100 / (2 * SEC / POLL);
}

TEST(equals_divide_what_is_not_reserved, "three that never end: one has the part that is reserved for it, the two others half of the rest each")
{
	struct queue *queues[3];
	u64 pct[3];

	use("edf");
	queues[0] = endless_with(56 * MS, 100 * MS);
	queues[1] = endless_with(0, 10 * MS);
	queues[2] = endless_with(0, 40 * MS);
	measure_parts(queues, 3, pct);
	CHECK_WITHIN(pct[0], 55, 60);
	CHECK_WITHIN(pct[1], 19, 23);
	CHECK_WITHIN(pct[2], 19, 23);
}

TEST(where_all_is_reserved_others_are_owed, "beside a reservation of the whole device that is always used, a program with a deadline has what debts take")
{
	struct queue *queues[2];
	u64 pct[2];

	use("edf");
	queues[0] = endless_with(96 * MS, 100 * MS);
	queues[1] = endless_with(0, 10 * MS);
	CHECK_AFTER(POLL, is_admitted(queues[0]));
	queues[0]->process->policy.runtime_ns = 97 * MS + 350 * US;
	CHECK_AFTER(POLL, is_admitted(queues[0]));
	measure_parts(queues, 2, pct);
	CHECK_WITHIN(pct[0], 97, 99);
	CHECK_WITHIN(pct[1], 1, 3);
	CHECK(node.nr_relief);
}

/* Under edf; 0: it has none. */
static void two_deadlines(u64 low_ns, u64 high_ns)
{
	use("edf");
	two_processes();
	low->process->policy.deadline_ns = low_ns;
	high->process->policy.deadline_ns = high_ns;
}

TEST(who_needs_too_much_is_late_alone, "a task that needs more than its part, again and again, makes none late of those that need less than theirs")
{
	struct job jobs[3] = {
		{ .q = new_queue(new_process(), HIGH), .period_ns = 10 * MS, .work_ns = 5 * MS },
		{ .q = new_queue(new_process(), HIGH), .period_ns = 40 * MS, .work_ns = 12 * MS },
		{ .q = new_queue(new_process(), HIGH), .period_ns = 40 * MS, .work_ns = 12 * MS },
	};
	u32 i;

	use("edf");
	node.params.max_hold_ns = 0;
	for (i = 0; i < 3; i++) {
		jobs[i].q->process->policy.deadline_ns = jobs[i].period_ns;
		jobs[i].released_ns = node.now_ns - jobs[i].period_ns;
	}
	run_jobs(jobs, 3, 0);
	CHECK(jobs[0].late > jobs[0].done / 4);
	for (i = 1; i < 3; i++) {
		CHECK_EQ(jobs[i].late, 0);
		CHECK(jobs[i].done >= 2 * SEC / jobs[i].period_ns - 1);
	}
}

TEST(edf_periods_pay_for_switches, "two that never end, with deadlines that are shorter than a switch, are switched no more often than pays for it: each costs a tenth of a part at most")
{
	u64 switch_ns;

	two_deadlines(100 * US, 100 * US);
	node.params.max_hold_ns = 0;
	node.policy.pass_ns = MS;
	start_both();
	TIMES(200 * MS / POLL) {
		node.policy.pass_ns = MS;
		pass_after(POLL);
	}
	switch_ns = 3 * MS;
	CHECK(low->preempted >= 2);
	CHECK(low->preempted <= 200 * MS / (2 * 10 * switch_ns) + 1);
}

TEST(edf_short_deadlines_count_where_switches_are_slow, "work is due by its deadline, also where a period has to be longer for what a switch costs")
{
	two_deadlines(30 * MS, 5 * MS);
	node.policy.pass_ns = 300 * US;
	start_hog(low);
	passes_for(12 * MS, POLL);
	node.policy.pass_ns = 300 * US;
	start_hog(high);
	CHECK_AFTER(POLL, on_device(high) && !on_device(low));
}

TEST(edf_earliest_first, "of two that work, the one whose deadline comes first has the device; a later one waits for its end")
{
	two_deadlines(20 * MS, 50 * MS);
	start_hog(high);
	pass();
	start_hog(low);
	CHECK_AFTER(POLL, !on_device(high) && on_device(low));
	drain(low);
	time_until(high, true, 10 * MS);
	/* The later one is released again 40 ms after: 60 ms, and high's is 50. */
	passes_for(35 * MS, POLL);
	start_hog(low);
	CHECK_LATER(5 * MS, on_device(high) && !on_device(low));
}

TEST(edf_without_deadline_is_last, "whoever has no deadline yields to whoever has one, and to nobody else")
{
	struct queue *other = new_queue(new_process(), HIGH);

	two_deadlines(SEC, 0);
	start_hog(high);
	start_hog(other);
	CHECK_EQ_LATER(20 * MS, node.nr_preempted, 0);
	start_hog(low);
	CHECK_AFTER(POLL, !on_device(high) && !on_device(other));
	drain(low);
	time_until(high, true, 10 * MS);
	CHECK(on_device(other));
}

TEST(edf_late_work_is_due_again, "one that never ends is due again each period: it misses, and does not keep others off for ever")
{
	two_deadlines(20 * MS, 50 * MS);
	start_both();
	CHECK_LATER(400 * MS, high->preempted >= 3);
	CHECK(low->preempted >= 3);
	CHECK_EQ(low->policy.missed, 19);
	CHECK(high->policy.missed >= 7);
	CHECK_EQ(node.nr_relief, 0);
}

TEST(only_what_is_late_is_missed, "a request that comes when the last one is due, and is done, is none that is late; nor does it hide one that is")
{
	u32 i;

	two_deadlines(0, 20 * MS);
	start_hog(low);
	submit(high, 1);
	passes_for(POLL, POLL);
	drain(high);
	passes_for(10 * MS, POLL);
	/* Shortly before the last one was due */
	pass_after(high->policy.due_ns - node.now_ns - POLL);
	submit(high, 1);
	pass();
	pass_after(POLL);
	CHECK_EQ(high->policy.missed, 0);
	for (i = 0; i < 4; i++) {
		/* No look between the end of one and the next one, which runs at once */
		drain(high);
		submit(high, 1);
		launch(high, 1, 64);
		pass_after(high->policy.due_ns - node.now_ns);
	}
	CHECK_EQ(high->policy.missed, 0);
	/* One waits behind the one that runs when the next one comes. */
	submit(high, 1);
	pass_after(high->policy.due_ns - node.now_ns - POLL);
	submit(high, 1);
	pass_after(POLL);
	CHECK_EQ(high->policy.missed, 1);
}

TEST(edf_queues_of_a_process, "a queue with a deadline of its own comes before another one of its process that has a later one")
{
	use("edf");
	low = new_queue(new_process(), HIGH);
	high = new_queue(low->process, HIGH);
	low->policy.set.deadline_ns = 50 * MS;
	high->policy.set.deadline_ns = 10 * MS;
	start_both();
	CHECK_AFTER(0, on_device(high) && !on_device(low));
	CHECK(!node.decision.park);
}

TEST(edf_equal_queues_of_a_process_need_passes,
     "two queues of a process with the same deadline come before each other by turns: the node does not park")
{
	use("edf");
	low = new_queue(new_process(), HIGH);
	high = new_queue(low->process, HIGH);
	low->policy.set.deadline_ns = 10 * MS;
	high->policy.set.deadline_ns = 10 * MS;
	CHECK_AFTER(0, !node.decision.park);
}

TEST(edf_deadlines_count_from_the_work, "a deadline counts from the first work after idle time, however long that was")
{
	two_deadlines(0, 20 * MS);
	start_hog(low);
	passes_for(55 * MS, POLL);
	start_hog(high);
	CHECK_EQ_AFTER(POLL, high->policy.due_ns - node.now_ns, 20 * MS);
	drain(high);
	passes_for(75 * MS, POLL);
	submit(high, 1);
	CHECK_EQ_AFTER(POLL, high->policy.due_ns - node.now_ns, 20 * MS);
	CHECK_EQ(high->policy.missed, 0);
}

TEST(edf_parks_without_deadlines, "where nobody has a deadline, no passes are needed")
{
	use("edf");
	two_processes();
	start_both();
	CHECK_AFTER(0, node.decision.park);
	low->process->policy.deadline_ns = SEC;
	CHECK_AFTER(POLL, !node.decision.park);
	CHECK(!on_device(high));
}

TEST(edf_looks_at_the_next_deadline, "without polling, the next look is when the first deadline of somebody with work is, whichever queue it is of")
{
	struct queue *a = new_queue(new_process(), GPREEMPT_PRIORITY_NORMAL), *b = new_queue(new_process(), GPREEMPT_PRIORITY_NORMAL), *idle = new_queue(new_process(), GPREEMPT_PRIORITY_NORMAL);
	const struct gpreempt_policy_ops *edf = policy_named("edf");

	use("edf");
	node.params.max_hold_ns = 0;
	a->process->policy.deadline_ns = 3 * MS;
	b->process->policy.deadline_ns = 2 * MS;
	idle->process->policy.deadline_ns = MS;
	submit(a, 1);
	submit(b, 1);
	look();
	/* Before that its part is used up, the half of a period. */
	CHECK_EQ(edf->next_ns(&node.policy, node.now_ns), MS);
	b->process->policy.share.ran = false;
	CHECK_EQ(edf->next_ns(&node.policy, node.now_ns), 2 * MS);
	CHECK_EQ(edf->next_ns(&node.policy, node.now_ns + MS), MS);
	/* One that has passed is none to wait for. */
	CHECK_EQ(edf->next_ns(&node.policy, node.now_ns + 2 * MS), MS);
	CHECK_EQ(edf->next_ns(&node.policy, node.now_ns + 3 * MS), ~0ULL);
	a->policy.pass.demand[1] = false;
	CHECK_EQ(edf->next_ns(&node.policy, node.now_ns + 2 * MS), ~0ULL);
	b->policy.pass.demand[1] = false;
	CHECK_EQ(edf->next_ns(&node.policy, node.now_ns), ~0ULL);
	a->policy.pass.demand[1] = true;
	CHECK_EQ(edf->next_ns(&node.policy, node.now_ns), 3 * MS);
}

TEST(relief_is_above_every_policy, "a queue preempted for too long runs under each policy, and its rank is not asked for")
{
	two_deadlines(0, 20 * MS);
	start_both();
	CHECK_AFTER(0, !on_device(low));
	CHECK_WITHIN(time_until(low, true, 2 * SEC), owed_ns(), owed_ns() + POLL);
	CHECK(!on_device(high));
	CHECK_EQ(node.decision.level, GPREEMPT_PRIORITY_RELIEF);
	CHECK_WITHIN(time_until(low, false, SEC), gpreempt_debt_turn_ns(&node.policy), gpreempt_debt_turn_ns(&node.policy) + POLL);
}
