// SPDX-License-Identifier: MIT
/* match.c - see match.h */
#include "match.h"

#include <ctype.h>
#include <limits.h>
#include <pwd.h>
#include <string.h>

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

bool match_cgroup(const char *text, const char *name)
{
	const char *wanted = path_in_hierarchy(name), *line, *path;
	size_t length = strlen(wanted);

	while (length && wanted[length - 1] == '/')
		length--;
	for (line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		path = strchr(line, ':');
		path = path ? strchr(path + 1, ':') : NULL;
		if (!path)
			return false;
		path += 1 + (path[1] == '/');
		if (!strncmp(path, wanted, length) && (!path[length] || path[length] == '/' || path[length] == '\n' || !length))
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
