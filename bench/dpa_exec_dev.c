/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* dpa_exec_dev.c - device code of dpa_exec. */
#include <doca_dpa_dev.h>
#include "dpa_exec.h"

static uint64_t now(void)
{
	return __builtin_ia32_rdtsc();
}

static void mark_begun(struct exec_bench *b, uint64_t began)
{
	b->began = began;
	__atomic_fetch_add(&b->seen, 1, __ATOMIC_RELEASE);
}

__dpa_rpc__ uint64_t bench_rpc(void)
{
	return 1;
}

__dpa_rpc__ uint64_t bench_serve(uint64_t notify)
{
	doca_dpa_dev_thread_notify(notify);
	return 1;
}

__dpa_global__ void bench_kernel(struct exec_bench *b)
{
	mark_begun(b, now());
}

/* Two threads that activate each other. */
static void bounce_ping(struct exec_bench *b, int to)
{
	if (!b->rounds)
		mark_begun(b, now());
	else {
		b->rounds--;
		doca_dpa_dev_thread_notify(b->notify[to]);
	}
	doca_dpa_dev_thread_reschedule();
}

__dpa_global__ void bench_ping(uint64_t arg)
{
	bounce_ping((struct exec_bench *)arg, 1);
}

__dpa_global__ void bench_pong(uint64_t arg)
{
	bounce_ping((struct exec_bench *)arg, 0);
}

__dpa_global__ void bench_element(uint64_t arg)
{
	uint64_t began = now();
	struct exec_bench *b = (struct exec_bench *)arg;
	doca_dpa_dev_completion_element_t e;

	while (doca_dpa_dev_get_completion(b->comp, &e))
		doca_dpa_dev_completion_ack(b->comp, 1);
	doca_dpa_dev_completion_request_notification(b->comp);
	mark_begun(b, began);
	doca_dpa_dev_thread_reschedule();
}
