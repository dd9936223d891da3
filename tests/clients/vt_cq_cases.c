/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * vt_cq_cases.c - completion queues and shared receive queues: events, resizing, overrun, threads.
 */
#include "vt.h"

#include <arpa/inet.h>
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

/* The next message may arrive before the completion of the message that it answers. */
static void wait_for(struct vt *t, int *got, int want_got, int *sent, int want_sent)
{
	while (*got < want_got || *sent < want_sent) {
		struct ibv_wc wc = wait_event(t);

		CHECK_EQ(wc.status, IBV_WC_SUCCESS);
		if (wc.wr_id == 2) {
			++*sent;
			continue;
		}
		++*got;
		CHECK_EQ(vt_recv(t, 4096, 64, 1), 0);
	}
}

/* Ping-pong that sleeps for every completion. */
static void events(struct vt *t)
{
	struct vt_opt o = {.event = true};
	int got = 0, sent = 0;

	vt_setup(t, &o);
	CHECK_EQ(vt_recv(t, 4096, 64, 1), 0);
	vt_sync(t);
	for (int i = 1; i <= 500; i++) {
		if (t->side == 1)
			wait_for(t, &got, i, &sent, 0);
		CHECK_EQ(vt_send(t, IBV_WR_SEND, 0, 0, 8, 2, IBV_SEND_SIGNALED), 0);
		wait_for(t, &got, t->side ? 0 : i, &sent, i);
	}
	CHECK_EQ(got, 500);
	CHECK_EQ(sent, 500);
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

/* One arming is one event, for any completions; without arming there is none; O_NONBLOCK works. */
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
 * cannot report goes to the error state; one with another CQ continues.
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

/* Post WRITEs to the shared QP and poll the shared CQ until all have completed. */
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

/* Receives of both threads together; those that fill the queue are posted before any message. */
enum { RECVS = 20000, RECV_QUEUE = 16384, RECV_LEN = 64, RECV_LIST = 3, RECV_ROUNDS = 10 };

struct receivers {
	struct vt *t;
	atomic_int ready, left;
	pthread_barrier_t filled;
	atomic_uchar came[RECVS], imm[RECVS]; /* counts: receives, messages */
};

struct receiver {
	struct receivers *all;
	uint32_t next; /* wr_id: every second one from the thread's first on */
};

/* Post a list of up to RECV_LIST receives; false if there was no room for all, or none is left. */
static bool post_some(struct receiver *r)
{
	struct vt *t = r->all->t;
	struct ibv_recv_wr wr[RECV_LIST], *bad = NULL;
	struct ibv_sge sge[RECV_LIST];
	int n = 0, ret;

	for (uint32_t id = r->next; n < RECV_LIST && id < RECVS; id += 2, n++) {
		sge[n] = (struct ibv_sge){(uintptr_t)t->buf + id % 512 * RECV_LEN, RECV_LEN,
					  t->mr->lkey};
		wr[n] = (struct ibv_recv_wr){.wr_id = id, .sg_list = &sge[n], .num_sge = 1};
		if (n)
			wr[n - 1].next = &wr[n];
	}
	if (!n)
		return false;
	ret = ibv_post_recv(t->qp, wr, &bad);
	CHECK(!ret || (ret == ENOMEM && bad), "post_recv: %s", strerror(ret));
	r->next += 2 * (uint32_t)(ret ? bad - wr : n);
	return !ret;
}

static void count(struct receivers *all, const struct ibv_wc *wc)
{
	uint32_t nth = ntohl(wc->imm_data);

	CHECK(wc->status == IBV_WC_SUCCESS, "%s", ibv_wc_status_str(wc->status));
	CHECK_EQ(wc->byte_len, RECV_LEN);
	CHECK(wc->wr_id < RECVS && nth < RECVS, "receive %llu, message %u",
	      (unsigned long long)wc->wr_id, nth);
	atomic_fetch_add(&all->came[wc->wr_id], 1);
	atomic_fetch_add(&all->imm[nth], 1);
}

static void *receive(void *arg)
{
	struct receiver *r = arg;
	struct receivers *all = r->all;

	/* both awake: they must meet in the queue */
	atomic_fetch_add(&all->ready, 1);
	while (atomic_load(&all->ready) < 2)
		;
	while (post_some(r))
		;
	if (pthread_barrier_wait(&all->filled) == PTHREAD_BARRIER_SERIAL_THREAD)
		vt_sync(all->t);
	while (atomic_load(&all->left) > 0) {
		struct ibv_wc wc[4];
		int n;

		post_some(r);
		n = ibv_poll_cq(all->t->cq, 4, wc);
		CHECK(n >= 0, "poll");
		for (int i = 0; i < n; i++)
			count(all, &wc[i]);
		atomic_fetch_sub(&all->left, n);
	}
	return NULL;
}

static void receive_all(struct vt *t)
{
	struct receivers *all = calloc(1, sizeof(*all));
	struct receiver r[2] = {{all, 0}, {all, 1}};
	pthread_t th;

	CHECK(all, "calloc");
	all->t = t;
	all->left = RECVS;
	CHECK_EQ(pthread_barrier_init(&all->filled, NULL, 2), 0);
	CHECK_EQ(pthread_create(&th, NULL, receive, &r[1]), 0);
	receive(&r[0]);
	CHECK_EQ(pthread_join(th, NULL), 0);
	for (int i = 0; i < RECVS; i++)
		CHECK(all->came[i] == 1 && all->imm[i] == 1,
		      "%d: receive %d times, message %d times", i, all->came[i], all->imm[i]);
	pthread_barrier_destroy(&all->filled);
	free(all);
}

static void send_all(struct vt *t)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = vt_wr(t, IBV_WR_SEND_WITH_IMM, &sge, 0, 0, RECV_LEN);

	for (uint32_t i = 0; i < RECVS; i++) {
		wr.wr_id = i;
		wr.imm_data = htonl(i);
		CHECK_EQ(vt_post(t->qp, &wr), 0);
		if (i >= 32)
			vt_wc_is(t, i - 32, IBV_WC_SUCCESS);
	}
	for (uint32_t i = RECVS - 32; i < RECVS; i++)
		vt_wc_is(t, i, IBV_WC_SUCCESS);
}

/* Two threads post receives to one QP: each of them takes one message, each message takes one. */
static void two_threads_receive(struct vt *t)
{
	struct vt_opt o = {.recv_wr = RECV_QUEUE};

	vt_setup(t, &o);
	for (int round = 0; round < RECV_ROUNDS; round++) {
		if (t->side == 0) {
			vt_sync(t);
			send_all(t);
		} else {
			receive_all(t);
		}
	}
	vt_sync(t);
	if (t->side == 1)
		vt_wc_none(t, t->cq);
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

/* An object in use is not destroyed. */
static void in_use(struct vt *t)
{
	struct vt_opt o = {.event = true};

	vt_setup(t, &o);
	CHECK_EQ(ibv_destroy_cq(t->cq), EBUSY);
	CHECK_EQ(ibv_dealloc_pd(t->pd), EBUSY);
	CHECK_EQ(ibv_destroy_comp_channel(t->channel), EBUSY);
	vt_close(t);
}

/* One message, or a WRITE and a message in one list; only the last one is signalled. */
static void answer(struct vt *t, uint32_t len, bool write)
{
	struct ibv_sge sge[2];
	struct ibv_send_wr w = vt_wr(t, IBV_WR_RDMA_WRITE, &sge[0], 0, 0, len);
	struct ibv_send_wr s = vt_wr(t, IBV_WR_SEND, &sge[1], 0, 0, len);

	w.send_flags = 0;
	w.next = &s;
	s.wr_id = 1;
	s.send_flags = IBV_SEND_SIGNALED;
	CHECK_EQ(vt_post(t->qp, write ? &w : &s), 0);
}

/*
 * A program answers a message when it has arrived, and the adapter has sent the ACK by then. So the
 * CQE of the message is there before that of its answer. The login of iSER depends on it (tgt).
 */
static void answers_come_last(struct vt *t)
{
	static const uint32_t lens[] = {0, 8, 1000, 1024, 5000, 65536, 70000};
	const uint32_t most = 70000;

	vt_setup(t, &(struct vt_opt){.len = 2 * most});
	CHECK_EQ(vt_recv(t, most, most, 2), 0);
	vt_sync(t);
	for (uint32_t k = 0; k < 2 * sizeof(lens) / sizeof(lens[0]); k++)
		for (int i = 0; i < 50; i++) {
			if (t->side == 0) {
				answer(t, lens[k / 2], k & 1);
				vt_wc_is(t, 1, IBV_WC_SUCCESS);
			}
			vt_wc_is(t, 2, IBV_WC_SUCCESS);
			CHECK_EQ(vt_recv(t, most, most, 2), 0);
			if (t->side == 1) {
				answer(t, lens[k / 2], k & 1);
				vt_wc_is(t, 1, IBV_WC_SUCCESS);
			}
		}
	vt_close(t);
}

static const struct vt_case cases[] = {
	{"answers_come_last", answers_come_last, VT_BOTH, 0},
	{"events", events, VT_BOTH, 0},
	{"solicited", solicited, VT_BOTH, 0},
	{"one_event", one_event, VT_BOTH, 0},
	{"resize", resize, VT_BOTH, 0},
	{"overrun", overrun, VT_BOTH, 0},
	{"two_threads", two_threads, VT_BOTH, 0},
	{"two_threads_receive", two_threads_receive, VT_BOTH, 0},
	{"destroy_purges", destroy_purges, VT_BOTH, 0},
	{"srq", srq, VT_BOTH, 0},
	{"in_use", in_use, VT_BOTH, 0},
};

VT_MAIN(cases)
