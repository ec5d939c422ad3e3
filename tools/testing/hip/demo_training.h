/* SPDX-License-Identifier: MIT */
/* demo_training.h - what the training programs of the demonstration share: iterations from one line of standard input to the next one */
#ifndef DEMO_TRAINING_H
#define DEMO_TRAINING_H

#include <poll.h>

#include "demo_hip.h"

#define IN_FLIGHT	2u

/* What a while of training was */
struct trained {
	unsigned int iterations;
	uint64_t elapsed_us, p50_us;
};

/*
 * Iterations until there is something on standard input, IN_FLIGHT at a time, and what was submitted to its end. @submit takes an iteration's number
 * and records event[number % IN_FLIGHT] behind it.
 */
template <typename SUBMIT> static trained train_until_told(hipEvent_t *event, SUBMIT submit)
{
	demo_clock::time_point submitted[IN_FLIGHT], start = demo_clock::now();
	struct pollfd input = { 0, POLLIN, 0 };
	std::vector<uint64_t> latency;
	unsigned int begun = 0, ended = 0;
	bool stop = false;

	while (!stop || ended < begun) {
		while (!stop && begun - ended < IN_FLIGHT) {
			submitted[begun % IN_FLIGHT] = demo_clock::now();
			submit(begun++);
		}
		HIP(hipEventSynchronize(event[ended % IN_FLIGHT]));
		latency.push_back(us_since(submitted[ended % IN_FLIGHT]));
		if (++ended == 1)
			printf("going\n");
		stop = stop || poll(&input, 1, 0);
	}
	return { ended, us_since(start), demo_percentile(latency.data(), latency.size(), 50) };
}

/* The end of the line "training ..." */
static inline void print_trained(const trained &t, unsigned int wrong)
{
	printf(" wrong=%u elapsed_us=%llu iterations=%u p50_us=%llu\n", wrong, (unsigned long long)t.elapsed_us, t.iterations,
	       (unsigned long long)t.p50_us);
}

/* A line from the standard input, byte by byte: poll() is to see all that is left. Return: false at its end. */
static inline bool line()
{
	char c;

	while (read(0, &c, 1) == 1)
		if (c == '\n')
			return true;
	return false;
}

/* Prints "ready". A line on standard input is the beginning of a while, the next one its end, and so on; it ends with that input. */
template <typename WHILE> static void train_when_told(WHILE train_for_a_while)
{
	printf("ready\n");
	while (line()) {
		train_for_a_while();
		line();
	}
}

#endif /* DEMO_TRAINING_H */
