/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * frame.c - converts between packets (bytes) and ring entries (the transport's form); delivers
 * packets to their QPs.
 */
#include <arpa/inet.h>
#include <string.h>
#include <dpa_mad.h>
#include "cc/cc.h"
#include "ctx/qp.h"
#include "link/kick.h"
#include "link/udp/wire.h"
#include "ctx/ops.h"
#include "wire/psn.h"
#include "wire/words.h"

#define GRH_BYTES 40u
/* max. PSN distance behind the expected one: full buffers of some sockets */
#define OVERTAKEN 4096u
#define SURE	  16u /* packets in a row whose identification counted from 0 */

/* IBA CA17-29 */
void dpa_slot_of_pkt(const struct dpa_roce_pkt *pkt, uint32_t src, struct dpa_slot *s)
{
	uint32_t e = dpa_roce_ext_of(pkt->opcode);
	struct dpa_ext *x = (struct dpa_ext *)s->ext;

	s->opcode = pkt->opcode;
	s->flags = (uint8_t)((pkt->se ? DPA_PKT_SE : 0) | (pkt->ackreq ? DPA_PKT_ACKREQ : 0));
	s->src = (uint16_t)src;
	s->dqpn = pkt->dqpn;
	s->psn = pkt->psn;
	s->len = pkt->len;
	s->from = DPA_FROM_UNKNOWN;
	memset(x, 0, sizeof(*x));
	if (e & DPA_ROCE_XRCETH)
		x->xrcsrq = pkt->xrcsrq;
	if (e & DPA_ROCE_DETH) {
		x->qkey = pkt->qkey;
		x->sqpn = pkt->sqpn;
		x->ud_imm = htonl(pkt->imm);
	} else if (e & (DPA_ROCE_RETH | DPA_ROCE_ATOMICETH)) {
		x->va = pkt->va;
		x->rkey = pkt->rkey;
		if (e & DPA_ROCE_RETH) {
			x->dmalen = pkt->dmalen;
			if (e & DPA_ROCE_FETH)
				x->feth = pkt->feth;
			else
				x->imm_after_reth = htonl(pkt->imm);
		} else {
			x->swap_add = pkt->swap_add;
			x->compare = pkt->compare;
		}
	} else if (e & DPA_ROCE_AETH) {
		x->msn = pkt->msn;
		x->syndrome = pkt->syndrome;
		x->orig = pkt->orig;
	} else if (e & DPA_ROCE_IETH) {
		x->imm = pkt->inv_rkey;
	} else if (e & DPA_ROCE_IMMDT) {
		x->imm = htonl(pkt->imm);
	}
}

void dpa_pkt_of_slot(const struct dpa_slot *s, struct dpa_roce_pkt *pkt)
{
	uint32_t e = dpa_roce_ext_of(s->opcode);
	const struct dpa_ext *x = (const struct dpa_ext *)s->ext;

	memset(pkt, 0, sizeof(*pkt));
	pkt->opcode = s->opcode;
	pkt->se = s->flags & DPA_PKT_SE;
	pkt->ackreq = s->flags & DPA_PKT_ACKREQ;
	pkt->becn = s->opcode == DPA_BTH_CNP;
	pkt->mig = true; /* adapters send 1; both values are accepted */
	pkt->pkey = DPA_ROCE_PKEY;
	pkt->dqpn = s->dqpn;
	pkt->psn = s->psn;
	if (e & DPA_ROCE_XRCETH)
		pkt->xrcsrq = x->xrcsrq;
	if (e & DPA_ROCE_DETH) {
		pkt->qkey = x->qkey;
		pkt->sqpn = DPA_UD_QPN(x->sqpn);
		pkt->imm = ntohl(x->ud_imm);
		if (DPA_UD_IS_GSI(x->sqpn))
			pkt->dqpn = pkt->sqpn = DPA_MAD_QPN;
	} else if (e & (DPA_ROCE_RETH | DPA_ROCE_ATOMICETH)) {
		pkt->va = x->va;
		pkt->rkey = x->rkey;
		if (e & DPA_ROCE_RETH) {
			pkt->dmalen = x->dmalen;
			if (e & DPA_ROCE_FETH)
				pkt->feth = x->feth;
			else
				pkt->imm = ntohl(x->imm_after_reth);
		} else {
			pkt->swap_add = x->swap_add;
			pkt->compare = x->compare;
		}
	} else if (e & DPA_ROCE_AETH) {
		pkt->msn = x->msn;
		pkt->syndrome = (uint8_t)x->syndrome;
		pkt->orig = x->orig;
	} else if (e & DPA_ROCE_IETH) {
		pkt->inv_rkey = x->imm;
	} else if (e & DPA_ROCE_IMMDT) {
		pkt->imm = ntohl(x->imm);
	}
}

/* IBA 9.8.3 (grh) */
void dpa_grh_make(uint8_t *g, const struct dpa_roce_net *net, uint32_t udp_payload)
{
	uint32_t udp = 8 + udp_payload;

	memset(g, 0, GRH_BYTES);
	if (dpa_gid_is_v4(net->dst)) {
		uint8_t *ip = g + 20;

		ip[0] = 0x45;
		ip[1] = net->tclass;
		dpa_put16(ip + 2, (uint16_t)(20 + udp));
		dpa_put16(ip + 4, net->ip_id);
		ip[6] = net->df ? 0x40 : 0;
		ip[8] = net->hop;
		ip[9] = 17;
		memcpy(ip + 12, net->src + 12, 4);
		memcpy(ip + 16, net->dst + 12, 4);
		dpa_put16(ip + 10, dpa_ip_sum(ip));
		return;
	}
	dpa_put32(g, 6u << 28 | (uint32_t)net->tclass << 20 | (net->flow & 0xfffff));
	dpa_put16(g + 4, (uint16_t)udp);
	g[6] = 17;
	g[7] = net->hop;
	memcpy(g + 8, net->src, 16);
	memcpy(g + 24, net->dst, 16);
}

/* Annex A17: a connected QP accepts packets from its peer only, with the addresses of its path. */
/* IBA 9.6 (sender) */
struct dpa_peer *dpa_sender_of(struct dpa_hw_qp *qp, const struct dpa_frame *f)
{
	struct dpa_peer *p = qp->peer;
	const struct dpa_roce_net *n;

	if (!p || !p->wire)
		return NULL;
	n = &dpa_remote_of(p)->net;
	return !memcmp(n->dst, f->net.src, 16) && !memcmp(n->src, f->net.dst, 16) ? p : NULL;
}

void dpa_wire_count_rx(struct dpa_hw *hw, const struct dpa_slot *s, uint32_t packets)
{
	struct dpa_wire *w = atomic_load_explicit(&hw->wire, memory_order_relaxed);
	uint16_t p = dpa_op_props(s->opcode);

	if (!w)
		return;
	dpa_count_add(&w->rx_stat.packets, packets);
	dpa_count_add(&w->rx_stat.bytes, s->len);
	if ((p & (DPA_OPP_SEND | DPA_OPP_END)) == (DPA_OPP_SEND | DPA_OPP_END))
		dpa_count_add(&w->rx_stat.sends, 1);
	else if ((p & (DPA_OPP_WRITE | DPA_OPP_END)) == (DPA_OPP_WRITE | DPA_OPP_END))
		dpa_count_add(&w->rx_stat.writes, 1);
}

/*
 * A packet carried an ECN mark (annex A17.9.3): sends a CNP, at a limited rate. Datagrams belong to
 * no flow; their mark is only counted.
 */
void dpa_wire_marked(struct dpa_hw_qp *qp, uint8_t tclass)
{
	unsigned v = dpa_cnp_np(&qp->np, tclass, dpa_now_ns());

	dpa_count(qp->hw, DPA_CNT_np_ecn_marked_roce_packets, !!(v & DPA_NP_MARKED));
	if (v & DPA_NP_MARKED)
		dpa_cc_marked(qp);
	if (!(v & DPA_NP_ANSWER) || qp->type == DPA_QP_UD)
		return;
	if (qp->ops->notify(qp))
		dpa_count(qp->hw, DPA_CNT_np_cnp_sent, 1);
	else
		dpa_cnp_unsent(&qp->np);
}

/* A CNP arrived: packets of this QP were marked. In RTR they are READ responses. */
void dpa_wire_cnp(struct dpa_hw_qp *qp)
{
	struct dpa_pcc_event ev = {.now = dpa_now_ns(), .type = DPA_PCC_CNP};
	bool heard = (qp->state == DPA_QPS_RTS || qp->state == DPA_QPS_SQD ||
		      (qp->state == DPA_QPS_RTR && qp->type == DPA_QP_RC)) &&
		     qp->type != DPA_QP_UD && dpa_cc_event(qp, &ev);

	dpa_count(qp->hw, heard ? DPA_CNT_rp_cnp_handled : DPA_CNT_rp_cnp_ignored, 1);
}

/*
 * UC: true if a packet that was passed on arrives behind later ones of its QP, because the kernel
 * steers meanwhile. (RC repairs the order.) UC would take it for a new message: that message would
 * complete behind later ones, and a WRITE would overwrite newer bytes. The packet counts as lost.
 * Two exceptions, in which the sender has started again: the PSN is far behind; or the packet
 * before was passed on, too, because one way keeps the order.
 */
static bool is_overtaken(const struct dpa_hw_qp *qp, const struct dpa_frame *f, uint32_t psn)
{
	return f->passed_on && qp->type == DPA_QP_UC && qp->id.straight &&
	       (uint32_t)(dpa_psn_diff(qp->resp.epsn, psn) - 1) < OVERTAKEN;
}

/* IBA 9.6 (qp-exists) */
struct dpa_hw_qp *dpa_pkt_deliver(struct dpa_hw *hw, struct dpa_hw_qp *cur, struct dpa_peer *peer,
				  const struct dpa_frame *f, const struct dpa_roce_pkt *pkt)
{
	struct dpa_hw_qp *qp =
		atomic_load_explicit(&hw->qps.tab[pkt->dqpn & DPA_QPN_INDEX], memory_order_acquire);
	const uint8_t *payload = pkt->payload;
	const bool by_wire = !peer; /* else the ring's counters count it */
	struct dpa_slot s;
	uint64_t before;

	if (qp != cur) {
		dpa_pkt_end(cur, true);
		if (qp) {
			dpa_qplock_lock(&qp->lock);
			dpa_pkt_collect(qp);
		}
	}
	if (dpa_unlikely(!qp || qp->qpn != pkt->dqpn || is_overtaken(qp, f, pkt->psn) ||
			 dpa_link_is_cut(hw))) {
		dpa_count(hw, DPA_CNT_rx_dropped, 1);
		return qp;
	}
	if (qp->type != DPA_QP_UD && !peer) {
		peer = dpa_sender_of(qp, f);
		if (dpa_unlikely(!peer)) {
			dpa_count(hw, DPA_CNT_rx_dropped, 1);
			return qp;
		}
		if (dpa_unlikely(!dpa_id_fits(qp, f)))
			return qp;
	}
	if (dpa_unlikely(pkt->opcode == DPA_BTH_CNP)) {
		dpa_wire_cnp(qp);
		return qp;
	}
	if (qp->type == DPA_QP_UC)
		qp->id.straight = !f->passed_on;
	if (dpa_unlikely((f->net.tclass & DPA_ECN_MASK) == DPA_ECN_CE))
		dpa_wire_marked(qp, f->net.tclass);
	dpa_slot_of_pkt(pkt, qp->dest_qpn & DPA_QPN_INDEX, &s);
	s.flags |= dpa_pkt_mtu_flags(qp->mtu);
	s.from = by_wire ? dpa_from_of(f) : DPA_FROM_LANE;
	if (qp->type == DPA_QP_UD) {
		/* the bytes in front are headers that were read, or the frame's room */
		payload -= GRH_BYTES;
		dpa_grh_make((uint8_t *)(uintptr_t)payload, &f->net, f->n);
		s.len += GRH_BYTES;
	}
	if (by_wire)
		dpa_wire_count_rx(hw, &s, 1);
	before = dpa_id_progress(qp);
	qp->ops->receive(qp, peer, &s, payload);
	if (by_wire && qp->type != DPA_QP_UD)
		dpa_id_learn(qp, f, before);
	return qp;
}

/*
 * A UDP socket does not show the IPv4 identification. Senders of this kind count from 0 in each
 * send call, so it is known, or nearly. For other senders the one value that makes the ICRC right
 * is computed. dpa_id_fits() then decides, for the QP, whether this sender may use that value.
 */
static bool icrc_ok(struct dpa_frame *f)
{
	if (f->ip_known || !dpa_gid_is_v4(f->net.src))
		return dpa_icrc_ok(&f->net, f->p, f->n);
	f->net.df = true;
	f->from_0 = dpa_icrc_ok(&f->net, f->p, f->n);
	if (!f->from_0 && !dpa_icrc_solve(&f->net, f->p, f->n, &f->net.ip_id, &f->net.df))
		return false;
	f->other_id = f->net.ip_id >= DPA_GSO_SEGS || !f->net.df;
	f->from_0 &= !f->other_id; /* a packet that was passed on has it from there */
	return true;
}

bool dpa_id_fits(struct dpa_hw_qp *qp, const struct dpa_frame *f)
{
	if (dpa_likely(!f->other_id) || qp->id.row < SURE || qp->id.port != f->net.sport)
		return true;
	qp->id.row = 0; /* it is taken when it is sent again */
	dpa_count(qp->hw, DPA_CNT_rx_icrc_encapsulated, 1);
	return false;
}

void dpa_id_learn(struct dpa_hw_qp *qp, const struct dpa_frame *f, uint64_t before)
{
	if (f->ip_known || !f->sure || dpa_id_progress(qp) == before)
		return;
	if (f->other_id || qp->id.port != f->net.sport)
		qp->id.row = 0;
	if (f->from_0 && qp->id.row < SURE)
		qp->id.row++;
	qp->id.port = f->net.sport;
}

/* IBA C9-42, C9-43 */
static bool pkey_ok(uint16_t pkey)
{
	return (pkey & 0x7fff) == (DPA_ROCE_PKEY & 0x7fff); /* full or limited member */
}

/* IBA CA17-24, CA17-39 */
bool dpa_frame_check(struct dpa_hw *hw, struct dpa_frame *f, struct dpa_roce_pkt *pkt)
{
	if (dpa_unlikely(dpa_roce_decode(f->p, f->n, pkt) != DPA_ROCE_OK)) {
		dpa_count(hw, DPA_CNT_rx_malformed, 1);
		return false;
	}
	if (dpa_unlikely(!icrc_ok(f))) {
		dpa_count(hw, DPA_CNT_rx_icrc_encapsulated, 1);
		return false;
	}
	if (dpa_unlikely(!pkey_ok(pkt->pkey))) {
		dpa_count(hw, DPA_CNT_rx_dropped, 1);
		return false;
	}
	return true;
}

void dpa_frame_in(struct dpa_hw *hw, struct dpa_peer *peer, const struct dpa_frame *frame,
		  bool may_forward)
{
	struct dpa_frame f = *frame;
	struct dpa_roce_pkt pkt;

	if (!dpa_frame_check(hw, &f, &pkt))
		return;
	if (dpa_unlikely(pkt.dqpn == DPA_MAD_QPN) && !hw->ops->mad(hw, &f, &pkt, may_forward))
		return;
	if (may_forward && !dpa_qpn_is_ours(hw, pkt.dqpn)) {
		if (!dpa_frame_forward(hw, &f, pkt.dqpn))
			dpa_count(hw, DPA_CNT_rx_dropped, 1);
		return;
	}
	dpa_pkt_end(dpa_pkt_deliver(hw, NULL, peer, &f, &pkt), true);
}
