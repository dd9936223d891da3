/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* aeth.c - the codes of the RNR timer and their values. */
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
