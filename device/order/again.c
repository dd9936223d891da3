/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * again.c - READs, FLUSHes and atomics that were carried out, kept for their duplicates: which
 * requests count as duplicates, and how much work duplicates may cause.
 *
 * A duplicate READ has 60 bytes and may cause a response of gigabytes. A duplicate requests what
 * its PSN was used for, or a rest of it (IBA 9.7.5.1.5), with the same key. Any other request is no
 * duplicate and is dropped. It is not refused, because that would end the connection.
 *
 * The work of READs is counted in response packets. The window is the sum over all remembered
 * requests: a requester can have no more outstanding. Each READ that is carried out adds
 * AGAIN_WINDOWS times its packets to the budget, and each ACK timeout adds one window; the budget
 * is AGAIN_WINDOWS windows at most. A requester without answers gives up after 8 windows (retry_cnt
 * is 7 at most), so it gets all of them even if its timeout is shorter than ours. After losses it
 * requests rests: for a READ of n packets, of which a share p is lost, n * p / 2 times the READ. A
 * link that loses 15 % and reorders 30 % needed more than 16 windows and less than 32.
 */
#include "ctx/hw.h"
#include "ctx/qp.h"
#include "link/lane.h"
#include "order/order.h"
#include "wire/aeth.h"

#define AGAIN_WINDOWS 64
#define AGAIN_TIMEOUT (4096ull << 14) /* longest timeout assumed for a requester, ns */

void dpa_again_remember(struct dpa_hw_qp *qp, const struct dpa_slot *s, uint32_t npkts,
			uint64_t orig)
{
	const struct dpa_ext *x = (const struct dpa_ext *)s->ext;
	struct dpa_resp *r = &qp->resp;
	struct dpa_rd_saved *a = &r->saved[r->nsaved++ % DPA_MAX_RD_ATOMIC];
	bool range = dpa_op_props(s->opcode) & (DPA_OPP_READ | DPA_OPP_FLUSH);

	*a = (struct dpa_rd_saved){.rkey = x->rkey,
				   .len = range ? x->dmalen : 0,
				   .xrcsrq = x->xrcsrq,
				   .psn = s->psn,
				   .npkts = npkts & DPA_PSN_MASK,
				   .opcode = s->opcode};
	if (range)
		a->va = x->va;
	else
		a->orig = orig;
	r->again += (uint64_t)AGAIN_WINDOWS * npkts; /* the cap is applied in dpa_again_allowed() */
}

/* IBA 9.7.5 (read-known) */
const struct dpa_rd_saved *dpa_again_find(const struct dpa_resp *r, const struct dpa_slot *s)
{
	for (uint32_t i = 1; i <= DPA_MAX_RD_ATOMIC; i++) { /* newest first, because PSNs wrap */
		const struct dpa_rd_saved *a = &r->saved[(r->nsaved - i) % DPA_MAX_RD_ATOMIC];

		if (a->opcode == s->opcode && ((s->psn - a->psn) & DPA_PSN_MASK) < a->npkts)
			return a;
	}
	return NULL;
}

/* Returns the number of response packets of all remembered requests. */
static uint64_t saved_packets(const struct dpa_resp *r)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < DPA_MAX_RD_ATOMIC; i++)
		n += r->saved[i].opcode == DPA_LINK_NO_QP ? 0 : r->saved[i].npkts;
	return n;
}

/* True if it is within the requested range and within the PSNs of its response. */
static bool is_within_saved_read(const struct dpa_rd_saved *a, const struct dpa_slot *s,
				 uint32_t npkts)
{
	const struct dpa_ext *x = (const struct dpa_ext *)s->ext;

	if ((s->opcode & DPA_BTH_TRANSPORT) == DPA_BTH_XRC && x->xrcsrq != a->xrcsrq)
		return false;
	return x->rkey == a->rkey && x->va >= a->va && x->va - a->va <= a->len &&
	       x->dmalen <= a->len - (x->va - a->va) &&
	       npkts <= a->npkts - ((s->psn - a->psn) & DPA_PSN_MASK);
}

static bool pay_for_repeat(struct dpa_hw_qp *qp, uint32_t npkts)
{
	struct dpa_resp *r = &qp->resp;
	uint64_t now = dpa_now_ns(), timeout = dpa_timeout_ns(qp->attr.timeout),
		 all = saved_packets(r);
	uint64_t most = AGAIN_WINDOWS * all, waited = now > r->again_at ? now - r->again_at : 0;

	if (timeout > AGAIN_TIMEOUT)
		timeout = AGAIN_TIMEOUT;
	/* In whole timeouts, so that rounding loses nothing, however often this is called. */
	if (waited >= timeout) {
		uint64_t n = waited / timeout;

		r->again += n < AGAIN_WINDOWS ? n * all : most;
		r->again_at = now - waited % timeout;
	}
	if (r->again > most)
		r->again = most;
	if (r->again < npkts)
		return false;
	r->again -= npkts;
	return true;
}

/* IBA 9.7.5 (read-again-checks) */
bool dpa_again_allowed(struct dpa_hw_qp *qp, const struct dpa_rd_saved *a, const struct dpa_slot *s)
{
	const struct dpa_ext *x = (const struct dpa_ext *)s->ext;
	bool read = dpa_op_props(s->opcode) & DPA_OPP_READ;
	uint32_t npkts = read ? dpa_npkts(x->dmalen, qp->mtu) : 1;

	if (!is_within_saved_read(a, s, npkts)) {
		dpa_count(qp->hw, DPA_CNT_duplicate_read_refused, 1);
		return false;
	}
	if (read && !pay_for_repeat(qp, npkts)) {
		dpa_count(qp->hw, DPA_CNT_duplicate_read_limited, 1);
		return false;
	}
	return true;
}
