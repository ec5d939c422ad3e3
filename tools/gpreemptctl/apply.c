// SPDX-License-Identifier: MIT
/*
 * apply.c - gpreemptctl apply: what /etc/gpreempt.conf says
 *
 * Tunables and cgroups are set once. Programs and users are looked for among the processes that have queues; with --follow again and
 * again, since processes come and go. A process that was given a priority by somebody else keeps it.
 */
#include "gpreemptctl.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_FILE	"/etc/gpreempt.conf"
#define MAX_RULES	256
/* A process that starts is noticed within this time. */
#define FOLLOW_S	1.0

/**
 * struct rule - whose priority
 * @exe: path of the program; empty: not by program
 * @uid: the user, if @exe is empty
 * @priority: the priority
 */
struct rule {
	char exe[PATH_MAX];
	uid_t uid;
	int priority;
};

/**
 * struct config - what the file says about processes
 * @path: the file
 * @line: where the reader is
 * @rules: in the order of the file; the first that fits counts
 * @nr_rules: their number
 */
struct config {
	const char *path;
	unsigned int line;
	struct rule *rules;
	unsigned int nr_rules;
};

static int complain(const struct config *c, const char *what, const char *word)
{
	return fail(EXIT_FAILED, "%s:%u: %s %s", c->path, c->line, what, word);
}

static char *trim(char *text)
{
	char *end;

	while (isspace((unsigned char)*text))
		text++;
	end = text + strlen(text);
	while (end > text && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return text;
}

static int add_rule(struct config *c, const char *exe, uid_t uid, int priority)
{
	struct rule *rule;

	if (c->nr_rules == MAX_RULES)
		return complain(c, "too many rules, the most are", "256");
	rule = &c->rules[c->nr_rules++];
	snprintf(rule->exe, sizeof(rule->exe), "%s", exe);
	rule->uid = uid;
	rule->priority = priority;
	return 0;
}

/* KIND NAME = PRIORITY */
static int read_class(struct config *c, char *left, const char *right, struct gpreempt *g)
{
	char *name = strpbrk(left, " \t");
	struct gpreempt_target target;
	struct options o = { 0 };
	const struct passwd *user;
	int priority, r;

	if (!name)
		return complain(c, "expected `exe PATH`, `user NAME` or `cgroup DIR` before the =, found", left);
	*name++ = '\0';
	name = trim(name);
	if (!parse_priority(right, &priority))
		return complain(c, "neither a priority (-1023..1023) nor a class (latency, normal, batch):", right);
	if (!strcmp(left, "exe"))
		return add_rule(c, name, 0, priority);
	if (!strcmp(left, "user")) {
		user = getpwnam(name);
		return user ? add_rule(c, "", user->pw_uid, priority) : complain(c, "no user", name);
	}
	if (strcmp(left, "cgroup"))
		return complain(c, "neither exe nor user nor cgroup:", left);
	o.cgroup = name;
	r = get_target(&o, &target);
	if (r)
		return r;
	r = gpreempt_set_priority(g, &target, priority);
	close(target.cgroup_fd);
	return r ? fail_errno(r, "%s:%u: %s", c->path, c->line, name) : 0;
}

/* A line that is wrong does not keep the others from being applied. */
static int read_config(struct config *c, struct gpreempt *g)
{
	FILE *file = fopen(c->path, "re");
	char text[PATH_MAX + 256], section[32] = "";
	int r, status = EXIT_DONE;
	char *line, *equals;

	if (!file)
		return fail(EXIT_FAILED, "%s: %s", c->path, strerror(errno));
	while (fgets(text, sizeof(text), file)) {
		c->line++;
		line = trim(text);
		if (!*line || *line == '#')
			continue;
		if (*line == '[') {
			snprintf(section, sizeof(section), "%s", line);
			if (strcmp(section, "[tunables]") && strcmp(section, "[classes]"))
				status = complain(c, "neither [tunables] nor [classes]:", line);
			continue;
		}
		equals = strchr(line, '=');
		if (!equals) {
			status = complain(c, "no = in", line);
			continue;
		}
		*equals = '\0';
		r = 0;
		if (!strcmp(section, "[tunables]"))
			r = change_tunable(trim(line), trim(equals + 1));
		else if (!strcmp(section, "[classes]"))
			r = read_class(c, trim(line), trim(equals + 1), g);
		else if (!*section)
			r = complain(c, "before the first section:", line);
		if (r)
			status = r;
	}
	fclose(file);
	return status;
}

static const struct rule *find_rule(const struct config *c, pid_t pid)
{
	char link[64], exe[PATH_MAX] = "";
	struct stat owner;
	unsigned int i;
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	length = readlink(link, exe, sizeof(exe) - 1);
	if (length > 0)
		exe[length] = '\0';
	snprintf(link, sizeof(link), "/proc/%d", (int)pid);
	if (stat(link, &owner))
		return NULL;
	for (i = 0; i < c->nr_rules; i++)
		if (*c->rules[i].exe ? !strcmp(c->rules[i].exe, exe) : c->rules[i].uid == owner.st_uid)
			return &c->rules[i];
	return NULL;
}

static int apply_rules(const struct config *c, struct gpreempt *g)
{
	struct gpreempt_target target = gpreempt_target_all();
	struct gpreempt_queue_info *queues;
	const struct rule *rule;
	int i, nr, r;

	nr = gpreempt_list_queues(g, &target, &queues);
	if (nr < 0)
		return fail_errno(nr, "apply");
	for (i = 0; i < nr; i++) {
		if (queues[i].source >= GPREEMPT_SOURCE_PROCESS)
			continue;
		rule = find_rule(c, queues[i].pid);
		if (!rule)
			continue;
		target = gpreempt_target_process(queues[i].pid, 0);
		r = gpreempt_set_priority(g, &target, rule->priority);
		/* It may have ended meanwhile. */
		if (r && r != -ESRCH)
			fail_errno(r, "apply: pid %d", queues[i].pid);
	}
	free(queues);
	return EXIT_DONE;
}

int cmd_apply(const struct options *o)
{
	double seconds = o->seconds > 0 ? o->seconds : FOLLOW_S;
	struct timespec pause = { .tv_sec = seconds, .tv_nsec = (seconds - (time_t)seconds) * 1e9 };
	struct config c = { .path = o->nr_args ? o->args[0] : DEFAULT_FILE };
	struct gpreempt *g;
	int status;

	if (o->nr_args > 1)
		return fail(EXIT_USAGE, "apply takes one word, the file");
	status = open_scheduler(&g);
	if (status)
		return status;
	c.rules = calloc(MAX_RULES, sizeof(*c.rules));
	if (!c.rules) {
		gpreempt_close(g);
		return fail(EXIT_FAILED, "%s", strerror(ENOMEM));
	}
	status = read_config(&c, g);
	do {
		if (apply_rules(&c, g))
			status = EXIT_FAILED;
	} while (o->follow && c.nr_rules && !nanosleep(&pause, NULL));
	free(c.rules);
	gpreempt_close(g);
	return status;
}
