/* SPDX-License-Identifier: MIT */
/* count_up.h - a kernel whose work can be counted, for the HIP programs that compete with each other */
#ifndef COUNT_UP_H
#define COUNT_UP_H

#include <chrono>
#include <cstdio>
#include <vector>

#include <hip/hip_runtime.h>

#define HIP(call)	do { hipError_t e_ = (call); if (e_ != hipSuccess) { \
				printf("%s: %s\n", #call, hipGetErrorString(e_)); fflush(stdout); return 1; } } while (0)

#define BLOCK	256

/* A step depends on the one before: what is lost, or done twice, shows in the counters. */
static __global__ void count_up(unsigned int *counters, unsigned int rounds)
{
	unsigned int i = blockIdx.x * blockDim.x + threadIdx.x, value = counters[i], r;

	for (r = 0; r < rounds; r++)
		value = value * 3 + r + i;
	counters[i] = value;
}

/* What @rounds steps make of a counter, as value * factor + constant + i * slope */
struct steps {
	unsigned int factor = 1, constant = 0, slope = 0;

	explicit steps(unsigned int rounds)
	{
		for (unsigned int r = 0; r < rounds; r++) {
			factor *= 3;
			constant = constant * 3 + r;
			slope = slope * 3 + 1;
		}
	}
};

/* What @kernels launches make of the counters */
static inline void count(std::vector<unsigned int> &want, unsigned int rounds, unsigned int kernels)
{
	const steps one(rounds);

	for (unsigned int i = 0; i < want.size(); i++)
		for (unsigned int k = 0; k < kernels; k++)
			want[i] = want[i] * one.factor + one.constant + i * one.slope;
}

static inline double now_us()
{
	return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

#endif /* COUNT_UP_H */
