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
#include "worker.h"
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

/* A fixture of these alone */
#define OUTSIDE_FIXTURE(name) \
	FIXTURE(name) { OUTSIDE; }; \
	FIXTURE_SETUP(name) { SETUP_OUTSIDE(); } \
	FIXTURE_TEARDOWN(name) { TEARDOWN_OUTSIDE(); }

static inline struct gpreempt_target process_of(const struct actor *a)
{
	return gpreempt_target_process(a->pid, 0);
}

static inline struct gpreempt_target queue_of(const struct actor *a)
{
	return gpreempt_target_queue(a->pid, a->client.gpu_id, a->queue[0].id);
}

/* The address of a target, for a call */
#define AT(target)	((struct gpreempt_target[]){ target })

static inline int one_queue(struct gpreempt *g, const struct actor *a, struct gpreempt_queue_info *info)
{
	struct gpreempt_queue_info *queues;
	int nr = gpreempt_list_queues(g, AT(queue_of(a)), &queues);

	if (nr > 0)
		*info = queues[0];
	free(queues);
	return nr;
}

/* A change counts from the next pass. */
static inline int wait_priority(struct gpreempt *g, const struct actor *a, int priority)
{
	struct gpreempt_queue_info info;

	return KFD_WAIT(one_queue(g, a, &info) == 1 && info.logical_priority == priority, MS, LONG);
}

static inline int raw(int fd, unsigned long request, void *argument)
{
	return ioctl(fd, request, argument) < 0 ? -errno : 0;
}

#endif /* OUTSIDE_H */
