/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Queue pairs: creation, destruction, the error state. Transitions are in qp_modify.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "ctx/schedule.h"
#include "ctx/cq.h"
#include "ctx/leave.h"
#include "ctx/mcast.h"
#include "ctx/xrc.h"
#include "ctx/xrc_branch.h"
#include "link/kick.h"
#include "transport/api.h"
#include "eu/eu.h"
#include "ctx/thread.h"
#include "wire/opcode.h"
#include "link/direct.h"
#include "link/inspect.h"
#include "raw/raw.h"
#include "transport/tag.h"

#define SLAB_FIRST 64 /* QPs in memory of their own */
#define SLAB_BYTES ((size_t)2 << 20)

void dpa_qp_event(struct dpa_hw_qp *qp, uint32_t type)
{
	struct dpa_event ev = {.type = type, .port = 1, .user_handle = qp->user_handle};
	struct dpa_run *run = dpa_me.run;

	/* what was completed before it happened is told before it */
	if (dpa_unlikely(run && run->qp == qp))
		dpa_run_flush(run);

	if (qp->ctx->event && (!qp->branch || qp->user_handle)) /* that one may be nobody's */
		qp->ctx->event(qp->ctx->event_arg, &ev);
	if (dpa_unlikely(qp->openers))
		dpa_qp_tell_openers(qp, type);
}

/* Out of the windows first: who binds one anew waits for that (mw.c), not for the lock. */
static bool leave(struct dpa_hw_qp *qp)
{
	if (dpa_unlikely(dpa_me.in_window)) {
		dpa_me.in_window = false;
		atomic_store_explicit(&qp->in_window, 0, memory_order_release);
	}
	return dpa_qplock_leave(&qp->lock);
}

void dpa_qp_leave(struct dpa_hw_qp *qp)
{
	while (!leave(qp)) {
		if (qp->qpn) {
			dpa_responder_flush(qp);
			dpa_requester_run(qp);
			if (qp->state == DPA_QPS_ERR)
				dpa_qp_flush_rq(qp);
		}
	}
}

/*
 * What peers fetch for this QP is good only while its epoch stands. A branch may share it with a QP
 * of this process: what is fetched for the one when the other ends is lost, which RC sends again.
 */
static void new_epoch(struct dpa_hw_qp *qp)
{
	atomic_fetch_add_explicit(&qp->hw->export->qp_epoch[qp->qpn & DPA_QPN_INDEX], 1,
				  memory_order_seq_cst);
}

void dpa_qp_set_state(struct dpa_hw_qp *qp, uint32_t state)
{
	__atomic_store_n(&qp->state, (uint8_t)state, __ATOMIC_SEQ_CST);
	if (state != DPA_QPS_RTR && state != DPA_QPS_RTS && state != DPA_QPS_SQD)
		dpa_branch_untell(qp);
	if (qp->info)
		__atomic_store_n(&qp->info->state, state, __ATOMIC_RELAXED);
	if (state == DPA_QPS_ERR || state == DPA_QPS_RESET)
		new_epoch(qp);
	dpa_grant(qp);
}

/*
 * IBA 11.6.3.2: a work queue whose completions cannot be reported is in error. Who reports is in
 * the midst of its work with the QP: it ends when progress comes to it.
 */
static void report_all(struct dpa_hw_qp *qp, struct dpa_hw_cq *cq, const struct dpa_cqe *cqe,
		       uint32_t n)
{
	if (dpa_likely(dpa_cq_push_all(cq, cqe, n) == n) || qp->cqe_lost ||
	    qp->state == DPA_QPS_ERR || qp->state == DPA_QPS_RESET)
		return;
	qp->cqe_lost = true;
	dpa_schedule(qp, 0);
}

/*
 * The program that receives a message at an XRC target answers by another QP, its initiator. On a
 * wire the ACK travels in front of that answer. Here the ACK enters the ring before the completion
 * becomes visible, and the answer follows it in the same ring (DPA_XRC_LANE).
 */
static void ack_first(struct dpa_hw_qp *qp)
{
	if (dpa_unlikely(qp->transport == DPA_BTH_XRC) && qp->xrcd)
		dpa_responder_flush(qp);
}

void dpa_run_flush(struct dpa_run *r)
{
	uint32_t n;

	/* a NAK that ends the QP has an event, which comes here again and reports all */
	if (r->n)
		ack_first(r->qp);
	n = r->n;
	r->n = 0;
	if (n)
		report_all(r->qp, r->cq, r->e, n);
}

void dpa_qp_report(struct dpa_hw_qp *qp, struct dpa_hw_cq *cq, const struct dpa_cqe *cqe)
{
	struct dpa_run *r = dpa_me.run;

	if (!r || r->qp != qp) {
		ack_first(qp);
		report_all(qp, cq, cqe, 1);
		return;
	}
	if (r->n && (r->cq != cq || r->n == DPA_RUN))
		dpa_run_flush(r);
	r->cq = cq;
	r->e[r->n++] = *cqe;
}

void dpa_qp_cqe_lost(struct dpa_hw_qp *qp)
{
	qp->cqe_lost = false;
	if (qp->state == DPA_QPS_ERR || qp->state == DPA_QPS_RESET)
		return;
	dpa_qp_to_error(qp);
	dpa_qp_event(qp, DPA_EVENT_QP_FATAL);
}

static void flush_one(struct dpa_hw_qp *qp, uint64_t wr_id)
{
	struct dpa_cqe e = {.wr_id = wr_id,
			    .qpn = qp->qpn,
			    .user_index = qp->user_index,
			    .vendor_err = DPA_SYN_FLUSHED,
			    .opcode = DPA_CQE_RECV,
			    .status = DPA_CQE_WR_FLUSH_ERR};

	dpa_count(qp->hw, DPA_CNT_resp_cqe_flush_error, 1);
	dpa_qp_report(qp, qp->recv_cq, &e);
}

void dpa_qp_flush_rq(struct dpa_hw_qp *qp)
{
	uint32_t pi;

	if (qp->resp.have_wqe) {
		qp->resp.have_wqe = false;
		flush_one(qp, qp->resp.wqe.wr_id);
	}
	if (qp->xrcd)
		return; /* nothing is its own */
	if (qp->srq) {
		if (!qp->last_wqe_raised) { /* IBA 11.6.3.1: no more receives of this QP */
			qp->last_wqe_raised = true;
			dpa_qp_event(qp, DPA_EVENT_QP_LAST_WQE_REACHED);
		}
		return;
	}
	if (!qp->rq)
		return;
	pi = __atomic_load_n(&qp->dbrec->rq_pi, __ATOMIC_ACQUIRE);
	for (uint32_t n = 0; qp->rq_ci != pi && n <= qp->rq_mask; n++) {
		const struct dpa_rwqe *r =
			(const void *)(qp->rq + (size_t)(qp->rq_ci & qp->rq_mask) * qp->rq_stride);

		flush_one(qp, r->wr_id);
		qp->rq_ci++;
		__atomic_store_n(&qp->dbrec->rq_ci, qp->rq_ci, __ATOMIC_RELEASE);
	}
}

void dpa_qp_to_error(struct dpa_hw_qp *qp)
{
	if (qp->state == DPA_QPS_ERR)
		return;
	dpa_qp_set_state(qp, DPA_QPS_ERR);
	dpa_requester_flush(qp);
	dpa_qp_flush_rq(qp);
	dpa_kept_drop(qp);
}

/* ------------------------------------------------------------- create */

static int check_create(const struct dpa_qp_attr_create *a)
{
	switch (a->type) {
	case DPA_QP_RC:
	case DPA_QP_UC:
	case DPA_QP_UD:
		break;
	case DPA_QP_XRC_SEND:
		if (a->rq || a->srq)
			return EINVAL;
		break;
	case DPA_QP_RAW:
		if (!a->ind_table)
			break;
		return a->dbrec || a->sq || a->rq || a->srq || a->send_cq || a->recv_cq ||
				       !a->pdn || a->pdn >= DPA_MAX_PD
			       ? EINVAL
			       : 0;
	case DPA_QP_XRC_RECV:
		return a->xrcd && !a->dbrec && !a->sq && !a->rq && !a->srq && !a->pdn ? 0 : EINVAL;
	default:
		return EOPNOTSUPP;
	}
	if (!a->send_cq || !a->recv_cq || !a->dbrec || a->log_sq > 20 || a->log_rq > 14 ||
	    a->max_recv_sge > DPA_MAX_SGE || (a->srq && a->rq))
		return EINVAL;
	return !a->pdn || a->pdn >= DPA_MAX_PD ? EINVAL : 0; /* if it is there: under hw->ctl */
}

/*
 * Memory of a new one. A process with thousands of QPs touches each of them through a page of its
 * own unless pages are large; one with a few has no use for 2 MiB.
 */
static struct dpa_hw_qp *qp_alloc(struct dpa_hw *hw, uint32_t n)
{
	struct dpa_hw_qp *qp;
	uint8_t *p;

	if (n < SLAB_FIRST) {
		if (posix_memalign((void **)&qp, 2 * DPA_CACHE_LINE, sizeof(*qp)))
			return NULL;
		memset(qp, 0, sizeof(*qp));
		return qp;
	}
	if (!hw->slab_left) {
		p = mmap(NULL, 2 * SLAB_BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p == MAP_FAILED)
			return NULL;
		size_t skip = -(uintptr_t)p % SLAB_BYTES;

		if (skip)
			munmap(p, skip);
		if (skip != SLAB_BYTES)
			munmap(p + skip + SLAB_BYTES, SLAB_BYTES - skip);
		p += skip;
		madvise(p, SLAB_BYTES, MADV_HUGEPAGE);
		hw->slab_next = (struct dpa_hw_qp *)p;
		hw->slab_left = SLAB_BYTES / sizeof(*qp);
	}
	hw->slab_left--;
	return hw->slab_next++;
}

/* All of them: nothing refers to a QP any more. */
void dpa_hw_free_qps(struct dpa_hw *hw)
{
	const uint32_t each = SLAB_BYTES / sizeof(struct dpa_hw_qp);

	dpa_kept_fini(hw);
	for (uint32_t i = 0; i < hw->nslab; i++)
		if (i < SLAB_FIRST)
			free(hw->slab[i]);
		else if ((i - SLAB_FIRST) % each == 0)
			munmap(hw->slab[i], SLAB_BYTES);
}

struct dpa_hw_qp *dpa_qp_take(struct dpa_hw *hw)
{
	struct dpa_hw_qp *qp = hw->free_qps;
	uint32_t n = atomic_load_explicit(&hw->nslab, memory_order_relaxed);

	if (qp) {
		hw->free_qps = qp->free_next;
		return qp;
	}
	if (n >= DPA_MAX_QP)
		return NULL;
	qp = qp_alloc(hw, n);
	if (!qp)
		return NULL;
	qp->index = (uint16_t)n;
	hw->slab[n] = qp;
	atomic_store_explicit(&hw->nslab, n + 1, memory_order_release);
	return qp;
}

void dpa_qp_give(struct dpa_hw_qp *qp)
{
	qp->qpn = 0;
	qp->peer = NULL;
	qp->tx = NULL;
	qp->free_next = qp->hw->free_qps;
	qp->hw->free_qps = qp;
}

static uint8_t transport_of(uint32_t type)
{
	switch (type) {
	case DPA_QP_RC:
		return DPA_BTH_RC;
	case DPA_QP_UC:
		return DPA_BTH_UC;
	case DPA_QP_UD:
		return DPA_BTH_UD;
	case DPA_QP_RAW:
		return DPA_BTH_RAW;
	default:
		return DPA_BTH_XRC;
	}
}

void dpa_qp_init(struct dpa_hw_qp *qp, struct dpa_hw_ctx *ctx, const struct dpa_qp_attr_create *a)
{
	size_t from = offsetof(struct dpa_hw_qp, type);
	uint16_t index = qp->index;

	/* everything but the lock, which others may be holding at this very moment, and the QPN */
	memset((uint8_t *)qp + from, 0, sizeof(*qp) - from);
	qp->index = index;
	qp->second = qp->fourth = index; /* nothing learned */
	qp->hw = ctx->hw;
	qp->ctx = ctx;
	qp->type = (uint8_t)a->type;
	if (a->type == DPA_QP_XRC_SEND || a->type == DPA_QP_XRC_RECV)
		qp->type = DPA_QP_RC; /* it differs in what its packets carry */
	qp->transport = transport_of(a->type);
	qp->xrcd = a->xrcd;
	qp->sq_sig_all = a->sq_sig_all;
	qp->mtu = 4096;
	qp->sq = a->sq;
	qp->rq = a->max_recv_sge && !a->srq ? a->rq : NULL;
	qp->dbrec = a->dbrec;
	qp->sq_mask = (1u << a->log_sq) - 1;
	qp->rq_mask = (1u << a->log_rq) - 1;
	qp->max_recv_sge = a->max_recv_sge;
	qp->rq_stride = dpa_rwqe_stride(a->max_recv_sge);
	qp->send_cq = a->send_cq;
	qp->recv_cq = a->recv_cq;
	qp->srq = a->srq;
	qp->pdn = a->pdn;
	qp->user_index = a->user_index;
	qp->user_handle = a->user_handle;
	qp->poster = a->poster;
	qp->block_self = a->block_self_mcast;
	qp->lane = qp->transport == DPA_BTH_XRC ? DPA_XRC_LANE
						: (uint8_t)(ctx->hw->next_lane++ % DPA_LANES);
	dpa_transport_reset(qp);
}

static void add_refs(struct dpa_hw_qp *qp, int n)
{
	if (qp->xrcd) { /* what it is bound to holds itself */
		dpa_xrcd_use(qp->hw, qp->xrcd, n);
		return;
	}
	if (qp->rss) {
		atomic_fetch_add_explicit(&qp->rss->table->refs, (uint32_t)n, memory_order_acq_rel);
	} else {
		atomic_fetch_add_explicit(&qp->send_cq->refs, (uint32_t)n, memory_order_acq_rel);
		atomic_fetch_add_explicit(&qp->recv_cq->refs, (uint32_t)n, memory_order_acq_rel);
	}
	if (qp->srq)
		atomic_fetch_add_explicit(&qp->srq->refs, (uint32_t)n, memory_order_acq_rel);
	qp->hw->pd_refs[qp->pdn] += (uint32_t)n;
}

static void show_qp(struct dpa_hw_qp *qp)
{
	qp->info = dpa_board_qpinfo(qp->hw->board, qp->qpn);
	if (!qp->info)
		return;
	memset(qp->info, 0, sizeof(*qp->info));
	qp->info->type = qp->transport != DPA_BTH_XRC ? (uint8_t)qp->type
			 : qp->xrcd		      ? DPA_QP_XRC_RECV
						      : DPA_QP_XRC_SEND;
	qp->info->uar = qp->uar_page * DPA_UAR_SLOTS + qp->uar_slot;
	qp->info->send_cqn = qp->send_cq ? qp->send_cq->cqn : 0;
	qp->info->recv_cqn = qp->recv_cq ? qp->recv_cq->cqn : 0;
	qp->info->placement = qp->placement;
	dpa_branch_tell(qp, false);
	__atomic_store_n(&qp->info->qpn, qp->qpn, __ATOMIC_RELEASE);
}

int dpa_hw_create_qp(struct dpa_hw_ctx *ctx, const struct dpa_qp_attr_create *a,
		     struct dpa_hw_qp **out, struct dpa_qp_info *info)
{
	struct dpa_hw *hw = ctx->hw;
	struct dpa_hw_rss *rss = NULL;
	struct dpa_hw_qp *qp;
	uint32_t qpn, page, slot;
	uint8_t *tag_sq = NULL;
	int ret = check_create(a);

	if (!ret && a->type == DPA_QP_RAW)
		ret = dpa_raw_begin(hw, a, &rss);
	if (!ret && a->srq && a->srq->tags)
		ret = dpa_tag_begin(a, &tag_sq);
	if (ret)
		return ret;
	ret = dpa_board_qpn_alloc(hw->board, &qpn);
	if (ret) {
		ret = dpa_limit(hw, ret, "the board is full: %u QP numbers", DPA_BOARD_QPNS);
		goto err_qpn;
	}
	ret = dpa_board_uar_alloc(hw->board, &page, &slot);
	if (ret) {
		ret = dpa_limit(hw, ret, "the BAR is full: %u UAR pages of %d slots",
				hw->board->uar_pages, DPA_UAR_SLOTS);
		goto err_uar;
	}
	pthread_mutex_lock(&hw->ctl);
	if (!hw->pd_refs[a->pdn]) { /* that of no PD is never 0 */
		ret = EINVAL;
		goto err_take;
	}
	qp = dpa_qp_take(hw);
	if (!qp) {
		ret = ENOMEM;
		goto err_take;
	}
	dpa_branch_evict(hw, qpn);
	dpa_qplock_lock(&qp->lock);
	dpa_qp_init(qp, ctx, a);
	qp->rss = rss;
	if (tag_sq)
		dpa_tag_init(qp, tag_sq);
	qp->qpn = qpn;
	qp->uar_page = page;
	qp->uar_slot = slot;
	qp->slot = dpa_board_uar_addr(hw->board, page, slot);
	memset(qp->slot, 0, sizeof(*qp->slot));
	dpa_board_uar_page(hw->board, page)->slot_qpn[slot] = qpn;
	add_refs(qp, 1);
	hw->board->self->nqp = ++hw->nqp;
	show_qp(qp);
	if (rss) /* nothing is left to be said about it */
		dpa_qp_set_state(qp, DPA_QPS_RTR);
	atomic_store_explicit(&hw->qp_tab[qpn & DPA_QPN_INDEX], qp, memory_order_release);
	dpa_qp_leave(qp);
	pthread_mutex_unlock(&hw->ctl);
	if (hw->cfg.placement.kind == DPA_CFG_PLACE_EU)
		dpa_eu_attach(qp, -1);
	/* without a QP the parked EU sleeps for good: from now on it looks now and then */
	dpa_inspect_tick(hw);
	if (atomic_load_explicit(&hw->service_asleep, memory_order_relaxed))
		dpa_wake_self(hw);
	*out = qp;
	*info = (struct dpa_qp_info){.qpn = qpn,
				     .uar_page = page,
				     .uar_slot = slot,
				     .slot = qp->slot,
				     .placement = (const uint32_t *)&qp->placement};
	return 0;

err_take:
	pthread_mutex_unlock(&hw->ctl);
	dpa_board_uar_free(hw->board, page, slot);
err_uar:
	dpa_board_qpn_free(hw->board, qpn);
err_qpn:
	dpa_rss_free(rss);
	free(tag_sq);
	return ret;
}

void dpa_qp_acks_out(struct dpa_hw *hw, struct dpa_peer *peer)
{
	dpa_acks_settle(hw); /* the ACK may lie in a lane that waits for company */
	if (peer && !peer->wire)
		dpa_acks_wait(peer); /* or be in the hands of a thread that drains its lane */
}

int dpa_hw_destroy_qp(struct dpa_hw_qp *qp)
{
	struct dpa_hw *hw = qp->hw;
	uint32_t qpn = qp->qpn;
	struct dpa_peer *peer;

	dpa_eu_detach(qp);
	dpa_qp_leave_out(qp);
	dpa_mcast_forget(qp);
	dpa_flow_forget(qp);
	/* what the application has a completion of must not come again */
	dpa_qplock_lock(&qp->lock);
	dpa_responder_flush(qp);
	peer = qp->peer;
	dpa_qp_leave(qp);
	dpa_qp_acks_out(hw, peer);
	pthread_mutex_lock(&hw->ctl);
	dpa_qplock_lock(&qp->lock);
	atomic_store_explicit(&hw->qp_tab[qpn & DPA_QPN_INDEX], NULL, memory_order_release);
	dpa_qp_set_state(qp, DPA_QPS_RESET);
	dpa_transport_reset(qp); /* nothing is owed or kept: the structure serves another QP */
	dpa_acks_forget(qp);
	dpa_unschedule(qp);
	add_refs(qp, -1);
	dpa_rss_free(qp->rss);
	qp->rss = NULL;
	free(qp->tag_sq);
	qp->tag_sq = NULL;
	if (qp->info)
		__atomic_store_n(&qp->info->qpn, 0, __ATOMIC_RELEASE);
	dpa_stat_add(&hw->gone_doorbells, __atomic_load_n(&qp->slot->doorbells, __ATOMIC_RELAXED));
	dpa_stat_add(&hw->gone_blueflames,
		     __atomic_load_n(&qp->slot->blueflames, __ATOMIC_RELAXED));
	qp->slot = NULL;
	dpa_board_uar_free(hw->board, qp->uar_page, qp->uar_slot);
	qp->dbrec = NULL;
	qp->sq = qp->rq = NULL;
	dpa_qp_give(qp);
	hw->board->self->nqp = --hw->nqp;
	dpa_qp_leave(qp);
	pthread_mutex_unlock(&hw->ctl);
	dpa_board_qpn_free(hw->board, qpn);
	return 0;
}

#ifdef DPA_TSAN
static void learn(struct dpa_hw_qp *qp)
{
	(void)qp; /* what is looked at unlocked here are hints */
}
#else
/* For writing: a line that is only shared is fetched a second time by the first store. */
static inline void prefetch_own(const void *p)
{
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0" ::"m"(*(const char *)p));
#else
	__builtin_prefetch(p, 1);
#endif
}

/* What posting to it reads first. */
static void expect_late(const struct dpa_hw_qp *qp)
{
	prefetch_own(qp);
	prefetch_own((const uint8_t *)qp + DPA_CACHE_LINE);
	prefetch_own((const uint8_t *)qp + 2 * DPA_CACHE_LINE);
}

/* All that it points to: when that is there. */
static void expect_soon(const struct dpa_hw_qp *qp)
{
	const uint8_t *sq = qp->sq;

	prefetch_own((const void *)(uintptr_t)qp->user_handle);
	prefetch_own(qp->poster);
	prefetch_own((const void *)((uintptr_t)qp->poster + DPA_CACHE_LINE));
	prefetch_own(sq + (size_t)(qp->req.send_idx & qp->sq_mask) * DPA_WQEBB);
	prefetch_own(qp->dbrec);
	prefetch_own((const uint8_t *)qp->dbrec + DPA_CACHE_LINE);
	prefetch_own(qp->slot);
}

/*
 * A thread that posts to thousands of QPs in turn finds none of them in its cache. Each QP
 * remembers which were posted to second and fourth after it; if that was so again, they are fetched
 * beforehand: the one's queues, the other itself. QPs are type-stable: a hint that is out of date
 * costs nothing but time.
 */
static void learn(struct dpa_hw_qp *qp)
{
	struct dpa_posting *p = &dpa_me.posting;
	struct dpa_hw_qp *before2, *before4;
	struct dpa_hw *hw = qp->hw;

	if (dpa_likely(p->last[p->n % 4] == qp))
		return;
	if (dpa_unlikely(!p->last[0] || p->serial != hw->serial)) {
		*p = (struct dpa_posting){.last = {qp, qp, qp, qp}, .serial = hw->serial};
		return;
	}
	before2 = p->last[(p->n - 1) % 4];
	before4 = p->last[(p->n - 3) % 4];
	p->last[++p->n % 4] = qp;
	if (dpa_unlikely(atomic_load_explicit(&before4->fourth, memory_order_relaxed) != qp->index))
		atomic_store_explicit(&before4->fourth, qp->index, memory_order_relaxed);
	if (dpa_unlikely(atomic_load_explicit(&before2->second, memory_order_relaxed) !=
			 qp->index)) {
		atomic_store_explicit(&before2->second, qp->index, memory_order_relaxed);
		return;
	}
	expect_soon(hw->slab[atomic_load_explicit(&qp->second, memory_order_relaxed)]);
	expect_late(hw->slab[atomic_load_explicit(&qp->fourth, memory_order_relaxed)]);
}
#endif

void dpa_hw_ring_sq(struct dpa_hw_qp *qp)
{
	learn(qp);
	if (!dpa_qplock_enter_or_note(&qp->lock))
		return;
	dpa_qp_at_home(qp);
	dpa_requester_run(qp);
	dpa_qp_leave(qp);
}

void dpa_hw_ring_rq(struct dpa_hw_qp *qp)
{
	dpa_qp_at_home(qp);
	/* pairs with the state's store: either we see the error state or the flush sees our WQE */
	dpa_full_fence();
	if (dpa_likely(__atomic_load_n(&qp->state, __ATOMIC_RELAXED) != DPA_QPS_ERR))
		return;
	if (!dpa_qplock_enter_or_note(&qp->lock))
		return;
	if (qp->state == DPA_QPS_ERR)
		dpa_qp_flush_rq(qp);
	dpa_qp_leave(qp);
}
