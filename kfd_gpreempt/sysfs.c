// SPDX-License-Identifier: MIT
/*
 * sysfs.c - /sys/class/kfd/kfd/gpreempt/<gpu_id>/: state and counters of each node, one value per file, read-only
 */
#include <linux/kobject.h>
#include <linux/sysfs.h>

#include "core.h"

static struct kobject *root;

static struct gpreempt_node *node_of(struct kobject *kobj)
{
	return container_of(kobj, struct gpreempt_node, kobj);
}

static ssize_t state_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	static const char *const names[] = {
		[GPREEMPT_STATE_PARKED] = "parked",
		[GPREEMPT_STATE_IDLE] = "idle",
		[GPREEMPT_STATE_POLLING] = "polling",
		[GPREEMPT_STATE_FAILED] = "failed",
	};
	struct gpreempt_node *gn = node_of(kobj);

	if (!gn->backend)
		return sysfs_emit(buf, "unsupported\n");
	if (!READ_ONCE(gn->thread))
		return sysfs_emit(buf, "off\n");
	if (READ_ONCE(gn->paused))
		return sysfs_emit(buf, "paused\n");
	return sysfs_emit(buf, "%s\n", names[READ_ONCE(gn->state)]);
}

static ssize_t backend_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	const struct gpreempt_backend *backend = node_of(kobj)->backend;

	return sysfs_emit(buf, "%s\n", backend ? backend->name : "none");
}

static ssize_t reason_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", node_of(kobj)->reason);
}

static ssize_t monitor_pid_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	struct gpreempt_node *gn = node_of(kobj);
	pid_t pid;

	mutex_lock(&gn->thread_lock);
	pid = gn->thread ? gn->thread->pid : 0;
	mutex_unlock(&gn->thread_lock);
	return sysfs_emit(buf, "%d\n", pid);
}

static ssize_t queues_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(node_of(kobj)->nr_queues));
}

#define NODE_ATTR(_name) static struct kobj_attribute attr_##_name = __ATTR_RO(_name)
NODE_ATTR(state);
NODE_ATTR(backend);
NODE_ATTR(reason);
NODE_ATTR(monitor_pid);
NODE_ATTR(queues);

/**
 * struct counter_attribute - a file that shows a counter
 * @attr: the file
 * @offset: of the counter, in struct gpreempt_stats
 */
struct counter_attribute {
	struct kobj_attribute attr;
	size_t offset;
};

static ssize_t counter_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	size_t offset = container_of(attr, struct counter_attribute, attr)->offset;
	const void *stats = &node_of(kobj)->stats;

	return sysfs_emit(buf, "%lld\n", atomic64_read((const atomic64_t *)(stats + offset)));
}

#define COUNTER(_name)							\
	static struct counter_attribute counter_##_name = {		\
		.attr = __ATTR(_name, 0444, counter_show, NULL),	\
		.offset = offsetof(struct gpreempt_stats, _name),	\
	}
COUNTER(checks);
COUNTER(inversions);
COUNTER(preemptions);
COUNTER(resumes);
COUNTER(failures);
COUNTER(runlists);
COUNTER(preempt_ns_last);
COUNTER(preempt_ns_max);
COUNTER(relief_slices);

static struct attribute *node_attrs[] = {
	&attr_state.attr,
	&attr_backend.attr,
	&attr_reason.attr,
	&attr_monitor_pid.attr,
	&attr_queues.attr,
	&counter_checks.attr.attr,
	&counter_inversions.attr.attr,
	&counter_preemptions.attr.attr,
	&counter_resumes.attr.attr,
	&counter_failures.attr.attr,
	&counter_runlists.attr.attr,
	&counter_preempt_ns_last.attr.attr,
	&counter_preempt_ns_max.attr.attr,
	&counter_relief_slices.attr.attr,
	NULL
};

#define SKIPPED(_reason, _name)								\
	[_reason] = {									\
		.attr = __ATTR(skipped_##_name, 0444, counter_show, NULL),		\
		.offset = offsetof(struct gpreempt_stats, skipped[_reason]),		\
	}
static struct counter_attribute skipped[GPREEMPT_NR_SKIPS] = {
	SKIPPED(GPREEMPT_SKIP_STOPPED, stopped),
	SKIPPED(GPREEMPT_SKIP_INACTIVE, inactive),
	SKIPPED(GPREEMPT_SKIP_DESTROYED, destroyed),
	SKIPPED(GPREEMPT_SKIP_GWS, gws),
	SKIPPED(GPREEMPT_SKIP_DEBUGGED, debugged),
	SKIPPED(GPREEMPT_SKIP_RESET, reset),
	SKIPPED(GPREEMPT_SKIP_SAVE_AREA, save_area),
	SKIPPED(GPREEMPT_SKIP_UNMAPPED, unmapped),
	SKIPPED(GPREEMPT_SKIP_RESETTING, resetting),
};

static const struct attribute_group node_group = {
	.attrs = node_attrs,
};

static const struct attribute_group *node_groups[] = {
	&node_group,
	NULL
};

static void node_release(struct kobject *kobj)
{
	complete(&node_of(kobj)->kobj_released);
}

static const struct kobj_type node_type = {
	.sysfs_ops = &kobj_sysfs_ops,
	.release = node_release,
	.default_groups = node_groups,
};

/**
 * gpreempt_sysfs_add() - make a node's directory
 * @gn: the node
 *
 * Context: gpreempt_lifecycle held; may sleep.
 */
void gpreempt_sysfs_add(struct gpreempt_node *gn)
{
	int i, r;

	if (!root)
		return;
	init_completion(&gn->kobj_released);
	r = kobject_init_and_add(&gn->kobj, &node_type, root, "%u", gn->node->id);
	gn->kobj_added = true;
	for (i = 0; !r && i < GPREEMPT_NR_SKIPS; i++)
		r = sysfs_create_file(&gn->kobj, &skipped[i].attr.attr);
	if (r)
		pr_warn("gpreempt: files of gpu %u in sysfs are missing (%d)\n", gn->node->id, r);
}

/**
 * gpreempt_sysfs_del() - remove a node's directory
 * @gn: the node
 *
 * Returns when nobody reads one of its files any more.
 *
 * Context: gpreempt_lifecycle held; may sleep.
 */
void gpreempt_sysfs_del(struct gpreempt_node *gn)
{
	if (!gn->kobj_added)
		return;
	gn->kobj_added = false;
	kobject_del(&gn->kobj);
	kobject_put(&gn->kobj);
	wait_for_completion(&gn->kobj_released);
}

/**
 * gpreempt_sysfs_init() - make the directory of the nodes
 *
 * Context: module init.
 */
void gpreempt_sysfs_init(void)
{
	root = kobject_create_and_add("gpreempt", &kfd_device->kobj);
	if (!root)
		pr_warn("gpreempt: no directory in sysfs\n");
}

/**
 * gpreempt_sysfs_exit() - remove the directory of the nodes
 *
 * Context: module exit; the nodes' own directories are gone.
 */
void gpreempt_sysfs_exit(void)
{
	kobject_put(root);
	root = NULL;
}
