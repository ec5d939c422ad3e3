// SPDX-License-Identifier: MIT
/*
 * asic.c - what distinguishes the devices that the model can be
 *
 * Offsets are those of the driver's register headers for the device. Bases of gfx90a are hard-coded
 * in the driver; those of gfx942 are what discovery.c tells it, by struct vgpu_layout: no block lies
 * where the low 16 bits of a register's number would make it one of an XCC that it is not of.
 */
#include "model.h"

/* Segment 1 of the bases of SDMA2 to SDMA4 on gfx90a */
#define GFX90A_SDMA0		0x1260u
#define GFX90A_SDMA1		0x1860u
#define GFX90A_SDMA2		0x1e000u
#define GFX90A_SDMA3		0x1e400u
#define GFX90A_SDMA4		0x1e800u

/* On I/O die @aid */
#define GFX942_SDMA(aid)	{ GFX942_SDMA_OF(aid, 0), GFX942_SDMA_OF(aid, 1), GFX942_SDMA_OF(aid, 2), GFX942_SDMA_OF(aid, 3) }
#define GFX942_SDMA_OF(aid, n)	(((aid) << 18) + 0x4000u + 0x600u * (n))
#define MP0_C2PMSG_33		0x16061u
#define MP0_BOOTED		0x80000000u	/* the discovery table is in VRAM */
#define GFX942_STRAP0		(VGPU_BASE_NBIO2 + 0x0016u)
#define GFX942_REVISION(r)	((r) << 24)
#define GFX942_XCP_STATUS	(VGPU_BASE_NBIO2 + 0x0163u)
#define GFX942_MEM_CAP		(VGPU_BASE_NBIO2 + 0x0162u)
#define GFX942_MEM_STATUS	(VGPU_BASE_NBIO2 + 0x0164u)
#define GFX942_NPS1		1u

/* Of both gfx9 devices */
#define GFX9_COMMON \
	.fault_client = VGPU_CLIENT_UTCL2, .sdma_source = 224, .cus_per_fuse = 1, \
	.sdma_mqd = { .rptr_addr_hi = 8, .ib_cntl = 10, .context_status = 17, .doorbell_offset = 22, .done = 32 }

static const struct vgpu_asic asics[] = {
	{
		.name = "gfx90a",
		.device = 0x740f,
		.revision = 0x02,
		.bios_part = "VGPU-GFX90A",
		.max_xccs = 1,
		.gfxhub = VGPU_VM_CONTEXT0_CNTL,
		.mmhub = 0x1a000u + 0x0bc0u,
		.gfxhub_fb = VGPU_VM_FB_LOCATION_BASE,
		.mmhub_fb = 0x1a000u + 0x0cc0u,
		.atc_status = VGPU_BASE_ATHUB + 0x000bu,
		.atc_mapping = VGPU_BASE_ATHUB + 0x000cu,
		.atc_mapping_mm = VGPU_BASE_ATHUB + 0x003du,
		.xgmi = VGPU_BASE_GC0 + 0x0978u,
		.layout = {
			.xcc_shift = 17,
			.aid_shift = 18,
			.sdma_per_aid = 5,
			.sdma = { { GFX90A_SDMA0, GFX90A_SDMA1, GFX90A_SDMA2, GFX90A_SDMA3, GFX90A_SDMA4 } },
		},
		.sdma_client = { VGPU_CLIENT_SDMA0, VGPU_CLIENT_SDMA1, VGPU_CLIENT_SDMA2, VGPU_CLIENT_SDMA3, VGPU_CLIENT_SDMA4 },
		.sdma_page_ring = 0xe0,
		GFX9_COMMON,
		.cu_mask_words = { 23, 24, 26, 27, 39, 40, 41, 42 },
		.watch_shift = 6,
	},
	{
		.name = "gfx942",
		.device = 0x74a1,
		.revision = 0x00,
		.bios_part = "VGPU-GFX942",
		.max_xccs = VGPU_MAX_XCCS,
		.gfxhub = VGPU_BASE_GC0 + 0x0860u,
		.mmhub = VGPU_BASE_MMHUB_942 + 0x0ba0u,
		.gfxhub_fb = VGPU_BASE_GC0 + 0x095cu,
		.mmhub_fb = VGPU_BASE_MMHUB_942 + 0x0c9cu,
		.atc_status = VGPU_BASE_ATHUB + 0x003eu,
		.atc_mapping = VGPU_BASE_ATHUB + 0x003fu,
		.lut_index = VGPU_BASE_OSSSYS + 0x00ecu,
		.xcp_ctl = VGPU_BASE_GC1 + 0x5828u,
		.xcp_status = GFX942_XCP_STATUS,
		.xgmi = VGPU_BASE_GC0 + 0x0957u,
		.layout = {
			.xcc_place = { 0, 1, 2, 3, 4, 5, 6, 7 },
			.xcc_shift = 17,
			.aid_shift = 18,
			.sdma_per_aid = 4,
			.sdma = { GFX942_SDMA(0), GFX942_SDMA(1), GFX942_SDMA(2), GFX942_SDMA(3) },
		},
		.sdma_client = { VGPU_CLIENT_SDMA0, VGPU_CLIENT_SDMA1, VGPU_CLIENT_SDMA2, VGPU_CLIENT_SDMA3 },
		.sdma_page_ring = 0xd8,
		GFX9_COMMON,
		.cu_mask_words = { 23, 24, 26, 27 },	/* the words of the other engines have another meaning */
		.watch_shift = 7,
		.power_on = {
			{ MP0_C2PMSG_33, MP0_BOOTED },
			{ GFX942_STRAP0, GFX942_REVISION(1) },
			{ GFX942_MEM_CAP, GFX942_NPS1 },
			{ GFX942_MEM_STATUS, GFX942_NPS1 << 4 },
		},
		.discovery = true,
		.gfx942 = true,
	},
};

/**
 * vgpu_asic_find() - facts about a device
 * @name: its gfx target
 *
 * Return: NULL if there is no such device.
 */
const struct vgpu_asic *vgpu_asic_find(const char *name)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(asics); i++)
		if (!strcmp(asics[i].name, name))
			return &asics[i];
	return NULL;
}
