/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * watchdog.h - device code that runs too long at a time ends its context.
 *
 * The time that counts is processor time of the EU's thread and the time that it sleeps in waits of
 * device code: a busy machine ends no context. The limit is the setting max_run_time; code is ended
 * between that and a quarter of it (at most 2 s) later. While a debugger is on the process nothing
 * is ended.
 *
 * One thread for the pool looks now and then while device code runs, and sleeps when none does.
 */
#ifndef DPA_CRASH_WATCHDOG_H
#define DPA_CRASH_WATCHDOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct dpal_eu;

/* With the pool's lock, before its first thread and before its threads end. 0 seconds: none. */
int dpa_watchdog_start(uint32_t seconds);
void dpa_watchdog_stop(void);
/* In a forked child: there is none. */
void dpa_watchdog_forget(void);

extern _Atomic uint32_t dpa_watchdog_parked; /* futex; set by the watchdog, cleared by any thread */
void dpa_watchdog_wake(void);

/* An EU has a new ticket (seq_cst): one of both sees the other. */
static inline void dpa_watchdog_begin(void)
{
	if (__builtin_expect(atomic_load_explicit(&dpa_watchdog_parked, memory_order_seq_cst), 0))
		dpa_watchdog_wake();
}

/* After a sleep of device code in an op, which began at `since` (dpal_now_ns()): it counts as running. */
void dpa_watchdog_waited(struct dpal_eu *eu, uint64_t since);
/* True if the calling EU is being ended because of the limit; then its fault_text has that. */
bool dpa_watchdog_hit(struct dpal_eu *eu);

#endif
