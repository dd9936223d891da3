/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * crc32_clmul.c - CRC-32 by carry-less multiplication (x86: PCLMULQDQ), after Gopal et al., "Fast
 * CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction", Intel 2009.
 *
 * A block of 16 bytes that is followed by d more bits stands for block * x^d mod P: its two halves
 * times x^(d+32) and x^(d-32), added up, are 128 bits that may take the place of the block d bits
 * further on. (The product of two bit-reflected words is one bit off: the constants are shifted.)
 */
#include "crc32.h"

#ifdef __x86_64__
#include <immintrin.h>
#include <string.h>

#define TARGET __attribute__((target("sse4.1,pclmul")))
#define INLINE static inline __attribute__((always_inline)) TARGET

static __m128i fold64, fold16; /* low: x^(d+32), high: x^(d-32); d: 512 bits, 128 bits */
static __m128i last;	       /* low: x^96, high: x^64 */
static __m128i barrett;	       /* low: x^64 / P, high: P */

/* For a shift of r bytes: pshufb of 16 bytes at shift + r moves up by 16 - r, at + 16 + r down. */
static const uint8_t shifts[48] __attribute__((aligned(16))) = {
	0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
	0x80, 0x80, 0x80, 0x80, 0,    1,    2,	  3,	4,    5,    6,	  7,
	8,    9,    10,	  11,	12,   13,   14,	  15,	0x80, 0x80, 0x80, 0x80,
	0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80};

static uint64_t constant(uint32_t n)
{
	return (uint64_t)dpa_crc32_xn(n) << 1;
}

/* The quotient of x^64 by P, 33 bits, reflected. */
static uint64_t quotient(void)
{
	uint32_t rem = 0x04c11db7; /* of x^32: P without its first bit, not reflected */
	uint64_t q = 1;		   /* bit k: x^(32-k) */

	for (int k = 1; k <= 32; k++) {
		uint32_t out = rem >> 31;

		rem = rem << 1 ^ (-out & 0x04c11db7);
		q |= (uint64_t)out << k;
	}
	return q;
}

bool dpa_crc32_clmul_init(void)
{
	__builtin_cpu_init(); /* its own constructor may come later */
	if (!__builtin_cpu_supports("pclmul") || !__builtin_cpu_supports("sse4.1"))
		return false;
	fold64 = (__m128i){(long long)constant(512 + 32), (long long)constant(512 - 32)};
	fold16 = (__m128i){(long long)constant(128 + 32), (long long)constant(128 - 32)};
	last = (__m128i){(long long)constant(96), (long long)constant(64)};
	barrett = (__m128i){(long long)quotient(), (long long)((uint64_t)DPA_CRC32_POLY << 1 | 1)};
	return true;
}

/* Loads 16 bytes once and copies them. */
INLINE __m128i take(uint8_t *dst, const uint8_t *src)
{
	__m128i v = _mm_loadu_si128((const __m128i *)src);

	if (dst) {
		__asm__ volatile("" : "+x"(v));
		_mm_storeu_si128((__m128i *)dst, v);
	}
	return v;
}

INLINE __m128i fold(__m128i x, __m128i k, __m128i next)
{
	__m128i lo = _mm_clmulepi64_si128(x, k, 0x00), hi = _mm_clmulepi64_si128(x, k, 0x11);

	return _mm_xor_si128(_mm_xor_si128(lo, hi), next);
}

/* r bytes, 1 to 15, behind x: of the 16 + r bytes the first r are folded into the other 16. */
INLINE __m128i fold_tail(__m128i x, uint8_t *dst, const uint8_t *src, size_t r)
{
	__m128i up = _mm_loadu_si128((const __m128i *)(shifts + r));
	__m128i down = _mm_loadu_si128((const __m128i *)(shifts + 16 + r));
	uint8_t b[32] = {0};
	__m128i next;

	memcpy(b + 16, src, r);
	__asm__ volatile("" : : "r"(b) : "memory");
	if (dst)
		memcpy(dst, b + 16, r);
	next = _mm_loadu_si128((const __m128i *)(b + r));
	next = _mm_or_si128(next, _mm_shuffle_epi8(x, down));
	return fold(_mm_shuffle_epi8(x, up), fold16, next);
}

/* 128 bits and the 32 that the CRC has behind them, to 32: to 96 bits, to 64, Barrett. */
INLINE uint32_t reduce(__m128i x)
{
	const __m128i low32 = _mm_set_epi32(0, 0, 0, -1);
	__m128i t;

	x = _mm_xor_si128(_mm_clmulepi64_si128(x, last, 0x00), _mm_srli_si128(x, 8));
	x = _mm_xor_si128(_mm_clmulepi64_si128(_mm_and_si128(x, low32), last, 0x10),
			  _mm_srli_si128(x, 4));
	t = _mm_clmulepi64_si128(_mm_and_si128(x, low32), barrett, 0x00);
	t = _mm_clmulepi64_si128(_mm_and_si128(t, low32), barrett, 0x10);
	return (uint32_t)_mm_extract_epi32(_mm_xor_si128(x, t), 1);
}

#define AT(d, i) ((d) ? (d) + (i) : NULL)

INLINE uint32_t sum(uint32_t state, uint8_t *dst, const uint8_t *src, size_t n)
{
	__m128i x = _mm_xor_si128(take(dst, src), _mm_cvtsi32_si128((int)state));
	size_t i = 16;

	if (n >= 128) {
		__m128i y = take(AT(dst, 16), src + 16), z = take(AT(dst, 32), src + 32),
			w = take(AT(dst, 48), src + 48);

		for (i = 64; n - i >= 64; i += 64) {
			x = fold(x, fold64, take(AT(dst, i), src + i));
			y = fold(y, fold64, take(AT(dst, i + 16), src + i + 16));
			z = fold(z, fold64, take(AT(dst, i + 32), src + i + 32));
			w = fold(w, fold64, take(AT(dst, i + 48), src + i + 48));
		}
		x = fold(fold(fold(x, fold16, y), fold16, z), fold16, w);
	}
	for (; n - i >= 16; i += 16)
		x = fold(x, fold16, take(AT(dst, i), src + i));
	if (n > i)
		x = fold_tail(x, AT(dst, i), src + i, n - i);
	return reduce(x);
}

TARGET uint32_t dpa_crc32_clmul(uint32_t state, uint8_t *dst, const uint8_t *src, size_t n)
{
	if (n < 16)
		return dpa_crc32_table(state, dst, src, n);
	return dst ? sum(state, dst, src, n) : sum(state, NULL, src, n);
}
#else
bool dpa_crc32_clmul_init(void)
{
	return false;
}

uint32_t dpa_crc32_clmul(uint32_t state, uint8_t *dst, const uint8_t *src, size_t n)
{
	return dpa_crc32_table(state, dst, src, n);
}
#endif
