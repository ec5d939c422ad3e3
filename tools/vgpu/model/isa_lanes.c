// SPDX-License-Identifier: MIT
/*
 * isa_lanes.c - operations on all lanes at once, see isa_lanes.h
 *
 * Eight lanes in a vector of AVX2, whatever the rest of the model is compiled for. Results wait in
 * registers until it is certain that they are right, because the destination may be an operand.
 */
#include "isa_lanes.h"

#ifdef VGPU_HAS_LANES

#pragma GCC target("avx2,fma,f16c")

typedef u32 vu __attribute__((vector_size(32)));
typedef s32 vs __attribute__((vector_size(32)));
typedef float vf __attribute__((vector_size(32)));
typedef u64 vq __attribute__((vector_size(32)));
typedef s64 vl __attribute__((vector_size(32)));
typedef double vd __attribute__((vector_size(32)));
typedef u32 vu4 __attribute__((vector_size(16)));
typedef s32 vs4 __attribute__((vector_size(16)));
typedef float vf4 __attribute__((vector_size(16)));
typedef short vh8 __attribute__((vector_size(16)));
typedef vu vu_at __attribute__((aligned(4), may_alias));

#define VGPU_LANES_PAGE		4096u
#define PART		8u			/* lanes of a vector */
#define PARTS		(VGPU_LANES / PART)
#define PART64		4u
#define PARTS64		(VGPU_LANES / PART64)
#define INLINE		static inline __attribute__((always_inline))
#define UNROLL		_Pragma("GCC unroll 16")
#define EACH(k)		UNROLL for (k = 0; k < PARTS; k++)
#define EACH64(k)	UNROLL for (k = 0; k < PARTS64; k++)

INLINE vu load(const u32 *v, u32 k)
{
	return *(const vu_at *)(v + PART * k);
}

INLINE vu all(u32 value)
{
	return (vu) { 0 } + value;
}

/* All bits of the lanes that have theirs in @mask */
INLINE vu bits_of(u64 mask, u32 k)
{
	const vu bit = { 1, 2, 4, 8, 16, 32, 64, 128 };

	return (vu)((all((u32)(mask >> PART * k) & 0xff) & bit) == bit);
}

INLINE u64 mask_of(vu v, u32 k)
{
	return (u64)(u8)__builtin_ia32_movmskps256((vf)v) << PART * k;
}

INLINE void put(const struct vgpu_lanes *l, u32 *d, const vu *r)
{
	u32 k;

	if (l->exec == U64_MAX) {
		EACH(k)
			*(vu_at *)(d + PART * k) = r[k];
		return;
	}
	EACH(k) {
		vu m = bits_of(l->exec, k), old = load(d, k);

		*(vu_at *)(d + PART * k) = (r[k] & m) | (old & ~m);
	}
}

/*
 * Eight lanes of 64 bits are two vectors: lanes 0, 1, 4 and 5, then 2, 3, 6 and 7, because that is how
 * their halves can be put together, and parted, in one step.
 */
INLINE vq pair(vu low, vu high, u32 k)
{
	return k & 1 ? (vq)__builtin_ia32_punpckhdq256((vs)low, (vs)high) : (vq)__builtin_ia32_punpckldq256((vs)low, (vs)high);
}

INLINE vu halves(const vq *v, bool high)
{
	return high ? (vu)__builtin_ia32_shufps256((vf)v[0], (vf)v[1], 0xdd) : (vu)__builtin_ia32_shufps256((vf)v[0], (vf)v[1], 0x88);
}

INLINE vq load64(const u32 *v, u32 k)
{
	return pair(load(v, k / 2), load(v + VGPU_LANES, k / 2), k);
}

INLINE vq load32(const u32 *v, u32 k)
{
	return pair(load(v, k / 2), (vu) { 0 }, k);
}

/* The same as four numbers of 32 bits */
INLINE vu4 load4(const u32 *v, u32 k)
{
	vl parted = __builtin_ia32_permdi256((vl)load(v, k / 2), 0xd8);

	return k & 1 ? (vu4)__builtin_ia32_extract128i256(parted, 1) : (vu4)__builtin_ia32_extract128i256(parted, 0);
}

/* Results of 64 bits, as far as lanes take part */
INLINE void put64(const struct vgpu_lanes *l, const vq *r)
{
	vu low[PARTS] VGPU_UNSET, high[PARTS] VGPU_UNSET;
	u32 k;

	EACH(k) {
		low[k] = halves(r + 2 * k, false);
		high[k] = halves(r + 2 * k, true);
	}
	put(l, l->d, low);
	put(l, l->d + VGPU_LANES, high);
}

/* Of vectors @k - 1 and @k, if @k is odd */
INLINE u64 mask_of64(const vq v[2], u32 k)
{
	return k & 1 ? mask_of(halves(v, true), k / 2) : 0;
}

#define FN(name)	u64 vgpu_lanes_##name(struct vgpu_lanes *l)
#define SA		((vs)a)
#define SB		((vs)b)
#define SC		((vs)c)

/* The result of an expression of operands a, b, c and of d, what was there before */
#define OPERATION(name, operands, expression) \
FN(name) { \
	vu r[PARTS] VGPU_UNSET; \
	u32 k; \
	EACH(k) { \
		vu a = load(l->src[0], k), b = operands > 1 ? load(l->src[1], k) : a, c = operands > 2 ? load(l->src[2], k) : a; \
		(void)b; (void)c; \
		r[k] = (vu)(expression); \
	} \
	put(l, l->d, r); \
	return 0; \
}
#define OP1(name, expression)	OPERATION(name, 1, expression)
#define OP2(name, expression)	OPERATION(name, 2, expression)
#define OP3(name, expression)	OPERATION(name, 3, expression)

INLINE vu pick(vu condition, vu yes, vu no)
{
	return (yes & condition) | (no & ~condition);
}

INLINE vu least(vu a, vu b)
{
	return pick((vu)(a < b), a, b);
}

INLINE vu most(vu a, vu b)
{
	return pick((vu)(a > b), a, b);
}

INLINE vs least_signed(vs a, vs b)
{
	return (vs)pick((vu)(a < b), (vu)a, (vu)b);
}

INLINE vs most_signed(vs a, vs b)
{
	return (vs)pick((vu)(a > b), (vu)a, (vu)b);
}

#define I24(v)	((vs)((v) << 8) >> 8)
#define U24(v)	((v) & 0xffffff)

OP1(mov, a)
OP1(not, ~a)
OP2(cndmask, pick(bits_of(l->mask, k), b, a))
OP2(and, a & b)
OP2(or, a | b)
OP2(xor, a ^ b)
OP2(xnor, ~(a ^ b))
OP2(add_u32, a + b)
OP2(sub_u32, a - b)
OP2(subrev_u32, b - a)
OP2(mul_lo_u32, a * b)
OP2(mul_i32_i24, (vu)I24(a) * (vu)I24(b))
OP2(mul_u32_u24, U24(a) * U24(b))
OP3(mad_i32_i24, (vu)I24(a) * (vu)I24(b) + c)
OP3(mad_u32_u24, U24(a) * U24(b) + c)
OP2(min_i32, least_signed(SA, SB))
OP2(max_i32, most_signed(SA, SB))
OP2(min_u32, least(a, b))
OP2(max_u32, most(a, b))
OP3(min3_i32, least_signed(least_signed(SA, SB), SC))
OP3(max3_i32, most_signed(most_signed(SA, SB), SC))
OP3(min3_u32, least(least(a, b), c))
OP3(max3_u32, most(most(a, b), c))
OP2(lshrrev_b32, b >> (a & 31))
OP2(ashrrev_i32, SB >> (vs)(a & 31))
OP2(lshlrev_b32, b << (a & 31))
OP3(bfi_b32, (a & b) | (~a & c))
OP3(lshl_add_u32, (a << (b & 31)) + c)
OP3(add_lshl_u32, (a + b) << (c & 31))
OP3(add3_u32, a + b + c)
OP3(lshl_or_b32, (a << (b & 31)) | c)
OP3(and_or_b32, (a & b) | c)
OP3(or3_b32, a | b | c)
OP3(xad_u32, (a ^ b) + c)
/* A shift by 32 is none: what it would bring is none, too. */
OP3(alignbit_b32, (b >> (c & 31)) | pick((vu)((c & 31) == 0), all(0), a << (-c & 31)))

/* A field of no bits is 0, and none reaches beyond the register */
INLINE vu field(vu v, vu offset, vu width)
{
	return (v >> offset) & pick((vu)(offset + width < all(32)), (all(1) << (width & 31)) - 1, ~(vu) { 0 }) & (vu)(width != 0);
}

INLINE vu signed_field(vu v, vu offset, vu width)
{
	vu room = pick((vu)(offset + width < all(32)), width, all(32) - offset), spare = (all(32) - room) & 31;

	return (vu)((vs)((v >> offset) << spare) >> (vs)spare) & (vu)(width != 0);
}

OP3(bfe_u32, field(a, b & 31, c & 31))
OP3(bfe_i32, signed_field(a, b & 31, c & 31))

INLINE vu high_product(vu a, vu b)
{
	vq even = (vq)__builtin_ia32_pmuludq256((vs)a, (vs)b);
	vq odd = (vq)__builtin_ia32_pmuludq256((vs)((vq)a >> 32), (vs)((vq)b >> 32));

	return (vu)(even >> 32 | (odd & 0xffffffff00000000ULL));
}

INLINE vu high_product_signed(vu a, vu b)
{
	vq even = (vq)__builtin_ia32_pmuldq256((vs)a, (vs)b);
	vq odd = (vq)__builtin_ia32_pmuldq256((vs)((vq)a >> 32), (vs)((vq)b >> 32));

	return (vu)(even >> 32 | (odd & 0xffffffff00000000ULL));
}

OP2(mul_hi_u32, high_product(a, b))
OP2(mul_hi_i32, high_product_signed(a, b))

INLINE vu ones_in(vu v)
{
	v = v - (v >> 1 & 0x55555555);
	v = (v & 0x33333333) + (v >> 2 & 0x33333333);
	v = (v + (v >> 4)) & 0x0f0f0f0f;
	return v * 0x01010101 >> 24;
}

/* Bits below each lane's, of the lower or the upper half of the lanes */
INLINE vu below(u32 k, u32 half)
{
	const vu lane = all(PART * (k % 4)) + (vu) { 0, 1, 2, 3, 4, 5, 6, 7 };

	if (k / 4 != half)
		return all(k / 4 < half ? 0 : U32_MAX);
	return (all(1) << lane) - 1;
}

OP2(mbcnt_lo, ones_in(a & below(k, 0)) + b)
OP2(mbcnt_hi, ones_in(a & below(k, 1)) + b)

/* The same with a carry of each lane: @in is all bits of a lane that has one */
#define CARRY(name, expression, carries) \
FN(name) { \
	vu r[PARTS] VGPU_UNSET; \
	u64 mask = 0; \
	u32 k; \
	EACH(k) { \
		vu a = load(l->src[0], k), b = load(l->src[1], k), in = bits_of(l->mask, k); \
		(void)in; \
		r[k] = expression; \
		mask |= mask_of((vu)(carries), k); \
	} \
	put(l, l->d, r); \
	l->mask = mask & l->exec; \
	return 0; \
}

CARRY(add_co, a + b, r[k] < a)
CARRY(sub_co, a - b, b > a)
CARRY(subrev_co, b - a, a > b)
CARRY(addc_co, a + b - in, (vu)(a + b < a) | ((vu)(r[k] == 0) & in))
CARRY(subb_co, a - b + in, (vu)(b > a) | (in & (vu)(a == b)))
CARRY(subbrev_co, b - a + in, (vu)(a > b) | (in & (vu)(a == b)))

/* ---- 64 bits ---- */

#define OPERATION64(name, first, second, third, expression) \
FN(name) { \
	vq r[PARTS64] VGPU_UNSET; \
	u32 k; \
	EACH64(k) { \
		vq a = first(l->src[0], k), b = second(l->src[1], k), c = third(l->src[2], k); \
		(void)b; (void)c; \
		r[k] = (vq)(expression); \
	} \
	put64(l, r); \
	return 0; \
}

INLINE vq none(const u32 *v, u32 k)
{
	(void)v;
	(void)k;
	return (vq) { 0 };
}

OPERATION64(mov64, load64, none, none, a)
OPERATION64(lshlrev_b64, load32, load64, none, b << (a & 63))
OPERATION64(lshrrev_b64, load32, load64, none, b >> (a & 63))
OPERATION64(lshl_add_u64, load64, load32, load64, (a << (b & 7)) + c)

FN(ashrrev_i64)
{
	vq r[PARTS64] VGPU_UNSET;
	u32 k;

	EACH64(k) {
		vq a = load32(l->src[0], k) & 63, b = load64(l->src[1], k), sign = (vq)((vl)b < 0);

		r[k] = ((b ^ sign) >> a) ^ sign;
	}
	put64(l, r);
	return 0;
}

FN(mad_u64_u32)
{
	vq r[PARTS64] VGPU_UNSET, carry[2] VGPU_UNSET;
	u64 mask = 0;
	u32 k;

	EACH64(k) {
		vq product = (vq)__builtin_ia32_pmuludq256((vs)load32(l->src[0], k), (vs)load32(l->src[1], k));

		r[k] = product + load64(l->src[2], k);
		carry[k & 1] = (vq)(r[k] < product);
		mask |= mask_of64(carry, k);
	}
	put64(l, r);
	l->mask = mask & l->exec;
	return 0;
}

/* ---- comparisons ---- */

#define COMPARE(name, type, is_float) \
u64 vgpu_lanes_compare_##name(struct vgpu_lanes *l) \
{ \
	u64 less = 0, equal = 0, unordered = 0; \
	u32 k; \
	EACH(k) { \
		type a = (type)load(l->src[0], k), b = (type)load(l->src[1], k); \
		less |= mask_of((vu)(a < b), k); \
		equal |= mask_of((vu)(a == b), k); \
		if (is_float) \
			unordered |= mask_of((vu)((a != a) | (b != b)), k); \
	} \
	l->less = less; \
	l->equal = equal; \
	l->unordered = unordered; \
	return 0; \
}
#define COMPARE64(name, type, is_float) \
u64 vgpu_lanes_compare_##name(struct vgpu_lanes *l) \
{ \
	vq compared[3][2] VGPU_UNSET; \
	u64 less = 0, equal = 0, unordered = 0; \
	u32 k; \
	EACH64(k) { \
		type a = (type)load64(l->src[0], k), b = (type)load64(l->src[1], k); \
		compared[0][k & 1] = (vq)(a < b); \
		compared[1][k & 1] = (vq)(a == b); \
		compared[2][k & 1] = is_float ? (vq)((a != a) | (b != b)) : (vq) { 0 }; \
		less |= mask_of64(compared[0], k); \
		equal |= mask_of64(compared[1], k); \
		unordered |= mask_of64(compared[2], k); \
	} \
	l->less = less; \
	l->equal = equal; \
	l->unordered = unordered; \
	return 0; \
}

COMPARE(i32, vs, false)
COMPARE(u32, vu, false)
COMPARE(f32, vf, true)
COMPARE64(i64, vl, false)
COMPARE64(u64, vq, false)
COMPARE64(f64, vd, true)

/* ---- floating point of 32 bits ---- */

#define FA	((vf)a)
#define FB	((vf)b)
#define FC	((vf)c)
#define FD	((vf)load(l->d, k))

/* Results, but for those of @bad lanes. Return: these, as far as they take part */
INLINE u64 put_good(struct vgpu_lanes *l, const vu *r, u64 bad)
{
	bad &= l->exec;
	l->exec &= ~bad;
	put(l, l->d, r);
	return bad;
}

/* Unless it is not what the GPU's would be: @otherwise says in which lanes */
#define FLOATS(name, operands, expression, otherwise) \
FN(name) { \
	vu r[PARTS] VGPU_UNSET; \
	u64 bad = 0; \
	u32 k; \
	EACH(k) { \
		vu a = load(l->src[0], k), b = operands > 1 ? load(l->src[1], k) : a, c = operands > 2 ? load(l->src[2], k) : a; \
		(void)b; (void)c; \
		r[k] = (vu)(expression); \
		bad |= mask_of((vu)(otherwise), k); \
	} \
	return put_good(l, r, bad); \
}
#define IS_NAN	((vf)r[k] != (vf)r[k])

/* The sign decides between zeros, and NaNs are not for here. */
INLINE vu least_float(vu a, vu b)
{
	return pick((vu)((vf)a == (vf)b), a | b, pick((vu)((vf)a < (vf)b), a, b));
}

INLINE vu most_float(vu a, vu b)
{
	return pick((vu)((vf)a == (vf)b), a & b, pick((vu)((vf)a > (vf)b), a, b));
}

/* Of magnitudes: from here on normal, infinite */
#define MAGNITUDE(v)	((vs)((v) & 0x7fffffff))
#define NORMAL		0x00800000
#define INF		0x7f800000

FLOATS(add_f32, 2, FA + FB, IS_NAN)
FLOATS(sub_f32, 2, FA - FB, IS_NAN)
FLOATS(subrev_f32, 2, FB - FA, IS_NAN)
FLOATS(mul_f32, 2, FA * FB, IS_NAN)
FLOATS(min_f32, 2, least_float(a, b), (FA != FA) | (FB != FB))
FLOATS(max_f32, 2, most_float(a, b), (FA != FA) | (FB != FB))
FLOATS(fma_f32, 3, __builtin_ia32_vfmaddps256(FA, FB, FC), IS_NAN)
FLOATS(fmac_f32, 2, __builtin_ia32_vfmaddps256(FA, FB, FD), IS_NAN)
/* These know no denormals, neither as operands nor as results. */
FLOATS(rcp_f32, 1, (vf)all(0x3f800000) / FA, (MAGNITUDE(a) < NORMAL) | (MAGNITUDE(a) >= INF) | (MAGNITUDE(r[k]) <= NORMAL))
FLOATS(sqrt_f32, 1, __builtin_ia32_sqrtps256(FA), ((vs)a < NORMAL) | ((vs)a >= INF))
FLOATS(trunc_f32, 1, __builtin_ia32_roundps256(FA, 3), IS_NAN)
FLOATS(ceil_f32, 1, __builtin_ia32_roundps256(FA, 2), IS_NAN)
FLOATS(floor_f32, 1, __builtin_ia32_roundps256(FA, 1), IS_NAN)
FLOATS(rndne_f32, 1, __builtin_ia32_roundps256(FA, 0), IS_NAN)

FLOATS(cvt_f32_i32, 1, __builtin_ia32_cvtdq2ps256((vs)a), (vu) { 0 })
/* Both halves are exact, so what is rounded is their sum. */
FLOATS(cvt_f32_u32, 1, __builtin_ia32_cvtdq2ps256((vs)(a >> 16)) * 65536.0f + __builtin_ia32_cvtdq2ps256((vs)(a & 0xffff)), (vu) { 0 })
FLOATS(cvt_i32_f32, 1, __builtin_ia32_cvttps2dq256(FA), MAGNITUDE(a) >= 0x4f000000)
FLOATS(cvt_u32_f32, 1, __builtin_ia32_cvttps2dq256(FA), ((vs)a < 0) | ((vs)a >= 0x4f000000))
FLOATS(cvt_f32_ubyte0, 1, __builtin_ia32_cvtdq2ps256((vs)(a & 0xff)), (vu) { 0 })
FLOATS(cvt_f32_ubyte1, 1, __builtin_ia32_cvtdq2ps256((vs)(a >> 8 & 0xff)), (vu) { 0 })
FLOATS(cvt_f32_ubyte2, 1, __builtin_ia32_cvtdq2ps256((vs)(a >> 16 & 0xff)), (vu) { 0 })
FLOATS(cvt_f32_ubyte3, 1, __builtin_ia32_cvtdq2ps256((vs)(a >> 24)), (vu) { 0 })

/* Steps of a division, when nothing can go wrong on the way: see isa_vector.c for when it does */
#define EXPONENT(v)	((vs)((v) >> 23 & 0xff))

FLOATS(div_scale_f32, 3, a,
       (EXPONENT(b) < 1) | (EXPONENT(b) > 250) | (EXPONENT(c) < 24) | (EXPONENT(c) > 254) | (EXPONENT(c) - EXPONENT(b) >= 96) |
       (EXPONENT(c) - EXPONENT(b) < -120))
FLOATS(div_fmas_f32, 3, __builtin_ia32_vfmaddps256(FA, FB, FC), (vu)IS_NAN | bits_of(l->mask, k))
FLOATS(div_fixup_f32, 3, ((b ^ c) & 0x80000000) | (a & 0x7fffffff),
       (EXPONENT(b) < 1) | (EXPONENT(b) > 254) | (EXPONENT(c) < 1) | (EXPONENT(c) > 254) | (EXPONENT(c) - EXPONENT(b) < -140) |
       (MAGNITUDE(a) > INF))

/*
 * ---- 16 bits: computed in 32, which are more than twice as many and two, so that rounding twice
 * is rounding once ----
 */

/* Eight numbers in the lower halves of words */
INLINE vf from_half(vu v)
{
	vq packed = (vq)__builtin_ia32_packusdw256((vs)(v & 0xffff), (vs)(v & 0xffff));
	typedef u64 pair __attribute__((vector_size(16)));

	return __builtin_ia32_vcvtph2ps256((vh8)(pair) { packed[0], packed[2] });
}

INLINE vu to_half(vf v)
{
	typedef u16 halves __attribute__((vector_size(16)));

	return __builtin_convertvector((halves)__builtin_ia32_vcvtps2ph256(v, 0), vu);
}

#define HALF_NAN(v)	((vs)((v) & 0x7fff) > 0x7c00)
#define HALF2(name, operator) \
FLOATS(name, 2, to_half(from_half(a) operator from_half(b)), HALF_NAN(r[k]))

FLOATS(cvt_f16_f32, 1, to_half(FA), FA != FA)
FLOATS(cvt_f32_f16, 1, from_half(a), IS_NAN)
HALF2(add_f16, +)
HALF2(sub_f16, -)
HALF2(mul_f16, *)

/*
 * Products of 16 bits are exact in a double, and so is the sum, unless one of both is too small to
 * matter. On the way to 32 bits what is lost goes to the lowest of them ("jam"), so that it is rounded once.
 */
INLINE vf4 jammed(vd v)
{
	vq rest = (vq)v & 0x1fffffff;

	return __builtin_ia32_cvtpd2ps256((vd)(((vq)v & ~0x1fffffffULL) | ((vq)(rest != 0) & 0x20000000)));
}

INLINE vd doubles(vf v, u32 part)
{
	return part ? __builtin_ia32_cvtps2pd256((vf4)__builtin_ia32_extract128i256((vl)v, 1)) :
	       __builtin_ia32_cvtps2pd256((vf4)__builtin_ia32_extract128i256((vl)v, 0));
}

INLINE vu fma_halves(vu a, vu b, vu c)
{
	vf x = from_half(a), y = from_half(b), z = from_half(c);
	vf4 low = jammed(doubles(x, 0) * doubles(y, 0) + doubles(z, 0)), high = jammed(doubles(x, 1) * doubles(y, 1) + doubles(z, 1));

	return to_half((vf) { low[0], low[1], low[2], low[3], high[0], high[1], high[2], high[3] });
}

INLINE vf dot_halves(vu a, vu b, vf c)
{
	c = __builtin_ia32_vfmaddps256(from_half(a), from_half(b), c);
	return __builtin_ia32_vfmaddps256(from_half(a >> 16), from_half(b >> 16), c);
}

FLOATS(fma_f16, 3, fma_halves(a, b, c), HALF_NAN(r[k]))
FLOATS(dot2_f32_f16, 3, dot_halves(a, b, FC), IS_NAN)

/* ---- floating point of 64 bits ---- */

#define FLOATS64(name, first, second, third, expression, otherwise) \
FN(name) { \
	vq r[PARTS64] VGPU_UNSET, bad[2] VGPU_UNSET; \
	u64 left = 0; \
	u32 k; \
	EACH64(k) { \
		vd a = (vd)first(l->src[0], k), b = (vd)second(l->src[1], k), c = (vd)third(l->src[2], k); \
		(void)a; (void)b; (void)c; \
		r[k] = (vq)(expression); \
		bad[k & 1] = (vq)(otherwise); \
		left |= mask_of64(bad, k); \
	} \
	left &= l->exec; \
	l->exec &= ~left; \
	put64(l, r); \
	return left; \
}
#define IS_NAN64	((vd)r[k] != (vd)r[k])

INLINE vq pick64(vq condition, vq yes, vq no)
{
	return (yes & condition) | (no & ~condition);
}

INLINE vq least_double(vd a, vd b)
{
	return pick64((vq)(a == b), (vq)a | (vq)b, pick64((vq)(a < b), (vq)a, (vq)b));
}

INLINE vq most_double(vd a, vd b)
{
	return pick64((vq)(a == b), (vq)a & (vq)b, pick64((vq)(a > b), (vq)a, (vq)b));
}

FLOATS64(add_f64, load64, load64, none, a + b, IS_NAN64)
FLOATS64(mul_f64, load64, load64, none, a * b, IS_NAN64)
FLOATS64(fma_f64, load64, load64, load64, __builtin_ia32_vfmaddpd256(a, b, c), IS_NAN64)
FLOATS64(fmac_f64, load64, load64, none, __builtin_ia32_vfmaddpd256(a, b, (vd)load64(l->d, k)), IS_NAN64)
FLOATS64(min_f64, load64, load64, none, least_double(a, b), (a != a) | (b != b))
FLOATS64(max_f64, load64, load64, none, most_double(a, b), (a != a) | (b != b))
FLOATS64(cvt_f64_f32, none, none, none, __builtin_ia32_cvtps2pd256((vf4)load4(l->src[0], k)), IS_NAN64)
FLOATS64(cvt_f64_i32, none, none, none, __builtin_ia32_cvtdq2pd256((vs4)load4(l->src[0], k)), (vq) { 0 })
/* 2^52 with the number in its lowest bits, less 2^52 */
FLOATS64(cvt_f64_u32, none, none, none, (vd)(load32(l->src[0], k) | 0x4330000000000000ULL) - 4503599627370496.0, (vq) { 0 })

FN(cvt_f32_f64)
{
	vu r[PARTS] VGPU_UNSET;
	u64 bad = 0;
	u32 k;

	EACH(k) {
		vf4 low = __builtin_ia32_cvtpd2ps256((vd)load64(l->src[0], 2 * k));
		vf4 high = __builtin_ia32_cvtpd2ps256((vd)load64(l->src[0], 2 * k + 1));

		r[k] = (vu)(vf) { low[0], low[1], high[0], high[1], low[2], low[3], high[2], high[3] };
		bad |= mask_of((vu)((vf)r[k] != (vf)r[k]), k);
	}
	return put_good(l, r, bad);
}

FLOATS64(sqrt_f64, load64, none, none, __builtin_ia32_sqrtpd256(a), IS_NAN64)
FLOATS64(rcp_f64, load64, none, none, ((vd) { 0 } + 1.0) / a, IS_NAN64)
FLOATS64(floor_f64, load64, none, none, __builtin_ia32_roundpd256(a, 1), IS_NAN64)
FLOATS64(ceil_f64, load64, none, none, __builtin_ia32_roundpd256(a, 2), IS_NAN64)
FLOATS64(trunc_f64, load64, none, none, __builtin_ia32_roundpd256(a, 3), IS_NAN64)
FLOATS64(rndne_f64, load64, none, none, __builtin_ia32_roundpd256(a, 0), IS_NAN64)

/*
 * ---- functions of 32 bits ----
 *
 * In isa_float.c they have errors far below that of a double, here a few times that. Where both round
 * to the same number there is no difference; where that is not certain, near the middle of two, it
 * is left to isa_float.c.
 */
#define UNCERTAIN	256u		/* of a double's last place, a thousand times as many as there are */

INLINE vd number(double value)
{
	return (vd) { 0 } + value;
}

/* c[0] + x * (c[1] + x * ...) */
INLINE vd polynomial(vd x, const double *c, u32 count)
{
	vd r = number(c[count - 1]);
	u32 i;

	for (i = count - 1; i--;)
		r = __builtin_ia32_vfmaddpd256(r, x, number(c[i]));
	return r;
}

INLINE vq middle(vd r)
{
	vq low = (vq)r & 0x1fffffff;

	return (vq)((low > 0x10000000 - UNCERTAIN) & (low < 0x10000000 + UNCERTAIN));
}

INLINE vd exp2_of(vd x)
{
	/* ln(2)^n / n! */
	static const double c[] = {
		1.0, 0x1.62e42fefa39efp-1, 0x1.ebfbdff82c58fp-3, 0x1.c6b08d704a0c0p-5, 0x1.3b2ab6fba4e77p-7, 0x1.5d87fe78a6731p-10,
		0x1.430912f86c787p-13, 0x1.ffcbfc588b0c7p-17, 0x1.62c0223a5c824p-20, 0x1.b5253d395e7c4p-24, 0x1.e4cf5158b8ecap-28,
		0x1.e8cac7351bb25p-32, 0x1.c3bd650fc2986p-36, 0x1.816193166d0f9p-40,
	};
	vd whole = __builtin_ia32_roundpd256(x, 0), r = polynomial(x - whole, c, ARRAY_SIZE(c));
	/* the number in the lowest bits of the mantissa goes to the exponent */
	vq n = (vq)(whole + 0x1.8p52);

	return (vd)((vq)r + (n << 52));
}

/* Of a positive normal number of 32 bits */
INLINE vd log2_of(vd x)
{
	/* 2 / ln(2) / (2 n + 1) */
	static const double c[] = {
		0x1.71547652b82fep+1, 0x1.ec709dc3a03fdp-1, 0x1.2776c50ef9bfep-1, 0x1.a61762a7aded9p-2, 0x1.484b13d7c02a9p-2, 0x1.0c9a84994022dp-2,
		0x1.c68f568d31760p-3, 0x1.89f3b1694cffep-3, 0x1.5b9ac9b743f0dp-3, 0x1.3703c1f4d0ffep-3, 0x1.1964ec6fc9491p-3, 0x1.00ecd7e080215p-3,
	};
	vq bits = (vq)x, e = bits >> 52, m = (bits & 0x000fffffffffffffULL) | 0x3ff0000000000000ULL, large = (vq)(m >= 0x3ff6a09e667f3bccULL);
	vd z, exponent;

	m -= large & 1ULL << 52;
	e -= large;
	exponent = (vd)(e | 0x4330000000000000ULL) - (0x1p52 + 1023.0);
	z = ((vd)m - 1.0) / ((vd)m + 1.0);
	return __builtin_ia32_vfmaddpd256(z, polynomial(z * z, c, ARRAY_SIZE(c)), exponent);
}

/* Of what is between -1/8 and 1/8 turns */
INLINE vd sine_of(vd turns)
{
	static const double c[] = {
		1.0, -0x1.5555555555555p-3, 0x1.1111111111111p-7, -0x1.a01a01a01a01ap-13, 0x1.71de3a556c734p-19, -0x1.ae64567f544e4p-26,
		0x1.6124613a86d09p-33, -0x1.ae7f3e733b81fp-41, 0x1.952c77030ad4ap-49,
	};
	vd x = turns * 0x1.921fb54442d18p+2;

	return x * polynomial(x * x, c, ARRAY_SIZE(c));
}

INLINE vd cosine_of(vd turns)
{
	static const double c[] = {
		1.0, -0x1.0p-1, 0x1.5555555555555p-5, -0x1.6c16c16c16c17p-10, 0x1.a01a01a01a01ap-16, -0x1.27e4fb7789f5cp-22, 0x1.1eed8eff8d898p-29,
		-0x1.93974a8c07c9dp-37, 0x1.ae7f3e733b81fp-45, -0x1.6827863b97d97p-53,
	};
	vd x = turns * 0x1.921fb54442d18p+2;

	return polynomial(x * x, c, ARRAY_SIZE(c));
}

INLINE vd sine_or_cosine_of(vd turns, bool cosine)
{
	vd quarters = __builtin_ia32_roundpd256(turns * 4.0, 0), rest = turns - quarters * 0.25;
	vq n = (vq)(quarters + 0x1.8p52) + (u64)cosine, odd = (vq)((n & 1) != 0), negative = (n & 2) << 62;

	return (vd)(pick64(odd, (vq)cosine_of(rest), (vq)sine_of(rest)) ^ negative);
}

/* An operand of 32 bits and a result in 64; @bad: operands that are not for here */
#define FUNCTION(name, expression, bad) \
FN(name) { \
	vu r[PARTS] VGPU_UNSET; \
	u64 wrong = 0; \
	u32 k, h; \
	for (k = 0; k < PARTS; k++) { \
		vu a = load(l->src[0], k); \
		vf4 half[2] VGPU_UNSET; \
		UNROLL for (h = 0; h < 2; h++) { \
			vd x = __builtin_ia32_cvtps2pd256((vf4)__builtin_ia32_extract128i256((vl)a, 0)), result; \
			if (h) \
				x = __builtin_ia32_cvtps2pd256((vf4)__builtin_ia32_extract128i256((vl)a, 1)); \
			result = expression; \
			half[h] = __builtin_ia32_cvtpd2ps256(result); \
			wrong |= (u64)(u32)__builtin_ia32_movmskpd256((vd)middle(result)) << (PART * k + PART64 * h); \
		} \
		r[k] = (vu)(vf) { half[0][0], half[0][1], half[0][2], half[0][3], half[1][0], half[1][1], half[1][2], half[1][3] }; \
		wrong |= mask_of((vu)((bad) | (MAGNITUDE(r[k]) <= NORMAL) | (MAGNITUDE(r[k]) >= INF)), k); \
	} \
	return put_good(l, r, wrong); \
}

FUNCTION(exp_f32, exp2_of(x), (MAGNITUDE(a) > 0x42f00000) | ((MAGNITUDE(a) < NORMAL) & (MAGNITUDE(a) != 0)))
FUNCTION(log_f32, log2_of(x), ((vs)a < NORMAL) | ((vs)a >= INF))
FUNCTION(rsq_f32, number(1.0) / __builtin_ia32_sqrtpd256(x), ((vs)a < NORMAL) | ((vs)a >= INF))
/* 2^20 turns */
FUNCTION(sin_f32, sine_or_cosine_of(x, false), (MAGNITUDE(a) < NORMAL) | (MAGNITUDE(a) > 0x49800000))
FUNCTION(cos_f32, sine_or_cosine_of(x, true), (MAGNITUDE(a) < NORMAL) | (MAGNITUDE(a) > 0x49800000))

/* ---- what others need ---- */

void vgpu_lanes_fill(u32 *v, u32 value)
{
	u32 k;

	EACH(k)
		*(vu_at *)(v + PART * k) = all(value);
}

void vgpu_lanes_copy(u32 *v, const u32 *from, u32 keep, u32 change)
{
	u32 k;

	EACH(k)
		*(vu_at *)(v + PART * k) = (load(from, k) & keep) ^ change;
}

void vgpu_lanes_field(u32 *v, const u32 *from, u32 shift, u32 bits, bool sext)
{
	u32 k;

	EACH(k) {
		vu high = load(from, k) << (32 - bits - shift);

		*(vu_at *)(v + PART * k) = sext ? (vu)((vs)high >> (32 - bits)) : high >> (32 - bits);
	}
}

void vgpu_lanes_half(u32 *v, const u32 *from, bool high, u32 change)
{
	u32 k;

	EACH(k)
		*(vu_at *)(v + PART * k) = (high ? load(from, k) >> 16 : load(from, k) & 0xffff) ^ change;
}

void vgpu_lanes_join(u32 *v, const u32 *low, const u32 *high)
{
	u32 k;

	EACH(k)
		*(vu_at *)(v + PART * k) = (load(low, k) & 0xffff) | load(high, k) << 16;
}

bool vgpu_lanes_consecutive(const u32 *v, u32 step)
{
	vu wrong = { 0 }, want = all(v[0]) + (vu) { 0, 1, 2, 3, 4, 5, 6, 7 } * step;
	u32 k;

	if (v[0] > U32_MAX - step * VGPU_LANES)
		return false;
	EACH(k) {
		wrong |= load(v, k) ^ want;
		want += step * PART;
	}
	return __builtin_ia32_ptestz256((vl)wrong, (vl)wrong);
}

bool vgpu_lanes_alike(const u32 *v)
{
	return vgpu_lanes_consecutive(v, 0);
}

u64 vgpu_lanes_in_page(u32 *offset, const u32 *addr, bool wide, u32 base, u32 bytes, u64 exec)
{
	u32 k, first = (u32)__builtin_ctzll(exec), one = addr[first], high = addr[VGPU_LANES + (wide ? first : 0)];
	u64 mask = 0;

	EACH(k) {
		vu a = load(addr, k), at = a + base, in_page = at & (VGPU_LANES_PAGE - 1), differs;

		*(vu_at *)(offset + PART * k) = in_page;
		/*
		 * Neither of them has an overflow that the others have not: they are in the same
		 * half of 4 GiB.
		 */
		differs = ((at ^ (one + base)) & -VGPU_LANES_PAGE) | ((a ^ one) & 0x80000000) | (vu)(in_page > all(VGPU_LANES_PAGE - bytes));
		if (wide)
			differs |= load(addr + VGPU_LANES, k) ^ high;
		mask |= mask_of((vu)(differs == 0), k);
	}
	return mask & exec;
}

bool vgpu_lanes_in_lds(u32 *offset, const u32 *addr, u32 base, u32 bytes, u32 lds_bytes, u64 exec)
{
	vu wrong = { 0 };
	u32 k;

	if (bytes > lds_bytes)
		return false;
	EACH(k) {
		vu at = load(addr, k) + base;

		*(vu_at *)(offset + PART * k) = at;
		wrong |= (vu)(at > all(lds_bytes - bytes)) & bits_of(exec, k);
	}
	return __builtin_ia32_ptestz256((vl)wrong, (vl)wrong);
}

typedef u16 at16 __attribute__((aligned(1), may_alias));
typedef u32 at32 __attribute__((aligned(1), may_alias));
typedef u64 at64 __attribute__((aligned(1), may_alias));
typedef vu vu_anywhere __attribute__((aligned(1), may_alias));
typedef vu4 at128 __attribute__((aligned(1), may_alias));

/*
 * One load for each lane. The CPU's own instruction for that is the slowest where it is emulated. Lanes
 * that take no part read what the first one of the others does.
 */
INLINE vu load_words(const u8 *p, const u32 *at)
{
	return (vu) {
		*(const at32 *)(p + at[0]), *(const at32 *)(p + at[1]), *(const at32 *)(p + at[2]), *(const at32 *)(p + at[3]),
		*(const at32 *)(p + at[4]), *(const at32 *)(p + at[5]), *(const at32 *)(p + at[6]), *(const at32 *)(p + at[7]),
	};
}

INLINE vu load_shorts(const u8 *p, const u32 *at)
{
	return (vu) {
		*(const at16 *)(p + at[0]), *(const at16 *)(p + at[1]), *(const at16 *)(p + at[2]), *(const at16 *)(p + at[3]),
		*(const at16 *)(p + at[4]), *(const at16 *)(p + at[5]), *(const at16 *)(p + at[6]), *(const at16 *)(p + at[7]),
	};
}

INLINE vu load_bytes(const u8 *p, const u32 *at)
{
	return (vu) { p[at[0]], p[at[1]], p[at[2]], p[at[3]], p[at[4]], p[at[5]], p[at[6]], p[at[7]] };
}

INLINE vu4 load_four(const u8 *p)
{
	return *(const at128 *)p;
}

INLINE vu both(vu4 low, vu4 high)
{
	typedef s64 half __attribute__((vector_size(16)));

	return (vu)__builtin_ia32_insert128i256((vl)__builtin_ia32_si256_si((vs4)low), (half)high, 1);
}

INLINE bool is_same(vu a, vu b)
{
	return __builtin_ia32_ptestz256((vl)(a ^ b), (vl)(a ^ b));
}

/* Two or four dwords of eight lanes, by dword */
INLINE void load_pairs(vu *r, const u8 *p, const u32 *at)
{
	vq v[2] = {
		{ *(const at64 *)(p + at[0]), *(const at64 *)(p + at[1]), *(const at64 *)(p + at[4]), *(const at64 *)(p + at[5]) },
		{ *(const at64 *)(p + at[2]), *(const at64 *)(p + at[3]), *(const at64 *)(p + at[6]), *(const at64 *)(p + at[7]) },
	};

	r[0] = halves(v, false);
	r[1] = halves(v, true);
}

INLINE void load_fours(vu *r, const u8 *p, const u32 *at)
{
	vu lane[4] VGPU_UNSET;
	vl a, b, c, d;
	u32 k;

	UNROLL for (k = 0; k < 4; k++)
		lane[k] = both(load_four(p + at[k]), load_four(p + at[k + 4]));
	a = (vl)pair(lane[0], lane[1], 0);
	b = (vl)pair(lane[2], lane[3], 0);
	c = (vl)pair(lane[0], lane[1], 1);
	d = (vl)pair(lane[2], lane[3], 1);
	r[0] = (vu)__builtin_ia32_punpcklqdq256(a, b);
	r[1] = (vu)__builtin_ia32_punpckhqdq256(a, b);
	r[2] = (vu)__builtin_ia32_punpcklqdq256(c, d);
	r[3] = (vu)__builtin_ia32_punpckhqdq256(c, d);
}

INLINE void load_lanes(u32 *v, const u8 *p, const u32 *offset, u32 dwords, u64 exec, bool every)
{
	u32 at[PART] VGPU_UNSET, k, n, somewhere = every ? 0 : offset[__builtin_ctzll(exec)];

	for (k = 0; k < PARTS; k++, v += PART, offset += PART) {
		vu m = every ? (vu) { 0 } : bits_of(exec, k), r[4] VGPU_UNSET, places = load(offset, 0), apart;

		if (!every)
			places = pick(m, places, all(somewhere));
		apart = places - places[0];
		if (dwords == 1 && is_same(apart, (vu) { 0, 4, 8, 12, 16, 20, 24, 28 })) {
			r[0] = *(const vu_anywhere *)(p + places[0]);
		} else if (is_same(apart, (vu) { 0 })) {
			UNROLL for (n = 0; n < dwords; n++)
				r[n] = all(*(const at32 *)(p + places[0] + 4 * n));
		} else {
			*(vu_at *)at = places;
			if (dwords == 4)
				load_fours(r, p, at);
			else if (dwords > 1)
				load_pairs(r, p, at);
			if (dwords & 1)
				r[dwords - 1] = load_words(p + 4 * (dwords - 1), at);
		}
		UNROLL for (n = 0; n < dwords; n++)
			*(vu_at *)(v + n * VGPU_LANES) = every ? r[n] : pick(m, r[n], load(v + n * VGPU_LANES, 0));
	}
}

void vgpu_lanes_load(u32 *v, const void *p, const u32 *offset, u32 dwords, u64 exec)
{
	bool every = exec == U64_MAX;

	if (!exec)
		return;
	if (dwords == 1 && every)
		load_lanes(v, p, offset, 1, exec, true);
	else if (dwords == 1)
		load_lanes(v, p, offset, 1, exec, false);
	else if (dwords == 2)
		load_lanes(v, p, offset, 2, exec, false);
	else if (dwords == 3)
		load_lanes(v, p, offset, 3, exec, false);
	else if (every)
		load_lanes(v, p, offset, 4, exec, true);
	else
		load_lanes(v, p, offset, 4, exec, false);
}

void vgpu_lanes_load_part(u32 *v, const void *p, const u32 *offset, u32 bits, bool sext, u64 exec)
{
	u32 at[PART] VGPU_UNSET, k, somewhere = offset[exec ? __builtin_ctzll(exec) : 0];

	for (k = 0; k < PARTS && exec; k++) {
		vu m = bits_of(exec, k), r;

		*(vu_at *)at = pick(m, load(offset, k), all(somewhere));
		r = (bits == 8 ? load_bytes(p, at) : load_shorts(p, at)) << (32 - bits);
		r = sext ? (vu)((vs)r >> (32 - bits)) : r >> (32 - bits);
		*(vu_at *)(v + PART * k) = pick(m, r, load(v, k));
	}
}

void vgpu_lanes_store(const u32 *v, void *p, const u32 *offset, u32 dwords)
{
	u32 k, h;

	for (k = 0; k < PARTS; k++, offset += PART) {
		vu a = load(v, k), b = load(v + VGPU_LANES, k);
		vq low = pair(a, b, 0), high = pair(a, b, 1), lanes[4] VGPU_UNSET;
		vq low2, high2;

		if (dwords == 2) {
			UNROLL for (h = 0; h < 4; h += 2) {
				*(at64 *)((u8 *)p + offset[2 * h]) = low[h];
				*(at64 *)((u8 *)p + offset[2 * h + 1]) = low[h + 1];
				*(at64 *)((u8 *)p + offset[2 * h + 2]) = high[h];
				*(at64 *)((u8 *)p + offset[2 * h + 3]) = high[h + 1];
			}
			continue;
		}
		a = load(v + 2 * VGPU_LANES, k);
		b = load(v + 3 * VGPU_LANES, k);
		low2 = pair(a, b, 0);
		high2 = pair(a, b, 1);
		lanes[0] = (vq)__builtin_ia32_punpcklqdq256((vl)low, (vl)low2);
		lanes[1] = (vq)__builtin_ia32_punpckhqdq256((vl)low, (vl)low2);
		lanes[2] = (vq)__builtin_ia32_punpcklqdq256((vl)high, (vl)high2);
		lanes[3] = (vq)__builtin_ia32_punpckhqdq256((vl)high, (vl)high2);
		UNROLL for (h = 0; h < 4; h++)
			*(at128 *)((u8 *)p + offset[h]) = (vu4)__builtin_ia32_extract128i256((vl)lanes[h], 0);
		UNROLL for (h = 0; h < 4; h++)
			*(at128 *)((u8 *)p + offset[4 + h]) = (vu4)__builtin_ia32_extract128i256((vl)lanes[h], 1);
	}
}

/* Denormals; and what may have been one before it was rounded */
#define DENORMAL(v)		((MAGNITUDE((vu)(v)) < NORMAL) & (MAGNITUDE((vu)(v)) != 0))
#define NEARLY_DENORMAL(v)	((MAGNITUDE((vu)(v)) <= NORMAL) & (MAGNITUDE((vu)(v)) != 0))

bool vgpu_lanes_elements(u32 *d, const u32 *v, enum vgpu_lanes_type type, u32 part, bool flush)
{
	vu bad = { 0 }, r;
	u32 k;

	for (k = 0; k < PARTS; k++) {
		r = load(v, k);
		switch (type) {
		case VGPU_LANES_F16:
			r = part ? r >> 16 : r & 0xffff;
			if (flush)
				bad |= (vu)((r & 0x7c00) == 0) & (vu)((r & 0x3ff) != 0);
			r = (vu)from_half(r);
			break;
		case VGPU_LANES_BF16:
			r = part ? r & 0xffff0000 : r << 16;
			if (flush)
				bad |= (vu)DENORMAL(r);
			break;
		case VGPU_LANES_I8:
			r = (vu)((vs)(r << (24 - 8 * part)) >> 24);
			break;
		default:
			if (flush)
				bad |= (vu)DENORMAL(r);
		}
		*(vu_at *)(d + PART * k) = r;
	}
	return __builtin_ia32_ptestz256((vl)bad, (vl)bad);
}

bool vgpu_lanes_row(u32 *d, const u32 *const *a, const u32 *const *b, u32 row, u32 depth, u32 columns, enum vgpu_lanes_type type, bool flush)
{
	vs denormal = { 0 }, nan = { 0 };
	u32 c, k;

	for (c = 0; c < columns; c += PART) {
		vu sum = *(vu_at *)(d + c);

		if (type == VGPU_LANES_I8) {
			for (k = 0; k < depth; k++)
				sum += all(a[k][row]) * *(const vu_at *)(b[k] + c);
		} else {
			denormal |= DENORMAL(sum);
			for (k = 0; k < depth; k++) {
				sum = (vu)__builtin_ia32_vfmaddps256((vf)all(a[k][row]), (vf)*(const vu_at *)(b[k] + c), (vf)sum);
				denormal |= NEARLY_DENORMAL(sum);
			}
			nan |= (vf)sum != (vf)sum;
		}
		*(vu_at *)(d + c) = sum;
	}
	if (flush)
		nan |= denormal;
	return __builtin_ia32_ptestz256((vl)nan, (vl)nan);
}

#endif
