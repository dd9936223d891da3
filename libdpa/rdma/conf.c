/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* conf.c - settings of RDMA contexts. */
#include "rdma.h"

/* Check the conditions common to all setters, in this order. */
static doca_error_t check_settable(const struct doca_rdma *rdma, bool valid)
{
	if (!dpa_live(rdma) || !valid)
		return DOCA_ERROR_INVALID_VALUE;
	return dpa_core_idle(&rdma->ctx) ? DOCA_SUCCESS : DOCA_ERROR_BAD_STATE;
}

static uint32_t round_up(uint32_t n)
{
	uint32_t size = 1;

	while (size < n)
		size <<= 1;
	return size;
}

#define SET(rdma, valid, field, value)                                                             \
	do {                                                                                       \
		doca_error_t ret_ = check_settable(rdma, valid);                                   \
		if (!ret_)                                                                         \
			(rdma)->conf.field = (value);                                              \
		return ret_;                                                                       \
	} while (0)

doca_error_t doca_rdma_set_send_queue_size(struct doca_rdma *rdma, uint32_t send_queue_size)
{
	if (dpa_live(rdma) && send_queue_size > DPA_MAX_WR)
		return DOCA_ERROR_NOT_SUPPORTED;
	SET(rdma, send_queue_size, send_queue_size, round_up(send_queue_size));
}

doca_error_t doca_rdma_get_send_queue_size(const struct doca_rdma *rdma, uint32_t *send_queue_size)
{
	DPA_RETURN_VALUE(rdma, send_queue_size, rdma->conf.send_queue_size);
}

doca_error_t doca_rdma_set_recv_queue_size(struct doca_rdma *rdma, uint32_t recv_queue_size)
{
	if (dpa_live(rdma) && (dpa_rdma_on_cpu(rdma) || recv_queue_size > DPA_MAX_WR))
		return DOCA_ERROR_NOT_SUPPORTED;
	SET(rdma, recv_queue_size, recv_queue_size, round_up(recv_queue_size));
}

doca_error_t doca_rdma_get_recv_queue_size(const struct doca_rdma *rdma, uint32_t *recv_queue_size)
{
	if (dpa_live(rdma) && recv_queue_size && dpa_rdma_on_cpu(rdma))
		return DOCA_ERROR_NOT_SUPPORTED;
	DPA_RETURN_VALUE(rdma, recv_queue_size, rdma->conf.recv_queue_size);
}

doca_error_t doca_rdma_set_max_send_buf_list_len(struct doca_rdma *rdma,
						 uint32_t max_send_buf_list_len)
{
	SET(rdma, max_send_buf_list_len && max_send_buf_list_len <= DPA_MAX_SGE, send_list_len,
	    max_send_buf_list_len);
}

doca_error_t doca_rdma_get_max_send_buf_list_len(const struct doca_rdma *rdma,
						 uint32_t *max_send_buf_list_len)
{
	DPA_RETURN_VALUE(rdma, max_send_buf_list_len, rdma->conf.send_list_len);
}

doca_error_t doca_rdma_task_receive_set_dst_buf_list_len(struct doca_rdma *rdma,
							 uint32_t buf_list_len)
{
	SET(rdma, buf_list_len && buf_list_len <= DPA_MAX_SGE, recv_list_len, buf_list_len);
}

doca_error_t doca_rdma_task_receive_get_dst_buf_list_len(const struct doca_rdma *rdma,
							 uint32_t *buf_list_len)
{
	DPA_RETURN_VALUE(rdma, buf_list_len, rdma->conf.recv_list_len);
}

doca_error_t doca_rdma_set_transport_type(struct doca_rdma *rdma,
					  enum doca_rdma_transport_type transport_type)
{
	if (dpa_live(rdma) && transport_type == DOCA_RDMA_TRANSPORT_TYPE_DC)
		return DOCA_ERROR_NOT_SUPPORTED;
	return check_settable(rdma, transport_type == DOCA_RDMA_TRANSPORT_TYPE_RC);
}

doca_error_t doca_rdma_get_transport_type(const struct doca_rdma *rdma,
					  enum doca_rdma_transport_type *transport_type)
{
	DPA_RETURN_VALUE(rdma, transport_type, DOCA_RDMA_TRANSPORT_TYPE_RC);
}

doca_error_t doca_rdma_set_mtu(struct doca_rdma *rdma, enum doca_mtu_size mtu)
{
	if (dpa_live(rdma) && mtu == DOCA_MTU_SIZE_RAW_ETHERNET)
		return DOCA_ERROR_NOT_SUPPORTED;
	SET(rdma, (uint32_t)mtu <= DOCA_MTU_SIZE_4K_BYTES, mtu, mtu);
}

doca_error_t doca_rdma_get_mtu(const struct doca_rdma *rdma, enum doca_mtu_size *mtu)
{
	DPA_RETURN_VALUE(rdma, mtu, rdma->conf.mtu);
}

doca_error_t doca_rdma_set_permissions(struct doca_rdma *rdma, uint32_t permissions)
{
	static const uint32_t known = DOCA_ACCESS_FLAG_LOCAL_READ_WRITE |
				      DOCA_ACCESS_FLAG_RDMA_READ | DOCA_ACCESS_FLAG_RDMA_WRITE |
				      DOCA_ACCESS_FLAG_RDMA_ATOMIC;

	SET(rdma, !(permissions & ~known), permissions, permissions);
}

doca_error_t doca_rdma_get_permissions(struct doca_rdma *rdma, uint32_t *permissions)
{
	DPA_RETURN_VALUE(rdma, permissions, rdma->conf.permissions);
}

doca_error_t doca_rdma_set_grh_enabled(struct doca_rdma *rdma, uint8_t grh_enabled)
{
	if (dpa_live(rdma) && !grh_enabled)
		return DOCA_ERROR_NOT_SUPPORTED;
	return check_settable(rdma, grh_enabled == 1);
}

doca_error_t doca_rdma_get_grh_enabled(const struct doca_rdma *rdma, uint8_t *grh_enabled)
{
	DPA_RETURN_VALUE(rdma, grh_enabled, 1);
}

doca_error_t doca_rdma_set_gid_index(struct doca_rdma *rdma, uint32_t gid_index)
{
	SET(rdma, gid_index < DPA_MAX_GIDS, gid_index, gid_index);
}

doca_error_t doca_rdma_get_gid_index(const struct doca_rdma *rdma, uint32_t *gid_index)
{
	DPA_RETURN_VALUE(rdma, gid_index, rdma->conf.gid_index);
}

doca_error_t doca_rdma_set_sl(struct doca_rdma *rdma, uint32_t sl)
{
	SET(rdma, sl <= 15, sl, sl);
}

doca_error_t doca_rdma_get_sl(const struct doca_rdma *rdma, uint32_t *sl)
{
	DPA_RETURN_VALUE(rdma, sl, rdma->conf.sl);
}

doca_error_t doca_rdma_set_connection_request_timeout(struct doca_rdma *rdma, uint16_t timeout)
{
	SET(rdma, timeout, timeout_ms, timeout);
}

doca_error_t doca_rdma_get_connection_request_timeout(const struct doca_rdma *rdma,
						      uint16_t *timeout)
{
	DPA_RETURN_VALUE(rdma, timeout, rdma->conf.timeout_ms);
}

doca_error_t doca_rdma_set_max_num_connections(struct doca_rdma *rdma, uint16_t max_num_connections)
{
	SET(rdma, max_num_connections, max_connections, max_num_connections);
}

doca_error_t doca_rdma_get_max_num_connections(struct doca_rdma *rdma,
					       uint16_t *max_num_connections)
{
	DPA_RETURN_VALUE(rdma, max_num_connections, rdma->conf.max_connections);
}

doca_error_t doca_rdma_set_rnr_retry_count(struct doca_rdma *rdma, uint8_t rnr_retry_count)
{
	SET(rdma, rnr_retry_count <= 7, rnr_retry, rnr_retry_count);
}

doca_error_t doca_rdma_get_rnr_retry_count(const struct doca_rdma *rdma, uint8_t *rnr_retry_count)
{
	DPA_RETURN_VALUE(rdma, rnr_retry_count, rdma->conf.rnr_retry);
}
