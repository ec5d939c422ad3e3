/* SPDX-License-Identifier: MIT */
/*
 * node.h - what the rooms of the scheduler share: nodes, processes and queues
 *
 * Each room keeps its own part of these objects in a struct that its header declares, and writes it
 * alone. Those of layers are behind the objects: see rooms.h.
 *
 * Lock order: p->mutex > gpreempt_lock > { BO reservation, dqm_lock }. Everything that starts and
 * stops monitors holds gpreempt_lifecycle (node.c), which is outermost and never taken by a hook
 * that runs under p->mutex. The monitor reads the list of queues under its node's srcu and holds
 * its own pass_lock during a pass: pass_lock > dqm_lock > srcu > the index locks of the graphics
 * engine, and nothing else that sleeps. see_lock is for readers that decide nothing, and taken
 * before srcu. The mutexes of event.c, group.c and priority.c are taken with none of these held,
 * that of usage.c before gpreempt_lock. Spinlocks are innermost.
 *
 * A suspend or a reset takes pass_lock, and waits for what may be waited for under it: dqm_lock and
 * the device. So under pass_lock nothing is allocated, no page table is changed (MMU notifiers of
 * programs), and gpreempt_lock is not taken, because its holders do both. Only the end of a monitor
 * waits for the monitor, and without a lock that a reset needs. The end of a queue waits for srcu,
 * under which nothing sleeps but on the index locks of the graphics engine.
 */
#ifndef GPREEMPT_NODE_H
#define GPREEMPT_NODE_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>

#include "kfd_priv.h"
#include "backend.h"
#include "life.h"
#include "monitor.h"
#include "mqd.h"
#include "policy.h"
#include "priority.h"
#include "queue.h"
#include "stats.h"
#include "sysfs.h"
#include "tunables.h"
#include "view.h"
#include "waves.h"

extern struct mutex gpreempt_lock;
extern struct mutex gpreempt_lifecycle;
/* Changed under gpreempt_lifecycle and gpreempt_lock: either is enough to walk it. */
extern struct list_head gpreempt_nodes;
extern wait_queue_head_t gpreempt_acted;

/**
 * struct gpreempt_process - a process on one node; lives as long as it has registered queues
 */
struct gpreempt_process {
	/** @link: in &gpreempt_node.processes, under gpreempt_lock */
	struct list_head link;
	/** @by_pid: in the table of that name in &gpreempt_node.queues, by @pid */
	struct hlist_node by_pid;
	/** @gn: the node */
	struct gpreempt_node *gn;
	/**
	 * @pid: its struct pid, referenced: keeps its pid namespaces; NULL: it had been reaped when
	 * its first queue was adopted
	 */
	struct pid *pid;
	/** @p: the process; valid as long as one of its queues is registered */
	struct kfd_process *p;
	/** @pdd: its side on the node; same lifetime */
	struct kfd_process_device *pdd;
	/**
	 * @context: 1: the program's first process of KFD's; from 2 on its contexts, which have its
	 * PID
	 */
	u16 context;
	/** @nr_queues: their number, under gpreempt_lock */
	u32 nr_queues;
	/** @derived_ns: the pass that last derived what layers know of it; the monitor's alone */
	u64 derived_ns;
	/** @stopped: it is stopped or frozen, and has to leave the device; the monitor's alone */
	bool stopped;
	/** @idle: it is idle, and has to leave a device that is too small; the monitor's alone */
	bool idle;
	/** @job: id of its job; 0: it is in none. Written under gpreempt_lock */
	u64 job;
	/** @privileged_job: the same, if the administrator has set it */
	u64 privileged_job;
	/** @policy: for the policy; the monitor's alone */
	struct gpreempt_policy_process policy;
	/** @priority: priority.c */
	struct gpreempt_process_priority priority;
};

/**
 * struct gpreempt_queue - a registered compute queue
 */
struct gpreempt_queue {
	/**
	 * @link: in &gpreempt_node.queues; added and removed under gpreempt_lock, read under
	 * &gpreempt_node.srcu
	 */
	struct list_head link;
	/** @gn: its node */
	struct gpreempt_node *gn;
	/**
	 * @q: the driver's queue; valid as long as this is on the list, and until the grace period
	 * after
	 */
	struct queue *q;
	/** @process: owner */
	struct gpreempt_process *process;
	/** @sibling: in its list of queues */
	struct list_head sibling;
	/** @policy: what the policy knows; the monitor's alone */
	struct gpreempt_policy_queue policy;
	/**
	 * @expected_until_ns: its work was announced, for so long; 0: it was not. By the last
	 * caller
	 */
	u64 expected_until_ns;
	/**
	 * @hint_closed_ns: the last @expected_until_ns of which it is known whether the work came;
	 * the monitor's alone
	 */
	u64 hint_closed_ns;
	/** @priority: priority.c */
	struct gpreempt_queue_priority priority;
	/** @view: view.c */
	struct gpreempt_queue_view view;
	/** @account: stats.c */
	struct gpreempt_queue_account account;
	/** @waves: waves.c */
	struct gpreempt_queue_waves waves;
	/** @hw: backend.c */
	struct gpreempt_queue_hw hw;
	/** @mqd: mqd.c */
	struct gpreempt_queue_mqd mqd;
	/** @hold: hold.c */
	struct gpreempt_queue_hold hold;
};

/**
 * struct gpreempt_node - the scheduler's side of a KFD node
 */
struct gpreempt_node {
	/**
	 * @link: in the list of nodes; changed under gpreempt_lifecycle and gpreempt_lock, so
	 * either is enough to read it
	 */
	struct list_head link;
	/** @node: the driver's node */
	struct kfd_node *node;
	/** @backend: how to preempt on it; NULL: not possible */
	const struct gpreempt_backend *backend;
	/**
	 * @pass_lock: held during a pass: for another holder, what only the monitor writes stands
	 * still
	 */
	struct mutex pass_lock;
	/**
	 * @kick: something changed: derive priorities anew, the arrays below too. Without @urgent,
	 * when the next look may be
	 */
	bool kick;
	/** @urgent: look at once */
	bool urgent;
	/** @told: another node has said something new of a job: look when @kick would */
	bool told;
	/**
	 * @begins: a job begins there, or is taken off: look as for @told, but for that it is the
	 * last look for this reason which has to be so long ago
	 */
	bool begins;
	/**
	 * @doorbell_ns: when an armed process first wrote a doorbell that no pass has taken in; 0:
	 * none has
	 */
	u64 doorbell_ns;
	/** @revive: another try is asked for after GPREEMPT_STATE_FAILED */
	bool revive;
	/** @policy: what the policy knows; the monitor's alone */
	struct gpreempt_policy_node policy;
	/** @tun: tunables of this pass */
	struct gpreempt_tunables tun;
	/** @stats: counters */
	struct gpreempt_stats stats;
	/** @life: life.c */
	struct gpreempt_node_life life;
	/** @sysfs: sysfs.c */
	struct gpreempt_node_sysfs sysfs;
	/** @queues: queue.c */
	struct gpreempt_node_queues queues;
	/** @monitor: monitor.c */
	struct gpreempt_node_monitor monitor;
	/** @tunables: tunables.c */
	struct gpreempt_node_tunables tunables;
	/** @waves: waves.c */
	struct gpreempt_node_waves waves;
	/** @marks: stats.c */
	struct gpreempt_node_marks marks;
	/** @hw: backend.c */
	struct gpreempt_node_hw hw;
	/** @mqd: mqd.c */
	struct gpreempt_node_mqd mqd;
};

/* Of its folder in sysfs */
static inline struct gpreempt_node *gpreempt_node_of(struct kobject *kobj)
{
	return container_of(kobj, struct gpreempt_node, sysfs.kobj);
}

static inline struct gpreempt_queue *gpreempt_queue_of(struct gpreempt_policy_queue *pq)
{
	return container_of(pq, struct gpreempt_queue, policy);
}

static inline pid_t gpreempt_queue_pid(const struct gpreempt_queue *gq)
{
	return gq->process->p->lead_thread->pid;
}

/*
 * A word of the policy's, read without what serialises its calls: the value may be a moment old.
 * The policy is pure code and writes plainly; no 64-bit CPU tears an aligned word.
 */
#define gpreempt_policy_read(word)	data_race(READ_ONCE(word))

/* Waves in flight, -1: not known. */
static inline s32 gpreempt_queue_waves(const struct gpreempt_queue *gq)
{
	return gpreempt_policy_read(gq->policy.seen.waves_ns) ?
		       gpreempt_policy_read(gq->policy.seen.waves) :
		       -1;
}

/*
 * It waits for something else than the device. One whose job works elsewhere waits for that, and
 * counts as working.
 */
static inline bool gpreempt_queue_blocked(const struct gpreempt_queue *gq)
{
	return gpreempt_policy_read(gq->policy.seen.blocked) &&
	       gpreempt_policy_read(gq->policy.verdict) != GPREEMPT_VERDICT_JOB;
}

/* Called for each node or queue until one returns something else than 0. */
typedef int (*gpreempt_node_fn)(struct gpreempt_node *gn, void *arg);
typedef int (*gpreempt_queue_fn)(struct gpreempt_queue *gq, void *arg);

void gpreempt_node_add(struct gpreempt_node *gn);
void gpreempt_node_remove(struct gpreempt_node *gn);
void gpreempt_node_wake(struct gpreempt_node *gn);
void gpreempt_node_look(struct gpreempt_node *gn);
void gpreempt_node_kick(struct gpreempt_node *gn);
void gpreempt_node_for_each(void (*fn)(struct gpreempt_node *gn, void *arg), void *arg);
enum gpreempt_node_state gpreempt_node_state(const struct gpreempt_node *gn);
enum gpreempt_node_state gpreempt_node_state_for(const struct gpreempt_node *gn, bool sees_all);
const char *gpreempt_node_state_word(enum gpreempt_node_state state);
const char *gpreempt_node_state_name(const struct gpreempt_node *gn);
int gpreempt_node_find_locked(gpreempt_node_fn fn, void *arg);
int gpreempt_node_find(gpreempt_node_fn fn, void *arg);
bool gpreempt_node_enabled(u32 gpu_id);
void gpreempt_node_acted(void);
void gpreempt_node_exit(void);
void gpreempt_node_await(void);
void gpreempt_node_await_end(void);
unsigned int gpreempt_node_passes(void);
void gpreempt_node_nudge(struct gpreempt_node *gn);
void gpreempt_node_kick_all(void);
void gpreempt_node_tell(struct gpreempt_node *gn, bool begins);
bool gpreempt_node_read_vram(const struct gpreempt_queue *gq, const struct gpreempt_view *view,
			     u64 *rptr, u64 *wptr);
int gpreempt_node_walk_locked(gpreempt_queue_fn fn, void *arg);
int gpreempt_node_walk(gpreempt_queue_fn fn, void *arg);
u64 gpreempt_node_pending(const struct gpreempt_queue *gq);

static inline void gpreempt_node_read_view(const struct gpreempt_queue *gq,
					   const struct gpreempt_view *view, u64 *rptr, u64 *wptr)
{
	if (gq->view.aql) {
		*rptr = READ_ONCE(*(const u64 *)view->rptr);
		*wptr = READ_ONCE(*(const u64 *)view->wptr);
	} else {
		*rptr = READ_ONCE(*(const u32 *)view->rptr);
		*wptr = READ_ONCE(*(const u32 *)view->wptr);
	}
}

/**
 * gpreempt_node_read() - read a queue's ring pointers
 * @gq: the queue
 * @rptr: receives the read pointer; 0 if it cannot be read
 * @wptr: receives the write pointer; the same
 * @pending: receives what lies between them: packets (AQL) or dwords (PM4); the same
 *
 * Context: srcu of its node, gpreempt_lock or the lock of its process's doorbells held.
 *
 * Return: false if they cannot be read: the queue is unseen, or they are in memory of a device that
 * is being reset
 */
static inline bool gpreempt_node_read(const struct gpreempt_queue *gq, u64 *rptr, u64 *wptr,
				      u64 *pending)
{
	/* Pairs with the release where it is published. */
	const struct gpreempt_view *view = smp_load_acquire(&gq->view.pointers);

	if (likely(view && !view->vram)) {
		gpreempt_node_read_view(gq, view, rptr, wptr);
	} else {
		/* Of the caller's variables no address goes out, so that they need no memory. */
		u64 pointers[2] = { 0 };
		bool read = view && gpreempt_node_read_vram(gq, view, &pointers[0], &pointers[1]);

		*rptr = pointers[0];
		*wptr = pointers[1];
		*pending = 0;
		if (!read)
			return false;
	}
	if (gq->view.aql)
		*pending = (s64)(*wptr - *rptr) > 0 ? *wptr - *rptr : 0;
	else
		*pending = (*wptr - *rptr) & READ_ONCE(gq->view.ring_mask);
	return true;
}

#endif /* GPREEMPT_NODE_H */
