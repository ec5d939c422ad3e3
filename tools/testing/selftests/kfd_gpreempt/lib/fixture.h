/* SPDX-License-Identifier: MIT */
/*
 * fixture.h - what all tests of this folder start from and leave behind
 *
 * Include after kselftest_harness.h. Sets the scheduler's parameters to their defaults before each test and looks
 * afterwards that nothing leaked and the device saw no fault. A test that cannot run says why (skip).
 */
#ifndef FIXTURE_H
#define FIXTURE_H

#include <errno.h>
#include <stdio.h>

#include "actor.h"

#define MS		KFD_NS_PER_MS
#define US		KFD_NS_PER_US
#define SECOND		(1000 * MS)
#define LONG		(30 * SECOND)	/* a wait that only a hang exceeds; device time is cheap in the VM */
#define ARENA		(4u << 20)
#define LOW_NICE	10
#define NO_HWS		2		/* amdgpu.sched_policy */

/* ASSERT on an actor that must exist, with its reason. */
#define ASSERT_ACTOR(a) ASSERT_NE(NULL, a) { TH_LOG("actor: %s", actor_why()); }
/* Of all items that it submitted (there are some) none was lost, none was done twice. */
static inline bool exactly_once(const struct actor *a)
{
	struct kfd_tally t = actor_tally(a);

	if (t.done && !t.lost && !t.twice)
		return true;
	fprintf(stderr, "# process %d: %llu items done once, %llu lost, %llu twice\n", a->pid, (unsigned long long)t.done,
		(unsigned long long)t.lost, (unsigned long long)t.twice);
	return false;
}

#define EXPECT_EXACTLY_ONCE(a)	EXPECT_TRUE(exactly_once(a))

/* All work of these actors ends, and then so it is. */
#define ASSERT_DONE_ONCE(...) do { \
	const struct actor *const done_[] = { __VA_ARGS__ }; \
	size_t done_i_; \
	for (done_i_ = 0; done_i_ < sizeof(done_) / sizeof(done_[0]); done_i_++) { \
		ASSERT_EQ(0, actor_wait_all(done_[done_i_], LONG)) TH_LOG("number %zu of " #__VA_ARGS__, done_i_); \
		EXPECT_EXACTLY_ONCE(done_[done_i_]); \
	} \
} while (0)

/* And each of these ends as it should. */
#define EXPECT_STOPPED(...) do { \
	struct actor *const stopped_[] = { __VA_ARGS__ }; \
	size_t stopped_i_; \
	for (stopped_i_ = 0; stopped_i_ < sizeof(stopped_) / sizeof(stopped_[0]); stopped_i_++) \
		EXPECT_EQ(0, actor_stop(stopped_[stopped_i_])) TH_LOG("number %zu of " #__VA_ARGS__, stopped_i_); \
} while (0)

struct gpreempt_default {
	const char *name;
	int64_t value;
};

static const struct gpreempt_default gpreempt_defaults[] = {
	{ "gpreempt_interval_ms", 5 },
	{ "gpreempt_poll_us", 80 },
	{ "gpreempt_max_hold_ms", 1000 },
	{ "gpreempt_relief_ms", 20 },
	{ "gpreempt_blocked_us", 2000 },
	{ "gpreempt_overhead_pct", 0 },
	{ "gpreempt_aging_ms", 0 },
	{ "gpreempt_min_run_us", 0 },
	{ "gpreempt_resume_delay_us", 0 },
	{ "gpreempt_drain_us", 200 },
	{ "gpreempt_slice_us", 5000 },
	{ "gpreempt_nice", 1 },
	{ "gpreempt_trust_kfd_priority", 0 },
	{ "gpreempt_verify", 0 },
	{ "gpreempt_follow_stop", 0 },
	{ "gpreempt_idle_evict_us", 0 },
	{ "gpreempt_observe", 0 },
	/* Most tests count looks, or measure what they take. */
	{ "gpreempt_account", 0 },
};

/* NULL, or why no kernel can run here. */
static inline const char *device_missing(void)
{
	if (access("/dev/kfd", F_OK))
		return "/dev/kfd is absent";
	if (!kfd_first_gpu_id())
		return "KFD has no GPU node";
	return kfd_work_missing();
}

/* What needs the virtual GPU's faults and counters cannot run elsewhere. */
#define NO_VGPU		"needs the virtual GPU's switches: /sys/kernel/debug/vgpu is absent"
static inline const char *unless_virtual(const char *missing)
{
	return missing || kfd_client_is_virtual() ? missing : NO_VGPU;
}

#define NEEDS(missing) do { \
	const char *missing_ = (missing); \
	if (missing_) \
		SKIP(return, "%s", missing_); \
} while (0)

#define NEEDS_VGPU()	NEEDS(unless_virtual(NULL))

#define NEEDS_NO_HWS()	NEEDS(kfd_param_get("sched_policy") == NO_HWS ? NULL : "the hardware scheduler is on: needs amdgpu.sched_policy=2")

static inline const char *scheduler_missing(void)
{
	const char *why = device_missing();

	if (why)
		return why;
	if (kfd_param_get("gpreempt_enable") < 0)
		return "this amdgpu has no gpreempt_enable parameter";
	return NULL;
}

static inline int scheduler_defaults(void)
{
	size_t i;
	int err = 0;

	for (i = 0; i < sizeof(gpreempt_defaults) / sizeof(gpreempt_defaults[0]) && !err; i++)
		err = kfd_param_set(gpreempt_defaults[i].name, gpreempt_defaults[i].value);
	if (!err)
		err = kfd_param_set_text("gpreempt_wakeup", "auto");
	if (!err)
		err = kfd_param_set_text("gpreempt_unmap", "all");
	return err ? err : kfd_param_set_text("gpreempt_policy", "hpf");
}

static inline int64_t counter(const char *name)
{
	return kfd_gpreempt_get(kfd_first_gpu_id(), name);
}

/* Waits until a counter of the scheduler has at least this value. */
static inline int wait_counter(const char *name, int64_t least, uint64_t timeout_ns)
{
	return KFD_WAIT(counter(name) >= least, 200 * US, timeout_ns);
}

/*
 * On a kernel that looks after its locks, or for data races, a look takes long, at 50 queues a millisecond, and looks take 1/24 of the time at most:
 * decisions come late.
 */
static inline bool looks_rarely(void)
{
	return !access("/proc/lockdep", F_OK) || !access("/sys/kernel/debug/kcsan", F_OK);
}

/*
 * A process that a higher one keeps waiting is owed a turn before it after 80 to 600 ms, by what a switch costs (debt.c). Tests that let it wait for as long
 * and are about something else do without debts.
 */
#define ASSERT_STRICT_ORDER() ASSERT_EQ(0, kfd_param_set("gpreempt_max_hold_ms", 0))

/*
 * Waits until everything that was preempted since then has been resumed. Idle queues that were taken along come back
 * a moment after the last kernel's end.
 */
static inline int wait_all_resumed(int64_t preemptions, int64_t resumes)
{
	return KFD_WAIT(counter("preemptions") - preemptions == counter("resumes") - resumes, MS, LONG);
}

/* KFD tears down a dead process from a work queue: wait for its end before looking for leaks. */
static inline int wait_no_queues(void)
{
	return KFD_WAIT(counter("queues") <= 0, 2 * MS, LONG);
}

static inline bool node_state_is(const char *state)
{
	char now[32] = "";

	return !kfd_gpreempt_text(kfd_first_gpu_id(), "state", now, sizeof(now)) && !strcmp(now, state);
}

static inline int wait_node_state(const char *state)
{
	return KFD_WAIT(node_state_is(state), 200 * US, LONG);
}

/* A queue of whatever process, as the scheduler's file in /sys/kernel/debug says it */
static inline bool queue_state_is(uint32_t gpu_id, int pid, uint32_t queue_id, const char *state)
{
	struct kfd_gpreempt_queue q;

	return !kfd_gpreempt_queue_get(gpu_id, pid, queue_id, &q) && !strcmp(q.state, state);
}

static inline int wait_queue_state(uint32_t gpu_id, int pid, uint32_t queue_id, const char *state, uint64_t timeout_ns)
{
	return KFD_WAIT(queue_state_is(gpu_id, pid, queue_id, state), 200 * US, timeout_ns);
}

static inline bool state_is(const struct actor *a, int queue, const char *state)
{
	return queue_state_is(a->client.gpu_id, a->pid, a->queue[queue].id, state);
}

static inline int wait_state(const struct actor *a, int queue, const char *state, uint64_t timeout_ns)
{
	return wait_queue_state(a->client.gpu_id, a->pid, a->queue[queue].id, state, timeout_ns);
}

/*
 * Waves for a test of how soon something happens. All those of a large device are back on it only
 * after the virtual GPU has spent milliseconds on them, and until then there is nothing to preempt;
 * so many are back in time on any device.
 */
static inline uint32_t few_waves(uint32_t slots)
{
	return slots < 256 ? slots : 256;
}

/* Launches of its first work in its first queue, until that has begun, or until it has ended */
static inline int launches_begin(struct actor *a, uint32_t launches, uint32_t flags)
{
	int err = actor_submit(a, 0, 0, launches, flags);

	return err ? err : actor_wait_progress(a, 0, 1, LONG);
}

static inline int launch_begins(struct actor *a)
{
	return launches_begin(a, 1, 0);
}

static inline int launches_complete(struct actor *a, uint32_t launches, uint32_t flags)
{
	int err = actor_submit(a, 0, 0, launches, flags);

	return err ? err : actor_wait(a, 0, LONG);
}

static inline int launch_completes(struct actor *a)
{
	return launches_complete(a, 1, 0);
}

/* One's first work ends while the other's has not. */
#define ASSERT_ENDS_BEFORE(first, second) do { \
	ASSERT_EQ(0, actor_wait(first, 0, LONG)); \
	EXPECT_FALSE(actor_done(second, 0)) TH_LOG("%s was to end before %s", #first, #second); \
} while (0)

/* It does no step for so long, or does one at last. */
static inline bool stands_still(const struct kfd_work *w, uint64_t ns)
{
	uint64_t progress = kfd_work_progress(w);

	kfd_sleep_ns(ns);
	return progress == kfd_work_progress(w);
}

static inline int goes_on(const struct kfd_work *w)
{
	uint64_t progress = kfd_work_progress(w);

	return KFD_WAIT(kfd_work_progress(w) > progress, 200 * US, LONG);
}

/* Does the virtual GPU give this answer of firmware's (firmware=)? */
static inline bool firmware_is(const char *name)
{
	char text[256];

	return kfd_file_read("/sys/module/vgpu/parameters/firmware", text, sizeof(text)) > 0 && strstr(text, name);
}

/* High's launch, until low's first queue is off the device for it */
static inline int launch_preempts(struct actor *high, const struct actor *low)
{
	int err = actor_submit(high, 0, 0, 1, 0);

	return err ? err : wait_state(low, 0, "preempted", LONG);
}

/* The same, of a low one that has begun */
static inline int launch_interrupts(struct actor *high, struct actor *low)
{
	int err = launch_begins(low);

	return err ? err : launch_preempts(high, low);
}

static inline int64_t preempt_count(const struct actor *a, int queue)
{
	struct kfd_gpreempt_queue q;

	if (kfd_gpreempt_queue_get(a->client.gpu_id, a->pid, a->queue[queue].id, &q))
		return -1;
	return (int64_t)q.preempt_count;
}

/* What the device itself would complain about. */
struct device_health {
	int64_t gpuvm_faults;
	int64_t bad_packets;
	int64_t stale_translations;
};

static inline struct device_health device_health(void)
{
	struct device_health h = {
		.gpuvm_faults = kfd_vgpu_stat("gpuvm_faults"),
		.bad_packets = kfd_vgpu_stat("bad_packets"),
		.stale_translations = kfd_vgpu_stat("stale_translations"),
	};

	/*
	 * Without HWS the driver hands VMIDs on as they are: Documentation/driver-notes.rst. The device
	 * tells that by the PASID, but AMD's own driver hands these on at once, too.
	 */
	if (kfd_param_get("sched_policy") != NO_HWS)
		h.stale_translations += kfd_vgpu_stat("stale_vmids");
	else if (kfd_driver_is_amds())
		h.stale_translations = 0;
	return h;
}

/* The device alone */
static inline int scheduler_off(void)
{
	return kfd_param_get("gpreempt_enable") > 0 ? kfd_param_set("gpreempt_enable", 0) : 0;
}

/* A scheduler that has just been switched on, with its default settings but for the one named, if one is */
static inline int scheduler_fresh(const char *name, int64_t value)
{
	int err = scheduler_off();

	if (!err)
		err = scheduler_defaults();
	if (!err && name)
		err = kfd_param_set(name, value);
	return err ? err : kfd_param_set("gpreempt_enable", 1);
}

/*
 * Members of a fixture: what is true before a test, and what its end is compared with (the scheduler's counters are below 0 without it).
 * The macros below use them.
 */
#define BEFORE_TEST \
	struct device_health health; \
	uint32_t slots;			/* of waves on the device */ \
	int64_t failures, preemptions, resumes, runlists

#define REMEMBER_BEFORE_TEST() do { \
	self->health = device_health(); \
	self->slots = kfd_wave_slots(); \
	self->failures = counter("failures"); \
	self->preemptions = counter("preemptions"); \
	self->resumes = counter("resumes"); \
	self->runlists = counter("runlists"); \
} while (0)

/* Fixture setup without the scheduler, and with one that is fresh; see scheduler_fresh(). */
#define SETUP_DEVICE() do { \
	NEEDS(device_missing()); \
	ASSERT_EQ(0, scheduler_off()); \
	REMEMBER_BEFORE_TEST(); \
	ASSERT_GT((int)self->slots, 0); \
} while (0)

#define SETUP_SCHEDULER(name, value) do { \
	NEEDS(scheduler_missing()); \
	ASSERT_EQ(0, scheduler_fresh(name, value)); \
	REMEMBER_BEFORE_TEST(); \
	ASSERT_GT((int)self->slots, 0); \
	ASSERT_GE(self->failures, 0) TH_LOG("/sys/class/kfd/kfd/gpreempt is absent"); \
} while (0)

/* The device has nothing to complain about that was not there before. */
#define EXPECT_DEVICE_UNHARMED() do { \
	struct device_health health_ = device_health(); \
	EXPECT_EQ(self->health.gpuvm_faults, health_.gpuvm_faults); \
	EXPECT_EQ(self->health.bad_packets, health_.bad_packets); \
	EXPECT_EQ(self->health.stale_translations, health_.stale_translations); \
} while (0)

/* Nor has the scheduler, and nothing is left of the test's queues. The actors have ended. */
#define EXPECT_NOTHING_LEFT() do { \
	EXPECT_EQ(0, wait_no_queues()); \
	EXPECT_EQ(self->failures, counter("failures")); \
	EXPECT_DEVICE_UNHARMED(); \
} while (0)

#define TEARDOWN_SCHEDULER() do { \
	actor_forget_all(); \
	EXPECT_NOTHING_LEFT(); \
	scheduler_off(); \
} while (0)

/* The first queue of an actor asks for cooperative groups. */
#define ASSERT_GWS_OR_SKIP(a) do { \
	int gws_ = actor_queue_gws(a, 0, true); \
	if (gws_ == -ENODEV) \
		SKIP(return, "KFD has no GWS on this device"); \
	ASSERT_EQ(0, gws_); \
} while (0)

/* A test that is one call: of a family that differs in what it is given */
#define TEST_F_CALLS(fixture, name, call)	TEST_F(fixture, name) { call; }

/* A fixture of these alone, with what else its setup does */
#define SCHEDULER_FIXTURE(name, setup) \
	FIXTURE(name) { BEFORE_TEST; }; \
	FIXTURE_SETUP(name) { SETUP_SCHEDULER(NULL, 0); setup; } \
	FIXTURE_TEARDOWN(name) { TEARDOWN_SCHEDULER(); }

#endif /* FIXTURE_H */
