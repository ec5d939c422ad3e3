// SPDX-License-Identifier: MIT
/* stop.c - see stop.h */
#define _GNU_SOURCE
#include "stop.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define IN_FORCE	"; what the GPU's node says is in force"

static const char *const words[] = {
	[GPREEMPT_FOLLOW_STOP_NODE] = "node",
	[GPREEMPT_FOLLOW_STOP_ALWAYS] = "always",
	[GPREEMPT_FOLLOW_STOP_NEVER] = "never",
};

bool stop_ask(struct stop *stop, const char *text)
{
	stop->is_asked = parse_follow_stop(text, &stop->asked);
	return stop->is_asked;
}

bool stop_is_for(const struct stop *stop)
{
	return stop->is_asked || stop->given != GPREEMPT_FOLLOW_STOP_NODE;
}

int stop_check(const struct stop *stop, char *why)
{
	if (!stop->is_asked || stop->asked == GPREEMPT_FOLLOW_STOP_ALWAYS ||
	    stop->asked == stop->given || stop->given == GPREEMPT_FOLLOW_STOP_NEVER)
		return 0;
	snprintf(why, STOP_WHY, "%s is not what the administrator allows, which is always%s" IN_FORCE,
		 words[stop->asked], stop->given == GPREEMPT_FOLLOW_STOP_ALWAYS ? "" : " or node");
	return -ERANGE;
}

static const char *reason(int error)
{
	switch (error) {
	case -ENOENT:
		return "there is no amdgpu with kfd_gpreempt";
	case -EINVAL:
		return "the module knows this of no single cgroup";
	}
	return strerror(-error);
}

static int set(const char *directory, unsigned int value, char *why)
{
	int error, fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct gpreempt_target target;
	struct gpreempt *g;

	if (fd < 0) {
		error = -errno;
		snprintf(why, STOP_WHY, "%.128s: %s" IN_FORCE, directory, strerror(-error));
		/* -ENOENT is for the module. */
		return error == -ENOENT ? -ESRCH : error;
	}
	target = gpreempt_target_cgroup(fd);
	error = gpreempt_open(&g);
	if (!error) {
		error = gpreempt_set_param(g, &target, GPREEMPT_PARAM_FOLLOW_STOP, value);
		gpreempt_close(g);
	}
	close(fd);
	if (error)
		snprintf(why, STOP_WHY, "%s" IN_FORCE, reason(error));
	return error;
}

int stop_set(const char *directory, const struct stop *stop, char *why)
{
	if (!stop_is_for(stop))
		return 0;
	if (stop_check(stop, why))
		return -ERANGE;
	if (!directory) {
		snprintf(why, STOP_WHY, "this is set for cgroups of version 2, which this machine has not" IN_FORCE);
		return -EOPNOTSUPP;
	}
	return set(directory, stop->is_asked ? stop->asked : stop->given, why);
}

bool stop_matters(const struct stop *stop, int error)
{
	return error && (stop->is_asked || (error != -EOPNOTSUPP && error != -ENOENT && error != -EINVAL));
}
