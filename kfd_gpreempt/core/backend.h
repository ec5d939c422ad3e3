/* SPDX-License-Identifier: MIT */
/*
 * backend.h - what a way of preempting promises
 *
 * A backend carries out a whole decision at once: it finds the queues whose policy.action asks for
 * something through dqm->queues under dqm_lock, does what can be done, and confirms each queue to
 * the policy before it drops the lock. Queues that went away meanwhile are not found and need
 * nothing.
 */
#ifndef GPREEMPT_BACKEND_H
#define GPREEMPT_BACKEND_H

#include <linux/types.h>

#include "policy.h"

struct backend_pass;
struct gpreempt_node;
struct gpreempt_queue;

/**
 * enum gpreempt_scheduler - what schedules the queues of a node, below us
 * @GPREEMPT_BY_HWS: the hardware scheduler, by runlists
 * @GPREEMPT_BY_DRIVER: the driver, which gives each queue a slot (amdgpu.sched_policy=2)
 * @GPREEMPT_BY_MES: MES
 */
enum gpreempt_scheduler { GPREEMPT_BY_HWS, GPREEMPT_BY_DRIVER, GPREEMPT_BY_MES };

/**
 * struct gpreempt_outcome - what became of a decision
 * @error: 0, or why the hardware pass failed; a reset under way is no failure
 * @stop: the device did not acknowledge: nothing may be preempted until it was reset
 * @preempted: queues were taken off the device, or should have been
 * @elapsed_ns: how long the hardware pass took; 0: there was none
 * @again: something is unfinished: call again, even without an action
 */
struct gpreempt_outcome {
	int error;
	bool stop;
	bool preempted;
	u64 elapsed_ns;
	bool again;
};

/**
 * struct gpreempt_backend - a way of preempting
 * @name: as shown in sysfs
 * @scheduler: of nodes that it schedules
 * @reprioritizes: it has to be called for MQDs to get another hardware priority; otherwise
 *	the next runlist does that
 * @tells: a pass without any action tells what has waves: it saves them, gpreempt_demand_saw()
 * @apply: carry out the actions of all queues of a node. Every resume that is possible is
 *	made, also after an error; a preemption is confirmed or undone, never in between, unless
 *	&gpreempt_outcome.stop. A queue that the device has been asked for and still holds is
 *	confirmed, and resumed only after the device has let go. Context: pass_lock held; takes
 *	dqm_lock and sleeps as long as the hardware takes, up to
 *	amdgpu.queue_preemption_timeout_ms.
 * @leave: take back what it left in the device; NULL: nothing. Context: as @apply, before the
 *	monitor ends or the node pauses; takes dqm_lock, does not wait for the device.
 * @taken_in: has the device taken in all that it was sent? Context: dqm_lock held; the monitor, not
 *	paused
 * @runlist_quiescent: is the device neither saving waves nor restoring any right now? Waves in
 *	flight tell little while it is. Context: the monitor, or see_lock held; not paused; takes no
 *	lock.
 * @look_for_saved: give &gpreempt_queue_hw.may_hide of all queues; NULL: firmware takes no turns.
 *	Unless dqm_lock is held already, it is taken, and false returned if that would have to be
 *	waited for. Context: the monitor
 */
struct gpreempt_backend {
	const char *name;
	enum gpreempt_scheduler scheduler;
	bool reprioritizes;
	bool tells;
	void (*apply)(struct gpreempt_node *gn, struct gpreempt_outcome *outcome);
	void (*leave)(struct gpreempt_node *gn);
	bool (*taken_in)(struct gpreempt_node *gn);
	bool (*runlist_quiescent)(struct gpreempt_node *gn);
	bool (*look_for_saved)(struct gpreempt_node *gn, bool locked);
};

/* What backend.c keeps of a node, and writes alone. */
struct gpreempt_node_hw {
	/**
	 * @turns: that firmware takes until it has come to each queue of the last runlist, because
	 * not everything in it fits on the device; 0: none; written under dqm_lock
	 */
	u32 turns;
	/**
	 * @unmapped_ns: when everything was off the device for the last runlist; written under
	 * dqm_lock
	 */
	u64 unmapped_ns;
	/**
	 * @grace_set: the device has the grace period that preemptions want; the monitor's alone
	 */
	bool grace_set;
	/** @grace_epoch: &gpreempt_node_waves.epoch when that was so last */
	u32 grace_epoch;
	/** @lists: runlists that were built, from 1; written under dqm_lock */
	u32 lists;
	/** @behind: not all that the flags say was sent since the last runlist; under dqm_lock */
	bool behind;
	/**
	 * @unnamed: firmware does not leave queues off that were unmapped by their names; under
	 * dqm_lock
	 */
	bool unnamed;
};

/* What backend.c keeps of a queue, and writes alone. */
struct gpreempt_queue_hw {
	/** @done: scratch of the backend, under dqm_lock: what it did about the action */
	enum gpreempt_action done;
	/** @may_hide: waves may be saved until it is the queue's turn; under dqm_lock (hws) */
	bool may_hide;
	/**
	 * @leaving: preempted, but the device was seen to hold it still (mqd backend, as @killed,
	 * @lost, @leaving_ring and @leaving_ns; under dqm_lock)
	 */
	bool leaving;
	/** @killed: its waves have been reset, and it still did not leave */
	bool killed;
	/** @lost: its waves have been reset; it never runs again */
	bool lost;
	/**
	 * @named_list: &gpreempt_node_hw.lists when it was unmapped by its name; 0: it was not
	 * (hws; under dqm_lock)
	 */
	u32 named_list;
	/** @named_rptr: its read pointer then */
	u64 named_rptr;
	/** @leaving_ring: address of its ring when it was asked to leave */
	u64 leaving_ring;
	/** @leaving_ns: when that was */
	u64 leaving_ns;
};

void gpreempt_backend_init_queue(struct gpreempt_queue *gq);

extern const struct gpreempt_backend gpreempt_backend_hws;
/* All backends that are built; NULL ends the list, as it ends the next one */
extern const struct gpreempt_backend *const gpreempt_backends[];
/*
 * What may carry a decision out without a runlist, where the hardware scheduler would take one.
 * Context: dqm_lock held. Return: true if all is done; false if a runlist has to do it
 */
extern bool (*const gpreempt_backend_shortcuts[])(struct backend_pass *pass);

#endif /* GPREEMPT_BACKEND_H */
