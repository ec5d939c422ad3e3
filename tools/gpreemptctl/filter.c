// SPDX-License-Identifier: MIT
/* filter.c - what -p, -u, -g, -q, --job, --cgroup and --state leave of queues and events */
#include "filter.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpreemptctl.h"
#include "match.h"
#include "origin.h"

#define CGROUPS		"/sys/fs/cgroup"

static bool filter_refuse(char *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool filter_refuse(char *why, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, FILTER_WHY, format, args);
	va_end(args);
	return false;
}

static bool filter_add_user(struct filter *f, const char *word, char *why)
{
	uid_t uid;

	if (!match_user(word, &uid))
		return filter_refuse(why, "user=%s: there is no such user", word);
	if (f->nr_uids == MOST_FILTERED)
		return filter_refuse(why, "user=%s is one more than %d, which may be named", word, MOST_FILTERED);
	f->uids[f->nr_uids++] = uid;
	return true;
}

static bool filter_add_job(struct filter *f, const char *word, char *why)
{
	unsigned long long job;

	if (!parse_number(word, ~0ULL, &job) || !job)
		return filter_refuse(why, "job=%s is not a number from 1 to %llu", word, ~0ULL);
	if (f->nr_jobs == MOST_FILTERED)
		return filter_refuse(why, "job=%s is one more than %d, which may be named", word, MOST_FILTERED);
	f->jobs[f->nr_jobs++] = job;
	return true;
}

static bool filter_add_state(struct filter *f, const char *word, char *why)
{
	unsigned int state;

	for (state = 0; state <= GPREEMPT_QUEUE_PREEMPTED; state++) {
		if (strcmp(word, gpreempt_queue_state_name(state)))
			continue;
		f->states |= 1U << state;
		return true;
	}
	return filter_refuse(why, "state=%s is none of idle, active, preempted", word);
}

/**
 * add_to_filter() - one of the options, once more
 * @option: GIVEN_USER, GIVEN_JOB or GIVEN_STATE
 * @words: with commas between them
 * @why: receives what is wrong; FILTER_WHY long
 *
 * Return: false: something is.
 */
bool add_to_filter(struct filter *f, unsigned int option, const char *words, char *why)
{
	bool (*add)(struct filter *f, const char *word, char *why) = option == GIVEN_USER ? filter_add_user :
								     option == GIVEN_JOB ? filter_add_job : filter_add_state;
	char *copy = strdup(words), *rest = copy, *word;
	bool right = copy || filter_refuse(why, "no memory for %s", words);

	while (right && (word = strsep(&rest, ",")))
		right = add(f, word, why);
	free(copy);
	return right;
}

/* Under version 2 there is no hierarchy whose name match_cgroup() would pass over. */
static bool filter_is_in_cgroup(const char *text, const char *wanted)
{
	char path[PATH_MAX];

	if (!match_is_pattern(wanted) && realpath(wanted, path))
		wanted = path;
	if (!access(CGROUPS "/cgroup.procs", F_OK) && !strncmp(wanted, CGROUPS "/", sizeof(CGROUPS)))
		wanted += sizeof(CGROUPS);
	return match_cgroup(text, wanted);
}

static bool filter_passes_cgroup(const struct subject *s, const char *wanted)
{
	char path[64], text[16384];

	if (s->cgroup) {
		snprintf(text, sizeof(text), "0::%s", s->cgroup);
	} else {
		snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)s->pid);
		if (s->pid <= 0 || read_text(path, text, sizeof(text)) <= 0)
			return false;
	}
	return filter_is_in_cgroup(text, wanted);
}

static bool filter_passes_process(const struct options *o, const struct subject *s)
{
	bool pid = !o->nr_pids, cgroup = !o->nr_cgroups;
	int i;

	for (i = 0; i < o->nr_pids; i++)
		pid |= o->pids[i] == s->pid;
	for (i = 0; pid && !cgroup && i < o->nr_cgroups; i++)
		cgroup = filter_passes_cgroup(s, o->cgroups[i]);
	return pid && cgroup;
}

/** passes() - is it one of those that the options leave? */
bool passes(const struct options *o, const struct subject *s)
{
	const struct filter *f = &o->filter;
	bool uid = !f->nr_uids, job = !f->nr_jobs;
	unsigned int i;

	for (i = 0; i < f->nr_uids; i++)
		uid |= f->uids[i] == s->uid;
	for (i = 0; i < f->nr_jobs; i++)
		job |= f->jobs[i] == s->job;
	return uid && job && gpu_is_chosen(o, s->gpu_id) && (!(o->given & GIVEN_QUEUE) || o->queue_id == s->queue_id) &&
	       (!f->states || f->states & 1U << s->state) && filter_passes_process(o, s);
}

/** filter_queues() - leave those of @list that pass */
void filter_queues(const struct options *o, struct queue_list *list)
{
	struct origin origin = { 0 };
	int i, n = 0;

	for (i = 0; i < list->nr; i++) {
		const struct gpreempt_queue_info *q = &list->queues[i];

		if (o->filter.nr_uids && origin.pid != q->pid)
			find_origin(q->pid, &origin);
		if (!passes(o, &(struct subject){ .pid = q->pid, .uid = origin.uid, .gpu_id = q->gpu_id, .queue_id = q->queue_id,
						  .job = list->jobs[i], .state = q->state }))
			continue;
		list->queues[n] = *q;
		list->jobs[n] = list->jobs[i];
		if (list->usage)
			list->usage[n] = list->usage[i];
		n++;
	}
	list->nr = n;
}

/** sees_all() - does the scheduler tell the caller of all processes, and count for him? */
bool sees_all(void)
{
	int length = -ENOENT;
	struct dirent *node;
	DIR *nodes = opendir(NODES);
	char text[64];

	while (nodes && length == -ENOENT && (node = readdir(nodes)))
		if (node->d_name[0] != '.')
			length = node_attribute(strtoul(node->d_name, NULL, 10), "checks", text, sizeof(text));
	if (nodes)
		closedir(nodes);
	return length != -EACCES && length != -EPERM;
}

/** tell_what_is_hidden() - say @what on stderr to who may not see all. Return: the caller may */
bool tell_what_is_hidden(const char *what)
{
	bool all = sees_all();

	if (!all)
		fprintf(stderr, "gpreemptctl: %s; " ROOT_SEES_ALL "\n", what);
	return all;
}

/**
 * node_state_is_told() - is a node's state what it does?
 * @all: the caller may see all; to others a node is idle whatever it does
 */
bool node_state_is_told(const struct gpreempt_node_info *n, bool all)
{
	return all || n->state != GPREEMPT_NODE_IDLE;
}
