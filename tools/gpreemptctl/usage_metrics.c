// SPDX-License-Identifier: MIT
/*
 * usage_metrics.c - who has used how much of each GPU, as counters for Prometheus
 *
 * A counter's labels are numbers that stay when its owner has ended, or its last seconds would be another series. What a cgroup's number stands for
 * is a series of its own, to be joined, and goes with the cgroup. Nothing in a label is of a program's choice.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>

#include "gpreemptctl.h"
#include "usage.h"

/* Of cgroups and of jobs without a process the last ones on each node. Prometheus has to see once what they used at last. */
#define ENDED_MAX	64

#define NS(member)	offsetof(struct gpreempt_usage_info, member), 1000000000, 9
#define US(member)	offsetof(struct gpreempt_usage_info, member), 1000000, 6

/**
 * struct usage_metric - a number of the account as Prometheus is to see it
 * @kind: of what it is
 * @name: stable name
 * @help: what it is
 * @offset: where it is in a &struct gpreempt_usage_info
 * @unit: so many are a second
 * @digits: of the fraction
 */
static const struct usage_metric {
	unsigned int kind;
	const char *name;
	const char *help;
	size_t offset;
	uint64_t unit;
	int digits;
} metrics[] = {
	{ GPREEMPT_USAGE_NODE, "gpreempt_node_used_seconds_total", "Time in which some queue had work and the device.", NS(used_ns) },
	{ GPREEMPT_USAGE_NODE, "gpreempt_node_busy_seconds_total", "Time with work and the device, of all queues added up.", NS(usage.busy_ns) },
	{ GPREEMPT_USAGE_NODE, "gpreempt_node_waiting_seconds_total", "Time with work and without the device.", NS(usage.waiting_ns) },
	{ GPREEMPT_USAGE_NODE, "gpreempt_node_preempted_seconds_total", "Time off the device because of the scheduler.", NS(usage.preempted_ns) },
	{ GPREEMPT_USAGE_NODE, "gpreempt_node_wave_seconds_total", "Waves in flight times time.", US(usage.wave_us) },
	{ GPREEMPT_USAGE_CGROUP, "gpreempt_cgroup_busy_seconds_total", "Time with work and the device, of all queues added up.", NS(usage.busy_ns) },
	{ GPREEMPT_USAGE_CGROUP, "gpreempt_cgroup_waiting_seconds_total", "Time with work and without the device.", NS(usage.waiting_ns) },
	{ GPREEMPT_USAGE_CGROUP, "gpreempt_cgroup_preempted_seconds_total", "Time off the device because of the scheduler.", NS(usage.preempted_ns) },
	{ GPREEMPT_USAGE_CGROUP, "gpreempt_cgroup_wave_seconds_total", "Waves in flight times time.", US(usage.wave_us) },
	{ GPREEMPT_USAGE_JOB, "gpreempt_job_busy_seconds_total", "Time with work and the device, of all queues added up.", NS(usage.busy_ns) },
	{ GPREEMPT_USAGE_JOB, "gpreempt_job_waiting_seconds_total", "Time with work and without the device.", NS(usage.waiting_ns) },
	{ GPREEMPT_USAGE_JOB, "gpreempt_job_preempted_seconds_total", "Time off the device because of the scheduler.", NS(usage.preempted_ns) },
	{ GPREEMPT_USAGE_JOB, "gpreempt_job_wave_seconds_total", "Waves in flight times time.", US(usage.wave_us) },
	{ GPREEMPT_USAGE_PROCESS, "gpreempt_process_busy_seconds_total", "Time with work and the device, of all queues added up.", NS(usage.busy_ns) },
	{ GPREEMPT_USAGE_PROCESS, "gpreempt_process_waiting_seconds_total", "Time with work and without the device.", NS(usage.waiting_ns) },
	{ GPREEMPT_USAGE_PROCESS, "gpreempt_process_preempted_seconds_total", "Time off the device because of the scheduler.", NS(usage.preempted_ns) },
	{ GPREEMPT_USAGE_PROCESS, "gpreempt_process_wave_seconds_total", "Waves in flight times time.", US(usage.wave_us) },
};

static void print_place(const struct place *place)
{
	printf("container_engine=\"%s\",container_id=\"%s\",pod_uid=\"%s\",slurm_job=\"%s\",slurm_step=\"%s\"", place->engine, place->container, place->pod,
	       place->slurm_job, place->slurm_step);
}

static void print_labels(const struct usage_entry *e)
{
	const struct gpreempt_usage_info *u = &e->info;

	printf("{gpu_id=\"%u\"", u->gpu_id);
	if (u->kind != GPREEMPT_USAGE_NODE)
		printf(",bdf=\"%s\"", identity_of(u->gpu_id)->bdf);
	if (u->kind == GPREEMPT_USAGE_CGROUP || u->kind == GPREEMPT_USAGE_PROCESS)
		printf(",cgroup=\"%" PRIu64 "\"", (uint64_t)u->cgroup);
	if (u->kind == GPREEMPT_USAGE_JOB || (u->kind == GPREEMPT_USAGE_PROCESS && u->job))
		printf(",gpreempt_job=\"%" PRIu64 "\"", (uint64_t)u->job);
	else if (u->kind == GPREEMPT_USAGE_PROCESS)
		printf(",gpreempt_job=\"\"");
	if (usage_is_rest(u))
		printf(",uid=\"%lu\"", (unsigned long)e->origin.uid);
	if (u->kind == GPREEMPT_USAGE_PROCESS) {
		printf(",pid=\"%d\",uid=\"", u->pid);
		if (e->origin.uid != (uid_t)-1)
			printf("%lu", (unsigned long)e->origin.uid);
		printf("\",");
		print_place(&e->origin.place);
	}
	printf("}");
}

static bool has_ended(const struct gpreempt_usage_info *u)
{
	return (u->kind == GPREEMPT_USAGE_CGROUP || u->kind == GPREEMPT_USAGE_JOB) && !u->nr_processes && !usage_is_rest(u);
}

/* If it has ended: is it one of the last that have on its node? */
static bool is_shown(const struct usage *usage, int which)
{
	const struct gpreempt_usage_info *u = &usage->entries[which].info, *other;
	int i, later = 0;

	if (!has_ended(u))
		return true;
	for (i = which + 1; i < usage->nr && later < ENDED_MAX; i++) {
		other = &usage->entries[i].info;
		later += has_ended(other) && other->kind == u->kind && other->gpu_id == u->gpu_id;
	}
	return later < ENDED_MAX;
}

static void print_metric(const struct usage_metric *m, const struct usage *usage)
{
	uint64_t value;
	int i;

	print_metric_head(m->name, m->help, "counter");
	for (i = 0; i < usage->nr; i++) {
		const struct usage_entry *e = &usage->entries[i];

		if (e->info.kind != m->kind || !is_shown(usage, i))
			continue;
		value = *(const uint64_t *)((const char *)&e->info + m->offset);
		printf("%s", m->name);
		print_labels(e);
		printf(" %" PRIu64 ".%0*" PRIu64 "\n", value / m->unit, m->digits, value % m->unit);
	}
}

static bool is_first_of_cgroup(const struct usage *usage, int which)
{
	int i;

	for (i = 0; i < which; i++)
		if (usage->entries[i].info.kind == GPREEMPT_USAGE_CGROUP && usage->entries[i].info.cgroup == usage->entries[which].info.cgroup)
			return false;
	return true;
}

/* One for each cgroup that is still there, on however many nodes it has used something */
static void print_cgroups(const struct usage *usage)
{
	int i;

	print_metric_head("gpreempt_cgroup_info", "Container, pod and Slurm step of a cgroup.", "gauge");
	for (i = 0; i < usage->nr; i++) {
		const struct usage_entry *e = &usage->entries[i];

		if (e->info.kind != GPREEMPT_USAGE_CGROUP || !e->name[0] || !is_first_of_cgroup(usage, i))
			continue;
		printf("gpreempt_cgroup_info{cgroup=\"%" PRIu64 "\",", (uint64_t)e->info.cgroup);
		print_place(&e->origin.place);
		printf("} 1\n");
	}
}

/**
 * print_usage_metrics() - text for Prometheus
 * @usage: in the order of the scheduler
 * @wanted: bits 1 << &enum gpreempt_usage_kind
 */
void print_usage_metrics(const struct usage *usage, unsigned int wanted)
{
	size_t m;

	for (m = 0; m < sizeof(metrics) / sizeof(metrics[0]); m++)
		if (wanted & 1U << metrics[m].kind)
			print_metric(&metrics[m], usage);
	if (wanted & 1U << GPREEMPT_USAGE_CGROUP)
		print_cgroups(usage);
}
