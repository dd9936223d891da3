/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* standins.c - stand-ins for the board, the port, the link and the clock. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "ctx/qp.h"
#include "link/kick.h"
#include "transport/api.h"
#include "eu/eu.h"
#include "board/mr_way.h"
#include "harness.h"
#include "gsi/gsi.h"
#include "link/udp/forward.h"
#include "link/inspect.h"
#include "link/sock.h"
#include "link/udp/wire.h"
#include "tables/tables.h"
#include "errors/errors.h"

struct dpa_hw *dpa_the_hw;
uint32_t dpa_spin_pauses = 200;
uint64_t th_now = 1000000000, th_now_step;
bool th_nobody, th_dead;
int th_nobody_errno = ENOENT;
char th_logged[256], th_logged_error[256];
int th_qpn_err, th_uar_err;
uint32_t th_members[4];
uint32_t th_udp_looks, th_udp_packets, th_fwd_looks;
struct th_owned th_owned[4];
struct dpa_board_qpinfo *th_info;
struct th_xrc_srq th_xrc_srq;
void (*th_looks)(void);
uint32_t th_port_mtu = DPA_PORT_MTU_4096;
uint8_t th_gid[2][16] = {
	{[10] = 0xff, [11] = 0xff, [12] = 192, [13] = 0, [14] = 2, [15] = 1},
	{0x20, 0x01, 0x0d, 0xb8, [15] = 7},
};
static struct dpa_uar_slot uar_slots[DPA_UAR_SLOTS];
static uint32_t next_qpn, next_slot;

uint64_t dpa_now_ns(void)
{
	if (th_now_step)
		th_now += th_now_step;
	return th_now; /* EUs may read it, too, while it does not change */
}

uint64_t dpa_now_about(void)
{
	return dpa_now_ns();
}

void th_log(int level, const char *text)
{
	const bool error = strstr(text, ": IBV_WC_") || strstr(text, ": a request of the peer ") ||
			   strstr(text, ": flushed, ");

	snprintf(error ? th_logged_error : th_logged, sizeof(th_logged), "%s", text);
}

struct dpa_peer *dpa_peer_of_qpn(struct dpa_hw *hw, uint32_t qpn)
{
	if (th_looks)
		th_looks();
	if (th_nobody)
		errno = th_nobody_errno;
	return th_nobody ? NULL : hw->all_peers;
}

struct dpa_peer *dpa_peer_get(struct dpa_hw *hw, uint32_t slot, uint32_t gen)
{
	return hw->all_peers;
}

void (*th_polls)(struct dpa_tx *tx);

void dpa_tx_look(const struct dpa_tx *tx)
{
	if (th_polls)
		th_polls(tx->peer->tx); /* const is a promise of the caller only */
}

/* No inspection here. Weak: a test of inspection links device/link/inspect.c. */
__attribute__((weak)) bool dpa_inspect_slot(struct dpa_hw_qp *qp, struct dpa_peer *peer,
					    const struct dpa_slot *s, const uint8_t *payload)
{
	return false;
}

__attribute__((weak)) bool dpa_inspect_only_drops(struct dpa_hw *hw)
{
	return false;
}

__attribute__((weak)) bool dpa_inspect_drops(struct dpa_hw *hw, const uint8_t *p, uint32_t n)
{
	return false;
}

__attribute__((weak)) int dpa_inspect_poll(struct dpa_hw *hw)
{
	return 0;
}

__attribute__((weak)) uint64_t dpa_inspect_due(struct dpa_hw *hw)
{
	return UINT64_MAX;
}

__attribute__((weak)) void dpa_inspect_tick(struct dpa_hw *hw)
{
}

/* --------------------------------------------- other hosts: there are none */

/* Weak: fuzz targets and tests of the send path have their own. */
__attribute__((weak)) uint32_t dpa_wire_flush(struct dpa_tx *tx, uint32_t src, uint32_t *psn)
{
	abort();
}

__attribute__((weak)) bool dpa_wire_joins(const struct dpa_tx *tx)
{
	(void)tx;
	return true;
}

__attribute__((weak)) void dpa_wire_cork(struct dpa_tx *tx)
{
	abort();
}

__attribute__((weak)) void dpa_corks_send(struct dpa_hw *hw)
{
	atomic_store(&hw->cork.any, 0);
}

struct dpa_peer *dpa_remote_hold(struct dpa_hw *hw, struct dpa_port *port,
				 const struct dpa_wqe_av *av)
{
	errno = ENETUNREACH;
	return NULL;
}

void dpa_remote_drop(struct dpa_peer *remote)
{
}

struct dpa_peer *dpa_remote_get(struct dpa_hw *hw, struct dpa_port *port,
				const struct dpa_wqe_av *av)
{
	errno = ENETUNREACH;
	return NULL;
}

struct dpa_wire *dpa_wire_get(struct dpa_hw *hw)
{
	errno = ENETUNREACH;
	return NULL;
}

int dpa_udp_open(struct dpa_hw *hw)
{
	return ENETUNREACH;
}

int dpa_route_lookup(struct dpa_port *port, const uint8_t src[16], const uint8_t dst[16],
		     uint32_t *oif, uint32_t *mtu)
{
	return ENETUNREACH;
}

/* Weak: a test of EUs has its own packets. */
__attribute__((weak)) int dpa_fwd_rx(struct dpa_hw *hw)
{
	th_fwd_looks++;
	return 0;
}

__attribute__((weak)) int dpa_udp_rx(struct dpa_hw *hw)
{
	th_udp_looks++;
	return (int)th_udp_packets;
}

/* Weak: the fuzz targets link device/gsi. */
__attribute__((weak)) bool dpa_gsi_in(struct dpa_hw *hw, const struct dpa_frame *f,
				      struct dpa_roce_pkt *pkt, bool may_forward)
{
	return false;
}

/* Weak: it has EUs as well. */
__attribute__((weak)) int dpa_eu_attach(struct dpa_hw_qp *qp, int eu)
{
	return 0;
}

__attribute__((weak)) int dpa_eu_detach(struct dpa_hw_qp *qp)
{
	return -1;
}

__attribute__((weak)) void dpa_hw_kick_sq(struct dpa_hw_qp *qp)
{
}

/* -------------------------------------------------------------------- port */

uint32_t dpa_port_mtu(const struct dpa_port *port)
{
	return th_port_mtu;
}

int dpa_port_gid(struct dpa_port *port, uint32_t index, struct dpa_hw_gid *gid)
{
	if (index >= 2)
		return ENODATA;
	memset(gid, 0, sizeof(*gid));
	memcpy(gid->gid, th_gid[index], 16);
	gid->valid = 1;
	return 0;
}

int dpa_hw_query_gid(struct dpa_hw_ctx *ctx, uint32_t index, struct dpa_hw_gid *gid)
{
	return dpa_port_gid(ctx->port, index, gid);
}

bool dpa_port_is_own(struct dpa_port *port, const uint8_t gid[16])
{
	return dpa_port_find(port, gid) >= 0;
}

int dpa_port_find(struct dpa_port *port, const uint8_t gid[16])
{
	return !memcmp(gid, th_gid[0], 16) ? 0 : !memcmp(gid, th_gid[1], 16) ? 1 : -1;
}

/* ------------------------------------------------------------------- board */

int dpa_board_qpn_alloc(struct dpa_board *b, uint32_t *qpn)
{
	if (th_qpn_err)
		return th_qpn_err;
	*qpn = b->board_num << 16 | (0x11 + next_qpn++ % 0x8000); /* a fuzzer creates many */
	return 0;
}

int dpa_board_uar_alloc(struct dpa_board *b, uint32_t *page, uint32_t *slot)
{
	if (th_uar_err)
		return th_uar_err;
	*page = 0;
	*slot = next_slot++ % DPA_UAR_SLOTS;
	return 0;
}

struct dpa_uar_slot *dpa_board_uar_addr(struct dpa_board *b, uint32_t page, uint32_t slot)
{
	return &uar_slots[slot];
}

bool dpa_board_xrc_srq_owner(struct dpa_board *b, uint32_t srqn, uint32_t *xrcd, uint32_t *slot,
			     uint32_t *gen)
{
	*xrcd = th_xrc_srq.xrcd;
	*slot = b->slot;
	*gen = b->gen;
	return srqn && srqn == th_xrc_srq.srqn;
}

bool dpa_board_qpn_owner(struct dpa_board *b, uint32_t qpn, uint32_t *slot, uint32_t *gen)
{
	for (int i = 0; i < 4; i++)
		if (th_owned[i].qpn == qpn) {
			*slot = th_owned[i].slot;
			*gen = th_owned[i].gen;
			return qpn;
		}
	return false;
}

bool dpa_board_mcast_next(struct dpa_board *b, const uint8_t gid[16], uint32_t *at, uint32_t *qpn)
{
	*qpn = *at < 4 ? th_members[*at] : 0;
	return *qpn != 0;
}

struct dpa_board_qpinfo *dpa_board_qpinfo(struct dpa_board *b, uint32_t qpn)
{
	return th_info;
}

struct dpa_board_mrinfo th_mrinfo[DPA_BOARD_MRINFO];

struct dpa_board_mrinfo *dpa_board_mrinfo(struct dpa_board *b, uint32_t slot)
{
	return th_mrinfo;
}

bool dpa_board_alive(struct dpa_board *b, uint32_t slot, uint32_t gen)
{
	return !th_dead;
}

/* ------------------------------------------------------------- records of errors */

struct th_error th_errors[TH_ERRORS];
uint32_t th_num_errors;

struct dpa_board_proc *dpa_board_proc(struct dpa_board *b, uint32_t slot)
{
	return slot == b->slot ? b->self : NULL;
}

uint32_t dpa_board_error_put(struct dpa_board *b, bool flush, uint32_t number,
			     const struct dpa_error *e)
{
	const uint32_t n = number ? number : ++th_num_errors;

	th_errors[n % TH_ERRORS] = (struct th_error){.e = *e, .flush = flush};
	return n;
}

bool dpa_board_error_flushed(struct dpa_board *b, uint32_t number, bool received)
{
	th_errors[number % TH_ERRORS].flushed[received] += number != 0;
	return number;
}
