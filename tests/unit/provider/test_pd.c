/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_pd.c - thread domains and parent domains: omitted locks, references, and memory from the
 * application.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include "control/control.h"
#include "fake_hw.h"

static struct ibv_pd *parent_of(struct ibv_pd *pd, struct ibv_td *td)
{
	struct ibv_parent_domain_init_attr a = {.pd = pd, .td = td};

	return ibv_alloc_parent_domain(pd->context, &a);
}

static struct ibv_qp *qp_in(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr a = {
		.qp_type = IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};

	return ibv_create_qp(pd, &a);
}

Test(pd, thread_domain_drops_locks)
{
	struct ibv_context *ctx = fake_open();
	struct ibv_pd *pd = ibv_alloc_pd(ctx), *plain, *single;
	struct ibv_td_init_attr ta = {.comp_mask = 0};
	struct ibv_td *td = ibv_alloc_td(ctx, &ta);
	struct ibv_cq *cq = ibv_create_cq(ctx, 4, NULL, NULL, 0);
	struct ibv_srq_init_attr sa = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_qp *qp;
	struct ibv_srq *srq;

	plain = parent_of(pd, NULL);
	single = parent_of(pd, td);
	cr_assert(plain && single);
	qp = qp_in(plain, cq);
	cr_expect(!to_dpa_qp(qp)->sq.lock.single && !to_dpa_qp(qp)->rq.lock.single);
	ibv_destroy_qp(qp);
	qp = qp_in(single, cq);
	cr_expect(to_dpa_qp(qp)->sq.lock.single && to_dpa_qp(qp)->rq.lock.single);
	/* the lock is not used at all: even a taken one does not block */
	to_dpa_qp(qp)->sq.lock.taken = 1;
	fake_to_rts(qp);
	cr_expect_eq(ibv_post_send(qp,
				   &(struct ibv_send_wr){.opcode = IBV_WR_SEND,
							 .send_flags = IBV_SEND_SIGNALED},
				   &(struct ibv_send_wr *){NULL}),
		     0);
	cr_expect_eq(to_dpa_qp(qp)->sq.lock.taken, 1);
	ibv_destroy_qp(qp);
	srq = ibv_create_srq(single, &sa);
	cr_expect(to_dpa_srq(srq)->lock.single);
	ibv_destroy_srq(srq);
	cr_expect_eq(ibv_dealloc_td(td), EBUSY);
	cr_expect_eq(ibv_dealloc_pd(pd), EBUSY);
	cr_expect_eq(ibv_dealloc_pd(single), 0);
	cr_expect_eq(ibv_dealloc_td(td), 0);
	cr_expect_eq(ibv_dealloc_pd(plain), 0);
	cr_expect_eq(ibv_dealloc_pd(pd), 0);
	ibv_destroy_cq(cq);
	ibv_close_device(ctx);
}

Test(pd, parent_arguments)
{
	struct ibv_context *ctx = fake_open(), *other = fake_open();
	struct ibv_pd *pd = ibv_alloc_pd(ctx), *foreign = ibv_alloc_pd(other), *p;
	struct ibv_parent_domain_init_attr a = {.pd = NULL};
	struct ibv_cq_init_attr_ex ca = {
		.cqe = 4, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD, .parent_domain = pd};

	cr_expect_null(ibv_alloc_parent_domain(ctx, &a));
	cr_expect_eq(errno, EINVAL);
	a.pd = foreign;
	cr_expect_null(ibv_alloc_parent_domain(ctx, &a));
	cr_expect_eq(errno, EINVAL);
	a.pd = pd;
	a.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
	cr_expect_null(ibv_alloc_parent_domain(ctx, &a), "no allocator");
	cr_expect_eq(errno, EINVAL);
	a.comp_mask = 1 << 5;
	cr_expect_null(ibv_alloc_parent_domain(ctx, &a));
	cr_expect_eq(errno, EINVAL);
	p = parent_of(pd, NULL);
	cr_expect_null(parent_of(p, NULL), "a parent of a parent");
	cr_expect_eq(errno, EINVAL);
	cr_expect_null(dpa_ctl_create_cq_ex(ctx, &ca), "a plain PD");
	cr_expect_eq(errno, EINVAL);
	cr_expect_eq(ibv_dealloc_pd(p), 0);
	cr_expect_eq(ibv_dealloc_pd(pd), 0);
	cr_expect_eq(ibv_dealloc_pd(foreign), 0);
	ibv_close_device(other);
	ibv_close_device(ctx);
}

Test(pd, device_memory_in_a_child)
{
	struct ibv_alloc_dm_attr a = {.length = 64};
	struct ibv_context *ctx = fake_open();
	struct ibv_dm *ours = ibv_alloc_dm(ctx, &a), *own;
	uint32_t v = 0x1234, back = 0;

	cr_assert(ours);
	cr_expect_eq(ibv_memcpy_to_dm(ours, 60, &v, 4), 0);
	cr_expect_eq(ibv_memcpy_to_dm(ours, 64, &v, 4), EINVAL);
	*(uint32_t *)(uintptr_t)to_dpa_ctx(ctx)->alive = 0; /* as in a forked child */
	own = ibv_alloc_dm(ctx, &a);
	cr_assert(own, "its own");
	cr_expect_eq(ibv_memcpy_to_dm(own, 4, &v, 4), 0);
	cr_expect_eq(ibv_memcpy_from_dm(&back, own, 4, 4), 0);
	cr_expect_eq(back, v);
	cr_expect_eq(ibv_memcpy_from_dm(&back, ours, 60, 4), EIO, "its parent's");
	cr_expect_eq(ibv_free_dm(own), 0);
	cr_expect_eq(ibv_free_dm(ours), 0);
	cr_expect_eq(fake.dms, 1, "the parent's is not freed");
	a.length = DPA_MAX_DM + 1ull;
	cr_expect_null(ibv_alloc_dm(ctx, &a));
	cr_expect_eq(errno, ENOMEM);
}
