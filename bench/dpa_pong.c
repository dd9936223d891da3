/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_pong - round trips of a verbs client, answered by a DPA thread and by a thread of the host.
 *
 * Prints two numbers: the medians in nanoseconds, DPA and host. Two processes on two cores; the
 * server has a QP for each kind, and the client uses them in turns. Both answer in the same way (a
 * SEND, then the receive again), and both wait without sleeping: the host's thread polls its CQ,
 * the EU polls the device between two activations. While one answers, the other one sleeps.
 */
#define DOCA_ALLOW_EXPERIMENTAL_API
#include "doca_open.h"
#include "dpa_pong.h"
#include "hist.h"
#include "timing.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#include <doca_dpa.h>
#include <dpa/dpa_native.h>

enum { BYTES = 64, TURNS = 40, ROUNDS = 2000, COLD = 200, RECVS = 32, IN = 0, OUT = 2048 };
enum { BY_DPA = 'd', BY_HOST = 'h', END = 'e' };

extern struct doca_dpa_app *dpa_pong_app;
extern doca_dpa_func_t pong_thread;

static const struct vt_opt opt = {.sge = 1, .send_wr = 64, .recv_wr = RECVS, .len = 4096};

static void post_receives(struct vt *t)
{
	for (int i = 0; i < RECVS; i++)
		CHECK_EQ(vt_recv(t, IN, BYTES, 0), 0);
}

static void post_send(struct vt *t)
{
	static uint32_t n;

	CHECK_EQ(vt_send(t, IBV_WR_SEND, OUT, 0, BYTES, 0,
			 ++n % PONG_SIGNAL ? 0 : IBV_SEND_SIGNALED),
		 0);
}

static void take_message(struct vt *t)
{
	struct ibv_wc wc;
	int n;

	do {
		while (!(n = ibv_poll_cq(t->cq, 1, &wc)))
			;
		CHECK(n == 1 && wc.status == IBV_WC_SUCCESS, "%s", ibv_wc_status_str(wc.status));
	} while (wc.opcode != IBV_WC_RECV);
}

/* Create a second connection on the same device, buffer and (unless another is given) CQ. */
static struct vt second_end(struct vt *t, struct ibv_cq *cq)
{
	struct vt s = *t;

	s.cq = cq ? cq : t->cq;
	s.qp = vt_qp_create(t, &opt, s.cq);
	vt_connect(&s, s.qp, &opt, &s.peer);
	return s;
}

/* ------------------------------------------------------------------- server */

/*
 * Start a thread that arriving messages activate, with its completion context's CQ and its memory.
 */
static struct doca_dpa *start_thread(struct doca_dev *dev, struct doca_dpa_thread **thread,
				     struct ibv_cq **cq, struct pong *p, uint64_t *at)
{
	struct doca_dpa_completion *comp;
	struct doca_dpa *dpa;

	OK(doca_dpa_create(dev, &dpa));
	OK(doca_dpa_set_app(dpa, dpa_pong_app));
	OK(doca_dpa_start(dpa));
	OK(doca_dpa_mem_alloc(dpa, sizeof(*p), at));
	OK(doca_dpa_thread_create(dpa, thread));
	OK(doca_dpa_thread_set_func_arg(*thread, &pong_thread, *at));
	OK(doca_dpa_thread_start(*thread));
	OK(doca_dpa_completion_create(dpa, 2 * RECVS, &comp));
	OK(doca_dpa_completion_set_thread(comp, *thread));
	OK(doca_dpa_completion_start(comp));
	OK(doca_dpa_completion_get_dpa_handle(comp, &p->comp));
	OK(dpa_completion_get_ibv_cq(comp, cq));
	return dpa;
}

/* Hand the QP of `d` to device code. */
static void hand_over(struct doca_dpa *dpa, struct vt *d, struct pong *p, uint64_t at)
{
	struct dpa_qp *qp;

	OK(dpa_qp_export(dpa, d->qp, &qp));
	OK(dpa_qp_get_dpa_handle(qp, &p->qp));
	p->in = (uintptr_t)d->buf + IN;
	p->out = (uintptr_t)d->buf + OUT;
	p->lkey = d->mr->lkey;
	p->bytes = BYTES;
	OK(doca_dpa_h2d_memcpy(dpa, at, p, sizeof(*p)));
}

static _Noreturn void run_server(int sock)
{
	struct vt t = {.sock = sock}, d;
	struct doca_dev *dev;
	struct doca_dpa_thread *thread;
	struct doca_dpa *dpa;
	struct pong p = {0};
	struct ibv_cq *cq;
	uint64_t at;
	char who;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	bench_pin(0, 1);
	dev = bench_open(vt_device);
	dpa = start_thread(dev, &thread, &cq, &p, &at);
	vt_open(&t); /* for its GID */
	OK(dpa_dev_get_ibv_context(dev, &t.ctx));
	t.pd = ibv_alloc_pd(t.ctx);
	CHECK(t.pd, "alloc_pd");
	vt_setup(&t, &opt);
	d = second_end(&t, cq);
	post_receives(&t);
	post_receives(&d);
	hand_over(dpa, &d, &p, at);
	OK(doca_dpa_thread_run(thread));
	for (;;) {
		vt_sync(&t);
		vt_get(&t, &who, 1);
		for (int i = 0; who == BY_HOST && i < ROUNDS; i++) {
			take_message(&t);
			post_send(&t);
			CHECK_EQ(vt_recv(&t, IN, BYTES, 0), 0);
		}
		OK(doca_dpa_peek_at_last_error(dpa));
		if (who == END)
			_exit(0);
	}
}

/* ------------------------------------------------------------------- client */

static void take_turn(struct vt *t, char who, struct hist *h)
{
	vt_sync(t);
	vt_put(t, &who, 1);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t start = bench_now_ns();

		post_send(t);
		take_message(t);
		if (i >= COLD)
			hist_add(h, bench_now_ns() - start);
		CHECK_EQ(vt_recv(t, IN, BYTES, 0), 0);
	}
}

static void run_client(int sock)
{
	static struct hist by_dpa, by_host;
	struct vt t = {.side = 1, .sock = sock}, d;
	char end = END;

	hist_init(&by_dpa);
	hist_init(&by_host);
	bench_pin(0, 0);
	vt_setup(&t, &opt);
	d = second_end(&t, ibv_create_cq(t.ctx, 4 * RECVS, NULL, NULL, 0));
	post_receives(&t);
	post_receives(&d);
	for (int i = 0; i < TURNS; i++) {
		take_turn(&d, BY_DPA, &by_dpa);
		take_turn(&t, BY_HOST, &by_host);
	}
	vt_sync(&t);
	vt_put(&t, &end, 1);
	printf("%llu %llu\n", (unsigned long long)hist_percentile(&by_dpa, 50),
	       (unsigned long long)hist_percentile(&by_host, 50));
	fflush(stdout);
}

int main(void)
{
	int sock[2], status;
	pid_t pid;

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock), "socketpair");
	pid = fork(); /* before either side opens the device */
	CHECK(pid >= 0, "fork");
	if (!pid) {
		close(sock[0]);
		run_server(sock[1]);
	}
	close(sock[1]);
	run_client(sock[0]);
	waitpid(pid, &status, 0);
	_exit(status != 0);
}
