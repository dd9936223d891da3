/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A program of the notification point: that it compiles and links is the test. */
#include <doca_pcc_np_dev.h>

doca_pcc_dev_error_t
doca_pcc_dev_np_user_packet_handler(struct doca_pcc_np_dev_request_packet *in,
				    struct doca_pcc_np_dev_response_packet *out)
{
	size_t room = doca_pcc_np_dev_get_max_response_size(out);

	if (doca_pcc_np_dev_get_raw_packet_size(in) < doca_pcc_np_dev_get_l4_size(in) ||
	    doca_pcc_np_dev_get_payload_size(in) < room || doca_pcc_np_dev_get_port_num(in) ||
	    doca_pcc_np_dev_get_plane_num(in))
		return DOCA_PCC_DEV_STATUS_FAIL;
	out->data[0] = doca_pcc_np_dev_get_raw_packet(in)[0];
	out->data[1] = doca_pcc_np_dev_get_l4_header(in)[0];
	out->data[2] = doca_pcc_np_dev_get_payload(in)[0];
	out->size = 3;
	return DOCA_PCC_DEV_STATUS_OK;
}
