// SPDX-License-Identifier: MIT
/*
 * hold.c - gpreemptctl preempt, resume
 */
#include "gpreemptctl.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int run_meanwhile(char **args)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return fail(EXIT_FAILED, "fork: %s", strerror(errno));
	if (!pid) {
		execvp(args[0], args);
		_exit(fail(127, "%s: %s", args[0], strerror(errno)));
	}
	signal(SIGINT, SIG_IGN);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void until_signal(double seconds)
{
	struct timespec ts = { .tv_sec = seconds, .tv_nsec = (seconds - (time_t)seconds) * 1e9 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	while (sigtimedwait(&set, NULL, seconds > 0 ? &ts : NULL) < 0 && errno == EINTR)
		;
}

static int open_target(const struct options *o, struct gpreempt_target *target, struct gpreempt **g)
{
	int status = get_target(o, target);

	if (status)
		return status;
	if (target->scope != GPREEMPT_SCOPE_QUEUE && target->scope != GPREEMPT_SCOPE_PROCESS)
		return fail(EXIT_USAGE, "which one? -p PID, or -p PID -g GPU -q QUEUE");
	return open_scheduler(g);
}

int cmd_preempt(const struct options *o)
{
	struct gpreempt_target target;
	struct gpreempt *g;
	int nr, status;

	status = open_target(o, &target, &g);
	if (status)
		return status;
	nr = gpreempt_preempt(g, &target, 0, o->unbounded ? GPREEMPT_HOLD_UNBOUNDED : 0);
	if (nr < 0) {
		status = fail_errno(nr, "preempt");
	} else if (o->nr_args) {
		status = run_meanwhile(o->args);
	} else {
		/* A hold is the descriptor's: it lasts as long as this program. */
		fprintf(stderr, "gpreemptctl: %d queue%s off the device%s\n", nr, nr == 1 ? "" : "s",
			o->seconds > 0 ? "" : "; ctrl-C gives them back");
		until_signal(o->seconds);
	}
	gpreempt_close(g);
	return status;
}

int cmd_resume(const struct options *o)
{
	struct gpreempt_target target;
	struct gpreempt *g;
	int nr, status;

	if (o->nr_args)
		return fail(EXIT_USAGE, "resume takes no words, only -p, -g, -q");
	status = open_target(o, &target, &g);
	if (status)
		return status;
	nr = gpreempt_resume_all(g, &target);
	gpreempt_close(g);
	if (nr < 0)
		return fail_errno(nr, "resume");
	printf("%d queue%s given back\n", nr, nr == 1 ? "" : "s");
	return EXIT_DONE;
}
