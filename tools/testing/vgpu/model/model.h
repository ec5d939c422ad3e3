/* SPDX-License-Identifier: MIT */
/*
 * model.h - the device's state and the calls between the parts of the model; nothing outside model/ includes it
 *
 * Register accesses come from any CPU at any time; they stay inside regs.c. Everything else belongs to the one thread in
 * vgpu_model_run() and needs no lock.
 *
 *   regs.c   register file, GRBM banking, indirect registers, invalidation engines
 *   ih.c     interrupt ring
 *   gpuvm.c  address translation and memory access
 *   pm4.c    packets of kernel rings, HIQ and user PM4 queues
 *   cp.c     vgpu_model_run(), hardware queues, doorbells, mapping and unmapping
 *   hws.c    runlist, process and queue slots, rotation
 *   aql.c    AQL packets
 *   waves.c  wave slots and the progress of waves
 *   cwsr.c   saving waves at dequeue, restoring them at map
 *   sdma.c   SDMA rings and queues
 */
#ifndef VGPU_MODEL_INTERNAL_H
#define VGPU_MODEL_INTERNAL_H

#include "vgpu_model.h"
#include "regs.h"
#include "ih.h"

#define VGPU_VMIDS		16
#define VGPU_FIRST_KFD_VMID	8
#define VGPU_MAX_CUS		128
#define VGPU_MAX_SIMDS		(VGPU_MAX_CUS * 4)
#define VGPU_PAGE		4096u

struct vgpu_queue;

/** struct vgpu_stats - counters; written in vgpu_model_run() only */
struct vgpu_stats {
	u64 runlists;
	u64 unmaps;
	u64 rotations;
	u64 cwsr_saves;
	u64 cwsr_restores;
	u64 saved_bytes;
	u64 waves_saved;
	u64 waves_restored;
	u64 waves_launched;
	u64 waves_done;
	u64 dispatches_done;
	u64 gpuvm_faults;
	u64 bad_packets;
	u64 bad_records;
	u64 doorbells;
};

/**
 * struct vgpu_list - doubly linked list, as the kernel's
 */
struct vgpu_list {
	struct vgpu_list *next, *prev;
};

/** enum vgpu_queue_kind - how a queue's ring is read */
enum vgpu_queue_kind {
	VGPU_QUEUE_PM4,
	VGPU_QUEUE_AQL,
	VGPU_QUEUE_SDMA,
};

struct vgpu_dispatch;

/**
 * struct vgpu_queue - a mapped queue
 * @link: in vgpu_model.queues
 * @kind: how the ring is read
 * @me: micro engine of its slot (0: SDMA); @pipe: pipe of it; @slot: queue of it
 * @from_runlist: mapped by the scheduler (HIQ), not by the driver through registers or KIQ
 * @is_static: not touched by an unmap of the non-static queues
 * @vmid: of its memory accesses; @pasid: of its interrupts
 * @mqd: GPU address of the MQD in VMID 0, 0 for a ring that registers describe
 * @doorbell: byte offset in the doorbell BAR, @has_doorbell: there is one
 * @ring: GPU address of the ring; @ring_bytes: its size
 * @rptr_addr: where rptr is reported; @wptr_addr: where wptr is fetched at map
 * @rptr: consumed so far, in the ring's unit (PM4: dwords, AQL: packets, SDMA: bytes)
 * @wptr: written so far
 * @busy_until_ns: the engine works on a packet (unmap, runlist) until then
 * @head_ready_ns: first waves of the packet at the head may start then; 0: the head was not looked at yet
 * @ready_ns: no packet is looked at before (mapping, restore)
 * @stuck: reads no more packets after an error
 * @inflight: dispatches whose waves are not all done, oldest first
 * @head: dispatch of the packet at rptr that is not completely launched, also in @inflight
 * @pending: saved workgroups that wait for slots, see cwsr.c; they precede everything else
 * @waves: waves in slots
 * @save_base: save area in the process; @save_size, @stack_size: sizes of it and of the control stack
 * @engine: SDMA engine; @ring_id: interrupt ring id of it; @regs: first register of a kernel ring, 0 for user queues
 */
struct vgpu_queue {
	struct vgpu_list link;
	enum vgpu_queue_kind kind;
	u8 me, pipe, slot;
	bool from_runlist;
	bool is_static;
	u8 vmid;
	u16 pasid;
	u64 mqd;
	u32 doorbell;
	bool has_doorbell;
	u64 ring;
	u32 ring_bytes;
	u64 rptr_addr;
	u64 wptr_addr;
	u64 rptr;
	u64 wptr;
	u64 busy_until_ns;
	u64 head_ready_ns;
	u64 ready_ns;
	bool stuck;
	struct vgpu_list inflight;
	struct vgpu_dispatch *head;
	struct vgpu_list pending;
	u32 waves;
	u64 save_base;
	u32 save_size;
	u32 stack_size;
	u32 engine;
	u32 ring_id;
	u32 regs;
};

/** struct vgpu_vmid - a process on the device */
struct vgpu_vmid {
	u64 pt_base;
	u16 pasid;
	bool used;
};

/** struct vgpu_rl_queue - a queue of the runlist, as its packet said */
struct vgpu_rl_queue {
	u64 mqd;
	u64 wptr_addr;
	u32 doorbell;
	u32 process;		/* index in the runlist's processes */
	u8 engine_sel;
	bool sdma;
	bool is_static;
};

/** struct vgpu_rl_process - a process of the runlist */
struct vgpu_rl_process {
	u64 pt_base;
	u16 pasid;
};

#define VGPU_RL_QUEUES		1024
#define VGPU_RL_PROCESSES	256

/**
 * struct vgpu_runlist - what HIQ's last RUN_LIST asked for
 * @process: processes; @queue: queues in order, those of a process are neighbours
 * @pos: first queue of the window that is mapped; @mapped: queues of the window
 * @max_processes: processes that may be mapped together
 * @oversubscribed: not everything fits, the window moves every quantum
 * @quantum_end_ns: when
 */
struct vgpu_runlist {
	struct vgpu_rl_process process[VGPU_RL_PROCESSES];
	u32 processes;
	struct vgpu_rl_queue queue[VGPU_RL_QUEUES];
	u32 queues;
	u32 pos;
	u32 mapped;
	u32 max_processes;
	bool oversubscribed;
	u64 quantum_end_ns;
};

/** struct vgpu_simd - what is free on a SIMD */
struct vgpu_simd {
	u16 waves;
	u16 vgprs;
};

/**
 * struct vgpu_model - the device
 * @config, @ops, @ctx: as given to vgpu_model_create()
 * @regs: register file (its own lock; see regs.h)
 * @ih: interrupt ring
 * @now_ns: device time of the event being handled
 */
struct vgpu_model {
	struct vgpu_config config;
	const struct vgpu_platform_ops *ops;
	void *ctx;

	struct vgpu_regs regs;
	struct vgpu_ih ih;

	/* command processor only */
	u64 now_ns;
	struct vgpu_list queues;
	struct vgpu_vmid vmid[VGPU_VMIDS];
	u32 hws_vmid_mask;
	u64 hws_queue_mask;
	struct vgpu_runlist runlist;
	struct vgpu_list groups;
	struct vgpu_simd simd[VGPU_MAX_SIMDS];
	u32 lds_free[VGPU_MAX_CUS];
	u32 slots_free;
	u32 next_cu;
	u32 next_queue;
	struct vgpu_stats stats;
};

#endif /* VGPU_MODEL_INTERNAL_H */
