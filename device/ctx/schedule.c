/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* schedule.c - the list of QPs that have work to do. Progress removes them (eu/progress.c). */
#include "ctx/schedule.h"
#include "ctx/hw.h"
#include "ctx/qp.h"
#include "util/sys.h"

void dpa_wake_self(struct dpa_hw *hw)
{
	dpa_eventfd_wake(hw->wake_fd);
}

void dpa_schedule(struct dpa_hw_qp *qp, uint64_t when)
{
	struct dpa_hw *hw = qp->hw;
	bool added = false, earlier = false;

	dpa_spin_lock(&hw->pend_lock);
	if (!qp->pending) {
		qp->pending = true;
		qp->pend_next = NULL;
		if (hw->pend_tail)
			hw->pend_tail->pend_next = qp;
		else
			hw->pend_head = qp;
		hw->pend_tail = qp;
		added = true;
		atomic_fetch_add_explicit(&hw->npending, 1, memory_order_relaxed);
	}
	if (when < atomic_load_explicit(&hw->next_timer, memory_order_relaxed) ||
	    (added && atomic_load_explicit(&hw->npending, memory_order_relaxed) == 1)) {
		atomic_store_explicit(&hw->next_timer, when, memory_order_release);
		earlier = true;
	}
	dpa_spin_unlock(&hw->pend_lock);
	/*
	 * If the sleep flag is not visible yet the sleep will be short: sleep_until_woken() checks
	 * again.
	 */
	if (earlier && atomic_load_explicit(&hw->service_asleep, memory_order_relaxed))
		dpa_wake_self(hw);
}

void dpa_unschedule(struct dpa_hw_qp *qp)
{
	struct dpa_hw *hw = qp->hw;
	struct dpa_hw_qp **p, *prev = NULL;

	dpa_spin_lock(&hw->pend_lock);
	if (qp->pending) {
		for (p = &hw->pend_head; *p != qp; p = &(*p)->pend_next)
			prev = *p;
		*p = qp->pend_next;
		if (hw->pend_tail == qp)
			hw->pend_tail = prev;
		qp->pending = false;
		atomic_fetch_sub_explicit(&hw->npending, 1, memory_order_relaxed);
	}
	dpa_spin_unlock(&hw->pend_lock);
}
