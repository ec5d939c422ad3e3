// SPDX-License-Identifier: MIT
/*
 * pace.c - runlists that programs ask for, at a pace that those above them do not feel
 *
 * Some commands of /dev/kfd make the driver build a runlist: it takes every queue off the device
 * and holds its lock until that is done. In a loop they keep a preemption, and the work it is for,
 * waiting. So a program that is outranked has a budget of such commands, which all outranked
 * programs of a node share: whether one loop gives them or several makes no difference. Beyond it a
 * command waits, before any lock is taken. None is refused. While no two processes of a node differ
 * in rank, none waits for it.
 */
#include <linux/ktime.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>

#include "node.h"

/*
 * So many commands at once: a program starts with some queues on each device, and sets each of them
 * up with one or two more.
 */
#define PACE_BURST	32

/*
 * After that one in so much time. A runlist costs a millisecond or two of the device and of the
 * driver's lock. With a request of 1.6 ms every 5 ms from above (neighbours_storms.c on the virtual
 * GPU) fewer than one in a hundred meets one, so that their 99th percentile does not show it; at
 * 100 and 200 ms it did.
 */
#define PACE_EVERY_NS	500000000LL

/*
 * No command waits for longer. So ten can wait in a row: of more that are given at the same time
 * each adds one runlist in this time.
 */
#define PACE_LONGEST_NS	5000000000LL

/*
 * Does the driver build a runlist for it? It goes by the number alone, whatever else a command word
 * says.
 */
static bool pace_builds_runlist(unsigned int cmd)
{
	switch (_IOC_NR(cmd)) {
	case _IOC_NR(AMDKFD_IOC_CREATE_QUEUE):
	case _IOC_NR(AMDKFD_IOC_DESTROY_QUEUE):
	case _IOC_NR(AMDKFD_IOC_UPDATE_QUEUE):
	case _IOC_NR(AMDKFD_IOC_SET_CU_MASK):
	case _IOC_NR(AMDKFD_IOC_ALLOC_QUEUE_GWS):
		return true;
	default:
		return false;
	}
}

/* Has the process queues on the node? Those of another kind than compute count. */
static bool pace_has_queues(const struct gpreempt_node *gn, struct kfd_process *p)
{
	const struct kfd_process_device *pdd = kfd_get_process_device_data(gn->node, p);

	return pdd && !list_empty(&pdd->qpd.queues_list);
}

/*
 * Has another process worked lately that comes before this one? A higher one does; where ranks
 * differ among those that work, an equal does as well before a process that itself does not work. A
 * process without compute queues comes after all of those.
 */
static bool pace_is_outranked(struct gpreempt_node *gn, const struct kfd_process *p, u64 now_ns)
{
	s32 own = GPREEMPT_PRIORITY_MIN, highest = GPREEMPT_PRIORITY_MIN;
	bool works = false, others_work = false, scheduled = false;
	struct gpreempt_queue *gq;
	int idx;

	idx = srcu_read_lock(&gn->queues.srcu);
	list_for_each_entry_srcu(gq, &gn->queues.list, link,
				 srcu_read_lock_held(&gn->queues.srcu)) {
		u64 active_ns = gpreempt_policy_read(gq->policy.seen.active_ns);
		/* The monitor may have looked after @now_ns. */
		bool active = active_ns && (s64)(now_ns - active_ns) < (s64)GPREEMPT_CONTENDED_NS;
		s32 standing = gpreempt_policy_read(gq->policy.standing);

		if (gq->q->process == p) {
			scheduled = true;
			works |= active;
			own = max(own, standing);
		} else if (active) {
			others_work = true;
			highest = max(highest, standing);
		}
	}
	srcu_read_unlock(&gn->queues.srcu, idx);
	if (!others_work)
		return false;
	if (scheduled && own != highest)
		return own < highest;
	return !works && READ_ONCE(gn->mqd.rivalry);
}

/* Takes a command out of the budget. Returns how long it has to wait for it. */
static u64 pace_take(struct gpreempt_node *gn, u64 now_ns)
{
	s64 now = now_ns, due;

	spin_lock(&gn->pace.lock);
	due = max(gn->pace.due_ns, now - PACE_BURST * PACE_EVERY_NS) + PACE_EVERY_NS;
	due = min(due, now + PACE_LONGEST_NS);
	gn->pace.due_ns = due;
	spin_unlock(&gn->pace.lock);
	return due > now ? due - now : 0;
}

/**
 * struct pace - a command that is about to be carried out
 * @p: whose it is
 * @now_ns: when it came
 * @wait_ns: how long it has to wait
 */
struct pace {
	struct kfd_process *p;
	u64 now_ns;
	u64 wait_ns;
};

static int pace_on_node(struct gpreempt_node *gn, void *arg)
{
	struct pace *pace = arg;
	u64 wait_ns;

	if (!READ_ONCE(gn->life.thread) || READ_ONCE(gn->life.paused) ||
	    gpreempt_tunables_observes(gn) || !gpreempt_policy_read(gn->policy.differs) ||
	    !pace_has_queues(gn, pace->p) || !pace_is_outranked(gn, pace->p, pace->now_ns))
		return 0;
	wait_ns = pace_take(gn, pace->now_ns);
	if (wait_ns)
		atomic64_inc(&gn->stats.paced);
	pace->wait_ns = max(pace->wait_ns, wait_ns);
	return 0;
}

/**
 * __kfd_gpreempt_pace() - have a command wait if it asks for one runlist too many
 * @process: the opener of the file
 * @cmd: the command word as the program gave it
 *
 * On which node its runlist will be is not looked up: a command counts on each node where its
 * process has queues and is outranked. Waits for PACE_LONGEST_NS at most, and not at all for a
 * program that is being killed; other signals do not shorten it, or they would be the way around
 * it.
 *
 * Context: an ioctl on /dev/kfd; no lock held; may sleep.
 */
void __kfd_gpreempt_pace(struct kfd_process *process, unsigned int cmd)
{
	struct pace pace = { .p = process, .now_ns = ktime_get_ns() };

	/* The driver refuses a descriptor that was inherited or passed on. */
	if (!pace_builds_runlist(cmd) || process->lead_thread != current->group_leader)
		return;
	gpreempt_node_find(pace_on_node, &pace);
	if (pace.wait_ns)
		schedule_timeout_killable(nsecs_to_jiffies(pace.wait_ns) + 1);
}

/**
 * gpreempt_pace_init_node() - nothing has been asked for yet
 * @gn: the node, new
 *
 * Context: any.
 */
void gpreempt_pace_init_node(struct gpreempt_node *gn)
{
	spin_lock_init(&gn->pace.lock);
}
