// SPDX-License-Identifier: MIT
/*
 * oversub.c - more queues than slots, more processes than VMIDs; what else decides about the hardware: priorities, CU
 * masks, GWS
 *
 * Each test of the fixture runs with the scheduler off and on: the device shares by turns in both cases, and the
 * scheduler has no reason to do anything among equals. Idle processes stay: suite idle is about those that leave.
 * Numbers of processes and queues are for a device with up to 16 VMIDs and 32 slots.
 */
#include "kselftest_harness.h"

#include "fixture.h"

#define QUEUES		65
#define PROCESSES	20
#define MORE_QUEUES_THAN_SLOTS	34
#define MAX_CUS		512
#define SMALL_ARENA	(256u << 10)	/* twenty of them are registered with KFD page by page */

FIXTURE(oversub) {
	BEFORE_TEST;
};

FIXTURE_VARIANT(oversub) {
	int64_t scheduler;
};

FIXTURE_VARIANT_ADD(oversub, off) {
	.scheduler = 0,
};

FIXTURE_VARIANT_ADD(oversub, on) {
	.scheduler = 1,
};

FIXTURE_SETUP(oversub)
{
	NEEDS(unless_virtual(variant->scheduler ? scheduler_missing() : device_missing()));
	if (!scheduler_missing()) {
		ASSERT_EQ(0, scheduler_off());
		ASSERT_EQ(0, scheduler_defaults());
		ASSERT_EQ(0, kfd_param_set("gpreempt_idle_evict_us", 0));
		ASSERT_EQ(0, kfd_param_set("gpreempt_enable", variant->scheduler));
	}
	REMEMBER_BEFORE_TEST();
	ASSERT_GT((int)self->slots, 0);
}

FIXTURE_TEARDOWN(oversub)
{
	actor_forget_all();
	if (!scheduler_missing()) {
		EXPECT_EQ(0, wait_no_queues());
		EXPECT_EQ(self->failures, counter("failures"));
		kfd_param_set_text("gpreempt_hw_priority", "normal");
		scheduler_off();
	}
	EXPECT_DEVICE_UNHARMED();
}

static struct actor *process(struct __test_metadata *_metadata, int nice)
{
	struct actor *a = actor_start(nice, SMALL_ARENA);

	ASSERT_ACTOR(a);
	return a;
}

/* A queue with its own work: one grid of @waves waves that each run @steps of @step_ns. */
static void add_queue(struct __test_metadata *_metadata, struct actor *a, uint32_t priority, uint32_t waves,
		      uint32_t steps, uint64_t step_ns)
{
	int q = actor_queue(a, KFD_BACKING_USERPTR, priority);

	ASSERT_LE(0, q);
	ASSERT_EQ(q, actor_work(a, 1, waves, steps, step_ns));
}

/* Waits until something of what was submitted is done. Receives the least progress of all in @least. */
static void wait_first(struct __test_metadata *_metadata, struct actor *const *a, int actors, uint64_t *least)
{
	uint64_t deadline = kfd_now_ns() + LONG;
	bool done = false;
	uint32_t w;
	int i;

	while (!done) {
		*least = UINT64_MAX;
		for (i = 0; i < actors; i++)
			for (w = 0; w < a[i]->works; w++) {
				uint64_t progress = kfd_work_progress(&a[i]->work[w]);

				if (progress < *least)
					*least = progress;
				done |= actor_done(a[i], (int)w);
			}
		ASSERT_LT(kfd_now_ns(), deadline);
		kfd_sleep_ns(MS);
	}
}

TEST_F_TIMEOUT(oversub, sixty_five_queues_all_finish, 120)
{
	enum { ACTORS = 2 };
	int64_t rotations = kfd_vgpu_stat("rotations");
	uint32_t waves = self->slots / 64;
	struct actor *a[ACTORS];
	uint64_t least;
	int i, q;

	for (i = 0; i < ACTORS; i++) {
		a[i] = process(_metadata, 0);
		for (q = 0; q < (QUEUES + 1 - i) / ACTORS; q++)
			add_queue(_metadata, a[i], KFD_PRIORITY_NORMAL, waves, 8, 5 * MS);
	}
	for (i = 0; i < ACTORS; i++)
		for (q = 0; q < (int)a[i]->works; q++)
			ASSERT_EQ(0, actor_submit(a[i], q, q, 1, 0));
	/* Whoever ends first had to share: by then everybody has had a turn. */
	wait_first(_metadata, a, ACTORS, &least);
	EXPECT_GT(least, 0);
	EXPECT_EQ(QUEUES, kfd_vgpu_stat("runlist_queues"));
	EXPECT_EQ(1, kfd_vgpu_stat("runlist_chained"));
	for (i = 0; i < ACTORS; i++)
		ASSERT_DONE_ONCE(a[i]);
	EXPECT_GT(kfd_vgpu_stat("rotations"), rotations + 2);
	EXPECT_EQ(self->preemptions, counter("preemptions"));
	for (i = 0; i < ACTORS; i++)
		EXPECT_EQ(0, actor_stop(a[i]));
}

TEST_F_TIMEOUT(oversub, twenty_processes_all_finish, 120)
{
	int64_t rotations = kfd_vgpu_stat("rotations");
	uint32_t waves = self->slots / 16;
	struct actor *a[PROCESSES];
	uint64_t least;
	int i;

	for (i = 0; i < PROCESSES; i++) {
		a[i] = process(_metadata, 0);
		add_queue(_metadata, a[i], KFD_PRIORITY_NORMAL, waves, 20, 5 * MS);
	}
	for (i = 0; i < PROCESSES; i++)
		ASSERT_EQ(0, actor_submit(a[i], 0, 0, 1, 0));
	/* Nobody starves: when the first one is done, the last one is not far behind. */
	wait_first(_metadata, a, PROCESSES, &least);
	EXPECT_GE(least, waves * 20 / 3);
	EXPECT_EQ(PROCESSES, kfd_vgpu_stat("runlist_processes"));
	EXPECT_EQ(1, kfd_vgpu_stat("runlist_chained"));
	for (i = 0; i < PROCESSES; i++)
		ASSERT_DONE_ONCE(a[i]);
	EXPECT_GT(kfd_vgpu_stat("rotations"), rotations + 2);
	EXPECT_EQ(self->preemptions, counter("preemptions"));
	for (i = 0; i < PROCESSES; i++)
		EXPECT_EQ(0, actor_stop(a[i]));
}

/*
 * Two queues of one process wait behind a third for the slots of the whole device; they need them four times over.
 * Returns what each of the two had done when the first of them ended.
 */
static void race(struct __test_metadata *_metadata, uint32_t slots, const uint32_t priority[2], uint64_t done[2])
{
	struct actor *a = process(_metadata, 0);
	int i;

	add_queue(_metadata, a, KFD_PRIORITY_NORMAL, slots, 1, 20 * MS);
	for (i = 0; i < 2; i++)
		add_queue(_metadata, a, priority[i], 4 * slots, 1, 10 * MS);
	ASSERT_EQ(0, actor_submit(a, 0, 0, 1, 0));
	kfd_sleep_ns(5 * MS);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, actor_submit(a, 1 + i, 1 + i, 1, 0));
	ASSERT_EQ(0, KFD_WAIT(actor_done(a, 1) || actor_done(a, 2), MS, LONG));
	for (i = 0; i < 2; i++)
		done[i] = kfd_work_progress(&a->work[1 + i]);
	ASSERT_DONE_ONCE(a);
	EXPECT_EQ(0, actor_stop(a));
}

/* KFD's three bands, as the hardware sees them: 0-6, 7-10, 11-15. */
TEST_F_TIMEOUT(oversub, high_hardware_priority_first, 120)
{
	uint64_t done[2];

	/* Also with the scheduler: the program is alone. */
	race(_metadata, self->slots, (const uint32_t[2]){ 15, KFD_PRIORITY_NORMAL }, done);
	EXPECT_EQ(4 * self->slots, done[0]);
	EXPECT_EQ(0, done[1]);
	race(_metadata, self->slots, (const uint32_t[2]){ 0, KFD_PRIORITY_NORMAL }, done);
	EXPECT_EQ(0, done[0]);
	EXPECT_EQ(4 * self->slots, done[1]);
	/* Equal ones share. */
	race(_metadata, self->slots, (const uint32_t[2]){ KFD_PRIORITY_NORMAL, KFD_PRIORITY_NORMAL }, done);
	EXPECT_GE(done[0], 3 * self->slots);
	EXPECT_GE(done[1], 3 * self->slots);
}

static struct kfd_vgpu_cu cus_before[MAX_CUS], cus_now[MAX_CUS];

/*
 * Compute units that were given waves since @cus_before, by the bits of KFD's masks: these count round the XCCs first,
 * then round the shader engines. Engines are numbered that way here, so it is the order of the CUs.
 */
static uint32_t cus_used(void)
{
	int i, n = kfd_vgpu_cus(cus_now, MAX_CUS), xccs = n > 0 ? (int)cus_now[n - 1].xcc + 1 : 1;
	uint32_t used = 0;

	for (i = 0; i < n; i++)
		if (cus_now[i].started > cus_before[i].started)
			used |= 1u << (cus_now[i].number * (unsigned int)xccs + cus_now[i].xcc) % 32;
	return used;
}

TEST_F_TIMEOUT(oversub, cu_mask_confines_waves, 120)
{
	struct actor *a = process(_metadata, LOW_NICE), *b = process(_metadata, 0);
	/* The first and the third CU of each XCC: one that has none would keep the others waiting. */
	const uint32_t each = (1u << a->client.num_xcc) - 1, mask = each | each << 2 * a->client.num_xcc;
	uint64_t progress;

	/* Enough to go on launching long after the other has gone. */
	add_queue(_metadata, a, KFD_PRIORITY_NORMAL, self->slots * 4, 4, 10 * MS);
	add_queue(_metadata, b, KFD_PRIORITY_NORMAL, self->slots, 1, 10 * MS);
	ASSERT_EQ(0, actor_queue_cu_mask(a, 0, mask));
	ASSERT_LT(3, kfd_vgpu_cus(cus_before, MAX_CUS));
	ASSERT_EQ(0, launch_begins(a));
	EXPECT_EQ(mask, cus_used());
	/* Taken off by the scheduler if it is on, by the driver in any case: saved waves come back to where they may be. */
	progress = kfd_work_progress(&a->work[0]);
	ASSERT_EQ(0, launch_completes(b));
	if (variant->scheduler)
		EXPECT_GE(preempt_count(a, 0), 1);
	EXPECT_EQ(0, actor_stop(b));
	kfd_vgpu_cus(cus_before, MAX_CUS);
	ASSERT_EQ(0, actor_wait_progress(a, 0, progress + 1, LONG));
	ASSERT_EQ(0, actor_wait(a, 0, LONG));
	EXPECT_EQ(mask, cus_used());
	EXPECT_EXACTLY_ONCE(a);
}

/* Two processes with cooperative groups, on a device with one global wave sync. */
TEST_F_TIMEOUT(oversub, gws_queues_take_turns, 120)
{
	int64_t rotations = kfd_vgpu_stat("rotations");
	struct actor *a[2];
	uint64_t least;
	int i;

	for (i = 0; i < 2; i++) {
		a[i] = process(_metadata, 0);
		add_queue(_metadata, a[i], KFD_PRIORITY_NORMAL, self->slots / 4, 10, 5 * MS);
		ASSERT_GWS_OR_SKIP(a[i]);
	}
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, actor_submit(a[i], 0, 0, 1, 0));
	wait_first(_metadata, a, 2, &least);
	EXPECT_GT(least, 0);
	EXPECT_EQ(1, kfd_vgpu_stat("runlist_chained"));
	for (i = 0; i < 2; i++)
		ASSERT_DONE_ONCE(a[i]);
	EXPECT_GT(kfd_vgpu_stat("rotations"), rotations);
}

/* ---- with the scheduler ---- */

SCHEDULER_FIXTURE(preempting, NEEDS_VGPU(); ASSERT_EQ(0, kfd_param_set("gpreempt_idle_evict_us", 0)))

static struct actor *worker(struct __test_metadata *_metadata, int nice, uint32_t waves, uint32_t steps,
			    uint64_t step_ns)
{
	struct actor *a = process(_metadata, nice);

	add_queue(_metadata, a, KFD_PRIORITY_NORMAL, waves, steps, step_ns);
	return a;
}

/*
 * One process matters more than nineteen others. It was there first, which is the end of the runlist, and is idle;
 * then it has work. Without the scheduler it would get a turn of three; with it the others leave the list, which then
 * fits and does not go round.
 */
TEST_F_TIMEOUT(preempting, late_high_among_twenty_gets_a_vmid, 120)
{
	struct actor *high, *low[PROCESSES - 1];
	int64_t rotations;
	int i;

	ASSERT_STRICT_ORDER();
	high = worker(_metadata, 0, self->slots, 40, 5 * MS);
	for (i = 0; i < PROCESSES - 1; i++)
		low[i] = worker(_metadata, LOW_NICE, self->slots / 16, 30, 5 * MS);
	for (i = 0; i < PROCESSES - 1; i++)
		ASSERT_EQ(0, actor_submit(low[i], 0, 0, 1, 0));
	ASSERT_EQ(0, actor_wait_progress(low[0], 0, 1, LONG));
	EXPECT_EQ(PROCESSES, kfd_vgpu_stat("runlist_processes"));
	EXPECT_EQ(1, kfd_vgpu_stat("runlist_chained"));

	ASSERT_EQ(0, actor_submit(high, 0, 0, 1, 0));
	for (i = 0; i < PROCESSES - 1; i++)
		ASSERT_EQ(0, wait_state(low[i], 0, "preempted", LONG));
	ASSERT_EQ(0, actor_wait_progress(high, 0, 1, LONG));
	EXPECT_EQ(1, kfd_vgpu_stat("runlist_processes"));
	EXPECT_EQ(1, kfd_vgpu_stat("runlist_queues"));
	EXPECT_EQ(0, kfd_vgpu_stat("runlist_chained"));
	rotations = kfd_vgpu_stat("rotations");
	ASSERT_EQ(0, actor_wait(high, 0, LONG));
	for (i = 0; i < PROCESSES - 1; i++)
		EXPECT_FALSE(actor_done(low[i], 0));
	EXPECT_EQ(rotations, kfd_vgpu_stat("rotations"));
	EXPECT_EXACTLY_ONCE(high);

	for (i = 0; i < PROCESSES - 1; i++) {
		ASSERT_EQ(0, actor_wait(low[i], 0, LONG));
		EXPECT_GE(preempt_count(low[i], 0), 1);
		EXPECT_EXACTLY_ONCE(low[i]);
	}
	EXPECT_EQ(PROCESSES, kfd_vgpu_stat("runlist_processes"));
	EXPECT_EQ(1, kfd_vgpu_stat("runlist_chained"));
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
}

/*
 * A process with more queues than there are slots, which is a list that goes round, and one that is preempted and so not in it. Firmware maps as many
 * processes together as RUN_LIST announces: two would be the first one twice. The device refuses such a list, and nothing would run.
 */
TEST_F_TIMEOUT(preempting, runlist_announces_what_it_lists, 120)
{
	volatile uint64_t *flag = actor_common_flag();
	struct actor *high, *low;
	int q;

	ASSERT_STRICT_ORDER();
	low = worker(_metadata, LOW_NICE, self->slots / 16, 40, 5 * MS);
	high = worker(_metadata, 0, self->slots / 2, 2, 5 * MS);
	for (q = 1; q < MORE_QUEUES_THAN_SLOTS; q++)
		add_queue(_metadata, high, KFD_PRIORITY_NORMAL, 1, 1, MS);
	/* Its waves stay until all of this has been looked at. */
	*flag = 0;
	kfd_work_wait_for(&high->work[0], flag);
	ASSERT_EQ(0, launch_begins(low));
	EXPECT_EQ(2, kfd_vgpu_stat("runlist_processes"));
	EXPECT_EQ(2, kfd_vgpu_stat("runlist_announced"));
	EXPECT_EQ(1, kfd_vgpu_stat("runlist_chained"));

	ASSERT_EQ(0, launch_preempts(high, low));
	/* The driver does not wait for the device to read the list that it sends last. */
	kfd_sleep_ns(10 * MS);
	EXPECT_EQ(1, kfd_vgpu_stat("runlist_processes"));
	EXPECT_EQ(1, kfd_vgpu_stat("runlist_announced"));
	EXPECT_EQ(MORE_QUEUES_THAN_SLOTS, kfd_vgpu_stat("runlist_queues"));
	EXPECT_EQ(1, kfd_vgpu_stat("runlist_chained"));

	*flag = 1;
	ASSERT_EQ(0, actor_wait(high, 0, LONG));
	ASSERT_DONE_ONCE(low);
	EXPECT_EQ(2, kfd_vgpu_stat("runlist_processes"));
	EXPECT_EQ(2, kfd_vgpu_stat("runlist_announced"));
}

/* The driver adds and removes queues of others while preempted processes are out of the list: it stays consistent. */
TEST_F_TIMEOUT(preempting, the_list_follows_who_is_left_out, 120)
{
	volatile uint64_t *flag = actor_common_flag();
	struct actor *high, *low[PROCESSES - 1], *other;
	int i;

	ASSERT_STRICT_ORDER();
	high = worker(_metadata, 0, self->slots / 2, 2, 5 * MS);
	/* Its waves stay until all of this has been looked at. */
	*flag = 0;
	kfd_work_wait_for(&high->work[0], flag);
	for (i = 0; i < PROCESSES - 1; i++)
		low[i] = worker(_metadata, LOW_NICE, self->slots / 16, i ? 4 : 40, 5 * MS);
	ASSERT_EQ(0, launch_begins(low[0]));
	ASSERT_EQ(0, actor_submit(high, 0, 0, 1, 0));
	/* Idle ones are taken along with the one that has work. */
	for (i = 0; i < PROCESSES - 1; i++)
		ASSERT_EQ(0, wait_state(low[i], 0, "preempted", LONG));

	/* A process with a queue beside a preempted one is in the list, with the other queue alone. */
	add_queue(_metadata, low[1], 15, self->slots / 16, 1, MS);
	kfd_sleep_ns(10 * MS);
	EXPECT_EQ(2, kfd_vgpu_stat("runlist_processes"));
	EXPECT_EQ(2, kfd_vgpu_stat("runlist_queues"));
	/* One more of the same importance as high's: it shares, and its process is there only while it lives. */
	other = worker(_metadata, 0, self->slots / 4, 1, MS);
	ASSERT_EQ(0, launch_completes(other));
	EXPECT_EQ(3, kfd_vgpu_stat("runlist_processes"));
	EXPECT_EQ(0, actor_stop(other));
	/* A preempted process ends: it is in no count any more. */
	EXPECT_EQ(0, actor_stop(low[2]));
	EXPECT_EQ(0, actor_queue_destroy(low[1], 1));
	kfd_sleep_ns(MS);
	EXPECT_EQ(1, kfd_vgpu_stat("runlist_processes"));
	EXPECT_EQ(1, kfd_vgpu_stat("runlist_queues"));
	EXPECT_EQ(0, kfd_vgpu_stat("runlist_chained"));

	*flag = 1;
	ASSERT_DONE_ONCE(high, low[0]);
	for (i = 3; i < PROCESSES - 1; i++)
		ASSERT_EQ(0, actor_submit(low[i], 0, 0, 1, 0));
	for (i = 3; i < PROCESSES - 1; i++)
		ASSERT_DONE_ONCE(low[i]);
	EXPECT_EQ(PROCESSES - 1, kfd_vgpu_stat("runlist_processes"));
}

/* @high does one grid while @low runs. Returns how often @low was preempted for it; -1: @low ended first. */
static int64_t yields(struct __test_metadata *_metadata, struct actor *low, int low_work, struct actor *high,
		      int high_work)
{
	int64_t before = preempt_count(low, 0);

	/* The device has the runlist that a change of @low made, and @low its waves. */
	ASSERT_EQ(0, actor_wait_progress(low, low_work, kfd_work_progress(&low->work[low_work]) + 1, LONG));
	ASSERT_EQ(0, actor_submit(high, 0, high_work, 1, 0));
	ASSERT_EQ(0, actor_wait(high, high_work, LONG));
	return actor_done(low, low_work) ? -1 : preempt_count(low, 0) - before;
}

/*
 * A queue with cooperative groups is a victim like any other: every runlist takes it off and brings it back anyway, whoever sends it. What changes
 * meanwhile is the number of GWS queues that firmware is told of.
 */
TEST_F_TIMEOUT(preempting, gws_queue_yields_like_any_other, 120)
{
	struct actor *low, *high;
	int w;

	/* What one preemption has cost shall not put off the next. */
	ASSERT_EQ(0, kfd_param_set("gpreempt_overhead_pct", 0));
	low = worker(_metadata, LOW_NICE, self->slots, 20, 5 * MS);
	high = worker(_metadata, 0, self->slots, 1, MS);
	for (w = 1; w < 3; w++)
		ASSERT_EQ(w, actor_work(high, 1, self->slots, 1, MS));
	ASSERT_EQ(0, actor_submit(low, 0, 0, 1, 0));
	EXPECT_GE(yields(_metadata, low, 0, high, 0), 1);
	ASSERT_GWS_OR_SKIP(low);
	EXPECT_GE(yields(_metadata, low, 0, high, 1), 1);
	ASSERT_EQ(0, goes_on(&low->work[0]));
	/* It has its own again, so two GWS queues take turns. */
	ASSERT_EQ(0, actor_queue_gws(high, 0, true));
	kfd_sleep_ns(MS);
	EXPECT_EQ(1, kfd_vgpu_stat("runlist_chained"));
	ASSERT_EQ(0, actor_queue_gws(high, 0, false));
	ASSERT_EQ(0, actor_queue_gws(low, 0, false));
	kfd_sleep_ns(MS);
	EXPECT_EQ(0, kfd_vgpu_stat("runlist_chained"));
	EXPECT_GE(yields(_metadata, low, 0, high, 2), 1);
	ASSERT_DONE_ONCE(low, high);
}

TEST_HARNESS_MAIN
