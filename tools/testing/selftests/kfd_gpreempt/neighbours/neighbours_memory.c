// SPDX-License-Identifier: MIT
/*
 * neighbours_memory.c - what a program can do by where it has the ring pointers of its queues: to see what others have, and to be left alone
 *
 * Assertions are about order, counts, states and work items: meaningful in virtual time (the VM's --icount).
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "kselftest_harness.h"

#include <drm/amdgpu_drm.h>

#include "fixture.h"
#include "disturb.h"
#include "neighbours.h"

FIXTURE(memory) {
	BEFORE_TEST;
	struct gpreempt *g;
};

FIXTURE_SETUP(memory)
{
	SETUP_SCHEDULER(NULL, 0);
	ASSERT_EQ(0, gpreempt_open(&self->g));
}

FIXTURE_TEARDOWN(memory)
{
	actor_forget_all();
	gpreempt_close(self->g);
	EXPECT_NOTHING_LEFT();
	scheduler_off();
}

/* ---- what a program asks the render node for, inside of an actor ---- */

#define ACCESS_ALL	(AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_PAGE_WRITEABLE)

static int gem_create(struct actor *a, uint64_t bytes, uint64_t flags, uint32_t *handle)
{
	union drm_amdgpu_gem_create create = { .in = {
		.bo_size = bytes, .alignment = KFD_PAGE_BYTES, .domains = AMDGPU_GEM_DOMAIN_VRAM, .domain_flags = flags,
	} };

	if (ioctl(a->client.drm_fd, DRM_IOCTL_AMDGPU_GEM_CREATE, &create))
		return -errno;
	*handle = create.out.handle;
	return 0;
}

/* Memory of the device with this in every word. The CPU has used it, so it stays where the CPU reaches it. */
static int gem_new(struct actor *a, size_t bytes, uint64_t word, uint32_t *handle)
{
	union drm_amdgpu_gem_mmap map = { 0 };
	volatile uint64_t *ptr;
	size_t i;
	int err = gem_create(a, bytes, AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED, handle);

	if (err)
		return err;
	map.in.handle = *handle;
	if (ioctl(a->client.drm_fd, DRM_IOCTL_AMDGPU_GEM_MMAP, &map))
		return -errno;
	ptr = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, a->client.drm_fd, (off_t)map.out.addr_ptr);
	if (ptr == MAP_FAILED)
		return -errno;
	for (i = 0; i < bytes / sizeof(*ptr); i++)
		ptr[i] = word;
	return munmap((void *)ptr, bytes) ? -errno : 0;
}

/* A page of addresses that nothing else is given. */
static uint64_t new_va(void)
{
	void *ptr = mmap(NULL, KFD_PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return ptr == MAP_FAILED ? 0 : (uint64_t)(uintptr_t)ptr;
}

/* Maps one page of a BO for the GPU, or with AMDGPU_VM_PAGE_PRT nothing. */
static int gem_va(struct actor *a, uint32_t handle, uint64_t offset, uint32_t flags, uint64_t *va)
{
	struct drm_amdgpu_gem_va args = {
		.handle = handle, .operation = AMDGPU_VA_OP_MAP, .flags = flags, .offset_in_bo = offset, .map_size = KFD_PAGE_BYTES,
	};

	*va = args.va_address = new_va();
	if (!*va)
		return -ENOMEM;
	return ioctl(a->client.drm_fd, DRM_IOCTL_AMDGPU_GEM_VA, &args) ? -errno : 0;
}

/* ---- ways to have a read pointer where nobody can look ---- */

enum way { IN_PRIVATE_VRAM, IN_NOTHING, CROOKED, NR_WAYS };

static const char *const way_names[] = {
	[IN_PRIVATE_VRAM] = "VRAM that the CPU does not reach", [IN_NOTHING] = "a PRT mapping", [CROOKED] = "a word in the middle of another",
};

/* args: the way, the queue's priority */
static int64_t do_hidden_queue(struct actor *a, const int64_t *args)
{
	struct kfd_buffer page;
	uint32_t handle = 0;
	uint64_t va = 0;
	int err;

	switch ((enum way)args[0]) {
	case IN_PRIVATE_VRAM:
		err = gem_create(a, KFD_PAGE_BYTES, AMDGPU_GEM_CREATE_NO_CPU_ACCESS, &handle);
		if (!err)
			err = gem_va(a, handle, 0, ACCESS_ALL, &va);
		break;
	case IN_NOTHING:
		err = gem_va(a, 0, 0, AMDGPU_VM_PAGE_PRT, &va);
		break;
	default:
		err = kfd_buffer_gtt(&a->client, KFD_PAGE_BYTES, &page);
		va = (uint64_t)(uintptr_t)page.ptr + 4;
		break;
	}
	if (err)
		return err;
	return kfd_queue_create_at(&a->client, &a->queue[0], va, 0, (uint32_t)args[1], 256);
}

/* A process with one such queue and one work, as worker(). */
static struct actor *hidden_worker(struct __test_metadata *_metadata, enum way way, int nice, uint32_t launches, uint32_t waves, uint32_t steps,
				   uint64_t step_ns)
{
	struct actor *a = actor_start(nice, ARENA);

	ASSERT_ACTOR(a);
	ASSERT_EQ(0, actor_call(a, actor_becomes_nobody, 0, 0, 0, 0));
	ASSERT_EQ(0, actor_call(a, do_hidden_queue, way, 15, 0, 0)) {
		TH_LOG("%s", way_names[way]);
	}
	ASSERT_EQ(0, actor_work(a, launches, waves, steps, step_ns));
	return a;
}

/*
 * A low program keeps its read pointer where the kernel cannot look. It yields as any other, runs again when the higher one has nothing to do, and in its
 * reliefs meanwhile; nobody yields to one, however high.
 */
TEST_F_TIMEOUT(memory, pointer_in_private_vram_is_no_exemption, 120)
{
	enum { STEPS = 6, REQUESTS = 40 };
	/* Turns are some switches long, and what is owed has to be worth one. */
	const unsigned int steps = looks_rarely() ? 10 : 1;
	enum way way;

	ASSERT_EQ(0, kfd_param_set("gpreempt_max_hold_ms", 200));
	for (way = IN_PRIVATE_VRAM; way < NR_WAYS; way++) {
		struct actor *low = hidden_worker(_metadata, way, LOW_NICE, 2, self->slots, STEPS, 20 * MS);
		struct actor *high = worker(_metadata, 0, REQUESTS, self->slots, steps, 10 * MS);
		int64_t preemptions = counter("preemptions"), reliefs = counter("relief_slices");

		struct gpreempt_target target = gpreempt_target_process(low->pid, 0);

		TH_LOG("%s", way_names[way]);
		EXPECT_TRUE(state_is(low, 0, "unmapped"));
		ASSERT_EQ(0, launch_begins(low));
		EXPECT_EQ(preemptions, counter("preemptions"));

		/* 400 ms of work or more, which needs the whole device. */
		ASSERT_EQ(0, actor_submit(high, 0, 0, REQUESTS, 0));
		EXPECT_EQ(0, wait_state(low, 0, "preempted", LONG));
		EXPECT_GT(preempt_count(low, 0), 0);
		EXPECT_FALSE(actor_done(high, 0));
		ASSERT_EQ(0, actor_wait(high, 0, LONG));
		EXPECT_GT(counter("relief_slices"), reliefs);
		ASSERT_EQ(0, actor_wait(low, 0, LONG));

		/* Higher than all, and no reason to take anything off. */
		ASSERT_EQ(0, wait_all_resumed(self->preemptions, self->resumes));
		EXPECT_EQ(0, gpreempt_set_priority(self->g, &target, 100));
		preemptions = counter("preemptions");
		ASSERT_EQ(0, launch_completes(low));
		EXPECT_EQ(preemptions, counter("preemptions"));

		ASSERT_DONE_ONCE(low, high);
		actor_forget(low);
		actor_forget(high);
		EXPECT_EQ(0, wait_no_queues());
	}
}

/* ---- what is not its own ---- */

#define SECRET		0x5ec4e75ec4e75ec4ull
#define MAX_FILL	256
#define TRIES		60

/* args: how many pages. What a tenant has in memory of the device: every word of every other page, the pages between them are given back. */
static int64_t do_fill_memory(struct actor *a, const int64_t *args)
{
	uint32_t handles[MAX_FILL];
	int i, err;

	for (i = 0; i < args[0]; i++) {
		err = gem_new(a, KFD_PAGE_BYTES, SECRET, &handles[i]);
		if (err)
			return err;
	}
	for (i = 0; i < args[0]; i += 2) {
		struct drm_gem_close close = { .handle = handles[i] };

		if (ioctl(a->client.drm_fd, DRM_IOCTL_GEM_CLOSE, &close))
			return -errno;
	}
	return 0;
}

/*
 * A queue whose write pointer is in the last page of a BO of args[0] pages, its read pointer in a page of its own that says 0: what is
 * pending is the word that the kernel takes for the write pointer.
 */
static int64_t do_peep(struct actor *a, const int64_t *args)
{
	uint64_t bytes = (uint64_t)args[0] * KFD_PAGE_BYTES, rptr_va, wptr_va;
	uint32_t rptr_bo = 0, wptr_bo = 0;
	int err = gem_new(a, KFD_PAGE_BYTES, 0, &rptr_bo);

	if (!err)
		err = gem_va(a, rptr_bo, 0, ACCESS_ALL, &rptr_va);
	if (!err)
		err = gem_new(a, bytes, 0, &wptr_bo);
	if (!err)
		err = gem_va(a, wptr_bo, bytes - KFD_PAGE_BYTES, ACCESS_ALL, &wptr_va);
	if (err)
		return err;
	return kfd_queue_create_at(&a->client, &a->queue[0], rptr_va, wptr_va, 0, 256);
}

/* A tenant asks for the list of its own queues, which shows nothing of what another has in memory of the device. */
TEST_F_TIMEOUT(memory, only_one_page_is_ever_mapped, 120)
{
	struct actor *other = actor_start(0, ARENA), *tenant = actor_start(0, ARENA);
	struct gpreempt_queue_info *queue = NULL;
	uint32_t secrets = 0, read = 0;
	struct gpreempt_target target;
	int i;

	ASSERT_ACTOR(other);
	ASSERT_ACTOR(tenant);
	ASSERT_EQ(0, actor_call(tenant, actor_becomes_nobody, 0, 0, 0, 0));
	ASSERT_EQ(0, actor_call(other, do_fill_memory, MAX_FILL, 0, 0, 0));
	target = gpreempt_target_process(tenant->pid, 0);
	/* Sizes that are no power of two come in pieces, which lie between what others have. */
	for (i = 0; i < TRIES; i++) {
		ASSERT_EQ(0, actor_call(other, do_fill_memory, 7, 0, 0, 0));
		ASSERT_EQ(0, actor_call(tenant, do_peep, 3 + i, 0, 0, 0));
		ASSERT_EQ(1, gpreempt_list_queues(self->g, &target, &queue));
		secrets += queue->pending == SECRET;
		read += !(queue->flags & GPREEMPT_QUEUE_UNSCHEDULED);
		free(queue);
		ASSERT_EQ(0, actor_queue_destroy(tenant, 0));
	}
	EXPECT_EQ(0, secrets) TH_LOG("%u of %u queues show a word of another process", secrets, TRIES);
	EXPECT_EQ(0, read);
}

/* ---- what is pinned ---- */

/* args: pages that it may lock */
static int64_t do_limit(struct actor *a, const int64_t *args)
{
	struct rlimit limit = { .rlim_cur = (rlim_t)args[0] * KFD_PAGE_BYTES, .rlim_max = (rlim_t)args[0] * KFD_PAGE_BYTES };

	return setrlimit(RLIMIT_MEMLOCK, &limit) ? -errno : 0;
}

static long pinned_kb(const struct actor *a)
{
	char path[64], line[128];
	long kb = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", a->pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "VmPin: %ld kB", &kb);
	if (f)
		fclose(f);
	return kb;
}

/* Each queue's page counts in RLIMIT_MEMLOCK, whoever pins it; beyond that a queue is not seen, and no better off. */
TEST_F_TIMEOUT(memory, pinned_pages_count_as_the_owners, 60)
{
	enum { STEPS = 6, LIMIT = 2 };
	struct actor *low = actor_start(LOW_NICE, ARENA), *high;
	int i;

	ASSERT_ACTOR(low);
	ASSERT_EQ(0, actor_call(low, do_limit, LIMIT, 0, 0, 0));
	ASSERT_EQ(0, actor_call(low, actor_becomes_nobody, 0, 0, 0, 0));
	for (i = 0; i <= LIMIT; i++)
		ASSERT_EQ(i, actor_queue(low, i ? KFD_BACKING_GTT : KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL));
	EXPECT_FALSE(state_is(low, LIMIT - 1, "unmapped"));
	EXPECT_TRUE(state_is(low, LIMIT, "unmapped"));
	EXPECT_EQ(LIMIT * KFD_PAGE_BYTES / 1024, pinned_kb(low));

	high = worker(_metadata, 0, 10, self->slots, 1, 10 * MS);
	ASSERT_EQ(0, actor_work(low, 1, self->slots, STEPS, 20 * MS));
	ASSERT_EQ(0, actor_submit(low, LIMIT, 0, 1, 0));
	ASSERT_EQ(0, actor_wait_progress(low, 0, 1, LONG));
	ASSERT_EQ(0, actor_submit(high, 0, 0, 10, 0));
	EXPECT_EQ(0, wait_state(low, LIMIT, "preempted", LONG));
	ASSERT_DONE_ONCE(low, high);

	/* With room again, it is seen. */
	ASSERT_EQ(0, actor_queue_destroy(low, 0));
	EXPECT_EQ(0, wait_state(low, LIMIT, "idle", LONG));
	ASSERT_EQ(0, actor_queue_destroy(low, 1));
	ASSERT_EQ(0, actor_queue_destroy(low, LIMIT));
	EXPECT_EQ(0, pinned_kb(low));
}

/* Another page at the address of the queue's, with the same in it */
static int64_t do_replace_page(struct actor *a, const int64_t *args)
{
	struct kfd_buffer *page = &a->queue[0].page;
	void *fresh = mmap(NULL, page->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (fresh == MAP_FAILED)
		return -errno;
	madvise(fresh, page->bytes, MADV_DONTFORK);
	memcpy(fresh, page->ptr, page->bytes);
	return mremap(fresh, page->bytes, page->bytes, MREMAP_MAYMOVE | MREMAP_FIXED, page->ptr) == page->ptr ? 0 : -errno;
}

/* A program that has another page at the address of its pointers is seen there: as idle, as the more urgent one, and as the one that yields. */
TEST_F_TIMEOUT(memory, replaced_pages_are_found, 60)
{
	struct actor *low = worker(_metadata, LOW_NICE, 2, self->slots, 10, 20 * MS);
	struct actor *high = worker(_metadata, 0, 20, self->slots, 1, MS);
	uint64_t rptr, wptr;
	struct kfd_gpreempt_queue q;

	ASSERT_EQ(0, launches_complete(high, 10, 0));
	ASSERT_EQ(0, actor_call(high, do_replace_page, 0, 0, 0, 0));
	ASSERT_EQ(0, launch_completes(high));
	EXPECT_EQ(0, KFD_WAIT(!kfd_gpreempt_queue_get(high->client.gpu_id, high->pid, high->queue[0].id, &q) && q.wptr == 11, 20 * MS, LONG));
	EXPECT_EQ(0, actor_pointers(high, 0, &rptr, &wptr));
	EXPECT_EQ(11, wptr);

	ASSERT_EQ(0, launch_begins(low));
	ASSERT_EQ(0, actor_submit(high, 0, 0, 9, 0));
	EXPECT_EQ(0, KFD_WAIT(preempt_count(low, 0) >= 1, MS, LONG));
	ASSERT_DONE_ONCE(low, high);
}

/* args: the address of the queue's pointers becomes VRAM that the CPU reaches */
static int64_t do_vram_queue(struct actor *a, const int64_t *args)
{
	struct kfd_buffer page;
	int err = kfd_buffer_place(&a->client, KFD_IN_VRAM, NULL, KFD_PAGE_BYTES, KFD_ACCESS_ALL, &page);

	if (err)
		return err;
	memset(page.ptr, 0, KFD_PAGE_BYTES);
	return kfd_queue_create_at(&a->client, &a->queue[0], (uint64_t)(uintptr_t)page.ptr, 0, KFD_PRIORITY_NORMAL, 256);
}

/* Pointers in memory of the device are let go before it is suspended, and seen again afterwards. */
TEST_F_TIMEOUT(memory, suspend_takes_no_pinned_vram, 120)
{
	struct actor *high = actor_start(0, ARENA), *low;

	NEEDS_VGPU();
	NEEDS_SUSPEND();
	ASSERT_ACTOR(high);
	ASSERT_EQ(0, actor_call(high, do_vram_queue, 0, 0, 0, 0));
	ASSERT_EQ(0, actor_work(high, 20, self->slots, 1, MS));
	low = worker(_metadata, LOW_NICE, 1, self->slots, 20, 20 * MS);
	EXPECT_TRUE(state_is(high, 0, "idle"));
	ASSERT_EQ(0, launches_complete(high, 10, 0));
	ASSERT_EQ(0, suspend_devices());
	EXPECT_EQ(0, wait_state(high, 0, "idle", LONG));
	ASSERT_EQ(0, launch_begins(low));
	ASSERT_EQ(0, actor_submit(high, 0, 0, 10, 0));
	EXPECT_EQ(0, KFD_WAIT(preempt_count(low, 0) >= 1, MS, LONG));
	ASSERT_DONE_ONCE(low, high);
}

TEST_HARNESS_MAIN
