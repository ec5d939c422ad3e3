/* SPDX-License-Identifier: MIT */
/*
 * note.h - what a job has used of GPUs, in a comment that others write to as well
 *
 * Each node has a word of its own, and others' words stay as they are:
 *
 *	gpreempt:NODE:busy=12.345678,waiting=0.100000,preempted=0.000000,waves=310.012000
 *
 * In a comment that is a JSON object it is a key of its own, and all else stays as it is, to the
 * byte, unless another program has printed our key anew:
 *
 *	{..., "gpreempt": {"NODE": {"busy": 12.345678, "waiting": 0.100000, ...}}}
 *
 * Numbers are seconds, waves those of a second.
 */
#ifndef GPREEMPT_NOTE_H
#define GPREEMPT_NOTE_H

#include <stdbool.h>

#include "gpreempt.h"

/**
 * note_has_room() - may something be added to a comment?
 *
 * Not to JSON that is no object, which would be JSON no more, nor where our key is another's.
 */
bool note_has_room(const char *comment);

/**
 * note_add() - add what was used to a comment
 * @comment: what it says, and it has room; may be NULL
 * @node: name of the node; without blanks and colons
 * @used: what is to be added
 *
 * Return: the comment to be, to be freed with free(); NULL: no memory.
 */
char *note_add(const char *comment, const char *node, const struct gpreempt_queue_usage *used);

/** note_has() - does a comment say of a node what another one says of it? */
bool note_has(const char *comment, const char *node, const char *other);

#endif
