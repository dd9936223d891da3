/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* crc32_arm.c - CRC-32 by the crc32 instructions of ARMv8. */
#include "crc32.h"

#ifdef __aarch64__
#include <arm_acle.h>
#include <string.h>
#include <sys/auxv.h>

#define HAS_CRC32 (1 << 7) /* AT_HWCAP's bit */

bool dpa_crc32_arm_init(void)
{
	return getauxval(AT_HWCAP) & HAS_CRC32;
}

__attribute__((target("+crc"))) uint32_t dpa_crc32_arm(uint32_t state, uint8_t *dst,
						       const uint8_t *src, size_t n)
{
	size_t i = 0;
	uint64_t w;

	for (; n - i >= 8; i += 8) {
		memcpy(&w, src + i, 8);
		__asm__ volatile("" : "+r"(w));
		if (dst)
			memcpy(dst + i, &w, 8);
		state = __crc32d(state, w);
	}
	for (; i < n; i++) {
		w = src[i];
		__asm__ volatile("" : "+r"(w));
		if (dst)
			dst[i] = (uint8_t)w;
		state = __crc32b(state, (uint8_t)w);
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
