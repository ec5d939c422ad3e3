/* SPDX-License-Identifier: MIT */
/* crowd.h - idle processes leave a device that is too small for all queues */
#ifndef GPREEMPT_CROWD_H
#define GPREEMPT_CROWD_H

#include <linux/types.h>

#include "idle.h"

struct gpreempt_node;

/* What crowd.c keeps of a node, and writes alone; the monitor's. */
struct gpreempt_node_crowd {
	/** @nr_off: processes that are off the device because they are idle */
	u32 nr_off;
	/** @waits: not everything would fit, so idle processes may leave */
	bool waits;
	/** @crowded: not everything that is on the device does */
	bool crowded;
	/** @settles: a process has come back of late, and cannot leave at once yet */
	bool settles;
	/** @steps: number of the last step of a look */
	u64 steps;
	/** @looks: number of the last look */
	u64 looks;
	/** @idle: what they have cost */
	struct gpreempt_idle_node idle;
};

/* What crowd.c keeps of a process on a node, and writes alone; the monitor's. */
struct gpreempt_process_crowd {
	/** @idle: is it off for idleness? */
	struct gpreempt_idle_process idle;
	/** @looked: what follows is of this look */
	u64 looked;
	/** @works: it has work, or another reason not to be off the device for idleness */
	bool works;
	/** @active_ns: when it last had work */
	u64 active_ns;
	/** @standing: the highest one of its queues */
	s32 standing;
	/** @queues_off: queues that are off the device for idleness */
	u32 queues_off;
	/** @step: what was last done with it in a look */
	u64 step;
	/** @changed: it leaves or comes back with this pass */
	bool changed;
};

#endif /* GPREEMPT_CROWD_H */
