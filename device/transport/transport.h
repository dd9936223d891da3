/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* transport.h - internals shared by the files of device/transport. */
#ifndef DPA_TRANSPORT_H
#define DPA_TRANSPORT_H

#include <string.h>
#include <sys/uio.h>
#include "ctx/srq.h"
#include "ctx/hw.h"
#include "ctx/qp.h"
#include "link/kick.h"
#include "wire/aeth.h"
#include "wire/opcode.h"
#include "wire/psn.h"

/* A message of more bytes than this is fetched by its receiver instead of travelling in the ring.
 */
#define DPA_PULL_MIN   32768u
/* One fetch at most: an EU holds a QP's lock that long. */
#define DPA_PULL_CHUNK (1u << 20)

/* To other hosts: read where it lies when it is sent, from this size on. */
#define DPA_WIRE_PULL_MIN   (DPA_LANE_MTU + 1)
#define DPA_WIRE_PULL_ALONE 512u
/* Packets of an RC QP that may be out on a link that loses packets; bytes are up to device/pcc. */
#define DPA_LOSS_PACKETS    512u
/* One READ request there asks for so much at most, and for a multiple of every path MTU. */
#define DPA_READ_CHUNK	    (64u * 1024)

/* IBA 9.7.1: fewer packets are outstanding, so that old and new differ */
#define DPA_PSN_WINDOW (1u << 23)

/* Packets of this QP may be lost: timers run, and what is outstanding is bounded. */
static inline bool dpa_lossy(const struct dpa_hw_qp *qp)
{
	return qp->tx && atomic_load_explicit(&qp->tx->shm->lossy, memory_order_relaxed);
}

/* Bytes that one slot may stand for, PULL aside. */
static inline uint32_t dpa_slot_run(const struct dpa_hw_qp *qp)
{
	return qp->pkt_flags || !dpa_lossy(qp) ? DPA_LANE_MTU : qp->mtu;
}

/*
 * May a slot with these properties be taken by a receiver of this path MTU? Where the two ends have
 * different path MTUs only a message of one packet that fits both is right (IBA 9.7.4.1.6): the
 * first of several is longer than the receiver's packets, or shorter and not the last.
 */
static inline bool dpa_mtu_fits(uint32_t mtu, uint16_t props, const struct dpa_slot *s)
{
	const uint16_t only = DPA_OPP_START | DPA_OPP_END;

	/* off the wire: one packet, or several that were held to it */
	if ((s->flags & DPA_PKT_MTU) && !(s->flags & DPA_PKT_IOV))
		return s->len <= mtu;
	return dpa_same_mtu(mtu, s) || ((props & only) == only && s->len <= mtu &&
					s->len <= ((const struct dpa_ext *)s->ext)->path_mtu);
}

/* ----------------------------------------------------------- work requests */

/*
 * Byte `off` of the send WQE at block `idx`; pieces of 16 bytes never straddle the ring's end. A
 * WQE that came by BlueFlame is taken from where the EU has it.
 */
static inline void *dpa_wqe_at(const struct dpa_hw_qp *qp, uint32_t idx, uint32_t off)
{
	if (dpa_unlikely(qp->bf) && ((const struct dpa_wqe_ctrl *)qp->bf)->index == idx)
		return (void *)(uintptr_t)(qp->bf + off);
	return qp->sq +
	       (((uint64_t)(idx & qp->sq_mask) * 64 + off) & ((uint64_t)qp->sq_mask * 64 + 63));
}

static inline const struct dpa_wqe_ctrl *dpa_wqe_ctrl(const struct dpa_hw_qp *qp, uint32_t idx)
{
	return dpa_wqe_at(qp, idx, 0);
}

/*
 * What the poster has given to the device, or what is known of it: behind a WQE that came by
 * BlueFlame there may be more, of which the slot says so again.
 */
static inline uint32_t dpa_sq_pi(const struct dpa_hw_qp *qp)
{
	const struct dpa_wqe_ctrl *c = (const void *)qp->bf;

	if (dpa_unlikely(c) && c->index == qp->req.send_idx)
		return c->index + c->nbb;
	return __atomic_load_n(&qp->dbrec->sq_pi, __ATOMIC_ACQUIRE);
}

static inline bool dpa_op_is_read(uint8_t op)
{
	return op == DPA_OP_RDMA_READ;
}

static inline bool dpa_op_is_atomic(uint8_t op)
{
	return op == DPA_OP_ATOMIC_CS || op == DPA_OP_ATOMIC_FA;
}

/* READ requests and atomics that a WQE is, from byte `from` on (READ): completer.c */
uint32_t dpa_rd_requests(const struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c, uint32_t from);

/* Answered by an empty READ response. */
static inline bool dpa_op_says_done(uint8_t op)
{
	return op == DPA_OP_ATOMIC_WRITE || op == DPA_OP_FLUSH;
}

/* Done by a response of its own, never by an ACK. */
static inline bool dpa_op_answers(uint8_t op)
{
	return dpa_op_is_read(op) || dpa_op_is_atomic(op) || dpa_op_says_done(op);
}

/* Annex A19: something that is known is asked for, of something that is known. */
static inline bool dpa_feth_good(uint32_t feth)
{
	return feth & DPA_FLUSH_TYPE &&
	       !(feth & ~(uint32_t)(DPA_FLUSH_GLOBAL | DPA_FLUSH_PERSISTENT | DPA_FLUSH_MR));
}

/* PSNs that a WQE takes: its packets, or those of its response. */
static inline uint32_t dpa_wqe_psns(const struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c)
{
	if (c->opcode == DPA_OP_LOCAL_INV || c->opcode == DPA_OP_BIND_MW || c->opcode == DPA_OP_NOP)
		return 0;
	return dpa_op_is_atomic(c->opcode) || c->opcode == DPA_OP_FLUSH
		       ? 1
		       : dpa_npkts(c->length, qp->mtu);
}

/* Messages that a WQE is to the responder's MSN. */
static inline uint32_t dpa_wqe_messages(const struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c)
{
	if (dpa_op_is_read(c->opcode))
		return dpa_rd_requests(qp, c, 0);
	return dpa_wqe_psns(qp, c) != 0;
}

/* Where the part of a send WQE begins that depends on its opcode. */
static inline uint32_t dpa_wqe_body(const struct dpa_hw_qp *qp)
{
	return (uint32_t)sizeof(struct dpa_wqe_ctrl) +
	       (qp->transport == DPA_BTH_XRC ? (uint32_t)sizeof(struct dpa_wqe_xrc) : 0);
}

/*
 * The PD of the local keys of a receive: that of the SRQ that it was posted to, else the QP's.
 * R_Keys are always checked against the QP's PD.
 */
/* IBA 9.7.4/srq-pd */
static inline uint32_t dpa_recv_pdn(const struct dpa_hw_qp *qp)
{
	return qp->srq ? qp->srq->pdn : qp->pdn;
}

/*
 * The PD of the local keys of a READ or an atomic. The READs of a QP whose SRQ matches tags are the
 * device's own: they go into buffers of the SRQ.
 */
static inline uint32_t dpa_answer_pdn(const struct dpa_hw_qp *qp)
{
	return qp->tag_sq ? dpa_recv_pdn(qp) : qp->pdn;
}

/* --- gather.c: between a WQE's SGEs and a packet; all return 0 or an enum dpa_syndrome --- */

/* Where SGEs begin in a send WQE. */
uint32_t dpa_wqe_sge_off(const struct dpa_hw_qp *qp, uint8_t opcode);
uint32_t dpa_gather(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c, uint32_t off,
		    uint32_t n, uint8_t *dst);
/*
 * Checks every SGE that a send WQE reads from; *total is the sum of their lengths. Where there is
 * one, not empty: *one is where it lies, for dpa_gather_one() under the same hold of the QP's lock.
 */
uint32_t dpa_check_sges(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c,
			uint64_t *total, uint64_t *one);
/* The sum of the lengths of its SGEs; no key is looked at. */
uint64_t dpa_sges_total(const struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c);
uint32_t dpa_gather_one(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c,
			uint64_t one, uint32_t n, uint8_t *dst);
/* Some of its SGEs name memory that may not be there: nobody else may be sent to fetch it. */
bool dpa_wqe_careful(const struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c);
/*
 * [off, off + n) of a send WQE's SGEs as an iovec of at most 34; *cnt elements. `access`: what the
 * regions must allow; DPA_ACCESS_LOCAL_WRITE for the answer of a READ or an atomic, else 0.
 */
uint32_t dpa_wqe_iov(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c, uint32_t off,
		     uint32_t n, uint32_t access, struct iovec *iov, int *cnt);
uint32_t dpa_rwqe_iov(struct dpa_hw_qp *qp, const struct dpa_rx_wqe *w, uint32_t off, uint32_t n,
		      struct iovec *iov, int *cnt);
/* Payload, or what it points at, into an iovec of this process's own (application-named) memory. */
uint32_t dpa_scatter(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
		     const uint8_t *payload, const struct iovec *iov, int cnt);
/*
 * The same of a packet that nobody need have waited for: a datagram comes even while the
 * application takes everything down, and some (UCX 1.13) unmap receives before they destroy the QP,
 * of which an adapter that pins pages knows nothing. Only the thread that the QP is at home with,
 * which is polling then and nowhere else, copies plainly.
 */
uint32_t dpa_scatter_unasked(struct dpa_hw_qp *qp, const struct dpa_slot *s, const uint8_t *payload,
			     const struct iovec *iov, int cnt);
/* The same of a DPA_PKT_PULL slot: pull.c. */
uint32_t dpa_pull(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
		  const uint8_t *payload, const struct iovec *iov, int cnt);
/* The first n bytes of a payload that has as many. */
uint32_t dpa_peek(struct dpa_peer *peer, const struct dpa_slot *s, const uint8_t *payload, void *to,
		  uint32_t n);
/* The same to memory that the packet named. */
uint32_t dpa_place(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
		   const uint8_t *payload, uint64_t addr, uint32_t rkey);

/* --- sending --- */

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

/* A QP with a rate limit: may so much leave now? Pends the QP if not. */
bool dpa_rate_allows(struct dpa_hw_qp *qp, uint32_t bytes);
/* UC, UD to other hosts: may so much leave now? Pends the QP if not. */
bool dpa_paced(struct dpa_hw_qp *qp, uint32_t bytes);
void dpa_tx_full(struct dpa_hw_qp *qp, struct dpa_tx *tx);
/* IBA 10.8.3: 0 if a WQE may be this on this QP; `one` as in dpa_check_sges(). */
uint32_t dpa_check_wqe(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c,
		       uint64_t *one);
/* Nothing of a UC QP is outstanding when its peer has taken all that the lane held. */
static inline bool dpa_lane_is_empty(struct dpa_tx *tx)
{
	return __atomic_load_n(&tx->head, __ATOMIC_RELAXED) ==
	       atomic_load_explicit(&tx->shm->tail, memory_order_acquire);
}

/* --- rx.c --- */
/*
 * A packet of `peer` that this QP does not take: counted; on this host its requester is notified,
 * so that its timer runs, as after a loss. Under the QP's lock, no lane's.
 */
void dpa_rx_drop(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s);

/* --- near.c --- */
/*
 * RDMA WRITEs and READs at send_idx that go where the QP's last direct operation went, under the
 * QP's lock, *left bytes at most, of which those that were moved are taken off: how many were
 * carried out. 0: the next one is not of that kind, or too long, and nothing was done.
 */
int dpa_near_run(struct dpa_hw_qp *qp, uint32_t *left);

/* --- direct.c --- */
#define DPA_DIRECT_TOGETHER 64		 /* operations of one call */
#define DPA_DIRECT_ALWAYS   DPA_PULL_MIN /* from this size on the copy counts, not the call */
static inline void dpa_direct_count(struct dpa_hw *hw, uint32_t ops, uint32_t mapped,
				    uint64_t bytes)
{
	dpa_count(hw, DPA_CNT_direct_ops, ops);
	dpa_count(hw, DPA_CNT_direct_bytes, bytes);
	if (mapped)
		dpa_count(hw, DPA_CNT_mapped_ops, mapped);
}
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
/* What was sent is sent again: nothing of it counts as arrived. */
static inline void dpa_loss_unknown(struct dpa_req *r)
{
	r->left = r->gap = false;
	r->nsent = 0;
}
/* What is due is done; false: the QP failed. */
bool dpa_loss_timers(struct dpa_hw_qp *qp);
void dpa_loss_arm(struct dpa_hw_qp *qp);

/* A NAK for a PSN sequence error: the missing packet alone, or everything from there. */
void dpa_loss_nak(struct dpa_hw_qp *qp, uint32_t psn);

/* --- kept.c --- */
/* Keeps a request that is ahead of its turn. False: no room, not off the wire, from elsewhere than
 * what came in order, or other than the copy that is kept, which is dropped, too. */
bool dpa_keep(struct dpa_hw_qp *qp, const struct dpa_slot *s, const uint8_t *payload);
const struct dpa_slot *dpa_kept_next(struct dpa_hw_qp *qp, const uint8_t **payload);
void dpa_kept_done(struct dpa_hw_qp *qp);
/* It comes off the wire, and from elsewhere than what came in order. */
bool dpa_kept_strange(const struct dpa_hw_qp *qp, const struct dpa_slot *s);
/* The source of a request that came in order, which is not the one of the request before. */
void dpa_kept_renew(struct dpa_hw_qp *qp, uint32_t from);
/* A request came in order: packets of its UDP source may be kept from now on. */
static inline void dpa_kept_source(struct dpa_hw_qp *qp, const struct dpa_slot *s)
{
	if ((s->flags & DPA_PKT_MTU) && dpa_unlikely(s->from != qp->resp.from))
		dpa_kept_renew(qp, s->from);
}

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
int dpa_ud_send(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c);
/* What waits for a peer that does not take it: has it waited enough? Then it is lost. */
bool dpa_ud_waited(struct dpa_hw_qp *qp, struct dpa_peer *p);
/* Not now: the peer and we do not know each other yet. The QP is pended. */
bool dpa_ud_meets(struct dpa_hw_qp *qp, struct dpa_peer *p);
/* Sends what waits for company. */
void dpa_ud_flush(struct dpa_hw_qp *qp);
void dpa_ud_rx(struct dpa_hw_qp *qp, const struct dpa_slot *s, const uint8_t *payload);

/* --- answers.c --- */
/* Owes an ACK or NAK; a NAK is not taken back. RC. */
void dpa_owe(struct dpa_hw_qp *qp, uint32_t psn, uint8_t syndrome);
/* A NAK is owed that ends the connection. */
bool dpa_resp_failing(const struct dpa_resp *r);
/* An XRC target is reset: no XRC message waits for its answers any more. */
void dpa_waits_no_more(struct dpa_hw_qp *qp);

/* --- again.c --- */
/* A READ, FLUSH or atomic was carried out; its response has npkts packets. It may come again, until
 * as many followed as may be outstanding. */
void dpa_again_remember(struct dpa_hw_qp *qp, const struct dpa_slot *s, uint32_t npkts,
			uint64_t orig);
/* The request that this one is again, or the rest of; NULL: none that is known. */
const struct dpa_rd_saved *dpa_again_find(const struct dpa_resp *r, const struct dpa_slot *s);
/* Does a READ or FLUSH ask for no more than that one did, and is the work of it paid for? */
bool dpa_again_allowed(struct dpa_hw_qp *qp, const struct dpa_rd_saved *a,
		       const struct dpa_slot *s);

/* --- responder.c --- */
/* Puts a plain ACK that is owed behind what the lane holds; under tx->lock. */
void dpa_responder_join(struct dpa_hw_qp *qp);
/* Owes a plain ACK and nothing else. */
static inline bool dpa_owes_ack(const struct dpa_hw_qp *qp)
{
	const struct dpa_resp *r = &qp->resp;

	return r->ack_owed && r->rd_head == r->rd_tail &&
	       (r->ack_syndrome & DPA_AETH_KIND) == DPA_AETH_ACK;
}

/* A NAK or RNR NAK is owed. */
static inline bool dpa_owes_nak(const struct dpa_resp *r)
{
	return r->ack_owed && (r->ack_syndrome & DPA_AETH_KIND) != DPA_AETH_ACK;
}

void dpa_responder_rx(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
		      const uint8_t *payload);
bool dpa_take_rwqe(struct dpa_hw_qp *qp, struct dpa_rx_wqe *w);
void dpa_recv_cqe(struct dpa_hw_qp *qp, uint64_t wr_id, uint8_t opcode, uint8_t status,
		  uint32_t syndrome, uint32_t len, const struct dpa_slot *s);

#endif
