/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* draw.h - random numbers that depend only on a seed and the number of a packet. */
#ifndef DPA_DRAW_H
#define DPA_DRAW_H

#include <stdint.h>

#define DPA_DRAW_STEP 0x9e3779b97f4a7c15ull

/* The final step of SplitMix64: every bit of x affects every bit of the result. */
static inline uint64_t dpa_mix64(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* Returns a number for packet `index`; `what`: which of its numbers. */
static inline uint64_t dpa_draw(uint64_t seed, uint64_t index, uint32_t what)
{
	return dpa_mix64(dpa_mix64(seed + DPA_DRAW_STEP * (what + 1)) +
			 DPA_DRAW_STEP * (index + 1));
}

/* Maps a drawn number to 0 ... n - 1. */
static inline uint32_t dpa_draw_below(uint64_t x, uint32_t n)
{
	return (uint32_t)((x >> 32) * n >> 32);
}

#endif
