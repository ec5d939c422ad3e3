/* SPDX-License-Identifier: MIT */
/*
 * neighbours.h - what the adversary's programs have in common: processes of another user that do nothing but call, in loops
 *
 * Include after fixture.h. As root; the loops run as nobody.
 */
#ifndef NEIGHBOURS_H
#define NEIGHBOURS_H

#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <linux/kfd_ioctl.h>

#include "gpreempt.h"
#include "worker.h"

#define NOBODY	65534

/* Ends the rights of an actor. What it has open stays open: that is how udev's group would have given it. */
static inline int64_t actor_becomes_nobody(struct actor *a, const int64_t *args)
{
	if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY))
		return -errno;
	/* Another user has no wish of its own for the end of its parent: a test that fails leaves nothing behind. */
	return prctl(PR_SET_PDEATHSIG, SIGKILL) ? -errno : 0;
}

/* Of GPREEMPT_IOC_LIST, of GPREEMPT_IOC_SET_PRIORITY, of AMDKFD_IOC_UPDATE_QUEUE, of a call that takes no lock of the driver */
enum loop_kind { LOOP_LIST, LOOP_SET_PRIORITY, LOOP_UPDATE_QUEUE, LOOP_VERSION, NR_LOOP_KINDS };

#define MAX_LOOPS	16	/* threads of an actor */

/**
 * struct storm - what the loops of all actors share
 * @stop: they are to end
 * @calls: how many calls of each kind have come back
 * @errors: how many of them with an error
 * @gpreempt_fd: /dev/kfd_gpreempt, opened by root before the actors started
 */
struct storm {
	volatile bool stop;
	uint64_t calls[NR_LOOP_KINDS];
	uint64_t errors[NR_LOOP_KINDS];
	int gpreempt_fd;
};

/* One for the program: shared with all actors that are started after storm_init(). */
static struct storm *storm;

static inline int storm_init(int gpreempt_fd)
{
	if (!storm)
		storm = mmap(NULL, sizeof(*storm), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (storm == MAP_FAILED)
		return -ENOMEM;
	memset(storm, 0, sizeof(*storm));
	storm->gpreempt_fd = gpreempt_fd;
	return 0;
}

/**
 * struct loop - a thread of an actor
 * @kind: what it calls
 * @queue: the queue that it calls about
 */
struct loop {
	enum loop_kind kind;
	struct kfd_queue *queue;
};

static inline int loop_once(const struct loop *loop, unsigned int round)
{
	static _Thread_local struct gpreempt_queue_info queues[64];
	struct kfd_ioctl_get_version_args version = { 0 };
	struct gpreempt_list list = { .target = gpreempt_target_all(), .queues = (uintptr_t)queues, .nr_queues = 64 };
	struct gpreempt_priority set = { .target = gpreempt_target_process(0, 0), .priority = -(int)(round % 2) };

	switch (loop->kind) {
	case LOOP_LIST:
		return ioctl(storm->gpreempt_fd, GPREEMPT_IOC_LIST, &list) ? -errno : 0;
	case LOOP_SET_PRIORITY:
		return ioctl(storm->gpreempt_fd, GPREEMPT_IOC_SET_PRIORITY, &set) ? -errno : 0;
	case LOOP_UPDATE_QUEUE:
		return kfd_queue_update(loop->queue, round % 2, 100);
	default:
		return ioctl(loop->queue->client->kfd_fd, AMDKFD_IOC_GET_VERSION, &version) ? -errno : 0;
	}
}

static inline void *loop_main(void *arg)
{
	struct loop *loop = arg;
	struct sched_param param = { 0 };
	unsigned int round;

	/*
	 * On the guest's one CPU whatever runs is in the way of whatever is to run. Locks are what this is about. The driver's own, which
	 * is held while it waits for the device, is for nobody to sit on who gets no CPU.
	 */
	if (loop->kind != LOOP_UPDATE_QUEUE && sched_setscheduler(0, SCHED_IDLE, &param))
		return NULL;
	for (round = 0; !storm->stop; round++) {
		if (loop_once(loop, round))
			__atomic_fetch_add(&storm->errors[loop->kind], 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&storm->calls[loop->kind], 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* args: how many loops of each kind; returns when the storm is told to stop. The queue is the first one. */
static inline int64_t actor_storms(struct actor *a, const int64_t *args)
{
	struct loop loops[MAX_LOOPS];
	pthread_t threads[MAX_LOOPS];
	int64_t k, i;
	int n = 0, err = 0;

	for (k = 0; k < NR_LOOP_KINDS && !err; k++) {
		for (i = 0; i < args[k] && n < MAX_LOOPS && !err; i++) {
			loops[n] = (struct loop){ .kind = (enum loop_kind)k, .queue = &a->queue[0] };
			err = pthread_create(&threads[n], NULL, loop_main, &loops[n]);
			n += !err;
		}
	}
	while (n)
		pthread_join(threads[--n], NULL);
	return -err;
}

/* A process of nobody with an idle queue, which is ready to storm. */
static inline struct actor *stormer(struct __test_metadata *_metadata)
{
	struct actor *a = with_queue(_metadata, 0);

	ASSERT_EQ(0, actor_call(a, actor_becomes_nobody, 0, 0, 0, 0));
	return a;
}

static inline void storm_begin(struct actor *const *stormers, int nr, int lists, int sets, int updates, int versions)
{
	int i;

	storm->stop = false;
	for (i = 0; i < nr; i++)
		actor_begin(stormers[i], actor_storms, lists, sets, updates, versions);
}

/* Returns what the first of them that failed returned. */
static inline int64_t storm_end(struct actor *const *stormers, int nr)
{
	int64_t err = 0, r;
	int i;

	storm->stop = true;
	for (i = 0; i < nr; i++) {
		r = actor_end(stormers[i]);
		err = err ? err : r;
	}
	return err;
}

#endif /* NEIGHBOURS_H */
