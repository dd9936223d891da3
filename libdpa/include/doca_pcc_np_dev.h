/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_pcc_np_dev.h - congestion control programs for the DPA: the notification point, which
 * answers probes. dpacc links them with -device-libs="-ldoca_pcc_np_dev", and doca_pcc_np_create()
 * (doca_pcc.h) loads them into the port. The program then answers probes to QPs of all processes of
 * the adapter instance; docs/congestion.md lists which probes. A fault ends the program, and such
 * probes get no answer any more.
 *
 * The interface is that of DOCA 2.10, with the calls that 3.3 added.
 *
 * A program may implement doca_pcc_dev_user_port_info_changed(), called once before the first
 * probe, and doca_pcc_dev_user_mailbox_handle().
 */
#ifndef DOCA_PCC_NP_DEV_H_
#define DOCA_PCC_NP_DEV_H_

#include <doca_pcc_dev_common.h>
#include <doca_pcc_dev_utils.h>
#include <doca_pcc_dev_services.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A probe. */
struct doca_pcc_np_dev_request_packet;

/* The answer of the program: `size` bytes, 12, at `data`, which are 0 at first. in: the probe. */
struct doca_pcc_np_dev_response_packet {
	size_t size;
	uint8_t *data;
	struct doca_pcc_np_dev_request_packet *in;
};

/*
 * The program implements it: handle a probe. All 12 bytes of the answer are sent; the reaction
 * point reads them by doca_pcc_dev_get_rtt_raw_data(). FAIL: no answer is sent. Several EUs call it
 * at once.
 */
DOCA_EXPERIMENTAL doca_pcc_dev_error_t doca_pcc_dev_np_user_packet_handler(
	struct doca_pcc_np_dev_request_packet *in, struct doca_pcc_np_dev_response_packet *out);

/*
 * Return parts of a copy of a probe: from its Ethernet header on (the addresses are 0), from its
 * UDP header on, and its payload. The payload of CCMAD is the MAD's data, 64 bytes, which begin with
 * the time when the probe left (ns, low 32 bits, big-endian), and the custom header; that of IFA
 * follows the UDP header.
 */
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
/* Return 0: the port; the plane. */
DOCA_EXPERIMENTAL uint8_t
doca_pcc_np_dev_get_port_num(const struct doca_pcc_np_dev_request_packet *input);
DOCA_EXPERIMENTAL uint8_t
doca_pcc_np_dev_get_plane_num(const struct doca_pcc_np_dev_request_packet *input);
/* Return the format slot of the probe: 0. */
DOCA_EXPERIMENTAL uint8_t
doca_pcc_np_dev_get_packet_probe_type_slot(const struct doca_pcc_np_dev_request_packet *input);
/*
 * Return the TTL or hop limit of the packet that the program is shown: that of the QP's path. Sockets
 * and rings do not show the one that is left.
 */
DOCA_EXPERIMENTAL uint8_t
doca_pcc_np_dev_get_l3_ttl(const struct doca_pcc_np_dev_request_packet *input);
/* Set *vlan_present and *vlan_tci to 0: no link here has VLAN tags. */
DOCA_EXPERIMENTAL void
doca_pcc_np_dev_get_vlan_tci(const struct doca_pcc_np_dev_request_packet *input,
			     uint8_t *vlan_present, uint16_t *vlan_tci);
/* Return the time when the probe arrived: ns of this adapter's clock, the low 30 bits. */
DOCA_EXPERIMENTAL uint32_t
doca_pcc_np_dev_get_t2_ns(const struct doca_pcc_np_dev_request_packet *input);
/*
 * Set the DSCP of the answer's packet, 0 to 63; other values change nothing. The default is that of
 * the QP's path.
 */
DOCA_EXPERIMENTAL void
doca_pcc_np_dev_set_response_prio(struct doca_pcc_np_dev_response_packet *out, uint32_t prio);
/* Return the largest number of bytes of an answer. */
DOCA_EXPERIMENTAL size_t
doca_pcc_np_dev_get_max_response_size(struct doca_pcc_np_dev_response_packet *out);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_PCC_NP_DEV_H_ */
