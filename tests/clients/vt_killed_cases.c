/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * vt_killed_cases.c - a peer gets SIGKILL: outstanding and later operations of its partners end
 * with an error within the retry time of the QP, for each operation and each kind of wait. On
 * shared memory only death ends them; on the wire (DPA_SHM=never) silence does, and not before the
 * retries are used up.
 *
 * Side 1 returns at once, side 0 forks peers of its own.
 */
#include "vt_peer.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>

/* Allowed delay on a busy machine. Only liveness is required, not speed. */
#define SLACK_NS 5000000000ull

enum { QPS = 16, LEN = 8 << 20, PATIENCE_NS = 300000000 };

struct timing {
	uint8_t timeout, retry_cnt;
};

/* The result that the peer expects, set before the fork. */
static struct vt_opt opt;
static uint32_t num_qps;

static bool on_wire(void)
{
	const char *shm = getenv("DPA_SHM");

	return shm && strcmp(shm, "never") == 0;
}

/*
 * IBA 9.7.6.1.3: each of the retry_cnt + 1 waits takes 1 to 4 times 4.096 us * 2^timeout. A local
 * ACK timeout of 0 never ends by itself.
 */
static uint64_t retry_ns(uint64_t most)
{
	return opt.timeout ? most * (opt.retry_cnt + 1u) * (4096ull << opt.timeout) : 0;
}

static uint64_t latest(void)
{
	return retry_ns(4) + SLACK_NS;
}

static void connect_all(struct vt *t, struct ibv_qp **qps)
{
	struct vt_addr peer;

	opt.event = true;
	vt_setup(t, &opt);
	qps[0] = t->qp;
	for (uint32_t i = 1; i < num_qps; i++) {
		qps[i] = vt_qp_create(t, &opt, t->cq);
		vt_connect(t, qps[i], &opt, &peer);
	}
}

static void victim(struct vt *t)
{
	struct ibv_qp *qps[QPS];

	connect_all(t, qps);
	vt_first_message(t);
	vt_sync(t); /* it is acknowledged */
	raise(SIGSTOP);
	vt_fail(__FILE__, __LINE__, "it was to be killed");
}

/* The next completion, found by polling or by an event, before `end`. */
static struct ibv_wc next_wc(struct vt *t, bool event, uint64_t end)
{
	struct pollfd fd = {.fd = t->channel->fd, .events = POLLIN};
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *arg;
	int n;

	for (;;) {
		if (event)
			CHECK_EQ(ibv_req_notify_cq(t->cq, 0), 0);
		n = ibv_poll_cq(t->cq, 1, &wc);
		CHECK(n >= 0, "poll_cq");
		if (n)
			return wc;
		CHECK(vt_now_ns() < end,
		      "no error within the retry time (timeout %u, retry_cnt %u)", opt.timeout,
		      opt.retry_cnt);
		if (event && poll(&fd, 1, (int)((end - vt_now_ns()) / 1000000) + 1) == 1) {
			CHECK_EQ(ibv_get_cq_event(t->channel, &cq, &arg), 0);
			ibv_ack_cq_events(cq, 1);
		}
	}
}

/* Requests of every kind after a SEND without a receive: none of them can complete. */
static uint64_t post_all(struct vt *t, struct ibv_qp *qp, uint64_t id)
{
	static const enum ibv_wr_opcode ops[] = {IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
						 IBV_WR_ATOMIC_FETCH_AND_ADD,
						 IBV_WR_RDMA_WRITE_WITH_IMM};

	for (uint64_t i = 0; i < 10; i++) {
		enum ibv_wr_opcode op = ops[i % 5];
		uint32_t len = op == IBV_WR_ATOMIC_FETCH_AND_ADD ? 8 : i < 5 ? 64 : LEN / 2;
		struct ibv_sge sge;
		struct ibv_send_wr wr = vt_wr(t, op, &sge, 0, 0, len);

		wr.wr_id = id++;
		if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
			wr.wr.atomic.remote_addr = t->peer.addr;
			wr.wr.atomic.rkey = t->peer.rkey;
			wr.wr.atomic.compare_add = 1;
		}
		CHECK_EQ(vt_post(qp, &wr), 0);
	}
	return id;
}

/*
 * All `n` of each of the QPs in order, the first with RETRY_EXC_ERR, before `end`; the first of
 * them not before `begin`.
 */
static void all_fail(struct vt *t, struct ibv_qp **qps, uint64_t n, bool event, uint64_t begin,
		     uint64_t end)
{
	uint64_t seen[QPS] = {0};

	for (uint64_t i = 0; i < n * num_qps; i++) {
		struct ibv_wc wc = next_wc(t, event, end);
		uint32_t q = (uint32_t)(wc.wr_id / 100);

		CHECK(i || vt_now_ns() >= begin, "an error %llu us before the retries are used up",
		      (unsigned long long)(begin - vt_now_ns()) / 1000);
		CHECK(q < num_qps && wc.qp_num == qps[q]->qp_num, "wr_id %d", (int)wc.wr_id);
		CHECK_EQ(wc.wr_id % 100, seen[q]);
		CHECK(wc.status == (seen[q] ? IBV_WC_WR_FLUSH_ERR : IBV_WC_RETRY_EXC_ERR),
		      "wr_id %d: %s", (int)wc.wr_id, ibv_wc_status_str(wc.status));
		seen[q]++;
	}
	for (uint32_t q = 0; q < num_qps; q++)
		CHECK_EQ(vt_state(qps[q]), IBV_QPS_ERR);
	vt_wc_none(t, t->cq);
}

static void close_all(struct vt *t, struct ibv_qp **qps)
{
	for (uint32_t i = 1; i < num_qps; i++)
		CHECK_EQ(ibv_destroy_qp(qps[i]), 0);
	vt_close_alone(t);
}

static void once(struct vt *t, struct timing tm, bool outstanding, bool event)
{
	struct ibv_qp *qps[QPS];
	uint64_t n = 0, begin, until;
	struct ibv_wc wc;
	pid_t pid;

	*t = (struct vt){0};
	opt = (struct vt_opt){
		.timeout = tm.timeout, .retry_cnt = tm.retry_cnt, .len = LEN, .cqe = 100 * QPS};
	pid = vt_fork_peer(t, victim);
	connect_all(t, qps);
	vt_first_message(t);
	vt_sync(t);
	vt_wait_stopped(pid);
	if (outstanding) {
		for (uint32_t q = 0; q < num_qps; q++)
			n = post_all(t, qps[q], 100ull * q) % 100;
		/* the QP waits for a stopped peer, longer than most retries take */
		for (until = vt_now_ns() + PATIENCE_NS; vt_now_ns() < until;)
			CHECK_EQ(ibv_poll_cq(t->cq, 1, &wc), 0);
	}
	vt_kill_peer(pid);
	begin = vt_now_ns();
	for (uint32_t q = 0; q < num_qps && !outstanding; q++)
		n = post_all(t, qps[q], 100ull * q) % 100;
	all_fail(t, qps, n, event, on_wire() ? begin + retry_ns(1) : 0, vt_now_ns() + latest());
	close_all(t, qps);
}

/* The 8 ms of the last one are too short for a first packet on the wire of a busy machine. */
static const struct timing timings[] = {{14, 7}, {17, 1}, {8, 7}};

static void outstanding_work(struct vt *t)
{
	if (t->side == 1)
		return;
	if (on_wire())
		vt_skip("there a stopped peer is an error, too");
	for (size_t i = 0; i < 3u - on_wire(); i++)
		for (int event = 0; event < 2; event++) {
			num_qps = i ? 1 : QPS;
			once(t, timings[i], true, event);
		}
}

static void posted_afterwards(struct vt *t)
{
	if (t->side == 1)
		return;
	for (size_t i = 0; i < 3u - on_wire(); i++)
		for (int event = 0; event < 2; event++) {
			num_qps = i ? 1 : QPS;
			once(t, timings[i], false, event);
		}
}

static const struct vt_case cases[] = {
	{"outstanding_work", outstanding_work, VT_PROCS, 120},
	{"posted_afterwards", posted_afterwards, VT_PROCS, 120},
};

VT_MAIN(cases)
