/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * xrc.c - extended reliable connections (IBA annex A14): domains, SRQs that packets name by number,
 * and QPs that are opened more than once.
 *
 * Domains of files and the numbers of SRQs are on the board (board/xrc.c). A target is in the
 * process that created it; transport/xrc_branch.c lets it take receives of other processes' SRQs.
 * The table of SRQs is read under the lock of any QP and written under hw->ctl. The destruction of
 * an SRQ first removes it from the table. Then it takes every QP's lock once, and releases the QPs
 * that were bound to the SRQ.
 */
#include <errno.h>
#include <stdlib.h>
#include "ctx/hw.h"
#include "ctx/srq.h"
#include "ctx/xrc.h"
#include "ctx/qp.h"
#include "util/clock.h"
#include "tables/tables.h"

struct dpa_hw_xrcd **dpa_xrcd_find(struct dpa_hw *hw, uint32_t num)
{
	struct dpa_hw_xrcd **p = &hw->xrc.domains;

	while (*p && (*p)->num != num)
		p = &(*p)->next;
	return *p ? p : NULL;
}

void dpa_xrcd_free_all(struct dpa_hw *hw)
{
	struct dpa_hw_xrcd *x;

	while ((x = hw->xrc.domains)) {
		hw->xrc.domains = x->next;
		free(x);
	}
}

int dpa_xrcd_use(struct dpa_hw *hw, uint32_t num, int n)
{
	struct dpa_hw_xrcd **p = dpa_xrcd_find(hw, num);

	if (!p)
		return EINVAL;
	(*p)->users += (uint32_t)n;
	return 0;
}

/* ---------------------------------------------------------------- SRQ numbers */

#define SRQ_INDEX (DPA_MAX_SRQ - 1)

int dpa_xrc_srq_add(struct dpa_hw *hw, struct dpa_hw_srq *srq)
{
	int ret = dpa_board_xrc_srq_add(hw->board, srq->xrcd, &srq->srqn);

	if (ret)
		ret = dpa_limit(hw, ret, "all %d XRC SRQs of the adapter instance are in use",
				DPA_MAX_SRQ);
	else
		atomic_store_explicit(&hw->xrc.srqs[srq->srqn & SRQ_INDEX], srq,
				      memory_order_release);
	return ret;
}

/* The QP forgets the SRQ, and the message for which it took a receive. */
static void release_srq(struct dpa_hw_qp *qp, const struct dpa_hw_srq *srq)
{
	dpa_qplock_lock(&qp->lock);
	if (qp->qpn && qp->xrcd && qp->srq == srq) {
		qp->srq = NULL;
		qp->recv_cq = NULL;
		qp->pdn = 0;
		qp->resp.have_wqe = false;
	}
	dpa_qp_leave(qp);
}

void dpa_xrc_srq_remove(struct dpa_hw *hw, struct dpa_hw_srq *srq)
{
	uint32_t n = atomic_load_explicit(&hw->qps.nslab, memory_order_acquire);

	atomic_store_explicit(&hw->xrc.srqs[srq->srqn & SRQ_INDEX], NULL, memory_order_seq_cst);
	dpa_full_fence();
	for (uint32_t i = 0; i < n; i++)
		release_srq(hw->qps.slab[i], srq);
	dpa_board_xrc_srq_remove(hw->board, srq->srqn);
}

void dpa_xrc_srqs_forget(struct dpa_hw_ctx *ctx)
{
	struct dpa_hw *hw = ctx->hw;

	/*
	 * A destroyed SRQ is removed from the table before this lock is taken, and freed after it
	 * is released.
	 */
	pthread_mutex_lock(&hw->ctl);
	for (uint32_t i = 0; hw->num.srq && i < DPA_MAX_SRQ; i++) {
		struct dpa_hw_srq *srq =
			atomic_load_explicit(&hw->xrc.srqs[i], memory_order_acquire);

		if (srq && srq->ctx == ctx)
			dpa_xrc_srq_remove(hw, srq);
	}
	pthread_mutex_unlock(&hw->ctl);
}

/* The connection fails because of it: logs one line each. */
static void log_foreign_srq(const struct dpa_hw_qp *qp, uint32_t srqn)
{
	uint32_t xrcd, slot, gen;

	if (qp->pkt_flags && dpa_board_xrc_srq_owner(qp->hw->board, srqn, &xrcd, &slot, &gen) &&
	    xrcd == qp->xrcd && slot != qp->hw->board->slot)
		dpa_log(qp->hw, DPA_LOG_ERR,
			"QP 0x%06x: SRQ 0x%06x belongs to another process: initiators of other "
			"hosts reach only SRQs of the target's process",
			qp->qpn, srqn);
}

bool dpa_xrc_bind(struct dpa_hw_qp *qp, uint32_t srqn)
{
	struct dpa_hw_srq *srq =
		atomic_load_explicit(&qp->hw->xrc.srqs[srqn & SRQ_INDEX], memory_order_seq_cst);

	if (!srq || srq->srqn != srqn || srq->xrcd != qp->xrcd) {
		log_foreign_srq(qp, srqn);
		return false;
	}
	qp->srq = srq;
	qp->recv_cq = srq->cq;
	qp->pdn = srq->pdn;
	return true;
}

/* -------------------------------------------------------------- shared targets */

bool dpa_qp_opened_by(const struct dpa_hw_qp *qp, const struct dpa_hw_ctx *ctx,
		      uint64_t *user_handle)
{
	const struct dpa_qp_opener *o = qp->xrc.openers;

	*user_handle = qp->user_handle;
	if (qp->ctx == ctx)
		return true;
	while (o && o->ctx != ctx)
		o = o->next;
	if (o)
		*user_handle = o->user_handle;
	return o;
}

/* Reports affiliated events of a shared QP to all that opened it. Context: the QP's lock. */
void dpa_qp_tell_openers(struct dpa_hw_qp *qp, uint32_t type)
{
	for (struct dpa_qp_opener *o = qp->xrc.openers; o; o = o->next) {
		struct dpa_event ev = {.type = type, .port = 1, .user_handle = o->user_handle};

		if (o->ctx->event)
			o->ctx->event(o->ctx->event_arg, &ev);
	}
}

/* ------------------------------------------------ the board record of a target */

/* Access 16 bits, path MTU 3, RNR timer 5, READs and atomics 8. */
static uint32_t how_of(const struct dpa_qp_attr *a)
{
	return (a->access & 0xffff) | (uint32_t)(a->path_mtu & 7) << DPA_HOW_MTU |
	       (uint32_t)(a->min_rnr_timer & 31) << DPA_HOW_RNR |
	       (uint32_t)a->max_dest_rd_atomic << DPA_HOW_RD;
}

_Static_assert(DPA_MAX_RD_ATOMIC < 256, "8 bits");

void dpa_xrc_tell(struct dpa_hw_qp *qp, bool connected)
{
	struct dpa_board_qpinfo *info = qp->info;

	if (!info || !qp->xrcd || qp->xrc.branch)
		return;
	__atomic_store_n(&info->xrcd, qp->xrcd, __ATOMIC_RELAXED);
	__atomic_store_n(&info->how, how_of(&qp->attr), __ATOMIC_RELAXED);
	if (!connected)
		return;
	qp->xrc.turn = 0;
	__atomic_store_n(&info->conn, qp->pkt_flags ? 0 : (uint32_t)dpa_now_ns() | 1,
			 __ATOMIC_RELEASE);
}

/* Call before a published value of a connection changes. */
void dpa_xrc_untell(struct dpa_hw_qp *qp)
{
	if (!qp->info || !qp->xrcd || qp->xrc.branch)
		return;
	__atomic_store_n(&qp->info->conn, 0, __ATOMIC_RELAXED);
	dpa_release_fence();
}
