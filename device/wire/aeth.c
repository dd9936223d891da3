/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* aeth.c - codes of credits and timers, and their values. */
#include "aeth.h"

/* IBA 9.7.5 (rnr-timer) */
uint64_t dpa_rnr_ns(uint8_t code)
{
	/* IBA table 46, in units of 10 microseconds. */
	static const uint32_t t[32] = {65536, 1,    2,	  3,	 4,	6,     8,     12,
				       16,    24,   32,	  48,	 64,	96,    128,   192,
				       256,   384,  512,  768,	 1024,	1536,  2048,  3072,
				       4096,  6144, 8192, 12288, 16384, 24576, 32768, 49152};

	return (uint64_t)t[code & 31] * 10000;
}

/* IBA C9-140 */
uint64_t dpa_timeout_ns(uint8_t code)
{
	return code ? 4096ull << (code & 31) : UINT64_MAX;
}

/* 0 1 2 3, then 2^k and 1.5 * 2^k in turn: 4 6 8 12 16 ... 32768 at code 30 */
/* IBA 9.7.7 (codes) */
uint32_t dpa_credits(uint8_t code)
{
	uint32_t k = code / 2u;

	if (code < 4)
		return code;
	return code & 1 ? 3u << (k - 1) : 1u << k;
}

uint8_t dpa_credit_code(uint32_t n)
{
	uint8_t code = 0;

	while (code < 30 && dpa_credits((uint8_t)(code + 1)) <= n)
		code++;
	return code;
}
