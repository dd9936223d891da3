/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * failure.h - error completions and refused requests: the log, and the records that tools read
 * (errors/errors.h). Nothing of it runs without an error. Context of all: the QP's lock.
 *
 * A QP has at most 5 records: of its first error, of its last three, and one of flushes without an
 * error before. So a QP that fails again and again overwrites its own records, not those of others.
 * Completions that are flushed after an error are counted in its record.
 */
#ifndef DPA_FAILURE_H
#define DPA_FAILURE_H

#include "board/error_record.h"
#include "ctx/qp.h"

struct dpa_slot;

/*
 * A WQE ends with an error; e is its CQE, with a status. c: the send WQE at una_idx, before it is
 * completed; NULL: e is of a receive, or its send WQE is gone. The cause in qp->errors (injected, or a
 * packet) is taken and cleared.
 */
void dpa_failed(struct dpa_hw_qp *qp, const struct dpa_cqe *e, const struct dpa_wqe_ctrl *c);
/* The same without c: qp->ops. */
void dpa_failed_cqe(struct dpa_hw_qp *qp, const struct dpa_cqe *e);

/* A request of the peer that is refused. */
struct dpa_refusal {
	uint32_t psn;
	uint8_t opcode;	 /* of the BTH */
	uint8_t nak;	 /* its code */
	uint32_t reason; /* enum dpa_syndrome, of an R_Key; or DPA_REFUSED() */
	uint32_t access; /* that it needs */
	uint64_t va;
	uint32_t len, rkey;
};
/* A reason that no vendor error has: enum dpa_error_check_kind. */
#define DPA_REFUSED(check)	 (0x10000u | (uint32_t)(check))
/* Reported already, with its receive. */
#define DPA_REFUSED_WITH_RECEIVE 0x20000u
void dpa_refused(struct dpa_hw_qp *qp, const struct dpa_refusal *r);

/* check.c: what was compared when it failed, by the reason of e. The values are looked up again. */
void dpa_check_of_send(struct dpa_hw_qp *qp, const struct dpa_cqe *e, const struct dpa_wqe_ctrl *c,
		       struct dpa_error_check *to);
void dpa_check_of_receive(struct dpa_hw_qp *qp, const struct dpa_cqe *e,
			  struct dpa_error_check *to);
void dpa_check_of_refusal(struct dpa_hw_qp *qp, const struct dpa_refusal *r,
			  struct dpa_error_check *to);
/*
 * peer.c: which process has the other end, now. c: UD: the send WQE. flush: without a system call; a
 * process that was killed may count as one that lives.
 */
void dpa_failure_peer(struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c, bool flush,
		      struct dpa_error_peer *to);

#endif
