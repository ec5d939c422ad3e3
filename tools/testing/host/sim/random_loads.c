// SPDX-License-Identifier: MIT
/*
 * random_loads.c - do random loads keep every bound?
 *
 *	random_loads [COUNT [SEED]]	so many loads, from this seed on
 *	random_loads show SEED		one of them, and by how much it keeps each bound
 *
 * Each seed is a load: a device, tunables, and programs. Each bound is a formula; its ratio is what
 * happened over what may happen, so that 1 is the bound. For each bound the load that is furthest
 * beyond it is made smaller for as long as it breaks it, and shown.
 */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

/**
 * enum kind - what loads are about
 * @CLASSES: work below work of a higher class
 * @DEBTS: a class that starves nobody, above one that does
 * @SHARES: processes or groups that always want the device
 * @DEADLINES: tasks with deadlines, beside work that never ends
 */
enum kind { CLASSES, DEBTS, SHARES, DEADLINES };

struct load {
	enum kind kind;
	struct sim_config config;
};

enum bound { SERVED, ABOVE, SPARED, IDLE, LAG, MONOTONE, ANEW, RESERVED, STAMPS, BUDGET, NR_BOUNDS };

static const struct {
	const char *name;
	const char *holds;
} bounds[NR_BOUNDS] = {
	[SERVED] = { "service", "nobody starves for 2 T N / phi + N (T + 2 C), and a kernel of each equal" },
	[ABOVE] = { "above", "who is above loses phi, and a switch for each turn and beginning" },
	[SPARED] = { "spared", "who starves nobody is as fast as without those who starve" },
	[IDLE] = { "idle", "with work the device is idle for C, four looks and 2 ms at most" },
	[LAG] = { "lag", "in half a second a share is off by 2 (slice, C, look) and 2 %" },
	[MONOTONE] = { "monotone", "who has twice the weight has no less" },
	[ANEW] = { "anew", "a group that is made anew all the time has no more" },
	[RESERVED] = { "reserved", "an admitted task ends within its deadline, C, a look and a turn of each without a part" },
	[STAMPS] = { "stamps", "with any stamps p99 is 1.05 of that without, 4 C and 4 N T" },
	[BUDGET] = { "budget", "who pays for switches has its percent of time and 100 ms, and two switches" },
};

static struct sim_result result, other;

/* ---- chance ---- */

static u64 chance;

static u64 any(void)
{
	chance ^= chance >> 12;
	chance ^= chance << 25;
	chance ^= chance >> 27;
	return (chance * 2685821657736338717ULL) >> 11;
}

static u32 any_of(u32 nr)
{
	return any() % nr;
}

static bool one_in(u32 nr)
{
	return !any_of(nr);
}

/* Each power of two between the two is as likely as another; two digits. */
static u64 any_between(u64 least, u64 most)
{
	double value = least * pow((double)most / least, any_of(10001) / 10000.0);
	double digits = pow(10, floor(log10(value)) - 1);

	return digits > 1 ? floor(value / digits) * digits : value;
}

/* ---- loads ---- */

static void any_device(struct sim_config *config)
{
	static const struct {
		u64 runlist_ns, full_save_ns;
	} devices[] = { { 20 * US, 44 * US }, { 160 * US, 200 * US }, { 160 * US, MS } };
	u32 i = any_of(3);

	config->device.runlist_ns = devices[i].runlist_ns;
	config->device.full_save_ns = devices[i].full_save_ns;
	config->device.by_turns = one_in(2);
	config->device.fills = one_in(4);
	config->device.runlists_tell = one_in(2);
	config->params.poll_ns = 80 * US;
}

static void any_high(struct sim_class *high)
{
	static const u32 widths[] = { 100, 100, 100, 50, 5 };
	u64 busy_ns, pause_ns;

	high->name = "high";
	high->nr_queues = 1;
	high->priority = HIGH;
	high->units = widths[any_of(5)];
	high->kernel_ns = any_between(20 * US, 5 * MS);
	high->kernels = 1 + any_between(MS, 900 * MS) / high->kernel_ns;
	busy_ns = high->kernels * high->kernel_ns;
	switch (any_of(4)) {
	case 0:
		high->arrivals = CONTINUOUS;
		break;
	case 1:
		pause_ns = any_between(500 * US, 20 * MS);
		high->arrivals = PERIODIC;
		high->period_ns = busy_ns + pause_ns;
		break;
	case 2:
		high->arrivals = POISSON;
		high->period_ns = busy_ns * 100 / (20 + any_of(75));
		break;
	default:
		high->arrivals = CONTINUOUS;
		high->gap_ns = any_between(20 * US, 5 * MS);
		high->gap_most_ns = one_in(2) ? 2 * high->gap_ns : 0;
		break;
	}
}

static void any_low(struct sim_class *low, u32 nr_queues)
{
	static const u32 widths[] = { 100, 100, 90, 30 };

	low->name = "low";
	low->nr_queues = nr_queues;
	low->units = widths[any_of(4)];
	low->kernel_ns = any_between(500 * US, 200 * MS);
	low->kernels = 1 + 20 * MS / low->kernel_ns;
	low->exponential = one_in(4);
	low->rounds = one_in(4) ? low->kernel_ns / (100 * US) : 0;
	low->arrivals = CONTINUOUS;
	if (one_in(4)) {
		low->arrivals = POISSON;
		low->period_ns = any_between(10 * MS, SEC);
	}
}

static u64 starved_ns(const struct sim_config *config);
static u64 spared_ns(const struct sim_config *config);

static void any_hold(struct sim_config *config)
{
	config->params.max_hold_ns = any_between(100 * MS, SEC);
	config->params.relief_ns = any_between(5 * MS, 50 * MS);
}

/* Long enough for what may take longest */
static void any_duration(struct sim_config *config)
{
	config->duration_ns = 2 * starved_ns(config) + SEC;
	if (config->duration_ns > 20 * SEC)
		config->duration_ns = 20 * SEC;
}

static void any_classes(struct load *load)
{
	struct sim_config *config = &load->config;
	u32 i, nr = 1 + any_of(4), left = 1 + any_of(one_in(3) ? 20 : 5);

	config->device.splits = one_in(4);
	any_high(&config->classes[0]);
	for (i = 1; i <= nr && left; i++) {
		u32 queues = i == nr ? left : 1 + any_of(left);

		any_low(&config->classes[i], queues);
		config->classes[i].priority = LOW - 3 * (s32)(i - 1);
		left -= queues;
	}
	config->doorbells = one_in(2);
	any_hold(config);
	config->params.overhead_pct = one_in(2) ? 0 : 1 + any_of(25);
	if (one_in(5))
		config->device.says_connect_ns = any_between(10 * US, 50 * MS);
	if (one_in(5))
		config->device.says_restore_ns = any_between(10 * US, 50 * MS);
	any_duration(config);
}

static void any_debts(struct load *load)
{
	struct sim_config *config = &load->config;
	struct sim_class *top = &config->classes[0];
	u64 busy_ns;

	config->device.fills = false;
	config->params.overhead_pct = 0;
	any_hold(config);
	any_low(&config->classes[1], 1);
	config->classes[1].name = "mid";
	config->classes[1].priority = 2;
	config->classes[1].arrivals = CONTINUOUS;
	config->classes[1].period_ns = 0;
	any_low(&config->classes[2], 1 + any_of(8));
	config->classes[1].units = 100;
	config->classes[2].units = 100;
	config->classes[2].priority = LOW;
	busy_ns = any_between(200 * US, spared_ns(config) / 4);
	top->name = "top";
	top->nr_queues = 1;
	top->priority = HIGH;
	top->units = 100;
	top->kernel_ns = any_between(20 * US, busy_ns < 5 * MS ? busy_ns : 5 * MS);
	top->kernels = busy_ns / top->kernel_ns;
	top->arrivals = PERIODIC;
	top->period_ns = 2 * busy_ns + any_between(2 * MS, 50 * MS);
	any_duration(config);
}

static void any_shares(struct load *load)
{
	struct sim_config *config = &load->config;
	bool groups = one_in(2);
	u32 i, nr = 2 + any_of(5);

	config->device.fills = false;
	for (i = 0; i < nr; i++) {
		struct sim_class *class = &config->classes[i];
		u32 weight = any_between(10, 1000);

		*class = sim_training;
		class->name = "share";
		class->kernel_ns = any_between(20 * US, 50 * MS);
		class->kernels = 1 + MS / class->kernel_ns;
		class->group = groups ? i + 1 : 0;
		class->weight = groups ? 0 : weight;
		config->groups[i + 1].weight = groups ? weight : 0;
	}
	config->policy = groups ? "hpf" : "wfq";
	config->params.slice_ns = any_between(MS, 10 * MS);
	config->duration_ns = 3 * SEC;
}

static u64 switch_ns(const struct sim_config *config);

static void any_task(struct sim_class *task, u64 period_ns, u64 work_ns)
{
	task->name = "task";
	task->nr_queues = 1;
	task->priority = HIGH;
	task->units = 100;
	task->arrivals = PERIODIC;
	task->period_ns = period_ns;
	task->deadline_ns = period_ns;
	task->kernels = 1 + any_of(4);
	task->kernel_ns = work_ns / task->kernels;
}

static double phi(const struct sim_config *config);

/* Tasks with reservations, which together take what there is to reserve. Returns how many. */
static u32 any_reservations(struct sim_config *config, u32 nr)
{
	double left = 1 - phi(config) - 1e-5;
	/* What a switch costs is assumed before the first one. */
	u64 c_ns = fmax(switch_ns(config), 320 * US);
	u32 i;

	for (i = 0; i < nr; i++) {
		u64 period_ns = any_between(21 * c_ns, 20 * c_ns + SEC / 4);
		double part = i < nr - 1 ? left * (20 + any_of(40)) / 100 : left;
		u64 runtime_ns = part * period_ns > 2.2 * c_ns ? part * period_ns - 2 * c_ns : 0;

		if (!runtime_ns)
			break;
		any_task(&config->classes[i], period_ns, runtime_ns * (80 + any_of(20)) / 100);
		config->classes[i].runtime_ns = runtime_ns;
		left -= part;
	}
	return i;
}

static void any_deadlines(struct load *load)
{
	struct sim_config *config = &load->config;
	u64 switch_both_ns = 2 * switch_ns(config);
	u32 i = 0, nr = 1 + any_of(3), nr_dated = nr + 1;

	config->policy = "edf";
	if (config->seed % 2)
		i = nr = any_reservations(config, nr);
	for (; i < nr; i++) {
		u64 period_ns = any_between(10 * switch_both_ns * (1 + nr), SEC / 4);
		u64 most_ns = period_ns / nr_dated - switch_both_ns;

		any_task(&config->classes[i], period_ns, most_ns * (20 + any_of(60)) / 100);
	}
	for (; i < nr + 2; i++) {
		config->classes[i] = sim_training;
		config->classes[i].name = "endless";
		config->classes[i].priority = HIGH;
		config->classes[i].kernel_ns = any_between(50 * US, 50 * MS);
		config->classes[i].kernels = 1 + MS / config->classes[i].kernel_ns;
	}
	config->classes[nr].deadline_ns = one_in(2) ? any_between(50 * US, 5 * MS) : any_between(5 * MS, SEC / 4);
	config->duration_ns = 4 * SEC;
}

static void make_load(struct load *load, u64 seed)
{
	u32 kind;

	memset(load, 0, sizeof(*load));
	chance = seed * 0x9e3779b97f4a7c15ULL + 1;
	any();
	sim_defaults(&load->config);
	load->config.seed = seed;
	load->config.own_chance = true;
	any_device(&load->config);
	kind = any_of(10);
	load->kind = kind < 5 ? CLASSES : kind < 6 ? DEBTS : kind < 8 ? SHARES : DEADLINES;
	if (load->kind == CLASSES)
		any_classes(load);
	else if (load->kind == DEBTS)
		any_debts(load);
	else if (load->kind == SHARES)
		any_shares(load);
	else
		any_deadlines(load);
}

/* ---- what may happen ---- */

static u64 pass_ns(const struct sim_config *config)
{
	const struct sim_device *device = &config->device;

	return device->runlist_ns + device->trap_ns + device->full_save_ns;
}

/* A stamp is believed up to four passes. */
static u64 believed_ns(const struct sim_config *config, u64 stamp_ns)
{
	return stamp_ns < 4 * pass_ns(config) ? stamp_ns : 4 * pass_ns(config);
}

/* C: two passes with what firmware says of connecting, and what comes back, which else is a pass */
static u64 switch_ns(const struct sim_config *config)
{
	u64 restore_ns = config->device.says_restore_ns ?: pass_ns(config);

	return 2 * (pass_ns(config) + believed_ns(config, config->device.says_connect_ns)) +
	       believed_ns(config, restore_ns);
}

/* Above so many queues a look costs more than the poll allows. */
static u64 look_ns(const struct sim_config *config)
{
	u64 cost_ns = 2000;
	u32 i;

	for (i = 0; i < NR_CLASSES_MAX; i++)
		cost_ns += 300 * config->classes[i].nr_queues;
	cost_ns = GPREEMPT_LOOK_SHARE * cost_ns + GPREEMPT_ASK_SHARE * 10 * US;
	return cost_ns > config->params.poll_ns ? cost_ns : config->params.poll_ns;
}

static double phi(const struct sim_config *config)
{
	return (double)config->params.relief_ns /
	       (config->params.relief_ns + config->params.max_hold_ns);
}

/* How many processes may starve together */
static u32 nr_starving(const struct sim_config *config)
{
	u32 i, nr = 0;

	for (i = 1; i < NR_CLASSES_MAX; i++)
		nr += config->classes[i].nr_queues;
	return nr;
}

/* T, where so many starve */
static u64 turn_of_ns(const struct sim_config *config, u32 nr)
{
	u64 part_ns = config->params.relief_ns / 2 / nr;
	u64 cost_ns = switch_ns(config);

	if (part_ns < 4 * cost_ns)
		part_ns = 4 * cost_ns;
	return part_ns < 10 * cost_ns ? part_ns : 10 * cost_ns;
}

static u64 turn_ns(const struct sim_config *config)
{
	return turn_of_ns(config, nr_starving(config));
}

static u64 starved_ns(const struct sim_config *config)
{
	u64 t_ns = turn_ns(config), n = nr_starving(config);

	return 2 * t_ns * n / phi(config) + n * (t_ns + 2 * switch_ns(config)) + look_ns(config);
}

/*
 * A class of two above those that starve is not outranked before they have waited for so long at a
 * time: with pauses that come earlier it loses nothing.
 */
static u64 spared_ns(const struct sim_config *config)
{
	return turn_ns(config) * (nr_starving(config) - 1) / phi(config) / 2;
}

/* One request in a thousand finds out whether lower work is in its way: see beside.c. */
static u64 tried_ns(const struct sim_config *config)
{
	return 3 * config->classes[0].kernel_ns + switch_ns(config);
}

static u64 idle_ns(const struct sim_config *config)
{
	/* Where doorbells tell of work, the end of work may be looked for that much later. */
	u64 end_ns = config->doorbells ? GPREEMPT_BRIEF_NS : 0;

	/* Until counters have shown a wave, a launch counts as work for a while. */
	return switch_ns(config) + 4 * look_ns(config) + end_ns + GPREEMPT_LAUNCHED_NS;
}

static u64 above_ns(const struct sim_config *config, const struct sim_result *r)
{
	double turns = phi(config) * (1 + (double)switch_ns(config) / turn_ns(config));
	u64 begin_ns = 2 * look_ns(config) + switch_ns(config) + config->params.drain_ns;

	return turns * config->duration_ns + (1 + r->classes[0].nr_begun) * begin_ns;
}

/* ---- what happened ---- */

/*
 * The largest distance from its share that any class had since the window began: a host does not
 * see all of a switch, so what it believes differs from what is true by a little in each turn.
 */
#define WINDOW_NS	(SEC / 2)

static u64 ran_ns[NR_CLASSES_MAX], all_ran_ns, window_ns, lag_ns;
static const struct sim_config *lags;

static u32 weight_of(u32 class)
{
	const struct sim_class *c = &lags->classes[class];

	return c->group ? lags->groups[c->group].weight : c->weight;
}

static void begin_window(u64 now_ns)
{
	memset(ran_ns, 0, sizeof(ran_ns));
	all_ran_ns = 0;
	window_ns = now_ns;
}

static void note_lag(u32 class, u64 from_ns, u64 to_ns)
{
	u64 weights = 0;
	u32 i;

	if (to_ns - window_ns > WINDOW_NS)
		begin_window(from_ns);
	ran_ns[class] += to_ns - from_ns;
	all_ran_ns += to_ns - from_ns;
	for (i = 0; lags->classes[i].nr_queues; i++)
		weights += weight_of(i);
	/* Those that begin have a turn each before shares show. */
	for (i = 0; window_ns && lags->classes[i].nr_queues; i++) {
		double part_ns = (double)all_ran_ns * weight_of(i) / weights;
		u64 far_ns = fabs(part_ns - ran_ns[i]);

		if (far_ns > lag_ns)
			lag_ns = far_ns;
	}
}

static void simulate(const struct sim_config *config, struct sim_result *r)
{
	sim_run(config, r);
	if (r->wrong[0]) {
		printf("seed %llu is wrong: %s\n", (unsigned long long)config->seed, r->wrong);
		exit(2);
	}
}

#define STAMPS_REQUESTS	10

static double stamps_ratio(const struct sim_config *config)
{
	struct sim_config unsaid = *config;
	u64 with_ns, without_ns;

	if (!config->device.says_connect_ns && !config->device.says_restore_ns)
		return 0;
	unsaid.device.says_connect_ns = 0;
	unsaid.device.says_restore_ns = 0;
	simulate(&unsaid, &other);
	/* Of a few requests the last one decides which is the worst. */
	if (other.classes[0].latency.count < STAMPS_REQUESTS)
		return 0;
	with_ns = sim_quantile_ns(&result.classes[0].latency, .99);
	without_ns = sim_quantile_ns(&other.classes[0].latency, .99);
	/* C may be 4 times as long, and so may turns be. */
	return with_ns / (without_ns * 1.05 + 4 * switch_ns(&unsaid) +
			  4 * nr_starving(&unsaid) * turn_ns(&unsaid));
}

static double spared_ratio(const struct sim_config *config)
{
	struct sim_config without = *config;
	u64 with_ns, without_ns;

	without.classes[2].nr_queues = 0;
	simulate(&without, &other);
	with_ns = result.classes[0].latency.max_ns;
	without_ns = other.classes[0].latency.max_ns;
	return with_ns / (without_ns * 1.05 + switch_ns(config) + look_ns(config) +
			  tried_ns(config));
}

static double more_ratio(const struct sim_config *config, u64 less, u64 more)
{
	u64 slices = (config->params.slice_ns + switch_ns(config) + look_ns(config)) * 100;

	return less / (more * 1.02 + slices);
}

/* Every third load has both: the first class is the one. */
static double monotone_ratio(const struct sim_config *config)
{
	struct sim_config heavier = *config;

	if (config->seed % 3)
		return 0;
	heavier.classes[0].weight *= 2;
	heavier.groups[1].weight *= 2;
	simulate(&heavier, &other);
	return more_ratio(config, result.classes[0].served, other.classes[0].served);
}

static double anew_ratio(const struct sim_config *config)
{
	struct sim_config anew = *config;

	if (config->seed % 3 != 1 || !config->classes[0].group)
		return 0;
	anew.groups[1].remade_ns = 5 * MS << config->seed % 8;
	simulate(&anew, &other);
	return more_ratio(config, other.classes[0].served, result.classes[0].served);
}

/* Among equals the device decides: each may be behind a kernel of every other one. */
static u64 equals_ns(const struct sim_class *class)
{
	u64 kernel_ns = class->kernel_ns * (class->exponential ? 4 : 1);

	return class->nr_queues ? (class->nr_queues - 1) * kernel_ns : 0;
}

static double served_ratio(const struct sim_config *config)
{
	double worst = 0;
	u32 i;

	for (i = 1; i < NR_CLASSES_MAX; i++)
		worst = fmax(worst, (double)result.classes[i].starved_ns_max /
				    (starved_ns(config) + equals_ns(&config->classes[i])));
	return worst;
}

static double lag_ratio(const struct sim_config *config)
{
	u64 slice_ns = config->params.slice_ns;

	if (slice_ns < GPREEMPT_SHARE_TURN_SHARE * pass_ns(config))
		slice_ns = GPREEMPT_SHARE_TURN_SHARE * pass_ns(config);
	slice_ns += switch_ns(config) + look_ns(config);
	return lag_ns / (2.0 * slice_ns + WINDOW_NS / 50);
}

static double reserved_ratio(const struct sim_config *config)
{
	double worst = 0;
	u32 i, nr = 0;

	for (i = 0; i < NR_CLASSES_MAX; i++)
		nr += config->classes[i].nr_queues && !config->classes[i].runtime_ns;
	for (i = 0; config->classes[i].period_ns; i++) {
		u64 may_ns = config->classes[i].deadline_ns + switch_ns(config) + look_ns(config);
		u64 took_ns = result.classes[i].latency.max_ns;

		/* Where all is reserved, work without a part of its own is owed turns. */
		if (config->classes[i].runtime_ns && nr)
			may_ns += nr * turn_of_ns(config, nr);
		if (result.classes[i].nr_refused)
			return INFINITY;
		/* One that does not end at all has waited since it came. */
		if (result.classes[i].unserved_ns_max > took_ns)
			took_ns = result.classes[i].unserved_ns_max;
		worst = fmax(worst, (double)took_ns / may_ns);
	}
	return worst;
}

static double budget_ratio(const struct sim_config *config)
{
	u32 pct = config->params.overhead_pct ?: GPREEMPT_OVERHEAD_PCT;
	u64 may_ns = (config->duration_ns + GPREEMPT_OVERHEAD_WINDOW_NS) / 100 * pct;

	return (double)result.budgeted_ns / (may_ns + 2 * switch_ns(config));
}

/* 0: the load is not about that bound. */
static void measure(const struct load *load, double ratios[NR_BOUNDS])
{
	const struct sim_config *config = &load->config;

	memset(ratios, 0, NR_BOUNDS * sizeof(*ratios));
	begin_window(0);
	lag_ns = 0;
	lags = config;
	sim_ran = load->kind == SHARES ? note_lag : NULL;
	simulate(config, &result);
	sim_ran = NULL;
	ratios[IDLE] = (double)result.idle_ns_max / idle_ns(config);
	if (load->kind == CLASSES && nr_starving(config)) {
		ratios[SERVED] = served_ratio(config);
		ratios[BUDGET] = budget_ratio(config);
		/* With a budget the highest waits behind others for that. */
		if (!config->params.overhead_pct) {
			ratios[ABOVE] = (double)result.classes[0].unserved_ns /
					above_ns(config, &result);
			ratios[STAMPS] = stamps_ratio(config);
		}
	} else if (load->kind == DEBTS) {
		ratios[SERVED] = served_ratio(config);
		ratios[SPARED] = spared_ratio(config);
	} else if (load->kind == SHARES) {
		ratios[LAG] = lag_ratio(config);
		ratios[MONOTONE] = monotone_ratio(config);
		ratios[ANEW] = anew_ratio(config);
	} else if (load->kind == DEADLINES) {
		ratios[RESERVED] = reserved_ratio(config);
	}
}

static bool breaks(const struct load *load, enum bound bound)
{
	double ratios[NR_BOUNDS];

	measure(load, ratios);
	return ratios[bound] > 1;
}

/* ---- smaller loads ---- */

static void drop_class(struct sim_config *config, u32 number)
{
	memmove(&config->classes[number], &config->classes[number + 1],
		(NR_CLASSES_MAX - number - 1) * sizeof(config->classes[0]));
	memset(&config->classes[NR_CLASSES_MAX - 1], 0, sizeof(config->classes[0]));
}

/* Makes one thing simpler, and returns whether that changed anything. */
typedef bool (*simplify_fn)(struct load *load, u32 class);

#define SET(_what, _value) \
	do { \
		bool changed = (_what) != (_value); \
		\
		(_what) = (_value); \
		return changed; \
	} while (0)

static bool without_class(struct load *load, u32 class)
{
	/* Groups are by place, and a deadline is one of so many. */
	if (!class || load->kind != CLASSES || !load->config.classes[class].nr_queues)
		return false;
	drop_class(&load->config, class);
	return true;
}

static bool half_the_queues(struct load *load, u32 class)
{
	SET(load->config.classes[class].nr_queues, (load->config.classes[class].nr_queues + 1) / 2);
}

static bool half_the_time(struct load *load, u32 class)
{
	load->config.duration_ns /= 2;
	return !class && load->config.duration_ns > SEC / 2;
}

static bool no_chance_in_lengths(struct load *load, u32 class)
{
	SET(load->config.classes[class].exponential, false);
}

static bool one_round(struct load *load, u32 class)
{
	SET(load->config.classes[class].rounds, 0);
}

static bool not_split(struct load *load, u32 class)
{
	SET(load->config.device.splits, false);
}

static bool no_chance_in_gaps(struct load *load, u32 class)
{
	SET(load->config.classes[class].gap_most_ns, 0);
}

static bool full_width(struct load *load, u32 class)
{
	if (!load->config.classes[class].nr_queues)
		return false;
	SET(load->config.classes[class].units, 100);
}

static bool endless(struct load *load, u32 class)
{
	if (load->kind == DEADLINES || (load->kind == DEBTS && !class))
		return false;
	load->config.classes[class].gap_ns = 0;
	load->config.classes[class].gap_most_ns = 0;
	SET(load->config.classes[class].arrivals, CONTINUOUS);
}

static bool kernels_of_2ms(struct load *load, u32 class)
{
	if (!load->config.classes[class].nr_queues || load->config.classes[class].period_ns)
		return false;
	SET(load->config.classes[class].kernel_ns, 2 * MS);
}

static bool no_doorbells(struct load *load, u32 class)
{
	SET(load->config.doorbells, false);
}

static bool no_turns(struct load *load, u32 class)
{
	SET(load->config.device.by_turns, false);
}

static bool not_filled(struct load *load, u32 class)
{
	SET(load->config.device.fills, false);
}

static bool runlists_silent(struct load *load, u32 class)
{
	SET(load->config.device.runlists_tell, false);
}

static bool no_connect_stamp(struct load *load, u32 class)
{
	SET(load->config.device.says_connect_ns, 0);
}

static bool no_restore_stamp(struct load *load, u32 class)
{
	SET(load->config.device.says_restore_ns, 0);
}

static bool no_budget(struct load *load, u32 class)
{
	SET(load->config.params.overhead_pct, 0);
}

static bool usual_hold(struct load *load, u32 class)
{
	if (load->config.params.max_hold_ns == SEC && load->config.params.relief_ns == 20 * MS)
		return false;
	load->config.params.max_hold_ns = SEC;
	load->config.params.relief_ns = 20 * MS;
	return true;
}

static const simplify_fn simplifications[] = {
	without_class, half_the_queues, half_the_time, no_chance_in_lengths, no_chance_in_gaps,
	full_width, endless, kernels_of_2ms, no_doorbells, no_turns, not_filled, runlists_silent,
	no_connect_stamp, no_restore_stamp, no_budget, usual_hold, one_round, not_split,
};

#define NR_SIMPLIFICATIONS	(sizeof(simplifications) / sizeof(*simplifications))

static void shrink(struct load *load, enum bound bound)
{
	u32 i, class;
	bool smaller;

	do {
		smaller = false;
		for (i = 0; i < NR_SIMPLIFICATIONS; i++) {
			for (class = 0; class < NR_CLASSES_MAX; class++) {
				struct load tried = *load;

				if (class && !tried.config.classes[class].nr_queues)
					break;
				if (!simplifications[i](&tried, class) || !breaks(&tried, bound))
					continue;
				*load = tried;
				smaller = true;
			}
		}
	} while (smaller);
}

/* ---- what is printed ---- */

static void show_class(const struct load *load, u32 class)
{
	static const char *const arrivals[] = { "endless", "poisson", "periodic", "lognormal" };
	const struct sim_class *c = &load->config.classes[class];
	const struct sim_class_result *r = &result.classes[class];

	printf("    %-7s %2u at %3d, %s", c->name, c->nr_queues, c->priority,
	       arrivals[c->arrivals]);
	if (c->arrivals != CONTINUOUS)
		printf(" every %.2f ms", c->period_ns / 1e6);
	printf(", %u x %.3f ms%s, %u %% wide", c->kernels, c->kernel_ns / 1e6,
	       c->exponential ? " exponential" : "", c->units);
	if (c->rounds)
		printf(", %u rounds", c->rounds);
	if (c->gap_ns)
		printf(", gaps %.2f to %.2f ms", c->gap_ns / 1e6,
		       (c->gap_most_ns ? c->gap_most_ns : c->gap_ns) / 1e6);
	if (c->group || c->weight)
		printf(", weight %u%s", c->group ? load->config.groups[c->group].weight : c->weight,
		       c->group ? " of its group" : "");
	if (c->deadline_ns)
		printf(", deadline %.2f ms", c->deadline_ns / 1e6);
	if (c->runtime_ns)
		printf(", runtime %.3f ms%s", c->runtime_ns / 1e6, r->nr_refused ? " refused" : "");
	printf("\n        had %.3f %%, longest without %.1f ms, request at most %.1f ms\n",
	       100.0 * r->served / load->config.device.slots / load->config.duration_ns,
	       r->unserved_ns_max / 1e6, r->latency.max_ns / 1e6);
}

static void show(const struct load *load)
{
	const struct sim_config *config = &load->config;
	double ratios[NR_BOUNDS];
	u32 i;

	measure(load, ratios);
	printf("    seed %llu, %s, %.2f s; runlist %.0f us, save %.0f us",
	       (unsigned long long)config->seed, config->policy, config->duration_ns / 1e9,
	       config->device.runlist_ns / 1e3, config->device.full_save_ns / 1e3);
	printf("%s%s%s%s%s", config->device.by_turns ? ", by turns" : "",
	       config->device.fills ? ", fills" : "",
	       config->device.splits ? ", splits" : "",
	       config->device.runlists_tell ? ", runlists tell" : "",
	       config->doorbells ? ", doorbells" : "");
	printf("; hold %.0f, relief %.1f ms, budget %u %%, slice %.1f ms",
	       config->params.max_hold_ns / 1e6, config->params.relief_ns / 1e6,
	       config->params.overhead_pct, config->params.slice_ns / 1e6);
	if (config->device.says_connect_ns || config->device.says_restore_ns)
		printf("; stamps %.2f, %.2f ms", config->device.says_connect_ns / 1e6,
		       config->device.says_restore_ns / 1e6);
	printf("\n");
	for (i = 0; i < NR_CLASSES_MAX && config->classes[i].nr_queues; i++)
		show_class(load, i);
	printf("    idle %.2f %%, at most %.2f ms; runlists %.0f/s, %.1f %%\n",
	       100.0 * result.idle_ns / config->duration_ns, result.idle_ns_max / 1e6,
	       result.nr_acting * 1e9 / config->duration_ns,
	       100.0 * result.overhead_ns / config->duration_ns);
	for (i = 0; i < NR_BOUNDS; i++)
		if (ratios[i])
			printf("    %s: %.2f of the bound\n", bounds[i].name, ratios[i]);
}

static void try_loads(u64 count, u64 first)
{
	struct {
		u64 tried, broken, seed;
		double worst;
	} of[NR_BOUNDS] = { 0 };
	struct load load;
	u64 seed, all = 0;
	u32 i;

	for (seed = first; seed < first + count; seed++) {
		double ratios[NR_BOUNDS];

		make_load(&load, seed);
		measure(&load, ratios);
		for (i = 0; i < NR_BOUNDS; i++) {
			of[i].tried += ratios[i] > 0;
			of[i].broken += ratios[i] > 1;
			all += ratios[i] > 1;
			if (ratios[i] > of[i].worst) {
				of[i].worst = ratios[i];
				of[i].seed = seed;
			}
		}
	}
	printf("%llu loads from seed %llu on: %llu times beyond a bound\n",
	       (unsigned long long)count, (unsigned long long)first, (unsigned long long)all);
	for (i = 0; i < NR_BOUNDS; i++)
		printf("%-9s %6llu loads, %5llu beyond, worst %7.2f of the bound, seed %llu: %s\n",
		       bounds[i].name, (unsigned long long)of[i].tried,
		       (unsigned long long)of[i].broken, of[i].worst,
		       (unsigned long long)of[i].seed, bounds[i].holds);
	for (i = 0; i < NR_BOUNDS; i++) {
		if (!of[i].broken)
			continue;
		make_load(&load, of[i].seed);
		shrink(&load, i);
		printf("%s, the worst, made smaller:\n", bounds[i].name);
		show(&load);
	}
	exit(all > 0);
}

int main(int argc, char **argv)
{
	struct load load;

	if (argc < 3 || strcmp(argv[1], "show"))
		try_loads(argc > 1 ? strtoull(argv[1], NULL, 0) : 2000,
			  argc > 2 ? strtoull(argv[2], NULL, 0) : 1);
	make_load(&load, strtoull(argv[2], NULL, 0));
	show(&load);
	return 0;
}
