/* SPDX-License-Identifier: MIT */
/*
 * isa_float.h - IEEE 754 arithmetic of the shader cores, in integers
 *
 * The model runs in the kernel, where floating point registers are not to be had for nothing, and
 * wants every rounding and denormal mode of the MODE register, on any host alike. Values are bit
 * patterns in the low bits of a u64.
 */
#ifndef VGPU_ISA_FLOAT_H
#define VGPU_ISA_FLOAT_H

#include "os.h"

enum vgpu_float_format {
	VGPU_F16,
	VGPU_F32,
	VGPU_F64,
	VGPU_FLOAT_FORMATS,
};

/* As FP_ROUND of MODE has them */
enum vgpu_rounding {
	VGPU_ROUND_EVEN,
	VGPU_ROUND_UP,
	VGPU_ROUND_DOWN,
	VGPU_ROUND_ZERO,
};

/**
 * struct vgpu_float_mode - what MODE says of a format
 * @format: of the operands
 * @round: VGPU_ROUND_*
 * @denorm_in: denormal operands are taken as they are, not as zero
 * @denorm_out: results may be denormal
 */
struct vgpu_float_mode {
	u8 format;
	u8 round;
	bool denorm_in;
	bool denorm_out;
};

#define VGPU_UNORDERED		2	/* of vgpu_float_compare() */

/* Classes as v_cmp_class has them */
#define VGPU_CLASS_SNAN		0x001u
#define VGPU_CLASS_QNAN		0x002u
#define VGPU_CLASS_NINF		0x004u
#define VGPU_CLASS_NNORMAL	0x008u
#define VGPU_CLASS_NDENORMAL	0x010u
#define VGPU_CLASS_NZERO	0x020u
#define VGPU_CLASS_PZERO	0x040u
#define VGPU_CLASS_PDENORMAL	0x080u
#define VGPU_CLASS_PNORMAL	0x100u
#define VGPU_CLASS_PINF		0x200u

#define VGPU_CLASS_NAN		(VGPU_CLASS_SNAN | VGPU_CLASS_QNAN)
#define VGPU_CLASS_INF		(VGPU_CLASS_NINF | VGPU_CLASS_PINF)
#define VGPU_CLASS_ZERO		(VGPU_CLASS_NZERO | VGPU_CLASS_PZERO)

u64 vgpu_float_sign(u32 format);		/* the sign bit */
u64 vgpu_float_one(u32 format);
u64 vgpu_float_quiet(u32 format, u64 a);	/* a NaN as a quiet one */
u32 vgpu_float_class(u32 format, u64 a);
int vgpu_float_exponent(u32 format, u64 a);	/* of a * 2^-exponent in [1, 2); 0 of zero, infinity and NaN */

/* Rounded once, as IEEE 754 wants it */
u64 vgpu_float_add(const struct vgpu_float_mode *mode, u64 a, u64 b);
u64 vgpu_float_mul(const struct vgpu_float_mode *mode, u64 a, u64 b);
u64 vgpu_float_fma(const struct vgpu_float_mode *mode, u64 a, u64 b, u64 c);
u64 vgpu_float_fma_scaled(const struct vgpu_float_mode *mode, u64 a, u64 b, u64 c, s32 n);
u64 vgpu_float_div(const struct vgpu_float_mode *mode, u64 a, u64 b);
u64 vgpu_float_sqrt(const struct vgpu_float_mode *mode, u64 a);
u64 vgpu_float_ldexp(const struct vgpu_float_mode *mode, u64 a, s32 n);
u64 vgpu_float_from_int(const struct vgpu_float_mode *mode, u64 magnitude, bool negative);
u64 vgpu_float_convert(const struct vgpu_float_mode *to, const struct vgpu_float_mode *from, u64 a);

/* Within one unit in the last place; the hardware's own tables are not published */
u64 vgpu_float_rsq(const struct vgpu_float_mode *mode, u64 a);
u64 vgpu_float_exp2(const struct vgpu_float_mode *mode, u64 a);
u64 vgpu_float_log2(const struct vgpu_float_mode *mode, u64 a);
u64 vgpu_float_sin(const struct vgpu_float_mode *mode, u64 a, bool cosine);	/* of a * 2 pi */

u64 vgpu_float_round(const struct vgpu_float_mode *mode, u64 a, u32 round);	/* to an integer, VGPU_ROUND_* */
u64 vgpu_float_min(const struct vgpu_float_mode *mode, u64 a, u64 b, bool max);
u64 vgpu_float_flush(const struct vgpu_float_mode *mode, u64 a);		/* as an operand is taken */
u64 vgpu_float_mantissa(const struct vgpu_float_mode *mode, u64 a);		/* in [0.5, 1), with the sign */

/* Return: -1, 0, 1 or VGPU_UNORDERED */
int vgpu_float_compare(const struct vgpu_float_mode *mode, u64 a, u64 b);

/* Rounded as @round says, held between @min and @max, 0 for NaN */
s64 vgpu_float_to_int(const struct vgpu_float_mode *mode, u64 a, u32 round, s64 min, s64 max);

#endif /* VGPU_ISA_FLOAT_H */
