/* SPDX-License-Identifier: MIT */
/*
 * outside.h - what comes from outside of the driver: priorities and parameters that somebody set, holds, events
 *
 * settings.c keeps what was set for processes and cgroups, hold.c what was preempted on request, event.c tells who listens. uapi.c is
 * the device through which all of it comes and goes.
 */
#ifndef GPREEMPT_OUTSIDE_H
#define GPREEMPT_OUTSIDE_H

#include <linux/list.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <linux/wait.h>

#include "uapi/linux/kfd_gpreempt.h"

struct gpreempt_node;
struct gpreempt_process;
struct gpreempt_queue;
struct kfd_process;
struct pid;
struct pid_namespace;
struct task_struct;

/**
 * struct gpreempt_setting - what was set for a queue, a process or a cgroup
 * @has_priority: @priority is set
 * @privileged: by somebody with CAP_SYS_NICE or CAP_SYS_ADMIN: others do not get around it
 * @exempt: never a victim; of a process
 * @priority: logical priority
 * @weight: share under wfq; 0: by priority
 * @deadline_us: relative deadline under edf; 0: none
 */
struct gpreempt_setting {
	bool has_priority;
	bool privileged;
	bool exempt;
	s32 priority;
	u32 weight;
	u64 deadline_us;
};

/**
 * struct gpreempt_outside - what was set from outside for a process, as the monitor last took it in
 * @cgroup: of the nearest cgroup above it that has a priority
 * @process: of itself
 */
struct gpreempt_outside {
	struct gpreempt_setting cgroup;
	struct gpreempt_setting process;
};

typedef int (*gpreempt_setting_fn)(struct gpreempt_setting *setting, void *arg);

/* settings.c */
void gpreempt_settings_get(struct task_struct *leader, struct gpreempt_outside *outside);
int gpreempt_settings_change_process(struct pid *pid, gpreempt_setting_fn change, void *arg);
int gpreempt_settings_change_cgroup(u64 cgroup_id, gpreempt_setting_fn change, void *arg);
bool gpreempt_settings_is_below(struct task_struct *leader, u64 id);
void gpreempt_settings_exit(void);
enum gpreempt_source gpreempt_settings_apply(const struct gpreempt_outside *outside, const struct gpreempt_setting *queue, s32 cap,
					     s32 *priority, s32 *own_priority, bool *explicit_priority);

/**
 * struct gpreempt_holder - somebody who asks for preemptions: an open file, or a process on /dev/kfd
 * @holds: what it holds, under gpreempt_lock
 */
struct gpreempt_holder {
	struct list_head holds;
};

/**
 * struct gpreempt_target_match - the queues that a command is about, resolved
 * @scope: &enum gpreempt_scope
 * @pid: the process; NULL with other scopes. Referenced.
 * @gpu_id: the node; 0: all
 * @queue_id: the queue
 * @cgroup_id: the cgroup; 0 with other scopes
 * @viewer_ns: pid namespace of the caller
 * @viewer_uid: who asks
 * @sees_all: has CAP_SYS_ADMIN
 */
struct gpreempt_target_match {
	u32 scope;
	struct pid *pid;
	u32 gpu_id;
	u32 queue_id;
	u64 cgroup_id;
	struct pid_namespace *viewer_ns;
	kuid_t viewer_uid;
	bool sees_all;
};

bool gpreempt_target_has(const struct gpreempt_target_match *match, const struct gpreempt_queue *gq);

/* hold.c */
extern struct gpreempt_holder gpreempt_own_holder;
void gpreempt_holder_init(struct gpreempt_holder *holder);
int gpreempt_hold(struct gpreempt_holder *holder, const struct gpreempt_target_match *match, bool unbounded, u32 timeout_ms,
		  u32 *nr_queues);
int gpreempt_unhold(struct gpreempt_holder *holder, const struct gpreempt_target_match *match, u32 *nr_queues);
void gpreempt_holder_release(struct gpreempt_holder *holder);
void gpreempt_hold_forget_locked(struct gpreempt_queue *gq);

/* event.c */
struct gpreempt_listener;
struct gpreempt_listener *gpreempt_listener_create(struct pid_namespace *ns, kuid_t uid, bool sees_all);
void gpreempt_listener_destroy(struct gpreempt_listener *listener);
ssize_t gpreempt_listener_read(struct gpreempt_listener *listener, char __user *buffer, size_t size, bool nonblocking);
bool gpreempt_listener_ready(struct gpreempt_listener *listener);
wait_queue_head_t *gpreempt_listener_wait(struct gpreempt_listener *listener);
void gpreempt_events_exit(void);
void gpreempt_event(struct gpreempt_node *gn, const struct gpreempt_queue *gq, enum gpreempt_event_type type, s64 value);

/* uapi.c */
void gpreempt_uapi_init(void);
void gpreempt_uapi_exit(void);

#endif /* GPREEMPT_OUTSIDE_H */
