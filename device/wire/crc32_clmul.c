/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * crc32_clmul.c - CRC-32 by carry-less multiplication (x86: PCLMULQDQ, and VPCLMULQDQ on four
 * blocks at once), after Gopal et al., "Fast CRC Computation for Generic Polynomials Using
 * PCLMULQDQ Instruction", Intel 2009.
 * A block of 16 bytes that is followed by d more bits stands for block * x^d mod P. Its two halves
 * times x^(d+32) and x^(d-32), added up, are 128 bits that may replace the block d bits further on.
 * (The product of two bit-reflected words is off by one bit: the constants are shifted.)
 */
#include "crc32.h"

#ifdef __x86_64__
#include <immintrin.h>
#include <string.h>

#define TARGET	    __attribute__((target("sse4.1,pclmul")))
#define INLINE	    static inline __attribute__((always_inline)) TARGET
#define WIDE	    __attribute__((target("sse4.1,pclmul,avx512f,vpclmulqdq")))
#define WIDE_INLINE static inline __attribute__((always_inline)) WIDE
#define WIDE_MIN    256u /* bytes; shorter input is faster by single blocks */

static __m128i fold64, fold16; /* low: x^(d+32), high: x^(d-32); d: 512 bits, 128 bits */
static __m128i last;	       /* low: x^96, high: x^64 */
static __m128i barrett;	       /* low: x^64 / P, high: P */
/*
 * As fold64: d is 64 bytes times 4, 3, 2; and 16 bytes times 3, 2, 1 and 0 for the four blocks of a
 * register.
 */
static __m128i fold256, fold192, fold128;
static uint64_t lanes[8];

/* For a shift of r bytes: pshufb of 16 bytes at shift + r moves up by 16 - r, at + 16 + r down. */
static const uint8_t shifts[48] __attribute__((aligned(16))) = {
	0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
	0x80, 0x80, 0x80, 0x80, 0,    1,    2,	  3,	4,    5,    6,	  7,
	8,    9,    10,	  11,	12,   13,   14,	  15,	0x80, 0x80, 0x80, 0x80,
	0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80};

static uint64_t fold_constant(uint32_t n)
{
	return (uint64_t)dpa_crc32_xn(n) << 1;
}

/* The quotient of x^64 by P, 33 bits, reflected. */
static uint64_t barrett_quotient(void)
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
	fold64 = (__m128i){(long long)fold_constant(512 + 32), (long long)fold_constant(512 - 32)};
	fold16 = (__m128i){(long long)fold_constant(128 + 32), (long long)fold_constant(128 - 32)};
	last = (__m128i){(long long)fold_constant(96), (long long)fold_constant(64)};
	barrett = (__m128i){(long long)barrett_quotient(),
			    (long long)((uint64_t)DPA_CRC32_POLY << 1 | 1)};
	return true;
}

/* Loads 16 bytes once and copies them. */
INLINE __m128i take16(uint8_t *dst, const uint8_t *src)
{
	__m128i v = _mm_loadu_si128((const __m128i *)src);

	if (dst) {
		__asm__ volatile("" : "+x"(v));
		_mm_storeu_si128((__m128i *)dst, v);
	}
	return v;
}

INLINE __m128i fold_128(__m128i x, __m128i k, __m128i next)
{
	__m128i lo = _mm_clmulepi64_si128(x, k, 0x00), hi = _mm_clmulepi64_si128(x, k, 0x11);

	return _mm_xor_si128(_mm_xor_si128(lo, hi), next);
}

/* r bytes, 1 to 15, follow x: folds the first r of the 16 + r bytes into the other 16. */
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
	return fold_128(_mm_shuffle_epi8(x, up), fold16, next);
}

/* Reduces 128 bits, and the 32 behind them, to 32: to 96 bits, to 64, then Barrett. */
INLINE uint32_t reduce_128(__m128i x)
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

/* Returns the remainder after the i bytes that x stands for and the rest. */
INLINE uint32_t crc_rest(__m128i x, uint8_t *dst, const uint8_t *src, size_t i, size_t n)
{
	for (; n - i >= 16; i += 16)
		x = fold_128(x, fold16, take16(AT(dst, i), src + i));
	if (n > i)
		x = fold_tail(x, AT(dst, i), src + i, n - i);
	return reduce_128(x);
}

INLINE uint32_t crc_sum(uint32_t state, uint8_t *dst, const uint8_t *src, size_t n)
{
	__m128i x = _mm_xor_si128(take16(dst, src), _mm_cvtsi32_si128((int)state));
	size_t i = 16;

	if (n >= 128) {
		__m128i y = take16(AT(dst, 16), src + 16), z = take16(AT(dst, 32), src + 32),
			w = take16(AT(dst, 48), src + 48);

		for (i = 64; n - i >= 64; i += 64) {
			x = fold_128(x, fold64, take16(AT(dst, i), src + i));
			y = fold_128(y, fold64, take16(AT(dst, i + 16), src + i + 16));
			z = fold_128(z, fold64, take16(AT(dst, i + 32), src + i + 32));
			w = fold_128(w, fold64, take16(AT(dst, i + 48), src + i + 48));
		}
		x = fold_128(fold_128(fold_128(x, fold16, y), fold16, z), fold16, w);
	}
	return crc_rest(x, dst, src, i, n);
}

TARGET uint32_t dpa_crc32_clmul(uint32_t state, uint8_t *dst, const uint8_t *src, size_t n)
{
	if (n < 16)
		return dpa_crc32_table(state, dst, src, n);
	return dst ? crc_sum(state, dst, src, n) : crc_sum(state, NULL, src, n);
}

/* ---- four blocks in a register */

bool dpa_crc32_vclmul_init(void)
{
	if (!dpa_crc32_clmul_init() || !__builtin_cpu_supports("avx512f") ||
	    !__builtin_cpu_supports("vpclmulqdq"))
		return false;
	fold256 =
		(__m128i){(long long)fold_constant(2048 + 32), (long long)fold_constant(2048 - 32)};
	fold192 =
		(__m128i){(long long)fold_constant(1536 + 32), (long long)fold_constant(1536 - 32)};
	fold128 =
		(__m128i){(long long)fold_constant(1024 + 32), (long long)fold_constant(1024 - 32)};
	for (uint32_t i = 0; i < 3; i++) {
		lanes[2 * i] = fold_constant(128 * (3 - i) + 32);
		lanes[2 * i + 1] = fold_constant(128 * (3 - i) - 32);
	}
	return true;
}

WIDE_INLINE __m512i take_wide(uint8_t *dst, const uint8_t *src)
{
	__m512i v = _mm512_loadu_si512(src);

	if (dst) {
		__asm__ volatile("" : "+v"(v));
		_mm512_storeu_si512(dst, v);
	}
	return v;
}

WIDE_INLINE __m512i fold_wide(__m512i x, __m512i k, __m512i next)
{
	__m512i lo = _mm512_clmulepi64_epi128(x, k, 0x00),
		hi = _mm512_clmulepi64_epi128(x, k, 0x11);

	return _mm512_ternarylogic_epi64(lo, hi, next, 0x96); /* all three added up */
}

/* Folds four consecutive blocks to the place of the last one, whose constants are 0. */
WIDE_INLINE __m128i join_lanes(__m512i x)
{
	__m512i k = _mm512_loadu_si512(lanes);
	__m512i y = _mm512_xor_si512(_mm512_clmulepi64_epi128(x, k, 0x00),
				     _mm512_clmulepi64_epi128(x, k, 0x11));
	__m128i a = _mm_xor_si128(_mm512_castsi512_si128(y), _mm512_extracti32x4_epi32(y, 1));
	__m128i b = _mm_xor_si128(_mm512_extracti32x4_epi32(y, 2), _mm512_extracti32x4_epi32(x, 3));

	return _mm_xor_si128(a, b);
}

WIDE_INLINE uint32_t sum_wide(uint32_t state, uint8_t *dst, const uint8_t *src, size_t n)
{
	const __m512i k256 = _mm512_broadcast_i32x4(fold256), k64 = _mm512_broadcast_i32x4(fold64);
	__m512i x = _mm512_xor_si512(take_wide(dst, src),
				     _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)state)));
	__m512i y = take_wide(AT(dst, 64), src + 64), z = take_wide(AT(dst, 128), src + 128),
		w = take_wide(AT(dst, 192), src + 192);
	size_t i = 256;

	for (; n - i >= 256; i += 256) {
		x = fold_wide(x, k256, take_wide(AT(dst, i), src + i));
		y = fold_wide(y, k256, take_wide(AT(dst, i + 64), src + i + 64));
		z = fold_wide(z, k256, take_wide(AT(dst, i + 128), src + i + 128));
		w = fold_wide(w, k256, take_wide(AT(dst, i + 192), src + i + 192));
	}
	w = fold_wide(x, _mm512_broadcast_i32x4(fold192), w);
	z = fold_wide(y, _mm512_broadcast_i32x4(fold128), fold_wide(z, k64, w));
	for (; n - i >= 64; i += 64)
		z = fold_wide(z, k64, take_wide(AT(dst, i), src + i));
	return crc_rest(join_lanes(z), dst, src, i, n);
}

WIDE uint32_t dpa_crc32_vclmul(uint32_t state, uint8_t *dst, const uint8_t *src, size_t n)
{
	if (n < WIDE_MIN)
		return dpa_crc32_clmul(state, dst, src, n);
	return dst ? sum_wide(state, dst, src, n) : sum_wide(state, NULL, src, n);
}
#else
bool dpa_crc32_vclmul_init(void)
{
	return false;
}

uint32_t dpa_crc32_vclmul(uint32_t state, uint8_t *dst, const uint8_t *src, size_t n)
{
	return dpa_crc32_table(state, dst, src, n);
}

bool dpa_crc32_clmul_init(void)
{
	return false;
}

uint32_t dpa_crc32_clmul(uint32_t state, uint8_t *dst, const uint8_t *src, size_t n)
{
	return dpa_crc32_table(state, dst, src, n);
}
#endif
