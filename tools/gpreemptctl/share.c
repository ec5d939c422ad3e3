// SPDX-License-Identifier: MIT
/* share.c - gpreemptctl share: device time of cgroups and jobs by weight, minimum and maximum */
#include "gpreemptctl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool is_job(const char *word)
{
	return !strncmp(word, "job=", 4);
}

/* Which: --cgroup DIR, or words job=ID. What it is to have: the other words. */
static int read_words(const struct options *o, bool clear, struct gpreempt_set_share *share)
{
	int i, nr_words = 0, nr_jobs = 0;
	unsigned long long job;
	char why[PARSE_WHY];

	*share = (struct gpreempt_set_share){ .weight = clear ? 0 : SHARE_WEIGHT, .flags = clear ? GPREEMPT_SHARE_CLEAR : 0 };
	for (i = 1; i < o->nr_args; i++) {
		if (is_job(o->args[i])) {
			if (!parse_number(o->args[i] + 4, ~0ULL, &job) || !job)
				return fail(EXIT_USAGE, "%s is not a job's id: a number from 1 to %llu; nothing changed", o->args[i], ~0ULL);
			nr_jobs++;
			continue;
		}
		nr_words++;
		if (clear)
			return fail(EXIT_USAGE, "share clear takes no word %s", o->args[i]);
		if (!parse_share_word(o->args[i], share, why))
			return fail(EXIT_USAGE, "%s; nothing changed", why);
	}
	if (!nr_jobs == !(o->given & GIVEN_CGROUP))
		return fail(EXIT_USAGE, "share %s needs --cgroup DIR or job=ID, one of them", o->args[0]);
	if (!clear && !nr_words)
		return fail(EXIT_USAGE, "share set needs weight=N, min=PERCENT or max=PERCENT; what is not named is weight=%d min=0 max=none", SHARE_WEIGHT);
	if (!parse_is_possible(share, why))
		return fail(EXIT_USAGE, "%s; nothing changed", why);
	return 0;
}

/* Weights and minima divide the time of a priority, and elsewhere than under hpf ranks are none. */
static void tell_where_only_maxima_count(struct gpreempt *g)
{
	struct gpreempt_node_info *nodes;
	int i, nr = gpreempt_list_nodes(g, NULL, &nodes);

	for (i = 0; i < nr; i++)
		if (!strcmp(nodes[i].policy, "wfq") || !strcmp(nodes[i].policy, "edf"))
			fprintf(stderr, "gpreemptctl: gpu %u: under the policy %s the maxima of groups count, and weights and minima do not; gpreemptctl policy hpf -g %u\n",
				nodes[i].gpu_id, nodes[i].policy, nodes[i].gpu_id);
	free(nodes);
}

/* @data: what it is to have */
static int share_set(struct gpreempt *g, const struct options *o, const struct gpreempt_target *target, void *data)
{
	struct gpreempt_set_share *share = data;
	int error;

	share->target = *target;
	error = gpreempt_set_share(g, share);
	if (error == -ENOTTY)
		return fail(EXIT_NO_MODULE, "the module knows of no shares; update it");
	if (error == -EPERM)
		return fail(EXIT_DENIED, "share %s: not allowed; shares take CAP_SYS_ADMIN", o->args[0]);
	if (error == -ENOSPC)
		return fail(EXIT_FAILED, "share set: 127 groups have a share, and there is room for no more; nothing changed");
	return error ? fail_errno(error, "share %s", o->args[0]) : 0;
}

/* A share may be set before its job is; a mistyped id looks the same. */
static void share_tell_empty_job(struct gpreempt *g, uint64_t job)
{
	struct gpreempt_target all = gpreempt_target_all();
	struct gpreempt_queue_info *queues;
	uint64_t *jobs;
	int i, nr = gpreempt_list_jobs(g, &all, &queues, &jobs);
	bool empty = nr >= 0;

	for (i = 0; i < nr; i++)
		empty &= jobs[i] != job;
	free(queues);
	free(jobs);
	if (empty)
		fprintf(stderr, "gpreemptctl: no queue is in the job %llu now; its share counts when one is\n", (unsigned long long)job);
}

/* Return: 0, or the exit status: of one job its own, of several EXIT_FAILED. */
static int share_set_of_jobs(struct gpreempt *g, const struct options *o, struct gpreempt_set_share *share)
{
	struct gpreempt_target all = gpreempt_target_all();
	int i, r, nr = 0, status = 0;
	unsigned long long job;

	for (i = 1; i < o->nr_args; i++)
		nr += is_job(o->args[i]);
	for (i = 1; i < o->nr_args; i++) {
		if (!is_job(o->args[i]))
			continue;
		parse_number(o->args[i] + 4, ~0ULL, &job);
		share->job = job;
		name_target(nr > 1 ? o->args[i] : NULL);
		r = share_set(g, o, &all, share);
		if (r)
			status = nr > 1 ? EXIT_FAILED : r;
		else if (!(share->flags & GPREEMPT_SHARE_CLEAR))
			share_tell_empty_job(g, job);
	}
	name_target(NULL);
	return status;
}

static int change(const struct options *o, bool clear)
{
	struct gpreempt_set_share share;
	struct gpreempt *g;
	int status = read_words(o, clear, &share);

	if (!status)
		status = open_scheduler(&g);
	if (status)
		return status;
	if (o->given & GIVEN_CGROUP)
		status = each_target(g, o, share_set, &share);
	else
		status = share_set_of_jobs(g, o, &share);
	if (!status && !clear && (share.weight != SHARE_WEIGHT || share.min_pct))
		tell_where_only_maxima_count(g);
	gpreempt_close(g);
	return status;
}

static json_object *json_of_share(const struct gpreempt_share_info *s)
{
	json_object *object = json_object_new_object();

	add_number(object, "gpu_id", s->gpu_id);
	add_number(object, "cgroup", s->cgroup_id);
	add_number(object, "job", s->job);
	add_number(object, "parent", s->parent_id);
	add_number(object, "weight", s->weight);
	add_number(object, "min_pct", s->min_pct);
	add_number(object, "quota_us", s->quota_us);
	add_number(object, "period_us", s->period_us);
	add_number(object, "served_us", s->served_us);
	json_object_object_add(object, "runs", json_object_new_boolean(s->flags & GPREEMPT_SHARE_RUNS));
	json_object_object_add(object, "full", json_object_new_boolean(s->flags & GPREEMPT_SHARE_FULL));
	return object;
}

/* @all_us: what all have had on its node */
static void print_share(const struct gpreempt_share_info *s, uint64_t all_us)
{
	char group[32], maximum[48];

	if (s->job)
		snprintf(group, sizeof(group), "job %llu", (unsigned long long)s->job);
	else if (s->cgroup_id)
		snprintf(group, sizeof(group), "cgroup %llu", (unsigned long long)s->cgroup_id);
	else
		snprintf(group, sizeof(group), "all");
	if (s->quota_us)
		snprintf(maximum, sizeof(maximum), "%" PRIu64 "/%" PRIu64, (uint64_t)s->quota_us, (uint64_t)s->period_us);
	else
		snprintf(maximum, sizeof(maximum), "none");
	printf("%7u %-24s %8" PRIu64 " %6u %4u %15s %14" PRIu64 " %5.1f %s\n", s->gpu_id, group, (uint64_t)s->parent_id, s->weight, s->min_pct, maximum,
	       (uint64_t)s->served_us, all_us ? 100.0 * s->served_us / all_us : 0.0,
	       s->flags & GPREEMPT_SHARE_FULL ? "full" : s->flags & GPREEMPT_SHARE_RUNS ? "runs" : "");
}

static void print_shares(const struct options *o, const struct gpreempt_share_info *shares, int nr)
{
	json_object *document, *array;
	uint64_t all_us = 0;
	int i;

	if (o->json) {
		document = new_document();
		array = json_object_new_array();
		for (i = 0; i < nr; i++)
			json_object_array_add(array, json_of_share(&shares[i]));
		json_object_object_add(document, "shares", array);
		print_json(document);
		return;
	}
	printf("%7s %-24s %8s %6s %4s %15s %14s %5s %s\n", "GPU", "GROUP", "PARENT", "WEIGHT", "MIN", "MAX_US", "SERVED_US", "PCT", "STATE");
	for (i = 0; i < nr; i++) {
		/* The first of a node's is the root group. */
		if (!shares[i].cgroup_id && !shares[i].job)
			all_us = shares[i].served_us;
		print_share(&shares[i], all_us);
	}
}

static int list(const struct options *o)
{
	struct gpreempt_share_info *shares;
	struct gpreempt *g;
	int nr, status = open_scheduler(&g);

	if (status)
		return status;
	nr = gpreempt_list_shares(g, &shares);
	if (nr > 0)
		tell_where_only_maxima_count(g);
	gpreempt_close(g);
	if (nr == -ENOTTY)
		return fail(EXIT_NO_MODULE, "the module knows of no shares; update it");
	if (nr == -EPERM)
		return fail(EXIT_DENIED, "share list: not allowed; shares take CAP_SYS_ADMIN");
	if (nr < 0)
		return fail_errno(nr, "share list");
	print_shares(o, shares, nr);
	free(shares);
	return EXIT_DONE;
}

int cmd_share(const struct options *o)
{
	const char *what = o->nr_args ? o->args[0] : "";
	bool set = !strcmp(what, "set"), clear = !strcmp(what, "clear");

	if (!set && !clear && strcmp(what, "list"))
		return fail(EXIT_USAGE, "share what? set --cgroup DIR|job=ID weight=N min=PERCENT max=PERCENT, clear or list");
	if (!set && !clear && (o->nr_args > 1 || o->given & GIVEN_CGROUP))
		return fail(EXIT_USAGE, "share list is of all groups, without words and --cgroup");
	if ((set || clear) && o->json)
		return fail(EXIT_USAGE, "--json goes with share list");
	return set || clear ? change(o, clear) : list(o);
}
