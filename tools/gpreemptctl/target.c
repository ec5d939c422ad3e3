// SPDX-License-Identifier: MIT
/* target.c - what -p, -g, -q and --cgroup mean */
#include "gpreemptctl.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/** open_cgroup() - a cgroup, by its directory or its path below /sys/fs/cgroup. Return: descriptor, or a negative errno. */
int open_cgroup(const char *name)
{
	char path[4096];
	int fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT) {
		snprintf(path, sizeof(path), "/sys/fs/cgroup/%s", name);
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	return fd < 0 ? -errno : fd;
}

/** cgroups_are_v2() - is the place of cgroups a file system of version 2? */
bool cgroups_are_v2(void)
{
	return !access("/sys/fs/cgroup/cgroup.procs", F_OK);
}

/**
 * get_target() - the queues that the options name
 * @target: out: of scope ALL if they name none; to be given to put_target()
 *
 * Return: 0, or the exit status, said.
 */
int get_target(const struct options *o, struct gpreempt_target *target)
{
	int fd;

	if (o->given & GIVEN_CGROUP) {
		if (o->given & (GIVEN_PID | GIVEN_GPU | GIVEN_QUEUE))
			return fail(EXIT_USAGE, "--cgroup goes without -p, -g and -q");
		fd = open_cgroup(o->cgroup);
		if (fd < 0)
			return fail_system(fd, "%s", o->cgroup);
		*target = gpreempt_target_cgroup(fd);
		return 0;
	}
	if (o->given & GIVEN_QUEUE) {
		if (!(o->given & GIVEN_PID) || !(o->given & GIVEN_GPU))
			return fail(EXIT_USAGE, "a queue is named by -p PID -g GPU -q QUEUE, as in the output of list");
		*target = gpreempt_target_queue(o->pid, o->gpu_id, o->queue_id);
	} else if (o->given & GIVEN_PID) {
		*target = gpreempt_target_process(o->pid, o->gpu_id);
	} else if (o->given & GIVEN_GPU) {
		return fail(EXIT_USAGE, "-g goes with -p");
	} else {
		*target = gpreempt_target_all();
	}
	return 0;
}

/** put_target() - close what get_target() opened */
void put_target(const struct gpreempt_target *target)
{
	if (target->scope == GPREEMPT_SCOPE_CGROUP)
		close(target->cgroup_fd);
}

/**
 * command_of() - name of a process's program; "?" if it is gone
 *
 * A process may have any name: what could steer a terminal becomes a question mark.
 *
 * Return: @buffer.
 */
const char *command_of(pid_t pid, char *buffer, size_t size)
{
	char path[64], *c;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	if (read_text(path, buffer, size) < 0)
		snprintf(buffer, size, "?");
	for (c = buffer; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return buffer;
}
