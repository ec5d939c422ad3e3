// SPDX-License-Identifier: MIT
/*
 * queue_sysfs.c - the files of a queue, and what a queue does in a word
 *
 * The folder is the driver's and goes with the queue, under p->mutex: nothing here may take that.
 * The files stay when scheduling is switched off, and have no data then. They are root's, as the
 * driver's are, and tell when a program works: so the reader's rights are checked.
 */
#include <linux/capability.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "core/node.h"
#include "core/rooms.h"
#include "core/obstacle.h"
#include "queue_sysfs.h"
#include "target.h"

/**
 * gpreempt_queue_sysfs_state() - what a queue does, in a word
 * @gq: the queue
 * @pending: packets or dwords between its pointers
 *
 * Context: the queue is on its list.
 *
 * Return: active (has work), idle, preempted, leaving (preempted, but the device still holds it),
 * lost (had to be reset to make it leave, never runs again), evicted (by the driver, and not
 * preempted), suspended (by its debugger, likewise), blocked (waits for something else than the
 * GPU) or, on the device, unmapped (its pointers cannot be read: whether it has work is not known)
 */
const char *gpreempt_queue_sysfs_state(const struct gpreempt_queue *gq, u64 pending)
{
	if (gpreempt_obstacle_was_reset(gq))
		return "lost";
	if (gpreempt_policy_read(gq->policy.preempted))
		return READ_ONCE(gq->hw.leaving) ? "leaving" : "preempted";
	if (READ_ONCE(gq->q->properties.is_evicted))
		return "evicted";
	if (READ_ONCE(gq->q->properties.is_suspended))
		return "suspended";
	if (!READ_ONCE(gq->view.pointers))
		return "unmapped";
	if (gpreempt_queue_blocked(gq))
		return "blocked";
	return pending || gpreempt_queue_waves(gq) > 0 ? "active" : "idle";
}

/**
 * struct queue_attribute - a file of a queue
 * @attr: the file
 * @show: prints the value; gpreempt_lock held
 * @store: changes it; the same; NULL: read-only
 */
struct queue_attribute {
	struct attribute attr;
	ssize_t (*show)(const struct gpreempt_queue *gq, char *buf);
	ssize_t (*store)(struct gpreempt_queue *gq, const char *buf, size_t size);
};

static ssize_t queue_sysfs_logical_priority_show(const struct gpreempt_queue *gq, char *buf)
{
	return sysfs_emit(buf, "%d\n", gpreempt_policy_read(gq->policy.set.priority));
}

/* @arg is a priority, or NULL: clear. */
static int queue_sysfs_change_priority(struct gpreempt_setting *setting, void *arg)
{
	const int *priority = arg;

	setting->privileged = true;
	setting->has_priority = priority;
	setting->priority = priority ? *priority : 0;
	return 0;
}

static ssize_t queue_sysfs_logical_priority_store(struct gpreempt_queue *gq, const char *buf,
						  size_t size)
{
	bool clear = sysfs_streq(buf, "clear");
	int priority, r;

	/*
	 * The file is root's, but not every root's: a container's may have been left without
	 * rights.
	 */
	if (!capable(CAP_SYS_NICE))
		return -EPERM;
	if (!clear && (kstrtoint(buf, 0, &priority) || priority < GPREEMPT_PRIORITY_MIN ||
		       priority > GPREEMPT_PRIORITY_MAX)) {
		pr_err("gpreempt: logical_priority=%.*s is neither a number from %d to %d nor clear; kept %d\n",
		       (int)strcspn(buf, "\n"), buf, GPREEMPT_PRIORITY_MIN, GPREEMPT_PRIORITY_MAX,
		       gpreempt_policy_read(gq->policy.set.priority));
		return -EINVAL;
	}
	r = gpreempt_priority_change_queue(gq, queue_sysfs_change_priority,
					   clear ? NULL : &priority);
	return r ?: size;
}

static ssize_t queue_sysfs_effective_priority_show(const struct gpreempt_queue *gq, char *buf)
{
	return sysfs_emit(buf, "%d\n", gpreempt_policy_read(gq->policy.effective_priority));
}

static ssize_t queue_sysfs_gpreempt_state_show(const struct gpreempt_queue *gq, char *buf)
{
	return sysfs_emit(buf, "%s\n", gpreempt_queue_sysfs_state(gq, gpreempt_node_pending(gq)));
}

static ssize_t queue_sysfs_preempt_count_show(const struct gpreempt_queue *gq, char *buf)
{
	return sysfs_emit(buf, "%llu\n", READ_ONCE(gq->account.preempt_count));
}

static ssize_t queue_sysfs_preempted_ms_show(const struct gpreempt_queue *gq, char *buf)
{
	return sysfs_emit(buf, "%llu\n", gpreempt_stats_preempted_ns(gq) / NSEC_PER_MSEC);
}

static ssize_t queue_sysfs_would_be_preempt_count_show(const struct gpreempt_queue *gq, char *buf)
{
	return sysfs_emit(buf, "%llu\n", READ_ONCE(gq->account.would_be_preempted));
}

static ssize_t queue_sysfs_observed_requests_show(const struct gpreempt_queue *gq, char *buf)
{
	return sysfs_emit(buf, "%llu\n", READ_ONCE(gq->account.requests));
}

static ssize_t queue_sysfs_observed_wait_us_show(const struct gpreempt_queue *gq, char *buf)
{
	return sysfs_emit(buf, "%llu\n", READ_ONCE(gq->account.waited_ns) / NSEC_PER_USEC);
}

#define QUEUE_ATTRIBUTE(_name, _mode, _store)		\
	static struct queue_attribute attr_##_name = {	\
		.attr = { .name = #_name, .mode = _mode },	\
		.show = queue_sysfs_##_name##_show,	\
		.store = _store,			\
	}
QUEUE_ATTRIBUTE(logical_priority, 0644, queue_sysfs_logical_priority_store);
QUEUE_ATTRIBUTE(effective_priority, 0444, NULL);
QUEUE_ATTRIBUTE(gpreempt_state, 0444, NULL);
QUEUE_ATTRIBUTE(preempt_count, 0444, NULL);
QUEUE_ATTRIBUTE(preempted_ms, 0444, NULL);
QUEUE_ATTRIBUTE(would_be_preempt_count, 0444, NULL);
QUEUE_ATTRIBUTE(observed_requests, 0444, NULL);
QUEUE_ATTRIBUTE(observed_wait_us, 0444, NULL);

static struct attribute *attrs[] = {
	&attr_logical_priority.attr,
	&attr_effective_priority.attr,
	&attr_gpreempt_state.attr,
	&attr_preempt_count.attr,
	&attr_preempted_ms.attr,
	&attr_would_be_preempt_count.attr,
	&attr_observed_requests.attr,
	&attr_observed_wait_us.attr,
	NULL
};

static const struct attribute_group group = {
	.attrs = attrs,
};

/**
 * kfd_gpreempt_owns() - is a file of a queue one of ours?
 * @attr: the file
 *
 * Return: true if it is
 */
bool kfd_gpreempt_owns(const struct attribute *attr)
{
	unsigned int i;

	for (i = 0; attrs[i]; i++)
		if (attrs[i] == attr)
			return true;
	return false;
}

/*
 * gpreempt_lock held. Those who may list the queue have its files. Return: 0, -ENODATA: scheduling
 * is switched off, or -EACCES
 */
static int queue_sysfs_check(const struct queue *q)
{
	const struct gpreempt_target everything = { .scope = GPREEMPT_SCOPE_ALL };
	struct gpreempt_target_match match;
	int r;

	if (!q->gpreempt)
		return -ENODATA;
	gpreempt_target_resolve(&everything, &match);
	r = gpreempt_target_has(&match, q->gpreempt) ? 0 : -EACCES;
	gpreempt_target_release(&match);
	return r;
}

/**
 * kfd_gpreempt_queue_show() - print one of our files of a queue
 * @q: the queue
 * @attr: the file
 * @buf: a page
 *
 * Context: sysfs; no lock held; may sleep.
 *
 * Return: length; -ENODATA: scheduling is switched off; -EACCES: GPREEMPT_IOC_LIST would not list
 * the queue
 */
ssize_t kfd_gpreempt_queue_show(struct queue *q, struct attribute *attr, char *buf)
{
	const struct queue_attribute *qa = container_of(attr, struct queue_attribute, attr);
	ssize_t r;

	mutex_lock(&gpreempt_lock);
	r = queue_sysfs_check(q);
	if (!r)
		r = qa->show(q->gpreempt, buf);
	mutex_unlock(&gpreempt_lock);
	return r;
}

/**
 * kfd_gpreempt_queue_store() - store method of a queue's files
 * @kobj: the queue's
 * @attr: the file
 * @buf: what was written
 * @size: its length
 *
 * Context: sysfs; no lock held; may sleep.
 *
 * Return: @size; -EIO: the file is not ours or read-only; -ENODATA: scheduling is switched off;
 * -EACCES: as for kfd_gpreempt_queue_show(); -EINVAL; -EPERM: without CAP_SYS_NICE
 */
ssize_t kfd_gpreempt_queue_store(struct kobject *kobj, struct attribute *attr, const char *buf,
				 size_t size)
{
	struct queue *q = container_of(kobj, struct queue, kobj);
	const struct queue_attribute *qa = container_of(attr, struct queue_attribute, attr);
	ssize_t r;

	if (!kfd_gpreempt_owns(attr) || !qa->store)
		return -EIO;
	mutex_lock(&gpreempt_lock);
	r = queue_sysfs_check(q);
	if (!r)
		r = qa->store(q->gpreempt, buf, size);
	mutex_unlock(&gpreempt_lock);
	return r;
}

/* Once in the life of a queue, to its folder, if that could be made. */
static void queue_sysfs_add(struct gpreempt_queue *gq)
{
	struct queue *q = gq->q;

	/* Without memory the driver goes on without the folder. */
	if (q->gpreempt_files || !q->kobj.sd)
		return;
	q->gpreempt_files = !sysfs_create_group(&q->kobj, &group);
	if (!q->gpreempt_files)
		pr_warn_once("gpreempt: files of a queue in sysfs are missing\n");
}

const struct gpreempt_room gpreempt_room_queue_sysfs = {
	.init_queue = queue_sysfs_add,
};
