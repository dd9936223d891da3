/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* base.h - common part of the test of marshalling, besides the shapes. */
#ifndef BASE_H
#define BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum color { RED, GREEN = 7, BLUE = 100000 };
enum sign { MINUS = -5, PLUS = 5 };
enum __attribute__((packed)) tiny { TINY = 3 };

/* A value as a number; the bytes of one that is none. */
#define V(x) ((uint64_t)(x))
#define B(x) bytes(&(x), sizeof(x))

static inline uint64_t bytes(const void *p, size_t n)
{
	uint64_t v = 0;

	memcpy(&v, p, n);
	return v;
}

static inline uint64_t mix(const uint64_t *v, unsigned n)
{
	uint64_t h = 1469598103934665603u;

	for (unsigned i = 0; i < n; i++)
		h = (h ^ v[i]) * 1099511628211u;
	return h;
}

#define SUM(type, name, ...)                                                                       \
	static inline uint64_t sum_##name(type s)                                                  \
	{                                                                                          \
		const uint64_t v[] = {__VA_ARGS__};                                                \
		return mix(v, sizeof(v) / sizeof(v[0]));                                           \
	}
/* The result of the kernel with 13 arguments. */
struct thirteen {
	uint64_t a[13];
	unsigned calls;
};

#endif
