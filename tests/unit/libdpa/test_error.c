/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <criterion/criterion.h>
#include <doca_error.h>

Test(error, names_and_phrases)
{
	cr_assert_str_eq(doca_error_get_name(DOCA_SUCCESS), "DOCA_SUCCESS");
	cr_assert_str_eq(doca_error_get_name(DOCA_ERROR_BAD_STATE), "DOCA_ERROR_BAD_STATE");
	cr_assert_str_eq(doca_error_get_name(DOCA_ERROR_SKIPPED), "DOCA_ERROR_SKIPPED");
	cr_assert_str_eq(doca_error_get_descr(DOCA_ERROR_DRIVER), "DOCA Driver call failure");
	cr_assert_str_eq(doca_error_get_descr(DOCA_ERROR_INVALID_VALUE), "Invalid input");
}

Test(error, every_code_has_both)
{
	for (int i = DOCA_SUCCESS; i <= DOCA_ERROR_SKIPPED; i++) {
		cr_expect(doca_error_get_name((doca_error_t)i));
		cr_expect(doca_error_get_descr((doca_error_t)i));
	}
}

Test(error, unknown_codes)
{
	cr_assert_str_eq(doca_error_get_name((doca_error_t)31), "unrecognized error code");
	cr_assert_str_eq(doca_error_get_descr((doca_error_t)-1), "unrecognized error code");
}

Test(error, propagate_keeps_the_first)
{
	doca_error_t r = DOCA_SUCCESS;

	DOCA_ERROR_PROPAGATE(r, DOCA_ERROR_FULL);
	DOCA_ERROR_PROPAGATE(r, DOCA_ERROR_EMPTY);
	cr_assert_eq(r, DOCA_ERROR_FULL);
	cr_assert(DOCA_IS_ERROR(r));
}
