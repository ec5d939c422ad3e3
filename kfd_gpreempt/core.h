/* SPDX-License-Identifier: MIT */
/*
 * core.h - objects of the scheduler and what its files offer each other
 *
 * Lock order: p->mutex > gpreempt_lock > { BO reservation, dqm_lock }. Everything that starts and stops monitors
 * holds gpreempt_lifecycle (core.c), which is outermost and never taken by a hook that runs under p->mutex. The
 * monitor reads the list of queues under its node's srcu and holds its own pass_lock during a pass:
 * pass_lock > dqm_lock > srcu > the index locks of the graphics engine, and nothing else that sleeps.
 * see_lock is for who only wants to see, and taken before srcu. The mutexes of event.c and settings.c
 * are taken with none of these held. Spinlocks are innermost.
 *
 * A suspend or a reset takes pass_lock, and waits for what may be waited for under it: dqm_lock and the device. So under
 * pass_lock nothing is allocated, no page table is changed (MMU notifiers of programs), and gpreempt_lock is not taken,
 * whose holders do both. Nobody waits for the monitor but its own end, and nobody who holds a lock that a reset needs.
 * The end of a queue waits for srcu, under which nothing sleeps but on the index locks of the graphics engine.
 */
#ifndef GPREEMPT_CORE_H
#define GPREEMPT_CORE_H

#include <linux/completion.h>
#include <linux/kobject.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "kfd_priv.h"
#include "backend.h"
#include "outside.h"
#include "policy.h"
#include "stats.h"
#include "tunables.h"

#include <drm/ttm/ttm_bo.h>

struct drm_printer;

extern struct mutex gpreempt_lock;
extern wait_queue_head_t gpreempt_acted;

/* What is shown for a level while nobody has work. */
#define GPREEMPT_LEVEL_NONE	(GPREEMPT_PRIORITY_MIN - 1)

/**
 * struct gpreempt_map - a page with ring pointers, pinned and mapped
 * @bo: buffer object that was pinned and mapped (GTT, visible VRAM); NULL for user pages
 * @kmap: its mapping
 * @page: user page under a long-term pin (USERPTR); NULL for buffer objects
 * @user_addr: its address in @mm
 * @mm: in whose pinned_vm the page counts, kept by mmgrab(); NULL: nothing is mapped
 * @base: where the page is in the kernel
 */
struct gpreempt_map {
	struct amdgpu_bo *bo;
	struct ttm_bo_kmap_obj kmap;
	struct page *page;
	unsigned long user_addr;
	struct mm_struct *mm;
	const void *base;
};

/**
 * struct gpreempt_view - the kernel's view of a queue's ring pointers
 * @rptr: the read pointer
 * @wptr: the write pointer
 * @vram: one of them is memory of the device: not to be read while the device is reset, nothing while it is suspended
 * @maps: their pages; the second is empty if both are in the same one
 *
 * It does not change while readers may have it: another one takes its place.
 */
struct gpreempt_view {
	const void *rptr;
	const void *wptr;
	bool vram;
	struct gpreempt_map maps[2];
};

/**
 * struct gpreempt_process - a process on one node; lives as long as it has registered queues
 * @link: in &gpreempt_node.processes, under gpreempt_lock
 * @gn: the node
 * @p: the process; valid as long as one of its queues is registered
 * @pdd: its side on the node; same lifetime
 * @queues: registered queues; written under gpreempt_lock and, if it has any, the lock of @doorbells
 * @nr_queues: their number, under gpreempt_lock
 * @doorbells: its doorbells, on all nodes; NULL: it opened /dev/kfd while nobody wanted them withdrawn
 * @peer: in the list of @doorbells
 * @nice: nice value that the priorities were derived from; written by the monitor
 * @outside: what was set for it when they were; written by the monitor
 * @derived_ns: when that was last done; the monitor's alone
 * @survey: what follows is of this survey (doorbell.c; as the five below, the monitor's alone)
 * @idle: it has nothing to do on this node
 * @handled: it has been looked at for arming
 * @active_ns: when it last had work, or rang
 * @standing: the highest of its queues
 * @told: counted as a GPREEMPT_SKIP_DOORBELL
 * @policy: for the policy; the monitor's alone
 */
struct gpreempt_process {
	struct list_head link;
	struct gpreempt_node *gn;
	struct kfd_process *p;
	struct kfd_process_device *pdd;
	struct list_head queues;
	u32 nr_queues;
	struct gpreempt_doorbells *doorbells;
	struct list_head peer;
	int nice;
	struct gpreempt_outside outside;
	u64 derived_ns;
	u64 survey;
	bool idle;
	bool handled;
	u64 active_ns;
	s32 standing;
	bool told;
	struct gpreempt_policy_process policy;
};

/**
 * struct gpreempt_queue - a registered compute queue
 * @link: in &gpreempt_node.queues; added and removed under gpreempt_lock, read under &gpreempt_node.srcu
 * @gn: its node
 * @q: the driver's queue; valid as long as this is on the list, and until the grace period after
 * @process: owner
 * @sibling: in its list of queues
 * @policy: what the policy knows; the monitor's alone
 * @kfd_priority: last priority given to KFD; written under p->mutex
 * @trusted: the caller who gave it had CAP_SYS_NICE; written under p->mutex
 * @ring_mask: PM4: ring size in dwords, less one; written under p->mutex
 * @aql: pointers count packets in 64 bits; otherwise dwords, the read pointer wrapping in the ring
 * @view: its ring pointers; NULL: they cannot be read, it is *unseen*: it yields, and no queue yields to it. Written under gpreempt_lock, read
 *	as gpreempt_queue_read() says; what was there is freed after all of these. Who takes one away kicks before it waits for readers.
 * @maps_again: without @view: what forbade it may be over; written under gpreempt_lock
 * @dead: the process has been taken off the device; the monitor's alone
 * @skipped: counted as a skip; not again while it lasts. The monitor's alone
 * @waves_sum: scratch of the monitor when it reads waves in flight
 * @seen_waves: waves in flight at @seen_ns of the node; written under @see_lock of the node
 * @done: scratch of the backend, under dqm_lock: what it did about the action
 * @snapshot: of its MQDs; NULL: none are made. Set once; the content under dqm_lock
 * @leaving: preempted, but the device was seen to hold it still (mqd backend, as the four below; under dqm_lock)
 * @leaving_ring: address of its ring when it was asked to leave
 * @leaving_ns: when that was
 * @killed: its waves have been reset, and it still did not leave
 * @lost: its waves have been reset; it never runs again
 * @hw_priority: what its MQDs tell the hardware, as far as it is known; written under dqm_lock
 * @preempt_count: preemptions so far; written by the monitor
 * @preempted_ns: time spent preempted, without the current hold; written by the monitor
 * @source: where its priority comes from; written by the monitor
 * @derived: its priority has been derived; the monitor's alone
 *
 * @setting: what was set for it from outside, under gpreempt_lock
 * @holds: who asked for its preemption, under gpreempt_lock
 * @held: there are any; written under gpreempt_lock
 * @held_unbounded: and one of them without end; written under gpreempt_lock
 * @held_from: the look with this number, or a later one, has taken in that there are; under gpreempt_lock
 * @expected_until_ns: its work was announced, for so long; 0: it was not. Written under gpreempt_lock
 * @hint_settled_ns: the last @expected_until_ns of which it is known whether the work came; the monitor's alone
 */
struct gpreempt_queue {
	struct list_head link;
	struct gpreempt_node *gn;
	struct queue *q;
	struct gpreempt_process *process;
	struct list_head sibling;
	struct gpreempt_policy_queue policy;

	u32 kfd_priority;
	bool trusted;
	u32 ring_mask;
	bool aql;
	struct gpreempt_view *view;
	bool maps_again;

	bool dead;
	bool skipped;
	u32 waves_sum;
	u32 seen_waves;
	enum gpreempt_action done;
	struct gpreempt_snapshot *snapshot;
	bool leaving;
	bool killed;
	bool lost;
	u64 leaving_ring;
	u64 leaving_ns;
	u32 hw_priority;
	u64 preempt_count;
	u64 preempted_ns;
	enum gpreempt_source source;
	bool derived;

	struct gpreempt_setting setting;
	struct list_head holds;
	bool held;
	bool held_unbounded;
	u32 held_from;
	u64 expected_until_ns;
	u64 hint_settled_ns;
};

/**
 * struct gpreempt_watch - what is read of a resting queue: two words that do not move while it has nothing to do
 * @rptr: low word of its read pointer
 * @wptr: low word of its write pointer
 * @seen_rptr: what was last there
 * @seen_wptr: what was last there
 *
 * That a pointer moves by a multiple of 2^32 between two passes is not possible.
 */
struct gpreempt_watch {
	const u32 *rptr;
	const u32 *wptr;
	u32 seen_rptr;
	u32 seen_wptr;
};

/**
 * enum gpreempt_state - what the monitor of a node does, as shown in sysfs
 * @GPREEMPT_STATE_PARKED: sleeps until something changes: nobody could outrank anybody
 * @GPREEMPT_STATE_IDLE: looks every gpreempt_interval_ms
 * @GPREEMPT_STATE_POLLING: looks every gpreempt_poll_us
 * @GPREEMPT_STATE_ARMED: sleeps until a doorbell is written: whoever could outrank another is idle, and armed
 * @GPREEMPT_STATE_FAILED: gave up; everything that could be resumed is. A reset of the GPU or switching off
 *	and on ends it.
 */
enum gpreempt_state {
	GPREEMPT_STATE_PARKED,
	GPREEMPT_STATE_IDLE,
	GPREEMPT_STATE_POLLING,
	GPREEMPT_STATE_ARMED,
	GPREEMPT_STATE_FAILED,
};

/**
 * struct gpreempt_node - the scheduler's side of a KFD node
 * @link: in the list of nodes; changed under gpreempt_lifecycle and gpreempt_lock, so either is enough to read it
 * @node: the driver's node
 * @backend: how to preempt on it; NULL: not possible
 * @reason: why not
 * @told: the reason has been logged
 * @kobj: its directory in sysfs
 * @kobj_released: the last user of the directory is gone
 * @kobj_added: the directory exists
 *
 * @queues: registered queues; written under gpreempt_lock, read under @srcu
 * @srcu: protects the readers of @queues: passes, dumps, lists of queues, pace.c
 * @processes: their processes, under gpreempt_lock
 * @nr_queues: length of @queues, written under gpreempt_lock
 * @nr_processes: length of @processes, written under gpreempt_lock
 * @accepting: new queues are registered, under gpreempt_lock
 * @tends: there may be queues whose pointers gpreempt_queue_adopt() has to look after now and then
 *
 * @wanted: switched on; changed under gpreempt_lifecycle. False where there is no backend.
 *
 * @thread: the monitor; NULL while switched off. Changed under gpreempt_lock. It ends only after it is NULL, so a reader of
 *	RCU may wake it.
 * @paused: the driver suspends the device or resets it, or is about to. Set before @pass_lock is taken, so that whoever takes
 *	it afterwards knows, cleared under it
 * @pass_lock: held during a pass: what only the monitor writes stands still for whoever else holds it
 * @adopt: registers queues that were there before switching on, and looks after the pointers of those that are registered
 * @renice: looks for changed nice values while the monitor is parked
 * @kick: something changed: derive priorities anew, the arrays below too. Without @urgent, when the next look may be
 * @urgent: look at once
 * @begun: number of the last look that takes in what was asked for; written by the monitor
 * @ended: number of the last one that has been carried out as well; written by the monitor
 * @looked_ns: when the last look began; the monitor's alone
 * @rung_ns: when an armed process first wrote a doorbell that no pass has taken in; 0: none has
 * @revive: somebody asks for another try after GPREEMPT_STATE_FAILED
 * @state: what the monitor does; written by it
 *
 * @sampled: the monitor's array of queues: those that are looked at in each pass, then those that rest
 * @watches: what is read of those that rest; same places as in @sampled
 * @nr_sampled: how many are looked at in this pass
 * @nr_resting: how many rest
 * @max_sampled: how many fit
 * @all_due_ns: when all of them are looked at again, and the arrays are made anew
 * @policy: what the policy knows; the monitor's alone
 * @tuned: its tunables, in the units of their names, but for GPREEMPT_TUNABLE_ENABLE, which is @wanted; written under gpreempt_lock
 * @occupancy: buffer for waves in flight, one entry per hardware queue; under @pass_lock
 * @asking: the monitor reads waves in flight, or is about to: who only wants to see gives way
 * @see_lock: held while somebody else than the monitor reads waves in flight. Under it nothing is waited for but the index locks of
 *	the graphics engine. Taken by suspend and reset.
 * @see_buffer: as @occupancy, under @see_lock
 * @seen: waves of all XCCs that were seen, one entry per queue, under @see_lock
 * @nr_seen: entries of @seen
 * @see_due_ns: when registers may be read for that again; written under @see_lock
 * @seen_ns: when gpreempt_monitor_see() last had an answer; 0: never. Written under @see_lock
 * @tun: tunables of this pass
 * @derived_ns: when priorities were derived last; 0: they have to be
 * @asked_ns: what asking for waves in flight took in this pass; 0: nobody asked
 * @skipped: a queue may be marked as skipped
 * @hinted: a queue may have announced work of which it is not known yet whether it came; the monitor's alone
 * @again: the backend left something unfinished: the next pass calls it, even without an action
 * @reprioritize: MQDs may have another priority than they should: the next pass calls the backend for that alone
 * @errors: failed passes in a row
 * @failed_ns: when the last of them failed
 * @dump: the node was given up: a dump goes to the kernel log after the pass
 * @runlists_built: runlists sent to the device by anybody, or without HWS queues that the driver took off and loads again;
 *	written under dqm_lock
 * @turns: of the last runlist: firmware takes turns, because not everything in it fits on the device; written under dqm_lock
 * @unmapped_ns: when everything was off the device for the last runlist; written under dqm_lock
 * @graced: the device has the grace period that preemptions want; the monitor's alone
 * @graced_runlist: @runlists_built when that was so last
 * @runlists_seen: @runlists_built when waves in flight could last be believed
 * @unsettled_ns: since when a pass that wanted them could not; 0: the last one could. The monitor's alone
 * @rivalry: queues of different processes and rank have worked within GPREEMPT_CONTENDED_NS; written by the monitor
 * @acted: the last pass changed the runlist itself; the monitor's alone, as the four below
 * @changed_ns: when a pass last found that the driver had changed the runlist
 * @changing_ns: when that began, if it has not stood still since for as long as it takes to bring waves back
 * @wants_rest: waves could not be read for long: the next pass keeps the driver from changing the runlist
 * @rest_due_ns: when it may do so again
 * @hw_priorities: queues whose MQD has another priority than their program asked for, written under dqm_lock
 * @level: of the last decision; GPREEMPT_LEVEL_NONE: nobody had work
 * @rang_ns: the @rung_ns that this pass takes in; 0: none. The monitor's alone, as @surveys
 * @surveys: how often doorbell.c looked who is idle
 * @clear_ns: beginning of the last pass that found no inversion, or when the monitor was woken from parking
 * @decided_ns: when what is being carried out was decided
 * @resuming_ns: when the resumes that the device has not been seen to have taken in were decided; 0: none
 * @pace_lock: protects @pace_due_ns; innermost
 * @pace_due_ns: when the next runlist that an outranked program asks for would be due without a burst
 *
 * @stats: counters
 */
struct gpreempt_node {
	struct list_head link;
	struct kfd_node *node;
	const struct gpreempt_backend *backend;
	const char *reason;
	bool told;
	struct kobject kobj;
	struct completion kobj_released;
	bool kobj_added;

	struct list_head queues;
	struct srcu_struct srcu;
	struct list_head processes;
	u32 nr_queues;
	u32 nr_processes;
	bool accepting;
	bool tends;
	bool wanted;

	struct mutex pass_lock;
	struct task_struct *thread;
	bool paused;
	struct delayed_work adopt;
	struct delayed_work renice;
	bool kick;
	bool urgent;
	u32 begun;
	u32 ended;
	u64 looked_ns;
	u64 rung_ns;
	bool revive;
	enum gpreempt_state state;

	struct gpreempt_policy_queue **sampled;
	struct gpreempt_watch *watches;
	u32 nr_sampled;
	u32 nr_resting;
	u32 max_sampled;
	u64 all_due_ns;
	struct gpreempt_policy_node policy;
	u32 tuned[GPREEMPT_NR_TUNABLES];
	struct kfd_cu_occupancy *occupancy;
	bool asking;
	struct mutex see_lock;
	struct kfd_cu_occupancy *see_buffer;
	struct kfd_cu_occupancy *seen;
	u32 nr_seen;
	u64 see_due_ns;
	u64 seen_ns;
	struct gpreempt_tunables tun;
	u64 derived_ns;
	u64 asked_ns;
	bool skipped;
	bool hinted;
	bool again;
	bool reprioritize;
	u32 errors;
	u64 failed_ns;
	bool dump;
	u32 runlists_built;
	bool turns;
	u64 unmapped_ns;
	bool graced;
	u32 graced_runlist;
	u32 runlists_seen;
	u64 unsettled_ns;
	bool acted;
	u64 changed_ns;
	u64 changing_ns;
	bool wants_rest;
	u64 rest_due_ns;
	bool rivalry;
	u32 hw_priorities;
	s32 level;
	u64 rang_ns;
	u64 surveys;
	u64 clear_ns;
	u64 decided_ns;
	u64 resuming_ns;
	spinlock_t pace_lock;
	s64 pace_due_ns;

	struct gpreempt_stats stats;
};

static inline struct gpreempt_queue *gpreempt_queue_of(struct gpreempt_policy_queue *pq)
{
	return container_of(pq, struct gpreempt_queue, policy);
}

static inline pid_t gpreempt_queue_pid(const struct gpreempt_queue *gq)
{
	return gq->process->p->lead_thread->pid;
}

/*
 * A word of the policy's, without what serialises its calls: for those who can do with the value of a moment ago. The policy is pure code and
 * writes plainly; no 64-bit CPU tears a word that is aligned.
 */
#define gpreempt_peek(word)	data_race(READ_ONCE(word))

/* Waves in flight, -1: not known. */
static inline s32 gpreempt_queue_waves(const struct gpreempt_queue *gq)
{
	return gpreempt_peek(gq->policy.waves_ns) ? gpreempt_peek(gq->policy.waves) : -1;
}

/* Called for each node or queue until one returns something else than 0. */
typedef int (*gpreempt_node_fn)(struct gpreempt_node *gn, void *arg);
typedef int (*gpreempt_queue_fn)(struct gpreempt_queue *gq, void *arg);

/* core.c */
void gpreempt_core_enable(bool on);
int gpreempt_core_enable_node(struct gpreempt_node *gn, bool on);
void gpreempt_core_kick_all(void);
void gpreempt_core_for_each(void (*fn)(struct gpreempt_node *gn, void *arg), void *arg);
int gpreempt_core_find_locked(gpreempt_node_fn fn, void *arg);
int gpreempt_core_find(gpreempt_node_fn fn, void *arg);
bool gpreempt_core_enabled(u32 gpu_id);
void gpreempt_core_acted(void);
unsigned int gpreempt_core_passes(void);
void gpreempt_core_wake(struct gpreempt_node *gn);
void gpreempt_core_look(struct gpreempt_node *gn);
void gpreempt_core_kick(struct gpreempt_node *gn);
void gpreempt_core_nudge(struct gpreempt_node *gn);
void gpreempt_core_watch_nice(struct gpreempt_node *gn);
enum gpreempt_node_state gpreempt_core_state(const struct gpreempt_node *gn);
enum gpreempt_node_state gpreempt_core_state_for(const struct gpreempt_node *gn, bool sees_all);
const char *gpreempt_core_state_word(enum gpreempt_node_state state);
const char *gpreempt_core_state_name(const struct gpreempt_node *gn);

/* monitor.c */
int gpreempt_monitor(void *data);
void gpreempt_monitor_last_pass(struct gpreempt_node *gn);
bool gpreempt_monitor_reniced(struct gpreempt_node *gn);
bool gpreempt_monitor_debugged(const struct kfd_process *p);
enum gpreempt_skip gpreempt_monitor_obstacle(const struct gpreempt_queue *gq);
/* A look costs register accesses under locks of the graphics engine: no more often than that, and this part of the time at most. */
#define GPREEMPT_SEE_NS		100000ULL
#define GPREEMPT_SEE_SHARE	16
void gpreempt_monitor_see(struct gpreempt_node *gn);

/* queue.c */
bool gpreempt_queue_adopt(struct gpreempt_node *gn);
void gpreempt_queue_hide_vram(struct gpreempt_node *gn);
bool gpreempt_queue_read_vram(const struct gpreempt_queue *gq, const struct gpreempt_view *view, u64 *rptr, u64 *wptr);
void gpreempt_queue_unregister_all(struct gpreempt_node *gn);
void gpreempt_queue_add_snapshots(struct gpreempt_node *gn);
const char *gpreempt_queue_state(const struct gpreempt_queue *gq, u64 pending);
u64 gpreempt_queue_pending(const struct gpreempt_queue *gq);
u64 gpreempt_queue_preempted_ns(const struct gpreempt_queue *gq);
int gpreempt_queue_walk(gpreempt_queue_fn fn, void *arg);
int gpreempt_queue_view(gpreempt_queue_fn fn, void *arg);

/* snapshot.c */
struct gpreempt_snapshot *gpreempt_snapshot_alloc(struct queue *q);
void gpreempt_snapshot_take(struct gpreempt_queue *gq);
void gpreempt_snapshot_update(struct gpreempt_queue *gq, struct mqd_update_info *minfo);
void *gpreempt_snapshot_mqds(struct gpreempt_queue *gq);
void gpreempt_snapshot_forget(struct gpreempt_queue *gq);
bool gpreempt_snapshot_matches(const struct gpreempt_queue *gq);

/* params.c */
int gpreempt_params_store(struct gpreempt_node *gn, enum gpreempt_tunable which, const char *buf);
int gpreempt_params_parse_switch(const char *buf, bool kept, bool *on);
void gpreempt_params_ready(bool ready);

/* sysfs.c */
void gpreempt_sysfs_init(void);
void gpreempt_sysfs_exit(void);
void gpreempt_sysfs_add(struct gpreempt_node *gn);
void gpreempt_sysfs_del(struct gpreempt_node *gn);

/* doorbell.c */
void gpreempt_doorbell_init(void);
void gpreempt_doorbell_exit(void);
void gpreempt_doorbell_add(struct gpreempt_process *process);
void gpreempt_doorbell_del(struct gpreempt_process *process);
void gpreempt_doorbell_add_queue(struct gpreempt_queue *gq);
void gpreempt_doorbell_del_queue(struct gpreempt_queue *gq);
void gpreempt_doorbell_wait_readers(const struct gpreempt_queue *gq);
const char *gpreempt_doorbell_state(const struct gpreempt_process *process);
u64 gpreempt_doorbell_wait(struct gpreempt_node *gn, const struct gpreempt_decision *decision, bool *waits);

/* procfs.c */
void gpreempt_procfs_add(struct queue *q);

/* hw_priority.c */
void gpreempt_hw_priority_forget(struct gpreempt_queue *gq);
bool gpreempt_hw_priority_decided(struct gpreempt_node *gn, bool contended, u64 now_ns);
bool gpreempt_hw_priority_stale(const struct gpreempt_queue *gq);
bool gpreempt_hw_priority_differs(struct gpreempt_queue *gq);
void gpreempt_hw_priority_write(struct gpreempt_queue *gq);
void gpreempt_hw_priority_count(struct gpreempt_node *gn);
void gpreempt_hw_priority_apply(struct gpreempt_node *gn);

/* hqd.c */
void gpreempt_hqd_ask(struct kfd_node *node, u32 pipe, u32 queue);

/* dump.c */
void gpreempt_dump(struct gpreempt_node *gn, struct drm_printer *p, u32 max_queues);
void gpreempt_dump_log(struct gpreempt_node *gn);

/* debugfs.c */
void gpreempt_debugfs_init(void);
void gpreempt_debugfs_exit(void);

static inline void gpreempt_view_read(const struct gpreempt_queue *gq, const struct gpreempt_view *view, u64 *rptr, u64 *wptr)
{
	if (gq->aql) {
		*rptr = READ_ONCE(*(const u64 *)view->rptr);
		*wptr = READ_ONCE(*(const u64 *)view->wptr);
	} else {
		*rptr = READ_ONCE(*(const u32 *)view->rptr);
		*wptr = READ_ONCE(*(const u32 *)view->wptr);
	}
}

/**
 * gpreempt_queue_read() - read a queue's ring pointers
 * @gq: the queue
 * @rptr: receives the read pointer; 0 if it cannot be read
 * @wptr: receives the write pointer; the same
 * @pending: receives what lies between them: packets (AQL) or dwords (PM4); the same
 *
 * Context: srcu of its node, gpreempt_lock or the lock of its process's doorbells held.
 *
 * Return: false if they cannot be read: the queue is unseen, or they are in memory of a device that is being reset
 */
static inline bool gpreempt_queue_read(const struct gpreempt_queue *gq, u64 *rptr, u64 *wptr, u64 *pending)
{
	/* Pairs with the release where it is published. */
	const struct gpreempt_view *view = smp_load_acquire(&gq->view);

	*rptr = 0;
	*wptr = 0;
	*pending = 0;
	if (unlikely(!view))
		return false;
	if (likely(!view->vram))
		gpreempt_view_read(gq, view, rptr, wptr);
	else if (!gpreempt_queue_read_vram(gq, view, rptr, wptr))
		return false;
	if (gq->aql)
		*pending = (s64)(*wptr - *rptr) > 0 ? *wptr - *rptr : 0;
	else
		*pending = (*wptr - *rptr) & READ_ONCE(gq->ring_mask);
	return true;
}

#endif /* GPREEMPT_CORE_H */
