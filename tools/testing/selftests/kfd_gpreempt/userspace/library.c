// SPDX-License-Identifier: MIT
/*
 * library.c - libgpreempt where it is more than a command of the device: one handle for many threads
 *
 * Needs the scheduler and, for work on the device, the virtual GPU.
 */
#define _GNU_SOURCE
#include <pthread.h>

#include "kselftest_harness.h"

#include "outside.h"

OUTSIDE_FIXTURE(library)

static int find(struct gpreempt *g, const struct actor *a, struct gpreempt_queue_info *queue)
{
	return gpreempt_find_queue(g, a->pid, (uintptr_t)a->queue[0].ring.ptr, queue);
}

#define ROUNDS	30

/**
 * struct caller - a thread
 * @thread: the thread
 * @g: the handle, everybody's
 * @queue: the queue that it is about
 * @call: one round; 0 or a negative errno
 * @error: the first error
 */
struct caller {
	pthread_t thread;
	struct gpreempt *g;
	struct gpreempt_queue_info queue;
	int (*call)(struct gpreempt *g, const struct gpreempt_queue_info *queue);
	int error;
};

static int hold(struct gpreempt *g, const struct gpreempt_queue_info *queue)
{
	struct gpreempt_target target = gpreempt_target_queue(queue->pid, queue->gpu_id, queue->queue_id);
	struct gpreempt_queue_info *seen;
	int nr, error = gpreempt_preempt(g, &target, 0, 0);

	if (error < 0)
		return error;
	/* Nobody else lets this one go. */
	nr = gpreempt_list_queues(g, &target, &seen);
	error = nr < 0 ? nr : nr != 1 || !(seen[0].flags & GPREEMPT_QUEUE_HELD) ? -EPROTO : 0;
	free(seen);
	nr = gpreempt_resume(g, &target);
	return error ? error : nr < 0 ? nr : 0;
}

static int set(struct gpreempt *g, const struct gpreempt_queue_info *queue)
{
	struct gpreempt_target target = gpreempt_target_process(queue->pid, 0);
	int error = gpreempt_set_priority(g, &target, 3);

	return error ? error : gpreempt_clear_priority(g, &target);
}

static int look(struct gpreempt *g, const struct gpreempt_queue_info *queue)
{
	struct gpreempt_target all = gpreempt_target_all();
	struct gpreempt_queue_info *queues, found;
	struct gpreempt_node_info *nodes;
	int nr = gpreempt_list_nodes(g, NULL, &nodes);

	free(nodes);
	if (nr < 1)
		return nr < 0 ? nr : -ENODEV;
	nr = gpreempt_list_queues(g, &all, &queues);
	free(queues);
	if (nr != 2)
		return nr < 0 ? nr : -EPROTO;
	return gpreempt_find_queue(g, queue->pid, queue->ring_base, &found);
}

static void *call(void *arg)
{
	struct caller *c = arg;
	int i;

	for (i = 0; i < ROUNDS && !c->error; i++)
		c->error = c->call(c->g, &c->queue);
	return NULL;
}

TEST_F(library, threads_share_a_handle)
{
	static int (*const calls[])(struct gpreempt *g, const struct gpreempt_queue_info *queue) = { hold, hold, set, set, look, look };
	struct actor *a[2] = {
		worker(_metadata, 0, 1, self->slots / 2, 100, 5 * MS),
		worker(_metadata, 0, 1, self->slots / 2, 100, 5 * MS),
	};
	struct caller callers[6] = { 0 };
	struct gpreempt_queue_info queue;
	int i;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, launch_begins(a[i]));
	}
	for (i = 0; i < 6; i++) {
		callers[i].g = self->g;
		callers[i].call = calls[i];
		ASSERT_EQ(0, find(self->g, a[i % 2], &callers[i].queue));
		ASSERT_EQ(0, pthread_create(&callers[i].thread, NULL, call, &callers[i]));
	}
	for (i = 0; i < 6; i++) {
		ASSERT_EQ(0, pthread_join(callers[i].thread, NULL));
		EXPECT_EQ(0, callers[i].error);
	}
	for (i = 0; i < 2; i++) {
		ASSERT_DONE_ONCE(a[i]);
		ASSERT_EQ(0, wait_priority(self->g, a[i], 7));
		ASSERT_EQ(0, find(self->g, a[i], &queue));
		EXPECT_EQ(0, queue.flags & GPREEMPT_QUEUE_HELD);
		/* Held again before the next pass gave it back, it has not been away in between. */
		EXPECT_LE(1, queue.preempt_count);
	}
}

TEST_HARNESS_MAIN
