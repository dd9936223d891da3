/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_thread.c - device code that completions activate, from the CQE to the kernel and back. */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "host.h"

extern doca_dpa_func_t take_one, take_all_and_finish, just_return, spin_until_go, spin_for_ever;
extern doca_dpa_func_t say_hello, post;

TestSuite(thread, .timeout = 60);

Test(thread, one_activation_for_each_element)
{
	struct rig r;

	rig_start(&r);
	rig_run(&r, &take_one);
	for (uint64_t i = 1; i <= 100; i++) {
		fake_push_recv(r.cq, i);
		AWAIT(&r, found, i);
		cr_assert_eq(READ(&r, wr_id), i);
	}
	AWAIT(&r, activations, 100);
	cr_assert_eq(READ(&r, statics), 100u, "statics live across activations");
	cr_assert_eq(READ(&r, local), 0x1234u);
	cr_assert_eq(READ(&r, user_data), 9u);
	cr_assert_eq(READ(&r, qpn), 7u);
	rig_destroy(&r);
}

Test(thread, what_came_before_run_is_not_lost)
{
	uint64_t handle;
	struct rig r;

	rig_start(&r);
	OK(doca_dpa_thread_create(r.dpa, &r.thread));
	OK(doca_dpa_thread_set_func_arg(r.thread, &take_one, r.shared));
	OK(doca_dpa_thread_start(r.thread));
	OK(doca_dpa_completion_create(r.dpa, 3, &r.comp));
	OK(doca_dpa_completion_set_thread(r.comp, r.thread));
	OK(doca_dpa_completion_start(r.comp));
	OK(doca_dpa_completion_get_dpa_handle(r.comp, &handle));
	OK(doca_dpa_h2d_memcpy(r.dpa, r.shared, &handle, 8));
	OK(dpa_completion_get_ibv_cq(r.comp, &r.cq));
	fake_push_recv(r.cq, 1);
	fake_push_recv(r.cq, 2);
	fake_push_recv(r.cq, 3);
	cr_assert_eq(READ(&r, activations), 0u);
	OK(doca_dpa_thread_run(r.thread));
	AWAIT(&r, found, 3);
	AWAIT(&r, activations, 3);
	rig_destroy(&r);
}

/* After one element too many the thread was not activated for a whole lap. */
Test(thread, a_full_completion_context_goes_on)
{
	uint64_t handle, id = 0;
	struct rig r;

	rig_start(&r);
	OK(doca_dpa_thread_create(r.dpa, &r.thread));
	OK(doca_dpa_thread_set_func_arg(r.thread, &take_one, r.shared));
	OK(doca_dpa_thread_start(r.thread));
	OK(doca_dpa_completion_create(r.dpa, 4, &r.comp));
	OK(doca_dpa_completion_set_thread(r.comp, r.thread));
	OK(doca_dpa_completion_start(r.comp));
	OK(doca_dpa_completion_get_dpa_handle(r.comp, &handle));
	OK(doca_dpa_h2d_memcpy(r.dpa, r.shared, &handle, 8));
	OK(dpa_completion_get_ibv_cq(r.comp, &r.cq));
	while (id < 5)
		fake_push_recv(r.cq, ++id);
	OK(doca_dpa_thread_run(r.thread));
	AWAIT(&r, found, 4);
	cr_assert_eq(READ(&r, wr_id), 5u);
	for (uint64_t i = 5; i <= 20; i++) {
		fake_push_recv(r.cq, ++id);
		AWAIT(&r, found, i);
		cr_assert_eq(READ(&r, wr_id), id);
	}
	AWAIT(&r, activations, 20); /* counted after `found` */
	rig_destroy(&r);
}

Test(thread, types_and_immediates)
{
	static const struct {
		struct dpa_cqe cqe;
		uint64_t type;
	} t[] = {
		{{.opcode = DPA_CQE_SEND}, 0},
		{{.opcode = DPA_CQE_RDMA_READ}, 0},
		{{.opcode = DPA_CQE_RECV_RDMA_WITH_IMM, .flags = DPA_CQE_F_IMM}, 1},
		{{.opcode = DPA_CQE_RECV}, 2},
		{{.opcode = DPA_CQE_RECV, .flags = DPA_CQE_F_IMM}, 3},
		{{.opcode = DPA_CQE_SEND, .status = DPA_CQE_WR_FLUSH_ERR}, 0xd},
		{{.opcode = DPA_CQE_RECV, .status = DPA_CQE_WR_FLUSH_ERR}, 0xe},
	};
	struct rig r;

	rig_start(&r);
	rig_run(&r, &take_one);
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct dpa_cqe e = t[i].cqe;

		e.imm = __builtin_bswap32((uint32_t)i + 10);
		fake_push(r.cq, &e);
		AWAIT(&r, activations, i + 1);
		cr_expect_eq(READ(&r, type), t[i].type, "element %zu", i);
		cr_expect_eq(READ(&r, immediate), i + 10);
		cr_expect_eq(READ(&r, status), e.status ? (uint64_t)IBV_WC_WR_FLUSH_ERR : 0u);
	}
	rig_destroy(&r);
}

Test(thread, finish_and_return_are_for_ever)
{
	doca_dpa_func_t *const funcs[] = {&take_all_and_finish, &just_return};
	struct rig r;

	for (int i = 0; i < 2; i++) {
		rig_start(&r);
		rig_run(&r, funcs[i]);
		fake_push_recv(r.cq, 1);
		AWAIT(&r, activations, 1);
		fake_push_recv(r.cq, 2);
		OK(doca_dpa_thread_stop(r.thread));
		cr_assert_eq(READ(&r, activations), 1u);
		rig_destroy(&r);
	}
}

Test(thread, queue_wraps_many_times)
{
	struct rig r;

	rig_start(&r);
	rig_run(&r, &take_one);
	for (uint64_t i = 1; i <= 2000; i++) {
		fake_push_recv(r.cq, i);
		if (i % 8 == 0)
			AWAIT(&r, found, i);
	}
	AWAIT(&r, wr_id, 2000);
	rig_destroy(&r);
}

Test(thread, two_contexts_have_their_own_statics)
{
	struct rig a, b;

	rig_start(&a);
	rig_start(&b);
	rig_run(&a, &take_one);
	rig_run(&b, &take_one);
	for (uint64_t i = 1; i <= 5; i++) {
		fake_push_recv(a.cq, i);
		AWAIT(&a, activations, i);
	}
	fake_push_recv(b.cq, 1);
	AWAIT(&b, activations, 1);
	cr_assert_eq(READ(&a, statics), 5u);
	cr_assert_eq(READ(&b, statics), 1u);
	OK(doca_dpa_completion_destroy(b.comp));
	OK(doca_dpa_thread_destroy(b.thread));
	OK(doca_dpa_destroy(b.dpa));
	OK(doca_dev_close(b.dev));
	rig_destroy(&a);
}

/* Two threads that never yield their EU do not keep a third from running. */
Test(thread, spinning_threads_run_side_by_side)
{
	struct rig r[3];

	for (int i = 0; i < 3; i++) {
		rig_start(&r[i]);
		rig_run(&r[i], i < 2 ? &spin_until_go : &take_one);
		fake_push_recv(r[i].cq, 1);
		AWAIT(&r[i], activations, 1);
	}
	for (int i = 0; i < 2; i++) {
		uint64_t one = 1;

		OK(doca_dpa_h2d_memcpy(r[i].dpa, r[i].shared + offsetof(struct shared, go), &one,
				       8));
		AWAIT(&r[i], found, 1);
	}
	for (int i = 0; i < 2; i++) {
		OK(doca_dpa_completion_destroy(r[i].comp));
		OK(doca_dpa_thread_destroy(r[i].thread));
		OK(doca_dpa_destroy(r[i].dpa));
		OK(doca_dev_close(r[i].dev));
	}
	rig_destroy(&r[2]);
}

Test(thread, stop_ends_an_endless_loop)
{
	struct rig r;

	rig_start(&r);
	rig_run(&r, &spin_for_ever);
	fake_push_recv(r.cq, 1);
	AWAIT(&r, activations, 1);
	OK(doca_dpa_thread_stop(r.thread));
	cr_assert_eq(doca_dpa_peek_at_last_error(r.dpa), DOCA_SUCCESS);
	rig_destroy(&r);
}

Test(thread, runs_again_after_a_restart)
{
	struct rig r;

	rig_start(&r);
	rig_run(&r, &take_one);
	fake_push_recv(r.cq, 1);
	AWAIT(&r, activations, 1);
	OK(doca_dpa_thread_stop(r.thread));
	fake_push_recv(r.cq, 2);
	fake_push_recv(r.cq, 3);
	OK(doca_dpa_thread_start(r.thread));
	cr_assert_eq(READ(&r, found), 1u);
	OK(doca_dpa_thread_run(r.thread));
	AWAIT(&r, found, 3);
	rig_destroy(&r);
}

extern doca_dpa_func_t notify_other, notified;

Test(thread, one_thread_activates_another)
{
	struct doca_dpa_notification_completion *n;
	struct doca_dpa_thread *other, *back;
	uint64_t h;
	struct rig r;

	rig_start(&r);
	OK(doca_dpa_thread_create(r.dpa, &other));
	OK(doca_dpa_thread_set_func_arg(other, &notified, r.shared));
	IS(doca_dpa_notification_completion_create(r.dpa, NULL, &n), INVALID_VALUE);
	OK(doca_dpa_notification_completion_create(r.dpa, other, &n));
	OK(doca_dpa_notification_completion_get_thread(n, &back));
	cr_assert_eq(back, other);
	IS(doca_dpa_notification_completion_start(n), BAD_STATE);
	IS(doca_dpa_notification_completion_get_dpa_handle(n, &h), BAD_STATE);
	OK(doca_dpa_thread_start(other));
	OK(doca_dpa_notification_completion_start(n));
	IS(doca_dpa_notification_completion_start(n), BAD_STATE);
	OK(doca_dpa_notification_completion_get_dpa_handle(n, &h));
	OK(doca_dpa_h2d_memcpy(r.dpa, r.shared + offsetof(struct shared, comp2), &h, 8));
	OK(doca_dpa_thread_run(other));
	rig_run(&r, &notify_other);
	for (uint64_t i = 1; i <= 20; i++) {
		fake_push_recv(r.cq, i);
		/* the second notify of a pair may find the first one's activation begun */
		while (READ(&r, activations) < i)
			sched_yield();
	}
	OK(dpa_thread_wait(other, -1));
	cr_assert_eq(READ(&r, activations), 20u);
	IS(doca_dpa_stop(r.dpa), IN_USE);
	AWAIT(&r, found, 20);
	OK(doca_dpa_thread_stop(r.thread));
	OK(doca_dpa_notification_completion_stop(n));
	IS(doca_dpa_notification_completion_stop(n), BAD_STATE);
	OK(doca_dpa_notification_completion_destroy(n));
	OK(doca_dpa_thread_destroy(other));
	rig_destroy(&r);
}

/* Redirect stdout to a file while fn runs. */
static void capture(char *buf, size_t size, void (*fn)(void))
{
	char name[] = "/tmp/dpa-test-XXXXXX";
	int fd = mkstemp(name), keep;
	ssize_t n;

	fflush(stdout);
	keep = dup(1);
	dup2(fd, 1);
	unlink(name);
	fn();
	fflush(stdout);
	dup2(keep, 1);
	close(keep);
	n = pread(fd, buf, size - 1, 0);
	buf[n > 0 ? n : 0] = 0;
	close(fd);
}

static void run_hello(void)
{
	struct rig r;

	rig_start(&r);
	rig_run(&r, &say_hello);
	fake_push_recv(r.cq, 1);
	AWAIT(&r, activations, 1);
	rig_destroy(&r);
}

Test(thread, log_has_the_documented_prefix_and_is_out_when_the_context_is_gone)
{
	char out[500];

	capture(out, sizeof(out), run_hello);
	cr_assert_str_eq(out, "/  0/[DOCA][DPA DEVICE][INF] Hello say_hello 42\n"
			      "/  0/[DOCA][DPA DEVICE][ERR] bad\n");
}

Test(thread, posts_are_wqes_and_a_doorbell)
{
	struct ibv_context *ctx;
	struct dpa_qp *dqp;
	uint64_t handle;
	const struct dpa_wqe_ctrl *c = (const void *)fake_sq();
	const struct dpa_wqe_raddr *ra = (const void *)(fake_sq() + 32);
	const struct dpa_sge *s = (const void *)(fake_sq() + 48);
	const struct dpa_rwqe *rw = (const void *)fake_rq();
	const struct dpa_db *db = (const void *)fake_slot();
	struct rig r;

	rig_start(&r);
	OK(dpa_dev_get_ibv_context(r.dev, &ctx));
	OK(dpa_qp_export(r.dpa, fake_qp(ctx), &dqp));
	OK(dpa_qp_get_dpa_handle(dqp, &handle));
	OK(doca_dpa_h2d_memcpy(r.dpa, r.shared + offsetof(struct shared, qp), &handle, 8));
	rig_run(&r, &post);
	fake_push_recv(r.cq, 1);
	AWAIT(&r, activations, 1);
	OK(doca_dpa_thread_stop(r.thread)); /* its writes are ordered before what follows */

	cr_assert_eq(c->opcode, DPA_OP_RDMA_WRITE_IMM);
	cr_assert_eq(c->flags, DPA_WQE_SIGNALED);
	cr_assert_eq(c->nbb, 2);
	cr_assert_eq(c->nsge, 3);
	cr_assert_eq(c->wr_id, 77u);
	cr_assert_eq(c->length, 109u);
	cr_assert_eq(c->imm, 0x04030201u);
	cr_assert_eq(ra->addr, 0x9000u);
	cr_assert_eq(ra->rkey, 9u);
	cr_assert_eq(s[1].length, 100u);
	cr_assert_eq(s[2].lkey, 7u);
	cr_assert_eq(rw->wr_id, 5u);
	cr_assert_eq(rw->nsge, 2u);
	cr_assert_eq(fake_dbrec()->rq_pi, 1u);
	/* send 0; recv 0; recv of too many EINVAL; unknown flag EINVAL; full ENOMEM */
	cr_assert_eq(READ(&r, ret), 22ull << 16 | 22ull << 8 | 12ull);
	cr_assert_eq(READ(&r, found), 7u, "16 blocks, 2 a request");
	cr_assert_eq(fake_dbrec()->sq_pi, 16u);
	cr_assert_eq(db->opcode, DPA_OP_DOORBELL);
	cr_assert_eq(db->pi, 16u);
	cr_assert_eq(fake_rings(), 8);
	OK(dpa_qp_unexport(dqp));
	rig_destroy(&r);
}
