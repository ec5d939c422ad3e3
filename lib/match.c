// SPDX-License-Identifier: MIT
/* match.c - see match.h */
#include "match.h"

#include <ctype.h>
#include <fnmatch.h>
#include <limits.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "parse.h"

bool match_user(const char *name, uid_t *uid)
{
	const struct passwd *user = getpwnam(name);
	unsigned long long number;

	if (user)
		*uid = user->pw_uid;
	else if (parse_number(name, UINT_MAX - 1, &number))
		*uid = (uid_t)number;
	else
		return false;
	return true;
}

/* The path of a cgroup within its hierarchy: what follows /sys/fs/cgroup/CONTROLLER, if it is named so. */
static const char *path_in_hierarchy(const char *name)
{
	static const char place[] = "/sys/fs/cgroup/";

	if (!strncmp(name, place, strlen(place)))
		name += strlen(place) + strcspn(name + strlen(place), "/");
	return name + strspn(name, "/");
}

bool match_path(const char *pattern, const char *path)
{
	return !strcmp(pattern, path) || !fnmatch(pattern, path, FNM_PATHNAME | FNM_NOESCAPE);
}

bool match_is_pattern(const char *name)
{
	return strpbrk(name, "*?[");
}

/* The path up to as many components as the name has: what is below a cgroup is in it as well. */
static bool match_above(const char *name, const char *path)
{
	const char *at, *end = path + strcspn(path, "/\n");
	char above[PATH_MAX];

	for (at = strchr(name, '/'); at; at = strchr(at + 1, '/')) {
		if (*end != '/')
			return false;
		end += 1 + strcspn(end + 1, "/\n");
	}
	snprintf(above, sizeof(above), "%.*s", (int)(end - path), path);
	return *above && match_path(name, above);
}

bool match_cgroup(const char *text, const char *name)
{
	const char *line, *path;
	char wanted[PATH_MAX];
	size_t length;

	snprintf(wanted, sizeof(wanted), "%s", path_in_hierarchy(name));
	length = strlen(wanted);
	while (length && wanted[length - 1] == '/')
		wanted[--length] = '\0';
	for (line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		path = strchr(line, ':');
		path = path ? strchr(path + 1, ':') : NULL;
		if (!path)
			return false;
		path += 1 + (path[1] == '/');
		if (!length || match_above(wanted, path))
			return true;
	}
	return false;
}

char *match_trim(char *text)
{
	char *end;

	while (isspace((unsigned char)*text))
		text++;
	end = text + strlen(text);
	while (end > text && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return text;
}

/*
 * What no cgroup can be called. The kernel takes nearly everything. Directly below a slice, and at
 * the top, names are systemd's units.
 */

static bool match_because(char *why, const char *format, ...)
{
	va_list words;

	va_start(words, format);
	vsnprintf(why, MATCH_WHY, format, words);
	va_end(words);
	return true;
}

static bool match_ends(const char *text, const char *end)
{
	size_t length = strlen(text), of_end = strlen(end);

	return length >= of_end && !strcmp(text + length - of_end, end);
}

/* Is it a unit that has a cgroup, by its end? Of a pattern what follows the last `*` counts. */
static bool match_ends_as_unit(const char *name)
{
	static const char *const ends[] = { ".service", ".scope", ".slice", ".socket", ".mount", ".swap" };
	const char *tail = name;
	unsigned int i;

	while (match_is_pattern(name) && strpbrk(tail, "*?]"))
		tail = strpbrk(tail, "*?]") + 1;
	for (i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if ((match_ends(tail, ends[i]) && strcmp(name, ends[i])) || (tail != name && match_ends(ends[i], tail)))
			return true;
	return false;
}

/* Letters that names of units have; in a pattern those of patterns as well. */
static bool match_letters_never(const char *unit, char *why)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:-_.\\@";
	const char *at = unit;

	while (*at && (strchr(letters, *at) || (match_is_pattern(unit) && strchr("*?[]!^", *at))))
		at++;
	if (!*at)
		return false;
	if (*at == ' ')
		return match_because(why, "`%s`: no name of a unit has a blank in it", unit);
	return match_because(why, isgraph((unsigned char)*at) ? "`%s`: no name of a unit has `%c` in it" :
			     "`%s`: no name of a unit has the byte %#x in it", unit, *at & 0xff);
}

static bool match_unit_never(const char *unit, const char *parent, char *why)
{
	const char *at = strstr(unit, "@.");

	if (match_letters_never(unit, why))
		return true;
	if (!match_ends_as_unit(unit))
		return match_because(why, "`%s`: in %s names end in .service, .scope, .slice, .socket, .mount or .swap", unit,
				     parent);
	if (at)
		return match_because(why, "`%s` is a template; write %.*s@*%s", unit, (int)(at - unit), unit, at + 1);
	return false;
}

/* systemd has the slice a-b.slice in a.slice, and a.slice at the top. */
static bool match_slice_never(const char *slice, const char *parent, char *why)
{
	size_t length = strlen(slice) - strlen(".slice"), head = strcspn(slice, "*?[");
	const char *dash = memrchr(slice, '-', length);
	char above[NAME_MAX + 8];

	if (!strcmp(slice, "-.slice"))
		return match_because(why, "`-.slice` is what systemd calls the top, /sys/fs/cgroup");
	if (head < length) {
		dash = memchr(slice, '-', head);
		if (!dash || *parent)
			return false;
		return match_because(why, "`%s` is not at the top: write %.*s.slice/%s", slice, (int)(dash - slice), slice, slice);
	}
	if (!length || *slice == '-' || slice[length - 1] == '-' || strstr(slice, "--"))
		return match_because(why, "`%s`: between two - of a slice's name, and beside them, there is something", slice);
	if (!dash)
		return match_ends(parent, ".slice") &&
		       match_because(why, "`%s` is at the top, not in %s: systemd has x-y.slice in x.slice", slice, parent);
	snprintf(above, sizeof(above), "%.*s.slice", (int)(dash - slice), slice);
	return !match_path(parent, above) && match_because(why, "`%s` is in %s: write %s/%s", slice, above, above, slice);
}

/* @parent: the component before it; "": it is at the top */
static bool match_part_never(const char *part, const char *parent, char *why)
{
	bool at_top = !*parent, in_slice = match_ends(parent, ".slice");

	if (!strcmp(part, ".") || !strcmp(part, ".."))
		return match_because(why, "`%s` is no part of a cgroup's name", part);
	if (!*part)
		return match_because(why, "there is nothing between two of its slashes");
	if (isblank((unsigned char)*part) || isblank((unsigned char)part[strlen(part) - 1]))
		return match_because(why, "`%s` has a blank at its end", part);
	if (!strncmp(part, "cgroup.", strlen("cgroup.")))
		return match_because(why, "`%s` is a file in a cgroup", part);
	if (in_slice && match_unit_never(part, parent, why))
		return true;
	if (at_top && !match_is_pattern(part) && match_ends_as_unit(part) && match_letters_never(part, why))
		return true;
	return match_ends(part, ".slice") && match_slice_never(part, parent, why);
}

static bool match_name_never(const char *name, char *why)
{
	static const char place[] = "/sys/fs/cgroup";
	const char *at;

	for (at = name; *at; at++)
		if (iscntrl((unsigned char)*at))
			return match_because(why, "it has the byte %#x in it", *at & 0xff);
	if (*name == '"' || *name == '\'')
		return match_because(why, "write it without quotes");
	if (strlen(name) >= PATH_MAX - sizeof(place))
		return match_because(why, "it is longer than a path can be, %d", PATH_MAX - 1);
	if (*name == '/' && name[1] && (strncmp(name, place, strlen(place)) || !strchr("/", name[strlen(place)])))
		return match_because(why, "it is not below %s; write %s", place, name + strspn(name, "/"));
	if (strstr(name, "**"))
		return match_because(why, "** is no pattern here: * stands for what is between two slashes");
	if (strchr(name, '{'))
		return match_because(why, "braces are no pattern here: write a line for each");
	at = strchr(name, '[');
	if (at && !strchr(at, ']'))
		return match_because(why, "its [ has no ]");
	return false;
}

bool match_cgroup_never(const char *name, char *why)
{
	char part[NAME_MAX + 1], parent[NAME_MAX + 1] = "";
	const char *at = path_in_hierarchy(name);
	size_t length;

	if (match_name_never(name, why))
		return true;
	/* Version 2 has one hierarchy, which has no name. */
	if (*name == '/' && !access("/sys/fs/cgroup/cgroup.procs", F_OK))
		at = name + strlen("/sys/fs/cgroup") + !!name[strlen("/sys/fs/cgroup")];
	if (!strcmp(name, "/"))
		return false;
	for (; *at; at += length + !!at[length]) {
		length = strcspn(at, "/");
		if (length > NAME_MAX)
			return match_because(why, "`%.20s...` is longer than a name can be, %d", at, NAME_MAX);
		snprintf(part, sizeof(part), "%.*s", (int)length, at);
		if (match_part_never(part, parent, why))
			return true;
		memcpy(parent, part, sizeof(parent));
	}
	return false;
}
