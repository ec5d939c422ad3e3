// SPDX-License-Identifier: MIT
/*
 * measure.c - a row: processes with queues, some of them busy, and calls that take all of these queues off the device
 *
 * The first process has the first queue, and calls AMDKFD_IOC_SET_CU_MASK for it with a mask of all compute units. The driver
 * then unmaps all queues of the GPU, waits until their waves are saved, writes the mask, and maps the queues again, for which
 * it does not wait. Waves note by the device's clock when they could not go on.
 *
 * The processes are forked for the row. Each opens KFD by itself, and copies the notes of its waves to memory that the parent
 * sees. The parent opens nothing.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/kfd_ioctl.h>

#include "kfdlib.h"
#include "probe.h"
#include "wave.h"

#define NS_PER_SECOND		1000000000ull
#define TICKS_PER_US		(1000 / KFD_TICK_NS)
#define RING_PACKETS		64u
#define SETTLE_NS		(20 * KFD_NS_PER_MS)	/* until all waves of a launch run */
#define PAUSE_NS		(2 * KFD_NS_PER_MS)	/* at least, between two calls: until everything is mapped again */
#define SPARE_NS		(20 * KFD_NS_PER_MS)	/* before the waves' end no call begins */
#define QUIET_NS		(50 * KFD_NS_PER_MS)
#define PATIENCE_NS		(10 * NS_PER_SECOND)
#define SPARE_GAPS		8u
#define CLOCK_TRIES		16
#define MASK_WORDS		32u
#define AQL_DISPATCH_ALONE	(2u | (1u << 8) | (2u << 9) | (2u << 11))	/* type, barrier bit, fences of the system */
#define MAX_PROCESSES		PROBE_MAX_QUEUES

/**
 * struct call - one of SET_CU_MASK
 * @begin_ns: by kfd_now_ns()
 * @end_ns: when it had returned
 */
struct call {
	uint64_t begin_ns;
	uint64_t end_ns;
};

/**
 * struct shared - what the processes of a row have in common
 * @created: processes whose queues exist
 * @launch: all of them do
 * @ready: processes whose waves have been launched
 * @go: the calls may begin
 * @finished: processes that have nothing to do any more
 * @stop: all may end
 * @failed: a process could not do its part
 * @why: it says so
 * @first_launch_ns: time of the first launch
 * @clock_offset_ns: to be added to the device's clock
 * @clock_error_ns: so far that may be wrong
 * @calls: how many were made
 * @call: these
 * @stamps: firmware's times could be read
 * @filled: firmware notes them
 * @stamp_us: of each call; -1: none
 * @notes_bytes: of a wave
 * @notes: of all waves, those of the first queue first
 */
struct shared {
	uint32_t created;
	volatile bool launch;
	uint32_t ready;
	volatile bool go;
	uint32_t finished;
	volatile bool stop;
	volatile bool failed;
	char why[PROBE_WHY_BYTES];
	uint64_t first_launch_ns;
	int64_t clock_offset_ns;
	uint64_t clock_error_ns;
	uint32_t calls;
	struct call call[PROBE_MAX_CALLS];
	bool stamps;
	bool filled[PROBE_STAMPS];
	double stamp_us[PROBE_MAX_CALLS][PROBE_STAMPS];
	uint32_t notes_bytes;
	uint8_t notes[] __attribute__((aligned(64)));
};

/**
 * struct work - the waves of one queue
 * @queue: it
 * @waves: how many
 * @first: number of the first one among all of the row
 * @code: descriptor and code
 * @notes: what the waves leave
 * @done: completion of the launch
 */
struct work {
	struct kfd_queue queue;
	uint32_t waves;
	uint32_t first;
	struct kfd_buffer code;
	struct kfd_buffer notes;
	struct kfd_signal *done;
};

struct dispatch {
	uint16_t header;
	uint16_t dimensions;
	uint16_t workgroup[3];
	uint16_t reserved0;
	uint32_t grid[3];
	uint32_t scratch_bytes;
	uint32_t lds_bytes;
	uint64_t kernel;
	uint64_t arguments;
	uint64_t reserved1;
	uint64_t done;
};

_Static_assert(sizeof(struct dispatch) == 64, "AQL packets have 64 bytes");

static struct shared *shared;
static pid_t child[MAX_PROCESSES];

/* ---- a process of the row ---- */

#define TRY(call) do { int err_ = (call); if (err_) fail(#call, err_); } while (0)

static void fail(const char *what, int err) __attribute__((noreturn));

static void fail(const char *what, int err)
{
	if (!__atomic_exchange_n(&shared->failed, true, __ATOMIC_ACQ_REL))
		snprintf(shared->why, sizeof(shared->why), "%.*s: %s", (int)strcspn(what, "("), what, strerror(-err));
	_exit(1);
}

/* Item @i of @count equal parts of @all */
static uint32_t part(uint32_t all, uint32_t count, uint32_t i)
{
	return all / count + (i < all % count);
}

static uint32_t parts_before(uint32_t all, uint32_t count, uint32_t i)
{
	return all / count * i + (i < all % count ? i : all % count);
}

/* For how long waves run */
static uint64_t duration_ns(const struct probe_plan *plan, const struct probe_row *row)
{
	return SETTLE_NS + SPARE_NS + (row->quiet ? QUIET_NS : (uint64_t)plan->calls * plan->call_ms * KFD_NS_PER_MS);
}

static void launch(struct kfd_client *c, struct work *w, const struct probe_plan *plan, const struct probe_row *row)
{
	struct wave_arguments *arguments;
	struct dispatch d = {
		.header = AQL_DISPATCH_ALONE,
		.dimensions = 1,
		.workgroup = { WAVE_LANES, 1, 1 },
		.grid = { w->waves * WAVE_LANES, 1, 1 },
	};

	TRY(kfd_buffer_gtt(c, WAVE_CODE_BYTES + KFD_PAGE_BYTES, &w->code));
	TRY(kfd_buffer_gtt(c, (size_t)w->waves * shared->notes_bytes, &w->notes));
	wave_write(w->code.ptr, row->vgprs);
	memset(w->notes.ptr, 0, w->notes.bytes);
	arguments = (struct wave_arguments *)((uint8_t *)w->code.ptr + WAVE_CODE_BYTES);
	w->done = (struct kfd_signal *)(arguments + 2);
	*arguments = (struct wave_arguments){
		.notes = (uintptr_t)w->notes.ptr,
		.ticks = duration_ns(plan, row) / KFD_TICK_NS,
		.threshold = row->quiet ? UINT32_MAX : (uint32_t)(plan->threshold_us * TICKS_PER_US),
		.notes_bytes = shared->notes_bytes,
		.gaps = plan->calls + SPARE_GAPS,
	};
	kfd_signal_init(w->done, 1);
	d.kernel = (uintptr_t)w->code.ptr;
	d.arguments = (uintptr_t)arguments;
	d.done = (uintptr_t)w->done;
	TRY(kfd_packet_submit(&w->queue, &d, 0));
}

/* The best of some readings of both clocks */
static void compare_clocks(struct kfd_client *c)
{
	struct kfd_ioctl_get_clock_counters_args args = { .gpu_id = c->gpu_id };
	int i;

	shared->clock_error_ns = UINT64_MAX;
	for (i = 0; i < CLOCK_TRIES; i++) {
		uint64_t before = kfd_now_ns(), error;

		if (ioctl(c->kfd_fd, AMDKFD_IOC_GET_CLOCK_COUNTERS, &args))
			fail("GET_CLOCK_COUNTERS", -errno);
		error = (kfd_now_ns() - before + 1) / 2;
		if (error >= shared->clock_error_ns)
			continue;
		shared->clock_error_ns = error;
		shared->clock_offset_ns = (int64_t)(before + error) - (int64_t)args.gpu_clock_counter * KFD_TICK_NS;
	}
}

/* What firmware noted since the last time */
static void look_at_stamps(const struct probe_machine *m, struct probe_stamps *stamps, double *us)
{
	uint32_t i;

	shared->stamps = stamps_read(m->gpu_id, getpid(), stamps);
	for (i = 0; i < PROBE_STAMPS; i++) {
		us[i] = stamps->us[i];
		shared->filled[i] = stamps->filled[i];
	}
}

static void make_calls(const struct probe_machine *m, struct work *w, const struct probe_plan *plan, const struct probe_row *row)
{
	uint32_t mask[MASK_WORDS], bits = (m->cus + 31) / 32 * 32;
	uint64_t end_ns = shared->first_launch_ns + duration_ns(plan, row) - SPARE_NS;
	struct probe_stamps stamps = { 0 };
	double before[PROBE_STAMPS];

	memset(mask, 0xff, sizeof(mask));
	if (bits > MASK_WORDS * 32)
		bits = MASK_WORDS * 32;
	kfd_sleep_ns(SETTLE_NS);
	look_at_stamps(m, &stamps, before);
	while (shared->calls < plan->calls && (!row->busy || kfd_now_ns() < end_ns)) {
		struct call *call = &shared->call[shared->calls];

		call->begin_ns = kfd_now_ns();
		TRY(kfd_queue_set_cu_mask(&w->queue, mask, bits));
		call->end_ns = kfd_now_ns();
		/* What it took to save is what it takes to restore, about. */
		kfd_sleep_ns(PAUSE_NS + 2 * (call->end_ns - call->begin_ns));
		if (shared->stamps)
			look_at_stamps(m, &stamps, shared->stamp_us[shared->calls]);
		shared->calls++;
	}
}

static void wait_until(const volatile bool *flag)
{
	while (!*flag)
		kfd_sleep_ns(KFD_NS_PER_MS);
}

/* Process @p, which does not return */
static void process(const struct probe_machine *m, const struct probe_plan *plan, const struct probe_row *row, uint32_t p)
{
	uint32_t queues = part(row->queues, row->processes, p), before = parts_before(row->queues, row->processes, p), i;
	static struct work work[PROBE_MAX_QUEUES];
	struct kfd_client c;
	uint64_t zero = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	TRY(kfd_client_open(&c));
	c.save_areas = row->in_vram ? KFD_IN_VRAM : KFD_IN_GTT;
	for (i = 0; i < queues; i++)
		TRY(kfd_queue_create(&c, &work[i].queue, KFD_BACKING_GTT, KFD_PRIORITY_NORMAL, RING_PACKETS));
	if (!p)
		compare_clocks(&c);
	/* A queue that is created makes the driver unmap all of them, and waves that it saves begin late. */
	__atomic_add_fetch(&shared->created, 1, __ATOMIC_ACQ_REL);
	wait_until(&shared->launch);
	for (i = 0; i < queues && before + i < row->busy; i++) {
		work[i].waves = part(row->waves, row->busy, before + i);
		work[i].first = parts_before(row->waves, row->busy, before + i);
		__atomic_compare_exchange_n(&shared->first_launch_ns, &zero, kfd_now_ns(), false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
		if (work[i].waves)
			launch(&c, &work[i], plan, row);
	}
	__atomic_add_fetch(&shared->ready, 1, __ATOMIC_ACQ_REL);
	wait_until(&shared->go);
	if (!p && !row->quiet)
		make_calls(m, &work[0], plan, row);
	for (i = 0; i < queues; i++) {
		if (!work[i].waves)
			continue;
		TRY(kfd_signal_poll(work[i].done, duration_ns(plan, row) + PATIENCE_NS));
		memcpy(shared->notes + (size_t)work[i].first * shared->notes_bytes, work[i].notes.ptr,
		       (size_t)work[i].waves * shared->notes_bytes);
	}
	__atomic_add_fetch(&shared->finished, 1, __ATOMIC_ACQ_REL);
	/* A queue that goes away makes the driver unmap all of them. */
	wait_until(&shared->stop);
	for (i = 0; i < queues; i++)
		TRY(kfd_queue_destroy(&work[i].queue));
	_exit(0);
}

/* ---- figures ---- */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, uint32_t count)
{
	qsort(values, count, sizeof(*values), compare);
	return values[(count - 1) / 2];
}

static struct probe_spread spread(double *values, uint32_t count)
{
	struct probe_spread s = { .count = count };

	if (!count)
		return s;
	/* It sorts them. */
	s.median = median(values, count);
	s.least = values[0];
	s.most = values[count - 1];
	return s;
}

static struct wave_notes *notes_of(uint32_t wave)
{
	return (struct wave_notes *)(shared->notes + (size_t)wave * shared->notes_bytes);
}

static int64_t host_ns(uint64_t ticks)
{
	return (int64_t)ticks * KFD_TICK_NS + shared->clock_offset_ns;
}

/* The longest gap of a wave that a call explains: it ends after the call began, and before the next one did. NULL: none */
static const struct wave_gap *gap_of(const struct wave_notes *n, uint32_t noted, uint32_t call)
{
	int64_t from = (int64_t)shared->call[call].begin_ns;
	int64_t until = call + 1 < shared->calls ? (int64_t)shared->call[call + 1].begin_ns : INT64_MAX;
	const struct wave_gap *found = NULL;
	uint32_t i;

	for (i = 0; i < noted; i++) {
		const struct wave_gap *g = &n->gap[i];
		int64_t end = host_ns(g->after);

		if (end >= from && end < until && (!found || g->after - g->before > found->after - found->before))
			found = g;
	}
	return found;
}

static bool ran_all_the_time(const struct wave_notes *n, const struct call *call)
{
	return host_ns(n->began) <= (int64_t)call->begin_ns && host_ns(n->ended) >= (int64_t)call->end_ns;
}

static bool all_ran(const struct probe_row *row, uint32_t call)
{
	uint32_t w;

	for (w = 0; w < row->waves; w++)
		if (!ran_all_the_time(notes_of(w), &shared->call[call]))
			return false;
	return true;
}

/* Return: false if a wave noted no gap. @off: room for a value of each wave */
static bool look_at_gaps(const struct probe_plan *plan, const struct probe_row *row, uint32_t i, double *off, double *stop, double *back)
{
	const struct call *call = &shared->call[i];
	int64_t last_stop = INT64_MIN, last_back = INT64_MIN;
	uint32_t w;

	for (w = 0; w < row->waves; w++) {
		const struct wave_notes *n = notes_of(w);
		const struct wave_gap *g = gap_of(n, plan->calls + SPARE_GAPS - n->left, i);

		if (!g)
			return false;
		off[w] = (double)(g->after - g->before) / TICKS_PER_US;
		if (host_ns(g->before) > last_stop)
			last_stop = host_ns(g->before);
		if (host_ns(g->after) > last_back)
			last_back = host_ns(g->after);
	}
	*stop = (double)(last_stop - (int64_t)call->begin_ns) / KFD_NS_PER_US;
	*back = (double)(last_back - (int64_t)call->end_ns) / KFD_NS_PER_US;
	return true;
}

static void look_at_notes_of_firmware(struct probe_row *row)
{
	double us[PROBE_MAX_CALLS];
	uint32_t i, k, n;

	row->stamps = shared->stamps;
	for (k = 0; k < PROBE_STAMPS && row->stamps; k++) {
		for (i = 0, n = 0; i < shared->calls; i++)
			if (shared->stamp_us[i][k] >= 0)
				us[n++] = shared->stamp_us[i][k];
		row->stamp_us[k] = spread(us, n);
		row->filled[k] = shared->filled[k];
	}
}

static void look_at_calls(const struct probe_plan *plan, struct probe_row *row)
{
	double call[PROBE_MAX_CALLS], most[PROBE_MAX_CALLS], middle[PROBE_MAX_CALLS], stop[PROBE_MAX_CALLS], back[PROBE_MAX_CALLS];
	double *off = calloc(row->waves + 1, sizeof(*off));
	uint32_t n = 0, gaps = 0, i;

	for (i = 0; off && i < shared->calls; i++) {
		if (!all_ran(row, i))
			continue;
		call[n++] = (double)(shared->call[i].end_ns - shared->call[i].begin_ns) / KFD_NS_PER_US;
		if (!row->waves || !look_at_gaps(plan, row, i, off, &stop[gaps], &back[gaps]))
			continue;
		middle[gaps] = median(off, row->waves);
		most[gaps++] = off[row->waves - 1];
	}
	free(off);
	row->uncounted = plan->calls - n;
	row->out_of_time = shared->calls < plan->calls;
	row->call_us = spread(call, n);
	row->off_us = spread(most, gaps);
	row->off_median_us = spread(middle, gaps);
	row->stop_us = spread(stop, gaps);
	row->back_us = spread(back, gaps);
	look_at_notes_of_firmware(row);
	row->clock_error_us = (double)shared->clock_error_ns / KFD_NS_PER_US;
	if (!n)
		snprintf(row->why, sizeof(row->why), "no call found all waves at work");
}

/* Every wave has to have come to its end: what was saved was restored. */
static void look_at_waves(struct probe_row *row)
{
	uint32_t longest = 0, lost = 0, w;

	for (w = 0; w < row->waves; w++) {
		const struct wave_notes *n = notes_of(w);

		lost += !n->ended;
		if (n->longest_short > longest)
			longest = n->longest_short;
	}
	row->quiet_us = (double)longest / TICKS_PER_US;
	if (!lost)
		return;
	row->wrong = true;
	snprintf(row->why, sizeof(row->why), "%u of %u waves did not come to their end", lost, row->waves);
}

/* ---- a row ---- */

void measure_kill(void)
{
	uint32_t p;

	for (p = 0; p < MAX_PROCESSES; p++)
		if (child[p] > 0)
			kill(child[p], SIGKILL);
}

static bool wait_for_all(const uint32_t *count, uint32_t wanted, uint64_t timeout_ns)
{
	uint64_t deadline = kfd_now_ns() + timeout_ns;

	while (__atomic_load_n(count, __ATOMIC_ACQUIRE) < wanted && !shared->failed) {
		if (kfd_now_ns() > deadline)
			return false;
		kfd_sleep_ns(KFD_NS_PER_MS);
	}
	return !shared->failed;
}

static bool reap(uint32_t processes)
{
	bool good = true;
	int status;
	uint32_t p;

	for (p = 0; p < processes; p++) {
		good &= waitpid(child[p], &status, 0) == child[p] && WIFEXITED(status) && !WEXITSTATUS(status);
		child[p] = 0;
	}
	return good;
}

static void run(const struct probe_machine *m, const struct probe_plan *plan, struct probe_row *row)
{
	int foreign = 0;
	uint32_t p;
	bool good;

	for (p = 0; p < row->processes; p++) {
		child[p] = fork();
		if (!child[p])
			process(m, plan, row, p);
	}
	good = wait_for_all(&shared->created, row->processes, PATIENCE_NS);
	shared->launch = good;
	good = good && wait_for_all(&shared->ready, row->processes, PATIENCE_NS);
	if (good) {
		/* Whoever came meanwhile is not disturbed. */
		foreign = machine_foreign_queues(m, row->queues);
		good = !foreign;
	}
	if (foreign)
		snprintf(shared->why, sizeof(shared->why), "queues of other programs are on the GPU");
	shared->go = good;
	good = good && wait_for_all(&shared->finished, row->processes, duration_ns(plan, row) + 2 * PATIENCE_NS);
	shared->stop = good;
	if (!good)
		measure_kill();
	good &= reap(row->processes);
	if (good) {
		look_at_waves(row);
		if (!row->quiet && !row->wrong)
			look_at_calls(plan, row);
	} else {
		snprintf(row->why, sizeof(row->why), "%.*s", PROBE_WHY_BYTES - 1, shared->why[0] ? shared->why : "a process ended, or took too long");
	}
}

void measure_row(const struct probe_machine *m, const struct probe_plan *plan, struct probe_row *row)
{
	uint32_t notes_bytes = sizeof(struct wave_notes) + (plan->calls + SPARE_GAPS) * sizeof(struct wave_gap);
	size_t bytes = sizeof(*shared) + (size_t)row->waves * notes_bytes;

	shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED) {
		snprintf(row->why, sizeof(row->why), "no memory for the notes of %u waves", row->waves);
		return;
	}
	shared->notes_bytes = notes_bytes;
	run(m, plan, row);
	munmap(shared, bytes);
}
