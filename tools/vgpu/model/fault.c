// SPDX-License-Identifier: MIT
/*
 * fault.c - what goes wrong on demand
 *
 * Each fault has a count: how many more times it happens where its place in the model asks
 * vgpu_fault(). A device without faults has all counts at zero.
 */
#include "model.h"

static const struct {
	const char *name;
	const char *value_name;		/* NULL: the fault has no number */
	u64 value;			/* at first */
} info[VGPU_FAULTS] = {
	[VGPU_FAULT_STALE_MQD]		= { "stale_mqd" },
	[VGPU_FAULT_STALE_CTL_STACK]	= { "stale_ctl_stack" },
	[VGPU_FAULT_MQD_GARBAGE]	= { "mqd_garbage" },
	[VGPU_FAULT_CTL_STACK_GARBAGE]	= { "ctl_stack_garbage" },
	[VGPU_FAULT_RPTR_GARBAGE]	= { "rptr_garbage", "rptr_value", 0xdeadbeefULL },
	[VGPU_FAULT_DEQUEUE_LATE]	= { "dequeue_late", "dequeue_late_us", 20000 },
	[VGPU_FAULT_DEQUEUE_LOST]	= { "dequeue_lost" },
	[VGPU_FAULT_DEQUEUE_DEAD]	= { "dequeue_dead", "dequeue_dead_us", 0 },
	[VGPU_FAULT_UNMAP_LATE]		= { "unmap_late", "unmap_late_us", 20000 },
	[VGPU_FAULT_UNMAP_LOST]		= { "unmap_lost" },
	[VGPU_FAULT_FENCE_LOST]		= { "fence_lost" },
	[VGPU_FAULT_PREEMPT_FAIL]	= { "preempt_fail" },
	[VGPU_FAULT_QUEUE_RESET_FAIL]	= { "queue_reset_fail" },
	[VGPU_FAULT_PIPE_RESET_FAIL]	= { "pipe_reset_fail" },
	[VGPU_FAULT_HUNG_WAVE]		= { "hung_wave" },
	[VGPU_FAULT_INVALIDATION_LOST]	= { "invalidation_lost" },
	[VGPU_FAULT_IRQ_LOST]		= { "irq_lost" },
	[VGPU_FAULT_STATE_LOST]		= { "state_lost" },
	[VGPU_FAULT_FULL_AFTER_UNMAP]	= { "full_after_unmap", "full_after_unmap_us", 20000 },
	[VGPU_FAULT_FULL_AFTER_RUNLIST]	= { "full_after_runlist", "full_after_runlist_us", 20000 },
	[VGPU_FAULT_VRAM_LOST]		= { "vram_lost" },
	[VGPU_FAULT_MES_SILENT]		= { "mes_silent" },
	[VGPU_FAULT_MES_LATE]		= { "mes_late", "mes_late_us", 20000 },
	[VGPU_FAULT_MES_REMOVE_FAILS]	= { "mes_remove_fails" },
};

/* Sets all numbers to what they are at first */
void vgpu_fault_init(struct vgpu_model *m)
{
	u32 i;

	for (i = 0; i < VGPU_FAULTS; i++)
		m->fault_value[i] = info[i].value;
}

/**
 * vgpu_fault() - does it go wrong this time?
 * @m: the device
 * @fault: what
 *
 * Return: true as many times as it was told to.
 */
bool vgpu_fault(struct vgpu_model *m, enum vgpu_fault fault)
{
	if (!m->fault_left[fault])
		return false;
	if (m->fault_left[fault] != U32_MAX)
		m->fault_left[fault]--;
	m->stats.faults++;
	return true;
}

/* The same for a fault of the scheduler of an XCC: the others work as they should. */
bool vgpu_fault_on(struct vgpu_model *m, enum vgpu_fault fault, u32 xcc)
{
	return xcc == m->fault_xcc && vgpu_fault(m, fault);
}

/* See vgpu_model.h. */
const char *vgpu_fault_name(u32 fault)
{
	return info[fault].name;
}

/* See vgpu_model.h. */
const char *vgpu_fault_value_name(enum vgpu_fault fault)
{
	return info[fault].value_name;
}

/* See vgpu_model.h. */
u32 *vgpu_model_fault_left(struct vgpu_model *m, enum vgpu_fault fault)
{
	return &m->fault_left[fault];
}

/* See vgpu_model.h. */
u32 *vgpu_model_fault_xcc(struct vgpu_model *m)
{
	return &m->fault_xcc;
}

/* See vgpu_model.h. */
u64 *vgpu_model_fault_value(struct vgpu_model *m, enum vgpu_fault fault)
{
	return &m->fault_value[fault];
}
