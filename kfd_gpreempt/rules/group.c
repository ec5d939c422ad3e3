// SPDX-License-Identifier: MIT
/*
 * group.c - which processes divide device time, and how
 *
 * Weights, minima and maxima are set for cgroups and for jobs, and kept here for all nodes. A group
 * has a place, which is the same on all nodes. The monitor of a node copies the settings when they
 * have changed, and finds the group of a process anew after that, and when the process has come to
 * another job or cgroup: the job's, if that has a share, otherwise that of the nearest cgroup that
 * has one. As with priorities, cgroups down to a level can have shares. Above the group of a cgroup
 * is that of the next cgroup above which has a share, and above a job's is the root group. What
 * follows is the business of share.c.
 *
 * A cgroup is remembered by its id, which never belongs to another one later. A setting does not
 * keep it alive: a work item drops what was set for cgroups that are gone.
 */
#include <linux/cgroup.h>
#include <linux/hashtable.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "core/node.h"
#include "core/rooms.h"
#include "compat/compat.h"
#include "group.h"
#include "share.h"

/* Cgroups that are gone are looked for so often, while any has a share. */
#define DROP_MS		5000
#define ROOT		0

/**
 * struct place - a place for a group
 * @link: in @by_id, of one that is used and not the root group's
 * @used: it has one; always, of the root group
 * @serial: no other group has, in whatever place
 * @group: the group
 */
struct place {
	struct hlist_node link;
	bool used;
	u32 serial;
	struct gpreempt_group group;
};

/*
 * Written under both locks, and read under either. A pass takes the spinlock alone, which is
 * innermost.
 */
static struct place places[GPREEMPT_GROUPS_MAX];
static DEFINE_HASHTABLE(by_id, 7);
static DEFINE_MUTEX(groups_lock);
static DEFINE_SPINLOCK(groups_spinlock);
/* Up to the last place that is used; 0: no group is set, which is the common case */
static u32 nr_places;
static u32 generation;
static u32 last_serial;

GPREEMPT_PART(group_node, struct gpreempt_node, struct gpreempt_node_group)
GPREEMPT_PART(group_process, struct gpreempt_process, struct gpreempt_process_group)

/* 0: there is none. */
static u32 group_find(u64 cgroup_id, u64 job)
{
	struct place *place;

	hash_for_each_possible(by_id, place, link, cgroup_id ^ job)
		if (place->group.cgroup_id == cgroup_id && place->group.job == job)
			return place - places;
	return ROOT;
}

/* Those that look see the change or nothing of it. */
static void group_change_locked(u32 at, const struct gpreempt_group *group)
{
	struct place *place = &places[at];
	u32 nr;

	lockdep_assert_held(&groups_lock);
	spin_lock(&groups_spinlock);
	if (group && !place->used)
		place->serial = ++last_serial;
	if (place->used)
		hash_del(&place->link);
	place->used = group;
	if (group) {
		place->group = *group;
		hash_add(by_id, &place->link, group->cgroup_id ^ group->job);
	}
	for (nr = GPREEMPT_GROUPS_MAX; nr > 1 && !places[nr - 1].used;)
		nr--;
	/* What the root group has had is counted from when there are others. */
	if (!nr_places)
		places[ROOT] = (struct place){ .used = true, .serial = ++last_serial };
	WRITE_ONCE(nr_places, nr > 1 ? nr : 0);
	WRITE_ONCE(generation, generation + 1);
	spin_unlock(&groups_spinlock);
}

static void group_drop_gone(struct work_struct *work);
static DECLARE_DELAYED_WORK(drop_work, group_drop_gone);

/* A work item sees all cgroups; the caller that sets something may see a namespace of them only. */
static void group_drop_gone(struct work_struct *work)
{
	bool dropped = false;
	u32 i, nr;

	mutex_lock(&groups_lock);
	for (i = 1; i < GPREEMPT_GROUPS_MAX; i++) {
		if (!places[i].used || !places[i].group.cgroup_id ||
		    !gpreempt_compat_cgroup_is_gone(places[i].group.cgroup_id))
			continue;
		group_change_locked(i, NULL);
		dropped = true;
	}
	nr = nr_places;
	mutex_unlock(&groups_lock);
	if (dropped)
		gpreempt_node_kick_all();
	if (nr)
		schedule_delayed_work(&drop_work, msecs_to_jiffies(DROP_MS));
}

/**
 * gpreempt_group_set() - give a cgroup or a job a share of device time, or another one
 * @group: which, and what it has; within its bounds
 *
 * Context: no lock of the scheduler held; may sleep.
 *
 * Return: 0; -ENOSPC: as many groups as can be have a share
 */
int gpreempt_group_set(const struct gpreempt_group *group)
{
	int r = 0;
	u32 at;

	mutex_lock(&groups_lock);
	at = group_find(group->cgroup_id, group->job);
	if (at == ROOT)
		for (at = 1; at < GPREEMPT_GROUPS_MAX && places[at].used;)
			at++;
	if (at < GPREEMPT_GROUPS_MAX)
		group_change_locked(at, group);
	else
		r = -ENOSPC;
	mutex_unlock(&groups_lock);
	if (r)
		return r;
	gpreempt_node_kick_all();
	schedule_delayed_work(&drop_work, msecs_to_jiffies(DROP_MS));
	return 0;
}

/**
 * gpreempt_group_clear() - a cgroup or a job has no share of its own any more
 * @cgroup_id: the cgroup; 0: it is a job
 * @job: the job; 0: it is a cgroup
 *
 * Its processes belong to the group above it from now on.
 *
 * Context: no lock of the scheduler held; may sleep.
 */
void gpreempt_group_clear(u64 cgroup_id, u64 job)
{
	u32 at;

	mutex_lock(&groups_lock);
	at = group_find(cgroup_id, job);
	if (at)
		group_change_locked(at, NULL);
	mutex_unlock(&groups_lock);
	if (at)
		gpreempt_node_kick_all();
}

/**
 * gpreempt_group_read() - the groups of a node, the root group first
 * @gn: the node
 * @seen: receives them
 * @max: how many fit
 *
 * Context: the node stays.
 *
 * Return: how many there are; 0: nothing has a share
 */
u32 gpreempt_group_read(const struct gpreempt_node *gn, struct gpreempt_group_seen *seen, u32 max)
{
	/* Pairs with the release where they come. */
	const struct gpreempt_policy_entity *e = smp_load_acquire(&group_node(gn)->entities);
	u32 numbers[GPREEMPT_GROUPS_MAX] = { 0 };
	u32 i, nr = 0;

	spin_lock(&groups_spinlock);
	for (i = 0; e && i < nr_places; i++) {
		if (!places[i].used)
			continue;
		numbers[i] = nr++;
		if (nr > max)
			continue;
		seen[nr - 1].group = places[i].group;
		seen[nr - 1].parent = gpreempt_policy_read(e[2 * i].parent) / 2;
		seen[nr - 1].runs = gpreempt_policy_read(e[2 * i].ran);
		seen[nr - 1].full = gpreempt_policy_read(e[2 * i].full);
		seen[nr - 1].served_ns = gpreempt_policy_read(e[2 * i].server.served_ns);
	}
	spin_unlock(&groups_spinlock);
	for (i = 0; i < min(nr, max); i++)
		seen[i].parent = numbers[seen[i].parent % GPREEMPT_GROUPS_MAX];
	return nr;
}

/* A node needs memory for groups as soon as there are any */
static void group_make_room(struct gpreempt_node *gn)
{
	struct gpreempt_policy_entity *entities;

	if (!READ_ONCE(nr_places) || group_node(gn)->entities)
		return;
	entities = kvcalloc(GPREEMPT_GROUP_ENTITIES, sizeof(*entities), GFP_KERNEL);
	if (!entities) {
		gpreempt_stats_skip(gn, NULL, GPREEMPT_SKIP_NO_MEMORY);
		return;
	}
	/* Pairs with the acquire of those that show them. */
	smp_store_release(&group_node(gn)->entities, entities);
}

/* Both of a group's. What they have had stays, if it is the same group. */
static void group_copy(struct gpreempt_node *gn, u32 at, const struct place *place)
{
	struct gpreempt_node_group *node = group_node(gn);
	struct gpreempt_policy_entity *e = &node->entities[2 * at], *members = e + 1;

	if (node->serials[at] != place->serial)
		gpreempt_share_forget(node->entities, at);
	node->serials[at] = place->serial;
	e->used = place->used;
	e->weight = at == ROOT ? GPREEMPT_WEIGHT_NORMAL : place->group.weight;
	e->min_pct = place->group.min_pct;
	e->quota_ns = place->group.quota_us * NSEC_PER_USEC;
	e->period_ns = place->group.period_us * NSEC_PER_USEC;
	members->used = place->used;
	members->weight = GPREEMPT_WEIGHT_NORMAL;
	members->parent = 2 * at;
}

/* Take in what was set */
static u8 group_take(struct gpreempt_node *gn, u64 now_ns)
{
	struct gpreempt_node_group *node = group_node(gn);
	u32 i;

	if (node->generation == READ_ONCE(generation) || !node->entities)
		return 0;
	spin_lock(&groups_spinlock);
	for (i = 0; i < max(nr_places, node->nr); i++)
		group_copy(gn, i, &places[i]);
	WRITE_ONCE(node->nr, nr_places);
	WRITE_ONCE(node->generation, generation);
	spin_unlock(&groups_spinlock);
	node->taken = true;
	return GPREEMPT_HEARD_CHANGE;
}

/* Has a node no memory for the groups that there are? */
static bool group_waits(const struct gpreempt_node *gn)
{
	return READ_ONCE(nr_places) && !group_node(gn)->entities;
}

/*
 * The group of a process: its job's, or that of the nearest cgroup that has a share. @entities
 * learn which groups are above it. rcu and a lock held.
 */
static u32 group_of(u64 job, struct cgroup *cgroup, struct gpreempt_policy_entity *entities)
{
	u32 found = job ? group_find(0, job) : ROOT, group = found, below = found;

	cgroup = found ? NULL : cgroup_ancestor(cgroup, GPREEMPT_CGROUP_LEVELS) ?: cgroup;
	for (; cgroup; cgroup = cgroup_parent(cgroup)) {
		found = group_find(cgroup_id(cgroup), 0);
		if (!found)
			continue;
		if (!group)
			group = found;
		else
			entities[2 * below].parent = 2 * found;
		below = found;
	}
	if (below)
		entities[2 * below].parent = ROOT;
	return group;
}

/* rcu held. The monitor, or a hint. */
static bool group_is_known(const struct gpreempt_process *process, u64 job,
			   const struct cgroup *cgroup)
{
	const struct gpreempt_node_group *node = group_node(process->gn);
	const struct gpreempt_process_group *known = group_process(process);

	return READ_ONCE(known->generation) == READ_ONCE(node->generation) &&
	       READ_ONCE(known->job) == job &&
	       READ_ONCE(known->cgroup_id) == cgroup_id(cgroup);
}

/* Let the policy know the group of a process */
static void group_derive(struct gpreempt_process *process)
{
	const struct gpreempt_node_group *node = group_node(process->gn);
	struct gpreempt_process_group *known = group_process(process);
	u64 job = READ_ONCE(process->privileged_job);
	struct cgroup *cgroup;
	u32 group;

	if (!node->nr) {
		process->policy.group = ROOT;
		return;
	}
	rcu_read_lock();
	cgroup = task_dfl_cgroup(process->p->lead_thread);
	if (group_is_known(process, job, cgroup))
		goto unlock;
	spin_lock(&groups_spinlock);
	group = group_of(job, cgroup, node->entities);
	spin_unlock(&groups_spinlock);
	WRITE_ONCE(known->generation, node->generation);
	WRITE_ONCE(known->job, job);
	WRITE_ONCE(known->cgroup_id, cgroup_id(cgroup));
	/* One that has been set since is taken in by the next pass. */
	WRITE_ONCE(process->policy.group, group < node->nr ? group : ROOT);
unlock:
	rcu_read_unlock();
}

/* Let the policy know of groups that were taken in */
static void group_use(struct gpreempt_node *gn, bool all, u64 now_ns)
{
	struct gpreempt_node_group *node = group_node(gn);

	if (!node->taken)
		return;
	node->taken = false;
	gpreempt_share_use(&gn->policy, node->entities, 2 * node->nr);
}

/* May a process have another group than the monitor knows? */
static bool group_moved(struct gpreempt_node *gn)
{
	struct gpreempt_process *process;
	bool moved = false;

	lockdep_assert_held(&gpreempt_lock);
	if (!READ_ONCE(nr_places))
		return false;
	rcu_read_lock();
	list_for_each_entry(process, &gn->queues.processes, link)
		moved |= !group_is_known(process, READ_ONCE(process->privileged_job),
					 task_dfl_cgroup(process->p->lead_thread));
	rcu_read_unlock();
	return moved;
}

/* A node is gone */
static void group_free_node(struct gpreempt_node *gn)
{
	kvfree(group_node(gn)->entities);
}

/* Forget everything */
static void group_exit(void)
{
	u32 i;

	mutex_lock(&groups_lock);
	for (i = 1; i < GPREEMPT_GROUPS_MAX; i++)
		if (places[i].used)
			group_change_locked(i, NULL);
	mutex_unlock(&groups_lock);
	cancel_delayed_work_sync(&drop_work);
}

const struct gpreempt_room gpreempt_room_group = {
	.exit = group_exit,
	.free_node = group_free_node,
	.make_room = group_make_room,
	.waits = group_waits,
	.hear = group_take,
	.derive = group_derive,
	.sampled = group_use,
	.moved = group_moved,
	.parts = {
		[GPREEMPT_OF_NODE] = &group_node_part,
		[GPREEMPT_OF_PROCESS] = &group_process_part,
	},
};
