/* SPDX-License-Identifier: MIT */
/*
 * viewer.h - which processes a caller may see, and which user pays for a process
 *
 * One rule for commands, jobs, usage, events, fdinfo and the files of queues: the caller's own
 * user's, in its pid namespace and those below it. Rights are those of the initial user namespace:
 * root of a container is a user like any other, and two containers of one user are apart.
 */
#ifndef GPREEMPT_VIEWER_H
#define GPREEMPT_VIEWER_H

#include <linux/cred.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>

/**
 * struct gpreempt_viewer - who asks
 * @ns: its pid namespace
 * @uid: its effective user id
 * @sees_all: it has CAP_SYS_ADMIN, so it sees other users' processes in @ns as well
 */
struct gpreempt_viewer {
	struct pid_namespace *ns;
	kuid_t uid;
	bool sees_all;
};

/**
 * gpreempt_viewer_sees() - may a caller see what is of a user, in a pid namespace?
 * @viewer: the caller; its namespace is compared only
 * @ns: the namespace; NULL: that of a process that is gone, which no caller sees
 * @uid: the user
 *
 * Context: any; @ns stays meanwhile.
 *
 * Return: true if it may
 */
static inline bool gpreempt_viewer_sees(const struct gpreempt_viewer *viewer,
					const struct pid_namespace *ns, kuid_t uid)
{
	if (!viewer->sees_all && !uid_eq(viewer->uid, uid))
		return false;
	while (ns && ns != viewer->ns)
		ns = ns->parent;
	return ns;
}

/**
 * gpreempt_viewer_sees_process() - may a caller see a process?
 * @viewer: the caller
 * @leader: the process's leader
 *
 * Context: a reader of RCU.
 *
 * Return: true if it may
 */
static inline bool gpreempt_viewer_sees_process(const struct gpreempt_viewer *viewer,
						struct task_struct *leader)
{
	return gpreempt_viewer_sees(viewer, ns_of_pid(task_tgid(leader)),
				    task_cred_xxx(leader, euid));
}

/*
 * A user who makes user namespaces does not become many users by the ids that it has there.
 */
static inline kuid_t viewer_user(kuid_t uid, const struct user_namespace *ns)
{
	for (; ns != &init_user_ns; ns = ns->parent)
		uid = ns->owner;
	return uid;
}

/**
 * gpreempt_viewer_user_of() - which user pays for what a process asks for?
 * @leader: the process's leader
 *
 * Context: any that may be a reader of RCU.
 *
 * Return: its effective user id; in a user namespace, who has made the outermost one that it is in
 */
static inline kuid_t gpreempt_viewer_user_of(struct task_struct *leader)
{
	kuid_t uid;

	rcu_read_lock();
	uid = viewer_user(task_cred_xxx(leader, euid), task_cred_xxx(leader, user_ns));
	rcu_read_unlock();
	return uid;
}

/**
 * gpreempt_viewer_user_of_cred() - the same for the opener of a file
 * @cred: its rights, which stay
 *
 * Context: any.
 *
 * Return: as gpreempt_viewer_user_of()
 */
static inline kuid_t gpreempt_viewer_user_of_cred(const struct cred *cred)
{
	return viewer_user(cred->euid, cred->user_ns);
}

#endif /* GPREEMPT_VIEWER_H */
