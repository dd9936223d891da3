/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_pcc_np_dev.h - congestion control programs for the DPA: the notification point, which
 * answers probes. dpacc links them with -device-libs="-ldoca_pcc_np_dev". No host function loads
 * them here: doca_pcc_np_cap_is_supported().
 */
#ifndef DOCA_PCC_NP_DEV_H_
#define DOCA_PCC_NP_DEV_H_

#include <doca_pcc_dev_common.h>
#include <doca_pcc_dev_utils.h>
#include <doca_pcc_dev_services.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The answer of the program: at most `size` bytes, 12, at `data`. */
struct doca_pcc_np_dev_response_packet {
	size_t size;
	uint8_t *data;
};

/* A probe. */
struct doca_pcc_np_dev_request_packet;

/* By the program: a probe has come. FAIL: no answer is sent. */
DOCA_EXPERIMENTAL doca_pcc_dev_error_t doca_pcc_dev_np_user_packet_handler(
	struct doca_pcc_np_dev_request_packet *in, struct doca_pcc_np_dev_response_packet *out);

/* Parts of a probe: all of it, from its UDP header on, and what is behind its headers. */
DOCA_EXPERIMENTAL uint8_t *
doca_pcc_np_dev_get_raw_packet(const struct doca_pcc_np_dev_request_packet *input);
DOCA_EXPERIMENTAL size_t
doca_pcc_np_dev_get_raw_packet_size(const struct doca_pcc_np_dev_request_packet *input);
DOCA_EXPERIMENTAL uint8_t *
doca_pcc_np_dev_get_l4_header(const struct doca_pcc_np_dev_request_packet *input);
DOCA_EXPERIMENTAL size_t
doca_pcc_np_dev_get_l4_size(const struct doca_pcc_np_dev_request_packet *input);
DOCA_EXPERIMENTAL uint8_t *
doca_pcc_np_dev_get_payload(const struct doca_pcc_np_dev_request_packet *input);
DOCA_EXPERIMENTAL size_t
doca_pcc_np_dev_get_payload_size(const struct doca_pcc_np_dev_request_packet *input);
/* 0; the plane: 0. */
DOCA_EXPERIMENTAL uint8_t
doca_pcc_np_dev_get_port_num(const struct doca_pcc_np_dev_request_packet *input);
DOCA_EXPERIMENTAL uint8_t
doca_pcc_np_dev_get_plane_num(const struct doca_pcc_np_dev_request_packet *input);
/* Bytes that there is room for in an answer. */
DOCA_EXPERIMENTAL size_t
doca_pcc_np_dev_get_max_response_size(struct doca_pcc_np_dev_response_packet *out);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_PCC_NP_DEV_H_ */
