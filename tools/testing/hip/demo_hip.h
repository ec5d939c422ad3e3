/* SPDX-License-Identifier: MIT */
/* demo_hip.h - what the HIP programs of the demonstration share */
#ifndef DEMO_HIP_H
#define DEMO_HIP_H

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include <hip/hip_runtime.h>

#include "../bench/demo/percentile.h"

#define HIP(call)	do { hipError_t e_ = (call); if (e_ != hipSuccess) { \
				fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(e_)); exit(1); } } while (0)

#define BLOCK	256

typedef std::chrono::steady_clock demo_clock;

static inline uint64_t us_since(demo_clock::time_point begin)
{
	return (uint64_t)std::chrono::duration_cast<std::chrono::microseconds>(demo_clock::now() - begin).count();
}

/* Each work-item counts its launches; what a result cannot show, a launch that was done again from its beginning, shows here */
template <typename NUMBER> static void print_tally(const NUMBER *runs, size_t work_items, uint64_t launches)
{
	uint64_t done = 0, lost = 0, twice = 0, times;
	std::vector<NUMBER> seen(work_items);
	size_t i;

	HIP(hipMemcpy(seen.data(), runs, work_items * sizeof(*runs), hipMemcpyDeviceToHost));
	for (i = 0; i < work_items; i++) {
		times = (uint64_t)seen[i];
		done += times;
		lost += times < launches ? launches - times : 0;
		twice += times > launches ? times - launches : 0;
	}
	printf("done=%llu lost=%llu twice=%llu", (unsigned long long)done, (unsigned long long)lost, (unsigned long long)twice);
}

#endif /* DEMO_HIP_H */
