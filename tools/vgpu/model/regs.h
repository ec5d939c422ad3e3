/* SPDX-License-Identifier: MIT */
/*
 * regs.h - registers of the virtual GPU by dword index in BAR5, and the register file
 *
 * The numbers are those of gfx9. Where a device has a register is in asic.c: vgpu_place_of(). Those
 * that even gfx90a and gfx942 have at different places are members of struct vgpu_asic.
 *
 * Every register is plain memory unless regs.c gives it a meaning. The register file has its own
 * lock: the driver reaches it from any context, the command processor from vgpu_model_run();
 * neither waits for the other.
 */
#ifndef VGPU_REGS_H
#define VGPU_REGS_H

#include "vgpu_model.h"

#define VGPU_VMIDS		16
#define VGPU_NO_XCC		0xffu
#define VGPU_NO_REG		0xffffffffu

/* Bases of the blocks */
#define VGPU_BASE_GC0		0x2000u
#define VGPU_BASE_GC1		0xa000u
#define VGPU_BASE_NBIO2		0x0d20u
#define VGPU_BASE_OSSSYS	0x10a0u
#define VGPU_BASE_ATHUB		0x0c20u
#define VGPU_BASE_MMHUB_942	0x14000u

/*
 * Eight user queues of each SDMA engine (RLC0 to RLC7), described by the same registers as the
 * engine's rings, which the driver writes without the hardware scheduler. (KFD's offsets on this
 * ASIC; amdgpu has others for its second ring.)
 */
#define VGPU_SDMA_RLCS		8u
#define VGPU_SDMA_RLC_FIRST	0x130u		/* from the engine's base */
#define VGPU_SDMA_RLC_REGS	0x58u		/* from one queue to the next */
#define VGPU_SDMA_RB_CNTL	0x00u		/* enable 0, log2 of dwords 6:1, vmid 27:24 */
#define VGPU_SDMA_CONTEXT_STATUS 0x11u		/* idle 2, exception 6:4 */
#define VGPU_SDMA_DOORBELL	0x12u		/* enable 28 */
#define VGPU_SDMA_DOORBELL_OFFSET 0x2bu		/* in bytes, 27:2 */
#define VGPU_SDMA_RB_ENABLE	0x00000001u
#define VGPU_SDMA_CONTEXT_IDLE	0x00000004u
#define VGPU_SDMA_DOORBELL_ENABLE 0x10000000u

/* NBIO */
#define VGPU_MM_INDEX		0x0000u		/* bit 31: DATA is VRAM, not a register */
#define VGPU_MM_DATA		0x0001u
#define VGPU_MM_INDEX_HI	0x0006u
#define VGPU_PCIE_INDEX2	0x000eu
#define VGPU_PCIE_DATA2		0x000fu
#define VGPU_BIOS_SCRATCH_0	0x004cu
#define VGPU_RCC_CONFIG_MEMSIZE	(VGPU_BASE_NBIO2 + 0x00c3u)
#define VGPU_HDP_FLUSH_DONE	(VGPU_BASE_NBIO2 + 0x0107u)

#define VGPU_ATC_PASID_VALID	0x80000000u	/* in ATC_VMIDn_PASID_MAPPING, which asic.c knows the place of */

/* OSSSYS: which process a VMID belongs to */
#define VGPU_IH_VMID_0_LUT	(VGPU_BASE_OSSSYS + 0x0000u)	/* + vmid */
#define VGPU_IH_VMID_0_LUT_MM	(VGPU_BASE_OSSSYS + 0x0010u)
#define VGPU_LUT_REGS		32u
#define VGPU_NODES		(4 * VGPU_MAX_AIDS)

/* Interrupt ring 0 */
#define VGPU_IH_RB_CNTL		(VGPU_BASE_OSSSYS + 0x0080u)
#define VGPU_IH_RB_BASE		(VGPU_BASE_OSSSYS + 0x0081u)
#define VGPU_IH_RB_BASE_HI	(VGPU_BASE_OSSSYS + 0x0082u)
#define VGPU_IH_RB_RPTR		(VGPU_BASE_OSSSYS + 0x0083u)
#define VGPU_IH_RB_WPTR		(VGPU_BASE_OSSSYS + 0x0084u)
#define VGPU_IH_RB_WPTR_ADDR_HI	(VGPU_BASE_OSSSYS + 0x0085u)
#define VGPU_IH_RB_WPTR_ADDR_LO	(VGPU_BASE_OSSSYS + 0x0086u)
#define VGPU_IH_DOORBELL_RPTR	(VGPU_BASE_OSSSYS + 0x0087u)

/*
 * Hubs translate addresses: a GFXHUB for each XCC, which its rings and queues use, and an MMHUB for
 * each I/O die (AID), which SDMA uses. The numbers below are those of gfx90a's GFXHUB;
 * vgpu_hub_reg() gives those of any hub.
 */
#define VGPU_HUB_GFX		0u		/* + XCC */
#define VGPU_HUB_MM		VGPU_MAX_XCCS	/* + AID */
#define VGPU_HUBS		(VGPU_HUB_MM + VGPU_MAX_AIDS)
#define VGPU_VM_FAULT_CNTL	(VGPU_BASE_GC0 + 0x0847u)	/* VM_L2_PROTECTION_FAULT_CNTL, bit 0: forget the fault */
#define VGPU_VM_FAULT_STATUS	(VGPU_BASE_GC0 + 0x084bu)	/* of the first fault since; bit 0: there were more */
#define VGPU_VM_FAULT_ADDR_LO	(VGPU_BASE_GC0 + 0x084cu)	/* its page */
#define VGPU_VM_FAULT_ADDR_HI	(VGPU_BASE_GC0 + 0x084du)
#define VGPU_VM_CONTEXT0_CNTL	(VGPU_BASE_GC0 + 0x0880u)	/* + vmid; bit 0: enabled, 2:1 depth, 6:3 block size */
#define VGPU_VM_INV_ENG0_SEM	(VGPU_BASE_GC0 + 0x0891u)	/* + engine */
#define VGPU_VM_INV_ENG0_REQ	(VGPU_BASE_GC0 + 0x08a3u)	/* 15:0 VMIDs, 22:18 what of them, 23: forget the fault */
#define VGPU_VM_INV_ENG0_ACK	(VGPU_BASE_GC0 + 0x08b5u)	/* 15:0 VMIDs of the last request that are done */
#define VGPU_VM_INV_ENGINES	18u
#define VGPU_VM_PT_BASE_LO	(VGPU_BASE_GC0 + 0x08ebu)	/* + 2 * vmid; HI follows */
#define VGPU_VM_PT_START_LO	(VGPU_BASE_GC0 + 0x090bu)	/* + 2 * vmid; in 4 KiB pages */
#define VGPU_VM_PT_END_LO	(VGPU_BASE_GC0 + 0x092bu)
#define VGPU_VM_FB_LOCATION_BASE (VGPU_BASE_GC0 + 0x0980u)	/* in 16 MiB */
#define VGPU_VM_FB_LOCATION_TOP	(VGPU_BASE_GC0 + 0x0981u)
#define VGPU_VM_AGP_TOP		(VGPU_BASE_GC0 + 0x0982u)
#define VGPU_VM_AGP_BOT		(VGPU_BASE_GC0 + 0x0983u)
#define VGPU_VM_AGP_BASE	(VGPU_BASE_GC0 + 0x0984u)

/* Address of VRAM in the device's own address space */
#define VGPU_FB_BASE		0x8000000000ull

/* GC */
#define VGPU_GRBM_GFX_CNTL	(VGPU_BASE_GC0 + 0x0022u)	/* 1:0 pipe, 3:2 me, 7:4 vmid, 10:8 queue */
#define VGPU_GRBM_GFX_INDEX	(VGPU_BASE_GC1 + 0x2200u)	/* 23:16 shader engine, 31: all of them */
#define VGPU_CC_SHADER_ARRAY	(VGPU_BASE_GC0 + 0x026fu)	/* 31:16 CUs of the engine that are off */
#define VGPU_USER_SHADER_ARRAY	(VGPU_BASE_GC0 + 0x0270u)
#define VGPU_SQ_SHADER_TMA_LO	(VGPU_BASE_GC0 + 0x031eu)	/* of the VMID in GRBM_GFX_CNTL: address >> 8 of what trap handlers work with */
#define VGPU_SQ_SHADER_TMA_HI	(VGPU_BASE_GC0 + 0x031fu)
#define VGPU_SPI_CSQ_STATUS	(VGPU_BASE_GC0 + 0x04dbu)
#define VGPU_SPI_CSQ_COUNT_0	(VGPU_BASE_GC0 + 0x04dcu)	/* + queue; of the pipe in GRBM_GFX_CNTL */
#define VGPU_GB_ADDR_CONFIG	(VGPU_BASE_GC0 + 0x063eu)
#define VGPU_SCRATCH_REG0	(VGPU_BASE_GC1 + 0x2040u)
#define VGPU_RLC_SAFE_MODE	(VGPU_BASE_GC1 + 0x4c05u)
#define VGPU_RLC_CLOCK_LSB	(VGPU_BASE_GC1 + 0x4c24u)
#define VGPU_RLC_CLOCK_MSB	(VGPU_BASE_GC1 + 0x4c25u)
#define VGPU_RLC_CLOCK_CAPTURE	(VGPU_BASE_GC1 + 0x4c26u)

#define VGPU_CP_MEC_CNTL	(VGPU_BASE_GC0 + 0x008du)	/* bit 16 + pipe: reset the pipe of MEC1 */
#define VGPU_SPI_QUEUE_RESET	(VGPU_BASE_GC0 + 0x11dbu)	/* bit 0: kill the waves of the queue in GRBM_GFX_CNTL */

#define VGPU_CP_PQ_WPTR_POLL	(VGPU_BASE_GC0 + 0x1084u)	/* CNTL1, bit pipe * 8 + queue: fetch once */

#define VGPU_TCP_WATCH0_ADDR_HI	(VGPU_BASE_GC0 + 0x12a0u)	/* 15:0; LO and CNTL follow, of which the packets say what is in it */
#define VGPU_TCP_WATCH_REGS	3u				/* from one watch point to the next */
#define VGPU_WATCH_VALID	0x80000000u			/* of TCP_WATCHn_CNTL */
#define VGPU_WATCH_MODE(v)	((v) >> 29 & 3)
/* 24 bits of addresses are compared if they are in 23:0, those above always, those below never */
#define VGPU_WATCH_MASK(v, shift) (((u64)((v) & 0xffffff) << (shift)) | (0xffffffffffffULL & ~0ULL << (24 + (shift))))

/*
 * Banked by me, pipe and queue in GRBM_GFX_CNTL: the hardware queue descriptor, in the order of its
 * copy in the MQD
 */
#define VGPU_HQD_FIRST		(VGPU_BASE_GC0 + 0x1245u)
#define VGPU_HQD_LAST		(VGPU_BASE_GC0 + 0x127cu)
#define VGPU_HQD_REGS		(VGPU_HQD_LAST - VGPU_HQD_FIRST + 1)
#define VGPU_MES		4
#define VGPU_PIPES		4
#define VGPU_QUEUES		8

/* Offsets in a bank */
enum vgpu_hqd_reg {
	VGPU_HQD_MQD_BASE_LO		= 0x00,
	VGPU_HQD_MQD_BASE_HI		= 0x01,
	VGPU_HQD_ACTIVE			= 0x02,
	VGPU_HQD_VMID			= 0x03,
	VGPU_HQD_PERSISTENT_STATE	= 0x04,
	VGPU_HQD_PIPE_PRIORITY		= 0x05,
	VGPU_HQD_QUEUE_PRIORITY		= 0x06,
	VGPU_HQD_PQ_BASE_LO		= 0x08,
	VGPU_HQD_PQ_BASE_HI		= 0x09,
	VGPU_HQD_PQ_RPTR		= 0x0a,
	VGPU_HQD_PQ_RPTR_REPORT_LO	= 0x0b,
	VGPU_HQD_PQ_RPTR_REPORT_HI	= 0x0c,
	VGPU_HQD_PQ_WPTR_POLL_LO	= 0x0d,
	VGPU_HQD_PQ_WPTR_POLL_HI	= 0x0e,
	VGPU_HQD_PQ_DOORBELL		= 0x0f,
	VGPU_HQD_PQ_CONTROL		= 0x11,
	VGPU_HQD_DEQUEUE_REQUEST	= 0x18,
	VGPU_HQD_ATOMIC0_PREOP_LO	= 0x1c,
	VGPU_HQD_HQ_STATUS0		= 0x20,
	VGPU_HQD_EOP_RPTR		= 0x28,
	VGPU_HQD_EOP_WPTR		= 0x29,
	VGPU_HQD_CTX_SAVE_LO		= 0x2b,
	VGPU_HQD_CTX_SAVE_HI		= 0x2c,
	VGPU_HQD_CNTL_STACK_OFFSET	= 0x2e,
	VGPU_HQD_CNTL_STACK_SIZE	= 0x2f,
	VGPU_HQD_WG_STATE_OFFSET	= 0x30,
	VGPU_HQD_CTX_SAVE_SIZE		= 0x31,
	VGPU_HQD_ERROR			= 0x33,
	VGPU_HQD_AQL_CONTROL		= 0x35,
	VGPU_HQD_PQ_WPTR_LO		= 0x36,
	VGPU_HQD_PQ_WPTR_HI		= 0x37,
};

#define VGPU_PQ_EMPTY		0x00008000u	/* of CP_HQD_PQ_CONTROL */
#define VGPU_DOORBELL_BIF_DROP	0x00000002u	/* of CP_HQD_PQ_DOORBELL_CONTROL */

/* What vgpu_hqd_take() reports */
enum vgpu_hqd_event {
	VGPU_HQD_EVENT_ACTIVATE = 1,	/* CP_HQD_ACTIVE was written 1: the queue starts with what the bank holds */
	VGPU_HQD_EVENT_DEQUEUE,		/* CP_HQD_DEQUEUE_REQUEST: stop, then clear CP_HQD_ACTIVE */
	VGPU_HQD_EVENT_DEACTIVATE,	/* CP_HQD_ACTIVE was written 0: forget the queue at once */
	VGPU_HQD_EVENT_RESET,		/* SPI_COMPUTE_QUEUE_RESET: kill its waves; if it was asked to leave, it does */
	VGPU_HQD_EVENT_PIPE_RESET,	/* CP_MEC_CNTL: the same for all queues of the pipe that were asked to leave */
};

#define VGPU_INDIRECT_SLOTS	1024u	/* power of two; the driver uses some tens */

#define VGPU_WAVES_SEEN		8u		/* changes within the lag that are told apart */
#define VGPU_WAVES_LAG_NS	100000u

/* How many waves a slot had from when on, the oldest first */
struct vgpu_waves_seen {
	u64 ns[VGPU_WAVES_SEEN];
	u32 waves[VGPU_WAVES_SEEN];
	u32 count;
};

/**
 * struct vgpu_xcc_regs - registers of an XCC that are more than memory
 * @hqd: banks of the queue registers
 * @hqd_event: pending event of a bank (enum vgpu_hqd_event, 0: none)
 * @wptr_poll: slots of MEC1 whose write pointer is to be fetched from memory, by pipe * 8 + queue
 * @waves: waves in flight by MEC1 pipe and queue, set by the command processor
 * @seen: what they were, if the registers lag behind
 * @mapped: queues that occupy a slot of MEC1, a bit each (pipe * 8 + queue)
 * @user_cu_mask: GC_USER_SHADER_ARRAY_CONFIG by shader engine
 * @tma: SQ_SHADER_TMA_LO and HI by VMID
 */
struct vgpu_xcc_regs {
	u32 hqd[VGPU_MES][VGPU_PIPES][VGPU_QUEUES][VGPU_HQD_REGS];
	u8 hqd_event[VGPU_MES][VGPU_PIPES][VGPU_QUEUES];
	u32 wptr_poll;
	u32 waves[VGPU_PIPES][VGPU_QUEUES];
	struct vgpu_waves_seen seen[VGPU_PIPES][VGPU_QUEUES];
	u32 mapped;
	u32 user_cu_mask[8];
	u32 tma[VGPU_VMIDS][2];
};

/**
 * struct vgpu_regs - the register file
 * @lock: protects everything below
 * @ram: registers by dword index
 * @count: how many
 * @xcc_of_place: which XCC is in each place, VGPU_NO_XCC: none
 * @xcc: what the XCCs have beside, as many as there are
 * @hqd_events: number of banks with a pending event
 * @lut: IH_VMID_n_LUT, then IH_VMID_n_LUT_MM, by node (vgpu_hub_node())
 * @tlb_generation: by hub and VMID: counts invalidations; a TLB's entry of another generation is
 *	void
 * @tlb_invalidations: of a VMID
 * @sdma_rlc_written: the driver wrote a register of a user queue of SDMA, and the device has not
 *	looked since then
 * @indirect_key: address + 1 of registers reached through PCIE_INDEX2/DATA2
 * @indirect_value: their values
 */
struct vgpu_regs {
	vgpu_lock_t lock;
	u32 *ram;
	u32 count;
	u8 xcc_of_place[VGPU_MAX_XCCS];
	struct vgpu_xcc_regs *xcc;
	u32 hqd_events;
	u32 lut[VGPU_NODES][VGPU_LUT_REGS];
	u32 tlb_generation[VGPU_HUBS][VGPU_VMIDS];
	u64 tlb_invalidations;
	bool sdma_rlc_written;
	u32 *indirect_key;
	u32 *indirect_value;
};

u32 vgpu_place_of(const struct vgpu_asic *asic, u32 reg);
u32 vgpu_xcc_regs(const struct vgpu_config *c, u32 xcc);
u32 vgpu_aid_regs(const struct vgpu_config *c, u32 aid);
u32 vgpu_aids(const struct vgpu_config *c);
u32 vgpu_xcc_node(const struct vgpu_config *c, u32 xcc);
int vgpu_regs_init(struct vgpu_model *m);
void vgpu_regs_reset(struct vgpu_model *m);
void vgpu_regs_fini(struct vgpu_model *m);

u32 vgpu_reg(struct vgpu_model *m, u32 index);
void vgpu_reg_set(struct vgpu_model *m, u32 index, u32 value);
bool vgpu_hub_exists(const struct vgpu_model *m, u32 hub);
u32 vgpu_hub_reg(const struct vgpu_model *m, u32 hub, u32 reg);
u32 vgpu_hub_node(const struct vgpu_model *m, u32 hub);
u32 *vgpu_hub_lut(struct vgpu_model *m, u32 hub, u32 vmid);
u32 vgpu_xccs_in_partition(struct vgpu_model *m, u32 xcc);
u32 vgpu_xcc_in_partition(struct vgpu_model *m, u32 xcc);
u32 vgpu_hqd_get(struct vgpu_model *m, u32 xcc, u32 me, u32 pipe, u32 queue, enum vgpu_hqd_reg reg);
void vgpu_hqd_set(struct vgpu_model *m, u32 xcc, u32 me, u32 pipe, u32 queue, enum vgpu_hqd_reg reg, u32 value);
bool vgpu_hqd_take(struct vgpu_model *m, u32 *xcc, u32 *me, u32 *pipe, u32 *queue, enum vgpu_hqd_event *event);
bool vgpu_wptr_poll_take(struct vgpu_model *m, u32 xcc, u32 me, u32 pipe, u32 queue);
u64 vgpu_regs_tma(struct vgpu_model *m, u32 xcc, u32 vmid);
void vgpu_regs_set_tma(struct vgpu_model *m, u32 xcc, u32 vmid, const u32 tma[2]);
void vgpu_regs_fault(struct vgpu_model *m, u32 hub, u64 page, u32 status);
void vgpu_tlb_invalidate(struct vgpu_model *m, u32 hub, u32 vmids);
u32 vgpu_tlb_generation(struct vgpu_model *m, u32 hub, u32 vmid);
void vgpu_regs_set_waves(struct vgpu_model *m, u32 xcc, u32 pipe, u32 queue, bool mapped, u32 waves);

#endif /* VGPU_REGS_H */
