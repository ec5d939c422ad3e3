// SPDX-License-Identifier: MIT
/*
 * code_test.c - kernels in machine code on the whole device model: queues, memory, preemption (TAP)
 *
 *	code_test GFX90A.co GFX942.co
 */
#include <stdarg.h>

#include "../bed.h"
#include "object.h"
#include "reader.h"

#define US		1000ULL
#define MS		1000000ULL
#define LONG		(1000 * MS)
#define WORKGROUP	256u
#define BARRIER_BIT	0x100u
#define MANY		2000u		/* preemptions of a kernel that needs some dozens */
#define S_BARRIER	0xbf8a0000u
#define RESTORE_NS	(11 * US)	/* the model's trap handler, and a few kilobytes */

static u32 tests, failures;
static char why[256];

/* A device with a process, a queue, and a code object in its memory */
struct setup {
	struct bed *b;
	struct bed_process *p;
	struct bed_queue *q;
	const void *file;
	size_t code_bytes;
	u64 code;
	u64 args_va, signal_va;
	void *args;
	s64 *signal;
};

static bool fail(const char *format, ...)
{
	va_list args;

	if (*why)			/* of a check inside of this one */
		return false;
	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	return false;
}

#define CHECK(c)	do { if (!(c)) return fail("%s:%d: %s", __func__, __LINE__, #c); } while (0)

static void add_process(struct setup *s)
{
	void *cpu;

	s->p = bed_process(s->b);
	s->q = bed_queue(s->b, s->p);
	s->code = bed_alloc(s->b, s->p, s->code_bytes, &cpu);
	object_load(s->file, cpu);
	s->args_va = bed_alloc(s->b, s->p, 4096, &s->args);
	s->signal_va = s->args_va + 1024;
	s->signal = (s64 *)((u8 *)s->args + 1024 + 8);
}

static struct setup set_up(const void *file, size_t bytes, void (*configure)(struct vgpu_config *c))
{
	struct setup s = { .b = bed_new(configure), .file = file, .code_bytes = bytes + 0x10000 };

	bed_driver_up(s.b);
	add_process(&s);
	return s;
}

static bool submit(struct setup *s, const char *kernel, const u32 grid[3], const u32 workgroup[3], u32 private_bytes, u32 lds_bytes)
{
	u16 head[6] = { 2 | BARRIER_BIT, 3, (u16)workgroup[0], (u16)workgroup[1], (u16)workgroup[2], 0 };
	u8 packet[64] = { 0 };
	char kd[64];
	u64 va;

	snprintf(kd, sizeof(kd), "%s.kd", kernel);
	CHECK(object_symbol(s->file, kd, &va));
	va += s->code;
	memcpy(packet, head, sizeof(head));
	memcpy(packet + 12, grid, 12);
	memcpy(packet + 24, &private_bytes, 4);
	memcpy(packet + 28, &lds_bytes, 4);
	memcpy(packet + 32, &va, 8);
	memcpy(packet + 40, &s->args_va, 8);
	memcpy(packet + 56, &s->signal_va, 8);
	*s->signal = 1;
	bed_submit_raw(s->b, s->q, packet, true);
	return true;
}

/* With these arguments, on a device that begins with it */
static bool start(struct setup *s, const char *kernel, const void *args, size_t bytes, const u32 grid[3], const u32 workgroup[3], u32 private_bytes,
		  u32 lds_bytes)
{
	memcpy(s->args, args, bytes);
	CHECK(submit(s, kernel, grid, workgroup, private_bytes, lds_bytes));
	CHECK(bed_runlist(s->b, &s->q, 1));
	return true;
}

static bool is_done(void *signal)
{
	return *(s64 *)signal <= 0;
}

static const u32 group_of_256[3] = { WORKGROUP, 1, 1 };

static bool vector_add(struct setup *s)
{
	const u32 n = 5000, grid[3] = { n, 1, 1 };
	struct {
		u64 out, x, y;
		u32 n;
	} args = { .n = n };
	float *out, *x, *y;
	u32 i;

	args.out = bed_alloc(s->b, s->p, n * 4, (void **)&out);
	args.x = bed_alloc(s->b, s->p, n * 4, (void **)&x);
	args.y = bed_alloc(s->b, s->p, n * 4, (void **)&y);
	for (i = 0; i < n; i++) {
		x[i] = (float)i * 0.37f;
		y[i] = 1e6f / (float)(i + 1);
	}
	CHECK(start(s, "vector_add", &args, sizeof(args), grid, group_of_256, 0, 0));
	CHECK(bed_run_until(s->b, is_done, s->signal, LONG));
	for (i = 0; i < n; i++)
		CHECK(out[i] == x[i] + y[i]);
	CHECK(*s->q->read_index == 1);
	CHECK(bed_stat(s->b, "waves_done") >= (n + 63) / 64);
	CHECK(bed_stat(s->b, "slots_busy") == 0);
	return true;
}

/* Dispatches that wait for each other: the next one starts when the one before is done, however long the model takes for that */
static bool dispatches_follow_each_other(struct setup *s)
{
	const u32 n = 64 * WORKGROUP, grid[3] = { n, 1, 1 }, launches = 12;
	u64 args[2], signal = s->signal_va;
	u32 i, *sums, *in;

	args[0] = bed_alloc(s->b, s->p, 4096, (void **)&sums);
	args[1] = bed_alloc(s->b, s->p, n * 4, (void **)&in);
	for (i = 0; i < n; i++)
		in[i] = i;
	memcpy(s->args, args, sizeof(args));
	for (i = 0; i < launches; i++) {
		s->signal_va = i + 1 == launches ? signal : 0;
		CHECK(submit(s, "reduce", grid, group_of_256, 0, 1024));
	}
	CHECK(bed_runlist(s->b, &s->q, 1));
	CHECK(bed_run_until(s->b, is_done, s->signal, LONG));
	CHECK(bed_stat(s->b, "dispatches_done") == launches);
	CHECK(sums[63] == WORKGROUP * (63 * WORKGROUP) + WORKGROUP * (WORKGROUP - 1) / 2);
	return true;
}

/* Off the device and on again at odd moments, until it is done; in between nothing of it is on the device */
static bool preempt_until_done(struct setup *s, u64 *preemptions)
{
	u64 n = 0;

	while (!is_done(s->signal)) {
		/* just longer than restoring takes: a few instructions of each wave */
		bed_run_for(s->b, RESTORE_NS + n % 7 * 300);
		CHECK(bed_unmap(s->b, false));
		CHECK(bed_stat(s->b, "slots_busy") == 0);
		CHECK(bed_runlist(s->b, &s->q, 1));
		CHECK(n++ < MANY);
	}
	*preemptions = n;
	return true;
}

#define MATRIX		64u		/* rows, and columns */

struct matrices {
	float *out, *x, *y;
};

static bool multiply(struct setup *s, struct matrices *m)
{
	const u32 n = MATRIX, grid[3] = { n, n, 1 }, workgroup[3] = { 16, 16, 1 };
	struct {
		u64 out, x, y;
		u32 n;
	} args = { .n = n };
	u32 i;

	args.out = bed_alloc(s->b, s->p, n * n * 4, (void **)&m->out);
	args.x = bed_alloc(s->b, s->p, n * n * 4, (void **)&m->x);
	args.y = bed_alloc(s->b, s->p, n * n * 4, (void **)&m->y);
	for (i = 0; i < n * n; i++) {
		m->x[i] = (float)(i * 7 % 1000) / 7;
		m->y[i] = (float)(i * 13 % 1000) / 11 - 40;
	}
	return start(s, "matrix_multiply", &args, sizeof(args), grid, workgroup, 0, 2048);
}

/* It has been preempted, and the product is right. */
static bool is_multiplied(struct setup *s, const struct matrices *m)
{
	const u32 n = MATRIX;
	u32 i, j, k;

	CHECK(bed_stat(s->b, "waves_saved") > 0);
	CHECK(bed_stat(s->b, "bad_records") == 0);
	CHECK(bed_stat(s->b, "waves_done") == 64);
	for (i = 0; i < n; i++)
		for (j = 0; j < n; j++) {
			float sum = 0;

			for (k = 0; k < n; k++)
				sum += m->x[i * n + k] * m->y[k * n + j];
			CHECK(m->out[i * n + j] == sum);
		}
	return true;
}

static bool matrices_survive_preemption(struct setup *s)
{
	struct matrices m;
	u64 preemptions;

	CHECK(multiply(s, &m));
	CHECK(preempt_until_done(s, &preemptions));
	CHECK(preemptions > 5);
	return is_multiplied(s, &m);
}

/* The same on a device whose model is slower than it, so that slices follow each other at once: still taken off in between */
static bool matrices_survive_preemption_of_a_late_model(struct setup *s)
{
	u32 i, preemptions = 0, most = 0;
	struct matrices m;

	CHECK(multiply(s, &m));
	s->b->access_ns = 100;
	while (!is_done(s->signal)) {
		for (i = 0; i < 4 && !is_done(s->signal); i++) {
			bed_run_for(s->b, 20 * US);
			most = s->b->m->executed > most ? s->b->m->executed : most;
		}
		CHECK(bed_unmap(s->b, false));
		CHECK(bed_stat(s->b, "slots_busy") == 0);
		CHECK(bed_runlist(s->b, &s->q, 1));
		CHECK(preemptions++ < MANY);
	}
	CHECK(preemptions > 3);
	/* more than a slice of each of the 64 waves in one run of the model */
	CHECK(most > 64 * 4);
	return is_multiplied(s, &m);
}

/*
 * A model that is late stands still for as long as it ran, while others want its CPU. While nobody does it goes on at once, and is done in
 * little more than half of the time.
 */
static bool pauses_are_for_others(struct setup *s)
{
	u64 begin, took[2], next, now, rested;
	u32 i, runs[2] = { 0 };
	struct matrices m;

	for (i = 0; i < 2; i++) {
		s->b->idle = i;
		s->b->access_ns = 0;
		CHECK(multiply(s, &m));
		s->b->access_ns = 20 * US;	/* so late that it has slept too little */
		begin = s->b->now;
		rested = begin;
		while (!is_done(s->signal)) {
			now = s->b->now;
			next = vgpu_model_run(s->b->m);
			if (s->b->m->executed) {
				runs[i]++;
				CHECK(i || now >= rested);
				CHECK(!i || is_done(s->signal) || next <= s->b->now);
				rested = s->b->now + (s->b->now - now);
			}
			s->b->now = next > s->b->now && next != U64_MAX ? next : s->b->now + 1;
		}
		took[i] = s->b->now - begin;
	}
	CHECK(runs[0] > 3 && runs[1] > 3);
	CHECK(took[1] * 3 < took[0] * 2);
	/* and owes nobody the sleep that it did not take */
	CHECK(took[1] > 2 * MS && s->b->m->credit_ns >= 0);
	return true;
}

static bool sums_survive_preemption(struct setup *s)
{
	const u32 n = 64 * WORKGROUP, grid[3] = { n, 1, 1 };
	u32 *sums, *in, i, want[64] = { 0 };
	u64 args[2], preemptions;

	args[0] = bed_alloc(s->b, s->p, 4096, (void **)&sums);
	args[1] = bed_alloc(s->b, s->p, n * 4, (void **)&in);
	for (i = 0; i < n; i++) {
		in[i] = i * 2654435761u;
		want[i / WORKGROUP] += in[i];
	}
	CHECK(start(s, "reduce", args, sizeof(args), grid, group_of_256, 0, 1024));
	CHECK(preempt_until_done(s, &preemptions));
	CHECK(preemptions > 3);
	CHECK(!memcmp(sums, want, sizeof(want)));
	return true;
}

/* What the process sees at an address */
static u32 *word_of(struct setup *s, u64 va)
{
	u64 *table = (u64 *)(s->b->vram + s->p->root), pte, at;

	table = (u64 *)(s->b->vram + (table[va >> 39 & 511] & 0x0000fffffffff000ULL));
	table = (u64 *)(s->b->vram + (table[va >> 30 & 511] & 0x0000fffffffff000ULL));
	table = (u64 *)(s->b->vram + (table[va >> 21 & 511] & 0x0000fffffffff000ULL));
	pte = table[va >> 12 & 511];
	at = (pte & 0x0000fffffffff000ULL) + (va & 4095);
	return (u32 *)(pte & PTE_S ? s->b->system + at - BED_SYSTEM_BASE : s->b->vram + at);
}

static u32 *saved_word(struct setup *s, u64 offset)
{
	return word_of(s, s->q->save_va + offset);
}

/* Fields of amd_queue_t and amd_signal_t, by offset */
#define QUEUE_OFFSET		136
#define QUEUE_TMPRING		140
#define QUEUE_SEGMENT		144
#define QUEUE_SCRATCH		160
#define QUEUE_PROPERTIES	180
#define QUEUE_INACTIVE		192
#define TICK_NS			10

/* Scratch memory for the queue, as the runtime provides it. Return: its address */
static u64 give_scratch(struct setup *s, u32 waves, u32 wave_kb)
{
	u64 scratch = bed_alloc(s->b, s->p, waves * wave_kb * 1024, NULL);
	u8 *queue = (u8 *)s->q->write_index - 56;
	u32 tmpring = waves | wave_kb << 12;

	memcpy(queue + QUEUE_TMPRING, &tmpring, 4);
	memcpy(queue + QUEUE_SEGMENT, (u32[]) { (u32)scratch, (u32)(scratch >> 32) | 1u << 31, U32_MAX, 3u << 21 | 1u << 23 }, 16);
	memcpy(queue + QUEUE_SCRATCH, &scratch, 8);
	return scratch;
}

/* The kernel "hold" */
#define HELD_WAVES		3u		/* of the four of a workgroup */
#define SCRATCH_WAVES		16u
#define SCRATCH_KB		4u

struct held {
	const u32 *in;
	u64 flag_va, scratch_va;
	u64 code;
	u32 packet;
	struct reader_wave wave[2 * HELD_WAVES + 1];
	int waves;
};

static u32 word_at(struct setup *s, u32 at)
{
	return *saved_word(s, BED_STACK_BYTES + at);
}

static u64 pair_at(struct setup *s, u32 at)
{
	return word_at(s, at) | (u64)word_at(s, at + 4) << 32;
}

/* Number of the vector register that holds the work-items' values, U32_MAX: there is none */
static u32 vgpr_of(struct setup *s, const struct reader_wave *w, const u32 *values)
{
	u32 n, lane;

	for (n = 0; n < w->vgprs; n++) {
		for (lane = 0; lane < 64 && word_at(s, reader_vgpr(w, n, lane)) == values[lane]; lane++)
			;
		if (lane == 64)
			return n;
	}
	return U32_MAX;
}

static u32 sgprs_of(struct setup *s, const struct reader_wave *w, u64 value)
{
	u32 n;

	for (n = 0; n < READER_NAMED_SGPRS; n += 2)
		if (pair_at(s, reader_sgpr(w, n)) == value)
			return n;
	return U32_MAX;
}

static bool read_waves(struct setup *s, struct held *h)
{
	const u32 *hqd = s->q->mqd_words + 0x80, used = hqd[VGPU_HQD_CNTL_STACK_SIZE] - hqd[VGPU_HQD_CNTL_STACK_OFFSET];

	CHECK(used >= 8 && !(used % 4));
	h->waves = reader_waves(s->q->mqd_words + (VGPU_PAGE + hqd[VGPU_HQD_CNTL_STACK_OFFSET]) / 4, used / 4,
				hqd[VGPU_HQD_WG_STATE_OFFSET] - BED_STACK_BYTES, h->wave, ARRAY_SIZE(h->wave));
	return true;
}

/* All that a debugger shows of wave @number of a workgroup */
static bool wave_is(struct setup *s, const struct held *h, const struct reader_wave *w, u32 workgroup, u32 number)
{
	bool gfx942 = s->b->config.asic->gfx942;
	const u32 *in = h->in + workgroup * WORKGROUP;
	u32 lane, packet, n;
	u64 pc, scratch;

	CHECK(word_at(s, reader_ttmp(w, 8)) == workgroup);
	CHECK(!word_at(s, reader_ttmp(w, 9)) && !word_at(s, reader_ttmp(w, 10)));
	CHECK((word_at(s, reader_ttmp(w, 11)) & 0x3f) == number);
	packet = gfx942 ? word_at(s, reader_ttmp(w, 11)) >> 6 & 0x1ffffff : word_at(s, reader_ttmp(w, 6)) & 0x1ffffff;
	CHECK(packet == h->packet);
	pc = pair_at(s, reader_hwreg(w, READER_HWREG_PC));
	CHECK(pc > h->code && pc < h->code + 1024 && !(pc % 4));
	CHECK(pair_at(s, reader_hwreg(w, READER_HWREG_EXEC)) == U64_MAX);
	CHECK(!(word_at(s, reader_hwreg(w, READER_HWREG_STATUS)) & READER_STATUS_HALT));
	CHECK(!word_at(s, reader_hwreg(w, READER_HWREG_TRAPSTS)));
	CHECK((word_at(s, reader_hwreg(w, READER_HWREG_MODE)) & 0x3c0) == 0x3c0);	/* denormals, DX10_CLAMP, IEEE: as it was compiled */
	CHECK(vgpr_of(s, w, in + number * 64) != U32_MAX);
	CHECK(w->acc_vgprs);
	for (lane = 0; lane < 64; lane++)
		CHECK(word_at(s, reader_acc(w, 0, lane)) == (in[number * 64 + lane] ^ 0x80000000));
	CHECK(sgprs_of(s, w, h->flag_va) != U32_MAX);
	CHECK(w->scratch && w->se < s->b->config.se && w->scratch_id < SCRATCH_WAVES / s->b->config.se);
	scratch = h->scratch_va + (SCRATCH_WAVES / s->b->config.se * w->se + w->scratch_id) * SCRATCH_KB * 1024;
	CHECK(gfx942 ? pair_at(s, reader_flat_scratch(w)) == scratch :
	      (pair_at(s, reader_sgpr(w, 0)) & 0xffffffffffffULL) == scratch);
	CHECK(!w->first || w->lds_bytes == 1024);
	for (n = 0; n < w->lds_bytes / 4; n++)
		CHECK(word_at(s, w->lds + n * 4) == ~in[n]);
	return true;
}

/*
 * A debugger finds the registers of saved waves where it looks for them. And they are the state:
 * what is changed there is changed when the wave goes on.
 */
static bool saved_waves_are_where_a_debugger_looks(struct setup *s)
{
	const u32 n = 2 * WORKGROUP, grid[3] = { n, 1, 1 }, one[3] = { 1, 1, 1 };
	struct {
		u64 out, in, flag;
		u32 gone;
	} args = { .gone = 4 - HELD_WAVES };
	u32 *out, *in, i, k, l, vgpr, sgpr, want[4], offset = 128;
	struct held h = { .packet = 1 };
	struct reader_wave *w;
	u64 *flag, lane, bytes;

	args.out = bed_alloc(s->b, s->p, n * 16, (void **)&out);
	args.in = bed_alloc(s->b, s->p, n * 4, (void **)&in);
	args.flag = bed_alloc(s->b, s->p, 4096, (void **)&flag);
	for (i = 0; i < n; i++)
		in[i] = 0x5ca1ab00 + i;
	h.in = in;
	h.flag_va = args.flag;
	CHECK(object_symbol(s->file, "hold", &h.code));
	h.code += s->code;
	memcpy((u8 *)s->q->write_index - 56 + QUEUE_OFFSET, &offset, 4);
	h.scratch_va = give_scratch(s, SCRATCH_WAVES, SCRATCH_KB);

	CHECK(start(s, "store", &args.out, 8, one, group_of_256, 0, 0));
	CHECK(bed_run_until(s->b, is_done, s->signal, LONG));
	CHECK(start(s, "hold", &args, sizeof(args), grid, group_of_256, 32, 1024));
	bed_run_for(s->b, 200 * US);
	CHECK(bed_unmap(s->b, false));
	CHECK(read_waves(s, &h));
	CHECK(h.waves == 2 * HELD_WAVES);
	bytes = 0;
	for (i = 0; i < 2 * HELD_WAVES; i++) {
		w = &h.wave[i];
		CHECK(w->first == !(i % HELD_WAVES) && w->last == (i % HELD_WAVES == HELD_WAVES - 1));
		CHECK(wave_is(s, &h, w, i / HELD_WAVES, args.gone + i % HELD_WAVES));
		CHECK(h.wave[i].vgprs == h.wave[0].vgprs);
		for (k = 0; k < i; k++)
			CHECK(h.wave[k].se != w->se || h.wave[k].scratch_id != w->scratch_id);
		bytes += (w->vgprs + w->acc_vgprs) * 256 + (w->sgprs + 16) * 4 + 128 + w->lds_bytes;
	}
	/* what KFD's topology reserves for it: 512 bytes of scalar registers, 128 of hardware registers */
	CHECK(s->q->mqd_words[0x80 + VGPU_HQD_WG_STATE_OFFSET] - BED_STACK_BYTES == bytes);

	/* workgroup 1, wave 2: lane 5 of a register, lane 9 of an accumulation register; the word of LDS that lane 7 of wave 3 reads */
	w = &h.wave[HELD_WAVES + 1];
	vgpr = vgpr_of(s, w, in + WORKGROUP + 2 * 64);
	CHECK(vgpr != U32_MAX);
	*saved_word(s, BED_STACK_BYTES + reader_vgpr(w, vgpr, 5)) ^= 0x10000000;
	*saved_word(s, BED_STACK_BYTES + reader_acc(w, 0, 9)) ^= 0x20000000;
	*saved_word(s, BED_STACK_BYTES + h.wave[HELD_WAVES].lds + 7 * 4) ^= 0x40000000;
	/* workgroup 0, wave 3: waits for another flag, which is set */
	w = &h.wave[HELD_WAVES - 1];
	sgpr = sgprs_of(s, w, args.flag);
	CHECK(sgpr != U32_MAX);
	*saved_word(s, BED_STACK_BYTES + reader_sgpr(w, sgpr)) += 8;
	flag[1] = 1;
	CHECK(bed_runlist(s->b, &s->q, 1));
	bed_run_for(s->b, 200 * US);
	CHECK(bed_unmap(s->b, false));
	CHECK(read_waves(s, &h));
	CHECK(h.waves == 2 * HELD_WAVES - 1);
	for (i = 0; i < 2 * HELD_WAVES - 1; i++)
		CHECK(h.wave[i].first == (i == 0 || i == 2) && h.wave[i].last == (i == 1 || i == 4));
	for (i = 0; i < n; i++)
		CHECK(out[4 * i] == (i / 64 == 3 ? in[i] : i % WORKGROUP / 64 ? 1 : i ? 0 : 1));

	*flag = 1;
	CHECK(bed_runlist(s->b, &s->q, 1));
	CHECK(bed_run_until(s->b, is_done, s->signal, LONG));
	CHECK(bed_stat(s->b, "bad_records") == 0);
	for (i = 0; i < n; i++) {
		if (i % WORKGROUP / 64 < args.gone)
			continue;
		lane = i - WORKGROUP - 2 * 64;
		l = i / WORKGROUP * WORKGROUP + (i + 64 * args.gone) % WORKGROUP;
		want[0] = in[i] ^ (lane == 5 ? 0x10000000 : 0);
		want[1] = ~in[l] ^ (l == WORKGROUP + 7 ? 0x40000000 : 0);
		want[2] = in[i] ^ 0x80000000 ^ (lane == 9 ? 0x20000000 : 0);
		want[3] = in[i] + 1;
		CHECK(!memcmp(out + 4 * i, want, sizeof(want)));
	}
	return true;
}

/* A wave that waits at a barrier is saved in front of it, and comes there again */
static bool barriers_are_met_again(struct setup *s)
{
	const u32 grid[3] = { WORKGROUP, 1, 1 };
	struct held h = { 0 };
	u32 round, i, *out;
	u64 args[2], *flag;

	args[0] = bed_alloc(s->b, s->p, 4096, (void **)&out);
	args[1] = bed_alloc(s->b, s->p, 4096, (void **)&flag);
	CHECK(start(s, "meet", args, sizeof(args), grid, group_of_256, 0, 512));
	for (round = 0; round < 3; round++) {
		bed_run_for(s->b, 100 * US);
		CHECK(bed_unmap(s->b, false));
		CHECK(read_waves(s, &h));
		CHECK(h.waves == 4);
		for (i = 1; i < 4; i++)
			CHECK(*word_of(s, pair_at(s, reader_hwreg(&h.wave[i], READER_HWREG_PC))) == S_BARRIER);
		*flag = round == 2 ? 12345 : 0;
		CHECK(bed_runlist(s->b, &s->q, 1));
	}
	CHECK(bed_run_until(s->b, is_done, s->signal, LONG));
	for (i = 0; i < WORKGROUP; i++)
		CHECK(out[i] == 12345);
	return true;
}

static u32 random_word(u32 *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state ^ *state >> 15;
}

/* Whatever is written to where the state of waves is: their process suffers, the device lives on */
static bool garbage_is_survived(struct setup *s)
{
	const u32 grid[3] = { 2 * WORKGROUP, 1, 1 };
	struct setup own = *s;
	u32 seed, state, round, n, at, offset = 128, *word, *hqd;
	struct {
		u64 out, in, flag;
		u32 gone;
	} args = { .gone = 1 };
	u64 *flag;

	vgpu_quiet = true;
	for (seed = 1; seed <= 60; seed++) {
		state = seed * 2654435761u;
		add_process(&own);
		args.out = bed_alloc(s->b, own.p, 2 * WORKGROUP * 16, NULL);
		args.in = bed_alloc(s->b, own.p, 2 * WORKGROUP * 4, NULL);
		args.flag = bed_alloc(s->b, own.p, 4096, (void **)&flag);
		memcpy((u8 *)own.q->write_index - 56 + QUEUE_OFFSET, &offset, 4);
		give_scratch(&own, SCRATCH_WAVES, SCRATCH_KB);
		CHECK(start(&own, "hold", &args, sizeof(args), grid, group_of_256, 32, 1024));
		bed_run_for(s->b, 100 * US);
		hqd = own.q->mqd_words + 0x80;
		for (round = 0; round < 3; round++) {
			CHECK(bed_unmap(s->b, false));
			for (n = random_word(&state) % 4; n < 6; n++) {
				at = hqd[VGPU_HQD_CNTL_STACK_OFFSET];
				if (seed % 3 == 0)
					word = own.q->mqd_words + (VGPU_PAGE + at) / 4 + random_word(&state) % ((BED_STACK_BYTES - at) / 4 + 1);
				else if (seed % 3 == 1)
					word = own.q->mqd_words + VGPU_PAGE / 4 + random_word(&state) % 64;
				else
					word = saved_word(&own, BED_STACK_BYTES + random_word(&state) % 0x10000 / 4 * 4);
				*word = n & 1 ? random_word(&state) : *word ^ 1u << random_word(&state) % 32;
			}
			CHECK(bed_runlist(s->b, &own.q, 1));
			bed_run_for(s->b, 50 * US);
		}
		*flag = 1;
		bed_run_for(s->b, 50 * US);
		CHECK(bed_unmap(s->b, true));
		CHECK(bed_stat(s->b, "slots_busy") == 0);
	}
	CHECK(bed_stat(s->b, "bad_records"));
	return vector_add(s);
}

/* Next interrupt of a source, false if there is none */
static bool interrupt_of(struct setup *s, u32 source, u32 *context)
{
	u32 iv[VGPU_IV_DWORDS];

	while (bed_interrupt(s->b, iv))
		if ((iv[0] >> 8 & 0xff) == source) {
			*context = iv[4];
			return true;
		}
	return false;
}

/*
 * Next message of a wave's trap handler. Return: a bit for each exception, by its number less one; 0: there is none, or it is not of this queue
 */
static u32 exception_of(struct setup *s)
{
	u32 iv[VGPU_IV_DWORDS], data;

	while (bed_interrupt(s->b, iv)) {
		if ((iv[0] >> 8 & 0xff) != 239)
			continue;
		data = (iv[4] & 0xfff) | (iv[4] >> 28) << 12 | (iv[5] & 0xff) << 16;
		/* a shader engine, the process, an instruction of the trap handler, the queue */
		return (iv[0] & 0xff) - 0x0a < 4 && (iv[3] & 0xffff) == s->p->pasid && (iv[4] >> 26 & 3) == 1 && (iv[4] >> 13 & 1) &&
		       (data & 0x3ff) == s->q->doorbell % 8192 / 8 ? data >> 10 : 0;
	}
	return 0;
}

static bool unknown_instructions_stop_the_queue(struct setup *s)
{
	const u32 grid[3] = { 1, 1, 1 };
	u64 args[1];
	u32 *out, context;

	vgpu_quiet = true;
	args[0] = bed_alloc(s->b, s->p, 4096, (void **)&out);
	CHECK(start(s, "illegal", args, sizeof(args), grid, group_of_256, 0, 0));
	bed_run_for(s->b, 1 * MS);
	CHECK(out[0] == 1 && !out[1] && !is_done(s->signal));
	CHECK(bed_stat(s->b, "wave_exceptions") == 1);
	CHECK(bed_stat(s->b, "slots_busy") == 1);
	CHECK(exception_of(s) == 1u << (VGPU_EC_WAVE_ILLEGAL - 1));
	CHECK(!interrupt_of(s, 183, &context));		/* it is not a packet that is bad */
	CHECK(bed_unmap(s->b, false) && bed_stat(s->b, "slots_busy") == 0);
	CHECK(bed_runlist(s->b, &s->q, 1));
	bed_run_for(s->b, 1 * MS);
	CHECK(bed_stat(s->b, "slots_busy") == 1 && !out[1]);	/* halted still */
	CHECK(bed_unmap(s->b, true) && bed_stat(s->b, "slots_busy") == 0);
	return true;
}

/* Traps have the meaning that the ABI gives them: giving up, a break point without a debugger, anything else */
static bool traps_are_told(struct setup *s)
{
	static const struct {
		u32 number, exception;
	} traps[] = { { 3, 0 }, { 2, VGPU_EC_WAVE_ABORT }, { 7, VGPU_EC_WAVE_TRAP } };
	const u32 grid[3] = { 1, 1, 1 };
	struct setup own = *s;
	struct {
		u64 out;
		u32 number;
	} args;
	u32 *out, i;

	vgpu_quiet = true;
	for (i = 0; i < ARRAY_SIZE(traps); i++) {
		add_process(&own);
		args.out = bed_alloc(s->b, own.p, 4096, (void **)&out);
		args.number = traps[i].number;
		CHECK(start(&own, "trap", &args, sizeof(args), grid, group_of_256, 0, 0));
		bed_run_for(s->b, 1 * MS);
		CHECK(out[0] == 1 && out[1] == !traps[i].exception);
		CHECK(is_done(own.signal) == !traps[i].exception);
		CHECK(exception_of(&own) == (traps[i].exception ? 1u << (traps[i].exception - 1) : 0));
		CHECK(bed_stat(s->b, "wave_exceptions") == i);
		CHECK(bed_unmap(s->b, true));
	}
	return true;
}

/* What the second level of trap handlers works with, as the kernel "handler" writes it */
struct trapped {
	u32 counted[64];
	u32 pc[2];
	u32 kept[2];		/* trap temporaries 11 and 13 */
	u32 status;
	u32 trapsts;
	u32 exceptions;
};

#define STATUS_PRIV	0x20u
#define DEBUGGED	0x800000u
#define FROM_HANDLER	0xabc123u

/* The process has "handler": what amdkfd does for AMDKFD_IOC_SET_TRAP_HANDLER, and for a debugger */
static bool set_handler(struct setup *s, struct trapped **t, bool debugged)
{
	u64 *memory, handler, va;

	CHECK(object_symbol(s->file, "handler", &handler));
	va = bed_alloc(s->b, s->p, 4096, (void **)t);
	s->p->tma = bed_alloc(s->b, s->p, 4096, (void **)&memory) + 2048;
	memory += 2048 / 8;
	memory[0] = s->code + handler;
	memory[1] = va;
	memory[2] = debugged;
	return true;
}

/* Data of the next message of a trap handler, 0: there is none, or it is not of this process */
static u32 message_of(struct setup *s)
{
	u32 iv[VGPU_IV_DWORDS];

	while (bed_interrupt(s->b, iv))
		if ((iv[0] >> 8 & 0xff) == 239)
			return (iv[3] & 0xffff) == s->p->pasid && iv[4] >> 26 == 1 + (iv[4] >> 28 << 2) && (iv[4] >> 13 & 1) ?
			       (iv[4] & 0xfff) | (iv[4] >> 28) << 12 | (iv[5] & 0xff) << 16 : 0;
	return 0;
}

#define TRAPS		5u
#define TRAPPED_WAVES	4u
#define HANDLER_COUNTS	40u

/* All of it has happened once, and the waves have what they had. */
static bool is_trapped(struct setup *s, const struct trapped *t, const u32 *out)
{
	u32 i, k, v, messages = 0, interrupt;

	CHECK(is_done(s->signal));
	for (i = 0; i < 64; i++)
		CHECK(t->counted[i] == TRAPPED_WAVES * TRAPS * HANDLER_COUNTS);
	for (i = 0; i < TRAPPED_WAVES * 64; i++) {
		for (k = 0, v = i; k < TRAPS; k++)
			v = v * 3 + 1;
		CHECK(out[2 * i] == v && out[2 * i + 1] == TRAPS);
	}
	for (; (interrupt = message_of(s)); messages++)
		CHECK(interrupt == FROM_HANDLER);
	CHECK(messages == TRAPPED_WAVES * TRAPS);
	CHECK(!bed_stat(s->b, "wave_exceptions") && !bed_stat(s->b, "bad_records"));
	return true;
}

static bool start_trapped(struct setup *s, u32 **out)
{
	const u32 grid[3] = { TRAPPED_WAVES * 64, 1, 1 };
	struct {
		u64 out;
		u32 n;
	} args = { .n = TRAPS };

	args.out = bed_alloc(s->b, s->p, 4096, (void **)out);
	return start(s, "trapped", &args, sizeof(args), grid, group_of_256, 0, 0);
}

/* The second level of trap handlers is code of the process: it finds what the first level hands over, and returns to behind s_trap */
static bool trap_handlers_return(struct setup *s)
{
	u32 *out, kept = s->b->config.asic->gfx942;
	struct trapped *t;

	CHECK(set_handler(s, &t, true));
	CHECK(start_trapped(s, &out));
	CHECK(bed_run_until(s->b, is_done, s->signal, LONG));
	CHECK(is_trapped(s, t, out));
	CHECK(t->pc[1] >> 16 == 5);
	CHECK((t->pc[0] | (u64)(t->pc[1] & 0xffff) << 32) - s->code < s->code_bytes && !(t->pc[0] % 4));
	CHECK(*word_of(s, t->pc[0] | (u64)(t->pc[1] & 0xffff) << 32) == 0xbf920005);
	CHECK((t->kept[kept] & ~0x7fffffu) == DEBUGGED && !(t->kept[!kept] & DEBUGGED));
	CHECK((t->status & (STATUS_PRIV | 1)) == (STATUS_PRIV | 1));
	return true;
}

/* Wherever a wave is taken off the device, it goes on there: in the handler, too */
static bool trap_handlers_survive_preemption(struct setup *s)
{
	u32 *out, i, n = 0, inside = 0;
	struct held h = { NULL };
	struct trapped *t;

	CHECK(set_handler(s, &t, false));
	CHECK(start_trapped(s, &out));
	while (!is_done(s->signal)) {
		bed_run_for(s->b, RESTORE_NS + n % 7 * 100);
		CHECK(bed_unmap(s->b, false));
		CHECK(bed_stat(s->b, "slots_busy") == 0);
		if (!is_done(s->signal) && s->b->config.xccs == 1) {
			CHECK(read_waves(s, &h));
			for (i = 0; i < (u32)h.waves; i++)
				inside += (word_at(s, reader_hwreg(&h.wave[i], READER_HWREG_STATUS)) & STATUS_PRIV) != 0;
		}
		CHECK(bed_runlist(s->b, &s->q, 1));
		CHECK(n++ < MANY);
	}
	CHECK(n > 5 && inside > 5);
	return is_trapped(s, t, out);
}

/* Without the scheduler registers say where the handler is. */
static bool trap_handlers_are_found_by_register(struct setup *s)
{
	const u32 vmid = 8;
	struct trapped *t;
	u32 *out, tma;

	CHECK(set_handler(s, &t, false));
	CHECK(start_trapped(s, &out) && bed_unmap(s->b, true));
	memset(t, 0, sizeof(*t));
	while (message_of(s))
		;
	*s->signal = 1;
	*s->q->read_index = 0;
	tma = (u32)(s->p->tma >> 8);
	bed_vmid(s->b, vmid, s->p);
	vgpu_model_reg_write(s->b->m, VGPU_GRBM_GFX_CNTL, vmid << 4);
	vgpu_model_reg_write(s->b->m, VGPU_SQ_SHADER_TMA_LO, tma);
	vgpu_model_reg_write(s->b->m, VGPU_SQ_SHADER_TMA_HI, (u32)(s->p->tma >> 40));
	CHECK(vgpu_model_reg_read(s->b->m, VGPU_SQ_SHADER_TMA_LO) == tma);
	vgpu_model_reg_write(s->b->m, VGPU_GRBM_GFX_CNTL, (vmid + 1) << 4);
	vgpu_model_reg_write(s->b->m, VGPU_SQ_SHADER_TMA_LO, 0);
	bed_hqd_load(s->b, s->q, 0, 0, vmid);
	CHECK(bed_run_until(s->b, is_done, s->signal, LONG));
	return is_trapped(s, t, out);
}

#define ILLEGAL		4u		/* for the kernel "touch" */

static bool start_touch(struct setup *s, u64 at, u32 what, u32 **out)
{
	const u32 grid[3] = { 1, 1, 1 };
	struct {
		u64 at;
		u32 what;
		u64 out;
	} args = { .at = at, .what = what };

	args.out = bed_alloc(s->b, s->p, 4096, (void **)out);
	*s->signal = 1;
	return start(s, "touch", &args, sizeof(args), grid, group_of_256, 0, 0);
}

/* A handler is told of exceptions, and the wave stays halted if it wants that; the runtime hears of it by the handler alone */
static bool trap_handlers_halt_waves(struct setup *s)
{
	static const struct {
		u32 what, trapsts, exception;
		u64 at;
	} kinds[] = { { ILLEGAL, 0x800, 4, 0 }, { 1, 0x100, 4, 0x123456789000 } };
	u32 *out, i, status;
	struct setup own = *s;
	struct held h = { NULL };
	struct trapped *t;

	vgpu_quiet = true;
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		add_process(&own);
		CHECK(set_handler(&own, &t, false));
		CHECK(start_touch(&own, kinds[i].at, kinds[i].what, &out));
		bed_run_for(s->b, 1 * MS);
		CHECK(!out[0] && !is_done(own.signal) && bed_stat(s->b, "wave_exceptions") == i + 1);
		CHECK(t->exceptions == 1 && t->trapsts == kinds[i].trapsts && !(t->pc[1] >> 16) && !t->counted[0]);
		CHECK(exception_of(&own) == 1u << (kinds[i].exception - 1));
		CHECK(bed_stat(s->b, "bad_packets") == 0);
		CHECK(bed_unmap(s->b, false) && bed_stat(s->b, "slots_busy") == 0);
		if (s->b->config.xccs == 1) {
			CHECK(read_waves(&own, &h) && h.waves == 1);
			status = word_at(&own, reader_hwreg(h.wave, READER_HWREG_STATUS));
			CHECK((status & READER_STATUS_HALT) && !(status & STATUS_PRIV));
			CHECK(word_at(&own, reader_hwreg(h.wave, READER_HWREG_TRAPSTS)) == kinds[i].trapsts);
		}
		CHECK(bed_runlist(s->b, &own.q, 1));
		bed_run_for(s->b, 1 * MS);
		CHECK(bed_stat(s->b, "slots_busy") == 1 && !out[0] && t->exceptions == 1);
		CHECK(bed_unmap(s->b, true));
	}
	return true;
}

#define WATCH_VALID	(1u << 31)
#define WATCH_MODE(m)	((m) << 29)
#define WATCHED		(1u << 3 | 0x80u << 4)	/* traps are enabled, and watch points are traps */

/* Sets watch point @n for what the process's queues map from now on. */
static void watch(struct setup *s, u32 n, u64 va, u32 mode, u32 mask)
{
	u32 reg, xcc;

	for (xcc = 0; xcc < s->b->config.xccs; xcc++) {
		reg = vgpu_xcc_regs(&s->b->config, xcc) + VGPU_TCP_WATCH0_ADDR_HI + 3 * n;
		vgpu_model_reg_write(s->b->m, reg, (u32)(va >> 32) & 0xffff);
		vgpu_model_reg_write(s->b->m, reg + 1, (u32)va);
	}
	s->p->watch[n] = WATCH_VALID | WATCH_MODE(mode) | (mask & 0xffffff);
}

/* An access that meets a watch point is a trap behind it: by address, by what it does, and for the process that has a debugger alone */
static bool watch_points_trap(struct setup *s)
{
	/* accesses by kind: a load, a store, an atomic, a flat load; watch points by what they are about */
	static const bool meets[4][4] = {
		{ true, false, false, true }, { false, true, true, false }, { false, false, true, false }, { true, true, true, true },
	};
	const u32 shift = s->b->config.asic->gfx942 ? 7 : 6;
	struct setup own = *s;
	u32 *out, *memory, mode, what, n = 0;
	struct trapped *t;
	u64 va;

	add_process(&own);
	va = bed_alloc(s->b, own.p, 4096, (void **)&memory);
	CHECK(set_handler(&own, &t, false));
	own.p->traps = WATCHED;
	for (mode = 0; mode < 4; mode++) {
		watch(&own, 0, va + 512, mode, ~0u);
		for (what = 0; what < 4; what++) {
			memory[128] = 7;
			t->trapsts = 0;
			CHECK(start_touch(&own, va + 512, what, &out));
			CHECK(bed_run_until(s->b, is_done, own.signal, LONG));
			n += meets[mode][what];
			CHECK(t->exceptions == n && t->trapsts == (meets[mode][what] ? 0x80u : 0));
			/* done once, and the wave has gone on */
			CHECK(out[0] == 1 && memory[128] == (what == 1 ? 1 : what == 2 ? 8 : 7));
		}
	}
	/* beside it; then in what the mask leaves out, by another watch point */
	CHECK(start_touch(&own, va + 512 + (1u << shift), 0, &out) && bed_run_until(s->b, is_done, own.signal, LONG));
	CHECK(start_touch(&own, va + 512 - 4, 0, &out) && bed_run_until(s->b, is_done, own.signal, LONG));
	CHECK(t->exceptions == n);
	watch(&own, 2, va + 1024, 3, ~1u);
	CHECK(start_touch(&own, va + 1024 + (1u << shift), 0, &out) && bed_run_until(s->b, is_done, own.signal, LONG));
	CHECK(t->exceptions == n + 1 && t->trapsts == 0x2000);
	/* Watched, but no trap; without a handler the wave halts. */
	own.p->traps = 0;
	CHECK(start_touch(&own, va + 512, 0, &out) && bed_run_until(s->b, is_done, own.signal, LONG));
	CHECK(t->exceptions == n + 1);
	own.p->traps = WATCHED;
	own.p->tma = 0;
	CHECK(start_touch(&own, va + 512, 0, &out));
	bed_run_for(s->b, 1 * MS);
	CHECK(!is_done(own.signal) && bed_stat(s->b, "slots_busy") == 1 && !bed_stat(s->b, "wave_exceptions"));
	CHECK(bed_unmap(s->b, true));
	/* another process, at an address that is watched for the first one */
	va = bed_alloc(s->b, s->p, 4096, (void **)&memory);
	CHECK(set_handler(s, &t, false));
	s->p->traps = WATCHED;
	watch(&own, 0, va, 3, ~0u);
	CHECK(start_touch(s, va, 0, &out) && bed_run_until(s->b, is_done, s->signal, LONG));
	CHECK(!t->exceptions && out[0] == 1);
	return true;
}

/* One wave at a time is between P and V, whatever becomes of its queue there; without the global wave sync the instructions are not known */
static bool semaphores_let_one_pass(struct setup *s)
{
	const u32 one[3] = { 64, 1, 1 }, all[3] = { 24 * 64, 1, 1 }, group[3] = { 64, 1, 1 }, value[1] = { 1 };
	u64 args[1], preemptions;
	u32 *sum;

	args[0] = bed_alloc(s->b, s->p, 4096, (void **)&sum);
	s->q->gws = true;
	CHECK(start(s, "sema_init", value, sizeof(value), one, group, 0, 0));
	bed_run_for(s->b, 1 * MS);
	CHECK(is_done(s->signal));
	*s->signal = 1;
	CHECK(start(s, "sema_count", args, sizeof(args), all, group, 0, 0));
	CHECK(preempt_until_done(s, &preemptions));
	CHECK(preemptions > 5);
	CHECK(sum[0] == 24 && !sum[1] && !sum[2]);
	CHECK(!bed_stat(s->b, "wave_exceptions"));
	CHECK(bed_unmap(s->b, true));
	vgpu_quiet = true;
	add_process(s);
	CHECK(start(s, "sema_init", value, sizeof(value), one, group, 0, 0));
	bed_run_for(s->b, 1 * MS);
	CHECK(!is_done(s->signal) && bed_stat(s->b, "wave_exceptions") == 1);
	return true;
}

/* Is there an interrupt for a page of which the driver is to know that a wave waits for it? */
static bool is_waited_for(struct setup *s, u64 va)
{
	u32 iv[VGPU_IV_DWORDS];

	while (bed_interrupt(s->b, iv))
		if (!(iv[0] >> 8 & 0xff) && iv[4] == (u32)(va >> 12) && (iv[5] & 0x80) && (iv[3] & 0xffff) == s->p->pasid)
			return true;
	return false;
}

/* With XNACK a wave waits for a page, preempted meanwhile or not, and does nothing twice; for one that never comes it does not wait */
static bool waves_wait_for_pages(struct setup *s)
{
	const u64 va = s->p->next_va + 0x100000, offset = bed_system(s->b, 4 * VGPU_PAGE), never = va + 0x100000, args[2] = { va, never };
	const u32 grid[3] = { 64, 1, 1 }, group[3] = { 64, 1, 1 };
	const u32 *counters = (u32 *)(s->b->system + offset);
	u32 i;

	s->p->retry = true;
	CHECK(start(s, "count_once", args, sizeof(u64), grid, group, 0, 0));
	for (i = 0; i < 4; i++) {
		bed_run_for(s->b, 500 * US);
		CHECK(!is_done(s->signal) && !counters[0]);
		CHECK(is_waited_for(s, va + i * VGPU_PAGE));
		CHECK(bed_unmap(s->b, false) && bed_stat(s->b, "slots_busy") == 0);
		bed_map(s->b, s->p, va + i * VGPU_PAGE, BED_SYSTEM_BASE + offset + i * VGPU_PAGE, PTE_V | PTE_S | PTE_RW);
		CHECK(bed_runlist(s->b, &s->q, 1));
	}
	bed_run_for(s->b, 500 * US);
	CHECK(is_done(s->signal));
	for (i = 0; i < 64; i++)
		CHECK(counters[i * 64] == 1);
	CHECK(!bed_stat(s->b, "gpuvm_faults") && bed_stat(s->b, "retry_faults") && !bed_stat(s->b, "wave_exceptions"));
	vgpu_quiet = true;
	bed_map(s->b, s->p, never, 0, PTE_X | 1ULL << 54 | PTE_TF);
	*s->signal = 1;
	CHECK(start(s, "count_once", args + 1, sizeof(u64), grid, group, 0, 0));
	bed_run_for(s->b, 500 * US);
	CHECK(bed_stat(s->b, "gpuvm_faults") == 1 && !is_waited_for(s, never) && !is_done(s->signal));
	return true;
}

static bool faults_halt_the_wave(struct setup *s)
{
	const u32 grid[3] = { 1, 1, 1 };
	const u64 args[1] = { 0x123456789000ULL };
	u32 context;

	vgpu_quiet = true;
	CHECK(start(s, "store", args, sizeof(args), grid, group_of_256, 0, 0));
	bed_run_for(s->b, 1 * MS);
	CHECK(!is_done(s->signal));
	CHECK(bed_stat(s->b, "gpuvm_faults") == 1);
	CHECK(interrupt_of(s, 0, &context));
	CHECK(context == (u32)(args[0] >> 12));
	CHECK(bed_stat(s->b, "slots_busy") == 1);
	return true;
}

/* Begin and end of a dispatch are in its signal, whether it was preempted in between or not, if the runtime asked for that */
static bool signals_have_time_stamps(struct setup *s)
{
	const u32 n = 64 * WORKGROUP, grid[3] = { n, 1, 1 }, offset = 128, profiling = 8;
	u64 args[2], preemptions, begin, restored, *stamp = (u64 *)s->signal + 3;		/* start_ts, end_ts */
	u8 *queue = (u8 *)s->q->write_index - 56;

	args[0] = bed_alloc(s->b, s->p, 4096, NULL);
	args[1] = bed_alloc(s->b, s->p, n * 4, NULL);
	CHECK(start(s, "reduce", args, sizeof(args), grid, group_of_256, 0, 1024));
	CHECK(bed_run_until(s->b, is_done, s->signal, LONG));
	CHECK(!stamp[0] && !stamp[1]);

	memcpy(queue + QUEUE_OFFSET, &offset, 4);
	memcpy(queue + QUEUE_PROPERTIES, &profiling, 4);
	begin = s->b->now;
	CHECK(submit(s, "reduce", grid, group_of_256, 0, 1024));
	bed_run_for(s->b, RESTORE_NS);
	restored = s->b->now;
	CHECK(bed_unmap(s->b, false));
	CHECK(!stamp[0] && !stamp[1]);
	CHECK(bed_runlist(s->b, &s->q, 1));
	CHECK(preempt_until_done(s, &preemptions));
	CHECK(preemptions > 3);
	CHECK(stamp[0] * TICK_NS + TICK_NS > begin && stamp[0] * TICK_NS <= restored);
	CHECK(stamp[1] * TICK_NS > restored && stamp[1] * TICK_NS <= s->b->now);
	return true;
}

static bool asked_for_scratch(void *signal)
{
	return *(s64 *)signal & 1;
}

static bool scratch_memory_is_asked_for(struct setup *s)
{
	const u32 n = 8 * WORKGROUP, grid[3] = { n, 1, 1 }, waves = 16, wave_kb = 64;
	u8 *queue = (u8 *)s->q->write_index - 56;
	u32 *out, *in, i, k, offset = 128, own[8];
	struct {
		u64 out, in;
		u32 n;
	} args = { .n = 5 };
	u64 signal_va, preemptions;
	s64 *signal;
	void *cpu;

	args.out = bed_alloc(s->b, s->p, n * 4, (void **)&out);
	args.in = bed_alloc(s->b, s->p, n * 4, (void **)&in);
	for (i = 0; i < n; i++)
		in[i] = i * 2654435761u;
	memcpy(s->args, &args, sizeof(args));
	signal_va = bed_alloc(s->b, s->p, 4096, &cpu);
	signal = (s64 *)((u8 *)cpu + 8);
	memcpy(queue + QUEUE_OFFSET, &offset, 4);
	memcpy(queue + QUEUE_INACTIVE, &signal_va, 8);
	CHECK(submit(s, "pointers", grid, group_of_256, 1024, 1024));
	CHECK(bed_runlist(s->b, &s->q, 1));
	CHECK(bed_run_until(s->b, asked_for_scratch, signal, LONG));
	CHECK(*s->q->read_index == 0);
	give_scratch(s, waves, wave_kb);
	*signal = 0;
	CHECK(preempt_until_done(s, &preemptions));
	for (i = 0; i < n; i++) {
		u32 want = 0, l = i % WORKGROUP;

		for (k = 0; k < 8; k++)
			own[(k + l) % 8] = l * k;
		for (k = 0; k < (l & 7); k++)
			want += in[i - l + k];
		for (k = 0; k < 5; k++)
			want += own[k] + in[k];
		CHECK(out[i] == want);
	}
	CHECK(bed_stat(s->b, "gpuvm_faults") == 0);
	return true;
}

/* ---- the same code by PM4 packets: what a kernel descriptor says is in registers ---- */

#define PM4(op, n)		(3u << 30 | ((n) - 2) << 16 | (op) << 8)
#define SET_SH_REG		0x76
#define IN_WORK_ITEMS		0x20u		/* bits of the initiator */
#define FROM_ORIGIN		0x04u
#define LAST_IS_PARTIAL		0x02u
#define RING_DWORDS		(BED_RING_PACKETS * 16)
#define LO(v)			((u32)(v))
#define HI(v)			((u32)((u64)(v) >> 32))

struct packets {
	u32 words[128];
	u32 used;
};

static void put(struct packets *p, const u32 *words, u32 count)
{
	memcpy(p->words + p->used, words, count * 4);
	p->used += count;
}

#define PUT(p, ...)	do { const u32 w_[] = { __VA_ARGS__ }; put((p), w_, sizeof(w_) / 4); } while (0)

/* The process's queue is a PM4 queue from now on, and has not been mapped yet. */
static void be_pm4(struct setup *s)
{
	u32 xcc;

	for (xcc = 0; xcc < s->b->config.xccs; xcc++)
		bed_part(s->b, s->q, xcc)[0x80 + VGPU_HQD_AQL_CONTROL] = 0;
}

static void send(struct setup *s, const struct packets *p)
{
	u32 i;

	for (i = 0; i < p->used; i++)
		((u32 *)s->q->ring)[(*s->q->write_index)++ % RING_DWORDS] = p->words[i];
	s->b->doorbells[s->q->doorbell / 8] = *s->q->write_index;
}

/* Scratch memory of a dispatch by registers */
struct scratch {
	u64 va;
	u32 waves, wave_kb;
};

/* Properties of a kernel descriptor, and the scalar registers that they take */
enum { BUFFER = 1, PACKET = 2, QUEUE = 4, KERNARGS = 8, DISPATCH_ID = 16, FLAT_SCRATCH = 32, PRIVATE_SIZE = 64 };

/* All registers of a kernel but the sizes of its grid. Return: false if it wants what only AQL has */
static bool put_kernel(struct setup *s, struct packets *p, const char *kernel, u32 lds_bytes, const struct scratch *scratch)
{
	u32 *kd, user[16] = { 0 }, n = 0, rsrc2, properties;
	u64 va, entry;
	char name[64];

	snprintf(name, sizeof(name), "%s.kd", kernel);
	CHECK(object_symbol(s->file, name, &va));
	va += s->code;
	kd = word_of(s, va);
	entry = va + (kd[4] | (u64)kd[5] << 32);
	properties = kd[14] & 0xffff;
	if (properties & BUFFER) {
		memcpy(user, (u32[]) { LO(scratch->va), HI(scratch->va) | 1u << 31, U32_MAX, 3u << 21 | 1u << 23 }, 16);
		n += 4;
	}
	n += properties & PACKET ? 2 : 0;
	n += properties & QUEUE ? 2 : 0;
	CHECK(properties & KERNARGS);
	user[n++] = LO(s->args_va);
	user[n++] = HI(s->args_va);
	n += properties & DISPATCH_ID ? 2 : 0;
	if (properties & FLAT_SCRATCH) {
		user[n++] = LO(scratch->va);
		user[n++] = HI(scratch->va);
	}
	rsrc2 = kd[13] | (lds_bytes + 511) / 512 << 15;
	CHECK((rsrc2 >> 1 & 0x1f) >= n);
	PUT(p, PM4(SET_SH_REG, 4), 0x20c, LO(entry >> 8), HI(entry >> 8), PM4(SET_SH_REG, 4), 0x212, kd[12], rsrc2,
	    PM4(SET_SH_REG, 3), 0x22d, kd[11]);
	PUT(p, PM4(SET_SH_REG, 4), 0x210, LO(scratch->va >> 8), HI(scratch->va >> 8),
	    PM4(SET_SH_REG, 3), 0x218, scratch->waves | scratch->wave_kb << 12);
	PUT(p, PM4(SET_SH_REG, 18), 0x240);
	put(p, user, 16);
	return true;
}

static const struct scratch no_scratch;

static void put_sizes(struct packets *p, const u32 start[3], const u32 workgroup[3])
{
	PUT(p, PM4(SET_SH_REG, 8), 0x204, start[0], start[1], start[2], workgroup[0], workgroup[1], workgroup[2]);
}

static void put_dispatch(struct packets *p, const u32 end[3], u32 initiator)
{
	PUT(p, PM4(0x15, 5), end[0], end[1], end[2], 1 | initiator);
}

/* Behind all waves: 0 into the signal, and an interrupt */
static void put_end(struct setup *s, struct packets *p)
{
	u64 va = s->signal_va + 8;

	*s->signal = 1;
	PUT(p, PM4(0x49, 8), 0x14, 2u << 29 | 2u << 24, LO(va), HI(va), 0, 0, 0x77);
}

static const u32 origin[3], one_group_of_256[3] = { WORKGROUP, 1, 1 };

static bool pm4_dispatch_executes_code(struct setup *s)
{
	const u32 n = 20 * WORKGROUP, groups[3] = { 20, 1, 1 };
	struct packets p = { .used = 0 };
	u32 i, *sums, *in, want[20] = { 0 }, context, others = 0;
	u64 args[2];

	be_pm4(s);
	args[0] = bed_alloc(s->b, s->p, 4096, (void **)&sums);
	args[1] = bed_alloc(s->b, s->p, n * 4, (void **)&in);
	for (i = 0; i < n; i++)
		want[i / WORKGROUP] += in[i] = i * 2654435761u;
	memcpy(s->args, args, sizeof(args));
	CHECK(put_kernel(s, &p, "reduce", 1024, &no_scratch));
	put_sizes(&p, origin, one_group_of_256);
	put_dispatch(&p, groups, 0);
	put_end(s, &p);
	send(s, &p);
	CHECK(bed_runlist(s->b, &s->q, 1));
	CHECK(bed_run_until(s->b, is_done, s->signal, LONG));
	CHECK(!memcmp(sums, want, sizeof(want)));
	CHECK(bed_stat(s->b, "waves_done") == n / 64);
	CHECK(bed_stat(s->b, "dispatches_done") == 1);
	CHECK(bed_stat(s->b, "slots_busy") == 0);
	CHECK(bed_stat(s->b, "bad_packets") == 0);
	while (interrupt_of(s, 181, &context))
		others += context == 0x77;
	CHECK(others == 1);
	return true;
}

/* A grid in three dimensions whose last workgroups are smaller, from a workgroup on that is not the first, in each way to say it */
struct grid_case {
	u32 end[3], start[3], partial[3], initiator;
	bool indirect;
	u32 first[3], last[3];		/* work-items that run: from, up to */
};

static const struct grid_case grids[] = {
	{ { 19, 9, 5 }, { 0 }, { 0 }, IN_WORK_ITEMS, false, { 0 }, { 19, 9, 5 } },
	{ { 19, 9, 5 }, { 1, 0, 1 }, { 0 }, IN_WORK_ITEMS, false, { 8, 0, 2 }, { 19, 9, 5 } },
	{ { 19, 9, 5 }, { 1, 0, 1 }, { 0 }, IN_WORK_ITEMS | FROM_ORIGIN, false, { 0 }, { 19, 9, 5 } },
	{ { 3, 3, 3 }, { 0 }, { 3, 1, 1 }, 0, false, { 0 }, { 24, 12, 6 } },
	{ { 3, 3, 3 }, { 0 }, { 3, 1, 1 }, LAST_IS_PARTIAL, false, { 0 }, { 19, 9, 5 } },
	{ { 3, 3, 3 }, { 2, 2, 2 }, { 3, 0, 1 }, LAST_IS_PARTIAL, false, { 16, 8, 4 }, { 19, 12, 5 } },
	{ { 3, 3, 3 }, { 0, 3, 0 }, { 0 }, 0, false, { 0 }, { 0 } },
	{ { 3, 0, 3 }, { 0 }, { 0 }, 0, true, { 0 }, { 0 } },
	{ { 19, 9, 5 }, { 0 }, { 0 }, IN_WORK_ITEMS, true, { 0 }, { 19, 9, 5 } },
	{ { 3, 3, 3 }, { 1, 1, 1 }, { 3, 1, 1 }, LAST_IS_PARTIAL, true, { 8, 4, 2 }, { 19, 9, 5 } },
};

#define WIDTH		24u		/* of what the numbers of work-items are written to */
#define HEIGHT		12u
#define DEPTH		6u

/* Each work-item of the grid has run once, and no other one */
static bool numbers_are_right(const struct grid_case *g, const u32 *out)
{
	u32 x, y, z;

	for (z = 0; z < DEPTH; z++)
		for (y = 0; y < HEIGHT; y++)
			for (x = 0; x < WIDTH; x++) {
				bool runs = x >= g->first[0] && y >= g->first[1] && z >= g->first[2] && x < g->last[0] &&
					    y < g->last[1] && z < g->last[2];

				CHECK(out[(z * HEIGHT + y) * WIDTH + x] == (runs ? x + y * 100 + z * 10000 + 1 : 0));
			}
	return true;
}

static bool pm4_grids(struct setup *s, bool preempted)
{
	u64 args[2] = { 0, WIDTH | (u64)HEIGHT << 32 }, preemptions, dims_va;
	u32 i, d, *out, *dims;

	be_pm4(s);
	args[0] = bed_alloc(s->b, s->p, WIDTH * HEIGHT * DEPTH * 4, (void **)&out);
	dims_va = bed_alloc(s->b, s->p, 4096, (void **)&dims);
	memcpy(s->args, args, sizeof(args));
	CHECK(bed_runlist(s->b, &s->q, 1));
	for (i = 0; i < ARRAY_SIZE(grids); i++) {
		const struct grid_case *g = &grids[i];
		u32 workgroup[3] = { 8, 4, 2 };
		struct packets p = { .used = 0 };

		memset(out, 0, WIDTH * HEIGHT * DEPTH * 4);
		for (d = 0; d < 3; d++)
			workgroup[d] |= g->partial[d] << 16;
		CHECK(put_kernel(s, &p, "numbers", 0, &no_scratch));
		put_sizes(&p, g->start, workgroup);
		memcpy(dims, g->end, sizeof(g->end));
		if (g->indirect)
			PUT(&p, PM4(0x16, 4), LO(dims_va), HI(dims_va), 1 | g->initiator);
		else
			put_dispatch(&p, g->end, g->initiator);
		put_end(s, &p);
		send(s, &p);
		if (preempted)
			CHECK(preempt_until_done(s, &preemptions));
		else
			CHECK(bed_run_until(s->b, is_done, s->signal, LONG));
		if (!numbers_are_right(g, out))
			return fail("grid %u", i);
	}
	CHECK(*(u32 *)s->q->read_index == *s->q->write_index % RING_DWORDS);
	CHECK(bed_stat(s->b, "bad_packets") == 0);
	CHECK(bed_stat(s->b, "bad_records") == 0);
	return !preempted || bed_stat(s->b, "waves_saved") > 0 || fail("nothing was preempted");
}

static bool pm4_grids_are_as_registers_say(struct setup *s)
{
	return pm4_grids(s, false);
}

static bool pm4_grids_survive_preemption(struct setup *s)
{
	return pm4_grids(s, true);
}

/* More workgroups than the device has room for: what was launched goes on, what was not is launched later, once */
static bool pm4_half_launched_grid_goes_on(struct setup *s)
{
	const u32 groups[3] = { 1500, 1, 1 }, workgroup[3] = { 8, 4, 2 }, items = 1500 * 64;
	u64 args[2] = { 0, 1500 * 8 | 4ULL << 32 }, launched;
	u32 i, *out, half = 0, rounds = 0;
	struct packets p = { .used = 0 };

	be_pm4(s);
	args[0] = bed_alloc(s->b, s->p, items * 4, (void **)&out);
	memcpy(s->args, args, sizeof(args));
	CHECK(put_kernel(s, &p, "numbers", 0, &no_scratch));
	put_sizes(&p, origin, workgroup);
	put_dispatch(&p, groups, 0);
	put_end(s, &p);
	send(s, &p);
	CHECK(bed_runlist(s->b, &s->q, 1));
	while (!is_done(s->signal)) {
		bed_run_for(s->b, RESTORE_NS + rounds % 7 * 100);
		CHECK(bed_unmap(s->b, false));
		launched = bed_stat(s->b, "waves_launched");
		half += launched && launched < 1500;
		/* the packet is left behind with the last of them */
		CHECK(launched == 1500 || *(u32 *)s->q->read_index < p.used - 8);
		CHECK(bed_runlist(s->b, &s->q, 1));
		CHECK(rounds++ < MANY);
	}
	CHECK(half > 3);
	CHECK(bed_stat(s->b, "waves_done") == 1500);
	for (i = 0; i < items; i++)
		CHECK(out[i] == i % 12000 + i / 12000 % 4 * 100 + i / 48000 * 10000 + 1);
	return true;
}

/* Several dispatches of an indirect buffer, behind which the ring goes on when their waves have ended */
static bool pm4_buffer_survives_preemption(struct setup *s)
{
	const u32 n = 8192, groups[3] = { 4, 1, 1 }, launches = 3;
	struct packets p = { .used = 0 }, ib = { .used = 0 };
	u64 args[3] = { 0, 0, n }, buffer_va, preemptions;
	u32 i, *bins, want[256] = { 0 }, *buffer;
	u8 *in;

	be_pm4(s);
	args[0] = bed_alloc(s->b, s->p, 4096, (void **)&bins);
	args[1] = bed_alloc(s->b, s->p, n, (void **)&in);
	for (i = 0; i < n; i++) {
		in[i] = (u8)(i * 2654435761u >> 24);
		want[in[i]] += launches;
	}
	memcpy(s->args, args, sizeof(args));
	CHECK(put_kernel(s, &ib, "histogram", 1024, &no_scratch));
	put_sizes(&ib, origin, one_group_of_256);
	for (i = 0; i < launches; i++)
		put_dispatch(&ib, groups, 0);
	buffer_va = bed_alloc(s->b, s->p, 4096, (void **)&buffer);
	memcpy(buffer, ib.words, ib.used * 4);
	PUT(&p, PM4(0x3f, 4), LO(buffer_va), HI(buffer_va), ib.used | 1u << 23);
	put_end(s, &p);
	send(s, &p);
	CHECK(bed_runlist(s->b, &s->q, 1));
	CHECK(preempt_until_done(s, &preemptions));
	CHECK(preemptions > 3);
	CHECK(!memcmp(bins, want, sizeof(want)));
	CHECK(bed_stat(s->b, "dispatches_done") == launches);
	CHECK(bed_stat(s->b, "bad_records") == 0);
	return true;
}

/*
 * Registers that were set before a preemption are set after it: those that say where scratch memory is, and for how many waves, and those that
 * say which of a wave's registers are for accumulation
 */
static bool pm4_registers_outlive_preemption(struct setup *s)
{
	const u32 n = 8 * WORKGROUP, groups[3] = { 8, 1, 1 };
	struct scratch scratch = { .waves = 16, .wave_kb = 4 };
	struct packets p = { .used = 0 }, launch = { .used = 0 };
	struct {
		u64 out, in, flag;
		u32 gone;
	} args = { .gone = 0 };
	u32 *out, *in, i, want[4];
	u64 preemptions, *flag;

	be_pm4(s);
	args.out = bed_alloc(s->b, s->p, n * 16, (void **)&out);
	args.in = bed_alloc(s->b, s->p, n * 4, (void **)&in);
	args.flag = bed_alloc(s->b, s->p, 4096, (void **)&flag);
	*flag = 1;
	for (i = 0; i < n; i++)
		in[i] = i * 2654435761u;
	memcpy(s->args, &args, sizeof(args));
	scratch.va = bed_alloc(s->b, s->p, scratch.waves * scratch.wave_kb * 1024, NULL);
	CHECK(put_kernel(s, &p, "hold", 1024, &scratch));
	put_sizes(&p, origin, one_group_of_256);
	send(s, &p);
	CHECK(bed_runlist(s->b, &s->q, 1));
	bed_run_for(s->b, 100 * US);
	CHECK(*(u32 *)s->q->read_index == p.used);
	CHECK(bed_unmap(s->b, false));
	put_dispatch(&launch, groups, 0);
	put_end(s, &launch);
	send(s, &launch);
	CHECK(bed_runlist(s->b, &s->q, 1));
	bed_run_for(s->b, 13 * US);
	CHECK(bed_stat(s->b, "slots_busy") == scratch.waves);
	CHECK(preempt_until_done(s, &preemptions));
	for (i = 0; i < n; i++) {
		want[0] = in[i];
		want[1] = ~in[i];
		want[2] = in[i] ^ 0x80000000;
		want[3] = in[i] + 1;
		CHECK(!memcmp(out + 4 * i, want, sizeof(want)));
	}
	CHECK(bed_stat(s->b, "gpuvm_faults") == 0);
	return true;
}

/* It is waves that fetch code: the packets behind a dispatch whose code is not there are read, but for those that wait for its waves */
static bool pm4_code_that_is_not_there_faults_in_its_waves(struct setup *s)
{
	const u32 groups[3] = { 2, 1, 1 };
	struct packets p = { .used = 0 };
	u32 *word, iv[VGPU_IV_DWORDS], context;
	u64 va;

	vgpu_quiet = true;
	be_pm4(s);
	va = bed_alloc(s->b, s->p, 4096, (void **)&word);
	CHECK(put_kernel(s, &p, "store", 0, &no_scratch));
	put_sizes(&p, origin, one_group_of_256);
	PUT(&p, PM4(SET_SH_REG, 4), 0x20c, 0x12345600, 0);
	put_dispatch(&p, groups, 0);
	PUT(&p, PM4(0x37, 5), 5 << 8, LO(va), HI(va), 42);
	put_end(s, &p);
	send(s, &p);
	CHECK(bed_runlist(s->b, &s->q, 1));
	while (bed_interrupt(s->b, iv))
		;
	bed_run_for(s->b, 1 * MS);
	CHECK(*word == 42);
	CHECK(!is_done(s->signal));
	CHECK(bed_stat(s->b, "bad_packets") == 0);
	CHECK(bed_stat(s->b, "slots_busy") == 8);
	CHECK(interrupt_of(s, 0, &context));
	CHECK(context == 0x1234560);
	CHECK(bed_unmap(s->b, false) && bed_stat(s->b, "slots_busy") == 0);
	CHECK(bed_runlist(s->b, &s->q, 1));
	bed_run_for(s->b, 1 * MS);
	CHECK(bed_stat(s->b, "slots_busy") == 8);		/* halted still */
	CHECK(bed_unmap(s->b, true));
	return true;
}

static void test(char *const *files, const char *name, bool (*f)(struct setup *s), void (*configure)(struct vgpu_config *c))
{
	size_t bytes;
	void *file = object_file(files[configure ? 2 : 1], &bytes);
	struct setup s = set_up(file, bytes, configure);
	bool passed;

	vgpu_quiet = false;
	*why = '\0';
	passed = f(&s);
	printf("%sok %u %s%s\n", passed ? "" : "not ", ++tests, name, !configure ? "" : configure == bed_gfx942 ? ", gfx942" : ", gfx942 with two XCCs");
	if (!passed)
		printf("# %s\n", why);
	failures += !passed;
	bed_free(s.b);
}

/* On gfx90a and on another device */
#define BOTH(f, other)	do { test(argv, #f, f, NULL); test(argv, #f, f, other); } while (0)

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: code_test GFX90A.co GFX942.co\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	BOTH(vector_add, bed_xccs_2);
	BOTH(dispatches_follow_each_other, bed_xccs_2);
	BOTH(matrices_survive_preemption, bed_xccs_2);
	BOTH(matrices_survive_preemption_of_a_late_model, bed_xccs_2);
	BOTH(pauses_are_for_others, bed_gfx942);
	BOTH(sums_survive_preemption, bed_xccs_2);
	BOTH(saved_waves_are_where_a_debugger_looks, bed_gfx942);
	BOTH(barriers_are_met_again, bed_gfx942);
	BOTH(garbage_is_survived, bed_gfx942);
	BOTH(unknown_instructions_stop_the_queue, bed_xccs_2);
	BOTH(traps_are_told, bed_xccs_2);
	BOTH(trap_handlers_return, bed_xccs_2);
	BOTH(trap_handlers_survive_preemption, bed_gfx942);
	test(argv, "trap_handlers_are_found_by_register", trap_handlers_are_found_by_register, NULL);
	BOTH(trap_handlers_halt_waves, bed_gfx942);
	BOTH(watch_points_trap, bed_xccs_2);
	BOTH(semaphores_let_one_pass, bed_gfx942);
	BOTH(waves_wait_for_pages, bed_gfx942);
	BOTH(faults_halt_the_wave, bed_xccs_2);
	BOTH(scratch_memory_is_asked_for, bed_xccs_2);
	BOTH(signals_have_time_stamps, bed_xccs_2);
	BOTH(pm4_dispatch_executes_code, bed_xccs_2);
	BOTH(pm4_grids_are_as_registers_say, bed_xccs_2);
	BOTH(pm4_grids_survive_preemption, bed_xccs_2);
	BOTH(pm4_half_launched_grid_goes_on, bed_xccs_2);
	BOTH(pm4_buffer_survives_preemption, bed_gfx942);
	BOTH(pm4_registers_outlive_preemption, bed_gfx942);
	BOTH(pm4_code_that_is_not_there_faults_in_its_waves, bed_xccs_2);
	printf("1..%u\n", tests);
	return failures ? 1 : 0;
}
