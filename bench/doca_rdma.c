/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_rdma [COUNT [KIND]] - doca_rdma's CPU path compared with plain verbs: the same operation and
 * size, in turns, between two processes pinned to two processors. Prints one row each: ns an
 * operation by verbs, by doca_rdma (medians of ROUNDS), and their ratio.
 *
 * Latency: one write until it has completed; half of a ping-pong of sends. Rate: WINDOW writes in
 * flight; half as many sends, whose receives are posted again as they complete. Both have a shared
 * receive queue, as a doca_rdma does.
 */
#include <sys/socket.h>
#include <sys/wait.h>
#include "doca_end.h"
#include "sort.h"
#include "timing.h"

enum { ROUNDS = 9, SEND_WINDOW = WINDOW / 2, BATCH = 16 };

/* One of the two kinds of end, with counts of completed operations. */
struct end {
	struct vt *t;
	struct doca_end *doca; /* NULL: verbs */
	struct ibv_srq *srq;   /* of verbs */
	uint32_t bytes, sent, received;
};

static void verbs_post(struct end *e, enum ibv_wr_opcode op)
{
	struct ibv_sge sge = {(uintptr_t)e->t->buf, e->bytes, e->t->mr->lkey};
	struct ibv_send_wr *bad, wr = {
					 .sg_list = &sge,
					 .num_sge = 1,
					 .opcode = op,
					 .send_flags = IBV_SEND_SIGNALED,
					 .wr.rdma = {e->t->peer.addr, e->t->peer.rkey},
				 };

	CHECK_EQ(ibv_post_send(e->t->qp, &wr, &bad), 0);
}

static void verbs_receive(struct end *e)
{
	struct ibv_sge sge = {(uintptr_t)e->t->buf, MAX_BYTES, e->t->mr->lkey};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;

	CHECK_EQ(ibv_post_srq_recv(e->srq, &wr, &bad), 0);
}

static void verbs_progress(struct end *e)
{
	struct ibv_wc wc[BATCH];
	int n = ibv_poll_cq(e->t->cq, BATCH, wc);

	CHECK(n >= 0, "poll_cq");
	for (int i = 0; i < n; i++) {
		CHECK(wc[i].status == IBV_WC_SUCCESS, "%s", ibv_wc_status_str(wc[i].status));
		if (wc[i].opcode & IBV_WC_RECV)
			e->received++;
		else
			e->sent++;
	}
}

static void post_send(struct end *e, uint32_t i)
{
	if (e->doca)
		doca_end_send(e->doca, i);
	else
		verbs_post(e, IBV_WR_SEND);
}

static void post_write(struct end *e, uint32_t i)
{
	if (e->doca)
		doca_end_write(e->doca, i);
	else
		verbs_post(e, IBV_WR_RDMA_WRITE);
}

static void post_receive(struct end *e, uint32_t i)
{
	if (e->doca)
		doca_end_receive(e->doca, i);
	else
		verbs_receive(e);
}

static void progress(struct end *e)
{
	if (e->doca)
		doca_end_progress(e->doca, &e->sent, &e->received);
	else
		verbs_progress(e);
}

/* ---------------------------------------------------------------- measurements */

static void write_latency(struct end *e, uint32_t count)
{
	for (uint32_t i = 0; i < count && !e->t->side; i++) {
		post_write(e, i);
		while (e->sent <= i)
			progress(e);
	}
}

static void send_latency(struct end *e, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (!e->t->side)
			post_send(e, i);
		while (e->received <= i)
			progress(e);
		post_receive(e, i);
		if (e->t->side)
			post_send(e, i);
	}
	while (e->sent < count)
		progress(e);
}

/* Post as many of a kind as the window has room for. */
static void keep_busy(struct end *e, uint32_t count, uint32_t window,
		      void (*post)(struct end *e, uint32_t i))
{
	for (uint32_t i = 0; e->sent < count;) {
		while (i < count && i - e->sent < window)
			post(e, i++);
		progress(e);
	}
}

static void write_rate(struct end *e, uint32_t count)
{
	if (!e->t->side)
		keep_busy(e, count, WINDOW, post_write);
}

static void send_rate(struct end *e, uint32_t count)
{
	if (!e->t->side) {
		keep_busy(e, count, SEND_WINDOW, post_send);
		return;
	}
	for (uint32_t i = 0; i < count;) {
		progress(e);
		while (i < e->received)
			post_receive(e, i++);
	}
}

static const struct {
	const char *name;
	void (*run)(struct end *e, uint32_t count);
	uint32_t per; /* operations of a count */
} kinds[] = {
	{"write latency", write_latency, 1},
	{"write rate", write_rate, 1},
	{"send latency", send_latency, 2},
	{"send rate", send_rate, 1},
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* Return the ns of an operation. */
static double measure(struct end *e, int kind, uint32_t count)
{
	uint64_t start;

	e->sent = e->received = 0;
	vt_sync(e->t);
	start = bench_now_ns();
	kinds[kind].run(e, count);
	vt_sync(e->t);
	return (double)(bench_now_ns() - start) / count / kinds[kind].per;
}

static void row(struct end *verbs, struct end *doca, int kind, uint32_t count)
{
	double v[ROUNDS], d[ROUNDS], a, b;

	for (int i = 0; i < ROUNDS; i++) {
		v[i] = measure(verbs, kind, count);
		d[i] = measure(doca, kind, count);
	}
	a = bench_median(v, ROUNDS);
	b = bench_median(d, ROUNDS);
	if (!verbs->t->side)
		printf("%-14s %6u B  verbs %9.0f ns  doca_rdma %9.0f ns  %5.2f\n", kinds[kind].name,
		       verbs->bytes, a, b, b / a);
}

/* wanted: only rows whose name contains this. */
static void one_side(struct vt *t, uint32_t count, const char *wanted)
{
	static const uint32_t sizes[] = {8, 4096, MAX_BYTES};
	struct vt_opt o = {.send_wr = WINDOW, .recv_wr = WINDOW, .sge = 1, .len = MAX_BYTES};
	struct ibv_srq_init_attr srq = {.attr = {.max_wr = WINDOW, .max_sge = 1}};
	struct end verbs = {.t = t}, doca = {.t = t};

	bench_pin(0, t->side);
	vt_open(t);
	verbs.srq = o.srq = ibv_create_srq(t->pd, &srq);
	CHECK(verbs.srq, "create_srq: %s", strerror(errno));
	vt_setup(t, &o);
	doca.doca = doca_end_make(t);
	for (uint32_t i = 0; i < SEND_WINDOW; i++) {
		post_receive(&verbs, i);
		post_receive(&doca, i);
	}
	for (int kind = 0; kind < KINDS; kind++) {
		for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			if (!strstr(kinds[kind].name, wanted))
				continue;
			verbs.bytes = doca.bytes = sizes[i];
			doca_end_resize(doca.doca, sizes[i]);
			row(&verbs, &doca, kind, sizes[i] < MAX_BYTES ? count : count / 8);
		}
	}
	doca_end_free(t, doca.doca);
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 20000;
	int sv[2], status = 0;
	struct vt t = {0};
	pid_t pid;

	/* The posted receives are for this many operations: see post_receive(). */
	count -= count % (8 * SEND_WINDOW);
	if (argc > 3 || count <= 0 || count > INT32_MAX ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv)) {
		fprintf(stderr, "usage: doca_rdma [COUNT [KIND]]\n");
		return 2;
	}
	pid = fork();
	t.side = pid == 0;
	close(sv[t.side]);
	t.sock = sv[!t.side];
	one_side(&t, (uint32_t)count, argc > 2 ? argv[2] : "");
	if (t.side)
		_exit(0);
	waitpid(pid, &status, 0);
	return status ? 1 : 0;
}
