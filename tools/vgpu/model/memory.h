/* SPDX-License-Identifier: MIT */
/*
 * memory.h - address spaces, translations and their faults
 */
#ifndef VGPU_MEMORY_H
#define VGPU_MEMORY_H

#include "vgpu_model.h"

/* An address space: the hub that an access goes through and the VMID */
#define VGPU_AS(hub, vmid)	((u32)(hub) << 8 | (vmid))
#define VGPU_AS_HUB(as)		((as) >> 8)
#define VGPU_AS_VMID(as)	((as) & 0xff)
#define VGPU_AS_KERNEL		VGPU_AS(VGPU_HUB_GFX, 0)	/* all hubs see the kernel's memory alike */

/*
 * Who a fault names: the client ids of the graphics hub; SDMA engine n of the memory hub is
 * VGPU_UTCL2_SDMA0 + n
 */
#define VGPU_UTCL2_CPC		5
#define VGPU_UTCL2_TCP		8
#define VGPU_UTCL2_SQC_INST	9
#define VGPU_UTCL2_SQC_DATA	10
#define VGPU_UTCL2_SDMA0	256

/* What a page allows */
#define VGPU_READ		1u
#define VGPU_WRITE		2u
#define VGPU_EXECUTE		4u

/*
 * Where a page is: a bus address or an offset in VRAM, or nowhere (PRT: reads 0, writes go
 * nowhere), and what may be done there
 */
struct vgpu_translation {
	u64 phys;
	bool system;
	bool nothing;
	bool refused;		/* no page will come, whoever waits */
	u8 access;
};

#define VGPU_TLB_ENTRIES	(VGPU_VMIDS * 256u)

/*
 * An entry of a TLB, void unless its generation is that of its VMID; the process had the VMID when
 * the entry was made
 */
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

#endif /* VGPU_MEMORY_H */
