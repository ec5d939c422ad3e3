// SPDX-License-Identifier: MIT
/*
 * memory_test.c - unit tests of TLBs, invalidations, GPUVM faults, and of what a fault does to a
 * queue
 */
#include "model_test.h"

#define VMID		3
#define AS(hub)		VGPU_AS(hub, VMID)
#define VA		0x7f1234567000ULL
#define INV_ALL		0x007c0000u		/* what amdgpu asks to forget: PTEs and PDEs of all levels */
#define LO(v)		((u32)(v))
#define HI(v)		((u32)((u64)(v) >> 32))

static void use_tlb(struct vgpu_config *c)
{
	c->tlb = VGPU_TLB_CACHED;
}

static void no_tlb(struct vgpu_config *c)
{
	c->tlb = VGPU_TLB_OFF;
}

/* Two pages of memory hold 1 and 2; a process sees the first at VA, through both hubs */
static struct bed_process *one_page(u64 page[2])
{
	struct bed_process *p = bed_process(b);
	u32 i;

	for (i = 0; i < 2; i++) {
		page[i] = bed_system(b, VGPU_PAGE);
		*(u32 *)(b->system + page[i]) = i + 1;
	}
	bed_map(b, p, VA, BED_SYSTEM_BASE + page[0], PTE_V | PTE_S | PTE_RW);
	bed_vmid(b, VMID, p);
	return p;
}

static u32 peek(u32 hub)
{
	u32 value = 0;

	CHECK(vgpu_vm_read(b->m, AS(hub), VA, &value, 4));
	return value;
}

TEST(tlb_holds_until_invalidated)
{
	struct bed_process *p;
	u64 page[2];

	up_as(use_tlb);
	p = one_page(page);
	CHECK_EQ(peek(VGPU_HUB_GFX), 1);
	CHECK_EQ(peek(VGPU_HUB_MM), 1);
	bed_map(b, p, VA, BED_SYSTEM_BASE + page[1], PTE_V | PTE_S | PTE_RW);
	CHECK_EQ(peek(VGPU_HUB_GFX), 1);
	/* another VMID, another hub, nothing but page directories: all of no use */
	vgpu_model_reg_write(b->m, VGPU_VM_INV_ENG0_REQ + 17, 1u << (VMID + 1) | INV_ALL);
	vgpu_model_reg_write(b->m, vgpu_hub_reg(b->m, VGPU_HUB_MM, VGPU_VM_INV_ENG0_REQ) + 17, 1u << VMID | INV_ALL);
	vgpu_model_reg_write(b->m, VGPU_VM_INV_ENG0_REQ + 17, 1u << VMID | 0x00380000);
	CHECK_EQ(peek(VGPU_HUB_GFX), 1);
	CHECK_EQ(peek(VGPU_HUB_MM), 2);
	vgpu_model_reg_write(b->m, VGPU_VM_INV_ENG0_REQ + 5, 1u << VMID | INV_ALL);
	CHECK_EQ(vgpu_model_reg_read(b->m, VGPU_VM_INV_ENG0_ACK + 5), 1u << VMID);
	CHECK_EQ(peek(VGPU_HUB_GFX), 2);
	/* what maps nothing is not kept */
	vgpu_quiet = true;
	CHECK(!vgpu_vm_read(b->m, AS(VGPU_HUB_GFX), VA + VGPU_PAGE, page, 4));
	bed_map(b, p, VA + VGPU_PAGE, BED_SYSTEM_BASE + page[0], PTE_V | PTE_S | PTE_RW);
	CHECK(vgpu_vm_read(b->m, AS(VGPU_HUB_GFX), VA + VGPU_PAGE, page, 4));
	CHECK_EQ(bed_stat(b, "stale_translations"), 0);		/* there was no look */
}

TEST(packets_invalidate)
{
	struct bed_process *p, *other;
	u64 page[2];
	u32 turn;

	up_as(use_tlb);
	p = one_page(page);
	other = bed_process(b);
	for (turn = 0; turn < 3; turn++) {
		CHECK_EQ(peek(VGPU_HUB_GFX), turn % 2 + 1);
		CHECK_EQ(peek(VGPU_HUB_MM), turn % 2 + 1);
		bed_map(b, p, VA, BED_SYSTEM_BASE + page[(turn + 1) % 2], PTE_V | PTE_S | PTE_RW);
		/* of another process */
		bed_kiq(b, (u32[]) { PM4(0x98, 2), 1 | 1 << 4 | (u32)other->pasid << 5 | 2u << 29 }, 2);
		CHECK_EQ(peek(VGPU_HUB_GFX), turn % 2 + 1);
		switch (turn) {
		case 0:		/* KIQ, by pasid, both hubs */
			bed_kiq(b, (u32[]) { PM4(0x98, 2), 1 | 1 << 4 | (u32)p->pasid << 5 | 2u << 29 }, 2);
			break;
		case 1:		/* KIQ, by pasid, the graphics hub alone */
			bed_kiq(b, (u32[]) { PM4(0x98, 2), 1 | (u32)p->pasid << 5 }, 2);
			CHECK_EQ(peek(VGPU_HUB_MM), turn % 2 + 1);
			vgpu_tlb_invalidate(b->m, VGPU_HUB_MM, 1u << VMID);
			break;
		case 2:		/* a ring writes the request and waits for the acknowledgment */
			bed_kiq(b, (u32[]) { PM4(0x3c, 7), 1 << 6 | 3, VGPU_VM_INV_ENG0_REQ + 4, VGPU_VM_INV_ENG0_ACK + 4,
					     1u << VMID | INV_ALL, 1u << VMID, 4 }, 7);
			vgpu_tlb_invalidate(b->m, VGPU_HUB_MM, 1u << VMID);
			break;
		}
		CHECK_EQ(peek(VGPU_HUB_GFX), (turn + 1) % 2 + 1);
		CHECK_EQ(peek(VGPU_HUB_MM), (turn + 1) % 2 + 1);
	}
}

TEST(missing_invalidation_is_counted)
{
	struct bed_process *p;
	u64 page[2];

	up();
	p = one_page(page);
	CHECK_EQ(peek(VGPU_HUB_GFX), 1);
	CHECK_EQ(peek(VGPU_HUB_GFX), 1);
	bed_map(b, p, VA, BED_SYSTEM_BASE + page[1], PTE_V | PTE_S | PTE_RW);
	CHECK_EQ(bed_stat(b, "stale_translations"), 0);		/* nothing was used */
	vgpu_quiet = true;
	CHECK_EQ(peek(VGPU_HUB_GFX), 2);			/* what is checked goes where the tables say */
	CHECK_EQ(bed_stat(b, "stale_translations"), 1);
	CHECK_EQ(peek(VGPU_HUB_GFX), 2);
	CHECK_EQ(bed_stat(b, "stale_translations"), 1);
	/* permissions are part of it */
	bed_map(b, p, VA, BED_SYSTEM_BASE + page[1], PTE_V | PTE_S | PTE_R);
	CHECK_EQ(peek(VGPU_HUB_GFX), 2);
	CHECK_EQ(bed_stat(b, "stale_translations"), 2);
	/* and so is what is mapped no more */
	bed_map(b, p, VA, 0, 0);
	CHECK(!vgpu_vm_read(b->m, AS(VGPU_HUB_GFX), VA, page, 4));
	CHECK_EQ(bed_stat(b, "stale_translations"), 3);
}

/* The driver gives a VMID to another process by register and forgets to invalidate it. */
TEST(vmid_handed_on_is_told_apart)
{
	struct bed_process *other;
	u64 page[2];

	up();
	one_page(page);
	CHECK_EQ(peek(VGPU_HUB_GFX), 1);
	other = bed_process(b);
	bed_map(b, other, VA, BED_SYSTEM_BASE + page[1], PTE_V | PTE_S | PTE_RW);
	bed_vmid(b, VMID, other);
	vgpu_quiet = true;
	CHECK_EQ(peek(VGPU_HUB_GFX), 2);
	CHECK_EQ(bed_stat(b, "stale_vmids"), 1);
	CHECK_EQ(bed_stat(b, "stale_translations"), 0);
	CHECK_EQ(peek(VGPU_HUB_GFX), 2);
	CHECK_EQ(bed_stat(b, "stale_vmids"), 1);
}

TEST(no_tlb_holds_nothing)
{
	struct bed_process *p;
	u64 page[2];

	up_as(no_tlb);
	p = one_page(page);
	CHECK_EQ(peek(VGPU_HUB_GFX), 1);
	bed_map(b, p, VA, BED_SYSTEM_BASE + page[1], PTE_V | PTE_S | PTE_RW);
	CHECK_EQ(peek(VGPU_HUB_GFX), 2);
	CHECK_EQ(bed_stat(b, "tlb_hits") + bed_stat(b, "tlb_misses"), 0);
}

/* A process replaces what is behind an address while its queue is mapped, and tells the device, or believes so. */
static void replace_under_a_queue(void (*configure)(struct vgpu_config *c), bool lost)
{
	struct bed_process *p;
	struct bed_queue *q;
	struct bed_work *w;
	u64 other, i;

	up_as(configure);
	p = bed_process(b);
	q = bed_queue(b, p);
	w = bed_work(b, p, 8, 1, 4, 10 * US);
	CHECK(bed_runlist(b, &q, 1));
	bed_submit(b, q, w, false);
	CHECK_DONE(w);
	other = bed_system(b, VGPU_PAGE);
	bed_map(b, p, w->counters_va, BED_SYSTEM_BASE + other, PTE_V | PTE_S | PTE_RW);
	*vgpu_model_fault_left(b->m, VGPU_FAULT_INVALIDATION_LOST) = lost;
	bed_kiq(b, (u32[]) { PM4(0x98, 2), 1 | 1 << 4 | (u32)p->pasid << 5 | 2u << 29 }, 2);
	*w->signal = 1;
	vgpu_quiet = true;
	bed_submit(b, q, w, false);
	CHECK(bed_run_until(b, bed_work_done, w, LONG));
	CHECK_ONCE(w);						/* the old page was left alone */
	for (i = 0; i < 8 * 4; i++)
		CHECK_EQ(((u32 *)(b->system + other))[i], 1);
}

TEST(replaced_memory_is_seen)
{
	replace_under_a_queue(NULL, false);
	CHECK_EQ(bed_stat(b, "stale_translations"), 0);
	replace_under_a_queue(use_tlb, false);
}

TEST(lost_invalidation_is_noticed)
{
	replace_under_a_queue(NULL, true);
	CHECK(bed_stat(b, "stale_translations") > 0);
}

/* The driver moves the memory of a process whose queues it has unmapped; it does not invalidate anything itself. */
TEST(unmapped_processes_leave_no_translations)
{
	struct bed_work *w;
	u64 other;
	struct bed_queue *q = grid_up(&w, 8, 1, 100, 10 * US);

	unmap_after(300 * US);
	other = bed_system(b, VGPU_PAGE);
	memcpy(b->system + other, w->counters, VGPU_PAGE);
	bed_map(b, q->p, w->counters_va, BED_SYSTEM_BASE + other, PTE_V | PTE_S | PTE_RW);
	w->counters = (u32 *)(b->system + other);
	CHECK_RUNS_ON(q, w);
}

/* UNMAP_QUEUES with a PASID: the other process keeps its slots, its VMID and its translations. */
TEST(unmap_by_pasid_leaves_others_alone)
{
	struct bed_queue *q[2];
	struct bed_work *w[2];
	u32 vmid, generation[VGPU_VMIDS], changed = 0;
	u64 saves;

	up();
	add_queues(q, w, 2, 8, 1, 100, 10 * US);
	run_all(q, w, 2);
	bed_run_for(b, 300 * US);
	for (vmid = 0; vmid < VGPU_VMIDS; vmid++)
		generation[vmid] = vgpu_tlb_generation(b->m, VGPU_HUB_GFX, vmid);
	saves = bed_stat(b, "cwsr_saves");
	CHECK(bed_unmap_pasid(b, q[0]->p->pasid));
	CHECK_EQ(bed_stat(b, "cwsr_saves") - saves, 1);
	for (vmid = 0; vmid < VGPU_VMIDS; vmid++)
		if (vgpu_tlb_generation(b->m, VGPU_HUB_GFX, vmid) != generation[vmid]) {
			CHECK_EQ(vgpu_ih_pasid(b->m, VGPU_HUB_GFX, vmid), q[0]->p->pasid);
			changed++;
		}
	CHECK_EQ(changed, 1);
	CHECK_DONE(w[1]);
	CHECK(*w[0]->signal == 1);
	CHECK(bed_runlist(b, q, 2));
	CHECK_DONE(w[0]);
}

/* ---- faults ---- */

#define FAULT_STATUS(hub)	vgpu_model_reg_read(b->m, vgpu_hub_reg(b->m, hub, VGPU_VM_FAULT_STATUS))
#define PERMISSION(status)	((status) >> 4 & 0xf)
#define CLIENT(status)		((status) >> 9 & 0x1ff)

static void clear_fault(u32 hub)
{
	vgpu_model_reg_write(b->m, vgpu_hub_reg(b->m, hub, VGPU_VM_FAULT_CNTL), 1);
	bed_run_for(b, 1);					/* another instant: another interrupt */
}

static void check_fault(u32 hub, u64 va, bool write, u32 permission)
{
	u32 iv[VGPU_IV_DWORDS], status = FAULT_STATUS(hub);

	CHECK_EQ(PERMISSION(status), permission);
	CHECK_EQ(status >> 18 & 1, write);
	CHECK_EQ(status >> 20 & 0xf, VMID);
	CHECK_EQ(status & 1, 0);
	CHECK_EQ(vgpu_model_reg_read(b->m, vgpu_hub_reg(b->m, hub, VGPU_VM_FAULT_ADDR_LO)), LO(va >> 12));
	CHECK_EQ(vgpu_model_reg_read(b->m, vgpu_hub_reg(b->m, hub, VGPU_VM_FAULT_ADDR_HI)), HI(va >> 12));
	CHECK(bed_interrupt(b, iv));
	CHECK_EQ(iv[0] & 0xff, hub == VGPU_HUB_MM ? VGPU_CLIENT_VMC : VGPU_CLIENT_UTCL2);
	CHECK_EQ(iv[0] >> 8 & 0xff, 0);
	CHECK_EQ(iv[0] >> 16 & 0xff, permission << 3);
	CHECK_EQ(iv[0] >> 24 & 0xf, VMID);
	CHECK_EQ(iv[0] >> 31, hub == VGPU_HUB_MM);
	CHECK_EQ(iv[3] & 0xffff, 100);
	CHECK_EQ(iv[4], LO(va >> 12));
	CHECK_EQ(iv[5], HI(va >> 12) | (write ? 0x20 : 0));
	CHECK(!bed_interrupt(b, iv));
	clear_fault(hub);
	CHECK_EQ(FAULT_STATUS(hub), 0);
}

TEST(faults_tell_what_was_wrong)
{
	u32 hubs[] = { VGPU_HUB_GFX, VGPU_HUB_MM }, i, value = 7;
	struct bed_process *p;
	u64 page[2];

	up();
	p = one_page(page);
	drain_interrupts();
	vgpu_quiet = true;
	bed_map(b, p, VA + 0x1000, BED_SYSTEM_BASE + page[0], PTE_V | PTE_S | PTE_R);
	bed_map(b, p, VA + 0x2000, BED_SYSTEM_BASE + page[0], PTE_V | PTE_S | PTE_W);
	for (i = 0; i < 2; i++) {
		u32 as = AS(hubs[i]);

		CHECK(!vgpu_vm_write(b->m, as, VA + 0x1010, &value, 4));
		check_fault(hubs[i], VA + 0x1000, true, 4);
		CHECK(!vgpu_vm_read(b->m, as, VA + 0x2ff0, &value, 4));
		check_fault(hubs[i], VA + 0x2000, false, 2);
		CHECK(!vgpu_vm_executable(b->m, as, VA));
		check_fault(hubs[i], VA, false, 8);
		CHECK(!vgpu_vm_read(b->m, as, VA + 0x3000, &value, 4));		/* no entry */
		check_fault(hubs[i], VA + 0x3000, false, 3);
		CHECK(!vgpu_vm_write(b->m, as, 0x123456789000ULL, &value, 4));	/* no table */
		check_fault(hubs[i], 0x123456789000ULL, true, 5);
	}
	CHECK_EQ(bed_stat(b, "gpuvm_faults"), 10);
	CHECK_EQ(value, 7);
}

/* A PRT mapping says that nothing is there. */
TEST(nothing_is_no_fault)
{
	u32 hubs[] = { VGPU_HUB_GFX, VGPU_HUB_MM }, i;
	struct bed_process *p;
	u64 page[2];

	up();
	p = one_page(page);
	bed_map(b, p, VA + 0x1000, 0, PTE_PRT);
	for (i = 0; i < 2; i++) {
		u64 value = 7;

		CHECK(vgpu_vm_write(b->m, AS(hubs[i]), VA + 0x1010, &value, 8));
		CHECK(vgpu_vm_read(b->m, AS(hubs[i]), VA + 0x1010, &value, 8));
		CHECK_EQ(value, 0);
	}
	CHECK_EQ(bed_stat(b, "gpuvm_faults"), 0);
	CHECK_EQ(peek(VGPU_HUB_GFX), 1);
	vgpu_quiet = true;
	CHECK(!vgpu_vm_executable(b->m, AS(VGPU_HUB_GFX), VA + 0x1000));
	CHECK_EQ(bed_stat(b, "gpuvm_faults"), 1);
}

TEST(first_fault_stays_until_cleared)
{
	u32 value, iv[VGPU_IV_DWORDS];
	u64 page[2];

	up();
	one_page(page);
	drain_interrupts();
	vgpu_quiet = true;
	/* the same page again at the same instant is counted, another page is another interrupt */
	CHECK(!vgpu_vm_read(b->m, AS(VGPU_HUB_GFX), VA + 0x1000, &value, 4));
	CHECK(!vgpu_vm_read(b->m, AS(VGPU_HUB_GFX), VA + 0x1100, &value, 4));
	CHECK(!vgpu_vm_write(b->m, AS(VGPU_HUB_GFX), VA + 0x2000, &value, 4));
	CHECK_EQ(bed_stat(b, "gpuvm_faults"), 3);
	CHECK(bed_interrupt(b, iv));
	CHECK(bed_interrupt(b, iv));
	CHECK(!bed_interrupt(b, iv));
	CHECK_EQ(vgpu_model_reg_read(b->m, VGPU_VM_FAULT_ADDR_LO), LO((VA + 0x1000) >> 12));
	CHECK_EQ(FAULT_STATUS(VGPU_HUB_GFX) & 1, 1);
	CHECK_EQ(PERMISSION(FAULT_STATUS(VGPU_HUB_GFX)), 3);
	CHECK_EQ(FAULT_STATUS(VGPU_HUB_MM), 0);
	/* an invalidation may clear it, too */
	vgpu_model_reg_write(b->m, VGPU_VM_INV_ENG0_REQ, 1u << VMID | INV_ALL);
	CHECK(FAULT_STATUS(VGPU_HUB_GFX));
	vgpu_model_reg_write(b->m, VGPU_VM_INV_ENG0_REQ, 1u << VMID | INV_ALL | 1u << 23);
	CHECK_EQ(FAULT_STATUS(VGPU_HUB_GFX), 0);
}

/* Counters of waves 8..15 lie in a page that goes away: the waves halt, what else there is goes on. */
TEST(faulting_waves_halt)
{
	struct bed_queue *q[2];
	struct bed_work *w[2];
	u32 i, steps = VGPU_PAGE / 4 / 8;

	up();
	add_queues(q, w, 2, 16, 2, steps, 10 * US);
	bed_map(b, q[0]->p, w[0]->counters_va + VGPU_PAGE, 0, 0);
	vgpu_quiet = true;
	run_all(q, w, 2);
	CHECK(!bed_run_until(b, bed_work_done, w[0], 10 * MS));
	CHECK_ONCE(w[1]);
	CHECK_EQ(*w[1]->signal, 0);
	CHECK_EQ(*w[0]->signal, 1);
	for (i = 0; i < w[0]->waves * steps; i++)
		CHECK_EQ(w[0]->counters[i], i < 8 * steps);
	CHECK_EQ(CLIENT(FAULT_STATUS(VGPU_HUB_GFX)), VGPU_UTCL2_TCP);
	CHECK_EQ(bed_stat(b, "gpuvm_faults"), 4);		/* one of each workgroup, then it stands still */
	CHECK_EQ(bed_waves_by_register(b, q[0]->doorbell), 8);
	/* They are saved and come back as they are, even if the page is there now. */
	CHECK(bed_unmap(b, false));
	CHECK_EQ(bed_waves_by_register(b, q[0]->doorbell), 0);
	bed_map(b, q[0]->p, w[0]->counters_va + VGPU_PAGE, BED_SYSTEM_BASE + bed_system(b, VGPU_PAGE), PTE_V | PTE_S | PTE_RW);
	CHECK(bed_runlist(b, q, 2));
	CHECK(!bed_run_until(b, bed_work_done, w[0], 10 * MS));
	CHECK_EQ(bed_waves_by_register(b, q[0]->doorbell), 8);
	CHECK_EQ(bed_stat(b, "gpuvm_faults"), 4);
	CHECK_EQ(bed_stat(b, "bad_records"), 0);
	/* A reset gives the slots back. */
	CHECK(bed_unmap(b, true));
	CHECK_EQ(bed_stat(b, "slots_busy"), 0);
}

/* Instructions in a page that may not be executed, arguments in one that may not be read, a flag in one that is not there */
TEST(waves_that_cannot_start_halt)
{
	static const u32 client[] = { VGPU_UTCL2_SQC_INST, VGPU_UTCL2_SQC_DATA, VGPU_UTCL2_TCP };
	u32 turn;

	for (turn = 0; turn < 3; turn++) {
		struct vgpu_kernargs *args;
			struct bed_queue *q;
		struct bed_work *w;

		q = queue_up();
		w = bed_work(b, q->p, 8, 1, 4, 10 * US);
		args = (void *)((u8 *)w->flag - 1024 + 256);
		if (turn == 0)
			bed_map(b, q->p, w->kernel_va, BED_SYSTEM_BASE + (u64)((u8 *)args - 256 - b->system), PTE_V | PTE_S | PTE_RW);
		else if (turn == 1)
			w->args_va = 0x123456789000ULL;
		else
			args->flag = 0x123456789000ULL;
		CHECK(bed_runlist(b, &q, 1));
		vgpu_quiet = true;
		bed_submit(b, q, w, false);
		CHECK(!bed_run_until(b, bed_work_done, w, 10 * MS));
		CHECK_EQ(bed_work_lost(w), 8 * 4);
		CHECK_EQ(bed_waves_by_register(b, q->doorbell), 8);
		CHECK_EQ(CLIENT(FAULT_STATUS(VGPU_HUB_GFX)), client[turn]);
		CHECK_EQ(PERMISSION(FAULT_STATUS(VGPU_HUB_GFX)), turn ? 3 : 8);
		CHECK_EQ(bed_stat(b, "gpuvm_faults"), 1);
		CHECK_EQ(bed_stat(b, "bad_packets"), 0);
		CHECK(bed_unmap(b, false));
		CHECK_EQ(bed_stat(b, "slots_busy"), 0);
	}
}

static void hive(struct vgpu_config *c)
{
	c->hive = 3;
	c->hive_bytes = BED_VRAM_BYTES;
}

/* VRAM of each is one behind the other, for apertures and page tables; a device's own begins at its node. */
TEST(hive_reaches_its_memory)
{
	struct bed_process *p;
	u32 got;

	up_as(hive);
	*(u32 *)(b->vram + 0x560) = 11;
	*(u32 *)(b->peer + 0x560) = 12;
	CHECK_EQ(vgpu_model_reg_read(b->m, b->config.asic->xgmi), 2 << 4);
	CHECK_EQ(vgpu_model_reg_read(b->m, b->config.asic->xgmi + 1), BED_VRAM_BYTES >> 24);
	CHECK(vgpu_vm_read(b->m, VGPU_AS_KERNEL, VGPU_FB_BASE + 0x560, &got, 4));
	CHECK_EQ(got, 11);
	CHECK(vgpu_vm_read(b->m, VGPU_AS_KERNEL, VGPU_FB_BASE + 2ULL * BED_VRAM_BYTES + 0x560, &got, 4));
	CHECK_EQ(got, 12);
	p = bed_process(b);
	bed_map(b, p, VA, BED_VRAM_BYTES, PTE_V | PTE_RW);
	bed_vmid(b, VMID, p);
	got = 13;
	CHECK(vgpu_vm_write(b->m, AS(VGPU_HUB_MM), VA + 0x564, &got, 4));
	CHECK_EQ(*(u32 *)(b->peer + 0x564), 13);
	CHECK_EQ(*(u32 *)(b->vram + 0x564), 0);
	/* no fourth node */
	vgpu_quiet = true;
	CHECK(!vgpu_vm_read(b->m, VGPU_AS_KERNEL, VGPU_FB_BASE + 3ULL * BED_VRAM_BYTES, &got, 4));
}

TEST(sdma_fault_names_the_engine)
{
	u32 *ring;
	struct bed_queue *q = sdma_up(1);

	CHECK(bed_runlist(b, &q, 1));
	ring = (u32 *)q->ring;
	memcpy(ring, (u32[]) { 5, LO(VA), HI(VA), 42 }, 16);		/* fence */
	vgpu_quiet = true;
	b->doorbells[q->doorbell / 8] = 16;
	bed_run_for(b, 100 * US);
	CHECK_EQ(CLIENT(FAULT_STATUS(VGPU_HUB_MM)), VGPU_UTCL2_SDMA0 + 1);
	CHECK_EQ(PERMISSION(FAULT_STATUS(VGPU_HUB_MM)), 5);
	CHECK_EQ(FAULT_STATUS(VGPU_HUB_GFX), 0);
	CHECK_EQ(*q->read_index, 0);
	CHECK_EQ(bed_stat(b, "gpuvm_faults"), 1);
}
