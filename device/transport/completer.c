/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * completer.c - acknowledgements and responses return to the requester (IBA 9.7.5, 9.7.6, 9.7.8).
 */
#include "ctx/schedule.h"
#include "ctx/complete.h"
#include "ctx/cq.h"
#include "transport/xrc_branch.h"
#include "link/kick.h"
#include "transport/api.h"
#include "send/req_state.h"
#include "transport.h"
#include "recv/tag.h"

/* Progress was made: the retry counters start again (IBA 9.7.6.1.4). */
DPA_STEP void note_progress(struct dpa_hw_qp *qp)
{
	qp->req.retry_left = qp->retry_cnt;
	qp->req.rnr_left = qp->rnr_retry;
	qp->req.heard = true;
}

/*
 * The responder has all packets before psn. This is progress, too, also in the middle of a message
 * or behind a READ.
 */
/* IBA 9.7.6 (retries-progress) */
DPA_STEP void note_heard(struct dpa_hw_qp *qp, uint32_t psn)
{
	if (dpa_psn_diff(psn, qp->req.acked_psn) <= 0)
		return;
	qp->req.acked_psn = psn;
	note_progress(qp);
}

static bool una_pending(const struct dpa_hw_qp *qp)
{
	const struct dpa_req *r = &qp->req;

	return dpa_psn_diff(r->max_psn, r->una_psn) > 0;
}

/*
 * All packets up to psn (inclusive) have arrived. READs and atomics are completed by their
 * responses only.
 */
/* IBA 9.7.5 (coalesce), 9.7.5 (no-ack-for-read), 9.7.6 (whole) */
static void ack_advance(struct dpa_hw_qp *qp, uint32_t psn)
{
	struct dpa_req *r = &qp->req;
	bool any = false;

	while (una_pending(qp)) {
		const struct dpa_wqe_ctrl *c = dpa_wqe_ctrl(qp, r->una_idx);
		uint32_t last = dpa_psn_add(r->una_psn, dpa_wqe_psns(qp, c) - 1);

		if (dpa_psn_diff(psn, last) < 0 || dpa_op_answers(c->opcode))
			break;
		dpa_complete(qp, c, DPA_CQE_OK, 0);
		any = true;
		if ((int32_t)(r->una_idx - r->send_idx) > 0) { /* acknowledged after a rewind */
			r->send_idx = r->una_idx;
			r->send_off = 0;
			r->send_psn = r->send_wqe_psn = r->una_psn;
			r->send_ssn = r->una_ssn;
		}
	}
	if (any)
		note_progress(qp);
}

/* IBA 9.7.6 (rnr-retries), 9.7.6 (rnr-separate) */
static void rnr_nak(struct dpa_hw_qp *qp, uint32_t psn, uint8_t code)
{
	struct dpa_req *r = &qp->req;

	if (qp->slow.wait_timer)
		return;
	dpa_count(qp->hw, DPA_CNT_rnr_nak_retry_err, 1);
	dpa_count_add(&qp->meter.rnr, 1);
	if (qp->attr.rnr_retry != 7) {
		if (!r->rnr_left) {
			dpa_req_fail(qp, DPA_CQE_RNR_RETRY_EXC_ERR, DPA_SYN_RNR);
			return;
		}
		r->rnr_left--;
	}
	dpa_rewind(qp, psn);
	dpa_req_wait(qp, dpa_rnr_ns(code), true);
}

/* IBA 9.7.5 (nak-codes), 9.7.6 (retries-nak) */
static void on_nak(struct dpa_hw_qp *qp, uint32_t psn, uint8_t code)
{
	static const struct {
		uint8_t status;
		uint32_t syndrome;
		enum dpa_counter cnt;
	} of[] = {
		[DPA_NAK_INV_REQ] = {DPA_CQE_REM_INV_REQ_ERR, DPA_SYN_NAK_INV_REQ,
				     DPA_CNT_req_remote_invalid_request},
		[DPA_NAK_REM_ACCESS] = {DPA_CQE_REM_ACCESS_ERR, DPA_SYN_NAK_ACCESS,
					DPA_CNT_req_remote_access_errors},
		[DPA_NAK_REM_OP] = {DPA_CQE_REM_OP_ERR, DPA_SYN_NAK_OP, DPA_CNT_req_cqe_error},
	};

	if (code == DPA_NAK_PSN_SEQ) {
		dpa_count(qp->hw, DPA_CNT_packet_seq_err, 1);
		if (!qp->req.retry_left) {
			dpa_req_fail(qp, DPA_CQE_RETRY_EXC_ERR, DPA_SYN_NAK_SEQ);
			return;
		}
		qp->req.retry_left--;
		dpa_loss_nak(qp, psn);
		return;
	}
	if (code > DPA_NAK_REM_OP)
		return;
	dpa_count(qp->hw, of[code].cnt, 1);
	dpa_req_fail(qp, of[code].status, of[code].syndrome);
}

/*
 * IBA 9.7.5.2.2: an acknowledgement or response arrived from behind a response that did not come.
 * Requests the missing one again, once, until there is progress or a timer expires.
 */
/* IBA 9.7.5 (implied-nak) */
static void implied_nak(struct dpa_hw_qp *qp)
{
	struct dpa_req *r = &qp->req;

	if (r->implied || !dpa_lossy(qp))
		return;
	r->implied = true;
	dpa_count(qp->hw, DPA_CNT_implied_nak_seq_err, 1);
	dpa_loss_again(qp);
	dpa_rewind(qp, dpa_psn_add(r->una_psn, r->read_off / qp->mtu));
}

/* IBA 9.7.5 (reserved-codes) */
static void on_ack(struct dpa_hw_qp *qp, uint32_t psn, uint8_t syndrome)
{
	note_heard(qp, (syndrome & DPA_AETH_KIND) == DPA_AETH_ACK ? dpa_psn_add(psn, 1) : psn);
	switch (syndrome & DPA_AETH_KIND) {
	case DPA_AETH_ACK:
		ack_advance(qp, psn);
		if (dpa_unlikely(una_pending(qp)) && dpa_psn_diff(psn, qp->req.una_psn) >= 0 &&
		    dpa_op_answers(dpa_wqe_ctrl(qp, qp->req.una_idx)->opcode))
			implied_nak(qp);
		break;
	case DPA_AETH_RNR:
		ack_advance(qp, dpa_psn_add(psn, DPA_PSN_MASK));
		rnr_nak(qp, psn, syndrome & 0x1f);
		break;
	case DPA_AETH_NAK:
		ack_advance(qp, dpa_psn_add(psn, DPA_PSN_MASK));
		on_nak(qp, psn, syndrome & 0x1f);
		break;
	}
}

/*
 * Returns the READ or atomic that psn answers, which is now at una; NULL: a duplicate or a stray
 * response.
 */
/* IBA 9.7.5 (response-acks), 9.7.6 (response-order) */
static const struct dpa_wqe_ctrl *answered_wqe(struct dpa_hw_qp *qp, uint32_t psn, bool atomic)
{
	struct dpa_req *r = &qp->req;
	const struct dpa_wqe_ctrl *c;
	uint32_t want;

	ack_advance(qp, dpa_psn_add(psn, DPA_PSN_MASK));
	if (!una_pending(qp))
		return NULL;
	c = dpa_wqe_ctrl(qp, r->una_idx);
	want = dpa_psn_add(r->una_psn, r->read_off / qp->mtu);
	if (dpa_psn_diff(psn, want) > 0)
		implied_nak(qp);
	if (!dpa_op_answers(c->opcode) || atomic != dpa_op_is_atomic(c->opcode))
		return NULL;
	return psn == want ? c : NULL;
}

static void finish_rd(struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c)
{
	struct dpa_req *r = &qp->req;

	if (r->rd_out)
		r->rd_out--;
	dpa_complete(qp, c, DPA_CQE_OK, 0);
	if (dpa_psn_diff(r->una_psn, r->acked_psn) > 0)
		/* otherwise READs alone would leave it half the PSN space behind */
		r->acked_psn = r->una_psn;
	if ((int32_t)(r->una_idx - r->send_idx) > 0) {
		r->send_idx = r->una_idx;
		r->send_off = 0; /* a long READ that was being requested again */
		r->send_psn = r->send_wqe_psn = r->una_psn;
		r->send_ssn = r->una_ssn;
	}
	note_progress(qp);
	/* It was acknowledged before this answer came: no other packet repeats this. */
	if (dpa_lossy(qp) && dpa_psn_diff(r->acked_psn, r->una_psn) > 0)
		ack_advance(qp, dpa_psn_add(r->acked_psn, DPA_PSN_MASK));
}

/* IBA 9.4 (read-response), 9.7.6 (late) */
static void read_response(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
			  const uint8_t *payload)
{
	struct dpa_req *r = &qp->req;
	const struct dpa_wqe_ctrl *c = answered_wqe(qp, s->psn, false);
	struct iovec iov[DPA_MAX_SGE];
	uint32_t syn;
	int cnt;

	if (c && dpa_op_says_done(c->opcode)) {
		if (!s->len)
			finish_rd(qp, c);
		return;
	}
	if (!c || s->len > c->length - r->read_off)
		return;
	/* every packet but the last fills the MTU */
	if (!dpa_mtu_fits(qp->mtu, dpa_op_props(s->opcode), s) ||
	    (s->len != c->length - r->read_off && (!s->len || s->len % qp->mtu)))
		return;
	syn = dpa_wqe_iov(qp, r->una_idx, c, r->read_off, s->len, DPA_ACCESS_LOCAL_WRITE, iov,
			  &cnt);
	if (!syn)
		syn = dpa_scatter(qp, peer, s, payload, iov, cnt);
	if (syn == DPA_SYN_PULL_REFUSED || syn == DPA_SYN_PEER_DEAD) {
		/*
		 * Not read, or the responder may no longer give it: request it again. The responder
		 * then sends it by the ring, reports the error, or is found dead.
		 */
		dpa_rewind(qp, s->psn);
		return;
	}
	if (syn == DPA_SYN_LOCAL_FAULT && (s->flags & DPA_PKT_PULL) &&
	    !qp->careful) { /* the memory of the region is gone */
		dpa_req_fail(qp, DPA_CQE_REM_ACCESS_ERR, DPA_SYN_NAK_ACCESS);
		return;
	}
	if (syn) {
		dpa_req_fail(qp, dpa_status_of(syn), syn);
		return;
	}
	if (r->rd_out && r->read_off + s->len < c->length && dpa_read_in_parts(qp, c))
		r->rd_out -=
			(r->read_off + s->len) / DPA_READ_CHUNK != r->read_off / DPA_READ_CHUNK;
	r->read_off += s->len;
	note_progress(qp);
	if (r->read_off == c->length)
		finish_rd(qp, c);
}

static void atomic_response(struct dpa_hw_qp *qp, const struct dpa_slot *s)
{
	const struct dpa_wqe_ctrl *c = answered_wqe(qp, s->psn, true);
	const struct dpa_ext *x = (const struct dpa_ext *)s->ext;
	struct iovec iov[DPA_MAX_SGE];
	uint32_t syn;
	int cnt;

	if (!c)
		return;
	syn = dpa_wqe_iov(qp, qp->req.una_idx, c, 0, 8, DPA_ACCESS_LOCAL_WRITE, iov, &cnt);
	if (syn) {
		dpa_req_fail(qp, dpa_status_of(syn), syn);
		return;
	}
	syn = dpa_scatter(qp, NULL,
			  &(struct dpa_slot){.opcode = s->opcode, .psn = s->psn, .len = 8},
			  (const uint8_t *)&x->orig, iov, cnt);
	if (syn) {
		dpa_req_fail(qp, dpa_status_of(syn), syn);
		return;
	}
	finish_rd(qp, c);
}

/* IBA 9.7.7.2: the limit on SSN, from MSN and credit count. It never decreases. */
/* IBA 9.7.7 (limit) */
static void take_credits(struct dpa_hw_qp *qp, uint32_t msn, uint8_t code)
{
	struct dpa_req *r = &qp->req;
	uint32_t lsn = dpa_psn_add(msn, dpa_credits(code));

	if (code == DPA_AETH_NO_CREDITS) {
		r->credits = false;
		return;
	}
	if (!r->credits || dpa_psn_diff(lsn, r->lsn) > 0)
		r->lsn = lsn;
	r->credits = true;
}

/*
 * A response for a PSN that is not outstanding changes nothing, because an old one may be repeated.
 * But such a NAK, or one for a PSN that was never sent, means that the states of the two ends do
 * not match.
 */
static bool is_stray(const struct dpa_hw_qp *qp, const struct dpa_slot *s)
{
	const struct dpa_ext *x = (const struct dpa_ext *)s->ext;

	return dpa_psn_diff(s->psn, qp->req.max_psn) >= 0 ||
	       ((s->opcode & (uint8_t)~DPA_BTH_TRANSPORT) == DPA_BTH_ACK &&
		(x->syndrome & DPA_AETH_KIND) != DPA_AETH_ACK);
}

/* Progress of the oldest WQE. */
static uint32_t progress_of(const struct dpa_req *r)
{
	return r->una_psn + r->read_off;
}

/* Fences, READ limits and local faults may have waited for the completed WQE. */
DPA_STEP void go_on(struct dpa_hw_qp *qp)
{
	if (dpa_unlikely(qp->req.send_idx !=
			 __atomic_load_n(&qp->dbrec->sq_pi, __ATOMIC_ACQUIRE)) ||
	    dpa_unlikely(qp->state == DPA_QPS_SQD) || dpa_unlikely(qp->slow.ask_due))
		dpa_requester_run(qp);
}

/* Takes an ACK for the oldest WQE alone, if that is a SEND of one packet. */
static inline bool ack_short(struct dpa_hw_qp *qp, const struct dpa_slot *s)
{
	const struct dpa_ext *x = (const struct dpa_ext *)s->ext;
	struct dpa_req *r = &qp->req;
	const struct dpa_wqe_ctrl *c;
	struct dpa_cqe e;
	bool report;

	if (s->flags || (uint8_t)x->syndrome != (DPA_AETH_ACK | DPA_AETH_NO_CREDITS) ||
	    r->credits || dpa_lossy(qp) || s->psn != r->una_psn || r->una_idx == r->send_idx)
		return false;
	c = dpa_wqe_ctrl(qp, r->una_idx);
	if (c->opcode != DPA_OP_SEND || c->nbb != 1 || c->length > qp->mtu)
		return false;
	report = dpa_wqe_reports(qp, c);
	if (report)
		dpa_wqe_cqe(qp, c, DPA_OP_SEND, c->length, DPA_CQE_OK, 0, &e);
	note_heard(qp, dpa_psn_add(s->psn, 1));
	note_progress(qp);
	dpa_wqe_done(qp, 1, 1, report ? &e : NULL);
	go_on(qp);
	return true;
}

void dpa_completer_short(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
			 const uint8_t *payload)
{
	if (!ack_short(qp, s))
		dpa_rx_any(qp, peer, s, payload);
}

/* IBA 9.7.6 (unsent) */
void dpa_completer_rx(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
		      const uint8_t *payload)
{
	const struct dpa_ext *x = (const struct dpa_ext *)s->ext;
	const uint32_t was = progress_of(&qp->req);
	uint16_t p = dpa_op_props(s->opcode);

	if (qp->state != DPA_QPS_RTS && qp->state != DPA_QPS_SQD)
		return;
	/* A PSN that was never sent cannot be acknowledged; an old one is ignored. */
	if (dpa_psn_diff(s->psn, qp->req.max_psn) >= 0 ||
	    dpa_psn_diff(s->psn, qp->req.una_psn) < 0) {
		if (is_stray(qp, s)) {
			dpa_ask(qp);
			dpa_requester_run(qp);
		}
		return;
	}
	if ((p & DPA_OPP_AETH) && (x->syndrome & DPA_AETH_KIND) == DPA_AETH_ACK)
		take_credits(qp, x->msn, (uint8_t)x->syndrome & 0x1f);
	if ((s->opcode & (uint8_t)~DPA_BTH_TRANSPORT) == DPA_BTH_ACK)
		on_ack(qp, s->psn, (uint8_t)x->syndrome);
	else if (p & DPA_OPP_READ)
		read_response(qp, peer, s, payload);
	else
		atomic_response(qp, s);
	if (dpa_unlikely(dpa_lossy(qp)))
		dpa_loss_heard(qp);
	/* Late, but it came: the next post need not wait for the timer. */
	if (dpa_unlikely(qp->slow.wait_timer) && !una_pending(qp))
		qp->slow.wait_timer = false;
	if (dpa_unlikely(progress_of(&qp->req) == was && !qp->slow.wait_timer))
		dpa_ask(qp);
	go_on(qp);
}
