// SPDX-License-Identifier: MIT
//
// wave.s - a wave that looks at the clock until its time is over, and notes when it could not
//
// wave.c has it in words, so that the probe is built without an assembler for GPUs; the test assembles this and compares. The
// words are the same for gfx90a and gfx942, whose encodings gfx950 has. struct wave_arguments and struct wave_notes are in wave.h.

.text
.globl wave
.p2align 8
wave:
	s_load_dwordx4 s[4:7], s[0:1], 0x0	// notes, ticks
	s_load_dwordx4 s[8:11], s[0:1], 0x10	// threshold, bytes of notes, gaps
	s_mov_b64 exec, 1			// one lane takes the notes
	s_waitcnt lgkmcnt(0)
	s_mul_i32 s12, s2, s9			// s2: which workgroup
	s_mul_hi_u32 s13, s2, s9
	s_add_u32 s4, s4, s12
	s_addc_u32 s5, s5, s13
	v_mov_b32_e32 v0, s4
	v_mov_b32_e32 v1, s5
	s_mov_b32 s22, 0			// longest time between two looks that is not noted
	s_memrealtime s[14:15]
	s_waitcnt lgkmcnt(0)
	s_mov_b64 s[24:25], s[14:15]		// began
	s_add_u32 s16, s14, s6			// ends
	s_addc_u32 s17, s15, s7
look:
	s_sleep 16				// 0.6 us: resolution
	s_memrealtime s[18:19]
	s_waitcnt lgkmcnt(0)
	s_sub_u32 s20, s18, s14
	s_cmp_gt_u32 s20, s8
	s_cbranch_scc0 short
	s_cmp_eq_u32 s10, 0
	s_cbranch_scc1 next
	s_sub_u32 s10, s10, 1
	s_add_u32 s4, s4, 16
	s_addc_u32 s5, s5, 0
	v_mov_b32_e32 v2, s4
	v_mov_b32_e32 v3, s5
	v_mov_b32_e32 v4, s14
	v_mov_b32_e32 v5, s15
	v_mov_b32_e32 v6, s18
	v_mov_b32_e32 v7, s19
	global_store_dwordx4 v[2:3], v[4:7], off offset:16
	s_branch next
short:
	s_max_u32 s22, s22, s20
next:
	s_mov_b64 s[14:15], s[18:19]
	s_sub_u32 s20, s18, s16
	s_subb_u32 s20, s19, s17
	s_cbranch_scc1 look			// now < end
	v_mov_b32_e32 v4, s24
	v_mov_b32_e32 v5, s25
	v_mov_b32_e32 v6, s18
	v_mov_b32_e32 v7, s19
	global_store_dwordx4 v[0:1], v[4:7], off
	v_mov_b32_e32 v4, s22
	v_mov_b32_e32 v5, s10
	global_store_dwordx2 v[0:1], v[4:5], off offset:16
	s_waitcnt vmcnt(0)
	s_endpgm

.rodata
.p2align 6
.amdhsa_kernel wave
	.amdhsa_user_sgpr_kernarg_segment_ptr 1
	.amdhsa_next_free_vgpr 64
	.amdhsa_next_free_sgpr 32
	.amdhsa_accum_offset 8
.end_amdhsa_kernel
