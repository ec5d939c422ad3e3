/* SPDX-License-Identifier: MIT */
/* job.h - which processes belong together */
#ifndef GPREEMPT_JOB_H
#define GPREEMPT_JOB_H

#include <linux/list.h>
#include <linux/types.h>

struct gpreempt_job_place;

/* What job.c keeps of a node, and writes alone. */
struct gpreempt_node_job {
	/**
	 * @slot: the node's place among those that jobs can have processes on; GPREEMPT_NEWS_NODES:
	 * there is none left, and no process here belongs to a job
	 */
	u32 slot;
	/** @places: jobs with processes here; written under gpreempt_lock, read under its srcu */
	struct list_head places;
};

/* What job.c keeps of a process on a node, and writes alone. */
struct gpreempt_process_job {
	/** @place: of its job on the node; NULL: it has none. Written under gpreempt_lock */
	struct gpreempt_job_place *place;
	/** @gone: it was the last one of its job here: to be freed along with it */
	struct gpreempt_job_place *gone;
};

#endif /* GPREEMPT_JOB_H */
