// SPDX-License-Identifier: MIT
/*
 * library_threads_test.c - what the library loaded into programs remembers of their queues, with several threads, for ThreadSanitizer
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>

#include "seen.h"
#include "tap.h"

const bool tap_forks = true;

#define NR_THREADS	4
#define NR_QUEUES	200U

static bool wrong;

void tap_reset(void)
{
}

/* Each thread has queues of its own, and looks at everybody's. */
static void *use_queues(void *number)
{
	unsigned int first = (unsigned int)(unsigned long)number * NR_QUEUES, i, nr;
	struct gpreempt_seen seen[16];

	for (i = 0; i < NR_QUEUES; i++) {
		uint64_t mark = gpreempt_seen_mark();

		seen_add(1000, first + i, (uint64_t)(first + i) << 12, 7);
		seen_priority(first + i, 3);
		seen_cu_mask(first + i);
		nr = gpreempt_seen_queues(mark, gettid(), seen, 16);
		if (nr != 1 || seen[0].queue_id != first + i || seen[0].kfd_priority != 3 || !(seen[0].flags & GPREEMPT_SEEN_CU_MASK) ||
		    seen[0].ring_base != (uint64_t)seen[0].queue_id << 12)
			__atomic_store_n(&wrong, true, __ATOMIC_RELAXED);
		if (i % 2)
			seen_remove(first + i);
	}
	return NULL;
}

TEST(seen_queues, "queues that several threads make and end are each what they are, and all that are left are listed")
{
	struct gpreempt_seen seen[NR_THREADS * NR_QUEUES];
	pthread_t threads[NR_THREADS];
	unsigned long i;

	for (i = 0; i < NR_THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, use_queues, (void *)i));
	for (i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	CHECK(!wrong);
	CHECK_EQ(gpreempt_seen_queues(0, 0, seen, NR_THREADS * NR_QUEUES), NR_THREADS * NR_QUEUES / 2);
}
