/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* send.h - the sending side of a QP, below the transports. Context: the QP's lock. */
#ifndef DPA_SEND_H
#define DPA_SEND_H

#include <string.h>
#include "ctx/hw.h"
#include "ctx/qp.h"
#include "ctx/wqe.h"
#include "link/lane.h"
#include "link/peer.h"
#include "wire/opcode.h"
#include "wire/psn.h"

/*
 * Begins a packet of this QP: reserves an entry and sets the common fields. NULL: no room. Context:
 * tx->lock.
 */
static inline struct dpa_slot *dpa_pkt_begin(struct dpa_hw_qp *qp, struct dpa_tx *tx,
					     uint8_t opcode, uint32_t dqpn, uint32_t psn,
					     uint32_t len, uint32_t data_len, uint8_t **data)
{
	struct dpa_slot *s = dpa_lane_reserve(tx, data_len, data);

	if (dpa_unlikely(!s))
		return NULL;
	s->opcode = opcode;
	s->flags = qp->pkt_flags;
	s->src = (uint16_t)(qp->qpn & DPA_QPN_INDEX);
	s->dqpn = dqpn;
	s->psn = psn;
	s->len = len;
	return s;
}

/* --- way.c --- */
void dpa_tx_full(struct dpa_hw_qp *qp, struct dpa_tx *tx);
/* Show in the board record how the peer, which is UP, is reached. */
void dpa_show_link(struct dpa_hw_qp *qp);
/* Send a congestion notification packet to the peer of a connected QP. False: it was not sent. */
bool dpa_send_cnp(struct dpa_hw_qp *qp);
/* True if a connected QP has a ring to a live peer. Looks for the peer if it has none yet. */
bool dpa_have_tx(struct dpa_hw_qp *qp);

/* --- sent.c: send WQEs after they were sent --- */
/* True if this READ is split into requests of DPA_READ_CHUNK: loss, or foreign/foreign.h. */
bool dpa_read_in_parts(const struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c);
/* Number of READ requests or atomics of a WQE, from byte `from` on (READ): sent.c */
uint32_t dpa_rd_requests(const struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c, uint32_t from);

/* Number of messages of a WQE, as counted in the responder's MSN. */
static inline uint32_t dpa_wqe_messages(const struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c)
{
	if (dpa_op_is_read(c->opcode))
		return dpa_rd_requests(qp, c, 0);
	return dpa_wqe_psns(qp, c) != 0;
}
void dpa_complete(struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c, uint8_t status,
		  uint32_t syndrome);
/* Fail the WQE at una: CQE, then the error state (SQE for UC, UD). */
void dpa_req_fail(struct dpa_hw_qp *qp, uint8_t status, uint32_t syndrome);
void dpa_rewind(struct dpa_hw_qp *qp, uint32_t psn);
/* Continue sending at psn, between una_psn and max_psn; moves in both directions. */
void dpa_seek(struct dpa_hw_qp *qp, uint32_t psn);
void dpa_req_lost(struct dpa_hw_qp *qp, uint32_t syndrome);
/* Send nothing for ns: the local ACK timer or the RNR timer. */
void dpa_req_wait(struct dpa_hw_qp *qp, uint64_t ns, bool rnr);
uint8_t dpa_status_of(uint32_t syndrome);
/* Report the send WQEs as flushed. */
void dpa_requester_flush(struct dpa_hw_qp *qp);
/* There is no peer, for the reason in errno: what is outstanding is lost. */
void dpa_no_peer(struct dpa_hw_qp *qp);
/*
 * No descriptor for the link to the peer is left. RC: a loss, as others may close some meanwhile. UC:
 * the WQE fails.
 */
void dpa_no_fds(struct dpa_hw_qp *qp);

/* --- inject.c: send WQEs that shall fail --- */
enum dpa_send_fate { DPA_SEND_GO, DPA_SEND_WAIT, DPA_SEND_FAILED };
/*
 * Ask whether the WQE at send_idx, which was checked, shall fail. WAIT: it does, after the WQEs before
 * it. FAILED: it has failed, and the QP with it. Call it if slow.inspected, before the WQE is sent.
 */
enum dpa_send_fate dpa_send_injected(struct dpa_hw_qp *qp, uint32_t idx,
				     const struct dpa_wqe_ctrl *c);

/*
 * True: the WQE at send_idx waits for slow pages of its memory, and the QP is scheduled. Context: as
 * above.
 */
bool dpa_send_touches(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c);

/* --- probe.c: round trips that congestion control requests --- */
/* Add a probe to the ring. Context: tx->lock. */
void dpa_probe_put(struct dpa_hw_qp *qp, struct dpa_tx *tx);
/* True if congestion control requested a probe that is not sent yet. */
static inline bool dpa_probe_wanted(const struct dpa_hw_qp *qp)
{
	return qp->pcc.probes != qp->probe.asked;
}
/* Handle a probe of the peer, or the answer to ours. Context: the QP's lock. */
void dpa_probe_rx(struct dpa_hw_qp *qp, const struct dpa_slot *s, const uint8_t *payload);
/* With resp.np_due: the program may have answered the peer's probe. Context: the QP's lock. */
void dpa_np_look(struct dpa_hw_qp *qp);
/* Give up the probe of this connection that waits for a program. Context: the QP's lock. */
void dpa_np_forget(struct dpa_hw_qp *qp);

/* --- loss.c: RC on a link that loses packets, under the QP's lock --- */
/*
 * True if a packet of a message of this length may leave now, by window and rate. If the rate
 * forbids it the QP is scheduled.
 */
bool dpa_loss_may_send(struct dpa_hw_qp *qp, uint32_t length);
/* True if the window has no room, or so little that the sender that filled it waits for more. */
bool dpa_loss_full(const struct dpa_hw_qp *qp, uint32_t length);
/* Number of packets that the window has room for. */
uint32_t dpa_loss_room(const struct dpa_hw_qp *qp, uint32_t length);
/* The packet before send_psn asks for an ACK. */
void dpa_loss_asked(struct dpa_hw_qp *qp);
/* True if the packet that ends here asks for an ACK in the middle of its message. */
bool dpa_loss_wants_ack(struct dpa_hw_qp *qp, uint32_t bytes);
/* Packets from psn to send_psn were sent. */
void dpa_loss_sent(struct dpa_hw_qp *qp, uint32_t psn);
void dpa_loss_probed(struct dpa_hw_qp *qp);
void dpa_loss_heard(struct dpa_hw_qp *qp);
void dpa_loss_again(struct dpa_hw_qp *qp);
/* Sent packets are sent again: no packet counts as arrived. */
static inline void dpa_loss_unknown(struct dpa_req *r)
{
	r->sacked = r->recovery = false;
	r->nxmit = 0;
}
/* Handle expired timers. False: the QP failed. */
bool dpa_loss_timers(struct dpa_hw_qp *qp);
void dpa_loss_arm(struct dpa_hw_qp *qp);

/* A NAK for a PSN sequence error: send the missing packet alone, or everything from there. */
void dpa_loss_nak(struct dpa_hw_qp *qp, uint32_t psn);

#endif
