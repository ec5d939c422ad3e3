// SPDX-License-Identifier: MIT
/*
 * gpreempt_way.c - GPreempt's way with AMD for HIP programs: a flag tells of a request, a thread that looks all the time suspends the others
 *
 *	gpreempt_way FLAG PID		suspends all queues of process PID while the file FLAG says that a request is under way, until SIGTERM;
 *					then `gpreempt_way looks=N suspends=N us=..'
 *	LD_PRELOAD=libgpreempt_way.so GPREEMPT_WAY_FLAG=FLAG PROGRAM...
 *					a HIP program whose request begins with a launch, and ends when it has waited for a stream
 *
 * One source for both. GPreempt's own ioctl is not published: libgpreempt's gpreempt_interrupt() does what is known of it, queues of a
 * process leave the device with their waves saved, and it returns when that is done. The original spins; here it sleeps LOOK_US between looks,
 * with real-time priority, because the CPU is the virtual GPU's too.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define LOOK_US	20

static volatile uint32_t *map_flag(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	void *flag = MAP_FAILED;

	if (fd >= 0 && !ftruncate(fd, 4096))
		flag = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	if (flag == MAP_FAILED) {
		perror(path);
		exit(1);
	}
	return flag;
}

#ifdef PRELOADED

struct dim3 {
	uint32_t x, y, z;
};

typedef int launch_fn(const void *function, struct dim3 grid, struct dim3 block, void **args, size_t shared_bytes, void *stream);
typedef int wait_fn(void *stream);

static volatile uint32_t *flag;

static void __attribute__((constructor)) begin(void)
{
	const char *path = getenv("GPREEMPT_WAY_FLAG");

	if (path)
		flag = map_flag(path);
}

int hipLaunchKernel(const void *function, struct dim3 grid, struct dim3 block, void **args, size_t shared_bytes, void *stream)
{
	if (flag)
		*flag = 1;
	return ((launch_fn *)dlsym(RTLD_NEXT, "hipLaunchKernel"))(function, grid, block, args, shared_bytes, stream);
}

int hipStreamSynchronize(void *stream)
{
	int error = ((wait_fn *)dlsym(RTLD_NEXT, "hipStreamSynchronize"))(stream);

	if (flag)
		*flag = 0;
	return error;
}

#else

#include "gpreempt.h"

static volatile sig_atomic_t ended;

static void end(int number)
{
	ended = number;
}

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

int main(int argc, char **argv)
{
	const struct timespec pause = { .tv_nsec = LOOK_US * 1000 };
	struct sched_param first = { .sched_priority = 10 };
	uint64_t looks = 0, suspends = 0, us = 0;
	struct gpreempt_target target;
	struct gpreempt_unit *unit;
	volatile uint32_t *flag;
	bool off = false;
	int error;

	if (argc != 3) {
		fprintf(stderr, "usage: gpreempt_way FLAG PID\n");
		return 2;
	}
	flag = map_flag(argv[1]);
	target = gpreempt_target_process(atoi(argv[2]), 0);
	error = gpreempt_unit_open(&target, 0, &unit);
	if (error) {
		fprintf(stderr, "gpreempt_way: %s\n", strerror(-error));
		return 1;
	}
	signal(SIGTERM, end);
	sched_setscheduler(0, SCHED_FIFO, &first);
	printf("gpreempt_way ready\n");
	fflush(stdout);
	for (; !ended; looks++, nanosleep(&pause, NULL)) {
		bool want = *flag;
		uint64_t begin_us = now_us();

		if (off == want)
			continue;
		error = want ? gpreempt_interrupt(unit) : gpreempt_restore(unit);
		if (error) {
			fprintf(stderr, "gpreempt_way: %s\n", strerror(-error));
			return 1;
		}
		off = want;
		suspends += want;
		us += want ? now_us() - begin_us : 0;
	}
	gpreempt_unit_close(unit);
	printf("gpreempt_way looks=%llu suspends=%llu us=%llu\n", (unsigned long long)looks, (unsigned long long)suspends,
	       (unsigned long long)(suspends ? us / suspends : 0));
	return 0;
}

#endif
