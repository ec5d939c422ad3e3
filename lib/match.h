/* SPDX-License-Identifier: MIT */
/*
 * match.h - users and cgroups that configuration files name, and the processes that fit them
 *
 * For gpreemptctl and gpreemptd, which compile it; no part of libgpreempt.
 */
#ifndef MATCH_H
#define MATCH_H

#include <stdbool.h>
#include <sys/types.h>

/** match_user() - a user by name or number. Return: is there such a name, or is it a number? */
bool match_user(const char *name, uid_t *uid);

/**
 * match_cgroup() - is a process in a cgroup, or below it?
 * @text: its /proc/PID/cgroup: lines NUMBER:CONTROLLERS:PATH
 * @name: the cgroup's directory, as within a hierarchy or with /sys/fs/cgroup and the hierarchy's name
 */
bool match_cgroup(const char *text, const char *name);

/** match_trim() - cut white space off both ends. Return: where the text begins */
char *match_trim(char *text);

#endif /* MATCH_H */
