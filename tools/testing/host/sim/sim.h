/* SPDX-License-Identifier: MIT */
/*
 * sim.h - a discrete-event simulator around policy.c: nodes with thousands of queues, days of virtual time
 *
 * The policy is the object that the driver has. Around it is what surrounds it there: a monitor that samples, decides and acts, a device with a
 * runlist, and programs that submit. Time jumps from event to event, so what nobody does costs nothing.
 *
 * The device has @slots for waves. A kernel takes some of them for its length; a queue runs one kernel at a time, and queues are served in the order
 * in which they became ready, or by turns. A change of the runlist takes all waves off and brings back those of the queues that stay (HWS): both move
 * the bytes of the occupied part. What is not modelled: queues beyond the hardware's slots for them, VMIDs, caches, memory bandwidth between kernels, the time
 * that the monitor itself takes.
 *
 * Nodes share nothing but what they tell each other of jobs, as in the driver. sim_run() is one node; sim_run_nodes() several, with the jobs on them.
 */
#ifndef HOST_SIM_H
#define HOST_SIM_H

#include <stdbool.h>
#include <stdio.h>

#include "policy.h"

#define US	1000ULL
#define MS	1000000ULL
#define SEC	1000000000ULL
#define HOUR	(3600 * SEC)
#define DAY	(24 * HOUR)

/* Priorities: nice 10, and unmodified */
#define LOW	(-3)
#define HIGH	7

#define NR_CLASSES_MAX	24
#define NR_NODES_MAX	8	/* of sim_test.c; there may be GPREEMPT_NEWS_NODES */
#define NR_JOBS_MAX	4
#define NR_GROUPS_MAX	24

/**
 * struct sim_device - the time model
 * @slots: units of the device that kernels take, 100: in percent
 * @runlist_ns: firmware takes in a runlist
 * @trap_ns: entry and exit of the trap handler
 * @full_save_ns: a full device is saved, or restored
 * @grace_ns: so long the firmware waits for waves to end by themselves before it saves them
 * @says_connect_ns: what its stamps say that connecting a queue takes; 0: it has none
 * @says_restore_ns: the same of bringing waves back
 * @by_turns: free slots go to the queue that has been without them for longest, not to the one that
 *	became ready first; so those that a runlist brings back do not always come in the same order
 * @fills: a queue that fits runs beside those that do not fit and wait before it
 * @splits: a kernel that does not fit begins with the slots that are free, is so much slower, and
 *	gets more as they become free
 * @moves_past_barriers: the read pointer moves when a barrier is met, not when the kernel behind it
 *	has slots
 * @runlists_tell: what a runlist saves tells who has waves, also one that changes nothing
 * @no_counters: with that: nothing else does
 * @counters_lag_ns: waves are counted so long after they began
 */
struct sim_device {
	u32 slots;
	u64 runlist_ns;
	u64 trap_ns;
	u64 full_save_ns;
	u64 grace_ns;
	u64 says_connect_ns;
	u64 says_restore_ns;
	bool by_turns;
	bool fills;
	bool splits;
	bool moves_past_barriers;
	bool runlists_tell;
	bool no_counters;
	u64 counters_lag_ns;
};

/* An MI300X whose memory has 80 % of its peak bandwidth; the other two as the virtual GPU has them. */
extern const struct sim_device sim_mi300x;

/**
 * enum sim_arrivals - when requests come
 * @CONTINUOUS: two are always there
 * @POISSON: independently of each other
 * @PERIODIC: with a random phase
 * @LOGNORMAL: times between them are log-normal with a sigma of 2: bursts and long gaps
 */
enum sim_arrivals { CONTINUOUS, POISSON, PERIODIC, LOGNORMAL };

/**
 * struct sim_class - queues that do the same
 * @name: as in tables
 * @nr_queues: each has a process of its own
 * @priority: logical priority
 * @arrivals: of requests
 * @period_ns: mean time between the requests of a queue
 * @kernels: in a request
 * @kernel_ns: mean length of a kernel
 * @exponential: lengths are exponentially distributed; otherwise all are the same
 * @units: slots that a kernel takes
 * @rounds: a kernel leaves its slots to whoever is next so often, as one with more workgroups than fit
 *	does; 0: once, when it ends
 * @save_ns: so long its waves are saved, and restored; 0: as long as its units take
 * @barrier_ns: its packets stand at a barrier that is met so long after the last kernel's end,
 *	wherever the queue is meanwhile; 0: there is none
 * @needs: a request begins when the first queue of the class with this number, from 1 on, has done
 *	@needs_kernels more; 0: it needs nobody
 * @needs_kernels: see @needs
 * @declares: its processes say that they wait for that of the queue that they need
 * @gap_ns: the host submits the next kernel so long after the end of the one before; 0: all at once
 * @gap_most_ns: it takes any time from @gap_ns to this; 0: always the same
 * @apart_ns: with CONTINUOUS: each queue begins so long after the one before
 * @collective: a kernel ends when those of the same class on all nodes are done: until then it keeps its slots, as kernels do that poll each other's
 *	memory. Requests come to all nodes at once.
 * @job: its processes belong to this job; 0: to none
 * @stay: the job does not leave other nodes
 * @group: its processes are in this group, by place in &sim_config.groups; 0: in none
 * @weight: of its processes, for wfq; 0: by priority
 * @deadline_ns: of its work, for edf; 0: none. A request that takes longer is late.
 * @runtime_ns: device time that is reserved in each @deadline_ns, for edf; 0: none
 */
struct sim_class {
	const char *name;
	u32 nr_queues;
	s32 priority;
	enum sim_arrivals arrivals;
	u64 period_ns;
	u32 kernels;
	u64 kernel_ns;
	bool exponential;
	u32 units;
	u32 rounds;
	u64 save_ns;
	u64 barrier_ns;
	u32 needs;
	u32 needs_kernels;
	bool declares;
	u64 gap_ns;
	u64 gap_most_ns;
	u64 apart_ns;
	bool collective;
	u32 job;
	bool stay;
	u16 group;
	u32 weight;
	u64 deadline_ns;
	u64 runtime_ns;
};

/**
 * struct sim_group - a group with a share; of policy.h, but for the first one, which is not used
 * @parent: by place
 * @weight: 0 ends the list, but for the first one
 * @min_pct: see &struct gpreempt_policy_entity
 * @quota_ns: likewise
 * @period_ns: likewise
 * @remade_ns: the group and its processes are made anew so often; 0: never
 */
struct sim_group {
	u16 parent;
	u32 weight;
	u32 min_pct;
	u64 quota_ns;
	u64 period_ns;
	u64 remade_ns;
};

/**
 * struct sim_config - what is simulated
 * @device: the time model
 * @classes: of queues; @nr_queues of 0 ends the list
 * @groups: with shares; from the second one on
 * @params: tunables
 * @policy: by name; NULL: nobody schedules
 * @doorbells: the monitor is told of the first work of a process that was idle, and looks for none
 *	of those
 * @duration_ns: so long
 * @seed: of everything random
 * @own_chance: each queue draws from streams of its own: the load is the same whatever is decided
 */
struct sim_config {
	struct sim_device device;
	struct sim_class classes[NR_CLASSES_MAX];
	struct sim_group groups[NR_GROUPS_MAX];
	struct gpreempt_policy_params params;
	const char *policy;
	bool doorbells;
	u64 duration_ns;
	u64 seed;
	bool own_chance;
};

/* Times, in buckets of 1/32 of a power of two. */
#define SIM_BUCKETS	(64 * 32)

struct sim_times {
	u32 buckets[SIM_BUCKETS];
	u64 count;
	u64 max_ns;
};

/**
 * struct sim_class_result - what became of a class
 * @latency: of requests, from submission to the end of the last kernel
 * @nr_requests: that ended
 * @nr_submitted: kernels submitted
 * @nr_done: kernels that ended
 * @work: unit nanoseconds that these took
 * @preempted_ns_max: the longest time that a queue was preempted with work
 * @ran_ns_min: the least time that one of the queues had its slots
 * @served: unit nanoseconds for which its queues had their slots, of whole kernels or not
 * @unserved_ns_max: the longest time for which a queue had work, at no barrier, and not its slots
 * @starved_ns_max: the longest such time after higher work had come
 * @unserved_ns: for how long its queues had so in all
 * @nr_begun: how often one of them that had none got work
 * @nr_late: requests that took longer than the deadline
 * @missed: deadlines that the policy says were missed
 * @nr_refused: of its queues, those whose processes did not get their runtime
 */
struct sim_class_result {
	struct sim_times latency;
	u64 nr_requests;
	u64 nr_submitted;
	u64 nr_done;
	u64 work;
	u64 preempted_ns_max;
	u64 ran_ns_min;
	u64 served;
	u64 unserved_ns_max;
	u64 starved_ns_max;
	u64 unserved_ns;
	u64 nr_begun;
	u64 nr_late;
	u64 missed;
	u64 nr_refused;
};

/**
 * enum sim_idle - why the device has nothing to run, of the highest queue with work
 * @IDLE_LOOK: it yields still: no look has seen that those above it have ended
 * @IDLE_RETURN: its return waits for a gap to end, or for the budget
 * @IDLE_TURN: it is the turn of another group or process
 * @IDLE_MAXIMUM: its group has used its maximum
 * @IDLE_ON: it is on the device, and does not run there
 * @IDLE_OTHER: any other verdict
 */
enum sim_idle { IDLE_LOOK, IDLE_RETURN, IDLE_TURN, IDLE_MAXIMUM, IDLE_ON, IDLE_OTHER, NR_IDLE };

/**
 * struct sim_result - what came of it
 * @classes: as in the configuration
 * @noticed: from the moment at which a lower kernel was in the way of higher work to the decision
 * @nr_events: events, which are what simulating costs
 * @nr_passes: of the monitor: its wake-ups
 * @nr_skipped_passes: of these, which looked at nothing at all and were only counted
 * @nr_asked: passes that asked for waves in flight
 * @nr_acting: runlists sent; of a node that only observes, here and below: that would be
 * @nr_told: times that a doorbell woke the monitor
 * @nr_preempted: queues taken off the device
 * @nr_resumed: queues given back to it
 * @nr_reliefs: given
 * @nr_sampled: queues looked at, over all passes
 * @overhead_ns: the device ran nothing because of a change of the runlist
 * @budgeted_ns: of that, what counts against the budget: no turn of relief, and without
 *	gpreempt_overhead_pct nothing of the highest class
 * @idle_ns: the device ran nothing though a queue had work, and no runlist was being changed
 * @idle_ns_max: the longest time of that at once
 * @idle_by_ns: the same, by reason
 * @parked: the monitor ended parked
 * @sum: over everything that happened, in order: equal if the runs were
 * @wrong: the first thing that must not be; empty: nothing
 */
struct sim_result {
	struct sim_class_result classes[NR_CLASSES_MAX];
	struct sim_times noticed;
	u64 nr_events;
	u64 nr_passes;
	u64 nr_skipped_passes;
	u64 nr_asked;
	u64 nr_acting;
	u64 nr_told;
	u64 nr_preempted;
	u64 nr_resumed;
	u64 nr_reliefs;
	u64 nr_sampled;
	u64 overhead_ns;
	u64 budgeted_ns;
	u64 idle_ns;
	u64 idle_ns_max;
	u64 idle_by_ns[NR_IDLE];
	bool parked;
	u64 sum;
	char wrong[160];
};

/* Requests of 20 kernels of 100 us, 100 times a second, so a fifth of the device; and what is trained in the rest. */
extern const struct sim_class sim_inference, sim_training;
/* Decoding of a language model: 100 kernels of 200 us, for each of which the host takes 50 to 200 us, four times a second. */
extern const struct sim_class sim_decode;

/* How many basic blocks of the policy have run */
extern u64 sim_steps;

/* Defaults as documented in tunables.rst. */
void sim_defaults(struct sim_config *config);
void sim_run(const struct sim_config *config, struct sim_result *result);
/* Several nodes with one clock; @skew, which may be NULL: from the first to the last node that preempts, where all do. */
void sim_run_nodes(const struct sim_config *configs, struct sim_result *results, u32 nr, struct sim_times *skew);
u64 sim_quantile_ns(const struct sim_times *times, double quantile);

/* What tests may look at after each pass; NULL: nobody does. */
extern void (*sim_passed)(const struct gpreempt_policy_node *pn, u64 now_ns);

/* A queue of this class had its slots for this time; NULL: it is not asked for. */
extern void (*sim_ran)(u32 class, u64 from_ns, u64 to_ns);

#endif /* HOST_SIM_H */
