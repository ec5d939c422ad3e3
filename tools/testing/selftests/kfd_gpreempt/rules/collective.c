// SPDX-License-Identifier: MIT
/*
 * collective.c - an all-reduce of processes on several devices, whose kernels poll each other's memory, and what happens in the middle
 *
 * Ranks form a ring, a process on each GPU. A round of a rank is a kernel that fills its device, and one that says so in the rank's
 * mailbox: memory of its own device, to which the next rank has a dma-buf. The waves of a round poll the mailbox of the rank before for the
 * round before. So no rank is more than a round ahead of the one before it, and one that stands still stops all others, with their waves on the device.
 *
 * Mailboxes are in VRAM where xGMI links connect the devices (vgpu.gpus=2 vgpu.xgmi=1), otherwise in system memory, as libraries for
 * collectives do it. Resets need amdgpu.gpu_recovery=1, and no links, with which the virtual GPU survives none.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "kselftest_harness.h"

#include "fixture.h"
#include "disturb.h"
#include "gpus.h"
#include "worker.h"
#include "jobs.h"

#define RINGS		2
#define ROUNDS		40	/* 80 packets: in a ring at once */
#define ROUND_STEPS	4
#define STEP_NS		(MS * jobs_slower())
#define SAY_NS		(10 * US)
#define JOB		10	/* and that of the second ring */

/**
 * struct rank - what a rank tells the others, in memory that all processes share
 * @pid: its process
 * @fd: dma-buf of its mailbox, there
 * @counters_at: offset in the mailbox of what its rounds write: 64 bits each
 */
struct rank {
	pid_t pid;
	int fd;
	size_t counters_at;
};

static struct rank *ranks;	/* [RINGS][JOB_GPUS] */

static struct rank *rank_of(int ring, int gpu)
{
	return &ranks[ring * JOB_GPUS + gpu];
}

/* ---- inside a rank ---- */

static struct kfd_buffer mailbox;
static struct kfd_work say;
static const volatile uint64_t *before;

/* Steps of one wave: both halves of 64 bits */
static int64_t rank_has_mailbox(struct actor *a, const int64_t *args)
{
	struct kfd_ioctl_export_dmabuf_args export = { .flags = O_CLOEXEC | O_RDWR };
	struct rank *r = (struct rank *)(uintptr_t)args[0];
	uint32_t rounds = (uint32_t)args[2];
	int err = kfd_buffer_place(&a->client, (enum kfd_domain)args[1], NULL, kfd_work_bytes(rounds, 1, 2), KFD_ACCESS_ALL, &mailbox);

	if (err)
		return err;
	kfd_work_init(&say, mailbox.ptr, rounds, 1, 2, SAY_NS);
	export.handle = mailbox.handle;
	if (ioctl(a->client.kfd_fd, AMDKFD_IOC_EXPORT_DMABUF, &export))
		return -errno;
	r->pid = a->pid;
	r->fd = (int)export.dmabuf_fd;
	r->counters_at = (uintptr_t)say.counters - (uintptr_t)mailbox.ptr;
	return r->counters_at % 8 ? -EINVAL : 0;
}

/* The mailbox of the rank before, on whose device this process has to be as well. */
static int64_t rank_listens(struct actor *a, const int64_t *args)
{
	const struct rank *r = (struct rank *)(uintptr_t)args[0];
	struct kfd_ioctl_import_dmabuf_args import = { 0 };
	struct kfd_buffer b = { .bytes = KFD_PAGE_BYTES };
	static struct kfd_client there;
	int pidfd, err;

	pidfd = (int)syscall(SYS_pidfd_open, r->pid, 0);
	if (pidfd < 0)
		return -errno;
	import.dmabuf_fd = (uint32_t)syscall(SYS_pidfd_getfd, pidfd, r->fd, 0);
	if ((int)import.dmabuf_fd < 0)
		return -errno;
	close(pidfd);
	kfd_wanted_gpu_id = (uint32_t)args[1];
	err = kfd_client_open(&there);
	if (err)
		return err;
	b.ptr = mmap(NULL, (size_t)args[2], PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (b.ptr == MAP_FAILED)
		return -errno;
	import.va_addr = (uintptr_t)b.ptr;
	import.gpu_id = there.gpu_id;
	if (ioctl(a->client.kfd_fd, AMDKFD_IOC_IMPORT_DMABUF, &import))
		return -errno;
	close((int)import.dmabuf_fd);
	b.handle = import.handle;
	before = (const volatile uint64_t *)((uintptr_t)b.ptr + r->counters_at);
	return map_to_other(&a->client, &b);
}

static int64_t rank_works(struct actor *a, const int64_t *args)
{
	int err = 0, i;

	for (i = 0; i < args[0] && !err; i++) {
		uint32_t round = say.submitted;

		kfd_work_wait_for(&a->work[0], round ? before + round - 1 : NULL);
		err = kfd_work_submit(&a->queue[0], &a->work[0], a->done[0], KFD_PACKET_BARRIER | KFD_PACKET_SILENT);
		if (!err)
			err = kfd_work_submit(&a->queue[0], &say, NULL, KFD_PACKET_BARRIER | KFD_PACKET_SILENT);
	}
	kfd_queue_ring(&a->queue[0]);
	return err;
}

/* Each round has said so once. The last one says it behind the signal that tests wait for. */
static int64_t rank_said_once(struct actor *a, const int64_t *args)
{
	struct kfd_tally t = { 0 };
	int err = KFD_WAIT(say.counters[say.submitted * 2 - 1], MS, LONG);

	kfd_work_tally(&say, &t);
	return err ? err : t.lost || t.twice || t.done != 2 * say.submitted ? -EBADMSG : 0;
}

/* ---- rings ---- */

FIXTURE(collective) {
	BEFORE_JOBS;
	struct actor *ring[RINGS][JOB_GPUS], *low[JOB_GPUS], *lowest[JOB_GPUS];
};

FIXTURE_SETUP(collective)
{
	if (!ranks) {
		ranks = mmap(NULL, RINGS * JOB_GPUS * sizeof(*ranks), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		ASSERT_NE(MAP_FAILED, ranks);
	}
	SETUP_JOBS();
}

FIXTURE_TEARDOWN(collective)
{
	kfd_param_set("gpreempt_max_hold_ms", 1000);
	TEARDOWN_JOBS();
}

#define EACH_NODE(i)	for (i = 0; i < self->nr; i++)

#define ASSERT_RING(which, nice, job, waves)	ASSERT_RING_OF(which, nice, job, waves, ROUNDS)

/* A ring of processes that are a job, if there is to be one, with room for so many kernels of so many waves */
#define ASSERT_RING_OF(which, nice, job, waves, rounds) do { \
	enum kfd_domain where_ = xgmi_links() ? KFD_IN_VRAM : KFD_IN_GTT; \
	int ring_i_; \
	EACH_NODE(ring_i_) { \
		struct actor *a_; \
		at(ring_i_); \
		a_ = worker(_metadata, nice, rounds, waves, ROUND_STEPS, STEP_NS); \
		self->ring[which][ring_i_] = a_; \
		ASSERT_EQ(0, actor_call(a_, rank_has_mailbox, (intptr_t)rank_of(which, ring_i_), where_, rounds, 0)); \
		if (job) \
			ASSERT_EQ(0, set_job(self->g, a_, JOB + (which), 0)); \
	} \
	EACH_NODE(ring_i_) { \
		int of_ = (ring_i_ + self->nr - 1) % self->nr; \
		ASSERT_EQ(0, actor_call(self->ring[which][ring_i_], rank_listens, (intptr_t)rank_of(which, of_), ids[of_], \
					kfd_work_bytes(rounds, 1, 2), 0)); \
	} \
} while (0)

#define ASSERT_RING_BEGINS(which)	ASSERT_RING_DOES(which, ROUNDS)

#define ASSERT_RING_DOES(which, rounds) do { \
	int begins_i_; \
	EACH_NODE(begins_i_) { \
		struct actor *a_ = self->ring[which][begins_i_]; \
		__atomic_fetch_add(&a_->done[0]->value, rounds, __ATOMIC_SEQ_CST); \
		ASSERT_EQ(0, actor_call(a_, rank_works, rounds, 0, 0, 0)); \
	} \
} while (0)

/* It ends, each item of each rank was done once, and each round was said once. */
#define ASSERT_RING_ENDS(which) do { \
	int ends_i_; \
	EACH_NODE(ends_i_) { \
		ASSERT_DONE_ONCE(self->ring[which][ends_i_]); \
		EXPECT_EQ(0, actor_call(self->ring[which][ends_i_], rank_said_once, 0, 0, 0, 0)); \
	} \
} while (0)

#define ASSERT_HOGGED() do { \
	int hogged_; \
	EACH_NODE(hogged_) { \
		at(hogged_); \
		self->low[hogged_] = worker(_metadata, LOW_NICE, 1, self->node[hogged_].slots, 100, 10 * MS); \
		ASSERT_EQ(0, launch_begins(self->low[hogged_])); \
	} \
} while (0)

static uint64_t round_items(const struct actor *a)
{
	return (uint64_t)a->work[0].waves * a->work[0].steps;
}

/* All ranks are in the middle, after so many rounds at least. */
static int wait_rounds(struct actor *const *ring, int nr, uint32_t rounds)
{
	int i, err = 0;

	for (i = 0; i < nr && !err; i++)
		err = actor_wait_progress(ring[i], 0, rounds * round_items(ring[i]) + 1, LONG);
	return err;
}

/* How many rounds the first of the ranks is ahead of the last one; a round that has begun counts. */
static int apart(struct actor *const *ring, int nr)
{
	uint64_t least = UINT64_MAX, most = 0;
	int i;

	for (i = 0; i < nr; i++) {
		uint64_t items = round_items(ring[i]), rounds = (kfd_work_progress(&ring[i]->work[0]) + items - 1) / items;

		least = rounds < least ? rounds : least;
		most = rounds > most ? rounds : most;
	}
	return (int)(most - least);
}

/* One rank is off the device, and the others wait for it with their waves on theirs; then nothing is left of that. */
static void ring_is_preempted(struct __test_metadata *_metadata, FIXTURE_DATA(collective) *self, bool job)
{
	struct actor *high;
	int turn;

	ASSERT_RING(0, LOW_NICE, job, self->node[0].slots);
	at(0);
	high = worker(_metadata, 0, 3, self->node[0].slots, 20, 5 * MS * jobs_slower());
	ASSERT_RING_BEGINS(0);
	for (turn = 0; turn < 3; turn++) {
		ASSERT_EQ(0, wait_rounds(self->ring[0], self->nr, 4 + 10 * (uint32_t)turn));
		ASSERT_EQ(0, launch_preempts(high, self->ring[0][0]));
		/* Longer than what the others may be ahead */
		kfd_sleep_ns((uint64_t)(self->nr + 2) * ROUND_STEPS * STEP_NS);
		EXPECT_TRUE(stands_still(&self->ring[0][1]->work[0], 10 * MS));
		EXPECT_FALSE(actor_done(high, 0)) TH_LOG("nothing was seen while it worked");
		EXPECT_LE(apart(self->ring[0], self->nr), self->nr);
		ASSERT_EQ(0, actor_wait(high, 0, LONG));
		ASSERT_EQ(0, goes_on(&self->ring[0][1]->work[0]));
	}
	ASSERT_RING_ENDS(0);
	EXPECT_EXACTLY_ONCE(high);
	EXPECT_EQ(3, preempt_count(self->ring[0][0], 0));
}

TEST_F_TIMEOUT(collective, low_one_is_preempted_on_one_device_and_done_once, 120)
{
	ring_is_preempted(_metadata, self, true);
}

TEST_F_TIMEOUT(collective, without_a_job_the_same_is_done_once, 120)
{
	ring_is_preempted(_metadata, self, false);
}

/* It needs all devices at once to go on at all. Where nothing outranks it, it has them as long as it works: one pass may fall between two rounds. */
TEST_F_TIMEOUT(collective, high_one_has_all_devices_beside_low_work, 120)
{
	int i;

	ASSERT_HOGGED();
	ASSERT_RING(0, 0, true, self->node[0].slots);
	ASSERT_RING_BEGINS(0);
	ASSERT_EQ(0, wait_rounds(self->ring[0], self->nr, 10));
	EACH_NODE(i)
		EXPECT_TRUE(state_is(self->low[i], 0, "preempted"));
	ASSERT_RING_ENDS(0);
	EACH_NODE(i) {
		EXPECT_FALSE(actor_done(self->low[i], 0));
		EXPECT_GE(2, preempt_count(self->low[i], 0)) TH_LOG("it came back between rounds");
		ASSERT_DONE_ONCE(self->low[i]);
	}
}

/* Each of both fills all devices: at equal priorities each could wait for ever for what the other keeps from it. */
TEST_F_TIMEOUT(collective, two_of_different_priority_end_in_order, 120)
{
	int i;

	ASSERT_RING(0, LOW_NICE, true, self->node[0].slots);
	ASSERT_RING(1, 0, true, self->node[0].slots);
	ASSERT_RING_BEGINS(0);
	ASSERT_EQ(0, wait_rounds(self->ring[0], self->nr, 3));
	ASSERT_RING_BEGINS(1);
	ASSERT_RING_ENDS(1);
	EACH_NODE(i)
		EXPECT_FALSE(actor_done(self->ring[0][i], 0));
	ASSERT_RING_ENDS(0);
}

/* Equals share the devices, as without the scheduler: each has room on all of them. */
TEST_F_TIMEOUT(collective, two_of_equal_priority_that_fit_side_by_side_both_end, 120)
{
	int i;

	ASSERT_RING(0, 0, true, self->node[0].slots / 2);
	ASSERT_RING(1, 0, true, self->node[0].slots / 2);
	ASSERT_RING_BEGINS(0);
	ASSERT_RING_BEGINS(1);
	ASSERT_RING_ENDS(0);
	ASSERT_RING_ENDS(1);
	EACH_NODE(i) {
		EXPECT_EQ(0, preempt_count(self->ring[0][i], 0));
		EXPECT_EQ(0, preempt_count(self->ring[1][i], 0));
	}
}

/* With what is left of it waiting for ever, with all its waves: nobody is held for longer than gpreempt_max_hold_ms. */
TEST_F_TIMEOUT(collective, killed_rank_of_a_high_one_leaves_nobody_held_for_ever, 120)
{
	int i;

	ASSERT_EQ(0, kfd_param_set("gpreempt_max_hold_ms", 100));
	ASSERT_HOGGED();
	ASSERT_RING(0, 0, true, self->node[0].slots);
	ASSERT_RING_BEGINS(0);
	ASSERT_EQ(0, wait_rounds(self->ring[0], self->nr, 10));
	actor_kill(self->ring[0][0]);
	/* Its device is nobody's concern any more, elsewhere there are reliefs. */
	EXPECT_EQ(0, KFD_WAIT(!state_is(self->low[0], 0, "preempted"), 200 * US, LONG));
	EACH_NODE(i)
		EXPECT_EQ(0, goes_on(&self->low[i]->work[0])) TH_LOG("node %d", i);
	EXPECT_EQ(0, KFD_WAIT(state_is(self->low[1], 0, "preempted"), 200 * US, LONG));
	EXPECT_EQ(0, goes_on(&self->low[1]->work[0]));
	for (i = 1; i < self->nr; i++) {
		EXPECT_FALSE(actor_done(self->ring[0][i], 0));
		actor_kill(self->ring[0][i]);
	}
	EACH_NODE(i)
		ASSERT_DONE_ONCE(self->low[i]);
}

TEST_F_TIMEOUT(collective, killed_rank_of_a_low_one_delays_no_high_work, 120)
{
	struct actor *high;
	int i;

	ASSERT_RING(0, LOW_NICE, true, self->node[0].slots);
	at(1);
	high = worker(_metadata, 0, 2, self->node[1].slots, 4, 5 * MS);
	ASSERT_RING_BEGINS(0);
	ASSERT_EQ(0, wait_rounds(self->ring[0], self->nr, 4));
	ASSERT_EQ(0, launch_preempts(high, self->ring[0][1]));
	actor_kill(self->ring[0][0]);
	ASSERT_EQ(0, actor_wait(high, 0, LONG));
	/* What waits for the dead one still yields. */
	ASSERT_EQ(0, launch_preempts(high, self->ring[0][1]));
	ASSERT_DONE_ONCE(high);
	for (i = 1; i < self->nr; i++) {
		struct kfd_tally t;

		EXPECT_FALSE(actor_done(self->ring[0][i], 0));
		actor_kill(self->ring[0][i]);
		t = actor_tally(self->ring[0][i]);
		EXPECT_EQ(0, t.twice);
	}
}

/* All devices of the machine are suspended in the middle. */
static void ring_is_suspended(struct __test_metadata *_metadata, FIXTURE_DATA(collective) *self, int nice)
{
	struct actor *other = NULL;

	NEEDS_VGPU();
	NEEDS_SUSPEND();
	/* Processes that are not on all devices: driver-notes.rst */
	NEEDS(kfd_param_get("sched_policy") == NO_HWS ? "without HWS the driver does not survive it" : NULL);
	ASSERT_RING(0, nice, true, self->node[0].slots);
	at(0);
	other = worker(_metadata, nice ? 0 : LOW_NICE, 1, self->node[0].slots, 100, 5 * MS);
	ASSERT_EQ(0, launch_begins(other));
	ASSERT_RING_BEGINS(0);
	if (nice) {
		ASSERT_EQ(0, wait_state(self->ring[0][0], 0, "preempted", LONG));
	} else {
		ASSERT_EQ(0, wait_rounds(self->ring[0], self->nr, 4));
		ASSERT_EQ(0, wait_state(other, 0, "preempted", LONG));
	}
	ASSERT_EQ(0, suspend_devices());
	EXPECT_FALSE(actor_done(self->ring[0][0], 0));
	ASSERT_RING_ENDS(0);
	ASSERT_DONE_ONCE(other);
}

TEST_F_TIMEOUT(collective, low_one_is_suspended_in_the_middle_and_done_once, 120)
{
	ring_is_suspended(_metadata, self, LOW_NICE);
}

TEST_F_TIMEOUT(collective, high_one_is_suspended_in_the_middle_and_done_once, 120)
{
	ring_is_suspended(_metadata, self, 0);
}

/* For a reset of one device the driver stops all programs, for ever (driver-notes.rst). */
TEST_F_TIMEOUT(collective, reset_of_one_device_leaves_nothing_of_it_held, 120)
{
	int ring, i;

	NEEDS(unless_virtual(recovery_missing()));
	if (xgmi_links())
		SKIP(return, "the driver resets the devices of a hive by the PSP, which the virtual GPU has not");
	ASSERT_RING(0, LOW_NICE, true, self->node[0].slots);
	ASSERT_RING(1, 0, true, self->node[0].slots);
	ASSERT_RING_BEGINS(0);
	ASSERT_EQ(0, wait_rounds(self->ring[0], self->nr, 3));
	ASSERT_RING_BEGINS(1);
	ASSERT_EQ(0, wait_rounds(self->ring[1], self->nr, 3));
	at(0);
	ASSERT_EQ(0, reset_device());
	/* Queues with packets have run into what the driver unmapped (driver-notes.rst). */
	self->node[0].health = device_health();
	for (ring = 0; ring < RINGS; ring++) {
		EACH_NODE(i) {
			struct kfd_tally t = actor_tally(self->ring[ring][i]);

			EXPECT_EQ(0, t.twice);
			EXPECT_FALSE(actor_done(self->ring[ring][i], 0));
		}
	}
	actor_forget_all();
	EXPECT_NO_NODE_HOLDS();
	/* And one that comes later has all devices. */
	ASSERT_HOGGED();
	ASSERT_RING(0, 0, true, self->node[0].slots);
	ASSERT_RING_BEGINS(0);
	ASSERT_RING_ENDS(0);
	EACH_NODE(i) {
		EXPECT_FALSE(actor_done(self->low[i], 0));
		ASSERT_DONE_ONCE(self->low[i]);
	}
}

/* ---- a model at TP=8, or of as many ranks as there are GPUs ---- */

#define REQUESTS	6
#define REQUEST_ROUNDS	16	/* of 4 ms each */
#define TRAINED		40
#define LOWEST_STEP_NS	(5 * MS * jobs_slower())

/* Requests one after the other, with pauses: the time of the slowest one */
#define ASSERT_SERVES(slowest_ns) do { \
	uint64_t served_; \
	int request_, rank_; \
	for (request_ = 0; request_ < REQUESTS; request_++) { \
		kfd_sleep_ns(10 * MS * jobs_slower()); \
		served_ = kfd_now_ns(); \
		ASSERT_RING_DOES(0, REQUEST_ROUNDS); \
		EACH_NODE(rank_) \
			ASSERT_EQ(0, actor_wait(self->ring[0][rank_], 0, LONG)); \
		served_ = kfd_now_ns() - served_; \
		(slowest_ns) = request_ && (slowest_ns) > served_ ? (slowest_ns) : served_; \
	} \
} while (0)

TEST_F_TIMEOUT(collective, requests_beside_a_low_job_take_as_long_as_alone, 600)
{
	uint64_t alone_ns = 0, nodes_ns = 0, job_ns = 0;
	int i;

	ASSERT_RING_OF(0, 0, false, self->node[0].slots, 3 * REQUESTS * REQUEST_ROUNDS);
	ASSERT_SERVES(alone_ns);
	EACH_NODE(i) {
		at(i);
		self->low[i] = worker(_metadata, LOW_NICE, 1, self->node[i].slots, 60, 10 * MS * jobs_slower());
		ASSERT_EQ(0, launch_begins(self->low[i]));
		ASSERT_EQ(0, set_job(self->g, self->low[i], JOB + 1, 0));
	}
	ASSERT_SERVES(nodes_ns);
	EACH_NODE(i)
		ASSERT_EQ(0, set_job(self->g, self->ring[0][i], JOB, 0));
	ASSERT_SERVES(job_ns);
	ASSERT_EQ(0, KFD_WAIT(!state_is(self->low[0], 0, "preempted"), 200 * US, LONG));
	EACH_NODE(i)
		ASSERT_EQ(0, goes_on(&self->low[i]->work[0]));
	TH_LOG("virtual GPU: the slowest of %d requests on %d GPUs: %llu us alone, %llu us beside a low job (%.3f), %llu us decided per node (%.3f)",
	       REQUESTS, self->nr, (unsigned long long)(alone_ns / US), (unsigned long long)(job_ns / US), (double)job_ns / (double)alone_ns,
	       (unsigned long long)(nodes_ns / US), (double)nodes_ns / (double)alone_ns);
	EXPECT_LE(job_ns, alone_ns / 100 * 110);
	ASSERT_RING_ENDS(0);
	EACH_NODE(i)
		ASSERT_DONE_ONCE(self->low[i]);
}

static uint64_t progress_of(struct actor *const *a, int nr)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < nr; i++)
		sum += kfd_work_progress(&a[i]->work[0]);
	return sum;
}

TEST_F_TIMEOUT(collective, low_job_that_leaves_other_devices_loses_little_and_lends_them, 600)
{
	static const char *const how[] = { "decided per node", "a job that stays", "a job that leaves" };
	uint64_t took_ns[3], lent[3];
	struct actor *high;
	int i, mode;

	ASSERT_RING_OF(0, LOW_NICE, false, self->node[0].slots, 3 * TRAINED);
	at(0);
	high = worker(_metadata, 0, 100, self->node[0].slots, 2, 5 * MS * jobs_slower());
	EACH_NODE(i) {
		at(i);
		self->lowest[i] = worker(_metadata, 2 * LOW_NICE - 1, 1, self->node[i].slots, 1000, LOWEST_STEP_NS);
		ASSERT_EQ(0, launch_begins(self->lowest[i]));
	}
	for (mode = 0; mode < 3; mode++) {
		EACH_NODE(i)
			if (mode)
				ASSERT_EQ(0, set_job(self->g, self->ring[0][i], JOB, mode == 1 ? GPREEMPT_JOB_STAY : 0));
		lent[mode] = progress_of(self->lowest, self->nr);
		took_ns[mode] = kfd_now_ns();
		ASSERT_RING_DOES(0, TRAINED);
		while (!actor_done(self->ring[0][0], 0)) {
			ASSERT_EQ(0, launch_completes(high));
			kfd_sleep_ns(20 * MS * jobs_slower());
		}
		EACH_NODE(i)
			ASSERT_EQ(0, actor_wait(self->ring[0][i], 0, LONG));
		took_ns[mode] = kfd_now_ns() - took_ns[mode];
		lent[mode] = progress_of(self->lowest, self->nr) - lent[mode];
		TH_LOG("virtual GPU: a low model of %d rounds on %d GPUs beside a high process on one of them, %s: %llu ms, and %llu items of work below it",
		       TRAINED, self->nr, how[mode], (unsigned long long)(took_ns[mode] / MS), (unsigned long long)lent[mode]);
	}
	/* Seven others to save and to restore, one after the other, take that much of the CPU on which all virtual devices are. */
	EXPECT_LE(took_ns[2], took_ns[0] / 100 * (self->nr > 2 ? 130 : 115));
	/* Why it is the default: the devices do more for others than the job loses. */
	EXPECT_GT((int64_t)((lent[2] - lent[0]) / self->node[0].slots * LOWEST_STEP_NS), ((int64_t)took_ns[2] - (int64_t)took_ns[0]) * self->nr);
	EXPECT_GT(lent[2], 2 * lent[0]);
	EXPECT_GT(lent[2], 2 * lent[1]);
	ASSERT_RING_ENDS(0);
	ASSERT_DONE_ONCE(high);
	EACH_NODE(i) {
		struct kfd_tally t;

		actor_kill(self->lowest[i]);
		t = actor_tally(self->lowest[i]);
		EXPECT_EQ(0, t.twice);
	}
}

TEST_HARNESS_MAIN
