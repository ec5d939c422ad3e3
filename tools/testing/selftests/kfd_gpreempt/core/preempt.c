// SPDX-License-Identifier: MIT
/*
 * preempt.c - the scheduler: who yields, who does not, and that nothing is lost
 *
 * Assertions are about order, counters and work items. Only high_waiting_on_low_completes compares times: of two
 * runs on the same device, meaningful in virtual time (the VM's --icount).
 */

#define _GNU_SOURCE
#include <sched.h>

#include "kselftest_harness.h"

#include "fixture.h"
#include "worker.h"

SCHEDULER_FIXTURE(scheduler, kfd_longest_poll_ns = MS)

/* The driver does not wait for the runlist that it sends last: let the device read it before counting. */
static int64_t settled_runlists(void)
{
	kfd_sleep_ns(10 * MS);
	return kfd_vgpu_stat("runlists");
}

/* Has the scheduler found that the device does not count its waves? */
static bool only_runlists_tell(void)
{
	FILE *f = fopen("/sys/kernel/debug/kfd/gpreempt_dump", "re");
	char *line = NULL;
	bool found = false;
	size_t size = 0;

	while (f && !found && getline(&line, &size, f) > 0)
		found = strstr(line, " waves_saved=1");
	free(line);
	if (f)
		fclose(f);
	return found;
}

/* One grid that fills the device for 2 s. */
static struct actor *hog(struct __test_metadata *_metadata, uint32_t slots, int nice)
{
	return worker(_metadata, nice, 1, slots, 200, 10 * MS);
}

static void late_high_beats_hog(struct __test_metadata *_metadata, uint32_t slots, enum kfd_backing backing)
{
	struct actor *low = actor_start(LOW_NICE, ARENA);
	struct actor *high = actor_start(0, ARENA);
	int64_t preemptions = counter("preemptions"), inversions = counter("inversions");
	int64_t resumes = counter("resumes");
	uint64_t rptr, wptr;

	ASSERT_ACTOR(low);
	ASSERT_ACTOR(high);
	ASSERT_EQ(0, actor_queue(low, backing, KFD_PRIORITY_NORMAL));
	ASSERT_EQ(0, actor_queue(high, backing, KFD_PRIORITY_NORMAL));
	ASSERT_EQ(0, actor_work(low, 1, slots, 200, 10 * MS));
	ASSERT_EQ(0, actor_work(high, 5, slots, 1, 4 * MS));
	ASSERT_EQ(0, launch_begins(low));

	ASSERT_EQ(0, actor_pointers(high, 0, &rptr, &wptr));
	EXPECT_EQ(0, rptr);
	EXPECT_EQ(0, wptr);
	ASSERT_EQ(0, launches_complete(high, 5, KFD_PACKET_BARRIER));
	EXPECT_FALSE(actor_done(low, 0));
	ASSERT_EQ(0, actor_pointers(high, 0, &rptr, &wptr));
	EXPECT_EQ(5, rptr);
	EXPECT_EQ(5, wptr);
	EXPECT_GT(counter("preemptions"), preemptions);
	EXPECT_GT(counter("inversions"), inversions);
	EXPECT_GE(preempt_count(low, 0), 1);
	EXPECT_EQ(0, preempt_count(high, 0));

	ASSERT_DONE_ONCE(high, low);
	EXPECT_EQ(0, wait_all_resumed(preemptions, resumes));
	EXPECT_STOPPED(low, high);
}

/* User pages, as ROCr's queues have them: the scheduler sees their pointers through pinned pages. */
TEST_F_CALLS(scheduler, low_hog_yields_to_late_high, late_high_beats_hog(_metadata, self->slots, KFD_BACKING_USERPTR))

/* The same for queues in GTT buffers. */
TEST_F_CALLS(scheduler, gtt_queues_are_sampled_too, late_high_beats_hog(_metadata, self->slots, KFD_BACKING_GTT))

TEST_F(scheduler, preempted_queue_stands_still)
{
	struct actor *low = hog(_metadata, self->slots, LOW_NICE);
	struct actor *high = worker(_metadata, 0, 1, self->slots, 40, 10 * MS);
	struct kfd_gpreempt_queue before, after;
	uint64_t progress;

	ASSERT_STRICT_ORDER();
	ASSERT_EQ(0, launch_interrupts(high, low));
	ASSERT_EQ(0, kfd_gpreempt_queue_get(low->client.gpu_id, low->pid, low->queue[0].id, &before));
	progress = kfd_work_progress(&low->work[0]);
	/* The driver's own runlists must not bring it back either. */
	ASSERT_EQ(0, actor_queue_update(high, 0, KFD_PRIORITY_NORMAL, 100));
	kfd_sleep_ns(100 * MS);
	EXPECT_EQ(progress, kfd_work_progress(&low->work[0]));
	EXPECT_FALSE(actor_done(high, 0));
	ASSERT_EQ(0, kfd_gpreempt_queue_get(low->client.gpu_id, low->pid, low->queue[0].id, &after));
	EXPECT_STREQ("preempted", after.state);
	EXPECT_EQ(before.rptr, after.rptr);
	EXPECT_EQ(before.wptr, after.wptr);
	ASSERT_DONE_ONCE(low, high);
}

/* "chrt -i 0 training" says as much as "nice training". */
TEST_F(scheduler, program_of_sched_idle_yields)
{
	struct actor *low = hog(_metadata, self->slots, 0);
	struct actor *high = worker(_metadata, LOW_NICE, 1, self->slots, 40, 10 * MS);
	const struct sched_param param = { 0 };

	ASSERT_EQ(0, sched_setscheduler(low->pid, SCHED_IDLE, &param));
	ASSERT_STRICT_ORDER();
	ASSERT_EQ(0, launch_interrupts(high, low));
	EXPECT_FALSE(actor_done(high, 0));
	ASSERT_ENDS_BEFORE(high, low);
	ASSERT_DONE_ONCE(low, high);
}

TEST_F(scheduler, packets_submitted_while_preempted_run_later)
{
	struct actor *low = worker(_metadata, LOW_NICE, 8, self->slots, 10, 10 * MS);
	struct actor *high = worker(_metadata, 0, 1, self->slots, 20, 10 * MS);

	ASSERT_EQ(0, launch_interrupts(high, low));
	/* Doorbells of a queue that is off the device must not be forgotten. */
	ASSERT_EQ(0, actor_submit(low, 0, 0, 7, 0));
	EXPECT_FALSE(actor_done(high, 0));
	ASSERT_DONE_ONCE(low, high);
}

TEST_F(scheduler, equal_priorities_are_left_alone)
{
	struct actor *a = worker(_metadata, 0, 4, self->slots, 4, 10 * MS);
	struct actor *b = worker(_metadata, 0, 4, self->slots, 4, 10 * MS);
	int64_t runlists = settled_runlists();

	ASSERT_EQ(0, actor_submit(a, 0, 0, 4, 0));
	ASSERT_EQ(0, actor_submit(b, 0, 0, 4, 0));
	ASSERT_EQ(0, actor_wait(a, 0, LONG));
	ASSERT_EQ(0, actor_wait(b, 0, LONG));
	EXPECT_EQ(self->preemptions, counter("preemptions"));
	EXPECT_EQ(self->runlists, counter("runlists"));
	EXPECT_EQ(runlists, settled_runlists());
	ASSERT_DONE_ONCE(a, b);
}

TEST_F(scheduler, equal_priorities_park_the_monitor)
{
	struct actor *a = worker(_metadata, 0, 1, self->slots, 10, 10 * MS);
	struct actor *b = worker(_metadata, 0, 1, 8, 1, MS);
	int64_t checks;

	ASSERT_EQ(0, launch_begins(a));
	kfd_sleep_ns(20 * MS);
	EXPECT_TRUE(node_state_is("parked"));
	checks = counter("checks");
	kfd_sleep_ns(50 * MS);
	EXPECT_EQ(checks, counter("checks"));
	ASSERT_EQ(0, actor_wait(a, 0, LONG));
	EXPECT_STOPPED(a, b);
}

/* Where counters of waves show what was 100 us ago, a queue is idle only some time after its end. */
static void run_one_grid(struct __test_metadata *_metadata, struct actor *a)
{
	ASSERT_EQ(0, launch_completes(a));
	if (firmware_is("lagging-waves"))
		kfd_sleep_ns(MS);
}

/*
 * Both directions: an idle high queue keeps nobody away, and idle low queues are not worth a
 * runlist. Where only runlists tell, the end of each kernel has to be found out: low's by taking it
 * off once, high's by a bounded number of runlists (Documentation/design.rst).
 */
TEST_F(scheduler, idle_queues_hold_nothing)
{
	struct actor *low = worker(_metadata, LOW_NICE, 2, self->slots, 10, 10 * MS);
	struct actor *high = worker(_metadata, 0, 2, self->slots, 10, 10 * MS);
	int64_t runlists = settled_runlists();

	run_one_grid(_metadata, low);
	run_one_grid(_metadata, high);
	run_one_grid(_metadata, low);
	run_one_grid(_metadata, high);
	if (only_runlists_tell()) {
		EXPECT_LE(counter("preemptions"), self->preemptions + 2);
		EXPECT_LE(counter("runlists"), self->runlists + 2 * 24);
	} else {
		EXPECT_EQ(self->preemptions, counter("preemptions"));
		EXPECT_EQ(self->runlists, counter("runlists"));
		EXPECT_EQ(runlists, settled_runlists());
	}
	ASSERT_DONE_ONCE(low, high);
}

/*
 * A process must not freeze its own queues. Its urgent queue (priority 15) makes it the level; its own hog (7) is
 * lower, and so is another process's hog: only the latter yields.
 */
TEST_F(scheduler, own_process_is_never_a_victim)
{
	struct actor *other = worker(_metadata, LOW_NICE, 1, self->slots / 2, 100, 10 * MS);
	struct actor *own = worker(_metadata, 0, 1, self->slots / 2, 100, 10 * MS);

	ASSERT_STRICT_ORDER();
	ASSERT_EQ(1, actor_queue(own, KFD_BACKING_USERPTR, 15));
	ASSERT_EQ(1, actor_work(own, 1, self->slots / 4, 20, 10 * MS));
	ASSERT_EQ(0, launch_begins(own));
	ASSERT_EQ(0, actor_submit(other, 0, 0, 1, 0));
	ASSERT_EQ(0, actor_submit(own, 1, 1, 1, 0));
	ASSERT_EQ(0, actor_wait(own, 1, LONG));
	EXPECT_EQ(0, preempt_count(own, 0));
	EXPECT_EQ(0, preempt_count(own, 1));
	EXPECT_GE(preempt_count(other, 0), 1);
	ASSERT_DONE_ONCE(own, other);
}

/* high waits in a barrier packet for the end of low's work: three maximum holds. Returns how long high took. */
static uint64_t dependency_inversion(struct __test_metadata *_metadata, uint32_t slots, uint64_t hold_ns)
{
	struct kfd_signal *gate;
	uint64_t start, took;
	struct actor *high, *low = actor_start(LOW_NICE, ARENA);

	ASSERT_ACTOR(low);
	ASSERT_EQ(0, actor_queue(low, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL));
	ASSERT_EQ(0, actor_work(low, 3, slots, 10, hold_ns / 10));
	gate = actor_common_signal(0, 3);
	low->done[0] = gate;
	kfd_signal_init(gate, 0);	/* actor_submit() counts it up */
	high = worker(_metadata, 0, 1, 8, 1, MS);

	start = kfd_now_ns();
	ASSERT_EQ(0, actor_submit(low, 0, 0, 3, KFD_PACKET_BARRIER));
	ASSERT_EQ(0, actor_barrier(high, 0, gate));
	ASSERT_EQ(0, launches_complete(high, 1, KFD_PACKET_BARRIER));
	took = kfd_now_ns() - start;
	ASSERT_DONE_ONCE(low, high);
	EXPECT_STOPPED(low, high);
	return took;
}

TEST_F_TIMEOUT(scheduler, high_waiting_on_low_completes, 120)
{
	const uint64_t hold_ms = 100;
	uint64_t stock_ns, scheduled_ns;

	ASSERT_EQ(0, kfd_param_set("gpreempt_max_hold_ms", (int64_t)hold_ms));
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 0));
	stock_ns = dependency_inversion(_metadata, self->slots, hold_ms * MS);
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 1));
	scheduled_ns = dependency_inversion(_metadata, self->slots, hold_ms * MS);
	TH_LOG("stock %llu us, scheduled %llu us", (unsigned long long)stock_ns / 1000,
	       (unsigned long long)scheduled_ns / 1000);
	/* Long enough for holds to be seen in it, also where steps are shorter */
	EXPECT_GE(stock_ns, 3 * kfd_step_at_least_ns(hold_ms * MS));
	EXPECT_GT(stock_ns, hold_ms * MS);
	EXPECT_LE(scheduled_ns * 10, stock_ns * (looks_rarely() ? 40 : 12));
}

/* high's waves spin until low has set a flag: no rule can tell that from work, so only relief ends it. */
TEST_F_TIMEOUT(scheduler, maximum_hold_ends_a_wait_that_looks_like_work, 120)
{
	struct actor *low, *high;
	volatile uint64_t *flag = actor_common_flag();
	int64_t slices;

	*flag = 0;
	ASSERT_EQ(0, kfd_param_set("gpreempt_max_hold_ms", 50));
	/* A preemption of the test before may have waited for the CPU, and have used the budget up. */
	ASSERT_EQ(0, kfd_param_set("gpreempt_overhead_pct", 0));
	low = worker(_metadata, LOW_NICE, 1, self->slots / 2, 10, 5 * MS);
	high = worker(_metadata, 0, 1, 8, 1, MS);
	kfd_work_wait_for(&high->work[0], flag);
	slices = counter("relief_slices");

	ASSERT_EQ(0, launch_interrupts(high, low));
	ASSERT_ENDS_BEFORE(low, high);
	*flag = 1;
	ASSERT_EQ(0, actor_wait(high, 0, LONG));
	EXPECT_GT(counter("relief_slices"), slices);
	ASSERT_DONE_ONCE(low, high);
}

/*
 * low's ring is empty and its waves are saved: they are work, and a maximum hold is due to them. high leaves room
 * for them, so that relief means progress.
 */
TEST_F_TIMEOUT(scheduler, saved_waves_count_as_work, 120)
{
	struct actor *low = worker(_metadata, LOW_NICE, 1, self->slots / 2, 10, 10 * MS);
	struct actor *high = worker(_metadata, 0, 1, self->slots / 2, 300, 10 * MS);

	ASSERT_EQ(0, kfd_param_set("gpreempt_max_hold_ms", 50));
	ASSERT_EQ(0, kfd_param_set("gpreempt_relief_ms", 50));
	ASSERT_EQ(0, launch_interrupts(high, low));
	ASSERT_ENDS_BEFORE(low, high);
	EXPECT_GE(preempt_count(low, 0), 1);
	ASSERT_DONE_ONCE(low, high);
}

TEST_F_TIMEOUT(scheduler, three_levels_finish_in_order, 120)
{
	struct actor *low = worker(_metadata, 10, 1, self->slots, 40, 10 * MS);
	struct actor *mid = worker(_metadata, 5, 1, self->slots, 40, 10 * MS);
	struct actor *high = worker(_metadata, 0, 1, self->slots, 40, 10 * MS);

	ASSERT_EQ(0, launch_begins(low));
	ASSERT_EQ(0, launch_begins(mid));
	ASSERT_EQ(0, launch_completes(high));
	EXPECT_FALSE(actor_done(mid, 0));
	EXPECT_FALSE(actor_done(low, 0));
	ASSERT_ENDS_BEFORE(mid, low);
	ASSERT_DONE_ONCE(low, mid, high);
}

/* More processes than the device has VMIDs for KFD. */
TEST_F_TIMEOUT(scheduler, twelve_processes, 240)
{
	struct actor *a[12];
	int i;

	/* Those that are done would leave the device, which has no room for all. */
	ASSERT_EQ(0, kfd_param_set("gpreempt_idle_evict_us", 0));
	for (i = 0; i < 12; i++)
		a[i] = worker(_metadata, 11 - i, 3, self->slots / 2, 4, 5 * MS);
	for (i = 0; i < 12; i++)
		ASSERT_EQ(0, actor_submit(a[i], 0, 0, 3, KFD_PACKET_BARRIER));
	/* The most urgent one came last, and does not wait for the eleven others. */
	ASSERT_ENDS_BEFORE(a[11], a[0]);
	for (i = 0; i < 12; i++)
		ASSERT_DONE_ONCE(a[i]);
	EXPECT_GT(counter("preemptions"), self->preemptions);
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
	for (i = 0; i < 12; i++)
		EXPECT_EQ(0, actor_stop(a[i]));
}

TEST_F_TIMEOUT(scheduler, switching_off_resumes_all, 120)
{
	struct actor *low[3];
	struct actor *high = worker(_metadata, 0, 1, self->slots / 2, 300, 10 * MS);
	uint64_t progress[3];
	int i;

	for (i = 0; i < 3; i++) {
		low[i] = worker(_metadata, LOW_NICE, 1, self->slots / 8, 300, 10 * MS);
		ASSERT_EQ(0, launch_begins(low[i]));
	}
	ASSERT_EQ(0, actor_submit(high, 0, 0, 1, 0));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, wait_state(low[i], 0, "preempted", LONG));
	for (i = 0; i < 3; i++)
		progress[i] = kfd_work_progress(&low[i]->work[0]);
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 0));
	/* high occupies half of the device: all of them can run beside it, and must, before it is done. */
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, actor_wait_progress(low[i], 0, progress[i] + self->slots / 8, LONG));
	EXPECT_FALSE(actor_done(high, 0));
	for (i = 0; i < 3; i++)
		ASSERT_DONE_ONCE(low[i]);
	ASSERT_DONE_ONCE(high);
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
}

/* Queues that exist when the scheduler is switched on take part. */
TEST_F(scheduler, switching_on_adopts_existing_queues)
{
	struct actor *low, *high;

	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 0));
	low = hog(_metadata, self->slots, LOW_NICE);
	high = worker(_metadata, 0, 1, self->slots, 1, 5 * MS);
	ASSERT_EQ(0, launch_begins(low));
	ASSERT_EQ(0, actor_submit(high, 0, 0, 1, 0));
	kfd_sleep_ns(20 * MS);
	EXPECT_FALSE(actor_done(high, 0));
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 1));
	ASSERT_ENDS_BEFORE(high, low);
	ASSERT_DONE_ONCE(low, high);
}

TEST_F(scheduler, off_means_no_monitor_and_no_preemption)
{
	struct actor *low, *high;

	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 0));
	EXPECT_TRUE(node_state_is("off"));
	EXPECT_LE(counter("monitor_pid"), 0);
	low = worker(_metadata, LOW_NICE, 1, self->slots, 20, 10 * MS);
	high = worker(_metadata, 0, 1, self->slots, 1, MS);
	EXPECT_EQ(0, counter("queues"));
	ASSERT_EQ(0, launch_begins(low));
	ASSERT_EQ(0, launch_completes(high));
	EXPECT_TRUE(actor_done(low, 0));
	EXPECT_EQ(self->preemptions, counter("preemptions"));
	ASSERT_DONE_ONCE(low, high);
}

TEST_F(scheduler, killing_the_victim_leaves_the_beneficiary_running)
{
	struct actor *low = hog(_metadata, self->slots, LOW_NICE);
	struct actor *high = worker(_metadata, 0, 2, self->slots, 20, 10 * MS);

	ASSERT_EQ(0, launch_interrupts(high, low));
	actor_kill(low);
	ASSERT_EQ(0, launch_completes(high));
	EXPECT_EXACTLY_ONCE(high);
	EXPECT_EQ(0, actor_tally(low).twice);

	/* And the device is there for the next process. */
	low = worker(_metadata, LOW_NICE, 1, self->slots, 2, MS);
	ASSERT_EQ(0, launch_completes(low));
	EXPECT_EXACTLY_ONCE(low);
}

TEST_F(scheduler, killing_the_beneficiary_resumes_the_victim)
{
	struct actor *low = hog(_metadata, self->slots, LOW_NICE);
	struct actor *high = hog(_metadata, self->slots, 0);

	ASSERT_EQ(0, launch_interrupts(high, low));
	actor_kill(high);
	ASSERT_DONE_ONCE(low);
	EXPECT_EQ(0, actor_tally(high).twice);
}

TEST_F(scheduler, preempted_queue_can_be_destroyed)
{
	struct actor *low = hog(_metadata, self->slots, LOW_NICE);
	struct actor *high = worker(_metadata, 0, 1, self->slots, 20, 10 * MS);
	int w;

	ASSERT_EQ(0, launch_interrupts(high, low));
	EXPECT_EQ(0, actor_queue_destroy(low, 0));
	EXPECT_FALSE(actor_done(high, 0));
	EXPECT_EQ(0, actor_tally(low).twice);
	ASSERT_DONE_ONCE(high);

	/* The process goes on with a new queue. */
	ASSERT_EQ(0, actor_queue(low, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL));
	w = actor_work(low, 1, 8, 2, MS);
	ASSERT_EQ(1, w);
	ASSERT_EQ(0, actor_submit(low, 0, w, 1, 0));
	ASSERT_EQ(0, actor_wait(low, w, LONG));
	/* Without HWS a process that has lost its VMID with its last queue finds old translations in the next (driver notes). */
	if (kfd_param_get("sched_policy") == NO_HWS)
		self->health.stale_translations = device_health().stale_translations;
}

TEST_F(scheduler, preempted_queue_can_be_updated)
{
	struct actor *low = hog(_metadata, self->slots, LOW_NICE);
	struct actor *high = worker(_metadata, 0, 1, self->slots, 20, 10 * MS);

	ASSERT_EQ(0, launch_interrupts(high, low));
	EXPECT_EQ(0, actor_queue_update(low, 0, 3, 100));
	kfd_sleep_ns(20 * MS);
	EXPECT_TRUE(state_is(low, 0, "preempted"));
	ASSERT_DONE_ONCE(low, high);
}

/* ---- gpreempt_verify: whether somebody else writes to the MQDs of preempted queues ---- */

FIXTURE(verify) {
	BEFORE_TEST;
	int64_t mismatches;
};

FIXTURE_SETUP(verify)
{
	kfd_longest_poll_ns = MS;
	SETUP_SCHEDULER(NULL, 0);
	self->mismatches = counter("verify_mismatches");
}

FIXTURE_TEARDOWN(verify)
{
	actor_forget_all();
	EXPECT_EQ(0, wait_no_queues());
	kfd_param_set("gpreempt_verify", 0);
	scheduler_off();
}

/* The parameter is set when the queues are there already, and they are preempted three times, changed by the driver meanwhile. */
TEST_F(verify, what_the_driver_writes_is_no_mismatch)
{
	struct actor *low = hog(_metadata, self->slots, LOW_NICE);
	struct actor *high = worker(_metadata, 0, 3, self->slots, 4, 10 * MS);
	int i;

	ASSERT_EQ(0, kfd_param_set("gpreempt_verify", 1));
	ASSERT_EQ(0, launch_begins(low));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, launch_preempts(high, low));
		ASSERT_EQ(0, actor_queue_update(low, 0, (uint32_t)(3 + i), 100));
		ASSERT_EQ(0, actor_wait(high, 0, LONG));
		ASSERT_EQ(0, goes_on(&low->work[0]));
	}
	ASSERT_DONE_ONCE(low, high);
	EXPECT_GE(preempt_count(low, 0), 3);
	EXPECT_EQ(self->mismatches, counter("verify_mismatches"));
}

/* It is told, and only told: the queue continues with what is there, which is garbage. */
TEST_F(verify, somebody_elses_writing_is_told)
{
	struct actor *low = worker(_metadata, LOW_NICE, 1, self->slots, 20, 10 * MS);
	struct actor *high = worker(_metadata, 0, 1, self->slots, 4, 10 * MS);

	if (kfd_vgpu_get("fault/xcc") < 0)
		SKIP(return, "this virtual GPU has no faults");
	ASSERT_EQ(0, kfd_param_set("gpreempt_verify", 1));
	ASSERT_EQ(0, launch_interrupts(high, low));
	ASSERT_EQ(0, kfd_vgpu_set("scribble", 1));
	ASSERT_DONE_ONCE(high);
	ASSERT_EQ(0, wait_counter("verify_mismatches", self->mismatches + 1, LONG));
	EXPECT_NE(0, actor_wait(low, 0, SECOND));
	EXPECT_GT(actor_tally(low).lost, 0);
	EXPECT_EQ(0, actor_tally(low).twice);
	EXPECT_EQ(self->mismatches + 1, counter("verify_mismatches"));
}

/* ---- settings; no device work ---- */

FIXTURE(settings) {
};

FIXTURE_SETUP(settings)
{
	if (kfd_param_get("gpreempt_enable") < 0)
		SKIP(return, "this amdgpu has no gpreempt_enable parameter");
	ASSERT_EQ(0, scheduler_defaults());
}

FIXTURE_TEARDOWN(settings)
{
	scheduler_defaults();
	kfd_param_set("gpreempt_enable", 0);
}

/* "gpreempt: poll_us=5 is below 50; kept 80" */
static bool refusal_is_logged(const char *parameter, const char *value, size_t since)
{
	char text[96];

	snprintf(text, sizeof(text), "gpreempt: %s=%s ", parameter + strlen("gpreempt_"), value);
	return strstr(kfd_log_since(since), text);
}

TEST_F(settings, bad_values_are_refused_and_said)
{
	static const struct {
		const char *name;
		const char *value;
	} bad[] = {
		{ "gpreempt_enable", "7" },
		{ "gpreempt_interval_ms", "0" },
		{ "gpreempt_interval_ms", "4000000000" },
		{ "gpreempt_interval_ms", "-1" },
		{ "gpreempt_interval_ms", "soon" },
		{ "gpreempt_poll_us", "1" },
		{ "gpreempt_poll_us", "4000000000" },
		{ "gpreempt_max_hold_ms", "4000000000" },
		{ "gpreempt_relief_ms", "4000000000" },
		{ "gpreempt_blocked_us", "4000000000" },
		{ "gpreempt_nice", "7" },
		{ "gpreempt_trust_kfd_priority", "7" },
		{ "gpreempt_verify", "7" },
	};
	size_t i, said;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int64_t before = kfd_param_get(bad[i].name);

		said = kfd_log_size();
		EXPECT_GT(0, kfd_param_set_text(bad[i].name, bad[i].value))
			TH_LOG("%s accepted %s", bad[i].name, bad[i].value);
		EXPECT_EQ(before, kfd_param_get(bad[i].name))
			TH_LOG("%s lost its value to %s", bad[i].name, bad[i].value);
		EXPECT_TRUE(refusal_is_logged(bad[i].name, bad[i].value, said))
			TH_LOG("no message about %s=%s", bad[i].name, bad[i].value);
	}
}

TEST_F(settings, good_values_are_kept)
{
	static const struct gpreempt_default good[] = {
		{ "gpreempt_interval_ms", 1 }, { "gpreempt_interval_ms", 100 }, { "gpreempt_poll_us", 0 },
		{ "gpreempt_poll_us", 50 }, { "gpreempt_poll_us", 1000 }, { "gpreempt_max_hold_ms", 0 },
		{ "gpreempt_max_hold_ms", 5000 }, { "gpreempt_relief_ms", 1 }, { "gpreempt_blocked_us", 0 },
		{ "gpreempt_nice", 0 }, { "gpreempt_trust_kfd_priority", 1 }, { "gpreempt_verify", 1 }, { "gpreempt_enable", 1 },
	};
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		EXPECT_EQ(0, kfd_param_set(good[i].name, good[i].value))
			TH_LOG("%s refused %lld", good[i].name, (long long)good[i].value);
		EXPECT_EQ(good[i].value, kfd_param_get(good[i].name));
	}
}

TEST_HARNESS_MAIN
