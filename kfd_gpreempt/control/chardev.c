// SPDX-License-Identifier: MIT
/*
 * chardev.c - /dev/kfd_gpreempt, and our commands on /dev/kfd
 *
 * Every structure is copied in whole, its reserved members are compared with 0, and what is given
 * back is copied out whole. Nothing is copied from or to user space under a lock. Rights are those
 * of the initial user namespace: a container's root is a user like any other.
 */
#include <linux/capability.h>
#include <linux/cgroup.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/miscdevice.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "core/node.h"
#include "core/rooms.h"
#include "event.h"
#include "fits.h"
#include "hold.h"
#include "core/obstacle.h"
#include "target.h"
#ifdef CONFIG_KFD_GPREEMPT_ACCOUNT
#include "account/usage.h"
#endif
#ifdef CONFIG_KFD_GPREEMPT_SHARES
#include "rules/group.h"
#endif

/* Longest deadline that makes sense: an hour. */
#define MAX_DEADLINE_US		3600000000ULL
/* What a pid_t has room for */
#define MAX_PID			0x7fffffffU
/* A hint keeps others off the device without any work being there: a second at most. */
#define MAX_HINT_US		1000000U
/* The design's numbers of the types; 0 and 1 (drain, reset) lose work or time. */
#define PREEMPT_TYPE_SAVE	2

/**
 * struct client - an open file
 * @lock: for the creation of @listener
 * @listener: made by the first read() or poll()
 * @holder: what it holds
 * @ns: pid namespace of the opener, in which events tell pids; referenced
 */
struct client {
	struct mutex lock;
	struct gpreempt_listener *listener;
	struct gpreempt_holder holder;
	struct pid_namespace *ns;
};

static bool chardev_is_zero(const void *p, size_t size)
{
	return !memchr_inv(p, 0, size);
}

/* Commands. */

/**
 * struct node_list - nodes being listed
 * @match: what the caller may see
 * @nodes: array
 * @max: its length
 * @nr: nodes there are
 */
struct node_list {
	struct gpreempt_target_match match;
	struct gpreempt_node_info *nodes;
	u32 max;
	u32 nr;
};

static int chardev_list_node(struct gpreempt_node *gn, void *arg)
{
	struct node_list *list = arg;
	struct gpreempt_node_info *info;
	struct gpreempt_queue *gq;
	int idx;

	if (list->nr++ >= list->max)
		return 0;
	info = &list->nodes[list->nr - 1];
	info->gpu_id = gn->node->id;
	info->state = gpreempt_node_state_for(gn, list->match.viewer.sees_all);
	idx = srcu_read_lock(&gn->queues.srcu);
	list_for_each_entry_srcu(gq, &gn->queues.list, link,
				 srcu_read_lock_held(&gn->queues.srcu)) {
		if (!list->match.viewer.sees_all && !gpreempt_target_has(&list->match, gq))
			continue;
		info->nr_queues++;
		info->nr_preempted += gpreempt_policy_read(gq->policy.preempted);
	}
	srcu_read_unlock(&gn->queues.srcu, idx);
	if (gn->backend)
		strscpy(info->backend, gn->backend->name, sizeof(info->backend));
	strscpy(info->policy, gpreempt_tunables_policy(gn)->name, sizeof(info->policy));
	/* They tell when others work. */
	if (!list->match.viewer.sees_all)
		return 0;
	info->preemptions = atomic64_read(&gn->stats.preemptions);
	info->resumes = atomic64_read(&gn->stats.resumes);
	info->failures = gpreempt_stats_failures(&gn->stats);
	return 0;
}

static int chardev_do_info(struct client *client, void *argument)
{
	const struct gpreempt_target everything = { .scope = GPREEMPT_SCOPE_ALL };
	struct gpreempt_info *info = argument;
	struct node_list list = { 0 };
	void __user *to = u64_to_user_ptr(info->nodes);
	int r = 0;

	if (info->abi_version || info->flags || info->features || info->event_size ||
	    !chardev_is_zero(info->reserved, sizeof(info->reserved)))
		return -EINVAL;
	gpreempt_target_resolve(&everything, &list.match);
	/* No machine has more nodes than KFD's topology has entries for. */
	list.max = min(info->nr_nodes, 256U);
	if (list.max) {
		list.nodes = kvcalloc(list.max, sizeof(*list.nodes), GFP_KERNEL);
		if (!list.nodes)
			return -ENOMEM;
	}
	gpreempt_node_find(chardev_list_node, &list);
	if (copy_to_user(to, list.nodes, min(list.nr, list.max) * sizeof(*list.nodes)))
		r = -EFAULT;
	kvfree(list.nodes);

	info->abi_version = GPREEMPT_ABI_VERSION;
	info->features = GPREEMPT_FEATURE_PREEMPT | GPREEMPT_FEATURE_CGROUP |
			 GPREEMPT_FEATURE_EVENTS | GPREEMPT_FEATURE_HINT |
			 GPREEMPT_FEATURE_INHERIT | GPREEMPT_FEATURE_WAITS_FOR;
	if (IS_ENABLED(CONFIG_KFD_GPREEMPT_JOBS))
		info->features |= GPREEMPT_FEATURE_JOB;
	if (IS_ENABLED(CONFIG_KFD_GPREEMPT_SHARES))
		info->features |= GPREEMPT_FEATURE_SHARE;
	if (IS_ENABLED(CONFIG_KFD_GPREEMPT_ACCOUNT))
		info->features |= GPREEMPT_FEATURE_USAGE;
	if (IS_ENABLED(CONFIG_KFD_GPREEMPT_POLICIES))
		info->features |= GPREEMPT_FEATURE_FITS;
	info->nr_nodes = list.nr;
	info->event_size = sizeof(struct gpreempt_event);
	return r;
}

/**
 * struct queue_list - queues being listed
 * @match: which
 * @queues: array
 * @jobs: array of their jobs' ids; NULL: not asked for
 * @usage: array of what they have used; NULL: not asked for
 * @max: length of all of them
 * @nr: queues there are
 * @gn: the node whose @leader is known
 * @leader: to which of its queues others yield; NULL: to none
 */
struct queue_list {
	const struct gpreempt_target_match *match;
	struct gpreempt_queue_info *queues;
	u64 *jobs;
	struct gpreempt_queue_usage *usage;
	u32 max;
	u32 nr;
	const struct gpreempt_node *gn;
	const struct gpreempt_queue *leader;
};

static void chardev_describe(const struct gpreempt_queue *gq,
			     const struct gpreempt_target_match *match,
			     struct gpreempt_queue_info *info)
{
	const struct gpreempt_policy_queue *pq = &gq->policy;

	info->pid = task_tgid_nr_ns(gq->process->p->lead_thread, match->viewer.ns);
	info->gpu_id = gq->gn->node->id;
	info->queue_id = gq->q->properties.queue_id;
	info->context = gq->process->context;
	info->pending = gpreempt_node_pending(gq);
	info->waves = gpreempt_waves_shown(gq);
	info->state = gpreempt_policy_read(pq->preempted) ? GPREEMPT_QUEUE_PREEMPTED :
		      info->pending || (info->waves && info->waves != ~0U) ? GPREEMPT_QUEUE_ACTIVE :
									     GPREEMPT_QUEUE_IDLE;
	if (READ_ONCE(gq->hold.any))
		info->flags |= GPREEMPT_QUEUE_HELD;
	if (gpreempt_queue_blocked(gq))
		info->flags |= GPREEMPT_QUEUE_BLOCKED;
	if (gpreempt_policy_read(pq->process->opt_out))
		info->flags |= GPREEMPT_QUEUE_EXEMPT;
	if (!READ_ONCE(gq->view.pointers))
		info->flags |= GPREEMPT_QUEUE_UNSCHEDULED;
	if (READ_ONCE(gq->q->properties.is_evicted))
		info->flags |= GPREEMPT_QUEUE_EVICTED;
	if (gpreempt_obstacle_debugged(gq->process->p))
		info->flags |= GPREEMPT_QUEUE_DEBUGGED;
	if (READ_ONCE(gq->q->properties.is_suspended))
		info->flags |= GPREEMPT_QUEUE_SUSPENDED;
	switch (READ_ONCE(gq->process->priority.follow_stop)) {
	case GPREEMPT_FOLLOW_STOP_ALWAYS:
		info->flags |= GPREEMPT_QUEUE_STOPS_ALWAYS;
		break;
	case GPREEMPT_FOLLOW_STOP_NEVER:
		info->flags |= GPREEMPT_QUEUE_STOPS_NEVER;
		break;
	}
	if (gpreempt_policy_read(pq->process->waits_for))
		info->flags |= GPREEMPT_QUEUE_WAITS;
	if (gpreempt_policy_read(pq->priority) > gpreempt_policy_read(pq->set.priority))
		info->flags |= GPREEMPT_QUEUE_LENT;
	info->logical_priority = gpreempt_policy_read(pq->set.priority);
	info->effective_priority = gpreempt_policy_read(pq->effective_priority);
	info->source = READ_ONCE(gq->priority.source);
	info->kfd_priority = READ_ONCE(gq->priority.kfd);
	info->ring_base = READ_ONCE(gq->q->properties.queue_address);
	info->preempt_count = READ_ONCE(gq->account.preempt_count);
	info->preempted_us = gpreempt_stats_preempted_ns(gq) / NSEC_PER_USEC;
	info->weight = gpreempt_policy_read(pq->set.weight) ?:
			       gpreempt_policy_read(pq->process->weight);
	info->deadline_us = (gpreempt_policy_read(pq->set.deadline_ns) ?:
				     gpreempt_policy_read(pq->process->deadline_ns)) /
			    NSEC_PER_USEC;
}

/*
 * The last look's. Of a queue that may run it is read now whether it has work: a parked monitor
 * does not look.
 */
static enum gpreempt_verdict chardev_verdict_of(const struct gpreempt_queue *gq,
						const struct gpreempt_queue_info *info)
{
	enum gpreempt_verdict verdict = gpreempt_policy_read(gq->policy.verdict);

	switch (verdict) {
	case GPREEMPT_VERDICT_RUNS:
	case GPREEMPT_VERDICT_NO_DEMAND:
	case GPREEMPT_VERDICT_DORMANT:
	case GPREEMPT_VERDICT_DRIVER:
		if (!READ_ONCE(gq->q->properties.is_active))
			return GPREEMPT_VERDICT_DRIVER;
		if (info->state == GPREEMPT_QUEUE_ACTIVE ||
		    (verdict == GPREEMPT_VERDICT_RUNS && info->waves))
			return GPREEMPT_VERDICT_RUNS;
		return verdict == GPREEMPT_VERDICT_DORMANT ? verdict : GPREEMPT_VERDICT_NO_DEMAND;
	default:
		return verdict;
	}
}

/* In microseconds. ~0 has a meaning of its own. */
static u32 chardev_short_us(u64 ns)
{
	return min_t(u64, div_u64(ns, NSEC_PER_USEC), U32_MAX - 1);
}

static void chardev_describe_verdict(const struct gpreempt_queue *gq,
				     struct gpreempt_queue_info *info)
{
	u64 now_ns = ktime_get_ns(), until_ns = gpreempt_policy_read(gq->policy.until_ns),
	    since_ns = gpreempt_policy_read(gq->policy.verdict_ns);

	info->verdict = chardev_verdict_of(gq, info);
	info->left_us = ~0U;
	/* A verdict that no look gave has no beginning. */
	if (info->verdict == GPREEMPT_VERDICT_NONE ||
	    info->verdict != gpreempt_policy_read(gq->policy.verdict))
		return;
	info->verdict_us = now_ns > since_ns ? chardev_short_us(now_ns - since_ns) : 0;
	if (info->verdict == GPREEMPT_VERDICT_BUDGET)
		until_ns = gpreempt_policy_read(gq->gn->policy.paid_ns);
	if (until_ns != U64_MAX)
		info->left_us = until_ns > now_ns ? chardev_short_us(until_ns - now_ns) : 0;
}

/* srcu of the node held. */
static const struct gpreempt_queue *chardev_leader_of(struct queue_list *list,
						      struct gpreempt_node *gn)
{
	struct gpreempt_queue *gq;

	if (list->gn == gn)
		return list->leader;
	list->gn = gn;
	list->leader = NULL;
	list_for_each_entry_srcu(gq, &gn->queues.list, link,
				 srcu_read_lock_held(&gn->queues.srcu)) {
		if (!gpreempt_policy_read(gq->policy.leads))
			continue;
		list->leader = gq;
		break;
	}
	return list->leader;
}

/* srcu of the node held. The other queue is told to callers that may list it. */
static void chardev_describe_leader(struct queue_list *list, const struct gpreempt_queue *gq,
				    struct gpreempt_queue_info *info)
{
	const struct gpreempt_queue *leader;
	struct gpreempt_target_match match = {
		.scope = GPREEMPT_SCOPE_ALL,
		.viewer = list->match->viewer,
	};

	if (info->verdict == GPREEMPT_VERDICT_OWN_PROCESS) {
		info->to_pid = info->pid;
		info->to_queue_id = ~0U;
		info->to_context = info->context;
		return;
	}
	if (!gpreempt_policy_should_yield(info->verdict) ||
	    gpreempt_policy_read(gq->policy.missing) <= 0)
		return;
	leader = chardev_leader_of(list, gq->gn);
	if (!leader || leader == gq || !gpreempt_target_has(&match, leader))
		return;
	info->to_pid = task_tgid_nr_ns(leader->process->p->lead_thread, match.viewer.ns);
	info->to_queue_id = leader->q->properties.queue_id;
	info->to_context = leader->process->context;
	info->to_pending = min_t(u64, gpreempt_node_pending(leader), U32_MAX);
	info->to_priority = gpreempt_policy_read(leader->policy.verdict) ==
					    GPREEMPT_VERDICT_RELIEF ?
				    GPREEMPT_PRIORITY_RELIEF :
				    gpreempt_policy_read(leader->policy.set.priority);
}

static int chardev_list_queue(struct gpreempt_queue *gq, void *arg)
{
	struct queue_list *list = arg;
	struct gpreempt_queue_info *info;

	if (!gpreempt_target_has(list->match, gq) || list->nr++ >= list->max)
		return 0;
	info = &list->queues[list->nr - 1];
	if (list->jobs)
		list->jobs[list->nr - 1] = READ_ONCE(gq->process->job);
#ifdef CONFIG_KFD_GPREEMPT_ACCOUNT
	if (list->usage)
		gpreempt_usage_of(gq, &list->usage[list->nr - 1]);
#endif
	chardev_describe(gq, list->match, info);
	chardev_describe_verdict(gq, info);
	chardev_describe_leader(list, gq, info);
	return 0;
}

static int chardev_see_node(struct gpreempt_node *gn, void *arg)
{
	const struct gpreempt_target_match *match = arg;

	if (!match->gpu_id || match->gpu_id == gn->node->id)
		gpreempt_waves_see(gn);
	return 0;
}

static int chardev_count_queue(struct gpreempt_queue *gq, void *arg)
{
	(*(u32 *)arg)++;
	return 0;
}

/* Room for @list->max queues. */
static int chardev_make_list(struct queue_list *list, bool jobs, bool usage)
{
	if (!list->max)
		return 0;
	list->queues = kvcalloc(list->max, sizeof(*list->queues), GFP_KERNEL);
	if (!list->queues)
		return -ENOMEM;
	if (jobs)
		list->jobs = kvcalloc(list->max, sizeof(*list->jobs), GFP_KERNEL);
	if (usage)
		list->usage = kvcalloc(list->max, sizeof(*list->usage), GFP_KERNEL);
	return (jobs && !list->jobs) || (usage && !list->usage) ? -ENOMEM : 0;
}

static int chardev_copy_list(const struct gpreempt_list *cmd, const struct queue_list *list)
{
	u32 nr = min(list->nr, list->max);

	if (copy_to_user(u64_to_user_ptr(cmd->queues), list->queues, nr * sizeof(*list->queues)))
		return -EFAULT;
	if (list->jobs &&
	    copy_to_user(u64_to_user_ptr(cmd->jobs), list->jobs, nr * sizeof(*list->jobs)))
		return -EFAULT;
	if (list->usage &&
	    copy_to_user(u64_to_user_ptr(cmd->usage), list->usage, nr * sizeof(*list->usage)))
		return -EFAULT;
	return 0;
}

static int chardev_do_list(struct client *client, void *argument)
{
	struct gpreempt_list *cmd = argument;
	struct gpreempt_target_match match;
	struct queue_list list = { .match = &match };
	u32 nr = 0;
	int r;

	if (cmd->flags || (cmd->usage && !IS_ENABLED(CONFIG_KFD_GPREEMPT_ACCOUNT)))
		return -EINVAL;
	r = gpreempt_target_resolve(&cmd->target, &match);
	if (r)
		goto out;
	/* A length is no reason to allocate: no more than there are. */
	gpreempt_node_walk(chardev_count_queue, &nr);
	list.max = min(cmd->nr_queues, nr);
	r = chardev_make_list(&list, cmd->jobs, cmd->usage);
	if (r)
		goto out;
	/* The last packet of a ring runs while the ring is empty: only the device knows. */
	if (list.max)
		gpreempt_node_find(chardev_see_node, &match);
	gpreempt_node_walk(chardev_list_queue, &list);
	r = chardev_copy_list(cmd, &list);
	cmd->nr_queues = list.nr;
	if (!r && !list.nr && match.scope == GPREEMPT_SCOPE_QUEUE)
		r = -ENOENT;
out:
	kvfree(list.queues);
	kvfree(list.jobs);
	kvfree(list.usage);
	gpreempt_target_release(&match);
	return r;
}

#ifdef CONFIG_KFD_GPREEMPT_ACCOUNT
static int chardev_is_node(struct gpreempt_node *gn, void *arg)
{
	return gn->node->id == *(const u32 *)arg;
}

static int chardev_do_usage(struct client *client, void *argument)
{
	struct gpreempt_usage *cmd = argument;
	const struct gpreempt_target everything = { .scope = GPREEMPT_SCOPE_ALL };
	struct gpreempt_target_match match;
	struct gpreempt_usage_list list = {
		.viewer = &match.viewer, .gpu_id = cmd->gpu_id, .kinds = cmd->kinds ?: ~0U,
	};
	int r = 0;

	if (cmd->flags || cmd->time_ns || cmd->kinds >> (GPREEMPT_USAGE_PROCESS + 1) ||
	    !chardev_is_zero(cmd->reserved, sizeof(cmd->reserved)))
		return -EINVAL;
	gpreempt_target_resolve(&everything, &match);
	if (list.gpu_id && !gpreempt_node_find(chardev_is_node, &list.gpu_id))
		return -ENODEV;
	/* A length is no reason to allocate: no more than there are. */
	gpreempt_node_find(gpreempt_usage_list_node, &list);
	list.max = min(cmd->nr_entries, list.nr);
	if (list.max) {
		list.entries = kvcalloc(list.max, sizeof(*list.entries), GFP_KERNEL);
		if (!list.entries)
			return -ENOMEM;
		list.nr = 0;
		gpreempt_node_find(gpreempt_usage_list_node, &list);
		if (copy_to_user(u64_to_user_ptr(cmd->entries), list.entries,
				 min(list.nr, list.max) * sizeof(*list.entries)))
			r = -EFAULT;
		kvfree(list.entries);
	}
	cmd->nr_entries = list.nr;
	cmd->time_ns = ktime_get_ns();
	return r;
}
#endif

/**
 * struct setting_change - a change of what is set
 * @priority: the new priority
 * @clear: forget it instead
 * @inherit: it is inherited
 * @param: a parameter instead of the priority; -1: none
 * @value: of the parameter
 * @waits_for: instead of @value: a process, referenced; NULL: none
 * @period_us: with a runtime: the deadline as well; 0: that stays
 * @job: a job instead of either; NULL: none
 * @privileged: the caller has CAP_SYS_NICE or CAP_SYS_ADMIN
 */
struct setting_change {
	s32 priority;
	bool clear;
	bool inherit;
	int param;
	u64 value;
	struct pid *waits_for;
	u64 period_us;
	const struct gpreempt_membership *job;
	bool privileged;
};

/* What the privileged set is changed by the privileged only. */
static int chardev_change_setting(struct gpreempt_setting *setting, void *arg)
{
	const struct setting_change *change = arg;

	if (change->job) {
		if (setting->job.id && setting->job.privileged && !change->job->privileged)
			return -EPERM;
		setting->job = *change->job;
		return 0;
	}
	if (change->param < 0) {
		if (setting->has_priority && setting->privileged && !change->privileged)
			return -EPERM;
		setting->has_priority = !change->clear;
		setting->priority = change->priority;
		setting->privileged = change->privileged && !change->clear;
		setting->inherit = change->inherit;
		return 0;
	}
	switch (change->param) {
	case GPREEMPT_PARAM_WEIGHT:
		setting->weight = change->value;
		break;
	case GPREEMPT_PARAM_DEADLINE_US:
		setting->deadline_us = change->value;
		/* Without a period there is no runtime. */
		if (!change->value)
			setting->runtime_us = 0;
		break;
	case GPREEMPT_PARAM_RUNTIME_US:
		setting->runtime_us = change->value;
		setting->deadline_us = change->period_us ?: setting->deadline_us;
		break;
	case GPREEMPT_PARAM_EXEMPT:
		setting->exempt = change->value;
		break;
	case GPREEMPT_PARAM_FOLLOW_STOP:
		setting->follow_stop = change->value;
		break;
	case GPREEMPT_PARAM_WAITS_FOR:
		if (setting->waits_privileged && !change->privileged)
			return -EPERM;
		setting->waits_for = change->waits_for;
		setting->waits_privileged = change->waits_for && change->privileged;
		break;
	}
	return 0;
}

/**
 * struct queue_change - the same for a queue
 * @match: which
 * @change: the change
 * @found: it is there
 */
struct queue_change {
	const struct gpreempt_target_match *match;
	struct setting_change *change;
	bool found;
};

static int chardev_change_queue(struct gpreempt_queue *gq, void *arg)
{
	struct queue_change *qc = arg;

	if (!gpreempt_target_has(qc->match, gq))
		return 0;
	qc->found = true;
	return gpreempt_priority_change_queue(gq, chardev_change_setting, qc->change);
}

static int chardev_change_process(struct pid *pid, struct setting_change *change)
{
	/* What it reserves has to fit. */
	if (IS_ENABLED(CONFIG_KFD_GPREEMPT_POLICIES) &&
	    (change->param == GPREEMPT_PARAM_RUNTIME_US ||
	     change->param == GPREEMPT_PARAM_DEADLINE_US))
		return gpreempt_fits_change_process(pid, chardev_change_setting, change);
	return gpreempt_priority_change_process(pid, chardev_change_setting, change);
}

static int chardev_change_target(const struct gpreempt_target *target,
				 struct setting_change *change)
{
	struct gpreempt_target_match match;
	struct queue_change qc = { .match = &match, .change = change };
	int r;

	r = gpreempt_target_resolve(target, &match);
	if (r)
		goto out;
	switch (match.scope) {
	case GPREEMPT_SCOPE_QUEUE:
		r = gpreempt_node_walk_locked(chardev_change_queue, &qc);
		if (!r && !qc.found)
			r = -ENOENT;
		break;
	case GPREEMPT_SCOPE_PROCESS:
		/* Priorities are the program's, wherever its queues are. */
		r = match.gpu_id || match.context ? -EINVAL :
				   chardev_change_process(match.pid, change);
		break;
	case GPREEMPT_SCOPE_CGROUP:
		if (!match.viewer.sees_all)
			r = -EPERM;
		else if (match.cgroup_level > GPREEMPT_CGROUP_LEVELS)
			r = -ERANGE;
		else
			r = gpreempt_priority_change_cgroup(match.cgroup_id, chardev_change_setting,
							    change);
		break;
	default:
		r = -EINVAL;
	}
out:
	gpreempt_target_release(&match);
	return r;
}

static int chardev_do_set_priority(struct client *client, void *argument)
{
	struct gpreempt_priority *cmd = argument;
	struct setting_change change = { .priority = cmd->priority, .param = -1 };

	if (cmd->flags & ~(GPREEMPT_PRIORITY_CLEAR | GPREEMPT_PRIORITY_INHERIT) ||
	    !chardev_is_zero(cmd->reserved, sizeof(cmd->reserved)))
		return -EINVAL;
	change.clear = cmd->flags & GPREEMPT_PRIORITY_CLEAR;
	change.inherit = cmd->flags & GPREEMPT_PRIORITY_INHERIT;
	if (change.clear && (cmd->priority || change.inherit))
		return -EINVAL;
	if (change.inherit && cmd->target.scope != GPREEMPT_SCOPE_PROCESS)
		return -EINVAL;
	if (cmd->priority < GPREEMPT_PRIORITY_MIN || cmd->priority > GPREEMPT_PRIORITY_MAX)
		return -ERANGE;
	change.privileged = capable(CAP_SYS_NICE);
	if (!change.privileged && cmd->priority > GPREEMPT_PRIORITY_NORMAL)
		return -EPERM;
	change.privileged = change.privileged || capable(CAP_SYS_ADMIN);
	return chardev_change_target(&cmd->target, &change);
}

/* Both processes are ones that the caller may name. */
static int chardev_set_waits_for(const struct gpreempt_target *target,
				 struct setting_change *change)
{
	const struct gpreempt_target other = {
		.scope = GPREEMPT_SCOPE_PROCESS,
		.pid = change->value,
	};
	struct gpreempt_target_match match = { 0 };
	int r = 0;

	change->privileged = gpreempt_priority_privileged();
	if (other.pid)
		r = gpreempt_target_resolve(&other, &match);
	change->waits_for = match.pid;
	if (!r)
		r = chardev_change_target(target, change);
	gpreempt_target_release(&match);
	return r;
}

static int chardev_do_set_param(struct client *client, void *argument)
{
	struct gpreempt_set_param *cmd = argument;
	struct setting_change change = { .param = cmd->param, .value = cmd->value,
					 .period_us = cmd->period_us };

	if (cmd->flags || !chardev_is_zero(cmd->reserved, sizeof(cmd->reserved)))
		return -EINVAL;
	if (cmd->period_us && (cmd->param != GPREEMPT_PARAM_RUNTIME_US || !cmd->value))
		return -EINVAL;
	switch (cmd->param) {
	case GPREEMPT_PARAM_WEIGHT:
		if (cmd->value > GPREEMPT_WEIGHT_MAX)
			return -ERANGE;
		break;
	case GPREEMPT_PARAM_DEADLINE_US:
		if (cmd->value > MAX_DEADLINE_US)
			return -ERANGE;
		break;
	case GPREEMPT_PARAM_RUNTIME_US:
		if (!IS_ENABLED(CONFIG_KFD_GPREEMPT_POLICIES) ||
		    cmd->target.scope != GPREEMPT_SCOPE_PROCESS)
			return -EINVAL;
		if (cmd->value > MAX_DEADLINE_US || cmd->period_us > MAX_DEADLINE_US)
			return -ERANGE;
		break;
	case GPREEMPT_PARAM_EXEMPT:
		if (cmd->target.scope != GPREEMPT_SCOPE_PROCESS)
			return -EINVAL;
		if (cmd->value > 1)
			return -ERANGE;
		break;
	case GPREEMPT_PARAM_FOLLOW_STOP:
		if (cmd->target.scope == GPREEMPT_SCOPE_QUEUE)
			return -EINVAL;
		if (cmd->value > GPREEMPT_FOLLOW_STOP_NEVER)
			return -ERANGE;
		break;
	case GPREEMPT_PARAM_WAITS_FOR:
		if (cmd->target.scope != GPREEMPT_SCOPE_PROCESS)
			return -EINVAL;
		if (cmd->value > MAX_PID)
			return -ERANGE;
		return chardev_set_waits_for(&cmd->target, &change);
	default:
		return -EINVAL;
	}
	if (cmd->target.scope == GPREEMPT_SCOPE_CGROUP && cmd->param != GPREEMPT_PARAM_FOLLOW_STOP)
		return -EINVAL;
	/*
	 * A share, a deadline, an exemption and the device during a stop are taken from the others;
	 * a small share may have been meant as a limit.
	 */
	if (!capable(CAP_SYS_NICE))
		return -EPERM;
	return chardev_change_target(&cmd->target, &change);
}

#ifdef CONFIG_KFD_GPREEMPT_JOBS
static int chardev_do_set_job(struct client *client, void *argument)
{
	struct gpreempt_set_job *cmd = argument;
	struct gpreempt_membership job = {
		.id = cmd->job,
		/*
		 * Processes of all users can be in such a job, so it takes more than CAP_SYS_NICE.
		 */
		.privileged = capable(CAP_SYS_ADMIN),
		.inherit = cmd->flags & GPREEMPT_JOB_INHERIT,
		.stay = cmd->flags & GPREEMPT_JOB_STAY,
	};
	struct setting_change change = { .param = -1, .job = &job };
	int r;

	if (cmd->flags & ~(GPREEMPT_JOB_CLEAR | GPREEMPT_JOB_INHERIT | GPREEMPT_JOB_STAY) ||
	    cmd->reserved1 || !chardev_is_zero(cmd->reserved, sizeof(cmd->reserved)))
		return -EINVAL;
	if (cmd->flags & GPREEMPT_JOB_CLEAR ? cmd->job || cmd->flags != GPREEMPT_JOB_CLEAR : !cmd->job)
		return -EINVAL;
	if (cmd->target.scope != GPREEMPT_SCOPE_PROCESS && cmd->target.scope != GPREEMPT_SCOPE_CGROUP)
		return -EINVAL;
	if (job.inherit && cmd->target.scope != GPREEMPT_SCOPE_PROCESS)
		return -EINVAL;
	if (!job.privileged) {
		job.ns = task_active_pid_ns(current);
		job.owner = current_euid();
	}
	r = chardev_change_target(&cmd->target, &change);
	if (!r)
		gpreempt_rooms_tell(jobs_set);
	return r;
}
#endif

#ifdef CONFIG_KFD_GPREEMPT_SHARES
/* Is it within its bounds? */
static int chardev_check_share(const struct gpreempt_set_share *cmd)
{
	if (cmd->flags & GPREEMPT_SHARE_CLEAR)
		return cmd->weight || cmd->min_pct || cmd->quota_us || cmd->period_us ? -EINVAL : 0;
	if (!cmd->quota_us != !cmd->period_us)
		return -EINVAL;
	if (cmd->weight < GPREEMPT_WEIGHT_MIN || cmd->weight > GPREEMPT_WEIGHT_MAX ||
	    cmd->min_pct > 100)
		return -ERANGE;
	if (cmd->quota_us &&
	    (cmd->period_us < GPREEMPT_PERIOD_US_MIN || cmd->period_us > GPREEMPT_PERIOD_US_MAX ||
	     cmd->quota_us < GPREEMPT_QUOTA_US_MIN || cmd->quota_us > cmd->period_us))
		return -ERANGE;
	return 0;
}

static int chardev_do_set_share(struct client *client, void *argument)
{
	struct gpreempt_set_share *cmd = argument;
	struct gpreempt_target_match match = { 0 };
	struct gpreempt_group group = {
		.job = cmd->job,
		.weight = cmd->weight,
		.min_pct = cmd->min_pct,
		.quota_us = cmd->quota_us,
		.period_us = cmd->period_us,
	};
	int r;

	if (cmd->flags & ~GPREEMPT_SHARE_CLEAR ||
	    !chardev_is_zero(cmd->reserved, sizeof(cmd->reserved)))
		return -EINVAL;
	if (cmd->target.scope != (cmd->job ? GPREEMPT_SCOPE_ALL : GPREEMPT_SCOPE_CGROUP))
		return -EINVAL;
	r = chardev_check_share(cmd);
	if (r)
		return r;
	/* A share is taken from the others. */
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	r = gpreempt_target_resolve(&cmd->target, &match);
	group.cgroup_id = match.cgroup_id;
	if (!r && match.cgroup_level > GPREEMPT_CGROUP_LEVELS)
		r = -ERANGE;
	else if (!r && cmd->flags & GPREEMPT_SHARE_CLEAR)
		gpreempt_group_clear(group.cgroup_id, group.job);
	else if (!r)
		r = gpreempt_group_set(&group);
	gpreempt_target_release(&match);
	return r;
}

/**
 * struct share_list - groups being listed
 * @shares: array
 * @seen: room for those of a node
 * @max: length of @shares
 * @nr: groups there are, on all nodes
 */
struct share_list {
	struct gpreempt_share_info *shares;
	struct gpreempt_group_seen *seen;
	u32 max;
	u32 nr;
};

static int chardev_list_shares_of(struct gpreempt_node *gn, void *arg)
{
	struct share_list *list = arg;
	u32 i, nr = gpreempt_group_read(gn, list->seen, GPREEMPT_GROUPS_MAX);

	for (i = 0; i < nr; i++, list->nr++) {
		const struct gpreempt_group_seen *seen = &list->seen[i];
		const struct gpreempt_group *above = &list->seen[seen->parent].group;

		if (list->nr >= list->max)
			continue;
		list->shares[list->nr] = (struct gpreempt_share_info){
			.cgroup_id = seen->group.cgroup_id,
			.job = seen->group.job,
			.parent_id = above->cgroup_id,
			.gpu_id = gn->node->id,
			.flags = (seen->runs ? GPREEMPT_SHARE_RUNS : 0) |
				 (seen->full ? GPREEMPT_SHARE_FULL : 0),
			.weight = seen->group.weight,
			.min_pct = seen->group.min_pct,
			.quota_us = seen->group.quota_us,
			.period_us = seen->group.period_us,
			.served_us = div_u64(seen->served_ns, NSEC_PER_USEC),
		};
	}
	return 0;
}

static int chardev_do_list_shares(struct client *client, void *argument)
{
	struct gpreempt_list_shares *cmd = argument;
	struct share_list list = { 0 };
	int r = -ENOMEM;

	if (cmd->flags || !chardev_is_zero(cmd->reserved, sizeof(cmd->reserved)))
		return -EINVAL;
	/* They tell when others work. */
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	/* No machine has more nodes than KFD's topology has entries for. */
	list.max = min(cmd->nr_shares, 256U * GPREEMPT_GROUPS_MAX);
	list.seen = kvcalloc(GPREEMPT_GROUPS_MAX, sizeof(*list.seen), GFP_KERNEL);
	if (list.max)
		list.shares = kvcalloc(list.max, sizeof(*list.shares), GFP_KERNEL);
	if (!list.seen || (list.max && !list.shares))
		goto out;
	gpreempt_node_find(chardev_list_shares_of, &list);
	r = 0;
	if (copy_to_user(u64_to_user_ptr(cmd->shares), list.shares,
			 min(list.nr, list.max) * sizeof(*list.shares)))
		r = -EFAULT;
	cmd->nr_shares = list.nr;
out:
	kvfree(list.seen);
	kvfree(list.shares);
	return r;
}
#endif

#ifdef CONFIG_KFD_GPREEMPT_POLICIES
static int chardev_do_fits(struct client *client, void *argument)
{
	struct gpreempt_fits *cmd = argument;
	struct gpreempt_target_match match = { 0 };
	struct gpreempt_fits_list list = {
		.runtime_us = cmd->runtime_us, .period_us = cmd->period_us,
	};
	int r;

	if (cmd->flags || !chardev_is_zero(cmd->reserved, sizeof(cmd->reserved)) ||
	    !cmd->runtime_us != !cmd->period_us || cmd->target.gpu_id || cmd->target.context ||
	    (cmd->target.scope != GPREEMPT_SCOPE_ALL &&
	     cmd->target.scope != GPREEMPT_SCOPE_PROCESS))
		return -EINVAL;
	if (cmd->period_us > MAX_DEADLINE_US || cmd->runtime_us > cmd->period_us)
		return -ERANGE;
	/* It tells what others have reserved: no more than who may reserve needs to know. */
	if (!capable(CAP_SYS_NICE))
		return -EPERM;
	r = gpreempt_target_resolve(&cmd->target, &match);
	if (r)
		goto out;
	list.except = match.pid;
	/* No machine has more nodes than KFD's topology has entries for. */
	list.max = min(cmd->nr_nodes, 256U);
	if (list.max) {
		list.nodes = kvcalloc(list.max, sizeof(*list.nodes), GFP_KERNEL);
		r = list.nodes ? 0 : -ENOMEM;
	}
	if (r)
		goto out;
	gpreempt_fits_list_nodes(&list);
	if (copy_to_user(u64_to_user_ptr(cmd->nodes), list.nodes,
			 min(list.nr, list.max) * sizeof(*list.nodes)))
		r = -EFAULT;
	kvfree(list.nodes);
	cmd->nr_nodes = list.nr;
out:
	gpreempt_target_release(&match);
	return r;
}
#endif

static int chardev_resolve_hold(const struct gpreempt_hold *cmd,
				struct gpreempt_target_match *match)
{
	if (cmd->nr_queues || cmd->nr_off ||
	    !chardev_is_zero(cmd->reserved, sizeof(cmd->reserved)))
		return -EINVAL;
	if (cmd->target.scope != GPREEMPT_SCOPE_QUEUE &&
	    cmd->target.scope != GPREEMPT_SCOPE_PROCESS)
		return -EINVAL;
	return gpreempt_target_resolve(&cmd->target, match);
}

static int chardev_do_preempt(struct client *client, void *argument)
{
	struct gpreempt_target_match match = { 0 };
	struct gpreempt_hold *cmd = argument;
	int r;

	if (cmd->flags & ~GPREEMPT_HOLD_UNBOUNDED)
		return -EINVAL;
	r = chardev_resolve_hold(cmd, &match);
	if (!r && cmd->flags & GPREEMPT_HOLD_UNBOUNDED && !capable(CAP_SYS_ADMIN))
		r = -EPERM;
	if (!r)
		r = gpreempt_hold(&client->holder, &match, cmd->flags & GPREEMPT_HOLD_UNBOUNDED,
				  cmd->timeout_ms, &cmd->nr_queues);
	gpreempt_target_release(&match);
	return r;
}

static int chardev_do_resume(struct client *client, void *argument)
{
	struct gpreempt_target_match match = { 0 };
	struct gpreempt_hold *cmd = argument;
	int r;

	if (cmd->flags & ~GPREEMPT_HOLD_EVERYBODYS)
		return -EINVAL;
	r = chardev_resolve_hold(cmd, &match);
	if (!r)
		r = gpreempt_unhold(cmd->flags & GPREEMPT_HOLD_EVERYBODYS ? NULL : &client->holder,
				    &match, cmd->timeout_ms, &cmd->nr_queues, &cmd->nr_off);
	gpreempt_target_release(&match);
	return r;
}

/**
 * struct expectation - work that was announced
 * @match: of which queues
 * @until_ns: it comes before this
 * @found: there is one
 */
struct expectation {
	const struct gpreempt_target_match *match;
	u64 until_ns;
	bool found;
};

/* The monitor looks when all queues of the node are announced. */
static int chardev_expect_on(struct gpreempt_node *gn, void *arg)
{
	struct expectation *e = arg;
	struct gpreempt_queue *gq;
	bool found = false;
	int idx;

	idx = srcu_read_lock(&gn->queues.srcu);
	list_for_each_entry_srcu(gq, &gn->queues.list, link,
				 srcu_read_lock_held(&gn->queues.srcu)) {
		if (!gpreempt_target_has(e->match, gq))
			continue;
		found = true;
		atomic64_inc(&gn->stats.hints);
		WRITE_ONCE(gq->expected_until_ns, e->until_ns);
	}
	srcu_read_unlock(&gn->queues.srcu, idx);
	if (found)
		gpreempt_node_nudge(gn);
	e->found |= found;
	return 0;
}

static int chardev_do_hint(struct client *client, void *argument)
{
	struct gpreempt_target_match match = { 0 };
	struct expectation e = { .match = &match };
	struct gpreempt_hint *cmd = argument;
	int r;

	if (cmd->flags || !chardev_is_zero(cmd->reserved, sizeof(cmd->reserved)))
		return -EINVAL;
	if (cmd->target.scope != GPREEMPT_SCOPE_QUEUE &&
	    cmd->target.scope != GPREEMPT_SCOPE_PROCESS)
		return -EINVAL;
	if (!cmd->within_us || cmd->within_us > MAX_HINT_US)
		return -ERANGE;
	r = gpreempt_target_resolve(&cmd->target, &match);
	if (!r && !gpreempt_node_enabled(match.gpu_id))
		r = -EOPNOTSUPP;
	if (!r) {
		e.until_ns = ktime_get_ns() + (u64)cmd->within_us * NSEC_PER_USEC;
		gpreempt_node_find(chardev_expect_on, &e);
		r = e.found ? 0 : -ENOENT;
	}
	gpreempt_target_release(&match);
	return r;
}

/**
 * struct command - a command
 * @cmd: its whole word
 * @run: carries it out, on a copy of its structure; what it leaves there goes back to the
 *	caller if _IOC_READ is set
 */
struct command {
	unsigned int cmd;
	int (*run)(struct client *client, void *argument);
};

static const struct command commands[] = {
	{ GPREEMPT_IOC_INFO, chardev_do_info },
	{ GPREEMPT_IOC_LIST, chardev_do_list },
	{ GPREEMPT_IOC_SET_PRIORITY, chardev_do_set_priority },
	{ GPREEMPT_IOC_SET_PARAM, chardev_do_set_param },
	{ GPREEMPT_IOC_PREEMPT, chardev_do_preempt },
	{ GPREEMPT_IOC_RESUME, chardev_do_resume },
	{ GPREEMPT_IOC_HINT, chardev_do_hint },
#ifdef CONFIG_KFD_GPREEMPT_JOBS
	{ GPREEMPT_IOC_SET_JOB, chardev_do_set_job },
#endif
#ifdef CONFIG_KFD_GPREEMPT_SHARES
	{ GPREEMPT_IOC_SET_SHARE, chardev_do_set_share },
	{ GPREEMPT_IOC_LIST_SHARES, chardev_do_list_shares },
#endif
#ifdef CONFIG_KFD_GPREEMPT_ACCOUNT
	{ GPREEMPT_IOC_USAGE, chardev_do_usage },
#endif
#ifdef CONFIG_KFD_GPREEMPT_POLICIES
	{ GPREEMPT_IOC_FITS, chardev_do_fits },
#endif
};

static long chardev_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	union {
		struct gpreempt_info info;
		struct gpreempt_list list;
		struct gpreempt_priority priority;
		struct gpreempt_set_param set_param;
		struct gpreempt_hold hold;
		struct gpreempt_hint hint;
		struct gpreempt_set_job set_job;
		struct gpreempt_set_share set_share;
		struct gpreempt_list_shares list_shares;
		struct gpreempt_usage usage;
		struct gpreempt_fits fits;
	} copy;
	void __user *user = (void __user *)arg;
	unsigned int i;
	int r;

	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (commands[i].cmd == cmd)
			break;
	if (i == ARRAY_SIZE(commands))
		return -ENOTTY;
	if (copy_from_user(&copy, user, _IOC_SIZE(cmd)))
		return -EFAULT;
	r = commands[i].run(file->private_data, &copy);
	/* Also after an error: how many were held is told when not all are saved in time. */
	if (_IOC_DIR(cmd) & _IOC_READ && copy_to_user(user, &copy, _IOC_SIZE(cmd)) && !r)
		r = -EFAULT;
	/* Done again it would start from the beginning, with what came out as what goes in. */
	return r == -ERESTARTSYS ? -EINTR : r;
}

/* @process: a program may have several of KFD's, and each numbers its queues by itself. */
static struct gpreempt_target_match chardev_own_queue(const struct kfd_process *process,
						      u32 queue_id)
{
	return (struct gpreempt_target_match){
		.scope = GPREEMPT_SCOPE_QUEUE,
		.pid = task_tgid(current),
		.process = process,
		/* KFD numbers the queues of a process without regard to nodes. */
		.queue_id = queue_id,
	};
}

static int chardev_kfd_preempt(const struct kfd_process *process, void __user *user)
{
	struct kfd_ioctl_preempt_queue_args args;
	struct gpreempt_target_match match;
	u32 nr;

	if (copy_from_user(&args, user, sizeof(args)))
		return -EFAULT;
	if (args.pad || args.preempt_type > PREEMPT_TYPE_SAVE)
		return -EINVAL;
	if (args.preempt_type != PREEMPT_TYPE_SAVE)
		return -EOPNOTSUPP;
	match = chardev_own_queue(process, args.queue_id);
	return gpreempt_hold(&gpreempt_own_holder, &match, false, args.timeout_ms, &nr);
}

/* The short form is the beginning of the long one. */
static int chardev_kfd_resume(const struct kfd_process *process, void __user *user, size_t size)
{
	struct kfd_ioctl_resume_queue_long_args args = { 0 };
	struct gpreempt_target_match match;
	u32 nr, nr_off;

	if (copy_from_user(&args, user, size))
		return -EFAULT;
	if (!chardev_is_zero(args.pad, sizeof(args.pad)))
		return -EINVAL;
	match = chardev_own_queue(process, args.queue_id);
	return gpreempt_unhold(&gpreempt_own_holder, &match, 0, &nr, &nr_off);
}

/**
 * kfd_gpreempt_ioctl() - carry out one of our commands on /dev/kfd
 * @process: that of the file: the opener's, or its context
 * @cmd: whole command word, one that kfd_gpreempt_owns_ioctl() knows
 * @arg: its argument
 *
 * Context: an ioctl; no lock held; may sleep.
 *
 * Return: what the ioctl returns
 */
long kfd_gpreempt_ioctl(struct kfd_process *process, unsigned int cmd, unsigned long arg)
{
	void __user *user = (void __user *)arg;
	int r;

	/*
	 * As for every command: a descriptor that was inherited or passed on is not for another
	 * process's queues.
	 */
	if (process->lead_thread != current->group_leader)
		return -EBADF;
	r = cmd == AMDKFD_IOC_PREEMPT_QUEUE ?
		    chardev_kfd_preempt(process, user) :
		    chardev_kfd_resume(process, user, _IOC_SIZE(cmd));
	return r == -ERESTARTSYS ? -EINTR : r;
}

/**
 * kfd_gpreempt_owns_ioctl() - is a command on /dev/kfd one of ours?
 * @cmd: whole command word: another driver has the same numbers with other sizes
 *
 * Return: true if it is
 */
bool kfd_gpreempt_owns_ioctl(unsigned int cmd)
{
	return cmd == AMDKFD_IOC_PREEMPT_QUEUE || cmd == AMDKFD_IOC_RESUME_QUEUE ||
	       cmd == AMDKFD_IOC_RESUME_QUEUE_LONG;
}

static struct gpreempt_listener *chardev_listener_of(struct file *file)
{
	struct client *client = file->private_data;
	/*
	 * The opener's rights: the reader may be a program with more rights that was handed the
	 * file as its input.
	 */
	const struct gpreempt_viewer opener = {
		.ns = client->ns,
		.uid = file->f_cred->euid,
		.sees_all = file_ns_capable(file, &init_user_ns, CAP_SYS_ADMIN),
	};
	struct gpreempt_listener *listener;

	mutex_lock(&client->lock);
	listener = client->listener;
	if (!listener) {
		listener = gpreempt_listener_create(&opener,
						    gpreempt_viewer_user_of_cred(file->f_cred));
		if (!IS_ERR(listener))
			client->listener = listener;
	}
	mutex_unlock(&client->lock);
	return listener;
}

static ssize_t chardev_read(struct file *file, char __user *buffer, size_t size, loff_t *offset)
{
	struct gpreempt_listener *listener = chardev_listener_of(file);

	if (IS_ERR(listener))
		return PTR_ERR(listener);
	return gpreempt_listener_read(listener, buffer, size, file->f_flags & O_NONBLOCK);
}

static __poll_t chardev_poll(struct file *file, poll_table *wait)
{
	struct gpreempt_listener *listener = chardev_listener_of(file);

	if (IS_ERR(listener))
		return EPOLLERR;
	poll_wait(file, gpreempt_listener_wait(listener), wait);
	return gpreempt_listener_ready(listener) ? EPOLLIN | EPOLLRDNORM : 0;
}

static int chardev_open(struct inode *inode, struct file *file)
{
	struct client *client = kzalloc(sizeof(*client), GFP_KERNEL_ACCOUNT);

	if (!client)
		return -ENOMEM;
	mutex_init(&client->lock);
	gpreempt_holder_init(&client->holder);
	client->ns = get_pid_ns(task_active_pid_ns(current));
	file->private_data = client;
	return nonseekable_open(inode, file);
}

static int chardev_release(struct inode *inode, struct file *file)
{
	struct client *client = file->private_data;

	gpreempt_holder_release(&client->holder);
	if (client->listener)
		gpreempt_listener_destroy(client->listener);
	put_pid_ns(client->ns);
	mutex_destroy(&client->lock);
	kfree(client);
	return 0;
}

static const struct file_operations gpreempt_fops = {
	.owner = THIS_MODULE,
	.open = chardev_open,
	.release = chardev_release,
	.read = chardev_read,
	.poll = chardev_poll,
	.unlocked_ioctl = chardev_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

/* As /dev/kfd: a user of a GPU may say how urgent its own work is. */
static struct miscdevice gpreempt_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kfd_gpreempt",
	.mode = 0660,
	.fops = &gpreempt_fops,
};

static bool registered;

/* Make /dev/kfd_gpreempt */
static void chardev_init(void)
{
	int r = misc_register(&gpreempt_device);

	registered = !r;
	if (r)
		pr_warn("gpreempt: no /dev/kfd_gpreempt (%d)\n", r);
}

/* Remove /dev/kfd_gpreempt */
static void chardev_exit(void)
{
	if (registered)
		misc_deregister(&gpreempt_device);
	registered = false;
}

const struct gpreempt_room gpreempt_room_chardev = {
	.init = chardev_init,
	.exit = chardev_exit,
};
