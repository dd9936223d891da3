/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* api.h - what the rest of the device calls of the transport. */
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

struct dpa_hw_qp;
struct dpa_peer;

/* Sends what the SQ holds as far as it can; under the QP's lock. Returns the work done. */
int dpa_requester_run(struct dpa_hw_qp *qp);
/* One packet for this QP; under its lock. payload is valid during the call. */
void dpa_transport_rx(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
		      const uint8_t *payload);
/*
 * UC and UD lose what finds no receive WQE. The sender on the same host is faster than any wire, so
 * a receiver that was keeping up gets a moment to post: true, the packet stays in its lane. Under
 * the QP's lock.
 */
bool dpa_rx_must_wait(struct dpa_hw_qp *qp, const struct dpa_slot *s);
/* The packets of this batch are through: send the ACK that is owed and responses. */
void dpa_responder_flush(struct dpa_hw_qp *qp);
/*
 * Plain ACKs of a batch of packets for many QPs, to be sent in one slot. Owned by the thread that
 * drains the lane, under rx->lock.
 */
struct dpa_acks {
	struct dpa_tx *tx; /* where all of them go */
	uint32_t n;
	struct {
		uint32_t dqpn, psn, msn;
		uint16_t src;
	} ack[DPA_ACKS];
};
/* Takes over what the QP owes, under its lock. False: it is for dpa_responder_flush(). */
bool dpa_acks_take(struct dpa_acks *acks, struct dpa_hw_qp *qp);
/* Sends them. No QP's lock may be held. */
void dpa_acks_publish(struct dpa_acks *acks, struct dpa_hw *hw);
/* The i'th of a slot of them as the packet that it stands for; false: there is none. */
bool dpa_acks_get(const struct dpa_slot *s, uint32_t i, struct dpa_slot *ack);
/* None that was taken over for this peer is in anybody's hand any more. No QP's lock may be held.
 */
void dpa_acks_wait(struct dpa_peer *peer);
/* Sends the ACKs that wait (transport/acks.c). No lock may be held. */
void dpa_acks_send(struct dpa_hw *hw);
/* The same at exit(): no lock is waited for, whoever has one. ACKs under such a lock are lost. */
void dpa_acks_leave(struct dpa_hw *hw);
/*
 * Lets go of a QP behind dpa_pkt_deliver(): sends what it owes, a plain ACK perhaps later (not
 * soon). NULL is allowed.
 */
void dpa_pkt_done(struct dpa_hw_qp *qp, bool soon);
/* A QP that goes away owes none. */
void dpa_acks_forget(struct dpa_hw_qp *qp);
static inline void dpa_acks_settle(struct dpa_hw *hw)
{
	if (dpa_unlikely(atomic_load_explicit(&hw->corks, memory_order_acquire)))
		dpa_corks_send(hw);
	if (dpa_unlikely(atomic_load_explicit(&hw->acks_owed, memory_order_acquire)))
		dpa_acks_send(hw);
}
/* A congestion notification packet to the peer of a connected QP; false: it did not leave. */
bool dpa_send_cnp(struct dpa_hw_qp *qp);
/* A connected QP has a ring to its peer, which lives. Looks for one if it has none yet. */
bool dpa_have_tx(struct dpa_hw_qp *qp);
/* Answer for a packet to a QP that is not there: a lost packet, as the wire would have it. */
void dpa_transport_no_qp(struct dpa_hw *hw, struct dpa_rx *rx, const struct dpa_slot *s);
void dpa_transport_reset(struct dpa_hw_qp *qp);
/* The peer's process ended. */
void dpa_requester_peer_dead(struct dpa_hw_qp *qp);
void dpa_requester_flush(struct dpa_hw_qp *qp);
/* Nothing was heard for long although the peer took all we sent: send again. Under the QP's lock.
 */
bool dpa_requester_watchdog(struct dpa_hw_qp *qp);

#endif
