/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* cap.c - capabilities of a device that is not open. */
#include <string.h>
#include "rdma.h"

static doca_error_t get_limit(const struct doca_devinfo *devinfo, uint32_t *out, uint32_t value)
{
	if (!dpa_live(devinfo) || !out)
		return DOCA_ERROR_INVALID_VALUE;
	if (!devinfo->is_dpa)
		return DOCA_ERROR_DRIVER;
	*out = value;
	return DOCA_SUCCESS;
}

doca_error_t doca_rdma_cap_get_max_recv_queue_size(const struct doca_devinfo *devinfo,
						   uint32_t *max_recv_queue_size)
{
	return get_limit(devinfo, max_recv_queue_size, DPA_MAX_WR);
}

doca_error_t doca_rdma_cap_get_max_send_queue_size(const struct doca_devinfo *devinfo,
						   uint32_t *max_send_queue_size)
{
	return get_limit(devinfo, max_send_queue_size, DPA_MAX_WR);
}

doca_error_t doca_rdma_cap_get_max_send_buf_list_len(const struct doca_devinfo *devinfo,
						     uint32_t *max_send_buf_list_len)
{
	return get_limit(devinfo, max_send_buf_list_len, DPA_MAX_SGE);
}

doca_error_t doca_rdma_cap_get_max_message_size(const struct doca_devinfo *devinfo,
						uint32_t *max_message_size)
{
	return get_limit(devinfo, max_message_size, DPA_MAX_MSG);
}

doca_error_t doca_rdma_cap_get_gid_table_size(const struct doca_devinfo *devinfo,
					      uint32_t *gid_table_size)
{
	return get_limit(devinfo, gid_table_size, DPA_MAX_GIDS);
}

doca_error_t doca_rdma_cap_get_gid(const struct doca_devinfo *devinfo, uint32_t start_index,
				   uint32_t num_entries, struct doca_rdma_gid *gid_array)
{
	struct doca_dev *dev;

	if (!dpa_live(devinfo) || !gid_array || start_index > DPA_MAX_GIDS ||
	    num_entries > DPA_MAX_GIDS - start_index)
		return DOCA_ERROR_INVALID_VALUE;
	if (!devinfo->is_dpa || doca_dev_open((struct doca_devinfo *)devinfo, &dev))
		return DOCA_ERROR_DRIVER;
	for (uint32_t i = 0; i < num_entries; i++) {
		union ibv_gid g;

		/* for an index without an address the query fails, but this call returns zeros */
		if (ibv_query_gid(dev->ctx, 1, (int)(start_index + i), &g))
			memset(&g, 0, sizeof(g));
		memcpy(gid_array[i].raw, g.raw, sizeof(g.raw));
	}
	doca_dev_close(dev);
	return DOCA_SUCCESS;
}

doca_error_t doca_rdma_cap_transport_type_is_supported(const struct doca_devinfo *devinfo,
						       enum doca_rdma_transport_type transport_type)
{
	if (!dpa_live(devinfo) || (transport_type != DOCA_RDMA_TRANSPORT_TYPE_RC &&
				   transport_type != DOCA_RDMA_TRANSPORT_TYPE_DC))
		return DOCA_ERROR_INVALID_VALUE;
	if (!devinfo->is_dpa)
		return DOCA_ERROR_DRIVER;
	return transport_type == DOCA_RDMA_TRANSPORT_TYPE_RC ? DOCA_SUCCESS
							     : DOCA_ERROR_NOT_SUPPORTED;
}
