// SPDX-License-Identifier: MIT
/*
 * memory.c - memory that goes away, comes back or was never there, under queues that run and under queues that are preempted
 *
 * amdkfd takes the queues of a process off the device when its user pages change or its VRAM is needed for something else, and puts
 * them back when the memory is there again. A memory violation it answers by taking them off for good, and with an event.
 * Everything holds with the scheduler off and on; what needs preempted queues is in the fixture of that name.
 *
 * Fills VRAM: on a device with more than 4 GiB of it the tests of eviction are skipped.
 */
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "kselftest_harness.h"

#include "fixture.h"
#include "disturb.h"
#include "worker.h"

#define NOWHERE		0x200000000000ull	/* no program has anything there */
#define WAVES		8
#define STEPS		64			/* WAVES * STEPS counters are half a page */
#define LOSE_FILE	"/sys/kernel/debug/vgpu/fault/invalidation_lost"
#define VRAM_LIMIT	(4ull << 30)
#define MIB		(1ull << 20)

/* ---- inside an actor ---- */

enum place { PRIVATE_PAGES, IN_GTT, IN_VRAM, READ_ONLY, NOT_EXECUTABLE };

/* An actor is a process of its own: these are its own */
static struct kfd_buffer buffer[4];
static uint32_t fault_event;
static struct kfd_evictions watched;

/* Returns the address, or a negative errno. Unlike kfdlib's user pages these are inherited by children. */
static int64_t do_buffer(struct actor *a, const int64_t *args)
{
	struct kfd_buffer *b = &buffer[args[0]];
	size_t bytes = (size_t)args[2];
	void *at = (void *)(uintptr_t)args[3];
	int err;

	switch ((enum place)args[1]) {
	case PRIVATE_PAGES:
		at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (at == MAP_FAILED)
			return -errno;
		memset(at, 0, bytes);
		err = kfd_buffer_import(&a->client, at, bytes, b);
		break;
	case IN_VRAM:
		err = kfd_buffer_place(&a->client, KFD_IN_VRAM, at, bytes, KFD_ACCESS_ALL, b);
		break;
	case READ_ONLY:
		err = kfd_buffer_place(&a->client, KFD_IN_GTT, at, bytes, KFD_ACCESS_EXECUTE, b);
		break;
	case NOT_EXECUTABLE:
		err = kfd_buffer_place(&a->client, KFD_IN_GTT, at, bytes, KFD_ACCESS_WRITE, b);
		break;
	default:
		err = kfd_buffer_place(&a->client, KFD_IN_GTT, at, bytes, KFD_ACCESS_ALL, b);
	}
	return err ? err : (int64_t)(uintptr_t)b->ptr;
}

static int64_t do_unmap_buffer(struct actor *a, const int64_t *args)
{
	return kfd_buffer_unmap(&a->client, &buffer[args[0]]);
}

/* Page i of a buffer holds i + a seed in its first word */
static int64_t do_fill(struct actor *a, const int64_t *args)
{
	struct kfd_buffer *b = &buffer[args[0]];
	size_t at;

	for (at = (size_t)args[1]; at < b->bytes; at += KFD_PAGE_BYTES)
		*(volatile uint64_t *)((uint8_t *)b->ptr + at) = (uint64_t)args[2] + at / KFD_PAGE_BYTES;
	return 0;
}

/* How many pages do not */
static int64_t do_compare(struct actor *a, const int64_t *args)
{
	struct kfd_buffer *b = &buffer[args[0]];
	int64_t wrong = 0;
	size_t at;

	for (at = (size_t)args[1]; at < b->bytes; at += KFD_PAGE_BYTES)
		wrong += *(volatile uint64_t *)((uint8_t *)b->ptr + at) != (uint64_t)args[2] + at / KFD_PAGE_BYTES;
	return wrong;
}

/* The counters of a work's only launch lie at the beginning of a buffer; args[4..6]: done, lost, twice */
static int64_t do_tally(struct actor *a, const int64_t *args)
{
	struct kfd_work w = a->work[args[0]];
	struct kfd_tally t = { 0 };

	w.counters = buffer[args[1]].ptr;
	w.guard = w.counters + (size_t)w.waves * w.steps;
	kfd_work_tally(&w, &t);
	a->args[4] = (int64_t)t.done;
	a->args[5] = (int64_t)t.lost;
	a->args[6] = (int64_t)t.twice;
	return 0;
}

/* Access flags are the GPU's: the CPU may put a kernel where the GPU may not run it */
static int64_t do_move_kernel(struct actor *a, const int64_t *args)
{
	memcpy(buffer[args[1]].ptr, a->work[args[0]].kernel, sizeof(*a->work[args[0]].kernel));
	return 0;
}

static int64_t do_fault_event(struct actor *a, const int64_t *args)
{
	return kfd_fault_event(&a->client, &fault_event);
}

/* args[4..7]: address, not present, read only, GPU */
static int64_t do_fault_wait(struct actor *a, const int64_t *args)
{
	struct kfd_memory_fault f = { 0 };
	int err = kfd_fault_wait(&a->client, fault_event, LONG, &f);

	a->args[4] = (int64_t)f.va;
	a->args[5] = f.not_present;
	a->args[6] = f.read_only;
	a->args[7] = f.gpu_id;
	return err;
}

static int64_t do_watch(struct actor *a, const int64_t *args)
{
	return kfd_evictions_watch(&a->client, &watched);
}

/* args[4..6]: evictions, restores, retries */
static int64_t do_count(struct actor *a, const int64_t *args)
{
	int err = kfd_evictions_update(&watched);

	a->args[4] = watched.evictions;
	a->args[5] = watched.restores;
	a->args[6] = watched.retries;
	return err;
}

enum change { UNMAP, PROTECT, UNPROTECT, DROP, FORK };

static int64_t do_change(struct actor *a, const int64_t *args)
{
	struct kfd_buffer *b = &buffer[args[0]];
	int status;
	pid_t pid;

	switch ((enum change)args[1]) {
	case UNMAP:
		return munmap(b->ptr, b->bytes) ? -errno : 0;
	case PROTECT:
		return mprotect(b->ptr, b->bytes, PROT_READ) ? -errno : 0;
	case UNPROTECT:
		return mprotect(b->ptr, b->bytes, PROT_READ | PROT_WRITE) ? -errno : 0;
	case DROP:
		return madvise(b->ptr, b->bytes, MADV_DONTNEED) ? -errno : 0;
	default:
		pid = fork();
		if (pid < 0)
			return -errno;
		if (!pid)
			_exit(*(volatile uint8_t *)b->ptr & 0);
		return waitpid(pid, &status, 0) == pid && !status ? 0 : -ECHILD;
	}
}

/* ---- from outside ---- */

/* A process with a queue, which counts its evictions */
static struct actor *watched_worker(struct __test_metadata *_metadata, int nice)
{
	struct actor *a = with_queue(_metadata, nice);

	ASSERT_EQ(0, actor_call(a, do_watch, 0, 0, 0, 0));
	return a;
}

/* Work whose counters are at the beginning of a buffer, an index; the arena keeps kernel, arguments and signal */
static int work_in(struct actor *a, int64_t address, uint32_t waves, uint32_t steps, uint64_t step_ns)
{
	int w = actor_work(a, 1, waves, steps, step_ns);

	if (w >= 0)
		a->work[w].args[0].counters = (uint64_t)address;
	return w;
}

#define EXPECT_ONCE_IN(a, w, b, items) do { \
	EXPECT_EQ(0, actor_call(a, do_tally, w, b, 0, 0)); \
	EXPECT_EQ((int64_t)(items), (a)->args[4]); \
	EXPECT_EQ(0, (a)->args[5]); \
	EXPECT_EQ(0, (a)->args[6]); \
} while (0)

enum count { EVICTIONS = 4, RESTORES, RETRIES };

/* Of an actor that does do_watch(); a negative errno if it cannot tell */
static int64_t count(struct actor *a, enum count what)
{
	int64_t err = actor_call(a, do_count, 0, 0, 0, 0);

	return err ? err : a->args[what];
}

static int wait_count(struct actor *a, enum count what, int64_t least)
{
	return KFD_WAIT(count(a, what) >= least, MS, LONG);
}

/* Until one of two has been evicted once more than they were together */
static int wait_evicted(struct actor *a, struct actor *b, int64_t before)
{
	return KFD_WAIT(count(a, EVICTIONS) + count(b, EVICTIONS) > before, 200 * US, LONG);
}

/* Until every eviction has ended */
static int wait_at_rest(struct actor *a)
{
	return wait_count(a, RESTORES, count(a, EVICTIONS));
}

/* 6.12 does not count those of a device that MES schedules. */
static bool has_waves(const struct actor *a)
{
	int64_t cus = kfd_proc_stat(a->pid, a->client.gpu_id, "cu_occupancy");

	return cus >= 0 ? cus > 0 : kfd_vgpu_waves(kfd_pasid(a->pid)) > 0;
}

static int wait_waves(const struct actor *a, bool some)
{
	return KFD_WAIT(has_waves(a) == some, MS, LONG);
}

/* ---- with the scheduler off and on ---- */

FIXTURE(memory) {
	struct device_health health;
	bool faults;		/* of the device are what the test is about */
};

FIXTURE_VARIANT(memory) {
	bool scheduler;
};

FIXTURE_VARIANT_ADD(memory, unscheduled) {
	.scheduler = false,
};

FIXTURE_VARIANT_ADD(memory, scheduled) {
	.scheduler = true,
};

FIXTURE_SETUP(memory)
{
	NEEDS(unless_virtual(variant->scheduler ? scheduler_missing() : device_missing()));
	if (variant->scheduler)
		ASSERT_EQ(0, scheduler_defaults());
	if (kfd_param_get("gpreempt_enable") >= 0)
		ASSERT_EQ(0, kfd_param_set("gpreempt_enable", variant->scheduler));
	self->health = device_health();
}

FIXTURE_TEARDOWN(memory)
{
	actor_forget_all();
	if (!self->faults)
		EXPECT_EQ(self->health.gpuvm_faults, device_health().gpuvm_faults);
	EXPECT_EQ(self->health.bad_packets, device_health().bad_packets);
	EXPECT_EQ(self->health.stale_translations, device_health().stale_translations);
	if (variant->scheduler) {
		EXPECT_EQ(0, wait_no_queues());
		EXPECT_EQ(0, kfd_param_set("gpreempt_enable", 0));
	}
}

/*
 * One process does what it must not: with counters where they cannot be, or a kernel where it cannot run. It is told, and stopped;
 * others are not disturbed, and the device is good for the next.
 */
static void violation(struct __test_metadata *_metadata, enum place place, bool not_present, bool read_only)
{
	struct actor *bad = with_queue(_metadata, 0), *good = with_queue(_metadata, 0), *next;
	int64_t at = NOWHERE;

	ASSERT_EQ(0, actor_call(bad, do_fault_event, 0, 0, 0, 0));
	if (place != IN_GTT) {
		at = actor_call(bad, do_buffer, 0, place, KFD_PAGE_BYTES, 0);
		ASSERT_GT(at, 0);
	}
	ASSERT_EQ(0, actor_work(bad, 1, WAVES, STEPS, 100 * US));
	if (place == NOT_EXECUTABLE) {
		ASSERT_EQ(0, actor_call(bad, do_move_kernel, 0, 0, 0, 0));
		bad->work[0].kernel = (void *)(uintptr_t)at;
	} else {
		bad->work[0].args[0].counters = (uint64_t)at;
	}
	ASSERT_EQ(0, actor_work(good, 1, WAVES, STEPS, 2 * MS));
	ASSERT_EQ(0, actor_submit(good, 0, 0, 1, 0));
	ASSERT_EQ(0, actor_wait_progress(good, 0, WAVES, LONG));
	ASSERT_EQ(0, actor_submit(bad, 0, 0, 1, 0));

	ASSERT_EQ(0, actor_call(bad, do_fault_wait, 0, 0, 0, 0));
	EXPECT_EQ(at, bad->args[4]);
	EXPECT_EQ(not_present, bad->args[5]);
	EXPECT_EQ(read_only, bad->args[6]);
	EXPECT_EQ((int64_t)bad->client.gpu_id, bad->args[7]);
	EXPECT_EQ(0, wait_waves(bad, false));
	EXPECT_FALSE(actor_done(bad, 0));
	ASSERT_DONE_ONCE(good);
	EXPECT_EQ(0, actor_stop(bad));

	next = worker(_metadata, 0, 1, WAVES, STEPS, 10 * US);
	ASSERT_EQ(0, actor_submit(next, 0, 0, 1, 0));
	ASSERT_DONE_ONCE(next);
}

TEST_F(memory, missing_page_is_reported_and_stops_its_process_alone)
{
	self->faults = true;
	violation(_metadata, IN_GTT, true, true);	/* a page that is not there may not be written, either */
	EXPECT_GT(device_health().gpuvm_faults, self->health.gpuvm_faults);
}

TEST_F(memory, write_to_read_only_memory_is_reported)
{
	self->faults = true;
	violation(_metadata, READ_ONLY, false, true);
}

TEST_F(memory, fetch_from_data_memory_is_reported)
{
	self->faults = true;
	violation(_metadata, NOT_EXECUTABLE, false, false);	/* amdkfd has no name for it on gfx9 */
}

/*
 * A process replaces what is behind an address while its queue is mapped: the device must see the new pages. Returns the device's
 * count of translations that it used although they were wrong.
 */
static int64_t replace_memory(struct __test_metadata *_metadata)
{
	struct actor *a = with_queue(_metadata, 0);
	int64_t before = device_health().stale_translations, at;

	at = actor_call(a, do_buffer, 0, IN_GTT, KFD_PAGE_BYTES, 0);
	ASSERT_GT(at, 0);
	ASSERT_EQ(0, work_in(a, at, WAVES, STEPS, 10 * US));
	ASSERT_EQ(0, launch_completes(a));
	EXPECT_ONCE_IN(a, 0, 0, WAVES * STEPS);
	/* The first buffer stays allocated: the second cannot get its pages. */
	ASSERT_EQ(0, actor_call(a, do_unmap_buffer, 0, 0, 0, 0));
	ASSERT_EQ(at, actor_call(a, do_buffer, 1, IN_GTT, KFD_PAGE_BYTES, at));
	ASSERT_EQ(1, work_in(a, at, WAVES, STEPS, 10 * US));
	ASSERT_EQ(0, actor_submit(a, 0, 1, 1, 0));
	ASSERT_EQ(0, actor_wait(a, 1, LONG));
	EXPECT_ONCE_IN(a, 1, 1, WAVES * STEPS);
	EXPECT_EQ(0, actor_stop(a));
	return device_health().stale_translations - before;
}

TEST_F(memory, replaced_memory_is_seen)
{
	EXPECT_EQ(0, replace_memory(_metadata));
}

/* Negative control of the test before, and of what all others look at in the end */
TEST_F(memory, lost_invalidation_is_noticed)
{
	int err = kfd_file_write(LOSE_FILE, "1000000");

	if (err)
		SKIP(return, "no " LOSE_FILE ": only the virtual GPU can be told to lose invalidations");
	EXPECT_GT(replace_memory(_metadata), 0);
	EXPECT_EQ(0, kfd_file_write(LOSE_FILE, "0"));
	self->health.stale_translations = device_health().stale_translations;
}

/* User pages that nothing uses change under a queue that runs: it is interrupted, and nothing else. */
static void change_under_work(struct __test_metadata *_metadata, enum change change)
{
	struct actor *a = watched_worker(_metadata, 0);
	int64_t at = actor_call(a, do_buffer, 0, PRIVATE_PAGES, KFD_PAGE_BYTES, 0);

	ASSERT_GT(at, 0);
	ASSERT_EQ(0, actor_work(a, 1, WAVES, STEPS, 5 * MS));
	ASSERT_EQ(0, actor_submit(a, 0, 0, 1, 0));
	ASSERT_EQ(0, actor_wait_progress(a, 0, WAVES, LONG));
	EXPECT_EQ(0, count(a, EVICTIONS));
	ASSERT_EQ(0, actor_call(a, do_change, 0, change, 0, 0));
	EXPECT_EQ(1, count(a, EVICTIONS));
	if (change == PROTECT) {
		/* amdkfd wants to write to them and tries again until it may: nothing runs in the meantime. */
		uint64_t items = kfd_work_progress(&a->work[0]);

		EXPECT_EQ(0, wait_count(a, RETRIES, 3));
		EXPECT_EQ(0, count(a, RESTORES));
		EXPECT_EQ(items, kfd_work_progress(&a->work[0]));
		EXPECT_EQ(0, wait_waves(a, false));
		ASSERT_EQ(0, actor_call(a, do_change, 0, UNPROTECT, 0, 0));
	}
	EXPECT_EQ(0, wait_count(a, RESTORES, 1));
	EXPECT_EQ(0, wait_waves(a, true));
	if (change != UNMAP) {
		ASSERT_EQ(1, work_in(a, at, WAVES, STEPS, 10 * US));
		ASSERT_EQ(0, actor_submit(a, 0, 1, 1, 0));
		EXPECT_EQ(0, actor_wait(a, 1, LONG));
		EXPECT_ONCE_IN(a, 1, 0, WAVES * STEPS);
	}
	EXPECT_EQ(0, actor_wait(a, 0, LONG));
	EXPECT_EQ(0, wait_at_rest(a));
	a->works = 1;
	EXPECT_EXACTLY_ONCE(a);
	EXPECT_EQ(0, actor_stop(a));
}

TEST_F_CALLS(memory, munmap_behind_a_running_queue_interrupts_it_only, change_under_work(_metadata, UNMAP))
TEST_F_CALLS(memory, dropped_pages_are_replaced_under_a_running_queue, change_under_work(_metadata, DROP))
TEST_F_CALLS(memory, write_protected_pages_can_come_back, change_under_work(_metadata, PROTECT))

/* After fork() the pages belong to both; the parent's next write copies them, and the GPU's are the parent's. */
TEST_F(memory, fork_under_a_running_queue_keeps_its_work)
{
	struct actor *a = watched_worker(_metadata, 0);
	int64_t at = actor_call(a, do_buffer, 0, PRIVATE_PAGES, KFD_PAGE_BYTES, 0);

	ASSERT_GT(at, 0);
	ASSERT_EQ(0, work_in(a, at, WAVES, STEPS, 5 * MS));
	ASSERT_EQ(0, actor_submit(a, 0, 0, 1, 0));
	ASSERT_EQ(0, wait_waves(a, true));
	ASSERT_EQ(0, actor_call(a, do_change, 0, FORK, 0, 0));
	EXPECT_EQ(0, wait_count(a, RESTORES, 1));
	EXPECT_EQ(0, wait_waves(a, true));
	EXPECT_EQ(0, actor_wait(a, 0, LONG));
	EXPECT_ONCE_IN(a, 0, 0, WAVES * STEPS);
	EXPECT_EQ(0, actor_stop(a));
}

/* A process with a quarter of VRAM, full of numbers from @seed on, and work whose counters are in it */
static struct actor *vram_user(struct __test_metadata *_metadata, uint64_t vram, int64_t seed)
{
	struct actor *a = watched_worker(_metadata, 0);
	int64_t at = actor_call(a, do_buffer, 0, IN_VRAM, (int64_t)(vram / 4), 0);

	ASSERT_GT(at, 0) { TH_LOG("seed %#llx: %s", (unsigned long long)seed, strerror((int)-at)); }
	ASSERT_EQ(0, actor_call(a, do_fill, 0, KFD_PAGE_BYTES, seed, 0));
	ASSERT_EQ(0, work_in(a, at, WAVES, STEPS, 5 * MS));
	return a;
}

static int64_t do_hog(struct actor *a, const int64_t *args)
{
	static struct hog hog;
	int err = hog_open(&hog, (size_t)args[0]);

	while (!err && hog.chunks < args[1])
		err = hog_more(&hog);
	return err;
}

/* Those who lose their memory and those who take it die while it is being moved, each time a little later. Others keep theirs. */
TEST_F_TIMEOUT(memory, processes_that_die_while_memory_moves_harm_nobody, 120)
{
	enum { ROUNDS = 4 };
	uint64_t vram = vram_bytes();
	struct actor *witness, *loser, *taker;
	int64_t before;
	int i;

	if (!vram || vram > VRAM_LIMIT)
		SKIP(return, "it would have to move half of %llu MiB of VRAM", (unsigned long long)(vram / MIB));
	witness = vram_user(_metadata, vram, 7ll << 32);
	ASSERT_EQ(0, actor_submit(witness, 0, 0, 1, 0));
	for (i = 0; i < ROUNDS; i++) {
		loser = vram_user(_metadata, vram, (int64_t)i << 20);
		taker = actor_start(0, ARENA);
		ASSERT_ACTOR(taker);
		ASSERT_EQ(0, actor_submit(loser, 0, 0, 1, 0));
		before = count(loser, EVICTIONS) + count(witness, EVICTIONS);
		actor_begin(taker, do_hog, (int64_t)(vram / 16), 12, 0, 0);
		EXPECT_EQ(0, wait_evicted(loser, witness, before));
		kfd_sleep_ns((uint64_t)i * MS);
		actor_kill(i & 1 ? taker : loser);
		actor_kill(i & 1 ? loser : taker);
	}
	EXPECT_EQ(0, actor_wait(witness, 0, LONG));
	EXPECT_EQ(0, wait_at_rest(witness));
	EXPECT_ONCE_IN(witness, 0, 0, WAVES * STEPS);
	EXPECT_EQ(0, actor_call(witness, do_compare, 0, KFD_PAGE_BYTES, 7ll << 32, 0));
	EXPECT_EQ(0, actor_stop(witness));
}

/* Three processes have three quarters of VRAM, somebody else wants half of it: whoever loses it waits, and gets it back whole. */
TEST_F_TIMEOUT(memory, evicted_processes_come_back_whole, 120)
{
	uint64_t vram = vram_bytes(), half = vram / 2;
	struct actor *a[3];
	struct hog hog;
	int i, evicted = 0;

	if (!vram || vram > VRAM_LIMIT)
		SKIP(return, "it would have to move half of %llu MiB of VRAM", (unsigned long long)(vram / MIB));
	for (i = 0; i < 3; i++)
		a[i] = vram_user(_metadata, vram, i << 20);
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, actor_submit(a[i], 0, 0, 1, 0));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, wait_waves(a[i], true));
	ASSERT_EQ(0, hog_open(&hog, half / 8));
	while ((uint64_t)hog.chunks * hog.chunk < half)
		ASSERT_EQ(0, hog_more(&hog));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, actor_wait(a[i], 0, LONG));
	for (i = 0; i < 3; i++) {
		evicted += count(a[i], EVICTIONS) > 0;
		EXPECT_EQ(0, wait_at_rest(a[i]));
		EXPECT_ONCE_IN(a[i], 0, 0, WAVES * STEPS);
		EXPECT_EQ(0, actor_call(a[i], do_compare, 0, KFD_PAGE_BYTES, i << 20, 0));
	}
	EXPECT_GE(evicted, 1);
	EXPECT_EQ(0, hog_close(&hog));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, actor_stop(a[i]));
}

/* ---- while the scheduler holds a queue ---- */

FIXTURE(preempted) {
	BEFORE_TEST;
	bool faults;
	struct actor *low;
	struct actor *high;
};

#define HIGH_STEP	(10 * MS)	/* long enough to fill this much VRAM in 60 of them */
#define HIGH_STEP_VRAM	(64 * MIB)

/* A low-priority process is in the middle of a grid, preempted, because a high-priority one runs */
FIXTURE_SETUP(preempted)
{
	uint64_t vram = vram_bytes();
	int64_t at;

	NEEDS(unless_virtual(scheduler_missing()));
	SETUP_SCHEDULER("gpreempt_max_hold_ms", 60000);
	/* The driver's runlists take high's waves off for a moment as well, on a slow device for longer than the policy thinks possible. */
	ASSERT_EQ(0, kfd_param_set("gpreempt_resume_delay_us", 50000));
	/* A preemption of the test before may have waited for the CPU, and have used the budget up. */
	ASSERT_EQ(0, kfd_param_set("gpreempt_overhead_pct", 0));
	self->low = watched_worker(_metadata, LOW_NICE);
	self->high = watched_worker(_metadata, 0);
	at = actor_call(self->low, do_buffer, 0, IN_VRAM, (int64_t)(vram && vram <= VRAM_LIMIT ? vram / 4 : MIB), 0);
	ASSERT_GT(at, 0);
	ASSERT_GT(actor_call(self->low, do_buffer, 1, PRIVATE_PAGES, KFD_PAGE_BYTES, 0), 0);
	ASSERT_GT(actor_call(self->high, do_buffer, 1, PRIVATE_PAGES, KFD_PAGE_BYTES, 0), 0);
	ASSERT_EQ(0, actor_work(self->low, 1, self->slots, 20, 5 * MS));
	ASSERT_EQ(0, actor_work(self->high, 1, self->slots, 60,
				vram > HIGH_STEP_VRAM && vram <= VRAM_LIMIT ? HIGH_STEP * (vram / HIGH_STEP_VRAM) : HIGH_STEP));
	ASSERT_EQ(0, actor_submit(self->low, 0, 0, 1, 0));
	ASSERT_EQ(0, actor_wait_progress(self->low, 0, self->slots, LONG));
	ASSERT_EQ(0, launch_preempts(self->high, self->low));
}

/* Both finish, each item once, and everything that was taken off has been put back */
FIXTURE_TEARDOWN(preempted)
{
	ASSERT_DONE_ONCE(self->low);
	if (!self->faults) {
		ASSERT_DONE_ONCE(self->high);
		EXPECT_EQ(self->health.gpuvm_faults, device_health().gpuvm_faults);
	}
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
	EXPECT_STOPPED(self->low, self->high);
	EXPECT_EQ(0, wait_no_queues());
	EXPECT_EQ(self->health.bad_packets, device_health().bad_packets);
	EXPECT_EQ(self->health.stale_translations, device_health().stale_translations);
	actor_forget_all();
	EXPECT_EQ(0, kfd_param_set("gpreempt_enable", 0));
	EXPECT_EQ(0, scheduler_defaults());
}

/* The low one's memory goes and comes back: that must not put it back on the device. */
static void stays_preempted(struct __test_metadata *_metadata, FIXTURE_DATA(preempted) *self, uint64_t items)
{
	EXPECT_EQ(0, wait_count(self->low, RESTORES, 1));
	kfd_sleep_ns(20 * MS);
	EXPECT_FALSE(actor_done(self->high, 0));
	EXPECT_TRUE(state_is(self->low, 0, "preempted"));
	EXPECT_EQ(items, kfd_work_progress(&self->low->work[0]));
}

TEST_F(preempted, user_pages_change_and_it_stays_off)
{
	uint64_t items = kfd_work_progress(&self->low->work[0]);

	ASSERT_EQ(0, actor_call(self->low, do_change, 1, DROP, 0, 0));
	stays_preempted(_metadata, self, items);
}

TEST_F(preempted, evicted_vram_comes_back_and_it_stays_off)
{
	uint64_t vram = vram_bytes();
	uint64_t items = kfd_work_progress(&self->low->work[0]);
	struct hog hog;

	if (!vram || vram > VRAM_LIMIT)
		SKIP(return, "it would have to move most of %llu MiB of VRAM", (unsigned long long)(vram / MIB));
	ASSERT_EQ(0, actor_call(self->low, do_fill, 0, 0, 7, 0));
	ASSERT_EQ(0, hog_open(&hog, vram / 16));
	/* Until the process has been thrown out once */
	while (!count(self->low, EVICTIONS) && hog.chunks < 15)
		ASSERT_EQ(0, hog_more(&hog));
	stays_preempted(_metadata, self, items);
	EXPECT_EQ(0, hog_close(&hog));
	EXPECT_EQ(0, actor_call(self->low, do_compare, 0, 0, 7, 0));
}

/* The one that is to run is off the device for a while itself: neither is stuck. */
TEST_F(preempted, user_pages_of_the_other_change)
{
	ASSERT_EQ(0, actor_call(self->high, do_change, 1, DROP, 0, 0));
	EXPECT_EQ(0, wait_count(self->high, RESTORES, 1));
}

/* amdkfd stops the one that is to run for good: what it held goes on. */
TEST_F(preempted, violation_of_the_other_releases_it)
{
	self->faults = true;
	ASSERT_EQ(0, actor_call(self->high, do_fault_event, 0, 0, 0, 0));
	ASSERT_EQ(1, work_in(self->high, NOWHERE, 1, 1, 10 * US));
	ASSERT_EQ(0, actor_submit(self->high, 0, 1, 1, 0));
	ASSERT_EQ(0, actor_call(self->high, do_fault_wait, 0, 0, 0, 0));
	EXPECT_EQ((int64_t)NOWHERE, self->high->args[4]);
	EXPECT_EQ(0, wait_waves(self->high, false));
}

TEST_HARNESS_MAIN
