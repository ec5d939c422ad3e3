/* SPDX-License-Identifier: MIT */
/* demo.h - what the two programs of the demonstration share */
#ifndef DEMO_H
#define DEMO_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "kfdlib.h"
#include "percentile.h"

static inline void demo_check(int err, const char *what, const char *why)
{
	if (!err)
		return;
	fprintf(stderr, "%s: error %d %s\n", what, -err, why ? why : "");
	exit(1);
}

/**
 * struct demo - a program's way to the device
 * @client: its connection
 * @queue: its queue
 * @work: grids that fill the device, one a launch
 * @done: signals with events, at 0
 */
struct demo {
	struct kfd_client client;
	struct kfd_queue queue;
	struct kfd_work work;
	struct kfd_signal *done;
};

static inline void demo_open(struct demo *d, uint32_t launches, uint32_t steps, uint64_t step_ns, uint32_t signals)
{
	struct kfd_buffer memory, page;
	uint32_t slots, i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	demo_check(kfd_client_open(&d->client), "open", d->client.why);
	slots = kfd_client_wave_slots(&d->client);
	demo_check(kfd_buffer_userptr(&d->client, kfd_work_bytes(launches, slots, steps), &memory), "memory", NULL);
	demo_check(kfd_buffer_userptr(&d->client, KFD_PAGE_BYTES, &page), "signals", NULL);
	demo_check(kfd_queue_create(&d->client, &d->queue, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL, 256), "queue", NULL);
	kfd_work_init(&d->work, memory.ptr, launches, slots, steps, step_ns);
	d->done = page.ptr;
	for (i = 0; i < signals; i++)
		demo_check(kfd_signal_init_event(&d->client, &d->done[i], 0), "event", NULL);
}

#endif /* DEMO_H */
