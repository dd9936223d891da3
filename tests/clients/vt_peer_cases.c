/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * vt_peer_cases.c - peers that close, stop, die or give up at a bad moment; threads that are
 * cancelled or sleep. Each case is a bug that was in the device once.
 *
 * Where a test waits for its peer's stop or end, it must be its parent: side 1 returns at once, and
 * side 0 forks a peer of its own.
 */
#include "vt.h"
#include "vt_peer.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>
#include <sys/mman.h>

/* -------------------------------------------------- closed, killed, exited peers */

static void closing_peer(struct vt *t)
{
	struct vt_opt o = {0};

	vt_setup(t, &o);
	vt_first_message(t);
	vt_close(t);
	vt_sync(t); /* closed */
	vt_sync(t); /* seen */
}

/*
 * The peer closes its device and lives on: later operations, and those in flight, are not retried
 * for ever.
 */
static void closes_lives_on(struct vt *t)
{
	for (int under_way = 0; under_way < 2 && t->side == 0; under_way++) {
		struct vt_opt o = {0};
		pid_t pid;

		*t = (struct vt){0};
		pid = vt_fork_peer(t, closing_peer);
		vt_setup(t, &o);
		vt_first_message(t);
		if (under_way) /* there is no receive for it */
			CHECK_EQ(vt_send(t, IBV_WR_SEND, 0, 0, 8, 2, IBV_SEND_SIGNALED), 0);
		vt_sync(t);
		vt_sync(t);
		if (!under_way)
			CHECK_EQ(vt_send(t, IBV_WR_SEND, 0, 0, 8, 2, IBV_SEND_SIGNALED), 0);
		vt_wc_is(t, 2, IBV_WC_RETRY_EXC_ERR);
		CHECK_EQ(vt_state(t->qp), IBV_QPS_ERR);
		vt_sync(t);
		vt_wait_ended(pid);
		vt_close_alone(t);
	}
}

static void unmet_peer(struct vt *t)
{
	struct vt_opt o = {0};

	vt_open(t);
	t->cq = ibv_create_cq(t->ctx, 16, NULL, NULL, 0);
	CHECK(t->cq, "create_cq");
	t->qp = vt_qp_create(t, &o, t->cq);
	t->me.qpn = t->qp->qp_num;
	vt_put(t, &t->me, sizeof(t->me));
	raise(SIGSTOP);
	vt_fail(__FILE__, __LINE__, "it was to be killed");
}

/* The peer is killed while this side connects to it: it has a listener, and never accepts. */
static void killed_while_connecting(struct vt *t)
{
	struct vt_opt o = {0};
	struct ibv_send_wr wr = {
		.wr_id = 2, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
	pid_t pid;

	if (t->side == 1)
		return;
	pid = vt_fork_peer(t, unmet_peer);
	vt_open(t);
	t->cq = ibv_create_cq(t->ctx, 16, NULL, NULL, 0);
	CHECK(t->cq, "create_cq");
	t->qp = vt_qp_create(t, &o, t->cq);
	vt_get(t, &t->peer, sizeof(t->peer));
	vt_wait_stopped(pid);
	vt_qp_init(t, t->qp, &o);
	vt_qp_rtr(t, t->qp, &o, &t->peer);
	vt_qp_rts(t, t->qp, &o, 0);
	CHECK_EQ(vt_post(t->qp, &wr), 0);
	vt_wc_none(t, t->cq);
	vt_kill_peer(pid);
	vt_wc_is(t, 2, IBV_WC_RETRY_EXC_ERR);
	vt_close_alone(t);
}

static void uc_exiting_peer(struct vt *t)
{
	struct vt_opt o = {.type = IBV_QPT_UC};

	vt_setup(t, &o);
	vt_first_message(t);
}

/* UC has no peer state: messages to an ended process complete, and are lost. */
static void uc_to_exited(struct vt *t)
{
	struct vt_opt o = {.type = IBV_QPT_UC};
	pid_t pid;

	if (t->side == 1)
		return;
	pid = vt_fork_peer(t, uc_exiting_peer);
	vt_setup(t, &o);
	vt_first_message(t);
	vt_wait_ended(pid);
	for (uint64_t i = 0; i < 40; i++)
		CHECK_EQ(vt_send(t, i % 2 ? IBV_WR_SEND : IBV_WR_RDMA_WRITE, 0, 0, 4096, i,
				 IBV_SEND_SIGNALED),
			 0);
	for (uint64_t i = 0; i < 40; i++)
		vt_wc_is(t, i, IBV_WC_SUCCESS);
	CHECK_EQ(vt_state(t->qp), IBV_QPS_RTS);
	vt_close_alone(t);
}

/* ---------------------------------------------------------------- half done */

/* So long that it is not complete when its poster loses the processor before it stops. */
static const struct vt_opt big_read = {.len = 128 << 20};
static bool *read_through; /* in memory of both: this time it was */

static void reading_peer(struct vt *t)
{
	struct ibv_wc wc;

	vt_setup(t, &big_read);
	vt_first_message(t);
	CHECK_EQ(vt_send(t, IBV_WR_RDMA_READ, 0, 0, (uint32_t)t->len, 2, IBV_SEND_SIGNALED), 0);
	raise(SIGSTOP);
	wc = vt_wc(t, t->cq);
	CHECK_EQ(wc.wr_id, 2);
	*read_through = wc.status == IBV_WC_SUCCESS;
	if (*read_through)
		return;
	CHECK(wc.status == IBV_WC_RETRY_EXC_ERR, "%s", ibv_wc_status_str(wc.status));
	CHECK_EQ(vt_state(t->qp), IBV_QPS_ERR);
}

/*
 * The responder destroys its QP with a READ half answered: the rest never comes, without a report.
 */
static void destroy_half_answered(struct vt *t)
{
	struct ibv_wc wc;
	pid_t pid = vt_fork_peer(t, reading_peer);

	vt_setup(t, &big_read);
	vt_first_message(t);
	vt_wait_stopped(pid);
	/* each poll makes progress, until there is no more room for answers */
	for (int i = 0; i < 20000; i++)
		CHECK_EQ(ibv_poll_cq(t->cq, 1, &wc), 0);
	CHECK_EQ(ibv_destroy_qp(t->qp), 0);
	t->qp = NULL;
	CHECK_EQ(kill(pid, SIGCONT), 0);
	vt_wait_ended(pid);
	vt_close_alone(t);
}

static void read_half_answered(struct vt *t)
{
	int tries = 0;

	if (t->side == 1)
		return;
	read_through = mmap(NULL, sizeof(*read_through), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(read_through != MAP_FAILED, "mmap: %s", strerror(errno));
	do {
		*t = (struct vt){0};
		destroy_half_answered(t);
		CHECK(++tries < 50, "the READ is never half answered");
	} while (*read_through);
	munmap(read_through, sizeof(*read_through));
}

enum { LARGE = 65536 };
static const struct vt_opt two_bufs = {.len = 2 * LARGE};

static void recv_on(struct vt *t, struct ibv_qp *qp, size_t off, uint32_t len, uint64_t wr_id)
{
	struct ibv_qp *was = t->qp;

	t->qp = qp;
	CHECK_EQ(vt_recv(t, off, len, wr_id), 0);
	t->qp = was;
}

static void unharmed_peer(struct vt *t)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_ERR};
	struct vt_addr peer2;
	struct ibv_qp *qp2;
	struct ibv_wc wc;
	bool whole = false;

	vt_setup(t, &two_bufs);
	qp2 = vt_qp_create(t, &two_bufs, t->cq);
	vt_connect(t, qp2, &two_bufs, &peer2);
	vt_first_message(t);
	recv_on(t, t->qp, 0, LARGE, 2);
	recv_on(t, qp2, LARGE, 64, 3);
	vt_sync(t);
	raise(SIGSTOP);
	while ((wc = vt_wc(t, t->cq)).wr_id != 3) {
		/* completely, if the link had taken a copy of it */
		CHECK(wc.wr_id == 2 && wc.status == IBV_WC_SUCCESS, "wr_id %d: %s", (int)wc.wr_id,
		      ibv_wc_status_str(wc.status));
		CHECK_EQ(vt_differs(t->buf, LARGE, 9), LARGE);
		whole = true;
	}
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	if (!whole)
		vt_wc_none(t, t->cq);
	CHECK_EQ(vt_state(t->qp), IBV_QPS_RTS);
	CHECK_EQ(ibv_modify_qp(t->qp, &a, IBV_QP_STATE), 0);
	if (!whole)
		vt_wc_is(t, 2, IBV_WC_WR_FLUSH_ERR); /* once */
	vt_wc_none(t, t->cq);
}

/*
 * A sender destroys its QP and unmaps the buffer of a SEND that the receiver has not fetched yet.
 * It only affects the sender: the receiver's QP is unchanged.
 */
static void unmapped_unfinished(struct vt *t)
{
	struct vt_addr peer2;
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	struct ibv_mr *mr;
	struct ibv_qp *qp2;
	uint8_t *p;
	pid_t pid;

	if (t->side == 1)
		return;
	pid = vt_fork_peer(t, unharmed_peer);
	vt_setup(t, &two_bufs);
	qp2 = vt_qp_create(t, &two_bufs, t->cq);
	vt_connect(t, qp2, &two_bufs, &peer2);
	vt_first_message(t);
	p = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(p != MAP_FAILED, "mmap");
	vt_fill(p, LARGE, 9);
	mr = ibv_reg_mr(t->pd, p, LARGE, 0);
	CHECK(mr, "reg_mr: %s", strerror(errno));
	vt_sync(t);
	vt_wait_stopped(pid);
	wr = vt_wr(t, IBV_WR_SEND, &sge, 0, 0, LARGE);
	sge.addr = (uintptr_t)p;
	sge.lkey = mr->lkey;
	CHECK_EQ(vt_post(t->qp, &wr), 0);
	CHECK_EQ(ibv_destroy_qp(t->qp), 0);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(munmap(p, LARGE), 0);
	t->qp = qp2;
	CHECK_EQ(vt_send(t, IBV_WR_SEND, 0, 0, 64, 3, IBV_SEND_SIGNALED), 0);
	CHECK_EQ(kill(pid, SIGCONT), 0);
	vt_wc_is(t, 3, IBV_WC_SUCCESS);
	vt_wait_ended(pid);
	vt_close_alone(t);
}

/* ---------------------------------------------------------------- UD, stopped */

static const struct vt_opt ud = {.type = IBV_QPT_UD, .send_wr = 2048};
static bool ud_meet; /* set before the fork */

static void datagram(struct vt *t, struct ibv_ah *ah, uint32_t qpn, uint32_t len, uint64_t wr_id)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = vt_wr(t, IBV_WR_SEND, &sge, 0, 0, len);

	wr.wr_id = wr_id;
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qpn;
	wr.wr.ud.remote_qkey = t->me.qkey;
	CHECK_EQ(vt_post(t->qp, &wr), 0);
}

static void ud_stopping_peer(struct vt *t)
{
	vt_setup(t, &ud);
	if (ud_meet) {
		CHECK_EQ(vt_recv(t, 0, 4096, 1), 0);
		vt_sync(t);
		vt_wc_is(t, 1, IBV_WC_SUCCESS);
	}
	raise(SIGSTOP);
	vt_fail(__FILE__, __LINE__, "it was to be killed");
}

/* More datagrams than there is room for to a stopped peer, then one to another process. */
static void ud_past_stopped(struct vt *t)
{
	for (int meet = 0; meet < 2 && t->side == 0; meet++) {
		struct ibv_ah *ah, *own;
		struct ibv_qp *qp2;
		uint32_t mtu;
		uint64_t n;
		pid_t pid;

		*t = (struct vt){0};
		ud_meet = meet;
		pid = vt_fork_peer(t, ud_stopping_peer);
		vt_setup(t, &ud);
		ah = vt_ah(t, &t->peer);
		own = vt_ah(t, &t->me);
		mtu = vt_active_mtu(t);
		n = meet ? (256 << 10) / mtu + 6 : 3; /* met: the link holds 256 KiB */
		qp2 = vt_qp_create(t, &ud, t->cq);
		vt_qp_init(t, qp2, &ud);
		vt_qp_rtr(t, qp2, &ud, &t->me);
		recv_on(t, qp2, 8192, 4096, 6000);
		if (meet) {
			vt_sync(t);
			datagram(t, ah, t->peer.qpn, 8, 1);
			vt_wc_is(t, 1, IBV_WC_SUCCESS);
		}
		vt_wait_stopped(pid);
		for (uint64_t i = 0; i < n; i++)
			datagram(t, ah, t->peer.qpn, mtu, i);
		datagram(t, own, qp2->qp_num, 100, 5000);
		for (uint64_t i = 0, got = 0; got < n + 2; got++) {
			struct ibv_wc wc = vt_wc(t, t->cq);

			CHECK_EQ(wc.status, IBV_WC_SUCCESS);
			if (wc.wr_id == 6000)
				CHECK_EQ(wc.byte_len, 40 + 100);
			else
				CHECK_EQ(wc.wr_id, i < n ? i : 5000);
			i += wc.wr_id != 6000;
		}
		vt_kill_peer(pid);
		CHECK_EQ(ibv_destroy_qp(qp2), 0);
		CHECK_EQ(ibv_destroy_ah(ah), 0);
		CHECK_EQ(ibv_destroy_ah(own), 0);
		vt_close_alone(t);
	}
}

static void ud_late_peer(struct vt *t)
{
	vt_setup(t, &ud);
	CHECK_EQ(vt_recv(t, 0, 4096, 1), 0);
	raise(SIGSTOP);
	vt_wc_is(t, 1, IBV_WC_SUCCESS);
}

/*
 * The first datagram is not lost because the peer is slow to meet this process, as on a busy
 * machine.
 */
static void ud_late(struct vt *t)
{
	struct ibv_ah *ah;
	uint64_t until;
	pid_t pid;

	if (t->side == 1)
		return;
	pid = vt_fork_peer(t, ud_late_peer);
	vt_setup(t, &ud);
	ah = vt_ah(t, &t->peer);
	vt_wait_stopped(pid);
	datagram(t, ah, t->peer.qpn, 64, 2);
	until = vt_now_ns() + 300000000;
	while (vt_now_ns() < until)
		vt_wc_none(t, t->cq);
	CHECK_EQ(kill(pid, SIGCONT), 0);
	vt_wc_is(t, 2, IBV_WC_SUCCESS);
	vt_wait_ended(pid);
	CHECK_EQ(ibv_destroy_ah(ah), 0);
	vt_close_alone(t);
}

/* ------------------------------------------------------ threads, lost wake-ups */

static _Atomic uint64_t posted; /* number that post_for_ever() posted */

static void *post_for_ever(void *arg)
{
	struct vt *t = arg;
	struct ibv_wc wc;

	for (;;) {
		int rc = vt_send(t, IBV_WR_RDMA_WRITE, 0, 0, 8, 1, IBV_SEND_SIGNALED);

		CHECK(rc == 0 || rc == ENOMEM, "post_send: %d", rc);
		while (ibv_poll_cq(t->cq, 1, &wc) > 0)
			CHECK_EQ(wc.status, IBV_WC_SUCCESS);
		atomic_fetch_add_explicit(&posted, 1, memory_order_relaxed);
		pthread_testcancel();
	}
	return NULL;
}

static void cancel_one(struct vt *t, uint64_t after)
{
	struct ibv_wc wc = {0};
	pthread_t th;
	void *ret;

	atomic_store_explicit(&posted, 0, memory_order_relaxed);
	CHECK_EQ(pthread_create(&th, NULL, post_for_ever, t), 0);
	while (atomic_load_explicit(&posted, memory_order_relaxed) < after)
		sched_yield();
	CHECK_EQ(pthread_cancel(th), 0);
	CHECK_EQ(pthread_join(th, &ret), 0);
	CHECK(ret == PTHREAD_CANCELED, "not cancelled");
	while (vt_send(t, IBV_WR_RDMA_WRITE, 0, 0, 8, 99, IBV_SEND_SIGNALED))
		CHECK_EQ(vt_wc(t, t->cq).status, IBV_WC_SUCCESS);
	while (wc.wr_id != 99) {
		wc = vt_wc(t, t->cq);
		CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	}
}

/* A thread is cancelled while it posts and polls: it leaves nothing locked. The peer sleeps, so
 * that posting has to wake it. */
static void cancelled(struct vt *t)
{
	struct vt_opt o = {.event = true};

	vt_setup(t, &o);
	if (t->side == 1) {
		struct ibv_cq *cq;
		void *ctx;

		CHECK_EQ(vt_recv(t, 0, 64, 7), 0);
		CHECK_EQ(ibv_req_notify_cq(t->cq, 0), 0);
		vt_sync(t);
		CHECK_EQ(ibv_get_cq_event(t->channel, &cq, &ctx), 0);
		ibv_ack_cq_events(cq, 1);
		vt_wc_is(t, 7, IBV_WC_SUCCESS);
	} else {
		vt_sync(t);
		for (uint64_t i = 0; i < 200; i++)
			cancel_one(t, i % 8 ? i % 50 : 0);
		CHECK_EQ(vt_send(t, IBV_WR_SEND, 0, 0, 8, 8, IBV_SEND_SIGNALED), 0);
		vt_wc_is(t, 8, IBV_WC_SUCCESS);
	}
	vt_close(t);
}

static void place_on_eus(void)
{
	setenv("DPA_PLACEMENT", "eu", 1);
}

/* Bursts, and pauses about as long as an EU polls before it sleeps: no doorbell is missed. */
static void eu_wakeups(struct vt *t)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct vt_opt o = {0};
	uint64_t x = vt_seed() | 1;

	pthread_once(&once, place_on_eus);
	vt_setup(t, &o);
	for (int i = 0; i < 4000 && t->side == 0; i++) {
		uint64_t until, burst;

		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		burst = x % 8 ? 1 : x / 8 % 30;
		until = vt_now_ns() + x / 256 % 500000;
		while (vt_now_ns() < until)
			;
		for (uint64_t k = 0; k < burst; k++)
			CHECK_EQ(vt_send(t, IBV_WR_RDMA_WRITE, 0, 0, 8, k, IBV_SEND_SIGNALED), 0);
		for (uint64_t k = 0; k < burst; k++)
			vt_wc_is(t, k, IBV_WC_SUCCESS);
	}
	vt_close(t);
}

static const struct vt_case cases[] = {
	{"closes_lives_on", closes_lives_on, VT_PROCS, 0},
	{"killed_while_connecting", killed_while_connecting, VT_PROCS, 0},
	{"uc_to_exited", uc_to_exited, VT_PROCS, 0},
	{"read_half_answered", read_half_answered, VT_PROCS, 0},
	{"unmapped_unfinished", unmapped_unfinished, VT_PROCS, 0},
	{"ud_past_stopped", ud_past_stopped, VT_PROCS, 0},
	{"ud_late", ud_late, VT_PROCS, 0},
	{"cancelled", cancelled, VT_BOTH, 0},
	{"eu_wakeups", eu_wakeups, VT_BOTH, 0},
};

VT_MAIN(cases)
