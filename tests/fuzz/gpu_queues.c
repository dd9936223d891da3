/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <stdlib.h>
#include "ctx/cq.h"
#include "gpu_queues.h"

#define MUST(x)                                                                                    \
	do {                                                                                       \
		if (!(x))                                                                          \
			abort();                                                                   \
	} while (0)

/* ------------------------------------------------------------------ both QPs */

void fuzz_reset(struct th_side *s)
{
	const struct dpa_qp_attr a = {.state = DPA_QPS_RESET};

	MUST(!dpa_hw_modify_qp(s->qp, &a, DPA_QPM_STATE));
	s->pi = s->rpi = 0;
	memset(&s->dbrec, 0, sizeof(s->dbrec));
}

void fuzz_connect(struct fuzz *f, struct th_side *s)
{
	struct dpa_qp_attr a = {.access = TH_ALL,
				.dest_qpn = s->other->qp->qpn,
				.av = {.is_global = 1},
				.port = 1,
				.path_mtu = 3,
				.max_rd_atomic = 4,
				.max_dest_rd_atomic = 4};
	uint32_t mask = DPA_QPM_STATE | DPA_QPM_ACCESS | DPA_QPM_RQ_PSN | DPA_QPM_SQ_PSN |
			DPA_QPM_DEST_QPN | DPA_QPM_AV | DPA_QPM_PORT | DPA_QPM_PATH_MTU |
			DPA_QPM_TIMEOUT | DPA_QPM_RETRY_CNT | DPA_QPM_RNR_RETRY |
			DPA_QPM_MIN_RNR_TIMER | DPA_QPM_MAX_RD_ATOMIC | DPA_QPM_MAX_DEST_RD_ATOMIC;

	memcpy(a.av.dgid, th_gid[0], 16);
	for (a.state = DPA_QPS_INIT; a.state <= DPA_QPS_RTS; a.state++, mask = DPA_QPM_STATE)
		MUST(!dpa_hw_modify_qp(s->qp, &a, mask));
	if (f->kind & KIND_WIRE)
		dpa_qp_set_flags(s->qp, dpa_pkt_mtu_flags(s->qp->mtu));
}

/* --------------------------------------------------------------------- memory */

static void make_memory(struct gpu_queues *g)
{
	static const uint8_t none[GPU_SRQ];

	g->m = aligned_alloc(64, sizeof(*g->m));
	g->seen_sq = calloc(1, sizeof(g->m->sq));
	g->seen_srq = calloc(1, sizeof(g->m->srq));
	MUST(g->m && g->seen_sq && g->seen_srq);
	memset(g->m, 0, sizeof(*g->m));
	memcpy(g->m->srq, none, sizeof(none));
	th_fill(g->m->g0, GPU_GUARD, 10);
	th_fill(g->m->g1, GPU_GUARD, 11);
	th_fill(g->m->g2, GPU_GUARD, 12);
	th_fill(g->m->g3, GPU_GUARD, 13);
	th_fill(g->m->g4, GPU_GUARD, 14);
	th_fill(g->m->g5, GPU_GUARD, 15);
}

void gpu_queues_check(const struct gpu_queues *g)
{
	MUST(th_check(g->m->g0, GPU_GUARD, 10) && th_check(g->m->g1, GPU_GUARD, 11));
	MUST(th_check(g->m->g2, GPU_GUARD, 12) && th_check(g->m->g3, GPU_GUARD, 13));
	MUST(th_check(g->m->g4, GPU_GUARD, 14) && th_check(g->m->g5, GPU_GUARD, 15));
	MUST(!memcmp(g->seen_sq, g->m->sq, sizeof(g->m->sq)));
	MUST(!memcmp(g->seen_srq, g->m->srq, sizeof(g->m->srq)));
}

void gpu_queues_write(struct gpu_queues *g, uint8_t *queue, size_t size, size_t at,
		      const uint8_t *p, size_t n)
{
	at %= size;
	n = n < size - at ? n : size - at;
	memcpy(queue + at, p, n);
	memcpy(g->seen_sq, g->m->sq, sizeof(g->m->sq));
	memcpy(g->seen_srq, g->m->srq, sizeof(g->m->srq));
}

/* ------------------------------------------------------------------- objects */

static struct dpa_hw_cq *make_cq(struct gpu_queues *g, struct fuzz *f, struct dpa_cqe *buf)
{
	const struct dpa_cq_attr a = {
		.buf = buf, .ci = &g->zero, .log_size = GPU_LOG_CQ, .flags = DPA_CQ_IGNORE_OVERRUN};
	struct dpa_hw_cq *cq;
	uint32_t cqn;

	MUST(!dpa_hw_create_cq(&f->th->ctx, &a, &cq, &cqn));
	return cq;
}

static void make_srq(struct gpu_queues *g, struct fuzz *f)
{
	const struct dpa_srq_attr a = {.pdn = f->th->pdn,
				       .max_sge = 1,
				       .log_size = GPU_LOG_SRQ,
				       .buf = g->m->srq,
				       .dbrec = &g->m->srq_rec};
	uint32_t srqn;

	_Static_assert(sizeof(struct dpa_rwqe) + sizeof(struct dpa_sge) == 32, "a receive");
	MUST(dpa_rwqe_stride(1) << GPU_LOG_SRQ == GPU_SRQ);
	MUST(!dpa_hw_create_srq(&f->th->ctx, &a, &g->srq, &srqn));
}

static void make_qp(struct gpu_queues *g, struct fuzz *f)
{
	const struct dpa_qp_attr_create a = {.type = DPA_QP_RC,
					     .pdn = f->th->pdn,
					     .log_sq = TH_LOG_SQ,
					     .send_cq = g->scq,
					     .recv_cq = g->rcq,
					     .srq = g->srq,
					     .sq = g->m->sq,
					     .dbrec = &f->th->a.dbrec};
	struct dpa_qp_info info;

	MUST(!dpa_hw_create_qp(&f->th->ctx, &a, &f->th->a.qp, &info));
}

void gpu_queues_make(struct gpu_queues *g, struct fuzz *f)
{
	struct th_side *a = &f->th->a, *b = &f->th->b;

	memset(g, 0, sizeof(*g));
	make_memory(g);
	MUST(!dpa_hw_destroy_qp(a->qp));
	g->scq = make_cq(g, f, g->m->scq);
	g->rcq = make_cq(g, f, g->m->rcq);
	make_srq(g, f);
	make_qp(g, f);
	g->sq = a->sq;
	a->sq = g->m->sq;
	f->qp[0] = a->qp;
	a->pi = 0;
	memset(&a->dbrec, 0, sizeof(a->dbrec));
	fuzz_reset(b);
	fuzz_connect(f, a);
	fuzz_connect(f, b);
}

void gpu_queues_free(struct gpu_queues *g, struct fuzz *f)
{
	MUST(!dpa_hw_destroy_qp(f->th->a.qp));
	f->th->a.qp = NULL;
	f->th->a.sq = g->sq;
	MUST(!dpa_hw_destroy_srq(g->srq));
	MUST(!dpa_hw_destroy_cq(g->scq));
	MUST(!dpa_hw_destroy_cq(g->rcq));
	free(g->m);
	free(g->seen_sq);
	free(g->seen_srq);
}

/* --------------------------------------------------------------------- use */

static void drain(struct gpu_queues *g, const struct dpa_hw_cq *cq, uint32_t *ci, uint32_t qpn)
{
	for (; *ci != cq->pi; (*ci)++) {
		const struct dpa_cqe *e = &cq->buf[*ci & ((1u << GPU_LOG_CQ) - 1)];

		MUST(cq->pi - *ci <= 1u << GPU_LOG_CQ);
		MUST(e->owner == dpa_cqe_owner(*ci, GPU_LOG_CQ) && e->qpn == qpn);
		g->failed += e->status != DPA_CQE_OK;
	}
}

void gpu_queues_drain(struct gpu_queues *g, struct fuzz *f)
{
	drain(g, g->scq, &g->scq_ci, f->th->a.qp->qpn);
	drain(g, g->rcq, &g->rcq_ci, f->th->a.qp->qpn);
}

void gpu_queues_recv(struct gpu_queues *g, struct fuzz *f, uint64_t wr_id, uint32_t len)
{
	const struct dpa_rwqe w = {.wr_id = wr_id, .nsge = 1};
	const struct dpa_sge s = {(uintptr_t)f->th->a.mem, len, f->th->a.key};
	const uint32_t ci = g->srq->ci, at = (ci & ((1u << GPU_LOG_SRQ) - 1)) * 32;

	gpu_queues_write(g, g->m->srq, GPU_SRQ, at, (const uint8_t *)&w, sizeof(w));
	gpu_queues_write(g, g->m->srq, GPU_SRQ, at + sizeof(w), (const uint8_t *)&s, sizeof(s));
	__atomic_store_n(&g->m->srq_rec.rq_pi, ci + 1, __ATOMIC_RELEASE);
}
