// SPDX-License-Identifier: MIT
/*
 * decisions.c - which process has how much of the device, in scenarios that are hard to decide
 *
 *	decisions [--list | --observe] [NAME...]
 *
 * Each scenario is a line: its name, its figures, and in brackets those that can be had. A name
 * stands for all that begin with it. All is in virtual time, and the same each time.
 *
 * What a process has is service: the time for which its kernels had slots, in percent of the
 * device. "without" is the longest time for which a process had work and no slots. A factor with an
 * x compares with the same requests alone on the device. "idle" is the time in which no kernel had
 * slots though a queue had work; that of runlists is not in it, it is "switches". In parentheses is
 * why, of the highest queue with work: see enum sim_idle.
 *
 * With --observe a line says at its end how often a node that acts has preempted and resumed, and
 * how often one would have that only observes. Of scenarios with more than one run it is the last.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scenario.h"

void scenario_is_wrong(const char *what)
{
	printf("WRONG %s; ", what);
}

static void print_lost(void)
{
	static const char *const reasons[NR_IDLE] = { "look", "return", "turn", "maximum", "on",
						      "other" };
	const char *before = " (";
	u32 i;

	printf("; idle %.1f", of_time(result.idle_ns));
	for (i = 0; i < NR_IDLE; i++) {
		if (of_time(result.idle_by_ns[i]) < .1)
			continue;
		printf("%s%s %.1f", before, reasons[i], of_time(result.idle_by_ns[i]));
		before = ", ";
	}
	printf("%s, switches %.1f %%", *before == ',' ? ")" : "", of_time(result.overhead_ns));
}

/* ---- work below work that hardly ever pauses ---- */

static void starve_begin(u64 duration_ns, u32 kernels, u64 period_ns, u32 nr_low,
			 u64 low_kernel_ns)
{
	begin(duration_ns);
	load_below_pauses(kernels, period_ns, nr_low, low_kernel_ns);
}

static void starve_end(void)
{
	simulate();
	printf("least %.4f %%, without %.2f s, high %.1f %%", least_pct(1), without_s(1), pct(0));
}

static void starve(u64 duration_ns, u32 kernels, u64 period_ns, u32 nr_low, u64 low_kernel_ns)
{
	starve_begin(duration_ns, kernels, period_ns, nr_low, low_kernel_ns);
	starve_end();
}

static void starve_495(void)
{
	starve(120 * SEC, 495, 500 * MS, 3, 200 * MS);
}

static void starve_898(void)
{
	starve(120 * SEC, 898, 900 * MS, 3, 2 * MS);
}

static void starve_895(void)
{
	starve(600 * SEC, 895, 900 * MS, 3, 20 * MS);
}

/* The slots that are left go to the three by turns. */
static void starve_495_turns(void)
{
	starve_begin(120 * SEC, 495, 500 * MS, 3, 200 * MS);
	config.device.by_turns = true;
	starve_end();
}

static void starve_898_turns(void)
{
	starve_begin(120 * SEC, 898, 900 * MS, 3, 2 * MS);
	config.device.by_turns = true;
	starve_end();
}

static void starve_poisson(u64 period_ns, u32 nr_low, u64 low_kernel_ns)
{
	begin(120 * SEC);
	load_below_poisson(period_ns, nr_low, low_kernel_ns);
	simulate();
	printf("least %.2f %%, without %.2f s, high p99 %.1f ms", least_pct(1), without_s(1),
	       ms_at(0, .99));
}

static void starve_poisson_80(void)
{
	starve_poisson(25 * MS, 3, 200 * MS);
}

static void starve_poisson_95(void)
{
	starve_poisson(21053 * US, 8, 2 * MS);
}

static void starve_endless(void)
{
	static const u32 counts[] = { 1, 10, 25, 50, 200 };
	u32 i;

	for (i = 0; i < 5; i++) {
		begin(30 * SEC);
		add_endless(HIGH, 1, 100 * US);
		add_endless(LOW, counts[i], 2 * MS)->apart_ns = 20 * MS;
		simulate();
		printf("%s%u: without %.2f s, least %.3f, high %.1f %%", i ? "; " : "", counts[i],
		       without_s(1), least_pct(1), pct(0));
	}
}

/* ---- groups with shares below a class that pauses ---- */

static void groups_below(u32 nr)
{
	double longest_s = 0, least = 100;
	u32 i;

	begin(120 * SEC);
	load_groups_below(nr);
	simulate();
	for (i = 1; i <= nr; i++) {
		longest_s = fmax(longest_s, without_s(i));
		least = fmin(least, least_pct(i));
	}
	printf("without %.2f s, least %.4f, decode %.1f %%", longest_s, least, pct(0));
}

static void groups_6(void)
{
	groups_below(6);
}

static void groups_10(void)
{
	groups_below(10);
}

static void groups_18(void)
{
	groups_below(18);
}

/* ---- deadlines ---- */

static void edf_beside_endless(u64 deadline_ns)
{
	u64 least = ~0ULL, most = 0, late = 0, done;
	u32 seed;

	for (seed = 1; seed <= 10; seed++) {
		begin(60 * SEC);
		config.seed = seed;
		load_task_beside_endless(deadline_ns);
		simulate();
		done = result.classes[0].nr_requests;
		least = done < least ? done : least;
		most = done > most ? done : most;
		late += result.classes[0].nr_late;
	}
	printf("done %llu to %llu of 600, late %.1f %% of 600; endless has %.1f %%",
	       (unsigned long long)least, (unsigned long long)most, late / 60.0, pct(1));
}

static void edf_endless_50(void)
{
	edf_beside_endless(50 * MS);
}

static void edf_endless_10(void)
{
	edf_beside_endless(10 * MS);
}

static void edf_endless_1(void)
{
	edf_beside_endless(MS);
}

/* Three tasks that use so much of the device together, beside work without a deadline */
static void edf_tasks(u32 load_pct)
{
	u32 i;

	config.policy = "edf";
	add_task(10 * MS, 10 * MS * load_pct / 300);
	add_task(40 * MS, 40 * MS * load_pct / 300);
	add_task(100 * MS, 100 * MS * load_pct / 300);
	add_endless(HIGH, 1, 2 * MS);
	simulate();
	for (i = 0; i < 3; i++)
		printf("%s%.1f", i ? ", " : "late ", 100.0 * result.classes[i].nr_late /
		       result.classes[i].nr_requests);
	printf(" %%; said to be late %llu of %llu; longest of 10 ms %.1f",
	       (unsigned long long)result.classes[0].missed,
	       (unsigned long long)result.classes[0].nr_requests, ms_at(0, 1));
}

static void edf_half(void)
{
	begin(60 * SEC);
	edf_tasks(50);
}

static void edf_half_slow(void)
{
	begin(60 * SEC);
	slow_connect(MS);
	edf_tasks(50);
}

static void edf_70_slow(void)
{
	begin(60 * SEC);
	slow_connect(MS);
	edf_tasks(70);
}

/* Three tasks that need so much of the device together have reserved it, beside work without end. */
static void edf_reserved(u32 load_pct)
{
	static const u64 periods_ns[] = { 20 * MS, 100 * MS, 200 * MS };
	u32 i;

	config.policy = "edf";
	for (i = 0; i < 3; i++) {
		add_task(periods_ns[i], periods_ns[i] * load_pct / 300);
		config.classes[i].runtime_ns = periods_ns[i] * load_pct / 300;
	}
	add_endless(HIGH, 1, 2 * MS)->deadline_ns = MS;
	simulate();
	for (i = 0; i < 3; i++)
		printf("%s%.1f%s", i ? ", " : "late ", 100.0 * result.classes[i].nr_late /
		       result.classes[i].nr_requests,
		       result.classes[i].nr_refused ? " (refused)" : "");
	printf(" %%; endless has %.1f %%", pct(3));
}

static void edf_fits_90(void)
{
	begin(60 * SEC);
	edf_reserved(90);
}

static void edf_refused_105(void)
{
	begin(60 * SEC);
	edf_reserved(105);
}

static void edf_fits_70_slow(void)
{
	begin(60 * SEC);
	slow_connect(MS);
	edf_reserved(70);
}

/* ---- shares of a process that pauses ---- */

static void minimum(u32 min_pct, u32 weight, u64 kernel_ns, u64 gap_ns)
{
	begin(30 * SEC);
	load_minimum(min_pct, weight, kernel_ns, gap_ns);
	simulate();
	printf("has %.1f of %.1f %%, greedy %.1f %%", pct(0),
	       100.0 * kernel_ns / (kernel_ns + gap_ns), pct(1));
	print_lost();
}

static void min_50_400us(void)
{
	minimum(50, 100, 200 * US, 400 * US);
}

static void min_50_500us(void)
{
	minimum(50, 100, 200 * US, 500 * US);
}

static void min_50_1ms(void)
{
	minimum(50, 100, 200 * US, MS);
}

static void min_50_1_1(void)
{
	minimum(50, 100, MS, MS);
}

static void min_50_2_2(void)
{
	minimum(50, 100, 2 * MS, 2 * MS);
}

static void min_50_5_5(void)
{
	minimum(50, 100, 5 * MS, 5 * MS);
}

static void min_50_10_10(void)
{
	minimum(50, 100, 10 * MS, 10 * MS);
}

static void min_90(void)
{
	minimum(90, 10000, MS, MS);
}

static void wfq_gaps(u64 gap_ns, u64 gap_most_ns)
{
	double mean_ns = gap_most_ns ? (gap_ns + gap_most_ns) / 2 : gap_ns;

	begin(20 * SEC);
	load_weights(gap_ns, gap_most_ns);
	simulate();
	printf("has %.1f of %.1f %%, greedy %.1f %%", pct(0),
	       100.0 * 200 * US / (200 * US + mean_ns), pct(1));
	print_lost();
}

static void wfq_10us(void)
{
	wfq_gaps(10 * US, 0);
}

static void wfq_200us(void)
{
	wfq_gaps(50 * US, 200 * US);
}

static void wfq_1ms(void)
{
	wfq_gaps(MS, 0);
}

static void wfq_weights(void)
{
	begin(60 * SEC);
	config.policy = "wfq";
	add_endless(HIGH, 1, 2 * MS)->weight = 10000;
	add_endless(HIGH, 1, 2 * MS)->weight = 10;
	simulate();
	printf("has %.2f %% of 0.10, without %.1f s", pct(1), without_s(1));
}

/* A group with one of 101 parts is made anew so often, and begins with new processes. */
static void remade(u64 every_ns)
{
	begin(30 * SEC);
	in_group(add_endless(HIGH, 1, 2 * MS), 1, 1, 0);
	config.groups[1].remade_ns = every_ns;
	in_group(add_endless(HIGH, 1, 2 * MS), 2, 100, 0);
	simulate();
	printf("has %.2f of 0.99 %%, without %.2f s", pct(0), without_s(0));
}

static void remade_never(void)
{
	remade(0);
}

static void remade_10(void)
{
	remade(100 * MS);
}

static void remade_100(void)
{
	remade(10 * MS);
}

/* Kernels of 10 us, in a group of its own beside a greedy one: each is less than a switch. */
static void tiny_bursts(void)
{
	begin(20 * SEC);
	slow_connect(MS);
	in_group(add_gappy(HIGH, 10 * US, 400 * US, 0), 1, 100, 0);
	in_group(add_endless(HIGH, 1, 2 * MS), 2, 100, 0);
	simulate();
	printf("has %.1f %%, greedy %.1f %%", pct(0), pct(1));
	print_lost();
}

/* Short requests beside so many busy groups that are their equals */
static void equal_groups(u32 nr)
{
	begin(60 * SEC);
	load_equals(nr);
	simulate();
	printf("request p50 %.1f, p99 %.1f ms, has %.1f of 5 %%, greedy %.1f %% each",
	       ms_at(0, .5), ms_at(0, .99), pct(0), pct(1));
	print_lost();
}

static void equal_2(void)
{
	equal_groups(2);
}

static void equal_8(void)
{
	equal_groups(8);
}

/* Bursts of 0.3 ms beside four greedy groups */
static void fair_bursts(u64 gap_ns)
{
	u32 i;

	begin(20 * SEC);
	in_group(add_gappy(HIGH, 300 * US, gap_ns, 0), 1, 100, 0);
	for (i = 2; i < 6; i++)
		in_group(add_endless(HIGH, 1, 2 * MS), i, 100, 0);
	simulate();
	printf("has %.1f of %.1f %%, fair are 20", pct(0), 100.0 * 300 * US / (300 * US + gap_ns));
	print_lost();
}

static void fair_350us(void)
{
	fair_bursts(350 * US);
}

static void fair_1ms(void)
{
	fair_bursts(MS);
}

/* A group with a maximum of 30 percent, where a save takes 5 ms */
static void maximum(bool beside)
{
	begin(20 * SEC);
	load_maximum(beside);
	simulate();
	printf("has %.1f of 30 %%", pct(0));
	if (beside)
		printf(", other %.1f %%", pct(1));
	print_lost();
}

static void max_alone(void)
{
	maximum(false);
}

static void max_beside(void)
{
	maximum(true);
}

/* ---- requests above training: what switches cost, and which side pays ---- */

static void print_requests(u32 class, u32 training)
{
	simulate();
	simulate_alone(class);
	printf("p50 %.2f ms %.2fx, p99 %.2f ms %.2fx, training %.1f %%", ms_at(class, .5),
	       ms_at(class, .5) / alone_ms_at(.5), ms_at(class, .99),
	       ms_at(class, .99) / alone_ms_at(.99), pct(training));
	print_lost();
}

static void slow_decode(u64 save_ns, u64 kernel_ns, u64 gap_ns, u64 gap_most_ns)
{
	begin(60 * SEC);
	load_slow_decode(save_ns, kernel_ns, gap_ns, gap_most_ns);
	print_requests(0, 1);
}

static void decode_slow_saves(void)
{
	slow_decode(MS, 30 * US, 150 * US, 200 * US);
}

static void decode_1ms(void)
{
	slow_decode(200 * US, 200 * US, MS, 1500 * US);
}

static void decode_2ms(void)
{
	slow_decode(200 * US, 200 * US, 2 * MS, 3 * MS);
}

static void decode_5ms(void)
{
	slow_decode(200 * US, 200 * US, 5 * MS, 7500 * US);
}

static void slow_requests(u64 save_ns, u64 period_ns, u32 kernels, u64 kernel_ns)
{
	begin(60 * SEC);
	slow_connect(save_ns);
	add_requests(HIGH, period_ns, kernels, kernel_ns);
	add_endless(LOW, 1, 2 * MS);
	print_requests(0, 1);
}

static void slow_100_50us(void)
{
	slow_requests(MS, 10 * MS, 1, 50 * US);
}

static void slow_100_2ms(void)
{
	slow_requests(MS, 10 * MS, 1, 2 * MS);
}

static void slow_333_50us(void)
{
	slow_requests(MS, 3 * MS, 1, 50 * US);
}

static void slow_5_5ms(void)
{
	slow_requests(5 * MS, 200 * MS, 1, 5 * MS);
}

/* Waves of one of two victims are saved in 5 ms, those of the other in 20 us. */
static void slow_victim(void)
{
	begin(60 * SEC);
	add_requests(HIGH, 20 * MS, 1, 2 * MS);
	add_endless(LOW, 1, 2 * MS)->save_ns = 5 * MS;
	add_endless(LOW, 1, 2 * MS)->save_ns = 20 * US;
	print_requests(0, 1);
	printf(", other %.1f %%", pct(2));
}

static void lagging_counters(u64 lag_ns)
{
	begin(60 * SEC);
	config.device.counters_lag_ns = lag_ns;
	add_requests(HIGH, 10 * MS, 1, 2 * MS);
	add_endless(LOW, 1, 2 * MS);
	print_requests(0, 1);
}

static void lag_100us(void)
{
	lagging_counters(100 * US);
}

static void lag_1ms(void)
{
	lagging_counters(MS);
}

static void fast_decode(void)
{
	begin(60 * SEC);
	add_decode(200 * US, 500 * US, 750 * US)->arrivals = CONTINUOUS;
	add_endless(LOW, 1, 2 * MS);
	print_requests(0, 1);
}

static void fast_2000(void)
{
	begin(20 * SEC);
	add_requests(HIGH, 500 * US, 1, 50 * US);
	add_endless(LOW, 1, 2 * MS);
	print_requests(0, 1);
}

/* Single requests beside short kernels: is one taken off that is about to end? */
static void beside_short(u32 kernels, u64 low_kernel_ns, u64 runlist_ns, bool exponential)
{
	begin(40 * SEC);
	config.device.runlist_ns = runlist_ns;
	add_requests(HIGH, 25 * MS, kernels, 500 * US);
	add_endless(LOW, 1, low_kernel_ns)->exponential = exponential;
	print_requests(0, 1);
	printf("; runlists for each %.2f",
	       (double)result.nr_acting / result.classes[0].nr_requests);
}

static void drain_20us(void)
{
	beside_short(1, 20 * US, 20 * US, false);
}

static void drain_50us(void)
{
	beside_short(1, 50 * US, 160 * US, false);
}

static void drain_3(void)
{
	beside_short(3, 20 * US, 20 * US, false);
}

static void drain_20(void)
{
	beside_short(20, 20 * US, 20 * US, false);
}

static void drain_exponential(void)
{
	beside_short(1, 20 * US, 20 * US, true);
}

static void base(void)
{
	begin(60 * SEC);
	add(sim_inference);
	add(sim_training);
	print_requests(0, 1);
}

/* Requests of the middle, of @kernels of @kernel_ns each @period_ns, below those of the top */
static void top_beside_mid(u64 period_ns, u32 kernels, u64 kernel_ns)
{
	add_requests(2, period_ns, kernels, kernel_ns);
	add_endless(LOW, 1, 2 * MS);
	print_requests(0, 2);
	printf("; mid p99 %.1f ms", ms_at(1, .99));
}

static void top_mid(void)
{
	begin(60 * SEC);
	slow_connect(5 * MS);
	add_requests(HIGH, 200 * MS, 10, MS);
	top_beside_mid(10 * MS, 1, 50 * US);
}

/* A switch for each request of the middle takes an eighth of the time. */
static void top_mid_5ms(void)
{
	begin(60 * SEC);
	slow_connect(5 * MS);
	add_requests(HIGH, 200 * MS, 1, 50 * US);
	top_beside_mid(100 * MS, 5, MS);
}

static void top_mid_fast(void)
{
	begin(60 * SEC);
	add_requests(HIGH, MS, 1, 50 * US);
	top_beside_mid(5 * MS, 1, MS);
}

/* Each has a level of its own. */
static void eight_levels(void)
{
	u32 i;

	begin(60 * SEC);
	slow_connect(MS);
	for (i = 0; i < 8; i++)
		add_requests(HIGH - 2 * (s32)i, 50 * MS, 5, MS);
	simulate();
	printf("all %.1f %%, lowest p99 %.1f s, top p99 %.1f ms", all_pct(), ms_at(7, .99) / 1e3,
	       ms_at(0, .99));
	print_lost();
}

/* ---- a debt of work below ---- */

static void batch_below(u32 nr)
{
	begin(120 * SEC);
	load_batch_below(nr);
	simulate();
	printf("inference p99 %.2f, longest %.2f ms, training %.1f %%", ms_at(0, .99), ms_at(0, 1),
	       pct(1));
	if (nr)
		printf(", batch without %.2f s, least %.2f %%", without_s(2), least_pct(2));
}

static void batch_0(void)
{
	batch_below(0);
}

static void batch_1(void)
{
	batch_below(1);
}

static void batch_20(void)
{
	batch_below(20);
}

static void bursts_below(void)
{
	begin(100 * SEC);
	add_endless(HIGH, 1, 100 * US);
	add_requests(LOW, SEC, 5, MS)->nr_queues = 5;
	simulate();
	printf("done %llu of %llu, without %.2f s, high %.1f %%",
	       (unsigned long long)result.classes[1].nr_requests,
	       (unsigned long long)result.classes[1].nr_submitted / 5, without_s(1), pct(0));
}

static void eight_classes(void)
{
	double longest_s = 0;
	u32 i;

	begin(60 * SEC);
	for (i = 0; i < 8; i++)
		add_endless(HIGH - 2 * (s32)i, 1, 2 * MS);
	simulate();
	for (i = 1; i < 8; i++)
		longest_s = fmax(longest_s, without_s(i));
	printf("without %.2f s, the lowest %.2f s, top %.1f %%, lowest %.2f %%", longest_s,
	       without_s(7), pct(0), pct(7));
}

/* Of one beside so many others of its class, below endless work */
static void diluted(u32 nr)
{
	begin(120 * SEC);
	add_endless(HIGH, 1, 100 * US);
	add_endless(LOW, 1, 2 * MS);
	add_endless(LOW, nr, 2 * MS);
	simulate();
	printf("without %.1f s, of the many %.1f s, high %.1f %%", without_s(1), without_s(2),
	       pct(0));
}

static void diluted_99(void)
{
	diluted(99);
}

static void diluted_399(void)
{
	diluted(399);
}

/* ---- what fits beside each other ---- */

static void narrow(u32 units, u64 period_ns, u32 kernels, u64 kernel_ns, u32 low_units,
		   u64 low_kernel_ns)
{
	begin(120 * SEC);
	add_requests(HIGH, period_ns, kernels, kernel_ns)->units = units;
	add_endless(LOW, 1, low_kernel_ns)->units = low_units;
	print_requests(0, 1);
	printf(", runlists %.0f/s", result.nr_acting * 1e9 / config.duration_ns);
}

static void narrow_5(void)
{
	narrow(5, 10 * MS, 50, 100 * US, 90, 2 * MS);
}

static void narrow_10(void)
{
	narrow(10, 2 * MS, 1, MS, 20, MS);
}

static void narrow_short(void)
{
	narrow(5, 10 * MS, 1, 100 * US, 95, 20 * US);
}

static void narrow_and_wide(void)
{
	struct sim_class *wide;

	begin(60 * SEC);
	add_requests(HIGH, 20 * MS, 20, 100 * US)->units = 5;
	wide = add_requests(HIGH, 20 * MS, 20, 100 * US);
	wide->units = 95;
	add_endless(LOW, 1, 2 * MS)->units = 90;
	simulate();
	printf("p99 narrow %.2f, wide %.2f ms, low %.1f %%", ms_at(0, .99), ms_at(1, .99), pct(2));
	print_lost();
}

static void endless_narrow(void)
{
	begin(60 * SEC);
	add_endless(HIGH, 1, 10 * SEC)->units = 1;
	add_requests(HIGH, 100 * MS, 1, 2 * MS)->units = 99;
	add_endless(LOW, 1, 2 * MS)->units = 90;
	simulate();
	printf("wide p99 %.2f ms, low %.1f %%", ms_at(1, .99), pct(2));
	print_lost();
}

/* Slots that are free go to work that fits, also if wider work waits. */
static void endless_narrow_fills(void)
{
	begin(60 * SEC);
	config.device.fills = true;
	add_endless(HIGH, 1, 10 * SEC)->units = 1;
	add_endless(LOW, 1, 2 * MS)->units = 90;
	simulate();
	printf("low %.1f %%", pct(1));
	print_lost();
}

static void print_high_and_low(void)
{
	simulate();
	printf("high %.1f %%, low %.1f %%", pct(0), pct(1));
	print_lost();
}

/* Long kernels that share all slots with others are slower beside them. */
static void long_splits(void)
{
	begin(120 * SEC);
	config.device.splits = true;
	add_endless(HIGH, 1, 3 * SEC)->units = 60;
	add_endless(LOW, 1, 2 * MS)->units = 90;
	print_high_and_low();
}

/* Long kernels whose workgroups take turns in all slots of the device */
static void long_wide(void)
{
	begin(120 * SEC);
	config.device.fills = true;
	add_endless(HIGH, 1, 3 * SEC);
	config.classes[0].rounds = 1000;
	add_endless(LOW, 1, 2 * MS)->units = 20;
	print_high_and_low();
}

/*
 * High kernels begin at once in the few slots that low ones leave, and show waves, but are slow
 * there.
 */
static void slowed(u32 low_units, u64 low_kernel_ns, u32 rounds)
{
	begin(20 * SEC);
	config.device.splits = true;
	add(sim_inference);
	add_endless(LOW, 1, low_kernel_ns)->units = low_units;
	config.classes[1].rounds = rounds;
	print_requests(0, 1);
}

static void slowed_95(void)
{
	slowed(95, 20 * MS, 0);
}

static void slowed_50(void)
{
	slowed(50, 20 * MS, 0);
}

/* They take turns with low workgroups of 50 us. */
static void slowed_rounds(void)
{
	slowed(100, 20 * MS, 400);
}

/* What high work leaves is enough for low work, which is only slower. */
static void splits_narrow(void)
{
	begin(20 * SEC);
	config.device.splits = true;
	add_requests(HIGH, 10 * MS, 50, 100 * US)->units = 5;
	add_endless(LOW, 1, 2 * MS);
	print_requests(0, 1);
}

/* ---- barriers, and work that needs other work ---- */

/* Each kernel of a request stands behind a barrier. */
static void barriers(u64 low_kernel_ns, bool moves)
{
	begin(60 * SEC);
	config.device.moves_past_barriers = moves;
	config.device.runlists_tell = true;
	add_requests(HIGH, 250 * MS, 20, 100 * US)->arrivals = PERIODIC;
	config.classes[0].barrier_ns = 5 * MS;
	add_endless(LOW, 1, low_kernel_ns);
	print_requests(0, 1);
}

static void barriers_20ms(void)
{
	barriers(20 * MS, true);
}

static void barriers_200ms(void)
{
	barriers(200 * MS, true);
}

/* A barrier that is met shows nowhere before the kernel behind it has slots. */
static void barriers_unseen(void)
{
	barriers(20 * MS, false);
}

/* So does each of a chain without end. */
static void barrier_chain(u64 barrier_ns)
{
	begin(30 * SEC);
	config.device.moves_past_barriers = true;
	config.device.runlists_tell = true;
	add_endless(HIGH, 1, 100 * US)->barrier_ns = barrier_ns;
	add_endless(LOW, 1, 2 * MS);
	simulate();
	simulate_alone(0);
	printf("chain %.2fx, has %.1f %%, low %.1f %%",
	       (double)alone.classes[0].nr_done / result.classes[0].nr_done, pct(0), pct(1));
	print_lost();
}

static void chain_2ms(void)
{
	barrier_chain(1900 * US);
}

static void chain_3ms(void)
{
	barrier_chain(2900 * US);
}

static void chain_5ms(void)
{
	barrier_chain(4900 * US);
}

/* A request needs so much of low work, and work between the two never ends. */
static void dependent(u64 needs_ns, bool declares)
{
	begin(600 * SEC);
	add_requests(HIGH, 30 * SEC, 1, MS)->arrivals = PERIODIC;
	config.classes[0].needs = 3;
	config.classes[0].needs_kernels = needs_ns / MS;
	config.classes[0].declares = declares;
	add_endless(2, 1, 2 * MS);
	add_endless(LOW, 1, MS);
	simulate();
	printf("request p50 %.0f, longest %.0f ms, low %.1f %%", ms_at(0, .5), ms_at(0, 1), pct(2));
}

static void needs_10ms(void)
{
	dependent(10 * MS, false);
}

static void declares_10ms(void)
{
	dependent(10 * MS, true);
}

static void needs_50ms(void)
{
	dependent(50 * MS, false);
}

static void declares_50ms(void)
{
	dependent(50 * MS, true);
}

static void needs_200ms(void)
{
	dependent(200 * MS, false);
}

static void declares_200ms(void)
{
	dependent(200 * MS, true);
}

/* ---- where the monitor is told of work, and where only runlists tell of its end ---- */

static void told(void)
{
	begin(60 * SEC);
	config.doorbells = true;
	add(sim_inference);
	add(sim_training);
	print_requests(0, 1);
	printf("; %.0f looks/s", result.nr_passes * 1e9 / config.duration_ns);
}

static void no_counters(void)
{
	begin(60 * SEC);
	config.device.runlists_tell = true;
	config.device.no_counters = true;
	add(sim_inference);
	add(sim_training);
	print_requests(0, 1);
	printf(", runlists %.0f/s", result.nr_acting * 1e9 / config.duration_ns);
}

/* ---- stamps, and requests shorter than a look ---- */

static void stamp(u64 connect_ns)
{
	begin(60 * SEC);
	config.device.says_connect_ns = connect_ns;
	add(sim_inference);
	add(sim_training);
	simulate();
	printf("inference p50 %.2f, p99 %.2f ms, training %.1f %%", ms_at(0, .5), ms_at(0, .99),
	       pct(1));
}

static void stamp_5ms(void)
{
	stamp(5 * MS);
}

static void stamp_20ms(void)
{
	stamp(20 * MS);
}

static void print_short(void)
{
	simulate();
	printf("idle for each %.0f us, p50 %.2f, p99 %.2f ms, training %.1f %%, switches %.1f %%",
	       result.idle_ns / 1e3 / result.classes[0].nr_requests, ms_at(0, .5), ms_at(0, .99),
	       pct(1), of_time(result.overhead_ns));
}

static void short_request(u64 kernel_ns)
{
	begin(30 * SEC);
	load_short_requests(5 * MS, kernel_ns);
	print_short();
}

static void short_20us(void)
{
	short_request(20 * US);
}

static void short_50us(void)
{
	short_request(50 * US);
}

static void short_80us(void)
{
	short_request(80 * US);
}

static void short_slow(void)
{
	begin(30 * SEC);
	slow_connect(5 * MS);
	load_short_requests(100 * MS, 50 * US);
	print_short();
}

/* ---- jobs on eight nodes ---- */

/* A low job, work below it, and high requests on the first nodes */
static void job_below(u32 nr_high, u64 high_period_ns, u64 layer_ns, bool stay)
{
	double job, below = 0, p99_ms = 0;
	u32 i;

	begin(8 * SEC);
	load_job(high_period_ns, layer_ns, stay);
	job = simulate_job(nr_high);
	for (i = 0; i < NR_JOB_NODES; i++) {
		result = node_results[i];
		below += pct(1) / NR_JOB_NODES;
		p99_ms = fmax(p99_ms, ms_at(2, .99));
	}
	printf("%s: job %.1f %%, below %.1f %%, high p99 %.1f ms", stay ? "stays" : "leaves", job,
	       below, p99_ms);
}

static void job_both(u32 nr_high, u64 high_period_ns, u64 layer_ns)
{
	job_below(nr_high, high_period_ns, layer_ns, false);
	printf("; ");
	job_below(nr_high, high_period_ns, layer_ns, true);
}

static void job_all_20(void)
{
	job_both(NR_JOB_NODES, 10 * MS, 100 * US);
}

static void job_all_40(void)
{
	job_both(NR_JOB_NODES, 5 * MS, 100 * US);
}

static void job_layers(void)
{
	job_both(NR_JOB_NODES, 10 * MS, 5 * MS);
}

static void job_one(void)
{
	job_both(1, 10 * MS, 100 * US);
}

/* ---- the same on a node that only observes ---- */

static double factor(u64 would, u64 acted)
{
	return acted ? (double)would / acted : would;
}

static void print_observed(void)
{
	simulate_observing();
	printf("; preempts %llu, would %llu %.2fx, resumes %llu, would %llu %.2fx",
	       (unsigned long long)result.nr_preempted, (unsigned long long)observed.nr_preempted,
	       factor(observed.nr_preempted, result.nr_preempted),
	       (unsigned long long)result.nr_resumed, (unsigned long long)observed.nr_resumed,
	       factor(observed.nr_resumed, result.nr_resumed));
}

/* ---- the whole ---- */

static const struct scenario {
	const char *name;
	void (*run)(void);
	const char *wanted;
} scenarios[] = {
	{ "starve-495", starve_495, "least 0.60 %, without 0.6 s" },
	{ "starve-495-turns", starve_495_turns, "least 0.60 %, without 0.6 s" },
	{ "starve-898", starve_898, "least 0.73 %, without 0.3 s" },
	{ "starve-898-turns", starve_898_turns, "least 0.73 %, without 0.3 s" },
	{ "starve-895", starve_895, "least 0.63 %, without 0.4 s" },
	{ "starve-poisson-80", starve_poisson_80, "least 3.4 %, without 0.5 s" },
	{ "starve-poisson-95", starve_poisson_95, "least 0.29 %, without 0.7 s" },
	{ "starve-endless", starve_endless,
	  "without 0.11, 0.51, 1.1, 2.3, 9.1 s; high 98.0, 97.8, 97.7, 97.7, 96.9 %" },
	{ "groups-6", groups_6, "without 0.5 s" },
	{ "groups-10", groups_10, "without 0.5 s" },
	{ "groups-18", groups_18, "without 0.8 s" },
	{ "edf-endless-50", edf_endless_50, "done 599 to 600" },
	{ "edf-endless-10", edf_endless_10, "done 599 to 600" },
	{ "edf-endless-1", edf_endless_1, "done 599 to 600" },
	{ "edf-half", edf_half, "none late, none said to be, longest 3.5 ms" },
	{ "edf-half-slow", edf_half_slow, "2.4 % late at most" },
	{ "edf-70-slow", edf_70_slow, "39, 10, 0 % late at most" },
	{ "edf-fits-90", edf_fits_90, "none late" },
	{ "edf-refused-105", edf_refused_105, "the last refused, the others never late" },
	{ "edf-fits-70-slow", edf_fits_70_slow, "none late" },
	{ "min-50-400us", min_50_400us, "has 26.8 %" },
	{ "min-50-500us", min_50_500us, "" },
	{ "min-50-1ms", min_50_1ms, "has 15.5 %" },
	{ "min-50-1-1", min_50_1_1, "has 44.9 %" },
	{ "min-50-2-2", min_50_2_2, "has 39.0 %" },
	{ "min-50-5-5", min_50_5_5, "has 44.6 %" },
	{ "min-50-10-10", min_50_10_10, "has 34.2 %" },
	{ "min-90", min_90, "has 47.8 %" },
	{ "wfq-10us", wfq_10us, "has 46.3 %" },
	{ "wfq-200us", wfq_200us, "has 30.2 %" },
	{ "wfq-1ms", wfq_1ms, "has 15.1 %" },
	{ "wfq-weights", wfq_weights, "has 0.09 %" },
	{ "remade-never", remade_never, "has 0.99 %" },
	{ "remade-10", remade_10, "has up to 0.99 %, not 0" },
	{ "remade-100", remade_100, "has up to 0.99 %, not 0" },
	{ "tiny-bursts", tiny_bursts, "switches 20 % at most" },
	{ "equal-2", equal_2, "p50 3.7, p99 9.2 ms at most" },
	{ "equal-8", equal_8, "p50 3.7, p99 12 ms at most" },
	{ "fair-350us", fair_350us, "has 9.5 %" },
	{ "fair-1ms", fair_1ms, "has 10.1 %" },
	{ "max-alone", max_alone, "has 24.9 %, switches 10 %" },
	{ "max-beside", max_beside, "has 24.0 %" },
	{ "base", base, "p50 2.16, p99 4.98 ms, training 77.8 %" },
	{ "decode-1ms", decode_1ms, "p50 1.07x, training 67 %" },
	{ "decode-2ms", decode_2ms, "p50 1.07x, training 75.0 %" },
	{ "decode-5ms", decode_5ms, "p50 1.08x, training 80.7 %" },
	{ "decode-slow-saves", decode_slow_saves, "" },
	{ "decode-fast", fast_decode, "p50 1.09x, training 53 %" },
	{ "slow-100-50us", slow_100_50us, "p99 2.56 ms, training 88.7 %" },
	{ "slow-100-2ms", slow_100_2ms, "p99 6.2 ms" },
	{ "slow-333-50us", slow_333_50us, "p99 0.77 ms" },
	{ "slow-5-5ms", slow_5_5ms, "p99 12.3 ms, training 92.7 %" },
	{ "fast-2000", fast_2000, "p99 0.25 ms, training 76.5 %" },
	{ "slow-victim", slow_victim, "" },
	{ "lag-100us", lag_100us, "p50 2.16, p99 5.2 ms" },
	{ "lag-1ms", lag_1ms, "p50 2.16, p99 5.2 ms" },
	{ "drain-20us", drain_20us, "p50 1.02x" },
	{ "drain-50us", drain_50us, "p99 1.19x" },
	{ "drain-3", drain_3, "runlists for each 0.20" },
	{ "drain-20", drain_20, "" },
	{ "drain-exponential", drain_exponential, "p99 1.05x, runlists for each 0.02" },
	{ "top-mid", top_mid, "p50 10.5 ms, training 84.4 %" },
	{ "top-mid-5ms", top_mid_5ms, "" },
	{ "top-mid-fast", top_mid_fast, "" },
	{ "levels-8", eight_levels, "all 86.3 %, lowest p99 1.4 s" },
	{ "batch-0", batch_0, "p99 5.11 ms" },
	{ "batch-1", batch_1, "p99 5.11 ms, batch without 0.1 s" },
	{ "batch-20", batch_20, "p99 5.24 ms, batch without 0.9 s" },
	{ "bursts-below", bursts_below, "done 359 of 500, without 0.5 s" },
	{ "classes-8", eight_classes, "without 1.0 s" },
	{ "diluted-99", diluted_99, "without 4.5 s" },
	{ "diluted-399", diluted_399, "without 18.2 s" },
	{ "narrow-5", narrow_5, "p50 5.11 ms, training 90.0 %" },
	{ "narrow-10", narrow_10, "p50 1.08 ms, training 20.0 %" },
	{ "narrow-short", narrow_short, "p50 0.10 ms, training 94.0 %, no runlists" },
	{ "narrow-and-wide", narrow_and_wide, "" },
	{ "endless-narrow", endless_narrow, "wide p99 2.95 ms, low 90 %" },
	{ "endless-narrow-fills", endless_narrow_fills, "low 90 %" },
	{ "slowed-95", slowed_95, "p50 1.06x, p99 1.05x" },
	{ "slowed-50", slowed_50, "p50 1.06x, p99 1.05x" },
	{ "slowed-rounds", slowed_rounds, "p50 1.06x, p99 1.05x" },
	{ "long-splits", long_splits, "high 97 %" },
	{ "long-wide", long_wide, "high 97 %" },
	{ "splits-narrow", splits_narrow, "p50 1.06x, training more than 44 %" },
	{ "barriers-20ms", barriers_20ms, "p50 1.03x, training 86.8 %" },
	{ "barriers-200ms", barriers_200ms, "p50 1.03x, training 86.8 %" },
	{ "barriers-unseen", barriers_unseen, "p50 1.03x" },
	{ "chain-2ms", chain_2ms, "" },
	{ "chain-3ms", chain_3ms, "" },
	{ "chain-5ms", chain_5ms, "low 34.9 %" },
	{ "needs-10ms", needs_10ms, "declares-10ms, where the wait is declared" },
	{ "needs-50ms", needs_50ms, "declares-50ms, where the wait is declared" },
	{ "needs-200ms", needs_200ms, "declares-200ms, where the wait is declared" },
	{ "declares-10ms", declares_10ms, "12 ms" },
	{ "declares-50ms", declares_50ms, "52 ms" },
	{ "declares-200ms", declares_200ms, "205 ms" },
	{ "told", told, "p50 2.16, p99 4.98 ms, training 77.8 %" },
	{ "no-counters", no_counters, "" },
	{ "stamp-5ms", stamp_5ms, "p99 4.98 ms" },
	{ "stamp-20ms", stamp_20ms, "p99 4.98 ms" },
	{ "short-20us", short_20us, "idle 36 us" },
	{ "short-50us", short_50us, "idle 10 us" },
	{ "short-80us", short_80us, "" },
	{ "short-slow", short_slow, "" },
	{ "job-all-20", job_all_20, "leaves: job 17.2, below 26.1 %" },
	{ "job-all-40", job_all_40, "leaves: job 3.8 %" },
	{ "job-layers", job_layers, "leaves: job 39.0 %" },
	{ "job-one", job_one, "leaves: job 75.8, below 17.7 %, high p99 4.8 ms" },
};

#define NR_SCENARIOS	(sizeof(scenarios) / sizeof(*scenarios))

static bool asked_for(const char *name, char **names, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return !nr;
}

int main(int argc, char **argv)
{
	bool list = argc > 1 && !strcmp(argv[1], "--list");
	bool observe = argc > 1 && !strcmp(argv[1], "--observe");
	u32 i;

	for (i = 0; i < NR_SCENARIOS; i++) {
		const struct scenario *s = &scenarios[i];

		if (!asked_for(s->name, argv + 1 + (list || observe),
			       argc - 1 - (list || observe)))
			continue;
		printf("%-20s ", s->name);
		if (!list)
			s->run();
		/* Jobs have nodes of their own. */
		if (observe && strncmp(s->name, "job", 3))
			print_observed();
		printf(*s->wanted ? " [%s]\n" : "\n", s->wanted);
		fflush(stdout);
	}
	return 0;
}
