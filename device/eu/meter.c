/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * meter.c - the figures of QPs, EUs and the process that the service thread writes for tools, while
 * one of them reads: meter/meter.h. It takes no lock of a QP that is in use: then it writes the
 * counts, and the rest as it was.
 */
#include "board/board_layout.h"
#include "ctx/qp.h"
#include "eu/eu.h"
#include "eu/meter.h"
#include "eu/progress.h"
#include "eu/sched.h"
#include "eu/service.h"
#include "meter/meter.h"
#include "send/req_state.h"
#include "trace/trace.h"

#define TRIES 64  /* for the lock of a QP */
#define CHUNK 256 /* QPs for which hw->ctl is held at a time */

/* ------------------------------------------------------------------------ QPs */

static bool lock_is_taken(struct dpa_hw_qp *qp)
{
	for (int i = 0; i < TRIES; i++) {
		if (dpa_qplock_try(&qp->lock))
			return true;
		dpa_pause();
	}
	return false;
}

/* Reads the part that only the holder of the QP's lock may read. */
static void read_state(struct dpa_hw_qp *qp, struct dpa_meter *m)
{
	m->wait = (uint8_t)dpa_req_state(qp);
	m->send_psn = qp->req.send_psn;
	m->una_psn = qp->req.una_psn;
	m->epsn = qp->resp.epsn;
	m->queued = qp->dbrec ? dpa_sq_pi(qp) - qp->req.una_idx : 0;
	m->window = dpa_connected(qp) && qp->tx && dpa_lossy(qp) ? qp->pcc.window : UINT64_MAX;
}

static void read_counts(struct dpa_qp_meter *c, struct dpa_meter *m)
{
	const uint32_t error = atomic_load_explicit(&c->error, memory_order_relaxed);

	m->tx_bytes = atomic_load_explicit(&c->tx_bytes, memory_order_relaxed);
	m->rx_bytes = atomic_load_explicit(&c->rx_bytes, memory_order_relaxed);
	m->tx_msgs = atomic_load_explicit(&c->tx_msgs, memory_order_relaxed);
	m->rx_msgs = atomic_load_explicit(&c->rx_msgs, memory_order_relaxed);
	m->again = atomic_load_explicit(&c->again, memory_order_relaxed);
	m->rnr = atomic_load_explicit(&c->rnr, memory_order_relaxed);
	m->status = (uint8_t)error;
	m->vendor_err = (uint8_t)(error >> 8);
}

/* Context: hw->ctl, so that the QP keeps its slot. */
static void put_qp_meter(struct dpa_hw_qp *qp)
{
	struct dpa_meter m;

	if (!qp->qpn || !qp->slot)
		return;			     /* free, or a target of XRC */
	dpa_meter_get(&qp->slot->meter, &m); /* there is no other writer */
	if (lock_is_taken(qp)) {
		read_state(qp, &m);
		dpa_qp_leave(qp);
	}
	read_counts(&qp->meter, &m);
	dpa_meter_put(&qp->slot->meter, &m);
}

static void put_qps(struct dpa_hw *hw)
{
	const uint32_t n = atomic_load_explicit(&hw->qps.nslab, memory_order_acquire);

	for (uint32_t i = 0; i < n;) {
		pthread_mutex_lock(&hw->ctl);
		do
			put_qp_meter(hw->qps.slab[i]);
		while (++i < n && i % CHUNK);
		pthread_mutex_unlock(&hw->ctl);
	}
}

/* -------------------------------------------------------------------- threads */

static void put_process(struct dpa_hw *hw, uint64_t now)
{
	const uint64_t ns = hw->meter.at ? now - hw->meter.at : 0;
	struct dpa_board_proc *p = hw->board->self;
	struct dpa_meter_thread own = {
		.there = true,
		.busy = dpa_meter_busy(hw->service, &hw->meter.cpu, ns),
		.asleep = atomic_load_explicit(&hw->sleep.service, memory_order_relaxed),
		.waiter = atomic_load_explicit(&hw->sleep.waiter, memory_order_relaxed),
		.polls = dpa_sched_app_polls(hw),
	};

	atomic_store_explicit(&p->meter_own, dpa_meter_pack(&own), memory_order_relaxed);
	dpa_eu_meters(hw, ns, p->meter_eu, DPA_BOARD_METER_EUS);
	hw->meter.at = now;
	atomic_store_explicit(&p->meter_at, now, memory_order_release);
}

/* ---------------------------------------------------------------------- lease */

void dpa_meter_stop(struct dpa_hw *hw)
{
	if (hw->meter.on)
		dpa_meters_set(false);
	hw->meter.on = false;
}

void dpa_meter_tick(struct dpa_hw *hw, uint64_t now)
{
	if (dpa_likely(!dpa_meter_wanted(hw->board, now))) {
		dpa_meter_stop(hw);
		return;
	}
	if (!hw->meter.on) {
		hw->meter.on = true;
		hw->meter.at = hw->meter.due = hw->meter.cpu = 0;
		dpa_meters_set(true);
	}
	if (now < hw->meter.due)
		return;
	hw->meter.due = now + DPA_METER_NS;
	dpa_counters_fold(hw);
	put_qps(hw);
	put_process(hw, now);
}

uint64_t dpa_meter_wait(struct dpa_hw *hw, uint64_t ns)
{
	uint64_t now;

	if (!hw->meter.on)
		return ns;
	now = dpa_now_ns();
	if (hw->meter.due <= now)
		return 0;
	return hw->meter.due - now < ns ? hw->meter.due - now : ns;
}
