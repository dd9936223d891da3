/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* cq.c - completion queues: the consumer's side. */
#include <errno.h>
#include <stdlib.h>
#include <dpa_hw_trace.h>
#include "dpa.h"
#include "cq/observer.h"
#include "cq/pollers.h"
#include "redirect/fds.h"

/* ------------------------------------------------------------------ create */

static int cq_hw_create(struct dpa_cq *cq, const struct dpa_cq_init *init)
{
	struct dpa_cq_attr attr = {
		.buf = cq->buf,
		.ci = cq->ci_rec,
		.log_size = cq->log_size,
		.flags = init->flags | (init->channel ? DPA_CQ_CHANNEL : 0),
		.user_handle = (uintptr_t)cq,
		.comp = init->channel ? dpa_channel_comp : init->comp,
		.comp_arg = init->channel ? cq : init->comp_arg,
	};

	return dpa_hw_create_cq(cq->hw_ctx, &attr, &cq->hw, &cq->vcq.cq.handle);
}

static int cq_find_channel(struct dpa_cq *cq, const struct ibv_comp_channel *channel)
{
	void *owner;

	if (!channel)
		return 0;
	if (dpa_fd_find(channel->fd, &owner) != DPA_FD_CHANNEL)
		return EINVAL;
	cq->channel = owner;
	return 0;
}

static size_t cq_buf_bytes(uint32_t log_size)
{
	return sizeof(struct dpa_cqe) << log_size;
}

static int cq_alloc(struct dpa_context *ctx, struct dpa_cq *cq)
{
	int ret = dpav_mem_alloc(ctx, cq->domain, cq_buf_bytes(cq->log_size), DPADV_RESOURCE_CQ,
				 &cq->mem);

	if (!ret)
		ret = dpav_mem_alloc(ctx, cq->domain, DPA_ARENA_MIN, DPADV_RESOURCE_DBREC,
				     &cq->ci_mem);
	cq->buf = cq->mem.p;
	cq->ci_rec = cq->ci_mem.p;
	if (!ret)
		cq->end = cq->buf + cq->mask + 1;
	return ret;
}

static void cq_free(struct dpa_context *ctx, struct dpa_cq *cq)
{
	dpav_mem_free(ctx, &cq->ci_mem);
	dpav_mem_free(ctx, &cq->mem);
}

struct dpa_cq *dpa_cq_new(struct ibv_context *context, const struct dpa_cq_init *init)
{
	struct dpa_context *ctx = to_dpa_ctx(context);
	struct dpa_cq *cq;
	int ret;

	if (!dpa_alive(context))
		return dpa_null(EIO);
	if (init->cqe < 1 || init->cqe > DPA_MAX_CQE)
		return dpa_null(EINVAL);
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return NULL;
	cq->log_size = dpa_log2_up(init->cqe);
	cq->mask = (1u << cq->log_size) - 1;
	cq->overruns = init->flags & DPA_CQ_IGNORE_OVERRUN;
	cq->domain = init->domain;
	cq->lock.single = init->single_threaded || dpa_pd_single(init->domain);
	cq->alive = ctx->alive;
	cq->hw_ctx = ctx->hw;
	cq->vcq.cq.context = context;
	cq->vcq.cq.cqe = 1 << cq->log_size;
	ret = cq_find_channel(cq, init->channel);
	if (!ret)
		ret = cq_alloc(ctx, cq);
	if (!ret)
		ret = cq_hw_create(cq, init);
	if (ret) {
		cq_free(ctx, cq);
		free(cq);
		return dpa_null(ret);
	}
	return cq;
}

bool dpa_cq_observed(struct dpa_cq *cq)
{
	struct dpa_context *ctx = to_dpa_ctx(cq->vcq.cq.context);
	int ret = dpa_observe(cq);

	if (!ret)
		return true;
	dpa_hw_destroy_cq(cq->hw);
	dpa_channel_forget(cq);
	cq_free(ctx, cq);
	free(cq);
	errno = ret;
	return false;
}

struct ibv_cq *dpa_create_cq(struct ibv_context *context, int cqe, struct ibv_comp_channel *channel,
			     int comp_vector)
{
	struct dpa_cq_init init = {.cqe = (uint32_t)cqe, .channel = channel};
	struct dpa_cq *cq;

	if (cqe < 1 || comp_vector < 0 || comp_vector >= context->num_comp_vectors)
		return dpa_null(EINVAL);
	cq = dpa_cq_new(context, &init);
	return cq && dpa_cq_observed(cq) ? &cq->vcq.cq : NULL;
}

/* ----------------------------------------------------------------- destroy */

/* IBA 11.2.8: the verb returns after every event that was read has been acknowledged. */
static void cq_wait_acks(struct ibv_cq *cq, uint32_t comp, uint32_t async)
{
	pthread_mutex_lock(&cq->mutex);
	while (cq->comp_events_completed != comp || cq->async_events_completed != async)
		pthread_cond_wait(&cq->cond, &cq->mutex);
	pthread_mutex_unlock(&cq->mutex);
}

int dpa_destroy_cq(struct ibv_cq *ibcq)
{
	struct dpa_context *ctx = to_dpa_ctx(ibcq->context);
	struct dpa_cq *cq = to_dpa_cq(ibcq);
	int ret;

	if (dpa_alive(ibcq->context)) {
		ret = dpa_hw_destroy_cq(cq->hw);
		if (ret)
			return ret;
		cq_wait_acks(ibcq, dpa_channel_forget(cq),
			     dpa_async_forget(ctx->async, cq, &cq->async_reported));
		cq_free(ctx, cq);
	}
	free(cq);
	return 0;
}

/* ------------------------------------------------------------------ resize */

static int cq_swap_buffer(struct dpa_context *ctx, struct dpa_cq *cq, uint32_t log_size)
{
	struct dpav_mem mem;
	int ret = dpav_mem_alloc(ctx, cq->domain, cq_buf_bytes(log_size), DPADV_RESOURCE_CQ, &mem);

	if (ret)
		return ret;
	ret = dpa_hw_resize_cq(cq->hw, mem.p, log_size);
	if (ret) {
		dpav_mem_free(ctx, &mem);
		return ret;
	}
	dpav_mem_free(ctx, &cq->mem);
	cq->mem = mem;
	cq->buf = mem.p;
	cq->log_size = log_size;
	cq->mask = (1u << log_size) - 1;
	cq->end = cq->buf + cq->mask + 1;
	cq->vcq.cq.cqe = 1 << log_size;
	return 0;
}

int dpa_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct dpa_cq *cq = to_dpa_cq(ibcq);
	uint32_t log_size;
	int ret = 0;

	if (!dpa_alive(ibcq->context))
		return EIO;
	if (cqe < 1 || cqe > DPA_MAX_CQE)
		return EINVAL;
	log_size = dpa_log2_up((uint32_t)cqe);
	dpa_lock_take(&cq->lock);
	if (log_size != cq->log_size)
		ret = cq_swap_buffer(to_dpa_ctx(ibcq->context), cq, log_size);
	dpa_lock_drop(&cq->lock);
	return ret;
}

/* -------------------------------------------------------------------- poll */

enum ibv_wc_status dpa_wc_status(uint8_t status)
{
	return (enum ibv_wc_status)dpa_cqe_wc_status(status);
}

static inline void cqe_to_wc(const struct dpa_cqe *e, struct ibv_wc *wc)
{
	wc->wr_id = e->wr_id;
	wc->status = dpa_likely(!e->status) ? IBV_WC_SUCCESS : dpa_wc_status(e->status);
	wc->opcode = (enum ibv_wc_opcode)e->opcode;
	wc->vendor_err = e->vendor_err;
	wc->byte_len = e->byte_len;
	wc->imm_data = e->imm;
	wc->qp_num = e->qpn;
	wc->src_qp = e->src_qpn;
	wc->wc_flags = e->flags & DPA_WC_FLAGS;
	wc->pkey_index = e->pkey_index;
	wc->slid = e->slid;
	wc->sl = e->sl;
	wc->dlid_path_bits = e->path_bits;
}

static inline int cq_drain(struct dpa_cq *cq, int n, struct ibv_wc *wc)
{
	const struct dpa_cqe *e;
	int got = 0;

	dpa_lock_take(&cq->lock);
	do {
		while (got < n && (e = dpa_cq_peek(cq))) {
			cqe_to_wc(e, &wc[got++]);
			cq->ci++;
		}
	} while (dpa_unlikely(cq->overruns) && got < n && dpa_cq_catch_up(cq));
	if (got) {
		__atomic_store_n(cq->ci_rec, cq->ci, __ATOMIC_RELEASE);
		if (dpa_trace_is_on())
			dpa_trace_event(DPA_TRACE_POLL, 0, 0, cq->vcq.cq.handle, cq->ci, 0, 0);
	}
	dpa_lock_drop(&cq->lock);
	return got;
}

int dpa_poll_cq(struct ibv_cq *ibcq, int n, struct ibv_wc *wc)
{
	struct dpa_cq *cq = to_dpa_cq(ibcq);
	int got;

	if (dpa_unlikely(!dpa_word_plain(cq->alive)) &&
	    (got = dpav_asks_call(cq->alive, "poll_cq", 0)))
		return -got;
	got = cq_drain(cq, n, wc);
	if (dpa_likely(got)) {
		dpa_cq_polled(cq);
		return got;
	}
	if (!dpa_cq_progress(cq))
		return 0;
	return cq_drain(cq, n, wc);
}

int dpa_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct dpa_cq *cq = to_dpa_cq(ibcq);

	if (!dpa_word_alive(cq->alive))
		return EIO;
	dpa_hw_arm_cq(cq->hw, solicited_only != 0);
	return 0;
}

/* Entries that stay move down; those at the end become invalid. */
void dpa_cq_purge(struct dpa_cq *cq, uint32_t qpn)
{
	uint32_t pi, to;

	if (cq->by_hand)
		return; /* the consumer index of the reader is not available here */
	dpa_lock_take(&cq->lock);
	dpa_hw_cq_lock(cq->hw);
	pi = dpa_hw_cq_pi(cq->hw);
	to = cq->ci;
	/*
	 * A CQ that ignores overrun may be ahead by laps: its entries are not distinguishable then.
	 */
	if (pi - to > cq->mask + 1)
		goto out;
	for (uint32_t i = cq->ci; i != pi; i++) {
		struct dpa_cqe *e = &cq->buf[i & cq->mask], *d = &cq->buf[to & cq->mask];

		if (e->qpn == qpn)
			continue;
		if (d != e)
			*d = *e;
		d->owner = dpa_cqe_owner(to, cq->log_size);
		to++;
	}
	for (uint32_t i = to; i != pi; i++)
		cq->buf[i & cq->mask].owner = 0;
	dpa_hw_cq_set_pi(cq->hw, to);
out:
	dpa_hw_cq_unlock(cq->hw);
	dpa_lock_drop(&cq->lock);
}

int dpa_modify_cq(struct ibv_cq *ibcq, struct ibv_modify_cq_attr *attr)
{
	struct dpa_cq *cq = to_dpa_cq(ibcq);

	if (!dpa_word_alive(cq->alive))
		return EIO;
	if (attr->attr_mask != IBV_CQ_ATTR_MODERATE)
		return EINVAL;
	return dpa_hw_modify_cq(cq->hw, attr->moderate.cq_count, attr->moderate.cq_period);
}

#define SAME(a, b) static_assert((int)(a) == (int)(b), #a)
SAME(DPA_CQE_SEND, IBV_WC_SEND);
SAME(DPA_CQE_RDMA_WRITE, IBV_WC_RDMA_WRITE);
SAME(DPA_CQE_RDMA_READ, IBV_WC_RDMA_READ);
SAME(DPA_CQE_COMP_SWAP, IBV_WC_COMP_SWAP);
SAME(DPA_CQE_FETCH_ADD, IBV_WC_FETCH_ADD);
SAME(DPA_CQE_BIND_MW, IBV_WC_BIND_MW);
SAME(DPA_CQE_LOCAL_INV, IBV_WC_LOCAL_INV);
SAME(DPA_CQE_ATOMIC_WRITE, IBV_WC_ATOMIC_WRITE);
SAME(DPA_CQE_RECV, IBV_WC_RECV);
SAME(DPA_CQE_RECV_RDMA_WITH_IMM, IBV_WC_RECV_RDMA_WITH_IMM);
SAME(DPA_CQE_F_GRH, IBV_WC_GRH);
SAME(DPA_CQE_F_IMM, IBV_WC_WITH_IMM);
SAME(DPA_CQE_F_INV, IBV_WC_WITH_INV);
SAME(DPA_CQE_F_TM_SYNC, IBV_WC_TM_SYNC_REQ);
SAME(DPA_CQE_F_TM_MATCH, IBV_WC_TM_MATCH);
SAME(DPA_CQE_F_TM_DATA, IBV_WC_TM_DATA_VALID);
SAME(DPA_CQE_TM_ADD, IBV_WC_TM_ADD);
SAME(DPA_CQE_TM_DEL, IBV_WC_TM_DEL);
SAME(DPA_CQE_TM_SYNC, IBV_WC_TM_SYNC);
SAME(DPA_CQE_TM_RECV, IBV_WC_TM_RECV);
SAME(DPA_CQE_TM_NO_TAG, IBV_WC_TM_NO_TAG);
#ifdef DPA_HAVE_FLUSH
SAME(DPA_CQE_FLUSH, IBV_WC_FLUSH);
#endif
