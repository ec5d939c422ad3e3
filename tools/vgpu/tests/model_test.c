// SPDX-License-Identifier: MIT
/*
 * model_test.c - unit tests of the device model, TAP on stdout; see model_test.h for more files of
 * them
 *
 * model_test [NAME...] runs these tests only. SEED=n COUNT=m: the random ones from seed n on, m of
 * them.
 */
#include <setjmp.h>
#include <stdarg.h>

#include "model_test.h"

static jmp_buf give_up;
static char why[256], context[32];

struct bed *b;

static struct model_test *first, **last = &first;

void test_register(struct model_test *test)
{
	*last = test;
	last = &test->next;
}

void check_failed(const char *file, int line, const char *format, ...)
{
	va_list args;
	int n = snprintf(why, sizeof(why), "%s%s:%d: ", context, file, line);

	va_start(args, format);
	vsnprintf(why + n, sizeof(why) - n, format, args);
	va_end(args);
	longjmp(give_up, 1);
}

/* A test that provokes no complaint of the device leaves none behind, nor does a round of it. */
static void check_health(void)
{
	static const char *const complaints[] = { "bad_packets", "bad_records", "gpuvm_faults", "stale_translations", "stale_vmids" };
	u32 i;

	for (i = 0; b && !vgpu_quiet && i < ARRAY_SIZE(complaints); i++)
		if (bed_stat(b, complaints[i]))
			check_failed(__FILE__, __LINE__, "%s is %llu, not 0", complaints[i], (unsigned long long)bed_stat(b, complaints[i]));
}

void up_as(void (*configure)(struct vgpu_config *c))
{
	check_health();
	if (b)
		bed_free(b);
	b = bed_new(configure);
	bed_driver_up(b);
}

void up(void)
{
	up_as(NULL);
}

struct bed_process *up_process(void)
{
	up();
	return bed_process(b);
}

struct bed_queue *queue_up(void)
{
	up();
	return bed_queue(b, bed_process(b));
}

struct bed_queue *sdma_up(u32 engine)
{
	up();
	return bed_sdma_queue(b, bed_process(b), engine);
}

struct bed_work *submit_work(struct bed_queue *q, u32 waves, u32 wg_waves, u32 steps, u64 step_ns)
{
	struct bed_work *w = bed_work(b, q->p, waves, wg_waves, steps, step_ns);

	bed_submit(b, q, w, false);
	return w;
}

void add_queues(struct bed_queue **q, struct bed_work **w, u32 n, u32 waves, u32 wg_waves, u32 steps, u64 step_ns)
{
	u32 i;

	for (i = 0; i < n; i++) {
		q[i] = bed_queue(b, bed_process(b));
		w[i] = bed_work(b, q[i]->p, waves, wg_waves, steps, step_ns);
	}
}

void submit_all(struct bed_queue **q, struct bed_work **w, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		bed_submit(b, q[i], w[i], false);
}

void run_all(struct bed_queue **q, struct bed_work **w, u32 n)
{
	CHECK(bed_runlist(b, q, n));
	submit_all(q, w, n);
}

void run_work(struct bed_queue *q, struct bed_work *w, u64 ns)
{
	run_all(&q, &w, 1);
	bed_run_for(b, ns);
}

void load_for(const struct bed_queue *q, u32 pipe, u32 queue, u32 vmid, u64 ns)
{
	bed_hqd_load(b, q, pipe, queue, vmid);
	bed_run_for(b, ns);
}

void unmap_after(u64 ns)
{
	bed_run_for(b, ns);
	CHECK(bed_unmap(b, false));
}

struct bed_queue *grid_up(struct bed_work **w, u32 waves, u32 wg_waves, u32 steps, u64 step_ns)
{
	struct bed_queue *q = queue_up();

	*w = bed_work(b, q->p, waves, wg_waves, steps, step_ns);
	CHECK(bed_runlist(b, &q, 1));
	bed_submit(b, q, *w, false);
	return q;
}

struct bed_queue *hqd_up(struct bed_work **w, u32 waves, u32 steps, u64 step_ns)
{
	struct bed_queue *q = queue_up();

	bed_vmid(b, HQD_VMID, q->p);
	*w = submit_work(q, waves, 1, steps, step_ns);
	return q;
}

void drain_interrupts(void)
{
	u32 iv[VGPU_IV_DWORDS];

	while (bed_interrupt(b, iv))
		;
}

/* An SDMA queue writes 1 to @va and interrupts, as the first that is in its ring. */
void fence_and_trap(struct bed_queue *s, u64 va)
{
	memcpy(s->ring, (u32[]) { 5, (u32)va, (u32)(va >> 32), 1, 6, 0x77 }, 24);
	*s->write_index = 24;
	b->doorbells[s->doorbell / 8] = 24;
	bed_run_for(b, 100 * US);
}

/* ---- GPUVM ---- */

TEST(gpuvm_system_and_vram_pages)
{
	u64 page, value = 0x1122334455667788ULL, got = 0;
	u32 as = VGPU_AS(VGPU_HUB_GFX, 3);
	struct bed_process *p = up_process();

	vgpu_reg_set(b->m, VGPU_VM_PT_BASE_LO + 6, (u32)(p->root | PTE_V));
	page = bed_vram(b, 4096);
	bed_map(b, p, 0x7f1234567000ULL, page, PTE_V | PTE_RW);
	bed_map(b, p, 0x7f1234568000ULL, BED_SYSTEM_BASE + 0x5000, PTE_V | PTE_S | PTE_RW);
	/* across the two pages */
	CHECK(vgpu_vm_write(b->m, as, 0x7f1234567ffcULL, &value, 8));
	CHECK_EQ(*(u32 *)(b->vram + page + 0xffc), 0x55667788);
	CHECK_EQ(*(u32 *)(b->system + 0x5000), 0x11223344);
	CHECK(vgpu_vm_read(b->m, as, 0x7f1234567ffcULL, &got, 8));
	CHECK(got == value);
}

TEST(gpuvm_large_pages)
{
	u32 as = VGPU_AS(VGPU_HUB_GFX, 3), got;
	u64 tables;
	struct bed_process *p = up_process();

	vgpu_reg_set(b->m, VGPU_VM_PT_BASE_LO + 6, (u32)(p->root | PTE_V));
	/* a page entry of 2 MiB in the table whose entries stand for 512 pages, as amdgpu writes it for large buffers */
	tables = bed_vram(b, 3 * 4096);
	((u64 *)(b->vram + p->root))[1] = tables | PTE_V;
	((u64 *)(b->vram + tables))[2] = (tables + 4096) | PTE_V | 9ULL << 59;
	((u64 *)(b->vram + tables + 4096))[3] = 0x600000 | PTE_V | PTE_RW;
	*(u32 *)(b->vram + 0x600000 + 0x123454) = 77;
	CHECK(vgpu_vm_read(b->m, as, 1ULL << 39 | 2ULL << 30 | 3ULL << 21 | 0x123454, &got, 4));
	CHECK_EQ(got, 77);
	/* a page entry of 1 GiB one level higher */
	((u64 *)(b->vram + tables))[5] = 0 | PTE_V | PTE_RW | PDE_P;
	CHECK(vgpu_vm_read(b->m, as, 1ULL << 39 | 5ULL << 30 | 0x600000 | 0x123454, &got, 4));
	CHECK_EQ(got, 77);
	/* four levels without fragments: the other geometry of this generation */
	vgpu_reg_set(b->m, VGPU_VM_CONTEXT0_CNTL + 4, 1 | 3 << 1);
	vgpu_reg_set(b->m, VGPU_VM_PT_BASE_LO + 8, (u32)(p->root | PTE_V));
	((u64 *)(b->vram + tables))[2] = (tables + 4096) | PTE_V;
	((u64 *)(b->vram + tables + 4096))[3] = (tables + 8192) | PTE_V;
	((u64 *)(b->vram + tables + 8192))[4] = 0x700000 | PTE_V | PTE_RW;
	*(u32 *)(b->vram + 0x700010) = 78;
	CHECK(vgpu_vm_read(b->m, VGPU_AS(VGPU_HUB_GFX, 4), 1ULL << 39 | 2ULL << 30 | 3ULL << 21 | 4 << 12 | 0x10, &got, 4));
	CHECK_EQ(got, 78);
}

TEST(gpuvm_faults)
{
	u32 as = VGPU_AS(VGPU_HUB_GFX, 3), value = 1, iv[8];
	struct bed_process *p = up_process();

	vgpu_reg_set(b->m, VGPU_VM_PT_BASE_LO + 6, (u32)(p->root | PTE_V));
	bed_map(b, p, 0x10000, BED_SYSTEM_BASE + 0x5000, PTE_V | PTE_S | PTE_R);
	CHECK(vgpu_vm_read(b->m, as, 0x10000, &value, 4));
	drain_interrupts();
	vgpu_quiet = true;
	CHECK(!vgpu_vm_write(b->m, as, 0x10010, &value, 4));		/* read only */
	CHECK_EQ(bed_stat(b, "gpuvm_faults"), 1);
	CHECK(bed_interrupt(b, iv));
	CHECK_EQ(iv[0] & 0xffff, VGPU_CLIENT_UTCL2);
	CHECK_EQ(iv[4], 0x10);
	CHECK_EQ(iv[5], 0x20);
	CHECK(!vgpu_vm_read(b->m, as, 0x11000, &value, 4));		/* no entry */
	CHECK(!vgpu_vm_read(b->m, as, 0x7f0000000000ULL, &value, 4));	/* no table */
	bed_map(b, p, 0x12000, BED_SYSTEM_BASE + BED_SYSTEM_BYTES, PTE_V | PTE_S | PTE_RW);
	CHECK(!vgpu_vm_read(b->m, as, 0x12000, &value, 4));		/* no memory */
	CHECK_EQ(bed_stat(b, "gpuvm_faults"), 4);
	CHECK(!vgpu_vm_read(b->m, VGPU_AS_KERNEL, 0xfffffffff000ULL, &value, 4));
}

TEST(gpuvm_kernel_apertures)
{
	u32 got;

	up();
	*(u32 *)(b->vram + 0x4560) = 11;
	*(u32 *)(b->system + 0x7890) = 12;
	CHECK(vgpu_vm_read(b->m, VGPU_AS_KERNEL, VGPU_FB_BASE + 0x4560, &got, 4));
	CHECK_EQ(got, 11);
	CHECK(vgpu_vm_read(b->m, VGPU_AS_KERNEL, 0x7890, &got, 4));	/* through GART */
	CHECK_EQ(got, 12);
	CHECK(vgpu_vm_read(b->m, VGPU_AS(VGPU_HUB_MM, 0), 0x7890, &got, 4));
	CHECK_EQ(got, 12);
	/* the hubs have tables of their own */
	vgpu_quiet = true;
	*(u64 *)(b->vram + bed_vram(b, 4096)) = (BED_SYSTEM_BASE + 0x9000) | PTE_V | PTE_S | PTE_RW;
	*(u32 *)(b->system + 0x9004) = 13;
	vgpu_reg_set(b->m, vgpu_hub_reg(b->m, VGPU_HUB_MM, VGPU_VM_PT_BASE_LO), (u32)(bed_vram(b, 4096) - 4096) | PTE_V);
	CHECK(vgpu_vm_read(b->m, VGPU_AS(VGPU_HUB_MM, 0), 4, &got, 4));
	CHECK_EQ(got, 13);
	CHECK(vgpu_vm_read(b->m, VGPU_AS_KERNEL, 0x7890, &got, 4));
	CHECK_EQ(got, 12);
	vgpu_reg_set(b->m, vgpu_hub_reg(b->m, VGPU_HUB_MM, VGPU_VM_CONTEXT0_CNTL), 0);
	CHECK(vgpu_vm_read(b->m, VGPU_AS_KERNEL, 0x7890, &got, 4));
	CHECK(!vgpu_vm_read(b->m, VGPU_AS(VGPU_HUB_MM, 0), 0x7890, &got, 4));
}

/* ---- PM4 ---- */

TEST(pm4_registers_and_memory)
{
	u64 page, va;
	u32 *mem;

	up();
	page = bed_vram(b, 4096);
	va = bed_kernel_va(b, page);
	mem = (u32 *)(b->vram + page);
	/* SET_UCONFIG_REG is the driver's ring test */
	bed_kiq(b, (u32[]) { PM4(0x79, 3), VGPU_SCRATCH_REG0 - 0xc000, 0xdeadbeef }, 3);
	CHECK_EQ(vgpu_model_reg_read(b->m, VGPU_SCRATCH_REG0), 0xdeadbeef);
	/* WRITE_DATA to memory, to a register; COPY_DATA register to memory */
	bed_kiq(b, (u32[]) { PM4(0x37, 6), 5 << 8, (u32)va, (u32)(va >> 32), 1, 2,
			     PM4(0x37, 5), 1 << 16, VGPU_SCRATCH_REG0, 0, 3,
			     PM4(0x40, 6), 5 << 8, VGPU_SCRATCH_REG0, 0, (u32)(va + 8), (u32)(va >> 32) }, 17);
	CHECK_EQ(mem[0], 1);
	CHECK_EQ(mem[1], 2);
	CHECK_EQ(mem[2], 3);
	/* NOPs: with a body, and the one that is a single dword */
	bed_kiq(b, (u32[]) { PM4(0x10, 4), ~0u, ~0u, ~0u, 0xffff1000, PM4(0x79, 3), VGPU_SCRATCH_REG0 - 0xc000, 4 }, 8);
	CHECK_EQ(vgpu_model_reg_read(b->m, VGPU_SCRATCH_REG0), 4);
}

TEST(pm4_waits_and_buffers)
{
	u64 page, va;
	u32 *mem, iv[8];

	up();
	page = bed_vram(b, 4096);
	va = bed_kernel_va(b, page);
	mem = (u32 *)(b->vram + page);
	memcpy(mem + 64, (u32[]) { PM4(0x37, 5), 5 << 8, (u32)(va + 4), (u32)(va >> 32), 42 }, 20);
	bed_kiq(b, (u32[]) { PM4(0x3c, 7), 3 | 1 << 4, (u32)va, (u32)(va >> 32), 5, 0xff, 4,
			     PM4(0x3f, 4), (u32)(va + 256), (u32)(va >> 32), 5,
			     PM4(0x49, 8), 0, 2u << 29 | 2 << 24, (u32)(va + 8), (u32)(va >> 32), 6, 7, 0x99 }, 19);
	bed_run_for(b, 100 * US);
	CHECK_EQ(mem[1], 0);				/* it waits */
	drain_interrupts();
	mem[0] = 0x1105;
	bed_run_for(b, 100 * US);
	CHECK_EQ(mem[1], 42);				/* the indirect buffer was executed */
	CHECK_EQ(mem[2], 6);
	CHECK_EQ(mem[3], 7);
	CHECK(bed_interrupt(b, iv));
	CHECK_EQ(iv[0], VGPU_CLIENT_GRBM_CP | 181 << 8 | (1 | 2 << 2) << 16);
	CHECK_EQ(iv[4], 0x99);
	CHECK(b->irqs > 0);
}

TEST(pm4_ring_wraps)
{
	u64 page, va;
	u32 i;

	up();
	page = bed_vram(b, 4096);
	va = bed_kernel_va(b, page);
	for (i = 1; i <= 3000; i++)
		bed_kiq(b, (u32[]) { PM4(0x37, 5), 5 << 8, (u32)va, (u32)(va >> 32), i }, 5);
	CHECK_EQ(*(u32 *)(b->vram + page), 3000);
}

TEST(pm4_garbage_is_refused)
{
	u32 seed, i, dwords[64];

	vgpu_quiet = true;
	for (seed = 1; seed <= 200; seed++) {
		srand(seed);
		up();
		for (i = 0; i < 64; i++)
			dwords[i] = (u32)rand() << 16 ^ (u32)rand();
		for (i = 0; i < 64; i += 8)
			dwords[i] = 0xc0000000 | (rand() % 12) << 16 | (rand() % 4 ? 0xa0 + rand() % 6 : rand() % 256) << 8;
		if (seed & 1)
			bed_kiq(b, dwords, 64);
		else
			bed_hiq(b, dwords, 64);
		bed_run_for(b, 100 * US);
	}
	up();
	bed_kiq(b, (u32[]) { 0x40000000 }, 1);
	CHECK_EQ(bed_stat(b, "bad_packets"), 1);
}

/* ---- SDMA ---- */

#define SDMA0_GFX	(b->config.layout->sdma[0][0] + 0x80)
#define SDMA_DOORBELL	0x800

TEST(sdma_kernel_ring)
{
	u64 ring_page, page, va, ring_va;
	u32 *ring, *mem, iv[8], n = 0;

	up();
	ring_page = bed_vram(b, 4096);
	page = bed_vram(b, 8192);
	va = bed_kernel_va(b, page);
	ring_va = bed_kernel_va(b, ring_page);
	ring = (u32 *)(b->vram + ring_page);
	mem = (u32 *)(b->vram + page);
	vgpu_model_reg_write(b->m, SDMA0_GFX + 1, (u32)(ring_va >> 8));
	vgpu_model_reg_write(b->m, SDMA0_GFX + 2, (u32)(ring_va >> 40));
	vgpu_model_reg_write(b->m, SDMA0_GFX + 0x12, 1 << 28);
	vgpu_model_reg_write(b->m, SDMA0_GFX + 0x2b, SDMA_DOORBELL);
	vgpu_model_reg_write(b->m, SDMA0_GFX, 1 | 10 << 1);
#define EMIT(...)	do { u32 d_[] = { __VA_ARGS__ }; memcpy(ring + n, d_, sizeof(d_)); n += sizeof(d_) / 4; } while (0)
	EMIT(2, (u32)va, (u32)(va >> 32), 1, 11, 12);						/* WRITE */
	EMIT(1, 8 - 1, 0, (u32)va, (u32)(va >> 32), (u32)(va + 4096), (u32)(va >> 32));		/* COPY */
	EMIT(11, (u32)(va + 64), (u32)(va >> 32), 0xabababab, 16 - 1);				/* CONST_FILL */
	EMIT(12, (u32)(va + 128), (u32)(va >> 32), 0x71, 0, 0x100000, 0, 0x1000, 0, 2 - 1);	/* PTEPDE */
	EMIT(0 | 2 << 16, ~0u, ~0u);								/* NOP */
	EMIT(8 | 1u << 31 | 3 << 28, (u32)(va + 256), (u32)(va >> 32), 9, 0xff, 0);		/* POLL_REGMEM */
	EMIT(10 | 47 << 25, (u32)(va + 512), (u32)(va >> 32), 3, 0, 0, 0, 0);			/* ATOMIC add */
	EMIT(14, VGPU_SCRATCH_REG0, 0x77);							/* SRBM_WRITE */
	EMIT(5, (u32)(va + 260), (u32)(va >> 32), 0x5e9);					/* FENCE */
	EMIT(6, 0x123);										/* TRAP */
	bed_run_for(b, 0);
	drain_interrupts();
	*(u64 *)((u8 *)b->doorbells + SDMA_DOORBELL) = n * 4;
	bed_run_for(b, 100 * US);
	CHECK_EQ(mem[1], 12);
	CHECK_EQ(mem[1025], 12);
	CHECK_EQ(mem[19], 0xabababab);
	CHECK_EQ(mem[20], 0);
	CHECK_EQ(mem[32], 0x100071);
	CHECK_EQ(mem[34], 0x101071);
	CHECK_EQ(mem[65], 0);				/* it waits */
	mem[64] = 9;
	bed_run_for(b, 100 * US);
	CHECK_EQ(mem[128], 3);
	CHECK_EQ(vgpu_model_reg_read(b->m, VGPU_SCRATCH_REG0), 0x77);
	CHECK_EQ(mem[65], 0x5e9);
	CHECK(bed_interrupt(b, iv));
	CHECK_EQ(iv[0], VGPU_CLIENT_SDMA0 | 224 << 8);
	CHECK_EQ(iv[4], 0x123);
}

TEST(sdma_user_queue)
{
	struct bed_queue *q;
	void *cpu;
	u64 va;
	u32 engine, *ring;

	for (engine = 0; engine < 5; engine++) {
		q = sdma_up(engine);
		va = bed_alloc(b, q->p, 4096, &cpu);
		CHECK(bed_runlist(b, &q, 1));
		ring = (u32 *)q->ring;
		memcpy(ring, (u32[]) { 5, (u32)va, (u32)(va >> 32), 1 }, 16);
		*q->write_index = 16;
		b->doorbells[q->doorbell / 8] = 16;
		bed_run_for(b, 100 * US);
		CHECK_EQ(*(u32 *)cpu, 1);
		CHECK_EQ(*q->read_index, 16);
		/* written while it is not mapped: seen at map, and nothing is repeated */
		CHECK(bed_unmap(b, false));
		*(u32 *)cpu = 0;
		memcpy(ring + 4, (u32[]) { 5, (u32)(va + 4), (u32)(va >> 32), 2 }, 16);
		*q->write_index = 32;
		bed_run_for(b, 100 * US);
		CHECK_EQ(((u32 *)cpu)[1], 0);
		CHECK(bed_runlist(b, &q, 1));
		bed_run_for(b, 100 * US);
		CHECK_EQ(((u32 *)cpu)[0], 0);
		CHECK_EQ(((u32 *)cpu)[1], 2);
	}
}

/* ---- queues and AQL ---- */

TEST(aql_dispatch_runs_once)
{
	struct bed_work *w;
	struct bed_queue *q = grid_up(&w, 100, 3, 7, 10 * US);
	u64 start = b->now;

	CHECK_DONE(w);
	/* 70 us of steps, the dispatch latency, and what the runlist still took */
	CHECK(b->now - start >= 72 * US && b->now - start < 72 * US + 20 * US);
	CHECK_EQ(*q->read_index, 1);
	CHECK_EQ(q->ring[0], 1);			/* the packet was given back */
	CHECK_EQ(bed_stat(b, "waves_launched"), 100);
	CHECK_EQ(bed_stat(b, "waves_done"), 100);
	CHECK_EQ(bed_stat(b, "slots_busy"), 0);
}

TEST(read_index_runs_ahead_of_completion)
{
	struct bed_work *w;
	struct bed_queue *q = grid_up(&w, 8, 1, 1, 5 * MS);

	bed_run_for(b, 1 * MS);
	CHECK_EQ(*q->read_index, 1);
	CHECK_EQ(*w->signal, 1);
	CHECK_EQ(bed_waves_by_register(b, q->doorbell), 8);
	CHECK_DONE(w);
	CHECK_EQ(bed_waves_by_register(b, q->doorbell), 0);
}

TEST(completion_raises_the_event)
{
	u32 iv[8];
	u64 *signal;
	struct bed_queue *q = queue_up();
	struct bed_work *w = bed_work(b, q->p, 1, 1, 1, US);

	signal = (u64 *)w->signal;
	signal[1] = w->flag_va + 8;			/* event mailbox */
	signal[2] = 0x1234567800000042ULL;		/* event id, 32 bits of it */
	CHECK(bed_runlist(b, &q, 1));
	drain_interrupts();
	bed_submit(b, q, w, false);
	CHECK_DONE(w);
	CHECK_EQ(*w->mailbox, 0x42);
	CHECK(bed_interrupt(b, iv));
	CHECK_EQ(iv[0] & 0xffff, VGPU_CLIENT_GRBM_CP | 181 << 8);
	CHECK_EQ(iv[0] >> 24 & 0xf, 3);			/* VMID */
	CHECK_EQ(iv[3] & 0xffff, q->p->pasid);
	CHECK_EQ(iv[4], 0x42);
	CHECK(!bed_interrupt(b, iv));
}

/* As the device sees it */
static u64 write_pointer(const struct bed_queue *q)
{
	struct vgpu_list *l;

	for (l = b->m->queues.next; l != &b->m->queues; l = l->next)
		if (container_of(l, struct vgpu_queue, link)->mqd == q->mqd)
			return container_of(l, struct vgpu_queue, link)->wptr;
	return U64_MAX;
}

TEST(doorbells_are_edges)
{
	u8 invalid[64] = { 1 };
	struct bed_process *p = up_process();
	struct bed_queue *r, *q = bed_queue(b, p);
	struct bed_work *v, *w = bed_work(b, p, 1, 1, 1, US);

	/* written before the queue is mapped: found at map, without a ring */
	bed_submit(b, q, w, false);
	b->doorbells[q->doorbell / 8] = ~0ULL;
	CHECK_RUNS_ON(q, w);
	/* a new queue with the doorbell of an old one, whose first ring is the value that the old one left */
	CHECK(bed_unmap(b, false));
	r = bed_queue(b, p);
	r->doorbell = q->doorbell;
	r->mqd_words[0x80 + VGPU_HQD_PQ_DOORBELL] = q->doorbell;
	b->doorbells[q->doorbell / 8] = 0;
	CHECK(bed_runlist(b, &r, 1));
	bed_run_for(b, 100 * US);
	CHECK_EQ(write_pointer(r), 0);			/* the old value is no ring */
	v = bed_work(b, p, 1, 1, 1, US);
	bed_submit(b, r, v, false);			/* rings 0 */
	CHECK_DONE(v);
	/* a slot that was announced but not filled stops the queue; filling it is enough */
	bed_submit_raw(b, r, invalid, true);
	bed_run_for(b, 100 * US);
	CHECK_EQ(*r->read_index, 1);
	(*r->write_index)--;
	v = submit_work(r, 1, 1, 1, US);
	b->doorbells[r->doorbell / 8] = ~0ULL;
	CHECK_DONE(v);
}

TEST(lower_ring_after_a_higher_one_loses_no_packet)
{
	struct bed_queue *q = queue_up();
	struct bed_work *first = bed_work(b, q->p, 1, 1, 1, US), *second = bed_work(b, q->p, 1, 1, 1, US);

	CHECK(bed_runlist(b, &q, 1));
	bed_submit(b, q, first, false);
	bed_submit(b, q, second, false);
	b->doorbells[q->doorbell / 8] = 0;
	CHECK_DONE(first);
	CHECK_DONE(second);
}

static void barrier_packet(u16 type, u64 s0, u64 s1, u64 completion, u8 *p)
{
	u16 header = type;

	memset(p, 0, 64);
	memcpy(p, &header, 2);
	memcpy(p + 8, &s0, 8);
	memcpy(p + 16, &s1, 8);
	memcpy(p + 56, &completion, 8);
}

static struct bed_queue *late_queue;
static struct bed_work *late_work;

static void submit_late(void)
{
	b->now += MS;
	bed_submit(b, late_queue, late_work, false);
}

TEST(grid_starts_after_its_doorbell)
{
	u64 rung;

	up();
	late_queue = bed_queue(b, bed_process(b));
	late_work = bed_work(b, late_queue->p, 8, 1, 1, 100 * US);
	CHECK(bed_runlist(b, &late_queue, 1));
	rung = b->now + MS;
	b->meanwhile = submit_late;
	CHECK_DONE(late_work);
	CHECK(b->now - rung >= 100 * US + b->config.dispatch_ns);
	CHECK(b->now - rung < 150 * US);
}

/* Start and end in ticks of the reference clock */
static const u64 *stamps_of(const struct bed_work *w)
{
	return (const u64 *)((const u8 *)w->signal + 24);
}

TEST(what_waited_is_stamped_after_what_it_waited_for)
{
	struct bed_queue *q = queue_up();
	struct bed_work *w[3];
	u8 packet[64];
	u32 i;

	/* amd_queue_t: where the read index is, and that stamps are wanted */
	*(u32 *)((u8 *)q->read_index + 8) = 128;
	*(u32 *)((u8 *)q->read_index + 52) = 8;
	CHECK(bed_runlist(b, &q, 1));
	for (i = 0; i < 3; i++)
		w[i] = bed_work(b, q->p, 1, 1, 1, 10 * US);
	bed_submit(b, q, w[0], false);
	barrier_packet(3, w[0]->signal_va, 0, 0, packet);
	bed_submit_raw(b, q, packet, true);
	bed_submit(b, q, w[1], false);
	bed_submit(b, q, w[2], true);
	b->tick_ns = 5 * US;
	CHECK_DONE(w[2]);
	for (i = 0; i < 3; i++)
		CHECK(stamps_of(w[i])[0] && stamps_of(w[i])[0] <= stamps_of(w[i])[1]);
	CHECK(stamps_of(w[0])[1] <= stamps_of(w[1])[0]);
	CHECK(stamps_of(w[1])[1] <= stamps_of(w[2])[0]);
}

TEST(barriers)
{
	u8 packet[64];
	struct bed_queue *q = queue_up();
	struct bed_work *g1, *w, *first, *second, *end, *g0 = bed_work(b, q->p, 1, 1, 1, US);

	g1 = bed_work(b, q->p, 1, 1, 1, US);
	w = bed_work(b, q->p, 1, 1, 1, US);
	end = bed_work(b, q->p, 1, 1, 1, US);
	CHECK(bed_runlist(b, &q, 1));
	barrier_packet(3, g0->signal_va, g1->signal_va, 0, packet);
	bed_submit_raw(b, q, packet, true);
	bed_submit(b, q, w, false);
	bed_run_for(b, MS);
	CHECK_EQ(*w->signal, 1);
	CHECK_EQ(*q->read_index, 0);
	*g0->signal = 0;
	bed_run_for(b, MS);
	CHECK_EQ(*w->signal, 1);			/* and: all of them */
	*g1->signal = 0;
	CHECK_DONE(w);
	/* or: one is enough; its completion signal is decremented at once */
	*g0->signal = 1;
	barrier_packet(5, g0->signal_va, g1->signal_va, end->signal_va, packet);
	bed_submit_raw(b, q, packet, true);
	bed_run_for(b, MS);
	CHECK_EQ(*end->signal, 0);
	/* the barrier bit: nothing starts before everything earlier is complete */
	first = bed_work(b, q->p, 1, 1, 1, MS);
	second = bed_work(b, q->p, 1, 1, 1, US);
	bed_submit(b, q, first, false);
	bed_submit(b, q, second, true);
	bed_run_for(b, MS / 2);
	CHECK_EQ(*second->signal, 1);
	CHECK_EQ(*q->read_index, 4);
	CHECK_DONE(second);
	CHECK_EQ(*first->signal, 0);
	/* without it they overlap */
	first = bed_work(b, q->p, 1, 1, 1, MS);
	second = bed_work(b, q->p, 1, 1, 1, US);
	bed_submit(b, q, first, false);
	bed_submit(b, q, second, false);
	bed_run_for(b, MS / 2);
	CHECK_EQ(*second->signal, 0);
	CHECK_EQ(*first->signal, 1);
	CHECK_DONE(first);
}

TEST(pm4_buffer_in_an_aql_queue)
{
	void *cpu;
	u32 command[4];
	u8 packet[64] = { 0 };
	struct bed_queue *q = queue_up();
	struct bed_work *w = bed_work(b, q->p, 1, 1, 1, US);
	u64 va = bed_alloc(b, q->p, 4096, &cpu);

	memcpy(cpu, (u32[]) { PM4(0x58, 7), 0, 0, 0, 0, 0, 0, PM4(0x37, 5), 5 << 8, (u32)(va + 2048), (u32)(va >> 32), 5 }, 48);
	CHECK(bed_runlist(b, &q, 1));
	packet[2] = 1;
	memcpy(command, (u32[]) { PM4(0x3f, 4), (u32)va, (u32)(va >> 32), 12 }, 16);
	memcpy(packet + 4, command, 16);
	memcpy(packet + 56, &w->signal_va, 8);
	bed_submit_raw(b, q, packet, true);
	CHECK(bed_run_until(b, bed_work_done, w, MS));
	CHECK_EQ(((u32 *)cpu)[512], 5);
}

TEST(aql_garbage_is_refused)
{
	struct bed_queue *q;
	struct bed_work *w;
	u32 seed, i, n;
	u8 packet[64];

	vgpu_quiet = true;
	for (seed = 1; seed <= 200; seed++) {
		srand(seed);
		q = queue_up();
		CHECK(bed_runlist(b, &q, 1));
		w = bed_work(b, q->p, 4, 1, 2, US);
		for (n = 0; n < 3; n++) {
			for (i = 0; i < 64; i++)
				packet[i] = (u8)rand();
			packet[0] = (u8)(rand() % 7);
			if (seed & 1)
				memcpy(packet + 32, &w->kernel_va, 8);
			if (seed & 2)
				memset(packet + 16, 0, 8);
			bed_submit_raw(b, q, packet, true);
		}
		unmap_after(MS);
	}
}

/* ---- slots ---- */

TEST(full_device_makes_others_wait)
{
	struct bed_queue *q[2];
	struct bed_work *big, *small;
	u64 start;
	struct bed_process *p0 = up_process(), *p1 = bed_process(b);

	q[0] = bed_queue(b, p0);
	q[1] = bed_queue(b, p1);
	big = bed_work(b, p0, 256, 4, 1, 5 * MS);
	small = bed_work(b, p1, 1, 1, 1, 100 * US);
	CHECK(bed_runlist(b, q, 2));
	CHECK_EQ(bed_stat(b, "wave_slots"), 256);
	bed_submit(b, q[0], big, false);
	bed_run_for(b, MS);
	CHECK_EQ(bed_stat(b, "slots_busy"), 256);
	start = b->now;
	bed_submit(b, q[1], small, false);
	CHECK_DONE(small);
	CHECK(b->now - start > 3 * MS);
	CHECK_DONE(big);
}

TEST(queues_share_freed_slots)
{
	struct bed_queue *q[2];
	struct bed_work *w[2];
	u32 i, waves[2];

	up();
	add_queues(q, w, 2, 2048, 1, 1, 100 * US);
	CHECK(bed_runlist(b, q, 2));
	bed_run_for(b, 50 * US);
	bed_submit(b, q[0], w[0], false);
	bed_submit(b, q[1], w[1], false);
	bed_run_for(b, 550 * US);
	for (i = 0; i < 2; i++)
		waves[i] = bed_waves_by_register(b, q[i]->doorbell);
	CHECK_EQ(waves[0] + waves[1], 256);
	CHECK_EQ(waves[0], waves[1]);
	CHECK_ALL_DONE(w, 2);
}

TEST(single_slots_go_round)
{
	struct bed_queue *q[3];
	struct bed_work *w[3];
	u32 i;
	struct bed_process *p = up_process();

	for (i = 0; i < 3; i++)
		q[i] = bed_queue(b, p);
	w[0] = bed_work(b, p, 255, 1, 1, 10 * MS);
	w[1] = bed_work(b, p, 200, 1, 1, 10 * US);
	w[2] = bed_work(b, p, 200, 1, 1, 10 * US);
	CHECK(bed_runlist(b, q, 3));
	bed_submit(b, q[0], w[0], false);
	bed_run_for(b, 50 * US);
	bed_submit(b, q[1], w[1], false);
	bed_submit(b, q[2], w[2], false);
	bed_run_for(b, MS);
	/* about a hundred waves had the only slot, one after the other */
	CHECK(bed_work_lost(w[1]) < 160 && bed_work_lost(w[1]) > 140);
	CHECK(bed_work_lost(w[2]) < 160 && bed_work_lost(w[2]) > 140);
	CHECK_ALL_DONE(w, 3);
}

TEST(registers_and_lds_limit_occupancy)
{
	struct bed_queue *q;
	struct bed_work *w;
	struct vgpu_kernel *k;

	/* 128 registers of 512: four waves on a SIMD */
	q = queue_up();
	w = bed_work(b, q->p, 256, 1, 1, MS);
	k = (void *)((u8 *)w->signal - 8 - 512);
	k->vgprs = 128;
	run_work(q, w, MS / 2);
	CHECK_EQ(bed_stat(b, "slots_busy"), 8 * 4 * 4);
	CHECK_DONE(w);
	/* 40 KiB of LDS: one workgroup of four waves on a compute unit */
	q = queue_up();
	w = bed_work(b, q->p, 64, 4, 1, MS);
	k = (void *)((u8 *)w->signal - 8 - 512);
	k->lds_bytes = 40960;
	run_work(q, w, MS / 2);
	CHECK_EQ(bed_stat(b, "slots_busy"), 8 * 4);
	/* saving and restoring keeps the account */
	CHECK(bed_unmap(b, false));
	CHECK_EQ(bed_stat(b, "slots_busy"), 0);
	CHECK_RUNS_ON(q, w);
	CHECK_EQ(bed_stat(b, "slots_busy"), 0);
	/* a workgroup that fits nowhere is an error, not an endless wait */
	vgpu_quiet = true;
	q = queue_up();
	w = bed_work(b, q->p, 16, 16, 1, MS);
	k = (void *)((u8 *)w->signal - 8 - 512);
	k->vgprs = 256;
	run_work(q, w, MS);
	CHECK_EQ(bed_stat(b, "bad_packets"), 1);
}

static void uneven(struct vgpu_config *c)
{
	c->cus = 38;
}

TEST(uneven_engines_lack_a_compute_unit)
{
	struct bed_process *p;
	struct bed_queue *q;
	struct bed_work *w;
	u32 se, off;

	up_as(uneven);
	for (se = 0; se < 4; se++) {
		vgpu_model_reg_write(b->m, VGPU_GRBM_GFX_INDEX, se << 16);
		off = vgpu_model_reg_read(b->m, VGPU_CC_SHADER_ARRAY);
		CHECK_EQ(off, se < 2 ? 0 : 1u << (16 + 9));	/* of ten */
	}
	p = bed_process(b);
	q = bed_queue(b, p);
	w = submit_work(q, 38 * 32 + 1, 1, 1, 100 * US);
	CHECK(bed_runlist(b, &q, 1));
	bed_run_for(b, 50 * US);
	CHECK_EQ(bed_stat(b, "slots_busy"), 38 * 32);
	CHECK_DONE(w);
}

TEST(a_late_caller_gets_control_back)
{
	struct bed_work *w;
	u32 i;

	grid_up(&w, 256, 4, 2000, 1);
	bed_run_for(b, 0);
	b->now += LONG;
	CHECK(vgpu_model_run(b->m) <= b->now);
	CHECK(bed_work_lost(w) > 256 * 1000);
	for (i = 0; !bed_work_done(w) && i < 20; i++)
		vgpu_model_run(b->m);
	CHECK(i > 1);
	CHECK_DONE(w);
}

TEST(waves_wait_for_their_flag)
{
	struct bed_queue *q = queue_up();
	struct bed_work *w = bed_work(b, q->p, 16, 4, 2, 10 * US);
	struct vgpu_kernargs *a = (void *)((u8 *)w->signal - 8 - 256);

	a->flag = w->flag_va;
	run_work(q, w, MS);
	CHECK_EQ(bed_stat(b, "slots_busy"), 16);
	CHECK_EQ(bed_work_lost(w), 32);
	/* also when it was saved meanwhile */
	CHECK_REMAP(&q, 1);
	bed_run_for(b, MS);
	CHECK_EQ(bed_stat(b, "slots_busy"), 16);
	CHECK_EQ(bed_work_lost(w), 32);
	*w->flag = 1;
	CHECK_DONE(w);
}

/* ---- save and restore ---- */

/* It shares its CPU with others. Each microsecond a queue's waves end a step, which takes the model longer than that. */
TEST(a_slow_model_sleeps_half_of_the_time)
{
	enum { N = 12 };
	u64 ran = 0, longest = 0, begin, end, next;
	struct bed_queue *q[N];
	struct bed_work *w[N];
	u32 i;

	up();
	for (i = 0; i < N; i++) {
		q[i] = bed_queue(b, bed_process(b));
		w[i] = bed_work(b, q[i]->p, 16, 1, 1000, (7 + i) * US);
	}
	run_all(q, w, N);
	bed_run_for(b, 100 * US);
	b->access_ns = 100;
	for (end = b->now + 20 * MS; b->now < end; b->now = next) {
		begin = b->now;
		next = vgpu_model_run(b->m);
		ran += b->now - begin;
		longest = b->now - begin > longest ? b->now - begin : longest;
		if (next > b->now + 50 * US)
			next = b->now + 50 * US;
		if (next <= b->now)
			next = b->now + 1;
	}
	CHECK(longest < 80 * US);
	CHECK(ran < 13 * MS);
	b->access_ns = 0;
	CHECK_ALL_DONE(w, N);
}

TEST(preempted_work_is_done_once)
{
	struct bed_queue *q;
	struct bed_work *w[3];
	u64 at;
	u32 i;

	/* unmapped once, at every moment of its life: before, while it is launched in parts, in each step, after */
	for (at = 1; at < 1400 * US; at += 7919) {
		q = queue_up();
		w[0] = bed_work(b, q->p, 400, 2, 5, 100 * US);	/* more than fits at once */
		w[1] = bed_work(b, q->p, 7, 3, 3, 33 * US);
		w[2] = bed_work(b, q->p, 30, 1, 1, 50 * US);
		CHECK(bed_runlist(b, &q, 1));
		for (i = 0; i < 3; i++)
			bed_submit(b, q, w[i], i == 2);
		unmap_after(at);
		CHECK_EQ(bed_stat(b, "slots_busy"), 0);
		bed_run_for(b, MS);
		CHECK(bed_runlist(b, &q, 1));
		CHECK_ALL_DONE(w, 3);
		CHECK_EQ(*q->read_index, 3);
		CHECK_EQ(bed_stat(b, "waves_saved"), bed_stat(b, "waves_restored"));
		CHECK_EQ(bed_stat(b, "waves_launched"), 437);
	}
}

TEST(nothing_runs_while_unmapped)
{
	struct bed_work *w;
	u32 before;
	struct bed_queue *q = grid_up(&w, 256, 1, 100, 10 * US);

	unmap_after(300 * US);
	before = bed_work_lost(w);
	CHECK(before > 0 && before < 25600);
	bed_run_for(b, 10 * MS);
	CHECK_EQ(bed_work_lost(w), before);
	CHECK_EQ(bed_waves_by_register(b, q->doorbell), 0);
	CHECK_RUNS_ON(q, w);
}

TEST(saved_sizes_are_true)
{
	struct bed_queue *q = queue_up();
	u32 stack, area, *r = q->mqd_words + 0x80;
	struct bed_work *w = bed_work(b, q->p, 100, 1, 1, 5 * MS);

	CHECK(bed_runlist(b, &q, 1));
	/* nothing resident: nothing saved */
	CHECK(bed_unmap(b, false));
	CHECK_EQ(r[VGPU_HQD_CNTL_STACK_OFFSET], BED_STACK_BYTES);
	CHECK_EQ(r[VGPU_HQD_WG_STATE_OFFSET], BED_STACK_BYTES);
	CHECK(bed_runlist(b, &q, 1));
	bed_submit(b, q, w, false);
	unmap_after(MS);
	stack = BED_STACK_BYTES - r[VGPU_HQD_CNTL_STACK_OFFSET];
	area = r[VGPU_HQD_WG_STATE_OFFSET] - BED_STACK_BYTES;
	CHECK_EQ(stack, (BED_STACK_WORDS + 100) * 4);
	CHECK_EQ(area, 100 * BED_WAVE_BYTES);
	CHECK_EQ(r[VGPU_HQD_PQ_RPTR], 16);		/* the packet was launched */
	CHECK_EQ(bed_stat(b, "saved_bytes"), stack + area);
	CHECK_RUNS_ON(q, w);
	/* the whole device fits into the save area of 8 compute units and its control stack */
	w = submit_work(q, 256, 1, 1, 5 * MS);
	unmap_after(MS);
	CHECK_EQ(bed_stat(b, "waves_saved"), 356);
	CHECK_RUNS_ON(q, w);
}

TEST(saving_takes_device_time)
{
	u64 start, bytes, took;
	struct bed_queue *q = queue_up();
	struct bed_work *w = bed_work(b, q->p, 256, 1, 1, 5 * MS);

	CHECK(bed_runlist(b, &q, 1));
	bed_run_for(b, MS);
	start = b->now;
	CHECK(bed_unmap(b, false));
	CHECK(b->now - start >= 20 * US && b->now - start < 25 * US);
	run_work(q, w, MS);
	start = b->now;
	CHECK(bed_unmap(b, false));
	bytes = bed_stat(b, "saved_bytes");
	took = 20 * US + 10 * US + bytes * 1000 / 1600000;
	CHECK(b->now - start >= took && b->now - start < took + 5 * US);
}

/* What memory holds is what continues: the state is moved to another MQD, and edited there. */
TEST(memory_alone_is_the_state)
{
	struct bed_work *w;
	u64 offset;
	struct bed_queue *r, *q = grid_up(&w, 64, 1, 4, MS);

	unmap_after(1500 * US);
	offset = bed_vram(b, 8192);
	memcpy(b->vram + offset, q->mqd_words, 8192);
	memset(q->mqd_words, 0xee, 8192);
	r = (void *)(b->system + bed_system(b, sizeof(*r)));
	*r = *q;
	r->mqd = bed_kernel_va(b, offset);
	r->mqd_words = (u32 *)(b->vram + offset);
	r->mqd_words[0x80] = (u32)r->mqd;
	CHECK_RUNS_ON(r, w);
	/* 10 of 64 waves that are no longer in the control stack are lost */
	w = bed_work(b, q->p, 64, 1, 4, MS);
	bed_submit(b, r, w, false);
	unmap_after(1500 * US);
	bed_forget_waves(r->mqd_words, 10);
	CHECK(bed_runlist(b, &r, 1));
	CHECK(!bed_run_until(b, bed_work_done, w, 20 * MS));
	CHECK_EQ(bed_work_lost(w), 10 * 3);
}

static void stale(enum vgpu_fault fault, u32 times, u32 *lost, u32 *undone)
{
	struct bed_process *p;
	struct bed_queue *q;
	struct bed_work *w[2];
	u32 i;

	up();
	*vgpu_model_fault_left(b->m, fault) = times;
	p = bed_process(b);
	q = bed_queue(b, p);
	for (i = 0; i < 2; i++)
		w[i] = bed_work(b, p, 128, 1, 4, MS);
	run_work(q, w[0], 1500 * US);
	CHECK_REMAP(&q, 1);
	bed_submit(b, q, w[1], false);
	bed_run_for(b, 30 * MS);
	for (*lost = *undone = i = 0; i < 2; i++) {
		*lost += bed_work_lost(w[i]);
		*undone += *w[i]->signal != 0;
	}
}

TEST(stale_state_loses_work)
{
	u32 lost, undone;

	vgpu_quiet = true;
	stale(VGPU_FAULT_STALE_MQD, 0, &lost, &undone);
	CHECK_EQ(lost, 0);
	CHECK_EQ(undone, 0);
	stale(VGPU_FAULT_STALE_CTL_STACK, U32_MAX, &lost, &undone);
	CHECK(lost >= 128 * 3);
	CHECK(undone >= 1);
	stale(VGPU_FAULT_STALE_MQD, U32_MAX, &lost, &undone);
	CHECK(lost >= 128 * 3);
	CHECK(undone >= 1);
}

TEST(restored_waves_come_first)
{
	struct bed_work *w[2];
	struct bed_queue *q = queue_up();

	w[0] = bed_work(b, q->p, 256, 1, 2, MS);
	w[1] = bed_work(b, q->p, 256, 1, 2, MS);
	CHECK(bed_runlist(b, &q, 1));
	bed_submit(b, q, w[0], false);
	bed_submit(b, q, w[1], false);
	bed_run_for(b, 500 * US);
	CHECK_REMAP(&q, 1);
	bed_run_for(b, 500 * US);
	CHECK_EQ(bed_stat(b, "waves_restored"), 256);
	CHECK_EQ(bed_stat(b, "waves_launched"), 256);
	CHECK_DONE(w[1]);
	CHECK_DONE(w[0]);
	/* also before the rest of their own grid */
	w[0] = submit_work(q, 400, 1, 2, MS);
	bed_run_for(b, 500 * US);
	CHECK_REMAP(&q, 1);
	bed_run_for(b, 500 * US);
	CHECK_EQ(bed_stat(b, "waves_restored"), 512);
	CHECK_EQ(bed_stat(b, "waves_launched"), 768);
	CHECK_DONE(w[0]);
}

TEST(restored_queues_share)
{
	struct bed_process *p;
	struct bed_queue *q[2];
	struct bed_work *w[2];
	u32 i;

	/* the first filled the device, then the second; both were preempted with everything they had */
	p = up_process();
	for (i = 0; i < 2; i++) {
		q[i] = bed_queue(b, p);
		w[i] = bed_work(b, p, 256, 1, 1, MS);
		CHECK(bed_runlist(b, &q[i], 1));
		bed_submit(b, q[i], w[i], false);
		unmap_after(500 * US);
	}
	CHECK(bed_runlist(b, q, 2));
	bed_run_for(b, 200 * US);
	for (i = 0; i < 2; i++)
		CHECK_EQ(bed_waves_by_register(b, q[i]->doorbell), 128);
	CHECK_ALL_DONE(w, 2);
}

TEST(unmap_filters)
{
	struct bed_process *p[2];
	struct bed_queue *q[3];
	struct bed_work *w[3];
	u32 i;

	up();
	p[0] = bed_process(b);
	p[1] = bed_process(b);
	for (i = 0; i < 3; i++) {
		q[i] = bed_queue(b, p[i / 2]);
		w[i] = bed_work(b, p[i / 2], 16, 1, 10, 100 * US);
	}
	q[1]->is_static = true;
	run_all(q, w, 3);
	bed_run_for(b, 300 * US);
	/* by process */
	CHECK(bed_unmap_pasid(b, p[1]->pasid));
	CHECK_EQ(bed_waves_by_register(b, q[0]->doorbell), 16);
	CHECK_EQ(bed_waves_by_register(b, q[1]->doorbell), 16);
	CHECK_EQ(bed_waves_by_register(b, q[2]->doorbell), 0);
	/* all but the static ones */
	CHECK(bed_unmap(b, false));
	CHECK_EQ(bed_waves_by_register(b, q[0]->doorbell), 0);
	CHECK_EQ(bed_waves_by_register(b, q[1]->doorbell), 16);
	CHECK(bed_runlist(b, q, 3));
	CHECK_ALL_DONE(w, 3);
	/* reset kills the waves: this work never completes */
	w[0] = bed_work(b, p[0], 16, 1, 10, 100 * US);
	bed_submit(b, q[0], w[0], false);
	bed_run_for(b, 300 * US);
	CHECK(bed_unmap(b, true));
	CHECK_EQ(bed_stat(b, "waves_saved") + 16 * 4, bed_stat(b, "waves_restored") + 16 * 4);
	CHECK(bed_runlist(b, q, 3));
	CHECK(!bed_run_until(b, bed_work_done, w[0], 10 * MS));
}

void short_quantum(struct vgpu_config *c)
{
	c->quantum_ns = 20 * US;		/* ten of them */
}

/* ---- queues loaded by registers, without the scheduler ---- */

#define VMID	9u

static u32 mqd_word(const struct bed_queue *q, enum vgpu_hqd_reg r)
{
	return q->mqd_words[0x80 + r];
}

static bool inactive(void *slot)
{
	const u32 *at = slot;

	return !bed_hqd_active(b, at[0], at[1]);
}

#define CHECK_LEAVES_BY(pipe, queue, how)	do { bed_hqd_dequeue(b, (pipe), (queue), (how)); CHECK_LEAVES(pipe, queue); } while (0)
#define CHECK_LEAVES(pipe, queue)	CHECK(bed_run_until(b, inactive, (u32[]) { (pipe), (queue) }, LONG))

TEST(queue_loaded_by_registers)
{
	struct bed_work *w;
	struct bed_queue *q = hqd_up(&w, 64, 10, 100 * US);
	u32 round;

	for (round = 0; round < 3; round++) {
		load_for(q, 2, 3, VMID, 300 * US);
		CHECK_EQ(bed_waves_by_register(b, q->doorbell), 64);
		if (round == 2)
			break;
		CHECK_LEAVES_BY(2, 3, BED_SAVE);
		CHECK_EQ(bed_waves_by_register(b, q->doorbell), 0);
		CHECK_EQ(bed_stat(b, "slots_busy"), 0);
		/* the packet, its dispatch and 64 waves */
		CHECK_EQ(mqd_word(q, VGPU_HQD_PQ_RPTR), 16);
		CHECK_EQ(mqd_word(q, VGPU_HQD_PQ_WPTR_LO), 16);
		CHECK_EQ(mqd_word(q, VGPU_HQD_CNTL_STACK_OFFSET), BED_STACK_BYTES - (BED_STACK_WORDS + 64) * 4);
		CHECK_EQ(mqd_word(q, VGPU_HQD_WG_STATE_OFFSET), BED_STACK_BYTES + 64 * BED_WAVE_BYTES);
	}
	CHECK_DONE(w);
	CHECK_EQ(bed_stat(b, "waves_saved"), 128);
	CHECK_EQ(bed_stat(b, "waves_restored"), 128);
}

TEST(slot_is_active_until_all_is_saved)
{
	struct bed_work *w, *other;
	struct bed_queue *q = hqd_up(&w, 256, 10, 50 * US), *q2;
	u64 bytes, start;
	u32 left;

	q2 = bed_queue(b, q->p);
	other = bed_work(b, q->p, 1, 1, 1, US);
	bed_hqd_load(b, q, 0, 2, VMID);
	load_for(q2, 1, 2, VMID, 120 * US);
	CHECK_EQ(bed_stat(b, "slots_busy"), 256);
	left = bed_work_lost(w);
	bed_submit(b, q2, other, false);
	start = b->now;
	bed_hqd_dequeue(b, 0, 2, BED_SAVE);
	bytes = bed_stat(b, "saved_bytes");
	CHECK(bytes > 256 * 32 * 256);
	/* The registers of the waves are where they were until they are copied: no other queue gets their slots. */
	bed_run_for(b, b->config.trap_ns + bytes * 1000 / b->config.hbm_bytes_per_us - 1);
	CHECK(bed_hqd_active(b, 0, 2));
	CHECK_EQ(bed_stat(b, "slots_busy"), 256);
	CHECK_LEAVES(0, 2);
	CHECK_EQ(b->now - start, b->config.trap_ns + bytes * 1000 / b->config.hbm_bytes_per_us);
	CHECK_DONE(other);
	CHECK_EQ(bed_work_lost(w), left);
	/* An idle queue has nothing to copy, and the others do not notice. */
	bed_hqd_dequeue(b, 1, 2, BED_SAVE);
	CHECK(!bed_hqd_active(b, 1, 2));
	start = b->now;
	load_for(q, 0, 2, VMID, b->config.trap_ns);
	CHECK_EQ(bed_stat(b, "waves_restored"), 0);	/* bringing them back takes as long */
	CHECK_DONE(w);
	CHECK_EQ(bed_stat(b, "waves_saved"), bed_stat(b, "waves_restored"));
}

/* From the request's being seen to the report, with what the model's own accesses take; requests that find no waves do not count. */
TEST(time_to_save_is_counted)
{
	struct bed_work *w;
	struct bed_queue *q = hqd_up(&w, 256, 10, 50 * US);
	u64 start, bytes, model_ns, counted;
	char text[128], due[128];

	load_for(q, 0, 2, VMID, 120 * US);
	CHECK_EQ(bed_stat(b, "save_requests"), 0);
	start = b->now;
	bed_hqd_dequeue(b, 0, 2, BED_SAVE);
	CHECK_EQ(bed_stat(b, "save_requests"), 0);	/* not before it is done */
	CHECK_LEAVES(0, 2);
	model_ns = b->now - start;
	CHECK_EQ(bed_stat(b, "save_requests"), 1);
	CHECK_EQ(bed_stat(b, "save_device_ns"), model_ns);
	bytes = bed_stat(b, "saved_bytes");

	/* The same waves, and each access to memory takes time: this is the device's as well. */
	load_for(q, 0, 2, VMID, 120 * US);
	b->access_ns = 10;
	start = b->now;
	CHECK_LEAVES_BY(0, 2, BED_SAVE);
	b->access_ns = 0;
	counted = bed_stat(b, "save_device_ns") - model_ns;
	CHECK_EQ(bed_stat(b, "save_requests"), 2);
	vgpu_snprintf(due, sizeof(due), "0 %llu\n1 %llu\n", (unsigned long long)model_ns, (unsigned long long)counted);
	text[vgpu_model_print_saves(b->m, text, sizeof(text) - 1)] = '\0';
	CHECK(!strcmp(text, due));
	CHECK_EQ(bed_stat(b, "saved_bytes"), 2 * bytes);
	CHECK(counted > model_ns + 256 * 10);
	CHECK(counted <= b->now - start);

	bed_hqd_load(b, q, 0, 2, VMID);
	CHECK_DONE(w);
	CHECK_LEAVES_BY(0, 2, BED_SAVE);
	CHECK_EQ(bed_stat(b, "save_requests"), 2);
}

TEST(time_to_unmap_is_counted)
{
	struct bed_work *w;
	u64 start, counted;
	struct bed_queue *q = grid_up(&w, 256, 1, 10, 50 * US);

	bed_run_for(b, 120 * US);
	CHECK_EQ(bed_stat(b, "save_requests"), 0);
	start = b->now;
	CHECK(bed_unmap(b, false));
	counted = bed_stat(b, "save_device_ns");
	CHECK_EQ(bed_stat(b, "save_requests"), 1);
	CHECK(counted >= b->config.runlist_ns + b->config.trap_ns +
	      bed_stat(b, "saved_bytes") * 1000 / b->config.hbm_bytes_per_us);
	CHECK(counted <= b->now - start);
	CHECK(bed_runlist(b, &q, 1));			/* its fence is no report of that */
	CHECK_EQ(bed_stat(b, "save_requests"), 1);
	CHECK_DONE(w);
	CHECK(bed_unmap(b, false));			/* and this finds no waves */
	CHECK_EQ(bed_stat(b, "save_requests"), 1);
	CHECK_EQ(bed_stat(b, "save_device_ns"), counted);
}

/* The driver waits for the report, on the model's CPU: before the next waves are placed it can run. The device has lost no time by that. */
TEST(who_waits_for_a_save_can_see_it_before_the_next_waves)
{
	struct bed_work *w, *next;
	struct bed_queue *q = hqd_up(&w, 256, 10, 50 * US), *q2;
	u64 left_ns;

	q2 = bed_queue(b, q->p);
	next = bed_work(b, q->p, 256, 1, 1, 50 * US);
	bed_hqd_load(b, q, 0, 2, VMID);
	load_for(q2, 1, 2, VMID, 120 * US);
	bed_submit(b, q2, next, false);
	bed_run_for(b, 20 * US);
	CHECK_LEAVES_BY(0, 2, BED_SAVE);
	left_ns = b->now;
	CHECK_EQ(bed_stat(b, "save_requests"), 1);
	CHECK_EQ(bed_stat(b, "slots_busy"), 0);
	b->now += 15 * US;
	CHECK_EQ(vgpu_model_run(b->m), left_ns + 50 * US);
	CHECK_EQ(bed_stat(b, "slots_busy"), 256);
	CHECK_DONE(next);
	CHECK_EQ(b->now, left_ns + 50 * US);

	/* The pause is said, once. */
	bed_hqd_dequeue(b, 1, 2, BED_SAVE);
	load_for(q, 0, 2, VMID, 120 * US);
	bed_hqd_dequeue(b, 0, 2, BED_SAVE);
	b->now = vgpu_model_run(b->m);
	CHECK(bed_hqd_active(b, 0, 2));
	CHECK_EQ(vgpu_model_run(b->m), b->now + 20 * US);
	CHECK(!bed_hqd_active(b, 0, 2));
	b->now += US;
	CHECK_EQ(vgpu_model_run(b->m), (u64)-1);
	bed_hqd_load(b, q, 0, 2, VMID);
	CHECK_DONE(w);
}

TEST(drained_queue_finishes_what_it_began)
{
	struct bed_work *w;
	struct bed_queue *q = hqd_up(&w, 400, 4, 100 * US);
	struct bed_work *next = submit_work(q, 8, 1, 1, US);

	load_for(q, 3, 7, VMID, 150 * US);
	CHECK_EQ(bed_stat(b, "slots_busy"), 256);
	bed_hqd_dequeue(b, 3, 7, BED_DRAIN);
	bed_run_for(b, 100 * US);
	CHECK(bed_hqd_active(b, 3, 7));
	CHECK_LEAVES(3, 7);
	CHECK_EQ(*w->signal, 0);
	CHECK_ONCE(w);
	CHECK_EQ(bed_stat(b, "waves_saved"), 0);
	CHECK_EQ(bed_work_lost(next), 8);		/* not begun */
	CHECK_EQ(mqd_word(q, VGPU_HQD_PQ_RPTR), 16);
	CHECK_EQ(mqd_word(q, VGPU_HQD_CNTL_STACK_OFFSET), BED_STACK_BYTES);
	/* a driver that cannot wait for the end may still ask for a save */
	bed_hqd_load(b, q, 3, 7, VMID);
	CHECK_DONE(next);
	w = submit_work(q, 16, 1, 100, 100 * US);
	bed_run_for(b, 150 * US);
	bed_hqd_dequeue(b, 3, 7, BED_DRAIN);
	bed_run_for(b, MS);
	CHECK(bed_hqd_active(b, 3, 7));
	CHECK_LEAVES_BY(3, 7, BED_SAVE);
	CHECK_EQ(bed_stat(b, "waves_saved"), 16);
	bed_hqd_load(b, q, 3, 7, VMID);
	CHECK_DONE(w);
}

TEST(reset_queue_comes_back_with_nothing)
{
	struct bed_work *w, *next;
	struct bed_queue *q = hqd_up(&w, 64, 10, 100 * US);

	load_for(q, 0, 3, VMID, 150 * US);
	CHECK_LEAVES_BY(0, 3, BED_SAVE);
	load_for(q, 0, 3, VMID, 150 * US);
	CHECK_EQ(bed_stat(b, "waves_restored"), 64);
	bed_hqd_dequeue(b, 0, 3, BED_RESET);
	CHECK(!bed_hqd_active(b, 0, 3));		/* nothing to copy */
	CHECK_EQ(bed_stat(b, "slots_busy"), 0);
	CHECK_EQ(bed_stat(b, "waves_saved"), 64);
	/* What was saved before the reset is not there any more. */
	bed_hqd_load(b, q, 0, 3, VMID);
	next = submit_work(q, 8, 1, 1, US);
	CHECK_DONE(next);
	bed_run_for(b, 10 * MS);
	CHECK_EQ(bed_stat(b, "waves_restored"), 64);
	CHECK_EQ(*w->signal, 1);
	CHECK_EQ(bed_work_twice(w), 0);
	CHECK(bed_work_lost(w) > 0);
}

TEST(pipes_and_queues_are_separate)
{
	enum { PROCESSES = 3, PIPES = 4, QUEUES = 6 };
	struct bed_queue *q[PIPES * QUEUES];
	struct bed_work *w[PIPES * QUEUES];
	struct bed_process *p[PROCESSES];
	u32 i;

	up();
	for (i = 0; i < PROCESSES; i++) {
		p[i] = bed_process(b);
		bed_vmid(b, 8 + i, p[i]);
	}
	/* as the driver allocates them: pipe by pipe */
	for (i = 0; i < PIPES * QUEUES; i++) {
		q[i] = bed_queue(b, p[i % PROCESSES]);
		w[i] = bed_work(b, p[i % PROCESSES], 1 + i % 10, 1, 10, 100 * US);
		bed_submit(b, q[i], w[i], false);
		bed_hqd_load(b, q[i], i % PIPES, 2 + i / PIPES, 8 + i % PROCESSES);
	}
	bed_run_for(b, 150 * US);
	for (i = 0; i < PIPES * QUEUES; i++)
		CHECK_EQ(bed_waves_by_register(b, q[i]->doorbell), 1 + i % 10);
	for (i = 0; i < PIPES * QUEUES; i += 2) {
		CHECK_LEAVES_BY(i % PIPES, 2 + i / PIPES, BED_SAVE);
	}
	for (i = 0; i < PIPES * QUEUES; i++) {
		CHECK_EQ(bed_hqd_active(b, i % PIPES, 2 + i / PIPES), i % 2);
		CHECK_EQ(bed_waves_by_register(b, q[i]->doorbell), i % 2 ? 1 + i % 10 : 0);
	}
	for (i = 1; i < PIPES * QUEUES; i += 2)
		CHECK_DONE(w[i]);
	/* Another slot and another VMID are as good. */
	bed_vmid(b, 8, NULL);
	bed_vmid(b, 12, p[0]);
	for (i = 0; i < PIPES * QUEUES; i += 2)
		bed_hqd_load(b, q[i], (i + 2) % PIPES, 2 + i / PIPES, i % PROCESSES ? 8 + i % PROCESSES : 12);
	for (i = 0; i < PIPES * QUEUES; i += 2)
		CHECK_DONE(w[i]);
	CHECK_EQ(bed_stat(b, "waves_saved"), bed_stat(b, "waves_restored"));
}

TEST(vmids_are_programmed_by_registers)
{
	struct bed_work *w;
	struct bed_queue *q = hqd_up(&w, 4, 1, US);
	u32 iv[VGPU_IV_DWORDS], value = 0;
	u64 mailbox = w->flag_va + 8;

	/* Status bits: of the mappings that took effect, until they are cleared one by one */
	CHECK_EQ(vgpu_model_reg_read(b->m, b->config.asic->atc_status), 0);
	vgpu_model_reg_write(b->m, b->config.asic->atc_mapping + 3, 0);
	vgpu_model_reg_write(b->m, b->config.asic->atc_mapping_mm + 15, 0);
	CHECK_EQ(vgpu_model_reg_read(b->m, b->config.asic->atc_status), 1u << 3 | 1u << 31);
	vgpu_model_reg_write(b->m, b->config.asic->atc_status, 1u << 3);
	CHECK_EQ(vgpu_model_reg_read(b->m, b->config.asic->atc_status), 1u << 31);
	/* Interrupts carry the process of IH's table */
	memcpy((u8 *)w->signal + 8, &mailbox, 8);
	bed_hqd_load(b, q, 1, 4, VMID);
	CHECK_DONE(w);
	CHECK(bed_interrupt(b, iv));
	CHECK_EQ(iv[0] >> 24 & 0xf, VMID);
	CHECK_EQ(iv[0] >> 16 & 0xff, 1 | 1 << 2 | 4 << 4);
	CHECK_EQ(iv[3] & 0xffff, q->p->pasid);
	vgpu_quiet = true;
	CHECK(!vgpu_vm_read(b->m, VGPU_AS(VGPU_HUB_GFX, VMID), 0x1000, &value, 4));
	CHECK(bed_interrupt(b, iv));
	CHECK_EQ(iv[3] & 0xffff, q->p->pasid);
	bed_vmid(b, VMID, NULL);
	CHECK(!vgpu_vm_read(b->m, VGPU_AS(VGPU_HUB_GFX, VMID), 0x2000, &value, 4));
	CHECK(bed_interrupt(b, iv));
	CHECK_EQ(iv[3] & 0xffff, 0);
}

TEST(write_pointer_is_fetched_when_asked_for)
{
	struct bed_work *w;
	struct bed_queue *q = hqd_up(&w, 4, 1, US);
	u32 i;

	/* Loaded without asking: the registers say that the ring is empty, and no doorbell rings. */
	b->doorbells[q->doorbell / 8] = ~0ULL;
	for (i = 0; i < VGPU_HQD_REGS; i++)
		bed_write_reg(b, 1, 0, 2, i, mqd_word(q, i));
	bed_write_reg(b, 1, 0, 2, VGPU_HQD_VMID, VMID);
	bed_write_reg(b, 1, 0, 2, VGPU_HQD_PQ_DOORBELL, q->doorbell | 1u << 30);
	bed_write_reg(b, 1, 0, 2, VGPU_HQD_ACTIVE, 1);
	bed_run_for(b, MS);
	CHECK_EQ(*w->signal, 1);
	CHECK_LEAVES_BY(0, 2, BED_SAVE);
	/* Two are loaded before the device looks: neither request may take back the other. */
	bed_hqd_load(b, q, 0, 2, VMID);
	bed_hqd_load(b, bed_queue(b, q->p), 0, 3, VMID);
	CHECK_DONE(w);
}

/* The caller of the model looks soon, then */
TEST(queue_registers_ask_until_they_are_looked_at)
{
	struct bed_work *w;
	struct bed_queue *q = hqd_up(&w, 4, 1, US);

	bed_write_reg(b, 1, 0, 2, VGPU_HQD_PQ_DOORBELL, q->doorbell | 1u << 30);
	bed_write_reg(b, 1, 0, 2, VGPU_HQD_DEQUEUE_REQUEST, BED_SAVE);		/* there is no queue */
	CHECK(!vgpu_model_asked(b->m));
	bed_hqd_load(b, q, 0, 2, VMID);
	CHECK(vgpu_model_asked(b->m));
	bed_run_for(b, 0);
	CHECK(!vgpu_model_asked(b->m));
	bed_write_reg(b, 1, 0, 2, VGPU_HQD_DEQUEUE_REQUEST, BED_SAVE);
	CHECK(vgpu_model_asked(b->m));
	bed_run_for(b, 0);
	CHECK(!vgpu_model_asked(b->m));
}

/* Every other life is spent on several XCCs */
static void draw_device(u32 seed)
{
	static void (*const device[])(struct vgpu_config *c) = { NULL, bed_xccs_2, short_quantum, bed_xccs_4 };

	srand(seed);
	up_as(device[seed % 4]);
}

static void random_life_by_registers(u32 seed)
{
	enum { N = 8, WORKS = 24 };
	struct bed_process *p[2];
	struct bed_queue *q[N];
	struct bed_work *w[WORKS];
	u32 i, n = 0;

	draw_device(seed);
	for (i = 0; i < 2; i++) {
		p[i] = bed_process(b);
		bed_vmid(b, 8 + i, p[i]);
	}
	for (i = 0; i < N; i++)
		q[i] = bed_queue(b, p[i % 2]);
	for (i = 0; i < WORKS; i++)
		w[i] = bed_work(b, p[i % 2], 1 + (u32)rand() % 300, 1 + (u32)rand() % 16, 1 + (u32)rand() % 6,
				1 + (u32)rand() % (300 * US));
	while (n < WORKS || rand() % 20) {
		i = (u32)rand() % N;
		b->xcc = (u32)rand() % b->config.xccs;
		switch (rand() % 4) {
		case 0:
			if (n < WORKS) {
				bed_submit(b, q[n % 2 + 2 * (i / 2)], w[n], rand() % 3 == 0);
				n++;
			}
			break;
		case 1:
			if (!bed_hqd_active(b, i % 4, 2 + i / 4)) {
				bed_hqd_load(b, q[i], i % 4, 2 + i / 4, 8 + i % 2);
				break;
			}
			bed_hqd_dequeue(b, i % 4, 2 + i / 4, rand() % 4 ? BED_SAVE : BED_DRAIN);
			if (rand() % 2)
				CHECK_LEAVES(i % 4, 2 + i / 4);
			break;
		default:
			bed_run_for(b, (u32)rand() % (400 * US));
		}
	}
	for (b->xcc = 0; b->xcc < b->config.xccs; b->xcc++)
		for (i = 0; i < N; i++) {
			bed_run_for(b, 0);
			if (bed_hqd_active(b, i % 4, 2 + i / 4)) {
				CHECK_LEAVES_BY(i % 4, 2 + i / 4, BED_SAVE);
			}
		}
	CHECK_EQ(bed_stat(b, "slots_busy"), 0);
	for (b->xcc = 0; b->xcc < b->config.xccs; b->xcc++)
		for (i = 0; i < N; i++)
			bed_hqd_load(b, q[i], i % 4, 2 + i / 4, 8 + i % 2);
	CHECK_ALL_DONE(w, WORKS);
	CHECK_EQ(bed_stat(b, "slots_busy"), 0);
	CHECK_EQ(bed_stat(b, "waves_saved"), bed_stat(b, "waves_restored"));
}

/* Two processes, three queues with work, for a moment on the device */
static void three_queues(struct bed_queue **q, struct bed_work **w)
{
	struct bed_process *p[2] = { bed_process(b), bed_process(b) };
	u32 i;

	for (i = 0; i < 3; i++) {
		q[i] = bed_queue(b, p[i / 2]);
		w[i] = bed_work(b, p[i / 2], 16, 1, 10, 100 * US);
	}
	run_all(q, w, 3);
	bed_run_for(b, 300 * US);
}

/* UNMAP_QUEUES with doorbells, and MAP_PROCESS with MAP_QUEUES in the HIQ: nothing else stands still, not for an instant. */
static void leave_and_return_by_name(void (*configure)(struct vgpu_config *c))
{
	struct bed_queue *q[3];
	struct bed_work *w[3];
	u32 xccs;

	up_as(configure);
	xccs = b->config.xccs;
	three_queues(q, w);
	CHECK(bed_unmap_named(b, &q[1], 2));
	CHECK_EQ(bed_stat(b, "cwsr_saves"), 2 * xccs);
	CHECK_EQ(bed_stat(b, "unmaps_named"), xccs);
	CHECK_EQ(bed_waves_by_register(b, q[0]->doorbell), 16);
	CHECK_EQ(bed_waves_by_register(b, q[1]->doorbell), 0);
	CHECK_EQ(bed_waves_by_register(b, q[2]->doorbell), 0);
	/* for longer than a quantum */
	CHECK_DONE(w[0]);
	bed_run_for(b, 30 * MS);
	CHECK(*w[1]->signal == 1 && *w[2]->signal == 1);
	w[0] = submit_work(q[0], 16, 1, 10, 100 * US);
	bed_run_for(b, 300 * US);
	CHECK(bed_map_named(b, &q[1], 2));
	CHECK_EQ(bed_stat(b, "cwsr_saves"), 2 * xccs);
	CHECK_EQ(bed_stat(b, "maps_named"), 2 * xccs);
	CHECK_EQ(bed_waves_by_register(b, q[0]->doorbell), 16);
	CHECK_ALL_DONE(w, 3);
	/* what is on the device, however it came there, a runlist takes off */
	w[2] = submit_work(q[2], 16, 1, 10, 100 * US);
	bed_run_for(b, 300 * US);
	CHECK(bed_unmap(b, false));
	CHECK_EQ(bed_waves_by_register(b, q[2]->doorbell), 0);
	CHECK(bed_runlist(b, q, 3));
	CHECK_DONE(w[2]);
	CHECK_EQ(bed_stat(b, "waves_saved"), bed_stat(b, "waves_restored"));
}

TEST(unmap_and_map_by_name)
{
	leave_and_return_by_name(NULL);
	leave_and_return_by_name(bed_gfx942);
	leave_and_return_by_name(bed_xccs_2);
}

TEST(a_queue_is_mapped_by_name_only_into_a_list_that_ends)
{
	enum { N = 12 };
	struct bed_queue *q[N];
	u32 i;

	up();
	bed_hiq(b, (u32[]) { PM4(0xa0, 8), 0x18 | 1u << 29, 0x14, 0, 0, 0, 0, 0 }, 8);
	for (i = 0; i < N; i++)
		q[i] = bed_queue(b, bed_process(b));
	CHECK(bed_runlist(b, q, N));
	vgpu_quiet = true;
	CHECK(!bed_map_named(b, q, 1));
	CHECK(bed_stat(b, "bad_packets") > 0);
}

/* ---- anything, at any time ---- */

static void random_life(u32 seed)
{
	enum { N = 6, WORKS = 24 };
	struct bed_queue *q[N], *some[N];
	struct bed_work *w[WORKS];
	struct bed_process *p[3];
	u32 i, n = 0, count, wg;
	bool submitted[WORKS] = { 0 }, listed[3] = { 0 }, roomy;

	draw_device(seed);
	roomy = rand() % 2;
	if (!roomy)			/* two VMIDs, so that processes rotate */
		bed_hiq(b, (u32[]) { PM4(0xa0, 8), 0x18 | 1u << 29, 0x14, 0, 0, 0, 0, 0 }, 8);
	for (i = 0; i < 3; i++)
		p[i] = bed_process(b);
	for (i = 0; i < N; i++)
		q[i] = bed_queue(b, p[i % 3]);
	for (i = 0; i < WORKS; i++) {
		wg = 1 + (u32)rand() % 16;
		w[i] = bed_work(b, p[i % 3], 1 + (u32)rand() % 300, wg, 1 + (u32)rand() % 6, 1 + (u32)rand() % (300 * US));
	}
	while (n < WORKS || rand() % 20) {
		switch (rand() % 7) {
		case 0:
			if (n < WORKS) {
				i = n % 3 + 3 * ((u32)rand() % 2);
				bed_submit(b, q[i], w[n], rand() % 3 == 0);
				submitted[n++] = true;
			}
			break;
		case 1:
			CHECK(bed_unmap(b, false));
			break;
		case 2:
			CHECK(bed_unmap_pasid(b, p[rand() % 3]->pasid));
			break;
		case 4:
			/* Nothing is added to a list that goes round, nor a process for which it has no place. */
			i = (u32)rand() % N;
			if (rand() % 2)
				CHECK(bed_unmap_named(b, q + i, 1 + (u32)rand() % (N - i < 4 ? N - i : 4)));
			else if (roomy && listed[i % 3])
				CHECK(bed_map_named(b, q + i, 1));
			break;
		case 3:
			memset(listed, 0, sizeof(listed));
			for (i = count = 0; i < N; i++)
				if (rand() % 2) {
					listed[i % 3] = true;
					some[count++] = q[i];
				}
			CHECK_REMAP(some, count);
			break;
		default:
			bed_run_for(b, (u32)rand() % (400 * US));
		}
	}
	CHECK(bed_unmap(b, false));
	CHECK_EQ(bed_stat(b, "slots_busy"), 0);
	CHECK(bed_runlist(b, q, N));
	for (i = 0; i < WORKS; i++)
		if (submitted[i])
			CHECK_DONE(w[i]);
	CHECK_EQ(bed_stat(b, "slots_busy"), 0);
	CHECK_EQ(bed_stat(b, "waves_saved"), bed_stat(b, "waves_restored"));
}

static u32 number(const char *variable, u32 otherwise)
{
	const char *text = getenv(variable);

	return text && *text ? (u32)atoi(text) : otherwise;
}

void draw_lots(void (*life)(u32 seed))
{
	u32 seed = number("SEED", 1), count = number("COUNT", 60);

	for (; count; count--, seed++) {
		snprintf(context, sizeof(context), "SEED=%u ", seed);
		life(seed);
	}
}

TEST(random_lives)
{
	draw_lots(random_life);
}

TEST(random_lives_by_registers)
{
	draw_lots(random_life_by_registers);
}

static bool wanted(const char *name, int argc, char **argv)
{
	int a;

	for (a = 1; a < argc; a++)
		if (!strcmp(argv[a], name))
			return true;
	return argc < 2;
}

int main(int argc, char **argv)
{
	static struct model_test *t;
	static u32 n, failed;		/* kept across longjmp() */

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (t = first; t; t = t->next)
		n += wanted(t->name, argc, argv);
	printf("1..%u\n", n);
	n = 0;
	for (t = first; t; t = t->next) {
		if (!wanted(t->name, argc, argv))
			continue;
		vgpu_quiet = false;
		why[0] = 0;
		context[0] = 0;
		n++;
		if (!setjmp(give_up)) {
			t->run();
			check_health();
			printf("ok %u %s\n", n, t->name);
		} else {
			printf("not ok %u %s\n# %s\n", n, t->name, why);
			failed++;
		}
		if (b)
			bed_free(b);
		b = NULL;
	}
	return failed ? 1 : 0;
}
