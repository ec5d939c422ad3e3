// SPDX-License-Identifier: MIT
/*
 * asic.c - what distinguishes the devices that the model can be
 *
 * Documentation/virtual-gpu.rst says how to add one.
 */
#include "model.h"

static const struct vgpu_asic asics[] = {
	{
		.name = "gfx90a",
		.max_xccs = 1,
		.mmhub_delta = VGPU_BASE_MMHUB + 0x0bc0u - (VGPU_BASE_GC0 + 0x0880u),
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
