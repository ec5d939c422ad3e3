/* SPDX-License-Identifier: MIT */
/* stream.h - what PM4 and SDMA packets have in common: how they are read, how they wait */
#ifndef VGPU_STREAM_H
#define VGPU_STREAM_H

#include "os.h"

/**
 * struct vgpu_stream - a window of dwords in GPU memory
 * @as: address space
 * @base: its address
 * @mask: dwords of the ring - 1; all ones for an indirect buffer
 * @pos: next dword to read
 * @end: one behind the last
 */
struct vgpu_stream {
	u32 as;
	u64 base;
	u64 mask;
	u64 pos;
	u64 end;
};

bool vgpu_stream_read(struct vgpu_model *m, const struct vgpu_stream *s, u64 offset, u32 *buf, u32 dwords);

bool vgpu_atomic(struct vgpu_model *m, u32 as, u32 op, u64 va, u64 operand, u64 compare, bool *matched);

/*
 * Wait packets: does @value hold against @reference under the function that both packet formats
 * encode alike?
 */
static inline bool vgpu_compare(u32 function, u32 value, u32 reference)
{
	switch (function) {
	case 0:
		return true;
	case 1:
		return value < reference;
	case 2:
		return value <= reference;
	case 3:
		return value == reference;
	case 4:
		return value != reference;
	case 5:
		return value >= reference;
	default:
		return value > reference;
	}
}

#endif /* VGPU_STREAM_H */
