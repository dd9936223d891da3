/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * watchdog.h - device code that runs too long ends its context.
 *
 * Run time is the processor time of the EU's thread plus the time that it sleeps in waits of device
 * code: a busy machine ends no context. The limit is the setting max_run_time; code is killed
 * between that time and a quarter of it (at most 2 s) later. While a debugger is attached no code
 * is killed.
 *
 * One thread for the pool checks periodically while device code runs, and sleeps otherwise.
 */
#ifndef DPA_CRASH_WATCHDOG_H
#define DPA_CRASH_WATCHDOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct dpal_eu;

/*
 * Start the watchdog before the pool's first thread; stop it before the pool's threads end.
 * Context: the pool's lock is held. 0 seconds: no watchdog.
 */
int dpa_watchdog_start(uint32_t seconds);
void dpa_watchdog_stop(void);
/* Forget the watchdog in a forked child, which has none. */
void dpa_watchdog_forget(void);

extern _Atomic uint32_t dpa_watchdog_parked; /* futex; set by the watchdog, cleared by any thread */
void dpa_watchdog_wake(void);

/* Notify the watchdog: an EU has a new ticket (seq_cst), so one of the two sees the other. */
static inline void dpa_watchdog_begin(void)
{
	if (__builtin_expect(atomic_load_explicit(&dpa_watchdog_parked, memory_order_seq_cst), 0))
		dpa_watchdog_wake();
}

/* Count a sleep of device code in an op as run time; it began at `since` (dpal_now_ns()). */
void dpa_watchdog_waited(struct dpal_eu *eu, uint64_t since);
/*
 * Return whether the calling EU is being killed because of the limit; its fault_text then has the
 * reason.
 */
bool dpa_watchdog_hit(struct dpal_eu *eu);

#endif
