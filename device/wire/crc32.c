/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * crc32.c - CRC-32 by tables, eight bytes at a time, for every machine; selects the implementation.
 */
#include <endian.h>
#include <string.h>
#include "crc32.h"

static uint32_t table[8][256]; /* [k][b]: byte b, k bytes of 0 behind it */

dpa_crc32_fn *dpa_crc32 = dpa_crc32_table;

static inline uint32_t times_x(uint32_t a)
{
	return a >> 1 ^ (-(a & 1) & DPA_CRC32_POLY);
}

uint32_t dpa_crc32_mul(uint32_t a, uint32_t b)
{
	uint32_t r = 0;

	for (int i = 0; i < 32; i++) {
		r ^= -(a >> 31) & b;
		a <<= 1;
		b = times_x(b);
	}
	return r;
}

uint32_t dpa_crc32_xn(uint32_t n)
{
	uint32_t r = DPA_CRC32_ONE, sq = DPA_CRC32_ONE >> 1;

	for (; n; n >>= 1, sq = dpa_crc32_mul(sq, sq))
		if (n & 1)
			r = dpa_crc32_mul(r, sq);
	return r;
}

static uint32_t add_byte(uint32_t s, uint8_t b)
{
	return s >> 8 ^ table[0][(s ^ b) & 0xff];
}

static uint32_t add_words(uint32_t s, const uint8_t b[8])
{
	uint32_t lo, hi;

	memcpy(&lo, b, 4);
	memcpy(&hi, b + 4, 4);
	lo = le32toh(lo) ^ s;
	hi = le32toh(hi);
	return table[7][lo & 0xff] ^ table[6][lo >> 8 & 0xff] ^ table[5][lo >> 16 & 0xff] ^
	       table[4][lo >> 24] ^ table[3][hi & 0xff] ^ table[2][hi >> 8 & 0xff] ^
	       table[1][hi >> 16 & 0xff] ^ table[0][hi >> 24];
}

static uint32_t crc_add_word(uint32_t s, const uint8_t b[4])
{
	uint32_t w;

	memcpy(&w, b, 4);
	w = le32toh(w) ^ s;
	return table[3][w & 0xff] ^ table[2][w >> 8 & 0xff] ^ table[1][w >> 16 & 0xff] ^
	       table[0][w >> 24];
}

/* Loads up to 8 bytes once and copies them. */
static inline __attribute__((always_inline)) void crc_take8(uint8_t b[8], uint8_t *dst,
							    const uint8_t *src, size_t n)
{
	memcpy(b, src, n);
	__asm__ volatile("" : : "r"(b) : "memory");
	if (dst)
		memcpy(dst, b, n);
}

static inline __attribute__((always_inline)) uint32_t crc_copy_table(uint32_t s, uint8_t *dst,
								     const uint8_t *src, size_t n)
{
	uint8_t b[8];
	size_t i = 0;

	for (; n - i >= 8; i += 8) {
		crc_take8(b, dst ? dst + i : NULL, src + i, 8);
		s = add_words(s, b);
	}
	if (n - i >= 4) {
		crc_take8(b, dst ? dst + i : NULL, src + i, 4);
		s = crc_add_word(s, b);
		i += 4;
	}
	for (; i < n; i++) {
		crc_take8(b, dst ? dst + i : NULL, src + i, 1);
		s = add_byte(s, b[0]);
	}
	return s;
}

static uint32_t crc_sum_table(uint32_t s, const uint8_t *p, size_t n)
{
	for (; n >= 8; p += 8, n -= 8)
		s = add_words(s, p);
	if (n >= 4) {
		s = crc_add_word(s, p);
		p += 4;
		n -= 4;
	}
	while (n--)
		s = add_byte(s, *p++);
	return s;
}

uint32_t dpa_crc32_table(uint32_t state, uint8_t *dst, const uint8_t *src, size_t n)
{
	return dst ? crc_copy_table(state, dst, src, n) : crc_sum_table(state, src, n);
}

/* Runs before other constructors, which may open the device. */
__attribute__((constructor(101))) static void crc32_init(void)
{
	for (uint32_t b = 0; b < 256; b++) {
		uint32_t s = b;

		for (int i = 0; i < 8; i++)
			s = times_x(s);
		table[0][b] = s;
	}
	for (int k = 1; k < 8; k++)
		for (uint32_t b = 0; b < 256; b++)
			table[k][b] = add_byte(table[k - 1][b], 0);
	if (dpa_crc32_vclmul_init())
		dpa_crc32 = dpa_crc32_vclmul;
	else if (dpa_crc32_clmul_init())
		dpa_crc32 = dpa_crc32_clmul;
	else if (dpa_crc32_arm_init())
		dpa_crc32 = dpa_crc32_arm;
}
