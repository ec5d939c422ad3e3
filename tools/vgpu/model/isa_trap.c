// SPDX-License-Identifier: MIT
/*
 * isa_trap.c - into trap handlers and out of them, watch points
 *
 * The first level, which the driver loads, is not executed: it saves waves, which cwsr.c does, or
 * looks for the process's own handler. What it hands over to that one, the second level, is here. The
 * second level is executed as any other code, but for what it alone may do.
 */
#include "model.h"
#include "isa.h"
#include "save_area.h"

#define PC_HI			0xffffu
#define TRAP_ID_SHIFT		16		/* above the program counter */
#define DEBUGGED		(1u << 23)	/* in the trap temporary that the first level adds to */
#define REPLAY			0xfc000000u	/* what is to be done again, there; nothing is */
#define NOT_HANDED_OVER		0x20006u	/* of STATUS: priority, ECC error */
#define MESSAGE_INTERRUPT	1u
#define MESSAGE_GET_DOORBELL	10u

/* SPI_GDBG_PER_VMID_CNTL */
#define GDBG_TRAP_EN		0x8u
#define GDBG_EXCEPTIONS(v)	((v) >> 4 & 0x1ff)
#define GDBG_REPLACE		0x2000u

/* Exceptions that a kernel wants to be traps, in COMPUTE_PGM_RSRC2 */
#define RSRC2_EXCEPTIONS(v)	(((v) >> 24 & 0x7f) | ((v) >> 13 & 3) << 7)

/**
 * vgpu_isa_exceptions() - which exceptions are traps of a wave
 * @code: its kernel
 * @control: SPI_GDBG_PER_VMID_CNTL: what a debugger wants
 *
 * Return: bits of MODE.
 */
u32 vgpu_isa_exceptions(const struct vgpu_kernel_code *code, u32 control)
{
	u32 own = RSRC2_EXCEPTIONS(code->rsrc2);

	if (control & GDBG_TRAP_EN)
		own = GDBG_EXCEPTIONS(control) | (control & GDBG_REPLACE ? 0 : own);
	return own << VGPU_MODE_EXCEPTIONS_SHIFT;
}

/**
 * vgpu_isa_trap() - a wave enters the second level of its trap handlers
 * @x: where it executes
 * @w: the wave
 * @pc: where it would go on if it returned without having changed that
 * @id: of s_trap, 0: it is an exception
 *
 * Return: false, and nothing has changed, if there is none, or if it is there.
 */
bool vgpu_isa_trap(struct vgpu_isa *x, struct vgpu_wave *w, u64 pc, u32 id)
{
	u32 *ttmp = w->s + VGPU_S_TTMP, *kept = &ttmp[x->gfx942 ? 13 : 11];
	struct vgpu_handler h;

	if (!x->handler || w->status & VGPU_STATUS_PRIV || !x->handler(x->ctx, x, w, &h))
		return false;
	w->status |= VGPU_STATUS_PRIV;
	ttmp[0] = (u32)pc;
	ttmp[1] = ((u32)(pc >> 32) & PC_HI) | id << TRAP_ID_SHIFT;
	ttmp[2] = (u32)h.code;
	ttmp[3] = (u32)(h.code >> 32);
	ttmp[12] = vgpu_wave_status(w) & ~NOT_HANDED_OVER;
	ttmp[14] = (u32)h.memory;
	ttmp[15] = (u32)(h.memory >> 32);
	*kept = (*kept & ~(REPLAY | DEBUGGED)) | (h.debugged ? DEBUGGED : 0);
	vgpu_wave_set_scc(w, true);		/* there is a handler: the last thing that it has found out */
	w->pc = h.code & ~3ULL;
	return true;
}

/**
 * vgpu_isa_exception() - an instruction has halted a wave: what handles that?
 * @x: where it executes
 * @w: the wave, whose pc is at the instruction
 *
 * The wave goes on in its trap handler, or stays halted: without one, or if there is no instruction to
 * go on with. It stays so in a trap handler as well, and is not in one any more then: in a handler a
 * wave that has been saved as halted is one that will be.
 */
void vgpu_isa_exception(struct vgpu_isa *x, struct vgpu_wave *w)
{
	bool memory = w->exception == VGPU_WAVE_MEMORY_VIOLATION || w->exception == VGPU_WAVE_APERTURE_VIOLATION;

	/* A device finds out about memory when the wave is further on. */
	if (x->at && (memory || w->exception == VGPU_WAVE_ILLEGAL_INSTRUCTION) &&
	    vgpu_isa_trap(x, w, w->pc + (memory ? x->at->bytes : 0), 0)) {
		w->state = VGPU_WAVE_RUNS;
		w->exception = VGPU_WAVE_OK;
		return;
	}
	w->status &= ~(VGPU_STATUS_PRIV | VGPU_STATUS_HALT);
}

/**
 * vgpu_isa_return() - a trap handler returns to @pc; the wave halts there if that is what it wants
 */
void vgpu_isa_return(struct vgpu_isa *x, struct vgpu_wave *w, u64 pc)
{
	if (!(w->status & VGPU_STATUS_PRIV)) {
		vgpu_isa_raise(x, w, VGPU_WAVE_ILLEGAL_INSTRUCTION, "s_rfe_b64 outside of trap handlers");
		return;
	}
	w->pc = pc & ((u64)PC_HI << 32 | 0xfffffffc);
	if (w->status & VGPU_STATUS_HALT) {
		w->state = VGPU_WAVE_HALTED;
		w->exception = VGPU_WAVE_OK;
	}
	w->status &= ~(VGPU_STATUS_PRIV | VGPU_STATUS_HALT);
}

/** vgpu_isa_message() - s_sendmsg in a trap handler */
void vgpu_isa_message(struct vgpu_isa *x, struct vgpu_wave *w, u32 message)
{
	if (message == MESSAGE_INTERRUPT)
		x->message(x->ctx, w, w->s[VGPU_S_M0] & 0xffffff);
	else if (message == MESSAGE_GET_DOORBELL)	/* the highest bit, which the handler has set, says that it is there */
		w->s[VGPU_S_EXEC] = x->doorbell;
}

/**
 * vgpu_isa_watch() - note the watch points that an access meets
 * @x: where the wave executes
 * @va: address
 * @bytes: at most as many as are compared together
 * @access: VGPU_WATCH_READS, VGPU_WATCH_OTHERS or VGPU_WATCH_ATOMICS
 */
void vgpu_isa_watch(struct vgpu_isa *x, u64 va, u32 bytes, enum vgpu_watch_mode access)
{
	const struct vgpu_watch *p;

	for (p = x->watch; p < x->watch + x->watches; p++)
		if ((!((va ^ p->va) & p->mask) || !(((va + bytes - 1) ^ p->va) & p->mask)) &&
		    (p->mode == access || p->mode == VGPU_WATCH_ALL || (p->mode == VGPU_WATCH_OTHERS && access == VGPU_WATCH_ATOMICS)))
			x->hits |= p->trapsts;
}

/**
 * vgpu_isa_watched() - an instruction has met watch points: a trap behind it, if these are traps
 * @x: where the wave executes
 * @w: the wave
 *
 * Without a second level the first one halts the wave.
 */
void vgpu_isa_watched(struct vgpu_isa *x, struct vgpu_wave *w)
{
	u32 hits = x->hits;

	x->hits = 0;
	if (w->exception == VGPU_WAVE_AGAIN)
		return;
	w->trapsts |= hits;
	if (w->state != VGPU_WAVE_RUNS || !(w->mode & VGPU_MODE_WATCH) || w->status & VGPU_STATUS_PRIV || vgpu_isa_trap(x, w, w->pc, 0))
		return;
	w->state = VGPU_WAVE_HALTED;
}
