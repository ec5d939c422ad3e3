// SPDX-License-Identifier: MIT
/* list.c - gpreemptctl list, status */
#include "gpreemptctl.h"

#include <inttypes.h>
#include <stdlib.h>

static void print_queue(const struct gpreempt_queue_info *q)
{
	char command[32], queue[24], effective[16] = "", flags[8] = "";
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
	flags[nr] = '\0';
	printf("%7d %-15.15s %7u %5s %5d%-7s %-8s%-10s%-4s %8" PRIu64 " %9" PRIu64 " %9" PRIu64 " %s\n", q->pid,
	       command_of(q->pid, command, sizeof(command)), q->gpu_id, queue, q->logical_priority, effective,
	       gpreempt_source_name(q->source), gpreempt_queue_state_name(q->state), flags, (uint64_t)q->pending,
	       (uint64_t)q->preempt_count, (uint64_t)q->preempted_us / 1000, gpreempt_verdict_name(q->verdict));
}

/**
 * list_queues() - the queues that the options name
 * @command: for messages
 * @queues: out: to be freed
 * @nr: out: their number
 *
 * Return: 0, or the exit status, said.
 */
int list_queues(const struct options *o, const char *command, struct gpreempt_queue_info **queues, int *nr)
{
	struct gpreempt_target target;
	struct gpreempt *g;
	int status;

	*nr = 0;
	status = get_target(o, &target);
	if (status)
		return status;
	status = open_scheduler(&g);
	if (!status)
		*nr = gpreempt_list_queues(g, &target, queues);
	gpreempt_close(g);
	put_target(&target);
	if (!status && *nr < 0)
		return fail_errno(*nr, "%s", command);
	return status;
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

int cmd_list(const struct options *o)
{
	struct gpreempt_queue_info *queues;
	json_object *document, *array;
	int i, nr, status = list_queues(o, "list", &queues, &nr);

	if (status)
		return status;
	if (o->json) {
		document = new_document();
		array = json_object_new_array();
		for (i = 0; i < nr; i++)
			json_object_array_add(array, json_of_queue(&queues[i]));
		json_object_object_add(document, "queues", array);
		print_json(document);
	} else {
		printf("%7s %-15s %7s %5s %5s%-7s %-8s%-10s%-4s %8s %9s %9s %s\n", "PID", "COMMAND", "GPU", "QUEUE", "PRIO", "(EFF)", "SOURCE",
		       "STATE", "FLAG", "PENDING", "PREEMPTED", "OFF_MS", "VERDICT");
		for (i = 0; i < nr; i++)
			print_queue(&queues[i]);
	}
	free(queues);
	return EXIT_DONE;
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
		printf("%7s %-12s%-8s%-7s %7s %9s %12s %12s %9s\n", "GPU", "STATE", "BACKEND", "POLICY", "QUEUES", "PREEMPTED",
		       "PREEMPTIONS", "RESUMES", "FAILURES");
		for (i = 0; i < nr; i++)
			printf("%7u %-12s%-8s%-7s %7u %9u %12" PRIu64 " %12" PRIu64 " %9" PRIu64 "\n", nodes[i].gpu_id,
			       gpreempt_node_state_name(nodes[i].state), nodes[i].backend[0] ? nodes[i].backend : "-", nodes[i].policy,
			       nodes[i].nr_queues, nodes[i].nr_preempted, (uint64_t)nodes[i].preemptions,
			       (uint64_t)nodes[i].resumes, (uint64_t)nodes[i].failures);
	}
	free(nodes);
	return EXIT_DONE;
}
