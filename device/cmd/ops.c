/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* ops.c - the tables behind the calls of ctx/ops.h. */
#include "ctx/ops.h"
#include "direct/direct.h"
#include "eu/watch.h"
#include "failure/failure.h"
#include "foreign/foreign.h"
#include "gsi/gsi.h"
#include "link/kick.h"
#include "raw/raw.h"
#include "transport/api.h"
#include "transport/transport.h"

/* The transports and raw packets differ in the functions for one WQE and for one packet. */
#define COMMON                                                                                     \
	.send = dpa_requester_run, .receive = dpa_transport_rx, .answer = dpa_responder_flush,     \
	.done = dpa_pkt_done, .notify = dpa_send_cnp, .flush = dpa_requester_flush,                \
	.forget = dpa_kept_drop, .reset = dpa_transport_reset, .grant = dpa_grant,                 \
	.look_again = dpa_watch_again, .fail = dpa_req_fail, .failed = dpa_failed_cqe,             \
	.hold = dpa_foreign_hold

static const struct dpa_qp_ops rdma = {COMMON, .send_one = dpa_ud_send, .receive_one = dpa_ud_rx};

static const struct dpa_qp_ops raw = {COMMON, .send_one = dpa_raw_send, .receive_one = dpa_raw_rx};

static void settle_kicks(struct dpa_hw *hw)
{
	dpa_settle_mine(hw);
}

const struct dpa_hw_ops dpa_ops = {
	.rdma = &rdma,
	.raw = &raw,
	.mad = dpa_gsi_in,
	.grant_all = dpa_grant_all,
	.settle = settle_kicks,
};
