// SPDX-License-Identifier: MIT
/*
 * device.c - stands for /dev/kfd_gpreempt where there is no GPU: a library to preload, which answers open() and ioctl() of that one device
 *
 * Priorities of cgroups are lines "PATH PRIORITY" of $GPREEMPT_DEVICE, those that processes let others inherit lines "PID PRIORITY". Every process with GPREEMPT_TEST_QUEUE in its environment has one queue, whose
 * priority is that of the nearest cgroup, as in the kernel; the variable's value may be "debugged" or "suspended". Nodes are the folders of /sys/class/kfd/kfd/gpreempt. Nothing else is known here: ENOTTY.
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

static const char *settings(void)
{
	const char *name = getenv("GPREEMPT_DEVICE");

	return name ? name : "/tmp/gpreempt-device";
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
	if (!strcmp(path, "/dev/kfd_gpreempt"))
		return memfd_create(NAME, MFD_CLOEXEC);
	if (!real)
		real = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
	return real(path, flags, mode);
}

static int set_priority(const struct gpreempt_priority *p)
{
	char link[64], path[PATH_MAX], root[PATH_MAX];
	ssize_t length;
	FILE *f;

	if (geteuid())
		return -EPERM;
	if (p->target.scope == GPREEMPT_SCOPE_PROCESS && p->flags == GPREEMPT_PRIORITY_INHERIT) {
		f = fopen(settings(), "ae");
		if (!f)
			return -errno;
		fprintf(f, "%d %d\n", p->target.pid, p->priority);
		fclose(f);
		return 0;
	}
	if (p->target.scope != GPREEMPT_SCOPE_CGROUP)
		return -ENOTTY;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", p->target.cgroup_fd);
	length = readlink(link, path, sizeof(path) - 1);
	if (length < 0 || place_cgroup_root(root, sizeof(root)))
		return -EBADF;
	path[length] = '\0';
	if (strncmp(path, root, strlen(root)))
		return -EBADF;
	f = fopen(settings(), "ae");
	if (!f)
		return -errno;
	fprintf(f, "%s %d\n", path + strlen(root), p->priority);
	fclose(f);
	return 0;
}

/* The nearest cgroup above a path that has a setting; later lines count. */
static bool nearest(const char *path, int *priority)
{
	size_t best = 0;
	char name[PATH_MAX];
	bool found = false;
	int value;
	FILE *f;

	f = fopen(settings(), "re");
	while (f && fscanf(f, "%4095s %d", name, &value) == 2) {
		size_t length = strlen(name);

		if (length >= best && !strncmp(path, name, length) && (!path[length] || path[length] == '/')) {
			*priority = value;
			best = length;
			found = true;
		}
	}
	if (f)
		fclose(f);
	return found;
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
		if (nearest(path, &q.logical_priority))
			q.source = GPREEMPT_SOURCE_CGROUP;
		q.effective_priority = q.logical_priority;
		if (n < l->nr_queues)
			queues[n] = q;
		n++;
	}
	if (proc)
		closedir(proc);
	l->nr_queues = n;
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
	} else if (request == GPREEMPT_IOC_LIST) {
		error = list(argument);
	} else {
		error = -ENOTTY;
	}
	errno = -error;
	return error ? -1 : 0;
}
