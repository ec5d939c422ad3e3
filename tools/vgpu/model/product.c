// SPDX-License-Identifier: MIT
/*
 * product.c - the numbers of products: what they are built of, and where their registers are
 *
 * Units, clocks and bandwidth are those of data sheets; what is known of MI308X beyond that is from
 * dumps of one. Costs are the model's. Documentation/virtual-gpu.rst names the sources.
 */
#include "model.h"

/*
 * Two places for an XCC on each of four I/O dies, of which one is used; four for SDMA engines, of
 * which two are. GC registers and SDMA engines lie where a dump of the device's queues shows them;
 * those of the other blocks of an I/O die are not known, and lie where nothing else does. The places
 * of the engines follow from the driver, which finds who interrupts by them.
 */
static const struct vgpu_layout mi308x_layout = {
	.xcc_place = { 0, 3, 4, 7 },
	.xcc_shift = 16,
	.aid_shift = 17,
	.sdma_per_aid = 2,
	.sdma = {
		{ 0x01260, 0x01860 },
		{ 0x39400, 0x39800 },
		{ 0x41260, 0x41860 },
		{ 0x79400, 0x79800 },
	},
	.sdma_place = { 0, 2, 0, 2 },
};

/*
 * Orders of magnitude, published for no part: of a trap handler, and of firmware that handles a
 * packet
 */
#define COSTS \
	.trap_ns = 10000, .runlist_ns = 20000, .connect_ns = 20000, .dispatch_ns = 2000, .ring_ns = 1000, .quantum_ns = 1000000

static const struct vgpu_product products[] = {
	{
		.name = "small", .xccs = 1, .cus = 8, .se = 4, .sclk_mhz = 1700, .hbm_bytes_per_us = 1600000, COSTS,
	},
	{
		.name = "mi210", .asic = "gfx90a", .device = 0x740f,
		.xccs = 1, .cus = 104, .se = 8, .sclk_mhz = 1700, .hbm_bytes_per_us = 1638400, COSTS,
	},
	{
		.name = "mi250", .asic = "gfx90a", .device = 0x740c,
		.xccs = 1, .cus = 104, .se = 8, .sclk_mhz = 1700, .hbm_bytes_per_us = 1638400, COSTS,
	},
	{
		.name = "mi300x", .asic = "gfx942", .device = 0x74a1,
		.xccs = 8, .cus = 38, .se = 4, .sclk_mhz = 2100, .hbm_bytes_per_us = 662500, COSTS,
	},
	{
		.name = "mi325x", .asic = "gfx942", .device = 0x74a5,
		.xccs = 8, .cus = 38, .se = 4, .sclk_mhz = 2100, .hbm_bytes_per_us = 750000, COSTS,
	},
	{
		.name = "mi308x", .asic = "gfx942", .device = 0x74a2, .layout = &mi308x_layout,
		.xccs = 4, .cus = 20, .se = 4, .sclk_mhz = 1420, .hbm_bytes_per_us = 1325000, COSTS,
		.firmware = "whole-hqd-writeback",
	},
};

/* See vgpu_model.h. */
const char *vgpu_product_name(u32 product)
{
	return product < ARRAY_SIZE(products) ? products[product].name : NULL;
}

/* See vgpu_model.h. */
const struct vgpu_product *vgpu_product_find(const char *name)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(products); i++)
		if (!strcmp(products[i].name, name))
			return &products[i];
	return NULL;
}

/* See vgpu_model.h. */
bool vgpu_product_apply(const struct vgpu_product *p, struct vgpu_config *c)
{
	if (p->asic && strcmp(p->asic, c->asic->name)) {
		vgpu_err("asic=%s: a %s is a %s", c->asic->name, p->name, p->asic);
		return false;
	}
	c->device = p->device ? p->device : c->asic->device;
	c->layout = p->layout ? p->layout : &c->asic->layout;
	c->sclk_mhz = p->sclk_mhz;
	if (p->layout && c->xccs > p->xccs) {
		vgpu_err("xccs=%u: a %s has %u", c->xccs, p->name, p->xccs);
		return false;
	}
	return true;
}
