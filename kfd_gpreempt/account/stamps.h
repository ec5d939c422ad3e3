/* SPDX-License-Identifier: MIT */
/* stamps.h - what firmware says that connecting, saving and restoring a queue took */
#ifndef GPREEMPT_STAMPS_H
#define GPREEMPT_STAMPS_H

#include <linux/types.h>
#include "core/mqd.h"

/* Medians are of so many of the last ones. */
#define GPREEMPT_NR_STAMPS	31

/**
 * struct gpreempt_stamps - durations of one kind, as firmware noted them
 * @count: how many have been read
 * @max_ns: the longest
 * @median_ns: of the last GPREEMPT_NR_STAMPS; 0: there are none
 * @last_ns: these, the newest at @count modulo their number
 *
 * Written under dqm_lock, read without a lock.
 */
struct gpreempt_stamps {
	u64 count;
	u64 max_ns;
	u64 median_ns;
	u64 last_ns[GPREEMPT_NR_STAMPS];
};

/* What stamps.c keeps of a node, and writes alone. */
struct gpreempt_node_stamps {
	/** @kind: by &enum gpreempt_stamp */
	struct gpreempt_stamps kind[GPREEMPT_NR_STAMP_KINDS];
	/** @in_vain: queues in a row that had none at all; under dqm_lock */
	u32 in_vain;
	/** @nr_read: queues that were read in this pass; under pass_lock */
	u32 nr_read;
};

/* What stamps.c keeps of a queue, and writes alone. */
struct gpreempt_queue_stamps {
	/**
	 * @seen: the latest beginning that was read, by &enum gpreempt_stamp, in ticks; under
	 * dqm_lock
	 */
	u64 seen[GPREEMPT_NR_STAMP_KINDS];
};

#endif /* GPREEMPT_STAMPS_H */
