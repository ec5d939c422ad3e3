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
#include "worker.h"

#define NODES	"/sys/class/kfd/kfd/gpreempt"

static char mode_path[128];

/* Of the first device that has partitions; NULL, or why there is none. */
static const char *partitions_missing(void)
{
	char modes[64] = "";
	glob_t found;

	if (glob("/sys/class/drm/card*/device/available_compute_partition", 0, NULL, &found))
		return "no device with compute partitions";
	/* What comes anew comes last: from then on another one would be first for the tests that follow as well. */
	if (found.gl_pathc > 1)
		return "there are several devices: gpu-partition divides all of them";
	kfd_file_read(found.gl_pathv[0], modes, sizeof(modes));
	snprintf(mode_path, sizeof(mode_path), "%.*s/current_compute_partition",
		 (int)(strrchr(found.gl_pathv[0], '/') - found.gl_pathv[0]), found.gl_pathv[0]);
	globfree(&found);
	return strstr(modes, "SPX") && strstr(modes, "CPX") ? NULL : "the device has one XCC";
}

static int write_mode(const char *mode)
{
	return kfd_file_write(mode_path, mode);
}

/* A process is busy for KFD until a work item has released it. */
static int set_mode(const char *mode)
{
	int err, late = KFD_WAIT((err = write_mode(mode)) != -EBUSY, 5 * MS, LONG);

	return late ? late : err;
}

static bool mode_is(const char *mode)
{
	char text[16] = "";

	kfd_file_read(mode_path, text, sizeof(text));
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

/* One is preempted for the other on the first node, which has @slots, and everything is done. Meanwhile the mode cannot change. */
static void preempt_once(struct __test_metadata *_metadata, uint32_t slots)
{
	struct actor *low = worker(_metadata, LOW_NICE, 1, slots, 10, 10 * MS);
	struct actor *high = worker(_metadata, 0, 1, slots, 4, 10 * MS);

	ASSERT_EQ(0, launch_interrupts(high, low));
	EXPECT_EQ(-EBUSY, write_mode(mode_is("SPX") ? "CPX" : "SPX"));
	EXPECT_TRUE(state_is(low, 0, "preempted"));
	EXPECT_FALSE(actor_done(high, 0));
	ASSERT_ENDS_BEFORE(high, low);
	ASSERT_DONE_ONCE(low, high);
	EXPECT_EQ(1, preempt_count(low, 0));
	EXPECT_STOPPED(low, high);
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
