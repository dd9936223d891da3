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
#include "send/send.h"
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
/*
 * Find the ring to the peer of a connected QP. False: not now (scheduled) or never (error raised).
 */
bool dpa_resolve(struct dpa_hw_qp *qp);

/* --- completer.c --- */
void dpa_completer_rx(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
		      const uint8_t *payload);
/* The counterpart of dpa_responder_short() for an ACK of RC. */
void dpa_completer_short(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
			 const uint8_t *payload);
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
/* A request is dropped without an answer: advise the peer to ask, with the next flush. */
void dpa_ask_hint(struct dpa_hw_qp *qp, const struct dpa_slot *s);
/*
 * Send the hint, and LOOKED if no answer is pending. If there is no room it is sent with a later
 * flush.
 */
void dpa_looked_send(struct dpa_hw_qp *qp);
/*
 * A packet for a QP with slow.foreign whose window has no room for it. waits: it must stay in its
 * ring, as its sender cannot be told. refuses: it is dropped now, and so are the requests behind
 * one that was; a requester of this host is told with the next flush, and sends it again.
 */
bool dpa_room_waits(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s);
bool dpa_room_refuses(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s);
/* Sends what is due; what finds no room in the ring goes with a later flush. */
void dpa_room_send(struct dpa_hw_qp *qp);
/* Process the report of the peer. */
void dpa_room_rx(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s);

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
/*
 * Refuse a request: on RC a NAK becomes pending, UC drops the message. reason: as in struct dpa_refusal,
 * or of an L_Key, for the record of it.
 */
void dpa_deny(struct dpa_hw_qp *qp, const struct dpa_slot *s, uint8_t code, uint32_t reason);
/* The vendor error, in its R_Key form, for a reason to refuse a key. */
uint32_t dpa_of_rkey(uint32_t syn);
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
