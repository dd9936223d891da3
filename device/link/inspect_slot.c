/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * inspect_slot.c - shows an entry of a shared memory ring as the frames that it would be on a wire.
 */
#include <string.h>
#include "ctx/ops.h"
#include "link/inspect.h"
#include "link/peer.h"
#include "wire/psn.h"

static _Atomic uint32_t ip_id; /* identification of the next frame: relaxed, any thread */

struct slot_path {
	struct dpa_hw *hw;
	struct dpa_peer *peer;
	struct dpa_roce_net net;
	uint32_t mtu;
};

static void take_shm(void *arg, const struct dpa_frame *f)
{
	struct dpa_peer *peer = arg;

	dpa_frame_in(peer->hw, peer, f, false);
}

/* RoCEv2's entropy: the source port is in the upper quarter of the ports. */
static uint16_t source_port(uint32_t a, uint32_t b)
{
	uint32_t h = (a * 2654435761u) ^ (b * 2246822519u);

	return (uint16_t)(0xc000 | h >> 18);
}

/* Addresses of a connected QP's path, seen from the peer. */
static void qp_net(const struct dpa_hw_qp *qp, struct dpa_roce_net *net)
{
	const struct dpa_wqe_av *av = &qp->attr.av;
	struct dpa_hw_gid own = {0};

	if (dpa_port_gid(qp->ctx->port, av->sgid_index, &own) ||
	    dpa_gid_is_v4(own.gid) != dpa_gid_is_v4(av->dgid))
		memcpy(own.gid, av->dgid, 16);
	memcpy(net->src, av->dgid, 16);
	memcpy(net->dst, own.gid, 16);
	net->tclass = av->traffic_class & (uint8_t)~DPA_ECN_MASK;
	if (qp->hw->cfg.congestion != DPA_CFG_CONGESTION_NONE)
		net->tclass |=
			DPA_ECN_ECT0; /* the peer has the same setting; a ring does not carry it */
	net->hop = av->hop_limit ? av->hop_limit : 64;
	net->flow = av->flow_label & 0xfffff;
}

/* A probe and its answer may have a DSCP of their own. */
static void show_dscp(const struct dpa_slot *s, struct dpa_roce_net *net)
{
	uint32_t dscp = ((const struct dpa_ext *)s->ext)->dscp;

	if ((s->opcode == DPA_BTH_PROBE || s->opcode == DPA_BTH_PROBED) && dscp &&
	    dscp <= DPA_PCC_DSCP_MAX + 1)
		net->tclass = (uint8_t)((dscp - 1) << 2 | (net->tclass & DPA_ECN_MASK));
}

/* Addresses of a datagram, from the GRH in front of it. */
static void grh_net(const uint8_t *g, struct dpa_roce_net *net)
{
	const uint8_t *ip = g + 20;

	if (g[0] >> 4 == 6) {
		net->tclass = (uint8_t)(g[0] << 4 | g[1] >> 4);
		net->flow = (uint32_t)(g[1] & 15) << 16 | (uint32_t)g[2] << 8 | g[3];
		net->hop = g[7];
		memcpy(net->src, g + 8, 16);
		memcpy(net->dst, g + 24, 16);
		return;
	}
	net->tclass = ip[1];
	net->hop = ip[8];
	net->src[10] = net->src[11] = net->dst[10] = net->dst[11] = 0xff;
	memcpy(net->src + 12, ip + 12, 4);
	memcpy(net->dst + 12, ip + 16, 4);
}

/* An entry may stand for a segment of several packets of the path MTU. */
static void show_rx_entry(struct slot_path *sp, const struct dpa_slot *s, const uint8_t *payload,
			  uint32_t len)
{
	uint8_t room[DPA_FRAME_ROOM + DPA_FRAME_BYTES];
	uint32_t of = dpa_npkts(len, sp->mtu);
	struct dpa_roce_pkt whole, pkt;

	dpa_pkt_of_slot(s, &whole);
	for (uint32_t i = 0, off = 0; i < of; i++, off += sp->mtu) {
		struct dpa_frame f = {.net = sp->net, .p = room + DPA_FRAME_ROOM, .ip_known = true};
		bool last = i == of - 1;

		pkt = whole;
		pkt.opcode = dpa_op_split(s->opcode, !i, last);
		pkt.psn = dpa_psn_add(s->psn, i);
		pkt.se = last && whole.se;
		pkt.ackreq = last && whole.ackreq;
		pkt.payload = payload + off;
		pkt.len = last ? len - off : sp->mtu;
		f.net.ip_id = (uint16_t)atomic_fetch_add_explicit(&ip_id, 1, memory_order_relaxed);
		f.n = dpa_roce_encode_all(&f.net, &pkt, room + DPA_FRAME_ROOM, DPA_FRAME_BYTES);
		if (!f.n) { /* exceeds every path MTU: not valid */
			dpa_count(sp->hw, DPA_CNT_rx_malformed, 1);
			return;
		}
		dpa_inspect(sp->hw, DPA_AT_SHM, &f, take_shm, sp->peer);
	}
}

bool dpa_inspect_slot(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
		      const uint8_t *payload)
{
	struct slot_path sp = {.hw = qp->hw, .peer = peer, .mtu = qp->mtu};
	uint32_t len = s->len;

	if (!dpa_roce_ext_of(s->opcode) || (s->flags & (DPA_PKT_PULL | DPA_PKT_IOV)))
		return false;
	if (qp->type == DPA_QP_UD) {
		if (len < 40 || (s->opcode & DPA_BTH_TRANSPORT) != DPA_BTH_UD ||
		    DPA_UD_SLID(((const struct dpa_ext *)s->ext)->sqpn))
			return false; /* addressed by LID: a frame cannot show that */
		grh_net(payload, &sp.net);
		payload += 40;
		len -= 40;
		sp.mtu = DPA_ROCE_MAX_MTU;
	} else {
		if ((qp->dest_qpn & DPA_QPN_INDEX) != s->src || !sp.mtu)
			return false; /* from a QP of another user: a frame cannot show that */
		qp_net(qp, &sp.net);
		/* of a probe there is one packet, and it has another field where the MTU is */
		sp.mtu = dpa_op_is_notice(s->opcode) ? DPA_ROCE_MAX_MTU : dpa_slot_mtu(qp->mtu, s);
		show_dscp(s, &sp.net);
	}
	sp.net.sport = source_port(s->src, s->dqpn);
	sp.net.dport = DPA_ROCE_PORT;
	sp.net.df = true;
	qp->ops->answer(qp);
	dpa_qp_leave(qp);
	show_rx_entry(&sp, s, payload, len);
	return true;
}
