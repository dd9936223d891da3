/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* kernels.c - device code of the tests of this folder. */
#include <doca_dpa_dev.h>
#include <doca_dpa_dev_sync_event.h>
#include "kernels.h"

#define SET(field, v) __atomic_store_n(&(field), (uint64_t)(v), __ATOMIC_RELEASE)
#define ADD(field)    __atomic_fetch_add(&(field), 1, __ATOMIC_ACQ_REL)
#define GET(field)    __atomic_load_n(&(field), __ATOMIC_ACQUIRE)

/* -------------------------------------------------------------------- RPCs */

__dpa_rpc__ uint64_t rpc_nothing(void)
{
	return 77;
}

__dpa_rpc__ uint64_t rpc_mix(uint8_t a, int32_t b, struct pair p, double d, struct triple t,
			     const uint64_t *ptr, _Bool last)
{
	return a + (uint64_t)(int64_t)b + p.a + p.b + (uint64_t)d + (uint64_t)t.x + (uint64_t)t.c +
	       t.y[2] + *ptr + last;
}

__dpa_rpc__ uint64_t rpc_big(struct big b, uint32_t i)
{
	return b.words[i];
}

__dpa_rpc__ uint64_t rpc_place(void)
{
	return (uint64_t)doca_dpa_dev_num_threads() << 32 | doca_dpa_dev_thread_rank();
}

__dpa_rpc__ uint64_t rpc_log(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		DOCA_DPA_DEV_LOG_INFO("line %u\n", i);
	return n;
}

__dpa_rpc__ uint64_t rpc_notify(struct exec_shared *s)
{
	doca_dpa_dev_thread_notify(s->notify);
	return 1;
}

/* Notify, and wait for the thread. */
__dpa_rpc__ uint64_t rpc_await(struct exec_shared *s, uint64_t ran)
{
	doca_dpa_dev_thread_notify(s->notify);
	while (GET(s->ran) < ran)
		;
	return 1;
}

__dpa_rpc__ uint64_t rpc_wait(struct exec_shared *s)
{
	ADD(s->ran);
	while (!GET(s->go))
		;
	return 5;
}

__dpa_rpc__ uint64_t rpc_spin(struct exec_shared *s)
{
	ADD(s->ran);
	for (;;)
		__asm__ volatile("");
	return 0;
}

static volatile uintptr_t nowhere = 8;

__dpa_rpc__ uint64_t rpc_fault(struct exec_shared *s)
{
	ADD(s->ran);
	return *(volatile uint64_t *)nowhere;
}

__dpa_rpc__ uint64_t rpc_misuse(uint32_t what)
{
	if (what == 0)
		doca_dpa_dev_thread_finish();
	if (what == 1)
		doca_dpa_dev_thread_reschedule();
	return doca_dpa_dev_thread_get_local_storage();
}

/* ----------------------------------------------------------------- kernels */

static void note(struct exec_shared *s)
{
	SET(s->num, doca_dpa_dev_num_threads());
	SET(s->rank, doca_dpa_dev_thread_rank());
	__atomic_fetch_or(&s->ranks, 1ull << doca_dpa_dev_thread_rank(), __ATOMIC_ACQ_REL);
	ADD(s->ran);
}

__dpa_global__ void kernel_note(struct exec_shared *s)
{
	note(s);
}

__dpa_global__ void kernel_args(struct exec_shared *s, uint32_t add, struct pair p)
{
	__atomic_fetch_add(&s->ended, add + p.a + p.b, __ATOMIC_ACQ_REL);
}

__dpa_global__ void kernel_order(struct exec_shared *s, uint64_t id)
{
	SET(s->order[ADD(s->at)], id);
}

__dpa_global__ void kernel_wait(struct exec_shared *s)
{
	note(s);
	while (!GET(s->go))
		;
	ADD(s->ended);
}

__dpa_global__ void kernel_spin(struct exec_shared *s)
{
	ADD(s->ran);
	for (;;)
		__asm__ volatile("");
}

/* Continue when `all` have begun: with fewer EUs than that it needs yields. */
__dpa_global__ void kernel_meet(struct exec_shared *s, uint64_t all)
{
	ADD(s->ran);
	while (GET(s->ran) < all)
		doca_dpa_dev_yield();
	ADD(s->ended);
}

/* Run for ever, but yield the EU. */
__dpa_global__ void kernel_polite(struct exec_shared *s)
{
	ADD(s->ran);
	for (;;)
		doca_dpa_dev_yield();
}

__dpa_global__ void kernel_fault(struct exec_shared *s)
{
	ADD(s->ran);
	if (doca_dpa_dev_thread_rank() == 0)
		*(volatile uint64_t *)nowhere = 1;
	for (;;)
		__asm__ volatile("");
}

__dpa_global__ void kernel_misuse(uint32_t what)
{
	if (what == 0)
		doca_dpa_dev_thread_finish();
	if (what == 1)
		doca_dpa_dev_thread_reschedule();
	doca_dpa_dev_thread_get_local_storage();
}

/* ----------------------------------------------------------------- threads */

__dpa_global__ void thread_note(uint64_t arg)
{
	note((struct exec_shared *)arg);
	doca_dpa_dev_thread_reschedule();
}

__dpa_global__ void thread_log(uint64_t arg)
{
	DOCA_DPA_DEV_LOG_INFO("here\n");
	ADD(((struct exec_shared *)arg)->ran);
	doca_dpa_dev_thread_reschedule();
}

/* One activation until `go`; a yield of a thread keeps its EU. */
__dpa_global__ void thread_wait(uint64_t arg)
{
	struct exec_shared *s = (struct exec_shared *)arg;

	ADD(s->ran);
	while (!GET(s->go))
		doca_dpa_dev_yield();
	ADD(s->ended);
	doca_dpa_dev_thread_reschedule();
}

__dpa_global__ void thread_fault(uint64_t arg)
{
	ADD(((struct exec_shared *)arg)->ended);
	*(volatile uint64_t *)nowhere = 1;
}

/* ------------------------------------------------------- extended contexts */

static int take(uint64_t comp)
{
	doca_dpa_dev_completion_element_t e;

	return doca_dpa_dev_get_completion(comp, &e);
}

/* Take from `other`'s queue, the base's, and `other`'s again. */
__dpa_rpc__ uint64_t rpc_two_devices(struct exec_shared *s, uint64_t comp_of_other)
{
	uint64_t got;

	doca_dpa_dev_device_set(s->other);
	got = (uint64_t)take(comp_of_other);
	doca_dpa_dev_device_set(s->base);
	got += (uint64_t)take(s->comp) * 10;
	doca_dpa_dev_device_set(s->other);
	return got + (uint64_t)take(comp_of_other) * 100;
}

__dpa_rpc__ uint64_t rpc_take(uint64_t comp)
{
	return (uint64_t)take(comp);
}

__dpa_rpc__ uint64_t rpc_set_device(uint64_t context)
{
	doca_dpa_dev_device_set(context);
	return 1;
}

/* Use memory of the program with any selected device: 1 for the event, 10 for the hash table. */
__dpa_rpc__ uint64_t rpc_memory(doca_dpa_dev_t device, uint64_t event, uint64_t table)
{
	uint64_t v = 0, found = 0;

	doca_dpa_dev_device_set(device);
	doca_dpa_dev_sync_event_update_add(event, 4);
	doca_dpa_dev_sync_event_update_set(event, 6);
	doca_dpa_dev_sync_event_wait_gt(event, 5, ~0ull);
	doca_dpa_dev_sync_event_get(event, &v);
	doca_dpa_dev_hash_table_add(table, 3, 9);
	return (v == 6) +
	       (uint64_t)doca_dpa_dev_hash_table_find(table, 3, &found) * (found == 9) * 10;
}

__dpa_rpc__ uint64_t rpc_notify_by(doca_dpa_dev_t device, uint64_t notify)
{
	doca_dpa_dev_device_set(device);
	doca_dpa_dev_thread_notify(notify);
	return 0;
}

/* Use the device that its thread was created on. */
__dpa_global__ void thread_take(uint64_t arg)
{
	struct exec_shared *s = (struct exec_shared *)arg;

	if (take(s->comp))
		ADD(s->ran);
	doca_dpa_dev_completion_request_notification(s->comp);
	doca_dpa_dev_thread_reschedule();
}

/* ------------------------------------------------------------------- trace */

__dpa_rpc__ uint64_t rpc_trace(uint64_t n, uint64_t flush)
{
	for (uint64_t i = 0; i < n; i++)
		doca_dpa_dev_trace(i, 2, 0xabcdef, ~0ull, 5);
	if (flush)
		doca_dpa_dev_trace_flush();
	return n;
}
