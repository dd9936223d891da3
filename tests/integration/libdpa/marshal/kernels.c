/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* kernels.c - entries that return their arguments. */
#include <doca_dpa_dev.h>
#include "shapes.h"

/* Alone, between other arguments, and where the registers have run out. */
#define CHECKS(type, name, ...)                                                                    \
	__dpa_rpc__ uint64_t rpc_##name(type s)                                                    \
	{                                                                                          \
		return sum_##name(s);                                                              \
	}                                                                                          \
	__dpa_rpc__ uint64_t mid_##name(uint8_t before, type s, double d, type t, uint64_t after)  \
	{                                                                                          \
		const uint64_t v[] = {before, sum_##name(s), V(d * 8), sum_##name(t), after};      \
		return mix(v, 5);                                                                  \
	}                                                                                          \
	__dpa_rpc__ uint64_t end_##name(uint64_t a, uint64_t b, uint64_t c, uint64_t d,            \
					uint64_t e, type s, float f, type t, int16_t g)            \
	{                                                                                          \
		const uint64_t v[] = {                                                             \
			a, b, c, d, e, sum_##name(s), V(f * 8), sum_##name(t), V(g)};              \
		return mix(v, 9);                                                                  \
	}
SHAPES(CHECKS)

__dpa_rpc__ uint64_t all_none(void)
{
	return 4711;
}

__dpa_rpc__ uint64_t all_signs(int8_t a, int16_t b, int32_t c, int64_t d, signed char e)
{
	const uint64_t v[] = {V(a), V(b), V(c), V(d), V(e)};

	return mix(v, 5);
}

__dpa_rpc__ uint64_t all_unsigned(uint8_t a, uint16_t b, uint32_t c, uint64_t d, bool e, char f)
{
	const uint64_t v[] = {a, b, c, d, e, V(f)};

	return mix(v, 6);
}

__dpa_rpc__ uint64_t all_enums(enum color a, enum sign b, enum tiny c)
{
	const uint64_t v[] = {V(a), V(b), V(c)};

	return mix(v, 3);
}

__dpa_rpc__ uint64_t all_floats(float a, double b, float c, double d, float e, double f, float g,
				double h, float i, double j)
{
	const uint64_t v[] = {V(a * 8), V(b * 8), V(c * 8), V(d * 8), V(e * 8),
			      V(f * 8), V(g * 8), V(h * 8), V(i * 8), V(j * 8)};

	return mix(v, 10);
}

__dpa_rpc__ uint64_t all_text(const char *text, char text2[16], uint64_t (*fn)(uint64_t))
{
	return V(text[0]) + V(text2[1]) + V((uintptr_t)fn & 1);
}

/* The parameters of a kernel for an all-to-all exchange: handles, sizes and counts. */
__dpa_global__ void kernel_thirteen(uint64_t out, uint64_t b, uint32_t c, uint64_t d, uint32_t e,
				    uint64_t f, uint32_t g, uint64_t h, uint32_t i, uint64_t j,
				    uint32_t k, uint64_t l, unsigned int m)
{
	const uint64_t v[13] = {out, b, c, d, e, f, g, h, i, j, k, l, m};
	struct thirteen *t = (struct thirteen *)(uintptr_t)out;

	for (int n = 0; n < 13; n++)
		t->a[n] = v[n];
	t->calls++;
}

__dpa_global__ void kernel_none(void)
{
}

__dpa_global__ void kernel_pointer(struct thirteen *t)
{
	t->calls++;
}

__dpa_global__ void kernel_float(double d)
{
	(void)d;
}

__dpa_global__ void kernel_two(uint64_t a, uint64_t b)
{
	(void)a;
	(void)b;
}
