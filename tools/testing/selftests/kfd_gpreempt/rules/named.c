// SPDX-License-Identifier: MIT
/*
 * named.c - gpreempt_unmap=named: victims leave the device and return, and nothing else stands still for it
 *
 * Needs HWS. Assertions are about counters of the device, order and work items.
 */

#include "kselftest_harness.h"

#include "fixture.h"
#include "gpreempt.h"
#include "worker.h"

#define REQUESTS	10

SCHEDULER_FIXTURE(named, kfd_longest_poll_ns = MS)

/*
 * A request of HIGH begins: somebody has left the device for it. It lasts until the flag is set: there is room for it beside the others, and if it were
 * over before the scheduler looks, which is soon or late by what a look takes, nobody would have to leave. Returns its work.
 */
static int begin_request(struct __test_metadata *_metadata, struct actor *high, uint32_t waves)
{
	int64_t preemptions = counter("preemptions");
	volatile uint64_t *flag = actor_common_flag();
	int work = actor_work(high, 1, waves, 1, MS);

	ASSERT_LE(0, work);
	*flag = 0;
	kfd_work_wait_for(&high->work[work], flag);
	ASSERT_EQ(0, actor_submit(high, 0, work, 1, 0));
	ASSERT_EQ(0, wait_counter("preemptions", preemptions + 1, LONG));
	return work;
}

/* And ends; the victim comes back. */
static void end_request(struct __test_metadata *_metadata, struct actor *high, int work, int64_t resumes)
{
	*actor_common_flag() = 1;
	ASSERT_EQ(0, actor_wait(high, work, LONG));
	ASSERT_EQ(0, wait_counter("resumes", resumes + 1, LONG));
}

/* One whose work is done before the next one; the victim is back then. */
static void request(struct __test_metadata *_metadata, struct actor *high, int64_t resumes)
{
	end_request(_metadata, high, begin_request(_metadata, high, 4), resumes);
	kfd_sleep_ns(5 * MS);
}

static void exempt(struct __test_metadata *_metadata, const struct actor *a)
{
	struct gpreempt_target target = gpreempt_target_process(a->pid, 0);
	struct gpreempt *g;

	ASSERT_EQ(0, gpreempt_open(&g));
	ASSERT_EQ(0, gpreempt_set_param(g, &target, GPREEMPT_PARAM_EXEMPT, 1));
	gpreempt_close(g);
}

/* Low, a third program of the same priority that is exempt, and high all have room on the device side by side. */
TEST_F_TIMEOUT(named, bystanders_keep_their_waves, 240)
{
	struct actor *low = worker(_metadata, LOW_NICE, 1, self->slots / 4, 400, 10 * MS);
	struct actor *beside = worker(_metadata, LOW_NICE, 1, self->slots / 4, 400, 10 * MS);
	struct actor *high = with_queue(_metadata, 0);
	int64_t runlists, saved, named, preemptions, resumes;
	int i;

	NEEDS_VGPU();
	if (kfd_param_get("sched_policy") == NO_HWS)
		SKIP(return, "the driver takes queues off one by one (sched_policy=2)");
	exempt(_metadata, beside);
	ASSERT_EQ(0, kfd_param_set_text("gpreempt_unmap", "named"));
	ASSERT_EQ(0, launch_begins(low));
	ASSERT_EQ(0, launch_begins(beside));
	/* The first ones may be runlists: of what the driver has sent since. */
	for (i = 0; i < 2; i++)
		request(_metadata, high, counter("resumes"));

	runlists = kfd_vgpu_stat("runlists");
	saved = kfd_vgpu_stat("waves_saved");
	named = kfd_vgpu_stat("unmaps_named");
	preemptions = counter("preemptions");
	resumes = counter("resumes");
	for (i = 0; i < REQUESTS; i++)
		request(_metadata, high, resumes + i);
	EXPECT_EQ(preemptions + REQUESTS, counter("preemptions"));
	EXPECT_EQ(runlists, kfd_vgpu_stat("runlists"));
	EXPECT_EQ(named + REQUESTS * low->client.num_xcc, kfd_vgpu_stat("unmaps_named"));
	EXPECT_EQ(saved + REQUESTS * self->slots / 4, kfd_vgpu_stat("waves_saved"));
	EXPECT_FALSE(actor_done(low, 0));
	EXPECT_FALSE(actor_done(beside, 0));
	ASSERT_DONE_ONCE(low, beside, high);
	EXPECT_STOPPED(low, beside, high);
}

/* Queues, processes and settings that come and go meanwhile: the driver's runlists and names take turns. */
TEST_F_TIMEOUT(named, names_and_runlists_take_turns, 240)
{
	struct actor *low = worker(_metadata, LOW_NICE, 1, self->slots / 2, 2000, 10 * MS);
	struct actor *high = with_queue(_metadata, 0), *other;
	int i;

	if (kfd_param_get("sched_policy") == NO_HWS)
		SKIP(return, "the driver takes queues off one by one (sched_policy=2)");
	ASSERT_EQ(0, kfd_param_set_text("gpreempt_unmap", "named"));
	ASSERT_EQ(0, launch_begins(low));
	for (i = 0; i < REQUESTS; i++) {
		int64_t resumes = counter("resumes");
		int work = begin_request(_metadata, high, self->slots);

		other = NULL;
		if (i % 3 == 1) {
			other = worker(_metadata, LOW_NICE, 1, self->slots / 4, 2, MS);
			ASSERT_EQ(0, actor_submit(other, 0, 0, 1, 0));
		} else if (i % 3 == 2) {
			ASSERT_EQ(0, actor_queue_update(high, 0, KFD_PRIORITY_NORMAL, 100));
			ASSERT_EQ(0, kfd_param_set_text("gpreempt_unmap", i % 2 ? "all" : "named"));
		}
		end_request(_metadata, high, work, resumes);
		if (!other)
			continue;
		ASSERT_DONE_ONCE(other);
		EXPECT_STOPPED(other);
	}
	ASSERT_DONE_ONCE(low, high);
	EXPECT_STOPPED(low, high);
}

TEST_HARNESS_MAIN
