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
#include "draw.h"
#include "neighbours.h"
#include "../../../bench/demo/percentile.h"

#define STORMERS	4
#define TRACING		"/sys/kernel/tracing"
#define EVENTS		TRACING "/events/gpreempt"
#define SWITCHES	TRACING "/events/sched/sched_switch"
#define TRIGGER		"traceoff if nr_preempt != 0"
#define TRACE_KB	"2048"
#define CP		"vgpu_cp"	/* the thread that is the virtual GPU */

#define REQUESTS	100	/* of a phase, after some that are not measured */
#define REQUESTS_MOST	200	/* of one where few of a hundred meet what it is about */
#define FIRST_TURNS	12	/* so often are those repeated that come before what is measured, at most */
#define PERIOD_NS	(4500 * US)	/* between two of them, and up to PERIOD_MORE_NS more, or they would meet the same thing each time */
#define PERIOD_MORE_NS	(500 * US)
#define SPIN_NS		(100 * US)	/* see wait_until() */

/**
 * struct request - one of the higher program's
 * @submit_ns: before its packet is written
 * @ring_ns: before its doorbell is written
 * @done_ns: when the device was done with it
 * @seen_ns: when its program knew
 * @detect_ns: from @ring_ns to the first decision to preempt, without what the virtual GPU took of that; -1: there was none
 */
struct request {
	int64_t submit_ns;
	int64_t ring_ns;
	int64_t done_ns;
	int64_t seen_ns;
	int64_t detect_ns;
};

/**
 * struct phase - what was measured while so many requests came
 * @request: each of them
 * @nr: how many
 * @detected: of these, those that preempted somebody
 * @monitor_ns: what the monitor's thread used of a CPU
 * @elapsed_ns: how long all of it took
 */
struct phase {
	struct request request[REQUESTS_MOST];
	int nr;
	int detected;
	int64_t monitor_ns;
	int64_t elapsed_ns;
};

/* Shared with actors that are started later: those of one phase. */
static struct phase *timed;

/*
 * So many times as long it is between requests, and works what is below them: the virtual GPU saves
 * and restores one XCC after the other, and the scheduler gives no gap away that is not longer.
 */
static uint32_t pace(const struct kfd_client *c)
{
	return 1 + c->num_xcc / 2;
}

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

/* Something that works for as long as it takes, and something above it that comes and goes. */
static void start_pair(struct __test_metadata *_metadata, FIXTURE_DATA(storms) *self, uint32_t steps, uint32_t requests)
{
	self->low = worker(_metadata, LOW_NICE, 1, few_waves(self->slots), steps, 10 * MS);
	self->high = worker(_metadata, 0, requests, few_waves(self->slots), 1, MS);
	ASSERT_EQ(0, launch_begins(self->low));
}

#define FINISH_PAIR() do { \
	ASSERT_DONE_ONCE(self->low, self->high); \
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes)); \
} while (0)

/* The pair of a test of decisions. So many preemptions are not what the budget is for. */
#define START_DECISIONS(requests) do { \
	if (looks_rarely()) \
		SKIP(return, "a look takes long on this kernel"); \
	start_pair(_metadata, self, STEPS * pace(&self->stormers[0]->client), requests); \
	ASSERT_EQ(0, kfd_param_set("gpreempt_overhead_pct", 0)); \
} while (0)

TEST_F_TIMEOUT(storms, lose_no_work, 120)
{
	enum { STEPS = 40, TIMES = 10 };
	int i, kind;

	start_pair(_metadata, self, STEPS, TIMES);
	storm_begin(self->stormers, STORMERS, 2, 2, 1, 0);
	for (i = 0; i < TIMES; i++) {
		ASSERT_EQ(0, launch_completes(self->high));
		kfd_sleep_ns(5 * MS);
	}
	EXPECT_EQ(0, storm_end(self->stormers, STORMERS));
	for (kind = LOOP_LIST; kind <= LOOP_UPDATE_QUEUE; kind++) {
		EXPECT_GT(storm->calls[kind], 0);
		EXPECT_EQ(0, storm->errors[kind]);
	}
	FINISH_PAIR();
}

/* ---- what storms delay ---- */

/* From the doorbell to the decision, of those that preempted somebody; to the end on the device; until the program knew */
enum step { DETECTED, DONE, SEEN };

/* So many of a hundred requests took no longer for that; 0: there are none. */
static int64_t took_ns(const struct phase *p, enum step step, int percent)
{
	int64_t ns[REQUESTS_MOST];
	int i, nr = 0;

	for (i = 0; i < p->nr; i++) {
		const struct request *r = &p->request[i];

		if (step != DETECTED)
			ns[nr++] = (step == DONE ? r->done_ns : r->seen_ns) - r->ring_ns;
		else if (r->detect_ns >= 0)
			ns[nr++] = r->detect_ns;
	}
	return (int64_t)demo_percentile((uint64_t *)ns, (size_t)nr, (unsigned int)percent);
}

/**
 * struct trace - while a trace is read
 * @cp_since_ns: since when the virtual GPU has been running; 0: it is not
 * @cp_ns: for so long it has run before that
 * @request: the request that is looked for
 * @rung_cp_ns: @cp_ns when it rang; -1: it has not
 */
struct trace {
	int64_t cp_since_ns;
	int64_t cp_ns;
	int request;
	int64_t rung_cp_ns;
};

static int64_t cp_ran_ns(const struct trace *t, int64_t now_ns)
{
	return t->cp_ns + (t->cp_since_ns ? now_ns - t->cp_since_ns : 0);
}

/* When something happened, by the clock of kfd_now_ns(), to a microsecond, rounded up; 0: this is no event */
static int64_t line_ns(const char *line)
{
	const char *at = strchr(line, ']');
	double seconds;

	return *line != '#' && at && sscanf(at + 1, " %*s %lf:", &seconds) == 1 ? (int64_t)(seconds * 1e9) + 1000 : 0;
}

static void read_line(struct trace *t, struct phase *p, const char *line, int64_t now_ns)
{
	struct request *r = &p->request[t->request];

	while (t->request < p->nr && now_ns > r->seen_ns) {
		r = &p->request[++t->request];
		t->rung_cp_ns = -1;
		/* Nothing was traced in between: it may have stopped. */
		t->cp_since_ns = 0;
	}
	if (t->request < p->nr && t->rung_cp_ns < 0 && now_ns >= r->ring_ns)
		t->rung_cp_ns = cp_ran_ns(t, r->ring_ns);
	if (strstr(line, " next_comm=" CP " ")) {
		t->cp_since_ns = now_ns;
	} else if (strstr(line, " prev_comm=" CP " ")) {
		t->cp_ns = cp_ran_ns(t, now_ns);
		t->cp_since_ns = 0;
	} else if (strstr(line, " gpreempt_inversion: ") && !strstr(line, " nr_preempt=0 ") && t->request < p->nr && now_ns >= r->submit_ns &&
		   r->detect_ns < 0) {
		r->detect_ns = now_ns > r->ring_ns ? now_ns - r->ring_ns - (cp_ran_ns(t, now_ns) - t->rung_cp_ns) : 0;
		p->detected++;
	}
}

static int read_trace(struct phase *p)
{
	struct trace t = { .rung_cp_ns = -1 };
	FILE *f = fopen(TRACING "/trace", "r");
	char line[512];

	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		int64_t now_ns = line_ns(line);

		if (now_ns)
			read_line(&t, p, line, now_ns);
	}
	fclose(f);
	return 0;
}

static int trace_off(void)
{
	int err = kfd_file_write(EVENTS "/enable", "0");

	if (!err)
		err = kfd_file_write(EVENTS "/gpreempt_inversion/trigger", "!" TRIGGER);
	if (!err)
		err = kfd_file_write(SWITCHES "/enable", "0");
	if (!err)
		err = kfd_file_write(SWITCHES "/filter", "0");
	kfd_file_empty(TRACING "/trace");
	return err ? err : kfd_file_write(TRACING "/tracing_on", "1");
}

/* Of what happens from the beginning of a request to its decision: a trace takes longer to be read than to come about. */
static int trace_requests(void)
{
	int err = kfd_file_write(TRACING "/trace_clock", "mono");

	if (!err)
		err = kfd_file_write(TRACING "/buffer_size_kb", TRACE_KB);
	if (!err)
		err = kfd_file_write(TRACING "/tracing_on", "0");
	if (!err)
		err = kfd_file_write(SWITCHES "/filter", "prev_comm == \"" CP "\" || next_comm == \"" CP "\"");
	if (!err)
		err = kfd_file_write(SWITCHES "/enable", "1");
	if (!err)
		err = kfd_file_write(EVENTS "/gpreempt_inversion/trigger", TRIGGER);
	return err ? err : kfd_file_write(EVENTS "/gpreempt_inversion/enable", "1");
}

/*
 * The interrupt that wakes somebody up at a given time wakes the monitor up as well, if that is due soon. So that requests come at any time between two
 * looks, the last part of the time is not slept.
 */
static void wait_until(uint64_t ns)
{
	kfd_sleep_until_ns(ns - SPIN_NS - any() % SPIN_NS);
	kfd_file_write(TRACING "/tracing_on", "1");
	while (kfd_now_ns() < ns)
		;
}

/* args: so many. */
static int64_t actor_requests(struct actor *a, const int64_t *args)
{
	uint64_t next_ns = kfd_now_ns();
	int64_t offset_ns = kfd_clock_offset_ns(&a->client);
	int err = 0;

	if (prctl(PR_SET_TIMERSLACK, 1UL))
		return -errno;
	kfd_queue_stamp(&a->queue[0]);
	draw_seed(1);
	memset(timed, 0, sizeof(*timed));
	for (timed->nr = 0; timed->nr < args[0] && !err; timed->nr++) {
		struct request *r = &timed->request[timed->nr];

		next_ns += pace(&a->client) * PERIOD_NS + any() % PERIOD_MORE_NS;
		kfd_signal_init(a->done[0], 1);
		r->detect_ns = -1;
		wait_until(next_ns);
		r->submit_ns = (int64_t)kfd_now_ns();
		err = kfd_work_submit(&a->queue[0], &a->work[0], a->done[0], KFD_PACKET_SILENT);
		r->ring_ns = (int64_t)kfd_now_ns();
		kfd_queue_ring(&a->queue[0]);
		if (!err)
			err = kfd_signal_poll(a->done[0], LONG);
		r->seen_ns = (int64_t)kfd_now_ns();
		kfd_file_write(TRACING "/tracing_on", "0");
		r->done_ns = (int64_t)a->done[0]->end_ts * KFD_TICK_NS + offset_ns;
	}
	return err;
}

/*
 * Some requests that are not measured, in turns until so many commands have had to wait; then some that are. What programs may ask for at once takes as
 * long as those who ask get to run.
 */
static void measure(struct __test_metadata *_metadata, struct actor *high, struct phase *p, const char *what, int first, int requests, int waiters)
{
	int64_t monitor, began;
	int64_t paced = counter("paced");
	int turns = 0;

	do {
		ASSERT_EQ(0, actor_call(high, actor_requests, first, 0, 0, 0));
	} while (counter("paced") < paced + waiters && ++turns < FIRST_TURNS);
	ASSERT_LT(turns, FIRST_TURNS) TH_LOG("%s: commands that should wait do not", what);
	ASSERT_EQ(0, trace_requests());
	monitor = kfd_cpu_ns(counter("monitor_pid"));
	began = (int64_t)kfd_now_ns();
	ASSERT_EQ(0, actor_call(high, actor_requests, requests, 0, 0, 0));
	timed->elapsed_ns = (int64_t)kfd_now_ns() - began;
	timed->monitor_ns = kfd_cpu_ns(counter("monitor_pid")) - monitor;
	*p = *timed;
	ASSERT_EQ(0, read_trace(p));
	ASSERT_EQ(0, trace_off());
	TH_LOG("%s: %d detected, p50 %lld p99 %lld max %lld us; request done p50 %lld p99 %lld max %lld us; seen p50 %lld p99 %lld max %lld us; monitor %lld of %lld us",
	       what, p->detected, (long long)took_ns(p, DETECTED, 50) / 1000, (long long)took_ns(p, DETECTED, 99) / 1000, (long long)took_ns(p, DETECTED, 100) / 1000,
	       (long long)took_ns(p, DONE, 50) / 1000, (long long)took_ns(p, DONE, 99) / 1000, (long long)took_ns(p, DONE, 100) / 1000,
	       (long long)took_ns(p, SEEN, 50) / 1000, (long long)took_ns(p, SEEN, 99) / 1000, (long long)took_ns(p, SEEN, 100) / 1000,
	       (long long)p->monitor_ns / 1000, (long long)p->elapsed_ns / 1000);
}

/* With so many loops of each kind in each of the stormers */
static void measure_beside(struct __test_metadata *_metadata, FIXTURE_DATA(storms) *self, struct phase *p, const char *what, int first, int requests,
			   int lists, int sets, int updates)
{
	storm_begin(self->stormers, STORMERS, lists, sets, updates, 0);
	measure(_metadata, self->high, p, what, first, requests, STORMERS * updates);
	EXPECT_FALSE(actor_done(self->low, 0)) TH_LOG("nothing was in the way any more");
	EXPECT_EQ(0, storm_end(self->stormers, STORMERS));
	TH_LOG("    %llu LIST, %llu SET_PRIORITY, %llu UPDATE_QUEUE", (unsigned long long)storm->calls[LOOP_LIST],
	       (unsigned long long)storm->calls[LOOP_SET_PRIORITY], (unsigned long long)storm->calls[LOOP_UPDATE_QUEUE]);
	memset(storm->calls, 0, sizeof(storm->calls));
}

/*
 * Preemptions come as soon, or at most as much later as polling notices work. Requests are done as soon, and what the monitor costs at most doubles.
 */
static void expect_undelayed(struct __test_metadata *_metadata, const struct phase *calm, const struct phase *storm, const char *what)
{
	EXPECT_GE(storm->detected, storm->nr * 9 / 10) TH_LOG("%s: requests that preempted nobody", what);
	EXPECT_LE(took_ns(storm, DETECTED, 99), took_ns(calm, DETECTED, 99) + 80 * US) TH_LOG("%s: detection", what);
	EXPECT_LE(2 * took_ns(storm, DONE, 99), 3 * took_ns(calm, DONE, 99)) TH_LOG("%s: requests", what);
	/* In microseconds: the product of seconds in nanoseconds has more than 63 bits. */
	EXPECT_LE(storm->monitor_ns / US * (calm->elapsed_ns / US), 2 * (calm->monitor_ns / US) * (storm->elapsed_ns / US)) TH_LOG("%s: CPU of the monitor", what);
}

TEST_F_TIMEOUT(storms, list_storm_delays_no_preemption, 300)
{
	enum { FIRST = 4, PHASE = FIRST + REQUESTS, STEPS = 1000 };
	static struct phase calm, list, set;

	START_DECISIONS(3 * PHASE);
	measure(_metadata, self->high, &calm, "calm", FIRST, REQUESTS, 0);
	measure_beside(_metadata, self, &list, "8 LIST", FIRST, REQUESTS, 2, 0, 0);
	measure_beside(_metadata, self, &set, "8 SET_PRIORITY", FIRST, REQUESTS, 0, 2, 0);
	expect_undelayed(_metadata, &calm, &list, "8 LIST");
	expect_undelayed(_metadata, &calm, &set, "8 SET_PRIORITY");
	FINISH_PAIR();
}

/*
 * Each UPDATE_QUEUE takes all queues off the device. Programs may ask for some of these at once, so more requests are not measured; and fewer than one in
 * a hundred meets one of those that follow, or has to wait until waves in flight can be read again after one.
 */
TEST_F_TIMEOUT(storms, calls_in_a_loop_delay_no_request, 300)
{
	enum { FIRST = 40, MOST = (1 + FIRST_TURNS) * FIRST + 2 * REQUESTS_MOST, STEPS = 2000 };
	static struct phase calm, all;
	int64_t paced;

	START_DECISIONS(MOST);
	measure(_metadata, self->high, &calm, "calm", FIRST, REQUESTS_MOST, 0);
	paced = counter("paced");
	measure_beside(_metadata, self, &all, "8 LIST, 8 SET_PRIORITY, 4 UPDATE_QUEUE", FIRST, REQUESTS_MOST, 2, 2, 1);
	EXPECT_GT(counter("paced"), paced);
	expect_undelayed(_metadata, &calm, &all, "all of them");
	FINISH_PAIR();
}

/*
 * Runlists follow each other: what works is preempted for what is above it, and given back, all the same. A request that comes while one of them has
 * the lower queue off the device needs no preemption.
 */
TEST_F_TIMEOUT(storms, update_storm_stops_no_decision, 120)
{
	enum { STEPS = 200, TIMES = 5, MOST = 4 * TIMES };
	int64_t count;
	int i;

	START_DECISIONS(MOST);
	storm_begin(self->stormers, STORMERS, 0, 0, 1, 0);
	count = preempt_count(self->low, 0);
	for (i = 0; i < MOST && preempt_count(self->low, 0) < count + TIMES; i++) {
		ASSERT_EQ(0, launch_completes(self->high));
		ASSERT_EQ(0, goes_on(&self->low->work[0]));
	}
	EXPECT_LE(count + TIMES, preempt_count(self->low, 0));
	EXPECT_FALSE(actor_done(self->low, 0));
	/* Commands that wait for their turn are waited for. */
	EXPECT_EQ(0, storm_end(self->stormers, STORMERS));
	EXPECT_GT(storm->calls[LOOP_UPDATE_QUEUE], 0);
	FINISH_PAIR();
}

/* ---- reliefs of many, which begin one after the other ---- */

#define VICTIM_QUEUES	10	/* of an actor, at most */
#define VICTIM_ACTORS	5
#define VICTIM_STEPS	100
/* Of 10 ms: longer than longest_wait_ns() where a pass takes 2.5 ms, of which 0.8 to 1.2 are seen */
#define HIGH_STEPS	1000
#define HOLD_MS		400	/* the defaults are 1000 and 20: the same share */
#define RELIEF_MS	8

/* So many times as long are holds and reliefs: many queues are restored in a relief, one XCC after the other, and are to work in it. */
static uint32_t turn_pace(const struct kfd_client *c)
{
	return c->num_xcc > 1 ? 1 + c->num_xcc : 1;
}

/* The queue of this number, through the descriptor that all share. */
static int64_t actor_holds_its_queue(struct actor *a, const int64_t *args)
{
	struct gpreempt_hold hold = { .target = gpreempt_target_queue(0, a->client.gpu_id, a->queue[args[0]].id) };

	return ioctl(storm->gpreempt_fd, GPREEMPT_IOC_PREEMPT, &hold) ? -errno : 0;
}

/*
 * Queues of an actor: as many as there is room for their save areas, which are large where the
 * device is. A tenth of the memory is for all else.
 */
static int victim_queues(const struct kfd_client *c)
{
	int64_t fit = (int64_t)(memory_bytes("gtt") / 10 * 9 / ((uint64_t)c->cwsr_size * c->num_xcc));

	fit = (fit - STORMERS - 1 /* the higher one's */) / VICTIM_ACTORS;
	return fit < VICTIM_QUEUES ? (int)fit : VICTIM_QUEUES;
}

/*
 * Many low queues. Before the higher program works: what is below it does not make so many queues
 * at once. Returns how many all actors have.
 */
static int make_victims(struct __test_metadata *_metadata, struct actor **a)
{
	int i, q, queues = 0;

	for (i = 0; i < VICTIM_ACTORS; i++) {
		a[i] = actor_start(LOW_NICE, ARENA);
		ASSERT_ACTOR(a[i]);
		queues = victim_queues(&a[i]->client);
		ASSERT_GT(queues, 0) TH_LOG("memory is too small for the save areas of so many queues");
		for (q = 0; q < queues; q++) {
			ASSERT_EQ(q, actor_queue(a[i], KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL));
			ASSERT_EQ(q, actor_work(a[i], 1, 4, VICTIM_STEPS, 500 * US));
		}
	}
	return queues * VICTIM_ACTORS;
}

/* Each of them gets work, and with @held is held by its own process, one after the other: something is due all the time. */
static void start_staggered(struct __test_metadata *_metadata, struct actor **a, int victims, bool held)
{
	int i;

	for (i = 0; i < victims; i++) {
		ASSERT_EQ(0, actor_submit(a[i % VICTIM_ACTORS], i / VICTIM_ACTORS, i / VICTIM_ACTORS, 1, 0));
		kfd_sleep_ns(held ? 0 : turn_pace(&a[0]->client) * RELIEF_MS * MS);
	}
	for (i = 0; i < VICTIM_ACTORS && held; i++)
		ASSERT_EQ(0, actor_call(a[i], actor_becomes_nobody, 0, 0, 0, 0));
	for (i = 0; i < victims && held; i++) {
		ASSERT_EQ(0, actor_call(a[i % VICTIM_ACTORS], actor_holds_its_queue, i / VICTIM_ACTORS, 0, 0, 0));
		kfd_sleep_ns(turn_pace(&a[0]->client) * RELIEF_MS * MS);
	}
}

static void finish_staggered(struct __test_metadata *_metadata, struct actor **a)
{
	int i;

	for (i = 0; i < VICTIM_ACTORS; i++)
		ASSERT_DONE_ONCE(a[i]);
}

/* A process above them that always has work */
static struct actor *start_higher(struct __test_metadata *_metadata, FIXTURE_DATA(storms) *self, uint32_t waves)
{
	struct actor *high = worker(_metadata, 0, 1, waves, HIGH_STEPS, turn_pace(&self->stormers[0]->client) * 10 * MS);

	ASSERT_EQ(0, kfd_param_set("gpreempt_max_hold_ms", turn_pace(&high->client) * HOLD_MS));
	ASSERT_EQ(0, kfd_param_set("gpreempt_relief_ms", turn_pace(&high->client) * RELIEF_MS));
	ASSERT_EQ(0, launch_begins(high));
	return high;
}

/* From now on, for so long, it does at least 96 % of what it could alone. */
static void expect_share(struct __test_metadata *_metadata, const struct actor *high, uint32_t waves, int victims, uint64_t ns)
{
	uint64_t began_ns = kfd_now_ns(), done = kfd_work_progress(&high->work[0]), possible;

	kfd_sleep_ns(ns);
	done = kfd_work_progress(&high->work[0]) - done;
	possible = waves * (kfd_now_ns() - began_ns) / (turn_pace(&high->client) * 10 * MS);
	TH_LOG("beside %d of them the higher queue did %llu of %llu", victims, (unsigned long long)done, (unsigned long long)possible);
	EXPECT_GE(100 * done, 96 * possible);
	EXPECT_FALSE(actor_done(high, 0));
}

/* The longest stamp of firmware: the scheduler believes no more than four times a pass. */
static int64_t stamp_ns(const char *name, int64_t pass_ns)
{
	int64_t ns = counter(name);

	return ns < 4 * pass_ns ? ns : 4 * pass_ns;
}

/*
 * Processes that starve below one class earn relief / (relief + hold) of the time together, and each has a turn when it has earned one. The last of them waits
 * until all have earned theirs and the others have had them. A turn lasts for four switches here; it is longer only where a relief has more time for each
 * (debt.c). A switch is two passes, two times of connecting queues, and one of restoring waves, each at its longest.
 */
static int64_t longest_wait_ns(struct __test_metadata *_metadata, int64_t nr)
{
	int64_t pass_ns = counter("preempt_ns_max"), restore_ns = stamp_ns("firmware/restore_ns_max", pass_ns);
	int64_t switch_ns = 2 * (pass_ns + stamp_ns("firmware/connect_ns_max", pass_ns)) + (restore_ns > pass_ns ? restore_ns : pass_ns);
	int64_t turn_ns = 4 * switch_ns;

	TH_LOG("a pass takes %lld us at most, a switch %lld us, a turn %lld us", (long long)pass_ns / 1000, (long long)switch_ns / 1000,
	       (long long)turn_ns / 1000);
	return nr * (turn_ns * (HOLD_MS + RELIEF_MS) / RELIEF_MS + turn_ns + 2 * switch_ns);
}

/* Each process has a turn within the documented bound, and in it all its queues run. */
TEST_F_TIMEOUT(storms, staggered_victims_do_not_add_up, 300)
{
	uint64_t before[VICTIM_QUEUES * VICTIM_ACTORS];
	uint32_t waves = few_waves(self->slots);
	struct actor *high, *a[VICTIM_ACTORS];
	int i, victims;

	victims = make_victims(_metadata, a);
	high = start_higher(_metadata, self, waves);
	start_staggered(_metadata, a, victims, false);
	for (i = 0; i < victims; i++)
		before[i] = kfd_work_progress(&a[i % VICTIM_ACTORS]->work[i / VICTIM_ACTORS]);
	if (!looks_rarely())
		expect_share(_metadata, high, waves, victims, (uint64_t)longest_wait_ns(_metadata, VICTIM_ACTORS));
	for (i = 0; i < victims && !looks_rarely(); i++) {
		const struct actor *victim = a[i % VICTIM_ACTORS];
		int work = i / VICTIM_ACTORS;

		EXPECT_TRUE(actor_done(victim, work) || kfd_work_progress(&victim->work[work]) > before[i])
			TH_LOG("queue %u of pid %d had no turn", victim->queue[work].id, victim->pid);
	}
	ASSERT_DONE_ONCE(high);
	finish_staggered(_metadata, a);
}

TEST_F_TIMEOUT(storms, own_holds_earn_no_relief, 300)
{
	uint32_t waves = few_waves(self->slots);
	struct actor *high, *a[VICTIM_ACTORS];
	struct gpreempt_target target;
	int i, victims;

	victims = make_victims(_metadata, a);
	high = start_higher(_metadata, self, waves);
	start_staggered(_metadata, a, victims, true);
	expect_share(_metadata, high, waves, victims, 3 * turn_pace(&high->client) * HOLD_MS * MS);
	for (i = 0; i < VICTIM_ACTORS; i++) {
		target = gpreempt_target_process(a[i]->pid, 0);
		ASSERT_LE(0, gpreempt_resume(self->g, &target));
	}
	ASSERT_DONE_ONCE(high);
	finish_staggered(_metadata, a);
}

TEST_HARNESS_MAIN
