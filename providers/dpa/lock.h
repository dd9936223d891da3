/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * lock.h - the spin lock of a queue. Held while WQEs are built or CQEs copied, never during a call
 * of the device that carries out work. Two threads may share one core: a waiter pauses for a
 * bounded time, then yields.
 */
#ifndef DPA_LOCK_H
#define DPA_LOCK_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct dpa_lock {
	_Atomic uint32_t taken;
	bool single; /* the application promised one thread: no locking */
};

static inline void dpa_cpu_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#endif
}

static __attribute__((cold, noinline, unused)) void dpa_lock_wait(struct dpa_lock *l)
{
	do {
		for (int i = 0; atomic_load_explicit(&l->taken, memory_order_relaxed); i++) {
			if (i < 100)
				dpa_cpu_relax();
			else
				sched_yield();
		}
	} while (atomic_exchange_explicit(&l->taken, 1, memory_order_acquire));
}

/* False: another thread has it. */
static inline bool dpa_lock_try(struct dpa_lock *l)
{
	return __builtin_expect(l->single, 0) ||
	       !atomic_exchange_explicit(&l->taken, 1, memory_order_acquire);
}

static inline void dpa_lock_take(struct dpa_lock *l)
{
	if (__builtin_expect(!dpa_lock_try(l), 0))
		dpa_lock_wait(l);
}

static inline void dpa_lock_drop(struct dpa_lock *l)
{
	if (__builtin_expect(!l->single, 1))
		atomic_store_explicit(&l->taken, 0, memory_order_release);
}

#endif
