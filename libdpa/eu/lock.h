/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * lock.h - a lock for a few instructions in ops of EUs; code is not killed while it is in an op.
 * Usually one thread posts to a queue, and then taking the lock is one exchange.
 */
#ifndef DPA_EU_LOCK_H
#define DPA_EU_LOCK_H

#include <sched.h>
#include <stdatomic.h>

struct dpal_eu_lock {
	_Atomic uint32_t taken;
};

static inline void dpal_eu_lock(struct dpal_eu_lock *l)
{
	for (int i = 0; atomic_exchange_explicit(&l->taken, 1, memory_order_acquire); i++)
		if (i > 100)
			sched_yield();
}

static inline void dpal_eu_unlock(struct dpal_eu_lock *l)
{
	atomic_store_explicit(&l->taken, 0, memory_order_release);
}

#endif
