// SPDX-License-Identifier: MIT
/*
 * isa_vector.c - vector ALU instructions
 *
 * VOPC, VOP2 and VOP1 have a second encoding in VOP3, so all of them share one table, by the opcode
 * that they have there. A row names the operation, what its operands are, and the function that
 * computes it for a lane.
 */
#include "model.h"
#include "isa.h"
#include "isa_lanes.h"

#define VOP2(op)		(0x100 + (op))		/* where an opcode is in VOP3 */
#define VOP1(op)		(0x140 + (op))
#define VOPS			0x400u

#define SRC_VGPR		256u
#define SRC_SDWA		249u
#define SRC_DPP			250u
#define SRC_LITERAL		255u
#define SRC_VCC			VGPU_S_VCC

/* Flags of a row */
#define CARRY_IN		1u	/* a bit of VCC, or of the third operand in VOP3 */
#define CARRY_OUT		2u	/* to VCC, or where VOP3B says */
#define KEEPS_OLD		4u	/* the destination is an operand */
#define GFX942			8u	/* gfx90a has no such instruction */
#define GFX90A			16u	/* gfx942 has none */

/* A lane of an instruction: operands and result */
struct lane {
	struct vgpu_wave *w;
	const struct vgpu_float_mode *f;	/* by format */
	const struct vgpu_float_mode *flat;	/* the same without denormals */
	u32 lane;
	u64 a, b, c;
	u64 d;
	bool carry;
};

typedef void (*lane_fn)(struct lane *l);

/**
 * struct vop - an instruction
 * @name: mnemonic
 * @fn: what it computes
 * @types: of the result and the operands: u 32 bits, q 64 bits, w 16 bits; h, f, d floating point
 *	of 16, 32 and 64 bits
 * @flags: see above
 * @lanes: the same for all lanes at once; NULL: there is none
 */
struct vop {
	const char *name;
	lane_fn fn;
	char types[5];
	u8 flags;
	vgpu_lanes_fn lanes;
};

#define F16	(&l->f[VGPU_F16])
#define F32	(&l->f[VGPU_F32])
#define F64	(&l->f[VGPU_F64])
#define FLAT32	(&l->flat[VGPU_F32])
#define A	((u32)l->a)
#define B	((u32)l->b)
#define C	((u32)l->c)
#define SA	((s32)(u32)l->a)
#define SB	((s32)(u32)l->b)
#define SC	((s32)(u32)l->c)
#define HA	((s16)(u16)l->a)
#define HB	((s16)(u16)l->b)
#define HC	((s16)(u16)l->c)

#define FN(name, value)		static void name(struct lane *l) { l->d = (u64)(value); }
#define OF_FORMAT(name, suffix, format)	static void name##_##suffix(struct lane *l) { name(l, VGPU_##format); }
#define FLOAT1(name, call)	FN(name##_f16, call(F16, l->a)) FN(name##_f32, call(F32, l->a)) FN(name##_f64, call(F64, l->a))
#define FLOAT2(name, call)	\
	FN(name##_f16, call(F16, l->a, l->b)) FN(name##_f32, call(F32, l->a, l->b)) FN(name##_f64, call(F64, l->a, l->b))

static u64 subtract(const struct vgpu_float_mode *f, u64 a, u64 b)
{
	return vgpu_float_add(f, a, b ^ vgpu_float_sign(f->format));
}

static u64 subtract_reverse(const struct vgpu_float_mode *f, u64 a, u64 b)
{
	return subtract(f, b, a);
}

static u64 minimum(const struct vgpu_float_mode *f, u64 a, u64 b)
{
	return vgpu_float_min(f, a, b, false);
}

static u64 maximum(const struct vgpu_float_mode *f, u64 a, u64 b)
{
	return vgpu_float_min(f, a, b, true);
}

static u64 legacy_mul(const struct vgpu_float_mode *f, u64 a, u64 b)
{
	u32 zero = (vgpu_float_class(f->format, vgpu_float_flush(f, a)) | vgpu_float_class(f->format, vgpu_float_flush(f, b))) &
		   VGPU_CLASS_ZERO;

	return zero ? 0 : vgpu_float_mul(f, a, b);
}

static u64 reciprocal(const struct vgpu_float_mode *f, u64 a)
{
	return vgpu_float_div(f, vgpu_float_one(f->format), a);
}

#define ROUNDING(name, how)	static u64 name(const struct vgpu_float_mode *f, u64 a) { return vgpu_float_round(f, a, how); }

ROUNDING(truncate, VGPU_ROUND_ZERO)
ROUNDING(ceiling, VGPU_ROUND_UP)
ROUNDING(floor_, VGPU_ROUND_DOWN)
ROUNDING(nearest, VGPU_ROUND_EVEN)

static u64 fraction(const struct vgpu_float_mode *f, u64 a)
{
	u64 below_one = vgpu_float_one(f->format) - 1, r = subtract(f, a, floor_(f, a));

	return vgpu_float_compare(f, r, below_one) == 1 ? below_one : r;
}

static u64 median(const struct vgpu_float_mode *f, u64 a, u64 b, u64 c)
{
	u64 most;

	if ((vgpu_float_class(f->format, a) | vgpu_float_class(f->format, b) | vgpu_float_class(f->format, c)) & VGPU_CLASS_NAN)
		return minimum(f, minimum(f, a, b), c);
	most = maximum(f, maximum(f, a, b), c);
	if (vgpu_float_compare(f, most, a) == 0)
		return maximum(f, b, c);
	if (vgpu_float_compare(f, most, b) == 0)
		return maximum(f, a, c);
	return maximum(f, a, b);
}

FLOAT2(add, vgpu_float_add)
FN(sub_f16, subtract(F16, l->a, l->b))
FN(sub_f32, subtract(F32, l->a, l->b))
FN(subrev_f16, subtract_reverse(F16, l->a, l->b))
FN(subrev_f32, subtract_reverse(F32, l->a, l->b))
FLOAT2(mul, vgpu_float_mul)
FLOAT2(min, minimum)
FLOAT2(max, maximum)
FN(mul_legacy_f32, legacy_mul(F32, l->a, l->b))
FLOAT1(trunc, truncate)
FLOAT1(ceil, ceiling)
FLOAT1(rndne, nearest)
FLOAT1(floor, floor_)
FLOAT1(fract, fraction)
FLOAT1(mantissa, vgpu_float_mantissa)
FN(fma_f16, vgpu_float_fma(F16, l->a, l->b, l->c))
FN(fma_f32, vgpu_float_fma(F32, l->a, l->b, l->c))
FN(fma_f64, vgpu_float_fma(F64, l->a, l->b, l->c))
FN(fmac_f32, vgpu_float_fma(F32, l->a, l->b, l->d))
FN(fmac_f64, vgpu_float_fma(F64, l->a, l->b, l->d))
/* Not fused, and without denormals */
FN(mad_f32, vgpu_float_add(FLAT32, vgpu_float_mul(FLAT32, l->a, l->b), l->c))
FN(mac_f32, vgpu_float_add(FLAT32, vgpu_float_mul(FLAT32, l->a, l->b), l->d))
FN(mad_legacy_f32, vgpu_float_add(FLAT32, legacy_mul(FLAT32, l->a, l->b), l->c))
FN(mad_f16, vgpu_float_add(F16, vgpu_float_mul(F16, l->a, l->b), l->c))
FN(mac_f16, vgpu_float_add(F16, vgpu_float_mul(F16, l->a, l->b), l->d))
FN(min3_f16, minimum(F16, minimum(F16, l->a, l->b), l->c))
FN(min3_f32, minimum(F32, minimum(F32, l->a, l->b), l->c))
FN(max3_f16, maximum(F16, maximum(F16, l->a, l->b), l->c))
FN(max3_f32, maximum(F32, maximum(F32, l->a, l->b), l->c))
FN(med3_f16, median(F16, l->a, l->b, l->c))
FN(med3_f32, median(F32, l->a, l->b, l->c))

/* The units for these know no denormals of 32 bits. */
FN(exp_f16, vgpu_float_exp2(F16, l->a))
FN(exp_f32, vgpu_float_exp2(FLAT32, l->a))
FN(log_f16, vgpu_float_log2(F16, l->a))
FN(log_f32, vgpu_float_log2(FLAT32, l->a))
FN(rcp_f16, reciprocal(F16, l->a))
FN(rcp_f32, reciprocal(FLAT32, l->a))
FN(rcp_f64, reciprocal(F64, l->a))
FN(rsq_f16, vgpu_float_rsq(F16, l->a))
FN(rsq_f32, vgpu_float_rsq(FLAT32, l->a))
FN(rsq_f64, vgpu_float_rsq(F64, l->a))
FN(sqrt_f16, vgpu_float_sqrt(F16, l->a))
FN(sqrt_f32, vgpu_float_sqrt(FLAT32, l->a))
FN(sqrt_f64, vgpu_float_sqrt(F64, l->a))
FN(sin_f16, vgpu_float_sin(F16, l->a, false))
FN(sin_f32, vgpu_float_sin(FLAT32, l->a, false))
FN(cos_f16, vgpu_float_sin(F16, l->a, true))
FN(cos_f32, vgpu_float_sin(FLAT32, l->a, true))

FN(ldexp_f16, vgpu_float_ldexp(F16, l->a, HB))
FN(ldexp_f32, vgpu_float_ldexp(F32, l->a, SB))
FN(ldexp_f64, vgpu_float_ldexp(F64, l->a, SB))

static u64 exponent(u32 format, u64 a)
{
	if (vgpu_float_class(format, a) & (VGPU_CLASS_NAN | VGPU_CLASS_INF | VGPU_CLASS_ZERO))
		return 0;
	return (u64)(s64)(vgpu_float_exponent(format, a) + 1);
}

FN(exponent_f16, exponent(VGPU_F16, l->a))
FN(exponent_f32, exponent(VGPU_F32, l->a))
FN(exponent_f64, exponent(VGPU_F64, l->a))

static u64 from_signed(const struct vgpu_float_mode *f, s64 v)
{
	return vgpu_float_from_int(f, v < 0 ? (u64)-v : (u64)v, v < 0);
}

#define S32_MIN_	(-(s64)0x80000000LL)
#define S32_MAX_	((s64)0x7fffffffLL)
#define U32_MAX_	((s64)0xffffffffLL)

FN(cvt_i32_f64, vgpu_float_to_int(F64, l->a, VGPU_ROUND_ZERO, S32_MIN_, S32_MAX_))
FN(cvt_u32_f64, vgpu_float_to_int(F64, l->a, VGPU_ROUND_ZERO, 0, U32_MAX_))
FN(cvt_i32_f32, vgpu_float_to_int(F32, l->a, VGPU_ROUND_ZERO, S32_MIN_, S32_MAX_))
FN(cvt_u32_f32, vgpu_float_to_int(F32, l->a, VGPU_ROUND_ZERO, 0, U32_MAX_))
FN(cvt_flr_i32_f32, vgpu_float_to_int(F32, l->a, VGPU_ROUND_DOWN, S32_MIN_, S32_MAX_))
FN(cvt_rpi_i32_f32, vgpu_float_to_int(F32, vgpu_float_add(F32, l->a, 0x3f000000), VGPU_ROUND_DOWN, S32_MIN_, S32_MAX_))
FN(cvt_i16_f16, vgpu_float_to_int(F16, l->a, VGPU_ROUND_ZERO, -0x8000, 0x7fff))
FN(cvt_u16_f16, vgpu_float_to_int(F16, l->a, VGPU_ROUND_ZERO, 0, 0xffff))
FN(cvt_f64_i32, from_signed(F64, SA))
FN(cvt_f64_u32, vgpu_float_from_int(F64, A, false))
FN(cvt_f32_i32, from_signed(F32, SA))
FN(cvt_f32_u32, vgpu_float_from_int(F32, A, false))
FN(cvt_f16_i16, from_signed(F16, HA))
FN(cvt_f16_u16, vgpu_float_from_int(F16, l->a & 0xffff, false))
FN(cvt_f32_ubyte0, vgpu_float_from_int(F32, A & 0xff, false))
FN(cvt_f32_ubyte1, vgpu_float_from_int(F32, A >> 8 & 0xff, false))
FN(cvt_f32_ubyte2, vgpu_float_from_int(F32, A >> 16 & 0xff, false))
FN(cvt_f32_ubyte3, vgpu_float_from_int(F32, A >> 24, false))
FN(cvt_f16_f32, vgpu_float_convert(F16, F32, l->a))
FN(cvt_f32_f16, vgpu_float_convert(F32, F16, l->a))
FN(cvt_f32_f64, vgpu_float_convert(F32, F64, l->a))
FN(cvt_f64_f32, vgpu_float_convert(F64, F32, l->a))

static void cvt_pkrtz_f16_f32(struct lane *l)
{
	struct vgpu_float_mode to = l->f[VGPU_F16];

	to.round = VGPU_ROUND_ZERO;
	l->d = vgpu_float_convert(&to, F32, l->a) | vgpu_float_convert(&to, F32, l->b) << 16;
}

static u32 clamp_to(u64 v, u32 max)
{
	return v > max ? max : (u32)v;
}

FN(cvt_pk_u16_u32, clamp_to(A, 0xffff) | clamp_to(B, 0xffff) << 16)
FN(cvt_pk_i16_i32, ((u32)(SA < -0x8000 ? -0x8000 : SA > 0x7fff ? 0x7fff : SA) & 0xffff) |
		   (u32)(SB < -0x8000 ? -0x8000 : SB > 0x7fff ? 0x7fff : SB) << 16)

FN(cndmask, l->carry ? l->b : l->a)
FN(mov, l->a)
FN(not, ~l->a)
FN(and, l->a & l->b)
FN(or, l->a | l->b)
FN(xor, l->a ^ l->b)
FN(xnor, ~(l->a ^ l->b))
FN(add_u32, A + B)
FN(sub_u32, A - B)
FN(subrev_u32, B - A)
FN(mul_lo_u32, A * B)
FN(mul_hi_u32, l->a * l->b >> 32)
FN(mul_hi_i32, (s64)SA * SB >> 32)

#define I24(v)		((s64)((s32)((v) << 8) >> 8))
#define U24(v)		((u64)((v) & 0xffffff))

FN(mul_i32_i24, I24(A) * I24(B))
FN(mul_hi_i32_i24, I24(A) * I24(B) >> 32)
FN(mul_u32_u24, U24(A) * U24(B))
FN(mul_hi_u32_u24, U24(A) * U24(B) >> 32)
FN(mad_i32_i24, I24(A) * I24(B) + SC)
FN(mad_u32_u24, U24(A) * U24(B) + C)
FN(min_i32, SA < SB ? SA : SB)
FN(max_i32, SA > SB ? SA : SB)
FN(min_u32, A < B ? A : B)
FN(max_u32, A > B ? A : B)
FN(lshrrev_b32, B >> (A & 31))
FN(ashrrev_i32, SB >> (A & 31))
FN(lshlrev_b32, B << (A & 31))
FN(lshlrev_b64, l->b << (A & 63))
FN(lshrrev_b64, l->b >> (A & 63))
FN(ashrrev_i64, (s64)l->b >> (A & 63))

static void add_co(struct lane *l)
{
	l->d = l->a + l->b;
	l->carry = l->d >> 32;
}

static void sub_co(struct lane *l)
{
	l->d = l->a - l->b;
	l->carry = l->b > l->a;
}

static void subrev_co(struct lane *l)
{
	l->d = l->b - l->a;
	l->carry = l->a > l->b;
}

static void addc_co(struct lane *l)
{
	l->d = l->a + l->b + l->carry;
	l->carry = l->d >> 32;
}

static void subb_co(struct lane *l)
{
	u64 minus = l->b + l->carry;

	l->d = l->a - minus;
	l->carry = minus > l->a;
}

static void subbrev_co(struct lane *l)
{
	u64 minus = l->a + l->carry;

	l->d = l->b - minus;
	l->carry = minus > l->b;
}

static void mad_u64_u32(struct lane *l)
{
	u64 product = (u64)A * B;

	l->d = product + l->c;
	l->carry = l->d < product;
}

static void mad_i64_i32(struct lane *l)
{
	s64 product = (s64)SA * SB, c = (s64)l->c;

	l->d = (u64)product + l->c;
	l->carry = (product < 0) == (c < 0) && (product < 0) != ((s64)l->d < 0);
}

FN(add_u16, l->a + l->b)
FN(sub_u16, l->a - l->b)
FN(subrev_u16, l->b - l->a)
FN(mul_lo_u16, l->a * l->b)
FN(mad_u16, l->a * l->b + l->c)
FN(lshlrev_b16, l->b << (l->a & 15))
FN(lshrrev_b16, (l->b & 0xffff) >> (l->a & 15))
FN(ashrrev_i16, HB >> (l->a & 15))
FN(max_u16, l->a > l->b ? l->a : l->b)
FN(max_i16, HA > HB ? HA : HB)
FN(min_u16, l->a < l->b ? l->a : l->b)
FN(min_i16, HA < HB ? HA : HB)
FN(mad_u32_u16, l->a * l->b + C)
FN(mad_i32_i16, (u32)(HA * HB) + C)

static s64 lesser(s64 a, s64 b)
{
	return a < b ? a : b;
}

static s64 greater(s64 a, s64 b)
{
	return a > b ? a : b;
}

static s64 middle(s64 a, s64 b, s64 c)
{
	return greater(lesser(a, b), lesser(greater(a, b), c));
}

FN(min3_i32, lesser(lesser(SA, SB), SC))
FN(max3_i32, greater(greater(SA, SB), SC))
FN(med3_i32, middle(SA, SB, SC))
FN(min3_u32, lesser(lesser(A, B), C))
FN(max3_u32, greater(greater(A, B), C))
FN(med3_u32, middle(A, B, C))
FN(min3_i16, lesser(lesser(HA, HB), HC))
FN(max3_i16, greater(greater(HA, HB), HC))
FN(med3_i16, middle(HA, HB, HC))

static u64 bit_field(u64 v, u32 offset, u32 width, bool is_signed)
{
	u64 r = v >> offset;

	if (!width)
		return 0;
	if (offset + width < 32)
		r &= (1ULL << width) - 1;
	else
		width = 32 - offset;
	if (is_signed && (r >> (width - 1) & 1))
		r |= ~0ULL << width;
	return r;
}

FN(bfe_u32, bit_field(A, B & 31, C & 31, false))
FN(bfe_i32, bit_field(A, B & 31, C & 31, true))
FN(bfi_b32, (A & B) | (~A & C))
FN(bfm_b32, ((1u << (A & 31)) - 1) << (B & 31))
FN(alignbit_b32, (l->a << 32 | B) >> (C & 31))
FN(alignbyte_b32, (l->a << 32 | B) >> (C & 3) * 8)
FN(lshl_add_u32, (A << (B & 31)) + C)
FN(lshl_add_u64, (l->a << (B & 7)) + l->c)
FN(add_lshl_u32, (A + B) << (C & 31))
FN(add3_u32, A + B + C)
FN(lshl_or_b32, (A << (B & 31)) | C)
FN(and_or_b32, (A & B) | C)
FN(or3_b32, A | B | C)
FN(xad_u32, (A ^ B) + C)
FN(sad_u32, (A > B ? A - B : B - A) + C)
FN(pack_b32_f16, (l->a & 0xffff) | l->b << 16)
FN(bcnt_u32_b32, (u32)vgpu_popcount(A) + B)
FN(ffbl_b32, A ? __builtin_ctz(A) : -1)
FN(ffbh_u32, A ? __builtin_clz(A) : -1)
FN(ffbh_i32, SA == 0 || SA == -1 ? -1 : __builtin_clz(SA < 0 ? ~A : A))

static void bfrev_b32(struct lane *l)
{
	u32 i;

	l->d = 0;
	for (i = 0; i < 32; i++)
		l->d |= (u64)(A >> i & 1) << (31 - i);
}

static void perm_b32(struct lane *l)
{
	u64 bytes = l->a << 32 | B;
	u32 i, sel, byte;

	l->d = 0;
	for (i = 0; i < 4; i++) {
		sel = C >> 8 * i & 0xff;
		if (sel < 8)
			byte = bytes >> 8 * sel & 0xff;
		else if (sel < 12)			/* sign of one of the halves */
			byte = bytes >> (16 * (sel - 8) + 15) & 1 ? 0xff : 0;
		else
			byte = sel > 12 ? 0xff : 0;
		l->d |= (u64)byte << 8 * i;
	}
}

static void sad_u8(struct lane *l)
{
	u32 i;

	l->d = C;
	for (i = 0; i < 32; i += 8) {
		s32 difference = (s32)(A >> i & 0xff) - (s32)(B >> i & 0xff);

		l->d += (u32)(difference < 0 ? -difference : difference);
	}
}

FN(mbcnt_lo, (u32)vgpu_popcount(A & (l->lane < 32 ? (1ULL << l->lane) - 1 : 0xffffffffULL)) + B)
FN(mbcnt_hi, (u32)vgpu_popcount(A & (l->lane < 32 ? 0 : (1ULL << (l->lane - 32)) - 1)) + B)

/* Sums of products of small numbers, added to a third operand; opcodes of VOP3P */

#define V_DOT2_F32_F16	0x23u
#define V_DOT2_I32_I16	0x26u
#define V_DOT2_U32_U16	0x27u
#define V_DOT4_I32_I8	0x28u
#define V_DOT4_U32_U8	0x29u
#define V_DOT8_I32_I4	0x2au
#define V_DOT8_U32_U4	0x2bu

#define I4(v)		((s64)((s32)((u32)(v) << 28) >> 28))

static u64 dot(u32 op, const struct vgpu_float_mode *f, u64 a, u64 b, u64 c)
{
	u64 r = c;
	u32 n;

	switch (op) {
	case V_DOT2_F32_F16:
		for (n = 0; n < 32; n += 16)
			r = vgpu_float_fma(&f[VGPU_F32], vgpu_float_convert(&f[VGPU_F32], &f[VGPU_F16], a >> n & 0xffff),
					   vgpu_float_convert(&f[VGPU_F32], &f[VGPU_F16], b >> n & 0xffff), r);
		return r;
	case V_DOT2_I32_I16:
		return r + (u64)((s64)(s16)a * (s16)b + (s64)(s16)(a >> 16) * (s16)(b >> 16));
	case V_DOT2_U32_U16:
		return r + (a & 0xffff) * (b & 0xffff) + (a >> 16 & 0xffff) * (b >> 16 & 0xffff);
	case V_DOT4_I32_I8:
		for (n = 0; n < 32; n += 8)
			r += (u64)((s64)(s8)(a >> n) * (s8)(b >> n));
		return r;
	case V_DOT4_U32_U8:
		for (n = 0; n < 32; n += 8)
			r += (a >> n & 0xff) * (b >> n & 0xff);
		return r;
	case V_DOT8_I32_I4:
		for (n = 0; n < 32; n += 4)
			r += (u64)(I4(a >> n) * I4(b >> n));
		return r;
	default:
		for (n = 0; n < 32; n += 4)
			r += (a >> n & 15) * (b >> n & 15);
		return r;
	}
}

FN(dot2c_f32_f16, dot(V_DOT2_F32_F16, l->f, A, B, l->d))
FN(dot2c_i32_i16, dot(V_DOT2_I32_I16, l->f, A, B, l->d))
FN(dot4c_i32_i8, dot(V_DOT4_I32_I8, l->f, A, B, l->d))
FN(dot8c_i32_i4, dot(V_DOT8_I32_I4, l->f, A, B, l->d))
FN(pk_fmac_f16, vgpu_float_fma(F16, A & 0xffff, B & 0xffff, l->d & 0xffff) | vgpu_float_fma(F16, A >> 16, B >> 16, l->d >> 16) << 16)

/*
 * Division: scale operands so that nothing under- or overflows on the way, scale back, mend special
 * cases
 */

struct division {
	int apart, small, scale, tiny;	/* exponents at which it scales, by how much, and at which the quotient vanishes */
};

static const struct division division[VGPU_FLOAT_FORMATS] = {
	[VGPU_F32] = { 96, 23, 64, -150 },
	[VGPU_F64] = { 768, 53, 128, -1075 },
};

static bool is_denormal(u32 format, u64 a)
{
	return vgpu_float_class(format, a) & (VGPU_CLASS_PDENORMAL | VGPU_CLASS_NDENORMAL);
}

static int biased(u32 format, u64 a)
{
	return format == VGPU_F64 ? a >> 52 & 0x7ff : a >> 23 & 0xff;
}

static void div_scale(struct lane *l, u32 format)
{
	const struct vgpu_float_mode f = { .format = (u8)format, .denorm_in = true, .denorm_out = true };
	u64 s0 = l->a, denominator = l->b, numerator = l->c, one = vgpu_float_one(format);
	bool tiny_inverse, tiny_quotient, is_denominator = s0 == denominator;
	const struct division *v = &division[format];
	int scale = 0;

	l->carry = false;
	l->d = s0;
	if ((vgpu_float_class(format, numerator) | vgpu_float_class(format, denominator)) & VGPU_CLASS_ZERO) {
		l->d = vgpu_float_quiet(format, vgpu_float_div(&f, 0, 0));
		return;
	}
	tiny_inverse = is_denormal(format, vgpu_float_div(&f, one, denominator));
	tiny_quotient = is_denormal(format, vgpu_float_div(&f, numerator, denominator));
	if (biased(format, numerator) - biased(format, denominator) >= v->apart) {
		l->carry = true;
		scale = is_denominator ? v->scale : 0;
	} else if (is_denormal(format, denominator)) {
		scale = v->scale;
	} else if (tiny_inverse && tiny_quotient) {
		l->carry = true;
		scale = is_denominator ? -v->scale : 0;
	} else if (tiny_inverse) {
		scale = -v->scale;
	} else if (tiny_quotient) {
		l->carry = true;
		scale = s0 == numerator ? v->scale : 0;
	} else if (biased(format, numerator) <= v->small) {
		scale = v->scale;
	}
	if (scale)
		l->d = vgpu_float_ldexp(&f, s0, scale);
}

OF_FORMAT(div_scale, f32, F32)
OF_FORMAT(div_scale, f64, F64)

static void div_fmas(struct lane *l, u32 format)
{
	const struct vgpu_float_mode *f = &l->f[format];
	int scale = division[format].scale;

	if (biased(format, l->c) <= (format == VGPU_F64 ? 1023 : 127))
		scale = -scale;
	l->d = vgpu_float_fma_scaled(f, l->a, l->b, l->c, l->carry ? scale : 0);
}

OF_FORMAT(div_fmas, f32, F32)
OF_FORMAT(div_fmas, f64, F64)

static void div_fixup(struct lane *l, u32 format)
{
	u64 sign_bit = vgpu_float_sign(format), sign = (l->b ^ l->c) & sign_bit, inf = vgpu_float_div(&l->f[format],
			vgpu_float_one(format), 0);
	u32 denominator = vgpu_float_class(format, l->b), numerator = vgpu_float_class(format, l->c);

	if (numerator & VGPU_CLASS_NAN)
		l->d = vgpu_float_quiet(format, l->c);
	else if (denominator & VGPU_CLASS_NAN)
		l->d = vgpu_float_quiet(format, l->b);
	else if ((numerator & denominator & VGPU_CLASS_ZERO) || ((numerator & VGPU_CLASS_INF) && (denominator & VGPU_CLASS_INF)) ||
		 ((numerator & VGPU_CLASS_ZERO) && (denominator & VGPU_CLASS_ZERO)))
		l->d = sign_bit | vgpu_float_quiet(format, inf);
	else if ((denominator & VGPU_CLASS_ZERO) || (numerator & VGPU_CLASS_INF))
		l->d = sign | inf;
	else if ((denominator & VGPU_CLASS_INF) || (numerator & VGPU_CLASS_ZERO))
		l->d = sign;
	else if (format != VGPU_F16 && biased(format, l->c) - biased(format, l->b) < division[format].tiny)
		l->d = sign;
	else if (vgpu_float_class(format, l->a) & VGPU_CLASS_NAN)	/* of an overflow on the way */
		l->d = sign | inf;
	else
		l->d = sign | (l->a & (sign_bit - 1));
}

OF_FORMAT(div_fixup, f16, F16)
OF_FORMAT(div_fixup, f32, F32)
OF_FORMAT(div_fixup, f64, F64)

/* Bits of 2 / pi at a distance, for the reduction of large arguments */
static void trig_preop_f64(struct lane *l)
{
	static const u64 two_over_pi[] = {
		0xa2f9836e4e441529ULL, 0xfc2757d1f534ddc0ULL, 0xdb6295993c439041ULL, 0xfe5163abdebbc561ULL, 0xb7246e3a424dd2e0ULL,
		0x06492eea09d1921cULL, 0xfe1deb1cb129a73eULL, 0xe88235f52ebb4484ULL, 0xe99c7026b45f7e41ULL, 0x3991d639835339f4ULL,
		0x9c845f8bbdf9283bULL, 0x1ff897ffde05980fULL, 0xef2f118b5a0a6d1fULL, 0x6d367ecf27cb09b7ULL, 0x4f463f669e5fea2dULL,
		0x7527bac7ebe5f17bULL, 0x3d0739f78a5292eaULL, 0x6bfb5fb11f8d5d08ULL, 0x56033046fc7b6babULL, 0xf0cfbc209af4361dULL,
	};
	int e = biased(VGPU_F64, l->a);
	u32 shift = (B & 31) * 53 + (e > 1077 ? (u32)(e - 1077) : 0), word = shift / 64, bit = shift % 64;
	u64 v = 0;
	struct vgpu_float_mode f = l->f[VGPU_F64];

	if (word + 1 < ARRAY_SIZE(two_over_pi))
		v = two_over_pi[word] << bit | (bit ? two_over_pi[word + 1] >> (64 - bit) : 0);
	f.round = VGPU_ROUND_ZERO;
	f.denorm_out = true;
	l->d = vgpu_float_ldexp(&f, vgpu_float_from_int(&f, v >> 11, false), -53 - (s32)shift + (e >= 1968 ? 128 : 0));
}

/* Rows: opcode, mnemonic, function, types, flags; ALL: isa_lanes.c has it, too */
#define ROW(op, name, fn, types, flags)	[op] = { name, fn, types, flags, NULL }
#ifdef VGPU_HAS_LANES
#define ALL_AS(op, name, fn, types, flags, lanes)	[op] = { name, fn, types, flags, vgpu_lanes_##lanes }
#else
#define ALL_AS(op, name, fn, types, flags, lanes)	ROW(op, name, fn, types, flags)
#endif
#define ALL(op, name, fn, types, flags)	ALL_AS(op, name, fn, types, flags, fn)

static const struct vop vops[VOPS] = {
	ALL(VOP2(0x00), "v_cndmask_b32", cndmask, "uuu", CARRY_IN),
	ALL(VOP2(0x01), "v_add_f32", add_f32, "fff", 0),
	ALL(VOP2(0x02), "v_sub_f32", sub_f32, "fff", 0),
	ALL(VOP2(0x03), "v_subrev_f32", subrev_f32, "fff", 0),
	ALL(VOP2(0x04), "v_fmac_f64", fmac_f64, "ddd", KEEPS_OLD),
	ALL(VOP2(0x05), "v_mul_f32", mul_f32, "fff", 0),
	ALL(VOP2(0x06), "v_mul_i32_i24", mul_i32_i24, "uuu", 0),
	ROW(VOP2(0x07), "v_mul_hi_i32_i24", mul_hi_i32_i24, "uuu", 0),
	ALL(VOP2(0x08), "v_mul_u32_u24", mul_u32_u24, "uuu", 0),
	ROW(VOP2(0x09), "v_mul_hi_u32_u24", mul_hi_u32_u24, "uuu", 0),
	ALL(VOP2(0x0a), "v_min_f32", min_f32, "fff", 0),
	ALL(VOP2(0x0b), "v_max_f32", max_f32, "fff", 0),
	ALL(VOP2(0x0c), "v_min_i32", min_i32, "uuu", 0),
	ALL(VOP2(0x0d), "v_max_i32", max_i32, "uuu", 0),
	ALL(VOP2(0x0e), "v_min_u32", min_u32, "uuu", 0),
	ALL(VOP2(0x0f), "v_max_u32", max_u32, "uuu", 0),
	ALL(VOP2(0x10), "v_lshrrev_b32", lshrrev_b32, "uuu", 0),
	ALL(VOP2(0x11), "v_ashrrev_i32", ashrrev_i32, "uuu", 0),
	ALL(VOP2(0x12), "v_lshlrev_b32", lshlrev_b32, "uuu", 0),
	ALL(VOP2(0x13), "v_and_b32", and, "uuu", 0),
	ALL(VOP2(0x14), "v_or_b32", or, "uuu", 0),
	ALL(VOP2(0x15), "v_xor_b32", xor, "uuu", 0),
	ROW(VOP2(0x16), "v_mac_f32", mac_f32, "fff", KEEPS_OLD | GFX90A),
	ROW(VOP2(0x17), "v_madmk_f32", mad_f32, "ffff", GFX90A),
	ROW(VOP2(0x18), "v_madak_f32", mad_f32, "ffff", GFX90A),
	ALL(VOP2(0x19), "v_add_co_u32", add_co, "uuu", CARRY_OUT),
	ALL(VOP2(0x1a), "v_sub_co_u32", sub_co, "uuu", CARRY_OUT),
	ALL(VOP2(0x1b), "v_subrev_co_u32", subrev_co, "uuu", CARRY_OUT),
	ALL(VOP2(0x1c), "v_addc_co_u32", addc_co, "uuu", CARRY_IN | CARRY_OUT),
	ALL(VOP2(0x1d), "v_subb_co_u32", subb_co, "uuu", CARRY_IN | CARRY_OUT),
	ALL(VOP2(0x1e), "v_subbrev_co_u32", subbrev_co, "uuu", CARRY_IN | CARRY_OUT),
	ALL(VOP2(0x1f), "v_add_f16", add_f16, "hhh", 0),
	ALL(VOP2(0x20), "v_sub_f16", sub_f16, "hhh", 0),
	ROW(VOP2(0x21), "v_subrev_f16", subrev_f16, "hhh", 0),
	ALL(VOP2(0x22), "v_mul_f16", mul_f16, "hhh", 0),
	ROW(VOP2(0x23), "v_mac_f16", mac_f16, "hhh", KEEPS_OLD),
	ROW(VOP2(0x24), "v_madmk_f16", mad_f16, "hhhh", 0),
	ROW(VOP2(0x25), "v_madak_f16", mad_f16, "hhhh", 0),
	ROW(VOP2(0x26), "v_add_u16", add_u16, "www", 0),
	ROW(VOP2(0x27), "v_sub_u16", sub_u16, "www", 0),
	ROW(VOP2(0x28), "v_subrev_u16", subrev_u16, "www", 0),
	ROW(VOP2(0x29), "v_mul_lo_u16", mul_lo_u16, "www", 0),
	ROW(VOP2(0x2a), "v_lshlrev_b16", lshlrev_b16, "www", 0),
	ROW(VOP2(0x2b), "v_lshrrev_b16", lshrrev_b16, "www", 0),
	ROW(VOP2(0x2c), "v_ashrrev_i16", ashrrev_i16, "www", 0),
	ROW(VOP2(0x2d), "v_max_f16", max_f16, "hhh", 0),
	ROW(VOP2(0x2e), "v_min_f16", min_f16, "hhh", 0),
	ROW(VOP2(0x2f), "v_max_u16", max_u16, "www", 0),
	ROW(VOP2(0x30), "v_max_i16", max_i16, "www", 0),
	ROW(VOP2(0x31), "v_min_u16", min_u16, "www", 0),
	ROW(VOP2(0x32), "v_min_i16", min_i16, "www", 0),
	ROW(VOP2(0x33), "v_ldexp_f16", ldexp_f16, "hhw", 0),
	ALL(VOP2(0x34), "v_add_u32", add_u32, "uuu", 0),
	ALL(VOP2(0x35), "v_sub_u32", sub_u32, "uuu", 0),
	ALL(VOP2(0x36), "v_subrev_u32", subrev_u32, "uuu", 0),
	ROW(VOP2(0x37), "v_dot2c_f32_f16", dot2c_f32_f16, "fuu", KEEPS_OLD),
	ROW(VOP2(0x38), "v_dot2c_i32_i16", dot2c_i32_i16, "uuu", KEEPS_OLD),
	ROW(VOP2(0x39), "v_dot4c_i32_i8", dot4c_i32_i8, "uuu", KEEPS_OLD),
	ROW(VOP2(0x3a), "v_dot8c_i32_i4", dot8c_i32_i4, "uuu", KEEPS_OLD),
	ALL(VOP2(0x3b), "v_fmac_f32", fmac_f32, "fff", KEEPS_OLD),
	ROW(VOP2(0x3c), "v_pk_fmac_f16", pk_fmac_f16, "uuu", KEEPS_OLD),
	ALL(VOP2(0x3d), "v_xnor_b32", xnor, "uuu", 0),

	ALL(VOP1(0x01), "v_mov_b32", mov, "uu", 0),
	ROW(VOP1(0x03), "v_cvt_i32_f64", cvt_i32_f64, "ud", 0),
	ALL(VOP1(0x04), "v_cvt_f64_i32", cvt_f64_i32, "du", 0),
	ALL(VOP1(0x05), "v_cvt_f32_i32", cvt_f32_i32, "fu", 0),
	ALL(VOP1(0x06), "v_cvt_f32_u32", cvt_f32_u32, "fu", 0),
	ALL(VOP1(0x07), "v_cvt_u32_f32", cvt_u32_f32, "uf", 0),
	ALL(VOP1(0x08), "v_cvt_i32_f32", cvt_i32_f32, "uf", 0),
	ALL(VOP1(0x0a), "v_cvt_f16_f32", cvt_f16_f32, "hf", 0),
	ALL(VOP1(0x0b), "v_cvt_f32_f16", cvt_f32_f16, "fh", 0),
	ROW(VOP1(0x0c), "v_cvt_rpi_i32_f32", cvt_rpi_i32_f32, "uf", 0),
	ROW(VOP1(0x0d), "v_cvt_flr_i32_f32", cvt_flr_i32_f32, "uf", 0),
	ALL(VOP1(0x0f), "v_cvt_f32_f64", cvt_f32_f64, "fd", 0),
	ALL(VOP1(0x10), "v_cvt_f64_f32", cvt_f64_f32, "df", 0),
	ALL(VOP1(0x11), "v_cvt_f32_ubyte0", cvt_f32_ubyte0, "fu", 0),
	ALL(VOP1(0x12), "v_cvt_f32_ubyte1", cvt_f32_ubyte1, "fu", 0),
	ALL(VOP1(0x13), "v_cvt_f32_ubyte2", cvt_f32_ubyte2, "fu", 0),
	ALL(VOP1(0x14), "v_cvt_f32_ubyte3", cvt_f32_ubyte3, "fu", 0),
	ROW(VOP1(0x15), "v_cvt_u32_f64", cvt_u32_f64, "ud", 0),
	ALL(VOP1(0x16), "v_cvt_f64_u32", cvt_f64_u32, "du", 0),
	ALL(VOP1(0x17), "v_trunc_f64", trunc_f64, "dd", 0),
	ALL(VOP1(0x18), "v_ceil_f64", ceil_f64, "dd", 0),
	ALL(VOP1(0x19), "v_rndne_f64", rndne_f64, "dd", 0),
	ALL(VOP1(0x1a), "v_floor_f64", floor_f64, "dd", 0),
	ROW(VOP1(0x1b), "v_fract_f32", fract_f32, "ff", 0),
	ALL(VOP1(0x1c), "v_trunc_f32", trunc_f32, "ff", 0),
	ALL(VOP1(0x1d), "v_ceil_f32", ceil_f32, "ff", 0),
	ALL(VOP1(0x1e), "v_rndne_f32", rndne_f32, "ff", 0),
	ALL(VOP1(0x1f), "v_floor_f32", floor_f32, "ff", 0),
	ALL(VOP1(0x20), "v_exp_f32", exp_f32, "ff", 0),
	ALL(VOP1(0x21), "v_log_f32", log_f32, "ff", 0),
	ALL(VOP1(0x22), "v_rcp_f32", rcp_f32, "ff", 0),
	ALL(VOP1(0x23), "v_rcp_iflag_f32", rcp_f32, "ff", 0),
	ALL(VOP1(0x24), "v_rsq_f32", rsq_f32, "ff", 0),
	ALL(VOP1(0x25), "v_rcp_f64", rcp_f64, "dd", 0),
	ROW(VOP1(0x26), "v_rsq_f64", rsq_f64, "dd", 0),
	ALL(VOP1(0x27), "v_sqrt_f32", sqrt_f32, "ff", 0),
	ALL(VOP1(0x28), "v_sqrt_f64", sqrt_f64, "dd", 0),
	ALL(VOP1(0x29), "v_sin_f32", sin_f32, "ff", 0),
	ALL(VOP1(0x2a), "v_cos_f32", cos_f32, "ff", 0),
	ALL(VOP1(0x2b), "v_not_b32", not, "uu", 0),
	ROW(VOP1(0x2c), "v_bfrev_b32", bfrev_b32, "uu", 0),
	ROW(VOP1(0x2d), "v_ffbh_u32", ffbh_u32, "uu", 0),
	ROW(VOP1(0x2e), "v_ffbl_b32", ffbl_b32, "uu", 0),
	ROW(VOP1(0x2f), "v_ffbh_i32", ffbh_i32, "uu", 0),
	ROW(VOP1(0x30), "v_frexp_exp_i32_f64", exponent_f64, "ud", 0),
	ROW(VOP1(0x31), "v_frexp_mant_f64", mantissa_f64, "dd", 0),
	ROW(VOP1(0x32), "v_fract_f64", fract_f64, "dd", 0),
	ROW(VOP1(0x33), "v_frexp_exp_i32_f32", exponent_f32, "uf", 0),
	ROW(VOP1(0x34), "v_frexp_mant_f32", mantissa_f32, "ff", 0),
	ALL_AS(VOP1(0x38), "v_mov_b64", mov, "qq", GFX942, mov64),
	ROW(VOP1(0x39), "v_cvt_f16_u16", cvt_f16_u16, "hw", 0),
	ROW(VOP1(0x3a), "v_cvt_f16_i16", cvt_f16_i16, "hw", 0),
	ROW(VOP1(0x3b), "v_cvt_u16_f16", cvt_u16_f16, "wh", 0),
	ROW(VOP1(0x3c), "v_cvt_i16_f16", cvt_i16_f16, "wh", 0),
	ROW(VOP1(0x3d), "v_rcp_f16", rcp_f16, "hh", 0),
	ROW(VOP1(0x3e), "v_sqrt_f16", sqrt_f16, "hh", 0),
	ROW(VOP1(0x3f), "v_rsq_f16", rsq_f16, "hh", 0),
	ROW(VOP1(0x40), "v_log_f16", log_f16, "hh", 0),
	ROW(VOP1(0x41), "v_exp_f16", exp_f16, "hh", 0),
	ROW(VOP1(0x42), "v_frexp_mant_f16", mantissa_f16, "hh", 0),
	ROW(VOP1(0x43), "v_frexp_exp_i16_f16", exponent_f16, "wh", 0),
	ROW(VOP1(0x44), "v_floor_f16", floor_f16, "hh", 0),
	ROW(VOP1(0x45), "v_ceil_f16", ceil_f16, "hh", 0),
	ROW(VOP1(0x46), "v_trunc_f16", trunc_f16, "hh", 0),
	ROW(VOP1(0x47), "v_rndne_f16", rndne_f16, "hh", 0),
	ROW(VOP1(0x48), "v_fract_f16", fract_f16, "hh", 0),
	ROW(VOP1(0x49), "v_sin_f16", sin_f16, "hh", 0),
	ROW(VOP1(0x4a), "v_cos_f16", cos_f16, "hh", 0),
	ALL(VOP1(0x52), "v_accvgpr_mov_b32", mov, "uu", 0),

	ROW(0x1c0, "v_mad_legacy_f32", mad_legacy_f32, "ffff", 0),
	ROW(0x1c1, "v_mad_f32", mad_f32, "ffff", GFX90A),
	ALL(0x1c2, "v_mad_i32_i24", mad_i32_i24, "uuuu", 0),
	ALL(0x1c3, "v_mad_u32_u24", mad_u32_u24, "uuuu", 0),
	ALL(0x1c8, "v_bfe_u32", bfe_u32, "uuuu", 0),
	ALL(0x1c9, "v_bfe_i32", bfe_i32, "uuuu", 0),
	ALL(0x1ca, "v_bfi_b32", bfi_b32, "uuuu", 0),
	ALL(0x1cb, "v_fma_f32", fma_f32, "ffff", 0),
	ALL(0x1cc, "v_fma_f64", fma_f64, "dddd", 0),
	ALL(0x1ce, "v_alignbit_b32", alignbit_b32, "uuuu", 0),
	ROW(0x1cf, "v_alignbyte_b32", alignbyte_b32, "uuuu", 0),
	ROW(0x1d0, "v_min3_f32", min3_f32, "ffff", 0),
	ALL(0x1d1, "v_min3_i32", min3_i32, "uuuu", 0),
	ALL(0x1d2, "v_min3_u32", min3_u32, "uuuu", 0),
	ROW(0x1d3, "v_max3_f32", max3_f32, "ffff", 0),
	ALL(0x1d4, "v_max3_i32", max3_i32, "uuuu", 0),
	ALL(0x1d5, "v_max3_u32", max3_u32, "uuuu", 0),
	ROW(0x1d6, "v_med3_f32", med3_f32, "ffff", 0),
	ROW(0x1d7, "v_med3_i32", med3_i32, "uuuu", 0),
	ROW(0x1d8, "v_med3_u32", med3_u32, "uuuu", 0),
	ROW(0x1d9, "v_sad_u8", sad_u8, "uuuu", 0),
	ROW(0x1dc, "v_sad_u32", sad_u32, "uuuu", 0),
	ALL(0x1de, "v_div_fixup_f32", div_fixup_f32, "ffff", 0),
	ROW(0x1df, "v_div_fixup_f64", div_fixup_f64, "dddd", 0),
	ALL(0x1e0, "v_div_scale_f32", div_scale_f32, "ffff", CARRY_OUT),
	ROW(0x1e1, "v_div_scale_f64", div_scale_f64, "dddd", CARRY_OUT),
	ALL(0x1e2, "v_div_fmas_f32", div_fmas_f32, "ffff", CARRY_IN),
	ROW(0x1e3, "v_div_fmas_f64", div_fmas_f64, "dddd", CARRY_IN),
	ALL(0x1e8, "v_mad_u64_u32", mad_u64_u32, "quuq", CARRY_OUT),
	ROW(0x1e9, "v_mad_i64_i32", mad_i64_i32, "quuq", CARRY_OUT),
	ROW(0x1ed, "v_perm_b32", perm_b32, "uuuu", 0),
	ROW(0x1f1, "v_mad_u32_u16", mad_u32_u16, "uwwu", 0),
	ROW(0x1f2, "v_mad_i32_i16", mad_i32_i16, "uwwu", 0),
	ALL(0x1f3, "v_xad_u32", xad_u32, "uuuu", 0),
	ROW(0x1f4, "v_min3_f16", min3_f16, "hhhh", 0),
	ROW(0x1f5, "v_min3_i16", min3_i16, "wwww", 0),
	ROW(0x1f6, "v_min3_u16", min3_u32, "wwww", 0),
	ROW(0x1f7, "v_max3_f16", max3_f16, "hhhh", 0),
	ROW(0x1f8, "v_max3_i16", max3_i16, "wwww", 0),
	ROW(0x1f9, "v_max3_u16", max3_u32, "wwww", 0),
	ROW(0x1fa, "v_med3_f16", med3_f16, "hhhh", 0),
	ROW(0x1fb, "v_med3_i16", med3_i16, "wwww", 0),
	ROW(0x1fc, "v_med3_u16", med3_u32, "wwww", 0),
	ALL(0x1fd, "v_lshl_add_u32", lshl_add_u32, "uuuu", 0),
	ALL(0x1fe, "v_add_lshl_u32", add_lshl_u32, "uuuu", 0),
	ALL(0x1ff, "v_add3_u32", add3_u32, "uuuu", 0),
	ALL(0x200, "v_lshl_or_b32", lshl_or_b32, "uuuu", 0),
	ALL(0x201, "v_and_or_b32", and_or_b32, "uuuu", 0),
	ALL(0x202, "v_or3_b32", or3_b32, "uuuu", 0),
	ROW(0x203, "v_mad_f16", mad_f16, "hhhh", 0),
	ROW(0x204, "v_mad_u16", mad_u16, "wwww", 0),
	ROW(0x205, "v_mad_i16", mad_u16, "wwww", 0),
	ALL(0x206, "v_fma_f16", fma_f16, "hhhh", 0),
	ROW(0x207, "v_div_fixup_f16", div_fixup_f16, "hhhh", 0),
	ALL(0x208, "v_lshl_add_u64", lshl_add_u64, "qquq", GFX942),
	ALL(0x280, "v_add_f64", add_f64, "ddd", 0),
	ALL(0x281, "v_mul_f64", mul_f64, "ddd", 0),
	ALL(0x282, "v_min_f64", min_f64, "ddd", 0),
	ALL(0x283, "v_max_f64", max_f64, "ddd", 0),
	ROW(0x284, "v_ldexp_f64", ldexp_f64, "ddu", 0),
	ALL(0x285, "v_mul_lo_u32", mul_lo_u32, "uuu", 0),
	ALL(0x286, "v_mul_hi_u32", mul_hi_u32, "uuu", 0),
	ALL(0x287, "v_mul_hi_i32", mul_hi_i32, "uuu", 0),
	ROW(0x288, "v_ldexp_f32", ldexp_f32, "ffu", 0),
	ROW(0x28b, "v_bcnt_u32_b32", bcnt_u32_b32, "uuu", 0),
	ALL(0x28c, "v_mbcnt_lo_u32_b32", mbcnt_lo, "uuu", 0),
	ALL(0x28d, "v_mbcnt_hi_u32_b32", mbcnt_hi, "uuu", 0),
	ALL(0x28f, "v_lshlrev_b64", lshlrev_b64, "quq", 0),
	ALL(0x290, "v_lshrrev_b64", lshrrev_b64, "quq", 0),
	ALL(0x291, "v_ashrrev_i64", ashrrev_i64, "quq", 0),
	ROW(0x292, "v_trig_preop_f64", trig_preop_f64, "ddu", 0),
	ROW(0x293, "v_bfm_b32", bfm_b32, "uuu", 0),
	ROW(0x296, "v_cvt_pkrtz_f16_f32", cvt_pkrtz_f16_f32, "uff", 0),
	ROW(0x297, "v_cvt_pk_u16_u32", cvt_pk_u16_u32, "uuu", 0),
	ROW(0x298, "v_cvt_pk_i16_i32", cvt_pk_i16_i32, "uuu", 0),
	ALL(0x29c, "v_add_i32", add_u32, "uuu", 0),
	ALL(0x29d, "v_sub_i32", sub_u32, "uuu", 0),
	ROW(0x29e, "v_add_i16", add_u16, "www", 0),
	ROW(0x29f, "v_sub_i16", sub_u16, "www", 0),
	ROW(0x2a0, "v_pack_b32_f16", pack_b32_f16, "uhh", 0),
	ROW(0x2a1, "v_mul_legacy_f32", mul_legacy_f32, "fff", 0),
};

/*
 * Bits of MODE that arithmetic depends on, and what most kernels have there: round to nearest,
 * denormals are numbers
 */
#define MODE_FLOAT		0xffu
#define MODE_NEAREST_DENORMALS	0xf0u

/* Those that are not lane by lane */
#define V_NOP			VOP1(0x00)
#define V_READFIRSTLANE		VOP1(0x02)
#define V_SWAP			VOP1(0x51)
#define V_CLREXCP		VOP1(0x35)
#define V_ACCVGPR_MOV		VOP1(0x52)
#define V_READLANE		0x289u
#define V_WRITELANE		0x28au

#define VOPC_END		0x100u

static u32 width_of(char type)
{
	switch (type) {
	case 'q':
	case 'd':
		return 64;
	case 'h':
	case 'w':
		return 16;
	default:
		return 32;
	}
}

static u64 sign_of(char type)
{
	switch (type) {
	case 'd':
	case 'q':
		return 1ULL << 63;
	case 'h':
	case 'w':
		return 0x8000;
	default:
		return 0x80000000;
	}
}

/* Part of a register that SDWA selects */
#define SEL_WORD0	4u
#define SEL_WORD1	5u
#define SEL_DWORD	6u

/**
 * struct source - an operand of a vector instruction
 * @v: registers of all lanes; NULL: @value is that of each lane
 * @value: of a scalar operand
 * @type: see struct vop
 * @select: SDWA's selection
 * @sext: it is sign-extended
 * @abs: sign removed
 * @neg: sign changed, after that
 */
struct source {
	const u32 *v;
	u64 value;
	char type;
	u8 select;
	bool sext;
	bool abs;
	bool neg;
};

/**
 * vgpu_isa_vgprs() - lanes of vector registers; NULL, and the wave has halted, if it does not have
 * them
 */
u32 *vgpu_isa_vgprs(struct vgpu_isa *x, struct vgpu_wave *w, u32 first, u32 count)
{
	if (first < w->vgprs && count <= w->vgprs - first)
		return w->v + first * VGPU_LANES;
	vgpu_isa_raise(x, w, VGPU_WAVE_ILLEGAL_INSTRUCTION, "register was not allocated");
	return NULL;
}

/* M0 says how far, and of which operands, while the mode is on */
static u32 indexed(const struct vgpu_wave *w, u32 reg, u32 which)
{
	if (!(w->mode & VGPU_MODE_GPR_IDX) || !(w->s[VGPU_S_M0] >> (12 + which) & 1))
		return reg;
	return reg + (w->s[VGPU_S_M0] & 0xff);
}

static void modes_of(const struct vgpu_wave *w, struct vgpu_float_mode *f, struct vgpu_float_mode *flat)
{
	u32 format;

	for (format = 0; format < VGPU_FLOAT_FORMATS; format++) {
		u32 shift = format == VGPU_F32 ? 0 : 2;

		f[format].format = (u8)format;
		f[format].round = w->mode >> shift & 3;
		f[format].denorm_in = w->mode >> (4 + shift) & 1;
		f[format].denorm_out = w->mode >> (5 + shift) & 1;
		flat[format] = f[format];
		flat[format].denorm_in = false;
		flat[format].denorm_out = false;
	}
}

/* The inline constants of 16 bit operands */
static const u16 constants16[] = { 0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118 };

static bool resolve(struct vgpu_isa *x, struct vgpu_wave *w, const struct vgpu_inst *i, const struct vgpu_vop *v, u32 n, char type,
		    struct source *s)
{
	u32 code = v->src[n];
	bool wide = width_of(type) == 64;

	*s = (struct source) { .type = type, .select = SEL_DWORD, .abs = v->abs >> n & 1, .neg = v->neg >> n & 1 };
	if (v->has_sdwa && n < 2) {
		s->select = v->sdwa >> (n ? 24 : 16) & 7;
		s->sext = v->sdwa >> (n ? 27 : 19) & 1;
	} else if (width_of(type) == 16 && (v->opsel >> n & 1)) {
		s->select = SEL_WORD1;
	}
	if (code >= SRC_VGPR) {
		s->v = vgpu_isa_vgprs(x, w, indexed(w, code - SRC_VGPR, n), wide ? 2 : 1);
		return s->v;
	}
	if (width_of(type) == 16 && code >= 240 && code <= 248)
		s->value = constants16[code - 240];
	else
		s->value = vgpu_isa_scalar(x, w, i, code, wide);
	if (type == 'd' && code == SRC_LITERAL)				/* a literal is the upper half of a double */
		s->value <<= 32;
	return w->state == VGPU_WAVE_RUNS;
}

static u64 operand(const struct source *s, u32 lane)
{
	u32 bits = width_of(s->type);
	u64 raw = s->value;

	if (s->v)
		raw = bits == 64 ? s->v[lane] | (u64)s->v[VGPU_LANES + lane] << 32 : s->v[lane];
	if (s->select < SEL_WORD0) {
		raw = raw >> 8 * s->select & 0xff;
		if (s->sext)
			raw = (u32)(s32)(s8)raw;
	} else if (s->select < SEL_DWORD) {
		raw = raw >> (s->select == SEL_WORD1 ? 16 : 0) & 0xffff;
		if (s->sext)
			raw = (u32)(s32)(s16)raw;
	}
	if (bits == 16)
		raw &= 0xffff;
	if (s->abs)
		raw &= ~sign_of(s->type);
	if (s->neg)
		raw ^= sign_of(s->type);
	return raw;
}

/* DPP: which lane @lane reads. Return: -1 if there is none. */
static int dpp_lane(u32 control, u32 lane)
{
	u32 row = lane & ~15u, in_row = lane & 15, n = control & 15;

	if (control < 0x100)
		return (int)((lane & ~3u) | (control >> 2 * (lane & 3) & 3));
	switch (control & 0x1f0) {
	case 0x100: /* row_shl */
		return in_row + n < 16 ? (int)(lane + n) : -1;
	case 0x110: /* row_shr */
		return in_row >= n ? (int)(lane - n) : -1;
	case 0x120: /* row_ror */
		return (int)(row | ((in_row - n) & 15));
	case 0x150: /* row_newbcast */
		return (int)(row | n);
	}
	switch (control) {
	case 0x130: /* wave_shl */
		return lane < 63 ? (int)lane + 1 : -1;
	case 0x134: /* wave_rol */
		return (lane + 1) & 63;
	case 0x138: /* wave_shr */
		return (int)lane - 1;
	case 0x13c: /* wave_ror */
		return (lane - 1) & 63;
	case 0x140: /* row_mirror */
		return (int)(row | (15 - in_row));
	case 0x141: /* row_half_mirror */
		return (int)((lane & ~7u) | (7 - (lane & 7)));
	case 0x142: /* row_bcast:15 */
		return row ? (int)row - 1 : -1;
	case 0x143: /* row_bcast:31 */
		return lane >= 32 ? 31 : -1;
	}
	return -2;
}

/* Comparisons: the opcode has a bit for each of less, equal, greater, unordered */
static bool compare_float(u32 op, int c)
{
	return op & (c == -1 ? 1 : !c ? 2 : c == 1 ? 4 : 8);
}

static bool compare_int(u32 op, bool less, bool equal)
{
	return op & (less ? 1 : equal ? 2 : 4);
}

/* What VOPC compares: the type of both operands. Return: 0 if there is no such opcode */
static char vopc_type(u32 op)
{
	static const char classes[] = "fdh", types[] = { 0, 'h', 'f', 'd', 0, 'w', 'u', 'q' };

	return op >= 0x10 && op < 0x16 ? classes[(op - 0x10) / 2] : types[op >> 5 & 7];
}

static bool compare(const struct vgpu_float_mode *f, u32 op, char type, u64 a, u64 b)
{
	u32 format = type == 'h' ? VGPU_F16 : type == 'f' ? VGPU_F32 : VGPU_F64;

	if (op < 0x20)
		return vgpu_float_class(format, vgpu_float_flush(&f[format], a)) & (u32)b & 0x3ff;
	if (op < 0x80)
		return compare_float(op & 15, vgpu_float_compare(&f[format], a, b));
	if (op & 8)
		return compare_int(op, a < b, a == b);
	if (type == 'w')
		return compare_int(op, (s16)a < (s16)b, a == b);
	if (type == 'u')
		return compare_int(op, (s32)a < (s32)b, a == b);
	return compare_int(op, (s64)a < (s64)b, a == b);
}

static void vopc(struct vgpu_isa *x, struct vgpu_wave *w, const struct vgpu_inst *i, const struct vgpu_vop *v)
{
	struct vgpu_float_mode f[VGPU_FLOAT_FORMATS], flat[VGPU_FLOAT_FORMATS];
	char type = vopc_type(v->op);
	u64 exec = vgpu_wave_exec(w), result = 0;
	struct source a, b;
	u32 lane;

	if (!type || v->has_dpp) {
		vgpu_isa_unknown(x, w);
		return;
	}
	if (!resolve(x, w, i, v, 0, type, &a) || !resolve(x, w, i, v, 1, v->op < 0x20 ? 'u' : type, &b))
		return;
	modes_of(w, f, flat);
	for (lane = 0; lane < VGPU_LANES; lane++)
		if (exec >> lane & 1)
			result |= (u64)compare(f, v->op, type, operand(&a, lane), operand(&b, lane)) << lane;
	vgpu_isa_set_scalar(w, v->sdst, result, true);
	if (v->op < 0x20 ? v->op & 1 : v->op & 0x10)		/* v_cmpx */
		vgpu_isa_set_scalar(w, VGPU_S_EXEC, result, true);
}

static u64 modify(const struct lane *l, const struct vgpu_vop *v, char type, u64 d)
{
	static const struct {
		u64 two, four, half;
	} factor[VGPU_FLOAT_FORMATS] = {
		[VGPU_F16] = { 0x4000, 0x4400, 0x3800 },
		[VGPU_F32] = { 0x40000000, 0x40800000, 0x3f000000 },
		[VGPU_F64] = { 0x4000000000000000ULL, 0x4010000000000000ULL, 0x3fe0000000000000ULL },
	};
	u32 format = type == 'h' ? VGPU_F16 : type == 'f' ? VGPU_F32 : VGPU_F64;

	if (v->omod)
		d = vgpu_float_mul(&l->f[format], d, v->omod == 1 ? factor[format].two :
				   v->omod == 2 ? factor[format].four : factor[format].half);
	if (v->clamp) {
		if ((vgpu_float_class(format, d) & VGPU_CLASS_NAN) || vgpu_float_compare(&l->f[format], d, 0) != 1)
			return (vgpu_float_class(format, d) & VGPU_CLASS_NAN) && !(l->w->mode & VGPU_MODE_DX10_CLAMP) ? d : 0;
		if (vgpu_float_compare(&l->f[format], d, vgpu_float_one(format)) == 1)
			return vgpu_float_one(format);
	}
	return d;
}

/* A result of 16 bits, or one that SDWA places in a part of the register */
static u32 place(const struct vgpu_vop *v, u32 bits, u32 old, u32 d)
{
	u32 select = v->has_sdwa ? v->sdwa >> 8 & 7 : bits == 16 && (v->opsel & 8) ? SEL_WORD1 : SEL_DWORD;
	u32 unused = v->has_sdwa ? v->sdwa >> 11 & 3 : 2, shift, mask;

	if (bits == 16)
		d &= 0xffff;
	if (select == SEL_DWORD)
		return d;
	mask = select < SEL_WORD0 ? 0xff : 0xffff;
	shift = select < SEL_WORD0 ? select * 8 : select == SEL_WORD1 ? 16 : 0;
	d &= mask;
	switch (unused) {
	case 0:			/* zero */
		return d << shift;
	case 1:			/* the sign goes on above, below it is zero */
		if (d & ((mask >> 1) + 1))
			d |= ~mask;
		return d << shift;
	default:
		return (old & ~(mask << shift)) | d << shift;
	}
}

static bool is_float(char type)
{
	return type == 'h' || type == 'f' || type == 'd';
}

/* Integers with the clamp bit saturate: only these are known to */
static bool saturates(u32 op)
{
	return op == VOP2(0x34) || op == VOP2(0x35) || op == 0x29c || op == 0x29d;
}

static u64 saturate(u32 op, const struct lane *l)
{
	s64 r;

	switch (op) {
	case VOP2(0x34):
		return l->a + l->b > 0xffffffff ? 0xffffffff : l->a + l->b;
	case VOP2(0x35):
		return l->a < l->b ? 0 : l->a - l->b;
	default:
		r = op == 0x29c ? (s64)SA + SB : (s64)SA - SB;
		return (u64)(r < S32_MIN_ ? S32_MIN_ : r > S32_MAX_ ? S32_MAX_ : r);
	}
}

static void swap_registers(struct vgpu_isa *x, struct vgpu_wave *w, const struct vgpu_vop *v)
{
	u32 *a = vgpu_isa_vgprs(x, w, v->dst, 1), *b = vgpu_isa_vgprs(x, w, v->src[0] - SRC_VGPR, 1), lane, t;
	u64 exec = vgpu_wave_exec(w);

	for (lane = 0; a && b && lane < VGPU_LANES; lane++)
		if (exec >> lane & 1) {
			t = a[lane];
			a[lane] = b[lane];
			b[lane] = t;
		}
}

/* v_readlane, v_readfirstlane, v_writelane, which take no heed of EXEC otherwise */
static void cross_lane(struct vgpu_isa *x, struct vgpu_wave *w, const struct vgpu_inst *i, const struct vgpu_vop *v)
{
	u64 exec = vgpu_wave_exec(w);
	u32 *reg, lane;

	if (v->op == V_WRITELANE) {
		reg = vgpu_isa_vgprs(x, w, v->dst, 1);
		lane = (u32)vgpu_isa_scalar(x, w, i, v->src[1], false) % VGPU_LANES;
		if (reg)
			reg[lane] = (u32)vgpu_isa_scalar(x, w, i, v->src[0], false);
		return;
	}
	if (v->op == V_READLANE)
		lane = (u32)vgpu_isa_scalar(x, w, i, v->src[1], false) % VGPU_LANES;
	else
		lane = exec ? (u32)__builtin_ctzll(exec) : 0;
	if (v->src[0] < SRC_VGPR) {
		vgpu_isa_set_scalar(w, v->dst, vgpu_isa_scalar(x, w, i, v->src[0], false), false);
		return;
	}
	reg = vgpu_isa_vgprs(x, w, v->src[0] - SRC_VGPR, 1);
	if (reg)
		vgpu_isa_set_scalar(w, v->dst, reg[lane], false);
}

static void acc_mov(struct vgpu_isa *x, struct vgpu_wave *w, u32 to, u32 from)
{
	u32 *d = vgpu_isa_vgprs(x, w, to, 1), *s = vgpu_isa_vgprs(x, w, from, 1), lane;
	u64 exec = vgpu_wave_exec(w);

	if (d && s && exec == U64_MAX) {
		memcpy(d, s, VGPU_LANES * 4);
		return;
	}
	for (lane = 0; d && s && lane < VGPU_LANES; lane++)
		if (exec >> lane & 1)
			d[lane] = s[lane];
}

/* Those of @exec */
static void lanes(struct vgpu_isa *x, struct vgpu_wave *w, const struct vgpu_inst *i, const struct vgpu_vop *v, const struct vop *row, u64 exec)
{
	struct vgpu_float_mode f[VGPU_FLOAT_FORMATS], flat[VGPU_FLOAT_FORMATS];
	u32 bits = width_of(row->types[0]), lane, n, *d, moved[VGPU_LANES];
	u64 carry_in = 0, carry_out = 0;
	struct lane l = { .w = w, .f = f, .flat = flat };
	struct source src[3];

	if (v->clamp && !is_float(row->types[0]) && !saturates(v->op)) {
		vgpu_isa_raise(x, w, VGPU_WAVE_ILLEGAL_INSTRUCTION, "unknown saturation");
		return;
	}
	for (n = 0; row->types[n + 1]; n++)
		if (!resolve(x, w, i, v, n, row->types[n + 1], &src[n]))
			return;
	d = vgpu_isa_vgprs(x, w, indexed(w, v->dst, 3), bits == 64 ? 2 : 1);
	if (!d)
		return;
	if (row->flags & CARRY_IN)
		carry_in = vgpu_isa_scalar(x, w, i, v->carry_src, true);
	modes_of(w, f, flat);
	if (v->has_dpp) {
		if (!src[0].v || width_of(src[0].type) == 64) {
			vgpu_isa_unknown(x, w);
			return;
		}
		memcpy(moved, src[0].v, sizeof(moved));
	}
	for (lane = 0; lane < VGPU_LANES; lane++) {
		struct source from = src[0];

		if (!(exec >> lane & 1))
			continue;
		if (v->has_dpp) {
			int other = dpp_lane(v->dpp >> 8 & 0x1ff, lane);

			if (other == -2) {
				vgpu_isa_unknown(x, w);
				return;
			}
			if (!(v->dpp >> (28 + lane / 16) & 1) || !(v->dpp >> (24 + lane / 4 % 4) & 1))
				continue;
			if (other < 0 || !(exec >> other & 1)) {
				if (!(v->dpp >> 19 & 1))		/* bound_ctrl */
					continue;
				from.v = NULL;
				from.value = 0;
			} else {
				from.v = NULL;
				from.value = moved[other];
			}
		}
		l.lane = lane;
		l.a = operand(&from, lane);
		l.b = row->types[2] ? operand(&src[1], lane) : 0;
		l.c = row->types[2] && row->types[3] ? operand(&src[2], lane) : 0;
		l.carry = carry_in >> lane & 1;
		l.d = bits == 64 ? d[lane] | (u64)d[VGPU_LANES + lane] << 32 : d[lane];
		if (bits == 16 && (row->flags & KEEPS_OLD))
			l.d &= 0xffff;
		if (v->clamp && saturates(v->op))
			l.d = saturate(v->op, &l);
		else
			row->fn(&l);
		if (is_float(row->types[0]) && (v->omod || v->clamp))
			l.d = modify(&l, v, row->types[0], l.d);
		carry_out |= (u64)l.carry << lane;
		if (bits == 64) {
			d[lane] = (u32)l.d;
			d[VGPU_LANES + lane] = (u32)(l.d >> 32);
		} else {
			d[lane] = place(v, bits, d[lane], (u32)l.d);
		}
	}
	if (row->flags & CARRY_OUT)
		vgpu_isa_set_scalar(w, v->sdst, carry_out, true);
}

/* Clocks beyond the usual four: a quarter of the rate for what the special units do */
static u32 extra_cycles(u32 op)
{
	if ((op >= VOP1(0x20) && op <= VOP1(0x2a)) || (op >= VOP1(0x3d) && op <= VOP1(0x41)))
		return 12;
	return op >= 0x285 && op <= 0x287 ? 12 : 0;
}

/* The fields of an instruction in whatever encoding. Return: false if it is not one. */
static bool fields(struct vgpu_vop *v, const struct vgpu_inst *i)
{
	u32 word = i->word[0], next = i->word[1], op;

	*v = (struct vgpu_vop) { .sdst = SRC_VCC, .carry_src = SRC_VCC };
	if (word >> 26 == 0x34) {
		v->op = word >> 16 & 0x3ff;
		v->dst = word & 0xff;
		v->clamp = word >> 15 & 1;
		v->src[0] = next & 0x1ff;
		v->src[1] = next >> 9 & 0x1ff;
		v->src[2] = next >> 18 & 0x1ff;
		v->omod = next >> 27 & 3;
		v->neg = next >> 29;
		if (v->op < VOPC_END) {
			v->sdst = v->dst;
			v->abs = word >> 8 & 7;
		} else if (vops[v->op].flags & CARRY_OUT) {
			v->sdst = word >> 8 & 0x7f;
			v->carry_src = v->src[2];
		} else {
			v->abs = word >> 8 & 7;
			v->opsel = word >> 11 & 15;
			v->carry_src = v->op == VOP2(0) ? v->src[2] : SRC_VCC;
		}
		return true;
	}
	op = word >> 25;
	v->src[0] = word & 0x1ff;
	v->dst = word >> 17 & 0xff;
	if (op == 0x3f) {
		v->op = VOP1(word >> 9 & 0xff);
		if (v->op >= 0x1c0)
			return false;
	} else {
		v->src[1] = SRC_VGPR + (word >> 9 & 0xff);
		if (op == 0x3e) {
			v->op = word >> 17 & 0xff;
			v->dst = 0;
		} else {
			v->op = VOP2(op);
			v->src[2] = SRC_LITERAL;		/* of v_madak */
			if (op == 0x17 || op == 0x24) {		/* v_madmk */
				v->src[2] = v->src[1];
				v->src[1] = SRC_LITERAL;
			}
		}
	}
	if (v->src[0] == SRC_SDWA) {
		v->has_sdwa = true;
		v->sdwa = next;
		v->src[0] = (next & 0xff) + (next >> 23 & 1 ? 0 : SRC_VGPR);
		v->neg = (next >> 20 & 1) | (next >> 28 & 1) << 1;
		v->abs = (next >> 21 & 1) | (next >> 29 & 1) << 1;
		if (next >> 31)
			v->src[1] -= SRC_VGPR;
		if (op == 0x3e) {
			if (next >> 15 & 1)
				v->sdst = next >> 8 & 0x7f;
		} else {
			v->clamp = next >> 13 & 1;
			v->omod = next >> 14 & 3;
		}
	} else if (v->src[0] == SRC_DPP) {
		v->has_dpp = true;
		v->dpp = next;
		v->src[0] = (next & 0xff) + SRC_VGPR;
		v->neg = (next >> 20 & 1) | (next >> 22 & 1) << 1;
		v->abs = (next >> 21 & 1) | (next >> 23 & 1) << 1;
	}
	return true;
}

/* @exec is what lanes take part in what is done for each lane */
static void lane_by_lane(struct vgpu_isa *x, struct vgpu_wave *w, const struct vgpu_inst *i, u64 exec)
{
	const struct vgpu_vop *v = &i->v;

	if (v->op < VOPC_END) {
		vopc(x, w, i, v);
		return;
	}
	switch (v->op) {
	case V_NOP:
	case V_CLREXCP:
		return;
	case V_SWAP:
		swap_registers(x, w, v);
		return;
	case V_READFIRSTLANE:
	case V_READLANE:
	case V_WRITELANE:
		cross_lane(x, w, i, v);
		return;
	case V_ACCVGPR_MOV:
		acc_mov(x, w, w->acc + v->dst, w->acc + v->src[0] - SRC_VGPR);
		return;
	}
	if (!vops[v->op].fn || (vops[v->op].flags & (x->gfx942 ? GFX90A : GFX942))) {
		vgpu_isa_unknown(x, w);
		return;
	}
	lanes(x, w, i, v, &vops[v->op], exec);
}

static void vop(struct vgpu_isa *x, struct vgpu_wave *w, const struct vgpu_inst *i)
{
	x->cycles += i->v.cycles;
	lane_by_lane(x, w, i, vgpu_wave_exec(w));
}

#ifdef VGPU_HAS_LANES

/* With what the sign bits of an operand become */
static void change_sign(const struct vgpu_vop *v, u32 n, u32 *to, const u32 *from)
{
	u32 sign = width_of(v->types[n + 1]) == 16 ? 0x8000 : 0x80000000;

	vgpu_lanes_copy(to, from, v->abs >> n & 1 ? ~sign : U32_MAX, v->neg >> n & 1 ? sign : 0);
}

/* dpp_lane() of each lane, when it was needed once */
static const s8 *dpp_lanes(u32 control)
{
	static s8 lanes[0x200][VGPU_LANES];
	static bool known[0x200];
	u32 lane;

	for (lane = 0; !known[control] && lane < VGPU_LANES; lane++)
		lanes[control][lane] = (s8)dpp_lane(control, lane);
	known[control] = true;
	return lanes[control];
}

/* Lanes of the rows and banks that DPP is for */
static u64 dpp_mask(u32 dpp)
{
	u64 mask = 0;
	u32 lane;

	for (lane = 0; lane < VGPU_LANES; lane++)
		mask |= (u64)(dpp >> (28 + lane / 16) & dpp >> (24 + lane / 4 % 4) & 1) << lane;
	return mask;
}

/* The operand that DPP takes from other lanes; @exec loses those that are to stay as they are */
static void from_other_lanes(const struct vgpu_wave *w, const struct vgpu_vop *v, u64 *exec, u32 *to)
{
	const u32 *from = w->v + (v->src[0] - SRC_VGPR) * VGPU_LANES;
	const s8 *other = dpp_lanes(v->dpp >> 8 & 0x1ff);
	u64 found = 0;
	u32 lane;

	for (lane = 0; lane < VGPU_LANES; lane++) {
		to[lane] = 0;
		if (other[lane] >= 0 && (*exec >> other[lane] & 1)) {
			to[lane] = from[other[lane]];
			found |= 1ULL << lane;
		}
	}
	*exec &= v->value[0] & (v->dpp >> 19 & 1 ? U64_MAX : found);
	change_sign(v, 0, to, to);
}

/* The same value in each lane */
static void fill(u32 *to, u64 value, bool wide)
{
	vgpu_lanes_fill(to, (u32)value);
	if (wide)
		vgpu_lanes_fill(to + VGPU_LANES, (u32)(value >> 32));
}

/* An operand with modifiers */
static void modified(struct vgpu_isa *x, struct vgpu_wave *w, const struct vgpu_inst *i, u32 n, u32 *to)
{
	const struct vgpu_vop *v = &i->v;
	bool wide = v->wide >> n & 1;
	struct source s;
	u32 bits;

	resolve(x, w, i, v, n, v->types[n + 1], &s);
	if (!s.v) {
		fill(to, operand(&s, 0), wide);
	} else if (s.select != SEL_DWORD) {
		bits = s.select < SEL_WORD0 ? 8 : 16;
		vgpu_lanes_field(to, s.v, bits * (s.select < SEL_WORD0 ? s.select : s.select - SEL_WORD0), bits, s.sext);
		if (width_of(s.type) == 16)
			vgpu_lanes_half(to, to, false, 0);
		change_sign(v, n, to, to);
	} else if (wide) {
		vgpu_lanes_copy(to, s.v, U32_MAX, 0);
		change_sign(v, n, to + VGPU_LANES, s.v + VGPU_LANES);
	} else {
		change_sign(v, n, to, s.v);
	}
}

static void all_lanes(struct vgpu_isa *x, struct vgpu_wave *w, const struct vgpu_inst *i)
{
	const struct vgpu_vop *v = &i->v;
	u32 made[3][2 * VGPU_LANES] VGPU_UNSET, n;
	struct vgpu_lanes l VGPU_UNSET;
	u64 result, left;

	x->cycles += v->cycles;
	if (!x->simd || (w->mode & v->mode_mask) != v->mode || v->top > w->vgprs) {
		lane_by_lane(x, w, i, vgpu_wave_exec(w));
		return;
	}
	l.exec = vgpu_wave_exec(w);
	for (n = 0; n < v->sources; n++) {
		l.src[n] = made[n];
		switch (v->from[n]) {
		case VGPU_OPERAND_VECTOR:
			l.src[n] = w->v + (v->src[n] - SRC_VGPR) * VGPU_LANES;
			break;
		case VGPU_OPERAND_SCALAR:
			vgpu_lanes_fill(made[n], w->s[v->src[n]]);
			break;
		case VGPU_OPERAND_CONSTANT:
			fill(made[n], v->value[n], v->wide >> n & 1);
			break;
		case VGPU_OPERAND_OTHER:
			fill(made[n], vgpu_isa_scalar(x, w, i, v->src[n], v->wide >> n & 1), v->wide >> n & 1);
			break;
		case VGPU_OPERAND_DPP:
			from_other_lanes(w, v, &l.exec, made[n]);
			break;
		default:
			modified(x, w, i, n, made[n]);
		}
	}
	if (v->op < VOPC_END) {
		v->lanes(&l);
		result = (v->op & 1 ? l.less : 0) | (v->op & 2 ? l.equal : 0) | (v->op & 4 ? ~(l.less | l.equal | l.unordered) : 0) |
			 (v->op & 8 ? l.unordered : 0);
		result &= l.exec;
		vgpu_isa_set_scalar(w, v->sdst, result, true);
		if (v->op & 0x10)
			vgpu_isa_set_scalar(w, VGPU_S_EXEC, result, true);
		return;
	}
	l.d = w->v + v->dst * VGPU_LANES;
	l.mask = v->carries & CARRY_IN ? vgpu_isa_scalar(x, w, i, v->carry_src, true) : 0;
	if (v->has_dpp) {		/* if one lane has to read others again, they must be as they were */
		memcpy(made[2], l.d, sizeof(made[2][0]) * VGPU_LANES * (width_of(v->types[0]) == 64 ? 2 : 1));
		l.d = made[2];
	}
	left = v->lanes(&l);
	if (v->has_dpp) {
		if (left)
			left = vgpu_wave_exec(w);
		else
			memcpy(w->v + v->dst * VGPU_LANES, made[2], sizeof(made[2][0]) * VGPU_LANES * (width_of(v->types[0]) == 64 ? 2 : 1));
	}
	/* Others have no carry then. */
	if (left)
		lane_by_lane(x, w, i, left);
	else if (v->carries & CARRY_OUT)
		vgpu_isa_set_scalar(w, v->sdst, l.mask, true);
}

/* Is it an operand that vgpu_isa_scalar() knows? */
static bool is_scalar(u32 code)
{
	return code <= 208 || (code >= 235 && code <= 238) || (code >= 240 && code <= 248) || (code >= 251 && code <= 253) || code == SRC_LITERAL;
}

static vgpu_lanes_fn compares(u32 op, char type)
{
	if (op < 0x20)
		return NULL;
	switch (type) {
	case 'f':
		return vgpu_lanes_compare_f32;
	case 'd':
		return vgpu_lanes_compare_f64;
	case 'u':
		return op & 8 ? vgpu_lanes_compare_u32 : vgpu_lanes_compare_i32;
	case 'q':
		return op & 8 ? vgpu_lanes_compare_u64 : vgpu_lanes_compare_i64;
	}
	return NULL;
}

static void reaches(struct vgpu_vop *v, u32 reg, char type)
{
	u32 end = reg + (width_of(type) == 64 ? 2 : 1);

	v->top = end > v->top ? end : v->top;
}

/* Can all lanes be done at once? */
static bool prepare(const struct vgpu_isa *x, struct vgpu_inst *i)
{
	struct vgpu_vop *v = &i->v;
	const struct vop *row = &vops[v->op];
	bool compare = v->op < VOPC_END;
	u32 n;

	if (compare) {
		v->types[1] = v->types[2] = vopc_type(v->op);
		v->lanes = compares(v->op, v->types[1]);
		if (v->has_dpp || (v->types[1] != 'f' && v->types[1] != 'd' && (v->neg | v->abs)))
			return false;
	} else if (!row->fn || (row->flags & (x->gfx942 ? GFX90A : GFX942)) || v->op == V_ACCVGPR_MOV) {
		return false;
	} else {
		memcpy(v->types, row->types, sizeof(v->types));
		v->lanes = row->lanes;
		v->carries = row->flags & (CARRY_IN | CARRY_OUT);
		reaches(v, v->dst, v->types[0]);
		if (width_of(v->types[0]) == 16 && (v->opsel & 8))
			return false;
	}
	if (!v->lanes || v->clamp || v->omod || (v->has_sdwa && !compare && (v->sdwa >> 8 & 7) != SEL_DWORD) ||
	    (v->carries & CARRY_IN && !is_scalar(v->carry_src)))
		return false;
	if (v->has_dpp && (v->src[0] < SRC_VGPR || v->types[3] || width_of(v->types[1]) == 64 || dpp_lane(v->dpp >> 8 & 0x1ff, 0) == -2))
		return false;
	v->mode_mask = VGPU_MODE_GPR_IDX;
	for (n = 0; n < 4 && (n == 0 || v->types[n]); n++)
		if (is_float(v->types[n])) {
			v->mode_mask |= MODE_FLOAT;
			v->mode = MODE_NEAREST_DENORMALS;
		}
	for (n = 0; v->types[n + 1]; n++, v->sources++) {
		char type = v->types[n + 1];
		u32 code = v->src[n], bits = width_of(type);

		v->wide |= (bits == 64) << n;
		if (code >= SRC_VGPR)
			reaches(v, code - SRC_VGPR, type);
		else if (!is_scalar(code))
			return false;
		if (v->has_sdwa && bits == 64)
			return false;
		if (v->has_dpp && !n) {
			v->from[n] = VGPU_OPERAND_DPP;
			v->value[n] = dpp_mask(v->dpp);
		} else if ((v->abs | v->neg) >> n & 1 || (v->has_sdwa && n < 2) || (bits == 16 && (v->opsel >> n & 1 || code < SRC_VGPR)) ||
			 (type == 'd' && code == SRC_LITERAL)) {
			v->from[n] = VGPU_OPERAND_MODIFIED;
		} else if (code >= SRC_VGPR) {
			v->from[n] = VGPU_OPERAND_VECTOR;
		} else if (code < VGPU_WAVE_SGPRS && bits == 32) {
			v->from[n] = VGPU_OPERAND_SCALAR;
		} else if (vgpu_isa_constant(i, code, bits == 64, &v->value[n])) {
			v->from[n] = VGPU_OPERAND_CONSTANT;
		} else {
			v->from[n] = VGPU_OPERAND_OTHER;
		}
	}
	return true;
}

#endif

/** vgpu_isa_decode_vop() - what executes VOP1, VOP2, VOPC or VOP3 */
void vgpu_isa_decode_vop(const struct vgpu_isa *x, struct vgpu_inst *i)
{
	(void)x;
	if (!fields(&i->v, i))
		return;
	i->v.cycles = (u8)extra_cycles(i->v.op);
	i->execute = vop;
#ifdef VGPU_HAS_LANES
	if (prepare(x, i))
		i->execute = all_lanes;
#endif
}

/* ---- VOP3P ---- */

#define PK16	1u	/* two of 16 bits: the row's function for each half */
#define PK32	2u	/* two of 32 bits */
#define V_PK_MOV	0x33u
#define V_ACC_READ	0x58u
#define V_ACC_WRITE	0x59u
#define V_MIX_F32	0x20u
#define V_MIXLO_F16	0x21u
#define V_MIXHI_F16	0x22u

static const struct vop vop3ps[] = {
	ROW(0x00, "v_pk_mad_i16", mad_u16, "wwww", PK16),
	ROW(0x01, "v_pk_mul_lo_u16", mul_lo_u16, "www", PK16),
	ROW(0x02, "v_pk_add_i16", add_u16, "www", PK16),
	ROW(0x03, "v_pk_sub_i16", sub_u16, "www", PK16),
	ROW(0x04, "v_pk_lshlrev_b16", lshlrev_b16, "www", PK16),
	ROW(0x05, "v_pk_lshrrev_b16", lshrrev_b16, "www", PK16),
	ROW(0x06, "v_pk_ashrrev_i16", ashrrev_i16, "www", PK16),
	ROW(0x07, "v_pk_max_i16", max_i16, "www", PK16),
	ROW(0x08, "v_pk_min_i16", min_i16, "www", PK16),
	ROW(0x09, "v_pk_mad_u16", mad_u16, "wwww", PK16),
	ROW(0x0a, "v_pk_add_u16", add_u16, "www", PK16),
	ROW(0x0b, "v_pk_sub_u16", sub_u16, "www", PK16),
	ROW(0x0c, "v_pk_max_u16", max_u16, "www", PK16),
	ROW(0x0d, "v_pk_min_u16", min_u16, "www", PK16),
	ALL(0x0e, "v_pk_fma_f16", fma_f16, "hhhh", PK16),
	ALL(0x0f, "v_pk_add_f16", add_f16, "hhh", PK16),
	ALL(0x10, "v_pk_mul_f16", mul_f16, "hhh", PK16),
	ROW(0x11, "v_pk_min_f16", min_f16, "hhh", PK16),
	ROW(0x12, "v_pk_max_f16", max_f16, "hhh", PK16),
	ALL(0x30, "v_pk_fma_f32", fma_f32, "ffff", PK32),
	ALL(0x31, "v_pk_mul_f32", mul_f32, "fff", PK32),
	ALL(0x32, "v_pk_add_f32", add_f32, "fff", PK32),
	ROW(V_PK_MOV, "v_pk_mov_b32", mov, "uuu", PK32),
	ALL(V_MIX_F32, "v_fma_mix_f32", fma_f32, "ffff", 0),
	ALL(V_MIXLO_F16, "v_fma_mixlo_f16", fma_f32, "ffff", 0),
	ALL(V_MIXHI_F16, "v_fma_mixhi_f16", fma_f32, "ffff", 0),
	ALL_AS(V_DOT2_F32_F16, "v_dot2_f32_f16", fma_f32, "uuuf", 0, dot2_f32_f16),
	ROW(V_DOT2_I32_I16, "v_dot2_i32_i16", add_u32, "uuuu", 0),
	ROW(V_DOT2_U32_U16, "v_dot2_u32_u16", add_u32, "uuuu", 0),
	ROW(V_DOT4_I32_I8, "v_dot4_i32_i8", add_u32, "uuuu", 0),
	ROW(V_DOT4_U32_U8, "v_dot4_u32_u8", add_u32, "uuuu", 0),
	ROW(V_DOT8_I32_I4, "v_dot8_i32_i4", add_u32, "uuuu", 0),
	ROW(V_DOT8_U32_U4, "v_dot8_u32_u4", add_u32, "uuuu", 0),
};

/* An operand of VOP3P: all of its bits, 64 of them if the halves have 32 */
static u64 packed(const struct source *s, u32 lane, bool wide)
{
	if (!s->v)
		return s->value;
	return s->v[lane] | (wide ? (u64)s->v[VGPU_LANES + lane] << 32 : 0);
}

/**
 * struct vop3p_inst - modifiers of VOP3P
 * @opsel: the lower result takes the upper half of an operand, a bit for each
 * @opsel_hi: the upper result does
 * @neg: operands of the lower result change sign
 * @neg_hi: those of the upper one
 */
struct vop3p_inst {
	u32 opsel;
	u32 opsel_hi;
	u32 neg;
	u32 neg_hi;
	bool clamp;
};

static u64 half(u64 v, u32 bits, bool high, bool negate)
{
	v = (high ? v >> bits : v) & ((1ULL << bits) - 1);
	return negate ? v ^ 1ULL << (bits - 1) : v;
}

/* An operand of v_fma_mix: 32 bits, or a half that is 16; neg_hi means the absolute value */
static u64 mixed(const struct vop3p_inst *p, const struct vgpu_float_mode *f, u32 n, u64 v)
{
	v &= 0xffffffff;
	if (p->opsel_hi >> n & 1)
		v = vgpu_float_convert(&f[VGPU_F32], &f[VGPU_F16], p->opsel >> n & 1 ? v >> 16 : v & 0xffff);
	if (p->neg_hi >> n & 1)
		v &= 0x7fffffff;
	return p->neg >> n & 1 ? v ^ 0x80000000 : v;
}

static void packed_lanes(struct vgpu_isa *x, struct vgpu_wave *w, const struct vop3p_inst *p, const struct vop *row, u32 op, u32 dst,
			 const struct source *src)
{
	struct vgpu_float_mode f[VGPU_FLOAT_FORMATS], flat[VGPU_FLOAT_FORMATS];
	u32 lane, n, part, bits = row->flags & PK32 ? 32 : 16, *d = vgpu_isa_vgprs(x, w, dst, row->flags & PK32 ? 2 : 1);
	const struct vgpu_vop clamp = { .clamp = p->clamp };
	struct lane l = { .w = w, .f = f, .flat = flat };
	u64 exec = vgpu_wave_exec(w), v[3], h[3], r[2];

	modes_of(w, f, flat);
	for (lane = 0; d && lane < VGPU_LANES; lane++) {
		if (!(exec >> lane & 1))
			continue;
		for (n = 0; n < 3; n++)
			v[n] = packed(&src[n], lane, row->flags & PK32);
		if (op >= V_DOT2_F32_F16 && op <= V_DOT8_U32_U4) {
			d[lane] = (u32)dot(op, f, v[0], v[1], v[2]);
			continue;
		}
		if (op >= V_MIX_F32 && op <= V_MIXHI_F16) {
			r[0] = vgpu_float_fma(&f[VGPU_F32], mixed(p, f, 0, v[0]), mixed(p, f, 1, v[1]), mixed(p, f, 2, v[2]));
			if (p->clamp)
				r[0] = modify(&l, &clamp, 'f', r[0]);
			if (op == V_MIX_F32)
				d[lane] = (u32)r[0];
			else if (op == V_MIXLO_F16)
				d[lane] = (d[lane] & 0xffff0000) | (u32)vgpu_float_convert(&f[VGPU_F16], &f[VGPU_F32], r[0]);
			else
				d[lane] = (d[lane] & 0xffff) | (u32)vgpu_float_convert(&f[VGPU_F16], &f[VGPU_F32], r[0]) << 16;
			continue;
		}
		for (part = 0; part < 2; part++) {
			u32 select = part ? p->opsel_hi : p->opsel, neg = part ? p->neg_hi : p->neg;

			if (op == V_PK_MOV) {		/* each result has an operand of its own */
				r[part] = half(v[part], 32, p->opsel >> part & 1, false);
				continue;
			}
			for (n = 0; n < 3; n++)
				h[n] = half(v[n], bits, select >> n & 1, neg >> n & 1);
			l.a = h[0];
			l.b = h[1];
			l.c = h[2];
			row->fn(&l);
			r[part] = p->clamp ? modify(&l, &clamp, row->types[0], l.d) : l.d;
		}
		if (row->flags & PK32) {
			d[lane] = (u32)r[0];
			d[VGPU_LANES + lane] = (u32)r[1];
		} else {
			d[lane] = (u32)((r[0] & 0xffff) | r[1] << 16);
		}
	}
}

/* Type of an operand of VOP3P: constants stand in the lower half */
static char packed_type(const struct vop *row, u32 src)
{
	if (row->flags & PK32 && (src < VGPU_WAVE_SGPRS || src >= SRC_VGPR))
		return 'q';
	return row->types[0] == 'h' ? 'h' : 'u';
}

#ifdef VGPU_HAS_LANES

/* Operand @n of the lower or upper result, of all lanes */
static const u32 *part_of(const struct vop3p_inst *p, const struct source *s, u32 n, u32 bits, u32 part, u32 *to)
{
	bool high = (part ? p->opsel_hi : p->opsel) >> n & 1, negate = (part ? p->neg_hi : p->neg) >> n & 1;

	if (!s->v) {
		vgpu_lanes_fill(to, (u32)half(s->value, bits, high, negate));
		return to;
	}
	if (bits == 16) {
		vgpu_lanes_half(to, s->v, high, negate ? 0x8000 : 0);
		return to;
	}
	if (!negate)
		return s->v + (high ? VGPU_LANES : 0);
	vgpu_lanes_copy(to, s->v + (high ? VGPU_LANES : 0), U32_MAX, 0x80000000);
	return to;
}

/* As mixed() */
static bool mixed_lanes(const struct vop3p_inst *p, const struct source *s, u32 n, u32 *to)
{
	struct vgpu_lanes l = { .d = to, .src = { to }, .exec = U64_MAX };

	if (s->v)
		vgpu_lanes_copy(to, s->v, U32_MAX, 0);
	else
		vgpu_lanes_fill(to, (u32)s->value);
	if (p->opsel_hi >> n & 1) {
		vgpu_lanes_half(to, to, p->opsel >> n & 1, 0);
		if (vgpu_lanes_cvt_f32_f16(&l))
			return false;
	}
	vgpu_lanes_copy(to, to, p->neg_hi >> n & 1 ? 0x7fffffff : U32_MAX, p->neg >> n & 1 ? 0x80000000 : 0);
	return true;
}

/* Results of all lanes, to those of EXEC */
static void keep(const struct vgpu_wave *w, u32 *d, const u32 *from)
{
	struct vgpu_lanes l = { .d = d, .src = { from }, .exec = vgpu_wave_exec(w) };

	vgpu_lanes_mov(&l);
}

/* Return: false: nothing was written, do it lane by lane */
static bool packed_at_once(struct vgpu_isa *x, struct vgpu_wave *w, const struct vgpu_inst *i, const struct vop3p_inst *p,
			   const struct vgpu_vop *v, const struct vop *row, u32 op, u32 dst)
{
	u32 made[3][VGPU_LANES] VGPU_UNSET, r[2][VGPU_LANES] VGPU_UNSET;
	u32 *d = w->v + dst * VGPU_LANES, bits = row->flags & PK32 ? 32 : 16, part, n, code;
	bool wide = row->flags & PK32, pairs = row->flags & (PK16 | PK32), mix = op >= V_MIX_F32 && op <= V_MIXHI_F16;
	u64 exec = vgpu_wave_exec(w);
	struct source src[3] VGPU_UNSET;
	struct vgpu_lanes l VGPU_UNSET;

	if (!x->simd || !row->lanes || p->clamp || (w->mode & (MODE_FLOAT | VGPU_MODE_GPR_IDX)) != MODE_NEAREST_DENORMALS ||
	    dst + wide >= w->vgprs)
		return false;
	for (n = 0; row->types[n + 1]; n++) {
		code = v->src[n];
		if (code >= SRC_VGPR) {
			if (code - SRC_VGPR + wide >= w->vgprs)
				return false;
			src[n].v = w->v + (code - SRC_VGPR) * VGPU_LANES;
		} else if (!is_scalar(code) || !resolve(x, w, i, v, n, packed_type(row, code), &src[n])) {
			return false;
		}
	}
	for (part = 0; part < (pairs ? 2 : 1); part++) {
		l.exec = U64_MAX;
		l.d = r[part];
		for (n = 0; row->types[n + 1]; n++) {
			l.src[n] = made[n];
			if (mix) {
				if (!mixed_lanes(p, &src[n], n, made[n]))
					return false;
			} else if (pairs) {
				l.src[n] = part_of(p, &src[n], n, bits, part, made[n]);
			} else if (src[n].v) {
				l.src[n] = src[n].v;
			} else {
				vgpu_lanes_fill(made[n], (u32)src[n].value);
			}
		}
		if (row->lanes(&l) & exec)
			return false;
	}
	if (op == V_MIXLO_F16 || op == V_MIXHI_F16) {
		l.exec = U64_MAX;
		l.d = r[1];
		l.src[0] = r[0];
		if (vgpu_lanes_cvt_f16_f32(&l) & exec)
			return false;
		vgpu_lanes_half(r[0], d, op == V_MIXLO_F16, 0);
		vgpu_lanes_join(r[0], r[op == V_MIXLO_F16], r[op != V_MIXLO_F16]);
	} else if (row->flags & PK16) {
		vgpu_lanes_join(r[0], r[0], r[1]);
	} else if (wide) {
		keep(w, d + VGPU_LANES, r[1]);
	}
	keep(w, d, r[0]);
	return true;
}

#endif

/** vgpu_isa_vop3p() - execute VOP3P */
void vgpu_isa_vop3p(struct vgpu_isa *x, struct vgpu_wave *w, const struct vgpu_inst *i)
{
	u32 word = i->word[0], next = i->word[1], op = word >> 16 & 0x7f, dst = word & 0xff, n;
	struct vop3p_inst p = {
		.opsel = word >> 11 & 7,
		.opsel_hi = (next >> 27 & 3) | (word >> 14 & 1) << 2,
		.neg = next >> 29,
		.neg_hi = word >> 8 & 7,
		.clamp = word >> 15 & 1,
	};
	struct vgpu_vop v = { .src = { next & 0x1ff, next >> 9 & 0x1ff, next >> 18 & 0x1ff } };
	const struct vop *row = op < ARRAY_SIZE(vop3ps) ? &vop3ps[op] : NULL;
	struct source src[3] VGPU_UNSET;

	if (vgpu_isa_is_mfma(x, op)) {
		vgpu_isa_mfma(x, w, i);
		return;
	}
	if (op == V_ACC_READ) {
		acc_mov(x, w, dst, w->acc + (v.src[0] & 0xff));
		return;
	}
	if (op == V_ACC_WRITE) {
		if (v.src[0] >= SRC_VGPR) {
			acc_mov(x, w, w->acc + dst, v.src[0] - SRC_VGPR);
		} else {
			static const struct vop write = { "v_accvgpr_write_b32", mov, "uu", 0, NULL };

			v.dst = w->acc + dst;
			lanes(x, w, i, &v, &write, vgpu_wave_exec(w));
		}
		return;
	}
	if (!row || !row->fn || (p.clamp && !is_float(row->types[0]))) {
		vgpu_isa_unknown(x, w);
		return;
	}
#ifdef VGPU_HAS_LANES
	if (packed_at_once(x, w, i, &p, &v, row, op, dst))
		return;
#endif
	memset(src, 0, sizeof(src));
	for (n = 0; row->types[n + 1]; n++)
		if (!resolve(x, w, i, &v, n, packed_type(row, v.src[n]), &src[n]))
			return;
	packed_lanes(x, w, &p, row, op, dst, src);
}
