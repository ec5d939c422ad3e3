/* SPDX-License-Identifier: MIT */
/*
 * kfd.h - commands of /dev/kfd that are about queues, as far as they are looked at
 *
 * <linux/kfd_ioctl.h> needs headers that Debian keeps in libdrm-dev. Structures of KFD grow at their ends, and the size in the number of a
 * command says how far the caller's reaches. The test compares these with the kernel's.
 */
#ifndef KFD_H
#define KFD_H

#include <stdint.h>
#include <sys/ioctl.h>

#define KFD_IOCTL_TYPE		'K'
#define KFD_CREATE_QUEUE_NR	0x02
#define KFD_DESTROY_QUEUE_NR	0x03
#define KFD_UPDATE_QUEUE_NR	0x07
#define KFD_SET_CU_MASK_NR	0x1a

#define KFD_UPDATE_QUEUE	_IOW(KFD_IOCTL_TYPE, KFD_UPDATE_QUEUE_NR, struct kfd_update_queue)

#define KFD_QUEUE_COMPUTE	0
#define KFD_QUEUE_COMPUTE_AQL	2

/* A queue's priority: bounds, and what every queue of a ROCr program is born with, so what one has that asks for nothing */
#define KFD_PRIORITY_MIN	0
#define KFD_PRIORITY_MAX	15
#define KFD_PRIORITY_NORMAL	7

/**
 * struct kfd_create_queue - the beginning of what KFD_CREATE_QUEUE_NR takes
 * @ring_base: address of the ring
 * @pointers: write pointer, read pointer, doorbell
 * @ring_bytes: size of the ring
 * @gpu_id: node
 * @type: KFD_QUEUE_COMPUTE and others
 * @percentage: 0: not to run
 * @priority: KFD_PRIORITY_MIN..KFD_PRIORITY_MAX
 * @queue_id: out: number within the process
 */
struct kfd_create_queue {
	uint64_t ring_base;
	uint64_t pointers[3];
	uint32_t ring_bytes;
	uint32_t gpu_id;
	uint32_t type;
	uint32_t percentage;
	uint32_t priority;
	uint32_t queue_id;
};

/**
 * struct kfd_update_queue - what KFD_UPDATE_QUEUE_NR takes
 * @ring_base: as above
 * @queue_id: which
 * @ring_bytes: as above
 * @percentage: as above
 * @priority: as above
 */
struct kfd_update_queue {
	uint64_t ring_base;
	uint32_t queue_id;
	uint32_t ring_bytes;
	uint32_t percentage;
	uint32_t priority;
};

/**
 * struct kfd_of_queue - the beginning of what KFD_DESTROY_QUEUE_NR and KFD_SET_CU_MASK_NR take
 * @queue_id: which
 */
struct kfd_of_queue {
	uint32_t queue_id;
};

#endif /* KFD_H */
