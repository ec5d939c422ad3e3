// SPDX-License-Identifier: MIT
/*
 * idle.c - gpreempt_idle_evict_us: idle processes leave a device that is too small for all queues, and come back by their doorbell
 *
 * Eight idle processes with as many queues each as a program of HIP has, beside a busy one, on a device with 24 slots. Durations are
 * compared within one run: meaningful in virtual time (the VM's --icount).
 */
#define _GNU_SOURCE
#include <signal.h>

#include "kselftest_harness.h"

#include "fixture.h"
#include "worker.h"

#define IDLE		8
#define QUEUES_EACH	5
#define SMALL_ARENA	(256u << 10)	/* that many processes are registered with KFD page by page */
#define REQUESTS	100
#define REQUEST_NS	(10 * MS)	/* 1 % of it is more than the guest's own interrupts take from one (some 50 us) */
#define FIRST_REQUESTS	5
#define FIRST_WITHIN	(500 * US)
#define FIRST_NS	(20 * US)	/* what the first work itself takes */
#define FIRSTS		2
#define LEAVES_NS	(2600 * MS)
#define BUSY_WAVES	4		/* what the virtual GPU does for each of them is time of all */
#define PERCENT(n)	((n) + (n) / 100)
/* Dormant after a second: then the node is parked */
#define SETTLE_NS	(1300 * MS)

FIXTURE(idle) {
	BEFORE_TEST;
	int64_t destroyed;
	struct actor *busy;
	struct actor *idle[IDLE];
};

FIXTURE_SETUP(idle)
{
	NEEDS_VGPU();
	SETUP_SCHEDULER(NULL, 0);
	ASSERT_EQ(0, kfd_param_set("gpreempt_idle_evict_us", 20000));
	self->destroyed = counter("destroyed_preempted");
}

/* What was taken off has come back, or has ended. */
FIXTURE_TEARDOWN(idle)
{
	actor_forget_all();
	EXPECT_NOTHING_LEFT();
	EXPECT_EQ(counter("preemptions") - self->preemptions,
		  counter("resumes") - self->resumes + counter("destroyed_preempted") - self->destroyed);
	scheduler_off();
}

/* Each of its queues has had work once, and has some left. */
static struct actor *idle_process(struct __test_metadata *_metadata, uint32_t launches)
{
	struct actor *a = actor_start(0, SMALL_ARENA);
	int q;

	ASSERT_ACTOR(a);
	for (q = 0; q < QUEUES_EACH; q++) {
		ASSERT_EQ(q, actor_queue(a, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL));
		ASSERT_EQ(q, actor_work(a, launches, 1, 1, FIRST_NS));
		ASSERT_EQ(0, actor_submit(a, q, q, 1, 0));
	}
	for (q = 0; q < QUEUES_EACH; q++)
		ASSERT_EQ(0, actor_wait_progress(a, q, 1, LONG));
	return a;
}

static void idle_processes(struct __test_metadata *_metadata, FIXTURE_DATA(idle) *self, uint32_t launches)
{
	int i;

	for (i = 0; i < IDLE; i++)
		self->idle[i] = idle_process(_metadata, launches);
}

static bool is_off(const struct actor *a)
{
	int q;

	for (q = 0; q < QUEUES_EACH; q++)
		if (!state_is(a, q, "preempted"))
			return false;
	return true;
}

/* Some are off, and the device goes through the list no more. */
static bool there_is_room(FIXTURE_DATA(idle) *self)
{
	int i, n = 0;

	for (i = 0; i < IDLE; i++)
		n += is_off(self->idle[i]);
	return n && !kfd_vgpu_stat("runlist_chained");
}

static int by_length(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Without a sleep, in whose steps the length of a request would come. */
static int spin(const struct kfd_signal *s)
{
	uint64_t deadline_ns = kfd_now_ns() + LONG;

	while (__atomic_load_n(&s->value, __ATOMIC_ACQUIRE) > 0)
		if (kfd_now_ns() > deadline_ns)
			return -ETIME;
	return 0;
}

/* Requests one after the other, of which the first ones do not count: it may have left itself. args: receives in [6] the length that 99 of 100 do not exceed. Returns how long all take. */
static int64_t serve(struct actor *a, const int64_t *args)
{
	static uint64_t ns[REQUESTS];
	uint64_t begun_ns = 0, now_ns = 0;
	int i, err;

	for (i = -FIRST_REQUESTS; i < REQUESTS; i++) {
		if (!i)
			begun_ns = now_ns = kfd_now_ns();
		kfd_signal_reset(a->done[0], 1);
		err = kfd_work_submit(&a->queue[0], &a->work[0], a->done[0], 0);
		if (!err)
			err = spin(a->done[0]);
		if (err)
			return err;
		if (i < 0)
			continue;
		ns[i] = kfd_now_ns() - now_ns;
		now_ns += ns[i];
	}
	qsort(ns, REQUESTS, sizeof(ns[0]), by_length);
	a->args[6] = (int64_t)ns[REQUESTS - 2];
	return (int64_t)(now_ns - begun_ns);
}

struct served {
	int64_t all_ns;
	int64_t p99_ns;
};

static struct served served(struct actor *a)
{
	struct served s = { .all_ns = actor_call(a, serve, 0, 0, 0, 0) };

	s.p99_ns = a->args[6];
	return s;
}

/* The stock driver's figure is one without the scheduler's doing: switched off it does nothing. */
TEST_F_TIMEOUT(idle, busy_process_is_served_as_if_alone, 300)
{
	struct served alone, stock, now;
	int64_t rotations;
	int i;

	self->busy = worker(_metadata, 0, 3 * (FIRST_REQUESTS + REQUESTS), few_waves(self->slots), 1, REQUEST_NS);
	if (kfd_vgpu_look_every(0))
		SKIP(return, "needs time that counts instructions: the virtual GPU under --icount");
	alone = served(self->busy);
	ASSERT_LT(0, alone.all_ns);

	idle_processes(_metadata, self, 1);
	ASSERT_EQ(0, KFD_WAIT(there_is_room(self), MS, LONG));
	kfd_sleep_ns(SETTLE_NS);
	rotations = kfd_vgpu_stat("rotations");
	now = served(self->busy);
	EXPECT_EQ(rotations, kfd_vgpu_stat("rotations"));

	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 0));
	EXPECT_EQ(1, kfd_vgpu_stat("runlist_chained"));
	stock = served(self->busy);
	ASSERT_LT(0, stock.all_ns);
	TH_LOG("virtual time of %d requests of %d us: alone %lld us, p99 %.1f us; beside %d idle processes %.4f and %.4f of it; without the scheduler %.2f and %.2f",
	       REQUESTS, (int)(REQUEST_NS / US), (long long)alone.all_ns / 1000, (double)alone.p99_ns / 1000, IDLE,
	       (double)now.all_ns / alone.all_ns, (double)now.p99_ns / alone.p99_ns, (double)stock.all_ns / alone.all_ns,
	       (double)stock.p99_ns / alone.p99_ns);
	EXPECT_LE(now.all_ns, PERCENT(alone.all_ns));
	EXPECT_LE(now.p99_ns, PERCENT(alone.p99_ns));
	/* There is something to win. */
	EXPECT_GT(stock.p99_ns, 3 * alone.p99_ns / 2);
	for (i = 0; i < IDLE; i++)
		ASSERT_DONE_ONCE(self->idle[i]);
	ASSERT_DONE_ONCE(self->busy);
}

/* From the doorbell until its only wave has ended. args: the queue */
static int64_t first_work(struct actor *a, const int64_t *args)
{
	uint64_t begun_ns;
	int err;

	kfd_signal_reset(a->done[args[0]], 1);
	begun_ns = kfd_now_ns();
	err = kfd_work_submit(&a->queue[args[0]], &a->work[args[0]], a->done[args[0]], 0);
	if (!err)
		err = kfd_signal_poll(a->done[args[0]], 4 * SECOND);
	return err ? err : (int64_t)(kfd_now_ns() - begun_ns);
}

/*
 * Also of those for which others have to leave, which came back before. The busy one has waves that have to be saved for it. All XCCs of the virtual GPU
 * have one CPU.
 */
TEST_F_TIMEOUT(idle, first_work_of_an_idle_process_runs_soon, 300)
{
	int64_t least = INT64_MAX, most = 0, count = counter("latency/notice_count"), sum = counter("latency/notice_ns_sum");
	int64_t within_ns;
	int i, q, firsts = 0;

	self->busy = worker(_metadata, 0, 1, BUSY_WAVES, 8000, 10 * MS);
	if (kfd_vgpu_look_every(0))
		SKIP(return, "needs time that counts instructions: the virtual GPU under --icount");
	within_ns = FIRST_WITHIN * self->busy->client.num_xcc + FIRST_NS;
	idle_processes(_metadata, self, 1 + FIRSTS);
	ASSERT_EQ(0, launch_begins(self->busy));
	ASSERT_EQ(0, KFD_WAIT(there_is_room(self), MS, LONG));
	for (q = 0; q < FIRSTS; q++) {
		for (i = 0; i < IDLE; i++) {
			int64_t took_ns;

			/* Those that have come back leave after a second, and not while another one comes back. */
			kfd_sleep_ns(LEAVES_NS);
			if (!is_off(self->idle[i]))
				continue;
			took_ns = actor_call(self->idle[i], first_work, q, 0, 0, 0);
			ASSERT_LT(0, took_ns);
			EXPECT_LE(took_ns, within_ns) TH_LOG("process %d, queue %d", i, q);
			EXPECT_FALSE(is_off(self->idle[i]));
			EXPECT_EQ(0, kfd_vgpu_stat("runlist_chained"));
			firsts++;
			least = took_ns < least ? took_ns : least;
			most = took_ns > most ? took_ns : most;
		}
	}
	TH_LOG("virtual time from the first doorbell to the end of a kernel of %d us, %d times: %lld to %lld us", (int)(FIRST_NS / US),
	       firsts, (long long)least / 1000, (long long)most / 1000);
	count = counter("latency/notice_count") - count;
	TH_LOG("from the page fault to the decision: %lld us, %lld times", (long long)(count ? (counter("latency/notice_ns_sum") - sum) / count / 1000 : 0), (long long)count);
	EXPECT_GE(firsts, IDLE);
	EXPECT_FALSE(actor_done(self->busy, 0));
	for (i = 0; i < IDLE; i++)
		EXPECT_EXACTLY_ONCE(self->idle[i]);
	EXPECT_EQ(0, actor_tally(self->busy).twice);
}

/* Doorbells at any time, of processes that are off and of others, some of which are killed: the work of the rest is done once. */
TEST_F_TIMEOUT(idle, storm_of_doorbells_and_kills_leaves_nothing_stuck, 300)
{
	enum { TURNS = 150, LAUNCHES = 1 + TURNS };
	uint32_t seed = 4711;
	int i, turn;

	ASSERT_EQ(0, kfd_param_set("gpreempt_idle_evict_us", 1000));
	self->busy = worker(_metadata, 0, 1, few_waves(self->slots) / 2, 1000, 10 * MS);
	idle_processes(_metadata, self, LAUNCHES);
	ASSERT_EQ(0, launch_begins(self->busy));
	ASSERT_EQ(0, KFD_WAIT(there_is_room(self), MS, LONG));
	for (turn = 1; turn <= TURNS; turn++) {
		seed = seed * 1103515245 + 12345;
		i = (int)(seed >> 16) % IDLE;
		ASSERT_EQ(0, actor_submit(self->idle[i], (int)(seed >> 8) % QUEUES_EACH, (int)(seed >> 8) % QUEUES_EACH, 1, 0));
		kfd_sleep_ns((seed >> 20) % 40 * MS);
		if (turn % 50)
			continue;
		actor_kill(self->idle[i]);
		EXPECT_EQ(0, actor_tally(self->idle[i]).twice);
		self->idle[i] = idle_process(_metadata, LAUNCHES);
	}
	for (i = 0; i < IDLE; i++)
		ASSERT_DONE_ONCE(self->idle[i]);
	EXPECT_LT(self->preemptions, counter("preemptions"));
	EXPECT_EQ(0, actor_tally(self->busy).twice);
	EXPECT_EQ(0, goes_on(&self->busy->work[0]));
}

TEST_F_TIMEOUT(idle, switched_off_nothing_leaves, 120)
{
	int i;

	ASSERT_EQ(0, kfd_param_set("gpreempt_idle_evict_us", 0));
	self->busy = worker(_metadata, 0, 1, few_waves(self->slots) / 2, 1000, 10 * MS);
	idle_processes(_metadata, self, 1);
	ASSERT_EQ(0, launch_begins(self->busy));
	kfd_sleep_ns(500 * MS);
	EXPECT_EQ(self->preemptions, counter("preemptions"));
	ASSERT_EQ(0, kfd_param_set("gpreempt_idle_evict_us", 20000));
	ASSERT_EQ(0, KFD_WAIT(there_is_room(self), MS, LONG));
	ASSERT_EQ(0, kfd_param_set("gpreempt_idle_evict_us", 0));
	EXPECT_EQ(0, KFD_WAIT(counter("preemptions") - self->preemptions == counter("resumes") - self->resumes, MS, LONG));
	for (i = 0; i < IDLE; i++)
		EXPECT_FALSE(is_off(self->idle[i]));
}

/* ---- more busy queues than slots ---- */

#define SHARED_NS	(800 * MS)

struct shares {
	uint64_t least;
	uint64_t most;
};

/* What each of all queues got done in the time */
static struct shares shares(FIXTURE_DATA(idle) *self)
{
	uint64_t before[IDLE][QUEUES_EACH];
	struct shares s = { .least = UINT64_MAX };
	int i, q;

	for (i = 0; i < IDLE; i++)
		for (q = 0; q < QUEUES_EACH; q++)
			before[i][q] = kfd_work_progress(&self->idle[i]->work[q]);
	kfd_sleep_ns(SHARED_NS);
	for (i = 0; i < IDLE; i++)
		for (q = 0; q < QUEUES_EACH; q++) {
			uint64_t done = kfd_work_progress(&self->idle[i]->work[q]) - before[i][q];

			s.least = done < s.least ? done : s.least;
			s.most = done > s.most ? done : s.most;
		}
	return s;
}

/* Equals that all have work: firmware's turns are left as they are, and nothing leaves. */
TEST_F_TIMEOUT(idle, forty_busy_queues_have_equal_shares, 300)
{
	struct shares stock, now;
	int i, q;

	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 0));
	for (i = 0; i < IDLE; i++) {
		self->idle[i] = actor_start(0, 4 * SMALL_ARENA);
		ASSERT_ACTOR(self->idle[i]);
		for (q = 0; q < QUEUES_EACH; q++) {
			ASSERT_EQ(q, actor_queue(self->idle[i], KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL));
			ASSERT_EQ(q, actor_work(self->idle[i], 1, 1, 5000, MS));
		}
	}
	for (i = 0; i < IDLE; i++)
		for (q = 0; q < QUEUES_EACH; q++)
			ASSERT_EQ(0, actor_submit(self->idle[i], q, q, 1, 0));
	kfd_sleep_ns(50 * MS);
	EXPECT_EQ(1, kfd_vgpu_stat("runlist_chained"));
	stock = shares(self);
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 1));
	kfd_sleep_ns(50 * MS);
	now = shares(self);
	TH_LOG("milliseconds of work in %d ms: %llu to %llu; without the scheduler %llu to %llu", (int)(SHARED_NS / MS),
	       (unsigned long long)now.least, (unsigned long long)now.most, (unsigned long long)stock.least, (unsigned long long)stock.most);
	EXPECT_GT(stock.least, 0);
	EXPECT_LE(now.most * 10, now.least * 11);
	EXPECT_EQ(self->preemptions, counter("preemptions"));
	for (i = 0; i < IDLE; i++)
		EXPECT_EQ(0, actor_tally(self->idle[i]).twice);
}

TEST_HARNESS_MAIN
