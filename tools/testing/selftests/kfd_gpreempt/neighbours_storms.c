// SPDX-License-Identifier: MIT
/*
 * neighbours_storms.c - what another user can do by calling, all the time and from many threads
 *
 * Assertions are about order, counts, work items and ratios within one run: meaningful in virtual time (the VM's --icount).
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "kselftest_harness.h"

#include "fixture.h"
#include "disturb.h"
#include "neighbours.h"
#include "worker.h"

#define STORMERS	4
/* Set where phases of one run are compared; a build with other costs of a pass may be at the edge of their bounds. */
#define RATIOS		"NEIGHBOURS_RATIOS"
#define TRACING		"/sys/kernel/tracing"
#define EVENTS		TRACING "/events/gpreempt"

#define REQUESTS	100	/* of each phase, after some that are not measured: the first one comes after a silence */
#define FIRST		4
#define PHASE		(FIRST + REQUESTS)

/**
 * struct durations - of one kind, in ns
 * @ns: each
 * @nr: how many
 */
struct durations {
	int64_t ns[2 * REQUESTS];
	int nr;
};

/**
 * struct phase - what was measured while so many requests came
 * @detect: from the last look that found no inversion to the decision
 * @request: from the decision to its first request to the device
 * @done: from the doorbell to the signal
 * @monitor_ns: what the monitor's thread used of a CPU
 * @elapsed_ns: how long all of it took
 */
struct phase {
	struct durations detect;
	struct durations request;
	struct durations done;
	int64_t monitor_ns;
	int64_t elapsed_ns;
};

/* Shared with actors that are started later. */
static struct durations *timed;

static int monitor_runs_where_programs_do(void)
{
	cpu_set_t cpus;

	if (sched_getaffinity(0, sizeof(cpus), &cpus))
		return -errno;
	CPU_CLR(0, &cpus);
	return sched_setaffinity((pid_t)counter("monitor_pid"), sizeof(cpus), &cpus) ? -errno : 0;
}

FIXTURE(storms) {
	BEFORE_TEST;
	struct gpreempt *g;
	struct actor *low;
	struct actor *high;
	struct actor *stormers[STORMERS];
};

FIXTURE_SETUP(storms)
{
	int i;

	SETUP_SCHEDULER(NULL, 0);
	timed = mmap(NULL, sizeof(*timed), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, timed);
	/* Its CPU must not be that of the virtual GPU's command processor, which has none to share. */
	ASSERT_EQ(0, monitor_runs_where_programs_do());
	ASSERT_EQ(0, gpreempt_open(&self->g));
	ASSERT_EQ(0, storm_init(gpreempt_fd(self->g)));
	for (i = 0; i < STORMERS; i++)
		self->stormers[i] = stormer(_metadata);
}

FIXTURE_TEARDOWN(storms)
{
	actor_forget_all();
	gpreempt_close(self->g);
	EXPECT_NOTHING_LEFT();
	scheduler_off();
}

/* Something that fills the device for as long as it takes, and something above it that comes and goes. */
static void start_pair(struct __test_metadata *_metadata, FIXTURE_DATA(storms) *self, uint32_t steps, uint32_t requests)
{
	self->low = worker(_metadata, LOW_NICE, 1, self->slots, steps, 10 * MS);
	self->high = worker(_metadata, 0, requests, self->slots, 1, MS);
	ASSERT_EQ(0, actor_submit(self->low, 0, 0, 1, 0));
	ASSERT_EQ(0, actor_wait_progress(self->low, 0, 1, LONG));
}

TEST_F_TIMEOUT(storms, lose_no_work, 120)
{
	enum { STEPS = 40, TIMES = 10 };
	int i, kind;

	start_pair(_metadata, self, STEPS, TIMES);
	storm_begin(self->stormers, STORMERS, 2, 2, 1, 0);
	for (i = 0; i < TIMES; i++) {
		ASSERT_EQ(0, actor_submit(self->high, 0, 0, 1, 0));
		ASSERT_EQ(0, actor_wait(self->high, 0, LONG));
		kfd_sleep_ns(5 * MS);
	}
	EXPECT_EQ(0, storm_end(self->stormers, STORMERS));
	for (kind = LOOP_LIST; kind <= LOOP_UPDATE_QUEUE; kind++) {
		EXPECT_GT(storm->calls[kind], 0);
		EXPECT_EQ(0, storm->errors[kind]);
	}
	ASSERT_EQ(0, actor_wait(self->low, 0, LONG));
	EXPECT_EXACTLY_ONCE(self->low, self->slots * STEPS);
	EXPECT_EXACTLY_ONCE(self->high, self->slots * TIMES);
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
}

/* ---- what storms delay ---- */

static int ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* So many of a hundred are no longer than this; 0: there are none. */
static int64_t percentile_ns(struct durations *d, int percent)
{
	qsort(d->ns, (size_t)d->nr, sizeof(d->ns[0]), ascending);
	return d->nr ? d->ns[(d->nr * percent + 99) / 100 - 1] : 0;
}

static void add_duration(struct durations *d, const char *line, const char *name)
{
	const char *at = strstr(line, name);

	if (at && d->nr < 2 * REQUESTS)
		d->ns[d->nr++] = strtoll(at + strlen(name), NULL, 0);
}

static int read_trace(struct phase *p)
{
	FILE *f = fopen(TRACING "/trace", "r");
	char line[512];

	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		if (strstr(line, " gpreempt_inversion: ") && !strstr(line, " nr_preempt=0 "))
			add_duration(&p->detect, line, " since_ns=");
		else if (strstr(line, " gpreempt_runlist: ") && strstr(line, " preempted=1 "))
			add_duration(&p->request, line, " wait_ns=");
	}
	fclose(f);
	return 0;
}

static void trace_off(void)
{
	put(EVENTS "/enable", "0");
	close(open(TRACING "/trace", O_WRONLY | O_TRUNC | O_CLOEXEC));
}

static int64_t monitor_ns(void)
{
	long long ns = -1;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%lld/schedstat", (long long)counter("monitor_pid"));
	f = fopen(path, "r");
	if (!f)
		return -errno;
	if (fscanf(f, "%lld", &ns) != 1)
		ns = -1;
	fclose(f);
	return ns;
}

/* args: every so many ns, so many times. There is a request, timed where it is made. */
static int64_t actor_requests(struct actor *a, const int64_t *args)
{
	uint64_t next_ns = kfd_now_ns();
	int err = 0;

	for (timed->nr = 0; timed->nr < args[1] && !err; timed->nr++) {
		uint64_t start_ns;

		next_ns += (uint64_t)args[0];
		kfd_sleep_until_ns(next_ns);
		start_ns = kfd_now_ns();
		kfd_signal_init(a->done[0], 1);
		err = kfd_work_submit(&a->queue[0], &a->work[0], a->done[0], 0);
		if (!err)
			err = kfd_signal_poll(a->done[0], LONG);
		timed->ns[timed->nr] = (int64_t)(kfd_now_ns() - start_ns);
	}
	return err;
}

/* Some requests that are not measured, then some that are */
static void measure_requests(struct __test_metadata *_metadata, struct actor *high, struct phase *p, const char *what, int first, int requests)
{
	int64_t monitor, began;

	memset(p, 0, sizeof(*p));
	trace_off();
	ASSERT_EQ(0, actor_call(high, actor_requests, 6 * MS, first, 0, 0));
	monitor = monitor_ns();
	began = (int64_t)kfd_now_ns();
	ASSERT_EQ(0, put(EVENTS "/gpreempt_inversion/enable", "1"));
	ASSERT_EQ(0, put(EVENTS "/gpreempt_runlist/enable", "1"));
	ASSERT_EQ(0, actor_call(high, actor_requests, 6 * MS, requests, 0, 0));
	p->elapsed_ns = (int64_t)kfd_now_ns() - began;
	p->monitor_ns = monitor_ns() - monitor;
	p->done = *timed;
	ASSERT_EQ(0, read_trace(p));
	trace_off();
	TH_LOG("%s: %d detected, p50 %lld p99 %lld us; to the request p50 %lld p99 %lld us; request done p50 %lld p99 %lld us; monitor %lld of %lld us",
	       what, p->detect.nr, (long long)percentile_ns(&p->detect, 50) / 1000, (long long)percentile_ns(&p->detect, 99) / 1000,
	       (long long)percentile_ns(&p->request, 50) / 1000, (long long)percentile_ns(&p->request, 99) / 1000,
	       (long long)percentile_ns(&p->done, 50) / 1000, (long long)percentile_ns(&p->done, 99) / 1000,
	       (long long)p->monitor_ns / 1000, (long long)p->elapsed_ns / 1000);
}

static void measure(struct __test_metadata *_metadata, struct actor *high, struct phase *p, const char *what)
{
	measure_requests(_metadata, high, p, what, FIRST, REQUESTS);
}

/* With so many loops of each kind in each of the stormers */
static void measure_beside(struct __test_metadata *_metadata, FIXTURE_DATA(storms) *self, struct phase *p, const char *what, int lists, int sets,
			   int updates)
{
	storm_begin(self->stormers, STORMERS, lists, sets, updates, 0);
	measure(_metadata, self->high, p, what);
	EXPECT_EQ(0, storm_end(self->stormers, STORMERS));
	TH_LOG("    %llu LIST, %llu SET_PRIORITY, %llu UPDATE_QUEUE", (unsigned long long)storm->calls[LOOP_LIST],
	       (unsigned long long)storm->calls[LOOP_SET_PRIORITY], (unsigned long long)storm->calls[LOOP_UPDATE_QUEUE]);
	memset(storm->calls, 0, sizeof(storm->calls));
}

/* Preemptions come as soon, requests are done as soon, and what the monitor costs at most doubles. */
static void expect_undelayed(struct __test_metadata *_metadata, struct phase *calm, struct phase *storm, const char *what)
{
	EXPECT_GE(storm->detect.nr, REQUESTS * 9 / 10) TH_LOG("%s: requests that preempted nobody", what);
	EXPECT_LE(2 * percentile_ns(&storm->detect, 99), 3 * percentile_ns(&calm->detect, 99)) TH_LOG("%s: detection", what);
	EXPECT_LE(2 * percentile_ns(&storm->done, 99), 3 * percentile_ns(&calm->done, 99)) TH_LOG("%s: requests", what);
	EXPECT_LE(storm->monitor_ns * calm->elapsed_ns, 2 * calm->monitor_ns * storm->elapsed_ns) TH_LOG("%s: CPU of the monitor", what);
}

TEST_F_TIMEOUT(storms, list_storm_delays_no_preemption, 300)
{
	enum { STEPS = 300 };
	struct phase calm, list, set;

	if (!getenv(RATIOS))
		SKIP(return, RATIOS " is not set: suite storms compares latencies");
	start_pair(_metadata, self, STEPS, 3 * PHASE);
	/* So many preemptions are not what the budget is for. */
	ASSERT_EQ(0, kfd_param_set("gpreempt_overhead_pct", 0));
	measure(_metadata, self->high, &calm, "calm");
	measure_beside(_metadata, self, &list, "8 LIST", 2, 0, 0);
	measure_beside(_metadata, self, &set, "8 SET_PRIORITY", 0, 2, 0);
	EXPECT_FALSE(actor_done(self->low, 0)) TH_LOG("nothing was in the way any more");
	expect_undelayed(_metadata, &calm, &list, "8 LIST");
	expect_undelayed(_metadata, &calm, &set, "8 SET_PRIORITY");
	ASSERT_EQ(0, actor_wait(self->low, 0, LONG));
	EXPECT_EXACTLY_ONCE(self->low, self->slots * STEPS);
	EXPECT_EXACTLY_ONCE(self->high, self->slots * 3 * PHASE);
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
}

/*
 * Each UPDATE_QUEUE takes all queues off the device. Programs may ask for some of these at once, so more requests are not measured; and fewer than one in
 * a hundred meets one of those that follow, so more are. How soon they are detected is a part of how soon they are done.
 */
TEST_F_TIMEOUT(storms, calls_in_a_loop_delay_no_request, 300)
{
	enum { STEPS = 600, FIRST_MANY = 40, MANY = 2 * REQUESTS, ALL = FIRST_MANY + MANY };
	struct phase calm, all;
	int64_t paced;

	if (!getenv(RATIOS))
		SKIP(return, RATIOS " is not set: suite storms compares latencies");
	start_pair(_metadata, self, STEPS, 2 * ALL);
	/* So many preemptions are not what the budget is for. */
	ASSERT_EQ(0, kfd_param_set("gpreempt_overhead_pct", 0));
	measure_requests(_metadata, self->high, &calm, "calm", FIRST_MANY, MANY);
	paced = counter("paced");
	storm_begin(self->stormers, STORMERS, 2, 2, 1, 0);
	measure_requests(_metadata, self->high, &all, "8 LIST, 8 SET_PRIORITY, 4 UPDATE_QUEUE", FIRST_MANY, MANY);
	EXPECT_GT(counter("paced"), paced);
	EXPECT_EQ(0, storm_end(self->stormers, STORMERS));
	EXPECT_FALSE(actor_done(self->low, 0)) TH_LOG("nothing was in the way any more");
	EXPECT_GE(all.detect.nr, MANY * 9 / 10);
	EXPECT_LE(2 * percentile_ns(&all.done, 99), 3 * percentile_ns(&calm.done, 99));
	EXPECT_LE(all.monitor_ns * calm.elapsed_ns, 2 * calm.monitor_ns * all.elapsed_ns);
	ASSERT_EQ(0, actor_wait(self->low, 0, LONG));
	EXPECT_EXACTLY_ONCE(self->low, self->slots * STEPS);
	EXPECT_EXACTLY_ONCE(self->high, self->slots * 2 * ALL);
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
}

/* All the time runlists follow each other: what works is preempted for what is above it, and given back, all the same. */
TEST_F_TIMEOUT(storms, update_storm_stops_no_decision, 120)
{
	enum { STEPS = 200, TIMES = 5 };
	uint64_t progress;
	int i;

	if (!getenv(RATIOS))
		SKIP(return, RATIOS " is not set: suite storms compares latencies");
	start_pair(_metadata, self, STEPS, TIMES);
	ASSERT_EQ(0, kfd_param_set("gpreempt_overhead_pct", 0));
	storm_begin(self->stormers, STORMERS, 0, 0, 1, 0);
	for (i = 0; i < TIMES; i++) {
		ASSERT_EQ(0, actor_submit(self->high, 0, 0, 1, 0));
		ASSERT_EQ(0, wait_state(self->low, 0, "preempted", SECOND));
		ASSERT_EQ(0, actor_wait(self->high, 0, LONG));
		progress = kfd_work_progress(&self->low->work[0]);
		ASSERT_EQ(0, actor_wait_progress(self->low, 0, progress + 1, LONG));
	}
	EXPECT_EQ(0, storm_end(self->stormers, STORMERS));
	EXPECT_GT(storm->calls[LOOP_UPDATE_QUEUE], 0);
	EXPECT_FALSE(actor_done(self->low, 0));
	ASSERT_EQ(0, actor_wait(self->low, 0, LONG));
	EXPECT_EXACTLY_ONCE(self->low, self->slots * STEPS);
	EXPECT_EXACTLY_ONCE(self->high, self->slots * TIMES);
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
}

/* ---- reliefs of many, which begin one after the other ---- */

#define VICTIMS		50
#define VICTIM_ACTORS	5
#define VICTIM_STEPS	100
#define HIGH_STEPS	400
#define HOLD_MS		400	/* the defaults are 1000 and 20: the same share */
#define RELIEF_MS	8

/* The queue of this number, through the descriptor that all share. */
static int64_t actor_holds_its_queue(struct actor *a, const int64_t *args)
{
	struct gpreempt_hold hold = { .target = gpreempt_target_queue(0, a->client.gpu_id, a->queue[args[0]].id) };

	return ioctl(storm->gpreempt_fd, GPREEMPT_IOC_PREEMPT, &hold) ? -errno : 0;
}

/* Many low queues. Before the higher program works: what is below it does not make so many queues at once. */
static void make_victims(struct __test_metadata *_metadata, struct actor **a)
{
	int i, q;

	for (i = 0; i < VICTIM_ACTORS; i++) {
		a[i] = actor_start(LOW_NICE, ARENA);
		ASSERT_ACTOR(a[i]);
		for (q = 0; q < VICTIMS / VICTIM_ACTORS; q++) {
			ASSERT_EQ(q, actor_queue(a[i], KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL));
			ASSERT_EQ(q, actor_work(a[i], 1, 4, VICTIM_STEPS, 500 * US));
		}
	}
}

/* Each of them gets work, and with @held is held by its own process, one after the other: something is due all the time. */
static void start_staggered(struct __test_metadata *_metadata, struct actor **a, bool held)
{
	int i;

	for (i = 0; i < VICTIMS; i++) {
		ASSERT_EQ(0, actor_submit(a[i % VICTIM_ACTORS], i / VICTIM_ACTORS, i / VICTIM_ACTORS, 1, 0));
		kfd_sleep_ns(held ? 0 : RELIEF_MS * MS);
	}
	for (i = 0; i < VICTIM_ACTORS && held; i++)
		ASSERT_EQ(0, actor_call(a[i], actor_becomes_nobody, 0, 0, 0, 0));
	for (i = 0; i < VICTIMS && held; i++) {
		ASSERT_EQ(0, actor_call(a[i % VICTIM_ACTORS], actor_holds_its_queue, i / VICTIM_ACTORS, 0, 0, 0));
		kfd_sleep_ns(RELIEF_MS * MS);
	}
}

static void finish_staggered(struct __test_metadata *_metadata, struct actor **a)
{
	int i, q;

	for (i = 0; i < VICTIM_ACTORS; i++) {
		for (q = 0; q < VICTIMS / VICTIM_ACTORS; q++)
			ASSERT_EQ(0, actor_wait(a[i], q, LONG));
		EXPECT_EXACTLY_ONCE(a[i], VICTIMS / VICTIM_ACTORS * 4 * VICTIM_STEPS);
	}
}

/* A process above them that always has work */
static struct actor *start_higher(struct __test_metadata *_metadata, uint32_t slots)
{
	struct actor *high = worker(_metadata, 0, 1, slots, HIGH_STEPS, 10 * MS);

	ASSERT_EQ(0, kfd_param_set("gpreempt_max_hold_ms", HOLD_MS));
	ASSERT_EQ(0, kfd_param_set("gpreempt_relief_ms", RELIEF_MS));
	ASSERT_EQ(0, actor_submit(high, 0, 0, 1, 0));
	ASSERT_EQ(0, actor_wait_progress(high, 0, 1, LONG));
	return high;
}

/* From now on, for so long, it has at least 96 % of the device. */
static void expect_share(struct __test_metadata *_metadata, const struct actor *high, uint32_t slots, uint64_t ns)
{
	uint64_t began_ns = kfd_now_ns(), done = kfd_work_progress(&high->work[0]), possible;

	kfd_sleep_ns(ns);
	done = kfd_work_progress(&high->work[0]) - done;
	possible = slots * (kfd_now_ns() - began_ns) / (10 * MS);
	TH_LOG("beside %d of them the higher queue did %llu of %llu", VICTIMS, (unsigned long long)done, (unsigned long long)possible);
	EXPECT_GE(100 * done, 96 * possible);
	EXPECT_FALSE(actor_done(high, 0));
}

/* On a kernel that looks after its locks a look at so many queues takes a millisecond, and looks take 1/24 of the time at most: reliefs end late. */
static bool looks_rarely(void)
{
	return !access("/proc/lockdep", F_OK);
}

/*
 * Each process has a turn within the documented bound: with P that starve, (1 + P/19) times the longest hold and its relief. The device has slots for half
 * of their queues at a time, so each queue has one within twice as long.
 */
TEST_F_TIMEOUT(storms, staggered_victims_do_not_add_up, 300)
{
	uint64_t before[VICTIMS], bound_ns = (1 + (VICTIM_ACTORS + 18) / 19) * (HOLD_MS + RELIEF_MS) * MS;
	struct actor *high, *a[VICTIM_ACTORS];
	int i;

	make_victims(_metadata, a);
	high = start_higher(_metadata, self->slots);
	start_staggered(_metadata, a, false);
	for (i = 0; i < VICTIMS; i++)
		before[i] = kfd_work_progress(&a[i % VICTIM_ACTORS]->work[i / VICTIM_ACTORS]);
	if (!looks_rarely())
		expect_share(_metadata, high, self->slots, 2 * bound_ns);
	for (i = 0; i < VICTIMS && !looks_rarely(); i++) {
		const struct actor *victim = a[i % VICTIM_ACTORS];
		int work = i / VICTIM_ACTORS;

		EXPECT_TRUE(actor_done(victim, work) || kfd_work_progress(&victim->work[work]) > before[i]);
	}
	ASSERT_EQ(0, actor_wait(high, 0, LONG));
	EXPECT_EXACTLY_ONCE(high, self->slots * HIGH_STEPS);
	finish_staggered(_metadata, a);
}

TEST_F_TIMEOUT(storms, own_holds_earn_no_relief, 300)
{
	struct actor *high, *a[VICTIM_ACTORS];
	struct gpreempt_target target;
	int i;

	make_victims(_metadata, a);
	high = start_higher(_metadata, self->slots);
	start_staggered(_metadata, a, true);
	expect_share(_metadata, high, self->slots, 3 * HOLD_MS * MS);
	for (i = 0; i < VICTIM_ACTORS; i++) {
		target = gpreempt_target_process(a[i]->pid, 0);
		ASSERT_LE(0, gpreempt_resume(self->g, &target));
	}
	ASSERT_EQ(0, actor_wait(high, 0, LONG));
	EXPECT_EXACTLY_ONCE(high, self->slots * HIGH_STEPS);
	finish_staggered(_metadata, a);
}

TEST_HARNESS_MAIN
