/* SPDX-License-Identifier: MIT */
/*
 * model.h - the device's state and the calls between the parts of the model; nothing outside model/
 * includes it
 *
 * Register accesses come from any CPU at any time; they stay inside regs.c. Everything else belongs
 * to the one thread in vgpu_model_run() and needs no lock.
 *
 *   asic.c   what distinguishes the devices
 *   product.c  the numbers of those that can be bought
 *   discovery.c  the table that tells the driver what a device has
 *   regs.c   register file, GRBM banking, indirect registers, invalidation engines
 *   ih.c     interrupt ring
 *   gpuvm.c  address translation and memory access
 *   pm4.c    packets of kernel rings, HIQ and user PM4 queues
 *   queue.c  what a mapped queue is to all who serve it
 *   ring.c   how far queues have been read, and what they have completed
 *   mqd.c    what of a queue is in memory while it is not mapped
 *   stream.c  reading of packets
 *   cp.c     mapping and unmapping, doorbells
 *   device.c  vgpu_model_run(): calls all others, and none of them calls it
 *   hws.c    runlist, process and queue slots, rotation
 *   aql.c    AQL packets
 *   dispatch.c  dispatches, from packets of either kind
 *   wave_slots.c  wave slots and the progress of waves
 *   isa_*.c  machine code, see isa.h
 *   cwsr.c   saving waves at dequeue, restoring them at map; save_area.h says where
 *   sdma.c   SDMA rings and queues
 *   fault.c  what goes wrong on demand
 *   firmware.c  what firmware may do otherwise
 */
#ifndef VGPU_MODEL_INTERNAL_H
#define VGPU_MODEL_INTERNAL_H

#include "vgpu_model.h"
#include "regs.h"
#include "ih.h"
#include "isa.h"
#include "stream.h"

#define VGPU_MAX_CUS		128		/* of an XCC */
#define VGPU_MAX_SE		8
#define VGPU_MAX_INFLIGHT	20		/* dispatches of a queue; their records have to fit beside the control stack of 12 compute units */
#define VGPU_SDMA_ENGINES	16
#define VGPU_SDMA_RINGS		2
#define VGPU_MAX_SIMDS		(VGPU_MAX_CUS * 4)
#define VGPU_PAGE		4096u
#define VGPU_NO_INDEX		U64_MAX
#define VGPU_AGAIN_NS		20000u		/* until what waits for a page is tried again */
#define VGPU_REFERENCE_NS	10u		/* of a tick of the reference clock, 100 MHz */
#define VGPU_IB_LEVELS		2u		/* an indirect buffer may refer to another one */
#define VGPU_QUEUE_RPTR		128u		/* read_dispatch_id in amd_queue_t */
#define VGPU_AQL_DWORDS		16u		/* of an AQL packet */
#define VGPU_CU_LDS_BYTES	65536u
#define VGPU_SIMD_VGPRS		512u
#define VGPU_DOORBELL_IDLE	(~0ULL)		/* of a doorbell that was taken; no write pointer is that large */
#define VGPU_COMPUTE_REGS	80u		/* COMPUTE_DISPATCH_INITIATOR to COMPUTE_USER_DATA_15 */
#define VGPU_DISPATCH_DWORDS	5u		/* of a PM4 packet that launches something, at most */

/* COMPUTE_* registers, from the first; the MQD has them in the same order behind its header */
enum {
	VGPU_COMPUTE_START_X		= 0x04,	/* workgroups */
	VGPU_COMPUTE_NUM_THREAD_X	= 0x07,	/* work-items of a workgroup: 15:0, of the last one in a dimension: 31:16 */
	VGPU_COMPUTE_PGM_LO		= 0x0c,	/* address >> 8 */
	VGPU_COMPUTE_PGM_HI		= 0x0d,
	VGPU_COMPUTE_SCRATCH_BASE_LO	= 0x10,	/* address >> 8 */
	VGPU_COMPUTE_SCRATCH_BASE_HI	= 0x11,
	VGPU_COMPUTE_PGM_RSRC1		= 0x12,	/* granules of 8 VGPRs - 1: 5:0 */
	VGPU_COMPUTE_PGM_RSRC2		= 0x13,	/* granules of 512 bytes of LDS: 23:15 */
	VGPU_COMPUTE_TMPRING_SIZE	= 0x18,	/* waves with scratch memory: 11:0, kilobytes of each: 24:12 */
	VGPU_COMPUTE_PGM_RSRC3		= 0x2d,
	VGPU_COMPUTE_USER_DATA_0	= 0x40,	/* what scalar registers begin with; model kernels: the address of their arguments */
};

#define VGPU_SAVES_KEPT			2048u	/* their lines are shorter than what debugfs shows at once */

#define VGPU_TMPRING_WAVES(t)		((t) & 0xfff)
#define VGPU_TMPRING_WAVE_BYTES(t)	(((t) >> 12 & 0x1fff) * 1024)

/* Counters, shown by vgpu_model_print_stats() under these names */
struct vgpu_stats {
	u64 runlists;
	u64 unmaps;
	u64 unmaps_named;
	u64 maps_named;
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
	u64 faults;
	u64 queue_resets;
	u64 resets;
	u64 busy_ns;
};

/* Doubly linked list, as the kernel's */
struct vgpu_list {
	struct vgpu_list *next, *prev;
};

/* An address space: the hub that an access goes through and the VMID */
#define VGPU_AS(hub, vmid)	((u32)(hub) << 8 | (vmid))
#define VGPU_AS_HUB(as)		((as) >> 8)
#define VGPU_AS_VMID(as)	((as) & 0xff)
#define VGPU_AS_KERNEL		VGPU_AS(VGPU_HUB_GFX, 0)	/* all hubs see the kernel's memory alike */

/* Who a fault names: the client ids of the graphics hub; SDMA engine n of the memory hub is VGPU_UTCL2_SDMA0 + n */
#define VGPU_UTCL2_CPC		5
#define VGPU_UTCL2_TCP		8
#define VGPU_UTCL2_SQC_INST	9
#define VGPU_UTCL2_SQC_DATA	10
#define VGPU_UTCL2_SDMA0	256

/* What a page allows */
#define VGPU_READ		1u
#define VGPU_WRITE		2u
#define VGPU_EXECUTE		4u

/* Where a page is: a bus address or an offset in VRAM, or nowhere (PRT: reads 0, writes go nowhere), and what may be done there */
struct vgpu_translation {
	u64 phys;
	bool system;
	bool nothing;
	bool refused;		/* no page will come, whoever waits */
	u8 access;
};

#define VGPU_TLB_ENTRIES	(VGPU_VMIDS * 256u)

/* An entry of a TLB, void unless its generation is that of its VMID; the process had the VMID when the entry was made */
struct vgpu_tlb_entry {
	u64 page;
	struct vgpu_translation t;
	u32 generation;
	u16 pasid;
};

#define VGPU_TOLD_BITS		6u

/* A page that something waits for, and when the driver was told so */
struct vgpu_told {
	u64 page;
	u64 ns;
	u32 hub;
	u32 vmid;
};

/* How a queue's ring is read */
enum vgpu_queue_kind {
	VGPU_QUEUE_PM4,
	VGPU_QUEUE_AQL,
	VGPU_QUEUE_SDMA,
};

struct vgpu_queue;
struct vgpu_saved_hwregs;

/* Why a packet was refused, as amdkfd numbers the exceptions of a queue (enum kfd_dbg_trap_exception_code) */
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

/**
 * struct vgpu_launch - a dispatch as its packet describes it
 * @kernel: address of struct vgpu_kernel, or of a kernel descriptor; without an AQL packet, of the
 *	code itself
 * @kernargs: address of struct vgpu_kernargs, or of the arguments of a kernel in machine code; 0:
 *	none
 * @packet: address of an AQL packet, 0: it is none, and registers describe the dispatch
 * @registers: these, COMPUTE_* from the first one on
 * @private_bytes: scratch memory of each lane
 * @signal: completion signal, 0: none
 * @start: first workgroup in each dimension
 * @grid: work-items, those in front of @start included
 * @workgroup: work-items of a workgroup
 * @vgprs: of each lane, at least
 * @lds_bytes: of each workgroup, at least
 */
struct vgpu_launch {
	u64 kernel;
	u64 kernargs;
	u64 packet;
	const u32 *registers;
	u32 private_bytes;
	u64 signal;
	u32 start[3];
	u64 grid[3];
	u32 workgroup[3];
	u32 vgprs;
	u32 lds_bytes;
};

/* What a queue does after CP_HQD_DEQUEUE_REQUEST, until CP_HQD_ACTIVE is 0; it takes no packets in the meantime */
enum vgpu_leaving {
	VGPU_STAYS,
	VGPU_DRAINS,		/* what has begun runs to its end */
	VGPU_SAVES,		/* memory has everything; the waves hold their slots until the copy is over */
	VGPU_HANGS,		/* its waves do not let themselves be saved; a reset of the queue gets rid of them */
	VGPU_DEAD,		/* nothing but a reset of the device does, or time */
};

/**
 * struct vgpu_dispatch - a kernel dispatch whose waves are not all done; on several XCCs, a part of
 * it on each that has one
 * @link: in vgpu_queue.inflight
 * @q: its queue
 * @index: of its AQL packet; VGPU_NO_INDEX: a PM4 packet, which only the XCC that read it knows of
 * @packet_dwords: length of that one
 * @signal: completion signal, 0: none
 * @counters: kernel argument
 * @flag: kernel argument
 * @step_ns: duration of a step of the kernel
 * @steps: of each wave
 * @vgprs: of each lane, as allocated
 * @acc: accumulation registers begin here
 * @lds_bytes: of each workgroup
 * @start: number in each dimension of the first workgroup, if it executes machine code; waves of
 *	other kernels are counted through
 * @groups: workgroups from there to the end of the grid, in the first two dimensions
 * @xccs: that the grid is spread over
 * @xcc: which of them this is
 * @chunk: neighbouring workgroups that one of them takes before it is the next one's turn
 * @workgroups: those of this XCC, numbered through
 * @wg_waves: waves of each workgroup
 * @last_wg_waves: waves of the last one
 * @next_wg: first workgroup that was not launched
 * @waves_done: waves that ended
 * @start_ns: when the first one started
 * @hung: its waves never end
 * @halted: its waves halt as they start: they cannot read their arguments or fetch their
 *	instructions
 * @machine_code: its waves execute @code; the members about steps mean nothing
 * @code: its kernel
 * @launch: what the registers of its waves begin with
 * @scratch_waves: waves of the queue that can have scratch memory, 0: it needs none
 * @scratch_wave_bytes: scratch memory of each
 * @open: group that takes further workgroups of the same instant
 * @open_pass: launch pass in which @open is valid
 */
struct vgpu_dispatch {
	struct vgpu_list link;
	struct vgpu_queue *q;
	u64 index;
	u32 packet_dwords;
	u64 signal;
	u64 counters;
	u64 flag;
	u64 step_ns;
	u32 steps;
	u32 vgprs;
	u32 acc;
	u32 lds_bytes;
	u32 start[3];
	u32 groups[2];
	u32 xccs;
	u32 xcc;
	u32 chunk;
	u32 workgroups;
	u32 wg_waves;
	u32 last_wg_waves;
	u32 next_wg;
	u32 waves_done;
	u64 start_ns;
	bool hung;
	bool halted;
	bool machine_code;
	struct vgpu_kernel_code code;
	struct vgpu_isa_launch launch;
	u32 scratch_waves;
	u32 scratch_wave_bytes;
	struct vgpu_group *open;
	u64 open_pass;
};

/**
 * struct vgpu_group - neighbouring waves of a dispatch in lockstep, whole workgroups; one workgroup
 * if it executes machine code
 * @link: in vgpu_model.groups (by @end_ns), vgpu_model.waiting, vgpu_model.halted,
 *	vgpu_queue.frozen, or vgpu_queue.pending (no slots)
 * @d: their dispatch
 * @first: first wave
 * @waves: how many
 * @step: step they are in
 * @left_ns: of it when they got their slots
 * @end_ns: when it ends
 * @waiting: for the flag, or for ever
 * @halted: for ever, after a memory violation; it keeps its slots
 * @wg: state of the waves if they execute machine code
 * @simd: SIMD of each wave, by number in the XCC; there is room for all slots of an XCC
 */
struct vgpu_group {
	struct vgpu_list link;
	struct vgpu_dispatch *d;
	u32 first;
	u32 waves;
	u32 step;
	bool waiting;
	bool halted;
	u64 left_ns;
	u64 end_ns;
	struct vgpu_workgroup *wg;
	u16 simd[];
};

/**
 * struct vgpu_workgroup - waves that execute machine code, and what they share
 * @m: the device
 * @bytes: size of all this, registers and LDS included
 * @lds: local data share
 * @waves: how many
 * @wave: their state
 */
struct vgpu_workgroup {
	struct vgpu_model *m;
	u64 bytes;
	u8 *lds;
	u32 waves;
	struct vgpu_wave wave[];
};

enum vgpu_workgroup_state {
	VGPU_WORKGROUP_RUNS,
	VGPU_WORKGROUP_ENDED,
	VGPU_WORKGROUP_HALTED,
};

#define VGPU_PASIDS		1024u		/* PASIDs whose work is counted apart */
#define VGPU_INSTRUCTION_STEPS	64u		/* what an instruction of a wave counts in vgpu_model.budget */

/**
 * struct vgpu_queue - a mapped queue; one that runs on several XCCs is mapped on each of them
 * @link: in vgpu_model.queues
 * @kind: how the ring is read
 * @hub: that its accesses go through
 * @xcc: that it is mapped on (SDMA: 0)
 * @me: micro engine of its slot (0: SDMA)
 * @pipe: pipe of the micro engine
 * @slot: queue of the pipe
 * @from_runlist: mapped by the scheduler (HIQ), not by the driver through registers or KIQ
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
 * @wptr_addr: where the write pointer is, in the queue's address space
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

/**
 * struct vgpu_rl_entry - a packet of the runlist: MAP_PROCESS, or MAP_QUEUES with one queue
 * @process: index in the runlist's processes
 * @is_queue: a queue; otherwise only the process, which takes a VMID whether or not queues follow
 * @mqd: GPU address of the queue's MQD
 * @wptr_addr: where its write pointer is
 * @doorbell: byte offset in the doorbell BAR
 * @engine: SDMA engine
 * @sdma: SDMA queue
 * @is_static: static queue
 * @gws: it uses the global wave sync
 */
struct vgpu_rl_entry {
	u32 process;
	bool is_queue;
	u64 mqd;
	u64 wptr_addr;
	u32 doorbell;
	u8 engine;
	bool sdma;
	bool is_static;
	bool gws;
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
	struct vgpu_runlist runlist;
	struct vgpu_simd simd[VGPU_MAX_SIMDS];
	u32 lds_free[VGPU_MAX_CUS];
	u64 cu_started[VGPU_MAX_CUS];
	u32 slots_busy;
	u32 next_cu;
	u32 gws[VGPU_GWS];
};

/**
 * struct vgpu_model - the device
 * @config: as given to vgpu_model_create()
 * @ops: as given to vgpu_model_create()
 * @ctx: as given to vgpu_model_create()
 * @regs: register file (its own lock; see regs.h)
 * @ih: interrupt ring
 * @now_ns: device time of the event being handled
 * @queues: mapped queues and rings; the one that launched last is at the end
 * @xcc: its XCCs, config.xccs of them
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
	struct vgpu_list queues;
	struct vgpu_xcc *xcc;
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
	bool state_lost;
	bool reported;
	struct vgpu_stats stats;
	u64 busy_ns[VGPU_PASIDS];
	u32 save_ns[VGPU_SAVES_KEPT];
};

static inline void vgpu_list_init(struct vgpu_list *head)
{
	head->next = head;
	head->prev = head;
}

static inline bool vgpu_list_empty(const struct vgpu_list *head)
{
	return head->next == head;
}

/* Before @pos; at the end of the list if @pos is its head */
static inline void vgpu_list_add(struct vgpu_list *entry, struct vgpu_list *pos)
{
	entry->next = pos;
	entry->prev = pos->prev;
	pos->prev->next = entry;
	pos->prev = entry;
}

static inline void vgpu_list_del(struct vgpu_list *entry)
{
	entry->prev->next = entry->next;
	entry->next->prev = entry->prev;
}

/* A queue whose state is saved with its waves: the kernel's rings have none */
/* What waves see: the host's time may have gone on since the model began to look at what is due */
static inline u64 vgpu_now_ns(const struct vgpu_model *m)
{
	u64 now = m->ops->now_ns(m->ctx);

	return now > m->now_ns ? now : m->now_ns;
}

static inline bool vgpu_queue_is_user_compute(const struct vgpu_queue *q)
{
	return q->kind != VGPU_QUEUE_SDMA && q->vmid;
}

/* Does its process want what it does to wait for pages? Only the hardware scheduler is told. */
static inline bool vgpu_queue_retries(const struct vgpu_model *m, const struct vgpu_queue *q)
{
	return q->from_runlist && m->xcc[q->xcc].vmid[q->vmid].retry;
}

/* regs.c */
u64 *vgpu_doorbell_at(struct vgpu_model *m, u32 doorbell);
u32 vgpu_sdma_engines(const struct vgpu_model *m);
u32 vgpu_sdma_aid(const struct vgpu_model *m, u32 engine);
u32 vgpu_sdma_engine_regs(const struct vgpu_model *m, u32 engine);
u32 vgpu_sdma_rlc_regs(const struct vgpu_model *m, u32 engine, u32 n);

/* gpuvm.c */
bool vgpu_tlb_init(struct vgpu_model *m);
void vgpu_tlb_fini(struct vgpu_model *m);
void vgpu_tlb_invalidate_mm(struct vgpu_model *m, u32 vmids);
void vgpu_tlb_invalidate_pasid(struct vgpu_model *m, u32 hub, bool all_hubs, u16 pasid);
bool vgpu_vm_mapped(struct vgpu_model *m, u32 as, u64 va);
bool vgpu_vm_executable(struct vgpu_model *m, u32 as, u64 va);
void *vgpu_vm_fetch(struct vgpu_model *m, u32 as, u64 va, u32 len);
void *vgpu_vm_ptr(struct vgpu_model *m, u32 as, u64 va, u32 len, bool write);
bool vgpu_vm_read(struct vgpu_model *m, u32 as, u64 va, void *buf, u64 len);
bool vgpu_vm_write(struct vgpu_model *m, u32 as, u64 va, const void *buf, u64 len);
bool vgpu_vm_write32(struct vgpu_model *m, u32 as, u64 va, u32 value);
bool vgpu_vm_read64(struct vgpu_model *m, u32 as, u64 va, u64 *value);
bool vgpu_vm_write64(struct vgpu_model *m, u32 as, u64 va, u64 value);

/* fault.c */
void vgpu_fault_init(struct vgpu_model *m);
bool vgpu_fault(struct vgpu_model *m, enum vgpu_fault fault);
bool vgpu_fault_on(struct vgpu_model *m, enum vgpu_fault fault, u32 xcc);

/* firmware.c */
bool vgpu_firmware(const struct vgpu_model *m, enum vgpu_firmware firmware);

/* queue.c */
u32 vgpu_queue_as(const struct vgpu_queue *q);
struct vgpu_queue *vgpu_queue_part(struct vgpu_model *m, struct vgpu_queue *q, u32 part);
struct vgpu_queue *vgpu_queue_alloc(struct vgpu_model *m, enum vgpu_queue_kind kind);
bool vgpu_queue_hung(const struct vgpu_queue *q);
void vgpu_queue_error(struct vgpu_model *m, struct vgpu_queue *q, enum vgpu_exception code, const char *what, u64 detail);
u32 vgpu_queue_doorbell_index(const struct vgpu_queue *q);
u32 vgpu_queue_rptr_dwords(const struct vgpu_queue *q);
void vgpu_queue_eop(struct vgpu_model *m, struct vgpu_queue *q, u32 source, u32 context_id);
void vgpu_queue_show(struct vgpu_model *m, const struct vgpu_queue *q);
bool vgpu_queue_runtime_read(struct vgpu_model *m, const struct vgpu_queue *q, u32 field, void *buf, u32 len);
bool vgpu_queue_runtime_tell(struct vgpu_model *m, struct vgpu_queue *q, u64 bits);

/* mqd.c */
bool vgpu_mqd_has(u32 reg);
void vgpu_mqd_load(struct vgpu_model *m, struct vgpu_queue *q);
void vgpu_mqd_save(struct vgpu_model *m, struct vgpu_queue *q);
void vgpu_mqd_save_sdma(struct vgpu_model *m, struct vgpu_queue *q);

/* ring.c */
void vgpu_ring_launched(struct vgpu_model *m, struct vgpu_queue *q);
void vgpu_ring_part_done(struct vgpu_model *m, struct vgpu_dispatch *d);
void vgpu_ring_unread(struct vgpu_model *m, struct vgpu_queue *q);
void vgpu_ring_joined(struct vgpu_model *m, struct vgpu_queue *q);
bool vgpu_ring_drained(struct vgpu_model *m, struct vgpu_queue *q);
void vgpu_ring_signal(struct vgpu_model *m, struct vgpu_queue *q, u64 signal, u64 start_ns);
void vgpu_ring_heard(struct vgpu_model *m, struct vgpu_queue *q);
void vgpu_ring_pm4_launched(struct vgpu_model *m, struct vgpu_queue *q);
void vgpu_ring_expire_full(struct vgpu_model *m, struct vgpu_queue *q);
u64 vgpu_ring_packet(const struct vgpu_queue *q, u64 index);
u64 vgpu_ring_head(struct vgpu_model *m, struct vgpu_queue *q);
void vgpu_ring_consume(struct vgpu_model *m, struct vgpu_queue *q);
struct vgpu_dispatch *vgpu_ring_find(struct vgpu_queue *q, u64 index);
void vgpu_ring_report(struct vgpu_model *m, struct vgpu_queue *q);
void vgpu_ring_report_full(struct vgpu_model *m, struct vgpu_queue *q, enum vgpu_fault fault);
void vgpu_ring_advance(struct vgpu_queue *q, u32 dwords);

/* cp.c */
void vgpu_queue_free(struct vgpu_model *m, struct vgpu_queue *q);
struct vgpu_queue *vgpu_queue_map(struct vgpu_model *m, const struct vgpu_map_request *request);
bool vgpu_queue_fetch_wptr(struct vgpu_model *m, struct vgpu_queue *q, u64 va);
void vgpu_doorbell_poll(struct vgpu_model *m, struct vgpu_queue *q);
u64 vgpu_queue_unmap(struct vgpu_model *m, struct vgpu_queue *q, bool save);
void vgpu_save_reported(struct vgpu_model *m, u64 asked_ns);

/* aql.c */
bool vgpu_aql_run(struct vgpu_model *m, struct vgpu_queue *q);

/* dispatch.c */
bool vgpu_dispatch_fits(struct vgpu_model *m, u32 waves, u32 vgprs, u32 lds_bytes);
bool vgpu_dispatch_parse(struct vgpu_model *m, struct vgpu_queue *q, const struct vgpu_launch *launch, struct vgpu_dispatch *d);
bool vgpu_dispatch_put(struct vgpu_model *m, struct vgpu_queue *q, const struct vgpu_dispatch *from);
void vgpu_dispatch_drop(struct vgpu_dispatch *d);
u32 vgpu_dispatch_slot(const struct vgpu_dispatch *d, const struct vgpu_queue *q);
u64 vgpu_dispatch_number(const struct vgpu_dispatch *d, u32 own);
void vgpu_dispatch_workgroup(const struct vgpu_dispatch *d, u32 own, u32 workgroup[3]);
bool vgpu_dispatch_own_workgroup(const struct vgpu_dispatch *d, const u32 workgroup[3], u32 *own);
u32 vgpu_dispatch_waves_of(const struct vgpu_dispatch *d, u32 workgroup);
bool vgpu_dispatch_complete(const struct vgpu_dispatch *d);

/* wave_slots.c */
bool vgpu_waves_init(struct vgpu_model *m);
void vgpu_waves_fini(struct vgpu_model *m);
bool vgpu_waves_expire(struct vgpu_model *m);
bool vgpu_waves_place(struct vgpu_model *m);
u32 vgpu_waves_slots_busy(const struct vgpu_model *m);
void vgpu_waves_release(struct vgpu_model *m, struct vgpu_group *g);
struct vgpu_group *vgpu_group_get(struct vgpu_model *m);
void vgpu_group_put(struct vgpu_model *m, struct vgpu_group *g);
void vgpu_waves_freeze(struct vgpu_model *m, struct vgpu_queue *q);
void vgpu_waves_kill(struct vgpu_model *m, struct vgpu_queue *q);

/* isa_waves.c */
struct vgpu_workgroup *vgpu_workgroup_alloc(struct vgpu_model *m, const struct vgpu_dispatch *d, u32 waves);
struct vgpu_workgroup *vgpu_workgroup_start(struct vgpu_model *m, struct vgpu_dispatch *d, u32 own, u32 waves);
void vgpu_workgroup_free(struct vgpu_queue *q, struct vgpu_workgroup *wg);
enum vgpu_workgroup_state vgpu_workgroup_run(struct vgpu_model *m, struct vgpu_group *g);
bool vgpu_wave_save(struct vgpu_model *m, u32 as, u64 va, const struct vgpu_dispatch *d, struct vgpu_wave *w);
bool vgpu_wave_restore(struct vgpu_model *m, u32 as, u64 va, const struct vgpu_dispatch *d, const struct vgpu_saved_hwregs *r,
		       struct vgpu_wave *w);

/* cwsr.c */
u64 vgpu_cwsr_ns(struct vgpu_model *m, u64 bytes);
void vgpu_stamp(struct vgpu_model *m, u64 mqd, enum vgpu_stamp what, u64 start_ns, u64 end_ns);
void vgpu_cwsr_saved(struct vgpu_model *m, u64 end_ns);
void vgpu_cwsr_discard(struct vgpu_model *m, struct vgpu_queue *q);
u64 vgpu_cwsr_save(struct vgpu_model *m, struct vgpu_queue *q);
u64 vgpu_cwsr_restore(struct vgpu_model *m, struct vgpu_queue *q);

/* pm4.c */
bool vgpu_pm4_run(struct vgpu_model *m, struct vgpu_queue *q);
int vgpu_pm4_ib(struct vgpu_model *m, struct vgpu_queue *q, const u32 *p);

/* sdma.c */
bool vgpu_sdma_run(struct vgpu_model *m, struct vgpu_queue *q);
void vgpu_sdma_poll_registers(struct vgpu_model *m);
struct vgpu_queue *vgpu_sdma_map(struct vgpu_model *m, const struct vgpu_map_request *request);

/* hws.c */
void vgpu_hws_set_resources(struct vgpu_model *m, u32 xcc, u32 vmid_mask, u64 queue_mask);
bool vgpu_hws_runlist(struct vgpu_model *m, struct vgpu_queue *hiq, u64 ib, u32 dwords, u32 process_count);
void vgpu_hws_unmap(struct vgpu_model *m, struct vgpu_queue *hiq, bool statics_too, bool by_pasid, u16 pasid, bool save);
void vgpu_hws_unmap_named(struct vgpu_model *m, struct vgpu_queue *hiq, const u32 *doorbells, u32 count, bool save);
bool vgpu_hws_map_process(struct vgpu_model *m, struct vgpu_queue *hiq, const u32 *p, u32 dwords);
bool vgpu_hws_map_queue(struct vgpu_model *m, struct vgpu_queue *hiq, const u32 *p, u32 dwords);
void vgpu_hws_quantum(struct vgpu_model *m);
u64 vgpu_hws_next_event(struct vgpu_model *m);

#endif /* VGPU_MODEL_INTERNAL_H */
