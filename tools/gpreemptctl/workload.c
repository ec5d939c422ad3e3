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

/**
 * usage_word() - a time in milliseconds, or in percent
 * @ns: the time
 * @over_ns: of so much time; 0: in milliseconds
 *
 * Return: @buffer.
 */
const char *usage_word(uint64_t ns, uint64_t over_ns, char *buffer, size_t size)
{
	if (over_ns)
		snprintf(buffer, size, "%.0f", 100.0 * ns / over_ns);
	else
		snprintf(buffer, size, "%" PRIu64, ns / 1000000);
	return buffer;
}

#define HEAD	"%12s %-10.10s %-44.44s %7s %-13s %7s %5s %6s %6s %5s %5s %8s %9s %9s %9s %9s %s"

/** workload_head() - names of the columns; @shares: times used are parts of the time */
const char *workload_head(bool shares)
{
	static char head[WORKLOAD_LINE];

	snprintf(head, sizeof(head), HEAD, "JOB", "USER", "PLACE", "GPU", "PCI", "SLOTS", "PROCS", "QUEUES", "ACTIVE", "OFF", "PRIO", "PENDING", "PREEMPTED",
		 "OFF_MS", shares ? "BUSY%" : "BUSY_MS", shares ? "WAIT%" : "WAIT_MS", "DEVICE");
	return head;
}

/** workload_line() - one as a line of the table; @over_ns: see usage_word() */
void workload_line(const struct workload *w, uint64_t over_ns, char *line, size_t size)
{
	char job[24] = "-", user[40], place[PLACE_WORDS], slots[40], busy[24] = "-", waiting[24] = "-";
	const struct identity *id = identity_of(w->gpu_id);

	if (w->job)
		snprintf(job, sizeof(job), "%" PRIu64, w->job);
	if (w->told) {
		usage_word(w->usage.busy_ns, over_ns, busy, sizeof(busy));
		usage_word(w->usage.waiting_ns, over_ns, waiting, sizeof(waiting));
	}
	snprintf(line, size, "%12s %-10.10s %-44.44s %7u %-13s %7s %5u %6u %6u %5u %5d %8" PRIu64 " %9" PRIu64 " %9" PRIu64 " %9s %9s %s", job,
		 user_of(w->uid, user, sizeof(user)), place_words(&w->place, place, sizeof(place)), w->gpu_id, id->bdf[0] ? id->bdf : "-",
		 slots_of(w->gpu_id, slots, sizeof(slots)), w->processes, w->queues, w->active, w->preempted, w->priority, w->pending, w->preempt_count,
		 w->preempted_us / 1000, busy, waiting, id->name[0] ? id->name : "-");
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
