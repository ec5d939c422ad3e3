// SPDX-License-Identifier: MIT
/*
 * queue_class.c - what GPREEMPT_QUEUE_CLASS does to two queues of one process
 *
 * Run with libgpreempt-preload.so in LD_PRELOAD. Needs the scheduler and the virtual GPU.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/capability.h>
#include <sys/syscall.h>

#include "kselftest_harness.h"

#include "fixture.h"
#include "worker.h"

FIXTURE(queue_class) {
	BEFORE_TEST;
};

FIXTURE_SETUP(queue_class)
{
	if (!dlsym(RTLD_DEFAULT, "gpreempt_preload"))
		SKIP(return, "libgpreempt-preload.so is not in LD_PRELOAD");
	SETUP_SCHEDULER(NULL, 0);
	NEEDS_VGPU();
}

FIXTURE_TEARDOWN(queue_class)
{
	TEARDOWN_SCHEDULER();
}

static bool drop_nice(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data))
		return false;
	data[0].effective &= ~(1U << CAP_SYS_NICE);
	data[0].permitted &= ~(1U << CAP_SYS_NICE);
	return !syscall(SYS_capset, &header, data);
}

/* A process with two queues, of which the second one asks for @priority after it was made, as ROCr does. Its first one is at work when that gets some. */
static struct actor *two_queues(struct __test_metadata *_metadata, uint32_t slots, const char *classes, uint32_t priority)
{
	struct actor *a;

	setenv("GPREEMPT_QUEUE_CLASS", classes, 1);
	a = worker(_metadata, 0, 1, slots, 50, 10 * MS);
	ASSERT_EQ(1, actor_queue(a, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL));
	ASSERT_EQ(0, actor_queue_update(a, 1, priority, 100));
	ASSERT_EQ(1, actor_work(a, 1, 8, 5, MS));
	ASSERT_EQ(0, launch_begins(a));
	ASSERT_EQ(0, actor_submit(a, 1, 1, 1, 0));
	return a;
}

/* Its second queue ends while the first is preempted, and both do their work once. */
static void expect_second_first(struct __test_metadata *_metadata, struct actor *a)
{
	ASSERT_EQ(0, actor_wait(a, 1, LONG));
	EXPECT_FALSE(actor_done(a, 0));
	EXPECT_LE(1, preempt_count(a, 0));
	EXPECT_EQ(0, preempt_count(a, 1));
	ASSERT_DONE_ONCE(a);
}

TEST_F(queue_class, urgent_queue_preempts_one_of_its_own_process)
{
	struct actor *a = two_queues(_metadata, self->slots, "0:batch,1:latency", KFD_PRIORITY_NORMAL);

	expect_second_first(_metadata, a);
}

/* Without the right to come before others it comes before its own. */
TEST_F(queue_class, order_within_a_process_takes_no_right)
{
	struct actor *a;

	ASSERT_TRUE(drop_nice());
	a = two_queues(_metadata, self->slots, "*:normal,1:latency", KFD_PRIORITY_NORMAL);
	expect_second_first(_metadata, a);
}

/* What becomes of a HIP stream of high priority, where that arrives. */
TEST_F(queue_class, priority_that_arrives_preempts_normal_ones)
{
	struct actor *a = two_queues(_metadata, self->slots, "*:normal", 11);

	expect_second_first(_metadata, a);
}

/* The urgent queue might wait for it. */
TEST_F(queue_class, queue_without_a_class_stays)
{
	struct actor *a = two_queues(_metadata, self->slots / 2, "1:latency", KFD_PRIORITY_NORMAL);

	ASSERT_EQ(0, actor_wait(a, 1, LONG));
	EXPECT_FALSE(actor_done(a, 0));
	EXPECT_EQ(0, preempt_count(a, 0));
	EXPECT_EQ(0, preempt_count(a, 1));
	ASSERT_DONE_ONCE(a);
}

TEST_HARNESS_MAIN
