/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* dpa_exec.h - what host and device of dpa_exec share; times are of the cycle counter. */
#ifndef BENCH_DPA_EXEC_H
#define BENCH_DPA_EXEC_H

#include <stdint.h>

/* In device memory. Each word is written by one side, read by the other after `seen` or an event.
 */
struct exec_bench {
	uint64_t comp, notify[2]; /* handles */
	uint64_t began;		  /* by the device: at its first instruction */
	uint64_t seen;		  /* counts the runs */
	uint64_t rounds;	  /* of the ping-pong, left */
};

#endif
