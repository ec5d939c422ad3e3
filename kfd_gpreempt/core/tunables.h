/* SPDX-License-Identifier: MIT */
/*
 * tunables.h - what an administrator can tune, of all nodes or of one; the table is
 * tunables_table.h
 */
#ifndef GPREEMPT_TUNABLES_H
#define GPREEMPT_TUNABLES_H

#include <linux/types.h>

#include "policy.h"
#include "tunables_table.h"

struct gpreempt_node;
struct seq_buf;

/**
 * enum gpreempt_hw_priority - gpreempt_hw_priority: the hardware priority of queues under software
 * scheduling
 * @GPREEMPT_HW_PRIORITY_NORMAL: the normal one while processes of different rank work,
 *	otherwise what their program asked for
 * @GPREEMPT_HW_PRIORITY_FOLLOW: that of the logical priority, 0 to 15 as KFD counts
 */
enum gpreempt_hw_priority {
	GPREEMPT_HW_PRIORITY_NORMAL,
	GPREEMPT_HW_PRIORITY_FOLLOW,
};

/**
 * enum gpreempt_wakeup - gpreempt_wakeup: how the monitor notices new work
 * @GPREEMPT_WAKEUP_AUTO: it is told of a process's first doorbell write after idleness, where that
 *	is possible and costs less than to look
 * @GPREEMPT_WAKEUP_POLL: it looks for it
 * @GPREEMPT_WAKEUP_DOORBELL: it is told wherever that is possible
 */
enum gpreempt_wakeup {
	GPREEMPT_WAKEUP_AUTO,
	GPREEMPT_WAKEUP_POLL,
	GPREEMPT_WAKEUP_DOORBELL,
};

/**
 * enum gpreempt_unmap - gpreempt_unmap: what leaves the device with a preemption or a resume
 * @GPREEMPT_UNMAP_ALL: all queues, for a moment
 * @GPREEMPT_UNMAP_NAMED: those that it is about, if nothing speaks against it
 */
enum gpreempt_unmap {
	GPREEMPT_UNMAP_ALL,
	GPREEMPT_UNMAP_NAMED,
};

/* enum gpreempt_tunable - GPREEMPT_TUNABLE_<id> for each row of the table */
#define GPREEMPT_TUNABLE_ID(_id, ...) GPREEMPT_TUNABLE_##_id,
enum gpreempt_tunable {
	GPREEMPT_TUNABLES(GPREEMPT_TUNABLE_ID, GPREEMPT_TUNABLE_ID, GPREEMPT_TUNABLE_ID,
			  GPREEMPT_TUNABLE_ID)
	GPREEMPT_NR_TUNABLES
};

#undef GPREEMPT_TUNABLE_ID

/**
 * enum gpreempt_tunable_file - the file of a node that shows and sets a tunable
 * @GPREEMPT_TUNABLE_FILE_NONE: there is none
 * @GPREEMPT_TUNABLE_FILE_NODE: in the folder of the node
 * @GPREEMPT_TUNABLE_FILE_TUNABLES: in the folder tunables/ there
 */
enum gpreempt_tunable_file {
	GPREEMPT_TUNABLE_FILE_NONE,
	GPREEMPT_TUNABLE_FILE_NODE,
	GPREEMPT_TUNABLE_FILE_TUNABLES,
};

/**
 * struct gpreempt_tunables - copy of a node's tunables that a pass works with
 * @params: those of policies, in their units
 * @policy: index of the policy in gpreempt_policies
 * @nice: the process's nice value lowers its priority
 * @trust: KFD priorities above normal count without CAP_SYS_NICE
 * @hw_priority: what the hardware is told, an &enum gpreempt_hw_priority
 * @verify: MQDs of preempted queues are compared with snapshots
 * @follow_stop: queues of stopped processes leave the device
 * @idle_ns: an idle process leaves a device that is too small for all queues after so long; 0:
 *	none does
 * @account: device time is accounted, with looks of its own
 * @wakeup: how new work is noticed, an &enum gpreempt_wakeup
 * @unmap: what leaves the device with a preemption, an &enum gpreempt_unmap (hws)
 */
struct gpreempt_tunables {
	struct gpreempt_policy_params params;
	u32 policy;
	bool nice;
	bool trust;
	u32 hw_priority;
	bool verify;
	bool follow_stop;
	u64 idle_ns;
	bool account;
	u32 wakeup;
	u32 unmap;
};

/* What tunables.c keeps of a node, and writes alone. */
struct gpreempt_node_tunables {
	/**
	 * @tuned: its tunables, in the units of their names, but for GPREEMPT_TUNABLE_ENABLE, which
	 * is @wanted; written under gpreempt_lock
	 */
	u32 tuned[GPREEMPT_NR_TUNABLES];
	/** @stale: one of them has been written since a pass has copied them */
	bool stale;
};

const char *gpreempt_tunables_name(enum gpreempt_tunable which);
enum gpreempt_tunable_file gpreempt_tunables_file(enum gpreempt_tunable which);
int gpreempt_tunables_parse(enum gpreempt_tunable which, const char *name, const char *text,
			    u32 kept, u32 *value);
u32 gpreempt_tunables_default(enum gpreempt_tunable which);
void gpreempt_tunables_set_default(enum gpreempt_tunable which, u32 value);
ssize_t gpreempt_tunables_show_default(enum gpreempt_tunable which, char *buf);
ssize_t gpreempt_tunables_show(const struct gpreempt_node *gn, enum gpreempt_tunable which,
			       char *buf);
void gpreempt_tunables_init_node(struct gpreempt_node *gn);
void gpreempt_tunables_set(struct gpreempt_node *gn, enum gpreempt_tunable which, u32 value);
bool gpreempt_tunables_copy(struct gpreempt_node *gn);
void gpreempt_tunables_list(const struct gpreempt_tunables *tun, struct seq_buf *s);
bool gpreempt_tunables_verify(const struct gpreempt_node *gn);
bool gpreempt_tunables_accounts(const struct gpreempt_node *gn);
bool gpreempt_tunables_observes(const struct gpreempt_node *gn);
bool gpreempt_tunables_tells_doorbells(const struct gpreempt_node *gn);
bool gpreempt_tunables_wants_doorbells(bool on);
const struct gpreempt_policy_ops *gpreempt_tunables_policy(const struct gpreempt_node *gn);

#endif /* GPREEMPT_TUNABLES_H */
