/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_control.c - the rules of all control verbs: errno, and objects whose handle or context the
 * caller has changed. One list has every verb of the table with a call that fails; the test checks
 * the table member by member, so a verb that is added without a call is a failure.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "control/control.h"
#include "fake_hw.h"

#define LEFT_ALONE 4711 /* value of errno before a call */
#define GARBLED	   0xdeadbeefu

/* One object of each kind, in one context. */
static struct all {
	struct ibv_context *ctx;
	struct ibv_pd *pd, *imported_pd;
	struct ibv_td *td;
	struct ibv_xrcd *xrcd;
	struct ibv_mr *mr, *imported_mr;
	struct ibv_mw *mw;
	struct ibv_dm *dm, *imported_dm;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_qp *qp, *raw;
	struct ibv_ah *ah;
	struct ibv_wq *wq;
	struct ibv_rwq_ind_table *table;
	struct ibv_counters *counters;
	struct ibv_flow *flow;
} a, other;

static char memory[4096];

static struct ibv_qp *qp_of(struct all *o, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr q = {
		.qp_type = type, .send_cq = o->cq, .recv_cq = o->cq, .cap = {1, 1, 1, 1, 0}};

	return ibv_create_qp(o->pd, &q);
}

static void make(struct all *o)
{
	struct ibv_td_init_attr td = {.comp_mask = 0};
	struct ibv_xrcd_init_attr xa = {.comp_mask =
						IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
					.fd = -1,
					.oflags = O_CREAT};
	struct ibv_alloc_dm_attr dm = {.length = 64};
	struct ibv_srq_init_attr sa = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_ah_attr aa = {.is_global = 1, .port_num = 1};
	struct ibv_wq_init_attr wa = {.wq_type = IBV_WQT_RQ, .max_wr = 4, .max_sge = 1};
	struct ibv_rwq_ind_table_init_attr ta = {.ind_tbl = &o->wq};
	struct ibv_counters_init_attr ca = {.comp_mask = 0};
	struct ibv_flow_attr fa = {.port = 1};

	o->ctx = fake_open();
	o->pd = ibv_alloc_pd(o->ctx);
	o->imported_pd = ibv_import_pd(o->ctx, o->pd->handle);
	o->td = ibv_alloc_td(o->ctx, &td);
	o->xrcd = ibv_open_xrcd(o->ctx, &xa);
	o->mr = ibv_reg_mr(o->pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	o->imported_mr = ibv_import_mr(o->pd, o->mr->handle);
	o->mw = ibv_alloc_mw(o->pd, IBV_MW_TYPE_1);
	o->dm = ibv_alloc_dm(o->ctx, &dm);
	o->imported_dm = ibv_import_dm(o->ctx, o->dm->handle);
	o->cq = ibv_create_cq(o->ctx, 4, NULL, NULL, 0);
	o->srq = ibv_create_srq(o->pd, &sa);
	o->qp = qp_of(o, IBV_QPT_RC);
	o->raw = qp_of(o, IBV_QPT_RAW_PACKET);
	o->ah = ibv_create_ah(o->pd, &aa);
	wa.pd = o->pd;
	wa.cq = o->cq;
	o->wq = ibv_create_wq(o->ctx, &wa);
	o->table = ibv_create_rwq_ind_table(o->ctx, &ta);
	o->counters = ibv_create_counters(o->ctx, &ca);
	o->flow = ibv_create_flow(o->raw, &fa);
	cr_assert(o->pd && o->imported_pd && o->td && o->xrcd && o->mr && o->imported_mr && o->mw);
	cr_assert(o->dm && o->imported_dm && o->cq && o->srq && o->qp && o->raw && o->ah);
	cr_assert(o->wq && o->table && o->counters && o->flow);
}

static void end(struct all *o)
{
	cr_expect_eq(ibv_destroy_flow(o->flow), 0);
	cr_expect_eq(ibv_destroy_counters(o->counters), 0);
	cr_expect_eq(ibv_destroy_rwq_ind_table(o->table), 0);
	cr_expect_eq(ibv_destroy_wq(o->wq), 0);
	cr_expect_eq(ibv_destroy_ah(o->ah), 0);
	cr_expect_eq(ibv_destroy_qp(o->raw), 0);
	cr_expect_eq(ibv_destroy_qp(o->qp), 0);
	cr_expect_eq(ibv_destroy_srq(o->srq), 0);
	cr_expect_eq(ibv_destroy_cq(o->cq), 0);
	ibv_unimport_dm(o->imported_dm);
	cr_expect_eq(ibv_free_dm(o->dm), 0);
	cr_expect_eq(ibv_dealloc_mw(o->mw), 0);
	ibv_unimport_mr(o->imported_mr);
	cr_expect_eq(ibv_dereg_mr(o->mr), 0);
	cr_expect_eq(ibv_close_xrcd(o->xrcd), 0);
	cr_expect_eq(ibv_dealloc_td(o->td), 0);
	ibv_unimport_pd(o->imported_pd);
	cr_expect_eq(ibv_dealloc_pd(o->pd), 0);
	cr_expect_eq(ibv_close_device(o->ctx), 0);
}

static void setup(void)
{
	make(&a);
	make(&other);
}

static void teardown(void)
{
	end(&a);
	end(&other);
	cr_expect_eq(fake.mrs | fake.mws | fake.cqs | fake.srqs | fake.qps | fake.pds | fake.dms,
		     0);
}

TestSuite(control, .init = setup, .fini = teardown);

/* --------------------------------------------------- a call of each that fails */

#define OPS	      (&dpa_ctx_ops)
/* Call a verb that returns a pointer like one that returns an errno. */
#define POINTER(call) ((call) ? 0 : errno)

static struct ibv_td_init_attr td_attr = {.comp_mask = 1};
static struct ibv_xrcd_init_attr xrcd_attr = {.comp_mask = 0};
static struct ibv_sge sge;
static uint64_t values[1];
static struct ibv_port_attr port_attr;
static struct ibv_device_attr_ex device_attr;

/* Verbs that are called on a context, with a wrong argument. */
#define ON_CONTEXT(X)                                                                              \
	X(alloc_dm, POINTER(OPS->alloc_dm(a.ctx, &(struct ibv_alloc_dm_attr){.comp_mask = 1})))    \
	X(alloc_parent_domain,                                                                     \
	  POINTER(OPS->alloc_parent_domain(a.ctx, &(struct ibv_parent_domain_init_attr){           \
							  .pd = a.pd, .comp_mask = 1 << 30})))     \
	X(alloc_td, POINTER(OPS->alloc_td(a.ctx, &td_attr)))                                       \
	X(create_counters,                                                                         \
	  POINTER(OPS->create_counters(a.ctx, &(struct ibv_counters_init_attr){.comp_mask = 1})))  \
	X(create_cq, POINTER(OPS->create_cq(a.ctx, 0, NULL, 0)))                                   \
	X(create_cq_ex,                                                                            \
	  POINTER(OPS->create_cq_ex(a.ctx, &(struct ibv_cq_init_attr_ex){.wc_flags = ~0ull})))     \
	X(create_qp_ex,                                                                            \
	  POINTER(OPS->create_qp_ex(a.ctx, &(struct ibv_qp_init_attr_ex){.comp_mask = 1 << 30})))  \
	X(create_rwq_ind_table,                                                                    \
	  POINTER(OPS->create_rwq_ind_table(                                                       \
		  a.ctx, &(struct ibv_rwq_ind_table_init_attr){.comp_mask = 1 << 30})))            \
	X(create_srq_ex, POINTER(OPS->create_srq_ex(                                               \
				 a.ctx, &(struct ibv_srq_init_attr_ex){.comp_mask = 1 << 30})))    \
	X(create_wq,                                                                               \
	  POINTER(OPS->create_wq(a.ctx, &(struct ibv_wq_init_attr){.comp_mask = 1 << 30})))        \
	X(import_dm, POINTER(OPS->import_dm(a.ctx, GARBLED)))                                      \
	X(import_pd, POINTER(OPS->import_pd(a.ctx, GARBLED)))                                      \
	X(open_qp, POINTER(OPS->open_qp(a.ctx, &(struct ibv_qp_open_attr){.comp_mask = 0})))       \
	X(open_xrcd, POINTER(OPS->open_xrcd(a.ctx, &xrcd_attr)))                                   \
	X(query_device_ex,                                                                         \
	  OPS->query_device_ex(a.ctx, &(struct ibv_query_device_ex_input){.comp_mask = 1},         \
			       &device_attr, sizeof(device_attr)))                                 \
	X(query_port, OPS->query_port(a.ctx, 2, &port_attr))                                       \
	X(query_rt_values,                                                                         \
	  OPS->query_rt_values(a.ctx, &(struct ibv_values_ex){.comp_mask = 1 << 30}))

/* Verbs that are called on an object with a public handle: name, that object, its handle, call. */
#define ON_OBJECT(X)                                                                               \
	X(advise_mr, a.pd, handle,                                                                 \
	  OPS->advise_mr(a.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1))                         \
	X(alloc_mw, a.pd, handle, POINTER(OPS->alloc_mw(a.pd, IBV_MW_TYPE_1)))                     \
	X(alloc_null_mr, a.pd, handle, POINTER(OPS->alloc_null_mr(a.pd)))                          \
	X(attach_mcast, a.qp, handle, OPS->attach_mcast(a.qp, &(union ibv_gid){.raw = {0}}, 0))    \
	X(create_ah, a.pd, handle,                                                                 \
	  POINTER(OPS->create_ah(a.pd, &(struct ibv_ah_attr){.is_global = 1, .port_num = 1})))     \
	X(create_flow, a.raw, handle,                                                              \
	  POINTER(OPS->create_flow(a.raw, &(struct ibv_flow_attr){.port = 1})))                    \
	X(create_qp, a.pd, handle, POINTER(qp_of(&a, IBV_QPT_RC)))                                 \
	X(create_srq, a.pd, handle,                                                                \
	  POINTER(OPS->create_srq(a.pd, &(struct ibv_srq_init_attr){.attr = {4, 1, 0}})))          \
	X(dealloc_mw, a.mw, handle, OPS->dealloc_mw(a.mw))                                         \
	X(dealloc_pd, a.pd, handle, OPS->dealloc_pd(a.pd))                                         \
	X(dereg_mr, a.mr, handle, OPS->dereg_mr(verbs_get_mr(a.mr)))                               \
	X(destroy_ah, a.ah, handle, OPS->destroy_ah(a.ah))                                         \
	X(destroy_cq, a.cq, handle, OPS->destroy_cq(a.cq))                                         \
	X(destroy_flow, a.flow, handle, OPS->destroy_flow(a.flow))                                 \
	X(destroy_qp, a.qp, handle, OPS->destroy_qp(a.qp))                                         \
	X(destroy_rwq_ind_table, a.table, ind_tbl_handle, OPS->destroy_rwq_ind_table(a.table))     \
	X(destroy_srq, a.srq, handle, OPS->destroy_srq(a.srq))                                     \
	X(destroy_wq, a.wq, handle, OPS->destroy_wq(a.wq))                                         \
	X(detach_mcast, a.qp, handle, OPS->detach_mcast(a.qp, &(union ibv_gid){.raw = {0}}, 0))    \
	X(free_dm, a.dm, handle, OPS->free_dm(a.dm))                                               \
	X(get_srq_num, a.srq, handle, OPS->get_srq_num(a.srq, &(uint32_t){0}))                     \
	X(import_mr, a.pd, handle, POINTER(OPS->import_mr(a.pd, a.mr->handle)))                    \
	X(modify_cq, a.cq, handle, OPS->modify_cq(a.cq, &(struct ibv_modify_cq_attr){0}))          \
	X(modify_qp, a.qp, handle,                                                                 \
	  OPS->modify_qp(a.qp, &(struct ibv_qp_attr){.qp_state = IBV_QPS_RESET}, IBV_QP_STATE))    \
	X(modify_qp_rate_limit, a.qp, handle,                                                      \
	  OPS->modify_qp_rate_limit(a.qp, &(struct ibv_qp_rate_limit_attr){0}))                    \
	X(modify_srq, a.srq, handle,                                                               \
	  OPS->modify_srq(a.srq, &(struct ibv_srq_attr){.srq_limit = 1}, IBV_SRQ_LIMIT))           \
	X(modify_wq, a.wq, handle,                                                                 \
	  OPS->modify_wq(a.wq, &(struct ibv_wq_attr){.attr_mask = IBV_WQ_ATTR_STATE,               \
						     .wq_state = IBV_WQS_RDY}))                    \
	X(query_ece, a.qp, handle, OPS->query_ece(a.qp, &(struct ibv_ece){0}))                     \
	X(query_qp, a.qp, handle,                                                                  \
	  OPS->query_qp(a.qp, &(struct ibv_qp_attr){0}, 0, &(struct ibv_qp_init_attr){0}))         \
	X(query_srq, a.srq, handle, OPS->query_srq(a.srq, &(struct ibv_srq_attr){0}))              \
	X(reg_dm_mr, a.dm, handle,                                                                 \
	  POINTER(OPS->reg_dm_mr(a.pd, a.dm, 0, 64, IBV_ACCESS_ZERO_BASED)))                       \
	X(reg_dmabuf_mr, a.pd, handle, POINTER(OPS->reg_dmabuf_mr(a.pd, 0, 64, 0, 0, 0)))          \
	X(reg_mr, a.pd, handle, POINTER(OPS->reg_mr(a.pd, memory, 64, 0, 0)))                      \
	X(req_notify_cq, a.cq, handle, OPS->req_notify_cq(a.cq, 0))                                \
	X(rereg_mr, a.mr, handle,                                                                  \
	  OPS->rereg_mr(verbs_get_mr(a.mr), IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0))         \
	X(resize_cq, a.cq, handle, OPS->resize_cq(a.cq, 8))                                        \
	X(set_ece, a.qp, handle, OPS->set_ece(a.qp, &(struct ibv_ece){0}))

/* Verbs on objects whose handle the library does not show: only its context can be changed. */
#define ON_BARE_OBJECT(X)                                                                          \
	X(attach_counters_point_flow, a.counters,                                                  \
	  OPS->attach_counters_point_flow(a.counters, &(struct ibv_counter_attach_attr){0}, NULL)) \
	X(close_xrcd, a.xrcd, OPS->close_xrcd(a.xrcd))                                             \
	X(dealloc_td, a.td, OPS->dealloc_td(a.td))                                                 \
	X(destroy_counters, a.counters, OPS->destroy_counters(a.counters))                         \
	X(read_counters, a.counters, OPS->read_counters(a.counters, values, 1, 0))

/* They return nothing that could fail, or need a failing device (alloc_pd). */
static const size_t elsewhere[] = {
#define AT(op) offsetof(struct verbs_context_ops, op)
	AT(alloc_pd),	 AT(unimport_dm),  AT(unimport_mr),
	AT(unimport_pd), AT(free_context), AT(query_qp_data_in_order),
	AT(bind_mw),	 AT(poll_cq),	   AT(post_recv),
	AT(post_send),	 AT(post_srq_ops), AT(post_srq_recv),
};

/* Newer libraries only. */
#ifdef DPA_HAVE_PORT_SPEED
#define PORT_SPEED(X) X(query_port_speed, OPS->query_port_speed(a.ctx, 1, values))
#else
#define PORT_SPEED(X)
#endif
#ifdef DPA_HAVE_COMP_CNTR
#define COMP_CNTR(X) X(query_comp_cntr_caps, OPS->query_comp_cntr_caps(a.ctx, NULL, 0))
#else
#define COMP_CNTR(X)
#endif

static const size_t listed[] = {
#define NAME(op, ...) AT(op),
	ON_CONTEXT(NAME) PORT_SPEED(NAME) COMP_CNTR(NAME) ON_OBJECT(NAME) ON_BARE_OBJECT(NAME)};

static bool in(size_t off, const size_t *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == off)
			return true;
	return false;
}

Test(control, every_verb_of_the_table_is_tried)
{
	for (size_t off = 0; off < sizeof(dpa_ctx_ops); off += sizeof(void *)) {
		const char *op = (const char *)&dpa_ctx_ops + off;
		static const char none[sizeof(void *)];
		size_t n = in(off, listed, sizeof(listed) / sizeof(listed[0])) +
			   in(off, elsewhere, sizeof(elsewhere) / sizeof(elsewhere[0]));

		cr_expect_eq(n, (size_t)(memcmp(op, none, sizeof(none)) != 0),
			     "the op at %zu has %zu entries in the lists here", off, n);
	}
}

/* `want` 0: any errno. */
static void failed(const char *op, int ret, int want)
{
	cr_expect(ret > 0, "%s: %d", op, ret);
	cr_expect_eq(errno, ret, "%s: returned %d, errno %d", op, ret, errno);
	if (want)
		cr_expect_eq(ret, want, "%s: %d", op, ret);
}

Test(control, a_verb_that_fails_sets_errno)
{
#define TRY(op, call)                                                                              \
	errno = LEFT_ALONE;                                                                        \
	failed(#op, (call), 0);                                                                    \
	cr_expect_neq(errno, LEFT_ALONE, #op);
	ON_CONTEXT(TRY)
	PORT_SPEED(TRY)
	COMP_CNTR(TRY)
	fake_fail_alloc_pd = ENOMEM;
	errno = LEFT_ALONE;
	failed("alloc_pd", POINTER(OPS->alloc_pd(a.ctx)), ENOMEM);
}

Test(control, a_changed_handle_is_enoent)
{
#define GARBLE(op, obj, member, call)                                                              \
	{                                                                                          \
		__typeof__((obj)->member) was = (obj)->member;                                     \
                                                                                                   \
		(obj)->member = (__typeof__(was))GARBLED;                                          \
		errno = LEFT_ALONE;                                                                \
		failed(#op, (call), ENOENT);                                                       \
		(obj)->member = was;                                                               \
	}
	ON_OBJECT(GARBLE)
	/* a verb without a result leaves the object alone: teardown frees it */
	a.imported_pd->handle ^= 1;
	ibv_unimport_pd(a.imported_pd);
	a.imported_pd->handle ^= 1;
	a.imported_mr->handle ^= 1;
	ibv_unimport_mr(a.imported_mr);
	a.imported_mr->handle ^= 1;
	a.imported_dm->handle ^= 1;
	ibv_unimport_dm(a.imported_dm);
	a.imported_dm->handle ^= 1;
}

/*
 * As in google's suite: the object is called by way of another context, which may have an object of
 * the same kind with the same handle.
 */
Test(control, a_changed_context_is_enoent)
{
#define MOVE(op, obj, call)                                                                        \
	(obj)->context = other.ctx;                                                                \
	errno = LEFT_ALONE;                                                                        \
	failed(#op, (call), ENOENT);                                                               \
	(obj)->context = a.ctx;
#define MOVE_TOO(op, obj, member, call) MOVE(op, obj, call)
	ON_BARE_OBJECT(MOVE)
#define SKIP_DM(op, obj, member, call)                                                             \
	if (AT(op) != AT(reg_dm_mr)) { /* the region's own context is the PD's */                  \
		MOVE(op, obj, call)                                                                \
	}
	ON_OBJECT(SKIP_DM)
}

/* Objects other than the one that the verb is called on. */
Test(control, a_changed_object_among_the_attributes_is_enoent)
{
	struct ibv_qp_init_attr q = {
		.qp_type = IBV_QPT_RC, .send_cq = a.cq, .recv_cq = a.cq, .cap = {1, 1, 1, 1, 0}};
	struct ibv_cq *cq = ibv_create_cq(a.ctx, 4, NULL, NULL, 0);
	struct ibv_wq_init_attr w = {
		.wq_type = IBV_WQT_RQ, .max_wr = 4, .max_sge = 1, .pd = a.pd, .cq = cq};
	struct ibv_srq_init_attr_ex s = {.attr = {4, 1, 0},
					 .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
					 .srq_type = IBV_SRQT_BASIC,
					 .pd = a.pd};

	cq->handle ^= 1;
	q.send_cq = cq;
	cr_expect_null(ibv_create_qp(a.pd, &q));
	cr_expect_eq(errno, ENOENT);
	q.send_cq = a.cq;
	q.recv_cq = cq;
	cr_expect_null(ibv_create_qp(a.pd, &q));
	cr_expect_eq(errno, ENOENT);
	cr_expect_null(ibv_create_wq(a.ctx, &w));
	cr_expect_eq(errno, ENOENT);
	cq->handle ^= 1;
	q.recv_cq = a.cq;
	q.srq = a.srq;
	a.srq->handle ^= 1;
	cr_expect_null(ibv_create_qp(a.pd, &q));
	cr_expect_eq(errno, ENOENT);
	a.srq->handle ^= 1;
	a.pd->handle ^= 1;
	cr_expect_null(ibv_create_srq_ex(a.ctx, &s));
	cr_expect_eq(errno, ENOENT);
	a.pd->handle ^= 1;
	cr_expect_eq(ibv_destroy_cq(cq), 0);
}

/* Post and poll never do; and they leave errno alone when they fail, too. */
Test(control, the_data_path_looks_nothing_up)
{
	struct ibv_recv_wr wr = {.num_sge = 0}, *bad;
	struct ibv_send_wr send = {.opcode = IBV_WR_SEND}, *bad_send;
	struct ibv_wc wc;

	a.cq->handle ^= 1;
	a.qp->handle ^= 1;
	a.srq->handle ^= 1;
	errno = LEFT_ALONE;
	cr_expect_eq(ibv_poll_cq(a.cq, 1, &wc), 0);
	cr_expect_eq(ibv_post_srq_recv(a.srq, &wr, &bad), 0);
	cr_expect_eq(ibv_post_send(a.qp, &send, &bad_send), EINVAL, "in RESET");
	cr_expect_eq(ibv_post_recv(a.qp, &wr, &bad), EINVAL, "in RESET");
	cr_expect_eq(errno, LEFT_ALONE);
	a.cq->handle ^= 1;
	a.qp->handle ^= 1;
	a.srq->handle ^= 1;
}

/* An inner step may fail: errno is not set by it. */
Test(control, a_verb_that_succeeds_leaves_errno_alone)
{
	struct ibv_port_attr p;
	struct ibv_mr *mr;

	fake.stray_errno = EINTR;
	errno = LEFT_ALONE;
	cr_expect_eq(ibv_query_port(a.ctx, 1, &p), 0);
	cr_expect_eq(errno, LEFT_ALONE);
	cr_expect_eq(ibv_req_notify_cq(a.cq, 0), 0);
	cr_expect_eq(errno, LEFT_ALONE);
	mr = ibv_reg_mr(a.pd, memory, 64, 0);
	cr_expect(mr);
	cr_expect_eq(errno, LEFT_ALONE);
	cr_expect_eq(ibv_dereg_mr(mr), 0);
	cr_expect_eq(errno, LEFT_ALONE);
	fake.stray_errno = 0;
}

/* The table of handles in use: it grows, entries move and are reused. */
Test(control, many_objects_come_and_go)
{
	enum { MANY = 5000 };
	static struct ibv_mw *mw[MANY];
	unsigned int seed = 1;

	for (int round = 0; round < 20 * MANY; round++) {
		int i = rand_r(&seed) % MANY;

		if (!mw[i]) {
			mw[i] = ibv_alloc_mw(a.pd, IBV_MW_TYPE_1);
			cr_assert(mw[i]);
			continue;
		}
		mw[i]->handle ^= 1;
		cr_assert_eq(ibv_dealloc_mw(mw[i]), ENOENT);
		mw[i]->handle ^= 1;
		cr_assert_eq(ibv_dealloc_mw(mw[i]), 0, "round %d", round);
		mw[i] = NULL;
	}
	for (int i = 0; i < MANY; i++)
		if (mw[i])
			cr_assert_eq(ibv_dealloc_mw(mw[i]), 0);
}

static _Atomic bool stop;

static void *looks_up(void *arg)
{
	while (!atomic_load(&stop))
		if (OPS->req_notify_cq(a.cq, 0))
			return arg;
	return NULL;
}

/* Look-ups take no lock: they find present objects while the table is rebuilt. */
Test(control, objects_are_found_while_others_come_and_go)
{
	enum { MANY = 300, ROUNDS = 100 };
	struct ibv_mw *mw[MANY];
	pthread_t t;
	void *lost;

	cr_assert_eq(pthread_create(&t, NULL, looks_up, a.cq), 0);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < MANY; i++) {
			mw[i] = ibv_alloc_mw(a.pd, IBV_MW_TYPE_1);
			cr_assert(mw[i]);
		}
		for (int i = 0; i < MANY; i++)
			cr_assert_eq(ibv_dealloc_mw(mw[i]), 0);
	}
	atomic_store(&stop, true);
	cr_assert_eq(pthread_join(t, &lost), 0);
	cr_expect_null(lost, "ENOENT of a CQ that is there");
}

/* ------------------------------------------------------- single verbs' own */

Test(control, a_pd_with_an_ah_is_busy)
{
	struct ibv_pd *pd = ibv_alloc_pd(a.ctx);
	struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1};
	struct ibv_ah *ah = ibv_create_ah(pd, &attr);

	cr_assert(ah);
	cr_expect_eq(ibv_dealloc_pd(pd), EBUSY);
	cr_expect_eq(errno, EBUSY);
	cr_expect_eq(ibv_destroy_ah(ah), 0);
	cr_expect_eq(ibv_dealloc_pd(pd), 0);
}

/* librdmacm reads it back. Only the domain counts: the PD can be freed at any time. */
Test(control, an_xrc_target_keeps_its_pd_as_a_pointer_only)
{
	struct ibv_pd *pd = ibv_alloc_pd(a.ctx);
	struct ibv_qp_init_attr_ex q = {.qp_type = IBV_QPT_XRC_RECV,
					.comp_mask = IBV_QP_INIT_ATTR_XRCD | IBV_QP_INIT_ATTR_PD,
					.pd = pd,
					.xrcd = a.xrcd,
					.recv_cq = a.cq,
					.cap = {.max_recv_wr = 1, .max_recv_sge = 1}};
	struct ibv_qp *qp = ibv_create_qp_ex(a.ctx, &q);

	cr_assert(qp);
	cr_expect_eq(qp->pd, pd);
	cr_expect_eq(ibv_dealloc_pd(pd), 0);
	cr_expect_eq(ibv_destroy_qp(qp), 0);
	q.comp_mask = IBV_QP_INIT_ATTR_XRCD;
	qp = ibv_create_qp_ex(a.ctx, &q);
	cr_assert(qp);
	cr_expect_null(qp->pd);
	cr_expect_eq(ibv_destroy_qp(qp), 0);
}

static int walk(struct ibv_qp *qp, struct ibv_qp_attr a_)
{
	int ret;

	a_.qp_state = IBV_QPS_INIT;
	a_.port_num = 1;
	a_.path_mtu = IBV_MTU_1024;
	a_.ah_attr.is_global = a_.ah_attr.port_num = 1;
	ret = ibv_modify_qp(qp, &a_,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	a_.qp_state = IBV_QPS_RTR;
	if (!ret)
		ret = ibv_modify_qp(qp, &a_,
				    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					    IBV_QP_MIN_RNR_TIMER);
	a_.qp_state = IBV_QPS_RTS;
	if (!ret)
		ret = ibv_modify_qp(qp, &a_,
				    IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
					    IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					    IBV_QP_MAX_QP_RD_ATOMIC);
	return ret;
}

/*
 * As perftest -c XRC passes them: the attributes of an RC QP, to both ends. Those of the other end
 * are dropped before they are checked: their values here are out of any range.
 */
Test(control, xrc_attributes_of_the_other_end_are_dropped)
{
	const struct ibv_qp_attr as_ini = {.max_dest_rd_atomic = 255, .min_rnr_timer = 255};
	const struct ibv_qp_attr as_tgt = {
		.max_rd_atomic = 255, .retry_cnt = 255, .rnr_retry = 255};
	struct ibv_qp_init_attr_ex t = {
		.qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = a.xrcd};
	struct ibv_qp_init_attr i = {.qp_type = IBV_QPT_XRC_SEND,
				     .send_cq = a.cq,
				     .cap = {.max_send_wr = 1, .max_send_sge = 1}};
	struct ibv_qp *ini = ibv_create_qp(a.pd, &i), *tgt = ibv_create_qp_ex(a.ctx, &t);

	cr_assert(ini && tgt);
	cr_expect_eq(walk(a.qp, as_ini), EINVAL, "of RC they count");
	cr_expect_eq(walk(ini, as_ini), 0);
	cr_expect_eq(walk(tgt, as_tgt), 0);
	cr_expect_eq(walk(ini, as_tgt), EINVAL, "its own count");
	cr_expect_eq(ibv_destroy_qp(tgt), 0);
	cr_expect_eq(ibv_destroy_qp(ini), 0);
}

/* librdmacm's rdma_create_ep() passes the capabilities of an RC QP on. libmlx4 reports 0, too. */
Test(control, an_xrc_initiator_has_no_receive_queue)
{
	struct ibv_qp_init_attr i = {.qp_type = IBV_QPT_XRC_SEND,
				     .send_cq = a.cq,
				     .recv_cq = a.cq,
				     .cap = {1, UINT32_MAX, 1, UINT32_MAX, 0}};
	struct ibv_recv_wr wr = {.wr_id = 1}, *bad;
	struct ibv_qp *qp = ibv_create_qp(a.pd, &i);

	cr_assert(qp, "%s", strerror(errno));
	cr_expect_eq(i.cap.max_recv_wr, 0);
	cr_expect_eq(i.cap.max_recv_sge, 0);
	cr_expect_neq(ibv_post_recv(qp, &wr, &bad), 0);
	cr_expect_eq(ibv_destroy_qp(qp), 0);
}

/* ------------------------------------------------------ flags that are not known */

static int create_flags(uint32_t flags)
{
	struct ibv_qp_init_attr_ex q = {.qp_type = IBV_QPT_RC,
					.comp_mask =
						IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
					.create_flags = flags,
					.pd = a.pd,
					.send_cq = a.cq,
					.recv_cq = a.cq,
					.cap = {1, 1, 1, 1, 0}};

	return POINTER(ibv_create_qp_ex(a.ctx, &q));
}

static int parent(uint32_t comp_mask)
{
	struct ibv_parent_domain_init_attr p = {.pd = a.pd, .comp_mask = comp_mask};

	return POINTER(ibv_alloc_parent_domain(a.ctx, &p));
}

/* The table of docs/conformance.md, "Flags that are not known". */
Test(control, flags_that_are_not_known)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};
	struct ibv_mr *mr;

	cr_expect_eq(POINTER(OPS->reg_mr(a.pd, memory, 64, 0, 1 << 10)), EINVAL);
	cr_expect_eq(POINTER(OPS->reg_mr(a.pd, memory, 64, 0, 1 << 30)), EINVAL);
	for (int bit = 20; bit < 30; bit++) {
		mr = OPS->reg_mr(a.pd, memory, 64, 0, 1 << bit);
		cr_expect(mr, "optional bit %d: %d", bit, errno);
		cr_expect_eq(OPS->dereg_mr(verbs_get_mr(mr)), 0);
	}
	for (int bit = 0; bit < 32; bit++) /* none of RC's */
		cr_expect_eq(create_flags(1u << bit), EINVAL, "create flag %d", bit);
	for (int bit = 0; bit < 31; bit++) {
		bool known = bit <= 20 || bit == 25;

		cr_expect((ibv_modify_qp(a.qp, &attr, IBV_QP_STATE | 1 << bit) == EOPNOTSUPP) ==
				  !known,
			  "attr_mask bit %d", bit);
	}
	cr_expect_eq(parent(1 << 2), EOPNOTSUPP, "ALLOW_CC_UNPROTECTED_ALLOC");
	cr_expect_eq(parent(1 << 3), EINVAL);
}
