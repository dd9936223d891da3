/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* qp.c - queue pairs: reports, events, the error state. */
#include <dpa_hw_trace.h>
#include "ctx/wqe.h"
#include "ctx/cq.h"
#include "ctx/ops.h"
#include "ctx/qp.h"
#include "ctx/schedule.h"
#include "ctx/srq.h"
#include "ctx/thread.h"
#include "ctx/xrc.h"
#include "wire/opcode.h"
#include "ctx/hw.h"
#include "ctx/export.h"
#include "inject/inject.h"

void dpa_qp_event(struct dpa_hw_qp *qp, uint32_t type)
{
	struct dpa_event ev = {.type = type, .port = 1, .user_handle = qp->user_handle};
	struct dpa_run *run = dpa_me.run;

	/* Completions that happened before the event are reported before it. */
	if (dpa_unlikely(run && run->qp == qp))
		dpa_run_flush(run);

	/* a replica that no program opened has no handle */
	if (qp->ctx->event && (!qp->xrc.branch || qp->user_handle))
		qp->ctx->event(qp->ctx->event_arg, &ev);
	if (dpa_unlikely(qp->xrc.openers))
		dpa_qp_tell_openers(qp, type);
}

/*
 * Leaves the windows first: a thread that binds one again waits for this (mw.c), not for the lock.
 */
static bool leave_lock(struct dpa_hw_qp *qp)
{
	if (dpa_unlikely(dpa_me.in_window)) {
		dpa_me.in_window = false;
		atomic_store_explicit(&qp->in_window, 0, memory_order_release);
	}
	return dpa_qplock_leave(&qp->lock);
}

void dpa_qp_leave(struct dpa_hw_qp *qp)
{
	while (!leave_lock(qp)) {
		if (qp->qpn) {
			qp->ops->answer(qp);
			qp->ops->send(qp);
			if (qp->state == DPA_QPS_ERR)
				dpa_qp_flush_rq(qp);
		}
	}
}

/*
 * Data that peers read for this QP is valid only while its epoch is unchanged. A replica may share
 * the epoch with a QP of this process: if one of them ends, data read for the other is lost, and RC
 * sends it again.
 */
static void new_epoch(struct dpa_hw_qp *qp)
{
	atomic_fetch_add_explicit(&qp->hw->export->qp_epoch[qp->qpn & DPA_QPN_INDEX], 1,
				  memory_order_seq_cst);
}

/* A message that moved bytes, or could: not a local operation, and not one that failed. */
static void meter_done(struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c, const struct dpa_cqe *e)
{
	if ((e && e->status) || c->opcode == DPA_OP_LOCAL_INV || c->opcode == DPA_OP_BIND_MW)
		return;
	dpa_count_add(&qp->meter.tx_msgs, 1);
	dpa_count_add(&qp->meter.tx_bytes, dpa_op_is_atomic(c->opcode) ? 8 : c->length);
}

void dpa_qp_note_done(struct dpa_hw_qp *qp, uint32_t psns, const struct dpa_cqe *e)
{
	const struct dpa_wqe_ctrl *c = dpa_wqe_ctrl(qp, qp->req.una_idx);

	if (dpa_meters_are_on())
		meter_done(qp, c, e);
	if (dpa_trace_is_on())
		dpa_trace_event(DPA_TRACE_DONE, e ? e->status : 0, c->opcode, qp->qpn,
				qp->req.una_idx, qp->req.una_psn, (uint64_t)c->length << 32 | psns);
}

void dpa_qp_meter_rx(struct dpa_hw_qp *qp, uint32_t msgs, uint64_t bytes)
{
	dpa_count_add(&qp->meter.rx_msgs, msgs);
	dpa_count_add(&qp->meter.rx_bytes, bytes);
}

void dpa_qp_meter_error(struct dpa_hw_qp *qp, uint8_t status, uint32_t syndrome)
{
	if (status != DPA_CQE_WR_FLUSH_ERR)
		atomic_store_explicit(&qp->meter.error, status | syndrome << 8,
				      memory_order_relaxed);
}

void dpa_qp_set_state(struct dpa_hw_qp *qp, uint32_t state)
{
	__atomic_store_n(&qp->state, (uint8_t)state, __ATOMIC_SEQ_CST);
	qp->slow.not_rts = state != DPA_QPS_RTS;
	if (dpa_trace_is_on())
		dpa_trace_event(DPA_TRACE_STATE, 0, (uint8_t)state, qp->qpn, 0, 0, 0);
	if (state != DPA_QPS_ERR && state != DPA_QPS_SQE)
		qp->errors.now = 0;
	if (state != DPA_QPS_RTR && state != DPA_QPS_RTS && state != DPA_QPS_SQD)
		dpa_xrc_untell(qp);
	if (qp->info)
		__atomic_store_n(&qp->info->state, state, __ATOMIC_RELAXED);
	if (state == DPA_QPS_ERR || state == DPA_QPS_RESET)
		new_epoch(qp);
	qp->ops->grant(qp);
	if (dpa_unlikely(qp->watch != NULL))
		qp->ops->look_again(qp);
}

/*
 * IBA 11.6.3.2: a work queue whose completions cannot be reported is in error. The reporting thread
 * is in the middle of its work on the QP: the QP ends at its next progress.
 */
void dpa_qp_report_now(struct dpa_hw_qp *qp, struct dpa_hw_cq *cq, const struct dpa_cqe *cqe,
		       uint32_t n)
{
	if (dpa_likely(dpa_cq_push_all(cq, cqe, n) == n) || qp->slow.cqe_lost ||
	    qp->state == DPA_QPS_ERR || qp->state == DPA_QPS_RESET)
		return;
	qp->slow.cqe_lost = true;
	dpa_schedule(qp, 0);
}

/* An asynchronous event that a completion of the QP causes (docs/inject.md). */
static void raise_injected(struct dpa_hw_qp *qp, int type, uint64_t ns)
{
	switch (type) {
	case DPA_EVENT_QP_FATAL: /* the QP ends at its next progress */
		qp->slow.cqe_lost = true;
		dpa_schedule(qp, 0);
		break;
	case DPA_EVENT_SRQ_LIMIT_REACHED:
		if (qp->srq)
			dpa_srq_limit_event(qp->srq);
		break;
	default: /* of the port or the device: the progress thread's */
		dpa_inject_raise(type, ns);
		dpa_wake_self(qp->hw);
	}
}

/* Completions with success may overrun their CQ, or cause an event. */
static void report_injected(struct dpa_hw_qp *qp, struct dpa_hw_cq *cq, const struct dpa_cqe *cqe,
			    uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct dpa_inject_cqe c = {.qpn = qp->qpn, .opcode = cqe[i].opcode};
		uint64_t ns = 0;
		int type = -1;

		if (!cqe[i].status) {
			if (dpa_inject_overrun(&c))
				dpa_cq_break(cq);
			type = dpa_inject_event(&c, &ns);
		}
		dpa_qp_report_now(qp, cq, &cqe[i], 1);
		if (type >= 0)
			raise_injected(qp, type, ns);
	}
}

/*
 * A CQE waits for copies into memory that cannot be addressed. No failure is injected into QP1: it is
 * not the program's.
 */
static void report_all(struct dpa_hw_qp *qp, struct dpa_hw_cq *cq, const struct dpa_cqe *cqe,
		       uint32_t n)
{
	if (dpa_unlikely(qp->slow.foreign) && qp->ops->hold(qp, cq, cqe, n))
		return;
	if (dpa_unlikely(qp->slow.inspected) && !qp->gsi)
		report_injected(qp, cq, cqe, n);
	else
		dpa_qp_report_now(qp, cq, cqe, n);
}

/*
 * The program that receives a message at an XRC target answers by another QP, its initiator. On a
 * wire the ACK travels in front of that answer. Here the ACK enters the ring before the completion
 * becomes visible, and the answer follows it in the same ring (DPA_XRC_LANE).
 */
static void ack_first(struct dpa_hw_qp *qp)
{
	if (dpa_unlikely(qp->transport == DPA_BTH_XRC) && qp->xrcd)
		qp->ops->answer(qp);
}

void dpa_run_flush(struct dpa_run *r)
{
	uint32_t n;

	/* A NAK that ends the QP causes an event, which calls this again and reports everything. */
	if (r->n)
		ack_first(r->qp);
	n = r->n;
	r->n = 0;
	if (n)
		report_all(r->qp, r->cq, r->e, n);
}

void dpa_qp_report(struct dpa_hw_qp *qp, struct dpa_hw_cq *cq, const struct dpa_cqe *cqe)
{
	struct dpa_run *r = dpa_me.run;

	if (!r || r->qp != qp) {
		ack_first(qp);
		report_all(qp, cq, cqe, 1);
		return;
	}
	if (r->n && (r->cq != cq || r->n == DPA_RUN))
		dpa_run_flush(r);
	r->cq = cq;
	r->e[r->n++] = *cqe;
}

void dpa_qp_cqe_lost(struct dpa_hw_qp *qp)
{
	qp->slow.cqe_lost = false;
	if (qp->state == DPA_QPS_ERR || qp->state == DPA_QPS_RESET)
		return;
	dpa_qp_to_error(qp);
	dpa_qp_event(qp, DPA_EVENT_QP_FATAL);
}

void dpa_qp_recv_ends(struct dpa_hw_qp *qp, uint64_t wr_id, uint8_t status, uint32_t syndrome)
{
	struct dpa_cqe e = {.wr_id = wr_id,
			    .qpn = qp->qpn,
			    .user_index = qp->user_index,
			    .vendor_err = syndrome,
			    .opcode = DPA_CQE_RECV,
			    .status = status};

	dpa_count(qp->hw,
		  status == DPA_CQE_WR_FLUSH_ERR ? DPA_CNT_resp_cqe_flush_error
						 : DPA_CNT_resp_cqe_error,
		  1);
	dpa_qp_meter_error(qp, status, syndrome);
	qp->ops->failed(qp, &e);
	dpa_qp_report(qp, qp->recv_cq, &e);
}

static void flush_one(struct dpa_hw_qp *qp, uint64_t wr_id)
{
	dpa_qp_recv_ends(qp, wr_id, DPA_CQE_WR_FLUSH_ERR, DPA_SYN_FLUSHED);
}

void dpa_qp_flush_rq(struct dpa_hw_qp *qp)
{
	const struct dpa_rwqe *r;

	if (qp->resp.have_wqe) {
		qp->resp.have_wqe = false;
		flush_one(qp, qp->resp.wqe.wr_id);
	}
	if (qp->xrcd)
		return; /* it has no queues of its own */
	if (qp->srq) {
		if (!qp->last_wqe_raised) { /* IBA 11.6.3.1: no more receives for this QP */
			qp->last_wqe_raised = true;
			dpa_qp_event(qp, DPA_EVENT_QP_LAST_WQE_REACHED);
		}
		return;
	}
	for (uint32_t n = 0; n <= qp->rq_mask && (r = dpa_rq_head(qp)); n++) {
		flush_one(qp, r->wr_id);
		dpa_rq_take(qp);
	}
}

void dpa_qp_to_error(struct dpa_hw_qp *qp)
{
	if (qp->state == DPA_QPS_ERR)
		return;
	dpa_qp_set_state(qp, DPA_QPS_ERR);
	qp->ops->flush(qp);
	dpa_qp_flush_rq(qp);
	qp->ops->forget(qp);
}
