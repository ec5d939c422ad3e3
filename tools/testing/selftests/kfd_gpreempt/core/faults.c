// SPDX-License-Identifier: MIT
/*
 * faults.c - the error paths of the driver and of the scheduler, each one provoked
 *
 * The virtual GPU does something wrong once (debugfs vgpu/fault). What the driver makes of it is checked first as it does it by
 * itself (stock), then with the scheduler, which must leave it to the driver's recovery, count it, and go on afterwards. After
 * each test a new process finds a usable device.
 *
 * They need amdgpu.gpu_recovery=1 and, on the virtual GPU, reset_method=5 (PCI; 6 in 7.x). Fixture reset runs in both modes, slot with
 * sched_policy=2, error without.
 */
#include <fcntl.h>
#include <sys/ioctl.h>

#include <linux/kfd_ioctl.h>

#include "kselftest_harness.h"

#include "fixture.h"
#include "disturb.h"
#include "worker.h"

#define TIMEOUT_MS	20		/* of a preemption, in tests that wait for it */
#define DEFAULT_TIMEOUT_MS 9000
#define POLL_NS		200000		/* nothing here depends on how soon the device looks */
#define HOG_STEPS	100
#define HW_EXCEPTION_RESET_CAUSE_HANG 0

static char mark[48];

/* From here on said() looks. The kernel's log is a ring: positions in it do not last. */
static void mark_kernel_log(void)
{
	snprintf(mark, sizeof(mark), "faults: mark %llu\n", (unsigned long long)kfd_now_ns());
	if (kfd_file_write("/dev/kmsg", mark))
		mark[0] = '\0';
}

static bool said(const char *text)
{
	const char *from = mark[0] ? strstr(kfd_log_since(0), mark) : NULL;

	return from && strstr(from, text);
}

static int wait_stat(const char *name, int64_t value)
{
	return KFD_WAIT(kfd_vgpu_stat(name) == value, MS, LONG);
}

/* ---- what the stock driver does, by series and device ---- */

/* cp_compute_enable() resets the pipes of each XCC when it halts them for a reset of the device: gfx_v9_4_3.c always, gfx_v9_0.c since 7.x. */
static bool driver_resets_pipes_first(const struct actor *a)
{
	return a->client.gfx_target_version == KFD_GFX942 || kfd_kernel_since(7, 0);
}

/*
 * The driver takes VRAM for lost if the first entries of the GART's table have changed. Up to 6.12 they are those of a window for copies,
 * which a reset leaves alone. Since 7.x buffers have them, and amdgpu_gtt_mgr_recover() writes them anew before the driver looks.
 */
static bool driver_looks_for_lost_vram(void)
{
	return !kfd_kernel_since(7, 0);
}

/* A new process gets its work done, exactly once; with the scheduler, against another one's. */
static void device_works(struct __test_metadata *_metadata, bool scheduled)
{
	uint32_t slots = (uint32_t)kfd_vgpu_stat("wave_slots");
	/* Long enough for a slow machine to start the other one meanwhile. */
	struct actor *low = worker(_metadata, LOW_NICE, 1, slots, 50, 5 * MS);
	struct actor *high = worker(_metadata, 0, 1, slots, 4, MS);
	int64_t preemptions = counter("preemptions");

	ASSERT_EQ(0, launch_begins(low));
	ASSERT_EQ(0, actor_submit(high, 0, 0, 1, 0));
	if (!scheduled) {
		ASSERT_EQ(0, actor_queue_update(high, 0, 6, 100));
	}
	ASSERT_EQ(0, actor_wait(high, 0, LONG));
	if (scheduled) {
		EXPECT_FALSE(actor_done(low, 0));
		EXPECT_GT(counter("preemptions"), preemptions);
	}
	ASSERT_DONE_ONCE(low, high);
	EXPECT_STOPPED(low, high);
}

static const char *faults_missing(void)
{
	const char *missing = unless_virtual(scheduler_missing());

	if (missing)
		return missing;
	return recovery_missing();
}

/* ---- a process of low priority fills the device; then another one's queue makes the driver unmap it ---- */

/* Members of a fixture: the two, and what was true before. The macros below use them. */
#define STAGE \
	struct actor *low; \
	struct actor *high; \
	uint32_t slots; \
	int64_t resets; \
	int64_t queue_resets; \
	int64_t failures; \
	int64_t disabled

#define SET_STAGE(self, scheduled) do { \
	no_faults(); \
	kfd_vgpu_look_every(POLL_NS); \
	ASSERT_EQ(0, scheduler_defaults()); \
	/* A preemption that was made slow is not to put off the next one. */ \
	ASSERT_EQ(0, kfd_param_set("gpreempt_overhead_pct", 0)); \
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", scheduled)); \
	ASSERT_EQ(0, kfd_param_set("queue_preemption_timeout_ms", DEFAULT_TIMEOUT_MS)); \
	(self)->slots = (uint32_t)kfd_vgpu_stat("wave_slots"); \
	mark_kernel_log(); \
	(self)->resets = kfd_vgpu_stat("resets"); \
	(self)->queue_resets = kfd_vgpu_stat("queue_resets"); \
	(self)->failures = counter("failures"); \
	(self)->disabled = counter("disabled"); \
	(self)->low = worker(_metadata, LOW_NICE, 1, (self)->slots, HOG_STEPS, 5 * MS); \
	(self)->high = worker(_metadata, 0, 1, (self)->slots, 4, MS); \
} while (0)

#define CLEAR_STAGE(scheduled) do { \
	kfd_vgpu_look_every(0); \
	no_faults(); \
	actor_forget_all(); \
	if (scheduled) { \
		EXPECT_EQ(0, wait_no_queues()); \
		EXPECT_EQ(counter("preemptions"), counter("resumes") + counter("destroyed_preempted")); \
	} \
	device_works(_metadata, scheduled); \
	actor_forget_all(); \
	kfd_param_set("queue_preemption_timeout_ms", DEFAULT_TIMEOUT_MS); \
	kfd_param_set("gpreempt_enable", 0); \
} while (0)

#define START(self)	ASSERT_EQ(0, launch_begins((self)->low))

/* High's work, which the stock driver's interruption did not need */
#define FINISH_HIGH(self, variant) do { \
	if (!(variant)->scheduled) \
		ASSERT_EQ(0, actor_submit((self)->high, 0, 0, 1, 0)); \
	ASSERT_EQ(0, actor_wait((self)->high, 0, LONG)); \
	EXPECT_EXACTLY_ONCE((self)->high); \
} while (0)

#define EXPECT_RESETS(self, devices, queues) do { \
	EXPECT_EQ((self)->resets + (devices), kfd_vgpu_stat("resets")); \
	EXPECT_EQ((self)->queue_resets + (queues), kfd_vgpu_stat("queue_resets")); \
} while (0)

#define STOCK_AND_SCHEDULED(fixture) \
	FIXTURE_VARIANT_ADD(fixture, stock) { .scheduled = false, }; \
	FIXTURE_VARIANT_ADD(fixture, scheduled) { .scheduled = true, };

FIXTURE(error) {
	STAGE;
};

FIXTURE_VARIANT(error) {
	bool scheduled;
	uint32_t xcc;		/* whose scheduler it is that goes wrong; the others do as they are told */
};

STOCK_AND_SCHEDULED(error)

FIXTURE_VARIANT_ADD(error, second_xcc) {
	.scheduled = true,
	.xcc = 1,
};

FIXTURE_SETUP(error)
{
	NEEDS(faults_missing());
	if (kfd_param_get("sched_policy") == NO_HWS)
		SKIP(return, "the hardware scheduler is off (sched_policy=2)");
	SET_STAGE(self, variant->scheduled);
	if (variant->xcc >= self->low->client.num_xcc) {
		actor_forget_all();
		SKIP(return, "the device has one XCC");
	}
	ASSERT_EQ(0, kfd_vgpu_set("fault/xcc", variant->xcc));
}

FIXTURE_TEARDOWN(error)
{
	CLEAR_STAGE(variant->scheduled);
}

/* The driver's own unmap is that of an update of a queue; the scheduler's is a preemption. Returns what the update says. */
static int interrupt(const FIXTURE_DATA(error) *self, bool scheduled)
{
	return scheduled ? actor_submit(self->high, 0, 0, 1, 0) : actor_queue_update(self->high, 0, 6, 100);
}

/* Late is not lost: the driver waits. */
TEST_F(error, late_unmap_loses_nothing)
{
	START(self);
	ASSERT_EQ(0, kfd_vgpu_set("fault/unmap_late_us", 50000));
	ASSERT_EQ(0, kfd_vgpu_set("fault/unmap_late", 1));
	ASSERT_EQ(0, interrupt(self, variant->scheduled));
	FINISH_HIGH(self, variant);
	EXPECT_EQ(0, kfd_vgpu_get("fault/unmap_late"));
	ASSERT_DONE_ONCE(self->low);
	EXPECT_RESETS(self, 0, 0);
	if (variant->scheduled)
		EXPECT_EQ(self->failures, counter("failures"));
}

/*
 * The driver waited in vain, resets the device, and the processes that were there get nothing more. What they had done
 * is not done again.
 */
static void device_is_reset(struct __test_metadata *_metadata, const FIXTURE_DATA(error) *self, bool scheduled, int resets)
{
	ASSERT_EQ(0, wait_reset(self->resets + resets));
	EXPECT_EQ(self->resets + resets, kfd_vgpu_stat("resets"));
	EXPECT_TRUE(said("succeeded!"));
	EXPECT_TRUE(stands_still(&self->low->work[0], 50 * MS));
	EXPECT_EQ(0, actor_tally(self->low).twice);
	EXPECT_EQ(0, actor_tally(self->high).twice);
	if (scheduled) {
		char state[32] = "";

		EXPECT_LT(self->failures, counter("failures"));
		EXPECT_EQ(self->disabled + 1, counter("disabled"));
		/* The reset has made it work again. */
		EXPECT_EQ(0, kfd_gpreempt_text(kfd_first_gpu_id(), "state", state, sizeof(state)));
		EXPECT_STRNE("failed", state);
	}
}

static void unanswered(struct __test_metadata *_metadata, const FIXTURE_DATA(error) *self, bool scheduled, const char *fault,
		       int resets)
{
	int64_t timeouts = counter("failed_unmap_timeout");

	START(self);
	ASSERT_EQ(0, kfd_param_set("queue_preemption_timeout_ms", TIMEOUT_MS));
	if (fault)
		ASSERT_EQ(0, kfd_vgpu_set(fault, 1));
	EXPECT_EQ(scheduled ? 0 : -EACCES, interrupt(self, scheduled));
	device_is_reset(_metadata, self, scheduled, resets);
	EXPECT_EQ(self->queue_resets, kfd_vgpu_stat("queue_resets"));
	EXPECT_TRUE(said("qcm fence wait loop timeout expired"));
	if (fault)
		EXPECT_EQ(0, kfd_vgpu_get(fault));
	if (scheduled)
		EXPECT_EQ(timeouts + 1, counter("failed_unmap_timeout"));
}

TEST_F_CALLS(error, lost_unmap_resets_the_device, unanswered(_metadata, self, variant->scheduled, "fault/unmap_lost", 1))

TEST_F(error, lost_fence_resets_the_device)
{
	if (variant->xcc)
		SKIP(return, "the first XCC writes the fence");
	unanswered(_metadata, self, variant->scheduled, "fault/fence_lost", 1);
}

/* The answer comes when nobody waits any more, in the middle of the reset or after it. */
TEST_F(error, unmap_later_than_the_timeout_resets_the_device)
{
	ASSERT_EQ(0, kfd_vgpu_set("fault/unmap_late_us", 60000));
	unanswered(_metadata, self, variant->scheduled, "fault/unmap_late", 1);
}

/* The device forgets everything while it is asked to unmap ... */
TEST_F_CALLS(error, device_lost_in_an_unmap_is_reset, unanswered(_metadata, self, variant->scheduled, "fault/state_lost", 2))

/* ... or while waves run. */
TEST_F(error, device_lost_between_two_unmaps_is_reset)
{
	START(self);
	ASSERT_EQ(0, kfd_vgpu_set("reset", 1));
	ASSERT_EQ(0, kfd_param_set("queue_preemption_timeout_ms", TIMEOUT_MS));
	interrupt(self, variant->scheduled);
	/* The scheduler sees no waves and no inversion on a dead device: the driver's own unmap finds out. */
	actor_queue_update(self->high, 0, 6, 100);
	ASSERT_EQ(0, wait_reset(self->resets + 2));
	EXPECT_RESETS(self, 2, 0);
	EXPECT_EQ(0, actor_tally(self->low).twice);
}

/*
 * The queue that did not yield is reset, alone, on those @xccs that still have it: its process may not change its queues any more,
 * everybody else goes on.
 */
static void queue_is_reset(struct __test_metadata *_metadata, const FIXTURE_DATA(error) *self,
			   const FIXTURE_VARIANT(error) *variant, uint32_t xccs)
{
	int64_t victims = counter("failed_victim_reset"), skipped = counter("skipped_reset");

	EXPECT_EQ(0, interrupt(self, variant->scheduled));
	FINISH_HIGH(self, variant);
	EXPECT_RESETS(self, 0, xccs);
	EXPECT_TRUE(said("Queue preemption failed for queue with doorbell_id"));
	EXPECT_TRUE(said("is reset"));
	EXPECT_EQ(-EACCES, actor_queue_update(self->low, 0, 6, 100));
	EXPECT_EQ(0, actor_tally(self->low).twice);
	EXPECT_FALSE(actor_done(self->low, 0));
	if (variant->scheduled) {
		EXPECT_EQ(victims + 1, counter("failed_victim_reset"));
		EXPECT_EQ(self->disabled, counter("disabled"));
		EXPECT_LE(skipped, counter("skipped_reset"));
	}
	EXPECT_EQ(0, actor_queue_destroy(self->low, 0));
}

TEST_F(error, queue_that_fails_to_yield_is_reset)
{
	START(self);
	ASSERT_EQ(0, kfd_vgpu_set("fault/preempt_fail", 1));
	queue_is_reset(_metadata, self, variant, 1);
}

/* Low's queue of this number has new work, which is interrupted as ever, and done once. */
static void queue_works(struct __test_metadata *_metadata, const FIXTURE_DATA(error) *self, const FIXTURE_VARIANT(error) *variant,
			int queue)
{
	int work = actor_work(self->low, 1, self->slots, HOG_STEPS, 5 * MS), urgent = actor_work(self->high, 1, self->slots, 4, MS);
	int64_t preempted = variant->scheduled ? preempt_count(self->low, queue) : 0;

	ASSERT_LE(0, work);
	ASSERT_LE(0, urgent);
	ASSERT_EQ(0, actor_submit(self->low, queue, work, 1, 0));
	ASSERT_EQ(0, actor_wait_progress(self->low, work, 1, LONG));
	ASSERT_EQ(0, actor_submit(self->high, 0, urgent, 1, 0));
	if (!variant->scheduled)
		ASSERT_EQ(0, actor_queue_update(self->high, 0, KFD_PRIORITY_NORMAL, 100));
	ASSERT_EQ(0, actor_wait(self->high, urgent, LONG));
	if (variant->scheduled) {
		EXPECT_FALSE(actor_done(self->low, work));
		EXPECT_LT(preempted, preempt_count(self->low, queue));
	}
	ASSERT_EQ(0, actor_wait(self->low, work, LONG));
	EXPECT_EQ(0, actor_tally(self->low).twice);
}

/* The mark of its process stays, but only an update of a queue asks for it. */
TEST_F(error, siblings_of_a_reset_queue_go_on)
{
	int sibling = actor_queue(self->low, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL), another;

	ASSERT_LT(0, sibling);
	START(self);
	ASSERT_EQ(0, kfd_vgpu_set("fault/preempt_fail", 1));
	ASSERT_EQ(0, interrupt(self, variant->scheduled));
	FINISH_HIGH(self, variant);
	EXPECT_RESETS(self, 0, 1);
	queue_works(_metadata, self, variant, sibling);
	another = actor_queue(self->low, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL);
	ASSERT_LT(sibling, another);
	queue_works(_metadata, self, variant, another);
	/* Nothing of that brings back the one that was reset. */
	EXPECT_FALSE(actor_done(self->low, 0));
	EXPECT_TRUE(stands_still(&self->low->work[0], 50 * MS));
	if (variant->scheduled)
		EXPECT_EQ(0, wait_state(self->low, 0, "lost", LONG));
	EXPECT_RESETS(self, 0, 1);
}

/*
 * The update has taken all queues of all processes off by then. The stock driver leaves them off until the next change of any; with the scheduler on
 * they are mapped again.
 */
TEST_F(error, refused_update_keeps_nobody_off)
{
	int late = actor_work(self->high, 1, self->slots, 4, MS);
	struct actor *other;

	ASSERT_LE(0, late);
	START(self);
	ASSERT_EQ(0, kfd_vgpu_set("fault/preempt_fail", 1));
	ASSERT_EQ(0, interrupt(self, variant->scheduled));
	FINISH_HIGH(self, variant);
	EXPECT_EQ(-EACCES, actor_queue_update(self->low, 0, 6, 100));
	ASSERT_EQ(0, actor_submit(self->high, 0, late, 1, 0));
	if (!variant->scheduled) {
		EXPECT_TRUE(stands_still(&self->high->work[late], 50 * MS));
		EXPECT_FALSE(actor_done(self->high, late));
		other = with_queue(_metadata, 0);
		EXPECT_EQ(0, actor_wait(self->high, late, LONG));
		EXPECT_STOPPED(other);
	}
	EXPECT_EQ(0, actor_wait(self->high, late, LONG));
	EXPECT_RESETS(self, 0, 1);
}

/* The driver waits 4 s for what does not come: the device need not look for its registers every 50 us. */
static void look_rarely(void)
{
	kfd_vgpu_look_every(2 * MS);
}

static void hang(struct __test_metadata *_metadata, const FIXTURE_DATA(error) *self)
{
	ASSERT_EQ(0, kfd_vgpu_set("fault/hung_wave", 1));
	ASSERT_EQ(0, actor_submit(self->low, 0, 0, 1, 0));
	ASSERT_EQ(0, wait_stat("slots_busy", self->slots));
}

TEST_F(error, queue_with_a_hung_wave_is_reset)
{
	hang(_metadata, self);
	queue_is_reset(_metadata, self, variant, self->low->client.num_xcc);
}

TEST_F(error, pipe_is_reset_if_the_queue_cannot_be)
{
	if (variant->scheduled)
		SKIP(return, "the same for the scheduler as queue_with_a_hung_wave_is_reset, four seconds later");
	look_rarely();
	hang(_metadata, self);
	ASSERT_EQ(0, kfd_vgpu_set("fault/queue_reset_fail", 1));
	queue_is_reset(_metadata, self, variant, self->low->client.num_xcc);
	EXPECT_EQ(0, kfd_vgpu_get("fault/queue_reset_fail"));
}

TEST_F(error, device_is_reset_if_the_pipe_cannot_be)
{
	if (variant->scheduled)
		SKIP(return, "the same for the scheduler as lost_unmap_resets_the_device, eight seconds later");
	look_rarely();
	hang(_metadata, self);
	ASSERT_EQ(0, kfd_vgpu_set("fault/queue_reset_fail", 1));
	ASSERT_EQ(0, kfd_vgpu_set("fault/pipe_reset_fail", 1));
	EXPECT_EQ(-EACCES, interrupt(self, false));
	device_is_reset(_metadata, self, false, 1);
	/* Whether the device sees the reset of its pipes before its own is open. */
	EXPECT_LE(kfd_vgpu_stat("queue_resets"),
		  self->queue_resets + (driver_resets_pipes_first(self->low) ? self->low->client.num_xcc : 0));
	EXPECT_EQ(0, kfd_vgpu_get("fault/pipe_reset_fail"));
}

/* ---- garbage: what was saved is not what comes back; only its owner suffers ---- */

static void garbage(struct __test_metadata *_metadata, const FIXTURE_DATA(error) *self, const FIXTURE_VARIANT(error) *variant,
		    const char *fault)
{
	int64_t preemptions = counter("preemptions"), resumes = counter("resumes");

	START(self);
	ASSERT_EQ(0, kfd_vgpu_set(fault, self->low->client.num_xcc));
	ASSERT_EQ(0, interrupt(self, variant->scheduled));
	FINISH_HIGH(self, variant);
	EXPECT_EQ(0, kfd_vgpu_get(fault));
	if (variant->scheduled) {
		EXPECT_EQ(0, wait_all_resumed(preemptions, resumes));
		EXPECT_EQ(self->disabled, counter("disabled"));
	}
	kfd_sleep_ns(2 * HOG_STEPS * 5 * MS);
	EXPECT_GT(actor_tally(self->low).lost, 0);
	EXPECT_FALSE(actor_done(self->low, 0));
	EXPECT_RESETS(self, 0, 0);
}

TEST_F_CALLS(error, garbage_in_an_mqd_hurts_its_queue_only, garbage(_metadata, self, variant, "fault/mqd_garbage"))
TEST_F_CALLS(error, garbage_in_a_control_stack_hurts_its_queue_only, garbage(_metadata, self, variant, "fault/ctl_stack_garbage"))

/*
 * A read index far ahead of the write index, and one far behind it: no work is lost, nobody is held for good. The garbage is high's:
 * the scheduler may take it for work that waits.
 */
static void bad_read_index(struct __test_metadata *_metadata, const FIXTURE_DATA(error) *self,
			   const FIXTURE_VARIANT(error) *variant, uint64_t value)
{
	if (!variant->scheduled)
		SKIP(return, "the driver does not look at read indices");
	ASSERT_EQ(0, kfd_param_set("gpreempt_max_hold_ms", 20));
	START(self);
	ASSERT_EQ(0, kfd_vgpu_set("fault/rptr_value", (int64_t)value));
	ASSERT_EQ(0, kfd_vgpu_set("fault/rptr_garbage", 1));
	ASSERT_EQ(0, actor_submit(self->high, 0, 0, 1, 0));
	ASSERT_EQ(0, actor_queue_update(self->low, 0, 6, 100));
	ASSERT_DONE_ONCE(self->high);
	EXPECT_EQ(0, kfd_vgpu_get("fault/rptr_garbage"));
	ASSERT_DONE_ONCE(self->low);
	EXPECT_EQ(self->disabled, counter("disabled"));
	EXPECT_RESETS(self, 0, 0);
}

TEST_F_CALLS(error, read_index_far_ahead_holds_nobody, bad_read_index(_metadata, self, variant, 1ull << 40))
TEST_F_CALLS(error, read_index_far_behind_holds_nobody, bad_read_index(_metadata, self, variant, 0))

/* ---- interrupts ---- */

static int64_t do_wait_event(struct actor *a, const int64_t *args)
{
	struct kfd_event_data data = { .event_id = (uint32_t)args[0] };
	struct kfd_ioctl_wait_events_args wait = { .events_ptr = (uintptr_t)&data, .num_events = 1, .timeout = (uint32_t)args[1] };

	if (ioctl(a->client.kfd_fd, AMDKFD_IOC_WAIT_EVENTS, &wait))
		return -errno;
	if (wait.wait_result == KFD_IOC_WAIT_RESULT_COMPLETE) {
		a->args[4] = data.hw_exception_data.reset_cause;
		a->args[5] = data.hw_exception_data.memory_lost;
		return 0;
	}
	return wait.wait_result == KFD_IOC_WAIT_RESULT_TIMEOUT ? -ETIME : -EIO;
}

static int64_t do_event_signal(struct actor *a, const int64_t *args)
{
	int err = kfd_signal_init_event(&a->client, a->done[args[0]], 0);

	return err ? err : (int64_t)a->done[args[0]]->event_id;
}

/* Nobody is woken, although memory says that the work is done; the next interrupt makes up for it. */
TEST_F(error, lost_interrupt_is_made_up_for_by_the_next)
{
	int64_t event[2];
	int i;

	ASSERT_EQ(1, actor_work(self->high, 1, 1, 1, MS));
	for (i = 0; i < 2; i++) {
		event[i] = actor_call(self->high, do_event_signal, i, 0, 0, 0);
		ASSERT_GT(event[i], 0);
	}
	ASSERT_EQ(0, kfd_vgpu_set("fault/irq_lost", 1));
	ASSERT_EQ(0, launch_completes(self->high));
	EXPECT_EQ(0, kfd_vgpu_get("fault/irq_lost"));
	EXPECT_EQ(-ETIME, actor_call(self->high, do_wait_event, event[0], 100, 0, 0));
	ASSERT_EQ(0, actor_submit(self->high, 0, 1, 1, 0));
	EXPECT_EQ(0, actor_call(self->high, do_wait_event, event[1], 30000, 0, 0));
	EXPECT_EQ(0, actor_call(self->high, do_wait_event, event[0], 30000, 0, 0));
	EXPECT_EXACTLY_ONCE(self->high);
}

/* ---- negative controls: a device that saves wrongly must be noticed ---- */

/*
 * The exactly-once checks of the other tests prove something only if they fail on a device that forgets.
 */
static void wrongly_saved(struct __test_metadata *_metadata, const FIXTURE_DATA(error) *self,
			  const FIXTURE_VARIANT(error) *variant, const char *fault)
{
	struct kfd_tally t;

	ASSERT_EQ(1, actor_work(self->low, 2, self->slots, 20, 4 * MS));
	ASSERT_EQ(0, actor_submit(self->low, 0, 1, 2, 0));
	ASSERT_EQ(0, actor_wait_progress(self->low, 1, self->slots, LONG));
	ASSERT_EQ(0, kfd_vgpu_set(fault, 0xffffffff));
	ASSERT_EQ(0, interrupt(self, variant->scheduled));
	if (variant->scheduled)
		EXPECT_EQ(0, actor_wait(self->high, 0, LONG));
	/* It may never complete. Work that is lost is lost after three times its duration. */
	actor_wait(self->low, 1, 480 * MS);
	t = (struct kfd_tally){ 0 };
	kfd_work_tally(&self->low->work[1], &t);
	TH_LOG("done %llu lost %llu twice %llu", (unsigned long long)t.done, (unsigned long long)t.lost,
	       (unsigned long long)t.twice);
	EXPECT_GT(t.lost + t.twice, 0);
}

TEST_F_CALLS(error, stale_mqd_is_noticed, wrongly_saved(_metadata, self, variant, "fault/stale_mqd"))
TEST_F_CALLS(error, stale_control_stack_is_noticed, wrongly_saved(_metadata, self, variant, "fault/stale_ctl_stack"))

/* ---- resets that somebody asks for, with the hardware scheduler and without ---- */

FIXTURE(reset) {
	STAGE;
};

FIXTURE_VARIANT(reset) {
	bool scheduled;
};

STOCK_AND_SCHEDULED(reset)

FIXTURE_SETUP(reset)
{
	NEEDS(faults_missing());
	SET_STAGE(self, variant->scheduled);
}

/* A new process, and if there is a scheduler a new preemption, finds a device that works. */
FIXTURE_TEARDOWN(reset)
{
	CLEAR_STAGE(variant->scheduled);
}

static int64_t do_hw_exception_event(struct actor *a, const int64_t *args)
{
	struct kfd_ioctl_create_event_args create = { .event_type = KFD_IOC_EVENT_HW_EXCEPTION, .auto_reset = 0 };

	return ioctl(a->client.kfd_fd, AMDKFD_IOC_CREATE_EVENT, &create) ? -errno : (int64_t)create.event_id;
}

/* Processes are told; their queues stay, but are not run any more. */
TEST_F(reset, before_a_preemption_is_told_to_processes)
{
	int64_t event = actor_call(self->low, do_hw_exception_event, 0, 0, 0, 0);
	uint64_t progress;

	ASSERT_GT(event, 0);
	START(self);
	ASSERT_EQ(0, recover());
	EXPECT_RESETS(self, 1, 0);
	EXPECT_EQ(0, actor_call(self->low, do_wait_event, event, 1000, 0, 0));
	EXPECT_EQ(HW_EXCEPTION_RESET_CAUSE_HANG, self->low->args[4]);
	EXPECT_EQ(1, self->low->args[5]);
	progress = kfd_work_progress(&self->low->work[0]);
	EXPECT_EQ(0, actor_submit(self->high, 0, 0, 1, 0));
	kfd_sleep_ns(100 * MS);
	EXPECT_EQ(progress, kfd_work_progress(&self->low->work[0]));
	EXPECT_FALSE(actor_done(self->high, 0));
	EXPECT_EQ(0, actor_queue_destroy(self->low, 0));
	EXPECT_EQ(0, actor_stop(self->low));
	if (variant->scheduled)
		EXPECT_EQ(self->failures, counter("failures"));
}

static int64_t do_update_priority(struct actor *a, const int64_t *args)
{
	return kfd_queue_update(&a->queue[args[0]], (uint32_t)args[1], 100);
}

/* While the hardware is in the middle of taking waves off, the reset waits for it. */
TEST_F(reset, during_an_unmap_waits_for_it)
{
	const char *fault = kfd_param_get("sched_policy") == NO_HWS ? "fault/dequeue_late" : "fault/unmap_late";

	START(self);
	ASSERT_EQ(0, kfd_vgpu_set("fault/dequeue_late_us", 60000));
	ASSERT_EQ(0, kfd_vgpu_set("fault/unmap_late_us", 60000));
	ASSERT_EQ(0, kfd_vgpu_set(fault, 1));
	if (!variant->scheduled)
		actor_begin(self->low, do_update_priority, 0, 6, 0, 0);
	else
		ASSERT_EQ(0, actor_submit(self->high, 0, 0, 1, 0));
	while (kfd_vgpu_get(fault))
		kfd_sleep_ns(MS);
	ASSERT_EQ(0, recover());
	if (!variant->scheduled)
		actor_end(self->low);
	EXPECT_RESETS(self, 1, 0);
	EXPECT_FALSE(said("timeout expired"));
	EXPECT_EQ(0, actor_tally(self->low).twice);
	EXPECT_EQ(0, actor_tally(self->high).twice);
	EXPECT_EQ(self->disabled, counter("disabled"));
}

/* Without the hardware scheduler a queue that does not leave in time is let alone for a while: the reset comes in that. */
TEST_F(reset, while_a_queue_leaves_ends_that)
{
	if (!variant->scheduled || kfd_param_get("sched_policy") != NO_HWS)
		SKIP(return, "only the scheduler, and only without the hardware scheduler, lets a queue leave in its own time");
	START(self);
	ASSERT_EQ(0, kfd_vgpu_set("fault/dequeue_lost", 1));
	ASSERT_EQ(0, actor_submit(self->high, 0, 0, 1, 0));
	ASSERT_EQ(0, wait_state(self->low, 0, "leaving", LONG));
	ASSERT_EQ(0, recover());
	EXPECT_RESETS(self, 1, 0);
	EXPECT_FALSE(state_is(self->low, 0, "leaving"));
	EXPECT_EQ(counter("preemptions"), counter("resumes"));
	EXPECT_EQ(self->disabled, counter("disabled"));
	EXPECT_EQ(0, actor_tally(self->low).twice);
	EXPECT_EQ(0, actor_tally(self->high).twice);
}

/* With low preempted and high on the device */
TEST_F(reset, after_a_preemption_forgets_preempted_queues)
{
	if (!variant->scheduled)
		SKIP(return, "nothing is preempted without the scheduler");
	ASSERT_EQ(1, actor_work(self->high, 1, self->slots, HOG_STEPS, 5 * MS));
	START(self);
	ASSERT_EQ(0, actor_submit(self->high, 0, 1, 1, 0));
	ASSERT_EQ(0, wait_state(self->low, 0, "preempted", LONG));
	ASSERT_EQ(0, recover());
	EXPECT_RESETS(self, 1, 0);
	EXPECT_FALSE(state_is(self->low, 0, "preempted"));
	EXPECT_EQ(counter("preemptions"), counter("resumes"));
	EXPECT_EQ(self->failures, counter("failures"));
	EXPECT_EQ(0, actor_tally(self->low).twice);
}

/* Whatever the scheduler is about at that moment: each time two new processes, and a reset some time after the second one came */
TEST_F_TIMEOUT(reset, at_any_moment_leaves_a_device_that_schedules, 120)
{
	enum { ROUNDS = 6, BURSTS = 20 };
	struct actor *low = self->low, *high = self->high;
	int i;

	if (!variant->scheduled)
		SKIP(return, "nothing is preempted without the scheduler");
	for (i = 0; i < ROUNDS; i++) {
		if (i) {
			low = worker(_metadata, LOW_NICE, 1, self->slots, HOG_STEPS, 5 * MS);
			high = worker(_metadata, 0, 1, self->slots, 4, MS);
		}
		ASSERT_EQ(1, actor_work(high, BURSTS, self->slots / 2, 1, 300 * US));
		ASSERT_EQ(0, launch_begins(low));
		ASSERT_EQ(0, actor_submit(high, 0, 1, BURSTS, KFD_PACKET_BARRIER));
		kfd_sleep_ns((uint64_t)i * 700 * US);
		ASSERT_EQ(0, recover());
		EXPECT_RESETS(self, i + 1, 0);
		EXPECT_EQ(0, actor_tally(low).twice);
		EXPECT_EQ(0, actor_tally(high).twice);
		EXPECT_STOPPED(low, high);
	}
	EXPECT_EQ(self->failures, counter("failures"));
	EXPECT_EQ(self->disabled, counter("disabled"));
}

/* Page tables of the kernel, firmware, MQDs: whatever was in VRAM is garbage, as after a reset of the whole ASIC. */
TEST_F(reset, that_loses_vram_sets_the_device_up_anew)
{
	START(self);
	ASSERT_EQ(0, kfd_vgpu_set("fault/vram_lost", 1));
	ASSERT_EQ(0, recover());
	EXPECT_EQ(0, kfd_vgpu_get("fault/vram_lost"));
	if (driver_looks_for_lost_vram())
		EXPECT_TRUE(said("VRAM is lost"));
	EXPECT_RESETS(self, 1, 0);
	EXPECT_EQ(0, actor_tally(self->low).twice);
	EXPECT_EQ(self->disabled, counter("disabled"));
}

/* ---- queues that are taken off by register ---- */

FIXTURE(slot) {
	STAGE;
};

FIXTURE_VARIANT(slot) {
	bool scheduled;
};

STOCK_AND_SCHEDULED(slot)

FIXTURE_SETUP(slot)
{
	NEEDS(faults_missing());
	NEEDS_NO_HWS();
	SET_STAGE(self, variant->scheduled);
	/* The driver waits for seconds for what does not come. */
	look_rarely();
}

FIXTURE_TEARDOWN(slot)
{
	CLEAR_STAGE(variant->scheduled);
}

/* The driver's own way is an update of low's queue: that one is taken off and loaded again. */
static int interrupt_slot(const FIXTURE_DATA(slot) *self, bool scheduled)
{
	return scheduled ? actor_submit(self->high, 0, 0, 1, 0) : actor_queue_update(self->low, 0, 6, 100);
}

/* On the last XCC: where there are several, the others let go of the queue. */
static void slot_fault(struct __test_metadata *_metadata, const FIXTURE_DATA(slot) *self, const char *fault)
{
	ASSERT_EQ(0, kfd_vgpu_set("fault/xcc", self->low->client.num_xcc - 1));
	ASSERT_EQ(0, kfd_vgpu_set(fault, 1));
}

TEST_F(slot, that_is_left_late_loses_nothing)
{
	START(self);
	ASSERT_EQ(0, kfd_vgpu_set("fault/dequeue_late_us", 50000));
	slot_fault(_metadata, self, "fault/dequeue_late");
	ASSERT_EQ(0, interrupt_slot(self, variant->scheduled));
	FINISH_HIGH(self, variant);
	EXPECT_EQ(0, kfd_vgpu_get("fault/dequeue_late"));
	ASSERT_DONE_ONCE(self->low);
	EXPECT_RESETS(self, 0, 0);
	EXPECT_EQ(self->failures, counter("failures"));
}

/*
 * After the driver's limit the update fails, or the scheduler resets the queue's waves. Destroying it resets them in any case, and
 * nobody else is disturbed.
 */
static void slot_is_given_back(struct __test_metadata *_metadata, const FIXTURE_DATA(slot) *self,
			       const FIXTURE_VARIANT(slot) *variant, int work)
{
	EXPECT_EQ(variant->scheduled ? 0 : -ETIME, interrupt_slot(self, variant->scheduled));
	if (variant->scheduled)
		EXPECT_EQ(0, wait_state(self->low, 0, "lost", LONG));
	EXPECT_EQ(0, actor_queue_destroy(self->low, 0));
	FINISH_HIGH(self, variant);
	EXPECT_FALSE(actor_done(self->low, work));
	EXPECT_EQ(0, actor_tally(self->low).twice);
	EXPECT_EQ(0, kfd_vgpu_stat("slots_busy"));
	EXPECT_RESETS(self, 0, 0);
	EXPECT_EQ(self->disabled, counter("disabled"));
}

TEST_F(slot, that_is_not_left_is_given_back_by_a_reset_of_its_waves)
{
	/* Its waves run on until they are reset. */
	ASSERT_EQ(1, actor_work(self->low, 1, self->slots, 20, 500 * MS));
	ASSERT_EQ(0, actor_submit(self->low, 0, 1, 1, 0));
	ASSERT_EQ(0, actor_wait_progress(self->low, 1, 1, LONG));
	slot_fault(_metadata, self, "fault/dequeue_lost");
	slot_is_given_back(_metadata, self, variant, 1);
	EXPECT_EQ(0, kfd_vgpu_get("fault/dequeue_lost"));
}

TEST_F(slot, of_a_hung_wave_is_given_back_by_a_reset_of_its_waves)
{
	ASSERT_EQ(0, kfd_vgpu_set("fault/hung_wave", 1));
	ASSERT_EQ(0, actor_submit(self->low, 0, 0, 1, 0));
	ASSERT_EQ(0, wait_stat("slots_busy", self->slots));
	slot_is_given_back(_metadata, self, variant, 0);
}

/* The driver knows no way out; the scheduler resets the device. */
TEST_F(slot, that_is_never_left_takes_a_reset_of_the_device)
{
	START(self);
	slot_fault(_metadata, self, "fault/dequeue_dead");
	EXPECT_EQ(variant->scheduled ? 0 : -ETIME, interrupt_slot(self, variant->scheduled));
	if (variant->scheduled) {
		char state[32] = "";

		ASSERT_EQ(0, wait_reset(self->resets + 1));
		EXPECT_EQ(self->disabled + 1, counter("disabled"));
		EXPECT_EQ(0, kfd_gpreempt_text(kfd_first_gpu_id(), "state", state, sizeof(state)));
		EXPECT_STRNE("failed", state);
	} else {
		EXPECT_EQ(-ETIME, actor_queue_destroy(self->low, 0));
		ASSERT_EQ(0, recover());
	}
	EXPECT_RESETS(self, 1, 0);
	EXPECT_EQ(0, kfd_vgpu_stat("slots_busy"));
	EXPECT_EQ(0, actor_tally(self->low).twice);
	EXPECT_EQ(0, actor_tally(self->high).twice);
}

TEST_HARNESS_MAIN
