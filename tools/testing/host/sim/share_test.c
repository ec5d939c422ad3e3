// SPDX-License-Identifier: MIT
/* share_test.c - shares of groups on a simulated device: weights, minima, maxima, a class above */
#include <stdlib.h>
#include <string.h>

#include "sim.h"
#include "tap.h"

#define RUN_NS		(10 * SEC)
/* What each class ran in each of so many parts of a second */
#define PARTS		1000
#define PART_NS		(SEC / PARTS)

static struct sim_config config;
static struct sim_result result;
static u64 ran_ns[NR_CLASSES_MAX][RUN_NS / PART_NS + 2];

static void note_ran(u32 class, u64 from_ns, u64 to_ns)
{
	while (from_ns < to_ns) {
		u64 end_ns = (from_ns / PART_NS + 1) * PART_NS;

		if (end_ns > to_ns)
			end_ns = to_ns;
		ran_ns[class][from_ns / PART_NS] += end_ns - from_ns;
		from_ns = end_ns;
	}
}

static void begin(void)
{
	memset(&config, 0, sizeof(config));
	sim_defaults(&config);
	config.duration_ns = RUN_NS;
	config.seed = 1;
}

/* Work without end of kernels of this length, as the next class. */
static struct sim_class *add_work(u16 group, u64 kernel_ns)
{
	u32 i = 0;

	while (config.classes[i].nr_queues)
		i++;
	config.classes[i] = sim_training;
	config.classes[i].group = group;
	config.classes[i].kernel_ns = kernel_ns;
	config.classes[i].kernels = kernel_ns < MS ? MS / kernel_ns : 1;
	return &config.classes[i];
}

static void add_group(u32 number, u16 parent, u32 weight)
{
	config.groups[number].parent = parent;
	config.groups[number].weight = weight;
}

static void simulate(void)
{
	memset(ran_ns, 0, sizeof(ran_ns));
	sim_ran = note_ran;
	sim_run(&config, &result);
	if (result.wrong[0])
		tap_fail(__FILE__, __LINE__, "%s", result.wrong);
}

/* All that a class ran, in nanoseconds */
static u64 sum_ns(u32 class)
{
	u64 sum = 0, i;

	for (i = 0; i < RUN_NS / PART_NS + 2; i++)
		sum += ran_ns[class][i];
	return sum;
}

/* What part a class has of what all ran, in percent */
static double part_of(u32 class)
{
	u64 all = 0;
	u32 i;

	for (i = 0; i < NR_CLASSES_MAX; i++)
		all += sum_ns(i);
	return 100.0 * sum_ns(class) / all;
}

/* The most that a class ran in any second, in percent of it */
static double most_in_a_second(u32 class)
{
	u64 sum = 0, most = 0, i;

	for (i = 0; i < RUN_NS / PART_NS; i++) {
		sum += ran_ns[class][i];
		if (i >= PARTS)
			sum -= ran_ns[class][i - PARTS];
		most = sum > most ? sum : most;
	}
	return 100.0 * most / SEC;
}

TEST(weights_divide_the_device, "weights of 300 and 100 give 75 and 25 percent within 2 points, whatever the lengths of kernels")
{
	static const u64 lengths[] = { 20 * US, 300 * US, 7 * MS, 900 * MS };
	u32 a, b;

	for (a = 0; a < 4; a++) {
		for (b = 0; b < 4; b++) {
			begin();
			add_group(1, 0, 300);
			add_group(2, 0, 100);
			add_work(1, lengths[a]);
			add_work(2, lengths[b]);
			simulate();
			printf("# kernels of %llu and %llu us: %.1f and %.1f percent\n", (unsigned long long)(lengths[a] / US),
			       (unsigned long long)(lengths[b] / US), part_of(0), part_of(1));
			CHECK_WITHIN(part_of(0), 73, 77);
			CHECK_WITHIN(part_of(1), 23, 27);
		}
	}
}

TEST(host_gaps_lose_no_share, "a group whose host submits one kernel after the other, with short gaps, keeps its 75 percent")
{
	struct sim_class *class;

	begin();
	add_group(1, 0, 300);
	add_group(2, 0, 100);
	class = add_work(1, 200 * US);
	class->gap_ns = 50 * US;
	class->gap_most_ns = 100 * US;
	class->kernels = 1000;
	add_work(2, 300 * US);
	simulate();
	printf("# with gaps %.1f percent, the other %.1f, of the whole %.1f and %.1f\n", part_of(0), part_of(1), sum_ns(0) * 100.0 / RUN_NS,
	       sum_ns(1) * 100.0 / RUN_NS);
	/* Its gaps are in its time. */
	CHECK_WITHIN(sum_ns(1) * 100.0 / RUN_NS, 22, 28);
	CHECK(sum_ns(0) * 100.0 / RUN_NS > 48);
}

TEST(what_is_not_used_goes_to_others, "a group without work leaves all of the device to the others, and has its share again when it works")
{
	struct sim_class *class;

	begin();
	add_group(1, 0, 300);
	add_group(2, 0, 100);
	class = add_work(1, MS);
	/* 400 ms of work every second */
	class->arrivals = PERIODIC;
	class->period_ns = SEC;
	class->kernels = 400;
	add_work(2, MS);
	simulate();
	printf("# some of the time %.1f percent, the other %.1f\n", part_of(0), part_of(1));
	CHECK_WITHIN(sum_ns(0) * 100.0 / RUN_NS, 38, 41);
	CHECK(sum_ns(1) * 100.0 / RUN_NS > 56);
	/* At three quarters of the device it takes 533 ms. */
	CHECK(sim_quantile_ns(&result.classes[0].latency, 1) < 580 * MS);
}

TEST(a_minimum_is_kept, "a minimum of 20 percent is kept beside four greedy groups with a hundred times the weight")
{
	u32 i;

	begin();
	for (i = 1; i <= 4; i++) {
		add_group(i, 0, 10000);
		add_work(i, 5 * MS);
	}
	add_group(5, 0, 100);
	config.groups[5].min_pct = 20;
	add_work(5, 300 * US);
	simulate();
	printf("# at least 20: %.1f percent, the others %.1f %.1f %.1f %.1f\n", part_of(4), part_of(0), part_of(1), part_of(2), part_of(3));
	CHECK_WITHIN(part_of(4), 19, 22);
	for (i = 0; i < 4; i++)
		CHECK_WITHIN(part_of(i), 18, 22);
}

TEST(minima_that_cannot_be_had_are_scaled, "minima of 90 and 60 percent give three fifths and two fifths")
{
	begin();
	add_group(1, 0, 100);
	add_group(2, 0, 100);
	config.groups[1].min_pct = 90;
	config.groups[2].min_pct = 60;
	add_work(1, MS);
	add_work(2, MS);
	simulate();
	CHECK_WITHIN(part_of(0), 58, 62);
}

/* Groups 1 with so much of each period, and 2 beside it if @beside */
static void cap(u32 pct, u64 period_ns, bool beside, u64 kernel_ns)
{
	begin();
	add_group(1, 0, 10000);
	config.groups[1].quota_ns = period_ns * pct / 100;
	config.groups[1].period_ns = period_ns;
	add_work(1, kernel_ns);
	if (beside)
		add_work(0, 5 * MS);
	simulate();
	printf("# at most %u percent, %s: %.2f, in any second %.2f\n", pct, beside ? "beside others" : "alone",
	       100.0 * sum_ns(0) / RUN_NS, most_in_a_second(0));
	CHECK(most_in_a_second(0) <= pct + 1);
	CHECK(100.0 * sum_ns(0) / RUN_NS > pct - 2);
}

TEST(a_maximum_is_not_exceeded, "a maximum of 30 percent is exceeded in no second by more than a point, alone on the device and beside others, with kernels of any length")
{
	cap(30, 20 * MS, false, 100 * US);
	cap(30, 20 * MS, false, SEC);
	cap(30, 20 * MS, true, 100 * US);
	cap(30, 20 * MS, true, 30 * MS);
	cap(50, 20 * MS, true, MS);
}

TEST(what_a_maximum_leaves_others_have, "beside a group with a maximum of 30 percent the others have the rest")
{
	cap(30, 20 * MS, true, MS);
	CHECK(100.0 * sum_ns(1) / RUN_NS > 65);
}

TEST(groups_divide_what_the_group_above_has, "nested groups: 3 to 1, and each half again 3 to 1, within 2 points; and a maximum holds for all below it")
{
	begin();
	add_group(1, 0, 300);
	add_group(2, 0, 100);
	add_group(3, 1, 300);
	add_group(4, 1, 100);
	add_group(5, 2, 300);
	add_group(6, 2, 100);
	add_work(3, 100 * US);
	add_work(4, 5 * MS);
	add_work(5, MS);
	add_work(6, 100 * MS);
	simulate();
	printf("# nested: %.1f %.1f %.1f %.1f percent\n", part_of(0), part_of(1), part_of(2), part_of(3));
	CHECK_WITHIN(part_of(0), 54.2, 58.3);
	CHECK_WITHIN(part_of(1), 16.7, 20.8);
	CHECK_WITHIN(part_of(2), 16.7, 20.8);
	CHECK_WITHIN(part_of(3), 4.2, 8.3);

	config.groups[1].quota_ns = 6 * MS;
	config.groups[1].period_ns = 20 * MS;
	simulate();
	printf("# 30 percent for the first two: %.1f %.1f %.1f %.1f percent\n", part_of(0), part_of(1), part_of(2), part_of(3));
	CHECK_WITHIN(part_of(0) + part_of(1), 28, 31);
	CHECK_WITHIN(part_of(0), 20.5, 24.5);
}

TEST(processes_of_a_group_run_side_by_side, "two processes in one group share its time as they do without groups, and those in none are a group of the weight 100")
{
	begin();
	add_group(1, 0, 300);
	add_work(1, MS)->nr_queues = 2;
	add_work(0, MS)->nr_queues = 2;
	simulate();
	CHECK_WITHIN(part_of(0), 73, 77);
}

TEST(a_class_above_pays_nothing, "shares of batch jobs cost inference above them nothing: its latencies are those without shares")
{
	u32 shared, i;
	u64 p99_ns[2], p50_ns[2];

	for (shared = 0; shared < 2; shared++) {
		begin();
		if (shared) {
			add_group(1, 0, 300);
			add_group(2, 0, 100);
		}
		add_work(shared, 2 * MS);
		add_work(2 * shared, 2 * MS);
		config.classes[2] = sim_inference;
		simulate();
		p50_ns[shared] = sim_quantile_ns(&result.classes[2].latency, .5);
		p99_ns[shared] = sim_quantile_ns(&result.classes[2].latency, .99);
	}
	printf("# inference above: p50 %llu and p99 %llu us without, %llu and %llu with shares; %.1f and %.1f percent below\n",
	       (unsigned long long)p50_ns[0] / US, (unsigned long long)p99_ns[0] / US, (unsigned long long)p50_ns[1] / US,
	       (unsigned long long)p99_ns[1] / US, part_of(0), part_of(1));
	/* Times are known to a thirty-second. */
	CHECK(p50_ns[1] <= p50_ns[0] * 33 / 32);
	CHECK(p99_ns[1] <= p99_ns[0] * 33 / 32);
	for (i = 0; i < 2; i++)
		CHECK_WITHIN(sum_ns(i) * 100.0 / (sum_ns(0) + sum_ns(1)), i ? 22 : 72, i ? 28 : 78);
}
