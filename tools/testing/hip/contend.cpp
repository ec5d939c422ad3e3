// SPDX-License-Identifier: MIT
/*
 * contend.cpp - two HIP programs that want the same device, for the hardware profile of the kselftests
 *
 *	hip_contend hog MS		kernels that fill the device, of about MS milliseconds each, until SIGTERM; then whether all of
 *					them were done exactly once, by what they counted: `hog kernels=N ms=M right|WRONG'
 *	hip_contend requests	for each number N on stdin N small kernels, one after the other; a line for each:
 *					`requests n=N min_us=.. p50_us=.. p99_us=.. max_us=..'
 *	hip_contend tick PERIOD_US	small kernels for ever: what makes others leave the device
 *
 * Nothing here knows of the scheduler or of the virtual GPU.
 */
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <unistd.h>

#include "count_up.h"

static volatile std::sig_atomic_t ended;

static void end(int)
{
	ended = 1;
}

/* So many kernels of the hog are in its queue. */
#define AHEAD	3

static int hog(unsigned int ms)
{
	std::vector<unsigned int> want, out;
	unsigned int n, rounds = 1, kernels;
	hipEvent_t ended_one[AHEAD];
	unsigned int *counters;
	hipDeviceProp_t device;
	double took_us, began_us, total_us;

	signal(SIGTERM, end);
	HIP(hipGetDeviceProperties(&device, 0));
	n = (unsigned int)(device.multiProcessorCount * std::max(1, device.maxThreadsPerMultiProcessor / BLOCK)) * BLOCK;
	want.assign(n, 0);
	out.resize(n);
	HIP(hipMalloc((void **)&counters, n * 4));
	HIP(hipMemset(counters, 0, n * 4));
	HIP(hipDeviceSynchronize());

	/* The first kernel brings the code to the device; from then on twice as many rounds until it is a quarter, then what is missing. */
	for (;;) {
		took_us = now_us();
		count_up<<<n / BLOCK, BLOCK>>>(counters, rounds);
		HIP(hipGetLastError());
		HIP(hipDeviceSynchronize());
		took_us = now_us() - took_us;
		count(want, rounds, 1);
		if (took_us >= 250.0 * ms || rounds >= 1u << 30)
			break;
		rounds *= 2;
	}
	rounds = std::max(1u, (unsigned int)(rounds * (1000.0 * ms / took_us)));
	printf("hog ready threads=%u rounds=%u\n", n, rounds);
	fflush(stdout);

	/* One behind the other, so that the device always has work, whatever this program's CPU does. */
	for (auto &event : ended_one)
		HIP(hipEventCreateWithFlags(&event, hipEventBlockingSync));
	began_us = now_us();
	for (kernels = 0; !ended; kernels++) {
		count_up<<<n / BLOCK, BLOCK>>>(counters, rounds);
		HIP(hipGetLastError());
		HIP(hipEventRecord(ended_one[kernels % AHEAD], 0));
		if (kernels + 1 >= AHEAD)
			HIP(hipEventSynchronize(ended_one[(kernels + 1) % AHEAD]));
	}
	HIP(hipDeviceSynchronize());
	total_us = now_us() - began_us;
	count(want, rounds, kernels);
	HIP(hipMemcpy(out.data(), counters, n * 4, hipMemcpyDeviceToHost));
	printf("hog kernels=%u ms=%.3f %s\n", kernels, kernels ? total_us / kernels / 1000 : 0, out == want ? "right" : "WRONG");
	return out == want ? 0 : 1;
}

static int requests()
{
	std::vector<double> us;
	unsigned int *counters;
	char line[32];

	HIP(hipMalloc((void **)&counters, BLOCK * 4));
	HIP(hipMemset(counters, 0, BLOCK * 4));
	/* The first ones load code and make the queue. */
	for (int i = 0; i < 3; i++) {
		count_up<<<1, BLOCK>>>(counters, 1);
		HIP(hipDeviceSynchronize());
	}
	printf("requests ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		unsigned int n = std::max(1u, (unsigned int)strtoul(line, nullptr, 10));

		us.clear();
		while (us.size() < n) {
			double began_us = now_us();

			count_up<<<1, BLOCK>>>(counters, 10);
			HIP(hipGetLastError());
			HIP(hipDeviceSynchronize());
			us.push_back(now_us() - began_us);
			/* As between two requests of a service: the other one gets the device back in between. */
			usleep(2000);
		}
		std::sort(us.begin(), us.end());
		printf("requests n=%u min_us=%.0f p50_us=%.0f p99_us=%.0f max_us=%.0f\n", n, us.front(), us[n / 2],
		       us[std::min(n - 1, n * 99 / 100)], us.back());
		fflush(stdout);
	}
	return 0;
}

static int tick(unsigned int period_us)
{
	unsigned int *counters;

	HIP(hipMalloc((void **)&counters, BLOCK * 4));
	for (;;) {
		count_up<<<1, BLOCK>>>(counters, 1);
		HIP(hipDeviceSynchronize());
		usleep(period_us);
	}
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "tick"))
		return tick((unsigned int)atoi(argv[2]));
	if (argc == 3 && !strcmp(argv[1], "hog"))
		return hog((unsigned int)atoi(argv[2]));
	if (argc == 2 && !strcmp(argv[1], "requests"))
		return requests();
	fprintf(stderr, "usage: hip_contend hog MS | requests | tick PERIOD_US\n");
	return 2;
}
