/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * main.c - dpa_activation [-d DEV] [-n ROUNDS]: the host sends numbers on one QP. At the other end
 * of the connection each completion activates a DPA thread, which sends the next number back.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "activation.h"
#include "sample.h"

extern struct doca_dpa_app *activation_app;
extern doca_dpa_func_t activation_kernel;

struct box {
	uint64_t host; /* the host's QP sends from it and receives into it */
	uint64_t device;
};

struct demo {
	struct sample s;
	struct ibv_cq *cq; /* private to the host */
	struct ibv_qp *host, *device;
	struct dpa_qp *dqp;
	struct ibv_mr *mr;
	struct box box;
	uint64_t rounds;
};

static bool post_recv(struct demo *d, struct ibv_qp *qp, uint64_t *where)
{
	struct ibv_sge sge = {.addr = (uintptr_t)where, .length = 8, .lkey = d->mr->lkey};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;

	return !ibv_post_recv(qp, &wr, &bad);
}

static bool make_pair(struct demo *d)
{
	struct sample_dest to_host = {0}, to_device = {0};

	d->mr = ibv_reg_mr(d->s.pd, &d->box, sizeof(d->box), IBV_ACCESS_LOCAL_WRITE);
	d->cq = ibv_create_cq(d->s.ctx, 16, NULL, NULL, 0);
	if (!d->mr || !d->cq) {
		fprintf(stderr, "MR or CQ: %s\n", strerror(errno));
		return false;
	}
	d->host = sample_qp(&d->s, d->cq, 4, 4);
	d->device = sample_qp(&d->s, d->s.cq, 4, 4);
	if (!d->host || !d->device || ibv_query_gid(d->s.ctx, 1, 0, &to_host.gid))
		return false;
	to_device.gid = to_host.gid;
	to_host.qpn = d->host->qp_num;
	to_device.qpn = d->device->qp_num;
	return post_recv(d, d->device, &d->box.device) &&
	       sample_connect(d->host, &to_device, 0, 0, IBV_MTU_1024) &&
	       sample_connect(d->device, &to_host, 0, 0, IBV_MTU_1024) &&
	       sample_ok(dpa_qp_export(d->s.dpa, d->device, &d->dqp), "dpa_qp_export");
}

static bool run_thread(struct demo *d)
{
	struct activation a = {
		.comp = d->s.comp_handle,
		.box = (uintptr_t)&d->box.device,
		.lkey = d->mr->lkey,
		.rounds = d->rounds,
	};

	return sample_ok(dpa_qp_get_dpa_handle(d->dqp, &a.qp), "dpa_qp_get_dpa_handle") &&
	       sample_ok(doca_dpa_h2d_memcpy(d->s.dpa, d->s.state, &a, sizeof(a)),
			 "doca_dpa_h2d_memcpy") &&
	       sample_ok(doca_dpa_thread_run(d->s.thread), "doca_dpa_thread_run");
}

/* Waits for the answer of this round; also takes the send's own completion. */
static bool await_answer(struct demo *d)
{
	struct ibv_wc wc;

	for (;;) {
		int n = ibv_poll_cq(d->cq, 1, &wc);

		if (n < 0 || (n && wc.status)) {
			fprintf(stderr, "completion: %s\n",
				n < 0 ? "cannot be polled" : ibv_wc_status_str(wc.status));
			return false;
		}
		if (n && wc.opcode == IBV_WC_RECV)
			return true;
		if (!n && doca_dpa_peek_at_last_error(d->s.dpa))
			return sample_ok(DOCA_ERROR_BAD_STATE, "device code");
	}
}

static bool round_trip(struct demo *d, uint64_t number)
{
	struct ibv_sge sge = {.addr = (uintptr_t)&d->box.host, .length = 8, .lkey = d->mr->lkey};
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_SIGNALED,
				 .sg_list = &sge,
				 .num_sge = 1},
			   *bad;

	d->box.host = number;
	if (!post_recv(d, d->host, &d->box.host) || ibv_post_send(d->host, &wr, &bad) ||
	    !await_answer(d))
		return false;
	if (d->box.host != number + 1)
		fprintf(stderr, "sent %llu, got %llu back\n", (unsigned long long)number,
			(unsigned long long)d->box.host);
	return d->box.host == number + 1;
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static bool play_demo(struct demo *d)
{
	double start = now_us();
	struct activation a;

	for (uint64_t i = 0; i < d->rounds; i++)
		if (!round_trip(d, i * 10))
			return false;
	if (!sample_ok(dpa_thread_wait(d->s.thread, 10000), "the thread's end") ||
	    !sample_ok(doca_dpa_d2h_memcpy(d->s.dpa, &a, d->s.state, sizeof(a)),
		       "doca_dpa_d2h_memcpy"))
		return false;
	printf("%llu round trips answered by a DPA thread in %llu activations, %.2f us each\n",
	       (unsigned long long)a.answered, (unsigned long long)a.activations,
	       (now_us() - start) / (double)d->rounds);
	return a.answered == d->rounds;
}

static void close_all(struct demo *d)
{
	if (d->dqp)
		dpa_qp_unexport(d->dqp);
	if (d->host)
		ibv_destroy_qp(d->host);
	if (d->device)
		ibv_destroy_qp(d->device);
	if (d->cq)
		ibv_destroy_cq(d->cq);
	if (d->mr)
		ibv_dereg_mr(d->mr);
	sample_close(&d->s);
}

int main(int argc, char **argv)
{
	struct demo d = {.rounds = 1000};
	const char *dev = "dpa0";
	bool ok;
	int c;

	while ((c = getopt(argc, argv, "d:n:")) != -1) {
		if (c == 'd')
			dev = optarg;
		else if (c == 'n' && atoll(optarg) > 0)
			d.rounds = (uint64_t)atoll(optarg);
		else {
			fprintf(stderr, "usage: dpa_activation [-d DEV] [-n ROUNDS]\n");
			return 1;
		}
	}
	ok = sample_open(&d.s, dev, activation_app, &activation_kernel, sizeof(struct activation),
			 16) &&
	     make_pair(&d) && run_thread(&d) && play_demo(&d);
	close_all(&d);
	return ok ? 0 : 1;
}
