// SPDX-License-Identifier: MIT
/*
 * device.c - stands for /dev/kfd_gpreempt where there is no GPU: a library to preload, which answers open() and ioctl() of that one device
 *
 * Priorities of cgroups are lines "PATH PRIORITY" of $GPREEMPT_DEVICE, those that processes let others inherit lines "PID PRIORITY". Jobs are lines
 * "PATH ID" or "PID ID" of $GPREEMPT_DEVICE.jobs, and of $GPREEMPT_DEVICE.stay those that stay. Shares of cgroups are lines "PATH WEIGHT MIN QUOTA/PERIOD" of
 * $GPREEMPT_DEVICE.shares. Every process with GPREEMPT_TEST_QUEUE in its environment has one queue, whose
 * priority is that of the nearest cgroup, as in the kernel; the variable's value may be "debugged" or "suspended". Lines "ID BUSY_MS WAITING_MS
 * PREEMPTED_MS WAVES" of $GPREEMPT_DEVICE.usage are what cgroups have used. Nodes are the folders of /sys/class/kfd/kfd/gpreempt. Nothing else is known here: ENOTTY.
 * With $GPREEMPT_DEVICE.root only root may open it. $GPREEMPT_DEVICE.share-errno has the errno that setting a share fails with.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/kfd_gpreempt.h>

#include "place.h"

#define NAME	"kfd_gpreempt-test"

#define PRIORITIES	""
#define JOBS		".jobs"
#define STAYING		".stay"
#define SHARES		".shares"
#define USAGE		".usage"
#define ROOT_ONLY	".root"
#define SHARE_ERRNO	".share-errno"

static FILE *settings(const char *which, const char *mode)
{
	const char *name = getenv("GPREEMPT_DEVICE");
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s%s", name ? name : "/tmp/gpreempt-device", which);
	return fopen(path, mode);
}

/* A number; @empty: where the file has none; 0: there is no file. */
static int setting(const char *which, int empty)
{
	FILE *f = settings(which, "re");
	int number = empty;

	if (!f)
		return 0;
	if (fscanf(f, "%d", &number) != 1)
		number = empty;
	fclose(f);
	return number;
}

static int add_line(const char *which, const char *name, uint64_t value)
{
	FILE *f = settings(which, "ae");

	if (!f)
		return -errno;
	fprintf(f, "%s %lld\n", name, (long long)value);
	return fclose(f) ? -errno : 0;
}

/* What a target's lines begin with, where it is one that lines are for: a cgroup, or a process that others inherit from */
static int name_of(const struct gpreempt_target *target, bool inherit, char *name, size_t size)
{
	char link[64], path[PATH_MAX], root[PATH_MAX];
	ssize_t length;

	if (geteuid())
		return -EPERM;
	if (target->scope == GPREEMPT_SCOPE_PROCESS && inherit) {
		snprintf(name, size, "%d", target->pid);
		return 0;
	}
	if (target->scope != GPREEMPT_SCOPE_CGROUP)
		return -ENOTTY;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", target->cgroup_fd);
	length = readlink(link, path, sizeof(path) - 1);
	if (length < 0 || place_cgroup_root(root, sizeof(root)))
		return -EBADF;
	path[length] = '\0';
	if (strncmp(path, root, strlen(root)))
		return -EBADF;
	snprintf(name, size, "%s", path + strlen(root));
	return 0;
}

int open(const char *path, int flags, ...)
{
	static int (*real)(const char *, int, ...);
	mode_t mode = 0;
	va_list list;

	if (flags & (O_CREAT | __O_TMPFILE)) {
		va_start(list, flags);
		mode = va_arg(list, mode_t);
		va_end(list);
	}
	if (!strcmp(path, "/dev/kfd_gpreempt")) {
		if (geteuid() && setting(ROOT_ONLY, 1)) {
			errno = EACCES;
			return -1;
		}
		return memfd_create(NAME, MFD_CLOEXEC);
	}
	if (!real)
		real = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
	return real(path, flags, mode);
}

static int set_priority(const struct gpreempt_priority *p)
{
	char name[PATH_MAX];
	int error = name_of(&p->target, p->flags == GPREEMPT_PRIORITY_INHERIT, name, sizeof(name));

	return error ? error : add_line(PRIORITIES, name, p->priority);
}

static int set_job(const struct gpreempt_set_job *j)
{
	char name[PATH_MAX];
	int error = name_of(&j->target, j->flags & GPREEMPT_JOB_INHERIT, name, sizeof(name));

	if (!error && j->flags & GPREEMPT_JOB_STAY)
		error = add_line(STAYING, name, j->job);
	return error ? error : add_line(JOBS, name, j->job);
}

static int set_share(const struct gpreempt_set_share *s)
{
	char name[PATH_MAX];
	int error = setting(SHARE_ERRNO, 0) ? -setting(SHARE_ERRNO, 0) : name_of(&s->target, false, name, sizeof(name));
	FILE *f = error ? NULL : settings(SHARES, "ae");

	if (!f)
		return error ? error : -errno;
	fprintf(f, "%s %u %u %llu/%llu\n", name, s->weight, s->min_pct, (unsigned long long)s->quota_us, (unsigned long long)s->period_us);
	return fclose(f) ? -errno : 0;
}

/* What the nearest cgroup above a path has among these; later lines count. */
static bool nearest(const char *which, const char *path, long long *found)
{
	FILE *f = settings(which, "re");
	char name[PATH_MAX];
	long long value;
	size_t best = 0;
	bool any = false;

	while (f && fscanf(f, "%4095s %lld", name, &value) == 2) {
		size_t length = strlen(name);

		if (length >= best && !strncmp(path, name, length) && (!path[length] || path[length] == '/')) {
			*found = value;
			best = length;
			any = true;
		}
	}
	if (f)
		fclose(f);
	return any;
}

static bool has_queue(const char *pid, unsigned int *flags)
{
	static const char variable[] = "GPREEMPT_TEST_QUEUE=";
	char name[64], text[65536];
	const char *value;
	size_t length;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%.16s/environ", pid);
	f = fopen(name, "re");
	if (!f)
		return false;
	length = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[length] = '\0';
	value = memmem(text, length, variable, strlen(variable));
	if (!value)
		return false;
	value += strlen(variable);
	*flags = !strcmp(value, "debugged") ? GPREEMPT_QUEUE_DEBUGGED : !strcmp(value, "suspended") ? GPREEMPT_QUEUE_SUSPENDED : 0;
	return true;
}

static int list(struct gpreempt_list *l)
{
	struct gpreempt_queue_info *queues = (struct gpreempt_queue_info *)(uintptr_t)l->queues;
	uint64_t *jobs = (uint64_t *)(uintptr_t)l->jobs;
	long long priority, job;
	char path[PATH_MAX];
	unsigned int n = 0;
	struct dirent *d;
	DIR *proc;

	proc = opendir("/proc");
	while (proc && (d = readdir(proc))) {
		struct gpreempt_queue_info q = { .gpu_id = 1, .logical_priority = GPREEMPT_PRIORITY_NORMAL, .kfd_priority = 7 };

		q.pid = atoi(d->d_name);
		if (q.pid <= 0 || !has_queue(d->d_name, &q.flags) || place_cgroup_of(q.pid, path, sizeof(path)))
			continue;
		if (nearest(PRIORITIES, path, &priority)) {
			q.logical_priority = (int)priority;
			q.source = GPREEMPT_SOURCE_CGROUP;
		}
		q.effective_priority = q.logical_priority;
		if (n < l->nr_queues)
			queues[n] = q;
		if (jobs && n < l->nr_queues)
			jobs[n] = nearest(JOBS, path, &job) ? (uint64_t)job : 0;
		n++;
	}
	if (proc)
		closedir(proc);
	l->nr_queues = n;
	return 0;
}

static int usage(struct gpreempt_usage *u)
{
	struct gpreempt_usage_info *entries = (struct gpreempt_usage_info *)(uintptr_t)u->entries;
	unsigned long long id, busy, waiting, preempted, waves;
	FILE *f = settings(USAGE, "re");
	unsigned int n = 0;

	while (f && fscanf(f, "%llu %llu %llu %llu %llu", &id, &busy, &waiting, &preempted, &waves) == 5) {
		if (n < u->nr_entries)
			entries[n] = (struct gpreempt_usage_info){ .kind = GPREEMPT_USAGE_CGROUP, .gpu_id = 1, .cgroup = id,
				.usage = { busy * 1000000, waiting * 1000000, preempted * 1000000, waves * 1000000 } };
		n++;
	}
	if (f)
		fclose(f);
	u->nr_entries = n;
	return 0;
}

static int info(struct gpreempt_info *i)
{
	struct gpreempt_node_info *nodes = (struct gpreempt_node_info *)(uintptr_t)i->nodes;
	unsigned int n = 0;
	struct dirent *d;
	DIR *folder;

	folder = opendir("/sys/class/kfd/kfd/gpreempt");
	while (folder && (d = readdir(folder))) {
		if (atoi(d->d_name) <= 0)
			continue;
		if (n < i->nr_nodes)
			nodes[n] = (struct gpreempt_node_info){ .gpu_id = atoi(d->d_name), .state = GPREEMPT_NODE_PARKED };
		n++;
	}
	if (folder)
		closedir(folder);
	i->abi_version = GPREEMPT_ABI_VERSION;
	i->features = GPREEMPT_FEATURE_JOB;
	i->nr_nodes = n;
	return 0;
}

int ioctl(int fd, unsigned long request, ...)
{
	static int (*real)(int, unsigned long, ...);
	char link[64], name[PATH_MAX] = "";
	void *argument;
	va_list all;
	int error;

	va_start(all, request);
	argument = va_arg(all, void *);
	va_end(all);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (readlink(link, name, sizeof(name) - 1) < 0 || !strstr(name, NAME)) {
		if (!real)
			real = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
		return real(fd, request, argument);
	}
	if (request == GPREEMPT_IOC_INFO) {
		error = info(argument);
	} else if (request == GPREEMPT_IOC_SET_PRIORITY) {
		error = set_priority(argument);
	} else if (request == GPREEMPT_IOC_SET_JOB) {
		error = set_job(argument);
	} else if (request == GPREEMPT_IOC_SET_SHARE) {
		error = set_share(argument);
	} else if (request == GPREEMPT_IOC_LIST) {
		error = list(argument);
	} else if (request == GPREEMPT_IOC_USAGE) {
		error = usage(argument);
	} else {
		error = -ENOTTY;
	}
	errno = -error;
	return error ? -1 : 0;
}
