// SPDX-License-Identifier: MIT
/*
 * pace.c - runlists that programs ask for, at a pace that those above them do not feel
 *
 * Some commands of /dev/kfd make the driver build a runlist: it takes every queue off the device
 * and holds its lock until that is done. In a loop they keep a preemption, and the work it is for,
 * waiting. So programs that are outranked have two budgets. Each user has one of runlists on each
 * node, for all its programs: what the driver builds is taken out of it. Each process has one of
 * commands, for itself alone, in which those count as well that the driver refuses. Beyond them
 * commands wait, before any lock is taken. None is refused. While no two processes of a node differ
 * in rank, none waits.
 */
#include <linux/ktime.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>
#include <linux/uidgid.h>

#include "core/node.h"
#include "core/rooms.h"
#include "compat/compat.h"
#include "pace.h"

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

/**
 * struct pace_user - the budget of a user
 * @user: see gpreempt_viewer_user_of()
 * @due_ns: when its next runlist would be due without a burst
 * @turn_ns: when the last of its commands that wait has its turn
 */
struct pace_user {
	kuid_t user;
	s64 due_ns;
	s64 turn_ns;
};

/* What is kept of a node */
struct pace_node {
	/** @users: some of them, under pace.c's lock; the others owe nothing */
	struct pace_user users[GPREEMPT_PACE_USERS];
};

GPREEMPT_PART(pace_node, struct gpreempt_node, struct pace_node)

/* Innermost; for the budgets of all. */
static DEFINE_SPINLOCK(pace_lock);

/*
 * No command waits for longer. So ten of a user can wait in a row: of more that are given at the
 * same time each adds one runlist in this time.
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

/**
 * struct pace - a command that is about to be carried out, or a runlist that it asks for
 * @p: whose it is
 * @user: which user pays for it
 * @node: where the runlist is; NULL: of a command that is not known
 * @now_ns: when it came
 * @turn_ns: when its user's budgets have room
 * @nr_nodes: nodes where its process is outranked
 */
struct pace {
	struct kfd_process *p;
	kuid_t user;
	const struct kfd_node *node;
	s64 now_ns;
	s64 turn_ns;
	u32 nr_nodes;
};

/*
 * What counts of a process of whose compute queues no pass knows. Its settings are not asked for
 * where a runlist is being built, under the driver's lock: it pays then, and whether it has to wait
 * for that is found later.
 */
static s32 pace_of_settings(const struct gpreempt_node *gn, const struct pace *pace, s32 highest)
{
	if (pace->node)
		return GPREEMPT_PRIORITY_MIN;
	/* There the order is none of priorities. */
	if (gpreempt_tunables_policy(gn)->rotates)
		return highest;
	return gpreempt_priority_of_program(gn, pace->p->lead_thread);
}

/*
 * Has another process worked lately that comes before this one? A higher one does; where ranks
 * differ among those that work, an equal does as well before a process that itself does not work.
 */
static bool pace_is_outranked(struct gpreempt_node *gn, const struct pace *pace)
{
	s32 own = GPREEMPT_PRIORITY_MIN, highest = GPREEMPT_PRIORITY_MIN;
	bool works = false, others_work = false, known = false;
	struct gpreempt_queue *gq;
	int idx;

	idx = srcu_read_lock(&gn->queues.srcu);
	list_for_each_entry_srcu(gq, &gn->queues.list, link,
				 srcu_read_lock_held(&gn->queues.srcu)) {
		u64 active_ns = gpreempt_policy_read(gq->policy.seen.active_ns);
		/* The monitor may have looked after that. */
		bool active = active_ns &&
			      pace->now_ns - (s64)active_ns < (s64)GPREEMPT_CONTENDED_NS;
		s32 standing = gpreempt_policy_read(gq->policy.standing);

		if (gq->q->process != pace->p) {
			others_work |= active;
			highest = active ? max(highest, standing) : highest;
		} else if (gpreempt_policy_read(gq->priority.derived)) {
			known = true;
			works |= active;
			own = max(own, standing);
		}
	}
	srcu_read_unlock(&gn->queues.srcu, idx);
	if (!others_work)
		return false;
	if (!known)
		own = pace_of_settings(gn, pace, highest);
	if (own != highest)
		return own < highest;
	return !works && READ_ONCE(gn->mqd.rivalry);
}

static bool pace_concerns(struct gpreempt_node *gn, const struct pace *pace)
{
	return READ_ONCE(gn->life.thread) && !READ_ONCE(gn->life.paused) &&
	       !gpreempt_tunables_observes(gn) && gpreempt_policy_read(gn->policy.differs) &&
	       pace_is_outranked(gn, pace);
}

/*
 * The account of a user; NULL: it has none, so it owes nothing. With @make it gets the place of the
 * user that owes least, whose budget is full again a little too early.
 */
static struct pace_user *pace_user_locked(struct gpreempt_node *gn, kuid_t user, bool make)
{
	struct pace_user *u, *least = pace_node(gn)->users;

	lockdep_assert_held(&pace_lock);
	for (u = pace_node(gn)->users; u < pace_node(gn)->users + GPREEMPT_PACE_USERS; u++) {
		if (uid_eq(u->user, user))
			return u;
		if (u->due_ns < least->due_ns)
			least = u;
	}
	if (!make)
		return NULL;
	*least = (struct pace_user){ .user = user };
	return least;
}

/* Takes so much out of a budget. Returns when that has room again, which is no later than @most. */
static s64 pace_take(s64 due, s64 now, s64 cost, s64 most)
{
	due = max(due, now - (PACE_BURST - 1) * PACE_EVERY_NS);
	return min(due + cost, now + most);
}

static void pace_charge_locked(struct gpreempt_node *gn, const struct pace *pace)
{
	struct pace_user *u = pace_user_locked(gn, pace->user, true);

	u->due_ns = pace_take(u->due_ns, pace->now_ns, PACE_EVERY_NS, PACE_LONGEST_NS);
}

/*
 * When has the user's budget room for a command? Each of those that wait has a turn of its own, or
 * their runlists would follow each other without a pause.
 */
static s64 pace_turn_locked(struct gpreempt_node *gn, const struct pace *pace)
{
	struct pace_user *u = pace_user_locked(gn, pace->user, false);

	if (!u || u->due_ns <= pace->now_ns)
		return pace->now_ns;
	u->turn_ns = max(u->due_ns, u->turn_ns + PACE_EVERY_NS);
	u->turn_ns = min(u->turn_ns, pace->now_ns + PACE_LONGEST_NS);
	return u->turn_ns;
}

static int pace_ask_node(struct gpreempt_node *gn, void *arg)
{
	const struct kfd_process_device *pdd;
	struct pace *pace = arg;
	s64 turn;

	/* Queues of another kind than compute count. */
	pdd = kfd_get_process_device_data(gn->node, pace->p);
	if (!pdd || list_empty(&pdd->qpd.queues_list) || !pace_concerns(gn, pace))
		return 0;
	pace->nr_nodes++;
	spin_lock(&pace_lock);
	turn = pace_turn_locked(gn, pace);
	turn = max(turn, pace->p->gpreempt_due_ns);
	/* The driver takes everything off before it refuses to change a queue of such a process. */
	if (gpreempt_compat_was_reset(pdd))
		pace_charge_locked(gn, pace);
	spin_unlock(&pace_lock);
	if (turn > pace->now_ns)
		atomic64_inc(&gn->stats.paced);
	pace->turn_ns = max(pace->turn_ns, turn);
	return 0;
}

/*
 * How long has the command to wait? On which of its process's nodes the runlist will be is not
 * known: with several of them it costs less.
 */
static u64 pace_wait_ns(struct pace *pace)
{
	s64 *due = &pace->p->gpreempt_due_ns;

	spin_lock(&pace_lock);
	pace->turn_ns = max(pace->turn_ns, *due);
	*due = pace_take(*due, pace->now_ns, PACE_EVERY_NS / pace->nr_nodes, PACE_EVERY_NS);
	spin_unlock(&pace_lock);
	return max(pace->turn_ns - pace->now_ns, 0LL);
}

/**
 * __kfd_gpreempt_pace() - have a command wait if its process or its user has given too many
 * @process: the opener of the file
 * @cmd: the command word as the program gave it
 *
 * Waits for the nodes where its process has queues and is outranked: for PACE_LONGEST_NS at most,
 * and not at all for a program that is being killed. Other signals do not shorten it, or they would
 * be the way around it.
 *
 * Context: an ioctl on /dev/kfd; no lock held; may sleep.
 */
void __kfd_gpreempt_pace(struct kfd_process *process, unsigned int cmd)
{
	struct pace pace = { .p = process, .now_ns = ktime_get_ns() };
	u64 wait_ns;

	/* The driver refuses a descriptor that was inherited or passed on. */
	if (!pace_builds_runlist(cmd) || process->lead_thread != current->group_leader)
		return;
	pace.user = gpreempt_viewer_user_of(process->lead_thread);
	gpreempt_node_find(pace_ask_node, &pace);
	if (!pace.nr_nodes)
		return;
	wait_ns = pace_wait_ns(&pace);
	if (wait_ns)
		schedule_timeout_killable(nsecs_to_jiffies(wait_ns) + 1);
}

static int pace_charge_node(struct gpreempt_node *gn, void *arg)
{
	const struct pace *pace = arg;

	if (gn->node != pace->node)
		return 0;
	if (pace_concerns(gn, pace)) {
		spin_lock(&pace_lock);
		pace_charge_locked(gn, pace);
		spin_unlock(&pace_lock);
	}
	return 1;
}

/**
 * __kfd_gpreempt_runlist_asked() - a runlist is being built because a program asked for it
 * @q: its queue, which comes, changes or goes
 *
 * A work item ends the queues of a program, and its debugger changes them: neither is its command.
 *
 * Context: p->mutex, dqm_lock held, or none of them.
 */
void __kfd_gpreempt_runlist_asked(struct queue *q)
{
	struct pace pace = { .p = q->process, .node = q->device, .now_ns = ktime_get_ns() };

	if (q->process->lead_thread != current->group_leader)
		return;
	pace.user = gpreempt_viewer_user_of(q->process->lead_thread);
	gpreempt_node_find(pace_charge_node, &pace);
}

const struct gpreempt_room gpreempt_room_pace = {
	.parts = { [GPREEMPT_OF_NODE] = &pace_node_part },
};
