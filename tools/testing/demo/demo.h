/* SPDX-License-Identifier: MIT */
/*
 * demo.h - what the two programs of the demonstration share
 */
#ifndef DEMO_H
#define DEMO_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "kfdlib.h"

static inline void demo_check(int err, const char *what, const char *why)
{
	if (!err)
		return;
	fprintf(stderr, "%s: error %d %s\n", what, -err, why ? why : "");
	exit(1);
}

static int demo_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Nearest rank; sorts @v. */
static inline uint64_t demo_percentile(uint64_t *v, size_t n, unsigned int percent)
{
	size_t rank;

	if (!n)
		return 0;
	qsort(v, n, sizeof(*v), demo_compare);
	rank = (n * percent + 99) / 100;
	return v[rank ? rank - 1 : 0];
}

#endif /* DEMO_H */
