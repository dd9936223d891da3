/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * shapes.h - structures of every shape that calling conventions treat differently, for both halves
 * of the test. SHAPES(X) calls X(type, name, values...): the summands that are compared.
 */
#ifndef SHAPES_H
#define SHAPES_H

#include "base.h"

struct one {
	uint8_t a;
};
struct three {
	uint8_t a[3];
};
struct ints {
	int32_t a, b;
};
struct mixed {
	int32_t a;
	float b;
};
struct floats {
	float a, b;
};
struct floats3 {
	float a, b, c;
};
struct dbl {
	double a;
};
struct dbl_flt {
	double a;
	float b;
};
struct dbl_int {
	double a;
	int64_t b;
};
struct int_dbl {
	uint16_t a;
	double b;
};
struct pair {
	uint64_t a;
	uint32_t b;
};
struct big {
	int64_t a[5];
};
struct odd17 {
	uint8_t a[17];
};
struct __attribute__((packed)) tight {
	uint8_t a;
	uint32_t b;
	uint64_t c;
};
struct __attribute__((packed)) tight_floats {
	float a;
	double b;
};
struct far { /* c is 16 bytes past the end of the unnamed members before it */
	float a;
	uint64_t b : 61;
	int : 15;
	__attribute__((aligned(16))) uint8_t c;
	int16_t d;
};
struct hole {
	float a;
	__attribute__((aligned(8))) float b;
};
struct bits {
	unsigned a : 3;
	uint64_t b : 40;
	int : 5;
	int c : 20;
	bool d : 1;
};
struct bits_only {
	unsigned : 7;
	unsigned a : 9;
	unsigned : 0;
	unsigned char b : 2;
};
struct __attribute__((packed)) packed_bits {
	unsigned a : 11;
	uint8_t b;
};
struct bits_after_bits { /* its member is aligned to a byte, which only its offset shows */
	unsigned a : 32;
	uint8_t : 5;
	struct packed_bits b;
};
struct __attribute__((packed)) tight_bits {
	uint16_t a : 3;
	struct __attribute__((packed)) {
		uint16_t a : 1;
		uint8_t b;
	} in;
};
struct __attribute__((packed)) tight_table {
	uint8_t a;
	struct __attribute__((packed)) {
		uint64_t a : 30;
	} row[2];
};
union unnamed_long {
	uint16_t a : 13;
	int : 20;
};
struct unnamed_end {
	uint8_t a;
	uint32_t : 20;
};
struct wide {
	uint32_t a;
	__attribute__((aligned(32))) uint64_t b;
};
struct sixteen {
	uint64_t a;
} __attribute__((aligned(16)));
union num {
	double d;
	int64_t i;
};
union small {
	float f;
	uint8_t b[3];
};
struct nested {
	struct ints a;
	union {
		float f;
		uint32_t u;
	};
	struct {
		uint8_t x, y;
	} in;
};
struct table {
	struct {
		uint16_t a;
		float b;
	} row[2];
};
struct matrix {
	float a[2][2];
};
struct enums {
	enum color a;
	enum sign b;
	enum tiny c;
	bool d;
};
struct ptrs {
	const char *a;
	void (*b)(void);
};
typedef struct {
	int16_t a;
	char b;
} unnamed;
typedef unnamed again;
struct handles {
	uint64_t a;
	uint32_t b;
	uint64_t c;
	uint32_t d;
	uint64_t e[4];
};

#define SHAPES(X)                                                                                  \
	X(struct one, one, V(s.a))                                                                 \
	X(struct three, three, V(s.a[0]), V(s.a[1]), V(s.a[2]))                                    \
	X(struct ints, ints, V(s.a), V(s.b))                                                       \
	X(struct mixed, mixed, V(s.a), B(s.b))                                                     \
	X(struct floats, floats, B(s.a), B(s.b))                                                   \
	X(struct floats3, floats3, B(s.a), B(s.b), B(s.c))                                         \
	X(struct dbl, dbl, B(s.a))                                                                 \
	X(struct dbl_flt, dbl_flt, B(s.a), B(s.b))                                                 \
	X(struct dbl_int, dbl_int, B(s.a), V(s.b))                                                 \
	X(struct int_dbl, int_dbl, V(s.a), B(s.b))                                                 \
	X(struct pair, pair, V(s.a), V(s.b))                                                       \
	X(struct big, big, V(s.a[0]), V(s.a[1]), V(s.a[2]), V(s.a[3]), V(s.a[4]))                  \
	X(struct odd17, odd17, V(s.a[0]), V(s.a[7]), V(s.a[8]), V(s.a[16]))                        \
	X(struct tight, tight, V(s.a), V(s.b), V(s.c))                                             \
	X(struct tight_floats, tight_floats, B(s.a), B(s.b))                                       \
	X(struct far, far, B(s.a), V(s.b), V(s.c), V(s.d))                                         \
	X(struct hole, hole, B(s.a), B(s.b))                                                       \
	X(struct bits, bits, V(s.a), V(s.b), V(s.c), V(s.d))                                       \
	X(struct bits_only, bits_only, V(s.a), V(s.b))                                             \
	X(struct bits_after_bits, bits_after_bits, V(s.a), V(s.b.a), V(s.b.b))                     \
	X(struct tight_bits, tight_bits, V(s.a), V(s.in.a), V(s.in.b))                             \
	X(struct tight_table, tight_table, V(s.a), V(s.row[0].a), V(s.row[1].a))                   \
	X(union unnamed_long, unnamed_long, V(s.a))                                                \
	X(struct unnamed_end, unnamed_end, V(s.a))                                                 \
	X(struct wide, wide, V(s.a), V(s.b))                                                       \
	X(struct sixteen, sixteen, V(s.a))                                                         \
	X(union num, num, V(s.i))                                                                  \
	X(union small, small, V(s.b[0]), V(s.b[1]), V(s.b[2]))                                     \
	X(struct nested, nested, V(s.a.a), V(s.a.b), V(s.u), V(s.in.x), V(s.in.y))                 \
	X(struct table, table, V(s.row[0].a), B(s.row[0].b), V(s.row[1].a), B(s.row[1].b))         \
	X(struct matrix, matrix, B(s.a[0][0]), B(s.a[0][1]), B(s.a[1][1]))                         \
	X(struct enums, enums, V(s.a), V(s.b), V(s.c), B(s.d))                                     \
	X(struct ptrs, ptrs, V(s.a), V(s.b))                                                       \
	X(unnamed, unnamed, V(s.a), V(s.b))                                                        \
	X(again, again, V(s.a), V(s.b))                                                            \
	X(struct handles, handles, V(s.a), V(s.b), V(s.c), V(s.d), V(s.e[0]), V(s.e[3]))

SHAPES(SUM)

#endif
