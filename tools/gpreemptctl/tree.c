// SPDX-License-Identifier: MIT
/*
 * tree.c - gpreemptctl run and set --tree: a process and those below it, without cgroups
 *
 * The kernel lets a process inherit from those above it. One whose parents have ended is below the
 * process that adopted it: the init of its container, or, of a program that was run, a process that
 * stays for this purpose as long as any of the program's are left. It adopts all of them.
 */
#include "gpreemptctl.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* A number of a line "NAME: NUMBER" of /proc/PID/status, the last one if there are several; 0: it is not known */
static pid_t status_number(pid_t pid, const char *name)
{
	char path[64], text[4096], *line, *end, *last;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (read_text(path, text, sizeof(text)) < 0)
		return 0;
	line = strstr(text, name);
	if (!line)
		return 0;
	end = strchr(line + 1, '\n');
	if (end)
		*end = '\0';
	last = strrchr(line, '\t');
	return last ? atoi(last) : 0;
}

static bool same_namespace(pid_t a, pid_t b)
{
	char path[64], first[64], second[64];
	ssize_t length, other;

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)a);
	length = readlink(path, first, sizeof(first));
	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)b);
	other = readlink(path, second, sizeof(second));
	return length > 0 && length == other && !memcmp(first, second, length);
}

/** is_below() - would process @pid inherit from @above? */
bool is_below(pid_t pid, pid_t above)
{
	bool init = status_number(above, "\nNSpid:") == 1;
	pid_t p;

	for (p = status_number(pid, "\nPPid:"); p > 0; p = status_number(p, "\nPPid:"))
		if (p == above)
			return true;
	/* One that was put into a container is below its init, wherever its parent is. */
	return init && pid != above && same_namespace(pid, above);
}

/* Return: the exit status, said. */
static int refused(int error, const char *command, int priority)
{
	/* The kernel's answer to a flag that it does not know */
	if (error == -EINVAL)
		return fail(EXIT_FAILED, "%s: the module is older than this program: its processes inherit nothing; update it, or use cgroup v2", command);
	return fail_errno(error, "%s: priority %d", command, priority);
}

/**
 * set_tree() - set the priority of a process and of all below it, also of those to come
 *
 * Return: 0, or the exit status, said.
 */
int set_tree(struct gpreempt *g, pid_t pid, int priority)
{
	struct gpreempt_target target = gpreempt_target_process(pid, 0), all = gpreempt_target_all();
	struct gpreempt_queue_info *queues;
	int i, nr, error = gpreempt_set_tree_priority(g, &target, priority);

	if (error)
		return refused(error, "set", priority);
	/* A process without a queue inherits with its first one. */
	nr = gpreempt_list_queues(g, &all, &queues);
	for (i = 0; i < nr && !error; i++) {
		if ((i && queues[i].pid == queues[i - 1].pid) || !is_below(queues[i].pid, pid))
			continue;
		target = gpreempt_target_process(queues[i].pid, 0);
		error = gpreempt_set_tree_priority(g, &target, priority);
		/* It has ended. */
		if (error == -ESRCH)
			error = 0;
	}
	free(queues);
	error = nr < 0 ? nr : error;
	return error ? refused(error, "set", priority) : 0;
}

/**
 * struct message - from the keeper
 * @pid: the program's; 0: it ended, or did not begin
 * @status: then, its exit status or ours
 */
struct message {
	pid_t pid;
	int status;
};

/* Return: did one come? */
static bool hear(int fd, struct message *message)
{
	ssize_t got;

	do
		got = read(fd, message, sizeof(*message));
	while (got < 0 && errno == EINTR);
	return got == sizeof(*message);
}

static void tell(int fd, pid_t pid, int status)
{
	struct message message = { .pid = pid, .status = status };

	/* A front that is gone need not know. */
	if (write(fd, &message, sizeof(message)) != sizeof(message))
		return;
}

/* What the program holds open is not held open here. */
static void let_go(int fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	close(fd);
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
	}
	if (chdir("/"))
		return;
}

static void keep(struct gpreempt *g, int priority, char **args, int fd)
{
	struct gpreempt_target self = gpreempt_target_process(0, 0);
	int status, error;
	pid_t program, pid;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	error = gpreempt_set_tree_priority(g, &self, priority);
	/* The program may be one that unloads the driver. */
	gpreempt_close(g);
	if (error) {
		tell(fd, 0, refused(error, "run", priority));
		_exit(0);
	}
	/* Signals are as they were, so that the program has them so. */
	program = start_child(args, NULL);
	if (program < 0) {
		tell(fd, 0, fail_system(program, "run: fork"));
		_exit(0);
	}
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	tell(fd, program, 0);
	for (;;) {
		pid = waitpid(-1, &status, 0);
		if (pid < 0 && errno == ECHILD)
			_exit(0);
		if (pid != program)
			continue;
		tell(fd, 0, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
		let_go(fd);
	}
}

/**
 * run_tree() - run a program at a priority that all of its processes inherit
 * @g: closed afterwards
 *
 * Return: its exit status, or ours.
 */
int run_tree(struct gpreempt *g, int priority, char **args)
{
	struct message message;
	sigset_t passed, before;
	pid_t keeper;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC)) {
		gpreempt_close(g);
		return fail_system(-errno, "run: pipe");
	}
	/* A signal that comes before it is known to whom to pass it on waits. */
	sigemptyset(&passed);
	sigaddset(&passed, SIGTERM);
	sigaddset(&passed, SIGHUP);
	sigprocmask(SIG_BLOCK, &passed, &before);
	keeper = fork();
	if (!keeper) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		close(fds[0]);
		keep(g, priority, args, fds[1]);
	}
	gpreempt_close(g);
	close(fds[1]);
	if (keeper < 0)
		return fail_system(-errno, "run: fork");
	while (hear(fds[0], &message)) {
		if (!message.pid)
			return message.status;
		pass_signals_to(message.pid);
		sigprocmask(SIG_SETMASK, &before, NULL);
	}
	return fail(EXIT_FAILED, "run: the process that watches over %s was killed", args[0]);
}
