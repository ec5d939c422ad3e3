/* SPDX-License-Identifier: MIT */
/*
 * sdma_regs.h - the registers of an SDMA ring, and where its MQD has them
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
#define SDMA_RB_IB_CNTL		0x0a		/* enable 0 */
#define SDMA_RB_IB_OFFSET	0x0c		/* in dwords, of what is read next */
#define SDMA_RB_IB_BASE_LO	0x0d
#define SDMA_RB_IB_BASE_HI	0x0e
#define SDMA_RB_IB_SIZE		0x0f
#define SDMA_RB_BYTES(cntl)	(4u << (((cntl) >> 1) & 0x3f))
#define SDMA_RB_VMID(cntl)	(((cntl) >> 24) & 0xf)
#define SDMA_IB_ENABLE		1u
#define SDMA_CONTEXT_EXCEPTION	0x10u		/* one of 6:4 */

/* Dwords of the SDMA MQD that differ from the order of the registers */
#define SDMA_MQD_CONTEXT_STATUS	 17
#define SDMA_MQD_DOORBELL_OFFSET 22
#define SDMA_MQD_DONE		 32		/* MIDCMD_DATA0 and 1: bytes of the packet that was interrupted */

#endif /* VGPU_SDMA_REGS_H */
