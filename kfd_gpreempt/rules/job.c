// SPDX-License-Identifier: MIT
/* job.c - which processes belong together? */

/**
 * DOC: jobs
 *
 * A *job* is a set of processes that wait for each other: the workers of one program on several
 * nodes. It has an id, which is set for a process, inherited from one above it, or set for a
 * cgroup. Each node still decides alone. After a decision it tells the other nodes of a job what
 * follows for them, in words that they read before theirs (``news.h``):
 *
 * *it works here*
 *     A queue of the job has work, and the device for it. On the other nodes its queues of the same
 *     or a lower priority have demand too, so that lower queues leave all nodes together. It is no
 *     news that a queue has demand only for this reason. A queue that stands still without waves
 *     while its job works elsewhere waits for the job, so it is not blocked.
 * *it is off the device here*
 *     for its rank. Its work on the other nodes would only wait, so any other queue with work comes
 *     before it there. Where there is none it stays. With ``GPREEMPT_JOB_STAY`` it always does, and
 *     so it does as long as leaving has cost it too much.
 * *it has its turn in a relief here*
 *     The others give it one too, or its relief would be worth nothing to it. Of the nodes on which
 *     it is off for its rank, the first one begins.
 * *the overhead budget has no room for it here*
 *     The others preempt nothing for it either until there is room. It would only wait for this
 *     node with theirs. With ``GPREEMPT_JOB_STAY`` each node begins by itself.
 * *its work here is due at this time*, under ``edf``
 *     Its work on the others is due then as well, if not sooner, also where its processes have no
 *     deadline. So two jobs have the same order on all nodes.
 *
 * What is said holds for 10 ms and is renewed after 5 ms. A node that is slow, fails, is paused or
 * removed delays no other one for longer. A change wakes the others, which then look as soon as
 * after a change of a setting: at once, or ``gpreempt_poll_us`` after their last look. Looks any
 * sooner at an end would see a job between two kernels, and give its devices away. Where a job
 * begins to work, or is taken off, it is the last look for that reason which has to be so long ago:
 * that makes looks at most twice as many. A node tells before it carries its decision out, and no
 * monitor keeps the CPU from another one while it waits for its device. So the requests of all
 * nodes go out side by side.
 *
 * *Two jobs never wait for each other.* A job leaves other nodes only for what has a queue of a
 * higher priority than any of its own, on all nodes together. So what a job waits for always comes
 * before it, and the first one waits for none. A relief makes no job leave other nodes.
 *
 * *What leaving costs a job* is two switches (2 C) each time, since nodes do not take it off and
 * bring it back at the same moment, and what it could have ended of a layer meanwhile. It leaves
 * only as often as the switches take a part p of its service, for all nodes together, and of 100 ms
 * at once: p is ``gpreempt_overhead_pct``, or 10 percent where that is 0. A job that is off a node
 * and may not leave stays on the others as with ``GPREEMPT_JOB_STAY``, until it comes back there.
 * Its service is the time for which it works, is off no node, and has been off none for a switch.
 * So with layers of length L it keeps at least 1 / (1 + p (1 + L / 2C)) of what it would have if it
 * always stayed.
 *
 * *What a job can take from others.* Demand counts with the priority of the work that it comes
 * from, and is announced work otherwise: every user may announce work. Where a job could run and
 * leaves because it is off elsewhere, the work that has the node instead pays for it, out of its
 * overhead budget. A job joins the relief of another node within its own, and else at most once in
 * the time between two of its own. So what is above all keeps 96 % instead of 98, and what else
 * starves there may wait twice as long. From then on the reliefs of both nodes come at the same
 * time.
 *
 * Under ``wfq`` a job has one share on each node, and its turns at the same time on all of them: it
 * leaves a node while it is off one that comes before this one, and the time is credited to it. So
 * it has its share of the first node that others want as well, and no more of any. Demand goes from
 * node to node neither there nor under ``edf``, and under ``edf`` a job leaves no node for another.
 *
 * A node on which no decision is needed parks also with jobs. It looks every 5 ms while a job works
 * there and another node of it does not park.
 */
#include <linux/bits.h>
#include <linux/hashtable.h>
#include <linux/kref.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/srcu.h>

#include "core/node.h"
#include "core/rooms.h"
#include "job.h"
#include "news.h"

/**
 * struct job - processes that belong together
 * @link: in @jobs, while it has places; under gpreempt_lock
 * @ref: of its places, those that are to be freed included
 * @nr_places: how many nodes it has processes on, under gpreempt_lock
 * @as: what makes it this job: its id, and who set it. Never changes, but for
 *	&gpreempt_membership.stay: what was set last counts
 * @nodes: a bit for each node that it has processes on; written under gpreempt_lock
 * @at: these nodes; written under gpreempt_lock, read under RCU
 * @news: what each of them says; written by its monitor alone while it has a place there
 */
struct job {
	struct hlist_node link;
	struct kref ref;
	u32 nr_places;
	struct gpreempt_membership as;
	u64 nodes;
	struct gpreempt_node *at[GPREEMPT_NEWS_NODES];
	struct gpreempt_news news[GPREEMPT_NEWS_NODES];
};

/**
 * struct gpreempt_job_place - a job on a node
 * @link: in &gpreempt_node_job.places
 * @gone: in a list of those that are to be freed
 * @job: the job
 * @nr_processes: its processes on the node, under gpreempt_lock
 * @policy: what the policy knows of it; the monitor's alone
 */
struct gpreempt_job_place {
	struct list_head link;
	struct list_head gone;
	struct job *job;
	u32 nr_processes;
	struct gpreempt_policy_job policy;
};

GPREEMPT_PART(job_node, struct gpreempt_node, struct gpreempt_node_job)
GPREEMPT_PART(job_process, struct gpreempt_process, struct gpreempt_process_job)

/* Under gpreempt_lock */
static DEFINE_HASHTABLE(jobs, 6);
/* Slots that nodes have, under gpreempt_lifecycle */
static u64 slots;

static struct job *job_find_locked(const struct gpreempt_membership *as)
{
	struct job *job;

	lockdep_assert_held(&gpreempt_lock);
	hash_for_each_possible(jobs, job, link, (unsigned long)as->id)
		if (gpreempt_membership_is(&job->as, as))
			return job;
	return NULL;
}

/* Have the other nodes of a job look. */
static void job_tell_others(const struct job *job, u32 slot, bool begins)
{
	u64 nodes = READ_ONCE(job->nodes) & ~BIT_ULL(slot);
	struct gpreempt_node *gn;

	rcu_read_lock();
	for (; nodes; nodes &= nodes - 1) {
		gn = READ_ONCE(job->at[__builtin_ctzll(nodes)]);
		if (gn)
			gpreempt_node_tell(gn, begins);
	}
	rcu_read_unlock();
}

static void job_release(struct kref *ref)
{
	kfree(container_of(ref, struct job, ref));
}

/* No reader is left. NULL: there is none. */
static void job_free_place(struct gpreempt_job_place *place)
{
	if (place)
		kref_put(&place->job->ref, job_release);
	kfree(place);
}

static struct job *job_make_locked(const struct gpreempt_membership *as)
{
	struct job *job = job_find_locked(as);

	if (job) {
		kref_get(&job->ref);
		return job;
	}
	job = kzalloc(sizeof(*job), GFP_KERNEL);
	if (!job)
		return NULL;
	job->as = *as;
	kref_init(&job->ref);
	hash_add(jobs, &job->link, (unsigned long)as->id);
	return job;
}

static struct gpreempt_job_place *job_find_place_locked(const struct gpreempt_node *gn,
							const struct gpreempt_membership *as)
{
	struct gpreempt_job_place *place;

	list_for_each_entry(place, &job_node(gn)->places, link)
		if (gpreempt_membership_is(&place->job->as, as))
			return place;
	return NULL;
}

/* NULL: no memory. */
static struct gpreempt_job_place *job_make_place_locked(struct gpreempt_node *gn,
							const struct gpreempt_membership *as)
{
	struct gpreempt_node_job *node = job_node(gn);
	struct gpreempt_job_place *place = job_find_place_locked(gn, as);
	struct job *job;

	if (place)
		return place;
	place = kzalloc(sizeof(*place), GFP_KERNEL);
	job = place ? job_make_locked(as) : NULL;
	if (!job) {
		kfree(place);
		gpreempt_stats_skip(gn, NULL, GPREEMPT_SKIP_NO_MEMORY);
		return NULL;
	}
	place->job = job;
	place->policy.wanted_priority = GPREEMPT_PRIORITY_MIN;
	place->policy.top_elsewhere = GPREEMPT_PRIORITY_MIN;
	job->nr_places++;
	gpreempt_news_end(&job->news[node->slot]);
	WRITE_ONCE(job->news[node->slot].top, GPREEMPT_PRIORITY_MIN);
	WRITE_ONCE(job->news[node->slot].left_ns, 0);
	WRITE_ONCE(job->at[node->slot], gn);
	/* Those that see the bit see what belongs to it. */
	smp_store_release(&job->nodes, job->nodes | BIT_ULL(node->slot));
	list_add_tail_rcu(&place->link, &node->places);
	return place;
}

/* The last process of a job leaves a node. */
static void job_unlink_place_locked(struct gpreempt_node *gn, struct gpreempt_job_place *place)
{
	struct job *job = place->job;
	u32 slot = job_node(gn)->slot;

	list_del_rcu(&place->link);
	WRITE_ONCE(job->nodes, job->nodes & ~BIT_ULL(slot));
	WRITE_ONCE(job->at[slot], NULL);
	if (!--job->nr_places)
		hash_del(&job->link);
	/* Its words are not read any more. */
	job_tell_others(job, slot, false);
}

/* Returns what is to be freed when no reader is left; NULL: nothing. */
static struct gpreempt_job_place *job_leave_locked(struct gpreempt_process *process)
{
	struct gpreempt_process_job *in = job_process(process);
	struct gpreempt_job_place *place = in->place;

	if (!place)
		return NULL;
	WRITE_ONCE(in->place, NULL);
	WRITE_ONCE(process->job, 0);
	WRITE_ONCE(process->privileged_job, 0);
	if (--place->nr_processes)
		return NULL;
	job_unlink_place_locked(process->gn, place);
	return place;
}

static void job_join_locked(struct gpreempt_process *process, const struct gpreempt_membership *as)
{
	struct gpreempt_node *gn = process->gn;
	struct gpreempt_process_job *in = job_process(process);
	struct gpreempt_job_place *place;

	if (!as->id || job_node(gn)->slot == GPREEMPT_NEWS_NODES)
		return;
	place = job_make_place_locked(gn, as);
	if (!place)
		return;
	place->nr_processes++;
	WRITE_ONCE(place->job->as.stay, as->stay);
	WRITE_ONCE(process->job, as->id);
	WRITE_ONCE(process->privileged_job, as->privileged ? as->id : 0);
	gpreempt_rooms_tell(joined, process, as);
	/* Pairs with the acquire of the monitor. */
	smp_store_release(&in->place, place);
}

/* A process has come to a node, with what it inherits; the monitor does not know it yet. */
static void job_join(struct gpreempt_process *process)
{
	struct gpreempt_membership as;

	lockdep_assert_held(&gpreempt_lock);
	gpreempt_priority_membership(process, &as);
	job_join_locked(process, &as);
}

/* A process has gone from a node */
static void job_leave(struct gpreempt_process *process)
{
	lockdep_assert_held(&gpreempt_lock);
	job_process(process)->gone = job_leave_locked(process);
}

/* Free what job_leave() has left */
static void job_free_process(struct gpreempt_process *process)
{
	job_free_place(job_process(process)->gone);
}

/* Is it in another job than it should be? Then it changes. */
static bool job_change_locked(struct gpreempt_process *process, struct list_head *gone)
{
	struct gpreempt_job_place *place = job_process(process)->place, *left;
	struct gpreempt_membership as;

	/* Of a program that has ended, what it was in stays. */
	if (!gpreempt_priority_membership(process, &as))
		return false;
	if (place && gpreempt_membership_is(&place->job->as, &as)) {
		WRITE_ONCE(place->job->as.stay, as.stay);
		return false;
	}
	if (!place && !as.id)
		return false;
	left = job_leave_locked(process);
	gpreempt_rooms_tell(joined, process, NULL);
	if (left)
		list_add_tail(&left->gone, gone);
	job_join_locked(process, &as);
	return true;
}

/*
 * Have processes of a node changed their job: by a setting, by their cgroup, or because they have
 * another user now? gpreempt_lock not held; waits for a grace period of the node's readers.
 */
static void job_update_node(struct gpreempt_node *gn)
{
	struct gpreempt_job_place *place, *next;
	struct gpreempt_process *process;
	bool changed = false;
	LIST_HEAD(gone);

	mutex_lock(&gpreempt_lock);
	list_for_each_entry(process, &gn->queues.processes, link)
		changed |= job_change_locked(process, &gone);
	/*
	 * A pass that does not see the kick began before this, and is waited for; every other one
	 * takes the new places.
	 */
	if (changed)
		gpreempt_node_nudge(gn);
	mutex_unlock(&gpreempt_lock);
	if (list_empty(&gone))
		return;
	synchronize_srcu_expedited(&gn->queues.srcu);
	list_for_each_entry_safe(place, next, &gone, gone)
		job_free_place(place);
}

static int job_update_one(struct gpreempt_node *gn, void *arg)
{
	job_update_node(gn);
	return 0;
}

/* A setting has changed the jobs of processes. The caller pays for its own change. */
static void job_update_all(void)
{
	gpreempt_node_find(job_update_one, NULL);
}

/* Let the policy know the job of a process */
static void job_derive(struct gpreempt_process *process)
{
	/* Pairs with the release where it is published. */
	struct gpreempt_job_place *place = smp_load_acquire(&job_process(process)->place);

	process->policy.job = place ? &place->policy : NULL;
}

/* Take in what other nodes say of the jobs of a node */
static u8 job_hear(struct gpreempt_node *gn, u64 now_ns)
{
	const struct gpreempt_node_job *node = job_node(gn);
	struct gpreempt_job_place *place;
	bool news = false;
	u64 nodes;

	gn->policy.jobs = NULL;
	list_for_each_entry_srcu(place, &node->places, link,
				 srcu_read_lock_held(&gn->queues.srcu)) {
		/* Pairs with the release where a node comes. */
		nodes = smp_load_acquire(&place->job->nodes);
		place->policy.gang = !READ_ONCE(place->job->as.stay);
		news |= gpreempt_news_hear(&place->policy, place->job->news, nodes, node->slot,
					   now_ns);
		place->policy.next = gn->policy.jobs;
		gn->policy.jobs = &place->policy;
	}
	return news ? GPREEMPT_HEARD_NEWS : 0;
}

/* Tell the other nodes what a decision means for the jobs of a node */
static void job_tell(struct gpreempt_node *gn, u64 now_ns)
{
	struct gpreempt_job_place *place;
	enum gpreempt_news_change change;
	u32 slot = job_node(gn)->slot;

	list_for_each_entry_srcu(place, &job_node(gn)->places, link,
				 srcu_read_lock_held(&gn->queues.srcu)) {
		change = gpreempt_news_tell(&place->job->news[slot], &place->policy, now_ns);
		if (change != GPREEMPT_NEWS_SAME)
			job_tell_others(place->job, slot, change == GPREEMPT_NEWS_BEGINS);
	}
}

/*
 * The node decides nothing any more, for now: it fails, is paused or switched off. pass_lock is
 * held, which keeps others from telling.
 */
static void job_end(struct gpreempt_node *gn)
{
	struct gpreempt_job_place *place;
	u32 slot = job_node(gn)->slot;
	int idx;

	idx = srcu_read_lock(&gn->queues.srcu);
	list_for_each_entry_srcu(place, &job_node(gn)->places, link,
				 srcu_read_lock_held(&gn->queues.srcu))
		if (gpreempt_news_end(&place->job->news[slot]))
			job_tell_others(place->job, slot, false);
	srcu_read_unlock(&gn->queues.srcu, idx);
}

/* A node comes up */
static void job_init_node(struct gpreempt_node *gn)
{
	struct gpreempt_node_job *node = job_node(gn);

	lockdep_assert_held(&gpreempt_lifecycle);
	INIT_LIST_HEAD(&node->places);
	node->slot = ~slots ? __builtin_ctzll(~slots) : GPREEMPT_NEWS_NODES;
	if (~slots)
		slots |= BIT_ULL(node->slot);
	else
		dev_info(gn->node->adev->dev, "gpreempt: gpu %u is one more than jobs can use: its processes are in none\n",
			 gn->node->id);
}

/*
 * A node is gone, and no process is on it any more. Monitors of other nodes that have seen it have
 * finished with it.
 */
static void job_free_node(struct gpreempt_node *gn)
{
	u32 slot = job_node(gn)->slot;

	lockdep_assert_held(&gpreempt_lifecycle);
	synchronize_rcu();
	if (slot < GPREEMPT_NEWS_NODES)
		slots &= ~BIT_ULL(slot);
}

const struct gpreempt_room gpreempt_room_job = {
	.start_node = job_init_node,
	.stop_node = job_free_node,
	.process_added = job_join,
	.process_gone = job_leave,
	.process_freed = job_free_process,
	.hear = job_hear,
	.derive = job_derive,
	.refresh = job_derive,
	.decided = job_tell,
	.ended = job_end,
	.tend = job_update_node,
	.jobs_set = job_update_all,
	.parts = {
		[GPREEMPT_OF_NODE] = &job_node_part,
		[GPREEMPT_OF_PROCESS] = &job_process_part,
	},
};
