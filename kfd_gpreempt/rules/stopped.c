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
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>

#include "core/node.h"
#include "core/rooms.h"
#include "compat/compat.h"

/* Half of the 20 ms within which a queue has left. */
#define STOPPED_LOOK_NS	10000000ULL
/* A program can have many threads that have ended and wait for its own debugger. */
#define STOPPED_THREADS	32

/* Would the process leave the device if it were stopped or frozen? */
static bool stopped_matters(const struct gpreempt_process *process)
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

/* Is it to leave the device? The node looks again soon. */
static void stopped_derive(struct gpreempt_process *process)
{
	struct task_struct *leader = process->p->lead_thread;

	process->stopped = false;
	if (!stopped_matters(process))
		return;
	gpreempt_monitor_derive_within(process->gn, STOPPED_LOOK_NS);
	process->stopped = READ_ONCE(leader->signal->flags) & SIGNAL_STOP_STOPPED ||
			   stopped_is_frozen(leader);
}

const struct gpreempt_room gpreempt_room_stopped = {
	.derive = stopped_derive,
};
