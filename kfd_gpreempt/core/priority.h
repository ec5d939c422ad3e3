/* SPDX-License-Identifier: MIT */
/* priority.h - how urgent a queue is, and by which setting */
#ifndef GPREEMPT_PRIORITY_H
#define GPREEMPT_PRIORITY_H

#include <linux/spinlock.h>
#include <linux/types.h>
#include "uapi/linux/kfd_gpreempt.h"
#include "viewer.h"

struct gpreempt_node;
struct gpreempt_queue;
struct gpreempt_process;
struct pid;
struct task_struct;
struct gpreempt_policy_queue;

/* Cgroups can have settings and shares down to this level; the root is level 0. */
#define GPREEMPT_CGROUP_LEVELS		32
/* Processes of which a user without privileges can have set something */
#define GPREEMPT_SETTINGS_OF_USER	1024

/**
 * struct gpreempt_membership - a job, and who has put a process or a cgroup into it
 * @id: of the job; 0: none
 * @ns: the pid namespace of the process that did: it holds for those alone that this one may see.
 *	They are there or below, so they keep it. NULL with @privileged: it holds for all
 * @owner: the user that did; 0 with @privileged
 * @privileged: with CAP_SYS_ADMIN
 * @inherit: processes below it are in the job as well; of a process
 * @stay: when it is off one node, its queues stay on the others
 */
struct gpreempt_membership {
	u64 id;
	struct pid_namespace *ns;
	kuid_t owner;
	bool privileged;
	bool inherit;
	bool stay;
};

/**
 * struct gpreempt_setting - what was set for a queue, a process or a cgroup
 * @has_priority: @priority is set
 * @privileged: by a caller with CAP_SYS_NICE or CAP_SYS_ADMIN: others do not get around it
 * @exempt: never a victim; of a process
 * @inherit: processes below it have @priority as well; of a process
 * @priority: logical priority
 * @weight: share under wfq; 0: by priority
 * @follow_stop: &enum gpreempt_follow_stop; of a process or a cgroup
 * @waits_for: the process that it waits for, referenced where the setting is kept; NULL: none. Of a
 *	process
 * @waits_privileged: that was said with CAP_SYS_NICE or CAP_SYS_ADMIN
 * @deadline_us: relative deadline under edf; 0: none
 * @runtime_us: so much of each @deadline_us is reserved for it under edf; 0: an equal part; of a
 *	process
 * @job: the job; of a process or a cgroup
 */
struct gpreempt_setting {
	bool has_priority;
	bool privileged;
	bool exempt;
	bool inherit;
	s32 priority;
	u32 weight;
	u8 follow_stop;
	bool waits_privileged;
	struct pid *waits_for;
	u64 deadline_us;
	u64 runtime_us;
	struct gpreempt_membership job;
};

/**
 * struct gpreempt_overrides - what was set from outside for a process, as the monitor last took it
 * in
 * @cgroup: of the nearest cgroup above it that has a priority; its follow_stop and its job are
 *	those of the nearest that has one
 * @process: of itself
 * @cgroup_id: where it was, when @cgroup was looked up
 * @generation: of the settings of cgroups then; 0: it has not been looked up
 */
struct gpreempt_overrides {
	struct gpreempt_setting cgroup;
	struct gpreempt_setting process;
	u64 cgroup_id;
	u64 generation;
};

/*
 * What gpreempt_priority_derive() has found: a new announcement of work; MQDs that say another
 * priority than they should
 */
#define GPREEMPT_DERIVED_HINT	1U
#define GPREEMPT_DERIVED_MQD	2U

/* The same id of two owners is two jobs: knowing an id is no way into a job. */
static inline bool gpreempt_membership_is(const struct gpreempt_membership *a,
					  const struct gpreempt_membership *b)
{
	return a->id == b->id && a->ns == b->ns && uid_eq(a->owner, b->owner);
}

typedef int (*gpreempt_setting_fn)(struct gpreempt_setting *setting, void *arg);

/* What priority.c keeps of a queue, and writes alone. */
struct gpreempt_queue_priority {
	/** @kfd: last priority given to KFD; written under p->mutex */
	u32 kfd;
	/** @trusted: the caller that gave it had CAP_SYS_NICE; written under p->mutex */
	bool trusted;
	/** @dead: the process has been taken off the device; the monitor's alone */
	bool dead;
	/** @source: where its priority comes from; written by the monitor */
	enum gpreempt_source source;
	/** @derived: its priority has been derived; the monitor's alone */
	bool derived;
	/** @lock: keeps @setting for its monitor, which shares it with no other one */
	spinlock_t lock;
	/**
	 * @setting: what was set for it from outside; written under gpreempt_lock and @lock, read
	 * under either
	 */
	struct gpreempt_setting setting;
};

/* Is a queue asked to be off the device? Who takes such requests writes it, under gpreempt_lock. */
struct gpreempt_queue_hold {
	/** @any: it is */
	bool any;
	/** @unbounded: and one of the requests has no end */
	bool unbounded;
};

/* What priority.c keeps of a process on a node, and writes alone. */
struct gpreempt_process_priority {
	/**
	 * @nice: what the priorities were derived from: the nice value, or what the CPU policy is
	 * worth; written by the monitor
	 */
	int nice;
	/**
	 * @overrides: what was set for it when they were; written by the monitor, under the
	 * spinlock of settings
	 */
	struct gpreempt_overrides overrides;
	/** @inherited: of processes above it; never changes */
	struct gpreempt_setting inherited;
	/**
	 * @follow_stop: &enum gpreempt_follow_stop, its own or its cgroup's; written by the
	 * monitor
	 */
	u8 follow_stop;
};

void gpreempt_priority_init(void);
int gpreempt_priority_change_process(struct pid *pid, gpreempt_setting_fn fn, void *arg);
int gpreempt_priority_change_queue(struct gpreempt_queue *gq, gpreempt_setting_fn fn, void *arg);
int gpreempt_priority_change_cgroup(u64 cgroup_id, gpreempt_setting_fn fn, void *arg);
void gpreempt_priority_overrides(struct task_struct *leader, struct gpreempt_overrides *overrides);
void gpreempt_priority_inherited(struct task_struct *leader, struct gpreempt_setting *setting);
bool gpreempt_priority_membership(const struct gpreempt_process *process,
				  struct gpreempt_membership *job);
void gpreempt_priority_add(struct gpreempt_process *process,
			   const struct gpreempt_setting *inherited);
bool gpreempt_priority_privileged(void);
enum gpreempt_source gpreempt_priority_apply(const struct gpreempt_overrides *overrides,
					     const struct gpreempt_setting *inherited,
					     const struct gpreempt_setting *queue, s32 *cap,
					     s32 *priority, s32 *own_priority,
					     bool *explicit_priority);
s32 gpreempt_priority_of_program(const struct gpreempt_node *gn, struct task_struct *leader);
void gpreempt_priority_exit(void);
bool gpreempt_priority_reniced(struct gpreempt_node *gn);
void gpreempt_priority_init_queue(struct gpreempt_queue *gq);
void gpreempt_priority_asked(struct gpreempt_queue *gq, bool trusted);
void gpreempt_priority_hold(struct gpreempt_queue *gq);
void gpreempt_priority_derive_process(struct gpreempt_process *process);
void gpreempt_priority_find_waits(struct gpreempt_node *gn);
u32 gpreempt_priority_derive(struct gpreempt_node *gn, struct gpreempt_queue *gq);

#endif /* GPREEMPT_PRIORITY_H */
