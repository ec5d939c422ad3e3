// SPDX-License-Identifier: MIT
/*
 * stopped.c - gpreempt_follow_stop: a process that is stopped or frozen is off the device, and goes on at the same instruction
 *
 * Needs a cgroup file system of version 2 for what is frozen.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/stat.h>

#include "kselftest_harness.h"

#include "fixture.h"
#include "worker.h"

#define CGROUPS		"/sys/fs/cgroup"
#define CGROUP		CGROUPS "/gpreempt-stopped"
#define WITHIN_NS	(20 * MS)
#define STORM		1000
#define KILLED_EVERY	100
#define WORKERS		3

FIXTURE(stopped) {
	BEFORE_TEST;
	int64_t destroyed;
};

FIXTURE_SETUP(stopped)
{
	SETUP_SCHEDULER("gpreempt_follow_stop", 1);
	self->destroyed = counter("destroyed_preempted");
}

/* What was taken off has come back, or has ended. */
FIXTURE_TEARDOWN(stopped)
{
	actor_forget_all();
	EXPECT_NOTHING_LEFT();
	EXPECT_EQ(counter("preemptions") - self->preemptions, counter("resumes") - self->resumes + counter("destroyed_preempted") - self->destroyed);
	rmdir(CGROUP);
	scheduler_off();
}

static bool no_cgroups(void)
{
	return access(CGROUPS "/cgroup.procs", F_OK);
}

static int into_cgroup(const struct actor *a)
{
	char pid[16];

	if (mkdir(CGROUP, 0755) && errno != EEXIST)
		return -errno;
	snprintf(pid, sizeof(pid), "%d", a->pid);
	return kfd_file_write(CGROUP "/cgroup.procs", pid);
}

static int freeze(bool on)
{
	return kfd_file_write(CGROUP "/cgroup.freeze", on ? "1" : "0");
}

static int stop(const struct actor *a, bool on)
{
	return kill(a->pid, on ? SIGSTOP : SIGCONT);
}

/* Off the device soon, for as long as it is stopped, and then it goes on. */
#define ASSERT_FOLLOWED(a, how_on, how_off) do { \
	ASSERT_EQ(0, how_on); \
	kfd_sleep_ns(WITHIN_NS); \
	EXPECT_TRUE(state_is(a, 0, "preempted")); \
	EXPECT_TRUE(stands_still(&(a)->work[0], 100 * MS)); \
	ASSERT_EQ(0, how_off); \
	EXPECT_EQ(0, goes_on(&(a)->work[0])); \
	EXPECT_FALSE(state_is(a, 0, "preempted")); \
} while (0)

/* Alone on the device, where the node is parked otherwise. */
TEST_F_TIMEOUT(stopped, stopped_process_is_off_the_device_and_goes_on, 120)
{
	struct actor *a = worker(_metadata, 0, 1, self->slots, 100, 10 * MS);
	int turn;

	ASSERT_EQ(0, launch_begins(a));
	for (turn = 0; turn < 3; turn++)
		ASSERT_FOLLOWED(a, stop(a, true), stop(a, false));
	EXPECT_EQ(3, preempt_count(a, 0));
	ASSERT_DONE_ONCE(a);
}

TEST_F_TIMEOUT(stopped, frozen_cgroup_is_off_the_device_and_goes_on, 120)
{
	struct actor *a;
	int turn;

	if (no_cgroups())
		SKIP(return, "no cgroup v2 file system at " CGROUPS);
	a = worker(_metadata, 0, 1, self->slots, 100, 10 * MS);
	ASSERT_EQ(0, into_cgroup(a));
	ASSERT_EQ(0, launch_begins(a));
	for (turn = 0; turn < 3; turn++)
		ASSERT_FOLLOWED(a, freeze(true), freeze(false));
	EXPECT_EQ(3, preempt_count(a, 0));
	ASSERT_DONE_ONCE(a);
}

/* What it leaves is the others'. */
TEST_F_TIMEOUT(stopped, lower_work_has_the_device_meanwhile, 120)
{
	struct actor *high = worker(_metadata, 0, 1, self->slots, 40, 10 * MS), *low = worker(_metadata, LOW_NICE, 1, self->slots, 10, 10 * MS);

	ASSERT_EQ(0, launch_begins(high));
	ASSERT_EQ(0, actor_submit(low, 0, 0, 1, 0));
	EXPECT_TRUE(stands_still(&low->work[0], 50 * MS));
	ASSERT_EQ(0, stop(high, true));
	ASSERT_EQ(0, actor_wait(low, 0, LONG));
	EXPECT_FALSE(actor_done(high, 0));
	ASSERT_EQ(0, stop(high, false));
	ASSERT_DONE_ONCE(high, low);
}

TEST_F_TIMEOUT(stopped, without_it_a_stopped_process_keeps_the_device, 60)
{
	struct actor *a = worker(_metadata, 0, 1, self->slots, 30, 10 * MS);

	ASSERT_EQ(0, kfd_param_set("gpreempt_follow_stop", 0));
	ASSERT_EQ(0, launch_begins(a));
	ASSERT_EQ(0, stop(a, true));
	kfd_sleep_ns(2 * WITHIN_NS);
	EXPECT_EQ(0, goes_on(&a->work[0]));
	ASSERT_EQ(0, stop(a, false));
	ASSERT_DONE_ONCE(a);
	EXPECT_EQ(0, preempt_count(a, 0));
}

TEST_F_TIMEOUT(stopped, switched_off_it_gives_back_what_is_stopped, 60)
{
	struct actor *a = worker(_metadata, 0, 1, self->slots, 30, 10 * MS);

	ASSERT_EQ(0, launch_begins(a));
	ASSERT_EQ(0, stop(a, true));
	ASSERT_EQ(0, wait_state(a, 0, "preempted", LONG));
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 0));
	EXPECT_EQ(0, goes_on(&a->work[0]));
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 1));
	ASSERT_EQ(0, wait_state(a, 0, "preempted", LONG));
	ASSERT_EQ(0, stop(a, false));
	ASSERT_DONE_ONCE(a);
}

/* Stops in any order and for any time, of processes of different priority, and some are killed while they are stopped. */
TEST_F_TIMEOUT(stopped, storm_of_stops_and_kills_leaves_nothing_stuck, 900)
{
	struct actor *a[WORKERS];
	bool is[WORKERS] = { false };
	uint32_t seed = 12345;
	int i, k;

	for (k = 0; k < WORKERS; k++) {
		a[k] = worker(_metadata, 5 * k, 1, self->slots, 1000, 10 * MS);
		ASSERT_EQ(0, actor_submit(a[k], 0, 0, 1, 0));
	}
	for (i = 1; i <= STORM; i++) {
		seed = seed * 1103515245 + 12345;
		k = (int)(seed >> 16) % WORKERS;
		is[k] = !is[k];
		ASSERT_EQ(0, stop(a[k], is[k]));
		kfd_sleep_ns((seed >> 20) % 12 * MS);
		if (i % KILLED_EVERY)
			continue;
		ASSERT_EQ(0, stop(a[k], true));
		if (i % (2 * KILLED_EVERY))
			ASSERT_EQ(0, wait_state(a[k], 0, "preempted", LONG));
		actor_kill(a[k]);
		EXPECT_EQ(0, actor_tally(a[k]).twice);
		is[k] = false;
		a[k] = worker(_metadata, 5 * k, 1, self->slots, 100, 10 * MS);
		ASSERT_EQ(0, actor_submit(a[k], 0, 0, 1, 0));
	}
	for (k = 0; k < WORKERS; k++)
		ASSERT_EQ(0, stop(a[k], false));
	ASSERT_DONE_ONCE(a[0], a[1], a[2]);
}

TEST_HARNESS_MAIN
