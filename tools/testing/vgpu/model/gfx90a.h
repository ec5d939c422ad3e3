/* SPDX-License-Identifier: MIT */
/*
 * gfx90a.h - the register numbers and packet codes of gfx90a that the device model gives a meaning to
 *
 * Dword indices in BAR5 (IP base plus offset). Every other register is plain memory.
 */
#ifndef VGPU_GFX90A_H
#define VGPU_GFX90A_H

/* IP bases, in dwords */
#define GC_BASE0			0x2000
#define GC_BASE1			0xa000
#define MMHUB_BASE0			0x1a000
#define ATHUB_BASE0			0x0c20
#define OSSSYS_BASE0			0x10a0

/* graphics core */
#define REG_GRBM_GFX_CNTL		(GC_BASE0 + 0x0022)	/* pipe 1:0, me 3:2, vmid 7:4, queue 10:8 */
#define REG_SPI_CSQ_WF_ACTIVE_STATUS	(GC_BASE0 + 0x04db)
#define REG_SPI_CSQ_WF_ACTIVE_COUNT_0	(GC_BASE0 + 0x04dc)	/* eight of them, one per queue of the selected pipe */
#define REG_CPC_INT_STATUS		(GC_BASE0 + 0x10b5)
#define REG_CP_IQ_WAIT_TIME2		(GC_BASE0 + 0x10b0)
#define REG_HQD_FIRST			(GC_BASE0 + 0x1245)	/* CP_MQD_BASE_ADDR */
#define REG_HQD_LAST			(GC_BASE0 + 0x127c)	/* CP_HQD_PQ_WPTR_HI */
#define REG_SCRATCH_REG0		(GC_BASE1 + 0x2040)
#define REG_GRBM_GFX_INDEX		(GC_BASE1 + 0x2200)	/* se 23:16, all se 31 */

/*
 * A hardware queue descriptor: the banked registers CP_MQD_BASE_ADDR .. CP_HQD_PQ_WPTR_HI. Dword i of a bank is dword
 * HQD_IN_MQD + i of the memory queue descriptor.
 */
#define HQD_REGS			(REG_HQD_LAST - REG_HQD_FIRST + 1)
#define HQD_IN_MQD			0x80
#define HQD_MQD_BASE_LO			0x00
#define HQD_MQD_BASE_HI			0x01
#define HQD_ACTIVE			0x02
#define HQD_VMID			0x03
#define HQD_PERSISTENT_STATE		0x04
#define HQD_PIPE_PRIORITY		0x05
#define HQD_QUEUE_PRIORITY		0x06
#define HQD_QUANTUM			0x07
#define HQD_PQ_BASE_LO			0x08
#define HQD_PQ_BASE_HI			0x09
#define HQD_PQ_RPTR			0x0a
#define HQD_PQ_RPTR_REPORT_LO		0x0b
#define HQD_PQ_RPTR_REPORT_HI		0x0c
#define HQD_PQ_WPTR_POLL_LO		0x0d
#define HQD_PQ_WPTR_POLL_HI		0x0e
#define HQD_PQ_DOORBELL_CONTROL		0x0f
#define HQD_PQ_CONTROL			0x11
#define HQD_DEQUEUE_REQUEST		0x18
#define HQD_CTX_SAVE_BASE_LO		0x2b
#define HQD_CTX_SAVE_BASE_HI		0x2c
#define HQD_CTX_SAVE_CONTROL		0x2d
#define HQD_CNTL_STACK_OFFSET		0x2e
#define HQD_CNTL_STACK_SIZE		0x2f
#define HQD_WG_STATE_OFFSET		0x30
#define HQD_CTX_SAVE_SIZE		0x31
#define HQD_AQL_CONTROL			0x35
#define HQD_PQ_WPTR_LO			0x36
#define HQD_PQ_WPTR_HI			0x37

#define HQD_PERSISTENT_QSWITCH_MODE	(1u << 30)		/* save waves at dequeue */
#define HQD_DOORBELL_OFFSET_MASK	0x0ffffffcu		/* byte offset in the doorbell BAR */

/* GPUVM, graphics hub and memory hub; contexts are one (CNTL) or two (addresses) dwords apart */
#define REG_GCVM_CONTEXT0_CNTL		(GC_BASE0 + 0x0880)	/* enable 0, depth 2:1, block size 6:3 */
#define REG_GCVM_CONTEXT0_BASE_LO	(GC_BASE0 + 0x08eb)
#define REG_GCVM_CONTEXT0_START_LO	(GC_BASE0 + 0x090b)
#define REG_GCVM_CONTEXT0_END_LO	(GC_BASE0 + 0x092b)
#define REG_GCMC_FB_OFFSET		(GC_BASE0 + 0x096b)
#define REG_GCMC_FB_LOCATION_BASE	(GC_BASE0 + 0x0980)
#define REG_GCMC_FB_LOCATION_TOP	(GC_BASE0 + 0x0981)
#define REG_MMVM_CONTEXT0_CNTL		(MMHUB_BASE0 + 0x0bc0)
#define REG_MMVM_CONTEXT0_BASE_LO	(MMHUB_BASE0 + 0x0c2b)
#define REG_MMVM_CONTEXT0_START_LO	(MMHUB_BASE0 + 0x0c4b)
#define REG_MMVM_CONTEXT0_END_LO	(MMHUB_BASE0 + 0x0c6b)
#define REG_MMMC_FB_OFFSET		(MMHUB_BASE0 + 0x0cab)
#define REG_MMMC_FB_LOCATION_BASE	(MMHUB_BASE0 + 0x0cc0)
#define REG_MMMC_FB_LOCATION_TOP	(MMHUB_BASE0 + 0x0cc1)
#define REG_ATC_VMID0_PASID_MAPPING	(ATHUB_BASE0 + 0x000c)	/* pasid 15:0, valid 31 */
#define REG_IH_VMID_0_LUT		(OSSSYS_BASE0 + 0x0000)

/* SDMA, per engine: a ring and a paging ring */
#define SDMA_ENGINES			5
#define SDMA0_REGS			0x01260
#define SDMA1_REGS			0x01860
#define SDMA2_REGS			0x1e000
#define SDMA3_REGS			0x1e400
#define SDMA4_REGS			0x1e800
#define SDMA_GFX_RB			0x0080			/* first register of the ring's group */
#define SDMA_PAGE_RB			0x00e0
#define SDMA_RB_CNTL			0x00
#define SDMA_RB_BASE			0x01
#define SDMA_RB_BASE_HI			0x02
#define SDMA_RB_RPTR			0x03
#define SDMA_RB_RPTR_HI			0x04
#define SDMA_RB_WPTR			0x05
#define SDMA_RB_WPTR_HI			0x06
#define SDMA_RB_RPTR_ADDR_HI		0x08
#define SDMA_RB_RPTR_ADDR_LO		0x09
#define SDMA_RB_DOORBELL		0x12			/* enable 28 */
#define SDMA_RB_DOORBELL_OFFSET		0x2b			/* byte offset 27:2 */

/* interrupt clients and sources */
#define IH_CLIENT_GRBM_CP		0x14
#define IH_CLIENT_UTCL2			0x1b
#define IH_CLIENT_VMC			0x12
#define IH_SRC_CP_EOP			181
#define IH_SRC_CP_IB2_INTERRUPT		178
#define IH_SRC_SDMA_TRAP		224

#endif /* VGPU_GFX90A_H */
