// SPDX-License-Identifier: MIT
/*
 * hold.c - preemption on request
 *
 * A hold joins a holder and a queue. The policy keeps a queue that has any off the device. The
 * monitor does the work, as for every other preemption, and the caller waits for it. All lists are
 * under gpreempt_lock, which a queue's end takes as well.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "core/node.h"
#include "core/rooms.h"
#include "compat/compat.h"
#include "core/obstacle.h"
#include "hold.h"
#include "target.h"

/*
 * Holds of a queue; those with CAP_SYS_ADMIN may add more. They are walked whenever one comes or
 * goes.
 */
#define MAX_HOLDS	64

/*
 * Calls of a user that wait until queues are off; those with CAP_SYS_ADMIN may be more. Each looks
 * at all queues when a monitor has acted.
 */
#define MAX_WAITS	64

/**
 * struct hold_wait - a call that waits
 * @link: in @hold_waits
 * @user: pays for it
 */
struct hold_wait {
	struct list_head link;
	kuid_t user;
};

static LIST_HEAD(hold_waits);
static DEFINE_SPINLOCK(hold_waits_lock);

/**
 * struct hold - a holder's hold of a queue
 * @of_holder: in &gpreempt_holder.holds
 * @of_queue: in &gpreempt_queue_holds.list
 * @holder: the holder
 * @gq: the queue
 * @unbounded: it lasts, whatever gpreempt_max_hold_ms says
 * @privileged: a caller with CAP_SYS_ADMIN asked for it: others do not end it
 */
struct hold {
	struct list_head of_holder;
	struct list_head of_queue;
	struct gpreempt_holder *holder;
	struct gpreempt_queue *gq;
	bool unbounded;
	bool privileged;
};

GPREEMPT_PART(hold_node, struct gpreempt_node, struct gpreempt_node_hold)
GPREEMPT_PART(hold_queue, struct gpreempt_queue, struct gpreempt_queue_holds)

/*
 * Processes that hold their own queues through /dev/kfd: a queue has one process, so one holder
 * does for all of them.
 */
struct gpreempt_holder gpreempt_own_holder = {
	.holds = LIST_HEAD_INIT(gpreempt_own_holder.holds),
};

/**
 * gpreempt_holder_init() - make a holder that holds nothing yet
 * @holder: the holder
 */
void gpreempt_holder_init(struct gpreempt_holder *holder)
{
	INIT_LIST_HEAD(&holder->holds);
}

/* What the monitor takes in with its next look. A call that changes nothing causes none. */
static void hold_count_locked(struct gpreempt_queue *gq)
{
	bool held = !list_empty(&hold_queue(gq)->list), unbounded = false;
	struct hold *hold;

	lockdep_assert_held(&gpreempt_lock);
	list_for_each_entry(hold, &hold_queue(gq)->list, of_queue)
		unbounded |= hold->unbounded;
	if (held == gq->hold.any && unbounded == gq->hold.unbounded)
		return;
	WRITE_ONCE(gq->hold.unbounded, unbounded);
	if (held != gq->hold.any) {
		/* A resume may be on its way: what counts is a look that begins after this. */
		smp_store_mb(gq->hold.any, held);
		hold_queue(gq)->from = READ_ONCE(gq->gn->monitor.begun) + 1;
	}
	hold_node(gq->gn)->changed = true;
}

/*
 * After all that a call changes: the monitor preempts its caller and carries out what it sees, so a
 * look in between would cost a runlist more. The look is at once: a program that holds its own
 * queue waits for the device, so it pays for the looks that it causes.
 */
static void hold_look_locked(void)
{
	struct gpreempt_node *gn;

	lockdep_assert_held(&gpreempt_lock);
	list_for_each_entry(gn, &gpreempt_nodes, link) {
		if (!hold_node(gn)->changed)
			continue;
		hold_node(gn)->changed = false;
		gpreempt_node_kick(gn);
	}
}

static void hold_end_locked(struct hold *hold)
{
	lockdep_assert_held(&gpreempt_lock);
	list_del(&hold->of_holder);
	list_del(&hold->of_queue);
	hold_count_locked(hold->gq);
	kfree(hold);
}

/* A queue goes, or its node only observes. The monitor looks when all of them are done */
static void hold_forget_locked(struct gpreempt_queue *gq)
{
	struct hold *hold, *next;

	lockdep_assert_held(&gpreempt_lock);
	list_for_each_entry_safe(hold, next, &hold_queue(gq)->list, of_queue)
		hold_end_locked(hold);
	hold_node(gq->gn)->changed = false;
}

static struct hold *hold_find_locked(const struct gpreempt_holder *holder,
				     const struct gpreempt_queue *gq)
{
	struct hold *hold;

	list_for_each_entry(hold, &hold_queue(gq)->list, of_queue)
		if (hold->holder == holder)
			return hold;
	return NULL;
}

/**
 * struct hold_request - a walk over the queues that a command is about
 * @holder: the caller's; NULL: ends all holds
 * @match: which queues
 * @unbounded: of a new hold
 * @spare: holds that are not used yet
 * @nr_spare: their number
 * @found: queues that match
 * @missing: of these, those that @holder does not hold yet
 * @done: queues that are off the device, or that were held before this and are not any more; of a
 *	wait, those that need not be waited for
 * @off: queues that are not on the device
 * @sent: all that one is waited for is that the device reads what it was sent
 * @denied: a hold was left that is not the caller's to end
 * @reset: a queue was reset while it was held
 */
struct hold_request {
	struct gpreempt_holder *holder;
	const struct gpreempt_target_match *match;
	bool unbounded;
	struct list_head spare;
	u32 nr_spare;
	u32 found;
	u32 missing;
	u32 done;
	u32 off;
	bool sent;
	bool denied;
	bool reset;
};

typedef int (*hold_fn)(struct gpreempt_queue *gq, struct hold_request *request);

static int hold_walk_locked(struct hold_request *request, hold_fn fn)
{
	struct gpreempt_node *gn;
	struct gpreempt_queue *gq;
	int r;

	lockdep_assert_held(&gpreempt_lock);
	list_for_each_entry(gn, &gpreempt_nodes, link) {
		list_for_each_entry(gq, &gn->queues.list, link) {
			r = gpreempt_target_has(request->match, gq) ? fn(gq, request) : 0;
			if (r)
				return r;
		}
	}
	return 0;
}

/* Only a hint: the backend looks again, and a caller that waits then waits until the timeout. */
static int hold_may_be_held(const struct gpreempt_queue *gq)
{
	struct gpreempt_overrides overrides;

	if (!gq->gn->backend || gpreempt_tunables_observes(gq->gn))
		return -EOPNOTSUPP;
	if (READ_ONCE(gq->gn->life.paused))
		return -EIO;
	if (READ_ONCE(gq->gn->monitor.state) == GPREEMPT_STATE_FAILED)
		return -EOPNOTSUPP;
	if (gpreempt_obstacle(gq) != GPREEMPT_NR_SKIPS)
		return -EBUSY;
	/* What was set counts from the next pass, and a hold makes one. */
	gpreempt_priority_overrides(gq->process->p->lead_thread, &overrides);
	return overrides.process.exempt ? -EPERM : 0;
}

static int hold_check_one(struct gpreempt_queue *gq, struct hold_request *request)
{
	int r = hold_may_be_held(gq);

	request->found++;
	if (r || hold_find_locked(request->holder, gq))
		return r;
	request->missing++;
	if (!request->match->viewer.sees_all && gpreempt_compat_count(&hold_queue(gq)->list) >= MAX_HOLDS)
		return -EUSERS;
	return 0;
}

static int hold_one(struct gpreempt_queue *gq, struct hold_request *request)
{
	struct hold *hold = hold_find_locked(request->holder, gq);

	if (!hold) {
		hold = list_first_entry(&request->spare, struct hold, of_holder);
		hold->holder = request->holder;
		hold->gq = gq;
		list_move_tail(&hold->of_holder, &request->holder->holds);
		list_add_tail(&hold->of_queue, &hold_queue(gq)->list);
	}
	hold->unbounded |= request->unbounded;
	hold->privileged |= request->match->viewer.sees_all;
	hold_count_locked(gq);
	return 0;
}

/* All or nothing. -EAGAIN: there are not enough spare ones. */
static int hold_all(struct hold_request *request)
{
	int r;

	request->found = 0;
	request->missing = 0;
	mutex_lock(&gpreempt_lock);
	r = hold_walk_locked(request, hold_check_one);
	if (!r && !request->found)
		r = -ENOENT;
	if (!r && request->missing > request->nr_spare)
		r = -EAGAIN;
	if (!r)
		hold_walk_locked(request, hold_one);
	hold_look_locked();
	mutex_unlock(&gpreempt_lock);
	return r;
}

/* No lock held: the caller's cgroup pays, and may have to wait for memory. */
static int hold_make_spare(struct hold_request *request)
{
	struct hold *hold;

	for (; request->nr_spare < request->missing; request->nr_spare++) {
		hold = kzalloc(sizeof(*hold), GFP_KERNEL_ACCOUNT);
		if (!hold)
			return -ENOMEM;
		list_add_tail(&hold->of_holder, &request->spare);
	}
	return 0;
}

static int hold_begin(struct hold_request *request)
{
	struct hold *hold, *next;
	int r;

	INIT_LIST_HEAD(&request->spare);
	do {
		r = hold_all(request);
		/* Others may come before they are held. */
	} while (r == -EAGAIN && !(r = hold_make_spare(request)));
	list_for_each_entry_safe(hold, next, &request->spare, of_holder)
		kfree(hold);
	return r;
}

/*
 * gpreempt_lock held. Has what its holds were before counted for the last time? Not if the look
 * that takes in what they are now is one of those that have not ended. Numbers wrap, and that of a
 * queue may be from long ago.
 */
static bool hold_is_seen(const struct gpreempt_queue *gq)
{
	u32 ended = READ_ONCE(gq->gn->monitor.ended), begun = READ_ONCE(gq->gn->monitor.begun);

	return hold_queue(gq)->from - ended - 1 > begun - ended;
}

/*
 * Off the device, and not about to come back because of what was before it was held. One that the
 * driver keeps off (evicted after a memory violation, disabled) is off: when the driver gives it
 * back, the next pass takes it off.
 */
static int hold_count_off(struct gpreempt_queue *gq, struct hold_request *request)
{
	if (!hold_find_locked(request->holder, gq))
		return 0;
	request->found++;
	request->done += hold_is_seen(gq) && (gpreempt_policy_read(gq->policy.preempted) ||
					      gpreempt_policy_read(gq->policy.seen.driver_off));
	return 0;
}

/* gpreempt_lock held. Has the device read all that it was sent? False if it cannot be known now. */
static bool hold_is_read(struct gpreempt_node *gn)
{
	bool read;

	if (!mutex_trylock(&gn->waves.see_lock))
		return false;
	read = !READ_ONCE(gn->life.paused) && gn->backend->runlist_quiescent(gn);
	mutex_unlock(&gn->waves.see_lock);
	return read;
}

/*
 * On the device, or kept off for another reason: a look that began after the hold ended left it
 * there. A resume that was decided and not carried out is no reason.
 */
static int hold_count_back(struct gpreempt_queue *gq, struct hold_request *request)
{
	bool preempted = gpreempt_policy_read(gq->policy.preempted);
	bool off = preempted || !READ_ONCE(gq->q->properties.is_active);
	/* A node that has failed has given back everything, and does not look. */
	bool seen = hold_is_seen(gq) || READ_ONCE(gq->gn->monitor.state) == GPREEMPT_STATE_FAILED;
	bool done = seen;

	if (seen && off)
		done = !preempted || gpreempt_policy_read(gq->policy.action) != GPREEMPT_RESUME;
	else if (seen)
		done = hold_is_read(gq->gn);
	request->found++;
	request->done += done;
	request->off += off || !done;
	request->sent |= seen && !off && !done;
	return 0;
}

/* What a wait sleeps between two looks at what the device has read, which ends no sleep. */
#define HOLD_READ_US	50

/* Returns what is left of the time, 0: none, or an error. */
static long hold_sleep(const struct hold_request *request, unsigned int passes, unsigned long end)
{
	/*
	 * What a wait returns is at least 1 if it was woken: on a busy node it would never reach 0.
	 */
	long left = end - jiffies;

	if (left <= 0)
		return 0;
	if (!request->sent)
		return wait_event_interruptible_timeout(gpreempt_acted,
							gpreempt_node_passes() != passes, left) < 0 ?
			       -ERESTARTSYS : left;
	usleep_range(HOLD_READ_US, 2 * HOLD_READ_US);
	return signal_pending(current) ? -ERESTARTSYS : left;
}

/*
 * Until @fn finds all queues where they should be. Looking takes a mutex, so it is not done as the
 * condition of a wait.
 */
static int hold_await_all(struct hold_request *request, hold_fn fn, u32 timeout_ms)
{
	/* One more, because the first has begun already. */
	unsigned long end = jiffies + msecs_to_jiffies(timeout_ms) + 1;
	long left;

	do {
		unsigned int passes = gpreempt_node_passes();

		request->found = 0;
		request->done = 0;
		request->off = 0;
		request->sent = false;
		mutex_lock(&gpreempt_lock);
		hold_walk_locked(request, fn);
		mutex_unlock(&gpreempt_lock);
		if (request->found == request->done)
			return request->found ? 0 : -ENOENT;
		left = hold_sleep(request, passes, end);
	} while (left > 0);
	return left ?: -ETIME;
}

static bool hold_wait_begin(struct hold_wait *wait, bool unbounded)
{
	const struct hold_wait *other;
	unsigned int nr = 0;
	bool may;

	wait->user = gpreempt_viewer_user_of(current->group_leader);
	spin_lock(&hold_waits_lock);
	list_for_each_entry(other, &hold_waits, link)
		nr += uid_eq(other->user, wait->user);
	may = unbounded || nr < MAX_WAITS;
	if (may)
		list_add_tail(&wait->link, &hold_waits);
	spin_unlock(&hold_waits_lock);
	return may;
}

static void hold_wait_end(struct hold_wait *wait)
{
	spin_lock(&hold_waits_lock);
	list_del(&wait->link);
	spin_unlock(&hold_waits_lock);
}

static int hold_await(struct hold_request *request, hold_fn fn, u32 timeout_ms)
{
	int r;

	gpreempt_node_await();
	r = hold_await_all(request, fn, timeout_ms);
	gpreempt_node_await_end();
	return r;
}

/**
 * gpreempt_hold() - take queues off the device and keep them off
 * @holder: the caller's
 * @match: which queues: one, or those of a process
 * @unbounded: whatever gpreempt_max_hold_ms says
 * @timeout_ms: how long to wait until they are saved; 0: the driver's own timeout
 * @nr_queues: receives how many are off the device on behalf of @holder
 *
 * Context: may sleep; no lock of the scheduler held.
 *
 * Return: 0; -ENOENT: there is none; -EBUSY, -EOPNOTSUPP, -EIO, -EPERM (exempt), -ENOMEM, -EUSERS:
 * nothing is held that was not before; -ETIME, -ERESTARTSYS: not saved yet, the hold stays
 */
int gpreempt_hold(struct gpreempt_holder *holder, const struct gpreempt_target_match *match,
		  bool unbounded, u32 timeout_ms, u32 *nr_queues)
{
	struct hold_request request = { .holder = holder, .match = match, .unbounded = unbounded };
	struct hold_wait wait;
	int r;

	if (!gpreempt_node_enabled(match->gpu_id))
		return -EOPNOTSUPP;
	if (!hold_wait_begin(&wait, match->viewer.sees_all))
		return -EUSERS;
	r = hold_begin(&request);
	if (!r) {
		r = hold_await(&request, hold_count_off, timeout_ms ?: queue_preemption_timeout_ms);
		*nr_queues = request.done;
	}
	hold_wait_end(&wait);
	return r;
}

static int hold_unhold_one(struct gpreempt_queue *gq, struct hold_request *request)
{
	struct hold *hold, *next;
	bool ended = false;

	request->found++;
	list_for_each_entry_safe(hold, next, &hold_queue(gq)->list, of_queue) {
		if (request->holder && hold->holder != request->holder)
			continue;
		if (!request->holder && hold->privileged && !request->match->viewer.sees_all) {
			request->denied = true;
			continue;
		}
		hold_end_locked(hold);
		ended = true;
	}
	request->done += ended;
	request->reset |= ended && gpreempt_obstacle_was_reset(gq);
	return 0;
}

/**
 * gpreempt_unhold() - end holds
 * @holder: whose; NULL: all holders'
 * @match: of which queues
 * @timeout_ms: how long to wait until each of them is on the device, or kept off it for another
 *	reason: another hold, the scheduler or the driver; 0: not at all
 * @nr_queues: receives of how many
 * @nr_off: receives how many of @match are not on the device after the wait; 0 without one
 *
 * Context: may sleep; no lock of the scheduler held.
 *
 * Return: 0; -ENOENT: there is no such queue; -EPERM: one is still held by a caller with
 * CAP_SYS_ADMIN, which this one cannot overrule, and nothing was waited for; -EIO: one was reset
 * and stays off, nothing is held; -ETIME, -ERESTARTSYS, -EUSERS: the holds have ended, and not all
 * queues are back yet
 */
int gpreempt_unhold(struct gpreempt_holder *holder, const struct gpreempt_target_match *match,
		    u32 timeout_ms, u32 *nr_queues, u32 *nr_off)
{
	struct hold_request request = { .holder = holder, .match = match };
	struct hold_wait wait;
	int r;

	mutex_lock(&gpreempt_lock);
	hold_walk_locked(&request, hold_unhold_one);
	hold_look_locked();
	mutex_unlock(&gpreempt_lock);
	*nr_queues = request.done;
	*nr_off = 0;
	if (request.denied)
		return -EPERM;
	if (request.reset)
		return -EIO;
	if (!request.found || !timeout_ms)
		return request.found ? 0 : -ENOENT;
	if (!hold_wait_begin(&wait, match->viewer.sees_all))
		return -EUSERS;
	r = hold_await(&request, hold_count_back, timeout_ms);
	hold_wait_end(&wait);
	*nr_off = request.off;
	/* They have ended meanwhile. */
	return r == -ENOENT ? 0 : r;
}

/**
 * gpreempt_holder_release() - end all holds of a holder
 * @holder: the holder
 *
 * Context: may sleep; no lock of the scheduler held.
 */
void gpreempt_holder_release(struct gpreempt_holder *holder)
{
	struct hold *hold, *next;

	mutex_lock(&gpreempt_lock);
	list_for_each_entry_safe(hold, next, &holder->holds, of_holder)
		hold_end_locked(hold);
	hold_look_locked();
	mutex_unlock(&gpreempt_lock);
}

/* A queue that is being registered is not held */
static void hold_init_queue(struct gpreempt_queue *gq)
{
	INIT_LIST_HEAD(&hold_queue(gq)->list);
}

/* As when it is switched off: who holds a queue that runs is told that none is held. */
static void hold_tuned(struct gpreempt_node *gn, enum gpreempt_tunable which, u32 value)
{
	struct gpreempt_queue *gq;

	if (which != GPREEMPT_TUNABLE_OBSERVE || !value)
		return;
	list_for_each_entry(gq, &gn->queues.list, link)
		hold_forget_locked(gq);
}

const struct gpreempt_room gpreempt_room_hold = {
	.init_queue = hold_init_queue,
	.queue_gone = hold_forget_locked,
	.tuned = hold_tuned,
	.parts = {
		[GPREEMPT_OF_NODE] = &hold_node_part,
		[GPREEMPT_OF_QUEUE] = &hold_queue_part,
	},
};
