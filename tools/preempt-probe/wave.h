/* SPDX-License-Identifier: MIT */
/*
 * wave.h - the kernel that the probe launches, as machine code
 *
 * Each wave looks at the device's clock (100 MHz) all the time. Two looks that are further apart than a threshold are a gap:
 * the wave was off the device in between. It notes both times, and ends when its time is over.
 */
#ifndef WAVE_H
#define WAVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WAVE_LANES	64u
#define WAVE_MIN_VGPRS	8u
#define WAVE_MAX_VGPRS	512u
#define WAVE_VGPR_UNIT	8u
/* The descriptor, and the code behind it */
#define WAVE_CODE_BYTES	4096u

/**
 * struct wave_arguments - what a launch is told
 * @notes: address of the notes of the first wave
 * @ticks: a wave ends so many ticks of the clock after it began
 * @threshold: a gap is longer than so many ticks
 * @notes_bytes: distance between the notes of two waves
 * @gaps: a wave notes so many gaps at most
 * @reserved: 0
 */
struct wave_arguments {
	uint64_t notes;
	uint64_t ticks;
	uint32_t threshold;
	uint32_t notes_bytes;
	uint32_t gaps;
	uint32_t reserved;
};

/**
 * struct wave_gap - a wave was off the device
 * @before: last look before, in ticks
 * @after: first look afterwards
 */
struct wave_gap {
	uint64_t before;
	uint64_t after;
};

/**
 * struct wave_notes - what a wave leaves
 * @began: first look at the clock; written at the end, as what follows up to @gap
 * @ended: last look; 0: the wave did not come to its end
 * @longest_short: longest time between two looks that was no gap, in ticks
 * @left: how many more gaps it could have noted
 * @reserved: unused
 * @gap: in the order of time
 */
struct wave_notes {
	uint64_t began;
	uint64_t ended;
	uint32_t longest_short;
	uint32_t left;
	uint64_t reserved;
	struct wave_gap gap[];
};

/* Writes descriptor and code to @memory, WAVE_CODE_BYTES at a multiple of 256. @vgprs: that a wave takes, a multiple of 8 */
void wave_write(void *memory, unsigned int vgprs);
bool wave_runs_on(unsigned int gfx_target_version);
/* The code, for the test */
extern const uint32_t wave_code[];
extern const size_t wave_code_bytes;

#endif /* WAVE_H */
