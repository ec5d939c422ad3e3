/* SPDX-License-Identifier: MIT */
/*
 * outside.h - what the tests of /dev/kfd_gpreempt have in common: a descriptor, processes with a queue, what is known of it
 *
 * Include after kselftest_harness.h.
 */
#ifndef OUTSIDE_H
#define OUTSIDE_H

#include <sys/ioctl.h>

#include "fixture.h"
#include "gpreempt.h"

/* Members of a fixture, its setup and its end. */
#define OUTSIDE \
	BEFORE_TEST; \
	struct gpreempt *g; \
	uint32_t gpu_id; \
	int fd

#define SETUP_OUTSIDE() do { \
	SETUP_SCHEDULER(NULL, 0); \
	ASSERT_EQ(0, gpreempt_open(&self->g)); \
	self->fd = gpreempt_fd(self->g); \
	self->gpu_id = kfd_first_gpu_id(); \
} while (0)

#define TEARDOWN_OUTSIDE() do { \
	gpreempt_close(self->g); \
	actor_forget_all(); \
	EXPECT_NOTHING_LEFT(); \
	scheduler_off(); \
} while (0)

/* A process with one queue and @launches grids of @waves waves that each run @steps of @step_ns. */
static inline struct actor *worker(struct __test_metadata *_metadata, uint32_t launches, uint32_t waves, uint32_t steps, uint64_t step_ns)
{
	struct actor *a = actor_start(0, ARENA);

	ASSERT_ACTOR(a);
	ASSERT_EQ(0, actor_queue(a, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL));
	ASSERT_EQ(0, actor_work(a, launches, waves, steps, step_ns));
	return a;
}

static inline struct gpreempt_target process_of(const struct actor *a)
{
	return gpreempt_target_process(a->pid, 0);
}

static inline struct gpreempt_target queue_of(const struct actor *a)
{
	return gpreempt_target_queue(a->pid, a->client.gpu_id, a->queue[0].id);
}

static inline int one_queue(struct gpreempt *g, const struct actor *a, struct gpreempt_queue_info *info)
{
	struct gpreempt_target target = queue_of(a);
	struct gpreempt_queue_info *queues;
	int nr = gpreempt_list_queues(g, &target, &queues);

	if (nr > 0)
		*info = queues[0];
	free(queues);
	return nr;
}

/* A change counts from the next pass. */
static inline int wait_priority(struct gpreempt *g, const struct actor *a, int priority)
{
	uint64_t deadline = kfd_now_ns() + LONG;
	struct gpreempt_queue_info info;

	do {
		if (one_queue(g, a, &info) == 1 && info.logical_priority == priority)
			return 0;
		kfd_sleep_ns(MS);
	} while (kfd_now_ns() < deadline);
	return -ETIME;
}

static inline int raw(int fd, unsigned long request, void *argument)
{
	return ioctl(fd, request, argument) < 0 ? -errno : 0;
}

#endif /* OUTSIDE_H */
