// SPDX-License-Identifier: MIT
/*
 * usage.c - who has used how much of a node, those that have ended included
 *
 * Each queue has an account (account.c). Here they are summed up by process, cgroup, job and node.
 * What a queue has used goes into these sums when it ends. Until then a reader adds it. So nothing
 * is lost, and no sum ever becomes less. The sum of a job is without what its processes used before
 * they came, and with what those used that have left: both are put in when that happens.
 *
 * Cgroups and jobs without a process are remembered up to a bound, of each user and altogether.
 * Beyond it a user's oldest one is added to the user's rest, a sum without a number. So what is
 * told of all cgroups together is what is told of the node.
 */
#include <linux/capability.h>
#include <linux/cgroup.h>
#include <linux/cred.h>
#include <linux/kobject.h>
#include <linux/ktime.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <linux/uidgid.h>

#include "core/node.h"
#include "core/rooms.h"
#include "account.h"
#include "usage.h"

/**
 * struct usage_user - for whom a node remembers entries: a user, or one of its containers
 * @of: of a container, its user; NULL: a user
 * @uid: the user
 * @container: the pid namespace right below the first; NULL: a user. It is compared only: one that
 *	comes later may have its address, and then goes on in its place
 * @tenant: of a user: the policy's; the monitor's alone
 * @nr_entries: those that say so, and containers
 * @nr_ended: those of them without a process, the rest not counted, and those of its containers
 */
struct usage_user {
	struct usage_user *of;
	kuid_t uid;
	struct gpreempt_policy_tenant tenant;
	const struct pid_namespace *container;
	u32 nr_entries;
	u32 nr_ended;
};

/**
 * struct gpreempt_usage_entry - a process, a job or a cgroup on a node, or a user's rest
 * @link: in &gpreempt_node_usage.entries: of those without a process the oldest comes first
 * @kind: &enum gpreempt_usage_kind
 * @id: of the cgroup or the job; of a process, of its cgroup; 0: the rest of its user
 * @job: of a process: the id of its job
 * @user: whose process came first, with its container; of a rest, the user alone
 * @owner: of a job, who has set it, with a reference to the namespace. Its namespace is NULL if
 *	CAP_SYS_ADMIN did: only those who see all are told
 * @pid: the process, referenced; NULL: it is none
 * @nr_processes: processes that have queues now
 * @ended: what queues that have ended have used
 * @told: the most that a reader was told
 * @now: scratch of a reader: with those that there are
 */
struct gpreempt_usage_entry {
	struct list_head link;
	u32 kind;
	u64 id;
	u64 job;
	struct usage_user *user;
	struct gpreempt_viewer owner;
	struct pid *pid;
	u32 nr_processes;
	struct gpreempt_queue_usage ended;
	struct gpreempt_queue_usage told;
	struct gpreempt_queue_usage now;
};

/*
 * Readers of what was used take gpreempt_lock for a node at a time, and one after the other: a new
 * queue waits for one of them at most, however many there are. Taken before gpreempt_lock.
 */
static DEFINE_MUTEX(usage_readers);

static void usage_read_lock(void)
{
	mutex_lock(&usage_readers);
	mutex_lock(&gpreempt_lock);
}

static void usage_read_unlock(void)
{
	mutex_unlock(&gpreempt_lock);
	mutex_unlock(&usage_readers);
}

GPREEMPT_PART(usage_node, struct gpreempt_node, struct gpreempt_node_usage)
GPREEMPT_PART(usage_process, struct gpreempt_process, struct gpreempt_process_usage)
/* Of what a queue has used, what is in sums already; under gpreempt_lock */
GPREEMPT_PART(usage_taken, struct gpreempt_queue, struct gpreempt_queue_usage)

static void usage_add(struct gpreempt_queue_usage *sum, const struct gpreempt_queue_usage *usage)
{
	sum->busy_ns += usage->busy_ns;
	sum->waiting_ns += usage->waiting_ns;
	sum->preempted_ns += usage->preempted_ns;
	sum->wave_us += usage->wave_us;
}

/**
 * gpreempt_usage_of() - what has a queue used so far?
 * @gq: the queue
 * @usage: receives it
 *
 * Context: gpreempt_lock or srcu of its node held.
 */
void gpreempt_usage_of(const struct gpreempt_queue *gq, struct gpreempt_queue_usage *usage)
{
	const struct gpreempt_account *a = &gq->policy.time;

	*usage = (struct gpreempt_queue_usage){
		.busy_ns = gpreempt_policy_read(a->busy_ns),
		.waiting_ns = gpreempt_policy_read(a->waiting_ns),
		.preempted_ns = gpreempt_stats_preempted_ns(gq),
		.wave_us = gpreempt_policy_read(a->wave_us),
	};
}

static void usage_sub(struct gpreempt_queue_usage *sum, const struct gpreempt_queue_usage *usage)
{
	sum->busy_ns -= usage->busy_ns;
	sum->waiting_ns -= usage->waiting_ns;
	sum->preempted_ns -= usage->preempted_ns;
	sum->wave_us -= usage->wave_us;
}

/* It has used more, which belongs to the sums from now on. */
static void usage_take(struct gpreempt_queue *gq)
{
	struct gpreempt_usage_entry **of = usage_process(gq->process)->of;
	struct gpreempt_queue_usage left;
	u32 i;

	lockdep_assert_held(&gpreempt_lock);
	gpreempt_usage_of(gq, &left);
	usage_sub(&left, usage_taken(gq));
	usage_add(usage_taken(gq), &left);
	/* All others are in the sum of a cgroup. */
	if (!of[GPREEMPT_SUM_CGROUP])
		usage_add(&usage_node(gq->gn)->ended, &left);
	for (i = 0; i < GPREEMPT_SUMS; i++)
		if (of[i])
			usage_add(&of[i]->ended, &left);
}

static bool usage_is_rest(const struct gpreempt_usage_entry *e)
{
	return !e->pid && !e->id;
}

static bool usage_has_ended(const struct gpreempt_usage_entry *e)
{
	return !e->nr_processes && !usage_is_rest(e);
}

/* Around each change of what an entry is: -1 before, 1 after */
static void usage_count(struct gpreempt_node *gn, const struct gpreempt_usage_entry *e, int by)
{
	struct usage_user *user;

	if (usage_is_rest(e)) {
		usage_node(gn)->nr_rests += by;
	} else if (!e->nr_processes) {
		usage_node(gn)->nr_ended += by;
		for (user = e->user; user; user = user->of)
			user->nr_ended += by;
	}
}

static void usage_put_user(struct usage_user *user)
{
	struct usage_user *of;

	for (; user && !--user->nr_entries; user = of) {
		of = user->of;
		kfree(user);
	}
}

static struct usage_user *usage_user_of(const struct gpreempt_usage_entry *e)
{
	return e->user->of ?: e->user;
}

static void usage_put_owner(struct gpreempt_usage_entry *e)
{
	if (e->owner.ns)
		put_pid_ns(e->owner.ns);
	e->owner.ns = NULL;
}

static void usage_free(struct gpreempt_node *gn, struct gpreempt_usage_entry *e)
{
	usage_count(gn, e, -1);
	list_del(&e->link);
	usage_put_user(e->user);
	usage_put_owner(e);
	put_pid(e->pid);
	kfree(e);
}

static bool usage_is_dead(const struct gpreempt_usage_entry *e)
{
	bool dead;

	rcu_read_lock();
	dead = e->pid && !pid_task(e->pid, PIDTYPE_TGID);
	rcu_read_unlock();
	return dead;
}

/*
 * The user, or its container, of which there is an entry more. It takes the reference to @of also
 * when there is no memory, which NULL says.
 */
static struct usage_user *usage_get_user(struct gpreempt_node *gn, struct usage_user *of,
					 kuid_t uid, const struct pid_namespace *container)
{
	struct gpreempt_usage_entry *e;
	struct usage_user *user;

	list_for_each_entry(e, &usage_node(gn)->entries, link) {
		user = of ? e->user : usage_user_of(e);
		if (user->of != of || user->container != container || !uid_eq(user->uid, uid))
			continue;
		user->nr_entries++;
		usage_put_user(of);
		return user;
	}
	user = kzalloc(sizeof(*user), GFP_KERNEL);
	if (!user) {
		usage_put_user(of);
		return NULL;
	}
	user->of = of;
	user->uid = uid;
	user->container = container;
	user->nr_entries = 1;
	return user;
}

/*
 * A process counts for its user, and there for its container, so that containers of one user do not
 * push out each other's. Namespaces below do not make a container more than one.
 */
static struct usage_user *usage_get_user_of(const struct gpreempt_process *process)
{
	const struct pid_namespace *ns = ns_of_pid(process->pid);
	kuid_t uid = gpreempt_viewer_user_of(process->p->lead_thread);
	struct usage_user *user = usage_get_user(process->gn, NULL, uid, NULL);

	while (ns && ns->parent && ns->parent->parent)
		ns = ns->parent;
	return user && ns ? usage_get_user(process->gn, user, uid, ns) : user;
}

/*
 * Add it to the rest of a user, whose reference it takes. The first one becomes that: so what ends
 * is never lost for want of memory.
 */
static void usage_fold(struct gpreempt_node *gn, struct gpreempt_usage_entry *e,
		       struct usage_user *user)
{
	struct gpreempt_usage_entry *rest;

	list_for_each_entry(rest, &usage_node(gn)->entries, link)
		if (usage_is_rest(rest) && rest->kind == e->kind && rest->user == user) {
			usage_put_user(user);
			usage_add(&rest->ended, &e->ended);
			usage_add(&rest->told, &e->told);
			usage_free(gn, e);
			goto last;
		}
	rest = e;
	usage_count(gn, rest, -1);
	usage_put_user(rest->user);
	rest->user = user;
	rest->id = 0;
	/* It may be of an administrator's jobs. */
	usage_put_owner(rest);
	usage_count(gn, rest, 1);
last:
	list_move_tail(&rest->link, &usage_node(gn)->entries);
}

/* The oldest one of the container with most, of the user with most. NULL: no user has too many. */
static struct gpreempt_usage_entry *usage_surplus(struct gpreempt_node *gn)
{
	struct gpreempt_usage_entry *e, *most = NULL;
	const struct usage_user *user = NULL;

	/* No user has more than all together. */
	if (usage_node(gn)->nr_ended <= GPREEMPT_USAGE_ENDED_OF_USER_MAX)
		return NULL;
	list_for_each_entry(e, &usage_node(gn)->entries, link)
		if (!user || usage_user_of(e)->nr_ended > user->nr_ended)
			user = usage_user_of(e);
	if (usage_node(gn)->nr_ended <= GPREEMPT_USAGE_ENDED_MAX &&
	    user->nr_ended <= GPREEMPT_USAGE_ENDED_OF_USER_MAX)
		return NULL;
	list_for_each_entry(e, &usage_node(gn)->entries, link)
		if (usage_has_ended(e) && usage_user_of(e) == user &&
		    (!most || e->user->nr_ended > most->user->nr_ended))
			most = e;
	return most;
}

static struct gpreempt_usage_entry *usage_oldest_rest(struct gpreempt_node *gn)
{
	struct gpreempt_usage_entry *e;

	list_for_each_entry(e, &usage_node(gn)->entries, link)
		if (usage_is_rest(e) && uid_valid(e->user->uid))
			return e;
	return NULL;
}

static void usage_forget(struct gpreempt_node *gn)
{
	struct gpreempt_usage_entry *e, *next;

	/* Programs that are gone are in the sums of their jobs and cgroups. */
	list_for_each_entry_safe(e, next, &usage_node(gn)->entries, link)
		if (!e->nr_processes && usage_is_dead(e))
			usage_free(gn, e);
	while ((e = usage_surplus(gn))) {
		if (e->pid) {
			usage_free(gn, e);
			continue;
		}
		usage_user_of(e)->nr_entries++;
		usage_fold(gn, e, usage_user_of(e));
	}
}

/* Of too many users the rests are one, that of no user. May sleep. */
static void usage_forget_users(struct gpreempt_node *gn)
{
	struct gpreempt_usage_entry *e;
	struct usage_user *unknown;

	while (usage_node(gn)->nr_rests > GPREEMPT_USAGE_RESTS_MAX) {
		e = usage_oldest_rest(gn);
		unknown = e ? usage_get_user(gn, NULL, INVALID_UID, NULL) : NULL;
		if (!unknown)
			return;
		usage_fold(gn, e, unknown);
	}
}

static bool usage_is(const struct gpreempt_usage_entry *e, const struct gpreempt_usage_entry *other)
{
	return e->kind == other->kind && e->pid == other->pid &&
	       (e->kind == GPREEMPT_USAGE_PROCESS || e->id == other->id) &&
	       e->owner.ns == other->owner.ns && uid_eq(e->owner.uid, other->owner.uid);
}

/* The entry that is like this one, with a process more. NULL: no memory. */
static struct gpreempt_usage_entry *usage_get(struct gpreempt_process *process,
					      const struct gpreempt_usage_entry *like)
{
	struct gpreempt_node *gn = process->gn;
	struct gpreempt_usage_entry *e;

	list_for_each_entry(e, &usage_node(gn)->entries, link)
		if (usage_is(e, like))
			goto found;
	e = kzalloc(sizeof(*e), GFP_KERNEL);
	if (!e)
		goto no_memory;
	*e = *like;
	e->user = usage_get_user_of(process);
	if (!e->user)
		goto free_entry;
	get_pid(e->pid);
	if (e->owner.ns)
		get_pid_ns(e->owner.ns);
	list_add_tail(&e->link, &usage_node(gn)->entries);
	usage_count(gn, e, 1);
found:
	usage_count(gn, e, -1);
	e->nr_processes++;
	return e;

free_entry:
	kfree(e);
no_memory:
	gpreempt_stats_skip(gn, NULL, GPREEMPT_SKIP_NO_MEMORY);
	return NULL;
}

static void usage_put(struct gpreempt_node *gn, struct gpreempt_usage_entry *e)
{
	if (!e || --e->nr_processes)
		return;
	usage_count(gn, e, 1);
	list_move_tail(&e->link, &usage_node(gn)->entries);
}

/**
 * gpreempt_usage_join() - a process has come to a node
 * @process: the process
 *
 * Context: gpreempt_lock held; may sleep.
 */
void gpreempt_usage_join(struct gpreempt_process *process)
{
	struct task_struct *leader = process->p->lead_thread;
	struct gpreempt_usage_entry like = { .kind = GPREEMPT_USAGE_CGROUP }, *sum = NULL;

	lockdep_assert_held(&gpreempt_lock);
	rcu_read_lock();
	like.id = cgroup_id(task_dfl_cgroup(leader));
	rcu_read_unlock();
	usage_process(process)->of[GPREEMPT_SUM_CGROUP] = usage_get(process, &like);
	like.kind = GPREEMPT_USAGE_PROCESS;
	like.pid = process->pid;
	/* What was reaped before has no sum of its own: it was adopted. */
	if (like.pid)
		sum = usage_get(process, &like);
	usage_process(process)->of[GPREEMPT_SUM_PROCESS] = sum;
	/* The user's stays as long as its entry does, and that as long as the process. */
	if (sum)
		process->policy.user = &(sum->user->of ?: sum->user)->tenant;
	usage_forget(process->gn);
	usage_forget_users(process->gn);
}

typedef void (*usage_fn)(struct gpreempt_queue_usage *sum,
			 const struct gpreempt_queue_usage *usage);

/* Of the queues that a process has now */
static void usage_of_process(const struct gpreempt_process *process, usage_fn fn,
			     struct gpreempt_queue_usage *sum)
{
	struct gpreempt_queue_usage usage;
	struct gpreempt_queue *gq;

	list_for_each_entry(gq, &process->gn->queues.list, link) {
		if (gq->process != process)
			continue;
		gpreempt_usage_of(gq, &usage);
		fn(sum, &usage);
	}
}

/* A process has come to a job, or has left it: NULL */
static void usage_job(struct gpreempt_process *process, const struct gpreempt_membership *as)
{
	struct gpreempt_usage_entry **of = usage_process(process)->of, **job = &of[GPREEMPT_SUM_JOB], like;
	struct gpreempt_node *gn = process->gn;

	lockdep_assert_held(&gpreempt_lock);
	/* What it has used so far belongs to where it was. */
	if (*job)
		usage_of_process(process, usage_add, &(*job)->ended);
	usage_put(gn, *job);
	*job = NULL;
	usage_forget(gn);
	if (of[GPREEMPT_SUM_PROCESS])
		of[GPREEMPT_SUM_PROCESS]->job = as ? as->id : 0;
	if (!as)
		return;
	like = (struct gpreempt_usage_entry){
		.kind = GPREEMPT_USAGE_JOB,
		.id = as->id,
		.owner = { .ns = as->ns, .uid = as->owner },
	};
	*job = usage_get(process, &like);
	/* With what its queues go on to use the sum is above zero again. */
	if (*job)
		usage_of_process(process, usage_sub, &(*job)->ended);
}

/**
 * gpreempt_usage_leave() - a process has no queue on a node any more
 * @process: the process, whose last queue has been taken in
 *
 * Context: gpreempt_lock held.
 */
void gpreempt_usage_leave(struct gpreempt_process *process)
{
	u32 i;

	lockdep_assert_held(&gpreempt_lock);
	for (i = 0; i < GPREEMPT_SUMS; i++)
		usage_put(process->gn, usage_process(process)->of[i]);
	usage_forget(process->gn);
}

/*
 * Others' usage is the administrator's to see, and so is what tells of others: nodes, cgroups, and
 * jobs that the administrator has set.
 */
static bool usage_may_see(const struct gpreempt_usage_list *list,
			  const struct gpreempt_usage_entry *e)
{
	const struct gpreempt_viewer *viewer = list->viewer;
	struct task_struct *leader;
	bool may;

	if (!e->pid)
		return viewer->sees_all || gpreempt_viewer_sees(viewer, e->owner.ns, e->owner.uid);
	rcu_read_lock();
	leader = pid_task(e->pid, PIDTYPE_TGID);
	may = leader && gpreempt_viewer_sees_process(viewer, leader);
	rcu_read_unlock();
	return may;
}

static struct gpreempt_usage_info *usage_next(struct gpreempt_usage_list *list,
					      const struct gpreempt_node *gn, u32 kind,
					      const struct gpreempt_queue_usage *usage)
{
	struct gpreempt_usage_info *info;

	if (list->nr++ >= list->max)
		return NULL;
	info = &list->entries[list->nr - 1];
	info->kind = kind;
	info->gpu_id = gn->node->id;
	info->usage = *usage;
	return info;
}

static void usage_tell(struct gpreempt_usage_list *list, const struct gpreempt_node *gn,
		       const struct gpreempt_usage_entry *e)
{
	struct gpreempt_usage_info *info;

	if (!(list->kinds & 1U << e->kind) || !usage_may_see(list, e))
		return;
	info = usage_next(list, gn, e->kind, &e->now);
	if (!info)
		return;
	info->nr_processes = e->nr_processes;
	if (usage_is_rest(e))
		info->uid = from_kuid(&init_user_ns, e->user->uid);
	if (e->kind == GPREEMPT_USAGE_JOB)
		info->job = e->id;
	else
		info->cgroup = e->id;
	if (!e->pid)
		return;
	info->pid = pid_nr_ns(e->pid, list->viewer->ns);
	info->job = e->job;
}

/*
 * A queue that ends may take back what it counted too much. Sums that were told do not become less:
 * they stay until they are reached again.
 */
static void usage_keep(struct gpreempt_usage_entry *e, struct gpreempt_queue_usage *now)
{
	if ((s64)(now->busy_ns - e->told.busy_ns) < 0)
		now->busy_ns = e->told.busy_ns;
	if ((s64)(now->waiting_ns - e->told.waiting_ns) < 0)
		now->waiting_ns = e->told.waiting_ns;
	e->told = *now;
}

/* What queues that there are have used is added to the sums. */
static void usage_sum_up(struct gpreempt_node *gn, struct gpreempt_queue_usage *node)
{
	struct gpreempt_usage_entry *e;
	struct gpreempt_queue *gq;

	*node = usage_node(gn)->ended;
	list_for_each_entry(e, &usage_node(gn)->entries, link)
		e->now = e->ended;
	list_for_each_entry(gq, &gn->queues.list, link) {
		struct gpreempt_usage_entry **of = usage_process(gq->process)->of;
		struct gpreempt_queue_usage usage;
		u32 i;

		gpreempt_usage_of(gq, &usage);
		if (!of[GPREEMPT_SUM_CGROUP])
			usage_add(node, &usage);
		for (i = 0; i < GPREEMPT_SUMS; i++)
			if (of[i])
				usage_add(&of[i]->now, &usage);
	}
	list_for_each_entry(e, &usage_node(gn)->entries, link) {
		usage_keep(e, &e->now);
		if (e->kind == GPREEMPT_USAGE_CGROUP)
			usage_add(node, &e->now);
	}
}

/**
 * gpreempt_usage_list_node() - tell what has been used of a node
 * @gn: the node
 * @arg: struct gpreempt_usage_list
 *
 * Context: gpreempt_lock not held; may sleep.
 *
 * Return: 0
 */
int gpreempt_usage_list_node(struct gpreempt_node *gn, void *arg)
{
	struct gpreempt_usage_list *list = arg;
	struct gpreempt_queue_usage node;
	struct gpreempt_usage_entry *e;
	struct gpreempt_usage_info *info;

	if (list->gpu_id && list->gpu_id != gn->node->id)
		return 0;
	usage_read_lock();
	usage_sum_up(gn, &node);
	if (list->viewer->sees_all && list->kinds & 1U << GPREEMPT_USAGE_NODE) {
		info = usage_next(list, gn, GPREEMPT_USAGE_NODE, &node);
		if (info) {
			info->nr_processes = gn->queues.nr_processes;
			info->used_ns = gpreempt_policy_read(gn->policy.account.any.busy_ns);
		}
	}
	list_for_each_entry(e, &usage_node(gn)->entries, link)
		usage_tell(list, gn, e);
	usage_read_unlock();
	return 0;
}

static void usage_of_entry(const struct gpreempt_node *gn, struct gpreempt_usage_entry *e,
			   struct gpreempt_queue_usage *usage)
{
	struct gpreempt_queue_usage now;
	struct gpreempt_queue *gq;

	*usage = e->ended;
	list_for_each_entry(gq, &gn->queues.list, link) {
		if (usage_process(gq->process)->of[GPREEMPT_SUM_PROCESS] != e)
			continue;
		gpreempt_usage_of(gq, &now);
		usage_add(usage, &now);
	}
	usage_keep(e, usage);
}

/**
 * gpreempt_usage_of_program() - what has a program used of a node?
 * @gn: the node
 * @pid: the program
 * @usage: receives it
 *
 * Context: gpreempt_lock not held; may sleep.
 *
 * Return: false: it has made no queue there
 */
bool gpreempt_usage_of_program(struct gpreempt_node *gn, const struct pid *pid,
			       struct gpreempt_queue_usage *usage)
{
	struct gpreempt_usage_entry *e;
	bool found = false;

	usage_read_lock();
	list_for_each_entry(e, &usage_node(gn)->entries, link) {
		found = e->pid && e->pid == pid;
		if (found)
			break;
	}
	if (found)
		usage_of_entry(gn, e, usage);
	usage_read_unlock();
	return found;
}

static void usage_init_node(struct gpreempt_node *gn)
{
	INIT_LIST_HEAD(&usage_node(gn)->entries);
	gn->policy.account.random = get_random_u32;
}

static void usage_free_node(struct gpreempt_node *gn)
{
	struct gpreempt_usage_entry *e, *next;

	list_for_each_entry_safe(e, next, &usage_node(gn)->entries, link)
		usage_free(gn, e);
}

static void usage_init_queue(struct gpreempt_queue *gq)
{
	gpreempt_account_begin(&gq->policy, ktime_get_ns());
}

/* A pass may have added to its account since it was taken off the list. */
static void usage_close(struct gpreempt_queue *gq, bool last)
{
	gpreempt_account_end(&gq->policy, ktime_get_ns());
	usage_take(gq);
	if (last)
		gpreempt_usage_leave(gq->process);
}

/**
 * struct usage_attribute - a file that shows what has been used of the node
 * @attr: the file
 * @offset: of the sum, in struct gpreempt_queue_usage; beyond it: time for which some queue ran
 */
struct usage_attribute {
	struct kobj_attribute attr;
	size_t offset;
};

static ssize_t usage_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	size_t offset = container_of(attr, struct usage_attribute, attr)->offset;
	struct gpreempt_node *gn = gpreempt_node_of(kobj);
	struct gpreempt_queue_usage usage;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	usage_read_lock();
	usage_sum_up(gn, &usage);
	usage_read_unlock();
	return sysfs_emit(buf, "%llu\n", offset < sizeof(usage) ?
			  *(const u64 *)((const void *)&usage + offset) :
			  gpreempt_policy_read(gn->policy.account.any.busy_ns));
}

#define USAGE_AT(_name, _offset)						\
	static struct usage_attribute usage_##_name = {				\
		.attr = __ATTR(_name, 0400, usage_show, NULL),			\
		.offset = _offset,						\
	}
#define USAGE(_name) USAGE_AT(_name, offsetof(struct gpreempt_queue_usage, _name))
USAGE(busy_ns);
USAGE(waiting_ns);
USAGE(preempted_ns);
USAGE(wave_us);
USAGE_AT(used_ns, sizeof(struct gpreempt_queue_usage));

static struct attribute *usage_attrs[] = {
	&usage_busy_ns.attr.attr,
	&usage_waiting_ns.attr.attr,
	&usage_preempted_ns.attr.attr,
	&usage_wave_us.attr.attr,
	&usage_used_ns.attr.attr,
	NULL
};

static const struct attribute_group usage_files = {
	.name = "usage",
	.attrs = usage_attrs,
};

const struct gpreempt_room gpreempt_room_usage = {
	.init_node = usage_init_node,
	.free_node = usage_free_node,
	.init_queue = usage_init_queue,
	.process_added = gpreempt_usage_join,
	.joined = usage_job,
	.queue_gone = usage_take,
	.queue_closed = usage_close,
	.files = &usage_files,
	.parts = {
		[GPREEMPT_OF_NODE] = &usage_node_part,
		[GPREEMPT_OF_PROCESS] = &usage_process_part,
		[GPREEMPT_OF_QUEUE] = &usage_taken_part,
	},
};
