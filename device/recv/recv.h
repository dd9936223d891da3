/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* recv.h - receives of a QP. All functions: under the QP's lock. */
#ifndef DPA_RECV_H
#define DPA_RECV_H

#include "ctx/qp.h"
#include "link/peer.h"

/* Takes the next receive WQE of the QP's queue or of its SRQ into *w. False: there is none. */
bool dpa_take_rwqe(struct dpa_hw_qp *qp, struct dpa_rx_wqe *w);
/*
 * Reports a receive: `opcode` and `status` are those of the CQE, `syndrome` its vendor error, `len`
 * its byte count. s: the packet that ended the message, for immediate data, key, sender and the
 * solicited flag; NULL: none of them.
 */
void dpa_recv_cqe(struct dpa_hw_qp *qp, uint64_t wr_id, uint8_t opcode, uint8_t status,
		  uint32_t syndrome, uint32_t len, const struct dpa_slot *s);

/*
 * Ask whether the receive of a message that ends now shall fail (docs/inject.md). Returns the reason
 * that it fails for (enum dpa_syndrome), or 0. opcode: of its CQE. Call it once for each, if
 * slow.inspected. The receive must then be reported with that reason, as an injected failure.
 */
uint32_t dpa_recv_injected(struct dpa_hw_qp *qp, uint8_t opcode);

#endif
