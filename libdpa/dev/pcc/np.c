/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * np.c - the entries of a program of the notification point (image.h), and the probe in the form
 * that it reads.
 */
#include <doca_compat.h>
#include <doca_pcc_np_dev.h>
#include "pcc_dev.h"

struct doca_pcc_np_dev_request_packet {
	struct dpa_pcc_np_call call;
};

__dpa_global__ void __dpa_pcc_np_begin(uint64_t arg)
{
	(void)arg;
	if (doca_pcc_dev_user_port_info_changed)
		doca_pcc_dev_user_port_info_changed(0);
}

__dpa_global__ void __dpa_pcc_np_packet(uint64_t arg)
{
	struct dpa_pcc_np_call *c = (struct dpa_pcc_np_call *)arg;
	struct doca_pcc_np_dev_request_packet *in = (struct doca_pcc_np_dev_request_packet *)c;
	struct doca_pcc_np_dev_response_packet out = {.size = DPA_PCC_ANSWER, .data = c->answer};

	c->good = doca_pcc_dev_np_user_packet_handler(in, &out) == DOCA_PCC_DEV_STATUS_OK;
}

/* Return a part of the probe. Programs may write to it: it is a copy. */
static uint8_t *at(const struct doca_pcc_np_dev_request_packet *p, uint32_t offset)
{
	return (uint8_t *)p->call.probe.packet + offset;
}

uint8_t *doca_pcc_np_dev_get_raw_packet(const struct doca_pcc_np_dev_request_packet *input)
{
	return at(input, 0);
}

size_t doca_pcc_np_dev_get_raw_packet_size(const struct doca_pcc_np_dev_request_packet *input)
{
	return input->call.probe.size;
}

uint8_t *doca_pcc_np_dev_get_l4_header(const struct doca_pcc_np_dev_request_packet *input)
{
	return at(input, input->call.probe.l4);
}

size_t doca_pcc_np_dev_get_l4_size(const struct doca_pcc_np_dev_request_packet *input)
{
	return input->call.probe.size - input->call.probe.l4;
}

uint8_t *doca_pcc_np_dev_get_payload(const struct doca_pcc_np_dev_request_packet *input)
{
	return at(input, input->call.probe.payload);
}

size_t doca_pcc_np_dev_get_payload_size(const struct doca_pcc_np_dev_request_packet *input)
{
	return input->call.probe.size - input->call.probe.payload;
}

uint8_t doca_pcc_np_dev_get_port_num(const struct doca_pcc_np_dev_request_packet *input)
{
	(void)input;
	return 0;
}

uint8_t doca_pcc_np_dev_get_plane_num(const struct doca_pcc_np_dev_request_packet *input)
{
	(void)input;
	return 0;
}

size_t doca_pcc_np_dev_get_max_response_size(struct doca_pcc_np_dev_response_packet *out)
{
	(void)out;
	return DPA_PCC_ANSWER;
}
