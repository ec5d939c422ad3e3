// SPDX-License-Identifier: MIT
/*
 * front_intercept.c - "fast" front end: the accessors of a test build of amdgpu
 *
 * intercept.h makes that build call these four functions for every readl/readq/writel/writeq. An
 * access to a mapping of the register BAR goes to the model, any other is carried out. The mapping
 * is found once per binding by its physical address.
 */
#include <linux/export.h>
#include <linux/io.h>
#include <linux/pgtable.h>

#include "vgpu.h"
#include "intercept.h"

#undef readl
#undef readq
#undef writel
#undef writeq

/* Start of the driver's mapping of the register BAR, 0 while not seen. Read without a lock: a word, and set before it matters. */
static unsigned long mmio_base;

static void intercept_bind(void)
{
	WRITE_ONCE(mmio_base, 0);
}

/* Offset of @addr in the register BAR, or -1 */
static long mmio_offset(const volatile void __iomem *addr)
{
	unsigned long va = (unsigned long)addr;
	unsigned long base = READ_ONCE(mmio_base);
	phys_addr_t phys;

	if (base)
		return va - base < vgpu_model_reg_bytes(vgpu.model) ? (long)(va - base) : -1;
	phys = slow_virt_to_phys((void *)va);
	if (phys - VGPU_MMIO_PHYS >= vgpu_model_reg_bytes(vgpu.model))
		return -1;
	WRITE_ONCE(mmio_base, va - (unsigned long)(phys - VGPU_MMIO_PHYS));
	return phys - VGPU_MMIO_PHYS;
}

/* Many addresses are written that are neither: page tables, buffers. */
static bool is_doorbell(const volatile void __iomem *addr)
{
	return slow_virt_to_phys((void *)(unsigned long)addr) - VGPU_DOORBELL_PHYS < VGPU_DOORBELL_BYTES;
}

u32 vgpu_readl(const volatile void __iomem *addr)
{
	long offset = mmio_offset(addr);

	return offset < 0 ? __readl(addr) : vgpu_model_reg_read(vgpu.model, offset / 4);
}
EXPORT_SYMBOL(vgpu_readl);

u64 vgpu_readq(const volatile void __iomem *addr)
{
	long offset = mmio_offset(addr);

	if (offset < 0)
		return __readq(addr);
	return vgpu_model_reg_read(vgpu.model, offset / 4) |
	       (u64)vgpu_model_reg_read(vgpu.model, offset / 4 + 1) << 32;
}
EXPORT_SYMBOL(vgpu_readq);

void vgpu_writel(u32 value, volatile void __iomem *addr)
{
	long offset = mmio_offset(addr);

	if (offset < 0) {
		__writel(value, addr);
		vgpu_rung(is_doorbell(addr));
	} else if (vgpu_model_reg_write(vgpu.model, offset / 4, value)) {
		vgpu_rung(vgpu_model_asked(vgpu.model));
	}
}
EXPORT_SYMBOL(vgpu_writel);

void vgpu_writeq(u64 value, volatile void __iomem *addr)
{
	long offset = mmio_offset(addr);

	if (offset < 0) {
		__writeq(value, addr);
		vgpu_rung(is_doorbell(addr));
	} else {
		vgpu_model_reg_write(vgpu.model, offset / 4, (u32)value);
		vgpu_model_reg_write(vgpu.model, offset / 4 + 1, (u32)(value >> 32));
		vgpu_rung(vgpu_model_asked(vgpu.model));
	}
}
EXPORT_SYMBOL(vgpu_writeq);

const struct vgpu_front vgpu_front_intercept = {
	.name = "intercept",
	.bind = intercept_bind,
};
