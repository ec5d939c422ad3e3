/* SPDX-License-Identifier: MIT */
/* doorbell.h - which processes have written a doorbell */
#ifndef GPREEMPT_DOORBELL_H
#define GPREEMPT_DOORBELL_H

#include <linux/list.h>
#include <linux/types.h>

struct gpreempt_node;
struct gpreempt_queue;
struct gpreempt_process;
struct gpreempt_doorbells;

/* What doorbell.c keeps of a node, and writes alone. */
struct gpreempt_node_doorbell {
	/** @gn: the node */
	struct gpreempt_node *gn;
	/** @surveys: how often doorbell.c looked for idle processes */
	u64 surveys;
	/** @peer: among all nodes; as the one below, under doorbell_lock */
	struct list_head peer;
	/** @revoked: which revocation was the last of its doorbells; 0: none */
	u32 revoked;
	/**
	 * @due_ns: when the next process may be armed for which it pays, after a burst of them;
	 * monitors write it, each under the lock of the process's doorbells
	 */
	u64 due_ns;
};

/* What doorbell.c keeps of a process on a node, and writes alone. */
struct gpreempt_process_doorbell {
	/** @process: the process */
	struct gpreempt_process *process;
	/**
	 * @queues: registered queues; written under gpreempt_lock and, if it has any, the lock of
	 * @doorbells
	 */
	struct list_head queues;
	/**
	 * @doorbells: its doorbells, on all nodes; NULL: it opened /dev/kfd while no node
	 * wanted to be told of them
	 */
	struct gpreempt_doorbells *doorbells;
	/** @peer: in the list of @doorbells */
	struct list_head peer;
	/**
	 * @survey: what follows is of this survey (doorbell.c; as the five below, the monitor's
	 * alone)
	 */
	u64 survey;
	/** @idle: it has nothing to do on this node */
	bool idle;
	/** @handled: it has been looked at for arming */
	bool handled;
	/** @active_ns: when it last had work, or wrote a doorbell */
	u64 active_ns;
	/** @standing: the highest of its queues */
	s32 standing;
	/** @fallback_counted: counted as a GPREEMPT_SKIP_DOORBELL */
	bool fallback_counted;
};

bool gpreempt_doorbell_tells(const struct gpreempt_process *process);
const char *gpreempt_doorbell_state(const struct gpreempt_process *process);

#endif /* GPREEMPT_DOORBELL_H */
