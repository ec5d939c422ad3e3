// SPDX-License-Identifier: MIT
/* seen.c - the queues that a program has made; see gpreempt-preload.h */
#define _GNU_SOURCE
#include "seen.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gpreempt_seen *queues;
static unsigned int nr;
static unsigned int room;
static uint64_t sequence;

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork_in_parent(void)
{
	pthread_mutex_unlock(&lock);
}

/* KFD's queues do not pass on. */
static void after_fork_in_child(void)
{
	nr = 0;
	pthread_mutex_unlock(&lock);
}

/* When the library is loaded: what a fork() that has begun does not know of would not be done in its child. */
__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* KFD numbers the queues of a process, whatever their node. */
static struct gpreempt_seen *find(uint32_t queue_id)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (queues[i].queue_id == queue_id)
			return &queues[i];
	return NULL;
}

void seen_add(uint32_t gpu_id, uint32_t queue_id, uint64_t ring_base, uint32_t kfd_priority)
{
	struct gpreempt_seen *grown;

	pthread_mutex_lock(&lock);
	sequence++;
	if (nr == room) {
		grown = realloc(queues, (room + 16) * sizeof(*queues));
		if (!grown)
			goto out;
		queues = grown;
		room += 16;
	}
	queues[nr++] = (struct gpreempt_seen){
		.sequence = sequence, .ring_base = ring_base, .gpu_id = gpu_id, .queue_id = queue_id, .kfd_priority = kfd_priority,
		.tid = syscall(SYS_gettid),	/* no gettid() in the C library of an EL8 */
	};
out:
	pthread_mutex_unlock(&lock);
}

void seen_remove(uint32_t queue_id)
{
	struct gpreempt_seen *queue;

	pthread_mutex_lock(&lock);
	queue = find(queue_id);
	if (queue) {
		nr--;
		for (; queue < queues + nr; queue++)
			queue[0] = queue[1];
	}
	pthread_mutex_unlock(&lock);
}

void seen_priority(uint32_t queue_id, uint32_t kfd_priority)
{
	struct gpreempt_seen *queue;

	pthread_mutex_lock(&lock);
	queue = find(queue_id);
	if (queue)
		queue->kfd_priority = kfd_priority;
	pthread_mutex_unlock(&lock);
}

void seen_cu_mask(uint32_t queue_id)
{
	struct gpreempt_seen *queue;

	pthread_mutex_lock(&lock);
	queue = find(queue_id);
	if (queue)
		queue->flags |= GPREEMPT_SEEN_CU_MASK;
	pthread_mutex_unlock(&lock);
}

uint64_t gpreempt_seen_mark(void)
{
	uint64_t result;

	pthread_mutex_lock(&lock);
	result = sequence;
	pthread_mutex_unlock(&lock);
	return result;
}

unsigned int gpreempt_seen_queues(uint64_t mark, pid_t tid, struct gpreempt_seen *result, unsigned int max)
{
	unsigned int i, found = 0;

	pthread_mutex_lock(&lock);
	for (i = 0; i < nr; i++) {
		if (queues[i].sequence <= mark || (tid && queues[i].tid != tid))
			continue;
		if (found < max)
			result[found] = queues[i];
		found++;
	}
	pthread_mutex_unlock(&lock);
	return found;
}
