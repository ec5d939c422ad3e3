// SPDX-License-Identifier: MIT
/*
 * partition.c - the XCCs of a device are divided into partitions anew, each a node of its own
 *
 * The driver takes all its nodes down for that and sets up others. It does so only while no process uses KFD, so nothing can be
 * preempted then. What has to hold is that it refuses otherwise, and that the scheduler, switched on, goes and comes with the nodes.
 */
#include <dirent.h>
#include <glob.h>

#include "kselftest_harness.h"

#include "fixture.h"

#define NODES	"/sys/class/kfd/kfd/gpreempt"

static char mode_path[128];

/* Of the first device that has partitions; NULL, or why there is none. */
static const char *partitions_missing(void)
{
	char modes[64] = "";
	glob_t found;
	FILE *f;

	if (glob("/sys/class/drm/card*/device/available_compute_partition", 0, NULL, &found))
		return "no device with compute partitions";
	f = fopen(found.gl_pathv[0], "r");
	if (!f || !fgets(modes, sizeof(modes), f))
		modes[0] = '\0';
	if (f)
		fclose(f);
	snprintf(mode_path, sizeof(mode_path), "%.*s/current_compute_partition",
		 (int)(strrchr(found.gl_pathv[0], '/') - found.gl_pathv[0]), found.gl_pathv[0]);
	globfree(&found);
	return strstr(modes, "SPX") && strstr(modes, "CPX") ? NULL : "the device has one XCC";
}

static int write_mode(const char *mode)
{
	FILE *f = fopen(mode_path, "w");
	int err = 0;

	if (!f)
		return -errno;
	if (fputs(mode, f) < 0 || fflush(f))
		err = -errno;
	fclose(f);
	return err;
}

/* A process is busy for KFD until a work item has released it. */
static int set_mode(const char *mode)
{
	uint64_t deadline = kfd_now_ns() + LONG;
	int err;

	while ((err = write_mode(mode)) == -EBUSY && kfd_now_ns() < deadline)
		kfd_sleep_ns(5 * MS);
	return err;
}

static bool mode_is(const char *mode)
{
	char text[16] = "";
	FILE *f = fopen(mode_path, "r");

	if (f && !fgets(text, sizeof(text), f))
		text[0] = '\0';
	if (f)
		fclose(f);
	return !strncmp(text, mode, strlen(mode));
}

/* Nodes that the scheduler shows, all of them switched on */
static int nodes_on(void)
{
	const struct dirent *entry;
	DIR *dir = opendir(NODES);
	char state[32];
	int n = 0;

	while (dir && (entry = readdir(dir))) {
		uint32_t gpu_id = (uint32_t)strtoul(entry->d_name, NULL, 10);

		if (!gpu_id)
			continue;
		if (kfd_gpreempt_text(gpu_id, "state", state, sizeof(state)) || !strcmp(state, "off") ||
		    !strcmp(state, "failed") || kfd_gpreempt_get(gpu_id, "monitor_pid") <= 0)
			n = -1000;
		n++;
	}
	if (dir)
		closedir(dir);
	return n;
}

FIXTURE(partition) {
	BEFORE_TEST;
};

FIXTURE_SETUP(partition)
{
	NEEDS(partitions_missing());
	ASSERT_EQ(0, set_mode("SPX"));
	SETUP_SCHEDULER(NULL, 0);
}

FIXTURE_TEARDOWN(partition)
{
	actor_forget_all();
	EXPECT_EQ(0, wait_no_queues());
	EXPECT_EQ(0, set_mode("SPX"));
	EXPECT_NOTHING_LEFT();
	scheduler_off();
}

static struct actor *worker(struct __test_metadata *_metadata, int nice, uint32_t waves, uint32_t steps)
{
	struct actor *a = actor_start(nice, ARENA);

	ASSERT_ACTOR(a);
	ASSERT_EQ(0, actor_queue(a, KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL));
	ASSERT_EQ(0, actor_work(a, 1, waves, steps, 10 * MS));
	return a;
}

/* One is preempted for the other on the first node, which has @slots, and everything is done. Meanwhile the mode cannot change. */
static void preempt_once(struct __test_metadata *_metadata, uint32_t slots)
{
	struct actor *low = worker(_metadata, LOW_NICE, slots, 10);
	struct actor *high = worker(_metadata, 0, slots, 4);

	ASSERT_EQ(0, launch_interrupts(high, low));
	EXPECT_EQ(-EBUSY, write_mode(mode_is("SPX") ? "CPX" : "SPX"));
	EXPECT_TRUE(state_is(low, 0, "preempted"));
	EXPECT_FALSE(actor_done(high, 0));
	ASSERT_EQ(0, actor_wait(high, 0, LONG));
	EXPECT_FALSE(actor_done(low, 0));
	ASSERT_EQ(0, actor_wait(low, 0, LONG));
	EXPECT_EQ(1, preempt_count(low, 0));
	EXPECT_EXACTLY_ONCE(low, slots * 10);
	EXPECT_EXACTLY_ONCE(high, slots * 4);
	EXPECT_EQ(0, actor_stop(low));
	EXPECT_EQ(0, actor_stop(high));
	EXPECT_EQ(0, wait_no_queues());
}

/* The scheduler stays on all the time: each node that comes is scheduled at once, none that went leaves a monitor. */
TEST_F_TIMEOUT(partition, nodes_come_and_go_while_switched_on, 120)
{
	const struct actor *probe = actor_start(0, ARENA);
	int xccs, i;

	ASSERT_ACTOR(probe);
	xccs = (int)probe->client.num_xcc;
	ASSERT_LE(2, xccs);
	actor_forget_all();
	EXPECT_EQ(1, nodes_on());
	preempt_once(_metadata, self->slots);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, set_mode("CPX"));
		EXPECT_TRUE(mode_is("CPX"));
		EXPECT_EQ(xccs, nodes_on());
		preempt_once(_metadata, self->slots / (uint32_t)xccs);
		ASSERT_EQ(0, set_mode("SPX"));
		EXPECT_TRUE(mode_is("SPX"));
		EXPECT_EQ(1, nodes_on());
	}
	preempt_once(_metadata, self->slots);
}

/* Switched off while the nodes change: what comes is off, and comes on with the others. */
TEST_F_TIMEOUT(partition, nodes_come_switched_off, 120)
{
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 0));
	ASSERT_EQ(0, set_mode("CPX"));
	EXPECT_GT(0, nodes_on());
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 1));
	EXPECT_LE(2, nodes_on());
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 0));
	ASSERT_EQ(0, set_mode("SPX"));
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 1));
	preempt_once(_metadata, self->slots);
}

TEST_HARNESS_MAIN
