// SPDX-License-Identifier: MIT
/*
 * asic.c - what distinguishes the devices that the model can be
 *
 * Offsets are those of the driver's register headers for the device. Bases of gfx90a are hard-coded
 * in the driver; those of gfx942 are what discovery.c tells it: the registers of XCC n and of I/O
 * die n lie n * VGPU_XCC_STRIDE and n * VGPU_AID_STRIDE behind the first one's, and no other block
 * lies where the low 16 bits of a register's number would make it one of an XCC.
 */
#include "model.h"

/* Segment 1 of the bases of SDMA2 to SDMA4 on gfx90a */
#define GFX90A_SDMA0		0x1260u
#define GFX90A_SDMA1		0x1860u
#define GFX90A_SDMA2		0x1e000u
#define GFX90A_SDMA3		0x1e400u
#define GFX90A_SDMA4		0x1e800u

#define GFX942_MP0_C2PMSG_33	0x16061u
#define GFX942_BOOTED		0x80000000u
#define GFX942_STRAP0		(VGPU_BASE_NBIO2 + 0x0016u)
#define GFX942_REVISION(r)	((r) << 24)
#define GFX942_XCP_STATUS	(VGPU_BASE_NBIO2 + 0x0163u)
#define GFX942_MEM_CAP		(VGPU_BASE_NBIO2 + 0x0162u)
#define GFX942_MEM_STATUS	(VGPU_BASE_NBIO2 + 0x0164u)
#define GFX942_NPS1		1u

static const struct vgpu_asic asics[] = {
	{
		.name = "gfx90a",
		.device = 0x740f,
		.revision = 0x02,
		.bios_part = "VGPU-GFX90A",
		.max_xccs = 1,
		.gfxhub = VGPU_VM_CONTEXT0_CNTL,
		.mmhub = 0x1a000u + 0x0bc0u,
		.atc_status = VGPU_BASE_ATHUB + 0x000bu,
		.atc_mapping = VGPU_BASE_ATHUB + 0x000cu,
		.atc_mapping_mm = VGPU_BASE_ATHUB + 0x003du,
		.sdma_per_aid = 5,
		.sdma = {
			{ GFX90A_SDMA0, VGPU_CLIENT_SDMA0 },
			{ GFX90A_SDMA1, VGPU_CLIENT_SDMA1 },
			{ GFX90A_SDMA2, VGPU_CLIENT_SDMA2 },
			{ GFX90A_SDMA3, VGPU_CLIENT_SDMA3 },
			{ GFX90A_SDMA4, VGPU_CLIENT_SDMA4 },
		},
		.sdma_page_ring = 0xe0,
	},
	{
		.name = "gfx942",
		.device = 0x74a1,
		.revision = 0x00,
		.bios_part = "VGPU-GFX942",
		.max_xccs = VGPU_MAX_XCCS,
		.gfxhub = VGPU_BASE_GC0 + 0x0860u,
		.mmhub = VGPU_BASE_MMHUB_942 + 0x0ba0u,
		.hub_gap = 4,
		.atc_status = VGPU_BASE_ATHUB + 0x003eu,
		.atc_mapping = VGPU_BASE_ATHUB + 0x003fu,
		.lut_index = VGPU_BASE_OSSSYS + 0x00ecu,
		.xcp_ctl = VGPU_BASE_GC1 + 0x5828u,
		.xcp_status = GFX942_XCP_STATUS,
		.sdma_per_aid = 4,
		.sdma = {
			{ VGPU_BASE_SDMA_942(0), VGPU_CLIENT_SDMA0 },
			{ VGPU_BASE_SDMA_942(1), VGPU_CLIENT_SDMA1 },
			{ VGPU_BASE_SDMA_942(2), VGPU_CLIENT_SDMA2 },
			{ VGPU_BASE_SDMA_942(3), VGPU_CLIENT_SDMA3 },
		},
		.sdma_page_ring = 0xd8,
		.power_on = {
			{ GFX942_MP0_C2PMSG_33, GFX942_BOOTED },	/* the discovery table is in VRAM */
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
