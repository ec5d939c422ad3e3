// SPDX-License-Identifier: MIT
/*
 * account.c - the account of device time against what the virtual GPU has counted itself
 *
 * Some seconds (ACCOUNT_SECONDS) of virtual time (the VM's --icount) with processes of three levels that come and go, and kernels of 0.3 to 30 ms.
 * In one variant policies change as well, and whether the node acts.
 * Needs the virtual GPU, whose `busy' says for how long the queues of each PASID had waves, and a cgroup file system of version 2.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "kselftest_harness.h"

#include "fixture.h"
#include "reset.h"
#include "disturb.h"
#include "gpreempt.h"
#include "worker.h"

#define CGROUP		"/sys/fs/cgroup/gpreempt-account"
/* Of this test alone: what an earlier one ended with would take back from this one's sum. */
#define JOB		((uint32_t)getpid())
#define MAX_ENTRIES	64
#define SETTLE_NS	(300 * MS)	/* twice what a counter lags behind by */
#define LOOK_NS		(5 * MS)	/* between two looks while something changes */
#define QUIET_NS	(25 * MS)	/* at most between two looks at a node without work, so that a beginning is off by that much */
/* On average at most between two looks while nothing changes. The time between them is exponential: once in 20000 times it exceeds ten times its mean. */
#define STEADY_NS	(50 * MS)
#define ONCE_IN_20000	10
/* The sum of two of them exceeds that as rarely. */
#define TWO_IN_20000	13
#define LONG_SECONDS	600

/* Whose counters: of all */
struct usages {
	struct gpreempt_usage_info entry[MAX_ENTRIES];
	int nr;
};

/* A process, and what the device has counted for it */
struct user {
	struct actor *a;
	const char *name;
	int64_t pasid;
	int64_t base_ns;
	int stretches;		/* times that its queue got work, having had none */
};

FIXTURE(account) {
	BEFORE_TEST;
	struct gpreempt *g;
	struct usages first, last;
	int64_t device_ns;
};

FIXTURE_VARIANT(account) {
	const char *policy;
	int64_t observe;
	bool changes;
};

FIXTURE_VARIANT_ADD(account, strict) { .policy = "hpf" };
FIXTURE_VARIANT_ADD(account, shared) { .policy = "wfq" };
FIXTURE_VARIANT_ADD(account, observed) { .policy = "hpf", .observe = 1 };
FIXTURE_VARIANT_ADD(account, changing) { .policy = "hpf", .changes = true };

static const char *account_missing(void)
{
	if (access("/sys/fs/cgroup/cgroup.procs", F_OK))
		return "there is no cgroup file system of version 2";
	return unless_virtual(kfd_vgpu_busy_ns(0) < 0 ? "this virtual GPU does not say how busy it was" : NULL);
}

static int seconds(void)
{
	const char *text = getenv("ACCOUNT_SECONDS");

	return text ? atoi(text) : 20;
}

static bool read_usages(struct gpreempt *g, struct usages *u)
{
	struct gpreempt_usage_info *entries;
	int nr = gpreempt_list_usage(g, 0, kfd_first_gpu_id(), &entries, NULL);

	if (nr < 0 || nr > MAX_ENTRIES)
		return false;
	memcpy(u->entry, entries, nr * sizeof(*entries));
	u->nr = nr;
	free(entries);
	return true;
}

static bool same(const struct gpreempt_usage_info *a, const struct gpreempt_usage_info *b)
{
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case GPREEMPT_USAGE_CGROUP:	return a->cgroup == b->cgroup;
	case GPREEMPT_USAGE_JOB:	return a->job == b->job;
	case GPREEMPT_USAGE_PROCESS:	return a->pid == b->pid;
	default:			return true;
	}
}

static const struct gpreempt_usage_info *find(const struct usages *u, const struct gpreempt_usage_info *like)
{
	int i;

	for (i = 0; i < u->nr; i++)
		if (same(&u->entry[i], like))
			return &u->entry[i];
	return NULL;
}

static uint64_t busy_of(const struct usages *u, struct gpreempt_usage_info like)
{
	const struct gpreempt_usage_info *e = find(u, &like);

	return e ? e->usage.busy_ns : 0;
}

/* Since the test began */
#define BUSY_OF(...)	({ \
	struct gpreempt_usage_info like_ = { __VA_ARGS__ }; \
	busy_of(&self->last, like_) - busy_of(&self->first, like_); \
})

static bool less(const struct gpreempt_usage_info *now, const struct gpreempt_usage_info *then)
{
	return now->usage.busy_ns < then->usage.busy_ns || now->usage.waiting_ns < then->usage.waiting_ns ||
	       now->usage.preempted_ns < then->usage.preempted_ns || now->usage.wave_us < then->usage.wave_us ||
	       now->used_ns < then->used_ns;
}

/* Reads all counters. None has become less, and none of what outlives processes has gone. */
static void look(struct __test_metadata *_metadata, FIXTURE_DATA(account) *self)
{
	struct usages now;
	int i;

	ASSERT_TRUE(read_usages(self->g, &now));
	for (i = 0; i < self->last.nr; i++) {
		const struct gpreempt_usage_info *then = &self->last.entry[i], *e = find(&now, then);

		EXPECT_TRUE(e || then->kind == GPREEMPT_USAGE_PROCESS) TH_LOG("kind %u is gone", then->kind);
		EXPECT_FALSE(e && less(e, then)) TH_LOG("kind %u, pid %d", then->kind, then->pid);
	}
	self->last = now;
}

FIXTURE_SETUP(account)
{
	NEEDS(account_missing());
	SETUP_SCHEDULER("gpreempt_account", 1);
	ASSERT_EQ(0, kfd_param_set_text("gpreempt_policy", variant->policy));
	ASSERT_EQ(0, kfd_param_set("gpreempt_observe", variant->observe));
	ASSERT_TRUE(!mkdir(CGROUP, 0755) || errno == EEXIST);
	ASSERT_EQ(0, gpreempt_open(&self->g));
	ASSERT_TRUE(read_usages(self->g, &self->first));
	self->last = self->first;
	self->device_ns = kfd_vgpu_busy_ns(0);
	ASSERT_LE(0, self->device_ns);
	self->device_ns = kfd_vgpu_stat("busy_ns");
}

FIXTURE_TEARDOWN(account)
{
	actor_forget_all();
	EXPECT_NOTHING_LEFT();
	rmdir(CGROUP);
	gpreempt_close(self->g);
	scheduler_off();
	scheduler_defaults();
}

static struct user user(struct __test_metadata *_metadata, const char *name, int nice, const char *cgroup, uint32_t launches, uint32_t waves,
			uint64_t kernel_ns)
{
	struct user u = { .name = name, .a = actor_start(nice, kfd_work_bytes(launches, waves, 1) + ARENA) };
	char text[32];

	ASSERT_ACTOR(u.a);
	snprintf(text, sizeof(text), "%d", u.a->pid);
	if (cgroup)
		EXPECT_EQ(0, kfd_file_write(CGROUP "/cgroup.procs", text));
	EXPECT_LE(0, actor_queue(u.a, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL));
	EXPECT_EQ(0, actor_work(u.a, launches, waves, 1, kernel_ns));
	u.pasid = kfd_pasid(u.a->pid);
	EXPECT_LT(0, u.pasid);
	u.base_ns = kfd_vgpu_busy_ns(u.pasid);
	return u;
}

static void sends(struct __test_metadata *_metadata, struct user *u, uint32_t launches)
{
	u->stretches += actor_done(u->a, 0);
	EXPECT_EQ(0, actor_submit(u->a, 0, 0, launches, KFD_PACKET_BARRIER)) TH_LOG("%s", u->name);
}

/* The device counts each of its XCCs. */
static int64_t device_ns_of(const struct user *u)
{
	return (kfd_vgpu_busy_ns(u->pasid) - u->base_ns) / u->a->client.num_xcc;
}

static double root(double x)
{
	double r = x > 1 ? x : 1;
	int i;

	for (i = 0; i < 60; i++)
		r = (r + x / r) / 2;
	return r;
}

/*
 * In percent. What a long run keeps, @pct, or in a shorter one @deviations: one is that of a sample of looks, 5 ms apart (account.c).
 */
static double bound_pct(double ns, double pct, double deviations)
{
	double sampled = deviations * 100 / root(ns / LOOK_NS);

	return sampled > pct && seconds() < LONG_SECONDS ? sampled : pct;
}

#define EXPECT_WITHIN(what, device, accounted, pct, deviations) do { \
	double device_ns_ = (device), off_ = 100.0 * ((double)(accounted) - device_ns_) / device_ns_, bound_ = bound_pct(device_ns_, pct, deviations); \
	TH_LOG("%s: the device %.3f ms, the account %.3f ms, %+.2f %% of at most %.2f", what, device_ns_ / 1e6, (accounted) / 1e6, off_, bound_); \
	EXPECT_TRUE(off_ <= bound_ && off_ >= -bound_); \
} while (0)

#define OF_PROCESS(u)	.kind = GPREEMPT_USAGE_PROCESS, .pid = (u).a->pid

static void wait_until_idle(struct __test_metadata *_metadata, FIXTURE_DATA(account) *self)
{
	kfd_sleep_ns(SETTLE_NS);
	look(_metadata, self);
}

/* What a second of the run is made of, beside what @trains, @ends and @dies do */
enum {
	TRAIN_PER_SECOND = 12,
	BATCH_PER_SECOND = 20,
	BURSTS = 8,
	PER_BURST = 10,
	ENDS_PER_SECOND = 20,
	DIES_PER_SECOND = 5,
	CHANGE_SECONDS = 3,
};

/* Each of them for some seconds, again and again */
static void change(struct __test_metadata *_metadata, uint32_t s)
{
	static const char *const policies[] = { "hpf", "wfq", "hpf" };
	uint32_t turn = s / CHANGE_SECONDS % ARRAY_SIZE(policies);

	ASSERT_EQ(0, kfd_param_set_text("gpreempt_policy", policies[turn]));
	ASSERT_EQ(0, kfd_param_set("gpreempt_observe", turn == 2));
}

TEST_F_TIMEOUT(account, is_what_the_device_has_counted, 3600)
{
	uint32_t n = (uint32_t)seconds(), few = self->slots / 8, i, s;
	struct user trains = user(_metadata, "training", LOW_NICE, NULL, n * TRAIN_PER_SECOND, self->slots, 30 * MS);
	struct user batch = user(_metadata, "batch", 5, NULL, n * BATCH_PER_SECOND, self->slots, 5 * MS);
	struct user serves = user(_metadata, "service", 0, NULL, n * BURSTS * PER_BURST, few, 300 * US);
	struct user ends = user(_metadata, "one that ends", LOW_NICE, NULL, n * ENDS_PER_SECOND, few, 3 * MS);
	struct user dies = user(_metadata, "one that is killed", LOW_NICE, "", n * DIES_PER_SECOND, self->slots, 30 * MS);
	struct gpreempt_target target = gpreempt_target_process(ends.a->pid, 0);
	int64_t ended_ns = 0, died_ns = 0, device_ns, sum_ns;
	struct stat cgroup = { 0 };
	unsigned int seed = 7;
	uint64_t second_ns;

	ASSERT_EQ(0, gpreempt_set_job(self->g, &target, JOB, 0));
	ASSERT_EQ(0, stat(CGROUP, &cgroup));
	for (s = 0, second_ns = kfd_now_ns(); s < n; s++, second_ns += SECOND) {
		if (variant->changes && !(s % CHANGE_SECONDS))
			change(_metadata, s);
		sends(_metadata, &trains, TRAIN_PER_SECOND);
		if (ends.a && s < n / 2)
			sends(_metadata, &ends, ENDS_PER_SECOND);
		if (s < n / 2)
			sends(_metadata, &dies, DIES_PER_SECOND);
		for (i = 0; i < BURSTS; i++) {
			kfd_sleep_until_ns(second_ns + i * 120 * MS + rand_r(&seed) % 100 * MS);
			sends(_metadata, &serves, PER_BURST);
			if (i == 3)
				sends(_metadata, &batch, BATCH_PER_SECOND);
			/* In the middle of a kernel */
			if (s == n / 2 - 1 && i == 1) {
				ASSERT_EQ(0, actor_wait_progress(dies.a, 0, (uint64_t)s * DIES_PER_SECOND * self->slots + self->slots, LONG));
				kfd_sleep_ns(7 * MS);
				actor_kill(dies.a);
			}
		}
		look(_metadata, self);
		if (s == n / 2) {
			ASSERT_DONE_ONCE(ends.a);
			wait_until_idle(_metadata, self);
			ended_ns = BUSY_OF(.kind = GPREEMPT_USAGE_JOB, .job = JOB);
			EXPECT_EQ(ended_ns, BUSY_OF(OF_PROCESS(ends)));
			died_ns = BUSY_OF(.kind = GPREEMPT_USAGE_CGROUP, .cgroup = cgroup.st_ino);
			EXPECT_STOPPED(ends.a);
			look(_metadata, self);
			EXPECT_EQ(0, BUSY_OF(OF_PROCESS(ends)));
			EXPECT_EQ(0, BUSY_OF(OF_PROCESS(dies)));
		}
		kfd_sleep_until_ns(second_ns + SECOND);
	}
	ASSERT_DONE_ONCE(trains.a, batch.a, serves.a);
	wait_until_idle(_metadata, self);
	EXPECT_EQ(0, actor_tally(dies.a).twice);
	EXPECT_WITHIN(trains.name, device_ns_of(&trains), BUSY_OF(OF_PROCESS(trains)), 2, 2.5);
	EXPECT_WITHIN(batch.name, device_ns_of(&batch), BUSY_OF(OF_PROCESS(batch)), 2, 2.5);
	/* Kernels that are shorter than the time between looks, and wait for slots between them, are a sample. Doorbells tell only of some. */
	EXPECT_WITHIN(serves.name, device_ns_of(&serves), BUSY_OF(OF_PROCESS(serves)), 2, 4.5);
	/* What is left of those that are gone */
	EXPECT_WITHIN(ends.name, device_ns_of(&ends), ended_ns, 2, 4.5);
	EXPECT_WITHIN(dies.name, device_ns_of(&dies), died_ns, 2, 2.5);
	EXPECT_EQ(ended_ns, BUSY_OF(.kind = GPREEMPT_USAGE_JOB, .job = JOB));
	EXPECT_EQ(died_ns, BUSY_OF(.kind = GPREEMPT_USAGE_CGROUP, .cgroup = cgroup.st_ino));
	device_ns = (kfd_vgpu_stat("busy_ns") - self->device_ns) / trains.a->client.num_xcc;
	EXPECT_WITHIN("node", device_ns, BUSY_OF(.kind = GPREEMPT_USAGE_NODE), 1, 2.5);
	/* Each of the two that are gone has taken back from the node what was counted too much: a distance of looks. */
	sum_ns = BUSY_OF(OF_PROCESS(trains)) + BUSY_OF(OF_PROCESS(batch)) + BUSY_OF(OF_PROCESS(serves)) + ended_ns + died_ns;
	EXPECT_LE(BUSY_OF(.kind = GPREEMPT_USAGE_NODE), sum_ns);
	EXPECT_GE(BUSY_OF(.kind = GPREEMPT_USAGE_NODE) + TWO_IN_20000 * STEADY_NS, sum_ns);
	/* What the node's files say */
	EXPECT_EQ(busy_of(&self->last, (struct gpreempt_usage_info){ .kind = GPREEMPT_USAGE_NODE }), counter("usage/busy_ns"));
	EXPECT_EQ(find(&self->last, &(struct gpreempt_usage_info){ .kind = GPREEMPT_USAGE_NODE })->used_ns, counter("usage/used_ns"));
	/* Each burst came to somebody's kernel. */
	EXPECT_LE(variant->observe ? 0 : variant->changes ? n / 2 : n, counter("preemptions") - self->preemptions);
	EXPECT_EQ(variant->observe, counter("preemptions") == self->preemptions);
	EXPECT_STOPPED(trains.a, batch.a, serves.a);
	/* The one that is killed may have been off the device then, and does not come back. */
	EXPECT_EQ(0, KFD_WAIT(counter("preemptions") - self->preemptions - (counter("resumes") - self->resumes) <= 1, MS, LONG));
}

/*
 * In the middle of a kernel. The scheduler is told before the driver stops the device, and the account ends there: so far may it be behind.
 */
TEST_F_TIMEOUT(account, survives_a_reset, 300)
{
	enum { AFTER = 100 };
	struct user before, after;
	int64_t ns, off_ns;

	NEEDS(recovery_missing());
	if (variant->observe || variant->changes)
		SKIP(return, "a reset is the same under each policy, and while a node observes");
	before = user(_metadata, "before the reset", LOW_NICE, NULL, 20, self->slots, 30 * MS);
	sends(_metadata, &before, 20);
	ASSERT_EQ(0, actor_wait_progress(before.a, 0, 8 * self->slots, LONG));
	kfd_sleep_ns(11 * MS);
	look(_metadata, self);
	ASSERT_EQ(0, recover());
	/* The driver takes page tables down before it resets a device that is still busy: what that met is its own affair. */
	self->health = device_health();
	wait_until_idle(_metadata, self);
	ns = BUSY_OF(OF_PROCESS(before));
	off_ns = ns - device_ns_of(&before);
	TH_LOG("%s: the account %.3f ms, the device %+.3f ms", before.name, ns / 1e6, -off_ns / 1e6);
	EXPECT_GE((int64_t)(QUIET_NS + 4 * LOOK_NS), off_ns > 0 ? off_ns : -off_ns);
	/* It does not go on, and neither does its account. */
	kfd_sleep_ns(SECOND);
	look(_metadata, self);
	EXPECT_EQ(ns, BUSY_OF(OF_PROCESS(before)));
	EXPECT_EQ(0, actor_tally(before.a).twice);
	after = user(_metadata, "after the reset", 0, NULL, AFTER, self->slots, 30 * MS);
	sends(_metadata, &after, AFTER);
	ASSERT_DONE_ONCE(after.a);
	wait_until_idle(_metadata, self);
	/* One end, which is found a distance of looks late. */
	EXPECT_WITHIN(after.name, device_ns_of(&after), BUSY_OF(OF_PROCESS(after)), 100.0 * ONCE_IN_20000 * STEADY_NS / (AFTER * 30 * MS), 0);
	ns += BUSY_OF(OF_PROCESS(after));
	/* What ended with the reset has taken back what was counted too much. */
	EXPECT_LE(BUSY_OF(.kind = GPREEMPT_USAGE_NODE), ns);
	EXPECT_GE(BUSY_OF(.kind = GPREEMPT_USAGE_NODE) + TWO_IN_20000 * STEADY_NS, ns);
	ns = BUSY_OF(.kind = GPREEMPT_USAGE_NODE);
	actor_kill(before.a);
	EXPECT_STOPPED(after.a);
	look(_metadata, self);
	EXPECT_EQ(ns, BUSY_OF(.kind = GPREEMPT_USAGE_NODE));
}

TEST_HARNESS_MAIN
