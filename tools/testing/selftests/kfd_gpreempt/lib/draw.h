/* SPDX-License-Identifier: MIT */
/*
 * draw.h - lots that a seed decides: the same ones in each run
 *
 * Each process has its own state. Nothing is drawn before draw_seed().
 */
#ifndef DRAW_H
#define DRAW_H

#include <stdbool.h>
#include <stdint.h>

static uint64_t draw_state;

/* 0 would stay 0. */
static inline void draw_seed(uint64_t seed)
{
	draw_state = seed ? seed : 1;
}

/* xorshift64*: repeatable, and good enough to draw lots. */
static inline uint64_t any(void)
{
	draw_state ^= draw_state >> 12;
	draw_state ^= draw_state << 25;
	draw_state ^= draw_state >> 27;
	return draw_state * 0x2545f4914f6cdd1dull;
}

static inline bool one_in(unsigned int n)
{
	return any() % n == 0;
}

#endif /* DRAW_H */
