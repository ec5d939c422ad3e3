/* SPDX-License-Identifier: MIT */
/*
 * policy.h - who runs and who yields: samples in, actions and the next wake-up out
 *
 * Pure functions over the structures below: no locks, no clock, no allocation, no kernel headers
 * beyond types and the ABI's. The same object code runs in amdgpu.ko, in the tests and in
 * simulations. The caller serialises all calls for one node.
 *
 * Around each pass (pass.h) the caller
 *
 * 1. gives gpreempt_demand_driver_off() for each queue that the driver has taken off the device, or
 *    had and has not any more, then gpreempt_demand_sample() for each queue,
 *    gpreempt_share_use() if groups have come, gone or changed, and
 *    gpreempt_demand_runlist_changed() if the driver may have changed the runlist by itself
 * 2. gives gpreempt_policy_cost() with what the pass took
 * 3. carries out the action of each queue in one hardware pass, and confirms each with
 *    gpreempt_policy_preempted() or gpreempt_policy_resumed(); then it gives
 *    gpreempt_policy_overhead() with the time that this took. A runlist takes all queues off for a
 *    moment: gpreempt_demand_mapped() for those with work that stay
 * 4. gives gpreempt_demand_saw() after each runlist, for each queue that stays mapped, and for each
 *    that was preempted without waves
 * 5. asks gpreempt_policy_dormant() for each queue: one that is dormant need not be sampled again
 *    until its pointers move
 *
 * policy.c decides in the order of a pass, and doubt.c asks what it has to know of waves. level.c,
 * turn.c, drain.c and judge.c have the rules that hold for every policy. Which of two queues is the
 * more urgent one is the business of a struct gpreempt_policy_ops; policies.c lists those that
 * exist.
 */
#ifndef GPREEMPT_POLICY_H
#define GPREEMPT_POLICY_H

#include <linux/types.h>

#include "uapi/linux/kfd_gpreempt.h"

/*
 * What a queue with work counts as while it is in relief: above all others, so that it really runs.
 */
#define GPREEMPT_PRIORITY_RELIEF	(GPREEMPT_PRIORITY_MAX + 1)
/* A verdict from here on keeps a queue off the device. */
#define GPREEMPT_VERDICT_OFF		GPREEMPT_VERDICT_YIELDS

/* Queues that had work this long ago still make a node contended. */
#define GPREEMPT_CONTENDED_NS		1000000000ULL
/* Below this a sleep costs more than the pass that it delays. */
#define GPREEMPT_SLEEP_MIN_NS		10000ULL
/*
 * A contended node is looked at every poll_ns, but no more often than every so many times what a
 * look costs: 4 % of a core at most, however many queues there are. Waking up comes on top of that,
 * see Documentation/design.rst.
 */
#define GPREEMPT_LOOK_SHARE		24
/*
 * The same for asking for waves in flight, whose cost is the time that register reads take. It is
 * done while the last kernel of a request runs and others wait for its end: to see that late leaves
 * the device idle, which is worth more than a core.
 */
#define GPREEMPT_ASK_SHARE		4
/*
 * With no queue busy, the next one to come runs at once; only the one after it could need a
 * preemption. A quiet node is looked at after this part of the time for which it has been quiet,
 * and after so many times poll_ns at the latest.
 */
#define GPREEMPT_QUIET_SHARE		16
#define GPREEMPT_QUIET_MAX		10
/*
 * When one side has been quiet for so long that the node is not contended any more, its next work
 * is still seen after this part of its silence: a request after two seconds waits for a millisecond
 * at most. After ten seconds the interval alone rules.
 */
#define GPREEMPT_FADE_SHARE		2000
/*
 * So short a time is brief for work that lasts: it is not worth a switch, and may pass before an
 * end is seen. A gap is short when switching to and fro would take all of it, and when it is brief.
 */
#define GPREEMPT_BRIEF_NS		1000000ULL
/* What is remembered of lengths follows each new one by this part of the difference. */
#define GPREEMPT_FOLLOW_SHARE		8
/*
 * A trial that was in vain is made again after twice as long, up to so long. This is how long
 * something may last that cannot be seen.
 */
#define GPREEMPT_RETRY_MAX_NS		1000000000ULL
/*
 * To leave the device and to come back is a small part of what lasts so many times as long: of a
 * quota, and of the longest turn of a debt.
 */
#define GPREEMPT_SWITCHES		10
/* How long kernels are is known from so many launches on. */
#define GPREEMPT_KERNELS_LEAST		4
/* So late the thread of a node may come: the kernel has other work. */
#define GPREEMPT_LATE_NS		10000000ULL
/*
 * "No waves" is believed beyond the pass only when it is read again this much later: a runlist
 * takes waves off and brings them back behind our back, in tens of microseconds for a full device.
 */
#define GPREEMPT_WAVES_SETTLE_NS	1000000ULL
/*
 * Where counters of waves have been found to lag behind what runs, "no waves" so soon after a
 * launch says nothing about what was launched. Twice what is thought possible.
 */
#define GPREEMPT_WAVES_LAG_NS		200000ULL
/*
 * After a runlist a queue that has not shown waves since may still be about to get them back: for
 * at least so long, and for so many times what the longest of the last passes took, because what
 * was saved comes back in about the same time. The maximum is for a pass that waited for something
 * else, and for a queue that waits for a lower one: that is not found out before.
 */
#define GPREEMPT_WAVES_RESTORE_NS	500000ULL
#define GPREEMPT_PASS_SHARE		4
#define GPREEMPT_WAVES_RESTORE_MAX_NS	5000000ULL
/*
 * Whether an empty ring still has waves does not stay unknown for longer, even while no decision
 * depends on it.
 */
#define GPREEMPT_WAVES_UNKNOWN_NS	100000000ULL
/*
 * So long a process has the device before the next one's turn, with more of them than fit on it:
 * the driver asks for 10 ms in MAP_PROCESS.
 */
#define GPREEMPT_TURN_NS		10000000ULL

/*
 * A blocked queue may have got what it waited for, and wait for slots behind those that were
 * resumed, which shows nowhere. It gets its level back for once, after so many times what it takes
 * to find it blocked, and after twice as long each time that it was in vain. Those below lose 1.6 %
 * of their time at first, and a fifth in the end.
 */
#define GPREEMPT_TRY_SHARE		64

/*
 * Where waves in flight cannot be read, or have never read as anything but none, a queue with an
 * empty ring counts as busy for so long after its last launch: long enough for the host's gap
 * between two kernels and for most kernels, short enough that the end of a request does not cost
 * others much.
 */
#define GPREEMPT_LAUNCHED_NS		2000000ULL
/*
 * Where only runlists tell waves in flight, two of them are so many times the longest of the last
 * passes apart, and GPREEMPT_LAUNCHED_NS: they take an eighth of the device's time at most. That a
 * queue has waves is believed for this part of the time since its last launch: so much longer may
 * others wait after its end.
 */
#define GPREEMPT_RUNLIST_SHARE		16
#define GPREEMPT_SAVED_SHARE		4

/*
 * A queue that was outranked comes back later where those above it had short gaps before: after so
 * many times the longest of the last gaps. So long does a group keep its turn without work. It
 * takes so many of them to begin with that. A long one halves what they count: three waits in a row
 * may be in vain.
 */
#define GPREEMPT_GAP_SHARE		2
#define GPREEMPT_GAPS_LEAST		2
#define GPREEMPT_GAPS_MOST		8
/*
 * A victim is waited for if it has no more packets in its ring than a kernel and the barrier behind
 * it, or if its kernels have been so much shorter than what it is waited for at most. While one is
 * waited for, looks come after a part of that time.
 */
#define GPREEMPT_DRAIN_PACKETS		2
#define GPREEMPT_DRAIN_SHORT_SHARE	2
#define GPREEMPT_DRAIN_LOOK_SHARE	4
/* What a switch costs before one was timed: two passes of 40 us, a full save and its way back */
#define GPREEMPT_SWITCH_NS		320000ULL
/*
 * While a node only observes: after work has piled up, so many times in a row it has to come to no
 * more before it counts as that of a program that waits for its end.
 */
#define GPREEMPT_PILES			16
/*
 * Waiting for a queue in vain counts so much more than not in vain, up to a bound: 2 to the power
 * of that, less 1, preemptions later it is waited for again.
 */
#define GPREEMPT_DRAIN_MISS		2
#define GPREEMPT_DRAIN_MISSES_MAX	8
/*
 * After a wait in vain for any queue there is none for so many times as long: new queues, of which
 * nothing is known, cannot have higher work wait all the time.
 */
#define GPREEMPT_DRAIN_REST_SHARE	32
/*
 * The overhead budget is a share of this long: a burst of preemptions within it is not slowed down.
 */
#define GPREEMPT_OVERHEAD_WINDOW_NS	100000000ULL
/*
 * In percent, where gpreempt_overhead_pct is 0: each priority but the highest has so much of the
 * time for saving and restoring. It is about what the background loses in published measurements
 * of two-level sharing. Leaving other nodes may cost a job as much of its service: a job that
 * leaves eight nodes for one, a hundred times a second, pays 5.
 */
#define GPREEMPT_OVERHEAD_PCT		10
/* So many priorities that spend within the same window have a budget each. */
#define GPREEMPT_BUDGET_BUCKETS		8

/* Ageing lets nothing in for less: switching shall not take more than an eighth of it. */
#define GPREEMPT_RELIEF_TURN_SHARE	8

/* Weights of wfq; what a process of normal priority has. */
#define GPREEMPT_WEIGHT_MIN		1
#define GPREEMPT_WEIGHT_MAX		10000
#define GPREEMPT_WEIGHT_NORMAL		100

/* Rank of a queue in relief: above whatever a policy gives. */
#define GPREEMPT_RANK_RELIEF		((s64)(~0ULL >> 1))
/* Rank of a queue that only waits for its job on another node: below whatever one gives. */
#define GPREEMPT_RANK_SPINS		(-GPREEMPT_RANK_RELIEF - 1)

/*
 * What one node says of a job holds on the others for GPREEMPT_LATE_NS, or for so many of its
 * longest passes, unless it says so again: no node waits longer for one that says nothing more. It
 * says so again when half of the time is over.
 */
#define GPREEMPT_JOB_PASSES		4

/*
 * Shares: so many groups may have one, the root group included. Each has two entities: itself, as
 * a child of the group above it, and the processes that are directly in it.
 */
#define GPREEMPT_GROUPS_MAX		128
#define GPREEMPT_GROUP_ENTITIES		(2 * GPREEMPT_GROUPS_MAX)
/* No entity */
#define GPREEMPT_ENTITY_NONE		0xffff
/*
 * A turn lasts slice_ns, and so many times what the longest of the last passes took: switching
 * shall not take more than a twentieth of it.
 */
#define GPREEMPT_SHARE_TURN_SHARE	20

/*
 * Why a queue is kept off the device other than for its rank: on request, because it is the turn of
 * another group, because its group has used its maximum
 */
#define GPREEMPT_KEPT_HOLD		1
#define GPREEMPT_KEPT_SHARE		2
#define GPREEMPT_KEPT_MAXIMUM		4

/*
 * So many times what is lent is passed on: longer chains of processes that wait for each other are
 * mistakes, and those that go round have an end.
 */
#define GPREEMPT_LEND_LINKS		8

/* A time that never comes */
#define GPREEMPT_FOREVER_NS		(~0ULL)

/**
 * enum gpreempt_action - what a decision asks for
 * @GPREEMPT_KEEP: leave the queue as it is
 * @GPREEMPT_PREEMPT: take it off the device
 * @GPREEMPT_RESUME: give it back to the device
 *
 * While a node only observes, &gpreempt_policy_queue.would has the same words for what would be
 * done.
 */
enum gpreempt_action {
	GPREEMPT_KEEP,
	GPREEMPT_PREEMPT,
	GPREEMPT_RESUME,
};

/**
 * struct gpreempt_policy_gaps - the gaps in work, as far as no switch was worth them
 * @nr: how many short ones there were of late; a long one halves it
 * @longest_ns: how long the longest of the last short ones was; it fades
 */
struct gpreempt_policy_gaps {
	u8 nr;
	u64 longest_ns;
};

/**
 * struct gpreempt_policy_server - the account of one that takes turns; see rules/server.h
 * @vtime_ns: device time that it has had, at GPREEMPT_WEIGHT_NORMAL, over its weight
 * @served_ns: device time that it has had
 * @turn_ns: how much of that in this turn
 * @begun_ns: @served_ns when it last came
 * @burst_ns: what it has had from coming to going, in the mean; 0: not known
 * @idle_at_ns: since when it has been without work; 0: it has some
 * @gaps: those in its work
 * @woke: it has come since the last turn began
 */
struct gpreempt_policy_server {
	u64 vtime_ns;
	u64 served_ns;
	u64 turn_ns;
	u64 begun_ns;
	u64 burst_ns;
	u64 idle_at_ns;
	struct gpreempt_policy_gaps gaps;
	bool woke;
};

/**
 * struct gpreempt_policy_share - what device time is accounted to where processes take turns: a
 * process, a queue with a weight or a deadline of its own, under wfq a tenant as well
 * @server: wfq: its account
 * @weight: its weight in this pass
 * @index: its place in this pass, which decides between equal times
 * @listed: scratch: seen in this pass
 * @wanted: it had demand at the last decision
 * @ran: it had demand and the device since the last decision
 * @turn: it is the one that has the device
 * @wants: scratch: it has work
 * @goes_on: of this pass: wfq: it has the turn, which goes on
 * @part: of this pass: edf: which part of the device it has, in 1 / GPREEMPT_DEBT_ONE; 0: none, as
 *	without a deadline
 * @period_ns: of this pass: edf: how long a period is
 * @end_ns: edf: when its period ends
 * @left_ns: edf: what is left of its part of the period
 * @due_ns: edf: when its work is due, while it has some
 * @next: scratch: edf: the next one with a deadline
 */
struct gpreempt_policy_share {
	struct gpreempt_policy_server server;
	u32 weight;
	u32 index;
	bool listed;
	bool wanted;
	bool ran;
	bool turn;
	bool wants;
	bool goes_on;
	u32 part;
	u64 period_ns;
	u64 end_ns;
	u64 left_ns;
	u64 due_ns;
	struct gpreempt_policy_share *next;
};

/**
 * struct gpreempt_policy_tenant - for whom processes work: a user, or a group to which an
 * administrator gave a share
 * @share: wfq: its account; its weight is the largest of its processes with work
 * @vtime_ns: wfq: the least that one of its own shares with demand has had
 * @least_ns: scratch: the same of this pass
 * @first: scratch: which of its own shares has had least, in this pass
 * @mark: scratch: see &gpreempt_policy_process.level_mark
 * @nr: scratch: how many of its processes and jobs starve, with @mark; edf: how many with a
 *	deadline work
 *
 * However many processes, queues and jobs it makes: it has the turns of one.
 */
struct gpreempt_policy_tenant {
	struct gpreempt_policy_share share;
	u64 vtime_ns;
	u64 least_ns;
	const struct gpreempt_policy_share *first;
	u64 mark;
	u32 nr;
};

/**
 * struct gpreempt_policy_entity - what share.c divides device time among: a group of processes, or
 * the processes that are directly in a group
 * @used: it exists
 * @parent: its parent, by place in &gpreempt_policy_node.entities
 * @weight: its part of what its parent has, against its siblings with work
 * @min_pct: so much of the device's time it has at least while it has work, in percent
 * @quota_ns: so long it may have the device in each period; 0: for as long as its share lets it
 * @period_ns: length of a period
 *
 * @wants: of the last look: it has work at the level
 * @sure: with @wants: that is certain
 * @full: of the last look: it has used its quota of the period
 * @wanted: it had work at @level when a decision was last about that
 * @level: see @wanted
 * @ran: of the last decision: one of its queues has work and the device, or has its turn
 * @turn: of the processes that are directly in a group: it is their turn at @turn_level
 * @turn_level: see @turn
 * @next: scratch: the next one with @wants, by place
 * @share: of the last look: its part of the device's time, in 1 / 2^20
 * @counts: of the last look: its weight, or what its minimum makes of it, in 1 / 256
 * @used_ns: device time that it has had in this period
 * @period_at_ns: when the period began
 * @server: its account; its weight is what it counts
 * @gone_ns: virtual time of the furthest child that went: new ones begin there, unless all are
 *	further; 0: none went
 * @tenant: of the processes that are directly in a group, but for the root: what they are
 *
 * The caller provides the storage, zeroed, and writes what is before @wants.
 */
struct gpreempt_policy_entity {
	bool used;
	u16 parent;
	u32 weight;
	u32 min_pct;
	u64 quota_ns;
	u64 period_ns;

	bool wants;
	bool sure;
	bool full;
	bool wanted;
	bool ran;
	bool turn;
	u16 next;
	s32 level;
	s32 turn_level;
	u32 share;
	u32 counts;
	u64 used_ns;
	u64 period_at_ns;
	struct gpreempt_policy_server server;
	u64 gone_ns;
	struct gpreempt_policy_tenant tenant;
};

/**
 * enum gpreempt_account_state - what a queue does, for its account
 * @GPREEMPT_ACCOUNT_IDLE: it has no work, or its packets wait for something else than the device
 * @GPREEMPT_ACCOUNT_RUNS: it has work and the device
 * @GPREEMPT_ACCOUNT_WAITS: it has work, and is off the device or has no wave there
 */
enum gpreempt_account_state {
	GPREEMPT_ACCOUNT_IDLE,
	GPREEMPT_ACCOUNT_RUNS,
	GPREEMPT_ACCOUNT_WAITS,
};

/**
 * struct gpreempt_account - what a queue has used so far, in nanoseconds of the caller's clock
 * @state: &enum gpreempt_account_state, as of the last look
 * @told: a doorbell told of its work
 * @came: its work came to a pass that makes room for it, and is not known to have that yet
 * @stopped: nothing is known since then
 * @waves: in flight when they were last read, but no more than 65535
 * @ran_ns: of @busy_ns, what was added since then, but no more than 4 s
 * @since_ns: until when time has been accounted
 * @sure_ns: when @state was last seen to be so
 * @owes_busy_ns: of @busy_ns, what counted too much. What comes next pays for it
 * @owes_waiting_ns: of @waiting_ns, the same
 * @busy_ns: time that it ran, until @since_ns
 * @waiting_ns: time that it waited, until @since_ns
 * @wave_us: waves in flight times microseconds, until @waves were read
 *
 * account.c alone writes it. Readers in any context need no lock: each is one word, and none of the
 * sums becomes less.
 */
struct gpreempt_account {
	u8 state;
	u8 told:1;
	u8 came:1;
	u8 stopped:1;
	u16 waves;
	u32 ran_ns;
	u64 since_ns;
	u64 sure_ns;
	u32 owes_busy_ns;
	u32 owes_waiting_ns;
	u64 busy_ns;
	u64 waiting_ns;
	u64 wave_us;
};

/**
 * struct gpreempt_account_node - what all queues of a node together need for that
 * @look_ns: time of the last look
 * @due_ns: time of the next one that is made for the account
 * @gap_ns: so far looks are apart on average
 * @told_ns: when a doorbell last told of work
 * @paid_ns: until then looks have used what they may cost
 * @changed_ns: when a queue was last found to do something else than before
 * @any: the account of whether any queue runs
 * @nr_open: queues with work, as of the last look
 * @made_room: the last pass was to make room for work of which a doorbell told
 * @tells: waves in flight can be read. Set by the caller
 * @random: a random number that no program can know. Set by the caller, once
 * @read_cost_ns: what reading them took the last time. Set by the caller
 */
struct gpreempt_account_node {
	u64 look_ns;
	u64 due_ns;
	u64 gap_ns;
	u64 told_ns;
	u64 paid_ns;
	u64 changed_ns;
	struct gpreempt_account any;
	u32 nr_open;
	bool made_room;
	bool tells;
	u32 (*random)(void);
	u64 read_cost_ns;
};

/**
 * struct gpreempt_policy_job - a job on one node, as the policy sees it
 * @next: the next one on the node; NULL: none
 * @gang: its queues yield to any other work while it is off another node
 * @top_elsewhere: highest priority of its queues on other nodes
 * @wanted_until_ns: it works on another node, which holds until then; 0: on none
 * @wanted_priority: highest priority of its queues that do
 * @out_until_ns: on another node it is off the device because of its rank, which holds until then
 * @leave_until_ns: the same of nodes for which it leaves this one
 * @out_before_until_ns: the same of nodes that come before this one
 * @left_elsewhere_ns: what leaving for other nodes has cost it, in all
 * @begins_relief: of the nodes that it is off this one comes first, or may if it is: this one gives
 *	it a relief, and the others join
 * @relief_until_ns: on another node it has its turn in a relief until then
 * @asked_elsewhere: on another node a decision may depend on whether it works
 * @shut_elsewhere_ns: until then the overhead budget of another node has no room to preempt for it;
 *	0: of none
 * @dated_elsewhere: edf: a process of it has a deadline on another node
 * @due_elsewhere_ns: edf: when the first of its work on other nodes is due, as long as
 *	@due_elsewhere_until_ns; 0: none is
 * @due_elsewhere_until_ns: until when that holds
 *
 * @holds_ns: for so long what is said of it here holds on other nodes
 * @works: of the last decision: a queue of it works on this node, or has the device to begin
 * @works_priority: the highest priority of those that do
 * @top: highest priority of its queues on this node
 * @out: it is off the device because of its rank, and comes after what it yields to on every node
 * @was_out: scratch: @out of the decision before
 * @leaves: it leaves the other nodes as long as it is @out
 * @left_ns: what leaving them has cost it, in all
 * @unpaid_ns: what leaving for any node has cost it, less a part of its service since
 * @heard_left_ns: of @left_elsewhere_ns this is in @unpaid_ns
 * @told_ns: until then its service is
 * @serves_from_ns: its service counts from then on
 * @turn_until_ns: until when it has its turn in a relief of this node; 0: it has none
 * @asks: see @asked_elsewhere
 * @shut_until_ns: until then the overhead budget of this node has no room to preempt for it; 0: it
 *	has, or need not
 * @dated: edf: a process of it has a deadline on this node
 * @due_ns: edf: when the first of its work on this node is due; 0: none is
 * @mark: scratch: it has been counted, as &gpreempt_policy_process.level_mark
 * @payer: of the last look: for whom all its processes work: the tenant of the first of them
 * @share: wfq: its account, of all its processes
 *
 * The caller provides the storage, zeroed, writes what is before @works, and has the other nodes
 * learn the rest.
 */
struct gpreempt_policy_job {
	struct gpreempt_policy_job *next;
	bool gang;
	s32 top_elsewhere;
	u64 wanted_until_ns;
	s32 wanted_priority;
	u64 out_until_ns;
	u64 leave_until_ns;
	u64 out_before_until_ns;
	u64 left_elsewhere_ns;
	bool begins_relief;
	u64 relief_until_ns;
	bool asked_elsewhere;
	bool dated_elsewhere;
	u64 shut_elsewhere_ns;
	u64 due_elsewhere_ns;
	u64 due_elsewhere_until_ns;

	u64 holds_ns;
	bool works;
	s32 works_priority;
	s32 top;
	bool out;
	bool was_out;
	bool leaves;
	u64 left_ns;
	u64 unpaid_ns;
	u64 heard_left_ns;
	u64 told_ns;
	u64 serves_from_ns;
	u64 turn_until_ns;
	bool asks;
	bool dated;
	u64 shut_until_ns;
	u64 due_ns;
	u64 mark;
	struct gpreempt_policy_tenant *payer;
	struct gpreempt_policy_share share;
};

/**
 * struct gpreempt_policy_beside - how fast a process is alone, and beside lower work
 * @alone_ns: time for which it had work, was first, and had the device alone
 * @alone_launches: its launches in @alone_ns
 * @launches: its launches beside lower work, since it was last alone to learn
 * @at_ns: when it was last the only one of the highest rank with work
 * @since_ns: when the present episode began
 * @late_ns: by so much lower work has slowed it; 0: not at all
 * @waits_ns: so long work below has had the device and no slots
 * @switch_ns: so much time after @at_ns is that of a hardware pass
 * @silent_ns: if none follows until then, launch @doubted is not believed to have ended; 0: none
 *	is in doubt
 * @noted_ns: when @seen was
 * @seen: &gpreempt_policy_process.launches at the last decision at which it worked
 * @launched: at that decision: what was new
 * @shown: &gpreempt_policy_process.launches when it was last seen to have waves of the last one
 * @doubted: &gpreempt_policy_process.launches of which the last may wait for slots
 * @begun: at @at_ns: what was launched before, if an episode began
 * @kernel_ns: for so long it was first since its last launch
 * @least_ns: the shortest of its long kernels that had the device alone; 0: none has ended
 * @retry_ns: lower work is not tried beside a long kernel before
 * @counted_ns: when the waves of a long kernel were last counted
 * @slots: so many waves the present long kernel had alone; 0: not counted
 * @packets: what it had launched and submitted by then
 * @mistakes: so often lower work took something from a long kernel, as far as it matters
 * @long_allowed: lower work may run beside the present kernel, which is a long one
 * @long_shared: some has
 * @episodes: which it had alone, as far as they matter
 * @allowed: lower work may run beside it in this episode
 * @shows: of this episode: so many launches are known, as far as they matter
 * @lower_runs: at @at_ns: some did
 * @is_alone: none has since this episode or a kernel began
 *
 * beside.c alone writes it.
 */
struct gpreempt_policy_beside {
	u64 alone_ns;
	u32 alone_launches;
	u32 launches;
	u64 at_ns;
	u64 since_ns;
	u64 late_ns;
	u64 waits_ns;
	u64 switch_ns;
	u64 silent_ns;
	u64 noted_ns;
	u64 kernel_ns;
	u64 least_ns;
	u64 retry_ns;
	u64 counted_ns;
	u64 packets;
	u32 seen;
	u32 launched;
	u32 shown;
	u32 doubted;
	u32 begun;
	u32 slots;
	u8 mistakes;
	bool long_allowed;
	bool long_shared;
	u16 episodes;
	u8 shows;
	bool allowed;
	bool lower_runs;
	bool is_alone;
};

/**
 * struct gpreempt_policy_process - a process on one node, as the policy sees it
 * @job: the job that it belongs to; NULL: none. Set by the caller.
 * @opt_out: its queues are never taken off the device. Set by the caller.
 * @weight: wfq: its weight; 0: from the priority of its most urgent queue. Set by the caller.
 * @deadline_ns: edf: deadline of its queues' work; 0: none. Set by the caller.
 * @runtime_ns: edf: so much device time it is to have in each @deadline_ns; 0: an equal part.
 *	Set by the caller.
 * @group: the group that it is in, by number; 0: the root. Set by the caller.
 * @user: for whom it works where it is in no group; NULL: it is its own tenant. Set by the caller.
 * @waits_for: it says that it waits for this one, and lends it its priority; NULL: for none. Set by
 *	the caller, while the other one has queues on the node.
 * @lends_all: with @waits_for: without regard to &gpreempt_policy_queue_set.lent_max. Set by the
 *	caller.
 * @armed: none of its queues has work, and the caller is told when one gets some. Set by
 *	the caller.
 *
 * @lent: of the last change: the highest priority that it was lent; [1]: without regard to
 *	&gpreempt_policy_queue_set.lent_max
 * @expected_met_ns: the last @expected_until_ns of one of its queues whose work has come
 * @level_mark: scratch: it owns a demanding queue at the level, if this is
 *	&gpreempt_policy_node.mark
 * @top_mark: scratch: the same for @own_top
 * @own_top: scratch: highest own_rank of its ordering queues that demand at the level
 * @debt_ns: service that it is owed; debt.c alone writes it
 * @debt_rest: what of it is no whole nanosecond
 * @outranked_ns: when a class above last kept it off; 0: never
 * @wants: of the last look: it had work that could use the device
 * @ran: and it ran
 * @waits: one of its queues with work was off the device
 * @by_turns: it comes before others, and they before it, by turns
 * @debt_mark: scratch: it has been looked at
 * @turn: it has a turn: it, or another one of its job, is the debtor
 * @turn_leads: it is the debtor
 * @turn_ran: with @turn: it has run in it
 * @turn_rank: with @turn: it comes before all others of this rank
 * @turn_above: with @turn: that is a class above its own
 * @turn_next_ns: with @turn_leads: a debt that is worth one class more
 * @turn_until_ns: with @turn: it ends then at the latest
 * @launches: how often read pointers of its queues were seen to move
 * @beside: how fast it is beside lower work
 * @admitted_ns: edf: the @runtime_ns that was admitted; 0: none is
 * @admitted_period_ns: edf: with @admitted_ns: the @deadline_ns of then
 * @share: wfq and edf: its account
 * @alone: without @user: for whom it works
 *
 * The caller provides the storage, zeroed, and leaves what is after @armed alone.
 */
struct gpreempt_policy_process {
	struct gpreempt_policy_job *job;
	bool opt_out;
	u32 weight;
	u64 deadline_ns;
	u64 runtime_ns;
	u16 group;
	struct gpreempt_policy_tenant *user;
	struct gpreempt_policy_process *waits_for;
	bool lends_all;
	bool armed;

	s32 lent[2];
	u64 expected_met_ns;
	u64 level_mark;
	u64 top_mark;
	s64 own_top;
	u64 debt_ns;
	u32 debt_rest;
	u64 outranked_ns;
	u64 debt_mark;
	s64 turn_rank;
	u64 turn_next_ns;
	u64 turn_until_ns;
	bool wants;
	bool ran;
	bool waits;
	bool by_turns;
	bool turn;
	bool turn_leads;
	bool turn_above;
	bool turn_ran;
	u32 launches;
	struct gpreempt_policy_beside beside;
	u64 admitted_ns;
	u64 admitted_period_ns;
	struct gpreempt_policy_share share;
	struct gpreempt_policy_tenant alone;
};

/**
 * struct gpreempt_policy_queue_set - what the caller says of a queue
 * @priority: logical priority against other processes, but for what it is lent
 * @lent_max: up to this a process without rights may lend it one
 * @own_priority: logical priority against queues of the same process
 * @explicit_priority: this priority was asked for, it is not the one that the queue was created
 *	with
 * @immovable: the driver does not allow to preempt it now
 * @unseen: its pointers cannot be read. No queue yields to it but for its relief; below the level
 *	it yields, unless it is known to have no waves; while preempted it counts as having work. It
 *	may change at any time.
 * @hold: its preemption was asked for; it is off the device, but for relief_ns after each
 *	max_hold_ns, where it has its own rank.
 * @hold_unbounded: with @hold: at no time
 * @stopped: with both: because its process is stopped
 * @idle: with both, and alone: because its process is idle, and the device too small for all
 * @expected_until_ns: its work was announced: it has demand until then, or until the work came; 0:
 *	not announced. A new announcement has a new time, and one for several queues of a process
 *	has the same.
 * @weight: wfq: a weight of its own; 0: it belongs to its process's share
 * @deadline_ns: edf: a deadline of its own; 0: its process's
 *
 * The caller alone writes it, before a pass.
 */
struct gpreempt_policy_queue_set {
	s32 priority;
	s32 lent_max;
	s32 own_priority;
	bool explicit_priority;
	bool immovable;
	bool unseen;
	bool hold;
	bool hold_unbounded;
	bool stopped;
	bool idle;
	u32 weight;
	u64 deadline_ns;
	u64 expected_until_ns;
};

/**
 * struct gpreempt_policy_queue_seen - what was seen of a queue: has it work?
 * @showed_none: it had no work in its relief and has not launched since: whatever its
 *	control stack says, it has no saved waves
 * @pending: packets (AQL) or dwords (PM4) between rptr and wptr
 * @rptr: last sampled read pointer
 * @wptr: last sampled write pointer
 * @waves: waves in flight at @waves_ns
 * @waves_ns: when @waves was read; 0: never since @moved_ns
 * @zero_ns: when @waves was first read as 0 and has been 0 since; 0: it is not 0
 * @checked: a runlist has saved no waves either since @moved_ns
 * @in_doubt: counters showed no waves, and yet some may wait for slots: the next runlist tells
 * @waited: some did: a runlist told, or there were some when others had left
 * @in_kernel: it came back with waves, and has launched nothing since
 * @expected_met_ns: the @expected_until_ns whose work has come
 * @launched_ns: when @rptr last moved, or saved waves came back; 0: never
 * @moved_ns: when what was known of its waves became void: @rptr moved, or the queue was
 *	preempted or resumed
 * @restore_since_ns: since when its waves may be on their way back, after a runlist took them off
 *	the device; 0: they have been seen since, or would have been if they still were to come
 * @restore_rptr: with @has_restore_rptr: the read pointer that it was taken off with
 * @has_restore_rptr: that is known: once the pointer moves its waves are back
 * @stalled_ns: since when @rptr has not moved while the queue had the device and packets;
 *	0: not stalled
 * @used: it has had packets; before that it has no waves, without asking
 * @blocked: stalled for long without waves: waits for something else than the device
 * @try_ns: while @blocked: when it is given its level back, to see
 * @tries: how often that was in vain since it last launched or had waves
 * @driver_off: the driver has taken it off the device, for reasons of its own
 * @driver_off_with_work: while @driver_off: it may have been in the middle of a kernel, or has had
 *	packets since
 * @active_ns: when it last had work; 0: never
 * @run_ns: when it last got the device, or work while it had the device; 0: never
 * @counted_ns: since when its launches have been counted: it got the device, or work, or the level
 *	that waited for it is over
 * @counted_rptr: its read pointer then
 * @starved_ns: since when it has been preempted for the present reason (its rank, or a request)
 *	and had work, while @preempted
 *
 * demand.c alone writes it.
 */
struct gpreempt_policy_queue_seen {
	bool showed_none;
	bool used;
	bool blocked;
	bool driver_off;
	bool driver_off_with_work;
	bool checked;
	bool in_doubt;
	bool waited;
	bool in_kernel;
	bool has_restore_rptr;
	u64 restore_rptr;
	u64 pending;
	u64 rptr;
	u64 wptr;
	u32 waves;
	u32 tries;
	u64 waves_ns;
	u64 zero_ns;
	u64 expected_met_ns;
	u64 launched_ns;
	u64 moved_ns;
	u64 restore_since_ns;
	u64 stalled_ns;
	u64 try_ns;
	u64 active_ns;
	u64 run_ns;
	u64 counted_ns;
	u64 counted_rptr;
	u64 starved_ns;
};

/**
 * struct gpreempt_policy_queue_pass - what counts for one pass
 * @next_busy: see &gpreempt_policy_node.busy
 * @demand: it could use the device now; [0] if waves that are not known are
 *	none, [1] if they are some
 * @relieved: it has its turn for a debt
 * @works: it has demand of its own, however little is known of waves
 * @idle: of a job: it certainly has none of its own
 * @follows: it has none, or that is not known, and its job works on another node: so it has demand
 * @spins: its job is off another node: what it does here waits for that, and any other work comes
 *	before it
 * @age: what ageing adds to both ranks
 *
 * A pass writes all of it for each queue that it looks at, before it reads any; so nothing has to
 * be zeroed. Dormant queues have no demand and no relief.
 */
struct gpreempt_policy_queue_pass {
	struct gpreempt_policy_queue *next_busy;
	bool demand[2];
	bool relieved;
	bool works;
	bool idle;
	bool follows;
	bool spins;
	s32 age;
};

/**
 * struct gpreempt_policy_request - work of a queue that lower work ran beside, while its node only
 * observes
 * @since_ns: since when lower work that would have been taken off has run beside it; 0: there is
 *	none
 * @rptr: the read pointer at that time
 * @came: the queue had no work before: what came had to wait, if for anything, for the device
 * @waited_ns: with @came: how long until the read pointer moved; 0: it has not
 * @ended_ns: the last of them ended at this time: what is above is about that one
 */
struct gpreempt_policy_request {
	u64 since_ns;
	u64 rptr;
	bool came;
	u64 waited_ns;
	u64 ended_ns;
};

/**
 * struct gpreempt_policy_backlog - work of a queue that piles up while its node only observes
 * @rptr: read pointer at the last decision
 * @wptr: likewise the write pointer
 * @pending: how much there was when it last piled up, or came to none
 * @piles: for so many more times that work comes to no more than that, it counts as done when it
 *	would be; 0: when it is
 * @done: while @piles: it would be
 * @launches: since it has piled up
 * @ran_ns: the time in which these had waves
 * @left_ns: what would be left to do, in time of the device alone
 */
struct gpreempt_policy_backlog {
	u64 rptr;
	u64 wptr;
	u64 pending;
	u8 piles;
	bool done;
	u64 launches;
	u64 ran_ns;
	u64 left_ns;
};

/**
 * struct gpreempt_policy_queue - a compute queue, as the policy sees it
 * @process: owner; queues with the same owner belong to the same process
 * @set: written by the caller
 * @seen: written by demand.c
 * @pass: of one pass
 * @time: what it has used; account.c alone writes it
 * @preempted: off the device, by gpreempt_policy_preempted()
 * @saved_waves: it was taken in the middle of a kernel (control stack in use)
 * @had_demand: it had demand at the last decision
 * @came: it had not at the one before that
 * @spared: it would be off the device if its node did not only observe. What is written here of
 *	@preempted ones holds for it as far as it says so.
 * @would: result of the last decision of a node that only observes: what would be done
 * @request: while its node only observes: work of it, beside lower one
 * @backlog: likewise: work of it that piles up
 * @preempted_at_ns: when it was preempted, while @preempted
 * @work_from_ns: since when it has had demand, while @had_demand
 * @work_ns: for how long it had demand of late, at the least; 0: not known
 * @outranked_ns: when it last had to stay off for a higher one, while @preempted or @spared;
 *	0: it was taken off on request
 * @gaps: those of the ones above it, between two times for which it was outranked
 * @released: it has not been outranked since @outranked_ns
 * @drains: since the level began it was waited for, and not taken off yet
 * @drains_now: with @drains: it still is, or has ended since the last decision
 * @drain_misses: how often it was taken off all the same, counted by GPREEMPT_DRAIN_MISS
 * @drain_skip: so many more preemptions it is not waited for
 * @drain_rptr: while @drains: its read pointer at the last decision, the lower half
 * @drain_kernel_ns: while @drains: how long its kernels have been; 0: not known
 * @ran: of the last look: it had the device, and work of it ran
 * @ran_rptr: its read pointer then
 * @kept_off: at the last look: why it is kept off other than for its rank, GPREEMPT_KEPT_*;
 *	0: it is not
 * @demands: shares: of the last look: the demand that it has, whatever keeps it off
 * @asked: @hold at the last look
 * @let_go_until_ns: until when @hold does not count, because it was held on request for
 *	max_hold_ns; 0: it counts
 * @aged_until_ns: until when ageing keeps it beside the level; 0: not at all
 * @in_the_way: result of the last decision: has work on the device and would have to yield
 *	if it were not @immovable
 * @effective_priority: priority with ageing, of the last decision
 * @leads: of the last decision: it stands for the level, that is for the queues that others yield
 *	to
 * @out: of the last decision: its job leaves other nodes because it is off this one
 * @verdict: result of the last decision: why it has the device or does not
 * @verdict_ns: since when @verdict has been the same
 * @until_ns: of the last decision: when @verdict ends by itself at the latest; ~0: never. Of
 *	GPREEMPT_VERDICT_BUDGET see &gpreempt_policy_node.paid_ns.
 * @action: result of the last decision: what @verdict asks for
 * @orders: of this pass, by the policy: within its process it was asked to come before or
 *	after others
 * @rank: of this pass, by the policy: larger is more urgent; against other processes
 * @own_rank: of this pass, by the policy: the same against queues of its own process
 * @standing: of this pass, by the policy: see &gpreempt_policy_ops.rotates
 * @priority: of the last change: what counts against other processes: its own one, or a higher one
 *	that it is lent
 * @missing: of the last pass that was about it: what it lacked in rank to run beside the
 *	level; 0 or less: nothing
 * @share: wfq and edf: its account, if it has a weight or a deadline of its own
 * @due_ns: edf: when the work that it has, or had in this period, is missed; 0: never had any
 * @decided_wptr: edf: its write pointer at the last decision
 * @missed: edf: deadlines that passed before its work was done
 *
 * All times are in nanoseconds of the caller's clock. The caller provides the storage, zeroed, and
 * writes @process and @set. The rest belongs to the policy; reading it is fine.
 */
struct gpreempt_policy_queue {
	struct gpreempt_policy_process *process;
	struct gpreempt_policy_queue_set set;
	struct gpreempt_policy_queue_seen seen;
	struct gpreempt_policy_queue_pass pass;
	struct gpreempt_account time;

	bool preempted;
	bool saved_waves;
	bool had_demand;
	bool came;
	bool spared;
	bool in_the_way;
	bool leads;
	bool out;
	bool ran;
	u8 kept_off;
	bool asked;
	u8 demands;
	bool released;
	bool drains;
	bool drains_now;
	u8 drain_misses;
	u8 drain_skip;
	u32 drain_rptr;
	u32 drain_kernel_ns;
	enum gpreempt_verdict verdict;
	enum gpreempt_action action;
	enum gpreempt_action would;
	s32 standing;
	s32 priority;
	struct gpreempt_policy_request request;
	struct gpreempt_policy_backlog backlog;
	s32 effective_priority;
	bool orders;
	u64 preempted_at_ns;
	u64 work_from_ns;
	u64 work_ns;
	u64 outranked_ns;
	struct gpreempt_policy_gaps gaps;
	u64 ran_rptr;
	u64 let_go_until_ns;
	u64 aged_until_ns;
	u64 verdict_ns;
	u64 until_ns;
	s64 rank;
	s64 own_rank;
	s64 missing;
	struct gpreempt_policy_share share;
	u64 due_ns;
	u64 decided_wptr;
	u64 missed;
};

/**
 * struct gpreempt_policy_params - tunables of a pass
 * @interval_ns: time between passes while nothing is contended
 * @poll_ns: least time between passes while contended, see policy_time_to_poll(); 0: @interval_ns
 *	rules alone
 * @max_hold_ns: a queue with work that has been outranked this long gets relief; after a relief the
 *	node gives none for that long; 0: never
 * @relief_ns: length of a relief of the node, in which processes that starve take turns
 * @blocked_ns: a stall this long makes a queue blocked, once GPREEMPT_WAVES_SETTLE_NS more
 *	have shown no waves; 0: never
 * @aging_ns: a preempted queue with work gains a priority step each time this has passed; 0: never
 * @min_run_ns: a queue that got the device or work is not preempted before; 0: at once
 * @resume_delay_ns: a preempted queue stays preempted for so long after the last queue that
 *	outranks it; 0: not at all
 * @drain_ns: so long at most those above wait for work that is about to end, instead of having it
 *	taken off the device; 0: never
 * @slice_ns: wfq: how long a share has the device before another one that is behind gets it
 * @overhead_pct: for each priority and those above it, saving and restoring may take this share of
 *	time, in percent; 0: GPREEMPT_OVERHEAD_PCT, and any for the highest
 * @observe: decide as ever, but take nothing off the device: what would be is @spared. What is
 *	preempted comes back.
 */
struct gpreempt_policy_params {
	u64 interval_ns;
	u64 poll_ns;
	u64 max_hold_ns;
	u64 relief_ns;
	u64 blocked_ns;
	u64 aging_ns;
	u64 min_run_ns;
	u64 resume_delay_ns;
	u64 drain_ns;
	u64 slice_ns;
	u32 overhead_pct;
	bool observe;
};

/**
 * struct gpreempt_policy_device - what the device of a node can do, and what its firmware says
 * @turns_ns: firmware takes turns, because there are more queues than slots or more processes
 *	than VMIDs: so long may a queue wait for its turn; 0: it does not. Set by
 *	gpreempt_demand_turns() in each pass.
 * @connect_ns: what firmware takes to connect a queue after a hardware pass, as it says; 0: it does
 *	not say
 * @restore_ns: the same of bringing waves back that were saved
 * @waves_lag_ns: "no waves" is not believed for so long after a launch; 0: it is at once
 * @waves_known: it can tell waves in flight
 * @waves_saved: its counters do not count, only what runlists save tells
 * @waves_counted: its counters have shown a wave of any queue
 */
struct gpreempt_policy_device {
	u64 turns_ns;
	u64 connect_ns;
	u64 restore_ns;
	u64 waves_lag_ns;
	bool waves_known;
	bool waves_saved;
	bool waves_counted;
};

/**
 * struct gpreempt_policy_bucket - what was spent on saving and restoring
 * @priority: of the lowest work that it was for
 * @spent_ns: for this priority and those above it, less what time has paid
 */
struct gpreempt_policy_bucket {
	s32 priority;
	u64 spent_ns;
};

/**
 * struct gpreempt_policy_drain - what the level waits for that need not be taken off
 * @begun: it has, since the level began
 * @rank: while @begun: of that level
 * @waited_ns: while @begun: how long it has
 * @at_ns: of the last decision: it waits since then; 0: it does not
 * @until_ns: with @at_ns: no longer than until then; ~0: nothing is in its way yet
 * @next_ns: with @at_ns: time until the next look
 * @rest_until_ns: it waits for nothing until then, after a wait in vain
 */
struct gpreempt_policy_drain {
	bool begun;
	s64 rank;
	u64 waited_ns;
	u64 at_ns;
	u64 until_ns;
	u64 next_ns;
	u64 rest_until_ns;
};

struct gpreempt_pass;
struct gpreempt_policy_node;

/**
 * struct gpreempt_policy_ops - a policy: which queue is the more urgent one
 * @name: by which it is chosen
 * @rotates: who comes first changes with time: queues with the same standing above 0 come
 *	before each other by turns. Otherwise the standing is the order: equals are equal for
 *	ever, and a node that has only equals needs no passes.
 * @ages: ranks are priorities, and ageing adds to them
 * @credits: with @rotates: what is kept off with work comes before the others later, for as long
 *	as it was. So a job can have its turns on all nodes when it has them on the first one.
 * @rank: give every queue its rank, own_rank, orders and standing. demand is known; may be
 *	called more than once for the same time, with more known of demand. A policy that does
 *	not rotate is asked only after &gpreempt_policy_node.changed.
 * @decided: take in a decision: actions are chosen; may be NULL
 * @next_ns: time until ranks may change their order while nothing else happens, after
 *	@decided; may be NULL: never
 * @due_ns: when the work that a queue has is due, 0: at no time; NULL: none is
 */
struct gpreempt_policy_ops {
	const char *name;
	bool rotates;
	bool ages;
	bool credits;
	void (*rank)(struct gpreempt_policy_node *pn, u64 now_ns);
	void (*decided)(struct gpreempt_policy_node *pn, u64 now_ns);
	u64 (*next_ns)(const struct gpreempt_policy_node *pn, u64 now_ns);
	u64 (*due_ns)(const struct gpreempt_policy_queue *q);
};

/**
 * struct gpreempt_policy_shares - what divides device time among groups, while one has a share
 * @look: each queue has been looked at: whose turn is it? True: what keeps queues off has changed,
 *	so they have to be looked at again
 * @decided: take in a decision: actions are chosen
 * @runs: after @decided: a queue has work and the device, by this decision
 * @next_ns: time until it may be another one's turn, if nothing else happens; ~0: never
 * @until: when the maximum of its group lets a queue come back, in time of the caller's clock; ~0:
 *	it is not kept off for that
 * @rivals: may one of these processes be kept off for the sake of shares? They may be the same
 */
struct gpreempt_policy_shares {
	bool (*look)(struct gpreempt_policy_node *pn, u64 now_ns);
	void (*decided)(struct gpreempt_policy_node *pn, u64 now_ns);
	void (*runs)(struct gpreempt_policy_node *pn, const struct gpreempt_policy_queue *q);
	u64 (*next_ns)(const struct gpreempt_policy_node *pn, u64 now_ns);
	u64 (*until)(const struct gpreempt_policy_node *pn, const struct gpreempt_policy_queue *q);
	bool (*rivals)(const struct gpreempt_policy_node *pn,
		       const struct gpreempt_policy_process *a,
		       const struct gpreempt_policy_process *b);
};

/**
 * struct gpreempt_policy_accounts - what counts for how long queues use the device
 * @welcomes_waves: are waves worth to be known, though no decision depends on them?
 * @decided: a pass has decided
 * @moved: a queue has left the device, or has got it back; @ran: it was seen to run until then
 * @interrupted: a hardware pass took a queue off: for a moment, or it stays off, of which @moved
 *	tells next. From when the device was asked, until it was back, or was known to have left
 * @made_room: a hardware pass took others off for new work of a queue, which could begin then
 */
struct gpreempt_policy_accounts {
	bool (*welcomes_waves)(const struct gpreempt_policy_node *pn, u64 now_ns);
	void (*decided)(struct gpreempt_policy_node *pn, const struct gpreempt_pass *pass);
	void (*moved)(struct gpreempt_policy_queue *q, bool ran, u64 now_ns);
	void (*interrupted)(struct gpreempt_policy_queue *q, u64 from_ns, u64 until_ns);
	void (*made_room)(struct gpreempt_policy_queue *q, u64 until_ns);
};

extern const struct gpreempt_policy_accounts gpreempt_policy_account;
/* NULL: none is built */
extern const struct gpreempt_policy_accounts *const gpreempt_accounts;

#define gpreempt_accounts_tell(what, ...)						\
	do {										\
		if (gpreempt_accounts)							\
			gpreempt_accounts->what(__VA_ARGS__);				\
	} while (0)

struct level;

/**
 * struct gpreempt_policy_gangs - what the nodes of a job have to know of each other's decisions
 * @begin: a pass begins
 * @look: what other nodes say of a queue's job counts as well: &enum demand, from that of the queue
 *	alone
 * @shut: until when has another node no room in its budget for what is at the level? 0: it has, or
 *	not all of the level is of jobs
 * @decided: it is decided: what the other nodes of each job have to know
 * @until: when what another node said ends, or else @end_ns
 * @parks: may the monitor sleep for good? @park: as far as this node alone is concerned
 *
 * Called while there are jobs on the node.
 */
struct gpreempt_policy_gangs {
	void (*begin)(struct gpreempt_policy_node *pn);
	int (*look)(const struct gpreempt_policy_node *pn, struct gpreempt_policy_queue *q,
		    int demand, u64 now_ns);
	u64 (*shut)(const struct gpreempt_policy_node *pn, const struct level *level, bool assume,
		    u64 now_ns);
	void (*decided)(struct gpreempt_policy_node *pn, u64 now_ns);
	u64 (*until)(const struct gpreempt_policy_node *pn, u64 end_ns, u64 now_ns);
	bool (*parks)(const struct gpreempt_policy_node *pn, bool park, u64 now_ns);
};

extern const struct gpreempt_policy_gangs gpreempt_policy_gang;
/* NULL: none is built */
extern const struct gpreempt_policy_gangs *const gpreempt_gangs;

/* All policies; NULL ends the list, the first is the default. Each is in a file of its name. */
extern const struct gpreempt_policy_ops gpreempt_policy_hpf;
extern const struct gpreempt_policy_ops gpreempt_policy_wfq;
extern const struct gpreempt_policy_ops gpreempt_policy_edf;
extern const struct gpreempt_policy_ops *const gpreempt_policies[];

/**
 * struct gpreempt_policy_node - a node, as the policy sees it
 * @queues: all queues, the sampled ones first. Set by the caller before each pass.
 * @nr: how many are sampled. Set by the caller before each pass.
 * @nr_dormant: how many follow that are dormant. After a change of the policy, and before
 *	&gpreempt_policy_ops.rotates ones, none may. Set by the caller before each pass.
 * @params: tunables. Set by the caller before each pass.
 * @device: what the device can do. Set by the caller before each pass.
 * @idle_ns: the caller wants to know which queues are idle, if a decision depends on it or not:
 *	waves are asked for after so long; 0: it does not. Set by the caller before each pass.
 * @changed: a queue came, or its priority changed, or who waits for its process. Set by the caller;
 *	a decision clears it.
 * @jobs: that have processes on the node; NULL: none. Set by the caller before each pass.
 * @entities: shares: among which device time is divided; the first one is the whole device. Set by
 *	gpreempt_share_use()
 * @nr_entities: how many places @entities has; 0: nothing has a share
 * @shares: divides device time; NULL: nothing has had a share yet
 * @account: for how long it is used
 * @ops: who ranks, by gpreempt_policy_use(); read it freely
 *
 * @busy: queues that may have demand (@demand[1]), linked by next_busy: what most rules are about
 * @nr_chosen: scratch: to how many queues gpreempt_policy_needs_waves() has given an
 *	action, to see what becomes of it
 * @asked: waves in flight were asked for in this pass
 * @checks: runlists that were sent to check whether waves are counted
 * @check_ns: when the next one may be sent
 * @unproven: of this pass: some queue has launched, and it is not known whether the device counts
 *	waves: they are welcome even if they do not matter
 * @waves_seen: some queue has had waves when it was asked: the counters count, so that none
 *	means none
 * @mark: see &gpreempt_policy_process
 * @level_valid: of the last decision: some queue has demand
 * @level_rank: of the last decision: the highest rank with demand
 * @level_relief: of the last decision: that is a debtor in its turn, and nothing is above it
 * @worked_ns: when some queue last had demand
 * @differs: of the last decision: some queue could outrank another, or wait for its share
 * @contended_ns: when the node was last found contended
 * @cost_ns: what the last pass cost, as the time until the next one that pays for it
 * @last_cost_ns: the same, whatever came between
 * @buckets: what was spent on saving and restoring at @spent_at_ns, from the highest priority on
 * @nr_buckets: so many
 * @spent_at_ns: see @buckets
 * @payer: the priority that the last preemption was for
 * @pays: its budget pays; false: it has none, or that was for a debt or a turn
 * @acting_ns: time of the last decision that had something carried out
 * @acted_ns: when a hardware pass last ended
 * @pass_ns: the longest of the last hardware passes, see GPREEMPT_FOLLOW_SHARE
 * @save_ns: what hardware passes that preempted took of late, in the mean; 0: there was none
 * @drain: victims that are waited for
 * @owing: some process has a debt, or was outranked of late
 * @turn: some process has a turn
 * @debts_ns: until when debts are accounted
 * @nr_owed: how many processes and jobs starved together within the last second
 * @owed_ns: when so many last did
 * @sole: of the last decision: the only process with work on the device; to compare, it may be gone
 * @sole_job: the same of a job
 * @beside_ns: time of the last decision, if one process was first; 0: none was
 * @silent_ns: no &gpreempt_policy_beside.silent_ns is earlier
 * @aged_until_ns: until when the last queues were let in by their age; 0: none was
 * @nr_relief: queues that were given a turn for a debt since the last decision
 * @saved_up_ns: of the last decision: the budget makes a preemption wait until then; 0: it does not
 * @paid_ns: of the last decision: when the budget has room for a preemption, here and on the other
 *	nodes of the job that it is for
 * @on_request: of the last decision: all that it has carried out is that holds begin or end
 * @ranked_ns: wfq: until when device time has been accounted
 * @vtime_ns: wfq: the least that a share with demand has had; where those begin that come
 * @kept_until_ns: wfq: one that has no work keeps its turn until then; 0: none does
 * @shared_ns: shares: until when device time has been charged
 * @share_level: of the last look: the highest priority with work
 * @share_first: scratch: the first of the entities with @wants, parents before children
 * @share_turn: of the last look: whose turn it is at @share_level; GPREEMPT_ENTITY_NONE: nothing
 *	waits for a turn
 * @share_waits: of the last look: others wait for theirs
 * @share_doubt: and it is not known whether those that have it, or wait for it, have work
 * @observed: the last decision was one of a node that only observes
 * @piles: work of a queue piles up meanwhile: how long it has waves tells how long it takes
 * @watched_ns: until when &gpreempt_policy_queue.backlog has been accounted
 *
 * The caller provides the storage, zeroed.
 */
struct gpreempt_policy_node {
	struct gpreempt_policy_queue *const *queues;
	u32 nr;
	u32 nr_dormant;
	struct gpreempt_policy_params params;
	struct gpreempt_policy_device device;
	u64 idle_ns;
	bool changed;
	struct gpreempt_policy_job *jobs;
	struct gpreempt_policy_entity *entities;
	u32 nr_entities;
	const struct gpreempt_policy_shares *shares;
	struct gpreempt_account_node account;
	const struct gpreempt_policy_ops *ops;

	struct gpreempt_policy_queue *busy;
	u32 nr_chosen;
	bool asked;
	u32 checks;
	u64 check_ns;
	bool unproven;
	bool waves_seen;
	u64 mark;
	bool level_valid;
	bool level_relief;
	s64 level_rank;
	u64 worked_ns;
	bool differs;
	u64 contended_ns;
	u64 cost_ns;
	u64 last_cost_ns;
	struct gpreempt_policy_bucket buckets[GPREEMPT_BUDGET_BUCKETS];
	u32 nr_buckets;
	u64 spent_at_ns;
	s32 payer;
	bool pays;
	u64 acting_ns;
	u64 acted_ns;
	u64 pass_ns;
	u64 save_ns;
	struct gpreempt_policy_drain drain;
	bool owing;
	bool turn;
	u64 debts_ns;
	u32 nr_owed;
	u64 owed_ns;
	const struct gpreempt_policy_process *sole;
	const struct gpreempt_policy_job *sole_job;
	u64 beside_ns;
	u64 silent_ns;
	u64 aged_until_ns;
	u32 nr_relief;
	u64 saved_up_ns;
	u64 paid_ns;
	bool on_request;
	u64 ranked_ns;
	u64 vtime_ns;
	u64 kept_until_ns;
	u64 shared_ns;
	s32 share_level;
	u16 share_first;
	u16 share_turn;
	bool share_waits;
	bool share_doubt;
	bool observed;
	bool piles;
	u64 watched_ns;
};

/**
 * struct gpreempt_decision - result of a pass
 * @nr_preempt: queues with GPREEMPT_PREEMPT
 * @nr_resume: queues with GPREEMPT_RESUME
 * @nr_preempted: queues that were preempted when it was made, or whose hold was asked for
 * @nr_in_the_way: queues that would have to yield and cannot: see &gpreempt_policy_queue.in_the_way
 * @nr_relief: queues that were given relief by this decision
 * @nr_would_preempt: while the node only observes: queues that would be taken off the device
 * @nr_would_resume: likewise: queues that would be given back
 * @nr_requests: likewise: queues whose @request has ended
 * @over_budget: from this decision on a preemption waits for the overhead budget
 * @drained: work of a level is done, and what was in its way was waited for, not preempted
 * @inversion: a lower queue had the device while a higher one had work
 * @level_valid: some queue has work, @level is set
 * @level: the highest priority of a queue with work that has the highest rank;
 *	GPREEMPT_PRIORITY_RELIEF while a queue is in relief
 * @park: no queue could outrank another, none is preempted: no further pass is needed until
 *	the set of queues or a priority changes
 * @contended: a lower and a higher queue have both had work within GPREEMPT_CONTENDED_NS
 * @rivals: so have two of different processes
 * @next_ns: time from this pass to the next one, unless @park
 * @until_ns: the same if no work has to be looked for: the first deadline, and the interval
 */
struct gpreempt_decision {
	u32 nr_preempt;
	u32 nr_resume;
	u32 nr_preempted;
	u32 nr_in_the_way;
	u32 nr_relief;
	u32 nr_would_preempt;
	u32 nr_would_resume;
	u32 nr_requests;
	bool over_budget;
	bool drained;
	bool inversion;
	bool level_valid;
	s32 level;
	bool park;
	bool contended;
	bool rivals;
	u64 next_ns;
	u64 until_ns;
};

void gpreempt_policy_priority(u32 kfd_priority, int nice, bool trusted,
			      struct gpreempt_policy_queue *q);
void gpreempt_policy_use(struct gpreempt_policy_node *pn, const struct gpreempt_policy_ops *ops);
bool gpreempt_policy_needs_waves(struct gpreempt_policy_node *pn, u64 now_ns);
bool gpreempt_policy_counters_count(const struct gpreempt_policy_node *pn);
void gpreempt_policy_put_off(struct gpreempt_policy_node *pn);
bool gpreempt_policy_needs_runlist(struct gpreempt_policy_node *pn, u64 now_ns);
void gpreempt_policy_decide(struct gpreempt_policy_node *pn, u64 now_ns,
			    struct gpreempt_decision *decision);
void gpreempt_policy_cost(struct gpreempt_policy_node *pn, u64 look_ns, u64 ask_ns);
bool gpreempt_policy_dormant(const struct gpreempt_policy_node *pn, struct gpreempt_policy_queue *q,
			   u64 now_ns, u64 *until_ns);
bool gpreempt_policy_can_outrank(struct gpreempt_policy_node *pn);
u64 gpreempt_policy_end_wait(struct gpreempt_policy_node *pn, u64 now_ns);
void gpreempt_policy_resume_all(const struct gpreempt_policy_node *pn,
				struct gpreempt_decision *decision);
void gpreempt_policy_preempted(struct gpreempt_policy_queue *q, bool saved_waves, u64 now_ns);
void gpreempt_policy_saved(struct gpreempt_policy_queue *q, bool saved_waves);
void gpreempt_policy_resumed(struct gpreempt_policy_queue *q, u64 now_ns);
void gpreempt_policy_overhead(struct gpreempt_policy_node *pn, u64 elapsed_ns, bool preempted,
			      u64 now_ns);

/* Does a queue with this verdict have to yield, even if something keeps it on the device? */
static inline bool gpreempt_policy_should_yield(enum gpreempt_verdict verdict)
{
	switch (verdict) {
	case GPREEMPT_VERDICT_EXEMPT:
	case GPREEMPT_VERDICT_OBSTACLE:
	case GPREEMPT_VERDICT_MIN_RUN:
	case GPREEMPT_VERDICT_BUDGET:
	case GPREEMPT_VERDICT_OBSERVED:
	case GPREEMPT_VERDICT_DRAINS:
	case GPREEMPT_VERDICT_YIELDS:
	case GPREEMPT_VERDICT_AGEING:
	case GPREEMPT_VERDICT_JOB_YIELDS:
		return true;
	default:
		return false;
	}
}

#endif /* GPREEMPT_POLICY_H */
