// SPDX-License-Identifier: MIT
/*
 * pulse.c - takes the queues of a process off the device and gives them back, again and again
 *
 *	pulse <pid> <time on the device in us>
 *
 * With 0 as the pid: those of every process that has some, and it goes on when there is none. Prints "ready" when it has done so once, or
 * looked for processes in vain. When it is told to end (SIGTERM), or the process has, it prints how often, and in which time. No
 * test, a helper of tests.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

#include <linux/kfd_gpreempt.h>

#include "kfdlib.h"

#define QUEUES	64u

static volatile sig_atomic_t end;

static void told_to_end(int signal)
{
	end = signal;
}

/* gone() - the process, or its last queue, went away meanwhile */
static bool gone(void)
{
	return errno == ESRCH || errno == ENOENT;
}

/* turn() - all queues of a process off and on again. Return: whether there were any; -errno */
static int turn(int fd, int32_t pid)
{
	struct gpreempt_hold hold = { .target = { .scope = GPREEMPT_SCOPE_PROCESS, .pid = pid } }, release = hold;

	if (ioctl(fd, GPREEMPT_IOC_PREEMPT, &hold) && errno != EINTR && errno != EBUSY)
		return gone() ? 0 : -errno;
	if (ioctl(fd, GPREEMPT_IOC_RESUME, &release) && !gone())
		return -errno;
	return 1;
}

/* everyone() - the same of each process. Return: how many had any; -errno */
static int everyone(int fd)
{
	struct gpreempt_queue_info queues[QUEUES];
	struct gpreempt_list list = {
		.target = { .scope = GPREEMPT_SCOPE_ALL }, .queues = (uint64_t)(uintptr_t)queues, .nr_queues = QUEUES,
	};
	int done = 0, err;
	uint32_t i, j;

	if (ioctl(fd, GPREEMPT_IOC_LIST, &list))
		return -errno;
	for (i = 0; i < list.nr_queues && i < QUEUES; i++) {
		for (j = 0; j < i && queues[j].pid != queues[i].pid; j++)
			;
		err = j == i ? turn(fd, queues[i].pid) : 0;
		if (err < 0)
			return err;
		done += err;
	}
	return done;
}

int main(int argc, char **argv)
{
	uint64_t run_ns = (argc > 2 ? (uint64_t)atoi(argv[2]) : 200) * KFD_NS_PER_US, start;
	int fd = open("/dev/kfd_gpreempt", O_RDWR), pid = argc > 1 ? atoi(argv[1]) : -1, done;
	struct sigaction action = { .sa_handler = told_to_end };
	unsigned int times = 0;
	bool ready = false;

	if (fd < 0) {
		perror("pulse: /dev/kfd_gpreempt");
		return 1;
	}
	sigaction(SIGTERM, &action, NULL);
	prctl(PR_SET_TIMERSLACK, 1UL);		/* or each sleep is 50 us longer */
	start = kfd_now_ns();
	while (!end) {
		done = pid ? turn(fd, pid) : everyone(fd);
		if (done < 0) {
			fprintf(stderr, "pulse: error %d\n", -done);
			return 1;
		}
		if (!done && pid)
			break;
		times += (unsigned int)done;
		if (!ready) {
			printf("ready\n");
			fflush(stdout);
			ready = true;
		}
		kfd_sleep_ns(run_ns);
	}
	printf("%u in %llu us\n", times, (unsigned long long)((kfd_now_ns() - start) / KFD_NS_PER_US));
	return 0;
}
