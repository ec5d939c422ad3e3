// SPDX-License-Identifier: MIT
/*
 * yardstick_test.c - how queues share an MI308X without a scheduler, against what was measured on a
 * real one (../golden/yardstick.table)
 *
 * Nothing here is fitted. How long a workgroup takes follows from the time of its kernel alone and
 * from how many the device holds.
 */
#include "model_test.h"
#include "../golden/golden.h"

#define TABLE		"../golden/yardstick.table"
#define CU_WAVES	32u
#define PERIOD		(50 * MS)
#define REQUESTS	40u
#define KERNELS		4u		/* of a request */
#define IN_FLIGHT	4u		/* kernels that the one behind has submitted */
#define POLL		(20 * US)
#define THREADS		16u
#define HW_QUEUES	4u
#define TASKS		3u		/* of each thread, where there were 10 */
#define TASK_KERNELS	3u		/* where there were 30 */
#define TASK_SCALE	10u

static struct golden g;

/* A kernel in a queue of its own, again and again */
struct load {
	struct bed_queue *q;
	struct bed_work *w;
	u64 sent;
};

static u64 measured(const char *scenario, const char *figure)
{
	int line = golden_find(&g, scenario, figure);

	CHECK(line >= 0);
	return golden_number(&g, (u32)line, 2);
}

/* The device runs a kernel in so many generations of workgroups, of equal length. @coarse: waves of a workgroup, 0: as it was there */
static struct load load(struct bed_process *p, const char *kernel, u32 coarse)
{
	int line = golden_find(&g, "kernel", kernel);
	u32 groups, waves, device = b->config.xccs * b->config.cus * CU_WAVES, generations;
	struct load l = { .q = bed_queue(b, p) };
	u64 ns;

	CHECK(line >= 0);
	ns = golden_number(&g, (u32)line, 2) * US;
	groups = golden_number(&g, (u32)line, 3);
	waves = golden_number(&g, (u32)line, 4);
	generations = (groups * waves + device - 1) / device;
	l.w = bed_work(b, p, groups * waves, coarse ? coarse : waves, 1, ns / generations);
	return l;
}

static u64 done(const struct load *l)
{
	return (u64)(1 - *l->w->signal);
}

static void submit(struct load *l, u32 kernels)
{
	for (; kernels; kernels--, l->sent++)
		bed_submit(b, l->q, l->w, true);
}

/* Until the kernels of @l are done; @behind never runs out of work meanwhile. Return: when, after @since */
static u64 finish(struct load *l, struct load *behind, u64 since)
{
	while (done(l) < l->sent) {
		if (behind)
			submit(behind, IN_FLIGHT - (u32)(behind->sent - done(behind)));
		bed_run_for(b, POLL);
	}
	return b->now - since;
}

static int by_size(const void *a, const void *c)
{
	return *(const u64 *)a < *(const u64 *)c ? -1 : *(const u64 *)a > *(const u64 *)c;
}

static u64 percentile(u64 *ns, u32 n, u32 percent)
{
	qsort(ns, n, sizeof(*ns), by_size);
	return ns[(n - 1) * percent / 100];
}

/* Within a quarter of what was measured, and said */
static void check_figure(const char *scenario, const char *figure, u64 model_us, bool must)
{
	u64 us = measured(scenario, figure);

	printf("# %s %s: measured %llu us, model %llu us, ratio %llu.%02llu%s\n", scenario, figure, (unsigned long long)us,
	       (unsigned long long)model_us, (unsigned long long)(model_us / us), (unsigned long long)(model_us * 100 / us % 100),
	       must ? "" : " (not held to it)");
	CHECK(!must || (model_us * 100 >= us * 75 && model_us * 100 <= us * 133));
}

static void intensive(u32 coarse)
{
	u64 ns[REQUESTS], alone, begin, since, kernels, kernel_ns;
	struct bed_queue *queues[2];
	struct load high, low;
	struct bed_process *p;
	u32 i;

	CHECK(golden_read(TABLE, &g));
	up_as(bed_mi308x);
	p = bed_process(b);
	high = load(p, "matmul_1024", coarse);
	low = load(p, "matmul_2048b", coarse);
	queues[0] = high.q;
	queues[1] = low.q;
	CHECK(bed_runlist(b, queues, 2));
	since = b->now;
	submit(&high, KERNELS);
	alone = finish(&high, NULL, since);
	since = b->now;
	submit(&low, IN_FLIGHT);
	kernel_ns = finish(&low, NULL, since) / IN_FLIGHT;

	begin = b->now;
	kernels = done(&low);
	for (i = 0; i < REQUESTS; i++) {
		for (since = begin + PERIOD * (i + 1); b->now < since; bed_run_for(b, POLL))
			submit(&low, IN_FLIGHT - (u32)(low.sent - done(&low)));
		since = b->now;
		submit(&high, KERNELS);
		ns[i] = finish(&high, &low, since);
	}
	kernels = done(&low) - kernels;
	check_figure("intensive", "alone_p50", alone / US, true);
	check_figure("intensive", "p50", percentile(ns, REQUESTS, 50) / US, true);
	check_figure("intensive", "p99", percentile(ns, REQUESTS, 99) / US, false);
	/* The one behind loses what the other one took, and no more. */
	printf("# intensive loss: measured %llu per mille, model %llu\n", (unsigned long long)measured("intensive", "loss"),
	       (unsigned long long)(1000 - kernels * kernel_ns * 1000 / (b->now - begin)));
	CHECK(kernels * kernel_ns * 100 >= (b->now - begin) * 80);
}

TEST(yardstick_intensive)
{
	intensive(0);
}

/* Workgroups that are four times as large cost the host a quarter, and share as those do. */
TEST(yardstick_intensive_of_large_workgroups)
{
	intensive(16);
}

/* Threads of a process have streams of their own, and these share four hardware queues: in each, tasks follow one another. */
TEST(yardstick_systematic)
{
	u64 ns[THREADS * TASKS], begun[THREADS], until[THREADS], at, alone;
	u32 i, n = 0, left[THREADS];
	struct bed_queue *queues[HW_QUEUES];
	struct load q[HW_QUEUES];
	struct bed_process *p;

	CHECK(golden_read(TABLE, &g));
	up_as(bed_mi308x);
	p = bed_process(b);
	for (i = 0; i < HW_QUEUES; i++) {
		q[i] = load(p, "matmul_2048", 16);
		queues[i] = q[i].q;
	}
	CHECK(bed_runlist(b, queues, HW_QUEUES));
	at = b->now;
	submit(&q[0], TASK_KERNELS);
	alone = finish(&q[0], NULL, at);
	for (i = 0; i < THREADS; i++) {
		left[i] = TASKS;
		until[i] = 0;
	}
	while (n < THREADS * TASKS) {
		for (i = 0; i < THREADS; i++) {
			struct load *l = &q[i % HW_QUEUES];

			if (until[i] && done(l) >= until[i]) {
				ns[n++] = b->now - begun[i];
				until[i] = 0;
			}
			if (!until[i] && left[i]) {
				left[i]--;
				begun[i] = b->now;
				submit(l, TASK_KERNELS);
				until[i] = l->sent;
			}
		}
		bed_run_for(b, POLL);
	}
	check_figure("systematic", "alone_p50", alone * TASK_SCALE / US, true);
	check_figure("systematic", "p50", percentile(ns, n, 50) * TASK_SCALE / US, true);
	check_figure("systematic", "p99", percentile(ns, n, 99) * TASK_SCALE / US, true);
}

/* A request beside a kernel that fills the device for @ns with workgroups of @wave_ns; what it takes at most */
static u64 newcomer(u64 ns, u64 wave_ns, u64 own_ns)
{
	u32 device, i;
	struct bed_queue *q[2];
	struct bed_work *hog, *late;
	u64 since;

	up_as(bed_mi308x);
	device = b->config.xccs * b->config.cus * CU_WAVES;
	for (i = 0; i < 2; i++)
		q[i] = bed_queue(b, bed_process(b));
	hog = bed_work(b, q[0]->p, device * (u32)(ns / wave_ns), 4, 1, wave_ns);
	late = bed_work(b, q[1]->p, 80 * 4, 4, 1, own_ns);
	CHECK(bed_runlist(b, q, 2));
	bed_submit(b, q[0], hog, true);
	bed_run_for(b, ns / 4);
	CHECK_EQ(bed_stat(b, "slots_busy"), bed_stat(b, "wave_slots"));
	since = b->now;
	bed_submit(b, q[1], late, true);
	CHECK(bed_run_until(b, bed_work_done, late, LONG));
	CHECK(*hog->signal == 1);
	return b->now - since;
}

/* A full device does not starve a newcomer if its workgroups end soon: it has one of each two slots that become free. */
TEST(short_waves_let_a_newcomer_in)
{
	CHECK(newcomer(20 * MS, 500 * US, 100 * US) <= 700 * US);
	CHECK(newcomer(20 * MS, 100 * US, 100 * US) <= 300 * US);
}

/* Waves that last as long as their kernel hide that: who comes late waits for all of it. */
TEST(persistent_waves_keep_a_newcomer_out)
{
	struct bed_queue *q[2];
	struct bed_work *hog, *late;
	u32 i;

	up_as(bed_mi308x);
	for (i = 0; i < 2; i++)
		q[i] = bed_queue(b, bed_process(b));
	hog = bed_work(b, q[0]->p, b->config.xccs * b->config.cus * CU_WAVES, 4, 1, 20 * MS);
	late = bed_work(b, q[1]->p, 80 * 4, 4, 1, 100 * US);
	CHECK(bed_runlist(b, q, 2));
	bed_submit(b, q[0], hog, true);
	bed_run_for(b, 5 * MS);
	bed_submit(b, q[1], late, true);
	CHECK(bed_run_until(b, bed_work_done, hog, LONG));
	CHECK_EQ(*late->signal, 1);
	CHECK_DONE(late);
}
