/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sent.c - send WQEs after they were sent: complete, failed or flushed; or lost, and sent again from
 * an earlier PSN.
 */
#include <errno.h>
#include <dpa_hw_trace.h>
#include "ctx/complete.h"
#include "ctx/cq.h"
#include "ctx/schedule.h"
#include "failure/failure.h"
#include "link/fds.h"
#include "order/order.h"
#include "payload/payload.h"
#include "recv/tag.h"
#include "send/req_state.h"
#include "send/send.h"
#include "send/turn.h"
#include "wire/aeth.h"

uint8_t dpa_status_of(uint32_t syndrome)
{
	switch (syndrome) {
	case DPA_SYN_NONE:
		return DPA_CQE_OK;
	case DPA_SYN_BAD_LKEY:
	case DPA_SYN_LKEY_BOUNDS:
	case DPA_SYN_LKEY_ACCESS:
	case DPA_SYN_LOCAL_FAULT:
		return DPA_CQE_LOC_PROT_ERR;
	case DPA_SYN_MSG_TOO_LONG:
	case DPA_SYN_RECV_TOO_SMALL:
		return DPA_CQE_LOC_LEN_ERR;
	case DPA_SYN_MW_BIND:
	case DPA_SYN_INV_RKEY:
		return DPA_CQE_MW_BIND_ERR;
	case DPA_SYN_FLUSHED:
		return DPA_CQE_WR_FLUSH_ERR;
	case DPA_SYN_NO_FDS:
		return DPA_CQE_GENERAL_ERR;
	default:
		return DPA_CQE_LOC_QP_OP_ERR;
	}
}

bool dpa_read_in_parts(const struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c)
{
	return dpa_lossy(qp) || dpa_target_is_foreign(qp, c->index, c);
}

uint32_t dpa_rd_requests(const struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c, uint32_t from)
{
	if (!dpa_op_answers(c->opcode))
		return 0;
	if (!dpa_op_is_read(c->opcode))
		return 1;
	if (c->length <= from || !dpa_read_in_parts(qp, c))
		return 1;
	return (c->length - 1) / DPA_READ_CHUNK - from / DPA_READ_CHUNK + 1;
}

/* Completes the WQE at una, of any kind, and frees its blocks. `c` must not be read afterwards. */
void dpa_complete(struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c, uint8_t status,
		  uint32_t syndrome)
{
	const bool report = dpa_wqe_reports(qp, c) || status;
	const uint32_t len = dpa_op_is_atomic(c->opcode) ? 8 : c->length;
	struct dpa_cqe e;

	if (report || qp->tag_sq)
		dpa_wqe_cqe(qp, c, c->opcode, len, status, syndrome, &e);
	if (qp->req.credits || qp->pkt_flags)
		qp->req.una_ssn += dpa_wqe_messages(qp, c);
	if (status)
		dpa_count(qp->hw,
			  status == DPA_CQE_WR_FLUSH_ERR ? DPA_CNT_req_cqe_flush_error
							 : DPA_CNT_req_cqe_error,
			  1);
	if (status) {
		dpa_qp_meter_error(qp, status, syndrome);
		dpa_failed(qp, &e, c);
	}
	dpa_wqe_done(qp, c->nbb, dpa_wqe_psns(qp, c), report && !qp->tag_sq ? &e : NULL);
	if (dpa_unlikely(qp->tag_sq))
		dpa_tag_sent(qp, &e);
}

/* IBA 9.9 (flush) */
void dpa_requester_flush(struct dpa_hw_qp *qp)
{
	uint32_t pi;

	if (!qp->dbrec || !qp->sq)
		return;
	pi = __atomic_load_n(&qp->dbrec->sq_pi, __ATOMIC_ACQUIRE);
	/* A corrupt producer index flushes at most as many WQEs as the ring holds. */
	if (pi - qp->req.una_idx > qp->sq_mask + 1)
		pi = qp->req.una_idx + qp->sq_mask + 1;
	while ((int32_t)(pi - qp->req.una_idx) > 0) {
		const struct dpa_wqe_ctrl *c = dpa_wqe_ctrl(qp, qp->req.una_idx);

		if (!c->nbb)
			break;
		dpa_complete(qp, c, DPA_CQE_WR_FLUSH_ERR, DPA_SYN_FLUSHED);
	}
	qp->req.send_idx = qp->req.una_idx;
	qp->req.send_off = 0;
	qp->req.rd_out = 0;
	qp->slow.wait_timer = false;
	qp->req.ack_at = 0;
}

/* IBA 9.9 (sqe) */
void dpa_req_fail(struct dpa_hw_qp *qp, uint8_t status, uint32_t syndrome)
{
	dpa_log(qp->hw, DPA_LOG_INFO, "QP 0x%06x: a request fails while %s", qp->qpn,
		dpa_req_state_name(dpa_req_state(qp)));
	if (syndrome == DPA_SYN_NO_FDS)
		dpa_log(qp->hw, DPA_LOG_ERR,
			"QP 0x%06x: no descriptor for the link to its peer, in this process or in "
			"the peer's: raise ulimit -n",
			qp->qpn);
	dpa_complete(qp, dpa_wqe_ctrl(qp, qp->req.una_idx), status, syndrome);
	if (qp->type == DPA_QP_RC) {
		dpa_qp_to_error(qp);
		return;
	}
	/* IBA 10.3.1: UC and UD QPs go to SQE; receives continue */
	dpa_qp_set_state(qp, DPA_QPS_SQE);
	qp->req.send_idx = qp->req.una_idx;
	qp->req.send_off = 0;
	dpa_requester_flush(qp);
}

void dpa_seek(struct dpa_hw_qp *qp, uint32_t psn)
{
	struct dpa_req *r = &qp->req;
	uint32_t idx = r->una_idx, first = r->una_psn, from = r->read_off, rd = 0;
	uint32_t ssn = r->una_ssn;
	const struct dpa_wqe_ctrl *c;

	if (dpa_psn_diff(psn, r->send_psn) < 0) {
		dpa_count_add(&qp->meter.again, (r->send_psn - psn) & DPA_PSN_MASK);
		if (dpa_trace_is_on())
			dpa_trace_event(DPA_TRACE_REWIND, 0, 0, qp->qpn, psn, r->send_psn, 0);
	}
	while (dpa_psn_diff(psn, first) > 0) {
		uint32_t n;

		c = dpa_wqe_ctrl(qp, idx);
		n = dpa_wqe_psns(qp, c);
		if (dpa_psn_diff(psn, dpa_psn_add(first, n)) < 0)
			break;
		rd += dpa_rd_requests(qp, c, from);
		ssn += dpa_wqe_messages(qp, c);
		from = 0;
		first = dpa_psn_add(first, n);
		idx += c->nbb;
	}
	r->asked = false;
	r->send_idx = idx;
	r->send_wqe_psn = first;
	r->send_psn = psn;
	r->asked_psn = dpa_psn_add(r->una_psn, DPA_PSN_MASK);
	r->send_off = ((psn - first) & DPA_PSN_MASK) * qp->mtu;
	if (r->send_off && dpa_op_is_read(dpa_wqe_ctrl(qp, idx)->opcode)) {
		c = dpa_wqe_ctrl(qp, idx);
		if (r->send_off <= from)
			r->send_off = 0; /* read_off determines where the request starts */
		else
			rd += dpa_rd_requests(qp, c, from) - dpa_rd_requests(qp, c, r->send_off);
	}
	r->rd_out = rd;
	r->send_ssn = ssn;
}

/*
 * Sends again from psn. Never moves forward: a late NAK may name a PSN that an earlier rewind
 * passed already.
 */
/* IBA 9.7.6 (rewind), 9.7.6 (not-forward) */
void dpa_rewind(struct dpa_hw_qp *qp, uint32_t psn)
{
	/*
	 * A retransmission that was not sent may be of a message that has arrived meanwhile: then
	 * nothing is left to do.
	 */
	if (dpa_psn_diff(psn, qp->req.una_psn) < 0)
		psn = qp->req.una_psn;
	if (dpa_psn_diff(psn, qp->req.send_psn) >= 0)
		return;
	qp->req.rtt_xmit_ts = 0; /* a retransmission gives no sample (Karn) */
	dpa_loss_unknown(&qp->req);
	dpa_seek(qp, psn);
}

void dpa_req_wait(struct dpa_hw_qp *qp, uint64_t ns, bool rnr)
{
	qp->slow.wait_timer = true;
	qp->req.timer_is_rnr = rnr;
	qp->req.timer_is_room = false;
	qp->req.timer = dpa_now_ns() + ns;
	dpa_schedule(qp, qp->req.timer);
}

/*
 * The packets that were sent are lost and no answer will show it: only the local ACK timer is left
 * (IBA 9.7.6.1.3).
 */
/* IBA 9.7.6 (retries) */
void dpa_req_lost(struct dpa_hw_qp *qp, uint32_t syndrome)
{
	struct dpa_req *r = &qp->req;
	uint64_t ns = dpa_timeout_ns(qp->attr.timeout);

	if (qp->slow.wait_timer)
		return;
	if (qp->type == DPA_QP_UC) { /* lost for good */
		while (r->una_idx != __atomic_load_n(&qp->dbrec->sq_pi, __ATOMIC_ACQUIRE)) {
			const struct dpa_wqe_ctrl *c = dpa_wqe_ctrl(qp, r->una_idx);

			if (c->index != r->una_idx || !c->nbb) {
				dpa_req_fail(qp, dpa_status_of(DPA_SYN_BAD_WQE), DPA_SYN_BAD_WQE);
				return;
			}
			r->send_psn = dpa_psn_add(r->una_psn, dpa_wqe_psns(qp, c));
			r->send_wqe_psn = r->max_psn = r->send_psn;
			r->send_idx = r->una_idx + c->nbb;
			r->send_off = 0;
			dpa_complete(qp, c, DPA_CQE_OK, 0);
		}
		return;
	}
	dpa_count(qp->hw, DPA_CNT_local_ack_timeout_err, 1);
	if (ns == UINT64_MAX) {
		ns = 100000000ull; /* timeout 0: never gives up, but tries again */
	} else if (!r->retry_left) {
		dpa_req_fail(qp,
			     syndrome == DPA_SYN_NO_FDS ? DPA_CQE_GENERAL_ERR
							: DPA_CQE_RETRY_EXC_ERR,
			     syndrome);
		return;
	} else {
		r->retry_left--;
	}
	dpa_rewind(qp, r->una_psn);
	dpa_turn_again(qp);
	qp->slow.ask_due = true; /* behind the retransmission */
	dpa_req_wait(qp, ns, false);
}

/*
 * No file descriptor for the link to the peer. RC: uses up the retries first, because other threads
 * may close descriptors meanwhile. UC has no retries, and success would be wrong: nothing left this
 * process.
 */
void dpa_no_fds(struct dpa_hw_qp *qp)
{
	if (qp->type == DPA_QP_UC)
		dpa_req_fail(qp, DPA_CQE_GENERAL_ERR, DPA_SYN_NO_FDS);
	else
		dpa_req_lost(qp, DPA_SYN_NO_FDS);
}

void dpa_no_peer(struct dpa_hw_qp *qp)
{
	if (dpa_no_fds_left(errno))
		dpa_no_fds(qp);
	else /* no process has that QPN: what is sent is lost */
		dpa_req_lost(qp, DPA_SYN_TIMEOUT);
}
