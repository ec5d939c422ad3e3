// SPDX-License-Identifier: MIT
/* observing_test.c - does a node that only observes count what one that acts does? */
#include <math.h>

#include "scenario.h"
#include "tap.h"

static u64 chance;

static u32 any_of(u32 least, u32 most)
{
	chance ^= chance >> 12;
	chance ^= chance << 25;
	chance ^= chance >> 27;
	return least + (chance * 2685821657736338717ULL >> 33) % (most - least + 1);
}

/* Each power of two between the two is as likely as another. */
static u64 any_ns(u64 least_ns, u64 most_ns)
{
	return least_ns * pow((double)most_ns / least_ns, any_of(0, 10000) / 10000.0);
}

/* What a switch costs and two looks: a pause of that length may be waited for or not. */
static u64 switch_ns(void)
{
	const struct sim_device *d = &config.device;

	return 3 * (d->runlist_ns + d->trap_ns + d->full_save_ns) + 2 * config.params.poll_ns;
}

/* Requests that come whatever is done for them, above work that never ends */
static void any_load(u64 seed)
{
	u64 kernel_ns = 0, period_ns = 0;
	u32 kernels = 0, i, nr;

	begin(10 * SEC);
	config.seed = seed;
	chance = seed * 0x9e3779b97f4a7c15ULL + 1;
	any_of(0, 1);
	if (any_of(0, 1))
		slow_connect(any_of(0, 1) ? 200 * US : MS);
	config.device.by_turns = any_of(0, 1);
	while (period_ns < kernels * kernel_ns + 2 * switch_ns()) {
		kernel_ns = any_ns(20 * US, 5 * MS);
		kernels = any_ns(1, 100);
		period_ns = kernels * kernel_ns * 100 / any_of(2, 80);
	}
	add_requests(HIGH, period_ns, kernels, kernel_ns)->arrivals = any_of(POISSON, LOGNORMAL);
	nr = any_of(1, 3);
	if (nr == 1)
		add_endless(LOW, any_of(1, 8), any_ns(50 * US, 50 * MS));
	for (i = 0; nr > 1 && i < nr; i++)
		add_endless(LOW - (s32)i, 1, any_ns(50 * US, 50 * MS));
	if (config.duration_ns < 200 * period_ns)
		config.duration_ns = 200 * period_ns;
}

static void print_load(void)
{
	u32 k;

	printf("# runlists of %.2f ms, saves of %.2f ms, %.0f s\n", config.device.runlist_ns / 1e6,
	       config.device.full_save_ns / 1e6, config.duration_ns / 1e9);
	for (k = 0; k < nr_classes; k++) {
		const struct sim_class *c = &config.classes[k];

		printf("# priority %d, queues: %u, %u kernels of %.3f ms, period %.2f ms\n",
		       c->priority, c->nr_queues, c->kernels, c->kernel_ns / 1e6,
		       c->period_ns / 1e6);
	}
	printf("# preempts %llu, would %llu; resumes %llu, would %llu\n",
	       (unsigned long long)result.nr_preempted, (unsigned long long)observed.nr_preempted,
	       (unsigned long long)result.nr_resumed, (unsigned long long)observed.nr_resumed);
}

static double factor(u64 acted, u64 would)
{
	return fmax(acted, would) / fmax(fmin(acted, would), 1);
}

TEST(observing_counts_what_acting_would_do,
     "of requests that come whatever is done for them, with pauses of two switches on average, a "
     "node that observes counts between half and twice the preemptions and the resumes that it "
     "makes where it acts")
{
	u64 only = tap_setting("SEED", 0), nr_seeds = only ? 1 : tap_setting("COUNT", 40);
	u64 worst_seed = 0;
	double worst = 0, off;

	EACH(i, nr_seeds, "SEED=%llu: ", only ? only : i + 1ULL) {
		u64 seed = only ? only : i + 1ULL;

		any_load(seed);
		simulate();
		simulate_observing();
		if (only)
			print_load();
		/* Of few, one more or less is much. */
		if (result.nr_preempted < 20)
			continue;
		off = fmax(factor(result.nr_preempted, observed.nr_preempted),
			   factor(result.nr_resumed, observed.nr_resumed));
		if (off > worst) {
			worst = off;
			worst_seed = seed;
		}
		if (off > 2)
			tap_fail(__FILE__, __LINE__, "preempts %llu times, and would %llu times",
				 (unsigned long long)result.nr_preempted,
				 (unsigned long long)observed.nr_preempted);
	}
	printf("# %llu loads: at most a factor of %.2f, SEED=%llu\n", (unsigned long long)nr_seeds,
	       worst, (unsigned long long)worst_seed);
}

static void pauses(void)
{
	load_below_pauses(895, 900 * MS, 3, 20 * MS);
}

static void poisson(void)
{
	load_below_poisson(25 * MS, 3, 200 * MS);
}

static void batch(void)
{
	load_batch_below(20);
}

static void rivals(void)
{
	add_requests(HIGH, 10 * MS, 10, 200 * US)->nr_queues = 3;
	add_endless(LOW, 1, 2 * MS);
}

static void short_below(void)
{
	add_requests(HIGH, 25 * MS, 1, 500 * US);
	add_endless(LOW, 1, 20 * US)->exponential = true;
}

static void unequal(void)
{
	config.policy = "wfq";
	add_endless(HIGH, 1, 2 * MS)->weight = 10000;
	add_endless(HIGH, 1, 2 * MS)->weight = 10;
}

static void groups(void)
{
	load_equals(8);
}

static void groups_below(void)
{
	load_groups_below(6);
}

static void maximum(void)
{
	load_maximum(true);
}

static const struct {
	const char *name;
	void (*add)(void);
} loads[] = {
	{ "pauses", pauses },	    { "poisson", poisson }, { "batch", batch },
	{ "rivals", rivals },	    { "short", short_below }, { "wfq", unequal },
	{ "groups", groups },	    { "below", groups_below }, { "maximum", maximum },
};

TEST(what_is_hard_to_decide_is_observed,
     "of debts, turns, shares, maxima and work that is waited for, a node that observes counts "
     "what one does that acts, up to a factor of 1.5")
{
	EACH(i, 9, "%s: ", loads[i].name) {
		begin(30 * SEC);
		loads[i].add();
		simulate();
		simulate_observing();
		printf("# %s: preempts %llu, would %llu\n", loads[i].name,
		       (unsigned long long)result.nr_preempted,
		       (unsigned long long)observed.nr_preempted);
		CHECK(factor(result.nr_preempted, observed.nr_preempted) <= 1.5);
		CHECK(factor(result.nr_resumed, observed.nr_resumed) <= 1.5);
	}
}
