/* SPDX-License-Identifier: MIT */
/*
 * idle.h - when does an idle process leave a crowded device, and when does it come back?
 *
 * The rules alone; crowd.c has what they are asked about, and does what they say.
 *
 * Pure code: see policy.h for what may be used here.
 */
#ifndef GPREEMPT_IDLE_H
#define GPREEMPT_IDLE_H

#include <linux/types.h>

/*
 * A process that rings again and again stays on the device for so long before it leaves, one that
 * has come back as long as there is room, and one that outranks another.
 */
#define GPREEMPT_IDLE_WAIT_MAX_NS	1000000000ULL
/* To leave pays if it is for so many times as long as the process was idle before. */
#define GPREEMPT_IDLE_PAYS_SHARE	5
/* Runlists for idle processes take this part of the time at most, of all processes of a node. */
#define GPREEMPT_IDLE_SHARE		50
/* What was not used of it within this time is there for many processes at once. */
#define GPREEMPT_IDLE_WINDOW_NS		1000000000ULL

/**
 * struct gpreempt_idle_node - what idle processes may cost a node
 * @paid_ns: up to this time what they have cost is paid for
 */
struct gpreempt_idle_node {
	u64 paid_ns;
};

/**
 * struct gpreempt_idle_process - a process, as these rules see it
 * @off: its queues are off the device because it is idle
 * @wait_ns: idleness after which it leaves, where that is more than the tunable says
 * @changed_ns: when it left, or came back; 0: never
 *
 * The caller provides the storage, zeroed.
 */
struct gpreempt_idle_process {
	bool off;
	u64 wait_ns;
	u64 changed_ns;
};

/**
 * struct gpreempt_idle_look - what is seen of a process
 * @idle_ns: the tunable: idleness after which it may leave; 0: no process does
 * @crowded: firmware takes turns: not everything on the device fits
 * @fits: with all processes that are off everything would fit
 * @told: the next doorbell that the process writes will be noticed
 * @works: it has work, or another reason not to be off the device for idleness
 * @outranks: it comes before another process of the node
 * @waits_for_lower: one that comes after it is idle as well, and may leave first
 * @active_ns: when it last had work
 */
struct gpreempt_idle_look {
	u64 idle_ns;
	bool crowded;
	bool fits;
	bool told;
	bool works;
	bool outranks;
	bool waits_for_lower;
	u64 active_ns;
};

bool gpreempt_idle_leaves(const struct gpreempt_idle_node *node,
			  const struct gpreempt_idle_process *process,
			  const struct gpreempt_idle_look *look, u64 now_ns);
bool gpreempt_idle_returns(const struct gpreempt_idle_process *process,
			   const struct gpreempt_idle_look *look);
void gpreempt_idle_left(struct gpreempt_idle_node *node, struct gpreempt_idle_process *process,
			u64 pass_ns, u64 now_ns);
void gpreempt_idle_returned(struct gpreempt_idle_process *process,
			    const struct gpreempt_idle_look *look, u64 now_ns);

#endif /* GPREEMPT_IDLE_H */
