// SPDX-License-Identifier: MIT
/*
 * isa_test.c - the shader cores of the device model, in user space (TAP)
 *
 *	isa_test gfx90a|gfx942 TABLE TABLE.bin KERNELS.co...
 *
 * TABLE holds instructions with what goes in and what must come out (see instructions.table);
 * TABLE.bin is their code. The code objects hold kernels.cl as LLVM compiled it.
 */
#include <stdarg.h>
#include <sys/mman.h>

#include "arithmetic.h"
#include "../../model/model.h"
#include "object.h"
#include "workgroup.h"

#define BASE		0x7f0000000000ULL	/* GPU address of the memory */
#define MEMORY_BYTES	(16u << 20)
#define CODE		(BASE + 0x100000)
#define DATA		(BASE + 0x400000)
#define SCRATCH		(BASE + 0xc00000)
#define SCRATCH_LANE	4096u			/* bytes of a lane */
#define SHARED_BASE	(1ULL << 48)
#define PRIVATE_BASE	(2ULL << 48)
#define VGPRS		64u
#define ACC		32u
#define LDS		256u

static u8 *memory;
static u32 tests, failures;
static const char *device;
static bool gfx942;

/* Memory of random instructions, and whether there is none but that and their code */
#define RANDOM_BYTES	(3 * VGPU_PAGE)
#define LAST_PAGES	(BASE + MEMORY_BYTES - RANDOM_BYTES)

static bool confined;

static void *at(u64 va)
{
	return memory + (va - BASE);
}

static void *ptr(void *ctx, u64 va, u32 len, u32 access)
{
	(void)ctx;
	(void)access;
	if (confined && va < LAST_PAGES && va != CODE)
		return NULL;
	return va >= BASE && va + len <= BASE + MEMORY_BYTES ? at(va) : NULL;
}

static void ok(bool passed, const char *format, ...)
{
	va_list args;

	printf("%sok %u ", passed ? "" : "not ", ++tests);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	failures += !passed;
}

static struct vgpu_isa machine(u8 *lds, u32 lds_bytes)
{
	return (struct vgpu_isa) {
		.gfx942 = gfx942, .ptr = ptr, .simd = vgpu_simd_begin(), .now_ns = 1000000, .clock = 5000,
		.lds = lds, .lds_bytes = lds_bytes, .shared_base = SHARED_BASE,
		.private_base = PRIVATE_BASE,
	};
}

/* ---- single instructions ---- */

struct state {
	struct vgpu_wave w;
	u32 v[VGPRS * VGPU_LANES];
	u8 lds[LDS];
	u8 mem[LDS];
};

/* A number: of any base, "mem" for the address of the memory, or floating point with the suffix h, f or d */
static u64 number(const char *text)
{
	union number n = { .u = 0 };
	char *end;

	if (!strcmp(text, "mem"))
		return DATA;
	if (!strcmp(text, "shared"))
		return SHARED_BASE;
	n.u = (u64)strtoll(text, &end, 0);
	if (text[0] != '-')
		n.u = strtoull(text, &end, 0);
	if (!*end)
		return n.u;
	n.d = strtod(text, &end);
	if (*end == 'f' && !end[1]) {
		n.f = (float)n.d;
		return n.w;
	}
	if (*end == 'h' && !end[1]) {
		n.h = (f16)n.d;
		return n.s;
	}
	if (*end == 'd' && !end[1])
		return n.u;
	fprintf(stderr, "no number: %s\n", text);
	exit(2);
}

/* NAME=VALUE. Return: false if there is no such thing. */
static bool set(struct state *s, const char *name, u64 value)
{
	u32 reg, last, lane, n;
	char kind;

	if (!strcmp(name, "scc")) {
		vgpu_wave_set_scc(&s->w, value);
	} else if (!strcmp(name, "mode")) {
		s->w.mode = (u32)value;
	} else if (!strcmp(name, "vcc")) {
		vgpu_isa_set_scalar(&s->w, VGPU_S_VCC, value, true);
	} else if (!strcmp(name, "exec")) {
		vgpu_isa_set_scalar(&s->w, VGPU_S_EXEC, value, true);
	} else if (!strcmp(name, "m0")) {
		s->w.s[VGPU_S_M0] = (u32)value;
	} else if (sscanf(name, "lds+%i", (int *)&n) == 1) {
		memcpy(s->lds + n, &value, 4);
	} else if (sscanf(name, "mem+%i", (int *)&n) == 1) {
		memcpy(s->mem + n, &value, 4);
	} else if (sscanf(name, "s[%u:%u]", &reg, &last) == 2) {
		vgpu_isa_set_scalar(&s->w, reg, value, true);
	} else if (sscanf(name, "%c[%u:%u]", &kind, &reg, &last) == 3 && (kind == 'v' || kind == 'a')) {
		reg += kind == 'a' ? ACC : 0;
		for (lane = 0; lane < VGPU_LANES; lane++) {
			s->v[reg * VGPU_LANES + lane] = (u32)value;
			s->v[(reg + 1) * VGPU_LANES + lane] = (u32)(value >> 32);
		}
	} else if (sscanf(name, "%c%u.%u", &kind, &reg, &lane) == 3 && (kind == 'v' || kind == 'a')) {
		s->v[(reg + (kind == 'a' ? ACC : 0)) * VGPU_LANES + lane] = (u32)value;
	} else if (sscanf(name, "%c%u", &kind, &reg) == 2 && (kind == 'v' || kind == 'a')) {
		reg += kind == 'a' ? ACC : 0;
		for (lane = 0; lane < VGPU_LANES; lane++)
			if (vgpu_wave_exec(&s->w) >> lane & 1)
				s->v[reg * VGPU_LANES + lane] = (u32)value;
	} else if (sscanf(name, "s%u", &reg) == 1) {
		s->w.s[reg] = (u32)value;
	} else {
		return false;
	}
	return true;
}

static void set_all(struct state *s, char *list)
{
	char *item, *save, *value;

	for (item = strtok_r(list, " \t\n", &save); item; item = strtok_r(NULL, " \t\n", &save)) {
		value = strchr(item, '=');
		if (value)
			*value++ = 0;
		if (!value || !set(s, item, number(value))) {
			fprintf(stderr, "no register: %s\n", item);
			exit(2);
		}
	}
}

/* Whatever a line does not name must stay as it is: all registers hold something */
static void fill(struct state *s)
{
	u32 i;

	memset(s, 0, sizeof(*s));
	s->w.vgprs = VGPRS;
	s->w.acc = ACC;
	s->w.mode = 0xf0 | VGPU_MODE_IEEE | VGPU_MODE_DX10_CLAMP;
	for (i = 0; i < VGPU_WAVE_SGPRS; i++)
		s->w.s[i] = 0x5c000000 + i;
	s->w.s[VGPU_S_M0] = 0;
	vgpu_isa_set_scalar(&s->w, VGPU_S_VCC, 0, true);
	vgpu_isa_set_scalar(&s->w, VGPU_S_EXEC, U64_MAX, true);
	for (i = 0; i < VGPRS * VGPU_LANES; i++)
		s->v[i] = 0xbad00000 + i;
}

static bool differ(const char *what, u32 number_, u32 lane, u32 got, u32 want)
{
	if (got != want)
		printf("# %s%u lane %u: %#x instead of %#x\n", what, number_, lane, got, want);
	return got != want;
}

static bool same(const struct state *got, const struct state *want)
{
	u32 i, wrong = 0;

	for (i = 0; i < VGPU_WAVE_SGPRS; i++)
		wrong += differ("s", i, 0, got->w.s[i], want->w.s[i]);
	for (i = 0; i < VGPRS * VGPU_LANES && wrong < 4; i++)
		wrong += differ("v", i / VGPU_LANES, i % VGPU_LANES, got->v[i], want->v[i]);
	for (i = 0; i < LDS; i++)
		wrong += differ("lds", i, 0, got->lds[i], want->lds[i]) + differ("mem", i, 0, got->mem[i], want->mem[i]);
	wrong += differ("scc", 0, 0, got->w.status & VGPU_STATUS_SCC, want->w.status & VGPU_STATUS_SCC);
	wrong += differ("mode", 0, 0, got->w.mode, want->w.mode);
	return !wrong;
}

#define CODE_STRIDE	64u	/* of the lines' code in TABLE.bin */

/* LINE is "instructions | registers | registers": before, and what changed after. The code ends in s_endpgm. */
static void run_line(char *line, const u32 *code)
{
	char *out = strrchr(line, '|'), *in, name[128];
	static struct state start, got, want;
	struct vgpu_isa x;

	if (!strncmp(line, "as gfx", 6) && strncmp(line + 3, device, strlen(device)))
		return;
	*out++ = 0;
	in = strrchr(line, '|');
	*in++ = 0;
	snprintf(name, sizeof(name), "%s| %s", line, in);
	fill(&start);
	memcpy(at(CODE), code, CODE_STRIDE);
	start.w.pc = CODE;
	set_all(&start, in);
	want = start;
	got = start;
	set_all(&want, out);
	got.w.v = got.v;
	memcpy(at(DATA), got.mem, LDS);
	x = machine(got.lds, LDS);
	vgpu_isa_run(&x, &got.w, 32);
	if (!strncmp(name, "gfx", 3) && strncmp(name, device, strlen(device))) {
		ok(got.w.state == VGPU_WAVE_HALTED && got.w.exception == VGPU_WAVE_ILLEGAL_INSTRUCTION && !strncmp(x.why, "unknown ", 8),
		   "not here: %s", name);
		return;
	}
	memcpy(got.mem, at(DATA), LDS);
	ok((got.w.state == VGPU_WAVE_ENDED || printf("# state %u: %s %#x %#x\n", got.w.state, x.why, x.words[0], x.words[1]) < 0) &&
	   same(&got, &want), "%s", name);
}

static void run_table(const char *table, const char *binary)
{
	size_t table_size, code_size;
	char *text = object_file(table, &table_size), *line, *save;
	const u8 *code = object_file(binary, &code_size);
	u32 n = 0;

	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (*line == '#' || !strchr(line, '|'))
			continue;
		if ((n + 1) * CODE_STRIDE > code_size) {
			fprintf(stderr, "%s is too short\n", binary);
			exit(2);
		}
		run_line(line, (const u32 *)(code + n * CODE_STRIDE));
		n++;
	}
}

/* ---- code objects ---- */

struct program {
	const char *name;
	const u8 *file;
};

static bool run(const struct program *p, const char *name, const void *args, u32 args_bytes, const u32 grid[3], const u32 workgroup[3])
{
	struct vgpu_isa_launch launch = {
		.gfx942 = gfx942, .packet = DATA, .kernargs = BASE + 0x2000, .scratch = SCRATCH, .scratch_bytes = SCRATCH_LANE,
		/* 64 lanes interleaved by dwords */
		.segment = { (u32)SCRATCH, (u32)(SCRATCH >> 32) | 1u << 31, U32_MAX, 3u << 21 | 1u << 23 },
		.grid = { grid[0], grid[1], grid[2] }, .workgroup = { workgroup[0], workgroup[1], workgroup[2] },
	};
	const struct vgpu_isa device_ = machine(NULL, 0);
	struct vgpu_kernel_code code;
	u32 wg[3], lds_bytes;
	char kd[64];
	u64 va;

	memset(at(CODE), 0, DATA - CODE);
	object_load(p->file, at(CODE));
	snprintf(kd, sizeof(kd), "%s.kd", name);
	if (!object_symbol(p->file, kd, &va) || !vgpu_isa_descriptor(at(CODE + va), CODE + va, &code)) {
		printf("# no kernel %s\n", kd);
		return false;
	}
	memcpy(&lds_bytes, at(CODE + va), 4);
	memcpy(at(launch.kernargs), args, args_bytes);
	for (wg[2] = 0; wg[2] < (grid[2] + workgroup[2] - 1) / workgroup[2]; wg[2]++)
		for (wg[1] = 0; wg[1] < (grid[1] + workgroup[1] - 1) / workgroup[1]; wg[1]++)
			for (wg[0] = 0; wg[0] < (grid[0] + workgroup[0] - 1) / workgroup[0]; wg[0]++)
				if (!workgroup_run(&device_, &code, &launch, wg, lds_bytes))
					return false;
	return true;
}

#define ITEMS		256u
#define OUT		(DATA + 0x200000)

static const u32 one_group[3] = { ITEMS, 1, 1 };

/* Operands that are near to each other, small, large, special */
static u64 operand(u32 i)
{
	static const u64 special[] = {
		0, 1, U64_MAX, 1ULL << 63, 1ULL << 31, 0x7fffffffffffffffULL, 0x3ff0000000000000ULL, 0x7ff0000000000000ULL,
		0xfff0000000000000ULL, 0x3f800000, 0x7f800000, 0xff800000, 0x80000000, 0x00000001, 0x007fffff, 0x00800000, 0x3c00,
		0x7c00, 0x0001, 0x8000, 0x000fffffffffffffULL, 0x0010000000000000ULL, 0x4340000000000000ULL, 0x4b000000, 0x4f000000,
		0x7f7fffff, 0x7fefffffffffffffULL, 0x00000100, 0xbf800000, 0xbff0000000000000ULL,
	};
	u64 v = random64();

	switch (i % 6) {
	case 0:
		return special[v % ARRAY_SIZE(special)];
	case 1:		/* doubles of moderate size, and floats in the lower half */
		return (v & 0x800fffff807fffffULL) | (1000 + (v >> 24) % 50) << 52 | (110 + (v >> 9) % 40) << 23;
	case 2:
		return v >> (v & 63);
	case 3:
		return (v & 0x8000000080000000ULL) | (1023ULL + v % 3) << 52 | (127 + v % 3) << 23 | (v & 0x7c0000);
	default:
		return v;
	}
}

static u64 on_host(u32 operation, u64 a, u64 b, u64 c)
{
	enum {
		FIRST = __COUNTER__,
	};
#define CASE(expression)	case __COUNTER__ - FIRST - 1: return (expression);
	switch (operation) {
	ARITHMETIC(CASE)
	}
	return 0;
}

#define NAME(expression)	#expression,
static const char *const operations[] = { ARITHMETIC(NAME) };

static void arithmetic(const struct program *p)
{
	struct {
		u64 out, in;
		u32 operation;
	} args = { OUT, DATA, 0 };
	u64 *in = at(DATA), *out = at(OUT), want;
	u32 i, round;

	for (args.operation = 0; args.operation < ARRAY_SIZE(operations); args.operation++) {
		bool good = true;

		for (round = 0; round < 2 && good; round++) {
			for (i = 0; i < 3 * ITEMS; i++)
				in[i] = operand((u32)random64());
			good = run(p, "arithmetic", &args, sizeof(args), one_group, one_group);
			for (i = 0; i < ITEMS && good; i++) {
				want = on_host(args.operation, in[3 * i], in[3 * i + 1], in[3 * i + 2]);
				if (out[i] != want) {
					printf("# a %#llx b %#llx c %#llx: %#llx instead of %#llx\n", in[3 * i], in[3 * i + 1],
					       in[3 * i + 2], out[i], want);
					good = false;
				}
			}
		}
		ok(good, "%s", operations[args.operation]);
	}
}

static void vector_add(const struct program *p)
{
	const u32 grid[3] = { 1000, 1, 1 }, n = 990;
	struct {
		u64 out, x, y;
		u32 n;
	} args = { OUT, DATA, DATA + 4096, n };
	float *x = at(DATA), *y = at(DATA + 4096), *out = at(OUT);
	bool good;
	u32 i;

	for (i = 0; i < 1000; i++) {
		x[i] = (float)i * 0.37f;
		y[i] = 1e6f / (float)(i + 1);
		out[i] = -1;
	}
	good = run(p, "vector_add", &args, sizeof(args), grid, one_group);
	for (i = 0; i < 1000 && good; i++)
		good = out[i] == (i < n ? x[i] + y[i] : -1);
	ok(good, "%s: vector add, the last workgroup is smaller", p->name);
}

static void reduce(const struct program *p)
{
	const u32 grid[3] = { 1024, 1, 1 };
	const u64 args[2] = { OUT, DATA };
	u32 *in = at(DATA), *out = at(OUT), want[4] = { 0 }, i;
	bool good;

	for (i = 0; i < 1024; i++) {
		in[i] = (u32)random64();
		want[i / ITEMS] += in[i];
	}
	good = run(p, "reduce", args, sizeof(args), grid, one_group);
	ok(good && !memcmp(want, out, sizeof(want)), "%s: reduction with LDS and barriers", p->name);
}

static void matrix_multiply(const struct program *p)
{
	const u32 n = 48, grid[3] = { n, n, 1 }, wg[3] = { 16, 16, 1 };
	struct {
		u64 out, x, y;
		u32 n;
	} args = { OUT, DATA, DATA + 0x10000, n };
	float *x = at(DATA), *y = at(DATA + 0x10000), *out = at(OUT);
	u32 i, j, k;
	bool good;

	for (i = 0; i < n * n; i++) {
		x[i] = (float)(random64() % 1000) / 7;
		y[i] = (float)(random64() % 1000) / 11 - 40;
	}
	good = run(p, "matrix_multiply", &args, sizeof(args), grid, wg);
	for (i = 0; i < n && good; i++)
		for (j = 0; j < n && good; j++) {
			float sum = 0;

			for (k = 0; k < n; k++)
				sum += x[i * n + k] * y[k * n + j];
			good = out[i * n + j] == sum;
		}
	ok(good, "%s: matrix multiply", p->name);
}

static void histogram(const struct program *p)
{
	const u32 grid[3] = { 1024, 1, 1 };
	struct {
		u64 bins, in;
		u32 n;
	} args = { OUT, DATA, 5000 };
	u32 *bins = at(OUT), want[256] = { 0 }, i;
	u8 *in = at(DATA);
	bool good;

	memset(bins, 0, sizeof(want));
	for (i = 0; i < args.n; i++) {
		in[i] = (u8)(random64() % 37 * 5);
		want[in[i]]++;
	}
	good = run(p, "histogram", &args, sizeof(args), grid, one_group);
	ok(good && !memcmp(want, bins, sizeof(want)), "%s: histogram with atomics on LDS and memory", p->name);
}

static void numbers(const struct program *p)
{
	const u32 grid[3] = { 19, 10, 3 }, wg[3] = { 8, 4, 2 };
	struct {
		u64 out;
		u32 width, height;
	} args = { OUT, grid[0], grid[1] };
	u32 *out = at(OUT), x, y, z;
	bool good;

	memset(out, 0, 19 * 10 * 3 * 4);
	good = run(p, "numbers", &args, sizeof(args), grid, wg);
	for (z = 0; z < 3; z++)
		for (y = 0; y < 10; y++)
			for (x = 0; x < 19 && good; x++)
				good = out[(z * 10 + y) * 19 + x] == x + y * 100 + z * 10000 + 1;
	ok(good, "%s: work-items in three dimensions, uneven", p->name);
}

static void pointers(const struct program *p)
{
	struct {
		u64 out, in;
		u32 n;
	} args = { OUT, DATA, 5 };
	u32 *in = at(DATA), *out = at(OUT), i, k, own[8];
	bool good;

	for (i = 0; i < ITEMS; i++)
		in[i] = (u32)random64();
	good = run(p, "pointers", &args, sizeof(args), one_group, one_group);
	for (i = 0; i < ITEMS && good; i++) {
		u32 want = 0;

		for (k = 0; k < 8; k++)
			own[(k + i) % 8] = i * k;
		for (k = 0; k < (i & 7); k++)
			want += in[k];
		for (k = 0; k < 5; k++)
			want += own[k] + in[k];
		good = out[i] == want;
	}
	ok(good, "%s: generic pointers to LDS, scratch and memory, a call", p->name);
}

static void lanes(const struct program *p)
{
	const u64 args[2] = { OUT, DATA };
	u32 *in = at(DATA), *out = at(OUT), i, sum[ITEMS];
	bool good;

	for (i = 0; i < ITEMS; i++) {
		in[i] = (u32)random64();
		sum[i] = in[i] + (i % 64 ? sum[i - 1] : 0);
	}
	good = run(p, "lanes", args, sizeof(args), one_group, one_group);
	for (i = 0; i < ITEMS && good; i++)
		good = out[2 * i] == sum[i] && out[2 * i + 1] == sum[i | 63] + in[i & ~63u];
	ok(good, "%s: from lane to lane", p->name);
}

/* ---- all lanes at once, against one after the other ---- */

#define ROUNDS		20000u		/* of each kind; COUNT in the environment: so many times that */
#define REFILL		8u		/* so many go on with what the one before has left */
#define NEAR_MISS	1000u

static u32 below(u32 n)
{
	return (u32)(random64() >> 20) % n;
}

static bool one_in(u32 n)
{
	return !below(n);
}

/* Mostly registers that a wave has */
static u32 any_vgpr(void)
{
	return one_in(NEAR_MISS) ? below(256) : below(VGPRS - 3);
}

static u32 any_source(void)
{
	switch (below(8)) {
	case 0:
		return below(102);
	case 1:
		return one_in(4) ? below(256) : 128 + below(81);
	case 2:
		return one_in(2) ? 240 + below(9) : 255;
	default:
		return 256 + any_vgpr();
	}
}

static void any_vop(u32 *code)
{
	static const u16 dpp[] = { 0x101, 0x103, 0x111, 0x118, 0x121, 0x128, 0x130, 0x134, 0x138, 0x13c, 0x140, 0x141, 0x142, 0x143, 0x152, 0x1b0 };
	u32 op = below(0x40), source = any_source() & 0x1ff, control;

	if (source == 249 || source == 250)
		source = 256;
	code[0] = op << 25 | any_vgpr() << 17 | (op == 0x3f ? below(0x56) : any_vgpr()) << 9 | source;
	if (op == 0x3e)
		code[0] = (code[0] & ~(0xffu << 17)) | below(256) << 17;
	code[1] = (u32)random64();
	if (one_in(4)) {
		code[0] = (code[0] & ~0x1ffu) | 249;
		code[1] = any_vgpr() | (one_in(2) ? 6 : below(7)) << 8 | below(3) << 11 | one_in(16) << 13 | below(7) << 16 | below(16) << 19 |
			  (one_in(2) ? 6 : below(7)) << 24 | below(16) << 27;
		if (op == 0x3e)
			code[1] = (code[1] & ~0xff00u) | (one_in(2) ? 0x8000 | below(100) << 8 : 0);
	} else if (one_in(3)) {
		control = one_in(2) ? below(256) : dpp[below(ARRAY_SIZE(dpp))];
		code[0] = (code[0] & ~0x1ffu) | 250;
		code[1] = any_vgpr() | control << 8 | below(2) << 19 | (one_in(4) ? below(16) : 0) << 20 |
			  (one_in(2) ? 0xff : below(256)) << 24;
	}
}

static void any_vop3(u32 *code)
{
	code[0] = 0xd0000000 | below(0x2a2) << 16 | one_in(16) << 15 | (one_in(4) ? below(16) : 0) << 11 | (one_in(3) ? below(8) : 0) << 8 | any_vgpr();
	code[1] = any_source() | any_source() << 9 | any_source() << 18 | (one_in(16) ? below(4) : 0) << 27 | (one_in(3) ? below(8) : 0) << 29;
}

static void any_vop3p(u32 *code)
{
	u32 op = below(0x34);

	if (one_in(64))
		op = 0x40 + below(0x30);
	else if (one_in(16))
		op = 0x58 + below(2);
	code[0] = 0xd3800000 | op << 16 | one_in(16) << 15 | (one_in(2) ? below(16) : 8) << 11 | (one_in(3) ? below(8) : 0) << 8 | any_vgpr();
	code[1] = any_source() | any_source() << 9 | any_source() << 18 | (one_in(2) ? below(4) : 3) << 27 | (one_in(3) ? below(8) : 0) << 29;
	if (op >= 0x40) {		/* no modifiers, registers of which there are enough, and C where D is, or nowhere */
		u32 d = below(VGPRS - 32);

		code[0] = 0xd3800000 | op << 16 | below(2) << 15 | d;
		code[1] = (256 + below(VGPRS - 2 - ACC)) | (256 + below(VGPRS - 2 - ACC)) << 9 | (one_in(2) ? 128 : 256 + d) << 18 |
			  below(4) << 27;
	}
}

/* v0: any; v[2:3], v[4:5]: addresses of dwords beside each other, and here and there; v6, v7: the same offsets */
static void any_flat(u32 *code)
{
	u32 segment = one_in(2) ? 0 : 2, scalar = segment && one_in(2), op = one_in(4) ? below(0x70) : 0x10 + below(0x16);

	code[0] = 0xdc000000 | op << 18 | one_in(4) << 16 | segment << 14 | (one_in(2) ? below(0x800) & (one_in(2) ? ~3u : ~0u) : 0);
	code[1] = (scalar ? 6 + below(2) : 2 + 2 * below(2)) | (8 + below(24)) << 8 | (scalar ? 0 : 0x7f) << 16 | one_in(4) << 23 |
		  (one_in(8) ? below(8) : 8 + below(24)) << 24;
}

static void any_ds(u32 *code)
{
	code[0] = 0xd8000000 | below(256) << 17 | (one_in(2) ? below(0x400) : 4 * below(8)) | one_in(8) << 25;
	code[1] = (6 + below(2)) | (8 + below(24)) << 8 | (8 + below(24)) << 16 | (one_in(8) ? below(8) : 8 + below(24)) << 24;
}

#define RANDOM_LDS	1024u

struct random_state {
	struct vgpu_wave w;
	u32 v[VGPRS * VGPU_LANES];
	u8 lds[RANDOM_LDS];
	u8 mem[RANDOM_BYTES];
};

static u64 any_exec(void)
{
	switch (below(6)) {
	case 0:
		return random64();
	case 1:
		return 1ULL << below(64);
	case 2:
		return one_in(4) ? 0 : random64() | random64();
	default:
		return U64_MAX;
	}
}

static void fill_randomly(struct random_state *s)
{
	u32 i, lane, stride = one_in(4) ? below(64) : 4, first = 4 * below(200), kind;
	u64 near = LAST_PAGES + (one_in(4) ? below(RANDOM_BYTES) : 4 * below(RANDOM_BYTES / 4 - 64)), va;

	memset(s, 0, sizeof(*s));
	s->w.vgprs = VGPRS;
	s->w.acc = ACC;
	s->w.pc = CODE;
	s->w.mode = (one_in(8) ? below(256) : 0xf0) | (below(4) ? VGPU_MODE_IEEE : 0) | (below(4) ? VGPU_MODE_DX10_CLAMP : 0) |
		    (one_in(50) ? VGPU_MODE_GPR_IDX : 0);
	s->w.status = below(2);
	for (i = 0; i < VGPU_WAVE_SGPRS; i++)
		s->w.s[i] = (u32)operand((u32)random64());
	s->w.s[VGPU_S_M0] = below(4) | below(16) << 12;
	vgpu_isa_set_scalar(&s->w, 0, LAST_PAGES + 4 * below(1024), true);
	vgpu_isa_set_scalar(&s->w, VGPU_S_EXEC, any_exec(), true);
	for (i = 0; i < VGPRS; i++) {
		kind = below(6);
		for (lane = 0; lane < VGPU_LANES; lane++)
			s->v[i * VGPU_LANES + lane] = kind == 5 ? 0x3f800000 + below(1 << 24) :
						      (u32)operand(kind < 2 ? (u32)random64() : kind == 4 ? 0 : kind);
	}
	for (lane = 0; lane < VGPU_LANES; lane++) {
		va = near + stride * lane;
		s->v[2 * VGPU_LANES + lane] = (u32)va;
		s->v[3 * VGPU_LANES + lane] = (u32)(va >> 32);
		va = one_in(200) ? SHARED_BASE + below(RANDOM_LDS) : LAST_PAGES + below(RANDOM_BYTES - 64) + (one_in(NEAR_MISS) ? 128 : 0);
		s->v[4 * VGPU_LANES + lane] = (u32)va;
		s->v[5 * VGPU_LANES + lane] = (u32)(va >> 32);
		s->v[6 * VGPU_LANES + lane] = first + stride * lane;
		s->v[7 * VGPU_LANES + lane] = one_in(2) ? below(RANDOM_LDS + 16) : 4 * below(RANDOM_LDS / 4);
	}
	for (i = 0; i < RANDOM_LDS; i++)
		s->lds[i] = (u8)random64();
	for (i = 0; i < RANDOM_BYTES; i++)
		s->mem[i] = (u8)(random64() >> 7);
}

/* Executes the instruction at CODE. Return: clocks that it took */
static u64 execute(struct random_state *s, bool at_once)
{
	struct vgpu_isa x = machine(s->lds, RANDOM_LDS);

	x.simd = at_once && x.simd;
	s->w.v = s->v;
	memcpy(at(LAST_PAGES), s->mem, RANDOM_BYTES);
	vgpu_isa_run(&x, &s->w, 1);
	memcpy(s->mem, at(LAST_PAGES), RANDOM_BYTES);
	s->w.v = NULL;
	return x.cycles;
}

static bool do_the_same(struct random_state *a, struct random_state *b, const u32 *code)
{
	u32 i;

	*b = *a;
	memcpy(at(CODE), code, 8);
	if (execute(a, true) == execute(b, false) && !memcmp(a, b, sizeof(*a)))
		return true;
	printf("# %#x %#x: state %u, %u; pc +%u, +%u; mode %#x exec %#llx\n", code[0], code[1], a->w.state, b->w.state, (u32)(a->w.pc - CODE),
	       (u32)(b->w.pc - CODE), b->w.mode, vgpu_wave_exec(&b->w));
	for (i = 0; i < VGPU_WAVE_SGPRS; i++)
		differ("s", i, 0, a->w.s[i], b->w.s[i]);
	for (i = 0; i < VGPRS * VGPU_LANES; i++)
		differ("v", i / VGPU_LANES, i % VGPU_LANES, a->v[i], b->v[i]);
	return false;
}

/* Instructions with operands of any kind: the CPU's vector registers make no difference */
static void random_instructions(void)
{
	static const struct {
		const char *name;
		void (*any)(u32 *code);
	} kinds[] = {
		{ "VOP1, VOP2 and VOPC", any_vop }, { "VOP3", any_vop3 }, { "VOP3P", any_vop3p }, { "FLAT and GLOBAL", any_flat }, { "DS", any_ds },
	};
	const char *times = getenv("COUNT");
	u32 kind, round, code[2], known, rounds = ROUNDS * (times ? (u32)strtoul(times, NULL, 10) : 1);
	static struct random_state a, b;
	bool good;

	confined = true;
	for (kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
		for (round = 0, known = 0, good = true; round < rounds && good; round++) {
			if (round % REFILL == 0 || a.w.state != VGPU_WAVE_RUNS)
				fill_randomly(&a);
			a.w.pc = CODE;
			vgpu_isa_set_scalar(&a.w, VGPU_S_EXEC, any_exec(), true);
			kinds[kind].any(code);
			good = do_the_same(&a, &b, code);
			known += b.w.state != VGPU_WAVE_HALTED;
		}
		if (known <= rounds / 8)
			printf("# %u of %u are instructions that can be executed\n", known, rounds);
		ok(good && known > rounds / 8, "%s of any kind: all lanes at once do what they do one after the other", kinds[kind].name);
	}
	confined = false;
}

/* ---- exceptions ---- */

/* Runs so many instructions of this code, at @pc. Return: it halted there because of an instruction that is none */
static bool illegal(struct state *s, struct vgpu_isa *x, u64 pc, const u32 code[3], u32 steps)
{
	fill(s);
	s->w.v = s->v;
	s->w.pc = pc;
	memcpy(at(CODE), code, 12);
	vgpu_isa_run(x, &s->w, steps);
	return s->w.state == VGPU_WAVE_HALTED && s->w.exception == VGPU_WAVE_ILLEGAL_INSTRUCTION;
}

static void exceptions(void)
{
	static struct state s;
	struct vgpu_isa x = machine(s.lds, LDS);

	ok(illegal(&s, &x, CODE, (u32[]) { 0xbf800000, 0xd3ff1234, 0x12345678 }, 10) && s.w.pc == CODE + 4 &&	/* s_nop 0, no VOP3P */
	   x.words[0] == 0xd3ff1234 && x.words[1] == 0x12345678 && strstr(x.why, "VOP3P"), "an unknown instruction halts the wave and is named");
	ok(illegal(&s, &x, CODE, (u32[]) { 0xd3c28100, 0x04020300, 0 }, 1) && strstr(x.why, "MFMA"),	/* v_mfma_f32_4x4x1f32 a[0:3], v0, v1, a[0:3] cbsz:1 */
	   "so does a modifier of the matrix cores");
	ok(illegal(&s, &x, CODE, (u32[]) { 0xf0000000, 0, 0 }, 1) && strstr(x.why, "MIMG"),		/* image_load */
	   "and one of an encoding that is not modelled");
	ok(illegal(&s, &x, CODE, (u32[]) { 0x7e000200 | 200u << 17 | 256, 0, 0 }, 1),			/* v_mov_b32 v200, v0 */
	   "a register that was not allocated does too");
	ok(!illegal(&s, &x, 0x1000, (u32[]) { 0, 0, 0 }, 1) && s.w.state == VGPU_WAVE_HALTED && s.w.exception == VGPU_WAVE_MEMORY_VIOLATION &&
	   s.w.pc == 0x1000, "code that is not mapped is a memory violation");
}

int main(int argc, char **argv)
{
	int i;

	if (argc < 5) {
		fprintf(stderr, "usage: isa_test gfx90a|gfx942 TABLE TABLE.bin KERNELS.co...\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	memory = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return 2;
	device = argv[1];
	gfx942 = !strcmp(device, "gfx942");
	exceptions();
	random_instructions();
	run_table(argv[2], argv[3]);
	for (i = 4; i < argc; i++) {
		struct program p = { .name = strrchr(argv[i], '/') ? strrchr(argv[i], '/') + 1 : argv[i] };
		size_t size;

		p.file = object_file(argv[i], &size);
		vector_add(&p);
		reduce(&p);
		matrix_multiply(&p);
		histogram(&p);
		numbers(&p);
		pointers(&p);
		lanes(&p);
		if (i == 4)
			arithmetic(&p);
	}
	printf("1..%u\n", tests);
	return failures ? 1 : 0;
}
