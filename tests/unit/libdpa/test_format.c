/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_format.c - the formats of device logs are printf's. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "libdpa/dev/format.h"

__attribute__((format(printf, 3, 4))) static size_t mine(char *buf, size_t size, const char *fmt,
							 ...)
{
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	n = dpa_dev_format(buf, size, fmt, ap);
	va_end(ap);
	return n;
}

#define SAME(...)                                                                                  \
	do {                                                                                       \
		char a[200], b[200];                                                               \
		size_t n = mine(a, sizeof(a), __VA_ARGS__);                                        \
		snprintf(b, sizeof(b), __VA_ARGS__);                                               \
		cr_expect_str_eq(a, b);                                                            \
		cr_expect_eq(n, strlen(b));                                                        \
	} while (0)

Test(format, integers)
{
	SAME("%d %i %u", -5, 0, 4000000000u);
	SAME("%ld %lu %lld %llu %zu", -5l, 5ul, (long long)INT64_MIN, ~0ull, (size_t)7);
	SAME("%x %X %#x %o %#o", 0xbeefu, 0xbeefu, 0xbeefu, 8u, 8u);
	SAME("%hhd %hd %hhu", (signed char)-1, (short)-2, (unsigned char)255);
	SAME("[%5d][%-5d][%05d][%+d][% d][%.3d]", 42, 42, 42, 42, 42, 4);
	SAME("[%*d][%-*d][%.*u]", 6, 1, 6, 2, 4, 3u);
	SAME("[%#010x][%-#8x]", 0x1fu, 0x1fu);
}

Test(format, text)
{
	SAME("%s|%10s|%-10s|%.2s|%c|%%", "abc", "abc", "abc", "abc", 'z');
	SAME("plain\n");
	SAME("%p", (void *)0x1234);
}

Test(format, fixed_point)
{
	SAME("%f %.2f %.0f %8.3f", 1.5, -2.255, 3.0, 3.14159);
	SAME("%.1f", 9.97);
}

Test(format, is_cut_at_the_end_of_the_buffer)
{
	char buf[8];
	size_t n = mine(buf, sizeof(buf), "%s\n", "a long message");

	cr_assert_eq(n, 7u);
	cr_assert_str_eq(buf, "a long\n");
}
