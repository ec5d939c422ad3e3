// SPDX-License-Identifier: MIT
/*
 * where.c - see where.h
 *
 * Slurm's cgroups of version 2 are .../NODE_slurmstepd.scope/JOB/step_X. JOB is job_N or, from
 * 26.05 on, the job's SLUID. What is below such a scope is never moved, whatever it is called. Ours
 * are kfd_gpreempt/job_N/step_M.
 */
#define _GNU_SOURCE
#include "where.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "place.h"

#define WHERE_SCOPE	"slurmstepd.scope"
#define WHERE_OWN	"kfd_gpreempt"
#define WHERE_MARK	"trusted.kfd_gpreempt"

/* Tasks that were killed leave their cgroup a moment later. */
#define WHERE_TRIES	500
#define WHERE_WAIT_US	10000

static int where_print(char *to, const char *root, const char *path, size_t length)
{
	int n = snprintf(to, PATH_MAX, "%s%.*s", root, (int)length, path);

	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* Slurm's. Return: 0; -ENOENT: the path has none that is known. */
static int where_of_slurm(const char *root, const char *path, struct where *where)
{
	const char *job = strstr(path, WHERE_SCOPE), *step;
	int error;

	if (!job)
		return -ENOENT;
	job += strlen(WHERE_SCOPE);
	step = *job == '/' ? strchr(job + 1, '/') : NULL;
	if (!step || strncmp(step, "/step_", strlen("/step_")))
		return -ENOENT;
	error = where_print(where->job, root, path, step - path);
	if (error)
		return error;
	return where_print(where->step, root, path, step + 1 + strcspn(step + 1, "/") - path);
}

static int where_make(const char *directory)
{
	return mkdir(directory, 0755) && errno != EEXIST ? -errno : 0;
}

static int where_join(const char *directory, pid_t pid)
{
	char name[PATH_MAX + 16];
	int error = 0;
	FILE *f;

	snprintf(name, sizeof(name), "%s/cgroup.procs", directory);
	f = fopen(name, "we");
	if (!f)
		return -errno;
	if (fprintf(f, "%d\n", pid) < 0)
		error = -errno;
	return fclose(f) && !error ? -errno : error;
}

/* Return: 0 or a negative errno. */
static int where_make_own(const char *root, uint32_t job, uint32_t step, struct where *where)
{
	static const char top[] = "/" WHERE_OWN;
	char path[64];
	int error, tries, n = sizeof(top) - 1;

	error = where_print(where->job, root, top, n);
	if (!error)
		error = where_make(where->job);
	if (error)
		return error;
	n = snprintf(path, sizeof(path), "%s/job_%u", top, job);
	error = where_print(where->job, root, path, n);
	n += snprintf(path + n, sizeof(path) - n, "/step_%u", step);
	if (!error)
		error = where_print(where->step, root, path, n);
	if (error)
		return error;
	/* Another step of the job, which ends, may remove the job's meanwhile. */
	error = -ENOENT;
	for (tries = 0; error == -ENOENT && tries < WHERE_TRIES; tries++) {
		error = where_make(where->job);
		if (!error)
			error = where_make(where->step);
	}
	return error;
}

int where_find(pid_t pid, uint32_t job, uint32_t step, bool move, struct where *where)
{
	char root[PATH_MAX / 2], path[PATH_MAX / 2], ours[PATH_MAX / 2];
	int error = place_cgroup_root(root, sizeof(root));

	*where = (struct where){ 0 };
	if (!error)
		error = place_cgroup_of(pid, path, sizeof(path));
	if (error)
		return error;
	error = where_of_slurm(root, path, where);
	if (error != -ENOENT)
		return error;
	if (strstr(path, WHERE_SCOPE) || !move)
		return -ENOENT;
	if (place_cgroup_of(getpid(), ours, sizeof(ours)))
		return -ENOENT;
	/* Slurm has left it where slurmstepd is, or we have moved it. */
	if (strcmp(path, ours) && strncmp(path, "/" WHERE_OWN "/", strlen("/" WHERE_OWN "/")))
		return -ENOENT;
	error = where_make_own(root, job, step, where);
	if (!error)
		error = where_join(where->step, pid);
	where->own = true;
	return error;
}

bool where_speaks(const struct where *where, uint32_t step)
{
	uint32_t first;

	if (!setxattr(where->job, WHERE_MARK, &step, sizeof(step), XATTR_CREATE) || errno != EEXIST)
		return true;
	return getxattr(where->job, WHERE_MARK, &first, sizeof(first)) == sizeof(first) &&
	       first == step;
}

bool where_is_spoken_for(const struct where *where)
{
	return getxattr(where->job, WHERE_MARK, NULL, 0) > 0;
}

bool where_leave(const struct where *where)
{
	int tries;

	for (tries = 0; tries < WHERE_TRIES; tries++) {
		if (!rmdir(where->step) || errno != EBUSY)
			break;
		usleep(WHERE_WAIT_US);
	}
	/* Other steps may be in it. */
	rmdir(where->job);
	return tries < WHERE_TRIES;
}
