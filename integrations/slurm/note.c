// SPDX-License-Identifier: MIT
/* note.c - see note.h */
#define _GNU_SOURCE
#include "note.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#define US	1000000

#define NOTE_KEY	"gpreempt"
/* More than anyone nests, so that all JSON is known as such */
#define NOTE_DEPTH	1024
#define NOTE_PLAIN	(JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)

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

/* All of a comment, as JSON; NULL: it is none. To be put. */
static json_object *note_parse(const char *comment)
{
	struct json_tokener *tok = comment ? json_tokener_new_ex(NOTE_DEPTH) : NULL;
	json_object *json;
	size_t length;

	if (!tok)
		return NULL;
	for (length = strlen(comment); length && strchr(" \t\r\n", comment[length - 1]); length--)
		;
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT);
	json = json_tokener_parse_ex(tok, comment, length);
	if (json && json_tokener_get_parse_end(tok) != length) {
		json_object_put(json);
		json = NULL;
	}
	json_tokener_free(tok);
	return json;
}

/* The same if it is an object */
static json_object *note_object(const char *comment)
{
	json_object *json = note_parse(comment);

	if (json_object_is_type(json, json_type_object))
		return json;
	json_object_put(json);
	return NULL;
}

/* A node's note; NULL: none. It is part of @json. */
static json_object *note_of(json_object *json, const char *node)
{
	json_object *ours = NULL, *its = NULL;

	if (json_object_object_get_ex(json, NOTE_KEY, &ours))
		json_object_object_get_ex(ours, node, &its);
	return its;
}

bool note_has_room(const char *comment)
{
	json_object *json = note_parse(comment), *ours;
	bool room = true;

	if (json_object_is_type(json, json_type_object))
		room = !json_object_object_get_ex(json, NOTE_KEY, &ours) ||
		       json_object_is_type(ours, json_type_object);
	else if (json_object_is_type(json, json_type_array) || json_object_is_type(json, json_type_string))
		room = false;
	json_object_put(json);
	return room;
}

/* More of a number "NAME": SECONDS */
static void note_add_number(json_object *its, const char *name, uint64_t us)
{
	double before = json_object_get_double(json_object_object_get(its, name));
	char text[32];

	if (before > 0 && before < (double)UINT64_MAX / US / 2)
		us += (uint64_t)(before * US + 0.5);
	snprintf(text, sizeof(text), "%" PRIu64 ".%06u", us / US, (unsigned int)(us % US));
	json_object_object_add(its, name, json_object_new_double_s((double)us / US, text));
}

/* Our key and what it has, as we write it; to be freed. NULL: there is none. */
static char *note_member(json_object *json)
{
	json_object *ours;
	char *text;

	if (!json_object_object_get_ex(json, NOTE_KEY, &ours))
		return NULL;
	if (asprintf(&text, "\"" NOTE_KEY "\":%s", json_object_to_json_string_ext(ours, NOTE_PLAIN)) < 0)
		return NULL;
	return text;
}

/*
 * A comment with this member, in which @before, if it is not NULL, was ours. Others' bytes stay:
 * parsing and printing would round numbers and lose keys that are there twice. Return: NULL:
 * another program has printed @before anew.
 */
static char *note_splice(const char *comment, const char *before, const char *member)
{
	const char *at = before ? strstr(comment, before) : strrchr(comment, '}'), *rest;
	const char *comma = "";
	char *text;

	if (!at)
		return NULL;
	if (!before) {
		while (strchr(" \t\r\n", at[-1]))
			at--;
		comma = at[-1] == '{' ? "" : ",";
	}
	rest = before ? at + strlen(before) : at;
	if (asprintf(&text, "%.*s%s%s%s", (int)(at - comment), comment, comma, member, rest) < 0)
		return NULL;
	return text;
}

static char *note_add_to_object(json_object *json, const char *comment, const char *node,
				const struct gpreempt_queue_usage *used)
{
	char *before = note_member(json), *member, *text = NULL;
	json_object *ours, *its = note_of(json, node);

	if (!json_object_object_get_ex(json, NOTE_KEY, &ours)) {
		ours = json_object_new_object();
		json_object_object_add(json, NOTE_KEY, ours);
	}
	if (!json_object_is_type(its, json_type_object)) {
		its = json_object_new_object();
		json_object_object_add(ours, node, its);
	}
	note_add_number(its, "busy", used->busy_ns / 1000);
	note_add_number(its, "waiting", used->waiting_ns / 1000);
	note_add_number(its, "preempted", used->preempted_ns / 1000);
	note_add_number(its, "waves", used->wave_us);
	member = note_member(json);
	if (member)
		text = note_splice(comment, before, member);
	if (!text)
		text = strdup(json_object_to_json_string_ext(json, NOTE_PLAIN));
	free(before);
	free(member);
	return text;
}

static char *note_add_word(const char *comment, const char *node,
			   const struct gpreempt_queue_usage *used)
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

char *note_add(const char *comment, const char *node, const struct gpreempt_queue_usage *used)
{
	json_object *json = note_object(comment);
	char *text;

	if (!json)
		return note_add_word(comment, node, used);
	text = note_add_to_object(json, comment, node, used);
	json_object_put(json);
	return text;
}

bool note_has(const char *comment, const char *node, const char *other)
{
	json_object *json = note_object(comment), *others = note_object(other);
	size_t length = 0, expected = 0;
	const char *word, *wanted;
	bool same;

	if (json || others) {
		same = note_of(json, node) && json_object_equal(note_of(json, node), note_of(others, node));
		json_object_put(json);
		json_object_put(others);
		return same;
	}
	word = find_word(comment, node, &length);
	wanted = find_word(other, node, &expected);
	return word && wanted && length == expected && !strncmp(word, wanted, length);
}
