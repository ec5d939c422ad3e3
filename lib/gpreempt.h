/* SPDX-License-Identifier: MIT */
/*
 * gpreempt.h - libgpreempt: priorities and preemption of GPU compute queues, from user space
 *
 * A thin layer over /dev/kfd_gpreempt; <linux/kfd_gpreempt.h> says what the structures and values mean. A handle is an open
 * descriptor, any number of threads may use it at once, and what was held through it is given back when it is closed or its process
 * ends. Units, for schedulers in user space, are all the state that the library has besides.
 *
 * Functions return 0 or a count, or a negative errno. They set errno to nothing in particular.
 */
#ifndef GPREEMPT_H
#define GPREEMPT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/kfd_gpreempt.h>

#ifdef __cplusplus
extern "C" {
#endif

/** struct gpreempt - a handle; see gpreempt_open() */
struct gpreempt;

/**
 * gpreempt_open() - connect to the scheduler
 * @handle: out: to be given to gpreempt_close() by the caller; NULL after an error
 *
 * Return: 0; -ENOENT: the module is not loaded, or is not ours; -EPROTO: it speaks no version of the ABI that this library knows; -EACCES,
 * -EMFILE and others of open(2).
 */
int gpreempt_open(struct gpreempt **handle);

/** gpreempt_close() - give back everything held and free @handle; NULL is allowed */
void gpreempt_close(struct gpreempt *handle);

/** gpreempt_fd() - the descriptor, for poll(2): readable when an event is there. Stays the handle's. */
int gpreempt_fd(const struct gpreempt *handle);

/** gpreempt_target_queue() - the queue @queue_id of process @pid (0: the caller's) on node @gpu_id */
struct gpreempt_target gpreempt_target_queue(pid_t pid, uint32_t gpu_id, uint32_t queue_id);

/** gpreempt_target_process() - all queues of process @pid (0: the caller's), on node @gpu_id (0: on all) */
struct gpreempt_target gpreempt_target_process(pid_t pid, uint32_t gpu_id);

/** gpreempt_target_cgroup() - everything in and below the cgroup whose directory is open as @fd */
struct gpreempt_target gpreempt_target_cgroup(int fd);

/** gpreempt_target_all() - all queues that the caller may see; for gpreempt_list_queues() */
struct gpreempt_target gpreempt_target_all(void);

/**
 * gpreempt_list_nodes() - what is known of the module and its nodes
 * @info: out, may be NULL: version and features; its array is cleared
 * @nodes: out: array, to be freed with free() by the caller; NULL after an error or when there are none
 *
 * Return: length of @nodes.
 */
int gpreempt_list_nodes(struct gpreempt *handle, struct gpreempt_info *info, struct gpreempt_node_info **nodes);

/**
 * gpreempt_list_queues() - a snapshot of queues
 * @target: which; any scope
 * @queues: out: array, to be freed with free() by the caller; NULL after an error or when there are none
 *
 * Return: length of @queues; -ESRCH, -ENODEV, -ENOENT, -EBADF, -EACCES: see &struct gpreempt_target.
 */
int gpreempt_list_queues(struct gpreempt *handle, const struct gpreempt_target *target, struct gpreempt_queue_info **queues);

/**
 * gpreempt_list_jobs() - the same with the job of each queue
 * @jobs: out: array of ids as long as @queues, to be freed with free() by the caller; 0: the queue has no job. NULL after an error or when
 *	there are no queues
 *
 * Return: length of both; as gpreempt_list_queues(). Of a module before version 5 all ids are 0.
 */
int gpreempt_list_jobs(struct gpreempt *handle, const struct gpreempt_target *target, struct gpreempt_queue_info **queues, uint64_t **jobs);

/**
 * gpreempt_list_queue_usage() - the same with what each queue has used
 * @usage: out: as @jobs; NULL also: the module tells none (before version 8)
 *
 * Return: as there.
 */
int gpreempt_list_queue_usage(struct gpreempt *handle, const struct gpreempt_target *target, struct gpreempt_queue_info **queues, uint64_t **jobs,
			      struct gpreempt_queue_usage **usage);

/**
 * gpreempt_find_queue() - the queue of a runtime, by the address of its ring
 * @pid: its process; 0: the caller's
 * @ring_base: what the runtime calls base address (hsa_queue_t.base_address)
 * @queue: out: what is known of it
 *
 * Return: 0; -ENOENT: no queue of the process has its ring there; -ESRCH, -EACCES.
 */
int gpreempt_find_queue(struct gpreempt *handle, pid_t pid, uint64_t ring_base, struct gpreempt_queue_info *queue);

/**
 * gpreempt_find_stream() - the queue to which a stream's work goes, where the runtime does not tell
 * @gpu_id: its node; 0: not known
 * @submit: makes the stream put a packet into its queue, without waiting for it; returns 0 or a negative errno
 * @arg: for @submit
 * @queue: out: what is known of the queue
 *
 * Takes the queues of the calling process off the device for a moment, has @submit put a packet,
 * and looks where it stays; several times, as other threads may submit work as well. A program asks
 * this once, when it makes the stream: later the runtime may let other streams use the same queue.
 * This one keeps it, unless HIP moves streams between queues (DEBUG_HIP_DYNAMIC_QUEUES).
 *
 * Return: 0; -ENOENT: the packet is in no queue under scheduling; -EAGAIN: it cannot be told from others' work; what @submit returned; as
 * gpreempt_open() and gpreempt_preempt().
 */
int gpreempt_find_stream(uint32_t gpu_id, int (*submit)(void *arg), void *arg, struct gpreempt_queue_info *queue);

/**
 * gpreempt_set_priority() - set the logical priority of a queue, a process or a cgroup
 * @priority: GPREEMPT_PRIORITY_MIN..GPREEMPT_PRIORITY_MAX, larger is more urgent
 *
 * Return: 0; -ERANGE, -EPERM and those of the target: see &struct gpreempt_priority.
 */
int gpreempt_set_priority(struct gpreempt *handle, const struct gpreempt_target *target, int priority);

/**
 * gpreempt_set_tree_priority() - set the priority of a process, which processes below it inherit
 * @target: a process
 * @priority: as above
 *
 * They inherit with their first queue (see &struct gpreempt_priority): those that have queues are
 * not changed.
 *
 * Return: as above; -EINVAL: also of a module before version 3.
 */
int gpreempt_set_tree_priority(struct gpreempt *handle, const struct gpreempt_target *target, int priority);

/** gpreempt_clear_priority() - forget what gpreempt_set_priority() or another program set. Return: as there. */
int gpreempt_clear_priority(struct gpreempt *handle, const struct gpreempt_target *target);

/**
 * gpreempt_list_usage() - who has used how much of each node, those that have ended included
 * @kinds: bits 1 << &enum gpreempt_usage_kind; 0: all
 * @gpu_id: the node; 0: all
 * @entries: out: array to be freed with free() by the caller; NULL after an error or when there are none
 * @time_ns: out: CLOCK_MONOTONIC of the answer; may be NULL
 *
 * Return: how many there are; -EINVAL, -ENODEV: see &struct gpreempt_usage; -ENOMEM; -ENOTTY: a module before version 7.
 */
int gpreempt_list_usage(struct gpreempt *handle, unsigned int kinds, unsigned int gpu_id, struct gpreempt_usage_info **entries, uint64_t *time_ns);

/**
 * gpreempt_set_job() - put a process or the processes of a cgroup into a job, which is decided about as one on all of its nodes
 * @job: its id, not 0; 0 with GPREEMPT_JOB_CLEAR
 * @flags: GPREEMPT_JOB_*
 *
 * Return: 0; -EINVAL, -EPERM and those of the target: see &struct gpreempt_set_job; -ENOTTY: a module before version 5.
 */
int gpreempt_set_job(struct gpreempt *handle, const struct gpreempt_target *target, uint64_t job, unsigned int flags);

/**
 * gpreempt_set_share() - give a cgroup or a job a share of each device's time, or take it back
 * @share: which and what; it is what the kernel gets
 *
 * Return: 0; -EINVAL, -ERANGE, -EPERM, -ENOSPC and those of the target: see &struct gpreempt_set_share; -ENOTTY: a module before version 7.
 */
int gpreempt_set_share(struct gpreempt *handle, const struct gpreempt_set_share *share);

/**
 * gpreempt_list_shares() - the groups that have a share, on each node, and what they have had
 * @shares: out: array, to be freed with free() by the caller; NULL after an error or when there are none
 *
 * Return: its length; -EPERM: without CAP_SYS_ADMIN; -ENOTTY: a module before version 7; -ENOMEM.
 */
int gpreempt_list_shares(struct gpreempt *handle, struct gpreempt_share_info **shares);

/**
 * gpreempt_set_runtime() - reserve device time for a process, in each period, under the policy edf
 * @target: the process, on all nodes
 * @runtime_us: device time in each period, in microseconds; 0: nothing any more, with @period_us 0
 * @period_us: the period, which becomes the deadline; 0: the deadline that is set stays
 *
 * Return: 0; -ENOSPC: it does not fit on a node where the process has queues, and what was set
 * before stays: gpreempt_list_fits() has the figures; -EINVAL: no deadline is set and no period
 * given, or a module before version 11; -ERANGE: a runtime above its period, a period above an
 * hour; -EPERM: without CAP_SYS_NICE; those of the target; -ENOMEM.
 */
int gpreempt_set_runtime(struct gpreempt *handle, const struct gpreempt_target *target, uint64_t runtime_us, uint64_t period_us);

/**
 * gpreempt_list_fits() - what is reserved on each node, and would another reservation fit?
 * @target: gpreempt_target_all(): of a process that has none yet; gpreempt_target_process(): in
 *	place of what that one has
 * @runtime_us: what is asked about, in microseconds; 0: nothing is
 * @period_us: its period; 0 without @runtime_us
 * @nodes: out: array, to be freed with free() by the caller; NULL after an error or when there are
 *	none
 *
 * Return: its length; -EINVAL, -ERANGE and those of the target: see &struct gpreempt_fits; -EPERM:
 * without CAP_SYS_NICE; -ENOTTY: a module before version 11; -ENOMEM.
 */
int gpreempt_list_fits(struct gpreempt *handle, const struct gpreempt_target *target, uint64_t runtime_us, uint64_t period_us,
		       struct gpreempt_fits_info **nodes);

/** gpreempt_set_param() - set a policy's parameter of a queue or process; see &enum gpreempt_param for units and bounds */
int gpreempt_set_param(struct gpreempt *handle, const struct gpreempt_target *target, enum gpreempt_param param, uint64_t value);

/**
 * gpreempt_set_waits_for() - say that a process waits for another one, and so lends it its priority
 * @target: the process that waits
 * @pid: the process that it waits for; 0: it waits for none any more
 *
 * A program says it before it waits, with gpreempt_target_process(0, 0), and takes it back after.
 * It belongs to the process that waits, not to @handle: it stays when that is closed, and ends with
 * either process. See &enum gpreempt_param for what is lent.
 *
 * Return: 0; -EINVAL: not a process, @pid is negative, or a module before version 11; -EPERM: what
 * was set with CAP_SYS_NICE or CAP_SYS_ADMIN takes one of them to change; -EUSERS; those of the
 * target, of either process.
 */
int gpreempt_set_waits_for(struct gpreempt *handle, const struct gpreempt_target *target, pid_t pid);

/**
 * gpreempt_preempt() - take a queue, or the queues of a process, off the device
 * @timeout_ms: how long to wait until everything is saved; 0: the driver's timeout
 * @flags: GPREEMPT_HOLD_*
 *
 * Returns when the waves are saved. The hold is the handle's and ends with gpreempt_resume() or gpreempt_close(), or when it lasts too long;
 * asking twice is the same as asking once.
 *
 * Return: number of queues held; -EBUSY, -EOPNOTSUPP, -ETIME, -EINTR, -EIO and those of the target: see &struct gpreempt_hold.
 */
int gpreempt_preempt(struct gpreempt *handle, const struct gpreempt_target *target, unsigned int timeout_ms, unsigned int flags);

/** gpreempt_resume() - end this handle's hold. Return: number of queues given back, which may be 0; as gpreempt_preempt(). */
int gpreempt_resume(struct gpreempt *handle, const struct gpreempt_target *target);

/**
 * gpreempt_resume_wait() - end holds, and wait until the queues are back
 * @timeout_ms: how long to wait until each queue is on the device, or is kept off it for another reason; 0: not at all
 * @flags: 0: this handle's holds; GPREEMPT_HOLD_EVERYBODYS: as gpreempt_resume_all()
 * @nr_off: out: queues of the target that are not on the device; their verdicts tell why (gpreempt_list_queues()). NULL: not asked for
 *
 * A time slice that is counted from the return is the program's. The holds have ended whatever is returned, but for -EPERM; to call it again
 * is to wait for the same.
 *
 * Return: number of queues given back, which may be 0; -ETIME: not all are back yet; -EINTR: the same, after a signal; -EINVAL: a module before
 * version 10, and the holds stay; those of the target.
 */
int gpreempt_resume_wait(struct gpreempt *handle, const struct gpreempt_target *target, unsigned int timeout_ms, unsigned int flags,
			 unsigned int *nr_off);

/**
 * gpreempt_resume_all() - end all holds on a queue or on the queues of a process, of whatever
 * descriptor
 *
 * Return: number of queues given back, which may be 0; -EPERM, -EIO and those of the target.
 */
int gpreempt_resume_all(struct gpreempt *handle, const struct gpreempt_target *target);

/*
 * Units: what a scheduler in user space stops and lets go on. A unit is one queue, or a process where it is not known which queue a stream
 * uses. Any number of units may be about the same queue or process, whatever made them; it is stopped as long as one of them is
 * interrupted. Units are the process's, not a handle's: after fork() the child has none, and what the parent stopped goes on when the
 * parent ends, whatever the child does.
 */

/** struct gpreempt_unit - see gpreempt_unit_open(); any number of threads may use it at once */
struct gpreempt_unit;

/**
 * gpreempt_unit_open() - get ready to stop a queue or a process
 * @target: a queue, which must be there, or a process, which need not have queues yet
 * @flags: 0, or GPREEMPT_HOLD_UNBOUNDED: not bounded by gpreempt_max_hold_ms; takes CAP_SYS_ADMIN
 * @unit: out: to be given to gpreempt_unit_close() by the caller; NULL after an error
 *
 * The unit is the numbers in @target. Close the units of a queue before it is destroyed: KFD gives
 * numbers again.
 *
 * Return: 0; -EINVAL: another scope or flag; -ENOMEM; as gpreempt_open() and gpreempt_list_queues().
 */
int gpreempt_unit_open(const struct gpreempt_target *target, unsigned int flags, struct gpreempt_unit **unit);

/** gpreempt_unit_close() - gpreempt_restore() and free; NULL is allowed */
void gpreempt_unit_close(struct gpreempt_unit *unit);

/**
 * gpreempt_interrupt() - stop a unit in the middle of whatever it does
 *
 * Returns when the waves of all its queues are saved, or with the reason why not. Twice is the same as once, and a pair with one
 * gpreempt_restore(); of a process, the second time takes queues along that were made since. Work may be submitted meanwhile. A queue that
 * has nothing to do is held as well, and does not begin.
 *
 * After -ETIME and -EINTR the unit is interrupted, and saved as soon as it can be; after other errors it is as it was before, but
 * not interrupted any more if its queue is gone (-ENOENT, -ESRCH), if scheduling is switched off (-EOPNOTSUPP), or after -ENOMEM and -EUSERS.
 *
 * Return: 0; -EBADF: the unit is the parent's, see fork(2); as gpreempt_preempt().
 */
int gpreempt_interrupt(struct gpreempt_unit *unit);

/**
 * gpreempt_restore() - let a unit go on at the instruction where it was stopped
 *
 * Returns when the hold has ended. The device has the queue back with the next pass of the
 * scheduler, which begins at once, if no other descriptor holds it and its priority allows. Without
 * gpreempt_interrupt() before, it does nothing. Whatever it returns, the unit is not interrupted.
 *
 * Return: 0; -ENOENT, -ESRCH: it was interrupted, and its queue or process is gone; -EBADF.
 */
int gpreempt_restore(struct gpreempt_unit *unit);

/**
 * enum gpreempt_unit_state - what became of a unit
 * @GPREEMPT_UNIT_GONE: there is no such queue, or no such process any more
 * @GPREEMPT_UNIT_IDLE: it may run and has no work; while a runlist is under way, it may only look so
 * @GPREEMPT_UNIT_ACTIVE: it may run and has work
 * @GPREEMPT_UNIT_PREEMPTED: no unit of this process stops it; the scheduler or another process does
 * @GPREEMPT_UNIT_STOPPING: interrupted, and not all of it is off the device: not yet, or not now
 *	(gpreempt_max_hold_ms), or, with &struct gpreempt_unit_status.nr_held too small, another
 *	process ended the hold, or a process has made another queue
 * @GPREEMPT_UNIT_INTERRUPTED: interrupted and saved
 */
enum gpreempt_unit_state {
	GPREEMPT_UNIT_GONE,
	GPREEMPT_UNIT_IDLE,
	GPREEMPT_UNIT_ACTIVE,
	GPREEMPT_UNIT_PREEMPTED,
	GPREEMPT_UNIT_STOPPING,
	GPREEMPT_UNIT_INTERRUPTED,
};

/**
 * struct gpreempt_unit_status - everything about a unit at one moment
 * @state: &enum gpreempt_unit_state
 * @interrupted: this very unit is
 * @nr_units: interrupted units of this process with the same target
 * @nr_queues: its queues under scheduling
 * @nr_off: how many of them are off the device
 * @nr_held: how many of them are held
 * @pending: AQL packets or PM4 dwords that they have not read
 * @preempt_count: preemptions so far
 * @preempted_us: time spent preempted
 */
struct gpreempt_unit_status {
	uint32_t state;
	bool interrupted;
	uint32_t nr_units;
	uint32_t nr_queues;
	uint32_t nr_off;
	uint32_t nr_held;
	uint64_t pending;
	uint64_t preempt_count;
	uint64_t preempted_us;
};

/** gpreempt_query() - look at a unit. Return: 0, also when it is gone; -EBADF; as gpreempt_list_queues(). */
int gpreempt_query(struct gpreempt_unit *unit, struct gpreempt_unit_status *status);

#define GPREEMPT_SYNC_DONE		0
#define GPREEMPT_SYNC_INTERRUPTED	1

/**
 * gpreempt_synchronize() - wait for work of a unit, but not for what is stopped
 * @done: whether the work is done; is called now and then from this thread, with longer and longer pauses up to 200 us
 * @arg: for @done
 * @timeout_ms: 0: none
 *
 * Returns at once when the unit is interrupted or becomes so, by a unit of this process: it would otherwise wait for who waits for it. That
 * the in-kernel scheduler or another process keeps it off the device is waited for.
 *
 * Return: GPREEMPT_SYNC_DONE; GPREEMPT_SYNC_INTERRUPTED: it is not done, and goes on after gpreempt_restore(); -ETIME; -EBADF.
 */
int gpreempt_synchronize(struct gpreempt_unit *unit, bool (*done)(void *arg), void *arg, unsigned int timeout_ms);

/* Levels of preemption as XSched counts them: launches are held back; a command is stopped while it runs. */
#define GPREEMPT_LEVEL_BLOCK		1
#define GPREEMPT_LEVEL_INTERRUPT	3

/**
 * gpreempt_level() - what can be done on a node now
 * @handle: may be NULL: the module is absent
 * @gpu_id: the node; 0: on all of them
 *
 * Return: GPREEMPT_LEVEL_INTERRUPT; GPREEMPT_LEVEL_BLOCK: there is no module or no such node, or one cannot preempt, gave up or is switched off.
 */
int gpreempt_level(struct gpreempt *handle, uint32_t gpu_id);

/**
 * gpreempt_hint() - say that urgent work of @target comes soon, so that the device is free when it does
 * @within_us: how soon, 1..1000000; the device is given back if nothing came
 *
 * Return: 0; -ERANGE and those of the target.
 */
int gpreempt_hint(struct gpreempt *handle, const struct gpreempt_target *target, unsigned int within_us);

/**
 * gpreempt_read_events() - take what has happened
 * @events: out
 * @nr: length of @events, at least 1
 *
 * Waits for the first event, unless the descriptor was made non-blocking.
 *
 * Return: number of events, at least 1; -EAGAIN; -EINTR; -EINVAL.
 */
int gpreempt_read_events(struct gpreempt *handle, struct gpreempt_event *events, unsigned int nr);

/**
 * gpreempt_node_state_name() and its like - words for values of the ABI, as the tools print them; "?" for unknown values.
 * Never to be freed.
 */
const char *gpreempt_node_state_name(uint32_t state);
const char *gpreempt_queue_state_name(uint32_t state);
const char *gpreempt_verdict_name(uint32_t verdict);
const char *gpreempt_source_name(uint32_t source);
const char *gpreempt_event_name(uint32_t type);
const char *gpreempt_unit_state_name(uint32_t state);

#ifdef __cplusplus
}
#endif

#endif /* GPREEMPT_H */
