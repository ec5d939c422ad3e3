// SPDX-License-Identifier: MIT
/* isa_scalar.c - scalar instructions and scalar memory */
#include "model.h"
#include "isa.h"

#define SRC_INT_0		128u
#define SRC_INT_64		192u
#define SRC_INT_MINUS_16	208u
#define SRC_SHARED_BASE		235u
#define SRC_SHARED_LIMIT	236u
#define SRC_PRIVATE_BASE	237u
#define SRC_PRIVATE_LIMIT	238u
#define SRC_HALF		240u
#define SRC_INV_2PI		248u
#define SRC_VCCZ		251u
#define SRC_EXECZ		252u
#define SRC_SCC			253u
#define SRC_LITERAL		255u

#define HWREG_MODE		1u
#define HWREG_STATUS		2u
#define HWREG_TRAPSTS		3u
#define HWREG_HW_ID		4u
#define HWREG_GPR_ALLOC		5u
#define HWREG_LDS_ALLOC		6u
#define HWREG_IB_STS		7u
#define HWREG_SH_MEM_BASES	15u

/* 0.5, 1, 2, 4 with either sign, and 1 / (2 pi) */
static const u32 constants[] = {
	0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000, 0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983,
};

static const u64 constants64[] = {
	0x3fe0000000000000ULL, 0xbfe0000000000000ULL, 0x3ff0000000000000ULL, 0xbff0000000000000ULL, 0x4000000000000000ULL,
	0xc000000000000000ULL, 0x4010000000000000ULL, 0xc010000000000000ULL, 0x3fc45f306dc9c882ULL,
};

/**
 * vgpu_isa_constant() - value of an operand that is the same whenever the instruction is executed
 * @i: the instruction
 * @code: operand, below 256
 * @wide: 64 bits are wanted
 * @value: filled in
 *
 * Return: false if it is none.
 */
bool vgpu_isa_constant(const struct vgpu_inst *i, u32 code, bool wide, u64 *value)
{
	if (code < SRC_INT_0)
		return false;
	if (code <= SRC_INT_64)
		*value = code - SRC_INT_0;
	else if (code <= SRC_INT_MINUS_16)
		*value = wide ? (u64)-(s64)(code - SRC_INT_64) : (u32)-(s32)(code - SRC_INT_64);
	else if (code >= SRC_HALF && code <= SRC_INV_2PI)
		*value = wide ? constants64[code - SRC_HALF] : constants[code - SRC_HALF];
	else if (code == SRC_LITERAL)
		*value = VGPU_INST_LITERAL(i);
	else
		return false;
	return true;
}

/**
 * vgpu_isa_scalar() - value of a scalar operand
 * @x: where the wave executes
 * @w: the wave
 * @i: the instruction
 * @code: operand, below 256
 * @wide: 64 bits are wanted: of a pair of registers; a literal fills the lower half
 *
 * Return: the value; the wave halts if there is no such operand.
 */
u64 vgpu_isa_scalar(struct vgpu_isa *x, struct vgpu_wave *w, const struct vgpu_inst *i, u32 code, bool wide)
{
	u64 value;

	if (code < VGPU_WAVE_SGPRS)
		return w->s[code] | (wide && code + 1 < VGPU_WAVE_SGPRS ? (u64)w->s[code + 1] << 32 : 0);
	if (vgpu_isa_constant(i, code, wide, &value))
		return value;
	switch (code) {
	case SRC_SHARED_BASE:
		return wide ? x->shared_base : x->shared_base >> 32;
	case SRC_SHARED_LIMIT:
		return wide ? x->shared_base + 0xffffffff : x->shared_base >> 32;
	case SRC_PRIVATE_BASE:
		return wide ? x->private_base : x->private_base >> 32;
	case SRC_PRIVATE_LIMIT:
		return wide ? x->private_base + 0xffffffff : x->private_base >> 32;
	case SRC_VCCZ:
		return !vgpu_wave_vcc(w);
	case SRC_EXECZ:
		return !vgpu_wave_exec(w);
	case SRC_SCC:
		return w->status & VGPU_STATUS_SCC;
	}
	vgpu_isa_raise(x, w, VGPU_WAVE_ILLEGAL_INSTRUCTION, "unknown operand");
	return 0;
}

/** vgpu_isa_set_scalar() - write a scalar register or a pair of them */
void vgpu_isa_set_scalar(struct vgpu_wave *w, u32 code, u64 value, bool wide)
{
	if (code >= VGPU_WAVE_SGPRS)
		return;
	w->s[code] = (u32)value;
	if (wide && code + 1 < VGPU_WAVE_SGPRS)
		w->s[code + 1] = (u32)(value >> 32);
}

static u32 count_zeros(u64 v, bool wide)
{
	return (wide ? 64 : 32) - (u32)vgpu_popcount(v);
}

static s32 first_one(u64 v)
{
	return v ? __builtin_ctzll(v) : -1;
}

static s32 leading(u64 v, bool wide)
{
	return v ? __builtin_clzll(v) - (wide ? 0 : 32) : -1;
}

/* How many bits from the top on are like the sign; -1: all */
static s32 leading_sign(u64 v, bool wide)
{
	s64 s = wide ? (s64)v : (s32)v;

	return s == 0 || s == -1 ? -1 : leading(wide ? (u64)(s < 0 ? ~s : s) : (u32)(s < 0 ? ~s : s), wide);
}

static u64 reverse(u64 v, bool wide)
{
	u64 r = 0;
	u32 i, bits = wide ? 64 : 32;

	for (i = 0; i < bits; i++)
		r |= (v >> i & 1) << (bits - 1 - i);
	return r;
}

static u64 extract(u64 v, u32 control, bool is_signed, u32 bits)
{
	u32 offset = control & (bits - 1), width = control >> 16 & 0x7f;
	u64 r = v >> offset;

	if (!width)
		return 0;
	if (width >= bits - offset)
		width = bits - offset;
	if (width < 64) {
		r &= (1ULL << width) - 1;
		if (is_signed && (r >> (width - 1) & 1))
			r |= ~0ULL << width;
	}
	return bits == 32 ? (u32)r : r;
}

static u64 signed32(u64 v)
{
	return (u64)(s64)(s32)v;
}

/* and, or, xor, andn2, orn2, nand, nor, xnor */
static u64 logic(u32 op, u64 a, u64 b)
{
	switch (op) {
	case 0:
		return a & b;
	case 1:
		return a | b;
	case 2:
		return a ^ b;
	case 3:
		return a & ~b;
	case 4:
		return a | ~b;
	default:
		return ~logic(op - 5, a, b);
	}
}

/* eq, lg, gt, ge, lt, le */
static bool relation(u32 op, s64 a, s64 b)
{
	static const u8 holds[] = { 2, 5, 4, 6, 1, 3 };		/* bits: less, equal, greater */

	return holds[op] & (a < b ? 1 : a == b ? 2 : 4);
}

#define SD64	1u		/* the result has 64 bits */
#define S064	2u		/* so have the operands */
#define S164	4u
#define W64	(SD64 | S064 | S164)
#define NZ	8u		/* SCC: the result is not 0 */
#define KEEP	16u		/* SCC stays */

/* SOP2 by opcode; what is not in it is unknown */
static const u8 sop2_flags[64] = {
	[0x0b] = W64 | KEEP, [0x0a] = KEEP,
	[0x0c] = NZ, [0x0e] = NZ, [0x10] = NZ, [0x12] = NZ, [0x14] = NZ, [0x16] = NZ, [0x18] = NZ, [0x1a] = NZ,
	[0x0d] = NZ | W64, [0x0f] = NZ | W64, [0x11] = NZ | W64, [0x13] = NZ | W64, [0x15] = NZ | W64, [0x17] = NZ | W64,
	[0x19] = NZ | W64, [0x1b] = NZ | W64,
	[0x1c] = NZ, [0x1d] = NZ | SD64 | S064, [0x1e] = NZ, [0x1f] = NZ | SD64 | S064, [0x20] = NZ, [0x21] = NZ | SD64 | S064,
	[0x22] = KEEP, [0x23] = KEEP | SD64, [0x24] = KEEP, [0x25] = NZ, [0x26] = NZ, [0x27] = NZ | SD64 | S064,
	[0x28] = NZ | SD64 | S064, [0x2a] = NZ, [0x2c] = KEEP, [0x2d] = KEEP, [0x32] = KEEP, [0x33] = KEEP, [0x34] = KEEP,
};

static void sop2(struct vgpu_isa *x, struct vgpu_wave *w, const struct vgpu_inst *i)
{
	u32 word = i->word[0], op = word >> 23 & 0x3f, dst = word >> 16 & 0x7f, flags = sop2_flags[op];
	u64 a = vgpu_isa_scalar(x, w, i, word & 0xff, flags & S064), b = vgpu_isa_scalar(x, w, i, word >> 8 & 0xff, flags & S164);
	bool scc = w->status & VGPU_STATUS_SCC;
	s64 sa = (s32)a, sb = (s32)b, s;
	u64 d, most = op & 1 ? 63 : 31;		/* of a shift */

	switch (op) {
	case 0x00: /* s_add_u32 */
		d = a + b;
		scc = d >> 32;
		break;
	case 0x01: /* s_sub_u32 */
		d = a - b;
		scc = b > a;
		break;
	case 0x02: /* s_add_i32 */
	case 0x03: /* s_sub_i32 */
		s = op == 2 ? sa + sb : sa - sb;
		d = (u64)s;
		scc = s != (s32)s;
		break;
	case 0x04: /* s_addc_u32 */
		d = a + b + scc;
		scc = d >> 32;
		break;
	case 0x05: /* s_subb_u32 */
		d = a - b - scc;
		scc = b + scc > a;
		break;
	case 0x06: /* s_min_i32 */
		scc = sa < sb;
		d = scc ? a : b;
		break;
	case 0x07: /* s_min_u32 */
		scc = a < b;
		d = scc ? a : b;
		break;
	case 0x08: /* s_max_i32 */
		scc = sa > sb;
		d = scc ? a : b;
		break;
	case 0x09: /* s_max_u32 */
		scc = a > b;
		d = scc ? a : b;
		break;
	case 0x0a: /* s_cselect_b32 */
	case 0x0b: /* s_cselect_b64 */
		d = scc ? a : b;
		break;
	case 0x0c ... 0x1b: /* s_and_b32 to s_xnor_b64 */
		d = logic((op - 0x0c) / 2, a, b);
		break;
	case 0x1c: /* s_lshl_b32 */
	case 0x1d: /* s_lshl_b64 */
		d = a << (b & most);
		break;
	case 0x1e: /* s_lshr_b32 */
	case 0x1f: /* s_lshr_b64 */
		d = a >> (b & most);
		break;
	case 0x20: /* s_ashr_i32 */
	case 0x21: /* s_ashr_i64 */
		d = (u64)((op == 0x20 ? sa : (s64)a) >> (b & most));
		break;
	case 0x22: /* s_bfm_b32 */
	case 0x23: /* s_bfm_b64 */
		d = ((1ULL << (a & most)) - 1) << (b & most);
		break;
	case 0x24: /* s_mul_i32 */
		d = a * b;
		break;
	case 0x25: /* s_bfe_u32 */
	case 0x26: /* s_bfe_i32 */
		d = extract(op == 0x26 ? signed32(a) : a, (u32)b, op == 0x26, 32);
		break;
	case 0x27: /* s_bfe_u64 */
	case 0x28: /* s_bfe_i64 */
		d = extract(a, (u32)b, op == 0x28, 64);
		break;
	case 0x2a: /* s_absdiff_i32 */
		d = (u64)(sa > sb ? sa - sb : sb - sa);
		break;
	case 0x2c: /* s_mul_hi_u32 */
		d = a * b >> 32;
		break;
	case 0x2d: /* s_mul_hi_i32 */
		d = (u64)(sa * sb >> 32);
		break;
	case 0x2e ... 0x31: /* s_lshl1_add_u32 to s_lshl4_add_u32 */
		d = (a << (op - 0x2d)) + b;
		scc = d >> 32;
		break;
	case 0x32: /* s_pack_ll_b32_b16 */
		d = (a & 0xffff) | b << 16;
		break;
	case 0x33: /* s_pack_lh_b32_b16 */
		d = (a & 0xffff) | (b & 0xffff0000);
		break;
	case 0x34: /* s_pack_hh_b32_b16 */
		d = a >> 16 | (b & 0xffff0000);
		break;
	default:
		vgpu_isa_unknown(x, w);
		return;
	}
	if (!(flags & SD64))
		d = (u32)d;
	if (flags & NZ)
		scc = d;
	if (w->state != VGPU_WAVE_RUNS)
		return;
	vgpu_isa_set_scalar(w, dst, d, flags & SD64);
	vgpu_wave_set_scc(w, scc);
}

static u32 read_hwreg(struct vgpu_isa *x, struct vgpu_wave *w, u32 reg)
{
	switch (reg) {
	case HWREG_MODE:
		return w->mode;
	case HWREG_STATUS:
		return vgpu_wave_status(w);
	case HWREG_TRAPSTS:
		return w->trapsts;
	case HWREG_HW_ID:
	case HWREG_IB_STS:			/* nothing is outstanding, or is done again */
		return 0;
	case HWREG_GPR_ALLOC:
		return (w->vgprs / 8 - 1) << 8;
	case HWREG_LDS_ALLOC:
		return x->lds_bytes / 512 << 12;
	case HWREG_SH_MEM_BASES:
		return (u32)(x->private_base >> 48) | (u32)(x->shared_base >> 48) << 16;
	}
	vgpu_isa_raise(x, w, VGPU_WAVE_ILLEGAL_INSTRUCTION, "unknown hardware register");
	return 0;
}

/* MODE is the only one that a kernel may write. */
static void write_hwreg(struct vgpu_wave *w, u32 reg, u32 value)
{
	const u32 kept = VGPU_STATUS_PRIV | VGPU_STATUS_DERIVED;

	if (reg == HWREG_MODE)
		w->mode = value;
	else if (reg == HWREG_STATUS && w->status & VGPU_STATUS_PRIV)
		w->status = (value & ~kept) | (w->status & kept);
	else if (reg == HWREG_TRAPSTS && w->status & VGPU_STATUS_PRIV)
		w->trapsts = value;
}

static void sopk(struct vgpu_isa *x, struct vgpu_wave *w, const struct vgpu_inst *i)
{
	u32 word = i->word[0], op = word >> 23 & 0x1f, dst = word >> 16 & 0x7f, size, offset, mask;
	s32 imm = (s16)word, s = (s32)w->s[dst];
	u32 uimm = word & 0xffff, v = w->s[dst];
	s64 r;

	switch (op) {
	case 0x00: /* s_movk_i32 */
		w->s[dst] = (u32)imm;
		return;
	case 0x01: /* s_cmovk_i32 */
		if (w->status & VGPU_STATUS_SCC)
			w->s[dst] = (u32)imm;
		return;
	case 0x02 ... 0x07: /* s_cmpk_*_i32 */
		vgpu_wave_set_scc(w, relation(op - 0x02, s, imm));
		return;
	case 0x08 ... 0x0d: /* s_cmpk_*_u32 */
		vgpu_wave_set_scc(w, relation(op - 0x08, v, uimm));
		return;
	case 0x0e: /* s_addk_i32 */
		r = (s64)s + imm;
		w->s[dst] = (u32)r;
		vgpu_wave_set_scc(w, r != (s32)r);
		return;
	case 0x0f: /* s_mulk_i32 */
		w->s[dst] = v * (u32)imm;
		return;
	case 0x11: /* s_getreg_b32 */
	case 0x12: /* s_setreg_b32 */
	case 0x14: /* s_setreg_imm32_b32 */
		size = (uimm >> 11) + 1;
		offset = uimm >> 6 & 31;
		mask = size < 32 ? (1u << size) - 1 : ~0u;
		v = read_hwreg(x, w, uimm & 63);
		if (op == 0x11) {
			w->s[dst] = v >> offset & mask;
			return;
		}
		write_hwreg(w, uimm & 63, (v & ~(mask << offset)) | ((op == 0x14 ? VGPU_INST_LITERAL(i) : w->s[dst]) & mask) << offset);
		return;
	case 0x15: /* s_call_b64 */
		vgpu_isa_set_scalar(w, dst, w->pc, true);
		w->pc += (u64)(s64)imm * 4;
		return;
	}
	vgpu_isa_unknown(x, w);
}

/* s_*_saveexec_b64 and s_*_wrexec_b64: the new EXEC */
static u64 mask_op(u32 op, u64 a, u64 exec)
{
	switch (op) {
	case 0x33:
	case 0x35:
		return ~a & exec;
	case 0x36:
		return a & ~exec;
	case 0x20 ... 0x27:
		return logic(op - 0x20, a, exec);
	default:
		return ~a | exec;
	}
}

static const u8 sop1_flags[64] = {
	[0x00] = KEEP, [0x01] = KEEP | W64, [0x02] = KEEP, [0x03] = KEEP | W64, [0x04] = NZ, [0x05] = NZ | W64, [0x06] = NZ,
	[0x07] = NZ | W64, [0x08] = KEEP, [0x09] = KEEP | W64, [0x0a] = NZ, [0x0b] = NZ | S064, [0x0c] = NZ, [0x0d] = NZ | S064,
	[0x0e] = KEEP, [0x0f] = KEEP | S064, [0x10] = KEEP, [0x11] = KEEP | S064, [0x12] = KEEP, [0x13] = KEEP | S064,
	[0x14] = KEEP, [0x15] = KEEP | S064, [0x16] = KEEP, [0x17] = KEEP, [0x18] = KEEP, [0x19] = KEEP | SD64, [0x1a] = KEEP,
	[0x1b] = KEEP | SD64, [0x1c] = KEEP | SD64, [0x1d] = KEEP | S064, [0x1e] = KEEP | W64, [0x1f] = KEEP | S064, [0x20] = NZ | W64, [0x21] = NZ | W64,
	[0x22] = NZ | W64, [0x23] = NZ | W64, [0x24] = NZ | W64, [0x25] = NZ | W64, [0x26] = NZ | W64, [0x27] = NZ | W64,
	[0x30] = NZ, [0x33] = NZ | W64, [0x34] = NZ | W64, [0x35] = NZ | W64, [0x36] = NZ | W64, [0x37] = KEEP | SD64,
	[0x2a] = KEEP, [0x2b] = KEEP | W64, [0x2c] = KEEP, [0x2d] = KEEP | W64,
};

/* Each bit, or each group of four, as four */
static u64 whole_quads(u64 a, bool wide)
{
	u64 d = 0;
	u32 bit;

	for (bit = 0; bit < (wide ? 64 : 32); bit += 4)
		if (a >> bit & 15)
			d |= 15ULL << bit;
	return d;
}

static u64 replicate_bits(u32 a)
{
	u64 d = 0;
	u32 bit;

	for (bit = 0; bit < 32; bit++)
		d |= (u64)(a >> bit & 1) * 3 << 2 * bit;
	return d;
}

static void sop1(struct vgpu_isa *x, struct vgpu_wave *w, const struct vgpu_inst *i)
{
	u32 word = i->word[0], op = word >> 8 & 0xff, dst = word >> 16 & 0x7f, src = word & 0xff;
	u32 flags = op < ARRAY_SIZE(sop1_flags) ? sop1_flags[op] : 0, m0 = w->s[VGPU_S_M0];
	bool wide = flags & S064, scc = w->status & VGPU_STATUS_SCC;
	u64 a, d;

	if (!flags && op != 0x32) {
		vgpu_isa_unknown(x, w);
		return;
	}
	if ((op == 0x2a || op == 0x2b) && src < VGPU_S_FLAT_SCRATCH)		/* s_movrels */
		src = (src + m0) % VGPU_S_FLAT_SCRATCH;
	if (op == 0x2c || op == 0x2d)						/* s_movreld */
		dst = (dst + m0) % VGPU_S_FLAT_SCRATCH;
	a = op == 0x1c ? 0 : vgpu_isa_scalar(x, w, i, src, wide);
	d = a;
	switch (op) {
	case 0x00 ... 0x01: /* s_mov_b32, s_mov_b64 */
	case 0x2a ... 0x2d:
		break;
	case 0x02: /* s_cmov_b32 */
	case 0x03: /* s_cmov_b64 */
		if (!scc)
			return;
		break;
	case 0x04: /* s_not_b32 */
	case 0x05:
		d = ~a;
		break;
	case 0x06: /* s_wqm_b32 */
	case 0x07:
		d = whole_quads(a, wide);
		break;
	case 0x08: /* s_brev_b32 */
	case 0x09:
		d = reverse(a, wide);
		break;
	case 0x0a: /* s_bcnt0_i32_b32 */
	case 0x0b:
		d = count_zeros(a, wide);
		break;
	case 0x0c: /* s_bcnt1_i32_b32 */
	case 0x0d:
		d = (u32)vgpu_popcount(a);
		break;
	case 0x0e: /* s_ff0_i32_b32 */
	case 0x0f:
		d = (u64)(s64)first_one(wide ? ~a : (u32)~a);
		break;
	case 0x10: /* s_ff1_i32_b32 */
	case 0x11:
		d = (u64)(s64)first_one(a);
		break;
	case 0x12: /* s_flbit_i32_b32 */
	case 0x13:
		d = (u64)(s64)leading(a, wide);
		break;
	case 0x14: /* s_flbit_i32 */
	case 0x15:
		d = (u64)(s64)leading_sign(a, wide);
		break;
	case 0x16: /* s_sext_i32_i8 */
		d = (u64)(s64)(s8)a;
		break;
	case 0x17: /* s_sext_i32_i16 */
		d = (u64)(s64)(s16)a;
		break;
	case 0x18: /* s_bitset0_b32 */
		d = w->s[dst] & ~(1u << (a & 31));
		break;
	case 0x19: /* s_bitset0_b64 */
		d = vgpu_isa_scalar(x, w, i, dst, true) & ~(1ULL << (a & 63));
		break;
	case 0x1a: /* s_bitset1_b32 */
		d = w->s[dst] | 1u << (a & 31);
		break;
	case 0x1b: /* s_bitset1_b64 */
		d = vgpu_isa_scalar(x, w, i, dst, true) | 1ULL << (a & 63);
		break;
	case 0x1c: /* s_getpc_b64 */
		d = w->pc;
		break;
	case 0x1d: /* s_setpc_b64 */
		w->pc = a & ~3ULL;
		return;
	case 0x1e: /* s_swappc_b64 */
		d = w->pc;
		w->pc = a & ~3ULL;
		break;
	case 0x1f: /* s_rfe_b64 */
		vgpu_isa_return(x, w, a);
		return;
	case 0x20 ... 0x27: /* s_*_saveexec_b64 */
	case 0x33 ... 0x34:
		d = vgpu_wave_exec(w);
		a = mask_op(op, a, d);
		vgpu_isa_set_scalar(w, dst, d, true);
		vgpu_isa_set_scalar(w, VGPU_S_EXEC, a, true);
		vgpu_wave_set_scc(w, a);
		return;
	case 0x35: /* s_*_wrexec_b64 */
	case 0x36:
		d = mask_op(op, a, vgpu_wave_exec(w));
		vgpu_isa_set_scalar(w, VGPU_S_EXEC, d, true);
		break;
	case 0x30: /* s_abs_i32 */
		d = (s32)a < 0 ? -a : a;
		break;
	case 0x32: /* s_set_gpr_idx_idx */
		w->s[VGPU_S_M0] = (m0 & ~0xffu) | (a & 0xff);
		return;
	case 0x37: /* s_bitreplicate_b64_b32 */
		d = replicate_bits((u32)a);
		break;
	}
	if (!(flags & SD64))
		d = (u32)d;
	if (w->state != VGPU_WAVE_RUNS)
		return;
	vgpu_isa_set_scalar(w, dst, d, flags & SD64);
	if (flags & NZ)
		vgpu_wave_set_scc(w, d);
}

static void sopc(struct vgpu_isa *x, struct vgpu_wave *w, const struct vgpu_inst *i)
{
	u32 word = i->word[0], op = word >> 16 & 0x7f;
	bool wide = op == 0x12 || op == 0x13;
	u64 a = vgpu_isa_scalar(x, w, i, word & 0xff, wide || op == 0x0e || op == 0x0f), b;
	bool scc;

	if (op == 0x11) {				/* s_set_gpr_idx_on: the second operand is a number */
		w->mode |= VGPU_MODE_GPR_IDX;
		w->s[VGPU_S_M0] = (w->s[VGPU_S_M0] & ~0xf0ffu) | (a & 0xff) | (word >> 8 & 15) << 12;
		return;
	}
	b = vgpu_isa_scalar(x, w, i, word >> 8 & 0xff, wide);
	switch (op) {
	case 0x00 ... 0x05: /* s_cmp_*_i32 */
		scc = relation(op, (s32)a, (s32)b);
		break;
	case 0x06 ... 0x0b: /* s_cmp_*_u32 */
		scc = relation(op - 0x06, (u32)a, (u32)b);
		break;
	case 0x12: /* s_cmp_eq_u64 */
	case 0x13: /* s_cmp_lg_u64 */
		scc = (a == b) == (op == 0x12);
		break;
	case 0x0c: /* s_bitcmp0_b32 */
	case 0x0d: /* s_bitcmp1_b32 */
		scc = (a >> (b & 31) & 1) == (op & 1);
		break;
	case 0x0e: /* s_bitcmp0_b64 */
	case 0x0f: /* s_bitcmp1_b64 */
		scc = (a >> (b & 63) & 1) == (op & 1);
		break;
	default:
		vgpu_isa_unknown(x, w);
		return;
	}
	vgpu_wave_set_scc(w, scc);
}

/** vgpu_isa_decode_sop() - what executes SOP1, SOP2, SOPC or SOPK */
void vgpu_isa_decode_sop(const struct vgpu_isa *x, struct vgpu_inst *i)
{
	u32 word = i->word[0];

	(void)x;
	if ((word & 0xff800000) == 0xbe800000)
		i->execute = sop1;
	else if ((word & 0xff800000) == 0xbf000000)
		i->execute = sopc;
	else if ((word & 0xf0000000) == 0xb0000000)
		i->execute = sopk;
	else
		i->execute = sop2;
}

#define SMEM_IMM		0x20000u
#define SMEM_SOFFSET		0x4000u
#define SMEM_LOAD_MAX		4u
#define SMEM_BUFFER		8u
#define SMEM_STORE		0x10u
#define SMEM_DCACHE_INV		0x20u
#define SMEM_MEMTIME		0x24u
#define SMEM_MEMREALTIME	0x25u

/** vgpu_isa_smem() - execute a scalar memory instruction */
void vgpu_isa_smem(struct vgpu_isa *x, struct vgpu_wave *w, const struct vgpu_inst *i)
{
	u32 word = i->word[0], op = word >> 18 & 0xff, base = (word & 0x3f) * 2, data = word >> 6 & 0x7f, count, n, *p;
	u32 kind = op & ~(SMEM_STORE | SMEM_BUFFER);
	s64 offset = 0;
	u64 va;

	switch (op) {
	case SMEM_DCACHE_INV ... SMEM_DCACHE_INV + 3:	/* s_dcache_inv, s_dcache_wb, and the same of volatile memory */
		return;
	case SMEM_MEMTIME:
		vgpu_isa_set_scalar(w, data, x->clock + x->cycles, true);
		return;
	case SMEM_MEMREALTIME:
		vgpu_isa_set_scalar(w, data, x->now_ns / VGPU_REFERENCE_NS, true);
		return;
	}
	if (op >= 0x20 || kind > SMEM_LOAD_MAX || ((op & SMEM_STORE) && kind > 2)) {
		vgpu_isa_unknown(x, w);
		return;
	}
	if (word & SMEM_IMM)
		offset = (s32)(i->word[1] << 11) >> 11;
	else if (!(word & SMEM_SOFFSET))
		offset = w->s[i->word[1] & 0x7f];
	if (word & SMEM_SOFFSET)
		offset += w->s[i->word[1] >> 25];
	count = 1u << kind;
	va = vgpu_isa_scalar(x, w, i, base, true);
	if (op & SMEM_BUFFER)			/* of a resource descriptor only the address counts */
		va &= 0xffffffffffffULL;
	va = (va + (u64)offset) & ~3ULL;
	if (x->retry && !vgpu_isa_ptr(x, w, va + 4 * (count - 1), 4, op & SMEM_STORE ? VGPU_WRITE : VGPU_READ))
		return;
	for (n = 0, p = NULL; n < count; n++, va += 4, p++) {
		if (!n || !(va & (VGPU_PAGE - 1)))
			p = vgpu_isa_ptr(x, w, va, 4, op & SMEM_STORE ? VGPU_WRITE : VGPU_READ);
		if (!p)
			return;
		if (op & SMEM_STORE)
			WRITE_ONCE(*p, w->s[(data + n) % VGPU_WAVE_SGPRS]);
		else
			vgpu_isa_set_scalar(w, data + n, READ_ONCE(*p), false);
	}
}
