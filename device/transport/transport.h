/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* transport.h - internals shared by the files of device/transport. */
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

/* To other hosts: read where it lies when it is sent, from this size on. */
#define DPA_WIRE_PULL_MIN   (DPA_LANE_MTU + 1)
#define DPA_WIRE_PULL_ALONE 512u

/* --- sending --- */

/* READ requests and atomics that a WQE is, from byte `from` on (READ): completer.c */
uint32_t dpa_rd_requests(const struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c, uint32_t from);

/* Messages that a WQE is to the responder's MSN. */
static inline uint32_t dpa_wqe_messages(const struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c)
{
	if (dpa_op_is_read(c->opcode))
		return dpa_rd_requests(qp, c, 0);
	return dpa_wqe_psns(qp, c) != 0;
}

/* A connected QP hears its peer only. */
/* IBA 9.6 (sender) */
static inline bool dpa_hears(const struct dpa_hw_qp *qp, const struct dpa_peer *peer,
			     const struct dpa_slot *s)
{
	return qp->peer == peer && (qp->dest_qpn & DPA_QPN_INDEX) == s->src;
}

/* Short messages: a copy of 8 bytes is two instructions. */
DPA_STEP void dpa_copy_short(void *dst, const void *src, uint32_t n)
{
	if (n == 8)
		memcpy(dst, src, 8);
	else
		memcpy(dst, src, n);
}

/* Starts a packet of this QP: a slot with its common fields set, under tx->lock. NULL: no room. */
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
/* --- probe.c: round trips that congestion control asks for --- */
/* Appends a probe to what is about to leave by the ring. Under tx->lock. */
void dpa_probe_put(struct dpa_hw_qp *qp, struct dpa_tx *tx);
/* Congestion control wants a probe that has not left yet. */
static inline bool dpa_probe_wanted(const struct dpa_hw_qp *qp)
{
	return qp->pcc.probes != qp->probe.asked;
}
/* A probe of the peer, or the answer to ours. Under the QP's lock. */
void dpa_probe_rx(struct dpa_hw_qp *qp, const struct dpa_slot *s);
/* --- rx.c --- */
/* dpa_transport_rx() of any packet, without the fast paths. */
void dpa_rx_any(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
		const uint8_t *payload);
/*
 * A packet of `peer` that this QP does not take: counted; on this host its requester is notified,
 * so that its timer runs, as after a loss. Under the QP's lock, no lane's.
 */
void dpa_rx_drop(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s);

/* --- direct.c --- */
/* Carries out itself what can be: how many, or that there is more for another call, or that no
 * packet shall go before what is outstanding is acknowledged. */
#define DPA_DIRECT_MORE	 -1
#define DPA_DIRECT_LATER -2
int dpa_direct_run(struct dpa_hw_qp *qp, uint32_t pi);
/* Are this QP's PSNs those that its peer, which is UP, expects? Remembers it. */
bool dpa_in_step(struct dpa_hw_qp *qp);
/* There is no peer, for the reason that errno has: what is outstanding is lost. */
void dpa_no_peer(struct dpa_hw_qp *qp);
/* Finds the lane to the peer of a connected QP. False: not now (pended) or never (error raised). */
bool dpa_resolve(struct dpa_hw_qp *qp);
/* Tells people which way its peer, which is UP, is reached. */
void dpa_show_link(struct dpa_hw_qp *qp);

/* --- completion of send WQEs: completer.c --- */
void dpa_complete(struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c, uint8_t status,
		  uint32_t syndrome);
/* The WQE at una fails: CQE, then the error state (SQE for UC, UD). */
void dpa_req_fail(struct dpa_hw_qp *qp, uint8_t status, uint32_t syndrome);
void dpa_rewind(struct dpa_hw_qp *qp, uint32_t psn);
/* Sending goes on at psn, between una_psn and max_psn; in either direction. */
void dpa_seek(struct dpa_hw_qp *qp, uint32_t psn);
void dpa_completer_rx(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
		      const uint8_t *payload);
/* The same as dpa_responder_short() of an ACK of RC. */
void dpa_completer_short(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
			 const uint8_t *payload);
void dpa_req_lost(struct dpa_hw_qp *qp, uint32_t syndrome);
/* Nothing is sent for so long: the local ACK or the RNR timer. */
void dpa_req_wait(struct dpa_hw_qp *qp, uint64_t ns, bool rnr);
uint8_t dpa_status_of(uint32_t syndrome);

/* --- loss.c: RC on a link that loses packets, under the QP's lock --- */
/* May a packet of a message of this length leave now: window and rate; pends where it is the rate.
 */
bool dpa_loss_may_send(struct dpa_hw_qp *qp, uint32_t length);
/* There is no room in the window, or so little that whoever filled it waits for more. */
bool dpa_loss_full(const struct dpa_hw_qp *qp, uint32_t length);
/* How many packets the window has room for. */
uint32_t dpa_loss_room(const struct dpa_hw_qp *qp, uint32_t length);
/* The packet before send_psn asks for an ACK. */
void dpa_loss_asked(struct dpa_hw_qp *qp);
/* Does the packet that ends here ask for an ACK although its message goes on? */
bool dpa_loss_wants_ack(struct dpa_hw_qp *qp, uint32_t bytes);
/* Packets from psn to send_psn were sent. */
void dpa_loss_sent(struct dpa_hw_qp *qp, uint32_t psn);
void dpa_loss_probed(struct dpa_hw_qp *qp);
void dpa_loss_heard(struct dpa_hw_qp *qp);
void dpa_loss_again(struct dpa_hw_qp *qp);
/* Packets that were sent are sent again: nothing of it counts as arrived. */
static inline void dpa_loss_unknown(struct dpa_req *r)
{
	r->sacked = r->recovery = false;
	r->nxmit = 0;
}
/* Does what is due; false: the QP failed. */
bool dpa_loss_timers(struct dpa_hw_qp *qp);
void dpa_loss_arm(struct dpa_hw_qp *qp);

/* A NAK for a PSN sequence error: the missing packet alone, or everything from there. */
void dpa_loss_nak(struct dpa_hw_qp *qp, uint32_t psn);

/* --- ask.c: RC on a link that loses nothing, under the QP's lock --- */
/*
 * Something of this QP is outstanding and may never be answered: asks the peer with the next
 * dpa_requester_run(), which the caller sees to.
 */
void dpa_ask(struct dpa_hw_qp *qp);
/* Sends what dpa_ask() asked for, if it may go; else it stays due. */
void dpa_ask_send(struct dpa_hw_qp *qp);
/* The peer's answer, or its hint. May fail the QP. */
void dpa_looked_rx(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s);
/* The peer asks. No ACK of this QP may lie with the caller (struct dpa_acks). */
void dpa_ask_rx(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s);
/* This request is passed over without an answer: the peer had better ask. With the next flush. */
void dpa_ask_hint(struct dpa_hw_qp *qp, const struct dpa_slot *s);
/* Sends the hint, and LOOKED if no answer is owed; what finds no room goes with a later flush. */
void dpa_looked_send(struct dpa_hw_qp *qp);

/* --- ud.c --- */
/* A QP with a rate limit: may so much leave now? Pends the QP if not. */
bool dpa_rate_allows(struct dpa_hw_qp *qp, uint32_t bytes);
/* UC, UD to other hosts: may so much leave now? Pends the QP if not. */
bool dpa_paced(struct dpa_hw_qp *qp, uint32_t bytes);
int dpa_ud_send(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c);
/* Packets wait for a peer that does not take them: has it waited enough? Then it is lost. */
bool dpa_ud_waited(struct dpa_hw_qp *qp, struct dpa_peer *p);
/* Not now: the peer and we do not know each other yet. The QP is pended. */
bool dpa_ud_meets(struct dpa_hw_qp *qp, struct dpa_peer *p);
/* Datagrams and raw packets at send_idx, each WQE for itself, `most` of them: how many. */
int dpa_ud_run(struct dpa_hw_qp *qp, uint32_t pi, int most);
/* Sends what waits for company. */
void dpa_ud_flush(struct dpa_hw_qp *qp);
void dpa_ud_rx(struct dpa_hw_qp *qp, const struct dpa_slot *s, const uint8_t *payload);

/* --- answers.c --- */
/* A NAK is owed that ends the connection. */
bool dpa_resp_failing(const struct dpa_resp *r);
/* An XRC target is reset: no XRC message waits for its answers any more. */
void dpa_waits_no_more(struct dpa_hw_qp *qp);

/* --- responder.c --- */
/* Puts a plain ACK that is owed behind what the lane holds; under tx->lock. */
void dpa_responder_join(struct dpa_hw_qp *qp);
/* Owes a plain ACK and nothing else. */
static inline bool dpa_owes_ack(const struct dpa_hw_qp *qp)
{
	const struct dpa_resp *r = &qp->resp;

	return r->ack_owed && r->rd_head == r->rd_tail &&
	       (r->ack_syndrome & DPA_AETH_KIND) == DPA_AETH_ACK && !dpa_foreign_held(qp);
}

/* A NAK or RNR NAK is owed. */
static inline bool dpa_owes_nak(const struct dpa_resp *r)
{
	return r->ack_owed && (r->ack_syndrome & DPA_AETH_KIND) != DPA_AETH_ACK;
}

/* Owes an ACK or NAK; a NAK is not taken back. RC. */
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
 * A SEND Only of RC that dpa_transport_rx() found to be the peer's, for a QP whose slow.word is 0.
 * One that does not fit the fast path goes to dpa_rx_any(), and nothing was done before.
 */
void dpa_responder_short(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
			 const uint8_t *payload);
void dpa_responder_rx(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
		      const uint8_t *payload);
/* --- resp_answers.c --- */
/* Refuses a request: RC owes a NAK, UC drops the message. */
void dpa_deny(struct dpa_hw_qp *qp, const struct dpa_slot *s, uint8_t code);
/* The whole range of a WRITE or READ is checked before its first byte moves: 0 or a syndrome. */
uint32_t dpa_check_remote(struct dpa_hw_qp *qp, const struct dpa_slot *s, uint32_t access);
/* Requests that were judged GO, or (again) duplicates. */
void dpa_on_read(struct dpa_hw_qp *qp, const struct dpa_slot *s, bool again);
void dpa_on_atomic(struct dpa_hw_qp *qp, const struct dpa_slot *s);
void dpa_on_atomic_write(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
			 const uint8_t *payload);
void dpa_on_flush(struct dpa_hw_qp *qp, const struct dpa_slot *s, bool again);
void dpa_on_duplicate(struct dpa_hw_qp *qp, const struct dpa_slot *s, uint16_t p);

#endif
