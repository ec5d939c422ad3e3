/* SPDX-License-Identifier: MIT */
/*
 * reader.h - saved waves as a debugger finds them on gfx90a and gfx942
 *
 * After ROCdbgapi's reading of the control stack, and on purpose without anything of the device
 * model. From the first word of the control stack on, and from the end of the save area down.
 */
#ifndef READER_H
#define READER_H

#include <stdbool.h>
#include <stdint.h>

#define READER_ALIASED_SGPRS	6u
#define READER_NAMED_SGPRS	102u
#define READER_HWREG_PC		1u
#define READER_HWREG_EXEC	3u
#define READER_HWREG_STATUS	5u
#define READER_HWREG_TRAPSTS	6u
#define READER_HWREG_MODE	9u
#define READER_STATUS_HALT	0x2000u

/* A wave; offsets are from the beginning of the save area */
struct reader_wave {
	bool first, last;	/* of its workgroup */
	bool scratch;
	uint32_t se, scratch_id;
	uint32_t vgprs, acc_vgprs, sgprs, lds_bytes;
	uint32_t lds, ttmps, hwregs, sgprs_at, acc_at, vgprs_at;
};

/* Return: how many of them there are, -1 if that is not the control stack of @area_bytes, or there are more than @max */
static inline int reader_waves(const uint32_t *stack, uint32_t words, uint32_t area_bytes, struct reader_wave *wave, int max)
{
	uint32_t state = 0, end = area_bytes, bytes, i;
	bool leader = false;
	int n = 0;

	for (i = 2; i < words; i++) {
		struct reader_wave w = { .first = stack[i] >> 17 & 1, .last = stack[i] >> 16 & 1 };

		if (stack[i] >> 30 & 1)
			continue;
		if (stack[i] >> 31) {
			state = stack[i];
			continue;
		}
		w.scratch = stack[i] >> 15 & 1;
		w.se = stack[i] >> 9 & 7;
		w.scratch_id = stack[i] & 0x1ff;
		w.vgprs = ((state >> 24 & 0x3f) + 1) * 4;
		w.acc_vgprs = ((state & 0x3f) + 1) * 8 - w.vgprs;
		w.sgprs = ((state >> 6 & 7) + 1) * 16 - 16;
		w.lds_bytes = w.first ? (state >> 9 & 0xff) * 512 : 0;
		bytes = 64 + w.lds_bytes + 64 + 64 + w.sgprs * 4 + (w.vgprs + w.acc_vgprs) * 256;
		if (!state || bytes > end || n == max || (!leader && !w.first))
			return -1;
		w.lds = end - 64 - w.lds_bytes;
		w.ttmps = w.lds - 64;
		w.hwregs = w.ttmps - 64;
		w.sgprs_at = w.hwregs - w.sgprs * 4;
		w.acc_at = w.sgprs_at - w.acc_vgprs * 256;
		w.vgprs_at = w.acc_at - w.vgprs * 256;
		end -= bytes;
		leader = !w.last;
		wave[n++] = w;
	}
	return end ? -1 : n;
}

static inline uint32_t reader_vgpr(const struct reader_wave *w, uint32_t n, uint32_t lane)
{
	return w->vgprs_at + n * 256 + lane * 4;
}

static inline uint32_t reader_acc(const struct reader_wave *w, uint32_t n, uint32_t lane)
{
	return w->acc_at + n * 256 + lane * 4;
}

static inline uint32_t reader_sgpr(const struct reader_wave *w, uint32_t n)
{
	return w->sgprs_at + n * 4;
}

/* The last of the registers that have a number are FLAT_SCRATCH, XNACK_MASK and VCC. */
static inline uint32_t reader_flat_scratch(const struct reader_wave *w)
{
	uint32_t end = w->sgprs < READER_NAMED_SGPRS + READER_ALIASED_SGPRS ? w->sgprs : READER_NAMED_SGPRS + READER_ALIASED_SGPRS;

	return reader_sgpr(w, end - READER_ALIASED_SGPRS);
}

static inline uint32_t reader_hwreg(const struct reader_wave *w, uint32_t n)
{
	return w->hwregs + n * 4;
}

static inline uint32_t reader_ttmp(const struct reader_wave *w, uint32_t n)
{
	return w->ttmps + n * 4;
}

#endif /* READER_H */
