/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* payload.h - moves payload between packets and the memory that WQEs and packets name. */
#ifndef DPA_PAYLOAD_H
#define DPA_PAYLOAD_H

#include <sys/uio.h>
#include "ctx/wqe.h"
#include "link/peer.h"

/* gather.c: between a WQE's SGEs and a packet. All return 0 or an enum dpa_syndrome. */

/* Return the offset of the SGEs in a send WQE. */
uint32_t dpa_wqe_sge_off(const struct dpa_hw_qp *qp, uint8_t opcode);
uint32_t dpa_gather(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c, uint32_t off,
		    uint32_t n, uint8_t *dst);
/*
 * Check every SGE that a send WQE reads from. *total: the sum of their lengths. *one: if there is a
 * single SGE with bytes, its address, for dpa_gather_one() under the same hold of the QP's lock.
 */
uint32_t dpa_check_sges(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c,
			uint64_t *total, uint64_t *one);
/*
 * wqe_check.c: IBA 10.8.3: return 0 if this QP may execute the WQE; `one` as in dpa_check_sges().
 */
uint32_t dpa_check_wqe(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c,
		       uint64_t *one);
/* Return the sum of the lengths of its SGEs; checks no key. */
uint64_t dpa_sges_total(const struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c);
uint32_t dpa_gather_one(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c,
			uint64_t one, uint32_t n, uint8_t *dst);
/* True if some of its SGEs name memory that may be missing: then no peer may be told to read it. */
bool dpa_wqe_careful(const struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c);
/*
 * Fill an iovec of at most 34 elements with [off, off + n) of a send WQE's SGEs; *cnt: number of
 * elements. access: rights that the regions must have; DPA_ACCESS_LOCAL_WRITE for the response of a
 * READ or an atomic, else 0.
 */
uint32_t dpa_wqe_iov(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c, uint32_t off,
		     uint32_t n, uint32_t access, struct iovec *iov, int *cnt);
uint32_t dpa_rwqe_iov(struct dpa_hw_qp *qp, const struct dpa_rx_wqe *w, uint32_t off, uint32_t n,
		      struct iovec *iov, int *cnt);
/*
 * Copy a payload, or the memory that it refers to, into an iovec of this process's own
 * (application-named) memory.
 */
uint32_t dpa_scatter(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
		     const uint8_t *payload, const struct iovec *iov, int cnt);
/*
 * The same for a packet that the application may not expect: a datagram may arrive while the
 * application releases everything, and some (UCX 1.13) unmap receive buffers before they destroy
 * the QP. An adapter that pins pages does not notice. Only the QP's home thread, which is polling
 * then and does nothing else, copies plainly.
 */
uint32_t dpa_scatter_unasked(struct dpa_hw_qp *qp, const struct dpa_slot *s, const uint8_t *payload,
			     const struct iovec *iov, int cnt);
/* The same for a DPA_PKT_PULL entry: pull.c. */
uint32_t dpa_pull(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
		  const uint8_t *payload, const struct iovec *iov, int cnt);
/* Copy the first n bytes of a payload of at least n bytes. */
uint32_t dpa_peek(struct dpa_peer *peer, const struct dpa_slot *s, const uint8_t *payload, void *to,
		  uint32_t n);
/* The same to memory that the packet named. */
uint32_t dpa_place(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
		   const uint8_t *payload, uint64_t addr, uint32_t rkey);

/*
 * source.c: memory that cannot be addressed. Not a vendor error: it is being read; afterwards the
 * QP runs again.
 */
#define DPA_SYN_WAIT UINT32_MAX
/*
 * Read [off, off + n) of a send WQE, or less at its end, in advance. 0: it can be gathered. c is
 * checked.
 */
uint32_t dpa_source_wait(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c,
			 uint32_t off, uint32_t n);
/* True if the result of a READ or an atomic goes into such memory. c is checked. */
bool dpa_target_is_foreign(const struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c);
/* The rest of a response, from byte `off` on. number: incremented with each response. */
struct dpa_response {
	uint32_t number, off, len, rkey;
	uint64_t addr; /* address of byte `off` */
};
/* The same for its next n bytes, for dpa_gets_copy(). */
uint32_t dpa_source_response(struct dpa_hw_qp *qp, const struct dpa_response *r, uint32_t n);

/*
 * pull.c: let the receiver read [off, off + n) of a send WQE: writes a struct dpa_pull at `data`.
 */
uint32_t dpa_pull_fill(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c,
		       uint32_t off, uint32_t n, uint8_t *data);
/*
 * Cooperative copy: copy segments of a large message of this process that the ring's receiver is
 * reading, if there is one: pull.c. Returns their number. Context: a thread that polls; no lock
 * held.
 */
int dpa_pull_bring(struct dpa_tx *tx);

#endif
