/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* qp.h - queue pairs that end. */
#ifndef DPA_CMD_QP_H
#define DPA_CMD_QP_H

struct dpa_hw;
struct dpa_peer;

/*
 * Before a QP ends: publishes all ACKs of messages that the application has completions of, so that
 * the peer has them before whatever the application does next. No lock may be held.
 */
void dpa_qp_acks_out(struct dpa_hw *hw, struct dpa_peer *peer);

#endif
