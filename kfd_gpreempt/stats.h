/* SPDX-License-Identifier: MIT */
/*
 * stats.h - counters of a node
 */
#ifndef GPREEMPT_STATS_H
#define GPREEMPT_STATS_H

#include <linux/atomic.h>
#include <linux/types.h>

/**
 * enum gpreempt_skip - why something that was wanted was not done
 * @GPREEMPT_SKIP_STOPPED: the driver's scheduler is stopped, halted or hung
 * @GPREEMPT_SKIP_INACTIVE: the queue was evicted, suspended or disabled meanwhile
 * @GPREEMPT_SKIP_DESTROYED: it is being destroyed
 * @GPREEMPT_SKIP_GWS: it runs cooperative groups
 * @GPREEMPT_SKIP_DEBUGGED: its process is under the debugger
 * @GPREEMPT_SKIP_RESET: its process has a queue that was reset
 * @GPREEMPT_SKIP_SAVE_AREA: it has no area to save waves to
 * @GPREEMPT_SKIP_UNMAPPED: its ring pointers cannot be mapped: it is not scheduled at all
 * @GPREEMPT_SKIP_RESETTING: a pass was given up because the GPU is being reset
 * @GPREEMPT_NR_SKIPS: number of reasons
 */
enum gpreempt_skip {
	GPREEMPT_SKIP_STOPPED,
	GPREEMPT_SKIP_INACTIVE,
	GPREEMPT_SKIP_DESTROYED,
	GPREEMPT_SKIP_GWS,
	GPREEMPT_SKIP_DEBUGGED,
	GPREEMPT_SKIP_RESET,
	GPREEMPT_SKIP_SAVE_AREA,
	GPREEMPT_SKIP_UNMAPPED,
	GPREEMPT_SKIP_RESETTING,
	GPREEMPT_NR_SKIPS,
};

/**
 * struct gpreempt_stats - counters of a node, since the driver was loaded
 * @checks: passes
 * @inversions: passes that found a lower queue in the way of a higher one
 * @preemptions: queues preempted
 * @resumes: queues resumed
 * @failures: hardware passes that failed, and victims that the driver reset
 * @runlists: hardware passes caused by us
 * @preempt_ns_last: duration of the last hardware pass that preempted
 * @preempt_ns_max: longest such duration
 * @relief_slices: reliefs given to queues held for too long
 * @skipped: by &enum gpreempt_skip
 */
struct gpreempt_stats {
	atomic64_t checks;
	atomic64_t inversions;
	atomic64_t preemptions;
	atomic64_t resumes;
	atomic64_t failures;
	atomic64_t runlists;
	atomic64_t preempt_ns_last;
	atomic64_t preempt_ns_max;
	atomic64_t relief_slices;
	atomic64_t skipped[GPREEMPT_NR_SKIPS];
};

struct gpreempt_node;
struct gpreempt_queue;

extern const char *const gpreempt_skip_names[GPREEMPT_NR_SKIPS];

void gpreempt_stats_pass(struct gpreempt_node *gn, bool inversion, int level, unsigned int nr_relief);
void gpreempt_stats_skip(struct gpreempt_node *gn, const struct gpreempt_queue *gq, enum gpreempt_skip reason);
void gpreempt_stats_failure(struct gpreempt_node *gn, int error);
void gpreempt_stats_runlist(struct gpreempt_node *gn, u64 elapsed_ns, bool preempted);
void gpreempt_stats_preempted(struct gpreempt_queue *gq);
void gpreempt_stats_resumed(struct gpreempt_queue *gq, u64 now_ns);

#endif /* GPREEMPT_STATS_H */
