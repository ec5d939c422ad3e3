// SPDX-License-Identifier: MIT
/* scenario.c - loads that are hard to decide, and what came of them; see scenario.h */
#include <string.h>

#include "scenario.h"

struct sim_config config;
struct sim_result result, alone, observed, node_results[NR_JOB_NODES];
u32 nr_classes;

void begin(u64 duration_ns)
{
	memset(&config, 0, sizeof(config));
	sim_defaults(&config);
	config.params.poll_ns = 80 * US;
	config.duration_ns = duration_ns;
	config.seed = 1;
	nr_classes = 0;
}

struct sim_class *add(struct sim_class class)
{
	config.classes[nr_classes] = class;
	return &config.classes[nr_classes++];
}

/* Requests of so many kernels, which come independently of each other. */
struct sim_class *add_requests(s32 priority, u64 period_ns, u32 kernels, u64 kernel_ns)
{
	return add((struct sim_class){ .name = "requests", .nr_queues = 1, .priority = priority,
				       .arrivals = POISSON, .period_ns = period_ns,
				       .kernels = kernels, .kernel_ns = kernel_ns, .units = 100 });
}

/* Kernels one after the other, each submitted so long after the end of the one before. */
struct sim_class *add_gappy(s32 priority, u64 kernel_ns, u64 gap_ns, u64 gap_most_ns)
{
	return add((struct sim_class){ .name = "gappy", .nr_queues = 1, .priority = priority,
				       .arrivals = CONTINUOUS, .kernels = 1000,
				       .kernel_ns = kernel_ns, .units = 100, .gap_ns = gap_ns,
				       .gap_most_ns = gap_most_ns });
}

/* Work without end */
struct sim_class *add_endless(s32 priority, u32 nr_queues, u64 kernel_ns)
{
	struct sim_class class = sim_training;

	class.priority = priority;
	class.nr_queues = nr_queues;
	class.kernel_ns = kernel_ns;
	return add(class);
}

struct sim_class *add_decode(u64 kernel_ns, u64 gap_ns, u64 gap_most_ns)
{
	struct sim_class class = sim_decode;

	class.kernel_ns = kernel_ns;
	class.gap_ns = gap_ns;
	class.gap_most_ns = gap_most_ns;
	class.period_ns = 400 * MS;
	return add(class);
}

void in_group(struct sim_class *class, u32 group, u32 weight, u32 min_pct)
{
	class->group = group;
	config.groups[group].weight = weight;
	config.groups[group].min_pct = min_pct;
}

void slow_connect(u64 full_save_ns)
{
	config.device.runlist_ns = 160 * US;
	config.device.full_save_ns = full_save_ns;
}

void simulate(void)
{
	sim_run(&config, &result);
	if (result.wrong[0])
		scenario_is_wrong(result.wrong);
}

/* The same on a node that only observes */
void simulate_observing(void)
{
	config.params.observe = true;
	sim_run(&config, &observed);
	config.params.observe = false;
	if (observed.wrong[0])
		scenario_is_wrong(observed.wrong);
}

/* Only this class, without a scheduler */
void simulate_alone(u32 class)
{
	struct sim_config only = config;
	u32 i;

	for (i = 1; i < NR_CLASSES_MAX; i++)
		only.classes[i].nr_queues = 0;
	only.classes[0] = config.classes[class];
	only.policy = NULL;
	sim_run(&only, &alone);
	if (alone.wrong[0])
		scenario_is_wrong(alone.wrong);
}

double pct(u32 class)
{
	return 100.0 * result.classes[class].served / config.device.slots / config.duration_ns;
}

double all_pct(void)
{
	double sum = 0;
	u32 i;

	for (i = 0; i < nr_classes; i++)
		sum += pct(i);
	return sum;
}

/* Of the one that has had least of this class */
double least_pct(u32 class)
{
	return 100.0 * result.classes[class].ran_ns_min / config.duration_ns;
}

double ms_at(u32 class, double quantile)
{
	return sim_quantile_ns(&result.classes[class].latency, quantile) / 1e6;
}

double alone_ms_at(double quantile)
{
	return sim_quantile_ns(&alone.classes[0].latency, quantile) / 1e6;
}

double without_s(u32 class)
{
	return result.classes[class].unserved_ns_max / 1e9;
}

double of_time(u64 ns)
{
	return 100.0 * ns / config.duration_ns;
}

/* ---- the loads themselves: class 0 is the high one ---- */

/* Work that pauses after so many kernels of 1 ms, once in a period */
void load_below_pauses(u32 kernels, u64 period_ns, u32 nr_low, u64 low_kernel_ns)
{
	add_requests(HIGH, period_ns, kernels, MS)->arrivals = PERIODIC;
	add_endless(LOW, nr_low, low_kernel_ns);
}

void load_below_poisson(u64 period_ns, u32 nr_low, u64 low_kernel_ns)
{
	add_requests(HIGH, period_ns, 20, MS);
	add_endless(LOW, nr_low, low_kernel_ns);
}

/* Each of these groups has a share. */
void load_groups_below(u32 nr)
{
	u32 i;

	add_gappy(HIGH, 200 * US, 50 * US, 200 * US)->kernels = 100;
	for (i = 1; i <= nr; i++)
		in_group(add_endless(LOW, 1, 2 * MS), i, 100, 0);
}

/* A group with a minimum, whose host has gaps between kernels, beside a greedy one */
void load_minimum(u32 min_pct, u32 weight, u64 kernel_ns, u64 gap_ns)
{
	in_group(add_gappy(HIGH, kernel_ns, gap_ns, 0), 1, weight, min_pct);
	in_group(add_endless(HIGH, 1, 2 * MS), 2, 100, 0);
}

/* Requests of 1 ms of a group, beside so many greedy ones of equal weight */
void load_equals(u32 nr)
{
	u32 i;

	in_group(add_requests(HIGH, 20 * MS, 1, MS), 1, 100, 0);
	for (i = 0; i < nr; i++)
		in_group(add_endless(HIGH, 1, 2 * MS), 2 + i, 100, 0);
}

/* Under wfq a service of short kernels, whose host has gaps between them, beside a greedy one of equal weight */
void load_weights(u64 gap_ns, u64 gap_most_ns)
{
	config.policy = "wfq";
	add_gappy(HIGH, 200 * US, gap_ns, gap_most_ns);
	add_endless(HIGH, 1, 2 * MS);
}

/* Work that is due when the next comes; long work is of kernels of 1 ms */
void add_task(u64 period_ns, u64 work_ns)
{
	struct sim_class *task = add_requests(HIGH, period_ns, 1, work_ns);

	task->arrivals = PERIODIC;
	task->deadline_ns = period_ns;
	if (work_ns > MS) {
		task->kernels = work_ns / MS;
		task->kernel_ns = MS;
	}
}

/* Under edf a task that needs a fifth of the device, beside work without end that is due so soon */
void load_task_beside_endless(u64 deadline_ns)
{
	config.policy = "edf";
	add_task(100 * MS, 20 * MS);
	add_endless(HIGH, 1, MS)->deadline_ns = deadline_ns;
}

/* A group with a maximum of 30 percent, where a save takes 5 ms */
void load_maximum(bool beside)
{
	slow_connect(5 * MS);
	in_group(add_endless(HIGH, 1, 2 * MS), 1, 100, 0);
	config.groups[1].quota_ns = 6 * MS;
	config.groups[1].period_ns = 20 * MS;
	if (beside)
		add_endless(HIGH, 1, 2 * MS);
}

/* Decoding without end above training, on a device of slow switches */
void load_slow_decode(u64 save_ns, u64 kernel_ns, u64 gap_ns, u64 gap_most_ns)
{
	slow_connect(save_ns);
	add_decode(kernel_ns, gap_ns, gap_most_ns)->arrivals = CONTINUOUS;
	add_endless(LOW, 1, 2 * MS);
}

/* Inference above training above so much batch work */
void load_batch_below(u32 nr)
{
	add(sim_inference);
	add(sim_training);
	if (nr)
		add_endless(LOW - 10, nr, 2 * MS);
}

/* Periodic requests of one kernel above training */
void load_short_requests(u64 period_ns, u64 kernel_ns)
{
	add_requests(HIGH, period_ns, 1, kernel_ns)->arrivals = PERIODIC;
	add(sim_training);
}

/* A job whose layers end together on all nodes, work below it, and high requests */
void load_job(u64 high_period_ns, u64 layer_ns, bool stay)
{
	add((struct sim_class){ .name = "job", .nr_queues = 1, .priority = LOW,
				.arrivals = CONTINUOUS, .kernels = 200, .kernel_ns = layer_ns,
				.units = 100, .collective = true, .job = 1, .stay = stay });
	add_endless(LOW - 10, 1, 2 * MS);
	add(sim_inference)->period_ns = high_period_ns;
}

/*
 * With the high requests on so many of the nodes. Returns what the job has done, in percent of the
 * time: a layer has its slots also while it waits for the other nodes.
 */
double simulate_job(u32 nr_high)
{
	static struct sim_config nodes[NR_JOB_NODES];
	u32 i;

	for (i = 0; i < NR_JOB_NODES; i++) {
		nodes[i] = config;
		nodes[i].seed = config.seed + 100 * i;
		if (i >= nr_high)
			nodes[i].classes[2].nr_queues = 0;
	}
	sim_run_nodes(nodes, node_results, NR_JOB_NODES, NULL);
	for (i = 0; i < NR_JOB_NODES; i++)
		if (node_results[i].wrong[0])
			scenario_is_wrong(node_results[i].wrong);
	return of_time(node_results[0].classes[0].nr_done * config.classes[0].kernel_ns);
}
