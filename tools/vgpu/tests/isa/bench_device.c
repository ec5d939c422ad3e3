// SPDX-License-Identifier: MIT
/*
 * bench_device.c - a kernel in machine code on the whole device model, with its events and pauses
 *
 *	bench_device KERNELS.co [idle]
 *
 * With "idle" nothing else wants the model's CPU. Prints how many instructions its waves executed in counted(), for a program that counts the CPU's
 * own there (bench.sh). The model's clock is one of a slow machine, so that it is late: it goes on by
 * what is executed.
 */
#include "../bed.h"
#include "object.h"

#define SIZE		192u		/* of matrices */
#define TILE		16u
#define LONGEST_NS	1000000ULL	/* between two looks */

#define INSTRUCTION_NS	400u		/* of a wave */
#define QUESTION_NS	100u		/* what else is done between two looks at the clock */

static struct bed *bed;
static u64 instructions;

/* After the model has asked for the time: what it is told next time */
static void tick(void)
{
	bed->now += QUESTION_NS + (bed->m->stats.instructions - instructions) * INSTRUCTION_NS;
	instructions = bed->m->stats.instructions;
	bed->meanwhile = tick;
}

/* Called once, for a program that counts instructions */
void __attribute__((noinline)) counted(const s64 *signal);
void counted(const s64 *signal)
{
	u64 next;

	while (*(const volatile s64 *)signal > 0) {
		next = vgpu_model_run(bed->m);
		if (next > bed->now)
			bed->now = next - bed->now < LONGEST_NS ? next : bed->now + LONGEST_NS;
	}
}

int main(int argc, char **argv)
{
	const u32 grid[3] = { SIZE, SIZE, 1 }, lds_bytes = 2 * TILE * TILE * 4;
	u16 head[6] = { 2 | 0x100, 2, TILE, TILE, 1, 0 };
	struct {
		u64 out, x, y;
		u32 n;
	} args = { .n = SIZE };
	struct bed_process *p;
	struct bed_queue *q;
	u64 code, args_va, signal_va, va, begin;
	u8 packet[64] = { 0 };
	void *cpu, *file;
	float *x, *y;
	s64 *signal;
	size_t size;
	u32 i;

	if (argc != 2 && (argc != 3 || strcmp(argv[2], "idle"))) {
		fprintf(stderr, "usage: bench_device KERNELS.co [idle]\n");
		return 2;
	}
	file = object_file(argv[1], &size);
	bed = bed_new(NULL);
	bed->idle = argc == 3;
	bed_driver_up(bed);
	p = bed_process(bed);
	q = bed_queue(bed, p);
	code = bed_alloc(bed, p, object_memory(file) + 4096, &cpu);
	object_load(file, cpu);
	args_va = bed_alloc(bed, p, 4096, &cpu);
	args.out = bed_alloc(bed, p, SIZE * SIZE * 4, NULL);
	args.x = bed_alloc(bed, p, SIZE * SIZE * 4, (void **)&x);
	args.y = bed_alloc(bed, p, SIZE * SIZE * 4, (void **)&y);
	for (i = 0; i < SIZE * SIZE; i++) {
		x[i] = (float)(i % 1000);
		y[i] = 1.0f / (float)(i + 1);
	}
	memcpy(cpu, &args, sizeof(args));
	signal_va = args_va + 1024;
	signal = (s64 *)((u8 *)cpu + 1024 + 8);
	*signal = 1;
	if (!object_symbol(file, "matrix_multiply.kd", &va)) {
		fprintf(stderr, "bench_device: no matrix_multiply in %s\n", argv[1]);
		return 2;
	}
	va += code;
	memcpy(packet, head, sizeof(head));
	memcpy(packet + 12, grid, 12);
	memcpy(packet + 28, &lds_bytes, 4);
	memcpy(packet + 32, &va, 8);
	memcpy(packet + 40, &args_va, 8);
	memcpy(packet + 56, &signal_va, 8);
	bed_submit_raw(bed, q, packet, true);
	bed_runlist(bed, &q, 1);
	tick();
	begin = bed->now;
	counted(signal);
	printf("%llu %llu\n", bed_stat(bed, "instructions"), bed->now - begin);
	return 0;
}
