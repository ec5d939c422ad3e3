// SPDX-License-Identifier: MIT
/*
 * account_test.c - what queues have used of the device: exact where something changes, and right on average between
 *
 * A small device counts for each queue for how long it really had waves, and for how long it had work without them. Looks come when the
 * account asks for them.
 */
#include <string.h>

#include "demand.h"
#include "policy_node.h"
#include "tap.h"

static u64 busy(const struct queue *q)
{
	return gpreempt_account_busy_ns(&q->policy.time);
}

static u64 waiting(const struct queue *q)
{
	return gpreempt_account_waiting_ns(&q->policy.time);
}

/* Until the account is due, and then the pass that it asked for. */
static void look_for_account(void)
{
	pass_after(gpreempt_account_nap(&node.policy, false, node.now_ns));
}

static void looks_for(u64 ns)
{
	u64 end_ns = node.now_ns + ns;

	while (node.now_ns < end_ns)
		look_for_account();
}

TEST(a_doorbell_begins_busy_time, "work that a doorbell told of is accounted from then on, and other work is off by a look")
{
	u64 told_ns;

	EACH_ANEW(told, 2, "told %u: ", told) {
		node.accounts = true;
		two_processes();
		pass();
		pass_after(80 * US);
		told_ns = node.now_ns + 10 * US;
		node.told_ns = told ? told_ns : 0;
		start_hog(high);
		pass_after(80 * US);
		passes_for(10 * MS, POLL);
		CHECK_EQ(high->policy.time.state, GPREEMPT_ACCOUNT_RUNS);
		gpreempt_account_end(&high->policy, node.now_ns);
		if (told)
			CHECK_EQ(busy(high), node.now_ns - told_ns);
		else
			CHECK_WITHIN(busy(high), node.now_ns - told_ns - GPREEMPT_ACCOUNT_LOOK_MIN_NS,
				     node.now_ns - told_ns + GPREEMPT_ACCOUNT_LOOK_MIN_NS);
		CHECK_EQ(busy(low), 0);
	}
}

TEST(a_preemption_ends_busy_time, "a preempted queue was busy until it left, waits until it comes back, and is busy from then on")
{
	u64 began_ns, left_ns, back_ns;

	node.accounts = true;
	low_works();
	began_ns = low->policy.time.since_ns;
	passes_for(5 * MS, POLL);
	last_kernel(high);
	CHECK_AFTER(POLL, !on_device(low));
	left_ns = node.now_ns;
	CHECK_EQ(busy(low), left_ns - began_ns);
	CHECK_EQ(waiting(low), 0);
	passes_for(5 * MS, POLL);
	drain(high);
	time_until(low, true, 10 * MS);
	back_ns = node.now_ns;
	CHECK_EQ(waiting(low), back_ns - left_ns);
	CHECK_EQ(busy(low), left_ns - began_ns);
	low->policy.set.hold = true;
	CHECK_AFTER(3 * MS, !on_device(low));
	CHECK_EQ(busy(low), left_ns - began_ns + 3 * MS);
}

TEST(an_idle_queue_does_not_wait, "a queue that is taken off the device without work is neither busy nor waits there")
{
	struct queue *idle = new_queue(new_process(), LOW);

	node.accounts = true;
	hog_preempts_low();
	CHECK(!on_device(idle));
	looks_for(20 * MS);
	CHECK_EQ(busy(idle) + waiting(idle), 0);
	CHECK(waiting(low) >= 19 * MS);
}

TEST(one_without_waves_waits, "a queue whose packets get no wave waits, until it has some")
{
	u64 began_ns;

	node.accounts = true;
	low = new_queue(new_process(), HIGH);
	high = new_queue(new_process(), HIGH);
	start_both();
	high->waves = 0;
	pass();
	began_ns = node.now_ns;
	node.params.blocked_ns = 0;
	looks_for(40 * MS);
	CHECK_WITHIN(waiting(high), 38 * MS, node.now_ns - began_ns);
	CHECK_WITHIN(busy(low), 35 * MS, node.now_ns - began_ns);
	high->waves = 8;
	looks_for(40 * MS);
	CHECK_WITHIN(busy(high), 35 * MS, 55 * MS);
	CHECK(busy(high) + waiting(high) <= node.now_ns - began_ns);
}

/* A pass that decides by reading waves, of which low has none. */
static void decides_by_waves_after(u64 ns)
{
	node.now_ns += ns;
	gpreempt_account_decided(&node.policy, 0, false, node.now_ns);
	gpreempt_demand_counted(&node.policy, &low->policy, 0, 0, node.now_ns);
	gpreempt_account_look(&node.policy, true, node.now_ns);
}

TEST(one_look_for_a_decision_tells_nothing, "a look for a decision tells what happened since the one before it, if that was the last pass, within a millisecond")
{
	node.accounts = true;
	low_works();
	pass_after(POLL);
	node.policy.account.due_ns = ~0ULL;
	decides_by_waves_after(POLL);
	CHECK_EQ(low->policy.time.state, GPREEMPT_ACCOUNT_RUNS);
	decides_by_waves_after(GPREEMPT_ACCOUNT_CLOSE_NS + 1);
	CHECK_EQ(low->policy.time.state, GPREEMPT_ACCOUNT_RUNS);
	gpreempt_account_decided(&node.policy, 0, false, node.now_ns += POLL);
	decides_by_waves_after(POLL);
	CHECK_EQ(low->policy.time.state, GPREEMPT_ACCOUNT_RUNS);
	decides_by_waves_after(POLL);
	CHECK_EQ(low->policy.time.state, GPREEMPT_ACCOUNT_WAITS);
}

TEST(what_counted_too_much_is_paid_for, "what a look finds counts for its whole span, what counts too much by that is taken from what follows, and no counter becomes less")
{
	u64 gap_ns, before_ns;

	node.accounts = true;
	low_works();
	looks_for(20 * MS);
	/* It comes back in the middle of a span, and ends before the look. */
	before_ns = busy(low);
	gpreempt_account_moved(&low->policy, true, node.policy.account.due_ns - US);
	CHECK(busy(low) >= before_ns);
	before_ns = busy(low);
	gap_ns = node.policy.account.gap_ns;
	finish(low);
	look_for_account();
	gpreempt_account_end(&low->policy, node.now_ns);
	CHECK_EQ(busy(low), before_ns);
	CHECK_EQ(low->policy.time.owes_busy_ns, gap_ns - US);
}

TEST(a_doorbell_ends_the_span_of_others, "what a look has found of a queue goes on from the doorbell of another one, which begins a new span for all")
{
	u64 gap_ns = GPREEMPT_ACCOUNT_LOOK_MIN_NS, told_ns;

	node.accounts = true;
	low = new_queue(new_process(), HIGH);
	high = new_queue(new_process(), HIGH);
	pass();
	start_hog(low);
	node.policy.account.from_ns = node.now_ns;
	node.policy.account.due_ns = node.now_ns + MS;
	node.policy.account.gap_ns = gap_ns;
	pass_after(MS);
	CHECK_EQ(low->policy.time.state, GPREEMPT_ACCOUNT_RUNS);
	CHECK(node.now_ns + 20 * US < node.policy.account.from_ns);
	start_hog(high);
	told_ns = node.now_ns + 10 * US;
	node.told_ns = told_ns;
	pass_after(10 * US);
	gpreempt_account_end(&low->policy, told_ns + 10 * US);
	CHECK_EQ(busy(low), gap_ns + 10 * US);
}

TEST(a_barrier_is_no_work, "a queue that is found blocked is neither busy nor waits")
{
	u64 before_ns;

	node.accounts = true;
	two_processes();
	submit(high, 1);
	start_hog(low);
	pass();
	passes_for(10 * MS, POLL);
	CHECK(high->policy.seen.blocked);
	before_ns = busy(high) + waiting(high);
	CHECK(before_ns <= GPREEMPT_ACCOUNT_LOOK_MIN_NS);
	passes_for(50 * MS, POLL);
	CHECK_EQ(busy(high) + waiting(high), before_ns);
}

/* Requests come one by one, each told by a doorbell, and end unnoticed. What they are accounted for, in permille of what they took. */
static u64 accounted_of_requests(u64 work_ns, u32 requests)
{
	u64 done_ns, due_ns;
	u32 i;

	node.accounts = true;
	low = new_queue(new_process(), HIGH);
	pass();
	for (i = 0; i < requests; i++) {
		last_kernel(low);
		node.told_ns = node.now_ns;
		pass();
		done_ns = node.now_ns + work_ns;
		for (;;) {
			due_ns = node.now_ns + gpreempt_account_nap(&node.policy, false, node.now_ns);
			if (low->waves && due_ns > done_ns) {
				node.now_ns = done_ns;
				finish(low);
			}
			if (!low->waves && low->policy.time.state == GPREEMPT_ACCOUNT_IDLE)
				break;
			pass_after(due_ns - node.now_ns);
		}
		/* Doorbells are told to a node that sleeps. */
		node.now_ns += 300 * MS + work_ns * 7 % MS;
	}
	gpreempt_account_end(&low->policy, node.now_ns);
	return busy(low) * 1000 / (requests * work_ns);
}

TEST(requests_are_right_on_average, "requests of which a doorbell told, and whose end is found by looks, are accounted right on average, also shorter ones than the time between looks")
{
	static const u64 works[] = { 300 * US, 2 * MS, 4 * MS, 6 * MS, 9 * MS, 30 * MS, 200 * MS };

	EACH_ANEW(i, ARRAY_SIZE(works), "%llu us: ", works[i] / US)
		CHECK_WITHIN(accounted_of_requests(works[i], 20000), works[i] < MS ? 970 : 990, works[i] < MS ? 1030 : 1010);
}

TEST(some_hundred_requests_are_enough, "of 400 requests of some milliseconds, of which a doorbell told, all together are accounted within 4 %")
{
	static const u64 works[] = { 2 * MS, 3 * MS, 5 * MS, 10 * MS, 30 * MS };

	EACH_ANEW(i, ARRAY_SIZE(works), "%llu us: ", works[i] / US)
		CHECK_WITHIN(accounted_of_requests(works[i], 400), 960, 1040);
}

/* Low has worked for some milliseconds when the device is asked to save it. Returns for how long. */
static u64 low_works_until_asked(void)
{
	u64 began_ns;

	node.accounts = true;
	low_works();
	began_ns = low->policy.time.since_ns;
	passes_for(5 * MS, POLL);
	return node.now_ns - began_ns;
}

TEST(saving_is_no_busy_time, "a queue that is preempted was busy until the device was asked, and waits from then on")
{
	u64 worked_ns = low_works_until_asked(), asked_ns = node.now_ns;

	node.now_ns += 300 * US;
	gpreempt_account_interrupted(&low->policy, asked_ns, node.now_ns);
	gpreempt_policy_preempted(&low->policy, true, node.now_ns);
	CHECK_EQ(busy(low), worked_ns);
	CHECK_EQ(waiting(low), 300 * US);
}

TEST(one_that_stays_is_interrupted, "what a pass took a queue off for that stays on the device is no busy time, and counts once")
{
	u64 worked_ns = low_works_until_asked();

	gpreempt_account_interrupted(&low->policy, node.now_ns, node.now_ns + 300 * US);
	node.now_ns += MS;
	gpreempt_account_end(&low->policy, node.now_ns);
	CHECK_EQ(busy(low), worked_ns + MS - 300 * US);
	CHECK_EQ(waiting(low), 300 * US);
}

TEST(making_room_is_no_busy_time, "work of which a doorbell told waits until a pass has made room for it")
{
	u64 told_ns;

	node.accounts = true;
	low_works();
	passes_for(MS, POLL);
	told_ns = node.now_ns + 10 * US;
	node.told_ns = told_ns;
	node.now_ns += 15 * US;
	start_hog(high);
	pass();
	CHECK(!on_device(low));
	gpreempt_account_made_room(&high->policy, node.now_ns + 300 * US);
	node.now_ns += 300 * US;
	passes_for(5 * MS, POLL);
	gpreempt_account_end(&high->policy, node.now_ns);
	CHECK_EQ(waiting(high), 305 * US);
	CHECK_EQ(busy(high), node.now_ns - told_ns - 305 * US);
}

TEST(an_end_is_found_by_waves, "the last kernel of a request that looks have found ends between the last look that found it and the next one")
{
	u64 began_ns, ended_ns;

	node.accounts = true;
	low = new_queue(new_process(), HIGH);
	pass();
	last_kernel(low);
	node.told_ns = node.now_ns;
	pass();
	began_ns = node.now_ns;
	looks_for(80 * MS);
	ended_ns = node.now_ns;
	finish(low);
	look_for_account();
	CHECK_EQ(low->policy.time.state, GPREEMPT_ACCOUNT_IDLE);
	CHECK_WITHIN(busy(low), ended_ns - began_ns, node.now_ns - began_ns);
	/* An eighth of what it took, and a quarter more of that at most. */
	CHECK(node.now_ns - ended_ns <= (ended_ns - began_ns) / 8 * 5 / 4 + 1);
}

TEST(without_wave_counts_a_launch_counts, "where waves cannot be read, a launch counts for a while on average, and packets for as long as they are there")
{
	u64 began_ns, before_ns;
	u32 i;

	node.accounts = true;
	node.device.waves_known = false;
	low = new_queue(new_process(), HIGH);
	pass();
	for (i = 0; i < 4000; i++) {
		last_kernel(low);
		node.told_ns = node.now_ns;
		pass();
		looks_for(20 * MS);
		drain(low);
	}
	CHECK_WITHIN(busy(low) / 4000, GPREEMPT_LAUNCHED_NS * 95 / 100, GPREEMPT_LAUNCHED_NS * 105 / 100);
	before_ns = busy(low);
	began_ns = node.now_ns;
	submit(low, 2);
	launch(low, 1, 1);
	node.told_ns = node.now_ns;
	pass();
	looks_for(50 * MS);
	CHECK_WITHIN(busy(low) - before_ns, 45 * MS, node.now_ns - began_ns);
}

TEST(waves_are_multiplied_by_time, "waves in flight times the time for which they ran are summed up")
{
	u64 began_ns;

	node.accounts = true;
	low_works();
	began_ns = node.now_ns;
	looks_for(50 * MS);
	CHECK_WITHIN(low->policy.time.wave_us, 64 * 40000, 64 * ((node.now_ns - began_ns) / US + 1));
	low->policy.set.hold = true;
	CHECK_AFTER(POLL, !on_device(low));
	CHECK_WITHIN(low->policy.time.wave_us, 64 * (busy(low) / US) * 99 / 100, 64 * (busy(low) / US + 1));
}

TEST(the_end_closes_an_account, "a queue that ends in the middle of its work was busy until then")
{
	node.accounts = true;
	low_works();
	passes_for(5 * MS, POLL);
	node.now_ns += 123 * US;
	gpreempt_account_end(&low->policy, node.now_ns);
	CHECK_EQ(busy(low), 5 * MS + 123 * US);
	gpreempt_account_end(&low->policy, node.now_ns + SEC);
	CHECK_EQ(busy(low), 5 * MS + 123 * US);
}

TEST(nothing_runs_while_a_node_is_stopped, "from a stop of the node on no queue is busy, and what works afterwards is found by the next pass")
{
	u64 before_ns;

	node.accounts = true;
	low_works();
	passes_for(5 * MS, POLL);
	gpreempt_account_stop(&node.policy, node.now_ns);
	before_ns = busy(low);
	CHECK_EQ(before_ns, 5 * MS);
	node.now_ns += SEC;
	pass();
	CHECK_EQ(busy(low), before_ns);
	look_for_account();
	look_for_account();
	CHECK(busy(low) > before_ns);
	CHECK(busy(low) < before_ns + 30 * MS);
}

TEST(an_idle_node_sleeps, "a node on which nothing has ever worked is not looked at, and one on which nothing works ever more rarely, until it sleeps")
{
	u32 looks;

	node.accounts = true;
	low = new_queue(new_process(), HIGH);
	pass();
	CHECK_EQ(gpreempt_account_nap(&node.policy, false, node.now_ns), ~0ULL);
	last_kernel(low);
	node.told_ns = node.now_ns;
	pass();
	looks_for(20 * MS);
	finish(low);
	for (looks = 0; gpreempt_account_nap(&node.policy, false, node.now_ns) != ~0ULL; looks++)
		look_for_account();
	CHECK_WITHIN(looks, 20, 60);
	CHECK_EQ(gpreempt_account_nap(&node.policy, true, node.now_ns), ~0ULL);
}

/* ---- a device that counts ---- */

/**
 * struct worker - a program: it works for a while and pauses for a while, again and again
 * @q: its queue
 * @work_ns: mean length of its kernels
 * @pause_ns: mean pause
 * @left_ns: of the kernel that runs; or of the pause
 * @busy_ns: for so long it has really had waves
 * @waiting_ns: it has had work, and been off the device
 */
struct worker {
	struct queue *q;
	u64 work_ns;
	u64 pause_ns;
	u64 left_ns;
	u64 busy_ns;
	u64 waiting_ns;
};

#define WORKERS	6
#define STEP_NS	(10 * US)

static struct worker workers[WORKERS];
static u64 seed;

static u64 drawn(u64 mean_ns)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return STEP_NS + (seed >> 33) % (2 * mean_ns);
}

/* The step that ends now, and what changes at its end. */
static void work(struct worker *w)
{
	struct queue *q = w->q;
	bool runs = q->waves && on_device(q);

	w->busy_ns += runs ? STEP_NS : 0;
	w->waiting_ns += has_work(q) && !runs ? STEP_NS : 0;
	if (has_work(q) && !runs) {
		if (on_device(q)) {
			launch(q, 1, 16);
			w->left_ns = drawn(w->work_ns);
		}
		return;
	}
	w->left_ns -= w->left_ns > STEP_NS ? STEP_NS : w->left_ns;
	if (w->left_ns)
		return;
	if (runs) {
		finish(q);
		w->left_ns = drawn(w->pause_ns);
	} else {
		submit(q, 1);
	}
}

/* Doorbells tell of no work; the policy and the account alone say when to look. */
static void work_for(u64 ns)
{
	static u64 shown_ns[WORKERS];
	u64 end_ns = node.now_ns + ns, due_ns = 0, nap_ns;
	u32 i;

	memset(shown_ns, 0, sizeof(shown_ns));
	for (; node.now_ns < end_ns; node.now_ns += STEP_NS) {
		for (i = 0; i < WORKERS; i++)
			work(&workers[i]);
		if (node.now_ns < due_ns)
			continue;
		pass();
		nap_ns = gpreempt_account_nap(&node.policy, false, node.now_ns);
		if (!node.decision.park && node.decision.next_ns < nap_ns)
			nap_ns = node.decision.next_ns;
		due_ns = node.now_ns + (nap_ns < SEC ? nap_ns : SEC);
		for (i = 0; i < WORKERS; i++) {
			u64 now_ns = busy(workers[i].q) + waiting(workers[i].q);

			CHECK(now_ns >= shown_ns[i]);
			shown_ns[i] = now_ns;
		}
	}
}

static void make_workers(bool ranks)
{
	static const u64 works[WORKERS] = { 200 * US, 500 * US, MS, 3 * MS, 10 * MS, 30 * MS };
	u32 i;

	node.accounts = true;
	seed = tap_setting("SEED", 1);
	for (i = 0; i < WORKERS; i++)
		workers[i] = (struct worker){
			.q = new_queue(new_process(), ranks ? LOW + i : HIGH),
			.work_ns = works[ranks ? WORKERS - 1 - i : i],
			.pause_ns = (ranks ? 8 : 3) * works[ranks ? WORKERS - 1 - i : i],
		};
}

static void check_account(u32 within)
{
	u64 sum_ns = 0, true_ns = 0;
	u32 i;

	for (i = 0; i < WORKERS; i++) {
		const struct worker *w = &workers[i];

		tap_at("worker %u, busy %llu us of %llu, waiting %llu us of %llu: ", i, busy(w->q) / US, w->busy_ns / US,
		       waiting(w->q) / US, w->waiting_ns / US);
		CHECK_WITHIN(busy(w->q) * 1000 / w->busy_ns, 1000 - within, 1000 + within);
		sum_ns += busy(w->q);
		true_ns += w->busy_ns;
	}
	tap_at("all, %llu us of %llu: ", sum_ns / US, true_ns / US);
	CHECK_WITHIN(sum_ns * 1000 / true_ns, 990, 1010);
}

TEST(equals_are_accounted, "where nothing is preempted, kernels of 0.2 ms and more are accounted within 2 % each, and together within 1 %")
{
	make_workers(false);
	work_for(400 * SEC);
	check_account(20);
}

TEST(ranks_are_accounted, "where queues preempt each other, kernels of 0.2 ms and more are accounted within 2 % each, and together within 1 %")
{
	make_workers(true);
	work_for(400 * SEC);
	check_account(20);
}
