// SPDX-License-Identifier: MIT
/* process.c - other programs and signals */
#include "gpreemptctl.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The child that signals are passed on to: a program has one at most. */
static volatile pid_t child;

static void pass_on(int number)
{
	kill(child, number);
}

static void become(char **args, const int *gate)
{
	char byte;
	int error;

	if (gate) {
		/* Or the end of the parent would not be seen here. */
		close(gate[1]);
		if (read(gate[0], &byte, 1) != 1)
			_exit(EXIT_FAILED);
		close(gate[0]);
	}
	execvp(args[0], args);
	error = errno;
	fail(0, "%s: %s", args[0], strerror(error));
	_exit(error == ENOENT ? EXIT_NO_PROGRAM : EXIT_NOT_RUNNABLE);
}

/** pass_signals_to() - from now on SIGTERM and SIGHUP are that process's */
void pass_signals_to(pid_t pid)
{
	child = pid;
	signal(SIGTERM, pass_on);
	signal(SIGHUP, pass_on);
	/* The terminal gives these two to the program itself. */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
}

/**
 * start_child() - run a program; from now on SIGTERM and SIGHUP are passed on to it
 * @args: its command line
 * @gate: a pipe: the program begins when a byte comes out of it, and does not if the pipe is closed instead; NULL: at once
 *
 * Return: its pid, or a negative errno.
 */
pid_t start_child(char **args, const int *gate)
{
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (!pid)
		become(args, gate);
	pass_signals_to(pid);
	return pid;
}

/** wait_for_child() - wait until it ends. Return: its exit status, 128 more than the signal that killed it. */
int wait_for_child(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void make_set(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
}

/** block_signals() - those that wait_for_signal() waits for stay pending until it is called */
void block_signals(void)
{
	sigset_t set;

	make_set(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

/**
 * wait_for_signal() - wait for SIGINT, SIGTERM or SIGHUP, which block_signals() has blocked
 * @seconds: how long; 0: without end
 *
 * Return: the signal; 0 when the time is over.
 */
int wait_for_signal(double seconds)
{
	struct timespec end, now, left;
	sigset_t set;
	int number;

	make_set(&set);
	if (seconds <= 0) {
		while ((number = sigwaitinfo(&set, NULL)) < 0)
			;
		return number;
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += (time_t)seconds;
	end.tv_nsec += (seconds - (time_t)seconds) * 1e9;
	do {
		clock_gettime(CLOCK_MONOTONIC, &now);
		left.tv_sec = end.tv_sec - now.tv_sec;
		left.tv_nsec = end.tv_nsec - now.tv_nsec;
		for (; left.tv_nsec < 0; left.tv_nsec += 1000000000)
			left.tv_sec--;
		for (; left.tv_nsec >= 1000000000; left.tv_nsec -= 1000000000)
			left.tv_sec++;
		if (left.tv_sec < 0)
			return 0;
		number = sigtimedwait(&set, NULL, &left);
	} while (number < 0 && errno == EINTR);
	return number < 0 ? 0 : number;
}
