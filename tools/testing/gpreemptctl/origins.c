// SPDX-License-Identifier: MIT
/*
 * origins.c - what gpreemptctl makes of cgroups and statuses of processes: origins paths|lines|status
 *
 * paths: each line of stdin is a cgroup's path, and becomes a line: its words, and all that they are short for. lines: all of stdin is one
 * process's /proc/PID/cgroup. status: all of stdin is one process's /proc/PID/status.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "origin.h"

static void say(const struct place *place)
{
	char words[PLACE_WORDS];

	printf("%s | %s %s %s %s %s\n", place_words(place, words, sizeof(words)), place->engine, place->container, place->pod, place->slurm_job,
	       place->slurm_step);
}

int main(int argc, char **argv)
{
	struct origin origin = { .uid = (uid_t)-1 };
	const char *what = argc > 1 ? argv[1] : "";
	char *line = NULL;
	size_t room = 0;
	ssize_t length;

	if (!strcmp(what, "status")) {
		if (getdelim(&line, &room, '\0', stdin) > 0)
			read_status(line, &origin);
		printf("uid %d nspid %d\n", (int)origin.uid, (int)origin.nspid);
		free(line);
		return 0;
	}
	while ((length = getline(&line, &room, stdin)) > 0) {
		struct place place = { 0 };
		char *exact;

		if (line[length - 1] == '\n')
			line[--length] = '\0';
		/* As long as the text, so that a sanitizer sees the first byte behind it. */
		exact = strdup(line);
		if (!strcmp(what, "paths")) {
			place_add_path(&place, exact);
			say(&place);
		} else {
			place_add_line(&origin.place, exact);
		}
		free(exact);
	}
	if (!strcmp(what, "lines"))
		say(&origin.place);
	free(line);
	return 0;
}
