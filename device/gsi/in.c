/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* in.c - packets to QP 1 from the wire, and forwarding to other boards of the host. */
#include <errno.h>
#include <dpa_mad.h>
#include "ctx/hw.h"
#include "gsi/gsi.h"
#include "wire/opcode.h"
#include "link/udp/forward.h"
#include "link/frame.h"

void dpa_gsi_frame(const struct dpa_gsi_addr *a, const uint8_t src[16], const uint8_t dst[16],
		   uint16_t sport, const uint8_t *mad, uint8_t room[DPA_GSI_FRAME],
		   struct dpa_frame *f)
{
	const struct dpa_roce_pkt pkt = {.opcode = DPA_BTH_UD | DPA_BTH_SEND_ONLY,
					 .mig = true,
					 .pkey = DPA_ROCE_PKEY,
					 .dqpn = DPA_MAD_QPN,
					 .sqpn = DPA_MAD_QPN,
					 .qkey = DPA_MAD_QKEY,
					 .payload = mad,
					 .len = DPA_MAD_BYTES};

	*f = (struct dpa_frame){.net = {.sport = sport,
					.dport = DPA_ROCE_PORT,
					.df = true,
					.tclass = a->traffic_class,
					.hop = a->hop_limit ? a->hop_limit : 64,
					.flow = a->flow_label & 0xfffff},
				.p = room + DPA_GSI_ROOM,
				.ip_known = true};
	memcpy(f->net.src, src, 16);
	memcpy(f->net.dst, dst, 16);
	f->n = dpa_roce_encode_all(&f->net, &pkt, room + DPA_GSI_ROOM,
				   DPA_GSI_FRAME - DPA_GSI_ROOM);
}

int dpa_gsi_to_boards(struct dpa_hw *hw, const struct dpa_frame *f, uint32_t num)
{
	return num ? dpa_forward_board(hw, f, num) : dpa_forward_boards(hw, f);
}

static bool is_gsi_mad(const struct dpa_roce_pkt *pkt, struct dpa_gsi_key *k)
{
	return pkt->opcode == (DPA_BTH_UD | DPA_BTH_SEND_ONLY) && pkt->qkey == DPA_MAD_QKEY &&
	       pkt->len == DPA_MAD_BYTES && dpa_gsi_key(pkt->payload, k);
}

static bool drop_mad(struct dpa_hw *hw)
{
	dpa_count(hw, DPA_CNT_rx_dropped, 1);
	return false;
}

static bool is_our_mad(struct dpa_hw *hw, struct dpa_roce_pkt *pkt)
{
	pkt->dqpn = atomic_load_explicit(&hw->gsi.qpn, memory_order_acquire);
	return pkt->dqpn ? true : drop_mad(hw);
}

static bool pass_mad(struct dpa_hw *hw, const struct dpa_frame *f, uint32_t qpn)
{
	return dpa_frame_forward(hw, f, qpn) ? false : drop_mad(hw);
}

/* No process matches: a process that has QP1 open gets it, and its driver refuses it. */
static bool is_mad_refused(struct dpa_hw *hw, const struct dpa_frame *f, struct dpa_roce_pkt *pkt)
{
	struct dpa_board_gsi g;

	if (atomic_load_explicit(&hw->gsi.qpn, memory_order_acquire))
		return is_our_mad(hw, pkt);
	if (dpa_board_gsi_next(hw->board, hw->board->slot, &g))
		return pass_mad(hw, f, g.qpn);
	dpa_gsi_need(); /* the peer retransmits it */
	return drop_mad(hw);
}

static bool mad_to_process(struct dpa_hw *hw, const struct dpa_board_gsi *g,
			   const struct dpa_frame *f, struct dpa_roce_pkt *pkt)
{
	if (g->slot == hw->board->slot && g->gen == hw->board->gen)
		return is_our_mad(hw, pkt);
	return pass_mad(hw, f, g->qpn);
}

/*
 * Other boards got the request. A process of this board may have begun to listen meanwhile: gsi.h.
 */
static bool listens_now(struct dpa_hw *hw, const struct dpa_gsi_key *k, const struct dpa_frame *f,
			struct dpa_roce_pkt *pkt)
{
	struct dpa_board_gsi g;
	uint32_t num;

	return k->request && dpa_gsi_find(hw, k, f->net.dst, &g, &num) == DPA_GSI_PROCESS &&
	       mad_to_process(hw, &g, f, pkt);
}

bool dpa_gsi_in(struct dpa_hw *hw, const struct dpa_frame *f, struct dpa_roce_pkt *pkt,
		bool may_forward)
{
	struct dpa_board_gsi g;
	struct dpa_gsi_key k;
	uint32_t num;

	if (!is_gsi_mad(pkt, &k))
		return drop_mad(hw);
	if (!may_forward)
		return is_our_mad(hw, pkt);
	switch (dpa_gsi_find(hw, &k, f->net.dst, &g, &num)) {
	case DPA_GSI_PROCESS:
		return mad_to_process(hw, &g, f, pkt);
	case DPA_GSI_BOARD:
		if (f->passed_on) /* from the board that received it first: it would loop */
			return drop_mad(hw);
		switch (dpa_gsi_to_boards(hw, f, num)) {
		case 0:
			break;
		case EAGAIN: /* the board has a process: it must not be refused for it */
			return drop_mad(hw);
		default:
			return is_mad_refused(hw, f, pkt);
		}
		dpa_count(hw, DPA_CNT_rx_forwarded, 1);
		return listens_now(hw, &k, f, pkt);
	case DPA_GSI_NOBODY:
		if (f->passed_on && k.request) /* every board got it */
			return drop_mad(hw);
		break;
	}
	return is_mad_refused(hw, f, pkt);
}
