/* SPDX-License-Identifier: MIT */
/*
 * stop.h - where a cgroup's queues are while its processes are stopped: what its owner asks for, and what the administrator says
 */
#ifndef GPREEMPT_STOP_H
#define GPREEMPT_STOP_H

#include <stdbool.h>

#include "parse.h"

#define STOP_WHY	256

/**
 * struct stop - what is to become of a cgroup's stops
 * @is_asked: its owner asks for @asked
 * @asked: &enum gpreempt_follow_stop
 * @given: what the administrator says, the same; GPREEMPT_FOLLOW_STOP_NODE: nothing
 */
struct stop {
	bool is_asked;
	unsigned int asked;
	unsigned int given;
};

/** stop_ask() - its owner asks for always, never or node. Return: false: @text is none of them. */
bool stop_ask(struct stop *stop, const char *text);

/** stop_is_for() - is there anything to be set? */
bool stop_is_for(const struct stop *stop);

/**
 * stop_check() - may its owner have what it asks for?
 * @why: what is wrong, and what is in force; STOP_WHY long
 *
 * Return: 0, or -ERANGE: it may not.
 */
int stop_check(const struct stop *stop, char *why);

/**
 * stop_set() - let the cgroup at @directory have it
 * @directory: NULL: there are no cgroups of version 2
 * @why: what is wrong, and what is in force; STOP_WHY long
 *
 * Who leaves the device while it is stopped takes nothing from others. Who stays where the administrator says otherwise does.
 *
 * Return: 0, also if there is nothing to be set; -ERANGE: it asks for what it may not; -EOPNOTSUPP: there are no such cgroups; -ENOENT: there is
 * no module; -EINVAL: the module is older; else as gpreempt_set_param()
 */
int stop_set(const char *directory, const struct stop *stop, char *why);

/** stop_matters() - is an error of stop_set() one for the owner? What was not asked for does not keep a program from starting. */
bool stop_matters(const struct stop *stop, int error);

#endif
