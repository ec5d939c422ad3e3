/* SPDX-License-Identifier: MIT */
/* job.h - which processes belong together */
#ifndef GPREEMPT_JOB_H
#define GPREEMPT_JOB_H

#include <linux/list.h>
#include <linux/types.h>

struct gpreempt_job_place;
struct gpreempt_membership;
struct gpreempt_node;
struct gpreempt_process;

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
	/** @id: its job's, to be shown; 0: it has none. Written under gpreempt_lock */
	u64 id;
};

void gpreempt_job_update_all(void);
u64 gpreempt_job_id(const struct gpreempt_process *process);
u64 gpreempt_job_privileged_id(const struct gpreempt_process *process);

extern const struct gpreempt_room gpreempt_room_job;

#endif /* GPREEMPT_JOB_H */
