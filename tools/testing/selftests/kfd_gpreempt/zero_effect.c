// SPDX-License-Identifier: MIT
/*
 * zero_effect.c - switched on, a node on which no two processes differ in rank is left alone
 *
 * Three equal programs come, work, pause and go, with the scheduler off and on. The device is asked as often for the same: it gets as many
 * runlists, and its registers are read as often. With one niced program that is not so.
 */
#define _GNU_SOURCE
#include "kselftest_harness.h"

#include "fixture.h"
#include "worker.h"

#define PROGRAMS	3
#define TURNS		4

SCHEDULER_FIXTURE(zero_effect, NEEDS_VGPU())

/* What the device was asked for */
struct asked {
	int64_t runlists;
	int64_t unmaps;
	int64_t unmaps_named;
	int64_t wave_reads;
};

static struct asked asked_so_far(void)
{
	return (struct asked){
		.runlists = kfd_vgpu_stat("runlists"),
		.unmaps = kfd_vgpu_stat("unmaps"),
		.unmaps_named = kfd_vgpu_stat("unmaps_named"),
		.wave_reads = kfd_vgpu_stat("wave_reads"),
	};
}

/* It may stay for all turns. */
static struct actor *program(struct __test_metadata *_metadata, int nice, uint32_t waves)
{
	return worker(_metadata, nice, TURNS, waves, 20, MS);
}

/* Programs come, work, pause and go, in each turn another one. The last one has @nice. */
static struct asked live(struct __test_metadata *_metadata, uint32_t waves, int nice)
{
	struct actor *a[PROGRAMS];
	struct asked before = asked_so_far(), after;
	int turn, i;

	for (i = 0; i < PROGRAMS; i++)
		a[i] = program(_metadata, i == PROGRAMS - 1 ? nice : 0, waves);
	for (turn = 0; turn < TURNS; turn++) {
		i = turn % PROGRAMS;
		for (int k = 0; k < PROGRAMS; k++)
			ASSERT_EQ(0, actor_submit(a[k], 0, 0, 1, 0));
		for (int k = 0; k < PROGRAMS; k++)
			ASSERT_EQ(0, actor_wait_all(a[k], LONG));
		/* From no pause to one after which queues are dormant */
		kfd_sleep_ns(turn * 400 * MS);
		ASSERT_EQ(0, actor_stop(a[i]));
		EXPECT_EXACTLY_ONCE(a[i]);
		a[i] = program(_metadata, i == PROGRAMS - 1 ? nice : 0, waves);
	}
	for (i = 0; i < PROGRAMS; i++)
		ASSERT_EQ(0, actor_stop(a[i]));
	ASSERT_EQ(0, wait_no_queues());
	after = asked_so_far();
	return (struct asked){
		.runlists = after.runlists - before.runlists,
		.unmaps = after.unmaps - before.unmaps,
		.unmaps_named = after.unmaps_named - before.unmaps_named,
		.wave_reads = after.wave_reads - before.wave_reads,
	};
}

TEST_F_TIMEOUT(zero_effect, equals_are_left_alone, 300)
{
	uint32_t waves = few_waves(self->slots);
	int64_t arms = counter("doorbell_arms");
	struct asked off, on, differs;

	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 0));
	off = live(_metadata, waves, 0);
	ASSERT_LT(0, off.runlists);
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 1));
	on = live(_metadata, waves, 0);
	TH_LOG("off: %lld runlists, %lld unmaps, %lld reads of waves; on: %lld, %lld, %lld", (long long)off.runlists,
	       (long long)off.unmaps, (long long)off.wave_reads, (long long)on.runlists, (long long)on.unmaps, (long long)on.wave_reads);
	EXPECT_EQ(off.runlists, on.runlists);
	EXPECT_EQ(off.unmaps, on.unmaps);
	EXPECT_EQ(off.unmaps_named, on.unmaps_named);
	EXPECT_EQ(off.wave_reads, on.wave_reads);
	EXPECT_EQ(arms, counter("doorbell_arms"));
	EXPECT_EQ(self->preemptions, counter("preemptions"));

	differs = live(_metadata, waves, LOW_NICE);
	EXPECT_LT(on.runlists, differs.runlists);
	EXPECT_LT(on.wave_reads, differs.wave_reads);
	EXPECT_LT(arms, counter("doorbell_arms"));
}

TEST_HARNESS_MAIN
