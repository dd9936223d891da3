/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* record.c - writes the record of an error, and its line of the log. */
#include <errno.h>
#include <stdio.h>
#include "ctx/hw.h"
#include "ctx/wqe.h"
#include "errors/errors.h"
#include "failure/failure.h"
#include "inspect/frame.h"
#include "link/lane.h"
#include "util/clock.h"
#include "wire/opcode.h"

static struct dpa_error new_record(struct dpa_hw_qp *qp, enum dpa_error_kind kind)
{
	const struct dpa_board_proc *self = qp->hw->board->self;
	const uint32_t faults = DPA_INSPECT_FAULT | DPA_INSPECT_MODEL;
	struct dpa_error e = {.time = dpa_wall_ns(),
			      .qpn = qp->qpn,
			      .kind = (uint8_t)kind,
			      .qp_type = qp->type,
			      .pid = dpa_proc_pid(self),
			      .uid = self->uid};

	memcpy(e.comm, self->comm, sizeof(e.comm));
	for (int i = 0; i < (int)sizeof(e.comm) && e.comm[i]; i++)
		if (e.comm[i] < ' ' || e.comm[i] > '~')
			e.comm[i] = '?';
	if (qp->errors.injected)
		e.flags |= DPA_ERROR_INJECTED;
	if (atomic_load_explicit(&qp->hw->inspect, memory_order_relaxed) & faults)
		e.flags |= DPA_ERROR_FAULTS;
	return e;
}

/* The record of the QP that this one replaces: none before DPA_QP_ERRORS, then the oldest but the first. */
static uint32_t *qp_record_place(struct dpa_hw_qp *qp)
{
	const uint32_t n = qp->errors.n, last = DPA_QP_ERRORS - 1;

	return &qp->errors.at[n ? 1 + (n - 1) % last : 0];
}

/* False: the QP goes on, and what is flushed later has nothing to do with this. */
static bool ends_qp(const struct dpa_hw_qp *qp, const struct dpa_error *e)
{
	if (qp->type == DPA_QP_RAW)
		return e->vendor_err != DPA_SYN_RECV_TOO_SMALL;
	return e->kind != DPA_ERROR_REFUSED || qp->type == DPA_QP_RC;
}

static void write_record(struct dpa_hw_qp *qp, struct dpa_error *e)
{
	uint32_t *at = qp_record_place(qp);
	char line[DPA_ERROR_LINE];

	e->nth = ++qp->errors.n;
	*at = dpa_board_error_put(qp->hw->board, false, *at, e);
	qp->errors.now = ends_qp(qp, e) ? *at : 0;
	if (qp->hw->log && qp->hw->cfg.log >= DPA_CFG_LOG_INFO) {
		dpa_error_line(e, line);
		dpa_log(qp->hw, DPA_LOG_INFO, "%s", line);
	}
}

static void set_completion(struct dpa_hw_qp *qp, const struct dpa_cqe *c,
			   const struct dpa_wqe_ctrl *w, struct dpa_error *e)
{
	e->wr_id = c->wr_id;
	e->qpn = c->qpn; /* of a WQ: its number */
	e->opcode = w ? w->opcode : c->opcode;
	e->status = c->status;
	e->vendor_err = c->vendor_err;
	if (w) {
		e->wqe_index = c->wqe_index;
		e->psn = qp->req.una_psn;
		e->npsn = dpa_wqe_psns(qp, w);
	} else if (qp->errors.packet) {
		e->psn = qp->errors.packet->psn;
		e->npsn = 1;
	}
}

/* A flush counts in the record of the error that it follows, or has a record of its own. */
static void record_flush(struct dpa_hw_qp *qp, const struct dpa_cqe *c,
			 const struct dpa_wqe_ctrl *w)
{
	const bool received = c->opcode >= DPA_CQE_RECV;
	struct dpa_board *b = qp->hw->board;
	struct dpa_error e;

	dpa_log(qp->hw, DPA_LOG_DEBUG, "QP 0x%06x: flushed, wr_id 0x%llx (%s)", qp->qpn,
		(unsigned long long)c->wr_id, received ? "receive" : "send WQE");
	if (dpa_board_error_flushed(b, qp->errors.now, received))
		return;
	e = new_record(qp, received ? DPA_ERROR_RECEIVED : DPA_ERROR_SENT);
	set_completion(qp, c, w, &e);
	dpa_failure_peer(qp, w, true, &e.peer);
	qp->errors.flush = qp->errors.now = dpa_board_error_put(b, true, qp->errors.flush, &e);
	dpa_board_error_flushed(b, qp->errors.now, received);
}

static void set_check(struct dpa_hw_qp *qp, const struct dpa_cqe *c, const struct dpa_wqe_ctrl *w,
		      struct dpa_error_check *to)
{
	if (w)
		dpa_check_of_send(qp, c, w, to);
	else if (c->opcode >= DPA_CQE_RECV)
		dpa_check_of_receive(qp, c, to);
}

void dpa_failed(struct dpa_hw_qp *qp, const struct dpa_cqe *c, const struct dpa_wqe_ctrl *w)
{
	const int err = errno;
	const bool send = c->opcode < DPA_CQE_RECV;
	struct dpa_error e;

	if (qp->gsi)
		return; /* QP1 is not the program's */
	if (c->status == DPA_CQE_WR_FLUSH_ERR) {
		record_flush(qp, c, w);
	} else {
		e = new_record(qp, send ? DPA_ERROR_SENT : DPA_ERROR_RECEIVED);
		set_completion(qp, c, w, &e);
		if (!qp->errors.injected) /* else no check failed */
			set_check(qp, c, w, &e.check);
		dpa_failure_peer(qp, w, false, &e.peer);
		write_record(qp, &e);
		qp->errors.injected = false;
	}
	qp->errors.packet = NULL;
	errno = err;
}

void dpa_failed_cqe(struct dpa_hw_qp *qp, const struct dpa_cqe *e)
{
	dpa_failed(qp, e, NULL);
}

/* The operation of a request, as its sender posted it. */
static uint8_t op_of_request(uint8_t bth)
{
	const uint16_t p = dpa_op_props(bth);

	if (p & DPA_OPP_FLUSH)
		return DPA_OP_FLUSH;
	if (p & DPA_OPP_AWRITE)
		return DPA_OP_ATOMIC_WRITE;
	if (p & DPA_OPP_READ)
		return DPA_OP_RDMA_READ;
	if (p & DPA_OPP_ATOMIC)
		return (bth & (uint8_t)~DPA_BTH_TRANSPORT) == DPA_BTH_COMPARE_SWAP
			       ? DPA_OP_ATOMIC_CS
			       : DPA_OP_ATOMIC_FA;
	if (p & DPA_OPP_WRITE)
		return p & DPA_OPP_IMM ? DPA_OP_RDMA_WRITE_IMM : DPA_OP_RDMA_WRITE;
	return p & DPA_OPP_INV ? DPA_OP_SEND_INV : p & DPA_OPP_IMM ? DPA_OP_SEND_IMM : DPA_OP_SEND;
}

void dpa_refused(struct dpa_hw_qp *qp, const struct dpa_refusal *r)
{
	const int err = errno;
	struct dpa_error e;

	if (qp->gsi || r->reason == DPA_REFUSED_WITH_RECEIVE)
		return;
	e = new_record(qp, DPA_ERROR_REFUSED);
	e.opcode = op_of_request(r->opcode);
	e.psn = r->psn;
	e.npsn = 1;
	e.nak = qp->type == DPA_QP_RC ? (uint8_t)(r->nak + 1) : 0;
	e.vendor_err = r->reason > UINT16_MAX ? 0 : r->reason;
	dpa_check_of_refusal(qp, r, &e.check);
	dpa_failure_peer(qp, NULL, false, &e.peer);
	write_record(qp, &e);
	errno = err;
}
