/* SPDX-License-Identifier: MIT */
/* usage.h - who has used how much of a node, those that have ended included */
#ifndef GPREEMPT_USAGE_H
#define GPREEMPT_USAGE_H

#include <linux/list.h>
#include <linux/types.h>
#include "uapi/linux/kfd_gpreempt.h"

struct gpreempt_node;
struct gpreempt_process;
struct gpreempt_queue;
struct gpreempt_usage_entry;
struct gpreempt_viewer;
struct pid;

/*
 * So many processes, jobs and cgroups that have no queue now are remembered on a node, of one user
 * and altogether. Of more the oldest of who has most are forgotten: what the jobs and cgroups used
 * goes into this user's two rests.
 */
#define GPREEMPT_USAGE_ENDED_OF_USER_MAX	512
#define GPREEMPT_USAGE_ENDED_MAX		2048
/* Of more rests the oldest are added to that of no user. */
#define GPREEMPT_USAGE_RESTS_MAX		512

/* What usage.c keeps of a node, and writes alone, under gpreempt_lock. */
struct gpreempt_node_usage {
	/** @entries: its processes, jobs and cgroups, and the rests */
	struct list_head entries;
	/** @ended: what queues that have ended have used that are in the sum of no cgroup */
	struct gpreempt_queue_usage ended;
	/** @nr_ended: entries without a process, the rests not counted */
	u32 nr_ended;
	/** @nr_rests: sums of what is forgotten */
	u32 nr_rests;
};

/**
 * enum gpreempt_sum - where the queues of a process are summed up
 * @GPREEMPT_SUM_CGROUP: the cgroup that it was in when it made its first queue
 * @GPREEMPT_SUM_JOB: its job
 * @GPREEMPT_SUM_PROCESS: itself
 * @GPREEMPT_SUMS: number of sums
 */
enum gpreempt_sum {
	GPREEMPT_SUM_CGROUP,
	GPREEMPT_SUM_JOB,
	GPREEMPT_SUM_PROCESS,
	GPREEMPT_SUMS
};

/* What usage.c keeps of a process on a node, and writes alone, under gpreempt_lock. */
struct gpreempt_process_usage {
	/** @of: by &enum gpreempt_sum; NULL: it has no job, or there was no memory */
	struct gpreempt_usage_entry *of[GPREEMPT_SUMS];
};

/**
 * struct gpreempt_usage_list - what is told to a caller
 * @viewer: the caller: what it may see
 * @gpu_id: of one node; 0: of all
 * @kinds: bits of &enum gpreempt_usage_kind
 * @entries: array
 * @max: its length
 * @nr: entries there are
 */
struct gpreempt_usage_list {
	const struct gpreempt_viewer *viewer;
	u32 gpu_id;
	u32 kinds;
	struct gpreempt_usage_info *entries;
	u32 max;
	u32 nr;
};

void gpreempt_usage_of(const struct gpreempt_queue *gq, struct gpreempt_queue_usage *usage);
void gpreempt_usage_join(struct gpreempt_process *process);
void gpreempt_usage_leave(struct gpreempt_process *process);
bool gpreempt_usage_of_program(struct gpreempt_node *gn, const struct pid *pid,
			       struct gpreempt_queue_usage *usage);
int gpreempt_usage_list_node(struct gpreempt_node *gn, void *arg);

#endif /* GPREEMPT_USAGE_H */
