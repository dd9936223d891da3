/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* psn.h - arithmetic of packet sequence numbers (IBA 9.7.1). */
#ifndef DPA_PSN_H
#define DPA_PSN_H

#include <stdint.h>

/* a - b of two 24-bit PSNs, as a signed number: the window is half the space. */
/* IBA 9.7.1 (half) */
static inline int32_t dpa_psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

/* IBA 9.2 (psn-bits) */
static inline uint32_t dpa_psn_add(uint32_t a, uint32_t n)
{
	return (a + n) & 0xffffff;
}

/* Packets of a message: a message of no bytes is one packet. */
/* IBA 9.7.1 (message-packets) */
static inline uint32_t dpa_npkts(uint32_t len, uint32_t mtu)
{
	return len <= mtu ? 1 : (uint32_t)(((uint64_t)len + mtu - 1) / mtu);
}

#endif
