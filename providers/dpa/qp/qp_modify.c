/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * qp_modify.c - modify and query: checks the user's request, lets the device carry it out, and
 * updates the queues.
 */
#include <string.h>
#include "dpa.h"

/* access flags that regions have and QPs do not: accepted and ignored */
#define QP_ACCESS_NO_MATTER                                                                        \
	(IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB)
/*
 * The rights to FLUSH by their values, because programs may be newer than the headers of this
 * build.
 */
#define QP_ACCESS                                                                                  \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | DPA_ACCESS_FLUSH_GLOBAL | DPA_ACCESS_FLUSH_PERSISTENT |        \
	 QP_ACCESS_NO_MATTER)

/* All bits of enum ibv_qp_attr_mask; others are EOPNOTSUPP, as in the kernel. */
#define KNOWN_MASK (((IBV_QP_DEST_QPN << 1) - 1) | IBV_QP_RATE_LIMIT)

/*
 * IBA 11.2.5.2: values that are invalid for every device. The device checks those that depend on
 * it.
 */
static bool values_bad(const struct ibv_qp_attr *a, int mask)
{
	return ((mask & IBV_QP_PORT) && a->port_num != 1) ||
	       ((mask & IBV_QP_PKEY_INDEX) && a->pkey_index != 0) ||
	       ((mask & IBV_QP_ACCESS_FLAGS) &&
		(a->qp_access_flags & ~(QP_ACCESS | IBV_ACCESS_OPTIONAL_RANGE))) ||
	       ((mask & IBV_QP_PATH_MTU) &&
		(a->path_mtu < IBV_MTU_256 || a->path_mtu > IBV_MTU_4096)) ||
	       ((mask & IBV_QP_TIMEOUT) && a->timeout > 31) ||
	       ((mask & IBV_QP_RETRY_CNT) && a->retry_cnt > 7) ||
	       ((mask & IBV_QP_RNR_RETRY) && a->rnr_retry > 7) ||
	       ((mask & IBV_QP_MIN_RNR_TIMER) && a->min_rnr_timer > 31) ||
	       ((mask & IBV_QP_MAX_QP_RD_ATOMIC) && a->max_rd_atomic > DPA_MAX_INIT_RD_ATOMIC) ||
	       ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) && a->max_dest_rd_atomic > DPA_MAX_RD_ATOMIC) ||
	       ((mask & IBV_QP_DEST_QPN) && a->dest_qp_num > 0xffffff);
}

static int hw_attr(struct ibv_context *context, const struct ibv_qp_attr *a, int mask,
		   struct dpa_qp_attr *h)
{
	if (values_bad(a, mask))
		return EINVAL;
	memset(h, 0, sizeof(*h));
	h->access = (uint32_t)a->qp_access_flags & QP_ACCESS & ~(uint32_t)QP_ACCESS_NO_MATTER;
	h->qkey = a->qkey;
	h->rq_psn = a->rq_psn & 0xffffff;
	h->sq_psn = a->sq_psn & 0xffffff;
	h->dest_qpn = a->dest_qp_num;
	h->pkey_index = a->pkey_index;
	h->port = a->port_num;
	h->path_mtu = (uint8_t)a->path_mtu;
	h->timeout = a->timeout;
	h->retry_cnt = a->retry_cnt;
	h->rnr_retry = a->rnr_retry;
	h->min_rnr_timer = a->min_rnr_timer;
	h->max_rd_atomic = a->max_rd_atomic;
	h->max_dest_rd_atomic = a->max_dest_rd_atomic;
	h->sqd_async_notify = a->en_sqd_async_notify;
	if (mask & IBV_QP_AV)
		return dpa_av_from_attr(context, &a->ah_attr, &h->av);
	return 0;
}

/*
 * Clears the slot before a reset, so that an EU that reads it afterwards finds no old word. An old
 * BlueFlame write of index 0 would look like the next one, or like one that the EU has seen.
 */
static void clear_slot(struct dpa_sq *sq)
{
	const struct dpa_db empty = {.opcode = DPA_OP_DOORBELL};
	uint64_t word;

	memcpy(&word, &empty, sizeof(word));
	dpa_lock_take(&sq->lock);
	__atomic_store_n(&sq->slot->word, word, __ATOMIC_RELEASE);
	dpa_lock_drop(&sq->lock);
}

/* The device is in RESET and does not touch the queues. */
static void reset_queues(struct dpav_qp *qp)
{
	struct dpa_sq *sq = &qp->sq;

	dpa_lock_take(&sq->lock);
	dpa_lock_take(&qp->rq.lock);
	sq->pi = sq->ci = sq->count = 0;
	qp->rq.pi = qp->rq.ci = 0;
	__atomic_store_n(&sq->dbrec->sq_ci, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&sq->dbrec->rq_ci, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&sq->dbrec->rq_pi, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&sq->dbrec->sq_pi, 0, __ATOMIC_RELEASE);
	dpa_lock_drop(&qp->rq.lock);
	dpa_lock_drop(&sq->lock);
}

void dpav_qp_purge(struct dpav_qp *qp)
{
	struct ibv_qp *ibqp = &qp->vqp.qp;

	if (ibqp->send_cq)
		dpa_cq_purge(to_dpa_cq(ibqp->send_cq), ibqp->qp_num);
	if (ibqp->recv_cq && ibqp->recv_cq != ibqp->send_cq)
		dpa_cq_purge(to_dpa_cq(ibqp->recv_cq), ibqp->qp_num);
	if (ibqp->srq && to_dpa_srq(ibqp->srq)->vsrq.srq_type == IBV_SRQT_TM)
		dpa_cq_purge(to_dpa_cq(to_dpa_srq(ibqp->srq)->vsrq.cq), ibqp->qp_num);
}

/*
 * Attributes that an XRC QP does not have, but that programs set (perftest -c XRC): those of the
 * other end. The kernel drops them silently (modify_qp_mask() of uverbs); so does this.
 */
static int drop_other_end(enum ibv_qp_type type, int mask)
{
	switch (type) {
	case IBV_QPT_XRC_SEND:
		return mask & ~(IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	case IBV_QPT_XRC_RECV:
		return mask & ~(IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY);
	default:
		return mask;
	}
}

/* Context: the QP's mutex. */
static int modify_locked(struct dpav_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct ibv_qp *ibqp = &qp->vqp.qp;
	struct dpa_qp_attr now, want;
	enum ibv_qp_state from, to;
	int ret;

	ret = dpa_hw_query_qp(qp->hw, &now);
	if (ret)
		return ret;
	from = (enum ibv_qp_state)now.state;
	to = mask & IBV_QP_STATE ? attr->qp_state : from;
	if ((mask & IBV_QP_CUR_STATE) && attr->cur_qp_state != from)
		return EINVAL;
	/*
	 * The rate is not an attribute of the specification: it is accepted where sending begins,
	 * and later.
	 */
	if ((mask & IBV_QP_RATE_LIMIT) &&
	    (to != IBV_QPS_RTS || attr->rate_limit > DPA_MAX_RATE_KBPS ||
	     !dpa_send_ops(ibqp->qp_type)))
		return EINVAL;
	ret = dpav_qp_transition(ibqp->qp_type, from, to, mask & ~IBV_QP_RATE_LIMIT);
	if (!ret)
		ret = hw_attr(ibqp->context, attr, mask, &want);
	if (ret)
		return ret;
	want.state = (uint32_t)to;
	if ((mask & IBV_QP_STATE) && to == IBV_QPS_RESET && qp->sq.dbrec)
		clear_slot(&qp->sq);
	ret = dpa_hw_modify_qp(qp->hw, &want,
			       (uint32_t)(mask & ~(IBV_QP_CUR_STATE | IBV_QP_RATE_LIMIT)));
	if (ret)
		return ret;
	if (mask & IBV_QP_RATE_LIMIT)
		dpa_hw_set_rate(qp->hw, &(struct dpa_rate){.kbps = attr->rate_limit});
	if (mask & IBV_QP_STATE)
		atomic_store_explicit(&qp->state, (uint32_t)to, memory_order_relaxed);
	if ((mask & IBV_QP_STATE) && to == IBV_QPS_RESET) {
		if (qp->sq.dbrec)
			reset_queues(qp);
		dpav_qp_purge(qp);
	}
	return 0;
}

int dpa_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask)
{
	struct dpav_qp *qp = to_dpa_qp(ibqp);
	int ret;

	if (!dpa_word_alive(qp->alive))
		return EIO;
	if (qp->rss || (mask & ~KNOWN_MASK))
		return EOPNOTSUPP;
	pthread_mutex_lock(&ibqp->mutex);
	ret = modify_locked(qp, attr, drop_other_end(ibqp->qp_type, mask));
	pthread_mutex_unlock(&ibqp->mutex);
	return ret;
}

static void fill_init(const struct dpav_qp *qp, struct ibv_qp_init_attr *init)
{
	const struct ibv_qp *ibqp = &qp->vqp.qp;

	*init = (struct ibv_qp_init_attr){
		.qp_context = ibqp->qp_context,
		.send_cq = ibqp->send_cq,
		.recv_cq = ibqp->recv_cq,
		.srq = ibqp->srq,
		.cap = qp->cap,
		.qp_type = ibqp->qp_type,
		.sq_sig_all = qp->sq_sig_all,
	};
}

int dpa_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask,
		 struct ibv_qp_init_attr *init)
{
	struct dpav_qp *qp = to_dpa_qp(ibqp);
	struct dpa_rate rate;
	struct dpa_qp_attr h;
	int ret;

	if (!dpa_word_alive(qp->alive))
		return EIO;
	ret = dpa_hw_query_qp(qp->hw, &h);
	if (ret)
		return ret;
	memset(attr, 0, sizeof(*attr));
	attr->qp_state = attr->cur_qp_state = (enum ibv_qp_state)h.state;
	attr->path_mtu = (enum ibv_mtu)h.path_mtu;
	attr->path_mig_state = IBV_MIG_MIGRATED;
	attr->qkey = h.qkey;
	attr->rq_psn = h.rq_psn;
	attr->sq_psn = h.sq_psn;
	attr->dest_qp_num = h.dest_qpn;
	attr->qp_access_flags = (unsigned int)h.access;
	attr->cap = qp->cap;
	dpa_av_to_attr(&h.av, &attr->ah_attr);
	attr->pkey_index = h.pkey_index;
	attr->en_sqd_async_notify = h.sqd_async_notify;
	attr->sq_draining = h.sq_draining;
	attr->max_rd_atomic = h.max_rd_atomic;
	attr->max_dest_rd_atomic = h.max_dest_rd_atomic;
	attr->min_rnr_timer = h.min_rnr_timer;
	attr->port_num = h.port;
	attr->timeout = h.timeout;
	attr->retry_cnt = h.retry_cnt;
	attr->rnr_retry = h.rnr_retry;
	dpa_hw_get_rate(qp->hw, &rate);
	attr->rate_limit = rate.kbps;
	fill_init(qp, init);
	return 0;
}

int dpa_modify_qp_rate_limit(struct ibv_qp *ibqp, struct ibv_qp_rate_limit_attr *attr)
{
	struct dpa_rate rate = {.kbps = attr->rate_limit, .burst = attr->max_burst_sz};
	struct dpav_qp *qp = to_dpa_qp(ibqp);
	struct dpa_qp_attr now;
	int ret;

	if (!dpa_word_alive(qp->alive))
		return EIO;
	if (attr->comp_mask || !dpa_send_ops(ibqp->qp_type) || qp->rss)
		return EINVAL;
	ret = dpa_hw_query_qp(qp->hw, &now);
	if (!ret && now.state != DPA_QPS_RTS)
		ret = EINVAL;
	return ret ? ret : dpa_hw_set_rate(qp->hw, &rate);
}

/*
 * Bytes are copied in the fastest way for their number, which may begin with any byte. So no
 * program may wait for the last byte instead of the completion.
 */
int dpa_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	return 0;
}

/* No option is supported: the answer to a request has none. */
int dpa_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	if (!dpa_word_alive(to_dpa_qp(qp)->alive))
		return EIO;
	*ece = (struct ibv_ece){.vendor_id = DPA_VENDOR_ID};
	return 0;
}

int dpa_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	if (!dpa_word_alive(to_dpa_qp(qp)->alive))
		return EIO;
	if (ece->comp_mask || ece->vendor_id != DPA_VENDOR_ID)
		return EINVAL;
	ece->options = 0;
	return 0;
}

#define SAME(a, b) static_assert((int)(a) == (int)(b), #a)
SAME(DPA_QPM_STATE, IBV_QP_STATE);
SAME(DPA_QPM_CUR_STATE, IBV_QP_CUR_STATE);
SAME(DPA_QPM_EN_SQD_ASYNC_NOTIFY, IBV_QP_EN_SQD_ASYNC_NOTIFY);
SAME(DPA_QPM_ACCESS, IBV_QP_ACCESS_FLAGS);
SAME(DPA_QPM_PKEY_INDEX, IBV_QP_PKEY_INDEX);
SAME(DPA_QPM_PORT, IBV_QP_PORT);
SAME(DPA_QPM_QKEY, IBV_QP_QKEY);
SAME(DPA_QPM_AV, IBV_QP_AV);
SAME(DPA_QPM_PATH_MTU, IBV_QP_PATH_MTU);
SAME(DPA_QPM_TIMEOUT, IBV_QP_TIMEOUT);
SAME(DPA_QPM_RETRY_CNT, IBV_QP_RETRY_CNT);
SAME(DPA_QPM_RNR_RETRY, IBV_QP_RNR_RETRY);
SAME(DPA_QPM_RQ_PSN, IBV_QP_RQ_PSN);
SAME(DPA_QPM_MAX_RD_ATOMIC, IBV_QP_MAX_QP_RD_ATOMIC);
SAME(DPA_QPM_MIN_RNR_TIMER, IBV_QP_MIN_RNR_TIMER);
SAME(DPA_QPM_SQ_PSN, IBV_QP_SQ_PSN);
SAME(DPA_QPM_MAX_DEST_RD_ATOMIC, IBV_QP_MAX_DEST_RD_ATOMIC);
SAME(DPA_QPM_DEST_QPN, IBV_QP_DEST_QPN);
