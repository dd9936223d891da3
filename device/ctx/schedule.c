/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* schedule.c - the list of QPs that have work to do. Progress removes them (eu/progress.c). */
#include "ctx/schedule.h"
#include "ctx/hw.h"
#include "ctx/qp.h"
#include "util/sys.h"

void dpa_wake_self(struct dpa_hw *hw)
{
	dpa_eventfd_wake(hw->fd.wake);
}

void dpa_schedule(struct dpa_hw_qp *qp, uint64_t when)
{
	struct dpa_hw *hw = qp->hw;
	bool added = false, earlier = false;

	dpa_spin_lock(&hw->pend.lock);
	if (!qp->pend.on) {
		qp->pend.on = true;
		qp->pend.next = NULL;
		if (hw->pend.tail)
			hw->pend.tail->pend.next = qp;
		else
			hw->pend.head = qp;
		hw->pend.tail = qp;
		added = true;
		atomic_fetch_add_explicit(&hw->pend.n, 1, memory_order_relaxed);
	}
	if (when < atomic_load_explicit(&hw->pend.next_timer, memory_order_relaxed) ||
	    (added && atomic_load_explicit(&hw->pend.n, memory_order_relaxed) == 1)) {
		atomic_store_explicit(&hw->pend.next_timer, when, memory_order_release);
		earlier = true;
	}
	dpa_spin_unlock(&hw->pend.lock);
	/*
	 * If the sleep flag is not visible yet the sleep will be short: sleep_until_woken() checks
	 * again.
	 */
	if (earlier && atomic_load_explicit(&hw->sleep.service, memory_order_relaxed))
		dpa_wake_self(hw);
}

void dpa_unschedule(struct dpa_hw_qp *qp)
{
	struct dpa_hw *hw = qp->hw;
	struct dpa_hw_qp **p, *prev = NULL;

	dpa_spin_lock(&hw->pend.lock);
	if (qp->pend.on) {
		for (p = &hw->pend.head; *p != qp; p = &(*p)->pend.next)
			prev = *p;
		*p = qp->pend.next;
		if (hw->pend.tail == qp)
			hw->pend.tail = prev;
		qp->pend.on = false;
		atomic_fetch_sub_explicit(&hw->pend.n, 1, memory_order_relaxed);
	}
	dpa_spin_unlock(&hw->pend.lock);
}
