// SPDX-License-Identifier: MIT
/* workload.c - queues by job, user and place on each node: for list, top, and metrics */
#include "workload.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_pid(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	return compare_u64(x->queue->pid, y->queue->pid);
}

/**
 * find_members() - find out whose queues are
 * @list: the queues; have to stay
 *
 * Return: as many, to be freed, by pid; NULL: no memory.
 */
struct member *find_members(const struct queue_list *list)
{
	struct member *members = calloc(list->nr ? list->nr : 1, sizeof(*members));
	int i;

	if (!members)
		return NULL;
	for (i = 0; i < list->nr; i++)
		members[i] = (struct member){ .queue = &list->queues[i], .job = list->jobs[i], .usage = list->usage ? &list->usage[i] : NULL };
	/* Each process is looked at once. */
	qsort(members, list->nr, sizeof(*members), by_pid);
	for (i = 0; i < list->nr; i++) {
		if (i && members[i].queue->pid == members[i - 1].queue->pid)
			members[i].origin = members[i - 1].origin;
		else
			find_origin(members[i].queue->pid, &members[i].origin);
	}
	return members;
}

/* Those without a job come last. */
static int compare_jobs(uint64_t a, uint64_t b)
{
	return compare_u64(a - 1, b - 1);
}

/** compare_workloads() - for sorting: by job, user, place and node; 0: queues of the two are added up */
int compare_workloads(const struct workload *a, const struct workload *b)
{
	int r = compare_jobs(a->job, b->job);

	if (!r)
		r = compare_u64(a->uid, b->uid);
	if (!r)
		r = compare_places(&a->place, &b->place);
	return r ? r : compare_u64(a->gpu_id, b->gpu_id);
}

/* The one that a queue is part of, as far as it is compared */
static struct workload workload_of(const struct member *m)
{
	return (struct workload){ .job = m->job, .uid = m->origin.uid, .place = m->origin.place, .gpu_id = m->queue->gpu_id };
}

static int by_workload(const struct member *x, const struct member *y)
{
	struct workload a = workload_of(x), b = workload_of(y);

	return compare_workloads(&a, &b);
}

static int by_workload_and_pid(const void *a, const void *b)
{
	int r = by_workload(a, b);

	return r ? r : by_pid(a, b);
}

static void add_member(struct workload *w, const struct member *m, bool first, bool next_process)
{
	const struct gpreempt_queue_info *q = m->queue;

	if (first) {
		*w = workload_of(m);
		w->priority = q->effective_priority;
	}
	w->processes += next_process;
	w->queues++;
	w->active += q->state == GPREEMPT_QUEUE_ACTIVE;
	w->preempted += q->state == GPREEMPT_QUEUE_PREEMPTED;
	if (q->effective_priority > w->priority)
		w->priority = q->effective_priority;
	w->pending += q->pending;
	w->preempt_count += q->preempt_count;
	w->preempted_us += q->preempted_us;
	if (!m->usage)
		return;
	w->told = true;
	w->usage.busy_ns += m->usage->busy_ns;
	w->usage.waiting_ns += m->usage->waiting_ns;
	w->usage.wave_us += m->usage->wave_us;
}

/**
 * find_workloads() - what queues of one job, user and place do on each node
 * @list: the queues
 * @workloads: out: to be freed, by job, user, place and node; those without a job last. NULL after an error
 *
 * Return: length of @workloads, or a negative errno.
 */
int find_workloads(const struct queue_list *list, struct workload **workloads)
{
	struct member *members = find_members(list);
	int i, n = 0, nr = list->nr;

	*workloads = members ? calloc(nr ? nr : 1, sizeof(**workloads)) : NULL;
	if (!*workloads) {
		free(members);
		return -ENOMEM;
	}
	qsort(members, nr, sizeof(*members), by_workload_and_pid);
	for (i = 0; i < nr; i++) {
		bool first = !i || by_workload(&members[i - 1], &members[i]);

		n += first;
		add_member(&(*workloads)[n - 1], &members[i], first, first || by_pid(&members[i - 1], &members[i]));
	}
	free(members);
	return n;
}

/**
 * slots_of() - "5/24": how many slots of a node queues want to have, and how many there are; "-": not known, as for users what others want is
 *
 * Return: @buffer.
 */
const char *slots_of(unsigned int gpu_id, char *buffer, size_t size)
{
	unsigned int slots = identity_of(gpu_id)->slots;
	char active[24];

	if (node_attribute(gpu_id, "active_queues", active, sizeof(active)) <= 0)
		snprintf(active, sizeof(active), "-");
	if (slots)
		snprintf(buffer, size, "%s/%u", active, slots);
	else
		snprintf(buffer, size, "%s/-", active);
	return buffer;
}

/** counted_since() - what a counter has counted since; one that became less began anew */
uint64_t counted_since(uint64_t now, uint64_t before)
{
	return now >= before ? now - before : now;
}

enum {
	WORKLOAD_JOB, WORKLOAD_USER, WORKLOAD_PLACE, WORKLOAD_GPU, WORKLOAD_PCI, WORKLOAD_SLOTS, WORKLOAD_PROCS, WORKLOAD_QUEUES, WORKLOAD_ACTIVE,
	WORKLOAD_OFF, WORKLOAD_PRIO, WORKLOAD_PENDING, WORKLOAD_PREEMPTED, WORKLOAD_OFF_MS, WORKLOAD_DEVICE, WORKLOAD_BUSY, WORKLOAD_WAIT,
	NR_WORKLOAD_COLUMNS
};

/* The columns of times used are those of top; list has others of the same meaning. */
#define WORKLOAD_COLUMNS(busy, wait) { \
	[WORKLOAD_JOB] = { "JOB", COLUMN_RIGHT, 0, 7 }, \
	[WORKLOAD_USER] = { "USER", COLUMN_CUT, 0, 0 }, \
	[WORKLOAD_PLACE] = { "PLACE", COLUMN_CUT, 0, 0 }, \
	[WORKLOAD_GPU] = { "GPU", COLUMN_RIGHT, 0, 0 }, \
	[WORKLOAD_PCI] = { "PCI", 0, 8, 0 }, \
	[WORKLOAD_SLOTS] = { "SLOTS", COLUMN_RIGHT, 7, 0 }, \
	[WORKLOAD_PROCS] = { "PROCS", COLUMN_RIGHT, 6, 0 }, \
	[WORKLOAD_QUEUES] = { "QUEUES", COLUMN_RIGHT, 0, 0 }, \
	[WORKLOAD_ACTIVE] = { "ACTIVE", COLUMN_RIGHT, 3, 0 }, \
	[WORKLOAD_OFF] = { "OFF", COLUMN_RIGHT, 0, 5 }, \
	[WORKLOAD_PRIO] = { "PRIO", COLUMN_RIGHT, 0, 5 }, \
	[WORKLOAD_PENDING] = { "PENDING", COLUMN_RIGHT, 5, 0 }, \
	[WORKLOAD_PREEMPTED] = { "PREEMPTED", COLUMN_RIGHT, 10, 0 }, \
	[WORKLOAD_OFF_MS] = { "OFF_MS", COLUMN_RIGHT, 4, 0 }, \
	[WORKLOAD_DEVICE] = { "DEVICE", COLUMN_CUT, 9, 0 }, \
	[WORKLOAD_BUSY] = { busy, COLUMN_RIGHT, 2, 0 }, \
	[WORKLOAD_WAIT] = { wait, COLUMN_RIGHT, 1, 0 }, \
}

/** new_workload_table() - a table of workloads; @live: of top. Return: see new_table() */
int new_workload_table(const struct options *o, const char *command, bool live, struct table **table)
{
	static const struct column in_ms[] = WORKLOAD_COLUMNS("BUSY_MS", "WAIT_MS"), in_percent[] = WORKLOAD_COLUMNS("BUSY%", "WAIT%");
#define BEFORE	"JOB,USER,PLACE,GPU,PCI,SLOTS,PROCS,QUEUES,ACTIVE,OFF,PRIO,PENDING,PREEMPTED,OFF_MS,"
	static const struct columns list = {
		.all = in_ms, .nr = NR_WORKLOAD_COLUMNS, .text = BEFORE "BUSY_MS,WAIT_MS,DEVICE", .csv = BEFORE "BUSY_MS,WAIT_MS,DEVICE",
	}, top = {
		.all = in_percent, .nr = NR_WORKLOAD_COLUMNS, .text = BEFORE "BUSY%,WAIT%,DEVICE",
	};

	return new_table(o, command, live ? &top : &list, table);
}

static void workload_put_time(struct table *t, size_t column, uint64_t ns, uint64_t over_ns)
{
	if (over_ns)
		put(t, column, "%.0f", 100.0 * ns / over_ns);
	else
		put(t, column, "%" PRIu64, ns / 1000000);
}

/**
 * add_workload_row() - one
 * @kind: see add_row()
 * @over_ns: in so much time its usage was used; 0: times are in milliseconds
 */
void add_workload_row(struct table *t, const struct workload *w, int kind, uint64_t over_ns)
{
	const struct identity *id = identity_of(w->gpu_id);
	char text[PLACE_WORDS];

	add_row(t, kind);
	if (w->job)
		put(t, WORKLOAD_JOB, "%" PRIu64, w->job);
	put(t, WORKLOAD_USER, "%s", user_of(w->uid, text, sizeof(text)));
	put_word(t, WORKLOAD_PLACE, place_words(&w->place, text, sizeof(text)));
	put(t, WORKLOAD_GPU, "%u", w->gpu_id);
	put_word(t, WORKLOAD_PCI, id->bdf);
	put(t, WORKLOAD_SLOTS, "%s", slots_of(w->gpu_id, text, sizeof(text)));
	put(t, WORKLOAD_PROCS, "%u", w->processes);
	put(t, WORKLOAD_QUEUES, "%u", w->queues);
	put(t, WORKLOAD_ACTIVE, "%u", w->active);
	put(t, WORKLOAD_OFF, "%u", w->preempted);
	put(t, WORKLOAD_PRIO, "%d", w->priority);
	put(t, WORKLOAD_PENDING, "%" PRIu64, w->pending);
	put(t, WORKLOAD_PREEMPTED, "%" PRIu64, w->preempt_count);
	put(t, WORKLOAD_OFF_MS, "%" PRIu64, w->preempted_us / 1000);
	if (w->told) {
		workload_put_time(t, WORKLOAD_BUSY, w->usage.busy_ns, over_ns);
		workload_put_time(t, WORKLOAD_WAIT, w->usage.waiting_ns, over_ns);
	}
	put_word(t, WORKLOAD_DEVICE, id->name);
}

/** add_usage() - members of an object that say what has been used; time off the device is not among them */
void add_usage(json_object *o, const struct gpreempt_queue_usage *usage)
{
	add_number(o, "busy_ns", usage->busy_ns);
	add_number(o, "waiting_ns", usage->waiting_ns);
	add_number(o, "wave_us", usage->wave_us);
}

/** add_place() - members of an object that say where a process comes from; none for what is not known */
void add_place(json_object *o, const struct place *place)
{
	if (place->container[0]) {
		add_text(o, "container_engine", place->engine);
		add_text(o, "container_id", place->container);
	}
	if (place->pod[0])
		add_text(o, "pod_uid", place->pod);
	if (place->slurm_job[0])
		add_text(o, "slurm_job", place->slurm_job);
	if (place->slurm_step[0])
		add_text(o, "slurm_step", place->slurm_step);
}

/** json_of_workload() - one as an object; the caller's */
json_object *json_of_workload(const struct workload *w)
{
	json_object *o = json_object_new_object();

	if (w->job)
		add_number(o, "job", w->job);
	if (w->uid != (uid_t)-1)
		add_number(o, "uid", w->uid);
	add_place(o, &w->place);
	add_number(o, "gpu_id", w->gpu_id);
	add_device(o, w->gpu_id);
	add_number(o, "processes", w->processes);
	add_number(o, "queues", w->queues);
	add_number(o, "active", w->active);
	add_number(o, "preempted", w->preempted);
	add_signed(o, "effective_priority", w->priority);
	add_number(o, "pending", w->pending);
	add_number(o, "preempt_count", w->preempt_count);
	add_number(o, "preempted_us", w->preempted_us);
	if (w->told)
		add_usage(o, &w->usage);
	return o;
}
