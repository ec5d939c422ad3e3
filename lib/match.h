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

/** Room for what match_cgroup_never() says */
#define MATCH_WHY	512

/**
 * match_cgroup() - is a process in a cgroup, or below it?
 * @text: its /proc/PID/cgroup: lines NUMBER:CONTROLLERS:PATH
 * @name: the cgroup's directory, or a pattern of it, as within a hierarchy or with /sys/fs/cgroup and
 *	the hierarchy's name
 */
bool match_cgroup(const char *text, const char *name);

/**
 * match_path() - is a path this one, or of this pattern?
 * @pattern: `*`, `?` and `[...]` stand for what is between two slashes
 * @path: the path
 */
bool match_path(const char *pattern, const char *path);

/** match_is_pattern() - has a name, or path, `*`, `?` or `[` in it? */
bool match_is_pattern(const char *name);

/**
 * match_cgroup_never() - is this name, or pattern, one that no cgroup can ever have?
 * @name: as of match_cgroup()
 * @why: receives the reason, and what to write instead; %MATCH_WHY bytes
 *
 * Return: true if it can never fit. false says nothing about whether it fits now.
 */
bool match_cgroup_never(const char *name, char *why);

/** match_trim() - cut white space off both ends. Return: where the text begins */
char *match_trim(char *text);

#endif /* MATCH_H */
