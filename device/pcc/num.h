/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* num.h - arithmetic on arbitrary times and amounts. */
#ifndef DPA_PCC_NUM_H
#define DPA_PCC_NUM_H

#include <stdint.h>

static inline uint64_t dpa_pcc_clamp(uint64_t v, uint64_t lo, uint64_t hi)
{
	return v < lo ? lo : v > hi ? hi : v;
}

/* ns from then to now; 0 if the clock went back. */
static inline uint64_t dpa_pcc_since(uint64_t now, uint64_t then)
{
	return now > then ? now - then : 0;
}

static inline uint64_t dpa_pcc_after(uint64_t t, uint64_t ns)
{
	return t > UINT64_MAX - ns ? UINT64_MAX : t + ns;
}

#endif
