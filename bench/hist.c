/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "hist.h"

#include <string.h>

void hist_init(struct hist *h)
{
	memset(h, 0, sizeof(*h));
	h->min = UINT64_MAX;
}

/* Return the shift of a value that leaves HIST_SUB_BITS bits of it. */
static unsigned int shift_of(uint64_t value)
{
	return value >> HIST_SUB_BITS ? 64 - (unsigned int)__builtin_clzll(value) - HIST_SUB_BITS
				      : 0;
}

static unsigned int index_of(uint64_t value)
{
	unsigned int s = shift_of(value);

	return s * HIST_HALF + (unsigned int)(value >> s);
}

/* Return the largest value of a bucket. */
static uint64_t top_of(unsigned int index)
{
	unsigned int s = index < 2 * HIST_HALF ? 0 : index / HIST_HALF - 1;
	uint64_t part = index - (uint64_t)s * HIST_HALF;

	return (part << s) + ((1ull << s) - 1);
}

void hist_add(struct hist *h, uint64_t value)
{
	h->count[index_of(value)]++;
	h->total++;
	if (value < h->min)
		h->min = value;
	if (value > h->max)
		h->max = value;
}

uint64_t hist_percentile(const struct hist *h, double percent)
{
	double want = percent / 100.0 * (double)h->total;
	uint64_t seen = 0;

	if (!h->total)
		return 0;
	for (unsigned int i = 0; i < HIST_BUCKETS; i++) {
		seen += h->count[i];
		if (h->count[i] && (double)seen >= want) {
			uint64_t top = top_of(i);

			return top < h->max ? top : h->max;
		}
	}
	return h->max;
}
