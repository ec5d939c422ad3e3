/* SPDX-License-Identifier: MIT */
/*
 * reset.h - tests that make the driver reset the device
 *
 * Include after fixture.h.
 */
#ifndef RESET_H
#define RESET_H

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define TEST_RINGS	"/sys/kernel/debug/dri/0/amdgpu_test_ib"

/* NULL, or why such a test cannot run here. */
static inline const char *recovery_missing(void)
{
	if (kfd_vgpu_get("fault/xcc") < 0)
		return "this virtual GPU has no faults";
	/* A reset by PCI, whose number is another one in 7.x */
	if (kfd_param_get("gpu_recovery") != 1 || kfd_param_get("reset_method") != (kfd_kernel_since(7, 0) ? 6 : 5))
		return "the driver does not reset the device: load it with gpu_recovery=1, then write 5 to reset_method, 6 in 7.x";
	return NULL;
}

/* Ends when no reset is under way any more. */
static inline int test_rings(void)
{
	char text[128];
	int n = kfd_file_read(TEST_RINGS, text, sizeof(text));

	return n < 0 ? n : strstr(text, "passed") ? 0 : -EIO;
}

/* The device has been reset @resets times, and the driver is done with it. */
static inline int wait_reset(int64_t resets)
{
	int err = KFD_WAIT(kfd_vgpu_stat("resets") >= resets, 5 * MS, LONG);

	return err ? err : test_rings();
}

#endif /* RESET_H */
