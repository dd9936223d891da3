/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * acks.c - plain ACKs for packets from the wire, which may wait until there is nothing else to do.
 */
#include "transport/api.h"
#include "transport/transport.h"

/*
 * The ACK of a message that came alone waits until its EU is idle: the application gets its
 * completion first, and the ACK may leave together with the program's answer.
 */
static void ack_later(struct dpa_hw_qp *qp)
{
	struct dpa_hw *hw = qp->hw;

	dpa_spin_lock(&hw->acks.lock);
	if (!qp->late.listed) {
		qp->late.listed = true;
		qp->late.next = hw->acks.list;
		hw->acks.list = qp;
	}
	atomic_store_explicit(&hw->acks.owed, 1, memory_order_release);
	dpa_spin_unlock(&hw->acks.lock);
}

void dpa_acks_send(struct dpa_hw *hw)
{
	struct dpa_hw_qp *qp, *next;

	for (;;) {
		dpa_spin_lock(&hw->acks.lock);
		qp = hw->acks.list;
		next = qp ? qp->late.next : NULL;
		hw->acks.list = next;
		if (qp)
			qp->late.listed = false;
		if (!next)
			atomic_store_explicit(&hw->acks.owed, 0, memory_order_relaxed);
		dpa_spin_unlock(&hw->acks.lock);
		if (!qp)
			return;
		dpa_qplock_lock(&qp->lock);
		if (qp->qpn)
			dpa_responder_flush(qp);
		dpa_qp_leave(qp);
	}
}

/*
 * True if the lock is free. In a signal handler the interrupted thread may hold it; other threads
 * release it.
 */
static bool is_lock_free(dpa_spin_t *lock)
{
	if (!dpa_spin_try(lock))
		return false;
	dpa_spin_unlock(lock);
	return true;
}

void dpa_acks_leave(struct dpa_hw *hw)
{
	struct dpa_hw_qp *qp;

	for (;;) {
		if (!dpa_spin_try(&hw->acks.lock))
			return;
		qp = hw->acks.list;
		if (qp) {
			hw->acks.list = qp->late.next;
			qp->late.listed = false;
		} else {
			atomic_store_explicit(&hw->acks.owed, 0, memory_order_relaxed);
		}
		dpa_spin_unlock(&hw->acks.lock);
		if (!qp)
			return;
		if (!dpa_qplock_enter_or_note(&qp->lock))
			continue;
		/* if the ring has no room the QP is scheduled again */
		if (qp->qpn && qp->peer && is_lock_free(&qp->peer->tx[qp->lane].lock) &&
		    is_lock_free(&hw->pend.lock))
			dpa_responder_flush(qp);
		dpa_qp_leave(qp);
	}
}

void dpa_acks_forget(struct dpa_hw_qp *qp)
{
	struct dpa_hw *hw = qp->hw;
	struct dpa_hw_qp **p = &hw->acks.list;

	dpa_spin_lock(&hw->acks.lock);
	while (*p && *p != qp)
		p = &(*p)->late.next;
	if (*p)
		*p = qp->late.next;
	qp->late.listed = false;
	dpa_spin_unlock(&hw->acks.lock);
}

void dpa_pkt_done(struct dpa_hw_qp *qp, bool soon)
{
	if (!qp)
		return;
	if (dpa_unlikely(qp->xrcd))
		dpa_run_end(qp);
	if (!soon && qp->pkt_flags && dpa_owes_ack(qp)) {
		qp->resp.ack_late = true;
		ack_later(qp);
	} else {
		dpa_responder_flush(qp);
	}
	dpa_qp_leave(qp);
}
