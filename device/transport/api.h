/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* api.h - the calls of the transport for the rest of the device. */
#ifndef DPA_TRANSPORT_API_H
#define DPA_TRANSPORT_API_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "ctx/hw.h"
#include "link/lane.h"
#include "link/udp/wire.h"
#include "order/order.h"
#include "payload/payload.h"
#include "send/send.h"

struct dpa_hw_qp;
struct dpa_peer;

/* Send as much of the SQ as possible. Returns the amount of work done. Context: the QP's lock. */
int dpa_requester_run(struct dpa_hw_qp *qp);
/* Take in one packet for this QP. payload is valid during the call. Context: the QP's lock. */
void dpa_transport_rx(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
		      const uint8_t *payload);
/*
 * True if the packet must stay in its ring for a moment. UC and UD lose messages that find no
 * receive WQE, or no room in a window of foreign/foreign.h. A sender on the same host is faster
 * than any wire, so a receiver that was keeping up gets time to post. RC: there is no room, and the
 * requester cannot be notified (ask.c). Context: the QP's lock.
 */
bool dpa_rx_must_wait(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s);
/* Send pending ACK and responses after the packets of a batch. Context: the QP's lock. */
void dpa_responder_flush(struct dpa_hw_qp *qp);
/*
 * Plain ACKs for many QPs, from one batch of packets, to be sent in one entry. Owned by the thread
 * that drains the ring, under rx->lock.
 */
struct dpa_acks {
	struct dpa_tx *tx; /* the ring of all of them */
	uint32_t n;
	struct {
		uint32_t dqpn, psn, msn;
		uint16_t src;
	} ack[DPA_ACKS];
};
/*
 * Take over a QP's pending plain ACK. False: dpa_responder_flush() must send it. Context: the QP's
 * lock.
 */
bool dpa_acks_take(struct dpa_acks *acks, struct dpa_hw_qp *qp);
/* Send them. Context: no QP's lock held. */
void dpa_acks_publish(struct dpa_acks *acks, struct dpa_hw *hw);
/* Extract the i'th ACK of an entry as a packet. False: there is none. */
bool dpa_acks_get(const struct dpa_slot *s, uint32_t i, struct dpa_slot *ack);
/* Wait until no thread holds ACKs that it took over for this peer. Context: no QP's lock held. */
void dpa_acks_wait(struct dpa_peer *peer);
/* Send the ACKs that wait (transport/acks.c). Context: no lock held. */
void dpa_acks_send(struct dpa_hw *hw);
/* The same at exit(): waits for no lock. ACKs under a lock that is held are lost. */
void dpa_acks_leave(struct dpa_hw *hw);
/*
 * Release a QP after dpa_pkt_deliver(): send its pending answers. soon: false lets a plain ACK
 * wait. qp may be NULL.
 */
void dpa_pkt_done(struct dpa_hw_qp *qp, bool soon);
/* A QP is destroyed: drop its waiting ACK. */
void dpa_acks_forget(struct dpa_hw_qp *qp);
static inline void dpa_acks_settle(struct dpa_hw *hw)
{
	if (dpa_unlikely(atomic_load_explicit(&hw->cork.any, memory_order_acquire)))
		dpa_corks_send(hw);
	if (dpa_unlikely(atomic_load_explicit(&hw->acks.owed, memory_order_acquire)))
		dpa_acks_send(hw);
}
/* Answer a packet to a QP that does not exist: the sender treats it as lost, as on a wire. */
void dpa_transport_no_qp(struct dpa_hw *hw, struct dpa_rx *rx, const struct dpa_slot *s);
void dpa_transport_reset(struct dpa_hw_qp *qp);
/* Handle the end of the peer's process. */
void dpa_requester_peer_dead(struct dpa_hw_qp *qp);
/*
 * Send again if nothing was received for long although the peer took everything that was sent.
 * Context: the QP's lock.
 */
bool dpa_requester_watchdog(struct dpa_hw_qp *qp);

#endif
