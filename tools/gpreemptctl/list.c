// SPDX-License-Identifier: MIT
/* list.c - gpreemptctl list, status: queues and nodes as rows */
#include "gpreemptctl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "table.h"
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

/* In the order of the enumeration; what list shows comes first, then what -o may ask for. */
enum {
	QUEUE_PID, QUEUE_COMMAND, QUEUE_GPU, QUEUE_QUEUE, QUEUE_PRIO_EFF, QUEUE_SOURCE, QUEUE_STATE, QUEUE_FLAG, QUEUE_PENDING, QUEUE_PREEMPTED,
	QUEUE_OFF_MS, QUEUE_BUSY_MS, QUEUE_WAIT_MS, QUEUE_VERDICT, QUEUE_NSPID, QUEUE_RING, QUEUE_JOB, QUEUE_PLACE, QUEUE_USER, QUEUE_PCI,
	QUEUE_DEVICE, QUEUE_SET_PRIO, QUEUE_PRIO, QUEUE_WAVES, QUEUE_WHY, QUEUE_BUSY, QUEUE_WAIT, NR_QUEUE_COLUMNS
};

static const struct column queue_columns[] = {
	[QUEUE_PID] = { "PID", COLUMN_RIGHT, 0, 7 },
	[QUEUE_COMMAND] = { "COMMAND", COLUMN_CUT, 0, 0 },
	[QUEUE_GPU] = { "GPU", COLUMN_RIGHT, 0, 0 },
	[QUEUE_QUEUE] = { "QUEUE", COLUMN_RIGHT, 1, 0 },
	[QUEUE_PRIO_EFF] = { "PRIO(EFF)", COLUMN_RIGHT, 0, 0 },
	[QUEUE_SOURCE] = { "SOURCE", 0, 14, 0 },
	[QUEUE_STATE] = { "STATE", 0, 0, 9 },
	[QUEUE_FLAG] = { "FLAG", 0, 4, 0 },
	[QUEUE_PENDING] = { "PENDING", COLUMN_RIGHT, 6, 0 },
	[QUEUE_PREEMPTED] = { "PREEMPTED", COLUMN_RIGHT, 8, 0 },
	[QUEUE_OFF_MS] = { "OFF_MS", COLUMN_RIGHT, 7, 0 },
	[QUEUE_BUSY_MS] = { "BUSY_MS", COLUMN_RIGHT, 11, 0 },
	[QUEUE_WAIT_MS] = { "WAIT_MS", COLUMN_RIGHT, 11, 0 },
	[QUEUE_VERDICT] = { "VERDICT", 0, 0, 0 },
	[QUEUE_NSPID] = { "NSPID", COLUMN_RIGHT, 13, 0 },
	[QUEUE_RING] = { "RING", 0, 12, 0 },
	[QUEUE_JOB] = { "JOB", COLUMN_RIGHT, 5, 0 },
	[QUEUE_PLACE] = { "PLACE", COLUMN_CUT, 3, 0 },
	[QUEUE_USER] = { "USER", COLUMN_CUT, 2, 0 },
	[QUEUE_PCI] = { "PCI", 0, 9, 0 },
	[QUEUE_DEVICE] = { "DEVICE", COLUMN_CUT, 10, 0 },
	[QUEUE_SET_PRIO] = { "SET_PRIO", COLUMN_RIGHT, 2, 0 },
	[QUEUE_PRIO] = { "PRIO", COLUMN_RIGHT, 0, 5 },
	[QUEUE_WAVES] = { "WAVES", COLUMN_RIGHT, 12, 0 },
	[QUEUE_WHY] = { "WHY", COLUMN_CUT, 0, 0 },
	[QUEUE_BUSY] = { "BUSY%", COLUMN_RIGHT, 0, 0 },
	[QUEUE_WAIT] = { "WAIT%", COLUMN_RIGHT, 0, 0 },
};

/** new_queue_table() - a table of queues; @live: of top. Return: see new_table() */
int new_queue_table(const struct options *o, const char *command, bool live, struct table **table)
{
	static const struct columns list = {
		.all = queue_columns,
		.nr = QUEUE_BUSY,
		.text = "PID,COMMAND,GPU,QUEUE,PRIO(EFF),SOURCE,STATE,FLAG,PENDING,PREEMPTED,OFF_MS,BUSY_MS,WAIT_MS,VERDICT,NSPID,RING,JOB,PLACE",
		.csv = "PID,COMMAND,USER,GPU,PCI,QUEUE,SET_PRIO,PRIO,SOURCE,STATE,FLAG,PENDING,PREEMPTED,OFF_MS,BUSY_MS,WAIT_MS,VERDICT,NSPID,RING,JOB,PLACE",
	}, top = {
		.all = queue_columns,
		.nr = NR_QUEUE_COLUMNS,
		.text = "PID,COMMAND,GPU,QUEUE,PRIO,STATE,BUSY%,WAIT%,PENDING,WAVES,PREEMPTED,OFF_MS,VERDICT",
	};

	return new_table(o, command, live ? &top : &list, table);
}

static const char *list_flags_of(const struct gpreempt_queue_info *q, char *buffer)
{
	static const struct {
		unsigned int flag;
		char letter;
	} letters[] = {
		{ GPREEMPT_QUEUE_HELD, 'H' }, { GPREEMPT_QUEUE_BLOCKED, 'B' }, { GPREEMPT_QUEUE_EXEMPT, 'X' }, { GPREEMPT_QUEUE_UNSCHEDULED, 'U' },
		{ GPREEMPT_QUEUE_EVICTED, 'E' }, { GPREEMPT_QUEUE_DEBUGGED, 'D' }, { GPREEMPT_QUEUE_SUSPENDED, 'S' }, { GPREEMPT_QUEUE_STOPS_ALWAYS, 'F' },
		{ GPREEMPT_QUEUE_STOPS_NEVER, 'N' }, { GPREEMPT_QUEUE_WAITS, 'W' }, { GPREEMPT_QUEUE_LENT, 'L' },
	};
	size_t i;
	int nr = 0;

	for (i = 0; i < sizeof(letters) / sizeof(letters[0]); i++)
		if (q->flags & letters[i].flag)
			buffer[nr++] = letters[i].letter;
	buffer[nr] = '\0';
	return buffer;
}

/* What only some queues have */
static void list_put_owner(struct table *t, const struct member *m)
{
	const struct identity *id = identity_of(m->queue->gpu_id);
	char place[PLACE_WORDS], user[40];

	if (m->origin.nspid)
		put(t, QUEUE_NSPID, "%d", (int)m->origin.nspid);
	if (m->job)
		put(t, QUEUE_JOB, "%" PRIu64, m->job);
	put(t, QUEUE_USER, "%s", user_of(m->origin.uid, user, sizeof(user)));
	put_word(t, QUEUE_PLACE, place_words(&m->origin.place, place, sizeof(place)));
	put_word(t, QUEUE_PCI, id->bdf);
	put_word(t, QUEUE_DEVICE, id->name);
}

static void list_put_times(struct table *t, const struct member *m, uint64_t over_ns)
{
	if (m->usage) {
		put(t, QUEUE_BUSY_MS, "%" PRIu64, (uint64_t)m->usage->busy_ns / 1000000);
		put(t, QUEUE_WAIT_MS, "%" PRIu64, (uint64_t)m->usage->waiting_ns / 1000000);
	}
	if (m->since && over_ns) {
		put(t, QUEUE_BUSY, "%.0f", 100.0 * m->since->busy_ns / over_ns);
		put(t, QUEUE_WAIT, "%.0f", 100.0 * m->since->waiting_ns / over_ns);
	}
}

/**
 * add_queue_row() - a queue
 * @kind: see add_row()
 * @over_ns: in so much time its @since was used; 0: that is not known
 */
void add_queue_row(struct table *t, const struct member *m, int kind, uint64_t over_ns)
{
	const struct gpreempt_queue_info *q = m->queue;
	char text[256];

	add_row(t, kind);
	put(t, QUEUE_PID, "%d", q->pid);
	put(t, QUEUE_COMMAND, "%s", command_of(q->pid, text, sizeof(text)));
	put(t, QUEUE_GPU, "%u", q->gpu_id);
	if (q->context > 1)
		put(t, QUEUE_QUEUE, "%" PRIu32 "@%u", q->queue_id, q->context);
	else
		put(t, QUEUE_QUEUE, "%" PRIu32, q->queue_id);
	put(t, QUEUE_SET_PRIO, "%d", q->logical_priority);
	put(t, QUEUE_PRIO, "%d", q->effective_priority);
	if (q->effective_priority != q->logical_priority)
		put(t, QUEUE_PRIO_EFF, "%d(%d)", q->logical_priority, q->effective_priority);
	else
		put(t, QUEUE_PRIO_EFF, "%d", q->logical_priority);
	put(t, QUEUE_SOURCE, "%s", gpreempt_source_name(q->source));
	put(t, QUEUE_STATE, "%s", gpreempt_queue_state_name(q->state));
	put(t, QUEUE_FLAG, "%s", list_flags_of(q, text));
	put(t, QUEUE_PENDING, "%" PRIu64, (uint64_t)q->pending);
	put(t, QUEUE_PREEMPTED, "%" PRIu64, (uint64_t)q->preempt_count);
	put(t, QUEUE_OFF_MS, "%" PRIu64, (uint64_t)q->preempted_us / 1000);
	put(t, QUEUE_VERDICT, "%s", gpreempt_verdict_name(q->verdict));
	put(t, QUEUE_WHY, "%s", verdict_sentence(q, text, sizeof(text)));
	if (q->waves != ~0U)
		put(t, QUEUE_WAVES, "%u", q->waves);
	put_word(t, QUEUE_RING, ring_of(q, text, sizeof(text)));
	list_put_owner(t, m);
	list_put_times(t, m, over_ns);
}

/**
 * list_queues() - the queues that the options leave
 * @command: for messages
 * @list: out: to be given to free_queues(), unless it failed
 *
 * Return: 0, or the exit status, said.
 */
int list_queues(const struct options *o, const char *command, struct queue_list *list)
{
	struct gpreempt_target all = gpreempt_target_all();
	struct gpreempt *g;
	int status;

	*list = (struct queue_list){ 0 };
	if (o->given & GIVEN_QUEUE && (o->nr_pids != 1 || o->nr_gpus != 1))
		return fail(EXIT_USAGE, "a queue is named by -p PID -g GPU -q QUEUE, as in the output of list");
	status = open_scheduler(&g);
	if (status)
		return status;
	list->nr = gpreempt_list_queue_usage(g, &all, &list->queues, &list->jobs, &list->usage);
	gpreempt_close(g);
	if (list->nr < 0)
		return fail_errno(list->nr, "%s", command);
	filter_queues(o, list);
	return 0;
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

static int list_print_json_of_members(const struct member *members, int nr)
{
	json_object *document = new_document(), *array = json_object_new_array();
	int i;

	for (i = 0; i < nr; i++)
		json_object_array_add(array, json_of_member(&members[i]));
	json_object_object_add(document, "queues", array);
	print_json(document);
	return 0;
}

static int print_members(const struct options *o, struct table *t, const struct queue_list *list)
{
	struct member *members = find_members(list);
	int i, error;

	if (!members)
		return -ENOMEM;
	qsort(members, list->nr, sizeof(*members), by_queue);
	for (i = 0; i < list->nr && !o->json; i++)
		add_queue_row(t, &members[i], 0, 0);
	error = o->json ? list_print_json_of_members(members, list->nr) : print_table(t);
	free(members);
	return error;
}

static int list_print_json_of_workloads(const struct workload *workloads, int nr)
{
	json_object *document = new_document(), *array = json_object_new_array();
	int i;

	for (i = 0; i < nr; i++)
		json_object_array_add(array, json_of_workload(&workloads[i]));
	json_object_object_add(document, "workloads", array);
	print_json(document);
	return 0;
}

static int print_workloads(const struct options *o, struct table *t, const struct queue_list *list)
{
	struct workload *workloads;
	int i, error, n = find_workloads(list, &workloads);

	if (n < 0)
		return n;
	for (i = 0; i < n && !o->json; i++)
		add_workload_row(t, &workloads[i], 0, 0);
	error = o->json ? list_print_json_of_workloads(workloads, n) : print_table(t);
	free(workloads);
	return error;
}

int cmd_list(const struct options *o)
{
	struct queue_list list;
	struct table *t;
	int error, status = o->by_job ? new_workload_table(o, "list", false, &t) : new_queue_table(o, "list", false, &t);

	if (status)
		return status;
	status = list_queues(o, "list", &list);
	if (!status) {
		tell_what_is_hidden(OWN_ALONE);
		error = o->by_job ? print_workloads(o, t, &list) : print_members(o, t, &list);
		free_queues(&list);
		status = error ? fail_system(error, "list") : EXIT_DONE;
	}
	free_table(t);
	return status;
}

enum {
	NODE_GPU, NODE_STATE, NODE_BACKEND, NODE_POLICY, NODE_QUEUES, NODE_PREEMPTED, NODE_PREEMPTIONS, NODE_RESUMES, NODE_FAILURES, NODE_SLOTS,
	NODE_PCI, NODE_DEVICE, NR_NODE_COLUMNS
};

static const struct column node_columns[] = {
	[NODE_GPU] = { "GPU", COLUMN_RIGHT, 0, 7 },
	[NODE_STATE] = { "STATE", 0, 0, 0 },
	[NODE_BACKEND] = { "BACKEND", 0, 4, 0 },
	[NODE_POLICY] = { "POLICY", 0, 2, 0 },
	[NODE_QUEUES] = { "QUEUES", COLUMN_RIGHT, 0, 0 },
	[NODE_PREEMPTED] = { "PREEMPTED", COLUMN_RIGHT, 1, 0 },
	[NODE_PREEMPTIONS] = { "PREEMPTIONS", COLUMN_RIGHT, 5, 0 },
	[NODE_RESUMES] = { "RESUMES", COLUMN_RIGHT, 6, 0 },
	[NODE_FAILURES] = { "FAILURES", COLUMN_RIGHT, 0, 0 },
	[NODE_SLOTS] = { "SLOTS", COLUMN_RIGHT, 3, 0 },
	[NODE_PCI] = { "PCI", 0, 0, 0 },
	[NODE_DEVICE] = { "DEVICE", COLUMN_CUT, 0, 0 },
};

/* @all: the caller may know what others' work does */
static void list_add_node_row(struct table *t, const struct gpreempt_node_info *n, bool all)
{
	const struct identity *id = identity_of(n->gpu_id);
	char slots[40];

	add_row(t, 0);
	put(t, NODE_GPU, "%u", n->gpu_id);
	if (node_state_is_told(n, all))
		put(t, NODE_STATE, "%s", gpreempt_node_state_name(n->state));
	put_word(t, NODE_BACKEND, n->backend);
	put(t, NODE_POLICY, "%s", n->policy);
	put(t, NODE_QUEUES, "%u", n->nr_queues);
	put(t, NODE_PREEMPTED, "%u", n->nr_preempted);
	if (all) {
		put(t, NODE_PREEMPTIONS, "%" PRIu64, (uint64_t)n->preemptions);
		put(t, NODE_RESUMES, "%" PRIu64, (uint64_t)n->resumes);
		put(t, NODE_FAILURES, "%" PRIu64, (uint64_t)n->failures);
	}
	put(t, NODE_SLOTS, "%s", slots_of(n->gpu_id, slots, sizeof(slots)));
	put_word(t, NODE_PCI, id->bdf);
	put_word(t, NODE_DEVICE, id->name);
}

static int list_print_nodes_json(const struct options *o, const struct gpreempt_info *info, const struct gpreempt_node_info *nodes, int nr, bool all)
{
	json_object *document = new_document(), *array = json_object_new_array();
	int i;

	json_object_object_add(document, "abi_version", json_object_new_int(info->abi_version));
	for (i = 0; i < nr; i++)
		if (gpu_is_chosen(o, nodes[i].gpu_id))
			json_object_array_add(array, json_of_node(&nodes[i], all));
	json_object_object_add(document, "nodes", array);
	print_json(document);
	return 0;
}

int cmd_status(const struct options *o)
{
	static const struct columns columns = {
		.all = node_columns,
		.nr = NR_NODE_COLUMNS,
		.text = "GPU,STATE,BACKEND,POLICY,QUEUES,PREEMPTED,PREEMPTIONS,RESUMES,FAILURES,SLOTS,PCI,DEVICE",
		.csv = "GPU,STATE,BACKEND,POLICY,QUEUES,PREEMPTED,PREEMPTIONS,RESUMES,FAILURES,SLOTS,PCI,DEVICE",
	};
	struct gpreempt_node_info *nodes;
	struct gpreempt_info info;
	struct table *t;
	int i, nr, error, status = new_table(o, "status", &columns, &t);
	bool all;

	if (status)
		return status;
	status = list_nodes("status", &info, &nodes, &nr);
	if (!status) {
		all = tell_what_is_hidden("own queues alone are counted, and what the scheduler does is not shown");
		for (i = 0; i < nr && !o->json; i++)
			if (gpu_is_chosen(o, nodes[i].gpu_id))
				list_add_node_row(t, &nodes[i], all);
		error = o->json ? list_print_nodes_json(o, &info, nodes, nr, all) : print_table(t);
		free(nodes);
		status = error ? fail_system(error, "status") : EXIT_DONE;
	}
	free_table(t);
	return status;
}
