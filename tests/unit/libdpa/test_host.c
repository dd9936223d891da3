/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_host.c - states and error codes of the host's calls. */
#include <sys/wait.h>
#include <unistd.h>
#include <sched.h>
#include "host.h"

extern doca_dpa_func_t take_one, two_arguments, an_rpc;
static void stranger(void)
{
}

TestSuite(host, .timeout = 60);

Test(host, devices)
{
	struct doca_devinfo **list;
	struct doca_dev *a, *b;
	char name[DOCA_DEVINFO_IBDEV_NAME_SIZE];
	uint32_t n;

	IS(doca_devinfo_create_list(NULL, &n), INVALID_VALUE);
	IS(doca_devinfo_destroy_list(NULL), INVALID_VALUE);
	OK(doca_devinfo_create_list(&list, &n));
	cr_assert_eq(n, 3u);
	IS(doca_dpa_cap_is_supported(list[0]), NOT_SUPPORTED);
	OK(doca_dpa_cap_is_supported(list[1]));
	OK(doca_devinfo_get_is_dpa_supported(list[1])); /* the old name */
	IS(doca_dpa_cap_is_supported(NULL), INVALID_VALUE);
	IS(doca_devinfo_get_ibdev_name(list[1], name, 4), INVALID_VALUE);
	OK(doca_dev_open(list[1], &a));
	OK(doca_dev_open(list[1], &b));
	cr_assert_eq(a, b, "a second open is a reference");
	OK(doca_devinfo_destroy_list(list));
	OK(doca_devinfo_get_ibdev_name(doca_dev_as_devinfo(a), name, sizeof(name)));
	cr_assert_str_eq(name, "dpa0");
	OK(doca_dev_close(b));
	cr_assert_eq(fake_opens(), 1);
	OK(doca_dev_close(a));
	cr_assert_eq(fake_opens(), 0);
	OK(doca_dev_close(NULL));
}

Test(host, no_context_on_a_device_without_a_dpa)
{
	struct doca_devinfo **list;
	struct doca_dev *dev;
	struct doca_dpa *dpa;
	uint32_t n;

	OK(doca_devinfo_create_list(&list, &n));
	OK(doca_dev_open(list[0], &dev));
	OK(doca_devinfo_destroy_list(list));
	IS(doca_dpa_create(dev, &dpa), NOT_SUPPORTED);
	IS(doca_dpa_create(NULL, &dpa), INVALID_VALUE);
	IS(doca_dpa_create(dev, NULL), INVALID_VALUE);
	OK(doca_dev_close(dev));
}

/* An SF has a DPA to which a context of the PF can be extended, but no base context of its own. */
Test(host, no_base_context_on_an_sf)
{
	struct doca_devinfo **list;
	struct doca_dev *dev;
	struct doca_dpa *dpa;
	uint32_t n;

	OK(doca_devinfo_create_list(&list, &n));
	OK(doca_dpa_cap_is_supported(list[2]));
	OK(doca_dev_open(list[2], &dev));
	OK(doca_devinfo_destroy_list(list));
	IS(doca_dpa_create(dev, &dpa), NOT_SUPPORTED);
	OK(doca_dev_close(dev));
}

Test(host, context_states)
{
	static uint64_t other[16]; /* no application */
	struct doca_dpa_app *app;
	doca_dpa_dev_log_level_t level;
	struct rig r = {.dev = open_dpa0()};
	uint64_t p;

	OK(doca_dpa_create(r.dev, &r.dpa));
	IS(doca_dev_close(r.dev), IN_USE);
	IS(doca_dpa_start(r.dpa), INVALID_VALUE);
	IS(doca_dpa_stop(r.dpa), BAD_STATE);
	OK(doca_dpa_get_app(r.dpa, &app));
	cr_assert_null(app);
	IS(doca_dpa_set_app(r.dpa, NULL), INVALID_VALUE);
	IS(doca_dpa_set_app(r.dpa, (struct doca_dpa_app *)other), INVALID_VALUE);
	OK(doca_dpa_set_app(r.dpa, test_app));
	OK(doca_dpa_get_app(r.dpa, &app));
	cr_assert_eq(app, test_app);
	OK(doca_dpa_get_log_level(r.dpa, &level));
	cr_assert_eq(level, DOCA_DPA_DEV_LOG_LEVEL_INFO);
	IS(doca_dpa_set_log_level(r.dpa, (doca_dpa_dev_log_level_t)55), INVALID_VALUE);
	OK(doca_dpa_set_log_level(r.dpa, DOCA_DPA_DEV_LOG_LEVEL_DEBUG));
	IS(doca_dpa_mem_alloc(r.dpa, 8, &p), BAD_STATE);
	OK(doca_dpa_start(r.dpa));
	IS(doca_dpa_start(r.dpa), BAD_STATE);
	IS(doca_dpa_set_app(r.dpa, test_app), BAD_STATE);
	IS(doca_dpa_set_log_level(r.dpa, DOCA_DPA_DEV_LOG_LEVEL_INFO), BAD_STATE);
	OK(doca_dpa_stop(r.dpa));
	OK(doca_dpa_start(r.dpa));
	rig_destroy(&r);
}

Test(host, app_name)
{
	char name[64];
	uint32_t len = sizeof(name);

	OK(doca_dpa_app_get_name(test_app, name, &len));
	cr_assert_str_eq(name, "test_app");
	cr_assert_eq(len, 9u);
	len = 8;
	IS(doca_dpa_app_get_name(test_app, name, &len), INVALID_VALUE);
	cr_assert_eq(len, 9u);
}

Test(host, memory)
{
	uint64_t p, q = 1;
	char buf[16] = "0123456789abcde";
	struct rig r;

	rig_start(&r);
	IS(doca_dpa_mem_alloc(r.dpa, 0, &q), INVALID_VALUE);
	cr_assert_eq(q, 0u);
	OK(doca_dpa_mem_alloc(r.dpa, 16, &p));
	cr_assert_eq(p % 64, 0u);
	OK(doca_dpa_h2d_memcpy(r.dpa, p, buf, 16));
	OK(doca_dpa_memset(r.dpa, p + 4, 'x', 2));
	OK(doca_dpa_d2h_memcpy(r.dpa, buf, p, 16));
	cr_assert_str_eq(buf, "0123xx6789abcde");
	IS(doca_dpa_h2d_memcpy(r.dpa, p + 1, buf, 16), INVALID_VALUE);
	IS(doca_dpa_h2d_memcpy(r.dpa, p, buf, 0), INVALID_VALUE);
	IS(doca_dpa_d2h_memcpy(r.dpa, NULL, p, 1), INVALID_VALUE);
	OK(doca_dpa_mem_free(r.dpa, p));
	IS(doca_dpa_mem_free(r.dpa, p), DRIVER);
	rig_destroy(&r);
}

Test(host, thread_states)
{
	struct rig r = {.dev = open_dpa0()};
	doca_dpa_dev_uintptr_t storage;
	doca_dpa_func_t *func;
	uint64_t arg;

	OK(doca_dpa_create(r.dev, &r.dpa));
	OK(doca_dpa_set_app(r.dpa, test_app));
	IS(doca_dpa_thread_create(NULL, &r.thread), INVALID_VALUE);
	OK(doca_dpa_thread_create(r.dpa, &r.thread));
	IS(doca_dpa_thread_start(r.thread), BAD_STATE);
	IS(doca_dpa_thread_set_func_arg(r.thread, NULL, 0), INVALID_VALUE);
	IS(doca_dpa_thread_set_func_arg(r.thread, stranger, 0), INVALID_VALUE);
	IS(doca_dpa_thread_set_func_arg(r.thread, &two_arguments, 0), INVALID_VALUE);
	IS(doca_dpa_thread_set_func_arg(r.thread, &an_rpc, 0), INVALID_VALUE);
	OK(doca_dpa_thread_set_func_arg(r.thread, &take_one, 5));
	OK(doca_dpa_thread_get_func_arg(r.thread, &func, &arg));
	cr_assert(func == &take_one && arg == 5);
	OK(doca_dpa_thread_set_local_storage(r.thread, 64));
	IS(doca_dpa_thread_get_local_storage(r.thread, NULL), INVALID_VALUE);
	OK(doca_dpa_thread_get_local_storage(r.thread, &storage));
	cr_assert_eq(storage, 64);
	OK(doca_dpa_thread_set_local_storage(r.thread, 0));
	IS(doca_dpa_thread_start(r.thread), BAD_STATE);
	OK(doca_dpa_start(r.dpa));
	IS(doca_dpa_thread_run(r.thread), BAD_STATE);
	IS(doca_dpa_thread_stop(r.thread), BAD_STATE);
	OK(doca_dpa_thread_start(r.thread));
	IS(doca_dpa_thread_start(r.thread), BAD_STATE);
	IS(doca_dpa_thread_set_func_arg(r.thread, &take_one, 6), BAD_STATE);
	IS(doca_dpa_thread_set_local_storage(r.thread, 6), BAD_STATE);
	OK(doca_dpa_thread_run(r.thread));
	IS(doca_dpa_stop(r.dpa), IN_USE);
	OK(doca_dpa_thread_stop(r.thread));
	OK(doca_dpa_thread_start(r.thread));
	rig_destroy(&r);
}

Test(host, completion_states)
{
	struct doca_dpa_completion *c;
	struct doca_dpa_thread *t;
	struct rig r, other;
	struct ibv_cq *cq;
	unsigned int size;
	uint64_t h, h2;

	rig_start(&r);
	rig_start(&other);
	OK(doca_dpa_thread_create(r.dpa, &r.thread));
	OK(doca_dpa_thread_create(other.dpa, &other.thread));
	OK(doca_dpa_thread_set_func_arg(r.thread, &take_one, r.shared));
	IS(doca_dpa_completion_create(r.dpa, 0, &c), INVALID_VALUE);
	IS(doca_dpa_completion_create(r.dpa, (1 << 22) + 1, &c), INVALID_VALUE);
	OK(doca_dpa_completion_create(r.dpa, 5, &c));
	OK(doca_dpa_completion_get_queue_size(c, &size));
	cr_assert_eq(size, 8u);
	OK(doca_dpa_completion_get_thread(c, &t));
	cr_assert_null(t);
	IS(doca_dpa_completion_get_dpa_handle(c, &h), BAD_STATE);
	IS(dpa_completion_get_ibv_cq(c, &cq), BAD_STATE);
	IS(doca_dpa_completion_set_thread(c, other.thread), INVALID_VALUE);
	OK(doca_dpa_completion_set_thread(c, r.thread));
	IS(doca_dpa_completion_start(c), BAD_STATE);
	IS(doca_dpa_completion_stop(c), BAD_STATE);
	OK(doca_dpa_thread_start(r.thread));
	OK(doca_dpa_completion_start(c));
	IS(doca_dpa_completion_start(c), BAD_STATE);
	IS(doca_dpa_completion_set_thread(c, r.thread), BAD_STATE);
	OK(doca_dpa_completion_get_dpa_handle(c, &h));
	fake_set_cq_busy(true);
	IS(doca_dpa_completion_stop(c), IN_USE);
	IS(doca_dpa_destroy(r.dpa), IN_USE);
	fake_set_cq_busy(false);
	OK(doca_dpa_completion_get_dpa_handle(c, &h2));
	cr_assert_eq(h, h2);
	OK(doca_dpa_completion_stop(c));
	OK(doca_dpa_completion_destroy(c));
	OK(doca_dpa_thread_destroy(other.thread));
	OK(doca_dpa_destroy(other.dpa));
	OK(doca_dev_close(other.dev));
	rig_destroy(&r);
}

/*
 * Destruction in any order is safe; calls of children of a dead context return the error, and the
 * children can be freed.
 */
Test(host, context_first)
{
	struct rig r;

	rig_start(&r);
	rig_run(&r, &take_one);
	fake_push_recv(r.cq, 1);
	OK(doca_dpa_destroy(r.dpa));
	cr_assert_eq(fake_cqs(), 0);
	IS(doca_dpa_thread_run(r.thread), BAD_STATE);
	IS(doca_dpa_thread_stop(r.thread), BAD_STATE);
	IS(doca_dpa_completion_start(r.comp), BAD_STATE);
	IS(doca_dpa_thread_destroy(r.thread), BAD_STATE);
	IS(doca_dpa_completion_destroy(r.comp), BAD_STATE);
	OK(doca_dev_close(r.dev));
}

Test(host, thread_before_its_completion_context)
{
	struct rig r;

	rig_start(&r);
	rig_run(&r, &take_one);
	OK(doca_dpa_thread_destroy(r.thread));
	r.thread = NULL;
	fake_push_recv(r.cq, 1);
	rig_destroy(&r);
}

Test(host, no_more_threads_than_eus)
{
	struct doca_dpa_thread *t[257];
	int n = 0;
	struct rig r;

	rig_start(&r);
	while (n < 257 && doca_dpa_thread_create(r.dpa, &t[n]) == DOCA_SUCCESS)
		n++;
	cr_assert_eq(n, 256);
	IS(doca_dpa_thread_create(r.dpa, &t[256]), NO_MEMORY);
	while (n--)
		OK(doca_dpa_thread_destroy(t[n]));
	rig_destroy(&r);
}

Test(host, exported_qps)
{
	struct ibv_context *ctx, stranger_ctx = {0};
	struct ibv_srq srq;
	struct dpa_qp *dqp;
	struct ibv_qp *qp;
	struct rig r;
	uint64_t h;

	rig_start(&r);
	IS(dpa_dev_get_ibv_context(NULL, &ctx), INVALID_VALUE);
	OK(dpa_dev_get_ibv_context(r.dev, &ctx));
	qp = fake_qp(&stranger_ctx);
	IS(dpa_qp_export(r.dpa, qp, &dqp), INVALID_VALUE);
	qp = fake_qp(ctx);
	qp->srq = &srq;
	IS(dpa_qp_export(r.dpa, qp, &dqp), INVALID_VALUE);
	qp->srq = NULL;
	IS(dpa_qp_export(r.dpa, NULL, &dqp), INVALID_VALUE);
	OK(doca_dpa_stop(r.dpa));
	IS(dpa_qp_export(r.dpa, qp, &dqp), BAD_STATE);
	OK(doca_dpa_start(r.dpa));
	OK(dpa_qp_export(r.dpa, qp, &dqp));
	IS(dpa_qp_get_dpa_handle(dqp, NULL), INVALID_VALUE);
	OK(dpa_qp_get_dpa_handle(dqp, &h));
	cr_assert_neq(h, 0u);
	IS(doca_dpa_stop(r.dpa), IN_USE);
	IS(doca_dpa_destroy(r.dpa), IN_USE);
	OK(dpa_qp_unexport(dqp));
	IS(dpa_qp_unexport(NULL), INVALID_VALUE);
	rig_destroy(&r);
}

Test(host, waiting_for_a_thread)
{
	struct rig r;

	rig_start(&r);
	IS(dpa_thread_wait(NULL, 0), INVALID_VALUE);
	OK(doca_dpa_thread_create(r.dpa, &r.thread));
	IS(dpa_thread_wait(r.thread, 0), BAD_STATE);
	OK(doca_dpa_thread_set_func_arg(r.thread, &take_one, r.shared));
	OK(doca_dpa_thread_start(r.thread));
	IS(dpa_thread_wait(r.thread, 1), TIME_OUT);
	rig_destroy(&r);
}

/* A child has no EUs of its parent: it does not wait for them, and may have its own. */
Test(host, fork)
{
	struct rig r, mine;
	pid_t pid;
	int status;

	rig_start(&r);
	rig_run(&r, &take_one);
	fake_push_recv(r.cq, 1);
	AWAIT(&r, activations, 1);
	pid = fork();
	if (!pid) {
		bool ok = doca_dpa_thread_run(r.thread) == DOCA_ERROR_BAD_STATE &&
			  !doca_dpa_completion_destroy(r.comp) &&
			  !doca_dpa_thread_destroy(r.thread) && !doca_dpa_destroy(r.dpa);

#ifdef __SANITIZE_THREAD__ /* has no threads after a fork */
		(void)mine;
#else
		rig_start(&mine);
		rig_run(&mine, &take_one);
		fake_push_recv(mine.cq, 5);
		AWAIT(&mine, wr_id, 5);
#endif
		_exit(!ok);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0);
	fake_push_recv(r.cq, 2);
	AWAIT(&r, activations, 2);
	rig_destroy(&r);
}
