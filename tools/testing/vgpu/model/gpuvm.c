// SPDX-License-Identifier: MIT
/*
 * gpuvm.c - address translation of the virtual GPU and its accesses to memory
 *
 * VMID 0 sees VRAM through the FB aperture, system memory through the flat GART table. The other VMIDs see what their page tables
 * map. The walk starts at the registers of the hub that the access goes through. Nothing is cached: an invalidation that the
 * driver forgets is invisible here.
 */
#include "model.h"

#define PTE_VALID		(1ULL << 0)
#define PTE_SYSTEM		(1ULL << 1)
#define PTE_READABLE		(1ULL << 5)
#define PTE_WRITEABLE		(1ULL << 6)
#define PDE_IS_PTE		(1ULL << 54)
#define PTE_FURTHER		(1ULL << 56)	/* not a page but a table of smaller ones */
#define PDE_FRAGMENT(e)		((e) >> 59)	/* log2 of the pages that an entry of the table below stands for */
#define PDE_ADDR(e)		((e) & 0x0000ffffffffffc0ULL)
#define PTE_ADDR(e)		((e) & 0x0000fffffffff000ULL)
#define VA_MASK			((1ULL << 48) - 1)

static u64 reg64(struct vgpu_model *m, u32 index)
{
	return vgpu_reg(m, index) | (u64)vgpu_reg(m, index + 1) << 32;
}

/* Memory at a physical address: a bus address, or an offset in VRAM */
static void *phys_ptr(struct vgpu_model *m, bool system, u64 addr, u32 len)
{
	return system ? m->ops->sys_ptr(m->ctx, addr, len) : m->ops->vram_ptr(m->ctx, addr, len);
}

static bool vmid0_aperture(struct vgpu_model *m, u32 hub, u64 va, bool *system, u64 *phys)
{
	u64 fb_base = (u64)vgpu_reg(m, vgpu_hub_reg(m, hub, VGPU_VM_FB_LOCATION_BASE)) << 24;
	u64 fb_end = ((u64)vgpu_reg(m, vgpu_hub_reg(m, hub, VGPU_VM_FB_LOCATION_TOP)) + 1) << 24;
	u64 agp_bot = (u64)vgpu_reg(m, vgpu_hub_reg(m, hub, VGPU_VM_AGP_BOT)) << 24;
	u64 agp_end = ((u64)vgpu_reg(m, vgpu_hub_reg(m, hub, VGPU_VM_AGP_TOP)) + 1) << 24;

	if (va >= fb_base && va < fb_end) {
		*system = false;
		*phys = va - fb_base;
		return true;
	}
	if (agp_bot && va >= agp_bot && va < agp_end) {
		*system = true;
		*phys = va - agp_bot + ((u64)vgpu_reg(m, vgpu_hub_reg(m, hub, VGPU_VM_AGP_BASE)) << 24);
		return true;
	}
	return false;
}

static bool walk(struct vgpu_model *m, u32 hub, u32 vmid, u64 va, bool write, bool *system, u64 *phys)
{
	u32 cntl = vgpu_reg(m, vgpu_hub_reg(m, hub, VGPU_VM_CONTEXT0_CNTL) + vmid);
	u64 entry = reg64(m, vgpu_hub_reg(m, hub, VGPU_VM_PT_BASE_LO) + 2 * vmid);
	u64 start = reg64(m, vgpu_hub_reg(m, hub, VGPU_VM_PT_START_LO) + 2 * vmid);
	u64 end = reg64(m, vgpu_hub_reg(m, hub, VGPU_VM_PT_END_LO) + 2 * vmid);
	u32 level = (cntl >> 1) & 3;
	u32 ptb_bits = 9 + ((cntl >> 3) & 0xf);
	u64 page = va >> 12, index;
	bool top = true, further;
	u32 shift, fragment = 0;
	u64 *p;

	if (!(cntl & 1) || !(entry & PTE_VALID) || page < start || page > end)
		return false;
	page -= start;
	for (;; top = false) {
		shift = level ? ptb_bits + 9 * (level - 1) : fragment;
		index = page >> shift;
		if (!top)
			index &= (1ULL << (level ? 9 : ptb_bits - fragment)) - 1;
		p = phys_ptr(m, entry & PTE_SYSTEM, PDE_ADDR(entry) + index * 8, 8);
		if (!p)
			return false;
		entry = READ_ONCE(*p);
		if (!(entry & PTE_VALID))
			return false;
		if (level && (entry & PDE_IS_PTE))
			break;
		if (level) {
			level--;
			fragment = PDE_FRAGMENT(entry) < ptb_bits ? (u32)PDE_FRAGMENT(entry) : 0;
			continue;
		}
		further = fragment && (entry & PTE_FURTHER);
		if (!further)
			break;
		ptb_bits = fragment;
		fragment = 0;
	}
	if (vmid && !(entry & (write ? PTE_WRITEABLE : PTE_READABLE)))
		return false;
	*system = entry & PTE_SYSTEM;
	*phys = PTE_ADDR(entry) + ((page & ((1ULL << shift) - 1)) << 12) + (va & (VGPU_PAGE - 1));
	return true;
}

static void report_fault(struct vgpu_model *m, u32 hub, u32 vmid, u64 va, bool write)
{
	u32 iv[VGPU_IV_DWORDS], pasid = vgpu_ih_pasid(m, hub, vmid);

	m->stats.gpuvm_faults++;
	if (m->last_fault_page == va >> 12 && m->last_fault_vmid == vmid)
		return;
	m->last_fault_page = va >> 12;
	m->last_fault_vmid = vmid;
	vgpu_err("GPUVM fault: %s %#llx, hub %u, vmid %u, pasid %u", write ? "write" : "read", (unsigned long long)va, hub,
		 vmid, pasid);
	vgpu_iv_fill(iv, hub >= VGPU_HUB_MM ? VGPU_CLIENT_VMC : VGPU_CLIENT_UTCL2, 0, 0, vmid, pasid);
	iv[4] = (u32)(va >> 12);
	iv[5] = ((va >> 44) & 0xf) | (write ? 0x20 : 0);
	vgpu_ih_push(m, iv);
}

/**
 * vgpu_vm_ptr() - memory behind an address
 * @m: the device
 * @as: address space, VGPU_AS()
 * @va: address
 * @len: bytes; they must not cross a page
 * @write: the access writes
 *
 * Return: CPU pointer; NULL after a fault, which is counted and reported here.
 */
void *vgpu_vm_ptr(struct vgpu_model *m, u32 as, u64 va, u32 len, bool write)
{
	u32 hub = VGPU_AS_HUB(as), vmid = VGPU_AS_VMID(as);
	bool system;
	void *p = NULL;
	u64 phys;

	va &= VA_MASK;
	if ((va & (VGPU_PAGE - 1)) + len <= VGPU_PAGE &&
	    ((!vmid && vmid0_aperture(m, hub, va, &system, &phys)) || walk(m, hub, vmid, va, write, &system, &phys)))
		p = phys_ptr(m, system, phys, len);
	if (!p)
		report_fault(m, hub, vmid, va, write);
	return p;
}

static bool copy_pages(struct vgpu_model *m, u32 as, u64 va, u8 *buf, u64 len, bool write)
{
	while (len) {
		u32 n = VGPU_PAGE - (va & (VGPU_PAGE - 1));
		u8 *p;

		if (n > len)
			n = (u32)len;
		p = vgpu_vm_ptr(m, as, va, n, write);
		if (!p)
			return false;
		if (write)
			memcpy(p, buf, n);
		else
			memcpy(buf, p, n);
		va += n;
		buf += n;
		len -= n;
	}
	return true;
}

/** vgpu_vm_read() - read @len bytes at @va. Return: false after a fault. */
bool vgpu_vm_read(struct vgpu_model *m, u32 as, u64 va, void *buf, u64 len)
{
	return copy_pages(m, as, va, buf, len, false);
}

/** vgpu_vm_write() - write @len bytes at @va. Return: false after a fault; what precedes the bad page is written then. */
bool vgpu_vm_write(struct vgpu_model *m, u32 as, u64 va, const void *buf, u64 len)
{
	return copy_pages(m, as, va, (u8 *)buf, len, true);
}

/** vgpu_vm_write32() - write a dword that others may poll. Return: false after a fault. */
bool vgpu_vm_write32(struct vgpu_model *m, u32 as, u64 va, u32 value)
{
	u32 *p = vgpu_vm_ptr(m, as, va & ~3ULL, 4, true);

	if (!p)
		return false;
	vgpu_wmb();
	WRITE_ONCE(*p, value);
	return true;
}

/** vgpu_vm_write64() - write a quadword that others may poll. Return: false after a fault. */
bool vgpu_vm_write64(struct vgpu_model *m, u32 as, u64 va, u64 value)
{
	u64 *p = vgpu_vm_ptr(m, as, va & ~7ULL, 8, true);

	if (!p)
		return false;
	vgpu_wmb();
	WRITE_ONCE(*p, value);
	return true;
}

/** vgpu_vm_read64() - read a quadword that others may change. Return: false after a fault. */
bool vgpu_vm_read64(struct vgpu_model *m, u32 as, u64 va, u64 *value)
{
	u64 *p = vgpu_vm_ptr(m, as, va & ~7ULL, 8, false);

	if (!p)
		return false;
	*value = READ_ONCE(*p);
	vgpu_rmb();
	return true;
}
