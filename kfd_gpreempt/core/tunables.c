// SPDX-License-Identifier: MIT
/*
 * tunables.c - what the rows of tunables_table.h say: how a value is read, kept, copied for a pass,
 * and shown
 *
 * Each node has values of its own. A module parameter has those of new nodes, and writing it writes
 * them all.
 */
#include <linux/math64.h>
#include <linux/seq_buf.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "node.h"

enum tunables_kind {
	TUNABLES_KIND_SWITCH,
	TUNABLES_KIND_NUMBER,
	TUNABLES_KIND_WORDS,
};

/* What a unit of a number is inside. */
enum tunables_unit {
	TUNABLES_UNIT_PCT = 1,
	TUNABLES_UNIT_US = NSEC_PER_USEC,
	TUNABLES_UNIT_MS = NSEC_PER_MSEC,
};

/**
 * struct tunables_row - a row of the table
 * @name: as in messages, parameters and files
 * @words: what is written for 0, 1, ..., with spaces between; NULL: no words
 * @kind: what its values are
 * @file: where each node has a file for it
 * @value: of nodes that have been given none of their own; written under kernel_param_lock()
 * @min: smallest number
 * @max: largest number
 * @zero: 0 is allowed as well
 * @scale: the unit of a number, in what a pass works with
 * @offset: of the member of struct gpreempt_tunables that receives it
 * @size: of this member; 0: there is none
 */
struct tunables_row {
	const char *name;
	const char *words;
	enum tunables_kind kind;
	enum gpreempt_tunable_file file;
	u32 value;
	u32 min;
	u32 max;
	bool zero;
	u32 scale;
	size_t offset;
	size_t size;
};

#define TUNABLES_PLACE(_place)                                \
	.offset = offsetof(struct gpreempt_tunables, _place), \
	.size = sizeof_field(struct gpreempt_tunables, _place)
#define TUNABLES_GLOBAL(_id, _name, _default, ...) \
	[GPREEMPT_TUNABLE_##                       \
		_id] = { .name = #_name, .kind = TUNABLES_KIND_SWITCH, .value = _default },
#define TUNABLES_SWITCH(_id, _name, _file, _default, _place, ...)				\
	[GPREEMPT_TUNABLE_##_id] = {								\
		.name = #_name, .kind = TUNABLES_KIND_SWITCH, .file = GPREEMPT_TUNABLE_FILE_##_file,	\
		.value = _default, .scale = 1, TUNABLES_PLACE(_place)				\
	},
#define TUNABLES_NUMBER(_id, _name, _file, _unit, _default, _min, _max, _zero, _place, ...)	\
	[GPREEMPT_TUNABLE_##_id] = {								\
		.name = #_name, .kind = TUNABLES_KIND_NUMBER, .file = GPREEMPT_TUNABLE_FILE_##_file,	\
		.value = _default, .min = _min, .max = _max, .zero = sizeof(_zero) > 1,		\
		.scale = TUNABLES_UNIT_##_unit, TUNABLES_PLACE(_place)				\
	},
#define TUNABLES_WORDS(_id, _name, _file, _words, _place, ...)					\
	[GPREEMPT_TUNABLE_##_id] = {								\
		.name = #_name, .words = _words, .kind = TUNABLES_KIND_WORDS,			\
		.file = GPREEMPT_TUNABLE_FILE_##_file, .scale = 1, TUNABLES_PLACE(_place)		\
	},
static struct tunables_row tunables[GPREEMPT_NR_TUNABLES] = {
	GPREEMPT_TUNABLES(TUNABLES_GLOBAL, TUNABLES_SWITCH, TUNABLES_NUMBER, TUNABLES_WORDS)
};

/* Return: the word in this place, or the end of the list; *@len: its length. */
static const char *tunables_word(const char *words, u32 place, int *len)
{
	for (; place && *words; place--) {
		words += strcspn(words, " ");
		words += *words == ' ';
	}
	*len = strcspn(words, " ");
	return words;
}

static bool tunables_find_word(const char *words, const char *text, u32 *place)
{
	const char *word;
	int len;

	for (*place = 0; *(word = tunables_word(words, *place, &len)); ++*place)
		if (!strncmp(word, text, len) && sysfs_streq(text + len, ""))
			return true;
	return false;
}

static int tunables_print(const struct tunables_row *row, u32 value, char *text, size_t size)
{
	const char *word;
	int len;

	if (row->kind != TUNABLES_KIND_WORDS)
		return scnprintf(text, size, "%u", value);
	word = tunables_word(row->words, value, &len);
	return scnprintf(text, size, "%.*s", len, word);
}

/* Why no word of the list: "neither poll nor doorbell", "none of hpf, wfq, edf". */
static void tunables_print_words(const char *words, char *text, size_t size)
{
	bool two = !*tunables_word(words, 2, &(int){ 0 });
	size_t n = scnprintf(text, size, "%s", two ? "neither " : "none of ");
	const char *word;
	int len;
	u32 i;

	for (i = 0; *(word = tunables_word(words, i, &len)); i++)
		n += scnprintf(text + n, size - n, "%s%.*s", !i ? "" : two ? " nor " : ", ", len, word);
}

/* The words of the row POLICY are names of gpreempt_policies, in the same order. */
static bool tunables_is_built(enum gpreempt_tunable which, u32 value)
{
	u32 i = 0;

	if (which != GPREEMPT_TUNABLE_POLICY)
		return true;
	while (i < value && gpreempt_policies[i])
		i++;
	return gpreempt_policies[i];
}

/**
 * gpreempt_tunables_parse() - read what was written for a tunable
 * @which: the tunable
 * @name: of what was written, for the message; NULL: its own
 * @text: what was written; a newline may be at its end. NULL: a parameter without a value,
 *	which means yes for a switch
 * @kept: what stays otherwise; for the message
 * @value: receives it
 *
 * Context: any.
 *
 * Return: 0; -EINVAL: not a value of this tunable; the kernel log says the value, the bound and
 * what stays in force
 */
int gpreempt_tunables_parse(enum gpreempt_tunable which, const char *name, const char *text,
			    u32 kept, u32 *value)
{
	const struct tunables_row *row = &tunables[which];
	char wrong[64], kept_text[16];
	bool on;

	if (!text)
		text = row->kind == TUNABLES_KIND_SWITCH ? "1" : "";
	switch (row->kind) {
	case TUNABLES_KIND_SWITCH:
		if (!kstrtobool(text, &on)) {
			*value = on;
			return 0;
		}
		strscpy(wrong, "neither 0 nor 1", sizeof(wrong));
		break;
	case TUNABLES_KIND_WORDS:
		if (!tunables_find_word(row->words, text, value)) {
			tunables_print_words(row->words, wrong, sizeof(wrong));
			break;
		}
		if (tunables_is_built(which, *value))
			return 0;
		strscpy(wrong, "not built", sizeof(wrong));
		break;
	case TUNABLES_KIND_NUMBER:
		if (kstrtouint(text, 0, value))
			strscpy(wrong, "not a number", sizeof(wrong));
		else if (*value < row->min && !(row->zero && !*value))
			scnprintf(wrong, sizeof(wrong), "below %u", row->min);
		else if (*value > row->max)
			scnprintf(wrong, sizeof(wrong), "above %u", row->max);
		else
			return 0;
		break;
	}
	tunables_print(row, kept, kept_text, sizeof(kept_text));
	pr_err("gpreempt: %s=%.*s is %s; kept %s\n", name ?: row->name, (int)strcspn(text, "\n"), text, wrong, kept_text);
	return -EINVAL;
}

/**
 * gpreempt_tunables_name() - the name of a tunable
 * @which: the tunable
 *
 * Context: any.
 *
 * Return: its name, without a prefix
 */
const char *gpreempt_tunables_name(enum gpreempt_tunable which)
{
	return tunables[which].name;
}

/**
 * gpreempt_tunables_file() - where each node has a file for a tunable
 * @which: the tunable
 *
 * Context: any.
 *
 * Return: in which folder
 */
enum gpreempt_tunable_file gpreempt_tunables_file(enum gpreempt_tunable which)
{
	return tunables[which].file;
}

/**
 * gpreempt_tunables_default() - the value that new nodes get
 * @which: the tunable
 *
 * Context: any.
 *
 * Return: what the module parameter says
 */
u32 gpreempt_tunables_default(enum gpreempt_tunable which)
{
	return READ_ONCE(tunables[which].value);
}

/**
 * gpreempt_tunables_set_default() - set the value that new nodes get
 * @which: the tunable
 * @value: as gpreempt_tunables_parse() gave it
 *
 * Context: kernel_param_lock() held.
 */
void gpreempt_tunables_set_default(enum gpreempt_tunable which, u32 value)
{
	WRITE_ONCE(tunables[which].value, value);
}

/**
 * gpreempt_tunables_show_default() - print the value that new nodes get
 * @which: the tunable
 * @buf: a page
 *
 * Context: sysfs.
 *
 * Return: length
 */
ssize_t gpreempt_tunables_show_default(enum gpreempt_tunable which, char *buf)
{
	u32 value = gpreempt_tunables_default(which);
	char text[16];

	/* A switch of a module reads like this. */
	if (tunables[which].kind == TUNABLES_KIND_SWITCH)
		return sysfs_emit(buf, "%c\n", value ? 'Y' : 'N');
	tunables_print(&tunables[which], value, text, sizeof(text));
	return sysfs_emit(buf, "%s\n", text);
}

/**
 * gpreempt_tunables_show() - print a node's value of a tunable
 * @gn: the node
 * @which: the tunable
 * @buf: a page
 *
 * Context: sysfs.
 *
 * Return: length
 */
ssize_t gpreempt_tunables_show(const struct gpreempt_node *gn, enum gpreempt_tunable which,
			       char *buf)
{
	char text[16];

	tunables_print(&tunables[which], READ_ONCE(gn->tunables.tuned[which]), text, sizeof(text));
	return sysfs_emit(buf, "%s\n", text);
}

/**
 * gpreempt_tunables_init_node() - give a new node what holds for all
 * @gn: the node
 *
 * Context: gpreempt_lifecycle held, the node not yet in the list of nodes.
 */
void gpreempt_tunables_init_node(struct gpreempt_node *gn)
{
	unsigned int i;

	for (i = 0; i < GPREEMPT_NR_TUNABLES; i++)
		WRITE_ONCE(gn->tunables.tuned[i], gpreempt_tunables_default(i));
	WRITE_ONCE(gn->tunables.stale, true);
}

/**
 * gpreempt_tunables_set() - tune a node
 * @gn: the node
 * @which: the tunable
 * @value: its value, within its bounds; it counts from the next pass
 *
 * Context: gpreempt_lock held.
 */
void gpreempt_tunables_set(struct gpreempt_node *gn, enum gpreempt_tunable which, u32 value)
{
	lockdep_assert_held(&gpreempt_lock);
	WRITE_ONCE(gn->tunables.tuned[which], value);
	/* Pairs with the copy: a pass that finds them stale reads this value. */
	smp_store_release(&gn->tunables.stale, true);
}

/**
 * gpreempt_tunables_copy() - take the copy of a node's tunables that a pass works with
 * @gn: the node, whose @gn->tun receives it; what is no tunable there is left alone
 *
 * Context: the node's monitor.
 *
 * Return: true if one of them has been written since the last copy
 */
bool gpreempt_tunables_copy(struct gpreempt_node *gn)
{
	const struct tunables_row *row;
	unsigned int i;

	/* They change rarely, and passes are many. What is written from here on counts later. */
	if (likely(!READ_ONCE(gn->tunables.stale)) || !xchg(&gn->tunables.stale, false))
		return false;
	for (i = 0; i < GPREEMPT_NR_TUNABLES; i++) {
		u64 value = READ_ONCE(gn->tunables.tuned[i]);
		void *place;

		row = &tunables[i];
		place = (void *)&gn->tun + row->offset;
		if (row->size == sizeof(u64))
			WRITE_ONCE(*(u64 *)place, value * row->scale);
		else if (row->size == sizeof(u32))
			WRITE_ONCE(*(u32 *)place, value);
		else if (row->size == sizeof(bool))
			WRITE_ONCE(*(bool *)place, value);
	}
	return true;
}

static u64 tunables_copied(const struct gpreempt_tunables *tun, const struct tunables_row *row)
{
	const void *place = (const void *)tun + row->offset;

	if (row->size == sizeof(u64))
		return *(const u64 *)place;
	return row->size == sizeof(u32) ? *(const u32 *)place : *(const bool *)place;
}

/**
 * gpreempt_tunables_list() - print the tunables of a pass: " name=value" for each, times in
 * microseconds
 * @tun: what the pass worked with
 * @s: receives the text
 *
 * Context: any.
 */
void gpreempt_tunables_list(const struct gpreempt_tunables *tun, struct seq_buf *s)
{
	const struct tunables_row *row;
	char text[16];

	for (row = tunables; row < tunables + GPREEMPT_NR_TUNABLES; row++) {
		u64 value;

		if (!row->size)
			continue;
		value = tunables_copied(tun, row);
		if (row->scale > 1) {
			/* The unit is the last part of the name. */
			seq_buf_printf(s, " %.*s_us=%llu", (int)(strlen(row->name) - strlen("_us")), row->name,
				       div_u64(value, NSEC_PER_USEC));
			continue;
		}
		tunables_print(row, value, text, sizeof(text));
		seq_buf_printf(s, " %s=%s", row->name, text);
	}
}

/**
 * gpreempt_tunables_verify() - are a node's preempted queues to be verified?
 * @gn: the node
 *
 * Context: any.
 *
 * Return: its gpreempt_verify
 */
bool gpreempt_tunables_verify(const struct gpreempt_node *gn)
{
	return READ_ONCE(gn->tunables.tuned[GPREEMPT_TUNABLE_VERIFY]);
}

/**
 * gpreempt_tunables_accounts() - does a node account for how long it is used?
 * @gn: the node
 *
 * Its monitor follows with its next pass.
 *
 * Context: any.
 *
 * Return: its gpreempt_account
 */
bool gpreempt_tunables_accounts(const struct gpreempt_node *gn)
{
	return READ_ONCE(gn->tunables.tuned[GPREEMPT_TUNABLE_ACCOUNT]);
}

/**
 * gpreempt_tunables_observes() - does a node only observe?
 * @gn: the node
 *
 * What it has taken off the device before may come back only with its next pass.
 *
 * Context: any.
 *
 * Return: its gpreempt_observe
 */
bool gpreempt_tunables_observes(const struct gpreempt_node *gn)
{
	return READ_ONCE(gn->tunables.tuned[GPREEMPT_TUNABLE_OBSERVE]);
}

/**
 * gpreempt_tunables_tells_doorbells() - is a node told of doorbell writes?
 * @gn: the node
 *
 * Context: any.
 *
 * Return: true unless its gpreempt_wakeup is poll
 */
bool gpreempt_tunables_tells_doorbells(const struct gpreempt_node *gn)
{
	return READ_ONCE(gn->tunables.tuned[GPREEMPT_TUNABLE_WAKEUP]) != GPREEMPT_WAKEUP_POLL;
}

static bool tunables_wakeup_wants(u32 wakeup, bool on)
{
	return wakeup == GPREEMPT_WAKEUP_DOORBELL || (on && wakeup == GPREEMPT_WAKEUP_AUTO);
}

static int tunables_want_doorbells(struct gpreempt_node *gn, void *arg)
{
	return tunables_wakeup_wants(READ_ONCE(gn->tunables.tuned[GPREEMPT_TUNABLE_WAKEUP]),
				     *(const bool *)arg);
}

/**
 * gpreempt_tunables_wants_doorbells() - does any node want to be told of doorbell writes, or would
 * a new one?
 * @on: some node is scheduled: otherwise auto leaves programs alone
 *
 * Context: gpreempt_lifecycle and gpreempt_lock not held; may sleep.
 *
 * Return: true if one does
 */
bool gpreempt_tunables_wants_doorbells(bool on)
{
	return tunables_wakeup_wants(gpreempt_tunables_default(GPREEMPT_TUNABLE_WAKEUP), on) ||
	       gpreempt_node_find_locked(tunables_want_doorbells, &on);
}

/**
 * gpreempt_tunables_policy() - the policy that decides from the next pass on
 * @gn: the node
 *
 * Context: any.
 *
 * Return: the policy
 */
const struct gpreempt_policy_ops *gpreempt_tunables_policy(const struct gpreempt_node *gn)
{
	return gpreempt_policies[READ_ONCE(gn->tunables.tuned[GPREEMPT_TUNABLE_POLICY])];
}
