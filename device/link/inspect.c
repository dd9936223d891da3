/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * inspect.c - faults, the modelled network and capture see the frames of every link here.
 *
 * Requests come from a setting of this process, or from a tool for all processes of the adapter. A
 * setting of the process takes precedence.
 *
 * Locks: in->lock is a leaf and is never held while a frame is passed on. in->follow serialises
 * threads that change the setup. in->arrivals is outside of all others; only tried where another
 * lock may be held.
 */
#include <stdio.h>
#include <string.h>
#include <dpa_hw_trace.h>
#include "ctx/schedule.h"
#include "link/peer.h"
#include "link/inspect.h"
#include "link/inspect_priv.h"
#include "inspect/capture.h"
#include "board/board_layout.h"
#include "tables/pcc.h"
#include "tables/tables.h"

/* ------------------------------------------------------------------ frames */

static void emit_shown(struct dpa_hw *hw, const struct dpa_shown *s)
{
	/* a packet that was passed on was captured by the process that received it */
	if (is_captured(hw) && !s->f.passed_on)
		dpa_capture_frame(hw->insp->capture, s->at, &s->f);
	s->emit(s->arg, &s->f);
}

void dpa_inspect_failure(struct dpa_hw *hw, const char *line, uint64_t ago)
{
	if (is_captured(hw))
		dpa_capture_failure(hw->insp->capture, line, ago);
}

bool dpa_inspect_new_due(struct dpa_hw *hw, struct dpa_fault *q)
{
	uint64_t was = atomic_load_explicit(&hw->inspect_due, memory_order_relaxed);
	const struct dpa_model *m = &hw->insp->model;
	uint64_t due = dpa_fault_next(q), arrives = dpa_model_next(m);
	bool none = !atomic_load_explicit(&hw->inspect_held, memory_order_relaxed);
	uint32_t held = q->held + m->held + m->out;

	due = arrives < due ? arrives : due;
	atomic_store_explicit(&hw->inspect_due, due, memory_order_relaxed);
	atomic_store_explicit(&hw->inspect_held, held, memory_order_release);
	return held && (none || due < was);
}

/* If the sleep flag is not visible yet, the sleep will be short, as for dpa_schedule(). */
static void wake_for(struct dpa_hw *hw)
{
	if (atomic_load_explicit(&hw->sleep.service, memory_order_relaxed))
		dpa_wake_self(hw);
}

/* ------------------------------------------------------------ the modelled network */

static void count_modelled(struct dpa_hw *hw, enum dpa_model_fate fate,
			   const struct dpa_linkq_act *a)
{
	if (fate == DPA_MODEL_NO_ROOM)
		dpa_count(hw, DPA_CNT_fault_overflow, 1);
	dpa_count(hw, DPA_CNT_link_dropped, fate == DPA_MODEL_DROPPED);
	dpa_count(hw, DPA_CNT_link_marked, fate == DPA_MODEL_HELD && a->marked);
	dpa_count(hw, DPA_CNT_link_waited, fate == DPA_MODEL_HELD && a->waited);
}

/* Under in->lock: the bytes that a packet met, for a recorder of flows. */
static void record_queue(struct dpa_hw *hw, uint64_t queued)
{
	struct dpa_board_pcc_queue *q = hw->insp->queue;

	if (!hw->cc.word ||
	    !dpa_pcc_word_recorded(atomic_load_explicit(hw->cc.word, memory_order_relaxed)))
		return;
	if (!q)
		q = hw->insp->queue = dpa_board_pcc_queue_mine(hw->board);
	if (!q)
		return;
	dpa_count_add(&q->sum, queued);
	dpa_count_add(&q->num, 1);
	if (queued > atomic_load_explicit(&q->max, memory_order_relaxed))
		atomic_store_explicit(&q->max, queued, memory_order_relaxed);
}

/* A frame is about to arrive. It arrives now only if no rule applies to it. */
static void pass_model(struct dpa_hw *hw, const struct dpa_shown *s)
{
	struct dpa_inspect *in = hw->insp;
	struct dpa_linkq_act a = {0};
	enum dpa_model_fate fate;
	bool wake;

	dpa_spin_lock(&in->lock);
	fate = dpa_model_take(&in->model, dpa_now_ns(), s, &a);
	if (fate == DPA_MODEL_HELD || fate == DPA_MODEL_DROPPED)
		record_queue(hw, a.queued);
	wake = dpa_inspect_new_due(hw, &in->fault);
	dpa_spin_unlock(&in->lock);
	count_modelled(hw, fate, &a);
	if (wake)
		wake_for(hw);
	if (fate == DPA_MODEL_FREE)
		emit_shown(hw, s);
}

/* Returns the number of frames. Context: in->arrivals. */
static int emit_arrived(struct dpa_hw *hw, struct dpa_held *list)
{
	struct dpa_inspect *in = hw->insp;
	int n = 0;

	if (!list)
		return 0;
	for (struct dpa_held *h = list; h; h = h->next, n++)
		emit_shown(hw, &h->s);
	dpa_spin_lock(&in->lock);
	dpa_model_done(&in->model, list);
	dpa_inspect_new_due(hw, &in->fault);
	dpa_spin_unlock(&in->lock);
	return n;
}

static int poll_model(struct dpa_hw *hw, uint64_t now)
{
	struct dpa_inspect *in = hw->insp;
	struct dpa_held *list;
	int n;

	if (!dpa_spin_try(&in->arrivals))
		return 0; /* that thread lets them arrive */
	dpa_spin_lock(&in->lock);
	list = dpa_model_due(&in->model, now);
	dpa_inspect_new_due(hw, &in->fault);
	dpa_spin_unlock(&in->lock);
	n = emit_arrived(hw, list);
	dpa_spin_unlock(&in->arrivals);
	return n;
}

static void pass_on_shown(struct dpa_hw *hw, const struct dpa_shown *s)
{
	if (s->at != DPA_AT_TX && is_modelled(hw))
		pass_model(hw, s);
	else
		emit_shown(hw, s);
}

/* ------------------------------------------------------------------ faults */

static void send_held(struct dpa_hw *hw, struct dpa_held *list)
{
	struct dpa_inspect *in = hw->insp;

	for (struct dpa_held *h = list; h; h = h->next) {
		pass_on_shown(hw, &h->s);
		if (h->s.users) /* the path may get another address from now on */
			atomic_fetch_sub_explicit(h->s.users, 1, memory_order_release);
	}
	dpa_spin_lock(&in->lock);
	dpa_fault_done(&in->fault, list);
	dpa_inspect_new_due(hw, &in->fault);
	dpa_spin_unlock(&in->lock);
}

/*
 * The counters are private to the process: they may lose a count between two threads, to save a
 * lock.
 */
static void count_fault(struct dpa_hw *hw, const struct dpa_fault_act *a)
{
	static const enum dpa_counter of[DPA_FAULT_KINDS] = {
		[DPA_FAULT_DROP] = DPA_CNT_fault_dropped,
		[DPA_FAULT_DUP] = DPA_CNT_fault_duplicated,
		[DPA_FAULT_REORDER] = DPA_CNT_fault_reordered,
		[DPA_FAULT_DELAY] = DPA_CNT_fault_delayed,
		[DPA_FAULT_CORRUPT] = DPA_CNT_fault_corrupted,
		[DPA_FAULT_TRUNCATE] = DPA_CNT_fault_truncated,
	};

	for (uint32_t k = 0; k < DPA_FAULT_KINDS; k++)
		if (a->kinds & 1u << k)
			dpa_count(hw, of[k], 1);
	if (a->kinds && dpa_trace_is_on())
		dpa_trace_event(DPA_TRACE_INJECT, 0, (uint8_t)__builtin_ctz(a->kinds), 0, a->kinds,
				0, 0);
}

/* Stores the frame, once or twice. Context: in->lock. */
static bool hold_packet(struct dpa_hw *hw, const struct dpa_fault_act *a, const struct dpa_shown *s)
{
	struct dpa_fault *q = &hw->insp->fault;
	uint32_t copies = a->kinds & 1u << DPA_FAULT_DUP ? 2 : 1;
	uint64_t now = dpa_now_ns();

	for (uint32_t i = 0; i < copies; i++) {
		if (!dpa_fault_hold(q, now, a, s))
			dpa_count(hw, DPA_CNT_fault_overflow, 1);
		else if (s->users) /* the caller has a hold on it, too */
			atomic_fetch_add_explicit(s->users, 1, memory_order_relaxed);
	}
	return dpa_inspect_new_due(hw, q);
}

/* Passes on copies: the receiver of a frame may overwrite the bytes in front of its payload. */
static void pass_packet(struct dpa_hw *hw, const struct dpa_fault_act *a, const struct dpa_shown *s)
{
	uint32_t copies = a->kinds & 1u << DPA_FAULT_DUP ? 2 : 1;
	uint8_t room[DPA_FRAME_ROOM + DPA_FRAME_BYTES];

	for (uint32_t i = 0; i < copies; i++) {
		struct dpa_shown c = *s;

		if (a->kinds && c.f.n <= DPA_FRAME_BYTES) {
			memcpy(room + DPA_FRAME_ROOM, s->f.p, c.f.n);
			c.f.p = room + DPA_FRAME_ROOM;
			c.f.n = dpa_fault_damage(a, room + DPA_FRAME_ROOM, c.f.n);
		}
		pass_on_shown(hw, &c);
	}
}

static void with_faults(struct dpa_hw *hw, const struct dpa_shown *s)
{
	struct dpa_inspect *in = hw->insp;
	struct dpa_fault_act a = {0};
	struct dpa_held *late = NULL;
	bool held, wake = false;

	dpa_spin_lock(&in->lock);
	if (dpa_fault_meant(&in->fault.spec, s->f.p, s->f.n))
		dpa_fault_decide(&in->fault.spec, in->fault.index++, s->f.n, &a);
	count_fault(hw, &a);
	held = a.kinds & (1u << DPA_FAULT_REORDER | 1u << DPA_FAULT_DELAY);
	if (held)
		wake = hold_packet(hw, &a, s);
	else if (!(a.kinds & 1u << DPA_FAULT_DROP))
		late = dpa_fault_overtaken(&in->fault, dpa_fault_key(&s->f));
	dpa_spin_unlock(&in->lock);
	if (wake)
		wake_for(hw);
	if (held || (a.kinds & 1u << DPA_FAULT_DROP))
		return;
	pass_packet(hw, &a, s);
	if (late)
		send_held(hw, late);
}

void dpa_inspect(struct dpa_hw *hw, enum dpa_inspect_at at, const struct dpa_frame *f,
		 dpa_inspect_emit_fn *emit, void *arg)
{
	struct dpa_shown s = {.at = at, .f = *f, .emit = emit, .arg = arg};

	if (at == DPA_AT_RX || !faults_on(hw))
		pass_on_shown(hw, &s);
	else
		with_faults(hw, &s);
}

void dpa_inspect_tx(struct dpa_hw *hw, const struct dpa_frame *f, dpa_inspect_emit_fn *emit,
		    void *arg, _Atomic uint32_t *users)
{
	struct dpa_shown s = {.at = DPA_AT_TX, .f = *f, .emit = emit, .arg = arg, .users = users};

	if (faults_on(hw))
		with_faults(hw, &s);
	else
		pass_on_shown(hw, &s);
}

bool dpa_inspect_only_drops(struct dpa_hw *hw)
{
	const struct dpa_fault *q = &hw->insp->fault;
	bool only = faults_on(hw) && !is_captured(hw);

	if (dpa_link_is_cut(hw))
		return true;
	dpa_spin_lock(&hw->insp->lock);
	for (uint32_t k = 0; k < DPA_FAULT_KINDS; k++)
		only &= k == DPA_FAULT_DROP || !q->spec.ppm[k];
	only &= !q->held;
	dpa_spin_unlock(&hw->insp->lock);
	return only;
}

bool dpa_inspect_drops(struct dpa_hw *hw, const uint8_t *p, uint32_t n)
{
	struct dpa_inspect *in = hw->insp;
	struct dpa_fault_act a = {0};

	if (dpa_link_is_cut(hw)) {
		/* of a port; a device that has stopped counts nothing */
		dpa_count(hw, DPA_CNT_tx_dropped,
			  (atomic_load_explicit(&hw->inspect, memory_order_relaxed) &
			   DPA_INSPECT_DOWN) != 0);
		return true;
	}
	dpa_spin_lock(&in->lock);
	if (dpa_fault_meant(&in->fault.spec, p, n))
		dpa_fault_decide(&in->fault.spec, in->fault.index++, n, &a);
	count_fault(hw, &a);
	dpa_spin_unlock(&in->lock);
	return a.kinds & 1u << DPA_FAULT_DROP;
}

int dpa_inspect_poll(struct dpa_hw *hw)
{
	struct dpa_inspect *in = hw->insp;
	uint64_t now = dpa_now_ns();
	struct dpa_held *list;
	int n = 0;

	if (dpa_inspect_due(hw) > now)
		return 0;
	dpa_spin_lock(&in->lock);
	list = dpa_fault_due(&in->fault, now);
	dpa_inspect_new_due(hw, &in->fault);
	dpa_spin_unlock(&in->lock);
	for (struct dpa_held *h = list; h; h = h->next)
		n++;
	if (list)
		send_held(hw, list);
	return n + poll_model(hw, now);
}

void dpa_inspect_last(struct dpa_peer *p)
{
	struct dpa_hw *hw = p->hw;
	struct dpa_held *list, *arrives;

	if (!atomic_load_explicit(&hw->inspect_held, memory_order_acquire))
		return;
	dpa_spin_lock(&hw->insp->lock);
	list = dpa_fault_of(&hw->insp->fault, p);
	dpa_spin_unlock(&hw->insp->lock);
	if (list)
		send_held(hw, list);
	dpa_spin_lock(&hw->insp->arrivals); /* after the frames that arrive just now */
	dpa_spin_lock(&hw->insp->lock);
	arrives = dpa_model_of(&hw->insp->model, p);
	dpa_inspect_new_due(hw, &hw->insp->fault);
	dpa_spin_unlock(&hw->insp->lock);
	emit_arrived(hw, arrives);
	dpa_spin_unlock(&hw->insp->arrivals);
}

uint64_t dpa_inspect_due(struct dpa_hw *hw)
{
	if (!atomic_load_explicit(&hw->inspect_held, memory_order_acquire))
		return UINT64_MAX;
	return atomic_load_explicit(&hw->inspect_due, memory_order_relaxed);
}

/* ------------------------------------------------------- rings of shared memory */

/* A ring of the wire is not one that a peer reads: its packets are lost where they leave. */
static void set_tx_down(struct dpa_tx *tx, bool down)
{
	if (tx->peer->wire)
		return;
	if (down)
		atomic_store_explicit(&tx->shm->lossy, 1, memory_order_release);
	atomic_store_explicit(&tx->down, down, memory_order_relaxed);
}

void dpa_inspect_lanes(struct dpa_peer *p)
{
	struct dpa_hw *hw = p->hw;
	uint32_t bits;
	bool pull, lossy;

	if (hw->insp)
		dpa_spin_lock(&hw->insp->words);
	bits = atomic_load_explicit(&hw->inspect, memory_order_seq_cst);
	for (uint32_t i = 0; i < DPA_LANES; i++) {
		struct dpa_lane_shm *shm =
			atomic_load_explicit(&p->rx[i].shm, memory_order_acquire);

		set_tx_down(&p->tx[i], bits & DPA_INSPECT_DOWN);
		if (!shm)
			continue;
		/*
		 * once lossy, always lossy: a packet lost just before the end still needs its timer
		 */
		lossy = (bits & (DPA_INSPECT_FAULT | DPA_INSPECT_MODEL | DPA_INSPECT_DOWN |
				 DPA_INSPECT_PEER)) ||
			atomic_load_explicit(&shm->lossy, memory_order_relaxed);
		pull = hw->cfg.pull == DPA_CFG_PULL_AUTO && p->can_pull &&
		       !(bits & DPA_INSPECT_LOOK) && !lossy;
		atomic_store_explicit(&shm->pull, pull, memory_order_release);
		if (lossy)
			atomic_store_explicit(&shm->lossy, 1, memory_order_release);
	}
	if (hw->insp)
		dpa_spin_unlock(&hw->insp->words);
}
