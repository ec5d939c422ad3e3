/* SPDX-License-Identifier: MIT */
/*
 * wave.h - dispatches, and the waves that execute them
 */
#ifndef VGPU_WAVE_H
#define VGPU_WAVE_H

#include "bounds.h"
#include "list.h"
#include "isa.h"

struct vgpu_queue;
struct vgpu_saved_hwregs;

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

#endif /* VGPU_WAVE_H */
