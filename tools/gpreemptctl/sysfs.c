// SPDX-License-Identifier: MIT
/*
 * sysfs.c - small files: attributes of nodes, parameters of the module
 */
#include "gpreemptctl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
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

/** write_text() - replace what a file says. Return: 0, or a negative errno. */
int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int error = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		error = -errno;
	close(fd);
	return error;
}

#define NODES	"/sys/class/kfd/kfd/gpreempt"

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
 * @fn: a result other than 0 ends it
 *
 * Return: the last result of @fn, or a negative errno.
 */
int node_attributes(unsigned int gpu_id, int (*fn)(const char *name, const char *value, void *arg), void *arg)
{
	struct dirent **entries;
	char path[64], value[256];
	int i, nr, r = 0;

	snprintf(path, sizeof(path), NODES "/%u", gpu_id);
	nr = scandir(path, &entries, NULL, by_name);
	if (nr < 0)
		return -errno;
	for (i = 0; i < nr; i++) {
		if (!r && entries[i]->d_name[0] != '.' && node_attribute(gpu_id, entries[i]->d_name, value, sizeof(value)) >= 0)
			r = fn(entries[i]->d_name, value, arg);
		free(entries[i]);
	}
	free(entries);
	return r;
}
