/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * crc32.h - the CRC-32 of Ethernet in steps, for icrc.c. Not complemented: begin with ~0, end with
 * ~.
 * A word of 32 bits is a polynomial over GF(2) with bit 31 as x^0 and bit 0 as x^31, like the
 * state. Adding a byte multiplies the state by x^8.
 */
#ifndef DPA_CRC32_H
#define DPA_CRC32_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DPA_CRC32_POLY 0xedb88320u
#define DPA_CRC32_ONE  0x80000000u /* x^0 */

/*
 * Add n bytes of src; dst, if not NULL, gets a copy. Each byte of src is loaded once: so the sum is
 * over the copied bytes, even if another thread writes to src meanwhile.
 */
typedef uint32_t dpa_crc32_fn(uint32_t state, uint8_t *dst, const uint8_t *src, size_t n);

/* Set before main() to the fastest implementation of this machine. Any thread may call it. */
extern dpa_crc32_fn *dpa_crc32;

/*
 * The implementations, for tests and measurements. All but the first work only where they are
 * supported.
 */
dpa_crc32_fn dpa_crc32_table, dpa_crc32_clmul, dpa_crc32_vclmul, dpa_crc32_arm;
bool dpa_crc32_clmul_init(void); /* false: not on this machine */
bool dpa_crc32_vclmul_init(void);
bool dpa_crc32_arm_init(void);

/* a * b mod P; x^n mod P. */
uint32_t dpa_crc32_mul(uint32_t a, uint32_t b);
uint32_t dpa_crc32_xn(uint32_t n);

#endif
