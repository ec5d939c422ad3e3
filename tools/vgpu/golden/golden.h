/* SPDX-License-Identifier: MIT */
/*
 * golden.h - reads a table of what a real device has shown (mi308x.table, yardstick.table), for tests
 * in user space
 *
 * A line is a key, words, and numbers. golden_find() has the numbers behind a key and words; lines of
 * registers are looked at one by one (golden_register()).
 */
#ifndef GOLDEN_H
#define GOLDEN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN_LINES	256
#define GOLDEN_WORDS	6
#define GOLDEN_BYTES	32

/**
 * struct golden - a table
 * @word: words of each line
 * @words: how many
 * @lines: how many lines have any
 * @number: of each line in the file
 */
struct golden {
	char word[GOLDEN_LINES][GOLDEN_WORDS][GOLDEN_BYTES];
	unsigned int words[GOLDEN_LINES];
	unsigned int number[GOLDEN_LINES];
	unsigned int lines;
};

/**
 * struct golden_register - what a register is to be
 * @key: where
 * @first: on the first XCC
 * @others: on the others
 * @name: its name
 * @index: dword in an MQD; the slot's registers are there from 0x80 on
 * @value: what
 * @mask: bits of it
 */
struct golden_register {
	const char *key;
	bool first;
	bool others;
	const char *name;
	unsigned int index;
	uint32_t value;
	uint32_t mask;
};

#define GOLDEN_HQD	0x80u	/* dwords of an MQD in front of the copy of the slot's registers */
#define GOLDEN_HQD_REGS	56u

static const struct {
	const char *name;
	unsigned int index;
} golden_names[] = {
	{ "compute_current_logic_xcc_id", 0x27 },
	{ "cp_mqd_connect_start_time_lo", 0x58 },
	{ "cp_mqd_connect_end_time_lo", 0x5a },
	{ "cp_mqd_save_start_time_lo", 0x62 },
	{ "cp_mqd_save_end_time_lo", 0x64 },
	{ "cp_mqd_restore_start_time_lo", 0x66 },
	{ "cp_mqd_restore_end_time_lo", 0x68 },
	{ "cp_mqd_base_addr_lo", 0x80 },
	{ "cp_mqd_base_addr_hi", 0x81 },
	{ "cp_hqd_active", 0x82 },
	{ "cp_hqd_vmid", 0x83 },
	{ "cp_hqd_persistent_state", 0x84 },
	{ "cp_hqd_pipe_priority", 0x85 },
	{ "cp_hqd_queue_priority", 0x86 },
	{ "cp_hqd_quantum", 0x87 },
	{ "cp_hqd_pq_rptr", 0x8a },
	{ "cp_hqd_pq_doorbell_control", 0x8f },
	{ "cp_hqd_pq_control", 0x91 },
	{ "cp_hqd_ib_control", 0x95 },
	{ "cp_hqd_atomic0_preop_lo", 0x9c },
	{ "cp_hqd_hq_status0", 0xa0 },
	{ "cp_hqd_hq_control0", 0xa1 },
	{ "cp_hqd_eop_base_addr_lo", 0xa5 },
	{ "cp_hqd_eop_base_addr_hi", 0xa6 },
	{ "cp_hqd_eop_control", 0xa7 },
	{ "cp_hqd_eop_rptr", 0xa8 },
	{ "cp_hqd_eop_wptr", 0xa9 },
	{ "cp_hqd_ctx_save_base_addr_lo", 0xab },
	{ "cp_hqd_ctx_save_base_addr_hi", 0xac },
	{ "cp_hqd_cntl_stack_offset", 0xae },
	{ "cp_hqd_cntl_stack_size", 0xaf },
	{ "cp_hqd_wg_state_offset", 0xb0 },
	{ "cp_hqd_ctx_save_size", 0xb1 },
	{ "cp_hqd_aql_control", 0xb5 },
	{ "cp_hqd_pq_wptr_lo", 0xb6 },
	{ "cp_hqd_pq_wptr_hi", 0xb7 },
	{ "cp_mqd_stride_size", 0xe2 },
};

/* Return: its dword in an MQD, 0: there is no such name */
static inline unsigned int golden_index(const char *name)
{
	unsigned int i;

	for (i = 0; i < sizeof(golden_names) / sizeof(golden_names[0]); i++)
		if (!strcmp(golden_names[i].name, name))
			return golden_names[i].index;
	return 0;
}

/* Return: false if @path is no table; the reason is on stderr */
static inline bool golden_read(const char *path, struct golden *g)
{
	FILE *f = fopen(path, "r");
	unsigned int number = 0;
	char line[256], *at;

	memset(g, 0, sizeof(*g));
	if (!f) {
		perror(path);
		return false;
	}
	while (fgets(line, sizeof(line), f)) {
		number++;
		line[strcspn(line, "#\n")] = 0;
		for (at = strtok(line, " \t"); at; at = strtok(NULL, " \t")) {
			if (g->lines == GOLDEN_LINES || g->words[g->lines] == GOLDEN_WORDS || strlen(at) >= GOLDEN_BYTES) {
				fprintf(stderr, "%s:%u: too long: %s\n", path, number, at);
				fclose(f);
				return false;
			}
			strcpy(g->word[g->lines][g->words[g->lines]++], at);
		}
		if (g->words[g->lines])
			g->number[g->lines++] = number;
	}
	fclose(f);
	return g->lines != 0;
}

static inline uint32_t golden_number(const struct golden *g, unsigned int line, unsigned int word)
{
	return word < g->words[line] ? (uint32_t)strtoul(g->word[line][word], NULL, 0) : 0;
}

/**
 * golden_find() - a line that is not about registers
 * @g: the table
 * @key: its first word
 * @second: its second word
 *
 * Return: -1 if there is none, its index otherwise
 */
static inline int golden_find(const struct golden *g, const char *key, const char *second)
{
	unsigned int i;

	for (i = 0; i < g->lines; i++)
		if (!strcmp(g->word[i][0], key) && !strcmp(g->word[i][1], second))
			return (int)i;
	return -1;
}

/**
 * golden_register() - the next register that the table has something to say of
 * @g: the table
 * @key: about what
 * @line: where to look first; out: where to go on
 * @r: out: what it says
 *
 * Return: false if there is no more; a line that makes no sense has no name
 */
static inline bool golden_register(const struct golden *g, const char *key, unsigned int *line, struct golden_register *r)
{
	for (; *line < g->lines; ++*line) {
		unsigned int i = *line;

		if (strcmp(g->word[i][0], key))
			continue;
		*r = (struct golden_register) {
			.key = key,
			.first = g->word[i][1][0] != '+',
			.others = g->word[i][1][0] != '0',
			.name = g->words[i] >= 4 && golden_index(g->word[i][2]) ? g->word[i][2] : NULL,
			.index = golden_index(g->word[i][2]),
			.value = golden_number(g, i, 3),
			.mask = g->words[i] > 4 ? golden_number(g, i, 4) : ~0u,
		};
		++*line;
		return true;
	}
	return false;
}

/* Is a register what the table says it is on an XCC, or does it say nothing of that? */
static inline bool golden_matches(const struct golden_register *r, unsigned int xcc, uint32_t value)
{
	return !(xcc ? r->others : r->first) || !((value ^ r->value) & r->mask);
}

/* The same; it says so on stderr if not. */
static inline bool golden_holds(const struct golden_register *r, unsigned int xcc, uint32_t value)
{
	if (golden_matches(r, xcc, value))
		return true;
	fprintf(stderr, "# %s on XCC %u: %s is %#x, the device has shown %#x of %#x\n", r->key, xcc, r->name, value, r->value, r->mask);
	return false;
}

#endif /* GOLDEN_H */
