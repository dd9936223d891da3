/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* qp.h - destruction of queue pairs. */
#ifndef DPA_CMD_QP_H
#define DPA_CMD_QP_H

struct dpa_hw;
struct dpa_peer;

/*
 * Before a QP is destroyed: send all ACKs of messages that the application has completions of, so
 * that the peer gets them before the effects of the application's next actions. Context: no lock
 * held.
 */
void dpa_qp_acks_out(struct dpa_hw *hw, struct dpa_peer *peer);

#endif
