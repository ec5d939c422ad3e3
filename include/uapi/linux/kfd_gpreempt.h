/* SPDX-License-Identifier: MIT WITH Linux-syscall-note */
/*
 * kfd_gpreempt.h - the ABI of preemptive scheduling of compute queues
 *
 * Two devices speak it. /dev/kfd_gpreempt (misc device) has everything: who runs what, priorities, preemption on request, events.
 * /dev/kfd has two commands more, for a program's own queues.
 *
 * Layout is the same for 32 and 64 bits: fixed-size members at their natural alignment, pointers as __u64. Members that are
 * named reserved must be 0 and flags that are not defined must be clear, otherwise the call fails with EINVAL: they are how the
 * ABI grows. Nothing defined here ever changes its meaning; GPREEMPT_ABI_VERSION counts additions.
 *
 * A pid is one of the caller's pid namespace, of a process's leader. 0 means the caller's own process. Processes that the caller's
 * namespace does not see do not exist for it.
 *
 * Errors that every command can give: EFAULT (a pointer), EINVAL (flags, reserved members, a value out of its bounds), ENOTTY (no such
 * command). The others stand beside the command.
 */
#ifndef _UAPI_LINUX_KFD_GPREEMPT_H
#define _UAPI_LINUX_KFD_GPREEMPT_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define GPREEMPT_ABI_VERSION		11

#define GPREEMPT_PRIORITY_MIN		(-1023)
#define GPREEMPT_PRIORITY_MAX		1023
/* what an ordinary queue of a process with nice value 0 has */
#define GPREEMPT_PRIORITY_NORMAL	7

#define GPREEMPT_NAME_LEN		16

/**
 * enum gpreempt_feature - bits of &struct gpreempt_info.features
 * @GPREEMPT_FEATURE_PREEMPT: GPREEMPT_IOC_PREEMPT and GPREEMPT_IOC_RESUME
 * @GPREEMPT_FEATURE_CGROUP: priorities of cgroups
 * @GPREEMPT_FEATURE_EVENTS: read() and poll()
 * @GPREEMPT_FEATURE_HINT: GPREEMPT_IOC_HINT
 * @GPREEMPT_FEATURE_INHERIT: GPREEMPT_PRIORITY_INHERIT
 * @GPREEMPT_FEATURE_JOB: GPREEMPT_IOC_SET_JOB, and jobs in GPREEMPT_IOC_LIST. Since version 5
 * @GPREEMPT_FEATURE_SHARE: GPREEMPT_IOC_SET_SHARE and GPREEMPT_IOC_LIST_SHARES. Since version 7
 * @GPREEMPT_FEATURE_USAGE: GPREEMPT_IOC_USAGE, and usage in GPREEMPT_IOC_LIST. Since version 8
 * @GPREEMPT_FEATURE_WAITS_FOR: GPREEMPT_PARAM_WAITS_FOR. Since version 11
 * @GPREEMPT_FEATURE_FITS: GPREEMPT_PARAM_RUNTIME_US and GPREEMPT_IOC_FITS. Since version 11
 */
enum gpreempt_feature {
	GPREEMPT_FEATURE_PREEMPT	= 1 << 0,
	GPREEMPT_FEATURE_CGROUP		= 1 << 1,
	GPREEMPT_FEATURE_EVENTS		= 1 << 2,
	GPREEMPT_FEATURE_HINT		= 1 << 3,
	GPREEMPT_FEATURE_INHERIT	= 1 << 4,
	GPREEMPT_FEATURE_JOB		= 1 << 5,
	GPREEMPT_FEATURE_SHARE		= 1 << 6,
	GPREEMPT_FEATURE_USAGE		= 1 << 7,
	GPREEMPT_FEATURE_WAITS_FOR	= 1 << 8,
	GPREEMPT_FEATURE_FITS		= 1 << 9,
};

/**
 * enum gpreempt_node_state - what the scheduler does on a node
 * @GPREEMPT_NODE_OFF: switched off (gpreempt_enable=0, or its own file says so)
 * @GPREEMPT_NODE_PARKED: sleeps: no queue could outrank another
 * @GPREEMPT_NODE_IDLE: looks every gpreempt_interval_ms
 * @GPREEMPT_NODE_POLLING: looks every gpreempt_poll_us
 * @GPREEMPT_NODE_PAUSED: the device is suspended or being reset
 * @GPREEMPT_NODE_FAILED: gave up after errors; everything was resumed
 * @GPREEMPT_NODE_UNSUPPORTED: cannot be scheduled
 * @GPREEMPT_NODE_ARMED: sleeps until a doorbell is written (gpreempt_wakeup=doorbell)
 */
enum gpreempt_node_state {
	GPREEMPT_NODE_OFF,
	GPREEMPT_NODE_PARKED,
	GPREEMPT_NODE_IDLE,
	GPREEMPT_NODE_POLLING,
	GPREEMPT_NODE_PAUSED,
	GPREEMPT_NODE_FAILED,
	GPREEMPT_NODE_UNSUPPORTED,
	GPREEMPT_NODE_ARMED,
};

/**
 * struct gpreempt_node_info - a KFD node
 * @gpu_id: as in the KFD topology
 * @state: &enum gpreempt_node_state
 * @nr_queues: queues under scheduling
 * @nr_preempted: how many of them are off the device
 * @backend: way of preempting, NUL-terminated: "hws" or "mqd"; empty if there is none
 * @policy: name of the policy, NUL-terminated
 * @preemptions: queues preempted since the driver was loaded
 * @resumes: queues resumed
 * @failures: hardware passes that failed
 * @reserved: 0
 *
 * Without CAP_SYS_ADMIN only queues that GPREEMPT_IOC_LIST would show with GPREEMPT_SCOPE_ALL are counted, counters since loading are 0, and a node
 * that is on is GPREEMPT_NODE_IDLE: the rest would tell when others work.
 */
struct gpreempt_node_info {
	__u32 gpu_id;
	__u32 state;
	__u32 nr_queues;
	__u32 nr_preempted;
	char backend[GPREEMPT_NAME_LEN];
	char policy[GPREEMPT_NAME_LEN];
	__u64 preemptions;
	__u64 resumes;
	__u64 failures;
	__u64 reserved[3];
};

/**
 * struct gpreempt_info - GPREEMPT_IOC_INFO
 * @abi_version: out: GPREEMPT_ABI_VERSION of the module
 * @flags: in: 0
 * @features: out: bits of &enum gpreempt_feature
 * @nodes: in: array of &struct gpreempt_node_info; may be 0 if @nr_nodes is
 * @nr_nodes: in: length of the array; out: nodes there are, which may be more than were filled in
 * @event_size: out: size of &struct gpreempt_event as read() delivers it
 * @reserved: 0
 */
struct gpreempt_info {
	__u32 abi_version;
	__u32 flags;
	__u64 features;
	__u64 nodes;
	__u32 nr_nodes;
	__u32 event_size;
	__u64 reserved[4];
};

/**
 * enum gpreempt_source - where a queue's logical priority comes from: queue outranks process, process outranks parent, parent
 *	outranks cgroup
 * @GPREEMPT_SOURCE_KFD: the priority that the program gave to the queue, less the process's nice value
 * @GPREEMPT_SOURCE_CGROUP: the nearest cgroup above the process that has one
 * @GPREEMPT_SOURCE_PROCESS: set for the process
 * @GPREEMPT_SOURCE_QUEUE: set for the queue
 * @GPREEMPT_SOURCE_PARENT: inherited from a process above its own (GPREEMPT_PRIORITY_INHERIT). Since version 3
 */
enum gpreempt_source {
	GPREEMPT_SOURCE_KFD,
	GPREEMPT_SOURCE_CGROUP,
	GPREEMPT_SOURCE_PROCESS,
	GPREEMPT_SOURCE_QUEUE,
	GPREEMPT_SOURCE_PARENT,
};

/**
 * enum gpreempt_queue_state - what became of a queue
 * @GPREEMPT_QUEUE_IDLE: it may run and has no work
 * @GPREEMPT_QUEUE_ACTIVE: it may run and has work
 * @GPREEMPT_QUEUE_PREEMPTED: it is off the device
 */
enum gpreempt_queue_state {
	GPREEMPT_QUEUE_IDLE,
	GPREEMPT_QUEUE_ACTIVE,
	GPREEMPT_QUEUE_PREEMPTED,
};

/**
 * enum gpreempt_queue_flag - bits of &struct gpreempt_queue_info.flags
 * @GPREEMPT_QUEUE_HELD: its preemption was asked for (GPREEMPT_IOC_PREEMPT)
 * @GPREEMPT_QUEUE_BLOCKED: its packets wait for something else than the device
 * @GPREEMPT_QUEUE_EXEMPT: its process is never a victim
 * @GPREEMPT_QUEUE_UNSCHEDULED: its ring pointers cannot be read: it yields as if it had work, no queue yields to it, and pending is 0
 * @GPREEMPT_QUEUE_EVICTED: the driver keeps it off the device, because of its memory or for a
 *	suspend: no queue yields to it meanwhile
 * @GPREEMPT_QUEUE_DEBUGGED: a debugger with CAP_SYS_NICE has its process, which is left alone meanwhile
 * @GPREEMPT_QUEUE_SUSPENDED: a debugger of its process keeps it off the device: no queue yields to it
 *	meanwhile. Since version 3
 * @GPREEMPT_QUEUE_STOPS_ALWAYS: GPREEMPT_FOLLOW_STOP_ALWAYS is set for its process, or for a cgroup above that. Since version 9
 * @GPREEMPT_QUEUE_STOPS_NEVER: the same of GPREEMPT_FOLLOW_STOP_NEVER. Since version 9
 * @GPREEMPT_QUEUE_WAITS: its process waits for another one that has queues on the node (GPREEMPT_PARAM_WAITS_FOR). Since version 11
 * @GPREEMPT_QUEUE_LENT: a process that waits for its own has lent it a higher priority than logical_priority; effective_priority has it.
 *	Since version 11
 */
enum gpreempt_queue_flag {
	GPREEMPT_QUEUE_HELD		= 1 << 0,
	GPREEMPT_QUEUE_BLOCKED		= 1 << 1,
	GPREEMPT_QUEUE_EXEMPT		= 1 << 2,
	GPREEMPT_QUEUE_UNSCHEDULED	= 1 << 3,
	GPREEMPT_QUEUE_EVICTED		= 1 << 4,
	GPREEMPT_QUEUE_DEBUGGED		= 1 << 5,
	GPREEMPT_QUEUE_SUSPENDED	= 1 << 6,
	GPREEMPT_QUEUE_STOPS_ALWAYS	= 1 << 7,
	GPREEMPT_QUEUE_STOPS_NEVER	= 1 << 8,
	GPREEMPT_QUEUE_WAITS		= 1 << 9,
	GPREEMPT_QUEUE_LENT		= 1 << 10,
};

/**
 * enum gpreempt_verdict - why a queue has the device or does not, as the last look decided
 * @GPREEMPT_VERDICT_NONE: no look has decided about it: it has just come, or its node is paused or
 *	gave up; then it may run. Also what a module before version 2 says
 * @GPREEMPT_VERDICT_RUNS: it has work, and no queue with a higher rank has
 * @GPREEMPT_VERDICT_NO_DEMAND: it has no work, and is left on the device
 * @GPREEMPT_VERDICT_DORMANT: it has had no work for long, or never any, and is not looked at until
 *	its pointers move
 * @GPREEMPT_VERDICT_BLOCKED: its packets wait for something else than the device; no queue yields
 *	to it
 * @GPREEMPT_VERDICT_DRIVER: the driver has taken it off the device: eviction, suspend, debugger,
 *	UPDATE_QUEUE; no queue yields to it
 * @GPREEMPT_VERDICT_UNSEEN: its ring pointers cannot be read; it may run, and no queue yields to it
 * @GPREEMPT_VERDICT_EXPECTED: its work was announced, and the device is kept clear for it
 * @GPREEMPT_VERDICT_RELIEF: it was kept off for gpreempt_max_hold_ms, so for a while it runs before
 *	others, or its hold does not count
 * @GPREEMPT_VERDICT_SIBLING: others with work have a higher rank, and one of them is its own process's
 * @GPREEMPT_VERDICT_AGED: it waited for so long that for a while it runs beside a higher rank
 * @GPREEMPT_VERDICT_EXEMPT: it would have to go, and its process is exempt
 * @GPREEMPT_VERDICT_OBSTACLE: it would have to go, and the driver does not allow it: a debugger, a
 *	queue of its process that was reset, no save area
 * @GPREEMPT_VERDICT_MIN_RUN: it has to go when gpreempt_min_run_us is over
 * @GPREEMPT_VERDICT_BUDGET: it has to go when gpreempt_overhead_pct allows another preemption
 * @GPREEMPT_VERDICT_OBSERVED: it would have to go, and its node only observes (gpreempt_observe).
 *	Since version 4
 * @GPREEMPT_VERDICT_JOB: its job works on another node, and the device is kept clear for it here. Since
 *	version 5
 * @GPREEMPT_VERDICT_DRAINS: it has to go, unless its work ends within the time that a save takes, as
 *	it did before (gpreempt_drain_us). Since version 9
 * @GPREEMPT_VERDICT_YIELDS: a queue with a higher rank has work
 * @GPREEMPT_VERDICT_OWN_PROCESS: a queue of its own process that was asked to come first has work
 * @GPREEMPT_VERDICT_HOLD: it is held on request
 * @GPREEMPT_VERDICT_AGEING: it is old enough to run beside others, and waits as others that were had
 *	their time just before
 * @GPREEMPT_VERDICT_RESUME_DELAYED: no queue with a higher rank has work any more, but one may come
 *	back soon (gpreempt_resume_delay_us, short gaps before, the overhead budget)
 * @GPREEMPT_VERDICT_LEFT_OFF: no queue with a higher rank has work, but neither has it: the next
 *	change of the runlist takes it along
 * @GPREEMPT_VERDICT_JOB_YIELDS: its job is off another node, for which its work here would only wait, and
 *	a queue of another process has work. Since version 5
 * @GPREEMPT_VERDICT_STOPPED: its process is stopped or frozen (gpreempt_follow_stop,
 *	GPREEMPT_PARAM_FOLLOW_STOP). Since version 6
 * @GPREEMPT_VERDICT_SHARE: it is the turn of another group (GPREEMPT_IOC_SET_SHARE). Since version 7
 * @GPREEMPT_VERDICT_MAXIMUM: its group has had its quota of this period (GPREEMPT_IOC_SET_SHARE). Since
 *	version 7
 * @GPREEMPT_VERDICT_IDLE: its process is idle, and there are more queues than slots or more processes
 *	than VMIDs: it comes back with the next doorbell (gpreempt_idle_evict_us). Since version 7
 *
 * From 32 on it is off the device, or on its way.
 */
enum gpreempt_verdict {
	GPREEMPT_VERDICT_NONE,
	GPREEMPT_VERDICT_RUNS,
	GPREEMPT_VERDICT_NO_DEMAND,
	GPREEMPT_VERDICT_DORMANT,
	GPREEMPT_VERDICT_BLOCKED,
	GPREEMPT_VERDICT_DRIVER,
	GPREEMPT_VERDICT_UNSEEN,
	GPREEMPT_VERDICT_EXPECTED,
	GPREEMPT_VERDICT_RELIEF,
	GPREEMPT_VERDICT_SIBLING,
	GPREEMPT_VERDICT_AGED,
	GPREEMPT_VERDICT_EXEMPT,
	GPREEMPT_VERDICT_OBSTACLE,
	GPREEMPT_VERDICT_MIN_RUN,
	GPREEMPT_VERDICT_BUDGET,
	GPREEMPT_VERDICT_OBSERVED,
	GPREEMPT_VERDICT_JOB,
	GPREEMPT_VERDICT_DRAINS,

	GPREEMPT_VERDICT_YIELDS		= 32,
	GPREEMPT_VERDICT_OWN_PROCESS,
	GPREEMPT_VERDICT_HOLD,
	GPREEMPT_VERDICT_AGEING,
	GPREEMPT_VERDICT_RESUME_DELAYED,
	GPREEMPT_VERDICT_LEFT_OFF,
	GPREEMPT_VERDICT_JOB_YIELDS,
	GPREEMPT_VERDICT_STOPPED,
	GPREEMPT_VERDICT_SHARE,
	GPREEMPT_VERDICT_MAXIMUM,
	GPREEMPT_VERDICT_IDLE,
};

/**
 * struct gpreempt_queue_info - a compute queue under scheduling
 * @pid: its process in the caller's namespace
 * @gpu_id: its node
 * @queue_id: KFD's number of the queue within the process
 * @state: &enum gpreempt_queue_state
 * @flags: bits of &enum gpreempt_queue_flag
 * @logical_priority: what counts against other processes, but for what is lent
 * @effective_priority: the same with what is lent, and with ageing
 * @source: &enum gpreempt_source of @logical_priority
 * @kfd_priority: what the program asked KFD for, 0..15
 * @waves: waves in flight; while the device or the scheduler is busy, when they were last asked for; ~0: not known
 * @ring_base: GPU virtual address of the ring, by which a runtime's queue is recognised
 * @pending: AQL packets or PM4 dwords not yet read
 * @preempt_count: preemptions so far
 * @preempted_us: time spent preempted, with the current hold
 * @weight: share under the policy "wfq"
 * @verdict: &enum gpreempt_verdict
 * @to_priority: of the queue @to_queue_id; GPREEMPT_PRIORITY_MAX + 1: it is in a relief
 * @deadline_us: relative deadline under the policy "edf"; 0: none
 * @verdict_us: for how long the verdict has been the same
 * @left_us: it ends in so long at the latest, by itself; 0: it is due; ~0: that is not known, or it
 *	does not. Off the device this is how much longer the queue may be kept off at most
 * @to_pid: while it has to yield: the process to which it does, in the caller's namespace. 0: it need
 *	not, or the caller may not know, as of another user's process without CAP_SYS_ADMIN; then the
 *	members that begin as this one are 0
 * @to_queue_id: of the queues of the highest rank with work, the one with the highest priority; ~0
 *	with GPREEMPT_VERDICT_OWN_PROCESS, where only @to_pid is told
 * @to_pending: AQL packets or PM4 dwords that it has not yet read
 * @context: which of the program's KFD processes has the queue. 1: its first one; from 2 on contexts
 *	(AMDKFD_IOC_CREATE_PROCESS), which KFD calls context_0 and so on. Each numbers its queues by itself.
 *	0: a module before version 3 does not say
 * @to_context: the same of @to_queue_id
 *
 * Times and @to_pending that are too large are the largest that fit (less one for @left_us).
 */
struct gpreempt_queue_info {
	__s32 pid;
	__u32 gpu_id;
	__u32 queue_id;
	__u32 state;
	__u32 flags;
	__s32 logical_priority;
	__s32 effective_priority;
	__u32 source;
	__u32 kfd_priority;
	__u32 waves;
	__u64 ring_base;
	__u64 pending;
	__u64 preempt_count;
	__u64 preempted_us;
	__u32 weight;
	__u16 verdict;
	__s16 to_priority;
	__u64 deadline_us;
	__u32 verdict_us;
	__u32 left_us;
	__s32 to_pid;
	__u32 to_queue_id;
	__u32 to_pending;
	__u16 context;
	__u16 to_context;
};

/**
 * enum gpreempt_scope - what a command is about
 * @GPREEMPT_SCOPE_QUEUE: the queue @queue_id of the process @pid on @gpu_id
 * @GPREEMPT_SCOPE_PROCESS: all queues of the process @pid, also later ones; on @gpu_id, or on all nodes if that is 0
 * @GPREEMPT_SCOPE_CGROUP: all queues of processes in the cgroup whose directory is open as @cgroup_fd, and below it
 * @GPREEMPT_SCOPE_ALL: all queues that the caller may see
 */
enum gpreempt_scope {
	GPREEMPT_SCOPE_QUEUE,
	GPREEMPT_SCOPE_PROCESS,
	GPREEMPT_SCOPE_CGROUP,
	GPREEMPT_SCOPE_ALL,
};

/**
 * struct gpreempt_target - which queues
 * @scope: &enum gpreempt_scope; tells which of the other members count. The rest is 0.
 * @pid: 0: the caller's process
 * @gpu_id: 0: any, except with GPREEMPT_SCOPE_QUEUE
 * @queue_id: KFD's number of the queue
 * @cgroup_fd: a directory of the cgroup v2 file system
 * @context: with GPREEMPT_SCOPE_QUEUE and GPREEMPT_SCOPE_PROCESS: of one of the program's KFD processes alone, as
 *	&struct gpreempt_queue_info.context says; 0: of all
 *
 * Errors: EINVAL (a scope that does not exist or that the command does not take, a member set that the scope does not use, a negative
 * pid, a queue without gpu_id); ESRCH (no such process in the caller's namespace; a thread that is no leader); ENODEV (no such node);
 * ENOENT (no such queue under scheduling); EBADF (not a directory of the cgroup v2 file system); EACCES (another user's process, without
 * CAP_SYS_ADMIN). Whose a process is, its effective user id says.
 */
struct gpreempt_target {
	__u32 scope;
	__s32 pid;
	__u32 gpu_id;
	__u32 queue_id;
	__s32 cgroup_fd;
	__u32 context;
};

/**
 * struct gpreempt_queue_usage - what a queue has used so far, or several have together. Since version 8
 * @busy_ns: time with work and the device. It lags behind by one look, 50 ms on average at most
 * @waiting_ns: time with work and without the device, or without any wave there
 * @preempted_ns: time that the scheduler kept it off the device, with work or without
 * @wave_us: waves in flight times microseconds
 *
 * Documentation/admin-guide.rst says how exact that is.
 */
struct gpreempt_queue_usage {
	__u64 busy_ns;
	__u64 waiting_ns;
	__u64 preempted_ns;
	__u64 wave_us;
};

/**
 * struct gpreempt_list - GPREEMPT_IOC_LIST: which queues there are
 * @target: in: any scope
 * @queues: in: array of &struct gpreempt_queue_info; may be 0 if @nr_queues is
 * @nr_queues: in: length of the array; out: queues there are, which may be more than were filled in
 * @flags: in: 0
 * @jobs: in: array of __u64, as long as @queues: receives the id of each queue's job; 0: it has none. May be 0: they are not asked for.
 *	Since version 5
 * @usage: in: array of &struct gpreempt_queue_usage, as long as @queues: receives what each queue has used. May be 0: it is not asked
 *	for. Since version 8
 *
 * Without CAP_SYS_ADMIN only queues of the caller's user are listed, others are not mentioned.
 */
struct gpreempt_list {
	struct gpreempt_target target;
	__u64 queues;
	__u32 nr_queues;
	__u32 flags;
	__u64 jobs;
	__u64 usage;
};

/**
 * enum gpreempt_usage_kind - whose usage a &struct gpreempt_usage_info is
 * @GPREEMPT_USAGE_NODE: of all processes, those that have ended included
 * @GPREEMPT_USAGE_CGROUP: of processes that made their first queue on the node while they were in this cgroup, not in one below it
 * @GPREEMPT_USAGE_JOB: of a job
 * @GPREEMPT_USAGE_PROCESS: of a process, while it lives
 */
enum gpreempt_usage_kind {
	GPREEMPT_USAGE_NODE,
	GPREEMPT_USAGE_CGROUP,
	GPREEMPT_USAGE_JOB,
	GPREEMPT_USAGE_PROCESS,
};

/**
 * struct gpreempt_usage_info - what has been used of a node
 * @kind: &enum gpreempt_usage_kind
 * @gpu_id: the node
 * @cgroup: id of the cgroup, which is the inode number of its directory; of a process, of the one that it counts for. 0 of a cgroup: all of
 *	@uid that are not remembered any more, together
 * @job: id of the job; of a process, of the one that it is in; 0: none. 0 of a job: all of @uid that are not remembered any more, together
 * @pid: the process, in the caller's namespace
 * @nr_processes: processes with queues on the node now
 * @usage: it never becomes less while @kind, @gpu_id and what says whose it is stay the same
 * @used_ns: of a node: time for which some queue ran. The sum of @usage.busy_ns is larger where kernels run side by side
 * @uid: of what is not remembered any more: the user whose processes came first to these cgroups or jobs; UINT_MAX: of users that are not
 *	told apart any more. Otherwise 0
 * @pad: 0
 * @reserved: 0
 */
struct gpreempt_usage_info {
	__u32 kind;
	__u32 gpu_id;
	__u64 cgroup;
	__u64 job;
	__s32 pid;
	__u32 nr_processes;
	struct gpreempt_queue_usage usage;
	__u64 used_ns;
	__u32 uid;
	__u32 pad;
	__u64 reserved;
};

/**
 * struct gpreempt_usage - GPREEMPT_IOC_USAGE: who has used how much. Since version 8
 * @entries: in: array of &struct gpreempt_usage_info; may be 0 if @nr_entries is
 * @nr_entries: in: length of the array; out: entries there are, which may be more than were filled in
 * @kinds: in: bits 1 << &enum gpreempt_usage_kind; 0: all
 * @gpu_id: in: the node; 0: all
 * @flags: in: 0
 * @time_ns: out: CLOCK_MONOTONIC of the answer
 * @reserved: 0
 *
 * A node's counters begin when the driver is loaded. They stand still while scheduling is switched off or gpreempt_account is 0. Of processes that
 * have ended their job, their cgroup and their node keep what they used. On each node 512 jobs and cgroups without a process are remembered of a
 * user, and 2048 of all; of more the oldest of the user who has most are told together. So all cgroups together are what the node is. Processes
 * that live and have no queue are counted with them, and begin anew if they are forgotten.
 *
 * Without CAP_SYS_ADMIN only processes of the caller's user are told, and jobs that this user has set.
 *
 * Errors: ENODEV (no such node); ENOMEM.
 */
struct gpreempt_usage {
	__u64 entries;
	__u32 nr_entries;
	__u32 kinds;
	__u32 gpu_id;
	__u32 flags;
	__u64 time_ns;
	__u64 reserved[2];
};

#define GPREEMPT_PRIORITY_CLEAR		(1 << 0)
#define GPREEMPT_PRIORITY_INHERIT	(1 << 1)

/**
 * struct gpreempt_priority - GPREEMPT_IOC_SET_PRIORITY
 * @target: in: a queue, a process or a cgroup
 * @priority: in: GPREEMPT_PRIORITY_MIN..GPREEMPT_PRIORITY_MAX; 0 with GPREEMPT_PRIORITY_CLEAR
 * @flags: in: GPREEMPT_PRIORITY_CLEAR: forget what was set; sources of lower rank count again.
 *	GPREEMPT_PRIORITY_INHERIT, of a process, without the other: processes below it inherit it. Since
 *	version 3
 * @reserved: 0
 *
 * Of a process it stays until cleared or until the process ends; children do not inherit it, unless
 * asked. Of a cgroup it stays until cleared or until the cgroup goes, and holds for each process in it. A
 * process need not have queues yet; its @target.gpu_id and @target.context are 0: it is for all that
 * the program has.
 *
 * What was set without CAP_SYS_NICE and CAP_SYS_ADMIN is worth no more than what a caller with one
 * of them set at a lower rank, and no more than GPREEMPT_PRIORITY_NORMAL less the nice value: it is
 * a way to yield.
 *
 * A process inherits when it makes its first queue on a node, from the nearest process above it that
 * has a priority to inherit then, and keeps that for as long as it has queues there. Above a process
 * is its parent; above one whose parent is outside of its pid namespace (docker exec) it is the
 * namespace's init. One whose parents have ended is below the process that adopted it.
 *
 * Errors: those of the target; ERANGE (out of bounds; a cgroup below level 32, of which the root is
 * 0); EUSERS (the user has settings for 1024 processes); EPERM (above GPREEMPT_PRIORITY_NORMAL
 * without CAP_SYS_NICE; a change, without CAP_SYS_NICE and CAP_SYS_ADMIN, of what was set with one
 * of them; a cgroup's without CAP_SYS_ADMIN); ENOMEM.
 */
struct gpreempt_priority {
	struct gpreempt_target target;
	__s32 priority;
	__u32 flags;
	__u64 reserved[2];
};

/**
 * enum gpreempt_follow_stop - values of GPREEMPT_PARAM_FOLLOW_STOP: where are its queues while a process is stopped or frozen?
 * @GPREEMPT_FOLLOW_STOP_NODE: nothing is set. What is set for the nearest cgroup above counts; where nothing is, gpreempt_follow_stop of each node
 * @GPREEMPT_FOLLOW_STOP_ALWAYS: off the device
 * @GPREEMPT_FOLLOW_STOP_NEVER: on the device
 */
enum gpreempt_follow_stop {
	GPREEMPT_FOLLOW_STOP_NODE,
	GPREEMPT_FOLLOW_STOP_ALWAYS,
	GPREEMPT_FOLLOW_STOP_NEVER,
};

/**
 * enum gpreempt_param - parameters of policies, of a queue, a process or a cgroup
 * @GPREEMPT_PARAM_WEIGHT: share under "wfq", 1..10000; 0: by priority
 * @GPREEMPT_PARAM_DEADLINE_US: relative deadline under "edf", up to an hour; 0: none. Of a process that has a runtime it is the period of
 *	that, and has to fit; 0 takes the runtime away as well
 * @GPREEMPT_PARAM_EXEMPT: 1: never a victim; of a process only. 0: like every other
 * @GPREEMPT_PARAM_FOLLOW_STOP: &enum gpreempt_follow_stop; of a process, or of a cgroup for all processes in it and below it. Since version 9
 * @GPREEMPT_PARAM_WAITS_FOR: of a process only: the pid of another one, for which it waits; 0: for none. Since version 11
 * @GPREEMPT_PARAM_RUNTIME_US: device time that is reserved for the process on each node in each period under "edf", 1 to its period; 0:
 *	none, it has an equal part. Its queues with a deadline of their own and its contexts are not in it. Since version 11
 *
 * A process that waits for another one lends it its priority: on each node on which both have queues, those of the other one (of the first of
 * its contexts there) count against other processes as the most urgent queue of the one that waits does, if that is more. It counts for as
 * long as it is set, whatever either has to do: a program says it before it waits and takes it back after. What is lent is passed on along up
 * to eight processes that wait for each other; circles are harmless. Weights and deadlines are not lent. It ends with either process.
 *
 * What a caller without CAP_SYS_NICE and CAP_SYS_ADMIN sets lends a queue no more than such a caller could set for it: see
 * &struct gpreempt_priority.
 */
enum gpreempt_param {
	GPREEMPT_PARAM_WEIGHT,
	GPREEMPT_PARAM_DEADLINE_US,
	GPREEMPT_PARAM_EXEMPT,
	GPREEMPT_PARAM_FOLLOW_STOP,
	GPREEMPT_PARAM_WAITS_FOR,
	GPREEMPT_PARAM_RUNTIME_US,
};

/**
 * struct gpreempt_set_param - GPREEMPT_IOC_SET_PARAM
 * @target: in: a queue, a process or a cgroup
 * @param: in: &enum gpreempt_param
 * @flags: in: 0
 * @value: in: in the parameter's unit and bounds
 * @reserved: 0
 * @period_us: in: with GPREEMPT_PARAM_RUNTIME_US and a value: the period, which becomes the deadline; 0: the deadline that is set stays.
 *	Otherwise 0. Since version 11
 *
 * A runtime is refused if it does not fit on a node where the process has queues, beside what others have reserved there: see
 * &struct gpreempt_fits_info. It holds as well on nodes to which the process comes later, from when it fits there.
 *
 * Errors: those of the target, and with GPREEMPT_PARAM_WAITS_FOR of the process that is waited for; EINVAL (a runtime without a period);
 * ERANGE (out of bounds; a cgroup below level 32); EPERM (without CAP_SYS_NICE, but for GPREEMPT_PARAM_WAITS_FOR: there, without CAP_SYS_NICE
 * and CAP_SYS_ADMIN, a change of what was set with one of them; of a cgroup, without CAP_SYS_ADMIN); EUSERS (GPREEMPT_PARAM_WAITS_FOR: the user
 * has settings for 1024 processes); ENOSPC (a runtime that does not fit; the kernel log tells what is missing); ENOMEM. After an error what was
 * set before stays.
 */
struct gpreempt_set_param {
	struct gpreempt_target target;
	__u32 param;
	__u32 flags;
	__u64 value;
	__u64 reserved[1];
	__u64 period_us;
};

#define GPREEMPT_HOLD_UNBOUNDED		(1 << 0)
#define GPREEMPT_HOLD_EVERYBODYS	(1 << 1)

/**
 * struct gpreempt_hold - GPREEMPT_IOC_PREEMPT, GPREEMPT_IOC_RESUME
 * @target: in: a queue or a process
 * @timeout_ms: in: PREEMPT: how long to wait until the state is saved; 0: the driver's own timeout. RESUME, since version 10: how long
 *	to wait until each queue of @target is on the device, or is kept off it for another reason; 0: not at all
 * @flags: in: PREEMPT: GPREEMPT_HOLD_UNBOUNDED: not bounded by gpreempt_max_hold_ms; needs CAP_SYS_ADMIN.
 *	RESUME: GPREEMPT_HOLD_EVERYBODYS: end the holds of all descriptors and those made through /dev/kfd, not only of this one
 * @nr_queues: out: queues that are off the device on behalf of this descriptor (PREEMPT), or that were given back (RESUME)
 * @nr_off: in: 0; out: of a RESUME with @timeout_ms: queues of @target that are not on the device. Their verdicts in
 *	GPREEMPT_IOC_LIST tell why. Since version 10
 * @reserved: 0
 *
 * PREEMPT returns when the state of every queue is saved. Holds belong to the descriptor: one each
 * per queue, however often it is asked for. They end with RESUME, with the last close() of the
 * descriptor, also by SIGKILL, with the queue, and when scheduling is switched off or only observes.
 * The hold on a queue with work does not count for gpreempt_relief_ms after each gpreempt_max_hold_ms, unless it
 * is unbounded. A queue runs again when no descriptor holds it and its priority allows.
 *
 * RESUME with @timeout_ms waits for the first look of the scheduler after the holds have ended, and until the device has read what that
 * sent. Then a queue is on the device, or another hold, the scheduler or the driver keeps it off. The holds end first, so they have
 * ended whatever RESUME returns, but for EPERM. A second RESUME of the same target ends nothing, and waits for the same.
 *
 * Errors: those of the target; EBUSY (the driver does not let a queue go now: debugger, cooperative
 * groups, it was reset); EOPNOTSUPP (the node cannot preempt, gave up or only observes, or
 * scheduling is switched off); ETIME (PREEMPT: not saved in time; the hold stays, and the state is saved
 * when it is. RESUME: not all are back in time; they come when they can); EINTR (a signal; as ETIME); EIO (PREEMPT: the device is
 * suspended or being reset; RESUME: a queue was reset while it was held, and stays off; all holds were ended); ENOMEM
 * (nothing is held); EUSERS (without CAP_SYS_ADMIN: 64 descriptors hold a queue, nothing is held; or 64 calls of the user wait: nothing
 * is held, or RESUME did not wait); EPERM (GPREEMPT_HOLD_UNBOUNDED without CAP_SYS_ADMIN; GPREEMPT_HOLD_EVERYBODYS,
 * and a descriptor with CAP_SYS_ADMIN holds one: the others' holds were ended).
 */
struct gpreempt_hold {
	struct gpreempt_target target;
	__u32 timeout_ms;
	__u32 flags;
	__u32 nr_queues;
	__u32 nr_off;
	__u64 reserved[2];
};

/**
 * struct gpreempt_hint - GPREEMPT_IOC_HINT: work that must not wait comes soon
 * @target: in: a queue or a process, which must have more than the lowest priority on its node to have any effect
 * @within_us: in: how soon, 1..1000000. The queues below it are preempted now; if the work has not come after this
 *	time, they are resumed.
 * @flags: in: 0
 * @reserved: 0
 *
 * Errors: those of the target; ERANGE (@within_us); EOPNOTSUPP (scheduling is switched off).
 */
struct gpreempt_hint {
	struct gpreempt_target target;
	__u32 within_us;
	__u32 flags;
	__u64 reserved[2];
};

#define GPREEMPT_JOB_CLEAR		(1 << 0)
#define GPREEMPT_JOB_INHERIT		(1 << 1)
#define GPREEMPT_JOB_STAY		(1 << 2)

/**
 * struct gpreempt_set_job - GPREEMPT_IOC_SET_JOB: processes that wait for each other. Since version 5
 * @target: in: a process or a cgroup
 * @job: in: id of the job, not 0; 0 with GPREEMPT_JOB_CLEAR
 * @flags: in: GPREEMPT_JOB_CLEAR: forget what was set. GPREEMPT_JOB_INHERIT, of a process: processes below it
 *	are in the job from their first queue on. GPREEMPT_JOB_STAY: when the job is off one node because of its
 *	priority, its queues stay on the others; otherwise they yield to any other work there. What was set last
 *	for any of its processes counts for all
 * @reserved1: 0
 * @reserved: 0
 *
 * Queues of a job have demand on all of its nodes while one of them works, and leave and come back together.
 * It stays until cleared or until the process or cgroup ends, and counts at once for queues that are there.
 * The setting of the process counts, then what it inherits, then that of the nearest cgroup, but none gets
 * around what a caller with CAP_SYS_ADMIN set at a lower rank.
 *
 * A job belongs to who sets it: a user in a pid namespace. The same id of two owners is two jobs. Those of
 * callers with CAP_SYS_ADMIN are another set of ids, and processes of any user may be in them. What another
 * caller sets holds for those processes alone that it may name, also where it is inherited.
 *
 * Errors: those of the target; EINVAL (0 without GPREEMPT_JOB_CLEAR, or anything else with it); EPERM, without
 * CAP_SYS_ADMIN (a change of what was set with it; of a cgroup); ENOMEM.
 */
struct gpreempt_set_job {
	struct gpreempt_target target;
	__u64 job;
	__u32 flags;
	__u32 reserved1;
	__u64 reserved[2];
};

#define GPREEMPT_SHARE_CLEAR		(1 << 0)

/* Bounds of a maximum */
#define GPREEMPT_PERIOD_US_MIN		10000
#define GPREEMPT_PERIOD_US_MAX		1000000
#define GPREEMPT_QUOTA_US_MIN		1000

/**
 * struct gpreempt_set_share - GPREEMPT_IOC_SET_SHARE: device time of a group of processes. Since version 7
 * @target: in: the cgroup whose processes it is, with those below it; GPREEMPT_SCOPE_ALL with @job
 * @job: in: id of a job that a caller with CAP_SYS_ADMIN sets; 0: the cgroup's
 * @weight: in: its part of what the group above it has, against the other groups with work: 1..10000; 100 is what processes have
 *	that are in no group
 * @min_pct: in: so much of each device's time it has at least while it has work, whatever the weights of others, 0..100 percent
 * @quota_us: in: so long it may have each device in each period, GPREEMPT_QUOTA_US_MIN..@period_us; 0: no maximum
 * @period_us: in: GPREEMPT_PERIOD_US_MIN..GPREEMPT_PERIOD_US_MAX; 0 without @quota_us
 * @flags: in: GPREEMPT_SHARE_CLEAR: it has no share of its own any more. The numbers are 0 then
 * @reserved: 0
 *
 * The whole of it replaces what was set before. Of a cgroup it stays until cleared or until the cgroup goes, of a job until cleared.
 * A process is in the group of its job, otherwise in that of the nearest cgroup that has a share. Above a cgroup's group is that of the
 * next cgroup above it that has one. On each node groups divide the time by themselves, among processes of the same priority; the
 * maximum holds for all priorities.
 *
 * Errors: those of the target; EINVAL (another scope; a quota without a period, or a period without a quota; a number with
 * GPREEMPT_SHARE_CLEAR); ERANGE (out of bounds; a cgroup below level 32); EPERM (without CAP_SYS_ADMIN); ENOSPC (127 groups have a
 * share). After an error what was set before stays.
 */
struct gpreempt_set_share {
	struct gpreempt_target target;
	__u64 job;
	__u32 weight;
	__u32 min_pct;
	__u64 quota_us;
	__u64 period_us;
	__u64 flags;
	__u64 reserved[2];
};

#define GPREEMPT_SHARE_RUNS		(1 << 0)
#define GPREEMPT_SHARE_FULL		(1 << 1)

/**
 * struct gpreempt_share_info - a group on a node
 * @cgroup_id: its cgroup, which is the inode number of the directory; 0: it is a job, or the root group with all processes of the node
 * @job: id of its job; 0: it is none
 * @parent_id: cgroup of the group above it; 0: the root group
 * @gpu_id: the node
 * @flags: GPREEMPT_SHARE_RUNS: it has the device, or its turn. GPREEMPT_SHARE_FULL: it has had its quota of this period
 * @weight: as set; 0: the root group
 * @min_pct: as set
 * @quota_us: as set
 * @period_us: as set
 * @served_us: device time that it has had since it has a share, with the groups below it
 * @reserved: 0
 */
struct gpreempt_share_info {
	__u64 cgroup_id;
	__u64 job;
	__u64 parent_id;
	__u32 gpu_id;
	__u32 flags;
	__u32 weight;
	__u32 min_pct;
	__u64 quota_us;
	__u64 period_us;
	__u64 served_us;
	__u64 reserved[2];
};

/**
 * struct gpreempt_list_shares - GPREEMPT_IOC_LIST_SHARES. Since version 7
 * @shares: in: array of &struct gpreempt_share_info; may be 0 if @nr_shares is
 * @nr_shares: in: length of the array; out: groups there are, on all nodes, which may be more than were filled in
 * @flags: in: 0
 * @reserved: 0
 *
 * A node lists its groups when its monitor has taken them in.
 *
 * Errors: EPERM (without CAP_SYS_ADMIN); ENOMEM.
 */
struct gpreempt_list_shares {
	__u64 shares;
	__u32 nr_shares;
	__u32 flags;
	__u64 reserved[2];
};

#define GPREEMPT_FITS_YES		(1 << 0)
#define GPREEMPT_FITS_SHORT		(1 << 1)
#define GPREEMPT_FITS_HERE		(1 << 2)

/**
 * struct gpreempt_fits_info - what is reserved on a node
 * @gpu_id: the node
 * @flags: of what is asked: GPREEMPT_FITS_YES: it fits. GPREEMPT_FITS_SHORT: its period is shorter than @least_period_us.
 *	GPREEMPT_FITS_HERE: the process of the question has queues here, so that it is refused if it does not fit
 * @reserved_ppm: parts of a million of the device that reservations take: the sum of (runtime + 2 @switch_ns) / period over all processes
 *	with a runtime and queues here
 * @free_ppm: what is left of what may be reserved: all but what gpreempt_max_hold_ms and gpreempt_relief_ms give to work that starves
 * @need_ppm: what the one that is asked about takes; 0 if nothing is asked
 * @nr_reservations: processes with a runtime and queues here
 * @nr_waiting: those of them that do not have it: it did not fit when they came, and they have it when it does, or the policy is not "edf"
 * @pad: 0
 * @switch_ns: what leaving the device and coming back once costs, by the last passes. It changes: what fitted may be late when it has grown
 * @least_period_us: 20 times that
 * @reserved: 0
 *
 * Parts are rounded so that what fits by these numbers does.
 */
struct gpreempt_fits_info {
	__u32 gpu_id;
	__u32 flags;
	__u32 reserved_ppm;
	__u32 free_ppm;
	__u32 need_ppm;
	__u32 nr_reservations;
	__u32 nr_waiting;
	__u32 pad;
	__u64 switch_ns;
	__u64 least_period_us;
	__u64 reserved[2];
};

/**
 * struct gpreempt_fits - GPREEMPT_IOC_FITS: what is reserved, and does another one fit? Since version 11
 * @target: in: GPREEMPT_SCOPE_ALL: one that has no runtime yet. GPREEMPT_SCOPE_PROCESS, without a node or a context: in place of what that
 *	process has
 * @runtime_us: in: the runtime that is asked about; 0: none is
 * @period_us: in: its period; 0 without @runtime_us
 * @nodes: in: array of &struct gpreempt_fits_info; may be 0 if @nr_nodes is
 * @nr_nodes: in: length of the array; out: nodes there are, which may be more than were filled in
 * @flags: in: 0
 * @reserved: 0
 *
 * Nothing is reserved by asking.
 *
 * Errors: those of the target; EINVAL (another scope; a period without a runtime, or a runtime without a period); ERANGE (a period above an hour;
 * a runtime above the period); EPERM (without CAP_SYS_NICE); ENOMEM.
 */
struct gpreempt_fits {
	struct gpreempt_target target;
	__u64 runtime_us;
	__u64 period_us;
	__u64 nodes;
	__u32 nr_nodes;
	__u32 flags;
	__u64 reserved[2];
};

/**
 * enum gpreempt_event_type - what happened
 * @GPREEMPT_EVENT_INVERSION: on the node, a queue has work and a lower one has the device; value:
 *	the priority that should have it
 * @GPREEMPT_EVENT_PREEMPTED: the queue was saved; value: nanoseconds it took
 * @GPREEMPT_EVENT_RESUMED: the queue may run again; value: nanoseconds it was off the device
 * @GPREEMPT_EVENT_FAILED: the node (queue_id ~0) or the queue; value: errno
 * @GPREEMPT_EVENT_PRIORITY: the queue's logical priority changed; value: the old one
 * @GPREEMPT_EVENT_OBSERVED: the queue would have been preempted if its node did not only observe;
 *	value: 0. Since version 4
 * @GPREEMPT_EVENT_REQUEST: on a node that only observes, the queue had work beside which such a
 *	queue ran; value: nanoseconds that its first packet waited for the device; -1: it did not
 *	wait, or it is not known. Since version 4
 */
enum gpreempt_event_type {
	GPREEMPT_EVENT_INVERSION,
	GPREEMPT_EVENT_PREEMPTED,
	GPREEMPT_EVENT_RESUMED,
	GPREEMPT_EVENT_FAILED,
	GPREEMPT_EVENT_PRIORITY,
	GPREEMPT_EVENT_OBSERVED,
	GPREEMPT_EVENT_REQUEST,
};

/**
 * struct gpreempt_event - a record that read() delivers; whole records only
 * @time_ns: CLOCK_MONOTONIC
 * @type: &enum gpreempt_event_type
 * @missed: events lost before this one because they were not read in time
 * @pid: its process in the pid namespace of the descriptor's opener; 0 for a node
 * @gpu_id: its node
 * @queue_id: KFD's number of the queue; ~0 for a node
 * @priority: its logical priority
 * @value: by type
 * @context: of its queue, as &struct gpreempt_queue_info.context; 0 for a node
 * @reserved1: 0
 * @reserved: 0
 *
 * A descriptor gets the events of queues that GPREEMPT_IOC_LIST would show to who opened it with GPREEMPT_SCOPE_ALL, and those of nodes (of them
 * GPREEMPT_EVENT_INVERSION only with CAP_SYS_ADMIN), from its first read() or poll() on. It keeps 1024 of them unread, then new ones are lost. read() waits for the first, unless O_NONBLOCK.
 *
 * Errors of read(): EINVAL (less than a record), EAGAIN, EINTR, EFAULT, ENOMEM, EMFILE (a user without CAP_SYS_ADMIN listens through 64
 * descriptors at most).
 */
struct gpreempt_event {
	__u64 time_ns;
	__u32 type;
	__u32 missed;
	__s32 pid;
	__u32 gpu_id;
	__u32 queue_id;
	__s32 priority;
	__s64 value;
	__u32 context;
	__u32 reserved1;
	__u64 reserved;
};

#define GPREEMPT_IOC_INFO		_IOWR('Y', 0x00, struct gpreempt_info)
#define GPREEMPT_IOC_LIST		_IOWR('Y', 0x01, struct gpreempt_list)
#define GPREEMPT_IOC_SET_PRIORITY	_IOW('Y', 0x02, struct gpreempt_priority)
#define GPREEMPT_IOC_SET_PARAM		_IOW('Y', 0x03, struct gpreempt_set_param)
#define GPREEMPT_IOC_PREEMPT		_IOWR('Y', 0x04, struct gpreempt_hold)
#define GPREEMPT_IOC_RESUME		_IOWR('Y', 0x05, struct gpreempt_hold)
#define GPREEMPT_IOC_HINT		_IOW('Y', 0x06, struct gpreempt_hint)
#define GPREEMPT_IOC_SET_JOB		_IOW('Y', 0x07, struct gpreempt_set_job)
#define GPREEMPT_IOC_SET_SHARE		_IOW('Y', 0x08, struct gpreempt_set_share)
#define GPREEMPT_IOC_LIST_SHARES	_IOWR('Y', 0x09, struct gpreempt_list_shares)
#define GPREEMPT_IOC_USAGE		_IOWR('Y', 0x0a, struct gpreempt_usage)
#define GPREEMPT_IOC_FITS		_IOWR('Y', 0x0b, struct gpreempt_fits)

/*
 * On /dev/kfd, for queues of the process or context that the file is of. Other drivers use the same numbers with other sizes: the whole
 * command word decides.
 */

/**
 * struct kfd_ioctl_preempt_queue_args - AMDKFD_IOC_PREEMPT_QUEUE
 * @queue_id: in: KFD's number of the queue
 * @preempt_type: in: 2 (wavefront save); 0 and 1 (drain, reset) fail with EOPNOTSUPP
 * @timeout_ms: in: 0: the driver's own timeout
 * @pad: in: 0
 *
 * As GPREEMPT_IOC_PREEMPT; the hold is the process's.
 */
struct kfd_ioctl_preempt_queue_args {
	__u32 queue_id;
	__u32 preempt_type;
	__u32 timeout_ms;
	__u32 pad;
};

/**
 * struct kfd_ioctl_resume_queue_args - AMDKFD_IOC_RESUME_QUEUE
 * @queue_id: in: KFD's number of the queue
 * @pad: in: 0
 */
struct kfd_ioctl_resume_queue_args {
	__u32 queue_id;
	__u32 pad;
};

/**
 * struct kfd_ioctl_resume_queue_long_args - AMDKFD_IOC_RESUME_QUEUE_LONG
 * @queue_id: in: KFD's number of the queue
 * @pad: in: 0
 *
 * AMDKFD_IOC_RESUME_QUEUE as programs send it that have one size for both commands. Since version 3.
 */
struct kfd_ioctl_resume_queue_long_args {
	__u32 queue_id;
	__u32 pad[3];
};

#define AMDKFD_IOC_PREEMPT_QUEUE	_IOWR('K', 0x87, struct kfd_ioctl_preempt_queue_args)
#define AMDKFD_IOC_RESUME_QUEUE		_IOWR('K', 0x88, struct kfd_ioctl_resume_queue_args)
#define AMDKFD_IOC_RESUME_QUEUE_LONG	_IOWR('K', 0x88, struct kfd_ioctl_resume_queue_long_args)

#endif /* _UAPI_LINUX_KFD_GPREEMPT_H */
