/* SPDX-License-Identifier: MIT */
/* where.h - the cgroups of a job and of one of its steps on this node */
#ifndef GPREEMPT_WHERE_H
#define GPREEMPT_WHERE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * struct where - directories of cgroups of version 2
 * @job: of the job: all that it does here is below it
 * @step: of the step, below that
 * @own: both are ours: Slurm makes none
 */
struct where {
	char job[PATH_MAX];
	char step[PATH_MAX];
	bool own;
};

/**
 * where_find() - find the cgroups that a task is in
 * @pid: the task
 * @job: number of its job, as Slurm's API says
 * @step: number of its step
 * @move: a task that Slurm has left in slurmstepd's own cgroup moves into one of ours
 * @where: out: the directories
 *
 * No other is moved: it would lose the limits and devices of where it was put.
 *
 * Return: 0; -ENOENT: this node has no cgroups for the step; another negative errno.
 */
int where_find(pid_t pid, uint32_t job, uint32_t step, bool move, struct where *where);

/**
 * where_speaks() - is it this step that speaks for its job on this node?
 *
 * The first that calls this does; the job's cgroup has a mark, which goes with it.
 */
bool where_speaks(const struct where *where, uint32_t step);

/** where_is_spoken_for() - is there such a step? */
bool where_is_spoken_for(const struct where *where);

/** where_leave() - remove what where_find() has made. Return: false: a process is in it. */
bool where_leave(const struct where *where);

#endif
