// SPDX-License-Identifier: MIT
/* job.c - gpreemptctl job: processes that wait for each other */
#include "gpreemptctl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Return: 0, or the exit status, said. */
static int check_target(const struct options *o, bool set)
{
	unsigned long long id;

	if (!(o->given & (GIVEN_PID | GIVEN_CGROUP)))
		return fail(EXIT_USAGE, "job %s needs -p PID or --cgroup DIR", o->args[0]);
	if (o->given & (GIVEN_GPU | GIVEN_QUEUE))
		return fail(EXIT_USAGE, "job: a process is in a job with all its queues, without -g and -q");
	if (o->tree && !(o->given & GIVEN_PID))
		return fail(EXIT_USAGE, "--tree is for a process: job set -p PID --tree ID");
	if (set && o->nr_args > 1 && (!parse_number(o->args[1], ~0ULL, &id) || !id))
		return fail(EXIT_USAGE, "%s is not a job's id: a number from 1 to %llu; nothing changed", o->args[1], ~0ULL);
	if (set && o->nr_args == 1 && o->given & GIVEN_PID)
		return fail(EXIT_USAGE, "job set -p PID needs the job's ID, a number from 1");
	return 0;
}

/* The id on the command line; of a cgroup it may be left out. */
static int find_id(const struct options *o, const struct gpreempt_target *target, uint64_t *job)
{
	unsigned long long id;
	struct stat cgroup;

	if (o->nr_args > 1) {
		parse_number(o->args[1], ~0ULL, &id);
		*job = id;
		return 0;
	}
	if (fstat(target->cgroup_fd, &cgroup))
		return fail_system(-errno, "%s", o->cgroup);
	/* What the kernel calls the cgroup's id */
	*job = cgroup.st_ino;
	return 0;
}

/** job_takes_number() - it is the job's id */
bool job_takes_number(const struct options *o, const char *word)
{
	(void)word;
	return o->nr_args == 1 && !strcmp(o->args[0], "set");
}

/* @data: is it put into one, not taken out? */
static int job_set(struct gpreempt *g, const struct options *o, const struct gpreempt_target *target, void *data)
{
	unsigned int flags = (o->tree ? GPREEMPT_JOB_INHERIT : 0) | (o->stay ? GPREEMPT_JOB_STAY : 0);
	bool set = *(bool *)data;
	uint64_t job = 0;
	int error, status = set ? find_id(o, target, &job) : 0;

	if (status)
		return status;
	error = gpreempt_set_job(g, target, job, set ? flags : GPREEMPT_JOB_CLEAR);
	if (error == -ENOTTY)
		return fail(EXIT_NO_MODULE, "the module knows of no jobs; update it");
	if (error == -EPERM)
		return fail(EXIT_DENIED, "job %s: not allowed; what an administrator set, and cgroups take CAP_SYS_ADMIN", o->args[0]);
	return error ? fail_errno(error, "job %s", o->args[0]) : 0;
}

static int change(const struct options *o, bool set)
{
	struct gpreempt *g;
	int status = check_target(o, set);

	if (!status)
		status = open_scheduler(&g);
	if (status)
		return status;
	status = refuse_ambiguous(g, o);
	if (!status)
		status = each_target(g, o, job_set, &set);
	gpreempt_close(g);
	return status;
}

static json_object *json_of_member(const struct gpreempt_queue_info *q, uint64_t job)
{
	json_object *object = json_of_queue(q);

	add_number(object, "job", job);
	return object;
}

static void print_member(const struct gpreempt_queue_info *q, uint64_t job)
{
	char command[32];

	printf("%12" PRIu64 " %7d %-15.15s %7u %5" PRIu32 " %5d %-10s %s\n", job, q->pid, command_of(q->pid, command, sizeof(command)), q->gpu_id,
	       q->queue_id, q->logical_priority, gpreempt_queue_state_name(q->state), gpreempt_verdict_name(q->verdict));
}

/* By job, then by node. */
struct member {
	const struct gpreempt_queue_info *queue;
	uint64_t job;
};

static int compare(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	return (x->queue->gpu_id > y->queue->gpu_id) - (x->queue->gpu_id < y->queue->gpu_id);
}

static int print_members(const struct options *o, const struct gpreempt_queue_info *queues, const uint64_t *jobs, int nr)
{
	struct member *members = calloc(nr ? nr : 1, sizeof(*members));
	json_object *document, *array;
	int i, n = 0;

	if (!members)
		return fail_system(-ENOMEM, "job list");
	for (i = 0; i < nr; i++)
		if (jobs[i])
			members[n++] = (struct member){ &queues[i], jobs[i] };
	qsort(members, n, sizeof(*members), compare);
	if (o->json) {
		document = new_document();
		array = json_object_new_array();
		for (i = 0; i < n; i++)
			json_object_array_add(array, json_of_member(members[i].queue, members[i].job));
		json_object_object_add(document, "queues", array);
		print_json(document);
	} else {
		printf("%12s %7s %-15s %7s %5s %5s %-10s %s\n", "JOB", "PID", "COMMAND", "GPU", "QUEUE", "PRIO", "STATE", "VERDICT");
		for (i = 0; i < n; i++)
			print_member(members[i].queue, members[i].job);
	}
	free(members);
	return EXIT_DONE;
}

static int list(const struct options *o)
{
	struct queue_list queues;
	int status = list_queues(o, "job list", &queues);

	if (status)
		return status;
	status = print_members(o, queues.queues, queues.jobs, queues.nr);
	free_queues(&queues);
	return status;
}

int cmd_job(const struct options *o)
{
	const char *what = o->nr_args ? o->args[0] : "";
	bool set = !strcmp(what, "set"), clear = !strcmp(what, "clear");

	if (!set && !clear && strcmp(what, "list"))
		return fail(EXIT_USAGE, "job what? set -p PID ID, set --cgroup DIR [ID], clear or list");
	if (!set && o->nr_args > 1)
		return fail(EXIT_USAGE, "job %s takes no word %s", what, o->args[1]);
	if (!set && (o->tree || o->stay))
		return fail(EXIT_USAGE, "--tree and --stay go with job set");
	if ((set || clear) && o->json)
		return fail(EXIT_USAGE, "--json goes with job list");
	return set || clear ? change(o, set) : list(o);
}
