// SPDX-License-Identifier: MIT
/*
 * config.c - what /etc/gpreemptd.conf says: policy and settings, and the processes that are scheduled
 *
 * A file is in force as a whole or not at all: each of its mistakes is told, and one is enough to keep what was in force.
 */
#include "gpreemptd.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "match.h"
#include "parse.h"

enum section { SECTION_NONE, SECTION_SETTINGS, SECTION_PROCESSES, SECTION_UNKNOWN };

/**
 * struct reader - a file that is read
 * @path: of the file
 * @line: where
 * @section: in which section
 * @new: what it has said so far
 * @kept: what stays in force if it is wrong; NULL: nothing is in force yet
 * @wrong: it has a mistake
 */
struct reader {
	const char *path;
	unsigned int line;
	enum section section;
	struct config new;
	const struct config *kept;
	bool wrong;
};

const struct setting_range settings[NR_SETTINGS] = {
	/* As the kernel's: below it, saving and restoring a full device is too much of a turn. */
	[SLICE_US] = { "slice_us", 500, 1000000, 5000 },
	/* A look costs a system call that reads all queues: tens of microseconds. */
	[POLL_US] = { "poll_us", 100, 1000000, 500 },
	[INTERVAL_MS] = { "interval_ms", 1, 10000, 5 },
	/* It does nothing else meanwhile. */
	[TIMEOUT_MS] = { "timeout_ms", 1, 60000, 1000 },
};

static void complain(struct reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void complain(struct reader *r, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	say("%s:%u: %s", r->path, r->line, text);
	r->wrong = true;
}

static const char *what_is_wrong(const char *policy)
{
	return sched_policy_is_xscheds(policy) ? "is a policy of XSched that gpreemptd has not" : "is no policy";
}

static void read_policy(struct reader *r, const char *value)
{
	int policy = sched_policy_find(value);

	if (policy >= 0)
		r->new.policy = (enum sched_policy)policy;
	else
		complain(r, "policy=%s %s (hpf fifo rr fair)%s%s", value, what_is_wrong(value), r->kept ? "; kept " : "",
			 r->kept ? sched_policy_name(r->kept->policy) : "");
}

/* NAME = VALUE */
static void read_setting(struct reader *r, const char *name, const char *value)
{
	const struct setting_range *range;
	unsigned long long number;
	char kept[32] = "";
	int i;

	if (!strcmp(name, "policy")) {
		read_policy(r, value);
		return;
	}
	for (i = 0; i < NR_SETTINGS && strcmp(name, settings[i].name); i++)
		;
	if (i == NR_SETTINGS) {
		complain(r, "there is no setting %s (policy slice_us poll_us interval_ms timeout_ms)", name);
		return;
	}
	range = &settings[i];
	if (r->kept)
		snprintf(kept, sizeof(kept), "; kept %" PRIu64, r->kept->values[i]);
	if (parse_number(value, range->most, &number) && number >= range->least)
		r->new.values[i] = number;
	else
		complain(r, "%s=%s is not a number from %" PRIu64 " to %" PRIu64 "%s", name, value, range->least, range->most, kept);
}

/* [PRIORITY|CLASS] [weight=N] */
static bool read_words(struct reader *r, char *words, struct rule *rule)
{
	unsigned long long weight;
	char *word, *rest;

	if (!*words) {
		complain(r, "there is neither a priority nor a class nor weight=N behind the =");
		return false;
	}
	for (word = strtok_r(words, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest)) {
		if (!strncmp(word, "weight=", 7)) {
			if (!parse_number(word + 7, SCHED_WEIGHT_MAX, &weight) || !weight) {
				complain(r, "%s is not a number from 1 to %d", word, SCHED_WEIGHT_MAX);
				return false;
			}
			rule->weight = (unsigned int)weight;
		} else if (!parse_priority(word, &rule->priority)) {
			complain(r, "%s is neither a priority (%d..%d) nor a class (latency, normal, batch) nor weight=N", word,
				 GPREEMPT_PRIORITY_MIN, GPREEMPT_PRIORITY_MAX);
			return false;
		}
	}
	return true;
}

static bool read_kind(struct reader *r, const char *kind, const char *name, struct rule *rule)
{
	unsigned long long pid = 0;
	char why[MATCH_WHY];

	if (!strcmp(kind, "exe")) {
		rule->kind = RULE_EXE;
		if (*name == '/')
			return true;
		complain(r, "a program is named by its whole path, not: %s", name);
	} else if (!strcmp(kind, "user")) {
		rule->kind = RULE_USER;
		if (match_user(name, &rule->uid))
			return true;
		complain(r, "there is no user %s", name);
	} else if (!strcmp(kind, "pid")) {
		rule->kind = RULE_PID;
		if (parse_number(name, INT_MAX, &pid) && pid) {
			rule->pid = (pid_t)pid;
			return true;
		}
		complain(r, "pid %s is not a number from 1 to %d", name, INT_MAX);
	} else if (!strcmp(kind, "cgroup")) {
		rule->kind = RULE_CGROUP;
		if (!match_cgroup_never(name, why))
			return true;
		complain(r, "can never fit: %s: %s", why, name);
	} else {
		complain(r, "neither exe nor user nor cgroup nor pid: %s", kind);
	}
	return false;
}

/* KIND NAME = WORDS */
static void read_rule(struct reader *r, char *left, char *right)
{
	struct rule rule = { .priority = GPREEMPT_PRIORITY_NORMAL, .weight = SCHED_WEIGHT_NORMAL }, *grown;
	char *name = strpbrk(left, " \t");

	if (!name) {
		complain(r, "not `exe PATH`, `user NAME`, `cgroup DIR` or `pid PID`: %s", left);
		return;
	}
	*name++ = '\0';
	name = match_trim(name);
	if (!read_kind(r, left, name, &rule) || !read_words(r, right, &rule))
		return;
	grown = realloc(r->new.rules, (r->new.nr_rules + 1) * sizeof(*grown));
	if (grown)
		r->new.rules = grown;
	rule.name = strdup(name);
	if (grown && rule.name) {
		grown[r->new.nr_rules++] = rule;
		return;
	}
	free(rule.name);
	complain(r, "%s", strerror(ENOMEM));
}

static void read_section(struct reader *r, const char *line)
{
	r->section = !strcmp(line, "[settings]") ? SECTION_SETTINGS : !strcmp(line, "[processes]") ? SECTION_PROCESSES : SECTION_UNKNOWN;
	if (r->section == SECTION_UNKNOWN)
		complain(r, "neither [settings] nor [processes]: %s", line);
}

/* A path may have an equals sign in it, and weight=N has one: that of a line about processes has spaces beside it. */
static void read_line(struct reader *r, char *line)
{
	bool rule = r->section == SECTION_PROCESSES;
	char *equals;

	if (!*line || *line == '#' || (r->section == SECTION_UNKNOWN && *line != '['))
		return;
	if (*line == '[') {
		read_section(r, line);
		return;
	}
	if (r->section == SECTION_NONE) {
		complain(r, "before the first section: %s", line);
		return;
	}
	equals = rule ? strstr(line, " =") : strchr(line, '=');
	if (!equals || (rule && equals[2] && equals[2] != ' ' && equals[2] != '\t')) {
		complain(r, rule ? "there is no = with spaces beside it in: %s" : "there is no = in: %s", line);
		return;
	}
	*equals = '\0';
	if (rule)
		read_rule(r, match_trim(line), match_trim(equals + 2));
	else
		read_setting(r, match_trim(line), match_trim(equals + 1));
}

static struct config config_empty(const char *proc, enum sched_policy policy)
{
	struct config c = { .proc = proc, .normal_policy = policy, .policy = policy };
	int i;

	for (i = 0; i < NR_SETTINGS; i++)
		c.values[i] = settings[i].normal;
	return c;
}

/**
 * config_init() - what holds without a file
 * @c: the configuration
 * @xsched: what the environment names as XSched's policy; NULL: nothing. It is used if the file names none, and may be meant for XSched itself
 */
void config_init(struct config *c, const char *xsched)
{
	int policy = xsched && *xsched ? sched_policy_find(xsched) : (int)SCHED_HPF;

	if (policy < 0) {
		policy = SCHED_HPF;
		say("XSCHED_SCHED=%s %s (hpf fifo rr fair); kept %s", xsched, what_is_wrong(xsched), sched_policy_name(SCHED_HPF));
	}
	*c = config_empty("/proc", (enum sched_policy)policy);
}

void config_free(struct config *c)
{
	while (c->nr_rules)
		free(c->rules[--c->nr_rules].name);
	free(c->rules);
	c->rules = NULL;
}

/**
 * config_read() - read a file, and let it be in force
 * @c: what is in force
 * @path: the file
 * @first: nothing is in force yet
 *
 * Return: was all of it right? Otherwise @c is as it was, and what is wrong has been said.
 */
bool config_read(struct config *c, const char *path, bool first)
{
	struct reader r = { .path = path, .kept = first ? NULL : c, .new = config_empty(c->proc, c->normal_policy) };
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t room = 0;

	if (!file) {
		say("%s: %s", path, strerror(errno));
		return false;
	}
	errno = 0;
	while (getline(&text, &room, file) >= 0) {
		r.line++;
		read_line(&r, match_trim(text));
	}
	if (ferror(file)) {
		say("%s: %s", path, strerror(errno));
		r.wrong = true;
	}
	free(text);
	fclose(file);
	config_free(r.wrong ? &r.new : c);
	if (!r.wrong)
		*c = r.new;
	return !r.wrong;
}

/* @text: receives the file's first bytes, at most size - 1 of them. Return: could it be read? */
static bool read_proc(const struct config *c, pid_t pid, const char *name, char *text, size_t size)
{
	char path[PATH_MAX];
	size_t length;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%d/%s", c->proc, (int)pid, name);
	f = fopen(path, "re");
	if (!f)
		return false;
	length = fread(text, 1, size - 1, f);
	text[length] = '\0';
	fclose(f);
	return length;
}

/* A process as rules see it */
struct traits {
	pid_t pid;
	uid_t uid;
	char exe[PATH_MAX];
	char cgroups[8192];
};

static bool fits(const struct rule *rule, const struct traits *t)
{
	switch (rule->kind) {
	case RULE_EXE:
		return !strcmp(rule->name, t->exe);
	case RULE_USER:
		return rule->uid == t->uid;
	case RULE_CGROUP:
		return t->cgroups[0] && match_cgroup(t->cgroups, rule->name);
	case RULE_PID:
		return rule->pid == t->pid;
	}
	return false;
}

/**
 * config_match() - what the file says of a process
 * @c: the file
 * @pid: the process
 * @process: receives it, with what the first line says that fits
 *
 * Return: does one fit? false as well of a process that has ended.
 */
bool config_match(const struct config *c, pid_t pid, struct process *process)
{
	char status[1024], link[PATH_MAX];
	const char *uids;
	struct traits t = { .pid = pid };
	ssize_t length;
	size_t i;

	if (!read_proc(c, pid, "status", status, sizeof(status)))
		return false;
	/* Its effective user, as the kernel decides which jobs are one user's. */
	uids = strstr(status, "\nUid:");
	if (!uids || sscanf(uids, "\nUid: %*u %u", &t.uid) != 1)
		return false;
	snprintf(link, sizeof(link), "%s/%d/exe", c->proc, (int)pid);
	length = readlink(link, t.exe, sizeof(t.exe) - 1);
	t.exe[length > 0 ? length : 0] = '\0';
	read_proc(c, pid, "cgroup", t.cgroups, sizeof(t.cgroups));
	for (i = 0; i < c->nr_rules; i++) {
		if (!fits(&c->rules[i], &t))
			continue;
		*process = (struct process){ .pid = pid, .uid = t.uid, .priority = c->rules[i].priority, .weight = c->rules[i].weight };
		return true;
	}
	return false;
}
