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

/* What a group has had on the device, by its own account, in microseconds; without a name all of them */
static uint64_t served_us(struct __test_metadata *_metadata, struct gpreempt *g, const char *group)
{
	struct gpreempt_share_info *infos;
	int i, nr = gpreempt_list_shares(g, &infos);
	struct stat cgroup = { 0 };
	uint64_t us = 0;
	char path[128];

	if (group) {
		path_of(group, path, sizeof(path));
		EXPECT_EQ(0, stat(path, &cgroup));
	}
	EXPECT_LT(0, nr);
	for (i = 0; i < nr; i++)
		if (infos[i].gpu_id == kfd_first_gpu_id() && infos[i].cgroup_id == cgroup.st_ino && !infos[i].job)
			us = infos[i].served_us;
	free(infos);
	return us;
}

/* In percent of all, by work done and by the account */
#define EXPECT_PART(a, group, all_steps, all_us, least, most) do { \
	double done_ = 100.0 * kfd_work_progress(&(a)->work[0]) / (all_steps); \
	double had_ = 100.0 * served_us(_metadata, self->g, group) / (all_us); \
	TH_LOG("%s: %.1f %% of the work, %.1f %% of the time", group, done_, had_); \
	EXPECT_TRUE(done_ >= (least) && done_ <= (most)); \
	EXPECT_TRUE(had_ >= (least) - 1 && had_ <= (most) + 1); \
} while (0)

/* Short kernels of one and long kernels of the other: neither's lengths count. */
TEST_F_TIMEOUT(shares, weights_of_three_to_one, 120)
{
	enum { STEPS = 400, LAUNCHES = 50 };
	struct actor *heavy = in_group(_metadata, "a", self->slots, LAUNCHES, STEPS / LAUNCHES, 2 * MS);
	struct actor *light = in_group(_metadata, "b", self->slots, 1, STEPS, 2 * MS);
	uint64_t all;

	SHARE("a", .weight = 300);
	SHARE("b", .weight = 100);
	start(_metadata, light, 1);
	start(_metadata, heavy, LAUNCHES);
	ASSERT_EQ(0, actor_wait_progress(heavy, 0, self->slots * STEPS * 4 / 5, LONG));
	all = kfd_work_progress(&heavy->work[0]) + kfd_work_progress(&light->work[0]);
	EXPECT_PART(heavy, "a", all, served_us(_metadata, self->g, NULL), 73, 77);
	EXPECT_PART(light, "b", all, served_us(_metadata, self->g, NULL), 23, 27);
	EXPECT_GE(preempt_count(light, 0), 4);
	ASSERT_DONE_ONCE(heavy, light);
	CLEAR("a");
	CLEAR("b");
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
}

TEST_F_TIMEOUT(shares, a_minimum_of_a_fifth_beside_four, 120)
{
	enum { STEPS = 110 };
	static const char *const names[] = { "b", "c", "d", "a/x" };
	struct actor *small = in_group(_metadata, "a/y", self->slots, 1, STEPS, 2 * MS), *greedy[4];
	uint64_t all;
	int i;

	for (i = 0; i < 4; i++) {
		greedy[i] = in_group(_metadata, names[i], self->slots, 1, STEPS, 2 * MS);
		SHARE(names[i], .weight = 10000);
		start(_metadata, greedy[i], 1);
	}
	SHARE("a/y", .weight = 1, .min_pct = 20);
	start(_metadata, small, 1);
	ASSERT_EQ(0, actor_wait_progress(small, 0, self->slots * STEPS * 4 / 5, LONG));
	all = kfd_work_progress(&small->work[0]);
	for (i = 0; i < 4; i++)
		all += kfd_work_progress(&greedy[i]->work[0]);
	EXPECT_PART(small, "a/y", all, served_us(_metadata, self->g, NULL), 18, 23);
	ASSERT_DONE_ONCE(small);
	for (i = 0; i < 4; i++) {
		ASSERT_DONE_ONCE(greedy[i]);
		CLEAR(names[i]);
	}
	CLEAR("a/y");
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
}

/* For a second, in which nothing else works */
TEST_F_TIMEOUT(shares, a_maximum_of_thirty_percent_alone, 120)
{
	enum { STEPS = 200, PERIOD_US = 20000, STEP_MS = 2 };
	struct actor *a = in_group(_metadata, "a", self->slots, 1, STEPS, STEP_MS * MS);
	uint64_t began_ns, ns, us, steps;
	double had, done;

	SHARE("a", .weight = 100, .quota_us = PERIOD_US * 3 / 10, .period_us = PERIOD_US);
	start(_metadata, a, 1);
	ASSERT_EQ(0, actor_wait_progress(a, 0, 1, LONG));
	began_ns = kfd_now_ns();
	us = served_us(_metadata, self->g, "a");
	steps = kfd_work_progress(&a->work[0]);
	kfd_sleep_ns(SECOND);
	ns = kfd_now_ns() - began_ns;
	had = 100.0 * (served_us(_metadata, self->g, "a") - us) * 1000 / ns;
	done = 100.0 * (kfd_work_progress(&a->work[0]) - steps) / self->slots * STEP_MS * MS / ns;
	TH_LOG("of %.1f ms: %.1f %% of the time, %.1f %% of the work that fits", ns / 1e6, had, done);
	/* A quota is at least ten switches: one of several periods more may be in this time. */
	EXPECT_TRUE(had >= 27 && had <= 34);
	EXPECT_TRUE(done >= 24 && done <= 34);
	CLEAR("a");
	ASSERT_DONE_ONCE(a);
	EXPECT_GE(preempt_count(a, 0), 8);
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
}

TEST_F_TIMEOUT(shares, nested_groups, 120)
{
	enum { STEPS = 320 };
	struct actor *x = in_group(_metadata, "a/x", self->slots, 1, STEPS, 2 * MS);
	struct actor *y = in_group(_metadata, "a/y", self->slots, 1, STEPS, 2 * MS);
	struct actor *b = in_group(_metadata, "b", self->slots, 1, STEPS, 2 * MS);
	uint64_t all;

	SHARE("a", .weight = 100);
	SHARE("b", .weight = 100);
	SHARE("a/x", .weight = 300);
	SHARE("a/y", .weight = 100);
	start(_metadata, b, 1);
	start(_metadata, y, 1);
	start(_metadata, x, 1);
	ASSERT_EQ(0, actor_wait_progress(b, 0, self->slots * STEPS * 9 / 10, LONG));
	all = kfd_work_progress(&x->work[0]) + kfd_work_progress(&y->work[0]) + kfd_work_progress(&b->work[0]);
	EXPECT_PART(x, "a/x", all, served_us(_metadata, self->g, NULL), 35, 40);
	EXPECT_PART(y, "a/y", all, served_us(_metadata, self->g, NULL), 10, 15);
	EXPECT_PART(b, "b", all, served_us(_metadata, self->g, NULL), 48, 52);
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
	uint64_t without_ns, with_ns;

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
	EXPECT_GT(served_us(_metadata, self->g, "a"), 2 * served_us(_metadata, self->g, "b"));
	EXPECT_LT(0, served_us(_metadata, self->g, "b"));
	CLEAR("a");
	CLEAR("b");
	ASSERT_DONE_ONCE(high, a, b);
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
}

TEST_HARNESS_MAIN
