/* SPDX-License-Identifier: MIT */
/*
 * arithmetic.h - expressions that the GPU and the host must agree on, bit by bit
 *
 * Compiled twice, as OpenCL C for gfx90a and as C for the host: operands a, b and c of 64 bits, of
 * which the narrower types are the lower ones, and a result of 64 bits.
 */
#ifndef ARITHMETIC_H
#define ARITHMETIC_H

#ifdef __OPENCL_VERSION__
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef half f16;
typedef long i64;
typedef ulong u64_;
#else
typedef _Float16 f16;
typedef long i64;
typedef unsigned long u64_;
#endif
typedef unsigned int u32_;
typedef unsigned short u16_;
typedef unsigned char u8_;

union number {
	u64_ u;
	u32_ w;
	u16_ s;
	float f;
	double d;
	f16 h;
};

#define FLOAT_IN(v)	(((union number) { .w = (u32_)(v) }).f)
#define DOUBLE_IN(v)	(((union number) { .u = (v) }).d)
#define HALF_IN(v)	(((union number) { .s = (u16_)(v) }).h)
#define FA		FLOAT_IN(a)
#define FB		FLOAT_IN(b)
#define FC		FLOAT_IN(c)
#define DA		DOUBLE_IN(a)
#define DB		DOUBLE_IN(b)
#define DC		DOUBLE_IN(c)
#define HALF_A		HALF_IN(a)
#define HALF_B		HALF_IN(b)

/* NaNs may differ in what they carry */
static inline u64_ float_out(float f)
{
	return f != f ? 0x7fc00000 : ((union number) { .f = f }).w;
}

static inline u64_ double_out(double d)
{
	return d != d ? 0x7ff8000000000000ul : ((union number) { .d = d }).u;
}

static inline u64_ half_out(f16 h)
{
	return h != h ? 0x7e00 : ((union number) { .h = h }).s;
}

/* Within what an int can hold, so that the conversion is defined */
static inline float small(float f)
{
	return f > -2e9f && f < 2e9f ? f : 1.5f;
}

static inline double small64(double d)
{
	return d > -2e9 && d < 2e9 ? d : -1.5;
}

/* A loop of its own length in each lane, with a branch in it */
static inline u32_ collatz(u32_ n)
{
	u32_ steps = 0;

	for (n = n % 1000 + 1; n != 1; steps++)
		n = n & 1 ? 3 * n + 1 : n / 2;
	return steps;
}

/* An array that is indexed by what is not known: scratch memory */
static inline u64_ shuffle(u64_ a, u64_ b)
{
	u32_ deck[16], i, j, t;

	for (i = 0; i < 16; i++)
		deck[i] = i * 0x01010101u;
	for (i = 0; i < 16; i++) {
		j = (u32_)(a >> 4 * i) & 15;
		t = deck[i];
		deck[i] = deck[j] + (u32_)b;
		deck[j] = t;
	}
	return deck[a & 15] | (u64_)deck[b & 15] << 32;
}

static inline u64_ choose(u32_ n, u64_ a, u64_ b)
{
	switch (n % 7) {
	case 0:
		return a;
	case 1:
		return b + 17;
	case 2:
		return a ^ b;
	case 3:
		return a * b;
	case 5:
		return ~a;
	default:
		return 99;
	}
}

/* X(expression) in order; the number of each is its place */
#define ARITHMETIC(X) \
	X(a + b) \
	X(a - b) \
	X(a * b) \
	X(a / (b | 1)) \
	X(a % (b | 1)) \
	X((u64_)((i64)a / (i64)(b >> 3 | 1))) \
	X((u64_)((i64)a % (i64)(b >> 3 | 1))) \
	X(a << (b & 63)) \
	X(a >> (b & 63)) \
	X((u64_)((i64)a >> (b & 63))) \
	X((a & b) | (~a & c)) \
	X(a < b ? a : c) \
	X((i64)a < (i64)b ? b : c) \
	X((u64_)(a == b) + (a > c) * 2 + ((i64)b >= (i64)c) * 4) \
	X((u32_)a + (u32_)b) \
	X((u32_)a * (u32_)b) \
	X((u64_)(u32_)a * (u32_)b) \
	X((u64_)((i64)(int)a * (int)b)) \
	X((u64_)(u32_)a * (u32_)b + c) \
	X((u64_)((i64)(int)a * (int)b) + c) \
	X((u32_)a / ((u32_)b | 1)) \
	X((u32_)a % ((u32_)b | 1)) \
	X((u32_)((int)a / (int)((b & 0x7fffffff) | 1))) \
	X((u32_)((int)a % (int)((b & 0x7fffffff) | 1))) \
	X((u32_)a << (b & 31) | (u32_)a >> (-(u32_)b & 31)) \
	X((u32_)((int)a >> (b & 31))) \
	X((u32_)a >> 5 & 0x1ff) \
	X((u32_)((int)((u32_)a << 9) >> 20)) \
	X((u32_)((int)a < (int)b ? (int)a : (int)b)) \
	X((u32_)((int)a > (int)b ? (int)a : (int)b)) \
	X((u32_)a < (u32_)b ? (u32_)a : (u32_)b) \
	X((u32_)a > (u32_)b ? (u32_)a : (u32_)b) \
	X((u32_)__builtin_popcount((u32_)a) + __builtin_popcountl(b)) \
	X((u32_)__builtin_clz((u32_)a | 1) + __builtin_ctz((u32_)b | 0x80000000u) * 100) \
	X((u32_)__builtin_clzl(a | 1) + (u32_)__builtin_ctzl(b | 1ul << 63) * 100) \
	X(((u32_)a << 3) + (u32_)b) \
	X(((u32_)a + (u32_)b) << 7) \
	X((u32_)a + (u32_)b + (u32_)c) \
	X(((u32_)a & (u32_)b) | (u32_)c) \
	X(((u32_)a << 12) | (u32_)b) \
	X(((u32_)a ^ (u32_)b) + (u32_)c) \
	X((u16_)(a + b)) \
	X((u16_)(a * b)) \
	X((u64_)(i64)(short)((short)a < (short)b ? a : b)) \
	X((u64_)(i64)(signed char)a + (u8_)b) \
	X((u16_)((u16_)a >> (b & 15))) \
	X((u64_)(i64)(short)((short)a >> (b & 15))) \
	X((u32_)(u16_)a * (u16_)b + (u32_)c) \
	X(((u32_)a & 0xffffff) * ((u32_)b & 0xffffff)) \
	X(float_out(FA + FB)) \
	X(float_out(FA - FB)) \
	X(float_out(FA * FB)) \
	X(float_out(FA / FB)) \
	X(float_out(1.0f / FA)) \
	X(float_out(__builtin_fmaf(FA, FB, FC))) \
	X(float_out(__builtin_fmaf(-FA, FB, FC))) \
	X(float_out(__builtin_fabsf(FA) * 2.0f)) \
	X(float_out(FA * 0.5f + 4.0f)) \
	X(float_out(-FA)) \
	X((u64_)(FA < FB) + (FA == FB) * 2 + (FA >= FC) * 4 + (FA != FC) * 8 + !(FA > FB) * 16) \
	X((u32_)(int)small(FA)) \
	X((u32_)small(__builtin_fabsf(FA))) \
	X(float_out((float)(int)a)) \
	X(float_out((float)(u32_)a)) \
	X(float_out((float)a)) \
	X(float_out((float)(i64)a)) \
	X(double_out((double)FA)) \
	X(float_out((float)DA)) \
	X(double_out(DA + DB)) \
	X(double_out(DA - DB)) \
	X(double_out(DA * DB)) \
	X(double_out(DA / DB)) \
	X(double_out(__builtin_fma(DA, DB, DC))) \
	X(double_out(__builtin_fma(DA, -DB, DC))) \
	X(double_out((double)(int)a)) \
	X(double_out((double)(u32_)a)) \
	X(double_out((double)a)) \
	X(double_out((double)(i64)a)) \
	X((u32_)(int)small64(DA)) \
	X((u64_)(DA < DB) + (DA == DB) * 2 + (DA >= DC) * 4) \
	X(half_out(HALF_A + HALF_B)) \
	X(half_out(HALF_A * HALF_B)) \
	X(half_out((f16)FA)) \
	X(float_out((float)HALF_A)) \
	X((u64_)(HALF_A < HALF_B)) \
	X(float_out((float)(u8_)a + (float)(u8_)(a >> 8) + (float)(u8_)(a >> 16) + (float)(u8_)(a >> 24))) \
	X(float_out(__builtin_floorf(FA) + __builtin_ceilf(FB))) \
	X(float_out(__builtin_truncf(FA))) \
	X(float_out(__builtin_rintf(FA))) \
	X(double_out(__builtin_floor(DA))) \
	X(double_out(__builtin_trunc(DA))) \
	X(double_out(__builtin_rint(DA))) \
	X(float_out(__builtin_copysignf(FA, FB))) \
	X(collatz((u32_)a)) \
	X(shuffle(a, b)) \
	X(choose((u32_)a, b, c))

#endif /* ARITHMETIC_H */
