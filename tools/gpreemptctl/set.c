// SPDX-License-Identifier: MIT
/*
 * set.c - gpreemptctl set, run: priorities
 */
#include "gpreemptctl.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

int cmd_set(const struct options *o)
{
	struct gpreempt_target target;
	struct gpreempt *g;
	int error, priority, status;
	bool clear;

	if (o->nr_args != 1)
		return fail(EXIT_USAGE, "set takes one word: a priority (%d..%d), a class (latency, normal, batch), or clear",
			    GPREEMPT_PRIORITY_MIN, GPREEMPT_PRIORITY_MAX);
	clear = !strcmp(o->args[0], "clear");
	if (!clear && !parse_priority(o->args[0], &priority))
		return fail(EXIT_USAGE, "%s is neither a priority (%d..%d) nor a class (latency, normal, batch) nor clear; nothing changed",
			    o->args[0], GPREEMPT_PRIORITY_MIN, GPREEMPT_PRIORITY_MAX);
	status = get_target(o, &target);
	if (status)
		return status;
	if (target.scope == GPREEMPT_SCOPE_ALL)
		return fail(EXIT_USAGE, "set needs -p PID or --cgroup DIR");
	status = open_scheduler(&g);
	if (status)
		return status;
	error = clear ? gpreempt_clear_priority(g, &target) : gpreempt_set_priority(g, &target, priority);
	gpreempt_close(g);
	return error ? fail_errno(error, "set %s", o->args[0]) : EXIT_DONE;
}

/*
 * The cgroup that this process is in, from /proc/self/cgroup. Return: 0, or a negative errno.
 */
static int own_cgroup(char *path, size_t size)
{
	char text[4096], *line, *end;
	int r = read_text("/proc/self/cgroup", text, sizeof(text));

	if (r < 0)
		return r;
	/* The unified hierarchy's line has number 0 and no controllers. */
	line = !strncmp(text, "0::", 3) ? text : strstr(text, "\n0::");
	if (!line)
		return -ENOENT;
	line = strchr(line, '/');
	end = strchr(line, '\n');
	if (end)
		*end = '\0';
	snprintf(path, size, "/sys/fs/cgroup%s", strcmp(line, "/") ? line : "");
	return 0;
}

static pid_t child;

static void pass_on(int number)
{
	if (child > 0)
		kill(child, number);
}

static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The command's process: waits until it may go on, so that all of its life is in the cgroup. */
static void become(char **args, int gate)
{
	char byte;

	if (read(gate, &byte, 1) != 1)
		_exit(EXIT_FAILED);
	close(gate);
	execvp(args[0], args);
	fail(127, "%s: %s", args[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

int cmd_run(const struct options *o)
{
	char parent[4096], path[4200], file[4300], number[16];
	struct gpreempt_target target;
	struct gpreempt *g;
	int error, fd, gate[2], status;

	if (!o->nr_args || !o->have_priority)
		return fail(EXIT_USAGE, "run --priority N|--class C -- COMMAND...");
	status = open_scheduler(&g);
	if (status)
		return status;
	error = own_cgroup(parent, sizeof(parent));
	if (error)
		return fail(EXIT_FAILED, "no cgroup v2 hierarchy at /sys/fs/cgroup");
	snprintf(path, sizeof(path), "%s/gpreempt-%d", parent, (int)getpid());
	if (mkdir(path, 0755))
		return fail(errno == EACCES || errno == EPERM ? EXIT_DENIED : EXIT_FAILED, "%s: %s", path, strerror(errno));

	status = EXIT_FAILED;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		fail(status, "%s: %s", path, strerror(errno));
		goto out;
	}
	target = gpreempt_target_cgroup(fd);
	error = gpreempt_set_priority(g, &target, o->priority);
	close(fd);
	if (error) {
		status = fail_errno(error, "run: priority %d", o->priority);
		goto out;
	}
	if (pipe2(gate, O_CLOEXEC)) {
		fail(status, "%s", strerror(errno));
		goto out;
	}
	child = fork();
	if (!child)
		become(o->args, gate[0]);
	close(gate[0]);
	if (child < 0) {
		fail(status, "fork: %s", strerror(errno));
		goto out_gate;
	}
	signal(SIGTERM, pass_on);
	signal(SIGHUP, pass_on);
	/* The terminal gives these two to the command itself. */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	snprintf(file, sizeof(file), "%s/cgroup.procs", path);
	snprintf(number, sizeof(number), "%d", (int)child);
	error = write_text(file, number);
	if (error)
		fail(status, "%s: %s", file, strerror(-error));
	else if (write(gate[1], "", 1) != 1)
		fail(status, "%s", strerror(errno));
	close(gate[1]);
	status = wait_for(child);
	goto out;

out_gate:
	close(gate[1]);
out:
	/* Left alone while grandchildren live: it is what makes them what they are. */
	rmdir(path);
	gpreempt_close(g);
	return status;
}
