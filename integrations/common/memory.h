/* SPDX-License-Identifier: MIT */
/*
 * memory.h - memory of GPUs for a cgroup: what its owner asks for, and what the administrator allows
 */
#ifndef GPREEMPT_MEMORY_H
#define GPREEMPT_MEMORY_H

#include "dmem.h"

/**
 * struct memory - what is to become of a cgroup's memory
 * @asked: by its owner
 * @given: by the administrator: what it gets unless it asks, and the most that it may ask for; what is absent is no bound
 */
struct memory {
	struct dmem_wish asked;
	struct dmem_wish given;
};

/** memory_is_for() - does a setting of the administrator's for @class concern a cgroup of this priority? "any" concerns all. */
bool memory_is_for(const char *class, int priority);

/** memory_is_class() - is it latency, normal, batch, a priority or any? */
bool memory_is_class(const char *class);

/**
 * memory_set() - let the cgroup at @directory have it
 * @directory: NULL: there are no cgroups of version 2
 * @why: what is wrong, DMEM_WHY long
 *
 * Return: 0; -ERANGE: it asks for more than it may; else as dmem_set()
 */
int memory_set(const char *directory, const struct memory *memory, char *why);

/** memory_matters() - is an error of memory_set() one for the owner? What was not asked for does not keep a program from starting. */
bool memory_matters(const struct memory *memory, int error);

#endif
