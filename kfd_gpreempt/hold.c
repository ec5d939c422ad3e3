// SPDX-License-Identifier: MIT
/*
 * hold.c - preemption on request
 *
 * A hold joins a holder and a queue. The policy keeps a queue that has any off the device. The
 * monitor does the work, as for every other preemption, and the caller waits for it. All lists are
 * under gpreempt_lock, which a queue's end takes as well.
 */
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "node.h"
#include "compat.h"
#include "obstacle.h"
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
 * @of_queue: in &gpreempt_queue.holds
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

/*
 * What the monitor takes in with its next pass, which is at once: a program that holds its own
 * queue waits for the device, so it pays for the looks that it causes. A call that changes nothing
 * causes none.
 */
static void hold_count_locked(struct gpreempt_queue *gq)
{
	bool held = !list_empty(&gq->hold.list), unbounded = false;
	struct hold *hold;

	lockdep_assert_held(&gpreempt_lock);
	list_for_each_entry(hold, &gq->hold.list, of_queue)
		unbounded |= hold->unbounded;
	if (held == gq->hold.any && unbounded == gq->hold.unbounded)
		return;
	WRITE_ONCE(gq->hold.unbounded, unbounded);
	if (held != gq->hold.any) {
		/* A resume may be on its way: what counts is a look that begins after this. */
		smp_store_mb(gq->hold.any, held);
		gq->hold.from = READ_ONCE(gq->gn->monitor.begun) + 1;
	}
	gpreempt_node_kick(gq->gn);
}

static void hold_end_locked(struct hold *hold)
{
	lockdep_assert_held(&gpreempt_lock);
	list_del(&hold->of_holder);
	list_del(&hold->of_queue);
	hold_count_locked(hold->gq);
	kfree(hold);
}

/**
 * gpreempt_hold_forget_locked() - end all holds of a queue that goes, or whose node only observes
 * @gq: the queue
 *
 * Context: gpreempt_lock held.
 */
void gpreempt_hold_forget_locked(struct gpreempt_queue *gq)
{
	struct hold *hold, *next;

	lockdep_assert_held(&gpreempt_lock);
	list_for_each_entry_safe(hold, next, &gq->hold.list, of_queue)
		hold_end_locked(hold);
}

static struct hold *hold_find_locked(const struct gpreempt_holder *holder,
				     const struct gpreempt_queue *gq)
{
	struct hold *hold;

	list_for_each_entry(hold, &gq->hold.list, of_queue)
		if (hold->holder == holder)
			return hold;
	return NULL;
}

/**
 * struct hold_request - a walk over the queues that a command is about
 * @holder: the caller's; NULL: ends all holds
 * @match: which queues
 * @unbounded: of a new hold
 * @found: queues that match
 * @done: queues that are off the device, or that were held before this and are not any more
 * @denied: a hold was left that is not the caller's to end
 * @reset: a queue was reset while it was held
 */
struct hold_request {
	struct gpreempt_holder *holder;
	const struct gpreempt_target_match *match;
	bool unbounded;
	u32 found;
	u32 done;
	bool denied;
	bool reset;
};

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

static int hold_check_one(struct gpreempt_queue *gq, void *arg)
{
	struct hold_request *request = arg;

	if (!gpreempt_target_has(request->match, gq))
		return 0;
	request->found++;
	return hold_may_be_held(gq);
}

static int hold_one(struct gpreempt_queue *gq, void *arg)
{
	struct hold_request *request = arg;
	struct hold *hold;

	if (!gpreempt_target_has(request->match, gq))
		return 0;
	if (gpreempt_tunables_observes(gq->gn))
		return -EOPNOTSUPP;
	hold = hold_find_locked(request->holder, gq);
	if (!hold) {
		if (!request->match->viewer.sees_all &&
		    gpreempt_compat_count(&gq->hold.list) >= MAX_HOLDS)
			return -EUSERS;
		hold = kzalloc(sizeof(*hold), GFP_KERNEL_ACCOUNT);
		if (!hold)
			return -ENOMEM;
		hold->holder = request->holder;
		hold->gq = gq;
		list_add_tail(&hold->of_holder, &request->holder->holds);
		list_add_tail(&hold->of_queue, &gq->hold.list);
	}
	hold->unbounded |= request->unbounded;
	hold->privileged |= request->match->viewer.sees_all;
	hold_count_locked(gq);
	return 0;
}

/*
 * gpreempt_lock held. Off the device, and not about to come back because of what was before it was
 * held. One that the driver keeps off (evicted after a memory violation, disabled) is off: when the
 * driver gives it back, the next pass takes it off.
 */
static bool hold_is_off(const struct gpreempt_queue *gq)
{
	return (s32)(READ_ONCE(gq->gn->monitor.ended) - gq->hold.from) >= 0 &&
	       (gpreempt_policy_read(gq->policy.preempted) ||
		gpreempt_policy_read(gq->policy.seen.driver_off));
}

static int hold_count_one(struct gpreempt_queue *gq, void *arg)
{
	struct hold_request *request = arg;

	if (gpreempt_target_has(request->match, gq) && hold_find_locked(request->holder, gq)) {
		request->found++;
		request->done += hold_is_off(gq);
	}
	return 0;
}

/*
 * Until every queue is saved. Looking takes a mutex, so it is not done as the condition of a wait.
 */
static int hold_await_off(struct hold_request *request, u32 timeout_ms)
{
	/* One more, because the first has begun already. */
	unsigned long end = jiffies + msecs_to_jiffies(timeout_ms) + 1;

	for (;;) {
		unsigned int passes = gpreempt_node_passes();
		long left;

		request->found = 0;
		request->done = 0;
		gpreempt_node_walk_locked(hold_count_one, request);
		if (request->found == request->done)
			return request->found ? 0 : -ENOENT;
		/*
		 * What a wait returns is at least 1 if it was woken: on a busy node it would never
		 * reach 0.
		 */
		left = end - jiffies;
		if (left <= 0)
			return -ETIME;
		left = wait_event_interruptible_timeout(gpreempt_acted,
							gpreempt_node_passes() != passes, left);
		if (left < 0)
			return left;
	}
}

static bool hold_wait_begin(struct hold_wait *wait, bool unbounded)
{
	const struct hold_wait *other;
	unsigned int nr = 0;
	bool may;

	wait->user = gpreempt_target_user_of(current->group_leader);
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

static int hold_wait_until_off(struct hold_request *request, u32 timeout_ms)
{
	int r;

	gpreempt_node_await();
	r = hold_await_off(request, timeout_ms);
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
 * Return: 0; -ENOENT: there is none; -EBUSY, -EOPNOTSUPP, -EIO, -EPERM (exempt): nothing is held
 * that was not before; -ENOMEM, -EUSERS: nothing is held; -ETIME, -ERESTARTSYS: not saved yet, the
 * hold stays
 */
int gpreempt_hold(struct gpreempt_holder *holder, const struct gpreempt_target_match *match,
		  bool unbounded, u32 timeout_ms, u32 *nr_queues)
{
	struct hold_request request = { .holder = holder, .match = match, .unbounded = unbounded };
	struct hold_wait wait;
	int r;

	if (!gpreempt_node_enabled(match->gpu_id))
		return -EOPNOTSUPP;
	/* All or nothing, as far as one can know. */
	r = gpreempt_node_walk_locked(hold_check_one, &request);
	if (r)
		return r;
	if (!request.found)
		return -ENOENT;
	if (!hold_wait_begin(&wait, match->viewer.sees_all))
		return -EUSERS;
	r = gpreempt_node_walk_locked(hold_one, &request);
	if (r) {
		gpreempt_unhold(holder, match, nr_queues);
	} else {
		r = hold_wait_until_off(&request, timeout_ms ?: queue_preemption_timeout_ms);
		*nr_queues = request.done;
	}
	hold_wait_end(&wait);
	return r;
}

static int hold_unhold_one(struct gpreempt_queue *gq, void *arg)
{
	struct hold_request *request = arg;
	struct hold *hold, *next;
	bool ended = false;

	if (!gpreempt_target_has(request->match, gq))
		return 0;
	request->found++;
	list_for_each_entry_safe(hold, next, &gq->hold.list, of_queue) {
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
 * @nr_queues: receives of how many
 *
 * Context: may sleep; no lock of the scheduler held.
 *
 * Return: 0; -ENOENT: there is no such queue; -EPERM: one is still held by a caller with
 * CAP_SYS_ADMIN, which this one cannot overrule; -EIO: one was reset and stays off, nothing is held
 */
int gpreempt_unhold(struct gpreempt_holder *holder, const struct gpreempt_target_match *match,
		    u32 *nr_queues)
{
	struct hold_request request = { .holder = holder, .match = match };

	gpreempt_node_walk_locked(hold_unhold_one, &request);
	*nr_queues = request.done;
	if (request.denied)
		return -EPERM;
	if (request.reset)
		return -EIO;
	return request.found ? 0 : -ENOENT;
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
	mutex_unlock(&gpreempt_lock);
}

/**
 * gpreempt_hold_init_queue() - a queue that is being registered is not held
 * @gq: the queue
 *
 * Context: any.
 */
void gpreempt_hold_init_queue(struct gpreempt_queue *gq)
{
	INIT_LIST_HEAD(&gq->hold.list);
}
