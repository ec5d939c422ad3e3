// SPDX-License-Identifier: MIT
/*
 * sharing.c - how this device shares itself among queues and processes while no scheduler interferes
 *
 * Each test is a scenario that has been measured on an MI308X with other kernels of about the same shape, and prints "# answer NAME: WHAT", which the
 * hardware profile puts into its report; hardware-testing.rst has the shapes. No answer is wrong; what fails is work that is lost or done twice.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kselftest_harness.h"

#include "fixture.h"
#include "worker.h"
#include "../../../bench/demo/percentile.h"

#define STREAMS		16
#define MAX_REQUESTS	256
#define LOOK_NS		(50 * US)
#define ROOM		(1u << 20)	/* for what is aligned in an arena */
#define HIGH		15		/* of KFD's queue priorities, and the lowest one */
#define LOW		0

/**
 * struct shape - the kernels of a program
 * @kernels: of a request, one after the other
 * @ns: that one takes on an empty device
 * @generations: of waves, each of which takes its part of that
 * @percent: of the wave slots that a generation takes
 */
struct shape {
	uint32_t kernels;
	uint64_t ns;
	uint32_t generations;
	uint32_t percent;
};

/**
 * struct stream - one queue with requests; in memory that all actors share
 * @a: whose
 * @queue: of the actor
 * @work: of the actor
 * @shape: of a request
 * @period_ns: from the arrival of a request to the next one; 0: the next one comes at the end of the one before
 * @gap_ns: so much later, with a period of 0
 * @requests: so many; 0: until the streams with a number are through
 * @in_flight: requests at a time, if there is no period
 * @arrival_ns: of the next one
 * @launched: requests
 * @done: requests that are complete
 * @latency_ns: of each of them, from its arrival
 * @begin_ns: of the first request
 * @end_ns: when the last one was complete
 */
struct stream {
	struct actor *a;
	int queue;
	int work;
	struct shape shape;
	uint64_t period_ns;
	uint64_t gap_ns;
	uint32_t requests;
	uint32_t in_flight;
	uint64_t arrival_ns;
	uint32_t launched;
	uint32_t done;
	uint64_t latency_ns[MAX_REQUESTS];
	uint64_t begun_ns[MAX_REQUESTS];
	uint64_t begin_ns;
	uint64_t end_ns;
};

static struct shared {
	uint32_t left;			/* streams with a number of requests that are not through */
	uint32_t count;
	struct stream stream[STREAMS];
} *shared;

/* What has been measured is made shorter where machine code is interpreted; see kfd_step_at_least_ns(). */
static uint64_t shorter(uint64_t ns)
{
	return kfd_step_at_least_ns(ns);
}

static bool interpreted(void)
{
	return getenv("KFD_STEP_DIVISOR");
}

/* NULL, or why a scenario is not for this device: one of them shows there that all of this works with machine code */
static const char *takes_too_long(void)
{
	return interpreted() ? "machine code is interpreted here, and this would take minutes: one scenario is enough" : NULL;
}

/* ---- in the actor ---- */

static int launch(struct actor *a, struct stream *s, uint64_t now)
{
	uint32_t k;
	int err = 0;

	s->begun_ns[s->launched % MAX_REQUESTS] = s->period_ns ? s->arrival_ns : now;
	if (!s->launched++)
		s->begin_ns = now;
	s->arrival_ns += s->period_ns;
	__atomic_fetch_add(&a->done[s->work]->value, 1, __ATOMIC_SEQ_CST);
	for (k = 0; k < s->shape.kernels && !err; k++)
		err = kfd_work_submit(&a->queue[s->queue], &a->work[s->work], k + 1 == s->shape.kernels ? a->done[s->work] : NULL, KFD_PACKET_BARRIER);
	return err;
}

static void look(struct actor *a, struct stream *s, uint64_t now)
{
	uint32_t done = s->launched - (uint32_t)__atomic_load_n(&a->done[s->work]->value, __ATOMIC_ACQUIRE);

	for (; s->done < done; s->done++) {
		s->latency_ns[s->done % MAX_REQUESTS] = now - s->begun_ns[s->done % MAX_REQUESTS];
		s->end_ns = now;
		if (!s->period_ns)
			s->arrival_ns = now + s->gap_ns;
		if (s->requests && s->done + 1 == s->requests)
			__atomic_fetch_sub(&shared->left, 1, __ATOMIC_ACQ_REL);
	}
}

static bool may_launch(const struct actor *a, const struct stream *s, uint64_t now)
{
	uint32_t room = a->work[s->work].launches - a->work[s->work].submitted;

	if (now < s->arrival_ns || room < s->shape.kernels)
		return false;
	if (s->requests ? s->launched == s->requests : !__atomic_load_n(&shared->left, __ATOMIC_ACQUIRE))
		return false;
	return s->launched - s->done < (s->period_ns ? 1 : s->in_flight);
}

/* Serves the streams args[0] to args[1] - 1 until nothing is left to do */
static int64_t serve(struct actor *a, const int64_t *args)
{
	bool busy = true;
	int64_t i;
	int err = 0;

	while (busy && !err) {
		busy = false;
		for (i = args[0]; i < args[1] && !err; i++) {
			struct stream *s = &shared->stream[i];
			uint64_t now = kfd_now_ns();

			look(a, s, now);
			while (!err && may_launch(a, s, now))
				err = launch(a, s, now);
			busy |= s->done < s->launched || (s->requests && s->done < s->requests);
		}
		busy |= __atomic_load_n(&shared->left, __ATOMIC_ACQUIRE);
		kfd_sleep_ns(shorter(LOOK_NS));
	}
	return err;
}

/* ---- in the test ---- */

FIXTURE(sharing) {
	BEFORE_TEST;
};

FIXTURE_SETUP(sharing)
{
	SETUP_DEVICE();
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)shared);
}

FIXTURE_TEARDOWN(sharing)
{
	actor_forget_all();
	munmap(shared, sizeof(*shared));
	EXPECT_NOTHING_LEFT();
}

#define ANSWER(name, format, ...) do { \
	printf("# answer %s: " format "\n", name, ##__VA_ARGS__); \
	fflush(stdout); \
} while (0)

#define MS_OF(ns)	((double)(ns) / MS)

/* Launches that a stream may need within the longest time that a test takes on an empty device, and some more */
static uint32_t launches_of(const struct stream *s, uint64_t longest_ns)
{
	if (s->requests)
		return s->requests * s->shape.kernels;
	return (uint32_t)(longest_ns / s->shape.ns) + 2 * s->in_flight * s->shape.kernels;
}

static uint32_t waves_of(const struct shape *shape, uint32_t slots)
{
	uint32_t waves = slots * shape->percent / 100;

	return (waves ? waves : 1) * shape->generations;
}

/* A program with @count streams, which are in shared->stream[] from @first on; each gets a queue of priority @priority[] */
#define PROGRAM(first, number, longest_ns, priority) ({ \
	size_t bytes_ = ROOM; \
	uint32_t i_; \
	struct actor *a_; \
	for (i_ = (first); i_ < (first) + (number); i_++) \
		bytes_ += kfd_work_bytes(launches_of(&shared->stream[i_], longest_ns), waves_of(&shared->stream[i_].shape, self->slots), 1); \
	a_ = actor_start(0, bytes_); \
	ASSERT_ACTOR(a_); \
	for (i_ = (first); i_ < (first) + (number); i_++) { \
		struct stream *s_ = &shared->stream[i_]; \
		s_->a = a_; \
		if (interpreted()) { \
			s_->requests = s_->requests ? 2 : 0; \
			s_->in_flight = s_->in_flight ? 2 : 0; \
			s_->shape.generations = 2; \
		} \
		s_->period_ns = shorter(s_->period_ns); \
		s_->gap_ns = shorter(s_->gap_ns); \
		s_->queue = actor_queue(a_, KFD_BACKING_USERPTR, (priority)[i_ - (first)]); \
		ASSERT_GE(s_->queue, 0); \
		s_->work = actor_work(a_, launches_of(s_, longest_ns), waves_of(&s_->shape, self->slots), 1, \
				      shorter(s_->shape.ns) / s_->shape.generations); \
		ASSERT_GE(s_->work, 0); \
		shared->left += s_->requests != 0; \
	} \
	a_; })

/* Lets all programs begin, and waits for their ends */
static int run(void)
{
	uint64_t now = kfd_now_ns() + 20 * MS;
	uint32_t first, last;
	int64_t err = 0;

	for (first = 0; first < shared->count; first++)
		shared->stream[first].arrival_ns = now;
	for (first = 0; first < shared->count; first = last) {
		for (last = first + 1; last < shared->count && shared->stream[last].a == shared->stream[first].a; last++)
			;
		actor_begin(shared->stream[first].a, serve, first, last, 0, 0);
	}
	for (first = 0; first < shared->count; first = last) {
		for (last = first + 1; last < shared->count && shared->stream[last].a == shared->stream[first].a; last++)
			;
		if (!err)
			err = actor_end(shared->stream[first].a);
	}
	return (int)err;
}

static uint64_t percentile(struct stream *s, uint32_t percent)
{
	return demo_percentile(s->latency_ns, s->done < MAX_REQUESTS ? s->done : MAX_REQUESTS, percent);
}

static double rate(const struct stream *s)
{
	return s->end_ns > s->begin_ns ? (double)s->done * SECOND / (double)(s->end_ns - s->begin_ns) : 0;
}

static bool ran_out(const struct stream *s)
{
	return s->a->work[s->work].launches - s->a->work[s->work].submitted < s->shape.kernels;
}

static void begin_again(void)
{
	actor_forget_all();
	memset(shared, 0, sizeof(*shared));
}

#define EXPECT_ALL_ONCE() do { \
	uint32_t i_; \
	for (i_ = 0; i_ < shared->count; i_++) \
		EXPECT_EXACTLY_ONCE(shared->stream[i_].a); \
} while (0)

/* Naive matrix products: 1024 x 1024, and 2048 x 2048, in workgroups of 16 x 16 */
static const struct shape small_product = { .kernels = 4, .ns = 1590 * US, .generations = 6, .percent = 100 };
static const struct shape large_product = { .kernels = 1, .ns = 15850 * US, .generations = 26, .percent = 100 };

/* How the two programs of a scenario are: as one process or two, with which priorities, or the first one alone */
enum beside { ALONE, ONE_PROCESS, TWO_PROCESSES };

struct pair {
	struct stream high;
	struct stream low;
	uint64_t longest_ns;
};

#define RUN_PAIR(pair, how, high_priority, low_priority) do { \
	const uint32_t priority_[2] = { high_priority, low_priority }; \
	begin_again(); \
	shared->stream[0] = (pair)->high; \
	shared->stream[1] = (pair)->low; \
	shared->count = (how) == ALONE ? 1 : 2; \
	PROGRAM(0, (how) == ONE_PROCESS ? 2 : 1, (pair)->longest_ns, priority_); \
	if ((how) == TWO_PROCESSES) \
		PROGRAM(1, 1, (pair)->longest_ns, &priority_[1]); \
	ASSERT_EQ(0, run()); \
	EXPECT_ALL_ONCE(); \
} while (0)

#define ANSWER_PAIR(name, pair, how, high_priority, low_priority) do { \
	struct stream *high_ = &shared->stream[0]; \
	double alone_[2], p50_, p99_; \
	RUN_PAIR(pair, ALONE, KFD_PRIORITY_NORMAL, KFD_PRIORITY_NORMAL); \
	alone_[0] = MS_OF(percentile(high_, 50)); \
	alone_[1] = MS_OF(percentile(high_, 99)); \
	RUN_PAIR(pair, how, high_priority, low_priority); \
	p50_ = MS_OF(percentile(high_, 50)); \
	p99_ = MS_OF(percentile(high_, 99)); \
	ANSWER(name, "P50 %.2f ms, P99 %.2f ms, alone %.2f and %.2f, low %.2f/s%s", p50_, p99_, alone_[0], alone_[1], rate(&shared->stream[1]), \
	       ran_out(&shared->stream[1]) ? "; low had no more kernels at the end" : ""); \
} while (0)

static const struct pair intensive = {
	.high = { .shape = small_product, .period_ns = 50 * MS, .requests = 20 },
	.low = { .shape = large_product, .in_flight = 16 },
	.longest_ns = 6 * SECOND,
};

/* 60 short kernels at 20/s, beside large ones */
static const struct pair r18r50 = {
	.high = { .shape = { .kernels = 60, .ns = 37 * US, .generations = 1, .percent = 25 }, .period_ns = 50 * MS, .requests = 20 },
	.low = { .shape = { .kernels = 1, .ns = 5 * MS, .generations = 8, .percent = 100 }, .in_flight = 16 },
	.longest_ns = 6 * SECOND,
};

TEST_F_TIMEOUT(sharing, intensive_queues_of_a_process, 300)
{
	NEEDS(takes_too_long());
	ANSWER_PAIR("Y1 intensive_one_process", &intensive, ONE_PROCESS, KFD_PRIORITY_NORMAL, KFD_PRIORITY_NORMAL);
}

TEST_F_TIMEOUT(sharing, intensive_processes, 300)
{
	ANSWER_PAIR("Y2 intensive_two_processes", &intensive, TWO_PROCESSES, KFD_PRIORITY_NORMAL, KFD_PRIORITY_NORMAL);
}

/* What streams of different priority are to the driver */
TEST_F_TIMEOUT(sharing, stream_priority, 300)
{
	NEEDS(takes_too_long());
	ANSWER_PAIR("Y3 intensive_one_process_priorities", &intensive, ONE_PROCESS, HIGH, LOW);
}

TEST_F_TIMEOUT(sharing, queue_priority_of_processes, 300)
{
	NEEDS(takes_too_long());
	ANSWER_PAIR("Y4 intensive_two_processes_priorities", &intensive, TWO_PROCESSES, HIGH, LOW);
}

TEST_F_TIMEOUT(sharing, short_kernels_beside_long_ones, 300)
{
	NEEDS(takes_too_long());
	ANSWER_PAIR("Y5 r18r50_two_processes", &r18r50, TWO_PROCESSES, KFD_PRIORITY_NORMAL, KFD_PRIORITY_NORMAL);
}

/* Sixteen tasks of equal kernels on the four queues of a process; six kernels of each task, where thirty were measured */
TEST_F_TIMEOUT(sharing, systematic, 300)
{
	const struct stream task = {
		.shape = { .kernels = 6, .ns = 15850 * US, .generations = 26, .percent = 100 }, .requests = 4, .in_flight = 4,
	};
	const uint32_t priority[4] = { KFD_PRIORITY_NORMAL, KFD_PRIORITY_NORMAL, KFD_PRIORITY_NORMAL, KFD_PRIORITY_NORMAL };
	uint64_t alone;
	uint32_t i;

	NEEDS(takes_too_long());
	begin_again();
	shared->stream[0] = task;
	shared->stream[0].in_flight = 1;
	shared->stream[0].requests = 1;
	shared->count = 1;
	PROGRAM(0, 1, 0, priority);
	ASSERT_EQ(0, run());
	EXPECT_ALL_ONCE();
	alone = percentile(&shared->stream[0], 50);
	begin_again();
	for (i = 0; i < 4; i++)
		shared->stream[i] = task;
	shared->count = 4;
	PROGRAM(0, 4, 0, priority);
	ASSERT_EQ(0, run());
	EXPECT_ALL_ONCE();
	ANSWER("Y6 systematic", "P99 %.2f ms of sixteen tasks, one alone %.2f", MS_OF(percentile(&shared->stream[0], 99)), MS_OF(alone));
}

/* Three queues of a process, each with requests of many kernels and pauses */
TEST_F_TIMEOUT(sharing, bert, 300)
{
	const struct stream thread = {
		.shape = { .kernels = 96, .ns = 66 * US, .generations = 2, .percent = 100 }, .requests = 20, .in_flight = 1, .gap_ns = 20 * MS,
	};
	const uint32_t priority[3] = { KFD_PRIORITY_NORMAL, KFD_PRIORITY_NORMAL, KFD_PRIORITY_NORMAL };
	uint64_t alone;
	uint32_t i;

	NEEDS(takes_too_long());
	begin_again();
	shared->stream[0] = thread;
	shared->count = 1;
	PROGRAM(0, 1, 0, priority);
	ASSERT_EQ(0, run());
	alone = percentile(&shared->stream[0], 50);
	begin_again();
	for (i = 0; i < 3; i++)
		shared->stream[i] = thread;
	shared->count = 3;
	PROGRAM(0, 3, 0, priority);
	ASSERT_EQ(0, run());
	EXPECT_ALL_ONCE();
	ANSWER("Y7 bert", "P50 %.2f ms, P99 %.2f ms, alone %.2f", MS_OF(percentile(&shared->stream[0], 50)),
	       MS_OF(percentile(&shared->stream[0], 99)), MS_OF(alone));
}

/* Equal processes: what they do together */
TEST_F_TIMEOUT(sharing, crowd, 600)
{
	static const uint32_t sizes[] = { 1, 2, 4, 6, 8 };
	const struct stream one = {
		.shape = { .kernels = 60, .ns = 140 * US, .generations = 2, .percent = 100 }, .requests = 20, .in_flight = 1,
	};
	const uint32_t priority[1] = { KFD_PRIORITY_NORMAL };
	char text[160] = "";
	size_t i, used = 0;

	NEEDS(takes_too_long());
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		double sum = 0;
		uint32_t n;

		begin_again();
		shared->count = sizes[i];
		for (n = 0; n < sizes[i]; n++) {
			shared->stream[n] = one;
			PROGRAM(n, 1, 0, priority);
		}
		ASSERT_EQ(0, run());
		EXPECT_ALL_ONCE();
		for (n = 0; n < sizes[i]; n++)
			sum += rate(&shared->stream[n]);
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u: %.1f/s", i ? ", " : "", sizes[i], sum);
	}
	ANSWER("Y8 crowd", "%s", text);
}

TEST_HARNESS_MAIN
