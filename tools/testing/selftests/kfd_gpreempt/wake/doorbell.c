// SPDX-License-Identifier: MIT
/*
 * doorbell.c - gpreempt_wakeup=doorbell: the first doorbell after idleness is noticed without a look, and none is missed
 *
 * Where a doorbell has to have done it, the scheduler's looks are seconds apart: what depends on one comes too late for the test's
 * order. notice_takes_microseconds compares a duration: meaningful in virtual time (the VM's --icount).
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "kselftest_harness.h"

#include "fixture.h"
#include "disturb.h"
#include "worker.h"

#define DOORBELL_BYTES	8192
#define DOORBELL_OFFSET(gpu_id)	((off_t)(3ull << 62 | (uint64_t)(gpu_id) << 46))
#define THREADS		4

FIXTURE(doorbell) {
	BEFORE_TEST;
};

FIXTURE_SETUP(doorbell)
{
	SETUP_SCHEDULER(NULL, 0);
	ASSERT_EQ(0, kfd_param_set_text("gpreempt_wakeup", "doorbell"));
}

FIXTURE_TEARDOWN(doorbell)
{
	TEARDOWN_SCHEDULER();
	kfd_param_set_text("gpreempt_wakeup", "auto");
}

/* From now on 10 s pass between two looks, 1 s while two sides work. */
static void looks_are_rare(struct __test_metadata *_metadata)
{
	ASSERT_EQ(0, kfd_param_set("gpreempt_interval_ms", 10000));
	ASSERT_EQ(0, kfd_param_set("gpreempt_poll_us", 1000000));
}

static void looks_are_normal(struct __test_metadata *_metadata)
{
	ASSERT_EQ(0, kfd_param_set("gpreempt_interval_ms", 5));
	ASSERT_EQ(0, kfd_param_set("gpreempt_poll_us", 200));
}

/* Two seconds of work that fill the device, and somebody above who has none, and is armed. */
struct pair {
	struct actor *low;
	struct actor *high;
};

static struct pair armed_pair(struct __test_metadata *_metadata, uint32_t slots, uint32_t launches)
{
	struct pair p = {
		.low = worker(_metadata, LOW_NICE, 1, slots, 200, 10 * MS),
		.high = worker(_metadata, 0, launches, slots, 1, 4 * MS),
	};

	ASSERT_EQ(0, launch_begins(p.low));
	ASSERT_EQ(0, wait_node_state("armed"));
	looks_are_rare(_metadata);
	/* Each of them is taken in by a pass, before and after which the state is the same. */
	kfd_sleep_ns(50 * MS);
	ASSERT_EQ(0, wait_node_state("armed"));
	return p;
}

static void finish_pair(struct __test_metadata *_metadata, struct pair *p, uint32_t slots, uint32_t launches)
{
	looks_are_normal(_metadata);
	ASSERT_DONE_ONCE(p->high, p->low);
}

/* High writes its doorbell, and has been served before low's end: nothing but its doorbell can have told. */
static void ring_is_noticed(struct __test_metadata *_metadata, struct pair *p)
{
	int64_t faults = counter("doorbell_faults"), notices = counter("latency/notice_count");

	ASSERT_EQ(0, launch_completes(p->high));
	EXPECT_FALSE(actor_done(p->low, 0));
	/* A pass that was on its way may have seen the work first; the next one counts. */
	ASSERT_EQ(0, wait_counter("latency/notice_count", notices + 1, LONG));
	EXPECT_EQ(notices + 1, counter("latency/notice_count"));
	EXPECT_EQ(faults + 1, counter("doorbell_faults"));
}

TEST_F(doorbell, first_doorbell_preempts_without_a_look)
{
	struct pair p = armed_pair(_metadata, self->slots, 5);
	int64_t wakeups = counter("wakeups"), faults = counter("doorbell_faults"), notices = counter("latency/notice_count");

	kfd_sleep_ns(200 * MS);
	EXPECT_EQ(wakeups, counter("wakeups"));
	ASSERT_EQ(0, launch_preempts(p.high, p.low));
	EXPECT_EQ(faults + 1, counter("doorbell_faults"));
	EXPECT_EQ(notices + 1, counter("latency/notice_count"));
	/* It has its entries, and keeps them while it works. */
	ASSERT_EQ(0, actor_submit(p.high, 0, 0, 4, KFD_PACKET_BARRIER));
	EXPECT_EQ(faults + 1, counter("doorbell_faults"));
	EXPECT_FALSE(actor_done(p.low, 0));
	finish_pair(_metadata, &p, self->slots, 5);
}

TEST_F(doorbell, notice_takes_microseconds)
{
	int64_t count, sum, late = counter("doorbell_late");
	/*
	 * They are back before the scheduler arms: where none have shown since, it has to ask the
	 * device whether the lower one is blocked.
	 */
	uint32_t waves = few_waves(self->slots);
	/* Its ring does not run empty: whether it has waves is no question. */
	struct pair p = { .low = worker(_metadata, LOW_NICE, 2, waves, 100, 10 * MS) };
	int64_t arms;
	int i;

	/* The virtual GPU's thread would be in the way of what is measured. */
	if (kfd_vgpu_look_every(5 * MS))
		SKIP(return, "needs time that counts instructions: the virtual GPU under --icount");
	p.high = worker(_metadata, 0, 40, waves, 1, 100 * US);
	ASSERT_EQ(0, launches_begin(p.low, 2, KFD_PACKET_BARRIER));
	ASSERT_EQ(0, kfd_param_set("gpreempt_overhead_pct", 0));
	/* The lower one's own start is none of the requests: a runlist may be under way, which puts its decision off. */
	ASSERT_EQ(0, wait_node_state("armed"));
	count = counter("latency/notice_count");
	sum = counter("latency/notice_ns_sum");
	for (i = 0; i < 40; i++) {
		ASSERT_EQ(0, wait_node_state("armed"));
		/* Longer than gpreempt_blocked_us: for all that is known the lower one may be blocked by now. */
		kfd_sleep_ns(3 * MS);
		arms = counter("doorbell_arms");
		ASSERT_EQ(0, launch_completes(p.high));
		/* The pass that preempted may last longer than the work: until it has ended the state is that of before. */
		ASSERT_EQ(0, wait_counter("doorbell_arms", arms + 1, LONG));
	}
	count = counter("latency/notice_count") - count;
	sum = counter("latency/notice_ns_sum") - sum;
	kfd_vgpu_look_every(0);
	TH_LOG("fault to decision: %lld times, mean %lld ns, half of them below %lld us; passes: below %lld us; %lld armed too late",
	       (long long)count, (long long)(count ? sum / count : 0), (long long)counter("latency/notice_us_p50"),
	       (long long)counter("latency/pass_us_p50"), (long long)(counter("doorbell_late") - late));
	EXPECT_GE(count, 40);
	/* With the instructions of a kernel that looks after its locks it takes longer. */
	if (access("/proc/lockdep", F_OK)) {
		/* The end of the histogram's bucket. And none of them waits for the device to say what waves there are: that is 12 us. */
		EXPECT_LE(counter("latency/notice_us_p50"), 16);
		EXPECT_LE(sum, count * (int64_t)(14 * US));
	}
	EXPECT_GE(preempt_count(p.low, 0), 30);
	finish_pair(_metadata, &p, waves, 40);
}

/* ---- what it costs programs ---- */

#define SUBMISSIONS	20

/* The fewest instructions that one submission took: ring, write pointer, doorbell. args: pause before each, ns */
static int64_t cheapest_submission(struct actor *a, const int64_t *args)
{
	int64_t least = INT64_MAX;
	int i, err;

	for (i = 0; i < SUBMISSIONS; i++) {
		uint64_t begun_ns;
		int64_t took_ns;

		kfd_sleep_ns((uint64_t)args[0]);
		kfd_signal_reset(a->done[0], 1);
		begun_ns = kfd_now_ns();
		err = kfd_work_submit(&a->queue[0], &a->work[0], a->done[0], 0);
		took_ns = (int64_t)(kfd_now_ns() - begun_ns);
		if (!err)
			err = kfd_signal_poll(a->done[0], 4 * SECOND);
		if (err)
			return err;
		least = took_ns < least ? took_ns : least;
	}
	return least;
}

static struct actor *submitter(struct __test_metadata *_metadata)
{
	struct actor *a = worker(_metadata, 0, 3 * SUBMISSIONS + 1, 1, 1, 20 * US);

	EXPECT_EQ(0, launch_completes(a));
	/* What is only done once has been done. */
	EXPECT_LT(0, actor_call(a, cheapest_submission, 0, 0, 0, 0));
	return a;
}

/* By default. The other program has no work: a pause makes nothing that has to be noticed. */
TEST_F_TIMEOUT(doorbell, submissions_of_a_busy_program_cost_what_they_did, 120)
{
	struct actor *stock, *low, *busy;
	int64_t faults, before, after;

	if (kfd_vgpu_look_every(0))
		SKIP(return, "needs time that counts instructions: the virtual GPU under --icount");
	ASSERT_EQ(0, kfd_param_set_text("gpreempt_wakeup", "auto"));
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 0));
	stock = submitter(_metadata);
	before = actor_call(stock, cheapest_submission, 300 * US, 0, 0, 0);
	ASSERT_DONE_ONCE(stock);
	actor_forget_all();
	ASSERT_EQ(0, wait_no_queues());

	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 1));
	low = worker(_metadata, LOW_NICE, 1, 1, 1, 20 * US);
	ASSERT_EQ(0, launch_completes(low));
	busy = submitter(_metadata);
	/* Both are armed by now. */
	kfd_sleep_ns(2500 * MS);
	ASSERT_EQ(0, wait_node_state("armed"));
	EXPECT_LT(0, actor_call(busy, cheapest_submission, 0, 0, 0, 0));
	faults = counter("doorbell_faults");
	after = actor_call(busy, cheapest_submission, 300 * US, 0, 0, 0);
	TH_LOG("a submission: %lld instructions, %lld without the scheduler", (long long)after, (long long)before);
	EXPECT_EQ(faults, counter("doorbell_faults"));
	EXPECT_GT(before, 0);
	/* A kernel that checks itself does that in the middle of it. */
	if (access("/proc/lockdep", F_OK))
		EXPECT_EQ(before, after);
	ASSERT_DONE_ONCE(busy, low);
}

/* ---- doorbells that race with arming ---- */

#define ROUNDS	60

/* One packet at a time on a queue of one's own: each waits for its end, so a doorbell that is missed holds up everything. */
struct writer {
	struct actor *a;
	int queue;
	unsigned int seed;
	int err;
};

static void *write_and_wait(void *arg)
{
	struct writer *r = arg;
	int i;

	for (i = 0; i < ROUNDS && !r->err; i++) {
		/* Once all have been idle for 100 us they are armed. */
		kfd_sleep_ns(rand_r(&r->seed) % 3000 * US);
		kfd_signal_reset(r->a->done[r->queue], 1);
		r->err = kfd_work_submit(&r->a->queue[r->queue], &r->a->work[r->queue], r->a->done[r->queue], 0);
		/* Far below the time between two looks. */
		if (!r->err)
			r->err = kfd_signal_poll(r->a->done[r->queue], 4 * SECOND);
	}
	return NULL;
}

static int64_t write_by_threads(struct actor *a, const int64_t *args)
{
	struct writer writer[THREADS];
	pthread_t thread[THREADS];
	int64_t err = 0;
	int i;

	for (i = 0; i < THREADS; i++) {
		writer[i] = (struct writer){ .a = a, .queue = i, .seed = (unsigned int)i + 1 };
		pthread_create(&thread[i], NULL, write_and_wait, &writer[i]);
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
		if (writer[i].err)
			err = writer[i].err;
	}
	return err;
}

TEST_F_TIMEOUT(doorbell, no_doorbell_is_missed_while_processes_are_armed, 120)
{
	struct actor *low = worker(_metadata, LOW_NICE, 1, self->slots, 400, 10 * MS);
	struct actor *high = actor_start(0, ARENA);
	int64_t faults = counter("doorbell_faults"), arms = counter("doorbell_arms"), late = counter("doorbell_late");
	int i;

	ASSERT_ACTOR(high);
	for (i = 0; i < THREADS; i++) {
		ASSERT_EQ(i, actor_queue(high, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL));
		ASSERT_EQ(i, actor_work(high, ROUNDS, 1, 1, 20 * US));
	}
	ASSERT_EQ(0, kfd_param_set("gpreempt_overhead_pct", 0));
	ASSERT_EQ(0, kfd_param_set("gpreempt_interval_ms", 10000));
	ASSERT_EQ(0, launch_begins(low));
	EXPECT_EQ(0, actor_call(high, write_by_threads, 0, 0, 0, 0));
	TH_LOG("%d doorbells: armed %lld times, %lld of them too late, %lld faults", THREADS * ROUNDS, (long long)(counter("doorbell_arms") - arms),
	       (long long)(counter("doorbell_late") - late), (long long)(counter("doorbell_faults") - faults));
	EXPECT_GT(counter("doorbell_faults"), faults);
	looks_are_normal(_metadata);
	ASSERT_DONE_ONCE(high, low);
}

/* ---- what programs do with their mappings ---- */

static void set_doorbells(struct actor *a, void *at)
{
	size_t offset = (size_t)((volatile uint8_t *)a->queue[0].doorbell - a->client.doorbells);

	a->client.doorbells = at;
	a->queue[0].doorbell = (volatile uint64_t *)((uint8_t *)at + offset);
}

static int64_t move_doorbells(struct actor *a, const int64_t *args)
{
	void *room = mmap(NULL, DOORBELL_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *at;

	if (room == MAP_FAILED)
		return -errno;
	at = mremap((void *)a->client.doorbells, DOORBELL_BYTES, DOORBELL_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, room);
	if (at == MAP_FAILED)
		return -errno;
	set_doorbells(a, at);
	return 0;
}

TEST_F(doorbell, moved_doorbells_are_noticed)
{
	struct pair p = armed_pair(_metadata, self->slots, 1);

	ASSERT_EQ(0, actor_call(p.high, move_doorbells, 0, 0, 0, 0));
	ring_is_noticed(_metadata, &p);
	finish_pair(_metadata, &p, self->slots, 1);
}

/* The page that the queue's doorbell is not on goes, which splits the mapping; then all of it, and it comes back. */
static int64_t split_doorbells(struct actor *a, const int64_t *args)
{
	size_t offset = (size_t)((volatile uint8_t *)a->queue[0].doorbell - a->client.doorbells);

	return munmap((void *)(a->client.doorbells + (offset < KFD_PAGE_BYTES ? KFD_PAGE_BYTES : 0)), KFD_PAGE_BYTES) ? -errno : 0;
}

static int64_t remap_doorbells(struct actor *a, const int64_t *args)
{
	void *at;

	munmap((void *)a->client.doorbells, DOORBELL_BYTES);
	at = mmap(NULL, DOORBELL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, a->client.kfd_fd, DOORBELL_OFFSET(a->client.gpu_id));
	if (at == MAP_FAILED)
		return -errno;
	set_doorbells(a, at);
	return 0;
}

TEST_F(doorbell, split_doorbells_are_noticed)
{
	struct pair p = armed_pair(_metadata, self->slots, 1);

	ASSERT_EQ(0, actor_call(p.high, split_doorbells, 0, 0, 0, 0));
	ring_is_noticed(_metadata, &p);
	finish_pair(_metadata, &p, self->slots, 1);
}

TEST_F(doorbell, doorbells_mapped_anew_are_noticed)
{
	struct pair p = armed_pair(_metadata, self->slots, 1);

	ASSERT_EQ(0, actor_call(p.high, remap_doorbells, 0, 0, 0, 0));
	ring_is_noticed(_metadata, &p);
	finish_pair(_metadata, &p, self->slots, 1);
}

/* A child has no doorbells, and its end takes nothing from its parent. */
static int64_t fork_and_write(struct actor *a, const int64_t *args)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (!pid) {
		*a->queue[0].doorbell = 0;
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid)
		return -errno;
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV ? 0 : -EBADE;
}

TEST_F(doorbell, a_fork_changes_nothing)
{
	struct pair p = armed_pair(_metadata, self->slots, 1);
	int64_t faults = counter("doorbell_faults");

	ASSERT_EQ(0, actor_call(p.high, fork_and_write, 0, 0, 0, 0));
	EXPECT_EQ(faults, counter("doorbell_faults"));
	ring_is_noticed(_metadata, &p);
	finish_pair(_metadata, &p, self->slots, 1);
}

/* Private doorbells cannot be withdrawn: from then on the process is looked at. */
static int64_t map_privately(struct actor *a, const int64_t *args)
{
	void *at = mmap(NULL, DOORBELL_BYTES, PROT_READ, MAP_PRIVATE, a->client.kfd_fd, DOORBELL_OFFSET(a->client.gpu_id));

	return at == MAP_FAILED ? -errno : 0;
}

TEST_F(doorbell, a_private_mapping_is_looked_at)
{
	struct pair p = armed_pair(_metadata, self->slots, 1);
	int64_t faults, skips = counter("skipped_doorbell");

	looks_are_normal(_metadata);
	ASSERT_EQ(0, actor_call(p.high, map_privately, 0, 0, 0, 0));
	ASSERT_EQ(0, wait_counter("skipped_doorbell", skips + 1, LONG));
	ASSERT_EQ(0, wait_node_state("idle"));
	faults = counter("doorbell_faults");
	ASSERT_EQ(0, launch_completes(p.high));
	EXPECT_FALSE(actor_done(p.low, 0));
	EXPECT_EQ(faults, counter("doorbell_faults"));
	finish_pair(_metadata, &p, self->slots, 1);
}

TEST_F(doorbell, killed_while_armed)
{
	struct pair p = armed_pair(_metadata, self->slots, 1);

	actor_kill(p.high);
	looks_are_normal(_metadata);
	ASSERT_EQ(0, wait_node_state("parked"));
	ASSERT_DONE_ONCE(p.low);
}

/* ---- modes ---- */

TEST_F(doorbell, processes_of_the_mode_poll_are_looked_at)
{
	int64_t skips = counter("skipped_doorbell"), arms = counter("doorbell_arms");
	struct pair p;

	ASSERT_EQ(0, kfd_param_set_text("gpreempt_wakeup", "poll"));
	p.low = worker(_metadata, LOW_NICE, 1, self->slots, 200, 10 * MS);
	p.high = worker(_metadata, 0, 1, self->slots, 1, 4 * MS);
	ASSERT_EQ(0, launch_begins(p.low));
	EXPECT_EQ(skips, counter("skipped_doorbell"));
	ASSERT_EQ(0, kfd_param_set_text("gpreempt_wakeup", "doorbell"));
	ASSERT_EQ(0, wait_counter("skipped_doorbell", skips + 1, LONG));
	ASSERT_EQ(0, launch_completes(p.high));
	EXPECT_FALSE(actor_done(p.low, 0));
	EXPECT_EQ(arms, counter("doorbell_arms"));
	EXPECT_EQ(skips + 1, counter("skipped_doorbell"));
	finish_pair(_metadata, &p, self->slots, 1);
}

TEST_F_TIMEOUT(doorbell, switching_modes_all_the_time, 120)
{
	struct actor *low = worker(_metadata, LOW_NICE, 1, self->slots, 200, 10 * MS);
	struct actor *high = actor_start(0, ARENA);
	unsigned int seed = 1;
	int i;

	ASSERT_ACTOR(high);
	for (i = 0; i < THREADS; i++) {
		ASSERT_EQ(i, actor_queue(high, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL));
		ASSERT_EQ(i, actor_work(high, ROUNDS, 1, 1, 20 * US));
	}
	ASSERT_EQ(0, kfd_param_set("gpreempt_overhead_pct", 0));
	ASSERT_EQ(0, launch_begins(low));
	actor_begin(high, write_by_threads, 0, 0, 0, 0);
	while (!actor_answered(high)) {
		ASSERT_EQ(0, kfd_param_set_text("gpreempt_wakeup", rand_r(&seed) % 2 ? "poll" : "doorbell"));
		if (rand_r(&seed) % 8 == 0) {
			ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 0));
			ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 1));
		}
		kfd_sleep_ns(rand_r(&seed) % 2000 * US);
	}
	EXPECT_EQ(0, high->result);
	ASSERT_EQ(0, kfd_param_set_text("gpreempt_wakeup", "doorbell"));
	ASSERT_DONE_ONCE(high, low);
}

/* ---- sleep ---- */

TEST_F(doorbell, an_idle_node_does_not_wake_up)
{
	struct pair p = armed_pair(_metadata, self->slots, 1);
	int64_t wakeups;

	looks_are_normal(_metadata);
	ASSERT_EQ(0, actor_wait(p.low, 0, LONG));
	/* Whoever is not above anybody is armed after a second, once his waves are known to be gone. */
	kfd_sleep_ns(5 * SECOND);
	ASSERT_EQ(0, wait_node_state("armed"));
	wakeups = counter("wakeups");
	kfd_sleep_ns(5 * SECOND);
	EXPECT_EQ(wakeups, counter("wakeups"));
	ASSERT_EQ(0, launch_completes(p.high));
	EXPECT_GT(counter("wakeups"), wakeups);
}

/* ---- suspend, resets ---- */

TEST_F_TIMEOUT(doorbell, suspend_while_armed, 120)
{
	struct pair p;

	NEEDS_SUSPEND();
	p = armed_pair(_metadata, self->slots, 1);
	looks_are_normal(_metadata);
	ASSERT_EQ(0, suspend_devices());
	EXPECT_FALSE(actor_done(p.low, 0));
	ASSERT_EQ(0, wait_node_state("armed"));
	looks_are_rare(_metadata);
	kfd_sleep_ns(50 * MS);
	ASSERT_EQ(0, wait_node_state("armed"));
	ring_is_noticed(_metadata, &p);
	finish_pair(_metadata, &p, self->slots, 1);
}

TEST_F_TIMEOUT(doorbell, reset_while_armed, 120)
{
	struct pair p;

	NEEDS(recovery_missing());
	p = armed_pair(_metadata, self->slots, 1);
	looks_are_normal(_metadata);
	ASSERT_EQ(0, recover());
	/* The driver takes page tables down before it resets a device that is still busy: what that met is its own affair. */
	self->health = device_health();
	/* Programs of before have lost their work. */
	actor_kill(p.low);
	actor_kill(p.high);
	ASSERT_EQ(0, wait_no_queues());
	p = armed_pair(_metadata, self->slots, 1);
	ring_is_noticed(_metadata, &p);
	finish_pair(_metadata, &p, self->slots, 1);
}

static sigjmp_buf access_failed;

static void on_sigbus(int signal)
{
	siglongjmp(access_failed, 1);
}

/* 1: the program's doorbells are there; 0: it gets a SIGBUS instead */
static int64_t reach_doorbells(struct actor *a, const int64_t *args)
{
	signal(SIGBUS, on_sigbus);
	if (sigsetjmp(access_failed, 1))
		return 0;
	*(volatile uint32_t *)a->client.doorbells;
	*(volatile uint32_t *)(a->client.doorbells + KFD_PAGE_BYTES);
	return 1;
}

/* From 7.x on the driver takes them away from programs, for good. What is mapped afterwards is there. */
TEST_F_TIMEOUT(doorbell, reset_takes_doorbells_away_in_both_modes, 120)
{
	static const char *const modes[] = { "poll", "doorbell" };
	struct actor *a;
	int i;

	NEEDS(recovery_missing());
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, kfd_param_set_text("gpreempt_wakeup", modes[i]));
		a = with_queue(_metadata, 0);
		EXPECT_EQ(1, actor_call(a, reach_doorbells, 0, 0, 0, 0));
		ASSERT_EQ(0, recover());
		self->health = device_health();
		EXPECT_EQ(kfd_kernel_since(7, 0) ? 0 : 1, actor_call(a, reach_doorbells, 0, 0, 0, 0)) TH_LOG("mode %s", modes[i]);
		EXPECT_EQ(0, actor_call(a, remap_doorbells, 0, 0, 0, 0));
		EXPECT_EQ(1, actor_call(a, reach_doorbells, 0, 0, 0, 0));
		actor_kill(a);
		ASSERT_EQ(0, wait_no_queues());
	}
}

TEST_HARNESS_MAIN
