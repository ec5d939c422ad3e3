// SPDX-License-Identifier: MIT
/* place.c - see place.h */
#define _GNU_SOURCE
#include "place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gpreempt.h>

#include "parse.h"

bool place_is_class(const char *class)
{
	int priority;

	return !strcmp(class, "any") || parse_priority(class, &priority);
}

bool place_is_of(int priority, const char *class)
{
	int of;

	return !strcmp(class, "any") || (parse_priority(class, &of) && of == priority);
}

bool place_parse_job(const char *text, enum place_job *job)
{
	static const char *const words[] = { [PLACE_JOB_NONE] = "none", [PLACE_JOB_LEAVE] = "leave", [PLACE_JOB_STAY] = "stay" };
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strcmp(text, words[i])) {
			*job = (enum place_job)i;
			return true;
		}
	}
	return false;
}

bool place_parse_bounds(const char *text, struct place_bounds *bounds)
{
	const char *dots = strstr(text, "..");
	char floor[16];

	if (!dots || (size_t)(dots - text) >= sizeof(floor))
		return false;
	memcpy(floor, text, dots - text);
	floor[dots - text] = '\0';
	return parse_priority(floor, &bounds->floor) && parse_priority(dots + 2, &bounds->ceiling) && bounds->floor <= bounds->ceiling;
}

struct place_bounds place_narrow(struct place_bounds a, struct place_bounds b)
{
	struct place_bounds both;

	both.floor = a.floor > b.floor ? a.floor : b.floor;
	both.ceiling = a.ceiling < b.ceiling ? a.ceiling : b.ceiling;
	if (both.floor > both.ceiling)
		both.floor = both.ceiling;
	return both;
}

int place_clamp(struct place_bounds bounds, int priority)
{
	if (priority > bounds.ceiling)
		return bounds.ceiling;
	return priority < bounds.floor ? bounds.floor : priority;
}

int place_cgroup_root(char *path, size_t size)
{
	char line[4096], where[4096], type[64];
	int error = -ENOENT;
	FILE *f = fopen("/proc/self/mounts", "re");

	if (!f)
		return -errno;
	while (error == -ENOENT && fgets(line, sizeof(line), f))
		if (sscanf(line, "%*s %4095s %63s", where, type) == 2 && !strcmp(type, "cgroup2"))
			error = (size_t)snprintf(path, size, "%s", where) < size ? 0 : -ENAMETOOLONG;
	fclose(f);
	return error;
}

int place_cgroup_of(pid_t pid, char *path, size_t size)
{
	char name[64], line[4096];
	int error = -ENOENT;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/cgroup", pid);
	f = fopen(name, "re");
	if (!f)
		return errno == ENOENT ? -ESRCH : -errno;
	while (error == -ENOENT && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "0::", 3))
			continue;
		line[strcspn(line, "\n")] = '\0';
		error = (size_t)snprintf(path, size, "%s", line + 3) < size ? 0 : -ENAMETOOLONG;
	}
	fclose(f);
	return error;
}

int place_available(void)
{
	struct gpreempt *g;
	int error = gpreempt_open(&g);

	if (!error)
		gpreempt_close(g);
	return error;
}

static int set_priority(const struct gpreempt_target *target, int priority, bool tree)
{
	struct gpreempt *g;
	int error = gpreempt_open(&g);

	if (error)
		return error;
	error = tree ? gpreempt_set_tree_priority(g, target, priority) : gpreempt_set_priority(g, target, priority);
	gpreempt_close(g);
	return error;
}

static int set_job(const struct gpreempt_target *target, uint64_t id, enum place_job job, unsigned int flags)
{
	struct gpreempt *g;
	int error = gpreempt_open(&g);

	if (error)
		return error;
	error = gpreempt_set_job(g, target, id, flags | (job == PLACE_JOB_STAY ? GPREEMPT_JOB_STAY : 0));
	gpreempt_close(g);
	return error;
}

int place_set_tree(pid_t pid, int priority)
{
	struct gpreempt_target target = gpreempt_target_process(pid, 0);

	return set_priority(&target, priority, true);
}

int place_set_tree_job(pid_t pid, uint64_t number, enum place_job job)
{
	struct gpreempt_target target = gpreempt_target_process(pid, 0);

	return job == PLACE_JOB_NONE ? 0 : set_job(&target, PLACE_NUMBERS | number, job, GPREEMPT_JOB_INHERIT);
}

int place_set(const char *directory, int priority)
{
	int error, fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct gpreempt_target target;

	if (fd < 0)
		return -errno;
	target = gpreempt_target_cgroup(fd);
	error = set_priority(&target, priority, false);
	close(fd);
	return error;
}

int place_set_job(const char *directory, enum place_job job)
{
	struct gpreempt_target target;
	struct stat cgroup;
	int error, fd;

	if (job == PLACE_JOB_NONE)
		return 0;
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	target = gpreempt_target_cgroup(fd);
	/* What the kernel calls the cgroup's id, as gpreemptctl does */
	error = fstat(fd, &cgroup) ? -errno : set_job(&target, cgroup.st_ino, job, 0);
	close(fd);
	return error;
}
