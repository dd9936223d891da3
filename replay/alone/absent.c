/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * absent.c - stand-ins for all around the transport that a QP alone has not: other processes,
 * groups, flow rules, XRC domains, wake-ups. They are called, and do nothing or fail. The unit tests
 * of the transport use them, too.
 */
#include <errno.h>
#include <stdlib.h>
#include "board/board.h"
#include "board/mr_way.h"
#include "ctx/hw.h"
#include "ctx/qp.h"
#include "direct/share.h"
#include "link/frame.h"
#include "link/kick.h"
#include "link/peer.h"
#include "link/sock.h"
#include "link/udp/forward.h"
#include "link/udp/wire.h"
#include "port/port.h"
#include "tables/tables.h"
#include "transport/api.h"

static struct dpa_board_uar uar_page;
static uint32_t next_domain, next_srq;

void dpa_sock_connect(struct dpa_peer *p)
{
}

_Atomic uint32_t *dpa_board_poller(struct dpa_board *b, uint32_t cpu)
{
	static _Atomic uint32_t word;

	return &word;
}

void dpa_tx_kick(struct dpa_tx *tx)
{
	atomic_store_explicit(&tx->kick_owed, 0, memory_order_relaxed);
}

bool dpa_tx_announce(struct dpa_tx *tx)
{
	return true;
}

void dpa_forward_take(struct dpa_hw *hw, const struct dpa_slot *s, const uint8_t *payload)
{
	abort(); /* no process forwards packets here */
}

void dpa_settle_kicks(struct dpa_hw *hw)
{
	atomic_store_explicit(&hw->kicks_owed, 0, memory_order_relaxed);
}

void dpa_udp_show_hops(struct dpa_hw *hw)
{
}

void dpa_steer_qp(struct dpa_hw *hw, uint32_t qpn)
{
}

bool dpa_frame_forward(struct dpa_hw *hw, const struct dpa_frame *f, uint32_t dqpn)
{
	return false;
}

void dpa_port_set_down(struct dpa_port *port, bool down)
{
	atomic_store_explicit(&port->down, down, memory_order_relaxed);
}

uint32_t dpa_port_gid_mtu(struct dpa_port *port, uint32_t index)
{
	return DPA_PORT_MTU_4096;
}

void dpa_board_qpn_free(struct dpa_board *b, uint32_t qpn)
{
}

uint32_t dpa_board_ask_gen(struct dpa_board *b, enum dpa_board_ask_what what)
{
	return 0;
}

bool dpa_board_ask_get(struct dpa_board *b, enum dpa_board_ask_what what,
		       char text[DPA_BOARD_ASK_TEXT], uint32_t *gen)
{
	return false;
}

void dpa_board_uar_free(struct dpa_board *b, uint32_t page, uint32_t slot)
{
}

struct dpa_board_uar *dpa_board_uar_page(struct dpa_board *b, uint32_t page)
{
	return &uar_page;
}

int dpa_board_mcast_attach(struct dpa_board *b, const uint8_t gid[16], uint32_t qpn)
{
	return 0;
}

int dpa_board_mcast_detach(struct dpa_board *b, const uint8_t gid[16], uint32_t qpn)
{
	return 0;
}

void dpa_board_mcast_forget(struct dpa_board *b, uint32_t qpn)
{
}

bool dpa_board_mcast_group(struct dpa_board *b, uint32_t qpn, uint32_t *at, uint8_t gid[16])
{
	return false;
}

uint32_t dpa_board_flow_gen(struct dpa_board *b)
{
	return 0;
}

uint32_t dpa_board_flow_end(struct dpa_board *b)
{
	return 0;
}

enum dpa_board_flow_look dpa_board_flow_get(struct dpa_board *b, uint32_t at, void *rule,
					    uint32_t *qpn, dpa_owner_t *owner)
{
	return DPA_FLOW_NONE;
}

int dpa_board_flow_add(struct dpa_board *b, uint32_t qpn, const void *rule, size_t len,
		       uint32_t *at)
{
	return ENOMEM;
}

void dpa_board_flow_hit(struct dpa_board *b, uint32_t at, uint32_t qpn, dpa_owner_t owner,
			uint32_t n)
{
}

int dpa_board_flow_counts(struct dpa_board *b, uint32_t at, uint32_t qpn, uint64_t *packets,
			  uint64_t *bytes)
{
	return ENOENT;
}

int dpa_board_flow_remove(struct dpa_board *b, uint32_t at, uint32_t qpn)
{
	return ENOENT;
}

void dpa_board_flow_forget(struct dpa_board *b, uint32_t qpn)
{
}

int dpa_board_xrcd_open(struct dpa_board *b, const struct dpa_xrcd_attr *a, uint32_t *num,
			uint32_t *at)
{
	*at = UINT32_MAX;
	*num = ++next_domain;
	return 0;
}

void dpa_board_xrcd_close(struct dpa_board *b, uint32_t at)
{
}

int dpa_board_xrc_srq_add(struct dpa_board *b, uint32_t xrcd, uint32_t *srqn)
{
	*srqn = 1u << 14 | next_srq++ % DPA_MAX_SRQ;
	return 0;
}

void dpa_board_xrc_srq_remove(struct dpa_board *b, uint32_t srqn)
{
}

int dpa_group_join(struct dpa_hw *hw, const uint8_t gid[16])
{
	return 0;
}

void dpa_group_leave(struct dpa_hw *hw, const uint8_t gid[16])
{
}

bool dpa_group_leads_out(const struct dpa_hw_gid *from, const uint8_t gid[16])
{
	return false;
}

struct dpa_board_cqinfo *dpa_board_cqinfo(struct dpa_board *b, uint32_t slot)
{
	return NULL;
}

const char *const dpa_share_why_text[DPA_SHARE_NUM] = {
#define X(name, text) text,
	DPA_SHARE_WHYS(X)
#undef X
};
