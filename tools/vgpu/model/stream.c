// SPDX-License-Identifier: MIT
/*
 * stream.c - reading packets, and the atomic operations that packets ask for
 */
#include "model.h"

/**
 * vgpu_stream_read() - copy dwords out of a stream
 * @m: the device
 * @s: the stream; its position does not change
 * @offset: from the position, in dwords
 * @buf: where to
 * @dwords: how many
 *
 * Return: false after a GPUVM fault.
 */
bool vgpu_stream_read(struct vgpu_model *m, const struct vgpu_stream *s, u64 offset, u32 *buf, u32 dwords)
{
	u64 pos = s->pos + offset;

	while (dwords) {
		u64 at = pos & s->mask;
		u64 n = s->mask - at < dwords ? s->mask - at + 1 : dwords;

		if (n > dwords)
			n = dwords;
		if (!vgpu_vm_read(m, s->as, s->base + at * 4, buf, n * 4))
			return false;
		pos += n;
		buf += n;
		dwords -= (u32)n;
	}
	return true;
}

/* Opcodes of the atomic units; those of 64 bits are 0x20 above, those that return nothing 0x40 */
enum {
	ATOMIC_SWAP	= 0x07,
	ATOMIC_CMPSWAP	= 0x08,
	ATOMIC_ADD	= 0x0f,
	ATOMIC_SUB	= 0x10,
	ATOMIC_AND	= 0x15,
	ATOMIC_OR	= 0x16,
	ATOMIC_XOR	= 0x17,
};

static bool stream_atomic_result(u32 op, u64 old, u64 operand, u64 compare, u64 *result)
{
	switch (op & 0x1f) {
	case ATOMIC_SWAP:
		*result = operand;
		return true;
	case ATOMIC_CMPSWAP:
		*result = old == compare ? operand : old;
		return true;
	case ATOMIC_ADD:
		*result = old + operand;
		return true;
	case ATOMIC_SUB:
		*result = old - operand;
		return true;
	case ATOMIC_AND:
		*result = old & operand;
		return true;
	case ATOMIC_OR:
		*result = old | operand;
		return true;
	case ATOMIC_XOR:
		*result = old ^ operand;
		return true;
	default:
		return false;
	}
}

/**
 * vgpu_atomic() - the atomic operation of a packet
 * @m: the device
 * @as: address space
 * @op: opcode of the atomic units
 * @va: where
 * @operand: second operand
 * @compare: what a compare-and-swap expects
 * @matched: out: it found that
 *
 * Return: false if the operation is unknown, and after a GPUVM fault.
 */
bool vgpu_atomic(struct vgpu_model *m, u32 as, u32 op, u64 va, u64 operand, u64 compare, bool *matched)
{
	u32 bytes = op & 0x20 ? 8 : 4;
	u64 old, new;
	void *ptr;

	if (!stream_atomic_result(op, 0, 0, 0, &new))
		return false;
	ptr = vgpu_vm_ptr(m, as, va & ~(u64)(bytes - 1), bytes, true);
	if (!ptr)
		return false;
	if (bytes == 4)
		compare = (u32)compare;
	do {
		old = bytes == 8 ? READ_ONCE(*(u64 *)ptr) : READ_ONCE(*(u32 *)ptr);
		*matched = old == compare;
		stream_atomic_result(op, old, operand, compare, &new);
	} while (bytes == 8 ? cmpxchg((u64 *)ptr, old, new) != old : cmpxchg((u32 *)ptr, (u32)old, (u32)new) != (u32)old);
	return true;
}
