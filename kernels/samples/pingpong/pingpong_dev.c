/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pingpong_dev.c - the answering side of a ping-pong, on the DPA: the thread that a completion
 * activates answers every receive with the same message.
 */
#include <doca_dpa_dev.h>
#include <dpa/dpa_dev_native.h>
#include "pingpong.h"

static void post_receives(struct pingpong *p)
{
	struct dpa_dev_sge sge = {.addr = p->buf, .length = p->size, .lkey = p->lkey};

	while (p->posted < p->rx_depth && !dpa_dev_qp_post_recv(p->qp, 0, &sge, 1))
		p->posted++;
}

static void answer_ping(struct pingpong *p)
{
	struct dpa_dev_sge sge = {.addr = p->buf, .length = p->size, .lkey = p->lkey};
	struct dpa_dev_send_wr wr = {
		.opcode = DPA_DEV_SEND, .flags = DPA_DEV_SIGNALED, .num_sge = 1, .sg_list = &sge};

	if (dpa_dev_qp_post_send(p->qp, &wr))
		DOCA_DPA_DEV_LOG_ERR("the send queue is full\n");
}

/* False: an error, which ends the thread. */
static int handle_element(struct pingpong *p, doca_dpa_dev_completion_element_t e)
{
	switch (doca_dpa_dev_get_completion_type(e)) {
	case DOCA_DPA_DEV_COMP_SEND:
		p->sent++;
		return 1;
	case DOCA_DPA_DEV_COMP_RECV_SEND:
		p->received++;
		p->posted--;
		answer_ping(p);
		if (p->posted <= p->rx_depth / 2)
			post_receives(p);
		return 1;
	default:
		p->error = dpa_dev_completion_status(e);
		DOCA_DPA_DEV_LOG_ERR("a completion with status %lu\n", p->error);
		return 0;
	}
}

__dpa_global__ void pingpong_kernel(uint64_t arg)
{
	struct pingpong *p = (struct pingpong *)(uintptr_t)arg;
	doca_dpa_dev_completion_element_t e;
	uint64_t n = 0;

	p->activations++;
	while (doca_dpa_dev_get_completion(p->comp, &e)) {
		n++;
		if (!handle_element(p, e) || (p->sent == p->iters && p->received == p->iters))
			doca_dpa_dev_thread_finish();
	}
	doca_dpa_dev_completion_ack(p->comp, n);
	doca_dpa_dev_completion_request_notification(p->comp);
	doca_dpa_dev_thread_reschedule();
}
