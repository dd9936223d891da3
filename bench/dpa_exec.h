/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* dpa_exec.h - shared data of host and device of dpa_exec; times are of the cycle counter. */
#ifndef BENCH_DPA_EXEC_H
#define BENCH_DPA_EXEC_H

#include <stdint.h>

/* In device memory. One side writes each word, the other reads it after `seen` or an event. */
struct exec_bench {
	uint64_t comp, notify[2]; /* handles */
	uint64_t began;		  /* written by the device at its first instruction */
	uint64_t seen;		  /* counts the runs */
	uint64_t rounds;	  /* left in the ping-pong */
};

#endif
