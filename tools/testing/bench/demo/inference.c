// SPDX-License-Identifier: MIT
/*
 * inference.c - the high-priority side of the demonstration: short requests that arrive on schedule
 *
 *	inference <requests> [<training's pid> <address of its queue page>]
 *
 * A request is a chain of 12 kernels of 1.67 ms, each filling the device: 20 ms of own work, as the layers of a
 * network. One arrives every 100 ms, whether or not the one before is done; its latency counts from its arrival. The
 * program sleeps in KFD's WAIT_EVENTS. Of one request in the middle it shows the ring pointers of both programs
 * before, during and after. Prints progress, then one line of results; judging is the caller's.
 *
 * Knows nothing of the scheduler: KFD priority 7, nice value as inherited.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "demo.h"

#define KERNELS		12u
#define REQUEST_NS	(20 * KFD_NS_PER_MS)
#define KERNEL_NS	(REQUEST_NS / KERNELS)
#define STEPS		2u
#define PERIOD_NS	(100 * KFD_NS_PER_MS)
#define DURING_NS	(10 * KFD_NS_PER_MS)
#define AFTER_NS	(30 * KFD_NS_PER_MS)
#define PATIENCE_NS	(60ull * 1000 * KFD_NS_PER_MS)
#define WPTR_OFFSET	56u	/* in amd_queue_t */
#define RPTR_OFFSET	128u

struct watched {
	pid_t pid;
	uintptr_t page;
};

static uint64_t peek(const struct watched *w, size_t offset)
{
	uint64_t value = 0;
	struct iovec local = { &value, sizeof(value) };
	struct iovec remote = { (void *)(w->page + offset), sizeof(value) };

	return process_vm_readv(w->pid, &local, 1, &remote, 1, 0) == sizeof(value) ? value : 0;
}

static void show_pointers(const char *when, const struct kfd_queue *q, const struct watched *w)
{
	printf("pointers %s inference=%llu/%llu", when, (unsigned long long)kfd_queue_rptr(q),
	       (unsigned long long)kfd_queue_wptr(q));
	if (w->pid)
		printf(" training=%llu/%llu", (unsigned long long)peek(w, RPTR_OFFSET),
		       (unsigned long long)peek(w, WPTR_OFFSET));
	printf("\n");
}

int main(int argc, char **argv)
{
	uint32_t requests = argc > 1 ? (uint32_t)atoi(argv[1]) : 200;
	struct watched watched = {
		.pid = argc > 3 ? atoi(argv[2]) : 0,
		.page = argc > 3 ? strtoull(argv[3], NULL, 16) : 0,
	};
	uint64_t *latency = calloc(requests, sizeof(*latency)), arrival, max = 0;
	struct kfd_tally tally = { 0 };
	uint64_t p50, p99;
	struct demo demo;
	uint32_t i, k;

	demo_open(&demo, requests * KERNELS, STEPS, KERNEL_NS / STEPS, 1);
	arrival = kfd_now_ns() + PERIOD_NS;
	for (i = 0; i < requests; i++, arrival += PERIOD_NS) {
		bool shown = i == requests / 2;

		if (kfd_now_ns() < arrival)
			kfd_sleep_until_ns(arrival);
		if (shown)
			show_pointers("before", &demo.queue, &watched);
		kfd_signal_reset(demo.done, 1);
		for (k = 0; k < KERNELS; k++)
			demo_check(kfd_work_submit(&demo.queue, &demo.work, k == KERNELS - 1 ? demo.done : NULL,
						   KFD_PACKET_BARRIER | (k == KERNELS - 1 ? 0 : KFD_PACKET_SILENT)),
				   "inference: submit", NULL);
		if (shown) {
			kfd_sleep_ns(DURING_NS);
			show_pointers("during", &demo.queue, &watched);
		}
		demo_check(kfd_signal_wait(&demo.client, demo.done, PATIENCE_NS), "inference: wait", NULL);
		latency[i] = kfd_now_ns() - arrival;
		if (latency[i] > max)
			max = latency[i];
		if (shown) {
			kfd_sleep_ns(AFTER_NS);
			show_pointers("after", &demo.queue, &watched);
		}
		if ((i + 1) % 50 == 0)
			printf("progress %u/%u requests, last %llu us\n", i + 1, requests,
			       (unsigned long long)latency[i] / KFD_NS_PER_US);
	}
	kfd_work_tally(&demo.work, &tally);
	demo_check(kfd_queue_destroy(&demo.queue), "inference: destroy", NULL);
	p50 = demo_percentile(latency, requests, 50);
	p99 = demo_percentile(latency, requests, 99);
	printf("inference done=%llu lost=%llu twice=%llu requests=%u p50_us=%llu p99_us=%llu max_us=%llu\n",
	       (unsigned long long)tally.done, (unsigned long long)tally.lost, (unsigned long long)tally.twice,
	       requests,
	       (unsigned long long)p50 / KFD_NS_PER_US, (unsigned long long)p99 / KFD_NS_PER_US,
	       (unsigned long long)max / KFD_NS_PER_US);
	return 0;
}
