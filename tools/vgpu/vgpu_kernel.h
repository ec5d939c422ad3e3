/* SPDX-License-Identifier: MIT */
/*
 * vgpu_kernel.h - what the virtual GPU executes (shared by the device model and by guest programs)
 *
 * Machine code is executed (model/isa.h), but tests want kernels of a known duration that cost the
 * host nothing. The kernel_object of an AQL dispatch points then, in GPU-visible memory, at a
 * struct vgpu_kernel instead of a kernel descriptor; its kernarg_address at a struct vgpu_kernargs.
 * Every wave of the grid (64 work-items) performs @steps steps of @step_ns of GPU time; at the end
 * of step s, wave w adds one to the u32 at counters[w * steps + s]. A step is the unit of work
 * whose "exactly once" the tests check: after completion each counter holds 1; 0 is lost work, 2
 * and more is work done twice.
 */
#ifndef VGPU_KERNEL_H
#define VGPU_KERNEL_H

#include <linux/types.h>

#define VGPU_KERNEL_MAGIC	0x6b65726e75706776ULL	/* "vgpukern" in memory */
#define VGPU_KERNEL_VERSION	1
#define VGPU_WAVE_LANES		64

/**
 * struct vgpu_kernel - a model kernel, 64-byte aligned
 * @magic: VGPU_KERNEL_MAGIC; in a kernel descriptor these eight bytes are sizes, and could not be
 *	that large
 * @version: VGPU_KERNEL_VERSION
 * @steps: steps of each wave, at least 1
 * @step_ns: GPU time of a step of a resident wave, in nanoseconds
 * @vgprs: vector registers per lane (occupancy and save size); 0 means 32
 * @lds_bytes: LDS per workgroup; 0 means none
 * @reserved: must be zero
 */
struct vgpu_kernel {
	__u64 magic;
	__u32 version;
	__u32 steps;
	__u64 step_ns;
	__u32 vgprs;
	__u32 lds_bytes;
	__u64 reserved[4];
};

/**
 * struct vgpu_kernargs - argument segment of a model kernel
 * @counters: GPU virtual address of u32[waves * steps]; 0 means that the kernel counts nothing
 * @flag: GPU virtual address of a u64 that every wave polls before its first step until it is
 *	non-zero; 0 means none. A waiting wave occupies its slot.
 * @steps: for machine code that does what a model kernel does; the model does not look at it
 * @step_ticks: the same: GPU time of a step, in ticks of the 100 MHz clock
 */
struct vgpu_kernargs {
	__u64 counters;
	__u64 flag;
	__u64 steps;
	__u64 step_ticks;
};

#endif /* VGPU_KERNEL_H */
