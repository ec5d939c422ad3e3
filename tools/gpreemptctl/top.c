// SPDX-License-Identifier: MIT
/* top.c - gpreemptctl top: queues or jobs, sorted, refreshed */
#include "gpreemptctl.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <ncurses.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
/* Words of terminfo that are members here */
#undef columns
#undef lines
#include <unistd.h>

#include "workload.h"

#define REFRESH_S	1.0

/* Of the screen GPUs take so much at most: an eight-GPU node in partitions has 64. */
#define PART_OF_NODES	3

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

/* What a row is, for its order, its looks and the count of those that there is no room for */
enum {
	ROW_OTHER,
	ROW_ACTIVE,
	ROW_WAITING,
	ROW_OFF,
};

/**
 * struct order - a way to sort
 * @key: that chooses it
 * @column: the largest in it comes first; NULL: off the device, waiting, then by priority
 * @what: for the help
 */
static const struct order {
	int key;
	const char *column;
	const char *what;
} orders[] = {
	{ 's', NULL, "by state: what is off the device first, then what waits" },
	{ 'p', "PRIO", "by priority" },
	{ 'w', "PENDING", "by packets waiting" },
	{ 't', "OFF_MS", "by time off the device" },
	{ 'b', "BUSY%", "by time busy" },
};

/**
 * struct view - what is shown of it
 * @o: what was asked for on the command line; -u as it was changed since
 * @order: how rows are sorted; NULL: as --sort says
 * @by_job: jobs, not queues
 * @first: the first row that is shown
 * @page: so many fit
 * @users: as they were typed, if they are the ones of @o; else ""
 * @search: rows that have this in them are shown alone; "": all
 * @message: what was wrong with what was typed
 * @all: the caller may know of others
 */
struct view {
	struct options o;
	const struct order *order;
	bool by_job;
	int first;
	int page;
	char users[128];
	char search[64];
	char message[FILTER_WHY];
	bool all;
};

/* A queue that waits has work, but mostly not the device; or its process waits for another. */
static int top_kind_of_queue(const struct member *m)
{
	const struct gpreempt_queue_info *q = m->queue;

	if (q->state == GPREEMPT_QUEUE_PREEMPTED)
		return ROW_OFF;
	if (q->flags & (GPREEMPT_QUEUE_WAITS | GPREEMPT_QUEUE_BLOCKED) || (q->pending && m->since && m->since->waiting_ns > m->since->busy_ns))
		return ROW_WAITING;
	return q->state == GPREEMPT_QUEUE_ACTIVE ? ROW_ACTIVE : ROW_OTHER;
}

static int top_kind_of_workload(const struct workload *w)
{
	return w->preempted ? ROW_OFF : w->pending && w->usage.waiting_ns > w->usage.busy_ns ? ROW_WAITING : w->active ? ROW_ACTIVE : ROW_OTHER;
}

/* What has work and what has none are one, so that rows stand still. */
static int top_urgency(int kind)
{
	return kind == ROW_ACTIVE ? ROW_OTHER : kind;
}

static int top_compare(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_name(const void *a, const void *b)
{
	const struct gpreempt_queue_info *x = ((const struct member *)a)->queue, *y = ((const struct member *)b)->queue;
	int r = top_compare(x->pid, y->pid);

	if (!r)
		r = top_compare(x->gpu_id, y->gpu_id);
	return r ? r : top_compare(x->queue_id, y->queue_id);
}

static int top_by_state(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	int r = top_compare(top_urgency(top_kind_of_queue(y)), top_urgency(top_kind_of_queue(x)));

	if (!r)
		r = top_compare(y->queue->effective_priority, x->queue->effective_priority);
	return r ? r : by_name(a, b);
}

static int top_workload_by_state(const void *a, const void *b)
{
	const struct workload *x = a, *y = b;
	int r = top_compare(top_urgency(top_kind_of_workload(y)), top_urgency(top_kind_of_workload(x)));

	if (!r)
		r = top_compare(y->priority, x->priority);
	return r ? r : compare_workloads(x, y);
}

/* @since: used since the look before, @over_ns ago; 0: none. Return: 0 or a negative errno. */
static int top_add_queues(struct table *t, const struct view *v, const struct look *now, const struct gpreempt_queue_usage *since, uint64_t over_ns)
{
	struct member *members = find_members(&now->list);
	int i;

	if (!members)
		return -ENOMEM;
	for (i = 0; i < now->list.nr && since; i++)
		members[i].since = &since[members[i].queue - now->list.queues];
	qsort(members, now->list.nr, sizeof(*members), v->order && !v->order->column ? top_by_state : by_name);
	for (i = 0; i < now->list.nr; i++)
		add_queue_row(t, &members[i], top_kind_of_queue(&members[i]), over_ns);
	free(members);
	return 0;
}

/* As top_add_queues() */
static int top_add_workloads(struct table *t, const struct view *v, const struct look *now, struct gpreempt_queue_usage *since, uint64_t over_ns)
{
	struct queue_list shown = now->list;
	struct workload *workloads;
	int i, n;

	shown.usage = since;
	n = find_workloads(&shown, &workloads);
	if (n < 0)
		return n;
	if (v->order && !v->order->column)
		qsort(workloads, n, sizeof(*workloads), top_workload_by_state);
	for (i = 0; i < n; i++)
		add_workload_row(t, &workloads[i], top_kind_of_workload(&workloads[i]), over_ns);
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

/* A line about a node. Return: @text. */
static const char *top_node_line(const struct view *v, const struct gpreempt_node_info *n, const struct look *before, const struct look *now, char *text,
			     size_t size)
{
	const struct gpreempt_usage_info *then = usage_of_node(before, n->gpu_id), *next = usage_of_node(now, n->gpu_id);
	const struct identity *id = identity_of(n->gpu_id);
	char slots[40], used[24] = "-", preemptions[24] = "-", failures[24] = "-";

	if (then && next && now->time_ns > before->time_ns)
		snprintf(used, sizeof(used), "%.0f%%", 100.0 * counted_since(next->used_ns, then->used_ns) / (now->time_ns - before->time_ns));
	if (v->all) {
		snprintf(preemptions, sizeof(preemptions), "%" PRIu64, (uint64_t)n->preemptions);
		snprintf(failures, sizeof(failures), "%" PRIu64, (uint64_t)n->failures);
	}
	snprintf(text, size, "gpu %u  %s  %s/%s  used %s  queues %u  off %u  preemptions %s  failures %s  slots %s  %s  %s", n->gpu_id,
		 node_state_is_told(n, v->all) ? gpreempt_node_state_name(n->state) : "-", n->backend[0] ? n->backend : "-", n->policy, used, n->nr_queues,
		 n->nr_preempted, preemptions, failures, slots_of(n->gpu_id, slots, sizeof(slots)), id->bdf, id->name);
	return text;
}

static void end_look(struct look *look)
{
	free_queues(&look->list);
	free(look->nodes);
	*look = (struct look){ 0 };
}

/* Return: 0 or a negative errno. */
static int take_look(struct gpreempt *g, const struct options *o, struct look *look)
{
	struct gpreempt_target all = gpreempt_target_all();

	*look = (struct look){ 0 };
	look->list.nr = gpreempt_list_queue_usage(g, &all, &look->list.queues, &look->list.jobs, &look->list.usage);
	if (look->list.nr < 0)
		return look->list.nr;
	filter_queues(o, &look->list);
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
static int look_again(struct gpreempt *g, const struct options *o, struct look *before, struct look *now, double interval_s)
{
	struct look next;
	int error = take_look(g, o, &next);

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

/* Rows of the queues or jobs, sorted. Return: 0, or the exit status, said. */
static int top_make_table(const struct view *v, const struct look *before, const struct look *now, struct table **t)
{
	struct gpreempt_queue_usage *since = used_since(before, now);
	uint64_t over_ns = since ? now->time_ns - before->time_ns : 0;
	struct options o = v->o;
	char sort[16];
	int error, status;

	if (v->order)
		o.sort = NULL;
	if (v->order && v->order->column) {
		snprintf(sort, sizeof(sort), "-%s", v->order->column);
		o.sort = sort;
	}
	status = v->by_job ? new_workload_table(&o, "top", true, t) : new_queue_table(&o, "top", true, t);
	if (!status) {
		error = v->by_job ? top_add_workloads(*t, v, now, since, over_ns) : top_add_queues(*t, v, now, since, over_ns);
		if (error) {
			free_table(*t);
			status = fail_system(error, "top");
		}
	}
	free(since);
	return status;
}

/* A line that does not fit is cut, not continued on the next one. */
static void print_row(int row, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void print_row(int row, const char *format, ...)
{
	char text[512];
	va_list args;

	if (row >= LINES)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	mvaddnstr(row, 0, text, COLS);
}

/* Lines about the caller's rights and the nodes. Return: the row below them. */
static int top_draw_nodes(const struct view *v, const struct gpreempt_node_info *nodes, int nr, const struct look *before, const struct look *now)
{
	int i, row = 0, left = 0;
	char text[512];

	if (!v->all)
		print_row(row++, OWN_ALONE "; " ROOT_SEES_ALL);
	/* Lines of jobs have the node, and with many nodes there is room for one of the two. */
	for (i = 0; i < nr && !v->by_job; i++) {
		if (!gpu_is_chosen(&v->o, nodes[i].gpu_id))
			continue;
		if (row > LINES / PART_OF_NODES)
			left++;
		else
			print_row(row++, "%s", top_node_line(v, &nodes[i], before, now, text, sizeof(text)));
	}
	if (left)
		print_row(row++, "%d more GPU%s: gpreemptctl status", left, left == 1 ? "" : "s");
	return row;
}

/**
 * struct body - the rows of a table
 * @lines: those of the table that are searched for, without the names of the columns
 * @kinds: of each, what it is
 * @nr: their number
 */
struct body {
	char **lines;
	int *kinds;
	int nr;
};

/* @text: of the table, cut into its lines. Return: false: no memory. */
static bool top_find_body(const struct view *v, struct table *t, char *text, struct body *body)
{
	char *line, *rest = text;
	size_t row = 0, nr = 1;
	const char *c;

	for (c = text; *c; c++)
		nr += *c == '\n';
	*body = (struct body){ .lines = calloc(nr, sizeof(*body->lines)), .kinds = calloc(nr, sizeof(*body->kinds)) };
	if (!body->lines || !body->kinds)
		return false;
	if (!v->o.no_headers)
		strsep(&rest, "\n");
	for (; (line = strsep(&rest, "\n")) && *line; row++) {
		if (!strcasestr(line, v->search))
			continue;
		body->kinds[body->nr] = row_kind(t, row);
		body->lines[body->nr++] = line;
	}
	return true;
}

/* What is searched for, what was wrong, or how many rows there is no room for */
static void top_draw_foot(int row, const struct view *v, const struct body *body, int shown)
{
	int i, off = 0, waiting = 0, more = body->nr - shown;
	char text[256] = "";
	size_t n = 0;

	for (i = 0; i < body->nr; i++) {
		if (i >= v->first && i < v->first + shown)
			continue;
		off += body->kinds[i] == ROW_OFF;
		waiting += body->kinds[i] == ROW_WAITING;
	}
	if (v->message[0])
		n = snprintf(text, sizeof(text), "%s  ", v->message);
	else if (v->search[0] || v->users[0])
		n = snprintf(text, sizeof(text), "%s%s%s%s  ", v->search[0] ? "/" : "", v->search, v->users[0] ? "  users: " : "", v->users);
	if (more && n < sizeof(text))
		n += snprintf(text + n, sizeof(text) - n, "%d more", more);
	if (off && n < sizeof(text))
		n += snprintf(text + n, sizeof(text) - n, ", %d preempted", off);
	if (waiting && n < sizeof(text))
		n += snprintf(text + n, sizeof(text) - n, ", %d waiting", waiting);
	if (more && n < sizeof(text))
		snprintf(text + n, sizeof(text) - n, "  (arrows; ? help)");
	attron(A_REVERSE);
	print_row(row, "%s", text);
	attroff(A_REVERSE);
}

static void top_draw_body(int row, struct view *v, const struct body *body)
{
	int i, room = LINES - row, shown;
	bool foot = body->nr > room || v->search[0] || v->users[0] || v->message[0];

	v->page = room - foot > 0 ? room - foot : 1;
	if (v->first > body->nr - v->page)
		v->first = body->nr - v->page;
	if (v->first < 0)
		v->first = 0;
	shown = body->nr - v->first < v->page ? body->nr - v->first : v->page;
	for (i = v->first; i < v->first + shown; i++) {
		if (body->kinds[i] == ROW_OFF)
			attron(A_DIM);
		else if (body->kinds[i] == ROW_ACTIVE)
			attron(A_BOLD);
		print_row(row++, "%s", body->lines[i]);
		attrset(A_NORMAL);
	}
	if (foot)
		top_draw_foot(LINES - 1, v, body, shown);
}

/* Return: false: no memory. */
static bool top_draw_table(int row, struct view *v, struct table *t)
{
	char *text = table_text(t, COLS);
	struct body body = { 0 };
	bool done = text && top_find_body(v, t, text, &body);

	if (done && !v->o.no_headers) {
		attron(A_REVERSE);
		print_row(row++, "%.*s", (int)strcspn(text, "\n"), text);
		attroff(A_REVERSE);
	}
	if (done)
		top_draw_body(row, v, &body);
	free(body.lines);
	free(body.kinds);
	free(text);
	return done;
}

/* Return: 0, or the exit status, said. */
static int top_print_batch(const struct view *v, const struct gpreempt_node_info *nodes, int nr, const struct look *before, const struct look *now,
		       struct table *t)
{
	char text[512];
	int i, error;

	for (i = 0; i < nr && !v->by_job && !v->o.no_headers; i++)
		if (gpu_is_chosen(&v->o, nodes[i].gpu_id))
			puts(top_node_line(v, &nodes[i], before, now, text, sizeof(text)));
	error = print_table(t);
	if (!error && fflush(stdout))
		error = -errno;
	return error ? fail_system(error, "top") : 0;
}

/* Return: 0, or the exit status, said. */
static int top_show(struct gpreempt *g, struct view *v, const struct look *before, const struct look *now)
{
	struct gpreempt_node_info *nodes;
	struct table *t;
	int row, nr = gpreempt_list_nodes(g, NULL, &nodes), status;

	if (nr < 0)
		return fail_errno(nr, "top");
	status = top_make_table(v, before, now, &t);
	if (!status) {
		if (v->o.batch) {
			status = top_print_batch(v, nodes, nr, before, now, t);
		} else {
			erase();
			row = top_draw_nodes(v, nodes, nr, before, now);
			if (!top_draw_table(row, v, t))
				status = fail_system(-ENOMEM, "top");
			refresh();
		}
		free_table(t);
	}
	free(nodes);
	return status;
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

static void top_show_help(void)
{
	size_t i;
	int row = 0;

	erase();
	print_row(row++, "q  quit");
	for (i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
		print_row(row++, "%c  sort %s", orders[i].key, orders[i].what);
	print_row(row++, "j  jobs or queues; not with -o and --sort");
	print_row(row++, "u  one user's, several users', or all again");
	print_row(row++, "/  rows with this text, or all again");
	print_row(row++, "arrows, page keys, Home, End: other rows");
	print_row(row, "any key: back");
	refresh();
	timeout(-1);
	getch();
}

/* What the user types behind @label, without the newline */
static void top_ask(const char *label, char *buffer, int size)
{
	move(LINES - 1, 0);
	clrtoeol();
	addstr(label);
	echo();
	timeout(-1);
	if (getnstr(buffer, size - 1) == ERR)
		buffer[0] = '\0';
	noecho();
}

static void top_ask_user(struct view *v)
{
	struct filter before = v->o.filter;
	char words[sizeof(v->users)];

	top_ask("users: ", words, sizeof(words));
	v->o.filter.nr_uids = 0;
	if (words[0] && !add_to_filter(&v->o.filter, GIVEN_USER, words, v->message))
		v->o.filter = before;
	else
		snprintf(v->users, sizeof(v->users), "%s", words);
}

static void top_scroll_by(struct view *v, int key)
{
	switch (key) {
	case KEY_DOWN:
		v->first++;
		break;
	case KEY_UP:
		v->first--;
		break;
	case KEY_NPAGE:
		v->first += v->page;
		break;
	case KEY_PPAGE:
		v->first -= v->page;
		break;
	case KEY_HOME:
		v->first = 0;
		break;
	case KEY_END:
		v->first = INT_MAX;
		break;
	}
}

static void top_do_key(struct view *v, int key)
{
	size_t i;

	if (key != ERR)
		v->message[0] = '\0';
	for (i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
		if (orders[i].key == key)
			v->order = &orders[i];
	if (key == 'j' && !v->o.columns && !v->o.sort)
		v->by_job = !v->by_job;
	else if (key == 'u')
		top_ask_user(v);
	else if (key == '/')
		top_ask("/", v->search, sizeof(v->search));
	else if (key == '?')
		top_show_help();
	else
		top_scroll_by(v, key);
}

/* Look, show and wait until the end is asked for. Return: the exit status. */
static int top_watch(struct gpreempt *g, struct view *v)
{
	double interval_s = v->o.given & GIVEN_INTERVAL ? v->o.interval_s : REFRESH_S;
	struct look before = { 0 }, now = { 0 };
	unsigned long shown = 0;
	int key = ERR, error, status;

	do {
		error = look_again(g, &v->o, &before, &now, interval_s);
		status = error ? fail_errno(error, "top") : top_show(g, v, &before, &now);
		if (status || (v->o.count && ++shown == v->o.count))
			break;
		if (v->o.batch) {
			key = wait_for_signal(interval_s) ? 'q' : ERR;
		} else {
			timeout(interval_s * 1000);
			key = getch();
			top_do_key(v, key);
		}
	} while (key != 'q');
	end_look(&before);
	end_look(&now);
	return status;
}

/* @columns and @sort have to be those of a table before anything else is done. */
static int top_check_columns(const struct options *o)
{
	struct table *t;
	int status = o->by_job ? new_workload_table(o, "top", true, &t) : new_queue_table(o, "top", true, &t);

	if (!status)
		free_table(t);
	return status;
}

int cmd_top(const struct options *o)
{
	struct view v = { .o = *o, .order = o->sort ? NULL : &orders[0], .by_job = o->by_job };
	SCREEN *screen = NULL;
	struct gpreempt *g;
	int status = top_check_columns(o);

	if (!status)
		status = open_scheduler(&g);
	if (status)
		return status;
	if (!o->batch && is_known_terminal())
		screen = newterm(NULL, stdout, stdin);
	if (!o->batch && !screen) {
		gpreempt_close(g);
		return fail(EXIT_USAGE, "top needs a terminal that $TERM describes; try: gpreemptctl top -b -n 1");
	}
	v.all = o->batch ? tell_what_is_hidden(OWN_ALONE) : sees_all();
	if (o->batch) {
		block_signals();
	} else {
		cbreak();
		noecho();
		keypad(stdscr, TRUE);
		curs_set(0);
	}
	status = top_watch(g, &v);
	if (screen) {
		endwin();
		delscreen(screen);
	}
	gpreempt_close(g);
	return status;
}
