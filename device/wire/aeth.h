/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* aeth.h - codes of the AETH syndrome (IBA 9.7.5.1.1) and of the timers of a QP. */
#ifndef DPA_AETH_H
#define DPA_AETH_H

#include <stdint.h>

/* Syndrome: bits 6:5 kind; bits 4:0 credit count, RNR timer or NAK code. */
enum {
	DPA_AETH_ACK = 0x00,
	DPA_AETH_RNR = 0x20,
	DPA_AETH_NAK = 0x60,
	DPA_AETH_KIND = 0x60,
	DPA_AETH_NO_CREDITS = 0x1f, /* credit count: end-to-end flow control not used */
	DPA_NAK_PSN_SEQ = 0,
	DPA_NAK_INV_REQ = 1,
	DPA_NAK_REM_ACCESS = 2,
	DPA_NAK_REM_OP = 3,
};

/*
 * Credit count of a code (IBA 9.7.7 (codes), table 47): 0 1 2 3, then 2^k and 1.5 * 2^k in turn: 4 6 8
 * 12 16 ... 32768 at code 30.
 */
static inline uint32_t dpa_credits(uint8_t code)
{
	uint32_t k = code / 2u;

	if (code < 4)
		return code;
	return code & 1 ? 3u << (k - 1) : 1u << k;
}

/* The largest code with a credit count of at most n. */
static inline uint8_t dpa_credit_code(uint32_t n)
{
	uint32_t k;

	if (n < 2)
		return (uint8_t)n;
	k = 31u - (uint32_t)__builtin_clz(n);
	return k < 15 ? (uint8_t)(2 * k + (n >= 3u << (k - 1))) : 30;
}

/* RNR timer code (IBA table 46) to nanoseconds. */
uint64_t dpa_rnr_ns(uint8_t code);
/* Local ACK timeout code (IBA C9-140): 4.096 us * 2^code, in nanoseconds. Code 0, no timeout: UINT64_MAX. */
static inline uint64_t dpa_timeout_ns(uint8_t code)
{
	return code ? 4096ull << (code & 31) : UINT64_MAX;
}

#endif
