// SPDX-License-Identifier: MIT
/*
 * isa_float.c - IEEE 754 arithmetic in integers, see isa_float.h
 *
 * Operands are taken apart into a sign, an exponent and a mantissa of 64 bits whose highest bit is
 * set. What an operation loses below them ends up in the lowest bit ("jam"), which is all that
 * rounding needs to know: 64 bits are at least 11 more than any format has.
 */
#include "isa_float.h"

typedef unsigned __int128 u128;

#define TOP	(1ULL << 63)

enum kind {
	ZERO,
	FINITE,
	INFINITE,
	NAN_,
};

/* @m / 2^63 * 2^@e */
struct number {
	u64 m;
	s32 e;
	u8 kind;
	bool negative;
};

static const struct format {
	u8 bits;		/* all of them */
	u8 precision;		/* of the mantissa, with the hidden bit */
	s16 bias;
} formats[VGPU_FLOAT_FORMATS] = {
	[VGPU_F16] = { 16, 11, 15 },
	[VGPU_F32] = { 32, 24, 127 },
	[VGPU_F64] = { 64, 53, 1023 },
};

static u64 mantissa_mask(const struct format *f)
{
	return (1ULL << (f->precision - 1)) - 1;
}

static u64 infinity(const struct format *f)
{
	return (u64)(2 * f->bias + 1) << (f->precision - 1);
}

u64 vgpu_float_sign(u32 format)
{
	return 1ULL << (formats[format].bits - 1);
}

u64 vgpu_float_one(u32 format)
{
	return (u64)formats[format].bias << (formats[format].precision - 1);
}

static u64 quiet_bit(const struct format *f)
{
	return 1ULL << (f->precision - 2);
}

u64 vgpu_float_quiet(u32 format, u64 a)
{
	return a | quiet_bit(&formats[format]);
}

static u64 default_nan(const struct format *f)
{
	return infinity(f) | quiet_bit(f);
}

u32 vgpu_float_class(u32 format, u64 a)
{
	const struct format *f = &formats[format];
	bool negative = a & vgpu_float_sign(format);
	u64 magnitude = a & (vgpu_float_sign(format) - 1);

	if (magnitude > infinity(f))
		return magnitude & quiet_bit(f) ? VGPU_CLASS_QNAN : VGPU_CLASS_SNAN;
	if (magnitude == infinity(f))
		return negative ? VGPU_CLASS_NINF : VGPU_CLASS_PINF;
	if (magnitude > mantissa_mask(f))
		return negative ? VGPU_CLASS_NNORMAL : VGPU_CLASS_PNORMAL;
	if (magnitude)
		return negative ? VGPU_CLASS_NDENORMAL : VGPU_CLASS_PDENORMAL;
	return negative ? VGPU_CLASS_NZERO : VGPU_CLASS_PZERO;
}

static int leading_zeros(u64 v)
{
	return v ? __builtin_clzll(v) : 64;
}

static struct number unpack(const struct vgpu_float_mode *mode, u64 a)
{
	const struct format *f = &formats[mode->format];
	u64 magnitude = a & (vgpu_float_sign(mode->format) - 1), fraction = magnitude & mantissa_mask(f);
	u32 exponent = (u32)(magnitude >> (f->precision - 1));
	struct number n = { .negative = a & vgpu_float_sign(mode->format) };
	int shift;

	if (magnitude >= infinity(f)) {
		n.kind = magnitude > infinity(f) ? NAN_ : INFINITE;
		return n;
	}
	if (!exponent && (!fraction || !mode->denorm_in))
		return n;
	n.kind = FINITE;
	if (exponent) {
		n.m = TOP | fraction << (64 - f->precision);
		n.e = (s32)exponent - f->bias;
		return n;
	}
	shift = leading_zeros(fraction);
	n.m = fraction << shift;
	n.e = 1 - f->bias - (shift - (64 - f->precision));
	return n;
}

static u64 shift_jam(u64 m, u32 n)
{
	if (n > 63)
		return !!m;
	return n ? m >> n | !!(m << (64 - n)) : m;
}

static bool rounds_up(u32 round, bool negative, bool odd, u64 rest, u64 half)
{
	switch (round) {
	case VGPU_ROUND_EVEN:
		return rest > half || (rest == half && odd);
	case VGPU_ROUND_UP:
		return rest && !negative;
	case VGPU_ROUND_DOWN:
		return rest && negative;
	default:
		return false;
	}
}

static u64 pack(const struct vgpu_float_mode *mode, struct number n)
{
	const struct format *f = &formats[mode->format];
	u64 sign = n.negative ? vgpu_float_sign(mode->format) : 0, rest, m;
	u32 drop = 64 - f->precision;
	s32 exponent = n.e + f->bias;

	switch (n.kind) {
	case ZERO:
		return sign;
	case INFINITE:
		return sign | infinity(f);
	case NAN_:
		return default_nan(f);
	}
	if (exponent <= 0) {
		if (!mode->denorm_out)
			return sign;
		n.m = shift_jam(n.m, (u32)(1 - exponent));
		exponent = 0;
	}
	rest = n.m & ((1ULL << drop) - 1);
	m = n.m >> drop;
	m += rounds_up(mode->round, n.negative, m & 1, rest, 1ULL << (drop - 1));
	/* The hidden bit, or the carry of rounding, adds one to the exponent. */
	m += (u64)(exponent ? exponent - 1 : 0) << (f->precision - 1);
	if (exponent >= 2 * f->bias + 1 || m >= infinity(f)) {
		if (mode->round == VGPU_ROUND_ZERO || mode->round == (n.negative ? VGPU_ROUND_UP : VGPU_ROUND_DOWN))
			return sign | (infinity(f) - 1);
		return sign | infinity(f);
	}
	return sign | m;
}

/* The NaN that comes of operands of which one is a NaN: the first one, made quiet */
static u64 propagate(u32 format, u64 a, u64 b, u64 c)
{
	if (vgpu_float_class(format, a) & VGPU_CLASS_NAN)
		return vgpu_float_quiet(format, a);
	if (vgpu_float_class(format, b) & VGPU_CLASS_NAN)
		return vgpu_float_quiet(format, b);
	return vgpu_float_quiet(format, c);
}

static struct number normalize(struct number n)
{
	int shift = leading_zeros(n.m);

	n.kind = n.m ? FINITE : ZERO;
	if (n.m) {
		n.m <<= shift;
		n.e -= shift;
	}
	return n;
}

static struct number number_add(u32 round, struct number a, struct number b)
{
	struct number r;
	u32 distance;

	if (a.kind == NAN_ || b.kind == NAN_ || (a.kind == INFINITE && b.kind == INFINITE && a.negative != b.negative))
		return (struct number) { .kind = NAN_ };
	if (a.kind == INFINITE || b.kind == INFINITE)
		return a.kind == INFINITE ? a : b;
	if (a.kind == ZERO && b.kind == ZERO) {
		a.negative = a.negative == b.negative ? a.negative : round == VGPU_ROUND_DOWN;
		return a;
	}
	if (a.kind == ZERO || b.kind == ZERO)
		return a.kind == ZERO ? b : a;
	if (a.e < b.e || (a.e == b.e && a.m < b.m)) {
		r = a;
		a = b;
		b = r;
	}
	distance = (u32)(a.e - b.e);
	r = (struct number) { .e = a.e + 1, .negative = a.negative };
	if (a.negative == b.negative)
		r.m = shift_jam(a.m, 1) + shift_jam(b.m, distance + 1);
	else
		r.m = shift_jam(a.m, 1) - shift_jam(b.m, distance + 1);
	if (!r.m)
		r.negative = round == VGPU_ROUND_DOWN;
	return normalize(r);
}

static struct number number_mul(struct number a, struct number b)
{
	struct number r = { .negative = a.negative != b.negative };
	u128 p;

	if (a.kind == NAN_ || b.kind == NAN_ || (a.kind == INFINITE && b.kind == ZERO) || (a.kind == ZERO && b.kind == INFINITE)) {
		r.kind = NAN_;
	} else if (a.kind == INFINITE || b.kind == INFINITE) {
		r.kind = INFINITE;
	} else if (a.kind == FINITE && b.kind == FINITE) {
		p = (u128)a.m * b.m;
		r.m = (u64)(p >> 64) | !!(u64)p;
		r.e = a.e + b.e + 1;
		if (!(r.m & TOP)) {
			r.m = (u64)(p >> 63) | !!((u64)p << 1);
			r.e--;
		}
		r.kind = FINITE;
	}
	return r;
}

static struct number number_div(struct number a, struct number b)
{
	struct number r = { .negative = a.negative != b.negative };
	u128 rest;
	u32 i;

	if (a.kind == NAN_ || b.kind == NAN_ || (a.kind == b.kind && a.kind != FINITE)) {
		r.kind = NAN_;
	} else if (a.kind == INFINITE || b.kind == ZERO) {
		r.kind = INFINITE;
	} else if (a.kind == FINITE && b.kind == FINITE) {
		r.e = a.e - b.e;
		rest = a.m;
		if (a.m < b.m) {
			rest <<= 1;
			r.e--;
		}
		for (i = 0; i < 64; i++) {
			r.m <<= 1;
			if (rest >= b.m) {
				rest -= b.m;
				r.m |= 1;
			}
			rest <<= 1;
		}
		r.m |= !!rest;
		r.kind = FINITE;
	}
	return r;
}

static struct number number_sqrt(struct number a)
{
	struct number r = { 0 };
	u128 n, rest = 0;
	u64 root = 0;
	u32 i;

	if (a.kind == ZERO)
		return a;
	if (a.kind == NAN_ || a.negative) {
		r.kind = NAN_;
		return r;
	}
	if (a.kind == INFINITE)
		return a;
	/* two digits of the radicand for each of the root */
	n = (u128)a.m << (a.e & 1 ? 64 : 63);
	for (i = 0; i < 64; i++) {
		rest = rest << 2 | (u64)(n >> 126);
		n <<= 2;
		if (rest >= ((u128)root << 2 | 1)) {
			rest -= (u128)root << 2 | 1;
			root = root << 1 | 1;
		} else {
			root <<= 1;
		}
	}
	r.m = root | !!rest;
	r.e = (a.e - (a.e & 1)) / 2;
	r.kind = FINITE;
	return r;
}

static struct number integer(u64 magnitude, bool negative)
{
	return normalize((struct number) { .m = magnitude, .e = 63, .negative = negative });
}

u64 vgpu_float_add(const struct vgpu_float_mode *mode, u64 a, u64 b)
{
	struct number x = unpack(mode, a), y = unpack(mode, b);

	if (x.kind == NAN_ || y.kind == NAN_)
		return propagate(mode->format, a, b, b);
	return pack(mode, number_add(mode->round, x, y));
}

u64 vgpu_float_mul(const struct vgpu_float_mode *mode, u64 a, u64 b)
{
	struct number x = unpack(mode, a), y = unpack(mode, b);

	if (x.kind == NAN_ || y.kind == NAN_)
		return propagate(mode->format, a, b, b);
	return pack(mode, number_mul(x, y));
}

/* A product of 106 bits and a summand: twice the mantissa is needed */
static struct number fma_wide(u32 round, struct number x, struct number y, struct number z)
{
	struct number r;
	u128 p = (u128)x.m * y.m, s = (u128)z.m << 64, t;
	s32 e = x.e + y.e + 1, distance;
	bool negative = x.negative != y.negative, swap;
	int shift;

	if (!(u64)(p >> 127)) {
		p <<= 1;
		e--;
	}
	swap = e < z.e || (e == z.e && p < s);
	if (swap) {
		t = p;
		p = s;
		s = t;
		distance = z.e - e;
		e = z.e;
	} else {
		distance = e - z.e;
	}
	r.negative = swap ? z.negative : negative;
	distance++;
	p >>= 1;
	if (distance > 127)
		s = !!s;
	else
		s = s >> distance | !!(s << (128 - distance));
	p = negative == z.negative ? p + s : p - s;
	if (!p)
		return (struct number) { .kind = ZERO, .negative = round == VGPU_ROUND_DOWN };
	shift = (u64)(p >> 64) ? leading_zeros((u64)(p >> 64)) : 64 + leading_zeros((u64)p);
	p <<= shift;
	r.e = e + 1 - shift;
	r.m = (u64)(p >> 64) | !!(u64)p;
	r.kind = FINITE;
	return r;
}

/* a * b + c, times 2^n, rounded once */
u64 vgpu_float_fma_scaled(const struct vgpu_float_mode *mode, u64 a, u64 b, u64 c, s32 n)
{
	struct number x = unpack(mode, a), y = unpack(mode, b), z = unpack(mode, c), r;

	if (x.kind == NAN_ || y.kind == NAN_ || z.kind == NAN_)
		return propagate(mode->format, a, b, c);
	if (mode->format == VGPU_F64 && x.kind == FINITE && y.kind == FINITE && z.kind == FINITE)
		r = fma_wide(mode->round, x, y, z);
	else	/* products of the smaller formats are exact in 64 bits */
		r = number_add(mode->round, number_mul(x, y), z);
	r.e += n;
	return pack(mode, r);
}

u64 vgpu_float_fma(const struct vgpu_float_mode *mode, u64 a, u64 b, u64 c)
{
	return vgpu_float_fma_scaled(mode, a, b, c, 0);
}

u64 vgpu_float_div(const struct vgpu_float_mode *mode, u64 a, u64 b)
{
	struct number x = unpack(mode, a), y = unpack(mode, b);

	if (x.kind == NAN_ || y.kind == NAN_)
		return propagate(mode->format, a, b, b);
	return pack(mode, number_div(x, y));
}

u64 vgpu_float_sqrt(const struct vgpu_float_mode *mode, u64 a)
{
	struct number x = unpack(mode, a);

	if (x.kind == NAN_)
		return vgpu_float_quiet(mode->format, a);
	return pack(mode, number_sqrt(x));
}

u64 vgpu_float_rsq(const struct vgpu_float_mode *mode, u64 a)
{
	struct number x = unpack(mode, a);

	if (x.kind == NAN_)
		return vgpu_float_quiet(mode->format, a);
	return pack(mode, number_div(integer(1, false), number_sqrt(x)));
}

u64 vgpu_float_ldexp(const struct vgpu_float_mode *mode, u64 a, s32 n)
{
	struct number x = unpack(mode, a);

	if (x.kind == NAN_)
		return vgpu_float_quiet(mode->format, a);
	x.e += n > 10000 ? 10000 : n < -10000 ? -10000 : n;
	return pack(mode, x);
}

u64 vgpu_float_from_int(const struct vgpu_float_mode *mode, u64 magnitude, bool negative)
{
	return pack(mode, integer(magnitude, negative && magnitude));
}

u64 vgpu_float_convert(const struct vgpu_float_mode *to, const struct vgpu_float_mode *from, u64 a)
{
	const struct format *f = &formats[from->format], *t = &formats[to->format];
	struct number x = unpack(from, a);
	u64 payload;

	if (x.kind != NAN_)
		return pack(to, x);
	payload = (a & mantissa_mask(f)) << (64 - f->precision) >> (64 - t->precision);
	return (x.negative ? vgpu_float_sign(to->format) : 0) | default_nan(t) | payload;
}

static struct number two_pi(void)
{
	return (struct number) { .m = 0xc90fdaa22168c235ULL, .e = 2, .kind = FINITE };
}

static struct number ln2(void)
{
	return (struct number) { .m = 0xb17217f7d1cf79acULL, .e = -1, .kind = FINITE };
}

/* The nearest integer */
static s64 nearest(struct number x)
{
	u64 m = x.kind == FINITE && x.e >= -1 ? x.m : 0;

	if (x.e == -1)
		m = 1;
	else if (m)
		m = (m >> (63 - x.e)) + (x.e < 63 ? m >> (62 - x.e) & 1 : 0);
	return x.negative ? -(s64)m : (s64)m;
}

static struct number minus(struct number x)
{
	x.negative = !x.negative;
	return x;
}

static struct number sum(struct number a, struct number b)
{
	return number_add(VGPU_ROUND_EVEN, a, b);
}

#define EXP2_TERMS	22
#define LOG2_TERMS	16
#define SIN_TERMS	13

u64 vgpu_float_exp2(const struct vgpu_float_mode *mode, u64 a)
{
	struct number x = unpack(mode, a), t, r = integer(1, false);
	s64 whole;
	u32 i;

	if (x.kind == NAN_)
		return vgpu_float_quiet(mode->format, a);
	if (x.kind == INFINITE || (x.kind == FINITE && x.e > 12)) {
		r.kind = x.negative ? ZERO : INFINITE;
		return pack(mode, r);
	}
	whole = nearest(x);
	t = number_mul(sum(x, integer((u64)(whole < 0 ? -whole : whole), whole > 0)), ln2());
	for (i = EXP2_TERMS; i; i--)
		r = sum(integer(1, false), number_mul(number_div(t, integer(i, false)), r));
	r.e += (s32)whole;
	return pack(mode, r);
}

u64 vgpu_float_log2(const struct vgpu_float_mode *mode, u64 a)
{
	struct number x = unpack(mode, a), z, z2, r = { 0 }, one = integer(1, false);
	s32 e = x.e, i;

	if (x.kind == NAN_)
		return vgpu_float_quiet(mode->format, a);
	if (x.kind == ZERO) {
		x.kind = INFINITE;
		x.negative = true;
		return pack(mode, x);
	}
	if (x.negative)
		return default_nan(&formats[mode->format]);
	if (x.kind == INFINITE)
		return pack(mode, x);
	/* 2^e * [sqrt(1/2), sqrt(2)) */
	x.e = 0;
	if (x.m >= 0xb504f333f9de6484ULL) {
		x.e = -1;
		e++;
	}
	z = number_div(sum(x, minus(one)), sum(x, one));
	z2 = number_mul(z, z);
	for (i = LOG2_TERMS; i >= 0; i--)
		r = sum(number_div(one, integer((u64)(2 * i + 1), false)), number_mul(z2, r));
	r = number_div(number_mul(z, r), ln2());
	r.e++;
	return pack(mode, sum(integer((u64)(e < 0 ? -e : e), e < 0), r.kind == FINITE ? r : (struct number) { 0 }));
}

u64 vgpu_float_sin(const struct vgpu_float_mode *mode, u64 a, bool cosine)
{
	struct number x = unpack(mode, a), x2, r = { 0 }, one = integer(1, false), term;
	s64 quarter;
	u32 i, n;

	if (x.kind == NAN_)
		return vgpu_float_quiet(mode->format, a);
	if (x.kind == INFINITE)
		return default_nan(&formats[mode->format]);
	/* Whole turns do not count, and what is so large has no others. */
	if (x.kind == FINITE && x.e > 55)
		x.kind = ZERO;
	if (x.kind == FINITE)
		x.e += 2;
	quarter = nearest(x);
	x = sum(x, integer((u64)(quarter < 0 ? -quarter : quarter), quarter > 0));
	if (x.kind == FINITE)
		x.e -= 2;
	x = number_mul(x, two_pi());
	x2 = number_mul(x, x);
	quarter += cosine;
	n = quarter & 1 ? 0 : 1;			/* first power */
	r = one;
	for (i = SIN_TERMS; i; i--) {
		term = number_div(x2, integer((u64)(2 * i - 1 + n) * (2 * i + n), false));
		r = sum(one, minus(number_mul(term, r)));
	}
	if (n)
		r = number_mul(r, x);
	if (quarter & 2)
		r = minus(r);
	return pack(mode, r);
}

int vgpu_float_exponent(u32 format, u64 a)
{
	const struct vgpu_float_mode mode = { .format = (u8)format, .denorm_in = true };
	struct number x = unpack(&mode, a);

	return x.kind == FINITE ? x.e : 0;
}

u64 vgpu_float_mantissa(const struct vgpu_float_mode *mode, u64 a)
{
	struct number x = unpack(mode, a);

	if (x.kind == NAN_)
		return vgpu_float_quiet(mode->format, a);
	if (x.kind == FINITE)
		x.e = -1;
	return pack(mode, x);
}

u64 vgpu_float_flush(const struct vgpu_float_mode *mode, u64 a)
{
	if (!mode->denorm_in && (vgpu_float_class(mode->format, a) & (VGPU_CLASS_PDENORMAL | VGPU_CLASS_NDENORMAL)))
		return a & vgpu_float_sign(mode->format);
	return a;
}

u64 vgpu_float_round(const struct vgpu_float_mode *mode, u64 a, u32 round)
{
	struct number x = unpack(mode, a);
	u64 m, rest;
	u32 drop;

	if (x.kind == NAN_)
		return vgpu_float_quiet(mode->format, a);
	if (x.kind != FINITE || x.e >= 63)
		return pack(mode, x);
	if (x.e < -1) {
		m = rounds_up(round, x.negative, false, 1, 2);
	} else {
		drop = (u32)(63 - x.e);
		m = drop > 63 ? 0 : x.m >> drop;
		rest = drop > 63 ? x.m >> 1 : x.m & ((1ULL << drop) - 1);
		m += rounds_up(round, x.negative, m & 1, rest, drop > 63 ? TOP >> 1 : 1ULL << (drop - 1));
	}
	return pack(mode, integer(m, x.negative));
}

int vgpu_float_compare(const struct vgpu_float_mode *mode, u64 a, u64 b)
{
	struct number x = unpack(mode, a), y = unpack(mode, b);
	int larger;

	if (x.kind == NAN_ || y.kind == NAN_)
		return VGPU_UNORDERED;
	if (x.kind == ZERO && y.kind == ZERO)
		return 0;
	if (x.kind == ZERO)
		return y.negative ? 1 : -1;
	if (y.kind == ZERO || x.negative != y.negative)
		return x.negative ? -1 : 1;
	larger = x.negative ? -1 : 1;
	if (x.kind == INFINITE || y.kind == INFINITE)
		return x.kind == y.kind ? 0 : x.kind == INFINITE ? larger : -larger;
	if (x.e != y.e)
		return x.e > y.e ? larger : -larger;
	return x.m == y.m ? 0 : x.m > y.m ? larger : -larger;
}

/* IEEE 754-2008: a number wins over a quiet NaN, and -0 is smaller than 0 */
u64 vgpu_float_min(const struct vgpu_float_mode *mode, u64 a, u64 b, bool max)
{
	u32 ca = vgpu_float_class(mode->format, a), cb = vgpu_float_class(mode->format, b);
	bool a_smaller;

	if ((ca | cb) & VGPU_CLASS_SNAN)
		return propagate(mode->format, ca & VGPU_CLASS_SNAN ? a : b, b, b);
	if (ca & VGPU_CLASS_NAN)
		return vgpu_float_flush(mode, b);
	if (cb & VGPU_CLASS_NAN)
		return vgpu_float_flush(mode, a);
	a = vgpu_float_flush(mode, a);
	b = vgpu_float_flush(mode, b);
	if (ca & cb & VGPU_CLASS_ZERO)
		return a;
	if (!vgpu_float_compare(mode, a, b))
		a_smaller = a & vgpu_float_sign(mode->format);
	else
		a_smaller = vgpu_float_compare(mode, a, b) < 0;
	return a_smaller != max ? a : b;
}

s64 vgpu_float_to_int(const struct vgpu_float_mode *mode, u64 a, u32 round, s64 min, s64 max)
{
	struct number x = unpack(mode, a);
	s64 v;

	if (x.kind == NAN_ || x.kind == ZERO)
		return 0;
	if (x.kind == INFINITE)
		return x.negative ? min : max;
	x = unpack(mode, vgpu_float_round(mode, a, round));
	if (x.kind == ZERO)
		return 0;
	if (x.e >= 62)
		return x.negative ? min : max;
	v = (s64)(x.m >> (63 - x.e));
	if (x.negative)
		v = -v;
	return v < min ? min : v > max ? max : v;
}
