// SPDX-License-Identifier: MIT
/*
 * rocr_client.c - a program on Debian's unmodified ROCr (libhsa-runtime64) as the victim
 *
 * Linked dynamically: what runs is the library from the distribution, with its own idea of queue pages, signals and
 * utility queues. Only the kernel that it dispatches is a model kernel.
 */
#include <sys/resource.h>

#include <hsa/hsa.h>

#include "kselftest_harness.h"

#include "fixture.h"

static hsa_status_t find_gpu_agent(hsa_agent_t agent, void *data)
{
	hsa_device_type_t type;

	if (!hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type) && type == HSA_DEVICE_TYPE_GPU) {
		*(hsa_agent_t *)data = agent;
		return HSA_STATUS_INFO_BREAK;
	}
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t find_cpu_agent(hsa_agent_t agent, void *data)
{
	hsa_device_type_t type;

	if (!hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type) && type == HSA_DEVICE_TYPE_CPU) {
		*(hsa_agent_t *)data = agent;
		return HSA_STATUS_INFO_BREAK;
	}
	return HSA_STATUS_SUCCESS;
}

/* System memory that CPU and GPU see coherently. */
static hsa_status_t find_shared_region(hsa_region_t region, void *data)
{
	hsa_region_global_flag_t flags;
	hsa_region_segment_t segment;
	bool allowed = false;

	hsa_region_get_info(region, HSA_REGION_INFO_SEGMENT, &segment);
	hsa_region_get_info(region, HSA_REGION_INFO_GLOBAL_FLAGS, &flags);
	hsa_region_get_info(region, HSA_REGION_INFO_RUNTIME_ALLOC_ALLOWED, &allowed);
	if (segment != HSA_REGION_SEGMENT_GLOBAL || !allowed || !(flags & HSA_REGION_GLOBAL_FLAG_FINE_GRAINED))
		return HSA_STATUS_SUCCESS;
	*(hsa_region_t *)data = region;
	return HSA_STATUS_INFO_BREAK;
}

/* What kfd_work_submit() does, in ROCr's terms. */
static void dispatch(hsa_queue_t *queue, struct kfd_work *w, hsa_signal_t done)
{
	uint64_t index = hsa_queue_add_write_index_screlease(queue, 1);
	hsa_kernel_dispatch_packet_t *packet = queue->base_address;
	uint16_t header = HSA_PACKET_TYPE_KERNEL_DISPATCH | 1 << HSA_PACKET_HEADER_BARRIER |
			  HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
			  HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;

	packet += index % queue->size;
	memset((uint8_t *)packet + 4, 0, sizeof(*packet) - 4);
	packet->workgroup_size_x = VGPU_WAVE_LANES;
	packet->workgroup_size_y = 1;
	packet->workgroup_size_z = 1;
	packet->grid_size_x = w->waves * VGPU_WAVE_LANES;
	packet->grid_size_y = 1;
	packet->grid_size_z = 1;
	packet->kernel_object = (uintptr_t)w->kernel;
	packet->kernarg_address = &w->args[w->submitted];
	packet->completion_signal = done;
	w->submitted++;
	__atomic_store_n((uint32_t *)packet, header | 1u << 16 /* one dimension */, __ATOMIC_RELEASE);
	hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
}

#define GFX942	90402

FIXTURE(rocr) {
	BEFORE_TEST;
};

/* What KFD calls the GPU; a ROCr that is older than it finds no agent. */
static long gfx_target_version(void)
{
	char path[96], line[128];
	long version = 0;
	int node;
	FILE *f;

	for (node = 0; node < 64 && !version; node++) {
		snprintf(path, sizeof(path), "/sys/devices/virtual/kfd/kfd/topology/nodes/%d/properties", node);
		f = fopen(path, "r");
		if (!f)
			break;
		while (fgets(line, sizeof(line), f))
			if (!strncmp(line, "gfx_target_version ", 19))
				version = strtol(line + 19, NULL, 10);
		fclose(f);
	}
	return version;
}

FIXTURE_SETUP(rocr)
{
	if (gfx_target_version() == GFX942)
		SKIP(return, "Debian's ROCr 5.2.3 does not know gfx942");
	SETUP_SCHEDULER(NULL, 0);
}

FIXTURE_TEARDOWN(rocr)
{
	actor_forget_all();
	EXPECT_DEVICE_UNHARMED();
	scheduler_off();
}

TEST_F_TIMEOUT(rocr, unmodified_client_is_preempted_and_completes, 240)
{
	uint32_t slots = (uint32_t)kfd_vgpu_stat("wave_slots"), launches = 4, steps = 100;
	struct actor *high = actor_start(0, ARENA);
	struct kfd_tally tally = { 0 };
	hsa_agent_t gpu = { 0 }, cpu = { 0 };
	hsa_region_t region = { 0 };
	int64_t preemptions, resumes;
	struct kfd_work work;
	hsa_queue_t *queue;
	hsa_signal_t done;
	void *memory;
	uint32_t i;

	ASSERT_ACTOR(high);
	ASSERT_EQ(0, actor_queue(high, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL));
	ASSERT_EQ(0, actor_work(high, 5, slots, 1, 4 * MS));

	ASSERT_EQ(0, setpriority(PRIO_PROCESS, 0, LOW_NICE));
	ASSERT_EQ(HSA_STATUS_SUCCESS, hsa_init());
	ASSERT_EQ(HSA_STATUS_INFO_BREAK, hsa_iterate_agents(find_gpu_agent, &gpu));
	ASSERT_EQ(HSA_STATUS_INFO_BREAK, hsa_iterate_agents(find_cpu_agent, &cpu));
	ASSERT_EQ(HSA_STATUS_INFO_BREAK, hsa_agent_iterate_regions(cpu, find_shared_region, &region));
	ASSERT_EQ(HSA_STATUS_SUCCESS, hsa_memory_allocate(region, kfd_work_bytes(launches, slots, steps), &memory));
	kfd_work_init(&work, memory, launches, slots, steps, 5 * MS);
	ASSERT_EQ(HSA_STATUS_SUCCESS, hsa_signal_create(launches, 0, NULL, &done));
	ASSERT_EQ(HSA_STATUS_SUCCESS, hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX,
							 UINT32_MAX, &queue));
	preemptions = counter("preemptions");
	resumes = counter("resumes");

	for (i = 0; i < launches; i++)
		dispatch(queue, &work, done);
	while (!kfd_work_progress(&work))
		kfd_sleep_ns(MS);
	ASSERT_EQ(0, actor_submit(high, 0, 0, 5, KFD_PACKET_BARRIER));
	ASSERT_EQ(0, actor_wait(high, 0, LONG));
	EXPECT_GT(hsa_signal_load_scacquire(done), 0);
	EXPECT_GT(counter("preemptions"), preemptions);
	EXPECT_EQ(0, hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_EQ, 0, UINT64_MAX, HSA_WAIT_STATE_BLOCKED));
	kfd_work_tally(&work, &tally);
	EXPECT_EQ(launches * slots * steps, tally.done);
	EXPECT_EQ(0, tally.lost);
	EXPECT_EQ(0, tally.twice);
	EXPECT_EXACTLY_ONCE(high, 5 * slots);
	EXPECT_EQ(0, wait_all_resumed(preemptions, resumes));

	EXPECT_EQ(HSA_STATUS_SUCCESS, hsa_queue_destroy(queue));
	EXPECT_EQ(HSA_STATUS_SUCCESS, hsa_signal_destroy(done));
	EXPECT_EQ(HSA_STATUS_SUCCESS, hsa_memory_free(memory));
	EXPECT_EQ(HSA_STATUS_SUCCESS, hsa_shut_down());
}

static hsa_status_t queue_error;

static void note_error(hsa_status_t status, hsa_queue_t *source, void *data)
{
	__atomic_store_n(&queue_error, status, __ATOMIC_RELEASE);
}

/* The command processor tells ROCr itself, through a signal in amd_queue_t. */
TEST_F(rocr, bad_packet_reaches_the_error_callback)
{
	uint64_t deadline = kfd_now_ns() + LONG / 2;
	hsa_agent_dispatch_packet_t *packet;
	hsa_agent_t gpu = { 0 };
	hsa_queue_t *queue;

	ASSERT_EQ(HSA_STATUS_SUCCESS, hsa_init());
	ASSERT_EQ(HSA_STATUS_INFO_BREAK, hsa_iterate_agents(find_gpu_agent, &gpu));
	ASSERT_EQ(HSA_STATUS_SUCCESS, hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_MULTI, note_error, NULL, UINT32_MAX,
							 UINT32_MAX, &queue));
	packet = queue->base_address;
	__atomic_store_n((uint32_t *)packet, HSA_PACKET_TYPE_AGENT_DISPATCH, __ATOMIC_RELEASE);
	hsa_queue_add_write_index_screlease(queue, 1);
	hsa_signal_store_screlease(queue->doorbell_signal, 0);
	while (!__atomic_load_n(&queue_error, __ATOMIC_ACQUIRE) && kfd_now_ns() < deadline)
		kfd_sleep_ns(MS);
	EXPECT_EQ(HSA_STATUS_ERROR_INVALID_PACKET_FORMAT, queue_error);
	self->health.bad_packets++;
	EXPECT_EQ(HSA_STATUS_SUCCESS, hsa_queue_destroy(queue));
	EXPECT_EQ(HSA_STATUS_SUCCESS, hsa_shut_down());
}

TEST_HARNESS_MAIN
