/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * hist.h - log-linear histogram of 64-bit values, in HdrHistogram's scheme.
 *
 * Values below 2^8 have a bucket each; above, every power of two is cut into 128 equal parts, so
 * every value is exact to 1/128. Fixed memory, no allocation, O(1) to record. Not thread-safe.
 */
#ifndef DPA_BENCH_HIST_H
#define DPA_BENCH_HIST_H

#include <stdint.h>

enum {
	HIST_SUB_BITS = 8,
	HIST_HALF = 1 << (HIST_SUB_BITS - 1),
	HIST_BUCKETS = (64 - HIST_SUB_BITS) * HIST_HALF + (1 << HIST_SUB_BITS),
};

struct hist {
	uint64_t total, min, max;
	uint64_t count[HIST_BUCKETS];
};

void hist_init(struct hist *h);
void hist_add(struct hist *h, uint64_t value);
/*
 * Return the value at or below which this share (0..100) of the values lie; 0 for an empty
 * histogram.
 */
uint64_t hist_percentile(const struct hist *h, double percent);

#endif
