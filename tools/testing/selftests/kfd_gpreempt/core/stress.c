// SPDX-License-Identifier: MIT
/*
 * stress.c - queues come and go, the scheduler goes on and off, processes die: many times, at once
 *
 * Meant for a run with real concurrency (two CPUs, no --icount).
 */
#include <signal.h>

#include "kselftest_harness.h"

#include "fixture.h"
#include "worker.h"

FIXTURE(stress) {
	BEFORE_TEST;
};

FIXTURE_SETUP(stress)
{
	SETUP_SCHEDULER("gpreempt_poll_us", 50);
}

FIXTURE_TEARDOWN(stress)
{
	actor_forget_all();
	kfd_param_set("gpreempt_enable", 1);
	EXPECT_NOTHING_LEFT();
	scheduler_defaults();
	kfd_param_set("gpreempt_enable", 0);
}

/* Index of the queue that comes and goes */
#define STORM_QUEUE	1

/*
 * args: rounds. Each round: a new queue, one grid, and the end of the queue; every fourth time in the middle of the
 * grid, which may then be unfinished but never done twice. args[4..6] return done, lost, twice of the finished
 * grids.
 */
static int64_t storm(struct actor *a, const int64_t *args)
{
	struct kfd_queue *q = &a->queue[STORM_QUEUE];
	struct kfd_work *w = &a->work[0];
	struct kfd_tally sum = { 0 };
	int64_t round;
	int err = 0;

	for (round = 0; round < args[0] && !err; round++) {
		struct kfd_tally t = { 0 };
		bool cut = round % 4 == 3;

		kfd_work_init(w, w->kernel, 1, w->waves, w->steps, w->kernel->step_ns);
		kfd_signal_init(a->done[0], 1);
		err = kfd_queue_create(&a->client, q, round & 1 ? KFD_BACKING_GTT : KFD_BACKING_USERPTR,
				       KFD_PRIORITY_NORMAL, 16);
		if (err)
			break;
		err = kfd_work_submit(q, w, a->done[0], 0);
		if (!err)
			err = cut ? actor_wait_progress(a, 0, 1, LONG) : kfd_signal_poll(a->done[0], LONG);
		if (!err)
			err = kfd_queue_destroy(q);
		if (err)
			break;
		kfd_work_tally(w, &t);
		if (!cut) {
			sum.done += t.done;
			sum.lost += t.lost;
		}
		sum.twice += t.twice;
	}
	/* The queue of a failed round is the process's to lose. */
	q->client = NULL;
	a->args[4] = (int64_t)sum.done;
	a->args[5] = (int64_t)sum.lost;
	a->args[6] = (int64_t)sum.twice;
	return err;
}

static struct actor *stormer(struct __test_metadata *_metadata, int nice, uint32_t waves)
{
	struct actor *a = actor_start(nice, ARENA);

	ASSERT_ACTOR(a);
	/*
	 * Without HWS a process has a VMID as long as it has a queue. What it unmaps in between the driver does not invalidate, and the
	 * device tells (Documentation/driver-notes.rst).
	 */
	if (kfd_param_get("sched_policy") == NO_HWS)
		ASSERT_EQ(0, actor_queue(a, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL));
	ASSERT_EQ(0, actor_work(a, 1, waves, 4, 300 * US));
	return a;
}

static void expect_calm(struct __test_metadata *_metadata, struct actor *a, int rounds)
{
	EXPECT_EQ(0, actor_end(a));
	EXPECT_EQ((rounds - rounds / 4) * (int64_t)a->work[0].waves * a->work[0].steps, a->args[4]);
	EXPECT_EQ(0, a->args[5]);
	EXPECT_EQ(0, a->args[6]);
}

TEST_F_TIMEOUT(stress, create_destroy_storm_at_50_us_poll, 300)
{
	enum { ROUNDS = 40 };
	struct actor *hog = worker(_metadata, LOW_NICE, 40, self->slots, 2, 10 * MS);
	struct actor *a[3];
	int64_t preemptions = counter("preemptions");
	int i;

	for (i = 0; i < 3; i++)
		a[i] = stormer(_metadata, 5 - i, self->slots / 4);
	ASSERT_EQ(0, actor_submit(hog, 0, 0, 40, 0));
	for (i = 0; i < 3; i++)
		actor_begin(a[i], storm, ROUNDS, 0, 0, 0);
	for (i = 0; i < 3; i++)
		expect_calm(_metadata, a[i], ROUNDS);
	EXPECT_GT(counter("preemptions"), preemptions);
	ASSERT_DONE_ONCE(hog);
}

TEST_F_TIMEOUT(stress, toggling_while_queues_come_and_go, 300)
{
	enum { ROUNDS = 30 };
	struct actor *hog = worker(_metadata, LOW_NICE, 40, self->slots, 2, 10 * MS);
	struct actor *a[2];
	int i, toggles;

	for (i = 0; i < 2; i++)
		a[i] = stormer(_metadata, 5 * i, self->slots / 4);
	ASSERT_EQ(0, actor_submit(hog, 0, 0, 40, 0));
	for (i = 0; i < 2; i++)
		actor_begin(a[i], storm, ROUNDS, 0, 0, 0);
	for (toggles = 0; toggles < 120; toggles++) {
		ASSERT_EQ(0, kfd_param_set("gpreempt_enable", toggles & 1));
		kfd_sleep_ns((uint64_t)(1 + toggles % 7) * MS);
	}
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 0));
	for (i = 0; i < 2; i++)
		expect_calm(_metadata, a[i], ROUNDS);
	ASSERT_DONE_ONCE(hog);
}

/* Whoever dies, at whatever moment, the survivor's work is done exactly once. */
TEST_F_TIMEOUT(stress, processes_die_at_any_moment, 300)
{
	struct actor *survivor = worker(_metadata, 5, 100, self->slots, 2, 5 * MS);
	int i;

	ASSERT_EQ(0, actor_submit(survivor, 0, 0, 100, 0));
	for (i = 0; i < 12; i++) {
		struct actor *mortal = worker(_metadata, i & 1 ? 0 : LOW_NICE, 1, self->slots, 100, 10 * MS);

		ASSERT_EQ(0, actor_submit(mortal, 0, 0, 1, 0));
		kfd_sleep_ns((uint64_t)i * 700 * US);
		actor_kill(mortal);
		EXPECT_EQ(0, actor_tally(mortal).twice);
	}
	ASSERT_EQ(0, actor_wait(survivor, 0, 2 * LONG));
	EXPECT_EXACTLY_ONCE(survivor);
}

TEST_HARNESS_MAIN
