/* SPDX-License-Identifier: MIT */
/*
 * hsa_abi.h - the little of ROCr's ABI that a tools library needs
 *
 * ROCr's header with the tables is C++, and the package with it is not needed to build this library. The test compares them.
 */
#ifndef HSA_ABI_H
#define HSA_ABI_H

#include <stdint.h>

/**
 * struct hsa_queue - hsa_queue_t, as the HSA standard has it for 64 bits
 * @type: of submission
 * @features: bits
 * @base_address: of the ring
 * @doorbell_signal: a handle
 * @size: of the ring, in packets
 */
struct hsa_queue {
	uint32_t type;
	uint32_t features;
	void *base_address;
	uint64_t doorbell_signal;
	uint32_t size;
};

/**
 * struct hsa_table_version - what every table begins with
 * @major: of the layout
 * @minor: size of the table in bytes
 * @step: number of changes
 * @reserved: nothing
 */
struct hsa_table_version {
	uint32_t major;
	uint32_t minor;
	uint32_t step;
	uint32_t reserved;
};

typedef uint32_t hsa_queue_create_fn(uint64_t agent, uint32_t size, uint32_t type, void *callback, void *data, uint32_t private_size,
				     uint32_t group_size, struct hsa_queue **queue);
typedef uint32_t hsa_queue_destroy_fn(struct hsa_queue *queue);

/**
 * struct hsa_core_table - the core functions of ROCr, as far as they are needed
 * @version: version and size
 * @before: seven functions that do not matter here
 * @queue_create: hsa_queue_create()
 * @soft_queue_create: hsa_soft_queue_create()
 * @queue_destroy: hsa_queue_destroy()
 */
struct hsa_core_table {
	struct hsa_table_version version;
	void *before[7];
	hsa_queue_create_fn *queue_create;
	void *soft_queue_create;
	hsa_queue_destroy_fn *queue_destroy;
};

/**
 * struct hsa_tables - what OnLoad() gets
 * @version: version and size
 * @core: the core functions
 */
struct hsa_tables {
	struct hsa_table_version version;
	struct hsa_core_table *core;
};

#endif /* HSA_ABI_H */
