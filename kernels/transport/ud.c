/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Unreliable datagram (IBA 9.8.3, annex A17 for the 40 bytes in front of a receive). */
#include <errno.h>
#include "transport.h"

#define GRH_BYTES      40
#define UD_PATIENCE_NS 100000000ull
#define UD_MTU	       4096u

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v);
}

static uint32_t ip_checksum(const uint8_t *h)
{
	uint32_t sum = 0;

	for (int i = 0; i < 20; i += 2)
		sum += (uint32_t)h[i] << 8 | h[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	return ~(sum + (sum >> 16)) & 0xffff;
}

static bool is_ipv4(const uint8_t gid[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return !memcmp(gid, mapped, sizeof(mapped));
}

/* The header that RoCEv2 would have carried: the last 20 bytes for IPv4, all 40 for IPv6. */
static void make_grh(uint8_t *g, const struct dpa_wqe_av *av, const uint8_t sgid[16], uint32_t n)
{
	/* UDP 8, BTH 12, DETH 8, payload with pad, ICRC 4 */
	uint32_t udp = 8 + 12 + 8 + ((n + 3) & ~3u) + 4;

	memset(g, 0, GRH_BYTES);
	if (is_ipv4(av->dgid)) {
		uint8_t *ip = g + 20;

		ip[0] = 0x45;
		ip[1] = av->traffic_class;
		put16(ip + 2, 20 + udp);
		ip[6] = 0x40; /* DF */
		ip[8] = av->hop_limit ? av->hop_limit : 64;
		ip[9] = 17;
		memcpy(ip + 12, sgid + 12, 4);
		memcpy(ip + 16, av->dgid + 12, 4);
		put16(ip + 10, ip_checksum(ip));
		return;
	}
	put32(g, 6u << 28 | (uint32_t)av->traffic_class << 20 | (av->flow_label & 0xfffff));
	put16(g + 4, udp);
	g[6] = 17;
	g[7] = av->hop_limit ? av->hop_limit : 64;
	memcpy(g + 8, sgid, 16);
	memcpy(g + 24, av->dgid, 16);
}

static uint32_t check_ud(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c)
{
	uint64_t total;
	uint32_t syn;

	if (c->opcode != DPA_OP_SEND && c->opcode != DPA_OP_SEND_IMM)
		return DPA_SYN_BAD_OPCODE;
	if (c->index != idx || c->nbb < 2 || c->nsge > DPA_MAX_SGE)
		return DPA_SYN_BAD_WQE;
	if (c->length > UD_MTU)
		return DPA_SYN_MSG_TOO_LONG;
	if (c->flags & DPA_WQE_INLINE)
		return c->length > DPA_MAX_INLINE ? DPA_SYN_BAD_WQE : 0;
	syn = dpa_check_sges(qp, idx, c, 0, &total);
	return syn		    ? syn
	       : total > UD_MTU	    ? DPA_SYN_MSG_TOO_LONG
	       : total != c->length ? DPA_SYN_BAD_WQE
				    : 0;
}

/* 0: sent; 1: no room. */
static int ud_packet(struct dpa_hw_qp *qp, struct dpa_tx *tx, uint32_t idx,
		     const struct dpa_wqe_ctrl *c, const struct dpa_wqe_av *av, uint32_t *syn)
{
	uint8_t op =
		DPA_BTH_UD | (c->opcode == DPA_OP_SEND ? DPA_BTH_SEND_ONLY : DPA_BTH_SEND_ONLY_IMM);
	uint32_t n = GRH_BYTES + c->length;
	struct dpa_hw_gid sgid = {0};
	struct dpa_slot *s;
	struct dpa_ext *x;
	uint8_t *data = NULL;

	dpa_port_gid(&qp->hw->port, av->sgid_index, &sgid);
	dpa_spin_lock(&tx->lock);
	s = dpa_pkt_begin(qp, tx, op, av->dqpn, qp->req.send_psn, n, n, &data);
	if (!s) {
		dpa_spin_unlock(&tx->lock);
		return 1;
	}
	x = (struct dpa_ext *)s->ext;
	x->qkey = av->qkey & 0x80000000u ? qp->attr.qkey : av->qkey; /* C10-15 */
	x->sqpn = qp->qpn;
	x->ud_imm = c->imm;
	if (c->flags & DPA_WQE_SOLICITED)
		s->flags |= DPA_PKT_SE;
	make_grh(data, av, sgid.gid, c->length);
	*syn = dpa_gather(qp, idx, c, 0, c->length, data + GRH_BYTES);
	if (!*syn) {
		dpa_stat_add(&tx->stat.packets, 1);
		dpa_stat_add(&tx->stat.bytes, n);
		dpa_stat_add(&tx->stat.sends, 1);
		dpa_lane_publish(tx, s);
	}
	dpa_spin_unlock(&tx->lock);
	if (!*syn)
		dpa_tx_kick(tx);
	return 0;
}

/* A peer that does not take its packets must not hold up those for others: after a while they are
 * lost. */
static bool waited_enough(struct dpa_hw_qp *qp)
{
	uint64_t now = dpa_now_ns();

	if (!qp->req.ud_since)
		qp->req.ud_since = now;
	return now - qp->req.ud_since > UD_PATIENCE_NS;
}

int dpa_ud_send(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c)
{
	struct dpa_req *r = &qp->req;
	uint32_t syn = check_ud(qp, idx, c), state;
	struct dpa_wqe_av av;
	struct dpa_peer *p;

	if (syn)
		goto fail;
	memcpy(&av, dpa_wqe_at(qp, idx, 32), 32);
	memcpy((uint8_t *)&av + 32, dpa_wqe_at(qp, idx, 64), 16);
	if (dpa_port_find(&qp->hw->port, av.dgid) < 0) {
		syn = DPA_SYN_NO_PATH;
		goto fail;
	}
	p = dpa_peer_of_qpn(qp->hw, av.dqpn);
	state = p ? atomic_load_explicit(&p->state, memory_order_acquire) : DPA_PEER_DEAD;
	if (state == DPA_PEER_CONNECTING && !waited_enough(qp)) {
		dpa_pend(qp, dpa_now_ns() + 1000000);
		return 1;
	}
	/* a datagram to nobody is lost, not wrong */
	if (state == DPA_PEER_UP && ud_packet(qp, &p->tx[qp->lane], idx, c, &av, &syn) &&
	    !waited_enough(qp)) {
		dpa_tx_full(qp, &p->tx[qp->lane]);
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
	dpa_req_fail(qp, dpa_status_of(syn), syn);
	return 1;
}

void dpa_ud_rx(struct dpa_hw_qp *qp, const struct dpa_slot *s, const uint8_t *payload)
{
	const struct dpa_ext *x = (const struct dpa_ext *)s->ext;
	struct dpa_rx_wqe *w = &qp->resp.wqe;
	struct iovec iov[DPA_MAX_SGE];
	uint32_t syn;
	int cnt;

	/* C9-40: the Q_Key must match; what does not is dropped and counted */
	if (x->qkey != qp->attr.qkey || s->len < GRH_BYTES || (s->flags & DPA_PKT_PULL) ||
	    !dpa_take_rwqe(qp, w)) {
		dpa_count(qp->hw, DPA_CNT_rx_dropped, 1);
		return;
	}
	/*
	 * Where InfiniBand has the service level, adapters on RoCEv2 report the kind of packet: 8,
	 * and 2 for IPv4 or 1 for IPv6. UCX reads it there.
	 */
	qp->resp.ud_packet_type = payload[0] >> 4 == 6 ? 9 : 10;
	syn = dpa_rwqe_iov(qp, w, 0, s->len, iov, &cnt);
	if (!syn)
		syn = dpa_scatter(qp, NULL, s, payload, iov, cnt);
	if (syn) {
		dpa_recv_cqe(qp, w->wr_id, DPA_CQE_RECV, dpa_status_of(syn), syn, 0, NULL);
		dpa_qp_to_error(qp);
		return;
	}
	dpa_recv_cqe(qp, w->wr_id, DPA_CQE_RECV, DPA_CQE_OK, 0, s->len, s);
}
