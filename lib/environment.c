// SPDX-License-Identifier: MIT
/* environment.c - GPREEMPT_PRIORITY, HSA_QUEUE_PRIORITY and GPREEMPT_QUEUE_CLASS; see environment.h */
#include "environment.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpreempt.h"
#include "kfd.h"

/* The first queue's thread applies, the others wait. After fork() the child is a process of its own. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool applied;
static bool has_module;
static bool has_kfd_priority;
static uint32_t kfd_priority;

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork_in_parent(void)
{
	pthread_mutex_unlock(&lock);
}

static void after_fork_in_child(void)
{
	applied = false;
	pthread_mutex_unlock(&lock);
}

/* When the library is loaded: what a fork() that has begun does not know of would not be done in its child. */
__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* A variable that is a number in these bounds. An empty one is as good as none. */
static bool read_number(const char *name, long min, long max, const char *kept, long *value)
{
	const char *text = getenv(name);
	char *end;

	if (!text || !*text)
		return false;
	errno = 0;
	*value = strtol(text, &end, 10);
	if (end != text && !*end && !errno && *value >= min && *value <= max)
		return true;
	dprintf(STDERR_FILENO, "gpreempt: %s=%s is not a number from %ld to %ld; %s\n", name, text, min, max, kept);
	return false;
}

static void set_process_priority(struct gpreempt *g)
{
	struct gpreempt_target self = gpreempt_target_process(0, 0);
	long priority;
	int error;

	if (!read_number("GPREEMPT_PRIORITY", GPREEMPT_PRIORITY_MIN, GPREEMPT_PRIORITY_MAX, "the process keeps the priority that it has",
			 &priority))
		return;
	error = gpreempt_set_priority(g, &self, (int)priority);
	if (error == -EPERM)
		dprintf(STDERR_FILENO, "gpreempt: GPREEMPT_PRIORITY=%ld: above %d takes CAP_SYS_NICE, and so does a change of what "
			"a user with it has set; the process keeps the priority that it has\n", priority, GPREEMPT_PRIORITY_NORMAL);
	else if (error)
		dprintf(STDERR_FILENO, "gpreempt: GPREEMPT_PRIORITY=%ld: %s; the process keeps the priority that it has\n", priority,
			strerror(-error));
}

static void apply(void)
{
	struct gpreempt *g;
	long value;

	has_kfd_priority = false;
	has_module = !gpreempt_open(&g);
	if (!has_module)
		return;
	set_process_priority(g);
	gpreempt_close(g);
	has_kfd_priority = read_number("HSA_QUEUE_PRIORITY", KFD_PRIORITY_MIN, KFD_PRIORITY_MAX,
				       "queues keep the priority that the program asks for", &value);
	if (has_kfd_priority)
		kfd_priority = (uint32_t)value;
	classes_read();
}

bool environment_apply(uint32_t *priority)
{
	int saved = errno;
	bool result;

	pthread_mutex_lock(&lock);
	if (!applied)
		apply();
	applied = true;
	result = has_kfd_priority;
	*priority = kfd_priority;
	pthread_mutex_unlock(&lock);
	errno = saved;
	return result;
}

struct queue_class environment_class(uint32_t gpu_id)
{
	struct queue_class class = { .has = false };
	uint32_t priority;

	environment_apply(&priority);
	/* Only written before the first queue, under the lock that was just taken. */
	return has_module ? classes_next(gpu_id) : class;
}
