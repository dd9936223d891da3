/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * rich_paths - the cost of the extended calls compared with the plain ones, on the same QP and the
 * same CQ, in turns. Prints two exact medians (they may be a per cent apart), ns a work request or
 * completion: the extended one's, the plain one's. A clock may tick in steps of 10 ns, and reading
 * it takes as long as some completions, so a sample is the sum of 16 turns, minus the cost of the
 * clock itself.
 *
 * post: ibv_wr_start() to ibv_wr_complete() / ibv_post_send(), an 8 B WRITE a call, each from and
 * to its own address. one, poll: ibv_start_poll() to ibv_end_poll() / ibv_poll_cq(), of 16
 * completions that are ready: one call for each, or one for all. ID and status are read. opcode,
 * fields: as poll; the opcode is read, too, or the opcode, bytes, QP number, flags, immediate data
 * and vendor error, by one call of the application each. stamps: as poll, on a CQ with time stamps.
 */
#include "sort.h"
#include "timing.h"
#include "vt.h"

#include <unistd.h>

enum { BATCH = 16, BYTES = 8, DRIVES = 64, TURNS = 16 };
#define STAMP_FLAGS                                                                                \
	(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
enum what { POST, ONE, POLL, OPCODE, FIELDS, STAMPS };
static const char *const modes[] = {"post", "one", "poll", "opcode", "fields", "stamps"};

struct bench {
	struct vt t;
	struct ibv_cq_ex *cq;
	/* idle: polled to drive the device; quiet: of the QP that is written to */
	struct ibv_cq *idle, *quiet;
	struct ibv_qp *qp, *to;
	struct ibv_qp_ex *qpx;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	uint64_t from, to_addr;
	uint64_t sum; /* sum of read values: nothing is optimised away */
};

struct samples {
	uint64_t *v;
	size_t n;
	uint64_t sum; /* sum of the turns of the present sample */
	int turns;
};

static void add_sample(struct samples *s, uint64_t ns)
{
	s->sum += ns;
	if (++s->turns < TURNS)
		return;
	s->v[s->n++] = s->sum;
	s->sum = 0;
	s->turns = 0;
}

static double median_ns(struct samples *s)
{
	const double upper = (double)bench_median_ns(s->v, s->n);

	return ((double)s->v[(s->n - 1) / 2] + upper) / 2;
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

static void open_all(struct bench *b, bool stamps)
{
	struct ibv_cq_init_attr_ex ca = {
		.cqe = 64, .wc_flags = IBV_WC_STANDARD_FLAGS | (stamps ? STAMP_FLAGS : 0)};
	struct vt_opt o = {.sge = 1, .send_wr = 1, .recv_wr = 1};
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
	vt_connect_pair(t, b->qp, b->to, &o);
	b->sge = (struct ibv_sge){(uintptr_t)t->buf, BYTES, t->mr->lkey};
	b->wr = (struct ibv_send_wr){.sg_list = &b->sge,
				     .num_sge = 1,
				     .opcode = IBV_WR_RDMA_WRITE,
				     .send_flags = IBV_SEND_SIGNALED};
	b->from = (uintptr_t)t->buf;
	b->to_addr = b->from + 2048;
	b->wr.wr.rdma.rkey = t->mr->rkey;
}

static __attribute__((noinline)) void post_plain(struct bench *b)
{
	struct ibv_send_wr *bad;

	for (uint64_t i = 0; i < BATCH; i++) {
		b->wr.wr_id = i;
		b->sge.addr = b->from + i * BYTES;
		b->wr.wr.rdma.remote_addr = b->to_addr + i * BYTES;
		CHECK_EQ(ibv_post_send(b->qp, &b->wr, &bad), 0);
	}
}

static __attribute__((noinline)) void post_rich(struct bench *b)
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

/* Take the completions by one call. */
static inline __attribute__((always_inline)) int take_plain(struct bench *b, int most,
							    enum what what)
{
	struct ibv_wc wc[BATCH];
	int n = ibv_poll_cq(ibv_cq_ex_to_cq(b->cq), most, wc);
	uint64_t sum = 0;

	CHECK(n >= 0, "poll_cq");
	for (int i = 0; i < n; i++) {
		CHECK(wc[i].status == IBV_WC_SUCCESS, "%s", ibv_wc_status_str(wc[i].status));
		sum += wc[i].wr_id;
		if (what == OPCODE || what == FIELDS)
			sum += wc[i].opcode;
		if (what == FIELDS)
			sum += wc[i].byte_len + wc[i].qp_num + wc[i].wc_flags + wc[i].imm_data +
			       wc[i].vendor_err;
	}
	b->sum += sum;
	return n;
}

static inline __attribute__((always_inline)) uint64_t read_fields(struct ibv_cq_ex *cq)
{
	return (uint64_t)ibv_wc_read_byte_len(cq) + ibv_wc_read_qp_num(cq) +
	       ibv_wc_read_wc_flags(cq) + ibv_wc_read_imm_data(cq) + ibv_wc_read_vendor_err(cq);
}

static inline __attribute__((always_inline)) int take_rich(struct bench *b, int most,
							   enum what what)
{
	struct ibv_poll_cq_attr attr = {0};
	struct ibv_cq_ex *cq = b->cq;
	uint64_t sum = 0;
	int n = 0, ret = ibv_start_poll(cq, &attr);

	if (ret == ENOENT)
		return 0;
	for (; !ret; ret = n < most ? ibv_next_poll(cq) : ENOENT) {
		CHECK(cq->status == IBV_WC_SUCCESS, "%s", ibv_wc_status_str(cq->status));
		sum += cq->wr_id;
		if (what == OPCODE || what == FIELDS)
			sum += ibv_wc_read_opcode(cq);
		if (what == FIELDS)
			sum += read_fields(cq);
		n++;
	}
	CHECK_EQ(ret, ENOENT);
	ibv_end_poll(cq);
	b->sum += sum;
	return n;
}

/* poll_plain_NAME() and poll_rich_NAME(): all completions of a batch by one call. */
#define POLLS(name, what)                                                                          \
	static __attribute__((noinline)) int poll_plain_##name(struct bench *b)                    \
	{                                                                                          \
		return take_plain(b, BATCH, what);                                                 \
	}                                                                                          \
	static __attribute__((noinline)) int poll_rich_##name(struct bench *b)                     \
	{                                                                                          \
		return take_rich(b, BATCH, what);                                                  \
	}
POLLS(all, POLL)
POLLS(opcode, OPCODE)
POLLS(fields, FIELDS)

static __attribute__((noinline)) int poll_plain_ones(struct bench *b)
{
	int n = 0;

	while (n < BATCH && take_plain(b, 1, ONE))
		n++;
	return n;
}

static __attribute__((noinline)) int poll_rich_ones(struct bench *b)
{
	int n = 0;

	while (n < BATCH && take_rich(b, 1, ONE))
		n++;
	return n;
}

typedef int poll_fn(struct bench *b);

static poll_fn *const polls[][2] = {
	[POST] = {poll_plain_all, poll_plain_all},
	[ONE] = {poll_plain_ones, poll_rich_ones},
	[POLL] = {poll_plain_all, poll_rich_all},
	[OPCODE] = {poll_plain_opcode, poll_rich_opcode},
	[FIELDS] = {poll_plain_fields, poll_rich_fields},
	[STAMPS] = {poll_plain_all, poll_rich_all},
};

/* Post and take a batch of one kind, and time the part under test. */
static void take_turn(struct bench *b, bool rich, enum what what, struct samples *h)
{
	uint64_t t0 = bench_now_ns(), t1;
	struct ibv_wc wc;
	int n;

	if (rich && what == POST)
		post_rich(b);
	else
		post_plain(b);
	t1 = bench_now_ns();
	if (what == POST)
		add_sample(h, t1 - t0);
	for (int i = 0; i < DRIVES; i++)
		CHECK_EQ(ibv_poll_cq(b->idle, 1, &wc), 0);
	t0 = bench_now_ns();
	n = polls[what][rich](b);
	t1 = bench_now_ns();
	/* otherwise it was not complete: another thread worked on it */
	if (what != POST && n == BATCH)
		add_sample(h, t1 - t0);
	while (n < BATCH)
		n += poll_plain_all(b);
}

/* Return the time of a turn's two readings of the clock with nothing between them. */
static double clock_ns(void)
{
	struct samples s = {.v = calloc(1000, sizeof(uint64_t))};
	double ns;

	CHECK(s.v, "memory");
	for (int i = 0; i < 1000 * TURNS; i++) {
		uint64_t t0 = bench_now_ns();

		add_sample(&s, bench_now_ns() - t0);
	}
	ns = median_ns(&s);
	free(s.v);
	return ns;
}

static int mode_of(int argc, char **argv)
{
	if (argc == 3 && atol(argv[2]) >= BATCH * TURNS)
		for (int i = 0; i < (int)(sizeof(modes) / sizeof(modes[0])); i++)
			if (strcmp(argv[1], modes[i]) == 0)
				return i;
	return -1;
}

int main(int argc, char **argv)
{
	struct samples rich = {0}, plain = {0};
	int what = mode_of(argc, argv);
	static struct bench b;
	size_t turns, room;
	double idle;

	if (what < 0) {
		fprintf(stderr,
			"usage: rich_paths post|one|poll|opcode|fields|stamps COUNT (%d or more)\n",
			BATCH * TURNS);
		return 2;
	}
	turns = (size_t)atol(argv[2]) / BATCH;
	room = turns / TURNS;
	bench_pin(0, 1);
	open_all(&b, what == STAMPS);
	rich.v = calloc(room, sizeof(uint64_t));
	plain.v = calloc(room, sizeof(uint64_t));
	CHECK(rich.v && plain.v, "memory");
	for (size_t i = 0; i < turns; i++) {
		take_turn(&b, i & 1, (enum what)what, i & 1 ? &rich : &plain);
		take_turn(&b, !(i & 1), (enum what)what, i & 1 ? &plain : &rich);
	}
	CHECK(rich.n > room / 2 && plain.n > room / 2, "completions were not there in time");
	idle = clock_ns();
	printf("%.2f %.2f\n", (median_ns(&rich) - idle) / (BATCH * TURNS),
	       (median_ns(&plain) - idle) / (BATCH * TURNS));
	free(rich.v);
	free(plain.v);
	return b.sum == 0;
}
