/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * send.c - sends raw packets. The port is a loopback: a frame goes to the QPs of the board whose
 * rules match it, including the sender's own, by the existing rings. A frame that no rule matches
 * is lost. No frame goes to the host's interfaces.
 */
#include "ctx/qp.h"
#include "link/kick.h"
#include "transport/transport.h"
#include "raw.h"

#define ETH_HEADER 14u

static uint32_t check_raw_wqe(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c)
{
	uint64_t total, one;
	uint32_t syn;

	if (c->opcode != DPA_OP_SEND)
		return DPA_SYN_BAD_OPCODE;
	if (c->index != idx || !c->nbb || c->nsge > DPA_MAX_SGE || c->length < ETH_HEADER)
		return DPA_SYN_BAD_WQE;
	if (c->length > DPA_MAX_FRAME)
		return DPA_SYN_MSG_TOO_LONG;
	if (c->flags & DPA_WQE_INLINE)
		return c->length > DPA_MAX_INLINE ? DPA_SYN_BAD_WQE : 0;
	syn = dpa_check_sges(qp, idx, c, &total, &one);
	return syn ? syn : total != c->length ? DPA_SYN_BAD_WQE : 0;
}

/* False: no room in the ring. */
static bool put_frame(struct dpa_hw_qp *qp, struct dpa_tx *tx, const struct dpa_flow_to *to,
		      const uint8_t *frame, uint32_t n)
{
	uint8_t *data = NULL;
	struct dpa_slot *s;

	dpa_spin_lock(&tx->lock);
	s = dpa_pkt_begin(qp, tx, DPA_LINK_RAW, to->qpn, 0, n, n, &data);
	if (s) {
		((struct dpa_ext *)s->ext)->flow_tag = to->tag;
		memcpy(data, frame, n);
		dpa_count_add(&tx->stat.packets, 1);
		dpa_count_add(&tx->stat.bytes, n);
		dpa_count_add(&tx->stat.sends, 1);
		dpa_lane_publish(tx, s);
	}
	dpa_spin_unlock(&tx->lock);
	if (s)
		dpa_tx_posted(tx, qp->hw);
	return s;
}

/* False: not now. A frame without a receiver is lost; this is no error. */
static bool deliver_frame(struct dpa_hw_qp *qp, const struct dpa_flow_to *to, const uint8_t *frame,
			  uint32_t n)
{
	struct dpa_peer *p = dpa_peer_of_qpn(qp->hw, to->qpn);

	if (p && dpa_ud_meets(qp, p))
		return false;
	if (!p || atomic_load_explicit(&p->state, memory_order_acquire) != DPA_PEER_UP)
		return true;
	if (put_frame(qp, &p->tx[qp->lane], to, frame, n) || dpa_ud_waited(qp, p))
		return true;
	dpa_tx_full(qp, &p->tx[qp->lane]);
	return false;
}

int dpa_raw_send(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c)
{
	struct dpa_flow_to to[DPA_MAX_FLOWS];
	uint8_t frame[DPA_MAX_FRAME];
	struct dpa_req *r = &qp->req;
	uint32_t syn = check_raw_wqe(qp, idx, c), n = c->length, count;
	bool mcast;

	if (!syn)
		syn = dpa_gather(qp, idx, c, 0, n, frame);
	if (syn) {
		dpa_req_fail(qp, dpa_status_of(syn), syn);
		return 1;
	}
	if (dpa_unlikely(qp->slow.inspected) && dpa_send_injected(qp, idx, c) != DPA_SEND_GO)
		return 1;
	if (dpa_unlikely(qp->slow.limited) && !r->ud_since && !dpa_rate_allows(qp, n))
		return 1;
	mcast = frame[0] & 1;
	count = dpa_flow_receivers(qp->hw, frame, n, !r->ud_since, to);
	/*
	 * After a wait it continues where it stopped: rules may have changed, so frames may be lost
	 * or doubled.
	 */
	for (; r->mc_at < count; r->mc_at++) {
		if (qp->ud.block_self && mcast && to[r->mc_at].qpn == qp->qpn)
			continue;
		if (!deliver_frame(qp, &to[r->mc_at], frame, n))
			return 1;
	}
	r->mc_at = 0;
	r->ud_since = 0;
	r->send_idx += c->nbb;
	dpa_complete(qp, c, DPA_CQE_OK, 0);
	return 0;
}
