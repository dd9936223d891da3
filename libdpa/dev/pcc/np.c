/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * np.c - the entries of a program of the notification point (image.h), and the probe in the form
 * that it reads.
 */
#include <doca_compat.h>
#include <doca_pcc_np_dev.h>
#include "pcc_dev.h"

#define ETHERNET 14u
#define T2_MASK	 ((1u << 30) - 1)

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
	struct doca_pcc_np_dev_response_packet out = {
		.size = DPA_PCC_ANSWER, .data = c->reply.data, .in = in};

	c->good = doca_pcc_dev_np_user_packet_handler(in, &out) == DOCA_PCC_DEV_STATUS_OK;
}

/* Return a part of the probe. Programs may write to it: it is a copy. */
static uint8_t *probe_at(const struct doca_pcc_np_dev_request_packet *p, uint32_t offset)
{
	return (uint8_t *)p->call.probe.packet + offset;
}

uint8_t *doca_pcc_np_dev_get_raw_packet(const struct doca_pcc_np_dev_request_packet *input)
{
	return probe_at(input, 0);
}

size_t doca_pcc_np_dev_get_raw_packet_size(const struct doca_pcc_np_dev_request_packet *input)
{
	return input->call.probe.size;
}

uint8_t *doca_pcc_np_dev_get_l4_header(const struct doca_pcc_np_dev_request_packet *input)
{
	return probe_at(input, input->call.probe.l4);
}

size_t doca_pcc_np_dev_get_l4_size(const struct doca_pcc_np_dev_request_packet *input)
{
	return input->call.probe.size - input->call.probe.l4;
}

uint8_t *doca_pcc_np_dev_get_payload(const struct doca_pcc_np_dev_request_packet *input)
{
	return probe_at(input, input->call.probe.payload);
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

uint8_t
doca_pcc_np_dev_get_packet_probe_type_slot(const struct doca_pcc_np_dev_request_packet *input)
{
	(void)input;
	return 0;
}

/* Behind the Ethernet header, whose type is its last two bytes. */
uint8_t doca_pcc_np_dev_get_l3_ttl(const struct doca_pcc_np_dev_request_packet *input)
{
	const uint8_t *ip = probe_at(input, ETHERNET);

	return ip[-2] == 0x08 && !ip[-1] ? ip[8] : ip[7];
}

/* No link here has tags. */
void doca_pcc_np_dev_get_vlan_tci(const struct doca_pcc_np_dev_request_packet *input,
				  uint8_t *vlan_present, uint16_t *vlan_tci)
{
	(void)input;
	*vlan_present = 0;
	*vlan_tci = 0;
}

uint32_t doca_pcc_np_dev_get_t2_ns(const struct doca_pcc_np_dev_request_packet *input)
{
	return input->call.probe.came & T2_MASK;
}

void doca_pcc_np_dev_set_response_prio(struct doca_pcc_np_dev_response_packet *out, uint32_t prio)
{
	if (prio <= DPA_PCC_DSCP_MAX)
		out->in->call.reply.dscp = (uint8_t)prio;
}

size_t doca_pcc_np_dev_get_max_response_size(struct doca_pcc_np_dev_response_packet *out)
{
	(void)out;
	return DPA_PCC_ANSWER;
}
