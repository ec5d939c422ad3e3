// SPDX-License-Identifier: MIT
/*
 * target.c - which queues a command is about, and whether the caller may name them
 *
 * Rights are those of the initial user namespace: root in a container is a user like any other.
 * viewer.h has the rule.
 */
#include <linux/capability.h>
#include <linux/cgroup.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "core/node.h"
#include "target.h"

static int target_resolve_process(const struct gpreempt_target *target,
				  struct gpreempt_target_match *match)
{
	struct task_struct *leader;
	int r = -ESRCH;

	if (target->pid < 0)
		return -EINVAL;
	rcu_read_lock();
	match->pid = get_pid(target->pid ? find_vpid(target->pid) : task_tgid(current));
	leader = match->pid ? pid_task(match->pid, PIDTYPE_TGID) : NULL;
	if (leader)
		r = gpreempt_viewer_sees_process(&match->viewer, leader) ? 0 : -EACCES;
	rcu_read_unlock();
	return r;
}

static int target_resolve_cgroup(const struct gpreempt_target *target,
				 struct gpreempt_target_match *match)
{
	struct cgroup *cgroup = cgroup_get_from_fd(target->cgroup_fd);

	if (IS_ERR(cgroup))
		return -EBADF;
	match->cgroup_id = cgroup_id(cgroup);
	match->cgroup_level = cgroup->level;
	cgroup_put(cgroup);
	return 0;
}

static int target_is_node(struct gpreempt_node *gn, void *arg)
{
	return gn->node->id == *(const u32 *)arg;
}

/**
 * gpreempt_target_resolve() - find out which queues a command is about
 * @target: what the caller has given
 * @match: receives what it means; to be released with gpreempt_target_release(), also after
 *	an error
 *
 * Context: may sleep.
 *
 * Return: 0; -EINVAL, -ENODEV, -EBADF, -ESRCH: there is no such target; -EACCES: it is not the
 * caller's
 */
int gpreempt_target_resolve(const struct gpreempt_target *target,
			    struct gpreempt_target_match *match)
{
	/* What the scope does not use has to be 0. */
	struct gpreempt_target rest = *target;
	int r = 0;

	*match = (struct gpreempt_target_match){
		.scope = target->scope,
		.gpu_id = target->gpu_id,
		.queue_id = target->queue_id,
		.context = target->context,
		.viewer = {
			.ns = task_active_pid_ns(current),
			.uid = current_euid(),
			.sees_all = capable(CAP_SYS_ADMIN),
		},
	};
	rest.scope = 0;
	switch (target->scope) {
	case GPREEMPT_SCOPE_QUEUE:
		rest.queue_id = 0;
		fallthrough;
	case GPREEMPT_SCOPE_PROCESS:
		rest.pid = 0;
		rest.gpu_id = 0;
		rest.context = 0;
		break;
	case GPREEMPT_SCOPE_CGROUP:
		rest.cgroup_fd = 0;
		break;
	case GPREEMPT_SCOPE_ALL:
		break;
	default:
		return -EINVAL;
	}
	if (memchr_inv(&rest, 0, sizeof(rest)))
		return -EINVAL;

	if (target->scope == GPREEMPT_SCOPE_QUEUE && !target->gpu_id)
		return -EINVAL;
	if (target->gpu_id && !gpreempt_node_find(target_is_node, &match->gpu_id))
		return -ENODEV;
	if (target->scope == GPREEMPT_SCOPE_CGROUP)
		r = target_resolve_cgroup(target, match);
	else if (target->scope != GPREEMPT_SCOPE_ALL)
		r = target_resolve_process(target, match);
	return r;
}

/**
 * gpreempt_target_release() - let go of what gpreempt_target_resolve() has found
 * @match: the target
 *
 * Context: any.
 */
void gpreempt_target_release(struct gpreempt_target_match *match)
{
	put_pid(match->pid);
}

/*
 * rcu held. A context outlives its program in a child that has inherited its file. Then its queues
 * have no PID, and who may see all processes sees them.
 */
static bool target_is_visible(const struct gpreempt_queue *gq,
			      const struct gpreempt_target_match *match)
{
	struct task_struct *leader = gq->process->p->lead_thread;

	return gpreempt_viewer_sees_process(&match->viewer, leader) ||
	       (match->viewer.sees_all && gq->process->context > 1 && !task_tgid(leader));
}

/* rcu held. Is it in the cgroup, or in one below it? */
static bool target_is_below(struct task_struct *leader, const struct gpreempt_target_match *match)
{
	struct cgroup *cgroup = cgroup_ancestor(task_dfl_cgroup(leader), match->cgroup_level);

	return cgroup && cgroup_id(cgroup) == match->cgroup_id;
}

/**
 * gpreempt_target_has() - is a queue among those that a command is about?
 * @match: the command's target
 * @gq: the queue
 *
 * Context: gpreempt_lock or srcu of its node held, which keeps the queue.
 *
 * Return: true if it is
 */
bool gpreempt_target_has(const struct gpreempt_target_match *match, const struct gpreempt_queue *gq)
{
	struct task_struct *leader = gq->process->p->lead_thread;
	bool has;

	if (match->gpu_id && match->gpu_id != gq->gn->node->id)
		return false;
	if (match->context && match->context != gq->process->context)
		return false;
	if (match->process && match->process != gq->process->p)
		return false;
	if (match->scope == GPREEMPT_SCOPE_QUEUE && match->queue_id != gq->q->properties.queue_id)
		return false;
	rcu_read_lock();
	has = match->pid ? task_tgid(leader) == match->pid :
			   /* What the caller could not name one by one is looked at. */
			   target_is_visible(gq, match) &&
			      (match->scope == GPREEMPT_SCOPE_ALL ||
			       target_is_below(leader, match));
	rcu_read_unlock();
	return has;
}
