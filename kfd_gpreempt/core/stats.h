/* SPDX-License-Identifier: MIT */
/* stats.h - counters and latencies of a node */
#ifndef GPREEMPT_STATS_H
#define GPREEMPT_STATS_H

#include <linux/atomic.h>
#include <linux/seqlock.h>
#include <linux/types.h>

/**
 * enum gpreempt_skip - why something that was wanted was not done
 * @GPREEMPT_SKIP_STOPPED: the driver's scheduler is stopped, halted or hung
 * @GPREEMPT_SKIP_INACTIVE: the queue was evicted, suspended or disabled meanwhile
 * @GPREEMPT_SKIP_DESTROYED: it is being destroyed
 * @GPREEMPT_SKIP_DEBUGGED: its process has a debugger with the right to exempt it, see
 *	gpreempt_obstacle_debugged()
 * @GPREEMPT_SKIP_RESET: the driver has reset it
 * @GPREEMPT_SKIP_SAVE_AREA: it has no area to save waves to
 * @GPREEMPT_SKIP_UNMAPPED: its ring pointers could not be read when it was registered: it
 *	yields, and no queue yields to it
 * @GPREEMPT_SKIP_RESETTING: a pass was given up because the GPU is being reset
 * @GPREEMPT_SKIP_UNSETTLED: waves in flight could not be read because the runlist is being changed
 * @GPREEMPT_SKIP_NO_MEMORY: a queue was not registered, or not looked at in a pass, for
 *	want of memory
 * @GPREEMPT_SKIP_BUDGET: a preemption had to wait, for gpreempt_overhead_pct
 * @GPREEMPT_SKIP_DOORBELL: a process is looked at although gpreempt_wakeup is doorbell: it
 *	opened /dev/kfd, or mapped its doorbells, in a way that does not allow to withdraw them.
 *	Once per process.
 * @GPREEMPT_SKIP_DRAINED: higher work came and ended, and what was in its way was waited for
 *	instead of being preempted, for gpreempt_drain_us
 * @GPREEMPT_NR_SKIPS: number of reasons
 */
enum gpreempt_skip {
	GPREEMPT_SKIP_STOPPED,
	GPREEMPT_SKIP_INACTIVE,
	GPREEMPT_SKIP_DESTROYED,
	GPREEMPT_SKIP_DEBUGGED,
	GPREEMPT_SKIP_RESET,
	GPREEMPT_SKIP_SAVE_AREA,
	GPREEMPT_SKIP_UNMAPPED,
	GPREEMPT_SKIP_RESETTING,
	GPREEMPT_SKIP_UNSETTLED,
	GPREEMPT_SKIP_NO_MEMORY,
	GPREEMPT_SKIP_BUDGET,
	GPREEMPT_SKIP_DOORBELL,
	GPREEMPT_SKIP_DRAINED,
	GPREEMPT_NR_SKIPS,
};

/**
 * enum gpreempt_failure - what went wrong
 * @GPREEMPT_FAILURE_UNMAP_TIMEOUT: the device did not acknowledge that queues left it
 * @GPREEMPT_FAILURE_VICTIM_RESET: the driver reset a queue of a victim's process while the
 *	victim was unmapped
 * @GPREEMPT_FAILURE_SEND: the request to the device could not be sent; nothing was preempted
 * @GPREEMPT_FAILURE_MAP: queues could not be mapped again after they had been saved
 * @GPREEMPT_FAILURE_VERIFY: a saved queue was not what it had been when it was to continue
 * @GPREEMPT_NR_FAILURES: number of causes
 */
enum gpreempt_failure {
	GPREEMPT_FAILURE_UNMAP_TIMEOUT,
	GPREEMPT_FAILURE_VICTIM_RESET,
	GPREEMPT_FAILURE_SEND,
	GPREEMPT_FAILURE_MAP,
	GPREEMPT_FAILURE_VERIFY,
	GPREEMPT_NR_FAILURES,
};

/**
 * enum gpreempt_latency - what is measured
 * @GPREEMPT_LATENCY_DETECT: inversion to decision, at most: from the last look that found none
 * @GPREEMPT_LATENCY_REQUEST: decision to its first request to the device, per hardware pass
 *	that preempts: what we take ourselves, and the wait for the driver's lock
 * @GPREEMPT_LATENCY_SAVE: decision to saved, per victim
 * @GPREEMPT_LATENCY_RESUME: decision to resume to the device having taken it in, per
 *	decision. Where the backend is not told it is the first look that finds it so, so in
 *	steps of the time between looks.
 * @GPREEMPT_LATENCY_HOLD: how long a queue was preempted, per resume
 * @GPREEMPT_LATENCY_PASS: reading the queues and deciding, per pass; without carrying out
 * @GPREEMPT_LATENCY_NOTICE: an armed process's doorbell write to decision, per pass that
 *	takes one in
 * @GPREEMPT_LATENCY_OBSERVED_WAIT: on a node that only observes: work came to a queue, and waited
 *	for so long for the device to take its first packet, while a queue ran that would have been
 *	preempted. Of %GPREEMPT_OBSERVED_UNCLEAR_NS and more it is not clear what it waited for.
 * @GPREEMPT_LATENCY_OBSERVED_BESIDE: likewise: for so long such a queue ran beside the work, until
 *	either ended
 * @GPREEMPT_NR_LATENCIES: number of kinds
 */
enum gpreempt_latency {
	GPREEMPT_LATENCY_DETECT,
	GPREEMPT_LATENCY_REQUEST,
	GPREEMPT_LATENCY_SAVE,
	GPREEMPT_LATENCY_RESUME,
	GPREEMPT_LATENCY_HOLD,
	GPREEMPT_LATENCY_PASS,
	GPREEMPT_LATENCY_NOTICE,
	GPREEMPT_LATENCY_OBSERVED_WAIT,
	GPREEMPT_LATENCY_OBSERVED_BESIDE,
	GPREEMPT_NR_LATENCIES,
};

/*
 * Work that waits longer may wait for something else than the device, a barrier for instance. Only
 * a preemption would tell.
 */
#define GPREEMPT_OBSERVED_UNCLEAR_NS	1000000000ULL

/*
 * Bucket 0: below 1 us; bucket n: 2^(n-1) us and more, below 2^n us; the last one is open: from 9
 * minutes.
 */
#define GPREEMPT_NR_BUCKETS	31

/**
 * struct gpreempt_histogram - durations of one kind
 * @count: how many
 * @sum_ns: all together
 * @max_ns: the longest
 * @bucket: how many of each length, see GPREEMPT_NR_BUCKETS
 *
 * Written by the monitor.
 */
struct gpreempt_histogram {
	atomic64_t count;
	atomic64_t sum_ns;
	atomic64_t max_ns;
	atomic64_t bucket[GPREEMPT_NR_BUCKETS];
};

/**
 * struct gpreempt_stats - counters of a node, since the driver was loaded or the node came up
 * @checks: passes that came to a decision
 * @wakeups: times that the monitor woke up, for whatever reason
 * @inversions: passes that found a lower queue in the way of a higher one
 * @preemptions: queues preempted
 * @resumes: queues resumed
 * @destroyed_preempted: queues that ended while they were preempted. What was preempted and
 *	neither resumed nor destroyed is preempted now.
 * @runlists: hardware passes caused by us
 * @preempt_ns_last: duration of the last hardware pass that preempted
 * @preempt_ns_max: longest such duration
 * @pass_ns_last: last value of GPREEMPT_LATENCY_PASS
 * @relief_slices: turns in a relief given to queues preempted for too long
 * @paced: commands of outranked programs that had to wait because of the runlist that they ask for
 * @hints: announcements of work, per queue
 * @hints_used: of these, those whose work came in time. Work that came to another queue of
 *	the process counts, if it was announced for both.
 * @hints_expired: of these, those whose work did not come. The others are open, were
 *	followed by another one, or went with their queue.
 * @disabled: times that the node was given up
 * @doorbell_arms: times that the doorbells of a process were withdrawn
 * @doorbell_late: times that this came too late: the process had work again, and was looked
 *	at instead
 * @doorbell_faults: first doorbell writes of a process after that
 * @would_be_preemptions: while the node only observed: queues that would have been preempted
 * @would_be_resumes: likewise: resumed
 * @would_be_runlists: likewise: hardware passes that would have done so
 * @observed_requests: likewise: work beside which such a queue ran, see
 *	&gpreempt_policy_queue.request
 * @observed_unclear: of these, those that waited for %GPREEMPT_OBSERVED_UNCLEAR_NS or longer, or
 *	that the device had taken no packet of when the other work ended
 * @observed_ns: for so long the node has only observed, up to &gpreempt_node_marks.observing_ns
 * @skipped: by &enum gpreempt_skip
 * @failed: by &enum gpreempt_failure
 * @latency: by &enum gpreempt_latency
 *
 * Nothing but atomic64_t in here: it is copied as such.
 */
struct gpreempt_stats {
	atomic64_t checks;
	atomic64_t wakeups;
	atomic64_t inversions;
	atomic64_t preemptions;
	atomic64_t resumes;
	atomic64_t destroyed_preempted;
	atomic64_t runlists;
	atomic64_t preempt_ns_last;
	atomic64_t preempt_ns_max;
	atomic64_t pass_ns_last;
	atomic64_t relief_slices;
	atomic64_t paced;
	atomic64_t hints;
	atomic64_t hints_used;
	atomic64_t hints_expired;
	atomic64_t disabled;
	atomic64_t doorbell_arms;
	atomic64_t doorbell_late;
	atomic64_t doorbell_faults;
	atomic64_t would_be_preemptions;
	atomic64_t would_be_resumes;
	atomic64_t would_be_runlists;
	atomic64_t observed_requests;
	atomic64_t observed_unclear;
	atomic64_t observed_ns;
	atomic64_t skipped[GPREEMPT_NR_SKIPS];
	atomic64_t failed[GPREEMPT_NR_FAILURES];
	struct gpreempt_histogram latency[GPREEMPT_NR_LATENCIES];
};

/* What stats.c keeps of a node, and writes alone. */
struct gpreempt_node_marks {
	/** @skipped: a queue may be marked as skipped */
	bool skipped;
	/**
	 * @resuming_ns: when the resumes that the device has not been seen to have taken in were
	 * decided; 0: none
	 */
	u64 resuming_ns;
	/** @observing_ns: since when the node has only observed; 0: it does not */
	u64 observing_ns;
};

/* What stats.c keeps of a queue, and writes alone. */
struct gpreempt_queue_account {
	/** @skipped: counted as a skip; not again while it lasts. The monitor's alone */
	bool skipped;
	/** @seq: readers want @preempted_ns and the time of the same moment */
	seqcount_t seq;
	/** @preempt_count: preemptions so far; written by the monitor */
	u64 preempt_count;
	/**
	 * @preempted_ns: time spent preempted; while it is, less the time when that began, and so
	 * below 0. Written by the monitor
	 */
	s64 preempted_ns;
	/** @would_be_preempted: times that it would have been; written by the monitor */
	u64 would_be_preempted;
	/** @requests: times that one which would have been ran beside it; written by the monitor */
	u64 requests;
	/** @waited_ns: for so long it waited then, if that is clear; written by the monitor */
	u64 waited_ns;
};

/**
 * struct gpreempt_request - what a decision asked of the device
 * @preempts: to take queues off, if to give back others as well
 * @start_ns: when it was asked
 * @saved_ns: when the last victim was saved, or what was seen of it first; @start_ns: there
 *	were none
 * @done_ns: when the device had been given all that belongs to it
 */
struct gpreempt_request {
	bool preempts;
	u64 start_ns;
	u64 saved_ns;
	u64 done_ns;
};

struct gpreempt_decision;
struct gpreempt_node;
struct gpreempt_process;
struct gpreempt_queue;
enum gpreempt_state;

extern const char *const gpreempt_skip_names[GPREEMPT_NR_SKIPS];
extern const char *const gpreempt_failure_names[GPREEMPT_NR_FAILURES];
extern const char *const gpreempt_latency_names[GPREEMPT_NR_LATENCIES];
extern const char *const gpreempt_verdict_names[];

u64 gpreempt_stats_failures(const struct gpreempt_stats *stats);
u64 gpreempt_stats_quantile_us(const struct gpreempt_histogram *h, unsigned int percent);

void gpreempt_stats_samples(const struct gpreempt_node *gn);
void gpreempt_stats_verdicts(const struct gpreempt_node *gn,
			     const struct gpreempt_decision *decision, u64 now_ns);
void gpreempt_stats_pass(struct gpreempt_node *gn, const struct gpreempt_decision *decision,
			 u64 began_ns, u64 now_ns);
void gpreempt_stats_skip(struct gpreempt_node *gn, struct gpreempt_queue *gq,
			 enum gpreempt_skip reason);
void gpreempt_stats_failure(struct gpreempt_node *gn, const struct gpreempt_queue *gq,
			    enum gpreempt_failure cause, int error);
void gpreempt_stats_runlist(struct gpreempt_node *gn, const struct gpreempt_request *request);
void gpreempt_stats_preempting(const struct gpreempt_queue *gq);
void gpreempt_stats_preempted(struct gpreempt_queue *gq, u64 now_ns);
void gpreempt_stats_resumed(struct gpreempt_queue *gq, u64 now_ns);
void gpreempt_stats_running(struct gpreempt_node *gn, u64 now_ns);
void gpreempt_stats_hint(const struct gpreempt_queue *gq, bool came);
void gpreempt_stats_state(struct gpreempt_node *gn);
void gpreempt_stats_armed(const struct gpreempt_process *process, bool late);
void gpreempt_stats_doorbell(const struct gpreempt_process *process);
void gpreempt_stats_immovable(struct gpreempt_node *gn, const struct gpreempt_decision *decision);
void gpreempt_stats_init_queue(struct gpreempt_queue *gq);
u64 gpreempt_stats_preempted_ns(const struct gpreempt_queue *gq);
void gpreempt_stats_begin(struct gpreempt_node *gn);
void gpreempt_stats_observing(struct gpreempt_node *gn, bool observes);
u64 gpreempt_stats_observed_ns(const struct gpreempt_node *gn);
void gpreempt_stats_observed(struct gpreempt_node *gn, const struct gpreempt_decision *decision,
			     u64 now_ns);

#endif /* GPREEMPT_STATS_H */
