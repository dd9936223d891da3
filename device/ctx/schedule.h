/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* schedule.h - QPs that have work to do later. */
#ifndef DPA_CTX_SCHEDULE_H
#define DPA_CTX_SCHEDULE_H

#include <stdatomic.h>
#include <stdint.h>
#include "ctx/hw.h"

struct dpa_hw_qp;

/*
 * Schedule a QP: progress runs it again at `when` (ns, dpa_now_ns()), or as soon as possible (0).
 * Context: any thread, with or without the lock of the QP.
 */
void dpa_schedule(struct dpa_hw_qp *qp, uint64_t when);
/* Remove a QP from the list. */
void dpa_unschedule(struct dpa_hw_qp *qp);
/* Wake the service thread. Context: any lock may be held; no cancellation point. */
void dpa_wake_self(struct dpa_hw *hw);
/*
 * The process is no longer quiet (eu/quiet.c): wake the service thread if its ticks back off. Call it
 * behind a post, behind packets that were taken in, and behind anything else that a tick has to see.
 * One load, as a rule. Context: as above.
 */
static inline void dpa_stir(struct dpa_hw *hw)
{
	if (__builtin_expect(atomic_load_explicit(&hw->quiet, memory_order_relaxed) != 0, 0) &&
	    atomic_exchange_explicit(&hw->quiet, 0, memory_order_acq_rel))
		dpa_wake_self(hw);
}

#endif
