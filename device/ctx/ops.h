/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * ops.h - functions of the upper layers that the core and the links call. They must not include the
 * headers of these layers; cmd/ops.c has the tables, which never change.
 *
 *   hw->ops   written once, before a context exists; read by any thread
 *   qp->ops   written by dpa_qp_init() and read under the lock of the QP
 *
 * The functions of a QP run under its lock.
 */
#ifndef DPA_CTX_OPS_H
#define DPA_CTX_OPS_H

#include <stdbool.h>
#include <stdint.h>

struct dpa_cqe;
struct dpa_frame;
struct dpa_hw;
struct dpa_hw_cq;
struct dpa_hw_qp;
struct dpa_peer;
struct dpa_roce_pkt;
struct dpa_slot;
struct dpa_wqe_ctrl;

/* For a QP: one table for RC, UC, UD and XRC, one for raw packets. */
struct dpa_qp_ops {
	/* Send as much of the SQ as possible. Returns the amount of work done. */
	int (*send)(struct dpa_hw_qp *qp);
	/* UD, raw: send one WQE. 0, or 1: not now, or it failed. */
	int (*send_one)(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c);
	/* Take in one packet. The payload is valid during the call. */
	void (*receive)(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
			const uint8_t *payload);
	/* UD, raw: the same for a packet that is known to be for the QP. */
	void (*receive_one)(struct dpa_hw_qp *qp, const struct dpa_slot *s, const uint8_t *payload);
	/* Send the pending ACK or NAK and the pending responses. */
	void (*answer)(struct dpa_hw_qp *qp);
	/* End the handling of a packet from the wire: unlock. soon: false lets a plain ACK wait. */
	void (*done)(struct dpa_hw_qp *qp, bool soon);
	/* Send a congestion notification packet to the peer. False: it was not sent. */
	bool (*notify)(struct dpa_hw_qp *qp);
	/* Fail the oldest WQE, and the QP with it. */
	void (*fail)(struct dpa_hw_qp *qp, uint8_t status, uint32_t syndrome);
	/* Record a completion with an error, before it is reported. */
	void (*failed)(struct dpa_hw_qp *qp, const struct dpa_cqe *e);
	/*
	 * With slow.foreign: take over n CQEs of the QP for `cq` until the copies that they wait for
	 * are done. False: there is nothing to wait for, and nothing was taken.
	 */
	bool (*hold)(struct dpa_hw_qp *qp, struct dpa_hw_cq *cq, const struct dpa_cqe *cqe,
		     uint32_t n);
	/* Report the send WQEs as flushed. */
	void (*flush)(struct dpa_hw_qp *qp);
	/* Drop the packets in the out-of-order queue. */
	void (*forget)(struct dpa_hw_qp *qp);
	void (*reset)(struct dpa_hw_qp *qp);
	/* The QP's state or permissions changed: update its access capability. */
	void (*grant)(struct dpa_hw_qp *qp);
	/* The same for a QP whose SQ is watched: an EU reads the word again. */
	void (*look_again)(struct dpa_hw_qp *qp);
};

/* For the function of this process; set when it is opened. */
struct dpa_hw_ops {
	const struct dpa_qp_ops *rdma, *raw;
	/* A packet to QPN 1. True: pkt names the QP that gets it. Context: no QP's lock held. */
	bool (*mad)(struct dpa_hw *hw, const struct dpa_frame *f, struct dpa_roce_pkt *pkt,
		    bool may_forward);
	/* Call `grant` for all QPs. Context: no lock held. */
	void (*grant_all)(struct dpa_hw *hw);
	/* Do the pending wake-ups of the calling thread. Context: no lock held. */
	void (*settle)(struct dpa_hw *hw);
};

extern const struct dpa_hw_ops dpa_ops;

#endif
