/* SPDX-License-Identifier: MIT */
/* monitor.h - the thread of a node */
#ifndef GPREEMPT_MONITOR_H
#define GPREEMPT_MONITOR_H

#include <linux/types.h>
#include "policy.h"

struct gpreempt_node;
struct gpreempt_queue;
struct gpreempt_process;
struct task_struct;

/* What is shown for a level while no queue has work. */
#define GPREEMPT_LEVEL_NONE	(GPREEMPT_PRIORITY_MIN - 1)

/* Slack of a sleep: its last 16th, but no more than this */
#define GPREEMPT_SLACK_MAX_NS	50000ULL

/**
 * enum gpreempt_state - what the monitor of a node does, as shown in sysfs
 * @GPREEMPT_STATE_PARKED: sleeps until something changes: no queue could outrank another
 * @GPREEMPT_STATE_IDLE: looks every gpreempt_interval_ms
 * @GPREEMPT_STATE_POLLING: looks every gpreempt_poll_us
 * @GPREEMPT_STATE_ARMED: sleeps until a doorbell is written: every process that could outrank
 *	another is idle, and armed
 * @GPREEMPT_STATE_FAILED: gave up; everything that could be resumed is. A reset of the GPU
 *	or switching off and on ends it.
 */
enum gpreempt_state {
	GPREEMPT_STATE_PARKED,
	GPREEMPT_STATE_IDLE,
	GPREEMPT_STATE_POLLING,
	GPREEMPT_STATE_ARMED,
	GPREEMPT_STATE_FAILED,
};

/**
 * struct gpreempt_watch - what is read of a dormant queue: two words that do not move while it has
 * nothing to do
 * @rptr: low word of its read pointer
 * @wptr: low word of its write pointer
 * @seen_rptr: what was last there
 * @seen_wptr: what was last there
 *
 * That a pointer moves by a multiple of 2^32 between two passes is not possible.
 */
struct gpreempt_watch {
	const u32 *rptr;
	const u32 *wptr;
	u32 seen_rptr;
	u32 seen_wptr;
};

/* What monitor.c keeps of a node, and writes alone. */
struct gpreempt_node_monitor {
	/** @task: the thread that runs gpreempt_monitor(); NULL: none, or it is about to end */
	struct task_struct *task;
	/**
	 * @begun: number of the last look that takes in what was asked for; written by the monitor
	 */
	u32 begun;
	/**
	 * @ended: number of the last one that has been carried out as well; written by the monitor
	 */
	u32 ended;
	/** @quiescent: of this pass: dqm_lock is held, so that the runlist stays as it is */
	bool quiescent;
	/** @looked_ns: when the last look began; the monitor's alone */
	u64 looked_ns;
	/** @begins_ns: when the last look began because a job begins elsewhere; the monitor's */
	u64 begins_ns;
	/** @hurries: this look is made at once, and takes all changes in; the monitor's alone */
	bool hurries;
	/** @paid_ns: all looks so far are within their limits at that time; the monitor's alone */
	u64 paid_ns;
	/** @derive_due_ns: when changes are taken in again; the monitor's alone */
	u64 derive_due_ns;
	/** @derive_took_ns: what the last pass that derived priorities took; likewise */
	u64 derive_took_ns;
	/** @waits_ns: since when the driver waits for a fence; 0: it did not; the monitor's */
	u64 waits_ns;
	/** @placed_ns: when it was last looked where it may run; 0: not yet; the monitor's alone */
	u64 placed_ns;
	/** @is_near: there was a CPU of the device's NUMA node then; the monitor's alone */
	bool is_near;
	/** @state: what the monitor does; written by it */
	enum gpreempt_state state;
	/**
	 * @sampled: the monitor's array of queues: those that are looked at in each pass, then
	 * those that are dormant
	 */
	struct gpreempt_policy_queue **sampled;
	/** @watches: what is read of those that are dormant; same places as in @sampled */
	struct gpreempt_watch *watches;
	/** @nr_sampled: how many are looked at in this pass */
	u32 nr_sampled;
	/** @nr_dormant: how many are dormant */
	u32 nr_dormant;
	/** @max_sampled: how many fit */
	u32 max_sampled;
	/** @all_due_ns: when all of them are looked at again, and the arrays are made anew */
	u64 all_due_ns;
	/** @derived_ns: when priorities were derived last; 0: they have to be */
	u64 derived_ns;
	/**
	 * @hinted: a queue may have announced work of which it is not known yet whether it came;
	 * the monitor's alone
	 */
	bool hinted;
	/**
	 * @within_ns: priorities are derived again within this time; U64_MAX: within the interval.
	 * The monitor's alone
	 */
	u64 within_ns;
	/**
	 * @again: the backend left something unfinished: the next pass calls it, even without an
	 * action
	 */
	bool again;
	/**
	 * @reprioritize: MQDs may have another priority than they should: the next pass calls the
	 * backend for that alone
	 */
	bool reprioritize;
	/** @observes: the last pass found that the node only observes, and has taken back */
	bool observes;
	/** @errors: failed passes in a row */
	u32 errors;
	/** @failed_ns: when the last of them failed */
	u64 failed_ns;
	/** @parks: the last decision parks it, unless idle processes may leave; the monitor's */
	bool parks;
	/** @failed: the node was given up: layers are told after the pass */
	bool failed;
	/** @level: of the last decision; GPREEMPT_LEVEL_NONE: no queue had work */
	s32 level;
	/**
	 * @doorbell_ns: the &gpreempt_node.doorbell_ns that this pass takes in; 0: none. The
	 *	monitor's alone, as @surveys
	 */
	u64 doorbell_ns;
	/**
	 * @clear_ns: beginning of the last pass that found no inversion, or when the monitor was
	 * woken from parking
	 */
	u64 clear_ns;
	/**
	 * @arming_ns: what it took after the last look to see who may be armed, and for how long to
	 * sleep; the monitor's alone. It counts as a part of the next look.
	 */
	u64 arming_ns;
	/** @decided_ns: when what is being carried out was decided */
	u64 decided_ns;
};

void gpreempt_monitor_derive_within(struct gpreempt_node *gn, u64 ns);
void gpreempt_monitor_last_pass(struct gpreempt_node *gn);
int gpreempt_monitor(void *data);
void gpreempt_monitor_begin(struct gpreempt_node *gn, bool set_up);
void gpreempt_monitor_free_node(struct gpreempt_node *gn);

#endif /* GPREEMPT_MONITOR_H */
