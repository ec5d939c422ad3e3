// SPDX-License-Identifier: MIT
/*
 * top.c - gpreemptctl top: queues, sorted, refreshed
 */
#include "gpreemptctl.h"

#include <inttypes.h>
#include <ncurses.h>
#include <stdlib.h>
#include <string.h>
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
	qsort(queues, nr, sizeof(*queues), compare);

	erase();
	for (i = 0; i < nr_nodes && row < LINES; i++)
		mvprintw(row++, 0, "gpu %u  %s  %s/%s  queues %u  off %u  preemptions %" PRIu64 "  failures %" PRIu64, nodes[i].gpu_id,
			 gpreempt_node_state_name(nodes[i].state), nodes[i].backend[0] ? nodes[i].backend : "-", nodes[i].policy,
			 nodes[i].nr_queues, nodes[i].nr_preempted, (uint64_t)nodes[i].preemptions, (uint64_t)nodes[i].failures);
	attron(A_REVERSE);
	mvprintw(row++, 0, "%7s %-15s %7s %5s %5s %-10s %9s %6s %9s %9s", "PID", "COMMAND", "GPU", "QUEUE", "PRIO", "STATE", "PENDING",
		 "WAVES", "PREEMPTED", "OFF_MS");
	attroff(A_REVERSE);
	for (i = 0; i < nr && row < LINES; i++, row++) {
		const struct gpreempt_queue_info *q = &queues[i];
		char waves[16] = "-";

		if (q->waves != ~0U)
			snprintf(waves, sizeof(waves), "%u", q->waves);
		if (q->state == GPREEMPT_QUEUE_PREEMPTED)
			attron(A_DIM);
		else if (q->state == GPREEMPT_QUEUE_ACTIVE)
			attron(A_BOLD);
		mvprintw(row, 0, "%7d %-15.15s %7u %5u %5d %-10s %9" PRIu64 " %6s %9" PRIu64 " %9" PRIu64, q->pid,
			 command_of(q->pid, command, sizeof(command)), q->gpu_id, q->queue_id, q->effective_priority,
			 gpreempt_queue_state_name(q->state), (uint64_t)q->pending, waves, (uint64_t)q->preempt_count,
			 (uint64_t)q->preempted_us / 1000);
		attrset(A_NORMAL);
	}
	refresh();
	free(queues);
	free(nodes);
	return 0;
}

int cmd_top(const struct options *o)
{
	int (*compare)(const void *a, const void *b) = by_priority;
	unsigned long shown = 0;
	struct gpreempt *g;
	int error = 0, status;

	if (o->json)
		return fail(EXIT_USAGE, "top is for people; try: gpreemptctl list --json");
	status = open_scheduler(&g);
	if (status)
		return status;
	if (!isatty(STDOUT_FILENO) || !initscr()) {
		gpreempt_close(g);
		return fail(EXIT_USAGE, "top needs a terminal; try: gpreemptctl list");
	}
	cbreak();
	noecho();
	curs_set(0);
	timeout((o->seconds > 0 ? o->seconds : REFRESH_S) * 1000);
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
	gpreempt_close(g);
	return error ? fail_errno(error, "top") : EXIT_DONE;
}
