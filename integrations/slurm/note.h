/* SPDX-License-Identifier: MIT */
/*
 * note.h - what a job has used of GPUs, as words of a comment
 *
 * Each node has a word of its own, and others' words stay as they are:
 *
 *	gpreempt:NODE:busy=12.345678,waiting=0.100000,preempted=0.000000,waves=310.012000
 *
 * Numbers are seconds, waves those of a second.
 */
#ifndef GPREEMPT_NOTE_H
#define GPREEMPT_NOTE_H

#include <stdbool.h>

#include "gpreempt.h"

/**
 * note_add() - add what was used to a comment
 * @comment: what it says; may be NULL
 * @node: name of the node; without blanks and colons
 * @used: what is to be added
 *
 * Return: the comment to be, to be freed with free(); NULL: no memory.
 */
char *note_add(const char *comment, const char *node, const struct gpreempt_queue_usage *used);

/** note_has() - does a comment say of a node what another one says of it? */
bool note_has(const char *comment, const char *node, const char *other);

#endif
