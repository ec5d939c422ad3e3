// SPDX-License-Identifier: MIT
/*
 * event.c - listeners to what happens
 *
 * The monitor reports events, partly under dqm_lock: it must not allocate, sleep, or pay for the
 * number of listeners. So it only notes an event. A work item, or a listener that reads before
 * that, hands it on to each listener that may hear it. A reader that is too slow loses the newest
 * events and is told how many.
 */
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "core/node.h"
#include "core/rooms.h"
#include "event.h"

/* Unread events of a listener. A pass over a full node tells one for each of its queues. */
#define MAX_EVENTS	1024
/* For a user that does not see all: every event is offered to every listener. */
#define MAX_LISTENERS_OF_USER	64
/*
 * Events that are not handed on yet. A work item comes to it within a millisecond or so, and a pass
 * over a full node tells a thousand.
 */
#define MAX_NOTED		4096

/**
 * struct gpreempt_listener - an open file that listens
 * @link: in @listeners, under @listeners_lock
 * @viewer: what it hears of, and the pid namespace in which pids are told; that is referenced
 * @user: who pays for it
 * @wait: for events
 * @nr: unread events
 * @first: the oldest of them
 * @missed: events lost since the newest one
 * @events: ring
 *
 * What is not said to be constant is under @listeners_lock; @viewer and @user are constant.
 * @missed also counts what was lost before it was known which listener would hear it.
 */
struct gpreempt_listener {
	struct list_head link;
	struct gpreempt_viewer viewer;
	kuid_t user;
	wait_queue_head_t wait;
	u32 nr;
	u32 first;
	u32 missed;
	struct gpreempt_event events[MAX_EVENTS];
};

/**
 * struct note - an event that is not handed on yet
 * @event: the event; pid and missed are the listener's
 * @pid: of the process that it is about, referenced; NULL: of the node
 * @uid: of that
 * @lost: events that were lost since the note before
 */
struct note {
	struct gpreempt_event event;
	struct pid *pid;
	kuid_t uid;
	u32 lost;
};

static LIST_HEAD(listeners);
static DEFINE_MUTEX(listeners_lock);

/* From the first listener on. What follows is under notes_lock, which is innermost. */
static struct note *notes;
static DEFINE_SPINLOCK(notes_lock);
static u32 first_note;
static u32 nr_notes;
static u32 lost_notes;

static void event_hand_on_work(struct work_struct *work);
static DECLARE_WORK(hand_on, event_hand_on_work);

static void event_put(struct gpreempt_listener *l, const struct gpreempt_event *event)
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

static bool event_take_note(struct note *note)
{
	bool got;

	spin_lock(&notes_lock);
	got = nr_notes;
	if (got) {
		*note = notes[first_note];
		first_note = (first_note + 1) % MAX_NOTED;
		nr_notes--;
	}
	spin_unlock(&notes_lock);
	return got;
}

/*
 * An inversion tells that others work, so it is for those alone who see all. A failed node concerns
 * all.
 */
static bool event_may_hear(const struct gpreempt_listener *l, const struct note *note)
{
	if (note->pid)
		return gpreempt_viewer_sees(&l->viewer, ns_of_pid(note->pid), note->uid);
	return l->viewer.sees_all || note->event.type != GPREEMPT_EVENT_INVERSION;
}

/* Everything that was noted before. */
static void event_hand_on_locked(void)
{
	struct gpreempt_listener *l;
	struct note note;

	lockdep_assert_held(&listeners_lock);
	while (event_take_note(&note)) {
		list_for_each_entry(l, &listeners, link) {
			/*
			 * Only a listener that sees all may know how many events of others there
			 * were.
			 */
			l->missed += l->viewer.sees_all ? note.lost : !!note.lost;
			if (!event_may_hear(l, &note))
				continue;
			note.event.pid = note.pid ? pid_nr_ns(note.pid, l->viewer.ns) : 0;
			event_put(l, &note.event);
		}
		put_pid(note.pid);
	}
}

static void event_hand_on_work(struct work_struct *work)
{
	mutex_lock(&listeners_lock);
	event_hand_on_locked();
	mutex_unlock(&listeners_lock);
}

/* listeners_lock held. */
static bool event_is_full(kuid_t user)
{
	const struct gpreempt_listener *l;
	unsigned int nr = 0;

	list_for_each_entry(l, &listeners, link)
		nr += !l->viewer.sees_all && uid_eq(l->user, user);
	return nr >= MAX_LISTENERS_OF_USER;
}

/**
 * gpreempt_listener_create() - listen from now on
 * @viewer: what the listener may see
 * @user: who pays for it
 *
 * Context: may sleep.
 *
 * Return: the listener; -EMFILE: the user has as many as he may have; -ENOMEM
 */
struct gpreempt_listener *gpreempt_listener_create(const struct gpreempt_viewer *viewer,
						   kuid_t user)
{
	struct gpreempt_listener *l = kvzalloc(sizeof(*l), GFP_KERNEL_ACCOUNT);
	int r = 0;

	if (!l)
		return ERR_PTR(-ENOMEM);
	l->viewer = *viewer;
	get_pid_ns(l->viewer.ns);
	l->user = user;
	init_waitqueue_head(&l->wait);
	mutex_lock(&listeners_lock);
	if (!notes)
		notes = kvcalloc(MAX_NOTED, sizeof(*notes), GFP_KERNEL);
	/* What was before is not for it. */
	event_hand_on_locked();
	if (!notes)
		r = -ENOMEM;
	else if (!viewer->sees_all && event_is_full(user))
		r = -EMFILE;
	else
		list_add_tail(&l->link, &listeners);
	mutex_unlock(&listeners_lock);
	if (r) {
		put_pid_ns(l->viewer.ns);
		kvfree(l);
		return ERR_PTR(r);
	}
	return l;
}

/**
 * gpreempt_listener_destroy() - listen no more
 * @listener: the listener; no reader waits for it any more
 *
 * Context: may sleep.
 */
void gpreempt_listener_destroy(struct gpreempt_listener *listener)
{
	mutex_lock(&listeners_lock);
	list_del(&listener->link);
	event_hand_on_locked();
	mutex_unlock(&listeners_lock);
	put_pid_ns(listener->viewer.ns);
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
 * Context: may sleep.
 *
 * Return: true if there is
 */
bool gpreempt_listener_ready(struct gpreempt_listener *listener)
{
	event_hand_on_work(NULL);
	return READ_ONCE(listener->nr);
}

static bool event_take(struct gpreempt_listener *l, struct gpreempt_event *event)
{
	bool got;

	mutex_lock(&listeners_lock);
	got = l->nr;
	if (got) {
		*event = l->events[l->first];
		l->first = (l->first + 1) % MAX_EVENTS;
		WRITE_ONCE(l->nr, l->nr - 1);
	}
	mutex_unlock(&listeners_lock);
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
 * Return: bytes, a multiple of the event's size; -EINVAL: no event fits; -EAGAIN; -ERESTARTSYS;
 * -EFAULT
 */
ssize_t gpreempt_listener_read(struct gpreempt_listener *listener, char __user *buffer, size_t size,
			       bool nonblocking)
{
	struct gpreempt_event event;
	size_t done = 0;
	int r;

	if (size < sizeof(event))
		return -EINVAL;
	event_hand_on_work(NULL);
	while (!done) {
		if (!nonblocking) {
			r = wait_event_interruptible(listener->wait, READ_ONCE(listener->nr));
			if (r)
				return r;
		}
		while (size - done >= sizeof(event) && event_take(listener, &event)) {
			if (copy_to_user(buffer + done, &event, sizeof(event)))
				return done ? done : -EFAULT;
			done += sizeof(event);
		}
		if (nonblocking)
			break;
	}
	return done ? done : -EAGAIN;
}

/* Costs the same for any number of listeners. */
static void event_note(struct gpreempt_node *gn, const struct gpreempt_queue *gq,
		       enum gpreempt_event_type type, s64 value)
{
	struct task_struct *leader = gq ? gq->process->p->lead_thread : NULL;
	struct note note = {
		.event = {
			.type = type,
			.gpu_id = gn->node->id,
			.queue_id = gq ? gq->q->properties.queue_id : ~0U,
			.priority = gq ? gq->policy.set.priority : 0,
			.value = value,
			.context = gq ? gq->process->context : 0,
		},
	};
	bool noted;

	/* There are no listeners, as nearly always. */
	if (list_empty_careful(&listeners))
		return;
	if (leader) {
		rcu_read_lock();
		note.pid = get_pid(task_tgid(leader));
		note.uid = task_cred_xxx(leader, euid);
		rcu_read_unlock();
		/* It has been reaped, and has no pid any more. */
		if (!note.pid)
			return;
	}
	note.event.time_ns = ktime_get_ns();
	spin_lock(&notes_lock);
	noted = nr_notes < MAX_NOTED;
	if (noted) {
		note.lost = lost_notes;
		lost_notes = 0;
		notes[(first_note + nr_notes) % MAX_NOTED] = note;
		nr_notes++;
	} else {
		lost_notes++;
	}
	spin_unlock(&notes_lock);
	if (!noted)
		put_pid(note.pid);
	schedule_work(&hand_on);
}

/* Forget what was not handed on; there are no listeners any more */
static void event_exit(void)
{
	cancel_work_sync(&hand_on);
	event_hand_on_work(NULL);
	kvfree(notes);
	notes = NULL;
}

const struct gpreempt_room gpreempt_room_event = {
	.exit = event_exit,
	.event = event_note,
};
