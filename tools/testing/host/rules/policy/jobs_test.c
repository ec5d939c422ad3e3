// SPDX-License-Identifier: MIT
/*
 * jobs_test.c - jobs on several nodes
 *
 * Each node decides alone and tells the others what it means for its jobs, as job.c does in the driver: news.h. A node that is told looks at the
 * same moment; the others look every POLL. The node under test is one of them at a time.
 */
#include <string.h>

#include "demand.h"
#include "news.h"
#include "policy_node.h"
#include "tap.h"

#define NR_NODES	8
#define NR_JOBS		3

static struct node nodes[NR_NODES];
static struct gpreempt_policy_job jobs[NR_NODES][NR_JOBS];
static struct gpreempt_news news[NR_JOBS][GPREEMPT_NEWS_NODES];
/* Which nodes have processes of a job */
static u64 places[NR_JOBS];
static u32 here, nr_nodes;
/* Makes no pass any more */
static bool silent[NR_NODES];
static bool told[NR_NODES];
static u64 clock_ns;
/* Looks at once that news caused */
static u32 nr_told;

static void go_to(u32 i)
{
	nodes[here] = node;
	here = i;
	node = nodes[i];
	node.now_ns = clock_ns;
}

/* No node gives turns for debts. */
static void no_debts(void)
{
	u32 i;

	for (i = 0; i < nr_nodes; i++) {
		go_to(i);
		node.params.max_hold_ns = 0;
	}
}

static void begin_jobs(u32 nr)
{
	u32 i;

	memset(jobs, 0, sizeof(jobs));
	memset(news, 0, sizeof(news));
	memset(places, 0, sizeof(places));
	memset(silent, 0, sizeof(silent));
	memset(told, 0, sizeof(told));
	nr_told = 0;
	here = 0;
	nr_nodes = nr;
	clock_ns = node.now_ns;
	for (i = 0; i < nr; i++)
		nodes[i] = node;
}

static void join(struct process *process, u32 job)
{
	process->policy.job = &jobs[here][job];
	jobs[here][job].gang = true;
	places[job] |= 1ULL << here;
}

static void hear(void)
{
	u32 k;

	node.policy.jobs = NULL;
	for (k = 0; k < NR_JOBS; k++) {
		struct gpreempt_policy_job *job = &jobs[here][k];

		if (!(places[k] & 1ULL << here))
			continue;
		if (gpreempt_news_hear(job, news[k], places[k], here, clock_ns))
			node.all_due_ns = 0;
		job->next = node.policy.jobs;
		node.policy.jobs = job;
	}
}

static void tell(void)
{
	u32 i, k;

	for (k = 0; k < NR_JOBS; k++) {
		if (!(places[k] & 1ULL << here) || !gpreempt_news_tell(&news[k][here], &jobs[here][k], clock_ns))
			continue;
		for (i = 0; i < nr_nodes; i++)
			told[i] |= i != here && places[k] & 1ULL << i;
	}
}

static void pass_here(void)
{
	told[here] = false;
	hear();
	look();
	tell();
	act();
}

static void pass_on(u32 i)
{
	go_to(i);
	pass_here();
}

/* Those that were told look now, until none has anything new to say. Nobody keeps that up for ever. */
static void settle(void)
{
	u32 i, rounds;

	for (rounds = 0; rounds < 8; rounds++) {
		bool any = false;

		for (i = 0; i < nr_nodes; i++) {
			if (!told[i] || silent[i])
				continue;
			any = true;
			nr_told++;
			pass_on(i);
		}
		if (!any)
			return;
	}
	tap_fail(__FILE__, __LINE__, "nodes keep telling each other something new");
}

/* Everybody looks, a node after the other, and at once where they are told to. */
static void all_pass_after(u64 ns)
{
	u32 i;

	clock_ns += ns;
	for (i = 0; i < nr_nodes; i++) {
		if (!silent[i])
			pass_on(i);
		settle();
	}
}

static void all_pass_for(u64 ns)
{
	u64 end_ns = clock_ns + ns;

	while (clock_ns + POLL <= end_ns)
		all_pass_after(POLL);
}

/* The same queue of each node is at the same place. */
static u32 nr_on_device(const struct queue *q)
{
	u32 i, nr = 0;

	for (i = 0; i < nr_nodes; i++) {
		go_to(i);
		nr += on_device(q);
	}
	return nr;
}

#define CHECK_ON(q, nr)		CHECK_EQ(nr_on_device(q), nr)

/* On each node a low and a high queue; high's processes are job 0. Low works without end. */
static void high_job_beside_low(u32 nr)
{
	u32 i;

	begin_jobs(nr);
	for (i = 0; i < nr; i++) {
		go_to(i);
		two_processes();
		join(high->process, 0);
		start_hog(low);
	}
	all_pass_for(5 * MS);
	CHECK_ON(low, nr);
}

/* The same, and low is job 1, below which lowest works. */
static struct queue *lowest;

static void two_jobs_above_lowest(u32 nr)
{
	u32 i;

	begin_jobs(nr);
	for (i = 0; i < nr; i++) {
		go_to(i);
		two_processes();
		lowest = new_queue(new_process(), LOW - 10);
		join(high->process, 0);
		join(low->process, 1);
		start_hog(low);
		start_hog(lowest);
	}
	all_pass_for(5 * MS);
	CHECK_ON(low, nr);
	CHECK_ON(lowest, 0);
}

/* High is in no job: what it is on one node is nothing to the others. */
static void high_is_alone(void)
{
	u32 i;

	for (i = 0; i < nr_nodes; i++) {
		go_to(i);
		high->process->policy.job = NULL;
	}
	places[0] = 0;
}

static void high_works_on(u32 i)
{
	go_to(i);
	start_hog(high);
	pass_here();
	settle();
}

static void high_ends_on(u32 i)
{
	go_to(i);
	drain(high);
}

/* ---- the job that comes ---- */

TEST(demand_of_a_job_is_demand_on_all_its_nodes, "when a job of eight nodes has work on one, its victims leave all eight with the look that follows, and come back to all together")
{
	high_job_beside_low(8);
	high_works_on(3);
	CHECK_ON(low, 0);
	go_to(5);
	CHECK_EQ(high->policy.verdict, GPREEMPT_VERDICT_JOB);
	/* It has no waves that the runlist would bring back. */
	CHECK_EQ(high->policy.seen.restore_since_ns, 0);
	go_to(3);
	CHECK_EQ(high->policy.verdict, GPREEMPT_VERDICT_RUNS);
	all_pass_for(100 * MS);
	CHECK_ON(low, 0);
	high_ends_on(3);
	all_pass_for(3 * MS);
	CHECK_ON(low, 8);
}

TEST(what_a_slow_node_said_ends, "a node that looks no more keeps the others' victims off for no longer than what it said holds")
{
	u64 since_ns;

	high_job_beside_low(4);
	high_works_on(0);
	since_ns = clock_ns;
	silent[0] = true;
	all_pass_for(GPREEMPT_LATE_NS / 2);
	CHECK_ON(low, 0);
	while (nr_on_device(low) < 3 && clock_ns - since_ns < SEC)
		all_pass_after(POLL);
	CHECK(clock_ns - since_ns <= GPREEMPT_LATE_NS + 2 * POLL);
}

TEST(what_a_node_said_holds_over_its_passes, "what a node says of a job holds until it can say so again, however long its passes take")
{
	u64 since_ns;

	high_job_beside_low(4);
	go_to(0);
	node.policy.pass_ns = node.pass_takes_ns = 20 * MS;
	high_works_on(0);
	since_ns = clock_ns;
	silent[0] = true;
	all_pass_for(3 * 20 * MS);
	CHECK_ON(low, 0);
	while (nr_on_device(low) < 3 && clock_ns - since_ns < SEC)
		all_pass_after(POLL);
	CHECK(clock_ns - since_ns <= GPREEMPT_JOB_PASSES * 20 * MS + 2 * POLL);
}

TEST(slow_nodes_delay_no_other, "a node that looks no more delays no other one's decision about the job")
{
	high_job_beside_low(4);
	silent[2] = true;
	high_works_on(0);
	CHECK_ON(low, 1);
	high_ends_on(0);
	all_pass_for(3 * MS);
	CHECK_ON(low, 4);
}

TEST(a_job_counts_no_more_than_its_work, "work of a job counts elsewhere with its own priority: a less urgent process of a job does not lift a more urgent one")
{
	u32 i;

	begin_jobs(2);
	for (i = 0; i < 2; i++) {
		go_to(i);
		three_processes();
		join(low->process, 0);
		join(high->process, 0);
		start_hog(middle);
	}
	all_pass_for(5 * MS);
	go_to(0);
	drain(middle);
	start_hog(low);
	all_pass_for(20 * MS);
	go_to(1);
	CHECK(on_device(middle));
	/* Its own less urgent ones it does. */
	go_to(0);
	start_hog(high);
	all_pass_for(POLL);
	go_to(1);
	CHECK(!on_device(middle));
}

TEST(work_is_not_its_own_echo, "nodes do not keep a job at work by telling each other: after its end they have nothing to say")
{
	u32 i;

	high_job_beside_low(8);
	TIMES(20) {
		for (i = 0; i < 8; i += 3)
			high_works_on(i);
		all_pass_for(2 * MS);
		for (i = 0; i < 8; i += 3)
			high_ends_on(i);
		all_pass_for(4 * MS);
		CHECK_ON(low, 8);
		for (i = 0; i < 8; i++)
			CHECK_EQ(news[0][i].wants, 0);
	}
}

TEST(a_held_queue_does_not_follow, "a queue that is held on request does not come back because its job works elsewhere, and its own work is no news for the others")
{
	high_job_beside_low(2);
	go_to(1);
	high->policy.set.hold = true;
	submit(high, 1);
	all_pass_for(MS);
	go_to(1);
	CHECK(!on_device(high));
	CHECK_EQ(news[0][1].wants, 0);
	CHECK_ON(low, 2);
	high_works_on(0);
	all_pass_for(5 * MS);
	go_to(1);
	CHECK(!on_device(high) && on_device(low));
	CHECK_EQ(high->policy.verdict, GPREEMPT_VERDICT_HOLD);
}

/* ---- the job that leaves ---- */

TEST(a_job_leaves_as_one, "a job that is off one node because of its rank leaves the others to lower work, where it would only wait, and comes back to all with the next look")
{
	u32 i;

	two_jobs_above_lowest(4);
	high_is_alone();
	high_works_on(1);
	CHECK_ON(low, 0);
	CHECK_ON(lowest, 3);
	go_to(0);
	CHECK_EQ(low->policy.verdict, GPREEMPT_VERDICT_JOB_YIELDS);
	go_to(1);
	CHECK_EQ(low->policy.verdict, GPREEMPT_VERDICT_YIELDS);
	all_pass_for(100 * MS);
	CHECK_ON(low, 0);
	/* Off the device it does not work. */
	for (i = 0; i < 4; i++)
		CHECK_EQ(news[1][i].wants, 0);
	high_ends_on(1);
	while (go_to(1), !on_device(low))
		all_pass_after(POLL);
	CHECK_ON(low, 4);
	CHECK_ON(lowest, 0);
}

TEST(a_job_stays_where_none_waits, "a job that is off one node stays on the others as long as there is nobody else's work")
{
	u32 i;

	two_jobs_above_lowest(4);
	high_is_alone();
	for (i = 0; i < 4; i++) {
		go_to(i);
		finish_saved(lowest);
	}
	all_pass_for(5 * MS);
	high_works_on(1);
	all_pass_for(50 * MS);
	CHECK_ON(low, 3);
	/* It does not work there: it waits. */
	for (i = 0; i < 4; i++)
		CHECK_EQ(news[1][i].wants, 0);
	/* Until there is. */
	go_to(2);
	submit(lowest, 1);
	all_pass_after(POLL);
	CHECK_ON(low, 2);
}

TEST(a_job_may_be_told_to_stay, "where a job is told to stay, it leaves only the nodes on which it is outranked")
{
	u32 i;

	two_jobs_above_lowest(4);
	high_is_alone();
	for (i = 0; i < 4; i++)
		jobs[i][1].gang = false;
	high_works_on(1);
	all_pass_for(50 * MS);
	CHECK_ON(low, 3);
	CHECK_ON(lowest, 0);
}

TEST(equals_get_the_nodes_of_a_job_that_waits, "also a queue of the same priority, beside which the node would be parked, gets the device for as long as the job is off elsewhere")
{
	struct queue *equal;
	u32 i;

	begin_jobs(2);
	for (i = 0; i < 2; i++) {
		go_to(i);
		two_processes();
		join(low->process, 1);
		equal = new_queue(new_process(), LOW);
		start_hog(low);
	}
	go_to(1);
	drop_queue(high);
	all_pass_for(3 * SEC);
	high_works_on(0);
	all_pass_for(5 * MS);
	/* It does not sleep through the beginning of such work. */
	go_to(1);
	CHECK(on_device(low));
	CHECK(!node.decision.park);
	start_hog(equal);
	all_pass_after(POLL);
	go_to(1);
	CHECK(!on_device(low) && on_device(equal));
	high_ends_on(0);
	all_pass_for(3 * MS);
	go_to(1);
	CHECK(on_device(low) && on_device(equal));
}

TEST(a_slow_node_keeps_no_job_off, "a job does not stay off others for longer than what the node said holds that looks no more")
{
	u64 since_ns;

	two_jobs_above_lowest(3);
	high_is_alone();
	high_works_on(1);
	CHECK_ON(low, 0);
	since_ns = clock_ns;
	silent[1] = true;
	while (nr_on_device(low) < 2 && clock_ns - since_ns < SEC)
		all_pass_after(POLL);
	CHECK(clock_ns - since_ns <= GPREEMPT_LATE_NS + 2 * POLL);
}

/* Nodes look at the same moment: none knows what the others decide. */
static void all_pass_at_once(u64 ns)
{
	u32 i;

	clock_ns += ns;
	for (i = 0; i < nr_nodes; i++) {
		go_to(i);
		told[i] = false;
		hear();
		look();
	}
	for (i = 0; i < nr_nodes; i++) {
		go_to(i);
		tell();
		act();
	}
}

TEST(a_job_that_is_off_two_nodes, "nodes that take a job off at the same moment have nothing more to tell each other, and it comes back when the last of them lets it")
{
	u32 i, n, news_told = 0;

	two_jobs_above_lowest(2);
	high_is_alone();
	for (i = 0; i < 2; i++) {
		go_to(i);
		start_hog(high);
	}
	for (n = 0; n < 100; n++) {
		all_pass_at_once(POLL);
		for (i = 0; i < 2; i++)
			news_told += n > 2 && told[i];
	}
	CHECK_EQ(news_told, 0);
	CHECK_ON(low, 0);
	high_ends_on(0);
	for (n = 0; n < 100; n++)
		all_pass_at_once(POLL);
	CHECK_ON(low, 0);
	go_to(0);
	CHECK(on_device(lowest));
	high_ends_on(1);
	for (n = 0; n < 20; n++)
		all_pass_at_once(POLL);
	CHECK_ON(low, 2);
}

TEST(a_relief_of_others_brings_no_job_back, "a job that is off for its rank stays off elsewhere while a third one has its relief on that node")
{
	two_jobs_above_lowest(2);
	high_is_alone();
	go_to(0);
	node.params.max_hold_ns = 50 * MS;
	high_works_on(0);
	TIMES(600) {
		all_pass_after(POLL);
		go_to(0);
		/* Only the third one is owed anything. */
		low->process->policy.debt_ns = 0;
		go_to(1);
		CHECK(!on_device(low));
	}
	go_to(0);
	CHECK(node.nr_relief > 0);
}

TEST(a_job_that_waits_has_no_relief_of_its_own, "where a job is off because of another node, its relief there comes with the one of that node, and not by itself")
{
	two_jobs_above_lowest(2);
	high_is_alone();
	go_to(0);
	node.params.max_hold_ns = 0;
	high_works_on(0);
	all_pass_for(3 * SEC);
	go_to(1);
	CHECK(!on_device(low));
	CHECK_EQ(node.nr_relief, 0);
}

/* Each is above the other on one of two nodes. */
static void two_jobs_cross(s32 first, s32 second, s32 others)
{
	u32 i;

	begin_jobs(2);
	for (i = 0; i < 2; i++) {
		go_to(i);
		low = new_queue(new_process(), others);
		high = new_queue(new_process(), i ? second : first);
		lowest = new_queue(new_process(), LOW - 10);
		join(low->process, 0);
		join(high->process, 1);
		start_hog(low);
		start_hog(high);
		start_hog(lowest);
	}
}

TEST(jobs_that_cross_do_not_wait_for_each_other, "of two jobs each of which is above the other on one of two nodes, the one with the highest queue runs on all it can, and nothing flaps")
{
	static const struct { s32 first, second, others; } cases[] = { { 7, 0, 3 }, { 7, 1, 7 }, { 7, 0, 1 }, { 5, 0, 5 } };
	u32 i, acts;

	EACH_CASE_ANEW(c, cases) {
		two_jobs_cross(cases[c].first, cases[c].second, cases[c].others);
		no_debts();
		all_pass_for(20 * MS);
		acts = nodes[0].nr_acting + nodes[1].nr_acting;
		nr_told = 0;
		all_pass_for(500 * MS);
		go_to(0);
		CHECK(on_device(high));
		for (i = 0; i < 2; i++) {
			go_to(i);
			CHECK(on_device(low) || on_device(high));
			CHECK(!on_device(lowest));
		}
		go_to(0);
		CHECK_EQ(nodes[0].nr_acting + nodes[1].nr_acting, acts);
		CHECK(nr_told < 10);
	}
}

TEST(leaving_with_a_job_takes_no_budget_of_others, "what a job that leaves and returns elsewhere costs a node delays nothing that is above there")
{
	u32 i;

	two_jobs_above_lowest(2);
	high_is_alone();
	for (i = 0; i < 2; i++) {
		go_to(i);
		node.pass_takes_ns = 200 * US;
	}
	/* The node of what is above has no such bound. */
	go_to(0);
	node.pass_takes_ns = 10 * US;
	TIMES(200) {
		high_works_on(0);
		all_pass_for(MS);
		high_ends_on(0);
		all_pass_for(2 * MS);
	}
	go_to(1);
	CHECK(node.nr_acting > 4);
	start_hog(high);
	all_pass_after(POLL);
	go_to(1);
	CHECK(!on_device(low) && !on_device(lowest));
}

/* A switch of 3 ms on both nodes, of which leaving takes two */
static void slow_switches(u32 overhead_pct)
{
	u32 i;

	two_jobs_above_lowest(2);
	high_is_alone();
	no_debts();
	for (i = 0; i < 2; i++) {
		go_to(i);
		node.params.overhead_pct = overhead_pct;
		node.pass_takes_ns = MS;
		node.policy.pass_ns = MS;
	}
}

/* The job goes on on both nodes. */
static void job_works_for(u64 ns)
{
	u32 i;

	TIMES(ns / POLL) {
		for (i = 0; i < 2; i++) {
			go_to(i);
			launch(low, 1, 0);
		}
		all_pass_after(POLL);
	}
}

/* High works there for a short time: how many nodes has the job meanwhile? */
static u32 left_by_high_on(u32 i)
{
	u32 nr;

	high_works_on(i);
	all_pass_for(20 * MS);
	nr = nr_on_device(low);
	high_ends_on(i);
	while (nr_on_device(low) < 2)
		all_pass_after(POLL);
	return nr;
}

TEST(a_job_leaves_as_often_as_its_service_pays, "leaving other nodes costs a job no more than a tenth of its service, and of 100 ms at once, whichever node it leaves for; when that is used up it stays for as long as it is off, and leaves again when it has worked")
{
	slow_switches(0);
	CHECK_EQ(left_by_high_on(0), 0);
	/* Twice 6 ms are more than 10. */
	high_works_on(0);
	all_pass_for(200 * MS);
	CHECK_ON(low, 1);
	CHECK_ON(lowest, 0);
	high_ends_on(0);
	/* It works again after a switch, and pays 1 ms in 10. */
	while (nr_on_device(low) < 2)
		all_pass_after(POLL);
	job_works_for(10 * MS);
	CHECK_EQ(left_by_high_on(0), 1);
	job_works_for(30 * MS);
	CHECK_EQ(left_by_high_on(1), 0);
	CHECK_EQ(left_by_high_on(0), 1);
}

TEST(a_budget_says_what_leaving_may_cost, "where an overhead budget is set, leaving may cost a job that part of its service")
{
	slow_switches(20);
	CHECK_EQ(left_by_high_on(0), 0);
	CHECK_EQ(left_by_high_on(0), 0);
	CHECK_EQ(left_by_high_on(0), 0);
	CHECK_EQ(left_by_high_on(0), 1);
}

TEST(a_job_that_moves_in_has_left_none, "a job that comes to a node pays there for nothing that it left before")
{
	slow_switches(0);
	news[1][1].left_ns = SEC;
	jobs[0][1].told_ns = 0;
	CHECK_EQ(left_by_high_on(0), 0);
}

/* ---- a job that waits for itself ---- */

static void becomes_blocked(struct queue *q)
{
	submit(q, 1);
	launch(q, 1, 0);
	submit(q, 1);
}

TEST(a_job_that_waits_for_itself_works, "a queue that stands still without waves for its job's work on another node has demand as long as that lasts; then it is blocked as any other")
{
	high_job_beside_low(2);
	high_works_on(0);
	go_to(1);
	becomes_blocked(high);
	all_pass_for(200 * MS);
	CHECK_ON(low, 0);
	high_ends_on(0);
	all_pass_for(20 * MS);
	CHECK_ON(low, 2);
	go_to(1);
	CHECK_EQ(high->policy.verdict, GPREEMPT_VERDICT_BLOCKED);
}

TEST(a_job_waits_for_a_long_kernel, "work of a job on a node on which no decision depends on it is seen all the same, if it is a kernel of 200 ms for which another node waits")
{
	high_job_beside_low(2);
	go_to(0);
	finish(low);
	drop_queue(low);
	launch(low, 0, 0);
	start_hog(high);
	pass_here();
	settle();
	go_to(1);
	becomes_blocked(high);
	all_pass_for(200 * MS);
	go_to(1);
	CHECK(!on_device(low));
	high_ends_on(0);
	all_pass_for(20 * MS);
	go_to(1);
	CHECK(on_device(low));
}

TEST(news_is_not_overslept, "a node that seldom looks does so in time for what it was told to end, and for what it has told to be renewed")
{
	u32 i;

	high_job_beside_low(2);
	for (i = 0; i < 2; i++) {
		go_to(i);
		node.params.poll_ns = 0;
		node.params.interval_ns = 5 * SEC;
	}
	high_works_on(0);
	go_to(0);
	CHECK(node.decision.next_ns <= GPREEMPT_LATE_NS / 2);
	go_to(1);
	CHECK(!on_device(low));
	CHECK(node.decision.next_ns <= GPREEMPT_LATE_NS);
}

TEST(a_job_that_waits_for_something_else_is_blocked, "two queues of a job that stand still on two nodes, each without waves, do not keep each other at work")
{
	u32 i;

	high_job_beside_low(2);
	for (i = 0; i < 2; i++) {
		go_to(i);
		becomes_blocked(high);
	}
	all_pass_for(2 * node.params.blocked_ns + 20 * MS);
	CHECK_ON(low, 2);
}

/* ---- relief ---- */

/* High keeps low, a job, off all nodes. */
static void high_holds_a_job(u32 nr)
{
	u32 i;

	begin_jobs(nr);
	for (i = 0; i < nr; i++) {
		go_to(i);
		two_processes();
		join(low->process, 1);
		start_hog(low);
	}
	all_pass_for(5 * MS);
}

static void high_hogs(u32 first, u32 nr)
{
	u32 i;

	for (i = first; i < first + nr; i++) {
		go_to(i);
		start_hog(high);
	}
}

/* How long the job has had all nodes at the same time, and how long what is above was off any, in so long. */
static void count_relief(u64 ns, u32 nr, u64 *all_ns, u64 *any_ns)
{
	u64 end_ns = clock_ns + ns;

	*all_ns = *any_ns = 0;
	while (clock_ns < end_ns) {
		all_pass_after(POLL);
		*all_ns += nr_on_device(low) == nr ? POLL : 0;
		*any_ns += nr_on_device(high) < nr ? POLL : 0;
	}
}

TEST(relief_of_a_job_is_on_all_nodes, "a job that starves on four nodes has its relief on all of them at the same time")
{
	u64 all_ns, any_ns;

	high_holds_a_job(4);
	high_hogs(0, 4);
	count_relief(3500 * MS, 4, &all_ns, &any_ns);
	CHECK_WITHIN(all_ns, 3 * 15 * MS, 4 * 20 * MS);
	CHECK(any_ns <= all_ns * 5 / 4);
}

TEST(one_node_begins_the_relief_of_a_job, "of nodes that would give a job its relief at different times one begins, and the others join, also where the job does not leave other nodes")
{
	u64 all_ns, any_ns;
	u32 i;

	EACH_ANEW(stay, 2, "stay %u: ", stay) {
		high_holds_a_job(4);
		for (i = 0; i < 4; i++) {
			go_to(i);
			jobs[i][1].gang = !stay;
			node.params.max_hold_ns = SEC + 70 * MS * (3 - i);
		}
		high_hogs(0, 4);
		count_relief(5 * SEC, 4, &all_ns, &any_ns);
		CHECK(all_ns >= 3 * 15 * MS);
		CHECK(any_ns <= all_ns + 2 * 25 * MS);
	}
}

TEST(reliefs_of_a_job_come_together, "where a job began to starve on one node long after the others, and another one has had its relief there, it has its own on all at once all the same")
{
	struct queue *other;
	u64 all_ns, any_ns;

	high_holds_a_job(2);
	go_to(1);
	other = new_queue(new_process(), LOW);
	start_hog(other);
	start_hog(high);
	/* Low has no work there. */
	drain(low);
	all_pass_for(400 * MS);
	go_to(1);
	/* The other one's relief has come on node 1. */
	all_pass_for(SEC);
	high_hogs(0, 1);
	go_to(1);
	submit(low, 1000);
	count_relief(4 * SEC, 2, &all_ns, &any_ns);
	CHECK(all_ns >= 2 * 8 * MS);
	/* What is above keeps its share. */
	go_to(1);
	CHECK(any_ns <= 4 * 45 * MS);
}

TEST(relief_elsewhere_is_bounded, "jobs whose reliefs others begin take no more than twice the time of a relief from what is above")
{
	u64 end_ns, off_ns = 0;
	u32 i, k;

	begin_jobs(8);
	for (i = 0; i < 8; i++) {
		go_to(i);
		two_processes();
		for (k = 0; k < NR_JOBS; k++) {
			struct queue *q = new_queue(new_process(), LOW);

			join(q->process, k);
			start_hog(q);
		}
	}
	for (i = 0; i < 8; i++) {
		all_pass_for(137 * MS);
		go_to(i);
		start_hog(high);
	}
	end_ns = clock_ns + 8 * SEC;
	while (clock_ns < end_ns) {
		all_pass_after(POLL);
		go_to(0);
		off_ns += on_device(high) ? 0 : POLL;
	}
	CHECK(off_ns > 0);
	CHECK(off_ns <= 8 * (2 * node.params.relief_ns + 2 * MS));
}

TEST(members_of_a_job_have_one_turn, "processes of a job on one node have their relief together, and count as one beside others")
{
	struct queue *other, *second;
	u64 together_ns = 0, one_ns = 0;

	begin_jobs(1);
	two_processes();
	second = new_queue(new_process(), LOW);
	other = new_queue(new_process(), LOW);
	join(low->process, 0);
	join(second->process, 0);
	start_hog(low);
	start_hog(second);
	start_hog(other);
	all_pass_for(2 * MS);
	start_hog(high);
	TIMES(5500) {
		all_pass_after(POLL);
		together_ns += on_device(low) && on_device(second) ? POLL : 0;
		one_ns += on_device(low) != on_device(second) ? POLL : 0;
	}
	CHECK_EQ(one_ns, 0);
	CHECK_WITHIN(together_ns, 8 * MS, 12 * MS);
}

TEST(no_relief_is_joined_where_none_is_given, "a node that gives no reliefs (gpreempt_max_hold_ms is 0) joins none")
{
	u32 i;

	high_holds_a_job(2);
	go_to(0);
	node.params.max_hold_ns = 0;
	high_hogs(0, 1);
	silent[1] = true;
	for (i = 0; i < 200 * MS / POLL; i++) {
		news[1][1].relief_ns = clock_ns + 10 * MS;
		all_pass_after(POLL);
		CHECK(i < 3 || on_device(high));
	}
}

TEST(gaps_of_lower_work_are_none, "the gaps of lower work for which a job leaves do not delay its return")
{
	u32 i;

	two_jobs_above_lowest(2);
	high_is_alone();
	high_works_on(0);
	go_to(1);
	node.pass_takes_ns = 100 * US;
	node.params.overhead_pct = 0;
	TIMES(20) {
		go_to(1);
		drain(lowest);
		for (i = 0; i < 20 && (go_to(1), !on_device(low)); i++)
			all_pass_after(POLL);
		CHECK(i < 20);
		submit(lowest, 1);
		all_pass_after(POLL);
		go_to(1);
		CHECK(on_device(lowest) && !on_device(low));
	}
	CHECK_EQ(low->policy.gaps.nr, 0);
}

TEST(words_of_a_hostile_node, "however often another node says that a job has its turn in a relief, what is above keeps all but twice the time of a relief")
{
	u64 off_ns = 0;
	u32 i;

	high_holds_a_job(2);
	go_to(0);
	high_hogs(0, 1);
	silent[1] = true;
	TIMES(5) {
		for (i = 0; i < SEC / POLL; i++) {
			news[1][1].relief_ns = i % 250 < 150 ? clock_ns + 10 * MS : 0;
			all_pass_after(POLL);
			off_ns += on_device(high) ? 0 : POLL;
		}
	}
	CHECK_WITHIN(off_ns, 5 * 8 * MS, 5 * 2 * 22 * MS);
}

/* ---- nodes that need not look ---- */

TEST(jobs_let_nodes_park, "where nobody is above or below a job, nodes park, also while others look, unless it works")
{
	u32 i;

	begin_jobs(3);
	for (i = 0; i < 3; i++) {
		go_to(i);
		two_processes();
		if (i)
			drop_queue(low);
		join(high->process, 0);
	}
	all_pass_for(3 * SEC);
	go_to(0);
	CHECK(!node.decision.park);
	for (i = 1; i < 3; i++) {
		go_to(i);
		CHECK(node.decision.park);
	}
	/* Then the first one needs to know. */
	high_works_on(0);
	for (i = 1; i < 3; i++) {
		go_to(i);
		CHECK(!node.decision.park);
		CHECK(node.decision.next_ns <= GPREEMPT_LATE_NS / 2);
	}
	high_ends_on(0);
	all_pass_for(2 * SEC);
	for (i = 1; i < 3; i++) {
		go_to(i);
		CHECK(node.decision.park);
	}
}

TEST(jobs_without_rivals_park, "a job that works without end and without rivals keeps no node awake")
{
	u32 i;

	begin_jobs(4);
	for (i = 0; i < 4; i++) {
		go_to(i);
		high = new_queue(new_process(), HIGH);
		join(high->process, 0);
		start_hog(high);
	}
	all_pass_for(100 * MS);
	for (i = 0; i < 4; i++) {
		go_to(i);
		CHECK(node.decision.park);
	}
}

/* ---- without ---- */

static u64 random_state;

static u32 random_below(u32 n)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (random_state >> 33) % n;
}

/* Everything that a random history of one node decides. */
static u64 history(u64 seed, bool with_jobs, const char *policy)
{
	struct queue *qs[6];
	u64 sum = 0;
	u32 i, n;

	tap_reset();
	begin_jobs(1);
	random_state = seed;
	use(policy);
	for (i = 0; i < 6; i++) {
		qs[i] = new_queue(new_process(), LOW + (s32)random_below(10));
		if (with_jobs && i < NR_JOBS)
			join(qs[i]->process, i);
	}
	/* What a job is owed is divided among tenants as what a process is. */
	for (n = 0; n < 400; n++) {
		struct queue *q = qs[random_below(6)];

		switch (random_below(4)) {
		case 0:
			submit(q, 1 + random_below(3));
			break;
		case 1:
			if (on_device(q) && pending(q))
				launch(q, 1, random_below(3));
			break;
		case 2:
			if (on_device(q))
				drain(q);
			break;
		}
		clock_ns += random_below(40) ? POLL : 600 * MS;
		node.now_ns = clock_ns;
		/* All of them are looked at. */
		node.all_due_ns = 0;
		pass_here();
		for (i = 0; i < 6; i++)
			sum = sum * 31 + qs[i]->policy.action + 4 * qs[i]->policy.verdict + 256 * qs[i]->policy.preempted;
		sum = sum * 31 + node.decision.next_ns + node.decision.park + 2 * node.decision.nr_relief;
	}
	return sum;
}

TEST(a_job_of_one_node_is_as_none, "a job with all its processes on one node changes no decision, whatever the policy")
{
	static const char *const names[] = { "hpf", "edf", "wfq" };
	u64 seed;

	EACH_CASE(i, names)
		for (seed = 1; seed <= 20; seed++)
			CHECK_EQ(history(seed, true, names[i]), history(seed, false, names[i]));
}

TEST(wfq_shares_by_job, "under wfq a job of three processes has the share of one")
{
	struct queue *member[3], *alone;
	u64 had_ns = 0, all_ns = 0;
	u32 i;

	begin_jobs(1);
	use("wfq");
	for (i = 0; i < 3; i++) {
		member[i] = new_queue(new_process(), HIGH);
		join(member[i]->process, 0);
		start_hog(member[i]);
	}
	alone = new_queue(new_process(), HIGH);
	start_hog(alone);
	TIMES(5000) {
		clock_ns += POLL;
		node.now_ns = clock_ns;
		pass_here();
		all_ns += POLL;
		had_ns += on_device(alone) ? POLL : 0;
		CHECK_EQ(on_device(member[0]), on_device(member[2]));
	}
	CHECK_WITHIN(had_ns * 100 / all_ns, 45, 55);
}

/* On each node a member of a job and a rival of equal rank, both with work without end, which begins on one node after the other. */
static struct queue *member, *rival;

static void works_for_ever(struct queue *q)
{
	if (on_device(q))
		start_hog(q);
	else
		submit(q, 2);
}

static void equals_by_turns(u32 nr, bool gang)
{
	u32 i;

	begin_jobs(nr);
	for (i = 0; i < nr; i++) {
		go_to(i);
		use("wfq");
		member = new_queue(new_process(), HIGH);
		rival = new_queue(new_process(), HIGH);
		join(member->process, 0);
		jobs[i][0].gang = gang;
	}
	for (i = 0; i < nr; i++) {
		go_to(i);
		works_for_ever(i & 1 ? member : rival);
		all_pass_for(1700 * US);
		go_to(i);
		works_for_ever(i & 1 ? rival : member);
		all_pass_for(1100 * US);
	}
}

TEST(turns_of_a_job_come_together, "under wfq a job has its turn on all four nodes at the same time, when it has it on the first one, and takes no more of any than it had alone")
{
	u64 together_ns[2], rival_ns[4];
	u32 k;

	EACH_ANEW(gang, 2, "gang %u: ", gang) {
		equals_by_turns(4, gang);
		together_ns[gang] = 0;
		memset(rival_ns, 0, sizeof(rival_ns));
		TIMES(20000) {
			all_pass_after(POLL);
			together_ns[gang] += nr_on_device(member) == 4 ? POLL : 0;
			for (k = 0; k < 4; k++) {
				go_to(k);
				rival_ns[k] += on_device(rival) ? POLL : 0;
			}
		}
	}
	CHECK(together_ns[0] * 100 / (20000 * POLL) < 15);
	CHECK_WITHIN(together_ns[1] * 100 / (20000 * POLL), 42, 55);
	for (k = 0; k < 4; k++)
		CHECK_WITHIN(rival_ns[k] * 100 / (20000 * POLL), 45, 58);
}

TEST(turns_of_jobs_that_cross, "under wfq, of two jobs on the same two nodes, which would have their turns at different times, one has both and then the other one, and neither waits for the other with a node in its hand")
{
	u64 both_ns[2] = { 0 };
	u32 k;

	equals_by_turns(2, true);
	for (k = 0; k < 2; k++) {
		go_to(k);
		join(rival->process, 1);
	}
	TIMES(20000) {
		all_pass_after(POLL);
		both_ns[0] += nr_on_device(member) == 2 ? POLL : 0;
		both_ns[1] += nr_on_device(rival) == 2 ? POLL : 0;
	}
	CHECK_WITHIN(both_ns[0] * 100 / (20000 * POLL), 42, 55);
	CHECK_WITHIN(both_ns[1] * 100 / (20000 * POLL), 42, 55);
}

TEST(a_job_follows_the_nodes_before, "under wfq a job that has less of a later node loses nothing of the first one")
{
	u64 first_ns = 0, last_ns = 0;

	equals_by_turns(2, true);
	go_to(1);
	rival->process->policy.weight = 300;
	member->process->policy.weight = 100;
	TIMES(20000) {
		all_pass_after(POLL);
		last_ns += on_device(member) ? POLL : 0;
		go_to(0);
		first_ns += on_device(member) ? POLL : 0;
	}
	CHECK_WITHIN(first_ns * 100 / (20000 * POLL), 45, 55);
	CHECK_WITHIN(last_ns * 100 / (20000 * POLL), 15, 30);
}

/* The same queue of each node gets work without end. */
static void all_start(struct queue *q)
{
	u32 i;

	for (i = 0; i < nr_nodes; i++) {
		go_to(i);
		start_hog(q);
	}
}

/* On two nodes a queue of job 0 and a rival, under edf, all of them with work that does not end; the first node has the job's deadline. */
static void members_beside_rivals_by_deadline(u64 deadline_ns, u64 rivals_ns)
{
	u32 k;

	begin_jobs(2);
	for (k = 0; k < 2; k++) {
		go_to(k);
		use("edf");
		member = new_queue(new_process(), HIGH);
		rival = new_queue(new_process(), HIGH);
		join(member->process, 0);
		rival->process->policy.deadline_ns = rivals_ns;
	}
	go_to(0);
	member->process->policy.deadline_ns = deadline_ns;
}

TEST(a_job_has_one_deadline, "under edf work of a job is due on all nodes when the first of it is, also where its processes have no deadline, and as long as that node says so")
{
	members_beside_rivals_by_deadline(20 * MS, 50 * MS);
	all_start(rival);
	all_pass_for(2 * MS);
	CHECK_ON(rival, 2);
	all_start(member);
	all_pass_after(POLL);
	CHECK_ON(member, 2);
	CHECK_ON(rival, 0);
	/* Later work of it makes nothing later. */
	go_to(0);
	middle = new_queue(member->process, HIGH);
	middle->policy.set.deadline_ns = 40 * MS;
	start_hog(middle);
	all_pass_after(POLL);
	go_to(0);
	CHECK_EQ(jobs[1][0].due_elsewhere_ns, member->process->policy.share.due_ns);
	/* The node that has the deadline looks no more. */
	silent[0] = true;
	all_pass_for(GPREEMPT_LATE_NS + POLL);
	go_to(1);
	CHECK(on_device(rival));
	CHECK(!on_device(member));
}

TEST(a_job_without_work_is_due_nowhere, "under edf the deadline of a job ends with its work")
{
	members_beside_rivals_by_deadline(20 * MS, 50 * MS);
	all_start(rival);
	go_to(0);
	start_hog(member);
	all_pass_for(2 * MS);
	go_to(0);
	drain(member);
	all_pass_for(2 * MS);
	CHECK_EQ(jobs[1][0].due_elsewhere_ns, 0);
	CHECK_ON(rival, 2);
	go_to(1);
	start_hog(member);
	all_pass_for(2 * MS);
	go_to(1);
	CHECK(on_device(rival));
	CHECK(!on_device(member));
}

TEST(jobs_share_by_deadline, "under edf two jobs with work without end on the same nodes have them both by turns, together, and in the proportion of their periods' number")
{
	u64 both_ns[2] = { 0 }, apart_ns = 0;
	u32 k;

	members_beside_rivals_by_deadline(20 * MS, 20 * MS);
	for (k = 0; k < 2; k++) {
		go_to(k);
		join(rival->process, 1);
		start_hog(member);
	}
	all_pass_for(10 * MS);
	all_start(rival);
	TIMES(10000) {
		u32 nr[2];

		all_pass_after(POLL);
		CHECK(!jobs[0][0].out && !jobs[1][0].out);
		nr[0] = nr_on_device(member);
		nr[1] = nr_on_device(rival);
		for (k = 0; k < 2; k++)
			both_ns[k] += nr[k] == 2 ? POLL : 0;
		apart_ns += nr[0] == 1 ? POLL : 0;
	}
	CHECK_WITHIN(both_ns[0] * 100 / (10000 * POLL), 35, 65);
	CHECK_WITHIN(both_ns[1] * 100 / (10000 * POLL), 35, 65);
	CHECK(apart_ns < 5 * 10000 * POLL / 100);
}

TEST(deadlines_wake_parked_nodes, "under edf a node without deadlines of its own looks when a job of it gets work that is due, though all were parked")
{
	members_beside_rivals_by_deadline(20 * MS, 0);
	go_to(1);
	start_hog(rival);
	all_pass_for(2 * SEC);
	go_to(1);
	CHECK(!node.decision.park);
	start_hog(member);
	go_to(0);
	start_hog(member);
	all_pass_after(POLL);
	go_to(1);
	CHECK(on_device(member));
	CHECK(!on_device(rival));
}

/* The budget of the first node is used up. */
static void spend_budget(void)
{
	go_to(0);
	spend(high, GPREEMPT_OVERHEAD_WINDOW_NS);
}

TEST(a_job_begins_on_all_nodes_within_the_budget, "where the overhead budget of one node has no room to preempt for a job, the others do not preempt for it either, and all do when it has")
{
	u32 i, waited = 0;

	high_job_beside_low(4);
	spend_budget();
	all_start(high);
	all_pass_after(POLL);
	for (i = 1; i < 4; i++) {
		go_to(i);
		CHECK(on_device(low));
		CHECK_EQ(low->policy.verdict, GPREEMPT_VERDICT_BUDGET);
		CHECK(node.policy.paid_ns > clock_ns);
	}
	while (nr_on_device(low) == 4 && waited++ < 10000)
		all_pass_after(POLL);
	CHECK(waited * POLL > 2 * GPREEMPT_LATE_NS);
	CHECK_ON(low, 0);
	CHECK_ON(high, 4);
}

TEST(a_job_that_stays_does_not_wait_for_budgets, "a job that does not leave other nodes begins on each as soon as that one's own budget has room")
{
	u32 i;

	high_job_beside_low(2);
	spend_budget();
	for (i = 0; i < 2; i++) {
		go_to(i);
		jobs[i][0].gang = false;
		start_hog(high);
	}
	all_pass_for(2 * POLL);
	CHECK_ON(low, 1);
}

TEST(what_shares_its_level_does_not_wait_for_its_budget, "where another process works at the level of a job that waits for another node's budget, lower work yields to both")
{
	high_job_beside_low(2);
	spend_budget();
	go_to(0);
	start_hog(high);
	go_to(1);
	start_hog(high);
	middle = new_queue(new_process(), HIGH);
	start_hog(middle);
	all_pass_for(2 * POLL);
	CHECK_ON(low, 1);
}

TEST(a_slow_node_shuts_for_no_longer, "a node that looks no more keeps a job from preempting elsewhere for no longer than what it said holds")
{
	high_job_beside_low(2);
	spend_budget();
	all_start(high);
	all_pass_for(2 * POLL);
	CHECK_ON(low, 2);
	silent[0] = true;
	all_pass_for(jobs[0][0].holds_ns + POLL);
	CHECK_ON(low, 1);
}

TEST(a_due_time_is_renewed, "a node that seldom looks says again in time when work of a job is due that has to wait there")
{
	members_beside_rivals_by_deadline(4 * SEC, 3 * SEC);
	go_to(0);
	node.params.poll_ns = 0;
	node.params.interval_ns = 5 * SEC;
	start_hog(rival);
	start_hog(member);
	all_pass_for(2 * POLL);
	go_to(0);
	CHECK(!on_device(member));
	CHECK(node.decision.next_ns <= GPREEMPT_LATE_NS / 2);
}
