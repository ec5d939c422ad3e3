// SPDX-License-Identifier: MIT
/*
 * neighbours_driver.c - what a program can do with the driver's own commands to be left alone, or to get more than it was given
 *
 * Assertions are about order, counts, states and work items: meaningful in virtual time (the VM's --icount).
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "kselftest_harness.h"

#include "fixture.h"
#include "neighbours.h"
#include "disturb.h"

#define STEPS	20

FIXTURE(driver) {
	BEFORE_TEST;
	struct actor *low;
	struct actor *high;
};

FIXTURE_SETUP(driver)
{
	SETUP_SCHEDULER(NULL, 0);
	/* What one preemption has cost shall not put off the next. */
	ASSERT_EQ(0, kfd_param_set("gpreempt_overhead_pct", 0));
}

FIXTURE_TEARDOWN(driver)
{
	TEARDOWN_SCHEDULER();
}

/* Low, a process of nobody, fills the device; high is idle. */
static void start_pair(struct __test_metadata *_metadata, FIXTURE_DATA(driver) *self, uint32_t requests, uint64_t request_ns)
{
	self->low = worker(_metadata, LOW_NICE, 1, self->slots, STEPS, 5 * MS);
	self->high = worker(_metadata, 0, requests, self->slots, 1, request_ns);
	ASSERT_EQ(0, actor_submit(self->low, 0, 0, 1, 0));
	ASSERT_EQ(0, actor_call(self->low, actor_becomes_nobody, 0, 0, 0, 0));
	ASSERT_EQ(0, actor_wait_progress(self->low, 0, 1, LONG));
}

/* Low makes way for one request of high's, and goes on. It is off the device for too short a time to be met there. */
static void expect_to_yield(struct __test_metadata *_metadata, FIXTURE_DATA(driver) *self)
{
	int64_t taken = preempt_count(self->low, 0);
	uint64_t progress = kfd_work_progress(&self->low->work[0]);

	/* It has its waves again after whatever it has called. */
	ASSERT_EQ(0, actor_wait_progress(self->low, 0, progress + 1, LONG));
	ASSERT_EQ(0, launch_completes(self->high));
	EXPECT_FALSE(actor_done(self->low, 0));
	EXPECT_EQ(taken + 1, preempt_count(self->low, 0));
}

static void finish_pair(struct __test_metadata *_metadata, FIXTURE_DATA(driver) *self, uint32_t requests)
{
	ASSERT_DONE_ONCE(self->low, self->high);
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
}

/* ALLOC_QUEUE_GWS: for any program's queue, without a right. */
TEST_F_TIMEOUT(driver, gws_is_no_exemption, 120)
{
	start_pair(_metadata, self, 3, MS);
	ASSERT_GWS_OR_SKIP(self->low);
	expect_to_yield(_metadata, self);
	/* It has it still, for only who has it can give it back; and none of that matters. */
	expect_to_yield(_metadata, self);
	ASSERT_EQ(0, actor_queue_gws(self->low, 0, false));
	expect_to_yield(_metadata, self);
	finish_pair(_metadata, self, 3);
}

static int64_t do_debug_itself(struct actor *a, const int64_t *args)
{
	static int pipes[2];

	if (args[0] == KFD_IOC_DBG_TRAP_ENABLE && pipe(pipes))
		return -errno;
	return debug_trap(a->client.kfd_fd, getpid(), (uint32_t)args[0], pipes[1]);
}

/* DBG_TRAP on the own process takes no right. */
TEST_F_TIMEOUT(driver, debugging_oneself_is_no_exemption, 120)
{
	int64_t skipped = counter("skipped_debugged");

	start_pair(_metadata, self, 2, MS);
	if (actor_call(self->low, do_debug_itself, KFD_IOC_DBG_TRAP_ENABLE, 0, 0, 0))
		SKIP(return, "this driver has no debugger interface");
	expect_to_yield(_metadata, self);
	EXPECT_EQ(skipped, counter("skipped_debugged"));
	ASSERT_EQ(0, actor_call(self->low, do_debug_itself, KFD_IOC_DBG_TRAP_DISABLE, 0, 0, 0));
	expect_to_yield(_metadata, self);
	finish_pair(_metadata, self, 2);
}

static int64_t do_read_wave_state(struct actor *a, const int64_t *args)
{
	struct kfd_ioctl_get_queue_wave_state_args read = {
		.ctl_stack_address = (uintptr_t)a->queue[0].cwsr.ptr, .queue_id = a->queue[0].id,
	};

	return ioctl(a->client.kfd_fd, AMDKFD_IOC_GET_QUEUE_WAVE_STATE, &read) ? -errno : 0;
}

/*
 * GET_QUEUE_WAVE_STATE copies to the save area, which a preempted queue may be restored from at any moment: to a program it runs. What the
 * program itself has taken off stays off.
 */
TEST_F_TIMEOUT(driver, state_of_a_preempted_queue_is_not_read, 120)
{
	/* Higher work for as long as all of this takes on the slowest kernel. */
	start_pair(_metadata, self, 40, 20 * MS);
	EXPECT_EQ(-EINVAL, actor_call(self->low, do_read_wave_state, 0, 0, 0, 0));
	ASSERT_EQ(0, actor_submit(self->high, 0, 0, 40, 0));
	ASSERT_EQ(0, wait_state(self->low, 0, "preempted", LONG));
	EXPECT_EQ(-EINVAL, actor_call(self->low, do_read_wave_state, 0, 0, 0, 0));
	ASSERT_EQ(0, actor_queue_update(self->low, 0, KFD_PRIORITY_NORMAL, 0));
	EXPECT_TRUE(state_is(self->low, 0, "preempted"));
	EXPECT_EQ(0, actor_call(self->low, do_read_wave_state, 0, 0, 0, 0));
	ASSERT_EQ(0, actor_queue_update(self->low, 0, KFD_PRIORITY_NORMAL, 100));
	EXPECT_EQ(-EINVAL, actor_call(self->low, do_read_wave_state, 0, 0, 0, 0));
	ASSERT_EQ(0, actor_wait(self->high, 0, LONG));
	ASSERT_EQ(0, goes_on(&self->low->work[0]));
	finish_pair(_metadata, self, 40);
}

/* Queues until the driver refuses one. Returns what it says then. */
static int fill(struct actor *a, uint32_t *n)
{
	int q;

	for (*n = 0; (q = actor_queue(a, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL)) >= 0; ++*n)
		;
	return q;
}

/*
 * With sched_policy=1 no queue waits for a slot. The slots of preempted queues are free for a
 * while, and not to be given away: the queues come back.
 */
TEST_F_TIMEOUT(driver, preempted_queues_keep_their_slots, 240)
{
	int64_t rotations = kfd_vgpu_stat("rotations");
	struct actor *filler;
	uint32_t n;

	if (kfd_param_get("sched_policy") != 1)
		SKIP(return, "over-subscription is allowed");
	start_pair(_metadata, self, 60, 20 * MS);
	filler = actor_start(LOW_NICE, ARENA);
	ASSERT_ACTOR(filler);
	ASSERT_EQ(-EPERM, fill(filler, &n));
	ASSERT_GT(n, 0);
	ASSERT_EQ(0, actor_queue_destroy(filler, 0));
	ASSERT_LE(0, actor_queue(filler, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL));
	ASSERT_EQ(-EPERM, actor_queue(filler, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL));

	ASSERT_EQ(0, actor_submit(self->high, 0, 0, 60, 0));
	ASSERT_EQ(0, wait_state(self->low, 0, "preempted", LONG));
	EXPECT_EQ(-EPERM, actor_queue(filler, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL));
	EXPECT_TRUE(state_is(self->low, 0, "preempted"));
	EXPECT_FALSE(actor_done(self->high, 0));
	ASSERT_EQ(0, actor_wait(self->high, 0, LONG));
	finish_pair(_metadata, self, 60);
	EXPECT_EQ(rotations, kfd_vgpu_stat("rotations"));
	EXPECT_EQ(0, actor_stop(filler));
}

TEST_HARNESS_MAIN
