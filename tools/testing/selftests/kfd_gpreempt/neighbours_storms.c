// SPDX-License-Identifier: MIT
/*
 * neighbours_storms.c - what another user can do by calling, all the time and from many threads
 *
 * Assertions are about order, counts, work items and ratios within one run: meaningful in virtual time (the VM's --icount).
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "kselftest_harness.h"

#include "fixture.h"
#include "neighbours.h"
#include "worker.h"

#define STORMERS	4

FIXTURE(storms) {
	BEFORE_TEST;
	struct gpreempt *g;
	struct actor *low;
	struct actor *high;
	struct actor *stormers[STORMERS];
};

FIXTURE_SETUP(storms)
{
	int i;

	SETUP_SCHEDULER(NULL, 0);
	ASSERT_EQ(0, gpreempt_open(&self->g));
	ASSERT_EQ(0, storm_init(gpreempt_fd(self->g)));
	for (i = 0; i < STORMERS; i++)
		self->stormers[i] = stormer(_metadata);
}

FIXTURE_TEARDOWN(storms)
{
	actor_forget_all();
	gpreempt_close(self->g);
	EXPECT_NOTHING_LEFT();
	scheduler_off();
}

/* Something that fills the device for as long as it takes, and something above it that comes and goes. */
static void start_pair(struct __test_metadata *_metadata, FIXTURE_DATA(storms) *self, uint32_t steps, uint32_t requests)
{
	self->low = worker(_metadata, LOW_NICE, 1, self->slots, steps, 10 * MS);
	self->high = worker(_metadata, 0, requests, self->slots, 1, MS);
	ASSERT_EQ(0, actor_submit(self->low, 0, 0, 1, 0));
	ASSERT_EQ(0, actor_wait_progress(self->low, 0, 1, LONG));
}

TEST_F_TIMEOUT(storms, lose_no_work, 120)
{
	enum { STEPS = 40, REQUESTS = 10 };
	int i, kind;

	start_pair(_metadata, self, STEPS, REQUESTS);
	storm_begin(self->stormers, STORMERS, 2, 2, 1, 0);
	for (i = 0; i < REQUESTS; i++) {
		ASSERT_EQ(0, actor_submit(self->high, 0, 0, 1, 0));
		ASSERT_EQ(0, actor_wait(self->high, 0, LONG));
		kfd_sleep_ns(5 * MS);
	}
	EXPECT_EQ(0, storm_end(self->stormers, STORMERS));
	for (kind = LOOP_LIST; kind <= LOOP_UPDATE_QUEUE; kind++) {
		EXPECT_GT(storm->calls[kind], 0);
		EXPECT_EQ(0, storm->errors[kind]);
	}
	ASSERT_EQ(0, actor_wait(self->low, 0, LONG));
	EXPECT_EXACTLY_ONCE(self->low, self->slots * STEPS);
	EXPECT_EXACTLY_ONCE(self->high, self->slots * REQUESTS);
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
}

TEST_HARNESS_MAIN
