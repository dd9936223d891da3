/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * criterion.h - replaces Criterion in ThreadSanitizer builds.
 *
 * Criterion runs a test in a process that boxfort makes, with its arena at fixed addresses that
 * are ThreadSanitizer's shadow memory: it cannot start there. This runner has the part of
 * Criterion's interface that our unit tests use and forks once a test. The closing line is
 * Criterion's own, so that the same script counts both.
 */
#ifndef DPA_TSAN_CRITERION_H
#define DPA_TSAN_CRITERION_H

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of a parameterized test: an array of `length` elements of `size` bytes. */
struct dpa_test_params {
	size_t size, length;
	void *params;
};

struct dpa_test {
	const char *suite, *name;
	void (*fn)(void);
	void (*each)(void *param); /* instead of fn: once for each element */
	struct dpa_test_params (*params)(void);
	void (*init)(void);
	void (*fini)(void);
	int signal;
	int exit_code;
	double timeout;
	bool disabled;
	const char *description;
	struct dpa_test *next;
	struct dpa_test *base; /* of the suite: its defaults */
};

void dpa_test_add(struct dpa_test *test);
void dpa_suite_add(struct dpa_test *suite);
void dpa_test_failed(const char *file, int line, const char *expr, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
_Noreturn void dpa_test_abort(void);
_Noreturn void dpa_test_skip(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#define DPA_TEST_ID_(suite_, name_, what_) suite_##_##name_##_##what_
#define Test(suite_, name_, ...)                                                                   \
	static void DPA_TEST_ID_(suite_, name_, fn)(void);                                         \
	static struct dpa_test DPA_TEST_ID_(suite_, name_,                                         \
					    test) = {.suite = #suite_,                             \
						     .name = #name_,                               \
						     .fn = DPA_TEST_ID_(suite_, name_, fn),        \
						     __VA_ARGS__};                                 \
	__attribute__((constructor)) static void DPA_TEST_ID_(suite_, name_, reg)(void)            \
	{                                                                                          \
		dpa_test_add(&DPA_TEST_ID_(suite_, name_, test));                                  \
	}                                                                                          \
	static void DPA_TEST_ID_(suite_, name_, fn)(void)

#define TestSuite(suite_, ...)                                                                     \
	static struct dpa_test suite_##_suite_ = {.suite = #suite_, __VA_ARGS__};                  \
	__attribute__((constructor)) static void suite_##_suite_reg_(void)                         \
	{                                                                                          \
		dpa_suite_add(&suite_##_suite_);                                                   \
	}                                                                                          \
	_Static_assert(1, "")

#define DPA_CHECK_(then_, cond_, expr_, ...)                                                       \
	do {                                                                                       \
		if (!(cond_)) {                                                                    \
			dpa_test_failed(__FILE__, __LINE__, expr_, " " __VA_ARGS__);               \
			then_;                                                                     \
		}                                                                                  \
	} while (0)
#define DPA_ABORT_ dpa_test_abort()
#define DPA_GO_ON_ (void)0

#define cr_assert(c_, ...)	   DPA_CHECK_(DPA_ABORT_, (c_), #c_, __VA_ARGS__)
#define cr_expect(c_, ...)	   DPA_CHECK_(DPA_GO_ON_, (c_), #c_, __VA_ARGS__)
#define cr_assert_not(c_, ...)	   DPA_CHECK_(DPA_ABORT_, !(c_), "!(" #c_ ")", __VA_ARGS__)
#define cr_expect_not(c_, ...)	   DPA_CHECK_(DPA_GO_ON_, !(c_), "!(" #c_ ")", __VA_ARGS__)
#define cr_assert_eq(a_, b_, ...)  DPA_CHECK_(DPA_ABORT_, (a_) == (b_), #a_ " == " #b_, __VA_ARGS__)
#define cr_expect_eq(a_, b_, ...)  DPA_CHECK_(DPA_GO_ON_, (a_) == (b_), #a_ " == " #b_, __VA_ARGS__)
#define cr_assert_neq(a_, b_, ...) DPA_CHECK_(DPA_ABORT_, (a_) != (b_), #a_ " != " #b_, __VA_ARGS__)
#define cr_expect_neq(a_, b_, ...) DPA_CHECK_(DPA_GO_ON_, (a_) != (b_), #a_ " != " #b_, __VA_ARGS__)
#define cr_assert_lt(a_, b_, ...)  DPA_CHECK_(DPA_ABORT_, (a_) < (b_), #a_ " < " #b_, __VA_ARGS__)
#define cr_expect_lt(a_, b_, ...)  DPA_CHECK_(DPA_GO_ON_, (a_) < (b_), #a_ " < " #b_, __VA_ARGS__)
#define cr_assert_leq(a_, b_, ...) DPA_CHECK_(DPA_ABORT_, (a_) <= (b_), #a_ " <= " #b_, __VA_ARGS__)
#define cr_expect_leq(a_, b_, ...) DPA_CHECK_(DPA_GO_ON_, (a_) <= (b_), #a_ " <= " #b_, __VA_ARGS__)
#define cr_assert_gt(a_, b_, ...)  DPA_CHECK_(DPA_ABORT_, (a_) > (b_), #a_ " > " #b_, __VA_ARGS__)
#define cr_expect_gt(a_, b_, ...)  DPA_CHECK_(DPA_GO_ON_, (a_) > (b_), #a_ " > " #b_, __VA_ARGS__)
#define cr_assert_geq(a_, b_, ...) DPA_CHECK_(DPA_ABORT_, (a_) >= (b_), #a_ " >= " #b_, __VA_ARGS__)
#define cr_expect_geq(a_, b_, ...) DPA_CHECK_(DPA_GO_ON_, (a_) >= (b_), #a_ " >= " #b_, __VA_ARGS__)
#define cr_assert_null(p_, ...)	   DPA_CHECK_(DPA_ABORT_, (p_) == NULL, #p_ " is null", __VA_ARGS__)
#define cr_expect_null(p_, ...)	   DPA_CHECK_(DPA_GO_ON_, (p_) == NULL, #p_ " is null", __VA_ARGS__)
#define cr_assert_not_null(p_, ...)                                                                \
	DPA_CHECK_(DPA_ABORT_, (p_) != NULL, #p_ " not null", __VA_ARGS__)
#define cr_expect_not_null(p_, ...)                                                                \
	DPA_CHECK_(DPA_GO_ON_, (p_) != NULL, #p_ " not null", __VA_ARGS__)
#define cr_assert_str_eq(a_, b_, ...)                                                              \
	DPA_CHECK_(DPA_ABORT_, strcmp((a_), (b_)) == 0, #a_ " equals " #b_, __VA_ARGS__)
#define cr_expect_str_eq(a_, b_, ...)                                                              \
	DPA_CHECK_(DPA_GO_ON_, strcmp((a_), (b_)) == 0, #a_ " equals " #b_, __VA_ARGS__)
#define cr_assert_str_neq(a_, b_, ...)                                                             \
	DPA_CHECK_(DPA_ABORT_, strcmp((a_), (b_)) != 0, #a_ " differs " #b_, __VA_ARGS__)
#define cr_expect_str_neq(a_, b_, ...)                                                             \
	DPA_CHECK_(DPA_GO_ON_, strcmp((a_), (b_)) != 0, #a_ " differs " #b_, __VA_ARGS__)
#define cr_assert_arr_eq(a_, b_, n_, ...)                                                          \
	DPA_CHECK_(DPA_ABORT_, memcmp((a_), (b_), (n_)) == 0, #a_ " equals " #b_, __VA_ARGS__)
#define cr_expect_arr_eq(a_, b_, n_, ...)                                                          \
	DPA_CHECK_(DPA_GO_ON_, memcmp((a_), (b_), (n_)) == 0, #a_ " equals " #b_, __VA_ARGS__)
#define cr_assert_arr_neq(a_, b_, n_, ...)                                                         \
	DPA_CHECK_(DPA_ABORT_, memcmp((a_), (b_), (n_)) != 0, #a_ " differs " #b_, __VA_ARGS__)
#define cr_assert_float_eq(a_, b_, e_, ...)                                                        \
	DPA_CHECK_(DPA_ABORT_, fabs((double)(a_) - (double)(b_)) <= (e_), #a_ " near " #b_,        \
		   __VA_ARGS__)
#define cr_expect_float_eq(a_, b_, e_, ...)                                                        \
	DPA_CHECK_(DPA_GO_ON_, fabs((double)(a_) - (double)(b_)) <= (e_), #a_ " near " #b_,        \
		   __VA_ARGS__)
#define cr_assert_fail(...) DPA_CHECK_(DPA_ABORT_, false, "failure", __VA_ARGS__)
#define cr_expect_fail(...) DPA_CHECK_(DPA_GO_ON_, false, "failure", __VA_ARGS__)
#define cr_fatal(...)	    DPA_CHECK_(DPA_ABORT_, false, "failure", __VA_ARGS__)
#define cr_fail(...)	    DPA_CHECK_(DPA_GO_ON_, false, "failure", __VA_ARGS__)
#define cr_skip_test(...)   dpa_test_skip(" " __VA_ARGS__)
#define cr_skip(...)	    dpa_test_skip(" " __VA_ARGS__)
#define cr_log_info(...)    ((void)0)
#define cr_log_warn(...)    (fprintf(stderr, __VA_ARGS__), fputc('\n', stderr))
#define cr_log_error(...)   (fprintf(stderr, __VA_ARGS__), fputc('\n', stderr))

#endif
