// SPDX-License-Identifier: MIT
/*
 * node.c - the list of nodes, their locks, walks over queues, and how the monitor is woken
 *
 * Everything else in this folder stands on this file. It knows of no other room but by the
 * structures that node.h embeds.
 */
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "node.h"
#include "amdgpu.h"
#include "amdgpu_reset.h"

/* Registration of queues and everything that node.h says is under it. */
DEFINE_MUTEX(gpreempt_lock);

/*
 * Woken when a monitor has acted, or has nothing to act on any more; gpreempt_node_passes() tells
 * that it was. Monitors of all nodes write both, so they do it for those alone who wait. Of more
 * than a few a work item wakes them: a pass does not pay for their number.
 */
#define FEW_WAITERS	4
DECLARE_WAIT_QUEUE_HEAD(gpreempt_acted);
static atomic_t passes;
static atomic_t waiting;

static void node_wake_waiters(struct work_struct *work)
{
	wake_up_all(&gpreempt_acted);
}

static DECLARE_WORK(wake_waiters, node_wake_waiters);

/*
 * Outermost lock: serialises everything that starts, stops, adds or removes nodes. Removing a node
 * waits for the users of its files, so these must not wait for it.
 */
DEFINE_MUTEX(gpreempt_lifecycle);
LIST_HEAD(gpreempt_nodes);
/* Keeps nodes while readers that change nothing look at them. */
DEFINE_STATIC_SRCU(nodes_srcu);

/**
 * gpreempt_node_add() - a node is found from now on
 * @gn: the node
 *
 * Context: gpreempt_lifecycle held; may sleep.
 */
void gpreempt_node_add(struct gpreempt_node *gn)
{
	lockdep_assert_held(&gpreempt_lifecycle);
	mutex_lock(&gpreempt_lock);
	list_add_tail_rcu(&gn->link, &gpreempt_nodes);
	mutex_unlock(&gpreempt_lock);
}

/**
 * gpreempt_node_remove() - a node is found no longer, and those who found it have finished
 * @gn: the node
 *
 * Context: gpreempt_lifecycle held; may sleep.
 */
void gpreempt_node_remove(struct gpreempt_node *gn)
{
	lockdep_assert_held(&gpreempt_lifecycle);
	mutex_lock(&gpreempt_lock);
	list_del_rcu(&gn->link);
	mutex_unlock(&gpreempt_lock);
	synchronize_srcu(&nodes_srcu);
}

/**
 * gpreempt_node_wake() - have the monitor see whether it has a reason to look
 * @gn: the node, whose reason the caller has just written, with a full barrier after it
 *
 * Context: any that may be a reader of RCU; the node is kept by something.
 */
void gpreempt_node_wake(struct gpreempt_node *gn)
{
	struct task_struct *thread;

	/* The monitor does not end while we look at it. */
	rcu_read_lock();
	thread = READ_ONCE(gn->life.thread);
	if (thread)
		wake_up_process(thread);
	rcu_read_unlock();
}

/**
 * gpreempt_node_look() - have the monitor look at once; nothing has changed that priorities come
 * from
 * @gn: the node
 *
 * Context: as gpreempt_node_wake().
 */
void gpreempt_node_look(struct gpreempt_node *gn)
{
	/*
	 * Pairs with the monitor's set_current_state(): either it sees this, or we see it asleep.
	 */
	smp_store_mb(gn->urgent, true);
	gpreempt_node_wake(gn);
}

/**
 * gpreempt_node_kick() - have the monitor look at once, with priorities derived anew
 * @gn: the node
 *
 * Context: as gpreempt_node_wake().
 */
void gpreempt_node_kick(struct gpreempt_node *gn)
{
	WRITE_ONCE(gn->kick, true);
	gpreempt_node_look(gn);
}

/**
 * gpreempt_node_for_each() - call a function for each node
 * @fn: the function; gpreempt_lifecycle is held while it runs
 * @arg: passed through
 *
 * Context: no lock of the scheduler held; may sleep.
 */
void gpreempt_node_for_each(void (*fn)(struct gpreempt_node *gn, void *arg), void *arg)
{
	struct gpreempt_node *gn;

	mutex_lock(&gpreempt_lifecycle);
	list_for_each_entry(gn, &gpreempt_nodes, link)
		fn(gn, arg);
	mutex_unlock(&gpreempt_lifecycle);
}

/**
 * gpreempt_node_state() - what a node does
 * @gn: the node
 *
 * Context: any.
 *
 * Return: its state, as user space knows it
 */
enum gpreempt_node_state gpreempt_node_state(const struct gpreempt_node *gn)
{
	static const enum gpreempt_node_state states[] = {
		[GPREEMPT_STATE_PARKED] = GPREEMPT_NODE_PARKED,
		[GPREEMPT_STATE_IDLE] = GPREEMPT_NODE_IDLE,
		[GPREEMPT_STATE_POLLING] = GPREEMPT_NODE_POLLING,
		[GPREEMPT_STATE_ARMED] = GPREEMPT_NODE_ARMED,
		[GPREEMPT_STATE_FAILED] = GPREEMPT_NODE_FAILED,
	};

	if (!gn->backend)
		return GPREEMPT_NODE_UNSUPPORTED;
	if (!READ_ONCE(gn->life.thread))
		return GPREEMPT_NODE_OFF;
	if (READ_ONCE(gn->life.paused))
		return GPREEMPT_NODE_PAUSED;
	return states[READ_ONCE(gn->monitor.state)];
}

/**
 * gpreempt_node_state_for() - what a caller may know of what a node does
 * @gn: the node
 * @sees_all: with CAP_SYS_ADMIN. Others are not told whether programs work: a node that is
 *	on is idle to them.
 *
 * Context: any.
 *
 * Return: its state, as it is shown
 */
enum gpreempt_node_state gpreempt_node_state_for(const struct gpreempt_node *gn, bool sees_all)
{
	enum gpreempt_node_state state = gpreempt_node_state(gn);

	if (!sees_all && (state == GPREEMPT_NODE_PARKED || state == GPREEMPT_NODE_POLLING ||
			  state == GPREEMPT_NODE_ARMED))
		return GPREEMPT_NODE_IDLE;
	return state;
}

/**
 * gpreempt_node_state_word() - a state in a word
 * @state: what a node does
 *
 * Return: the word, as in sysfs
 */
const char *gpreempt_node_state_word(enum gpreempt_node_state state)
{
	static const char *const names[] = {
		[GPREEMPT_NODE_OFF] = "off",
		[GPREEMPT_NODE_PARKED] = "parked",
		[GPREEMPT_NODE_IDLE] = "idle",
		[GPREEMPT_NODE_POLLING] = "polling",
		[GPREEMPT_NODE_PAUSED] = "paused",
		[GPREEMPT_NODE_FAILED] = "failed",
		[GPREEMPT_NODE_UNSUPPORTED] = "unsupported",
		[GPREEMPT_NODE_ARMED] = "armed",
	};

	return names[state];
}

/**
 * gpreempt_node_state_name() - what a node does, in a word
 * @gn: the node
 *
 * Context: any.
 *
 * Return: the word, as in sysfs
 */
const char *gpreempt_node_state_name(const struct gpreempt_node *gn)
{
	return gpreempt_node_state_word(gpreempt_node_state(gn));
}

/**
 * gpreempt_node_find_locked() - call a function for each node until it returns something
 * @fn: the function; gpreempt_lock is held while it runs
 * @arg: passed through
 *
 * Context: gpreempt_lifecycle and gpreempt_lock not held; may sleep.
 *
 * Return: what @fn returned last; 0 without nodes
 */
int gpreempt_node_find_locked(gpreempt_node_fn fn, void *arg)
{
	struct gpreempt_node *gn;
	int r = 0;

	mutex_lock(&gpreempt_lock);
	list_for_each_entry(gn, &gpreempt_nodes, link) {
		r = fn(gn, arg);
		if (r)
			break;
	}
	mutex_unlock(&gpreempt_lock);
	return r;
}

/**
 * gpreempt_node_find() - call a function for each node until it returns something, for readers that
 * change nothing
 * @fn: the function; the node stays while it runs, nothing else does
 * @arg: passed through
 *
 * Context: may sleep, but waits for nothing that waits for the end of a node.
 *
 * Return: what @fn returned last; 0 without nodes
 */
int gpreempt_node_find(gpreempt_node_fn fn, void *arg)
{
	struct gpreempt_node *gn;
	int idx, r = 0;

	idx = srcu_read_lock(&nodes_srcu);
	list_for_each_entry_srcu(gn, &gpreempt_nodes, link, srcu_read_lock_held(&nodes_srcu)) {
		r = fn(gn, arg);
		if (r)
			break;
	}
	srcu_read_unlock(&nodes_srcu, idx);
	return r;
}

static int node_is_on(struct gpreempt_node *gn, void *arg)
{
	u32 gpu_id = *(const u32 *)arg;

	return READ_ONCE(gn->life.wanted) && (!gpu_id || gn->node->id == gpu_id);
}

/**
 * gpreempt_node_enabled() - is a node scheduled, or would be if it were not failed or paused?
 * @gpu_id: the node; 0: any
 *
 * Context: as gpreempt_node_find().
 *
 * Return: true if it is
 */
bool gpreempt_node_enabled(u32 gpu_id)
{
	return gpreempt_node_find(node_is_on, &gpu_id);
}

/**
 * gpreempt_node_acted() - wake callers that wait for a monitor to act
 *
 * Context: any.
 */
void gpreempt_node_acted(void)
{
	int nr;

	/* Pairs with gpreempt_node_await(): either the caller sees what was done, or we see it. */
	smp_mb();
	nr = atomic_read(&waiting);
	if (likely(!nr))
		return;
	atomic_inc(&passes);
	if (nr <= FEW_WAITERS)
		wake_up_all(&gpreempt_acted);
	else
		schedule_work(&wake_waiters);
}

/**
 * gpreempt_node_exit() - no caller is left to be woken
 *
 * Context: module exit; no command is under way.
 */
void gpreempt_node_exit(void)
{
	cancel_work_sync(&wake_waiters);
}

/**
 * gpreempt_node_await() - monitors are to tell when they have acted
 *
 * Before gpreempt_node_passes() is asked; gpreempt_node_await_end() ends it.
 *
 * Context: any.
 */
void gpreempt_node_await(void)
{
	atomic_inc(&waiting);
	/* Pairs with gpreempt_node_acted(). */
	smp_mb();
}

/**
 * gpreempt_node_await_end() - one caller less that waits for monitors
 *
 * Context: any.
 */
void gpreempt_node_await_end(void)
{
	atomic_dec(&waiting);
}

/**
 * gpreempt_node_passes() - how often gpreempt_node_acted() was called while a caller waited
 *
 * Return: their number, which may wrap
 */
unsigned int gpreempt_node_passes(void)
{
	return atomic_read(&passes);
}

/**
 * gpreempt_node_nudge() - have the monitor look soon, with priorities derived anew
 * @gn: the node
 *
 * For whatever a program can ask for without any right, in a loop: all calls together cost one look
 * per gpreempt_poll_us (a millisecond, if that is longer or 0). The first call after that much time
 * without a look has it at once. A full barrier.
 *
 * Context: as gpreempt_node_wake().
 */
void gpreempt_node_nudge(struct gpreempt_node *gn)
{
	/* An earlier caller has woken it, and it has not looked since. */
	if (!xchg(&gn->kick, true))
		gpreempt_node_wake(gn);
}

/**
 * gpreempt_node_tell() - another node has said something new: have the monitor look soon
 * @gn: the node
 * @begins: see &gpreempt_node.begins
 *
 * As gpreempt_node_nudge(), and nothing has changed that priorities come from. A full barrier, as
 * is what the monitor does after it has put itself to sleep.
 *
 * Context: a reader of RCU, which keeps the node.
 */
void gpreempt_node_tell(struct gpreempt_node *gn, bool begins)
{
	struct task_struct *thread;

	if (begins ? xchg(&gn->begins, true) : xchg(&gn->told, true))
		return;
	thread = READ_ONCE(gn->life.thread);
	if (thread)
		wake_up_process(thread);
}

static int node_kick_one(struct gpreempt_node *gn, void *arg)
{
	gpreempt_node_kick(gn);
	return 0;
}

/**
 * gpreempt_node_kick_all() - have every monitor look at once: something changed that is no node's
 * own
 *
 * Context: no lock of the scheduler held; may sleep.
 */
void gpreempt_node_kick_all(void)
{
	gpreempt_node_find_locked(node_kick_one, NULL);
}

/**
 * gpreempt_node_read_vram() - read ring pointers in memory of the device
 * @gq: the queue
 * @view: its view
 * @rptr: receives the read pointer
 * @wptr: receives the write pointer
 *
 * Context: as gpreempt_node_read().
 *
 * Return: false while the device is reset: nothing answers then
 */
bool gpreempt_node_read_vram(const struct gpreempt_queue *gq, const struct gpreempt_view *view,
			     u64 *rptr, u64 *wptr)
{
	struct rw_semaphore *sem = &gq->gn->node->adev->reset_domain->sem;

	if (!down_read_trylock(sem))
		return false;
	gpreempt_node_read_view(gq, view, rptr, wptr);
	up_read(sem);
	return true;
}

/**
 * struct queue_walk - a walk over all queues
 * @fn: called for each
 * @arg: passed through
 */
struct queue_walk {
	gpreempt_queue_fn fn;
	void *arg;
};

static int node_walk_one_locked(struct gpreempt_node *gn, void *arg)
{
	const struct queue_walk *walk = arg;
	struct gpreempt_queue *gq;
	int r;

	list_for_each_entry(gq, &gn->queues.list, link) {
		r = walk->fn(gq, walk->arg);
		if (r)
			return r;
	}
	return 0;
}

/**
 * gpreempt_node_walk_locked() - call a function for each registered queue until it returns
 * something
 * @fn: the function; gpreempt_lock is held while it runs
 * @arg: passed through
 *
 * Context: no lock of the scheduler held; may sleep.
 *
 * Return: what @fn returned last; 0 without queues
 */
int gpreempt_node_walk_locked(gpreempt_queue_fn fn, void *arg)
{
	struct queue_walk walk = { .fn = fn, .arg = arg };

	return gpreempt_node_find_locked(node_walk_one_locked, &walk);
}

static int node_walk_one(struct gpreempt_node *gn, void *arg)
{
	const struct queue_walk *walk = arg;
	struct gpreempt_queue *gq;
	int idx, r = 0;

	idx = srcu_read_lock(&gn->queues.srcu);
	list_for_each_entry_srcu(gq, &gn->queues.list, link,
				 srcu_read_lock_held(&gn->queues.srcu)) {
		r = walk->fn(gq, walk->arg);
		if (r)
			break;
	}
	srcu_read_unlock(&gn->queues.srcu, idx);
	return r;
}

/**
 * gpreempt_node_walk() - as gpreempt_node_walk_locked(), for readers that change nothing
 * @fn: the function; the queue stays while it runs, nothing else does. It does not sleep.
 * @arg: passed through
 *
 * The creation or change of a queue does not wait for it. The end of one does, for as long as @fn
 * takes.
 *
 * Context: as gpreempt_node_find().
 *
 * Return: what @fn returned last; 0 without queues
 */
int gpreempt_node_walk(gpreempt_queue_fn fn, void *arg)
{
	struct queue_walk walk = { .fn = fn, .arg = arg };

	return gpreempt_node_find(node_walk_one, &walk);
}

/**
 * gpreempt_node_pending() - what is between a queue's pointers now: a parked monitor does not look
 * @gq: the queue
 *
 * Context: gpreempt_lock or srcu of its node held.
 *
 * Return: packets (AQL) or dwords (PM4); 0 if the pointers cannot be read
 */
u64 gpreempt_node_pending(const struct gpreempt_queue *gq)
{
	u64 rptr, wptr, pending;

	gpreempt_node_read(gq, &rptr, &wptr, &pending);
	return pending;
}
