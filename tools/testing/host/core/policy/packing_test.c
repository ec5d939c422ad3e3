// SPDX-License-Identifier: MIT
/*
 * packing_test.c - one tenant with many processes, queues, contexts or jobs
 *
 * Alice makes many of them, bob one. What alice gets is what she gets with one. Contexts are processes of the policy.
 */
#include <stdlib.h>
#include <string.h>

#include "policy_node.h"
#include "tap.h"

#define MANY	8

static struct gpreempt_policy_tenant alice, bob;
static struct gpreempt_policy_job jobs[MANY];
static struct queue *hers[MANY], *his;
/* How long either had the device, and neither of them */
static u64 her_ns, his_ns, idle_ns;

static const u32 numbers[] = { 1, 2, MANY };

static struct queue *queue_of(struct gpreempt_policy_tenant *tenant, s32 priority)
{
	struct queue *q = new_queue(new_process(), priority);

	q->process->policy.user = tenant;
	return q;
}

static void forget(void)
{
	alice = (struct gpreempt_policy_tenant){ 0 };
	bob = (struct gpreempt_policy_tenant){ 0 };
	memset(jobs, 0, sizeof(jobs));
	her_ns = his_ns = idle_ns = 0;
}

/* @nr processes of hers and one of his, all at work for ever */
static void pack(u32 nr, s32 priority)
{
	u32 i;

	forget();
	for (i = 0; i < nr; i++)
		start_hog(hers[i] = queue_of(&alice, priority));
	start_hog(his = queue_of(&bob, priority));
}

static void note(u32 nr, u64 ns)
{
	bool she_runs = false;
	u32 i;

	for (i = 0; i < nr; i++)
		she_runs |= on_device(hers[i]) && has_work(hers[i]);
	her_ns += she_runs ? ns : 0;
	his_ns += on_device(his) ? ns : 0;
	idle_ns += she_runs || on_device(his) ? 0 : ns;
}

static void run(u32 nr, u64 ns)
{
	u64 end_ns = node.now_ns + ns;

	while (node.now_ns < end_ns) {
		pass();
		note(nr, POLL);
		node.now_ns += POLL;
	}
}

/* Of what both had, in percent */
static u64 her_part(void)
{
	return her_ns * 100 / (her_ns + his_ns);
}

TEST(processes_are_no_weight, "under wfq a tenant with 2 or 8 processes has the half of the device that it has with one, and so have those of equal weight in it")
{
	EACH_ANEW(i, ARRAY_SIZE(numbers), "%u processes: ", numbers[i]) {
		u64 least = ~0ULL, ns[MANY] = { 0 };
		u32 j;

		use("wfq");
		pack(numbers[i], HIGH);
		for (j = 0; j < 8 * SEC / POLL; j++) {
			run(numbers[i], POLL);
			for (u32 k = 0; k < numbers[i]; k++)
				ns[k] += on_device(hers[k]) ? POLL : 0;
		}
		CHECK_WITHIN(her_part(), 48, 52);
		for (j = 0; j < numbers[i]; j++)
			least = ns[j] < least ? ns[j] : least;
		CHECK(least * numbers[i] >= her_ns * 9 / 10);
	}
}

TEST(the_largest_weight_is_the_tenants, "under wfq a tenant has the largest weight of its processes that work, and they divide what it has by theirs")
{
	u64 first_ns = 0, steps;

	use("wfq");
	pack(2, HIGH);
	hers[0]->process->policy.weight = 300;
	his->process->policy.weight = 300;
	/* It does not work. */
	queue_of(&alice, HIGH)->process->policy.weight = 10000;
	for (steps = 0; steps < 8 * SEC / POLL; steps++) {
		run(2, POLL);
		first_ns += on_device(hers[0]) ? POLL : 0;
	}
	CHECK_WITHIN(her_part(), 48, 52);
	CHECK_WITHIN(first_ns * 100 / her_ns, 73, 77);
}

TEST(processes_by_turns_are_no_new_tenant, "under wfq a tenant whose processes work one after the other has the quarter of the device that its weight gives to one")
{
	EACH_ANEW(i, ARRAY_SIZE(numbers), "%u processes: ", numbers[i]) {
		u64 had_ns = 0, end_ns;
		u32 now = 0, j;

		use("wfq");
		pack(numbers[i], HIGH);
		for (j = 0; j < numbers[i]; j++) {
			hers[j]->process->policy.weight = 25;
			if (j)
				hers[j]->wptr = hers[j]->rptr = hers[j]->waves = 0;
		}
		his->process->policy.weight = 75;
		for (end_ns = node.now_ns + 8 * SEC; node.now_ns < end_ns; had_ns += POLL) {
			run(numbers[i], POLL);
			if (!on_device(hers[now])) {
				had_ns = 0;
				continue;
			}
			if (!hers[now]->waves)
				launch(hers[now], 1, 64);
			if (numbers[i] == 1 || had_ns < 4 * MS)
				continue;
			drain(hers[now]);
			now = (now + 1) % numbers[i];
			submit(hers[now], 1000);
			had_ns = 0;
		}
		CHECK_WITHIN(her_part(), 20, 28);
	}
}

TEST(own_jobs_are_no_weight, "under wfq a tenant that puts its processes into jobs of their own has no more than without")
{
	EACH_ANEW(i, ARRAY_SIZE(numbers), "%u jobs: ", numbers[i]) {
		u32 j;

		use("wfq");
		pack(numbers[i], HIGH);
		for (j = 0; j < numbers[i]; j++) {
			jobs[j].next = node.policy.jobs;
			node.policy.jobs = &jobs[j];
			hers[j]->process->policy.job = &jobs[j];
		}
		run(numbers[i], 8 * SEC);
		CHECK_WITHIN(her_part(), 48, 52);
	}
}

TEST(queues_are_no_weight, "under wfq a process with 2 or 8 queues has the half of the device that it has with one")
{
	EACH_ANEW(i, ARRAY_SIZE(numbers), "%u queues: ", numbers[i]) {
		u32 j;

		use("wfq");
		pack(1, HIGH);
		for (j = 1; j < numbers[i]; j++)
			start_hog(hers[j] = new_queue(hers[0]->process, HIGH));
		run(numbers[i], 8 * SEC);
		CHECK_WITHIN(her_part(), 48, 52);
	}
}

TEST(a_group_is_a_tenant, "under wfq all processes of a group with a share are one tenant, whoever's they are, and users in no group are others")
{
	static struct gpreempt_policy_tenant users[MANY];

	EACH_ANEW(i, ARRAY_SIZE(numbers), "%u users: ", numbers[i]) {
		u32 j;

		use("wfq");
		memset(users, 0, sizeof(users));
		new_group(0, GPREEMPT_WEIGHT_NORMAL);
		pack(numbers[i], HIGH);
		for (j = 0; j < numbers[i]; j++) {
			hers[j]->process->policy.user = &users[j];
			hers[j]->process->policy.group = 1;
		}
		run(numbers[i], 8 * SEC);
		CHECK_WITHIN(her_part(), 48, 52);
	}
}

/* What of all reliefs do hers have, below endless work? In percent. */
static u64 her_part_of_reliefs(u32 nr, u64 ns)
{
	u64 all_ns;

	pack(nr, LOW);
	start_hog(new_queue(new_process(), HIGH));
	run(nr, 100 * MS);
	her_ns = his_ns = 0;
	run(nr, ns);
	all_ns = ns / (node.params.max_hold_ns + node.params.relief_ns) * node.params.relief_ns;
	/* What is above all keeps what it keeps beside one. */
	CHECK_WITHIN(her_ns + his_ns, all_ns * 9 / 10, all_ns * 115 / 100);
	return her_part();
}

TEST(processes_are_no_reliefs, "a tenant of whose processes 2 or 8 starve has the half of all reliefs that it has with one")
{
	EACH_ANEW(i, ARRAY_SIZE(numbers), "%u processes: ", numbers[i])
		CHECK_WITHIN(her_part_of_reliefs(numbers[i], 20 * SEC), 45, 55);
}

TEST(many_processes_are_no_reliefs, "a tenant with many starving processes leaves the other its half of all turns, and all of them run")
{
	u32 i;

	node.params.relief_ns = 5 * MS;
	CHECK_WITHIN(her_part_of_reliefs(MANY, 20 * SEC), 40, 60);
	for (i = 0; i < MANY; i++)
		CHECK(hers[i]->policy.seen.run_ns > node.now_ns - 6 * SEC);
}

TEST(a_relief_is_divided_in_a_tenant, "processes of one tenant that starve alone share the relief evenly")
{
	u32 i, turns[MANY] = { 0 };
	u64 steps;

	pack(MANY, LOW);
	drop_queue(his);
	start_hog(new_queue(new_process(), HIGH));
	for (steps = 0; steps < 10 * SEC / POLL; steps++) {
		pass_after(POLL);
		for (i = 0; i < MANY; i++)
			turns[i] += on_device(hers[i]);
	}
	for (i = 1; i < MANY; i++)
		CHECK_WITHIN(turns[i], turns[0] * 8 / 10, turns[0] * 12 / 10);
}

TEST(queues_are_no_deadlines, "under edf a process with 2 or 8 queues that are always late has the half of the device that it has with one, whenever they began")
{
	EACH_ANEW(i, ARRAY_SIZE(numbers), "%u queues: ", numbers[i]) {
		u32 j;

		use("edf");
		node.params.max_hold_ns = 0;
		pack(1, HIGH);
		hers[0]->process->policy.deadline_ns = 10 * MS;
		his->process->policy.deadline_ns = 10 * MS;
		for (j = 1; j < numbers[i]; j++) {
			hers[j] = new_queue(hers[0]->process, HIGH);
			run(1, 1300 * US);
			submit(hers[j], 1000);
		}
		her_ns = his_ns = 0;
		run(numbers[i], 8 * SEC);
		CHECK_WITHIN(her_part(), 45, 55);
	}
}

TEST(processes_are_no_deadlines, "under edf a tenant with 2 or 8 processes that are always late has the half of the device that it has with one")
{
	EACH_ANEW(i, ARRAY_SIZE(numbers), "%u processes: ", numbers[i]) {
		u32 j;

		use("edf");
		node.params.max_hold_ns = 0;
		pack(numbers[i], HIGH);
		his->process->policy.deadline_ns = 10 * MS;
		for (j = 0; j < numbers[i]; j++)
			hers[j]->process->policy.deadline_ns = 10 * MS;
		run(numbers[i], SEC);
		her_ns = his_ns = 0;
		run(numbers[i], 8 * SEC);
		CHECK_WITHIN(her_part(), 45, 55);
	}
}

/* Each with a deadline; only hers has work. */
static void only_she_works(void)
{
	use("edf");
	node.params.max_hold_ns = 0;
	pack(1, HIGH);
	drain(his);
	hers[0]->process->policy.deadline_ns = 20 * MS;
	his->process->policy.deadline_ns = 20 * MS;
}

/* One with a deadline has worked alone for so long when another one comes. */
static u64 taken_when_another_comes(u64 alone_ns)
{
	only_she_works();
	run(1, alone_ns);
	her_ns = his_ns = 0;
	start_hog(his);
	run(1, 100 * MS);
	return her_ns;
}

TEST(what_nobody_wants_is_not_owed, "under edf who has worked alone for long loses no more than a period to one that comes")
{
	EACH_ANEW(i, 2, "%u s: ", 2 * i + 1)
		CHECK_WITHIN(taken_when_another_comes((2 * i + 1) * SEC), 30 * MS, 60 * MS);
}

TEST(who_was_late_is_not_owed, "under edf who waited for long, for work of a job that is due sooner elsewhere, has no more than a period before one that comes then")
{
	struct queue *sooner;

	only_she_works();
	sooner = new_queue(new_process(), HIGH);
	sooner->process->policy.job = &jobs[0];
	jobs[0].dated_elsewhere = true;
	jobs[0].due_elsewhere_ns = 1;
	start_hog(sooner);
	run(1, SEC);
	CHECK(!on_device(hers[0]) && on_device(sooner));
	drain(sooner);
	her_ns = his_ns = 0;
	submit(his, 1000);
	his->rptr++;
	his->waves = 64;
	run(1, 100 * MS);
	CHECK_WITHIN(her_ns, 30 * MS, 75 * MS);
}
