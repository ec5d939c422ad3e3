// SPDX-License-Identifier: MIT
/*
 * probe.c - gpreemptctl probe-hang: can what is busy still be preempted?
 *
 * The only sure way to know is to preempt, and a queue that hangs does not survive that: the driver
 * resets it, or the whole device. So queues are watched first. One that goes on, ends or is
 * preempted by another process is not touched. Only on request is one that shows nothing preempted,
 * for a moment.
 */
#include "gpreemptctl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEFAULT_BOUND_MS	1000
#define LOOKS			20	/* within the bound */

/**
 * enum verdict - what is known of a queue
 * @SILENT: nothing
 * @RESPONSIVE: it is alive, or was preempted within the bound
 * @UNRESPONSIVE: it was not preempted within the bound
 * @REFUSED: it could not be tried
 */
enum verdict { SILENT, RESPONSIVE, UNRESPONSIVE, REFUSED, NR_VERDICTS };

static const char *const verdict_names[] = {
	[SILENT] = "silent",
	[RESPONSIVE] = "responsive",
	[UNRESPONSIVE] = "unresponsive",
	[REFUSED] = "refused",
};

/**
 * struct probed - a queue that was busy at first
 * @queue: as it was seen last
 * @verdict: what is known
 * @how: how it is known
 * @took_us: how long a preemption took; below 0: there was none
 */
struct probed {
	struct gpreempt_queue_info queue;
	enum verdict verdict;
	const char *how;
	int64_t took_us;
};

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void sleep_us(uint64_t us)
{
	struct timespec t = { .tv_sec = (time_t)(us / 1000000), .tv_nsec = (long)(us % 1000000 * 1000) };

	nanosleep(&t, NULL);
}

static void conclude(struct probed *p, enum verdict verdict, const char *how)
{
	p->verdict = verdict;
	p->how = how;
}

/*
 * @now: the same queue a little later; NULL: there is none any more. A program that adds packets makes more of
 * them pending, never fewer. While waves cannot be read, an empty ring may be that of a kernel that runs.
 */
static void compare(struct probed *p, const struct gpreempt_queue_info *now)
{
	if (!now)
		conclude(p, RESPONSIVE, "ended");
	else if (now->state == GPREEMPT_QUEUE_PREEMPTED || now->preempt_count != p->queue.preempt_count)
		conclude(p, RESPONSIVE, "was preempted");
	else if (now->state == GPREEMPT_QUEUE_IDLE && now->waves != ~0u)
		conclude(p, RESPONSIVE, "finished its work");
	else if (now->pending < p->queue.pending)
		conclude(p, RESPONSIVE, "goes on");
	if (now)
		p->queue = *now;
}

static const struct gpreempt_queue_info *find(const struct gpreempt_queue_info *queues, int nr, const struct gpreempt_queue_info *which)
{
	int i;

	for (i = 0; i < nr; i++)
		if (queues[i].pid == which->pid && queues[i].gpu_id == which->gpu_id && queues[i].queue_id == which->queue_id)
			return &queues[i];
	return NULL;
}

/* Return: are there silent ones left? Negative errno. */
static int look_again(struct gpreempt *g, const struct gpreempt_target *target, struct probed *probed, int nr_probed)
{
	struct gpreempt_queue_info *queues;
	int i, silent = 0, nr = gpreempt_list_queues(g, target, &queues);

	/* What was named is gone. */
	if (nr == -ESRCH || nr == -ENOENT)
		nr = 0;
	if (nr < 0)
		return nr;
	for (i = 0; i < nr_probed; i++) {
		if (probed[i].verdict == SILENT)
			compare(&probed[i], find(queues, nr, &probed[i].queue));
		silent |= probed[i].verdict == SILENT;
	}
	free(queues);
	return silent;
}

static int watch(struct gpreempt *g, const struct gpreempt_target *target, struct probed *probed, int nr, unsigned int bound_ms)
{
	uint64_t end_us = now_us() + bound_ms * 1000ull, now = 0;
	int silent = nr;

	while (silent > 0 && now < end_us) {
		sleep_us(bound_ms * 1000ull / LOOKS);
		now = now_us();
		silent = look_again(g, target, probed, nr);
	}
	return silent < 0 ? silent : 0;
}

/* Of the node; ~0: not known. */
static uint64_t failures_of(struct gpreempt *g, uint32_t gpu_id)
{
	struct gpreempt_node_info *nodes;
	uint64_t failures = ~0ull;
	int i, nr = gpreempt_list_nodes(g, NULL, &nodes);

	for (i = 0; i < nr; i++)
		if (nodes[i].gpu_id == gpu_id)
			failures = nodes[i].failures;
	free(nodes);
	return failures;
}

/* Taken off the device and given back at once. What the driver could get off by a reset only counts as off as well. */
static void preempt(struct gpreempt *g, struct probed *p, unsigned int bound_ms)
{
	struct gpreempt_target target = gpreempt_target_queue(p->queue.pid, p->queue.gpu_id, p->queue.queue_id);
	uint64_t began_us, failures;
	int nr;

	/* It would be waited for in vain. */
	if (p->queue.flags & GPREEMPT_QUEUE_EXEMPT) {
		conclude(p, REFUSED, "its process is exempt from preemption");
		return;
	}
	failures = failures_of(g, p->queue.gpu_id);
	began_us = now_us();
	nr = gpreempt_preempt(g, &target, bound_ms, 0);
	p->took_us = (int64_t)(now_us() - began_us);
	gpreempt_resume(g, &target);
	switch (nr) {
	case -ETIME:
		conclude(p, UNRESPONSIVE, "not preempted within the bound");
		break;
	case -EIO:
		conclude(p, UNRESPONSIVE, "the device is being reset");
		break;
	case -ESRCH:
	case -ENOENT:
		conclude(p, RESPONSIVE, "ended");
		break;
	case -EBUSY:
		conclude(p, REFUSED, "the driver does not let it go now (debugger, cooperative groups or a reset)");
		break;
	default:
		if (nr < 0)
			conclude(p, REFUSED, strerror(-nr));
		else if (failures_of(g, p->queue.gpu_id) != failures)
			conclude(p, UNRESPONSIVE, "preempting failed");
		else
			conclude(p, RESPONSIVE, "was preempted for the test");
	}
	if (nr < 0 && nr != -ETIME)
		p->took_us = -1;
}

static int first_look(struct gpreempt *g, const struct gpreempt_target *target, struct probed **probed)
{
	struct gpreempt_queue_info *queues;
	int i, busy = 0, nr = gpreempt_list_queues(g, target, &queues);

	if (nr <= 0)
		return nr;
	*probed = calloc((size_t)nr, sizeof(**probed));
	if (!*probed) {
		free(queues);
		return -ENOMEM;
	}
	for (i = 0; i < nr; i++) {
		struct probed *p = &(*probed)[busy];

		if (queues[i].state == GPREEMPT_QUEUE_IDLE)
			continue;
		*p = (struct probed){ .queue = queues[i], .how = "shows nothing", .took_us = -1 };
		if (queues[i].state == GPREEMPT_QUEUE_PREEMPTED)
			conclude(p, RESPONSIVE, "was preempted");
		busy++;
	}
	free(queues);
	return busy;
}

/* Queues of nodes that are switched off are not listed: that is not the same as none. Return: 0, or the exit status, said. */
static int check_nodes(struct gpreempt *g)
{
	struct gpreempt_node_info *nodes;
	int i, seen = 0, nr = gpreempt_list_nodes(g, NULL, &nodes);

	if (nr < 0)
		return fail_errno(nr, "probe-hang");
	for (i = 0; i < nr; i++) {
		if (nodes[i].state == GPREEMPT_NODE_OFF || nodes[i].state == GPREEMPT_NODE_UNSUPPORTED)
			fail(0, "gpu %u: its queues are not seen: scheduling is %s", nodes[i].gpu_id, gpreempt_node_state_name(nodes[i].state));
		else
			seen++;
	}
	free(nodes);
	return seen ? 0 : fail(EXIT_FAILED, "no queues are seen; try: gpreemptctl doctor");
}

static void print_table(const struct probed *probed, int nr)
{
	char command[32];
	int i;

	printf("%7s %-15s %7s %5s %-12s %9s  %s\n", "PID", "COMMAND", "GPU", "QUEUE", "RESULT", "TOOK_US", "HOW");
	for (i = 0; i < nr; i++) {
		const struct probed *p = &probed[i];

		printf("%7d %-15.15s %7u %5u %-12s ", p->queue.pid, command_of(p->queue.pid, command, sizeof(command)), p->queue.gpu_id,
		       p->queue.queue_id, verdict_names[p->verdict]);
		if (p->took_us < 0)
			printf("%9s", "-");
		else
			printf("%9" PRId64, p->took_us);
		printf("  %s\n", p->how);
	}
}

static json_object *json_of_probed(const struct probed *p)
{
	json_object *o = json_object_new_object();
	char command[64];

	add_signed(o, "pid", p->queue.pid);
	add_text(o, "command", command_of(p->queue.pid, command, sizeof(command)));
	add_number(o, "gpu_id", p->queue.gpu_id);
	add_number(o, "queue_id", p->queue.queue_id);
	add_text(o, "result", verdict_names[p->verdict]);
	add_text(o, "how", p->how);
	if (p->took_us >= 0)
		add_signed(o, "took_us", p->took_us);
	return o;
}

static void print_probed_json(const struct probed *probed, int nr, unsigned int bound_ms, const unsigned int *counts)
{
	json_object *document = new_document(), *array = json_object_new_array();
	int i;

	add_number(document, "bound_ms", bound_ms);
	for (i = 0; i < NR_VERDICTS; i++)
		add_number(document, verdict_names[i], counts[i]);
	for (i = 0; i < nr; i++)
		json_object_array_add(array, json_of_probed(&probed[i]));
	json_object_object_add(document, "queues", array);
	print_json(document);
}

int cmd_probe_hang(const struct options *o)
{
	unsigned int bound_ms = o->given & GIVEN_BOUND ? o->bound_ms : DEFAULT_BOUND_MS, counts[NR_VERDICTS] = { 0 };
	struct gpreempt_target target;
	struct probed *probed = NULL;
	struct gpreempt *g;
	int i, nr, error, status = get_target(o, &target);

	if (status)
		return status;
	status = open_scheduler(&g);
	if (status)
		return status;
	status = check_nodes(g);
	if (status)
		goto out;
	nr = first_look(g, &target, &probed);
	error = nr < 0 ? nr : watch(g, &target, probed, nr, bound_ms);
	if (error) {
		status = fail_errno(error, "probe-hang");
		goto out;
	}
	for (i = 0; i < nr; i++) {
		if (o->preempt && probed[i].verdict == SILENT)
			preempt(g, &probed[i], bound_ms);
		counts[probed[i].verdict]++;
	}
	if (o->json)
		print_probed_json(probed, nr, bound_ms, counts);
	else
		print_table(probed, nr);
	status = counts[UNRESPONSIVE] ? EXIT_UNRESPONSIVE : counts[SILENT] + counts[REFUSED] ? EXIT_UNKNOWN : EXIT_DONE;
out:
	gpreempt_close(g);
	free(probed);
	return status;
}
