// SPDX-License-Identifier: MIT
/*
 * service_test.c - what must hold for the service that processes get
 *
 * Service is the time for which a process has its slots, not the time for which the scheduler lets
 * it have them: a pause that brings nothing is none.
 */
#include <math.h>

#include "scenario.h"
#include "tap.h"

void scenario_is_wrong(const char *what)
{
	tap_fail(__FILE__, __LINE__, "%s", what);
}

/* ---- the bound of DOC: debts ---- */

/* What all that starve together are owed, as a part of the time */
static double owed(void)
{
	return (double)config.params.relief_ns /
	       (config.params.relief_ns + config.params.max_hold_ns);
}

/* Two passes and a restore */
static double switch_s(void)
{
	return 3 * (config.device.runlist_ns + config.device.trap_ns + config.device.full_save_ns) /
	       1e9;
}

static double turn_s(u32 nr)
{
	double part_s = config.params.relief_ns / 1e9 / 2 / nr;

	return fmin(10 * switch_s(), fmax(4 * switch_s(), part_s));
}

/* So long a process is without service at most where so many starve. */
static double most_s(u32 nr)
{
	return 2 * turn_s(nr) * nr / owed() + nr * (turn_s(nr) + 2 * switch_s());
}

/* Of the device that each of so many has at least, in percent */
static double owed_pct(u32 nr)
{
	return 100 * owed() / nr;
}

/* ---- debts ---- */

/*
 * What work above loses at most, in percent: a turn lasts for four times its switch at least, and
 * trying what lower work costs takes three kernels and a switch, and less than a thousandth after
 * the first time.
 */
static double lost_pct(void)
{
	double tried_s = 3 * config.classes[0].kernel_ns / 1e9 + switch_s();

	return owed_pct(1) * 5 / 4 + .1 + 100 * tried_s / (config.duration_ns / 1e9);
}

static void check_debts(u32 nr, double least)
{
	double high;

	simulate();
	simulate_alone(0);
	high = 100.0 * alone.classes[0].served / config.device.slots / config.duration_ns;
	printf("# %s%u low: least %.3f %%, without %.2f of %.2f s; high %.1f of %.1f %%\n",
	       config.classes[0].arrivals == POISSON ? "Poisson, " : "", nr, least_pct(1),
	       without_s(1), most_s(nr), pct(0), high);
	CHECK(least_pct(1) >= least);
	CHECK(without_s(1) <= most_s(nr));
	CHECK(pct(0) >= high - lost_pct());
}

TEST(service_is_owed_over_pauses,
     "below work that pauses, three processes have 0.5 % of the device each, whether their kernels "
     "fit into the pauses or not, none is without it for longer than the bound of debts, and the "
     "work above loses what they are owed and a quarter of that at most")
{
	static const struct {
		u32 kernels;
		u64 period_ns;
		u64 low_kernel_ns;
	} cases[] = {
		{ 495, 500 * MS, 200 * MS },
		{ 898, 900 * MS, 2 * MS },
		{ 895, 900 * MS, 20 * MS },
	};

	EACH_CASE(i, cases) {
		begin(60 * SEC);
		load_below_pauses(cases[i].kernels, cases[i].period_ns, 3, cases[i].low_kernel_ns);
		check_debts(3, .5);
	}
	tap_at("80 %%: ");
	begin(60 * SEC);
	load_below_poisson(25 * MS, 3, 200 * MS);
	check_debts(3, .5);
	tap_at("95 %%: ");
	begin(60 * SEC);
	load_below_poisson(21053 * US, 8, 2 * MS);
	check_debts(8, owed_pct(8));
}

TEST(shares_keep_debts_over_gaps,
     "below decoding, groups with shares have what they are owed, and none is without service for "
     "longer than the bound of debts: a gap pays nothing")
{
	static const u32 counts[] = { 6, 10, 18 };

	EACH(i, 3, "%u groups: ", counts[i]) {
		double longest_s = 0, least = 100;
		u32 k;

		begin(40 * SEC);
		load_groups_below(counts[i]);
		simulate();
		for (k = 1; k <= counts[i]; k++) {
			longest_s = fmax(longest_s, without_s(k));
			least = fmin(least, least_pct(k));
		}
		printf("# %2u groups: least %.3f %%, without %.2f of %.2f s; decode %.1f %%\n",
		       counts[i], least, longest_s, most_s(counts[i]), pct(0));
		/* A quarter of a turn may be its switch. */
		CHECK(least >= owed_pct(counts[i]) * 3 / 4);
		CHECK(longest_s <= most_s(counts[i]));
	}
}

TEST(a_debt_is_paid_below_who_owes_nothing,
     "inference above training above batch work has a p99 that is 5 % longer at most than without "
     "the batch, whose turns come out of the training; and the batch is served")
{
	static const u32 counts[] = { 1, 20 };
	double p99_ms;

	begin(60 * SEC);
	load_batch_below(0);
	simulate();
	p99_ms = ms_at(0, .99);
	EACH(i, 2, "%u batch: ", counts[i]) {
		/* The training is owed as well. */
		u32 nr = counts[i] + 1;

		begin(60 * SEC);
		load_batch_below(counts[i]);
		simulate();
		printf("# %2u batch: p99 %.2f of %.2f ms, least %.3f %%, without %.2f of %.2f s\n",
		       counts[i], ms_at(0, .99), p99_ms, least_pct(2), without_s(2), most_s(nr));
		CHECK(ms_at(0, .99) <= 1.05 * p99_ms);
		CHECK(least_pct(2) >= owed_pct(nr) / 2);
		CHECK(without_s(2) <= most_s(nr));
	}
}

/* ---- shares ---- */

TEST(a_minimum_holds_with_host_gaps,
     "a group with a minimum of a half, whose host has gaps between kernels, has at least 88 % of "
     "what it has alone; where a gap takes no longer than two switches, 78 %")
{
	static const struct {
		u64 kernel_ns;
		u64 gap_ns;
		double least;
	} cases[] = {
		{ 200 * US, 400 * US, 78 }, { 200 * US, MS, 88 },
		{ MS, MS, 88 },		    { 2 * MS, 2 * MS, 88 },
		{ 5 * MS, 5 * MS, 95 },	    { 10 * MS, 10 * MS, 95 },
	};

	EACH_CASE(i, cases) {
		double kernel_ns = cases[i].kernel_ns,
		       could = 100 * kernel_ns / (kernel_ns + cases[i].gap_ns);

		begin(20 * SEC);
		load_minimum(50, 100, cases[i].kernel_ns, cases[i].gap_ns);
		simulate();
		printf("# kernels of %.1f ms, gaps of %.1f ms: has %.1f of %.1f %%, "
		       "greedy %.1f %%\n",
		       kernel_ns / 1e6, cases[i].gap_ns / 1e6, pct(0), could, pct(1));
		CHECK(pct(0) >= could / 100 * cases[i].least);
	}
}

TEST(a_small_request_waits_for_no_slice,
     "a group that needs less than half of its share, in requests of 1 ms, has a p99 of half a "
     "slice at most beside 2 or 8 groups of equal weight that work without end")
{
	static const u32 counts[] = { 2, 8 };

	EACH(i, 2, "%u equals: ", counts[i]) {
		begin(20 * SEC);
		load_equals(counts[i]);
		simulate();
		printf("# %u equals: p50 %.1f, p99 %.1f ms\n", counts[i], ms_at(0, .5),
		       ms_at(0, .99));
		CHECK(ms_at(0, .99) <= config.params.slice_ns / 2e6);
	}
}

TEST(a_maximum_is_had_with_slow_saves,
     "where a save takes 5 ms, a group has at least 80 % of its maximum and no more than that, and "
     "runlists take an eighth of the device at most")
{
	static const char *const sides[] = { "alone", "beside another" };

	EACH(i, 2, "%s: ", sides[i]) {
		begin(20 * SEC);
		load_maximum(i);
		simulate();
		printf("# %s: has %.1f of 30 %%, runlists %.1f %%\n", sides[i], pct(0),
		       of_time(result.overhead_ns));
		CHECK(pct(0) >= 24);
		CHECK(pct(0) <= 30);
		CHECK(of_time(result.overhead_ns) <= 12.5);
	}
}

/* ---- time that no process has ---- */

static void check_idle(void)
{
	double idle_us;

	simulate();
	idle_us = result.idle_ns / 1e3 / result.classes[0].nr_requests;
	printf("# %.0f us: idle for each %.0f us, p99 %.2f ms, training %.1f %%\n",
	       config.classes[0].kernel_ns / 1e3, idle_us, ms_at(0, .99), pct(1));
	CHECK(idle_us <= 80);
}

TEST(short_requests_idle_no_device,
     "a request that is shorter than a look leaves the device idle for 80 us at most, a look, also "
     "where saves are slow")
{
	static const u64 lengths_us[] = { 20, 50, 80 };

	EACH(i, 3, "%llu us: ", (unsigned long long)lengths_us[i]) {
		begin(20 * SEC);
		load_short_requests(5 * MS, lengths_us[i] * US);
		check_idle();
	}
	tap_at("slow saves: ");
	begin(20 * SEC);
	config.device.full_save_ns = 5 * MS;
	load_short_requests(100 * MS, 50 * US);
	check_idle();
}

static void decode_with_gaps(void)
{
	load_slow_decode(200 * US, 200 * US, 5 * MS, 7500 * US);
	simulate();
	simulate_alone(0);
	printf("# budget %2u %%: request %.2f x alone, training %.1f %%, idle %.2f ms a gap\n",
	       config.params.overhead_pct, ms_at(0, .5) / alone_ms_at(.5), pct(1),
	       result.idle_ns / 1e6 / result.classes[0].nr_done);
}

TEST(waiting_for_the_budget_is_charged,
     "100 requests a second of a middle class, each of which costs a switch of 15 ms, have a tenth "
     "of the time for switches and wait for more: work below has 75 %, and the class above is as "
     "fast as without those in the middle")
{
	double top_ms = 0;

	EACH(i, 2, "%u in the middle: ", i) {
		begin(40 * SEC);
		slow_connect(5 * MS);
		add_requests(HIGH, 200 * MS, 10, MS);
		if (i)
			add_requests(2, 10 * MS, 1, 50 * US);
		add_endless(LOW, 1, 2 * MS);
		simulate();
		printf("# %u in the middle: top p99 %.2f ms, training %.1f %%, switches %.1f %%\n", i,
		       ms_at(0, .99), pct(i + 1), of_time(result.overhead_ns));
		CHECK(pct(i + 1) >= 75);
		if (!i)
			top_ms = ms_at(0, .99);
	}
	CHECK(ms_at(0, .99) <= top_ms * 1.05);
}

TEST(a_gap_waits_for_no_budget,
     "beside decoding with gaps of 5 to 7.5 ms on a device of slow switches, training has 75 % of "
     "it with the default budget, and a request takes 1.15 times as long as alone at most; with "
     "any budget a gap leaves the device idle for a switch and a look at most")
{
	static const u32 budgets[] = { 2, 5, 10, 25 };

	begin(40 * SEC);
	decode_with_gaps();
	CHECK(pct(1) >= 75);
	CHECK(ms_at(0, .5) <= 1.15 * alone_ms_at(.5));
	EACH(i, 4, "budget %u %%: ", budgets[i]) {
		begin(40 * SEC);
		config.params.overhead_pct = budgets[i];
		decode_with_gaps();
		CHECK(result.idle_ns / 1e9 <=
		      result.classes[0].nr_done * (switch_s() + config.params.poll_ns / 1e9));
	}
}

TEST(short_gaps_cost_no_switches,
     "where a save takes 1 ms, decoding with gaps of 150 to 200 us takes 1.4 times as long as alone "
     "at most, and what is below has half of what it is owed at least")
{
	begin(20 * SEC);
	load_slow_decode(MS, 30 * US, 150 * US, 200 * US);
	simulate();
	simulate_alone(0);
	printf("# request %.2f x alone, training %.1f %%, switches %.1f %%\n",
	       ms_at(0, .5) / alone_ms_at(.5), pct(1), of_time(result.overhead_ns));
	CHECK(ms_at(0, .5) <= 1.4 * alone_ms_at(.5));
	CHECK(pct(1) >= 1);
}

static void load_stamps(u32 budget, u64 connect_ns, u64 restore_ns)
{
	begin(40 * SEC);
	config.params.overhead_pct = budget;
	config.device.says_connect_ns = connect_ns;
	config.device.says_restore_ns = restore_ns;
	load_batch_below(0);
	simulate();
	printf("# budget %2u %%, stamps of %4.0f and %4.0f ms: p99 %.2f ms, training %.1f %%\n",
	       budget, connect_ns / 1e6, restore_ns / 1e6, ms_at(0, .99), pct(1));
}

TEST(stamps_are_bounded,
     "whatever firmware says that connecting a queue or bringing waves back takes, with a budget "
     "and without, inference has a p99 that is 5 % longer at most than without a stamp, and the "
     "training below it loses 2 % of its part at most")
{
	static const u64 stamps_ms[][2] = { { 5, 0 }, { 0, 5 }, { 1000, 0 }, { 0, 1000 } };
	static const u32 budgets[] = { 0, 10 };

	EACH(i, 2, "budget %u %%: ", budgets[i]) {
		double p99_ms, training;
		u32 k;

		load_stamps(budgets[i], 0, 0);
		p99_ms = ms_at(0, .99);
		training = pct(1);
		for (k = 0; k < 4; k++) {
			load_stamps(budgets[i], stamps_ms[k][0] * MS, stamps_ms[k][1] * MS);
			CHECK(ms_at(0, .99) <= 1.05 * p99_ms);
			CHECK(pct(1) >= .98 * training);
		}
	}
}

/* ---- weights ---- */

TEST(a_weight_holds_with_host_gaps,
     "under wfq a service of equal weight beside work without end has its half while its gaps are "
     "shorter than a switch, at its own cost, and nine tenths of what it has alone while they are "
     "longer")
{
	static const struct {
		u64 gap_ns;
		u64 gap_most_ns;
		double least_pct;
	} cases[] = { { 10 * US, 0, 45 }, { 50 * US, 200 * US, 29 }, { MS, 0, 15 } };

	EACH(i, 3, "gaps of %.2f ms: ", cases[i].gap_ns / 1e6) {
		begin(10 * SEC);
		load_weights(cases[i].gap_ns, cases[i].gap_most_ns);
		simulate();
		printf("# gaps of %.2f ms: has %.1f %%, the other %.1f %%\n",
		       cases[i].gap_ns / 1e6, pct(0), pct(1));
		CHECK(pct(0) >= cases[i].least_pct);
		CHECK(pct(0) <= 51);
	}
}

/* ---- deadlines ---- */

TEST(deadlines_are_isolated,
     "a task that needs a fifth of the device is done by its deadlines beside a program without "
     "end, whatever the deadline of that one is, and it leaves what it does not need")
{
	static const u64 deadlines_ns[] = { 50 * MS, 10 * MS, MS, 100 * US };

	EACH(i, 4, "a deadline of %.1f ms: ", deadlines_ns[i] / 1e6) {
		begin(10 * SEC);
		config.seed = 1 + i;
		load_task_beside_endless(deadlines_ns[i]);
		simulate();
		printf("# deadline %5.1f ms: %llu of 100 done, %llu late, the other has %.1f %%\n",
		       deadlines_ns[i] / 1e6, (unsigned long long)result.classes[0].nr_requests,
		       (unsigned long long)result.classes[0].nr_late, pct(1));
		CHECK(result.classes[0].nr_requests >= 99);
		CHECK(!result.classes[0].nr_late);
		CHECK(pct(1) >= 78);
	}
}

/* A task that has this runtime in each period, and needs it */
static void reserve(u64 period_ns, u64 runtime_ns)
{
	add_task(period_ns, runtime_ns);
	config.classes[nr_classes - 1].runtime_ns = runtime_ns;
}

TEST(sets_that_do_not_fit_are_refused,
     "of three tasks that need more of the device together than it has, beside work without end, "
     "the last is refused, and the others are never late; three that fit never are, also where a "
     "save takes a millisecond")
{
	static const struct {
		u64 full_save_ns, last_ns;
		bool refused;
	} cases[] = {
		{ 44 * US, 160 * MS, true }, { MS, 160 * MS, true },
		{ 44 * US, 70 * MS, false }, { MS, 50 * MS, false },
	};

	EACH(i, 4, "case %u: ", i) {
		u32 k;

		begin(20 * SEC);
		if (cases[i].full_save_ns > 44 * US)
			slow_connect(cases[i].full_save_ns);
		config.policy = "edf";
		reserve(100 * MS, 35 * MS);
		reserve(200 * MS, 70 * MS);
		reserve(400 * MS, cases[i].last_ns);
		add_endless(HIGH, 1, 2 * MS)->deadline_ns = 20 * MS;
		simulate();
		printf("# %llu, %llu, %llu late of 200, 100, 50; the last %s\n",
		       (unsigned long long)result.classes[0].nr_late,
		       (unsigned long long)result.classes[1].nr_late,
		       (unsigned long long)result.classes[2].nr_late,
		       result.classes[2].nr_refused ? "refused" : "admitted");
		for (k = 0; k < 3; k++) {
			bool refused = k == 2 && cases[i].refused;

			CHECK_EQ(result.classes[k].nr_refused, refused);
			CHECK(refused || !result.classes[k].nr_late);
			CHECK(result.classes[k].nr_requests);
		}
	}
}

/* ---- any load ---- */

static u64 chance;

/* At least 0, less than 1: a 64-bit generator of Marsaglia's xorshift family */
static double draw(void)
{
	chance ^= chance << 13;
	chance ^= chance >> 7;
	chance ^= chance << 17;
	return (chance >> 11) / 9007199254740992.0;
}

static u32 any_of(u32 least, u32 most)
{
	return least + draw() * (most - least + 1);
}

/* From @least to @most: in each power of two as likely as in any other */
static u64 any_ns(u64 least, u64 most)
{
	return least * pow((double)most / least, draw());
}

static void any_device(void)
{
	static const u64 saves_ns[] = { 200 * US, MS };
	u32 i = any_of(0, 2);

	if (i)
		slow_connect(saves_ns[i - 1]);
}

/*
 * Without end; with pauses of half a second at most; or requests that come independently of each
 * other. They are there from the beginning, or soon after: before that nothing is owed.
 */
static void any_high(void)
{
	u64 period_ns = any_ns(5 * MS, 50 * MS);
	u32 pattern = any_of(0, 2), load_pct = any_of(50, 99);

	if (pattern == 0)
		add_endless(HIGH, 1, any_ns(100 * US, 20 * MS));
	else if (pattern == 1)
		add_gappy(HIGH, any_ns(MS, SEC), any_ns(MS, 500 * MS), 0);
	else
		add_requests(HIGH, period_ns, 10, period_ns / 1000 * load_pct);
}

static bool high_pauses(void)
{
	return config.classes[0].arrivals != CONTINUOUS || config.classes[0].gap_ns;
}

/* Returns how many low processes there are, in so many classes below each other. */
static u32 any_load(u64 seed)
{
	u32 rest, nr, nr_low, classes;

	begin(0);
	config.seed = seed;
	chance = seed * 0x9e3779b97f4a7c15ULL + 1;
	any_device();
	any_high();
	nr_low = any_of(1, 20);
	classes = any_of(1, nr_low < 4 ? nr_low : 4);
	for (rest = nr_low; classes; classes--, rest -= nr) {
		nr = classes > 1 ? any_of(1, rest - (classes - 1)) : rest;
		add_endless(LOW - 4 + (s32)classes, nr, any_ns(500 * US, 200 * MS));
	}
	config.duration_ns = 1.25e9 * most_s(nr_low) + 250 * MS;
	return nr_low;
}

static void print_load(void)
{
	u32 k;

	printf("# runlists of %.2f ms, saves of %.2f ms\n", config.device.runlist_ns / 1e6,
	       config.device.full_save_ns / 1e6);
	for (k = 0; k < nr_classes; k++) {
		const struct sim_class *c = &config.classes[k];

		printf("# priority %d, queues: %u, kernels of %.2f ms, gaps of %.2f ms, "
		       "period %.2f ms: least %.3f %%, without %.2f s\n",
		       c->priority, c->nr_queues, c->kernel_ns / 1e6, c->gap_ns / 1e6,
		       c->period_ns / 1e6, least_pct(k), without_s(k));
	}
}

TEST(random_loads_keep_every_bound,
     "with any number and length of kernels, classes and pauses, on each of three devices, no "
     "process that waits below others is without service for longer than the bound of debts, and "
     "work above that never pauses loses what they are owed and a quarter of that at most")
{
	u64 only = tap_setting("SEED", 0), nr_seeds = only ? 1 : tap_setting("COUNT", 200);
	u64 worst_seed = 0;
	double worst = 0;

	EACH(i, nr_seeds, "SEED=%llu: ", only ? only : i + 1ULL) {
		u64 seed = only ? only : i + 1ULL;
		u32 nr = any_load(seed), k;
		double longest_s = 0;

		simulate();
		if (only)
			print_load();
		for (k = 1; k < nr_classes; k++)
			longest_s = fmax(longest_s, without_s(k));
		if (longest_s > worst * most_s(nr)) {
			worst = longest_s / most_s(nr);
			worst_seed = seed;
		}
		if (longest_s > most_s(nr))
			tap_fail(__FILE__, __LINE__, "without service for %.2f s of %.2f",
				 longest_s, most_s(nr));
		CHECK(high_pauses() || pct(0) >= 100 - lost_pct());
	}
	printf("# %llu loads: the longest time without service is %.2f of its bound, SEED=%llu\n",
	       (unsigned long long)nr_seeds, worst, (unsigned long long)worst_seed);
}

/* ---- declared waits ---- */

TEST(a_declared_wait_takes_what_it_needs,
     "a request that needs 10, 50 or 200 ms of low work has them while work between the two never ends, which goes on after that")
{
	static const struct {
		u32 needs_ms, at_most_ms;
	} cases[] = { { 10, 14 }, { 50, 54 }, { 200, 206 } };

	EACH(i, 3, "%u ms: ", cases[i].needs_ms) {
		begin(120 * SEC);
		add_requests(HIGH, 2 * SEC, 1, MS)->arrivals = PERIODIC;
		config.classes[0].needs = 3;
		config.classes[0].needs_kernels = cases[i].needs_ms;
		config.classes[0].declares = true;
		add_endless(2, 1, 2 * MS);
		add_endless(LOW, 1, MS);
		simulate();
		CHECK(result.classes[0].nr_requests >= 59);
		CHECK(ms_at(0, 1) <= cases[i].at_most_ms);
		CHECK(pct(1) > 97 - cases[i].needs_ms / 20);
	}
}

/* ---- a job on eight nodes ---- */

/*
 * What a job has at least where it would have so much if it never left a node, in percent. Each
 * time that it leaves it loses two switches, which a tenth of its service pays for, and a layer,
 * which it could have ended meanwhile.
 */
static double floor_pct(double stays)
{
	double layers = config.classes[0].kernel_ns / 1e9 / (2 * switch_s());
	double once = .1 * 100 * MS / config.duration_ns;

	return (stays - 100 * once * (1 + layers)) / (1 + .1 * (1 + layers));
}

/* High work on so many nodes, a burst of it in each period */
static void check_floor(u32 nr_high, u32 kernels, u64 kernel_ns, u64 period_ns, u64 layer_ns)
{
	struct sim_config kept = config;
	double done[2];
	u32 stay;

	for (stay = 0; stay < 2; stay++) {
		begin(4 * SEC);
		config.seed = kept.seed;
		config.device = kept.device;
		load_job(period_ns, layer_ns, stay);
		config.classes[2].kernels = kernels;
		config.classes[2].kernel_ns = kernel_ns;
		done[stay] = simulate_job(nr_high);
	}
	printf("# layers of %.2f ms, above them %.0f %% of %u nodes: the job has %.1f %%, %.1f if it "
	       "stays; floor %.1f\n",
	       layer_ns / 1e6, 100.0 * kernels * kernel_ns / period_ns, nr_high, done[0], done[1],
	       floor_pct(done[1]));
	CHECK(done[0] >= floor_pct(done[1]));
}

TEST(a_job_keeps_its_floor,
     "beside high work on any of its nodes, a job that leaves the others has at least S / (1 + p (1 "
     "+ L / 2C)) and what leaving costs in 100 ms: S is what it has if it never leaves, p a tenth, "
     "L a layer and C a switch")
{
	static const struct {
		u32 nr_high;
		u64 period_ns;
		u64 layer_ns;
	} rows[] = { { 8, 10 * MS, 100 * US }, { 8, 5 * MS, 100 * US }, { 8, 10 * MS, 5 * MS },
		     { 1, 10 * MS, 100 * US } };

	EACH_CASE(i, rows) {
		begin(0);
		config.seed = 1;
		check_floor(rows[i].nr_high, 20, 100 * US, rows[i].period_ns, rows[i].layer_ns);
	}
	EACH(seed, 12, "seed %u: ", seed) {
		u64 kernel_ns;
		u32 kernels;

		begin(0);
		config.seed = seed;
		chance = seed * 0x9e3779b97f4a7c15ULL + 1;
		any_device();
		kernel_ns = any_ns(20 * US, 2 * MS);
		kernels = any_of(1, 20);
		check_floor(any_of(1, 8), kernels, kernel_ns,
			    kernels * kernel_ns * 100 / any_of(5, 50), any_ns(50 * US, 5 * MS));
	}
}
