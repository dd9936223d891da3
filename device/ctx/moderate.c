/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * moderate.c - CQ moderation: the event of an armed CQ waits for a number of entries, or for a time
 * after the first one.
 * `held` and the limits of a CQ are under its lock. The list of waiting CQs, and the time of the
 * first event, are under hw->mod.lock, which is taken inside of a CQ's lock. The thread that fires
 * due events holds hw->mod.run, so that it never holds a CQ that is destroyed.
 */
#include "ctx/schedule.h"
#include "ctx/cq.h"
#include "ctx/moderate.h"

#define NEVER UINT64_MAX

/* Context: hw->mod.lock. */
static void set_due(struct dpa_hw *hw)
{
	uint64_t due = NEVER;

	for (struct dpa_hw_cq *c = hw->mod.list; c; c = c->mod_next)
		due = c->mod_due < due ? c->mod_due : due;
	/* 0 means never: the initial value of the word. */
	atomic_store_explicit(&hw->mod.due, due == NEVER ? 0 : due, memory_order_release);
}

static void unlist_cq(struct dpa_hw_cq *cq)
{
	struct dpa_hw *hw = cq->ctx->hw;
	struct dpa_hw_cq **p = &hw->mod.list;

	dpa_spin_lock(&hw->mod.lock);
	while (*p && *p != cq)
		p = &(*p)->mod_next;
	if (*p) {
		*p = cq->mod_next;
		set_due(hw);
	}
	dpa_spin_unlock(&hw->mod.lock);
}

static void list_cq(struct dpa_hw_cq *cq, uint64_t ns)
{
	struct dpa_hw *hw = cq->ctx->hw;
	uint64_t due = dpa_now_ns() + ns;
	struct dpa_hw_cq *c;

	dpa_spin_lock(&hw->mod.lock);
	for (c = hw->mod.list; c && c != cq; c = c->mod_next)
		;
	if (!c) { /* a late event may be in the list already */
		cq->mod_due = due;
		cq->mod_next = hw->mod.list;
		hw->mod.list = cq;
	} else if (due < cq->mod_due) {
		cq->mod_due = due;
	}
	set_due(hw);
	dpa_spin_unlock(&hw->mod.lock);
	if (atomic_load_explicit(&hw->sleep.service, memory_order_seq_cst))
		dpa_wake_self(hw);
}

void dpa_cq_late(struct dpa_hw_cq *cq, uint64_t ns)
{
	cq->late = true;
	list_cq(cq, ns);
}

bool dpa_cq_hold(struct dpa_hw_cq *cq)
{
	if (++cq->held < cq->mod_count) {
		if (cq->held == 1)
			list_cq(cq, cq->mod_period * 1000ull);
		return true;
	}
	if (cq->held > 1)
		unlist_cq(cq);
	cq->held = 0;
	return false;
}

/* Removes the first CQ that is due from the list. */
static struct dpa_hw_cq *pop_due_cq(struct dpa_hw *hw, uint64_t now)
{
	struct dpa_hw_cq **p = &hw->mod.list, *cq;

	dpa_spin_lock(&hw->mod.lock);
	while (*p && (*p)->mod_due > now)
		p = &(*p)->mod_next;
	cq = *p;
	if (cq) {
		*p = cq->mod_next;
		set_due(hw);
	}
	dpa_spin_unlock(&hw->mod.lock);
	return cq;
}

int dpa_moderation_run(struct dpa_hw *hw)
{
	uint64_t now = dpa_now_ns();
	struct dpa_hw_cq *cq;
	int n = 0;

	if (now < atomic_load_explicit(&hw->mod.due, memory_order_acquire) ||
	    !dpa_spin_try(&hw->mod.run))
		return 0;
	while ((cq = pop_due_cq(hw, now))) {
		dpa_cq_fire_held(cq);
		n++;
	}
	dpa_spin_unlock(&hw->mod.run);
	return n;
}

void dpa_moderation_forget(struct dpa_hw_cq *cq)
{
	struct dpa_hw *hw = cq->ctx->hw;

	dpa_spin_lock(&hw->mod.run);
	unlist_cq(cq);
	dpa_spin_unlock(&hw->mod.run);
}

int dpa_hw_modify_cq(struct dpa_hw_cq *cq, uint16_t count, uint16_t period)
{
	bool fire;

	dpa_spin_lock(&cq->lock);
	/* Without a period the wait for entries that do not come would never end. */
	cq->mod_count = period ? count : 0;
	cq->mod_period = period;
	fire = cq->held && cq->held >= cq->mod_count;
	dpa_spin_unlock(&cq->lock);
	if (fire)
		dpa_moderation_forget(cq);
	if (fire)
		dpa_cq_fire_held(cq);
	return 0;
}
