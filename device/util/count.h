/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* count.h - counters of one writer at a time, which other threads read at any time. */
#ifndef DPA_COUNT_H
#define DPA_COUNT_H

#include <stdatomic.h>

/*
 * Add n to the _Atomic word at c, without a locked instruction. Relaxed: a reader sees a value that it
 * had. Two writers at the same time may lose a count.
 */
#define dpa_count_add(c, n)                                                                        \
	atomic_store_explicit((c), atomic_load_explicit((c), memory_order_relaxed) + (n),          \
			      memory_order_relaxed)

#endif
