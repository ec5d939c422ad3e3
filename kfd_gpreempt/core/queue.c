// SPDX-License-Identifier: MIT
/*
 * queue.c - which queues exist on a node
 *
 * Registers compute queues when amdkfd creates them, adopts those that were there before, and looks
 * after nice values and pointers at a slow rate.
 */
#include <linux/capability.h>
#include <linux/hashtable.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "node.h"
#include "compat/compat.h"
#include "rooms.h"
#include "kfd_device_queue_manager.h"

#define ADOPT_RETRY_MS	10
#define RENICE_MS	1000

/**
 * gpreempt_queue_adopt_after() - have gpreempt_queue_adopt() called
 * @gn: the node
 * @ms: in so many milliseconds; not while the device is suspended, when nothing of it is mapped
 *
 * Context: any.
 */
void gpreempt_queue_adopt_after(struct gpreempt_node *gn, unsigned int ms)
{
	queue_delayed_work(system_freezable_wq, &gn->queues.adopt, msecs_to_jiffies(ms));
}

static void queue_adopt_work(struct work_struct *work)
{
	struct gpreempt_node *gn =
		container_of(to_delayed_work(work), struct gpreempt_node, queues.adopt);

	if (!gpreempt_queue_adopt(gn))
		gpreempt_queue_adopt_after(gn, ADOPT_RETRY_MS);
}

/* gpreempt_lock held. Has work come of which no doorbell told, and which is to be accounted? */
static bool queue_works_unseen(const struct gpreempt_node *gn)
{
	struct gpreempt_queue *gq;
	u64 rptr, wptr, pending;

	if (!READ_ONCE(gn->tun.account))
		return false;
	list_for_each_entry(gq, &gn->queues.list, link)
		if (gpreempt_node_read(gq, &rptr, &wptr, &pending) &&
		    (rptr != gpreempt_policy_read(gq->policy.seen.rptr) || pending))
			return true;
	return false;
}

/*
 * setpriority() has no hook, and a monitor that is parked or waits for doorbells does not look. So
 * this looks for new nice values, at a rate and in a way that wakes no sleeping CPU. The same goes
 * for user pages that are replaced.
 */
static void queue_renice_work(struct work_struct *work)
{
	struct gpreempt_node *gn =
		container_of(to_delayed_work(work), struct gpreempt_node, queues.renice);
	enum gpreempt_state state = READ_ONCE(gn->monitor.state);

	mutex_lock(&gpreempt_lock);
	if ((state == GPREEMPT_STATE_PARKED || state == GPREEMPT_STATE_ARMED) &&
	    (gpreempt_priority_reniced(gn) || gpreempt_rooms_ask(moved, gn)))
		gpreempt_node_kick(gn);
	else if (state == GPREEMPT_STATE_PARKED && queue_works_unseen(gn))
		gpreempt_node_look(gn);
	gpreempt_queue_watch_nice(gn);
	if (gn->life.accepting && READ_ONCE(gn->queues.tends))
		gpreempt_queue_adopt_after(gn, 0);
	mutex_unlock(&gpreempt_lock);
	gpreempt_rooms_tell(tend, gn);
}

/**
 * gpreempt_queue_watch_nice() - look for changed nice values and cgroups from now on
 * @gn: the node
 *
 * Context: gpreempt_lock held.
 */
void gpreempt_queue_watch_nice(struct gpreempt_node *gn)
{
	if (gn->life.accepting && gn->queues.nr_processes)
		schedule_delayed_work(&gn->queues.renice, msecs_to_jiffies(RENICE_MS));
}

static struct gpreempt_process *queue_get_process(struct gpreempt_node *gn, struct kfd_process *p,
						  const struct gpreempt_setting *inherited)
{
	struct gpreempt_process *process;
	struct kfd_process_device *pdd;

	list_for_each_entry(process, &gn->queues.processes, link)
		if (process->p == p)
			goto found;

	pdd = kfd_get_process_device_data(gn->node, p);
	process = pdd ? kzalloc(gpreempt_sizes[GPREEMPT_OF_PROCESS], GFP_KERNEL) : NULL;
	if (!process)
		return NULL;
	process->gn = gn;
	rcu_read_lock();
	process->pid = get_pid(task_tgid(p->lead_thread));
	rcu_read_unlock();
	process->p = p;
	process->pdd = pdd;
	process->context = gpreempt_compat_context(p);
	gpreempt_priority_add(process, inherited);
	gpreempt_rooms_tell(process_added, process);
	list_add_tail(&process->link, &gn->queues.processes);
	hash_add_rcu(gn->queues.by_pid, &process->by_pid, (unsigned long)process->pid);
	WRITE_ONCE(gn->queues.nr_processes, gn->queues.nr_processes + 1);
	gpreempt_queue_watch_nice(gn);
found:
	process->nr_queues++;
	return process;
}

/* gpreempt_lock held. The process's last queue takes it along when it is freed. */
static void queue_unlink(struct gpreempt_queue *gq)
{
	struct gpreempt_node *gn = gq->gn;

	/* It has left the driver's lists, or the monitor is gone: it is never resumed. */
	if (gq->policy.preempted)
		atomic64_inc(&gn->stats.destroyed_preempted);
	list_del_rcu(&gq->link);
	WRITE_ONCE(gn->queues.nr, gn->queues.nr - 1);
	gpreempt_rooms_tell(queue_gone, gq);
	gpreempt_node_acted();
	if (!--gq->process->nr_queues) {
		list_del(&gq->process->link);
		hash_del_rcu(&gq->process->by_pid);
		gpreempt_rooms_tell(process_gone, gq->process);
		WRITE_ONCE(gn->queues.nr_processes, gn->queues.nr_processes - 1);
	}
	gpreempt_node_nudge(gn);
}

static void queue_free(struct gpreempt_queue *gq, bool last)
{
	gpreempt_view_drop(gq);
	if (last) {
		gpreempt_rooms_tell(process_freed, gq->process);
		put_pid(gq->process->pid);
		kfree(gq->process);
	}
	gpreempt_mqd_free_queue(gq);
	kfree(gq);
}

/* Context: p->mutex held. */
static void queue_register(const struct gpreempt_mapper *m, struct queue *q, bool trusted)
{
	struct gpreempt_node *gn = q->device->gpreempt;
	struct gpreempt_setting inherited;
	struct gpreempt_queue *gq;
	bool linked = false;

	if (q->properties.type != KFD_QUEUE_TYPE_COMPUTE || READ_ONCE(q->gpreempt))
		return;
	gq = kzalloc(gpreempt_sizes[GPREEMPT_OF_QUEUE], GFP_KERNEL);
	if (!gq) {
		gpreempt_stats_skip(gn, NULL, GPREEMPT_SKIP_NO_MEMORY);
		return;
	}
	gq->gn = gn;
	gq->q = q;
	gpreempt_backend_init_queue(gq);
	gpreempt_stats_init_queue(gq);
	gpreempt_priority_init_queue(gq);
	gpreempt_priority_asked(gq, trusted);
	/* To be shown until the monitor has derived it. */
	gq->policy.set.priority = gq->priority.kfd;
	gq->policy.priority = gq->priority.kfd;
	gq->policy.effective_priority = gq->priority.kfd;
	gpreempt_view_init_queue(gq, m);
	gpreempt_mqd_init_queue(gq, gpreempt_tunables_verify(gn));
	gpreempt_rooms_tell(init_queue, gq);
	gpreempt_priority_inherited(q->process->lead_thread, &inherited);

	mutex_lock(&gpreempt_lock);
	if (gn->life.accepting && !q->gpreempt) {
		gq->process = queue_get_process(gn, q->process, &inherited);
		if (gq->process) {
			gq->policy.process = &gq->process->policy;
			list_add_tail_rcu(&gq->link, &gn->queues.list);
			gpreempt_rooms_tell(queue_added, gq);
			WRITE_ONCE(gn->queues.nr, gn->queues.nr + 1);
			/* Pairs with the backend's smp_load_acquire(). */
			smp_store_release(&q->gpreempt, gq);
			if (!gq->view.pointers)
				gpreempt_stats_skip(gn, gq, GPREEMPT_SKIP_UNMAPPED);
			if (gpreempt_view_wants_tending(gq))
				WRITE_ONCE(gn->queues.tends, true);
			gpreempt_node_nudge(gn);
			linked = true;
		} else {
			gpreempt_stats_skip(gn, NULL, GPREEMPT_SKIP_NO_MEMORY);
		}
	}
	mutex_unlock(&gpreempt_lock);
	if (!linked)
		queue_free(gq, false);
}

/*
 * KFD takes any priority from any caller. Above normal it counts against others only with the right
 * that nice(2) asks for.
 */
static bool queue_caller_is_trusted(const struct queue *q)
{
	return q->properties.priority > GPREEMPT_PRIORITY_NORMAL && capable(CAP_SYS_NICE);
}

/**
 * __kfd_gpreempt_queue_created() - register a new queue
 * @q: the queue
 *
 * Context: p->mutex held; may sleep. Runs in the process that owns the queue.
 */
void __kfd_gpreempt_queue_created(struct queue *q)
{
	struct gpreempt_node *gn = q->device->gpreempt;
	struct gpreempt_mapper m = gpreempt_view_mapper(q);

	if (!gn || !READ_ONCE(gn->life.accepting))
		return;
	queue_register(&m, q, queue_caller_is_trusted(q));
}

/**
 * __kfd_gpreempt_queue_destroyed() - unregister a queue that is about to lose its buffers
 * @q: the queue
 *
 * Context: p->mutex held, or the process is being released; may sleep, for a grace period of the
 * readers: microseconds.
 */
void __kfd_gpreempt_queue_destroyed(struct queue *q)
{
	struct gpreempt_queue *gq;
	bool last = false;

	/*
	 * It is not registered again, so NULL stays NULL. Pairs with the release where all are
	 * unregistered: its pages are unmapped then.
	 */
	if (!smp_load_acquire(&q->gpreempt))
		return;
	mutex_lock(&gpreempt_lock);
	gq = q->gpreempt;
	if (gq) {
		queue_unlink(gq);
		last = !gq->process->nr_queues;
		WRITE_ONCE(q->gpreempt, NULL);
	}
	mutex_unlock(&gpreempt_lock);
	if (!gq)
		return;
	synchronize_srcu_expedited(&gq->gn->queues.srcu);
	mutex_lock(&gpreempt_lock);
	gpreempt_rooms_tell(queue_closed, gq, last);
	mutex_unlock(&gpreempt_lock);
	queue_free(gq, last);
}

/**
 * __kfd_gpreempt_queue_updated() - take in a queue's new priority and size, and its pointers if
 * they could not be read so far
 * @q: the queue
 *
 * Context: p->mutex held; may sleep. Runs in the process that owns the queue.
 */
void __kfd_gpreempt_queue_updated(struct queue *q)
{
	struct gpreempt_mapper m = gpreempt_view_mapper(q);
	bool trusted = queue_caller_is_trusted(q);

	mutex_lock(&gpreempt_lock);
	if (q->gpreempt) {
		gpreempt_priority_asked(q->gpreempt, trusted);
		gpreempt_view_resized(q->gpreempt);
		gpreempt_node_nudge(q->gpreempt->gn);
	}
	mutex_unlock(&gpreempt_lock);
	gpreempt_view_map_again(&m);
}

/**
 * __kfd_gpreempt_maps_again() - is a runlist due after an update that the driver refuses?
 * @dqm: the queue manager
 *
 * To a process of which a queue was reset the driver refuses UPDATE_QUEUE after it has taken all
 * queues of all processes off, and it leaves them off. In a loop that would keep everything off the
 * device, whatever its priority.
 *
 * Context: dqm_lock held.
 *
 * Return: true if it is
 */
bool __kfd_gpreempt_maps_again(const struct device_queue_manager *dqm)
{
	const struct gpreempt_node *gn = dqm->dev->gpreempt;

	return gn && gn->backend == &gpreempt_backend_hws;
}

/* p->mutex held. */
static void queue_adopt_process(struct gpreempt_node *gn, struct kfd_process *p,
				struct mm_struct *mm)
{
	struct process_queue_node *pqn;

	list_for_each_entry(pqn, &p->pqm.queues, process_queue_list) {
		struct queue *q = pqn->q;
		struct gpreempt_mapper m = { .gn = gn, .q = q, .mm = mm };
		bool trusted;

		if (!q || q->device != gn->node)
			continue;
		/*
		 * The caller that set the priority is not known any more: the owner's rights now
		 * stand for its own.
		 */
		trusted = q->properties.priority > GPREEMPT_PRIORITY_NORMAL &&
			  gpreempt_compat_has_capability(p->lead_thread, CAP_SYS_NICE);
		queue_register(&m, q, trusted);
		gpreempt_view_tend(&m);
	}
}

/* Take references to all processes. Returns how many, or a negative error code. */
static int queue_get_processes(struct kfd_process ***processes)
{
	struct kfd_process *p;
	int idx, bucket, max = 0, n = 0;

	*processes = NULL;
	idx = srcu_read_lock(&kfd_processes_srcu);
	hash_for_each_rcu(kfd_processes_table, bucket, p, kfd_processes)
		max++;
	if (max)
		*processes = kvmalloc_array(max, sizeof(**processes), GFP_KERNEL);
	if (*processes) {
		/* One that is added between the two walks has seen the key: its hook registers. */
		hash_for_each_rcu(kfd_processes_table, bucket, p, kfd_processes)
			if (n < max && kref_get_unless_zero(&p->ref))
				(*processes)[n++] = p;
	}
	srcu_read_unlock(&kfd_processes_srcu, idx);
	return max && !*processes ? -ENOMEM : n;
}

/*
 * The mm of the process, kept; NULL if it is gone: the thread that opened /dev/kfd may have ended,
 * or have executed another program.
 */
static struct mm_struct *queue_get_mm(const struct kfd_process *p)
{
	struct mm_struct *mm = get_task_mm(p->lead_thread);

	if (mm && mm != READ_ONCE(p->mm)) {
		mmput(mm);
		mm = NULL;
	}
	return mm;
}

/**
 * gpreempt_queue_adopt() - register the queues that existed before switching on, and look after the
 * pointers of those that are registered
 * @gn: the node
 *
 * Takes p->mutex of each process by trylock only: a process may hold it while it waits for
 * something that waits for us.
 *
 * Context: work item; no lock held; may sleep.
 *
 * Return: true if every process was looked at; false: try again later
 */
bool gpreempt_queue_adopt(struct gpreempt_node *gn)
{
	struct kfd_process **processes;
	bool complete = true;
	int i, n;

	/* A queue that needs it asks again. */
	WRITE_ONCE(gn->queues.tends, false);
	n = queue_get_processes(&processes);
	if (n < 0)
		return false;
	for (i = 0; i < n; i++) {
		struct kfd_process *p = processes[i];
		struct mm_struct *mm = queue_get_mm(p);

		if (mutex_trylock(&p->mutex)) {
			queue_adopt_process(gn, p, mm);
			mutex_unlock(&p->mutex);
		} else {
			complete = false;
		}
		/*
		 * Last, and without the lock: it may be the end of the mm, and KFD's notifier with
		 * it.
		 */
		if (mm)
			mmput(mm);
		kfd_unref_process(p);
	}
	kvfree(processes);
	return complete;
}

/**
 * gpreempt_queue_unregister_all() - unregister every queue of a node
 * @gn: the node; its monitor has stopped, nothing is registered any more
 *
 * Context: gpreempt_lifecycle held; may sleep.
 */
void gpreempt_queue_unregister_all(struct gpreempt_node *gn)
{
	struct gpreempt_queue *gq;
	bool last;

	do {
		mutex_lock(&gpreempt_lock);
		gq = list_first_entry_or_null(&gn->queues.list, struct gpreempt_queue, link);
		if (gq) {
			queue_unlink(gq);
			last = !gq->process->nr_queues;
			synchronize_srcu_expedited(&gn->queues.srcu);
			/*
			 * Unmap first: a hook that finds q->gpreempt empty goes on to release the
			 * buffers.
			 */
			gpreempt_view_drop(gq);
			/* Hooks under dqm_lock have finished with it after this. */
			dqm_lock(gn->node->dqm);
			/* Pairs with the acquire where one is unregistered. */
			smp_store_release(&gq->q->gpreempt, NULL);
			dqm_unlock(gn->node->dqm);
			gpreempt_rooms_tell(queue_closed, gq, last);
			queue_free(gq, last);
		}
		mutex_unlock(&gpreempt_lock);
	} while (gq);
}

/**
 * gpreempt_queue_init_node() - no queue exists on a node yet
 * @gn: the node, new
 *
 * Context: may sleep.
 *
 * Return: 0 or -ENOMEM
 */
int gpreempt_queue_init_node(struct gpreempt_node *gn)
{
	INIT_LIST_HEAD(&gn->queues.list);
	INIT_LIST_HEAD(&gn->queues.processes);
	hash_init(gn->queues.by_pid);
	INIT_DELAYED_WORK(&gn->queues.adopt, queue_adopt_work);
	INIT_DEFERRABLE_WORK(&gn->queues.renice, queue_renice_work);
	return init_srcu_struct(&gn->queues.srcu);
}

/**
 * gpreempt_queue_stop() - end the work items of a node
 * @gn: the node; it accepts no queue any more
 *
 * Context: gpreempt_lifecycle held; may sleep.
 */
void gpreempt_queue_stop(struct gpreempt_node *gn)
{
	cancel_delayed_work_sync(&gn->queues.renice);
	cancel_delayed_work_sync(&gn->queues.adopt);
}

/**
 * gpreempt_queue_free_node() - undo gpreempt_queue_init_node()
 * @gn: the node; no queue is registered on it, and no reader is left
 *
 * Context: may sleep.
 */
void gpreempt_queue_free_node(struct gpreempt_node *gn)
{
	cleanup_srcu_struct(&gn->queues.srcu);
}
