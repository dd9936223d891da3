/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_stolen.c - code whose EU is stolen for an hour ends at once when its owner stops it. */
#include <libdpa/run/inject.h>
#include "rig.h"

#define HOUR_NS UINT64_C(3600000000000)

TestSuite(stolen, .timeout = 60);

static _Atomic uint32_t gate, spared, stolen;

/* dpa_inject_ops.point: the first `spared` matches keep their EU. */
static bool steal_an_hour(uint32_t line, uint64_t *ns)
{
	if (line != DPA_HW_INJECT_EU || atomic_load(&spared)) {
		atomic_fetch_sub(&spared, line == DPA_HW_INJECT_EU);
		return false;
	}
	*ns = HOUR_NS;
	atomic_fetch_add(&stolen, 1);
	return true;
}

static void steal_eus(uint32_t spare)
{
	static const struct dpa_inject_ops ops = {.gate = &gate, .point = steal_an_hour};

	atomic_store(&spared, spare);
	atomic_store(&gate, 1u << DPA_HW_INJECT_EU);
	atomic_store(&dpa_injects, &ops);
}

static void await_stolen(uint32_t n)
{
	while (atomic_load(&stolen) < n)
		sched_yield();
}

/* It is as one that waits for an EU: it does not run, and can be started again. */
Test(stolen, a_thread_is_stopped)
{
	struct exec_thread t;
	struct rig r;

	exec_rig_start(&r);
	exec_thread_new(&r, &t, &thread_note, NULL);
	steal_eus(1); /* not that of the RPC */
	exec_notify(&r, &t);
	await_stolen(1);
	OK(doca_dpa_thread_stop(t.thread));
	cr_expect_eq(SHARED(&r, ran), 0u);
	atomic_store(&gate, 0);
	OK(doca_dpa_thread_start(t.thread));
	OK(doca_dpa_thread_run(t.thread));
	exec_notify(&r, &t);
	AWAIT_SHARED(&r, ran, 1);
	exec_thread_free(&t);
	rig_destroy(&r);
}

Test(stolen, a_launch_ends_with_its_context)
{
	struct rig r;

	exec_rig_start(&r);
	steal_eus(0);
	OK(doca_dpa_kernel_launch_update_set(r.dpa, NULL, 0, NULL, 0, 3, &kernel_note, r.shared));
	await_stolen(3);
	OK(doca_dpa_destroy(r.dpa));
	OK(doca_dev_close(r.dev));
}
