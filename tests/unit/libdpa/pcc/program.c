/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* program.c - a congestion control program that shows its input, and fails on request. */
#include <doca_pcc_dev_algo_access.h>
#include <doca_pcc_dev_event.h>
#include "program.h"

static const char text[] = "The test's algorithm", param[] = "a parameter", counter[] = "events";
static volatile int *volatile nowhere = (volatile int *)8;
static uint32_t port_changed, ids[2], sampled[2];

void doca_pcc_dev_user_init(uint32_t *disable_event_bitmask)
{
	struct doca_pcc_dev_algo_meta_data m = {.algo_id = 0xabc,
						.algo_major_version = 1,
						.algo_minor_version = 2,
						.algo_desc_size = sizeof(text),
						.algo_desc_addr = (uint64_t)text};
	int bad = 0;

	/* numbers that were not described, or are out of range */
	bad += doca_pcc_dev_init_algo_slot(0, 0, 0, 1) == DOCA_PCC_DEV_STATUS_OK;
	bad += doca_pcc_dev_algo_init_param(0, 0, 1, 1, 1, 1, 0, 0) == DOCA_PCC_DEV_STATUS_OK;
	bad += doca_pcc_dev_algo_init_metadata(8, &m, 1, 1) == DOCA_PCC_DEV_STATUS_OK;
	bad += doca_pcc_dev_algo_init_metadata(0, &m, 0x27, 1) == DOCA_PCC_DEV_STATUS_OK;
	bad += doca_pcc_dev_algo_init_metadata(0, &m, 2, 2) != DOCA_PCC_DEV_STATUS_OK;
	bad += doca_pcc_dev_algo_init_param(0, 2, 5, 9, 1, 1, 0, 0) == DOCA_PCC_DEV_STATUS_OK;
	bad += doca_pcc_dev_algo_init_param(0, 0, 5, 9, 1, 1, sizeof(param), (uint64_t)param);
	bad += doca_pcc_dev_algo_init_param(0, 1, 6, 9, 1, 0, sizeof(param), (uint64_t)param);
	bad += doca_pcc_dev_algo_init_counter(0, 0, 9, 1, sizeof(counter), (uint64_t)counter);
	bad += doca_pcc_dev_algo_init_counter(0, 2, 9, 1, 0, 0) == DOCA_PCC_DEV_STATUS_OK;
	bad += doca_pcc_dev_init_algo_slot(0, 8, 0, 1) == DOCA_PCC_DEV_STATUS_OK;
	bad += doca_pcc_dev_init_algo_slot(0, 1, 0, 1);
	bad += doca_pcc_dev_init_algo_slot(0, 3, 0, 0);
	bad += doca_pcc_dev_get_algo_params(0, 2) != 0;
	bad += doca_pcc_dev_get_counters(9, 1) != 0;
	bad += doca_pcc_dev_get_algo_params_num(0, 1) != 2;
	bad += doca_pcc_dev_get_counters_num(0, 1) != 2;
	bad += doca_pcc_dev_get_algo_index(0, 1) != 0;
	bad += doca_pcc_dev_get_algo_index(0, 2) != DOCA_PCC_DEV_ALGO_INDEX_INTERNAL;
	if (bad)
		__builtin_trap();
	if (doca_pcc_dev_get_timer_lo() == 0 && doca_pcc_dev_get_timer() == 0)
		__builtin_trap();
	*disable_event_bitmask = 1 << DOCA_PCC_DEV_EVNT_ROCE_ACK;
	doca_pcc_dev_printf("init %d\n", 7);
	doca_pcc_dev_trace_5(1, 1, 2, 3, 4, 5);
	doca_pcc_dev_trace_flush();
}

void doca_pcc_dev_user_port_info_changed(uint32_t portid)
{
	ids[0] = DOCA_PCC_DEV_GET_PORT_COUNTER_ID(0, DOCA_PCC_DEV_NIC_COUNTER_TYPE_TX_BYTES, 0);
	ids[1] = DOCA_PCC_DEV_GET_PORT_COUNTER_ID(0, DOCA_PCC_DEV_NIC_COUNTER_TYPE_RX_BYTES, 0);
	doca_pcc_dev_nic_counters_config(ids, 2, sampled);
	doca_pcc_dev_nic_counters_sample();
	port_changed = doca_pcc_dev_get_logical_ports() == 1 &&
		       doca_pcc_dev_get_port_planes(0) == 1 &&
		       doca_pcc_dev_get_port_speed(0) == 100 && portid == 0;
}

/* The rate encodes the events. */
static uint32_t see(doca_pcc_dev_event_t *ev)
{
	switch (doca_pcc_dev_get_ev_attr(ev).ev_type) {
	case DOCA_PCC_DEV_EVNT_ROCE_TX:
		return doca_pcc_dev_get_roce_tx_cntrs(ev).sent_pkts * 1000 +
		       doca_pcc_dev_get_roce_tx_cntrs(ev).sent_32bytes +
		       (doca_pcc_dev_get_ev_attr(ev).flags & DOCA_PCC_DEV_TX_FLAG_RTT_REQ_SENT);
	case DOCA_PCC_DEV_EVNT_RTT:
		return doca_pcc_dev_get_timestamp(ev) -
		       doca_pcc_dev_get_rtt_req_send_timestamp(ev) +
		       doca_pcc_dev_get_rtt_resp_send_timestamp(ev) -
		       doca_pcc_dev_get_rtt_req_recv_timestamp(ev) +
		       doca_pcc_dev_get_rtt_raw_data(ev)[3] +
		       (uint32_t)doca_pcc_dev_get_rtt_raw_data_size(ev);
	case DOCA_PCC_DEV_EVNT_ROCE_NACK:
		return doca_pcc_dev_get_ev_attr(ev).ev_subtype;
	case DOCA_PCC_DEV_EVNT_ROCE_CNP:
		return doca_pcc_dev_get_roce_first_timestamp(ev) +
		       doca_pcc_dev_get_roce_ack_first_sn(ev) +
		       doca_pcc_dev_get_ack_nack_cnp_extra(ev).num_coalesced +
		       doca_pcc_dev_get_fw_settings(ev, 0);
	default:
		return 0;
	}
}

static uint32_t rate_for(doca_pcc_dev_error_t e)
{
	return e == DOCA_PCC_DEV_STATUS_OK ? 1 : 2;
}

/* Of the flow's probes. 0: the event is another one. */
static uint32_t set_probes(doca_pcc_dev_algo_ctxt_t *ctxt, doca_pcc_dev_event_t *ev)
{
	uint32_t words[16] = {0x11, 0x22, 0x33};

	switch (doca_pcc_dev_get_sn(ev)) {
	case PROGRAM_HEADER:
		return rate_for(doca_pcc_dev_custom_header_set(ctxt, ev, words, 3, 1));
	case PROGRAM_PRIO:
		return rate_for(doca_pcc_dev_probe_prio_set(ctxt, ev, 1, 46, 1));
	case PROGRAM_NO_PRIO:
		return rate_for(doca_pcc_dev_probe_prio_set(ctxt, ev, 0, 99, 0));
	case PROGRAM_WRONG:
		return doca_pcc_dev_custom_header_set(ctxt, ev, words, 16, 1) ==
					       DOCA_PCC_DEV_STATUS_FAIL &&
				       doca_pcc_dev_custom_header_set(ctxt, ev, 0, 1, 1) ==
					       DOCA_PCC_DEV_STATUS_FAIL &&
				       doca_pcc_dev_probe_prio_set(ctxt, ev, 1, 64, 1) ==
					       DOCA_PCC_DEV_STATUS_FAIL
			       ? 1
			       : 3;
	default:
		return 0;
	}
}

void doca_pcc_dev_user_algo(doca_pcc_dev_algo_ctxt_t *algo_ctxt, doca_pcc_dev_event_t *event,
			    const doca_pcc_dev_attr_t *attr, doca_pcc_dev_results_t *results)
{
	uint32_t *counters = doca_pcc_dev_get_counters(0, attr->algo_slot);

	if (attr->algo_slot != PROGRAM_SLOT) {
		doca_pcc_dev_default_internal_algo(algo_ctxt, event, attr, results);
		return;
	}
	counters[0]++;
	if (doca_pcc_dev_get_sn(event) == PROGRAM_FAULT)
		*nowhere = 0;
	while (doca_pcc_dev_get_sn(event) == PROGRAM_LOOP)
		;
	if (doca_pcc_dev_get_sn(event) == PROGRAM_COUNT) {
		results->rate = ++algo_ctxt->data[11];
		return;
	}
	results->rate = set_probes(algo_ctxt, event);
	if (results->rate)
		return;
	results->rate = see(event) + (doca_pcc_dev_get_flowtag(event) & 0xff) * 100000;
	results->rtt_req = doca_pcc_dev_thread_rank() < 256;
}

doca_pcc_dev_error_t doca_pcc_dev_user_set_algo_params(uint32_t port_num, uint32_t algo_slot,
						       uint32_t param_id_base, uint32_t param_num,
						       const uint32_t *new_param_values,
						       uint32_t *params)
{
	if (port_num || algo_slot != PROGRAM_SLOT || param_num != 1 || new_param_values[0] == 8)
		return DOCA_PCC_DEV_STATUS_FAIL;
	if (new_param_values[0] != 9) /* otherwise only checked: the library sets it */
		params[param_id_base] = new_param_values[0];
	return DOCA_PCC_DEV_STATUS_OK;
}

doca_pcc_dev_error_t doca_pcc_dev_user_mailbox_handle(void *request, uint32_t request_size,
						      uint32_t max_response_size, void *response,
						      uint32_t *response_size)
{
	uint32_t *in = request, *out = response;

	if (*in == PROGRAM_FAULT)
		*nowhere = 0;
	out[0] = *in + request_size + max_response_size + port_changed;
	out[1] = sampled[0] + sampled[1];
	*response_size = 2 * sizeof(*out);
	return *in == 1 ? DOCA_PCC_DEV_STATUS_FAIL : DOCA_PCC_DEV_STATUS_OK;
}
