// SPDX-License-Identifier: MIT
/*
 * rocr_priority.c - what becomes of GPREEMPT_PRIORITY, HSA_QUEUE_PRIORITY and GPREEMPT_QUEUE_CLASS in a program on Debian's unmodified ROCr, and
 * of its queue in the hands of a scheduler in user space
 *
 * Run as it is, with libgpreempt-preload.so in LD_PRELOAD, or with libgpreempt-hsa.so in HSA_TOOLS_LIB: what has to hold follows from the
 * environment. Without the libraries the variables do nothing.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/kfd_ioctl.h>
#include <hsa/hsa_ext_amd.h>

#include "kselftest_harness.h"

#include "fixture.h"
#include "gpreempt.h"
#include "gpreempt-preload.h"
#include "kfd.h"
#include "rocr.h"

/* What the libraries have instead of the kernel's header, which needs others */
#define SAME(ours, our_member, theirs, their_member) \
	_Static_assert(offsetof(ours, our_member) == offsetof(theirs, their_member) && \
		       sizeof(((ours *)0)->our_member) == sizeof(((theirs *)0)->their_member), "kfd.h is not as the kernel is")
SAME(struct kfd_create_queue, ring_base, struct kfd_ioctl_create_queue_args, ring_base_address);
SAME(struct kfd_create_queue, ring_bytes, struct kfd_ioctl_create_queue_args, ring_size);
SAME(struct kfd_create_queue, gpu_id, struct kfd_ioctl_create_queue_args, gpu_id);
SAME(struct kfd_create_queue, type, struct kfd_ioctl_create_queue_args, queue_type);
SAME(struct kfd_create_queue, percentage, struct kfd_ioctl_create_queue_args, queue_percentage);
SAME(struct kfd_create_queue, priority, struct kfd_ioctl_create_queue_args, queue_priority);
SAME(struct kfd_create_queue, queue_id, struct kfd_ioctl_create_queue_args, queue_id);
SAME(struct kfd_update_queue, ring_base, struct kfd_ioctl_update_queue_args, ring_base_address);
SAME(struct kfd_update_queue, queue_id, struct kfd_ioctl_update_queue_args, queue_id);
SAME(struct kfd_update_queue, ring_bytes, struct kfd_ioctl_update_queue_args, ring_size);
SAME(struct kfd_update_queue, percentage, struct kfd_ioctl_update_queue_args, queue_percentage);
SAME(struct kfd_update_queue, priority, struct kfd_ioctl_update_queue_args, queue_priority);
SAME(struct kfd_of_queue, queue_id, struct kfd_ioctl_destroy_queue_args, queue_id);
SAME(struct kfd_of_queue, queue_id, struct kfd_ioctl_set_cu_mask_args, queue_id);
_Static_assert(_IOC_NR(AMDKFD_IOC_CREATE_QUEUE) == KFD_CREATE_QUEUE_NR && _IOC_NR(AMDKFD_IOC_DESTROY_QUEUE) == KFD_DESTROY_QUEUE_NR &&
	       _IOC_NR(AMDKFD_IOC_SET_CU_MASK) == KFD_SET_CU_MASK_NR && AMDKFD_IOC_UPDATE_QUEUE == KFD_UPDATE_QUEUE &&
	       KFD_IOC_QUEUE_TYPE_COMPUTE == KFD_QUEUE_COMPUTE && KFD_IOC_QUEUE_TYPE_COMPUTE_AQL == KFD_QUEUE_COMPUTE_AQL &&
	       AMDKFD_IOCTL_BASE == KFD_IOCTL_TYPE && KFD_MAX_QUEUE_PRIORITY == KFD_PRIORITY_MAX, "kfd.h is not as the kernel is");

FIXTURE(rocr_priority) {
	BEFORE_TEST;
	struct gpreempt *g;
	hsa_agent_t gpu;
	hsa_agent_t cpu;
	hsa_queue_t *queue;
	struct gpreempt_queue_info info;
	typeof(gpreempt_seen_mark) *seen_mark;
	typeof(gpreempt_seen_queues) *seen_queues;
	uint64_t mark;
};

FIXTURE_SETUP(rocr_priority)
{
	void *tool;

	SKIP_WITHOUT_ROCR();
	SETUP_SCHEDULER(NULL, 0);
	NEEDS_VGPU();
	ASSERT_EQ(0, gpreempt_open(&self->g));
	ASSERT_EQ(HSA_STATUS_SUCCESS, hsa_init());
	ASSERT_EQ(HSA_STATUS_INFO_BREAK, hsa_iterate_agents(find_gpu_agent, &self->gpu));
	ASSERT_EQ(HSA_STATUS_INFO_BREAK, hsa_iterate_agents(find_cpu_agent, &self->cpu));
	/* A tool is loaded for ROCr alone: its functions are found in it. */
	tool = dlopen("libgpreempt-hsa.so", RTLD_NOLOAD | RTLD_LAZY);
	self->seen_mark = dlsym(tool ?: RTLD_DEFAULT, "gpreempt_seen_mark");
	self->seen_queues = dlsym(tool ?: RTLD_DEFAULT, "gpreempt_seen_queues");
	ASSERT_EQ(!!getenv("LD_PRELOAD") || !!getenv("HSA_TOOLS_LIB"), !!self->seen_queues);
	self->mark = self->seen_mark ? self->seen_mark() : 0;
	ASSERT_EQ(HSA_STATUS_SUCCESS, hsa_queue_create(self->gpu, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX, UINT32_MAX,
						       &self->queue));
	ASSERT_EQ(0, gpreempt_find_queue(self->g, 0, (uintptr_t)self->queue->base_address, &self->info));
}

FIXTURE_TEARDOWN(rocr_priority)
{
	if (self->queue)
		EXPECT_EQ(HSA_STATUS_SUCCESS, hsa_queue_destroy(self->queue));
	EXPECT_EQ(HSA_STATUS_SUCCESS, hsa_shut_down());
	gpreempt_close(self->g);
	EXPECT_DEVICE_UNHARMED();
	scheduler_off();
}

/* A variable's number, if one of the libraries is there to read it */
static int wanted(bool library, const char *name, int otherwise)
{
	const char *text = getenv(name);

	return library && text ? atoi(text) : otherwise;
}

/* The one with this ring, if it is there; how many there are */
static struct gpreempt_seen seen_of(typeof(gpreempt_seen_queues) *seen_queues, uint64_t mark, uint64_t ring, unsigned int *nr)
{
	struct gpreempt_seen seen[8];
	unsigned int i;

	*nr = seen_queues(mark, gettid(), seen, 8);
	for (i = 0; i < *nr && i < 8; i++)
		if (seen[i].ring_base == ring)
			return seen[i];
	return (struct gpreempt_seen){ .sequence = 0 };
}

/* Of the only queue that it makes itself, which is number 0 of a tools library: what KFD is told of a class below 0 is 0. */
TEST_F(rocr_priority, queue_has_the_class_of_its_number)
{
	const char *text = getenv("GPREEMPT_QUEUE_CLASS");
	uint64_t deadline = kfd_now_ns() + LONG;
	int class;

	if (!self->seen_queues || !text || sscanf(text, "0:%d", &class) != 1)
		SKIP(return, "GPREEMPT_QUEUE_CLASS=0:N is not set, or there is no library");
	EXPECT_EQ(0, self->info.kfd_priority);
	while (self->info.logical_priority != class && kfd_now_ns() < deadline) {
		kfd_sleep_ns(MS);
		ASSERT_EQ(0, gpreempt_find_queue(self->g, 0, (uintptr_t)self->queue->base_address, &self->info));
	}
	EXPECT_EQ(class, self->info.logical_priority);
	EXPECT_EQ(GPREEMPT_SOURCE_QUEUE, self->info.source);
}

TEST_F(rocr_priority, queue_has_what_the_environment_says)
{
	int kfd_priority = wanted(self->seen_queues, "HSA_QUEUE_PRIORITY", KFD_PRIORITY_NORMAL);
	int priority = wanted(self->seen_queues, "GPREEMPT_PRIORITY", kfd_priority);
	uint64_t deadline = kfd_now_ns() + LONG;
	uint64_t ring = self->info.ring_base;
	struct gpreempt_seen seen;
	unsigned int nr;

	EXPECT_EQ(kfd_priority, self->info.kfd_priority);
	/* It counts from the next pass. */
	while (self->info.logical_priority != priority && kfd_now_ns() < deadline) {
		kfd_sleep_ns(MS);
		ASSERT_EQ(0, gpreempt_find_queue(self->g, 0, ring, &self->info));
	}
	EXPECT_EQ(priority, self->info.logical_priority);
	EXPECT_EQ(self->seen_queues && getenv("GPREEMPT_PRIORITY") ? GPREEMPT_SOURCE_PROCESS : GPREEMPT_SOURCE_KFD, self->info.source);
	if (!self->seen_queues)
		return;
	seen = seen_of(self->seen_queues, self->mark, ring, &nr);
	EXPECT_EQ(self->info.queue_id, seen.queue_id);
	EXPECT_EQ(self->info.gpu_id, seen.gpu_id);
	EXPECT_EQ(kfd_priority, seen.kfd_priority);
	/* Before /dev/kfd one sees a queue as well that ROCr makes for itself along with the first. */
	EXPECT_LE(1, nr);
	if (getenv("HSA_TOOLS_LIB"))
		EXPECT_EQ(1, nr);
	ASSERT_EQ(HSA_STATUS_SUCCESS, hsa_queue_destroy(self->queue));
	self->queue = NULL;
	seen = seen_of(self->seen_queues, self->mark, ring, &nr);
	EXPECT_EQ(0, seen.sequence);
}

/* What a program asks for itself it gets. */
TEST_F(rocr_priority, program_that_asks_has_its_way)
{
	ASSERT_EQ(HSA_STATUS_SUCCESS, hsa_amd_queue_set_priority(self->queue, HSA_AMD_QUEUE_PRIORITY_HIGH));
	ASSERT_EQ(0, gpreempt_find_queue(self->g, 0, (uintptr_t)self->queue->base_address, &self->info));
	EXPECT_LT(KFD_PRIORITY_NORMAL, self->info.kfd_priority);
}

TEST_F_TIMEOUT(rocr_priority, queue_found_by_its_ring_is_interrupted_and_goes_on, 240)
{
	struct gpreempt_target target = gpreempt_target_queue(0, self->info.gpu_id, self->info.queue_id);
	uint32_t slots = (uint32_t)kfd_vgpu_stat("wave_slots"), steps = 40;
	hsa_region_t region = { 0 };
	struct kfd_tally tally = { 0 };
	struct gpreempt_unit *unit;
	struct kfd_work work;
	hsa_signal_t done;
	uint64_t progress;
	void *memory;

	ASSERT_EQ(HSA_STATUS_INFO_BREAK, hsa_agent_iterate_regions(self->cpu, find_shared_region, &region));
	ASSERT_EQ(HSA_STATUS_SUCCESS, hsa_memory_allocate(region, kfd_work_bytes(1, slots, steps), &memory));
	kfd_work_init(&work, memory, 1, slots, steps, 5 * MS);
	ASSERT_EQ(HSA_STATUS_SUCCESS, hsa_signal_create(1, 0, NULL, &done));
	ASSERT_EQ(0, gpreempt_unit_open(&target, 0, &unit));
	dispatch(self->queue, &work, done);
	while (!kfd_work_progress(&work))
		kfd_sleep_ns(MS);
	ASSERT_EQ(0, gpreempt_interrupt(unit));
	progress = kfd_work_progress(&work);
	kfd_sleep_ns(20 * MS);
	EXPECT_EQ(progress, kfd_work_progress(&work));
	EXPECT_EQ(1, hsa_signal_load_scacquire(done));
	ASSERT_EQ(0, gpreempt_restore(unit));
	EXPECT_EQ(0, hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_EQ, 0, UINT64_MAX, HSA_WAIT_STATE_BLOCKED));
	kfd_work_tally(&work, &tally);
	EXPECT_EQ(slots * steps, tally.done);
	EXPECT_EQ(0, tally.lost);
	EXPECT_EQ(0, tally.twice);
	gpreempt_unit_close(unit);
	EXPECT_EQ(HSA_STATUS_SUCCESS, hsa_signal_destroy(done));
	EXPECT_EQ(HSA_STATUS_SUCCESS, hsa_memory_free(memory));
}

TEST_HARNESS_MAIN
