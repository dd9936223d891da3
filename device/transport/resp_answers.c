/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * resp_answers.c - requests with a response of their own: READs, FLUSHes, atomics and ATOMIC
 * WRITEs, and their duplicates. answers.c sends the responses.
 */
#include <errno.h>
#include "ctx/copy.h"
#include "failure/failure.h"
#include "foreign/foreign.h"
#include "ctx/mr.h"
#include "ctx/qp.h"
#include "ctx/xrc.h"
#include "direct/share.h"
#include "order/resp_check.h"
#include "transport.h"

uint32_t dpa_of_rkey(uint32_t syn)
{
	return syn >= DPA_SYN_BAD_LKEY && syn <= DPA_SYN_LKEY_ACCESS
		       ? syn - DPA_SYN_BAD_LKEY + DPA_SYN_BAD_RKEY
		       : syn;
}

/* The rights that a request needs of its region. */
static uint32_t request_access_of(uint16_t p, const struct dpa_slot *s)
{
	if (p & DPA_OPP_FLUSH)
		return dpa_flush_access(((const struct dpa_ext *)s->ext)->feth);
	return p & DPA_OPP_READ	    ? DPA_ACCESS_REMOTE_READ
	       : p & DPA_OPP_ATOMIC ? DPA_ACCESS_REMOTE_ATOMIC
				    : DPA_ACCESS_REMOTE_WRITE;
}

/* The address of a message is in its first packet, the responder has it for those behind. */
static void record_denied(struct dpa_hw_qp *qp, const struct dpa_slot *s, uint8_t code,
			  uint32_t reason)
{
	const uint16_t p = dpa_op_props(s->opcode);
	const struct dpa_ext *x = (const struct dpa_ext *)s->ext;
	const bool atomic = p & (DPA_OPP_ATOMIC | DPA_OPP_AWRITE), first = p & DPA_OPP_RETH;
	struct dpa_refusal r = {.psn = s->psn,
				.opcode = s->opcode,
				.nak = code,
				.reason = dpa_of_rkey(reason),
				.access = request_access_of(p, s),
				.va = first || atomic ? x->va : qp->resp.wr_va,
				.len = atomic  ? 8
				       : first ? x->dmalen
					       : qp->resp.wr_len,
				.rkey = first || atomic ? x->rkey : qp->resp.wr_rkey};

	if (p & DPA_OPP_SEND)
		r = (struct dpa_refusal){.psn = s->psn,
					 .opcode = s->opcode,
					 .nak = code,
					 .reason = r.reason,
					 .len = s->len};
	dpa_refused(qp, &r);
}

void dpa_deny(struct dpa_hw_qp *qp, const struct dpa_slot *s, uint8_t code, uint32_t reason)
{
	record_denied(qp, s, code, reason);
	dpa_count(qp->hw, DPA_CNT_resp_remote_access_errors, code == DPA_NAK_REM_ACCESS);
	qp->resp.last_op = DPA_RESP_NONE;
	if (qp->type == DPA_QP_RC)
		dpa_owe(qp, s->psn, DPA_AETH_NAK | code);
}

/* IBA C9-88, 9.7.4 (key-first) */
uint32_t dpa_check_remote(struct dpa_hw_qp *qp, const struct dpa_slot *s, uint32_t access)
{
	const struct dpa_ext *x = (const struct dpa_ext *)s->ext;
	uint64_t addr;
	uint32_t syn;

	if (!x->dmalen)
		return 0;
	syn = dpa_mr_check_remote(qp, x->rkey, x->va, x->dmalen, access, &addr);
	/* The rights are there. Pages that fault on request do so when they are accessed. */
	return dpa_unlikely(syn == DPA_SYN_LOCAL_FAULT) ? 0 : syn;
}

/*
 * Duplicates do not count against the requester's limit of outstanding requests, and do not use its
 * entries.
 */
/* IBA 9.7.4 (read-depth) */
static struct dpa_rd_resource *rd_new(struct dpa_hw_qp *qp, const struct dpa_slot *s, bool again)
{
	uint32_t n = 0, max = again ? DPA_MAX_RD_ATOMIC : qp->attr.max_dest_rd_atomic;
	struct dpa_resp *r = &qp->resp;
	struct dpa_rd_resource *rd;

	for (uint32_t i = r->rd_tail; i != r->rd_head; i++)
		n += r->rd[i % DPA_RD_OWED].again == again;
	if (n >= max) {
		if (again)
			dpa_ask_hint(qp, s);
		return NULL;
	}
	rd = &r->rd[r->rd_head++ % DPA_RD_OWED];
	memset(rd, 0, sizeof(*rd));
	rd->again = again;
	rd->opcode = s->opcode;
	rd->psn = s->psn;
	rd->npkts = 1;
	rd->pdn = qp->pdn;
	return rd;
}

/* More than 2^31 bytes is an invalid request. 0 bytes need no key. */
/* IBA C9-88, C9-94, C9-148 */
void dpa_on_read(struct dpa_hw_qp *qp, const struct dpa_slot *s, bool again)
{
	const struct dpa_ext *x = (const struct dpa_ext *)s->ext;
	struct dpa_resp *r = &qp->resp;
	struct dpa_rd_resource *rd;
	uint32_t syn;

	if (x->dmalen > DPA_MAX_MSG) {
		dpa_deny(qp, s, DPA_NAK_INV_REQ, DPA_SYN_MSG_TOO_LONG);
		return;
	}
	syn = dpa_check_remote(qp, s, DPA_ACCESS_REMOTE_READ);
	if (syn) {
		dpa_deny(qp, s, DPA_NAK_REM_ACCESS, syn);
		return;
	}
	rd = rd_new(qp, s, again);
	if (!rd) {
		if (!again) /* a duplicate is requested again if its answer is missing */
			dpa_deny(qp, s, DPA_NAK_INV_REQ, DPA_REFUSED(DPA_CHECK_DEPTH));
		return;
	}
	rd->va = x->va;
	rd->rkey = x->rkey;
	rd->len = x->dmalen;
	rd->npkts = dpa_npkts(rd->len, qp->mtu);
	dpa_count(qp->hw, DPA_CNT_rx_read_requests, 1);
	if (!again) {
		dpa_again_remember(qp, s, rd->npkts, 0);
		r->epsn = dpa_psn_add(r->epsn, rd->npkts);
		r->msn = (r->msn + 1) & DPA_PSN_MASK;
	}
}

/*
 * Serialises the atomics of this function: IBV_ATOMIC_HCA. If peers have the memory mapped they use
 * the processor's atomics (direct/direct.h), and so does this.
 */
/* IBA 9.4 (atomic-one), 9.9 (memory) */
static int do_host_atomic(struct dpa_hw_qp *qp, const struct dpa_slot *s, uint64_t addr,
			  uint64_t *orig)
{
	const struct dpa_ext *x = (const struct dpa_ext *)s->ext;
	uint8_t op = s->opcode & (uint8_t)~DPA_BTH_TRANSPORT;
	uint64_t v, *word = dpa_share_word(qp->hw, addr);
	int ret;

	if (word && op == DPA_BTH_FETCH_ADD) {
		*orig = __atomic_fetch_add(word, x->swap_add, __ATOMIC_SEQ_CST);
		return 0;
	}
	if (word) {
		*orig = x->compare;
		__atomic_compare_exchange_n(word, orig, x->swap_add, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST);
		return 0;
	}
	dpa_spin_lock(&qp->hw->atomic_lock);
	ret = dpa_copy_in(qp->hw, orig, addr, 8);
	v = *orig + x->swap_add;
	if (op == DPA_BTH_COMPARE_SWAP)
		v = x->swap_add;
	if (!ret && (op == DPA_BTH_FETCH_ADD || *orig == x->compare))
		ret = dpa_copy_out(qp->hw, addr, &v, 8);
	dpa_spin_unlock(&qp->hw->atomic_lock);
	return ret;
}

/*
 * Begins an atomic in memory that cannot be addressed. Its response, rd, waits; it is the last
 * pending one.
 */
static int begin_atomic(struct dpa_hw_qp *qp, const struct dpa_slot *s, struct dpa_foreign *f,
			uint64_t addr)
{
	const struct dpa_ext *x = (const struct dpa_ext *)s->ext;
	struct dpa_resp *r = &qp->resp;
	const struct dpa_fatomic a = {
		.addr = addr,
		.swap_add = x->swap_add,
		.compare = x->compare,
		.psn = s->psn,
		.rd = (r->rd_head - 1) % DPA_RD_OWED,
		.saved = r->nsaved % DPA_MAX_RD_ATOMIC, /* the next result slot */
		.swaps = (s->opcode & (uint8_t)~DPA_BTH_TRANSPORT) == DPA_BTH_COMPARE_SWAP};

	return dpa_foreign_atomic(qp, f, &a) ? EFAULT : 0;
}

/* IBA 9.4 (atomic-aligned), 9.7.5 (atomic-saved) */
void dpa_on_atomic(struct dpa_hw_qp *qp, const struct dpa_slot *s)
{
	const struct dpa_ext *x = (const struct dpa_ext *)s->ext;
	struct dpa_resp *r = &qp->resp;
	struct dpa_rd_resource *rd;
	struct dpa_foreign *f;
	uint64_t addr, orig = 0;
	uint32_t syn;

	if (x->va & 7) { /* naturally aligned */
		dpa_deny(qp, s, DPA_NAK_INV_REQ, DPA_SYN_UNALIGNED);
		return;
	}
	syn = dpa_mr_check_remote(qp, x->rkey, x->va, 8, DPA_ACCESS_REMOTE_ATOMIC, &addr);
	if (syn) {
		dpa_deny(qp, s, DPA_NAK_REM_ACCESS, syn);
		return;
	}
	rd = rd_new(qp, s, false);
	if (!rd) {
		dpa_deny(qp, s, DPA_NAK_INV_REQ, DPA_REFUSED(DPA_CHECK_DEPTH));
		return;
	}
	f = dpa_foreign_of(qp->hw, x->rkey);
	if (dpa_unlikely(f != NULL) ? begin_atomic(qp, s, f, addr)
				    : do_host_atomic(qp, s, addr, &orig)) {
		r->rd_head--;
		dpa_deny(qp, s, DPA_NAK_REM_ACCESS, DPA_SYN_LOCAL_FAULT);
		return;
	}
	rd->orig = orig;
	dpa_again_remember(qp, s, 1, orig);
	dpa_count(qp->hw, DPA_CNT_rx_atomic_requests, 1);
	r->epsn = dpa_psn_add(r->epsn, 1);
	r->msn = (r->msn + 1) & DPA_PSN_MASK;
}

static uint32_t put_atomic_word(struct dpa_hw_qp *qp, struct dpa_peer *peer,
				const struct dpa_slot *s, const uint8_t *payload, uint64_t addr)
{
	const bool plain = !dpa_foreign_of(qp->hw, ((const struct dpa_ext *)s->ext)->rkey);
	uint64_t v, *word = plain ? dpa_share_word(qp->hw, addr) : NULL;
	uint32_t syn;

	if (word && s->len == sizeof(v)) {
		syn = dpa_peek(peer, s, payload, &v, sizeof(v));
		if (!syn)
			__atomic_store_n(word, v, __ATOMIC_SEQ_CST);
		return syn;
	}
	dpa_spin_lock(&qp->hw->atomic_lock);
	syn = dpa_place(qp, peer, s, payload, addr, ((const struct dpa_ext *)s->ext)->rkey);
	dpa_spin_unlock(&qp->hw->atomic_lock);
	return syn;
}

/*
 * Annex A19: writes 8 bytes at once, in order with READs and atomics. The response is like theirs:
 * an empty READ response. A duplicate is only answered.
 */
/* IBA oA19-28, 9.4 (atomic-write) */
void dpa_on_atomic_write(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
			 const uint8_t *payload)
{
	const struct dpa_ext *x = (const struct dpa_ext *)s->ext;
	struct dpa_resp *r = &qp->resp;
	uint64_t addr;
	uint32_t syn;

	if (x->va & 7) {
		dpa_deny(qp, s, DPA_NAK_INV_REQ, DPA_SYN_UNALIGNED);
		return;
	}
	syn = dpa_mr_check_remote(qp, x->rkey, x->va, 8, DPA_ACCESS_REMOTE_WRITE, &addr);
	if (syn) {
		dpa_deny(qp, s, DPA_NAK_REM_ACCESS, syn);
		return;
	}
	if (!rd_new(qp, s, false)) {
		dpa_deny(qp, s, DPA_NAK_INV_REQ, DPA_REFUSED(DPA_CHECK_DEPTH));
		return;
	}
	syn = put_atomic_word(qp, peer, s, payload, addr);
	if (syn) {
		r->rd_head--;
		dpa_deny(qp, s, DPA_NAK_REM_ACCESS, syn);
		return;
	}
	dpa_again_remember(qp, s, 1, 0);
	dpa_count(qp->hw, DPA_CNT_rx_atomic_requests, 1);
	r->epsn = dpa_psn_add(r->epsn, 1);
	r->msn = (r->msn + 1) & DPA_PSN_MASK;
}

/*
 * Annex A19: earlier writes are visible to all when the answer, an empty READ response, leaves. All
 * of them were stored by threads of this host under this QP's lock. A duplicate is carried out
 * again.
 */
/* IBA 9.4 (flush) */
void dpa_on_flush(struct dpa_hw_qp *qp, const struct dpa_slot *s, bool again)
{
	const struct dpa_ext *x = (const struct dpa_ext *)s->ext;
	uint32_t access = dpa_flush_access(x->feth);
	struct dpa_resp *r = &qp->resp;
	uint32_t syn;

	if (x->feth & DPA_FLUSH_MR)
		syn = dpa_mr_check_key(qp, x->rkey, access);
	else
		syn = dpa_check_remote(qp, s, access);
	if (syn) {
		dpa_deny(qp, s, DPA_NAK_REM_ACCESS, syn);
		return;
	}
	if (!rd_new(qp, s, again)) {
		if (!again)
			dpa_deny(qp, s, DPA_NAK_INV_REQ, DPA_REFUSED(DPA_CHECK_DEPTH));
		return;
	}
	dpa_full_fence();
	if (!again) {
		dpa_again_remember(qp, s, 1, 0);
		r->epsn = dpa_psn_add(r->epsn, 1);
		r->msn = (r->msn + 1) & DPA_PSN_MASK;
	}
}

/* IBA 9.7.5.1.5: the saved result. */
/* IBA 9.7.5 (atomic-replay) */
static void replay_atomic(struct dpa_hw_qp *qp, const struct dpa_slot *s,
			  const struct dpa_rd_saved *saved)
{
	struct dpa_rd_resource *rd = rd_new(qp, s, true);

	if (rd)
		rd->orig = saved->orig;
}

static void run_again(struct dpa_hw_qp *qp, const struct dpa_slot *s)
{
	if (dpa_op_props(s->opcode) & DPA_OPP_READ)
		dpa_on_read(qp, s, true);
	else
		dpa_on_flush(qp, s, true);
}

/* A target may be bound to another SRQ meanwhile, perhaps in the middle of a message. */
static void carry_out_again(struct dpa_hw_qp *qp, const struct dpa_slot *s)
{
	struct dpa_hw_srq *srq = qp->srq;
	struct dpa_hw_cq *cq = qp->recv_cq;
	uint32_t pdn = qp->pdn;

	if (!qp->xrcd) {
		run_again(qp, s);
		return;
	}
	if (dpa_xrc_bind(qp, ((const struct dpa_ext *)s->ext)->xrcsrq))
		run_again(qp, s);
	else
		dpa_deny(qp, s, DPA_NAK_INV_REQ, DPA_REFUSED(DPA_CHECK_SRQ));
	qp->srq = srq;
	qp->recv_cq = cq;
	qp->pdn = pdn;
}

/*
 * A duplicate is answered with the last good PSN. READs run again, atomics replay. A duplicate READ
 * or atomic that is unknown, because it is too old or never existed, or that requests more, is
 * dropped. Its rights are not checked: it may come from an attacker that guesses PSNs, and a
 * refusal would end the connection.
 */
/* IBA C9-105, 9.7.5 (read-again), 9.7.5 (read-again-checks), 9.7.5 (read-known) */
void dpa_on_duplicate(struct dpa_hw_qp *qp, const struct dpa_slot *s, uint16_t p)
{
	const uint16_t reads = DPA_OPP_READ | DPA_OPP_FLUSH,
		       words = DPA_OPP_ATOMIC | DPA_OPP_AWRITE;
	struct dpa_resp *r = &qp->resp;
	const struct dpa_rd_saved *saved;

	if (dpa_foreign_held(qp)) { /* the result of an atomic may not be known yet */
		dpa_ask_hint(qp, s);
		return;
	}
	dpa_count(qp->hw, DPA_CNT_duplicate_request, 1);
	if (qp->type != DPA_QP_RC)
		return;
	if (!(p & (reads | words))) {
		dpa_owe(qp, dpa_psn_add(r->epsn, DPA_PSN_MASK), DPA_AETH_ACK | DPA_AETH_NO_CREDITS);
		return;
	}
	saved = dpa_again_find(r, s);
	if (!saved || (p & reads && !dpa_again_allowed(qp, saved, s))) {
		dpa_ask_hint(qp, s);
		return;
	}
	if (p & words)
		replay_atomic(qp, s, saved);
	else if (dpa_resp_allows(qp->attr.access, p, s)) /* its rights are checked again */
		carry_out_again(qp, s);
	else
		dpa_deny(qp, s, DPA_NAK_INV_REQ, DPA_SYN_QP_ACCESS);
}
