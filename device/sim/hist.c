/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* hist.c - a histogram with steps of 1/32 of the value. */
#include "sim_priv.h"

static uint32_t step_of(uint64_t v)
{
	uint32_t top;

	if (v < 1u << HIST_SUB)
		return (uint32_t)v;
	top = 63u - (uint32_t)__builtin_clzll(v);
	return ((top - HIST_SUB + 1) << HIST_SUB) | (uint32_t)(v >> (top - HIST_SUB) & 31);
}

/* Returns the largest value of a step. */
static uint64_t largest_value_of(uint32_t step)
{
	uint32_t up = step >> HIST_SUB;

	if (!up)
		return step;
	return (((uint64_t)32 + (step & 31) + 1) << (up - 1)) - 1;
}

void sim_hist_add(struct sim_hist *h, uint64_t v)
{
	h->num++;
	h->max = v > h->max ? v : h->max;
	h->count[step_of(v)]++;
}

uint64_t sim_hist_at(const struct sim_hist *h, uint32_t ppm)
{
	uint64_t want = (h->num * ppm + 999999) / 1000000, seen = 0;

	for (uint32_t i = 0; i < HIST_SIZE && h->num; i++) {
		seen += h->count[i];
		if (seen >= want && seen)
			return largest_value_of(i) < h->max ? largest_value_of(i) : h->max;
	}
	return 0;
}
