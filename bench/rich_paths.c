/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * rich_paths - what the richer calls cost beside the plain ones, on the same QP and the same CQ, in
 * turns. Prints two exact medians (they may be a per cent apart), ns a work request or completion:
 * the richer one's, the plain one's.
 *
 *   rich_paths post COUNT    ibv_wr_start() to ibv_wr_complete() / ibv_post_send(), an 8 B WRITE a
 *                            call, each from and to a place of its own
 *   rich_paths poll COUNT    ibv_start_poll() to ibv_end_poll() / ibv_poll_cq(), 16 completions
 * that are there already; ID, status and opcode of each are read
 */
#include "vt.h"

#include <sched.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 16, BYTES = 8, DRIVES = 64 };

struct bench {
	struct vt t;
	struct ibv_cq_ex *cq;
	struct ibv_cq *idle, *quiet; /* polled to drive the device; of the QP that is written to */
	struct ibv_qp *qp, *to;
	struct ibv_qp_ex *qpx;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	uint64_t from, to_addr;
	uint64_t sum; /* of what was read: nothing is optimised away */
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void pin(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(1 % (int)sysconf(_SC_NPROCESSORS_ONLN), &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		perror("sched_setaffinity");
}

struct samples {
	uint64_t *v;
	size_t n;
};

static void add(struct samples *s, uint64_t ns)
{
	s->v[s->n++] = ns;
}

static int order(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(struct samples *s)
{
	qsort(s->v, s->n, sizeof(s->v[0]), order);
	return ((double)s->v[(s->n - 1) / 2] + (double)s->v[s->n / 2]) / 2;
}

static struct ibv_qp *ex_qp(struct bench *b)
{
	struct ibv_cq *cq = ibv_cq_ex_to_cq(b->cq);
	struct ibv_qp_init_attr_ex a = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {.max_send_wr = 64, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = b->t.pd,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(b->t.ctx, &a);

	CHECK(qp, "create_qp_ex: %s", strerror(errno));
	return qp;
}

static void open_all(struct bench *b)
{
	struct ibv_cq_init_attr_ex ca = {.cqe = 64, .wc_flags = IBV_WC_STANDARD_FLAGS};
	struct vt_opt o = {.sge = 1, .send_wr = 1, .recv_wr = 1};
	struct vt_addr to_a, to_b;
	struct vt *t = &b->t;

	vt_open(t);
	t->len = 4096;
	t->buf = aligned_alloc(4096, t->len);
	CHECK(t->buf, "memory");
	t->mr = ibv_reg_mr(t->pd, t->buf, t->len, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	CHECK(t->mr, "reg_mr: %s", strerror(errno));
	b->cq = ibv_create_cq_ex(t->ctx, &ca);
	b->idle = ibv_create_cq(t->ctx, 1, NULL, NULL, 0);
	b->quiet = ibv_create_cq(t->ctx, 1, NULL, NULL, 0);
	CHECK(b->cq && b->idle && b->quiet, "create_cq: %s", strerror(errno));
	b->qp = ex_qp(b);
	b->qpx = ibv_qp_to_qp_ex(b->qp);
	b->to = vt_qp_create(t, &o, b->quiet);
	to_a = to_b = t->me;
	to_a.qpn = b->qp->qp_num;
	to_b.qpn = b->to->qp_num;
	vt_qp_init(t, b->qp, &o);
	vt_qp_init(t, b->to, &o);
	vt_qp_rtr(t, b->qp, &o, &to_b);
	vt_qp_rtr(t, b->to, &o, &to_a);
	vt_qp_rts(t, b->qp, &o, 0);
	vt_qp_rts(t, b->to, &o, 0);
	b->sge = (struct ibv_sge){(uintptr_t)t->buf, BYTES, t->mr->lkey};
	b->wr = (struct ibv_send_wr){.sg_list = &b->sge,
				     .num_sge = 1,
				     .opcode = IBV_WR_RDMA_WRITE,
				     .send_flags = IBV_SEND_SIGNALED};
	b->from = (uintptr_t)t->buf;
	b->to_addr = b->from + 2048;
	b->wr.wr.rdma.rkey = t->mr->rkey;
}

static void post_plain(struct bench *b)
{
	struct ibv_send_wr *bad;

	for (uint64_t i = 0; i < BATCH; i++) {
		b->wr.wr_id = i;
		b->sge.addr = b->from + i * BYTES;
		b->wr.wr.rdma.remote_addr = b->to_addr + i * BYTES;
		CHECK_EQ(ibv_post_send(b->qp, &b->wr, &bad), 0);
	}
}

static void post_rich(struct bench *b)
{
	for (uint64_t i = 0; i < BATCH; i++) {
		ibv_wr_start(b->qpx);
		b->qpx->wr_id = i;
		b->qpx->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_rdma_write(b->qpx, b->wr.wr.rdma.rkey, b->to_addr + i * BYTES);
		ibv_wr_set_sge(b->qpx, b->sge.lkey, b->from + i * BYTES, BYTES);
		CHECK_EQ(ibv_wr_complete(b->qpx), 0);
	}
}

/* Completions taken by one call each. */
static int poll_plain(struct bench *b)
{
	struct ibv_wc wc[BATCH];
	int n = ibv_poll_cq(ibv_cq_ex_to_cq(b->cq), BATCH, wc);
	uint64_t sum = 0;

	CHECK(n >= 0, "poll_cq");
	for (int i = 0; i < n; i++) {
		CHECK(wc[i].status == IBV_WC_SUCCESS, "%s", ibv_wc_status_str(wc[i].status));
		sum += wc[i].wr_id + wc[i].opcode;
	}
	b->sum += sum;
	return n;
}

static int poll_rich(struct bench *b)
{
	struct ibv_poll_cq_attr attr = {0};
	uint64_t sum = 0;
	int n = 0, ret = ibv_start_poll(b->cq, &attr);

	if (ret == ENOENT)
		return 0;
	for (; !ret; ret = n < BATCH ? ibv_next_poll(b->cq) : ENOENT) {
		CHECK(b->cq->status == IBV_WC_SUCCESS, "%s", ibv_wc_status_str(b->cq->status));
		sum += b->cq->wr_id + ibv_wc_read_opcode(b->cq);
		n++;
	}
	CHECK_EQ(ret, ENOENT);
	ibv_end_poll(b->cq);
	b->sum += sum;
	return n;
}

/* A batch of each kind in turn; `poll`: which part is timed. */
static void turn(struct bench *b, bool rich, bool poll, struct samples *h)
{
	uint64_t t0 = now_ns(), t1;
	struct ibv_wc wc;
	int n;

	if (rich && !poll)
		post_rich(b);
	else
		post_plain(b);
	t1 = now_ns();
	if (!poll)
		add(h, t1 - t0);
	for (int i = 0; i < DRIVES; i++)
		CHECK_EQ(ibv_poll_cq(b->idle, 1, &wc), 0);
	t0 = now_ns();
	n = rich && poll ? poll_rich(b) : poll_plain(b);
	t1 = now_ns();
	if (poll && n == BATCH) /* else it was not all there: another thread was at it */
		add(h, t1 - t0);
	while (n < BATCH)
		n += poll_plain(b);
}

int main(int argc, char **argv)
{
	bool poll = argc == 3 && strcmp(argv[1], "poll") == 0;
	long count = argc == 3 ? atol(argv[2]) : 0;
	struct samples rich = {0}, plain = {0};
	static struct bench b;

	if (count < BATCH || (!poll && strcmp(argv[1], "post") != 0)) {
		fprintf(stderr, "usage: rich_paths post|poll COUNT\n");
		return 2;
	}
	pin();
	open_all(&b);
	rich.v = calloc((size_t)count, sizeof(uint64_t));
	plain.v = calloc((size_t)count, sizeof(uint64_t));
	CHECK(rich.v && plain.v, "memory");
	for (long i = 0; i < count / BATCH; i++) {
		turn(&b, true, poll, &rich);
		turn(&b, false, poll, &plain);
	}
	CHECK(rich.n > (size_t)count / BATCH / 2 && plain.n > (size_t)count / BATCH / 2,
	      "completions were not there in time");
	printf("%.2f %.2f\n", median(&rich) / BATCH, median(&plain) / BATCH);
	free(rich.v);
	free(plain.v);
	return b.sum == 0;
}
