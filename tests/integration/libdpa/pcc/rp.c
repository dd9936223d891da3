/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * rp.c - a reaction point that does not pace and always has a probe in flight. Counters: 0 round
 * trips, 1 those that a program answered, 2 those with data of a switch or a custom header, 3 bytes
 * that were in its queue at most.
 */
#include <doca_pcc_dev.h>
#include <doca_pcc_dev_event.h>
#include <doca_pcc_dev_algo_access.h>
#include "answer.h"

enum { TRIPS, ANSWERS, HOPS, QUEUE, NUM };
static const char text[] = "always a probe", names[NUM][8] = {"trips", "answers", "hops", "queue"};

void doca_pcc_dev_user_init(uint32_t *disable_event_bitmask)
{
	struct doca_pcc_dev_algo_meta_data m = {.algo_id = 0x25,
						.algo_major_version = 1,
						.algo_desc_size = sizeof(text),
						.algo_desc_addr = (uint64_t)text};

	doca_pcc_dev_algo_init_metadata(0, &m, 0, NUM);
	for (uint32_t i = 0; i < NUM; i++)
		doca_pcc_dev_algo_init_counter(0, i, UINT32_MAX, 2, sizeof(names[i]),
					       (uint64_t)names[i]);
	doca_pcc_dev_init_algo_slot(0, 0, 0, 1);
	*disable_event_bitmask = 1 << DOCA_PCC_DEV_EVNT_ROCE_ACK;
}

void doca_pcc_dev_user_algo(doca_pcc_dev_algo_ctxt_t *ctxt, doca_pcc_dev_event_t *event,
			    const doca_pcc_dev_attr_t *attr, doca_pcc_dev_results_t *results)
{
	uint32_t *counters = doca_pcc_dev_get_counters(0, attr->algo_slot);
	uint32_t now = doca_pcc_dev_get_timestamp(event), header[] = {HEADER_MAGIC, HEADER_SECOND};
	struct answer a;

	if (!ctxt->data[0]) { /* where the host program has enabled them */
		doca_pcc_dev_custom_header_set(ctxt, event, header, 2, 1);
		doca_pcc_dev_probe_prio_set(ctxt, event, 1, 46, 1);
	}
	results->rate = DOCA_PCC_DEV_MAX_RATE;
	results->rtt_req = 0;
	if (doca_pcc_dev_get_ev_attr(event).ev_type == DOCA_PCC_DEV_EVNT_RTT) {
		__builtin_memcpy(&a, doca_pcc_dev_get_rtt_raw_data(event), sizeof(a));
		counters[TRIPS]++;
		counters[ANSWERS] += a.magic == ANSWER_MAGIC;
		counters[HOPS] += a.magic == ANSWER_MAGIC && a.hops;
		if (a.magic == ANSWER_MAGIC && a.hops && a.queued > counters[QUEUE])
			counters[QUEUE] = a.queued;
		results->rtt_req = 1;
		ctxt->data[0] = now;
	} else if (!ctxt->data[0] || now - ctxt->data[0] > 2000000) {
		/* the first one, or the last one is lost */
		results->rtt_req = 1;
		ctxt->data[0] = now ? now : 1;
	}
}

doca_pcc_dev_error_t doca_pcc_dev_user_set_algo_params(uint32_t port_num, uint32_t algo_slot,
						       uint32_t param_id_base, uint32_t param_num,
						       const uint32_t *new_param_values,
						       uint32_t *params)
{
	(void)port_num, (void)algo_slot, (void)param_id_base, (void)param_num;
	(void)new_param_values, (void)params;
	return DOCA_PCC_DEV_STATUS_FAIL;
}
