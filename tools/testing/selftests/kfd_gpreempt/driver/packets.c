// SPDX-License-Identifier: MIT
/*
 * packets.c - packets of user queues: AQL, PM4 and SDMA, good ones and bad ones, alone and under the scheduler
 *
 * The tests of "ring" write packets whose effects are in memory: they need no kernel and run on any gfx9 Instinct. The others
 * dispatch model kernels and the machine code of work.cl, or send what would disturb the users of a real device, and need the
 * virtual GPU.
 */
#include <limits.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "kselftest_harness.h"

#include "fixture.h"
#include "worker.h"
#include "../../../../vgpu/tests/isa/object.h"

#define MEMORY		(1u << 20)
#define RING_BYTES	4096u
#define RING_PACKETS	(RING_BYTES / 64)
#define LO(v)		((uint32_t)(uintptr_t)(v))
#define HI(v)		((uint32_t)((uint64_t)(uintptr_t)(v) >> 32))

/* AQL */
#define HEADER(type)	((uint16_t)((type) | 2u << 9 | 2u << 11))	/* fences at system scope */
#define BARRIER_BIT	0x100u
enum { VENDOR, INVALID, DISPATCH, BARRIER_AND, AGENT, BARRIER_OR, NO_SUCH_TYPE };
enum { FORMAT_PM4_IB = 1, FORMAT_BARRIER_VALUE = 2, NO_SUCH_FORMAT = 77 };
enum { CONDITION_EQ, CONDITION_NE, CONDITION_LT, CONDITION_GTE };

/* Exceptions of a queue, enum kfd_dbg_trap_exception_code */
#define EXCEPTION(code)	(1ull << ((code) - 1))
enum {
	WAVE_ABORT = 1, WAVE_TRAP = 2, WAVE_ILLEGAL_INSTRUCTION = 4,
	DISPATCH_DIM_INVALID = 16, DISPATCH_CODE_INVALID = 18, PACKET_RESERVED = 19, PACKET_UNSUPPORTED = 20,
	VENDOR_UNSUPPORTED = 23,
};

/* PM4 */
#define PM4(op, n)	(0xc0000000u | ((n) - 2) << 16 | (op) << 8)
enum {
	PM4_NOP = 0x10, PM4_DISPATCH_DIRECT = 0x15, PM4_DISPATCH_INDIRECT = 0x16, PM4_ATOMIC_MEM = 0x1e,
	PM4_WRITE_DATA = 0x37, PM4_WAIT_REG_MEM = 0x3c,
	PM4_INDIRECT_BUFFER = 0x3f, PM4_RELEASE_MEM = 0x49, PM4_ACQUIRE_MEM = 0x58, PM4_SET_SH_REG = 0x76,
};
#define PM4_ONE_NOP	0xffff1000u		/* a packet of a single dword */
#define ATOMIC_ADD_64	111u			/* returns nothing */

/* SDMA */
enum {
	SDMA_NOP = 0, SDMA_COPY = 1, SDMA_INDIRECT = 4, SDMA_FENCE = 5, SDMA_TRAP = 6, SDMA_POLL = 8, SDMA_ATOMIC = 10, SDMA_FILL = 11,
};

struct aql_packet {
	uint16_t header;
	uint16_t second;		/* dispatch: dimensions; vendor: format */
	uint32_t word[13];
	uint64_t completion;
};

_Static_assert(sizeof(struct aql_packet) == 64, "AQL packets have 64 bytes");

/* Packets of a stream, before they are put into a ring or a buffer */
struct stream {
	uint32_t words[512];
	uint32_t used;
};

static void put(struct stream *s, const uint32_t *words, uint32_t count)
{
	memcpy(s->words + s->used, words, count * 4);
	s->used += count;
}

#define PUT(s, ...)	do { const uint32_t w_[] = { __VA_ARGS__ }; put((s), w_, sizeof(w_) / 4); } while (0)

/* What streams of both formats are made of */
struct format {
	enum kfd_queue_kind kind;
	void (*write)(struct stream *s, volatile void *at, uint32_t value);
	void (*add)(struct stream *s, volatile void *at, uint64_t value);
	void (*wait)(struct stream *s, const volatile void *at, uint32_t value);	/* until it is equal */
	void (*buffer)(struct stream *s, const void *at, uint32_t words);
};

static void pm4_write(struct stream *s, volatile void *at, uint32_t value)
{
	PUT(s, PM4(PM4_WRITE_DATA, 5), 5u << 8 | 1u << 20, LO(at), HI(at), value);
}

static void pm4_add(struct stream *s, volatile void *at, uint64_t value)
{
	PUT(s, PM4(PM4_ATOMIC_MEM, 9), ATOMIC_ADD_64, LO(at), HI(at), (uint32_t)value, (uint32_t)(value >> 32), 0, 0, 0);
}

static void pm4_wait(struct stream *s, const volatile void *at, uint32_t value)
{
	PUT(s, PM4(PM4_WAIT_REG_MEM, 7), 3u | 1u << 4, LO(at), HI(at), value, ~0u, 4);
}

static void pm4_buffer(struct stream *s, const void *at, uint32_t words)
{
	PUT(s, PM4(PM4_INDIRECT_BUFFER, 4), LO(at), HI(at), words | 1u << 23);
}

/* Behind everything earlier: a value of 64 bits, and an interrupt if there is an event */
static void pm4_release(struct stream *s, volatile void *at, uint64_t value, uint32_t event)
{
	PUT(s, PM4(PM4_RELEASE_MEM, 8), 0x14u | 5u << 8, 2u << 29 | (event ? 2u << 24 : 0), LO(at), HI(at), (uint32_t)value,
	    (uint32_t)(value >> 32), event);
}

/* A launch of a model kernel: workgroup, kernel, arguments; see Documentation/virtual-gpu.rst */
static void pm4_launch(struct stream *s, struct kfd_work *w)
{
	const struct vgpu_kernargs *args = &w->args[w->submitted++];
	uint64_t kernel = (uintptr_t)w->kernel >> 8;

	PUT(s, PM4(PM4_SET_SH_REG, 5), 0x207, VGPU_WAVE_LANES, 1, 1,
	    PM4(PM4_SET_SH_REG, 4), 0x20c, (uint32_t)kernel, (uint32_t)(kernel >> 32),
	    PM4(PM4_SET_SH_REG, 4), 0x240, LO(args), HI(args),
	    PM4(PM4_DISPATCH_DIRECT, 5), w->waves, 1, 1, 1);
}

/* Kernel descriptors in words, and what in their properties says which registers a kernel finds its arguments in */
enum { KD_ENTRY = 4, KD_RSRC3 = 11, KD_RSRC1 = 12, KD_RSRC2 = 13, KD_PROPERTIES = 14 };
enum { PROPERTY_BUFFER = 1, PROPERTY_KERNARGS = 8, PROPERTIES_OF_REGISTERS = 0x7f };

/*
 * The same in machine code: what its descriptor says goes into registers, arguments behind a resource descriptor of scratch memory
 * if the kernel reserves room for one. @grid is where the packet finds the grid; NULL: in itself
 */
static void pm4_launch_code(struct stream *s, const uint32_t *kd, const void *args, uint32_t waves, const uint32_t *grid)
{
	uint64_t entry = ((uintptr_t)kd + kd[KD_ENTRY]) >> 8;

	PUT(s, PM4(PM4_SET_SH_REG, 8), 0x204, 0, 0, 0, VGPU_WAVE_LANES, 1, 1,
	    PM4(PM4_SET_SH_REG, 4), 0x20c, (uint32_t)entry, (uint32_t)(entry >> 32),
	    PM4(PM4_SET_SH_REG, 4), 0x212, kd[KD_RSRC1], kd[KD_RSRC2],
	    PM4(PM4_SET_SH_REG, 3), 0x22d, kd[KD_RSRC3],
	    PM4(PM4_SET_SH_REG, 4), kd[KD_PROPERTIES] & PROPERTY_BUFFER ? 0x244 : 0x240, LO(args), HI(args));
	if (grid)
		PUT(s, PM4(PM4_DISPATCH_INDIRECT, 4), LO(grid), HI(grid), 1);
	else
		PUT(s, PM4(PM4_DISPATCH_DIRECT, 5), waves, 1, 1, 1);
}

static void pm4_launch_work(struct stream *s, struct kfd_work *w, const uint32_t *kd, const uint32_t *grid)
{
	pm4_launch_code(s, kd, &w->args[w->submitted++], w->waves, grid);
}

static void sdma_write(struct stream *s, volatile void *at, uint32_t value)
{
	PUT(s, SDMA_FENCE, LO(at), HI(at), value);
}

static void sdma_add(struct stream *s, volatile void *at, uint64_t value)
{
	PUT(s, SDMA_ATOMIC | ATOMIC_ADD_64 << 25, LO(at), HI(at), (uint32_t)value, (uint32_t)(value >> 32), 0, 0, 0);
}

static void sdma_wait(struct stream *s, const volatile void *at, uint32_t value)
{
	PUT(s, SDMA_POLL | 3u << 28 | 1u << 31, LO(at), HI(at), value, ~0u, 0xfff << 16 | 4);
}

static void sdma_buffer(struct stream *s, const void *at, uint32_t words)
{
	PUT(s, SDMA_INDIRECT, LO(at), HI(at), words, 0, 0);
}

static const struct format pm4 = { KFD_QUEUE_PM4, pm4_write, pm4_add, pm4_wait, pm4_buffer };
static const struct format sdma = { KFD_QUEUE_SDMA, sdma_write, sdma_add, sdma_wait, sdma_buffer };

static struct aql_packet aql_barrier(uint16_t type, const struct kfd_signal *dep, struct kfd_signal *done)
{
	struct aql_packet p = { .header = HEADER(type), .word = { [1] = LO(dep), HI(dep) }, .completion = (uintptr_t)done };

	return p;
}

static struct aql_packet aql_barrier_value(const struct kfd_signal *s, uint64_t value, uint64_t mask, uint32_t condition,
					   struct kfd_signal *done)
{
	struct aql_packet p = { .header = HEADER(VENDOR), .second = FORMAT_BARRIER_VALUE, .completion = (uintptr_t)done };

	p.word[1] = LO(s);
	p.word[2] = HI(s);
	memcpy(&p.word[3], &value, 8);
	memcpy(&p.word[5], &mask, 8);
	p.word[7] = condition;
	return p;
}

static struct aql_packet aql_buffer(const void *at, uint32_t words, struct kfd_signal *done)
{
	struct aql_packet p = { .header = HEADER(VENDOR) | BARRIER_BIT, .second = FORMAT_PM4_IB, .completion = (uintptr_t)done };
	struct stream s = { .used = 0 };

	pm4_buffer(&s, at, words);
	memcpy(p.word, s.words, 16);
	p.word[4] = 10;			/* dwords that follow, as for a NOP */
	return p;
}

/* ---- a client in the test's own process ---- */

struct host {
	struct kfd_client client;
	struct kfd_buffer memory;
	size_t used;
	struct kfd_queue queue[8];
	int queues;
};

static void *give(struct host *h, size_t bytes)
{
	void *at = (uint8_t *)h->memory.ptr + h->used;

	h->used += (bytes + 255) & ~(size_t)255;		/* a kernel's address has eight zeros at its end */
	return h->used <= MEMORY ? at : NULL;
}

static int host_open(struct host *h)
{
	int err = kfd_client_open(&h->client);

	return err ? err : kfd_buffer_gtt(&h->client, MEMORY, &h->memory);
}

static void host_close(struct host *h)
{
	while (h->queues)
		kfd_queue_destroy(&h->queue[--h->queues]);
	if (h->memory.ptr)
		kfd_client_close(&h->client);
}

static struct kfd_queue *host_queue(struct __test_metadata *_metadata, struct host *h, enum kfd_queue_kind kind)
{
	struct kfd_queue *q = &h->queue[h->queues];

	ASSERT_EQ(0, kfd_queue_create_kind(&h->client, q, kind, h->queues & 1 ? KFD_BACKING_GTT : KFD_BACKING_USERPTR, KFD_PRIORITY_NORMAL,
					   RING_BYTES));
	h->queues++;
	return q;
}

static struct kfd_signal *host_signal(struct host *h, int64_t value)
{
	struct kfd_signal *s = give(h, sizeof(*s));

	kfd_signal_init(s, value);
	return s;
}

static void host_work(struct host *h, struct kfd_work *w, uint32_t launches, uint32_t waves, uint32_t steps, uint64_t step_ns)
{
	kfd_work_init(w, give(h, kfd_work_bytes(launches, waves, steps)), launches, waves, steps, step_ns);
}

/* A code object beside the program, in memory of the GPU. Return: a kernel's descriptor; NULL: there is none that registers can launch */
static const uint32_t *host_code(struct host *h, const char *name, const char *kernel)
{
	struct kfd_buffer code;
	const uint32_t *kd;
	char path[PATH_MAX];
	size_t bytes;
	void *file;
	u64 at;

	kfd_code_path(name, h->client.gfx_target_version, path, sizeof(path));
	if (access(path, R_OK))
		return NULL;
	file = object_file(path, &bytes);
	if (!object_symbol(file, kernel, &at) || kfd_buffer_gtt(&h->client, object_memory(file), &code))
		return NULL;
	object_load(file, code.ptr);
	munmap(file, bytes);
	kd = (const uint32_t *)((uint8_t *)code.ptr + at);
	return (kd[KD_PROPERTIES] & PROPERTIES_OF_REGISTERS & ~PROPERTY_BUFFER) == PROPERTY_KERNARGS ? kd : NULL;
}

static const void *host_stream(struct host *h, const struct stream *s)
{
	return memcpy(give(h, s->used * 4), s->words, s->used * 4);
}

static int submit(struct kfd_queue *q, const struct stream *s)
{
	return kfd_ring_submit(q, s->words, s->used, 0);
}

static int submit_aql(struct kfd_queue *q, struct aql_packet p)
{
	return kfd_packet_submit(q, &p, 0);
}

static int wait_equal(const volatile uint64_t *at, uint64_t value, uint64_t timeout_ns)
{
	return KFD_WAIT(__atomic_load_n(at, __ATOMIC_ACQUIRE) == value, 100 * US, timeout_ns);
}

static int wait_work(const struct kfd_work *w, uint64_t items)
{
	return KFD_WAIT(kfd_work_progress(w) >= items, 200 * US, LONG);
}

#define EXPECT_WORK_ONCE(w) do { \
	struct kfd_tally tally_ = { 0 }; \
	kfd_work_tally((w), &tally_); \
	EXPECT_EQ((uint64_t)(w)->submitted * (w)->waves * (w)->steps, tally_.done); \
	EXPECT_EQ(0, tally_.lost); \
	EXPECT_EQ(0, tally_.twice); \
} while (0)

#define SHORTLY	(5 * MS)	/* what should not happen would have happened by then, many times over */

/* ---- packets with effects in memory ---- */

FIXTURE(ring) {
	struct host host;
	BEFORE_TEST;
};

FIXTURE_SETUP(ring)
{
	if (access("/dev/kfd", F_OK) || !kfd_first_gpu_id())
		SKIP(return, "KFD has no GPU node");
	ASSERT_EQ(0, scheduler_off());
	REMEMBER_BEFORE_TEST();
	ASSERT_EQ(0, host_open(&self->host)) TH_LOG("%s", self->host.client.why);
}

FIXTURE_TEARDOWN(ring)
{
	host_close(&self->host);
	EXPECT_DEVICE_UNHARMED();
}

/* An announced slot that is not filled yet stops the queue; filling it is enough. */
TEST_F(ring, invalid_packet_holds_the_queue)
{
	struct kfd_queue *q = host_queue(_metadata, &self->host, KFD_QUEUE_AQL);
	struct kfd_signal *first = host_signal(&self->host, 1), *second = host_signal(&self->host, 1);
	struct aql_packet empty = { .header = INVALID }, late = aql_barrier(BARRIER_AND, NULL, first);

	ASSERT_EQ(0, submit_aql(q, empty));
	ASSERT_EQ(0, submit_aql(q, aql_barrier(BARRIER_AND, NULL, second)));
	kfd_sleep_ns(SHORTLY);
	EXPECT_EQ(0, kfd_queue_rptr(q));
	memcpy((uint8_t *)q->ring.ptr + 4, (uint8_t *)&late + 4, 60);
	__atomic_store_n((uint32_t *)q->ring.ptr, *(uint32_t *)&late, __ATOMIC_RELEASE);
	EXPECT_EQ(0, kfd_signal_poll(first, LONG));
	EXPECT_EQ(0, kfd_signal_poll(second, LONG));
	EXPECT_EQ(0, wait_equal((uint64_t *)((uint8_t *)q->page.ptr + 128), 2, LONG));
}

TEST_F(ring, barrier_packets_wait_for_signals)
{
	struct kfd_queue *q = host_queue(_metadata, &self->host, KFD_QUEUE_AQL);
	struct kfd_signal *a = host_signal(&self->host, 1), *b = host_signal(&self->host, 1);
	struct kfd_signal *done[3] = { host_signal(&self->host, 1), host_signal(&self->host, 1), host_signal(&self->host, 1) };
	struct aql_packet both = aql_barrier(BARRIER_AND, a, done[0]), any = aql_barrier(BARRIER_OR, a, done[1]);

	both.word[9] = LO(b);		/* the last of five */
	both.word[10] = HI(b);
	any.word[5] = LO(b);
	any.word[6] = HI(b);
	ASSERT_EQ(0, submit_aql(q, both));
	ASSERT_EQ(0, submit_aql(q, any));
	ASSERT_EQ(0, submit_aql(q, aql_barrier_value(a, 0x50, 0xf0, CONDITION_EQ, done[2])));
	kfd_signal_reset(a, 0);
	kfd_sleep_ns(SHORTLY);
	EXPECT_EQ(1, done[0]->value);
	kfd_signal_reset(a, 1);
	kfd_signal_reset(b, 0);
	kfd_sleep_ns(SHORTLY);
	EXPECT_EQ(1, done[0]->value);
	kfd_signal_reset(a, 0);
	EXPECT_EQ(0, kfd_signal_poll(done[0], LONG));
	/* one is enough for the second; the third looks at some bits */
	EXPECT_EQ(0, kfd_signal_poll(done[1], LONG));
	kfd_signal_reset(a, 0x45);
	kfd_sleep_ns(SHORTLY);
	EXPECT_EQ(1, done[2]->value);
	kfd_signal_reset(a, 0x1057);
	EXPECT_EQ(0, kfd_signal_poll(done[2], LONG));
}

TEST_F(ring, barrier_value_conditions)
{
	static const struct {
		uint32_t condition;
		int64_t before, after;		/* against 5 */
	} cases[] = { { CONDITION_EQ, 4, 5 }, { CONDITION_NE, 5, 6 }, { CONDITION_LT, 5, -7 }, { CONDITION_GTE, -7, 5 } };
	struct kfd_queue *q = host_queue(_metadata, &self->host, KFD_QUEUE_AQL);
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct kfd_signal *gate = host_signal(&self->host, cases[i].before), *done = host_signal(&self->host, 1);

		ASSERT_EQ(0, submit_aql(q, aql_barrier_value(gate, 5, ~0ull, cases[i].condition, done)));
		kfd_sleep_ns(SHORTLY);
		EXPECT_EQ(1, done->value) {
			TH_LOG("case %zu", i);
		}
		kfd_signal_reset(gate, cases[i].after);
		EXPECT_EQ(0, kfd_signal_poll(done, LONG)) {
			TH_LOG("case %zu", i);
		}
	}
}

/* A vendor packet with a buffer of PM4, as ROCr sends it to invalidate caches */
TEST_F(ring, aql_packet_runs_a_pm4_buffer)
{
	struct kfd_queue *q = host_queue(_metadata, &self->host, KFD_QUEUE_AQL);
	struct kfd_signal *done = host_signal(&self->host, 1);
	volatile uint64_t *m = give(&self->host, 64);
	struct stream s = { .used = 0 };

	ASSERT_EQ(0, kfd_signal_init_event(&self->host.client, done, 1));
	PUT(&s, PM4(PM4_ACQUIRE_MEM, 7), 0x28c00000u, ~0u, 0xff, 0, 0, 4);
	pm4_add(&s, m, 3);
	pm4_write(&s, m + 1, 7);
	ASSERT_EQ(0, submit_aql(q, aql_buffer(host_stream(&self->host, &s), s.used, done)));
	EXPECT_EQ(0, kfd_signal_wait(&self->host.client, done, LONG));		/* by its event */
	EXPECT_EQ(3, m[0]);
	EXPECT_EQ(7, (uint32_t)m[1]);
}

static void streams_reach_memory(struct __test_metadata *_metadata, struct host *h, const struct format *f)
{
	struct stream ring = { .used = 0 }, buffer = { .used = 0 };
	struct kfd_queue *q = host_queue(_metadata, h, f->kind);
	volatile uint64_t *m = give(h, 256);

	f->add(&buffer, m, 2);
	f->wait(&buffer, m + 1, 5);
	f->add(&buffer, m, 4);
	f->write(&ring, m + 2, 1);
	f->buffer(&ring, host_stream(h, &buffer), buffer.used);
	f->write(&ring, m + 3, 1);
	ASSERT_EQ(0, submit(q, &ring));
	EXPECT_EQ(0, wait_equal(m, 2, LONG));
	kfd_sleep_ns(SHORTLY);
	EXPECT_EQ(1, (uint32_t)m[2]);
	EXPECT_EQ(0, (uint32_t)m[3]);
	EXPECT_EQ(2, m[0]);
	m[1] = 5;
	EXPECT_EQ(0, wait_equal(m + 3, 1, LONG));
	EXPECT_EQ(6, m[0]);
}

TEST_F_CALLS(ring, pm4_streams_reach_memory, streams_reach_memory(_metadata, &self->host, &pm4))
TEST_F_CALLS(ring, sdma_streams_reach_memory, streams_reach_memory(_metadata, &self->host, &sdma))

TEST_F(ring, sdma_copies_and_fills_on_every_engine)
{
	struct host *h = &self->host;
	uint32_t i, word, bytes = 3 * KFD_PAGE_BYTES + 64;
	volatile uint32_t *from = give(h, bytes);
	int n;

	for (i = 0; i < bytes / 4; i++)
		from[i] = i * 2654435761u;
	/* KFD deals the queues out over the engines */
	for (n = 0; n < 5; n++) {
		volatile uint32_t *to = give(h, bytes + 64);
		volatile uint64_t *done = give(h, 8);
		struct stream s = { .used = 0 };
		struct kfd_queue *q = host_queue(_metadata, h, n < 2 ? KFD_QUEUE_SDMA : KFD_QUEUE_SDMA_XGMI);

		PUT(&s, SDMA_COPY, bytes - 1, 0, LO(from), HI(from), LO(to), HI(to));
		PUT(&s, SDMA_FILL | 2u << 30, LO(to + bytes / 4), HI(to + bytes / 4), 0xabadcafe, 32 - 1);
		sdma_write(&s, done, 1);
		ASSERT_EQ(0, submit(q, &s));
		EXPECT_EQ(0, wait_equal(done, 1, LONG));
		for (i = 0, word = 0; i < bytes / 4; i++)
			word += to[i] != from[i];
		EXPECT_EQ(0, word);
		EXPECT_EQ(0xabadcafe, to[bytes / 4 + 7]);
		EXPECT_EQ(0, to[bytes / 4 + 8]);
	}
}

static void end_wakes_sleeper(struct __test_metadata *_metadata, struct host *h, const struct format *f)
{
	struct kfd_queue *q = host_queue(_metadata, h, f->kind);
	struct kfd_signal *done = host_signal(h, 1);
	volatile uint64_t *gate = give(h, 8);
	struct stream s = { .used = 0 };

	ASSERT_EQ(0, kfd_signal_init_event(&h->client, done, 1));
	f->wait(&s, gate, 1);
	f->write(&s, (void *)(uintptr_t)done->event_mailbox_ptr, done->event_id);
	if (f == &pm4) {
		pm4_release(&s, &done->value, 0, done->event_id);
	} else {
		f->write(&s, &done->value, 0);
		PUT(&s, SDMA_TRAP, done->event_id);
	}
	ASSERT_EQ(0, submit(q, &s));
	EXPECT_EQ(-ETIME, kfd_event_wait(&h->client, done->event_id, SHORTLY));
	*gate = 1;
	EXPECT_EQ(0, kfd_event_wait(&h->client, done->event_id, LONG));
	EXPECT_EQ(0, done->value);
}

TEST_F_CALLS(ring, pm4_end_wakes_sleeper, end_wakes_sleeper(_metadata, &self->host, &pm4))
TEST_F_CALLS(ring, sdma_trap_wakes_sleeper, end_wakes_sleeper(_metadata, &self->host, &sdma))

/* An AQL queue waits for SDMA and SDMA for PM4, which waits for AQL: signals are values in memory. */
TEST_F(ring, queues_of_all_kinds_wait_for_each_other)
{
	struct host *h = &self->host;
	struct kfd_queue *aql = host_queue(_metadata, h, KFD_QUEUE_AQL), *cp = host_queue(_metadata, h, KFD_QUEUE_PM4), *copy = host_queue(_metadata, h, KFD_QUEUE_SDMA);
	struct kfd_signal *copied = host_signal(h, 1), *computed = host_signal(h, 1), *first = host_signal(h, 1);
	struct stream s = { .used = 0 }, t = { .used = 0 };
	volatile uint64_t *order = give(h, 64);

	/* the last first */
	ASSERT_EQ(0, submit_aql(aql, aql_barrier(BARRIER_AND, copied, computed)));
	sdma_wait(&s, order, 1);
	sdma_add(&s, order, 1);
	sdma_add(&s, &copied->value, (uint64_t)-1);
	ASSERT_EQ(0, submit(copy, &s));
	pm4_wait(&t, &first->value, 0);
	pm4_add(&t, order, 1);
	ASSERT_EQ(0, submit(cp, &t));
	kfd_sleep_ns(SHORTLY);
	EXPECT_EQ(0, order[0]);
	EXPECT_EQ(1, computed->value);
	kfd_signal_reset(first, 0);
	EXPECT_EQ(0, kfd_signal_poll(computed, LONG));
	EXPECT_EQ(2, order[0]);
	EXPECT_EQ(0, copied->value);
}

/* The producer fills the ring to the last dword, waits for the read pointer, goes on: several times round. */
static void full_ring(struct __test_metadata *_metadata, struct host *h, const struct format *f)
{
	struct kfd_queue *q = host_queue(_metadata, h, f->kind);
	volatile uint64_t *gate = give(h, 8), *sum = give(h, 8);
	struct stream wait, add = { .used = 0 };
	uint32_t round, nop = f == &pm4 ? PM4_ONE_NOP : SDMA_NOP;
	uint64_t adds = 0;

	f->add(&add, sum, 1);
	for (round = 1; round <= 5; round++) {
		wait.used = 0;
		f->wait(&wait, gate, round);
		ASSERT_EQ(0, submit(q, &wait));
		while (!submit(q, &add))
			adds++;
		while (kfd_ring_space(q))
			ASSERT_EQ(0, kfd_ring_submit(q, &nop, 1, 0));
		kfd_sleep_ns(MS);
		EXPECT_EQ(0, kfd_ring_space(q));
		ASSERT_EQ(-EAGAIN, kfd_ring_submit(q, &nop, 1, 0));
		*gate = round;
		EXPECT_EQ(0, KFD_WAIT(kfd_ring_space(q) >= add.used, 100 * US, LONG));
		ASSERT_EQ(0, submit(q, &add));
		EXPECT_EQ(0, wait_equal(sum, ++adds, LONG));
	}
}

TEST_F_CALLS(ring, full_pm4_ring, full_ring(_metadata, &self->host, &pm4))
TEST_F_CALLS(ring, full_sdma_ring, full_ring(_metadata, &self->host, &sdma))

TEST_F(ring, full_aql_ring)
{
	struct host *h = &self->host;
	struct kfd_queue *q = host_queue(_metadata, h, KFD_QUEUE_AQL);
	struct kfd_signal *gate = host_signal(h, 0), *done = host_signal(h, 0);
	int64_t round, n = 0;

	kfd_signal_reset(done, 1000000);
	for (round = 1; round <= 5; round++) {
		kfd_signal_reset(gate, 1);
		ASSERT_EQ(0, submit_aql(q, aql_barrier(BARRIER_AND, gate, done)));
		for (n++; !submit_aql(q, aql_barrier(BARRIER_OR, NULL, done)); n++)
			;
		EXPECT_EQ(RING_PACKETS, kfd_queue_wptr(q) - kfd_queue_rptr(q));
		kfd_sleep_ns(MS);
		EXPECT_EQ(RING_PACKETS, kfd_queue_wptr(q) - kfd_queue_rptr(q));
		kfd_signal_reset(gate, 0);
		EXPECT_EQ(0, KFD_WAIT(kfd_queue_wptr(q) == kfd_queue_rptr(q), 100 * US, LONG));
		EXPECT_EQ(n, (int64_t)kfd_queue_rptr(q));	/* 64 bits: it does not wrap */
	}
	EXPECT_EQ(0, wait_equal((volatile uint64_t *)&done->value, (uint64_t)(1000000 - n), LONG));
}

/*
 * With the hardware scheduler all queues leave and come back whenever any queue is created or destroyed, without it a queue when it is
 * updated; here in the middle of buffers. Each goes on where it was: nothing is added twice, nothing left out.
 */
TEST_F(ring, buffers_survive_a_remap)
{
	struct host *h = &self->host;
	struct kfd_queue *q[3] = {
		host_queue(_metadata, h, KFD_QUEUE_AQL), host_queue(_metadata, h, KFD_QUEUE_PM4), host_queue(_metadata, h, KFD_QUEUE_SDMA),
	};
	struct kfd_signal *done = host_signal(h, 1);
	struct stream ring[3] = { 0 }, outer[3] = { 0 }, inner[3] = { 0 };
	volatile uint64_t *gate[3], *sum[3];
	int i, gates;

	for (i = 0; i < 3; i++) {
		const struct format *f = i == 2 ? &sdma : &pm4;

		gate[i] = give(h, 8);
		sum[i] = give(h, 8);
		f->add(&inner[i], sum[i], 1);
		f->wait(&inner[i], gate[i], 1);
		f->add(&inner[i], sum[i], 1);
		f->add(&outer[i], sum[i], 1);
		if (f == &pm4)				/* SDMA's do not nest */
			f->buffer(&outer[i], host_stream(h, &inner[i]), inner[i].used);
		else
			put(&outer[i], inner[i].words, inner[i].used);
		f->wait(&outer[i], gate[i], 2);
		f->add(&outer[i], sum[i], 1);
		if (i == 0) {
			ASSERT_EQ(0, submit_aql(q[i], aql_buffer(host_stream(h, &outer[i]), outer[i].used, done)));
			continue;
		}
		f->buffer(&ring[i], host_stream(h, &outer[i]), outer[i].used);
		f->add(&ring[i], sum[i], 1);
		ASSERT_EQ(0, submit(q[i], &ring[i]));
	}
	for (gates = 0; gates < 2; gates++) {
		for (i = 0; i < 3; i++)
			EXPECT_EQ(0, wait_equal(sum[i], gates ? 3 : 2, LONG));
		host_queue(_metadata, h, KFD_QUEUE_AQL);
		kfd_sleep_ns(MS);
		ASSERT_EQ(0, kfd_queue_destroy(&h->queue[--h->queues]));
		for (i = 0; i < 2; i++)
			ASSERT_EQ(0, kfd_queue_update(q[i], KFD_PRIORITY_NORMAL - 1 + (uint32_t)gates, 100));
		for (i = 0; i < 3; i++) {
			EXPECT_EQ(gates ? 3 : 2, *sum[i]);
			*gate[i] = gates + 1;
		}
	}
	EXPECT_EQ(0, kfd_signal_poll(done, LONG));
	EXPECT_EQ(4, *sum[0]);
	EXPECT_EQ(0, wait_equal(sum[1], 5, LONG));
	EXPECT_EQ(0, wait_equal(sum[2], 5, LONG));
}

/* ---- model kernels, and packets that stop a queue ---- */

FIXTURE(device) {
	struct host host;
	BEFORE_TEST;
};

FIXTURE_SETUP(device)
{
	SETUP_DEVICE();
	NEEDS_VGPU();
	ASSERT_EQ(0, host_open(&self->host));
}

FIXTURE_TEARDOWN(device)
{
	actor_forget_all();
	host_close(&self->host);
	EXPECT_DEVICE_UNHARMED();
}

TEST_F(device, pm4_queue_runs_kernels)
{
	struct host *h = &self->host;
	struct stream s = { .used = 0 }, buffer = { .used = 0 };
	struct kfd_queue *q = host_queue(_metadata, h, KFD_QUEUE_PM4);
	volatile uint64_t *done = give(h, 8);
	struct kfd_work w;

	host_work(h, &w, 3, 24, 4, 100 * US);
	pm4_launch(&s, &w);
	pm4_launch(&buffer, &w);
	pm4_buffer(&s, host_stream(h, &buffer), buffer.used);
	pm4_launch(&s, &w);
	pm4_release(&s, done, 9, 0);
	ASSERT_EQ(0, submit(q, &s));
	ASSERT_EQ(0, wait_equal(done, 9, LONG));
	EXPECT_WORK_ONCE(&w);
}

/* From the ring, from a buffer, and with a grid that is in memory: each wave that registers describe executes its code once */
TEST_F(device, pm4_queue_executes_machine_code)
{
	struct host *h = &self->host;
	struct stream s = { .used = 0 }, buffer = { .used = 0 };
	struct kfd_queue *q = host_queue(_metadata, h, KFD_QUEUE_PM4);
	volatile uint64_t *done = give(h, 8);
	const uint32_t *kd = host_code(h, "work", "work.kd");
	uint32_t *grid = give(h, 12);
	struct kfd_work w;

	ASSERT_NE(NULL, kd);
	host_work(h, &w, 3, 24, 4, 100 * US);
	grid[0] = w.waves;
	grid[1] = 1;
	grid[2] = 1;
	pm4_launch_work(&s, &w, kd, NULL);
	pm4_launch_work(&buffer, &w, kd, grid);
	pm4_buffer(&s, host_stream(h, &buffer), buffer.used);
	pm4_launch_work(&s, &w, kd, grid);
	pm4_release(&s, done, 9, 0);
	ASSERT_EQ(0, submit(q, &s));
	ASSERT_EQ(0, wait_equal(done, 9, LONG));
	EXPECT_WORK_ONCE(&w);
}

TEST_F(device, aql_buffer_ends_behind_its_kernels)
{
	struct host *h = &self->host;
	struct stream s = { .used = 0 };
	struct kfd_queue *q = host_queue(_metadata, h, KFD_QUEUE_AQL);
	struct kfd_signal *done = host_signal(h, 1);
	struct kfd_work w;

	host_work(h, &w, 2, 16, 4, 500 * US);
	pm4_launch(&s, &w);
	pm4_launch(&s, &w);
	ASSERT_EQ(0, submit_aql(q, aql_buffer(host_stream(h, &s), s.used, done)));
	ASSERT_EQ(0, wait_work(&w, 1));
	EXPECT_EQ(1, done->value);
	ASSERT_EQ(0, kfd_signal_poll(done, LONG));
	EXPECT_WORK_ONCE(&w);
}

/* Two queues of a process and one of another one, the last first: each waits for the one before it. */
TEST_F(device, signals_order_queues_and_processes)
{
	struct kfd_signal *gate = actor_common_signal(0, 1), *last = actor_common_signal(1, 1);
	struct actor *a = worker(_metadata, 0, 1, 8, 2, MS), *b = worker(_metadata, 0, 1, 8, 2, MS);

	ASSERT_EQ(1, actor_queue(a, KFD_BACKING_GTT, KFD_PRIORITY_NORMAL));
	ASSERT_EQ(1, actor_work(a, 1, 8, 2, MS));
	ASSERT_EQ(0, actor_barrier(b, 0, last));
	ASSERT_EQ(0, actor_submit(b, 0, 0, 1, KFD_PACKET_BARRIER));
	ASSERT_EQ(0, actor_barrier(a, 0, gate));
	ASSERT_EQ(0, actor_submit(a, 0, 0, 1, KFD_PACKET_BARRIER));
	ASSERT_EQ(0, actor_barrier(a, 1, a->done[0]));
	ASSERT_EQ(0, actor_submit(a, 1, 1, 1, KFD_PACKET_BARRIER));
	kfd_sleep_ns(SHORTLY);
	EXPECT_EQ(0, actor_tally(a).done + actor_tally(b).done);
	kfd_signal_reset(gate, 0);
	ASSERT_EQ(0, actor_wait(a, 1, LONG));
	EXPECT_TRUE(actor_done(a, 0));
	EXPECT_EQ(0, actor_tally(b).done);
	kfd_signal_reset(last, 0);
	ASSERT_DONE_ONCE(a, b);
}

static struct aql_packet aql_dispatch(const void *kernel, uint16_t dimensions, uint32_t grid)
{
	struct aql_packet p = { .header = HEADER(DISPATCH), .second = dimensions };

	p.word[0] = VGPU_WAVE_LANES | 1u << 16;
	p.word[1] = 1;
	p.word[2] = grid;
	p.word[3] = 1;
	p.word[4] = 1;
	p.word[7] = LO(kernel);
	p.word[8] = HI(kernel);
	return p;
}

/*
 * Bad packets: counted, told to the runtime, and the queue takes no more of them. Another queue of the process and another process do not
 * notice, and the queue is as stopped when it was off the hardware in between.
 */
struct bystanders {
	struct actor *other;
	struct kfd_queue *q;
	struct kfd_work work;
	struct kfd_signal *done;
};

static void bystanders_start(struct __test_metadata *_metadata, struct host *h, struct bystanders *b)
{
	b->other = worker(_metadata, 0, 1, 8, 20, MS);
	ASSERT_EQ(0, kfd_runtime_enable(&h->client));
	b->q = host_queue(_metadata, h, KFD_QUEUE_AQL);
	b->done = host_signal(h, 1);
	host_work(h, &b->work, 1, 8, 20, MS);
	ASSERT_EQ(0, kfd_work_submit(b->q, &b->work, b->done, 0));
	ASSERT_EQ(0, actor_submit(b->other, 0, 0, 1, 0));
}

static void bystanders_end(struct __test_metadata *_metadata, struct bystanders *b)
{
	EXPECT_EQ(0, kfd_signal_poll(b->done, LONG));
	EXPECT_WORK_ONCE(&b->work);
	ASSERT_DONE_ONCE(b->other);
}

TEST_F(device, bad_aql_packets_stop_their_queue)
{
	struct host *h = &self->host;
	struct bystanders bystanders;
	struct kfd_signal *event = host_signal(h, 1), *behind = host_signal(h, 1), *earlier = host_signal(h, 1);
	uint64_t *status = give(h, 8);
	struct kfd_queue *q;
	struct kfd_work work;
	int i;

	bystanders_start(_metadata, h, &bystanders);
	ASSERT_EQ(0, kfd_signal_init_event(&h->client, event, 1));
	host_work(h, &work, 6, 4, 4, MS);
	for (i = 0; i < 6; i++) {
		const struct {
			struct aql_packet packet;
			int exception;
		} bad[] = {
			{ { .header = HEADER(AGENT) }, PACKET_UNSUPPORTED },
			{ { .header = HEADER(NO_SUCH_TYPE) }, PACKET_RESERVED },
			{ { .header = HEADER(VENDOR), .second = NO_SUCH_FORMAT }, VENDOR_UNSUPPORTED },
			{ aql_dispatch(work.args, 1, VGPU_WAVE_LANES), DISPATCH_CODE_INVALID },
			{ aql_dispatch(work.kernel, 1, 0), DISPATCH_DIM_INVALID },
			{ aql_dispatch(work.kernel, 0, VGPU_WAVE_LANES), DISPATCH_DIM_INVALID },
		};

		q = host_queue(_metadata, h, KFD_QUEUE_AQL);
		kfd_queue_catch(q, status, event->event_id);
		kfd_signal_reset(earlier, 1);
		ASSERT_EQ(0, kfd_work_submit(q, &work, earlier, 0));
		ASSERT_EQ(0, submit_aql(q, bad[i].packet));
		ASSERT_EQ(0, submit_aql(q, aql_barrier(BARRIER_AND, NULL, behind)));
		EXPECT_EQ(0, kfd_event_wait(&h->client, event->event_id, LONG)) TH_LOG("packet %d", i);
		EXPECT_EQ(EXCEPTION(bad[i].exception), *status) TH_LOG("packet %d", i);
		self->health.bad_packets++;
		host_queue(_metadata, h, KFD_QUEUE_AQL);		/* everything is unmapped and mapped */
		EXPECT_EQ(0, kfd_signal_poll(earlier, LONG));
		EXPECT_EQ(1, behind->value);
		EXPECT_EQ(1, kfd_queue_rptr(q));
		ASSERT_EQ(0, kfd_queue_destroy(&h->queue[--h->queues]));
		ASSERT_EQ(0, kfd_queue_destroy(&h->queue[--h->queues]));
	}
	EXPECT_WORK_ONCE(&work);
	bystanders_end(_metadata, &bystanders);
}

TEST_F(device, bad_streams_stop_their_queue)
{
	static const struct {
		const struct format *f;
		uint32_t words[6], count;
		int exception;			/* 0: nobody is told */
	} bad[] = {
		{ &pm4, { PM4(0xff, 2) }, 2, PACKET_UNSUPPORTED },
		{ &pm4, { 0x40000000u }, 1, PACKET_RESERVED },
		{ &pm4, { PM4(PM4_WRITE_DATA, 3) }, 3, PACKET_UNSUPPORTED },
		{ &sdma, { 0xfe }, 1, 0 },
	};
	struct host *h = &self->host;
	struct bystanders bystanders;
	struct kfd_signal *event = host_signal(h, 1);
	uint64_t *status = give(h, 8);
	size_t i;

	bystanders_start(_metadata, h, &bystanders);
	ASSERT_EQ(0, kfd_signal_init_event(&h->client, event, 1));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct kfd_queue *q = host_queue(_metadata, h, bad[i].f->kind);
		volatile uint64_t *m = give(h, 16);
		struct stream s = { .used = 0 };

		if (bad[i].exception)
			kfd_queue_catch(q, status, event->event_id);
		bad[i].f->write(&s, m, 1);
		put(&s, bad[i].words, bad[i].count);
		bad[i].f->write(&s, m + 1, 1);
		ASSERT_EQ(0, submit(q, &s));
		if (bad[i].exception) {
			EXPECT_EQ(0, kfd_event_wait(&h->client, event->event_id, LONG)) TH_LOG("packet %zu", i);
			EXPECT_EQ(EXCEPTION(bad[i].exception), *status) TH_LOG("packet %zu", i);
		} else {
			kfd_sleep_ns(SHORTLY);
		}
		self->health.bad_packets++;
		EXPECT_EQ(self->health.bad_packets, device_health().bad_packets);
		host_queue(_metadata, h, KFD_QUEUE_AQL);
		kfd_sleep_ns(SHORTLY);
		EXPECT_EQ(1, (uint32_t)m[0]);
		EXPECT_EQ(0, (uint32_t)m[1]);
		ASSERT_EQ(0, kfd_queue_destroy(&h->queue[--h->queues]));
		ASSERT_EQ(0, kfd_queue_destroy(&h->queue[--h->queues]));
	}
	bystanders_end(_metadata, &bystanders);
}

/* A wave that cannot go on tells its queue and why, as the runtime's trap handler does; other queues and processes do not notice. */
TEST_F(device, exceptions_of_waves_are_told)
{
	static const struct {
		const char *kernel;
		uint32_t number;
		int exception;
	} bad[] = {
		{ "illegal.kd", 0, WAVE_ILLEGAL_INSTRUCTION },
		{ "trap.kd", 2, WAVE_ABORT },
		{ "trap.kd", 7, WAVE_TRAP },
	};
	struct host *h = &self->host;
	struct bystanders bystanders;
	struct kfd_signal *event = host_signal(h, 1);
	uint64_t *status = give(h, 8);
	size_t i;

	bystanders_start(_metadata, h, &bystanders);
	ASSERT_EQ(0, kfd_signal_init_event(&h->client, event, 1));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const uint32_t *kd = host_code(h, "kernels", bad[i].kernel);
		struct kfd_queue *q = host_queue(_metadata, h, KFD_QUEUE_PM4);
		volatile uint32_t *out = give(h, 8);
		struct {
			uint64_t out;
			uint32_t number;
		} *args = give(h, sizeof(*args));
		struct stream s = { .used = 0 };

		ASSERT_NE(NULL, kd);
		kfd_queue_catch(q, status, event->event_id);
		args->out = (uintptr_t)out;
		args->number = bad[i].number;
		pm4_launch_code(&s, kd, args, 1, NULL);
		ASSERT_EQ(0, submit(q, &s));
		EXPECT_EQ(0, kfd_event_wait(&h->client, event->event_id, LONG)) TH_LOG("case %zu", i);
		EXPECT_EQ(EXCEPTION(bad[i].exception), *status) TH_LOG("case %zu", i);
		EXPECT_EQ(1, out[0]);
		EXPECT_EQ(0, out[1]);
		self->health.bad_packets++;
		ASSERT_EQ(0, kfd_queue_destroy(&h->queue[--h->queues]));
	}
	bystanders_end(_metadata, &bystanders);
}

/* Many waves write where they must not: their process is told where and why, and another one does not notice. Return: faults of the device */
static int64_t fault_is_reported(struct __test_metadata *_metadata, struct host *h, const volatile void *at, bool not_present)
{
	const uint32_t *kd = host_code(h, "kernels", "store.kd");
	struct actor *other = worker(_metadata, 0, 1, 8, 20, MS);
	struct kfd_queue *q = host_queue(_metadata, h, KFD_QUEUE_PM4);
	uint64_t *args = give(h, 8);
	struct kfd_memory_fault f = { 0 };
	struct stream s = { .used = 0 };
	uint32_t event;

	EXPECT_NE(NULL, kd);
	EXPECT_EQ(0, kfd_fault_event(&h->client, &event));
	EXPECT_EQ(0, actor_submit(other, 0, 0, 1, 0));
	*args = (uintptr_t)at;
	if (kd)
		pm4_launch_code(&s, kd, args, 64, NULL);
	EXPECT_EQ(0, submit(q, &s));
	EXPECT_EQ(0, kfd_fault_wait(&h->client, event, LONG, &f));
	EXPECT_EQ((uintptr_t)at, f.va);
	EXPECT_EQ(not_present, f.not_present);
	EXPECT_EQ(true, f.read_only);
	EXPECT_EQ(h->client.gpu_id, f.gpu_id);
	EXPECT_EQ(0, actor_wait(other, 0, LONG));
	EXPECT_EXACTLY_ONCE(other);
	EXPECT_EQ(0, kfd_queue_destroy(&h->queue[--h->queues]));
	return device_health().gpuvm_faults;
}

TEST_F(device, missing_page_of_pm4_code_is_reported)
{
	int64_t faults = fault_is_reported(_metadata, &self->host, (void *)0x123456789000, true);

	EXPECT_GT(faults, self->health.gpuvm_faults);
	self->health.gpuvm_faults = faults;
}

TEST_F(device, write_of_pm4_code_to_read_only_memory_is_reported)
{
	struct kfd_buffer b;
	int64_t faults;

	ASSERT_EQ(0, kfd_buffer_place(&self->host.client, KFD_IN_GTT, NULL, KFD_PAGE_BYTES, 0, &b));
	faults = fault_is_reported(_metadata, &self->host, b.ptr, false);
	EXPECT_GT(faults, self->health.gpuvm_faults);
	self->health.gpuvm_faults = faults;
	EXPECT_EQ(0, *(volatile uint32_t *)b.ptr);
}

/* ---- under the scheduler: the test is the low process ---- */

FIXTURE(scheduled) {
	struct host host;
	BEFORE_TEST;
	struct actor *urgent;
};

FIXTURE_SETUP(scheduled)
{
	SETUP_SCHEDULER("gpreempt_poll_us", 50);
	NEEDS_VGPU();
	/* Saving all waves of a large device takes milliseconds: the budget lets two in a row through, not three. */
	ASSERT_EQ(0, kfd_param_set("gpreempt_overhead_pct", 0));
	self->urgent = with_queue(_metadata, 0);
	ASSERT_EQ(0, setpriority(PRIO_PROCESS, 0, LOW_NICE));
	ASSERT_EQ(0, host_open(&self->host));
}

FIXTURE_TEARDOWN(scheduled)
{
	host_close(&self->host);
	TEARDOWN_SCHEDULER();
}

#define VICTIM_STEPS	40

/* Launches something that fills the device for a while. */
typedef int launch_fn(struct host *h, struct kfd_queue *q, struct kfd_work *w, struct kfd_signal *done);

static int launch_aql(struct host *h, struct kfd_queue *q, struct kfd_work *w, struct kfd_signal *done)
{
	return kfd_work_submit(q, w, done, 0);
}

static int launch_pm4(struct host *h, struct kfd_queue *q, struct kfd_work *w, struct kfd_signal *done)
{
	struct stream s = { .used = 0 };

	pm4_launch(&s, w);
	pm4_release(&s, &done->value, 0, 0);
	return submit(q, &s);
}

static int launch_pm4_code(struct host *h, struct kfd_queue *q, struct kfd_work *w, struct kfd_signal *done)
{
	const uint32_t *kd = host_code(h, "work", "work.kd");
	struct stream s = { .used = 0 };

	if (!kd)
		return -ENOENT;
	pm4_launch_work(&s, w, kd, NULL);
	pm4_release(&s, &done->value, 0, 0);
	return submit(q, &s);
}

static int launch_in_buffers(struct host *h, struct kfd_queue *q, struct kfd_work *w, struct kfd_signal *done)
{
	struct stream inner = { .used = 0 }, outer = { .used = 0 };

	pm4_launch(&inner, w);
	pm4_buffer(&outer, host_stream(h, &inner), inner.used);
	return submit_aql(q, aql_buffer(host_stream(h, &outer), outer.used, done));
}

/* One XCC may be at work again before the other one has its waves back. */
static int wait_all_restored(int64_t saved, int64_t restored)
{
	return KFD_WAIT(kfd_vgpu_stat("waves_saved") - saved == kfd_vgpu_stat("waves_restored") - restored, 200 * US, LONG);
}

static void victim_is_preempted(struct __test_metadata *_metadata, struct host *h, struct actor *urgent, uint32_t slots,
				enum kfd_queue_kind kind, launch_fn *launch)
{
	struct kfd_queue *q = host_queue(_metadata, h, kind);
	struct kfd_signal *done = host_signal(h, 1);
	/* what PM4 packets dispatch runs on the XCC that reads them */
	uint32_t reach = launch == launch_aql ? slots : slots / h->client.num_xcc;
	uint64_t items = (uint64_t)(reach * 3 / 2) * VICTIM_STEPS;
	int64_t saved = kfd_vgpu_stat("waves_saved"), restored = kfd_vgpu_stat("waves_restored");
	struct kfd_gpreempt_queue state;
	struct kfd_work w;
	int round;

	/* more waves than slots: the dispatch is half launched when it is taken off */
	host_work(h, &w, 1, reach * 3 / 2, VICTIM_STEPS, MS);
	ASSERT_EQ(0, actor_work(urgent, 4, slots, 2, MS));
	ASSERT_EQ(0, launch(h, q, &w, done));
	for (round = 1; round <= 3; round++) {
		ASSERT_EQ(0, wait_all_restored(saved, restored));
		ASSERT_EQ(0, wait_work(&w, kfd_work_progress(&w) + 1));
		ASSERT_EQ(0, launch_completes(urgent));
		EXPECT_LT(kfd_work_progress(&w), items);
		EXPECT_EQ(1, done->value);
	}
	ASSERT_EQ(0, kfd_signal_poll(done, LONG));
	/* What is urgent may be done before the last preemption is confirmed, but the victim is not. */
	ASSERT_EQ(0, kfd_gpreempt_queue_get(h->client.gpu_id, getpid(), q->id, &state));
	EXPECT_EQ(3, state.preempt_count);
	EXPECT_WORK_ONCE(&w);
	EXPECT_EXACTLY_ONCE(urgent);
	/* Where a workgroup has just ended the next one is not there yet. */
	EXPECT_GE(kfd_vgpu_stat("waves_saved"), saved + 3 * (int64_t)reach * 9 / 10);
	EXPECT_EQ(kfd_vgpu_stat("waves_saved") - saved, kfd_vgpu_stat("waves_restored") - restored);
}

TEST_F_CALLS(scheduled, aql_queue_is_preempted_in_the_middle_of_a_kernel,
	     victim_is_preempted(_metadata, &self->host, self->urgent, self->slots, KFD_QUEUE_AQL, launch_aql))
TEST_F_CALLS(scheduled, pm4_queue_is_preempted_in_the_middle_of_a_kernel,
	     victim_is_preempted(_metadata, &self->host, self->urgent, self->slots, KFD_QUEUE_PM4, launch_pm4))
TEST_F_CALLS(scheduled, pm4_queue_is_preempted_in_the_middle_of_machine_code,
	     victim_is_preempted(_metadata, &self->host, self->urgent, self->slots, KFD_QUEUE_PM4, launch_pm4_code))
TEST_F_CALLS(scheduled, buffers_of_an_aql_packet_are_preempted_in_the_middle_of_a_kernel,
	     victim_is_preempted(_metadata, &self->host, self->urgent, self->slots, KFD_QUEUE_AQL, launch_in_buffers))

/* An urgent PM4 queue preempts as an AQL queue does: it is the low process's turn to be urgent. */
TEST_F(scheduled, pm4_queue_preempts_others)
{
	struct host *h = &self->host;
	struct kfd_queue *q = host_queue(_metadata, h, KFD_QUEUE_PM4);
	struct kfd_signal *done = host_signal(h, 1);
	struct kfd_work w;

	ASSERT_EQ(0, setpriority(PRIO_PROCESS, 0, -LOW_NICE));
	ASSERT_EQ(0, actor_work(self->urgent, 1, self->slots, 40, MS));
	ASSERT_EQ(0, launch_begins(self->urgent));
	kfd_sleep_ns(6 * MS);			/* a change of nice(1) tells nobody: the monitor looks now and then */
	host_work(h, &w, 1, self->slots, 2, MS);
	ASSERT_EQ(0, launch_pm4(h, q, &w, done));
	ASSERT_EQ(0, kfd_signal_poll(done, LONG));
	EXPECT_FALSE(actor_done(self->urgent, 0));
	EXPECT_EQ(1, preempt_count(self->urgent, 0));
	ASSERT_DONE_ONCE(self->urgent);
	EXPECT_WORK_ONCE(&w);
}

/* While the compute queue of the low process is held, its SDMA queue copies; and the scheduler does not know it. */
TEST_F(scheduled, sdma_queue_is_never_preempted)
{
	struct host *h = &self->host;
	struct kfd_queue *compute = host_queue(_metadata, h, KFD_QUEUE_AQL), *copy = host_queue(_metadata, h, KFD_QUEUE_SDMA);
	struct kfd_signal *done = host_signal(h, 1);
	volatile uint64_t *sum = give(h, 8);
	struct kfd_gpreempt_queue state;
	struct stream s = { .used = 0 };
	struct kfd_work w;
	int i;

	host_work(h, &w, 1, self->slots, 20, MS);
	ASSERT_EQ(0, actor_work(self->urgent, 1, self->slots, 50, MS));
	ASSERT_EQ(0, launch_aql(h, compute, &w, done));
	ASSERT_EQ(0, wait_work(&w, 1));
	ASSERT_EQ(0, launch_begins(self->urgent));
	/* urgent waves begin on the first XCC while the second one is still being saved */
	ASSERT_EQ(0, wait_queue_state(h->client.gpu_id, getpid(), compute->id, "preempted", LONG));
	sdma_add(&s, sum, 1);
	for (i = 1; i <= 10; i++) {
		ASSERT_EQ(0, submit(copy, &s));
		EXPECT_EQ(0, wait_equal(sum, (uint64_t)i, LONG));
	}
	EXPECT_TRUE(queue_state_is(h->client.gpu_id, getpid(), compute->id, "preempted"));
	EXPECT_FALSE(actor_done(self->urgent, 0));
	EXPECT_EQ(-ENOENT, kfd_gpreempt_queue_get(h->client.gpu_id, getpid(), copy->id, &state));
	ASSERT_EQ(0, kfd_signal_poll(done, LONG));
	EXPECT_WORK_ONCE(&w);
	EXPECT_EXACTLY_ONCE(self->urgent);
}

/* Nor does it ask for anything: an urgent process that only copies takes nobody off. */
TEST_F(scheduled, sdma_queue_preempts_nobody)
{
	struct host *h = &self->host;
	struct kfd_queue *copy = host_queue(_metadata, h, KFD_QUEUE_SDMA);
	volatile uint64_t *gate = give(h, 8), *sum = give(h, 8);
	struct stream s = { .used = 0 };

	ASSERT_EQ(0, setpriority(PRIO_PROCESS, 0, -LOW_NICE));
	ASSERT_EQ(0, actor_work(self->urgent, 1, self->slots, 20, MS));
	ASSERT_EQ(0, launch_begins(self->urgent));
	sdma_wait(&s, gate, 1);			/* pending for as long as the kernel runs */
	sdma_add(&s, sum, 1);
	ASSERT_EQ(0, submit(copy, &s));
	ASSERT_EQ(0, actor_wait(self->urgent, 0, LONG));
	EXPECT_EQ(0, preempt_count(self->urgent, 0));
	*gate = 1;
	EXPECT_EQ(0, wait_equal(sum, 1, LONG));
	EXPECT_EXACTLY_ONCE(self->urgent);
}

TEST_HARNESS_MAIN
