// SPDX-License-Identifier: MIT
/*
 * stats.c - counting, tracing and telling: each event in one place, so that no counter lacks its
 * tracepoint
 */
#include <linux/ktime.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/preempt.h>
#include <linux/ratelimit.h>

#include "node.h"
#include "compat/compat.h"
#include "obstacle.h"
#include "rooms.h"

/* Headers that have some of their own are included by now: it would make those as well. */
#define CREATE_TRACE_POINTS
#include "trace.h"

/*
 * What a bucket boundary of 2^n us is called; larger ones than that of the last bucket do not
 * occur.
 */
#define BUCKET_END_US(i)	BIT_ULL(i)

/* Names in sysfs (skipped_<name>), in traces and dumps. */
const char *const gpreempt_skip_names[GPREEMPT_NR_SKIPS] = {
	[GPREEMPT_SKIP_STOPPED] = "stopped",
	[GPREEMPT_SKIP_INACTIVE] = "inactive",
	[GPREEMPT_SKIP_DESTROYED] = "destroyed",
	[GPREEMPT_SKIP_DEBUGGED] = "debugged",
	[GPREEMPT_SKIP_RESET] = "reset",
	[GPREEMPT_SKIP_SAVE_AREA] = "save_area",
	[GPREEMPT_SKIP_UNMAPPED] = "unmapped",
	[GPREEMPT_SKIP_RESETTING] = "resetting",
	[GPREEMPT_SKIP_UNSETTLED] = "unsettled",
	[GPREEMPT_SKIP_NO_MEMORY] = "no_memory",
	[GPREEMPT_SKIP_BUDGET] = "budget",
	[GPREEMPT_SKIP_DOORBELL] = "doorbell",
	[GPREEMPT_SKIP_DRAINED] = "drained",
};

/* The same for failed_<name>. */
const char *const gpreempt_failure_names[GPREEMPT_NR_FAILURES] = {
	[GPREEMPT_FAILURE_UNMAP_TIMEOUT] = "unmap_timeout",
	[GPREEMPT_FAILURE_VICTIM_RESET] = "victim_reset",
	[GPREEMPT_FAILURE_SEND] = "send",
	[GPREEMPT_FAILURE_MAP] = "map",
	[GPREEMPT_FAILURE_VERIFY] = "verify",
};

/* And for latency/<name>_*. */
const char *const gpreempt_latency_names[GPREEMPT_NR_LATENCIES] = {
	[GPREEMPT_LATENCY_DETECT] = "detect",
	[GPREEMPT_LATENCY_REQUEST] = "request",
	[GPREEMPT_LATENCY_SAVE] = "save",
	[GPREEMPT_LATENCY_RESUME] = "resume",
	[GPREEMPT_LATENCY_HOLD] = "hold",
	[GPREEMPT_LATENCY_PASS] = "pass",
	[GPREEMPT_LATENCY_NOTICE] = "notice",
	[GPREEMPT_LATENCY_OBSERVED_WAIT] = "observed_wait",
	[GPREEMPT_LATENCY_OBSERVED_BESIDE] = "observed_beside",
};

/* The same of verdicts, as libgpreempt has them. */
const char *const gpreempt_verdict_names[] = {
	[GPREEMPT_VERDICT_NONE] = "none",
	[GPREEMPT_VERDICT_RUNS] = "runs",
	[GPREEMPT_VERDICT_NO_DEMAND] = "no_demand",
	[GPREEMPT_VERDICT_DORMANT] = "dormant",
	[GPREEMPT_VERDICT_BLOCKED] = "blocked",
	[GPREEMPT_VERDICT_DRIVER] = "driver",
	[GPREEMPT_VERDICT_UNSEEN] = "unseen",
	[GPREEMPT_VERDICT_EXPECTED] = "expected",
	[GPREEMPT_VERDICT_RELIEF] = "relief",
	[GPREEMPT_VERDICT_SIBLING] = "sibling",
	[GPREEMPT_VERDICT_AGED] = "aged",
	[GPREEMPT_VERDICT_EXEMPT] = "exempt",
	[GPREEMPT_VERDICT_OBSTACLE] = "obstacle",
	[GPREEMPT_VERDICT_MIN_RUN] = "min_run",
	[GPREEMPT_VERDICT_BUDGET] = "budget",
	[GPREEMPT_VERDICT_OBSERVED] = "observed",
	[GPREEMPT_VERDICT_JOB] = "job",
	[GPREEMPT_VERDICT_DRAINS] = "drains",
	[GPREEMPT_VERDICT_YIELDS] = "yields",
	[GPREEMPT_VERDICT_OWN_PROCESS] = "own_process",
	[GPREEMPT_VERDICT_HOLD] = "hold",
	[GPREEMPT_VERDICT_AGEING] = "ageing",
	[GPREEMPT_VERDICT_RESUME_DELAYED] = "resume_delayed",
	[GPREEMPT_VERDICT_LEFT_OFF] = "left_off",
	[GPREEMPT_VERDICT_JOB_YIELDS] = "job_yields",
	[GPREEMPT_VERDICT_STOPPED] = "stopped",
	[GPREEMPT_VERDICT_SHARE] = "share",
	[GPREEMPT_VERDICT_MAXIMUM] = "maximum",
	[GPREEMPT_VERDICT_IDLE] = "idle",
};

/* For the kernel log: what an administrator is told happened. */
static const char *const failure_texts[GPREEMPT_NR_FAILURES] = {
	[GPREEMPT_FAILURE_UNMAP_TIMEOUT] = "the device did not acknowledge a preemption",
	[GPREEMPT_FAILURE_VICTIM_RESET] = "the driver reset a queue while it was preempted",
	[GPREEMPT_FAILURE_SEND] = "a request to the device could not be sent",
	[GPREEMPT_FAILURE_MAP] = "queues could not be given back to the device",
	[GPREEMPT_FAILURE_VERIFY] = "a saved queue has changed",
};

static void stats_add_latency(struct gpreempt_node *gn, enum gpreempt_latency kind, u64 ns)
{
	struct gpreempt_histogram *h = &gn->stats.latency[kind];
	u64 us = div_u64(ns, NSEC_PER_USEC);
	u32 bucket = us ? min_t(u32, ilog2(us) + 1, GPREEMPT_NR_BUCKETS - 1) : 0;

	atomic64_inc(&h->bucket[bucket]);
	atomic64_add(ns, &h->sum_ns);
	if (ns > atomic64_read(&h->max_ns))
		atomic64_set(&h->max_ns, ns);
	/* Last: a reader that divides by it finds the others complete, or one ahead. */
	atomic64_inc(&h->count);
}

/**
 * gpreempt_stats_failures() - failures of all causes
 * @stats: counters
 *
 * Return: their number
 */
u64 gpreempt_stats_failures(const struct gpreempt_stats *stats)
{
	u64 sum = 0;
	int i;

	for (i = 0; i < GPREEMPT_NR_FAILURES; i++)
		sum += atomic64_read(&stats->failed[i]);
	return sum;
}

/**
 * gpreempt_stats_quantile_us() - an upper bound of the shortest so many percent
 * @h: durations
 * @percent: 1 to 100
 *
 * Return: end of the bucket that holds that duration, in microseconds; 0 if there is none
 */
u64 gpreempt_stats_quantile_us(const struct gpreempt_histogram *h, unsigned int percent)
{
	u64 total = 0, seen = 0, want;
	int i;

	for (i = 0; i < GPREEMPT_NR_BUCKETS; i++)
		total += atomic64_read(&h->bucket[i]);
	want = div_u64(total * percent + 99, 100);
	for (i = 0; want && i < GPREEMPT_NR_BUCKETS; i++) {
		seen += atomic64_read(&h->bucket[i]);
		if (seen >= want)
			return BUCKET_END_US(i);
	}
	return 0;
}

/**
 * gpreempt_stats_samples() - trace what a pass saw of its queues
 * @gn: the node, sampled
 *
 * Context: the monitor.
 */
void gpreempt_stats_samples(const struct gpreempt_node *gn)
{
	u32 i;

	if (!trace_gpreempt_sample_enabled())
		return;
	for (i = 0; i < gn->monitor.nr_sampled; i++)
		trace_gpreempt_sample(gpreempt_queue_of(gn->monitor.sampled[i]));
}

/**
 * gpreempt_stats_verdicts() - trace the queues whose verdict a pass has changed
 * @gn: the node, decided
 * @decision: what was decided
 * @now_ns: time of the samples
 *
 * Context: the monitor, in the read section of its pass.
 */
void gpreempt_stats_verdicts(const struct gpreempt_node *gn,
			     const struct gpreempt_decision *decision, u64 now_ns)
{
	u32 i;

	if (!trace_gpreempt_verdict_enabled())
		return;
	for (i = 0; i < gn->monitor.nr_sampled + gn->monitor.nr_dormant; i++) {
		const struct gpreempt_queue *gq = gpreempt_queue_of(gn->monitor.sampled[i]);

		if (gq->policy.verdict_ns == now_ns)
			trace_gpreempt_verdict(gq, decision);
	}
}

/**
 * gpreempt_stats_pass() - count a pass
 * @gn: the node
 * @decision: what was decided
 * @began_ns: when it began
 * @now_ns: when the decision was made
 *
 * Context: the monitor.
 */
void gpreempt_stats_pass(struct gpreempt_node *gn, const struct gpreempt_decision *decision,
			 u64 began_ns, u64 now_ns)
{
	atomic64_inc(&gn->stats.checks);
	atomic64_set(&gn->stats.pass_ns_last, now_ns - began_ns);
	stats_add_latency(gn, GPREEMPT_LATENCY_PASS, now_ns - began_ns);
	if (gn->monitor.doorbell_ns)
		stats_add_latency(gn, GPREEMPT_LATENCY_NOTICE, now_ns - gn->monitor.doorbell_ns);
	trace_gpreempt_pass(gn, decision, now_ns - began_ns);
	if (decision->nr_relief && !gn->tun.params.observe)
		atomic64_add(decision->nr_relief, &gn->stats.relief_slices);
	if (!decision->inversion)
		return;
	atomic64_inc(&gn->stats.inversions);
	trace_gpreempt_inversion(gn, decision->nr_preempt + decision->nr_would_preempt,
				 now_ns - gn->monitor.clear_ns);
	if (!decision->nr_preempt && !decision->nr_would_preempt)
		return;
	stats_add_latency(gn, GPREEMPT_LATENCY_DETECT, now_ns - gn->monitor.clear_ns);
	gpreempt_rooms_tell(event, gn, NULL, GPREEMPT_EVENT_INVERSION, decision->level);
}

/**
 * gpreempt_stats_skip() - count something that was wanted and not done
 * @gn: the node
 * @gq: the queue that it was about; NULL: all
 * @reason: why it was not done
 */
void gpreempt_stats_skip(struct gpreempt_node *gn, struct gpreempt_queue *gq,
			 enum gpreempt_skip reason)
{
	atomic64_inc(&gn->stats.skipped[reason]);
	if (gq) {
		gq->account.skipped = true;
		WRITE_ONCE(gn->marks.skipped, true);
	}
	trace_gpreempt_skip(gn, gq, gpreempt_skip_names[reason]);
}

/**
 * gpreempt_stats_failure() - count something that went wrong, and say it
 * @gn: the node
 * @gq: the queue that it was about; NULL: all
 * @cause: what
 * @error: negative error code
 */
void gpreempt_stats_failure(struct gpreempt_node *gn, const struct gpreempt_queue *gq,
			    enum gpreempt_failure cause, int error)
{
	struct device *dev = gn->node->adev->dev;

	atomic64_inc(&gn->stats.failed[cause]);
	trace_gpreempt_error(gn, gq, gpreempt_failure_names[cause], error);
	gpreempt_rooms_tell(event, gn, gq, GPREEMPT_EVENT_FAILED, -error);
	if (gq)
		dev_err_ratelimited(dev, "gpreempt: gpu %u pid %d queue %u: %s (%s, %d)\n",
				    gn->node->id, gpreempt_queue_pid(gq),
				    gq->q->properties.queue_id, failure_texts[cause],
				    gpreempt_failure_names[cause], error);
	else
		dev_err_ratelimited(dev, "gpreempt: gpu %u: %s (%s, %d)\n", gn->node->id, failure_texts[cause],
				    gpreempt_failure_names[cause], error);
}

/**
 * gpreempt_stats_runlist() - count a hardware pass
 * @gn: the node
 * @request: what was asked for, and when it was done
 *
 * Context: pass_lock held.
 */
void gpreempt_stats_runlist(struct gpreempt_node *gn, const struct gpreempt_request *request)
{
	u64 elapsed_ns = request->done_ns - request->start_ns;

	atomic64_inc(&gn->stats.runlists);
	trace_gpreempt_runlist(gn, request);
	if (!request->preempts)
		return;
	stats_add_latency(gn, GPREEMPT_LATENCY_REQUEST, request->start_ns - gn->monitor.decided_ns);
	atomic64_set(&gn->stats.preempt_ns_last, elapsed_ns);
	if (elapsed_ns > atomic64_read(&gn->stats.preempt_ns_max))
		atomic64_set(&gn->stats.preempt_ns_max, elapsed_ns);
}

/**
 * gpreempt_stats_preempting() - trace that a queue is about to leave the device
 * @gq: the queue
 *
 * Context: pass_lock held.
 */
void gpreempt_stats_preempting(const struct gpreempt_queue *gq)
{
	trace_gpreempt_preempt_begin(gq);
}

/*
 * It left the device then; 0: it is back, now. Readers have been told of all time up to now.
 * Returns that time.
 */
static u64 stats_note_time_off(struct gpreempt_queue *gq, u64 left_ns)
{
	struct gpreempt_queue_account *account = &gq->account;
	u64 at_ns;

	preempt_disable();
	write_seqcount_begin(&account->seq);
	at_ns = left_ns ?: ktime_get_ns();
	WRITE_ONCE(account->preempted_ns,
		   account->preempted_ns + (s64)(left_ns ? -at_ns : at_ns));
	write_seqcount_end(&account->seq);
	preempt_enable();
	return at_ns;
}

/**
 * gpreempt_stats_preempted() - count a preempted queue
 * @gq: the queue, after gpreempt_policy_preempted()
 * @now_ns: when it was saved
 *
 * Context: pass_lock held.
 */
void gpreempt_stats_preempted(struct gpreempt_queue *gq, u64 now_ns)
{
	u64 elapsed_ns = now_ns - gq->gn->monitor.decided_ns;

	atomic64_inc(&gq->gn->stats.preemptions);
	WRITE_ONCE(gq->account.preempt_count, gq->account.preempt_count + 1);
	stats_note_time_off(gq, now_ns);
	stats_add_latency(gq->gn, GPREEMPT_LATENCY_SAVE, elapsed_ns);
	trace_gpreempt_preempt_end(gq, elapsed_ns);
	gpreempt_rooms_tell(event, gq->gn, gq, GPREEMPT_EVENT_PREEMPTED, elapsed_ns);
}

/**
 * gpreempt_stats_resumed() - count a resumed queue
 * @gq: the queue, before or after gpreempt_policy_resumed()
 * @now_ns: when
 *
 * Context: pass_lock held.
 */
void gpreempt_stats_resumed(struct gpreempt_queue *gq, u64 now_ns)
{
	u64 preempted_ns = stats_note_time_off(gq, 0) - gq->policy.preempted_at_ns;

	atomic64_inc(&gq->gn->stats.resumes);
	gq->gn->marks.resuming_ns = gq->gn->monitor.decided_ns;
	stats_add_latency(gq->gn, GPREEMPT_LATENCY_HOLD, preempted_ns);
	trace_gpreempt_resume(gq, preempted_ns, now_ns - gq->gn->monitor.decided_ns);
	gpreempt_rooms_tell(event, gq->gn, gq, GPREEMPT_EVENT_RESUMED, preempted_ns);
}

/**
 * gpreempt_stats_running() - the device is seen to have taken in everything it was given
 * @gn: the node
 * @now_ns: when it was seen
 *
 * Context: pass_lock held.
 */
void gpreempt_stats_running(struct gpreempt_node *gn, u64 now_ns)
{
	if (!gn->marks.resuming_ns)
		return;
	stats_add_latency(gn, GPREEMPT_LATENCY_RESUME, now_ns - gn->marks.resuming_ns);
	trace_gpreempt_running(gn, now_ns - gn->marks.resuming_ns);
	gn->marks.resuming_ns = 0;
}

/**
 * gpreempt_stats_hint() - count what became of announced work
 * @gq: the queue
 * @came: it came in time
 *
 * Context: the monitor.
 */
void gpreempt_stats_hint(const struct gpreempt_queue *gq, bool came)
{
	atomic64_inc(came ? &gq->gn->stats.hints_used : &gq->gn->stats.hints_expired);
	trace_gpreempt_hint(gq, came);
}

/**
 * gpreempt_stats_state() - trace the node's state, which has changed
 * @gn: the node
 *
 * Context: any.
 */
void gpreempt_stats_state(struct gpreempt_node *gn)
{
	trace_gpreempt_state(gn, gpreempt_node_state_name(gn));
}

/**
 * gpreempt_stats_armed() - count that a process's doorbells were withdrawn
 * @process: the process, on the node whose monitor asked for it
 * @late: it had work by then, and is not armed
 *
 * Context: a work item, the lock of the doorbells held.
 */
void gpreempt_stats_armed(const struct gpreempt_process *process, bool late)
{
	atomic64_inc(&process->gn->stats.doorbell_arms);
	if (late)
		atomic64_inc(&process->gn->stats.doorbell_late);
	trace_gpreempt_arm(process, late);
}

/**
 * gpreempt_stats_doorbell() - count that an armed process has written a doorbell
 * @process: the process, on one of its nodes
 *
 * Context: page fault, the lock of the doorbells held.
 */
void gpreempt_stats_doorbell(const struct gpreempt_process *process)
{
	atomic64_inc(&process->gn->stats.doorbell_faults);
	trace_gpreempt_ring(process);
}

/**
 * gpreempt_stats_immovable() - count what was in the way and could not be moved, once for as long
 * as that lasts
 * @gn: the node, sampled
 * @decision: what was decided
 *
 * Context: the monitor, in the read section of its pass.
 */
void gpreempt_stats_immovable(struct gpreempt_node *gn, const struct gpreempt_decision *decision)
{
	u32 i;

	WRITE_ONCE(gn->marks.skipped, decision->nr_in_the_way);
	for (i = 0; i < gn->monitor.nr_sampled; i++) {
		struct gpreempt_queue *gq = gpreempt_queue_of(gn->monitor.sampled[i]);
		enum gpreempt_skip reason;

		if (!gq->policy.in_the_way) {
			gq->account.skipped = false;
		} else if (!gq->account.skipped) {
			reason = gpreempt_obstacle(gq);
			if (reason != GPREEMPT_NR_SKIPS)
				gpreempt_stats_skip(gn, gq, reason);
		}
	}
}

/**
 * gpreempt_stats_preempted_ns() - how long a queue has been off the device in its life
 * @gq: the queue
 *
 * Context: gpreempt_lock or srcu of its node held.
 *
 * Return: nanoseconds, with the current preemption; never less than before
 */
u64 gpreempt_stats_preempted_ns(const struct gpreempt_queue *gq)
{
	const struct gpreempt_queue_account *account = &gq->account;
	unsigned int seq;
	s64 ns;

	do {
		seq = read_seqcount_begin(&account->seq);
		ns = READ_ONCE(account->preempted_ns);
		if (ns < 0)
			ns += ktime_get_ns();
	} while (read_seqcount_retry(&account->seq, seq));
	return ns;
}

/**
 * gpreempt_stats_init_queue() - a queue that is being registered has not been preempted yet
 * @gq: the queue
 *
 * Context: any.
 */
void gpreempt_stats_init_queue(struct gpreempt_queue *gq)
{
	seqcount_init(&gq->account.seq);
}

/**
 * gpreempt_stats_begin() - a node is switched on, or its device has been set up anew: nothing is
 * being measured
 * @gn: the node
 *
 * Context: pass_lock held.
 */
void gpreempt_stats_begin(struct gpreempt_node *gn)
{
	gn->marks.resuming_ns = 0;
}

/**
 * gpreempt_stats_observing() - the node only observes, or it does not
 * @gn: the node
 * @observes: as its tunable says, in this pass
 *
 * Context: the monitor.
 */
void gpreempt_stats_observing(struct gpreempt_node *gn, bool observes)
{
	u64 now_ns = ktime_get_ns();

	if (observes == !!gn->marks.observing_ns)
		return;
	if (!observes)
		atomic64_add(now_ns - gn->marks.observing_ns, &gn->stats.observed_ns);
	WRITE_ONCE(gn->marks.observing_ns, observes ? now_ns : 0);
}

/**
 * gpreempt_stats_observed_ns() - for how long has a node only observed?
 * @gn: the node
 *
 * Context: any.
 *
 * Return: nanoseconds, up to now
 */
u64 gpreempt_stats_observed_ns(const struct gpreempt_node *gn)
{
	u64 since_ns = READ_ONCE(gn->marks.observing_ns);

	return atomic64_read(&gn->stats.observed_ns) + (since_ns ? ktime_get_ns() - since_ns : 0);
}

static void stats_would_preempt(struct gpreempt_queue *gq)
{
	atomic64_inc(&gq->gn->stats.would_be_preemptions);
	WRITE_ONCE(gq->account.would_be_preempted, gq->account.would_be_preempted + 1);
	trace_gpreempt_would_preempt(gq);
	gpreempt_rooms_tell(event, gq->gn, gq, GPREEMPT_EVENT_OBSERVED, 0);
}

static void stats_request(struct gpreempt_queue *gq)
{
	const struct gpreempt_policy_request *request = &gq->policy.request;
	u64 beside_ns = request->ended_ns - request->since_ns;
	bool clear = request->came && request->waited_ns &&
		     request->waited_ns < GPREEMPT_OBSERVED_UNCLEAR_NS;

	atomic64_inc(&gq->gn->stats.observed_requests);
	WRITE_ONCE(gq->account.requests, gq->account.requests + 1);
	stats_add_latency(gq->gn, GPREEMPT_LATENCY_OBSERVED_BESIDE, beside_ns);
	if (clear) {
		WRITE_ONCE(gq->account.waited_ns, gq->account.waited_ns + request->waited_ns);
		stats_add_latency(gq->gn, GPREEMPT_LATENCY_OBSERVED_WAIT, request->waited_ns);
	} else if (request->came) {
		atomic64_inc(&gq->gn->stats.observed_unclear);
	}
	trace_gpreempt_request(gq, clear ? (s64)request->waited_ns : -1, beside_ns);
	gpreempt_rooms_tell(event, gq->gn, gq, GPREEMPT_EVENT_REQUEST,
			    clear ? (s64)request->waited_ns : -1);
}

/**
 * gpreempt_stats_observed() - count what a node would have done that only observes
 * @gn: the node, decided
 * @decision: what was decided
 * @now_ns: time of the samples
 *
 * Context: the monitor, in the read section of its pass.
 */
void gpreempt_stats_observed(struct gpreempt_node *gn, const struct gpreempt_decision *decision,
			     u64 now_ns)
{
	u32 i;

	if (decision->nr_would_preempt || decision->nr_would_resume)
		atomic64_inc(&gn->stats.would_be_runlists);
	else if (!decision->nr_requests)
		return;
	for (i = 0; i < gn->monitor.nr_sampled + gn->monitor.nr_dormant; i++) {
		struct gpreempt_queue *gq = gpreempt_queue_of(gn->monitor.sampled[i]);

		if (gq->policy.would == GPREEMPT_PREEMPT)
			stats_would_preempt(gq);
		else if (gq->policy.would == GPREEMPT_RESUME)
			atomic64_inc(&gn->stats.would_be_resumes);
		if (gq->policy.request.ended_ns == now_ns)
			stats_request(gq);
	}
}
