// SPDX-License-Identifier: MIT
/*
 * isa_object.c - kernel descriptors of AMDHSA code objects, and the registers that their waves
 * start with
 */
#include "model.h"
#include "isa.h"
#include "save_area.h"

/* Byte offsets in a kernel descriptor */
#define ENTRY_OFFSET		16
#define RSRC3			44
#define RSRC1			48
#define RSRC2			52
#define PROPERTIES		56

#define ENTRY_ALIGN		256u

/* COMPUTE_PGM_RSRC1 */
#define VGPR_BLOCKS(r)		((r) & 0x3f)
#define VGPR_BLOCK		8u
#define FLOAT_MODE(r)		((r) >> 12 & 0xff)
#define DX10_CLAMP		0x00200000u
#define IEEE_MODE		0x00800000u

/* COMPUTE_PGM_RSRC2 */
#define SCRATCH_EN		0x1u
#define USER_SGPRS(r)		((r) >> 1 & 0x1f)
#define TGID_X_EN		0x80u
#define TGID_Y_EN		0x100u
#define TGID_Z_EN		0x200u
#define TG_SIZE_EN		0x400u

/* COMPUTE_PGM_RSRC3 */
#define ACC_OFFSET(r)		(((r) & 0x3f) + 1)
#define ACC_BLOCK		4u

/* Properties: user registers in this order */
#define PRIVATE_SEGMENT_BUFFER	0x01u
#define DISPATCH_PTR		0x02u
#define QUEUE_PTR		0x04u
#define KERNARG_PTR		0x08u
#define DISPATCH_ID		0x10u
#define FLAT_SCRATCH_INIT	0x20u
#define PRIVATE_SEGMENT_SIZE	0x40u
#define GRID_X			0x80u	/* older code objects: workgroups of the grid */
#define WAVE32			0x400u

static u32 get32(const u8 *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/**
 * vgpu_isa_descriptor() - read a kernel descriptor
 * @bytes: VGPU_DESCRIPTOR_BYTES of it
 * @va: its address
 * @code: filled in
 *
 * Return: false if it is none.
 */
bool vgpu_isa_descriptor(const void *bytes, u64 va, struct vgpu_kernel_code *code)
{
	const u8 *p = bytes;
	u64 offset = get32(p + ENTRY_OFFSET) | (u64)get32(p + ENTRY_OFFSET + 4) << 32;

	code->entry = va + offset;
	code->rsrc1 = get32(p + RSRC1);
	code->rsrc2 = get32(p + RSRC2);
	code->rsrc3 = get32(p + RSRC3);
	code->properties = get32(p + PROPERTIES) & 0xffff;
	return offset && !(code->entry % ENTRY_ALIGN) && !(code->properties & WAVE32);
}

/** vgpu_isa_user_sgprs() - scalar registers that a dispatch says the values of */
u32 vgpu_isa_user_sgprs(const struct vgpu_kernel_code *code)
{
	return USER_SGPRS(code->rsrc2) < VGPU_USER_SGPRS ? USER_SGPRS(code->rsrc2) : VGPU_USER_SGPRS;
}

/** vgpu_isa_vgpr_count() - vector registers of each lane, accumulation registers included */
u32 vgpu_isa_vgpr_count(const struct vgpu_kernel_code *code)
{
	return (VGPR_BLOCKS(code->rsrc1) + 1) * VGPR_BLOCK;
}

/** vgpu_isa_acc_offset() - number of the first accumulation register among the vector registers */
u32 vgpu_isa_acc_offset(const struct vgpu_kernel_code *code)
{
	return ACC_OFFSET(code->rsrc3) * ACC_BLOCK;
}

/**
 * vgpu_isa_ttmps() - what the trap temporaries of a wave begin with, for a debugger
 * @ttmp: VGPU_TTMPS words
 * @gfx942: the device is one
 * @slot: of its packet in the ring
 * @workgroup: number of its workgroup in each dimension
 * @wave: number of the wave in it
 */
void vgpu_isa_ttmps(u32 *ttmp, bool gfx942, u32 slot, const u32 workgroup[3], u32 wave)
{
	memset(ttmp, 0, VGPU_TTMPS * 4);
	memcpy(ttmp + VGPU_TTMP_WORKGROUP, workgroup, 12);
	ttmp[VGPU_TTMP_WAVE] = wave;
	if (gfx942)
		ttmp[VGPU_TTMP_WAVE] |= (slot & VGPU_TTMP_PACKET_MASK) << VGPU_TTMP_PACKET_SHIFT;
	else
		ttmp[VGPU_TTMP_PACKET] = slot & VGPU_TTMP_PACKET_MASK;
}

static void put(struct vgpu_wave *w, u32 *n, u32 value)
{
	if (*n < VGPU_S_FLAT_SCRATCH)
		w->s[(*n)++] = value;
}

static void put64(struct vgpu_wave *w, u32 *n, u64 value)
{
	put(w, n, (u32)value);
	put(w, n, (u32)(value >> 32));
}

/* Work-items of a workgroup in a dimension: the last one may have fewer */
static u32 items(const struct vgpu_isa_launch *launch, const u32 workgroup[3], u32 dimension)
{
	u32 left = launch->grid[dimension] - workgroup[dimension] * launch->workgroup[dimension];

	return left < launch->workgroup[dimension] ? left : launch->workgroup[dimension];
}

/**
 * vgpu_isa_start() - set up the registers of a wave
 * @w: the wave, with room for vgpu_isa_vgpr_count() vector registers
 * @code: its kernel
 * @launch: its dispatch
 * @workgroup: number of its workgroup in each dimension
 * @wave: number of the wave in it
 * @scratch_offset: of its scratch memory, from that of the queue
 *
 * A wave beyond the last work-item of a small workgroup has ended when this returns.
 */
void vgpu_isa_start(struct vgpu_wave *w, const struct vgpu_kernel_code *code, const struct vgpu_isa_launch *launch,
		    const u32 workgroup[3], u32 wave, u32 scratch_offset)
{
	u32 size[3] = { items(launch, workgroup, 0), items(launch, workgroup, 1), items(launch, workgroup, 2) };
	u32 total = size[0] * size[1] * size[2], first = wave * VGPU_LANES, n = 0, lane, d, id;
	u64 exec;

	w->pc = code->entry;
	w->vgprs = vgpu_isa_vgpr_count(code);
	w->acc = vgpu_isa_acc_offset(code);
	w->mode = FLOAT_MODE(code->rsrc1) | (code->rsrc1 & DX10_CLAMP ? VGPU_MODE_DX10_CLAMP : 0) |
		  (code->rsrc1 & IEEE_MODE ? VGPU_MODE_IEEE : 0);
	w->state = first < total ? VGPU_WAVE_RUNS : VGPU_WAVE_ENDED;
	exec = total - first >= VGPU_LANES ? U64_MAX : (1ULL << (total - first)) - 1;
	vgpu_isa_set_scalar(w, VGPU_S_EXEC, exec, true);

	vgpu_isa_ttmps(w->s + VGPU_S_TTMP, launch->gfx942, launch->slot, workgroup, wave);
	if (code->properties & PRIVATE_SEGMENT_BUFFER)
		for (d = 0; d < 4; d++)
			put(w, &n, launch->segment[d]);
	if (code->properties & DISPATCH_PTR)
		put64(w, &n, launch->packet);
	if (code->properties & QUEUE_PTR)
		put64(w, &n, launch->queue);
	if (code->properties & KERNARG_PTR)
		put64(w, &n, launch->kernargs);
	if (code->properties & DISPATCH_ID)
		put64(w, &n, launch->dispatch_id);
	if (code->properties & FLAT_SCRATCH_INIT)
		put64(w, &n, launch->scratch);
	if (code->properties & PRIVATE_SEGMENT_SIZE)
		put(w, &n, launch->scratch_bytes);
	for (d = 0; d < 3; d++)
		if (code->properties & GRID_X << d)
			put(w, &n, (launch->grid[d] + launch->workgroup[d] - 1) / launch->workgroup[d]);
	memcpy(w->s, launch->user, launch->user_sgprs * 4);
	n = USER_SGPRS(code->rsrc2);
	for (d = 0; d < 3; d++)
		if (code->rsrc2 & TGID_X_EN << d)
			put(w, &n, workgroup[d]);
	if (code->rsrc2 & TG_SIZE_EN)
		put(w, &n, (total + VGPU_LANES - 1) / VGPU_LANES | wave << 6 | (wave ? 0 : 0x80000000));
	if (launch->gfx942)
		vgpu_isa_set_scalar(w, VGPU_S_FLAT_SCRATCH, launch->scratch + scratch_offset, true);
	else if (code->rsrc2 & SCRATCH_EN)
		put(w, &n, scratch_offset);

	/* gfx90a has all three numbers of a work-item in one register. */
	for (lane = 0; lane < VGPU_LANES && first + lane < total; lane++) {
		id = first + lane;
		w->v[lane] = id % size[0] | id / size[0] % size[1] << 10 | id / size[0] / size[1] << 20;
	}
}
