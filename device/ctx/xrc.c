/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Extended reliable connections (IBA annex A14): domains, the SRQs that packets name by number, and
 * QPs that are opened more than once.
 *
 * Domains of files and the numbers of SRQs are the board's (board/xrc.c). A target lives in the
 * process that created it; how it takes receives of other processes' SRQs: xrc_branch.c.
 *
 * The table of SRQs is read under the lock of any QP and written under hw->ctl: an SRQ leaves it
 * first, then every QP's lock is taken once, and who was bound to it is let go.
 */
#include <errno.h>
#include <stdlib.h>
#include "ctx/hw.h"
#include "ctx/srq.h"
#include "ctx/xrc.h"
#include "ctx/xrc_branch.h"
#include "wire/opcode.h"

struct dpa_hw_xrcd {
	uint32_t num; /* never 0, the same in all processes */
	uint32_t at;  /* what the board has of it */
	bool named;
	uint64_t dev, ino;
	uint32_t opens, users;
	struct dpa_hw_xrcd *next;
};

static struct dpa_hw_xrcd **find(struct dpa_hw *hw, uint32_t num)
{
	struct dpa_hw_xrcd **p = &hw->xrcds;

	while (*p && (*p)->num != num)
		p = &(*p)->next;
	return *p ? p : NULL;
}

static struct dpa_hw_xrcd *find_named(struct dpa_hw *hw, const struct dpa_xrcd_attr *a)
{
	struct dpa_hw_xrcd *x = hw->xrcds;

	while (x && !(x->named && x->dev == a->dev && x->ino == a->ino))
		x = x->next;
	return x;
}

/* man ibv_open_xrcd */
static int open_xrcd(struct dpa_hw *hw, const struct dpa_xrcd_attr *a, uint32_t *num)
{
	struct dpa_hw_xrcd *x = a->named ? find_named(hw, a) : NULL;
	uint32_t at;
	int ret;

	if (x && a->exclusive)
		return EINVAL;
	if (!x) {
		ret = dpa_board_xrcd_open(hw->board, a, num, &at);
		if (ret && ret != EAGAIN && ret != EINVAL)
			ret = dpa_limit(hw, ret, "all %d XRC domains of the board are in use",
					DPA_BOARD_XRCDS);
		if (ret)
			return ret;
		x = calloc(1, sizeof(*x));
		if (!x) {
			dpa_board_xrcd_close(hw->board, at);
			return ENOMEM;
		}
		*x = (struct dpa_hw_xrcd){.num = *num,
					  .at = at,
					  .named = a->named,
					  .dev = a->dev,
					  .ino = a->ino,
					  .next = hw->xrcds};
		hw->xrcds = x;
	}
	x->opens++;
	*num = x->num;
	return 0;
}

int dpa_hw_open_xrcd(struct dpa_hw_ctx *ctx, const struct dpa_xrcd_attr *attr, uint32_t *num)
{
	int ret;

	pthread_mutex_lock(&ctx->hw->ctl);
	ret = open_xrcd(ctx->hw, attr, num);
	pthread_mutex_unlock(&ctx->hw->ctl);
	return ret;
}

int dpa_hw_close_xrcd(struct dpa_hw_ctx *ctx, uint32_t num)
{
	struct dpa_hw *hw = ctx->hw;
	struct dpa_hw_xrcd **p, *x;
	int ret = 0;

	pthread_mutex_lock(&hw->ctl);
	p = find(hw, num);
	x = p ? *p : NULL;
	if (!x) {
		ret = EINVAL;
	} else if (x->opens == 1 && x->users) {
		ret = EBUSY;
	} else if (!--x->opens) {
		*p = x->next;
		dpa_branches_end(hw, num);
		dpa_board_xrcd_close(hw->board, x->at);
		free(x);
	}
	pthread_mutex_unlock(&hw->ctl);
	return ret;
}

void dpa_xrcd_free_all(struct dpa_hw *hw)
{
	struct dpa_hw_xrcd *x;

	while ((x = hw->xrcds)) {
		hw->xrcds = x->next;
		free(x);
	}
}

int dpa_xrcd_use(struct dpa_hw *hw, uint32_t num, int n)
{
	struct dpa_hw_xrcd **p = find(hw, num);

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
		ret = dpa_limit(hw, ret, "all %d XRC SRQs of the board are in use", DPA_MAX_SRQ);
	else
		atomic_store_explicit(&hw->xrc_srqs[srq->srqn & SRQ_INDEX], srq,
				      memory_order_release);
	return ret;
}

/* The QP forgets the SRQ, and the message that it was taking a receive for. */
static void let_go(struct dpa_hw_qp *qp, const struct dpa_hw_srq *srq)
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
	uint32_t n = atomic_load_explicit(&hw->nslab, memory_order_acquire);

	atomic_store_explicit(&hw->xrc_srqs[srq->srqn & SRQ_INDEX], NULL, memory_order_seq_cst);
	dpa_full_fence();
	for (uint32_t i = 0; i < n; i++)
		let_go(hw->slab[i], srq);
	dpa_board_xrc_srq_remove(hw->board, srq->srqn);
}

void dpa_xrc_srqs_forget(struct dpa_hw_ctx *ctx)
{
	struct dpa_hw *hw = ctx->hw;

	/* a destroyed SRQ leaves the table before it takes this lock, and is freed behind it */
	pthread_mutex_lock(&hw->ctl);
	for (uint32_t i = 0; hw->nsrq && i < DPA_MAX_SRQ; i++) {
		struct dpa_hw_srq *srq =
			atomic_load_explicit(&hw->xrc_srqs[i], memory_order_acquire);

		if (srq && srq->ctx == ctx)
			dpa_xrc_srq_remove(hw, srq);
	}
	pthread_mutex_unlock(&hw->ctl);
}

/* The connection ends with it: one line each. */
static void say_elsewhere(const struct dpa_hw_qp *qp, uint32_t srqn)
{
	uint32_t xrcd, slot, gen;

	if (qp->pkt_flags && dpa_board_xrc_srq_owner(qp->hw->board, srqn, &xrcd, &slot, &gen) &&
	    xrcd == qp->xrcd && slot != qp->hw->board->slot)
		dpa_log(qp->hw, DPA_LOG_ERR,
			"QP 0x%06x: SRQ 0x%06x is another process's: initiators of other hosts "
			"reach only those of the target's",
			qp->qpn, srqn);
}

bool dpa_xrc_bind(struct dpa_hw_qp *qp, uint32_t srqn)
{
	struct dpa_hw_srq *srq =
		atomic_load_explicit(&qp->hw->xrc_srqs[srqn & SRQ_INDEX], memory_order_seq_cst);

	if (!srq || srq->srqn != srqn || srq->xrcd != qp->xrcd) {
		say_elsewhere(qp, srqn);
		return false;
	}
	qp->srq = srq;
	qp->recv_cq = srq->cq;
	qp->pdn = srq->pdn;
	return true;
}

/* -------------------------------------------------------------- shared targets */

struct dpa_qp_opener {
	struct dpa_hw_ctx *ctx;
	uint64_t user_handle;
	struct dpa_qp_opener *next;
};

/* Under hw->ctl. A QP of this process, or a branch of another one's, which its openers hold. */
static int find_target(struct dpa_hw_ctx *ctx, uint32_t xrcd, uint32_t qpn, struct dpa_hw_qp **qp)
{
	struct dpa_hw *hw = ctx->hw;
	int ret;

	*qp = atomic_load_explicit(&hw->qp_tab[qpn & DPA_QPN_INDEX], memory_order_acquire);
	if (*qp && (*qp)->qpn == qpn && !(*qp)->branch)
		return (*qp)->xrcd && (*qp)->xrcd == xrcd ? 0 : EINVAL;
	ret = dpa_branch_get(ctx, xrcd, qpn, qp);
	if (!ret)
		dpa_xrcd_use(hw, xrcd, 1);
	return ret;
}

int dpa_hw_open_qp(struct dpa_hw_ctx *ctx, uint32_t xrcd, uint32_t qpn, uint64_t user_handle,
		   struct dpa_hw_qp **out, struct dpa_qp_info *info)
{
	struct dpa_hw *hw = ctx->hw;
	struct dpa_qp_opener *o = calloc(1, sizeof(*o));
	struct dpa_hw_qp *qp;
	int ret;

	if (!o)
		return ENOMEM;
	pthread_mutex_lock(&hw->ctl);
	ret = find_target(ctx, xrcd, qpn, &qp);
	if (!ret) {
		*o = (struct dpa_qp_opener){.ctx = ctx, .user_handle = user_handle};
		dpa_qplock_lock(&qp->lock);
		o->next = qp->openers;
		qp->openers = o;
		dpa_qp_leave(qp);
		*out = qp;
		*info = (struct dpa_qp_info){.qpn = qpn,
					     .uar_page = qp->uar_page,
					     .uar_slot = qp->uar_slot,
					     .slot = qp->slot,
					     .placement = (const uint32_t *)&qp->placement};
	}
	pthread_mutex_unlock(&hw->ctl);
	if (ret)
		free(o);
	return ret;
}

/* Under hw->ctl. The first opener stands in for the creator when that one goes. */
static struct dpa_qp_opener *drop_opener(struct dpa_hw_qp *qp, uint64_t user_handle)
{
	struct dpa_qp_opener *o, **p = &qp->openers;

	dpa_qplock_lock(&qp->lock);
	if (qp->user_handle == user_handle) {
		o = qp->openers;
		qp->ctx = o->ctx;
		qp->user_handle = o->user_handle;
	} else {
		while (*p && (*p)->user_handle != user_handle)
			p = &(*p)->next;
		o = *p;
	}
	if (o)
		*p = o->next;
	dpa_qp_leave(qp);
	return o;
}

int dpa_hw_close_qp(struct dpa_hw_qp *qp, uint64_t user_handle)
{
	struct dpa_hw *hw = qp->hw;
	bool done;

	pthread_mutex_lock(&hw->ctl);
	done = qp->openers || qp->branch;
	if (qp->branch && user_handle)
		dpa_xrcd_use(hw, qp->xrcd, -1);
	if (qp->openers)
		free(drop_opener(qp, user_handle));
	else if (qp->branch)
		dpa_branch_free(qp);
	pthread_mutex_unlock(&hw->ctl);
	return done ? 0 : dpa_hw_destroy_qp(qp);
}

bool dpa_qp_opened_by(const struct dpa_hw_qp *qp, const struct dpa_hw_ctx *ctx,
		      uint64_t *user_handle)
{
	const struct dpa_qp_opener *o = qp->openers;

	*user_handle = qp->user_handle;
	if (qp->ctx == ctx)
		return true;
	while (o && o->ctx != ctx)
		o = o->next;
	if (o)
		*user_handle = o->user_handle;
	return o;
}

/* Affiliated events of a shared QP go to all that opened it. Under the QP's lock. */
void dpa_qp_tell_openers(struct dpa_hw_qp *qp, uint32_t type)
{
	for (struct dpa_qp_opener *o = qp->openers; o; o = o->next) {
		struct dpa_event ev = {.type = type, .port = 1, .user_handle = o->user_handle};

		if (o->ctx->event)
			o->ctx->event(o->ctx->event_arg, &ev);
	}
}
