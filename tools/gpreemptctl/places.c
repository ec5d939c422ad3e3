// SPDX-License-Identifier: MIT
/* places.c - cgroups that a name or a pattern of gpreempt.conf fits, programs that it never can */
#include "places.h"

#include <dirent.h>
#include <fnmatch.h>
#include <glob.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "match.h"

#define PLACE	"/sys/fs/cgroup"

struct search {
	void (*found)(const char *path, void *data);
	void *data;
	unsigned int nr;
};

/* @path: a directory; @rest: what is below it by the name */
static void places_below(struct search *s, const char *path, const char *rest)
{
	size_t length = strcspn(rest, "/");
	char part[NAME_MAX + 1], below[PATH_MAX];
	struct dirent *entry;
	DIR *folder;

	if (!*rest) {
		s->nr++;
		if (s->found)
			s->found(path, s->data);
		return;
	}
	snprintf(part, sizeof(part), "%.*s", (int)length, rest);
	rest += length + !!rest[length];
	if (!match_is_pattern(part)) {
		if ((size_t)snprintf(below, sizeof(below), "%s/%s", path, part) < sizeof(below) && !access(below, F_OK))
			places_below(s, below, rest);
		return;
	}
	folder = opendir(path);
	while (folder && (entry = readdir(folder))) {
		if (entry->d_name[0] == '.' || (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN) ||
		    fnmatch(part, entry->d_name, FNM_NOESCAPE))
			continue;
		if ((size_t)snprintf(below, sizeof(below), "%s/%s", path, entry->d_name) < sizeof(below))
			places_below(s, below, rest);
	}
	if (folder)
		closedir(folder);
}

/**
 * find_places() - look for the cgroups of a name
 * @name: below /sys/fs/cgroup, or with it; may be a pattern
 * @found: called with the path of each; NULL: they are counted
 * @data: for @found
 *
 * Return: how many there are.
 */
unsigned int find_places(const char *name, void (*found)(const char *path, void *data), void *data)
{
	struct search search = { .found = found, .data = data };

	if (!strncmp(name, PLACE, strlen(PLACE)))
		name += strlen(PLACE);
	places_below(&search, PLACE, name + strspn(name, "/"));
	return search.nr;
}

/* The number in a file of a cgroup. Return: false if there is none */
static bool places_read(const char *path, const char *name, int *number)
{
	char file[PATH_MAX], text[32], *end;

	if ((size_t)snprintf(file, sizeof(file), "%s/%s", path, name) >= sizeof(file) || read_text(file, text, sizeof(text)) < 0)
		return false;
	*number = (int)strtol(text, &end, 10);
	return end != text;
}

/**
 * lesser_priority() - what a cgroup's part of the CPUs makes of its priority on GPUs
 * @path: of the cgroup
 * @priority: receives it
 *
 * cpu.idle is as SCHED_IDLE, which is 20 below normal; cpu.weight is as the nice value that the
 * kernel says it is worth.
 *
 * Return: false if it has as much as others, or more: more urgent is what an administrator says so.
 */
bool lesser_priority(const char *path, int *priority)
{
	int idle, nice;

	if (places_read(path, "cpu.idle", &idle) && idle)
		nice = 20;
	else if (!places_read(path, "cpu.weight.nice", &nice) || nice <= 0)
		return false;
	*priority = GPREEMPT_PRIORITY_NORMAL - nice;
	return true;
}

static void places_walk(struct search *s, const char *path)
{
	char below[PATH_MAX];
	struct dirent *entry;
	DIR *folder = opendir(path);

	s->nr++;
	s->found(path, s->data);
	while (folder && (entry = readdir(folder)))
		if (entry->d_name[0] != '.' && entry->d_type == DT_DIR &&
		    (size_t)snprintf(below, sizeof(below), "%s/%s", path, entry->d_name) < sizeof(below))
			places_walk(s, below);
	if (folder)
		closedir(folder);
}

/**
 * walk_places() - go through all cgroups
 * @found: called with the path of each
 * @data: for @found
 *
 * Return: how many there are.
 */
unsigned int walk_places(void (*found)(const char *path, void *data), void *data)
{
	struct search search = { .found = found, .data = data };

	places_walk(&search, PLACE);
	return search.nr;
}

/** fits_a_cgroup() - is there a cgroup of this name, in any hierarchy? */
bool fits_a_cgroup(const char *name)
{
	char any[PATH_MAX];

	if (find_places(name, NULL, NULL))
		return true;
	if (cgroups_are_v2())
		return false;
	snprintf(any, sizeof(any), "*/%s", name);
	return find_places(any, NULL, NULL);
}

static bool places_is_script(const char *path)
{
	char begin[2] = "";
	FILE *file = fopen(path, "re");
	bool script = file && fread(begin, 1, sizeof(begin), file) == sizeof(begin) && !memcmp(begin, "#!", 2);

	if (file)
		fclose(file);
	return script;
}

/**
 * exe_never() - is this a path, or a pattern, that /proc/PID/exe can never name?
 * @path: whole
 * @why: receives the reason, and what to write instead; %MATCH_WHY bytes
 */
bool exe_never(const char *path, char *why)
{
	char folder[PATH_MAX], real[PATH_MAX];
	const char *base = strrchr(path, '/') + 1;
	struct stat file;

	if (strlen(path) >= PATH_MAX || strstr(path, "//") || strstr(path, "/./") || strstr(path, "/../") || !*base ||
	    !strcmp(base, ".") || !strcmp(base, "..")) {
		snprintf(why, MATCH_WHY, "no program has a path with //, /./ or /../ in it, or / behind it, or of %d bytes", PATH_MAX);
		return true;
	}
	if (match_is_pattern(path))
		return false;
	snprintf(folder, sizeof(folder), "%s", path);
	if (realpath(path, real)) {
		if (strcmp(real, path)) {
			snprintf(why, MATCH_WHY, "it is a link; write %.400s", real);
			return true;
		}
	} else if (realpath(dirname(folder), real) && strcmp(real, folder)) {
		snprintf(why, MATCH_WHY, "its folder is a link; write %.200s/%.200s", real, base);
		return true;
	}
	if (stat(path, &file))
		return false;
	if (!S_ISREG(file.st_mode))
		snprintf(why, MATCH_WHY, "it is no file");
	else if (places_is_script(path))
		snprintf(why, MATCH_WHY, "it is a script; write the program of its first line");
	else
		return false;
	return true;
}

/** exe_is_there() - is there a program of this path, or pattern, that may be executed? */
bool exe_is_there(const char *path)
{
	glob_t found;
	bool there;

	if (!match_is_pattern(path) || !access(path, F_OK))
		return !access(path, X_OK);
	there = !glob(path, GLOB_NOESCAPE, NULL, &found);
	if (there)
		globfree(&found);
	return there;
}
