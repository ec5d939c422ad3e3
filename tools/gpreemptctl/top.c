// SPDX-License-Identifier: MIT
/* top.c - gpreemptctl top: queues or jobs, sorted, refreshed */
#include "gpreemptctl.h"

#include <inttypes.h>
#include <ncurses.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <unistd.h>

#include "workload.h"

#define REFRESH_S	1.0

static int compare_s64(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

/* The same queue stays where it is while the sorted value does not change. */
static int by_name(const void *a, const void *b)
{
	const struct gpreempt_queue_info *x = a, *y = b;
	int r = compare_s64(x->pid, y->pid);

	if (!r)
		r = compare_s64(x->gpu_id, y->gpu_id);
	return r ? r : compare_s64(x->queue_id, y->queue_id);
}

static int by_priority(const void *a, const void *b)
{
	const struct gpreempt_queue_info *x = a, *y = b;
	int r = compare_s64(y->effective_priority, x->effective_priority);

	return r ? r : by_name(a, b);
}

static int by_work(const void *a, const void *b)
{
	const struct gpreempt_queue_info *x = a, *y = b;
	int r = compare_s64(y->pending, x->pending);

	return r ? r : by_name(a, b);
}

static int by_time_off(const void *a, const void *b)
{
	const struct gpreempt_queue_info *x = a, *y = b;
	int r = compare_s64(y->preempted_us, x->preempted_us);

	return r ? r : by_name(a, b);
}

static int workload_by_priority(const void *a, const void *b)
{
	const struct workload *x = a, *y = b;
	int r = compare_s64(y->priority, x->priority);

	return r ? r : compare_workloads(x, y);
}

static int workload_by_work(const void *a, const void *b)
{
	const struct workload *x = a, *y = b;
	int r = compare_s64(y->pending, x->pending);

	return r ? r : compare_workloads(x, y);
}

static int workload_by_time_off(const void *a, const void *b)
{
	const struct workload *x = a, *y = b;
	int r = compare_s64(y->preempted_us, x->preempted_us);

	return r ? r : compare_workloads(x, y);
}

typedef int (*compare_fn)(const void *a, const void *b);

/**
 * struct order - a way to sort
 * @key: that chooses it
 * @queues: of queues
 * @workloads: of jobs
 */
static const struct order {
	int key;
	compare_fn queues;
	compare_fn workloads;
} orders[] = {
	{ 'p', by_priority, workload_by_priority },
	{ 'w', by_work, workload_by_work },
	{ 't', by_time_off, workload_by_time_off },
};

/* A line that does not fit is cut, not continued on the next one. */
static void print_row(int row, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void print_row(int row, const char *format, ...)
{
	char text[WORKLOAD_LINE];
	va_list args;

	if (row >= LINES)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	mvaddnstr(row, 0, text, COLS);
}

static void draw_queues(int row, struct gpreempt_queue_info *queues, int nr, const struct order *order)
{
	char command[32];
	int i;

	if (nr)
		qsort(queues, nr, sizeof(*queues), order->queues);
	attron(A_REVERSE);
	print_row(row++, "%7s %-15s %7s %5s %5s %-10s %9s %6s %9s %9s %s", "PID", "COMMAND", "GPU", "QUEUE", "PRIO", "STATE", "PENDING",
		 "WAVES", "PREEMPTED", "OFF_MS", "VERDICT");
	attroff(A_REVERSE);
	for (i = 0; i < nr; i++, row++) {
		const struct gpreempt_queue_info *q = &queues[i];
		char waves[16] = "-";

		if (q->waves != ~0U)
			snprintf(waves, sizeof(waves), "%u", q->waves);
		if (q->state == GPREEMPT_QUEUE_PREEMPTED)
			attron(A_DIM);
		else if (q->state == GPREEMPT_QUEUE_ACTIVE)
			attron(A_BOLD);
		print_row(row, "%7d %-15.15s %7u %5u %5d %-10s %9" PRIu64 " %6s %9" PRIu64 " %9" PRIu64 " %s", q->pid,
			 command_of(q->pid, command, sizeof(command)), q->gpu_id, q->queue_id, q->effective_priority,
			 gpreempt_queue_state_name(q->state), (uint64_t)q->pending, waves, (uint64_t)q->preempt_count,
			 (uint64_t)q->preempted_us / 1000, gpreempt_verdict_name(q->verdict));
		attrset(A_NORMAL);
	}
}

static int draw_workloads(int row, const struct gpreempt_queue_info *queues, const uint64_t *jobs, int nr, const struct order *order)
{
	struct workload *workloads;
	char line[WORKLOAD_LINE];
	int i, n = find_workloads(queues, jobs, nr, &workloads);

	if (n < 0)
		return n;
	qsort(workloads, n, sizeof(*workloads), order->workloads);
	attron(A_REVERSE);
	print_row(row++, "%s", workload_head());
	attroff(A_REVERSE);
	for (i = 0; i < n && row < LINES; i++, row++) {
		workload_line(&workloads[i], line, sizeof(line));
		print_row(row, "%s", line);
	}
	free(workloads);
	return 0;
}

static void draw_node(int row, const struct gpreempt_node_info *n)
{
	const struct identity *id = identity_of(n->gpu_id);
	char slots[40];

	print_row(row, "gpu %u  %s  %s/%s  queues %u  off %u  preemptions %" PRIu64 "  failures %" PRIu64 "  slots %s  %s  %s", n->gpu_id,
		 gpreempt_node_state_name(n->state), n->backend[0] ? n->backend : "-", n->policy, n->nr_queues, n->nr_preempted,
		 (uint64_t)n->preemptions, (uint64_t)n->failures, slots_of(n->gpu_id, slots, sizeof(slots)), id->bdf, id->name);
}

static int draw(struct gpreempt *g, const struct order *order, bool by_job)
{
	struct gpreempt_target all = gpreempt_target_all();
	struct gpreempt_queue_info *queues;
	struct gpreempt_node_info *nodes;
	int i, nr_nodes, nr, row = 0, error = 0;
	uint64_t *jobs;

	nr_nodes = gpreempt_list_nodes(g, NULL, &nodes);
	if (nr_nodes < 0)
		return nr_nodes;
	nr = gpreempt_list_jobs(g, &all, &queues, &jobs);
	if (nr < 0) {
		free(nodes);
		return nr;
	}
	erase();
	/* Lines of jobs have the node, and with many nodes there is room for one of the two. */
	for (i = 0; i < nr_nodes && !by_job; i++)
		draw_node(row++, &nodes[i]);
	if (by_job)
		error = draw_workloads(row, queues, jobs, nr, order);
	else
		draw_queues(row, queues, nr, order);
	refresh();
	free(queues);
	free(jobs);
	free(nodes);
	return error;
}

/* newterm() finds out by itself, but leaks memory then. */
static bool is_known_terminal(void)
{
	int error;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || setupterm(NULL, STDOUT_FILENO, &error) != OK)
		return false;
	del_curterm(cur_term);
	return true;
}

static const struct order *order_of(int key, const struct order *before)
{
	size_t i;

	for (i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
		if (orders[i].key == key)
			return &orders[i];
	return before;
}

int cmd_top(const struct options *o)
{
	const struct order *order = &orders[0];
	bool by_job = o->by_job;
	SCREEN *screen = NULL;
	unsigned long shown = 0;
	struct gpreempt *g;
	int key, error = 0, status;

	status = open_scheduler(&g);
	if (status)
		return status;
	if (is_known_terminal())
		screen = newterm(NULL, stdout, stdin);
	if (!screen) {
		gpreempt_close(g);
		return fail(EXIT_USAGE, "top needs a terminal that $TERM describes; try: gpreemptctl list");
	}
	cbreak();
	noecho();
	curs_set(0);
	timeout((o->given & GIVEN_INTERVAL ? o->interval_s : REFRESH_S) * 1000);
	do {
		error = draw(g, order, by_job);
		if (error || (o->count && ++shown == o->count))
			break;
		key = getch();
		by_job ^= key == 'j';
		order = order_of(key, order);
	} while (key != 'q');
	endwin();
	delscreen(screen);
	gpreempt_close(g);
	return error ? fail_errno(error, "top") : EXIT_DONE;
}
