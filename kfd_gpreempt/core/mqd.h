/* SPDX-License-Identifier: MIT */
/* mqd.h - what stands in the MQDs of queues */
#ifndef GPREEMPT_MQD_H
#define GPREEMPT_MQD_H

#include <linux/types.h>

struct gpreempt_node;
struct gpreempt_queue;
struct gpreempt_process;
struct gpreempt_snapshot;
struct mqd_update_info;
struct queue;

/**
 * enum gpreempt_stamp - what firmware notes in an MQD, when it began and when it ended
 * @GPREEMPT_STAMP_CONNECT: the queue was given a slot
 * @GPREEMPT_STAMP_SAVE: its waves were saved
 * @GPREEMPT_STAMP_RESTORE: they were brought back
 * @GPREEMPT_NR_STAMP_KINDS: number of kinds
 */
enum gpreempt_stamp {
	GPREEMPT_STAMP_CONNECT,
	GPREEMPT_STAMP_SAVE,
	GPREEMPT_STAMP_RESTORE,
	GPREEMPT_NR_STAMP_KINDS,
};

/* What mqd.c keeps of a node, and writes alone. */
struct gpreempt_node_mqd {
	/**
	 * @rivalry: queues of different processes and rank have worked within
	 * GPREEMPT_CONTENDED_NS; written by the monitor
	 */
	bool rivalry;
	/**
	 * @nr_altered: queues whose MQD has another priority than their program asked for, written
	 * under dqm_lock
	 */
	u32 nr_altered;
};

/* What mqd.c keeps of a queue, and writes alone. */
struct gpreempt_queue_mqd {
	/** @snapshot: of its MQDs; NULL: none are made. Set once; the content under dqm_lock */
	struct gpreempt_snapshot *snapshot;
	/**
	 * @priority: what its MQDs tell the hardware, as far as it is known, in numbers of
	 * compat.h; written under dqm_lock
	 */
	u32 priority;
};

struct gpreempt_snapshot *gpreempt_mqd_snapshot_alloc(struct queue *q);
void gpreempt_mqd_init_queue(struct gpreempt_queue *gq, bool verify);
void gpreempt_mqd_free_queue(struct gpreempt_queue *gq);
void gpreempt_mqd_snapshot_take(struct gpreempt_queue *gq);
void gpreempt_mqd_snapshot_update(struct gpreempt_queue *gq, struct mqd_update_info *minfo);
void *gpreempt_mqd_snapshot_mqds(struct gpreempt_queue *gq);
void gpreempt_mqd_snapshot_forget(struct gpreempt_queue *gq);
bool gpreempt_mqd_snapshot_matches(const struct gpreempt_queue *gq);
void gpreempt_mqd_priority_forget(struct gpreempt_queue *gq);
bool gpreempt_mqd_priority_stale(const struct gpreempt_queue *gq);
bool gpreempt_mqd_priority_decided(struct gpreempt_node *gn, bool rivalry);
bool gpreempt_mqd_priority_differs(struct gpreempt_queue *gq);
void gpreempt_mqd_priority_write(struct gpreempt_queue *gq);
void gpreempt_mqd_priority_count(struct gpreempt_node *gn);
void gpreempt_mqd_priority_apply(struct gpreempt_node *gn);
void gpreempt_mqd_add_snapshots(struct gpreempt_node *gn);
void gpreempt_mqd_stamp(const struct queue *q, u32 xcc, enum gpreempt_stamp kind, u64 *start,
			u64 *end);

#endif /* GPREEMPT_MQD_H */
