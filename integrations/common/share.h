/* SPDX-License-Identifier: MIT */
/*
 * share.h - device time for a cgroup: what its owner asks for, and what the administrator allows
 */
#ifndef GPREEMPT_SHARE_H
#define GPREEMPT_SHARE_H

#include <stdbool.h>

#include "parse.h"

#define SHARE_WHY	512

/**
 * struct share_wish - a share, or a part of one
 * @named: bits of what is named: NAMED_WEIGHT, NAMED_MIN, NAMED_MAX; nothing else of @of counts
 * @of: the numbers
 */
struct share_wish {
	unsigned int named;
	struct gpreempt_set_share of;
};

/**
 * struct share - what is to become of a cgroup's share
 * @asked: by its owner
 * @given: by the administrator: what it gets unless it asks, and the most that it may ask for; what is not named is no bound
 */
struct share {
	struct share_wish asked;
	struct share_wish given;
};

/** share_is_asked_for() - does its owner ask for any of it? */
bool share_is_asked_for(const struct share *share);

/**
 * share_ask() - its owner asks for one of weight, min and max
 * @name: which
 * @value: as behind the = of gpreemptctl share set
 * @why: what is wrong with it, PARSE_WHY long
 *
 * Return: false: something is.
 */
bool share_ask(struct share *share, const char *name, const char *value, char *why);

/**
 * share_give() - a line of the administrator's about cgroups of one class; of each value the first counts
 * @words: weight=N, min=PERCENT, max=PERCENT
 * @fits: this cgroup is one of them
 * @why: what is wrong with it, PARSE_WHY long
 *
 * Return: false: something is.
 */
bool share_give(struct share *share, const char *words, bool fits, char *why);

/**
 * share_check() - may its owner have what it asks for?
 * @why: what is wrong: the value, the bound and what is in force; SHARE_WHY long
 *
 * Return: 0, or -ERANGE: it asks for more than it may.
 */
int share_check(const struct share *share, char *why);

/**
 * share_set() - let the cgroup at @directory have it
 * @directory: NULL: there are no cgroups of version 2
 * @why: what is wrong: the value, the bound and what is in force; SHARE_WHY long
 *
 * Return: 0, also if there is nothing to be set; -ERANGE: it asks for more than it may; -EOPNOTSUPP: there are no such cgroups; -ENOENT: there is
 * no module; else as gpreempt_set_share()
 */
int share_set(const char *directory, const struct share *share, char *why);

/** share_matters() - is an error of share_set() one for the owner? What was not asked for does not keep a program from starting. */
bool share_matters(const struct share *share, int error);

#endif
