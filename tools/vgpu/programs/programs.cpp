// SPDX-License-Identifier: MIT
/*
 * programs.cpp - HIP programs as they are usually written, these and those of kernels.cpp, on
 * Debian's unmodified HIP and ROCr
 *
 *	programs LABEL...
 *
 * Runs each of them, compares with the CPU, and prints TAP lines without numbers and plan, LABEL
 * behind their names; then the same for the next label, once it is told so by a line on its
 * standard input.
 *
 * Nothing here knows of the virtual GPU.
 */
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <vector>

#include <hip/hip_runtime.h>

#include "kernels.h"

__global__ void vector_add(float *out, const float *x, const float *y, unsigned int n)
{
	unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = x[i] + y[i];
}

/* Counts what it does, so that nothing can be lost or done twice unnoticed */
__global__ void count_up(unsigned int *counters, unsigned int rounds)
{
	unsigned int i = blockIdx.x * blockDim.x + threadIdx.x, r;

	for (r = 0; r < rounds; r++)
		counters[i] = counters[i] * 3 + r + i;
}

#define BLOCK	256

__global__ void reduce(unsigned int *sums, const unsigned int *in)
{
	__shared__ unsigned int part[BLOCK];
	unsigned int l = threadIdx.x, n;

	part[l] = in[blockIdx.x * BLOCK + l];
	__syncthreads();
	for (n = BLOCK / 2; n; n /= 2) {
		if (l < n)
			part[l] += part[l + n];
		__syncthreads();
	}
	if (!l)
		sums[blockIdx.x] = part[0];
}

#define TILE	16

__global__ void matrix_multiply(float *out, const float *x, const float *y, unsigned int n)
{
	__shared__ float a[TILE][TILE], b[TILE][TILE];
	unsigned int lx = threadIdx.x, ly = threadIdx.y, gx = blockIdx.x * TILE + lx, gy = blockIdx.y * TILE + ly, t, k;
	float sum = 0;

	for (t = 0; t < n; t += TILE) {
		a[ly][lx] = x[gy * n + t + lx];
		b[ly][lx] = y[(t + ly) * n + gx];
		__syncthreads();
		for (k = 0; k < TILE; k++)
			sum = fmaf(a[ly][k], b[k][lx], sum);
		__syncthreads();
	}
	out[gy * n + gx] = sum;
}

static bool copies()
{
	const size_t bytes = 9 * 1000;
	std::vector<unsigned char> there(bytes);
	size_t i;

	for (i = 0; i < bytes; i++)
		there[i] = (unsigned char)(i * 7 + i / 251);
	on_device<unsigned char> a(there), b(bytes);
	HIP(hipMemcpy(b.p, a.p, bytes, hipMemcpyDeviceToDevice));
	return b.back() == there;
}

static bool vectors()
{
	const unsigned int n = 700;
	std::vector<float> x(n), y(n), want(n);
	unsigned int i;

	for (i = 0; i < n; i++) {
		x[i] = (float)i * 0.37f;
		y[i] = 1e6f / (float)(i + 1);
		want[i] = x[i] + y[i];
	}
	on_device<float> dx(x), dy(y), out(n);
	vector_add<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(out.p, dx.p, dy.p, n);
	return out.back() == want;
}

static bool sums()
{
	const unsigned int blocks = 3, n = blocks * BLOCK;
	std::vector<unsigned int> in(n), want(blocks);
	unsigned int i;

	for (i = 0; i < n; i++) {
		in[i] = i * 2654435761u;
		want[i / BLOCK] += in[i];
	}
	on_device<unsigned int> din(in), out(blocks);
	reduce<<<blocks, BLOCK>>>(out.p, din.p);
	return out.back() == want;
}

static bool matrices()
{
	const unsigned int n = 32;
	std::vector<float> x(n * n), y(n * n), want(n * n);
	unsigned int i, j, k;

	for (i = 0; i < n * n; i++) {
		x[i] = (float)(i * 7 % 1000) / 7;
		y[i] = (float)(i * 13 % 1000) / 11 - 40;
	}
	for (i = 0; i < n; i++)
		for (j = 0; j < n; j++)
			for (k = 0; k < n; k++)
				want[i * n + j] = fmaf(x[i * n + k], y[k * n + j], want[i * n + j]);
	on_device<float> dx(x), dy(y), out(n * n);
	matrix_multiply<<<dim3(n / TILE, n / TILE), dim3(TILE, TILE)>>>(out.p, dx.p, dy.p, n);
	return out.back() == want;
}

/* Two streams, the second waits for the first one's event in the middle */
static bool streams()
{
	const unsigned int n = 512, rounds = 80;
	on_device<unsigned int> counters(2 * n);
	std::vector<unsigned int> want(2 * n);
	unsigned int i, s, r;
	hipStream_t stream[2];
	hipEvent_t event;

	HIP(hipEventCreate(&event));
	for (s = 0; s < 2; s++)
		HIP(hipStreamCreate(&stream[s]));
	count_up<<<n / BLOCK, BLOCK, 0, stream[0]>>>(counters.p, rounds);
	count_up<<<n / BLOCK, BLOCK, 0, stream[1]>>>(counters.p + n, rounds);
	HIP(hipEventRecord(event, stream[0]));
	HIP(hipStreamWaitEvent(stream[1], event, 0));
	count_up<<<n / BLOCK, BLOCK, 0, stream[1]>>>(counters.p, rounds);
	for (s = 0; s < 2; s++)
		HIP(hipStreamSynchronize(stream[s]));
	for (i = 0; i < 2 * n; i++)
		for (r = 0; r < (i < n ? 2 : 1) * rounds; r++)
			want[i] = want[i] * 3 + r % rounds + i % n;
	for (s = 0; s < 2; s++)
		HIP(hipStreamDestroy(stream[s]));
	HIP(hipEventDestroy(event));
	return counters.back() == want;
}

/* Times of the device that events have: in order, adding up, and within what the CPU saw */
static bool times()
{
	const unsigned int n = 512;
	std::chrono::steady_clock::time_point begin;
	on_device<unsigned int> counters(n);
	float first, second, both, here;
	hipEvent_t event[3];
	unsigned int i;

	for (i = 0; i < 3; i++)
		HIP(hipEventCreate(&event[i]));
	HIP(hipDeviceSynchronize());
	begin = std::chrono::steady_clock::now();
	HIP(hipEventRecord(event[0], NULL));
	count_up<<<n / BLOCK, BLOCK>>>(counters.p, 20);
	HIP(hipEventRecord(event[1], NULL));
	count_up<<<n / BLOCK, BLOCK>>>(counters.p, 60);
	HIP(hipEventRecord(event[2], NULL));
	HIP(hipEventSynchronize(event[2]));
	here = std::chrono::duration<float, std::milli>(std::chrono::steady_clock::now() - begin).count();
	HIP(hipEventElapsedTime(&first, event[0], event[1]));
	HIP(hipEventElapsedTime(&second, event[1], event[2]));
	HIP(hipEventElapsedTime(&both, event[0], event[2]));
	for (i = 0; i < 3; i++)
		HIP(hipEventDestroy(event[i]));
	printf("# events: %.3f ms and %.3f ms, together %.3f ms; on the CPU %.3f ms\n", first, second, both, here);
	return first > 0 && second > 0 && fabsf(first + second - both) < 0.001f && both <= here;
}

static int check(const char *label)
{
	static const struct hip_program programs[] = {
		{ "copies both ways", copies },
		{ "vector add", vectors },
		{ "reduction with LDS and barriers", sums },
		{ "matrix multiply", matrices },
		{ "two streams and an event", streams },
		{ "times of events", times },
		{ nullptr, nullptr },
	};
	int failed = 0;

	for (const struct hip_program *p : { programs, hip_kernels(1) })
		for (; p->name; p++) {
			bool good = false;

			try {
				good = p->run();
			} catch (const std::exception &e) {
				printf("# %s\n", e.what());
			}
			printf("%sok - %s, %s\n", good ? "" : "not ", p->name, label);
			failed += !good;
		}
	return failed;
}

int main(int argc, char **argv)
{
	int i, failed = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 2) {
		fprintf(stderr, "usage: programs LABEL...\n");
		return 2;
	}
	for (i = 1; i < argc; i++) {
		if (i > 1 && getchar() != '\n')
			return 2;
		failed += check(argv[i]);
		printf("done %d\n", i);
	}
	return failed ? 1 : 0;
}
