// SPDX-License-Identifier: MIT
/*
 * tables.c - what each tunable costs and gives, simulated: the tables that the defaults in tunables.rst come from
 *
 *	simtables [SEED]
 *
 * Prints the same for the same seed, but for the last table, which has times of this machine.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim.h"

static u64 seed = 1;

static struct sim_config config;
static struct sim_result result, alone;

/* As the host of a framework submits it. */
static const struct sim_class with_gaps = {
	.name = "gaps", .nr_queues = 1, .priority = HIGH, .arrivals = POISSON, .period_ns = 20 * MS, .kernels = 20, .kernel_ns = 100 * US,
	.units = 100, .gap_ns = 50 * US,
};
static const struct sim_class small_requests = {
	.name = "small", .nr_queues = 1, .priority = HIGH, .arrivals = POISSON, .period_ns = 500 * US, .kernels = 1, .kernel_ns = 100 * US,
	.units = 100,
};

static void begin(const struct sim_class *high)
{
	memset(&config, 0, sizeof(config));
	sim_defaults(&config);
	config.classes[0] = *high;
	config.classes[1] = sim_training;
	config.duration_ns = 40 * SEC;
	config.seed = seed;
}

static void simulate(void)
{
	struct sim_config undisturbed = config;

	sim_run(&config, &result);
	undisturbed.classes[1].nr_queues = 0;
	sim_run(&undisturbed, &alone);
	if (result.wrong[0])
		exit(fprintf(stderr, "simtables: %s\n", result.wrong) > 0);
}

static double latency_ratio(double quantile)
{
	return (double)sim_quantile_ns(&result.classes[0].latency, quantile) / sim_quantile_ns(&alone.classes[0].latency, quantile);
}

/* Of what the foreground leaves to the background, so much is not used, in percent. */
static double loss(void)
{
	double all = (double)config.duration_ns * config.device.slots - result.classes[0].work;

	return 100 * (1 - result.classes[1].work / all);
}

static double per_second(u64 n)
{
	return (double)n * SEC / config.duration_ns;
}

static void print_head(const char *about)
{
	printf("\n%s\n\n%12s  %9s %9s  %8s %8s  %7s %9s %10s %9s\n%12s  %9s %9s  %8s %8s  %7s %9s %10s %9s\n", about, "", "noticed", "us", "latency /",
	       "alone", "back-", "runlist", "runlists", "passes", "", "p50", "p99", "p50", "p99", "loss %", "time %", "/ s", "/ s");
}

static void print_line(const char *value)
{
	simulate();
	printf("%12s  %9.0f %9.0f  %8.2f %8.2f  %7.1f %9.2f %10.0f %9.0f\n", value, sim_quantile_ns(&result.noticed, .5) / 1e3,
	       sim_quantile_ns(&result.noticed, .99) / 1e3, latency_ratio(.5), latency_ratio(.99), loss(),
	       100.0 * result.overhead_ns / config.duration_ns, per_second(result.nr_acting), per_second(result.nr_passes));
}

static void print_us(u64 us, u64 default_us)
{
	char value[16];

	snprintf(value, sizeof(value), "%llu%s", (unsigned long long)us, us == default_us ? " *" : "");
	print_line(value);
}

#define FOR_EACH(_i, ...)								\
	for (const u64 _values[] = { __VA_ARGS__ }, *_v = _values; _v < _values + sizeof(_values) / sizeof(*_values) && ((_i) = *_v, 1); _v++)

static void table_poll(void)
{
	u64 us;

	begin(&sim_inference);
	print_head("gpreempt_poll_us: an inference at 20 % beside a training (* is the default)");
	FOR_EACH(us, 50, 100, 200, 500, 1000, 2000, 5000) {
		config.params.poll_ns = us * US;
		print_us(us, 100);
	}
}

static void table_resume_delay(void)
{
	u64 us;

	begin(&with_gaps);
	print_head("gpreempt_resume_delay_us: an inference whose host takes 50 us between two kernels");
	FOR_EACH(us, 0, 50, 100, 200, 500, 1000) {
		config.params.resume_delay_ns = us * US;
		print_us(us, 0);
	}
	begin(&sim_inference);
	print_head("gpreempt_resume_delay_us: one whose kernels follow each other at once");
	FOR_EACH(us, 0, 100, 500, 1000) {
		config.params.resume_delay_ns = us * US;
		print_us(us, 0);
	}
}

/* Decoding, on devices on which a runlist costs as little as a queue's connect may take, and as much. */
static void table_decode(void)
{
	u64 us, runlist_us;
	char about[128];

	FOR_EACH(runlist_us, 40, 320) {
		begin(&sim_decode);
		config.device.runlist_ns = runlist_us * US;
		snprintf(about, sizeof(about), "gpreempt_resume_delay_us: decoding, gaps of 50 to 200 us, a runlist of %llu us",
			 (unsigned long long)runlist_us);
		print_head(about);
		FOR_EACH(us, 0, 100, 200, 300, 500, 1000) {
			config.params.resume_delay_ns = us * US;
			print_us(us, 0);
		}
	}
}

static void table_min_run(void)
{
	u64 us;

	begin(&small_requests);
	print_head("gpreempt_min_run_us: 2000 requests of 100 us a second");
	FOR_EACH(us, 0, 100, 200, 500, 1000, 2000) {
		config.params.min_run_ns = us * US;
		print_us(us, 0);
	}
}

static void table_overhead(void)
{
	u64 pct;

	begin(&small_requests);
	print_head("gpreempt_overhead_pct: the same (0: no limit)");
	FOR_EACH(pct, 0, 1, 2, 5, 10, 20) {
		config.params.overhead_pct = pct;
		print_us(pct, 10);
	}
}

static void table_grace(void)
{
	u64 us;

	begin(&sim_inference);
	config.classes[1].kernel_ns = 200 * US;
	print_head("grace before saving, us: the training has kernels of 200 us");
	FOR_EACH(us, 0, 10, 50, 100, 200) {
		config.device.grace_ns = us * US;
		print_us(us, 0);
	}
}

/* Requests of so many kernels, beside short ones that never end. */
static void table_drain(void)
{
	static const struct {
		u32 kernels;
		u64 kernel_us, runlist_us;
		bool exponential;
	} cases[] = {
		{ 1, 20, 20, false }, { 1, 20, 20, true }, { 3, 20, 20, false }, { 20, 20, 20, false },
		{ 1, 50, 160, false }, { 1, 50, 160, true }, { 20, 50, 160, false },
	};
	char about[128];
	u64 us;
	u32 i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		begin(&sim_inference);
		config.device.runlist_ns = cases[i].runlist_us * US;
		config.params.poll_ns = 80 * US;
		config.classes[0].kernels = cases[i].kernels;
		config.classes[0].kernel_ns = 500 * US;
		config.classes[0].period_ns = 25 * MS;
		config.classes[1].kernel_ns = cases[i].kernel_us * US;
		config.classes[1].exponential = cases[i].exponential;
		snprintf(about, sizeof(about), "gpreempt_drain_us: requests of %u x 500 us beside %skernels of %llu us, a runlist of %llu us", cases[i].kernels,
			 cases[i].exponential ? "exponential " : "", (unsigned long long)cases[i].kernel_us, (unsigned long long)cases[i].runlist_us);
		print_head(about);
		FOR_EACH(us, 0, 50, 100, 200, 500) {
			config.params.drain_ns = us * US;
			print_us(us, 200);
		}
	}
}

static void table_relief(void)
{
	u64 hold_ms, relief_ms;
	char value[32];

	printf("\ngpreempt_max_hold_ms / gpreempt_relief_ms: an inference that never ends beside a training\n\n%12s  %14s %16s %12s\n", "",
	       "longest hold ms", "low's share %", "high's loss %");
	FOR_EACH(hold_ms, 100, 1000, 10000) {
		for (relief_ms = 5; relief_ms <= 80; relief_ms *= 4) {
			double low, high;

			begin(&sim_inference);
			config.classes[0].arrivals = CONTINUOUS;
			config.params.max_hold_ns = hold_ms * MS;
			config.params.relief_ns = relief_ms * MS;
			simulate();
			low = 100.0 * result.classes[1].work / config.device.slots / config.duration_ns;
			high = 100.0 * result.classes[0].work / config.device.slots / config.duration_ns;
			snprintf(value, sizeof(value), "%llu / %llu%s", (unsigned long long)hold_ms, (unsigned long long)relief_ms,
				 hold_ms == 1000 && relief_ms == 20 ? " *" : "");
			printf("%12s  %14.1f %16.2f %12.2f\n", value, result.classes[1].preempted_ns_max / 1e6, low, 100 - high);
		}
	}
}

static double cpu_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

/* A few that come and go, and so many that work or are dormant. */
static void grow(u32 nr_queues, bool work)
{
	begin(&sim_inference);
	config.duration_ns = 200 * MS;
	config.classes[2] = sim_training;
	config.classes[2].nr_queues = nr_queues;
	if (!work) {
		config.classes[2].arrivals = POISSON;
		config.classes[2].period_ns = DAY;
		config.classes[2].priority = HIGH;
	}
	sim_steps = 0;
	sim_run(&config, &result);
}

static void table_growth(void)
{
	u64 n;

	printf("\nqueues: basic blocks of the policy for a pass\n\n%12s  %12s %12s %14s %14s\n", "", "at work", "for each", "at rest", "for each");
	FOR_EACH(n, 16, 64, 256, 1024, 4096) {
		double work, rest;

		grow(n, true);
		work = (double)sim_steps / result.nr_passes;
		grow(n, false);
		rest = (double)sim_steps / result.nr_passes;
		printf("%12llu  %12.0f %12.1f %14.0f %14.2f\n", (unsigned long long)n, work, work / n, rest, rest / n);
	}
}

static void fleet(const char *about, u32 nr_nodes, u64 duration_ns)
{
	double began_s = cpu_s();
	u64 events = 0, passes = 0;
	u32 i;

	for (i = 0; i < nr_nodes; i++) {
		config.seed = seed + i;
		config.duration_ns = duration_ns;
		sim_run(&config, &result);
		events += result.nr_events;
		passes += result.nr_passes;
	}
	printf("%-58s %6u %9.2f %11llu %11llu %8.2f\n", about, nr_nodes, (double)nr_nodes * duration_ns / HOUR, (unsigned long long)events / 1000,
	       (unsigned long long)passes / 1000, cpu_s() - began_s);
}

static void table_cost(void)
{
	printf("\nwhat simulating costs on this machine\n\n%-58s %6s %9s %11s %11s %8s\n", "", "nodes", "h x nodes", "1000 events", "1000 passes", "CPU s");
	begin(&sim_inference);
	config.classes[0].period_ns = 60 * SEC;
	config.classes[1].arrivals = LOGNORMAL;
	config.classes[1].period_ns = HOUR;
	fleet("a request each minute, a burst of training each hour", 10, DAY);
	begin(&sim_inference);
	fleet("an inference at 20 % beside a training", 1, HOUR / 4);
	begin(&with_gaps);
	config.classes[0].nr_queues = 10;
	config.classes[0].period_ns = 10 * SEC;
	config.classes[1] = with_gaps;
	config.classes[1].priority = LOW;
	config.classes[1].nr_queues = 90;
	config.classes[1].period_ns = 100 * SEC;
	config.classes[1].arrivals = LOGNORMAL;
	fleet("a hundred queues that come and go", 200, 6 * SEC);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		seed = strtoull(argv[1], NULL, 0);
	table_poll();
	table_resume_delay();
	table_decode();
	table_min_run();
	table_overhead();
	table_grace();
	table_drain();
	table_relief();
	table_growth();
	table_cost();
	return 0;
}
