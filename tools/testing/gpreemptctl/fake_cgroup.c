// SPDX-License-Identifier: MIT
/*
 * fake_cgroup.c - a test's tree of folders below $MACHINE/sys/fs/cgroup that answers writes as the kernel's dmem controller does, linked with
 * --wrap beside machine.c
 *
 * It counts and bounds nothing: it is about files. A cgroup is a folder with cgroup.controllers, cgroup.subtree_control and cgroup.procs; regions
 * are those of dmem.capacity at the top. What the kernel refuses is refused with the same errno.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

ssize_t __real_write(int fd, const void *buffer, size_t size);
char *__real_realpath(const char *path, char *resolved);
FILE *__real_fopen(const char *path, const char *mode);
ssize_t __real_readlink(const char *path, char *buffer, size_t size);

static void top(char *path)
{
	const char *machine = getenv("MACHINE");

	snprintf(path, PATH_MAX, "%s/sys/fs/cgroup", machine ? machine : "");
}

/* What is left of a path in the real tree */
char *__wrap_realpath(const char *path, char *resolved)
{
	char there[PATH_MAX];
	const char *machine = getenv("MACHINE");

	snprintf(there, sizeof(there), "%s%s", machine && !strncmp(path, "/sys/", 5) ? machine : "", path);
	return __real_realpath(there, resolved);
}

static bool slurp(const char *folder, const char *name, char *text, size_t size)
{
	char path[PATH_MAX + 64];
	size_t length = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = __real_fopen(path, "re");
	if (f) {
		length = fread(text, 1, size - 1, f);
		fclose(f);
	}
	text[length] = '\0';
	return f;
}

static void spit(const char *folder, const char *name, const char *text)
{
	char path[PATH_MAX + 64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = __real_fopen(path, "we");
	if (!f)
		abort();
	fputs(text, f);
	fclose(f);
}

/* A file with a line for each region */
static void add_file(const char *folder, const char *name, const char *value)
{
	char root[PATH_MAX], capacities[4096], text[4096] = "", *line, *next = NULL;

	top(root);
	slurp(root, "dmem.capacity", capacities, sizeof(capacities));
	for (line = strtok_r(capacities, "\n", &next); line; line = strtok_r(NULL, "\n", &next)) {
		*strchr(line, ' ') = '\0';
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s %s\n", line, value);
	}
	spit(folder, name, text);
}

static int set_limit(const char *folder, const char *name, const char *written)
{
	char text[4096], changed[4200] = "", region[256], value[64], *end, *line, *next = NULL;
	bool found = false;

	if (sscanf(written, "%255s %63s", region, value) != 2)
		return -EINVAL;
	strtoull(value, &end, 10);
	if (strcmp(value, "max") && (*end || end == value))
		return -EINVAL;
	slurp(folder, name, text, sizeof(text));
	for (line = strtok_r(text, "\n", &next); line; line = strtok_r(NULL, "\n", &next)) {
		bool same = !strncmp(line, region, strlen(region)) && line[strlen(region)] == ' ';

		found |= same;
		snprintf(changed + strlen(changed), sizeof(changed) - strlen(changed), "%s%s%s\n", same ? region : line, same ? " " : "", same ? value : "");
	}
	if (!found)
		return -EINVAL;
	spit(folder, name, changed);
	return 0;
}

static void add_controller(const char *folder)
{
	char text[256];

	slurp(folder, "cgroup.controllers", text, sizeof(text) - 16);
	text[strcspn(text, "\n")] = '\0';
	strcat(text, *text ? " dmem\n" : "dmem\n");
	spit(folder, "cgroup.controllers", text);
	add_file(folder, "dmem.low", "0");
	add_file(folder, "dmem.max", "max");
	add_file(folder, "dmem.current", "4096");
}

static int pass_on(const char *folder, const char *written)
{
	char text[256], root[PATH_MAX], child[PATH_MAX + 300];
	struct dirent *d;
	DIR *children;

	if (strcmp(written, "+dmem"))
		return -EINVAL;
	slurp(folder, "cgroup.controllers", text, sizeof(text));
	if (!strstr(text, "dmem"))
		return -ENOENT;
	top(root);
	slurp(folder, "cgroup.procs", text, sizeof(text));
	if (*text && strcmp(folder, root))
		return -EBUSY;
	slurp(folder, "cgroup.subtree_control", text, sizeof(text) - 16);
	text[strcspn(text, "\n")] = '\0';
	strcat(text, *text ? " dmem\n" : "dmem\n");
	spit(folder, "cgroup.subtree_control", text);
	children = opendir(folder);
	while (children && (d = readdir(children))) {
		snprintf(child, sizeof(child), "%s/%s", folder, d->d_name);
		if (d->d_type == DT_DIR && d->d_name[0] != '.')
			add_controller(child);
	}
	if (children)
		closedir(children);
	return 0;
}

ssize_t __wrap_write(int fd, const void *buffer, size_t size)
{
	char link[64], path[PATH_MAX] = "", root[PATH_MAX], text[256], *name;
	int error;

	top(root);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (__real_readlink(link, path, sizeof(path) - 1) < 0 || strncmp(path, root, strlen(root)) || size >= sizeof(text))
		return __real_write(fd, buffer, size);
	memcpy(text, buffer, size);
	text[size] = '\0';
	name = strrchr(path, '/');
	*name++ = '\0';
	if (!strcmp(name, "cgroup.subtree_control"))
		error = pass_on(path, text);
	else if (!strcmp(name, "dmem.low") || !strcmp(name, "dmem.max"))
		error = set_limit(path, name, text);
	else
		return __real_write(fd, buffer, size);
	errno = -error;
	return error ? -1 : (ssize_t)size;
}
