// SPDX-License-Identifier: MIT
/*
 * gpuvm.c - address translation of the virtual GPU, its TLBs, its faults, and its accesses to
 * memory
 *
 * VMID 0 sees VRAM through the FB aperture, system memory through the flat GART table. The other
 * VMIDs see what their page tables map. The walk starts at the registers of the hub that the access
 * goes through.
 *
 * Each hub keeps what it found in a TLB, by VMID and page; what maps nothing is not kept. Entries
 * go away when an invalidation of their VMID arrives, or when another page takes their place. With
 * VGPU_TLB_CHECKED every hit is compared with the page tables: one that differs is an invalidation
 * that is missing. It is counted and reported, and the access goes where the tables say, so that a
 * test lives to tell; with VGPU_TLB_CACHED it goes where it would on the device.
 */
#include "model.h"

#define PTE_VALID		(1ULL << 0)
#define PTE_SYSTEM		(1ULL << 1)
#define PTE_EXECUTABLE		(1ULL << 4)
#define PTE_READABLE		(1ULL << 5)
#define PTE_WRITEABLE		(1ULL << 6)
#define PTE_PRT			(1ULL << 51)	/* without PTE_VALID: nothing is there, and that is no fault */
#define PDE_IS_PTE		(1ULL << 54)
#define PTE_FURTHER		(1ULL << 56)	/* not a page but a table of smaller ones */
#define NEVER			(PTE_EXECUTABLE | PDE_IS_PTE | PTE_FURTHER)	/* without PTE_VALID: no page will ever be there */
#define PDE_FRAGMENT(e)		((e) >> 59)	/* log2 of the pages that an entry of the table below stands for */
#define PDE_ADDR(e)		((e) & 0x0000ffffffffffc0ULL)
#define PTE_ADDR(e)		((e) & 0x0000fffffffff000ULL)
#define VA_MASK			((1ULL << 48) - 1)

/* VM_L2_PROTECTION_FAULT_STATUS; the permission bits are those of the interrupt's ring id, too */
#define FAULT_INVALID		0x1u
#define FAULT_READ		0x2u
#define FAULT_WRITE		0x4u
#define FAULT_EXECUTE		0x8u
#define STATUS_PERMISSION(v)	((v) << 4)
#define STATUS_MAPPING_ERROR	0x100u
#define STATUS_CLIENT(v)	((v) << 9)
#define STATUS_WRITE		0x40000u
#define STATUS_VMID(v)		((v) << 20)
#define IV_RING_PERMISSION(v)	((v) << 3)
#define IV_RETRY		0x80u
#define IV_WRITE		0x20u		/* in dword 5, beside bits 47:44 of the address */
#define IV_SOURCE_MM_HUB	0x80000000u
#define SRC_VM_FAULT		0

static u64 gpuvm_reg64(struct vgpu_model *m, u32 index)
{
	return vgpu_reg(m, index) | (u64)vgpu_reg(m, index + 1) << 32;
}

/*
 * Memory at a physical address: a bus address, or an offset in VRAM, which is that of all devices
 * of a hive
 */
static void *gpuvm_phys_ptr(struct vgpu_model *m, bool system, u64 addr, u32 len)
{
	const struct vgpu_config *c = &m->config;
	u64 node;

	if (system)
		return m->ops->sys_ptr(m->ctx, addr, len);
	if (!c->hive)
		return m->ops->vram_ptr(m->ctx, addr, len);
	node = addr / c->hive_bytes;
	addr -= node * c->hive_bytes;
	if (node == c->hive_node)
		return m->ops->vram_ptr(m->ctx, addr, len);
	return node < c->hive ? m->ops->peer_ptr(m->ctx, (u32)node, addr, len) : NULL;
}

static bool gpuvm_vmid0_aperture(struct vgpu_model *m, u32 hub, u64 va, bool *system, u64 *phys)
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

/* What the page tables say of a page now. Return: false if they map nothing there. */
static bool gpuvm_walk(struct vgpu_model *m, u32 hub, u32 vmid, u64 page,
		       struct vgpu_translation *t)
{
	u32 cntl = vgpu_reg(m, vgpu_hub_reg(m, hub, VGPU_VM_CONTEXT0_CNTL) + vmid);
	u64 entry = gpuvm_reg64(m, vgpu_hub_reg(m, hub, VGPU_VM_PT_BASE_LO) + 2 * vmid);
	u64 start = gpuvm_reg64(m, vgpu_hub_reg(m, hub, VGPU_VM_PT_START_LO) + 2 * vmid);
	u64 end = gpuvm_reg64(m, vgpu_hub_reg(m, hub, VGPU_VM_PT_END_LO) + 2 * vmid);
	u32 level = (cntl >> 1) & 3;
	u32 ptb_bits = 9 + ((cntl >> 3) & 0xf);
	bool top = true, further;
	u32 shift, fragment = 0;
	u64 index, *p;

	*t = (struct vgpu_translation) { 0 };
	if (!(cntl & 1) || !(entry & PTE_VALID) || page < start || page > end)
		return false;
	page -= start;
	for (;; top = false) {
		shift = level ? ptb_bits + 9 * (level - 1) : fragment;
		index = page >> shift;
		if (!top)
			index &= (1ULL << (level ? 9 : ptb_bits - fragment)) - 1;
		p = gpuvm_phys_ptr(m, entry & PTE_SYSTEM, PDE_ADDR(entry) + index * 8, 8);
		if (!p)
			return false;
		entry = READ_ONCE(*p);
		if (!(entry & PTE_VALID)) {
			t->refused = (entry & NEVER) == NEVER;
			t->nothing = entry & PTE_PRT;
			t->access = t->nothing ? VGPU_READ | VGPU_WRITE : 0;
			return t->nothing;
		}
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
	t->access = (entry & PTE_READABLE ? VGPU_READ : 0) | (entry & PTE_WRITEABLE ? VGPU_WRITE : 0) |
		    (entry & PTE_EXECUTABLE ? VGPU_EXECUTE : 0);
	/* the driver's other way to say it, where an entry of the lowest table may lead further */
	t->refused = entry & PTE_PRT;
	t->system = entry & PTE_SYSTEM;
	t->phys = PTE_ADDR(entry) + ((page & ((1ULL << shift) - 1)) << 12);
	return true;
}

static bool gpuvm_same_translation(const struct vgpu_translation *a,
				   const struct vgpu_translation *b)
{
	return a->phys == b->phys && a->system == b->system && a->access == b->access && a->nothing == b->nothing;
}

static void gpuvm_report_stale(struct vgpu_model *m, u32 hub, u32 vmid, u64 page,
			       const struct vgpu_tlb_entry *e,
			       const struct vgpu_translation *now)
{
	u32 pasid = vgpu_ih_pasid(m, hub, vmid);

	/*
	 * A VMID that was handed on with what was in it is another matter than tables that were
	 * changed.
	 */
	if (e->pasid != pasid)
		m->stats.stale_vmids++;
	else
		m->stats.stale_translations++;
	vgpu_err("stale translation: page %#llx, hub %u, vmid %u: TLB %#llx%s access %u pasid %u, tables %#llx%s access %u pasid %u",
		 (unsigned long long)page << 12, hub, vmid, (unsigned long long)e->t.phys, e->t.system ? " system" : "",
		 e->t.access, e->pasid, (unsigned long long)now->phys, now->system ? " system" : "", now->access, pasid);
}

/*
 * Where a page is: what the TLB holds, else what the tables say. Return: false if nothing maps it.
 */
static bool gpuvm_translate(struct vgpu_model *m, u32 hub, u32 vmid, u64 page,
			    struct vgpu_translation *t)
{
	u32 generation = vgpu_tlb_generation(m, hub, vmid);
	/* A page has an entry for each VMID. */
	struct vgpu_tlb_entry *e = &m->tlb[hub][(page ^ (u64)vmid << 8) % VGPU_TLB_ENTRIES];
	bool found;

	if (m->config.tlb == VGPU_TLB_OFF)
		return gpuvm_walk(m, hub, vmid, page, t);
	if (e->generation == generation && e->page == page) {
		m->stats.tlb_hits++;
		*t = e->t;
		if (m->config.tlb == VGPU_TLB_CACHED)
			return true;
		found = gpuvm_walk(m, hub, vmid, page, t);
		if (!found)
			t->phys = 0;
		if (found && gpuvm_same_translation(t, &e->t))
			return true;
		gpuvm_report_stale(m, hub, vmid, page, e, t);
		e->generation = 0;
	} else {
		m->stats.tlb_misses++;
		found = gpuvm_walk(m, hub, vmid, page, t);
	}
	if (found)
		*e = (struct vgpu_tlb_entry) {
			.page = page,
			.t = *t,
			.generation = generation,
			.pasid = (u16)vgpu_ih_pasid(m, hub, vmid),
		};
	return found;
}

#define TOLD_NS			1000000u	/* the driver is told again that a page is waited for */

/*
 * Has the driver been told lately that this page is waited for? What waits asks far more often than
 * a driver can answer.
 */
static bool gpuvm_is_told(struct vgpu_model *m, u32 hub, u32 vmid, u64 page)
{
	/*
	 * Buffers that are copied to each other begin at addresses that are alike: the upper bits
	 * of a product are not
	 */
	struct vgpu_told *told = &m->told[page * 0x9e3779b97f4a7c15ULL >> (64 - VGPU_TOLD_BITS)];

	if (told->page == page && told->hub == hub && told->vmid == vmid && m->now_ns < told->ns + TOLD_NS)
		return true;
	*told = (struct vgpu_told){ .page = page, .ns = m->now_ns, .hub = hub, .vmid = vmid };
	return false;
}

/*
 * Several accesses to a page at the same instant are one interrupt; the status register keeps the
 * first until it is cleared.
 */
static void gpuvm_fault(struct vgpu_model *m, u32 hub, u32 vmid, u64 va, u32 access,
			u32 permission, bool again)
{
	u32 iv[VGPU_IV_DWORDS], pasid = vgpu_ih_pasid(m, hub, vmid);
	bool write = access == VGPU_WRITE;
	u64 page = va >> 12;

	if (again) {
		m->stats.retry_faults++;
		m->retried = true;
		if (gpuvm_is_told(m, hub, vmid, page))
			return;
	} else {
		m->stats.gpuvm_faults++;
		vgpu_regs_fault(m, hub, page, STATUS_PERMISSION(permission) | (permission ? 0 : STATUS_MAPPING_ERROR) |
				STATUS_CLIENT(m->client) | (write ? STATUS_WRITE : 0) | STATUS_VMID(vmid));
	}
	if (!again && m->last_fault.page == page && m->last_fault.hub == hub && m->last_fault.vmid == vmid &&
	    m->last_fault.ns == m->now_ns)
		return;
	m->last_fault.page = page;
	m->last_fault.hub = hub;
	m->last_fault.vmid = vmid;
	m->last_fault.ns = m->now_ns;
	if (!again)
		vgpu_err("GPUVM fault: %s %#llx, hub %u, vmid %u, pasid %u, permission %#x", write ? "write" :
			 access == VGPU_READ ? "read" : "fetch", (unsigned long long)va, hub, vmid, pasid, permission);
	vgpu_iv_fill(iv, hub >= VGPU_HUB_MM ? VGPU_CLIENT_VMC : m->config.asic->fault_client, SRC_VM_FAULT,
		     IV_RING_PERMISSION(permission), vmid, pasid);
	if (hub >= VGPU_HUB_MM)
		iv[0] |= IV_SOURCE_MM_HUB;
	iv[3] |= vgpu_hub_node(m, hub) << 16;
	iv[4] = (u32)page;
	iv[5] = ((page >> 32) & 0xf) | (write ? IV_WRITE : 0) | (again ? IV_RETRY : 0);
	vgpu_ih_push(m, iv);
}

/* Memory behind @len bytes of a page; NULL after a fault */
static void *gpuvm_access_ptr(struct vgpu_model *m, u32 as, u64 va, u32 len, u32 access)
{
	u32 hub = VGPU_AS_HUB(as), vmid = VGPU_AS_VMID(as), permission = 0;
	struct vgpu_translation t = { 0 };
	void *p = NULL;

	va &= VA_MASK;
	if (!vmid && gpuvm_vmid0_aperture(m, hub, va, &t.system, &t.phys)) {
		p = gpuvm_phys_ptr(m, t.system, t.phys, len);
	} else {
		if (!gpuvm_translate(m, hub, vmid, va >> 12, &t))
			permission |= FAULT_INVALID;
		if (!(t.access & access))
			permission |= access == VGPU_WRITE ? FAULT_WRITE : access == VGPU_READ ? FAULT_READ : FAULT_EXECUTE;
		if (!permission && t.nothing)
			p = (u8 *)memset(m->nothing, 0, sizeof(m->nothing)) + (va & (VGPU_PAGE - 1));
		else if (!permission)
			p = gpuvm_phys_ptr(m, t.system, t.phys + (va & (VGPU_PAGE - 1)), len);
	}
	if (!p || (va & (VGPU_PAGE - 1)) + len > VGPU_PAGE) {
		gpuvm_fault(m, hub, vmid, va, access, permission, m->retry && permission &&
			    !t.refused);
		return NULL;
	}
	return p;
}

/**
 * vgpu_vm_ptr() - memory behind an address
 * @m: the device
 * @as: address space, VGPU_AS()
 * @va: address
 * @len: bytes; they must not cross a page
 * @write: the access writes
 *
 * Return: CPU pointer, good until the next packet or wave; NULL after a fault, which is counted and
 * reported here.
 */
void *vgpu_vm_ptr(struct vgpu_model *m, u32 as, u64 va, u32 len, bool write)
{
	return gpuvm_access_ptr(m, as, va, len, write ? VGPU_WRITE : VGPU_READ);
}

/**
 * vgpu_vm_mapped() - is there anything at @va of a process? It is no access: nothing is reported.
 */
bool vgpu_vm_mapped(struct vgpu_model *m, u32 as, u64 va)
{
	struct vgpu_translation t;

	return gpuvm_translate(m, VGPU_AS_HUB(as), VGPU_AS_VMID(as), (va & VA_MASK) >> 12,
			       &t) && (t.access & VGPU_READ);
}

/** vgpu_vm_executable() - may waves fetch instructions from @va? Return: false after a fault. */
bool vgpu_vm_executable(struct vgpu_model *m, u32 as, u64 va)
{
	return gpuvm_access_ptr(m, as, va, 1, VGPU_EXECUTE);
}

/** vgpu_vm_fetch() - instructions at @va, as vgpu_vm_ptr() */
void *vgpu_vm_fetch(struct vgpu_model *m, u32 as, u64 va, u32 len)
{
	return gpuvm_access_ptr(m, as, va, len, VGPU_EXECUTE);
}

/** vgpu_tlb_invalidate_mm() - forget the translations of VMIDs in the memory hubs */
void vgpu_tlb_invalidate_mm(struct vgpu_model *m, u32 vmids)
{
	u32 hub;

	for (hub = VGPU_HUB_MM; hub < VGPU_HUBS; hub++)
		if (vgpu_hub_exists(m, hub))
			vgpu_tlb_invalidate(m, hub, vmids);
}

/**
 * vgpu_tlb_invalidate_pasid() - forget the translations of a process: INVALIDATE_TLBS
 * @m: the device
 * @hub: graphics hub of the engine that got the packet
 * @all_hubs: the memory hubs' as well
 * @pasid: process
 */
void vgpu_tlb_invalidate_pasid(struct vgpu_model *m, u32 hub, bool all_hubs, u16 pasid)
{
	u32 vmid, vmids = 0, atc = m->config.asic->atc_mapping;

	for (vmid = 1; vmid < VGPU_VMIDS; vmid++)
		if (atc ? vgpu_reg(m, atc + vmid) == (VGPU_ATC_PASID_VALID | pasid) : vgpu_ih_pasid(m, hub, vmid) == pasid)
			vmids |= 1u << vmid;
	vgpu_tlb_invalidate(m, hub, vmids);
	if (all_hubs)
		vgpu_tlb_invalidate_mm(m, vmids);
}

bool vgpu_tlb_init(struct vgpu_model *m)
{
	u32 hub;

	for (hub = 0; hub < VGPU_HUBS; hub++) {
		if (!vgpu_hub_exists(m, hub))
			continue;
		m->tlb[hub] = vgpu_zalloc(VGPU_TLB_ENTRIES * sizeof(*m->tlb[hub]));
		if (!m->tlb[hub])
			return false;
	}
	m->client = VGPU_UTCL2_CPC;
	m->last_fault.ns = U64_MAX;
	return true;
}

void vgpu_tlb_fini(struct vgpu_model *m)
{
	u32 hub;

	for (hub = 0; hub < VGPU_HUBS; hub++)
		vgpu_free(m->tlb[hub]);
}

static bool gpuvm_copy_pages(struct vgpu_model *m, u32 as, u64 va, u8 *buf, u64 len, bool write)
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
	return gpuvm_copy_pages(m, as, va, buf, len, false);
}

/**
 * vgpu_vm_write() - write @len bytes at @va. Return: false after a fault; what precedes the bad
 * page is written then.
 */
bool vgpu_vm_write(struct vgpu_model *m, u32 as, u64 va, const void *buf, u64 len)
{
	return gpuvm_copy_pages(m, as, va, (u8 *)buf, len, true);
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
