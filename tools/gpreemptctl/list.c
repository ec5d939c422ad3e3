// SPDX-License-Identifier: MIT
/* list.c - gpreemptctl list, status */
#include "gpreemptctl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "workload.h"

/* Of the least ring there is, which ROCr's own queues have (utility, copies by kernels). A program may ask for one as well: so it is a guess. */
#define RUNTIME_RING	4096

/* Size of a ring, with a question mark where it is as small as those of ROCr's own queues. */
static const char *ring_of(const struct gpreempt_queue_info *q, char *buffer, size_t size)
{
	uint64_t bytes = ring_bytes(q);

	if (!bytes)
		snprintf(buffer, size, "-");
	else if (bytes == RUNTIME_RING)
		snprintf(buffer, size, "4K:rocr?");
	else if (bytes % (1 << 20))
		snprintf(buffer, size, "%" PRIu64 "K", bytes >> 10);
	else
		snprintf(buffer, size, "%" PRIu64 "M", bytes >> 20);
	return buffer;
}

static void print_queue(const struct member *m)
{
	char command[32], queue[24], effective[16] = "", flags[12] = "", job[24] = "-", nspid[16] = "-", ring[24], place[PLACE_WORDS], busy[24], waiting[24];
	const struct gpreempt_queue_info *q = m->queue;
	int nr = 0;

	if (q->context > 1)
		snprintf(queue, sizeof(queue), "%" PRIu32 "@%u", q->queue_id, q->context);
	else
		snprintf(queue, sizeof(queue), "%" PRIu32, q->queue_id);
	if (q->effective_priority != q->logical_priority)
		snprintf(effective, sizeof(effective), "(%d)", q->effective_priority);
	if (q->flags & GPREEMPT_QUEUE_HELD)
		flags[nr++] = 'H';
	if (q->flags & GPREEMPT_QUEUE_BLOCKED)
		flags[nr++] = 'B';
	if (q->flags & GPREEMPT_QUEUE_EXEMPT)
		flags[nr++] = 'X';
	if (q->flags & GPREEMPT_QUEUE_UNSCHEDULED)
		flags[nr++] = 'U';
	if (q->flags & GPREEMPT_QUEUE_EVICTED)
		flags[nr++] = 'E';
	if (q->flags & GPREEMPT_QUEUE_DEBUGGED)
		flags[nr++] = 'D';
	if (q->flags & GPREEMPT_QUEUE_SUSPENDED)
		flags[nr++] = 'S';
	if (q->flags & GPREEMPT_QUEUE_STOPS_ALWAYS)
		flags[nr++] = 'F';
	if (q->flags & GPREEMPT_QUEUE_STOPS_NEVER)
		flags[nr++] = 'N';
	if (q->flags & GPREEMPT_QUEUE_WAITS)
		flags[nr++] = 'W';
	if (q->flags & GPREEMPT_QUEUE_LENT)
		flags[nr++] = 'L';
	flags[nr] = '\0';
	if (m->job)
		snprintf(job, sizeof(job), "%" PRIu64, m->job);
	if (m->origin.nspid)
		snprintf(nspid, sizeof(nspid), "%d", (int)m->origin.nspid);
	printf("%7d %-15.15s %7u %5s %5d%-7s %-8s%-10s%-4s %8" PRIu64 " %9" PRIu64 " %9" PRIu64 " %9s %9s %-14s %7s %-8s %12s %s\n", q->pid,
	       command_of(q->pid, command, sizeof(command)), q->gpu_id, queue, q->logical_priority, effective,
	       gpreempt_source_name(q->source), gpreempt_queue_state_name(q->state), flags, (uint64_t)q->pending,
	       (uint64_t)q->preempt_count, (uint64_t)q->preempted_us / 1000,
	       m->usage ? usage_word(m->usage->busy_ns, 0, busy, sizeof(busy)) : "-",
	       m->usage ? usage_word(m->usage->waiting_ns, 0, waiting, sizeof(waiting)) : "-", gpreempt_verdict_name(q->verdict), nspid,
	       ring_of(q, ring, sizeof(ring)), job, place_words(&m->origin.place, place, sizeof(place)));
}

/**
 * list_queues() - the queues that the options name
 * @command: for messages
 * @list: out: to be given to free_queues(), unless it failed
 *
 * Return: 0, or the exit status, said.
 */
int list_queues(const struct options *o, const char *command, struct queue_list *list)
{
	struct gpreempt_target target;
	struct gpreempt *g;
	int status;

	*list = (struct queue_list){ 0 };
	status = get_target(o, &target);
	if (status)
		return status;
	status = open_scheduler(&g);
	if (!status)
		list->nr = gpreempt_list_queue_usage(g, &target, &list->queues, &list->jobs, &list->usage);
	gpreempt_close(g);
	put_target(&target);
	if (!status && list->nr < 0)
		return fail_errno(list->nr, "%s", command);
	return status;
}

/** free_queues() - what list_queues() gave */
void free_queues(struct queue_list *list)
{
	free(list->queues);
	free(list->jobs);
	free(list->usage);
}

/**
 * list_nodes() - all nodes
 * @command: for messages
 * @info: out: what the module is; NULL: not asked for
 * @nodes: out: to be freed
 * @nr: out: their number
 *
 * Return: 0, or the exit status, said.
 */
int list_nodes(const char *command, struct gpreempt_info *info, struct gpreempt_node_info **nodes, int *nr)
{
	struct gpreempt *g;
	int status = open_scheduler(&g);

	*nr = 0;
	if (status)
		return status;
	*nr = gpreempt_list_nodes(g, info, nodes);
	gpreempt_close(g);
	return *nr < 0 ? fail_errno(*nr, "%s", command) : 0;
}

/* By node and number, as the scheduler has them. */
static int by_queue(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	return x->queue < y->queue ? -1 : x->queue > y->queue;
}

static json_object *json_of_member(const struct member *m)
{
	json_object *o = json_of_queue(m->queue);
	uint64_t ring = ring_bytes(m->queue);

	add_device(o, m->queue->gpu_id);
	if (m->origin.nspid)
		add_signed(o, "nspid", m->origin.nspid);
	if (m->origin.uid != (uid_t)-1)
		add_number(o, "uid", m->origin.uid);
	if (m->job)
		add_number(o, "job", m->job);
	add_place(o, &m->origin.place);
	if (m->usage)
		add_usage(o, m->usage);
	if (ring) {
		add_number(o, "ring_bytes", ring);
		add_flag(o, "maybe_rocr", ring == RUNTIME_RING);
	}
	return o;
}

static int print_members(const struct options *o, const struct queue_list *list)
{
	struct member *members = find_members(list);
	json_object *document, *array;
	int i;

	if (!members)
		return -ENOMEM;
	document = new_document();
	array = json_object_new_array();
	json_object_object_add(document, "queues", array);
	qsort(members, list->nr, sizeof(*members), by_queue);
	if (!o->json)
		printf("%7s %-15s %7s %5s %5s%-7s %-8s%-10s%-4s %8s %9s %9s %9s %9s %-14s %7s %-8s %12s %s\n", "PID", "COMMAND", "GPU", "QUEUE", "PRIO",
		       "(EFF)", "SOURCE", "STATE", "FLAG", "PENDING", "PREEMPTED", "OFF_MS", "BUSY_MS", "WAIT_MS", "VERDICT", "NSPID", "RING", "JOB", "PLACE");
	for (i = 0; i < list->nr; i++) {
		if (o->json)
			json_object_array_add(array, json_of_member(&members[i]));
		else
			print_queue(&members[i]);
	}
	if (o->json)
		print_json(document);
	else
		json_object_put(document);
	free(members);
	return 0;
}

static int print_workloads(const struct options *o, const struct queue_list *list)
{
	json_object *document, *array;
	struct workload *workloads;
	char line[WORKLOAD_LINE];
	int i, n = find_workloads(list, &workloads);

	if (n < 0)
		return n;
	document = new_document();
	array = json_object_new_array();
	json_object_object_add(document, "workloads", array);
	if (!o->json)
		puts(workload_head(false));
	for (i = 0; i < n; i++) {
		if (o->json) {
			json_object_array_add(array, json_of_workload(&workloads[i]));
			continue;
		}
		workload_line(&workloads[i], 0, line, sizeof(line));
		puts(line);
	}
	if (o->json)
		print_json(document);
	else
		json_object_put(document);
	free(workloads);
	return 0;
}

int cmd_list(const struct options *o)
{
	struct queue_list list;
	int error, status = list_queues(o, "list", &list);

	if (status)
		return status;
	error = o->by_job ? print_workloads(o, &list) : print_members(o, &list);
	free_queues(&list);
	return error ? fail_system(error, "list") : EXIT_DONE;
}

static void print_node(const struct gpreempt_node_info *n)
{
	const struct identity *id = identity_of(n->gpu_id);
	char slots[40];

	printf("%7u %-12s%-8s%-7s %7u %9u %12" PRIu64 " %12" PRIu64 " %9" PRIu64 " %7s %-13s %s\n", n->gpu_id, gpreempt_node_state_name(n->state),
	       n->backend[0] ? n->backend : "-", n->policy, n->nr_queues, n->nr_preempted, (uint64_t)n->preemptions, (uint64_t)n->resumes,
	       (uint64_t)n->failures, slots_of(n->gpu_id, slots, sizeof(slots)), id->bdf[0] ? id->bdf : "-", id->name[0] ? id->name : "-");
}

int cmd_status(const struct options *o)
{
	struct gpreempt_node_info *nodes;
	struct gpreempt_info info;
	json_object *document, *array;
	int i, nr, status = list_nodes("status", &info, &nodes, &nr);

	if (status)
		return status;
	if (o->json) {
		document = new_document();
		json_object_object_add(document, "abi_version", json_object_new_int(info.abi_version));
		array = json_object_new_array();
		for (i = 0; i < nr; i++)
			json_object_array_add(array, json_of_node(&nodes[i]));
		json_object_object_add(document, "nodes", array);
		print_json(document);
	} else {
		printf("%7s %-12s%-8s%-7s %7s %9s %12s %12s %9s %7s %-13s %s\n", "GPU", "STATE", "BACKEND", "POLICY", "QUEUES", "PREEMPTED",
		       "PREEMPTIONS", "RESUMES", "FAILURES", "SLOTS", "PCI", "DEVICE");
		for (i = 0; i < nr; i++)
			print_node(&nodes[i]);
	}
	free(nodes);
	return EXIT_DONE;
}
