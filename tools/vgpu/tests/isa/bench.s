# SPDX-License-Identifier: MIT
#
# bench.s - loops of one class of instructions each, for bench.c: a page of code for each, in its order
#
# v0: the lane; v[2:3]: address of the lane's dword; v4: four times the lane; s[8:9]: address of memory

.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
.text

.macro LOOP n
.p2align 12
.org \n * 4096
.endm

# scalar
LOOP 0
0:	s_add_u32 s16, s17, s18
	s_addc_u32 s19, s20, 7
	s_lshl_b64 s[22:23], s[20:21], 3
	s_and_b64 s[24:25], s[22:23], exec
	s_cmp_lt_u32 s16, s19
	s_cselect_b32 s26, s16, s19
	s_mul_i32 s27, s26, s17
	s_bfe_u32 s28, s27, 0x80004
	s_mov_b32 s29, 0x12345678
	s_movk_i32 s30, 0x55
	s_or_b32 s31, s29, s30
	s_mov_b64 s[32:33], s[24:25]
	s_ff1_i32_b32 s34, s27
	s_nop 0
	s_waitcnt vmcnt(0)
	s_branch 0b

# vector int
LOOP 1
0:	v_add_u32_e32 v8, v0, v4
	v_lshlrev_b32_e32 v9, 3, v8
	v_and_b32_e32 v10, 0xff, v9
	v_mov_b32_e32 v11, s20
	v_xor_b32_e32 v12, v10, v11
	v_add_co_u32_e32 v13, vcc, v12, v8
	v_addc_co_u32_e32 v14, vcc, 0, v13, vcc
	v_mul_lo_u32 v15, v14, v8
	v_lshl_add_u32 v16, v15, 2, v8
	v_bfe_u32 v17, v16, 4, 8
	v_cmp_lt_u32_e32 vcc, v17, v10
	v_cndmask_b32_e32 v18, v17, v10, vcc
	v_max_u32_e32 v19, v18, v4
	v_add3_u32 v20, v19, v18, v17
	v_ashrrev_i32_e32 v21, 31, v20
	v_lshlrev_b64 v[22:23], 2, v[20:21]
	s_branch 0b

# vector float
LOOP 2
0:	v_cvt_f32_u32_e32 v8, v0
	v_mul_f32_e32 v9, 0.5, v8
	v_add_f32_e32 v10, v9, v8
	v_fmac_f32_e32 v10, v9, v8
	v_fma_f32 v11, v10, v9, -v8
	v_sub_f32_e32 v12, v11, v9
	v_mul_f32_e64 v13, v12, |v9|
	v_max_f32_e32 v14, v13, v12
	v_cmp_lt_f32_e32 vcc, v14, v13
	v_cndmask_b32_e32 v15, v14, v13, vcc
	v_fmac_f32_e32 v15, v14, v8
	v_fmac_f32_e32 v15, v13, v9
	v_fma_f32 v16, v8, v9, v8
	v_min_f32_e32 v17, v16, v15
	v_add_f32_e32 v18, v17, v17
	v_cvt_f32_i32_e32 v19, v0
	s_branch 0b

# vector float of 64 bits
LOOP 3
0:	v_cvt_f64_f32_e32 v[8:9], v4
	v_cvt_f64_i32_e32 v[8:9], v4
	v_add_f64 v[10:11], v[8:9], 1.0
	v_mul_f64 v[12:13], v[10:11], v[8:9]
	v_fma_f64 v[14:15], v[12:13], v[10:11], v[8:9]
	v_fmac_f64_e32 v[14:15], v[8:9], v[8:9]
	v_max_f64 v[16:17], v[14:15], v[8:9]
	v_cmp_lt_f64_e32 vcc, v[16:17], v[14:15]
	s_branch 0b

# functions: what a division and a softmax need
LOOP 4
0:	v_cvt_f32_u32_e32 v8, v0
	v_rcp_f32_e32 v9, v8
	v_sqrt_f32_e32 v10, v8
	v_rsq_f32_e32 v11, v8
	v_exp_f32_e32 v12, v9
	v_log_f32_e32 v13, v8
	v_sin_f32_e32 v14, v9
	s_branch 0b

# vector float, half of the lanes
LOOP 5
	s_mov_b64 exec, 0x55555555
	s_mov_b32 exec_hi, 0x0f0f0f0f
0:	v_add_f32_e32 v10, v9, v8
	v_fmac_f32_e32 v10, v9, v8
	v_mul_f32_e32 v11, v9, v8
	v_add_u32_e32 v12, v9, v8
	v_lshlrev_b32_e32 v13, 3, v8
	v_cndmask_b32_e32 v15, v14, v13, vcc
	s_branch 0b

# memory, lane beside lane
LOOP 6
0:	global_load_dword v8, v[2:3], off
	global_load_dwordx2 v[10:11], v[2:3], off offset:1024
	global_load_dwordx4 v[12:15], v[2:3], off
	global_load_dword v9, v4, s[8:9]
	global_store_dword v[2:3], v8, off offset:2048
	global_store_dword v4, v9, s[8:9] offset:2304
	global_load_ubyte v16, v0, s[8:9]
	s_branch 0b

# memory, here and there
LOOP 7
0:	v_mul_u32_u24_e32 v6, 0x34, v0
	global_load_dword v8, v6, s[8:9]
	global_load_dwordx2 v[10:11], v6, s[8:9]
	global_store_dword v6, v8, s[8:9] offset:2048
	global_store_dwordx4 v6, v[10:13], s[8:9] offset:1024
	global_load_ushort v16, v6, s[8:9]
	s_branch 0b

# scalar memory
LOOP 8
0:	s_load_dword s16, s[8:9], 0x10
	s_load_dwordx2 s[18:19], s[8:9], 0x20
	s_load_dwordx4 s[20:23], s[8:9], 0x40
	s_load_dwordx8 s[24:31], s[8:9], 0x80
	s_branch 0b

# LDS
LOOP 9
0:	ds_write_b32 v4, v8
	ds_read_b32 v9, v4
	ds_read2_b32 v[10:11], v4 offset0:4 offset1:8
	ds_write_b64 v4, v[10:11] offset:1024
	ds_read_b128 v[12:15], v4 offset:2048
	ds_bpermute_b32 v16, v4, v0
	ds_add_u32 v4, v0 offset:512
	s_branch 0b

# matrix
LOOP 10
0:	v_mfma_f32_16x16x16f16 a[0:3], v[8:9], v[10:11], a[0:3]
	v_mfma_f32_32x32x8f16 a[0:15], v[8:9], v[10:11], a[0:15]
	v_mfma_f32_16x16x4f32 a[0:3], v8, v9, a[0:3]
	v_mfma_f32_16x16x16bf16_1k a[0:3], v[8:9], v[10:11], a[0:3]
	s_branch 0b

# packed, 16 bits
LOOP 11
0:	v_pk_fma_f32 v[8:9], v[10:11], v[12:13], v[14:15]
	v_pk_mul_f32 v[8:9], v[10:11], v[12:13]
	v_pk_fma_f16 v16, v17, v18, v19
	v_pk_add_f16 v16, v17, v18
	v_cvt_f16_f32_e32 v20, v8
	v_cvt_f32_f16_e32 v21, v20
	v_dot2_f32_f16 v22, v17, v18, v22
	v_fma_mix_f32 v23, v17, v18, v22 op_sel_hi:[1,1,0]
	s_branch 0b

# branch
LOOP 12
0:	s_cbranch_execz 2f
	s_cmp_eq_u32 s16, s16
	s_cbranch_scc0 2f
	s_cbranch_scc1 1f
	s_nop 0
1:	s_cbranch_vccz 3f
	s_nop 0
3:	s_branch 0b
2:	s_endpgm

# within a row of lanes, bytes of registers
LOOP 13
0:	v_add_u32_dpp v8, v0, v4 row_shr:1 row_mask:0xf bank_mask:0xf
	v_mov_b32_dpp v9, v8 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf
	v_add_f32_dpp v10, v8, v9 row_ror:8 row_mask:0xf bank_mask:0xf
	v_lshlrev_b32_sdwa v11, v4, v8 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:BYTE_1
	v_or_b32_sdwa v12, v8, v9 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_0 src1_sel:WORD_1
	v_readfirstlane_b32 s16, v8
	v_readlane_b32 s17, v9, 5
	v_writelane_b32 v13, s16, 3
	s_branch 0b

# What a kernel is made of: the loop of a matrix product with LDS
LOOP 14
0:	ds_read_b32 v8, v4
	ds_read_b32 v9, v4 offset:256
	s_waitcnt lgkmcnt(0)
	v_fmac_f32_e32 v10, v8, v9
	ds_read2_b32 v[12:13], v4 offset0:64 offset1:65
	v_fmac_f32_e32 v10, v12, v13
	v_add_u32_e32 v14, 4, v14
	global_load_dword v15, v[2:3], off
	v_fmac_f32_e32 v11, v15, v8
	v_cmp_gt_u32_e32 vcc, 0x1000, v14
	s_add_u32 s16, s16, 1
	s_addc_u32 s17, s17, 0
	s_cmp_lg_u32 s16, 0
	s_cbranch_scc1 0b
	s_branch 0b
.p2align 12
