// SPDX-License-Identifier: MIT
/*
 * packet_test.c - packets of user queues: AQL, PM4 and SDMA, good ones and bad ones, and what a
 * preemption does to them
 */
#include "model_test.h"

#define LO(v)			((u32)(v))
#define HI(v)			((u32)((u64)(v) >> 32))
#define RING_DWORDS		(BED_RING_PACKETS * 16)
#define SRC_EOP			181
#define SRC_BAD_OPCODE		183
#define QUEUE_RPTR		128		/* in amd_queue_t */

/* Some memory of a process */
struct page {
	u64 va;
	u32 *words;
	u64 *longs;
};

static struct page page_of(struct bed_process *p, u64 bytes)
{
	struct page page;
	void *cpu;

	page.va = bed_alloc(b, p, bytes, &cpu);
	page.words = cpu;
	page.longs = cpu;
	return page;
}

/* Interrupts of source @source since the last call; the last one in @iv */
static u32 interrupts(u32 source, u32 *iv)
{
	u32 entry[VGPU_IV_DWORDS], n = 0;

	while (bed_interrupt(b, entry)) {
		if ((entry[0] >> 8 & 0xff) != source)
			continue;
		memcpy(iv, entry, sizeof(entry));
		n++;
	}
	return n;
}

/* ---- PM4 queues ---- */

static struct bed_queue *pm4_queue(struct bed_process *p)
{
	struct bed_queue *q = bed_queue(b, p);
	u32 xcc;

	for (xcc = 0; xcc < b->config.xccs; xcc++)
		bed_part(b, q, xcc)[0x80 + VGPU_HQD_AQL_CONTROL] = 0;
	return q;
}

/* A ring of dwords (PM4) or bytes (SDMA), whose write pointer never wraps */
static void push(struct bed_queue *q, const u32 *dwords, u32 count, bool ring)
{
	u32 unit = q->sdma ? 4 : 1, i;

	for (i = 0; i < count; i++, *q->write_index += unit)
		((u32 *)q->ring)[*q->write_index / unit % RING_DWORDS] = dwords[i];
	if (ring)
		b->doorbells[q->doorbell / 8] = *q->write_index;
}

#define PUSH(q, ...)	do { u32 d_[] = { __VA_ARGS__ }; push((q), d_, sizeof(d_) / 4, true); } while (0)

/* A stream of packets in memory */
struct buffer {
	u32 words[256];
	u32 used;
};

static void put(struct buffer *s, const u32 *dwords, u32 count)
{
	memcpy(s->words + s->used, dwords, count * 4);
	s->used += count;
}

#define PUT(s, ...)	do { u32 d_[] = { __VA_ARGS__ }; put((s), d_, sizeof(d_) / 4); } while (0)

static void put_write(struct buffer *s, u64 va, u32 value)
{
	PUT(s, PM4(0x37, 5), 5 << 8, LO(va), HI(va), value);
}

static void put_add(struct buffer *s, u64 va)
{
	PUT(s, PM4(0x1e, 9), 47, LO(va), HI(va), 1, 0, 0, 0, 0);
}

static void put_wait(struct buffer *s, u64 va, u32 value)
{
	PUT(s, PM4(0x3c, 7), 3 | 1 << 4, LO(va), HI(va), value, ~0u, 4);
}

static void put_ib(struct buffer *s, u64 va, u32 dwords, bool chain)
{
	PUT(s, PM4(0x3f, 4), LO(va), HI(va), dwords | (chain ? 1u << 20 : 0));
}

/* The registers of a dispatch, and the dispatch */
static void put_dispatch(struct buffer *s, const struct bed_work *w)
{
	PUT(s, PM4(0x76, 5), 0x207, w->wg_waves * 64, 1, 1,
	    PM4(0x76, 4), 0x20c, LO(w->kernel_va >> 8), HI(w->kernel_va >> 8),
	    PM4(0x76, 4), 0x240, LO(w->args_va), HI(w->args_va),
	    PM4(0x15, 5), w->waves / w->wg_waves, 1, 1, 1);
}

/* At the end of the pipe, 0 into a signal's value; an interrupt with @event if that is not 0 */
static void put_done(struct buffer *s, const struct bed_work *w, u32 event)
{
	u64 va = w->signal_va + 8;

	PUT(s, PM4(0x49, 8), 0, 2u << 29 | (event ? 2 << 24 : 0), LO(va), HI(va), 0, 0, event);
}

static u64 place(struct bed_process *p, const struct buffer *s)
{
	struct page page = page_of(p, 4096);

	memcpy(page.words, s->words, s->used * 4);
	return page.va;
}

static void submit_stream(struct bed_queue *q, const struct buffer *s)
{
	push(q, s->words, s->used, true);
}

/* And it has time to be read */
static void run_stream(struct bed_queue *q, const struct buffer *s)
{
	submit_stream(q, s);
	bed_run_for(b, 100 * US);
}

TEST(pm4_dispatch_runs_once)
{
	struct buffer s = { 0 };
	u32 iv[8];
	struct bed_queue *q = pm4_queue(up_process());
	struct bed_work *w = bed_work(b, q->p, 12, 3, 5, 10 * US);

	CHECK(bed_runlist(b, &q, 1));
	interrupts(0, iv);
	put_dispatch(&s, w);
	put_done(&s, w, 0x77);
	submit_stream(q, &s);
	bed_run_for(b, 25 * US);
	CHECK_EQ(bed_stat(b, "slots_busy"), 12);
	CHECK_EQ(bed_waves_by_register(b, q->doorbell), 12);
	/* the dispatch is behind it, the end of the pipe is not */
	CHECK_EQ(*(u32 *)q->read_index, s.used - 8);
	CHECK_EQ(*w->signal, 1);
	CHECK_DONE(w);
	CHECK_EQ(*(u32 *)q->read_index, s.used);
	CHECK_EQ(interrupts(SRC_EOP, iv), 1);
	CHECK_EQ(iv[3], q->p->pasid);
	CHECK_EQ(iv[4], 0x77);
	CHECK_EQ(bed_stat(b, "dispatches_done"), 1);
}

/* The grid may be given in work-items; the last workgroup of a line is smaller then. */
TEST(pm4_grid_in_work_items)
{
	struct buffer s = { 0 };
	struct bed_queue *q = pm4_queue(up_process());
	struct bed_work *w = bed_work(b, q->p, 5, 2, 1, US);

	CHECK(bed_runlist(b, &q, 1));
	put_dispatch(&s, w);
	s.used -= 5;
	PUT(&s, PM4(0x15, 5), 5 * 64, 1, 1, 1 | 1 << 5);
	/* neither a grid without workgroups nor one whose shader is off launches anything */
	PUT(&s, PM4(0x15, 5), 0, 1, 1, 1, PM4(0x15, 5), 1, 1, 1, 0);
	put_done(&s, w, 0);
	submit_stream(q, &s);
	CHECK_DONE(w);
	CHECK_EQ(bed_stat(b, "waves_done"), 5);
}

TEST(pm4_flush_waits_for_waves)
{
	struct buffer s = { 0 };
	struct bed_queue *q = pm4_queue(up_process());
	struct bed_work *w = bed_work(b, q->p, 4, 1, 2, 50 * US);
	struct page m = page_of(q->p, 4096);

	CHECK(bed_runlist(b, &q, 1));
	put_dispatch(&s, w);
	put_write(&s, m.va, 1);				/* does not wait */
	PUT(&s, PM4(0x46, 2), 7 | 4 << 8);		/* CS_PARTIAL_FLUSH */
	put_write(&s, m.va + 4, 1);
	submit_stream(q, &s);
	bed_run_for(b, 60 * US);
	CHECK_EQ(m.words[0], 1);
	CHECK_EQ(m.words[1], 0);
	CHECK_EQ(bed_work_lost(w), 4);
	bed_run_for(b, 100 * US);
	CHECK_EQ(m.words[1], 1);
	CHECK_ONCE(w);
}

TEST(pm4_buffers_nest_and_chain)
{
	struct buffer inner = { 0 }, middle = { 0 }, end = { 0 }, ring = { 0 };
	struct bed_queue *q = pm4_queue(up_process());
	struct page m = page_of(q->p, 4096);

	CHECK(bed_runlist(b, &q, 1));
	put_add(&inner, m.va);
	put_write(&inner, m.va + 8, 1);
	put_write(&end, m.va + 16, 1);
	/* ring: buffer (write, buffer (add, write), wait, add, chained: write), write */
	put_write(&middle, m.va + 24, 1);
	put_ib(&middle, place(q->p, &inner), inner.used, false);
	put_wait(&middle, m.va + 32, 5);
	put_add(&middle, m.va);
	put_ib(&middle, place(q->p, &end), end.used, true);
	put_write(&middle, m.va + 40, 1);		/* a chain does not come back */
	put_ib(&ring, place(q->p, &middle), middle.used, false);
	put_write(&ring, m.va + 48, 1);
	run_stream(q, &ring);
	CHECK_EQ(m.longs[0], 1);
	CHECK_EQ(m.words[2], 1);
	CHECK_EQ(m.words[4], 0);
	CHECK_EQ(m.words[6], 1);
	CHECK_EQ(*(u32 *)q->read_index, 0);		/* its buffer has not ended */
	m.words[8] = 5;
	bed_run_for(b, 100 * US);
	CHECK_EQ(m.longs[0], 2);
	CHECK_EQ(m.words[4], 1);
	CHECK_EQ(m.words[10], 0);
	CHECK_EQ(m.words[12], 1);
	CHECK_EQ(*(u32 *)q->read_index, ring.used);
	CHECK_EQ(bed_stat(b, "bad_packets"), 0);
	/* a third level is one too many */
	vgpu_quiet = true;
	memset(&ring, 0, sizeof(ring));
	memset(&middle, 0, sizeof(middle));
	memset(&inner, 0, sizeof(inner));
	put_ib(&inner, place(q->p, &end), end.used, false);
	put_ib(&middle, place(q->p, &inner), inner.used, false);
	put_ib(&ring, place(q->p, &middle), middle.used, false);
	m.words[4] = 0;
	run_stream(q, &ring);
	CHECK_EQ(m.words[4], 0);
	CHECK_EQ(bed_stat(b, "bad_packets"), 1);
	/* a chain that bites its tail keeps no other queue from running */
	q = pm4_queue(q->p);
	CHECK(bed_runlist(b, &q, 1));
	memset(&end, 0, sizeof(end));
	memset(&ring, 0, sizeof(ring));
	m = page_of(q->p, 4096);
	put_add(&end, m.va);
	put_ib(&end, m.va + 256, end.used + 4, true);
	memcpy(m.words + 64, end.words, end.used * 4);
	put_ib(&ring, m.va + 256, end.used, false);
	run_stream(q, &ring);
	CHECK(m.longs[0] > 1 && m.longs[0] < 1000);
	CHECK(bed_unmap(b, false));
}

TEST(pm4_atomics_and_conditions)
{
	struct buffer s = { 0 };
	struct bed_queue *q = pm4_queue(up_process());
	struct page m = page_of(q->p, 4096);

	CHECK(bed_runlist(b, &q, 1));
	m.longs[0] = 0xffffffffULL;
	m.words[2] = 7;
	m.words[4] = 0xf0;
	m.longs[3] = 9;
	put_add(&s, m.va);
	PUT(&s, PM4(0x1e, 9), 15, LO(m.va + 8), HI(m.va), 3, 0, 0, 0, 0);		/* 32 bits: add, or, subtract */
	PUT(&s, PM4(0x1e, 9), 0x16, LO(m.va + 16), HI(m.va), 0x0f, 0, 0, 0, 0);
	PUT(&s, PM4(0x1e, 9), 0x50, LO(m.va + 12), HI(m.va), 1, 0, 0, 0, 0);
	PUT(&s, PM4(0x1e, 9), 0x28 | 1 << 8, LO(m.va + 24), HI(m.va), 11, 0, 10, 0, 0);	/* waits for 10, stores 11 */
	PUT(&s, PM4(0x22, 5), LO(m.va + 32), HI(m.va), 0, 5);				/* skips the write if that is 0 */
	put_write(&s, m.va + 40, 1);
	put_write(&s, m.va + 44, 1);
	run_stream(q, &s);
	CHECK(m.longs[0] == 0x100000000ULL);
	CHECK_EQ(m.words[2], 10);
	CHECK_EQ(m.words[3], 0xffffffff);
	CHECK_EQ(m.words[4], 0xff);
	CHECK_EQ(m.longs[3], 9);
	m.longs[3] = 10;
	bed_run_for(b, 100 * US);
	CHECK_EQ(m.longs[3], 11);
	CHECK_EQ(m.words[10], 0);
	CHECK_EQ(m.words[11], 1);
	m.words[8] = 1;
	s.used = 0;
	PUT(&s, PM4(0x22, 5), LO(m.va + 32), HI(m.va), 0, 5);
	put_write(&s, m.va + 40, 1);
	run_stream(q, &s);
	CHECK_EQ(m.words[10], 1);
}

/* Registers are the kernel's, but for those of the process's own dispatches; a foreign mask of compute units is not. */
TEST(pm4_registers_of_a_process)
{
	struct bed_queue *q = pm4_queue(up_process());
	u32 vmid = q->mqd_words[1 + 0x14] = 0x12345;

	CHECK(bed_runlist(b, &q, 1));
	vgpu_model_reg_write(b->m, VGPU_SCRATCH_REG0, 1);
	PUSH(q, PM4(0x79, 3), VGPU_SCRATCH_REG0 - 0xc000, 2, PM4(0x76, 3), 0x214, 0, PM4(0x76, 3), 0x212, 3);
	unmap_after(10 * US);
	CHECK_EQ(vgpu_model_reg_read(b->m, VGPU_SCRATCH_REG0), 1);
	CHECK_EQ(q->mqd_words[1 + 0x14], vmid);
	CHECK_EQ(q->mqd_words[1 + 0x12], 3);
}

/* ---- AQL packets ---- */

struct aql {
	u8 bytes[64];
};

#define PACKET(...)	((const struct aql_fields) { __VA_ARGS__ })

/* The fields of packets that tests give; which of them a packet has depends on its type */
struct aql_fields {
	u16 header, second;
	u16 workgroup[3];
	u32 grid[3];
	u32 lds;
	u64 kernel, args;
	u64 dep[5];
	s64 value;
	u64 mask;
	u32 condition;
	u64 completion;
};

static struct aql aql_packet(const struct aql_fields *f)
{
	struct aql a = { { 0 } };

	memcpy(a.bytes, &f->header, 2);
	memcpy(a.bytes + 2, &f->second, 2);
	switch (f->header & 0xff) {
	case 0:
		memcpy(a.bytes + 8, f->dep, 8);
		memcpy(a.bytes + 16, &f->value, 8);
		memcpy(a.bytes + 24, &f->mask, 8);
		memcpy(a.bytes + 32, &f->condition, 4);
		break;
	case 2:
		memcpy(a.bytes + 4, f->workgroup, 6);
		memcpy(a.bytes + 12, f->grid, 12);
		memcpy(a.bytes + 28, &f->lds, 4);
		memcpy(a.bytes + 32, &f->kernel, 8);
		memcpy(a.bytes + 40, &f->args, 8);
		break;
	default:
		memcpy(a.bytes + 8, f->dep, 40);
	}
	memcpy(a.bytes + 56, &f->completion, 8);
	return a;
}

static void submit_packet(struct bed_queue *q, struct aql_fields fields)
{
	struct aql a = aql_packet(&fields);

	bed_submit_raw(b, q, a.bytes, true);
}

/* A vendor packet with an indirect buffer */
static void submit_ib(struct bed_queue *q, u64 va, u32 dwords, u64 completion, u16 header)
{
	struct aql_fields fields = { .header = header, .second = 1, .completion = completion };
	struct aql a = aql_packet(&fields);
	u32 command[4] = { PM4(0x3f, 4), LO(va), HI(va), dwords | 1 << 23 };

	memcpy(a.bytes + 4, command, sizeof(command));
	bed_submit_raw(b, q, a.bytes, true);
}

TEST(barrier_value_conditions)
{
	static const struct {
		s64 value, later;	/* the condition holds then; it holds at once if they are the same */
		u64 mask;
		u32 condition;
		s64 reference;
	} cases[] = {
		{ 5, 5, ~0ULL, 0, 5 }, { 5, 4, ~0ULL, 0, 4 }, { 0x15, 0x15, 0xf, 0, 5 }, { 0x14, 0x75, 0xf, 0, 5 },
		{ 5, 5, ~0ULL, 1, 4 }, { 5, 6, ~0ULL, 1, 5 },
		{ 4, 4, ~0ULL, 2, 5 }, { 5, 4, ~0ULL, 2, 5 }, { -1, -1, ~0ULL, 2, 0 }, { -1, 0x100, 0xff, 2, 1 },
		{ 5, 5, ~0ULL, 3, 5 }, { 4, 6, ~0ULL, 3, 5 }, { -1, 0, ~0ULL, 3, 0 },
	};
	struct bed_process *p;
	struct bed_queue *q;
	struct bed_work *gate, *done;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		p = up_process();
		q = bed_queue(b, p);
		gate = bed_work(b, p, 1, 1, 1, US);
		done = bed_work(b, p, 1, 1, 1, US);
		CHECK(bed_runlist(b, &q, 1));
		*gate->signal = cases[i].value;
		submit_packet(q, PACKET(.second = 2, .dep = { gate->signal_va }, .value = cases[i].reference,
					.mask = cases[i].mask, .condition = cases[i].condition,
					.completion = done->signal_va));
		bed_run_for(b, 100 * US);
		CHECK_EQ(*done->signal, cases[i].value != cases[i].later);
		*gate->signal = cases[i].later;
		bed_run_for(b, 100 * US);
		CHECK_EQ(*done->signal, 0);
		CHECK_EQ(*q->read_index, 1);
		CHECK_EQ(bed_stat(b, "bad_packets"), 0);
	}
	/* no signal: satisfied */
	*done->signal = 1;
	submit_packet(q, PACKET(.second = 2, .condition = 0, .value = 1, .completion = done->signal_va));
	bed_run_for(b, 100 * US);
	CHECK_EQ(*done->signal, 0);
}

/* A queue waits for another one of its process, and for one of another process, by signals. */
TEST(signals_order_queues)
{
	struct bed_queue *q[3];
	struct bed_work *w[3];
	u64 shared, i, phys;
	struct bed_process *p = up_process(), *other = bed_process(b);

	q[0] = bed_queue(b, p);
	q[1] = bed_queue(b, p);
	q[2] = bed_queue(b, other);
	for (i = 0; i < 2; i++)
		w[i] = bed_work(b, p, 4, 1, 3, 30 * US);
	w[2] = bed_work(b, other, 4, 1, 3, 30 * US);
	/* the page with the signal of the second's work, also in the other process */
	shared = 0x10000000;
	phys = BED_SYSTEM_BASE + (u64)((u8 *)w[1]->signal - b->system) / VGPU_PAGE * VGPU_PAGE;
	bed_map(b, other, shared, phys, PTE_V | PTE_S | PTE_RW);
	CHECK(bed_runlist(b, q, 3));
	/* the last first: each waits for the one before it */
	submit_packet(q[2], PACKET(.header = 3, .dep = { 0, 0, 0, 0, shared + w[1]->signal_va % VGPU_PAGE }));
	bed_submit(b, q[2], w[2], true);
	submit_packet(q[1], PACKET(.header = 3, .dep = { w[0]->signal_va }));
	bed_submit(b, q[1], w[1], true);
	bed_run_for(b, 500 * US);
	CHECK_EQ(bed_stat(b, "waves_launched"), 0);
	bed_submit(b, q[0], w[0], false);
	bed_run_for(b, 50 * US);
	CHECK_EQ(bed_stat(b, "waves_launched"), 4);
	CHECK_DONE(w[0]);
	CHECK_EQ(*w[1]->signal, 1);
	CHECK_DONE(w[1]);
	CHECK_EQ(*w[2]->signal, 1);
	CHECK_DONE(w[2]);
}

/* The end of a buffer's packet is behind the waves that the buffer started. */
TEST(aql_buffer_dispatches)
{
	struct buffer s = { 0 };
	struct page m;
	struct bed_queue *q = queue_up();
	struct bed_work *done, *w = bed_work(b, q->p, 6, 2, 3, 50 * US), *before = bed_work(b, q->p, 1, 1, 1, MS);

	done = bed_work(b, q->p, 1, 1, 1, US);
	m = page_of(q->p, 4096);
	CHECK(bed_runlist(b, &q, 1));
	put_dispatch(&s, w);
	put_write(&s, m.va, 1);
	/* without the barrier bit it does not wait for what was before it, at either end */
	bed_submit(b, q, before, false);
	submit_ib(q, place(q->p, &s), s.used, done->signal_va, 0);
	bed_run_for(b, 60 * US);
	CHECK_EQ(m.words[0], 1);
	CHECK_EQ(*done->signal, 1);
	CHECK_EQ(*q->read_index, 1);
	bed_run_for(b, 200 * US);
	CHECK_EQ(*done->signal, 0);
	CHECK_EQ(*q->read_index, 2);
	CHECK_EQ(*before->signal, 1);
	CHECK_ONCE(w);
	/* with it, it waits at its beginning and not for itself */
	memset(w->counters, 0, w->waves * w->steps * 4);
	*done->signal = 1;
	m.words[0] = 0;
	submit_ib(q, place(q->p, &s), s.used, done->signal_va, 0x100);
	bed_run_for(b, 100 * US);
	CHECK_EQ(m.words[0], 0);
	CHECK_DONE(before);
	bed_run_for(b, 60 * US);
	CHECK_EQ(m.words[0], 1);
	CHECK_EQ(*done->signal, 1);
	CHECK(bed_run_until(b, bed_work_done, done, MS));
	CHECK_ONCE(w);
}

/* ---- bad packets ---- */

enum inactive { DIM = 2, GROUP_SEGMENT = 4, CODE = 8, FORMAT = 32, WORK_GROUP = 64, REGISTERS = 128, VENDOR = 256 };

static void lots_of_vgprs(const struct bed_work *w)
{
	struct vgpu_kernel *k = (void *)((u8 *)w->flag - (w->flag_va - w->kernel_va));

	k->vgprs = 512;
}

TEST(bad_aql_packets_are_reported)
{
	static const struct {
		struct aql_fields f;
		enum vgpu_exception code;
		u32 inactive;
		bool kernel, registers;
	} cases[] = {
		{ PACKET(.header = 2, .second = 0, .workgroup = { 64, 1, 1 }, .grid = { 64, 1, 1 }), VGPU_EC_DISPATCH_DIM, DIM, true, false },
		{ PACKET(.header = 2, .second = 1, .workgroup = { 64, 1, 1 }, .grid = { 64, 0, 1 }), VGPU_EC_DISPATCH_DIM, DIM, true, false },
		{ PACKET(.header = 2, .second = 3, .workgroup = { 1, 1, 1 }, .grid = { ~0u, ~0u, ~0u }), VGPU_EC_DISPATCH_DIM, DIM, true, false },
		{ PACKET(.header = 2, .second = 1, .workgroup = { 0, 1, 1 }, .grid = { 64, 1, 1 }), VGPU_EC_DISPATCH_WORK_GROUP, WORK_GROUP,
		  true, false },
		{ PACKET(.header = 2, .second = 3, .workgroup = { 64, 64, 64 }, .grid = { 64, 64, 64 }), VGPU_EC_DISPATCH_WORK_GROUP,
		  WORK_GROUP, true, false },
		{ PACKET(.header = 2, .second = 1, .workgroup = { 64, 1, 1 }, .grid = { 64, 1, 1 }, .lds = 65537),
		  VGPU_EC_DISPATCH_GROUP_SEGMENT, GROUP_SEGMENT, true, false },
		{ PACKET(.header = 2, .second = 1, .workgroup = { 1024, 1, 1 }, .grid = { 1024, 1, 1 }), VGPU_EC_DISPATCH_REGISTER, REGISTERS,
		  true, true },
		{ PACKET(.header = 2, .second = 1, .workgroup = { 64, 1, 1 }, .grid = { 64, 1, 1 }), VGPU_EC_DISPATCH_CODE, CODE, false, false },
		{ PACKET(.header = 4), VGPU_EC_PACKET_UNSUPPORTED, FORMAT, false, false },
		{ PACKET(.header = 6), VGPU_EC_PACKET_RESERVED, FORMAT, false, false },
		{ PACKET(.header = 0xff), VGPU_EC_PACKET_RESERVED, FORMAT, false, false },
		{ PACKET(.header = 0, .second = 3), VGPU_EC_VENDOR_UNSUPPORTED, VENDOR, false, false },
		{ PACKET(.header = 0, .second = 1), VGPU_EC_VENDOR_UNSUPPORTED, VENDOR, false, false },
		{ PACKET(.header = 0, .second = 2, .dep = { 1 }, .condition = 4), VGPU_EC_VENDOR_UNSUPPORTED, VENDOR, true, false },
	};
	struct bed_process *p;
	struct bed_queue *q[2];
	struct bed_work *running, *behind, *other, *error;
	struct aql_fields f;
	struct page m;
	u8 *queue_memory;
	u32 i, iv[8];

	vgpu_quiet = true;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		p = up_process();
		q[0] = bed_queue(b, p);
		q[1] = bed_queue(b, p);
		running = bed_work(b, p, 4, 1, 20, 50 * US);
		behind = bed_work(b, p, 1, 1, 1, US);
		other = bed_work(b, p, 8, 1, 10, 100 * US);
		error = bed_work(b, p, 1, 1, 1, US);
		m = page_of(p, 4096);
		/* what the runtime writes into amd_queue_t to be told */
		queue_memory = (u8 *)q[0]->read_index - QUEUE_RPTR;
		*(u32 *)(queue_memory + 136) = QUEUE_RPTR;
		*(u64 *)(queue_memory + 192) = error->signal_va;
		*error->signal = 0;
		error->signal[1] = (s64)m.va;		/* mailbox */
		error->signal[2] = 0x99;		/* event */
		CHECK(bed_runlist(b, q, 2));
		bed_submit(b, q[0], running, false);
		bed_submit(b, q[1], other, false);
		bed_run_for(b, 60 * US);
		interrupts(0, iv);

		f = cases[i].f;
		f.kernel = cases[i].kernel ? running->kernel_va : running->args_va;
		if (f.dep[0])
			f.dep[0] = error->signal_va;
		if (cases[i].registers)
			lots_of_vgprs(running);
		submit_packet(q[0], f);
		bed_submit(b, q[0], behind, false);
		bed_run_for(b, 30 * US);
		CHECK_EQ(bed_stat(b, "bad_packets"), 1);
		CHECK_EQ(*error->signal, cases[i].inactive);
		CHECK_EQ(m.longs[0], 0x99);
		CHECK_EQ(interrupts(SRC_BAD_OPCODE, iv), 1);
		CHECK_EQ(iv[0] & 0xff, VGPU_CLIENT_GRBM_CP);
		CHECK_EQ(iv[3], p->pasid);
		CHECK_EQ(iv[4], (u32)cases[i].code << 10 | q[0]->doorbell % 8192 / 8);
		/* no other queue notices; it is no less stopped when it is mapped again, and not reported twice */
		CHECK_REMAP(q, 2);
		CHECK_DONE(other);
		CHECK_DONE(running);			/* what was in flight before */
		bed_run_for(b, MS);
		CHECK_EQ(bed_stat(b, "bad_packets"), 1);
		CHECK_EQ(interrupts(SRC_BAD_OPCODE, iv), 0);
		CHECK_EQ(*behind->signal, 1);
		CHECK_EQ(*q[0]->read_index, 1);
	}
}

TEST(bad_pm4_packets_are_reported)
{
	static const struct {
		u32 dwords[8];
		u32 count;
		enum vgpu_exception code;
	} cases[] = {
		{ { 0x40000000 }, 1, VGPU_EC_PACKET_RESERVED },			/* no packet of type 3 */
		{ { PM4(0xff, 2), 0 }, 2, VGPU_EC_PACKET_UNSUPPORTED },		/* no such opcode */
		{ { PM4(0x37, 4), 0, 0, 0 }, 4, VGPU_EC_PACKET_UNSUPPORTED },	/* too short */
		{ { PM4(0xa5, 4), 0, 0, 0 }, 4, VGPU_EC_PACKET_UNSUPPORTED },	/* the scheduler's */
		{ { PM4(0xa3, 6), 0, 0, 0, 0, 0 }, 6, VGPU_EC_PACKET_UNSUPPORTED },
		{ { PM4(0x1e, 9), 0 }, 9, VGPU_EC_PACKET_UNSUPPORTED },		/* no such atomic */
		{ { PM4(0x3f, 4), 0, 0, 1u << 20 }, 4, VGPU_EC_PACKET_UNSUPPORTED },	/* a chain without a first buffer */
		{ { PM4(0x15, 5), 1, 1, 1, 1 }, 5, VGPU_EC_DISPATCH_WORK_GROUP },	/* no register says how large they are */
		{ { PM4(0x16, 5), 0, 0, 1, 0 }, 5, VGPU_EC_PACKET_UNSUPPORTED },	/* that of a graphics ring */
	};
	struct bed_process *p;
	struct bed_queue *q[2];
	struct bed_work *other;
	struct buffer s;
	struct page m;
	u32 i, in_buffer, iv[8], dwords[9];

	vgpu_quiet = true;
	for (i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		in_buffer = i & 1;
		if (in_buffer && cases[i / 2].dwords[3] == 1u << 20)
			continue;
		p = up_process();
		q[0] = pm4_queue(p);
		q[1] = pm4_queue(p);
		m = page_of(p, 4096);
		other = bed_work(b, p, 8, 1, 10, 100 * US);
		CHECK(bed_runlist(b, q, 2));
		memset(&s, 0, sizeof(s));
		put_dispatch(&s, other);
		put_done(&s, other, 0);
		submit_stream(q[1], &s);
		bed_run_for(b, 60 * US);
		interrupts(0, iv);

		memset(&s, 0, sizeof(s));
		put_write(&s, m.va, 1);
		memset(dwords, 0, sizeof(dwords));
		memcpy(dwords, cases[i / 2].dwords, sizeof(cases[0].dwords));
		put(&s, dwords, cases[i / 2].count);
		put_write(&s, m.va + 4, 1);
		if (in_buffer)
			PUSH(q[0], PM4(0x3f, 4), LO(place(p, &s)), HI(m.va), s.used);
		else
			submit_stream(q[0], &s);
		bed_run_for(b, 30 * US);
		CHECK_EQ(m.words[0], 1);
		CHECK_EQ(m.words[1], 0);
		CHECK_EQ(bed_stat(b, "bad_packets"), 1);
		CHECK_EQ(interrupts(SRC_BAD_OPCODE, iv), 1);
		CHECK_EQ(iv[4], (u32)cases[i / 2].code << 10 | q[0]->doorbell % 8192 / 8);
		m.words[0] = 0;
		CHECK_REMAP(q, 2);
		CHECK_DONE(other);
		bed_run_for(b, MS);
		CHECK_EQ(m.words[0] + m.words[1], 0);
		CHECK_EQ(bed_stat(b, "bad_packets"), 1);
	}
}

/* A kernel's queue has no process to tell: counted, and no exception of a process. */
TEST(bad_packets_of_the_kernel)
{
	u32 iv[8];

	up();
	vgpu_quiet = true;
	bed_kiq(b, (u32[]) { PM4(0xff, 2), 0 }, 2);
	CHECK_EQ(bed_stat(b, "bad_packets"), 1);
	CHECK_EQ(interrupts(SRC_BAD_OPCODE, iv), 0);
}

/* ---- full rings and wrapping pointers ---- */

TEST(full_aql_ring)
{
	u32 i, round;
	struct bed_queue *q = queue_up();
	struct bed_work *w[BED_RING_PACKETS], *gate = bed_work(b, q->p, 1, 1, 1, US);

	for (i = 0; i < BED_RING_PACKETS; i++)
		w[i] = bed_work(b, q->p, 2, 1, 1, US);
	CHECK(bed_runlist(b, &q, 1));
	for (round = 1; round <= 5; round++) {
		*gate->signal = 1;
		submit_packet(q, PACKET(.header = 3, .dep = { gate->signal_va }));
		for (i = 1; i < BED_RING_PACKETS; i++) {
			*w[i]->signal = 1;
			bed_submit(b, q, w[i], i & 1);
		}
		bed_run_for(b, 100 * US);
		/* the ring is full, also for a queue that is mapped like this: nothing is taken, nothing is taken for empty */
		CHECK_EQ(*q->write_index - *q->read_index, BED_RING_PACKETS);
		CHECK_REMAP(&q, 1);
		bed_run_for(b, 100 * US);
		CHECK_EQ(*q->write_index - *q->read_index, BED_RING_PACKETS);
		*gate->signal = 0;
		CHECK(bed_run_until(b, bed_work_done, w[BED_RING_PACKETS - 1], 100 * MS));
		bed_run_for(b, 100 * US);
		CHECK_EQ(*q->read_index, (u64)round * BED_RING_PACKETS);
		for (i = 1; i < BED_RING_PACKETS; i++)
			CHECK_EQ(w[i]->counters[0] + w[i]->counters[1], 2 * round);
		CHECK_EQ(q->ring[0], 1);		/* slots are given back invalid */
	}
}

static void put_sdma_add(struct buffer *s, u64 va)
{
	PUT(s, 10 | 47u << 25, LO(va), HI(va), 1, 0, 0, 0, 0);
}

static void put_sdma_poll(struct buffer *s, u64 va, u32 value)
{
	PUT(s, 8 | 1u << 31 | 3 << 28, LO(va), HI(va), value, ~0u, 0);
}

static void put_sdma_fence(struct buffer *s, u64 va, u32 value)
{
	PUT(s, 5, LO(va), HI(va), value);
}

/* The ring is full, with one dword free if full is not empty there; also for a queue that is mapped like this. */
static void check_full(struct bed_queue *q)
{
	if (q->sdma)
		CHECK_EQ(*q->write_index - *q->read_index, RING_DWORDS * 4);	/* bytes, and they never wrap */
	else
		CHECK_EQ((*q->write_index - *(u32 *)q->read_index) % RING_DWORDS, RING_DWORDS - 1);
}

static void full_ring(struct bed_queue *q)
{
	struct page m = page_of(q->p, 4096);
	u32 round, free, nop = q->sdma ? 0 : 0xffff1000;
	struct buffer s;
	u64 adds = 0;

	CHECK(bed_runlist(b, &q, 1));
	for (round = 1; round <= 20; round++) {
		s.used = 0;
		(q->sdma ? put_sdma_poll : put_wait)(&s, m.va, round);
		submit_stream(q, &s);
		free = RING_DWORDS - s.used - !q->sdma;
		s.used = 0;
		(q->sdma ? put_sdma_add : put_add)(&s, m.va + 8);
		for (; free >= s.used; free -= s.used, adds++)
			push(q, s.words, s.used, false);
		for (; free; free--)
			push(q, &nop, 1, false);
		push(q, NULL, 0, true);
		bed_run_for(b, 100 * US);
		check_full(q);
		CHECK_REMAP(&q, 1);
		bed_run_for(b, 100 * US);
		check_full(q);
		m.words[0] = round;
		bed_run_for(b, 100 * US);
		CHECK_EQ(q->sdma ? *q->read_index : *(u32 *)q->read_index, q->sdma ? *q->write_index : *q->write_index % RING_DWORDS);
		CHECK_EQ(m.longs[1], adds);
	}
}

TEST(full_pm4_ring)
{
	full_ring(pm4_queue(up_process()));
}

TEST(full_sdma_ring)
{
	full_ring(sdma_up(1));
}

/* ---- SDMA queues ---- */

TEST(sdma_atomics_and_conditions)
{
	struct buffer s = { 0 };
	struct bed_queue *q = sdma_up(0);
	struct page m = page_of(q->p, 4096);

	CHECK(bed_runlist(b, &q, 1));
	m.longs[0] = 41;
	m.longs[1] = 9;
	put_sdma_add(&s, m.va);
	PUT(&s, 10 | 1 << 16 | 0x28u << 25, LO(m.va + 8), HI(m.va), 11, 0, 10, 0, 0);	/* waits for 10, stores 11 */
	PUT(&s, 9, LO(m.va + 16), HI(m.va), 3, 4);		/* the fence is left out unless that is 3 */
	put_sdma_fence(&s, m.va + 24, 1);
	put_sdma_fence(&s, m.va + 28, 1);
	run_stream(q, &s);
	CHECK_EQ(m.longs[0], 42);
	CHECK_EQ(m.longs[1], 9);
	CHECK_EQ(m.words[7], 0);
	m.longs[1] = 10;
	bed_run_for(b, 100 * US);
	CHECK_EQ(m.longs[1], 11);
	CHECK_EQ(m.words[6], 0);
	CHECK_EQ(m.words[7], 1);
	m.words[4] = 3;
	s.used = 0;
	PUT(&s, 9, LO(m.va + 16), HI(m.va), 3, 4);
	put_sdma_fence(&s, m.va + 24, 1);
	run_stream(q, &s);
	CHECK_EQ(m.words[6], 1);
}

TEST(sdma_doorbells_are_edges)
{
	struct buffer s = { 0 };
	struct bed_queue *q = sdma_up(0), *r = bed_sdma_queue(b, q->p, 0);
	struct page m = page_of(q->p, 4096);

	r->doorbell = q->doorbell;
	r->mqd_words[22] = q->doorbell;
	/* a ring that was not heard, then another queue with this doorbell */
	b->doorbells[q->doorbell / 8] = 256;
	CHECK(bed_runlist(b, &r, 1));
	bed_run_for(b, 100 * US);
	CHECK_EQ(*r->read_index, 0);
	put_sdma_fence(&s, m.va, 1);
	run_stream(r, &s);
	CHECK_EQ(m.words[0], 1);
	CHECK_EQ(*r->read_index, 16);
}

TEST(sdma_copies_to_two_places)
{
	struct buffer s = { 0 };
	struct bed_queue *q = sdma_up(0);
	struct page from = page_of(q->p, 8192), first = page_of(q->p, 8192), second = page_of(q->p, 8192);
	u32 i;

	CHECK(bed_runlist(b, &q, 1));
	for (i = 0; i < 2048; i++)
		from.words[i] = i;
	PUT(&s, 1 | 1u << 27, 4095, 0, LO(from.va + 1024), HI(from.va), LO(first.va + 2048), HI(first.va), LO(second.va + 4), HI(second.va));
	put_sdma_fence(&s, first.va, 1);
	run_stream(q, &s);
	CHECK_EQ(first.words[0], 1);
	for (i = 0; i < 1024; i++) {
		CHECK_EQ(first.words[512 + i], 256 + i);
		CHECK_EQ(second.words[1 + i], 256 + i);
	}
	CHECK_EQ(first.words[511] | first.words[1536] | second.words[0] | second.words[1025], 0);
}

/* Interrupts for a page of which the driver is to know that SDMA waits for it, since the last call */
static u32 waited_for(u64 va)
{
	u32 iv[VGPU_IV_DWORDS], n = 0;

	while (bed_interrupt(b, iv))
		n += !(iv[0] >> 8 & 0xff) && iv[4] == (u32)(va >> 12) && iv[5] & 0x80;
	return n;
}

/* With XNACK a copy to where it reads from waits for each of its pages, preempted meanwhile or not; what it has copied it does not copy again */
TEST(sdma_waits_for_pages)
{
	struct buffer s = { 0 };
	struct bed_queue *q = sdma_up(0);
	const u64 va = q->p->next_va + 0x100000, offset = bed_system(b, 5 * VGPU_PAGE);
	struct page m = page_of(q->p, 4096);
	u8 *memory = b->system + offset;
	u32 i;

	q->p->retry = true;
	for (i = 0; i < 5; i++)
		memset(memory + i * VGPU_PAGE, i, VGPU_PAGE);
	bed_map(b, q->p, va, BED_SYSTEM_BASE + offset, PTE_V | PTE_S | PTE_RW);
	CHECK(bed_runlist(b, &q, 1));
	PUT(&s, 1, 4 * VGPU_PAGE - 1, 0, LO(va + VGPU_PAGE), HI(va), LO(va), HI(va));
	PUT(&s, 11, LO(va + 2 * VGPU_PAGE), HI(va), 0x07070707, 3 * VGPU_PAGE - 1);
	put_sdma_fence(&s, m.va, 1);
	run_stream(q, &s);
	for (i = 1; i < 5; i++) {
		CHECK_EQ(waited_for(va + i * VGPU_PAGE), 1);
		CHECK_EQ(memory[(i - 1) * VGPU_PAGE], i == 1 ? 0 : i - 1);
		CHECK_REMAP(&q, 1);
		bed_run_for(b, 1 * MS);
		CHECK_EQ(waited_for(va + i * VGPU_PAGE), 1);
		bed_map(b, q->p, va + i * VGPU_PAGE, BED_SYSTEM_BASE + offset + i * VGPU_PAGE, PTE_V | PTE_S | PTE_RW);
		bed_run_for(b, 100 * US);
		CHECK_EQ(memory[(i - 1) * VGPU_PAGE + 1], i < 4 ? i : 7);
	}
	bed_run_for(b, 100 * US);
	CHECK_EQ(m.words[0], 1);
	for (i = 0; i < 5; i++)
		CHECK_EQ(memory[i * VGPU_PAGE + 2], i < 2 ? i + 1 : 7);
	CHECK(bed_stat(b, "retry_faults"));
	CHECK_EQ(bed_stat(b, "gpuvm_faults"), 0);
	CHECK_EQ(bed_stat(b, "bad_packets"), 0);
}

/* All of the ring may be due, and no more: what lies behind is what was there a lap before. */
TEST(sdma_write_pointer_beyond_the_ring_stops_the_queue)
{
	struct bed_queue *q;

	vgpu_quiet = true;
	q = sdma_up(0);
	CHECK(bed_runlist(b, &q, 1));
	b->doorbells[q->doorbell / 8] = RING_DWORDS * 4;	/* zeroes are NOPs */
	bed_run_for(b, 100 * US);
	CHECK_EQ(*q->read_index, RING_DWORDS * 4);
	CHECK_EQ(bed_stat(b, "bad_packets"), 0);
	b->doorbells[q->doorbell / 8] = 2 * RING_DWORDS * 4 + 4;
	bed_run_for(b, 100 * US);
	CHECK_EQ(*q->read_index, RING_DWORDS * 4);
	CHECK_EQ(bed_stat(b, "bad_packets"), 1);
}

TEST(bad_sdma_packets_stop_the_queue)
{
	static const u32 bad[] = { 0xff, 1 | 5 << 8, 2 | 1 << 8, 10 | 1u << 25, 3 };
	struct bed_process *p;
	struct bed_queue *q[2];
	struct buffer s;
	struct page m;
	u32 i, iv[8];

	vgpu_quiet = true;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		p = up_process();
		q[0] = bed_sdma_queue(b, p, 0);
		q[1] = bed_sdma_queue(b, p, 0);
		m = page_of(p, 4096);
		CHECK(bed_runlist(b, q, 2));
		interrupts(0, iv);
		memset(&s, 0, sizeof(s));
		put_sdma_fence(&s, m.va, 1);
		PUT(&s, bad[i], LO(m.va), HI(m.va), 0, 0, 0, 0, 0);
		put_sdma_fence(&s, m.va + 4, 1);
		run_stream(q[0], &s);
		CHECK_EQ(bed_stat(b, "bad_packets"), 1);
		CHECK_EQ(m.words[0], 1);
		CHECK_EQ(interrupts(SRC_BAD_OPCODE, iv), 0);
		CHECK_REMAP(q, 2);
		memset(&s, 0, sizeof(s));
		put_sdma_fence(&s, m.va + 8, 1);
		run_stream(q[1], &s);
		CHECK_EQ(bed_stat(b, "bad_packets"), 1);
		CHECK_EQ(m.words[1], 0);
		CHECK_EQ(m.words[2], 1);
		CHECK_EQ(*q[0]->read_index, 16);
	}
}

/* ---- SDMA queues without the hardware scheduler: registers, as the driver writes them ---- */

#define RLC(engine, n)		(b->config.layout->sdma[0][engine] + 0x130 + 0x58 * (n))
#define RLC_IDLE		4u

static u32 rlc_read(u32 rlc, u32 reg)
{
	return vgpu_model_reg_read(b->m, rlc + reg);
}

static void rlc_write(u32 rlc, u32 reg, u32 value)
{
	vgpu_model_reg_write(b->m, rlc + reg, value);
}

/* Switches a queue off. Return: false if it does not become idle. */
static bool rlc_stop(u32 rlc)
{
	u32 tries;

	rlc_write(rlc, 0, rlc_read(rlc, 0) & ~1u);
	for (tries = 0; tries < 100 && !(rlc_read(rlc, 0x11) & RLC_IDLE); tries++)
		bed_run_for(b, 10 * US);
	return tries < 100;
}

static bool rlc_load(u32 rlc, struct bed_queue *q, u32 vmid)
{
	u64 wptr;

	rlc_write(rlc, 0, q->mqd_words[0]);
	if (!rlc_stop(rlc))
		return false;
	rlc_write(rlc, 0x2b, q->doorbell);
	rlc_write(rlc, 0x12, 1u << 28);
	rlc_write(rlc, 3, q->mqd_words[3]);
	rlc_write(rlc, 4, q->mqd_words[4]);
	wptr = *q->write_index;
	rlc_write(rlc, 5, LO(wptr));
	rlc_write(rlc, 6, HI(wptr));
	rlc_write(rlc, 1, q->mqd_words[1]);
	rlc_write(rlc, 2, q->mqd_words[2]);
	rlc_write(rlc, 9, q->mqd_words[9]);
	rlc_write(rlc, 8, q->mqd_words[8]);
	rlc_write(rlc, 0, q->mqd_words[0] | vmid << 24 | 1);
	return true;
}

static bool rlc_unload(u32 rlc, struct bed_queue *q)
{
	if (!rlc_stop(rlc))
		return false;
	rlc_write(rlc, 0x12, 0);
	rlc_write(rlc, 0, rlc_read(rlc, 0) | 1);
	q->mqd_words[3] = rlc_read(rlc, 3);
	q->mqd_words[4] = rlc_read(rlc, 4);
	return true;
}

TEST(sdma_queue_loaded_by_registers)
{
	struct buffer s = { 0 };
	struct bed_process *p;
	struct bed_queue *q;
	struct page m;
	u32 engine, n, iv[8];

	for (engine = 0; engine < VGPU_AID_ENGINES; engine++)
		for (n = 0; n < 8; n += 7) {
			p = up_process();
			bed_vmid(b, 9, p);
			q = bed_sdma_queue(b, p, engine);
			m = page_of(p, 4096);
			memset(&s, 0, sizeof(s));
			put_sdma_add(&s, m.va);
			PUT(&s, 6, 0x55);
			submit_stream(q, &s);				/* before it is loaded */
			b->doorbells[q->doorbell / 8] = 4096;		/* an earlier queue's */
			CHECK(rlc_load(RLC(engine, n), q, 9));
			CHECK(!(rlc_read(RLC(engine, n), 0x11) & RLC_IDLE));
			interrupts(0, iv);
			bed_run_for(b, 100 * US);
			CHECK_EQ(m.longs[0], 1);
			CHECK_EQ(*q->read_index, *q->write_index);
			CHECK_EQ(rlc_read(RLC(engine, n), 3), *q->write_index);
			CHECK_EQ(interrupts(224, iv), 1);
			CHECK_EQ(iv[3], p->pasid);
			CHECK_EQ(iv[4], 0x55);
			submit_stream(q, &s);				/* by its doorbell */
			bed_run_for(b, 100 * US);
			CHECK_EQ(m.longs[0], 2);
			/* off: nothing runs until it is loaded again, and then nothing runs twice */
			CHECK(rlc_unload(RLC(engine, n), q));
			run_stream(q, &s);
			CHECK_EQ(m.longs[0], 2);
			CHECK(rlc_load(RLC(engine, n), q, 9));
			bed_run_for(b, 100 * US);
			CHECK_EQ(m.longs[0], 3);
		}
}

TEST(sdma_queue_stops_between_packets)
{
	struct buffer ring = { 0 }, ib = { 0 };
	struct bed_process *p;
	struct bed_queue *q;
	struct page m;
	u32 rlc;

	up();
	rlc = RLC(0, 2);
	p = bed_process(b);
	bed_vmid(b, 9, p);
	q = bed_sdma_queue(b, p, 0);
	m = page_of(p, 4096);
	put_sdma_add(&ring, m.va);
	put_sdma_poll(&ring, m.va + 64, 1);
	put_sdma_add(&ring, m.va);
	CHECK(rlc_load(rlc, q, 9));
	run_stream(q, &ring);
	CHECK_EQ(m.longs[0], 1);
	CHECK(rlc_unload(rlc, q));			/* waits at the poll */
	m.words[16] = 1;
	bed_run_for(b, 100 * US);
	CHECK_EQ(m.longs[0], 1);
	CHECK(rlc_load(rlc, q, 9));
	bed_run_for(b, 100 * US);
	CHECK_EQ(m.longs[0], 2);
	/* a buffer that has begun is finished first */
	m.words[16] = 0;
	put_sdma_add(&ib, m.va + 8);
	put_sdma_poll(&ib, m.va + 64, 1);
	put_sdma_add(&ib, m.va + 8);
	ring.used = 0;
	PUT(&ring, 4, LO(place(p, &ib)), HI(m.va), ib.used, 0, 0);
	put_sdma_add(&ring, m.va);
	run_stream(q, &ring);
	CHECK_EQ(m.longs[1], 1);
	CHECK(!rlc_stop(rlc));
	m.words[16] = 1;
	CHECK(rlc_unload(rlc, q));
	CHECK_EQ(m.longs[1], 2);
	CHECK_EQ(m.longs[0], 2);
	CHECK(rlc_load(rlc, q, 9));
	bed_run_for(b, 100 * US);
	CHECK_EQ(m.longs[1], 2);
	CHECK_EQ(m.longs[0], 3);
}

/* ---- preemption ---- */

/*
 * Queues of each kind, interrupted anywhere: in waits of rings and of buffers on both levels, while
 * a grid is half launched, between its waves. Each adds to counters of its own along the way;
 * nothing may be added twice or left out.
 */
#define VICTIMS		5
#define GATES		4
#define STREAM_ADDS	7

struct victim {
	struct bed_queue *q;
	struct bed_work *w[2];		/* SDMA: the signal only */
	struct page m;			/* gates 0.., then the counter */
	u64 rounds;
};

static void put_steps(struct buffer *s, const struct victim *v, u32 gate, bool sdma)
{
	u64 counter = v->m.va + 512;

	if (sdma) {
		put_sdma_add(s, counter);
		put_sdma_poll(s, v->m.va + gate * 4, 1);
		put_sdma_add(s, counter);
	} else {
		put_add(s, counter);
		put_wait(s, v->m.va + gate * 4, 1);
		put_add(s, counter);
	}
}

static void submit_victim(struct victim *v)
{
	struct buffer ring = { 0 }, first = { 0 }, second = { 0 };
	struct bed_process *p = v->q->p;
	bool sdma = v->q->sdma, aql = !sdma && (v->q->mqd_words[0x80 + VGPU_HQD_AQL_CONTROL] & 1);

	if (sdma) {
		put_steps(&first, v, 1, true);
		put_sdma_add(&first, v->m.va + 512);
		put_steps(&ring, v, 0, true);
		PUT(&ring, 4, LO(place(p, &first)), HI(v->m.va), first.used, 0, 0);
		put_steps(&ring, v, 2, true);
		put_sdma_fence(&ring, v->w[0]->signal_va + 8, 0);
		submit_stream(v->q, &ring);
		return;
	}
	put_steps(&second, v, 1, false);
	put_dispatch(&second, v->w[1]);
	put_add(&second, v->m.va + 512);
	put_dispatch(&first, v->w[0]);
	put_ib(&first, place(p, &second), second.used, false);
	put_steps(&first, v, 2, false);
	if (aql) {
		put_steps(&first, v, 3, false);
		submit_ib(v->q, place(p, &first), first.used, v->w[0]->signal_va, 0x100);
		return;
	}
	put_steps(&ring, v, 0, false);
	put_ib(&ring, place(p, &first), first.used, false);
	put_done(&ring, v->w[0], 0);
	submit_stream(v->q, &ring);
}

static void preempted_life(u32 seed)
{
	static void (*const device[])(struct vgpu_config *c) = { NULL, bed_xccs_2, bed_xccs_4 };
	struct victim v[VICTIMS] = { { 0 } };
	struct bed_queue *queues[VICTIMS];
	u32 i, j, action, open;
	struct bed_process *p[2];

	srand(seed);
	up_as(device[seed % ARRAY_SIZE(device)]);
	p[0] = bed_process(b);
	p[1] = bed_process(b);
	for (i = 0; i < VICTIMS; i++) {
		struct bed_process *owner = p[i & 1];

		v[i].q = i == VICTIMS - 1 ? bed_sdma_queue(b, owner, (u32)rand() % 4) : i < 2 ? bed_queue(b, owner) : pm4_queue(owner);
		queues[i] = v[i].q;
		v[i].m = page_of(owner, 4096);
		for (j = 0; j < 2; j++)
			v[i].w[j] = bed_work(b, owner, 1 + (u32)rand() % 200 * 2, 1, 1 + (u32)rand() % 4, (1 + (u64)rand() % 40) * US);
		submit_victim(&v[i]);
	}
	for (action = 0; action < 60; action++) {
		switch (rand() % 4) {
		case 0:
			CHECK(bed_unmap(b, false));
			break;
		case 1:
			CHECK(bed_runlist(b, queues, VICTIMS));
			break;
		case 2:
			open = (u32)rand() % (VICTIMS * GATES);
			v[open / GATES].m.words[open % GATES] = 1;
			break;
		default:
			bed_run_for(b, (u64)rand() % (60 * US));
		}
	}
	for (i = 0; i < VICTIMS; i++)
		for (j = 0; j < GATES; j++)
			v[i].m.words[j] = 1;
	CHECK(bed_runlist(b, queues, VICTIMS));
	for (i = 0; i < VICTIMS; i++) {
		CHECK(bed_run_until(b, bed_work_done, v[i].w[0], LONG));
		CHECK_EQ(v[i].m.longs[64], STREAM_ADDS);
		if (!v[i].q->sdma) {
			CHECK_ONCE(v[i].w[0]);
			CHECK_ONCE(v[i].w[1]);
		}
	}
	CHECK(bed_unmap(b, false));
	CHECK_EQ(bed_stat(b, "slots_busy"), 0);
}

TEST(packets_survive_preemption)
{
	draw_lots(preempted_life);
}
