// SPDX-License-Identifier: MIT
/* account.c - gpreemptctl account: who has used how much of a node */
#include "gpreemptctl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {
	[GPREEMPT_USAGE_NODE] = "node",
	[GPREEMPT_USAGE_CGROUP] = "cgroup",
	[GPREEMPT_USAGE_JOB] = "job",
	[GPREEMPT_USAGE_PROCESS] = "process",
};

#define NR_KINDS	(sizeof(kinds) / sizeof(kinds[0]))

/* The words of the command: which kinds; none: all. */
static int find_kinds(const struct options *o, unsigned int *bits)
{
	size_t k;
	int i;

	*bits = 0;
	for (i = 0; i < o->nr_args; i++) {
		for (k = 0; k < NR_KINDS && strcmp(o->args[i], kinds[k]); k++)
			;
		if (k == NR_KINDS)
			return fail(EXIT_USAGE, "account of what? %s is none of node, cgroup, job, process", o->args[i]);
		*bits |= 1U << k;
	}
	return 0;
}

static uint64_t number_of(json_object *o, const char *name)
{
	json_object *member;

	return json_object_object_get_ex(o, name, &member) ? json_object_get_int64(member) : 0;
}

static bool is_same(json_object *before, const struct gpreempt_usage_info *u)
{
	json_object *kind;

	return json_object_object_get_ex(before, "kind", &kind) && !strcmp(json_object_get_string(kind), kinds[u->kind]) &&
	       number_of(before, "gpu_id") == u->gpu_id &&
	       (u->kind != GPREEMPT_USAGE_CGROUP || number_of(before, "cgroup") == u->cgroup) &&
	       (u->kind != GPREEMPT_USAGE_JOB || number_of(before, "job") == u->job) &&
	       (u->kind != GPREEMPT_USAGE_PROCESS || (pid_t)number_of(before, "pid") == u->pid);
}

/* Another boot, or another process with the same PID: it began at 0 since. */
static uint64_t less(uint64_t now, uint64_t before)
{
	return now >= before ? now - before : now;
}

/* Only what came since an earlier answer of --json */
static int subtract(const char *path, struct gpreempt_usage_info *entries, int nr)
{
	json_object *document = json_object_from_file(path), *array = NULL;
	size_t k;
	int i;

	if (!document || !json_object_object_get_ex(document, "usage", &array)) {
		json_object_put(document);
		return fail(EXIT_FAILED, "%s is no output of: gpreemptctl account --json", path);
	}
	for (i = 0; i < nr; i++) {
		for (k = 0; k < json_object_array_length(array); k++) {
			json_object *before = json_object_array_get_idx(array, k);
			struct gpreempt_usage_info *u = &entries[i];

			if (!is_same(before, u))
				continue;
			u->usage.busy_ns = less(u->usage.busy_ns, number_of(before, "busy_ns"));
			u->usage.waiting_ns = less(u->usage.waiting_ns, number_of(before, "waiting_ns"));
			u->usage.preempted_ns = less(u->usage.preempted_ns, number_of(before, "preempted_ns"));
			u->usage.wave_us = less(u->usage.wave_us, number_of(before, "wave_us"));
			u->used_ns = less(u->used_ns, number_of(before, "used_ns"));
			break;
		}
	}
	json_object_put(document);
	return 0;
}

static json_object *json_of_usage(const struct gpreempt_usage_info *u)
{
	json_object *o = json_object_new_object();
	char command[64];

	add_text(o, "kind", kinds[u->kind]);
	add_number(o, "gpu_id", u->gpu_id);
	if (u->cgroup)
		add_number(o, "cgroup", u->cgroup);
	if (u->job)
		add_number(o, "job", u->job);
	if (u->kind == GPREEMPT_USAGE_PROCESS) {
		add_signed(o, "pid", u->pid);
		add_text(o, "command", command_of(u->pid, command, sizeof(command)));
	}
	add_number(o, "processes", u->nr_processes);
	add_number(o, "busy_ns", u->usage.busy_ns);
	add_number(o, "waiting_ns", u->usage.waiting_ns);
	add_number(o, "preempted_ns", u->usage.preempted_ns);
	add_number(o, "wave_us", u->usage.wave_us);
	if (u->kind == GPREEMPT_USAGE_NODE)
		add_number(o, "used_ns", u->used_ns);
	return o;
}

static void print_document(const struct gpreempt_usage_info *entries, int nr, uint64_t time_ns)
{
	json_object *document = new_document(), *array = json_object_new_array();
	int i;

	for (i = 0; i < nr; i++)
		json_object_array_add(array, json_of_usage(&entries[i]));
	add_number(document, "time_ns", time_ns);
	json_object_object_add(document, "usage", array);
	print_json(document);
}

static uint64_t id_of(const struct gpreempt_usage_info *u)
{
	switch (u->kind) {
	case GPREEMPT_USAGE_CGROUP:
		return u->cgroup;
	case GPREEMPT_USAGE_JOB:
		return u->job;
	case GPREEMPT_USAGE_PROCESS:
		return u->pid;
	default:
		return u->gpu_id;
	}
}

static void print_csv(const struct gpreempt_usage_info *entries, int nr)
{
	int i;

	puts("kind,gpu_id,id,cgroup,job,processes,busy_ns,waiting_ns,preempted_ns,wave_us,used_ns");
	for (i = 0; i < nr; i++) {
		const struct gpreempt_usage_info *u = &entries[i];

		printf("%s,%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n",
		       kinds[u->kind], u->gpu_id, id_of(u), (uint64_t)u->cgroup, (uint64_t)u->job, u->nr_processes, (uint64_t)u->usage.busy_ns,
		       (uint64_t)u->usage.waiting_ns, (uint64_t)u->usage.preempted_ns, (uint64_t)u->usage.wave_us, (uint64_t)u->used_ns);
	}
}

static void print_table(const struct gpreempt_usage_info *entries, int nr)
{
	char command[32];
	int i;

	printf("%-7s %7s %20s %-15s %12s %12s %12s %14s\n", "WHOSE", "GPU", "ID", "COMMAND", "BUSY s", "WAITING s", "PREEMPTED s", "WAVES x s");
	for (i = 0; i < nr; i++) {
		const struct gpreempt_usage_info *u = &entries[i];
		bool process = u->kind == GPREEMPT_USAGE_PROCESS;

		printf("%-7s %7u %20" PRIu64 " %-15.15s %12.3f %12.3f %12.3f %14.1f\n", kinds[u->kind], u->gpu_id, id_of(u),
		       process ? command_of(u->pid, command, sizeof(command)) : "", u->usage.busy_ns / 1e9, u->usage.waiting_ns / 1e9,
		       u->usage.preempted_ns / 1e9, u->usage.wave_us / 1e6);
	}
}

int cmd_account(const struct options *o)
{
	struct gpreempt_usage_info *entries;
	uint64_t time_ns = 0;
	struct gpreempt *g;
	unsigned int bits;
	int nr, status = find_kinds(o, &bits);

	if (!status && o->csv && o->json)
		status = fail(EXIT_USAGE, "account: --csv or --json");
	if (!status)
		status = open_scheduler(&g);
	if (status)
		return status;
	nr = gpreempt_list_usage(g, bits, o->gpu_id, &entries, &time_ns);
	gpreempt_close(g);
	if (nr == -ENOTTY)
		return fail(EXIT_NO_MODULE, "the module keeps no account; update it");
	if (nr < 0)
		return fail_errno(nr, "account");
	if (o->since)
		status = subtract(o->since, entries, nr);
	if (!status && o->json)
		print_document(entries, nr, time_ns);
	else if (!status && o->csv)
		print_csv(entries, nr);
	else if (!status)
		print_table(entries, nr);
	free(entries);
	return status;
}
