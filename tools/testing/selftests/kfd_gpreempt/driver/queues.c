// SPDX-License-Identifier: MIT
/*
 * queues.c - what the driver and the device do without the scheduler: the ground that the other tests stand on
 *
 * Runs on the virtual GPU with gpreempt_enable=0, or on a stock amdgpu. The tests of no_hws need amdgpu.sched_policy=2;
 * all others hold with and without the hardware scheduler.
 */
#include "kselftest_harness.h"

#include "fixture.h"
#include "worker.h"

FIXTURE(device) {
	BEFORE_TEST;
};

FIXTURE_SETUP(device)
{
	SETUP_DEVICE();
}

FIXTURE_TEARDOWN(device)
{
	actor_forget_all();
	EXPECT_DEVICE_UNHARMED();
}

static void run_one_grid(struct __test_metadata *_metadata, enum kfd_backing backing)
{
	struct actor *a = actor_start(0, ARENA);
	uint64_t rptr, wptr;

	ASSERT_ACTOR(a);
	ASSERT_EQ(0, actor_queue(a, backing, KFD_PRIORITY_NORMAL));
	ASSERT_EQ(0, actor_work(a, 1, 8, 4, 100 * US));
	ASSERT_EQ(0, actor_submit(a, 0, 0, 1, 0));
	ASSERT_DONE_ONCE(a);
	ASSERT_EQ(0, actor_pointers(a, 0, &rptr, &wptr));
	EXPECT_EQ(1, rptr);
	EXPECT_EQ(1, wptr);
	EXPECT_EQ(0, actor_stop(a));
}

TEST_F_CALLS(device, userptr_queue_runs_kernel, run_one_grid(_metadata, KFD_BACKING_USERPTR))
TEST_F_CALLS(device, gtt_queue_runs_kernel, run_one_grid(_metadata, KFD_BACKING_GTT))

static int64_t wait_by_event(struct actor *a, const int64_t *args)
{
	int err = kfd_signal_init_event(&a->client, a->done[args[1]], 1);

	if (!err)
		err = kfd_work_submit(&a->queue[args[0]], &a->work[args[1]], a->done[args[1]], 0);
	if (!err)
		err = kfd_signal_wait(&a->client, a->done[args[1]], LONG);
	return err;
}

TEST_F(device, completion_event_wakes_sleeper)
{
	struct actor *a = worker(_metadata, 0, 1, 8, 1, 20 * MS);
	uint64_t start, took;

	start = kfd_now_ns();
	ASSERT_EQ(0, actor_call(a, wait_by_event, 0, 0, 0, 0));
	took = kfd_now_ns() - start;
	/* It slept while the kernel ran; and an event woke it, not the end of WAIT_EVENTS' time. */
	EXPECT_GE(took, kfd_step_at_least_ns(20 * MS));
	EXPECT_LT(took, LONG);
	EXPECT_EXACTLY_ONCE(a);
}

TEST_F(device, packet_is_consumed_at_launch)
{
	struct actor *a = worker(_metadata, 0, 1, 8, 1, 500 * MS);
	uint64_t rptr = 0, wptr = 0, deadline = kfd_now_ns() + LONG;

	ASSERT_EQ(0, actor_submit(a, 0, 0, 1, 0));
	while (rptr == 0 && kfd_now_ns() < deadline) {
		ASSERT_EQ(0, actor_pointers(a, 0, &rptr, &wptr));
		kfd_sleep_ns(MS);
	}
	/* An empty ring does not mean an idle queue. */
	EXPECT_EQ(1, rptr);
	EXPECT_EQ(1, wptr);
	EXPECT_FALSE(actor_done(a, 0));
	ASSERT_DONE_ONCE(a);
}

TEST_F(device, barrier_packet_waits_for_its_signal)
{
	struct kfd_signal *gate = actor_common_signal(0, 1);
	struct actor *a = worker(_metadata, 0, 1, 8, 1, MS);
	uint64_t rptr, wptr;

	ASSERT_EQ(0, actor_barrier(a, 0, gate));
	ASSERT_EQ(0, actor_submit(a, 0, 0, 1, KFD_PACKET_BARRIER));
	kfd_sleep_ns(50 * MS);
	EXPECT_FALSE(actor_done(a, 0));
	ASSERT_EQ(0, actor_pointers(a, 0, &rptr, &wptr));
	EXPECT_EQ(0, rptr);
	EXPECT_EQ(2, wptr);
	kfd_signal_reset(gate, 0);
	ASSERT_DONE_ONCE(a);
}

TEST_F(device, two_processes_share)
{
	struct actor *a[2];
	int i;

	for (i = 0; i < 2; i++)
		a[i] = worker(_metadata, 0, 20, self->slots / 2, 2, MS);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, actor_submit(a[i], 0, 0, 20, 0));
	for (i = 0; i < 2; i++) {
		ASSERT_DONE_ONCE(a[i]);
		EXPECT_EQ(0, actor_stop(a[i]));
	}
}

/* The inversion itself: without it there is nothing to schedule. */
TEST_F(device, full_device_makes_later_work_wait)
{
	struct actor *hog = worker(_metadata, LOW_NICE, 1, self->slots, 10, 40 * MS);
	struct actor *late = worker(_metadata, 0, 1, 8, 1, MS);

	ASSERT_EQ(0, launch_begins(hog));
	ASSERT_EQ(0, launch_completes(late));
	/* Waves do not all end at the same time, but they began together and run for as long as each other. */
	EXPECT_GE(kfd_work_progress(&hog->work[0]), self->slots * 9);
	ASSERT_DONE_ONCE(hog, late);
}

/*
 * The stock driver's own use of save and restore. Under HWS every UPDATE_QUEUE unmaps and maps everything, so that of a
 * bystander will do; without, the driver takes the queue itself off its slot, and only that one.
 */
TEST_F_TIMEOUT(device, unmap_remap_is_exactly_once, 120)
{
	struct actor *hog = with_queue(_metadata, 0);
	struct actor *other = actor_start(0, ARENA);
	/* A runlist takes all queues off; what takes them one by one leaves those alone that do not change. */
	bool one_by_one = kfd_param_get("sched_policy") == NO_HWS || kfd_gfx_target_version() >= KFD_GFX11;
	struct actor *updated = one_by_one ? hog : other;
	int64_t saved, restored;
	int i;

	ASSERT_ACTOR(other);
	ASSERT_EQ(0, actor_queue(other, KFD_BACKING_GTT, KFD_PRIORITY_NORMAL));
	/* More waves than slots: the packet itself is interrupted half launched. */
	ASSERT_EQ(0, actor_work(hog, 4, self->slots * 3 / 2, 20, 3 * MS));
	saved = kfd_vgpu_stat("waves_saved");
	restored = kfd_vgpu_stat("waves_restored");
	ASSERT_EQ(0, launches_begin(hog, 4, 0));
	for (i = 0; i < 20 && !actor_done(hog, 0); i++) {
		ASSERT_EQ(0, actor_queue_update(updated, 0, (uint32_t)(i & 1 ? 7 : 6), 100));
		kfd_sleep_ns(7 * MS);
	}
	ASSERT_DONE_ONCE(hog);
	if (kfd_client_is_virtual())
		EXPECT_GT(kfd_vgpu_stat("waves_saved"), saved);
	EXPECT_EQ(kfd_vgpu_stat("waves_saved") - saved, kfd_vgpu_stat("waves_restored") - restored);
}

TEST_F(device, destroying_a_running_queue_harms_nobody)
{
	struct actor *a = worker(_metadata, 0, 1, self->slots / 2, 100, 20 * MS);
	struct actor *b = worker(_metadata, 0, 1, self->slots / 2, 20, 10 * MS);

	ASSERT_EQ(0, actor_submit(a, 0, 0, 1, 0));
	ASSERT_EQ(0, actor_submit(b, 0, 0, 1, 0));
	ASSERT_EQ(0, actor_wait_progress(a, 0, 1, LONG));
	EXPECT_EQ(0, actor_queue_destroy(a, 0));
	EXPECT_FALSE(actor_done(a, 0));
	ASSERT_DONE_ONCE(b);
	/* What was destroyed stays where it was. */
	EXPECT_EQ(0, actor_tally(a).twice);
	EXPECT_GT(actor_tally(a).lost, 0);
}

TEST_F(device, killed_process_leaves_the_device_usable)
{
	struct actor *a = worker(_metadata, 0, 1, self->slots, 100, 50 * MS);

	ASSERT_EQ(0, launch_begins(a));
	actor_kill(a);
	run_one_grid(_metadata, KFD_BACKING_USERPTR);
}

/* After 1 ms: counters of waves may show what was some 100 us ago (lagging-waves). */
static int64_t settled_occupancy(const struct actor *a)
{
	kfd_sleep_ns(MS);
	return kfd_proc_stat(a->pid, a->client.gpu_id, "cu_occupancy");
}

/* KFD adds up what it finds in the registers of the slots; of several XCCs it asks the first and multiplies. */
TEST_F(device, cu_occupancy_is_that_of_the_process)
{
	struct actor *hog = actor_start(0, ARENA);
	struct actor *idle = actor_start(0, ARENA);
	uint32_t slots = firmware_is("zero-waves") ? 0 : self->slots;
	uint32_t waves_per_cu;

	if (kfd_gfx_target_version() >= KFD_GFX11)
		SKIP(return, "6.12 does not count the waves of this device");
	ASSERT_ACTOR(hog);
	ASSERT_ACTOR(idle);
	waves_per_cu = hog->client.simd_per_cu * hog->client.max_waves_per_simd;
	ASSERT_EQ(0, actor_queue(hog, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL));
	ASSERT_EQ(0, actor_queue(idle, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL));
	EXPECT_EQ(0, settled_occupancy(hog));
	ASSERT_EQ(0, actor_work(hog, 1, self->slots, 2, 50 * MS));
	ASSERT_EQ(1, actor_work(hog, 1, self->slots / 2, 2, 50 * MS));
	ASSERT_EQ(0, launch_begins(hog));
	EXPECT_EQ(slots / waves_per_cu, settled_occupancy(hog));
	EXPECT_EQ(0, settled_occupancy(idle));
	ASSERT_EQ(0, actor_wait(hog, 0, LONG));
	ASSERT_EQ(0, actor_submit(hog, 0, 1, 1, 0));
	ASSERT_EQ(0, actor_wait_progress(hog, 1, 1, LONG));
	EXPECT_EQ(slots / 2 / waves_per_cu, settled_occupancy(hog));
	ASSERT_EQ(0, actor_wait(hog, 1, LONG));
	EXPECT_EQ(0, settled_occupancy(hog));
	EXPECT_EXACTLY_ONCE(hog);
}

TEST_F(device, queues_of_one_process_are_independent)
{
	struct actor *a = with_queue(_metadata, 0);
	struct kfd_signal *gate = actor_common_signal(0, 1);

	ASSERT_EQ(1, actor_queue(a, KFD_BACKING_GTT, KFD_PRIORITY_NORMAL));
	ASSERT_EQ(0, actor_work(a, 1, 8, 1, MS));
	ASSERT_EQ(1, actor_work(a, 1, 8, 1, MS));
	ASSERT_EQ(0, actor_barrier(a, 0, gate));
	ASSERT_EQ(0, actor_submit(a, 0, 0, 1, KFD_PACKET_BARRIER));
	ASSERT_EQ(0, actor_submit(a, 1, 1, 1, 0));
	EXPECT_EQ(0, actor_wait(a, 1, LONG));
	EXPECT_FALSE(actor_done(a, 0));
	kfd_signal_reset(gate, 0);
	ASSERT_DONE_ONCE(a);
}

/* Without the hardware scheduler: the driver writes the registers of the slots itself */
FIXTURE(no_hws) {
	BEFORE_TEST;
};

FIXTURE_SETUP(no_hws)
{
	SETUP_DEVICE();
	NEEDS_NO_HWS();
}

FIXTURE_TEARDOWN(no_hws)
{
	actor_forget_all();
	EXPECT_DEVICE_UNHARMED();
}

TEST_F(no_hws, scheduler_takes_queues_one_by_one)
{
	uint32_t gpu = kfd_first_gpu_id();
	char text[256];

	if (kfd_param_get("gpreempt_enable") < 0)
		SKIP(return, "this amdgpu has no gpreempt_enable parameter");
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 1));
	ASSERT_EQ(0, kfd_gpreempt_text(gpu, "backend", text, sizeof(text)));
	EXPECT_STREQ("mqd", text);
	ASSERT_EQ(0, kfd_gpreempt_text(gpu, "reason", text, sizeof(text)));
	EXPECT_STREQ("-", text);
	EXPECT_GT(counter("monitor_pid"), 0);
	run_one_grid(_metadata, KFD_BACKING_USERPTR);
	EXPECT_EQ(0, counter("preemptions"));
	EXPECT_EQ(0, kfd_param_set("gpreempt_enable", 0));
}

/* The queues lie on all pipes and on several queues of each; saving one must not touch the others. */
TEST_F_TIMEOUT(no_hws, each_queue_is_saved_in_its_own_slot, 120)
{
	enum { ACTORS = 3, QUEUES = 4, WAVES = 16, STEPS = 40 };
	struct actor *a[ACTORS];
	int64_t saved, restored, before;
	int i, j, round;

	NEEDS_VGPU();
	for (i = 0; i < ACTORS; i++) {
		a[i] = actor_start(0, ARENA);
		ASSERT_ACTOR(a[i]);
		for (j = 0; j < QUEUES; j++) {
			ASSERT_EQ(j, actor_queue(a[i], j & 1 ? KFD_BACKING_GTT : KFD_BACKING_USERPTR,
						 KFD_PRIORITY_NORMAL));
			ASSERT_EQ(j, actor_work(a[i], 1, WAVES, STEPS, 20 * MS));
		}
	}
	saved = kfd_vgpu_stat("waves_saved");
	restored = kfd_vgpu_stat("waves_restored");
	for (i = 0; i < ACTORS; i++)
		for (j = 0; j < QUEUES; j++) {
			ASSERT_EQ(0, actor_submit(a[i], j, j, 1, 0));
			ASSERT_EQ(0, actor_wait_progress(a[i], j, 1, LONG));
		}
	for (round = 0; round < 2; round++)
		for (i = 0; i < ACTORS; i++)
			for (j = 0; j < QUEUES; j++) {
				before = kfd_vgpu_stat("waves_saved");
				ASSERT_EQ(0, actor_queue_update(a[i], j, (uint32_t)(round ? 7 : 6), 100));
				EXPECT_EQ(WAVES, kfd_vgpu_stat("waves_saved") - before);
			}
	for (i = 0; i < ACTORS; i++) {
		for (j = 0; j < QUEUES; j++)
			ASSERT_EQ(0, actor_wait(a[i], j, LONG));
		EXPECT_EXACTLY_ONCE(a[i]);
		EXPECT_EQ(0, actor_stop(a[i]));
	}
	EXPECT_EQ(kfd_vgpu_stat("waves_saved") - saved, kfd_vgpu_stat("waves_restored") - restored);
}

TEST_F(no_hws, disabled_queue_lives_in_memory_alone)
{
	struct actor *a = worker(_metadata, 0, 1, self->slots, 10, 20 * MS);
	uint64_t done;

	NEEDS_VGPU();
	ASSERT_EQ(0, launch_begins(a));
	ASSERT_EQ(0, actor_queue_update(a, 0, KFD_PRIORITY_NORMAL, 0));
	/* Its slot was inactive when the call returned: the waves are off the device. */
	EXPECT_EQ(0, kfd_vgpu_stat("slots_busy"));
	done = actor_tally(a).done;
	kfd_sleep_ns(100 * MS);
	EXPECT_EQ(done, actor_tally(a).done);
	EXPECT_FALSE(actor_done(a, 0));
	ASSERT_EQ(0, actor_queue_update(a, 0, KFD_PRIORITY_NORMAL, 100));
	ASSERT_DONE_ONCE(a);
}

TEST_HARNESS_MAIN
