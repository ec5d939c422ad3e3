/* SPDX-License-Identifier: MIT */
/*
 * gpus.h - several GPUs of one machine: which one is meant, and what happens to one alone
 *
 * Include after fixture.h.
 */
#ifndef GPUS_H
#define GPUS_H

#include <linux/kfd_ioctl.h>
#include <sys/ioctl.h>

#define MAX_GPUS	64
#define MAX_NODES	(MAX_GPUS + 2)	/* CPUs have some */
#define NODES		"/sys/devices/virtual/kfd/kfd/topology/nodes"
#define LINK_XGMI	11

static uint32_t ids[MAX_GPUS];
static int nr_gpus;

/* From here on everything is about this device. */
static inline void at(int gpu)
{
	kfd_wanted_gpu_id = ids[gpu];
}

static inline const char *gpus_missing(void)
{
	const char *missing = scheduler_missing();

	nr_gpus = kfd_gpu_ids(ids, MAX_GPUS);
	return missing ? missing : nr_gpus < 2 ? "there is one GPU" : NULL;
}

/* Small waves that fill a node: two of them may be partitions of one device. */
static inline uint32_t node_slots(void)
{
	struct kfd_client sizes = { 0 };

	return kfd_client_sizes(&sizes) ? 0 : sizes.simd_count * sizes.max_waves_per_simd;
}

/**
 * struct side - what is true of a node before a test, and who works there
 * @slots: waves that fill it
 * @health: what the device complained about
 * @resets: that it has had
 * @runlists: that it sent
 * @failures: of the scheduler, as all that follows
 * @preemptions: of queues
 * @resumes: of queues
 * @destroyed: queues that ended while they were preempted
 * @monitor_pid: its thread
 * @low: a process that fills the device
 * @high: one that comes first
 */
struct side {
	uint32_t slots;
	struct device_health health;
	int64_t resets, runlists, failures, preemptions, resumes, destroyed, monitor_pid;
	struct actor *low, *high;
};

/* Those who work there stay as they are. */
static inline void remember_side(struct side *s, int gpu)
{
	at(gpu);
	s->slots = node_slots();
	s->health = device_health();
	s->resets = kfd_vgpu_stat("resets");
	s->runlists = counter("runlists");
	s->failures = counter("failures");
	s->preemptions = counter("preemptions");
	s->resumes = counter("resumes");
	s->destroyed = counter("destroyed_preempted");
	s->monitor_pid = counter("monitor_pid");
}

/* Neither the device nor the scheduler has anything to complain about that was not there before. */
#define EXPECT_SIDE_UNHARMED(side, gpu) do { \
	struct device_health health_; \
	at(gpu); \
	health_ = device_health(); \
	EXPECT_EQ((side).failures, counter("failures")) TH_LOG("node %d", gpu); \
	EXPECT_EQ((side).health.gpuvm_faults, health_.gpuvm_faults) TH_LOG("node %d", gpu); \
	EXPECT_EQ((side).health.bad_packets, health_.bad_packets) TH_LOG("node %d", gpu); \
	EXPECT_EQ((side).health.stale_translations, health_.stale_translations) TH_LOG("node %d", gpu); \
} while (0)

static inline int64_t actor_uses_all_devices(struct actor *a, const int64_t *args)
{
	static struct kfd_client others[MAX_GPUS];
	int gpu, err = 0;

	nr_gpus = kfd_gpu_ids(ids, MAX_GPUS);
	for (gpu = 0; gpu < nr_gpus && !err; gpu++) {
		if (ids[gpu] == a->client.gpu_id)
			continue;
		at(gpu);
		err = kfd_client_open(&others[gpu]);
	}
	kfd_wanted_gpu_id = a->client.gpu_id;
	return err;
}

/*
 * The process has an address space on each device, as ROCr's have. Those whose queues the driver suspends (debugger, CRIU) need one
 * (driver-notes.rst).
 */
static inline int uses_all_devices(struct actor *a)
{
	return (int)actor_call(a, actor_uses_all_devices, 0, 0, 0, 0);
}

/* ---- memory of each other ---- */

static inline int64_t node_property(const char *path, const char *name)
{
	char text[4096], *line;

	if (kfd_file_read(path, text, sizeof(text)) < 0)
		return -1;
	line = strstr(text, name);
	return line ? strtoll(line + strlen(name), NULL, 0) : -1;
}

/* Links of this type from one GPU's node to another's */
static inline int xgmi_links(void)
{
	char path[128];
	int from, link, n = 0;

	for (from = 0; from < MAX_NODES; from++) {
		for (link = 0; link < MAX_NODES; link++) {
			snprintf(path, sizeof(path), NODES "/%d/io_links/%d/properties", from, link);
			if (access(path, F_OK))
				break;
			n += node_property(path, "\ntype ") == LINK_XGMI || node_property(path, "type ") == LINK_XGMI;
		}
	}
	return n;
}

/* Another device of the process gets at a buffer, too. */
static inline int map_to_other(struct kfd_client *other, const struct kfd_buffer *b)
{
	struct kfd_ioctl_map_memory_to_gpu_args args = {
		.handle = b->handle, .device_ids_array_ptr = (uintptr_t)&other->gpu_id, .n_devices = 1,
	};

	return ioctl(other->kfd_fd, AMDKFD_IOC_MAP_MEMORY_TO_GPU, &args) ? -errno : 0;
}

/* ---- resets ---- */

/* A reset as an administrator asks for it */
static inline int reset_device(void)
{
	char pci[32], path[128], text[128];
	int n;

	if (kfd_pci_name(pci, sizeof(pci)))
		return -ENODEV;
	snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%s/amdgpu_gpu_recover", pci);
	n = kfd_file_read(path, text, sizeof(text));
	if (n < 0)
		return n;
	snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%s/amdgpu_test_ib", pci);
	n = kfd_file_read(path, text, sizeof(text));
	return n < 0 ? n : strstr(text, "passed") ? 0 : -EIO;
}

#endif /* GPUS_H */
