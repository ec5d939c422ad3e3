// SPDX-License-Identifier: MIT
/* table.c - rows for people, cut to their terminal, and as CSV for programs */
#include "table.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libsmartcols/libsmartcols.h>

/* Of a column that may be cut so much stays, before another one is left out for it. */
#define LEAST_CUT	12

/**
 * struct table - rows, in the order in which they are shown
 * @columns: that there are
 * @scols: the rows
 * @at: of each column; those that are not shown are hidden and can be sorted by
 * @widths: of each column, the least that it needs on a terminal
 * @line: the row that is being filled
 * @sort: the column by which rows are sorted when all are there; -1: none
 * @down: the largest comes first
 * @chosen: the user has said which columns he wants: none is left out
 * @csv: --csv
 * @names: the names of the columns come first
 * @error: the first one, a negative errno
 */
struct table {
	const struct columns *columns;
	struct libscols_table *scols;
	struct libscols_column **at;
	size_t *widths;
	struct libscols_line *line;
	int sort;
	bool down;
	bool chosen;
	bool csv;
	bool names;
	int error;
};

/* Return: index of the column; -1: there is none of this name. */
static int table_find_column(const struct columns *columns, const char *name)
{
	size_t i;

	for (i = 0; i < columns->nr; i++)
		if (!strcasecmp(columns->all[i].name, name))
			return i;
	return -1;
}

static int table_fail_column(const char *command, const struct columns *columns, const char *name)
{
	char names[1024];
	size_t i, n = 0;

	for (i = 0; i < columns->nr && n < sizeof(names); i++)
		n += snprintf(names + n, sizeof(names) - n, "%s%s", i ? "," : "", columns->all[i].name);
	return fail(EXIT_USAGE, "%s has no column %s; it has %s", command, name, names);
}

/* As text; of numbers with a unit the unit counts, and what is no number comes before them. */
static double table_number_in(const char *text)
{
	char *end;
	double number = strtod(text, &end);

	if (!isdigit((unsigned char)text[*text == '-']))
		return -HUGE_VAL;
	return number * (*end == 'K' ? 1 << 10 : *end == 'M' ? 1 << 20 : 1);
}

static int table_compare_cells(struct libscols_cell *a, struct libscols_cell *b, void *arg)
{
	const struct table *t = arg;
	const char *x = scols_cell_get_data(a), *y = scols_cell_get_data(b);
	double i = table_number_in(x ?: ""), k = table_number_in(y ?: "");
	int r = i < k ? -1 : i > k;

	if (!r)
		r = strcmp(x ?: "", y ?: "");
	return t->down ? -r : r;
}

static int table_add_column(struct table *t, size_t i, bool hidden)
{
	const struct column *c = &t->columns->all[i];
	int flags = (c->flags & COLUMN_RIGHT ? SCOLS_FL_RIGHT : 0) | (c->flags & COLUMN_CUT ? SCOLS_FL_TRUNC : 0) | (hidden ? SCOLS_FL_HIDDEN : 0);

	if (!t->at[i])
		t->at[i] = scols_table_new_column(t->scols, c->name, c->width, flags);
	t->widths[i] = strlen(c->name) > c->width ? strlen(c->name) : c->width;
	return t->at[i] && !scols_column_set_cmpfunc(t->at[i], table_compare_cells, t) ? 0 : -ENOMEM;
}

/* @names: with commas between them. Return: 0, or the exit status, said. */
static int table_add_columns(struct table *t, const char *command, const char *names)
{
	char *copy = strdup(names), *rest, *name;
	int i, status = 0;

	for (name = copy ? strtok_r(copy, ",", &rest) : NULL; name && !status; name = strtok_r(NULL, ",", &rest)) {
		i = table_find_column(t->columns, name);
		if (i < 0)
			status = table_fail_column(command, t->columns, name);
		else if (table_add_column(t, i, false))
			t->error = -ENOMEM;
	}
	free(copy);
	return status;
}

static int table_add_chosen(struct table *t, const struct options *o, const char *command)
{
	const char *usual = o->csv ? t->columns->csv : t->columns->text, *more = o->columns ?: "";
	int status = !o->columns || *more == '+' ? table_add_columns(t, command, usual) : 0;
	size_t i;

	if (!status)
		status = table_add_columns(t, command, more + (*more == '+'));
	if (!status && o->columns && !scols_table_get_ncols(t->scols))
		status = table_fail_column(command, t->columns, "of no name");
	for (i = 0; i < t->columns->nr && !status && !t->error; i++)
		t->error = table_add_column(t, i, true);
	return status;
}

static int table_choose_order(struct table *t, const struct options *o, const char *command)
{
	t->sort = -1;
	if (!o->sort)
		return 0;
	t->down = *o->sort == '-';
	t->sort = table_find_column(t->columns, o->sort + t->down);
	return t->sort < 0 ? table_fail_column(command, t->columns, o->sort + t->down) : 0;
}

/**
 * new_table() - a table without rows
 * @o: which columns of it are shown, how, and by which of them it is sorted
 * @command: for messages
 * @columns: all that there are; have to stay
 * @table: out: to be given to free_table(), unless it failed
 *
 * Return: 0, or the exit status, said.
 */
int new_table(const struct options *o, const char *command, const struct columns *columns, struct table **table)
{
	struct table *t;
	int status = 0;

	if (o->json && o->given & (GIVEN_COLUMNS | GIVEN_SORT | GIVEN_CSV | GIVEN_NO_HEADERS))
		return fail(EXIT_USAGE, "%s: -o, --sort, --csv and --no-headers are for tables; --json has all there is", command);
	t = calloc(1, sizeof(*t));
	if (!t)
		return fail_system(-ENOMEM, "%s", command);
	*t = (struct table){ .columns = columns, .csv = o->csv, .chosen = o->columns, .names = !o->no_headers };
	t->scols = scols_new_table();
	t->at = calloc(columns->nr, sizeof(*t->at));
	t->widths = calloc(columns->nr, sizeof(*t->widths));
	if (!t->scols || !t->at || !t->widths)
		t->error = -ENOMEM;
	else
		status = table_add_chosen(t, o, command);
	if (!status)
		status = table_choose_order(t, o, command);
	if (!status && t->error)
		status = fail_system(t->error, "%s", command);
	if (status)
		free_table(t);
	else
		*table = t;
	return status;
}

/** free_table() - with its rows */
void free_table(struct table *t)
{
	scols_unref_table(t->scols);
	free(t->widths);
	free(t->at);
	free(t);
}

/** add_row() - what put() puts is in this one from now on; @kind: for the caller, see row_kind() */
void add_row(struct table *t, int kind)
{
	t->line = scols_table_new_line(t->scols, NULL);
	if (!t->line || scols_line_set_userdata(t->line, (void *)(intptr_t)kind))
		t->error = -ENOMEM;
}

/** put() - what the row has in a column. Where nothing is put, text has "-", and CSV nothing. */
void put(struct table *t, size_t column, const char *format, ...)
{
	bool cut = t->columns->all[column].flags & COLUMN_CUT;
	va_list args;
	char *text;
	int length;

	if (t->error)
		return;
	va_start(args, format);
	length = vasprintf(&text, format, args);
	va_end(args);
	if (length < 0 || scols_line_refer_column_data(t->line, t->at[column], text))
		t->error = -ENOMEM;
	if (cut && length > LEAST_CUT)
		length = LEAST_CUT;
	if (length > 0 && (size_t)length > t->widths[column])
		t->widths[column] = length;
}

/** put_word() - the same for a word that is empty or a dash where it is not known */
void put_word(struct table *t, size_t column, const char *word)
{
	if (*word && strcmp(word, "-"))
		put(t, column, "%s", word);
}

/** row_kind() - what add_row() was given of the row that is shown as this one, by table_text() */
int row_kind(struct table *t, size_t row)
{
	return (intptr_t)scols_line_get_userdata(scols_table_get_line(t->scols, row));
}

/* The least that a column needs on a terminal; 0: it is not shown */
static size_t table_width_of(const struct table *t, size_t column)
{
	return scols_column_is_hidden(t->at[column]) ? 0 : t->widths[column];
}

/* Leave out columns, those that matter least first, until the others fit. */
static void table_fit_to(struct table *t, size_t width)
{
	const struct column *all = t->columns->all;
	size_t i, least, needs = 0;

	for (i = 0; i < t->columns->nr; i++)
		needs += table_width_of(t, i) ? table_width_of(t, i) + 1 : 0;
	while (needs > width + 1) {
		for (i = 0, least = t->columns->nr; i < t->columns->nr; i++)
			if (table_width_of(t, i) && all[i].goes && (least == t->columns->nr || all[i].goes > all[least].goes))
				least = i;
		if (least == t->columns->nr)
			return;
		needs -= table_width_of(t, least) + 1;
		scols_column_set_flags(t->at[least], scols_column_get_flags(t->at[least]) | SCOLS_FL_HIDDEN);
	}
}

/* Sorted, and with a dash for what is not known. */
static void table_complete(struct table *t)
{
	struct libscols_line *line;
	size_t row, i;

	if (t->sort >= 0 && scols_sort_table(t->scols, t->at[t->sort]))
		t->error = -ENOMEM;
	for (row = 0; row < scols_table_get_nlines(t->scols) && !t->csv && !t->error; row++) {
		line = scols_table_get_line(t->scols, row);
		for (i = 0; i < t->columns->nr && !t->error; i++)
			if (!scols_line_get_column_data(line, t->at[i]) && scols_line_set_column_data(line, t->at[i], "-"))
				t->error = -ENOMEM;
	}
}

/* Without rows the library prints nothing, not even the names of the columns. */
static char *table_names_alone(struct table *t, bool padded)
{
	size_t n, i, size;
	FILE *out;
	char *text = NULL;
	const char *gap = "";

	out = open_memstream(&text, &size);
	for (n = 0; out && n < scols_table_get_ncols(t->scols); n++) {
		for (i = 0; t->at[i] != scols_table_get_column(t->scols, n); i++)
			;
		if (!table_width_of(t, i))
			continue;
		fprintf(out, t->columns->all[i].flags & COLUMN_RIGHT ? "%s%*s" : "%s%-*s", gap, padded ? (int)table_width_of(t, i) : 0,
			t->columns->all[i].name);
		gap = " ";
	}
	if (out)
		fclose(out);
	return text;
}

/* What could not be made to fit */
static void table_cut_lines(char *text, size_t width)
{
	char *to = text;
	size_t column;

	for (column = 0; *text; text++) {
		column = *text == '\n' ? 0 : column + 1;
		if (column <= width)
			*to++ = *text;
	}
	*to = '\0';
}

/**
 * table_text() - all of it, the names of the columns in the first line
 * @width: characters that a line may have; 0: any number
 *
 * Return: the text, to be freed, without a newline at its end; NULL: no memory
 */
char *table_text(struct table *t, size_t width)
{
	char *text = NULL;

	if (!t->error)
		table_complete(t);
	if (t->error)
		return NULL;
	if (width && !t->chosen)
		table_fit_to(t, width);
	scols_table_set_termforce(t->scols, width ? SCOLS_TERMFORCE_ALWAYS : SCOLS_TERMFORCE_NEVER);
	if (width)
		scols_table_set_termwidth(t->scols, width);
	scols_table_enable_noheadings(t->scols, !t->names);
	if (!scols_table_get_nlines(t->scols))
		text = t->names ? table_names_alone(t, width) : strdup("");
	else if (scols_print_table_to_string(t->scols, &text))
		return NULL;
	if (width && text)
		table_cut_lines(text, width);
	return text;
}

/* A field as RFC 4180 asks: in quotes if it needs them, with its own doubled */
static void table_print_field(const char *text, const char *gap)
{
	fputs(gap, stdout);
	if (!text[strcspn(text, ",\"\r\n")]) {
		fputs(text, stdout);
		return;
	}
	putchar('"');
	for (; *text; text++) {
		if (*text == '"')
			putchar('"');
		putchar(*text);
	}
	putchar('"');
}

static void table_print_csv_line(struct table *t, struct libscols_line *line)
{
	struct libscols_column *column;
	const char *gap = "";
	char name[64], *c;
	size_t n;

	for (n = 0; n < scols_table_get_ncols(t->scols); n++) {
		column = scols_table_get_column(t->scols, n);
		if (scols_column_is_hidden(column))
			continue;
		snprintf(name, sizeof(name), "%s", scols_cell_get_data(scols_column_get_header(column)));
		for (c = name; *c; c++)
			*c = tolower((unsigned char)*c);
		table_print_field(line ? scols_line_get_column_data(line, column) ?: "" : name, gap);
		gap = ",";
	}
	putchar('\n');
}

/**
 * print_table() - all of it to stdout
 *
 * Return: 0, or a negative errno.
 */
int print_table(struct table *t)
{
	size_t row, width = isatty(STDOUT_FILENO) ? scols_table_get_termwidth(t->scols) : 0;
	char *text;

	if (t->csv) {
		if (!t->error)
			table_complete(t);
		if (!t->error && t->names)
			table_print_csv_line(t, NULL);
		for (row = 0; row < scols_table_get_nlines(t->scols) && !t->error; row++)
			table_print_csv_line(t, scols_table_get_line(t->scols, row));
	} else {
		text = table_text(t, width);
		if (text && *text)
			puts(text);
		if (!text)
			t->error = -ENOMEM;
		free(text);
	}
	return t->error;
}
