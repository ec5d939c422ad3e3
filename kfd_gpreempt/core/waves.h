/* SPDX-License-Identifier: MIT */
/* waves.h - waves in flight, read from the device */
#ifndef GPREEMPT_WAVES_H
#define GPREEMPT_WAVES_H

#include <linux/mutex.h>
#include <linux/rtmutex.h>
#include <linux/types.h>

struct gpreempt_node;
struct gpreempt_queue;
struct gpreempt_process;

/*
 * A look costs register accesses under locks of the graphics engine, for which a pass waits: no
 * more often than that, and this part of the time at most. So fewer than one pass in a hundred
 * meets one. What was not used in this long may be used at once: a second list that follows soon
 * shows what has changed.
 */
#define GPREEMPT_WAVES_SEE_NS		100000ULL
#define GPREEMPT_WAVES_SEE_SHARE	256
#define GPREEMPT_WAVES_SEE_SAVED_NS	500000000ULL

struct kfd_cu_occupancy;

/* What waves.c keeps of a node, and writes alone. */
struct gpreempt_node_waves {
	/**
	 * @occupancy: buffer for waves in flight, one entry per hardware queue; under @pass_lock
	 */
	struct kfd_cu_occupancy *occupancy;
	/**
	 * @asking: the monitor reads waves in flight, or is about to: readers that decide nothing
	 * give way
	 */
	bool asking;
	/**
	 * @index_lock: held while registers of one XCC are read. A reader that decides nothing
	 * inherits the priority of a monitor which waits for it: where the kernel can take the CPU
	 * from a program in a call, other programs could run first, each for its time slice, while
	 * that one holds the index locks of the graphics engine
	 */
	struct rt_mutex index_lock;
	/**
	 * @see_lock: held while another than the monitor reads waves in flight. Its holder waits
	 * for nothing but the index locks of the graphics engine. Taken by suspend and reset.
	 */
	struct mutex see_lock;
	/** @see_buffer: as @occupancy, under @see_lock */
	struct kfd_cu_occupancy *see_buffer;
	/** @seen: waves of all XCCs that were seen, one entry per queue, under @see_lock */
	struct kfd_cu_occupancy *seen;
	/** @nr_slots: entries of @occupancy and @see_buffer that the driver fills: one per HQD */
	u32 nr_slots;
	/** @nr_seen: entries of @seen */
	u32 nr_seen;
	/** @see_due_ns: when registers may be read for that again; written under @see_lock */
	u64 see_due_ns;
	/** @see_paid_ns: until then the share of the time is used; under @see_lock */
	u64 see_paid_ns;
	/** @read_ns: time of the last pass that could read waves in flight */
	u64 read_ns;
	/** @asked_ns: what asking for waves in flight took in this pass; 0: the pass did not ask */
	u64 asked_ns;
	/**
	 * @epoch: runlists sent to the device, by the driver or by us; without HWS, queues that the
	 * driver took off and loads again; written under dqm_lock
	 */
	u32 epoch;
	/** @moved_ns: when @epoch last changed; written under dqm_lock */
	u64 moved_ns;
	/** @epoch_seen: @epoch when waves in flight could last be believed */
	u32 epoch_seen;
	/**
	 * @unread_ns: since when a pass that wanted them could not; 0: the last one could. The
	 * monitor's alone
	 */
	u64 unread_ns;
	/**
	 * @acted: the last pass changed the runlist itself; the monitor's alone, as the four below
	 */
	bool acted;
	/** @changed_ns: when a pass last found that the driver had changed the runlist */
	u64 changed_ns;
	/**
	 * @changing_ns: when that began, if it has not stood still since for as long as it takes to
	 * bring waves back
	 */
	u64 changing_ns;
	/**
	 * @wants_quiescence: waves could not be read for long: the next pass keeps the driver from
	 * changing the runlist
	 */
	bool wants_quiescence;
	/** @quiesce_due_ns: when it may do so again */
	u64 quiesce_due_ns;
	/** @known: waves in flight can be read on this node */
	bool known;
	/** @saved: waves are not counted: what a runlist saves tells which queue has any */
	bool saved;
	/** @counted: the counters have shown a wave of some queue, to the monitor or to LIST */
	bool counted;
	/** @recount_ns: while @saved, when registers may be read for that again */
	u64 recount_ns;
	/** @lag_ns: how far the counters were seen to lag behind what runs; 0: they were not */
	u64 lag_ns;
};

/* What waves.c keeps of a queue, and writes alone. */
struct gpreempt_queue_waves {
	/** @sum: scratch of the monitor when it reads waves in flight */
	u32 sum;
	/**
	 * @seen: waves in flight at @seen_ns; of a queue that is off the device, what it had
	 * before. Both are written under @see_lock of the node
	 */
	u32 seen;
	/** @seen_ns: when gpreempt_waves_see() last had an answer for it; 0: never */
	u64 seen_ns;
};

bool gpreempt_waves_quiescent(struct gpreempt_node *gn);
bool gpreempt_waves_quiesce(struct gpreempt_node *gn);
void gpreempt_waves_see(struct gpreempt_node *gn);
u32 gpreempt_waves_shown(const struct gpreempt_queue *gq);
void gpreempt_waves_moved(struct gpreempt_node *gn);
void gpreempt_waves_acted(struct gpreempt_node *gn);
void gpreempt_waves_begin(struct gpreempt_node *gn, u64 now_ns);
bool gpreempt_waves_read(struct gpreempt_node *gn, bool quiescent, u64 now_ns);
void gpreempt_waves_lag(struct gpreempt_node *gn);
void gpreempt_waves_uncounted(struct gpreempt_node *gn);
bool gpreempt_waves_count(struct gpreempt_node *gn, u64 now_ns);
int gpreempt_waves_init_node(struct gpreempt_node *gn);
void gpreempt_waves_free_node(struct gpreempt_node *gn);

#endif /* GPREEMPT_WAVES_H */
