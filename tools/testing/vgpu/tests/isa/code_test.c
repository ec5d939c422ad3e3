// SPDX-License-Identifier: MIT
/*
 * code_test.c - kernels in machine code on the whole device model: queues, memory, preemption (TAP)
 *
 *	code_test GFX90A.co GFX942.co
 */
#include <stdarg.h>

#include "../bed.h"
#include "object.h"

#define US		1000ULL
#define MS		1000000ULL
#define LONG		(1000 * MS)
#define WORKGROUP	256u
#define BARRIER_BIT	0x100u
#define MANY		2000u		/* preemptions of a kernel that needs some dozens */
#define RESTORE_NS	(11 * US)	/* the model's trap handler, and a few kilobytes */

static u32 tests, failures;
static char why[256];

/* A device with a process, a queue, and a code object in its memory */
struct setup {
	struct bed *b;
	struct bed_process *p;
	struct bed_queue *q;
	const void *file;
	u64 code;
	u64 args_va, signal_va;
	void *args;
	s64 *signal;
};

static bool fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	return false;
}

#define CHECK(c)	do { if (!(c)) return fail("%s:%d: %s", __func__, __LINE__, #c); } while (0)

static struct setup set_up(const void *file, size_t bytes, void (*configure)(struct vgpu_config *c))
{
	struct setup s = { .b = bed_new(configure), .file = file };
	void *cpu;

	bed_driver_up(s.b);
	s.p = bed_process(s.b);
	s.q = bed_queue(s.b, s.p);
	s.code = bed_alloc(s.b, s.p, bytes + 0x10000, &cpu);
	object_load(file, cpu);
	s.args_va = bed_alloc(s.b, s.p, 4096, &s.args);
	s.signal_va = s.args_va + 1024;
	s.signal = (s64 *)((u8 *)s.args + 1024 + 8);
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
	memcpy(s->args, &args, sizeof(args));
	CHECK(submit(s, "vector_add", grid, group_of_256, 0, 0));
	CHECK(bed_runlist(s->b, &s->q, 1));
	CHECK(bed_run_until(s->b, is_done, s->signal, LONG));
	for (i = 0; i < n; i++)
		CHECK(out[i] == x[i] + y[i]);
	CHECK(*s->q->read_index == 1);
	CHECK(bed_stat(s->b, "waves_done") == (n + 63) / 64);
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

static bool matrices_survive_preemption(struct setup *s)
{
	const u32 n = 64, grid[3] = { n, n, 1 }, workgroup[3] = { 16, 16, 1 };
	struct {
		u64 out, x, y;
		u32 n;
	} args = { .n = n };
	float *out, *x, *y;
	u64 preemptions;
	u32 i, j, k;

	args.out = bed_alloc(s->b, s->p, n * n * 4, (void **)&out);
	args.x = bed_alloc(s->b, s->p, n * n * 4, (void **)&x);
	args.y = bed_alloc(s->b, s->p, n * n * 4, (void **)&y);
	for (i = 0; i < n * n; i++) {
		x[i] = (float)(i * 7 % 1000) / 7;
		y[i] = (float)(i * 13 % 1000) / 11 - 40;
	}
	memcpy(s->args, &args, sizeof(args));
	CHECK(submit(s, "matrix_multiply", grid, workgroup, 0, 2048));
	CHECK(bed_runlist(s->b, &s->q, 1));
	CHECK(preempt_until_done(s, &preemptions));
	CHECK(preemptions > 5);
	CHECK(bed_stat(s->b, "waves_saved") > 0);
	CHECK(bed_stat(s->b, "bad_records") == 0);
	CHECK(bed_stat(s->b, "waves_done") == 64);
	for (i = 0; i < n; i++)
		for (j = 0; j < n; j++) {
			float sum = 0;

			for (k = 0; k < n; k++)
				sum += x[i * n + k] * y[k * n + j];
			CHECK(out[i * n + j] == sum);
		}
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
	memcpy(s->args, args, sizeof(args));
	CHECK(submit(s, "reduce", grid, group_of_256, 0, 1024));
	CHECK(bed_runlist(s->b, &s->q, 1));
	CHECK(preempt_until_done(s, &preemptions));
	CHECK(preemptions > 3);
	CHECK(!memcmp(sums, want, sizeof(want)));
	return true;
}

/* What the save area holds at @offset, as the process sees it */
static u32 *saved_word(struct setup *s, u64 offset)
{
	u64 va = s->q->save_va + offset, *table = (u64 *)(s->b->vram + s->p->root);

	table = (u64 *)(s->b->vram + (table[va >> 39 & 511] & 0x0000fffffffff000ULL));
	table = (u64 *)(s->b->vram + (table[va >> 30 & 511] & 0x0000fffffffff000ULL));
	table = (u64 *)(s->b->vram + (table[va >> 21 & 511] & 0x0000fffffffff000ULL));
	return (u32 *)(s->b->vram + (table[va >> 12 & 511] & 0x0000fffffffff000ULL) + (va & 4095));
}

/* The state is what memory holds: a register and a word of LDS that are changed there are changed when the wave goes on */
static bool only_memory_counts(struct setup *s)
{
	const u32 n = 2 * WORKGROUP, grid[3] = { n, 1, 1 };
	u32 *out, *in, i, used, registers = 0, words = 0, *w;
	u64 args[3], *flag, at;

	args[0] = bed_alloc(s->b, s->p, n * 8, (void **)&out);
	args[1] = bed_alloc(s->b, s->p, n * 4, (void **)&in);
	args[2] = bed_alloc(s->b, s->p, 4096, (void **)&flag);
	for (i = 0; i < n; i++)
		in[i] = 0x5ca1ab00 + (i << 8 & 0xf0000) + (i & 0xff);
	memcpy(s->args, args, sizeof(args));
	CHECK(submit(s, "wait", grid, group_of_256, 0, 1024));
	CHECK(bed_runlist(s->b, &s->q, 1));
	bed_run_for(s->b, 200 * US);
	CHECK(bed_unmap(s->b, false));
	/* header-to-end as the driver reports them: an entry for the dispatch and for each wave, the waves as large as they are */
	used = s->q->mqd_words[0x80 + VGPU_HQD_CNTL_STACK_SIZE] - s->q->mqd_words[0x80 + VGPU_HQD_CNTL_STACK_OFFSET];
	CHECK(used == (1 + n / 64) * 8);
	used = s->q->mqd_words[0x80 + VGPU_HQD_WG_STATE_OFFSET] - BED_STACK_BYTES;
	CHECK((used - 2 * 1024 - n / 64 * (512 + 128)) / (n / 64) / 256 >= 8);
	for (at = 0; at < used; at += 4) {
		w = saved_word(s, BED_STACK_BYTES + at);
		if ((*w & 0xfff00000) == 0x5ca00000) {
			*w ^= 0x40000000;
			registers++;
		} else if ((~*w & 0xfff00000) == 0x5ca00000) {
			*w ^= 0x20000000;
			words++;
		}
	}
	CHECK(registers >= n);
	CHECK(words >= n);
	CHECK(bed_runlist(s->b, &s->q, 1));
	*flag = 1;
	CHECK(bed_run_until(s->b, is_done, s->signal, LONG));
	for (i = 0; i < n; i++) {
		CHECK(out[2 * i] == (in[i] ^ 0x40000000));
		CHECK(out[2 * i + 1] == (~in[i] ^ 0x20000000));
	}
	return true;
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

static bool unknown_instructions_stop_the_queue(struct setup *s)
{
	const u32 grid[3] = { 1, 1, 1 };
	u64 args[1];
	u32 *out, context;

	vgpu_quiet = true;
	args[0] = bed_alloc(s->b, s->p, 4096, (void **)&out);
	memcpy(s->args, args, sizeof(args));
	CHECK(submit(s, "illegal", grid, group_of_256, 0, 0));
	CHECK(bed_runlist(s->b, &s->q, 1));
	bed_run_for(s->b, 1 * MS);
	CHECK(out[0] == 1 && !out[1] && !is_done(s->signal));
	CHECK(bed_stat(s->b, "wave_exceptions") == 1);
	CHECK(bed_stat(s->b, "slots_busy") == 1);
	CHECK(interrupt_of(s, 183, &context));
	CHECK(context >> 10 == VGPU_EC_WAVE_ILLEGAL);
	CHECK(bed_unmap(s->b, false) && bed_stat(s->b, "slots_busy") == 0);
	CHECK(bed_runlist(s->b, &s->q, 1));
	bed_run_for(s->b, 1 * MS);
	CHECK(bed_stat(s->b, "slots_busy") == 1 && !out[1]);	/* halted still */
	CHECK(bed_unmap(s->b, true) && bed_stat(s->b, "slots_busy") == 0);
	return true;
}

static bool faults_halt_the_wave(struct setup *s)
{
	const u32 grid[3] = { 1, 1, 1 };
	const u64 args[1] = { 0x123456789000ULL };
	u32 context;

	vgpu_quiet = true;
	memcpy(s->args, args, sizeof(args));
	CHECK(submit(s, "store", grid, group_of_256, 0, 0));
	CHECK(bed_runlist(s->b, &s->q, 1));
	bed_run_for(s->b, 1 * MS);
	CHECK(!is_done(s->signal));
	CHECK(bed_stat(s->b, "gpuvm_faults") == 1);
	CHECK(interrupt_of(s, 0, &context));
	CHECK(context == (u32)(args[0] >> 12));
	CHECK(bed_stat(s->b, "slots_busy") == 1);
	return true;
}

/* Fields of amd_queue_t and amd_signal_t, by offset */
#define QUEUE_OFFSET		136
#define QUEUE_TMPRING		140
#define QUEUE_SEGMENT		144
#define QUEUE_SCRATCH		160
#define QUEUE_PROPERTIES	180
#define QUEUE_INACTIVE		192
#define TICK_NS			10

/* Begin and end of a dispatch are in its signal, whether it was preempted in between or not, if the runtime asked for that */
static bool signals_have_time_stamps(struct setup *s)
{
	const u32 n = 64 * WORKGROUP, grid[3] = { n, 1, 1 }, offset = 128, profiling = 8;
	u64 args[2], preemptions, begin, restored, *stamp = (u64 *)s->signal + 3;		/* start_ts, end_ts */
	u8 *queue = (u8 *)s->q->write_index - 56;

	args[0] = bed_alloc(s->b, s->p, 4096, NULL);
	args[1] = bed_alloc(s->b, s->p, n * 4, NULL);
	memcpy(s->args, args, sizeof(args));
	CHECK(submit(s, "reduce", grid, group_of_256, 0, 1024));
	CHECK(bed_runlist(s->b, &s->q, 1));
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
	u32 *out, *in, i, k, offset = 128, tmpring = waves | wave_kb << 12, own[8];
	struct {
		u64 out, in;
		u32 n;
	} args = { .n = 5 };
	u64 scratch, signal_va, preemptions;
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
	scratch = bed_alloc(s->b, s->p, waves * wave_kb * 1024, NULL);
	memcpy(queue + QUEUE_TMPRING, &tmpring, 4);
	memcpy(queue + QUEUE_SEGMENT, (u32[]) { (u32)scratch, (u32)(scratch >> 32) | 1u << 31, U32_MAX, 3u << 21 | 1u << 23 }, 16);
	memcpy(queue + QUEUE_SCRATCH, &scratch, 8);
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

static void test(char *const *files, const char *name, bool (*f)(struct setup *s), void (*configure)(struct vgpu_config *c))
{
	size_t bytes;
	void *file = object_file(files[configure ? 2 : 1], &bytes);
	struct setup s = set_up(file, bytes, configure);
	bool passed;

	vgpu_quiet = false;
	passed = f(&s);
	printf("%sok %u %s%s\n", passed ? "" : "not ", ++tests, name, !configure ? "" : configure == bed_gfx942 ? ", gfx942" : ", gfx942 with two XCCs");
	if (!passed)
		printf("# %s\n", why);
	failures += !passed;
	bed_free(s.b);
}

#define TEST(f, configure)	test(argv, #f, f, configure)

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: code_test GFX90A.co GFX942.co\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	TEST(vector_add, NULL);
	TEST(vector_add, bed_xccs_2);
	TEST(dispatches_follow_each_other, NULL);
	TEST(dispatches_follow_each_other, bed_xccs_2);
	TEST(matrices_survive_preemption, NULL);
	TEST(matrices_survive_preemption, bed_xccs_2);
	TEST(sums_survive_preemption, NULL);
	TEST(sums_survive_preemption, bed_xccs_2);
	TEST(only_memory_counts, NULL);
	TEST(only_memory_counts, bed_gfx942);
	TEST(unknown_instructions_stop_the_queue, NULL);
	TEST(unknown_instructions_stop_the_queue, bed_xccs_2);
	TEST(faults_halt_the_wave, NULL);
	TEST(faults_halt_the_wave, bed_xccs_2);
	TEST(scratch_memory_is_asked_for, NULL);
	TEST(scratch_memory_is_asked_for, bed_xccs_2);
	TEST(signals_have_time_stamps, NULL);
	TEST(signals_have_time_stamps, bed_xccs_2);
	printf("1..%u\n", tests);
	return failures ? 1 : 0;
}
