/* SPDX-License-Identifier: MIT */
/*
 * policy_node.h - one node: its queues, a clock, and the caller that policy.h asks for
 *
 * A queue here is what the policy knows of it (->policy) and what is true on the device (rptr, wptr, waves). Tests move
 * the truth by hand with submit(), launch() and finish(), the simulation moves it by itself; pass() is the monitor's
 * pass for both. After those are the beginnings of most stories, and what they ask after a pass.
 *
 * In the files named *_test.c each test is a short story on this node: queues are made, programs and the device do
 * something, passes follow, and somebody runs or does not. Documentation/design.rst is the specification.
 */
#ifndef HOST_NODE_H
#define HOST_NODE_H

#include "policy.h"

#define US	1000ULL
#define MS	1000000ULL
#define SEC	1000000000ULL

#define NR_QUEUES_MAX	64
#define NR_GROUPS_MAX	8

/* Two levels that most tests need: nice 10, and unmodified. */
#define LOW		(-3)
#define MIDDLE		2
#define HIGH		GPREEMPT_PRIORITY_NORMAL

/* How often most tests let the monitor look */
#define POLL		(200 * US)

struct process {
	struct gpreempt_policy_process policy;
};

/**
 * struct queue - a queue as it is, and as the policy sees it
 * @policy: what the policy sees
 * @process: owner
 * @rptr: packets launched
 * @wptr: packets submitted
 * @waves: waves of launched packets, in flight or saved
 * @invisible: the device does not show the waves, as while a runlist change is carried out
 * @preempted: how often it was
 */
struct queue {
	struct gpreempt_policy_queue policy;
	struct process *process;
	u64 rptr;
	u64 wptr;
	u32 waves;
	bool invisible;
	u32 preempted;
};

/**
 * struct node - the node under test; there is one
 * @policy: what the policy knows of it; pass() hands over the rest
 * @use: the policy that shall decide from the next pass on; NULL: as before
 * @pass_takes_ns: what a hardware pass takes, for the overhead budget; the clock does not move
 * @params: tunables; tap_reset() sets the defaults of Documentation/tunables.rst
 * @device: what the device can do, but for @turns_ns
 * @now_ns: clock
 * @decision: of the last pass
 * @stack_kept: the control stack of each queue that was ever used says that waves were saved
 * @zero_waves: the counters of waves read 0, whatever runs
 * @untold: no backend asks a runlist whether waves wait for slots
 * @turns_ns: firmware takes turns: so long it may take until it has come to each queue; 0: it does not
 * @nr_runlists: that were sent in order to know who has waves
 * @silent: waves in flight cannot be read, as while the driver changes the runlist all the time
 * @runlist_changed: the driver changes the runlist before the next pass
 * @order: of the last pass: a sum over queues and priorities
 * @kicks: of the last pass: a sum over what else is set for queues, and tunables
 * @all_due_ns: when all queues are looked at again
 * @nr_awake: so many of them are looked at before; the others follow, and are dormant
 * @nr_spared: looks that queues were spared
 * @accounts: passes also look for the account of device time
 * @told_ns: a doorbell told at this time of work that the next pass takes in; 0: none did
 * @asked: the last pass asked for waves in flight
 * @nr_asked: passes that did
 * @nr_acting: passes that preempted or resumed
 * @nr_passes: all passes
 * @nr_preempted: queues preempted
 * @nr_relief: reliefs given
 * @nr_would_preempt: while observing: queues that would have been preempted
 * @nr_would_resume: likewise: resumed
 * @nr_would_act: likewise: passes that would have done either
 * @nr_requests: likewise: work beside which such a queue ran
 * @nr_groups: that new_group() has made, with the root group
 * @entities: their own
 */
struct node {
	struct gpreempt_policy_node policy;
	const struct gpreempt_policy_ops *use;
	u64 pass_takes_ns;
	struct gpreempt_policy_params params;
	struct gpreempt_policy_device device;
	u64 now_ns;
	struct gpreempt_decision decision;
	bool stack_kept;
	bool zero_waves;
	bool untold;
	u64 turns_ns;
	u32 nr_runlists;
	bool silent;
	bool runlist_changed;
	u64 order;
	u64 kicks;
	u64 all_due_ns;
	u32 nr_awake;
	u64 nr_spared;
	bool accounts;
	u64 told_ns;
	bool asked;
	u32 nr_asked;
	u32 nr_acting;
	u32 nr_passes;
	u32 nr_preempted;
	u32 nr_relief;
	u32 nr_would_preempt;
	u32 nr_would_resume;
	u32 nr_would_act;
	u32 nr_requests;

	u32 nr_groups;
	struct gpreempt_policy_entity entities[2 * NR_GROUPS_MAX];
	u32 nr_processes;
	struct process processes[NR_QUEUES_MAX];
	u32 nr_created;
	struct queue queues[NR_QUEUES_MAX];
	u32 nr_queues;
	struct gpreempt_policy_queue *policies[NR_QUEUES_MAX];
};

extern struct node node;

/* The processes that most tests are about, with a queue each */
extern struct queue *low, *middle, *high;

struct process *new_process(void);
struct queue *new_queue(struct process *process, s32 priority);
struct gpreempt_policy_entity *new_group(u16 parent, u32 weight);
void remake_group(u32 number);
struct queue *new_queue_in(u16 group, s32 priority);
struct queue *new_explicit_queue(struct process *process, s32 priority);

/* What programs and the device do. */
void submit(struct queue *q, u32 packets);
void launch(struct queue *q, u32 packets, u32 waves);
void finish(struct queue *q);
void drain(struct queue *q);
void drain_and_settle(struct queue *q);
void finish_saved(struct queue *q);
void start_hog(struct queue *q);
void begin_kernel(struct queue *q);
bool ends_with_this_look(struct queue *q, u64 *left_ns);
void last_kernel(struct queue *q);
void past_kernel(struct queue *q);

/* What the monitor does: look() decides, act() carries out, pass() is both. */
void look(void);
void act(void);
void pass(void);
void pass_after(u64 ns);
void passes_for(u64 ns, u64 every_ns);
u64 time_until(const struct queue *q, bool there, u64 at_most_ns);
u64 owed_ns(void);
void drop_queue(struct queue *q);
void other_numbers(void);
u32 nr_policies(void);
const struct gpreempt_policy_ops *policy_named(const char *name);
void use(const char *name);

/* How most tests begin. */
void two_processes(void);
void three_processes(void);
/* A hardware pass for @q took so long. */
void spend(struct queue *q, u64 ns);
/* What the budget of the lowest priority that spends has to get back */
u64 spent_ns(void);
void low_works(void);
void start_both(void);
void both_work(void);
void low_is_preempted(void);
void hog_preempts_low(void);
void high_is_held(void);
struct queue *idle_beside_deadlines(void);
struct queue *idle_goes_along_by_deadline(void);

/* A pass after @ns, or passes for so long, as often as that or every POLL: then it must hold. */
#define CHECK_AFTER(ns, condition)						\
	do {									\
		pass_after(ns);							\
		CHECK(condition);						\
	} while (0)
#define CHECK_EQ_AFTER(ns, left, right)						\
	do {									\
		pass_after(ns);							\
		CHECK_EQ(left, right);						\
	} while (0)
#define CHECK_LATER_EVERY(ns, every_ns, condition)				\
	do {									\
		passes_for(ns, every_ns);					\
		CHECK(condition);						\
	} while (0)
#define CHECK_EQ_LATER_EVERY(ns, every_ns, left, right)				\
	do {									\
		passes_for(ns, every_ns);					\
		CHECK_EQ(left, right);						\
	} while (0)
#define CHECK_LATER(ns, condition)		CHECK_LATER_EVERY(ns, POLL, condition)
#define CHECK_EQ_LATER(ns, left, right)		CHECK_EQ_LATER_EVERY(ns, POLL, left, right)

static inline u64 pending(const struct queue *q)
{
	return q->wptr - q->rptr;
}

static inline bool on_device(const struct queue *q)
{
	return !q->policy.preempted;
}

static inline bool has_work(const struct queue *q)
{
	return pending(q) || q->waves;
}

#endif /* HOST_NODE_H */
