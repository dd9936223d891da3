/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <criterion/criterion.h>

#include <hist.h>
#include <stdlib.h>

static struct hist h;

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

Test(hist, empty)
{
	hist_init(&h);
	cr_assert_eq(hist_percentile(&h, 50), 0);
}

/* Every value below 256 is exact. */
Test(hist, small_values_are_exact)
{
	for (uint64_t v = 0; v < 256; v++) {
		hist_init(&h);
		hist_add(&h, v);
		hist_add(&h, 1000000);
		cr_assert_eq(hist_percentile(&h, 50), v);
	}
}

/* Any value, up to the largest, is returned with an error of at most 1/128. */
Test(hist, precision)
{
	for (unsigned int bit = 0; bit < 64; bit++)
		for (int d = -1; d <= 1; d++) {
			uint64_t v = (1ull << bit) + (uint64_t)(int64_t)d, got;

			hist_init(&h);
			hist_add(&h, v);
			hist_add(&h, UINT64_MAX);
			got = hist_percentile(&h, 50);
			cr_assert(got >= v && got - v <= v / 128, "%llu came back as %llu",
				  (unsigned long long)v, (unsigned long long)got);
		}
}

/* Percentiles of random values against those of the sorted values. */
Test(hist, against_sorting)
{
	enum { N = 20000 };
	static uint64_t v[N];
	static const double at[] = {0, 1, 10, 50, 90, 99, 99.9, 100};

	hist_init(&h);
	srandom(7);
	for (int i = 0; i < N; i++) {
		v[i] = (uint64_t)random() >> (random() % 31);
		hist_add(&h, v[i]);
	}
	qsort(v, N, sizeof(v[0]), by_value);
	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		int rank = (int)(at[i] / 100 * N + 0.999999);
		uint64_t want = v[rank > 0 ? rank - 1 : 0], got = hist_percentile(&h, at[i]);

		cr_assert(got >= want && got - want <= want / 128, "%g%%: %llu, not %llu", at[i],
			  (unsigned long long)got, (unsigned long long)want);
	}
	cr_assert_eq(h.min, v[0]);
	cr_assert_eq(h.max, v[N - 1]);
}
