// SPDX-License-Identifier: MIT
/*
 * training.c - the low-priority side of the demonstration: endless grids that fill every wave slot of the device
 *
 *	training <seconds-at-most>
 *
 * A grid has as many waves as the device has slots; each wave works 5 ms. An iteration is 8 grids in order (40 ms of
 * device time); two iterations are in flight, as a framework that runs ahead keeps them. Prints "ready <pid>
 * <address of its queue page>" once the first iteration is done; on SIGTERM finishes what it submitted, checks every
 * work item and prints one line of results.
 *
 * Knows nothing of the scheduler: KFD priority 7, nice value as inherited.
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "demo.h"

#define GRID_NS		(5 * KFD_NS_PER_MS)
#define STEPS		5u	/* of 1 ms: five items per wave and grid */
#define GRIDS		8u	/* per iteration */
#define IN_FLIGHT	2u
#define PATIENCE_NS	(60ull * 1000 * KFD_NS_PER_MS)

static volatile sig_atomic_t stop;

static void on_term(int sig)
{
	stop = 1;
}

static void submit_iteration(struct kfd_queue *q, struct kfd_work *w, struct kfd_signal *done)
{
	uint32_t i;

	kfd_signal_reset(done, 1);
	for (i = 0; i < GRIDS; i++)
		demo_check(kfd_work_submit(q, w, i == GRIDS - 1 ? done : NULL,
					   KFD_PACKET_BARRIER | (i == GRIDS - 1 ? 0 : KFD_PACKET_SILENT)),
			   "training: submit", NULL);
}

int main(int argc, char **argv)
{
	uint32_t seconds = argc > 1 ? (uint32_t)atoi(argv[1]) : 60;
	uint32_t iterations = (uint32_t)(seconds * 1000ull * KFD_NS_PER_MS / (GRIDS * GRID_NS)) + IN_FLIGHT;
	uint64_t *latency = calloc(iterations, sizeof(*latency)), submitted[IN_FLIGHT] = { 0 }, start, end;
	struct sigaction action = { .sa_handler = on_term, .sa_flags = SA_RESTART };
	struct kfd_tally tally = { 0 };
	uint32_t begun = 0, ended = 0;
	struct demo demo;

	sigaction(SIGTERM, &action, NULL);
	demo_open(&demo, iterations * GRIDS, STEPS, GRID_NS / STEPS, IN_FLIGHT);
	start = kfd_now_ns();
	while (!stop || ended < begun) {
		while (!stop && begun < iterations && begun - ended < IN_FLIGHT) {
			submitted[begun % IN_FLIGHT] = kfd_now_ns();
			submit_iteration(&demo.queue, &demo.work, &demo.done[begun % IN_FLIGHT]);
			begun++;
		}
		if (ended == begun)
			break;		/* out of room: the caller asked for too few seconds */
		demo_check(kfd_signal_wait(&demo.client, &demo.done[ended % IN_FLIGHT], PATIENCE_NS), "training: wait", NULL);
		latency[ended] = kfd_now_ns() - submitted[ended % IN_FLIGHT];
		ended++;
		if (ended == 1)
			printf("ready %d %llx\n", getpid(), (unsigned long long)(uintptr_t)demo.queue.page.ptr);
	}
	end = kfd_now_ns();
	kfd_work_tally(&demo.work, &tally);
	demo_check(kfd_queue_destroy(&demo.queue), "training: destroy", NULL);
	printf("training done=%llu lost=%llu twice=%llu elapsed_us=%llu iterations=%u p50_us=%llu\n",
	       (unsigned long long)tally.done, (unsigned long long)tally.lost, (unsigned long long)tally.twice,
	       (unsigned long long)(end - start) / KFD_NS_PER_US, ended,
	       (unsigned long long)demo_percentile(latency, ended, 50) / KFD_NS_PER_US);
	return stop ? 0 : 1;
}
