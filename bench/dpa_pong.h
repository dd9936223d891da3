/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* dpa_pong.h - shared data of host and device of dpa_pong. */
#ifndef BENCH_DPA_PONG_H
#define BENCH_DPA_PONG_H

#include <stdint.h>

enum { PONG_SIGNAL = 16 }; /* one completion for this number of sends, on both sides */

/* In device memory: written by the host before the thread runs, then by the thread. */
struct pong {
	uint64_t comp, qp; /* handles */
	uint64_t in, out;  /* registered memory */
	uint32_t lkey, bytes;
	uint64_t sent;
};

#endif
