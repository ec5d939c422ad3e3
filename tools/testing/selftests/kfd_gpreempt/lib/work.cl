// SPDX-License-Identifier: MIT
/*
 * work.cl - in machine code what a model kernel of the virtual GPU does (vgpu_kernel.h): waves of 64 that count each of their steps
 *
 * The arguments are a struct vgpu_kernargs. A step is less than 40 s, so that the lower half of the clock is enough.
 */

/* Longer than this no wave is without a look at the clock, unless it is off the device: that is not time of the GPU. */
#define LOOK_TICKS	100000u		/* 1 ms at 100 MHz */

kernel void work(global volatile uint *counters, global volatile ulong *flag, ulong steps, ulong step_ticks)
{
	uint left, last, now, delta, ticks = (uint)step_ticks;

	counters += (ulong)__builtin_amdgcn_workgroup_id_x() * steps;
	while (flag && !*flag)
		__builtin_amdgcn_s_sleep(100);
	for (left = (uint)steps; left; left--) {
		uint spent = 0;

		last = (uint)__builtin_amdgcn_s_memrealtime();
		do {
			__builtin_amdgcn_s_sleep(100);
			now = (uint)__builtin_amdgcn_s_memrealtime();
			delta = now - last;
			last = now;
			spent += delta < LOOK_TICKS ? delta : LOOK_TICKS;
		} while (spent < ticks);
		if (!__builtin_amdgcn_workitem_id_x())
			++*counters;
		counters++;
	}
}
