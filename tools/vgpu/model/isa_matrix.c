// SPDX-License-Identifier: MIT
/*
 * isa_matrix.c - the matrix cores: MFMA
 *
 * D = A * B + C for one or more blocks of small matrices, whose elements lie in the registers of
 * all lanes, whatever EXEC says. Sums are added up in the order of k, each step rounded to nearest:
 * how the hardware adds is not published. With operands of 16 bits gfx90a takes denormals for zero,
 * and makes none (MI200 MFMA behavior specifics, in MIOpen's documentation); gfx942 does not.
 */
#include "model.h"
#include "isa.h"
#include "isa_lanes.h"

#define SRC_VGPR		256u
#define SRC_FIRST_CONSTANT	128u

enum type {
	TYPE_F32,
	TYPE_F16,
	TYPE_BF16,
	TYPE_I8,
	TYPE_F64,
};

/* What the types of A and B need: bits, and registers of an element of C and D */
static const struct {
	u8 bits;
	u8 result_regs;
} types[] = {
	[TYPE_F32] = { 32, 1 }, [TYPE_F16] = { 16, 1 }, [TYPE_BF16] = { 16, 1 }, [TYPE_I8] = { 8, 1 }, [TYPE_F64] = { 64, 2 },
};

#define ON_GFX90A	1u
#define ON_GFX942	2u
#define ON_BOTH		(ON_GFX90A | ON_GFX942)

/**
 * struct mfma - an instruction
 * @name: mnemonic of the device that has it first
 * @type: of A's and B's elements
 * @size: rows and columns of D
 * @blocks: how many products it computes
 * @regs: registers of each of A and B
 * @cycles: clocks that it keeps the matrix core
 * @devices: which have it
 */
struct mfma {
	const char *name;
	u8 type;
	u8 size;
	u8 blocks;
	u8 regs;
	u8 cycles;
	u8 devices;
};

#define FIRST_OP	0x40u

static const struct mfma mfmas[] = {
	[0x40 - FIRST_OP] = { "v_mfma_f32_32x32x1f32", TYPE_F32, 32, 2, 1, 64, ON_BOTH },
	[0x41 - FIRST_OP] = { "v_mfma_f32_16x16x1f32", TYPE_F32, 16, 4, 1, 32, ON_BOTH },
	[0x42 - FIRST_OP] = { "v_mfma_f32_4x4x1f32", TYPE_F32, 4, 16, 1, 8, ON_BOTH },
	[0x44 - FIRST_OP] = { "v_mfma_f32_32x32x2f32", TYPE_F32, 32, 1, 1, 64, ON_BOTH },
	[0x45 - FIRST_OP] = { "v_mfma_f32_16x16x4f32", TYPE_F32, 16, 1, 1, 32, ON_BOTH },
	[0x48 - FIRST_OP] = { "v_mfma_f32_32x32x4f16", TYPE_F16, 32, 2, 2, 64, ON_BOTH },
	[0x49 - FIRST_OP] = { "v_mfma_f32_16x16x4f16", TYPE_F16, 16, 4, 2, 32, ON_BOTH },
	[0x4a - FIRST_OP] = { "v_mfma_f32_4x4x4f16", TYPE_F16, 4, 16, 2, 8, ON_BOTH },
	[0x4c - FIRST_OP] = { "v_mfma_f32_32x32x8f16", TYPE_F16, 32, 1, 2, 64, ON_BOTH },
	[0x4d - FIRST_OP] = { "v_mfma_f32_16x16x16f16", TYPE_F16, 16, 1, 2, 32, ON_BOTH },
	[0x50 - FIRST_OP] = { "v_mfma_i32_32x32x4i8", TYPE_I8, 32, 2, 1, 64, ON_BOTH },
	[0x51 - FIRST_OP] = { "v_mfma_i32_16x16x4i8", TYPE_I8, 16, 4, 1, 32, ON_BOTH },
	[0x52 - FIRST_OP] = { "v_mfma_i32_4x4x4i8", TYPE_I8, 4, 16, 1, 8, ON_BOTH },
	[0x54 - FIRST_OP] = { "v_mfma_i32_32x32x8i8", TYPE_I8, 32, 1, 1, 64, ON_GFX90A },
	[0x55 - FIRST_OP] = { "v_mfma_i32_16x16x16i8", TYPE_I8, 16, 1, 1, 32, ON_GFX90A },
	[0x56 - FIRST_OP] = { "v_mfma_i32_32x32x16_i8", TYPE_I8, 32, 1, 2, 64, ON_GFX942 },
	[0x57 - FIRST_OP] = { "v_mfma_i32_16x16x32_i8", TYPE_I8, 16, 1, 2, 32, ON_GFX942 },
	[0x5d - FIRST_OP] = { "v_mfma_f32_32x32x4_2b_bf16", TYPE_BF16, 32, 2, 2, 64, ON_GFX942 },
	[0x5e - FIRST_OP] = { "v_mfma_f32_16x16x4_4b_bf16", TYPE_BF16, 16, 4, 2, 32, ON_GFX942 },
	[0x5f - FIRST_OP] = { "v_mfma_f32_4x4x4_16b_bf16", TYPE_BF16, 4, 16, 2, 8, ON_GFX942 },
	[0x60 - FIRST_OP] = { "v_mfma_f32_32x32x8_bf16", TYPE_BF16, 32, 1, 2, 64, ON_GFX942 },
	[0x61 - FIRST_OP] = { "v_mfma_f32_16x16x16_bf16", TYPE_BF16, 16, 1, 2, 32, ON_GFX942 },
	[0x63 - FIRST_OP] = { "v_mfma_f32_32x32x4bf16_1k", TYPE_BF16, 32, 2, 2, 64, ON_GFX90A },
	[0x64 - FIRST_OP] = { "v_mfma_f32_16x16x4bf16_1k", TYPE_BF16, 16, 4, 2, 32, ON_GFX90A },
	[0x65 - FIRST_OP] = { "v_mfma_f32_4x4x4bf16_1k", TYPE_BF16, 4, 16, 2, 8, ON_GFX90A },
	[0x66 - FIRST_OP] = { "v_mfma_f32_32x32x8bf16_1k", TYPE_BF16, 32, 1, 2, 64, ON_GFX90A },
	[0x67 - FIRST_OP] = { "v_mfma_f32_16x16x16bf16_1k", TYPE_BF16, 16, 1, 2, 32, ON_GFX90A },
	[0x68 - FIRST_OP] = { "v_mfma_f32_32x32x2bf16", TYPE_BF16, 32, 2, 1, 64, ON_GFX90A },
	[0x69 - FIRST_OP] = { "v_mfma_f32_16x16x2bf16", TYPE_BF16, 16, 4, 1, 32, ON_GFX90A },
	[0x6b - FIRST_OP] = { "v_mfma_f32_4x4x2bf16", TYPE_BF16, 4, 16, 1, 8, ON_GFX90A },
	[0x6c - FIRST_OP] = { "v_mfma_f32_32x32x4bf16", TYPE_BF16, 32, 1, 1, 64, ON_GFX90A },
	[0x6d - FIRST_OP] = { "v_mfma_f32_16x16x8bf16", TYPE_BF16, 16, 1, 1, 32, ON_GFX90A },
	[0x6e - FIRST_OP] = { "v_mfma_f64_16x16x4f64", TYPE_F64, 16, 1, 2, 32, ON_BOTH },
	[0x6f - FIRST_OP] = { "v_mfma_f64_4x4x4f64", TYPE_F64, 4, 4, 2, 16, ON_BOTH },
};

/**
 * vgpu_isa_is_mfma() - is it an instruction of the matrix cores?
 * @x: where it executes
 * @op: its opcode in VOP3P
 */
bool vgpu_isa_is_mfma(const struct vgpu_isa *x, u32 op)
{
	u32 device = x->gfx942 ? ON_GFX942 : ON_GFX90A;

	return op >= FIRST_OP && op - FIRST_OP < ARRAY_SIZE(mfmas) && mfmas[op - FIRST_OP].devices & device;
}

/* Where an operand's elements are: a copy of its registers, because D may overwrite them */
struct matrix {
	u32 v[2][VGPU_LANES];
};

/*
 * Element @k of line @line: of A a row, of B a column. Lanes of a block hold a line each; those of
 * the next block come next, then more of k.
 */
static u64 element(const struct mfma *f, const struct matrix *m, u32 block, u32 line, u32 k)
{
	u32 bits = types[f->type].bits, of_lane = f->regs * 32 / bits, bit = k % of_lane * bits;
	u32 lane = line + f->size * (block + f->blocks * (k / of_lane));

	if (bits == 64)
		return m->v[0][lane] | (u64)m->v[1][lane] << 32;
	return bits == 32 ? m->v[0][lane] : m->v[bit / 32][lane] >> bit % 32 & ((1u << bits) - 1);
}

/* Where an element of C and D is: its lane, and the number of its register */
static void place(const struct mfma *f, u32 block, u32 row, u32 column, u32 *lane, u32 *reg)
{
	u32 groups = VGPU_LANES / f->size, group;

	if (f->type == TYPE_F64) {		/* rows go round the lanes */
		group = block + f->blocks * row;
		*reg = group / groups * 2;
	} else {				/* four rows are in one lane */
		group = row / 4 + f->size / 4u * block;
		*reg = group / groups * 4 + row % 4;
	}
	*lane = column + f->size * (group % groups);
}

static u64 multiply_add(const struct vgpu_float_mode *modes, u32 type, u64 a, u64 b, u64 c)
{
	switch (type) {
	case TYPE_I8:
		return (u32)((s32)(s8)a * (s8)b) + (u32)c;
	case TYPE_BF16:
		return vgpu_float_fma(&modes[VGPU_F32], a << 16, b << 16, c);
	case TYPE_F16:
		return vgpu_float_fma(&modes[VGPU_F32], vgpu_float_convert(&modes[VGPU_F32], &modes[VGPU_F16], a),
				      vgpu_float_convert(&modes[VGPU_F32], &modes[VGPU_F16], b), c);
	case TYPE_F32:
		return vgpu_float_fma(&modes[VGPU_F32], a, b, c);
	default:
		return vgpu_float_fma(&modes[VGPU_F64], a, b, c);
	}
}

static void multiply(const struct vgpu_isa *x, const struct mfma *f, const struct matrix *a, const struct matrix *b, const u32 *c,
		     u64 constant, u32 *d)
{
	u32 depth = f->regs * 32u / types[f->type].bits * (VGPU_LANES / f->size) / f->blocks, block, row, column, k, lane, reg, at;
	bool wide = types[f->type].result_regs == 2, denorm = x->gfx942 || (f->type != TYPE_F16 && f->type != TYPE_BF16);
	struct vgpu_float_mode modes[VGPU_FLOAT_FORMATS];
	u64 sum;

	for (k = 0; k < VGPU_FLOAT_FORMATS; k++)
		modes[k] = (struct vgpu_float_mode) {
			.format = (u8)k, .round = VGPU_ROUND_EVEN, .denorm_in = denorm, .denorm_out = denorm,
		};
	for (block = 0; block < f->blocks; block++)
		for (row = 0; row < f->size; row++)
			for (column = 0; column < f->size; column++) {
				place(f, block, row, column, &lane, &reg);
				at = reg * VGPU_LANES + lane;
				sum = c ? c[at] | (wide ? (u64)c[at + VGPU_LANES] << 32 : 0) : constant;
				for (k = 0; k < depth; k++)
					sum = multiply_add(modes, f->type, element(f, a, block, row, k),
							   element(f, b, block, column, k), sum);
				d[at] = (u32)sum;
				if (wide)
					d[at + VGPU_LANES] = (u32)(sum >> 32);
			}
}

#ifdef VGPU_HAS_LANES

#define MAX_PARTS	8u		/* elements of A or B in the registers of a lane */
#define MAX_DEPTH	32u
#define MAX_REGS	32u		/* of D */

/* Too large for a stack. There is one model. */
static struct {
	u32 a[MAX_PARTS][VGPU_LANES], b[MAX_PARTS][VGPU_LANES], d[MAX_REGS * VGPU_LANES];
} work;

/* The same, a row of D at a time. Return: false: nothing was written, do it one by one */
static bool multiply_rows(const struct vgpu_isa *x, const struct mfma *f, const struct matrix *a, const struct matrix *b, const u32 *c,
			  u64 constant, u32 regs, u32 *d)
{
	static const u8 type_of[] = {
		[TYPE_F32] = VGPU_LANES_F32, [TYPE_F16] = VGPU_LANES_F16, [TYPE_BF16] = VGPU_LANES_BF16, [TYPE_I8] = VGPU_LANES_I8,
	};
	u32 of_reg = 32 / types[f->type].bits, of_lane = f->regs * of_reg, depth = of_lane * (VGPU_LANES / f->size) / f->blocks;
	u32 block, row, k, at, lane, reg;
	bool flush = !x->gfx942 && (f->type == TYPE_F16 || f->type == TYPE_BF16);
	const u32 *line_a[MAX_DEPTH] VGPU_UNSET, *line_b[MAX_DEPTH] VGPU_UNSET;

	for (k = 0; k < of_lane; k++)
		if (!vgpu_lanes_elements(work.a[k], a->v[k / of_reg], type_of[f->type], k % of_reg, flush) ||
		    !vgpu_lanes_elements(work.b[k], b->v[k / of_reg], type_of[f->type], k % of_reg, flush))
			return false;
	if (c)
		memcpy(work.d, c, regs * VGPU_LANES * 4);
	for (at = 0; !c && at < regs * VGPU_LANES; at++)
		work.d[at] = (u32)constant;
	for (block = 0; block < f->blocks; block++) {
		for (k = 0; k < depth; k++) {
			at = f->size * (block + f->blocks * (k / of_lane));
			line_a[k] = work.a[k % of_lane] + at;
			line_b[k] = work.b[k % of_lane] + at;
		}
		for (row = 0; row < f->size; row++) {
			place(f, block, row, 0, &lane, &reg);
			if (!vgpu_lanes_row(work.d + reg * VGPU_LANES + lane, line_a, line_b, row, depth, f->size, type_of[f->type], flush))
				return false;
		}
	}
	memcpy(d, work.d, regs * VGPU_LANES * 4);
	return true;
}

#endif

/* A or B. Return: false, and the wave has halted, if it is none. */
static bool matrix(struct vgpu_isa *x, struct vgpu_wave *w, u32 src, bool acc, u32 regs, struct matrix *m)
{
	const u32 *v;

	if (src < SRC_VGPR) {
		vgpu_isa_raise(x, w, VGPU_WAVE_ILLEGAL_INSTRUCTION, "MFMA of what is no vector register");
		return false;
	}
	v = vgpu_isa_vgprs(x, w, src - SRC_VGPR + (acc ? w->acc : 0), regs);
	if (v)
		memcpy(m->v, v, regs * VGPU_LANES * 4);
	return v;
}

/** vgpu_isa_mfma() - execute an instruction for which vgpu_isa_is_mfma() */
void vgpu_isa_mfma(struct vgpu_isa *x, struct vgpu_wave *w, const struct vgpu_inst *i)
{
	u32 word = i->word[0], next = i->word[1], src_c = next >> 18 & 0x1ff, regs;
	const struct mfma *f = &mfmas[(word >> 16 & 0x7f) - FIRST_OP];
	u32 base = word >> 15 & 1 ? w->acc : 0, *d;
	const u32 *c = NULL;
	struct matrix a VGPU_UNSET, b VGPU_UNSET;
	u64 constant = 0;

	/*
	 * CBSZ and ABID give one block's A to others, BLGP permutes B's lanes, or negates what has
	 * 64 bits.
	 */
	if (word >> 8 & 0x7f || next >> 29) {
		vgpu_isa_raise(x, w, VGPU_WAVE_ILLEGAL_INSTRUCTION, "unknown MFMA modifier (CBSZ, ABID, BLGP)");
		return;
	}
	regs = f->blocks * f->size * (u32)f->size / VGPU_LANES * types[f->type].result_regs;
	if (!matrix(x, w, next & 0x1ff, next >> 27 & 1, f->regs, &a) || !matrix(x, w, next >> 9 & 0x1ff, next >> 28 & 1, f->regs, &b))
		return;
	if (src_c >= SRC_VGPR)
		c = vgpu_isa_vgprs(x, w, base + src_c - SRC_VGPR, regs);
	else if (src_c >= SRC_FIRST_CONSTANT)
		constant = vgpu_isa_scalar(x, w, i, src_c, types[f->type].result_regs == 2);
	else
		vgpu_isa_raise(x, w, VGPU_WAVE_ILLEGAL_INSTRUCTION, "MFMA of what is no vector register");
	d = vgpu_isa_vgprs(x, w, base + (word & 0xff), regs);
	if (!d || w->state != VGPU_WAVE_RUNS)
		return;
	x->cycles += f->cycles - 4;		/* and the four that each instruction takes */
#ifdef VGPU_HAS_LANES
	if (x->simd && f->type != TYPE_F64 && f->size >= 8 && multiply_rows(x, f, &a, &b, c, constant, regs, d))
		return;
#endif
	multiply(x, f, &a, &b, c, constant, d);
}
