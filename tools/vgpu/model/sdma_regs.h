/* SPDX-License-Identifier: MIT */
/*
 * sdma_regs.h - the registers of an SDMA ring, in whose order its MQD begins; struct vgpu_asic has
 * where the MQD has what differs from that
 */
#ifndef VGPU_SDMA_REGS_H
#define VGPU_SDMA_REGS_H

/* A ring's registers, from its first one; those that regs.c knows too are in regs.h */
#define SDMA_RB_BASE		0x01
#define SDMA_RB_BASE_HI		0x02
#define SDMA_RB_RPTR		0x03
#define SDMA_RB_RPTR_HI		0x04
#define SDMA_RB_WPTR		0x05
#define SDMA_RB_WPTR_HI		0x06
#define SDMA_RB_RPTR_ADDR_HI	0x08
#define SDMA_RB_RPTR_ADDR_LO	0x09
#define SDMA_RB_BYTES(cntl)	(4u << (((cntl) >> 1) & 0x3f))
#define SDMA_RB_VMID(cntl)	(((cntl) >> 24) & 0xf)
#define SDMA_IB_ENABLE		1u
#define SDMA_CONTEXT_EXCEPTION	0x10u		/* one of 6:4 */

#define SDMA_MQD_DWORDS		34		/* what is read of an MQD */
#define SDMA_MQD_IB_OFFSET	2		/* from the dword of IB_CNTL */
#define SDMA_MQD_IB_BASE	3
#define SDMA_MQD_IB_SIZE	5

#endif /* VGPU_SDMA_REGS_H */
