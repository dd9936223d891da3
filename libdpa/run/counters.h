/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* counters.h - the counters of dpaintrin.h that device code cannot read itself. */
#ifndef DPA_RUN_COUNTERS_H
#define DPA_RUN_COUNTERS_H

#include <stdint.h>

/*
 * Return the instructions that the calling EU's operating-system thread has retired in user mode
 * since its first call of this function; always 0 where the machine has no such counter or does not
 * let us read it. Costs a system call.
 */
uint64_t dpa_op_thread_instructions(void);
/* Return the microseconds since a fixed point in the past, the same for all EUs of the host. */
uint64_t dpa_op_thread_time(void);

#endif
