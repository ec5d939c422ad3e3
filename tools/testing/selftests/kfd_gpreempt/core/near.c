// SPDX-License-Identifier: MIT
/*
 * near.c - on a machine with NUMA nodes: monitors run near their device
 *
 * Needs GPUs that say which node they are at (vm.py: --numa 2 --vgpu-args numa=0,1).
 */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/types.h>

#include "kselftest_harness.h"

#include "fixture.h"
#include "gpus.h"
#include "worker.h"

#define NO_NODE		(-1)

/* Of each GPU: the NUMA node that it is at */
static int64_t numa[MAX_GPUS];

static int64_t numa_node(void)
{
	char pci[32], path[96], text[16];

	if (kfd_pci_name(pci, sizeof(pci)))
		return NO_NODE;
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/numa_node", pci);
	return kfd_file_read(path, text, sizeof(text)) > 0 ? strtoll(text, NULL, 10) : NO_NODE;
}

/* A file with "0-3,8" */
static cpu_set_t cpus_of(const char *path)
{
	char text[256], *at = text;
	cpu_set_t cpus;
	long first, last;

	CPU_ZERO(&cpus);
	if (kfd_file_read(path, text, sizeof(text)) <= 0)
		return cpus;
	while (*at >= '0' && *at <= '9') {
		first = last = strtol(at, &at, 10);
		if (*at == '-')
			last = strtol(at + 1, &at, 10);
		for (; first <= last; first++)
			CPU_SET(first, &cpus);
		at += *at == ',';
	}
	return cpus;
}

/* Those of a NUMA node, but for those that were isolated (isolcpus=) */
static cpu_set_t cpus_near(int64_t node)
{
	cpu_set_t cpus, isolated = cpus_of("/sys/devices/system/cpu/isolated"), both;
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%lld/cpulist", (long long)node);
	cpus = cpus_of(path);
	CPU_AND(&both, &cpus, &isolated);
	CPU_XOR(&cpus, &cpus, &both);
	return cpus;
}

static cpu_set_t cpus_of_monitor(void)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	sched_getaffinity((pid_t)counter("monitor_pid"), sizeof(cpus), &cpus);
	return cpus;
}

/* The one that it ran on at last */
static int cpu_of_monitor(void)
{
	char path[48], text[512], *at;
	int field;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)counter("monitor_pid"));
	if (kfd_file_read(path, text, sizeof(text)) <= 0)
		return -1;
	/* Behind the name, which is the second field */
	at = strrchr(text, ')');
	for (field = 2; at && field < 39; field++)
		at = strchr(at + 1, ' ');
	return at ? (int)strtol(at, NULL, 10) : -1;
}

FIXTURE(near) {
	int nr_nodes;
};

FIXTURE_SETUP(near)
{
	int gpu;

	kfd_wanted_gpu_id = 0;
	NEEDS(gpus_missing());
	ASSERT_EQ(0, scheduler_fresh(NULL, 0));
	for (gpu = 0; gpu < nr_gpus; gpu++) {
		at(gpu);
		numa[gpu] = numa_node();
		if (numa[gpu] == NO_NODE)
			SKIP(return, "GPU %d is at no NUMA node: vm.py --numa 2 --vgpu-args numa=0,1", gpu);
		self->nr_nodes += !gpu || numa[gpu] != numa[gpu - 1];
	}
}

FIXTURE_TEARDOWN(near)
{
	actor_forget_all();
	scheduler_off();
	kfd_wanted_gpu_id = 0;
}

#define EXPECT_NEAR(gpu) do { \
	cpu_set_t near_ = cpus_near(numa[gpu]), may_; \
	at(gpu); \
	may_ = cpus_of_monitor(); \
	EXPECT_LT(0, CPU_COUNT(&near_)); \
	EXPECT_TRUE(CPU_EQUAL(&near_, &may_)) \
		TH_LOG("GPU %d is at node %lld: its monitor may use %d CPUs, near are %d", gpu, (long long)numa[gpu], CPU_COUNT(&may_), \
		       CPU_COUNT(&near_)); \
} while (0)

TEST_F(near, monitors_run_on_cpus_near_their_device)
{
	struct actor *low, *high;
	cpu_set_t near;
	int gpu, cpu;

	EXPECT_LT(1, self->nr_nodes) TH_LOG("all GPUs are at one NUMA node");
	for (gpu = 0; gpu < nr_gpus; gpu++)
		EXPECT_NEAR(gpu);
	for (gpu = 0; gpu < nr_gpus; gpu++) {
		at(gpu);
		low = worker(_metadata, LOW_NICE, 1, node_slots(), 10, 5 * MS);
		high = worker(_metadata, 0, 1, node_slots(), 2, 5 * MS);
		ASSERT_EQ(0, launch_interrupts(high, low));
		near = cpus_near(numa[gpu]);
		cpu = cpu_of_monitor();
		EXPECT_TRUE(cpu >= 0 && CPU_ISSET(cpu, &near)) TH_LOG("the monitor of GPU %d ran on CPU %d", gpu, cpu);
		ASSERT_DONE_ONCE(high, low);
		EXPECT_STOPPED(high, low);
	}
}

TEST_F(near, a_monitor_that_was_moved_stays_there)
{
	cpu_set_t far = cpus_near(numa[nr_gpus - 1]), may;
	struct actor *low, *high;
	int cpu;

	EXPECT_LT(1, self->nr_nodes) TH_LOG("all GPUs are at one NUMA node");
	at(0);
	ASSERT_EQ(0, sched_setaffinity((pid_t)counter("monitor_pid"), sizeof(far), &far));
	low = worker(_metadata, LOW_NICE, 1, node_slots(), 10, 5 * MS);
	high = worker(_metadata, 0, 1, node_slots(), 2, 5 * MS);
	ASSERT_EQ(0, launch_interrupts(high, low));
	ASSERT_DONE_ONCE(high, low);
	may = cpus_of_monitor();
	EXPECT_TRUE(CPU_EQUAL(&far, &may));
	cpu = cpu_of_monitor();
	EXPECT_TRUE(cpu >= 0 && CPU_ISSET(cpu, &far)) TH_LOG("it ran on CPU %d", cpu);
	EXPECT_STOPPED(high, low);
	/* Its end is the end of that. */
	ASSERT_EQ(0, scheduler_off());
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 1));
	EXPECT_NEAR(0);
}

TEST_HARNESS_MAIN
