// SPDX-License-Identifier: MIT
/*
 * streams.cpp - two HIP streams of one process: does work of the one of high priority wait for a kernel of the normal one?
 *
 *	hip_streams MS		a kernel of MS milliseconds and more that fills the device, and a small one after it in the other stream. Says how
 *				long the small one took, in percent of the other one's time, and whether all was done exactly once:
 *				`urgent=N% right|WRONG'
 *
 * Nothing here knows of the scheduler or of the virtual GPU.
 */
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <unistd.h>

#include "count_up.h"

/* As much as a CU of the gfx9 family takes at a time, or more: 40 waves of 64 */
#define BLOCKS_PER_CU	(40 * 64 / BLOCK)

static int launch(hipStream_t stream, unsigned int *counters, const std::vector<unsigned int> &want, unsigned int rounds)
{
	count_up<<<want.size() / BLOCK, BLOCK, 0, stream>>>(counters, rounds);
	HIP(hipGetLastError());
	return 0;
}

static int right(const unsigned int *counters, const std::vector<unsigned int> &want, bool *is)
{
	std::vector<unsigned int> out(want.size());

	HIP(hipMemcpy(out.data(), counters, out.size() * 4, hipMemcpyDeviceToHost));
	*is = out == want;
	return 0;
}

int main(int argc, char **argv)
{
	double ms = argc == 2 ? atof(argv[1]) : 0, took_us, low_us, high_us;
	std::vector<unsigned int> low_want, high_want(BLOCK);
	unsigned int *low_counters, *high_counters, rounds = 4;
	bool low_right, high_right;
	hipStream_t low, high;
	hipDeviceProp_t device;
	int least, greatest;

	if (ms <= 0) {
		fprintf(stderr, "Usage: hip_streams MS\n");
		return 2;
	}
	HIP(hipGetDeviceProperties(&device, 0));
	low_want.assign((size_t)device.multiProcessorCount * BLOCKS_PER_CU * BLOCK, 0);
	HIP(hipDeviceGetStreamPriorityRange(&least, &greatest));
	HIP(hipStreamCreateWithFlags(&low, hipStreamNonBlocking));
	HIP(hipStreamCreateWithPriority(&high, hipStreamNonBlocking, greatest));
	HIP(hipMalloc((void **)&low_counters, low_want.size() * 4));
	HIP(hipMalloc((void **)&high_counters, high_want.size() * 4));
	HIP(hipMemset(low_counters, 0, low_want.size() * 4));
	HIP(hipMemset(high_counters, 0, high_want.size() * 4));
	HIP(hipDeviceSynchronize());
	/* The first kernels bring the code to the device, and make the queues. */
	if (launch(high, high_counters, high_want, 1) || launch(low, low_counters, low_want, 1))
		return 1;
	HIP(hipDeviceSynchronize());
	count(high_want, 1, 1);
	count(low_want, 1, 1);
	do {
		rounds *= 2;
		took_us = now_us();
		if (launch(low, low_counters, low_want, rounds))
			return 1;
		HIP(hipStreamSynchronize(low));
		took_us = now_us() - took_us;
		count(low_want, rounds, 1);
	} while (took_us < 1000 * ms);

	low_us = now_us();
	if (launch(low, low_counters, low_want, 2 * rounds))
		return 1;
	usleep((useconds_t)(took_us / 4));
	high_us = now_us();
	if (launch(high, high_counters, high_want, 10))
		return 1;
	HIP(hipStreamSynchronize(high));
	high_us = now_us() - high_us;
	HIP(hipDeviceSynchronize());
	low_us = now_us() - low_us;
	count(low_want, 2 * rounds, 1);
	count(high_want, 10, 1);
	if (right(low_counters, low_want, &low_right) || right(high_counters, high_want, &high_right))
		return 1;
	printf("urgent=%.0f%% %s\n", 100 * high_us / low_us, low_right && high_right ? "right" : "WRONG");
	return low_right && high_right ? 0 : 1;
}
