// SPDX-License-Identifier: MIT
/*
 * fits.c - reservations: what is reserved on each node, and does another one fit?
 *
 * What counts is what is set, as edf counts it: it may not have been taken in yet.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

#include "core/debt.h"
#include "core/node.h"
#include "fits.h"
#include "rules/edf.h"

#define PPM	1000000ULL

/* From the question whether a change fits until it is made no other one is. */
static DEFINE_MUTEX(fits_lock);

/**
 * struct room - a node, as reservations see it
 * @switch_ns: C
 * @room: what may be reserved, in 1 / GPREEMPT_DEBT_ONE
 * @reserved: what is, by others than the one in question
 * @nr: how many
 * @nr_waiting: how many of them do not have it
 * @here: the one in question has queues there
 */
struct room {
	u64 switch_ns;
	u64 room;
	u64 reserved;
	u32 nr;
	u32 nr_waiting;
	bool here;
};

static u64 fits_need(const struct room *room, u64 runtime_us, u64 period_us)
{
	return gpreempt_edf_need(room->switch_ns, runtime_us * NSEC_PER_USEC,
				 period_us * NSEC_PER_USEC);
}

static u64 fits_free(const struct room *room)
{
	return room->room > room->reserved ? room->room - room->reserved : 0;
}

static u64 fits_least_us(const struct room *room)
{
	return DIV_ROUND_UP_ULL(gpreempt_edf_least_ns(room->switch_ns), NSEC_PER_USEC);
}

static void fits_add_process(struct room *room, struct gpreempt_process *process)
{
	const struct gpreempt_policy_process *pp = &process->policy;
	struct gpreempt_overrides overrides;
	u64 runtime_us;

	/* A program has its runtime once, however many contexts it makes. */
	if (process->context != 1)
		return;
	gpreempt_priority_overrides(process->p->lead_thread, &overrides);
	runtime_us = overrides.process.runtime_us;
	if (!runtime_us)
		return;
	room->reserved += fits_need(room, runtime_us, overrides.process.deadline_us);
	room->nr++;
	room->nr_waiting += gpreempt_policy_read(pp->admitted_ns) != runtime_us * NSEC_PER_USEC;
}

/* gpreempt_lock held. */
static void fits_look(struct gpreempt_node *gn, const struct pid *except, struct room *room)
{
	struct gpreempt_process *process;

	*room = (struct room){ 0 };
	/* The monitor may be writing: it is of the last passes or of those before. */
	room->switch_ns = data_race(gpreempt_debt_switch_ns(&gn->policy));
	/* Likewise: of the tunables or of those before */
	room->room = data_race(gpreempt_edf_room(&gn->policy.params));
	list_for_each_entry(process, &gn->queues.processes, link) {
		if (except && task_tgid(process->p->lead_thread) == except)
			room->here = true;
		else
			fits_add_process(room, process);
	}
}

/**
 * struct admission - a change of what a process has reserved
 * @pid: the process
 * @old: what is set
 * @new: what is to be set
 */
struct admission {
	const struct pid *pid;
	struct gpreempt_setting old;
	struct gpreempt_setting new;
};

/* Parts of a hundred: @part is rounded down, so that what is free is never said to be more. */
static unsigned int fits_pct(u64 part)
{
	return div_u64(part * 100, GPREEMPT_DEBT_ONE);
}

static int fits_refuse(const struct admission *a, const struct gpreempt_node *gn,
		       const struct room *room)
{
	const struct gpreempt_setting *new = &a->new;
	unsigned int reserved = fits_pct(room->reserved), left = fits_pct(fits_free(room));
	unsigned int need;

	if (new->deadline_us < fits_least_us(room)) {
		pr_info_ratelimited("gpreempt: gpu %u: a runtime with period_us=%llu is below %llu, 20 times what a switch costs; kept %llu\n",
				    gn->node->id, new->deadline_us, fits_least_us(room),
				    a->old.runtime_us);
		return -ENOSPC;
	}
	need = fits_pct(fits_need(room, new->runtime_us, new->deadline_us)) + 1;
	pr_info_ratelimited("gpreempt: gpu %u: runtime_us=%llu in period_us=%llu does not fit: %u.%02u of the device is reserved, %u.%02u is free, it takes %u.%02u; kept %llu\n",
			    gn->node->id, new->runtime_us, new->deadline_us, reserved / 100,
			    reserved % 100, left / 100, left % 100, need / 100, need % 100,
			    a->old.runtime_us);
	return -ENOSPC;
}

static bool fits_in(const struct room *room, u64 runtime_us, u64 period_us)
{
	return period_us >= fits_least_us(room) &&
	       fits_need(room, runtime_us, period_us) <= fits_free(room);
}

static int fits_check_node(struct gpreempt_node *gn, void *arg)
{
	const struct admission *a = arg;
	const struct gpreempt_setting *old = &a->old, *new = &a->new;
	struct room room;

	fits_look(gn, a->pid, &room);
	if (!room.here || fits_in(&room, new->runtime_us, new->deadline_us))
		return 0;
	/* Less may always be had, also where more is reserved than there is. */
	if (old->runtime_us && new->deadline_us >= old->deadline_us &&
	    fits_need(&room, new->runtime_us, new->deadline_us) <=
		    fits_need(&room, old->runtime_us, old->deadline_us))
		return 0;
	return fits_refuse(a, gn, &room);
}

static int fits_check(struct admission *a)
{
	const struct gpreempt_setting *old = &a->old, *new = &a->new;

	if (!new->runtime_us || (new->runtime_us == old->runtime_us &&
				 new->deadline_us == old->deadline_us))
		return 0;
	if (!new->deadline_us) {
		pr_info_ratelimited("gpreempt: runtime_us=%llu has no period: deadline_us is 0; kept %llu\n",
				    new->runtime_us, old->runtime_us);
		return -EINVAL;
	}
	if (new->runtime_us > new->deadline_us) {
		pr_info_ratelimited("gpreempt: runtime_us=%llu is above period_us=%llu; kept %llu\n",
				    new->runtime_us, new->deadline_us, old->runtime_us);
		return -ERANGE;
	}
	return gpreempt_node_find_locked(fits_check_node, a);
}

/**
 * gpreempt_fits_change_process() - change what is set for a process, if what it reserves fits then
 * @pid: of its leader
 * @fn: makes the change, or refuses with an error code; is called twice
 * @arg: passed through
 *
 * Context: no lock of the scheduler held; may sleep.
 *
 * Return: what @fn or gpreempt_priority_change_process() returned; -EINVAL: a runtime without a
 * deadline; -ERANGE: a runtime above it; -ENOSPC: it does not fit on a node where it has queues
 */
int gpreempt_fits_change_process(struct pid *pid, gpreempt_setting_fn fn, void *arg)
{
	struct gpreempt_overrides overrides = { 0 };
	struct admission a = { .pid = pid };
	struct task_struct *leader;
	int r;

	mutex_lock(&fits_lock);
	rcu_read_lock();
	leader = pid_task(pid, PIDTYPE_TGID);
	if (leader)
		gpreempt_priority_overrides(leader, &overrides);
	rcu_read_unlock();
	a.old = overrides.process;
	a.new = a.old;
	r = fn(&a.new, arg);
	if (!r)
		r = fits_check(&a);
	if (!r)
		r = gpreempt_priority_change_process(pid, fn, arg);
	mutex_unlock(&fits_lock);
	return r;
}

static u32 fits_ppm(u64 part, bool up)
{
	return min_t(u64, div_u64(part * PPM + (up ? GPREEMPT_DEBT_ONE - 1 : 0), GPREEMPT_DEBT_ONE),
		     U32_MAX);
}

static int fits_list_node(struct gpreempt_node *gn, void *arg)
{
	struct gpreempt_fits_list *list = arg;
	struct gpreempt_fits_info *info;
	struct room room;

	if (list->nr++ >= list->max)
		return 0;
	info = &list->nodes[list->nr - 1];
	fits_look(gn, list->except, &room);
	info->gpu_id = gn->node->id;
	info->reserved_ppm = fits_ppm(room.reserved, true);
	info->free_ppm = fits_ppm(fits_free(&room), false);
	info->nr_reservations = room.nr;
	info->nr_waiting = room.nr_waiting;
	info->switch_ns = room.switch_ns;
	info->least_period_us = fits_least_us(&room);
	if (room.here)
		info->flags |= GPREEMPT_FITS_HERE;
	if (!list->runtime_us)
		return 0;
	info->need_ppm = fits_ppm(fits_need(&room, list->runtime_us, list->period_us), true);
	if (fits_in(&room, list->runtime_us, list->period_us))
		info->flags |= GPREEMPT_FITS_YES;
	if (list->period_us < info->least_period_us)
		info->flags |= GPREEMPT_FITS_SHORT;
	return 0;
}

/**
 * gpreempt_fits_list_nodes() - what is reserved on each node, and does another one fit?
 * @list: what is asked; receives the answers
 *
 * Context: no lock of the scheduler held; may sleep.
 */
void gpreempt_fits_list_nodes(struct gpreempt_fits_list *list)
{
	gpreempt_node_find_locked(fits_list_node, list);
}
