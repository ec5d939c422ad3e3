// SPDX-License-Identifier: MIT
/* gpreempt.c - libgpreempt: one function per command of /dev/kfd_gpreempt */
#include "gpreempt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* What version 2 added stands in members that were 0 before. */
#define LEAST_ABI_VERSION	1

struct gpreempt {
	int fd;
};

static int command(const struct gpreempt *handle, unsigned long request, void *argument)
{
	return ioctl(handle->fd, request, argument) < 0 ? -errno : 0;
}

int gpreempt_open(struct gpreempt **handle)
{
	struct gpreempt_info info = { 0 };
	struct gpreempt *g;
	int error;

	*handle = NULL;
	g = malloc(sizeof(*g));
	if (!g)
		return -ENOMEM;
	g->fd = open("/dev/kfd_gpreempt", O_RDWR | O_CLOEXEC);
	if (g->fd < 0) {
		error = -errno;
		free(g);
		return error;
	}
	error = command(g, GPREEMPT_IOC_INFO, &info);
	/* Versions only add, and nothing is asked for here that the first did not have. */
	if (error == -ENOTTY || (!error && info.abi_version < LEAST_ABI_VERSION))
		error = -EPROTO;
	if (error) {
		gpreempt_close(g);
		return error;
	}
	*handle = g;
	return 0;
}

void gpreempt_close(struct gpreempt *handle)
{
	if (!handle)
		return;
	close(handle->fd);
	free(handle);
}

int gpreempt_fd(const struct gpreempt *handle)
{
	return handle->fd;
}

struct gpreempt_target gpreempt_target_queue(pid_t pid, uint32_t gpu_id, uint32_t queue_id)
{
	return (struct gpreempt_target){
		.scope = GPREEMPT_SCOPE_QUEUE, .pid = pid, .gpu_id = gpu_id, .queue_id = queue_id,
	};
}

struct gpreempt_target gpreempt_target_process(pid_t pid, uint32_t gpu_id)
{
	return (struct gpreempt_target){ .scope = GPREEMPT_SCOPE_PROCESS, .pid = pid, .gpu_id = gpu_id };
}

struct gpreempt_target gpreempt_target_cgroup(int fd)
{
	return (struct gpreempt_target){ .scope = GPREEMPT_SCOPE_CGROUP, .cgroup_fd = fd };
}

struct gpreempt_target gpreempt_target_all(void)
{
	return (struct gpreempt_target){ .scope = GPREEMPT_SCOPE_ALL };
}

/**
 * struct array - what a command is to fill
 * @address: where the command's argument says where it is
 * @size: of an entry; 0: it is not asked for
 * @entries: it
 */
struct array {
	__u64 *address;
	size_t size;
	void *entries;
};

/*
 * A command that lists something, asked until its arrays are as long as what there is. @nr: where its argument says how long they are. Return: entries
 * there are, or a negative errno; without any the arrays are NULL.
 */
static int list(const struct gpreempt *handle, unsigned long request, void *argument, __u32 *nr, struct array *arrays, unsigned int nr_arrays)
{
	char question[_IOC_SIZE(request)];
	unsigned int i, room;
	int error;

	memcpy(question, argument, sizeof(question));
	do {
		/* A few more than there were: others come meanwhile. */
		room = *nr + 8;
		memcpy(argument, question, sizeof(question));
		*nr = room;
		for (i = 0; i < nr_arrays; i++) {
			void *grown = arrays[i].size ? realloc(arrays[i].entries, room * arrays[i].size) : NULL;

			if (arrays[i].size && !grown) {
				error = -ENOMEM;
				goto out;
			}
			arrays[i].entries = grown;
			*arrays[i].address = (uintptr_t)grown;
		}
		error = command(handle, request, argument);
		if (error)
			goto out;
	} while (*nr > room);
	if (*nr)
		return *nr;
out:
	for (i = 0; i < nr_arrays; i++) {
		free(arrays[i].entries);
		arrays[i].entries = NULL;
	}
	return error;
}

int gpreempt_list_nodes(struct gpreempt *handle, struct gpreempt_info *info, struct gpreempt_node_info **nodes)
{
	struct gpreempt_info arg = { 0 };
	struct array array = { .address = &arg.nodes, .size = sizeof(**nodes) };
	int nr = list(handle, GPREEMPT_IOC_INFO, &arg, &arg.nr_nodes, &array, 1);

	*nodes = array.entries;
	arg.nodes = 0;
	if (info && nr >= 0)
		*info = arg;
	return nr;
}

/* @jobs, @usage: NULL: they are not asked for */
static int list_queues(struct gpreempt *handle, const struct gpreempt_target *target, struct gpreempt_queue_info **queues, uint64_t **jobs,
		       struct gpreempt_queue_usage **usage)
{
	struct gpreempt_list arg = { .target = *target };
	struct array arrays[] = {
		{ .address = &arg.queues, .size = sizeof(**queues) },
		{ .address = &arg.jobs, .size = jobs ? sizeof(**jobs) : 0 },
		{ .address = &arg.usage, .size = usage ? sizeof(**usage) : 0 },
	};
	int nr = list(handle, GPREEMPT_IOC_LIST, &arg, &arg.nr_queues, arrays, 3);

	*queues = arrays[0].entries;
	if (jobs)
		*jobs = arrays[1].entries;
	if (usage)
		*usage = arrays[2].entries;
	return nr;
}

int gpreempt_list_queues(struct gpreempt *handle, const struct gpreempt_target *target, struct gpreempt_queue_info **queues)
{
	return list_queues(handle, target, queues, NULL, NULL);
}

int gpreempt_list_queue_usage(struct gpreempt *handle, const struct gpreempt_target *target, struct gpreempt_queue_info **queues, uint64_t **jobs,
			      struct gpreempt_queue_usage **usage)
{
	struct gpreempt_info info = { 0 };
	int nr;

	*queues = NULL;
	*jobs = NULL;
	if (usage)
		*usage = NULL;
	nr = command(handle, GPREEMPT_IOC_INFO, &info);
	if (nr)
		return nr;
	if (!(info.features & GPREEMPT_FEATURE_USAGE))
		usage = NULL;
	if (info.features & GPREEMPT_FEATURE_JOB)
		return list_queues(handle, target, queues, jobs, usage);
	/* A module that knows of no jobs: there are none. */
	nr = list_queues(handle, target, queues, NULL, usage);
	if (nr <= 0)
		return nr;
	*jobs = calloc(nr, sizeof(**jobs));
	if (*jobs)
		return nr;
	free(*queues);
	*queues = NULL;
	if (usage) {
		free(*usage);
		*usage = NULL;
	}
	return -ENOMEM;
}

int gpreempt_list_jobs(struct gpreempt *handle, const struct gpreempt_target *target, struct gpreempt_queue_info **queues, uint64_t **jobs)
{
	return gpreempt_list_queue_usage(handle, target, queues, jobs, NULL);
}

int gpreempt_list_usage(struct gpreempt *handle, unsigned int kinds, unsigned int gpu_id, struct gpreempt_usage_info **entries, uint64_t *time_ns)
{
	struct gpreempt_usage arg = { .kinds = kinds, .gpu_id = gpu_id };
	struct array array = { .address = &arg.entries, .size = sizeof(**entries) };
	int nr = list(handle, GPREEMPT_IOC_USAGE, &arg, &arg.nr_entries, &array, 1);

	*entries = array.entries;
	if (time_ns && nr >= 0)
		*time_ns = arg.time_ns;
	return nr;
}

int gpreempt_find_queue(struct gpreempt *handle, pid_t pid, uint64_t ring_base, struct gpreempt_queue_info *queue)
{
	struct gpreempt_target target = gpreempt_target_process(pid, 0);
	struct gpreempt_queue_info *queues;
	int i, error = -ENOENT, nr = gpreempt_list_queues(handle, &target, &queues);

	if (nr < 0)
		return nr;
	for (i = 0; i < nr; i++) {
		if (queues[i].ring_base == ring_base) {
			*queue = queues[i];
			error = 0;
			break;
		}
	}
	free(queues);
	return error;
}

/* Queues in which there is more to read than before */
static unsigned int risen(const struct gpreempt_queue_info *before, int nr_before, const struct gpreempt_queue_info *after, int nr_after,
			  struct gpreempt_queue_info *result)
{
	unsigned int found = 0;
	int i, j;

	for (i = 0; i < nr_after; i++)
		for (j = 0; j < nr_before; j++)
			if (before[j].gpu_id == after[i].gpu_id && before[j].queue_id == after[i].queue_id &&
			    after[i].pending > before[j].pending)
				result[found++] = after[i];
	return found;
}

/* Those of @kept that are in @seen as well */
static unsigned int intersect(struct gpreempt_queue_info *kept, unsigned int nr_kept, const struct gpreempt_queue_info *seen,
			      unsigned int nr_seen)
{
	unsigned int i, j, found = 0;

	for (i = 0; i < nr_kept; i++)
		for (j = 0; j < nr_seen; j++)
			if (kept[i].gpu_id == seen[j].gpu_id && kept[i].queue_id == seen[j].queue_id)
				kept[found++] = kept[i];
	return found;
}

/* One look: *@result, to be freed by the caller, has the queues that a packet may have gone to. */
static int look_for_packet(struct gpreempt *handle, const struct gpreempt_target *process, int (*submit)(void *arg), void *arg,
			   struct gpreempt_queue_info **result)
{
	struct gpreempt_queue_info *before = NULL, *after = NULL;
	int nr, nr_after, found;

	*result = NULL;
	found = gpreempt_preempt(handle, process, 0, 0);
	/* No queue yet: the stream's comes with its first packet. */
	if (found == -ENOENT) {
		found = submit(arg);
		return found < 0 ? found : 0;
	}
	if (found < 0)
		goto out;
	found = gpreempt_list_queues(handle, process, &before);
	if (found < 0)
		goto out;
	nr = found;
	found = submit(arg);
	if (found < 0)
		goto out;
	found = gpreempt_list_queues(handle, process, &after);
	if (found <= 0)
		goto out;
	nr_after = found;
	*result = calloc(nr_after, sizeof(**result));
	found = *result ? (int)risen(before, nr, after, nr_after, *result) : -ENOMEM;
out:
	/* Also after an error: holds may have been made. */
	gpreempt_resume(handle, process);
	free(before);
	free(after);
	return found;
}

/* The second look tells the packet from what other threads do at the same time; more are for a busy process. */
#define LOOKS			8
#define LOOKS_THAT_AGREE	2

int gpreempt_find_stream(uint32_t gpu_id, int (*submit)(void *arg), void *arg, struct gpreempt_queue_info *queue)
{
	struct gpreempt_target process = gpreempt_target_process(0, gpu_id);
	struct gpreempt_queue_info *kept = NULL, *seen;
	unsigned int nr_kept = 0, agreed = 0;
	struct gpreempt *handle;
	int i, found, error;

	/* Its own holds: the caller's stay as they are. */
	error = gpreempt_open(&handle);
	if (error)
		return error;
	error = -ENOENT;
	for (i = 0; i < LOOKS && (agreed < LOOKS_THAT_AGREE || nr_kept > 1); i++) {
		found = look_for_packet(handle, &process, submit, arg, &seen);
		if (found <= 0) {
			free(seen);
			if (found < 0) {
				error = found;
				goto out;
			}
			continue;
		}
		if (nr_kept) {
			nr_kept = intersect(kept, nr_kept, seen, found);
			agreed = nr_kept ? agreed + 1 : 0;
			free(seen);
		} else {
			free(kept);
			kept = seen;
			nr_kept = found;
			agreed = 1;
		}
	}
	if (nr_kept == 1 && agreed >= LOOKS_THAT_AGREE) {
		*queue = kept[0];
		error = 0;
	} else if (nr_kept) {
		error = -EAGAIN;
	}
out:
	free(kept);
	gpreempt_close(handle);
	return error;
}

int gpreempt_set_priority(struct gpreempt *handle, const struct gpreempt_target *target, int priority)
{
	struct gpreempt_priority arg = { .target = *target, .priority = priority };

	return command(handle, GPREEMPT_IOC_SET_PRIORITY, &arg);
}

int gpreempt_set_job(struct gpreempt *handle, const struct gpreempt_target *target, uint64_t job, unsigned int flags)
{
	struct gpreempt_set_job arg = { .target = *target, .job = job, .flags = flags };

	return command(handle, GPREEMPT_IOC_SET_JOB, &arg);
}

int gpreempt_set_share(struct gpreempt *handle, const struct gpreempt_set_share *share)
{
	struct gpreempt_set_share arg = *share;

	return command(handle, GPREEMPT_IOC_SET_SHARE, &arg);
}

int gpreempt_list_shares(struct gpreempt *handle, struct gpreempt_share_info **shares)
{
	struct gpreempt_list_shares arg = { 0 };
	struct array array = { .address = &arg.shares, .size = sizeof(**shares) };
	int nr = list(handle, GPREEMPT_IOC_LIST_SHARES, &arg, &arg.nr_shares, &array, 1);

	*shares = array.entries;
	return nr;
}

int gpreempt_set_tree_priority(struct gpreempt *handle, const struct gpreempt_target *target, int priority)
{
	struct gpreempt_priority arg = { .target = *target, .priority = priority, .flags = GPREEMPT_PRIORITY_INHERIT };

	return command(handle, GPREEMPT_IOC_SET_PRIORITY, &arg);
}

int gpreempt_clear_priority(struct gpreempt *handle, const struct gpreempt_target *target)
{
	struct gpreempt_priority arg = { .target = *target, .flags = GPREEMPT_PRIORITY_CLEAR };

	return command(handle, GPREEMPT_IOC_SET_PRIORITY, &arg);
}

int gpreempt_set_param(struct gpreempt *handle, const struct gpreempt_target *target, enum gpreempt_param param, uint64_t value)
{
	struct gpreempt_set_param arg = { .target = *target, .param = param, .value = value };

	return command(handle, GPREEMPT_IOC_SET_PARAM, &arg);
}

int gpreempt_set_waits_for(struct gpreempt *handle, const struct gpreempt_target *target, pid_t pid)
{
	return pid < 0 ? -EINVAL : gpreempt_set_param(handle, target, GPREEMPT_PARAM_WAITS_FOR, pid);
}

int gpreempt_set_runtime(struct gpreempt *handle, const struct gpreempt_target *target, uint64_t runtime_us, uint64_t period_us)
{
	struct gpreempt_set_param arg = { .target = *target, .param = GPREEMPT_PARAM_RUNTIME_US, .value = runtime_us, .period_us = period_us };

	return command(handle, GPREEMPT_IOC_SET_PARAM, &arg);
}

int gpreempt_list_fits(struct gpreempt *handle, const struct gpreempt_target *target, uint64_t runtime_us, uint64_t period_us,
		       struct gpreempt_fits_info **nodes)
{
	struct gpreempt_fits arg = { .target = *target, .runtime_us = runtime_us, .period_us = period_us };
	struct array array = { .address = &arg.nodes, .size = sizeof(**nodes) };
	int nr = list(handle, GPREEMPT_IOC_FITS, &arg, &arg.nr_nodes, &array, 1);

	*nodes = array.entries;
	return nr;
}

int gpreempt_preempt(struct gpreempt *handle, const struct gpreempt_target *target, unsigned int timeout_ms, unsigned int flags)
{
	struct gpreempt_hold arg = { .target = *target, .timeout_ms = timeout_ms, .flags = flags };
	int error = command(handle, GPREEMPT_IOC_PREEMPT, &arg);

	return error ? error : (int)arg.nr_queues;
}

int gpreempt_resume_wait(struct gpreempt *handle, const struct gpreempt_target *target, unsigned int timeout_ms, unsigned int flags,
			 unsigned int *nr_off)
{
	struct gpreempt_hold arg = { .target = *target, .timeout_ms = timeout_ms, .flags = flags };
	int error = command(handle, GPREEMPT_IOC_RESUME, &arg);

	if (nr_off)
		*nr_off = arg.nr_off;
	return error ? error : (int)arg.nr_queues;
}

int gpreempt_resume(struct gpreempt *handle, const struct gpreempt_target *target)
{
	return gpreempt_resume_wait(handle, target, 0, 0, NULL);
}

int gpreempt_resume_all(struct gpreempt *handle, const struct gpreempt_target *target)
{
	return gpreempt_resume_wait(handle, target, 0, GPREEMPT_HOLD_EVERYBODYS, NULL);
}

int gpreempt_level(struct gpreempt *handle, uint32_t gpu_id)
{
	struct gpreempt_node_info *nodes;
	struct gpreempt_info info;
	bool able;
	int i, nr;

	if (!handle)
		return GPREEMPT_LEVEL_BLOCK;
	nr = gpreempt_list_nodes(handle, &info, &nodes);
	able = nr > 0 && info.features & GPREEMPT_FEATURE_PREEMPT;
	for (i = 0; i < nr; i++) {
		bool node_able = nodes[i].state != GPREEMPT_NODE_OFF && nodes[i].state != GPREEMPT_NODE_FAILED &&
				 nodes[i].state != GPREEMPT_NODE_UNSUPPORTED;

		if (nodes[i].gpu_id == gpu_id) {
			able &= node_able;
			break;
		}
		if (!gpu_id)
			able &= node_able;
	}
	if (gpu_id && i >= nr)
		able = false;
	free(nodes);
	return able ? GPREEMPT_LEVEL_INTERRUPT : GPREEMPT_LEVEL_BLOCK;
}

int gpreempt_hint(struct gpreempt *handle, const struct gpreempt_target *target, unsigned int within_us)
{
	struct gpreempt_hint arg = { .target = *target, .within_us = within_us };

	return command(handle, GPREEMPT_IOC_HINT, &arg);
}

int gpreempt_read_events(struct gpreempt *handle, struct gpreempt_event *events, unsigned int nr)
{
	ssize_t got = read(handle->fd, events, (size_t)nr * sizeof(*events));

	return got < 0 ? -errno : (int)(got / sizeof(*events));
}

#define NAME(array, i)	((i) < sizeof(array) / sizeof((array)[0]) && (array)[i] ? (array)[i] : "?")

const char *gpreempt_node_state_name(uint32_t state)
{
	static const char *const names[] = {
		[GPREEMPT_NODE_OFF] = "off",
		[GPREEMPT_NODE_PARKED] = "parked",
		[GPREEMPT_NODE_IDLE] = "idle",
		[GPREEMPT_NODE_POLLING] = "polling",
		[GPREEMPT_NODE_PAUSED] = "paused",
		[GPREEMPT_NODE_FAILED] = "failed",
		[GPREEMPT_NODE_UNSUPPORTED] = "unsupported",
		[GPREEMPT_NODE_ARMED] = "armed",
	};

	return NAME(names, state);
}

const char *gpreempt_queue_state_name(uint32_t state)
{
	static const char *const names[] = {
		[GPREEMPT_QUEUE_IDLE] = "idle",
		[GPREEMPT_QUEUE_ACTIVE] = "active",
		[GPREEMPT_QUEUE_PREEMPTED] = "preempted",
	};

	return NAME(names, state);
}

const char *gpreempt_verdict_name(uint32_t verdict)
{
	static const char *const names[] = {
		[GPREEMPT_VERDICT_NONE] = "none",
		[GPREEMPT_VERDICT_RUNS] = "runs",
		[GPREEMPT_VERDICT_NO_DEMAND] = "no_demand",
		[GPREEMPT_VERDICT_DORMANT] = "dormant",
		[GPREEMPT_VERDICT_BLOCKED] = "blocked",
		[GPREEMPT_VERDICT_DRIVER] = "driver",
		[GPREEMPT_VERDICT_UNSEEN] = "unseen",
		[GPREEMPT_VERDICT_EXPECTED] = "expected",
		[GPREEMPT_VERDICT_RELIEF] = "relief",
		[GPREEMPT_VERDICT_SIBLING] = "sibling",
		[GPREEMPT_VERDICT_AGED] = "aged",
		[GPREEMPT_VERDICT_EXEMPT] = "exempt",
		[GPREEMPT_VERDICT_OBSTACLE] = "obstacle",
		[GPREEMPT_VERDICT_MIN_RUN] = "min_run",
		[GPREEMPT_VERDICT_BUDGET] = "budget",
		[GPREEMPT_VERDICT_OBSERVED] = "observed",
		[GPREEMPT_VERDICT_JOB] = "job",
		[GPREEMPT_VERDICT_DRAINS] = "drains",
		[GPREEMPT_VERDICT_YIELDS] = "yields",
		[GPREEMPT_VERDICT_OWN_PROCESS] = "own_process",
		[GPREEMPT_VERDICT_HOLD] = "hold",
		[GPREEMPT_VERDICT_AGEING] = "ageing",
		[GPREEMPT_VERDICT_RESUME_DELAYED] = "resume_delayed",
		[GPREEMPT_VERDICT_LEFT_OFF] = "left_off",
		[GPREEMPT_VERDICT_JOB_YIELDS] = "job_yields",
		[GPREEMPT_VERDICT_STOPPED] = "stopped",
		[GPREEMPT_VERDICT_SHARE] = "share",
		[GPREEMPT_VERDICT_MAXIMUM] = "maximum",
		[GPREEMPT_VERDICT_IDLE] = "idle",
	};

	return NAME(names, verdict);
}

const char *gpreempt_source_name(uint32_t source)
{
	static const char *const names[] = {
		[GPREEMPT_SOURCE_KFD] = "kfd",
		[GPREEMPT_SOURCE_CGROUP] = "cgroup",
		[GPREEMPT_SOURCE_PROCESS] = "process",
		[GPREEMPT_SOURCE_QUEUE] = "queue",
		[GPREEMPT_SOURCE_PARENT] = "parent",
	};

	return NAME(names, source);
}

const char *gpreempt_event_name(uint32_t type)
{
	static const char *const names[] = {
		[GPREEMPT_EVENT_INVERSION] = "inversion",
		[GPREEMPT_EVENT_PREEMPTED] = "preempted",
		[GPREEMPT_EVENT_RESUMED] = "resumed",
		[GPREEMPT_EVENT_FAILED] = "failed",
		[GPREEMPT_EVENT_PRIORITY] = "priority",
		[GPREEMPT_EVENT_OBSERVED] = "observed",
		[GPREEMPT_EVENT_REQUEST] = "request",
	};

	return NAME(names, type);
}

const char *gpreempt_unit_state_name(uint32_t state)
{
	static const char *const names[] = {
		[GPREEMPT_UNIT_GONE] = "gone",
		[GPREEMPT_UNIT_IDLE] = "idle",
		[GPREEMPT_UNIT_ACTIVE] = "active",
		[GPREEMPT_UNIT_PREEMPTED] = "preempted",
		[GPREEMPT_UNIT_STOPPING] = "stopping",
		[GPREEMPT_UNIT_INTERRUPTED] = "interrupted",
	};

	return NAME(names, state);
}
