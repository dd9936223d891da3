/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * rest.h - the device's own threads stand still while one of the application's has pages exchanged
 * under what may be their heap (direct/share.c). They rest at the top of their loops, under no
 * lock, and count as resting while they sleep in the kernel.
 *
 * All words are this library's own statics, in no page that is ever exchanged:
 *
 *   born     counted up (seq_cst) by who starts a thread, before; down by the thread when it counts
 *   own      threads: up and down (seq_cst) by themselves
 *   resting  the same
 *   wanted   set and cleared (seq_cst) by the one thread that wants them to
 *
 * Either who leaves its rest (resting - 1) sees `wanted`, or who wants it sees that it has left.
 */
#ifndef DPA_REST_H
#define DPA_REST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "util/lock.h"

extern _Atomic uint32_t dpa_rest_wanted;

/* A thread that starts another: before it does, and if it could not. */
void dpa_own_expect(void);
void dpa_own_unexpect(void);
/* The thread: first and last. */
void dpa_own_begin(void);
void dpa_own_end(void);
/* Around a call that sleeps. */
void dpa_own_sleeps(void);
void dpa_own_woke(void);
void dpa_own_rest_now(void);
/* A thread that may rest here. */
static inline void dpa_own_rest(void)
{
	if (dpa_unlikely(atomic_load_explicit(&dpa_rest_wanted, memory_order_relaxed)))
		dpa_own_rest_now();
}

/* How many there are, when none is about to begin; UINT32_MAX: one is, all the time. */
uint32_t dpa_own_threads(void);
/* All rest when it returns true; false: they would not, or others want it. */
bool dpa_rest_begin(void);
void dpa_rest_end(void);
/* In a forked child, which has none. */
void dpa_rest_reset(void);

#endif
