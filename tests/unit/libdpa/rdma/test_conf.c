/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_conf.c - settings, capabilities, and calls that are refused before a start. No device is
 * needed.
 */
#include <string.h>
#define DOCA_ALLOW_EXPERIMENTAL_API
#include <doca_ctx.h>
#include <doca_rdma.h>
#include "host.h"
#include "open_dev.h"

TestSuite(conf, .timeout = 60);

struct conf {
	struct doca_dev *dev;
	struct doca_rdma *rdma;
};

static void up(struct conf *c)
{
	c->dev = open_dpa0();
	OK(doca_rdma_create(c->dev, &c->rdma));
}

static void down(struct conf *c)
{
	OK(doca_rdma_destroy(c->rdma));
	OK(doca_dev_close(c->dev));
}

Test(conf, create_and_destroy)
{
	struct doca_dev *other = open_dev("other0");
	struct doca_rdma *rdma;
	struct conf c;

	up(&c);
	cr_assert_not_null(doca_rdma_as_ctx(c.rdma));
	cr_assert_null(doca_rdma_as_ctx(NULL));
	IS(doca_rdma_create(NULL, &rdma), INVALID_VALUE);
	IS(doca_rdma_create(c.dev, NULL), INVALID_VALUE);
	IS(doca_rdma_create(other, &rdma), INITIALIZATION);
	IS(doca_rdma_destroy(NULL), INVALID_VALUE);
	IS(doca_dev_close(c.dev), IN_USE);
	OK(doca_dev_close(other));
	down(&c);
}

Test(conf, queue_sizes)
{
	struct doca_dpa *dpa;
	struct conf c;
	uint32_t n;

	up(&c);
	OK(doca_dpa_create(c.dev, &dpa));
	OK(doca_rdma_get_send_queue_size(c.rdma, &n));
	cr_assert_eq(n, 64u);
	OK(doca_rdma_set_send_queue_size(c.rdma, 100));
	OK(doca_rdma_get_send_queue_size(c.rdma, &n));
	cr_assert_eq(n, 128u);
	OK(doca_rdma_set_send_queue_size(c.rdma, DPA_MAX_WR));
	IS(doca_rdma_set_send_queue_size(c.rdma, DPA_MAX_WR + 1), NOT_SUPPORTED);
	IS(doca_rdma_set_send_queue_size(c.rdma, 0), INVALID_VALUE);
	IS(doca_rdma_set_send_queue_size(NULL, 1), INVALID_VALUE);
	IS(doca_rdma_get_send_queue_size(NULL, &n), INVALID_VALUE);
	IS(doca_rdma_get_send_queue_size(c.rdma, NULL), INVALID_VALUE);

	/* only the DPA data path has a receive queue */
	IS(doca_rdma_set_recv_queue_size(c.rdma, 4), NOT_SUPPORTED);
	IS(doca_rdma_get_recv_queue_size(c.rdma, &n), NOT_SUPPORTED);
	OK(doca_ctx_set_datapath_on_dpa(doca_rdma_as_ctx(c.rdma), dpa));
	OK(doca_rdma_set_recv_queue_size(c.rdma, 5));
	OK(doca_rdma_get_recv_queue_size(c.rdma, &n));
	cr_assert_eq(n, 8u);
	IS(doca_rdma_set_recv_queue_size(c.rdma, DPA_MAX_WR + 1), NOT_SUPPORTED);
	IS(doca_rdma_set_recv_queue_size(c.rdma, 0), INVALID_VALUE);
	IS(doca_rdma_set_recv_queue_size(NULL, 1), INVALID_VALUE);
	IS(doca_rdma_get_recv_queue_size(NULL, &n), INVALID_VALUE);
	IS(doca_rdma_get_recv_queue_size(c.rdma, NULL), INVALID_VALUE);
	IS(doca_dpa_destroy(dpa), IN_USE);
	OK(doca_rdma_destroy(c.rdma));
	OK(doca_dpa_destroy(dpa));
	OK(doca_dev_close(c.dev));
}

Test(conf, list_lengths)
{
	struct conf c;
	uint32_t n;

	up(&c);
	OK(doca_rdma_get_max_send_buf_list_len(c.rdma, &n));
	cr_assert_eq(n, 1u);
	OK(doca_rdma_set_max_send_buf_list_len(c.rdma, DPA_MAX_SGE));
	OK(doca_rdma_get_max_send_buf_list_len(c.rdma, &n));
	cr_assert_eq(n, (uint32_t)DPA_MAX_SGE);
	IS(doca_rdma_set_max_send_buf_list_len(c.rdma, DPA_MAX_SGE + 1), INVALID_VALUE);
	IS(doca_rdma_set_max_send_buf_list_len(c.rdma, 0), INVALID_VALUE);
	IS(doca_rdma_set_max_send_buf_list_len(NULL, 1), INVALID_VALUE);
	IS(doca_rdma_get_max_send_buf_list_len(NULL, &n), INVALID_VALUE);
	IS(doca_rdma_get_max_send_buf_list_len(c.rdma, NULL), INVALID_VALUE);
	OK(doca_rdma_task_receive_set_dst_buf_list_len(c.rdma, 3));
	OK(doca_rdma_task_receive_get_dst_buf_list_len(c.rdma, &n));
	cr_assert_eq(n, 3u);
	IS(doca_rdma_task_receive_set_dst_buf_list_len(c.rdma, 0), INVALID_VALUE);
	IS(doca_rdma_task_receive_set_dst_buf_list_len(c.rdma, DPA_MAX_SGE + 1), INVALID_VALUE);
	IS(doca_rdma_task_receive_set_dst_buf_list_len(NULL, 1), INVALID_VALUE);
	IS(doca_rdma_task_receive_get_dst_buf_list_len(NULL, &n), INVALID_VALUE);
	IS(doca_rdma_task_receive_get_dst_buf_list_len(c.rdma, NULL), INVALID_VALUE);
	down(&c);
}

Test(conf, transport_and_mtu)
{
	enum doca_rdma_transport_type type;
	enum doca_mtu_size mtu;
	struct conf c;

	up(&c);
	OK(doca_rdma_set_transport_type(c.rdma, DOCA_RDMA_TRANSPORT_TYPE_RC));
	OK(doca_rdma_get_transport_type(c.rdma, &type));
	cr_assert_eq(type, DOCA_RDMA_TRANSPORT_TYPE_RC);
	IS(doca_rdma_set_transport_type(c.rdma, DOCA_RDMA_TRANSPORT_TYPE_DC), NOT_SUPPORTED);
	IS(doca_rdma_set_transport_type(c.rdma, (enum doca_rdma_transport_type)2), INVALID_VALUE);
	IS(doca_rdma_set_transport_type(NULL, DOCA_RDMA_TRANSPORT_TYPE_RC), INVALID_VALUE);
	IS(doca_rdma_get_transport_type(NULL, &type), INVALID_VALUE);
	IS(doca_rdma_get_transport_type(c.rdma, NULL), INVALID_VALUE);
	OK(doca_rdma_get_mtu(c.rdma, &mtu));
	cr_assert_eq(mtu, DOCA_MTU_SIZE_1K_BYTES);
	OK(doca_rdma_set_mtu(c.rdma, DOCA_MTU_SIZE_4K_BYTES));
	OK(doca_rdma_get_mtu(c.rdma, &mtu));
	cr_assert_eq(mtu, DOCA_MTU_SIZE_4K_BYTES);
	IS(doca_rdma_set_mtu(c.rdma, DOCA_MTU_SIZE_RAW_ETHERNET), NOT_SUPPORTED);
	IS(doca_rdma_set_mtu(c.rdma, (enum doca_mtu_size)6), INVALID_VALUE);
	IS(doca_rdma_set_mtu(NULL, DOCA_MTU_SIZE_256_BYTES), INVALID_VALUE);
	IS(doca_rdma_get_mtu(NULL, &mtu), INVALID_VALUE);
	IS(doca_rdma_get_mtu(c.rdma, NULL), INVALID_VALUE);
	down(&c);
}

Test(conf, permissions_and_address)
{
	struct conf c;
	uint32_t n;
	uint8_t b;

	up(&c);
	OK(doca_rdma_get_permissions(c.rdma, &n));
	cr_assert_eq(n, 0u);
	OK(doca_rdma_set_permissions(
		c.rdma, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE | DOCA_ACCESS_FLAG_RDMA_READ |
				DOCA_ACCESS_FLAG_RDMA_WRITE | DOCA_ACCESS_FLAG_RDMA_ATOMIC));
	OK(doca_rdma_get_permissions(c.rdma, &n));
	cr_assert_eq(n, 15u);
	IS(doca_rdma_set_permissions(c.rdma, DOCA_ACCESS_FLAG_PCI_READ_WRITE), INVALID_VALUE);
	IS(doca_rdma_set_permissions(NULL, 0), INVALID_VALUE);
	IS(doca_rdma_get_permissions(NULL, &n), INVALID_VALUE);
	IS(doca_rdma_get_permissions(c.rdma, NULL), INVALID_VALUE);
	OK(doca_rdma_set_grh_enabled(c.rdma, 1));
	OK(doca_rdma_get_grh_enabled(c.rdma, &b));
	cr_assert_eq(b, 1u);
	IS(doca_rdma_set_grh_enabled(c.rdma, 0), NOT_SUPPORTED);
	IS(doca_rdma_set_grh_enabled(c.rdma, 2), INVALID_VALUE);
	IS(doca_rdma_set_grh_enabled(NULL, 1), INVALID_VALUE);
	IS(doca_rdma_get_grh_enabled(NULL, &b), INVALID_VALUE);
	IS(doca_rdma_get_grh_enabled(c.rdma, NULL), INVALID_VALUE);
	OK(doca_rdma_set_gid_index(c.rdma, 1)); /* 4b.13 */
	OK(doca_rdma_get_gid_index(c.rdma, &n));
	cr_assert_eq(n, 1u);
	IS(doca_rdma_set_gid_index(c.rdma, DPA_MAX_GIDS), INVALID_VALUE);
	IS(doca_rdma_set_gid_index(NULL, 0), INVALID_VALUE);
	IS(doca_rdma_get_gid_index(NULL, &n), INVALID_VALUE);
	IS(doca_rdma_get_gid_index(c.rdma, NULL), INVALID_VALUE);
	OK(doca_rdma_set_sl(c.rdma, 15));
	OK(doca_rdma_get_sl(c.rdma, &n));
	cr_assert_eq(n, 15u);
	IS(doca_rdma_set_sl(c.rdma, 16), INVALID_VALUE);
	IS(doca_rdma_set_sl(NULL, 0), INVALID_VALUE);
	IS(doca_rdma_get_sl(NULL, &n), INVALID_VALUE);
	IS(doca_rdma_get_sl(c.rdma, NULL), INVALID_VALUE);
	down(&c);
}

Test(conf, connections_and_retries)
{
	struct conf c;
	uint16_t n;
	uint8_t b;

	up(&c);
	OK(doca_rdma_get_max_num_connections(c.rdma, &n));
	cr_assert_eq(n, 1u);
	OK(doca_rdma_set_max_num_connections(c.rdma, 65535));
	OK(doca_rdma_get_max_num_connections(c.rdma, &n));
	cr_assert_eq(n, 65535u);
	IS(doca_rdma_set_max_num_connections(c.rdma, 0), INVALID_VALUE);
	IS(doca_rdma_set_max_num_connections(NULL, 1), INVALID_VALUE);
	IS(doca_rdma_get_max_num_connections(NULL, &n), INVALID_VALUE);
	IS(doca_rdma_get_max_num_connections(c.rdma, NULL), INVALID_VALUE);
	OK(doca_rdma_get_rnr_retry_count(c.rdma, &b));
	cr_assert_eq(b, 7u);
	OK(doca_rdma_set_rnr_retry_count(c.rdma, 3));
	OK(doca_rdma_get_rnr_retry_count(c.rdma, &b));
	cr_assert_eq(b, 3u);
	IS(doca_rdma_set_rnr_retry_count(c.rdma, 8), INVALID_VALUE);
	IS(doca_rdma_set_rnr_retry_count(NULL, 1), INVALID_VALUE);
	IS(doca_rdma_get_rnr_retry_count(NULL, &b), INVALID_VALUE);
	IS(doca_rdma_get_rnr_retry_count(c.rdma, NULL), INVALID_VALUE);
	OK(doca_rdma_get_connection_request_timeout(c.rdma, &n));
	cr_assert_eq(n, 2000u);
	OK(doca_rdma_set_connection_request_timeout(c.rdma, 10));
	OK(doca_rdma_get_connection_request_timeout(c.rdma, &n));
	cr_assert_eq(n, 10u);
	IS(doca_rdma_set_connection_request_timeout(c.rdma, 0), INVALID_VALUE);
	IS(doca_rdma_set_connection_request_timeout(NULL, 1), INVALID_VALUE);
	IS(doca_rdma_get_connection_request_timeout(NULL, &n), INVALID_VALUE);
	IS(doca_rdma_get_connection_request_timeout(c.rdma, NULL), INVALID_VALUE);
	down(&c);
}

Test(conf, not_started)
{
	struct doca_rdma_connection *conn = NULL;
	struct doca_gpu_dev_rdma *gpu;
	union doca_data data = {0};
	const void *details = "";
	struct conf c;
	uint64_t handle;
	uint32_t id;
	size_t size = 1;

	up(&c);
	IS(doca_rdma_export(c.rdma, &details, &size, &conn), BAD_STATE);
	IS(doca_rdma_export(NULL, &details, &size, &conn), INVALID_VALUE);
	IS(doca_rdma_export(c.rdma, NULL, &size, &conn), INVALID_VALUE);
	IS(doca_rdma_export(c.rdma, &details, NULL, &conn), INVALID_VALUE);
	IS(doca_rdma_export(c.rdma, &details, &size, NULL), INVALID_VALUE);
	IS(doca_rdma_connect(c.rdma, details, size, (void *)1), BAD_STATE);
	IS(doca_rdma_connect(NULL, details, size, (void *)1), INVALID_VALUE);
	IS(doca_rdma_connect(c.rdma, NULL, size, (void *)1), INVALID_VALUE);
	IS(doca_rdma_connect(c.rdma, details, size, NULL), INVALID_VALUE);
	IS(doca_rdma_get_dpa_handle(c.rdma, &handle), BAD_STATE);
	IS(doca_rdma_get_dpa_handle(NULL, &handle), INVALID_VALUE);
	IS(doca_rdma_get_dpa_handle(c.rdma, NULL), INVALID_VALUE);
	IS(doca_rdma_get_gpu_handle(c.rdma, &gpu), BAD_STATE);
	IS(doca_rdma_get_gpu_handle(NULL, &gpu), INVALID_VALUE);
	IS(doca_rdma_get_gpu_handle(c.rdma, NULL), INVALID_VALUE);
	IS(doca_rdma_connection_get_id(NULL, &id), INVALID_VALUE);
	IS(doca_rdma_connection_set_user_data(NULL, data), INVALID_VALUE);
	IS(doca_rdma_connection_get_user_data(NULL, &data), INVALID_VALUE);
	IS(doca_rdma_dpa_completion_attach(NULL, (void *)1), INVALID_VALUE);
	IS(doca_rdma_dpa_completion_attach(c.rdma, NULL), INVALID_VALUE);
	IS(doca_ctx_start(doca_rdma_as_ctx(c.rdma)), NOT_CONNECTED);
	down(&c);
}

Test(conf, capabilities)
{
	struct doca_dev *other = open_dev("other0");
	struct doca_devinfo *no = doca_dev_as_devinfo(other), *yes;
	struct doca_rdma_gid gid;
	struct conf c;
	uint32_t n;

	up(&c);
	yes = doca_dev_as_devinfo(c.dev);
	OK(doca_rdma_cap_get_max_recv_queue_size(yes, &n));
	cr_assert_eq(n, (uint32_t)DPA_MAX_WR);
	IS(doca_rdma_cap_get_max_recv_queue_size(no, &n), DRIVER);
	IS(doca_rdma_cap_get_max_recv_queue_size(NULL, &n), INVALID_VALUE);
	IS(doca_rdma_cap_get_max_recv_queue_size(yes, NULL), INVALID_VALUE);
	OK(doca_rdma_cap_get_max_send_queue_size(yes, &n));
	cr_assert_eq(n, (uint32_t)DPA_MAX_WR);
	IS(doca_rdma_cap_get_max_send_queue_size(no, &n), DRIVER);
	IS(doca_rdma_cap_get_max_send_queue_size(NULL, &n), INVALID_VALUE);
	OK(doca_rdma_cap_get_max_send_buf_list_len(yes, &n));
	cr_assert_eq(n, (uint32_t)DPA_MAX_SGE);
	IS(doca_rdma_cap_get_max_send_buf_list_len(no, &n), DRIVER);
	IS(doca_rdma_cap_get_max_send_buf_list_len(NULL, &n), INVALID_VALUE);
	OK(doca_rdma_cap_get_max_message_size(yes, &n));
	cr_assert_eq(n, 1u << 31);
	IS(doca_rdma_cap_get_max_message_size(no, &n), DRIVER);
	IS(doca_rdma_cap_get_max_message_size(NULL, &n), INVALID_VALUE);
	OK(doca_rdma_cap_get_gid_table_size(yes, &n));
	cr_assert_eq(n, (uint32_t)DPA_MAX_GIDS);
	IS(doca_rdma_cap_get_gid_table_size(no, &n), DRIVER);
	IS(doca_rdma_cap_get_gid_table_size(NULL, &n), INVALID_VALUE);
	IS(doca_rdma_cap_get_gid(no, 0, 1, &gid), DRIVER);
	IS(doca_rdma_cap_get_gid(NULL, 0, 1, &gid), INVALID_VALUE);
	IS(doca_rdma_cap_get_gid(yes, 0, 1, NULL), INVALID_VALUE);
	IS(doca_rdma_cap_get_gid(yes, DPA_MAX_GIDS, 1, &gid), INVALID_VALUE);
	IS(doca_rdma_cap_get_gid(yes, 1, UINT32_MAX, &gid), INVALID_VALUE);
	OK(doca_rdma_cap_transport_type_is_supported(yes, DOCA_RDMA_TRANSPORT_TYPE_RC));
	IS(doca_rdma_cap_transport_type_is_supported(yes, DOCA_RDMA_TRANSPORT_TYPE_DC),
	   NOT_SUPPORTED);
	IS(doca_rdma_cap_transport_type_is_supported(no, DOCA_RDMA_TRANSPORT_TYPE_RC), DRIVER);
	IS(doca_rdma_cap_transport_type_is_supported(NULL, DOCA_RDMA_TRANSPORT_TYPE_RC),
	   INVALID_VALUE);
	OK(doca_rdma_cap_task_receive_is_supported(yes));
	IS(doca_rdma_cap_task_receive_is_supported(no), NOT_SUPPORTED);
	IS(doca_rdma_cap_task_receive_is_supported(NULL), INVALID_VALUE);
	OK(doca_rdma_cap_task_send_is_supported(yes));
	IS(doca_rdma_cap_task_send_is_supported(no), NOT_SUPPORTED);
	IS(doca_rdma_cap_task_send_is_supported(NULL), INVALID_VALUE);
	OK(doca_rdma_cap_task_write_is_supported(yes));
	IS(doca_rdma_cap_task_write_is_supported(no), NOT_SUPPORTED);
	IS(doca_rdma_cap_task_write_is_supported(NULL), INVALID_VALUE);
	OK(doca_dev_close(other));
	down(&c);
}
