// SPDX-License-Identifier: MIT
/*
 * shares.c - device time of cgroups by weight, minimum and maximum
 *
 * Assertions are about shares of one run, order and work items: meaningful in virtual time (the VM's --icount). Needs a cgroup file system of
 * version 2.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "kselftest_harness.h"

#include "fixture.h"
#include "gpreempt.h"
#include "worker.h"

#define CGROUPS		"/sys/fs/cgroup"
/* Several times what a change of turns takes on a slow machine */
#define SLICE_US	10000
#define NR_GROUPS	6

FIXTURE(shares) {
	BEFORE_TEST;
	struct gpreempt *g;
};

static const char *const groups[NR_GROUPS] = { "a", "b", "c", "d", "a/x", "a/y" };

static void path_of(const char *group, char *path, size_t size)
{
	snprintf(path, size, CGROUPS "/gpreempt-%s", group);
}

static void remove_groups(void)
{
	char path[128];
	int i;

	for (i = NR_GROUPS - 1; i >= 0; i--) {
		path_of(groups[i], path, sizeof(path));
		rmdir(path);
	}
}

static const char *shares_missing(void)
{
	return access(CGROUPS "/cgroup.procs", F_OK) ? "there is no cgroup file system of version 2" : NULL;
}

FIXTURE_SETUP(shares)
{
	char path[128];
	int i;

	NEEDS(shares_missing());
	SETUP_SCHEDULER("gpreempt_slice_us", SLICE_US);
	remove_groups();
	for (i = 0; i < NR_GROUPS; i++) {
		path_of(groups[i], path, sizeof(path));
		ASSERT_TRUE(!mkdir(path, 0755) || errno == EEXIST);
	}
	ASSERT_EQ(0, gpreempt_open(&self->g));
}

FIXTURE_TEARDOWN(shares)
{
	actor_forget_all();
	EXPECT_NOTHING_LEFT();
	remove_groups();
	gpreempt_close(self->g);
	scheduler_off();
}

/* Without @share: it has none any more. */
static void set_share(struct __test_metadata *_metadata, struct gpreempt *g, const char *group, const struct gpreempt_set_share *share)
{
	struct gpreempt_set_share arg = { .flags = GPREEMPT_SHARE_CLEAR };
	char path[128];
	int fd;

	if (share)
		arg = *share;
	path_of(group, path, sizeof(path));
	fd = open(path, O_RDONLY | O_DIRECTORY);
	ASSERT_LE(0, fd);
	arg.target = gpreempt_target_cgroup(fd);
	EXPECT_EQ(0, gpreempt_set_share(g, &arg));
	close(fd);
}

#define SHARE(group, ...)	set_share(_metadata, self->g, group, &(struct gpreempt_set_share){ __VA_ARGS__ })
#define CLEAR(group)		set_share(_metadata, self->g, group, NULL)

/* A process in a cgroup whose kernels fill the device and run for @steps of @step_ns, so many of them */
static struct actor *in_group(struct __test_metadata *_metadata, const char *group, uint32_t slots, uint32_t launches, uint32_t steps, uint64_t step_ns)
{
	struct actor *a = worker(_metadata, 0, launches, slots, steps, step_ns);
	char path[160], pid[16];

	path_of(group, path, sizeof(path));
	strcat(path, "/cgroup.procs");
	snprintf(pid, sizeof(pid), "%d", a->pid);
	EXPECT_EQ(0, kfd_file_write(path, pid));
	return a;
}

static void start(struct __test_metadata *_metadata, struct actor *a, uint32_t launches)
{
	ASSERT_EQ(0, actor_submit(a, 0, 0, launches, 0));
}

/* What a group has had on the device, by its own account, in microseconds */
static uint64_t served_us(struct __test_metadata *_metadata, struct gpreempt *g, const char *group)
{
	struct gpreempt_share_info *infos;
	int i, nr = gpreempt_list_shares(g, &infos);
	struct stat cgroup;
	uint64_t us = 0;
	char path[128];

	path_of(group, path, sizeof(path));
	EXPECT_EQ(0, stat(path, &cgroup));
	EXPECT_LT(0, nr);
	for (i = 0; i < nr; i++)
		if (infos[i].gpu_id == kfd_first_gpu_id() && infos[i].cgroup_id == cgroup.st_ino && !infos[i].job)
			us = infos[i].served_us;
	free(infos);
	return us;
}

/* Groups in a measure */
#define MAX_MEASURED	5

/**
 * struct measure - what groups have from a moment on, when all of them have had some already
 * @a: their processes
 * @group: their cgroups
 * @nr: how many
 * @steps: what each had done then
 * @us: what each had had on the device then, by its own account
 * @turns: how often each had left the device then
 */
struct measure {
	struct actor *a[MAX_MEASURED];
	const char *group[MAX_MEASURED];
	int nr;
	uint64_t steps[MAX_MEASURED];
	uint64_t us[MAX_MEASURED];
	int64_t turns[MAX_MEASURED];
};

static void measure_add(struct measure *m, struct actor *a, const char *group)
{
	m->a[m->nr] = a;
	m->group[m->nr++] = group;
}

/* A measure begins when all take part. It leaves out what they had before, and where the scheduler placed the new ones. */
static void measure_begin(struct __test_metadata *_metadata, struct gpreempt *g, struct measure *m)
{
	int i;

	for (i = 0; i < m->nr; i++)
		ASSERT_EQ(0, actor_wait_progress(m->a[i], 0, 1, LONG));
	for (i = 0; i < m->nr; i++) {
		m->steps[i] = kfd_work_progress(&m->a[i]->work[0]);
		m->us[i] = served_us(_metadata, g, m->group[i]);
		m->turns[i] = preempt_count(m->a[i], 0);
	}
}

/* Since then */
static void measure_end(struct __test_metadata *_metadata, struct gpreempt *g, struct measure *m)
{
	int i;

	for (i = 0; i < m->nr; i++) {
		m->steps[i] = kfd_work_progress(&m->a[i]->work[0]) - m->steps[i];
		m->us[i] = served_us(_metadata, g, m->group[i]) - m->us[i];
		m->turns[i] = preempt_count(m->a[i], 0) - m->turns[i];
	}
}

static uint64_t measure_sum(const struct measure *m, const uint64_t *of)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < m->nr; i++)
		sum += of[i];
	return sum;
}

/*
 * A turn goes to the group that has had least for its part, so at the beginning of a measure and at its end no group is ahead of that one by more than a
 * slice. One of N groups with the part p is off p of the time by 1 + N * p slices at most: two for one of equals, and less than three for all others here,
 * groups in groups as well.
 */
#define LAG_SLICES	3
/* A turn pays for the switch that begins it, a twentieth of the turn at most (share.c). It takes that from the work of a part, in percent of all. */
#define SWITCH_PCT	1.0
/* A slice has to be so small against the time of a measure that the bounds say something. */
#define LAG_PCT_MOST	3.0

/* The part of what all of a measure had, in percent, by the account and by work done */
static void expect_part(struct __test_metadata *_metadata, const struct measure *m, int i, double pct)
{
	double all_us = measure_sum(m, m->us), had = 100.0 * m->us[i] / all_us, done = 100.0 * m->steps[i] / measure_sum(m, m->steps);
	double lag = 100.0 * LAG_SLICES * SLICE_US / all_us;

	TH_LOG("%s: %.1f %% of the work, %.1f %% of %.1f ms, %lld turns; due %.1f, give or take %.1f", m->group[i], done, had, all_us / 1000,
	       (long long)m->turns[i], pct, lag);
	EXPECT_TRUE(lag <= LAG_PCT_MOST);
	EXPECT_TRUE(had >= pct - lag && had <= pct + lag);
	EXPECT_TRUE(done >= pct - lag - SWITCH_PCT && done <= pct + lag + SWITCH_PCT);
}

/* Short kernels of one and long kernels of the other: neither's lengths count. */
TEST_F_TIMEOUT(shares, weights_of_three_to_one, 120)
{
	enum { STEPS = 500, LAUNCHES = 50 };
	struct actor *heavy = in_group(_metadata, "a", self->slots, LAUNCHES, STEPS / LAUNCHES, 2 * MS);
	struct actor *light = in_group(_metadata, "b", self->slots, 1, STEPS, 2 * MS);
	struct measure m = { .nr = 0 };

	SHARE("a", .weight = 300);
	SHARE("b", .weight = 100);
	measure_add(&m, heavy, "a");
	measure_add(&m, light, "b");
	start(_metadata, light, 1);
	start(_metadata, heavy, LAUNCHES);
	measure_begin(_metadata, self->g, &m);
	ASSERT_EQ(0, actor_wait_progress(heavy, 0, self->slots * STEPS * 9 / 10, LONG));
	measure_end(_metadata, self->g, &m);
	expect_part(_metadata, &m, 0, 75);
	expect_part(_metadata, &m, 1, 25);
	ASSERT_DONE_ONCE(heavy, light);
	CLEAR("a");
	CLEAR("b");
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
}

TEST_F_TIMEOUT(shares, a_minimum_of_a_fifth_beside_four, 120)
{
	enum { STEPS = 150 };
	static const char *const names[] = { "b", "c", "d", "a/x" };
	struct actor *small = in_group(_metadata, "a/y", self->slots, 1, STEPS, 2 * MS), *greedy[4];
	struct measure m = { .nr = 0 };
	int i;

	SHARE("a/y", .weight = 1, .min_pct = 20);
	measure_add(&m, small, "a/y");
	for (i = 0; i < 4; i++) {
		greedy[i] = in_group(_metadata, names[i], self->slots, 1, STEPS, 2 * MS);
		SHARE(names[i], .weight = 10000);
		measure_add(&m, greedy[i], names[i]);
		start(_metadata, greedy[i], 1);
	}
	start(_metadata, small, 1);
	measure_begin(_metadata, self->g, &m);
	ASSERT_EQ(0, actor_wait_progress(small, 0, self->slots * STEPS * 9 / 10, LONG));
	measure_end(_metadata, self->g, &m);
	expect_part(_metadata, &m, 0, 20);
	ASSERT_DONE_ONCE(small);
	for (i = 0; i < 4; i++) {
		ASSERT_DONE_ONCE(greedy[i]);
		CLEAR(names[i]);
	}
	CLEAR("a/y");
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
}

/* For two seconds, in which nothing else works */
TEST_F_TIMEOUT(shares, a_maximum_of_thirty_percent_alone, 120)
{
	enum { STEPS = 400, PERIOD_US = 20000, STEP_MS = 2, PCT = 30 };
	struct actor *a = in_group(_metadata, "a", self->slots, 1, STEPS, STEP_MS * MS);
	struct measure m = { .nr = 0 };
	double had, done, least, most;
	uint64_t ns;

	SHARE("a", .weight = 100, .quota_us = PERIOD_US * PCT / 100, .period_us = PERIOD_US);
	measure_add(&m, a, "a");
	start(_metadata, a, 1);
	measure_begin(_metadata, self->g, &m);
	ns = kfd_now_ns();
	kfd_sleep_ns(2 * SECOND);
	measure_end(_metadata, self->g, &m);
	ns = kfd_now_ns() - ns;
	had = 100.0 * m.us[0] * 1000 / ns;
	done = 100.0 * m.steps[0] / self->slots * STEP_MS * MS / ns;
	/*
	 * The group leaves once in each period, and has a quota for each that begins in this time. The number of periods is off that of leaves by one, and so
	 * is that of quotas by the one of the period in which the time begins.
	 */
	ASSERT_GE(m.turns[0], 20);
	least = PCT - 2.0 * PCT / m.turns[0];
	most = PCT + 2.0 * PCT / m.turns[0];
	TH_LOG("of %.1f ms: %.1f %% of the time, %.1f %% of the work that fits; due %.1f to %.1f, %lld turns", ns / 1e6, had, done, least, most,
	       (long long)m.turns[0]);
	EXPECT_TRUE(had >= least && had <= most);
	/* A quota is at least ten switches. */
	EXPECT_TRUE(done >= least * 9 / 10 && done <= most);
	CLEAR("a");
	ASSERT_DONE_ONCE(a);
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
}

TEST_F_TIMEOUT(shares, nested_groups, 120)
{
	enum { STEPS = 350 };
	struct actor *x = in_group(_metadata, "a/x", self->slots, 1, STEPS, 2 * MS);
	struct actor *y = in_group(_metadata, "a/y", self->slots, 1, STEPS, 2 * MS);
	struct actor *b = in_group(_metadata, "b", self->slots, 1, STEPS, 2 * MS);
	struct measure m = { .nr = 0 };

	SHARE("a", .weight = 100);
	SHARE("b", .weight = 100);
	SHARE("a/x", .weight = 300);
	SHARE("a/y", .weight = 100);
	measure_add(&m, x, "a/x");
	measure_add(&m, y, "a/y");
	measure_add(&m, b, "b");
	start(_metadata, b, 1);
	start(_metadata, y, 1);
	start(_metadata, x, 1);
	measure_begin(_metadata, self->g, &m);
	ASSERT_EQ(0, actor_wait_progress(b, 0, self->slots * STEPS * 9 / 10, LONG));
	measure_end(_metadata, self->g, &m);
	expect_part(_metadata, &m, 0, 37.5);
	expect_part(_metadata, &m, 1, 12.5);
	expect_part(_metadata, &m, 2, 50);
	ASSERT_DONE_ONCE(x, y, b);
	CLEAR("a");
	CLEAR("b");
	CLEAR("a/x");
	CLEAR("a/y");
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
}

/* Each request after the end of the one before and a pause. Returns how long the slowest but one took. */
static uint64_t slow_request(struct __test_metadata *_metadata, struct actor *high, int work, uint32_t n)
{
	uint64_t ns, slowest_ns = 0, next_ns = 0;
	uint32_t i;

	for (i = 0; i < n; i++) {
		ns = kfd_now_ns();
		ASSERT_EQ(0, actor_submit(high, 0, work, 1, 0));
		ASSERT_EQ(0, actor_wait(high, work, LONG));
		ns = kfd_now_ns() - ns;
		if (ns > slowest_ns) {
			next_ns = slowest_ns;
			slowest_ns = ns;
		} else if (ns > next_ns) {
			next_ns = ns;
		}
		kfd_sleep_ns(9 * MS);
	}
	return next_ns;
}

/* Requests above batch jobs: as slow without shares as with them, and these go on by turns. */
TEST_F_TIMEOUT(shares, a_class_above_pays_nothing, 180)
{
	enum { N = 20, STEPS = 1000 };
	struct actor *high = worker(_metadata, 0, 2 * N, self->slots, 1, 4 * MS);
	struct actor *a, *b;
	uint64_t without_ns, with_ns, a_us, b_us;

	ASSERT_EQ(1, actor_work(high, 2 * N, self->slots, 1, 4 * MS));
	a = in_group(_metadata, "a", self->slots, 1, STEPS, 2 * MS);
	b = in_group(_metadata, "b", self->slots, 1, STEPS, 2 * MS);
	ASSERT_EQ(0, setpriority(PRIO_PROCESS, a->pid, LOW_NICE));
	ASSERT_EQ(0, setpriority(PRIO_PROCESS, b->pid, LOW_NICE));
	start(_metadata, a, 1);
	start(_metadata, b, 1);
	kfd_sleep_ns(20 * MS);
	without_ns = slow_request(_metadata, high, 0, N);
	SHARE("a", .weight = 300);
	SHARE("b", .weight = 100);
	with_ns = slow_request(_metadata, high, 1, N);
	TH_LOG("slowest request but one: %llu us without shares, %llu us with", (unsigned long long)without_ns / 1000,
	       (unsigned long long)with_ns / 1000);
	EXPECT_LE(with_ns, without_ns * 11 / 10);
	EXPECT_FALSE(actor_done(a, 0) || actor_done(b, 0));
	a_us = served_us(_metadata, self->g, "a");
	b_us = served_us(_metadata, self->g, "b");
	TH_LOG("had %llu us and %llu us", (unsigned long long)a_us, (unsigned long long)b_us);
	/* A quarter, but for the lag; there is too little time between requests for narrower bounds. */
	EXPECT_LE(b_us, (a_us + b_us) / 4 + LAG_SLICES * SLICE_US);
	EXPECT_LT(0, b_us);
	CLEAR("a");
	CLEAR("b");
	ASSERT_DONE_ONCE(high, a, b);
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
}

TEST_HARNESS_MAIN
