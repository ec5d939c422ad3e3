// SPDX-License-Identifier: MIT
/*
 * pulse.c - takes the queues of a process off the device and gives them back, again and again
 *
 *	pulse <pid> <time on the device in us>
 *
 * Prints "ready" when it has done so once. When it is told to end (SIGTERM), or the process has, it prints how often, and in which time. No
 * test, a helper of tests.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

#include <linux/kfd_gpreempt.h>

#include "kfdlib.h"

static volatile sig_atomic_t end;

static void told_to_end(int signal)
{
	end = signal;
}

int main(int argc, char **argv)
{
	const struct gpreempt_target target = { .scope = GPREEMPT_SCOPE_PROCESS, .pid = argc > 1 ? atoi(argv[1]) : 0 };
	uint64_t run_ns = (argc > 2 ? (uint64_t)atoi(argv[2]) : 200) * KFD_NS_PER_US, start;
	struct sigaction action = { .sa_handler = told_to_end };
	int fd = open("/dev/kfd_gpreempt", O_RDWR);
	unsigned int times = 0;

	if (fd < 0) {
		perror("pulse: /dev/kfd_gpreempt");
		return 1;
	}
	sigaction(SIGTERM, &action, NULL);
	prctl(PR_SET_TIMERSLACK, 1UL);		/* or each sleep is 50 us longer */
	start = kfd_now_ns();
	while (!end) {
		struct gpreempt_hold hold = { .target = target }, release = hold;

		if (ioctl(fd, GPREEMPT_IOC_PREEMPT, &hold) && errno != EINTR && errno != EBUSY) {
			if (errno == ESRCH)
				break;
			perror("pulse: preempt");
			return 1;
		}
		if (ioctl(fd, GPREEMPT_IOC_RESUME, &release) && errno != ESRCH) {
			perror("pulse: resume");
			return 1;
		}
		if (!times++) {
			printf("ready\n");
			fflush(stdout);
		}
		kfd_sleep_ns(run_ns);
	}
	printf("%u in %llu us\n", times, (unsigned long long)((kfd_now_ns() - start) / KFD_NS_PER_US));
	return 0;
}
