/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* drain.c - drains a ring: the packets of a peer reach their QPs, batch by batch. */
#include <string.h>
#include "transport/xrc_branch.h"
#include "link/kick.h"
#include "transport/api.h"
#include "link/udp/forward.h"
#include "link/frame.h"
#include "link/inspect.h"
#include "link/sock.h"
#include "wire/opcode.h"
#include "transport/writes.h"
#include "eu/drain.h"
#include "eu/sched.h"

#define BATCH	    64
/* including bytes read by rendezvous: the ring is held meanwhile */
#define BATCH_BYTES (1u << 20)
#define GIVE_BACK   (32u * 1024 / 64) /* data units */

#define AHEAD 2	   /* entries ahead whose QPs are prefetched */
#define SOON  4096 /* a longer packet takes long enough to report the ones before it first */

/* Copies the k'th entry from the front of a ring: it is read once and checked afterwards. */
DPA_STEP void read_rx_slot(const struct dpa_rx *rx, uint32_t k, struct dpa_slot *s)
{
	const struct dpa_lane_shm *shm = atomic_load_explicit(&rx->shm, memory_order_relaxed);
	uint32_t next = atomic_load_explicit(&rx->next, memory_order_relaxed) + k;

	memcpy(s, &shm->slots[next % DPA_LANE_SLOTS], sizeof(*s));
	s->flags &= DPA_PKT_ON_LANE;
}

/* Returns the address of an entry's payload; NULL: the entry is not valid. */
static const uint8_t *slot_payload(struct dpa_rx *rx, const struct dpa_slot *s, uint32_t *units)
{
	struct dpa_lane_shm *shm = atomic_load_explicit(&rx->shm, memory_order_relaxed);
	uint32_t bytes = s->len, at = s->data % DPA_LANE_UNITS, ext;

	*units = 0;
	if (dpa_unlikely(s->flags & DPA_PKT_PULL))
		bytes = sizeof(struct dpa_pull);
	else if (s->flags & DPA_PKT_INSLOT) {
		ext = dpa_ext_len(s->opcode);
		return s->len <= DPA_PKT_EXT - ext ? s->ext + ext : NULL;
	}
	if (!bytes)
		return s->ext;
	*units = bytes / 64 + !!(bytes % 64);
	if (bytes > DPA_LANE_DATA || at + *units > DPA_LANE_UNITS)
		return NULL;
	return shm->data + (size_t)at * 64;
}

/* `acks` NULL: the ACK of this QP is sent alone. The same holds for the functions below. */
DPA_STEP void leave_qp(struct dpa_hw_qp *qp, struct dpa_acks *acks)
{
	if (!qp)
		return;
	dpa_run_end(qp);
	if (!acks || !dpa_acks_take(acks, qp))
		dpa_responder_flush(qp);
	dpa_qp_leave(qp);
	if (acks && acks->n == DPA_ACKS)
		dpa_acks_publish(acks, acks->tx->peer->hw);
}

static void count_rx(struct dpa_rx *rx, const struct dpa_slot *s)
{
	uint16_t p = dpa_op_props(s->opcode);

	dpa_count_add(&rx->stat.packets, 1);
	dpa_count_add(&rx->stat.bytes, s->len);
	if ((p & (DPA_OPP_SEND | DPA_OPP_END)) == (DPA_OPP_SEND | DPA_OPP_END))
		dpa_count_add(&rx->stat.sends, 1);
	else if ((p & (DPA_OPP_WRITE | DPA_OPP_END)) == (DPA_OPP_WRITE | DPA_OPP_END))
		dpa_count_add(&rx->stat.writes, 1);
}

/* Returns the QP of a packet, locked; unlocks `cur` if that is another QP. */
DPA_STEP struct dpa_hw_qp *enter_qp(struct dpa_hw *hw, const struct dpa_slot *s,
				    struct dpa_hw_qp *cur, struct dpa_acks *acks)
{
	struct dpa_hw_qp *qp =
		atomic_load_explicit(&hw->qps.tab[s->dqpn & DPA_QPN_INDEX], memory_order_acquire);

	if (qp != cur) {
		leave_qp(cur, acks);
		if (qp)
			dpa_qplock_lock(&qp->lock);
		if (dpa_me.run)
			dpa_me.run->qp = qp;
	}
	return qp;
}

/* True: the packet was shown or dropped, and the QP is no longer locked. */
static bool is_inspected(struct dpa_hw_qp *qp, struct dpa_rx *rx, const struct dpa_slot *s,
			 const uint8_t *payload)
{
	struct dpa_hw *hw = rx->peer->hw;

	if (!(atomic_load_explicit(&hw->inspect, memory_order_relaxed) &
	      (DPA_INSPECT_LOOK & ~DPA_INSPECT_PEER)) &&
	    !dpa_link_is_cut(hw))
		return false;
	dpa_run_end(qp);
	if (dpa_link_is_cut(hw)) {
		dpa_count(hw, DPA_CNT_rx_dropped, 1);
		dpa_qp_leave(qp);
		return true;
	}
	/* frames do not show that an ownership epoch begins */
	if (qp->xrcd && !dpa_branch_rx(qp, rx->peer, s))
		return false;
	return dpa_inspect_slot(qp, rx->peer, s, payload);
}

/*
 * Processed entries at the front of a ring, and the start of the data behind them. An entry and its
 * data are released together, and not before the payload was placed or dropped, because the
 * producer writes the next payload there.
 */
struct taken {
	uint32_t slots; /* 0: the packet waits in its ring, and so does its data */
	uint32_t dnext;
};

/* The only place that moves a ring's read positions. Context: rx->lock. */
static void advance_ring(struct dpa_rx *rx, const struct taken *t)
{
	uint32_t next = atomic_load_explicit(&rx->next, memory_order_relaxed);

	rx->dnext = t->dnext;
	atomic_store_explicit(&rx->next, next + t->slots, memory_order_relaxed);
}

/*
 * Processes one packet. `cur` is the QP that is still locked from the previous packet. Sets *t: one
 * entry, or none if the packet waits for a receive or for its QP. Returns the QP that is locked
 * now.
 */
DPA_STEP struct dpa_hw_qp *drain_step(struct dpa_rx *rx, const struct dpa_slot *s,
				      struct dpa_hw_qp *cur, struct dpa_acks *acks, struct taken *t)
{
	struct dpa_hw *hw = rx->peer->hw;
	struct dpa_hw_qp *qp;
	const uint8_t *payload;
	uint32_t units;

	payload = slot_payload(rx, s, &units);
	t->slots = 1;
	t->dnext = units ? s->data + units : rx->dnext;
	if (dpa_unlikely(s->opcode >= DPA_LINK_LOST)) {
		if (s->opcode == DPA_LINK_LOST)
			return cur;
		if (payload && s->opcode == DPA_LINK_FRAME) {
			leave_qp(cur, acks);
			dpa_forward_take(hw, s, payload);
			return NULL;
		}
		if (s->opcode == DPA_LINK_ASK && acks) { /* no ACK may be left behind */
			leave_qp(cur, acks);
			dpa_acks_publish(acks, hw);
			cur = NULL;
		}
	}
	qp = enter_qp(hw, s, cur, acks);
	if (dpa_unlikely(!payload))
		dpa_count(hw, DPA_CNT_rx_malformed, 1);
	else if (dpa_unlikely(!qp || qp->qpn != s->dqpn)) {
		if (dpa_branch_held(hw, s)) {
			t->slots = 0;
			return qp;
		}
		dpa_transport_no_qp(hw, rx, s);
	} else if (dpa_unlikely(qp->type != DPA_QP_RC || qp->slow.foreign) &&
		   !dpa_link_is_cut(hw) && dpa_rx_must_wait(qp, rx->peer, s)) {
		t->slots = 0;
		return qp;
	} else if (dpa_unlikely(atomic_load_explicit(&hw->inspect, memory_order_relaxed) &
				DPA_INSPECT_LOOK) &&
		   is_inspected(qp, rx, s, payload))
		qp = NULL;
	else
		dpa_transport_rx(qp, rx->peer, s, payload);
	count_rx(rx, s);
	return qp;
}

static struct dpa_hw_qp *drain_one(struct dpa_rx *rx, const struct dpa_slot *s,
				   struct dpa_hw_qp *cur, struct dpa_acks *acks, struct taken *t)
{
	return drain_step(rx, s, cur, acks, t);
}

/* ACKs for several QPs: one packet each, without data, and none waits for a receive. */
static struct dpa_hw_qp *drain_acks(struct dpa_rx *rx, const struct dpa_slot *s,
				    struct dpa_hw_qp *cur, struct dpa_acks *acks, struct taken *t)
{
	struct dpa_slot ack;

	for (uint32_t i = 0; dpa_acks_get(s, i, &ack); i++)
		cur = drain_one(rx, &ack, cur, acks, t);
	*t = (struct taken){.slots = 1, .dnext = rx->dnext};
	return cur;
}

static bool next_is(const struct dpa_rx *rx, const struct dpa_slot *s, uint32_t k)
{
	const struct dpa_lane_shm *shm = atomic_load_explicit(&rx->shm, memory_order_relaxed);
	uint32_t next = atomic_load_explicit(&rx->next, memory_order_relaxed) + k;
	const struct dpa_slot *n = &shm->slots[next % DPA_LANE_SLOTS];

	return atomic_load_explicit(&n->seq, memory_order_acquire) == next + 1 &&
	       n->opcode == s->opcode && n->dqpn == s->dqpn;
}

/*
 * Carries out consecutive short WRITEs of one QP together; `s` is the first. *t: those whose bytes
 * are in place. False: none, and nothing was changed.
 */
static bool drain_writes(struct dpa_rx *rx, struct dpa_slot s, struct dpa_hw_qp *qp, int most,
			 struct taken *t)
{
	uint32_t dnext[DPA_PUTS], n = 0, units;
	struct dpa_writes w;

	if (!qp || qp->qpn != s.dqpn || !dpa_writes_begin(&w, qp, rx->peer))
		return false;
	do {
		const uint8_t *payload = slot_payload(rx, &s, &units);

		if (!payload || !dpa_writes_add(&w, &s, payload))
			break;
		dnext[n] = units ? s.data + units : n ? dnext[n - 1] : rx->dnext;
		if (++n == DPA_PUTS || n == (uint32_t)most || !next_is(rx, &s, n))
			break;
		read_rx_slot(rx, n, &s);
	} while (s.dqpn == qp->qpn);
	n = dpa_writes_end(&w);
	if (!n)
		return false;
	t->slots = n;
	t->dnext = dnext[n - 1];
	dpa_count_add(&rx->stat.packets, n);
	dpa_count_add(&rx->stat.bytes, w.bytes);
	dpa_count_add(&rx->stat.writes, n);
	return true;
}

static bool are_short_writes(const struct dpa_rx *rx, const struct dpa_slot *s)
{
	return s->opcode == (DPA_BTH_RC | DPA_BTH_WRITE_ONLY) && s->len - 1 < DPA_WRITES_MAX &&
	       next_is(rx, s, 1) &&
	       !atomic_load_explicit(&rx->peer->hw->inspect, memory_order_relaxed);
}

/*
 * Sets the next owner of this ring. The draining thread keeps it, unless batch after batch ends
 * with a QP that another thread posts to. Then that thread gets it, because the cache lines of that
 * QP are there. If it does not take the ring, because it does other things, it is offered less and
 * less often. Context: rx->lock.
 */
static void settle_owner(struct dpa_rx *rx, uintptr_t home)
{
	uintptr_t me = (uintptr_t)&dpa_me;
	uintptr_t before = atomic_load_explicit(&rx->owner, memory_order_relaxed), after = me;

	if (dpa_me.stands_in) {
		after = 0;
	} else if (!home || home == me) {
		rx->strays = 0;
		if (before == me)
			dpa_backoff_reset(&rx->keep);
	} else if (++rx->strays >= dpa_backoff_next(&rx->keep, DPA_KEEP_MIN)) {
		rx->strays = 0;
		dpa_backoff_step(&rx->keep, DPA_KEEP_MIN, DPA_KEEP_MAX);
		after = home;
	}
	if (before != after)
		atomic_store_explicit(&rx->owner, after, memory_order_relaxed);
	dpa_count_add(&rx->drains, 1);
}

static inline void expect_one(const struct dpa_hw *hw, uint32_t dqpn)
{
	dpa_qp_expect_rx(
		atomic_load_explicit(&hw->qps.tab[dqpn & DPA_QPN_INDEX], memory_order_relaxed));
}

/*
 * Packets of one ring come for thousands of QPs: prefetches the cache lines of the QPs behind the
 * entry at `next`. `seen` entries were checked already; returns the new value. The entries may hold
 * anything: these are hints.
 */
static inline uint32_t expect_entries(const struct dpa_rx *rx, const struct dpa_lane_shm *shm,
				      uint32_t next, uint32_t seen)
{
	const struct dpa_hw *hw = rx->peer->hw;

	if ((int32_t)(seen - next) <= 0)
		seen = next + 1;
	for (; seen - next <= AHEAD; seen++) {
		const struct dpa_slot *s = &shm->slots[seen % DPA_LANE_SLOTS];
		const struct dpa_more_acks *more = (const struct dpa_more_acks *)s->ext;

		if (atomic_load_explicit(&s->seq, memory_order_acquire) != seen + 1)
			break;
		if (s->dqpn != shm->slots[(seen - 1) % DPA_LANE_SLOTS].dqpn)
			expect_one(hw, s->dqpn);
		if (s->opcode != DPA_LINK_ACKS)
			continue;
		for (uint32_t i = 0; i < DPA_ACKS - 1; i++)
			expect_one(hw, more->ack[i].dqpn);
	}
	return seen;
}

/*
 * True if packets come one by one, as in a ping-pong. Then the entry behind a packet is not read
 * before the packet's answer was sent: its cache line is the sender's, and reading it would delay
 * everything.
 */
static bool expect_alone(struct dpa_rx *rx)
{
	bool alone = rx->lone && atomic_load_explicit(&rx->idle, memory_order_relaxed);

	atomic_store_explicit(&rx->idle, 0, memory_order_relaxed);
	return alone;
}

/* Drains up to BATCH packets. */
static int drain_batch(struct dpa_rx *rx, uintptr_t *home)
{
	struct dpa_lane_shm *shm = atomic_load_explicit(&rx->shm, memory_order_relaxed);
	uint32_t given = rx->dnext, seen = atomic_load_explicit(&rx->next, memory_order_relaxed);
	struct dpa_hw_qp *cur = NULL;
	struct dpa_acks acks = {.n = 0};
	uint64_t bytes = 0;
	struct dpa_run run;
	int n = 0;

	run.qp = NULL;
	run.n = 0;
	dpa_me.run = &run;
	while (n < BATCH && dpa_lane_ready(rx)) {
		uint32_t next = atomic_load_explicit(&rx->next, memory_order_relaxed);
		struct dpa_slot s;
		struct taken t = {0};

		read_rx_slot(rx, 0, &s);
		seen = expect_entries(rx, shm, next, seen);
		if (s.len > SOON)
			dpa_run_flush(&run);
		if (are_short_writes(rx, &s)) {
			cur = enter_qp(rx->peer->hw, &s, cur, &acks);
			drain_writes(rx, s, cur, BATCH - n, &t);
		}
		if (!t.slots) {
			bytes += s.len;
			cur = s.opcode == DPA_LINK_ACKS ? drain_acks(rx, &s, cur, &acks, &t)
							: drain_one(rx, &s, cur, &acks, &t);
		}
		if (dpa_unlikely(!t.slots))
			break;
		advance_ring(rx, &t);
		n += (int)t.slots;
		if (bytes >= BATCH_BYTES)
			break;
		/*
		 * Data space is released in parts, so that the sender fills one while we read
		 * another.
		 */
		if (rx->dnext - given >= GIVE_BACK) {
			given = rx->dnext;
			dpa_lane_release(rx);
		}
	}
	if (cur)
		*home = atomic_load_explicit(&cur->home, memory_order_relaxed);
	leave_qp(cur, acks.n ? &acks : NULL);
	dpa_acks_publish(&acks, rx->peer->hw);
	dpa_me.run = NULL;
	return n;
}

/* Drains one packet; its completions are reported at once. 0: the packet waits. */
static int drain_alone(struct dpa_rx *rx, uintptr_t *home)
{
	struct dpa_hw_qp *qp;
	struct dpa_slot s;
	struct taken t;

	read_rx_slot(rx, 0, &s);
	qp = dpa_unlikely(s.opcode == DPA_LINK_ACKS) ? drain_acks(rx, &s, NULL, NULL, &t)
						     : drain_step(rx, &s, NULL, NULL, &t);
	if (dpa_likely(t.slots))
		advance_ring(rx, &t);
	if (qp)
		*home = atomic_load_explicit(&qp->home, memory_order_relaxed);
	leave_qp(qp, NULL);
	return (int)t.slots;
}

DPA_STEP int drain_rx_ring(struct dpa_rx *rx)
{
	struct dpa_lane_shm *shm;
	uintptr_t home = 0;
	int n = 0;

	if (!expect_alone(rx))
		n = drain_batch(rx, &home);
	else if (dpa_lane_ready(rx))
		n = drain_alone(rx, &home);
	if (n) {
		rx->lone = n == 1;
		settle_owner(rx, home);
		dpa_me.watch = rx;
		dpa_me.watch_of = rx->peer->hw->serial;
		dpa_lane_release(rx);
		shm = atomic_load_explicit(&rx->shm, memory_order_relaxed);
		/* A producer that sets this word just now checks again by its timer. */
		if (dpa_unlikely(atomic_load_explicit(&shm->wants_space, memory_order_relaxed))) {
			atomic_store_explicit(&shm->wants_space, 0, memory_order_relaxed);
			dpa_tx_kick(&rx->peer->tx[0]);
		}
	}
	return n;
}

int dpa_lane_drain(struct dpa_rx *rx)
{
	int n;

	if (!dpa_spin_try(&rx->lock))
		return 0;
	n = drain_rx_ring(rx);
	dpa_spin_unlock(&rx->lock);
	return n;
}

__attribute__((cold)) int dpa_lane_drain_wait(struct dpa_rx *rx)
{
	int n;

	dpa_spin_lock(&rx->lock);
	n = drain_rx_ring(rx);
	dpa_spin_unlock(&rx->lock);
	return n;
}
