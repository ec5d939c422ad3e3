// SPDX-License-Identifier: MIT
/*
 * account_test.c - what queues have used of the device: exact where something changes, and right on average between
 *
 * A small device counts for each queue for how long it really had waves, and for how long it had work without them. Looks come when the
 * account asks for them.
 */
#include <string.h>

#include "account.h"
#include "demand.h"
#include "policy_node.h"
#include "tap.h"

static u64 busy(const struct queue *q)
{
	return q->policy.time.busy_ns;
}

static u64 waiting(const struct queue *q)
{
	return q->policy.time.waiting_ns;
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
	looks_for(4 * SEC);
	CHECK_WITHIN(waiting(high), 3900 * MS, node.now_ns - began_ns + 50 * MS);
	CHECK_WITHIN(busy(low), 3900 * MS, node.now_ns - began_ns + 50 * MS);
	high->waves = 8;
	looks_for(4 * SEC);
	CHECK_WITHIN(busy(high), 3800 * MS, 4200 * MS);
	CHECK_WITHIN(busy(high) + waiting(high), 7900 * MS, node.now_ns - began_ns + 50 * MS);
}

/* A pass that decides by reading waves, of which low has none. */
static void decides_by_waves_after(u64 ns)
{
	node.now_ns += ns;
	gpreempt_account_decided(&node.policy, 0, false, node.now_ns);
	gpreempt_demand_counted(&node.policy, &low->policy, 0, 0, node.now_ns);
	gpreempt_account_look(&node.policy, true, node.now_ns);
}

TEST(a_look_for_a_decision_bills_nothing, "what a look for a decision finds counts from then on, and only a look of the account bills what was not known before it")
{
	u64 before_ns;

	node.accounts = true;
	low_works();
	pass_after(POLL);
	node.policy.account.due_ns = ~0ULL;
	before_ns = busy(low);
	decides_by_waves_after(POLL);
	CHECK_EQ(low->policy.time.state, GPREEMPT_ACCOUNT_WAITS);
	before_ns += 2 * POLL;
	CHECK_EQ(busy(low), before_ns);
	CHECK_EQ(waiting(low), 0);
	CHECK_EQ(low->policy.time.owes_busy_ns, 0);
	node.policy.account.due_ns = node.now_ns;
	decides_by_waves_after(0);
	CHECK_EQ(busy(low) + waiting(low), before_ns);
}

TEST(what_counted_too_much_is_paid_for, "a look bills for as much time as looks are apart, what counted too much is taken from what follows, and no counter becomes less")
{
	u64 gap_ns, before_ns;

	node.accounts = true;
	low_works();
	looks_for(20 * MS);
	before_ns = busy(low);
	gap_ns = node.policy.account.gap_ns;
	finish(low);
	drain(low);
	node.now_ns = node.policy.account.due_ns;
	pass();
	before_ns = busy(low);
	CHECK_EQ(low->policy.time.state, GPREEMPT_ACCOUNT_IDLE);
	CHECK_EQ(low->policy.time.owes_busy_ns, gap_ns);
	gap_ns = node.policy.account.gap_ns;
	last_kernel(low);
	node.now_ns = node.policy.account.due_ns + 7 * US;
	pass();
	CHECK_EQ(low->policy.time.state, GPREEMPT_ACCOUNT_RUNS);
	CHECK_EQ(busy(low) - before_ns, 7 * US);
	gpreempt_account_end(&low->policy, node.now_ns + 5 * US);
	CHECK_EQ(busy(low) - before_ns, 12 * US);
}

TEST(a_look_that_is_due_is_not_put_off, "a doorbell, or a queue that comes, makes looks more frequent, and puts off none that is due already")
{
	struct gpreempt_account_node *account = &node.policy.account;
	u64 due_ns;

	node.accounts = true;
	low = new_queue(new_process(), HIGH);
	high = new_queue(new_process(), HIGH);
	start_hog(low);
	looks_for(SEC);
	CHECK_EQ(account->gap_ns, GPREEMPT_ACCOUNT_LOOK_MAX_NS);
	gpreempt_account_expect(&node.policy, node.now_ns);
	CHECK_EQ(account->gap_ns, GPREEMPT_ACCOUNT_LOOK_MIN_NS);
	node.silent = true;
	node.now_ns = account->due_ns;
	due_ns = account->due_ns;
	gpreempt_account_expect(&node.policy, node.now_ns);
	CHECK_EQ(account->due_ns, due_ns);
	last_kernel(high);
	node.told_ns = node.now_ns;
	pass();
	CHECK_EQ(high->policy.time.state, GPREEMPT_ACCOUNT_RUNS);
	CHECK_EQ(account->due_ns, due_ns);
	node.silent = false;
	pass_after(10 * US);
	CHECK(account->due_ns > node.now_ns);
	CHECK_EQ(account->gap_ns, GPREEMPT_ACCOUNT_TOLD_MIN_NS);
}

TEST(a_pass_is_not_looked_at, "a look that becomes due in a hardware pass is planned anew after it, and one that was due before is not")
{
	struct gpreempt_account_node *account = &node.policy.account;
	u64 due_ns;

	node.accounts = true;
	low_works();
	looks_for(20 * MS);
	due_ns = account->due_ns;
	gpreempt_account_passed(&node.policy, 2 * MS, due_ns + 2 * MS);
	CHECK_EQ(account->due_ns, due_ns);
	gpreempt_account_passed(&node.policy, 2 * MS, due_ns - 1);
	CHECK_EQ(account->due_ns, due_ns);
	gpreempt_account_passed(&node.policy, 2 * MS, due_ns + MS);
	CHECK(account->due_ns > due_ns + MS);
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

TEST(an_idle_node_is_looked_at_rarely, "a node on which nothing works is looked at ever more rarely, and not at all if doorbells tell of all work")
{
	u32 looks;
	u64 end_ns;

	node.accounts = true;
	low = new_queue(new_process(), HIGH);
	pass();
	last_kernel(low);
	node.told_ns = node.now_ns;
	pass();
	looks_for(20 * MS);
	CHECK(gpreempt_account_nap(&node.policy, true, node.now_ns) != ~0ULL);
	finish(low);
	looks_for(SEC);
	end_ns = node.now_ns + 10 * SEC;
	for (looks = 0; node.now_ns < end_ns; looks++)
		look_for_account();
	CHECK_WITHIN(looks, 150, 250);
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

/*
 * Under the kernel's sanitizers a second takes two thirds of a second: a quarter of the time has to
 * do there, and chance is twice as large.
 */
#ifdef __KERNEL__
#define ACCOUNT_NS	(100 * SEC)
#define WITHIN		40
#else
#define ACCOUNT_NS	(400 * SEC)
#define WITHIN		20
#endif

static void check_account(void)
{
	u64 sum_ns = 0, true_ns = 0;
	u32 i;

	for (i = 0; i < WORKERS; i++) {
		const struct worker *w = &workers[i];

		tap_at("worker %u, busy %llu us of %llu, waiting %llu us of %llu: ", i, busy(w->q) / US, w->busy_ns / US,
		       waiting(w->q) / US, w->waiting_ns / US);
		CHECK_WITHIN(busy(w->q) * 1000 / w->busy_ns, 1000 - WITHIN, 1000 + WITHIN);
		sum_ns += busy(w->q);
		true_ns += w->busy_ns;
	}
	tap_at("all, %llu us of %llu: ", sum_ns / US, true_ns / US);
	CHECK_WITHIN(sum_ns * 1000 / true_ns, 990, 1010);
}

TEST(equals_are_accounted, "where nothing is preempted, kernels of 0.2 ms and more are accounted within 2 % each, and together within 1 %")
{
	make_workers(false);
	work_for(ACCOUNT_NS);
	check_account();
}

TEST(ranks_are_accounted, "where queues preempt each other, kernels of 0.2 ms and more are accounted within 2 % each, and together within 1 %")
{
	make_workers(true);
	work_for(ACCOUNT_NS);
	check_account();
}

/* ---- programs that cheat ---- */

/*
 * A program knows what it did, and when the node looked: it may watch the scheduler's thread, or have a queue without waves, whose waiting time grows
 * with each look. It does not know what comes. Each decides ten microseconds ahead whether it works.
 */
enum cheat {
	HONEST,
	AFTER_LOOKS,
	AFTER_OWN_COUNTERS,
	LEARNED,
	ALL_TOGETHER,
};

#define CHEAT_NS	(60 * SEC)
#define CHEAT_STEP_NS	(20 * US)
#define LOOKS_MAX	100000

/**
 * struct cheat_state - what such a program knows and does
 * @kind: &enum cheat
 * @for_ns: so long it works after a look
 * @used_ns: for so long it has had waves
 * @billed_ns: of its queues that have ended
 * @look_ns: the last look that it saw
 * @shown_ns: its counters at that time
 * @nr_learned: looks of a rehearsal that it has seen
 * @next: of these the next one
 * @learned_ns: when they came, after the beginning
 * @begin_ns: when it began
 */
static struct cheat_state {
	enum cheat kind;
	u64 for_ns;
	u64 used_ns;
	u64 billed_ns;
	u64 look_ns;
	u64 shown_ns;
	u32 nr_learned;
	u32 next;
	u64 learned_ns[LOOKS_MAX];
	u64 begin_ns;
} cheat;

static u64 own_counters(void)
{
	return busy(low) + waiting(low) + busy(high) + waiting(high) + low->policy.time.wave_us;
}

/* The time of a look is what a rehearsal on a machine of the same kind has shown. */
static bool learned_look_is_near(void)
{
	u64 at_ns = node.now_ns - cheat.begin_ns;

	while (cheat.next < cheat.nr_learned && cheat.learned_ns[cheat.next] + 2 * CHEAT_STEP_NS < at_ns)
		cheat.next++;
	return cheat.next < cheat.nr_learned && cheat.learned_ns[cheat.next] < at_ns + 2 * CHEAT_STEP_NS;
}

static bool cheat_works(void)
{
	bool soon_after = node.now_ns - cheat.look_ns < cheat.for_ns;

	switch (cheat.kind) {
	case HONEST:
		return (node.now_ns - cheat.begin_ns) % (50 * MS) < 35 * MS;
	case LEARNED:
		return !learned_look_is_near();
	case ALL_TOGETHER:
		/* A doorbell has all queues looked at, and would tell of its work. */
		return !node.told_ns && soon_after && !learned_look_is_near();
	default:
		return soon_after;
	}
}

/* It has seen a look: it was caught at work, or not. The last one ends its queue when it was caught; each time a doorbell of another queue begins looks anew. */
static void cheat_sees_a_look(void)
{
	cheat.look_ns = node.now_ns;
	if (cheat.kind != ALL_TOGETHER)
		return;
	/* Not after a look for which its own doorbell asked */
	if (!middle->waves) {
		last_kernel(middle);
		node.told_ns = node.now_ns;
	}
	if (!low->waves)
		return;
	gpreempt_account_end(&low->policy, node.now_ns);
	cheat.billed_ns += busy(low);
	memset(&low->policy, 0, sizeof(low->policy));
	low->policy.process = &low->process->policy;
	low->policy.set.priority = HIGH;
	low->policy.set.own_priority = HIGH;
	gpreempt_account_begin(&low->policy, node.now_ns);
	low->waves = 0;
	low->rptr = low->wptr;
	gpreempt_account_expect(&node.policy, node.now_ns);
}

static void cheat_does(bool works)
{
	if (works == (low->waves != 0))
		return;
	if (!works) {
		finish(low);
		return;
	}
	last_kernel(low);
}

/* A look of the account, or one for which a doorbell asked */
static void cheat_step(u64 *due_ns)
{
	u64 look_ns = node.policy.account.look_ns, nap_ns;

	cheat.used_ns += low->waves ? CHEAT_STEP_NS : 0;
	node.now_ns += CHEAT_STEP_NS;
	if (node.now_ns >= *due_ns || node.told_ns) {
		pass();
		nap_ns = gpreempt_account_nap(&node.policy, false, node.now_ns);
		*due_ns = node.now_ns + (nap_ns < SEC ? nap_ns : SEC);
	}
	if (cheat.kind == AFTER_OWN_COUNTERS ? own_counters() != cheat.shown_ns : node.policy.account.look_ns != look_ns)
		cheat_sees_a_look();
	if (!node.told_ns)
		finish(middle);
	cheat.shown_ns = own_counters();
}

static void cheat_for(u64 ns, bool rehearses)
{
	u64 due_ns = 0, look_ns;

	node.accounts = true;
	low = new_queue(new_process(), HIGH);
	middle = new_queue(new_process(), HIGH);
	high = new_queue(new_process(), HIGH);
	node.params.blocked_ns = 0;
	submit(high, 1);
	cheat.begin_ns = node.now_ns;
	cheat.look_ns = 0;
	cheat.next = 0;
	while (node.now_ns < cheat.begin_ns + ns) {
		look_ns = node.policy.account.look_ns;
		cheat_step(&due_ns);
		if (rehearses && node.policy.account.look_ns != look_ns && cheat.nr_learned < LOOKS_MAX)
			cheat.learned_ns[cheat.nr_learned++] = node.now_ns - cheat.begin_ns;
		if (rehearses)
			cheat_does(due_ns > node.now_ns + 2 * CHEAT_STEP_NS);
		else
			cheat_does(cheat_works());
	}
	gpreempt_account_end(&low->policy, node.now_ns);
	cheat.billed_ns += busy(low);
}

static void check_billed(u32 least, u32 most)
{
	tap_at("works %llu us after a look, %llu ms of %llu ms used: ", cheat.for_ns / US, cheat.billed_ns / MS, cheat.used_ns / MS);
	CHECK(cheat.used_ns > CHEAT_NS / 100);
	CHECK_WITHIN(cheat.billed_ns * 1000 / cheat.used_ns, least, most);
}

/* On a machine of the same kind it has learned when looks come. */
static void cheat_rehearsed(void)
{
	cheat_for(CHEAT_NS, true);
	tap_renew();
	other_numbers();
	cheat.used_ns = 0;
	cheat.billed_ns = 0;
	cheat_for(CHEAT_NS, false);
}

static void cheats_after(enum cheat kind)
{
	static const u64 after[] = { 2 * MS, 4 * MS, 10 * MS, 40 * MS };

	EACH_ANEW(i, ARRAY_SIZE(after), "%u: ", i) {
		cheat = (struct cheat_state){ .kind = kind, .for_ns = after[i] };
		if (kind == ALL_TOGETHER)
			cheat_rehearsed();
		else
			cheat_for(CHEAT_NS, false);
		check_billed(900, 1100);
	}
}

TEST(an_honest_program_is_billed_right, "a program that works without looking at the scheduler is billed within 2 % in a minute")
{
	cheat = (struct cheat_state){ .kind = HONEST };
	cheat_for(CHEAT_NS, false);
	check_billed(980, 1020);
}

TEST(predicting_looks_pays_nothing, "a program that works when the node did not look in a rehearsal is billed for what it used")
{
	cheat = (struct cheat_state){ .kind = LEARNED };
	cheat_rehearsed();
	check_billed(900, 1100);
}

TEST(seeing_looks_pays_nothing, "a program that sees each look, and works for a while after it, is billed for what it used")
{
	cheats_after(AFTER_LOOKS);
}

TEST(reading_own_counters_pays_nothing, "a program that reads its own counters all the time, and works for a while after they have moved, is billed for what it used")
{
	cheats_after(AFTER_OWN_COUNTERS);
}

TEST(attacks_together_pay_nothing, "a program that has rehearsed, sees each look, has looks begin anew by a doorbell after it, and ends its queue when it was caught is billed for what it used")
{
	cheats_after(ALL_TOGETHER);
}
