// SPDX-License-Identifier: MIT
/*
 * stopped.c - gpreempt_follow_stop, of a node, a cgroup or a process: who is stopped or frozen is off the device, and goes on at the same instruction
 *
 * Needs a cgroup file system of version 2 for what is frozen.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "kselftest_harness.h"

#include "fixture.h"
#include "gpreempt.h"
#include "worker.h"

#define CGROUPS		"/sys/fs/cgroup"
#define CGROUP		CGROUPS "/gpreempt-stopped-%d"
#define WITHIN_NS	(20 * MS)
#define STORM		2000
#define KILLED_EVERY	100
#define WORKERS		3

/* Of the cgroup of a worker */
static const char *cgroup_file(int k, const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), CGROUP "%s", k, name);
	return path;
}

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
	for (int k = 0; k < WORKERS; k++)
		rmdir(cgroup_file(k, ""));
	scheduler_off();
}

static bool no_cgroups(void)
{
	return access(CGROUPS "/cgroup.procs", F_OK);
}

static int into_cgroup(const struct actor *a, int k)
{
	char pid[16];

	if (mkdir(cgroup_file(k, ""), 0755) && errno != EEXIST)
		return -errno;
	snprintf(pid, sizeof(pid), "%d", a->pid);
	return kfd_file_write(cgroup_file(k, "/cgroup.procs"), pid);
}

static int freeze(int k, bool on)
{
	return kfd_file_write(cgroup_file(k, "/cgroup.freeze"), on ? "1" : "0");
}

static int follow_target(struct gpreempt_target target, enum gpreempt_follow_stop value)
{
	struct gpreempt *g;
	int error = gpreempt_open(&g);

	if (!error) {
		error = gpreempt_set_param(g, &target, GPREEMPT_PARAM_FOLLOW_STOP, value);
		gpreempt_close(g);
	}
	return error;
}

static int follow(const struct actor *a, enum gpreempt_follow_stop value)
{
	return follow_target(gpreempt_target_process(a->pid, 0), value);
}

static int follow_cgroup(int k, enum gpreempt_follow_stop value)
{
	int error, fd = open(cgroup_file(k, ""), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	error = follow_target(gpreempt_target_cgroup(fd), value);
	close(fd);
	return error;
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
	ASSERT_EQ(0, into_cgroup(a, 0));
	ASSERT_EQ(0, launch_begins(a));
	for (turn = 0; turn < 3; turn++)
		ASSERT_FOLLOWED(a, freeze(0, true), freeze(0, false));
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

/* Two at the same time, of which the node follows none, or both. */
TEST_F_TIMEOUT(stopped, a_process_may_do_something_else_than_its_node, 120)
{
	struct actor *a = worker(_metadata, 0, 1, self->slots / 2, 100, 10 * MS), *b = worker(_metadata, 0, 1, self->slots / 2, 100, 10 * MS);

	ASSERT_EQ(0, kfd_param_set("gpreempt_follow_stop", 0));
	ASSERT_EQ(0, follow(a, GPREEMPT_FOLLOW_STOP_ALWAYS));
	ASSERT_EQ(0, launch_begins(a));
	ASSERT_EQ(0, launch_begins(b));
	ASSERT_EQ(0, stop(b, true));
	ASSERT_FOLLOWED(a, stop(a, true), stop(a, false));
	EXPECT_EQ(0, goes_on(&b->work[0]));
	EXPECT_EQ(0, preempt_count(b, 0));
	ASSERT_EQ(0, follow(a, GPREEMPT_FOLLOW_STOP_NEVER));
	ASSERT_EQ(0, stop(a, true));
	ASSERT_EQ(0, kfd_param_set("gpreempt_follow_stop", 1));
	ASSERT_EQ(0, wait_state(b, 0, "preempted", LONG));
	kfd_sleep_ns(WITHIN_NS);
	EXPECT_EQ(0, goes_on(&a->work[0]));
	EXPECT_EQ(1, preempt_count(a, 0));
	ASSERT_EQ(0, stop(a, false));
	ASSERT_EQ(0, stop(b, false));
	ASSERT_DONE_ONCE(a, b);
}

/* One in it and one beside it, and then a process in it that is told something else. */
TEST_F_TIMEOUT(stopped, a_cgroup_may_do_something_else_than_its_node, 120)
{
	struct actor *a, *b;

	if (no_cgroups())
		SKIP(return, "no cgroup v2 file system at " CGROUPS);
	a = worker(_metadata, 0, 1, self->slots / 2, 100, 10 * MS);
	b = worker(_metadata, 0, 1, self->slots / 2, 100, 10 * MS);
	ASSERT_EQ(0, kfd_param_set("gpreempt_follow_stop", 0));
	ASSERT_EQ(0, into_cgroup(a, 0));
	ASSERT_EQ(0, follow_cgroup(0, GPREEMPT_FOLLOW_STOP_ALWAYS));
	ASSERT_EQ(0, launch_begins(a));
	ASSERT_EQ(0, launch_begins(b));
	ASSERT_EQ(0, stop(b, true));
	ASSERT_FOLLOWED(a, freeze(0, true), freeze(0, false));
	EXPECT_EQ(0, goes_on(&b->work[0]));
	EXPECT_EQ(0, preempt_count(b, 0));
	ASSERT_EQ(0, stop(b, false));
	ASSERT_EQ(0, follow(a, GPREEMPT_FOLLOW_STOP_NEVER));
	ASSERT_EQ(0, stop(a, true));
	kfd_sleep_ns(2 * WITHIN_NS);
	EXPECT_EQ(0, goes_on(&a->work[0]));
	EXPECT_EQ(1, preempt_count(a, 0));
	ASSERT_EQ(0, stop(a, false));
	ASSERT_DONE_ONCE(a, b);
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

/* Stopped, frozen, both or neither: a worker has to be off the device but for the last. */
struct stormy {
	struct actor *a;
	bool is_stopped;
	bool is_frozen;
};

static int change(struct stormy *s, int k, bool how)
{
	if (how) {
		s->is_frozen = !s->is_frozen;
		return freeze(k, s->is_frozen);
	}
	s->is_stopped = !s->is_stopped;
	return stop(s->a, s->is_stopped);
}

/* A new worker, that has work for as long as the storm takes. */
static void begin_stormy(struct __test_metadata *_metadata, struct stormy *s, int k, int slots, uint32_t steps)
{
	*s = (struct stormy){ .a = worker(_metadata, 5 * k, 1, slots, steps, 10 * MS) };
	if (!no_cgroups())
		ASSERT_EQ(0, into_cgroup(s->a, k));
	ASSERT_EQ(0, actor_submit(s->a, 0, 0, 1, 0));
}

static int calm(struct stormy *s, int k)
{
	int error = s->is_frozen ? change(s, k, true) : 0;

	return error || !s->is_stopped ? error : change(s, k, false);
}

/*
 * Stops in any order, in both ways and for any time, of processes of different priority. Some are killed: off the device, or on their way from
 * or to it.
 */
TEST_F_TIMEOUT(stopped, storm_of_stops_and_kills_leaves_nothing_stuck, 900)
{
	struct stormy w[WORKERS];
	uint32_t seed = 12345;
	int i, j, k;

	for (k = 0; k < WORKERS; k++)
		begin_stormy(_metadata, &w[k], k, self->slots, 1000);
	for (i = 1; i <= STORM; i++) {
		seed = seed * 1103515245 + 12345;
		k = (int)(seed >> 16) % WORKERS;
		ASSERT_EQ(0, change(&w[k], k, !no_cgroups() && seed >> 27 & 1));
		kfd_sleep_ns((seed >> 20) % 12 * MS);
		if (i % KILLED_EVERY)
			continue;
		for (j = 0; i % (2 * KILLED_EVERY) && j < WORKERS; j++)
			if (w[j].is_stopped || w[j].is_frozen)
				ASSERT_EQ(0, wait_state(w[j].a, 0, "preempted", LONG));
		actor_kill(w[k].a);
		EXPECT_EQ(0, actor_tally(w[k].a).twice);
		if (w[k].is_frozen)
			ASSERT_EQ(0, freeze(k, false));
		begin_stormy(_metadata, &w[k], k, self->slots, 100);
	}
	for (k = 0; k < WORKERS; k++)
		ASSERT_EQ(0, calm(&w[k], k));
	ASSERT_DONE_ONCE(w[0].a, w[1].a, w[2].a);
}

TEST_HARNESS_MAIN
