/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* recv.c - posts receives to a QP's own RQ. */
#include "dpa.h"

int dpa_recv_build(uint8_t *at, const struct ibv_recv_wr *wr, uint32_t max_sge)
{
	struct dpa_rwqe *r = (struct dpa_rwqe *)at;
	struct dpa_sge *s = (struct dpa_sge *)(r + 1);

	if (dpa_unlikely((uint32_t)wr->num_sge > max_sge))
		return EINVAL;
	r->wr_id = wr->wr_id;
	r->nsge = (uint32_t)wr->num_sge;
	r->rsvd = 0;
	for (int i = 0; i < wr->num_sge; i++) {
		s[i].addr = wr->sg_list[i].addr;
		s[i].length = wr->sg_list[i].length;
		s[i].lkey = wr->sg_list[i].lkey;
	}
	return 0;
}

static inline int post_recv_wr(struct dpa_rq *rq, const struct ibv_recv_wr *wr)
{
	uint32_t at = rq->pi & (rq->max_wr - 1);
	int ret;

	if (dpa_unlikely(rq->pi - rq->ci >= rq->max_wr)) {
		rq->ci = __atomic_load_n(&rq->dbrec->rq_ci, __ATOMIC_ACQUIRE);
		if (rq->pi - rq->ci >= rq->max_wr)
			return ENOMEM;
	}
	ret = dpa_recv_build(rq->buf + (size_t)at * rq->stride, wr, rq->max_sge);
	if (!ret)
		rq->pi++;
	return ret;
}

static int recv_refused(const struct dpav_qp *qp)
{
	if (qp->vqp.qp.srq || qp->rss ||
	    atomic_load_explicit(&qp->state, memory_order_relaxed) == DPA_QPS_RESET)
		return EINVAL;
	return 0;
}

/* Posts the receives before `end`. */
static inline int post_recv_before(struct dpav_qp *qp, struct ibv_recv_wr *wr,
				   const struct ibv_recv_wr *end, struct ibv_recv_wr **bad)
{
	struct dpa_rq *rq = &qp->rq;
	int ret = recv_refused(qp);

	if (dpa_unlikely(ret)) {
		*bad = wr;
		return ret;
	}
	dpa_lock_take(&rq->lock);
	for (; wr != end; wr = wr->next) {
		ret = post_recv_wr(rq, wr);
		if (dpa_unlikely(ret)) {
			*bad = wr;
			break;
		}
	}
	__atomic_store_n(&rq->dbrec->rq_pi, rq->pi, __ATOMIC_RELEASE);
	dpa_lock_drop(&rq->lock);
	/*
	 * The device may move a QP to the error state by itself; then it flushes the posted
	 * receives.
	 */
	dpa_hw_ring_rq(qp->hw);
	return ret;
}

/* One of the receives may have to fail: those before it are posted. */
static __attribute__((cold, noinline)) int
post_recv_asking(struct dpav_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct ibv_recv_wr *end = wr;
	int err = 0, ret;

	for (; end && !err; end = err ? end : end->next)
		err = dpav_asks_call(qp->alive, "post_recv", qp->vqp.qp.qp_num);
	ret = end == wr ? 0 : post_recv_before(qp, wr, end, bad);
	if (ret || !err)
		return ret;
	*bad = end;
	return err;
}

int dpa_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct dpav_qp *qp = to_dpa_qp(ibqp);

	if (dpa_unlikely(!dpa_word_plain(qp->alive)))
		return post_recv_asking(qp, wr, bad);
	return post_recv_before(qp, wr, NULL, bad);
}
