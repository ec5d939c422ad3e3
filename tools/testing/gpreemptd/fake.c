// SPDX-License-Identifier: MIT
/*
 * fake.c - the functions of libgpreempt that gpreemptd calls, on queues in memory
 *
 * A queue that is held is off the device, with relief as the test says; one whose state is preempted without a hold is somebody else's victim.
 * The environment variable FAKE_PIDS names processes that have a queue with work from the beginning, for a program that is no test by itself.
 */
#include "fake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct gpreempt {
	int fd;
};

struct fake fake;

struct gpreempt_queue_info *fake_queue(pid_t pid, uint32_t gpu_id, uint32_t queue_id)
{
	unsigned int i;

	for (i = 0; i < fake.nr; i++)
		if (fake.queues[i].pid == pid && fake.queues[i].gpu_id == gpu_id && fake.queues[i].queue_id == queue_id)
			return &fake.queues[i];
	fake.queues[fake.nr] = (struct gpreempt_queue_info){ .pid = pid, .gpu_id = gpu_id, .queue_id = queue_id };
	return &fake.queues[fake.nr++];
}

__attribute__((constructor)) static void take_environment(void)
{
	const char *pids = getenv("FAKE_PIDS");
	char *end;
	long pid;

	for (; pids && (pid = strtol(pids, &end, 10)) > 0; pids = end)
		fake_queue((pid_t)pid, 1, 0)->state = GPREEMPT_QUEUE_ACTIVE;
}

int gpreempt_open(struct gpreempt **handle)
{
	*handle = NULL;
	if (fake.open_error)
		return fake.open_error;
	*handle = malloc(sizeof(**handle));
	(*handle)->fd = eventfd(0, EFD_CLOEXEC);
	fake.opened++;
	return 0;
}

void gpreempt_close(struct gpreempt *handle)
{
	unsigned int i;

	if (!handle)
		return;
	for (i = 0; i < fake.nr; i++)
		if (fake.queues[i].flags & GPREEMPT_QUEUE_HELD)
			fake.queues[i].state = GPREEMPT_QUEUE_ACTIVE;
	fake.opened--;
	close(handle->fd);
	free(handle);
}

int gpreempt_fd(const struct gpreempt *handle)
{
	return handle->fd;
}

struct gpreempt_target gpreempt_target_process(pid_t pid, uint32_t gpu_id)
{
	return (struct gpreempt_target){ .scope = GPREEMPT_SCOPE_PROCESS, .pid = pid, .gpu_id = gpu_id };
}

struct gpreempt_target gpreempt_target_all(void)
{
	return (struct gpreempt_target){ .scope = GPREEMPT_SCOPE_ALL };
}

int gpreempt_list_jobs(struct gpreempt *handle, const struct gpreempt_target *target, struct gpreempt_queue_info **queues, uint64_t **jobs)
{
	(void)handle;
	(void)target;
	*queues = NULL;
	*jobs = NULL;
	if (fake.list_error)
		return fake.list_error;
	if (!fake.nr)
		return 0;
	*queues = malloc(fake.nr * sizeof(**queues));
	*jobs = malloc(fake.nr * sizeof(**jobs));
	memcpy(*queues, fake.queues, fake.nr * sizeof(**queues));
	memcpy(*jobs, fake.jobs, fake.nr * sizeof(**jobs));
	return (int)fake.nr;
}

static int each(const struct gpreempt_target *target, bool hold)
{
	unsigned int i;
	int nr = 0;

	for (i = 0; i < fake.nr; i++) {
		struct gpreempt_queue_info *q = &fake.queues[i];

		if (q->pid != target->pid || q->gpu_id != target->gpu_id)
			continue;
		if (hold) {
			q->flags |= GPREEMPT_QUEUE_HELD;
			q->state = GPREEMPT_QUEUE_PREEMPTED;
		} else if (q->flags & GPREEMPT_QUEUE_HELD) {
			q->flags &= ~GPREEMPT_QUEUE_HELD;
			q->state = q->pending ? GPREEMPT_QUEUE_ACTIVE : GPREEMPT_QUEUE_IDLE;
		}
		nr++;
	}
	return nr ? nr : -ENOENT;
}

int gpreempt_preempt(struct gpreempt *handle, const struct gpreempt_target *target, unsigned int timeout_ms, unsigned int flags)
{
	(void)handle;
	fake.holds++;
	fake.timeout_ms = timeout_ms;
	fake.flags = flags;
	if (fake.hold_error && fake.hold_error != -ETIME)
		return fake.hold_error;
	each(target, true);
	return fake.hold_error ? fake.hold_error : 1;
}

int gpreempt_resume(struct gpreempt *handle, const struct gpreempt_target *target)
{
	(void)handle;
	fake.resumes++;
	fake.holds_at_resume = fake.holds;
	return each(target, false);
}

int gpreempt_read_events(struct gpreempt *handle, struct gpreempt_event *events, unsigned int nr)
{
	(void)handle;
	(void)nr;
	if (!fake.nr_events)
		return -EAGAIN;
	fake.nr_events--;
	events[0] = fake.event;
	return 1;
}
