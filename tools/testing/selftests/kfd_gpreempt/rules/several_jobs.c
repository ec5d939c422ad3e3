// SPDX-License-Identifier: MIT
/*
 * several_jobs.c - processes on several devices that wait for each other: they leave and come back everywhere by one decision, and whatever
 * becomes of one of them, nothing stays held on another device
 *
 * A process of each kind per GPU, on as many as there are, up to eight (vgpu.gpus=2). Resets need amdgpu.gpu_recovery=1.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>

#include "kselftest_harness.h"

#include "fixture.h"
#include "disturb.h"
#include "gpus.h"
#include "worker.h"
#include "jobs.h"

#define LOWEST_NICE	19
#define LOW_JOB		1
#define HIGH_JOB	2
#define CGROUP		"/sys/fs/cgroup/gpreempt-job"
#define TURNS		4
#define BURSTS		50
#define SKEW_WAVES	4

FIXTURE(jobs) {
	BEFORE_JOBS;
	struct actor *low[JOB_GPUS], *high[JOB_GPUS];
};

FIXTURE_SETUP(jobs)
{
	SETUP_JOBS();
}

FIXTURE_TEARDOWN(jobs)
{
	rmdir(CGROUP);
	TEARDOWN_JOBS();
}

#define EACH_NODE(i)	for (i = 0; i < self->nr; i++)

#define HOG_STEPS	100	/* of 10 ms, or longer: jobs_slower() */

/* On each node: a low process that fills it for so many steps, and a high one that has @launches to do, of ten steps */
#define ASSERT_HOGGED(hog_steps, launches) do { \
	int hogged_; \
	EACH_NODE(hogged_) { \
		at(hogged_); \
		self->low[hogged_] = worker(_metadata, LOW_NICE, 1, self->node[hogged_].slots, hog_steps, 10 * MS * jobs_slower()); \
		self->high[hogged_] = worker(_metadata, 0, launches, self->node[hogged_].slots, 10, 10 * MS * jobs_slower()); \
		ASSERT_EQ(0, launch_begins(self->low[hogged_])); \
	} \
} while (0)

/* Without a job: high works on one node, and low goes on on the others. */
#define ASSERT_EACH_DECIDES_ALONE() do { \
	int alone_; \
	ASSERT_EQ(0, launch_preempts(self->high[0], self->low[0])); \
	ASSERT_EQ(0, all_go_on(self->low, 1, self->nr)); \
	ASSERT_EQ(0, actor_wait(self->high[0], 0, LONG)); \
	for (alone_ = 1; alone_ < self->nr; alone_++) \
		EXPECT_EQ(0, preempt_count(self->low[alone_], 0)); \
	ASSERT_EQ(0, WAIT_OFF(self->low, 0)); \
} while (0)

#define ASSERT_HIGHS_ARE_A_JOB() do { \
	int highs_; \
	EACH_NODE(highs_) \
		ASSERT_EQ(0, set_job(self->g, self->high[highs_], HIGH_JOB, 0)); \
} while (0)

/* All low ones end; each item of all work was done once. */
#define ASSERT_ALL_DONE_ONCE() do { \
	int done_node_; \
	EACH_NODE(done_node_) { \
		ASSERT_DONE_ONCE(self->low[done_node_]); \
		if (self->high[done_node_] && self->high[done_node_]->work[0].submitted) \
			ASSERT_DONE_ONCE(self->high[done_node_]); \
	} \
} while (0)

/* On how many nodes is it off the device? */
static int nr_off(struct actor *const *a, int nr)
{
	int i, n = 0;

	for (i = 0; i < nr; i++)
		n += state_is(a[i], 0, "preempted");
	return n;
}

#define WAIT_OFF(a, want)	KFD_WAIT(nr_off(a, self->nr) == (want), 200 * US, LONG)

/* All of these stand still for so long, or each goes on. */
static bool all_stand_still(struct actor *const *a, int nr, uint64_t ns)
{
	uint64_t progress[JOB_GPUS];
	bool still = true;
	int i;

	for (i = 0; i < nr; i++)
		progress[i] = kfd_work_progress(&a[i]->work[0]);
	kfd_sleep_ns(ns);
	for (i = 0; i < nr; i++)
		still &= progress[i] == kfd_work_progress(&a[i]->work[0]);
	return still;
}

static int all_go_on(struct actor *const *a, int first, int nr)
{
	int i, err = 0;

	for (i = first; i < nr && !err; i++)
		err = goes_on(&a[i]->work[0]);
	return err;
}

/* Why its queue has the device, or does not; -1: it has none */
static int verdict_of(struct gpreempt *g, const struct actor *a)
{
	struct gpreempt_target target = gpreempt_target_process(a->pid, 0);
	struct gpreempt_queue_info *queues;
	int n = gpreempt_list_queues(g, &target, &queues), verdict = n > 0 ? (int)queues[0].verdict : -1;

	free(queues);
	return verdict;
}

TEST_F_TIMEOUT(jobs, high_job_at_work_on_one_device_has_all_of_them, 120)
{
	int i;

	ASSERT_HOGGED(HOG_STEPS, 1 + TURNS);
	/* Without a job every node decides alone. */
	ASSERT_EACH_DECIDES_ALONE();

	ASSERT_HIGHS_ARE_A_JOB();
	for (i = 0; i < TURNS; i++) {
		struct actor *high = self->high[i % self->nr];

		ASSERT_EQ(0, trace_moves());
		ASSERT_EQ(0, actor_submit(high, 0, 0, 1, 0));
		ASSERT_EQ(0, WAIT_OFF(self->low, self->nr));
		EXPECT_TRUE(all_stand_still(self->low, self->nr, 40 * MS));
		EXPECT_FALSE(actor_done(high, 0)) TH_LOG("nothing was seen while it worked");
		ASSERT_EQ(0, actor_wait(high, 0, LONG));
		ASSERT_EQ(0, WAIT_OFF(self->low, 0));
		ASSERT_EQ(0, all_go_on(self->low, 0, self->nr));
		EXPECT_MOVED_ONCE("gpreempt_preempt_end", self->low);
		EXPECT_MOVED_ONCE("gpreempt_resume", self->low);
	}
	for (i = 0; i < self->nr; i++)
		EXPECT_EQ(TURNS + !i, preempt_count(self->low[i], 0));
	ASSERT_ALL_DONE_ONCE();
}

/*
 * As a job at work in short bursts has it: what each of its decisions makes of all nodes, it makes within a bound. Of few waves: saving and bringing back
 * all that fit takes the virtual GPU hundreds of microseconds of the guest's time, in which no other CPU has a turn (icount).
 */
TEST_F_TIMEOUT(jobs, nodes_of_a_job_follow_each_other_within_200_us, 120)
{
	int i;

	EACH_NODE(i) {
		at(i);
		self->low[i] = worker(_metadata, LOW_NICE, 1, SKEW_WAVES, 4 * HOG_STEPS, 2 * MS * jobs_slower());
		self->high[i] = worker(_metadata, 0, BURSTS, SKEW_WAVES, 1, 2 * MS * jobs_slower());
		ASSERT_EQ(0, launch_begins(self->low[i]));
	}
	ASSERT_HIGHS_ARE_A_JOB();
	ASSERT_EQ(0, trace_moves());
	for (i = 0; i < BURSTS; i++) {
		ASSERT_EQ(0, launch_completes(self->high[i % self->nr]));
		ASSERT_EQ(0, WAIT_OFF(self->low, 0));
		/* No short gap, after which each node would wait for the next one. */
		kfd_sleep_ns(3 * MS * jobs_slower());
	}
	EXPECT_MOVED_TOGETHER("gpreempt_preempt_end", self->low, BURSTS);
	EXPECT_MOVED_TOGETHER("gpreempt_resume", self->low, BURSTS);
	ASSERT_ALL_DONE_ONCE();
}

/* Low has lower work below it on all nodes: what it does not use is theirs. */
TEST_F_TIMEOUT(jobs, low_job_outranked_on_one_device_leaves_all, 120)
{
	struct actor *lowest[JOB_GPUS];
	int i;

	ASSERT_HOGGED(HOG_STEPS, 1 + TURNS);
	EACH_NODE(i) {
		at(i);
		lowest[i] = worker(_metadata, LOWEST_NICE, 1, self->node[i].slots, 100, 5 * MS * jobs_slower());
		ASSERT_EQ(0, actor_submit(lowest[i], 0, 0, 1, 0));
	}
	ASSERT_EQ(0, WAIT_OFF(lowest, self->nr));
	/* Without a job it stays where nothing outranks it. */
	ASSERT_EACH_DECIDES_ALONE();

	EACH_NODE(i)
		ASSERT_EQ(0, set_job(self->g, self->low[i], LOW_JOB, 0));
	for (i = 0; i < TURNS; i++) {
		ASSERT_EQ(0, trace_moves());
		ASSERT_EQ(0, launch_preempts(self->high[0], self->low[0]));
		ASSERT_EQ(0, WAIT_OFF(self->low, self->nr));
		ASSERT_EQ(0, all_go_on(lowest, 1, self->nr));
		EXPECT_TRUE(state_is(lowest[0], 0, "preempted"));
		ASSERT_EQ(0, actor_wait(self->high[0], 0, LONG));
		ASSERT_EQ(0, WAIT_OFF(self->low, 0));
		ASSERT_EQ(0, all_go_on(self->low, 0, self->nr));
		EXPECT_MOVED_ONCE("gpreempt_preempt_end", self->low);
		EXPECT_MOVED_ONCE("gpreempt_resume", self->low);
	}
	for (i = 0; i < self->nr; i++)
		EXPECT_EQ(TURNS + !i, preempt_count(self->low[i], 0));
	ASSERT_ALL_DONE_ONCE();
	EACH_NODE(i)
		ASSERT_DONE_ONCE(lowest[i]);
}

/* One that is told to stay does. */
TEST_F_TIMEOUT(jobs, job_that_stays_leaves_only_where_it_is_outranked, 120)
{
	struct actor *lowest[JOB_GPUS];
	int i;

	ASSERT_HOGGED(HOG_STEPS, 1);
	EACH_NODE(i) {
		at(i);
		lowest[i] = worker(_metadata, LOWEST_NICE, 1, self->node[i].slots, 10, 5 * MS);
		ASSERT_EQ(0, actor_submit(lowest[i], 0, 0, 1, 0));
		ASSERT_EQ(0, set_job(self->g, self->low[i], LOW_JOB, GPREEMPT_JOB_STAY));
	}
	ASSERT_EQ(0, WAIT_OFF(lowest, self->nr));
	ASSERT_EQ(0, launch_preempts(self->high[0], self->low[0]));
	ASSERT_EQ(0, actor_wait(self->high[0], 0, LONG));
	for (i = 1; i < self->nr; i++)
		EXPECT_EQ(0, preempt_count(self->low[i], 0));
	ASSERT_ALL_DONE_ONCE();
	EACH_NODE(i)
		ASSERT_DONE_ONCE(lowest[i]);
}

/* Its queue on another device waits at a barrier for what it does here. */
TEST_F_TIMEOUT(jobs, job_that_waits_for_itself_on_another_device_is_not_blocked, 120)
{
	struct actor *waiting, *low;
	struct kfd_signal *dep;
	int turn;

	ASSERT_HOGGED(HOG_STEPS, 2);
	waiting = self->high[1];
	low = self->low[1];
	for (turn = 0; turn < 2; turn++) {
		if (turn)
			ASSERT_HIGHS_ARE_A_JOB();
		dep = actor_common_signal(turn, 1);
		ASSERT_EQ(0, actor_submit(self->high[0], 0, 0, 1, 0));
		ASSERT_EQ(0, actor_barrier(waiting, 0, dep));
		ASSERT_EQ(0, actor_submit(waiting, 0, 0, 1, KFD_PACKET_BARRIER));
		if (turn) {
			ASSERT_EQ(0, wait_state(low, 0, "preempted", LONG));
			EXPECT_TRUE(stands_still(&low->work[0], 60 * MS));
			EXPECT_EQ(GPREEMPT_VERDICT_JOB, verdict_of(self->g, waiting));
			EXPECT_FALSE(actor_done(self->high[0], 0)) TH_LOG("nothing was seen while it worked");
		} else {
			EXPECT_EQ(0, KFD_WAIT(verdict_of(self->g, waiting) == GPREEMPT_VERDICT_BLOCKED, MS, LONG));
			EXPECT_EQ(0, goes_on(&low->work[0]));
		}
		ASSERT_EQ(0, actor_wait(self->high[0], 0, LONG));
		/* Nor is it any more once nothing of the job works: it waits for something else. */
		EXPECT_EQ(0, goes_on(&low->work[0]));
		dep->value = 0;
		ASSERT_EQ(0, actor_wait(waiting, 0, LONG));
		ASSERT_EQ(0, WAIT_OFF(self->low, 0));
	}
	ASSERT_ALL_DONE_ONCE();
}

TEST_F_TIMEOUT(jobs, killed_member_leaves_nothing_held, 120)
{
	int i;

	ASSERT_HOGGED(HOG_STEPS, 2);
	ASSERT_HIGHS_ARE_A_JOB();
	ASSERT_EQ(0, actor_submit(self->high[0], 0, 0, 1, 0));
	ASSERT_EQ(0, WAIT_OFF(self->low, self->nr));
	actor_kill(self->high[0]);
	EXPECT_EQ(0, WAIT_OFF(self->low, 0));
	EXPECT_EQ(0, all_go_on(self->low, 0, self->nr));

	/* The others are a job still, which has nothing to do with the device of the one that is gone. */
	ASSERT_EQ(0, actor_submit(self->high[1], 0, 0, 1, 0));
	ASSERT_EQ(0, WAIT_OFF(self->low, self->nr - 1));
	EXPECT_EQ(0, goes_on(&self->low[0]->work[0]));
	ASSERT_EQ(0, actor_wait(self->high[1], 0, LONG));
	EXPECT_EQ(0, WAIT_OFF(self->low, 0));
	EXPECT_EQ(1, preempt_count(self->low[0], 0));
	self->high[0] = NULL;
	/* Where looks are rare a high launch may count as ended for a while. */
	for (i = 1; i < self->nr; i++) {
		EXPECT_LE(2, preempt_count(self->low[i], 0));
		if (!looks_rarely())
			EXPECT_EQ(2, preempt_count(self->low[i], 0));
	}
	ASSERT_ALL_DONE_ONCE();
}

/* One that is off the device dies: the others of its job come back with those that are left. */
TEST_F_TIMEOUT(jobs, member_killed_while_it_is_held_keeps_no_other_one_off, 120)
{
	struct actor *lowest;

	ASSERT_HOGGED(HOG_STEPS, 1);
	at(1);
	lowest = worker(_metadata, LOWEST_NICE, 1, self->node[1].slots, 40, 5 * MS);
	ASSERT_EQ(0, actor_submit(lowest, 0, 0, 1, 0));
	ASSERT_EQ(0, set_job(self->g, self->low[0], LOW_JOB, 0));
	ASSERT_EQ(0, set_job(self->g, self->low[1], LOW_JOB, 0));
	ASSERT_EQ(0, launch_preempts(self->high[0], self->low[0]));
	ASSERT_EQ(0, wait_state(self->low[1], 0, "preempted", LONG));
	actor_kill(self->low[0]);
	EXPECT_EQ(0, goes_on(&self->low[1]->work[0]));
	EXPECT_FALSE(actor_done(self->high[0], 0)) TH_LOG("it came back because the high one has ended");
	ASSERT_DONE_ONCE(self->high[0], self->low[1], lowest);
	EXPECT_EQ(1, preempt_count(self->low[1], 0));
}

TEST_F_TIMEOUT(jobs, removed_job_leaves_nothing_held, 120)
{
	int i;

	ASSERT_HOGGED(HOG_STEPS, 1);
	ASSERT_HIGHS_ARE_A_JOB();
	ASSERT_EQ(0, actor_submit(self->high[0], 0, 0, 1, 0));
	ASSERT_EQ(0, WAIT_OFF(self->low, self->nr));
	EACH_NODE(i)
		ASSERT_EQ(0, clear_job(self->g, self->high[i]));
	EXPECT_EQ(0, all_go_on(self->low, 1, self->nr));
	EXPECT_TRUE(state_is(self->low[0], 0, "preempted"));
	EXPECT_FALSE(actor_done(self->high[0], 0)) TH_LOG("they came back because the high one has ended");
	ASSERT_ALL_DONE_ONCE();
	EACH_NODE(i)
		EXPECT_EQ(1, preempt_count(self->low[i], 0));
}

/* What integrations into cluster managers do: the processes of a container or of a step are a job. */
TEST_F_TIMEOUT(jobs, cgroup_is_a_job_on_all_devices, 120)
{
	struct gpreempt_target cgroup;
	struct stat of_cgroup;
	char pid[16];
	int i;

	if (access("/sys/fs/cgroup/cgroup.procs", F_OK))
		SKIP(return, "no cgroup v2 file system at /sys/fs/cgroup");
	ASSERT_EQ(0, mkdir(CGROUP, 0755));
	ASSERT_EQ(0, stat(CGROUP, &of_cgroup));
	ASSERT_HOGGED(3 * HOG_STEPS, 2);
	EACH_NODE(i) {
		snprintf(pid, sizeof(pid), "%d", self->high[i]->pid);
		ASSERT_EQ(0, kfd_file_write(CGROUP "/cgroup.procs", pid));
	}
	cgroup = gpreempt_target_cgroup(open(CGROUP, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	ASSERT_EQ(0, gpreempt_set_job(self->g, &cgroup, of_cgroup.st_ino, 0));
	ASSERT_EQ(0, actor_submit(self->high[0], 0, 0, 1, 0));
	ASSERT_EQ(0, WAIT_OFF(self->low, self->nr));
	ASSERT_EQ(0, actor_wait(self->high[0], 0, LONG));
	ASSERT_EQ(0, WAIT_OFF(self->low, 0));

	/* The cgroup goes, and with it the job. */
	EACH_NODE(i) {
		snprintf(pid, sizeof(pid), "%d", self->high[i]->pid);
		ASSERT_EQ(0, kfd_file_write("/sys/fs/cgroup/cgroup.procs", pid));
	}
	close(cgroup.cgroup_fd);
	ASSERT_EQ(0, rmdir(CGROUP));
	kfd_sleep_ns(1500 * MS);
	ASSERT_EQ(0, launch_preempts(self->high[0], self->low[0]));
	EXPECT_EQ(0, all_go_on(self->low, 1, self->nr));
	ASSERT_ALL_DONE_ONCE();
	for (i = 1; i < self->nr; i++)
		EXPECT_EQ(1, preempt_count(self->low[i], 0));
}

/*
 * The driver suspends all processes of KFD for a reset, on whatever device, and they come back no more (driver-notes.rst). What the nodes
 * said of the job ends with it, and a job that comes later has all nodes.
 */
TEST_F_TIMEOUT(jobs, reset_of_one_device_leaves_nothing_of_a_job_held, 120)
{
	int i;

	NEEDS(unless_virtual(recovery_missing()));
	ASSERT_HOGGED(HOG_STEPS, 1);
	ASSERT_HIGHS_ARE_A_JOB();
	ASSERT_EQ(0, actor_submit(self->high[0], 0, 0, 1, 0));
	ASSERT_EQ(0, WAIT_OFF(self->low, self->nr));
	at(0);
	ASSERT_EQ(0, reset_device());
	actor_forget_all();
	EXPECT_NO_NODE_HOLDS();

	ASSERT_HOGGED(HOG_STEPS, 1);
	kfd_sleep_ns(50 * MS);
	EXPECT_EQ(0, nr_off(self->low, self->nr)) TH_LOG("words of the job that is gone");
	ASSERT_HIGHS_ARE_A_JOB();
	ASSERT_EQ(0, actor_submit(self->high[1], 0, 0, 1, 0));
	ASSERT_EQ(0, WAIT_OFF(self->low, self->nr));
	EACH_NODE(i) {
		at(i);
		EXPECT_FALSE(node_state_is("failed"));
		EXPECT_FALSE(node_state_is("paused"));
	}
	ASSERT_ALL_DONE_ONCE();
}

TEST_HARNESS_MAIN
