/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_verify - moves a given number of bytes between two processes, in both directions at once, and
 * checks each byte.
 *
 *   dpa_verify [options]            server: waits for the client on TCP port -p
 *   dpa_verify [options] HOST       client
 *   dpa_verify [options] --threads  both, in one process
 *
 * Each side carries out the same kind of program on each QP: SEND, WRITE, WRITE with immediate,
 * READ, FETCH_ADD and CMP_SWAP, all derived from the seed, so the other side can compute each
 * message, its length and its bytes. A receiver checks the WRITEs of its peer when a SEND or an
 * immediate that was posted after them arrives, and only then allows the peer to write to their
 * place again. Atomics go to words that only one QP changes, for which every result is known, and
 * to one that all QPs count up, whose results must all differ: so each was applied exactly once.
 *
 * With --kind: messages instead, of any transport, to a receiver that does not keep up:
 * verify_msg.h.
 *
 * Prints one line of JSON. Exit status 0: all was right; 1: something was not; 2: usage.
 */
#include "verify_msg.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

/* ------------------------------------------------------------------- the buffer */

/* Other bytes behind each place, so that a byte too many of one is seen in another. */
static uint64_t guard_key(const struct verify *v, size_t off)
{
	return mix(v->seed + (uint64_t)v->t.side) + off;
}

static void guards_check(const struct verify *v)
{
	for (size_t i = 0; i < (size_t)v->qps * PLACES * WINDOW; i++) {
		size_t off = i * slot_size(v) + v->max;

		CHECK(differs(v->t.buf + off, GUARD, guard_key(v, off)) == GUARD,
		      "slot %zu was written behind its end", i);
	}
}

static void buffer_make(struct verify *v)
{
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		     IBV_ACCESS_REMOTE_ATOMIC;
	struct vt *t = &v->t;

	t->len = at_read(v) + READ_AREA + v->max;
	t->buf = mmap(NULL, t->len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	v->ref = malloc((size_t)READ_AREA + v->max);
	CHECK(t->buf != MAP_FAILED && v->ref, "%s", strerror(errno));
	for (size_t i = 0; i < (size_t)v->qps * PLACES * WINDOW; i++) {
		size_t off = i * slot_size(v) + v->max;

		fill(t->buf + off, GUARD, guard_key(v, off));
	}
	fill(t->buf + at_read(v), (size_t)READ_AREA + v->max, v->seed + (uint64_t)t->side);
	fill(v->ref, (size_t)READ_AREA + v->max, v->seed + (uint64_t)!t->side);
	t->mr = ibv_reg_mr(t->pd, t->buf, t->len, access);
	CHECK(t->mr, "reg_mr of %zu bytes: %s", t->len, strerror(errno));
	t->me.rkey = t->mr->rkey;
	t->me.addr = (uintptr_t)t->buf;
}

/* ----------------------------------------------------------------- connections */

static void conn_create(struct verify *v, struct conn *c, uint32_t index)
{
	struct vt_opt o = {.send_wr = WINDOW + 2, .recv_wr = v->recvs, .sge = 2, .inl = v->inl};
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
				.port_num = (uint8_t)v->ib_port,
				.qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
						   IBV_ACCESS_REMOTE_READ |
						   IBV_ACCESS_REMOTE_ATOMIC};

	c->index = index;
	c->qp = vt_qp_create(&v->t, &o, v->t.cq);
	c->psn = (uint32_t)mix(v->seed + c->qp->qp_num) & 0xffffff;
	program_init(&c->mine, v, v->t.side, index);
	program_init(&c->theirs, v, !v->t.side, index);
	CHECK_EQ(
		ibv_modify_qp(c->qp, &a,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
		0);
}

static void conn_connect(struct verify *v, struct conn *c)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = v->mtu,
		.dest_qp_num = c->peer_qpn,
		.rq_psn = c->peer_psn,
		.max_dest_rd_atomic = v->rd_atomic,
		.min_rnr_timer = 1,
		.ah_attr = {.is_global = 1,
			    .port_num = (uint8_t)v->ib_port,
			    .grh = {.dgid = v->t.peer.gid,
				    .sgid_index = (uint8_t)v->gid_index,
				    .hop_limit = 64}},
	};

	CHECK_EQ(ibv_modify_qp(c->qp, &a,
			       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				       IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				       IBV_QP_MIN_RNR_TIMER),
		 0);
	a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
				 .sq_psn = c->psn,
				 .timeout = v->timeout,
				 .retry_cnt = v->retry_cnt,
				 .rnr_retry = v->rnr_retry,
				 .max_rd_atomic = v->rd_atomic};
	CHECK_EQ(ibv_modify_qp(c->qp, &a,
			       IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				       IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC),
		 0);
}
/* Set up all from the device to QPs in RTS. The peer's parameters must be equal. */
static void set_up(struct verify *v)
{
	struct vt *t = &v->t;
	uint64_t mine[] = {v->qps, v->max, v->total, v->seed}, theirs[4];

	vt_open(t);
	if (v->gid_index >= 0)
		CHECK_EQ(ibv_query_gid(t->ctx, (uint8_t)v->ib_port, v->gid_index, &t->me.gid), 0);
	else
		v->gid_index = t->gid_index;
	vt_put(t, mine, sizeof(mine));
	vt_get(t, theirs, sizeof(theirs));
	CHECK(!memcmp(mine, theirs, sizeof(mine)), "the two sides were given different options");
	buffer_make(v);
	t->cq = ibv_create_cq(t->ctx, (int)(v->qps * (WINDOW + 2 + v->recvs)), NULL, NULL, 0);
	CHECK(t->cq, "create_cq: %s", strerror(errno));
	vt_put(t, &t->me, sizeof(t->me));
	vt_get(t, &t->peer, sizeof(t->peer));
	for (uint32_t q = 0; q < v->qps; q++) {
		struct conn *c = &v->c[q];
		uint32_t out[2], in[2];

		conn_create(v, c, q);
		out[0] = c->qp->qp_num;
		out[1] = c->psn;
		vt_put(t, out, sizeof(out));
		vt_get(t, in, sizeof(in));
		c->peer_qpn = in[0];
		c->peer_psn = in[1];
		conn_connect(v, c);
		for (uint32_t i = 0; i < v->recvs; i++)
			recv_post(v, c, i);
	}
	vt_sync(t);
	clock_gettime(CLOCK_MONOTONIC, &v->start);
}

/* -------------------------------------------------------------------- the run */

static double since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - start->tv_sec) + (double)(now.tv_nsec - start->tv_nsec) * 1e-9;
}

static struct conn *conn_by_qpn(struct verify *v, uint32_t qpn)
{
	for (uint32_t i = 0; i < v->qps; i++) {
		struct conn *c = &v->c[(v->hint + i) % v->qps];

		if (c->qp->qp_num == qpn) {
			v->hint = c->index;
			return c;
		}
	}
	vt_fail(__FILE__, __LINE__, "a completion of QP %#x, which is not ours", qpn);
}

static void completion(struct verify *v, const struct ibv_wc *wc)
{
	CHECK(wc->status == IBV_WC_SUCCESS, "%s (vendor_err %#x, wr_id %#llx, QP %#x) after %.1f s",
	      ibv_wc_status_str(wc->status), wc->vendor_err, (unsigned long long)wc->wr_id,
	      wc->qp_num, since(&v->start));
	if (wc->wr_id & WR_RECV)
		arrived(v, conn_by_qpn(v, wc->qp_num), wc);
	else if (wc->wr_id & WR_CREDIT)
		v->c[wc->wr_id & (MAX_QPS - 1)].credit_busy = false;
	else
		op_completed(v, wc);
}

static void stuck(const struct verify *v)
{
	for (uint32_t q = 0; q < v->qps; q++) {
		const struct conn *c = &v->c[q];

		if (!conn_finished(c))
			printf("    QP %u: posted %llu, complete %llu, peer has seen %llu; seen of "
			       "the peer %llu, told it %llu%s\n",
			       q, (unsigned long long)c->mine.seq, (unsigned long long)c->done,
			       (unsigned long long)c->credit_seen,
			       (unsigned long long)c->theirs.seq, (unsigned long long)c->credit,
			       c->credit_busy ? " (under way)" : "");
	}
	vt_fail(__FILE__, __LINE__, "nothing happened for %ld s", v->stuck);
}

/* Run all QPs once; return whether all have finished. */
static bool turn(struct verify *v)
{
	bool all = true;

	for (uint32_t q = 0; q < v->qps; q++) {
		struct conn *c = &v->c[q];

		while (may_post(v, c))
			op_post(v, c);
		credit_post(v, c);
		all = all && conn_finished(c);
	}
	return all;
}

static void run(struct verify *v)
{
	time_t seen = time(NULL);
	struct ibv_wc wc[BATCH];

	for (uint32_t idle = 0; !turn(v);) {
		int n = ibv_poll_cq(v->t.cq, BATCH, wc);

		CHECK(n >= 0, "poll_cq failed");
		for (int i = 0; i < n; i++)
			completion(v, &wc[i]);
		idle = n ? 0 : idle + 1;
		if (n)
			seen = time(NULL);
		if (idle && idle % 32 == 0)
			sched_yield();
		if (idle && idle % 4096 == 0 && time(NULL) > seen + v->stuck)
			stuck(v);
	}
}

/* Check our words against the results of the peer's atomics, as the peer reports them. */
static void finals_check(struct verify *v)
{
	uint64_t mine = v->counts, theirs;

	for (uint32_t q = 0; q < v->qps; q++)
		vt_put(&v->t, &v->c[q].expect, sizeof(v->c[q].expect));
	vt_put(&v->t, &mine, sizeof(mine));
	for (uint32_t q = 0; q < v->qps; q++) {
		struct words w;

		vt_get(&v->t, &w, sizeof(w));
		CHECK(load64(v, at_words(v, q)) == w.add && load64(v, at_words(v, q) + 8) == w.swap,
		      "QP %u: its words hold %#llx and %#llx, not %#llx and %#llx", q,
		      (unsigned long long)load64(v, at_words(v, q)),
		      (unsigned long long)load64(v, at_words(v, q) + 8), (unsigned long long)w.add,
		      (unsigned long long)w.swap);
	}
	vt_get(&v->t, &theirs, sizeof(theirs));
	CHECK_EQ(load64(v, at_count(v)), theirs);
	for (uint64_t i = 0; i < v->counts; i++)
		CHECK(v->seen[i / 8] & 1 << i % 8, "nobody counted from %llu",
		      (unsigned long long)i);
	guards_check(v);
}

static void report(const struct verify *v, double seconds)
{
	uint64_t bytes = 0;
	struct rusage ru;

	getrusage(RUSAGE_SELF, &ru);
	printf("{\"side\": \"%s\", \"qps\": %u, \"seed\": %llu, \"seconds\": %.3f, "
	       "\"rss_kib\": %ld",
	       v->t.side ? "client" : "server", v->qps, (unsigned long long)v->seed, seconds,
	       ru.ru_maxrss);
	for (int k = 0; k < KINDS; k++) {
		bytes += v->tally.bytes[k];
		printf(", \"%s\": {\"ops\": %llu, \"bytes\": %llu}", kind_name[k],
		       (unsigned long long)v->tally.ops[k], (unsigned long long)v->tally.bytes[k]);
	}
	printf(", \"bytes\": %llu}\n", (unsigned long long)bytes);
	fflush(stdout);
}

/*
 * --expect-error: the client sends to a missing peer on every QP. The first completion must be
 * RETRY_EXC_ERR, later work must be flushed, and the QP be in error.
 */
static void expect_error(struct verify *v)
{
	double first = 0;
	time_t limit = time(NULL) + v->stuck;

	if (v->t.side == 0) {
		char c;

		(void)!recv(v->t.sock, &c, 1, 0); /* the client ends */
		printf("{\"side\": \"server\"}\n");
		return;
	}
	clock_gettime(CLOCK_MONOTONIC, &v->start);
	for (uint32_t q = 0; q < v->qps; q++)
		for (int i = 0; i < 2; i++) {
			struct ibv_sge sge = {(uintptr_t)v->t.buf, 8, v->t.mr->lkey};
			struct ibv_send_wr wr = {.wr_id = q * 2 + (uint32_t)i,
						 .sg_list = &sge,
						 .num_sge = 1,
						 .opcode = IBV_WR_SEND,
						 .send_flags = IBV_SEND_SIGNALED};

			CHECK_EQ(vt_post(v->c[q].qp, &wr), 0);
		}
	for (uint32_t left = v->qps * 2; left;) {
		struct ibv_wc wc;
		int n = ibv_poll_cq(v->t.cq, 1, &wc);

		CHECK(n >= 0, "poll_cq failed");
		CHECK(time(NULL) < limit, "no error within %ld s, %u of %u missing", v->stuck, left,
		      v->qps * 2);
		if (!n || wc.wr_id & WR_RECV) {
			sched_yield();
			continue;
		}
		CHECK_EQ(wc.status, wc.wr_id % 2 ? IBV_WC_WR_FLUSH_ERR : IBV_WC_RETRY_EXC_ERR);
		CHECK_EQ(vt_state(v->c[wc.wr_id / 2].qp), IBV_QPS_ERR);
		if (!first)
			first = since(&v->start);
		left--;
	}
	printf("{\"side\": \"client\", \"first_error_s\": %.6f, \"last_error_s\": %.6f}\n", first,
	       since(&v->start));
	fflush(stdout);
}

static void tear_down(struct verify *v)
{
	for (uint32_t q = 0; q < v->qps; q++)
		CHECK_EQ(ibv_destroy_qp(v->c[q].qp), 0);
	CHECK_EQ(ibv_destroy_cq(v->t.cq), 0);
	CHECK_EQ(ibv_dereg_mr(v->t.mr), 0);
	CHECK_EQ(ibv_dealloc_pd(v->t.pd), 0);
	CHECK_EQ(ibv_close_device(v->t.ctx), 0);
}

static void traffic(struct verify *v)
{
	double seconds;

	run(v);
	seconds = since(&v->start);
	vt_sync(&v->t); /* until then the peer may need our answers */
	finals_check(v);
	report(v, seconds);
	vt_sync(&v->t);
}

/* Run one side, from the device to its end. */
static void side(struct verify *v, const struct verify_cmd *cmd)
{
	if (cmd->msg.on) {
		msg_run(v, &cmd->msg);
		return;
	}
	v->c = calloc(v->qps, sizeof(*v->c));
	CHECK(v->c, "no memory");
	set_up(v);
	if (cmd->error)
		expect_error(v);
	else
		traffic(v);
	tear_down(v);
	free(v->c);
}

struct thread {
	struct verify v;
	const struct verify_cmd *cmd;
};

static void *thread(void *arg)
{
	struct thread *t = arg;

	side(&t->v, t->cmd);
	return NULL;
}

/* Both sides in this process. */
static void both(const struct verify_cmd *cmd)
{
	struct thread t[2] = {{cmd->v, cmd}, {cmd->v, cmd}};
	pthread_t th;
	int sv[2];

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
	for (int i = 0; i < 2; i++) {
		t[i].v.t.side = i;
		t[i].v.t.sock = sv[i];
		t[i].v.t.threads = true;
	}
	CHECK_EQ(pthread_create(&th, NULL, thread, &t[1]), 0);
	thread(&t[0]);
	CHECK_EQ(pthread_join(th, NULL), 0);
}

int main(int argc, char **argv)
{
	struct verify_cmd cmd = {.v = {.qps = 8,
				       .max = 65536,
				       .recvs = WINDOW,
				       .total = 64 << 20,
				       .seed = 1,
				       .timeout = 14,
				       .retry_cnt = 7,
				       .rnr_retry = 7,
				       .rd_atomic = 4,
				       .mtu = IBV_MTU_1024,
				       .gid_index = -1,
				       .ib_port = 1,
				       .inl = 64,
				       .stuck = 60},
				 .msg = {.count = 1000, .manner = MSG_TURNS},
				 .port = "18515"};

	if (!verify_options(&cmd, argc, argv))
		return 2;
	signal(SIGPIPE, SIG_IGN);
	if (cmd.msg.threads) {
		both(&cmd);
		return 0;
	}
	cmd.v.t.side = cmd.host != NULL;
	cmd.v.t.sock = vt_tcp(cmd.host, cmd.port);
	side(&cmd.v, &cmd);
	return 0;
}
