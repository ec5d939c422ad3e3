// SPDX-License-Identifier: MIT
/*
 * mqd.c - what of a queue is in its MQD while it is not mapped: the registers of PM4 packets, the
 * indirect buffers, and the place in an SDMA ring
 */
#include "model.h"
#include "sdma_regs.h"

/*
 * Dwords of the MQD. The indirect buffers are in a part that the driver leaves to the firmware: it
 * rewrites CP_HQD_IB_CONTROL with every update.
 */
#define MQD_COMPUTE		1
#define MQD_IB_DEPTH		48

/*
 * What a process may set of the compute registers: groups of neighbours, from the first to the
 * last. All of it is saved with its queue.
 */
static const struct {
	u8 first, last;
} mqd_own_regs[] = {
	{ 0, VGPU_COMPUTE_PGM_RSRC2 },
	{ VGPU_COMPUTE_TMPRING_SIZE, VGPU_COMPUTE_TMPRING_SIZE },
	{ VGPU_COMPUTE_PGM_RSRC3, VGPU_COMPUTE_PGM_RSRC3 },
	{ VGPU_COMPUTE_USER_DATA_0, VGPU_COMPUTE_REGS - 1 },
};

/**
 * vgpu_mqd_has() - is the compute register, counted from the first one, one that a process may set?
 */
bool vgpu_mqd_has(u32 reg)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(mqd_own_regs); i++)
		if (reg >= mqd_own_regs[i].first && reg <= mqd_own_regs[i].last)
			return true;
	return false;
}

static u64 mqd_addr64(const u32 *p)
{
	return p[0] | (u64)p[1] << 32;
}

/**
 * vgpu_mqd_load() - what the MQD says about registers and indirect buffers, at map
 * @m: the device
 * @q: a compute queue of a process
 */
void vgpu_mqd_load(struct vgpu_model *m, struct vgpu_queue *q)
{
	u32 p[1 + 4 * VGPU_IB_LEVELS], i;

	vgpu_vm_read(m, VGPU_AS_KERNEL, q->mqd + MQD_COMPUTE * 4, q->compute, sizeof(q->compute));
	if (!vgpu_vm_read(m, VGPU_AS_KERNEL, q->mqd + MQD_IB_DEPTH * 4, p, sizeof(p)) || p[0] > VGPU_IB_LEVELS)
		return;
	for (i = 0; i < p[0]; i++)
		q->ib[i] = (struct vgpu_stream) {
			.as = vgpu_queue_as(q),
			.base = mqd_addr64(p + 1 + 4 * i),
			.mask = ~0ULL,
			.pos = p[3 + 4 * i],
			.end = p[4 + 4 * i],
		};
	q->ib_depth = p[0];
}

/**
 * vgpu_mqd_save() - registers and indirect buffers into the MQD, at dequeue
 * @m: the device
 * @q: a compute queue of a process
 */
void vgpu_mqd_save(struct vgpu_model *m, struct vgpu_queue *q)
{
	u32 p[1 + 4 * VGPU_IB_LEVELS] = { q->ib_depth }, i;

	for (i = 0; i < q->ib_depth; i++) {
		p[1 + 4 * i] = (u32)q->ib[i].base;
		p[2 + 4 * i] = (u32)(q->ib[i].base >> 32);
		p[3 + 4 * i] = (u32)q->ib[i].pos;
		p[4 + 4 * i] = (u32)q->ib[i].end;
	}
	for (i = 0; i < ARRAY_SIZE(mqd_own_regs); i++)
		vgpu_vm_write(m, VGPU_AS_KERNEL, q->mqd + (MQD_COMPUTE + mqd_own_regs[i].first) * 4, q->compute + mqd_own_regs[i].first,
			      (mqd_own_regs[i].last - mqd_own_regs[i].first + 1) * 4);
	vgpu_vm_write(m, VGPU_AS_KERNEL, q->mqd + MQD_IB_DEPTH * 4, p, sizeof(p));
}

/** vgpu_mqd_save_sdma() - a user queue that is unmapped continues with what its MQD says */
void vgpu_mqd_save_sdma(struct vgpu_model *m, struct vgpu_queue *q)
{
	const u32 ib[] = {
		q->ib_depth ? SDMA_IB_ENABLE : 0, 0, (u32)q->ib[0].pos, (u32)q->ib[0].base, (u32)(q->ib[0].base >> 32),
		(u32)q->ib[0].end,
	};
	const u32 rptr[] = { (u32)q->rptr, (u32)(q->rptr >> 32) }, done[] = { (u32)q->done, (u32)(q->done >> 32) };
	const struct vgpu_asic *asic = m->config.asic;

	vgpu_vm_write(m, VGPU_AS_KERNEL, q->mqd + SDMA_RB_RPTR * 4, rptr, sizeof(rptr));
	vgpu_vm_write(m, VGPU_AS_KERNEL, q->mqd + asic->sdma_mqd.ib_cntl * 4, ib, sizeof(ib));
	vgpu_vm_write(m, VGPU_AS_KERNEL, q->mqd + asic->sdma_mqd.done * 4, done, sizeof(done));
	vgpu_vm_write32(m, VGPU_AS_KERNEL, q->mqd + asic->sdma_mqd.context_status * 4, q->stuck ? SDMA_CONTEXT_EXCEPTION : 0);
}
