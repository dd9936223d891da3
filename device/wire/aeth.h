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

/* Credit count (IBA table 47): the largest code with a count of at most n; the count of a code. */
uint8_t dpa_credit_code(uint32_t n);
uint32_t dpa_credits(uint8_t code);
/* RNR timer code (IBA table 46) to nanoseconds. */
uint64_t dpa_rnr_ns(uint8_t code);
/* Local ACK timeout code: 4.096 us * 2^code, in nanoseconds. Code 0, no timeout: UINT64_MAX. */
uint64_t dpa_timeout_ns(uint8_t code);

#endif
