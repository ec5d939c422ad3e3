/* SPDX-License-Identifier: MIT */
/* seen.h - the list behind gpreempt-preload.h */
#ifndef SEEN_H
#define SEEN_H

#include "gpreempt-preload.h"

/* Made by the calling thread. Without memory for it a queue is not listed, and nothing else. */
void seen_add(uint32_t gpu_id, uint32_t queue_id, uint64_t ring_base, uint32_t kfd_priority);
void seen_remove(uint32_t queue_id);
void seen_priority(uint32_t queue_id, uint32_t kfd_priority);
void seen_cu_mask(uint32_t queue_id);

#endif /* SEEN_H */
