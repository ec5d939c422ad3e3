// SPDX-License-Identifier: MIT
/* top.c - gpreemptctl top: queues, sorted, refreshed */
#include "gpreemptctl.h"

#include <inttypes.h>
#include <ncurses.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <unistd.h>

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

/* A line that does not fit is cut, not continued on the next one. */
static void print_row(int row, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void print_row(int row, const char *format, ...)
{
	char text[256];
	va_list args;

	if (row >= LINES)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	mvaddnstr(row, 0, text, COLS);
}

static int draw(struct gpreempt *g, int (*compare)(const void *a, const void *b))
{
	struct gpreempt_target all = gpreempt_target_all();
	struct gpreempt_queue_info *queues;
	struct gpreempt_node_info *nodes;
	int i, nr_nodes, nr, row = 0;
	char command[32];

	nr_nodes = gpreempt_list_nodes(g, NULL, &nodes);
	if (nr_nodes < 0)
		return nr_nodes;
	nr = gpreempt_list_queues(g, &all, &queues);
	if (nr < 0) {
		free(nodes);
		return nr;
	}
	if (nr)
		qsort(queues, nr, sizeof(*queues), compare);

	erase();
	for (i = 0; i < nr_nodes; i++)
		print_row(row++, "gpu %u  %s  %s/%s  queues %u  off %u  preemptions %" PRIu64 "  failures %" PRIu64, nodes[i].gpu_id,
			 gpreempt_node_state_name(nodes[i].state), nodes[i].backend[0] ? nodes[i].backend : "-", nodes[i].policy,
			 nodes[i].nr_queues, nodes[i].nr_preempted, (uint64_t)nodes[i].preemptions, (uint64_t)nodes[i].failures);
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
	refresh();
	free(queues);
	free(nodes);
	return 0;
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

int cmd_top(const struct options *o)
{
	int (*compare)(const void *a, const void *b) = by_priority;
	SCREEN *screen = NULL;
	unsigned long shown = 0;
	struct gpreempt *g;
	int error = 0, status;

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
	while (!error) {
		error = draw(g, compare);
		if (error || (o->count && ++shown == o->count))
			break;
		switch (getch()) {
		case 'q':
			goto out;
		case 'p':
			compare = by_priority;
			break;
		case 'w':
			compare = by_work;
			break;
		case 't':
			compare = by_time_off;
			break;
		}
	}
out:
	endwin();
	delscreen(screen);
	gpreempt_close(g);
	return error ? fail_errno(error, "top") : EXIT_DONE;
}
