/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * send_rate - messages per second that perftest cannot measure. Prints one number: million/s.
 *
 *   send_rate lists COUNT LIST     8 B SENDs in posted lists, one QP, two processes
 *   send_rate writes COUNT LIST    8 B RDMA WRITEs in posted lists, likewise; the writer's clock
 *   send_rate qps COUNT QPS        8 B SENDs one by one, round robin over QPS QPs, two processes
 *   send_rate threads COUNT T      8 B SENDs, T threads with a QP pair each, within one process
 *   send_rate locked COUNT T       for comparison: 16 QPs a thread, all threads' QPs share 16 slots
 *                                  with a lock, as older adapters share their doorbells
 *   send_rate copies COUNT T the upper bound: T processes of one thread at once, nothing shared
 * but the machine
 */
#include "timing.h"
#include "vt.h"

#include <pthread.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum {
	BYTES = 8,
	WINDOW = 512,
	BATCH = 16,
	SLOTS = 16,
	MAX_QPS = 4096,
	MAX_THREADS = 16,
	RECVS = 128
};

/* Poll, count good completions, fail on a bad one. */
static int reap_wcs(struct ibv_cq *cq, struct ibv_wc *wc)
{
	int n = ibv_poll_cq(cq, BATCH, wc);

	CHECK(n >= 0, "poll_cq");
	for (int i = 0; i < n; i++)
		CHECK(wc[i].status == IBV_WC_SUCCESS, "%s", ibv_wc_status_str(wc[i].status));
	return n;
}

/* ----------------------------------------------------- two processes, one way */

struct run {
	struct vt t;
	long count;
	uint32_t list, qps;
	bool writes;
	struct ibv_srq *srq;
	struct ibv_qp *qp[MAX_QPS];
};

static void post_recvs(struct run *r, int n)
{
	struct ibv_sge sge = {(uintptr_t)r->t.buf, BYTES, r->t.mr->lkey};
	struct ibv_recv_wr wr[BATCH], *bad;

	for (int i = 0; i < n; i++)
		wr[i] = (struct ibv_recv_wr){
			.next = i < n - 1 ? &wr[i + 1] : NULL, .sg_list = &sge, .num_sge = 1};
	CHECK_EQ(ibv_post_srq_recv(r->srq, wr, &bad), 0);
}

/* Run the receiver. Its clock counts, from the first message to the last. */
static double receive_all(struct run *r)
{
	struct ibv_wc wc[BATCH];
	double start = 0;

	for (long got = 0; got < r->count;) {
		int n = reap_wcs(r->t.cq, wc);

		if (!n)
			continue;
		if (!got)
			start = bench_seconds();
		got += n;
		post_recvs(r, n);
	}
	return (double)r->count / (bench_seconds() - start) / 1e6;
}

/* Post one list of r->list SENDs to one QP; only the last is signalled. */
static void send_list(struct run *r, struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	for (uint32_t i = 0; i < r->list; i++) {
		wr[i].next = i < r->list - 1 ? &wr[i + 1] : NULL;
		wr[i].send_flags = i < r->list - 1 ? 0 : IBV_SEND_SIGNALED;
	}
	CHECK_EQ(vt_post(qp, wr), 0);
}

static void send_all(struct run *r)
{
	struct ibv_sge sge = {(uintptr_t)r->t.buf, BYTES, r->t.mr->lkey};
	struct ibv_send_wr wr[WINDOW];
	struct ibv_wc wc[BATCH];
	uint32_t out = 0, window = r->qps > 1 ? 64 : WINDOW / 2;

	if (r->list == 1)
		window = 64;
	for (uint32_t i = 0; i < r->list; i++)
		wr[i] = (struct ibv_send_wr){
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = r->writes ? IBV_WR_RDMA_WRITE : IBV_WR_SEND,
			.wr.rdma = {r->t.peer.addr + i * BYTES, r->t.peer.rkey}};
	for (long sent = 0, n = 0; sent < r->count || out;) {
		if (sent < r->count && out + r->list <= window) {
			send_list(r, r->qp[n++ % r->qps], wr);
			sent += r->list;
			out += r->list;
			continue;
		}
		out -= (uint32_t)reap_wcs(r->t.cq, wc) * r->list;
	}
}

/* Write all. The other side does not poll. */
static double write_all(struct run *r)
{
	double start = bench_seconds();

	send_all(r);
	return (double)r->count / (bench_seconds() - start) / 1e6;
}

static double one_side(struct run *r)
{
	struct ibv_srq_init_attr sa = {.attr = {.max_wr = 2 * WINDOW, .max_sge = 1}};
	struct vt_opt o = {.sge = 1, .recv_wr = 1, .cqe = 4 * WINDOW};
	double rate = 0;

	bench_pin(0, r->t.side);
	vt_open(&r->t);
	r->srq = o.srq = ibv_create_srq(r->t.pd, &sa);
	CHECK(r->srq, "create_srq: %s", strerror(errno));
	o.send_wr = r->qps > 1 ? 16 : WINDOW;
	vt_setup(&r->t, &o);
	for (uint32_t i = 0; i < r->qps; i++) {
		struct vt_addr peer;

		r->qp[i] = vt_qp_create(&r->t, &o, r->t.cq);
		vt_connect(&r->t, r->qp[i], &o, &peer);
	}
	for (int i = 0; r->t.side == 1 && i < 2 * WINDOW; i += BATCH)
		post_recvs(r, BATCH);
	vt_sync(&r->t);
	if (r->writes)
		rate = r->t.side == 1 ? write_all(r) : 0;
	else if (r->t.side == 1)
		rate = receive_all(r);
	else
		send_all(r);
	vt_sync(&r->t);
	return rate;
}

static int two_processes(struct run *r)
{
	int sv[2], status = 0;
	pid_t pid;

	r->count -= r->count % r->list;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv))
		return 1;
	pid = fork();
	if (pid == 0) {
		close(sv[1]);
		r->t.sock = sv[0];
		one_side(r);
		_exit(0);
	}
	close(sv[0]);
	r->t.sock = sv[1];
	r->t.side = 1;
	printf("%.4f\n", one_side(r));
	waitpid(pid, &status, 0);
	return status ? 1 : 0;
}

/* ------------------------------------------------------------ several threads */

static pthread_mutex_t slot_lock[SLOTS];

struct worker {
	struct vt *t;
	int index, qps;
	bool locked;
	long count;
	/* times measured by the worker: the main thread may not get a core in time */
	double begin, end;
	struct ibv_cq *cq;
	struct ibv_qp *qp[SLOTS], *to[SLOTS];
	pthread_barrier_t *start;
};

/* Connect two QPs of this process to each other; return the posting one. */
static struct ibv_qp *loop_qp(struct vt *t, struct ibv_cq *cq, struct ibv_qp **to)
{
	struct vt_opt o = {.sge = 1, .send_wr = 64, .recv_wr = RECVS};
	struct ibv_qp *a = vt_qp_create(t, &o, cq), *b = vt_qp_create(t, &o, cq);

	vt_connect_pair(t, a, b, &o);
	*to = b;
	return a;
}

/* Post taken receives again; return the number of signalled sends that completed. */
static uint32_t send_turn(struct worker *w, struct ibv_recv_wr *rwr)
{
	struct ibv_recv_wr *bad;
	struct ibv_wc wc[BATCH];
	int n = reap_wcs(w->cq, wc);
	uint32_t sent = 0;

	for (int i = 0; i < n; i++) {
		if (!(wc[i].opcode & IBV_WC_RECV)) {
			sent++;
			continue;
		}
		rwr->wr_id = wc[i].wr_id;
		CHECK_EQ(ibv_post_recv(w->to[wc[i].wr_id], rwr, &bad), 0);
	}
	return sent;
}

static void *thread_main(void *arg)
{
	struct worker *w = arg;
	struct ibv_sge sge = {(uintptr_t)w->t->buf + (size_t)w->index * 8192, BYTES,
			      w->t->mr->lkey};
	struct ibv_sge rsge = {sge.addr + 4096, BYTES, sge.lkey};
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND};
	struct ibv_recv_wr rwr = {.sg_list = &rsge, .num_sge = 1}, *bad;
	uint32_t out = 0;

	bench_pin(0, w->index);
	for (int q = 0; q < w->qps; q++) {
		rwr.wr_id = (uint64_t)q;
		for (int i = 0; i < RECVS; i++)
			CHECK_EQ(ibv_post_recv(w->to[q], &rwr, &bad), 0);
	}
	pthread_barrier_wait(w->start);
	w->begin = bench_seconds();
	for (long i = 1; i <= w->count || out;) {
		if (i <= w->count && out < 3) {
			int slot = (int)(i / BATCH) % w->qps;

			wr.send_flags = i % BATCH ? 0 : IBV_SEND_SIGNALED;
			out += !(i % BATCH);
			if (w->locked)
				pthread_mutex_lock(&slot_lock[slot % SLOTS]);
			CHECK_EQ(vt_post(w->qp[slot], &wr), 0);
			if (w->locked)
				pthread_mutex_unlock(&slot_lock[slot % SLOTS]);
			i++;
			continue;
		}
		out -= send_turn(w, &rwr);
	}
	w->end = bench_seconds();
	return NULL;
}

/* Allocate memory for n workers. */
static void open_for(struct vt *t, int n)
{
	vt_open(t);
	t->len = (size_t)n * 8192;
	t->buf = aligned_alloc(4096, t->len);
	t->mr = ibv_reg_mr(t->pd, t->buf, t->len, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	CHECK(t->mr, "reg_mr: %s", strerror(errno));
}

static void make_queues(struct worker *w)
{
	w->cq = ibv_create_cq(w->t->ctx, 4096, NULL, NULL, 0);
	CHECK(w->cq, "create_cq: %s", strerror(errno));
	for (int q = 0; q < w->qps; q++)
		w->qp[q] = loop_qp(w->t, w->cq, &w->to[q]);
}

/* Return the rate from the begin of the first worker to the end of the last one. */
static double rate_of(const struct worker *w, int n)
{
	double begin = w[0].begin, end = w[0].end;

	for (int i = 1; i < n; i++) {
		begin = w[i].begin < begin ? w[i].begin : begin;
		end = w[i].end > end ? w[i].end : end;
	}
	return (double)w[0].count * n / (end - begin) / 1e6;
}

static int run_threads(long count, int n, bool locked)
{
	static struct worker w[MAX_THREADS];
	pthread_t th[MAX_THREADS];
	pthread_barrier_t start;
	struct vt t = {0};

	open_for(&t, n);
	for (int i = 0; i < SLOTS; i++)
		pthread_mutex_init(&slot_lock[i], NULL);
	pthread_barrier_init(&start, NULL, (unsigned int)n);
	for (int i = 0; i < n; i++) {
		w[i] = (struct worker){.t = &t,
				       .index = i,
				       .qps = locked ? SLOTS : 1,
				       .locked = locked,
				       .count = count - count % BATCH,
				       .start = &start};
		make_queues(&w[i]);
		CHECK_EQ(pthread_create(&th[i], NULL, thread_main, &w[i]), 0);
	}
	for (int i = 0; i < n; i++)
		pthread_join(th[i], NULL);
	printf("%.4f\n", rate_of(w, n));
	return 0;
}

/* Run one of the copies: its worker and the barrier lie in memory that all copies share. */
static void copy_main(struct worker *w)
{
	struct vt t = {0};

	open_for(&t, w->index + 1);
	w->t = &t;
	make_queues(w);
	thread_main(w);
	_exit(0);
}

static int run_copies(long count, int n)
{
	struct {
		pthread_barrier_t start;
		struct worker w[MAX_THREADS];
	} *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_barrierattr_t attr;
	int status, bad = 0;

	CHECK(s != MAP_FAILED, "mmap: %s", strerror(errno));
	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&s->start, &attr, (unsigned int)n);
	for (int i = 0; i < n; i++) {
		s->w[i] = (struct worker){
			.index = i, .qps = 1, .count = count - count % BATCH, .start = &s->start};
		if (fork() == 0)
			copy_main(&s->w[i]);
	}
	for (int i = 0; i < n; i++)
		bad |= wait(&status) < 0 || status;
	printf("%.4f\n", rate_of(s->w, n));
	return bad;
}

int main(int argc, char **argv)
{
	static struct run r;
	long count = argc == 4 ? atol(argv[2]) : 0, n = argc == 4 ? atol(argv[3]) : 0;

	if (count < BATCH || n < 1) {
		fprintf(stderr,
			"usage: send_rate lists|writes|qps|threads|locked|copies COUNT N\n");
		return 2;
	}
	r.count = count;
	r.list = r.qps = 1;
	r.writes = strcmp(argv[1], "writes") == 0;
	if ((r.writes || strcmp(argv[1], "lists") == 0) && n <= WINDOW / 2)
		r.list = (uint32_t)n;
	else if (strcmp(argv[1], "qps") == 0 && n <= MAX_QPS)
		r.qps = (uint32_t)n;
	else if ((strcmp(argv[1], "threads") == 0 || strcmp(argv[1], "locked") == 0) &&
		 n <= MAX_THREADS)
		return run_threads(count, (int)n, argv[1][0] == 'l');
	else if (strcmp(argv[1], "copies") == 0 && n <= MAX_THREADS)
		return run_copies(count, (int)n);
	else
		return 2;
	return two_processes(&r);
}
