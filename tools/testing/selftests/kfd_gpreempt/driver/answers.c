// SPDX-License-Identifier: MIT
/*
 * answers.c - what this device's firmware does where only hardware can tell
 *
 * Each test asks one question and prints "# answer NAME: WHAT", which the hardware profile puts into its report. No answer is wrong; what fails is
 * work that is lost or done twice meanwhile. Documentation/hardware-testing.rst says what each answer means, virtual-gpu.rst how the virtual GPU
 * gives the other one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "fixture.h"
#include "worker.h"

#define MQDS		"/sys/kernel/debug/kfd/mqds"
#define DUMP		"/sys/kernel/debug/kfd/gpreempt_dump"
#define MQD_WORDS	512
#define HQD_IN_MQD	128		/* dwords */
#define HQD_ACTIVE	(HQD_IN_MQD + 0x02)
#define HQD_STACK_OFFSET (HQD_IN_MQD + 0x2e)
#define HQD_STACK_SIZE	(HQD_IN_MQD + 0x2f)
#define PACKETS		24
#define LAG_NS		(30 * US)	/* looking takes some 10 us as well */
#define UNMAPS		1000

#define ANSWER(name, format, ...) do { \
	printf("# answer %s: " format "\n", name, ##__VA_ARGS__); \
	fflush(stdout); \
} while (0)

FIXTURE(answers) {
	BEFORE_TEST;
	struct actor *a;		/* who is asked about */
	struct actor *other;		/* idle; what changes about its queue unmaps and maps all of them */
	uint32_t priority;
};

FIXTURE_SETUP(answers)
{
	SETUP_DEVICE();
	if (kfd_param_get("sched_policy") == NO_HWS)
		SKIP(return, "queues are mapped by the driver (sched_policy=2): firmware has no part in it");
	self->a = with_queue(_metadata, 0);
	self->other = with_queue(_metadata, 0);
	self->priority = KFD_PRIORITY_NORMAL;
}

FIXTURE_TEARDOWN(answers)
{
	actor_forget_all();
	EXPECT_NOTHING_LEFT();
}

/* All queues off the device and back, without a change of the one that is asked about */
#define UNMAP_AND_MAP() do { \
	self->priority ^= 1; \
	ASSERT_EQ(0, actor_queue_update(self->other, 0, self->priority, 100)); \
} while (0)

/* A grid that fills the device and waits for a flag, so that there are waves for as long as is wanted */
#define FILL_DEVICE(flag) do { \
	*(flag) = 0; \
	ASSERT_EQ(0, actor_work(self->a, 1, self->slots, 2, MS)); \
	kfd_work_wait_for(&self->a->work[0], flag); \
	ASSERT_EQ(0, actor_submit(self->a, 0, 0, 1, 0)); \
	kfd_sleep_ns(5 * MS); \
} while (0)

/* The MQD of a process's only queue, on the first XCC. Return: dwords of it, 0: it cannot be read */
static int read_mqd(int pid, uint32_t *words, int max)
{
	bool ours = false, mqd = false;
	FILE *f = fopen(MQDS, "r");
	char line[512], *at;
	int n = 0, used, id;
	uint32_t word;

	while (f && fgets(line, sizeof(line), f) && n < max) {
		if (sscanf(line, "Process %d PASID", &id) == 1) {
			ours = id == pid;
			continue;
		}
		if (ours && strstr(line, "Compute queue on device")) {
			mqd = true;
			continue;
		}
		at = strchr(line, ':');
		if (!ours || !mqd || !at)
			continue;
		for (at++; n < max && sscanf(at, "%x%n", &word, &used) == 1; at += used)
			words[n++] = word;
	}
	if (f)
		fclose(f);
	return n;
}

/* A number of the scheduler's dump; -1: it does not say it */
static int64_t dumped(const char *section, const char *name)
{
	FILE *f = fopen(DUMP, "r");
	char line[4096], want[64], *at;
	int64_t value = -1;

	snprintf(want, sizeof(want), " %s=", name);
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, section, strlen(section))) {
			at = strstr(line, want);
			if (at)
				value = strtoll(at + strlen(want), NULL, 10);
			break;
		}
	if (f)
		fclose(f);
	return value;
}

/* Is the offset of the control stack its full size again, when a queue is unmapped that had waves before and has none now? */
TEST_F_TIMEOUT(answers, control_stack_after_an_idle_unmap, 120)
{
	volatile uint64_t *flag = actor_common_flag();
	uint32_t mqd[MQD_WORDS];

	FILL_DEVICE(flag);
	UNMAP_AND_MAP();
	if (read_mqd(self->a->pid, mqd, MQD_WORDS) <= (int)HQD_STACK_SIZE) {
		*flag = 1;
		SKIP(return, MQDS " shows no MQD of the queue");
	}
	EXPECT_LT(mqd[HQD_STACK_OFFSET], mqd[HQD_STACK_SIZE]);
	*flag = 1;
	ASSERT_EQ(0, actor_wait(self->a, 0, LONG));
	UNMAP_AND_MAP();
	ASSERT_GT(read_mqd(self->a->pid, mqd, MQD_WORDS), (int)HQD_STACK_SIZE);
	if (mqd[HQD_STACK_OFFSET] == mqd[HQD_STACK_SIZE])
		ANSWER("H4 control_stack_after_an_idle_unmap", "full size");
	else
		ANSWER("H4 control_stack_after_an_idle_unmap", "kept at %#x of %#x", mqd[HQD_STACK_OFFSET], mqd[HQD_STACK_SIZE]);
	EXPECT_EXACTLY_ONCE(self->a);
}

/* What of the hardware's registers is in the MQD after an unmap? The driver never says there that a queue is active. */
TEST_F_TIMEOUT(answers, mqd_after_an_unmap, 120)
{
	uint32_t mqd[MQD_WORDS];

	UNMAP_AND_MAP();
	if (read_mqd(self->a->pid, mqd, MQD_WORDS) <= (int)HQD_STACK_SIZE)
		SKIP(return, MQDS " shows no MQD of the queue");
	ANSWER("mqd_after_an_unmap", "%s", mqd[HQD_ACTIVE] & 1 ? "all registers" : "pointers and offsets");
}

/* When a packet has been executed: has its read index been written? */
TEST_F_TIMEOUT(answers, read_dispatch_id, 120)
{
	uint64_t rptr, wptr, done, late = 0;

	ASSERT_EQ(0, actor_work(self->a, PACKETS, 1, 1, 20 * MS));
	ASSERT_EQ(0, actor_submit(self->a, 0, 0, PACKETS, KFD_PACKET_BARRIER));
	do {
		done = PACKETS - (uint64_t)self->a->done[0]->value;
		ASSERT_EQ(0, actor_pointers(self->a, 0, &rptr, &wptr));
		if (done > rptr && done - rptr > late)
			late = done - rptr;
	} while (done < PACKETS);
	kfd_sleep_ns(10 * MS);
	ASSERT_EQ(0, actor_pointers(self->a, 0, &rptr, &wptr));
	if (late)
		ANSWER("H5 read_dispatch_id", "late by up to %llu packets, %s", (unsigned long long)late,
		       rptr == wptr ? "exact when the ring is empty" : "also when the ring is empty");
	else
		ANSWER("H5 read_dispatch_id", "with each packet");
	EXPECT_EXACTLY_ONCE(self->a);
}

/* What do the counters of waves show while a grid fills the device, and when is it gone from there? */
TEST_F_TIMEOUT(answers, wave_counters, 120)
{
	volatile uint64_t *flag = actor_common_flag();
	uint64_t end_ns, look_ns;
	int64_t shown;

	FILL_DEVICE(flag);
	kfd_sleep_ns(5 * MS);
	shown = kfd_proc_stat(self->a->pid, self->a->client.gpu_id, "cu_occupancy");
	*flag = 1;
	if (shown < 0) {
		ANSWER("H6 wave_counters", "are not read");
		SKIP(return, "amdkfd has no cu_occupancy here");
	}
	while (!actor_done(self->a, 0))
		;
	end_ns = kfd_now_ns();
	do {
		look_ns = kfd_now_ns();
	} while (kfd_proc_stat(self->a->pid, self->a->client.gpu_id, "cu_occupancy") > 0 && look_ns < end_ns + 100 * MS);
	if (!shown)
		ANSWER("H6 wave_counters", "read 0");
	else if (look_ns - end_ns > LAG_NS)
		ANSWER("H6 wave_counters", "lag by %llu us", (unsigned long long)(look_ns - end_ns) / US);
	else
		ANSWER("H6 wave_counters", "follow");
	EXPECT_EXACTLY_ONCE(self->a);
}

/* When nothing is asked of the scheduler's firmware any more: has the driver been told that its ring is empty? */
TEST_F_TIMEOUT(answers, hiq_read_pointer, 120)
{
	int64_t rptr, wptr, size, behind = 0;
	int i;

	for (i = 0; i < 8; i++) {
		UNMAP_AND_MAP();
		kfd_sleep_ns(10 * MS);
		rptr = dumped("hiq:", "rptr");
		wptr = dumped("hiq:", "wptr");
		size = dumped("hiq:", "size");
		if (size <= 0)
			SKIP(return, DUMP " has no line about the HIQ");
		if ((wptr - rptr + size) % size > behind)
			behind = (wptr - rptr + size) % size;
	}
	if (behind)
		ANSWER("H2 hiq_read_pointer", "behind by up to %lld dwords", (long long)behind);
	else
		ANSWER("H2 hiq_read_pointer", "exact at rest");
}

/* Does it bear being asked again and again to save all waves of a full device? */
TEST_F_TIMEOUT(answers, saved_again_and_again, 600)
{
	volatile uint64_t *flag = actor_common_flag();
	int unmaps = getenv("KFD_STEP_DIVISOR") ? UNMAPS / 50 : UNMAPS, i;
	uint64_t begin_ns, elapsed_ns;

	FILL_DEVICE(flag);
	begin_ns = kfd_now_ns();
	for (i = 0; i < unmaps; i++)
		UNMAP_AND_MAP();
	elapsed_ns = kfd_now_ns() - begin_ns;
	*flag = 1;
	ASSERT_DONE_ONCE(self->a);
	ANSWER("H1 saved_again_and_again", "%d times in %llu us, nothing lost or done twice", unmaps, (unsigned long long)elapsed_ns / US);
}

/*
 * Does a queue that was unmapped by its doorbell stay off the device, and come back by MAP_PROCESS and MAP_QUEUES in the HIQ? amdkfd never sends that to
 * this firmware, so it is the last question.
 */
TEST_F_TIMEOUT(answers, unmap_by_name, 240)
{
	struct actor *low = worker(_metadata, LOW_NICE, 100, self->slots / 2, 1, 2 * MS), *high = with_queue(_metadata, 0);
	uint64_t before, after;
	int64_t resumes;
	int i, work;

	if (scheduler_missing())
		SKIP(return, "%s", scheduler_missing());
	ASSERT_EQ(0, scheduler_defaults());
	ASSERT_EQ(0, kfd_param_set_text("gpreempt_unmap", "named"));
	ASSERT_EQ(0, kfd_param_set("gpreempt_enable", 1));
	ASSERT_EQ(0, actor_submit(low, 0, 0, 100, KFD_PACKET_BARRIER));
	/* What comes first may be a runlist. */
	for (i = 0, before = after = 0; i < 3 && before == after; i++) {
		resumes = counter("resumes");
		work = actor_work(high, 1, self->slots / 4, 10, 2 * MS);
		ASSERT_LE(0, work);
		ASSERT_EQ(0, actor_submit(high, 0, work, 1, 0));
		ASSERT_EQ(0, KFD_WAIT(preempt_count(low, 0) > i, 200 * US, LONG));
		before = kfd_work_progress(&low->work[0]);
		ASSERT_EQ(0, actor_wait_progress(high, work, self->slots / 4 * 9, LONG));
		after = kfd_work_progress(&low->work[0]);
		ASSERT_EQ(0, actor_wait(high, work, LONG));
		ASSERT_EQ(0, wait_counter("resumes", resumes + 1, LONG));
	}
	EXPECT_EQ(0, kfd_param_set("gpreempt_enable", 0));
	EXPECT_EQ(0, kfd_param_set_text("gpreempt_unmap", "all"));
	ANSWER("H15 unmap_by_name", "%s", before == after ? "stays off" : "is mapped again");
	ASSERT_DONE_ONCE(low, high);
}

TEST_HARNESS_MAIN
