// SPDX-License-Identifier: MIT
/*
 * bench.c - speed of the shader cores, by class of instruction
 *
 *	bench CODE [CLASS...]
 *	bench CODE COUNT CLASS
 *
 * CODE is bench.s assembled. For each class: wave instructions a second on the machine it runs on.
 * With COUNT it executes so many of one class in counted(), for a program that counts the CPU's
 * own instructions there (bench.sh): an emulator's time follows these. The model is compiled here as
 * for the kernel, so the figures hold there as well.
 */
#include <sys/mman.h>
#include <time.h>

#include "../../model/model.h"
#include "object.h"

#define BASE		0x7f0000000000ULL	/* GPU address of the memory */
#define MEMORY_BYTES	(1u << 20)
#define DATA		(BASE + 0x80000 + 1024)
#define LDS		16384u
#define VGPRS		64u
#define ACC		32u
#define PAGE		4096u
#define ROUND		64u		/* wave instructions between two looks at the clock */
#define WINDOW_NS	1000000ULL
#define TIMED_NS	100000000ULL

static const char *const classes[] = {
	"scalar", "vector-int", "vector-float", "vector-double", "functions", "half-of-the-lanes", "memory", "scattered-memory", "scalar-memory",
	"lds", "matrix", "packed", "branch", "lanes", "kernel",
};

bool vgpu_quiet;
static u8 *memory, *lds;
static struct vgpu_wave wave;
static struct vgpu_isa isa;

static void *ptr(void *ctx, u64 va, u32 len, u32 access)
{
	(void)ctx;
	(void)access;
	return va >= BASE && va + len <= BASE + MEMORY_BYTES ? memory + (va - BASE) : NULL;
}

static void must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "bench: %s\n", what);
	exit(2);
}

static void set_up(u32 class)
{
	u32 lane, i;

	memset(memory + (DATA - BASE), 0, 0x10000);
	isa = (struct vgpu_isa) {
		.ptr = ptr, .simd = vgpu_simd_begin(), .now_ns = 1000000, .lds = lds, .lds_bytes = LDS,
		.shared_base = 1ULL << 48, .private_base = 2ULL << 48,
	};
	wave.pc = BASE + class * PAGE;
	wave.vgprs = VGPRS;
	wave.acc = ACC;
	wave.mode = 0xf0 | VGPU_MODE_IEEE | VGPU_MODE_DX10_CLAMP;
	wave.state = VGPU_WAVE_RUNS;
	memset(wave.s, 0, sizeof(wave.s));
	vgpu_isa_set_scalar(&wave, VGPU_S_EXEC, U64_MAX, true);
	vgpu_isa_set_scalar(&wave, 8, DATA, true);
	for (i = 0; i < VGPRS; i++)
		for (lane = 0; lane < VGPU_LANES; lane++)
			wave.v[i * VGPU_LANES + lane] = 0x3c003c00 + i + lane;		/* numbers near 1 in 16 bits, small ones in 32 */
	for (lane = 0; lane < VGPU_LANES; lane++) {
		wave.v[lane] = lane;
		wave.v[2 * VGPU_LANES + lane] = (u32)DATA + 4 * lane;
		wave.v[3 * VGPU_LANES + lane] = (u32)(DATA >> 32);
		wave.v[4 * VGPU_LANES + lane] = 4 * lane;
	}
}

static void run(u32 count)
{
	must(vgpu_isa_run(&isa, &wave, count) == count, isa.why ? isa.why : "a wave stopped");
}

static u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000000000 + (u64)t.tv_nsec;
}

/* Wave instructions a second, in the best of some short windows: others may have the CPU during the rest */
static double speed(u32 class)
{
	u64 begin, now, from, done, end;
	double rate, best = 0;

	set_up(class);
	run(ROUND);
	begin = now_ns();
	end = begin + TIMED_NS;
	do {
		from = now_ns();
		done = 0;
		do {
			run(ROUND);
			done += ROUND;
			now = now_ns();
		} while (now - from < WINDOW_NS);
		rate = (double)done * 1e9 / (double)(now - from);
		best = rate > best ? rate : best;
	} while (now < end);
	return best;
}

/* Called once */
void __attribute__((noinline)) counted(u32 count);
void counted(u32 count)
{
	run(count);
}

int main(int argc, char **argv)
{
	u32 i, count = argc == 4 ? (u32)strtoul(argv[2], NULL, 10) : 0;
	size_t bytes;
	int n;

	if (argc < 2) {
		fprintf(stderr, "usage: bench CODE [CLASS...] | CODE COUNT CLASS\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	memory = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	lds = calloc(1, LDS);
	wave.v = calloc(VGPRS * VGPU_LANES, 4);
	must(memory != MAP_FAILED && lds && wave.v, "out of memory");
	memcpy(memory, object_file(argv[1], &bytes), ARRAY_SIZE(classes) * PAGE);
	for (i = 0; i < ARRAY_SIZE(classes); i++) {
		for (n = 2; n < argc && strcmp(argv[n], classes[i]); n++)
			;
		if (argc > 2 && n == argc)
			continue;
		if (!count) {
			printf("%-18s %12.0f\n", classes[i], speed(i));
			continue;
		}
		set_up(i);
		run(ROUND);
		counted(count);
	}
	return 0;
}
