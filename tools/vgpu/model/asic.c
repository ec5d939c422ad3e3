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

/*
 * Offsets of gfx1100 are those of the driver's gc_11_0_0_offset.h, mmhub_3_0_0_offset.h,
 * nbio_4_3_0_offset.h and osssys_6_0_0_offset.h. Bases are those that sienna_cichlid_ip_offset.h
 * has for the device before it.
 */
#define GFX11_GC0		0x1260u
#define GFX11_GC1		0xa000u
#define GFX11_PFP_IC_OP_CNTL	(GFX11_GC1 + 0x5843u)
#define GFX11_ME_IC_OP_CNTL	(GFX11_GC1 + 0x5847u)
#define GFX11_RS64_DC_OP_CNTL	(GFX11_GC1 + 0x2a09u)
#define GFX11_MEC_DC_OP_CNTL	(GFX11_GC1 + 0x290cu)
#define GFX11_CPC_IC_OP_CNTL	(GFX11_GC1 + 0x297au)
#define GFX11_CACHE_READY	0x22u		/* invalidated, and primed */
#define GFX11_MES_GP3_LO	(GFX11_GC1 + 0x2849u)
/*
 * Firmware 0x8c, of interface 14. The driver asks for less: 0x47 to map the kernel's rings, 0x63
 * to suspend gangs; interface 14 is the newest that it tells apart.
 */
#define GFX11_MES_VERSION	0xe08cu

static const struct vgpu_place gfx11_places[] = {
	{ VGPU_MM_INDEX, VGPU_MM_INDEX, 2 },
	{ VGPU_MM_INDEX_HI, VGPU_MM_INDEX_HI, 1 },
	{ VGPU_PCIE_INDEX2, VGPU_PCIE_INDEX2, 2 },
	{ VGPU_RCC_CONFIG_MEMSIZE, VGPU_RCC_CONFIG_MEMSIZE, 1 },
	{ VGPU_HQD_FIRST, GFX11_GC0 + 0x1fa9u, VGPU_HQD_REGS },
	{ VGPU_GRBM_GFX_CNTL, GFX11_GC1 + 0x0900u, 1 },
	{ VGPU_GRBM_GFX_INDEX, GFX11_GC1 + 0x2200u, 1 },
	{ VGPU_CC_SHADER_ARRAY, GFX11_GC0 + 0x100fu, 1 },
	{ VGPU_USER_SHADER_ARRAY, GFX11_GC1 + 0x5b90u, 1 },
	{ VGPU_SQ_SHADER_TMA_LO, GFX11_GC1 + 0x09e8u, 2 },
	{ VGPU_SPI_CSQ_STATUS, GFX11_GC0 + 0x127bu, 1 + VGPU_QUEUES },
	{ VGPU_GB_ADDR_CONFIG, GFX11_GC0 + 0x13deu, 1 },
	{ VGPU_SCRATCH_REG0, GFX11_GC1 + 0x2040u, 1 },
	{ VGPU_RLC_SAFE_MODE, GFX11_GC1 + 0x0980u, 1 },
	{ VGPU_RLC_CLOCK_LSB, GFX11_GC1 + 0x4c24u, 3 },
	{ VGPU_CP_MEC_CNTL, GFX11_GC1 + 0x0802u, 1 },
	{ VGPU_SPI_QUEUE_RESET, GFX11_GC0 + 0x1f73u, 1 },
	{ VGPU_CP_PQ_WPTR_POLL, GFX11_GC0 + 0x1e24u, 1 },
	{ 0 },
};

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
	{
		.name = "gfx1100",
		.device = 0x744c,
		.revision = 0xc8,
		.bios_part = "VGPU-GFX1100",
		.max_xccs = 1,
		.places = gfx11_places,
		.gfxhub = GFX11_GC0 + 0x1688u,
		.mmhub = 0x1a000u + 0x0740u,
		.gfxhub_fb = GFX11_GC0 + 0x1678u,
		.mmhub_fb = 0x1a000u + 0x08ecu,
		.layout = {
			.xcc_shift = 17,
			.aid_shift = 18,
			.sdma_per_aid = 2,
			.sdma = { { GFX11_GC0, GFX11_GC0 + 0x600u } },
		},
		.fault_client = VGPU_CLIENT_SE0SH,	/* which is all of the graphics core here */
		.sdma_client = { VGPU_CLIENT_SE0SH, VGPU_CLIENT_SE0SH },
		.sdma_source = 49,
		.sdma_ring_shift = 4,
		.sdma_on_gfxhub = true,
		.sdma_mqd = {
			.rptr_addr_hi = 7, .ib_cntl = 9, .context_status = 16, .doorbell_offset = 19, .done = 31,
		},
		.power_on = {
			{ MP0_C2PMSG_33, MP0_BOOTED },
			{ GFX11_PFP_IC_OP_CNTL, GFX11_CACHE_READY },
			{ GFX11_ME_IC_OP_CNTL, GFX11_CACHE_READY },
			{ GFX11_RS64_DC_OP_CNTL, GFX11_CACHE_READY },
			{ GFX11_MEC_DC_OP_CNTL, GFX11_CACHE_READY },
			{ GFX11_CPC_IC_OP_CNTL, GFX11_CACHE_READY },
			{ GFX11_MES_GP3_LO, GFX11_MES_VERSION },
		},
		.discovery = true,
		.mes = true,
		.cus_per_fuse = 2,
		.cu_mask_words = { 23, 24, 26, 27, 44, 45, 46, 47 },
		.stack_in_area = true,
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
