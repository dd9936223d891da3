/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Completion queues and shared receive queues: events, resizing, overrun, threads. */
#include "vt.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

static struct ibv_wc wait_event(struct vt *t)
{
	struct ibv_cq *cq = NULL;
	struct ibv_wc wc;
	void *ctx;
	int n;

	while ((n = ibv_poll_cq(t->cq, 1, &wc)) == 0) {
		CHECK_EQ(ibv_req_notify_cq(t->cq, 0), 0);
		n = ibv_poll_cq(t->cq, 1, &wc);
		if (n)
			break;
		CHECK_EQ(ibv_get_cq_event(t->channel, &cq, &ctx), 0);
		CHECK(cq == t->cq, "another CQ's event");
		ibv_ack_cq_events(cq, 1);
	}
	CHECK_EQ(n, 1);
	return wc;
}

/* Ping-pong that sleeps for every completion. */
static void events(struct vt *t)
{
	struct vt_opt o = {.event = true};

	vt_setup(t, &o);
	CHECK_EQ(vt_recv(t, 4096, 64, 1), 0);
	vt_sync(t);
	for (int i = 0; i < 500; i++) {
		bool got = false, sent = false;

		if (t->side == 0)
			CHECK_EQ(vt_send(t, IBV_WR_SEND, 0, 0, 8, 2, IBV_SEND_SIGNALED), 0);
		while (!got || !(sent || t->side)) {
			struct ibv_wc wc = wait_event(t);

			CHECK_EQ(wc.status, IBV_WC_SUCCESS);
			got |= wc.wr_id == 1;
			sent |= wc.wr_id == 2;
		}
		CHECK_EQ(vt_recv(t, 4096, 64, 1), 0);
		if (t->side == 1) {
			CHECK_EQ(vt_send(t, IBV_WR_SEND, 0, 0, 8, 2, IBV_SEND_SIGNALED), 0);
			CHECK_EQ(wait_event(t).wr_id, 2);
		}
	}
	vt_close(t);
}

/* Armed for solicited: a plain SEND makes no event, a solicited one does, and an error does. */
static void solicited(struct vt *t)
{
	struct vt_opt o = {.event = true};
	struct ibv_cq *cq;
	void *ctx;

	vt_setup(t, &o);
	for (int round = 0; round < 50; round++) {
		if (t->side == 1) {
			CHECK_EQ(vt_recv(t, 0, 64, 1), 0);
			CHECK_EQ(vt_recv(t, 0, 64, 2), 0);
			CHECK_EQ(ibv_req_notify_cq(t->cq, 1), 0);
			vt_sync(t); /* plain */
			vt_wc_is(t, 1, IBV_WC_SUCCESS);
			struct pollfd p = {.fd = t->channel->fd, .events = POLLIN};

			CHECK_EQ(poll(&p, 1, 0), 0);
			vt_sync(t); /* solicited */
			CHECK_EQ(ibv_get_cq_event(t->channel, &cq, &ctx), 0);
			ibv_ack_cq_events(cq, 1);
			vt_wc_is(t, 2, IBV_WC_SUCCESS);
		} else {
			vt_sync(t);
			CHECK_EQ(vt_send(t, IBV_WR_SEND, 0, 0, 8, 3, IBV_SEND_SIGNALED), 0);
			vt_wc_is(t, 3, IBV_WC_SUCCESS);
			vt_sync(t);
			CHECK_EQ(vt_send(t, IBV_WR_SEND, 0, 0, 8, 3,
					 IBV_SEND_SIGNALED | IBV_SEND_SOLICITED),
				 0);
			vt_wc_is(t, 3, IBV_WC_SUCCESS);
		}
		vt_sync(t);
	}
	if (t->side == 1) {
		struct ibv_qp_attr a = {.qp_state = IBV_QPS_ERR};

		CHECK_EQ(vt_recv(t, 0, 64, 1), 0);
		CHECK_EQ(ibv_req_notify_cq(t->cq, 1), 0);
		CHECK_EQ(ibv_modify_qp(t->qp, &a, IBV_QP_STATE), 0);
		CHECK_EQ(ibv_get_cq_event(t->channel, &cq, &ctx), 0);
		ibv_ack_cq_events(cq, 1);
	}
	vt_close(t);
}

/* One arming is one event, whatever comes; without arming there is none; O_NONBLOCK holds. */
static void one_event(struct vt *t)
{
	struct vt_opt o = {.event = true};
	struct ibv_cq *cq;
	void *ctx;

	vt_setup(t, &o);
	CHECK_EQ(fcntl(t->channel->fd, F_SETFL, O_NONBLOCK), 0);
	if (t->side == 0) {
		CHECK(ibv_get_cq_event(t->channel, &cq, &ctx) != 0 && errno == EAGAIN, "errno %d",
		      errno);
		for (int armed = 0; armed < 2; armed++) {
			if (armed)
				CHECK_EQ(ibv_req_notify_cq(t->cq, 0), 0);
			for (uint64_t i = 0; i < 10; i++)
				CHECK_EQ(vt_send(t, IBV_WR_RDMA_WRITE, 0, 0, 8, i,
						 IBV_SEND_SIGNALED),
					 0);
			for (uint64_t i = 0; i < 10; i++)
				vt_wc_is(t, i, IBV_WC_SUCCESS);
			for (int n = 0; n < armed; n++) {
				struct pollfd p = {.fd = t->channel->fd, .events = POLLIN};

				CHECK_EQ(poll(&p, 1, 30000), 1);
				CHECK_EQ(ibv_get_cq_event(t->channel, &cq, &ctx), 0);
				ibv_ack_cq_events(cq, 1);
			}
			CHECK(ibv_get_cq_event(t->channel, &cq, &ctx) != 0, "one event too many");
		}
	}
	vt_close(t);
}

/* Entries not polled yet outlive a resize, up and down; too small a size is refused. */
static void resize(struct vt *t)
{
	struct vt_opt o = {.cqe = 64, .send_wr = 64};

	vt_setup(t, &o);
	if (t->side == 0) {
		uint64_t next = 0, want = 0;

		for (int round = 0; round < 30; round++) {
			while (next - want < 40) {
				CHECK_EQ(vt_send(t, IBV_WR_RDMA_WRITE, 0, 0, 8, next,
						 IBV_SEND_SIGNALED),
					 0);
				next++;
			}
			CHECK_EQ(ibv_resize_cq(t->cq, round % 2 ? 64 : 3000), 0);
			CHECK(t->cq->cqe >= (round % 2 ? 64 : 3000), "cqe %d", t->cq->cqe);
			while (want + 7 < next)
				vt_wc_is(t, want++, IBV_WC_SUCCESS);
		}
		while (want < next)
			vt_wc_is(t, want++, IBV_WC_SUCCESS);
		CHECK(ibv_resize_cq(t->cq, 0) != 0, "0 entries");
		CHECK(ibv_resize_cq(t->cq, 1 << 30) != 0, "2^30 entries");
	}
	vt_close(t);
}

/*
 * More completions than a CQ has entries: IBV_EVENT_CQ_ERR, and nothing is overwritten. The QP that
 * cannot report goes to the error state; one with another CQ goes on.
 */
static void overrun(struct vt *t)
{
	struct vt_opt o = {.cqe = 8, .send_wr = 4096};

	vt_setup(t, &o);
	if (t->side == 0) {
		struct ibv_async_event ev;
		struct ibv_wc wc;
		int n, room = t->cq->cqe;
		struct vt_opt two = {0};
		struct ibv_cq *cq = ibv_create_cq(t->ctx, 8, NULL, NULL, 0);
		struct ibv_qp *other;

		CHECK(cq, "create_cq: %s", strerror(errno));
		other = vt_qp_create(t, &two, cq);
		vt_qp_init(t, other, &two);
		for (int i = 0; i < room + 16; i++)
			if (vt_send(t, IBV_WR_RDMA_WRITE, 0, 0, 8, (uint64_t)i, IBV_SEND_SIGNALED))
				break; /* the QP has failed already */
		CHECK_EQ(ibv_get_async_event(t->ctx, &ev), 0);
		ibv_ack_async_event(&ev);
		CHECK_EQ(ev.event_type, IBV_EVENT_CQ_ERR);
		CHECK(ev.element.cq == t->cq, "another CQ's event");
		CHECK_EQ(ibv_get_async_event(t->ctx, &ev), 0);
		ibv_ack_async_event(&ev);
		CHECK_EQ(ev.event_type, IBV_EVENT_QP_FATAL);
		CHECK(ev.element.qp == t->qp, "another QP's event");
		CHECK_EQ(vt_state(t->qp), IBV_QPS_ERR);
		CHECK_EQ(vt_state(other), IBV_QPS_INIT);
		CHECK_EQ(ibv_destroy_qp(other), 0);
		CHECK_EQ(ibv_destroy_cq(cq), 0);
		for (int i = 0; (n = ibv_poll_cq(t->cq, 1, &wc)) > 0; i++)
			CHECK(i <= room + 16 && wc.status == IBV_WC_SUCCESS &&
				      wc.wr_id == (uint64_t)i,
			      "entry %d", i);
	}
	vt_close(t);
}

struct worker {
	struct vt *t;
	atomic_int *left;
	uint64_t seen;
	int posts;
};

/* Posts WRITEs to the shared QP and polls the shared CQ until everything has completed. */
static void *share_worker(void *arg)
{
	struct worker *w = arg;
	int posted = 0;

	while (atomic_load(w->left) > 0) {
		struct ibv_wc wc[4];
		int n;

		if (posted < w->posts &&
		    !vt_send(w->t, IBV_WR_RDMA_WRITE, 0, 0, 64, 1, IBV_SEND_SIGNALED))
			posted++;
		n = ibv_poll_cq(w->t->cq, 4, wc);
		CHECK(n >= 0, "poll");
		for (int i = 0; i < n; i++)
			CHECK(wc[i].status == IBV_WC_SUCCESS, "%s",
			      ibv_wc_status_str(wc[i].status));
		w->seen += (uint64_t)n;
		atomic_fetch_sub(w->left, n);
	}
	return NULL;
}

/* Two threads on one QP and one CQ. */
static void two_threads(struct vt *t)
{
	enum { POSTS = 20000 };
	struct vt_opt o = {0};

	vt_setup(t, &o);
	if (t->side == 0) {
		atomic_int left = 2 * POSTS;
		struct worker w[2] = {{t, &left, 0, POSTS}, {t, &left, 0, POSTS}};
		pthread_t th;

		CHECK_EQ(pthread_create(&th, NULL, share_worker, &w[1]), 0);
		share_worker(&w[0]);
		pthread_join(th, NULL);
		CHECK_EQ(w[0].seen + w[1].seen, 2 * POSTS);
	}
	vt_close(t);
}

/* Destroying a QP takes its completions out of the CQ; those of others stay. */
static void destroy_purges(struct vt *t)
{
	struct vt_opt o = {.cqe = 256};
	struct ibv_qp *qp2;
	struct vt_addr peer2;

	vt_setup(t, &o);
	qp2 = vt_qp_create(t, &o, t->cq);
	vt_connect(t, qp2, &o, &peer2);
	if (t->side == 0) {
		struct ibv_sge sge;
		struct ibv_send_wr wr = vt_wr(t, IBV_WR_RDMA_READ, &sge, 0, 0, 8);

		for (uint64_t i = 0; i < 20; i++) {
			wr.wr_id = i;
			CHECK_EQ(vt_post(i % 2 ? qp2 : t->qp, &wr), 0);
		}
		wr.wr_id = 100;
		CHECK_EQ(vt_post(t->qp, &wr), 0);
		CHECK_EQ(ibv_destroy_qp(qp2), 0);
		for (uint64_t i = 0; i < 20; i += 2)
			vt_wc_is(t, i, IBV_WC_SUCCESS);
		vt_wc_is(t, 100, IBV_WC_SUCCESS);
		vt_wc_none(t, t->cq);
	} else {
		vt_sync(t);
		CHECK_EQ(ibv_destroy_qp(qp2), 0);
	}
	if (t->side == 0)
		vt_sync(t);
	vt_close(t);
}

/* An SRQ feeds two QPs; its limit event comes once when receives fall below the limit. */
static void srq(struct vt *t)
{
	struct ibv_srq_init_attr sa = {.attr = {.max_wr = 64, .max_sge = 2}};
	struct vt_opt o = {.cqe = 512};
	struct ibv_srq_attr q = {.srq_limit = 10};
	struct ibv_srq *s;
	struct ibv_qp *qp2;
	struct vt_addr peer2;

	vt_open(t);
	s = o.srq = ibv_create_srq(t->pd, &sa);
	CHECK(o.srq, "create_srq: %s", strerror(errno));
	CHECK(sa.attr.max_wr >= 64, "max_wr %u", sa.attr.max_wr);
	vt_setup(t, &o);
	qp2 = vt_qp_create(t, &o, t->cq);
	vt_connect(t, qp2, &o, &peer2);
	if (t->side == 1) {
		struct ibv_async_event ev;
		struct ibv_recv_wr *bad;

		for (uint64_t i = 0; i < 32; i++) {
			struct ibv_sge sge = {(uintptr_t)t->buf + i * 1024, 1024, t->mr->lkey};
			struct ibv_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1};

			CHECK_EQ(ibv_post_srq_recv(s, &wr, &bad), 0);
		}
		CHECK_EQ(ibv_modify_srq(s, &q, IBV_SRQ_LIMIT), 0);
		CHECK_EQ(ibv_query_srq(s, &q), 0);
		CHECK_EQ(q.srq_limit, 10);
		vt_sync(t);
		for (int i = 0; i < 30; i++) {
			struct ibv_wc wc = vt_wc(t, t->cq);

			CHECK_EQ(wc.status, IBV_WC_SUCCESS);
			CHECK_EQ(vt_differs(t->buf + wc.wr_id * 1024, 500,
					    wc.qp_num == qp2->qp_num ? 2 : 1),
				 500);
		}
		do {
			CHECK_EQ(ibv_get_async_event(t->ctx, &ev), 0);
			ibv_ack_async_event(&ev);
		} while (ev.event_type == IBV_EVENT_COMM_EST);
		CHECK_EQ(ev.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
		CHECK(ev.element.srq == s, "another SRQ's event");
		CHECK_EQ(ibv_query_srq(s, &q), 0);
		CHECK_EQ(q.srq_limit, 0);
	} else {
		vt_sync(t);
		vt_fill(t->buf, 500, 1);
		vt_fill(t->buf + 1024, 500, 2);
		for (uint64_t i = 0; i < 30; i++) {
			struct ibv_sge sge;
			struct ibv_send_wr wr = vt_wr(t, IBV_WR_SEND, &sge, i % 2 * 1024, 0, 500);

			wr.wr_id = i;
			CHECK_EQ(vt_post(i % 2 ? qp2 : t->qp, &wr), 0);
			vt_wc_is(t, i, IBV_WC_SUCCESS);
		}
	}
	vt_sync(t);
	CHECK(ibv_destroy_srq(s) == EBUSY, "an SRQ in use was destroyed");
	CHECK_EQ(ibv_destroy_qp(qp2), 0);
	CHECK_EQ(ibv_destroy_qp(t->qp), 0);
	t->qp = NULL;
	CHECK_EQ(ibv_destroy_srq(s), 0);
	vt_close(t);
}

/* What is in use is not destroyed. */
static void in_use(struct vt *t)
{
	struct vt_opt o = {.event = true};

	vt_setup(t, &o);
	CHECK_EQ(ibv_destroy_cq(t->cq), EBUSY);
	CHECK_EQ(ibv_dealloc_pd(t->pd), EBUSY);
	CHECK_EQ(ibv_destroy_comp_channel(t->channel), EBUSY);
	vt_close(t);
}

static const struct vt_case cases[] = {
	{"events", events, VT_BOTH, 0},
	{"solicited", solicited, VT_BOTH, 0},
	{"one_event", one_event, VT_BOTH, 0},
	{"resize", resize, VT_BOTH, 0},
	{"overrun", overrun, VT_BOTH, 0},
	{"two_threads", two_threads, VT_BOTH, 0},
	{"destroy_purges", destroy_purges, VT_BOTH, 0},
	{"srq", srq, VT_BOTH, 0},
	{"in_use", in_use, VT_BOTH, 0},
};

VT_MAIN(cases)
