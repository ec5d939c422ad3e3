// SPDX-License-Identifier: MIT
/*
 * hqd.c - a queue's slot by its registers: asked to be left, and looked at closely for a moment
 *
 * Without the hardware scheduler the driver asks a slot with hqd_destroy(), looks once, and then
 * every 500 to 1000 us, while it takes the device tens of microseconds to save a queue. And it asks
 * one XCC after the other.
 */
#include <linux/delay.h>
#include <linux/ktime.h>

#include "core/node.h"
#include "hqd.h"
#include "amdgpu.h"
#include "amdgpu_amdkfd_gfx_v9.h"
#include "gc/gc_9_0_offset.h"
#include "gc/gc_9_0_sh_mask.h"
#include "soc15.h"
#include "soc15_common.h"

/* What CP_HQD_DEQUEUE_REQUEST calls saving the waves */
#define DEQUEUE_SAVE_WAVES	3
/* Longer than saving a full device takes; the lock of the slot registers is held for so long. */
#define CLOSE_LOOK_NS		200000ULL
#define LOOK_US			5

static void hqd_ask(struct amdgpu_device *adev, u32 pipe, u32 queue, u32 xcc)
{
	kgd_gfx_v9_acquire_queue(adev, pipe, queue, xcc);
	WREG32_SOC15_RLC(GC, GET_INST(GC, xcc), mmCP_HQD_DEQUEUE_REQUEST, DEQUEUE_SAVE_WAVES);
	kgd_gfx_v9_release_queue(adev, xcc);
}

static void hqd_watch(struct amdgpu_device *adev, u32 pipe, u32 queue, u32 xcc, u64 until_ns)
{
	kgd_gfx_v9_acquire_queue(adev, pipe, queue, xcc);
	while ((RREG32_SOC15(GC, GET_INST(GC, xcc), mmCP_HQD_ACTIVE) &
		CP_HQD_ACTIVE__ACTIVE_MASK) &&
	       ktime_get_ns() < until_ns)
		usleep_range(LOOK_US, 2 * LOOK_US);
	kgd_gfx_v9_release_queue(adev, xcc);
}

/**
 * gpreempt_hqd_ask() - ask a queue to save its waves and leave its slot, on all XCCs at once
 * @node: the driver's node
 * @pipe: of the slot
 * @queue: of the slot
 *
 * Returns when it has left, or after a moment. hqd_destroy() is to be called in any case: it asks a
 * slot that is still in use again, and finds one that has been left at once.
 *
 * Context: dqm_lock and the reset semaphore held, the latter for reading; sleeps.
 */
void gpreempt_hqd_ask(struct kfd_node *node, u32 pipe, u32 queue)
{
	struct amdgpu_device *adev = node->adev;
	u32 xcc_mask = node->xcc_mask;
	u64 until_ns;
	int xcc;

	/*
	 * The registers of another generation are elsewhere. Once a reset has begun, none answers.
	 */
	if (node->kfd2kgd->hqd_destroy != kgd_gfx_v9_hqd_destroy || amdgpu_in_reset(adev))
		return;
	for_each_inst(xcc, xcc_mask)
		hqd_ask(adev, pipe, queue, xcc);
	until_ns = ktime_get_ns() + CLOSE_LOOK_NS;
	for_each_inst(xcc, xcc_mask)
		hqd_watch(adev, pipe, queue, xcc, until_ns);
}
