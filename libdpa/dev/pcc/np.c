/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A probe as a program of the notification point reads it. */
#include <doca_compat.h>
#include <doca_pcc_np_dev.h>

struct doca_pcc_np_dev_request_packet {
	uint8_t *packet, *l4, *payload;
	uint32_t size;
};

#define NP_ANSWER 12u /* bytes */

/* The entry: what libdpa is to call when it takes probes. arg: a struct np_call. */
struct np_call {
	struct doca_pcc_np_dev_request_packet in;
	uint8_t answer[NP_ANSWER];
	uint32_t size, good;
};

__dpa_global__ void __dpa_pcc_np_packet(uint64_t arg)
{
	struct np_call *c = (struct np_call *)arg;
	struct doca_pcc_np_dev_response_packet out = {.size = NP_ANSWER, .data = c->answer};

	c->good = doca_pcc_dev_np_user_packet_handler(&c->in, &out) == DOCA_PCC_DEV_STATUS_OK;
	c->size = out.size < NP_ANSWER ? (uint32_t)out.size : NP_ANSWER;
}

static size_t from(const struct doca_pcc_np_dev_request_packet *p, const uint8_t *at)
{
	return p->size - (size_t)(at - p->packet);
}

uint8_t *doca_pcc_np_dev_get_raw_packet(const struct doca_pcc_np_dev_request_packet *input)
{
	return input->packet;
}

size_t doca_pcc_np_dev_get_raw_packet_size(const struct doca_pcc_np_dev_request_packet *input)
{
	return input->size;
}

uint8_t *doca_pcc_np_dev_get_l4_header(const struct doca_pcc_np_dev_request_packet *input)
{
	return input->l4;
}

size_t doca_pcc_np_dev_get_l4_size(const struct doca_pcc_np_dev_request_packet *input)
{
	return from(input, input->l4);
}

uint8_t *doca_pcc_np_dev_get_payload(const struct doca_pcc_np_dev_request_packet *input)
{
	return input->payload;
}

size_t doca_pcc_np_dev_get_payload_size(const struct doca_pcc_np_dev_request_packet *input)
{
	return from(input, input->payload);
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
	return NP_ANSWER;
}
