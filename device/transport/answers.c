/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * answers.c - the pending answers of a responder: READ and atomic responses in order, followed by
 * one ACK or NAK. They are sent after the batch that contained the requests, or together with the
 * QP's own next packets.
 */
#include "cc/cc.h"
#include "ctx/schedule.h"
#include "ctx/mr.h"
#include "ctx/copy.h"
#include "failure/failure.h"
#include "foreign/foreign.h"
#include "link/kick.h"
#include "transport/api.h"
#include "transport.h"
#include "payload/payload.h"
#include "recv/peer.h"
#include "link/udp/wire.h"

#define WAITS	2
#define HEADERS 64 /* of a packet, about, as loss.c counts them */

/*
 * True if a NAK is pending that ends the connection: nothing behind it is carried out (IBA 9.9.3).
 */
/* IBA 9.9 (behind) */
bool dpa_resp_failing(const struct dpa_resp *r)
{
	return r->ack_owed && (r->ack_syndrome & DPA_AETH_KIND) == DPA_AETH_NAK &&
	       (r->ack_syndrome & 0x1f) != DPA_NAK_PSN_SEQ;
}

/*
 * IBA 9.7.7.2: number of receives posted for messages beyond MSN. None on shared memory, where the
 * requester waits for an RNR NAK at most; none with an SRQ, which QPs share.
 */
/* IBA 9.7.5 (credits) */
static uint8_t credits_of(const struct dpa_hw_qp *qp)
{
	uint32_t n;

	if (!qp->pkt_flags || qp->srq || !qp->rq)
		return DPA_AETH_NO_CREDITS;
	n = __atomic_load_n(&qp->dbrec->rq_pi, __ATOMIC_ACQUIRE) - qp->rq_ci;
	return dpa_credit_code(n);
}

DPA_STEP struct dpa_slot *answer_begin(struct dpa_hw_qp *qp, uint8_t op, uint32_t psn, uint32_t len,
				       uint32_t data_len, uint8_t **data)
{
	struct dpa_slot *s = dpa_pkt_begin(qp, qp->tx, qp->transport | op, qp->dest_qpn, psn, len,
					   data_len, data);
	struct dpa_ext *x;

	if (!s)
		return NULL;
	x = (struct dpa_ext *)s->ext;
	x->msn = qp->resp.msn;
	x->syndrome = DPA_AETH_ACK | credits_of(qp);
	return s;
}

/* Checks that the region still is the one of the request. */
static uint32_t rd_source(struct dpa_hw_qp *qp, const struct dpa_rd_resource *rd, uint32_t n,
			  uint64_t *addr)
{
	uint32_t pdn = qp->pdn, syn;

	if (!n) {
		*addr = 0;
		return 0;
	}
	qp->pdn = rd->pdn;
	syn = dpa_mr_check_remote(qp, rd->rkey, rd->va + rd->off, n, DPA_ACCESS_REMOTE_READ, addr);
	qp->pdn = pdn;
	return syn;
}

static void fill_read_pull(struct dpa_hw_qp *qp, const struct dpa_rd_resource *rd, uint32_t gen,
			   uint64_t addr, uint32_t n, uint8_t *data)
{
	struct dpa_pull *p = (struct dpa_pull *)data;

	p->niov = 1;
	p->epoch = atomic_load_explicit(&qp->hw->export->qp_epoch[qp->qpn & DPA_QPN_INDEX],
					memory_order_relaxed);
	p->rkey = rd->rkey;
	p->gen = gen;
	p->iov[0].addr = addr;
	p->iov[0].len = n;
}

/*
 * Reads the next n bytes of a response from memory that cannot be addressed. Results as for
 * send_read_piece(); 1: the bytes are there.
 */
static int fetch_source(struct dpa_hw_qp *qp, const struct dpa_rd_resource *rd, uint64_t addr,
			uint32_t n)
{
	const struct dpa_response r = {.number = qp->resp.rd_tail,
				       .off = rd->off,
				       .len = rd->len,
				       .rkey = rd->rkey,
				       .addr = addr};
	uint32_t syn = dpa_source_response(qp, &r, n);

	return !syn ? 1 : syn == DPA_SYN_WAIT ? WAITS : -1;
}

static bool read_source(struct dpa_hw_qp *qp, const struct dpa_rd_resource *rd, uint64_t addr,
			uint32_t n, uint8_t *to)
{
	if (dpa_unlikely(qp->slow.foreign) && dpa_foreign_of(qp->hw, rd->rkey))
		return dpa_gets_copy(&qp->fq->response, qp->resp.rd_tail, rd->off, n, to);
	return !dpa_copy_in(qp->hw, to, addr, n);
}

/*
 * Sends one packet of a READ response. 1: sent; 0: no room; -1: the region is gone; WAITS: its
 * bytes are not here yet.
 */
/* IBA 9.4 (read-response) */
static int send_read_piece(struct dpa_hw_qp *qp, struct dpa_rd_resource *rd)
{
	uint32_t run = dpa_slot_run(qp), left = rd->len - rd->off, n = left < run ? left : run;
	uint32_t data_len, gen;
	bool pull = !dpa_lossy(qp) && left >= DPA_PULL_MIN && !dpa_mr_careful(qp->hw, rd->rkey) &&
		    atomic_load_explicit(&qp->tx->shm->pull, memory_order_relaxed);
	uint32_t psn = dpa_psn_add(rd->psn, rd->off / qp->mtu);
	struct dpa_slot *s;
	uint8_t op, *data = NULL;
	uint64_t addr;
	bool last, inslot;

	if (pull)
		n = left < DPA_PULL_CHUNK ? left : DPA_PULL_CHUNK;
	last = n == left;
	/* Read before the key and the rights: a later change of any of them is detected by it. */
	gen = atomic_load_explicit(&qp->hw->export->mr_gen[rd->rkey >> DPA_KEY_TAG_BITS],
				   memory_order_seq_cst);
	if (rd_source(qp, rd, n, &addr))
		return -1;
	if (dpa_unlikely(qp->hw->nforeign) && n && dpa_foreign_of(qp->hw, rd->rkey)) {
		int there = fetch_source(qp, rd, addr, n);

		if (there != 1)
			return there;
	}
	op = dpa_op_segment(DPA_BTH_READ_RESP_ONLY, !rd->off, last);
	inslot = !pull && dpa_ext_len(op) + n <= DPA_PKT_EXT;
	data_len = pull ? sizeof(struct dpa_pull) : inslot ? 0 : n;
	s = answer_begin(qp, op, psn, n, data_len, &data);
	if (!s)
		return 0;
	if (!inslot)
		((struct dpa_ext *)s->ext)->path_mtu = qp->mtu;
	if (pull) {
		s->flags |= DPA_PKT_PULL;
		fill_read_pull(qp, rd, gen, addr, n, data);
	} else {
		s->flags |= inslot ? DPA_PKT_INSLOT : 0;
		if (n && !read_source(qp, rd, addr, n, inslot ? s->ext + dpa_ext_len(op) : data))
			return -1;
	}
	dpa_lane_publish(qp->tx, s);
	rd->off += n;
	rd->done = last;
	return 1;
}

static int send_atomic_ack(struct dpa_hw_qp *qp, struct dpa_rd_resource *rd)
{
	uint8_t *data;
	struct dpa_slot *s = answer_begin(qp, DPA_BTH_ATOMIC_ACK, rd->psn, 0, 0, &data);

	if (!s)
		return 0;
	((struct dpa_ext *)s->ext)->orig = rd->orig;
	dpa_lane_publish(qp->tx, s);
	rd->done = true;
	return 1;
}

/*
 * As send_read_piece(), at the rate of the flow (cc/cc.h) on a link that can be congested. WAITS: it
 * is not time yet; the QP is scheduled.
 */
static int pace_read_piece(struct dpa_hw_qp *qp, struct dpa_rd_resource *rd)
{
	uint32_t left = rd->len - rd->off, off = rd->off;
	int k;

	if (dpa_likely(!dpa_lossy(qp)))
		return send_read_piece(qp, rd);
	if (!dpa_cc_may_respond(qp, (left < qp->mtu ? left : qp->mtu) + HEADERS))
		return WAITS;
	k = send_read_piece(qp, rd);
	if (k == 1)
		dpa_cc_responded(qp, dpa_npkts(rd->off - off, qp->mtu) * qp->mtu);
	return k;
}

/* The region of a READ is gone, or its memory, after the request was accepted. */
static void record_gone(struct dpa_hw_qp *qp, const struct dpa_rd_resource *rd, uint32_t psn)
{
	uint64_t addr;
	const uint32_t syn = rd_source(qp, rd, 1, &addr);
	const struct dpa_refusal r = {.psn = psn,
				      .opcode = rd->opcode,
				      .nak = DPA_NAK_REM_ACCESS,
				      .reason = syn ? dpa_of_rkey(syn) : DPA_SYN_LOCAL_FAULT,
				      .access = DPA_ACCESS_REMOTE_READ,
				      .va = rd->va,
				      .len = rd->len,
				      .rkey = rd->rkey};

	dpa_refused(qp, &r);
}

/*
 * Sends the pending READ and atomic responses in order. False: no room, not yet, or a region is
 * gone.
 */
/* IBA C9-110 */
static bool send_responses(struct dpa_hw_qp *qp)
{
	struct dpa_resp *r = &qp->resp;

	while (r->rd_tail != r->rd_head) {
		struct dpa_rd_resource *rd = &r->rd[r->rd_tail % DPA_RD_OWED];
		int k = dpa_op_props(rd->opcode) & DPA_OPP_ATOMIC ? send_atomic_ack(qp, rd)
								  : pace_read_piece(qp, rd);

		if (k == WAITS)
			return false;
		if (!k) {
			dpa_tx_full(qp, qp->tx);
			return false;
		}
		if (k < 0) { /* a NAK takes the place of the rest */
			r->rd_tail = r->rd_head;
			r->ack_owed = true;
			r->ack_psn = dpa_psn_add(rd->psn, rd->off / qp->mtu);
			r->ack_syndrome = DPA_AETH_NAK | DPA_NAK_REM_ACCESS;
			record_gone(qp, rd, r->ack_psn);
			return true;
		}
		if (rd->done)
			r->rd_tail++;
	}
	return true;
}

/*
 * An answer of an XRC target found no room, but its completion becomes visible. Counts it, so that
 * messages that the program then sends by its initiators wait behind the answer (requester.c).
 * Context: tx->lock.
 */
static void show_waiting(struct dpa_hw_qp *qp, struct dpa_tx *tx)
{
	struct dpa_resp *r = &qp->resp;
	const bool waits = r->ack_owed || r->rd_tail != r->rd_head;

	if (dpa_likely(!qp->xrcd) || waits == (r->ack_waits != NULL))
		return;
	if (r->ack_waits)
		r->ack_waits->acks_waiting--;
	else
		tx->acks_waiting++;
	r->ack_waits = r->ack_waits ? NULL : tx;
}

void dpa_waits_no_more(struct dpa_hw_qp *qp)
{
	struct dpa_tx *tx = qp->resp.ack_waits;

	if (dpa_likely(!tx))
		return;
	dpa_spin_lock(&tx->lock);
	tx->acks_waiting--;
	dpa_spin_unlock(&tx->lock);
	qp->resp.ack_waits = NULL;
}

/* Puts the pending plain ACK on the ring. False: no room. Context: tx->lock. */
DPA_STEP bool put_ack(struct dpa_hw_qp *qp)
{
	struct dpa_slot *s = answer_begin(qp, DPA_BTH_ACK, qp->resp.ack_psn, 0, 0, NULL);

	if (!s)
		return false;
	dpa_lane_publish(qp->tx, s);
	qp->resp.ack_owed = qp->resp.ack_late = false;
	return true;
}

void dpa_responder_join(struct dpa_hw_qp *qp)
{
	if (dpa_owes_ack(qp) && !dpa_unlikely(qp->slow.inspected && dpa_answer_waits(qp)))
		put_ack(qp);
}

/* True if only a plain ACK is pending, for a QP of this host whose ring exists. */
static inline bool has_short_ack(struct dpa_hw_qp *qp)
{
	return dpa_owes_ack(qp) && qp->tx && !qp->tx->peer->wire && qp->transport == DPA_BTH_RC &&
	       !dpa_unlikely(qp->slow.inspected && dpa_answer_waits(qp)) &&
	       atomic_load_explicit(&qp->tx->peer->state, memory_order_relaxed) == DPA_PEER_UP;
}

/* The fast path of flush_answers(). False: the ACK is still pending. */
static inline bool flush_short(struct dpa_hw_qp *qp)
{
	struct dpa_tx *tx = qp->tx;
	bool sent;

	if (!has_short_ack(qp))
		return false;
	dpa_spin_lock(&tx->lock);
	sent = put_ack(qp);
	dpa_spin_unlock(&tx->lock);
	if (dpa_likely(sent))
		dpa_tx_owe_kick(tx, qp->hw);
	return sent;
}

static __attribute__((noinline)) void flush_answers(struct dpa_hw_qp *qp);

/* IBA 9.9 (class-c) */
static void flush_answers(struct dpa_hw_qp *qp)
{
	struct dpa_resp *r = &qp->resp;
	uint32_t unsent;
	uint8_t *data;
	bool fatal = false;

	if (!dpa_have_tx(qp))
		return;
	struct dpa_tx *tx = qp->tx;

	dpa_spin_lock(&tx->lock);
	if (!qp->pkt_flags) /* to another process: nothing is sent with it */
		dpa_responder_join(qp);
	if (send_responses(qp) && r->ack_owed) {
		struct dpa_slot *s = answer_begin(qp, DPA_BTH_ACK, r->ack_psn, 0, 0, &data);

		if (s) {
			((struct dpa_ext *)s->ext)->syndrome =
				(r->ack_syndrome & DPA_AETH_KIND) == DPA_AETH_ACK
					? DPA_AETH_ACK | credits_of(qp)
					: r->ack_syndrome;
			dpa_lane_publish(tx, s);
			fatal = dpa_resp_failing(r);
			r->ack_owed = r->ack_late = false;
		} else {
			dpa_tx_full(qp, tx);
		}
	}
	show_waiting(qp, tx);
	if (dpa_unlikely(dpa_probe_wanted(qp)) && qp->type == DPA_QP_RC && dpa_lossy(qp))
		dpa_probe_put(qp, tx);
	if (tx->peer->wire) /* if the socket has no room the answer is lost, as on any wire */
		dpa_wire_flush(tx, UINT32_MAX, &unsent);
	dpa_spin_unlock(&tx->lock);
	dpa_tx_owe_kick(tx, qp->hw);
	if (fatal && qp->state != DPA_QPS_ERR) {
		dpa_qp_event(qp, (r->ack_syndrome & 0x1f) == DPA_NAK_REM_ACCESS
					 ? DPA_EVENT_QP_ACCESS_ERR
					 : DPA_EVENT_QP_REQ_ERR);
		dpa_qp_to_error(qp);
	}
}

/*
 * A part of the memory that cannot be addressed has its data: acknowledges that part. The pending
 * ACK stays pending. Not if the ACK's MSN matters (credits).
 */
static void ack_foreign_part(struct dpa_hw_qp *qp)
{
	const uint32_t owed = qp->resp.ack_psn;
	struct dpa_resp *r = &qp->resp;
	struct dpa_tx *tx = qp->tx;

	if (!qp->fq->part || !tx || qp->pkt_flags || !r->ack_owed || r->rd_head != r->rd_tail ||
	    (r->ack_syndrome & DPA_AETH_KIND) != DPA_AETH_ACK ||
	    atomic_load_explicit(&tx->peer->state, memory_order_relaxed) != DPA_PEER_UP)
		return;
	qp->fq->part = false;
	dpa_spin_lock(&tx->lock);
	r->ack_psn = qp->fq->acked;
	put_ack(qp);
	r->ack_psn = owed;
	r->ack_owed = true;
	dpa_spin_unlock(&tx->lock);
	dpa_tx_owe_kick(tx, qp->hw);
}

void dpa_responder_flush(struct dpa_hw_qp *qp)
{
	const struct dpa_resp *r = &qp->resp;
	const bool owes = r->ack_owed || r->rd_tail != r->rd_head;

	if (dpa_likely(!owes && !r->looked_due && !r->hint_due && !r->full_due && !r->room_due &&
		       !r->np_due))
		return;
	if (dpa_unlikely(r->np_due))
		dpa_np_look(qp);
	if (dpa_unlikely(r->full_due || r->room_due))
		dpa_room_send(qp);
	if (dpa_foreign_held(qp)) { /* dpa-foreign calls this again when all data is in place */
		ack_foreign_part(qp);
		return;
	}
	if (dpa_unlikely(qp->slow.inspected) && owes && dpa_answer_waits(qp))
		return;
	if (dpa_likely(owes) && !flush_short(qp))
		flush_answers(qp);
	if (dpa_unlikely(r->looked_due || r->hint_due))
		dpa_looked_send(qp);
}

bool dpa_acks_take(struct dpa_acks *acks, struct dpa_hw_qp *qp)
{
	struct dpa_resp *r = &qp->resp;
	struct dpa_tx *tx = qp->tx;

	if (!has_short_ack(qp) || r->looked_due || r->hint_due || r->full_due || r->room_due ||
	    acks->n == DPA_ACKS || (acks->n && acks->tx != tx))
		return false;
	acks->tx = tx;
	acks->ack[acks->n].src = (uint16_t)(qp->qpn & DPA_QPN_INDEX);
	acks->ack[acks->n].dqpn = qp->dest_qpn;
	acks->ack[acks->n].psn = r->ack_psn;
	acks->ack[acks->n++].msn = r->msn;
	r->ack_owed = false;
	return true;
}

/*
 * No room: the ACK of each QP becomes pending again, unless a later one is. The QP's requester may
 * be looking for the peer again (tx is NULL); this does not affect the responder.
 */
static void mark_acks_pending(const struct dpa_acks *acks, struct dpa_hw *hw)
{
	for (uint32_t i = 0; i < acks->n; i++) {
		struct dpa_hw_qp *qp =
			atomic_load_explicit(&hw->qps.tab[acks->ack[i].src], memory_order_acquire);

		if (!qp)
			continue;
		dpa_qplock_lock(&qp->lock);
		if (qp->qpn && (qp->qpn & DPA_QPN_INDEX) == acks->ack[i].src &&
		    qp->dest_qpn == acks->ack[i].dqpn && qp->peer == acks->tx->peer &&
		    acks->tx == &qp->peer->tx[qp->lane] && !qp->resp.ack_owed) {
			dpa_owe(qp, acks->ack[i].psn, DPA_AETH_ACK);
			dpa_tx_full(qp, acks->tx);
		}
		dpa_qp_leave(qp);
	}
}

void dpa_acks_publish(struct dpa_acks *acks, struct dpa_hw *hw)
{
	struct dpa_tx *tx = acks->tx;
	struct dpa_more_acks *more;
	struct dpa_slot *s;
	uint8_t *data;

	if (!acks->n)
		return;
	dpa_spin_lock(&tx->lock);
	s = dpa_lane_reserve(tx, 0, &data);
	if (s) {
		s->opcode = DPA_LINK_ACKS;
		s->flags = 0;
		s->src = acks->ack[0].src;
		s->dqpn = acks->ack[0].dqpn;
		s->psn = acks->ack[0].psn;
		s->len = 0;
		s->data = acks->ack[0].msn;
		more = (struct dpa_more_acks *)s->ext;
		more->n = acks->n - 1;
		for (uint32_t i = 1; i < acks->n; i++) {
			more->ack[i - 1].dqpn = acks->ack[i].dqpn;
			more->ack[i - 1].psn = acks->ack[i].psn & DPA_PSN_MASK;
			more->ack[i - 1].msn_high = acks->ack[i].msn >> 16 & 0xff;
			more->ack[i - 1].msn = (uint16_t)acks->ack[i].msn;
			more->ack[i - 1].src = acks->ack[i].src;
		}
		dpa_lane_publish(tx, s);
	}
	dpa_spin_unlock(&tx->lock);
	if (s)
		dpa_tx_owe_kick(tx, hw);
	else
		mark_acks_pending(acks, hw);
	acks->n = 0;
}

bool dpa_acks_get(const struct dpa_slot *s, uint32_t i, struct dpa_slot *ack)
{
	const struct dpa_more_acks *more = (const struct dpa_more_acks *)s->ext;
	struct dpa_ext *x = (struct dpa_ext *)ack->ext;

	if (i > more->n || i >= DPA_ACKS)
		return false;
	ack->opcode = DPA_BTH_RC | DPA_BTH_ACK;
	ack->flags = 0;
	ack->len = ack->data = 0;
	x->syndrome = DPA_AETH_ACK | DPA_AETH_NO_CREDITS;
	if (!i) {
		ack->src = s->src;
		ack->dqpn = s->dqpn;
		ack->psn = s->psn & DPA_PSN_MASK;
		x->msn = s->data & DPA_PSN_MASK;
		return true;
	}
	ack->src = more->ack[i - 1].src;
	ack->dqpn = more->ack[i - 1].dqpn;
	ack->psn = more->ack[i - 1].psn;
	x->msn = (uint32_t)more->ack[i - 1].msn_high << 16 | more->ack[i - 1].msn;
	return true;
}

void dpa_acks_wait(struct dpa_peer *peer)
{
	for (uint32_t i = 0; i < DPA_LANES; i++) {
		dpa_spin_lock(&peer->rx[i].lock);
		dpa_spin_unlock(&peer->rx[i].lock);
	}
}
