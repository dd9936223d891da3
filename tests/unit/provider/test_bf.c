/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_bf.c - blueFlame writes, by each method of this processor: the provider chooses one of them
 * when it is loaded, and its code is part of this file, so that the others run, too.
 */
#include <criterion/criterion.h>
#include "providers/dpa/post/bf.c"

/* Every length: the data and the check arrive completely, and nothing behind them is written. */
static void writes(bf_fn *fn)
{
	static const uint8_t none[sizeof(struct dpa_uar_slot)];
	_Alignas(64) uint8_t wqe[DPA_BF_BLOCKS * 64];

	for (uint32_t nbb = 1; nbb <= DPA_BF_BLOCKS; nbb++) {
		_Alignas(64) struct dpa_uar_slot at;

		memset(&at, 0, sizeof(at));
		for (size_t i = 0; i < sizeof(wqe); i++)
			wqe[i] = (uint8_t)(i * 7 + nbb);
		fn(at.bf, wqe, nbb);
		((struct dpa_wqe_ctrl *)wqe)->check = dpa_wqe_check(wqe, nbb);
		cr_assert_arr_eq(at.bf, wqe, nbb * 64, "%u blocks", nbb);
		cr_assert_arr_eq(at.bf + nbb * 64, none, sizeof(at) - nbb * 64, "%u blocks", nbb);
	}
}

Test(bf, by_plain_stores)
{
	writes(bf_copy);
}

Test(bf, by_avx512)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512f")) {
		writes(bf_avx512);
		return;
	}
#endif
	cr_skip_test("this processor, or this build, has no AVX-512");
}

Test(bf, by_movdir64b)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
	if (has_movdir64b()) {
		writes(bf_movdir64b);
		return;
	}
#endif
	cr_skip_test("this processor, or this build, has no movdir64b");
}

/* The function that the provider itself chooses. */
Test(bf, by_the_one_that_is_chosen)
{
	cr_assert(bf_write_fn == bf_choose());
	writes(bf_write_fn);
}
