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

/**
 * struct mapping - where the driver has mapped a register BAR
 * @start: its first address
 * @bytes: its length; 0: not seen yet
 *
 * Read without a lock: @bytes is set when @start is, and before it matters.
 */
static struct mapping {
	unsigned long start;
	unsigned long bytes;
} mappings[VGPU_MAX_DEVICES];

/* No device is left whose mapping was not seen */
static bool all_seen;

static void intercept_bind(const struct vgpu *v)
{
	WRITE_ONCE(all_seen, false);
	WRITE_ONCE(mappings[v->number].bytes, 0);
}

static void note_mapping(const struct vgpu *v, unsigned long start)
{
	unsigned int i;

	WRITE_ONCE(mappings[v->number].start, start);
	smp_store_release(&mappings[v->number].bytes, vgpu_model_reg_bytes(v->model));
	for (i = 0; i < vgpu_count && READ_ONCE(mappings[i].bytes); i++)
		;
	WRITE_ONCE(all_seen, i == vgpu_count);
}

static struct vgpu *find_unseen(unsigned long va, unsigned long *offset)
{
	phys_addr_t phys = slow_virt_to_phys((void *)va);
	struct vgpu *v;

	for_each_vgpu(v) {
		*offset = phys - v->low_phys - VGPU_MMIO_OFFSET;
		if (*offset < vgpu_model_reg_bytes(v->model)) {
			note_mapping(v, va - *offset);
			return v;
		}
	}
	return NULL;
}

/*
 * The device in whose register BAR @addr is, and its offset there; NULL: in none. Short, because
 * what it takes is time that the driver's accesses seem to take.
 */
static struct vgpu *find_register(const volatile void __iomem *addr, unsigned long *offset)
{
	unsigned long va = (unsigned long)addr;
	unsigned int i;

	for (i = 0; i < vgpu_count; i++) {
		*offset = va - READ_ONCE(mappings[i].start);
		if (*offset < READ_ONCE(mappings[i].bytes))
			return &vgpus[i];
	}
	return READ_ONCE(all_seen) ? NULL : find_unseen(va, offset);
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
