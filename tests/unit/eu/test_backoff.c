/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_backoff.c - exponential back-off alone. */
#include <criterion/criterion.h>
#include "util/backoff.h"

Test(backoff, doubles_from_the_minimum_to_the_maximum)
{
	struct dpa_backoff b = {0};

	cr_expect_eq(dpa_backoff_next(&b, 16), 16u);
	cr_expect_eq(dpa_backoff_step(&b, 16, 100), 16u);
	cr_expect_eq(dpa_backoff_next(&b, 16), 32u);
	cr_expect_eq(dpa_backoff_step(&b, 16, 100), 32u);
	cr_expect_eq(dpa_backoff_step(&b, 16, 100), 64u);
	cr_expect_eq(dpa_backoff_step(&b, 16, 100), 100u, "the maximum is not 16 times 2^n");
	cr_expect_eq(dpa_backoff_step(&b, 16, 100), 100u);
}

Test(backoff, begins_again_after_a_reset)
{
	struct dpa_backoff b = {0};

	for (int i = 0; i < 5; i++)
		dpa_backoff_step(&b, 3, 1000);
	cr_expect_eq(dpa_backoff_next(&b, 3), 96u);
	dpa_backoff_reset(&b);
	cr_expect_eq(dpa_backoff_step(&b, 3, 1000), 3u);
}

Test(backoff, takes_new_limits_and_does_not_overflow)
{
	struct dpa_backoff b = {0};

	cr_expect_eq(dpa_backoff_step(&b, 20, 20), 20u, "min == max");
	cr_expect_eq(dpa_backoff_step(&b, 20, 20), 20u);
	for (int i = 0; i < 40; i++)
		dpa_backoff_step(&b, 20, UINT32_MAX);
	cr_expect_eq(dpa_backoff_step(&b, 20, UINT32_MAX), UINT32_MAX);
	cr_expect_eq(dpa_backoff_step(&b, 20, 200), 200u, "a lower maximum holds at once");
	cr_expect_eq(dpa_backoff_step(&b, 500, 700), 500u, "a higher minimum holds at once");
}
