// SPDX-License-Identifier: MIT
/*
 * crowd.c - idle processes leave a device that is too small for all queues
 *
 * idle.c has the rules.
 */

/**
 * DOC: idle processes
 *
 * With more queues than slots, or more processes than VMIDs, firmware takes turns. It does not know
 * which queues have work: those of idle processes have their turns as well, milliseconds in which
 * others wait for nothing. So with ``gpreempt_idle_evict_us`` an idle process leaves the runlist
 * while not everything in it fits, and comes back when it writes a doorbell.
 *
 * A process leaves if, for ``gpreempt_idle_evict_us``, it had no packets and no waves in any of its
 * compute queues, and if its doorbells are withdrawn: then no work can come without a fault, which
 * wakes the monitor. It stays if its doorbells cannot be withdrawn, if the pointers of a queue
 * cannot be read, if one must not be taken off, or if its work was announced. All queues that leave
 * go with one runlist. They come back with one when a doorbell of their process is written, when
 * work is announced, or when there is room for all. Where there would not be room for it, others
 * that are idle leave with the same runlist. A process that has come back leaves after a second of
 * idleness as long as there is room. A runlist that finds waves of one which seemed idle brings its
 * process back.
 *
 * Priority counts. A process stays while one below it is idle and may leave, and one that outranks
 * another leaves after a second of idleness at the earliest: the pauses of a service are no reason
 * to take its place. So a low idle process lengthens the stay of others to that second. It cannot
 * keep them on the device.
 *
 * Saved is nothing, so both are what any change of the runlist is to others. Programs decide when
 * they write doorbells, so both are bounded. A process that was off for less than five times its
 * idleness leaves after twice that the next time, up to a second. All of a node together may cause
 * runlists for 2 % of the time; those for which nothing is left stay on the device, as without
 * this.
 *
 * SDMA queues are never taken off. A process that has one keeps its VMID, but not its slots.
 *
 * AMD's driver package can keep idle processes evicted by itself
 * (``amdgpu.keep_idle_process_evicted``). Then it alone does, and the kernel's log says so.
 */
#include <linux/minmax.h>

#include "core/node.h"
#include "compat/compat.h"
#include "core/demand.h"
#include "core/rooms.h"
#include "crowd.h"
#include "wake/doorbell.h"
#include "kfd_device_queue_manager.h"

/* What a runlist is taken to cost until one has been timed. */
#define CROWD_ASSUMED_PASS_NS	320000ULL
/* A process that has come back is soon looked at for so long: others may need its place. */
#define CROWD_SETTLE_NS		2000000000ULL
/*
 * Between looks while all fit that are on the device, but not those that have left; and while one
 * of them has just come back
 */
#define CROWD_NAP_NS		1000000000ULL
#define CROWD_SETTLE_NAP_NS	50000000ULL

GPREEMPT_PART(crowd_node, struct gpreempt_node, struct gpreempt_node_crowd)
GPREEMPT_PART(crowd_process, struct gpreempt_process, struct gpreempt_process_crowd)

static bool crowd_is_kept_otherwise(const struct gpreempt_queue *gq, u64 now_ns)
{
	const struct gpreempt_policy_queue *q = &gq->policy;

	return !gq->priority.derived || q->set.unseen || q->set.immovable || q->process->opt_out ||
	       q->set.stopped || READ_ONCE(gq->hold.any) ||
	       READ_ONCE(gq->expected_until_ns) > now_ns;
}

/* Of what is off for idleness, what was saved counts; of what is off for another reason, that. */
static bool crowd_works(const struct gpreempt_queue *gq, u64 now_ns)
{
	const struct gpreempt_policy_queue *q = &gq->policy;

	if (crowd_is_kept_otherwise(gq, now_ns) || q->seen.pending)
		return true;
	if (crowd_process(gq->process)->idle.off)
		return demand_of_preempted(q);
	return q->had_demand || q->preempted;
}

/* Returns how many queues are off the device for idleness. */
static u32 crowd_survey(struct gpreempt_node *gn, u64 now_ns)
{
	struct gpreempt_node_crowd *node = crowd_node(gn);
	struct gpreempt_queue *gq;
	u32 nr_off = 0;

	node->looks++;
	list_for_each_entry_srcu(gq, &gn->queues.list, link,
				 srcu_read_lock_held(&gn->queues.srcu)) {
		struct gpreempt_process_crowd *process = crowd_process(gq->process);

		if (process->looked != node->looks) {
			process->looked = node->looks;
			process->works = false;
			process->active_ns = 0;
			process->standing = GPREEMPT_PRIORITY_MIN;
			process->queues_off = 0;
			process->changed = false;
		}
		process->works |= crowd_works(gq, now_ns);
		process->active_ns = max(process->active_ns, gq->policy.seen.active_ns);
		process->standing = max(process->standing, gq->policy.standing);
		if (process->idle.off && gq->policy.preempted) {
			process->queues_off++;
			nr_off++;
		}
	}
	return nr_off;
}

/* Do so many of its queues and processes fit on the device? */
static bool crowd_fits(const struct gpreempt_node *gn, u32 queues, u32 processes)
{
	if (gpreempt_compat_isolates(gn->node))
		return processes <= 1;
	return processes <= max(gn->node->max_proc_per_quantum, 1U) &&
	       queues <= get_cp_queues_num(gn->node->dqm);
}

/* For so long has a process to be idle; 0: none leaves. */
static u64 crowd_idle_ns(const struct gpreempt_node *gn)
{
	if (!gn->tun.idle_ns || gn->tun.params.observe || gn->tun.wakeup == GPREEMPT_WAKEUP_POLL)
		return 0;
	if (!gpreempt_compat_withdraws())
		return gn->tun.idle_ns;
	pr_info_once("gpreempt: gpreempt_idle_evict_us is as 0: amdgpu.keep_idle_process_evicted keeps idle processes off\n");
	return 0;
}

/**
 * struct crowd - a node, as one look sees it
 * @look: what is the same for all of its processes
 * @queues: on the device, or about to come back
 * @processes: all
 * @nr_off: processes that are off for idleness
 * @lowest: the lowest standing of all
 * @lowest_idle: of those that are on the device, idle, and may leave
 * @stays: one is not, and may be idle by now
 * @settles: one has come back of late, and its doorbells are not withdrawn yet
 */
struct crowd {
	struct gpreempt_idle_look look;
	u32 queues;
	u32 processes;
	u32 nr_off;
	s32 lowest;
	s32 lowest_idle;
	bool stays;
	bool settles;
};

static void crowd_look_at(struct crowd *crowd, const struct gpreempt_process *process)
{
	const struct gpreempt_process_crowd *seen = crowd_process(process);

	crowd->look.told = gpreempt_doorbell_tells(process);
	crowd->look.works = seen->works;
	crowd->look.active_ns = seen->active_ns;
	crowd->look.outranks = seen->standing > crowd->lowest;
	crowd->look.waits_for_lower = seen->standing > crowd->lowest_idle;
}

static void crowd_return(struct gpreempt_node *gn, struct crowd *crowd,
			 struct gpreempt_process *process, u64 now_ns)
{
	struct gpreempt_process_crowd *seen = crowd_process(process);
	struct gpreempt_idle_process *idle = &seen->idle;

	crowd_look_at(crowd, process);
	if (gpreempt_idle_returns(idle, &crowd->look)) {
		gpreempt_idle_returned(idle, &crowd->look, now_ns);
		seen->changed = true;
		crowd->queues += seen->queues_off;
	}
	crowd->nr_off += idle->off;
	crowd->lowest = min(crowd->lowest, seen->standing);
	if (!idle->off && crowd->look.told && !crowd->look.works)
		crowd->lowest_idle = min(crowd->lowest_idle, seen->standing);
}

static void crowd_leave(struct gpreempt_node *gn, struct crowd *crowd,
			struct gpreempt_process *process, u64 now_ns)
{
	struct gpreempt_idle_node *costs = &crowd_node(gn)->idle;
	struct gpreempt_idle_process *idle = &crowd_process(process)->idle;
	u64 pass_ns = gn->policy.pass_ns ?: CROWD_ASSUMED_PASS_NS;

	crowd_look_at(crowd, process);
	if (gpreempt_idle_leaves(costs, idle, &crowd->look, now_ns)) {
		gpreempt_idle_left(costs, idle, pass_ns + gn->policy.device.connect_ns, now_ns);
		crowd_process(process)->changed = true;
		crowd->nr_off++;
	}
	crowd->stays |= !idle->off;
	crowd->settles |= !idle->off && !crowd->look.told && idle->changed_ns &&
			  now_ns - idle->changed_ns < CROWD_SETTLE_NS;
}

typedef void (*crowd_fn)(struct gpreempt_node *gn, struct crowd *crowd,
			 struct gpreempt_process *process, u64 now_ns);

/* Once for each process that the survey has seen; what has come since has the next look. */
static void crowd_for_each(struct gpreempt_node *gn, struct crowd *crowd, crowd_fn fn, u64 now_ns)
{
	struct gpreempt_node_crowd *node = crowd_node(gn);
	u64 step = ++node->steps;
	struct gpreempt_queue *gq;

	list_for_each_entry_srcu(gq, &gn->queues.list, link,
				 srcu_read_lock_held(&gn->queues.srcu)) {
		struct gpreempt_process_crowd *process = crowd_process(gq->process);

		if (process->looked != node->looks)
			continue;
		if (process->step != step)
			fn(gn, crowd, gq->process, now_ns);
		process->step = step;
	}
}

/* The policy is told. */
static bool crowd_apply(struct gpreempt_node *gn)
{
	u64 look = crowd_node(gn)->looks;
	struct gpreempt_queue *gq;
	bool changed = false;

	list_for_each_entry_srcu(gq, &gn->queues.list, link,
				 srcu_read_lock_held(&gn->queues.srcu)) {
		const struct gpreempt_process_crowd *process = crowd_process(gq->process);

		if (process->looked != look || !process->changed)
			continue;
		gq->process->idle = process->idle.off;
		gpreempt_priority_hold(gq);
		changed = true;
	}
	return changed;
}

/*
 * Which idle processes leave the device with this pass, which come back? Those that come back may
 * take the place of others: all go with one runlist. Returns true if any does.
 */
static bool crowd_look(struct gpreempt_node *gn, u64 now_ns)
{
	struct device_queue_manager *dqm = gn->node->dqm;
	struct gpreempt_node_crowd *node = crowd_node(gn);
	struct crowd crowd = {
		.look.idle_ns = crowd_idle_ns(gn),
		.lowest = GPREEMPT_PRIORITY_MAX,
		.lowest_idle = GPREEMPT_PRIORITY_MAX,
	};
	u32 queues_off = crowd_survey(gn, now_ns);

	/* A hint: it moves under dqm_lock. */
	crowd.queues = data_race(READ_ONCE(dqm->active_cp_queue_count));
	/* Likewise */
	crowd.processes = data_race(READ_ONCE(dqm->processes_count));
	crowd.look.fits = crowd_fits(gn, crowd.queues + queues_off, crowd.processes);
	crowd_for_each(gn, &crowd, crowd_return, now_ns);
	crowd.look.crowded =
		READ_ONCE(gn->hw.turns) ||
		!crowd_fits(gn, crowd.queues,
			    crowd.processes - min(crowd.processes, crowd.nr_off));
	crowd_for_each(gn, &crowd, crowd_leave, now_ns);
	node->nr_off = crowd.nr_off;
	node->waits = crowd.look.idle_ns && !crowd.look.fits && crowd.stays;
	node->crowded = crowd.look.crowded;
	node->settles = crowd.settles;
	return crowd_apply(gn);
}

/* Something is off for idleness, or may leave, for which it has to be looked. */
static inline bool crowd_watches(const struct gpreempt_node *gn)
{
	return unlikely(crowd_node(gn)->nr_off || (gn->tun.idle_ns && READ_ONCE(gn->hw.turns)));
}

/* Processes that leave or come back are sampled with all others */
static u8 crowd_hear(struct gpreempt_node *gn, u64 now_ns)
{
	bool changed = crowd_watches(gn) && crowd_look(gn, now_ns);

	/* May more of them leave? */
	gn->policy.idle_ns = crowd_watches(gn) && crowd_node(gn)->waits ? gn->tun.idle_ns : 0;
	return changed ? GPREEMPT_HEARD_NEWS : 0;
}

static void crowd_nap(struct gpreempt_node *gn, struct gpreempt_nap *nap)
{
	const struct gpreempt_node_crowd *node = crowd_node(gn);
	u64 interval_ns = gn->tun.params.interval_ns;

	if (!gn->policy.idle_ns)
		return;
	/* If nothing waits for slots there is time to find those that are idle. */
	if (!node->crowded)
		interval_ns = max(interval_ns, node->settles ? CROWD_SETTLE_NAP_NS : CROWD_NAP_NS);
	nap->ns = min(nap->ns, interval_ns);
}

const struct gpreempt_room gpreempt_room_crowd = {
	.hear = crowd_hear,
	.nap = crowd_nap,
	.parts = {
		[GPREEMPT_OF_NODE] = &crowd_node_part,
		[GPREEMPT_OF_PROCESS] = &crowd_process_part,
	},
};
