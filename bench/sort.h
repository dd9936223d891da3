/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* sort.h - exact medians: sorted samples. */
#ifndef DPA_BENCH_SORT_H
#define DPA_BENCH_SORT_H

#include <stdint.h>
#include <stdlib.h>

static inline int bench_compare_ns(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Sort the samples; return the median, of an even number the higher of the two. */
static inline uint64_t bench_median_ns(uint64_t *v, size_t n)
{
	qsort(v, n, sizeof(*v), bench_compare_ns);
	return v[n / 2];
}

static inline int bench_compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static inline double bench_median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), bench_compare);
	return v[n / 2];
}

#endif
