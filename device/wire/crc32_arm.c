/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* crc32_arm.c - CRC-32 by the crc32 instructions of ARMv8. */
#include "crc32.h"

#ifdef __aarch64__
#include <string.h>
#include <sys/auxv.h>

#define HAS_CRC32 (1 << 7) /* bit in AT_HWCAP */

bool dpa_crc32_arm_init(void)
{
	return getauxval(AT_HWCAP) & HAS_CRC32;
}

/*
 * Not from arm_acle.h: clang 14 has those only if the whole build targets machines that have them.
 */
static inline uint32_t crc_add8(uint32_t s, uint64_t w)
{
	__asm__(".arch_extension crc\n\tcrc32x %w0, %w0, %x1" : "+r"(s) : "r"(w));
	return s;
}

static inline uint32_t crc_add1(uint32_t s, uint32_t b)
{
	__asm__(".arch_extension crc\n\tcrc32b %w0, %w0, %w1" : "+r"(s) : "r"(b));
	return s;
}

uint32_t dpa_crc32_arm(uint32_t state, uint8_t *dst, const uint8_t *src, size_t n)
{
	size_t i = 0;
	uint64_t w;

	for (; n - i >= 8; i += 8) {
		memcpy(&w, src + i, 8);
		__asm__ volatile("" : "+r"(w));
		if (dst)
			memcpy(dst + i, &w, 8);
		state = crc_add8(state, w);
	}
	for (; i < n; i++) {
		w = src[i];
		__asm__ volatile("" : "+r"(w));
		if (dst)
			dst[i] = (uint8_t)w;
		state = crc_add1(state, (uint8_t)w);
	}
	return state;
}
#else
bool dpa_crc32_arm_init(void)
{
	return false;
}

uint32_t dpa_crc32_arm(uint32_t state, uint8_t *dst, const uint8_t *src, size_t n)
{
	return dpa_crc32_table(state, dst, src, n);
}
#endif
