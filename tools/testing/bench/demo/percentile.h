/* SPDX-License-Identifier: MIT */
/* percentile.h - how latencies are summed up */
#ifndef DEMO_PERCENTILE_H
#define DEMO_PERCENTILE_H

#include <stdint.h>
#include <stdlib.h>

static inline int demo_compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

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

#endif /* DEMO_PERCENTILE_H */
