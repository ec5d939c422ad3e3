/* SPDX-License-Identifier: MIT */
/* workgroup.h - workgroups on the shader cores, without a device */
#ifndef WORKGROUP_H
#define WORKGROUP_H

#include "../../model/isa.h"

u64 random64(void);	/* the same ones in each run */

/**
 * workgroup_run() - run a workgroup from its first to its last instruction
 * @machine: memory, time and apertures
 * @code: its kernel
 * @launch: its dispatch, whose scratch memory is for one workgroup
 * @wg: its number in each dimension
 * @lds_bytes: LDS that it has
 *
 * Waves take turns of any length, so in the middle of everything.
 *
 * Return: false if one halted; why is said.
 */
bool workgroup_run(const struct vgpu_isa *machine, const struct vgpu_kernel_code *code, const struct vgpu_isa_launch *launch,
		   const u32 wg[3], u32 lds_bytes);

#endif /* WORKGROUP_H */
