/* SPDX-License-Identifier: MIT */
/* table.h - rows for people, cut to their terminal, and as CSV for programs */
#ifndef TABLE_H
#define TABLE_H

#include <stddef.h>

#include "gpreemptctl.h"

/* Numbers and what else stands at the right of its column */
#define COLUMN_RIGHT	(1U << 0)
/* May be cut where the terminal is too narrow */
#define COLUMN_CUT	(1U << 1)

/**
 * struct column - a column that a table may have
 * @name: in the line above the rows; in CSV in small letters. -o and --sort take either
 * @flags: bits COLUMN_*
 * @goes: on a narrow terminal columns with the largest one are left out first; 0: it stays
 * @width: its least, in characters, so that a live view stands still
 */
struct column {
	const char *name;
	unsigned int flags;
	unsigned int goes;
	unsigned int width;
};

/**
 * struct columns - all that a command's table may have
 * @all: the columns; what a row has is put by their index
 * @nr: their number
 * @text: those that are shown without -o, with commas between them
 * @csv: the same in CSV
 */
struct columns {
	const struct column *all;
	size_t nr;
	const char *text;
	const char *csv;
};

struct table;

int new_table(const struct options *o, const char *command, const struct columns *columns, struct table **table);
void add_row(struct table *t, int kind);
void put(struct table *t, size_t column, const char *format, ...) __attribute__((format(printf, 3, 4)));
void put_word(struct table *t, size_t column, const char *word);
int row_kind(struct table *t, size_t row);
char *table_text(struct table *t, size_t width);
int print_table(struct table *t);
void free_table(struct table *t);

#endif /* TABLE_H */
