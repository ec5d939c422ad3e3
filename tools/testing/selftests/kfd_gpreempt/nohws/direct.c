// SPDX-License-Identifier: MIT
/*
 * direct.c - preempting without the hardware scheduler: one queue at a time, and what can go wrong with one
 *
 * What both ways of preempting have in common is in preempt.c, which runs in both modes.
 */
#include "kselftest_harness.h"

#include "fixture.h"
#include "worker.h"

#define PATIENT_POLL_NS	(5 * MS)

FIXTURE(direct) {
	BEFORE_TEST;
	int64_t timeouts;
	int64_t lost;
	int64_t mismatches;
	int64_t disabled;
};

static void no_faults(void)
{
	static const char *const names[] = { "fault/dequeue_late", "fault/dequeue_lost", "fault/dequeue_dead", "fault/hung_wave" };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		kfd_vgpu_set(names[i], 0);
	kfd_vgpu_set("fault/xcc", 0);
	kfd_vgpu_set("fault/dequeue_dead_us", 0);
	kfd_vgpu_look_every(0);
}

FIXTURE_SETUP(direct)
{
	char backend[16];

	kfd_longest_poll_ns = MS;
	NEEDS(unless_virtual(scheduler_missing()));
	if (kfd_gpreempt_text(kfd_first_gpu_id(), "backend", backend, sizeof(backend)) || strcmp(backend, "mqd"))
		SKIP(return, "the hardware scheduler is on: needs amdgpu.sched_policy=2");
	no_faults();
	SETUP_SCHEDULER(NULL, 0);
	/* Each preemption of these tests is verified. */
	ASSERT_EQ(0, kfd_param_set("gpreempt_verify", 1));
	self->timeouts = counter("failed_unmap_timeout");
	self->lost = counter("failed_victim_reset");
	self->mismatches = counter("verify_mismatches");
	self->disabled = counter("disabled");
}

FIXTURE_TEARDOWN(direct)
{
	no_faults();
	actor_forget_all();
	EXPECT_EQ(0, wait_no_queues());
	/* Without HWS a process whose queue was lost finds old translations in the next (driver notes). */
	self->health.stale_translations = device_health().stale_translations;
	EXPECT_DEVICE_UNHARMED();
	kfd_param_set("gpreempt_verify", 0);
	scheduler_off();
}

/* What went wrong since the test began, by cause, and nothing else. */
#define EXPECT_FAILURES(_timeouts, _lost, _mismatches) do { \
	EXPECT_EQ(self->timeouts + (_timeouts), counter("failed_unmap_timeout")); \
	EXPECT_EQ(self->lost + (_lost), counter("failed_victim_reset")); \
	EXPECT_EQ(self->mismatches + (_mismatches), counter("verify_mismatches")); \
	EXPECT_EQ(self->failures + (_timeouts) + (_lost) + (_mismatches), counter("failures")); \
	EXPECT_EQ(self->disabled, counter("disabled")); \
} while (0)

/* A fault of the last XCC alone: the others let go of the queue. */
static void fault_on_last_xcc(struct __test_metadata *_metadata, const struct actor *a, const char *name)
{
	ASSERT_EQ(0, kfd_vgpu_set("fault/xcc", a->client.num_xcc - 1));
	ASSERT_EQ(0, kfd_vgpu_set(name, 1));
}

/* low fills the device until high comes; then low's queue is asked to leave, and reaches a state. */
static void inversion(struct __test_metadata *_metadata, struct actor *low, struct actor *high, const char *state)
{
	ASSERT_EQ(0, launch_begins(low));
	ASSERT_EQ(0, actor_submit(high, 0, 0, 1, 0));
	ASSERT_EQ(0, wait_state(low, 0, state, LONG));
}

/* The same for one that does not leave: until the driver's patience is over nobody has to look often. It saves the host's time only. */
static void long_inversion(struct __test_metadata *_metadata, struct actor *low, struct actor *high)
{
	inversion(_metadata, low, high, "leaving");
	ASSERT_EQ(0, kfd_param_set("gpreempt_poll_us", 0));
	ASSERT_EQ(0, kfd_vgpu_look_every(PATIENT_POLL_NS));
}

/* Half of the device belongs to queues of the highest level, and none of their waves moves when the others yield. */
TEST_F(direct, victims_are_taken_surgically)
{
	enum { STEPS = 60 };
	struct actor *low[2], *third, *high;
	int64_t saves, saved, restored, runlists, unmaps;
	uint32_t waves = self->slots / 8;
	int i, xccs;

	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 0));
	for (i = 0; i < 2; i++)
		low[i] = worker(_metadata, LOW_NICE, 1, waves, STEPS, 10 * MS);
	xccs = (int)low[0]->client.num_xcc;
	third = worker(_metadata, 0, 1, waves, STEPS, 10 * MS);
	high = worker(_metadata, 0, 1, waves, STEPS / 2, 10 * MS);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, launch_begins(low[i]));
	ASSERT_EQ(0, launch_begins(third));
	ASSERT_EQ(0, launch_begins(high));
	saves = kfd_vgpu_stat("cwsr_saves");
	saved = kfd_vgpu_stat("waves_saved");
	restored = kfd_vgpu_stat("waves_restored");
	runlists = kfd_vgpu_stat("runlists");
	unmaps = kfd_vgpu_stat("unmaps");

	ASSERT_STRICT_ORDER();
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 1));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, wait_state(low[i], 0, "preempted", LONG));
	EXPECT_EQ(saves + 2 * xccs, kfd_vgpu_stat("cwsr_saves"));
	EXPECT_EQ(saved + 2 * waves, kfd_vgpu_stat("waves_saved"));
	ASSERT_ENDS_BEFORE(high, third);
	ASSERT_EQ(0, actor_wait(third, 0, LONG));
	for (i = 0; i < 2; i++)
		EXPECT_FALSE(actor_done(low[i], 0));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, actor_wait(low[i], 0, LONG));
		EXPECT_EQ(1, preempt_count(low[i], 0));
		EXPECT_EXACTLY_ONCE(low[i]);
	}
	ASSERT_DONE_ONCE(third, high);
	EXPECT_EQ(saves + 2 * xccs, kfd_vgpu_stat("cwsr_saves"));
	EXPECT_EQ(restored + 2 * waves, kfd_vgpu_stat("waves_restored"));
	EXPECT_EQ(runlists, kfd_vgpu_stat("runlists"));
	EXPECT_EQ(unmaps, kfd_vgpu_stat("unmaps"));
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
	EXPECT_FAILURES(0, 0, 0);
}

/* Idle queues of lower processes are taken along; they come back to the same slot and find what was submitted meanwhile. */
TEST_F(direct, idle_victims_come_back_with_their_packets)
{
	struct actor *low = worker(_metadata, LOW_NICE, 1, self->slots, 20, 10 * MS);
	struct actor *idle = worker(_metadata, LOW_NICE, 1, 8, 2, MS);
	struct actor *high = worker(_metadata, 0, 1, self->slots, 20, 10 * MS);

	inversion(_metadata, low, high, "preempted");
	EXPECT_EQ(0, wait_state(idle, 0, "preempted", LONG));
	ASSERT_EQ(0, actor_submit(idle, 0, 0, 1, 0));
	kfd_sleep_ns(20 * MS);
	EXPECT_EQ(0, kfd_work_progress(&idle->work[0]));
	ASSERT_DONE_ONCE(low, idle, high);
	EXPECT_FAILURES(0, 0, 0);
}

/* Somebody writes garbage over the MQD: it is told, and nothing is written back. What the queue does is what the MQD says. */
TEST_F(direct, mqd_scribbled_while_preempted_is_told)
{
	struct actor *low = worker(_metadata, LOW_NICE, 1, self->slots, 40, 10 * MS);
	struct actor *high = worker(_metadata, 0, 1, self->slots, 10, 10 * MS);

	inversion(_metadata, low, high, "preempted");
	kfd_sleep_ns(5 * MS);
	ASSERT_EQ(0, kfd_vgpu_set("scribble", 1));
	ASSERT_DONE_ONCE(high);
	ASSERT_EQ(0, wait_counter("verify_mismatches", self->mismatches + 1, LONG));
	EXPECT_NE(0, actor_wait(low, 0, SECOND));
	EXPECT_GT(actor_tally(low).lost, 0);
	EXPECT_EQ(0, actor_tally(low).twice);
	EXPECT_FAILURES(0, 0, 1);
	/* Where the garbage points to decides whether the queue's own accesses are faults. */
	self->health.gpuvm_faults = device_health().gpuvm_faults;
}

/* ... and there is no false alarm when only the driver writes. */
TEST_F(direct, update_of_a_preempted_queue_is_no_mismatch)
{
	struct actor *low = worker(_metadata, LOW_NICE, 1, self->slots, 40, 10 * MS);
	struct actor *high = worker(_metadata, 0, 1, self->slots, 10, 10 * MS);

	inversion(_metadata, low, high, "preempted");
	ASSERT_EQ(0, actor_queue_update(low, 0, 3, 100));
	ASSERT_EQ(0, actor_queue_update(low, 0, 3, 0));
	kfd_sleep_ns(5 * MS);
	ASSERT_EQ(0, actor_queue_update(low, 0, 6, 100));
	ASSERT_DONE_ONCE(low, high);
	EXPECT_FAILURES(0, 0, 0);
}

/* Saving takes three times what a pass waits for. The queue is loaded no earlier than it has left. */
TEST_F(direct, late_victim_is_waited_for)
{
	struct actor *low = worker(_metadata, LOW_NICE, 1, self->slots, 40, 10 * MS);
	struct actor *high = worker(_metadata, 0, 1, self->slots, 10, 10 * MS);

	ASSERT_EQ(0, kfd_vgpu_set("fault/dequeue_late_us", 300000));
	fault_on_last_xcc(_metadata, low, "fault/dequeue_late");
	inversion(_metadata, low, high, "leaving");
	if (low->client.num_xcc == 1)
		EXPECT_EQ(0, kfd_work_progress(&high->work[0]));
	EXPECT_FALSE(actor_done(high, 0));
	ASSERT_ENDS_BEFORE(high, low);
	ASSERT_DONE_ONCE(low, high);
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
	EXPECT_FAILURES(1, 0, 0);
}

/* The reason for the preemption is gone before the victim has left. */
TEST_F(direct, late_victim_is_not_loaded_before_it_has_left)
{
	struct actor *low = worker(_metadata, LOW_NICE, 1, self->slots, 40, 10 * MS);
	struct actor *high = worker(_metadata, 0, 1, self->slots, 10, 10 * MS);
	uint64_t progress;

	ASSERT_EQ(0, kfd_vgpu_set("fault/dequeue_late_us", 400000));
	fault_on_last_xcc(_metadata, low, "fault/dequeue_late");
	inversion(_metadata, low, high, "leaving");
	actor_kill(high);
	progress = kfd_work_progress(&low->work[0]);
	kfd_sleep_ns(100 * MS);
	EXPECT_TRUE(state_is(low, 0, "leaving"));
	EXPECT_EQ(progress, kfd_work_progress(&low->work[0]));
	ASSERT_DONE_ONCE(low);
	EXPECT_FAILURES(1, 0, 0);
}

/* The driver's own paths meet a queue that has not left yet: they wait for it, and do not load it. */
TEST_F(direct, late_victim_can_be_updated_and_destroyed)
{
	struct actor *low = worker(_metadata, LOW_NICE, 1, self->slots, 40, 10 * MS);
	struct actor *high = worker(_metadata, 0, 1, self->slots, 20, 10 * MS);

	ASSERT_EQ(0, kfd_vgpu_set("fault/dequeue_late_us", 400000));
	fault_on_last_xcc(_metadata, low, "fault/dequeue_late");
	inversion(_metadata, low, high, "leaving");
	EXPECT_EQ(0, actor_queue_update(low, 0, 5, 100));
	EXPECT_FALSE(actor_done(high, 0));
	EXPECT_EQ(0, wait_state(low, 0, "preempted", LONG));
	ASSERT_DONE_ONCE(low, high);
	EXPECT_FAILURES(1, 0, 0);

	/* The same again, and this time it goes. */
	ASSERT_EQ(1, actor_work(low, 1, self->slots, 40, 10 * MS));
	ASSERT_EQ(1, actor_work(high, 1, self->slots, 2, 10 * MS));
	ASSERT_EQ(0, actor_submit(low, 0, 1, 1, 0));
	ASSERT_EQ(0, actor_wait_progress(low, 1, 1, LONG));
	fault_on_last_xcc(_metadata, low, "fault/dequeue_late");
	ASSERT_EQ(0, actor_submit(high, 0, 1, 1, 0));
	ASSERT_EQ(0, wait_state(low, 0, "leaving", LONG));
	EXPECT_EQ(0, actor_queue_destroy(low, 0));
	ASSERT_EQ(0, actor_wait(high, 1, LONG));
	EXPECT_EQ(0, actor_tally(low).twice);
	EXPECT_FAILURES(2, 0, 0);
}

/*
 * The victim never leaves: after the driver's own limit its waves are reset. It never runs again, its process lives and may
 * have new queues, and everybody else goes on.
 */
TEST_F_TIMEOUT(direct, timeout_is_driven_to_an_end, 120)
{
	struct actor *low = worker(_metadata, LOW_NICE, 1, self->slots, 20, 500 * MS);
	struct actor *other = worker(_metadata, LOW_NICE, 1, 8, 40, 10 * MS);
	struct actor *high = worker(_metadata, 0, 1, self->slots, 10, 10 * MS);
	uint64_t progress;

	/* Its waves run on until they are reset: 10 s of work. */
	fault_on_last_xcc(_metadata, low, "fault/dequeue_lost");
	long_inversion(_metadata, low, high);
	ASSERT_EQ(0, launch_completes(other));
	ASSERT_DONE_ONCE(high);
	EXPECT_FAILURES(1, 1, 0);
	progress = kfd_work_progress(&low->work[0]);
	EXPECT_TRUE(stands_still(&low->work[0], 100 * MS));
	EXPECT_FALSE(actor_done(low, 0));
	EXPECT_TRUE(state_is(low, 0, "lost"));
	EXPECT_EQ(0, actor_tally(low).twice);
	EXPECT_EQ(0, kfd_vgpu_stat("slots_busy"));
	/* Not by the driver either. */
	EXPECT_EQ(0, actor_queue_update(low, 0, 6, 100));
	kfd_sleep_ns(50 * MS);
	EXPECT_EQ(progress, kfd_work_progress(&low->work[0]));

	EXPECT_EQ(0, actor_queue_destroy(low, 0));
	ASSERT_EQ(0, actor_queue(low, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL));
	ASSERT_EQ(1, actor_work(low, 1, 8, 2, MS));
	ASSERT_EQ(0, actor_submit(low, 0, 1, 1, 0));
	EXPECT_EQ(0, actor_wait(low, 1, LONG));
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
}

/* Switching off waits for the end as well, whatever it is. */
TEST_F_TIMEOUT(direct, switching_off_outlasts_a_lost_victim, 120)
{
	struct actor *low = worker(_metadata, LOW_NICE, 1, self->slots, 20, 500 * MS);
	struct actor *high = worker(_metadata, 0, 1, self->slots, 10, 10 * MS);

	fault_on_last_xcc(_metadata, low, "fault/dequeue_lost");
	long_inversion(_metadata, low, high);
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 0));
	ASSERT_DONE_ONCE(high);
	EXPECT_FAILURES(1, 1, 0);
	EXPECT_EQ(0, kfd_param_set("gpreempt_enable", 1));
	EXPECT_EQ(0, wait_state(low, 0, "lost", LONG));
	EXPECT_FALSE(actor_done(low, 0));
	EXPECT_EQ(0, actor_tally(low).twice);
}

TEST_F_TIMEOUT(direct, victim_that_does_not_leave_can_be_killed, 120)
{
	struct actor *low = worker(_metadata, LOW_NICE, 1, self->slots, 20, 500 * MS);
	struct actor *high = worker(_metadata, 0, 1, self->slots, 10, 10 * MS);

	fault_on_last_xcc(_metadata, low, "fault/dequeue_lost");
	long_inversion(_metadata, low, high);
	actor_kill(low);
	ASSERT_DONE_ONCE(high);
	EXPECT_EQ(0, actor_tally(low).twice);
	/* Its waves are reset by whose patience ends first: the driver, for the process that ends, or we. */
	EXPECT_LE(counter("failed_victim_reset"), self->lost + 1);
	EXPECT_FAILURES(1, counter("failed_victim_reset") - self->lost, 0);
}

/* Not even a reset of its waves makes it leave: the GPU would be reset (gpu_recovery=0 forbids it here). The node is given up. */
static void node_is_given_up(struct __test_metadata *_metadata, const FIXTURE_DATA(direct) *self, struct actor *low, struct actor *high)
{
	fault_on_last_xcc(_metadata, low, "fault/dequeue_dead");
	long_inversion(_metadata, low, high);
	EXPECT_EQ(0, wait_node_state("failed"));
	EXPECT_EQ(self->disabled + 1, counter("disabled"));
	EXPECT_TRUE(state_is(low, 0, "leaving"));
}

/* It leaves when nobody counts on it any more. Its waves were reset: it is not taken for saved when scheduling goes on. */
TEST_F_TIMEOUT(direct, victim_that_leaves_after_the_node_was_given_up_is_lost, 120)
{
	/* The node is given up after 4.4 s. */
	enum { DEAD_MS = 6000 };
	struct actor *low = worker(_metadata, LOW_NICE, 1, self->slots, 20, 500 * MS);
	struct actor *high = worker(_metadata, 0, 1, 8, 2, MS), *other;
	uint64_t progress;

	ASSERT_EQ(0, kfd_vgpu_set("fault/dequeue_dead_us", DEAD_MS * 1000));
	node_is_given_up(_metadata, self, low, high);
	kfd_sleep_ns(DEAD_MS * MS);
	EXPECT_TRUE(state_is(low, 0, "leaving"));
	progress = kfd_work_progress(&low->work[0]);
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 1));
	EXPECT_EQ(0, wait_state(low, 0, "lost", LONG));
	EXPECT_EQ(self->timeouts + 1, counter("failed_unmap_timeout"));
	EXPECT_EQ(self->lost + 1, counter("failed_victim_reset"));
	EXPECT_EQ(self->disabled + 1, counter("disabled"));
	ASSERT_DONE_ONCE(high);
	kfd_sleep_ns(50 * MS);
	EXPECT_EQ(progress, kfd_work_progress(&low->work[0]));
	EXPECT_FALSE(actor_done(low, 0));
	EXPECT_EQ(0, actor_tally(low).twice);
	EXPECT_EQ(0, kfd_vgpu_stat("slots_busy"));

	/* The process is left alone from then on; others find a free slot and a scheduler. */
	actor_kill(low);
	ASSERT_EQ(0, kfd_param_set("gpreempt_poll_us", 80));
	ASSERT_EQ(0, kfd_vgpu_look_every(0));
	other = worker(_metadata, LOW_NICE, 1, self->slots, 10, 5 * MS);
	ASSERT_EQ(1, actor_work(high, 1, self->slots, 2, 5 * MS));
	ASSERT_EQ(0, launch_begins(other));
	ASSERT_EQ(0, actor_submit(high, 0, 1, 1, 0));
	ASSERT_EQ(0, wait_state(other, 0, "preempted", LONG));
	ASSERT_DONE_ONCE(other, high);
}

/* Nothing is loaded, and neither switching off nor the end of the process hangs. Last test: the slot stays dead. */
TEST_F_TIMEOUT(direct, victim_that_survives_its_reset_ends_scheduling, 120)
{
	struct actor *low = worker(_metadata, LOW_NICE, 1, self->slots, 40, 10 * MS);
	struct actor *high = worker(_metadata, 0, 1, 8, 2, MS);

	node_is_given_up(_metadata, self, low, high);
	EXPECT_EQ(0, kfd_param_set("gpreempt_enable", 0));
	EXPECT_EQ(0, actor_tally(low).twice);
	actor_kill(low);
	actor_kill(high);
	EXPECT_EQ(0, kfd_param_set("gpreempt_enable", 1));
}

TEST_HARNESS_MAIN
