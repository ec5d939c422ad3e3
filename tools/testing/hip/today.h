/* SPDX-License-Identifier: MIT */
/*
 * today.h - what the programs with ROCm's libraries share
 *
 * Each line on their standard input is a round: all tests once. A test prints
 *
 *	ok - NAME			or "not ok": what a CPU, or a library's own CPU side, makes of the same
 *	sum SUM NAME			a checksum of all bytes of its results
 *
 * and a round ends with "round done=N lost=N twice=N": of what tests count, as pieces of work that were done once, too seldom and too often.
 * Nothing here knows of the scheduler or of the virtual GPU.
 */
#ifndef TODAY_H
#define TODAY_H

#include <cstdint>
#include <cstdio>
#include <exception>
#include <vector>

#include "../../vgpu/programs/kernels.h"

struct tally {
	uint64_t done, lost, twice;
	uint64_t sum;	/* of a test's results: FNV-1a */
};

extern struct tally tally;

template <typename T> static void results(const std::vector<T> &values)
{
	const unsigned char *bytes = (const unsigned char *)values.data();
	size_t i;

	for (i = 0; i < values.size() * sizeof(T); i++)
		tally.sum = (tally.sum ^ bytes[i]) * 1099511628211u;
}

/* @seen times something was done that should have been done @wanted times */
static inline void count(uint64_t seen, uint64_t wanted)
{
	tally.done += seen;
	tally.lost += seen < wanted ? wanted - seen : 0;
	tally.twice += seen > wanted ? seen - wanted : 0;
}

/* Compares as many, says where they differ, and takes what came from the device into the sum */
template <typename T> static bool same(const std::vector<T> &got, const std::vector<T> &want)
{
	size_t i, first = 0, wrong = 0;

	results(got);
	for (i = got.size(); i-- > 0;)
		if (got[i] != want[i]) {
			first = i;
			wrong++;
		}
	if (wrong)
		printf("# %zu of %zu elements are wrong, first %zu: %g instead of %g\n", wrong, got.size(), first, (double)got[first],
		       (double)want[first]);
	return !wrong;
}

static inline unsigned int number(unsigned int i)
{
	i = (i ^ i >> 16) * 2246822519u;
	return i ^ i >> 13;
}

/* The tests of a program of which @part is in the name; the last one has none */
int today(const struct hip_program *tests, const char *part);

#endif /* TODAY_H */
