/* SPDX-License-Identifier: MIT */
/*
 * gpreempt.h - libgpreempt: priorities and preemption of GPU compute queues, from user space
 *
 * A thin layer over /dev/kfd_gpreempt; <linux/kfd_gpreempt.h> says what the structures and values mean. The library has no
 * state of its own: a handle is an open descriptor, any number of threads may use it at once, and what was held through
 * it is given back when it is closed or its process ends.
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
 * gpreempt_find_queue() - the queue of a runtime, by the address of its ring
 * @pid: its process; 0: the caller's
 * @ring_base: what the runtime calls base address (hsa_queue_t.base_address)
 * @queue: out: what is known of it
 *
 * Return: 0; -ENOENT: no queue of the process has its ring there; -ESRCH, -EACCES.
 */
int gpreempt_find_queue(struct gpreempt *handle, pid_t pid, uint64_t ring_base, struct gpreempt_queue_info *queue);

/**
 * gpreempt_set_priority() - set the logical priority of a queue, a process or a cgroup
 * @priority: GPREEMPT_PRIORITY_MIN..GPREEMPT_PRIORITY_MAX, larger is more urgent
 *
 * Return: 0; -ERANGE, -EPERM and those of the target: see &struct gpreempt_priority.
 */
int gpreempt_set_priority(struct gpreempt *handle, const struct gpreempt_target *target, int priority);

/** gpreempt_clear_priority() - forget what gpreempt_set_priority() or another program set. Return: as there. */
int gpreempt_clear_priority(struct gpreempt *handle, const struct gpreempt_target *target);

/** gpreempt_set_param() - set a policy's parameter of a queue or process; see &enum gpreempt_param for units and bounds */
int gpreempt_set_param(struct gpreempt *handle, const struct gpreempt_target *target, enum gpreempt_param param, uint64_t value);

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
 * gpreempt_resume_all() - end everybody's holds on a queue or on the queues of a process
 *
 * Return: number of queues given back, which may be 0; -EPERM and those of the target.
 */
int gpreempt_resume_all(struct gpreempt *handle, const struct gpreempt_target *target);

/**
 * gpreempt_interrupt() - stop a queue in the middle of whatever it does; a pair with gpreempt_restore()
 * @queue: as gpreempt_find_queue() found it
 *
 * What a scheduler in user space needs: gpreempt_preempt() of one queue, with the driver's timeout and bounded by gpreempt_max_hold_ms.
 * Returns when the queue's waves are saved.
 *
 * Return: 0, or as gpreempt_preempt().
 */
int gpreempt_interrupt(struct gpreempt *handle, const struct gpreempt_queue_info *queue);

/**
 * gpreempt_restore() - let a queue go on at the instruction where it was stopped
 * @queue: as it was given to gpreempt_interrupt()
 *
 * It runs when nobody else holds it and its priority allows. Without gpreempt_interrupt() before it does nothing.
 *
 * Return: 0, or as gpreempt_resume().
 */
int gpreempt_restore(struct gpreempt *handle, const struct gpreempt_queue_info *queue);

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
const char *gpreempt_source_name(uint32_t source);
const char *gpreempt_event_name(uint32_t type);

#ifdef __cplusplus
}
#endif

#endif /* GPREEMPT_H */
