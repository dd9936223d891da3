/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * vt_events_cases.c - asynchronous events of QPs (IBA 11.6.3): the right one, for the right QP,
 * once.
 */
#include <fcntl.h>
#include <poll.h>
#include "vt.h"

/* The next event must be this one; 30 s bound a hang. */
static void event_is(struct vt *t, struct ibv_qp *qp, enum ibv_event_type type)
{
	struct pollfd p = {.fd = t->ctx->async_fd, .events = POLLIN};
	struct ibv_async_event ev;

	CHECK(poll(&p, 1, 30000) == 1, "no event: expected %s", ibv_event_type_str(type));
	CHECK_EQ(ibv_get_async_event(t->ctx, &ev), 0);
	CHECK(ev.event_type == type, "\"%s\", expected \"%s\"", ibv_event_type_str(ev.event_type),
	      ibv_event_type_str(type));
	CHECK(ev.element.qp == qp, "another QP's");
	ibv_ack_async_event(&ev);
}

static void no_event(struct vt *t)
{
	struct pollfd p = {.fd = t->ctx->async_fd, .events = POLLIN};

	CHECK_EQ(poll(&p, 1, 0), 0);
}

static void to_state(struct ibv_qp *qp, enum ibv_qp_state state, int notify)
{
	struct ibv_qp_attr a = {.qp_state = state, .en_sqd_async_notify = notify != 0};

	CHECK_EQ(ibv_modify_qp(qp, &a,
			       IBV_QP_STATE | (notify >= 0 ? IBV_QP_EN_SQD_ASYNC_NOTIFY : 0)),
		 0);
}

/* An invalid key: the responder's QP had an access error, the requester's had none. */
static void access_error(struct vt *t)
{
	struct vt_opt o = {0};

	vt_setup(t, &o);
	if (t->side == 0) {
		t->peer.rkey ^= 1;
		CHECK_EQ(vt_send(t, IBV_WR_RDMA_WRITE, 0, 0, 8, 1, IBV_SEND_SIGNALED), 0);
		vt_wc_is(t, 1, IBV_WC_REM_ACCESS_ERR);
		no_event(t);
	} else {
		event_is(t, t->qp, IBV_EVENT_QP_ACCESS_ERR);
		no_event(t);
	}
	vt_sync(t);
	vt_close(t);
}

/* An operation that the QP does not allow is an invalid request. */
static void request_error(struct vt *t)
{
	struct vt_opt o = {.no_qp_access = true};

	vt_setup(t, &o);
	if (t->side == 0) {
		CHECK_EQ(vt_send(t, IBV_WR_RDMA_WRITE, 0, 0, 8, 1, IBV_SEND_SIGNALED), 0);
		vt_wc_is(t, 1, IBV_WC_REM_INV_REQ_ERR);
		no_event(t);
	} else {
		event_is(t, t->qp, IBV_EVENT_QP_REQ_ERR);
		no_event(t);
	}
	vt_sync(t);
	vt_close(t);
}

/* SQD: reported when begun work is complete, if requested; the rest waits for RTS. */
static void drained(struct vt *t)
{
	struct vt_opt o = {0};

	vt_setup(t, &o);
	if (t->side == 0) {
		CHECK_EQ(vt_send(t, IBV_WR_RDMA_WRITE, 0, 0, 60000, 1, IBV_SEND_SIGNALED), 0);
		to_state(t->qp, IBV_QPS_SQD, 1);
		event_is(t, t->qp, IBV_EVENT_SQ_DRAINED);
		to_state(t->qp, IBV_QPS_RTS, -1);
		vt_wc_is(t, 1, IBV_WC_SUCCESS);
		CHECK_EQ(vt_send(t, IBV_WR_RDMA_WRITE, 0, 0, 8, 2, IBV_SEND_SIGNALED), 0);
		vt_wc_is(t, 2, IBV_WC_SUCCESS);
		to_state(t->qp, IBV_QPS_SQD, 0);
		no_event(t);
	}
	vt_sync(t);
	vt_close(t);
}

/* The first message to a QP that is still in RTR: reported once (IBA 11.6.3.1), and not in RTS. */
static void established(struct vt *t)
{
	struct vt_opt o = {0};

	vt_setup(t, &o);
	no_event(t);
	to_state(t->qp, IBV_QPS_RESET, -1);
	vt_qp_init(t, t->qp, &o);
	vt_qp_rtr(t, t->qp, &o, &t->peer);
	if (t->side == 1)
		for (uint64_t i = 0; i < 3; i++)
			CHECK_EQ(vt_recv(t, 0, 64, i), 0);
	vt_sync(t);
	if (t->side == 0) {
		vt_qp_rts(t, t->qp, &o, t->me.psn);
		for (uint64_t i = 0; i < 3; i++) {
			CHECK_EQ(vt_send(t, IBV_WR_SEND, 0, 0, 64, i, IBV_SEND_SIGNALED), 0);
			vt_wc_is(t, i, IBV_WC_SUCCESS);
		}
	} else {
		event_is(t, t->qp, IBV_EVENT_COMM_EST);
		for (uint64_t i = 0; i < 3; i++)
			vt_wc_is(t, i, IBV_WC_SUCCESS);
		CHECK_EQ(vt_state(t->qp), IBV_QPS_RTR);
	}
	vt_sync(t);
	if (t->side == 1) {
		vt_qp_rts(t, t->qp, &o, t->me.psn);
		CHECK_EQ(vt_recv(t, 0, 64, 9), 0);
	}
	vt_sync(t);
	if (t->side == 0)
		CHECK_EQ(vt_send(t, IBV_WR_SEND, 0, 0, 64, 9, IBV_SEND_SIGNALED), 0);
	vt_wc_is(t, 9, IBV_WC_SUCCESS);
	no_event(t);
	vt_close(t);
}

/*
 * With an SRQ: from now on this QP takes no receive. Reported once, for any number of transitions.
 */
static void last_wqe(struct vt *t)
{
	struct ibv_srq_init_attr sa = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct vt_opt o = {0};

	vt_open(t);
	o.srq = ibv_create_srq(t->pd, &sa);
	CHECK(o.srq, "create_srq: %s", strerror(errno));
	vt_setup(t, &o);
	to_state(t->qp, IBV_QPS_ERR, -1);
	event_is(t, t->qp, IBV_EVENT_QP_LAST_WQE_REACHED);
	to_state(t->qp, IBV_QPS_ERR, -1);
	no_event(t);
	vt_sync(t);
	CHECK_EQ(ibv_destroy_qp(t->qp), 0);
	t->qp = NULL;
	CHECK_EQ(ibv_destroy_srq(o.srq), 0);
	vt_close(t);
}

/* A limited QP delivers everything; the speed is checked by tests with their own clock. */
static void rate_limit(struct vt *t)
{
	struct ibv_qp_rate_limit_attr r = {.rate_limit = 8000, .max_burst_sz = 8192};
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;
	struct vt_opt o = {0};

	vt_setup(t, &o);
	CHECK_EQ(ibv_modify_qp_rate_limit(t->qp, &r), 0);
	CHECK_EQ(ibv_query_qp(t->qp, &a, IBV_QP_RATE_LIMIT, &init), 0);
	CHECK_EQ(a.rate_limit, 8000);
	r.comp_mask = 1;
	CHECK_EQ(ibv_modify_qp_rate_limit(t->qp, &r), EINVAL);
	vt_sync(t);
	if (t->side == 0) {
		CHECK_EQ(vt_send(t, IBV_WR_RDMA_WRITE, 0, 0, 50000, 1, IBV_SEND_SIGNALED), 0);
		vt_wc_is(t, 1, IBV_WC_SUCCESS);
	}
	vt_sync(t);
	vt_close(t);
}

static const struct vt_case cases[] = {
	{"access_error", access_error, VT_BOTH, 0}, {"request_error", request_error, VT_BOTH, 0},
	{"drained", drained, VT_BOTH, 0},	    {"last_wqe", last_wqe, VT_BOTH, 0},
	{"rate_limit", rate_limit, VT_BOTH, 0},	    {"established", established, VT_BOTH, 0},
};

VT_MAIN(cases)
