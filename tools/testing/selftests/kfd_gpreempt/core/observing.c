// SPDX-License-Identifier: MIT
/*
 * observing.c - gpreempt_observe=1: the scheduler tells what it would do, and leaves the device and its programs alone
 *
 * Assertions are about counters, runlists that the device saw, and work items.
 */

#include <fcntl.h>
#include <linux/kfd_gpreempt.h>
#include <sys/ioctl.h>

#include "kselftest_harness.h"

#include "fixture.h"
#include "worker.h"

/* What debts would do counts as well: these stories are about who is more urgent. */
SCHEDULER_FIXTURE(observing, ASSERT_EQ(0, kfd_param_set("gpreempt_max_hold_ms", 0)); ASSERT_EQ(0, kfd_param_set("gpreempt_observe", 1)))

static int64_t settled_runlists(void)
{
	kfd_sleep_ns(10 * MS);
	return kfd_vgpu_stat("runlists");
}

/* A file of one of its queues */
static int64_t of_queue(const struct actor *a, const char *file)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d/queues/%u/%s", a->pid, a->queue[0].id, file);
	return kfd_file_read(path, text, sizeof(text)) > 0 ? atoll(text) : -1;
}

TEST_F(observing, hog_is_never_preempted)
{
	struct actor *low = worker(_metadata, LOW_NICE, 4, self->slots, 10, 10 * MS);
	struct actor *high = worker(_metadata, 0, 3, self->slots, 1, 4 * MS);
	int64_t would = counter("would_be_preemptions"), requests = counter("observed_requests"), runlists;

	ASSERT_EQ(0, launches_begin(low, 4, KFD_PACKET_BARRIER));
	runlists = settled_runlists();
	ASSERT_EQ(0, launches_complete(high, 3, KFD_PACKET_BARRIER));
	EXPECT_EQ(0, wait_counter("observed_requests", requests + 1, LONG));
	EXPECT_GT(counter("would_be_preemptions"), would);
	EXPECT_GE(of_queue(low, "would_be_preempt_count"), 1);
	EXPECT_EQ(0, of_queue(high, "would_be_preempt_count"));
	EXPECT_GE(of_queue(high, "observed_requests"), 1);
	ASSERT_DONE_ONCE(high, low);
	EXPECT_EQ(self->preemptions, counter("preemptions"));
	EXPECT_EQ(self->resumes, counter("resumes"));
	EXPECT_EQ(self->runlists, counter("runlists"));
	EXPECT_EQ(0, preempt_count(low, 0));
	/* The device saw none but the driver's own. */
	EXPECT_EQ(runlists, settled_runlists());
	EXPECT_STOPPED(low, high);
}

TEST_F(observing, an_inversion_counts_once)
{
	struct actor *low = worker(_metadata, LOW_NICE, 1, self->slots, 40, 10 * MS);
	struct actor *high = worker(_metadata, 0, 1, self->slots, 1, 4 * MS);
	int64_t would = counter("would_be_preemptions"), resumes = counter("would_be_resumes"), checks;

	ASSERT_EQ(0, launch_begins(low));
	ASSERT_EQ(0, actor_submit(high, 0, 0, 1, 0));
	ASSERT_EQ(0, wait_counter("would_be_preemptions", would + 1, LONG));
	checks = counter("checks");
	ASSERT_EQ(0, wait_counter("checks", checks + 100, LONG));
	EXPECT_EQ(would + 1, counter("would_be_preemptions"));
	ASSERT_DONE_ONCE(low, high);
	EXPECT_EQ(0, wait_counter("would_be_resumes", resumes + 1, LONG));
	EXPECT_EQ(would + 1, counter("would_be_preemptions"));
}

TEST_F(observing, what_is_held_comes_back)
{
	struct actor *low = worker(_metadata, LOW_NICE, 1, self->slots, 40, 10 * MS);
	struct actor *high = worker(_metadata, 0, 1, self->slots, 40, 10 * MS);

	ASSERT_EQ(0, kfd_param_set("gpreempt_observe", 0));
	ASSERT_EQ(0, launch_interrupts(high, low));
	ASSERT_EQ(0, kfd_param_set("gpreempt_observe", 1));
	ASSERT_EQ(0, wait_counter("resumes", self->resumes + 1, LONG));
	EXPECT_FALSE(actor_done(high, 0));
	EXPECT_FALSE(state_is(low, 0, "preempted"));
	EXPECT_EQ(self->preemptions + 1, counter("preemptions"));
	EXPECT_EQ(self->resumes + 1, counter("resumes"));
	/* And is taken again. */
	ASSERT_EQ(0, kfd_param_set("gpreempt_observe", 0));
	ASSERT_EQ(0, wait_state(low, 0, "preempted", LONG));
	ASSERT_DONE_ONCE(low, high);
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
}

TEST_F(observing, to_and_fro_loses_nothing)
{
	struct actor *low = worker(_metadata, LOW_NICE, 20, self->slots, 2, 5 * MS);
	struct actor *high = worker(_metadata, 0, 40, self->slots, 1, 2 * MS);
	int i;

	/* So many preemptions are not what the budget is for, and the tests before have used some of it. */
	ASSERT_EQ(0, kfd_param_set("gpreempt_overhead_pct", 0));
	ASSERT_EQ(0, launches_begin(low, 20, KFD_PACKET_BARRIER));
	for (i = 0; i < 40; i++) {
		ASSERT_EQ(0, actor_submit(high, 0, 0, 1, KFD_PACKET_BARRIER));
		kfd_sleep_ns((1 + i % 4) * MS);
		ASSERT_EQ(0, kfd_param_set("gpreempt_observe", i % 2));
	}
	ASSERT_DONE_ONCE(high, low);
	EXPECT_GT(counter("preemptions"), self->preemptions);
	EXPECT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
}

TEST_F(observing, holds_are_refused)
{
	struct actor *low = worker(_metadata, LOW_NICE, 1, self->slots, 10, 10 * MS);
	struct gpreempt_hold hold = { .target = { .scope = GPREEMPT_SCOPE_PROCESS, .pid = low->pid } };
	int fd = open("/dev/kfd_gpreempt", O_RDWR | O_CLOEXEC);

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, launch_begins(low));
	EXPECT_EQ(-1, ioctl(fd, GPREEMPT_IOC_PREEMPT, &hold));
	EXPECT_EQ(EOPNOTSUPP, errno);
	/* To end one is no preemption. */
	hold = (struct gpreempt_hold){ .target = hold.target };
	EXPECT_EQ(0, ioctl(fd, GPREEMPT_IOC_RESUME, &hold));
	EXPECT_EQ(self->preemptions, counter("preemptions"));
	close(fd);
	ASSERT_DONE_ONCE(low);
}

TEST_HARNESS_MAIN
