/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <stdlib.h>
#include "link.h"
#include "peer.h"

bool link_open(struct link *l, struct res *r, const struct args *a,
	       struct doca_dpa_completion *comp, uint32_t receives, unsigned int connections)
{
	TRY(doca_rdma_create(r->rdma_dev, &l->rdma));
	l->ctx = doca_rdma_as_ctx(l->rdma);
	TRY(doca_rdma_set_permissions(l->rdma, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE |
						       DOCA_ACCESS_FLAG_RDMA_READ |
						       DOCA_ACCESS_FLAG_RDMA_WRITE));
	TRY(doca_rdma_set_grh_enabled(l->rdma, 1));
	TRY(doca_ctx_set_datapath_on_dpa(l->ctx, r->dpa));
	TRY(doca_rdma_set_recv_queue_size(l->rdma, receives));
	TRY(doca_rdma_task_receive_set_dst_buf_list_len(l->rdma, 1));
	TRY(doca_rdma_set_gid_index(l->rdma, (uint32_t)a->gid_index));
	TRY(doca_rdma_set_max_num_connections(l->rdma, (uint16_t)connections));
	TRY(doca_rdma_dpa_completion_attach(l->rdma, comp));
	TRY(doca_ctx_start(l->ctx));
	l->started = true;
	TRY(doca_rdma_get_dpa_handle(l->rdma, &l->handle));
	return true;
}

static bool connect_one(struct link *l, int fd, unsigned int n)
{
	const void *mine;
	doca_error_t ret;
	size_t len;
	void *other;

	TRY(doca_rdma_export(l->rdma, &mine, &len, &l->connection[n]));
	TRY(doca_rdma_connection_get_id(l->connection[n], &l->id[n]));
	if (!peer_put(fd, mine, len))
		return false;
	other = peer_get(fd, &len);
	if (!other)
		return false;
	ret = doca_rdma_connect(l->rdma, other, len, l->connection[n]);
	free(other);
	if (ret != DOCA_SUCCESS)
		res_complain("doca_rdma_connect", ret);
	return ret == DOCA_SUCCESS;
}

bool link_connect(struct link *l, int fd, unsigned int connections)
{
	for (unsigned int n = 0; n < connections; n++)
		if (!connect_one(l, fd, n))
			return false;
	return peer_meet(fd); /* no side may send before the other can receive */
}

bool link_close(struct link *l)
{
	bool ok = true;

	END(&ok, l->started, doca_ctx_stop(l->ctx));
	END(&ok, l->rdma, doca_rdma_destroy(l->rdma));
	return ok;
}
