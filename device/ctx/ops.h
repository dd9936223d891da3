/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * ops.h - what the core and the links call of the layers above them. Those headers are not theirs to
 * include; cmd/ops.c has the tables, which are never written.
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

/* Of a QP: one table for RC, UC, UD and XRC, one for raw packets. */
struct dpa_qp_ops {
	/* Sends what the SQ holds as far as it can. Returns the work done. */
	int (*send)(struct dpa_hw_qp *qp);
	/* UD, raw: one WQE. 0, or 1: not now, or it failed. */
	int (*send_one)(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c);
	/* One packet. The payload is valid during the call. */
	void (*receive)(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
			const uint8_t *payload);
	/* UD, raw: the same of a packet that was found to be for the QP. */
	void (*receive_one)(struct dpa_hw_qp *qp, const struct dpa_slot *s, const uint8_t *payload);
	/* Sends the ACK or NAK and the responses that are owed. */
	void (*answer)(struct dpa_hw_qp *qp);
	/* The end of a packet off the wire: unlocks. A plain ACK may wait for company (not soon). */
	void (*done)(struct dpa_hw_qp *qp, bool soon);
	/* A congestion notification packet to the peer; false: it did not leave. */
	bool (*notify)(struct dpa_hw_qp *qp);
	/* The WQE that is the oldest ends with an error, and the QP with it. */
	void (*fail)(struct dpa_hw_qp *qp, uint8_t status, uint32_t syndrome);
	/*
	 * With slow.foreign: takes over n CQEs of the QP for `cq` until the copies that they wait
	 * for are done. False: there is nothing to wait for, and nothing was taken.
	 */
	bool (*hold)(struct dpa_hw_qp *qp, struct dpa_hw_cq *cq, const struct dpa_cqe *cqe,
		     uint32_t n);
	/* Reports the send WQEs as flushed. */
	void (*flush)(struct dpa_hw_qp *qp);
	/* Packets that were kept out of order are forgotten. */
	void (*forget)(struct dpa_hw_qp *qp);
	void (*reset)(struct dpa_hw_qp *qp);
	/* Its state or its permissions have changed: what peers may do by themselves. */
	void (*grant)(struct dpa_hw_qp *qp);
	/* The same of a QP whose SQ is watched: an EU looks at the word again. */
	void (*look_again)(struct dpa_hw_qp *qp);
};

/* Of the function of this process; set when it is opened. */
struct dpa_hw_ops {
	const struct dpa_qp_ops *rdma, *raw;
	/* A packet to QPN 1. True: pkt names the QP that gets it. No QP's lock is held. */
	bool (*mad)(struct dpa_hw *hw, const struct dpa_frame *f, struct dpa_roce_pkt *pkt,
		    bool may_forward);
	/* `grant` of all QPs. No lock is held. */
	void (*grant_all)(struct dpa_hw *hw);
	/* Wakes the peers that the calling thread has left to be woken. No lock is held. */
	void (*settle)(struct dpa_hw *hw);
};

extern const struct dpa_hw_ops dpa_ops;

#endif
