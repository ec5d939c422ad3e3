// SPDX-License-Identifier: MIT
/*
 * xsched.c - XSched's HIP queue at level 3 (integrations/xsched) does what XSched relies on
 *
 * The class is the one that goes into XSched's tree; XSched and HIP are stand-ins, queues and the driver are real, the device is the virtual
 * GPU. What XSched does around the class, and in what order, is in Documentation/user-space-scheduling.rst.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>

#include "kselftest_harness.h"

#include "fixture.h"
#include "gpreempt.h"
#include "standin.h"

#define STREAMS		2
#define LAUNCHES	4
#define STEPS		10
#define STEP_NS		(5 * MS)
#define ROUNDS		100
#define LEVEL_1		1
#define LEVEL_3		3

/**
 * struct standin_stream - a stream
 * @queue: where its packets go, which may be another stream's as well; NULL: packets go nowhere
 * @work: what it launches
 * @done: counts @work's launches down
 */
struct standin_stream {
	struct kfd_queue *queue;
	struct kfd_work work;
	struct kfd_signal *done;
};

FIXTURE(xsched) {
	BEFORE_TEST;
	struct kfd_client client;
	struct kfd_buffer arena;
	struct kfd_queue queue[STREAMS];
	struct standin_stream stream[STREAMS];
	void *xqueue[STREAMS];
};

FIXTURE_SETUP(xsched)
{
	uint8_t *memory;
	int i;

	SETUP_SCHEDULER(NULL, 0);
	NEEDS_VGPU();
	unsetenv("XSCHED_LEVEL");
	ASSERT_EQ(0, kfd_client_open(&self->client)) { TH_LOG("%s", self->client.why); }
	ASSERT_EQ(0, kfd_buffer_userptr(&self->client, ARENA, &self->arena));
	memory = self->arena.ptr;
	for (i = 0; i < STREAMS; i++) {
		struct standin_stream *s = &self->stream[i];

		ASSERT_EQ(0, kfd_queue_create(&self->client, &self->queue[i], KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL, 64));
		s->queue = &self->queue[i];
		s->done = (struct kfd_signal *)memory;
		memory += KFD_PAGE_BYTES;
		/* Each takes half of the device: both run at once. */
		kfd_work_init(&s->work, memory, LAUNCHES, self->slots / STREAMS, STEPS, STEP_NS);
		memory += (kfd_work_bytes(LAUNCHES, self->slots / STREAMS, STEPS) + KFD_PAGE_BYTES - 1) & ~(KFD_PAGE_BYTES - 1ul);
		kfd_signal_init(s->done, LAUNCHES);
	}
	ASSERT_LE(memory, (uint8_t *)self->arena.ptr + ARENA);
}

FIXTURE_TEARDOWN(xsched)
{
	int i;

	for (i = 0; i < STREAMS; i++) {
		if (self->xqueue[i])
			queue_destroy(self->xqueue[i]);
		if (self->queue[i].client)
			EXPECT_EQ(0, kfd_queue_destroy(&self->queue[i]));
	}
	kfd_client_close(&self->client);
	EXPECT_NOTHING_LEFT();
	scheduler_off();
}

int standin_put_packet(struct standin_stream *stream)
{
	return stream->queue ? kfd_barrier_submit(stream->queue, NULL, 0, NULL, KFD_PACKET_BARRIER) : 0;
}

void standin_launch(struct standin_stream *stream)
{
	kfd_work_submit(stream->queue, &stream->work, stream->done, KFD_PACKET_BARRIER);
}

bool standin_is_done(struct standin_stream *stream)
{
	return LAUNCHES - stream->done->value == stream->work.submitted;
}

void standin_wait(struct standin_stream *stream)
{
	while (!standin_is_done(stream))
		kfd_sleep_ns(MS);
}

uint32_t standin_device(void)
{
	unsigned int domain, bus, device, function;
	char path[64], target[256];
	ssize_t length;

	snprintf(path, sizeof(path), "/sys/class/drm/renderD%d/device", kfd_first_render_minor());
	length = readlink(path, target, sizeof(target) - 1);
	if (length <= 0)
		return ~0u;
	target[length] = '\0';
	if (sscanf(strrchr(target, '/') + 1, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4)
		return ~0u;
	return domain << 16 | bus << 8 | device << 3 | function;
}

/* What was launched is done, each item once. */
#define EXPECT_ENDS_WHOLE(s) do { \
	struct kfd_tally tally_ = { 0 }; \
	EXPECT_EQ(0, KFD_WAIT(standin_is_done(s), MS, LONG)); \
	kfd_work_tally(&(s)->work, &tally_); \
	EXPECT_EQ((s)->work.submitted * (self->slots / STREAMS) * STEPS, tally_.done); \
	EXPECT_EQ(0, tally_.lost); \
	EXPECT_EQ(0, tally_.twice); \
} while (0)

static bool is_off(struct standin_stream *s)
{
	return queue_state_is(s->queue->client->gpu_id, getpid(), s->queue->id, "preempted");
}

/* The first stream gets its queue, and a launch that goes on. */
#define LAUNCH_FIRST(s) do { \
	self->xqueue[0] = queue_create(s, LEVEL_3); \
	queue_launch(self->xqueue[0]); \
	ASSERT_EQ(0, goes_on(&(s)->work)); \
} while (0)

TEST_F(xsched, queue_of_a_stream_is_found_and_stopped_alone)
{
	struct standin_stream *low = &self->stream[0], *high = &self->stream[1];
	int i;

	for (i = 0; i < STREAMS; i++) {
		self->xqueue[i] = queue_create(&self->stream[i], LEVEL_3);
		ASSERT_TRUE(queue_is_known(self->xqueue[i]));
		EXPECT_EQ(LEVEL_3, queue_max_level(self->xqueue[i]));
		queue_launch(self->xqueue[i]);
		queue_launch(self->xqueue[i]);
	}
	ASSERT_EQ(0, goes_on(&low->work));
	queue_interrupt(self->xqueue[0]);
	EXPECT_TRUE(is_off(low));
	/* XSched may wait for what it has suspended. */
	queue_synchronize(self->xqueue[0]);
	EXPECT_FALSE(standin_is_done(low));
	EXPECT_TRUE(stands_still(&low->work, 4 * STEP_NS));
	EXPECT_FALSE(is_off(high));
	/* And launch to it. */
	queue_launch(self->xqueue[0]);
	EXPECT_ENDS_WHOLE(high);
	EXPECT_TRUE(stands_still(&low->work, 4 * STEP_NS));
	queue_restore(self->xqueue[0], false);
	queue_synchronize(self->xqueue[0]);
	EXPECT_TRUE(standin_is_done(low));
	EXPECT_ENDS_WHOLE(low);
	EXPECT_EQ(0, standin_warnings()) { TH_LOG("%s", standin_warning()); }
}

/* Whoever waits while another thread suspends is let go as well. */
static void *synchronize(void *queue)
{
	queue_synchronize(queue);
	return NULL;
}

TEST_F(xsched, suspension_ends_a_wait)
{
	struct standin_stream *low = &self->stream[0];
	pthread_t thread;

	self->xqueue[0] = queue_create(low, LEVEL_3);
	queue_launch(self->xqueue[0]);
	ASSERT_EQ(0, pthread_create(&thread, NULL, synchronize, self->xqueue[0]));
	ASSERT_EQ(0, goes_on(&low->work));
	queue_interrupt(self->xqueue[0]);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_FALSE(standin_is_done(low));
	queue_restore(self->xqueue[0], false);
	EXPECT_ENDS_WHOLE(low);
}

/* XSched marks a queue as suspended before it interrupts it; who resumes it in between comes first. */
TEST_F(xsched, restore_that_comes_first_takes_its_interrupt_back)
{
	struct standin_stream *low = &self->stream[0];

	LAUNCH_FIRST(low);
	queue_restore(self->xqueue[0], false);
	queue_interrupt(self->xqueue[0]);
	EXPECT_FALSE(is_off(low));
	ASSERT_EQ(0, goes_on(&low->work));
	/* Two such pairs, as late as can be */
	queue_restore(self->xqueue[0], false);
	queue_restore(self->xqueue[0], false);
	queue_interrupt(self->xqueue[0]);
	queue_interrupt(self->xqueue[0]);
	EXPECT_FALSE(is_off(low));
	/* and two interrupts for a restore that is still to come */
	queue_interrupt(self->xqueue[0]);
	queue_interrupt(self->xqueue[0]);
	queue_restore(self->xqueue[0], false);
	EXPECT_TRUE(is_off(low));
	queue_restore(self->xqueue[0], false);
	EXPECT_ENDS_WHOLE(low);
}

/* What was saved cannot be dropped: XSched is not told before it is done. */
TEST_F(xsched, dropped_commands_are_drained)
{
	struct standin_stream *low = &self->stream[0];

	LAUNCH_FIRST(low);
	queue_interrupt(self->xqueue[0]);
	queue_restore(self->xqueue[0], true);
	EXPECT_TRUE(standin_is_done(low));
	EXPECT_ENDS_WHOLE(low);
}

/* HIP gives a queue to more than one stream: the one that matters more must not stand because of the other. */
TEST_F(xsched, shared_queue_stops_with_its_last_stream)
{
	struct standin_stream *low = &self->stream[0], *high = &self->stream[1];
	struct kfd_queue *own = high->queue;

	high->queue = low->queue;
	self->xqueue[0] = queue_create(low, LEVEL_3);
	self->xqueue[1] = queue_create(high, LEVEL_3);
	ASSERT_TRUE(queue_is_known(self->xqueue[1]));
	queue_launch(self->xqueue[0]);
	queue_launch(self->xqueue[1]);
	ASSERT_EQ(0, goes_on(&low->work));
	queue_interrupt(self->xqueue[0]);
	EXPECT_FALSE(is_off(low));
	queue_interrupt(self->xqueue[1]);
	EXPECT_TRUE(is_off(low));
	EXPECT_TRUE(stands_still(&low->work, 4 * STEP_NS));
	queue_restore(self->xqueue[1], false);
	EXPECT_ENDS_WHOLE(high);
	queue_restore(self->xqueue[0], false);
	EXPECT_ENDS_WHOLE(low);
	high->queue = own;
}

/* Without its queue a stream stops with its process, when nothing in it is to run. */
TEST_F(xsched, process_stops_when_all_its_streams_are_suspended)
{
	struct standin_stream *unknown = &self->stream[0], *known = &self->stream[1];
	struct kfd_queue *queue = unknown->queue;

	unknown->queue = NULL;
	self->xqueue[0] = queue_create(unknown, LEVEL_3);
	EXPECT_FALSE(queue_is_known(self->xqueue[0]));
	EXPECT_EQ(LEVEL_3, queue_max_level(self->xqueue[0]));
	self->xqueue[1] = queue_create(known, LEVEL_3);
	EXPECT_TRUE(queue_is_known(self->xqueue[1]));
	unknown->queue = queue;
	queue_launch(self->xqueue[0]);
	queue_launch(self->xqueue[1]);
	ASSERT_EQ(0, goes_on(&unknown->work));
	queue_interrupt(self->xqueue[0]);
	EXPECT_FALSE(is_off(unknown));
	EXPECT_FALSE(is_off(known));
	queue_interrupt(self->xqueue[1]);
	EXPECT_TRUE(is_off(unknown));
	EXPECT_TRUE(is_off(known));
	queue_synchronize(self->xqueue[0]);
	queue_synchronize(self->xqueue[1]);
	queue_restore(self->xqueue[0], false);
	EXPECT_ENDS_WHOLE(unknown);
	EXPECT_FALSE(standin_is_done(known));
	queue_restore(self->xqueue[1], false);
	EXPECT_ENDS_WHOLE(known);
}

TEST_F(xsched, queue_that_is_destroyed_while_suspended_goes_on)
{
	struct standin_stream *low = &self->stream[0];

	LAUNCH_FIRST(low);
	queue_interrupt(self->xqueue[0]);
	queue_destroy(self->xqueue[0]);
	self->xqueue[0] = NULL;
	EXPECT_ENDS_WHOLE(low);
}

/* Level 1: nothing is stopped, and one message says why. */
TEST_F(xsched, without_the_scheduler_level_1_is_what_remains)
{
	struct standin_stream *low = &self->stream[0];
	int i;

	ASSERT_EQ(0, scheduler_off());
	for (i = 0; i < STREAMS; i++) {
		self->xqueue[i] = queue_create(&self->stream[i], LEVEL_3);
		EXPECT_EQ(LEVEL_1, queue_max_level(self->xqueue[i]));
	}
	queue_launch(self->xqueue[0]);
	queue_interrupt(self->xqueue[0]);
	queue_synchronize(self->xqueue[0]);
	EXPECT_TRUE(standin_is_done(low));
	queue_restore(self->xqueue[0], false);
	EXPECT_ENDS_WHOLE(low);
	EXPECT_EQ(1, standin_warnings());
	EXPECT_STREQ("HIP queues stay at preemption level 1: kfd_gpreempt cannot preempt on this device, or is switched off", standin_warning());
}

TEST_F(xsched, level_1_can_be_asked_for)
{
	setenv("XSCHED_LEVEL", "1", 1);
	self->xqueue[0] = queue_create(&self->stream[0], LEVEL_3);
	EXPECT_EQ(LEVEL_1, queue_max_level(self->xqueue[0]));
	EXPECT_STREQ("HIP queues stay at preemption level 1: XSCHED_LEVEL=1 asks for it", standin_warning());
}

/* The scheduler is switched off under a queue at level 3: launches are held back, as at level 1. */
TEST_F(xsched, queue_that_cannot_be_stopped_any_more_runs)
{
	struct standin_stream *low = &self->stream[0];

	LAUNCH_FIRST(low);
	queue_interrupt(self->xqueue[0]);
	ASSERT_EQ(0, scheduler_off());
	ASSERT_EQ(0, goes_on(&low->work));
	queue_restore(self->xqueue[0], false);
	queue_interrupt(self->xqueue[0]);
	EXPECT_EQ(1, standin_warnings());
	queue_synchronize(self->xqueue[0]);
	EXPECT_TRUE(standin_is_done(low));
	queue_restore(self->xqueue[0], false);
	EXPECT_ENDS_WHOLE(low);
}

/**
 * struct xsched_queue - what XSched does: whoever changes the mark calls the queue, without a lock over both
 * @queue: the queue
 * @suspended: the mark
 * @rounds: left
 */
struct xsched_queue {
	void *queue;
	bool suspended;
	int rounds;
};

static void *suspend_and_resume(void *arg)
{
	struct xsched_queue *x = arg;

	while (__atomic_sub_fetch(&x->rounds, 1, __ATOMIC_RELAXED) > 0) {
		bool expected = false;

		if (__atomic_compare_exchange_n(&x->suspended, &expected, true, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
			queue_interrupt(x->queue);
			continue;
		}
		expected = true;
		if (__atomic_compare_exchange_n(&x->suspended, &expected, false, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			queue_restore(x->queue, false);
	}
	return NULL;
}

TEST_F(xsched, threads_that_suspend_and_resume_leave_what_the_mark_says)
{
	struct standin_stream *low = &self->stream[0];
	struct xsched_queue x = { .rounds = ROUNDS };
	pthread_t thread[3];
	int i;

	x.queue = self->xqueue[0] = queue_create(low, LEVEL_3);
	for (i = 0; i < LAUNCHES; i++)
		queue_launch(x.queue);
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, suspend_and_resume, &x));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, pthread_join(thread[i], NULL));
	if (x.suspended) {
		EXPECT_TRUE(is_off(low));
		queue_restore(x.queue, false);
	}
	EXPECT_ENDS_WHOLE(low);
	EXPECT_EQ(0, standin_warnings()) { TH_LOG("%s", standin_warning()); }
}

TEST_HARNESS_MAIN
