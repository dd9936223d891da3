/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * vt_storm_cases.c - QPs and regions that are created and destroyed in eight threads, concurrent
 * forks, signals during waits for events.
 */
#include "vt.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { THREADS = 8, AREA = 16384, CHURN_S = 15, LONG_S = 60, CHILDREN = 40, EVENTS = 300 };

#define ACCESS                                                                                     \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

/* ---------------------------------------------------------------------- churn */

/* State of a thread; some threads share the device, the PD and the CQ. */
struct worker {
	struct vt *t;
	struct vt own; /* with a CQ of its own */
	uint64_t x;
	uint64_t rounds;
	pthread_t th;
};

static atomic_bool stop; /* set by the case, read by its threads; orders nothing else */

static uint64_t draw(struct worker *w)
{
	w->x ^= w->x << 13, w->x ^= w->x >> 7, w->x ^= w->x << 17;
	return w->x;
}

static void connect_pair(struct vt *v, struct ibv_qp *qp[2], const struct vt_opt *o)
{
	for (int i = 0; i < 2; i++) {
		qp[i] = vt_qp_create(v, o, v->cq);
		vt_qp_init(v, qp[i], o);
	}
	for (int i = 0; i < 2; i++) {
		struct vt_addr to = {.gid = v->me.gid, .qpn = qp[!i]->qp_num, .psn = 100};

		vt_qp_rtr(v, qp[i], o, &to);
		vt_qp_rts(v, qp[i], o, 100);
	}
}

/* Post one from the first half of the buffer to `off` of the same region. */
static void post(struct vt *v, struct ibv_qp *qp, enum ibv_wr_opcode op, size_t off, uint32_t len,
		 uint64_t id)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr;

	v->peer.addr = (uintptr_t)v->buf;
	v->peer.rkey = v->mr->rkey;
	wr = vt_wr(v, op, &sge, 0, off, len);
	wr.wr_id = id;
	CHECK_EQ(vt_post(qp, &wr), 0);
}

/* Check the bytes that arrived, and that none was written behind them. */
static void bytes_are(const struct vt *v, uint32_t len, uint32_t seed)
{
	CHECK_EQ(vt_differs(v->buf + AREA, len, seed), len);
	CHECK(vt_is_poison(v->buf + AREA + len, AREA - len), "bytes behind %u were written", len);
}

/* A pair that is created, used and destroyed: every byte arrives. */
static void good_round(struct worker *w)
{
	struct vt *v = &w->own;
	uint32_t len = 1 + (uint32_t)(draw(w) % AREA), seed = (uint32_t)draw(w);
	struct vt_opt o = {.send_wr = 8, .recv_wr = 8, .sge = 1};
	struct ibv_qp *qp[2];
	struct ibv_sge sge;
	struct ibv_recv_wr rwr = {.wr_id = 2, .sg_list = &sge, .num_sge = 1}, *bad;

	v->mr = ibv_reg_mr(v->pd, v->buf, 2 * AREA, ACCESS);
	CHECK(v->mr, "reg_mr: %s", strerror(errno));
	connect_pair(v, qp, &o);
	vt_fill(v->buf, len, seed);
	vt_poison(v->buf + AREA, AREA);
	post(v, qp[0], IBV_WR_RDMA_WRITE, AREA, len, 1);
	vt_wc_is(v, 1, IBV_WC_SUCCESS);
	bytes_are(v, len, seed);
	vt_poison(v->buf + AREA, AREA);
	sge = (struct ibv_sge){(uintptr_t)v->buf + AREA, AREA, v->mr->lkey};
	CHECK_EQ(ibv_post_recv(qp[1], &rwr, &bad), 0);
	post(v, qp[0], IBV_WR_SEND, 0, len, 1);
	for (int i = 0, seen = 0; i < 2; i++) {
		struct ibv_wc wc = vt_wc(v, v->cq);

		CHECK_EQ(wc.status, IBV_WC_SUCCESS);
		seen |= 1 << wc.wr_id;
		CHECK(i == 0 || seen == 6, "completions %#x", seen);
	}
	bytes_are(v, len, seed);
	len = draw(w) & 1;
	CHECK_EQ(ibv_destroy_qp(qp[len]), 0);
	CHECK_EQ(ibv_destroy_qp(qp[!len]), 0);
	CHECK_EQ(ibv_dereg_mr(v->mr), 0);
}

/* The region, the responder or the requester is destroyed with work in flight. */
static void bad_round(struct worker *w)
{
	struct vt *v = &w->own;
	struct vt_opt o = {.send_wr = 8, .recv_wr = 8, .sge = 1, .timeout = 8, .retry_cnt = 1};
	unsigned int first = (unsigned int)(draw(w) % 3), n = 1 + (unsigned int)(draw(w) % 8);
	struct ibv_qp *qp[2];
	struct ibv_wc wc;

	v->mr = ibv_reg_mr(v->pd, v->buf, 2 * AREA, ACCESS);
	CHECK(v->mr, "reg_mr: %s", strerror(errno));
	connect_pair(v, qp, &o);
	for (unsigned int i = 0; i < n; i++)
		post(v, qp[0], i & 1 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, AREA, AREA, i);
	if (first == 0) {
		CHECK_EQ(ibv_dereg_mr(v->mr), 0);
	} else if (first == 1) {
		CHECK_EQ(ibv_destroy_qp(qp[1]), 0);
	} else {
		CHECK_EQ(ibv_destroy_qp(qp[0]), 0);
		n = 0; /* its completions were removed with it */
	}
	for (unsigned int i = 0; i < n; i++) {
		wc = vt_wc(v, v->cq);
		CHECK_EQ(wc.wr_id, i);
		CHECK(wc.status == IBV_WC_SUCCESS || wc.status == IBV_WC_REM_ACCESS_ERR ||
			      wc.status == IBV_WC_LOC_PROT_ERR ||
			      wc.status == IBV_WC_RETRY_EXC_ERR || wc.status == IBV_WC_WR_FLUSH_ERR,
		      "%s", ibv_wc_status_str(wc.status));
	}
	if (first != 2)
		CHECK_EQ(ibv_destroy_qp(qp[0]), 0);
	if (first != 1)
		CHECK_EQ(ibv_destroy_qp(qp[1]), 0);
	if (first != 0)
		CHECK_EQ(ibv_dereg_mr(v->mr), 0);
	CHECK_EQ(ibv_poll_cq(v->cq, 1, &wc), 0);
}

static void *churn_thread(void *arg)
{
	struct worker *w = arg;

	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		(draw(w) % 4 ? good_round : bad_round)(w);
		w->rounds++;
	}
	return NULL;
}

static void start_workers(struct vt *t, struct worker *w, int n)
{
	atomic_store_explicit(&stop, false, memory_order_relaxed);
	for (int i = 0; i < n; i++) {
		w[i] = (struct worker){.t = t,
				       .own = *t,
				       .x = (vt_seed() + (uint64_t)i) * 0x9e3779b97f4a7c15u | 1};
		w[i].own.buf = mmap(NULL, 2 * AREA, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(w[i].own.buf != MAP_FAILED, "mmap");
		w[i].own.cq = ibv_create_cq(t->ctx, 64, NULL, NULL, 0);
		CHECK(w[i].own.cq, "create_cq: %s", strerror(errno));
		CHECK_EQ(pthread_create(&w[i].th, NULL, churn_thread, &w[i]), 0);
	}
}

static void join_workers(struct worker *w, int n)
{
	atomic_store_explicit(&stop, true, memory_order_relaxed);
	for (int i = 0; i < n; i++) {
		CHECK_EQ(pthread_join(w[i].th, NULL), 0);
		CHECK(w[i].rounds > 0, "thread %d came to nothing", i);
		CHECK_EQ(ibv_destroy_cq(w[i].own.cq), 0);
		munmap(w[i].own.buf, 2 * AREA);
	}
}

static void churn_for(struct vt *t, unsigned int seconds)
{
	static struct worker w[2][THREADS];
	/* threads: the sides are of one process, and eight together */
	int n = t->threads ? THREADS / 2 : THREADS;

	vt_open(t);
	start_workers(t, w[t->side], n);
	for (time_t end = time(NULL) + seconds; time(NULL) < end;)
		nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
	join_workers(w[t->side], n);
	vt_close(t);
}

static void churn(struct vt *t)
{
	churn_for(t, CHURN_S);
}

static void churn_long(struct vt *t)
{
	churn_for(t, LONG_S);
}

/* ----------------------------------------------------------------------- fork */

/* A child's use of its parent's device: control that reads, no data path. Then its own device. */
static _Noreturn void child(struct vt *t, struct ibv_qp *qp, int kind)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_wc wc;

	if (kind == 1 && vt_post(qp, &wr) == 0)
		_exit(3);
	if (kind == 1 && ibv_poll_cq(t->cq, 1, &wc) > 0)
		_exit(4);
	if (kind == 2) {
		struct worker w = {.x = 77};

		vt_open(&w.own);
		w.own.cq = ibv_create_cq(w.own.ctx, 64, NULL, NULL, 0);
		w.own.buf = mmap(NULL, 2 * AREA, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (!w.own.cq || w.own.buf == MAP_FAILED)
			_exit(5);
		good_round(&w);
	}
	if (kind == 3)
		execl("/bin/true", "true", NULL);
	_exit(kind == 3 ? 6 : 0);
}

/* Children of all kinds, while four threads create and destroy QPs: no thread is disturbed. */
static void fork_in_churn(struct vt *t)
{
	static struct worker w[4];
	struct vt_opt o = {0};
	struct ibv_qp *qp[2];

	if (t->side == 1)
		return;
	vt_open(t);
	t->cq = ibv_create_cq(t->ctx, 16, NULL, NULL, 0);
	CHECK(t->cq, "create_cq: %s", strerror(errno));
	connect_pair(t, qp, &o);
	start_workers(t, w, 4);
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = fork();
		int status;

		CHECK(pid >= 0, "fork: %s", strerror(errno));
		if (pid == 0) {
			alarm(30);
			child(t, qp[0], i % 4);
		}
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK(status == 0, "child of kind %d: %#x", i % 4, (unsigned int)status);
	}
	join_workers(w, 4);
	CHECK_EQ(ibv_destroy_qp(qp[0]), 0);
	CHECK_EQ(ibv_destroy_qp(qp[1]), 0);
	CHECK_EQ(ibv_destroy_cq(t->cq), 0);
	t->cq = NULL;
	CHECK_EQ(ibv_dealloc_pd(t->pd), 0);
	CHECK_EQ(ibv_close_device(t->ctx), 0);
}

/* -------------------------------------------------------------------- signals */

static _Atomic uint64_t caught; /* set by on_signal(), in any thread; a count only */
static atomic_bool calm;	/* the storm is to end */

static void on_signal(int s)
{
	(void)s;
	atomic_fetch_add_explicit(&caught, 1, memory_order_relaxed);
}

static void *storm(void *arg)
{
	pthread_t *to = arg;

	while (!atomic_load_explicit(&calm, memory_order_relaxed)) {
		pthread_kill(*to, SIGUSR1);
		sched_yield();
	}
	return NULL;
}

static pthread_t begin_storm(int flags, pthread_t *self)
{
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = flags};
	pthread_t th;

	CHECK_EQ(sigaction(SIGUSR1, &sa, NULL), 0);
	atomic_store_explicit(&calm, false, memory_order_relaxed);
	atomic_store_explicit(&caught, 0, memory_order_relaxed);
	*self = pthread_self();
	CHECK_EQ(pthread_create(&th, NULL, storm, self), 0);
	return th;
}

static void end_storm(pthread_t th)
{
	while (atomic_load_explicit(&caught, memory_order_relaxed) < EVENTS)
		sched_yield();
	atomic_store_explicit(&calm, true, memory_order_relaxed);
	CHECK_EQ(pthread_join(th, NULL), 0);
}

/* With SA_RESTART the wait continues; without, it returns EINTR and no event is lost. */
static void cq_event(struct vt *t, bool restart)
{
	struct ibv_cq *cq;
	void *ctx;

	while (ibv_get_cq_event(t->channel, &cq, &ctx)) {
		CHECK_EQ(errno, EINTR);
		CHECK(!restart, "EINTR although the handler says SA_RESTART");
	}
	CHECK(cq == t->cq, "another CQ's event");
	ibv_ack_cq_events(cq, 1);
}

/* Ping-pong by events, each side in a storm of signals: every event arrives, once. */
static void cq_storm(struct vt *t, bool restart)
{
	struct vt_opt o = {.event = true};
	pthread_t self, th = {0};

	vt_setup(t, &o);
	if (t->side == 1)
		th = begin_storm(restart ? SA_RESTART : 0, &self);
	for (uint64_t i = 0; i < EVENTS; i++) {
		CHECK_EQ(vt_recv(t, 0, 64, i), 0);
		CHECK_EQ(ibv_req_notify_cq(t->cq, 0), 0);
		vt_sync(t);
		CHECK_EQ(vt_send(t, IBV_WR_SEND, 0, 0, 8, i, 0), 0);
		cq_event(t, restart);
		vt_wc_is(t, i, IBV_WC_SUCCESS);
		vt_wc_none(t, t->cq);
	}
	if (t->side == 1)
		end_storm(th);
	vt_close(t);
}

static void cq_storm_restart(struct vt *t)
{
	cq_storm(t, true);
}

static void cq_storm_eintr(struct vt *t)
{
	cq_storm(t, false);
}

static void *drain(void *arg)
{
	struct vt *t = arg;

	for (int i = 0; i < EVENTS; i++) {
		struct ibv_qp_attr a = {.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1};

		CHECK_EQ(ibv_modify_qp(t->qp, &a, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
		a.qp_state = IBV_QPS_RTS;
		CHECK_EQ(ibv_modify_qp(t->qp, &a, IBV_QP_STATE), 0);
	}
	return NULL;
}

/* One thread makes SQ_DRAINED events, this one waits for them in a storm. */
static void async_storm(struct vt *t, bool restart)
{
	struct vt_opt o = {0};
	pthread_t self, th, maker;

	vt_setup(t, &o);
	if (t->side == 0) {
		th = begin_storm(restart ? SA_RESTART : 0, &self);
		CHECK_EQ(pthread_create(&maker, NULL, drain, t), 0);
		for (int n = 0; n < EVENTS;) {
			struct ibv_async_event ev;

			if (ibv_get_async_event(t->ctx, &ev)) {
				CHECK_EQ(errno, EINTR);
				CHECK(!restart, "EINTR although the handler says SA_RESTART");
				continue;
			}
			CHECK_EQ(ev.event_type, IBV_EVENT_SQ_DRAINED);
			CHECK(ev.element.qp == t->qp, "another QP's event");
			ibv_ack_async_event(&ev);
			n++;
		}
		CHECK_EQ(pthread_join(maker, NULL), 0);
		end_storm(th);
	}
	vt_close(t);
}

static void async_storm_restart(struct vt *t)
{
	async_storm(t, true);
}

static void async_storm_eintr(struct vt *t)
{
	async_storm(t, false);
}

static const struct vt_case cases[] = {
	{"churn", churn, VT_THREADS, 120},
	{"churn_long", churn_long, VT_BOTH | VT_SLOW, 180},
	{"fork_in_churn", fork_in_churn, VT_PROCS, 120},
	{"cq_storm_restart", cq_storm_restart, VT_BOTH, 0},
	{"cq_storm_eintr", cq_storm_eintr, VT_BOTH, 0},
	{"async_storm_restart", async_storm_restart, VT_PROCS, 0},
	{"async_storm_eintr", async_storm_eintr, VT_PROCS, 0},
};

VT_MAIN(cases)
