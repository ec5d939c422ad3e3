// SPDX-License-Identifier: MIT
/*
 * neighbours_reset.c - a program whose doorbells cannot be withdrawn before the GPU is reset delays only itself
 *
 * The program makes a GPU job that hangs, and a buffer of user pages over the addresses of its own doorbells whose unmapping waits for that job.
 * With gpreempt_wakeup=doorbell the notifier of that buffer runs when the idle program's doorbells are withdrawn.
 */
#define _GNU_SOURCE
#include <dirent.h>

#include "kselftest_harness.h"

#include "fixture.h"
#include "disturb.h"
#include "worker.h"

#define DOORBELL_BYTES	8192
#define NOTIFIER	"amdgpu_hmm_invalidate_gfx"
/* Where the program's own graphics address space has its buffers */
#define JOB_VA		0x1000000ULL
#define PAGES_VA	0x2000000ULL
#define STEPS		200

FIXTURE(neighbour) {
	BEFORE_TEST;
};

FIXTURE_SETUP(neighbour)
{
	SETUP_SCHEDULER(NULL, 0);
	ASSERT_EQ(0, kfd_param_set_text("gpreempt_wakeup", "doorbell"));
}

FIXTURE_TEARDOWN(neighbour)
{
	TEARDOWN_SCHEDULER();
	kfd_param_set_text("gpreempt_wakeup", "auto");
}

static int map_va(int fd, uint32_t handle, uint64_t va, uint64_t bytes)
{
	struct drm_amdgpu_gem_va map = {
		.handle = handle, .operation = AMDGPU_VA_OP_MAP, .va_address = va, .map_size = bytes,
		.flags = AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_PAGE_WRITEABLE | AMDGPU_VM_PAGE_EXECUTABLE,
	};

	return ioctl(fd, DRM_IOCTL_AMDGPU_GEM_VA, &map) ? -errno : 0;
}

/* A job of the driver's compute ring that waits for a dword of its own buffer, which nothing ever writes */
static int submit_hang(int fd)
{
	union drm_amdgpu_gem_create create = { .in = {
		.bo_size = KFD_PAGE_BYTES, .alignment = KFD_PAGE_BYTES, .domains = AMDGPU_GEM_DOMAIN_GTT,
		.domain_flags = AMDGPU_GEM_CREATE_VM_ALWAYS_VALID,
	} };
	const uint64_t dword = JOB_VA + KFD_PAGE_BYTES / 2;
	const uint32_t wait_reg_mem[] = {
		3u << 30 | 5u << 16 | 0x3c << 8,
		1u << 4 | 3,			/* memory, equal */
		(uint32_t)dword, (uint32_t)(dword >> 32), 1 /* reference */, ~0u /* mask */, 4 /* interval */,
		3u << 30 | 0x3fffu << 16 | 0x10 << 8,	/* NOP of one dword: jobs are multiples of eight */
	};
	struct drm_amdgpu_cs_chunk_ib ib = { .va_start = JOB_VA, .ib_bytes = sizeof(wait_reg_mem), .ip_type = AMDGPU_HW_IP_COMPUTE };
	struct drm_amdgpu_cs_chunk chunk = {
		.chunk_id = AMDGPU_CHUNK_ID_IB, .length_dw = sizeof(ib) / 4, .chunk_data = (uintptr_t)&ib,
	};
	uint64_t chunks = (uintptr_t)&chunk;
	union drm_amdgpu_ctx ctx = { .in = { .op = AMDGPU_CTX_OP_ALLOC_CTX } };
	union drm_amdgpu_cs cs = { .in = { .num_chunks = 1, .chunks = (uintptr_t)&chunks } };
	union drm_amdgpu_gem_mmap map = { 0 };
	void *ptr;
	int err;

	if (ioctl(fd, DRM_IOCTL_AMDGPU_GEM_CREATE, &create))
		return -errno;
	map.in.handle = create.out.handle;
	if (ioctl(fd, DRM_IOCTL_AMDGPU_GEM_MMAP, &map))
		return -errno;
	ptr = mmap(NULL, KFD_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)map.out.addr_ptr);
	if (ptr == MAP_FAILED)
		return -errno;
	memset(ptr, 0, KFD_PAGE_BYTES);
	memcpy(ptr, wait_reg_mem, sizeof(wait_reg_mem));
	munmap(ptr, KFD_PAGE_BYTES);
	err = map_va(fd, create.out.handle, JOB_VA, KFD_PAGE_BYTES);
	if (err)
		return err;
	if (ioctl(fd, DRM_IOCTL_AMDGPU_CTX, &ctx))
		return -errno;
	cs.in.ctx_id = ctx.out.alloc.ctx_id;
	return ioctl(fd, DRM_IOCTL_AMDGPU_CS, &cs) ? -errno : 0;
}

/*
 * A buffer of user pages can be in no job while device memory is at its addresses: its pages cannot be got. But the driver also makes it wait for the
 * end of its mapping: when its handle is closed, entries of the GPU's page tables are cleared once the jobs of the address space are over. A list of
 * buffers keeps it.
 */
static int64_t actor_hangs_below_its_doorbells(struct actor *a, const int64_t *args)
{
	struct drm_amdgpu_gem_userptr pages = {
		.addr = (uintptr_t)a->client.doorbells, .size = DOORBELL_BYTES, .flags = AMDGPU_GEM_USERPTR_REGISTER,
	};
	struct drm_amdgpu_bo_list_entry entry = { 0 };
	union drm_amdgpu_bo_list list = { .in = {
		.operation = AMDGPU_BO_LIST_OP_CREATE, .bo_number = 1, .bo_info_size = sizeof(entry), .bo_info_ptr = (uintptr_t)&entry,
	} };
	struct drm_gem_close handle = { 0 };
	char path[64];
	int fd, err;

	snprintf(path, sizeof(path), "/dev/dri/renderD%d", kfd_first_render_minor());
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || ioctl(fd, DRM_IOCTL_AMDGPU_GEM_USERPTR, &pages))
		return -errno;
	err = map_va(fd, pages.handle, PAGES_VA, DOORBELL_BYTES);
	if (err)
		return err;
	entry.bo_handle = pages.handle;
	if (ioctl(fd, DRM_IOCTL_AMDGPU_BO_LIST, &list))
		return -errno;
	err = submit_hang(fd);
	if (err)
		return err;
	handle.handle = pages.handle;
	return ioctl(fd, DRM_IOCTL_GEM_CLOSE, &handle) ? -errno : 0;
}

/* Is a thread in that notifier? */
static bool notifier_waits(void)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	bool found = false;
	char path[300], stack[4096];

	while (proc && !found && (entry = readdir(proc))) {
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/stack", entry->d_name);
		found = kfd_file_read(path, stack, sizeof(stack)) > 0 && strstr(stack, NOTIFIER);
	}
	if (proc)
		closedir(proc);
	return found;
}

static int wait_notifier(bool waits)
{
	return KFD_WAIT(notifier_waits() == waits, 5 * MS, LONG);
}

/* Work that fills the device for two seconds, below everything else */
static struct actor *start_low(struct __test_metadata *_metadata, uint32_t slots)
{
	struct actor *low = worker(_metadata, LOW_NICE, 1, slots, STEPS, 10 * MS);

	ASSERT_EQ(0, launch_begins(low));
	return low;
}

/* A queue comes and goes, and with it a process. */
static void queue_ends(struct __test_metadata *_metadata)
{
	struct actor *a = with_queue(_metadata, 0);

	ASSERT_EQ(0, actor_queue_destroy(a, 0));
	EXPECT_EQ(0, actor_stop(a));
}

/* What is below is preempted and resumed, and each piece of work is done once. */
static void others_go_on(struct __test_metadata *_metadata, struct actor *low, uint32_t slots)
{
	struct actor *high = worker(_metadata, 0, 1, slots, 4, MS);
	int64_t preempted = preempt_count(low, 0);

	ASSERT_EQ(0, launch_completes(high));
	EXPECT_FALSE(actor_done(low, 0));
	/* Its state is preempted for a few milliseconds, which a slow kernel may take to show it. */
	EXPECT_LT(preempted, preempt_count(low, 0));
	ASSERT_DONE_ONCE(low, high);
	EXPECT_STOPPED(low, high);
}

TEST_F_TIMEOUT(neighbour, reset_never_waits_for_a_notifier, 300)
{
	int64_t resets = kfd_vgpu_stat("resets");
	struct actor *hung, *low;

	NEEDS(unless_virtual(recovery_missing()));
	hung = worker(_metadata, 0, 1, 1, 1, MS);
	ASSERT_EQ(0, actor_call(hung, actor_hangs_below_its_doorbells, 0, 0, 0, 0));
	low = start_low(_metadata, self->slots);
	/* If its doorbells are withdrawn already, this brings them back, and its end lets them go once more. */
	ASSERT_EQ(0, launch_completes(hung));
	ASSERT_EQ(0, wait_notifier(true)) TH_LOG("nothing waits for the job that hangs");

	/* The driver's own patience with the job ends after a minute: what waited for the notifier comes only then. */
	queue_ends(_metadata);
	ASSERT_TRUE(notifier_waits()) TH_LOG("the end of a queue waited for the notifier");
	others_go_on(_metadata, low, self->slots);
	ASSERT_TRUE(notifier_waits()) TH_LOG("a preemption waited for the notifier");
	EXPECT_EQ(resets, kfd_vgpu_stat("resets"));
	ASSERT_EQ(0, recover());
	EXPECT_EQ(resets + 1, kfd_vgpu_stat("resets"));
	ASSERT_EQ(0, wait_notifier(false));
	EXPECT_EXACTLY_ONCE(hung);
	/* The driver takes page tables down before it resets a device that is still busy: what that met is its own affair. */
	self->health = device_health();
	actor_kill(hung);
	ASSERT_EQ(0, wait_no_queues());
	queue_ends(_metadata);
	others_go_on(_metadata, start_low(_metadata, self->slots), self->slots);
}

TEST_HARNESS_MAIN
