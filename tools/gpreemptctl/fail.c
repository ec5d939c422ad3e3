// SPDX-License-Identifier: MIT
/* fail.c - messages, exit statuses, and the connection, without which most commands fail */
#include "gpreemptctl.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

/* Which of several targets messages are about; empty: there is one */
static char target_name[256];

/** name_target() - messages from now on are about this one of several targets; NULL: about none */
void name_target(const char *name)
{
	snprintf(target_name, sizeof(target_name), name ? "%s: " : "%s", name ? name : "");
}

/**
 * fail() - say what went wrong
 * @status: exit status
 *
 * Return: @status.
 */
int fail(int status, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "gpreemptctl: %s", target_name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return status;
}

static int fail_because(int error, const char *why, const char *format, va_list args)
{
	fprintf(stderr, "gpreemptctl: %s", target_name);
	vfprintf(stderr, format, args);
	fprintf(stderr, ": %s\n", why);
	return error == -EPERM || error == -EACCES ? EXIT_DENIED : EXIT_FAILED;
}

/**
 * fail_errno() - say what went wrong with the scheduler and why
 * @error: negative errno, as libgpreempt gives it
 *
 * Return: the exit status that belongs to @error.
 */
int fail_errno(int error, const char *format, ...)
{
	static const struct {
		int error;
		const char *why;
	} reasons[] = {
		{ -ESRCH, "no such process" },
		{ -ENOENT, "no such queue" },
		{ -ENODEV, "no such GPU; gpreemptctl status lists them" },
		{ -EBADF, "not a directory of the cgroup v2 file system; without one: set -p PID --tree, or a line `cgroup' of /etc/gpreempt.conf" },
		{ -EACCES, "another user's; this takes CAP_SYS_ADMIN" },
		{ -EPERM, "not allowed; raising above 7 or above what an administrator set, weights, deadlines, runtimes, exemptions and follow_stop take CAP_SYS_NICE, cgroups and unbounded holds CAP_SYS_ADMIN" },
		{ -ERANGE, "out of bounds" },
		{ -EBUSY, "the driver does not let it go now (debugger, cooperative groups or a reset)" },
		{ -EOPNOTSUPP, "scheduling is switched off, only observes (observe=1) or is not possible on this node; try: gpreemptctl doctor" },
		{ -ETIME, "not saved in time" },
		{ -ENOSPC, "what the process has reserved does not fit then; nothing changed; gpreemptctl fits tells what is free" },
		{ -EIO, "the GPU is being reset, or a queue that was held has been: it stays off" },
	};
	const char *why = strerror(-error);
	va_list args;
	unsigned int i;
	int status;

	for (i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].error == error)
			why = reasons[i].why;
	va_start(args, format);
	status = fail_because(error, why, format, args);
	va_end(args);
	return status;
}

/**
 * fail_system() - say what went wrong with a file or a process and why
 * @error: negative errno, of the system
 *
 * Return: the exit status that belongs to @error.
 */
int fail_system(int error, const char *format, ...)
{
	va_list args;
	int status;

	va_start(args, format);
	status = fail_because(error, strerror(-error), format, args);
	va_end(args);
	return status;
}

/**
 * open_scheduler() - connect, or say why not
 * @g: out: to be closed by the caller
 *
 * Return: 0, or the exit status.
 */
int open_scheduler(struct gpreempt **g)
{
	int error = gpreempt_open(g);
	char how[512];

	switch (error) {
	case 0:
		return 0;
	case -ENOENT:
	case -ENODEV:
	case -ENXIO:
		return fail(EXIT_NO_MODULE, "no /dev/kfd_gpreempt: amdgpu is not loaded, or without kfd_gpreempt; try: gpreemptctl doctor");
	case -EPROTO:
		return fail(EXIT_NO_MODULE, "/dev/kfd_gpreempt speaks an older ABI than this program; update the module");
	case -EACCES:
	case -EPERM:
		how_to_open(how, sizeof(how));
		return fail(EXIT_DENIED, "/dev/kfd_gpreempt: %s; %s", strerror(-error), how);
	}
	return fail(EXIT_FAILED, "/dev/kfd_gpreempt: %s", strerror(-error));
}
