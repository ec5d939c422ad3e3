// SPDX-License-Identifier: MIT
/*
 * hsa.c - libgpreempt-hsa.so: what libgpreempt-preload.so does, as a tools library of ROCr (HSA_TOOLS_LIB)
 *
 * ROCr calls OnLoad() with the table through which programs reach its functions. Queues that ROCr makes for itself do not go through it;
 * the process's priority holds for them, HSA_QUEUE_PRIORITY and GPREEMPT_QUEUE_CLASS do not.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#include "environment.h"
#include "gpreempt.h"
#include "hsa_abi.h"
#include "kfd.h"
#include "seen.h"

#define HSA_SUCCESS		0
#define AQL_PACKET_BYTES	64

static hsa_queue_create_fn *next_create;
static hsa_queue_destroy_fn *next_destroy;

/* The same process: KFD gives a second descriptor the same queues. */
static int update_priority(const struct gpreempt_queue_info *info, uint32_t ring_bytes, uint32_t priority)
{
	struct kfd_update_queue args = {
		.ring_base = info->ring_base, .queue_id = info->queue_id, .ring_bytes = ring_bytes, .percentage = 100, .priority = priority,
	};
	int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	int error = fd < 0 || ioctl(fd, KFD_UPDATE_QUEUE, &args) < 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	return error;
}

static int find(uint64_t ring_base, struct gpreempt_queue_info *info)
{
	struct gpreempt *g;
	int error = gpreempt_open(&g);

	if (error)
		return error;
	error = gpreempt_find_queue(g, 0, ring_base, info);
	gpreempt_close(g);
	return error;
}

static uint32_t queue_create(uint64_t agent, uint32_t size, uint32_t type, void *callback, void *data, uint32_t private_size,
			     uint32_t group_size, struct hsa_queue **queue)
{
	struct gpreempt_queue_info info;
	uint32_t status, priority;
	struct queue_class class;
	bool asked = environment_apply(&priority);

	status = next_create(agent, size, type, callback, data, private_size, group_size, queue);
	if (status != HSA_SUCCESS || find((uintptr_t)(*queue)->base_address, &info))
		return status;
	class = environment_class(info.gpu_id);
	if (class.has)
		priority = classes_kfd_priority(&class);
	if ((!asked && !class.has) || info.kfd_priority != KFD_PRIORITY_NORMAL ||
	    update_priority(&info, (*queue)->size * AQL_PACKET_BYTES, priority))
		priority = info.kfd_priority;
	seen_add(info.gpu_id, info.queue_id, info.ring_base, priority);
	if (class.has)
		classes_give(info.gpu_id, info.queue_id, &class);
	return status;
}

static uint32_t queue_destroy(struct hsa_queue *queue)
{
	struct gpreempt_queue_info info;

	if (queue && !find((uintptr_t)queue->base_address, &info)) {
		seen_remove(info.queue_id);
		classes_forget(info.queue_id);
	}
	return next_destroy(queue);
}

/**
 * OnLoad() - called by ROCr when it begins
 * @argument: its tables
 * @runtime_version: not needed
 * @failed_tools: not needed
 * @failed_names: not needed
 *
 * Does nothing where libgpreempt-preload.so is loaded as well, or where the tables are not as they are known here.
 *
 * Return: true: a tool that refuses would be reported.
 */
__attribute__((visibility("default"))) bool OnLoad(void *argument, uint64_t runtime_version, uint64_t failed_tools,
						   const char *const *failed_names)
{
	struct hsa_tables *tables = argument;
	struct hsa_core_table *core;
	uint32_t priority;

	(void)runtime_version;
	(void)failed_tools;
	(void)failed_names;
	if (dlsym(RTLD_DEFAULT, "gpreempt_preload"))
		return true;
	if (tables->version.minor < sizeof(*tables))
		return true;
	core = tables->core;
	if (core->version.minor < sizeof(*core))
		return true;
	next_create = core->queue_create;
	next_destroy = core->queue_destroy;
	core->queue_create = queue_create;
	core->queue_destroy = queue_destroy;
	/* Before ROCr makes queues of its own. */
	environment_apply(&priority);
	return true;
}

/** OnUnload() - called by ROCr when it ends; it throws the tables away itself */
__attribute__((visibility("default"))) void OnUnload(void)
{
}
