/* SPDX-License-Identifier: MIT */
/* group.h - which processes divide device time, and how */
#ifndef GPREEMPT_GROUP_H
#define GPREEMPT_GROUP_H

#include <linux/types.h>

#include "core/policy.h"

struct gpreempt_node;
struct gpreempt_process;

/**
 * struct gpreempt_group - a group, as it was set
 * @cgroup_id: the cgroup whose processes it has, with those below it; 0: it is a job
 * @job: id of the job, one that an administrator has set; 0: it is a cgroup
 * @weight: against its siblings, GPREEMPT_WEIGHT_MIN..GPREEMPT_WEIGHT_MAX
 * @min_pct: least part of the device's time, in percent
 * @quota_us: device time in each period, in microseconds; 0: no maximum
 * @period_us: length of a period, in microseconds; 0: no maximum
 */
struct gpreempt_group {
	u64 cgroup_id;
	u64 job;
	u32 weight;
	u32 min_pct;
	u64 quota_us;
	u64 period_us;
};

/**
 * struct gpreempt_group_seen - a group on a node
 * @group: as it was set; the root group has neither cgroup nor job, and no weight
 * @parent: its parent, by place in the list; the first one is the root
 * @runs: it has the device, or its turn
 * @full: it has had its quota of this period
 * @served_ns: device time that it has had since groups divide the time of the node
 */
struct gpreempt_group_seen {
	struct gpreempt_group group;
	u32 parent;
	bool runs;
	bool full;
	u64 served_ns;
};

/* What group.c keeps of a node, and writes alone. */
struct gpreempt_node_group {
	/**
	 * @entities: GPREEMPT_GROUP_ENTITIES of them; NULL: no group has been set since the node
	 * came. Published once; what is in them is the monitor's
	 */
	struct gpreempt_policy_entity *entities;
	/** @serials: of the group that each place is for; the monitor's alone */
	u32 serials[GPREEMPT_GROUPS_MAX];
	/** @generation: of the settings that were last taken in; the monitor's alone */
	u32 generation;
	/** @nr: groups of these settings, with the root group; 0: there is none */
	u32 nr;
	/** @taken: the policy does not know of them yet; the monitor's alone */
	bool taken;
};

/* What group.c keeps of a process on a node, and writes alone: what its group was derived from. */
struct gpreempt_process_group {
	/** @cgroup_id: the cgroup that it was in; written by the monitor */
	u64 cgroup_id;
	/** @job: the administrator's job that it was in; 0: none; written by the monitor */
	u64 job;
	/** @generation: of the shares; 0: it was not derived yet; written by the monitor */
	u32 generation;
};

int gpreempt_group_set(const struct gpreempt_group *group);
void gpreempt_group_clear(u64 cgroup_id, u64 job);
u32 gpreempt_group_read(const struct gpreempt_node *gn, struct gpreempt_group_seen *seen, u32 max);

#endif /* GPREEMPT_GROUP_H */
