/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* transport.h - private to the files of device/transport. */
#ifndef DPA_TRANSPORT_H
#define DPA_TRANSPORT_H

#include <string.h>
#include <sys/uio.h>
#include "foreign/foreign.h"
#include "ctx/srq.h"
#include "ctx/hw.h"
#include "ctx/qp.h"
#include "ctx/wqe.h"
#include "payload/payload.h"
#include "order/order.h"
#include "direct/direct.h"
#include "link/kick.h"
#include "wire/aeth.h"
#include "wire/opcode.h"
#include "wire/psn.h"

/*
 * To other hosts: a payload of this size or more is read directly from its place when it is sent.
 */
#define DPA_WIRE_PULL_MIN   (DPA_LANE_MTU + 1)
#define DPA_WIRE_PULL_ALONE 512u

/* --- sending --- */

/* Number of READ requests or atomics of a WQE, from byte `from` on (READ): completer.c */
uint32_t dpa_rd_requests(const struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c, uint32_t from);

/* Number of messages of a WQE, as counted in the responder's MSN. */
static inline uint32_t dpa_wqe_messages(const struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c)
{
	if (dpa_op_is_read(c->opcode))
		return dpa_rd_requests(qp, c, 0);
	return dpa_wqe_psns(qp, c) != 0;
}

/* A connected QP accepts packets of its peer only. */
/* IBA 9.6 (sender) */
static inline bool dpa_hears(const struct dpa_hw_qp *qp, const struct dpa_peer *peer,
			     const struct dpa_slot *s)
{
	return qp->peer == peer && (qp->dest_qpn & DPA_QPN_INDEX) == s->src;
}

/* For short messages: a copy of 8 bytes is two instructions. */
DPA_STEP void dpa_copy_short(void *dst, const void *src, uint32_t n)
{
	if (n == 8)
		memcpy(dst, src, 8);
	else
		memcpy(dst, src, n);
}

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

void dpa_tx_full(struct dpa_hw_qp *qp, struct dpa_tx *tx);
/* --- probe.c: round trips that congestion control requests --- */
/* Add a probe to the ring. Context: tx->lock. */
void dpa_probe_put(struct dpa_hw_qp *qp, struct dpa_tx *tx);
/* True if congestion control requested a probe that is not sent yet. */
static inline bool dpa_probe_wanted(const struct dpa_hw_qp *qp)
{
	return qp->pcc.probes != qp->probe.asked;
}
/* Handle a probe of the peer, or the answer to ours. Context: the QP's lock. */
void dpa_probe_rx(struct dpa_hw_qp *qp, const struct dpa_slot *s);
/* --- rx.c --- */
/* dpa_transport_rx() of any packet, without the fast paths. */
void dpa_rx_any(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
		const uint8_t *payload);
/*
 * Drop a packet of `peer` that this QP does not take, and count it. On this host its requester is
 * notified, so that its timer runs as after a loss. Context: the QP's lock, no ring's lock.
 */
void dpa_rx_drop(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s);

/* --- direct.c --- */
/*
 * Carry out direct operations. Returns their number; or MORE: call again; or LATER: no packet may
 * be sent before the outstanding ones are acknowledged.
 */
#define DPA_DIRECT_MORE	 -1
#define DPA_DIRECT_LATER -2
int dpa_direct_run(struct dpa_hw_qp *qp, uint32_t pi);
/* True if this QP's PSNs are those that its peer expects; records it. The peer is UP. */
bool dpa_in_step(struct dpa_hw_qp *qp);
/* There is no peer, for the reason in errno: what is outstanding is lost. */
void dpa_no_peer(struct dpa_hw_qp *qp);
/*
 * Find the ring to the peer of a connected QP. False: not now (scheduled) or never (error raised).
 */
bool dpa_resolve(struct dpa_hw_qp *qp);
/* Show in the board record how the peer, which is UP, is reached. */
void dpa_show_link(struct dpa_hw_qp *qp);

/* --- completion of send WQEs: completer.c --- */
void dpa_complete(struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c, uint8_t status,
		  uint32_t syndrome);
/* Fail the WQE at una: CQE, then the error state (SQE for UC, UD). */
void dpa_req_fail(struct dpa_hw_qp *qp, uint8_t status, uint32_t syndrome);
void dpa_rewind(struct dpa_hw_qp *qp, uint32_t psn);
/* Continue sending at psn, between una_psn and max_psn; moves in both directions. */
void dpa_seek(struct dpa_hw_qp *qp, uint32_t psn);
void dpa_completer_rx(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
		      const uint8_t *payload);
/* The counterpart of dpa_responder_short() for an ACK of RC. */
void dpa_completer_short(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
			 const uint8_t *payload);
void dpa_req_lost(struct dpa_hw_qp *qp, uint32_t syndrome);
/* Send nothing for ns: the local ACK timer or the RNR timer. */
void dpa_req_wait(struct dpa_hw_qp *qp, uint64_t ns, bool rnr);
uint8_t dpa_status_of(uint32_t syndrome);

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

/* --- ask.c: RC on a link that loses nothing, under the QP's lock --- */
/*
 * A request of this QP is outstanding and may never be answered: ask the peer in the next
 * dpa_requester_run(), which the caller arranges.
 */
void dpa_ask(struct dpa_hw_qp *qp);
/* Send the question of dpa_ask() if possible; else it stays due. */
void dpa_ask_send(struct dpa_hw_qp *qp);
/* Handle the peer's answer or hint. May fail the QP. */
void dpa_looked_rx(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s);
/* Handle the peer's question. The caller holds no ACK of this QP (struct dpa_acks). */
void dpa_ask_rx(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s);
/* This request is dropped without an answer: tell the peer to ask, with the next flush. */
void dpa_ask_hint(struct dpa_hw_qp *qp, const struct dpa_slot *s);
/*
 * Send the hint, and LOOKED if no answer is pending. If there is no room it is sent with a later
 * flush.
 */
void dpa_looked_send(struct dpa_hw_qp *qp);

/* --- ud.c --- */
/* QP with a rate limit: true if n bytes may leave now. Else the QP is scheduled. */
bool dpa_rate_allows(struct dpa_hw_qp *qp, uint32_t bytes);
/* UC, UD to other hosts: true if n bytes may leave now. Else the QP is scheduled. */
bool dpa_paced(struct dpa_hw_qp *qp, uint32_t bytes);
int dpa_ud_send(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c);
/* True if packets have waited long enough for a peer that takes none: they are lost. */
bool dpa_ud_waited(struct dpa_hw_qp *qp, struct dpa_peer *p);
/* True if the connection to the peer is not complete. The QP is scheduled. */
bool dpa_ud_meets(struct dpa_hw_qp *qp, struct dpa_peer *p);
/*
 * Send datagrams and raw packets from send_idx on, one for each WQE, at most `most`. Returns their
 * number.
 */
int dpa_ud_run(struct dpa_hw_qp *qp, uint32_t pi, int most);
/* Send what waits to be sent together. */
void dpa_ud_flush(struct dpa_hw_qp *qp);
void dpa_ud_rx(struct dpa_hw_qp *qp, const struct dpa_slot *s, const uint8_t *payload);

/* --- answers.c --- */
/* True if a NAK is pending that ends the connection. */
bool dpa_resp_failing(const struct dpa_resp *r);
/* An XRC target is reset: no XRC message waits for its answers any more. */
void dpa_waits_no_more(struct dpa_hw_qp *qp);

/* --- responder.c --- */
/* Add a pending plain ACK to the ring. Context: tx->lock. */
void dpa_responder_join(struct dpa_hw_qp *qp);
/* True if a plain ACK is pending and nothing else. */
static inline bool dpa_owes_ack(const struct dpa_hw_qp *qp)
{
	const struct dpa_resp *r = &qp->resp;

	return r->ack_owed && r->rd_head == r->rd_tail &&
	       (r->ack_syndrome & DPA_AETH_KIND) == DPA_AETH_ACK && !dpa_foreign_held(qp);
}

/* True if a NAK or RNR NAK is pending. */
static inline bool dpa_owes_nak(const struct dpa_resp *r)
{
	return r->ack_owed && (r->ack_syndrome & DPA_AETH_KIND) != DPA_AETH_ACK;
}

/* Makes an ACK or NAK pending. A pending NAK stays. RC. */
/* IBA 9.7.5 (coalesce), 9.7.5 (nak-stays), 9.8.2 (bad) */
static inline void dpa_owe(struct dpa_hw_qp *qp, uint32_t psn, uint8_t syndrome)
{
	struct dpa_resp *r = &qp->resp;

	if (qp->type != DPA_QP_RC || dpa_owes_nak(r))
		return;
	r->ack_owed = true;
	r->ack_psn = psn;
	r->ack_syndrome = syndrome;
}

/*
 * A SEND Only of RC for a QP whose slow.word is 0; dpa_transport_rx() checked that the peer sent
 * it. If it does not fit the fast path dpa_rx_any() handles it, and nothing was done before.
 */
void dpa_responder_short(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
			 const uint8_t *payload);
void dpa_responder_rx(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
		      const uint8_t *payload);
/* --- resp_answers.c --- */
/* Refuse a request: on RC a NAK becomes pending, UC drops the message. */
void dpa_deny(struct dpa_hw_qp *qp, const struct dpa_slot *s, uint8_t code);
/* Check the whole range of a WRITE or READ before its first byte moves. 0 or a vendor error. */
uint32_t dpa_check_remote(struct dpa_hw_qp *qp, const struct dpa_slot *s, uint32_t access);
/* Requests that were judged GO, or (again) duplicates. */
void dpa_on_read(struct dpa_hw_qp *qp, const struct dpa_slot *s, bool again);
void dpa_on_atomic(struct dpa_hw_qp *qp, const struct dpa_slot *s);
void dpa_on_atomic_write(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
			 const uint8_t *payload);
void dpa_on_flush(struct dpa_hw_qp *qp, const struct dpa_slot *s, bool again);
void dpa_on_duplicate(struct dpa_hw_qp *qp, const struct dpa_slot *s, uint16_t p);

#endif
