// SPDX-License-Identifier: MIT
/*
 * target.c - what -p, -g, -q and --cgroup mean
 */
#include "gpreemptctl.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static int cgroup_target(const struct options *o, struct gpreempt_target *target)
{
	char path[4096];
	int fd;

	if (o->pid || o->have_queue || o->gpu_id)
		return fail(EXIT_USAGE, "--cgroup goes without -p, -g and -q");
	fd = open(o->cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT) {
		snprintf(path, sizeof(path), "/sys/fs/cgroup/%s", o->cgroup);
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	if (fd < 0)
		return fail(EXIT_FAILED, "%s: %s", o->cgroup, strerror(errno));
	*target = gpreempt_target_cgroup(fd);
	return 0;
}

/**
 * get_target() - the queues that the options name
 * @target: out: of scope ALL if they name none
 *
 * Return: 0, or the exit status, said.
 */
int get_target(const struct options *o, struct gpreempt_target *target)
{
	if (o->cgroup)
		return cgroup_target(o, target);
	if (o->have_queue) {
		if (!o->pid || !o->gpu_id)
			return fail(EXIT_USAGE, "a queue is named by -p PID -g GPU -q QUEUE, as in the output of list");
		*target = gpreempt_target_queue(o->pid, o->gpu_id, o->queue_id);
	} else if (o->pid) {
		*target = gpreempt_target_process(o->pid, o->gpu_id);
	} else if (o->gpu_id) {
		return fail(EXIT_USAGE, "-g goes with -p");
	} else {
		*target = gpreempt_target_all();
	}
	return 0;
}

/** command_of() - name of a process's program; "?" if it is gone. Return: @buffer. */
const char *command_of(pid_t pid, char *buffer, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	if (read_text(path, buffer, size) < 0)
		snprintf(buffer, size, "?");
	return buffer;
}
