/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* dpa_pong_dev.c - device code of dpa_pong: answers each message, then posts its receive again. */
#include <doca_dpa_dev.h>
#include <dpa/dpa_dev_native.h>
#include "dpa_pong.h"

static int answer_ping(struct pong *p)
{
	struct dpa_dev_sge out = {.addr = p->out, .length = p->bytes, .lkey = p->lkey};
	struct dpa_dev_sge in = {.addr = p->in, .length = p->bytes, .lkey = p->lkey};
	struct dpa_dev_send_wr wr = {.opcode = DPA_DEV_SEND,
				     .flags = ++p->sent % PONG_SIGNAL ? 0 : DPA_DEV_SIGNALED,
				     .num_sge = 1,
				     .sg_list = &out};

	return !dpa_dev_qp_post_send(p->qp, &wr) && !dpa_dev_qp_post_recv(p->qp, 0, &in, 1);
}

__dpa_global__ void pong_thread(uint64_t arg)
{
	struct pong *p = (struct pong *)arg;
	doca_dpa_dev_completion_element_t e;
	uint64_t n = 0;

	for (; doca_dpa_dev_get_completion(p->comp, &e); n++) {
		doca_dpa_dev_completion_type_t type = doca_dpa_dev_get_completion_type(e);

		if (type == DOCA_DPA_DEV_COMP_SEND)
			continue;
		if (type != DOCA_DPA_DEV_COMP_RECV_SEND || !answer_ping(p)) {
			DOCA_DPA_DEV_LOG_ERR("type %d\n", (int)type);
			doca_dpa_dev_thread_finish();
		}
	}
	doca_dpa_dev_completion_ack(p->comp, n);
	doca_dpa_dev_completion_request_notification(p->comp);
	doca_dpa_dev_thread_reschedule();
}
