/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_points.c - points of the timeline: what ran on which EU, and how it ended. */
#include <dpa_hw_trace.h>
#include <pthread.h>
#include <string.h>
#include "../fake.h"
#include "rig.h"

TestSuite(points, .timeout = 60);

#define MOST 32
#define SOME 8u /* a gate without DPA_TRACE_EVERY */

/* A clock that counts its readings, and a list of events. Other threads put events, too. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint32_t gate;
static _Atomic uint64_t ticks;
static struct {
	uint64_t at;
	struct dpa_trace_words w;
} events[MOST];
static uint32_t num;

static uint64_t test_now(void)
{
	return atomic_fetch_add(&ticks, 1) + 1;
}

static uint32_t test_since(uint64_t began)
{
	return (uint32_t)(atomic_load(&ticks) - began);
}

static void test_put(uint64_t at, struct dpa_trace_words w)
{
	pthread_mutex_lock(&lock);
	cr_assert_lt(num, (uint32_t)MOST);
	events[num].at = at;
	events[num++].w = w;
	pthread_mutex_unlock(&lock);
}

static const struct dpa_trace_ops ops = {&gate, test_now, test_since, test_put};

/* Checks event i: w[0] is object, extra, code and kind; w[1] is y and x; w[2] is z. */
static void is_run(uint32_t i, enum dpa_trace_run kind, uint32_t end, uint32_t x, const char *name)
{
	const uint64_t *w = events[i].w.w;
	char text[9] = "";

	cr_assert_lt(i, num);
	memcpy(text, &w[2], 8);
	cr_expect_eq(w[0] & 255, (uint64_t)DPA_TRACE_DPA);
	cr_expect_eq(w[0] >> 8 & 255, (uint64_t)kind);
	cr_expect_eq(w[0] >> 16 & 0xffff, (uint64_t)end);
	cr_expect_eq((uint32_t)w[1], x, "%u", (uint32_t)w[1]);
	cr_expect_str_eq(text, name);
	cr_expect_neq(events[i].at, 0u);
	if (kind != DPA_TRACE_LAUNCH && end != DPA_TRACE_BEGAN)
		cr_expect_neq(w[1] >> 32, 0u, "it took time");
}

/* Of the first two events, which two threads put, that of the begin. */
static uint32_t began(void)
{
	return (events[0].w.w[0] >> 16 & 0xffff) == DPA_TRACE_BEGAN ? 0 : 1;
}

static void begin(struct rig *r)
{
	fake_set_trace(&ops);
	exec_rig_start(r);
}

Test(points, off_puts_nothing)
{
	uint64_t ret;
	struct rig r;

	begin(&r);
	OK(doca_dpa_rpc(r.dpa, &rpc_nothing, &ret));
	rig_destroy(&r);
	cr_expect_eq(num, 0u);
}

/* A tool that reads figures asks for no timeline: no clock is read. */
Test(points, meters_put_nothing)
{
	uint64_t ret;
	struct rig r;

	begin(&r);
	atomic_store(&gate, DPA_TRACE_METERS);
	OK(doca_dpa_rpc(r.dpa, &rpc_nothing, &ret));
	rig_destroy(&r);
	cr_expect_eq(num, 0u);
	cr_expect_eq(atomic_load(&ticks), 0u);
}

Test(points, no_points)
{
	uint64_t ret;
	struct rig r;

	exec_rig_start(&r);
	OK(doca_dpa_rpc(r.dpa, &rpc_nothing, &ret));
	rig_destroy(&r);
}

Test(points, rpc)
{
	uint64_t ret;
	struct rig r;

	begin(&r);
	atomic_store(&gate, 1);
	OK(doca_dpa_rpc(r.dpa, &rpc_nothing, &ret));
	rig_destroy(&r);
	cr_assert_eq(num, 2u);
	is_run(0, DPA_TRACE_RPC, DPA_TRACE_BEGAN, 0, "rpc_noth");
	is_run(1, DPA_TRACE_RPC, DPA_TRACE_RETURNED, 0, "rpc_noth");
	cr_expect_eq(events[0].at, events[1].at);
}

/* Where events are skipped, no begin is recorded: its end might be missing. */
Test(points, some)
{
	uint64_t ret;
	struct rig r;

	begin(&r);
	atomic_store(&gate, SOME);
	OK(doca_dpa_rpc(r.dpa, &rpc_nothing, &ret));
	rig_destroy(&r);
	is_run(0, DPA_TRACE_RPC, DPA_TRACE_RETURNED, 0, "rpc_noth");
	cr_expect_eq(num, 1u);
}

/* Code that runs has begun, and a length of more than 2^32 ticks is right. */
Test(points, runs_long)
{
	struct doca_sync_event *done;
	struct rig r;

	begin(&r);
	done = rig_event(&r, NULL);
	atomic_store(&gate, DPA_TRACE_EVERY);
	OK(doca_dpa_kernel_launch_update_set(r.dpa, NULL, 0, done, 1, 1, &kernel_wait, r.shared));
	AWAIT_SHARED(&r, ran, 1);
	pthread_mutex_lock(&lock);
	cr_expect_eq(num, 2u);
	is_run(began(), DPA_TRACE_KERNEL, DPA_TRACE_BEGAN, 0, "kernel_w");
	pthread_mutex_unlock(&lock);
	atomic_fetch_add(&ticks, UINT64_C(7) << 32);
	PUT(&r, go, 1);
	OK(doca_sync_event_wait_gt(done, 0, ~0ull));
	OK(doca_sync_event_destroy(done));
	rig_destroy(&r);
	cr_assert_eq(num, 3u);
	is_run(2, DPA_TRACE_KERNEL, DPA_TRACE_RETURNED | DPA_TRACE_LONG, 0, "kernel_w");
	cr_expect_eq(events[2].w.w[1] >> 32, 7u << 16);
	cr_expect_eq(events[2].at, events[began()].at);
}

Test(points, activation)
{
	struct exec_thread t;
	struct rig r;

	begin(&r);
	exec_thread_new(&r, &t, &thread_note, NULL);
	atomic_store(&gate, SOME);
	exec_notify(&r, &t);
	AWAIT_SHARED(&r, ran, 1);
	exec_thread_free(&t);
	rig_destroy(&r);
	cr_assert_eq(num, 2u);
	for (uint32_t i = 0; i < 2; i++)
		if ((events[i].w.w[0] >> 8 & 255) == DPA_TRACE_RPC)
			is_run(i, DPA_TRACE_RPC, DPA_TRACE_RETURNED, 0, "rpc_noti");
		else
			is_run(i, DPA_TRACE_ACTIVATION, DPA_TRACE_RETURNED, 0, "thread_n");
}

Test(points, launch)
{
	struct doca_sync_event *done;
	uint32_t ranks = 0;
	struct rig r;

	begin(&r);
	done = rig_event(&r, NULL);
	atomic_store(&gate, SOME);
	OK(doca_dpa_kernel_launch_update_set(r.dpa, NULL, 0, done, 1, 3, &kernel_note, r.shared));
	OK(doca_sync_event_wait_gt(done, 0, ~0ull));
	OK(doca_sync_event_destroy(done));
	rig_destroy(&r);
	cr_assert_eq(num, 4u);
	is_run(0, DPA_TRACE_LAUNCH, DPA_TRACE_RETURNED, 3, "kernel_n");
	for (uint32_t i = 1; i < 4; i++) {
		is_run(i, DPA_TRACE_KERNEL, DPA_TRACE_RETURNED, (uint32_t)events[i].w.w[1],
		       "kernel_n");
		ranks |= 1u << (uint32_t)events[i].w.w[1];
	}
	cr_expect_eq(ranks, 7u);
}

Test(points, fault)
{
	uint64_t ret;
	struct rig r;

	begin(&r);
	atomic_store(&gate, SOME);
	IS(doca_dpa_rpc(r.dpa, &rpc_fault, &ret, r.shared), DRIVER);
	rig_destroy(&r);
	rig_drop_crash("/tmp/doca_dpa_fatal");
	cr_assert_eq(num, 1u);
	is_run(0, DPA_TRACE_RPC, DPA_TRACE_FAULTED, 0, "rpc_faul");
}

/* Switched off while code runs: the event has no place any more. */
Test(points, switched_off_meanwhile)
{
	struct doca_sync_event *done;
	struct rig r;

	begin(&r);
	done = rig_event(&r, NULL);
	atomic_store(&gate, SOME);
	OK(doca_dpa_kernel_launch_update_set(r.dpa, NULL, 0, done, 1, 1, &kernel_wait, r.shared));
	AWAIT_SHARED(&r, ran, 1);
	atomic_store(&gate, 0);
	PUT(&r, go, 1);
	OK(doca_sync_event_wait_gt(done, 0, ~0ull));
	OK(doca_sync_event_destroy(done));
	rig_destroy(&r);
	cr_expect_eq(num, 1u, "the launch");
}
