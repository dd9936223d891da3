/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_fork.c - a child inherits the objects of its parent: the data path refuses, destroying frees
 * the child's own memory, and a new open works. Queue memory is not mapped there, so an access ends
 * the child.
 */
#include <criterion/criterion.h>
#include <sys/wait.h>
#include <unistd.h>
#include "dpa.h"
#include "fake_hw.h"

static const struct ibv_qp_cap cap = {.max_send_wr = 4, .max_recv_wr = 4};

#define CHILD(what)                                                                                \
	do {                                                                                       \
		if (!(what))                                                                       \
			_exit(__LINE__ & 0xff);                                                    \
	} while (0)

static int child_of(void (*fn)(void *), void *arg)
{
	pid_t pid = fork();
	int st;

	if (!pid) {
		fn(arg);
		_exit(0);
	}
	cr_assert_eq(waitpid(pid, &st, 0), pid);
	cr_assert(WIFEXITED(st), "status %x", st);
	return WEXITSTATUS(st);
}

struct all {
	struct fake_setup s;
	struct ibv_comp_channel *ch;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
};

static char memory[64];

static void setup(struct all *a)
{
	struct ibv_srq_init_attr si = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_ah_attr aa = {.is_global = 1, .port_num = 1};

	fake_setup(&a->s, IBV_QPT_RC, &cap);
	a->ch = ibv_create_comp_channel(a->s.ctx);
	a->cq = ibv_create_cq(a->s.ctx, 4, NULL, a->ch, 0);
	a->srq = ibv_create_srq(a->s.pd, &si);
	a->mr = ibv_reg_mr(a->s.pd, memory, sizeof(memory), 0);
	a->ah = ibv_create_ah(a->s.pd, &aa);
	cr_assert(a->ch && a->cq && a->srq && a->mr && a->ah);
}

static void destroy(struct all *a)
{
	CHILD(!ibv_destroy_ah(a->ah));
	CHILD(!ibv_dereg_mr(a->mr));
	CHILD(!ibv_destroy_srq(a->srq));
	CHILD(!ibv_destroy_cq(a->cq));
	CHILD(!ibv_destroy_comp_channel(a->ch));
	CHILD(!ibv_destroy_qp(a->s.qp));
	CHILD(!ibv_destroy_cq(a->s.scq));
	CHILD(!ibv_destroy_cq(a->s.rcq));
	CHILD(!ibv_dealloc_pd(a->s.pd));
	CHILD(!ibv_close_device(a->s.ctx));
}

static void refuse(void *arg)
{
	struct all *a = arg;
	struct ibv_send_wr swr = {.opcode = IBV_WR_SEND}, *sbad = NULL;
	struct ibv_recv_wr rwr = {0}, *rbad = NULL;
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	struct ibv_async_event ev;
	struct ibv_cq *cq;
	struct ibv_wc wc;
	union ibv_gid gid;
	void *ctx;

	CHILD(ibv_post_send(a->s.qp, &swr, &sbad) == EIO && sbad == &swr);
	CHILD(ibv_post_recv(a->s.qp, &rwr, &rbad) == EIO && rbad == &rwr);
	CHILD(ibv_post_srq_recv(a->srq, &rwr, &rbad) == EIO);
	CHILD(ibv_poll_cq(a->cq, 1, &wc) < 0);
	CHILD(ibv_req_notify_cq(a->cq, 0) == EIO);
	CHILD(ibv_modify_qp(a->s.qp, &attr, IBV_QP_STATE) == EIO);
	CHILD(ibv_resize_cq(a->cq, 100) == EIO);
	CHILD(!ibv_alloc_pd(a->s.ctx) && errno == EIO);
	CHILD(!ibv_reg_mr(a->s.pd, memory, 1, 0) && errno == EIO);
	CHILD(!ibv_create_cq(a->s.ctx, 1, NULL, NULL, 0) && errno == EIO);
	CHILD(!ibv_create_comp_channel(a->s.ctx) && errno == EIO);
	CHILD(ibv_get_cq_event(a->ch, &cq, &ctx) == -1 && errno == EIO);
	CHILD(ibv_get_async_event(a->s.ctx, &ev) == -1 && errno == EIO);
	CHILD(ibv_query_gid(a->s.ctx, 1, 0, &gid));
}

static void destroy_only(void *arg)
{
	destroy(arg);
	CHILD(fake.qps == 1 && fake.cqs == 3 && fake.mrs == 1); /* the device got no call */
}

static void open_again(void *arg)
{
	struct all b;

	setup(&b);
	destroy(&b);
}

Test(fork, the_data_path_refuses)
{
	struct all a;

	setup(&a);
	cr_assert_eq(child_of(refuse, &a), 0);
	destroy(&a);
}

Test(fork, destroying_frees_local_memory_only)
{
	struct all a;

	setup(&a);
	cr_assert_eq(child_of(destroy_only, &a), 0);
	destroy(&a);
	cr_assert_eq(fake.qps, 0);
	cr_assert_eq(fake.queue_bytes, 0);
}

Test(fork, a_new_open_works)
{
	struct all a;

	setup(&a);
	cr_assert_eq(child_of(open_again, &a), 0);
	destroy(&a);
}
