/* SPDX-License-Identifier: MIT */
/* target.h - which queues a command is about */
#ifndef GPREEMPT_TARGET_H
#define GPREEMPT_TARGET_H

#include <linux/types.h>
#include "uapi/linux/kfd_gpreempt.h"
#include "core/viewer.h"

struct gpreempt_node;
struct gpreempt_queue;
struct gpreempt_process;
struct kfd_process;
struct pid;

/**
 * struct gpreempt_target_match - the queues that a command is about, resolved
 * @scope: &enum gpreempt_scope
 * @pid: the process; NULL with other scopes. Referenced.
 * @gpu_id: the node; 0: all
 * @queue_id: the queue
 * @context: which of the program's KFD processes; 0: all
 * @process: one of KFD's; NULL: it does not matter which
 * @cgroup_id: the cgroup; 0 with other scopes
 * @cgroup_level: how many are above it
 * @viewer: who asks
 */
struct gpreempt_target_match {
	u32 scope;
	struct pid *pid;
	u32 gpu_id;
	u32 queue_id;
	u32 context;
	const struct kfd_process *process;
	u64 cgroup_id;
	u32 cgroup_level;
	struct gpreempt_viewer viewer;
};

int gpreempt_target_resolve(const struct gpreempt_target *target,
			    struct gpreempt_target_match *match);
void gpreempt_target_release(struct gpreempt_target_match *match);
bool gpreempt_target_has(const struct gpreempt_target_match *match,
			 const struct gpreempt_queue *gq);

#endif /* GPREEMPT_TARGET_H */
