/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * quick.h - the commonest message in one piece: a SEND of an RC QP over shared memory that fits a
 * slot, and its ACK. Each function looks whether all is as it takes for granted and leaves no trace
 * when it is not: then requester.c, responder.c, answers.c and completer.c, which know every case,
 * do the work. A message changes here the same as there.
 */
#ifndef DPA_QUICK_H
#define DPA_QUICK_H

#include "ctx/cq.h"
#include "ctx/mr.h"
#include "ctx/qp.h"
#include "link/kick.h"
#include "transport/api.h"
#include "transport.h"
#include "order/resp_check.h"

/* Nothing about the QP or its lane stands in the way of dpa_quick_send(). */
static inline bool dpa_quick_qp(const struct dpa_hw_qp *qp)
{
	return !qp->slow.word && qp->transport == DPA_BTH_RC && dpa_link_is_plain(qp);
}

/* Where the bytes of a WQE of one block lie; NULL: elsewhere, or not good. */
static inline const void *dpa_quick_source(struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c,
					   uint8_t flags, uint32_t len)
{
	const struct dpa_sge g = *(const struct dpa_sge *)(c + 1);
	uint64_t addr;

	if (flags & DPA_WQE_INLINE)
		return len <= DPA_WQEBB - sizeof(*c) ? c + 1 : NULL;
	if (c->nsge != 1 || g.length != len ||
	    dpa_mr_check(qp->hw, g.lkey, qp->pdn, g.addr, len, 0, &addr) ||
	    dpa_mr_careful(qp->hw, g.lkey))
		return NULL;
	return (const void *)(uintptr_t)addr;
}

static inline void dpa_quick_copy(void *dst, const void *src, uint32_t n)
{
	if (n == 8)
		memcpy(dst, src, 8);
	else
		memcpy(dst, src, n);
}

/* The WQE at send_idx, under tx->lock, of a dpa_quick_qp(). False: it is not of that kind. */
static inline bool dpa_quick_send(struct dpa_hw_qp *qp, struct dpa_tx *tx)
{
	struct dpa_req *r = &qp->req;
	const uint32_t idx = r->send_idx;
	const struct dpa_wqe_ctrl *c = dpa_wqe_ctrl(qp, idx);
	const uint32_t len = c->length;
	const uint8_t flags = c->flags;
	struct dpa_slot *s;
	const void *src;

	if (c->opcode != DPA_OP_SEND || c->nbb != 1 || c->index != idx || len - 1 >= DPA_PKT_EXT ||
	    (flags & DPA_WQE_FENCE) || r->send_off ||
	    ((r->send_wqe_psn - r->una_psn) & DPA_PSN_MASK) + 1 >= DPA_PSN_WINDOW)
		return false;
	src = dpa_quick_source(qp, c, flags, len);
	s = src ? dpa_pkt_begin(qp, tx, DPA_BTH_RC | DPA_BTH_SEND_ONLY, qp->dest_qpn, r->send_psn,
				len, 0, NULL)
		: NULL;
	if (!s)
		return false;
	s->flags = DPA_PKT_INSLOT | DPA_PKT_ACKREQ | (flags & DPA_WQE_SOLICITED ? DPA_PKT_SE : 0);
	dpa_quick_copy(s->ext, src, len);
	dpa_stat_add(&tx->stat.packets, 1);
	dpa_stat_add(&tx->stat.bytes, len);
	dpa_stat_add(&tx->stat.sends, 1);
	dpa_lane_publish(tx, s);
	r->send_idx = idx + 1;
	r->send_psn = r->send_wqe_psn = dpa_psn_add(r->send_psn, 1);
	r->send_ssn++;
	if (dpa_psn_diff(r->send_psn, r->max_psn) > 0)
		r->max_psn = r->send_psn;
	return true;
}

/* The messages at send_idx that are of that kind, `most` of them, under the QP's lock: how many. */
static inline int dpa_quick_run(struct dpa_hw_qp *qp, int most)
{
	struct dpa_tx *tx = qp->tx;
	const struct dpa_wqe_ctrl *c;
	uint32_t pi;
	int n = 0;

	if (dpa_unlikely(!dpa_quick_qp(qp)))
		return 0;
	pi = dpa_sq_pi(qp);
	c = dpa_wqe_ctrl(qp, qp->req.send_idx);
	if (qp->req.send_idx == pi || c->opcode != DPA_OP_SEND || c->length > DPA_PKT_EXT)
		return 0;
	dpa_spin_lock(&tx->lock);
	while (qp->req.send_idx != pi && n < most && dpa_quick_send(qp, tx))
		n++;
	dpa_spin_unlock(&tx->lock);
	if (n)
		dpa_tx_posted(tx, qp->hw);
	return n;
}

/* The QP waits for exactly such a packet. */
static inline bool dpa_quick_expected(const struct dpa_hw_qp *qp, const struct dpa_peer *peer,
				      const struct dpa_slot *s)
{
	const struct dpa_resp *r = &qp->resp;

	return qp->transport == DPA_BTH_RC && !qp->slow.word && peer && qp->peer == peer &&
	       (qp->dest_qpn & DPA_QPN_INDEX) == s->src &&
	       !(s->flags & ~(DPA_PKT_INSLOT | DPA_PKT_ACKREQ | DPA_PKT_SE)) && s->psn == r->epsn &&
	       r->last_op == DPA_RESP_NONE && !r->nak_sent && !r->have_wqe &&
	       (!r->ack_owed || (r->ack_syndrome & DPA_AETH_KIND) == DPA_AETH_ACK) &&
	       s->len - 1 < qp->mtu && dpa_same_mtu(qp->mtu, s);
}

/* A SEND in one packet into a receive WQE of one SGE. False: it is for the responder. */
static inline bool dpa_quick_rx(struct dpa_hw_qp *qp, struct dpa_peer *peer,
				const struct dpa_slot *s, const uint8_t *payload)
{
	struct dpa_resp *r = &qp->resp;
	const struct dpa_rwqe *w;
	struct dpa_sge g;
	uint64_t addr;

	if (s->opcode != (DPA_BTH_RC | DPA_BTH_SEND_ONLY) || !dpa_quick_expected(qp, peer, s) ||
	    qp->srq || !qp->rq || __atomic_load_n(&qp->dbrec->rq_pi, __ATOMIC_ACQUIRE) == qp->rq_ci)
		return false;
	w = (const void *)(qp->rq + (size_t)(qp->rq_ci & qp->rq_mask) * qp->rq_stride);
	if (w->nsge != 1 || !qp->max_recv_sge)
		return false;
	g = *(const struct dpa_sge *)(w + 1);
	if (g.length < s->len ||
	    dpa_mr_check(qp->hw, g.lkey, qp->pdn, g.addr, s->len, DPA_ACCESS_LOCAL_WRITE, &addr) ||
	    dpa_mr_careful(qp->hw, g.lkey))
		return false;
	dpa_quick_copy((void *)(uintptr_t)addr, payload, s->len);
	r->wqe.wr_id = w->wr_id;
	__atomic_store_n(&qp->dbrec->rq_ci, ++qp->rq_ci, __ATOMIC_RELEASE);
	r->epsn = dpa_psn_add(r->epsn, 1);
	r->msn = (r->msn + 1) & DPA_PSN_MASK;
	r->off = 0;
	dpa_recv_cqe(qp, r->wqe.wr_id, DPA_CQE_RECV, DPA_CQE_OK, 0, s->len, s);
	if (s->flags & DPA_PKT_ACKREQ) {
		r->ack_owed = true;
		r->ack_psn = s->psn;
		r->ack_syndrome = DPA_AETH_ACK | DPA_AETH_NO_CREDITS;
	}
	return true;
}

/* A plain ACK that is owed, to another process or QP of this host. False: it is still owed. */
static inline bool dpa_quick_ack(struct dpa_hw_qp *qp)
{
	struct dpa_resp *r = &qp->resp;
	struct dpa_tx *tx = qp->tx;
	struct dpa_slot *s;
	struct dpa_ext *x;

	if (!dpa_owes_ack(qp) || !tx || qp->pkt_flags || qp->transport != DPA_BTH_RC ||
	    atomic_load_explicit(&tx->peer->state, memory_order_relaxed) != DPA_PEER_UP)
		return false;
	dpa_spin_lock(&tx->lock);
	s = dpa_pkt_begin(qp, tx, DPA_BTH_RC | DPA_BTH_ACK, qp->dest_qpn, r->ack_psn, 0, 0, NULL);
	if (dpa_likely(s)) {
		s->flags = 0;
		x = (struct dpa_ext *)s->ext;
		x->msn = r->msn;
		x->syndrome = DPA_AETH_ACK | DPA_AETH_NO_CREDITS;
		dpa_lane_publish(tx, s);
		r->ack_owed = false;
	}
	dpa_spin_unlock(&tx->lock);
	if (dpa_likely(s))
		dpa_tx_owe_kick(tx, qp->hw);
	return s;
}

/* An ACK of the oldest message alone, which is such a SEND. False: it is for the completer. */
static inline bool dpa_quick_ack_rx(struct dpa_hw_qp *qp, const struct dpa_peer *peer,
				    const struct dpa_slot *s)
{
	const struct dpa_ext *x = (const struct dpa_ext *)s->ext;
	struct dpa_req *r = &qp->req;
	const struct dpa_wqe_ctrl *c;
	struct dpa_cqe e;
	bool report;

	if (s->opcode != (DPA_BTH_RC | DPA_BTH_ACK) || qp->transport != DPA_BTH_RC ||
	    qp->slow.word || !peer || qp->peer != peer ||
	    (qp->dest_qpn & DPA_QPN_INDEX) != s->src || s->flags ||
	    (uint8_t)x->syndrome != (DPA_AETH_ACK | DPA_AETH_NO_CREDITS) || r->credits ||
	    dpa_lossy(qp) || s->psn != r->una_psn || r->una_idx == r->send_idx)
		return false;
	c = dpa_wqe_ctrl(qp, r->una_idx);
	if (c->opcode != DPA_OP_SEND || c->nbb != 1 || c->length > qp->mtu)
		return false;
	report = (c->flags & DPA_WQE_SIGNALED) || qp->sq_sig_all;
	e = (struct dpa_cqe){.wr_id = c->wr_id,
			     .qpn = qp->qpn,
			     .user_index = qp->user_index,
			     .byte_len = c->length,
			     .wqe_index = r->una_idx,
			     .opcode = DPA_CQE_SEND,
			     .status = DPA_CQE_OK};
	r->una_psn = dpa_psn_add(r->una_psn, 1);
	if (dpa_psn_diff(r->una_psn, r->acked_psn) > 0)
		r->acked_psn = r->una_psn;
	r->retry_left = qp->retry_cnt;
	r->rnr_left = qp->rnr_retry;
	r->heard = true;
	r->una_idx++;
	r->read_off = 0;
	/* from here on the WQE's block is the poster's: see dpa_complete() */
	__atomic_store_n(&qp->dbrec->sq_ci, r->una_idx, __ATOMIC_RELEASE);
	if (report)
		dpa_qp_report(qp, qp->send_cq, &e);
	if (dpa_unlikely(r->send_idx != __atomic_load_n(&qp->dbrec->sq_pi, __ATOMIC_ACQUIRE)))
		dpa_requester_run(qp);
	return true;
}

_Static_assert(sizeof(struct dpa_wqe_ctrl) + sizeof(struct dpa_sge) <= DPA_WQEBB, "one block");

#endif
