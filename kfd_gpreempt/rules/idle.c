// SPDX-License-Identifier: MIT
/*
 * idle.c - when does an idle process leave a crowded device, and when does it come back?
 *
 * Pure code: see policy.h for what may be used here.
 */
#include "idle.h"

static u64 idle_most(u64 a, u64 b)
{
	return a > b ? a : b;
}

static u64 idle_least(u64 a, u64 b)
{
	return a < b ? a : b;
}

static u64 idle_wait(const struct gpreempt_idle_process *process,
		     const struct gpreempt_idle_look *look)
{
	return idle_most(look->idle_ns, process->wait_ns);
}

/**
 * gpreempt_idle_leaves() - is a process to leave the device?
 * @node: what such processes have cost
 * @process: the process
 * @look: what is seen of it
 * @now_ns: time of the look
 *
 * Return: true if it is: it has been idle for long enough, none below it is to leave first, and the
 * budget of the node has room. A process that leaves is told to gpreempt_idle_left()
 */
bool gpreempt_idle_leaves(const struct gpreempt_idle_node *node,
			  const struct gpreempt_idle_process *process,
			  const struct gpreempt_idle_look *look, u64 now_ns)
{
	u64 since_ns = idle_most(look->active_ns, process->changed_ns);
	u64 wait_ns = idle_wait(process, look);

	/* It comes first, or nothing waits for its slots now: it may have work again soon. */
	if (look->outranks || (process->changed_ns && !look->crowded))
		wait_ns = idle_most(wait_ns, GPREEMPT_IDLE_WAIT_MAX_NS);
	return !process->off && look->idle_ns && !look->fits && look->told && !look->works &&
	       !look->waits_for_lower && now_ns - since_ns >= wait_ns && node->paid_ns <= now_ns;
}

/**
 * gpreempt_idle_returns() - is a process to come back?
 * @process: the process
 * @look: what is seen of it
 *
 * Return: true if it is: it may have work, or there is room for it
 */
bool gpreempt_idle_returns(const struct gpreempt_idle_process *process,
			   const struct gpreempt_idle_look *look)
{
	return process->off && (!look->idle_ns || look->fits || !look->told || look->works);
}

/**
 * gpreempt_idle_left() - a process leaves the device
 * @node: pays for it, and for its return
 * @process: the process
 * @pass_ns: what a hardware pass takes
 * @now_ns: when
 */
void gpreempt_idle_left(struct gpreempt_idle_node *node, struct gpreempt_idle_process *process,
			u64 pass_ns, u64 now_ns)
{
	u64 from_ns = now_ns - idle_least(now_ns, GPREEMPT_IDLE_WINDOW_NS);

	node->paid_ns = idle_most(node->paid_ns, from_ns) + GPREEMPT_IDLE_SHARE * 2 * pass_ns;
	process->off = true;
	process->changed_ns = now_ns;
}

/**
 * gpreempt_idle_returned() - a process comes back to the device
 * @process: the process; if it was off for too short a time to pay, it leaves later the next time
 * @look: what is seen of it
 * @now_ns: when
 */
void gpreempt_idle_returned(struct gpreempt_idle_process *process,
			    const struct gpreempt_idle_look *look, u64 now_ns)
{
	u64 wait_ns = idle_wait(process, look);

	if (now_ns - process->changed_ns < GPREEMPT_IDLE_PAYS_SHARE * wait_ns)
		process->wait_ns = idle_least(2 * wait_ns, GPREEMPT_IDLE_WAIT_MAX_NS);
	else
		process->wait_ns = wait_ns / 2;
	process->off = false;
	process->changed_ns = now_ns;
}
