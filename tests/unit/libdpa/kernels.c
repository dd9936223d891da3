/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* kernels.c - device code of the unit tests. */
#include <doca_dpa_dev.h>
#include <dpa/dpa_dev_native.h>
#include "kernels.h"

#define SET(field, v) __atomic_store_n(&(field), (uint64_t)(v), __ATOMIC_RELEASE)
#define ADD(field)    __atomic_fetch_add(&(field), 1, __ATOMIC_ACQ_REL)
#define GET(field)    __atomic_load_n(&(field), __ATOMIC_ACQUIRE)

static uint64_t runs;

static struct shared *shared_of(uint64_t arg)
{
	return (struct shared *)(uintptr_t)arg;
}

static int take(struct shared *s)
{
	doca_dpa_dev_completion_element_t e;

	if (!doca_dpa_dev_get_completion(s->comp, &e))
		return 0;
	SET(s->wr_id, dpa_dev_completion_wr_id(e));
	SET(s->type, doca_dpa_dev_get_completion_type(e));
	SET(s->user_data, doca_dpa_dev_get_completion_user_data(e));
	SET(s->qpn, dpa_dev_completion_qpn(e));
	SET(s->immediate, doca_dpa_dev_get_completion_immediate(e));
	SET(s->status, dpa_dev_completion_status(e));
	doca_dpa_dev_completion_ack(s->comp, 1);
	ADD(s->found);
	return 1;
}

/* Take one element in each activation, for ever. */
__dpa_global__ void take_one(uint64_t arg)
{
	struct shared *s = shared_of(arg);

	SET(s->statics, ++runs);
	SET(s->local, doca_dpa_dev_thread_get_local_storage());
	take(s);
	doca_dpa_dev_completion_request_notification(s->comp);
	ADD(s->activations);
	doca_dpa_dev_thread_reschedule();
	SET(s->found, ~0ull); /* not reached */
}

__dpa_global__ void take_all_and_finish(uint64_t arg)
{
	struct shared *s = shared_of(arg);

	for (;;)
		if (!take(s)) {
			ADD(s->activations);
			doca_dpa_dev_thread_finish();
		}
}

__dpa_global__ void just_return(uint64_t arg)
{
	doca_dpa_dev_completion_request_notification(shared_of(arg)->comp);
	ADD(shared_of(arg)->activations);
}

__dpa_global__ void spin_until_go(uint64_t arg)
{
	struct shared *s = shared_of(arg);

	ADD(s->activations);
	while (!GET(s->go))
		;
	ADD(s->found);
	doca_dpa_dev_thread_finish();
}

__dpa_global__ void spin_for_ever(uint64_t arg)
{
	ADD(shared_of(arg)->activations);
	for (;;)
		__asm__ volatile("");
}

__dpa_global__ void say_hello(uint64_t arg)
{
	doca_dpa_dev_completion_element_t e;
	struct shared *s = shared_of(arg);

	while (doca_dpa_dev_get_completion(s->comp, &e))
		;
	DOCA_DPA_DEV_LOG_INFO("Hello %s %d\n", __func__, 42);
	DOCA_DPA_DEV_LOG_ERR("bad\n");
	DOCA_DPA_DEV_LOG_DBG("not shown\n");
	ADD(s->activations);
	doca_dpa_dev_thread_finish();
}

static volatile uintptr_t nowhere = 8;

__dpa_global__ void read_null(uint64_t arg)
{
	ADD(shared_of(arg)->activations);
	*(volatile uint64_t *)nowhere;
}

static volatile int zero;

__dpa_global__ void divide(uint64_t arg)
{
	ADD(shared_of(arg)->activations);
	zero = 100 / zero;
}

__dpa_global__ void trap(uint64_t arg)
{
	ADD(shared_of(arg)->activations);
	__builtin_trap();
}

static uint64_t deep(volatile uint64_t *p)
{
	volatile uint64_t frame[64];

	frame[0] = *p + 1;
	return deep(frame) + frame[0];
}

__dpa_global__ void overflow(uint64_t arg)
{
	volatile uint64_t v = arg;

	ADD(shared_of(arg)->activations);
	SET(shared_of(arg)->found, deep(&v));
}

__dpa_global__ void bad_handle(uint64_t arg)
{
	ADD(shared_of(arg)->activations);
	doca_dpa_dev_completion_ack(shared_of(arg)->comp + 1, 1);
	SET(shared_of(arg)->found, 1);
}

__dpa_global__ void bad_text(uint64_t arg)
{
	ADD(shared_of(arg)->activations);
	DOCA_DPA_DEV_LOG_INFO("%s\n", (const char *)nowhere);
}

__dpa_global__ void post(uint64_t arg)
{
	struct shared *s = shared_of(arg);
	struct dpa_dev_sge sge[3] = {{0x1000, 8, 5}, {0x2000, 100, 6}, {0x3000, 1, 7}};
	struct dpa_dev_send_wr wr = {.opcode = DPA_DEV_RDMA_WRITE_IMM,
				     .flags = DPA_DEV_SIGNALED,
				     .wr_id = 77,
				     .remote_addr = 0x9000,
				     .rkey = 9,
				     .imm = 0x01020304,
				     .num_sge = 3,
				     .sg_list = sge};
	uint64_t ret = (uint64_t)dpa_dev_qp_post_send(s->qp, &wr);

	ret = ret << 8 | (uint64_t)dpa_dev_qp_post_recv(s->qp, 5, sge, 2);
	ret = ret << 8 | (uint64_t)dpa_dev_qp_post_recv(s->qp, 5, sge, 3);
	wr.flags = 64;
	ret = ret << 8 | (uint64_t)dpa_dev_qp_post_send(s->qp, &wr);
	wr.flags = 0;
	while (!dpa_dev_qp_post_send(s->qp, &wr))
		ADD(s->found);
	ret = ret << 8 | (uint64_t)dpa_dev_qp_post_send(s->qp, &wr);
	SET(s->ret, ret);
	ADD(s->activations);
	doca_dpa_dev_thread_finish();
}

/* Activated by a completion, activate another thread. */
__dpa_global__ void notify_other(uint64_t arg)
{
	struct shared *s = shared_of(arg);

	take(s);
	doca_dpa_dev_thread_notify(s->comp2);
	doca_dpa_dev_thread_notify(s->comp2);
	doca_dpa_dev_completion_request_notification(s->comp);
	doca_dpa_dev_thread_reschedule();
}

/* Twenty activations without an element. */
__dpa_global__ void notified(uint64_t arg)
{
	if (ADD(shared_of(arg)->activations) == 19)
		doca_dpa_dev_thread_finish();
	doca_dpa_dev_thread_reschedule();
}

/* Not a function for threads. */
__dpa_global__ void two_arguments(uint64_t a, uint32_t b)
{
}

__dpa_rpc__ uint64_t an_rpc(uint64_t a)
{
	return a;
}
