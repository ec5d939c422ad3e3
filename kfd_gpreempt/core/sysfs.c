// SPDX-License-Identifier: MIT
/*
 * sysfs.c - /sys/class/kfd/kfd/gpreempt/<gpu_id>/: state, settings and counters of each node, one
 * value per file
 *
 * A store method must not take gpreempt_lifecycle: a node that is removed waits for it.
 * Documentation/ABI/testing has each file.
 *
 * Counters and latencies tell when others work, so they are the administrator's: root's by their
 * mode, and with CAP_SYS_ADMIN, which a container's root has not. Every user may read settings; to
 * write them takes the same as counters.
 */
#include <linux/capability.h>
#include <linux/kobject.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sysfs.h>

#include "node.h"
#include "compat/compat.h"
#include "params.h"
#include "rooms.h"

static struct kobject *root;

static ssize_t sysfs_state_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", gpreempt_node_state_word(gpreempt_node_state_for(gpreempt_node_of(kobj), capable(CAP_SYS_ADMIN))));
}

static ssize_t sysfs_backend_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	const struct gpreempt_backend *backend = gpreempt_node_of(kobj)->backend;

	return sysfs_emit(buf, "%s\n", backend ? backend->name : "none");
}

static ssize_t sysfs_reason_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", gpreempt_node_of(kobj)->life.reason);
}

static ssize_t sysfs_monitor_pid_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	const struct task_struct *thread;
	pid_t pid;

	rcu_read_lock();
	thread = READ_ONCE(gpreempt_node_of(kobj)->life.thread);
	pid = thread ? thread->pid : 0;
	rcu_read_unlock();
	return sysfs_emit(buf, "%d\n", pid);
}

static ssize_t sysfs_queues_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	return sysfs_emit(buf, "%u\n", READ_ONCE(gpreempt_node_of(kobj)->queues.nr));
}

/* The driver's own count. It changes it under its lock, in one store. */
static ssize_t sysfs_active_queues_show(struct kobject *kobj, struct kobj_attribute *attr,
					char *buf)
{
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	return sysfs_emit(buf, "%u\n",
			  READ_ONCE(gpreempt_node_of(kobj)->node->dqm->active_cp_queue_count));
}

static ssize_t sysfs_failures_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	return sysfs_emit(buf, "%llu\n", gpreempt_stats_failures(&gpreempt_node_of(kobj)->stats));
}

static ssize_t sysfs_enabled_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(gpreempt_node_of(kobj)->life.wanted));
}

static ssize_t sysfs_enabled_store(struct kobject *kobj, struct kobj_attribute *attr,
				   const char *buf, size_t count)
{
	struct gpreempt_node *gn = gpreempt_node_of(kobj);
	bool on;
	int r;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	r = gpreempt_params_parse_switch(buf, READ_ONCE(gn->life.wanted), &on);
	if (!r)
		r = gpreempt_life_enable_node(gn, on);
	if (r == -EOPNOTSUPP)
		pr_err("gpreempt: enabled=1: gpu %u cannot be scheduled: %s; kept 0\n", gn->node->id, gn->life.reason);
	return r ?: count;
}

static ssize_t sysfs_observed_ns_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	return sysfs_emit(buf, "%llu\n", gpreempt_stats_observed_ns(gpreempt_node_of(kobj)));
}

static struct kobj_attribute attr_enabled =
	__ATTR(enabled, 0644, sysfs_enabled_show, sysfs_enabled_store);
#define NODE_ATTR(_name) static struct kobj_attribute attr_##_name = __ATTR(_name, 0444, sysfs_##_name##_show, NULL)
NODE_ATTR(state);
NODE_ATTR(backend);
NODE_ATTR(reason);
NODE_ATTR(monitor_pid);
static struct kobj_attribute attr_queues = __ATTR(queues, 0400, sysfs_queues_show, NULL);
static struct kobj_attribute attr_active_queues =
	__ATTR(active_queues, 0400, sysfs_active_queues_show, NULL);
static struct kobj_attribute attr_observed_ns =
	__ATTR(observed_ns, 0400, sysfs_observed_ns_show, NULL);
static struct kobj_attribute attr_failures = __ATTR(failures, 0400, sysfs_failures_show, NULL);

/**
 * struct counter_attribute - a file that shows a counter
 * @attr: the file
 * @offset: of the counter, in struct gpreempt_stats
 */
struct counter_attribute {
	struct kobj_attribute attr;
	size_t offset;
};

static ssize_t sysfs_counter_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	size_t offset = container_of(attr, struct counter_attribute, attr)->offset;
	const void *stats = &gpreempt_node_of(kobj)->stats;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	return sysfs_emit(buf, "%lld\n", atomic64_read((const atomic64_t *)(stats + offset)));
}

#define COUNTER_OF(_name, _member)					\
	static struct counter_attribute counter_##_name = {		\
		.attr = __ATTR(_name, 0400, sysfs_counter_show, NULL),	\
		.offset = offsetof(struct gpreempt_stats, _member),	\
	}
#define COUNTER(_name) COUNTER_OF(_name, _name)
COUNTER(checks);
COUNTER(wakeups);
COUNTER(inversions);
COUNTER(preemptions);
COUNTER(resumes);
COUNTER(destroyed_preempted);
COUNTER(runlists);
COUNTER(preempt_ns_last);
COUNTER(preempt_ns_max);
COUNTER(relief_slices);
COUNTER(paced);
COUNTER(hints);
COUNTER(hints_used);
COUNTER(hints_expired);
COUNTER(disabled);
COUNTER(doorbell_arms);
COUNTER(doorbell_late);
COUNTER(doorbell_faults);
COUNTER(would_be_preemptions);
COUNTER(would_be_resumes);
COUNTER(would_be_runlists);
COUNTER(observed_requests);
COUNTER(observed_unclear);
COUNTER(pass_ns_last);
COUNTER_OF(pass_ns_max, latency[GPREEMPT_LATENCY_PASS].max_ns);
COUNTER_OF(verify_mismatches, failed[GPREEMPT_FAILURE_VERIFY]);

static struct attribute *node_attrs[] = {
	&attr_enabled.attr,
	&attr_state.attr,
	&attr_backend.attr,
	&attr_reason.attr,
	&attr_monitor_pid.attr,
	&attr_queues.attr,
	&attr_active_queues.attr,
	&attr_failures.attr,
	&counter_checks.attr.attr,
	&counter_wakeups.attr.attr,
	&counter_inversions.attr.attr,
	&counter_preemptions.attr.attr,
	&counter_resumes.attr.attr,
	&counter_destroyed_preempted.attr.attr,
	&counter_runlists.attr.attr,
	&counter_preempt_ns_last.attr.attr,
	&counter_preempt_ns_max.attr.attr,
	&counter_relief_slices.attr.attr,
	&counter_paced.attr.attr,
	&counter_hints.attr.attr,
	&counter_hints_used.attr.attr,
	&counter_hints_expired.attr.attr,
	&counter_disabled.attr.attr,
	&counter_doorbell_arms.attr.attr,
	&counter_doorbell_late.attr.attr,
	&counter_doorbell_faults.attr.attr,
	&attr_observed_ns.attr,
	&counter_would_be_preemptions.attr.attr,
	&counter_would_be_resumes.attr.attr,
	&counter_would_be_runlists.attr.attr,
	&counter_observed_requests.attr.attr,
	&counter_observed_unclear.attr.attr,
	&counter_pass_ns_last.attr.attr,
	&counter_pass_ns_max.attr.attr,
	&counter_verify_mismatches.attr.attr,
	NULL
};

#define SKIPPED(_reason, _name)								\
	[_reason] = {									\
		.attr = __ATTR(skipped_##_name, 0400, sysfs_counter_show, NULL),		\
		.offset = offsetof(struct gpreempt_stats, skipped[_reason]),		\
	}
static struct counter_attribute skipped[GPREEMPT_NR_SKIPS] = {
	SKIPPED(GPREEMPT_SKIP_STOPPED, stopped),
	SKIPPED(GPREEMPT_SKIP_INACTIVE, inactive),
	SKIPPED(GPREEMPT_SKIP_DESTROYED, destroyed),
	SKIPPED(GPREEMPT_SKIP_DEBUGGED, debugged),
	SKIPPED(GPREEMPT_SKIP_RESET, reset),
	SKIPPED(GPREEMPT_SKIP_SAVE_AREA, save_area),
	SKIPPED(GPREEMPT_SKIP_UNMAPPED, unmapped),
	SKIPPED(GPREEMPT_SKIP_RESETTING, resetting),
	SKIPPED(GPREEMPT_SKIP_UNSETTLED, unsettled),
	SKIPPED(GPREEMPT_SKIP_NO_MEMORY, no_memory),
	SKIPPED(GPREEMPT_SKIP_BUDGET, budget),
	SKIPPED(GPREEMPT_SKIP_DOORBELL, doorbell),
	SKIPPED(GPREEMPT_SKIP_DRAINED, drained),
};

#define FAILED(_cause, _name)								\
	[_cause] = {									\
		.attr = __ATTR(failed_##_name, 0400, sysfs_counter_show, NULL),		\
		.offset = offsetof(struct gpreempt_stats, failed[_cause]),		\
	}
static struct counter_attribute failed[GPREEMPT_NR_FAILURES] = {
	FAILED(GPREEMPT_FAILURE_UNMAP_TIMEOUT, unmap_timeout),
	FAILED(GPREEMPT_FAILURE_VICTIM_RESET, victim_reset),
	FAILED(GPREEMPT_FAILURE_SEND, send),
	FAILED(GPREEMPT_FAILURE_MAP, map),
	FAILED(GPREEMPT_FAILURE_VERIFY, verify),
};

/**
 * struct quantile_attribute - a file that shows how long most of a kind took at most, in
 * microseconds
 * @attr: the file
 * @kind: which
 * @percent: how many of them
 */
struct quantile_attribute {
	struct kobj_attribute attr;
	enum gpreempt_latency kind;
	unsigned int percent;
};

static ssize_t sysfs_quantile_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	const struct quantile_attribute *q = container_of(attr, struct quantile_attribute, attr);

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	return sysfs_emit(buf, "%llu\n",
			  gpreempt_stats_quantile_us(&gpreempt_node_of(kobj)->stats.latency[q->kind],
						     q->percent));
}

#define LATENCY(_kind, _name)									\
	static struct counter_attribute _name##_count = {					\
		.attr = __ATTR(_name##_count, 0400, sysfs_counter_show, NULL),			\
		.offset = offsetof(struct gpreempt_stats, latency[_kind].count),		\
	};											\
	static struct counter_attribute _name##_ns_sum = {					\
		.attr = __ATTR(_name##_ns_sum, 0400, sysfs_counter_show, NULL),			\
		.offset = offsetof(struct gpreempt_stats, latency[_kind].sum_ns),		\
	};											\
	static struct counter_attribute _name##_ns_max = {					\
		.attr = __ATTR(_name##_ns_max, 0400, sysfs_counter_show, NULL),			\
		.offset = offsetof(struct gpreempt_stats, latency[_kind].max_ns),		\
	};											\
	static struct quantile_attribute _name##_us_p50 = {					\
		.attr = __ATTR(_name##_us_p50, 0400, sysfs_quantile_show, NULL),			\
		.kind = _kind,									\
		.percent = 50,									\
	};											\
	static struct quantile_attribute _name##_us_p99 = {					\
		.attr = __ATTR(_name##_us_p99, 0400, sysfs_quantile_show, NULL),			\
		.kind = _kind,									\
		.percent = 99,									\
	}
LATENCY(GPREEMPT_LATENCY_DETECT, detect);
LATENCY(GPREEMPT_LATENCY_REQUEST, request);
LATENCY(GPREEMPT_LATENCY_SAVE, save);
LATENCY(GPREEMPT_LATENCY_RESUME, resume);
LATENCY(GPREEMPT_LATENCY_HOLD, hold);
LATENCY(GPREEMPT_LATENCY_PASS, pass);
LATENCY(GPREEMPT_LATENCY_NOTICE, notice);
LATENCY(GPREEMPT_LATENCY_OBSERVED_WAIT, observed_wait);
LATENCY(GPREEMPT_LATENCY_OBSERVED_BESIDE, observed_beside);

static struct attribute *latency_attrs[] = {
	&detect_count.attr.attr,
	&detect_ns_sum.attr.attr,
	&detect_ns_max.attr.attr,
	&detect_us_p50.attr.attr,
	&detect_us_p99.attr.attr,
	&request_count.attr.attr,
	&request_ns_sum.attr.attr,
	&request_ns_max.attr.attr,
	&request_us_p50.attr.attr,
	&request_us_p99.attr.attr,
	&save_count.attr.attr,
	&save_ns_sum.attr.attr,
	&save_ns_max.attr.attr,
	&save_us_p50.attr.attr,
	&save_us_p99.attr.attr,
	&resume_count.attr.attr,
	&resume_ns_sum.attr.attr,
	&resume_ns_max.attr.attr,
	&resume_us_p50.attr.attr,
	&resume_us_p99.attr.attr,
	&hold_count.attr.attr,
	&hold_ns_sum.attr.attr,
	&hold_ns_max.attr.attr,
	&hold_us_p50.attr.attr,
	&hold_us_p99.attr.attr,
	&pass_count.attr.attr,
	&pass_ns_sum.attr.attr,
	&pass_ns_max.attr.attr,
	&pass_us_p50.attr.attr,
	&pass_us_p99.attr.attr,
	&notice_count.attr.attr,
	&notice_ns_sum.attr.attr,
	&notice_ns_max.attr.attr,
	&notice_us_p50.attr.attr,
	&notice_us_p99.attr.attr,
	&observed_wait_count.attr.attr,
	&observed_wait_ns_sum.attr.attr,
	&observed_wait_ns_max.attr.attr,
	&observed_wait_us_p50.attr.attr,
	&observed_wait_us_p99.attr.attr,
	&observed_beside_count.attr.attr,
	&observed_beside_ns_sum.attr.attr,
	&observed_beside_ns_max.attr.attr,
	&observed_beside_us_p50.attr.attr,
	&observed_beside_us_p99.attr.attr,
	NULL
};

/**
 * struct tunable_attribute - a file that shows and sets a tunable of the node
 * @attr: the file
 * @which: the tunable
 */
struct tunable_attribute {
	struct kobj_attribute attr;
	enum gpreempt_tunable which;
};

static ssize_t sysfs_tunable_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return gpreempt_tunables_show(gpreempt_node_of(kobj),
				      container_of(attr, struct tunable_attribute, attr)->which,
				      buf);
}

static ssize_t sysfs_tunable_store(struct kobject *kobj, struct kobj_attribute *attr,
				   const char *buf, size_t count)
{
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	return gpreempt_params_store(gpreempt_node_of(kobj), container_of(attr, struct tunable_attribute, attr)->which, buf) ?: count;
}

/* By place, each list with a NULL at its end; filled from the table of tunables. */
static struct tunable_attribute tunable_files[GPREEMPT_NR_TUNABLES];
static struct attribute *beside_attrs[GPREEMPT_NR_TUNABLES + 1];
static struct attribute *tunable_attrs[GPREEMPT_NR_TUNABLES + 1];

static void sysfs_fill_tunables(void)
{
	struct attribute **beside = beside_attrs, **tunable = tunable_attrs;
	enum gpreempt_tunable which;

	for (which = 0; which < GPREEMPT_NR_TUNABLES; which++) {
		struct tunable_attribute *file = &tunable_files[which];

		file->which = which;
		file->attr.attr.name = gpreempt_tunables_name(which);
		file->attr.attr.mode = 0644;
		file->attr.show = sysfs_tunable_show;
		file->attr.store = sysfs_tunable_store;
		if (gpreempt_tunables_file(which) == GPREEMPT_TUNABLE_FILE_NODE)
			*beside++ = &file->attr.attr;
		else if (gpreempt_tunables_file(which) == GPREEMPT_TUNABLE_FILE_TUNABLES)
			*tunable++ = &file->attr.attr;
	}
}

static const struct attribute_group node_group = {
	.attrs = node_attrs,
};

static const struct attribute_group beside_group = {
	.attrs = beside_attrs,
};

static const struct attribute_group latency_group = {
	.name = "latency",
	.attrs = latency_attrs,
};

static const struct attribute_group tunable_group = {
	.name = "tunables",
	.attrs = tunable_attrs,
};

static const struct attribute_group *node_groups[] = {
	&node_group,
	&beside_group,
	&tunable_group,
	&latency_group,
	NULL
};

static void sysfs_node_release(struct kobject *kobj)
{
	complete(&gpreempt_node_of(kobj)->sysfs.released);
}

static const struct kobj_type node_type = {
	.sysfs_ops = &kobj_sysfs_ops,
	.release = sysfs_node_release,
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
	const struct gpreempt_room *const *room;
	int i, r;

	if (!root)
		return;
	init_completion(&gn->sysfs.released);
	r = gpreempt_compat_add_kobject(&gn->sysfs.kobj, &node_type, root, gn->node->id);
	/* Without a directory there is nothing to delete, only a name to free. */
	if (r)
		kobject_put(&gn->sysfs.kobj);
	else
		gn->sysfs.added = true;
	for (i = 0; !r && i < GPREEMPT_NR_SKIPS; i++)
		r = sysfs_create_file(&gn->sysfs.kobj, &skipped[i].attr.attr);
	for (i = 0; !r && i < GPREEMPT_NR_FAILURES; i++)
		r = sysfs_create_file(&gn->sysfs.kobj, &failed[i].attr.attr);
	for (room = gpreempt_rooms; !r && *room; room++)
		r = (*room)->files ? sysfs_create_group(&gn->sysfs.kobj, (*room)->files) : 0;
	if (r)
		pr_warn("gpreempt: files of gpu %u in sysfs are missing (%d)\n", gn->node->id, r);
}

/**
 * gpreempt_sysfs_del() - remove a node's directory
 * @gn: the node
 *
 * Returns when none of its files is being read any more.
 *
 * Context: gpreempt_lifecycle held; may sleep.
 */
void gpreempt_sysfs_del(struct gpreempt_node *gn)
{
	if (!gn->sysfs.added)
		return;
	gn->sysfs.added = false;
	kobject_del(&gn->sysfs.kobj);
	kobject_put(&gn->sysfs.kobj);
	wait_for_completion(&gn->sysfs.released);
}

/**
 * gpreempt_sysfs_init() - make the directory of the nodes
 *
 * Context: module init.
 */
void gpreempt_sysfs_init(void)
{
	sysfs_fill_tunables();
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
