/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * requester.c - takes WQEs from the SQ and makes packets of them. For the states of a QP's sending
 * side see req_state.h and README.md.
 */
#include <dpa_hw_trace.h>
#include "ctx/schedule.h"
#include "ctx/cq.h"
#include "foreign/foreign.h"
#include "ctx/mr.h"
#include "payload/mw.h"
#include "transport/xrc_branch.h"
#include "link/kick.h"
#include "transport/api.h"
#include "send/req_state.h"
#include "req_packet.h"
#include "req_wire.h"
#include "transport.h"
#include "ctx/ops.h"
#include "link/udp/wire.h"

#define BUDGET	       64 /* packets in one call: a post does bounded work */
#define BUDGET_PULLS   4
#define SOCKET_FULL_NS 50000ull

enum step { STEP_SENT, STEP_WAIT, STEP_FULL, STEP_FAILED };

/* A WQE's own error is reported after all WQEs posted before it: waits for those. */
/* IBA 9.7.3 (fault-order) */
static enum step local_fault(struct dpa_hw_qp *qp, uint32_t syn)
{
	if (qp->req.una_idx != qp->req.send_idx)
		return STEP_WAIT;
	dpa_req_fail(qp, dpa_status_of(syn), syn);
	return STEP_FAILED;
}

/* The same for a WQE that may have begun: a message that has started cannot be completed. */
static enum step begun_fault(struct dpa_hw_qp *qp, uint32_t syn)
{
	if (!qp->req.send_off)
		return local_fault(qp, syn);
	dpa_req_fail(qp, dpa_status_of(syn), syn);
	return STEP_FAILED;
}

/* Cuts the next packet of a WQE, from byte `off` on. */
static struct dpa_req_piece cut_packet(struct dpa_hw_qp *qp, uint32_t idx,
				       const struct dpa_wqe_ctrl *c, uint32_t off)
{
	uint32_t left = c->length - off, run;
	struct dpa_req_piece p = {.n = left};

	if (qp->pkt_flags)
		return dpa_req_cut_wire(qp, idx, c, left);
	run = dpa_slot_run(qp);
	if (run == DPA_LANE_MTU && qp->type == DPA_QP_RC && !qp->slow.limited &&
	    left >= DPA_PULL_MIN && !(c->flags & DPA_WQE_INLINE) && !dpa_wqe_careful(qp, idx, c) &&
	    atomic_load_explicit(&qp->tx->shm->pull, memory_order_relaxed)) {
		p.pull = true;
		if (left > DPA_PULL_CHUNK)
			p.n = DPA_PULL_CHUNK;
	} else if (left > run) {
		p.n = run;
	}
	return p;
}

/* Flags of the packet that ends a SEND or WRITE. */
/* IBA 9.2 (ackreq) */
DPA_STEP uint8_t last_flags(uint8_t wqe)
{
	return DPA_PKT_ACKREQ | (wqe & DPA_WQE_SOLICITED ? DPA_PKT_SE : 0);
}

DPA_STEP void count_data(struct dpa_tx *tx, uint32_t bytes, bool last, uint16_t props)
{
	dpa_count_add(&tx->stat.packets, 1);
	dpa_count_add(&tx->stat.bytes, bytes);
	if (last)
		dpa_count_add(props & DPA_OPP_SEND ? &tx->stat.sends : &tx->stat.writes, 1);
}

/* The WQE at send_idx, of nbb blocks, is sent completely, up to send_psn. */
DPA_STEP void next_wqe(struct dpa_req *r, uint32_t nbb)
{
	r->send_idx += nbb;
	r->send_off = 0;
	r->send_wqe_psn = r->send_psn;
	r->send_ssn++;
}

/* Packets up to send_psn were sent, for the first time or again. */
DPA_STEP void now_sent(struct dpa_req *r)
{
	if (dpa_psn_diff(r->send_psn, r->max_psn) > 0)
		r->max_psn = r->send_psn;
}

/*
 * Address of the bytes of a WQE of one block; NULL: they are elsewhere, or a plain copy is not
 * allowed.
 */
DPA_STEP const void *short_source(struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c, uint8_t flags,
				  uint32_t len)
{
	const struct dpa_sge g = *(const struct dpa_sge *)(c + 1);

	if (flags & DPA_WQE_INLINE)
		return len <= DPA_WQEBB - sizeof(*c) ? c + 1 : NULL;
	return c->nsge == 1 && g.length == len ? dpa_sge_plain(qp->hw, &g, len, qp->pdn, 0) : NULL;
}
_Static_assert(sizeof(struct dpa_wqe_ctrl) + sizeof(struct dpa_sge) <= DPA_WQEBB, "one block");

/* True for the fast path: the QP sends packets of RC and no condition blocks it. */
static inline bool is_fast(const struct dpa_hw_qp *qp)
{
	return !qp->slow.word && qp->transport == DPA_BTH_RC && dpa_link_is_plain(qp);
}

/*
 * Sends the WQE at send_idx of such a QP, if it is a SEND with one segment that fits an entry.
 * False: send_step() must do it; nothing was done. Context: tx->lock.
 */
DPA_STEP bool send_short(struct dpa_hw_qp *qp, struct dpa_tx *tx)
{
	struct dpa_req *r = &qp->req;
	const uint32_t idx = r->send_idx;
	const struct dpa_wqe_ctrl *c = dpa_wqe_ctrl(qp, idx);
	const uint32_t len = c->length;
	const uint8_t flags = c->flags;
	struct dpa_slot *s;
	const void *src;

	if (c->opcode != DPA_OP_SEND || c->nbb != 1 || c->index != idx || len - 1 >= DPA_PKT_EXT ||
	    (flags & DPA_WQE_FENCE) || r->send_off || !dpa_fits_window(qp, 1))
		return false;
	src = short_source(qp, c, flags, len);
	s = src ? dpa_pkt_begin(qp, tx, DPA_BTH_RC | DPA_BTH_SEND_ONLY, qp->dest_qpn, r->send_psn,
				len, 0, NULL)
		: NULL;
	if (!s)
		return false;
	s->flags = DPA_PKT_INSLOT | last_flags(flags);
	dpa_copy_short(s->ext, src, len);
	count_data(tx, len, true, DPA_OPS_SEND_ONLY);
	dpa_lane_publish(tx, s);
	r->send_psn = dpa_psn_add(r->send_psn, 1);
	next_wqe(r, 1);
	now_sent(r);
	return true;
}

/* Sends the messages of that kind from send_idx on. Returns their number. */
static inline int run_short(struct dpa_hw_qp *qp)
{
	struct dpa_tx *tx = qp->tx;
	const struct dpa_wqe_ctrl *c;
	uint32_t pi;
	int n = 0;

	if (dpa_unlikely(!is_fast(qp)))
		return 0;
	pi = dpa_sq_pi(qp);
	c = dpa_wqe_ctrl(qp, qp->req.send_idx);
	if (qp->req.send_idx == pi || c->opcode != DPA_OP_SEND || c->length > DPA_PKT_EXT)
		return 0;
	dpa_spin_lock(&tx->lock);
	while (qp->req.send_idx != pi && n < BUDGET && send_short(qp, tx))
		n++;
	dpa_spin_unlock(&tx->lock);
	if (n)
		dpa_tx_posted(tx, qp->hw);
	return n;
}

/* Sends one packet of a SEND or WRITE. `one`: address of the only SGE of a WQE that begins. */
static enum step send_data(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c,
			   uint64_t one)
{
	struct dpa_req *r = &qp->req;
	struct dpa_req_piece p = cut_packet(qp, idx, c, r->send_off);
	bool first = !r->send_off, last = r->send_off + p.n == c->length;
	uint8_t op = dpa_req_bth_opcode(qp, c->opcode, first, last), *data = NULL;
	uint32_t ext = dpa_ext_len(op), data_len, syn;
	struct dpa_slot *s;

	p.inslot = !p.pull && ext + p.n <= DPA_PKT_EXT;
	data_len = p.pull ? sizeof(struct dpa_pull) : p.inslot ? 0 : p.n;
	s = dpa_pkt_begin(qp, qp->tx, op, qp->dest_qpn, r->send_psn, p.n, data_len, &data);
	if (!s)
		return STEP_FULL;
	dpa_req_set_ext(qp, idx, c, s, r->send_off);
	if (!p.inslot)
		((struct dpa_ext *)s->ext)->path_mtu = qp->mtu;
	if (p.pull) {
		s->flags |= DPA_PKT_PULL;
		r->pulled = true;
		syn = dpa_pull_fill(qp, idx, c, r->send_off, p.n, data);
	} else {
		uint8_t *to = p.inslot ? s->ext + ext : data;

		s->flags |= p.inslot ? DPA_PKT_INSLOT : 0;
		syn = first && last && c->nsge == 1 ? dpa_gather_one(qp, idx, c, one, p.n, to)
						    : dpa_gather(qp, idx, c, r->send_off, p.n, to);
	}
	if (dpa_unlikely(syn)) {
		/* the entry was not published; a started message cannot be completed */
		if (first)
			return local_fault(qp, syn);
		dpa_req_fail(qp, dpa_status_of(syn), syn);
		return STEP_FAILED;
	}
	s->flags |= last ? last_flags(c->flags) : 0;
	count_data(qp->tx, p.n, last, dpa_op_props(op));
	r->send_psn = dpa_psn_add(r->send_psn, dpa_npkts(p.n, qp->mtu));
	if (qp->type == DPA_QP_RC && dpa_lossy(qp)) {
		if (last || dpa_loss_wants_ack(qp, p.n)) {
			s->flags |= DPA_PKT_ACKREQ;
			dpa_loss_asked(qp);
		}
	}
	dpa_lane_publish(qp->tx, s);
	r->send_off += p.n;
	if (last)
		next_wqe(r, c->nbb);
	return STEP_SENT;
}

/* A chunk of a READ comes in slots of DPA_LANE_MTU bytes, each cut where an SGE ends. */
#define READ_PUTS (DPA_READ_CHUNK / DPA_LANE_MTU + DPA_MAX_SGE)
_Static_assert((DPA_MAX_RD_ATOMIC + 1) * READ_PUTS < DPA_FOREIGN_PUTS - DPA_COPY_PIECES,
	       "READs that may be outstanding together have room in a window that is empty");

/* The window has room for the responses of n requests into memory that the CPU does not address. */
static bool responses_fit(struct dpa_hw_qp *qp, uint32_t n)
{
	return !dpa_foreign_use(qp) || /* the response fails */
	       dpa_foreign_fits(qp, n * READ_PUTS + DPA_COPY_PIECES, n * DPA_READ_CHUNK);
}

/*
 * Sends a READ or atomic request: one packet, which uses the PSNs of its response (IBA 9.7.3.1).
 * Where packets are lost, and into memory that the CPU does not address, a long READ is split into
 * several requests, so that no more is in flight than the receiver has room for.
 */
/* IBA 9.7.3 (read-psns), 9.7.3 (read-limit), 9.4.4 (rest) */
static enum step send_request(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c)
{
	struct dpa_req *r = &qp->req;
	bool read = dpa_op_is_read(c->opcode);
	uint32_t off = r->send_off, len = c->length, n = 0;
	struct dpa_slot *s;
	uint8_t op, *data = NULL;
	bool in_slot;

	if (read && !off && idx == r->una_idx)
		off = r->read_off;
	if (read && len > off - off % DPA_READ_CHUNK + DPA_READ_CHUNK && dpa_read_in_parts(qp, c))
		len = off - off % DPA_READ_CHUNK + DPA_READ_CHUNK;
	if (r->una_idx == r->send_idx && off <= r->read_off)
		r->rd_out = 0;
	if (r->rd_out >= qp->attr.max_rd_atomic)
		return STEP_WAIT;
	if (dpa_target_is_foreign(qp, idx, c) && !responses_fit(qp, r->rd_out + 1))
		return STEP_WAIT; /* dpa-foreign runs the QP */
	op = dpa_req_bth_opcode(qp, c->opcode, true, true);
	if (c->opcode == DPA_OP_ATOMIC_WRITE)
		n = 8;
	in_slot = dpa_ext_len(op) + n <= DPA_PKT_EXT;
	s = dpa_pkt_begin(qp, qp->tx, op, qp->dest_qpn, dpa_psn_add(r->send_wqe_psn, off / qp->mtu),
			  n, in_slot ? 0 : n, &data);
	if (!s)
		return STEP_FULL;
	dpa_req_set_ext(qp, idx, c, s, off);
	if (read)
		((struct dpa_ext *)s->ext)->dmalen = len - off;
	if (n) {
		uint32_t syn =
			dpa_gather(qp, idx, c, 0, n, in_slot ? s->ext + dpa_ext_len(op) : data);

		if (dpa_unlikely(syn))
			return local_fault(qp, syn); /* the entry was not published */
		s->flags |= in_slot ? DPA_PKT_INSLOT : 0;
	}
	s->flags |= DPA_PKT_ACKREQ;
	dpa_lane_publish(qp->tx, s);
	dpa_count_add(read ? &qp->tx->stat.reads : &qp->tx->stat.atomics, len == c->length);
	dpa_count_add(&qp->tx->stat.packets, 1);
	r->rd_out++;
	if (read && len < c->length) {
		r->send_off = len;
		r->send_psn = dpa_psn_add(r->send_wqe_psn, len / qp->mtu);
		return STEP_SENT;
	}
	r->send_psn = dpa_psn_add(r->send_wqe_psn, dpa_wqe_psns(qp, c));
	r->send_ssn += dpa_wqe_messages(qp, c) - 1;
	next_wqe(r, c->nbb);
	return STEP_SENT;
}

/* LOCAL_INV and BIND_MW take effect in order, after all WQEs before them are complete. */
static enum step local_op(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c)
{
	struct dpa_req *r = &qp->req;
	uint32_t syn;

	if (r->una_idx != r->send_idx)
		return STEP_WAIT;
	if (c->opcode == DPA_OP_LOCAL_INV) {
		syn = dpa_mw_invalidate(qp, c->imm);
	} else {
		uint32_t body = dpa_wqe_body(qp);
		const struct dpa_wqe_raddr *a = dpa_wqe_at(qp, idx, body);

		/* It waits for operations that use the window, and these may need the ring. */
		dpa_spin_unlock(&qp->tx->lock);
		syn = dpa_mw_bind(qp, a->rkey, c->imm, a->addr,
				  dpa_wqe_at(qp, idx, body + sizeof(*a)));
		dpa_spin_lock(&qp->tx->lock);
	}
	if (syn)
		return local_fault(qp, syn);
	r->send_idx += c->nbb;
	dpa_complete(qp, c, DPA_CQE_OK, 0);
	return STEP_SENT;
}

/* Maximum of payload in the next packets of this WQE. READs and atomics are requests only. */
static uint32_t next_bytes(const struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c)
{
	uint32_t left = dpa_op_answers(c->opcode) ? 0 : c->length - qp->req.send_off;

	return left < DPA_LANE_MTU ? left : DPA_LANE_MTU;
}

/* IBA 9.8.2 (sent) */
static enum step send_step(struct dpa_hw_qp *qp)
{
	struct dpa_req *r = &qp->req;
	uint32_t idx = r->send_idx;
	const struct dpa_wqe_ctrl *c = dpa_wqe_ctrl(qp, idx);
	const bool lossy = qp->type == DPA_QP_RC && dpa_lossy(qp);
	uint32_t syn, psn = r->send_psn;
	enum dpa_send_fate fate;
	uint64_t one = 0;
	enum step st;

	if (!r->send_off) {
		/* SQD: nothing new is sent; a retransmission is. */
		if (dpa_unlikely(qp->slow.fence_sq) && !qp->part.begun &&
		    dpa_psn_diff(r->send_psn, r->max_psn) >= 0)
			return STEP_WAIT;
		syn = dpa_check_wqe(qp, idx, c, &one);
		if (dpa_unlikely(syn))
			return local_fault(qp, syn);
		if (dpa_unlikely(qp->slow.inspected) &&
		    (fate = dpa_send_injected(qp, idx, c)) != DPA_SEND_GO)
			return fate == DPA_SEND_WAIT ? STEP_WAIT : STEP_FAILED;
		if (dpa_unlikely(qp->slow.inspected) && dpa_send_touches(qp, idx, c))
			return STEP_WAIT;
		if (dpa_unlikely(c->flags & DPA_WQE_FENCE) && r->rd_out)
			return STEP_WAIT;
		if (dpa_unlikely(!dpa_fits_window(qp, dpa_wqe_psns(qp, c))))
			return STEP_WAIT;
		if (dpa_unlikely(qp->transport == DPA_BTH_XRC)) {
			if (!dpa_turn_is(qp, idx))
				return STEP_WAIT;
			if (dpa_unlikely(qp->tx->acks_waiting)) /* they are sent first */
				return STEP_FULL;
		}
	}
	if (c->opcode == DPA_OP_LOCAL_INV || c->opcode == DPA_OP_BIND_MW)
		return local_op(qp, idx, c);
	if (dpa_unlikely(qp->hw->nforeign)) {
		syn = dpa_source_wait(qp, idx, c, r->send_off, DPA_LANE_MTU);
		if (syn == DPA_SYN_WAIT)
			return STEP_WAIT;
		if (syn)
			return begun_fault(qp, syn);
	}
	if (lossy &&
	    ((!r->send_off && !dpa_has_credit(qp, c)) || !dpa_loss_may_send(qp, c->length)))
		return STEP_WAIT;
	if (qp->type == DPA_QP_UC && qp->pkt_flags &&
	    !dpa_paced(qp, c->length - r->send_off < DPA_GSO_BYTES ? c->length - r->send_off
								   : DPA_GSO_BYTES))
		return STEP_WAIT;
	if (dpa_unlikely(qp->slow.limited) && !dpa_rate_allows(qp, next_bytes(qp, c)))
		return STEP_WAIT;
	if (dpa_op_answers(c->opcode))
		st = send_request(qp, idx, c);
	else
		st = send_data(qp, idx, c, one);
	if (st != STEP_SENT)
		return st;
	qp->part.begun = false;
	if (lossy)
		dpa_loss_sent(qp, psn);
	now_sent(r);
	if (lossy && r->probing == 1)
		dpa_loss_probed(qp);
	/* UC: done when sent (IBA 9.8.2) */
	if (qp->type == DPA_QP_UC && r->una_idx != r->send_idx)
		dpa_complete(qp, c, DPA_CQE_OK, 0);
	return STEP_SENT;
}

/* The socket did not take the packets from psn on. They were not sent, so they are not sent again. */
static void not_sent(struct dpa_hw_qp *qp, uint32_t psn)
{
	const uint32_t again = atomic_load_explicit(&qp->meter.again, memory_order_relaxed);

	dpa_rewind(qp, psn);
	atomic_store_explicit(&qp->meter.again, again, memory_order_relaxed);
}

/* Sends packets of a connected QP until the SQ is empty, the ring full or the budget spent. */
static int run_connected(struct dpa_hw_qp *qp, uint32_t pi)
{
	struct dpa_req *r = &qp->req;
	enum step st = STEP_SENT;
	uint32_t unsent;
	int n = 0, big = 0;

	if (dpa_unlikely(qp->transport == DPA_BTH_XRC) && !dpa_turn_begin(qp))
		return 0;
	if (dpa_unlikely(!qp->tx || atomic_load_explicit(&qp->peer->state, memory_order_relaxed) !=
					    DPA_PEER_UP)) {
		if (!dpa_resolve(qp))
			return 0;
	}
	struct dpa_tx *tx = qp->tx;

	if (qp->direct) {
		int direct = dpa_direct_run(qp, pi);

		if (direct == DPA_DIRECT_LATER)
			return 0;
		if (direct < 0)
			dpa_schedule(qp, 0);
		if (direct < 0 || r->send_idx == pi)
			return direct < 0 ? 1 : direct;
	}
	dpa_spin_lock(&tx->lock);
	r->pulled = false;
	if (tx->peer->wire) {
		dpa_req_set_manner(qp, tx, pi);
		dpa_req_ack_ahead(qp, tx, pi);
	}
	const bool fast = is_fast(qp);

	while (r->send_idx != pi && n < BUDGET && big < BUDGET_PULLS) {
		uint32_t before = r->send_psn;

		if (fast && send_short(qp, tx)) {
			n++;
			continue;
		}
		st = send_step(qp);
		if (st != STEP_SENT)
			break;
		n++;
		big += ((r->send_psn - before) & DPA_PSN_MASK) > 16;
	}
	if (n && qp->type == DPA_QP_RC && dpa_lossy(qp) && dpa_unlikely(dpa_probe_wanted(qp)))
		dpa_probe_put(qp, tx);
	if (n && tx->peer->wire) /* sent with them, in most cases in one datagram */
		dpa_responder_join(qp);
	if (tx->peer->wire && dpa_req_may_cork(qp, tx, n)) {
		dpa_wire_cork(tx);
	} else if (tx->peer->wire && dpa_wire_flush(tx, qp->qpn & DPA_QPN_INDEX, &unsent)) {
		/*
		 * The socket has no room: sending continues from there later. UC: the packets are
		 * lost.
		 */
		if (qp->type == DPA_QP_RC && unsent != DPA_WIRE_NO_PSN)
			not_sent(qp, unsent);
		dpa_schedule(qp, dpa_now_ns() + SOCKET_FULL_NS);
	}
	tx->piece = 0;
	dpa_spin_unlock(&tx->lock);
	if (n)
		dpa_tx_posted(tx, qp->hw);
	if (st == STEP_FULL)
		dpa_tx_full(qp, tx);
	else if (st == STEP_SENT && r->send_idx != pi)
		dpa_schedule(qp, 0);
	return n;
}

/*
 * IBA 10.3.1: True if SQD is reached: nothing is outstanding, and nothing waits for retransmission.
 */
static void check_drained(struct dpa_hw_qp *qp)
{
	struct dpa_req *r = &qp->req;

	if (!qp->attr.sq_draining || r->una_idx != r->send_idx || r->send_off || qp->part.off ||
	    qp->part.begun || dpa_psn_diff(r->max_psn, r->una_psn) > 0)
		return;
	qp->attr.sq_draining = 0;
	if (qp->attr.sqd_async_notify)
		dpa_qp_event(qp, DPA_EVENT_SQ_DRAINED);
}

/* IBA 9.7.6 (rnr-wait) */
static __attribute__((noinline)) int run_slow(struct dpa_hw_qp *qp)
{
	struct dpa_req *r = &qp->req;
	uint32_t pi;
	int n = 0;

	if (dpa_unlikely(qp->slow.cqe_lost))
		dpa_qp_cqe_lost(qp);
	if (dpa_unlikely(qp->state != DPA_QPS_RTS)) {
		if (qp->state == DPA_QPS_ERR || qp->state == DPA_QPS_SQE)
			dpa_requester_flush(qp);
		else if (qp->state != DPA_QPS_SQD)
			return 0;
	}
	if (!qp->dbrec)
		return 0;
	pi = dpa_sq_pi(qp);
	if (dpa_unlikely(qp->slow.wait_timer)) {
		if (dpa_now_ns() < r->timer) {
			dpa_schedule(qp, r->timer);
			return 0;
		}
		qp->slow.wait_timer = false;
		r->ack_at = 0;
		if (r->dead_at && qp->peer && qp->peer->state == DPA_PEER_DEAD) {
			dpa_requester_peer_dead(qp);
			return 0;
		}
		qp->tx = NULL; /* look up the owner of the QPN again */
		if (qp->peer && qp->peer->state == DPA_PEER_DEAD && !r->timer_is_rnr)
			qp->peer = NULL;
		qp->near.rkey = 0;
	}
	if (qp->state == DPA_QPS_RTS || qp->state == DPA_QPS_SQD) {
		const bool lossy = qp->type == DPA_QP_RC && dpa_lossy(qp);

		if (dpa_unlikely(lossy) && !dpa_loss_timers(qp))
			return 0;
		if (r->send_idx != pi)
			n = dpa_connected(qp) ? run_connected(qp, pi) : dpa_ud_run(qp, pi, BUDGET);
		if (qp->type == DPA_QP_RC && dpa_lossy(qp))
			dpa_loss_arm(qp);
		if (dpa_unlikely(qp->slow.ask_due))
			dpa_ask_send(qp);
	}
	if (dpa_unlikely(qp->state == DPA_QPS_SQD))
		check_drained(qp);
	return n;
}

/* Once for each WQE: a QP that cannot send runs again and again. */
static __attribute__((cold, noinline)) void trace_pickup(struct dpa_hw_qp *qp)
{
	uint32_t from = qp->req.send_idx, pi = qp->sq ? dpa_sq_pi(qp) : from;

	if ((int32_t)(qp->traced - from) > 0 && (int32_t)(pi - qp->traced) >= 0)
		from = qp->traced;
	if (from == pi)
		return;
	qp->traced = pi;
	dpa_trace_event(DPA_TRACE_PICKUP, 0, 0, qp->qpn, from, pi, 0);
}

static inline int run_any(struct dpa_hw_qp *qp)
{
	int n = run_short(qp);

	if (!n && qp->near.rkey)
		n = dpa_near_run(qp, dpa_sq_pi(qp), &(uint32_t){DPA_PULL_CHUNK});
	/* By BlueFlame: this WQE is sent without a read of the poster's cache line. */
	if (dpa_likely(n && (qp->bf || qp->req.send_idx == __atomic_load_n(&qp->dbrec->sq_pi,
									   __ATOMIC_ACQUIRE))))
		return n;
	return n + run_slow(qp);
}

int dpa_requester_run(struct dpa_hw_qp *qp)
{
	int n;

	if (dpa_unlikely(qp->slow.inspected) &&
	    atomic_load_explicit(&qp->hw->stopped, memory_order_relaxed))
		return 0; /* all QPs are scheduled when the device goes on */
	if (dpa_trace_is_on())
		trace_pickup(qp);
	n = run_any(qp);
	dpa_stir(qp->hw); /* behind what it sent: a tick before that would find nothing */
	return n;
}
