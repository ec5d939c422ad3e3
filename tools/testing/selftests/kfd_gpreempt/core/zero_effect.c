// SPDX-License-Identifier: MIT
/*
 * zero_effect.c - switched on, a node on which no two processes differ in rank is left alone
 *
 * Three equal programs come, work, pause and go, with the scheduler off and on. The virtual GPU counts what it is asked for and what it finds written,
 * the kernel how often mappings of doorbells come and go: it is as often the same. With one niced program that is not so.
 */
#define _GNU_SOURCE
#include "kselftest_harness.h"

#include "fixture.h"
#include "worker.h"

#define PROGRAMS	3
#define TURNS		4
#define PROBES		"/sys/kernel/tracing/kprobe_events"
#define PROBED		"/sys/kernel/tracing/events/zero_effect/enable"
#define PROFILE		"/sys/kernel/tracing/kprobe_profile"

#define DOORBELL_PAGES	2

/* What is counted: by the virtual GPU, and how often the kernel maps doorbells of programs and takes their mapping away */
static const char *const counted[] = {
	"runlists", "unmaps", "unmaps_named", "mqds_written", "wave_reads", "reg_reads", "doorbells mapped", "doorbells unmapped",
};

enum { RUNLISTS, UNMAPS, UNMAPS_NAMED, MQDS_WRITTEN, WAVE_READS, REG_READS, MAPPED, UNMAPPED, NR_COUNTED };

/**
 * struct asked - what device and kernel were asked for
 * @nr: so often, as @counted
 */
struct asked {
	int64_t nr[NR_COUNTED];
};

FIXTURE(zero_effect) { BEFORE_TEST; };

FIXTURE_SETUP(zero_effect)
{
	SETUP_SCHEDULER(NULL, 0);
	NEEDS_VGPU();
	ASSERT_EQ(0, kfd_file_write(PROBES, "p:zero_effect/mapped_at_mmap remap_pfn_range\n"
				    "p:zero_effect/mapped_at_fault vmf_insert_pfn\n"
				    "p:zero_effect/unmapped unmap_mapping_pages\n"));
	ASSERT_EQ(0, kfd_file_write(PROBED, "1"));
	/* The clock is a page that is mapped at a fault, once. */
	kfd_now_ns();
}

FIXTURE_TEARDOWN(zero_effect)
{
	kfd_file_write(PROBED, "0");
	kfd_file_empty(PROBES);
	kfd_param_set_text("gpreempt_hw_priority", "normal");
	TEARDOWN_SCHEDULER();
}

/* A line of it has a name and two numbers: calls that were counted, and calls that were missed. */
static int64_t calls_of(const char *name)
{
	char text[1024], *line;

	if (kfd_file_read(PROFILE, text, sizeof(text)) < 0)
		return -1;
	line = strstr(text, name);
	return line ? strtoll(line + strlen(name), NULL, 10) : -1;
}

static struct asked asked_since(const struct asked *before)
{
	struct asked asked;
	int i;

	for (i = 0; i < MAPPED; i++)
		asked.nr[i] = kfd_vgpu_stat(counted[i]);
	/* A program's pages are mapped together: with the scheduler when it writes to the first one. */
	asked.nr[MAPPED] = calls_of("mapped_at_mmap") + calls_of("mapped_at_fault") / DOORBELL_PAGES;
	asked.nr[UNMAPPED] = calls_of(" unmapped");
	for (i = 0; i < NR_COUNTED; i++)
		asked.nr[i] -= before ? before->nr[i] : 0;
	return asked;
}

/* It may stay for all turns. */
static struct actor *program(struct __test_metadata *_metadata, int nice, uint32_t waves)
{
	return worker(_metadata, nice, TURNS, waves, 20, MS);
}

/*
 * What is left of a program goes in a work item. Whether that takes a runlist depends on what others have on the device by then, so each one is
 * waited for.
 */
static int64_t go(struct actor *a)
{
	int64_t err = actor_stop(a);

	kfd_sleep_ns(100 * MS);
	return err;
}

/* Programs come, work, pause and go, in each turn another one. The last one has @nice. */
static struct asked live(struct __test_metadata *_metadata, uint32_t waves, int nice)
{
	struct actor *a[PROGRAMS];
	struct asked before = asked_since(NULL);
	int turn, i;

	for (i = 0; i < PROGRAMS; i++)
		a[i] = program(_metadata, i == PROGRAMS - 1 ? nice : 0, waves);
	for (turn = 0; turn < TURNS; turn++) {
		i = turn % PROGRAMS;
		for (int k = 0; k < PROGRAMS; k++)
			ASSERT_EQ(0, actor_submit(a[k], 0, 0, 1, 0));
		for (int k = 0; k < PROGRAMS; k++)
			ASSERT_EQ(0, actor_wait_all(a[k], LONG));
		/* From no pause to one after which queues are dormant */
		kfd_sleep_ns(turn * 400 * MS);
		ASSERT_EQ(0, go(a[i]));
		EXPECT_EXACTLY_ONCE(a[i]);
		/* Each writes to its doorbells. */
		a[i] = turn < TURNS - 1 ? program(_metadata, i == PROGRAMS - 1 ? nice : 0, waves) : NULL;
	}
	for (i = 0; i < PROGRAMS; i++)
		if (a[i])
			ASSERT_EQ(0, go(a[i]));
	ASSERT_EQ(0, wait_no_queues());
	return asked_since(&before);
}

/* The probes can see it, and so can the virtual GPU: where programs differ in rank, and firmware is told of it. */
TEST_F_TIMEOUT(zero_effect, equals_are_left_alone, 300)
{
	uint32_t waves = few_waves(self->slots);
	int64_t arms = counter("doorbell_arms");
	struct asked off, on, differs;
	int i;

	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 0));
	off = live(_metadata, waves, 0);
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 1));
	on = live(_metadata, waves, 0);
	EXPECT_EQ(arms, counter("doorbell_arms"));
	EXPECT_EQ(self->preemptions, counter("preemptions"));
	ASSERT_EQ(0, kfd_param_set_text("gpreempt_hw_priority", "follow"));
	differs = live(_metadata, waves, LOW_NICE);
	for (i = 0; i < NR_COUNTED; i++) {
		TH_LOG("%s: off %lld, on %lld, of different ranks %lld", counted[i], (long long)off.nr[i], (long long)on.nr[i],
		       (long long)differs.nr[i]);
		EXPECT_EQ(off.nr[i], on.nr[i]);
		/* Nothing is named to firmware by default. */
		if (i != UNMAPS_NAMED)
			EXPECT_LT(on.nr[i], differs.nr[i]);
	}
	EXPECT_LT(arms, counter("doorbell_arms"));
}

TEST_HARNESS_MAIN
