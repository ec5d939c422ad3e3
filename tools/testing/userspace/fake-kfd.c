// SPDX-License-Identifier: MIT
/*
 * fake-kfd.c - /dev/kfd and /dev/kfd_gpreempt for a program that has neither, as a preloaded library
 *
 * Comes after the library under test in LD_PRELOAD: what this one gets is what the kernel would get. Each command is a line in the file
 * $FAKE_LOG. $FAKE_MODULE: /dev/kfd_gpreempt is there. $FAKE_EPERM: without CAP_SYS_NICE.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/kfd_gpreempt.h>

#include "kfd.h"

static atomic_int kfd_fd = -1;
static atomic_uint next_queue;

static void note(const char *format, ...)
{
	char line[160];
	va_list args;
	int fd, length;

	va_start(args, format);
	length = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	/* One write, at the end: threads and processes write here. */
	fd = (int)syscall(SYS_openat, AT_FDCWD, getenv("FAKE_LOG"), O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (fd < 0 || write(fd, line, (size_t)length) != length)
		abort();
	close(fd);
}

int open(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = va_arg(args, mode_t);
	va_end(args);
	if (!strcmp(path, "/dev/kfd")) {
		if (kfd_fd < 0)
			kfd_fd = memfd_create("kfd", 0);
		return dup(kfd_fd);
	}
	if (!strcmp(path, "/dev/kfd_gpreempt")) {
		if (getenv("FAKE_MODULE"))
			return memfd_create("gpreempt", 0);
		errno = ENOENT;
		return -1;
	}
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int stat(const char *path, struct stat *st)
{
	if (!strcmp(path, "/dev/kfd")) {
		if (kfd_fd >= 0)
			return fstat(kfd_fd, st);
		errno = ENOENT;
		return -1;
	}
	return fstatat(AT_FDCWD, path, st, 0);
}

static int kfd_command(unsigned long request, void *argument)
{
	struct kfd_create_queue *create = argument;
	struct kfd_update_queue *update = argument;
	struct kfd_of_queue *of = argument;

	switch (_IOC_NR(request)) {
	case KFD_CREATE_QUEUE_NR:
		if (!create->ring_bytes) {
			note("create refused\n");
			errno = EINVAL;
			return -1;
		}
		create->queue_id = next_queue++;
		note("create type=%u priority=%u bytes=%lu\n", create->type, create->priority, (unsigned long)_IOC_SIZE(request));
		return 0;
	case KFD_UPDATE_QUEUE_NR:
		note("update queue=%u priority=%u\n", update->queue_id, update->priority);
		return 0;
	case KFD_DESTROY_QUEUE_NR:
		note("destroy queue=%u\n", of->queue_id);
		return 0;
	case KFD_SET_CU_MASK_NR:
		note("cu_mask queue=%u\n", of->queue_id);
		return 0;
	}
	note("kfd command 0x%lx\n", request);
	return 0;
}

static int gpreempt_command(unsigned long request, void *argument)
{
	struct gpreempt_priority *priority = argument;
	struct gpreempt_info *info = argument;

	if (request == GPREEMPT_IOC_INFO) {
		info->abi_version = GPREEMPT_ABI_VERSION;
		return 0;
	}
	if (request != GPREEMPT_IOC_SET_PRIORITY)
		abort();
	if (priority->target.scope == GPREEMPT_SCOPE_QUEUE)
		note("%s gpu=%u queue=%u priority=%d\n", priority->flags & GPREEMPT_PRIORITY_CLEAR ? "clear_priority" : "set_priority",
		     priority->target.gpu_id, priority->target.queue_id, priority->priority);
	else
		note("set_priority scope=%u pid=%d priority=%d\n", priority->target.scope, priority->target.pid, priority->priority);
	if (getenv("FAKE_EPERM")) {
		errno = EPERM;
		return -1;
	}
	return 0;
}

int ioctl(int fd, unsigned long request, ...)
{
	struct stat opened, kfd;
	void *argument;
	va_list args;

	va_start(args, request);
	argument = va_arg(args, void *);
	va_end(args);
	if (_IOC_TYPE(request) == 'Y')
		return gpreempt_command(request, argument);
	if (_IOC_TYPE(request) == KFD_IOCTL_TYPE && !fstat(fd, &opened) && !stat("/dev/kfd", &kfd) && opened.st_ino == kfd.st_ino &&
	    opened.st_dev == kfd.st_dev) {
		if (!argument) {
			errno = EFAULT;
			return -1;
		}
		return kfd_command(request, argument);
	}
	return (int)syscall(SYS_ioctl, fd, request, argument);
}
