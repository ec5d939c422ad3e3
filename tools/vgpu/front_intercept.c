// SPDX-License-Identifier: MIT
/*
 * front_intercept.c - "fast" front end: the accessors of a test build of amdgpu
 *
 * intercept.h makes that build call these four functions for every readl/readq/writel/writeq. An
 * access to a mapping of a register BAR goes to that device's model, any other is carried out. The
 * mapping is found once per binding by its physical address.
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

/* Start of the driver's mapping of each register BAR, 0 while not seen. Read without a lock: a word, and set before it matters. */
static unsigned long mmio_base[VGPU_MAX_DEVICES];

static void intercept_bind(const struct vgpu *v)
{
	WRITE_ONCE(mmio_base[v->number], 0);
}

/* The device in whose register BAR @addr is, and its offset there; NULL: in none */
static struct vgpu *find_register(const volatile void __iomem *addr, unsigned long *offset)
{
	unsigned long va = (unsigned long)addr, base;
	bool unseen = false;
	phys_addr_t phys;
	struct vgpu *v;

	for_each_vgpu(v) {
		base = READ_ONCE(mmio_base[v->number]);
		*offset = va - base;
		if (base && *offset < vgpu_model_reg_bytes(v->model))
			return v;
		unseen |= !base;
	}
	if (!unseen)
		return NULL;
	phys = slow_virt_to_phys((void *)va);
	for_each_vgpu(v) {
		*offset = phys - v->low_phys - VGPU_MMIO_OFFSET;
		if (*offset < vgpu_model_reg_bytes(v->model)) {
			WRITE_ONCE(mmio_base[v->number], va - *offset);
			return v;
		}
	}
	return NULL;
}

/* Many addresses are written that are neither: page tables, buffers. */
static bool is_doorbell(const volatile void __iomem *addr)
{
	phys_addr_t phys = slow_virt_to_phys((void *)(unsigned long)addr) - VGPU_LOW_PHYS;

	return phys < (u64)vgpu_count * VGPU_LOW_BYTES && phys % VGPU_LOW_BYTES - VGPU_DOORBELL_OFFSET < VGPU_DOORBELL_BYTES;
}

u32 vgpu_readl(const volatile void __iomem *addr)
{
	unsigned long offset;
	struct vgpu *v = find_register(addr, &offset);

	return v ? vgpu_model_reg_read(v->model, offset / 4) : __readl(addr);
}
EXPORT_SYMBOL(vgpu_readl);

u64 vgpu_readq(const volatile void __iomem *addr)
{
	unsigned long offset;
	struct vgpu *v = find_register(addr, &offset);

	if (!v)
		return __readq(addr);
	return vgpu_model_reg_read(v->model, offset / 4) | (u64)vgpu_model_reg_read(v->model, offset / 4 + 1) << 32;
}
EXPORT_SYMBOL(vgpu_readq);

void vgpu_writel(u32 value, volatile void __iomem *addr)
{
	unsigned long offset;
	struct vgpu *v = find_register(addr, &offset);

	if (!v) {
		__writel(value, addr);
		vgpu_rung(is_doorbell(addr));
	} else if (vgpu_model_reg_write(v->model, offset / 4, value)) {
		vgpu_rung(vgpu_model_asked(v->model));
	}
}
EXPORT_SYMBOL(vgpu_writel);

void vgpu_writeq(u64 value, volatile void __iomem *addr)
{
	unsigned long offset;
	struct vgpu *v = find_register(addr, &offset);

	if (!v) {
		__writeq(value, addr);
		vgpu_rung(is_doorbell(addr));
	} else {
		vgpu_model_reg_write(v->model, offset / 4, (u32)value);
		vgpu_model_reg_write(v->model, offset / 4 + 1, (u32)(value >> 32));
		vgpu_rung(vgpu_model_asked(v->model));
	}
}
EXPORT_SYMBOL(vgpu_writeq);

const struct vgpu_front vgpu_front_intercept = {
	.name = "intercept",
	.bind = intercept_bind,
};
