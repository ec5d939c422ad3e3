// SPDX-License-Identifier: MIT
/*
 * rocr_client.c - a program on Debian's unmodified ROCr (libhsa-runtime64) as the victim
 *
 * Linked dynamically: what runs is the library from the distribution, with its own idea of queue pages, signals and
 * utility queues. Only the kernel that it dispatches is a model kernel.
 */
#include <sys/resource.h>

#include "kselftest_harness.h"

#include "fixture.h"
#include "rocr.h"
#include "worker.h"

FIXTURE(rocr) {
	BEFORE_TEST;
};

FIXTURE_SETUP(rocr)
{
	SKIP_WITHOUT_ROCR();
	SETUP_SCHEDULER(NULL, 0);
	NEEDS_VGPU();
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
	struct actor *high = worker(_metadata, 0, 5, slots, 1, 4 * MS);
	struct kfd_tally tally = { 0 };
	hsa_agent_t gpu = { 0 }, cpu = { 0 };
	hsa_region_t region = { 0 };
	int64_t preemptions, resumes;
	struct kfd_work work;
	hsa_queue_t *queue;
	hsa_signal_t done;
	void *memory;
	uint32_t i;


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
	ASSERT_EQ(0, launches_complete(high, 5, KFD_PACKET_BARRIER));
	EXPECT_GT(hsa_signal_load_scacquire(done), 0);
	EXPECT_GT(counter("preemptions"), preemptions);
	EXPECT_EQ(0, hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_EQ, 0, UINT64_MAX, HSA_WAIT_STATE_BLOCKED));
	kfd_work_tally(&work, &tally);
	EXPECT_EQ(launches * slots * steps, tally.done);
	EXPECT_EQ(0, tally.lost);
	EXPECT_EQ(0, tally.twice);
	EXPECT_EXACTLY_ONCE(high);
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
	EXPECT_EQ(0, KFD_WAIT(__atomic_load_n(&queue_error, __ATOMIC_ACQUIRE), MS, LONG / 2));
	EXPECT_EQ(HSA_STATUS_ERROR_INVALID_PACKET_FORMAT, queue_error);
	self->health.bad_packets++;
	EXPECT_EQ(HSA_STATUS_SUCCESS, hsa_queue_destroy(queue));
	EXPECT_EQ(HSA_STATUS_SUCCESS, hsa_shut_down());
}

TEST_HARNESS_MAIN
