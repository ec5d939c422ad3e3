// SPDX-License-Identifier: MIT
/*
 * obstacle.c - why the driver does not let a queue go
 *
 * Reads the driver's state, and what a backend had to do to a queue.
 */
#include <linux/capability.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

#include "node.h"
#include "compat/compat.h"
#include "obstacle.h"

/**
 * gpreempt_obstacle_debugged() - is a process left alone because of its debugger?
 * @p: the process
 *
 * A program may enable the debug trap on itself, and may have a child do it: neither takes a right.
 * A process that is left alone takes from the share of others. So that takes the right that an
 * exemption takes: its tracer needs CAP_SYS_NICE. Any other debugged process is preempted like the
 * rest: its waves are saved where its debugger finds them, and a queue that the debugger has
 * suspended stays suspended.
 *
 * Context: any.
 *
 * Return: true if it is
 */
bool gpreempt_obstacle_debugged(const struct kfd_process *p)
{
	struct task_struct *tracer;
	bool debugged;

	if (!READ_ONCE(p->debug_trap_enabled))
		return false;
	rcu_read_lock();
	tracer = ptrace_parent(p->lead_thread);
	debugged = tracer && gpreempt_compat_has_capability(tracer, CAP_SYS_NICE);
	rcu_read_unlock();
	return debugged;
}

/**
 * gpreempt_obstacle_was_reset() - has a queue been reset, and is off the device for that?
 * @gq: the queue
 *
 * The driver marks its process on the node, and nothing takes that mark away. It takes the queue's
 * is_active away, and nothing else that makes a queue active. The others of the process, and new
 * ones, are as they were. So is this one, should the driver map it again: restoring an evicted
 * process does.
 *
 * Only a hint while the driver is at it.
 *
 * Context: the queue is on its list.
 *
 * Return: true if it has
 */
bool gpreempt_obstacle_was_reset(const struct gpreempt_queue *gq)
{
	const struct queue_properties *properties = &gq->q->properties;

	return READ_ONCE(gq->hw.lost) ||
	       (gpreempt_compat_was_reset(gq->process->pdd) && QUEUE_IS_ACTIVE(*properties) &&
		!READ_ONCE(properties->is_active));
}

/**
 * gpreempt_obstacle() - why the driver does not let a queue go
 * @gq: the queue
 *
 * Only a hint: the backend looks again, under dqm_lock.
 *
 * Context: the queue is on its list.
 *
 * Return: the reason; GPREEMPT_NR_SKIPS: it does
 */
enum gpreempt_skip gpreempt_obstacle(const struct gpreempt_queue *gq)
{
	const struct queue_properties *properties = &gq->q->properties;

	if (READ_ONCE(properties->is_being_destroyed))
		return GPREEMPT_SKIP_DESTROYED;
	/* The second: the driver's own queue for debuggers is there, which no ioctl makes. */
	if (gpreempt_obstacle_debugged(gq->process->p) || READ_ONCE(gq->process->pdd->qpd.is_debug))
		return GPREEMPT_SKIP_DEBUGGED;
	if (gpreempt_obstacle_was_reset(gq))
		return GPREEMPT_SKIP_RESET;
	if (!properties->ctx_save_restore_area_address)
		return GPREEMPT_SKIP_SAVE_AREA;
	return GPREEMPT_NR_SKIPS;
}
