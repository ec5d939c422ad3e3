// SPDX-License-Identifier: MIT
/* note.c - see note.h */
#define _GNU_SOURCE
#include "note.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define US	1000000

/* The node's word in a comment, and its length; NULL: it has none. */
static const char *find_word(const char *comment, const char *node, size_t *length)
{
	size_t prefix;
	char *begin;

	if (asprintf(&begin, "gpreempt:%s:", node) < 0)
		return NULL;
	prefix = strlen(begin);
	while (comment && *comment) {
		comment += strspn(comment, " ");
		*length = strcspn(comment, " ");
		if (*length > prefix && !strncmp(comment, begin, prefix))
			break;
		comment += *length;
	}
	free(begin);
	return comment && *comment ? comment : NULL;
}

/* A number "NAME=SECONDS.MICROSECONDS" of a word; 0: it is none. */
static uint64_t number_us(const char *word, size_t length, const char *name)
{
	unsigned long long seconds, us;
	char *copy = strndup(word, length), *at = copy ? strstr(copy, name) : NULL;
	int before = 0, after = 0;
	uint64_t number = 0;

	if (at && sscanf(at + strlen(name), "=%llu.%n%llu%n", &seconds, &before, &us, &after) == 2 && after - before == 6 && seconds < UINT64_MAX / US / 2)
		number = seconds * US + us;
	free(copy);
	return number;
}

/* Return: @buffer. */
static const char *seconds_of(uint64_t us, char buffer[32])
{
	snprintf(buffer, 32, "%" PRIu64 ".%06u", us / US, (unsigned int)(us % US));
	return buffer;
}

char *note_add(const char *comment, const char *node, const struct gpreempt_queue_usage *used)
{
	uint64_t busy = used->busy_ns / 1000, waiting = used->waiting_ns / 1000, preempted = used->preempted_ns / 1000, waves = used->wave_us;
	const char *word, *rest = "";
	char numbers[4][32], *text;
	size_t length = 0;
	int before;

	comment = comment ? comment : "";
	before = strlen(comment);
	word = find_word(comment, node, &length);
	if (word) {
		busy += number_us(word, length, ":busy");
		waiting += number_us(word, length, ",waiting");
		preempted += number_us(word, length, ",preempted");
		waves += number_us(word, length, ",waves");
		before = word - comment;
		rest = word + length;
	}
	if (asprintf(&text, "%.*s%sgpreempt:%s:busy=%s,waiting=%s,preempted=%s,waves=%s%s", before, comment, !word && before ? " " : "", node,
		     seconds_of(busy, numbers[0]), seconds_of(waiting, numbers[1]), seconds_of(preempted, numbers[2]), seconds_of(waves, numbers[3]), rest) < 0)
		return NULL;
	return text;
}

bool note_has(const char *comment, const char *node, const char *other)
{
	size_t length = 0, expected = 0;
	const char *word = find_word(comment, node, &length), *wanted = find_word(other, node, &expected);

	return word && wanted && length == expected && !strncmp(word, wanted, length);
}
