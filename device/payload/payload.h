/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* payload.h - between the memory that WQEs and packets name and the payload of packets. */
#ifndef DPA_PAYLOAD_H
#define DPA_PAYLOAD_H

#include <sys/uio.h>
#include "ctx/wqe.h"
#include "link/peer.h"

/* gather.c: between a WQE's SGEs and a packet; all return 0 or an enum dpa_syndrome. */

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
/* wqe_check.c: IBA 10.8.3: 0 if a WQE may be this on this QP; `one` as in dpa_check_sges(). */
uint32_t dpa_check_wqe(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c,
		       uint64_t *one);
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

/* source.c: memory that cannot be addressed. No syndrome: it is being fetched, which runs the QP. */
#define DPA_SYN_WAIT UINT32_MAX
/* [off, off + n) of a send WQE, or less where it ends: 0 if it can be gathered; c is checked. */
uint32_t dpa_source_wait(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c,
			 uint32_t off, uint32_t n);
/* The rest of a response, from byte `off` on; number: one more with each response. */
struct dpa_response {
	uint32_t number, off, len, rkey;
	uint64_t addr; /* of byte `off` */
};
/* The same of its next n bytes, for dpa_gets_copy(). */
uint32_t dpa_source_response(struct dpa_hw_qp *qp, const struct dpa_response *r, uint32_t n);

/* pull.c: lets the receiver fetch [off, off + n) of a send WQE: struct dpa_pull at `data`. */
uint32_t dpa_pull_fill(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c,
		       uint32_t off, uint32_t n, uint8_t *data);
/*
 * Brings pieces of a large message of this process's that the lane's receiver is fetching, if there
 * is one: pull.c. Any thread that polls, under no lock. How many.
 */
int dpa_pull_bring(struct dpa_tx *tx);

#endif
