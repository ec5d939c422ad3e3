/* SPDX-License-Identifier: MIT */
/*
 * isa_lanes.h - operations on all lanes at once, with the CPU's vector registers
 *
 * The same results as lane by lane, or none: lanes in which the CPU does something in another way than
 * a GPU (NaNs, what saturates) are left to the functions for a lane. Callable only after vgpu_simd_begin() has said so.
 */
#ifndef VGPU_ISA_LANES_H
#define VGPU_ISA_LANES_H

#include "isa.h"

#if defined(__x86_64__) && !defined(__clang__)
#define VGPU_HAS_LANES 1
#endif

/*
 * Of a large variable that is written before it is read: the kernel's build sets others to zero first,
 * which takes longer than what is done with them.
 */
#if defined(__has_attribute)
#if __has_attribute(uninitialized)
#define VGPU_UNSET	__attribute__((uninitialized))
#endif
#endif
#ifndef VGPU_UNSET
#define VGPU_UNSET
#endif

/**
 * struct vgpu_lanes - an operation
 * @d: where the result goes, a word of each lane; the upper halves of 64 bits follow behind the
 *	lower ones
 * @src: operands, laid out in the same way
 * @exec: lanes that take part
 * @mask: a carry of each lane, before and after
 * @less: a comparison found the first operand smaller
 * @equal: or equal
 * @unordered: or one of them was a NaN
 */
struct vgpu_lanes {
	u32 *d;
	const u32 *src[3];
	u64 exec;
	u64 mask;
	u64 less;
	u64 equal;
	u64 unordered;
};

/* Return: lanes that are left, as they were, because they have to be done on their own */
typedef u64 (*vgpu_lanes_fn)(struct vgpu_lanes *l);

#ifdef VGPU_HAS_LANES

/* X(function for a lane): those that isa_vector.c names so */
#define VGPU_LANES_INTEGER(X) \
	X(cndmask) X(mov) X(not) X(and) X(or) X(xor) X(xnor) X(add_u32) X(sub_u32) X(subrev_u32) X(mul_lo_u32) X(mul_hi_u32) X(mul_hi_i32) \
	X(mul_i32_i24) X(mul_u32_u24) X(mad_i32_i24) X(mad_u32_u24) X(min_i32) X(max_i32) X(min_u32) X(max_u32) X(lshrrev_b32) \
	X(ashrrev_i32) X(lshlrev_b32) X(add_co) X(sub_co) X(subrev_co) X(addc_co) X(subb_co) X(subbrev_co) X(bfe_u32) X(bfe_i32) \
	X(bfi_b32) X(alignbit_b32) X(lshl_add_u32) X(add_lshl_u32) X(add3_u32) X(lshl_or_b32) X(and_or_b32) X(or3_b32) X(xad_u32) \
	X(min3_i32) X(max3_i32) X(min3_u32) X(max3_u32) X(mbcnt_lo) X(mbcnt_hi) X(mov64) X(lshlrev_b64) X(lshrrev_b64) X(ashrrev_i64) \
	X(lshl_add_u64) X(mad_u64_u32)

/* The same with floating point: as IEEE 754 has it, rounded to nearest, with denormals */
#define VGPU_LANES_FLOAT(X) \
	X(add_f32) X(sub_f32) X(subrev_f32) X(mul_f32) X(min_f32) X(max_f32) X(fma_f32) X(fmac_f32) X(rcp_f32) X(sqrt_f32) X(trunc_f32) \
	X(ceil_f32) X(rndne_f32) X(floor_f32) X(cvt_f32_i32) X(cvt_f32_u32) X(cvt_i32_f32) X(cvt_u32_f32) X(cvt_f32_ubyte0) \
	X(cvt_f32_ubyte1) X(cvt_f32_ubyte2) X(cvt_f32_ubyte3) X(cvt_f16_f32) X(cvt_f32_f16) X(add_f16) X(sub_f16) X(mul_f16) X(fma_f16) X(dot2_f32_f16) \
	X(div_scale_f32) X(div_fmas_f32) X(div_fixup_f32) X(add_f64) X(mul_f64) X(fma_f64) X(fmac_f64) X(min_f64) X(max_f64) \
	X(cvt_f64_f32) X(cvt_f32_f64) X(cvt_f64_i32) X(cvt_f64_u32) X(exp_f32) X(log_f32) X(rsq_f32) X(sin_f32) X(cos_f32) \
	X(rcp_f64) X(sqrt_f64) X(floor_f64) X(ceil_f64) X(trunc_f64) X(rndne_f64)

#define VGPU_LANES_COMPARE(X) X(i32) X(u32) X(i64) X(u64) X(f32) X(f64)

#define VGPU_LANES_DECLARE(name)		u64 vgpu_lanes_##name(struct vgpu_lanes *l);
#define VGPU_LANES_DECLARE_COMPARE(name)	u64 vgpu_lanes_compare_##name(struct vgpu_lanes *l);

VGPU_LANES_INTEGER(VGPU_LANES_DECLARE)
VGPU_LANES_FLOAT(VGPU_LANES_DECLARE)
VGPU_LANES_COMPARE(VGPU_LANES_DECLARE_COMPARE)

/* A word, the same in all lanes; a register with bits removed and others changed */
void vgpu_lanes_fill(u32 *v, u32 value);
void vgpu_lanes_copy(u32 *v, const u32 *from, u32 keep, u32 change);

/* @bits of a register from @shift on */
void vgpu_lanes_field(u32 *v, const u32 *from, u32 shift, u32 bits, bool sext);

/* The lower or upper halves, with bits changed, as words; two of them as a word */
void vgpu_lanes_half(u32 *v, const u32 *from, bool high, u32 change);
void vgpu_lanes_join(u32 *v, const u32 *low, const u32 *high);

/* Are the words @step apart, from lane to lane, without an overflow? */
bool vgpu_lanes_consecutive(const u32 *v, u32 step);
bool vgpu_lanes_alike(const u32 *v);

/*
 * Which lanes of @exec, which has some, have @bytes in the same page as the first of them, at @base and
 * their addresses? @wide: these have 64 bits. @offset is where in the page.
 */
u64 vgpu_lanes_in_page(u32 *offset, const u32 *addr, bool wide, u32 base, u32 bytes, u64 exec);

/* Are they all in LDS? */
bool vgpu_lanes_in_lds(u32 *offset, const u32 *addr, u32 base, u32 bytes, u32 lds_bytes, u64 exec);

/*
 * Dwords, or less, that are @offset bytes behind @p; stores are those of all lanes, 2 or 4 dwords
 * each, one lane after the other
 */
void vgpu_lanes_load(u32 *v, const void *p, const u32 *offset, u32 dwords, u64 exec);
void vgpu_lanes_load_part(u32 *v, const void *p, const u32 *offset, u32 bits, bool sext, u64 exec);
void vgpu_lanes_store(const u32 *v, void *p, const u32 *offset, u32 dwords);

/* Elements of matrices, as the numbers of 32 bits that are multiplied. */
enum vgpu_lanes_type {
	VGPU_LANES_F32,
	VGPU_LANES_F16,
	VGPU_LANES_BF16,
	VGPU_LANES_I8,
};

/*
 * Part @part of a register's elements. @flush: denormals have to be zero. Return: false: do it one
 * by one.
 */
bool vgpu_lanes_elements(u32 *d, const u32 *v, enum vgpu_lanes_type type, u32 part, bool flush);

/*
 * A row of a product of matrices: *a[k] * b[k][c] is added to each d[c], in the order of k; @columns
 * is a multiple of 8. Return: false: do it one by one.
 */
bool vgpu_lanes_row(u32 *d, const u32 *const *a, const u32 *const *b, u32 row, u32 depth, u32 columns, enum vgpu_lanes_type type, bool flush);

#endif
#endif /* VGPU_ISA_LANES_H */
