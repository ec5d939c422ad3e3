// SPDX-License-Identifier: MIT
/*
 * endurance.c - what the scheduler costs, and what is left after thousands of preemptions
 *
 * Durations are guest time: in the VM with --icount a nanosecond is an instruction, and limits are numbers of
 * instructions. On hardware the tests that compare with such a limit skip.
 *
 * CYCLES=n in the environment: preempt/resume cycles of thousands_of_cycles_lose_nothing (default 10000).
 */
#include <inttypes.h>
#include <stdlib.h>

#include "kselftest_harness.h"

#include "fixture.h"
#include "gpreempt.h"
#include "worker.h"
#include "../../../bench/demo/percentile.h"

#define PASS_LIMIT_NS		20000
#define ROTATING_PASS_LIMIT_NS	40000
#define MANY_LIMIT_NS		40000
/* What the scheduler adds to a command that creates a queue, and to one that changes one: a runlist, and a look */
#define CREATE_LIMIT_NS		60000
#define CHANGE_LIMIT_NS		60000

FIXTURE(endurance) {
	BEFORE_TEST;
};

FIXTURE_SETUP(endurance)
{
	SETUP_SCHEDULER(NULL, 0);
	NEEDS_VGPU();
}

FIXTURE_TEARDOWN(endurance)
{
	actor_forget_all();
	EXPECT_NOTHING_LEFT();
	kfd_vgpu_look_every(0);
	scheduler_off();
}

/*
 * Median of what passes take, looked at every millisecond; passes happen more often than that. Guest time goes on with
 * the instructions of both CPUs: meanwhile the device looks at its doorbells less often.
 */
static int64_t pass_median_ns(struct __test_metadata *_metadata, const char *what)
{
	enum { SAMPLES = 51 };
	uint64_t ns[SAMPLES];
	int64_t checks;
	int i;

	ASSERT_EQ(0, kfd_param_set_text("gpreempt_wakeup", "poll"));
	kfd_sleep_ns(5 * MS);
	ASSERT_EQ(0, kfd_vgpu_look_every(10 * MS));
	checks = counter("checks");
	for (i = 0; i < SAMPLES; i++) {
		kfd_sleep_ns(MS);
		ns[i] = (uint64_t)counter("pass_ns_last");
	}
	EXPECT_GE(counter("checks") - checks, SAMPLES);
	ASSERT_EQ(0, kfd_vgpu_look_every(0));
	TH_LOG("%s: %lld ns, 90 %% below %lld ns", what, (long long)demo_percentile(ns, SAMPLES, 50), (long long)demo_percentile(ns, SAMPLES, 90));
	return (int64_t)demo_percentile(ns, SAMPLES, 50);
}

/* Without HWS a device has a few dozen slots for queues, and no more queues than that. */
#define SKIP_UNLESS_PASSES_CAN_BE_MEASURED() do {									\
	if (kfd_vgpu_look_every(0))									\
		SKIP(return, "needs time that counts instructions: the virtual GPU under --icount");			\
	if (kfd_param_get("sched_policy") == NO_HWS)									\
		SKIP(return, "needs more queues than the device has slots without HWS");				\
} while (0)

/*
 * 64 queues of 8 processes, each with its own importance. First one hog and one that came and went: the monitor polls
 * and finds nothing to do. Then all queues have work, and 56 of them are held. Rings tell all that there is to know;
 * what it costs to read waves in flight, where a ring is empty and its last kernel may still run, is only shown.
 */
TEST_F_TIMEOUT(endurance, pass_over_64_queues_takes_20_us, 120)
{
	enum { PROCESSES = 8, QUEUES = 8, TOP = PROCESSES - 1, GRIDS = 120 };
	uint32_t waves = self->slots / 16;
	struct actor *a[PROCESSES];
	int i, q;

	SKIP_UNLESS_PASSES_CAN_BE_MEASURED();
	ASSERT_STRICT_ORDER();
	/* A pass may see a part of the submissions and preempt for it: the rest waits for no budget. */
	ASSERT_EQ(0, kfd_param_set("gpreempt_overhead_pct", 0));
	for (i = 0; i < PROCESSES; i++) {
		a[i] = actor_start(PROCESSES - 1 - i, ARENA);
		ASSERT_ACTOR(a[i]);
		for (q = 0; q < QUEUES; q++) {
			ASSERT_EQ(q, actor_queue(a[i], KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL));
			ASSERT_EQ(q, actor_work(a[i], GRIDS, waves, 1, MS));
		}
	}
	ASSERT_EQ(0, actor_submit(a[0], 0, 0, GRIDS, KFD_PACKET_BARRIER));
	ASSERT_EQ(0, launch_completes(a[TOP]));
	EXPECT_EQ(PROCESSES * QUEUES, counter("queues"));
	EXPECT_LT(pass_median_ns(_metadata, "one busy queue"), PASS_LIMIT_NS);
	EXPECT_FALSE(actor_done(a[0], 0));

	for (i = 0; i < PROCESSES; i++)
		for (q = !i; q < QUEUES; q++)
			ASSERT_EQ(0, actor_submit(a[i], q, q, i == TOP ? GRIDS - 1 : 2, KFD_PACKET_BARRIER));
	for (i = 0; i < TOP; i++)
		ASSERT_EQ(0, wait_state(a[i], 0, "preempted", LONG));
	EXPECT_LT(pass_median_ns(_metadata, "64 queues with work"), PASS_LIMIT_NS);
	for (q = 0; q < QUEUES; q++)
		EXPECT_FALSE(actor_done(a[TOP], q));

	for (i = 0; i < PROCESSES; i++)
		for (q = 0; q < QUEUES; q++)
			ASSERT_EQ(0, actor_wait(a[i], q, LONG));
	ASSERT_EQ(QUEUES, actor_work(a[0], 1, waves, 1, 100 * MS));
	ASSERT_EQ(0, actor_submit(a[0], 0, QUEUES, 1, 0));
	pass_median_ns(_metadata, "one long kernel");
	ASSERT_EQ(0, actor_wait(a[0], QUEUES, LONG));
	ASSERT_DONE_ONCE(a[TOP], a[1]);
}

/* The same where ranks move by themselves: each pass works them all out anew. The first process has the device for as long as is looked. */
TEST_F_TIMEOUT(endurance, pass_of_other_policies_takes_40_us, 120)
{
	enum { PROCESSES = 8, QUEUES = 8, POLICIES = 2 };
	static const char *const policies[POLICIES] = { "wfq", "edf" };
	uint32_t waves = self->slots / 16, grids[PROCESSES];
	struct actor *a[PROCESSES];
	struct gpreempt *g;
	int i, q, p;

	SKIP_UNLESS_PASSES_CAN_BE_MEASURED();
	ASSERT_STRICT_ORDER();
	ASSERT_EQ(0, kfd_param_set("gpreempt_slice_us", 1000000));
	ASSERT_EQ(0, gpreempt_open(&g));
	for (i = 0; i < PROCESSES; i++) {
		struct gpreempt_target target;

		grids[i] = i ? 2 : 120;
		a[i] = actor_start(0, ARENA);
		ASSERT_ACTOR(a[i]);
		for (q = 0; q < QUEUES; q++)
			ASSERT_EQ(q, actor_queue(a[i], KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL));
		for (q = 0; q < QUEUES * POLICIES; q++)
			ASSERT_EQ(q, actor_work(a[i], grids[i], waves, 1, MS));
		target = gpreempt_target_process(a[i]->pid, 0);
		ASSERT_EQ(0, gpreempt_set_param(g, &target, GPREEMPT_PARAM_WEIGHT, 100 - (uint64_t)i));
		ASSERT_EQ(0, gpreempt_set_param(g, &target, GPREEMPT_PARAM_DEADLINE_US, 1000000 * (1 + (uint64_t)i)));
	}
	gpreempt_close(g);
	for (p = 0; p < POLICIES; p++) {
		ASSERT_EQ(0, kfd_param_set_text("gpreempt_policy", policies[p]));
		for (i = 0; i < PROCESSES; i++)
			for (q = 0; q < QUEUES; q++)
				ASSERT_EQ(0, actor_submit(a[i], q, p * QUEUES + q, grids[i], KFD_PACKET_BARRIER));
		for (i = 1; i < PROCESSES; i++)
			ASSERT_EQ(0, wait_state(a[i], 0, "preempted", LONG));
		EXPECT_LT(pass_median_ns(_metadata, policies[p]), ROTATING_PASS_LIMIT_NS);
		EXPECT_FALSE(actor_done(a[0], p * QUEUES));
		for (i = 0; i < PROCESSES; i++)
			for (q = 0; q < QUEUES; q++)
				ASSERT_EQ(0, actor_wait(a[i], p * QUEUES + q, LONG));
	}
	for (i = 0; i < PROCESSES; i++)
		EXPECT_EXACTLY_ONCE(a[i]);
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
}

/*
 * Queues that have nothing to do cost two loads and two comparisons each: a node full of idle programs beside one that works is no reason to look
 * less often.
 */
TEST_F_TIMEOUT(endurance, pass_over_1024_queues_takes_40_us, 600)
{
	enum { PROCESSES = 32, QUEUES = 32, GRIDS = 120 };
	uint32_t waves = self->slots / 16;
	struct actor *a[PROCESSES];
	int i, q;

	SKIP_UNLESS_PASSES_CAN_BE_MEASURED();
	for (i = 0; i < PROCESSES; i++) {
		a[i] = actor_start(i % 8, ARENA / 8);
		ASSERT_ACTOR(a[i]);
		for (q = 0; q < QUEUES; q++)
			ASSERT_EQ(q, actor_queue(a[i], KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL));
		ASSERT_EQ(0, actor_work(a[i], GRIDS, waves, 1, MS));
	}
	ASSERT_EQ(0, actor_submit(a[7], 0, 0, GRIDS, KFD_PACKET_BARRIER));
	ASSERT_EQ(0, launch_completes(a[0]));
	EXPECT_EQ(PROCESSES * QUEUES, counter("queues"));
	EXPECT_LT(pass_median_ns(_metadata, "1024 queues, one busy"), MANY_LIMIT_NS);
	ASSERT_DONE_ONCE(a[7], a[0]);
}

enum command { CREATES, CHANGES };

/* args: an enum command. The fewest ns that one of twenty takes; the queue goes again, or is as before. */
static int64_t cheapest_command(struct actor *a, const int64_t *args)
{
	int64_t least = INT64_MAX;
	int i, err = 0;

	for (i = 0; i < 20 && !err; i++) {
		struct kfd_queue *q = &a->queue[args[0] == CREATES];
		uint64_t begun_ns = kfd_now_ns();
		int64_t took_ns;

		if (args[0] == CREATES)
			err = kfd_queue_create(&a->client, q, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL, 64);
		else
			err = kfd_queue_update(q, i % 2 ? KFD_PRIORITY_NORMAL : KFD_PRIORITY_NORMAL - 1, 100);
		took_ns = (int64_t)(kfd_now_ns() - begun_ns);
		if (!err && args[0] == CREATES)
			err = kfd_queue_destroy(q);
		least = took_ns < least ? took_ns : least;
	}
	return err ? err : least;
}

/* Guest time goes on with the instructions of both CPUs: the monitor's look after each of them is in it. */
TEST_F_TIMEOUT(endurance, commands_pay_little_for_the_scheduler, 300)
{
	static const char *const names[] = { "creating a queue", "changing a queue" };
	static const int64_t limits[] = { CREATE_LIMIT_NS, CHANGE_LIMIT_NS };
	int64_t ns[2][2];
	int on, i;

	SKIP_UNLESS_PASSES_CAN_BE_MEASURED();
	for (on = 0; on < 2; on++) {
		struct actor *a;

		ASSERT_EQ(0, kfd_param_set("gpreempt_enable", on));
		a = with_queue(_metadata, 0);
		for (i = CREATES; i <= CHANGES; i++) {
			ns[on][i] = actor_call(a, cheapest_command, i, 0, 0, 0);
			ASSERT_GT(ns[on][i], 0);
		}
		actor_forget_all();
		ASSERT_EQ(0, wait_no_queues());
	}
	for (i = CREATES; i <= CHANGES; i++) {
		TH_LOG("%s: %lld ns, %lld without the scheduler", names[i], (long long)ns[1][i], (long long)ns[0][i]);
		EXPECT_LE(ns[1][i] - ns[0][i], limits[i]) TH_LOG("%s", names[i]);
	}
}

/* Times that the monitor slept and was woken */
static int64_t monitor_switches(void)
{
	char path[64], line[128];
	int64_t sum = 0, n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%lld/status", (long long)counter("monitor_pid"));
	f = fopen(path, "r");
	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "voluntary_ctxt_switches: %" SCNd64, &n) == 1 ||
		    sscanf(line, "nonvoluntary_ctxt_switches: %" SCNd64, &n) == 1)
			sum += n;
	fclose(f);
	return sum;
}

/* Nobody else is there: nothing to decide, nothing to look at. */
TEST_F_TIMEOUT(endurance, lone_busy_queue_costs_nothing_for_10_s, 240)
{
	struct actor *low = worker(_metadata, LOW_NICE, 1, self->slots, 12, 1000 * MS);
	int64_t checks, switches, runlists;

	ASSERT_EQ(0, actor_submit(low, 0, 0, 1, 0));
	ASSERT_EQ(0, wait_node_state("parked"));
	ASSERT_EQ(0, kfd_vgpu_look_every(10 * MS));
	ASSERT_EQ(0, actor_wait_progress(low, 0, 1, LONG));
	checks = counter("checks");
	runlists = counter("runlists");
	switches = monitor_switches();
	ASSERT_GT(switches, 0);
	kfd_sleep_ns(10 * SECOND);
	EXPECT_FALSE(actor_done(low, 0));
	EXPECT_EQ(checks, counter("checks"));
	EXPECT_EQ(switches, monitor_switches());
	EXPECT_EQ(runlists, counter("runlists"));
	EXPECT_EQ(self->preemptions, counter("preemptions"));
	EXPECT_EQ(0, preempt_count(low, 0));
	ASSERT_DONE_ONCE(low);
}

/*
 * args: cycles, resumes so far. Each round is a short kernel; the next one comes when the hog is back. It may
 * slip in while the hog's waves are still on their way back: then nobody is preempted for it.
 */
static int64_t rounds(struct actor *a, const int64_t *args)
{
	struct kfd_work *w = &a->work[0];
	int err = 0;

	while (!err && counter("resumes") - args[1] < args[0]) {
		int64_t before = counter("resumes");

		if (w->submitted == w->launches)
			return -ENOSPC;
		kfd_signal_init(a->done[0], 1);
		err = kfd_work_submit(&a->queue[0], w, a->done[0], 0);
		if (!err)
			err = kfd_signal_poll(a->done[0], LONG);
		if (!err)
			err = wait_counter("resumes", before + 1, 5 * MS);
		if (err == -ETIME && !kfd_signal_poll(a->done[0], 0))
			err = 0;
	}
	return err;
}

TEST_F_TIMEOUT(endurance, thousands_of_cycles_lose_nothing, 1200)
{
	/* A grid of the hog outlasts a batch: 8 ms for each cycle. */
	enum { BATCH = 25, STEPS = 11, STEP_MS = 20 };
	const char *text = getenv("CYCLES");
	int64_t cycles = text ? atoll(text) : 10000, left, start;
	uint32_t batches = (uint32_t)((cycles + BATCH - 1) / BATCH);
	struct actor *low, *high;

	ASSERT_LT(0, cycles);
	ASSERT_EQ(0, kfd_param_set("gpreempt_poll_us", 50));
	/* The budget would space them out. */
	ASSERT_EQ(0, kfd_param_set("gpreempt_overhead_pct", 0));
	low = worker(_metadata, LOW_NICE, batches, self->slots, STEPS, STEP_MS * MS);
	high = worker(_metadata, 0, (uint32_t)cycles * 2, 1, 1, 20 * US);
	start = preempt_count(low, 0);
	for (left = cycles; left > 0; left -= BATCH) {
		uint64_t progress = kfd_work_progress(&low->work[0]);

		ASSERT_EQ(0, actor_submit(low, 0, 0, 1, 0));
		ASSERT_EQ(0, actor_wait_progress(low, 0, progress + 1, LONG));
		ASSERT_EQ(0, actor_call(high, rounds, left < BATCH ? left : BATCH, counter("resumes"), 0, 0));
		EXPECT_FALSE(actor_done(low, 0));
		ASSERT_EQ(0, actor_wait(low, 0, LONG));
	}
	EXPECT_LE(cycles, preempt_count(low, 0) - start);
	ASSERT_DONE_ONCE(low, high);
	TH_LOG("%lld preemptions, %u kernels", (long long)(preempt_count(low, 0) - start), high->work[0].submitted);
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
}

TEST_HARNESS_MAIN
