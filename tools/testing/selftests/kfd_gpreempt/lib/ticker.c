// SPDX-License-Identifier: MIT
/*
 * ticker.c - a short kernel now and then, for ever: what makes others leave the device
 *
 *	ticker <period in us> <duration of the kernel in us>
 *
 * Prints "ready" when the first one is done. No test, a helper of tests.
 */
#include <stdio.h>
#include <stdlib.h>

#include "kfdlib.h"

#define LAUNCHES	1000u
#define ROUNDS		1000u

static void must(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "ticker: %s: error %d\n", what, -err);
	exit(1);
}

int main(int argc, char **argv)
{
	uint64_t period_ns = (argc > 1 ? (uint64_t)atoi(argv[1]) : 300) * KFD_NS_PER_US;
	uint64_t step_ns = (argc > 2 ? (uint64_t)atoi(argv[2]) : 20) * KFD_NS_PER_US, next;
	struct kfd_buffer memory, page;
	struct kfd_client client;
	struct kfd_queue queue;
	struct kfd_work work;
	struct kfd_signal *done;
	uint32_t i, round;

	must(kfd_client_open(&client), "open");
	must(kfd_buffer_userptr(&client, kfd_work_bytes(LAUNCHES, 1, 1), &memory), "memory");
	must(kfd_buffer_userptr(&client, KFD_PAGE_BYTES, &page), "signal");
	must(kfd_queue_create(&client, &queue, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL, 256), "queue");
	done = page.ptr;
	must(kfd_signal_init_event(&client, done, 0), "event");
	next = kfd_now_ns();
	for (round = 0; round < ROUNDS; round++) {
		kfd_work_init(&work, memory.ptr, LAUNCHES, 1, 1, step_ns);
		for (i = 0; i < LAUNCHES; i++) {
			kfd_signal_reset(done, 1);
			must(kfd_work_submit(&queue, &work, done, KFD_PACKET_BARRIER), "submit");
			must(kfd_signal_wait(&client, done, 1000 * KFD_NS_PER_MS), "wait");
			if (!round && !i) {
				printf("ready\n");
				fflush(stdout);
			}
			next += period_ns;
			if (kfd_now_ns() > next)
				next = kfd_now_ns() + period_ns;
			kfd_sleep_until_ns(next);
		}
	}
	return 0;
}
