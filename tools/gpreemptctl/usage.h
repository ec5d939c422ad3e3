/* SPDX-License-Identifier: MIT */
/* usage.h - who has used how much of each GPU, with names for what the scheduler knows by numbers */
#ifndef USAGE_H
#define USAGE_H

#include "gpreempt.h"
#include "origin.h"

struct options;

/**
 * struct usage_entry - what a node, a cgroup, a job or a process has used
 * @info: what the scheduler says of it
 * @name: of a process, its program; of a cgroup, its path; of a node, its device. "" where it is not known, as of a cgroup that is gone
 * @origin: of a process, where it comes from; of a cgroup, its place alone; of a rest, its user
 * @started: of a process: when it began, in clock ticks since boot; 0: not known
 */
struct usage_entry {
	struct gpreempt_usage_info info;
	char *name;
	struct origin origin;
	uint64_t started;
};

/**
 * struct usage - what all have used
 * @entries: in the order of the scheduler's: of cgroups and jobs without a process the one that has been so for longest comes first
 * @nr: how many
 * @time_ns: CLOCK_MONOTONIC
 */
struct usage {
	struct usage_entry *entries;
	int nr;
	uint64_t time_ns;
};

int read_usage(struct gpreempt *g, unsigned int wanted, const struct options *o, struct usage *usage);
void free_usage(struct usage *usage);
uint64_t usage_id(const struct gpreempt_usage_info *info);
bool usage_is_rest(const struct gpreempt_usage_info *info);
const char *usage_kind_name(unsigned int kind);

/* All but processes, of which there may be any number. */
#define USAGE_OF_GROUPS	(1U << GPREEMPT_USAGE_NODE | 1U << GPREEMPT_USAGE_CGROUP | 1U << GPREEMPT_USAGE_JOB)
void print_usage_metrics(const struct usage *usage, unsigned int wanted);

#endif /* USAGE_H */
