/* SPDX-License-Identifier: MIT */
/*
 * stream.h - dwords of a ring or of an indirect buffer, as PM4 and SDMA packets are read from them
 */
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

#endif /* VGPU_STREAM_H */
