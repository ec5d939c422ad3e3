/* SPDX-License-Identifier: MIT */
/*
 * isa.h - the shader cores: what executes gfx90a machine code, and what gfx942 has in common with
 * it, wave by wave
 *
 *   isa.c         fetch, decode, branches and messages (SOPP), the workgroup
 *   isa_scalar.c  SOP1, SOP2, SOPC, SOPK, SMEM
 *   isa_vector.c  VOP1, VOP2, VOP3, VOPC, VOP3P, with SDWA and DPP
 *   isa_lanes.c   the common ones of these on all lanes at once
 *   isa_matrix.c  VOP3P's MFMA, the matrix cores
 *   isa_memory.c  FLAT, GLOBAL, SCRATCH, MUBUF, DS
 *   isa_object.c  kernel descriptors, and the registers that a wave starts with
 *   isa_trap.c    into trap handlers and out of them, watch points
 *   isa_float.c   arithmetic
 *
 * Nothing here knows of queues or of time but through struct vgpu_isa. What is not known stops the
 * wave, never gives a wrong result.
 */
#ifndef VGPU_ISA_H
#define VGPU_ISA_H

#include "os.h"
#include "isa_float.h"

#define VGPU_LANES		64u
#define VGPU_WAVE_SGPRS		128u		/* by operand code: VCC, M0, EXEC and the trap registers are among them */
#define VGPU_MAX_WG_WAVES	16u
#define VGPU_ISA_AGAIN		((void *)1)	/* what struct vgpu_isa.ptr answers for a page that may come later */
#define VGPU_NO_SLOT		U32_MAX
#define VGPU_ISA_PAGES		8u		/* whose addresses are at hand, of each kind of access */
#define VGPU_GWS		64u		/* resources of the global wave sync */
#define VGPU_SCRATCH_SLOTS	4096u		/* waves of a queue that have scratch memory at a time */

#define VGPU_S_FLAT_SCRATCH	102u
#define VGPU_S_XNACK_MASK	104u
#define VGPU_S_VCC		106u
#define VGPU_S_TTMP		108u
#define VGPU_S_M0		124u
#define VGPU_S_EXEC		126u

/*
 * STATUS: what a wave is doing; EXECZ, VCCZ and VALID follow from other state and are in no struct
 * vgpu_wave
 */
#define VGPU_STATUS_SCC		1u
#define VGPU_STATUS_PRIV	0x20u		/* it is in a trap handler */
#define VGPU_STATUS_EXECZ	0x200u
#define VGPU_STATUS_VCCZ	0x400u
#define VGPU_STATUS_HALT	0x2000u		/* in a trap handler: it will halt when it returns */
#define VGPU_STATUS_VALID	0x10000u
#define VGPU_STATUS_DERIVED	(VGPU_STATUS_EXECZ | VGPU_STATUS_VCCZ | VGPU_STATUS_VALID)

/* TRAPSTS: exceptions that have happened */
#define VGPU_TRAPSTS_WATCH(n)	((n) ? 0x800u << (n) : 0x80u)
#define VGPU_TRAPSTS_MEM_VIOL	0x100u
#define VGPU_TRAPSTS_ILLEGAL_INST 0x800u

/* MODE */
#define VGPU_MODE_DX10_CLAMP	0x100u
#define VGPU_MODE_IEEE		0x200u
#define VGPU_MODE_EXCEPTIONS_SHIFT 12u		/* which of the first nine of TRAPSTS are traps */
#define VGPU_MODE_WATCH		0x80000u
#define VGPU_MODE_GPR_IDX	0x08000000u

enum vgpu_wave_state {
	VGPU_WAVE_RUNS,
	VGPU_WAVE_BARRIER,	/* until all waves of its workgroup are there, or have ended */
	VGPU_WAVE_ENDED,
	VGPU_WAVE_HALTED,	/* after an exception */
};

/* Why a wave halted, as amdkfd numbers the exceptions of a queue */
enum vgpu_wave_exception {
	VGPU_WAVE_OK			= 0,
	VGPU_WAVE_ABORT			= 1,
	VGPU_WAVE_TRAP			= 2,
	VGPU_WAVE_ILLEGAL_INSTRUCTION	= 4,
	VGPU_WAVE_MEMORY_VIOLATION	= 5,
	VGPU_WAVE_APERTURE_VIOLATION	= 6,
	VGPU_WAVE_AGAIN			= 0x100,	/* none of these: within an instruction that has to be tried again */
};

/**
 * struct vgpu_wave - a wave: all of it is architectural state, nothing is kept elsewhere between
 * two instructions
 * @pc: address of the next instruction
 * @wake_ns: it sleeps until then
 * @status: STATUS
 * @trapsts: TRAPSTS
 * @mode: MODE
 * @state: enum vgpu_wave_state
 * @exception: enum vgpu_wave_exception
 * @scratch_slot: which part of the queue's scratch memory it has, VGPU_NO_SLOT: none
 * @vgprs: vector registers, accumulation registers included
 * @acc: number of the first accumulation register
 * @s: scalar registers
 * @v: vector registers, VGPU_LANES words each
 */
struct vgpu_wave {
	u64 pc;
	u64 wake_ns;
	u32 status;
	u32 trapsts;
	u32 mode;
	u32 state;
	u32 exception;
	u32 scratch_slot;
	u32 vgprs;
	u32 acc;
	u32 s[VGPU_WAVE_SGPRS];
	u32 *v;
};

struct vgpu_inst;
struct vgpu_isa;

/**
 * struct vgpu_handler - the second level of a process's trap handlers
 * @code: its address
 * @memory: address of what it works with
 * @debugged: the process has a debugger
 */
struct vgpu_handler {
	u64 code;
	u64 memory;
	bool debugged;
};

#define VGPU_WATCHES		4u

/* Accesses that a watch point is about; the last two are both more than the second one */
enum vgpu_watch_mode {
	VGPU_WATCH_READS,
	VGPU_WATCH_OTHERS,	/* writes and atomics */
	VGPU_WATCH_ATOMICS,
	VGPU_WATCH_ALL,
};

/**
 * struct vgpu_watch - a watch point
 * @va: address
 * @mask: bits of addresses that are compared
 * @mode: enum vgpu_watch_mode
 * @trapsts: bit of TRAPSTS that tells of it
 */
struct vgpu_watch {
	u64 va;
	u64 mask;
	u32 mode;
	u32 trapsts;
};

/**
 * struct vgpu_isa - where a wave executes
 * @ctx: for @ptr
 * @gfx942: the device is one: a few instructions differ
 * @ptr: CPU pointer to @len bytes at an address of the process, never across a page; NULL after a
 *	fault, which it has reported; VGPU_ISA_AGAIN: the instruction is to be tried again
 * @retry: @ptr may answer that: what an instruction accesses is looked at before it has any effect
 * @now_ns: device time
 * @clock: shader clocks since a moment in the past
 * @lds: of the workgroup
 * @lds_bytes: its size
 * @shared_base: where LDS is in the flat address space, 4 GiB of it
 * @private_base: where a lane's scratch memory is in it
 * @gws: counters of the global wave sync, VGPU_GWS of them; NULL: it is not the queue's
 * @handler: what the process has as second level of its trap handlers; false: nothing. NULL: as false. @w: what traps
 * @message: an interrupt with 24 bits of data, which a trap handler has sent
 * @doorbell: index of the queue's doorbell, for trap handlers
 * @watch: watch points
 * @watches: how many; accesses are not looked at if there is none
 * @hits: bits of TRAPSTS that belong to those that the instruction has met
 * @why: what is wrong with the instruction that raised an exception, for the log
 * @words: that instruction
 * @at: the instruction that is executed; NULL: one is being fetched
 * @cycles: that the instructions so far took, of the SIMD
 * @simd: vgpu_simd_begin() allows the CPU's vector registers: many lanes at once. Results are the same
 *	without.
 * @unkept: a page that @ptr answers for another thing at each call; NULL: none
 * @page: pages that were used last, of each kind of access
 */
struct vgpu_isa {
	void *ctx;
	bool gfx942;
	void *(*ptr)(void *ctx, u64 va, u32 len, u32 access);
	bool retry;
	u64 now_ns;
	u64 clock;
	u8 *lds;
	u32 lds_bytes;
	u64 shared_base;
	u64 private_base;
	u32 *gws;
	bool (*handler)(void *ctx, const struct vgpu_isa *x, const struct vgpu_wave *w, struct vgpu_handler *h);
	void (*message)(void *ctx, const struct vgpu_wave *w, u32 data);
	u32 doorbell;
	struct vgpu_watch watch[VGPU_WATCHES];
	u32 watches;
	u32 hits;
	const char *why;
	u32 words[2];
	const struct vgpu_inst *at;
	u64 cycles;
	bool simd;
	const void *unkept;
	struct vgpu_isa_page {
		u64 va;
		u8 *cpu;
	} page[3][VGPU_ISA_PAGES];
};

struct vgpu_lanes;

/* How all lanes get an operand */
enum vgpu_operand {
	VGPU_OPERAND_VECTOR,	/* from a vector register */
	VGPU_OPERAND_SCALAR,	/* from a scalar register of 32 bits */
	VGPU_OPERAND_CONSTANT,
	VGPU_OPERAND_OTHER,	/* see vgpu_isa_scalar() */
	VGPU_OPERAND_MODIFIED,	/* not as it is there */
	VGPU_OPERAND_DPP,	/* from other lanes */
};

/**
 * struct vgpu_vop - a vector instruction with its modifiers, whatever the encoding
 * @op: opcode in VOP3
 * @src: operands as codes of 9 bits
 * @dst: vector register, or scalar one for those that write one
 * @sdst: where a carry or a comparison goes
 * @neg: a bit for each operand
 * @abs: the same
 * @opsel: upper halves of 16 bit operands, bit 3: of the result
 * @omod: the result is doubled, quadrupled or halved
 * @clamp: the result is held in its range
 * @carry_src: scalar register of the carry
 * @has_sdwa: there is an SDWA word
 * @has_dpp: there is a DPP word
 * @sdwa: SDWA word
 * @dpp: DPP word
 * @cycles: clocks beyond the usual four
 * @types: of the result and the operands, if there is @lanes
 * @carries: which carries that has
 * @sources: how many operands it has
 * @lanes: does all lanes at once, see isa_lanes.h; NULL: nothing does
 * @mode_mask: what that depends on in MODE
 * @mode: what has to be there
 * @top: one behind the highest vector register
 * @wide: those of 64 bits, a bit for each
 * @from: enum vgpu_operand of each
 * @value: of a constant; for DPP the lanes of its rows and banks
 */
struct vgpu_vop {
	u16 op;
	u16 src[3];
	u16 dst;
	u8 sdst;
	u8 neg;
	u8 abs;
	u8 opsel;
	u8 omod;
	bool clamp;
	u16 carry_src;
	bool has_sdwa;
	bool has_dpp;
	u32 sdwa;
	u32 dpp;
	u8 cycles;
	char types[5];
	u8 carries;
	u8 sources;
	u64 (*lanes)(struct vgpu_lanes *l);
	u32 mode_mask;
	u32 mode;
	u16 top;
	u8 wide;
	u8 from[3];
	u64 value[3];
};

typedef void (*vgpu_execute_fn)(struct vgpu_isa *x, struct vgpu_wave *w, const struct vgpu_inst *i);

/**
 * struct vgpu_inst - an instruction, decoded
 * @word: its words: the second one may be a literal, or the SDWA or DPP word; 0 if it has one only
 * @bytes: its length
 * @execute: what it does; NULL: not known
 * @v: of a vector instruction
 */
struct vgpu_inst {
	u32 word[2];
	u32 bytes;
	vgpu_execute_fn execute;
	struct vgpu_vop v;
} __attribute__((aligned(128)));

#define VGPU_INST_LITERAL(i)	((i)->word[(i)->bytes / 4 - 1])

/* isa.c */
u32 vgpu_isa_run(struct vgpu_isa *x, struct vgpu_wave *w, u32 count);
void vgpu_isa_barrier(struct vgpu_wave *waves, u32 count);
void vgpu_isa_raise(struct vgpu_isa *x, struct vgpu_wave *w, u32 exception, const char *why);
void vgpu_isa_unknown(struct vgpu_isa *x, struct vgpu_wave *w);
void *vgpu_isa_ptr(struct vgpu_isa *x, struct vgpu_wave *w, u64 va, u32 len, u32 access);

static inline u64 vgpu_wave_exec(const struct vgpu_wave *w)
{
	return w->s[VGPU_S_EXEC] | (u64)w->s[VGPU_S_EXEC + 1] << 32;
}

static inline u64 vgpu_wave_vcc(const struct vgpu_wave *w)
{
	return w->s[VGPU_S_VCC] | (u64)w->s[VGPU_S_VCC + 1] << 32;
}

static inline void vgpu_wave_set_scc(struct vgpu_wave *w, bool scc)
{
	w->status = (w->status & ~VGPU_STATUS_SCC) | scc;
}

/* STATUS as instructions and debuggers read it */
static inline u32 vgpu_wave_status(const struct vgpu_wave *w)
{
	return w->status | VGPU_STATUS_VALID | (vgpu_wave_exec(w) ? 0 : VGPU_STATUS_EXECZ) | (vgpu_wave_vcc(w) ? 0 : VGPU_STATUS_VCCZ);
}

/* isa_scalar.c */
bool vgpu_isa_constant(const struct vgpu_inst *i, u32 code, bool wide, u64 *value);
u64 vgpu_isa_scalar(struct vgpu_isa *x, struct vgpu_wave *w, const struct vgpu_inst *i, u32 code, bool wide);
void vgpu_isa_set_scalar(struct vgpu_wave *w, u32 code, u64 value, bool wide);
void vgpu_isa_decode_sop(const struct vgpu_isa *x, struct vgpu_inst *i);
void vgpu_isa_smem(struct vgpu_isa *x, struct vgpu_wave *w, const struct vgpu_inst *i);

/* isa_vector.c */
u32 *vgpu_isa_vgprs(struct vgpu_isa *x, struct vgpu_wave *w, u32 first, u32 count);
void vgpu_isa_decode_vop(const struct vgpu_isa *x, struct vgpu_inst *i);
void vgpu_isa_vop3p(struct vgpu_isa *x, struct vgpu_wave *w, const struct vgpu_inst *i);

/* isa_matrix.c */
bool vgpu_isa_is_mfma(const struct vgpu_isa *x, u32 op);
void vgpu_isa_mfma(struct vgpu_isa *x, struct vgpu_wave *w, const struct vgpu_inst *i);

/* isa_memory.c */
void vgpu_isa_flat(struct vgpu_isa *x, struct vgpu_wave *w, const struct vgpu_inst *i);
void vgpu_isa_mubuf(struct vgpu_isa *x, struct vgpu_wave *w, const struct vgpu_inst *i);
void vgpu_isa_ds(struct vgpu_isa *x, struct vgpu_wave *w, const struct vgpu_inst *i);

/**
 * struct vgpu_kernel_code - what a kernel descriptor says (AMDHSA code object v3 to v5; the older
 * amd_kernel_code_t has the same at the same places)
 * @entry: address of the first instruction
 * @rsrc1: COMPUTE_PGM_RSRC1
 * @rsrc2: COMPUTE_PGM_RSRC2
 * @rsrc3: COMPUTE_PGM_RSRC3
 * @properties: which registers the kernel wants to find set up
 */
struct vgpu_kernel_code {
	u64 entry;
	u32 rsrc1;
	u32 rsrc2;
	u32 rsrc3;
	u32 properties;
};

#define VGPU_DESCRIPTOR_BYTES	64u
#define VGPU_USER_SGPRS		16u

/**
 * struct vgpu_isa_launch - what the registers of a dispatch's waves begin with, beside the kernel's
 * code; what the ABI of AQL wants is unused if packets say it register by register
 * @packet: address of the dispatch packet
 * @queue: address of amd_queue_t
 * @kernargs: address of the arguments
 * @dispatch_id: number of the packet
 * @slot: of the packet in the ring
 * @segment: resource descriptor of the scratch memory
 * @scratch: address of the scratch memory of the queue
 * @scratch_bytes: of it that a lane has
 * @user_sgprs: of a dispatch by registers: how many scalar registers its packets say the values of
 * @user: these values
 * @gfx942: the device sets FLAT_SCRATCH itself, and there is no register with the wave's offset
 * @grid: work-items, from workgroup 0 on even if it is another one that is launched first
 * @workgroup: work-items of a workgroup
 */
struct vgpu_isa_launch {
	u64 packet;
	u64 queue;
	u64 kernargs;
	u64 dispatch_id;
	u32 slot;
	u32 segment[4];
	u64 scratch;
	u32 scratch_bytes;
	u32 user_sgprs;
	u32 user[VGPU_USER_SGPRS];
	u32 gfx942;
	u32 grid[3];
	u32 workgroup[3];
};

/* isa_object.c */
bool vgpu_isa_descriptor(const void *bytes, u64 va, struct vgpu_kernel_code *code);
u32 vgpu_isa_user_sgprs(const struct vgpu_kernel_code *code);
u32 vgpu_isa_vgpr_count(const struct vgpu_kernel_code *code);
u32 vgpu_isa_acc_offset(const struct vgpu_kernel_code *code);
void vgpu_isa_ttmps(u32 *ttmp, bool gfx942, u32 slot, const u32 workgroup[3], u32 wave);
void vgpu_isa_start(struct vgpu_wave *w, const struct vgpu_kernel_code *code, const struct vgpu_isa_launch *launch,
		    const u32 workgroup[3], u32 wave, u32 scratch_offset);

/* isa_trap.c */
u32 vgpu_isa_exceptions(const struct vgpu_kernel_code *code, u32 control);
bool vgpu_isa_trap(struct vgpu_isa *x, struct vgpu_wave *w, u64 pc, u32 id);
void vgpu_isa_exception(struct vgpu_isa *x, struct vgpu_wave *w);
void vgpu_isa_return(struct vgpu_isa *x, struct vgpu_wave *w, u64 pc);
void vgpu_isa_message(struct vgpu_isa *x, struct vgpu_wave *w, u32 message);
void vgpu_isa_watch(struct vgpu_isa *x, u64 va, u32 bytes, enum vgpu_watch_mode access);
void vgpu_isa_watched(struct vgpu_isa *x, struct vgpu_wave *w);

#endif /* VGPU_ISA_H */
