// SPDX-License-Identifier: MIT
/* sysfs.c - small files: attributes of nodes, parameters of the module; rights of the device */
#include "gpreemptctl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/** read_text() - content of a small file. Return: its length, or a negative errno. */
int read_text(const char *path, char *buffer, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;
	int error;

	if (fd < 0)
		return -errno;
	got = read(fd, buffer, size - 1);
	error = -errno;
	close(fd);
	if (got < 0)
		return error;
	while (got && buffer[got - 1] == '\n')
		got--;
	buffer[got] = '\0';
	return got;
}

/** write_text() - replace what a file of the kernel says; with an empty text the kernel would not notice. Return: 0, or a negative errno. */
int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t length = strlen(text), written;
	int error = 0;

	if (fd < 0)
		return -errno;
	written = write(fd, text, length);
	if (written < 0)
		error = -errno;
	else if (written != length || !length)
		error = -EINVAL;
	close(fd);
	return error;
}

/** node_attribute() - a file of a node's directory. Return: length of its content, or a negative errno. */
int node_attribute(unsigned int gpu_id, const char *name, char *buffer, size_t size)
{
	char path[512];

	snprintf(path, sizeof(path), NODES "/%u/%s", gpu_id, name);
	return read_text(path, buffer, size);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/**
 * node_attributes() - call @fn for each readable file of a node's directory, by name
 * @directory: below the node's; "": its own
 * @fn: a result other than 0 ends it
 *
 * Return: the last result of @fn, or a negative errno.
 */
int node_attributes(unsigned int gpu_id, const char *directory, attribute_fn fn, void *arg)
{
	struct dirent **entries;
	char path[512], value[256];
	int i, nr, r = 0;

	snprintf(path, sizeof(path), NODES "/%u/%s", gpu_id, directory);
	nr = scandir(path, &entries, NULL, by_name);
	if (nr < 0)
		return -errno;
	for (i = 0; i < nr; i++) {
		snprintf(path, sizeof(path), NODES "/%u/%s/%s", gpu_id, directory, entries[i]->d_name);
		if (!r && entries[i]->d_name[0] != '.' && read_text(path, value, sizeof(value)) >= 0)
			r = fn(entries[i]->d_name, value, arg);
		free(entries[i]);
	}
	free(entries);
	return r;
}

/* Only there does the scheduler tell the same pids as KFD's files have. */
static bool in_first_pid_namespace(void)
{
	static const char first[] = "pid:[4026531836]";
	char link[64];
	ssize_t length = readlink("/proc/self/ns/pid", link, sizeof(link));

	return length == sizeof(first) - 1 && !memcmp(link, first, length);
}

/** ring_bytes() - size of a queue's ring, as the driver has it; 0: not known */
uint64_t ring_bytes(const struct gpreempt_queue_info *q)
{
	unsigned long long size, gpu_id;
	char path[512], text[64];

	/* Contexts have their numbers elsewhere. */
	if (q->pid <= 0 || q->context > 1 || !in_first_pid_namespace())
		return 0;
	snprintf(path, sizeof(path), PROCESSES "/%d/queues/%u/gpuid", (int)q->pid, q->queue_id);
	if (read_text(path, text, sizeof(text)) < 0 || !parse_number(text, UINT32_MAX, &gpu_id) || gpu_id != q->gpu_id)
		return 0;
	snprintf(path, sizeof(path), PROCESSES "/%d/queues/%u/size", (int)q->pid, q->queue_id);
	return read_text(path, text, sizeof(text)) >= 0 && parse_number(text, ~0ULL, &size) ? size : 0;
}

static const char *sysfs_group(gid_t gid)
{
	const struct group *group = getgrgid(gid);

	return group ? group->gr_name : "without a name";
}

/**
 * how_to_open() - after /dev/kfd_gpreempt was refused: what lets this user open it
 *
 * By the package's udev rule it has the mode and the group of /dev/kfd. Another rule, or a chmod,
 * may have changed one of the two.
 */
void how_to_open(char *text, size_t size)
{
	struct stat own, kfd;
	int length;

	if (stat("/dev/kfd_gpreempt", &own) || stat("/dev/kfd", &kfd)) {
		snprintf(text, size, "members of the group render may open it");
		return;
	}
	length = snprintf(text, size, "it has mode %04o, group %s, and /dev/kfd mode %04o, ", own.st_mode & 07777,
			  sysfs_group(own.st_gid), kfd.st_mode & 07777);
	length += snprintf(text + length, size - length, "group %s: ", sysfs_group(kfd.st_gid));
	if ((kfd.st_mode & 0060) != 0060)
		snprintf(text + length, size - length, "root alone may open both, until a udev rule gives /dev/kfd a group's mode");
	else if (access("/dev/kfd", R_OK | W_OK))
		snprintf(text + length, size - length, "members of the group %s may open both", sysfs_group(kfd.st_gid));
	else
		snprintf(text + length, size - length,
			 "udevadm trigger --action=change --sysname-match=kfd_gpreempt has the package's rule give it the mode and the group of /dev/kfd");
}
