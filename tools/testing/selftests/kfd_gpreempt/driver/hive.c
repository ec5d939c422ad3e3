// SPDX-License-Identifier: MIT
/*
 * hive.c - devices that xGMI links connect: they reach each other's memory, and waves that do are preempted as others are
 *
 * Needs two GPUs in a hive (vgpu.gpus=2 vgpu.xgmi=1).
 */
#define _GNU_SOURCE
#include "kselftest_harness.h"

#include "fixture.h"
#include "gpus.h"
#include "worker.h"

#define BYTES		(64u << 10)
#define WORDS		(BYTES / 4)
#define SDMA_COPY	1u
#define SDMA_FENCE	5u
#define LO(p)		((uint32_t)(uintptr_t)(p))
#define HI(p)		((uint32_t)((uint64_t)(uintptr_t)(p) >> 32))

static const char *hive_missing(void)
{
	const char *missing = gpus_missing();

	return missing || xgmi_links() ? missing : "no xGMI link connects GPUs";
}

FIXTURE(hive) {
	BEFORE_TEST;
	struct kfd_client client[2];
};

FIXTURE_SETUP(hive)
{
	kfd_wanted_gpu_id = 0;
	NEEDS(hive_missing());
	kfd_wanted_gpu_id = ids[0];
	SETUP_SCHEDULER(NULL, 0);
}

FIXTURE_TEARDOWN(hive)
{
	kfd_wanted_gpu_id = ids[0];
	TEARDOWN_SCHEDULER();
}

static int open_both(struct kfd_client *client)
{
	int i, err = 0;

	for (i = 0; i < 2 && !err; i++) {
		kfd_wanted_gpu_id = ids[i];
		err = kfd_client_open(&client[i]);
	}
	kfd_wanted_gpu_id = ids[0];
	return err;
}

TEST_F(hive, links_connect_all_devices)
{
	EXPECT_EQ(nr_gpus * (nr_gpus - 1), xgmi_links());
}

/* Once each way: what is written by one is in the other's memory, and only there */
TEST_F(hive, sdma_copies_between_devices)
{
	struct kfd_buffer vram[2], host;
	volatile uint32_t *done;
	int from, i;

	ASSERT_EQ(0, open_both(self->client));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, kfd_buffer_place(&self->client[i], KFD_IN_VRAM, NULL, BYTES, KFD_ACCESS_ALL, &vram[i]));
		ASSERT_EQ(0, map_to_other(&self->client[!i], &vram[i]));
	}
	ASSERT_EQ(0, kfd_buffer_gtt(&self->client[0], KFD_PAGE_BYTES, &host));
	ASSERT_EQ(0, map_to_other(&self->client[1], &host));
	done = host.ptr;
	for (from = 0; from < 2; from++) {
		volatile uint32_t *source = vram[from].ptr, *target = vram[!from].ptr;
		const uint32_t packets[] = {
			SDMA_COPY, BYTES - 1, 0, LO(source), HI(source), LO(target), HI(target),
			SDMA_FENCE, LO(&done[from]), HI(&done[from]), 1,
		};
		struct kfd_queue q;
		uint32_t wrong = 0;

		for (i = 0; i < (int)WORDS; i++) {
			source[i] = (uint32_t)i * 2654435761u + (uint32_t)from;
			target[i] = 0;
		}
		done[from] = 0;
		ASSERT_EQ(0, kfd_queue_create_kind(&self->client[from], &q, KFD_QUEUE_SDMA_XGMI, KFD_BACKING_GTT, KFD_PRIORITY_NORMAL,
						   KFD_PAGE_BYTES));
		ASSERT_EQ(0, kfd_ring_submit(&q, packets, sizeof(packets) / 4, 0));
		ASSERT_EQ(0, KFD_WAIT(done[from] == 1, MS, LONG));
		for (i = 0; i < (int)WORDS; i++)
			wrong += target[i] != (uint32_t)i * 2654435761u + (uint32_t)from;
		EXPECT_EQ(0, wrong);
		ASSERT_EQ(0, kfd_queue_destroy(&q));
	}
	kfd_client_close(&self->client[0]);
	kfd_client_close(&self->client[1]);
}

/* Waves on one device count in the other's memory, and are preempted there as anywhere. */
TEST_F(hive, kernel_that_works_in_the_others_memory_is_preempted_exactly_once)
{
	const uint32_t waves = self->slots, steps = 40;
	size_t bytes = kfd_work_bytes(1, waves, steps);
	struct actor *high = worker(_metadata, 0, 1, waves, 4, MS);
	struct kfd_tally tally = { 0 };
	struct kfd_buffer vram, host;
	struct kfd_signal *done;
	struct kfd_queue q;
	struct kfd_work w;

	ASSERT_EQ(0, open_both(self->client));
	ASSERT_EQ(0, kfd_buffer_place(&self->client[1], KFD_IN_VRAM, NULL, bytes, KFD_ACCESS_ALL, &vram));
	ASSERT_EQ(0, map_to_other(&self->client[0], &vram));
	ASSERT_EQ(0, kfd_buffer_gtt(&self->client[0], KFD_PAGE_BYTES, &host));
	done = host.ptr;
	kfd_signal_init(done, 1);
	kfd_work_init(&w, vram.ptr, 1, waves, steps, 5 * MS);
	ASSERT_EQ(0, kfd_queue_create(&self->client[0], &q, KFD_BACKING_GTT, 0, 64));
	ASSERT_EQ(0, kfd_param_set("gpreempt_trust_kfd_priority", 1));
	ASSERT_EQ(0, kfd_work_submit(&q, &w, done, 0));
	ASSERT_EQ(0, KFD_WAIT(kfd_work_progress(&w) > 0, MS, LONG));
	ASSERT_EQ(0, launch_completes(high));
	EXPECT_GT(done->value, 0);
	EXPECT_GT(counter("preemptions"), self->preemptions);
	ASSERT_EQ(0, kfd_signal_poll(done, LONG));
	kfd_work_tally(&w, &tally);
	EXPECT_EQ((uint64_t)waves * steps, tally.done);
	EXPECT_EQ(0, tally.lost + tally.twice);
	EXPECT_EXACTLY_ONCE(high);
	ASSERT_EQ(0, kfd_queue_destroy(&q));
	kfd_client_close(&self->client[0]);
	kfd_client_close(&self->client[1]);
}

TEST_HARNESS_MAIN
