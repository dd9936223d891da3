/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Extended reliable connections (IBA annex A14): domains, the SRQs that packets name by number, and
 * QPs that are opened more than once.
 *
 * A domain is the function's: processes that open one by the same file have one each, as what one
 * process asks of another is a packet to a QP of its own.
 *
 * The table of SRQs is read under the lock of any QP and written under hw->ctl: an SRQ leaves it
 * first, then every QP's lock is taken once, and who was bound to it is let go.
 */
#include <errno.h>
#include <stdlib.h>
#include "dev.h"
#include "kernels/transport/opcode.h"

struct dpa_hw_xrcd {
	uint32_t num; /* never 0 */
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

	if (x && a->exclusive)
		return EINVAL;
	if (!x && a->named && !a->create)
		return EAGAIN;
	if (!x) {
		x = calloc(1, sizeof(*x));
		if (!x)
			return ENOMEM;
		*x = (struct dpa_hw_xrcd){.num = ++hw->next_xrcd,
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
#define SRQ_BITS  14
_Static_assert(DPA_MAX_SRQ == 1 << SRQ_BITS, "index bits");

int dpa_xrc_srq_add(struct dpa_hw *hw, struct dpa_hw_srq *srq)
{
	for (uint32_t i = 0; i < DPA_MAX_SRQ; i++) {
		uint32_t at = (hw->next_xrc_srq + i) & SRQ_INDEX;

		if (atomic_load_explicit(&hw->xrc_srqs[at], memory_order_relaxed))
			continue;
		/*
		 * A number rests: the slot's next SRQ has another one, as the turns go round in
		 * 1022 and the slots in 16384. The last turn would make the multicast QPN.
		 */
		if (++hw->xrc_turn >= (1u << (24 - SRQ_BITS)) - 1)
			hw->xrc_turn = 1;
		hw->next_xrc_srq = at + 1;
		srq->srqn = hw->xrc_turn << SRQ_BITS | at;
		atomic_store_explicit(&hw->xrc_srqs[at], srq, memory_order_release);
		return 0;
	}
	return ENOMEM;
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
}

bool dpa_xrc_bind(struct dpa_hw_qp *qp, uint32_t srqn)
{
	struct dpa_hw_srq *srq =
		atomic_load_explicit(&qp->hw->xrc_srqs[srqn & SRQ_INDEX], memory_order_seq_cst);

	if (!srq || srq->srqn != srqn || srq->xrcd != qp->xrcd)
		return false;
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

int dpa_hw_open_qp(struct dpa_hw_ctx *ctx, uint32_t xrcd, uint32_t qpn, uint64_t user_handle,
		   struct dpa_hw_qp **out, struct dpa_qp_info *info)
{
	struct dpa_hw *hw = ctx->hw;
	struct dpa_qp_opener *o = calloc(1, sizeof(*o));
	struct dpa_hw_qp *qp;
	bool found;

	if (!o)
		return ENOMEM;
	pthread_mutex_lock(&hw->ctl);
	qp = atomic_load_explicit(&hw->qp_tab[qpn & DPA_QPN_INDEX], memory_order_acquire);
	found = qp && qp->qpn == qpn && qp->xrcd && qp->xrcd == xrcd;
	if (found) {
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
	if (!found)
		free(o);
	return found ? 0 : EINVAL;
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
	bool shared;

	pthread_mutex_lock(&hw->ctl);
	shared = qp->openers;
	if (shared)
		free(drop_opener(qp, user_handle));
	pthread_mutex_unlock(&hw->ctl);
	return shared ? 0 : dpa_hw_destroy_qp(qp);
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
