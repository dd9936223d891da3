/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_fault.c - faults of device code end its context; the program and other contexts continue. */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include "host.h"

extern doca_dpa_func_t read_null, divide, trap, overflow, bad_handle, bad_text, take_one;

/* The files of the crashes, at their default place. */
static void remove_files(void)
{
	static const char *const kinds[] = {"core", "crash", "so"};
	char path[64];

	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "/tmp/doca_dpa_fatal.%d.%s", (int)getpid(), kinds[i]);
		unlink(path);
	}
}

TestSuite(fault, .fini = remove_files, .timeout = 60);

static void await_fatal(struct rig *r)
{
	while (doca_dpa_peek_at_last_error(r->dpa) == DOCA_SUCCESS)
		sched_yield();
	IS(doca_dpa_peek_at_last_error(r->dpa), BAD_STATE);
}

static void fault_once(doca_dpa_func_t *func)
{
	struct rig r;

	rig_start(&r);
	OK(doca_dpa_stop(r.dpa));
	OK(doca_dpa_set_log_level(r.dpa, DOCA_DPA_DEV_LOG_LEVEL_DISABLE));
	OK(doca_dpa_start(r.dpa));
	OK(doca_dpa_mem_alloc(r.dpa, sizeof(struct shared), &r.shared));
	OK(doca_dpa_memset(r.dpa, r.shared, 0, sizeof(struct shared)));
	rig_run(&r, func);
	fake_push_recv(r.cq, 1);
	await_fatal(&r);
	cr_assert_eq(READ(&r, activations), 1u);
	cr_assert_eq(READ(&r, found), 0u);
	rig_destroy(&r);
}

Test(fault, bad_pointer)
{
	fault_once(&read_null);
}

Test(fault, division)
{
	fault_once(&divide);
}

Test(fault, trap)
{
	fault_once(&trap);
}

Test(fault, stack)
{
	fault_once(&overflow);
}

Test(fault, handle)
{
	fault_once(&bad_handle);
}

Test(fault, format)
{
	fault_once(&bad_text);
}

Test(fault, thirty_rounds_beside_a_context_that_works)
{
	doca_dpa_func_t *const funcs[] = {&read_null, &divide, &trap, &overflow, &bad_handle};
	uint64_t handle;
	struct rig good;

	rig_start(&good);
	rig_run(&good, &take_one);
	for (uint64_t i = 1; i <= 30; i++) {
		struct rig bad;

		rig_start(&bad);
		OK(doca_dpa_completion_create(bad.dpa, 16, &bad.comp));
		OK(doca_dpa_thread_create(bad.dpa, &bad.thread));
		OK(doca_dpa_thread_set_func_arg(bad.thread, funcs[i % 5], bad.shared));
		OK(doca_dpa_thread_start(bad.thread));
		OK(doca_dpa_completion_set_thread(bad.comp, bad.thread));
		OK(doca_dpa_completion_start(bad.comp));
		OK(doca_dpa_completion_get_dpa_handle(bad.comp, &handle));
		OK(doca_dpa_h2d_memcpy(bad.dpa, bad.shared, &handle, 8));
		OK(dpa_completion_get_ibv_cq(bad.comp, &bad.cq));
		OK(doca_dpa_thread_run(bad.thread));
		fake_push_recv(bad.cq, 1);
		await_fatal(&bad);
		OK(doca_dpa_completion_destroy(bad.comp));
		OK(doca_dpa_thread_destroy(bad.thread));
		OK(doca_dpa_destroy(bad.dpa));
		OK(doca_dev_close(bad.dev));
		fake_push_recv(good.cq, i);
		AWAIT(&good, found, i);
	}
	cr_assert_eq(doca_dpa_peek_at_last_error(good.dpa), DOCA_SUCCESS);
	rig_destroy(&good);
}

extern doca_dpa_func_t spin_for_ever;

/* Code that spins in the same context is killed too; code that spins in another one is not. */
Test(fault, ends_the_other_threads_of_its_context)
{
	struct doca_dpa_completion *comp;
	struct doca_dpa_thread *spinner;
	struct ibv_cq *cq;
	struct rig r, other;

	rig_start(&other);
	rig_run(&other, &spin_for_ever);
	fake_push_recv(other.cq, 1);
	AWAIT(&other, activations, 1);
	rig_start(&r);
	OK(doca_dpa_thread_create(r.dpa, &spinner));
	OK(doca_dpa_thread_set_func_arg(spinner, &spin_for_ever, r.shared));
	OK(doca_dpa_thread_start(spinner));
	OK(doca_dpa_completion_create(r.dpa, 1, &comp));
	OK(doca_dpa_completion_set_thread(comp, spinner));
	OK(doca_dpa_completion_start(comp));
	OK(doca_dpa_thread_run(spinner));
	OK(dpa_completion_get_ibv_cq(comp, &cq));
	fake_push_recv(cq, 1);
	AWAIT(&r, activations, 1);
	rig_run(&r, &read_null);
	fake_push_recv(r.cq, 1);
	await_fatal(&r);
	OK(dpa_thread_wait(spinner, -1));
	IS(dpa_thread_wait(other.thread, 0), TIME_OUT);
	OK(doca_dpa_thread_destroy(spinner));
	OK(doca_dpa_completion_destroy(comp));
	OK(doca_dpa_completion_destroy(r.comp));
	OK(doca_dpa_thread_destroy(r.thread));
	OK(doca_dpa_destroy(r.dpa));
	OK(doca_dev_close(r.dev));
	rig_destroy(&other);
}

static sigjmp_buf caught;
static volatile uintptr_t nowhere = 8;

static void on_segv(int sig)
{
	siglongjmp(caught, 1);
}

/* A fault of the application itself goes to the application's own handler. */
Test(fault, the_application_keeps_its_handler)
{
	struct sigaction act = {.sa_handler = on_segv};
	struct rig r;

	sigaction(SIGSEGV, &act, NULL);
	rig_start(&r);
	if (!sigsetjmp(caught, 1)) {
		*(volatile int *)nowhere = 1;
		cr_assert_fail("not reached");
	}
	rig_destroy(&r);
}
