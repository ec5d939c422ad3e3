/* SPDX-License-Identifier: MIT */
/*
 * device.h - the device: its compute units, what it counts, and all that it is made of
 */
#ifndef VGPU_DEVICE_H
#define VGPU_DEVICE_H

#include "ih.h"
#include "memory.h"
#include "queue.h"
#include "regs.h"

#define VGPU_SAVES_KEPT			2048u	/* their lines are shorter than what debugfs shows at once */

/* Counters, shown by vgpu_model_print_stats() under these names */
struct vgpu_stats {
	u64 runlists;
	u64 unmaps;
	u64 unmaps_named;
	u64 maps_named;
	u64 mes_frames;
	u64 mes_adds;
	u64 mes_removes;
	u64 mes_failures;
	u64 rotations;
	u64 cwsr_saves;
	u64 cwsr_restores;
	u64 saved_bytes;
	u64 save_requests;
	u64 save_device_ns;
	u64 waves_saved;
	u64 waves_restored;
	u64 waves_launched;
	u64 waves_done;
	u64 instructions;
	u64 wave_exceptions;
	u64 dispatches_done;
	u64 gpuvm_faults;
	u64 retry_faults;
	u64 tlb_hits;
	u64 tlb_misses;
	u64 stale_translations;
	u64 stale_vmids;
	u64 bad_packets;
	u64 bad_records;
	u64 doorbells;
	u64 wave_reads;
	u64 reg_reads;
	u64 mqds_written;
	u64 faults;
	u64 queue_resets;
	u64 resets;
	u64 busy_ns;
};

#define VGPU_PASIDS		1024u		/* PASIDs whose work is counted apart */
#define VGPU_MQDS_LEFT		64u		/* MQDs of which it is known how they were left */
#define VGPU_INSTRUCTION_STEPS	64u		/* what an instruction of a wave counts in vgpu_model.budget */

/* What is free on a SIMD */
struct vgpu_simd {
	u16 waves;
	u16 vgprs;
};

/**
 * struct vgpu_xcc - an accelerator complex die: compute units, and a scheduler that runs what its
 * HIQ is told
 * @vmid: who has the VMIDs
 * @hws_vmid_mask: VMIDs that the scheduler may use
 * @hws_queue_mask: slots that it may use, by pipe * 8 + queue of MEC1
 * @gfx_queue_mask: the same of the graphics engine
 * @runlist: what it is to run
 * @simd: what is free on each SIMD
 * @lds_free: what is free on each compute unit, in bytes
 * @cu_started: waves that each compute unit was given, restored ones included
 * @slots_busy: wave slots in use
 * @next_cu: where the next search for room begins
 * @gws: counters of the global wave sync
 */
struct vgpu_xcc {
	struct vgpu_vmid vmid[VGPU_VMIDS];
	u32 hws_vmid_mask;
	u64 hws_queue_mask;
	u64 gfx_queue_mask;
	struct vgpu_runlist runlist;
	struct vgpu_simd simd[VGPU_MAX_SIMDS];
	u32 lds_free[VGPU_MAX_CUS];
	u64 cu_started[VGPU_MAX_CUS];
	u32 slots_busy;
	u32 next_cu;
	u32 gws[VGPU_GWS];
};

#define VGPU_MES_FENCES		64u

/**
 * struct vgpu_mes - MES
 * @begun: the frame at the head of its ring is being carried out
 * @answers: and will get its fence
 * @saved_ns: when what it was told to suspend last is saved
 * @fence: fences of SUSPEND that are due later
 * @fence.at_ns: when, 0: there is none
 * @fence.addr: where, in the kernel's address space
 * @fence.value: what
 */
struct vgpu_mes {
	bool begun;
	bool answers;
	u64 saved_ns;
	struct {
		u64 at_ns, addr, value;
	} fence[VGPU_MES_FENCES];
};

/**
 * struct vgpu_model - the device
 * @config: as given to vgpu_model_create()
 * @ops: as given to vgpu_model_create()
 * @ctx: as given to vgpu_model_create()
 * @regs: register file (its own lock; see regs.h)
 * @ih: interrupt ring
 * @now_ns: device time of the event being handled
 * @ended_ns: when the last completion was stamped, by the caller's clock
 * @queues: mapped queues and rings; the one that launched last is at the end
 * @xcc: its XCCs, config.xccs of them
 * @mes: its MES, if that schedules it
 * @groups: waves in slots, by end of their step
 * @waiting: waves in slots that wait for their flag
 * @halted: waves in slots that do nothing any more
 * @free_groups: unused group objects
 * @budget: wave steps that this run may still end
 * @executed: instructions of waves in this run
 * @execute_ns: machine code stands still until then
 * @run_until_ns: when this run shall end even if @budget is left, by the caller's clock
 * @ran_ns: end of the last run, by the caller's clock
 * @credit_ns: time that it has slept less what it has run for; below 0 it has to sleep
 * @pass: number of the launch pass
 * @place: there may be something to launch
 * @sdma_ring: the kernel's rings
 * @sdma_rlc: user queues that the driver wrote into registers
 * @sdma_rlcs: how many
 * @slots: wave slots of an XCC
 * @tlb: translations of each hub, VGPU_TLB_ENTRIES of them
 * @client: who accesses memory now, as a fault tells it (VGPU_UTCL2_*)
 * @nothing: what is behind a PRT mapping, until the next access
 * @retry: who accesses memory now waits for a page if there is none
 * @retried: it has to
 * @told: pages that are waited for
 * @last_fault: a fault that repeats at the same instant is counted but reported once
 * @fault_left: how many more times a fault happens
 * @fault_value: numbers that belong to faults
 * @fault_xcc: where faults of a scheduler happen
 * @saved_mqd: of the queue that was saved last of those that are not mapped again; 0: none
 * @saved_before: the same of the one before
 * @saving: MQDs of the queues whose waves are being saved, until it is known when that ends
 * @saving_count: how many
 * @left: MQDs as the scheduler left them when it unmapped their queues last: a checksum
 * @left_next: which of them the next one is written over
 * @state_lost: the device resets itself at the end of this run
 * @reported: that waves are saved was reported last; what else was to be done at @now_ns is done in
 *	the next run
 * @stats: counters
 * @busy_ns: of each PASID: time for which its compute queues had waves, added up; those of PASIDs that are larger are at 0
 * @save_ns: what each of the last @stats.save_requests took, as @stats.save_device_ns has it; request n is at n modulo the length
 */
struct vgpu_model {
	struct vgpu_config config;
	const struct vgpu_platform_ops *ops;
	void *ctx;

	struct vgpu_regs regs;
	struct vgpu_ih ih;

	/* command processor only */
	u64 now_ns;
	u64 ended_ns;
	struct vgpu_list queues;
	struct vgpu_xcc *xcc;
	struct vgpu_mes mes;
	struct vgpu_list groups;
	struct vgpu_list waiting;
	struct vgpu_list halted;
	struct vgpu_list free_groups;
	u32 budget;
	u32 executed;
	u64 execute_ns;
	u64 run_until_ns;
	u64 ran_ns;
	s64 credit_ns;
	u64 pass;
	bool place;
	struct vgpu_queue *sdma_ring[VGPU_SDMA_ENGINES][VGPU_SDMA_RINGS];
	struct vgpu_queue *sdma_rlc[VGPU_SDMA_ENGINES][VGPU_SDMA_RLCS];
	u32 sdma_rlcs;
	u32 slots;
	struct vgpu_tlb_entry *tlb[VGPU_HUBS];
	bool retry;
	bool retried;
	struct vgpu_told told[1u << VGPU_TOLD_BITS];
	u32 client;
	u64 nothing[VGPU_PAGE / sizeof(u64)];
	struct {
		u64 page;
		u64 ns;
		u32 hub;
		u32 vmid;
	} last_fault;
	u32 fault_left[VGPU_FAULTS];
	u64 fault_value[VGPU_FAULTS];
	u32 fault_xcc;
	u64 saved_mqd;
	u64 saved_before;
	u64 saving[VGPU_PIPES * VGPU_QUEUES];
	u32 saving_count;
	struct {
		u64 mqd;
		u64 sum;
	} left[VGPU_MQDS_LEFT];
	u32 left_next;
	bool state_lost;
	bool reported;
	struct vgpu_stats stats;
	u64 busy_ns[VGPU_PASIDS];
	u32 save_ns[VGPU_SAVES_KEPT];
};

#endif /* VGPU_DEVICE_H */
