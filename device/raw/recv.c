/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * recv.c - receives raw packets: places a frame in a receive of the QP, or of the WQ that its hash
 * selects.
 */
#include <errno.h>
#include <stdlib.h>
#include <dpa_hw_trace.h>
#include "ctx/cq.h"
#include "ctx/hw.h"
#include "ctx/qp.h"
#include "ctx/srq.h"
#include "failure/failure.h"
#include "link/lane.h"
#include "recv/recv.h"
#include "transport/transport.h"
#include "raw.h"

int dpa_raw_begin(struct dpa_hw *hw, const struct dpa_qp_attr_create *a, struct dpa_hw_rss **rss)
{
	struct dpa_hw_ind_table *t = a->ind_table;
	int ret = dpa_may_raw() ? dpa_flows_init(hw) : EPERM;

	if (ret || !t)
		return ret;
	if (t->ctx->hw != hw)
		return EINVAL;
	ret = dpa_rss_check(&a->rss, (uint32_t)__builtin_popcount(t->mask));
	if (ret)
		return ret;
	*rss = malloc(sizeof(**rss));
	if (!*rss)
		return ENOMEM;
	**rss = (struct dpa_hw_rss){.table = t, .conf = a->rss};
	return 0;
}

void dpa_rss_free(struct dpa_hw_rss *rss)
{
	free(rss);
}

static struct dpa_cqe raw_cqe_of(const struct dpa_hw_qp *qp, uint32_t number,
				 const struct dpa_slot *s, uint64_t wr_id, uint32_t syn)
{
	return (struct dpa_cqe){.wr_id = wr_id,
				.qpn = number,
				.user_index = qp->user_index,
				.byte_len = syn ? 0 : s->len,
				.vendor_err = syn,
				.tag = ((const struct dpa_ext *)s->ext)->flow_tag,
				.opcode = DPA_CQE_RECV,
				.status = dpa_status_of(syn)};
}

/* Places a frame in a receive: 0 or an enum dpa_syndrome. */
static uint32_t place_frame(struct dpa_hw_qp *qp, const struct dpa_rx_wqe *w,
			    const struct dpa_slot *s, const uint8_t *payload)
{
	struct iovec iov[DPA_MAX_SGE];
	uint32_t syn;
	int cnt;

	syn = dpa_rwqe_iov(qp, w, 0, s->len, iov, &cnt);
	return syn ? syn : dpa_scatter_unasked(qp, s, payload, iov, cnt);
}

static void count_dropped(struct dpa_hw_qp *qp, uint32_t syn)
{
	if (syn == DPA_SYN_RECV_TOO_SMALL)
		dpa_count(qp->hw, DPA_CNT_resp_local_length_error, 1);
	dpa_count(qp->hw, DPA_CNT_rx_dropped, 1);
}

static void frame_fails(struct dpa_hw_qp *qp, const struct dpa_cqe *e)
{
	count_dropped(qp, e->vendor_err);
	dpa_failed(qp, e, NULL);
}

/* The buffers of a WQ are of its own PD. */
static void spread_frame(struct dpa_hw_qp *qp, const struct dpa_slot *s, const uint8_t *payload)
{
	const struct dpa_hw_ind_table *t = qp->rss->table;
	const uint32_t pdn = qp->pdn;
	struct dpa_layers v;
	struct dpa_rx_wqe w;
	struct dpa_hw_wq *wq;
	struct dpa_cqe e;
	uint32_t syn;

	dpa_frame_parse(payload, s->len, &v);
	wq = t->wq[dpa_rss_hash(&qp->rss->conf, &v) & t->mask];
	if (atomic_load_explicit(&wq->state, memory_order_acquire) != DPA_WQS_READY ||
	    !dpa_srq_take(&wq->rq, &w)) {
		count_dropped(qp, 0);
		return;
	}
	qp->pdn = wq->rq.pdn;
	syn = place_frame(qp, &w, s, payload);
	qp->pdn = pdn;
	e = raw_cqe_of(qp, wq->wqn, s, w.wr_id, syn);
	if (syn)
		frame_fails(qp, &e);
	else if (dpa_meters_are_on())
		dpa_qp_meter_rx(qp, 1, s->len);
	if (!dpa_cq_push(wq->rq.cq, &e) || (syn && syn != DPA_SYN_RECV_TOO_SMALL))
		dpa_wq_fail(wq);
}

void dpa_raw_rx(struct dpa_hw_qp *qp, const struct dpa_slot *s, const uint8_t *payload)
{
	struct dpa_rx_wqe *w = &qp->resp.wqe;
	struct dpa_cqe e;
	uint32_t syn;

	if (s->opcode != DPA_LINK_RAW || (s->flags & (DPA_PKT_PULL | DPA_PKT_IOV))) {
		count_dropped(qp, 0);
		return;
	}
	if (qp->rss) {
		spread_frame(qp, s, payload);
		return;
	}
	if (!dpa_take_rwqe(qp, w)) {
		count_dropped(qp, 0);
		return;
	}
	syn = place_frame(qp, w, s, payload);
	e = raw_cqe_of(qp, qp->qpn, s, w->wr_id, syn);
	if (syn)
		frame_fails(qp, &e);
	else if (dpa_meters_are_on())
		dpa_qp_meter_rx(qp, 1, s->len);
	dpa_qp_report(qp, qp->recv_cq, &e);
	if (syn && syn != DPA_SYN_RECV_TOO_SMALL)
		dpa_qp_to_error(qp);
}
