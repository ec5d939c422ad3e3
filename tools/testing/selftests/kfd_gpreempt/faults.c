// SPDX-License-Identifier: MIT
/*
 * faults.c - negative controls: a device that saves wrongly must be noticed
 *
 * The exactly-once checks of the other tests prove something only if they fail on a device that forgets. Each test
 * needs a virtual GPU that was loaded with the mutation it names (vgpu.ko fault=...), and is skipped on any other.
 */
#include <fcntl.h>

#include "kselftest_harness.h"

#include "fixture.h"

#define FAULT_PARAMETER	"/sys/module/vgpu/parameters/fault"

static bool fault_loaded(const char *name)
{
	char text[128] = "";
	int fd = open(FAULT_PARAMETER, O_RDONLY);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	return n > 0 && strstr(text, name);
}

/* A grid is interrupted by the driver (an update of another queue) or by the scheduler; returns what its items say. */
static struct kfd_tally interrupted_grid(struct __test_metadata *_metadata, bool by_scheduler)
{
	struct actor *low = actor_start(LOW_NICE, ARENA);
	struct actor *high = actor_start(0, ARENA);
	uint32_t slots = (uint32_t)kfd_vgpu_stat("wave_slots");

	ASSERT_ACTOR(low);
	ASSERT_ACTOR(high);
	ASSERT_EQ(0, actor_queue(low, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL));
	ASSERT_EQ(0, actor_queue(high, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL));
	ASSERT_EQ(0, actor_work(low, 2, slots, 20, 10 * MS));
	ASSERT_EQ(0, actor_work(high, 1, slots, 2, 5 * MS));
	ASSERT_EQ(0, actor_submit(low, 0, 0, 2, 0));
	ASSERT_EQ(0, actor_wait_progress(low, 0, slots, LONG));
	if (by_scheduler) {
		ASSERT_EQ(0, actor_submit(high, 0, 0, 1, 0));
		EXPECT_EQ(0, actor_wait(high, 0, LONG));
	} else {
		ASSERT_EQ(0, actor_queue_update(high, 0, 6, 100));
	}
	/* It may never complete. Work that is lost is lost after three times its duration. */
	actor_wait(low, 0, 1200 * MS);
	return actor_tally(low);
}

FIXTURE(fault) {
};

FIXTURE_SETUP(fault)
{
	const char *missing = scheduler_missing();

	if (missing)
		SKIP(return, "%s", missing);
	ASSERT_EQ(0, scheduler_defaults());
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 1));
}

FIXTURE_TEARDOWN(fault)
{
	actor_forget_all();
	kfd_param_set("gpreempt_enable", 0);
}

#define FAULT_TEST(_fault) \
TEST_F(fault, _fault##_under_the_driver_is_noticed) \
{ \
	struct kfd_tally t; \
	if (!fault_loaded(#_fault)) \
		SKIP(return, "vgpu.ko was not loaded with fault=" #_fault); \
	t = interrupted_grid(_metadata, false); \
	TH_LOG("done %llu lost %llu twice %llu", (unsigned long long)t.done, (unsigned long long)t.lost, \
	       (unsigned long long)t.twice); \
	EXPECT_GT(t.lost + t.twice, 0); \
} \
TEST_F(fault, _fault##_under_the_scheduler_is_noticed) \
{ \
	struct kfd_tally t; \
	if (!fault_loaded(#_fault)) \
		SKIP(return, "vgpu.ko was not loaded with fault=" #_fault); \
	t = interrupted_grid(_metadata, true); \
	TH_LOG("done %llu lost %llu twice %llu", (unsigned long long)t.done, (unsigned long long)t.lost, \
	       (unsigned long long)t.twice); \
	EXPECT_GT(t.lost + t.twice, 0); \
}

FAULT_TEST(stale_mqd)
FAULT_TEST(stale_ctl_stack)

TEST_HARNESS_MAIN
