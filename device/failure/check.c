/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * check.c - the values that a failed check compared. They are looked up after the check failed, under the
 * same hold of the QP's lock, so that the checks themselves store nothing. A region that was changed in
 * between gives another reason: then the record has no region.
 */
#include "ctx/hw.h"
#include "ctx/mr.h"
#include "ctx/wqe.h"
#include "failure/failure.h"
#include "link/lane.h"
#include "payload/payload.h"
#include "wire/aeth.h"

static bool is_of_window(const struct dpa_mr *mr)
{
	return mr->kind == DPA_KIND_MW1 || mr->kind == DPA_KIND_MW2;
}

/* The reason why a key does not serve, as dpa_mr_check() and dpa_mr_check_remote() have it. */
static enum dpa_error_why why_of(const struct dpa_hw_qp *qp, const struct dpa_mr *mr, uint32_t has,
				 uint32_t pdn, bool remote, const struct dpa_error_check *c)
{
	uint64_t off;

	if (mr->pdn != pdn)
		return DPA_WHY_OTHER_PD;
	if (remote && mr->kind == DPA_KIND_MW2 && mr->qpn != qp->qpn)
		return DPA_WHY_OTHER_QP;
	if (remote ? mr->kind == DPA_KIND_NULL : is_of_window(mr))
		return DPA_WHY_NOT_LOCAL;
	if (mr->kind != DPA_KIND_NULL && !dpa_mr_holds(mr->iova, mr->length, c->addr, c->len, &off))
		return DPA_WHY_RANGE;
	return c->need & ~has ? DPA_WHY_ACCESS : DPA_WHY_NONE;
}

/* True if this is what the reason of an L_Key or R_Key names. */
static bool agrees_with_syndrome(enum dpa_error_why why, uint32_t syndrome)
{
	switch (syndrome) {
	case DPA_SYN_LKEY_BOUNDS:
	case DPA_SYN_RKEY_BOUNDS:
		return why == DPA_WHY_RANGE;
	case DPA_SYN_LKEY_ACCESS:
	case DPA_SYN_RKEY_ACCESS:
		return why == DPA_WHY_ACCESS;
	case DPA_SYN_BAD_LKEY:
	case DPA_SYN_BAD_RKEY:
		return why >= DPA_WHY_NO_KEY && why <= DPA_WHY_NOT_LOCAL;
	default:
		return why != DPA_WHY_NONE;
	}
}

static void look_up_key(struct dpa_hw_qp *qp, uint32_t pdn, bool remote, uint32_t syndrome,
			struct dpa_error_check *c)
{
	const struct dpa_mr *mr = dpa_mr_of(qp->hw, c->key);
	/* Read once: ibv_rereg_mr() may change it in place meanwhile (cmd/mr.c). */
	const uint32_t has = mr ? __atomic_load_n(&mr->access, __ATOMIC_RELAXED) : 0;
	enum dpa_error_why why = mr ? why_of(qp, mr, has, pdn, remote, c) : DPA_WHY_NO_KEY;

	if (!agrees_with_syndrome(why, syndrome))
		return;
	c->why = (uint8_t)why;
	/* Such a window may be bound meanwhile: this QP's lock does not prevent that. */
	if (!mr || (is_of_window(mr) && why <= DPA_WHY_NOT_LOCAL))
		return;
	c->region_addr = mr->iova;
	c->region_len = mr->length;
	c->has = has;
}

static bool is_lkey(uint32_t syndrome)
{
	return (syndrome >= DPA_SYN_BAD_LKEY && syndrome <= DPA_SYN_LKEY_ACCESS) ||
	       syndrome == DPA_SYN_LOCAL_FAULT;
}

/* True if this SGE is the one that the reason names; it is in *to then. */
static bool is_bad(struct dpa_hw_qp *qp, const struct dpa_sge *g, uint32_t pdn, uint32_t syndrome,
		   struct dpa_error_check *to)
{
	struct dpa_error_check c = {.kind = DPA_CHECK_SGE,
				    .addr = g->addr,
				    .len = g->length,
				    .key = g->lkey,
				    .need = to->need,
				    .sge = to->sge,
				    .nsge = to->nsge};
	const bool alone = syndrome == DPA_SYN_LOCAL_FAULT && to->nsge == 1;

	if (!g->length)
		return false;
	look_up_key(qp, pdn, false, syndrome, &c);
	if (!c.why && !alone)
		return false;
	*to = c;
	return true;
}

static void check_sges(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c,
		       uint32_t syndrome, struct dpa_error_check *to)
{
	const bool result = dpa_op_is_read(c->opcode) || dpa_op_is_atomic(c->opcode);
	const uint32_t pdn = result ? dpa_answer_pdn(qp) : qp->pdn;
	uint32_t at = dpa_wqe_sge_off(qp, c->opcode);

	to->need = result ? DPA_ACCESS_LOCAL_WRITE : 0;
	to->nsge = c->nsge;
	for (uint32_t i = 0; i < c->nsge && i < DPA_MAX_SGE; i++, at += sizeof(struct dpa_sge)) {
		const struct dpa_sge g = *(const struct dpa_sge *)dpa_wqe_at(qp, idx, at);

		to->sge = (uint8_t)i;
		if (is_bad(qp, &g, pdn, syndrome, to))
			return;
	}
	to->sge = 0;
	to->need = 0;
}

static bool has_raddr(uint8_t op)
{
	return op == DPA_OP_RDMA_WRITE || op == DPA_OP_RDMA_WRITE_IMM || dpa_op_answers(op);
}

static void check_request(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c,
			  struct dpa_error_check *to)
{
	const struct dpa_wqe_raddr *r = dpa_wqe_at(qp, idx, dpa_wqe_body(qp));

	to->kind = DPA_CHECK_REQUEST;
	to->addr = r->addr;
	to->key = r->rkey;
	to->len = dpa_op_is_atomic(c->opcode) ? 8 : c->length;
}

static void check_bind_values(struct dpa_hw_qp *qp, uint32_t idx, uint32_t syndrome,
			      struct dpa_error_check *to)
{
	const uint32_t body = dpa_wqe_body(qp);
	const struct dpa_wqe_raddr *r = dpa_wqe_at(qp, idx, body);
	const struct dpa_wqe_bind *b = dpa_wqe_at(qp, idx, body + (uint32_t)sizeof(*r));

	*to = (struct dpa_error_check){.kind = DPA_CHECK_BIND,
				       .addr = r->addr,
				       .len = b->length,
				       .key = b->lkey,
				       .need = DPA_ACCESS_MW_BIND};
	look_up_key(qp, qp->pdn, false, syndrome, to);
}

static void check_retries(const struct dpa_hw_qp *qp, uint32_t syndrome, struct dpa_error_check *to)
{
	const uint64_t ns = dpa_timeout_ns(qp->attr.timeout);

	to->kind = DPA_CHECK_RETRIES;
	to->limit = syndrome == DPA_SYN_RNR ? qp->attr.rnr_retry : qp->attr.retry_cnt;
	to->len = syndrome == DPA_SYN_RNR || ns == UINT64_MAX ? 0 : ns;
}

static void check_wqe_values(const struct dpa_wqe_ctrl *c, struct dpa_error_check *to)
{
	to->kind = DPA_CHECK_WQE;
	to->len = c->length;
	to->nsge = c->nsge;
	to->limit = c->nbb;
}

static uint64_t longest_message(const struct dpa_hw_qp *qp)
{
	return qp->type == DPA_QP_UD || qp->type == DPA_QP_RAW ? 128u << dpa_port_mtu(qp->ctx->port)
							       : DPA_MAX_MSG;
}

void dpa_check_of_send(struct dpa_hw_qp *qp, const struct dpa_cqe *e, const struct dpa_wqe_ctrl *c,
		       struct dpa_error_check *to)
{
	const uint32_t idx = e->wqe_index;

	switch (e->vendor_err) {
	case DPA_SYN_MW_BIND:
		check_bind_values(qp, idx, e->vendor_err, to);
		return;
	case DPA_SYN_INV_RKEY:
		to->kind = DPA_CHECK_KEY;
		to->key = c->imm;
		return;
	case DPA_SYN_MSG_TOO_LONG:
		to->kind = DPA_CHECK_LENGTH;
		to->len = c->length;
		to->limit = longest_message(qp);
		return;
	case DPA_SYN_BAD_WQE:
	case DPA_SYN_BAD_OPCODE:
	case DPA_SYN_RECV_TOO_SMALL:
		check_wqe_values(c, to);
		return;
	case DPA_SYN_NAK_SEQ:
	case DPA_SYN_RNR:
	case DPA_SYN_TIMEOUT:
		check_retries(qp, e->vendor_err, to);
		return;
	case DPA_SYN_NAK_INV_REQ:
	case DPA_SYN_NAK_ACCESS:
	case DPA_SYN_NAK_OP:
		if (has_raddr(c->opcode))
			check_request(qp, idx, c, to);
		else
			check_wqe_values(c, to);
		return;
	default:
		if (is_lkey(e->vendor_err) && !(c->flags & DPA_WQE_INLINE))
			check_sges(qp, idx, c, e->vendor_err, to);
	}
}

static void check_receive_sges(struct dpa_hw_qp *qp, uint32_t syndrome, struct dpa_error_check *to)
{
	const struct dpa_rx_wqe *w = &qp->resp.wqe;

	to->need = DPA_ACCESS_LOCAL_WRITE;
	to->nsge = (uint8_t)w->nsge;
	for (uint32_t i = 0; i < w->nsge && i < DPA_MAX_SGE; i++) {
		to->sge = (uint8_t)i;
		if (is_bad(qp, &w->sge[i], dpa_recv_pdn(qp), syndrome, to))
			return;
	}
	to->sge = 0;
	to->need = 0;
}

static void check_receive_length(const struct dpa_hw_qp *qp, const struct dpa_slot *s,
				 struct dpa_error_check *to)
{
	const struct dpa_rx_wqe *w = &qp->resp.wqe;

	to->kind = DPA_CHECK_LENGTH;
	to->len = s ? qp->resp.off + (uint64_t)s->len : 0;
	for (uint32_t i = 0; i < w->nsge && i < DPA_MAX_SGE; i++)
		to->limit += w->sge[i].length;
}

/* A WRITE with immediate data whose receive ends with the refusal. */
static void check_write(struct dpa_hw_qp *qp, const struct dpa_slot *s, uint32_t syndrome,
			struct dpa_error_check *to)
{
	const struct dpa_ext *x = (const struct dpa_ext *)s->ext;
	const struct dpa_refusal r = {.reason = syndrome,
				      .access = DPA_ACCESS_REMOTE_WRITE,
				      .va = x->va,
				      .len = x->dmalen,
				      .rkey = x->rkey};

	dpa_check_of_refusal(qp, &r, to);
}

void dpa_check_of_receive(struct dpa_hw_qp *qp, const struct dpa_cqe *e, struct dpa_error_check *to)
{
	const struct dpa_slot *s = qp->errors.packet;

	if (qp->resp.wqe.wr_id != e->wr_id || e->qpn != qp->qpn)
		return; /* its WQE is not at hand */
	if (e->vendor_err == DPA_SYN_RECV_TOO_SMALL) {
		check_receive_length(qp, s, to);
	} else if (e->status == DPA_CQE_LOC_ACCESS_ERR && s) {
		check_write(qp, s, e->vendor_err, to);
	} else if (e->vendor_err == DPA_SYN_INV_RKEY && s) {
		to->kind = DPA_CHECK_KEY;
		to->key = ((const struct dpa_ext *)s->ext)->imm;
	} else if (is_lkey(e->vendor_err)) {
		check_receive_sges(qp, e->vendor_err, to);
	}
}

static bool is_rkey(uint32_t reason)
{
	return reason >= DPA_SYN_BAD_RKEY && reason <= DPA_SYN_RKEY_ACCESS;
}

void dpa_check_of_refusal(struct dpa_hw_qp *qp, const struct dpa_refusal *r,
			  struct dpa_error_check *to)
{
	if (r->reason > UINT16_MAX) {
		to->kind = (uint8_t)r->reason;
		to->len = r->len;
		to->limit = qp->attr.max_dest_rd_atomic;
		return;
	}
	*to = (struct dpa_error_check){.kind = DPA_CHECK_REQUEST,
				       .addr = r->va,
				       .len = r->len,
				       .key = r->rkey,
				       .need = r->access};
	if (is_rkey(r->reason))
		look_up_key(qp, qp->pdn, true, r->reason, to);
	if (r->reason == DPA_SYN_MSG_TOO_LONG) {
		to->kind = DPA_CHECK_LENGTH;
		to->limit = DPA_MAX_MSG;
	}
}
