// SPDX-License-Identifier: MIT
/*
 * stopped.c - is a process stopped or frozen? Then its queues leave the device
 *
 * Reads tasks, and of ours what was asked for.
 */

/**
 * DOC: stopped processes
 *
 * SIGSTOP and a frozen cgroup stop the threads of a process, and not what the device does for it.
 * With ``gpreempt_follow_stop`` its queues are off the device as long as it is stopped, as if that
 * had been asked for by PREEMPT without a bound, and come back at the same instruction. Batch
 * systems and containers are suspended in these ways (``scontrol suspend``, ``docker pause``). Its
 * memory stays where it is, on the device as well.
 *
 * GPREEMPT_PARAM_FOLLOW_STOP of a process, or of the nearest cgroup above it that has one, is
 * another word than its nodes': it leaves them all, or none.
 *
 * No event tells of a stop, so the monitor looks: every 10 ms at the latest while the node has a
 * process that would leave, which are 100 looks a second on a node that otherwise is parked.
 *
 * A process whose main thread has ended is frozen when its next thread is.
 *
 * A stop by a debugger is none: who debugs a program may want to see what it does on the device. An
 * exempt process stays on the device.
 */
#include <linux/cgroup.h>
#include <linux/minmax.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>

#include "core/node.h"
#include "compat/compat.h"
#include "stopped.h"

/* Half of the 20 ms within which a queue has left. */
#define STOPPED_LOOK_NS	10000000ULL
/* A program can have many threads that have ended and wait for its own debugger. */
#define STOPPED_THREADS	32

/**
 * gpreempt_stopped_matters() - would a process leave the device if it were stopped or frozen?
 * @process: the process, whose settings have been taken in
 *
 * Context: the monitor.
 *
 * Return: true if it would
 */
bool gpreempt_stopped_matters(const struct gpreempt_process *process)
{
	switch (process->priority.follow_stop) {
	case GPREEMPT_FOLLOW_STOP_ALWAYS:
		return true;
	case GPREEMPT_FOLLOW_STOP_NEVER:
		return false;
	default:
		return process->gn->tun.follow_stop;
	}
}

/* Of the main thread or, if that has ended, of the first that has not. */
static bool stopped_is_frozen(struct task_struct *leader)
{
	struct task_struct *thread;
	bool frozen = false;
	int n = 0;

	rcu_read_lock();
	for_each_thread(leader, thread) {
		if (++n > STOPPED_THREADS)
			break;
		if (READ_ONCE(thread->exit_state))
			continue;
		frozen = cgroup_task_frozen(thread) || gpreempt_compat_is_frozen(thread);
		break;
	}
	rcu_read_unlock();
	return frozen;
}

/**
 * gpreempt_stopped() - is a process stopped or frozen, and has to leave the device for it?
 * @process: the process
 *
 * Context: the monitor.
 *
 * Return: true if its queues are to be off the device
 */
bool gpreempt_stopped(const struct gpreempt_process *process)
{
	struct task_struct *leader = process->p->lead_thread;

	if (!gpreempt_stopped_matters(process))
		return false;
	return READ_ONCE(leader->signal->flags) & SIGNAL_STOP_STOPPED || stopped_is_frozen(leader);
}

/**
 * gpreempt_stopped_within_ns() - how long may a node not look whether its processes are stopped?
 * @gn: the node
 * @ns: so long it may for other reasons
 *
 * Context: the monitor.
 *
 * Return: the time
 */
u64 gpreempt_stopped_within_ns(const struct gpreempt_node *gn, u64 ns)
{
	return gn->monitor.stops_matter ? min(ns, STOPPED_LOOK_NS) : ns;
}
