/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * rest.h - quiesces the device's own threads while an application thread has pages exchanged that
 * may be part of their heap (direct/share.c). They quiesce at the top of their loops, without
 * locks, and count as quiesced while they sleep in the kernel.
 *
 * All words are this library's own statics, in no page that is ever exchanged:
 *
 *   born     incremented (seq_cst) by the thread that starts another, before it does; decremented
 *            by the new thread once it counts itself
 *   own      number of threads; changed (seq_cst) by themselves
 *   resting  number of quiesced threads; changed (seq_cst) by themselves
 *   wanted   set and cleared (seq_cst) by the one thread that requests it
 *
 * Either a thread that leaves this state (resting - 1) sees `wanted`, or the thread that requests
 * it sees that the other has left.
 */
#ifndef DPA_REST_H
#define DPA_REST_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "util/lock.h"

extern _Atomic uint32_t dpa_rest_wanted;

/* Starts a thread, which blocks all signals: the application handles them. */
int dpa_own_start(pthread_t *thread, void *(*body)(void *), void *arg);
/* For the new thread: its first and its last call. */
void dpa_own_begin(void);
void dpa_own_end(void);
/* Call around a call that sleeps. */
void dpa_own_sleeps(void);
void dpa_own_woke(void);
void dpa_own_rest_now(void);
/* Quiesces here if that is requested. */
static inline void dpa_own_rest(void)
{
	if (dpa_unlikely(atomic_load_explicit(&dpa_rest_wanted, memory_order_relaxed)))
		dpa_own_rest_now();
}

/* Return the number of threads, when none is being started; UINT32_MAX: one is, all the time. */
uint32_t dpa_own_threads(void);
/* True: all threads are quiesced. False: they are not in time, or another thread requests it. */
bool dpa_rest_begin(void);
void dpa_rest_end(void);
/* In a forked child, which has none of the threads. */
void dpa_rest_reset(void);

#endif
