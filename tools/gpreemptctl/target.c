// SPDX-License-Identifier: MIT
/* target.c - what -p, -g, -q and --cgroup mean */
#include "gpreemptctl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
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
 * each_target() - do the same to each process or cgroup that the options name
 * @fn: does it, to one: returns 0, or the exit status, said. Its options name that one alone
 * @data: for @fn
 *
 * When one of several fails, the others are done all the same, and messages name the one.
 *
 * Return: 0, or the exit status: of one target its own, of several EXIT_FAILED.
 */
int each_target(struct gpreempt *g, const struct options *o, target_fn fn, void *data)
{
	bool cgroups = o->given & GIVEN_CGROUP;
	int i, r, status = 0, nr = cgroups ? o->nr_cgroups : o->nr_pids;
	struct gpreempt_target target;
	struct options one = *o;
	char name[256];

	for (i = 0; i < nr; i++) {
		if (cgroups) {
			one.cgroup = o->cgroups[i];
			snprintf(name, sizeof(name), "cgroup %s", one.cgroup);
		} else {
			one.pid = o->pids[i];
			snprintf(name, sizeof(name), "pid %d", (int)one.pid);
		}
		name_target(nr > 1 ? name : NULL);
		r = get_target(&one, &target);
		if (!r) {
			r = fn(g, &one, &target, data);
			put_target(&target);
		}
		if (r)
			status = nr > 1 ? EXIT_FAILED : r;
	}
	name_target(NULL);
	return status;
}

/* Threads of the kernel have no command line. */
static bool target_is_program(pid_t pid)
{
	char path[64], line[16];

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	return read_text(path, line, sizeof(line)) > 0;
}

/**
 * refuse_ambiguous() - is the command's number behind -p PID another process that was meant?
 *
 * In `set -p $(pidof x)' without a priority the last pid would be one. A process that has queues
 * is taken for meant; in `set -p $(pidof x) weight=5', where none is needed, so is any program.
 *
 * Return: 0, or EXIT_USAGE, said.
 */
int refuse_ambiguous(struct gpreempt *g, const struct options *o)
{
	struct gpreempt_target all = gpreempt_target_all();
	struct gpreempt_queue_info *queues;
	bool found;
	int i, nr;

	if (!o->taken)
		return 0;
	found = (strchr(o->args[0], '=') || strchr(o->args[o->nr_args - 1], '=')) && target_is_program(o->taken);
	nr = gpreempt_list_queues(g, &all, &queues);
	for (i = 0; i < nr; i++)
		found |= queues[i].pid == o->taken;
	free(queues);
	if (!found)
		return 0;
	return fail(EXIT_USAGE, "%d behind -p is the pid of a program as well: a number for the command stands before -p, pids are -p %d,%d; nothing changed",
		    o->taken, o->pid, o->taken);
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
