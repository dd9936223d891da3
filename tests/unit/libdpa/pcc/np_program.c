/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * np_program.c - a program of the notification point. Its answer: the number of the probe's first
 * payload byte, the sizes of the three parts, the bytes that arrived at the port, and how often the
 * port was described.
 */
#include <doca_pcc_np_dev.h>
#include "program.h"

static uint32_t ids[1], rx_bytes[1], ports, mails;

void doca_pcc_dev_user_port_info_changed(uint32_t portid)
{
	ids[0] =
		DOCA_PCC_DEV_GET_PORT_COUNTER_ID(portid, DOCA_PCC_DEV_NIC_COUNTER_TYPE_RX_BYTES, 0);
	doca_pcc_dev_nic_counters_config(ids, 1, rx_bytes);
	ports++;
}

/* The calls that 3.3 added. */
static void describe(struct doca_pcc_np_dev_request_packet *in,
		     struct doca_pcc_np_dev_response_packet *out)
{
	uint32_t t2 = doca_pcc_np_dev_get_t2_ns(in);
	uint16_t tci = 7;
	uint8_t tagged = 7;

	doca_pcc_np_dev_get_vlan_tci(in, &tagged, &tci);
	out->data[0] = doca_pcc_np_dev_get_l3_ttl(in);
	out->data[1] = tagged;
	out->data[2] = (uint8_t)tci;
	out->data[3] = doca_pcc_np_dev_get_packet_probe_type_slot(in);
	__builtin_memcpy(out->data + 4, &t2, 4);
	out->data[8] = out->in == in;
	doca_pcc_np_dev_set_response_prio(out, 46);
	doca_pcc_np_dev_set_response_prio(out, 64); /* no DSCP: changes nothing */
}

doca_pcc_dev_error_t
doca_pcc_dev_np_user_packet_handler(struct doca_pcc_np_dev_request_packet *in,
				    struct doca_pcc_np_dev_response_packet *out)
{
	uint8_t kind = doca_pcc_np_dev_get_payload(in)[0];
	size_t room = doca_pcc_np_dev_get_max_response_size(out);

	if (kind == NP_PROGRAM_FAULT)
		*(volatile int *)0 = 1;
	while (kind == NP_PROGRAM_LOOP)
		__asm__ volatile("");
	if (kind == NP_PROGRAM_REFUSE || room != 12 || out->size != 12 ||
	    doca_pcc_np_dev_get_port_num(in) || doca_pcc_np_dev_get_plane_num(in))
		return DOCA_PCC_DEV_STATUS_FAIL;
	doca_pcc_dev_nic_counters_sample();
	if (kind == NP_PROGRAM_DESCRIBE) {
		describe(in, out);
		return DOCA_PCC_DEV_STATUS_OK;
	}
	out->data[0] = kind;
	out->data[1] = (uint8_t)doca_pcc_np_dev_get_raw_packet_size(in);
	out->data[2] = (uint8_t)doca_pcc_np_dev_get_l4_size(in);
	out->data[3] = (uint8_t)doca_pcc_np_dev_get_payload_size(in);
	out->data[4] = doca_pcc_np_dev_get_raw_packet(in)[0];
	out->data[5] = doca_pcc_np_dev_get_l4_header(in)[0];
	out->data[6] = (uint8_t)ports;
	out->data[7] = (uint8_t)mails;
	__builtin_memcpy(out->data + 8, rx_bytes, 4);
	return DOCA_PCC_DEV_STATUS_OK;
}

doca_pcc_dev_error_t doca_pcc_dev_user_mailbox_handle(void *request, uint32_t request_size,
						      uint32_t max_response_size, void *response,
						      uint32_t *response_size)
{
	(void)request;
	(void)max_response_size;
	(void)response;
	mails += request_size;
	*response_size = 0;
	return DOCA_PCC_DEV_STATUS_OK;
}
