/* SPDX-License-Identifier: MIT */
/*
 * gpreempt-preload.h - what libgpreempt-preload.so and libgpreempt-hsa.so know of the queues of the program they are loaded into
 *
 * HIP has no call that says which queue a stream uses. The thread that makes the stream can know
 * all the same: the one queue that appeared in it between gpreempt_seen_mark() before and the first
 * use after is the stream's. None did: the stream shares one with others. Several did:
 * libgpreempt-preload.so also sees queues that ROCr makes for itself.
 *
 * To be found with dlsym(), in RTLD_DEFAULT or in dlopen("libgpreempt-hsa.so", RTLD_NOLOAD | RTLD_LAZY): nothing needs to be linked, and
 * without one of the libraries there is nothing to be known. Any thread may call them at any time. After fork() the child has seen no queues.
 */
#ifndef GPREEMPT_PRELOAD_H
#define GPREEMPT_PRELOAD_H

#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The queue has a CU mask: HIP makes such a queue for one stream and gives it to no other. */
#define GPREEMPT_SEEN_CU_MASK	(1 << 0)

/**
 * struct gpreempt_seen - a compute queue that the program has made and not destroyed
 * @sequence: counts queues, from 1
 * @ring_base: GPU virtual address of its ring: hsa_queue_t.base_address
 * @gpu_id: its node
 * @queue_id: KFD's number of the queue
 * @kfd_priority: priority that KFD was told at last, 0..15
 * @flags: GPREEMPT_SEEN_*
 * @tid: thread that made it, as gettid(2) says
 * @reserved: 0
 */
struct gpreempt_seen {
	uint64_t sequence;
	uint64_t ring_base;
	uint32_t gpu_id;
	uint32_t queue_id;
	uint32_t kfd_priority;
	uint32_t flags;
	int32_t tid;
	uint32_t reserved;
};

/** gpreempt_seen_mark() - @sequence of the newest queue so far; 0: there was none */
uint64_t gpreempt_seen_mark(void);

/**
 * gpreempt_seen_queues() - queues made after a mark
 * @mark: what gpreempt_seen_mark() said; 0: all
 * @tid: made by this thread; 0: by any
 * @queues: out: oldest first; may be NULL if @max is 0
 * @max: length of @queues
 *
 * Return: how many there are, which may be more than @max.
 */
unsigned int gpreempt_seen_queues(uint64_t mark, pid_t tid, struct gpreempt_seen *queues, unsigned int max);

/**
 * gpreempt_queue_class() - the class of the compute queues that the calling thread makes from now on
 * @class_name: latency, normal, batch or a logical priority, -1023 to 1023; NULL: none, as before
 *
 * For the time in which a thread makes a stream and uses it for the first time. Where the runtime
 * gives the stream a queue that is there already, nothing is changed: gpreempt_seen_queues() tells.
 * It counts more than GPREEMPT_QUEUE_CLASS, and than the priority that the program asks KFD for.
 *
 * Return: 0; -EINVAL: no class, and nothing has changed.
 */
int gpreempt_queue_class(const char *class_name);

#ifdef __cplusplus
}
#endif

#endif /* GPREEMPT_PRELOAD_H */
