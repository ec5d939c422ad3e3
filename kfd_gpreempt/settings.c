// SPDX-License-Identifier: MIT
/*
 * settings.c - what was set from outside for processes and cgroups
 *
 * A process is remembered by its struct pid, which is never used again for another one; a cgroup by its id, likewise. Neither is kept
 * alive by that: what belongs to those that are gone is dropped within a second or two after
 * something else is changed, by a work item: who changes a setting pays for none of the others'.
 */
#include <linux/cgroup.h>
#include <linux/hashtable.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "core.h"
#include "outside.h"

/**
 * struct entry - a setting and what it is of
 * @link: in @table, under @settings_lock, read under RCU
 * @rcu: for freeing
 * @pid: the process, referenced; NULL: a cgroup
 * @cgroup_id: the cgroup
 * @setting: never changes: a change replaces the entry
 */
struct entry {
	struct hlist_node link;
	struct rcu_head rcu;
	struct pid *pid;
	u64 cgroup_id;
	struct gpreempt_setting setting;
};

/*
 * What is of those that are gone is looked for so long after a change, so no more often than that.
 */
#define DROP_MS		1000

static DEFINE_HASHTABLE(table, 6);
static DEFINE_MUTEX(settings_lock);
/* Nothing is looked up while nothing is set, which is the common case. */
static unsigned int nr_entries;

static unsigned long key_of(const struct pid *pid, u64 cgroup_id)
{
	return pid ? (unsigned long)pid : (unsigned long)cgroup_id;
}

static struct entry *find(const struct pid *pid, u64 cgroup_id)
{
	struct entry *e;

	hash_for_each_possible_rcu(table, e, link, key_of(pid, cgroup_id), lockdep_is_held(&settings_lock))
		if (e->pid == pid && e->cgroup_id == cgroup_id)
			return e;
	return NULL;
}

static void free_entry(struct rcu_head *rcu)
{
	struct entry *e = container_of(rcu, struct entry, rcu);

	put_pid(e->pid);
	kfree(e);
}

static void drop_locked(struct entry *e)
{
	lockdep_assert_held(&settings_lock);
	hash_del_rcu(&e->link);
	WRITE_ONCE(nr_entries, nr_entries - 1);
	call_rcu(&e->rcu, free_entry);
}

static bool is_gone(const struct entry *e)
{
	struct cgroup *cgroup;
	bool gone;

	if (e->pid) {
		rcu_read_lock();
		gone = !pid_task(e->pid, PIDTYPE_TGID);
		rcu_read_unlock();
		return gone;
	}
	cgroup = cgroup_get_from_id(e->cgroup_id);
	if (IS_ERR(cgroup))
		return PTR_ERR(cgroup) == -ENOENT;
	cgroup_put(cgroup);
	return false;
}

/* A work item: it sees all cgroups, whoever changes something may see a namespace of them only. */
static void drop_gone(struct work_struct *work)
{
	struct hlist_node *next;
	struct entry *e;
	unsigned int i;

	for (i = 0; i < HASH_SIZE(table); i++) {
		/* Nobody who changes something waits for all of them. */
		mutex_lock(&settings_lock);
		hlist_for_each_entry_safe(e, next, &table[i], link)
			if (is_gone(e))
				drop_locked(e);
		mutex_unlock(&settings_lock);
	}
}

static DECLARE_DELAYED_WORK(drop_work, drop_gone);

static bool says_nothing(const struct gpreempt_setting *s)
{
	return !s->has_priority && !s->exempt && !s->weight && !s->deadline_us;
}

/**
 * gpreempt_settings_is_below() - is a process in a cgroup, or in one below it?
 * @leader: the process's leader
 * @id: the cgroup's
 *
 * Context: a reader of RCU.
 *
 * Return: true if it is
 */
bool gpreempt_settings_is_below(struct task_struct *leader, u64 id)
{
	struct cgroup *cgroup;

	for (cgroup = task_dfl_cgroup(leader); cgroup; cgroup = cgroup_parent(cgroup))
		if (cgroup_id(cgroup) == id)
			return true;
	return false;
}

static int nudge_concerned(struct gpreempt_node *gn, void *arg)
{
	const struct entry *of = arg;
	struct gpreempt_process *process;
	struct task_struct *leader;
	bool concerned = false;

	rcu_read_lock();
	list_for_each_entry(process, &gn->processes, link) {
		leader = process->p->lead_thread;
		concerned = of->pid ? task_tgid(leader) == of->pid : gpreempt_settings_is_below(leader, of->cgroup_id);
		if (concerned)
			break;
	}
	rcu_read_unlock();
	if (concerned)
		gpreempt_core_nudge(gn);
	return 0;
}

/* A change replaces what was there, so that readers see the old or the new. */
static int change(struct pid *pid, u64 cgroup_id, gpreempt_setting_fn fn, void *arg)
{
	const struct entry of = { .pid = pid, .cgroup_id = cgroup_id };
	struct entry *old, *new;
	int r;

	new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);
	if (!new)
		return -ENOMEM;
	mutex_lock(&settings_lock);
	old = find(pid, cgroup_id);
	if (old)
		new->setting = old->setting;
	new->cgroup_id = cgroup_id;
	r = fn(&new->setting, arg);
	if (r || says_nothing(&new->setting)) {
		kfree(new);
	} else {
		new->pid = get_pid(pid);
		hash_add_rcu(table, &new->link, key_of(pid, cgroup_id));
		WRITE_ONCE(nr_entries, nr_entries + 1);
	}
	if (old && !r)
		drop_locked(old);
	mutex_unlock(&settings_lock);
	schedule_delayed_work(&drop_work, msecs_to_jiffies(DROP_MS));
	/* Only nodes that it has queues on have anything to do with it. */
	if (!r)
		gpreempt_core_find_locked(nudge_concerned, (void *)&of);
	return r;
}

/**
 * gpreempt_settings_change_process() - change what is set for a process
 * @pid: of its leader
 * @fn: makes the change, or refuses with an error code
 * @arg: passed through
 *
 * Context: no lock of the scheduler held; may sleep.
 *
 * Return: what @fn returned; -ENOMEM
 */
int gpreempt_settings_change_process(struct pid *pid, gpreempt_setting_fn fn, void *arg)
{
	return change(pid, 0, fn, arg);
}

/**
 * gpreempt_settings_change_cgroup() - change what is set for a cgroup
 * @cgroup_id: its id
 * @fn: makes the change, or refuses with an error code
 * @arg: passed through
 *
 * Context: no lock of the scheduler held; may sleep.
 *
 * Return: what @fn returned; -ENOMEM
 */
int gpreempt_settings_change_cgroup(u64 cgroup_id, gpreempt_setting_fn fn, void *arg)
{
	return change(NULL, cgroup_id, fn, arg);
}

static void get_cgroup(struct task_struct *leader, struct gpreempt_setting *setting)
{
	struct cgroup *cgroup;
	struct entry *e;

	for (cgroup = task_dfl_cgroup(leader); cgroup; cgroup = cgroup_parent(cgroup)) {
		e = find(NULL, cgroup_id(cgroup));
		if (e && e->setting.has_priority) {
			*setting = e->setting;
			return;
		}
	}
}

/**
 * gpreempt_settings_get() - what is set for a process and for the cgroups above it
 * @leader: the process's leader
 * @outside: receives it
 *
 * Context: any that may be a reader of RCU.
 */
void gpreempt_settings_get(struct task_struct *leader, struct gpreempt_outside *outside)
{
	struct pid *pid;
	struct entry *e;

	memset(outside, 0, sizeof(*outside));
	if (!READ_ONCE(nr_entries))
		return;
	rcu_read_lock();
	get_cgroup(leader, &outside->cgroup);
	/* NULL once it has been reaped. */
	pid = task_tgid(leader);
	e = pid ? find(pid, 0) : NULL;
	if (e)
		outside->process = e->setting;
	rcu_read_unlock();
}

/**
 * gpreempt_settings_apply() - let what was set from outside take the place of what the program asked KFD for
 * @outside: of the process
 * @queue: of the queue
 * @cap: what a setting of the unprivileged is worth at most
 * @priority: against other processes
 * @own_priority: against queues of the same process
 * @explicit_priority: somebody asked for the priority of this queue
 *
 * Queue outranks process, process outranks cgroup. Nobody gets around what the privileged set by setting something of higher rank: what they
 * may still do is to lower it. The same holds for a nice value, which its process cannot lower again either.
 *
 * Return: where the priority comes from
 */
enum gpreempt_source gpreempt_settings_apply(const struct gpreempt_outside *outside, const struct gpreempt_setting *queue, s32 cap,
					     s32 *priority, s32 *own_priority, bool *explicit_priority)
{
	const struct {
		const struct gpreempt_setting *setting;
		enum gpreempt_source source;
	} ranks[] = {
		{ &outside->cgroup, GPREEMPT_SOURCE_CGROUP },
		{ &outside->process, GPREEMPT_SOURCE_PROCESS },
		{ queue, GPREEMPT_SOURCE_QUEUE },
	};
	enum gpreempt_source source = GPREEMPT_SOURCE_KFD;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ranks); i++) {
		const struct gpreempt_setting *s = ranks[i].setting;

		if (!s->has_priority)
			continue;
		*priority = s->privileged ? s->priority : min(s->priority, cap);
		if (s->privileged)
			cap = s->priority;
		source = ranks[i].source;
	}
	if (queue->has_priority) {
		*own_priority = queue->priority;
		*explicit_priority = true;
	}
	return source;
}

/**
 * gpreempt_settings_exit() - forget everything
 *
 * Context: module exit; nobody changes anything any more.
 */
void gpreempt_settings_exit(void)
{
	struct hlist_node *next;
	struct entry *e;
	int bucket;

	cancel_delayed_work_sync(&drop_work);
	mutex_lock(&settings_lock);
	hash_for_each_safe(table, bucket, next, e, link)
		drop_locked(e);
	mutex_unlock(&settings_lock);
	/* The code that frees them is about to go. */
	rcu_barrier();
}
