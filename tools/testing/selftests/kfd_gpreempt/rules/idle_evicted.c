// SPDX-License-Identifier: MIT
/*
 * idle_evicted.c - amdgpu.keep_idle_process_evicted of AMD's own driver: an evicted process that is idle stays off until it writes a doorbell
 *
 * The driver withdraws doorbells itself then, and the scheduler does not. Fills VRAM.
 */
#define _GNU_SOURCE
#include <sys/klog.h>

#include "kselftest_harness.h"

#include "outside.h"
#include "disturb.h"

#define VRAM_LIMIT	(4ull << 30)
#define RESTORE_NS	(2 * SECOND)	/* the driver waits so long before it puts a process back (PROCESS_RESTORE_TIME_MS) */
#define POLLS		"gpreempt_wakeup=doorbell is as poll: amdgpu.keep_idle_process_evicted"

/* ---- inside an actor ---- */

static struct kfd_evictions watched;

/* Has so many bytes of VRAM, and counts its evictions */
static int64_t do_own_vram(struct actor *a, const int64_t *args)
{
	static struct kfd_buffer buffer;
	int err = kfd_buffer_place(&a->client, KFD_IN_VRAM, NULL, (size_t)args[0], KFD_ACCESS_ALL, &buffer);

	return err ? err : kfd_evictions_watch(&a->client, &watched);
}

/* args[4..5]: evictions, restores */
static int64_t do_count(struct actor *a, const int64_t *args)
{
	int err = kfd_evictions_update(&watched);

	a->args[4] = watched.evictions;
	a->args[5] = watched.restores;
	return err;
}

/* ---- from outside ---- */

static int64_t evictions(struct actor *a)
{
	int64_t err = actor_call(a, do_count, 0, 0, 0, 0);

	return err ? err : a->args[4];
}

static int64_t restores(struct actor *a)
{
	int64_t err = actor_call(a, do_count, 0, 0, 0, 0);

	return err ? err : a->args[5];
}

static int times_in_log(const char *text)
{
	static char log[1 << 20];
	int bytes = klogctl(3 /* SYSLOG_ACTION_READ_ALL */, log, sizeof(log) - 1), times = 0;
	const char *at;

	log[bytes > 0 ? bytes : 0] = '\0';
	for (at = log; (at = strstr(at, text)); at++)
		times++;
	return times;
}

OUTSIDE_FIXTURE(idle_evicted)

/* A process that has VRAM, and a work of one launch */
static struct actor *vram_user(struct __test_metadata *_metadata, uint32_t waves, uint32_t steps)
{
	struct actor *a = worker(_metadata, 0, 1, waves, steps, 5 * MS);

	ASSERT_EQ(0, actor_call(a, do_own_vram, (int64_t)(vram_bytes() / 4), 0, 0, 0));
	return a;
}

/* Its VRAM goes, and is free again. */
static void evict(struct __test_metadata *_metadata, struct actor *a)
{
	struct hog hog;

	ASSERT_EQ(0, hog_open(&hog, vram_bytes() / 16));
	while (!evictions(a) && hog.chunks < 15)
		ASSERT_EQ(0, hog_more(&hog));
	EXPECT_EQ(0, hog_close(&hog));
	ASSERT_EQ(1, evictions(a));
}

static const char *missing(void)
{
	if (kfd_param_get("keep_idle_process_evicted") <= 0)
		return "amdgpu.keep_idle_process_evicted is off, or the driver has no such parameter";
	return vram_bytes() > VRAM_LIMIT ? "it would have to fill more than 4 GiB of VRAM" : NULL;
}

TEST_F(idle_evicted, doorbell_mode_polls_and_says_so_once)
{
	struct actor *low, *high;
	int i;

	NEEDS(missing());
	ASSERT_EQ(0, kfd_param_set_text("gpreempt_wakeup", "doorbell"));
	low = worker(_metadata, LOW_NICE, 1, self->slots, 100, 5 * MS);
	high = worker(_metadata, 0, 2, self->slots, 1, 5 * MS);
	ASSERT_EQ(0, launch_begins(low));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, actor_submit(high, 0, 0, 1, 0));
		kfd_sleep_ns(20 * MS);
	}
	ASSERT_ENDS_BEFORE(high, low);
	EXPECT_GE(counter("preemptions"), self->preemptions + 1);
	EXPECT_EQ(0, counter("doorbell_faults"));
	EXPECT_EQ(0, counter("doorbell_arms"));
	EXPECT_EQ(1, times_in_log(POLLS));
	ASSERT_DONE_ONCE(low);
	kfd_param_set_text("gpreempt_wakeup", "auto");
}

/* Who is below goes on. (A doorbell would bring it back, but in 6.12.12 its writer faults for ever: driver-notes.rst.) */
TEST_F_TIMEOUT(idle_evicted, idle_process_stays_off_and_asks_for_nothing, 120)
{
	struct actor *low, *high;

	NEEDS(missing());
	low = worker(_metadata, LOW_NICE, 1, self->slots / 4, 400, 10 * MS);
	high = vram_user(_metadata, self->slots / 2, 2);
	evict(_metadata, high);
	ASSERT_EQ(0, launch_begins(low));
	kfd_sleep_ns(RESTORE_NS + SECOND);
	EXPECT_EQ(0, restores(high));
	EXPECT_FALSE(actor_done(low, 0));
	ASSERT_DONE_ONCE(low);
	EXPECT_EQ(self->preemptions, counter("preemptions"));
}

/* MQDs do not know of work that came while a queue was preempted, and it writes no other doorbell: its process is not idle. */
TEST_F_TIMEOUT(idle_evicted, work_of_a_preempted_queue_brings_its_process_back, 120)
{
	struct actor *a;

	NEEDS(missing());
	a = vram_user(_metadata, self->slots / 2, 2);
	ASSERT_EQ(1, gpreempt_preempt(self->g, AT(queue_of(a)), 0, 0));
	ASSERT_EQ(0, actor_submit(a, 0, 0, 1, 0));
	evict(_metadata, a);
	EXPECT_EQ(0, KFD_WAIT(restores(a) == 1, MS, 2 * RESTORE_NS));
	EXPECT_TRUE(state_is(a, 0, "preempted"));
	EXPECT_EQ(0, kfd_work_progress(&a->work[0]));
	ASSERT_EQ(1, gpreempt_resume(self->g, AT(queue_of(a))));
	ASSERT_DONE_ONCE(a);
}

TEST_HARNESS_MAIN
