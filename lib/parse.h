/* SPDX-License-Identifier: MIT */
/*
 * parse.h - numbers, classes and shares as users write them
 *
 * For gpreemptctl, the integrations and the libraries for programs, which compile it; no part of
 * libgpreempt.
 */
#ifndef PARSE_H
#define PARSE_H

#include <stdbool.h>
#include <stddef.h>

#include "gpreempt.h"

/* Priorities of the classes. Far enough from normal that nice values do not reach them. */
#define CLASS_LATENCY	100
#define CLASS_BATCH	(-100)

/* What a share that does not name its weight has */
#define SHARE_WEIGHT	100

/* A sentence about what is wrong with a share */
#define PARSE_WHY	256

/* Words of a share, as bits */
enum {
	NAMED_WEIGHT	= 1 << 0,
	NAMED_MIN	= 1 << 1,
	NAMED_MAX	= 1 << 2,
};

/** parse_number() - a number from 0 to @max, in decimal or with 0x. Return: is it one? */
bool parse_number(const char *text, unsigned long long max, unsigned long long *value);

/**
 * parse_time() - a number with us, ms or s behind it, or without a unit
 * @text: the time
 * @unit_us: microseconds of the unit that it has without, and that it is wanted in
 * @max: the largest one, in this unit
 * @value: receives it, in this unit
 *
 * Return: is it one, and a whole number of the unit?
 */
bool parse_time(const char *text, unsigned int unit_us, unsigned long long max, unsigned long long *value);

/** parse_percent() - a number from 0 to @max, with % behind it or without. Return: is it one? */
bool parse_percent(const char *text, unsigned long long max, unsigned long long *value);

/** parse_priority() - "latency", "normal", "batch" or a number, within the ABI's bounds. Return: is it one? */
bool parse_priority(const char *text, int *priority);

/** parse_follow_stop() - "always", "never" or "node": a &enum gpreempt_follow_stop. Return: is it one? */
bool parse_follow_stop(const char *text, unsigned int *value);

/**
 * parse_share_word() - weight=N, min=PERCENT or max=PERCENT|QUOTA/PERIOD|none
 * @word: the word
 * @share: what it changes
 * @why: receives the value and the bound, if it is wrong; PARSE_WHY long
 *
 * Return: which of them it is, a bit; 0: it is wrong.
 */
unsigned int parse_share_word(const char *word, struct gpreempt_set_share *share, char *why);

/**
 * parse_is_possible() - can a group have both its least and its greatest part?
 * @share: the share
 * @why: receives what is wrong, if it cannot; PARSE_WHY long
 */
bool parse_is_possible(const struct gpreempt_set_share *share, char *why);

/**
 * parse_share() - such words, with blanks or commas between them
 * @text: the words
 * @share: receives the share, with the defaults for what is not named
 * @why: receives what is wrong; PARSE_WHY long
 *
 * Return: which are named, as bits; 0: something is wrong.
 */
unsigned int parse_share(const char *text, struct gpreempt_set_share *share, char *why);

#endif /* PARSE_H */
