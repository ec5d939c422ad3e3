/* SPDX-License-Identifier: MIT */
/*
 * bounds.h - numbers of the model that several of its parts use
 */
#ifndef VGPU_BOUNDS_H
#define VGPU_BOUNDS_H

#include "vgpu_model.h"

#define VGPU_MAX_CUS		128		/* of an XCC */
#define VGPU_MAX_INFLIGHT	20		/* dispatches of a queue; their records have to fit beside the control stack of 12 compute units */
#define VGPU_SDMA_ENGINES	16
#define VGPU_SDMA_RINGS		2
#define VGPU_MAX_SIMDS		(VGPU_MAX_CUS * 4)
#define VGPU_PAGE		4096u
#define VGPU_NO_INDEX		U64_MAX
#define VGPU_AGAIN_NS		20000u		/* until what waits for a page is tried again */
#define VGPU_REFERENCE_NS	10u		/* of a tick of the reference clock, 100 MHz */
#define VGPU_IB_LEVELS		2u		/* an indirect buffer may refer to another one */
#define VGPU_QUEUE_RPTR		128u		/* read_dispatch_id in amd_queue_t */
#define VGPU_AQL_DWORDS		16u		/* of an AQL packet */
#define VGPU_CU_LDS_BYTES	65536u
#define VGPU_SIMD_VGPRS		512u
#define VGPU_DOORBELL_IDLE	(~0ULL)		/* of a doorbell that was taken; no write pointer is that large */
#define VGPU_COMPUTE_REGS	80u		/* COMPUTE_DISPATCH_INITIATOR to COMPUTE_USER_DATA_15 */
#define VGPU_DISPATCH_DWORDS	5u		/* of a PM4 packet that launches something, at most */

/* COMPUTE_* registers, from the first; the MQD has them in the same order behind its header */
enum {
	VGPU_COMPUTE_START_X		= 0x04,	/* workgroups */
	VGPU_COMPUTE_NUM_THREAD_X	= 0x07,	/* work-items of a workgroup: 15:0, of the last one in a dimension: 31:16 */
	VGPU_COMPUTE_PGM_LO		= 0x0c,	/* address >> 8 */
	VGPU_COMPUTE_PGM_HI		= 0x0d,
	VGPU_COMPUTE_SCRATCH_BASE_LO	= 0x10,	/* address >> 8 */
	VGPU_COMPUTE_SCRATCH_BASE_HI	= 0x11,
	VGPU_COMPUTE_PGM_RSRC1		= 0x12,	/* granules of 8 VGPRs - 1: 5:0 */
	VGPU_COMPUTE_PGM_RSRC2		= 0x13,	/* granules of 512 bytes of LDS: 23:15 */
	VGPU_COMPUTE_TMPRING_SIZE	= 0x18,	/* waves with scratch memory: 11:0, kilobytes of each: 24:12 */
	VGPU_COMPUTE_PGM_RSRC3		= 0x2d,
	VGPU_COMPUTE_USER_DATA_0	= 0x40,	/* what scalar registers begin with; model kernels: the address of their arguments */
};

#define VGPU_TMPRING_WAVES(t)		((t) & 0xfff)
#define VGPU_TMPRING_WAVE_BYTES(t)	(((t) >> 12 & 0x1fff) * 1024)

#endif /* VGPU_BOUNDS_H */
