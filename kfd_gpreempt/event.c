// SPDX-License-Identifier: MIT
/*
 * event.c - who listens to what happens
 *
 * Events are told by the monitor, partly under dqm_lock: no allocation, no sleeping, one spinlock. A reader who is too slow loses the
 * newest ones and is told how many.
 */
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/pid_namespace.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>

#include "core.h"
#include "outside.h"

/* Unread events of a listener. A pass over a full node tells one for each of its queues. */
#define MAX_EVENTS	1024
/* Of a user who does not see all: every event is offered to every listener, under the driver's locks. */
#define MAX_LISTENERS_OF_USER	64

/**
 * struct gpreempt_listener - somebody who listens
 * @link: in @listeners, under @listeners_lock
 * @ns: pid namespace in which pids are told; referenced
 * @uid: whose processes it hears of
 * @sees_all: it hears of all
 * @wait: for events
 * @nr: unread events
 * @first: the oldest of them
 * @missed: events lost since the newest one
 * @events: ring
 *
 * What is not said to be constant is under @listeners_lock; @ns, @uid and @sees_all are constant.
 */
struct gpreempt_listener {
	struct list_head link;
	struct pid_namespace *ns;
	kuid_t uid;
	bool sees_all;
	wait_queue_head_t wait;
	u32 nr;
	u32 first;
	u32 missed;
	struct gpreempt_event events[MAX_EVENTS];
};

static LIST_HEAD(listeners);
static DEFINE_SPINLOCK(listeners_lock);

/* listeners_lock held. */
static bool is_full(kuid_t uid)
{
	const struct gpreempt_listener *l;
	unsigned int nr = 0;

	list_for_each_entry(l, &listeners, link)
		nr += !l->sees_all && uid_eq(l->uid, uid);
	return nr >= MAX_LISTENERS_OF_USER;
}

/**
 * gpreempt_listener_create() - listen from now on
 * @ns: pid namespace of the listener
 * @uid: its user
 * @sees_all: it may hear of other users' processes
 *
 * Context: may sleep.
 *
 * Return: the listener; -EMFILE: the user has as many as he may have; -ENOMEM
 */
struct gpreempt_listener *gpreempt_listener_create(struct pid_namespace *ns, kuid_t uid, bool sees_all)
{
	struct gpreempt_listener *l = kvzalloc(sizeof(*l), GFP_KERNEL_ACCOUNT);
	bool full;

	if (!l)
		return ERR_PTR(-ENOMEM);
	l->ns = get_pid_ns(ns);
	l->uid = uid;
	l->sees_all = sees_all;
	init_waitqueue_head(&l->wait);
	spin_lock(&listeners_lock);
	full = !sees_all && is_full(uid);
	if (!full)
		list_add_tail(&l->link, &listeners);
	spin_unlock(&listeners_lock);
	if (full) {
		put_pid_ns(l->ns);
		kvfree(l);
		return ERR_PTR(-EMFILE);
	}
	return l;
}

/**
 * gpreempt_listener_destroy() - listen no more
 * @listener: the listener; nobody waits for it any more
 *
 * Context: may sleep.
 */
void gpreempt_listener_destroy(struct gpreempt_listener *listener)
{
	spin_lock(&listeners_lock);
	list_del(&listener->link);
	spin_unlock(&listeners_lock);
	put_pid_ns(listener->ns);
	kvfree(listener);
}

/**
 * gpreempt_listener_wait() - where to wait for events
 * @listener: the listener
 *
 * Return: the queue to wait on
 */
wait_queue_head_t *gpreempt_listener_wait(struct gpreempt_listener *listener)
{
	return &listener->wait;
}

/**
 * gpreempt_listener_ready() - is there an event to be read?
 * @listener: the listener
 *
 * Context: any; no lock needed.
 *
 * Return: true if there is
 */
bool gpreempt_listener_ready(struct gpreempt_listener *listener)
{
	return READ_ONCE(listener->nr);
}

static bool take(struct gpreempt_listener *l, struct gpreempt_event *event)
{
	bool got;

	spin_lock(&listeners_lock);
	got = l->nr;
	if (got) {
		*event = l->events[l->first];
		l->first = (l->first + 1) % MAX_EVENTS;
		WRITE_ONCE(l->nr, l->nr - 1);
	}
	spin_unlock(&listeners_lock);
	return got;
}

/**
 * gpreempt_listener_read() - give events to user space
 * @listener: the listener
 * @buffer: where to
 * @size: its size in bytes
 * @nonblocking: do not wait for the first
 *
 * Context: may sleep; no lock held.
 *
 * Return: bytes, a multiple of the event's size; -EINVAL: no event fits; -EAGAIN; -ERESTARTSYS; -EFAULT
 */
ssize_t gpreempt_listener_read(struct gpreempt_listener *listener, char __user *buffer, size_t size, bool nonblocking)
{
	struct gpreempt_event event;
	size_t done = 0;
	int r;

	if (size < sizeof(event))
		return -EINVAL;
	while (!done) {
		if (!nonblocking) {
			r = wait_event_interruptible(listener->wait, gpreempt_listener_ready(listener));
			if (r)
				return r;
		}
		while (size - done >= sizeof(event) && take(listener, &event)) {
			if (copy_to_user(buffer + done, &event, sizeof(event)))
				return done ? done : -EFAULT;
			done += sizeof(event);
		}
		if (nonblocking)
			break;
	}
	return done ? done : -EAGAIN;
}

/* That somebody outranks somebody tells that others work; that a node has failed concerns all. */
static bool may_hear(const struct gpreempt_listener *l, struct task_struct *leader, enum gpreempt_event_type type)
{
	if (l->sees_all)
		return true;
	return leader ? uid_eq(l->uid, task_euid(leader)) : type != GPREEMPT_EVENT_INVERSION;
}

static void put(struct gpreempt_listener *l, const struct gpreempt_event *event)
{
	struct gpreempt_event *place;

	if (l->nr == MAX_EVENTS) {
		l->missed++;
		return;
	}
	place = &l->events[(l->first + l->nr) % MAX_EVENTS];
	*place = *event;
	place->missed = l->missed;
	l->missed = 0;
	WRITE_ONCE(l->nr, l->nr + 1);
	wake_up_interruptible(&l->wait);
}

/**
 * gpreempt_event() - tell those who listen
 * @gn: the node
 * @gq: the queue; NULL: the node itself
 * @type: what happened
 * @value: more about it, see &enum gpreempt_event_type
 *
 * Context: process context; may be called under any lock of the scheduler and of the driver's queues.
 */
void gpreempt_event(struct gpreempt_node *gn, const struct gpreempt_queue *gq, enum gpreempt_event_type type, s64 value)
{
	struct task_struct *leader = gq ? gq->process->p->lead_thread : NULL;
	struct gpreempt_event event = {
		.type = type,
		.gpu_id = gn->node->id,
		.queue_id = gq ? gq->q->properties.queue_id : ~0U,
		.priority = gq ? gq->policy.priority : 0,
		.value = value,
	};
	struct gpreempt_listener *l;

	/* Nobody listens, as nearly always. */
	if (list_empty_careful(&listeners))
		return;
	event.time_ns = ktime_get_ns();
	spin_lock(&listeners_lock);
	list_for_each_entry(l, &listeners, link) {
		event.pid = leader ? task_tgid_nr_ns(leader, l->ns) : 0;
		/* Who is in none of the listener's namespaces does not exist for it. */
		if (may_hear(l, leader, type) && (!leader || event.pid))
			put(l, &event);
	}
	spin_unlock(&listeners_lock);
}
