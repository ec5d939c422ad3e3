// SPDX-License-Identifier: MIT
/*
 * stats.c - counting and tracing: each event in one place, so that no counter lacks its tracepoint
 */
#include <linux/ktime.h>

#include "core.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

/* Names in sysfs (skipped_<name>) and in traces. */
const char *const gpreempt_skip_names[GPREEMPT_NR_SKIPS] = {
	[GPREEMPT_SKIP_STOPPED] = "stopped",
	[GPREEMPT_SKIP_INACTIVE] = "inactive",
	[GPREEMPT_SKIP_DESTROYED] = "destroyed",
	[GPREEMPT_SKIP_GWS] = "gws",
	[GPREEMPT_SKIP_DEBUGGED] = "debugged",
	[GPREEMPT_SKIP_RESET] = "reset",
	[GPREEMPT_SKIP_SAVE_AREA] = "save_area",
	[GPREEMPT_SKIP_UNMAPPED] = "unmapped",
	[GPREEMPT_SKIP_RESETTING] = "resetting",
};

static pid_t pid_of(const struct gpreempt_queue *gq)
{
	return gq->process->p->lead_thread->pid;
}

/**
 * gpreempt_stats_pass() - count a pass
 * @gn: the node
 * @inversion: it found a lower queue in the way of a higher one
 * @level: the priority that should have the device
 * @nr_relief: reliefs that it gave
 */
void gpreempt_stats_pass(struct gpreempt_node *gn, bool inversion, int level, unsigned int nr_relief)
{
	atomic64_inc(&gn->stats.checks);
	if (nr_relief)
		atomic64_add(nr_relief, &gn->stats.relief_slices);
	if (!inversion)
		return;
	atomic64_inc(&gn->stats.inversions);
	trace_gpreempt_inversion(gn->node->id, level);
}

/**
 * gpreempt_stats_skip() - count something that was wanted and not done
 * @gn: the node
 * @gq: the queue that it was about; NULL: all
 * @reason: why it was not done
 */
void gpreempt_stats_skip(struct gpreempt_node *gn, const struct gpreempt_queue *gq, enum gpreempt_skip reason)
{
	atomic64_inc(&gn->stats.skipped[reason]);
	trace_gpreempt_skip(gn->node->id, gq ? pid_of(gq) : 0, gq ? gq->q->properties.queue_id : 0,
			    gpreempt_skip_names[reason]);
}

/**
 * gpreempt_stats_failure() - count a failed hardware pass or a victim that the driver had to reset
 * @gn: the node
 * @error: negative error code
 */
void gpreempt_stats_failure(struct gpreempt_node *gn, int error)
{
	atomic64_inc(&gn->stats.failures);
	trace_gpreempt_failure(gn->node->id, error);
}

/**
 * gpreempt_stats_runlist() - count a hardware pass
 * @gn: the node
 * @elapsed_ns: how long it took
 * @preempted: it took queues off the device
 *
 * Context: the monitor.
 */
void gpreempt_stats_runlist(struct gpreempt_node *gn, u64 elapsed_ns, bool preempted)
{
	atomic64_inc(&gn->stats.runlists);
	if (!preempted)
		return;
	atomic64_set(&gn->stats.preempt_ns_last, elapsed_ns);
	if (elapsed_ns > atomic64_read(&gn->stats.preempt_ns_max))
		atomic64_set(&gn->stats.preempt_ns_max, elapsed_ns);
}

/**
 * gpreempt_stats_preempted() - count a preempted queue
 * @gq: the queue, after gpreempt_policy_preempted()
 *
 * Context: the monitor.
 */
void gpreempt_stats_preempted(struct gpreempt_queue *gq)
{
	atomic64_inc(&gq->gn->stats.preemptions);
	WRITE_ONCE(gq->preempt_count, gq->preempt_count + 1);
	trace_gpreempt_preempt(gq->gn->node->id, pid_of(gq), gq->q->properties.queue_id, gq->policy.priority,
			       gq->policy.saved_waves);
}

/**
 * gpreempt_stats_resumed() - count a resumed queue
 * @gq: the queue, before or after gpreempt_policy_resumed()
 * @now_ns: when
 *
 * Context: the monitor.
 */
void gpreempt_stats_resumed(struct gpreempt_queue *gq, u64 now_ns)
{
	u64 held_ns = now_ns - gq->policy.held_ns;

	atomic64_inc(&gq->gn->stats.resumes);
	WRITE_ONCE(gq->preempted_ns, gq->preempted_ns + held_ns);
	trace_gpreempt_resume(gq->gn->node->id, pid_of(gq), gq->q->properties.queue_id, held_ns);
}
