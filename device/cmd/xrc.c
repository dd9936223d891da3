/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* xrc.c - opens and closes XRC domains, and QPs that are opened more than once. */
#include <errno.h>
#include <stdlib.h>
#include "ctx/hw.h"
#include "ctx/qp.h"
#include "ctx/xrc.h"
#include "transport/xrc_branch.h"
#include "tables/tables.h"

static struct dpa_hw_xrcd *find_named(struct dpa_hw *hw, const struct dpa_xrcd_attr *a)
{
	struct dpa_hw_xrcd *x = hw->xrc.domains;

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
			ret = dpa_limit(hw, ret,
					"all %d XRC domains of the adapter instance are in use",
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
					  .next = hw->xrc.domains};
		hw->xrc.domains = x;
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
	p = dpa_xrcd_find(hw, num);
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

/*
 * Finds a QP of this process, or a replica of another process's QP, which its openers hold.
 * Context: hw->ctl.
 */
static int find_target(struct dpa_hw_ctx *ctx, uint32_t xrcd, uint32_t qpn, struct dpa_hw_qp **qp)
{
	struct dpa_hw *hw = ctx->hw;
	int ret;

	*qp = atomic_load_explicit(&hw->qps.tab[qpn & DPA_QPN_INDEX], memory_order_acquire);
	if (*qp && (*qp)->qpn == qpn && !(*qp)->xrc.branch)
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
		o->next = qp->xrc.openers;
		qp->xrc.openers = o;
		dpa_qp_leave(qp);
		*out = qp;
		*info = (struct dpa_qp_info){.qpn = qpn,
					     .uar_page = qp->uar.page,
					     .uar_slot = qp->uar.slot,
					     .slot = qp->slot,
					     .placement = (const uint32_t *)&qp->placement};
	}
	pthread_mutex_unlock(&hw->ctl);
	if (ret)
		free(o);
	return ret;
}

/* Removes an opener. If the creator leaves, the first opener takes its place. Context: hw->ctl. */
static struct dpa_qp_opener *drop_opener(struct dpa_hw_qp *qp, uint64_t user_handle)
{
	struct dpa_qp_opener *o, **p = &qp->xrc.openers;

	dpa_qplock_lock(&qp->lock);
	if (qp->user_handle == user_handle) {
		o = qp->xrc.openers;
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
	done = qp->xrc.openers || qp->xrc.branch;
	if (qp->xrc.branch && user_handle)
		dpa_xrcd_use(hw, qp->xrcd, -1);
	if (qp->xrc.openers)
		free(drop_opener(qp, user_handle));
	else if (qp->xrc.branch)
		dpa_branch_free(qp);
	pthread_mutex_unlock(&hw->ctl);
	return done ? 0 : dpa_hw_destroy_qp(qp);
}
