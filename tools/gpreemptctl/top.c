// SPDX-License-Identifier: MIT
/* top.c - gpreemptctl top: queues or jobs, sorted, refreshed */
#include "gpreemptctl.h"

#include <errno.h>
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

/**
 * struct row - a queue
 * @q: what the scheduler knows of it
 * @since: what it has used since the look before; NULL: not known
 */
struct row {
	const struct gpreempt_queue_info *q;
	const struct gpreempt_queue_usage *since;
};

/**
 * struct look - what the scheduler said at one time
 * @list: queues
 * @nodes: what has been used of each node; nothing for who may not know
 * @nr_nodes: how many of them
 * @time_ns: when; 0: the module tells nothing that was used
 */
struct look {
	struct queue_list list;
	struct gpreempt_usage_info *nodes;
	int nr_nodes;
	uint64_t time_ns;
};

/* The same queue stays where it is while the sorted value does not change. */
static int by_name(const void *a, const void *b)
{
	const struct gpreempt_queue_info *x = ((const struct row *)a)->q, *y = ((const struct row *)b)->q;
	int r = compare_s64(x->pid, y->pid);

	if (!r)
		r = compare_s64(x->gpu_id, y->gpu_id);
	return r ? r : compare_s64(x->queue_id, y->queue_id);
}

static int by_priority(const void *a, const void *b)
{
	const struct gpreempt_queue_info *x = ((const struct row *)a)->q, *y = ((const struct row *)b)->q;
	int r = compare_s64(y->effective_priority, x->effective_priority);

	return r ? r : by_name(a, b);
}

static int by_work(const void *a, const void *b)
{
	const struct gpreempt_queue_info *x = ((const struct row *)a)->q, *y = ((const struct row *)b)->q;
	int r = compare_s64(y->pending, x->pending);

	return r ? r : by_name(a, b);
}

static int by_time_off(const void *a, const void *b)
{
	const struct gpreempt_queue_info *x = ((const struct row *)a)->q, *y = ((const struct row *)b)->q;
	int r = compare_s64(y->preempted_us, x->preempted_us);

	return r ? r : by_name(a, b);
}

static int by_time_used(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int r = compare_s64(y->since ? y->since->busy_ns : 0, x->since ? x->since->busy_ns : 0);

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

static int workload_by_time_used(const void *a, const void *b)
{
	const struct workload *x = a, *y = b;
	int r = compare_s64(y->usage.busy_ns, x->usage.busy_ns);

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
	{ 'b', by_time_used, workload_by_time_used },
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

/* @shown: with what has been used since the look before; @over_ns: so long ago it was, 0: there was none */
static int draw_queues(int row, const struct queue_list *shown, uint64_t over_ns, const struct order *order)
{
	struct row *rows = calloc(shown->nr ? shown->nr : 1, sizeof(*rows));
	char command[32];
	int i;

	if (!rows)
		return -ENOMEM;
	for (i = 0; i < shown->nr; i++)
		rows[i] = (struct row){ .q = &shown->queues[i], .since = shown->usage ? &shown->usage[i] : NULL };
	qsort(rows, shown->nr, sizeof(*rows), order->queues);
	attron(A_REVERSE);
	print_row(row++, "%7s %-15s %7s %5s %5s %-10s %5s %5s %9s %6s %9s %9s %s", "PID", "COMMAND", "GPU", "QUEUE", "PRIO", "STATE", "BUSY%", "WAIT%",
		  "PENDING", "WAVES", "PREEMPTED", "OFF_MS", "VERDICT");
	attroff(A_REVERSE);
	for (i = 0; i < shown->nr; i++, row++) {
		const struct gpreempt_queue_info *q = rows[i].q;
		char waves[16] = "-", busy[24] = "-", waiting[24] = "-";

		if (q->waves != ~0U)
			snprintf(waves, sizeof(waves), "%u", q->waves);
		if (rows[i].since) {
			usage_word(rows[i].since->busy_ns, over_ns, busy, sizeof(busy));
			usage_word(rows[i].since->waiting_ns, over_ns, waiting, sizeof(waiting));
		}
		if (q->state == GPREEMPT_QUEUE_PREEMPTED)
			attron(A_DIM);
		else if (q->state == GPREEMPT_QUEUE_ACTIVE)
			attron(A_BOLD);
		print_row(row, "%7d %-15.15s %7u %5u %5d %-10s %5s %5s %9" PRIu64 " %6s %9" PRIu64 " %9" PRIu64 " %s", q->pid,
			  command_of(q->pid, command, sizeof(command)), q->gpu_id, q->queue_id, q->effective_priority,
			  gpreempt_queue_state_name(q->state), busy, waiting, (uint64_t)q->pending, waves, (uint64_t)q->preempt_count,
			  (uint64_t)q->preempted_us / 1000, gpreempt_verdict_name(q->verdict));
		attrset(A_NORMAL);
	}
	free(rows);
	return 0;
}

/* @shown, @over_ns: see draw_queues() */
static int draw_workloads(int row, const struct queue_list *shown, uint64_t over_ns, const struct order *order)
{
	struct workload *workloads;
	char line[WORKLOAD_LINE];
	int i, n = find_workloads(shown, &workloads);

	if (n < 0)
		return n;
	qsort(workloads, n, sizeof(*workloads), order->workloads);
	attron(A_REVERSE);
	print_row(row++, "%s", workload_head(true));
	attroff(A_REVERSE);
	for (i = 0; i < n && row < LINES; i++, row++) {
		workload_line(&workloads[i], over_ns, line, sizeof(line));
		print_row(row, "%s", line);
	}
	free(workloads);
	return 0;
}

static const struct gpreempt_usage_info *usage_of_node(const struct look *look, unsigned int gpu_id)
{
	int i;

	for (i = 0; i < look->nr_nodes; i++)
		if (look->nodes[i].gpu_id == gpu_id)
			return &look->nodes[i];
	return NULL;
}

static void draw_node(int row, const struct gpreempt_node_info *n, const struct look *before, const struct look *now)
{
	const struct gpreempt_usage_info *then = usage_of_node(before, n->gpu_id), *next = usage_of_node(now, n->gpu_id);
	const struct identity *id = identity_of(n->gpu_id);
	char slots[40], used[24] = "-";

	if (then && next && now->time_ns > before->time_ns)
		snprintf(used, sizeof(used), "%.0f%%", 100.0 * counted_since(next->used_ns, then->used_ns) / (now->time_ns - before->time_ns));
	print_row(row, "gpu %u  %s  %s/%s  used %s  queues %u  off %u  preemptions %" PRIu64 "  failures %" PRIu64 "  slots %s  %s  %s", n->gpu_id,
		  gpreempt_node_state_name(n->state), n->backend[0] ? n->backend : "-", n->policy, used, n->nr_queues, n->nr_preempted,
		  (uint64_t)n->preemptions, (uint64_t)n->failures, slots_of(n->gpu_id, slots, sizeof(slots)), id->bdf, id->name);
}

static void end_look(struct look *look)
{
	free_queues(&look->list);
	free(look->nodes);
	*look = (struct look){ 0 };
}

/* Return: 0 or a negative errno. */
static int take_look(struct gpreempt *g, struct look *look)
{
	struct gpreempt_target all = gpreempt_target_all();

	*look = (struct look){ 0 };
	look->list.nr = gpreempt_list_queue_usage(g, &all, &look->list.queues, &look->list.jobs, &look->list.usage);
	if (look->list.nr < 0)
		return look->list.nr;
	look->nr_nodes = gpreempt_list_usage(g, 1U << GPREEMPT_USAGE_NODE, 0, &look->nodes, &look->time_ns);
	/* A module before version 8 */
	if (look->nr_nodes < 0)
		look->nr_nodes = 0;
	return 0;
}

static bool is_same_queue(const struct gpreempt_queue_info *a, const struct gpreempt_queue_info *b)
{
	return a->pid == b->pid && a->gpu_id == b->gpu_id && a->queue_id == b->queue_id && a->context == b->context;
}

/* What queues have used since the look before. NULL: not known, or no memory. */
static struct gpreempt_queue_usage *used_since(const struct look *before, const struct look *now)
{
	const struct queue_list *then = &before->list, *next = &now->list;
	struct gpreempt_queue_usage *usage;
	int i, k;

	if (!before->time_ns || now->time_ns <= before->time_ns || !next->usage)
		return NULL;
	usage = malloc(next->nr * sizeof(*usage));
	if (!usage)
		return NULL;
	memcpy(usage, next->usage, next->nr * sizeof(*usage));
	for (i = 0; i < next->nr; i++) {
		for (k = 0; k < then->nr && !is_same_queue(&then->queues[k], &next->queues[i]); k++)
			;
		if (k == then->nr || !then->usage)
			continue;
		usage[i].busy_ns = counted_since(usage[i].busy_ns, then->usage[k].busy_ns);
		usage[i].waiting_ns = counted_since(usage[i].waiting_ns, then->usage[k].waiting_ns);
	}
	return usage;
}

/* After a key the look before stays: a share of too short a time says nothing. */
static int look_again(struct gpreempt *g, struct look *before, struct look *now, double interval_s)
{
	struct look next;
	int error = take_look(g, &next);

	if (error)
		return error;
	if (next.time_ns - now->time_ns >= interval_s * 1e9 / 2) {
		end_look(before);
		*before = *now;
	} else {
		end_look(now);
	}
	*now = next;
	return 0;
}

static int draw(struct gpreempt *g, const struct look *before, const struct look *now, const struct order *order, bool by_job)
{
	struct gpreempt_queue_usage *usage = used_since(before, now);
	uint64_t over_ns = usage ? now->time_ns - before->time_ns : 0;
	struct queue_list shown = now->list;
	struct gpreempt_node_info *nodes;
	int i, row = 0, error, nr_nodes = gpreempt_list_nodes(g, NULL, &nodes);

	shown.usage = usage;
	if (nr_nodes < 0) {
		free(usage);
		return nr_nodes;
	}
	erase();
	/* Lines of jobs have the node, and with many nodes there is room for one of the two. */
	for (i = 0; i < nr_nodes && !by_job; i++)
		draw_node(row++, &nodes[i], before, now);
	error = by_job ? draw_workloads(row, &shown, over_ns, order) : draw_queues(row, &shown, over_ns, order);
	refresh();
	free(usage);
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
	struct look before = { 0 }, now = { 0 };
	double interval_s = o->given & GIVEN_INTERVAL ? o->interval_s : REFRESH_S;
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
	timeout(interval_s * 1000);
	do {
		error = look_again(g, &before, &now, interval_s);
		if (!error)
			error = draw(g, &before, &now, order, by_job);
		if (error || (o->count && ++shown == o->count))
			break;
		key = getch();
		by_job ^= key == 'j';
		order = order_of(key, order);
	} while (key != 'q');
	endwin();
	delscreen(screen);
	end_look(&before);
	end_look(&now);
	gpreempt_close(g);
	return error ? fail_errno(error, "top") : EXIT_DONE;
}
