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

/**
 * memory_give() - a line of the administrator's about cgroups of one class; of each value the first counts
 * @words: low=SIZE, max=SIZE
 * @fits: this cgroup is one of them
 *
 * Return: is the line good?
 */
bool memory_give(struct memory *memory, const char *words, bool fits);

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
