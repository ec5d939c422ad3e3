// SPDX-License-Identifier: MIT
/*
 * node_files.c - /sys/class/kfd/kfd/gpreempt/<gpu_id>/: a node's switch and tunables, beside those of all nodes
 *
 * Needs the scheduler.
 */
#define _GNU_SOURCE
#include <fcntl.h>

#include "kselftest_harness.h"

#include "outside.h"

FIXTURE(node_files) {
	OUTSIDE;
};

FIXTURE_SETUP(node_files)
{
	SETUP_OUTSIDE();
}

FIXTURE_TEARDOWN(node_files)
{
	/* For all nodes, so also for those that a test has switched alone. */
	EXPECT_EQ(0, kfd_param_set("gpreempt_enable", 0));
	EXPECT_EQ(0, scheduler_defaults());
	TEARDOWN_OUTSIDE();
}

static bool is(uint32_t gpu_id, const char *file, const char *value)
{
	char text[64];

	return !kfd_gpreempt_text(gpu_id, file, text, sizeof(text)) && !strcmp(text, value);
}

TEST_F(node_files, a_node_is_switched_alone)
{
	struct gpreempt_target all = gpreempt_target_all(), here;
	struct gpreempt_queue_info *queues;
	struct actor *a = worker(_metadata, 0, 1, 1, 1, MS);

	here = gpreempt_target_process(a->pid, self->gpu_id);
	ASSERT_TRUE(is(self->gpu_id, "enabled", "1"));
	ASSERT_EQ(0, kfd_gpreempt_set_text(self->gpu_id, "enabled", "0"));
	EXPECT_TRUE(is(self->gpu_id, "enabled", "0"));
	EXPECT_TRUE(is(self->gpu_id, "state", "off"));
	EXPECT_EQ(1, kfd_param_get("gpreempt_enable"));
	EXPECT_EQ(0, gpreempt_list_queues(self->g, &all, &queues));
	EXPECT_EQ(-EOPNOTSUPP, gpreempt_preempt(self->g, &here, 0, 0));

	/* The parameter is for all nodes. */
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 1));
	EXPECT_TRUE(is(self->gpu_id, "enabled", "1"));
	EXPECT_EQ(0, wait_priority(self->g, a, 7));
	EXPECT_EQ(1, gpreempt_preempt(self->g, AT(process_of(a)), 0, 0));
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 0));
	EXPECT_TRUE(is(self->gpu_id, "enabled", "0"));

	ASSERT_EQ(0, kfd_gpreempt_set_text(self->gpu_id, "enabled", "1"));
	EXPECT_FALSE(is(self->gpu_id, "state", "off"));
	EXPECT_EQ(0, kfd_param_get("gpreempt_enable"));
	EXPECT_EQ(0, wait_priority(self->g, a, 7));
	EXPECT_EQ(1, gpreempt_preempt(self->g, AT(process_of(a)), 0, 0));
	ASSERT_EQ(0, kfd_gpreempt_set_text(self->gpu_id, "enabled", "default"));
	EXPECT_TRUE(is(self->gpu_id, "enabled", "0"));
	ASSERT_EQ(0, kfd_gpreempt_set_text(self->gpu_id, "enabled", "1"));
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 0));
	EXPECT_TRUE(is(self->gpu_id, "state", "off"));
}

TEST_F(node_files, switching_a_node_off_resumes_its_queues)
{
	struct actor *low = worker(_metadata, 0, 1, self->slots, 100, 5 * MS);
	int i;

	ASSERT_EQ(0, launch_begins(low));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, wait_priority(self->g, low, 7));
		ASSERT_EQ(1, gpreempt_preempt(self->g, AT(process_of(low)), 0, GPREEMPT_HOLD_UNBOUNDED));
		ASSERT_EQ(0, kfd_gpreempt_set_text(self->gpu_id, "enabled", "0"));
		ASSERT_EQ(0, kfd_gpreempt_set_text(self->gpu_id, "enabled", "1"));
	}
	ASSERT_DONE_ONCE(low);
}

/* Adopted as when the parameter is written, and born as if it had been. */
TEST_F(node_files, a_node_that_is_on_alone_preempts)
{
	struct actor *low = worker(_metadata, 0, 1, self->slots, 200, 10 * MS), *high;

	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 0));
	ASSERT_EQ(0, kfd_gpreempt_set_text(self->gpu_id, "enabled", "1"));
	high = worker(_metadata, 0, 3, self->slots, 1, 4 * MS);
	ASSERT_EQ(0, gpreempt_set_priority(self->g, AT(process_of(low)), -100));
	ASSERT_EQ(0, wait_priority(self->g, low, -100));
	ASSERT_EQ(0, launch_begins(low));
	ASSERT_EQ(0, launches_complete(high, 3, KFD_PACKET_BARRIER));
	EXPECT_FALSE(actor_done(low, 0));
	EXPECT_GE(preempt_count(low, 0), 1);
	ASSERT_DONE_ONCE(high, low);
}

static const struct {
	const char *name;
	const char *own;
	const char *all;
	const char *preset;
	const char *bad;
	const char *message;
} tunables[] = {
	{ "interval_ms", "7", "6", "5", "0", "gpreempt: interval_ms=0 is below 1; kept 7" },
	{ "poll_us", "0", "200", "80", "49", "gpreempt: poll_us=49 is below 50; kept 0" },
	{ "max_hold_ms", "3600000", "2", "1000", "3600001", "gpreempt: max_hold_ms=3600001 is above 3600000; kept 3600000" },
	{ "relief_ms", "10", "11", "20", "0x", "gpreempt: relief_ms=0x is not a number; kept 10" },
	{ "blocked_us", "100", "0", "2000", "99", "gpreempt: blocked_us=99 is below 100; kept 100" },
	{ "overhead_pct", "50", "1", "0", "51", "gpreempt: overhead_pct=51 is above 50; kept 50" },
	{ "aging_ms", "1", "2", "0", "-1", "gpreempt: aging_ms=-1 is not a number; kept 1" },
	{ "min_run_us", "10", "20", "0", "9", "gpreempt: min_run_us=9 is below 10; kept 10" },
	{ "resume_delay_us", "1000000", "10", "0", "1000001", "gpreempt: resume_delay_us=1000001 is above 1000000; kept 1000000" },
	{ "drain_us", "10", "0", "200", "9", "gpreempt: drain_us=9 is below 10; kept 10" },
	{ "slice_us", "500", "600", "5000", "499", "gpreempt: slice_us=499 is below 500; kept 500" },
	{ "nice", "0", "0", "1", "2", "gpreempt: nice=2 is neither 0 nor 1; kept 0" },
	{ "trust_kfd_priority", "1", "1", "0", "maybe", "gpreempt: trust_kfd_priority=maybe is neither 0 nor 1; kept 1" },
	{ "hw_priority", "follow", "follow", "normal", "high", "gpreempt: hw_priority=high is neither normal nor follow; kept follow" },
	{ "wakeup", "doorbell", "poll", "auto", "both", "gpreempt: wakeup=both is none of auto, poll, doorbell; kept doorbell" },
	{ "unmap", "named", "named", "all", "some", "gpreempt: unmap=some is neither all nor named; kept named" },
	{ "observe", "1", "1", "0", "maybe", "gpreempt: observe=maybe is neither 0 nor 1; kept 1" },
	{ "verify", "1", "1", "0", "", "gpreempt: verify= is neither 0 nor 1; kept 1" },
	{ "account", "1", "1", "0", "2", "gpreempt: account=2 is neither 0 nor 1; kept 1" },
	{ "follow_stop", "1", "1", "0", "2", "gpreempt: follow_stop=2 is neither 0 nor 1; kept 1" },
	{ "idle_evict_us", "1000", "20000", "0", "999", "gpreempt: idle_evict_us=999 is below 1000; kept 1000" },
};

#define NR_TUNABLES	(sizeof(tunables) / sizeof(tunables[0]))

/* Of its own, for all, as it was; and refused with the value, the bound and what stays. */
TEST_F(node_files, tunables_are_the_nodes_until_the_parameter_is_written)
{
	char file[64], parameter[64], before[64], after[64];
	size_t i, said;

	for (i = 0; i < NR_TUNABLES; i++) {
		snprintf(file, sizeof(file), "tunables/%s", tunables[i].name);
		snprintf(parameter, sizeof(parameter), "gpreempt_%s", tunables[i].name);
		EXPECT_TRUE(is(self->gpu_id, file, tunables[i].preset)) TH_LOG("%s", file);
		ASSERT_EQ(0, kfd_param_get_text(parameter, before, sizeof(before)));

		EXPECT_EQ(0, kfd_gpreempt_set_text(self->gpu_id, file, tunables[i].own)) TH_LOG("%s", file);
		EXPECT_TRUE(is(self->gpu_id, file, tunables[i].own)) TH_LOG("%s", file);
		ASSERT_EQ(0, kfd_param_get_text(parameter, after, sizeof(after)));
		EXPECT_STREQ(before, after);

		said = kfd_log_size();
		EXPECT_EQ(-EINVAL, kfd_gpreempt_set_text(self->gpu_id, file, *tunables[i].bad ? tunables[i].bad : "\n")) TH_LOG("%s", file);
		EXPECT_NE(NULL, strstr(kfd_log_since(said), tunables[i].message)) TH_LOG("not said: %s", tunables[i].message);
		EXPECT_TRUE(is(self->gpu_id, file, tunables[i].own)) TH_LOG("%s", file);

		EXPECT_EQ(0, kfd_gpreempt_set_text(self->gpu_id, file, "default")) TH_LOG("%s", file);
		EXPECT_TRUE(is(self->gpu_id, file, tunables[i].preset)) TH_LOG("%s", file);

		EXPECT_EQ(0, kfd_gpreempt_set_text(self->gpu_id, file, tunables[i].own)) TH_LOG("%s", file);
		EXPECT_EQ(0, kfd_param_set_text(parameter, tunables[i].all)) TH_LOG("%s", file);
		EXPECT_TRUE(is(self->gpu_id, file, tunables[i].all)) TH_LOG("%s", file);
		EXPECT_EQ(0, kfd_param_set_text(parameter, tunables[i].preset)) TH_LOG("%s", file);
	}
}

TEST_F(node_files, policy_follows_the_parameter_when_told_to)
{
	ASSERT_EQ(0, kfd_gpreempt_set_text(self->gpu_id, "policy", "wfq"));
	EXPECT_TRUE(is(self->gpu_id, "policy", "wfq"));
	ASSERT_EQ(0, kfd_gpreempt_set_text(self->gpu_id, "policy", "default"));
	EXPECT_TRUE(is(self->gpu_id, "policy", "hpf"));
}

/* What is written counts: the nice value of a process does not, once the node says so. */
TEST_F(node_files, a_nodes_own_tunable_counts)
{
	struct actor *a = with_queue(_metadata, LOW_NICE);

	EXPECT_EQ(0, wait_priority(self->g, a, 7 - LOW_NICE));
	ASSERT_EQ(0, kfd_gpreempt_set_text(self->gpu_id, "tunables/nice", "0"));
	EXPECT_EQ(0, wait_priority(self->g, a, 7));
	ASSERT_EQ(0, kfd_gpreempt_set_text(self->gpu_id, "tunables/nice", "default"));
	EXPECT_EQ(0, wait_priority(self->g, a, 7 - LOW_NICE));
}

TEST_F(node_files, bad_words_for_the_switch_are_refused)
{
	size_t said = kfd_log_size();

	EXPECT_EQ(-EINVAL, kfd_gpreempt_set_text(self->gpu_id, "enabled", "perhaps"));
	EXPECT_NE(NULL, strstr(kfd_log_since(said), "gpreempt: enabled=perhaps is neither 0 nor 1; kept 1"));
	EXPECT_TRUE(is(self->gpu_id, "enabled", "1"));
}

TEST_HARNESS_MAIN
