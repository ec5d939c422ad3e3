/* SPDX-License-Identifier: MIT */
/*
 * regs.h - state of the register file that is not a plain register (regs.c), and what the VBIOS has to know
 */
#ifndef VGPU_REGS_H
#define VGPU_REGS_H

#include "os.h"

/* First of the scratch registers in which VBIOS and driver leave notes for each other */
#define REG_BIOS_SCRATCH_0		0x004c

/* Address of VRAM in the device's own address space */
#define VGPU_FB_BASE			0x8000000000ULL

#define VGPU_MAX_SE			8
#define VGPU_INDIRECT_SLOTS		1024	/* power of two; the driver uses some tens */

/**
 * struct vgpu_reg_extra - beside the plain registers, under the model's lock
 * @user_cu_mask: GC_USER_SHADER_ARRAY_CONFIG by shader engine
 * @indirect_key: address + 1 of registers reached through PCIE_INDEX2/DATA2, 0: free
 * @indirect_value: their values
 */
struct vgpu_reg_extra {
	u32 user_cu_mask[VGPU_MAX_SE];
	u32 indirect_key[VGPU_INDIRECT_SLOTS];
	u32 indirect_value[VGPU_INDIRECT_SLOTS];
};

#endif /* VGPU_REGS_H */
