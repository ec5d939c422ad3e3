// SPDX-License-Identifier: MIT
/* dmem.c - see dmem.h */
#include "dmem.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NO_CONTROLLER	"this kernel has no dmem controller (Linux 6.14 and later, CONFIG_CGROUP_DMEM, cgroup v2); no bound is in force"

static int complain(int error, char *why, size_t size, const char *format, ...) __attribute__((format(printf, 4, 5)));

static int complain(int error, char *why, size_t size, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, size, format, args);
	va_end(args);
	return error;
}

/* ---- values ---- */

bool dmem_parse(const char *text, struct dmem_value *value)
{
	static const char suffixes[] = "KMGT";
	const char *suffix;
	unsigned int shift;
	char *end;

	if (!strcmp(text, "max")) {
		*value = (struct dmem_value){ .kind = DMEM_ALL };
		return true;
	}
	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	value->number = strtoull(text, &end, 10);
	if (errno)
		return false;
	if (!strcmp(end, "%")) {
		value->kind = DMEM_PERCENT;
		return value->number <= 100;
	}
	value->kind = DMEM_BYTES;
	suffix = *end ? strchr(suffixes, toupper((unsigned char)*end)) : NULL;
	shift = suffix ? 10 * (unsigned int)(suffix - suffixes + 1) : 0;
	if (suffix)
		end++;
	/* The kernel counts in signed numbers. */
	if (*end || value->number > (uint64_t)INT64_MAX >> shift)
		return false;
	value->number <<= shift;
	return true;
}

static bool parse_word(const char *word, struct dmem_wish *wish)
{
	struct dmem_value *value = !strncmp(word, "low=", 4) ? &wish->low : !strncmp(word, "max=", 4) ? &wish->max : NULL;

	return value && value->kind == DMEM_ABSENT && dmem_parse(word + 4, value);
}

bool dmem_parse_wish(const char *text, struct dmem_wish *wish)
{
	char copy[128], *word, *next = NULL;

	memset(wish, 0, sizeof(*wish));
	if ((size_t)snprintf(copy, sizeof(copy), "%s", text) >= sizeof(copy))
		return false;
	for (word = strtok_r(copy, ", \t", &next); word; word = strtok_r(NULL, ", \t", &next))
		if (!parse_word(word, wish))
			return false;
	return !dmem_is_empty(wish);
}

bool dmem_is_empty(const struct dmem_wish *wish)
{
	return wish->low.kind == DMEM_ABSENT && wish->max.kind == DMEM_ABSENT;
}

const char *dmem_words(struct dmem_value value, char *buffer, size_t size)
{
	switch (value.kind) {
	case DMEM_BYTES:
		snprintf(buffer, size, "%" PRIu64, value.number);
		break;
	case DMEM_PERCENT:
		snprintf(buffer, size, "%" PRIu64 "%%", value.number);
		break;
	case DMEM_ALL:
		snprintf(buffer, size, "max");
		break;
	default:
		snprintf(buffer, size, "-");
	}
	return buffer;
}

/* "max" is more than any capacity. */
static uint64_t bytes_of(struct dmem_value value, uint64_t capacity)
{
	if (value.kind == DMEM_ALL)
		return UINT64_MAX;
	return value.kind == DMEM_PERCENT ? capacity / 100 * value.number + capacity % 100 * value.number / 100 : value.number;
}

bool dmem_exceeds(struct dmem_value value, struct dmem_value bound, uint64_t capacity)
{
	if (value.kind == DMEM_ABSENT || bound.kind == DMEM_ABSENT)
		return false;
	return bytes_of(value, capacity) > bytes_of(bound, capacity);
}

/* ---- files ---- */

static int read_file(const char *directory, const char *name, char *buffer, size_t size)
{
	char path[PATH_MAX];
	ssize_t got, length = 0;
	int fd, error;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", directory, name) >= sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	do {
		got = read(fd, buffer + length, size - 1 - (size_t)length);
		error = -errno;
		length += got > 0 ? got : 0;
	} while (got > 0 && (size_t)length < size - 1);
	close(fd);
	buffer[length] = '\0';
	return got < 0 ? error : 0;
}

static int write_file(const char *directory, const char *name, const char *text)
{
	char path[PATH_MAX];
	ssize_t length = (ssize_t)strlen(text);
	int fd, error = 0;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", directory, name) >= sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, text, (size_t)length) != length)
		error = -errno;
	close(fd);
	return error;
}

static bool has_word(const char *text, const char *word)
{
	size_t length = strlen(word);
	const char *at = text;

	while ((at = strstr(at, word))) {
		if ((at == text || isspace((unsigned char)at[-1])) && (!at[length] || isspace((unsigned char)at[length])))
			return true;
		at += length;
	}
	return false;
}

static bool is_cgroup(const char *directory)
{
	char path[PATH_MAX];

	return (size_t)snprintf(path, sizeof(path), "%s/cgroup.controllers", directory) < sizeof(path) && !access(path, F_OK);
}

int dmem_root(const char *directory, char *root, size_t size)
{
	char path[PATH_MAX], *slash;

	if (!realpath(directory, path))
		return -errno;
	if (!is_cgroup(path))
		return -ENOTDIR;
	do {
		if ((size_t)snprintf(root, size, "%s", path) >= size)
			return -ENAMETOOLONG;
		slash = strrchr(path, '/');
		*slash = '\0';
	} while (*path && is_cgroup(path));
	return 0;
}

/* drm/DEVICE/vram, with or without a number behind it */
static bool is_memory_of(const char *region, const char *device)
{
	size_t length = device ? strlen(device) : 0;
	const char *last = strrchr(region, '/');

	if (strncmp(region, "drm/", 4) || last < region + 4 || strncmp(last, "/vram", 5))
		return false;
	return !device || (!strncmp(region + 4, device, length) && region + 4 + length == last);
}

int dmem_regions(const char *root, const char *device, struct dmem_region *regions)
{
	char text[16384], *line, *next = NULL;
	struct dmem_region region;
	int nr = 0, error;

	error = read_file(root, "dmem.capacity", text, sizeof(text));
	if (error)
		return error == -ENOENT ? -EOPNOTSUPP : error;
	for (line = strtok_r(text, "\n", &next); line && nr < DMEM_REGIONS; line = strtok_r(NULL, "\n", &next))
		if (sscanf(line, "%95s %" SCNu64, region.name, &region.capacity) == 2 && is_memory_of(region.name, device))
			regions[nr++] = region;
	return nr;
}

int dmem_read(const char *directory, const char *what, const char *region, char *value, size_t size)
{
	char name[32], text[16384], *line, *next = NULL;
	size_t length = strlen(region);
	int error;

	snprintf(name, sizeof(name), "dmem.%s", what);
	error = read_file(directory, name, text, sizeof(text));
	if (error)
		return error;
	for (line = strtok_r(text, "\n", &next); line; line = strtok_r(NULL, "\n", &next)) {
		if (strncmp(line, region, length) || line[length] != ' ')
			continue;
		snprintf(value, size, "%s", line + length + 1);
		return 0;
	}
	return -ENOENT;
}

/* ---- changes ---- */

static int check_value(const char *word, struct dmem_value value, const struct dmem_region *regions, int nr, char *why, size_t size)
{
	uint64_t largest = 0;
	int i;

	for (i = 0; i < nr; i++)
		if (regions[i].capacity > largest)
			largest = regions[i].capacity;
	if (value.kind == DMEM_BYTES && value.number > largest)
		return complain(-ERANGE, why, size, "%s=%" PRIu64 " is above the %" PRIu64 " bytes of the largest GPU memory; nothing changed", word,
				value.number, largest);
	return 0;
}

static int check_regions(const struct dmem_wish *wish, const struct dmem_region *regions, int nr, char *why, size_t size)
{
	char low[32], max[32];
	int i, error;

	error = check_value("low", wish->low, regions, nr, why, size);
	if (!error)
		error = check_value("max", wish->max, regions, nr, why, size);
	for (i = 0; !error && i < nr; i++)
		if (dmem_exceeds(wish->low, wish->max, regions[i].capacity))
			error = complain(-ERANGE, why, size, "low=%s is above max=%s on %s of %" PRIu64 " bytes; nothing changed",
					 dmem_words(wish->low, low, sizeof(low)), dmem_words(wish->max, max, sizeof(max)), regions[i].name,
					 regions[i].capacity);
	return error;
}

/* Return: how many regions are concerned, or an error, which @why says. */
static int find_regions(const char *directory, const char *device, char *root, size_t root_size, struct dmem_region *regions, char *why, size_t size)
{
	int nr = dmem_root(directory, root, root_size);

	if (nr)
		return complain(nr, why, size, "%s: %s", directory, nr == -ENOTDIR ? "no cgroup of version 2" : strerror(-nr));
	nr = dmem_regions(root, device, regions);
	if (nr == -EOPNOTSUPP)
		return complain(nr, why, size, NO_CONTROLLER);
	if (nr < 0)
		return complain(nr, why, size, "%s/dmem.capacity: %s", root, strerror(-nr));
	if (!nr)
		return complain(-ENODEV, why, size, "%s/dmem.capacity names no memory of %s%s; no bound is in force", root, device ? "GPU " : "a GPU",
				device ? device : "");
	return nr;
}

int dmem_check(const char *directory, const char *device, const struct dmem_wish *wish, char *why, size_t size)
{
	struct dmem_region regions[DMEM_REGIONS];
	char root[PATH_MAX];
	int nr = find_regions(directory, device, root, sizeof(root), regions, why, size);

	return nr < 0 ? nr : check_regions(wish, regions, nr, why, size);
}

/* A cgroup has the controller's files if all above it pass it on. */
static int switch_on(const char *root, const char *directory, char *why, size_t size)
{
	char path[PATH_MAX], controllers[1024], *end;
	int error;

	if (!realpath(directory, path))
		return complain(-errno, why, size, "%s: %m", directory);
	/* Not its own, which is about those below it */
	for (end = path + strlen(root); *end; end += 1 + strcspn(end + 1, "/")) {
		*end = '\0';
		error = read_file(path, "cgroup.subtree_control", controllers, sizeof(controllers));
		if (!error && !has_word(controllers, "dmem"))
			error = write_file(path, "cgroup.subtree_control", "+dmem");
		if (error)
			return complain(error, why, size, "%s/cgroup.subtree_control: +dmem: %s; no bound is in force", path, strerror(-error));
		*end = '/';
	}
	return 0;
}

static int set_value(const char *directory, const char *what, struct dmem_value value, const struct dmem_region *region, struct dmem_saved *saved,
		     char *why, size_t size)
{
	char name[16], line[160], text[32], before[24] = "none", after[24] = "none";
	int error;

	if (value.kind == DMEM_ABSENT)
		return 0;
	if (value.kind == DMEM_ALL)
		snprintf(text, sizeof(text), "max");
	else
		snprintf(text, sizeof(text), "%" PRIu64, bytes_of(value, region->capacity));
	snprintf(name, sizeof(name), "dmem.%s", what);
	dmem_read(directory, what, region->name, before, sizeof(before));
	snprintf(line, sizeof(line), "%s %s", region->name, text);
	error = write_file(directory, name, line);
	if (error)
		return complain(error, why, size, "%s/%s: %s: %s; kept %s", directory, name, line, strerror(-error), before);
	dmem_read(directory, what, region->name, after, sizeof(after));
	if (saved && saved->nr < 2 * DMEM_REGIONS) {
		snprintf(saved->of[saved->nr].region, sizeof(saved->of[0].region), "%s", region->name);
		snprintf(saved->of[saved->nr].before, sizeof(saved->of[0].before), "%s", before);
		snprintf(saved->of[saved->nr].after, sizeof(saved->of[0].after), "%s", after);
		saved->of[saved->nr++].is_max = !strcmp(what, "max");
	}
	return 0;
}

int dmem_set(const char *directory, const char *device, const struct dmem_wish *wish, struct dmem_saved *saved, char *why, size_t size)
{
	struct dmem_region regions[DMEM_REGIONS];
	char root[PATH_MAX];
	int i, error, nr = find_regions(directory, device, root, sizeof(root), regions, why, size);

	if (nr < 0)
		return nr;
	error = check_regions(wish, regions, nr, why, size);
	if (!error)
		error = switch_on(root, directory, why, size);
	for (i = 0; !error && i < nr; i++) {
		error = set_value(directory, "low", wish->low, &regions[i], saved, why, size);
		if (!error)
			error = set_value(directory, "max", wish->max, &regions[i], saved, why, size);
	}
	return error;
}

static uint64_t low_of(const char *directory, const char *region)
{
	char text[24];

	if (dmem_read(directory, "low", region, text, sizeof(text)))
		return 0;
	return strcmp(text, "max") ? strtoull(text, NULL, 10) : UINT64_MAX;
}

bool dmem_is_unprotected(const char *directory, char *why, size_t size)
{
	struct dmem_region regions[DMEM_REGIONS];
	char root[PATH_MAX], path[PATH_MAX];
	uint64_t low, above;
	int i, nr;

	nr = dmem_root(directory, root, sizeof(root)) ? 0 : dmem_regions(root, NULL, regions);
	for (i = 0; i < nr && realpath(directory, path); i++) {
		low = low_of(path, regions[i].name);
		*strrchr(path, '/') = '\0';
		for (; strlen(path) > strlen(root); *strrchr(path, '/') = '\0') {
			above = low_of(path, regions[i].name);
			if (above >= low)
				continue;
			complain(0, why, size, "low of %s counts up to %" PRIu64 " bytes on %s, which is what %s protects", directory, above,
				 regions[i].name, path);
			return true;
		}
	}
	return false;
}

void dmem_restore(const char *directory, const struct dmem_saved *saved)
{
	char now[24], line[160];
	unsigned int i;

	for (i = saved->nr; i-- > 0;) {
		const char *what = saved->of[i].is_max ? "max" : "low";

		if (dmem_read(directory, what, saved->of[i].region, now, sizeof(now)) || strcmp(now, saved->of[i].after))
			continue;
		snprintf(line, sizeof(line), "%s %s", saved->of[i].region, saved->of[i].before);
		write_file(directory, saved->of[i].is_max ? "dmem.max" : "dmem.low", line);
	}
}
