/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* ud.c - unreliable datagram (IBA 9.8.3, annex A17 for the 40 bytes in front of a receive). */
#include <errno.h>
#include <dpa_hw_trace.h>
#include "ctx/schedule.h"
#include "ctx/hw.h"
#include "link/kick.h"
#include "port/port.h"
#include "link/kick.h"
#include "recv/peer.h"
#include "recv/recv.h"
#include "transport.h"
#include "link/fds.h"
#include "link/udp/wire.h"
#include "tables/tables.h"

/*
 * UC and UD have no answer that could slow them down, and some programs wait for each message for
 * ever. So to other hosts they are not faster than a 10 Gbit/s port.
 */
#define PACE_BYTES_US 1250u
#define PACE_BURST_NS 100000u

bool dpa_paced(struct dpa_hw_qp *qp, uint32_t bytes)
{
	struct dpa_req *r = &qp->req;
	uint64_t now = dpa_now_ns();

	if (r->pace_at > now + PACE_BURST_NS) {
		dpa_schedule(qp, r->pace_at - PACE_BURST_NS / 2);
		return false;
	}
	r->pace_at = (r->pace_at > now ? r->pace_at : now) +
		     ((uint64_t)bytes + 64) * 1000 / PACE_BYTES_US;
	return true;
}

#define RATE_BURST 65536u
#define RATE_HDR   64u /* headers of a packet, about */

/* man ibv_modify_qp_rate_limit: a bucket of `burst` bytes. Bytes are charged after they have left. */
bool dpa_rate_allows(struct dpa_hw_qp *qp, uint32_t bytes)
{
	const uint32_t burst = qp->rate.burst ? qp->rate.burst : RATE_BURST;
	const uint64_t ahead = burst * 8000000ull / qp->rate.kbps;
	uint64_t now = dpa_now_ns();

	if (qp->rate_at > now + ahead) {
		dpa_schedule(qp, qp->rate_at - ahead);
		return false;
	}
	qp->rate_at = (qp->rate_at > now ? qp->rate_at : now) +
		      (bytes + RATE_HDR * dpa_npkts(bytes, qp->mtu)) * 8000000ull / qp->rate.kbps;
	return true;
}

#define GRH_BYTES	40
#define UD_PATIENCE_NS	100000000ull
#define GSI_PATIENCE_NS 1000000000ull /* its sender repeats only after seconds */
#define MEET_NS		3000000000ll
#define PATH_WAIT_NS	500000u

_Static_assert(DPA_MAX_FUNCTIONS < 15, "DPA_UD_LRH() has four bits for a LID; 15 is DPA_UD_GSI");

/*
 * Write the IP header that RoCEv2 would have carried into the 40 bytes at `g`. `ext` is the length
 * of DETH and ImmDt, `n` that of the payload, in bytes.
 */
/* IBA 9.8.3 (grh) */
static void make_grh(uint8_t *g, const struct dpa_wqe_av *av, const uint8_t sgid[16], uint32_t ext,
		     uint32_t n)
{
	struct dpa_roce_net net = {.df = true,
				   .tclass = av->traffic_class,
				   .hop = av->hop_limit ? av->hop_limit : 64,
				   .flow = av->flow_label & 0xfffff};

	memcpy(net.src, sgid, 16);
	memcpy(net.dst, av->dgid, 16);
	/* BTH 12, payload with pad, ICRC 4 */
	dpa_grh_make(g, &net, 12 + ext + ((n + 3) & ~3u) + 4);
}

/*
 * Return 0 if the WQE may be this, else an enum dpa_syndrome. The longest datagram is the port's
 * active MTU whatever the link, as on an adapter.
 */
/* IBA 9.8.3 (length), 9.8.3 (only) */
static uint32_t check_ud(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c)
{
	const uint32_t mtu = 128u << dpa_port_mtu(qp->ctx->port);
	uint64_t total, one;
	uint32_t syn;

	if (c->opcode != DPA_OP_SEND && c->opcode != DPA_OP_SEND_IMM)
		return DPA_SYN_BAD_OPCODE;
	if (c->index != idx || c->nbb < 2 || c->nsge > DPA_MAX_SGE)
		return DPA_SYN_BAD_WQE;
	if (c->length > mtu)
		return DPA_SYN_MSG_TOO_LONG;
	if (c->flags & DPA_WQE_INLINE)
		return c->nsge || c->length > DPA_MAX_INLINE ? DPA_SYN_BAD_WQE : 0;
	syn = dpa_check_sges(qp, idx, c, &total, &one);
	return syn		    ? syn
	       : total > mtu	    ? DPA_SYN_MSG_TOO_LONG
	       : total != c->length ? DPA_SYN_BAD_WQE
				    : 0;
}

/*
 * True if the peer has taken nothing for so long that a MAD is lost at once. The MADs for all
 * processes share a send queue, and each of them would wait as long again. Context: tx->lock.
 */
static bool is_stuck(struct dpa_tx *tx)
{
	const uint64_t now = dpa_now_ns();

	if (!tx->full_since || tx->full_tail != tx->tail) {
		tx->full_since = now;
		tx->full_tail = tx->tail;
	}
	return now - tx->full_since > GSI_PATIENCE_NS;
}

enum sent { SENT, NO_ROOM, LOST };

/* IBA 9.6 (privileged-qkey) */
static enum sent ud_packet(struct dpa_hw_qp *qp, struct dpa_tx *tx, uint32_t idx,
			   const struct dpa_wqe_ctrl *c, const struct dpa_wqe_av *av, uint32_t *syn)
{
	uint8_t op =
		DPA_BTH_UD | (c->opcode == DPA_OP_SEND ? DPA_BTH_SEND_ONLY : DPA_BTH_SEND_ONLY_IMM);
	/* on the wire the IP header serves as GRH */
	uint32_t grh = tx->peer->wire ? 0 : GRH_BYTES, n = grh + c->length;
	struct dpa_hw_gid sgid = {0};
	struct dpa_slot *s;
	struct dpa_ext *x;
	uint8_t *data = NULL;
	bool stuck;

	dpa_port_gid(qp->ctx->port, av->sgid_index, &sgid);
	dpa_spin_lock(&tx->lock);
	s = dpa_pkt_begin(qp, tx, op, av->dqpn, qp->req.send_psn, n, n, &data);
	if (!s) {
		stuck = qp->gsi && is_stuck(tx);
		dpa_spin_unlock(&tx->lock);
		return stuck ? LOST : NO_ROOM;
	}
	x = (struct dpa_ext *)s->ext;
	x->qkey = av->qkey & 0x80000000u ? qp->attr.qkey : av->qkey;
	x->sqpn = qp->qpn;
	if (qp->gsi)
		x->sqpn |= DPA_UD_GSI;
	else if (!av->is_global)
		x->sqpn |= DPA_UD_LRH(dpa_cfg_lid(&qp->hw->cfg, qp->ctx->port->function), av->sl);
	x->ud_imm = c->imm;
	if (c->flags & DPA_WQE_SOLICITED)
		s->flags |= DPA_PKT_SE;
	if (grh && !av->is_global)
		memset(data, 0, grh); /* undefined at the receiver (IBA 11.4.1.2) */
	else if (grh)
		make_grh(data, av, sgid.gid, op == (DPA_BTH_UD | DPA_BTH_SEND_ONLY_IMM) ? 8 + 4 : 8,
			 c->length);
	*syn = dpa_gather(qp, idx, c, 0, c->length, data + grh);
	if (!*syn) {
		dpa_count_add(&tx->stat.packets, 1);
		dpa_count_add(&tx->stat.bytes, n);
		dpa_count_add(&tx->stat.sends, 1);
		dpa_lane_publish(tx, s);
	}
	dpa_spin_unlock(&tx->lock);
	/* To another host it leaves with the next packets: dpa_ud_flush(). */
	if (!tx->peer->wire && !*syn)
		dpa_tx_posted(tx, qp->hw);
	return SENT;
}

/*
 * A peer that does not take its packets must not delay packets for others: after a while they are
 * lost.
 */
bool dpa_ud_waited(struct dpa_hw_qp *qp, struct dpa_peer *p)
{
	uint64_t now = dpa_now_ns();

	qp->ud.held_by = p->wire ? NULL : p;
	if (qp->leaving && dpa_peer_is_spent(p))
		return true;
	if (!qp->req.ud_since)
		qp->req.ud_since = now;
	return now - qp->req.ud_since > (qp->gsi ? GSI_PATIENCE_NS : UD_PATIENCE_NS);
}

/*
 * The first packets should not be lost because the connection to the peer takes long, as on a busy
 * machine. But a stopped peer is waited for once, not for each datagram.
 */
bool dpa_ud_meets(struct dpa_hw_qp *qp, struct dpa_peer *p)
{
	uint64_t now, since = 0;

	if (dpa_likely(atomic_load_explicit(&p->state, memory_order_acquire) !=
		       DPA_PEER_CONNECTING))
		return false;
	qp->ud.held_by = p->wire ? NULL : p;
	if (qp->leaving && dpa_peer_is_spent(p))
		return false;
	now = dpa_now_ns();
	if (atomic_compare_exchange_strong_explicit(&p->waited, &since, now, memory_order_relaxed,
						    memory_order_relaxed))
		since = now;
	if ((int64_t)(now - since) > MEET_NS)
		return false;
	if (!qp->req.ud_since)
		qp->req.ud_since = now;
	dpa_schedule(qp, now + 1000000);
	return true;
}

/*
 * The remote whose ring holds datagrams is held meanwhile: qp->tx. Packets for which the socket has
 * no room are lost, as datagrams may be.
 */
void dpa_ud_flush(struct dpa_hw_qp *qp)
{
	uint32_t unsent;

	if (!qp->tx)
		return;
	dpa_spin_lock(&qp->tx->lock);
	dpa_wire_flush(qp->tx, UINT32_MAX, &unsent);
	dpa_spin_unlock(&qp->tx->lock);
	dpa_remote_drop(qp->tx->peer);
	qp->tx = NULL;
}

int dpa_ud_run(struct dpa_hw_qp *qp, uint32_t pi, int most)
{
	struct dpa_req *r = &qp->req;
	int n = 0;

	while (r->send_idx != pi && n < most && !qp->slow.fence_sq) {
		if (qp->ops->send_one(qp, r->send_idx, dpa_wqe_ctrl(qp, r->send_idx))) {
			dpa_ud_flush(qp);
			return n; /* scheduled or failed */
		}
		n++;
	}
	dpa_ud_flush(qp);
	if (r->send_idx != pi && !qp->slow.fence_sq)
		dpa_schedule(qp, 0);
	return n;
}

/* Returns the peer of an address vector; NULL: no process has it. */
static struct dpa_peer *ud_peer(struct dpa_hw_qp *qp, const struct dpa_wqe_av *av)
{
	struct dpa_hw *hw = qp->hw;
	struct dpa_peer *p;

	if (dpa_is_near(hw, av, av->dqpn))
		return dpa_peer_of_qpn(hw, av->dqpn);
	if (!av->is_global)
		return NULL; /* a LID without a port: lost */
	p = dpa_remote_hold(hw, qp->ctx->port, av);
	if (p && qp->tx == &p->tx[qp->lane]) { /* held already */
		dpa_remote_drop(p);
		return p;
	}
	dpa_ud_flush(qp);
	qp->tx = p ? &p->tx[qp->lane] : NULL;
	return p;
}

/*
 * Sends to one QP, or to the group on the wire. A datagram without a receiver is lost; this is no
 * error.
 */
static int send_to(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c,
		   struct dpa_peer *p, const struct dpa_wqe_av *av, uint32_t *syn)
{
	enum sent sent;

	if (p && dpa_ud_meets(qp, p))
		return 1;
	if (!p || atomic_load_explicit(&p->state, memory_order_acquire) != DPA_PEER_UP)
		return 0;
	sent = ud_packet(qp, &p->tx[qp->lane], idx, c, av, syn);
	if (sent == NO_ROOM && !dpa_ud_waited(qp, p)) {
		dpa_tx_full(qp, &p->tx[qp->lane]);
		return 1;
	}
	if (sent != SENT)
		dpa_count(qp->hw, DPA_CNT_tx_dropped, 1);
	return 0;
}

/*
 * Sends a copy to each QP of the group on this board, including those of this process and the
 * sender itself. Then sends one to `out`, the group on the wire (NULL: none). 0: done; 1: not now.
 * A failure is in *syn.
 */
static int mcast_send(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c,
		      struct dpa_peer *out, struct dpa_wqe_av *av, uint32_t *syn)
{
	struct dpa_board *b = qp->hw->board;
	struct dpa_req *r = &qp->req;

	for (; !*syn && dpa_board_mcast_next(b, av->dgid, &r->mc_at, &av->dqpn); r->mc_at++) {
		if (qp->ud.block_self && av->dqpn == qp->qpn)
			continue;
		if (send_to(qp, idx, c, dpa_peer_of_qpn(qp->hw, av->dqpn), av, syn))
			return 1;
	}
	av->dqpn = DPA_QPN_MCAST;
	if (!*syn && out && send_to(qp, idx, c, out, av, syn))
		return 1;
	r->mc_at = 0;
	return 0;
}

/*
 * True if the datagram waits for a path: all of them are in use for a moment, as while a fault holds a
 * frame of each. Each flow label of IPv6 takes one. After a while it is lost, as in dpa_ud_waited().
 */
static bool waits_for_path(struct dpa_hw_qp *qp)
{
	uint64_t now = dpa_now_ns();

	if (qp->leaving)
		return false;
	qp->ud.held_by = NULL;
	if (!qp->req.ud_since)
		qp->req.ud_since = now;
	if (now - qp->req.ud_since > (qp->gsi ? GSI_PATIENCE_NS : UD_PATIENCE_NS))
		return false;
	dpa_schedule(qp, now + PATH_WAIT_NS);
	return true;
}

int dpa_ud_send(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c)
{
	struct dpa_req *r = &qp->req;
	uint32_t syn = check_ud(qp, idx, c);
	bool group;
	struct dpa_hw_gid sgid;
	struct dpa_wqe_av av;
	struct dpa_peer *p = NULL;

	if (syn)
		goto fail;
	if (dpa_unlikely(qp->slow.inspected) && !qp->gsi &&
	    dpa_send_injected(qp, idx, c) != DPA_SEND_GO)
		return 1;
	if (dpa_unlikely(qp->slow.inspected) && !qp->gsi && dpa_send_touches(qp, idx, c))
		return 1;
	memcpy(&av, dpa_wqe_at(qp, idx, 32), 32);
	memcpy((uint8_t *)&av + 32, dpa_wqe_at(qp, idx, 64), 16);
	if (av.is_global && dpa_port_gid(qp->ctx->port, av.sgid_index, &sgid)) {
		syn = DPA_SYN_NO_PATH;
		goto fail;
	}
	/* IBA 10.5.2: the destination is a group if address and QPN are those of multicast */
	group = av.is_global && dpa_gid_is_mcast(av.dgid);
	if (!group || (av.dqpn == DPA_QPN_MCAST && dpa_group_leads_out(&sgid, av.dgid))) {
		errno = 0;
		p = ud_peer(qp, &av);
		if (!p && dpa_no_fds_left(errno)) {
			syn = DPA_SYN_NO_FDS;
			goto fail;
		}
		if (!p && errno == EBUSY && waits_for_path(qp))
			return 1;
	}
	if (p && p->wire && c->length > 128u << dpa_port_gid_mtu(qp->ctx->port, av.sgid_index)) {
		syn = DPA_SYN_MSG_TOO_LONG;
		goto fail;
	}
	if (p && p->wire && !r->mc_at && !dpa_paced(qp, c->length))
		return 1;
	if (dpa_unlikely(qp->hw->nforeign)) {
		syn = dpa_source_wait(qp, idx, c, 0, c->length);
		if (syn == DPA_SYN_WAIT)
			return 1;
		if (syn)
			goto fail;
	}
	if (dpa_unlikely(qp->slow.limited) && !r->ud_since && !dpa_rate_allows(qp, c->length))
		return 1;
	if (group && av.dqpn == DPA_QPN_MCAST) {
		if (mcast_send(qp, idx, c, p, &av, &syn))
			return 1;
	} else if (send_to(qp, idx, c, p, &av, &syn)) {
		return 1;
	}
	r->ud_since = 0;
	if (syn)
		goto fail;
	r->send_idx += c->nbb;
	r->send_psn = dpa_psn_add(r->send_psn, 1);
	dpa_complete(qp, c, DPA_CQE_OK, 0);
	return 0;
fail:
	r->mc_at = 0;
	if (dpa_unlikely(qp->gsi)) { /* one MAD is lost, but the endpoint stays */
		dpa_count(qp->hw, DPA_CNT_tx_dropped, 1);
		r->ud_since = 0;
		r->send_idx += c->nbb;
		dpa_complete(qp, c, DPA_CQE_OK, 0);
		return 0;
	}
	dpa_req_fail(qp, dpa_status_of(syn), syn);
	return 1;
}

/* IBA 9.6 (qkey), 9.8.3 (lost), 9.8.3 (too-short) */
void dpa_ud_rx(struct dpa_hw_qp *qp, const struct dpa_slot *s, const uint8_t *payload)
{
	const struct dpa_ext *x = (const struct dpa_ext *)s->ext;
	struct dpa_resp *r = &qp->resp;
	struct dpa_rx_wqe *w = &r->wqe;
	struct iovec iov[DPA_MAX_SGE];
	uint32_t syn;
	int cnt;

	/* The Q_Key must match. Otherwise the packet is dropped and counted. */
	if (x->qkey != qp->attr.qkey || s->len < GRH_BYTES || (s->flags & DPA_PKT_PULL) ||
	    (!r->have_wqe && (dpa_unlikely(qp->slow.inspected && dpa_peer_has_no_receive(qp, s)) ||
			      !dpa_take_rwqe(qp, w)))) {
		dpa_count(qp->hw, DPA_CNT_rx_dropped, 1);
		return;
	}
	r->have_wqe = true;
	/*
	 * In place of InfiniBand's service level, adapters on RoCEv2 report the kind of packet: 8,
	 * and 2 for IPv4 or 1 for IPv6. UCX reads it there.
	 */
	r->ud_packet_type = payload[0] >> 4 == 6 ? 9 : 10;
	if (dpa_unlikely(qp->slow.inspected) && !qp->gsi)
		dpa_receive_pages(qp);
	if (dpa_unlikely(qp->slow.inspected) && !qp->gsi &&
	    (syn = dpa_recv_injected(qp, DPA_CQE_RECV)))
		goto fail;
	syn = dpa_rwqe_iov(qp, w, 0, s->len, iov, &cnt);
	if (!syn)
		syn = dpa_scatter_unasked(qp, s, payload, iov, cnt);
	if (syn == DPA_SYN_RECV_TOO_SMALL) { /* it is lost: the receive serves the next datagram */
		dpa_count(qp->hw, DPA_CNT_resp_local_length_error, 1);
		dpa_count(qp->hw, DPA_CNT_rx_dropped, 1);
		return;
	}
	if (syn)
		goto fail;
	r->have_wqe = false;
	if (dpa_meters_are_on())
		dpa_qp_meter_rx(qp, 1, s->len - GRH_BYTES);
	dpa_recv_cqe(qp, w->wr_id, DPA_CQE_RECV, DPA_CQE_OK, 0, s->len, s);
	return;
fail:
	r->have_wqe = false;
	qp->errors.packet = s;
	dpa_recv_cqe(qp, w->wr_id, DPA_CQE_RECV, dpa_status_of(syn), syn, 0, NULL);
	dpa_qp_to_error(qp);
}
