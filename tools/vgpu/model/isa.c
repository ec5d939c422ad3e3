// SPDX-License-Identifier: MIT
/*
 * isa.c - fetching and decoding instructions; branches, barriers, and what else SOPP has
 *
 * An instruction is decoded once, for as long as nothing else is at its place: before it is executed
 * again its words are compared with those in memory. So no one has to say when code changes.
 */
#include "model.h"
#include "isa.h"

#define CYCLES			4u	/* a wave of 64 on a SIMD of 16 lanes */
#define SLEEP_CYCLES		64u	/* unit of s_sleep */
#define TRAP_ABORT		2u	/* of s_trap, by the ABI of AMDHSA: the program gives up */
#define TRAP_DEBUGGER		3u	/* nothing, without a debugger */

enum {
	S_NOP		= 0x00,
	S_ENDPGM	= 0x01,
	S_BRANCH	= 0x02,
	S_CBRANCH_SCC0	= 0x04,
	S_CBRANCH_SCC1	= 0x05,
	S_CBRANCH_VCCZ	= 0x06,
	S_CBRANCH_VCCNZ	= 0x07,
	S_CBRANCH_EXECZ	= 0x08,
	S_CBRANCH_EXECNZ = 0x09,
	S_BARRIER	= 0x0a,
	S_SETKILL	= 0x0b,
	S_WAITCNT	= 0x0c,
	S_SETHALT	= 0x0d,
	S_SLEEP		= 0x0e,
	S_SETPRIO	= 0x0f,
	S_SENDMSG	= 0x10,
	S_TRAP		= 0x12,
	S_ICACHE_INV	= 0x13,
	S_INCPERFLEVEL	= 0x14,
	S_DECPERFLEVEL	= 0x15,
	S_TTRACEDATA	= 0x16,
	S_ENDPGM_SAVED	= 0x1b,
	S_GPR_IDX_OFF	= 0x1c,
	S_GPR_IDX_MODE	= 0x1d,
};

/**
 * vgpu_isa_raise() - a wave halts
 * @x: where it executes
 * @w: the wave; its pc stays where the instruction is
 * @exception: enum vgpu_wave_exception
 * @why: for the log
 */
void vgpu_isa_raise(struct vgpu_isa *x, struct vgpu_wave *w, u32 exception, const char *why)
{
	if (w->state == VGPU_WAVE_HALTED)
		return;
	w->state = VGPU_WAVE_HALTED;
	w->exception = exception;
	if (exception == VGPU_WAVE_MEMORY_VIOLATION || exception == VGPU_WAVE_APERTURE_VIOLATION)
		w->trapsts |= VGPU_TRAPSTS_MEM_VIOL;
	else if (exception == VGPU_WAVE_ILLEGAL_INSTRUCTION)
		w->trapsts |= VGPU_TRAPSTS_ILLEGAL_INST;
	x->why = why;
	memset(x->words, 0, sizeof(x->words));
	if (x->at)
		memcpy(x->words, x->at->word, sizeof(x->words));
}

/**
 * vgpu_isa_ptr() - memory of the process
 * @x: where the wave executes
 * @w: the wave
 * @va: address
 * @len: bytes, within a page
 * @access: VGPU_READ, VGPU_WRITE or VGPU_EXECUTE
 *
 * Return: CPU pointer; NULL, and the wave has halted, after a fault.
 */
void *vgpu_isa_ptr(struct vgpu_isa *x, struct vgpu_wave *w, u64 va, u32 len, u32 access)
{
	u32 kind = access == VGPU_READ ? 0 : access == VGPU_WRITE ? 1 : 2, offset = va & (VGPU_PAGE - 1);
	struct vgpu_isa_page *at = &x->page[kind][va / VGPU_PAGE % VGPU_ISA_PAGES];
	u8 *page;

	if (at->cpu && at->va == va - offset)
		return at->cpu + offset;
	page = x->ptr(x->ctx, va - offset, VGPU_PAGE, access);
	if (!page || page == VGPU_ISA_AGAIN) {
		vgpu_isa_raise(x, w, page ? VGPU_WAVE_AGAIN : VGPU_WAVE_MEMORY_VIOLATION, "memory violation");
		return NULL;
	}
	if (page != x->unkept) {
		at->va = va - offset;
		at->cpu = page;
	}
	(void)len;
	return page + offset;
}

static bool fetch(struct vgpu_isa *x, struct vgpu_wave *w, u64 pc, u32 *word)
{
	const u32 *p = vgpu_isa_ptr(x, w, pc & ~3ULL, 4, VGPU_EXECUTE);

	if (p)
		*word = READ_ONCE(*p);
	return p;
}

static void sopp(struct vgpu_isa *x, struct vgpu_wave *w, const struct vgpu_inst *i);

/* By the highest bits of the first word, the longest ones first */
static const struct {
	u32 mask, value;
	u8 words;
	vgpu_execute_fn execute;		/* NULL: not known, unless */
	void (*decode)(const struct vgpu_isa *x, struct vgpu_inst *i);	/* knows what does */
	const char *unknown;
} encodings[] = {
	{ 0xff800000, 0xbe800000, 1, NULL, vgpu_isa_decode_sop, "unknown SOP1 instruction" },
	{ 0xff800000, 0xbf000000, 1, NULL, vgpu_isa_decode_sop, "unknown SOPC instruction" },
	{ 0xff800000, 0xbf800000, 1, sopp, NULL, "unknown SOPP instruction" },
	{ 0xffc00000, 0xd3c00000, 2, vgpu_isa_vop3p, NULL, "unknown VOP3P instruction of the matrix cores (MFMA)" },
	{ 0xff800000, 0xd3800000, 2, vgpu_isa_vop3p, NULL, "unknown VOP3P instruction" },
	{ 0xfc000000, 0xd0000000, 2, NULL, vgpu_isa_decode_vop, "unknown VOP3 instruction" },
	{ 0xfc000000, 0xc0000000, 2, vgpu_isa_smem, NULL, "unknown SMEM instruction" },
	{ 0xfc000000, 0xd8000000, 2, vgpu_isa_ds, NULL, "unknown DS instruction" },
	{ 0xfc000000, 0xdc000000, 2, vgpu_isa_flat, NULL, "unknown FLAT instruction" },
	{ 0xfc000000, 0xe0000000, 2, vgpu_isa_mubuf, NULL, "unknown MUBUF instruction" },
	{ 0xfc000000, 0xe8000000, 2, NULL, NULL, "MTBUF instruction" },
	{ 0xfc000000, 0xf0000000, 2, NULL, NULL, "MIMG instruction" },
	{ 0xf0000000, 0xb0000000, 1, NULL, vgpu_isa_decode_sop, "unknown SOPK instruction" },
	{ 0xc0000000, 0x80000000, 1, NULL, vgpu_isa_decode_sop, "unknown SOP2 instruction" },
	{ 0x80000000, 0x00000000, 1, NULL, vgpu_isa_decode_vop, "unknown VOP1, VOP2 or VOPC instruction" },
};

#define SRC_SDWA	0xf9u
#define SRC_DPP		0xfau
#define SRC_LITERAL	0xffu

static bool has_literal(u32 word)
{
	if ((word & 0xff800000) == 0xbe800000)			/* SOP1 */
		return (word & 0xff) == SRC_LITERAL;
	if ((word & 0xff800000) == 0xbf800000)			/* SOPP */
		return false;
	if ((word & 0xf0000000) == 0xb0000000 && (word & 0xff800000) != 0xbf000000)	/* SOPK: s_setreg_imm32_b32 */
		return (word >> 23 & 0x1f) == 0x14;
	if (word & 0x80000000)					/* SOP2, SOPC */
		return (word & 0xff) == SRC_LITERAL || (word >> 8 & 0xff) == SRC_LITERAL;
	switch (word >> 25) {
	case 0x17:						/* v_madmk_f32 and its like */
	case 0x18:
	case 0x24:
	case 0x25:
		return true;
	}
	return (word & 0x1ff) == SRC_LITERAL || (word & 0x1ff) == SRC_SDWA || (word & 0x1ff) == SRC_DPP;
}

/**
 * vgpu_isa_unknown() - a wave halts at an instruction that is in no table; the log names its
 * encoding
 */
void vgpu_isa_unknown(struct vgpu_isa *x, struct vgpu_wave *w)
{
	u32 n;

	for (n = 0; n < ARRAY_SIZE(encodings) - 1 && (x->at->word[0] & encodings[n].mask) != encodings[n].value; n++)
		;
	vgpu_isa_raise(x, w, VGPU_WAVE_ILLEGAL_INSTRUCTION, (x->at->word[0] & encodings[n].mask) == encodings[n].value ?
		       encodings[n].unknown : "unknown encoding");
}

/* Instructions by their place. What is in memory decides whether it is the one that is there. */
#define DECODED		2048u

static struct vgpu_inst decoded[DECODED];
static bool decoded_gfx942;

/* Decodes the instruction at @pc. Return: false, and the wave has halted, if it is not mapped. */
static bool decode(struct vgpu_isa *x, struct vgpu_wave *w, u64 pc, struct vgpu_inst *i)
{
	u32 n, words = 1;

	*i = (struct vgpu_inst) { 0 };
	x->at = NULL;
	if (!fetch(x, w, pc, &i->word[0]))
		return false;
	for (n = 0; n < ARRAY_SIZE(encodings) && (i->word[0] & encodings[n].mask) != encodings[n].value; n++)
		;
	if (n < ARRAY_SIZE(encodings)) {
		words = encodings[n].words;
		if (words == 1 && (encodings[n].execute || encodings[n].decode) && has_literal(i->word[0]))
			words = 2;
	}
	if (words == 2 && !fetch(x, w, pc + 4, &i->word[1]))
		return false;
	i->bytes = words * 4;
	if (n < ARRAY_SIZE(encodings)) {
		i->execute = encodings[n].execute;
		if (encodings[n].decode)
			encodings[n].decode(x, i);
	}
	return true;
}

/* Is it what these words say? The last one of a page cannot tell. */
static bool is_decoded(const struct vgpu_inst *i, const u32 *words, bool last)
{
	if (READ_ONCE(words[0]) != i->word[0])
		return false;
	return i->bytes == 4 || (i->bytes == 8 && !last && READ_ONCE(words[1]) == i->word[1]);
}

static void branch(struct vgpu_wave *w, const struct vgpu_inst *i, bool taken)
{
	if (taken)
		w->pc += (u64)(s64)(s16)i->word[0] * 4;
}

/* What is for trap handlers, and leads to them. On its own, as branches are much more frequent. */
static __attribute__((__noinline__)) void of_traps(struct vgpu_isa *x, struct vgpu_wave *w, const struct vgpu_inst *i)
{
	u32 imm = i->word[0] & 0xffff;

	switch (i->word[0] >> 16 & 0x7f) {
	case S_TRAP:
		if (!vgpu_isa_trap(x, w, w->pc - i->bytes, imm & 0xff) && (imm & 0xff) != TRAP_DEBUGGER)
			vgpu_isa_raise(x, w, (imm & 0xff) == TRAP_ABORT ? VGPU_WAVE_ABORT : VGPU_WAVE_TRAP, "s_trap");
		break;
	case S_SETHALT:
		if (w->status & VGPU_STATUS_PRIV)
			w->status = (w->status & ~VGPU_STATUS_HALT) | (imm & 1 ? VGPU_STATUS_HALT : 0);
		else if (imm & 1)
			vgpu_isa_raise(x, w, VGPU_WAVE_TRAP, "s_sethalt");
		break;
	default:
		if (w->status & VGPU_STATUS_PRIV)
			vgpu_isa_message(x, w, imm & 15);
	}
}

static void sopp(struct vgpu_isa *x, struct vgpu_wave *w, const struct vgpu_inst *i)
{
	u32 imm = i->word[0] & 0xffff;

	switch (i->word[0] >> 16 & 0x7f) {
	case S_NOP:
		x->cycles += imm & 15;
		break;
	case S_ENDPGM:
		w->state = VGPU_WAVE_ENDED;
		break;
	case S_BRANCH:
		branch(w, i, true);
		break;
	case S_CBRANCH_SCC0:
		branch(w, i, !(w->status & VGPU_STATUS_SCC));
		break;
	case S_CBRANCH_SCC1:
		branch(w, i, w->status & VGPU_STATUS_SCC);
		break;
	case S_CBRANCH_VCCZ:
		branch(w, i, !vgpu_wave_vcc(w));
		break;
	case S_CBRANCH_VCCNZ:
		branch(w, i, vgpu_wave_vcc(w));
		break;
	case S_CBRANCH_EXECZ:
		branch(w, i, !vgpu_wave_exec(w));
		break;
	case S_CBRANCH_EXECNZ:
		branch(w, i, vgpu_wave_exec(w));
		break;
	case S_BARRIER:
		w->state = VGPU_WAVE_BARRIER;
		break;
	case S_SLEEP:
		w->wake_ns = x->now_ns + (u64)(imm & 0x7f) * SLEEP_CYCLES * 10 / 17;
		break;
	case S_TRAP:
	case S_SETHALT:
	case S_SENDMSG:
		of_traps(x, w, i);
		break;
	case S_GPR_IDX_OFF:
		w->mode &= ~VGPU_MODE_GPR_IDX;
		break;
	case S_GPR_IDX_MODE:
		w->s[VGPU_S_M0] = (w->s[VGPU_S_M0] & ~0xf000u) | (imm & 15) << 12;
		break;
	case S_WAITCNT:				/* memory is accessed at once */
	case S_SETPRIO:
	case S_ICACHE_INV:
	case S_INCPERFLEVEL:
	case S_DECPERFLEVEL:
	case S_TTRACEDATA:
		break;
	default:
		vgpu_isa_unknown(x, w);
	}
}

/* Of a wave that has just halted: at @pc, unless its trap handler or a watch point wants it to */
static __attribute__((__noinline__)) void halted(struct vgpu_isa *x, struct vgpu_wave *w, u64 pc)
{
	if (w->exception)
		w->pc = pc;
	if (w->exception == VGPU_WAVE_AGAIN) {
		w->state = VGPU_WAVE_RUNS;
		w->exception = VGPU_WAVE_OK;
		w->wake_ns = x->now_ns + VGPU_AGAIN_NS;
	} else if (w->exception) {
		vgpu_isa_exception(x, w);
	}
}

/**
 * vgpu_isa_run() - execute some of a wave
 * @x: where
 * @w: the wave
 * @count: instructions at most
 *
 * It ends early when the wave waits, sleeps, ends or halts.
 *
 * Return: instructions that were executed.
 */
u32 vgpu_isa_run(struct vgpu_isa *x, struct vgpu_wave *w, u32 count)
{
	const u8 *code = NULL;
	u64 page = 0, pc = 0;
	u32 done, at;

	if (decoded_gfx942 != x->gfx942) {
		decoded_gfx942 = x->gfx942;
		memset(decoded, 0, sizeof(decoded));
	}
	for (done = 0; done < count && w->state == VGPU_WAVE_RUNS && w->wake_ns <= x->now_ns; done++) {
		struct vgpu_inst *i;

		pc = w->pc;
		at = pc & (VGPU_PAGE - 4);
		i = &decoded[pc / 4 % DECODED];
		if (!code || pc - page >= VGPU_PAGE) {
			page = pc & ~(u64)(VGPU_PAGE - 1);
			x->at = NULL;
			code = vgpu_isa_ptr(x, w, page, VGPU_PAGE, VGPU_EXECUTE);
			if (!code)
				continue;
		}
		if (!is_decoded(i, (const u32 *)(code + at), at == VGPU_PAGE - 4) && !decode(x, w, pc, i))
			continue;
		x->at = i;
		w->pc = pc + i->bytes;
		if (i->execute)
			i->execute(x, w, i);
		else
			vgpu_isa_unknown(x, w);
		x->cycles += CYCLES;
	}
	if (w->state == VGPU_WAVE_HALTED && done)
		halted(x, w, pc);
	return done;
}

/**
 * vgpu_isa_barrier() - let the waves of a workgroup go on if all that have not ended are at a
 * barrier
 */
void vgpu_isa_barrier(struct vgpu_wave *waves, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		if (waves[i].state != VGPU_WAVE_BARRIER && waves[i].state != VGPU_WAVE_ENDED)
			return;
	for (i = 0; i < count; i++)
		if (waves[i].state == VGPU_WAVE_BARRIER)
			waves[i].state = VGPU_WAVE_RUNS;
}
