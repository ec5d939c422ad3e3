/* SPDX-License-Identifier: MIT */
/* ih.h - interrupt ring of the virtual GPU */
#ifndef VGPU_IH_H
#define VGPU_IH_H

#include "os.h"

struct vgpu_model;

#define VGPU_IV_DWORDS		8

/* Client ids (SOC15) that the model raises interrupts for */
#define VGPU_CLIENT_SDMA0	0x08
#define VGPU_CLIENT_SDMA1	0x09
#define VGPU_CLIENT_SE0SH	0x0a		/* the shaders of an engine; three more follow */
#define VGPU_CLIENT_VMC		0x12
#define VGPU_CLIENT_GRBM_CP	0x14
#define VGPU_CLIENT_UTCL2	0x1b
#define VGPU_CLIENT_SDMA2	0x01
#define VGPU_CLIENT_SDMA3	0x04
#define VGPU_CLIENT_SDMA4	0x05

/**
 * struct vgpu_ih - interrupt ring
 * @pending: entries were written since vgpu_ih_take_pending()
 * @pushed: entries written
 * @lost: entries dropped because the ring was off or full
 */
struct vgpu_ih {
	bool pending;
	u64 pushed;
	u64 lost;
};

/* Both from vgpu_model_run() only. */
bool vgpu_ih_push(struct vgpu_model *m, const u32 iv[VGPU_IV_DWORDS]);
bool vgpu_ih_take_pending(struct vgpu_model *m);
u32 vgpu_ih_pasid(struct vgpu_model *m, u32 hub, u32 vmid);

/* Dwords of an entry; the timestamp is filled in by vgpu_ih_push(). */
static inline void vgpu_iv_fill(u32 iv[VGPU_IV_DWORDS], u32 client, u32 source, u32 ring, u32 vmid, u32 pasid)
{
	memset(iv, 0, VGPU_IV_DWORDS * sizeof(u32));
	iv[0] = client | source << 8 | ring << 16 | vmid << 24;
	iv[3] = pasid;
}

#endif /* VGPU_IH_H */
