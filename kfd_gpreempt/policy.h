/* SPDX-License-Identifier: MIT */
/*
 * policy.h - who runs and who yields: samples in, actions and the next wake-up out
 *
 * Pure functions over the structures below: no locks, no clock, no allocation, no kernel headers beyond types. The same object code
 * runs in amdgpu.ko, in the tests and in simulations. The caller serialises all calls for one node.
 *
 * A pass of the caller:
 *
 *	gpreempt_policy_sample() for each queue
 *	gpreempt_policy_disturbed() if the driver may have changed the runlist by itself
 *	if (gpreempt_policy_needs_waves())
 *		gpreempt_policy_set_waves() for each mapped queue
 *	gpreempt_policy_decide()
 *	carry out each queue's ->action in one hardware pass, and confirm it with
 *	gpreempt_policy_preempted() or gpreempt_policy_resumed()
 */
#ifndef GPREEMPT_POLICY_H
#define GPREEMPT_POLICY_H

#include <linux/types.h>

#define GPREEMPT_PRIORITY_MIN		(-1023)
#define GPREEMPT_PRIORITY_MAX		1023
/* What a queue with work counts as while it is in relief: above everybody, so that it really runs. */
#define GPREEMPT_PRIORITY_RELIEF	(GPREEMPT_PRIORITY_MAX + 1)
/* KFD_PRIORITY NORMAL: every ROCr compute queue is born with it. */
#define GPREEMPT_PRIORITY_NORMAL	7

/* Queues that had work this long ago still make a node contended. */
#define GPREEMPT_CONTENDED_NS		1000000000ULL
/*
 * "No waves" is believed beyond the pass only when it is read again this much later: a runlist takes waves off and brings them back behind
 * our back, in tens of microseconds for a full device.
 */
#define GPREEMPT_WAVES_SETTLE_NS	1000000ULL
/* After a runlist of our own, for so long, a queue that shows no waves may still be about to get them back. */
#define GPREEMPT_WAVES_RESTORE_NS	500000ULL
/* Whether an empty ring still has waves does not stay unknown for longer, even while no decision depends on it. */
#define GPREEMPT_WAVES_UNKNOWN_NS	100000000ULL

/**
 * enum gpreempt_action - what a decision asks for
 * @GPREEMPT_KEEP: leave the queue as it is
 * @GPREEMPT_PREEMPT: take it off the device
 * @GPREEMPT_RESUME: give it back to the device
 */
enum gpreempt_action {
	GPREEMPT_KEEP,
	GPREEMPT_PREEMPT,
	GPREEMPT_RESUME,
};

/**
 * struct gpreempt_policy_process - a process on one node, as the policy sees it
 * @demand_at_level: scratch: owns a demanding queue at the level
 * @own_top_valid: scratch: @own_top is set
 * @own_top: scratch: highest own_priority of its explicit queues that demand at the level
 * @spread_valid: scratch: @own_min and @own_max are set
 * @own_min: scratch: lowest own_priority of its explicit queues
 * @own_max: scratch: highest own_priority of its explicit queues
 * @counted: scratch: seen by the running count of processes
 *
 * The caller provides the storage and leaves the content alone.
 */
struct gpreempt_policy_process {
	bool demand_at_level;
	bool own_top_valid;
	s32 own_top;
	bool spread_valid;
	s32 own_min;
	s32 own_max;
	bool counted;
};

/**
 * struct gpreempt_policy_queue - a compute queue, as the policy sees it
 * @process: owner; queues with the same owner belong to the same process. Set by the caller.
 * @priority: logical priority against other processes. Set by the caller.
 * @own_priority: logical priority against queues of the same process. Set by the caller.
 * @explicit_priority: somebody asked for this priority, it is not the one the queue was born with. Set by the caller.
 * @immovable: the driver does not allow to preempt it now. Set by the caller.
 *
 * @preempted: off the device, by gpreempt_policy_preempted()
 * @saved_waves: it was taken in the middle of a kernel (control stack in use)
 * @pending: packets (AQL) or dwords (PM4) between rptr and wptr
 * @rptr: last sampled read pointer
 * @wptr: last sampled write pointer
 * @waves: waves in flight at @waves_ns
 * @waves_ns: when @waves was read; 0: never since @moved_ns
 * @zero_ns: when @waves was first read as 0 and has been 0 since; 0: it is not 0
 * @moved_ns: when what was known of its waves became void: @rptr moved, or the queue was preempted or resumed
 * @disturbed_ns: when a runlist last took its waves off the device or left them to be restored; 0: never
 * @stalled_ns: since when @rptr has not moved while the queue had the device and packets; 0: not stalled
 * @used: it has had packets; before that it has no waves, without asking
 * @blocked: stalled for long without waves: waits for something else than the device
 * @active_ns: when it last had work; 0: never
 * @held_ns: when it was preempted, while @preempted
 * @starved_ns: since when it has been held and had work, while @preempted
 * @relief_until_ns: until when it may not be preempted; 0: no relief
 * @in_the_way: result of the last decision: has work on the device and would have to yield if it were not @immovable
 * @action: result of the last decision
 *
 * All times are in nanoseconds of the caller's clock. Members after @immovable belong to the policy; reading them is fine.
 */
struct gpreempt_policy_queue {
	struct gpreempt_policy_process *process;
	s32 priority;
	s32 own_priority;
	bool explicit_priority;
	bool immovable;

	bool preempted;
	bool saved_waves;
	bool used;
	bool blocked;
	bool in_the_way;
	enum gpreempt_action action;
	u64 pending;
	u64 rptr;
	u64 wptr;
	u32 waves;
	u64 waves_ns;
	u64 zero_ns;
	u64 moved_ns;
	u64 disturbed_ns;
	u64 stalled_ns;
	u64 active_ns;
	u64 held_ns;
	u64 starved_ns;
	u64 relief_until_ns;
};

/**
 * struct gpreempt_policy_params - tunables of a pass
 * @interval_ns: time between passes while nothing is contended
 * @poll_ns: time between passes while contended; 0: @interval_ns rules alone
 * @max_hold_ns: a queue with work that has been held this long gets relief; 0: never
 * @relief_ns: length of a relief
 * @blocked_ns: a stall this long makes a queue blocked, once GPREEMPT_WAVES_SETTLE_NS more have shown no waves; 0: never
 * @waves_known: the device can tell waves in flight
 */
struct gpreempt_policy_params {
	u64 interval_ns;
	u64 poll_ns;
	u64 max_hold_ns;
	u64 relief_ns;
	u64 blocked_ns;
	bool waves_known;
};

/**
 * struct gpreempt_decision - result of a pass
 * @nr_preempt: queues with GPREEMPT_PREEMPT
 * @nr_resume: queues with GPREEMPT_RESUME
 * @nr_relief: queues that were given relief by this decision
 * @inversion: a lower queue held the device while a higher one had work
 * @level_valid: some queue has work, @level is set
 * @level: the highest priority with work; GPREEMPT_PRIORITY_RELIEF while a queue is in relief
 * @park: no queue could outrank another, none is preempted: no further pass is needed until the set of queues or a
 *	priority changes
 * @contended: a lower and a higher queue have both had work within GPREEMPT_CONTENDED_NS
 * @next_ns: time until the next pass, unless @park
 */
struct gpreempt_decision {
	u32 nr_preempt;
	u32 nr_resume;
	u32 nr_relief;
	bool inversion;
	bool level_valid;
	s32 level;
	bool park;
	bool contended;
	u64 next_ns;
};

void gpreempt_policy_priority(u32 kfd_priority, int nice, bool trusted, struct gpreempt_policy_queue *q);
void gpreempt_policy_sample(struct gpreempt_policy_queue *q, u64 rptr, u64 wptr, u64 pending, u64 now_ns);
void gpreempt_policy_disturbed(struct gpreempt_policy_queue *const *queues, u32 nr, u64 now_ns);
bool gpreempt_policy_needs_waves(struct gpreempt_policy_queue *const *queues, u32 nr,
				 const struct gpreempt_policy_params *params, u64 now_ns);
void gpreempt_policy_set_waves(struct gpreempt_policy_queue *q, u32 waves, u64 now_ns);
void gpreempt_policy_decide(struct gpreempt_policy_queue *const *queues, u32 nr,
			    const struct gpreempt_policy_params *params, u64 now_ns, struct gpreempt_decision *decision);
void gpreempt_policy_resume_all(struct gpreempt_policy_queue *const *queues, u32 nr,
				struct gpreempt_decision *decision);
void gpreempt_policy_preempted(struct gpreempt_policy_queue *q, bool saved_waves, u64 now_ns);
void gpreempt_policy_resumed(struct gpreempt_policy_queue *q, u64 now_ns);

#endif /* GPREEMPT_POLICY_H */
