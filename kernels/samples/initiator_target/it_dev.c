/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* it_dev.c - both sides: RPCs that post, and threads that arrivals activate. */
#include <doca_dpa_dev.h>
#include <doca_dpa_dev_rdma.h>
#include <doca_dpa_dev_sync_event.h>
#include "it.h"

static void use_device(uint64_t dpa)
{
	if (dpa)
		doca_dpa_dev_device_set(dpa);
}

__dpa_rpc__ uint64_t it_post_receive(doca_dpa_dev_t dpa, doca_dpa_dev_rdma_t rdma,
				     doca_dpa_dev_mmap_t mmap, uint64_t addr, size_t len)
{
	use_device(dpa);
	doca_dpa_dev_rdma_post_receive(rdma, mmap, addr, len);
	return 0;
}

__dpa_rpc__ uint64_t it_post_send(doca_dpa_dev_t dpa, doca_dpa_dev_rdma_t rdma, uint32_t connection,
				  doca_dpa_dev_mmap_t mmap, uint64_t addr, size_t len,
				  uint32_t immediate)
{
	use_device(dpa);
	doca_dpa_dev_rdma_post_send_imm(rdma, connection, mmap, addr, len, immediate,
					DOCA_DPA_DEV_SUBMIT_FLAG_FLUSH |
						DOCA_DPA_DEV_SUBMIT_FLAG_OPTIMIZE_REPORTS);
	return 0;
}

/* Records one message. Returns 0 if it is not a valid message. */
static int take_message(struct it_target *t, doca_dpa_dev_completion_element_t e)
{
	doca_dpa_dev_completion_type_t type = doca_dpa_dev_get_completion_type(e);

	if (type != DOCA_DPA_DEV_COMP_RECV_SEND_IMM || t->num == IT_MESSAGES) {
		DOCA_DPA_DEV_LOG_ERR("%s: a completion of type %d\n", __func__, (int)type);
		t->failed = 1;
		return 0;
	}
	t->value[t->num] = *(uint64_t *)t->addr;
	t->from[t->num] = doca_dpa_dev_get_completion_user_data(e);
	t->immediate[t->num] = doca_dpa_dev_get_completion_immediate(e);
	DOCA_DPA_DEV_LOG_INFO("connection %u brings %lu, immediate %u\n", t->from[t->num],
			      t->value[t->num], t->immediate[t->num]);
	t->num++;
	return 1;
}

static void tell_host(struct it_target *t)
{
	doca_dpa_dev_sync_event_update_set(t->event, 1);
	doca_dpa_dev_thread_finish();
}

/* Ends after one message. */
__dpa_global__ void basic_target_thread(uint64_t arg)
{
	struct it_target *t = (struct it_target *)arg;
	doca_dpa_dev_completion_element_t e;

	use_device(t->dpa);
	if (doca_dpa_dev_get_completion(t->comp, &e))
		take_message(t, e);
	else
		t->failed = 1; /* activated without a message */
	tell_host(t);
}

/* Takes messages of two connections one by one; notifies the second thread after the last. */
__dpa_global__ void target_thread1(uint64_t arg)
{
	static uint64_t activations; /* kept between activations */
	struct it_target *t = (struct it_target *)arg;
	doca_dpa_dev_completion_element_t e;

	use_device(t->dpa);
	activations++;
	if (!doca_dpa_dev_get_completion(t->comp, &e)) {
		DOCA_DPA_DEV_LOG_ERR("activation %lu is for nothing\n", activations);
		t->failed = 1;
	}
	if (t->failed || !take_message(t, e) || t->num == t->expected) {
		doca_dpa_dev_thread_notify(t->notify);
		doca_dpa_dev_thread_finish();
	}
	doca_dpa_dev_rdma_post_receive(t->rdma, t->mmap, t->addr, 8);
	doca_dpa_dev_completion_ack(t->comp, 1);
	doca_dpa_dev_completion_request_notification(t->comp);
	doca_dpa_dev_thread_reschedule();
}

__dpa_global__ void target_thread2(uint64_t arg)
{
	struct it_target *t = (struct it_target *)arg;

	use_device(t->dpa);
	DOCA_DPA_DEV_LOG_INFO("thread 2: thread 1 has them all\n");
	tell_host(t);
}
