/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* foreign_two.h - two QPs of the harness, with memory of foreign_mem.h on either side. */
#ifndef DPA_TEST_FOREIGN_TWO_H
#define DPA_TEST_FOREIGN_TWO_H

#include "foreign_mem.h"
#include "harness.h"
#include "foreign/foreign.h"

enum { SIZE = 4 << 20 };

struct two {
	struct th *th;
	struct fm a, b; /* memory of either side */
};

static inline void begin(struct two *t, const struct th_opt *opt)
{
	t->th = th_new(opt);
	fm_new(&t->a, SIZE);
	fm_new(&t->b, SIZE);
	cr_assert_eq(fm_reg(&t->a, &t->th->ctx, t->th->pdn, TH_ALL), 0);
	cr_assert_eq(fm_reg(&t->b, &t->th->ctx, t->th->pdn, TH_ALL), 0);
}

static inline void end(struct two *t)
{
	if (t->th->a.qp)
		dpa_hw_destroy_qp(t->th->a.qp);
	dpa_hw_destroy_qp(t->th->b.qp);
	t->th->a.qp = t->th->b.qp = NULL;
	cr_expect_eq(dpa_hw_dereg_mr(&t->th->ctx, t->a.key), 0);
	cr_expect_eq(dpa_hw_dereg_mr(&t->th->ctx, t->b.key), 0);
	fm_free(&t->a);
	fm_free(&t->b);
	th_free(t->th);
}

static inline struct dpa_sge sge_of(const struct fm *m, uint32_t off, uint32_t len)
{
	return (struct dpa_sge){(uintptr_t)m->view + off, len, m->key};
}

/* The copying thread has work of the QP: time does not advance meanwhile. */
static inline bool is_copying(struct dpa_hw_qp *qp)
{
	bool is;

	dpa_qplock_lock(&qp->lock);
	dpa_spin_lock(&qp->hw->foreigns->lock);
	is = qp->fq && (qp->fq->held || qp->fq->busy || dpa_gets_left(qp->fq));
	dpa_spin_unlock(&qp->hw->foreigns->lock);
	dpa_qp_leave(qp);
	return is;
}

/* Move packets until there is a completion. */
static inline struct dpa_cqe until_cqe(struct two *t, struct th_cq *cq)
{
	struct dpa_cqe e;

	while (!th_poll(cq, &e)) {
		th_settle(t->th);
		if (!is_copying(t->th->a.qp) && !is_copying(t->th->b.qp))
			th_tick(t->th);
		sched_yield();
	}
	return e;
}

static inline void expect_ok(struct two *t, struct th_cq *cq, uint32_t len)
{
	struct dpa_cqe e = until_cqe(t, cq);

	cr_assert_eq(e.status, DPA_CQE_OK, "status %u, reason %#x", e.status, e.vendor_err);
	if (len)
		cr_expect_eq(e.byte_len, len);
}

static inline void post(struct two *t, struct th_side *s, struct th_wr wr)
{
	wr.flags |= DPA_WQE_SIGNALED;
	cr_assert(th_post(s, &wr));
	th_ring(s);
}

static inline struct th_wr one_sided(struct two *t, uint8_t op, uint32_t off, uint32_t len)
{
	return (struct th_wr){.op = op,
			      .nsge = 1,
			      .sge = {sge_of(&t->a, off, len)},
			      .raddr = (uintptr_t)t->b.view + off,
			      .rkey = t->b.key};
}

static inline uint32_t puts_of(struct dpa_hw_qp *qp)
{
	uint32_t n;

	dpa_qplock_lock(&qp->lock);
	n = qp->fq ? qp->fq->put_head : 0;
	dpa_qp_leave(qp);
	return n;
}

struct late {
	struct two *t;
	_Atomic bool done;
	void (*act)(struct two *t);
};

static inline void *late_main(void *arg)
{
	struct late *l = arg;

	l->act(l->t);
	atomic_store(&l->done, true);
	return NULL;
}

static inline void fail_qp(struct two *t)
{
	struct dpa_qp_attr a = {.state = DPA_QPS_ERR};

	cr_assert_eq(dpa_hw_modify_qp(t->th->b.qp, &a, DPA_QPM_STATE), 0);
}

#endif
