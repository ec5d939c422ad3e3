// SPDX-License-Identifier: MIT
/* matches.c - which lines of /proc/PID/cgroup a name of gpreempt.conf, or a pattern, fits. Exit status 1: others */
#include <stdio.h>

#include "match.h"

#define V1	"12:pids:/docker/0a1b\n3:cpu,cpuacct:/system.slice/chat.service/worker\n1:name=systemd:/user.slice\n"
#define V2	"0::/system.slice/docker-0a1b.scope/init\n"

static const struct {
	const char *text;
	const char *name;
	bool fits;
} rows[] = {
	{ V1, "docker/0a1b", true },
	{ V1, "docker", true },
	{ V1, "docker/", true },
	{ V1, "docker/0a", false },
	{ V1, "docker/*", true },
	{ V1, "docker/0?1b", true },
	{ V1, "docker/[!0]*", false },
	{ V1, "*", true },
	{ V1, "*/*/*", true },
	{ V1, "*/*/*/*", false },
	{ V1, "docker*", true },
	{ V1, "docker/*/*", false },
	{ V1, "system.slice/*.service", true },
	{ V1, "*chat*", false },
	{ V1, "/sys/fs/cgroup/pids/docker/*b", true },
	{ V1, "user.slice", true },
	{ V1, "user.slice/user-*.slice", false },
	{ V2, "system.slice/docker-*.scope", true },
	{ V2, "system.slice/docker-*.scope/init", true },
	{ V2, "system.slice/docker-*.service", false },
	{ V2, "docker-*.scope", false },
	{ V2, "", true },
	{ "", "*", false },
	{ "0::/\n", "*", false },
	{ "0::/a\\x2db.service\n", "a\\x2d*", true },
};

int main(void)
{
	unsigned int i, wrong = 0;

	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (match_cgroup(rows[i].text, rows[i].name) == rows[i].fits)
			continue;
		printf("%s: %s in %s", rows[i].name, rows[i].fits ? "is not found" : "is found", rows[i].text);
		wrong++;
	}
	return !!wrong;
}
