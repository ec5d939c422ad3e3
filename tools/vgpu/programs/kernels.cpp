// SPDX-License-Identifier: MIT
/*
 * kernels.cpp - ordinary kernels: what a compiler makes of integers and floating point of all
 * sizes, of LDS, of lanes that talk to each other, of structures, branches, calls, atomics and
 * matrix cores
 *
 * Each is compared with what the CPU computes: bit by bit where the language says what the result
 * is, else within the bounds of OpenCL, which AMD's library of mathematical functions promises.
 * Nothing here knows of the virtual GPU; tests/isa runs these programs without driver and HIP's
 * library as well.
 */
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>

#include "kernels.h"

#define BLOCK	256u

static unsigned int items;	/* work-items of a block where the kernel does not say how many: whole waves */

static uint64_t random_state = 88172645463325252u;

static uint64_t random64()
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static float random_float(float from, float to)
{
	return from + (to - from) * (float)(random64() >> 40) / (float)(1 << 24);
}

/* Says where they differ */
template <typename T> static bool same(const char *what, const std::vector<T> &got, const std::vector<T> &want)
{
	size_t i;

	for (i = 0; i < got.size() && !memcmp(&got[i], &want[i], sizeof(T)); i++)
		;
	if (i < got.size())
		printf("# %s: element %zu of %zu is wrong\n", what, i, got.size());
	return i == got.size();
}

__device__ static unsigned int item()
{
	return blockIdx.x * blockDim.x + threadIdx.x;
}

/* ---- histogram: LDS whose size the launch says, atomics in LDS and in memory ---- */

__global__ void histogram(unsigned int *bins, const unsigned char *in, unsigned int n, unsigned int count)
{
	extern __shared__ unsigned int mine[];
	unsigned int i;

	for (i = threadIdx.x; i < count; i += blockDim.x)
		mine[i] = 0;
	__syncthreads();
	for (i = item(); i < n; i += gridDim.x * blockDim.x)
		atomicAdd(&mine[in[i] % count], 1u);
	__syncthreads();
	for (i = threadIdx.x; i < count; i += blockDim.x)
		if (mine[i])
			atomicAdd(&bins[i], mine[i]);
}

static bool histograms()
{
	const unsigned int n = 3000, count = 100;
	std::vector<unsigned int> want(count);
	std::vector<unsigned char> in(n);

	for (auto &v : in) {
		v = (unsigned char)(random64() >> 30 & random64() >> 40);
		want[v % count]++;
	}
	on_device<unsigned char> din(in);
	on_device<unsigned int> bins(count);
	histogram<<<2, BLOCK, count * 4>>>(bins.p, din.p, n, count);
	return same("bins", bins.back(), want);
}

/* ---- prefix sums: lanes, then waves, then blocks; the last block to come adds up what the others left ---- */

__device__ static unsigned int sum_before(unsigned int v)
{
	unsigned int lane = threadIdx.x % warpSize, distance, other;

	for (distance = 1; distance < (unsigned int)warpSize; distance *= 2) {
		other = __shfl_up(v, distance);
		if (lane >= distance)
			v += other;
	}
	return v;
}

__global__ void scan(unsigned int *out, const unsigned int *in, unsigned int *totals, unsigned int *arrived)
{
	__shared__ unsigned int waves[BLOCK / 64];
	__shared__ bool last;
	unsigned int v = sum_before(in[item()]), w, b;

	if (threadIdx.x % 64 == 63)
		waves[threadIdx.x / 64] = v;
	__syncthreads();
	for (w = 0; w < threadIdx.x / 64; w++)
		v += waves[w];
	out[item()] = v;
	if (threadIdx.x == BLOCK - 1)
		totals[blockIdx.x] = v;
	__threadfence();
	__syncthreads();
	if (!threadIdx.x)
		last = atomicInc(arrived, gridDim.x) == gridDim.x - 1;
	__syncthreads();
	if (!last)
		return;
	__threadfence();
	for (b = 1, v = 0; b < gridDim.x; b++) {
		v += ((volatile unsigned int *)totals)[b - 1];
		((volatile unsigned int *)out)[b * BLOCK + threadIdx.x] += v;
	}
}

static bool scans()
{
	const unsigned int blocks = 3;
	std::vector<unsigned int> in(blocks * BLOCK), want(in.size());
	unsigned int sum = 0;

	for (size_t i = 0; i < in.size(); i++) {
		in[i] = (unsigned int)random64();
		want[i] = sum += in[i];
	}
	on_device<unsigned int> din(in), out(in.size()), totals(blocks), arrived(1);
	scan<<<blocks, BLOCK>>>(out.p, din.p, totals.p, arrived.p);
	return same("sums", out.back(), want);
}

/* ---- mathematical functions ---- */

/* X(on the device, on the CPU in double precision, largest error in units of the last place) of x from -10 to 10 and y from 0 to 1000 */
#define FUNCTIONS(X) \
	X(expf(x), exp(x), 3) \
	X(exp2f(x), exp2(x), 3) \
	X(expm1f(x), expm1(x), 3) \
	X(logf(y), log(y), 3) \
	X(log2f(y), log2(y), 3) \
	X(log10f(y), log10(y), 3) \
	X(sinf(x), sin(x), 4) \
	X(cosf(x), cos(x), 4) \
	X(sinf(x * 1e8f), sin((double)(float)(x * 1e8f)), 4) \
	X(tanf(x), tan(x), 5) \
	X(atanf(x), atan(x), 5) \
	X(atan2f(x, y), atan2(x, y), 6) \
	X(sinhf(x), sinh(x), 4) \
	X(tanhf(x), tanh(x), 5) \
	X(powf(y, x), pow(y, x), 16) \
	X(sqrtf(y), sqrt(y), 0.5) \
	X(rsqrtf(y), 1 / sqrt(y), 2) \
	X(cbrtf(x), cbrt(x), 2) \
	X(hypotf(x, y), hypot(x, y), 4) \
	X(erff(x), erf(x), 16) \
	X(fmodf(y, x), fmod(y, x), 0) \
	X(ldexpf(x, (int)y % 20), ldexp(x, (int)y % 20), 0) \
	X(x / y, (double)x / (double)y, 0.5) \
	X(1.0f / x, 1.0 / (double)x, 0.5) \
	X(floorf(x) + truncf(x) + roundf(x), floor(x) + trunc(x) + round(x), 0)

enum { FUNCTIONS_FIRST = __COUNTER__ };

__global__ void functions(float *out, const float *xs, const float *ys, unsigned int which)
{
	float x = xs[item()], y = ys[item()], r = 0;

	switch (which) {
#define CASE(device, host, ulps)	case __COUNTER__ - FUNCTIONS_FIRST - 1: r = device; break;
	FUNCTIONS(CASE)
	}
	out[item()] = r;
}

/* How far @got is from @want, in units of the last place of @want */
static double error(float got, double want)
{
	int exponent;

	if (std::isnan(want) || std::isinf((float)want))
		return memcmp(&got, (const float []) { (float)want }, 4) && !(std::isnan(want) && std::isnan(got)) ? 1e9 : 0;
	frexp(want, &exponent);
	return fabs((double)got - want) / ldexp(1, std::max(exponent - 24, -149));
}

static bool function(const on_device<float> &x, const on_device<float> &y, unsigned int which, const char *name,
		     double (*here)(float x, float y), double ulps)
{
	on_device<float> out(x.n);
	std::vector<float> got, xs = x.back(), ys = y.back();
	double worst = 0, e;
	size_t i, at = 0;

	functions<<<1, items>>>(out.p, x.p, y.p, which);
	got = out.back();
	for (i = 0; i < got.size(); i++) {
		e = error(got[i], here(xs[i], ys[i]));
		if (!(e <= worst)) {
			worst = e;
			at = i;
		}
	}
	/* The CPU's own result is rounded, too. */
	if (worst > ulps + 1e-3)
		printf("# %s of x %a y %a: %a instead of %a\n", name, xs[at], ys[at], got[at], here(xs[at], ys[at]));
	return worst <= ulps + 1e-3;
}

static bool mathematics()
{
	std::vector<float> x(items), y(items);
	unsigned int which = 0;
	bool good = true;

	for (size_t i = 0; i < x.size(); i++) {
		x[i] = random_float(-10, 10);
		y[i] = random_float(0, 1) * powf(10, (float)(i % 4));
	}
	on_device<float> dx(x), dy(y);
#define CHECK(device, host, ulps)	\
	good &= function(dx, dy, which++, #device, [](float x, float y) -> double { (void)x; (void)y; return host; }, ulps);
	FUNCTIONS(CHECK)
	return good;
}

/* ---- integers of 64 bits ---- */

#define INTEGER_RESULTS	14u

__host__ __device__ static inline uint64_t high_product(uint64_t a, uint64_t b)
{
#ifdef __HIP_DEVICE_COMPILE__
	return __umul64hi(a, b);
#else
	return (uint64_t)((unsigned __int128)a * b >> 64);
#endif
}

__host__ __device__ static inline void integers(uint64_t *out, uint64_t a, uint64_t b)
{
	int64_t sa = (int64_t)a, sb = (int64_t)b;
	uint64_t r = a;
	int i;

	out[0] = a * b;
	out[1] = a / (b | 1);
	out[2] = a % (b | 1);
	out[3] = (uint64_t)(sa / (sb >> 3 | 1));
	out[4] = (uint64_t)(sa % (sb >> 3 | 1));
	out[5] = high_product(a, b);
	out[6] = a << (b & 63) | a >> (-b & 63);
	out[7] = (uint64_t)(sa >> (b & 63));
	out[8] = (uint64_t)(__builtin_popcountll(a) + __builtin_clzll(b | 1) * 100 + __builtin_ctzll(b | 1ull << 63) * 10000);
	out[9] = sa < sb ? a : b;
	out[10] = (uint64_t)(uint32_t)a / ((uint32_t)b | 1) + (uint64_t)(a > b) * (uint32_t)a % ((uint32_t)b | 1);
	out[11] = a / 10 + b % 1000000007;
	/* modular exponentiation: products of 64 bits, one after the other */
	for (i = 0; i < 8; i++)
		r = (r * r + b) % 0xffffffffffc5;
	out[12] = r;
	out[13] = (a & b) ^ (a | ~b);
}

__global__ void integer_kernel(uint64_t *out, const uint64_t *in)
{
	integers(out + item() * INTEGER_RESULTS, in[2 * item()], in[2 * item() + 1]);
}

static bool long_integers()
{
	std::vector<uint64_t> in(2 * items), want(items * INTEGER_RESULTS);
	size_t i;

	for (i = 0; i < in.size(); i++)
		in[i] = i < 4 ? i - 2 : random64() >> (random64() & 63);
	for (i = 0; i < items; i++)
		integers(&want[i * INTEGER_RESULTS], in[2 * i], in[2 * i + 1]);
	on_device<uint64_t> din(in), out(want.size());
	integer_kernel<<<1, items>>>(out.p, din.p);
	return same("integers", out.back(), want);
}

/* ---- half precision: one by one, and two at a time ---- */

#define HALF_RESULTS	6u

__global__ void half_kernel(_Float16 *out, const _Float16 *in)
{
	_Float16 a = in[2 * item()], b = in[2 * item() + 1], sum = 0;
	__half2 pair = __halves2half2(__half(a), __half(b)), product;

	out += item() * HALF_RESULTS;
	out[0] = a + b;
	out[1] = a * b;
	out[2] = a / b;
	out[3] = (_Float16)((float)a * 0.1f) < b ? a : -b;
	product = __hadd2(__hmul2(pair, pair), pair);
	memcpy(&out[4], &product, 4);
	for (int i = 0; i < 5; i++)
		sum = sum * a + b;
	out[HALF_RESULTS - 4 + 1] = sum;
}

static bool halves()
{
	std::vector<_Float16> in(2 * items), want(items * HALF_RESULTS);
	size_t i, n;

	for (auto &v : in)
		v = (_Float16)random_float(-3, 3);
	for (i = 0; i < items; i++) {
		_Float16 a = in[2 * i], b = in[2 * i + 1], sum = 0, *w = &want[i * HALF_RESULTS];

		w[0] = a + b;
		w[1] = a * b;
		w[2] = a / b;
		w[4] = (_Float16)(a * a) + a;
		w[5] = (_Float16)(b * b) + b;
		for (n = 0; n < 5; n++)
			sum = (_Float16)((_Float16)(sum * a) + b);
		w[3] = sum;
	}
	on_device<_Float16> din(in), out(want.size());
	half_kernel<<<1, items>>>(out.p, din.p);
	return same("halves", out.back(), want);
}

/* ---- lanes that talk to each other ---- */

#define LANE_RESULTS	12u

__global__ void lane_kernel(unsigned long long *out, const unsigned int *in)
{
	unsigned int v = in[item()], lane = threadIdx.x % 64, r = 0;
	double d = v * 0.5;

	out += item() * LANE_RESULTS;
	out[0] = __shfl(v, (int)(v & 63));
	out[1] = __shfl_down(v, 5);
	out[2] = __shfl_xor(v, 9, 16);
	out[3] = __ballot(v & 1);
	out[4] = (unsigned long long)__any(v == in[0]) + 2 * (unsigned long long)__all(v > 3);
	out[5] = (unsigned long long)(2 * __shfl(d, 63 - (int)lane));
	out[6] = (unsigned int)__popcll(__ballot(v & 2) & ((1ull << lane) - 1));
	out[7] = (unsigned int)__builtin_amdgcn_ds_swizzle((int)v, 0x401f);				/* lane ^ 16 */
	out[8] = (unsigned int)__builtin_amdgcn_mov_dpp((int)v, 0x141, 0xf, 0xf, false);		/* half rows backwards */
	out[9] = (unsigned int)__builtin_amdgcn_update_dpp(7, (int)v, 0x112, 0xf, 0xf, false);	/* from two lanes before in the row */
	out[10] = (unsigned int)__builtin_amdgcn_readlane((int)v, 17);
	/* Only some lanes take part. */
	if (v % 3 == 0)
		r = (unsigned int)__popcll(__ballot(1)) + (unsigned int)__builtin_amdgcn_readfirstlane((int)v);
	out[11] = r;
}

static bool lanes()
{
	std::vector<unsigned long long> want(BLOCK * LANE_RESULTS);
	std::vector<unsigned int> in(BLOCK);
	unsigned int i, l;

	for (auto &v : in)
		v = (unsigned int)random64() >> 1;
	for (i = 0; i < BLOCK; i++) {
		const unsigned int *wave = &in[i / 64 * 64], lane = i % 64, v = in[i];
		unsigned long long odd = 0, two = 0, first = 0, thirds = 0, *w = &want[i * LANE_RESULTS];
		bool any = false, all = true;

		for (l = 63; l < 64; l--) {
			odd |= (unsigned long long)(wave[l] & 1) << l;
			two |= (unsigned long long)(wave[l] >> 1 & 1) << l;
			any |= wave[l] == in[0];
			all &= wave[l] > 3;
			if (wave[l] % 3 == 0) {
				thirds++;
				first = wave[l];
			}
		}
		w[0] = wave[v & 63];
		w[1] = wave[lane + 5 < 64 ? lane + 5 : lane];
		w[2] = wave[(lane ^ 9) / 16 == lane / 16 ? lane ^ 9 : lane];
		w[3] = odd;
		w[4] = any + 2 * all;
		w[5] = wave[63 - lane];
		w[6] = (unsigned long long)__builtin_popcountll(two & ((1ull << lane) - 1));
		w[7] = wave[lane ^ 16];
		w[8] = wave[lane ^ 7];
		w[9] = lane % 16 < 2 ? 7 : wave[lane - 2];
		w[10] = wave[17];
		w[11] = v % 3 ? 0 : (unsigned int)(thirds + first);
	}
	on_device<unsigned int> din(in);
	on_device<unsigned long long> out(want.size());
	lane_kernel<<<1, BLOCK>>>(out.p, din.p);
	return same("lanes", out.back(), want);
}

/* ---- double precision ---- */

#define DOUBLE_RESULTS	8u

__host__ __device__ static inline void doubles(double *out, double a, double b)
{
	out[0] = a * b + 1;
	out[1] = a / b;
	out[2] = sqrt(a * a + b * b);
	out[3] = fma(a, b, -a * b);
	out[4] = floor(a) + (double)(int64_t)(b * 1e6) + (double)(float)a;
	out[5] = a < b ? fmin(a, -b) : ldexp(a, 3);
	out[6] = (double)(unsigned int)fabs(b * 1000) / 7;
	/* Horner */
	out[7] = ((a * b - 2.5) * b + 1.25) * b - 1 / a;
}

__global__ void double_kernel(double *out, const double *in)
{
	doubles(out + item() * DOUBLE_RESULTS, in[2 * item()], in[2 * item() + 1]);
}

__global__ void double_functions(double *out, const double *in)
{
	double a = in[2 * item()];

	out[3 * item()] = exp(a);
	out[3 * item() + 1] = sin(a);
	out[3 * item() + 2] = log(fabs(a));
}

static bool double_precision()
{
	std::vector<double> in(2 * items), want(items * DOUBLE_RESULTS), got;
	bool good;
	size_t i;

	for (auto &v : in)
		v = (double)(int64_t)random64() / (1ull << 59);
	for (i = 0; i < items; i++)
		doubles(&want[i * DOUBLE_RESULTS], in[2 * i], in[2 * i + 1]);
	on_device<double> din(in), out(want.size()), functions(3 * items);
	double_kernel<<<1, items>>>(out.p, din.p);
	good = same("doubles", out.back(), want);
	double_functions<<<1, 64>>>(functions.p, din.p);
	got = functions.back();
	/* Three and four units of the last place */
	for (i = 0; i < 64; i++) {
		const double here[3] = { exp(in[2 * i]), sin(in[2 * i]), log(fabs(in[2 * i])) };

		for (size_t n = 0; n < 3; n++)
			if (fabs(got[3 * i + n] - here[n]) > 4 * fabs(nextafter(here[n], 1e9) - here[n])) {
				printf("# function %zu of %a: %a instead of %a\n", n, in[2 * i], got[3 * i + n], here[n]);
				good = false;
			}
	}
	return good;
}

/* ---- structures: members of all sizes, some of them not aligned ---- */

struct record {
	char c;
	short s;
	unsigned char bytes[5];
	int i;
	long long l;
	double d;
	unsigned int low : 5, middle : 14, high : 13;
};

struct __attribute__((packed)) packed_record {
	unsigned char c;
	int i;
	short s;
	long long l;
};

__host__ __device__ static inline void change(struct record &r, struct packed_record &p, int n)
{
	struct record old = r;
	int k;

	r.c = (char)(old.s + n);
	r.s = (short)(old.c * 3 - p.s);
	for (k = 0; k < 5; k++)
		r.bytes[k] = (unsigned char)(old.bytes[4 - k] + p.c);
	r.i = old.i ^ (int)p.l;
	r.l = old.l * p.i;
	r.d = old.d + old.c;
	r.low = old.high;
	r.middle = old.low * old.low;
	r.high = old.middle + 1;
	p.c = (unsigned char)(p.c + n);
	p.i = old.i - p.i;
	p.s = (short)-p.s;
	p.l = old.l + p.c;
}

__global__ void change_all(struct record *r, struct packed_record *p)
{
	change(r[item()], p[item()], (int)item());
}

static bool structures()
{
	std::vector<struct packed_record> p(2 * items);
	std::vector<struct record> r(2 * items);
	size_t i;

	memset((void *)r.data(), 0, r.size() * sizeof(r[0]));
	for (i = 0; i < 2 * items; i++) {
		r[i].c = (char)random64();
		r[i].s = (short)random64();
		for (auto &b : r[i].bytes)
			b = (unsigned char)random64();
		r[i].i = (int)random64();
		r[i].l = (long long)random64();
		r[i].d = (double)(int)random64();
		r[i].low = (unsigned int)random64() & 31;
		r[i].middle = (unsigned int)random64() & 0x3fff;
		r[i].high = (unsigned int)random64() & 0x1fff;
		p[i] = { (unsigned char)random64(), (int)random64(), (short)random64(), (long long)random64() };
	}
	on_device<struct packed_record> dp(p);
	on_device<struct record> dr(r);
	change_all<<<2, items>>>(dr.p, dp.p);
	for (i = 0; i < 2 * items; i++)
		change(r[i], p[i], (int)i);
	return same("records", dr.back(), r) && same("packed records", dp.back(), p);
}

/* ---- branches: loops and cases of each lane's own ---- */

/* A machine with a stack: its program is data */
__host__ __device__ static inline unsigned int interpret(const unsigned char *program, unsigned int length, unsigned int x)
{
	unsigned int stack[8] = { x }, top = 1, steps = 0, at = 0, t;

	while (at < length && steps++ < 12) {
		unsigned char op = program[at++];

		switch (op % 10) {
		case 0:
			if (top < 8)
				stack[top++] = op;
			break;
		case 1:
			if (top > 1) {
				top--;
				stack[top - 1] += stack[top];
			}
			break;
		case 2:
			if (top > 1) {
				top--;
				stack[top - 1] *= stack[top];
			}
			break;
		case 3:
			stack[top - 1] = ~stack[top - 1];
			break;
		case 4:
			if (top < 8) {
				stack[top] = stack[top - 1];
				top++;
			}
			break;
		case 5:
			if (stack[top - 1] & 4)
				at += op / 64;
			break;
		case 6:
			if (stack[top - 1]-- & 1)
				at = at > 4 ? at - 4 : 0;
			break;
		case 7:
			t = stack[0];
			stack[0] = stack[top - 1];
			stack[top - 1] = t;
			break;
		case 8:
			for (t = stack[top - 1] % 5; t; t--)
				stack[top - 1] = stack[top - 1] * 5 + t;
			break;
		default:
			if (stack[top - 1] > 0xf0000000)
				return stack[top - 1];
		}
	}
	return stack[top - 1] + steps;
}

/* How soon z * z + c leaves the circle; the number of rounds is each lane's own */
__host__ __device__ static inline unsigned int mandelbrot(float x, float y)
{
	float a = 0, b = 0, t;
	unsigned int n;

	for (n = 0; n < 24 && a * a + b * b < 4; n++) {
		t = a * a - b * b + x;
		b = 2 * a * b + y;
		a = t;
	}
	return n;
}

#define PROGRAM	12u

__global__ void branch_kernel(unsigned int *out, const unsigned char *programs)
{
	unsigned int i = item();

	out[2 * i] = interpret(programs + i * PROGRAM, PROGRAM, i);
	out[2 * i + 1] = mandelbrot((float)(i % 32) / 12 - 2, (float)(i / 32) / 8 - 0.5f);
}

static bool branches()
{
	std::vector<unsigned char> programs(items * PROGRAM);
	std::vector<unsigned int> want(2 * items);
	unsigned int i;

	for (auto &v : programs)
		v = (unsigned char)random64();
	for (i = 0; i < items; i++) {
		want[2 * i] = interpret(&programs[i * PROGRAM], PROGRAM, i);
		want[2 * i + 1] = mandelbrot((float)(i % 32) / 12 - 2, (float)(i / 32) / 8 - 0.5f);
	}
	on_device<unsigned char> dprograms(programs);
	on_device<unsigned int> out(want.size());
	branch_kernel<<<1, items>>>(out.p, dprograms.p);
	return same("branches", out.back(), want);
}

/* ---- calls: a stack in private memory, recursion, and a function that is chosen by data ---- */

__host__ __device__ __attribute__((noinline)) static unsigned int mix(unsigned int a, unsigned int b, unsigned int *left)
{
	*left -= 1;
	return (a ^ a >> 7) * 0x9e3779b1u + b;
}

__host__ __device__ __attribute__((noinline)) static unsigned int ackermann(unsigned int m, unsigned int n)
{
	if (!m)
		return n + 1;
	return n ? ackermann(m - 1, ackermann(m, n - 1)) : ackermann(m - 1, 1);
}

__host__ __device__ __attribute__((noinline)) static unsigned int once(unsigned int v)
{
	return v * 3 + 1;
}

__host__ __device__ __attribute__((noinline)) static unsigned int twice(unsigned int v)
{
	return once(v) ^ once(~v);
}

__host__ __device__ static inline unsigned int calls(unsigned int i)
{
	unsigned int (*const chosen)(unsigned int) = i % 3 ? once : twice;
	unsigned int left = i % 5, r = i;

	while (left)
		r = mix(r, left, &left);
	return r + ackermann(1 + i % 2, i % 4) * 1000 + chosen(i);
}

__global__ void call_kernel(unsigned int *out)
{
	out[item()] = calls(item());
}

static bool function_calls()
{
	std::vector<unsigned int> want(items);
	on_device<unsigned int> out(items);

	for (unsigned int i = 0; i < items; i++)
		want[i] = calls(i);
	call_kernel<<<1, items>>>(out.p);
	return same("calls", out.back(), want);
}

/* ---- atomics on memory ---- */

struct counters {
	unsigned int sum, least, most, bits, toggled, round, claimed;
	int signed_least;
	float compared;		/* by compare and swap */
	unsigned long long wide_sum, wide_most;
	double largest;
};

__global__ void atomic_kernel(struct counters *c, unsigned int *order, const unsigned int *in)
{
	unsigned int v = in[item()], old, seen;
	unsigned long long was, assumed;

	order[item()] = atomicAdd(&c->sum, 1u);
	atomicMin(&c->least, v);
	atomicMax(&c->most, v);
	atomicOr(&c->bits, 1u << v % 32);
	atomicXor(&c->toggled, v);
	atomicInc(&c->round, 99u);
	atomicCAS(&c->claimed, 0u, item() + 1);
	atomicMin(&c->signed_least, (int)v);
	atomicAdd(&c->wide_sum, (unsigned long long)v << 20);
	atomicMax(&c->wide_most, (unsigned long long)v * v);
	for (old = __float_as_uint(c->compared);; old = seen) {
		seen = atomicCAS((unsigned int *)&c->compared, old, __float_as_uint(__uint_as_float(old) + (float)(v % 16)));
		if (seen == old)
			break;
	}
	for (was = (unsigned long long)__double_as_longlong(c->largest); __longlong_as_double((long long)was) < (double)v; was = assumed) {
		assumed = atomicCAS((unsigned long long *)&c->largest, was, (unsigned long long)__double_as_longlong((double)v));
		if (assumed == was)
			break;
	}
}

static bool atomics()
{
	std::vector<unsigned int> in(2 * items), order;
	std::vector<struct counters> start(1), got;
	struct counters want;
	bool good;
	size_t i;

	memset((void *)start.data(), 0, sizeof(want));
	start[0].least = ~0u;
	want = start[0];
	for (i = 0; i < 2 * items; i++) {
		unsigned int v = in[i] = (unsigned int)random64();

		want.sum++;
		want.least = std::min(want.least, v);
		want.most = std::max(want.most, v);
		want.bits |= 1u << v % 32;
		want.toggled ^= v;
		want.round = want.round >= 99 ? 0 : want.round + 1;
		want.signed_least = std::min(want.signed_least, (int)v);
		want.wide_sum += (unsigned long long)v << 20;
		want.wide_most = std::max(want.wide_most, (unsigned long long)v * v);
		want.compared += (float)(v % 16);
		want.largest = std::max(want.largest, (double)v);
	}
	on_device<struct counters> c(start);
	on_device<unsigned int> dorder(2 * items), din(in);
	atomic_kernel<<<2, items>>>(c.p, dorder.p, din.p);
	got = c.back();
	order = dorder.back();
	/* One was first, and each had a number of its own. */
	good = got[0].claimed >= 1 && got[0].claimed <= 2 * items;
	want.claimed = got[0].claimed;
	std::sort(order.begin(), order.end());
	for (i = 0; i < 2 * items; i++)
		good &= order[i] == i;
	return same("counters", got, std::vector<struct counters>(1, want)) && good;
}

/* ---- sorting in LDS ---- */

__global__ void sort(unsigned int *keys, unsigned short *places)
{
	__shared__ unsigned int k[BLOCK];
	__shared__ unsigned short p[BLOCK];
	unsigned int i = threadIdx.x, size, stride, other;

	k[i] = keys[i];
	p[i] = (unsigned short)i;
	__syncthreads();
	for (size = 2; size <= BLOCK; size *= 2)
		for (stride = size / 2; stride; stride /= 2) {
			other = i ^ stride;
			if (other > i && (k[i] > k[other]) == !(i & size)) {
				unsigned int key = k[i];
				unsigned short place = p[i];

				k[i] = k[other];
				k[other] = key;
				p[i] = p[other];
				p[other] = place;
			}
			__syncthreads();
		}
	keys[i] = k[i];
	places[i] = p[i];
}

static bool sorting()
{
	std::vector<unsigned int> keys(BLOCK), sorted;
	std::vector<unsigned short> places, want(BLOCK);
	size_t i;

	for (i = 0; i < BLOCK; i++) {
		keys[i] = (unsigned int)random64();
		want[i] = (unsigned short)i;
	}
	on_device<unsigned int> dkeys(keys);
	on_device<unsigned short> dplaces(BLOCK);
	sort<<<1, BLOCK>>>(dkeys.p, dplaces.p);
	std::sort(want.begin(), want.end(), [&](unsigned short a, unsigned short b) { return keys[a] < keys[b]; });
	std::sort(keys.begin(), keys.end());
	return same("keys", dkeys.back(), keys) && same("places", dplaces.back(), want);
}

/* ---- constants that the host sets; a grid in three dimensions that does not divide evenly ---- */

__constant__ float weights[3][3][3];

__global__ void filter(float *out, const float *in, int width, int height, int depth)
{
	int x = (int)(blockIdx.x * blockDim.x + threadIdx.x), y = (int)(blockIdx.y * blockDim.y + threadIdx.y);
	int z = (int)(blockIdx.z * blockDim.z + threadIdx.z), i, j, k;
	float sum = 0;

	if (x >= width || y >= height || z >= depth)
		return;
	for (k = -1; k <= 1; k++)
		for (j = -1; j <= 1; j++)
			for (i = -1; i <= 1; i++)
				if (x + i >= 0 && x + i < width && y + j >= 0 && y + j < height && z + k >= 0 && z + k < depth)
					sum += weights[k + 1][j + 1][i + 1] * in[((z + k) * height + y + j) * width + x + i];
	out[(z * height + y) * width + x] = sum;
}

static bool filters()
{
	const int width = (int)items / 32 * 3 + 1, height = 7, depth = 3;
	std::vector<float> in(width * height * depth), want(in.size());
	float w[3][3][3];
	int i, x, y, z;

	for (auto &v : in)
		v = random_float(-1, 1);
	for (i = 0; i < 27; i++)
		(&w[0][0][0])[i] = random_float(-1, 1);
	HIP(hipMemcpyToSymbol(HIP_SYMBOL(weights), w, sizeof(w)));
	for (z = 0; z < depth; z++)
		for (y = 0; y < height; y++)
			for (x = 0; x < width; x++)
				for (i = 0; i < 27; i++) {
					int a = x + i % 3 - 1, b = y + i / 3 % 3 - 1, c = z + i / 9 - 1;

					if (a >= 0 && a < width && b >= 0 && b < height && c >= 0 && c < depth)
						want[(z * height + y) * width + x] += w[i / 9][i / 3 % 3][i % 3] * in[(c * height + b) * width + a];
				}
	on_device<float> din(in), out(in.size());
	filter<<<dim3((width + 3) / 4, 2, 2), dim3(4, 4, 2)>>>(out.p, din.p, width, height, depth);
	return same("filter", out.back(), want);
}

/* ---- matrix cores: a wave computes a tile; what is added up is exact, so the order does not matter ---- */

typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef float float4_ __attribute__((ext_vector_type(4)));
typedef float float16_ __attribute__((ext_vector_type(16)));
typedef double double4_ __attribute__((ext_vector_type(4)));

/* 16 by 16 of half precision, 16 of k at a time */
__global__ void tile_f16(float *out, const _Float16 *a, const _Float16 *b, unsigned int depth)
{
	unsigned int lane = threadIdx.x, line = lane % 16, k, i;
	float4_ sum = { 0, 0, 0, 0 };
	half4 x, y;

	for (k = lane / 16 * 4; k < depth; k += 16) {
		for (i = 0; i < 4; i++) {
			x[i] = a[line * depth + k + i];
			y[i] = b[(k + i) * 16 + line];
		}
#ifdef __HIP_DEVICE_COMPILE__
		sum = __builtin_amdgcn_mfma_f32_16x16x16f16(x, y, sum, 0, 0, 0);
#endif
	}
	for (i = 0; i < 4; i++)
		out[(lane / 16 * 4 + i) * 16 + line] = sum[i];
}

/* 32 by 32 of single precision, 2 of k at a time */
__global__ void tile_f32(float *out, const float *a, const float *b, unsigned int depth)
{
	unsigned int lane = threadIdx.x, line = lane % 32, k, i;
	float16_ sum = { 0 };

	for (k = lane / 32; k < depth; k += 2) {
#ifdef __HIP_DEVICE_COMPILE__
		sum = __builtin_amdgcn_mfma_f32_32x32x2f32(a[line * depth + k], b[k * 32 + line], sum, 0, 0, 0);
#else
		(void)a;
		(void)b;
#endif
	}
	for (i = 0; i < 16; i++)
		out[(i / 4 * 8 + lane / 32 * 4 + i % 4) * 32 + line] = sum[i];
}

/* 16 by 16 of double precision, 4 of k at a time */
__global__ void tile_f64(double *out, const double *a, const double *b, unsigned int depth)
{
	unsigned int lane = threadIdx.x, line = lane % 16, k, i;
	double4_ sum = { 0, 0, 0, 0 };

	for (k = lane / 16; k < depth; k += 4) {
#ifdef __HIP_DEVICE_COMPILE__
		sum = __builtin_amdgcn_mfma_f64_16x16x4f64(a[line * depth + k], b[k * 16 + line], sum, 0, 0, 0);
#else
		(void)a;
		(void)b;
#endif
	}
	for (i = 0; i < 4; i++)
		out[(lane / 16 + 4 * i) * 16 + line] = sum[i];
}

/* Random whole numbers as operands; Return: is the tile right? */
template <typename In, typename Out> static bool tile(const char *what, void (*kernel)(Out *, const In *, const In *, unsigned int),
						      unsigned int size, unsigned int depth)
{
	std::vector<In> a(size * depth), b(depth * size);
	std::vector<Out> want(size * size);
	unsigned int row, column, k;

	for (auto *m : { &a, &b })
		for (auto &v : *m)
			v = (In)((int)(random64() & 31) - 16);
	for (row = 0; row < size; row++)
		for (column = 0; column < size; column++)
			for (k = 0; k < depth; k++)
				want[row * size + column] += (Out)a[row * depth + k] * (Out)b[k * size + column];
	on_device<In> da(a), db(b);
	on_device<Out> out(want.size());
	kernel<<<1, 64>>>(out.p, da.p, db.p, depth);
	return same(what, out.back(), want);
}

static bool matrix_cores()
{
	return tile("half precision", tile_f16, 16, 32) && tile("single precision", tile_f32, 32, 4) &&
	       tile("double precision", tile_f64, 16, 8);
}

const struct hip_program *hip_kernels(unsigned int waves)
{
	static const struct hip_program kernels[] = {
		{ "histogram, LDS whose size the launch says", histograms },
		{ "prefix sums, the last block adds up", scans },
		{ "mathematical functions", mathematics },
		{ "integers of 64 bits", long_integers },
		{ "half precision", halves },
		{ "lanes that talk to each other", lanes },
		{ "double precision", double_precision },
		{ "structures, members of all sizes", structures },
		{ "branches and loops of each lane's own", branches },
		{ "calls, recursion, a function chosen by data", function_calls },
		{ "atomics", atomics },
		{ "sorting in LDS", sorting },
		{ "a filter with constants in three dimensions", filters },
		{ "matrix cores", matrix_cores },
		{ nullptr, nullptr },
	};

	items = 64 * waves;
	return kernels;
}
