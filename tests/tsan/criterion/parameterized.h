/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* parameterized.h - replaces Criterion's: a test for each element of an array. */
#ifndef DPA_TSAN_CRITERION_PARAMETERIZED_H
#define DPA_TSAN_CRITERION_PARAMETERIZED_H

#include "criterion.h"

#define cr_make_param_array(type_, array_, n_)                                                     \
	((struct dpa_test_params){.size = sizeof(type_), .length = (n_), .params = (array_)})

#define ParameterizedTestParameters(suite_, name_)                                                 \
	static struct dpa_test_params DPA_TEST_ID_(suite_, name_, params)(void)

#define ParameterizedTest(param_, suite_, name_, ...)                                              \
	static void DPA_TEST_ID_(suite_, name_, body)(param_);                                     \
	static void DPA_TEST_ID_(suite_, name_, each)(void *p)                                     \
	{                                                                                          \
		DPA_TEST_ID_(suite_, name_, body)(p);                                              \
	}                                                                                          \
	static struct dpa_test DPA_TEST_ID_(suite_, name_, test) = {                               \
		.suite = #suite_,                                                                  \
		.name = #name_,                                                                    \
		.each = DPA_TEST_ID_(suite_, name_, each),                                         \
		.params = DPA_TEST_ID_(suite_, name_, params),                                     \
		__VA_ARGS__};                                                                      \
	__attribute__((constructor)) static void DPA_TEST_ID_(suite_, name_, reg)(void)            \
	{                                                                                          \
		dpa_test_add(&DPA_TEST_ID_(suite_, name_, test));                                  \
	}                                                                                          \
	static void DPA_TEST_ID_(suite_, name_, body)(param_)

#endif
