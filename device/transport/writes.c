/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "ctx/mr.h"
#include "ctx/qp.h"
#include "link/kick.h"
#include "ctx/stage.h"
#include "transport.h"
#include "order/resp_check.h"
#include "writes.h"
#include "direct/share.h"
#include "direct/direct.h"

/* The QP is between two messages and hears this peer. */
static bool is_ready(const struct dpa_hw_qp *qp, const struct dpa_peer *peer)
{
	const struct dpa_resp *r = &qp->resp;

	return qp->type == DPA_QP_RC && qp->transport == DPA_BTH_RC &&
	       (qp->state == DPA_QPS_RTS || (qp->state == DPA_QPS_RTR && qp->comm_est)) &&
	       qp->peer == peer && !qp->kept &&
	       (r->last_op == DPA_RESP_NONE || r->last_op == DPA_RESP_FRESH) && !r->nak_sent &&
	       !r->have_wqe && (!r->ack_owed || (r->ack_syndrome & DPA_AETH_KIND) == DPA_AETH_ACK);
}

bool dpa_writes_begin(struct dpa_writes *w, struct dpa_hw_qp *qp, const struct dpa_peer *peer)
{
	if (!is_ready(qp, peer) || !dpa_puts_begin(&qp->hw->stage, &w->puts))
		return false;
	w->qp = qp;
	w->peer = peer;
	w->bytes = w->ackreq = 0;
	return true;
}

/* IBA C9-88, 9.7.4/key-first */
bool dpa_writes_add(struct dpa_writes *w, const struct dpa_slot *s, const uint8_t *payload)
{
	struct dpa_hw_qp *qp = w->qp;
	const struct dpa_ext *x = (const struct dpa_ext *)s->ext;
	const uint32_t n = w->puts.n, psn = dpa_psn_add(qp->resp.epsn, n);
	uint64_t addr;

	if (s->flags & ~(DPA_PKT_INSLOT | DPA_PKT_ACKREQ) || s->psn != psn ||
	    (qp->dest_qpn & DPA_QPN_INDEX) != s->src || s->len - 1 >= DPA_WRITES_MAX ||
	    s->len > qp->mtu || !dpa_same_mtu(qp->mtu, s) || x->dmalen != s->len ||
	    !(qp->access & DPA_ACCESS_REMOTE_WRITE) ||
	    dpa_mr_check_remote(qp, x->rkey, x->va, s->len, DPA_ACCESS_REMOTE_WRITE, &addr) ||
	    dpa_share_of(qp->hw, x->rkey, addr, s->len) ||
	    !dpa_puts_add(&w->puts, addr, payload, s->len))
		return false;
	w->ackreq |= (uint64_t) !!(s->flags & DPA_PKT_ACKREQ) << n;
	return true;
}

/* IBA 9.7.5/coalesce */
uint32_t dpa_writes_end(struct dpa_writes *w)
{
	struct dpa_resp *r = &w->qp->resp;
	uint32_t n = dpa_puts_end(&w->puts);
	uint64_t asked = w->ackreq & (n < 64 ? (1ull << n) - 1 : ~0ull);

	if (!n)
		return 0;
	if (dpa_unlikely(r->last_op == DPA_RESP_FRESH)) {
		r->last_op = DPA_RESP_NONE;
		dpa_conn_used(w->qp);
	}
	for (uint32_t i = 0; i < n; i++)
		w->bytes += w->puts.len[i];
	if (asked)
		dpa_owe(w->qp, dpa_psn_add(r->epsn, 63u - (uint32_t)__builtin_clzll(asked)),
			DPA_AETH_ACK | DPA_AETH_NO_CREDITS);
	r->epsn = dpa_psn_add(r->epsn, n);
	r->msn = (r->msn + n) & DPA_PSN_MASK;
	r->off = 0;
	return n;
}
