/* SPDX-License-Identifier: MIT */
/*
 * place.h - giving a process's cgroup its place on the GPU: what the integrations into cluster managers share
 *
 * Nothing here is thread-safe or keeps anything open. Errors are negative errno values.
 */
#ifndef GPREEMPT_PLACE_H
#define GPREEMPT_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/** struct place_bounds - what an administrator allows; @floor and @ceiling are logical priorities and allowed themselves */
struct place_bounds {
	int floor;
	int ceiling;
};

/**
 * enum place_job - what processes of one cgroup are to each other
 * @PLACE_JOB_NONE: nothing
 * @PLACE_JOB_LEAVE: a job, which leaves all nodes when it is off one
 * @PLACE_JOB_STAY: a job, which stays on the others
 */
enum place_job { PLACE_JOB_NONE, PLACE_JOB_LEAVE, PLACE_JOB_STAY };

/** place_is_class() - is it latency, normal, batch, a priority, or "any", which all are of? */
bool place_is_class(const char *class);

/** place_is_of() - does what an administrator says of @class concern a cgroup of this priority? */
bool place_is_of(int priority, const char *class);

/** place_parse_job() - "leave", "stay" (as in gpreempt.conf(5)) or "none". Return: is it one? */
bool place_parse_job(const char *text, enum place_job *job);

/** place_parse_bounds() - "FLOOR..CEILING", either as for parse_priority(). Return: is it that, in this order? */
bool place_parse_bounds(const char *text, struct place_bounds *bounds);

/** place_narrow() - what two administrators' bounds both allow; if that is nothing, the lower of the ceilings alone */
struct place_bounds place_narrow(struct place_bounds a, struct place_bounds b);

/** place_clamp() - the allowed priority that is nearest to @priority */
int place_clamp(struct place_bounds bounds, int priority);

/** place_cgroup_root() - where the cgroup v2 file system is mounted. Return: 0, -ENOENT, -ENAMETOOLONG. */
int place_cgroup_root(char *path, size_t size);

/** place_cgroup_of() - the cgroup v2 of process @pid, as it stands in /proc/PID/cgroup. Return: 0, -ENOENT, -ESRCH, -ENAMETOOLONG. */
int place_cgroup_of(pid_t pid, char *path, size_t size);

/** place_available() - is there a scheduler to speak to? Return: 0, -ENOENT (no); as gpreempt_open(). */
int place_available(void);

/** place_set() - give the cgroup whose folder is @directory, and all below it, a logical priority. Return: 0; as gpreempt_set_priority(). */
int place_set(const char *directory, int priority);

/**
 * place_set_tree() - give process @pid, and all below it from their first queue on, a logical priority. Return: 0; as
 * gpreempt_set_tree_priority().
 */
int place_set_tree(pid_t pid, int priority);

/**
 * place_set_job() - make a job of the cgroup at @directory and of all below it. The job has the id of the cgroup. Nothing is done for
 * PLACE_JOB_NONE. Return: 0; as gpreempt_set_job().
 */
int place_set_job(const char *directory, enum place_job job);

/**
 * place_set_tree_job() - put process @pid, and all below it from their first queue on, into the job of this number, of PLACE_NUMBERS at
 * most, which no cgroup's is. Nothing is done for PLACE_JOB_NONE. Return: 0; as gpreempt_set_job().
 */
int place_set_tree_job(pid_t pid, uint64_t number, enum place_job job);
#define PLACE_NUMBERS	(1ULL << 63)

#endif
