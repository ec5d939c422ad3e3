// SPDX-License-Identifier: MIT
/*
 * several.c - two devices of one machine: each node decides by itself, whatever happens to the other
 *
 * "Near" is the device on which something happens, "far" the one that it must not matter to. Needs two GPUs of any kind (vgpu.gpus=2),
 * for resets amdgpu.gpu_recovery=1. The test that unplugs a device comes last: it leaves KFD locked up to 6.12.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <glob.h>
#include <sched.h>

#include "kselftest_harness.h"

#include "fixture.h"
#include "disturb.h"
#include "gpus.h"
#include "outside.h"
#include "worker.h"

#define NEAR		0
#define FAR		1
#define HOG_STEPS	100
#define MAX_HELD	8		/* queues of a process on a device */
#define POLL_NS		200000		/* nothing here depends on how soon the device looks */
#define PCI		"/sys/bus/pci"

FIXTURE(several) {
	struct side side[2];
};

FIXTURE_SETUP(several)
{
	int gpu;

	kfd_wanted_gpu_id = 0;
	NEEDS(gpus_missing());
	ASSERT_EQ(0, scheduler_fresh(NULL, 0));
	ASSERT_STRICT_ORDER();
	/* Preemptions wait for the CPU, too, where resets and many processes keep it. */
	ASSERT_EQ(0, kfd_param_set("gpreempt_overhead_pct", 0));
	kfd_longest_poll_ns = MS;
	kfd_vgpu_look_every(POLL_NS);
	for (gpu = NEAR; gpu <= FAR; gpu++) {
		struct side *s = &self->side[gpu];

		remember_side(s, gpu);
		ASSERT_GT((int)s->slots, 0);
		ASSERT_LE(0, s->failures);
		ASSERT_LT(0, s->monitor_pid);
	}
}

FIXTURE_TEARDOWN(several)
{
	int gpu;

	actor_forget_all();
	for (gpu = NEAR; gpu <= FAR; gpu++) {
		at(gpu);
		EXPECT_EQ(0, wait_no_queues());
		EXPECT_SIDE_UNHARMED(self->side[gpu], gpu);
	}
	scheduler_off();
	kfd_vgpu_look_every(0);
	kfd_param_set_text("gpreempt_wakeup", "auto");
	kfd_wanted_gpu_id = 0;
}

/* The low process of a device begins, and a high one is there. */
#define ASSERT_HOGGED(gpu) do { \
	struct side *hogged_ = &self->side[gpu]; \
	at(gpu); \
	hogged_->low = worker(_metadata, LOW_NICE, 1, hogged_->slots, HOG_STEPS, 40 * MS); \
	hogged_->high = worker(_metadata, 0, 1, hogged_->slots, 20, 10 * MS); \
	ASSERT_EQ(0, launch_begins(hogged_->low)); \
} while (0)

/* All work of a device is done, once, and its high process was never taken off. */
#define ASSERT_FINISHED(gpu) do { \
	struct side *finished_ = &self->side[gpu]; \
	ASSERT_DONE_ONCE(finished_->high, finished_->low); \
	EXPECT_EQ(0, preempt_count(finished_->high, 0)); \
} while (0)

/* New processes find a device that is scheduled. */
#define ASSERT_SCHEDULED(gpu) do { \
	struct side scheduled_ = { .slots = self->side[gpu].slots }; \
	at(gpu); \
	scheduled_.low = worker(_metadata, LOW_NICE, 1, scheduled_.slots, 20, 5 * MS); \
	scheduled_.high = worker(_metadata, 0, 1, scheduled_.slots, 4, MS); \
	ASSERT_EQ(0, launch_begins(scheduled_.low)); \
	ASSERT_EQ(0, launch_completes(scheduled_.high)); \
	EXPECT_FALSE(actor_done(scheduled_.low, 0)); \
	EXPECT_LE(1, preempt_count(scheduled_.low, 0)); \
	ASSERT_DONE_ONCE(scheduled_.low, scheduled_.high); \
	EXPECT_STOPPED(scheduled_.low, scheduled_.high); \
} while (0)

TEST_F_TIMEOUT(several, late_high_preempts_on_its_own_device_only, 120)
{
	struct side *near = &self->side[NEAR], *far = &self->side[FAR];

	ASSERT_HOGGED(NEAR);
	ASSERT_HOGGED(FAR);
	ASSERT_EQ(0, launch_preempts(near->high, near->low));
	EXPECT_TRUE(stands_still(&near->low->work[0], 50 * MS));
	EXPECT_EQ(0, goes_on(&far->low->work[0]));
	EXPECT_EQ(0, preempt_count(far->low, 0));
	at(FAR);
	EXPECT_EQ(far->preemptions, counter("preemptions"));
	EXPECT_EQ(far->runlists, counter("runlists"));

	ASSERT_EQ(0, launch_preempts(far->high, far->low));
	ASSERT_ENDS_BEFORE(near->high, near->low);
	ASSERT_ENDS_BEFORE(far->high, far->low);
	ASSERT_FINISHED(NEAR);
	ASSERT_FINISHED(FAR);
	EXPECT_EQ(1, preempt_count(near->low, 0));
	EXPECT_EQ(1, preempt_count(far->low, 0));
}

/* One process that works on both: it is taken off where something comes first, and goes on elsewhere. */
static struct kfd_client elsewhere;
static struct kfd_queue queues_elsewhere[MAX_HELD];
static int nr_elsewhere;

/* args: the device, bytes of the arena, the work. A queue more each time. */
static int64_t actor_works_elsewhere(struct actor *a, const int64_t *args)
{
	struct kfd_queue *queue = &queues_elsewhere[nr_elsewhere];
	struct kfd_buffer b;
	int err = 0;

	kfd_wanted_gpu_id = (uint32_t)args[0];
	if (!nr_elsewhere++)
		err = kfd_client_open(&elsewhere) ?: kfd_buffer_import(&elsewhere, a->arena, (size_t)args[1], &b);
	if (!err)
		err = kfd_queue_create(&elsewhere, queue, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL, 256);
	kfd_signal_init(a->done[args[2]], 1);
	return err ? err : kfd_work_submit(queue, &a->work[args[2]], a->done[args[2]], 0);
}

static int64_t actor_stops_elsewhere(struct actor *a, const int64_t *args)
{
	int err = 0;

	while (nr_elsewhere && !err)
		err = kfd_queue_destroy(&queues_elsewhere[--nr_elsewhere]);
	return err;
}

TEST_F_TIMEOUT(several, process_on_both_is_preempted_where_something_comes_first, 120)
{
	struct side *near = &self->side[NEAR];

	ASSERT_HOGGED(NEAR);
	ASSERT_EQ(1, actor_work(near->low, 1, self->side[FAR].slots, 100, 10 * MS));
	ASSERT_EQ(0, actor_call(near->low, actor_works_elsewhere, ids[FAR], ARENA, 1, 0));
	ASSERT_EQ(0, actor_wait_progress(near->low, 1, 1, LONG));
	ASSERT_EQ(0, launch_preempts(near->high, near->low));
	EXPECT_TRUE(stands_still(&near->low->work[0], 50 * MS));
	EXPECT_EQ(0, goes_on(&near->low->work[1]));
	at(FAR);
	EXPECT_EQ(self->side[FAR].preemptions, counter("preemptions"));
	ASSERT_FINISHED(NEAR);
	EXPECT_EQ(0, actor_call(near->low, actor_stops_elsewhere, 0, 0, 0, 0));
}

/* Another queue of the process works on this device. */
static int works_on(struct actor *a, int gpu, uint32_t waves)
{
	int work = actor_work(a, 1, waves, 100, 2 * MS), queue;

	if (work < 0 || gpu == FAR)
		return work < 0 ? work : (int)actor_call(a, actor_works_elsewhere, ids[gpu], ARENA, work, 0);
	queue = actor_queue(a, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL);
	return queue < 0 ? queue : actor_submit(a, queue, work, 1, 0);
}

/* Runlists of a device since the test began, when the device has done all. */
static int64_t runlists_of(int gpu, const int64_t *before)
{
	kfd_sleep_ns(20 * MS);
	at(gpu);
	return kfd_vgpu_stat("runlists") - before[gpu];
}

TEST_F_TIMEOUT(several, hold_of_a_process_is_one_runlist_on_each_device, 120)
{
	int64_t nr, before[2] = { 0 };
	cpu_set_t cpus = { 0 };
	struct actor *a;
	struct gpreempt *g;
	int gpu;

	NEEDS_VGPU();
	ASSERT_EQ(0, gpreempt_open(&g));
	/* A device without any queue has no runlist. */
	for (gpu = NEAR; gpu <= FAR; gpu++) {
		at(gpu);
		ASSERT_EQ(0, launch_begins(worker(_metadata, 0, 1, 1, 100, 2 * MS)));
	}
	at(NEAR);
	a = actor_start(0, ARENA);
	ASSERT_ACTOR(a);
	/* Where no monitor is: the first one that is woken up looks while the call goes on. */
	CPU_SET(0, &cpus);
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(cpus), &cpus));
	for (nr = 1; nr <= MAX_HELD; nr++) {
		for (gpu = NEAR; gpu <= FAR; gpu++)
			ASSERT_EQ(0, works_on(a, gpu, self->side[gpu].slots));
		for (gpu = NEAR; gpu <= FAR; gpu++)
			before[gpu] += runlists_of(gpu, before);
		ASSERT_EQ(2 * nr, gpreempt_preempt(g, AT(process_of(a)), 0, 0));
		for (gpu = NEAR; gpu <= FAR; gpu++)
			EXPECT_EQ(1, runlists_of(gpu, before)) TH_LOG("device %d, %lld queues held", gpu, (long long)nr);
		ASSERT_EQ(2 * nr, gpreempt_resume(g, AT(process_of(a))));
		for (gpu = NEAR; gpu <= FAR; gpu++)
			EXPECT_EQ(2, runlists_of(gpu, before)) TH_LOG("device %d, %lld queues given back", gpu, (long long)nr);
	}
	EXPECT_EQ(0, actor_call(a, actor_stops_elsewhere, 0, 0, 0, 0));
	gpreempt_close(g);
}

/*
 * What a device takes its time for, its own monitor waits for, and nothing else. The driver waits in a loop, of which the other
 * monitor's real-time thread gets the CPU: of what is left for this test not much can be asked meanwhile.
 */
TEST_F_TIMEOUT(several, slow_device_delays_its_own_node_only, 120)
{
	struct side *near = &self->side[NEAR], *far = &self->side[FAR];

	NEEDS_VGPU();
	ASSERT_HOGGED(NEAR);
	ASSERT_HOGGED(FAR);
	at(NEAR);
	ASSERT_EQ(0, kfd_vgpu_set("fault/unmap_late_us", 800000));
	ASSERT_EQ(0, kfd_vgpu_set("fault/unmap_late", 1));
	ASSERT_EQ(0, actor_submit(near->high, 0, 0, 1, 0));
	ASSERT_EQ(0, KFD_WAIT(kfd_vgpu_get("fault/unmap_late") == 0, MS, LONG));
	ASSERT_EQ(0, actor_submit(far->high, 0, 0, 1, 0));
	ASSERT_EQ(0, actor_wait(far->high, 0, LONG));
	EXPECT_EQ(near->preemptions, counter("preemptions")) TH_LOG("far waited for near, or that was not slow enough for this test");
	EXPECT_FALSE(actor_done(near->high, 0));
	EXPECT_FALSE(actor_done(far->low, 0));
	at(FAR);
	EXPECT_EQ(far->preemptions + 1, counter("preemptions"));
	ASSERT_ENDS_BEFORE(near->high, near->low);
	ASSERT_FINISHED(NEAR);
	ASSERT_FINISHED(FAR);
	at(NEAR);
	kfd_vgpu_set("fault/unmap_late_us", 20000);
}

TEST_F(several, settings_are_a_nodes_own)
{
	char text[64];

	ASSERT_EQ(0, kfd_gpreempt_set_text(ids[NEAR], "tunables/interval_ms", "7"));
	ASSERT_EQ(0, kfd_gpreempt_set_text(ids[NEAR], "policy", "wfq"));
	EXPECT_EQ(7, kfd_gpreempt_get(ids[NEAR], "tunables/interval_ms"));
	EXPECT_EQ(5, kfd_gpreempt_get(ids[FAR], "tunables/interval_ms"));
	ASSERT_EQ(0, kfd_gpreempt_text(ids[FAR], "policy", text, sizeof(text)));
	EXPECT_STREQ("hpf", text);
	ASSERT_EQ(0, kfd_gpreempt_set_text(ids[NEAR], "policy", "default"));
	ASSERT_EQ(0, kfd_gpreempt_set_text(ids[NEAR], "tunables/interval_ms", "default"));

	/* One is switched off: it holds nothing any more, and the other goes on as it was. */
	ASSERT_HOGGED(NEAR);
	ASSERT_HOGGED(FAR);
	ASSERT_EQ(0, launch_preempts(self->side[NEAR].high, self->side[NEAR].low));
	ASSERT_EQ(0, launch_preempts(self->side[FAR].high, self->side[FAR].low));
	ASSERT_EQ(0, kfd_gpreempt_set_text(ids[NEAR], "enabled", "0"));
	EXPECT_EQ(0, goes_on(&self->side[NEAR].low->work[0]));
	EXPECT_TRUE(state_is(self->side[FAR].low, 0, "preempted"));
	EXPECT_EQ(self->side[FAR].monitor_pid, kfd_gpreempt_get(ids[FAR], "monitor_pid"));
	ASSERT_FINISHED(FAR);
	ASSERT_DONE_ONCE(self->side[NEAR].low, self->side[NEAR].high);
	ASSERT_EQ(0, kfd_gpreempt_set_text(ids[NEAR], "enabled", "default"));
}

/* So many of the nodes get processes. */
#define USED		(nr_gpus < 4 ? nr_gpus : 4)

/* A process that has done something, and does nothing more */
static void idle_process(struct __test_metadata *_metadata, int nice)
{
	struct actor *a = worker(_metadata, nice, 1, 8, 1, MS);

	ASSERT_EQ(0, launch_completes(a));
	EXPECT_EXACTLY_ONCE(a);
}

/* All nodes, however many there are: those with processes are in this state, the others parked. */
static void no_node_wakes(struct __test_metadata *_metadata, const char *state)
{
	int64_t wakeups[MAX_GPUS], checks[MAX_GPUS];
	int gpu;

	kfd_sleep_ns(3 * SECOND);
	for (gpu = 0; gpu < nr_gpus; gpu++) {
		at(gpu);
		wakeups[gpu] = counter("wakeups");
		checks[gpu] = counter("checks");
		EXPECT_TRUE(node_state_is(gpu < USED ? state : "parked")) TH_LOG("node %d", gpu);
	}
	kfd_sleep_ns(2 * SECOND);
	for (gpu = 0; gpu < nr_gpus; gpu++) {
		at(gpu);
		EXPECT_EQ(wakeups[gpu], counter("wakeups")) TH_LOG("node %d", gpu);
		EXPECT_EQ(checks[gpu], counter("checks")) TH_LOG("node %d", gpu);
	}
}

TEST_F_TIMEOUT(several, idle_nodes_never_wake, 300)
{
	int gpu;

	for (gpu = 0; gpu < USED; gpu++) {
		at(gpu);
		idle_process(_metadata, 0);
	}
	no_node_wakes(_metadata, "parked");
}

/* Two levels, and doorbells that tell when one of them has work */
TEST_F_TIMEOUT(several, armed_nodes_never_wake, 300)
{
	int gpu;

	ASSERT_EQ(0, kfd_param_set_text("gpreempt_wakeup", "doorbell"));
	for (gpu = 0; gpu < USED; gpu++) {
		at(gpu);
		idle_process(_metadata, LOW_NICE);
		idle_process(_metadata, 0);
	}
	no_node_wakes(_metadata, "armed");
}

/* ---- resets ---- */

/*
 * The driver suspends all processes of KFD for a reset, on whatever device, and lets them be (driver-notes.rst): far's queues are off the
 * device, and come back no more. But far is neither reset nor paused, what was preempted there is not lost, and new processes find both
 * scheduled.
 */
TEST_F_TIMEOUT(several, reset_of_one_device_leaves_the_others_scheduler_alone, 120)
{
	struct side *near = &self->side[NEAR], *far = &self->side[FAR];

	NEEDS(unless_virtual(recovery_missing()));
	ASSERT_HOGGED(FAR);
	ASSERT_EQ(0, launch_preempts(far->high, far->low));
	ASSERT_HOGGED(NEAR);
	ASSERT_EQ(0, launch_preempts(near->high, near->low));
	ASSERT_EQ(0, reset_device());
	EXPECT_EQ(near->resets + 1, kfd_vgpu_stat("resets"));

	at(FAR);
	EXPECT_EQ(far->resets, kfd_vgpu_stat("resets"));
	EXPECT_EQ(far->monitor_pid, counter("monitor_pid"));
	EXPECT_FALSE(node_state_is("paused"));
	EXPECT_FALSE(node_state_is("failed"));
	EXPECT_EQ(far->failures, counter("failures"));
	/* Longer than high needs. */
	EXPECT_TRUE(stands_still(&far->low->work[0], 500 * MS)) TH_LOG("the driver leaves processes of other devices alone now");
	actor_kill(far->low);
	actor_kill(far->high);
	actor_kill(near->low);
	actor_kill(near->high);
	ASSERT_EQ(0, wait_no_queues());
	EXPECT_EQ(counter("preemptions"), counter("resumes") + counter("destroyed_preempted"));
	ASSERT_SCHEDULED(FAR);
	ASSERT_SCHEDULED(NEAR);
}

/* One that the driver does by itself, for a device that has lost a queue, while the other is in the middle of its work */
TEST_F_TIMEOUT(several, lost_device_is_reset_alone, 120)
{
	struct side *near = &self->side[NEAR], *far = &self->side[FAR];

	NEEDS(unless_virtual(recovery_missing()));
	ASSERT_HOGGED(FAR);
	ASSERT_HOGGED(NEAR);
	near->failures++;
	ASSERT_EQ(0, kfd_param_set("queue_preemption_timeout_ms", 50));
	ASSERT_EQ(0, kfd_vgpu_set("fault/unmap_lost", 1));
	ASSERT_EQ(0, actor_submit(near->high, 0, 0, 1, 0));
	ASSERT_EQ(0, KFD_WAIT(kfd_vgpu_stat("resets") > near->resets, 5 * MS, LONG));
	kfd_param_set("queue_preemption_timeout_ms", 9000);
	EXPECT_EQ(0, wait_counter("failures", near->failures, LONG));

	at(FAR);
	EXPECT_EQ(far->resets, kfd_vgpu_stat("resets"));
	EXPECT_EQ(far->failures, counter("failures"));
	EXPECT_FALSE(node_state_is("failed"));
	actor_forget_all();
	ASSERT_EQ(0, wait_no_queues());
	ASSERT_SCHEDULED(FAR);
	at(NEAR);
	EXPECT_EQ(0, KFD_WAIT(!node_state_is("failed") && !node_state_is("paused"), MS, LONG));
	ASSERT_SCHEDULED(NEAR);
}

/* ---- a device goes and comes back ---- */

static int nodes_shown(void)
{
	char text[32];
	int gpu, n = 0;

	for (gpu = 0; gpu < nr_gpus; gpu++)
		n += !kfd_gpreempt_text(ids[gpu], "state", text, sizeof(text));
	return n;
}

static int processes_of_kfd(void)
{
	glob_t found;
	int n = glob("/sys/class/kfd/kfd/proc/*", 0, NULL, &found) ? 0 : (int)found.gl_pathc;

	globfree(&found);
	return n;
}

/*
 * Without processes of KFD: those have to do with all devices, and up to 6.12 do not survive that one goes (driver-notes.rst). KFD opens
 * no more then until the module is loaded anew.
 */
TEST_F_TIMEOUT(several, unplugged_device_takes_nothing_of_the_other_along, 120)
{
	struct side *far = &self->side[FAR];
	char pci[32], path[96];

	NEEDS_VGPU();
	ASSERT_SCHEDULED(NEAR);
	ASSERT_SCHEDULED(FAR);
	ASSERT_EQ(0, wait_no_queues());
	at(NEAR);
	ASSERT_EQ(0, wait_no_queues());
	ASSERT_EQ(0, kfd_pci_name(pci, sizeof(pci)));
	ASSERT_EQ(0, kfd_gpreempt_set_text(ids[FAR], "tunables/interval_ms", "7"));
	ASSERT_EQ(nr_gpus, nodes_shown());
	ASSERT_EQ(0, KFD_WAIT(!processes_of_kfd(), 5 * MS, LONG));

	snprintf(path, sizeof(path), PCI "/devices/%s/remove", pci);
	ASSERT_EQ(0, kfd_file_write(path, "1"));
	EXPECT_EQ(nr_gpus - 1, nodes_shown());
	at(FAR);
	EXPECT_EQ(far->monitor_pid, counter("monitor_pid"));
	EXPECT_TRUE(node_state_is("parked"));
	EXPECT_EQ(7, kfd_gpreempt_get(ids[FAR], "tunables/interval_ms"));
	EXPECT_EQ(far->failures, counter("failures"));
	if (kfd_kernel_since(7, 0))
		ASSERT_SCHEDULED(FAR);

	/* Back again it is scheduled as the others are, with settings of its own. */
	ASSERT_EQ(0, kfd_file_write(PCI "/rescan", "1"));
	EXPECT_EQ(nr_gpus, nodes_shown());
	EXPECT_EQ(far->monitor_pid, kfd_gpreempt_get(ids[FAR], "monitor_pid"));
	EXPECT_LT(0, kfd_gpreempt_get(ids[NEAR], "monitor_pid"));
	EXPECT_EQ(5, kfd_gpreempt_get(ids[NEAR], "tunables/interval_ms"));
	EXPECT_EQ(7, kfd_gpreempt_get(ids[FAR], "tunables/interval_ms"));
	/* So is its count of them. */
	self->side[NEAR].failures = 0;
	if (kfd_kernel_since(7, 0)) {
		ASSERT_SCHEDULED(NEAR);
		ASSERT_SCHEDULED(FAR);
	}
}

TEST_HARNESS_MAIN
