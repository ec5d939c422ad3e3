/* SPDX-License-Identifier: MIT */
/*
 * save_area.h - where the state of saved waves is in memory, on gfx90a and gfx942
 *
 * The layout is not the model's own. That of a wave is what amdkfd's trap handler
 * (cwsr_trap_handler_gfx9.asm) writes and reads; that of the control stack, and which wave lies
 * where, is what ROCdbgapi expects (gfx9_architecture_t::control_stack_iterate() and what it
 * calls).
 *
 * The control stack grows down from its size, the save area up from there; so what is pushed last
 * is the lowest in the one and the highest in the other. A reader begins there: two words that are
 * about no wave, then words of these kinds:
 *
 *   event	(bit 30) a reader that looks for waves skips it; here: the waves that follow are of the dispatch with this number
 *   state	(bit 31) what the following waves have allocated
 *   wave	(neither) a wave of that size. The first one of a workgroup comes first
 *
 * Of a wave, from low addresses to high ones: vector registers, accumulation registers, scalar
 * registers, hardware registers, trap temporaries, the LDS if it is the first wave of its
 * workgroup, and 64 bytes without use.
 */
#ifndef VGPU_SAVE_AREA_H
#define VGPU_SAVE_AREA_H

#include "os.h"

#define VGPU_STACK_HEADER_BYTES		8u
#define VGPU_RELAUNCH_EVENT		0x40000000u
#define VGPU_RELAUNCH_STATE		0x80000000u

/*
 * State: allocated registers in blocks, less one. Of scalar registers 16 more than the wave has,
 * for the trap temporaries; here each wave has all 112, whatever its kernel uses: FLAT_SCRATCH,
 * XNACK_MASK and VCC are the last six of those that have a number, and with fewer they would be
 * others.
 */
#define VGPU_STATE_VGPRS(word)		((((word) & 0x3f) + 1) * 8)
#define VGPU_STATE_LDS_BYTES(word)	(((word) >> 9 & 0xff) * 512)
#define VGPU_STATE(vgprs, lds_bytes, acc) \
	(VGPU_RELAUNCH_STATE | ((vgprs) / 8 - 1) | VGPU_SAVED_SGPRS / 16 << 6 | (lds_bytes) / 512 << 9 | ((acc) / 4 - 1) << 24)

/* Wave: which part of the scratch memory it has, by shader engine */
#define VGPU_WAVE_SCRATCH_IDS		512u	/* of a shader engine */
#define VGPU_WAVE_SCRATCH_ID(word)	((word) & 0x1ff)
#define VGPU_WAVE_SE_SHIFT		9
#define VGPU_WAVE_SE(word)		((word) >> VGPU_WAVE_SE_SHIFT & 7)	/* gfx942 has four at most, and bit 11 is 0 */
#define VGPU_WAVE_SCRATCH_EN		0x8000u
#define VGPU_WAVE_LAST			0x10000u
#define VGPU_WAVE_FIRST			0x20000u

#define VGPU_SAVED_SGPRS		112u
#define VGPU_NUMBERED_SGPRS		108u
#define VGPU_SAVED_VGPR_BYTES		256u
#define VGPU_SAVED_GAP_BYTES		64u

/* Trap temporaries that are saved */
#define VGPU_TTMP_WAVE_ID		4	/* two words, the debugger's */
#define VGPU_TTMP_PACKET		6	/* gfx90a: packet in the ring, bits 0 to 24 */
#define VGPU_TTMP_WORKGROUP		8	/* three words */
#define VGPU_TTMP_WAVE			11	/* wave of the workgroup, bits 0 to 5; gfx942: packet in the ring, bits 6 to 30 */
#define VGPU_TTMP_WAVE_MASK		0x3fu
#define VGPU_TTMP_PACKET_MASK		0x1ffffffu
#define VGPU_TTMP_PACKET_SHIFT		6
#define VGPU_TTMPS			16u

/*
 * Hardware registers and trap temporaries of a saved wave. Words 0 to 3, 12, 14 and 15 of the trap
 * temporaries are a trap handler's, which a device lets return before it saves; here they are saved.
 */
struct vgpu_saved_hwregs {
	u32 m0;
	u32 pc[2];
	u32 exec[2];
	u32 status;
	u32 trapsts;
	u32 xnack_mask[2];
	u32 mode;
	u32 unused[6];
	u32 ttmp[VGPU_TTMPS];
};

/* Where the hardware registers are in the state of a wave */
static inline u32 vgpu_saved_hwregs_at(u32 vgprs)
{
	return vgprs * VGPU_SAVED_VGPR_BYTES + VGPU_SAVED_SGPRS * 4;
}

/* All of the state of a wave; @lds_bytes of the workgroup if it is the first wave, 0 otherwise */
static inline u32 vgpu_saved_wave_bytes(u32 vgprs, u32 lds_bytes)
{
	return vgpu_saved_hwregs_at(vgprs) + sizeof(struct vgpu_saved_hwregs) + lds_bytes + VGPU_SAVED_GAP_BYTES;
}

#endif /* VGPU_SAVE_AREA_H */
