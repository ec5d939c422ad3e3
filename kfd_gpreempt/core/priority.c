// SPDX-License-Identifier: MIT
/*
 * priority.c - how urgent a queue is, and by which setting
 *
 * Settings from outside are kept here for processes and cgroups. From them, the KFD priority and
 * the nice value the monitor derives what the policy works with.
 *
 * A process is remembered by its struct pid, which never belongs to another process later; a cgroup
 * by its id, likewise. A setting keeps neither alive. A work item drops the settings of those that
 * are gone within a second or two after a change of another setting: a caller pays for its own
 * setting alone.
 *
 * A look costs the same whatever others have set, and however deep they have nested cgroups. What
 * is set for cgroups is looked up for a process when it has come to another cgroup, or when a
 * setting of a cgroup has changed, and kept with the process. Cgroups down to a level can have
 * settings, so no more than these are looked at. They are those next to the root: a program that
 * nests deeper gets around none.
 */
#include <linux/capability.h>
#include <linux/cgroup.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/hashtable.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/rhashtable.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "node.h"
#include "compat/compat.h"
#include "obstacle.h"
#include "rooms.h"

/**
 * struct subject - what a setting is of
 * @pid: the process; NULL: a cgroup
 * @cgroup_id: the cgroup
 */
struct subject {
	struct pid *pid;
	u64 cgroup_id;
};

/**
 * struct payer - a user without privileges that has made settings
 * @link: in @payers
 * @uid: the user
 * @nr: its settings, those of processes that have ended included until they are dropped
 */
struct payer {
	struct list_head link;
	kuid_t uid;
	u32 nr;
};

/**
 * struct entry - a setting and what it is of
 * @node: in @table
 * @link: in @entries
 * @of: the process, referenced, or the cgroup
 * @payer: whose it is; NULL: the privileged made it
 * @setting: what is set
 */
struct entry {
	struct rhash_head node;
	struct list_head link;
	struct subject of;
	struct payer *payer;
	struct gpreempt_setting setting;
};

/*
 * What is of those that are gone is looked for so long after a change, so no more often than that.
 */
#define DROP_MS		1000

static const struct rhashtable_params priority_params = {
	.key_len = sizeof(struct subject),
	.key_offset = offsetof(struct entry, of),
	.head_offset = offsetof(struct entry, node),
	.automatic_shrinking = true,
};

/*
 * The table is written under both locks, and read under either. A pass takes the spinlock alone,
 * which is innermost and held while some settings are looked up and copied, or one is changed.
 * Under RCU, changes in a loop would leave as many entries to soft interrupts, which delay a look
 * for longer than it takes.
 */
static struct rhashtable table;
static LIST_HEAD(entries);
static LIST_HEAD(payers);
static DEFINE_MUTEX(settings_lock);
static DEFINE_SPINLOCK(settings_spinlock);
/* Nothing is looked up while nothing is set, which is the common case. */
static unsigned int nr_entries;
/* How many of them are of cgroups, and how often those have changed, from 1 on */
static unsigned int nr_cgroups;
static u64 cgroups_generation = 1;
/* How many are inherited */
static unsigned int nr_inheritable;
/* How many say that a process waits for another one */
static unsigned int nr_waits;

/* Either lock held. */
static struct entry *priority_find(struct pid *pid, u64 cgroup_id)
{
	const struct subject of = { .pid = pid, .cgroup_id = cgroup_id };

	return nr_entries ? rhashtable_lookup_fast(&table, &of, priority_params) : NULL;
}

/* Do processes below have any of it? */
static bool priority_is_inheritable(const struct gpreempt_setting *setting)
{
	return setting->inherit || setting->job.inherit;
}

/* Both locks held. Around each change: -1 before, 1 after. */
static void priority_count(const struct entry *e, int by)
{
	WRITE_ONCE(nr_entries, nr_entries + by);
	if (priority_is_inheritable(&e->setting))
		WRITE_ONCE(nr_inheritable, nr_inheritable + by);
	if (e->setting.waits_for)
		WRITE_ONCE(nr_waits, nr_waits + by);
	if (e->of.pid)
		return;
	nr_cgroups += by;
	cgroups_generation++;
}

/* settings_lock held. */
static void priority_remove(struct entry *e)
{
	lockdep_assert_held(&settings_lock);
	spin_lock(&settings_spinlock);
	rhashtable_remove_fast(&table, &e->node, priority_params);
	priority_count(e, -1);
	spin_unlock(&settings_spinlock);
	list_del(&e->link);
	if (e->payer && !--e->payer->nr) {
		list_del(&e->payer->link);
		kfree(e->payer);
	}
	put_pid(e->of.pid);
	put_pid(e->setting.waits_for);
	kfree(e);
}

static bool priority_is_gone(const struct entry *e)
{
	bool gone;

	if (e->of.pid) {
		rcu_read_lock();
		gone = !pid_task(e->of.pid, PIDTYPE_TGID);
		rcu_read_unlock();
		return gone;
	}
	return gpreempt_compat_cgroup_is_gone(e->of.cgroup_id);
}

/*
 * A work item sees all cgroups; the caller that changes a setting may see a namespace of them only.
 */
static void priority_drop_gone(struct work_struct *work)
{
	unsigned int left = READ_ONCE(nr_entries);
	struct entry *e;

	for (; left; left--) {
		/* A caller that changes a setting does not wait for all of them. */
		mutex_lock(&settings_lock);
		e = list_first_entry_or_null(&entries, struct entry, link);
		if (e && priority_is_gone(e))
			priority_remove(e);
		else if (e)
			list_move_tail(&e->link, &entries);
		mutex_unlock(&settings_lock);
	}
}

static DECLARE_DELAYED_WORK(drop_work, priority_drop_gone);

static bool priority_says_nothing(const struct gpreempt_setting *s)
{
	return !s->has_priority && !s->exempt && !s->weight && !s->deadline_us && !s->job.id &&
	       !s->waits_for && s->follow_stop == GPREEMPT_FOLLOW_STOP_NODE;
}

/* Only nodes that it has queues on have anything to do with it; a cgroup's may be any. */
static int priority_nudge_concerned(struct gpreempt_node *gn, void *arg)
{
	const struct subject *of = arg;
	struct gpreempt_process *process;

	list_for_each_entry(process, &gn->queues.processes, link) {
		if (of->pid && task_tgid(process->p->lead_thread) != of->pid)
			continue;
		gpreempt_node_nudge(gn);
		break;
	}
	return 0;
}

/* settings_lock held. @fresh: to be used, or freed by the caller. */
static struct payer *priority_payer(struct payer **fresh)
{
	kuid_t uid = (*fresh)->uid;
	struct payer *payer;

	list_for_each_entry(payer, &payers, link)
		if (uid_eq(payer->uid, uid))
			return payer;
	payer = *fresh;
	*fresh = NULL;
	list_add_tail(&payer->link, &payers);
	return payer;
}

/* settings_lock held. @fresh: NULL: the caller is privileged. */
static int priority_insert(struct entry *new, struct payer **fresh)
{
	struct payer *payer = *fresh ? priority_payer(fresh) : NULL;
	int r;

	if (payer && payer->nr == GPREEMPT_SETTINGS_OF_USER)
		return -EUSERS;
	spin_lock(&settings_spinlock);
	r = rhashtable_insert_fast(&table, &new->node, priority_params);
	if (!r)
		priority_count(new, 1);
	spin_unlock(&settings_spinlock);
	if (!r && payer)
		payer->nr++;
	if (payer && !payer->nr) {
		list_del(&payer->link);
		kfree(payer);
	}
	if (r)
		return -ENOMEM;
	new->payer = payer;
	get_pid(new->of.pid);
	get_pid(new->setting.waits_for);
	list_add_tail(&new->link, &entries);
	return 0;
}

/* settings_lock held. Readers see what was set before or what is set now. */
static int priority_put(struct entry *old, struct entry **new, struct payer **fresh)
{
	int r = 0;

	if (priority_says_nothing(&(*new)->setting)) {
		if (old)
			priority_remove(old);
	} else if (old) {
		struct pid *waited_for = old->setting.waits_for;

		get_pid((*new)->setting.waits_for);
		spin_lock(&settings_spinlock);
		priority_count(old, -1);
		old->setting = (*new)->setting;
		priority_count(old, 1);
		spin_unlock(&settings_spinlock);
		put_pid(waited_for);
	} else {
		r = priority_insert(*new, fresh);
		if (!r)
			*new = NULL;
	}
	return r;
}

/**
 * gpreempt_priority_privileged() - does the caller set what others do not get around?
 *
 * Return: true with CAP_SYS_NICE or CAP_SYS_ADMIN
 */
bool gpreempt_priority_privileged(void)
{
	return capable(CAP_SYS_NICE) || capable(CAP_SYS_ADMIN);
}

static int priority_change(struct pid *pid, u64 cgroup_id, gpreempt_setting_fn fn, void *arg)
{
	bool privileged = gpreempt_priority_privileged();
	struct subject of = { .pid = pid, .cgroup_id = cgroup_id };
	struct payer *payer = privileged ? NULL : kzalloc(sizeof(*payer), GFP_KERNEL_ACCOUNT);
	struct entry *old, *new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);
	int r = -ENOMEM;

	if (!new || (!payer && !privileged))
		goto out;
	if (payer)
		payer->uid = gpreempt_viewer_user_of(current);
	new->of = of;
	mutex_lock(&settings_lock);
	old = priority_find(pid, cgroup_id);
	if (old)
		new->setting = old->setting;
	r = fn(&new->setting, arg);
	if (!r)
		r = priority_put(old, &new, &payer);
	mutex_unlock(&settings_lock);
	/* Also where there is no room: of those that have ended there will be none. */
	schedule_delayed_work(&drop_work, msecs_to_jiffies(DROP_MS));
	if (!r)
		gpreempt_node_find_locked(priority_nudge_concerned, &of);
out:
	kfree(payer);
	kfree(new);
	return r;
}

/**
 * gpreempt_priority_change_process() - change what is set for a process
 * @pid: of its leader
 * @fn: makes the change, or refuses with an error code
 * @arg: passed through
 *
 * Context: no lock of the scheduler held; may sleep.
 *
 * Return: what @fn returned; -ENOMEM; -EUSERS: a caller without CAP_SYS_NICE and CAP_SYS_ADMIN
 * has as many settings as it may
 */
int gpreempt_priority_change_process(struct pid *pid, gpreempt_setting_fn fn, void *arg)
{
	return priority_change(pid, 0, fn, arg);
}

/**
 * gpreempt_priority_change_cgroup() - change what is set for a cgroup
 * @cgroup_id: its id
 * @fn: makes the change, or refuses with an error code
 * @arg: passed through
 *
 * Context: no lock of the scheduler held; may sleep.
 *
 * Return: what @fn returned; -ENOMEM
 */
int gpreempt_priority_change_cgroup(u64 cgroup_id, gpreempt_setting_fn fn, void *arg)
{
	return priority_change(NULL, cgroup_id, fn, arg);
}

/**
 * gpreempt_priority_change_queue() - change what is set for a queue
 * @gq: the queue
 * @fn: makes the change, or refuses with an error code
 * @arg: passed through
 *
 * The monitor sees the whole change or nothing of it.
 *
 * Context: gpreempt_lock held.
 *
 * Return: what @fn returned
 */
int gpreempt_priority_change_queue(struct gpreempt_queue *gq, gpreempt_setting_fn fn, void *arg)
{
	struct gpreempt_setting setting = gq->priority.setting;
	int r;

	lockdep_assert_held(&gpreempt_lock);
	r = fn(&setting, arg);
	if (r)
		return r;
	spin_lock(&gq->priority.lock);
	gq->priority.setting = setting;
	spin_unlock(&gq->priority.lock);
	gpreempt_node_nudge(gq->gn);
	return 0;
}

/*
 * The process above another; NULL: there is none. A process that another pid namespace has put into
 * this one (docker exec) is below its init, as those that were born in it. rcu held.
 */
static struct task_struct *priority_process_above(struct task_struct *leader)
{
	struct task_struct *parent, *reaper;
	struct pid_namespace *ns;

	/* Of one that has been reaped nothing is up to date. */
	if (!pid_alive(leader))
		return NULL;
	ns = task_active_pid_ns(leader);
	parent = rcu_dereference(leader->real_parent)->group_leader;
	/* The first task is its own parent. */
	if (!ns || parent == leader)
		return NULL;
	/* It outlives all others of its namespace. */
	reaper = READ_ONCE(ns->child_reaper)->group_leader;
	return leader != reaper && task_active_pid_ns(parent) != ns ? reaper : parent;
}

/*
 * The job of one that is further away takes the place of what was found: what the privileged set is
 * not got around nearer to it.
 */
static void priority_inherit_job(struct gpreempt_membership *job,
				 const struct gpreempt_membership *above)
{
	if (above->id && above->inherit && (!job->id || (above->privileged && !job->privileged)))
		*job = *above;
}

static void priority_inherit(struct gpreempt_setting *setting, const struct gpreempt_setting *above)
{
	/* What the privileged let it inherit bounds what was set by others, nearer and further. */
	if (!above->inherit || setting->privileged)
		return;
	if (!setting->has_priority)
		setting->priority = above->priority;
	else if (above->privileged)
		setting->priority = min(setting->priority, above->priority);
	setting->has_priority = true;
	setting->privileged = above->privileged;
}

/**
 * gpreempt_priority_inherited() - what a process inherits now
 * @leader: the process's leader
 * @setting: receives it; without a priority and a job: nothing
 *
 * What the privileged let it inherit bounds what the unprivileged do nearer to it, as with settings
 * of different ranks.
 *
 * The walk is as long as the process has made it, and holds up no other.
 *
 * Context: any that may be a reader of RCU.
 */
void gpreempt_priority_inherited(struct task_struct *leader, struct gpreempt_setting *setting)
{
	struct task_struct *task;
	struct entry *e;
	struct pid *pid;

	memset(setting, 0, sizeof(*setting));
	if (!READ_ONCE(nr_inheritable))
		return;
	rcu_read_lock();
	for (task = priority_process_above(leader); task; task = priority_process_above(task)) {
		pid = task_tgid(task);
		if (!pid)
			continue;
		spin_lock(&settings_spinlock);
		e = priority_find(pid, 0);
		if (e) {
			priority_inherit(setting, &e->setting);
			priority_inherit_job(&setting->job, &e->setting.job);
		}
		spin_unlock(&settings_spinlock);
	}
	rcu_read_unlock();
}

/**
 * gpreempt_priority_add() - a process has come to a node
 * @process: the process, which the monitor does not know yet
 * @inherited: what it inherits
 *
 * Context: gpreempt_lock held.
 */
void gpreempt_priority_add(struct gpreempt_process *process,
			   const struct gpreempt_setting *inherited)
{
	process->priority.inherited = *inherited;
}

/*
 * Of the nearest cgroup that has a priority; the job and the word on stops are those of the nearest
 * that has one. rcu and settings_spinlock held.
 */
static void priority_look_up_cgroups(struct cgroup *cgroup, struct gpreempt_setting *found)
{
	struct gpreempt_membership job = { 0 };
	u8 follow_stop = GPREEMPT_FOLLOW_STOP_NODE;
	struct entry *e;

	memset(found, 0, sizeof(*found));
	if (!nr_cgroups)
		return;
	cgroup = cgroup_ancestor(cgroup, GPREEMPT_CGROUP_LEVELS) ?: cgroup;
	for (; cgroup; cgroup = cgroup_parent(cgroup)) {
		e = priority_find(NULL, cgroup_id(cgroup));
		if (!e)
			continue;
		if (!found->has_priority && e->setting.has_priority)
			*found = e->setting;
		if (!job.id)
			job = e->setting.job;
		follow_stop = follow_stop ?: e->setting.follow_stop;
	}
	found->job = job;
	found->follow_stop = follow_stop;
}

/* The same, as it was looked up last if it cannot be something else. Context: likewise. */
static void priority_get_cgroups(const struct gpreempt_process *process,
				 struct gpreempt_overrides *overrides)
{
	const struct gpreempt_overrides *kept = &process->priority.overrides;
	struct cgroup *cgroup = task_dfl_cgroup(process->p->lead_thread);

	if (kept->generation == cgroups_generation && kept->cgroup_id == cgroup_id(cgroup))
		overrides->cgroup = kept->cgroup;
	else
		priority_look_up_cgroups(cgroup, &overrides->cgroup);
	overrides->generation = cgroups_generation;
	overrides->cgroup_id = cgroup_id(cgroup);
}

/*
 * One of a higher rank counts, unless the privileged set the other one. What a user set holds for
 * processes alone that it sees: a program with more rights that it starts is in no job of its.
 */
static void priority_join(struct gpreempt_membership *job, const struct gpreempt_membership *with,
			  struct task_struct *leader)
{
	const struct gpreempt_viewer owner = { .ns = with->ns, .uid = with->owner };

	if (!with->id ||
	    (!with->privileged &&
	     (job->privileged || !gpreempt_viewer_sees_process(&owner, leader))))
		return;
	*job = *with;
}

/**
 * gpreempt_priority_membership() - which job a process is in: by its own setting, by what it
 * inherits, or by its cgroup
 * @process: the process
 * @job: receives it; with id 0: none. @process keeps the namespace of its owner
 *
 * Context: any that may be a reader of RCU.
 *
 * Return: false if its program has ended: nothing is known any more
 */
bool gpreempt_priority_membership(const struct gpreempt_process *process,
				  struct gpreempt_membership *job)
{
	struct task_struct *leader = process->p->lead_thread;
	struct gpreempt_overrides overrides;
	struct entry *e;
	struct pid *pid;

	memset(job, 0, sizeof(*job));
	rcu_read_lock();
	pid = task_tgid(leader);
	if (pid) {
		spin_lock(&settings_spinlock);
		priority_get_cgroups(process, &overrides);
		priority_join(job, &overrides.cgroup.job, leader);
		priority_join(job, &process->priority.inherited.job, leader);
		e = priority_find(pid, 0);
		if (e)
			priority_join(job, &e->setting.job, leader);
		spin_unlock(&settings_spinlock);
	}
	rcu_read_unlock();
	return pid;
}

/* settings_spinlock held. Nothing is set for one that has been reaped. */
static void priority_get_process(struct task_struct *leader, struct gpreempt_setting *setting)
{
	struct pid *pid = task_tgid(leader);
	struct entry *e = pid ? priority_find(pid, 0) : NULL;

	if (e)
		*setting = e->setting;
}

/**
 * gpreempt_priority_overrides() - what is set for a process and for the cgroups above it
 * @leader: the process's leader
 * @overrides: receives it
 *
 * Context: any that may be a reader of RCU.
 */
void gpreempt_priority_overrides(struct task_struct *leader, struct gpreempt_overrides *overrides)
{
	memset(overrides, 0, sizeof(*overrides));
	if (!READ_ONCE(nr_entries))
		return;
	rcu_read_lock();
	spin_lock(&settings_spinlock);
	priority_look_up_cgroups(task_dfl_cgroup(leader), &overrides->cgroup);
	priority_get_process(leader, &overrides->process);
	spin_unlock(&settings_spinlock);
	rcu_read_unlock();
}

/**
 * gpreempt_priority_apply() - let what was set from outside take the place of what the program
 * asked KFD for
 * @overrides: of the process
 * @inherited: of processes above it
 * @queue: of the queue
 * @cap: what a setting of the unprivileged is worth at most; receives what another one, or what is
 *	lent, would be
 * @priority: against other processes
 * @own_priority: against queues of the same process
 * @explicit_priority: the priority of this queue was asked for
 *
 * Queue outranks process, process what it inherits, and that the cgroup. A setting of higher rank
 * does not get around what the privileged set: it can only lower that. The same holds for a nice
 * value, which its process cannot lower again either.
 *
 * Return: where the priority comes from
 */
enum gpreempt_source gpreempt_priority_apply(const struct gpreempt_overrides *overrides,
					     const struct gpreempt_setting *inherited,
					     const struct gpreempt_setting *queue, s32 *cap,
					     s32 *priority, s32 *own_priority,
					     bool *explicit_priority)
{
	const struct {
		const struct gpreempt_setting *setting;
		enum gpreempt_source source;
	} ranks[] = {
		{ &overrides->cgroup, GPREEMPT_SOURCE_CGROUP },
		{ inherited, GPREEMPT_SOURCE_PARENT },
		{ &overrides->process, GPREEMPT_SOURCE_PROCESS },
		{ queue, GPREEMPT_SOURCE_QUEUE },
	};
	enum gpreempt_source source = GPREEMPT_SOURCE_KFD;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ranks); i++) {
		const struct gpreempt_setting *s = ranks[i].setting;

		if (!s->has_priority)
			continue;
		*priority = s->privileged ? s->priority : min(s->priority, *cap);
		if (s->privileged)
			*cap = s->priority;
		source = ranks[i].source;
	}
	if (queue->has_priority) {
		*own_priority = queue->priority;
		*explicit_priority = true;
	}
	return source;
}

/*
 * The nice value that a program's CPU policy is worth. For SCHED_IDLE the kernel leaves the nice
 * value itself out of account: such a program is below all that have one. SCHED_BATCH puts it
 * slightly behind others (sched(7)), which is one step here.
 */
static int priority_nice(const struct task_struct *leader)
{
	switch (READ_ONCE(leader->policy)) {
	case SCHED_IDLE:
		return MAX_NICE + 1;
	case SCHED_BATCH:
		return task_nice(leader) + 1;
	default:
		return task_nice(leader);
	}
}

/**
 * gpreempt_priority_of_program() - the priority that a program's next compute queue would have
 * @gn: the node
 * @leader: the program's leader
 *
 * By its settings and its nice value; KFD is taken to be asked for a normal one.
 *
 * Context: no lock of the scheduler held; may sleep.
 *
 * Return: against other processes
 */
s32 gpreempt_priority_of_program(const struct gpreempt_node *gn, struct task_struct *leader)
{
	int nice = READ_ONCE(gn->tunables.tuned[GPREEMPT_TUNABLE_NICE]) ? priority_nice(leader) : 0;
	struct gpreempt_setting inherited, none = { 0 };
	struct gpreempt_policy_queue derived = { 0 };
	s32 cap = GPREEMPT_PRIORITY_NORMAL - nice;
	struct gpreempt_overrides overrides;

	gpreempt_policy_priority(GPREEMPT_PRIORITY_NORMAL, nice, false, &derived);
	gpreempt_priority_overrides(leader, &overrides);
	gpreempt_priority_inherited(leader, &inherited);
	gpreempt_priority_apply(&overrides, &inherited, &none, &cap, &derived.set.priority,
				&derived.set.own_priority, &derived.set.explicit_priority);
	return derived.set.priority;
}

/**
 * gpreempt_priority_init() - nothing is set yet
 *
 * Context: module init.
 */
void gpreempt_priority_init(void)
{
	/* It fails for bad parameters alone: for the least table it waits. */
	rhashtable_init(&table, &priority_params);
}

/**
 * gpreempt_priority_exit() - forget everything
 *
 * Context: module exit; settings do not change any more.
 */
void gpreempt_priority_exit(void)
{
	struct entry *e, *next;

	cancel_delayed_work_sync(&drop_work);
	mutex_lock(&settings_lock);
	list_for_each_entry_safe(e, next, &entries, link)
		priority_remove(e);
	mutex_unlock(&settings_lock);
	rhashtable_destroy(&table);
}

/*
 * What was set for a process. A context outlives its program in a child that has inherited its
 * file; what was set for the program by its PID stays in force until the context ends.
 */
static void priority_overrides_of(const struct gpreempt_process *process,
				  struct gpreempt_overrides *overrides)
{
	struct task_struct *leader = process->p->lead_thread;

	memset(overrides, 0, sizeof(*overrides));
	rcu_read_lock();
	if (READ_ONCE(nr_entries)) {
		spin_lock(&settings_spinlock);
		priority_get_cgroups(process, overrides);
		priority_get_process(leader, &overrides->process);
		spin_unlock(&settings_spinlock);
	}
	if (!task_tgid(leader))
		overrides->process = process->priority.overrides.process;
	rcu_read_unlock();
}

/**
 * gpreempt_priority_reniced() - has a process changed its nice value, its CPU policy or its cgroup
 * since priorities were derived?
 * @gn: the node
 *
 * Context: gpreempt_lock held.
 *
 * Return: true if one has
 */
bool gpreempt_priority_reniced(struct gpreempt_node *gn)
{
	struct gpreempt_process *process;
	struct gpreempt_overrides overrides;

	list_for_each_entry(process, &gn->queues.processes, link) {
		if (READ_ONCE(process->priority.nice) != priority_nice(process->p->lead_thread))
			return true;
		priority_overrides_of(process, &overrides);
		/* The monitor may be writing: then it looks right now. */
		if (data_race(memcmp(&overrides, &process->priority.overrides, sizeof(overrides))))
			return true;
	}
	return false;
}

/**
 * gpreempt_priority_derive_process() - derive what is the same for all queues of a process
 * @process: the process
 *
 * Context: the monitor, in the read section of its pass, before the first of its queues.
 */
void gpreempt_priority_derive_process(struct gpreempt_process *process)
{
	struct gpreempt_policy_process *pp = &process->policy;
	struct gpreempt_overrides overrides;

	WRITE_ONCE(process->priority.nice, priority_nice(process->p->lead_thread));
	priority_overrides_of(process, &overrides);
	if (memcmp(&overrides, &process->priority.overrides, sizeof(overrides))) {
		spin_lock(&settings_spinlock);
		process->priority.overrides = overrides;
		spin_unlock(&settings_spinlock);
	}
	WRITE_ONCE(process->priority.follow_stop,
		   overrides.process.follow_stop ?: overrides.cgroup.follow_stop);
	WRITE_ONCE(pp->opt_out, process->priority.overrides.process.exempt);
	WRITE_ONCE(pp->weight, process->priority.overrides.process.weight);
	WRITE_ONCE(pp->deadline_ns,
		   process->priority.overrides.process.deadline_us * NSEC_PER_USEC);
	WRITE_ONCE(pp->runtime_ns, process->context == 1 ?
		   process->priority.overrides.process.runtime_us * NSEC_PER_USEC : 0);
}

/* That of the process of this PID with queues on the node; NULL: there is none. */
static struct gpreempt_policy_process *priority_process_of(struct gpreempt_node *gn,
							   const struct pid *pid)
{
	struct gpreempt_process *process;

	hash_for_each_possible_rcu(gn->queues.by_pid, process, by_pid, (unsigned long)pid,
				   srcu_read_lock_held(&gn->queues.srcu))
		if (process->pid == pid)
			return &process->policy;
	return NULL;
}

/* What is set now: the PID that was set when priorities were derived may be another one's. */
static void priority_find_wait(struct gpreempt_node *gn, struct gpreempt_process *process)
{
	struct gpreempt_policy_process *waits_for = NULL;
	struct gpreempt_setting setting = { 0 };

	if (READ_ONCE(nr_waits)) {
		rcu_read_lock();
		spin_lock(&settings_spinlock);
		priority_get_process(process->p->lead_thread, &setting);
		if (setting.waits_for)
			waits_for = priority_process_of(gn, setting.waits_for);
		spin_unlock(&settings_spinlock);
		rcu_read_unlock();
	}
	gn->policy.changed |= process->policy.waits_for != waits_for;
	process->policy.waits_for = waits_for;
	process->policy.lends_all = setting.waits_privileged;
}

/**
 * gpreempt_priority_find_waits() - which processes do those of the queues that were sampled wait
 * for?
 * @gn: the node
 *
 * What is not sampled decides nothing, so nothing else need be found.
 *
 * Context: the monitor, in the read section of its pass, when queues may have come or gone.
 */
void gpreempt_priority_find_waits(struct gpreempt_node *gn)
{
	const struct gpreempt_process *before = NULL;
	u32 i;

	for (i = 0; i < gn->monitor.nr_sampled + gn->monitor.nr_dormant; i++) {
		struct gpreempt_process *process =
			gpreempt_queue_of(gn->monitor.sampled[i])->process;

		if (process == before)
			continue;
		before = process;
		priority_find_wait(gn, process);
	}
}

/**
 * gpreempt_priority_hold() - derive whether a queue has to be off the device, whatever its rank
 * @gq: the queue: it is held on request, or its process is stopped, or idle on a crowded device
 *
 * Context: the monitor, in the read section of its pass.
 */
void gpreempt_priority_hold(struct gpreempt_queue *gq)
{
	struct gpreempt_policy_queue_set *set = &gq->policy.set;
	bool asked = READ_ONCE(gq->hold.any);

	set->stopped = gq->process->stopped;
	set->idle = gq->process->idle && !asked && !set->stopped;
	set->hold = asked || set->stopped || set->idle;
	set->hold_unbounded = READ_ONCE(gq->hold.unbounded) || set->stopped || set->idle;
}

/* What was set from outside. */
static bool priority_derive_overrides(const struct gpreempt_process *process,
				    struct gpreempt_queue *gq, int nice,
				    struct gpreempt_policy_queue *derived)
{
	struct gpreempt_policy_queue *pq = &gq->policy;
	struct gpreempt_setting setting;
	s32 before, cap = GPREEMPT_PRIORITY_NORMAL - nice;
	bool hinted;

	spin_lock(&gq->priority.lock);
	setting = gq->priority.setting;
	spin_unlock(&gq->priority.lock);
	WRITE_ONCE(gq->priority.source,
		   gpreempt_priority_apply(&process->priority.overrides,
					   &process->priority.inherited, &setting, &cap,
					   &derived->set.priority, &derived->set.own_priority,
					   &derived->set.explicit_priority));
	before = pq->set.priority;
	WRITE_ONCE(pq->set.priority, derived->set.priority);
	pq->set.lent_max = cap;
	pq->set.own_priority = derived->set.own_priority;
	pq->set.explicit_priority = derived->set.explicit_priority;
	if (gq->priority.derived && before != pq->set.priority)
		gpreempt_rooms_tell(event, gq->gn, gq, GPREEMPT_EVENT_PRIORITY, before);
	gq->priority.derived = true;
	WRITE_ONCE(pq->set.weight, setting.weight);
	WRITE_ONCE(pq->set.deadline_ns, setting.deadline_us * NSEC_PER_USEC);
	gpreempt_priority_hold(gq);
	hinted = pq->set.expected_until_ns != READ_ONCE(gq->expected_until_ns);
	pq->set.expected_until_ns = READ_ONCE(gq->expected_until_ns);
	return hinted;
}

/**
 * gpreempt_priority_derive() - derive what the policy works with
 * @gn: the node
 * @gq: one of its queues
 *
 * Context: the monitor, in the read section of its pass.
 *
 * Return: GPREEMPT_DERIVED_HINT, GPREEMPT_DERIVED_MQD
 */
u32 gpreempt_priority_derive(struct gpreempt_node *gn, struct gpreempt_queue *gq)
{
	struct gpreempt_process *process = gq->process;
	/* Others read priorities meanwhile: they see the old one or the new one. */
	struct gpreempt_policy_queue derived = { 0 };
	u32 found = 0;
	int nice;

	gn->policy.changed = true;
	nice = gn->tun.nice ? process->priority.nice : 0;
	gpreempt_policy_priority(READ_ONCE(gq->priority.kfd), nice,
				 READ_ONCE(gq->priority.trusted) || gn->tun.trust, &derived);
	if (priority_derive_overrides(process, gq, nice, &derived))
		found |= GPREEMPT_DERIVED_HINT;
	gq->policy.set.immovable = gpreempt_obstacle(gq) != GPREEMPT_NR_SKIPS;
	/*
	 * Its queues stay registered until the process is released, which other references may
	 * delay.
	 */
	gq->priority.dead = READ_ONCE(process->pdd->already_dequeued);
	/* It takes an interruption: not of those that must have none. */
	if (gn->backend->reprioritizes && !gq->priority.dead && !gq->policy.set.immovable &&
	    !process->policy.opt_out && gpreempt_mqd_priority_stale(gq))
		found |= GPREEMPT_DERIVED_MQD;
	return found;
}

/**
 * gpreempt_priority_init_queue() - a queue is about to be registered
 * @gq: the queue, new
 *
 * Context: any.
 */
void gpreempt_priority_init_queue(struct gpreempt_queue *gq)
{
	spin_lock_init(&gq->priority.lock);
}

/**
 * gpreempt_priority_asked() - take in the priority that a program has given to KFD
 * @gq: its queue
 * @trusted: the caller had the right to a priority above normal
 *
 * Context: p->mutex held, or the queue is being registered.
 */
void gpreempt_priority_asked(struct gpreempt_queue *gq, bool trusted)
{
	WRITE_ONCE(gq->priority.kfd, READ_ONCE(gq->q->properties.priority));
	WRITE_ONCE(gq->priority.trusted, trusted);
}
