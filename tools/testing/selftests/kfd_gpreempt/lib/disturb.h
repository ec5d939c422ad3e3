/* SPDX-License-Identifier: MIT */
/*
 * disturb.h - what tests do to the device and its driver: resets, faults of the virtual GPU, VRAM that somebody else wants
 *
 * Include after fixture.h. As root; resets and faults need debugfs.
 */
#ifndef DISTURB_H
#define DISTURB_H

#include <drm/amdgpu_drm.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/kfd_ioctl.h>

#include "reset.h"

/* ---- resets ---- */

#define RECOVER		"/sys/kernel/debug/dri/0/amdgpu_gpu_recover"

/* A reset as an administrator asks for it */
static inline int recover(void)
{
	char text[32];
	int n = kfd_file_read(RECOVER, text, sizeof(text));

	return n < 0 ? n : test_rings();
}

/* ---- suspend ---- */

static inline bool can_suspend(void)
{
	return !access("/sys/power/pm_test", W_OK);
}

#define NEEDS_SUSPEND()	NEEDS(can_suspend() ? NULL : "no /sys/power/pm_test")

/*
 * All devices are suspended and come back, programs frozen; the machine stays. Since 7.x the driver resets a device that comes back so. By PCI
 * it would wait for ever for the lock that whoever wakes the device holds, so meanwhile it does it in the way that is its own choice.
 */
static inline int suspend_devices(void)
{
	int64_t reset_method = kfd_param_get("reset_method");
	int err;

	kfd_param_set("reset_method", -1);
	kfd_file_write("/sys/module/suspend/parameters/pm_test_delay", "0");
	err = kfd_file_write("/sys/power/pm_test", "devices");
	if (!err)
		err = kfd_file_write("/sys/power/state", "mem");
	kfd_file_write("/sys/power/pm_test", "none");
	kfd_param_set("reset_method", reset_method);
	return err;
}

/* ---- debugger ---- */

static inline int debug_trap(int kfd, pid_t pid, uint32_t op, int event_fd)
{
	uint8_t runtime_info[256] = { 0 };
	struct kfd_ioctl_dbg_trap_args args = { .pid = (uint32_t)pid, .op = op };

	if (op == KFD_IOC_DBG_TRAP_ENABLE) {
		args.enable.rinfo_ptr = (uint64_t)(uintptr_t)runtime_info;
		args.enable.rinfo_size = sizeof(runtime_info);
		args.enable.dbg_fd = (uint32_t)event_fd;
	}
	return ioctl(kfd, AMDKFD_IOC_DBG_TRAP, &args) ? -errno : 0;
}

/* ---- faults of the virtual GPU ---- */

static inline void no_faults(void)
{
	static const char *const names[] = {
		"stale_mqd", "stale_ctl_stack", "mqd_garbage", "ctl_stack_garbage", "rptr_garbage", "dequeue_late",
		"dequeue_lost", "dequeue_dead", "unmap_late", "unmap_lost", "fence_lost", "preempt_fail",
		"queue_reset_fail", "pipe_reset_fail", "hung_wave", "irq_lost", "state_lost", "vram_lost",
		"full_after_unmap", "full_after_runlist", "invalidation_lost", "mes_silent", "mes_late", "mes_remove_fails",
	};
	char path[64];
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "fault/%s", names[i]);
		kfd_vgpu_set(path, 0);
	}
	kfd_vgpu_set("fault/xcc", 0);
}

/* ---- VRAM that somebody else wants ---- */

#define HOG_CHUNKS	64

/**
 * struct hog - buffers of the graphics side of the driver, which may push those of KFD out of VRAM
 * @fd: render node
 * @ptr: each buffer as the CPU sees it
 * @chunk: size of each
 * @chunks: how many
 */
struct hog {
	int fd;
	uint64_t *ptr[HOG_CHUNKS];
	size_t chunk;
	int chunks;
};

/* @where: "vram", or "gtt" for what the driver lets programs have of the system's */
static inline uint64_t memory_bytes(const char *where)
{
	char path[96];
	int64_t bytes;

	snprintf(path, sizeof(path), "/sys/class/drm/renderD%d/device/mem_info_%s_total", kfd_first_render_minor(), where);
	bytes = kfd_file_number(path);
	return bytes < 0 ? 0 : (uint64_t)bytes;
}

static inline uint64_t vram_bytes(void)
{
	return memory_bytes("vram");
}

static inline int hog_open(struct hog *h, size_t chunk)
{
	char path[64];

	memset(h, 0, sizeof(*h));
	h->chunk = chunk;
	snprintf(path, sizeof(path), "/dev/dri/renderD%d", kfd_first_render_minor());
	h->fd = open(path, O_RDWR | O_CLOEXEC);
	return h->fd < 0 ? -errno : 0;
}

/* One more buffer, with its number in each page */
static inline int hog_more(struct hog *h)
{
	union drm_amdgpu_gem_create create = { .in = {
		.bo_size = h->chunk, .alignment = KFD_PAGE_BYTES, .domains = AMDGPU_GEM_DOMAIN_VRAM,
		.domain_flags = AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED,
	} };
	union drm_amdgpu_gem_mmap map = { 0 };
	size_t at;
	void *ptr;

	if (h->chunks == HOG_CHUNKS)
		return -ENOSPC;
	if (ioctl(h->fd, DRM_IOCTL_AMDGPU_GEM_CREATE, &create))
		return -errno;
	map.in.handle = create.out.handle;
	if (ioctl(h->fd, DRM_IOCTL_AMDGPU_GEM_MMAP, &map))
		return -errno;
	ptr = mmap(NULL, h->chunk, PROT_READ | PROT_WRITE, MAP_SHARED, h->fd, (off_t)map.out.addr_ptr);
	if (ptr == MAP_FAILED)
		return -errno;
	madvise(ptr, h->chunk, MADV_DONTFORK);
	h->ptr[h->chunks] = ptr;
	for (at = 0; at < h->chunk / 8; at += KFD_PAGE_BYTES / 8)
		h->ptr[h->chunks][at] = (uint64_t)h->chunks << 32 | at;
	h->chunks++;
	return 0;
}

/* Pages that do not hold what was written; gives everything back */
static inline uint64_t hog_close(struct hog *h)
{
	uint64_t wrong = 0;
	size_t at;
	int i;

	for (i = 0; i < h->chunks; i++) {
		for (at = 0; at < h->chunk / 8; at += KFD_PAGE_BYTES / 8)
			wrong += h->ptr[i][at] != ((uint64_t)i << 32 | at);
		munmap(h->ptr[i], h->chunk);
	}
	close(h->fd);
	return wrong;
}

#endif /* DISTURB_H */
