// SPDX-License-Identifier: MIT
/* set.c - gpreemptctl set, run: priorities, parameters of policies */
#include "gpreemptctl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Larger ones are refused by the kernel, which knows the bounds. */
#define MAX_VALUE	~0ULL

/**
 * struct change - what a word of set asks for
 * @kind: what is changed; CHANGE_PERIOD: it goes with a runtime
 * @priority: the priority
 * @param: the parameter
 * @value: its value
 */
struct change {
	enum { CHANGE_PRIORITY, CHANGE_CLEAR, CHANGE_PARAM, CHANGE_RUNTIME, CHANGE_PERIOD } kind;
	int priority;
	enum gpreempt_param param;
	unsigned long long value;
};

static const struct {
	const char *name;
	enum gpreempt_param param;
} params[] = {
	{ "weight", GPREEMPT_PARAM_WEIGHT },
	{ "deadline_us", GPREEMPT_PARAM_DEADLINE_US },
	{ "exempt", GPREEMPT_PARAM_EXEMPT },
	{ "waits_for", GPREEMPT_PARAM_WAITS_FOR },
};

#define FOLLOW_STOP	"follow_stop="

static bool parse_change(const char *word, struct change *change)
{
	const char *equals = strchr(word, '=');
	unsigned int follow_stop;
	size_t i, length;

	if (!strcmp(word, "clear")) {
		change->kind = CHANGE_CLEAR;
		return true;
	}
	if (!equals) {
		change->kind = CHANGE_PRIORITY;
		return parse_priority(word, &change->priority);
	}
	if (parse_reserved(word, "runtime=", &change->value)) {
		change->kind = CHANGE_RUNTIME;
		return true;
	}
	if (parse_reserved(word, "period=", &change->value)) {
		change->kind = CHANGE_PERIOD;
		return change->value;
	}
	change->kind = CHANGE_PARAM;
	if (!strncmp(word, FOLLOW_STOP, strlen(FOLLOW_STOP))) {
		if (!parse_follow_stop(equals + 1, &follow_stop))
			return false;
		change->param = GPREEMPT_PARAM_FOLLOW_STOP;
		change->value = follow_stop;
		return true;
	}
	length = equals - word;
	for (i = 0; i < sizeof(params) / sizeof(params[0]); i++) {
		if (strlen(params[i].name) == length && !strncmp(params[i].name, word, length)) {
			change->param = params[i].param;
			return change->param == GPREEMPT_PARAM_DEADLINE_US ? parse_time(equals + 1, 1, MAX_VALUE, &change->value) :
									     parse_number(equals + 1, MAX_VALUE, &change->value);
		}
	}
	return false;
}

/** set_takes_number() - only a priority has no sign of equality, and one is enough */
bool set_takes_number(const struct options *o, const char *word)
{
	int i, priority;

	for (i = 0; i < o->nr_args; i++)
		if (!strchr(o->args[i], '='))
			return false;
	return !o->nr_args || parse_priority(word, &priority);
}

/* It is of a process, not of one of its queues. */
static bool set_is_of_process(const struct change *change)
{
	return change->kind == CHANGE_PARAM && (change->param == GPREEMPT_PARAM_EXEMPT || change->param == GPREEMPT_PARAM_FOLLOW_STOP ||
						change->param == GPREEMPT_PARAM_WAITS_FOR);
}

/* What the words say of a reservation; 0: nothing. Return: a runtime is among them. */
static bool set_find_reservation(const struct options *o, unsigned long long *runtime_us, unsigned long long *period_us)
{
	bool found = false;
	int i;

	*runtime_us = 0;
	*period_us = 0;
	for (i = 0; i < o->nr_args; i++) {
		found |= parse_reserved(o->args[i], "runtime=", runtime_us);
		parse_reserved(o->args[i], "period=", period_us);
	}
	return found;
}

static int set_check_reservation(const struct options *o)
{
	unsigned long long runtime_us, period_us;
	bool found = set_find_reservation(o, &runtime_us, &period_us);

	if (period_us && !runtime_us)
		return fail(EXIT_USAGE, "period=%llu goes with a runtime=, from 1; alone it is deadline_us=; nothing changed", period_us);
	if (period_us && runtime_us > period_us)
		return fail(EXIT_USAGE, "runtime=%llu is above period=%llu; nothing changed", runtime_us, period_us);
	if ((found || period_us) && o->given & (GIVEN_QUEUE | GIVEN_CGROUP))
		return fail(EXIT_USAGE, "runtime=%llu is for a process; nothing changed", runtime_us);
	return 0;
}

static int set_runtime(struct gpreempt *g, const struct options *o, const struct gpreempt_target *target)
{
	unsigned long long runtime_us, period_us;
	int error;

	set_find_reservation(o, &runtime_us, &period_us);
	error = gpreempt_set_runtime(g, target, runtime_us, period_us);
	if (error == -EINVAL && !knows_reservations(g))
		return fail(EXIT_NO_MODULE, "set runtime=%llu: the module knows of no reservations; update it", runtime_us);
	if (error == -EINVAL)
		return fail(EXIT_FAILED, "set runtime=%llu: the process has no deadline: period=US; nothing changed", runtime_us);
	if (error == -ERANGE && !period_us)
		return fail(EXIT_FAILED, "set runtime=%llu is above the process's deadline; nothing changed", runtime_us);
	if (error == -ENOSPC && period_us)
		return say_what_is_missing(g, target, runtime_us, period_us);
	return error ? fail_errno(error, "set runtime=%llu", runtime_us) : 0;
}

static int carry_out(struct gpreempt *g, const struct gpreempt_target *target, const struct change *change)
{
	switch (change->kind) {
	case CHANGE_CLEAR:
		return gpreempt_clear_priority(g, target);
	case CHANGE_PARAM:
		return gpreempt_set_param(g, target, change->param, change->value);
	default:
		return gpreempt_set_priority(g, target, change->priority);
	}
}

/* Return: 0, or the exit status, said. */
static int set_check_waits_for(const struct options *o, const char *word, unsigned long long pid)
{
	int i;

	if (pid > INT_MAX)
		return fail(EXIT_USAGE, "%s is above %d, which no pid is; nothing changed", word, INT_MAX);
	for (i = 0; i < o->nr_pids; i++)
		if ((unsigned long long)o->pids[i] == pid)
			return fail(EXIT_USAGE, "%s: a process does not wait for itself; nothing changed", word);
	return 0;
}

/* @priority: the word before it that was one, or NULL. Return: 0, or the exit status, said. */
static int set_check_word(const struct options *o, const char *word, const char *priority)
{
	struct change change;

	if (!parse_change(word, &change))
		return fail(EXIT_USAGE,
			    "%s is neither a priority (%d..%d) nor a class (latency, normal, batch) nor clear, weight=N, deadline_us=N, runtime=US [period=US], exempt=0|1, waits_for=PID|0 or follow_stop=always|never|node; nothing changed",
			    word, GPREEMPT_PRIORITY_MIN, GPREEMPT_PRIORITY_MAX);
	if (priority && !strchr(word, '='))
		return fail(EXIT_USAGE, "%s and %s: one priority, class or clear, not two; pids stand right behind -p; nothing changed", priority, word);
	if (o->tree && change.kind != CHANGE_PRIORITY)
		return fail(EXIT_USAGE, "--tree goes with a priority or a class, not with %s: processes keep what they have inherited; nothing changed",
			    word);
	if (change.kind == CHANGE_PARAM && change.param != GPREEMPT_PARAM_FOLLOW_STOP && o->given & GIVEN_CGROUP)
		return fail(EXIT_USAGE, "%s is for a process or a queue: a cgroup has a priority and follow_stop only; nothing changed", word);
	if (set_is_of_process(&change) && o->given & GIVEN_QUEUE)
		return fail(EXIT_USAGE, "%s is for a process, not for one of its queues; nothing changed", word);
	if (change.kind == CHANGE_PARAM && change.param == GPREEMPT_PARAM_WAITS_FOR)
		return set_check_waits_for(o, word, change.value);
	return 0;
}

/* All words are looked at before the first of them changes something. */
static int set_check_words(const struct options *o)
{
	const char *priority = NULL;
	int i, status;

	if (!o->nr_args)
		return fail(EXIT_USAGE, "set what? a priority (%d..%d), a class (latency, normal, batch), clear, weight=N, deadline_us=N, runtime=US [period=US], exempt=0|1, waits_for=PID|0 or follow_stop=always|never|node",
			    GPREEMPT_PRIORITY_MIN, GPREEMPT_PRIORITY_MAX);
	if (!(o->given & (GIVEN_PID | GIVEN_CGROUP)))
		return fail(EXIT_USAGE, "set needs -p PID or --cgroup DIR");
	if (o->given & GIVEN_GPU && !(o->given & GIVEN_QUEUE))
		return fail(EXIT_USAGE, "set: a process has its settings on all GPUs; -g goes with -q");
	if (o->tree && (!(o->given & GIVEN_PID) || o->given & (GIVEN_QUEUE | GIVEN_CGROUP)))
		return fail(EXIT_USAGE, "--tree is for a process: set -p PID --tree PRIORITY|CLASS");
	for (i = 0; i < o->nr_args; i++) {
		status = set_check_word(o, o->args[i], priority);
		if (status)
			return status;
		if (!strchr(o->args[i], '='))
			priority = o->args[i];
	}
	return set_check_reservation(o);
}

/* Return: 0, or the exit status, said. */
static int set_word(struct gpreempt *g, const struct options *o, const struct gpreempt_target *target, const char *word)
{
	struct change change;
	int error;

	parse_change(word, &change);
	if (o->tree)
		return set_tree(g, o->pid, change.priority);
	if (change.kind == CHANGE_PERIOD)
		return 0;
	if (change.kind == CHANGE_RUNTIME)
		return set_runtime(g, o, target);
	error = carry_out(g, target, &change);
	if (error == -EINVAL && change.kind == CHANGE_PARAM && change.param == GPREEMPT_PARAM_FOLLOW_STOP)
		return fail(EXIT_NO_MODULE, "set %s: the module knows this of no single %s; update it; kept %snode", word,
			    o->given & GIVEN_CGROUP ? "cgroup" : "process", FOLLOW_STOP);
	if (error == -EINVAL && change.kind == CHANGE_PARAM && change.param == GPREEMPT_PARAM_WAITS_FOR)
		return fail(EXIT_NO_MODULE, "set %s: the module does not know this; update it; nothing is lent", word);
	return error ? fail_errno(error, "set %s", word) : 0;
}

static int set_target(struct gpreempt *g, const struct options *o, const struct gpreempt_target *target, void *data)
{
	int i, status = 0;

	(void)data;
	for (i = 0; !status && i < o->nr_args; i++)
		status = set_word(g, o, target, o->args[i]);
	return status;
}

int cmd_set(const struct options *o)
{
	struct gpreempt *g;
	int status = set_check_words(o);

	if (!status)
		status = open_scheduler(&g);
	if (status)
		return status;
	status = refuse_ambiguous(g, o);
	if (!status)
		status = each_target(g, o, set_target, NULL);
	gpreempt_close(g);
	return status;
}

/* The cgroup that this process is in, from /proc/self/cgroup. Return: 0, or a negative errno. */
static int own_cgroup(char *path, size_t size)
{
	char text[4096], *line, *end;
	int r = read_text("/proc/self/cgroup", text, sizeof(text));

	if (r < 0)
		return r;
	/* The unified hierarchy's line has number 0 and no controllers. */
	line = !strncmp(text, "0::", 3) ? text : strstr(text, "\n0::");
	if (!line)
		return -ENOENT;
	line = strchr(line, '/');
	if (!line)
		return -ENOENT;
	end = strchr(line, '\n');
	if (end)
		*end = '\0';
	snprintf(path, size, "/sys/fs/cgroup%s", strcmp(line, "/") ? line : "");
	return 0;
}

#define OURS	"gpreempt-"

static int is_ours(const struct dirent *entry)
{
	return !strncmp(entry->d_name, OURS, strlen(OURS));
}

/* Cgroups of earlier runs whose grandchildren lived longer: those that are empty now go, which the kernel sees to. */
static void remove_leftovers(const char *parent)
{
	struct dirent **entries;
	int i, nr = scandir(parent, &entries, is_ours, NULL);
	char path[4400];
	pid_t pid;

	for (i = 0; i < nr; i++) {
		pid = atoi(entries[i]->d_name + strlen(OURS));
		snprintf(path, sizeof(path), "%s/%s", parent, entries[i]->d_name);
		if (pid > 0 && kill(pid, 0) && errno == ESRCH)
			rmdir(path);
		free(entries[i]);
	}
	if (nr >= 0)
		free(entries);
}

/* Return: 0; -ENOTSUP: there is none to be had here; or the exit status, said. */
static int make_cgroup(char *path, size_t size)
{
	char parent[4096];
	int i, error;

	if (!cgroups_are_v2() || own_cgroup(parent, sizeof(parent)))
		return -ENOTSUP;
	remove_leftovers(parent);
	/* Descendants of an earlier process with this pid may still be in the first one. */
	for (i = 0; i < 100; i++) {
		snprintf(path, size, "%s/" OURS "%d-%d", parent, (int)getpid(), i);
		if (!mkdir(path, 0755))
			return 0;
		if (errno != EEXIST)
			break;
	}
	error = errno;
	if (error == EACCES || error == EPERM || error == EROFS)
		return -ENOTSUP;
	return fail(EXIT_FAILED, "run: %s: %s", path, strerror(error));
}

static int set_cgroup_priority(struct gpreempt *g, const char *path, int priority)
{
	struct gpreempt_target target;
	int error, fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return fail_system(-errno, "run: %s", path);
	target = gpreempt_target_cgroup(fd);
	error = gpreempt_set_priority(g, &target, priority);
	close(fd);
	return error ? fail_errno(error, "run: priority %d", priority) : 0;
}

/* The program waits until its process is in the cgroup, so that all of its life is. Return: its exit status, or ours. */
static int run_in(const char *path, char **args)
{
	char file[4400], number[16];
	int error, gate[2];
	pid_t pid;

	if (pipe2(gate, O_CLOEXEC))
		return fail_system(-errno, "run: pipe");
	pid = start_child(args, gate);
	close(gate[0]);
	if (pid < 0) {
		close(gate[1]);
		return fail_system(pid, "run: fork");
	}
	snprintf(file, sizeof(file), "%s/cgroup.procs", path);
	snprintf(number, sizeof(number), "%d", (int)pid);
	error = write_text(file, number);
	if (error)
		fail_system(error, "run: %s", file);
	else if (write(gate[1], "", 1) != 1)
		fail_system(-errno, "run: pipe");
	close(gate[1]);
	return wait_for_child(pid);
}

int cmd_run(const struct options *o)
{
	struct gpreempt *g;
	char path[4300];
	int status;

	if (!o->nr_args || !(o->given & GIVEN_PRIORITY))
		return fail(EXIT_USAGE, "run --priority N|--class C -- COMMAND...");
	status = open_scheduler(&g);
	if (status)
		return status;
	status = make_cgroup(path, sizeof(path));
	if (status == -ENOTSUP)
		return run_tree(g, o->priority, o->args);
	if (!status) {
		status = set_cgroup_priority(g, path, o->priority);
		/* The program may be one that unloads the driver. */
		gpreempt_close(g);
		g = NULL;
		if (!status)
			status = run_in(path, o->args);
		/* Left alone while grandchildren live: it is what makes them what they are. */
		rmdir(path);
	}
	gpreempt_close(g);
	return status;
}
