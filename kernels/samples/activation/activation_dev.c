/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* activation_dev.c - a number arrives, the next number leaves: one activation each. */
#include <doca_dpa_dev.h>
#include <dpa/dpa_dev_native.h>
#include "activation.h"

__dpa_global__ void activation_kernel(uint64_t arg)
{
	struct activation *a = (struct activation *)(uintptr_t)arg;
	uint64_t *box = (uint64_t *)(uintptr_t)a->box;
	struct dpa_dev_sge sge = {.addr = a->box, .length = 8, .lkey = (uint32_t)a->lkey};
	struct dpa_dev_send_wr wr = {.opcode = DPA_DEV_SEND, .num_sge = 1, .sg_list = &sge};
	doca_dpa_dev_completion_element_t e;

	if (!a->activations++)
		DOCA_DPA_DEV_LOG_INFO("%s: activated for the first time\n", __func__);
	while (doca_dpa_dev_get_completion(a->comp, &e)) {
		if (doca_dpa_dev_get_completion_type(e) != DOCA_DPA_DEV_COMP_RECV_SEND) {
			DOCA_DPA_DEV_LOG_ERR("status %u\n", dpa_dev_completion_status(e));
			doca_dpa_dev_thread_finish();
		}
		doca_dpa_dev_completion_ack(a->comp, 1);
		++*box;
		dpa_dev_qp_post_recv(a->qp, 0, &sge, 1);
		dpa_dev_qp_post_send(a->qp, &wr); /* no completion wanted */
		if (++a->answered == a->rounds) {
			DOCA_DPA_DEV_LOG_INFO("%s: the last of %lu\n", __func__, a->rounds);
			doca_dpa_dev_thread_finish();
		}
	}
	doca_dpa_dev_completion_request_notification(a->comp);
	doca_dpa_dev_thread_reschedule();
}
