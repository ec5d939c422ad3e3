// SPDX-License-Identifier: MIT
/*
 * gpreempt-oci.c - OCI hook: gives a container's cgroup its place on the GPU, by its annotations
 *
 * Called by the container runtime (crun, runc) with the container's state on stdin, at createRuntime or later: the process is in its cgroup
 * then, and has not started the user's program. Without cgroup v2 the process gets the priority, and what is below it inherits it: it is the
 * container's init. Annotations, the first that is there counts:
 *
 *   kfd-gpreempt/priority         latency, normal, batch or a number
 *   kfd-gpreempt/priority-class   name of a PriorityClass, which the configuration maps
 *
 * Else the kubelet's QoS class by the cgroup's path, if the configuration maps it. Nothing of all this: no priority is set. Beside that,
 *
 *   kfd-gpreempt/job              leave, stay or none: are the container's processes a job?
 *
 * or else the configuration's line job, and
 *
 *   kfd-gpreempt/share-weight, -min, -max
 *                                 its part of the GPUs' time: 300; so much at least: 20; so much at most: 30, 5000/50000, none
 *
 * or else the configuration's lines share, which bound the annotations as well, and
 *
 *   kfd-gpreempt/follow-stop      always, never or node: does the container leave the GPUs while it is stopped or frozen?
 *
 * or else the configuration's line follow_stop.
 *
 * Usage: gpreempt-oci [--config FILE] (default /etc/gpreempt-oci.conf), with lines: bounds FLOOR..CEILING; class NAME = PRIORITY; qos
 * guaranteed|burstable|besteffort = PRIORITY; job leave|stay|none; share CLASS = weight=N min=PERCENT max=PERCENT;
 * follow_stop always|never|node.
 *
 * What an annotation asks for and cannot be had is refused: the container is not started, the reason
 * is on stderr. All else starts: what only the configuration wants, or what is wrong in it, is told on
 * stderr and no more. It is the administrator's, and not the container's.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <json-c/json.h>

#include "gpreempt.h"
#include "parse.h"
#include "place.h"
#include "share.h"
#include "stop.h"

#define ME		"gpreempt-oci: "
#define UNIFIED		"/sys/fs/cgroup"
#define ANNOTATIONS	"kfd-gpreempt/"

/**
 * struct wish - what a container is to have
 * @priority: that
 * @from: where it comes from, for messages; "" is nowhere, and no priority is set
 * @asks_for_priority: its annotations say that, not the kubelet's QoS class
 * @job: what its processes are to each other
 * @asks_for_job: its annotations say that, not the configuration
 * @share: what it is to have of the GPUs' time
 * @stop: where its queues are while it is stopped
 */
struct wish {
	int priority;
	char from[256];
	bool asks_for_priority;
	enum place_job job;
	bool asks_for_job;
	struct share share;
	struct stop stop;
};

/* Return: NULL: there is none, or it cannot be read, which has been said: not *@fine */
static FILE *oci_open(const char *config, bool *fine)
{
	static bool said;
	FILE *f = fopen(config, "re");

	*fine = f || errno == ENOENT;
	if (!*fine && !said)
		fprintf(stderr, ME "%s: %m\n", config);
	said |= !*fine;
	return f;
}

/* The configuration's line "WORD NAME = PRIORITY". Return: 0 found, 1 not there, -1 wrong, which has been said. */
static int look_up(const char *config, const char *word, const char *name, int *priority)
{
	char line[1024], first[64], second[256], third[64];
	int status = 1, number = 0;
	bool fine;
	FILE *f = oci_open(config, &fine);

	if (!f)
		return fine ? 1 : -1;
	while (status == 1 && fgets(line, sizeof(line), f)) {
		number++;
		line[strcspn(line, "#\n")] = '\0';
		if (sscanf(line, "%63s", first) != 1 || strcmp(first, word))
			continue;
		if (sscanf(line, "%*s %255s = %63s", second, third) != 2 || !parse_priority(third, priority)) {
			fprintf(stderr, ME "%s:%d: not %s NAME = PRIORITY\n", config, number, word);
			status = -1;
		} else if (!strcmp(second, name)) {
			status = 0;
		}
	}
	fclose(f);
	return status;
}

static bool parse_bounds(const char *text, void *bounds)
{
	return place_parse_bounds(text, bounds);
}

static bool parse_job(const char *text, void *job)
{
	return place_parse_job(text, job);
}

static bool parse_stop(const char *text, void *value)
{
	return parse_follow_stop(text, value);
}

/* Its line "WORD VALUE"; @good: what such lines look like. Return: false if it is wrong, which has been said. */
static bool setting_of(const char *config, const char *word, bool (*parse)(const char *text, void *setting), void *setting, const char *good)
{
	size_t length = strlen(word);
	char line[1024], value[64];
	bool fine;
	int number = 0;
	FILE *f = oci_open(config, &fine);

	if (!f)
		return fine;
	while (fine && fgets(line, sizeof(line), f)) {
		number++;
		if (!strncmp(line, word, length) && sscanf(line + length, "%63s", value) == 1 && !parse(value, setting)) {
			fprintf(stderr, ME "%s:%d: not %s\n", config, number, good);
			fine = false;
		}
	}
	fclose(f);
	return fine;
}

/* What a line says of the class that the container is of, if it @fits. Return: NULL, or what such lines look like, and @why may say more. */
static const char *give_share(struct wish *wish, const char *words, bool fits, char *why)
{
	return share_give(&wish->share, words, fits, why) ? NULL : "share CLASS = weight=N min=PERCENT max=PERCENT";
}

/* Its lines "WORD CLASS = WORDS". Return: false if one is wrong, which has been said. */
static bool give_by_class(const char *config, const char *word, struct wish *wish,
			  const char *(*give)(struct wish *wish, const char *words, bool fits, char *why))
{
	int priority = wish->from[0] ? wish->priority : GPREEMPT_PRIORITY_NORMAL, number = 0;
	char line[1024], class[64], words[128], why[PARSE_WHY];
	const char *good = NULL;
	bool fine;
	FILE *f = oci_open(config, &fine);

	if (!f)
		return fine;
	while (!good && fgets(line, sizeof(line), f)) {
		number++;
		line[strcspn(line, "#\n")] = '\0';
		if (sscanf(line, "%63s", class) != 1 || strcmp(class, word))
			continue;
		/* Without words the line is none that anything can be given by. */
		class[0] = words[0] = '\0';
		if (sscanf(line, "%*s %63s = %127[^\n]", class, words) != 2 || !place_is_class(class))
			words[0] = '\0';
		good = give(wish, words, place_is_of(priority, class), why);
		if (good)
			fprintf(stderr, ME "%s:%d: not %s%s%s\n", config, number, good, words[0] && why[0] ? ": " : "", words[0] ? why : "");
	}
	fclose(f);
	return !good;
}

static bool bounds_of(const char *config, struct place_bounds *bounds)
{
	*bounds = (struct place_bounds){ GPREEMPT_PRIORITY_MIN, GPREEMPT_PRIORITY_MAX };
	return setting_of(config, "bounds", parse_bounds, bounds, "bounds FLOOR..CEILING");
}

static bool job_of(const char *config, enum place_job *job)
{
	*job = PLACE_JOB_NONE;
	return setting_of(config, "job", parse_job, job, "job leave, job stay or job none");
}

/* Is there an annotation of ours? */
static bool oci_asks(json_object *state)
{
	json_object *all;

	if (!json_object_object_get_ex(state, "annotations", &all) ||
	    !json_object_is_type(all, json_type_object))
		return false;
	json_object_object_foreach(all, name, value) {
		(void)value;
		if (!strncmp(name, ANNOTATIONS, strlen(ANNOTATIONS)))
			return true;
	}
	return false;
}

static const char *annotation(json_object *state, const char *name)
{
	json_object *all, *one;

	if (!json_object_object_get_ex(state, "annotations", &all) || !json_object_object_get_ex(all, name, &one))
		return NULL;
	return json_object_get_string(one);
}

/* Names of kubelet's cgroups; guaranteed pods have no folder of their own. */
static const char *qos_of(const char *cgroup)
{
	if (!strstr(cgroup, "kubepods"))
		return NULL;
	if (strstr(cgroup, "besteffort"))
		return "besteffort";
	return strstr(cgroup, "burstable") ? "burstable" : "guaranteed";
}

/* Return: 0, or -1: it is refused, and the reason was said. */
static int job_wish_of(json_object *state, const char *config, struct wish *wish)
{
	const char *text = annotation(state, "kfd-gpreempt/job");

	wish->asks_for_job = text;
	if (!text) {
		job_of(config, &wish->job);
		return 0;
	}
	if (place_parse_job(text, &wish->job))
		return 0;
	fprintf(stderr, ME "annotation kfd-gpreempt/job: %s is not leave, stay or none\n", text);
	return -1;
}

/* Return: as job_wish_of(). */
static int priority_wish_of(json_object *state, const char *config, const char *cgroup, struct wish *wish)
{
	const char *text;
	int status = 1;

	wish->from[0] = '\0';
	text = annotation(state, "kfd-gpreempt/priority");
	wish->asks_for_priority = text;
	if (text) {
		if (!parse_priority(text, &wish->priority)) {
			fprintf(stderr, ME "annotation kfd-gpreempt/priority: %s is not latency, normal, batch or a number from %d to %d\n", text,
				GPREEMPT_PRIORITY_MIN, GPREEMPT_PRIORITY_MAX);
			return -1;
		}
		snprintf(wish->from, sizeof(wish->from), "annotation kfd-gpreempt/priority");
		return 0;
	}
	text = annotation(state, "kfd-gpreempt/priority-class");
	if (text) {
		status = look_up(config, "class", text, &wish->priority);
		if (!status)
			snprintf(wish->from, sizeof(wish->from), "PriorityClass %s", text);
		wish->asks_for_priority = status != 1;
		if (status < 0)
			return -1;
	}
	text = qos_of(cgroup);
	if (status == 1 && text) {
		status = look_up(config, "qos", text, &wish->priority);
		if (!status)
			snprintf(wish->from, sizeof(wish->from), "QoS class %s", text);
	}
	return 0;
}

/* Return: as job_wish_of(). */
static int share_wish_of(json_object *state, const char *config, struct wish *wish)
{
	static const char *const names[] = { "weight", "min", "max" };
	char name[64], why[PARSE_WHY];
	const char *text;
	size_t i;

	memset(&wish->share, 0, sizeof(wish->share));
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(name, sizeof(name), "kfd-gpreempt/share-%s", names[i]);
		text = annotation(state, name);
		if (text && !share_ask(&wish->share, names[i], text, why)) {
			fprintf(stderr, ME "annotation %s: %s\n", name, why);
			return -1;
		}
	}
	/* What a line that is wrong was to allow is not known. */
	if (give_by_class(config, "share", wish, give_share))
		return 0;
	return share_is_asked_for(&wish->share) ? -1 : 0;
}

/* Return: as job_wish_of(). */
static int stop_wish_of(json_object *state, const char *config, struct wish *wish)
{
	const char *text = annotation(state, "kfd-gpreempt/follow-stop");

	memset(&wish->stop, 0, sizeof(wish->stop));
	if (text && !stop_ask(&wish->stop, text)) {
		fprintf(stderr, ME "annotation kfd-gpreempt/follow-stop: %s is not always, never or node\n", text);
		return -1;
	}
	if (setting_of(config, "follow_stop", parse_stop, &wish->stop.given,
		       "follow_stop always, follow_stop never or follow_stop node"))
		return 0;
	return wish->stop.is_asked ? -1 : 0;
}

/* A QoS class is moved into the bounds. Return: as job_wish_of(). */
static int oci_bound_wish(const char *config, struct wish *wish)
{
	struct place_bounds bounds;
	bool known;

	if (!wish->from[0])
		return 0;
	known = bounds_of(config, &bounds);
	if (known && wish->priority == place_clamp(bounds, wish->priority))
		return 0;
	if (known)
		fprintf(stderr, ME "%s: %d is beyond the bounds of %s: %d to %d\n", wish->from,
			wish->priority, config, bounds.floor, bounds.ceiling);
	if (wish->asks_for_priority)
		return -1;
	wish->priority = place_clamp(bounds, wish->priority);
	if (!known)
		wish->from[0] = '\0';
	return 0;
}

/* A cgroup of the kubelet's in any hierarchy; "" without one */
static void find_kubepods(pid_t pid, char *path, size_t size)
{
	char name[64], line[4096];
	FILE *f;

	path[0] = '\0';
	snprintf(name, sizeof(name), "/proc/%d/cgroup", pid);
	f = fopen(name, "re");
	while (f && !path[0] && fgets(line, sizeof(line), f))
		if (strstr(line, "kubepods"))
			snprintf(path, size, "%.*s", (int)size - 1, line);
	if (f)
		fclose(f);
}

static const char *reason(int error)
{
	return error == -ENOENT ? "there is no amdgpu with kfd_gpreempt" : error == -ENOTTY ? "the module knows of no jobs" : strerror(-error);
}

/* Return: false if it could not be, and the container asked for it. What is wrong has been said. */
static bool oci_give_priority(const struct wish *wish, pid_t pid, const char *directory)
{
	int error;

	if (!wish->from[0])
		return true;
	error = directory ? place_set(directory, wish->priority) : place_set_tree(pid, wish->priority);
	if (error)
		fprintf(stderr, ME "%s: priority %d could not be set: %s\n", wish->from, wish->priority,
			reason(error));
	return !error || !wish->asks_for_priority;
}

/* Return: as oci_give_priority(). */
static bool oci_give_job(const struct wish *wish, pid_t pid, const char *directory)
{
	int error = directory ? place_set_job(directory, wish->job) :
		    place_set_tree_job(pid, (uint64_t)pid, wish->job);

	if (error)
		fprintf(stderr, ME "%s: the container could not become a job: %s\n",
			wish->asks_for_job ? "annotation kfd-gpreempt/job" : "job", reason(error));
	return !error || !wish->asks_for_job;
}

/* Return: as oci_give_priority(). */
static bool oci_give_time(const struct wish *wish, const char *directory)
{
	char why[SHARE_WHY];
	int error = share_set(directory, &wish->share, why);

	if (error)
		fprintf(stderr, ME "%s: %s\n", share_is_asked_for(&wish->share) ?
			"annotation kfd-gpreempt/share-weight, -min or -max" : "share", why);
	return !error || !share_is_asked_for(&wish->share);
}

/* Return: as oci_give_priority(). */
static bool oci_tell_stops(const struct wish *wish, const char *directory)
{
	char why[STOP_WHY];
	int error = stop_set(directory, &wish->stop, why);

	if (error)
		fprintf(stderr, ME "%s: %s\n",
			wish->stop.is_asked ? "annotation kfd-gpreempt/follow-stop" : "follow_stop", why);
	return !error || !wish->stop.is_asked;
}

/* @directory: the container's cgroup; NULL: there are none. Return: as oci_give_priority(). */
static bool fulfil(const struct wish *wish, pid_t pid, const char *directory)
{
	return oci_give_priority(wish, pid, directory) && oci_give_job(wish, pid, directory) &&
	       oci_give_time(wish, directory) && oci_tell_stops(wish, directory);
}

/* Return: EXIT_FAILURE if the container asks for what it cannot have. */
static int run(json_object *state, const char *config)
{
	char root[PATH_MAX / 2], path[PATH_MAX / 2] = "", directory[PATH_MAX];
	json_object *number;
	struct wish wish;
	pid_t pid = 0;
	int error;

	if (json_object_object_get_ex(state, "pid", &number))
		pid = json_object_get_int(number);
	if (pid <= 0) {
		fprintf(stderr, ME "the container's state has no pid; call this at createRuntime or later\n");
		return oci_asks(state) ? EXIT_FAILURE : EXIT_SUCCESS;
	}
	error = place_cgroup_root(root, sizeof(root));
	/* Beside hierarchies of version 1 it need not have a cgroup for each container. */
	if (!error && strcmp(root, UNIFIED))
		error = -ENOENT;
	if (!error)
		error = place_cgroup_of(pid, path, sizeof(path));
	if (error == -ENOENT)
		find_kubepods(pid, path, sizeof(path));
	if (priority_wish_of(state, config, error && error != -ENOENT ? "" : path, &wish) || job_wish_of(state, config, &wish) ||
	    share_wish_of(state, config, &wish) || stop_wish_of(state, config, &wish) ||
	    oci_bound_wish(config, &wish))
		return EXIT_FAILURE;
	if (!wish.from[0] && wish.job == PLACE_JOB_NONE && !wish.share.asked.named && !wish.share.given.named && !stop_is_for(&wish.stop))
		return EXIT_SUCCESS;
	/* Without a hierarchy of version 2, -ENOENT. */
	if (error && error != -ENOENT) {
		fprintf(stderr, ME "cgroup of process %d: %s\n", pid, strerror(-error));
		return oci_asks(state) ? EXIT_FAILURE : EXIT_SUCCESS;
	}
	if (!error)
		snprintf(directory, sizeof(directory), "%s%s", root, path);
	return fulfil(&wish, pid, error ? NULL : directory) ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	const char *config = "/etc/gpreempt-oci.conf";
	json_object *state = NULL;
	int status;

	if (argc == 3 && !strcmp(argv[1], "--config")) {
		config = argv[2];
	} else if (argc != 1) {
		fprintf(stderr, "Usage: gpreempt-oci [--config FILE] <STATE\n");
		/* hooks.d is the administrator's as well. */
		config = NULL;
	}
	state = json_object_from_fd(STDIN_FILENO);
	if (!json_object_is_type(state, json_type_object)) {
		fprintf(stderr, ME "what is on stdin is no container's state\n");
		status = config ? EXIT_SUCCESS : 2;
	} else if (config) {
		status = run(state, config);
	} else {
		status = oci_asks(state) ? 2 : EXIT_SUCCESS;
	}
	json_object_put(state);
	return status;
}
