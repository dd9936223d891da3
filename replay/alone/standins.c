/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* standins.c - the clock, the board, the port and the path of the one QP of alone.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "alone_priv.h"
#include "board/board_layout.h"
#include "gsi/gsi.h"
#include "link/inspect.h"
#include "link/kick.h"
#include "link/sock.h"
#include "link/udp/forward.h"
#include "link/udp/udp.h"
#include "errors/errors.h"
#include "eu/eu.h"
#include "tables/pcc.h"
#include "tables/tables.h"
#include "transport/api.h"

struct dpa_hw *dpa_the_hw;
struct alone *alone_it;
static struct dpa_uar_slot uar_slot;
static struct dpa_board_mrinfo mrinfo[DPA_BOARD_MRINFO];
static _Atomic uint64_t pcc_word;
static _Atomic uint64_t pcc_result;
static _Atomic uint32_t pcc_counts[DPA_PCC_COUNTERS];

/* ------------------------------------------------------------------- clock */

uint64_t dpa_now_ns(void)
{
	return alone_it->now;
}

uint64_t dpa_now_about(void)
{
	return alone_it->now;
}

/* -------------------------------------------------------------------- path */

struct dpa_peer *dpa_remote_get(struct dpa_hw *hw, struct dpa_port *port,
				const struct dpa_wqe_av *av)
{
	return &alone_it->remote->peer;
}

struct dpa_peer *dpa_remote_hold(struct dpa_hw *hw, struct dpa_port *port,
				 const struct dpa_wqe_av *av)
{
	atomic_fetch_add(&alone_it->remote->users, 1);
	return &alone_it->remote->peer;
}

void dpa_remote_drop(struct dpa_peer *remote)
{
	atomic_fetch_sub(&dpa_remote_of(remote)->users, 1);
}

struct dpa_wire *dpa_wire_get(struct dpa_hw *hw)
{
	return hw->wire;
}

struct dpa_peer *dpa_peer_of_qpn(struct dpa_hw *hw, uint32_t qpn)
{
	errno = ENOENT;
	return NULL;
}

struct dpa_peer *dpa_peer_get(struct dpa_hw *hw, uint32_t slot, uint32_t gen)
{
	return NULL;
}

int dpa_udp_open(struct dpa_hw *hw)
{
	return 0;
}

bool dpa_udp_probe(struct dpa_hw *hw, const uint8_t *p, uint32_t n)
{
	return false;
}

int dpa_fwd_rx(struct dpa_hw *hw)
{
	return 0;
}

struct dpa_hw_qp *dpa_group_deliver(struct dpa_hw *hw, struct dpa_hw_qp *cur,
				    const struct dpa_frame *f, const struct dpa_roce_pkt *pkt)
{
	return cur;
}

bool dpa_gsi_in(struct dpa_hw *hw, const struct dpa_frame *f, struct dpa_roce_pkt *pkt,
		bool may_forward)
{
	return false;
}

int dpa_route_lookup(struct dpa_port *port, const uint8_t src[16], const uint8_t dst[16],
		     uint32_t *oif, uint32_t *mtu)
{
	*oif = 1;
	*mtu = DPA_PORT_MTU_4096;
	return 0;
}

void dpa_tx_look(const struct dpa_tx *tx)
{
}

/* ------------------------------------------------- the place where captures look: udp/tx.c */

void dpa_inspect_tx(struct dpa_hw *hw, const struct dpa_frame *f, dpa_inspect_emit_fn *emit,
		    void *arg, _Atomic uint32_t *users)
{
	alone_it->opt.sent(alone_it->opt.arg, f);
}

void dpa_inspect(struct dpa_hw *hw, enum dpa_inspect_at at, const struct dpa_frame *f,
		 dpa_inspect_emit_fn *emit, void *arg)
{
}

bool dpa_inspect_slot(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
		      const uint8_t *payload)
{
	return false;
}

bool dpa_inspect_only_drops(struct dpa_hw *hw)
{
	return false;
}

bool dpa_inspect_drops(struct dpa_hw *hw, const uint8_t *p, uint32_t n)
{
	return false;
}

int dpa_inspect_poll(struct dpa_hw *hw)
{
	return 0;
}

uint64_t dpa_inspect_due(struct dpa_hw *hw)
{
	return UINT64_MAX;
}

void dpa_inspect_tick(struct dpa_hw *hw)
{
}

/* --------------------------------------------------------------------- EUs */

int dpa_eu_attach(struct dpa_hw_qp *qp, int eu)
{
	return 0;
}

int dpa_eu_detach(struct dpa_hw_qp *qp)
{
	return -1;
}

void dpa_hw_kick_sq(struct dpa_hw_qp *qp)
{
}

/* -------------------------------------------------------------------- port */

uint32_t dpa_port_mtu(const struct dpa_port *port)
{
	return DPA_PORT_MTU_4096;
}

int dpa_port_gid(struct dpa_port *port, uint32_t index, struct dpa_hw_gid *gid)
{
	if (index)
		return ENODATA;
	memset(gid, 0, sizeof(*gid));
	memcpy(gid->gid, alone_it->opt.net.src, 16);
	gid->valid = 1;
	return 0;
}

int dpa_hw_query_gid(struct dpa_hw_ctx *ctx, uint32_t index, struct dpa_hw_gid *gid)
{
	return dpa_port_gid(ctx->port, index, gid);
}

int dpa_port_find(struct dpa_port *port, const uint8_t gid[16])
{
	return memcmp(gid, alone_it->opt.net.src, 16) ? -1 : 0;
}

bool dpa_port_is_own(struct dpa_port *port, const uint8_t gid[16])
{
	return dpa_port_find(port, gid) >= 0;
}

/* ------------------------------------------------------------------- board */

int dpa_board_qpn_alloc(struct dpa_board *b, uint32_t *qpn)
{
	*qpn = alone_it->opt.qpn;
	return 0;
}

int dpa_board_uar_alloc(struct dpa_board *b, uint32_t *page, uint32_t *slot)
{
	*page = *slot = 0;
	return 0;
}

struct dpa_uar_slot *dpa_board_uar_addr(struct dpa_board *b, uint32_t page, uint32_t slot)
{
	return &uar_slot;
}

bool dpa_board_xrc_srq_owner(struct dpa_board *b, uint32_t srqn, uint32_t *xrcd, uint32_t *slot,
			     uint32_t *gen)
{
	return false;
}

bool dpa_board_qpn_owner(struct dpa_board *b, uint32_t qpn, uint32_t *slot, uint32_t *gen)
{
	return false;
}

bool dpa_board_mcast_next(struct dpa_board *b, const uint8_t gid[16], uint32_t *at, uint32_t *qpn)
{
	return false;
}

struct dpa_board_qpinfo *dpa_board_qpinfo(struct dpa_board *b, uint32_t qpn)
{
	return NULL;
}

struct dpa_board_mrinfo *dpa_board_mrinfo(struct dpa_board *b, uint32_t slot)
{
	return mrinfo;
}

bool dpa_board_alive(struct dpa_board *b, uint32_t slot, uint32_t gen)
{
	return true;
}

struct dpa_board_proc *dpa_board_proc(struct dpa_board *b, uint32_t slot)
{
	return slot == b->slot ? b->self : NULL;
}

/* Records of errors are not kept: each error is in an event. */
uint32_t dpa_board_error_put(struct dpa_board *b, bool flush, uint32_t number,
			     const struct dpa_error *e)
{
	return number ? number : 1;
}

bool dpa_board_error_flushed(struct dpa_board *b, uint32_t number, bool received)
{
	return number;
}

/* ------------------------------- congestion control of the port: the built-in algorithm only */

_Atomic uint64_t *dpa_board_pcc_word(struct dpa_board *b)
{
	return &pcc_word;
}

void dpa_board_pcc_params(struct dpa_board *b, uint32_t slot, uint32_t value[DPA_PCC_PARAMS])
{
	const struct dpa_pcc_builtin_desc *d = dpa_board_pcc_builtin(slot);

	for (uint32_t i = 0; i < d->nparams; i++)
		value[i] = d->params[i].def;
}

_Atomic uint32_t *dpa_board_pcc_counts(struct dpa_board *b, uint32_t slot)
{
	return pcc_counts;
}

int dpa_board_pcc_ring_open(struct dpa_board *b)
{
	return ENOMEM;
}

bool dpa_board_pcc_report(struct dpa_board *b, const struct dpa_pcc_report *r)
{
	return false;
}

uint32_t dpa_board_pcc_disabled(struct dpa_board *b)
{
	return 0;
}

_Atomic uint64_t *dpa_board_pcc_result(struct dpa_board *b, uint32_t qpn)
{
	return &pcc_result;
}

void dpa_board_pcc_check(struct dpa_board *b)
{
}

void dpa_board_pcc_leave(struct dpa_board *b)
{
}

struct dpa_board_pcc_flow *dpa_board_pcc_flow_begin(struct dpa_board *b, uint32_t qpn)
{
	return NULL;
}

struct dpa_board_pcc_queue *dpa_board_pcc_queue_mine(struct dpa_board *b)
{
	return NULL;
}

void dpa_board_pcc_record_check(struct dpa_board *b, uint64_t now)
{
}

bool dpa_board_pcc_probes(struct dpa_board *b, uint32_t number, struct dpa_pcc_probes *out)
{
	return false;
}

bool dpa_board_pcc_header(struct dpa_board *b, uint32_t number, uint32_t flow,
			  uint32_t words[DPA_PCC_HEADER])
{
	return false;
}

bool dpa_board_np_takes(struct dpa_board *b, const struct dpa_pcc_probes *probe)
{
	return false;
}

bool dpa_board_np_post(struct dpa_board *b, struct dpa_pcc_probe *probe)
{
	return false;
}

enum dpa_np_state dpa_board_np_poll(struct dpa_board *b, uint32_t ring, uint64_t serial,
				    struct dpa_pcc_reply *reply)
{
	return DPA_NP_NONE;
}

void dpa_board_np_drop(struct dpa_board *b, uint32_t ring, uint64_t serial)
{
}

void dpa_board_np_check(struct dpa_board *b)
{
}
