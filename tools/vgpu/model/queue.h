/* SPDX-License-Identifier: MIT */
/*
 * queue.h - queues, the runlist that maps them, and its processes
 */
#ifndef VGPU_QUEUE_H
#define VGPU_QUEUE_H

#include "wave.h"
#include "stream.h"
#include "regs.h"

/* How a queue's ring is read */
enum vgpu_queue_kind {
	VGPU_QUEUE_PM4,
	VGPU_QUEUE_AQL,
	VGPU_QUEUE_SDMA,
	VGPU_QUEUE_MES,		/* frames of the scheduler, see mes.c */
};

/* Micro engines */
#define VGPU_ME_GFX		0	/* graphics; that of SDMA queues, too, which have none */
#define VGPU_ME_COMPUTE		1	/* MEC1 */
#define VGPU_ME_MES		3

/*
 * Why a packet was refused, as amdkfd numbers the exceptions of a queue (enum
 * kfd_dbg_trap_exception_code)
 */
enum vgpu_exception {
	VGPU_EC_NONE			= 0,	/* reported in another way, as a GPUVM fault is */
	VGPU_EC_WAVE_ABORT		= VGPU_WAVE_ABORT,
	VGPU_EC_WAVE_TRAP		= VGPU_WAVE_TRAP,
	VGPU_EC_WAVE_ILLEGAL		= VGPU_WAVE_ILLEGAL_INSTRUCTION,
	VGPU_EC_WAVE_APERTURE		= VGPU_WAVE_APERTURE_VIOLATION,
	VGPU_EC_DISPATCH_DIM		= 16,
	VGPU_EC_DISPATCH_GROUP_SEGMENT	= 17,
	VGPU_EC_DISPATCH_CODE		= 18,
	VGPU_EC_PACKET_RESERVED		= 19,	/* no such packet */
	VGPU_EC_PACKET_UNSUPPORTED	= 20,	/* not in this queue */
	VGPU_EC_DISPATCH_WORK_GROUP	= 21,
	VGPU_EC_DISPATCH_REGISTER	= 22,
	VGPU_EC_VENDOR_UNSUPPORTED	= 23,
};

/*
 * What a queue does after CP_HQD_DEQUEUE_REQUEST, until CP_HQD_ACTIVE is 0; it takes no packets in
 * the meantime
 */
enum vgpu_leaving {
	VGPU_STAYS,
	VGPU_DRAINS,		/* what has begun runs to its end */
	VGPU_SAVES,		/* memory has everything; the waves hold their slots until the copy is over */
	VGPU_HANGS,		/* its waves do not let themselves be saved; a reset of the queue gets rid of them */
	VGPU_DEAD,		/* nothing but a reset of the device does, or time */
};

/**
 * struct vgpu_queue - a mapped queue; one that runs on several XCCs is mapped on each of them
 * @link: in vgpu_model.queues
 * @kind: how the ring is read
 * @hub: that its accesses go through
 * @xcc: that it is mapped on (SDMA: 0)
 * @me: micro engine of its slot
 * @pipe: pipe of the micro engine
 * @slot: queue of the pipe
 * @from_runlist: mapped by the scheduler (HIQ, MES), not by the driver through registers or KIQ
 * @is_static: not touched by an unmap of the non-static queues
 * @is_hiq: the scheduler's own
 * @gws: it has the global wave sync, which only one process has at a time
 * @pipe_priority: pipes that have more dispatch first: 0 low, 1 medium, 2 high
 * @queue_priority: queues of the same pipe that have more dispatch first: 0..15
 * @cu_mask: CUs that its waves may have, a bit each by shader engine
 * @vmid: of its memory accesses
 * @pasid: of its interrupts
 * @mqd: GPU address of the MQD in VMID 0, 0 for a ring that registers describe
 * @group: MQD of the queue's part on the first XCC of the partition: the same in all parts
 * @parts: XCCs that it runs on
 * @part: which of them this is
 * @logic_xcc: which share of a grid this one takes
 * @chunk: neighbouring workgroups of a share, 0: all are the first one's
 * @idle: a PM4 queue, which another XCC executes
 * @privileged: packets of its ring may write registers although it is a process's
 * @doorbell: byte offset in the doorbell BAR
 * @has_doorbell: it has one
 * @ring: GPU address of the ring
 * @ring_bytes: its size
 * @rptr_addr: where rptr is reported
 * @wptr_addr: where wptr is fetched at map
 * @ib: indirect buffers being read, the innermost last; their packets are not consumed yet
 * @ib_depth: how many
 * @compute: COMPUTE_* registers, set by packets and used by PM4 dispatches
 * @rptr: consumed so far, in the ring's unit (PM4: dwords, AQL: packets, SDMA: bytes)
 * @told: what of @rptr was reported since the queue was mapped, if firmware does that lazily
 * @wptr: written so far
 * @busy_until_ns: the engine works on a packet (unmap, runlist) until then
 * @head_ready_ns: first waves of the packet at the head may start then; 0: the head was not looked
 *	at yet
 * @connected_ns: when it will have been connected, while a runlist is being mapped; what it has
 *	saved is restored from then on
 * @ready_ns: no packet is looked at before (mapping, restore)
 * @stuck: reads no more packets after an error
 * @rung_ns: when the last ring was seen, by the caller's clock
 * @save_asked_ns: when it was seen that waves are to be saved, by the caller's clock: this queue's
 *	by a register, or those of processes by a packet of this HIQ; 0: there is no waiter
 * @full_until_ns: its ring is reported to be full until then (a fault of the HIQ); 0: it is not
 * @leaving: on its way off the hardware by request of a register
 * @leave_ns: end of the copy, if it saves; when it goes without anything, if it is dead
 * @abandoned: the scheduler tried to preempt it and gave up
 * @inflight: dispatches whose waves are not all done, oldest first
 * @inflight_count: how many
 * @head: dispatch of the packet at rptr that is not completely launched, also in @inflight
 * @pending: saved waves that wait for slots; they precede everything else
 * @frozen: waves that were saved and still hold their slots
 * @waves: waves in slots
 * @works_ns: since when it has had any, while it has
 * @scratch_used: parts of the scratch memory that waves have, a bit each
 * @scratch_asked: the runtime was asked for more scratch memory and has not answered
 * @engine: SDMA engine
 * @ring_id: of its interrupts (SDMA)
 * @done: SDMA: bytes of the packet at the head that are copied or filled, while it waits for a page
 * @closing: SDMA: finishes the indirect buffer that it is in and takes nothing more from its ring
 * @regs: first register of an SDMA ring or queue that registers describe, 0: an MQD does
 */
struct vgpu_queue {
	struct vgpu_list link;
	enum vgpu_queue_kind kind;
	u8 hub;
	u8 xcc;
	u8 me;
	u8 pipe;
	u8 slot;
	bool from_runlist;
	bool is_static;
	bool is_hiq;
	bool gws;
	u8 pipe_priority;
	u8 queue_priority;
	u32 cu_mask[VGPU_MAX_SE];
	u8 vmid;
	u16 pasid;
	u64 mqd;
	u64 group;
	u8 parts;
	u8 part;
	u8 logic_xcc;
	u32 chunk;
	bool idle;
	bool privileged;
	u32 doorbell;
	bool has_doorbell;
	u64 ring;
	u32 ring_bytes;
	u64 rptr_addr;
	u64 wptr_addr;
	struct vgpu_stream ib[VGPU_IB_LEVELS];
	u32 ib_depth;
	u32 compute[VGPU_COMPUTE_REGS];
	u64 rptr;
	u64 told;
	u64 wptr;
	u64 busy_until_ns;
	u64 head_ready_ns;
	u64 connected_ns;
	u64 ready_ns;
	bool stuck;
	u64 rung_ns;
	u64 save_asked_ns;
	u64 full_until_ns;
	enum vgpu_leaving leaving;
	u64 leave_ns;
	bool abandoned;
	struct vgpu_list inflight;
	u32 inflight_count;
	struct vgpu_dispatch *head;
	struct vgpu_list pending;
	struct vgpu_list frozen;
	u32 waves;
	u64 works_ns;
	u64 scratch_used[VGPU_SCRATCH_SLOTS / 64];
	bool scratch_asked;
	u32 engine;
	u32 ring_id;
	u64 done;
	bool closing;
	u32 regs;
};

/**
 * struct vgpu_map_request - what a queue is mapped with
 * @xcc: where
 * @me: micro engine of the slot (compute)
 * @pipe: pipe of the micro engine
 * @slot: queue of the pipe
 * @from_runlist: by the scheduler
 * @is_static: static queue of the runlist
 * @from_registers: the bank holds everything (KIQ); otherwise the MQD is loaded into it
 * @vmid: VMID
 * @pasid: process
 * @mqd: GPU address of the MQD; of the first XCC's if the scheduler maps it
 * @wptr_addr: where the write pointer is, in the queue's address space; MES: in the kernel's
 * @doorbell: byte offset in the doorbell BAR
 * @engine: SDMA engine
 */
struct vgpu_map_request {
	u8 xcc;
	u8 me;
	u8 pipe;
	u8 slot;
	bool from_runlist;
	bool is_static;
	bool from_registers;
	u8 vmid;
	u16 pasid;
	u64 mqd;
	u64 wptr_addr;
	u32 doorbell;
	u32 engine;
};

/* A process on an XCC */
struct vgpu_vmid {
	u16 pasid;
	bool used;
	bool retry;		/* waves wait for pages that are not there: XNACK */
	bool watched;		/* there is a watch point */
	u32 traps;		/* SPI_GDBG_PER_VMID_CNTL, see vgpu_isa_exceptions() */
	u32 watch[VGPU_WATCHES];	/* TCP_WATCHn_CNTL */
};

/* How MES was told to keep a queue off the device */
enum vgpu_suspended {
	VGPU_NOT_SUSPENDED,
	VGPU_SUSPENDED,			/* its gang by its name */
	VGPU_SUSPENDED_WITH_ALL,
};

/**
 * struct vgpu_rl_entry - a packet of the runlist: MAP_PROCESS, or MAP_QUEUES with one queue
 * @process: index in the runlist's processes
 * @is_queue: a queue; otherwise only the process, which takes a VMID whether or not queues follow
 * @mqd: GPU address of the queue's MQD
 * @wptr_addr: where its write pointer is
 * @doorbell: byte offset in the doorbell BAR
 * @engine: SDMA engine
 * @sdma: SDMA queue
 * @gfx: queue of the graphics engine
 * @is_static: static queue
 * @gws: it uses the global wave sync
 * @suspended: it keeps its place in the list, and is not mapped
 * @gang: address by which MES calls the queues that it suspends together
 */
struct vgpu_rl_entry {
	u32 process;
	bool is_queue;
	u64 mqd;
	u64 wptr_addr;
	u32 doorbell;
	u8 engine;
	bool sdma;
	bool gfx;
	bool is_static;
	bool gws;
	enum vgpu_suspended suspended;
	u64 gang;
};

/**
 * struct vgpu_rl_process - a process of the runlist
 * @pt_base: root of its page tables, as PAGE_TABLE_BASE takes it
 * @pasid: process
 * @quantum: time slice, in units of vgpu_config.quantum_ns
 * @retry: its waves wait for pages that are not there
 * @tma: SQ_SHADER_TMA, low and high word
 * @traps: SPI_GDBG_PER_VMID_CNTL
 * @watch: TCP_WATCHn_CNTL
 */
struct vgpu_rl_process {
	u64 pt_base;
	u16 pasid;
	u8 quantum;
	bool retry;
	u32 tma[2];
	u32 traps;
	u32 watch[VGPU_WATCHES];
};

#define VGPU_RL_ENTRIES		2048
#define VGPU_RL_PROCESSES	256

/**
 * struct vgpu_runlist - what HIQ's last RUN_LIST asked for
 * @process: processes
 * @processes: how many
 * @entry: processes, each followed by its queues
 * @entries: how many
 * @queues: how many of them are queues
 * @pos: first entry of the window that is mapped
 * @mapped: entries of the window
 * @max_processes: processes that may be mapped together
 * @chained: the list leads back to its beginning: what does not fit gets its turn
 * @hiq_mqd: MQD of the HIQ
 * @oversubscribed: the window moves every quantum
 * @quantum_end_ns: when
 * @added: process that MAP_QUEUES in the HIQ are of; VGPU_RL_PROCESSES: there is none
 * @added_ns: since when that has been connected
 * @added_bytes: that its queues restore
 * @again_ns: when firmware maps all of the list that is not mapped; 0: it does not
 */
struct vgpu_runlist {
	struct vgpu_rl_process process[VGPU_RL_PROCESSES];
	u32 processes;
	struct vgpu_rl_entry entry[VGPU_RL_ENTRIES];
	u32 entries;
	u32 queues;
	u32 pos;
	u32 mapped;
	u32 max_processes;
	u64 hiq_mqd;
	bool chained;
	bool oversubscribed;
	u64 quantum_end_ns;
	u32 added;
	u64 added_ns;
	u64 added_bytes;
	u64 again_ns;
};

/* What firmware leaves the times of in the MQD */
enum vgpu_stamp {
	VGPU_STAMP_CONNECT,
	VGPU_STAMP_SAVE,
	VGPU_STAMP_RESTORE,
};

#endif /* VGPU_QUEUE_H */
