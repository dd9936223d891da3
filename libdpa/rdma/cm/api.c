/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* api.c - the public calls of connections by address. */
#include "../rdma.h"
#include "link.h"

/* Check the conditions of calls whose outcome the engine reports. */
static doca_error_t can_connect(const struct doca_rdma *r)
{
	if (!r->started || !r->cm.established)
		return DOCA_ERROR_BAD_STATE;
	return r->cm.epoll < 0 ? DOCA_ERROR_NOT_SUPPORTED : DOCA_SUCCESS;
}

static bool listens_on(const struct doca_rdma *r, uint16_t port)
{
	const struct dpa_cm_listener *s = r->cm.listeners;

	while (s && s->port != port)
		s = s->next;
	return s != NULL;
}

doca_error_t doca_rdma_set_connection_state_callbacks(
	struct doca_rdma *rdma, doca_rdma_connection_request_cb_t doca_rdma_connect_request_cb,
	doca_rdma_connection_established_cb_t doca_rdma_connect_established_cb,
	doca_rdma_connection_failure_cb_t doca_rdma_connect_failure_cb,
	doca_rdma_connection_disconnection_cb_t doca_rdma_disconnect_cb)
{
	if (!dpa_live(rdma) || !doca_rdma_connect_request_cb || !doca_rdma_connect_established_cb ||
	    !doca_rdma_connect_failure_cb || !doca_rdma_disconnect_cb)
		return DOCA_ERROR_INVALID_VALUE;
	rdma->cm.requested = doca_rdma_connect_request_cb;
	rdma->cm.established = doca_rdma_connect_established_cb;
	rdma->cm.failed = doca_rdma_connect_failure_cb;
	rdma->cm.disconnected = doca_rdma_disconnect_cb;
	return DOCA_SUCCESS;
}

doca_error_t doca_rdma_start_listen_to_port(struct doca_rdma *rdma, uint16_t port)
{
	doca_error_t ret;

	if (!dpa_live(rdma) || !port || listens_on(rdma, port))
		return DOCA_ERROR_INVALID_VALUE;
	ret = can_connect(rdma);
	if (ret)
		return ret;
	return dpa_cm_listen(rdma, port) ? DOCA_SUCCESS : DOCA_ERROR_CONNECTION_ABORTED;
}

doca_error_t doca_rdma_stop_listen_to_port(struct doca_rdma *rdma, uint16_t port)
{
	if (!dpa_live(rdma))
		return DOCA_ERROR_INVALID_VALUE;
	if (can_connect(rdma) == DOCA_ERROR_NOT_SUPPORTED)
		return DOCA_ERROR_NOT_SUPPORTED;
	return dpa_cm_unlisten(rdma, port) ? DOCA_SUCCESS : DOCA_ERROR_INVALID_VALUE;
}

doca_error_t doca_rdma_connect_to_addr(struct doca_rdma *rdma, struct doca_rdma_addr *addr,
				       union doca_data connection_user_data)
{
	struct dpa_cm_link *l;
	doca_error_t ret;

	if (!dpa_live(rdma) || !dpa_live(addr))
		return DOCA_ERROR_INVALID_VALUE;
	ret = can_connect(rdma);
	if (ret)
		return ret;
	l = dpa_cm_call(rdma, addr);
	if (!l)
		return DOCA_ERROR_CONNECTION_ABORTED;
	l->c->user_data = connection_user_data;
	return DOCA_SUCCESS;
}

doca_error_t doca_rdma_connection_accept(struct doca_rdma_connection *rdma_connection,
					 void *private_data, uint8_t private_data_len)
{
	struct dpa_cm_link *l;

	if (!dpa_cm_is_in(rdma_connection, CM_REQUESTED) ||
	    !dpa_cm_is_data(private_data, private_data_len))
		return DOCA_ERROR_INVALID_VALUE;
	l = rdma_connection->link;
	if (dpa_cm_accept(l, private_data, private_data_len))
		return DOCA_SUCCESS;
	dpa_cm_end(l);
	return DOCA_ERROR_CONNECTION_ABORTED;
}

doca_error_t doca_rdma_connection_reject(struct doca_rdma_connection *rdma_connection)
{
	struct dpa_cm_link *l;
	bool said;

	if (!dpa_cm_is_in(rdma_connection, CM_REQUESTED))
		return DOCA_ERROR_INVALID_VALUE;
	l = rdma_connection->link;
	said = !rdma_reject(l->id, NULL, 0);
	dpa_cm_end(l);
	return said ? DOCA_SUCCESS : DOCA_ERROR_CONNECTION_ABORTED;
}

doca_error_t doca_rdma_connection_disconnect(struct doca_rdma_connection *rdma_connection)
{
	if (dpa_cm_is_in(rdma_connection, CM_ENDING))
		return DOCA_SUCCESS; /* dpa_cm_break() ends it after the callback */
	if (!dpa_cm_is_in(rdma_connection, CM_ESTABLISHED) &&
	    !(dpa_cm_is_in(rdma_connection, CM_ACCEPTED) && rdma_connection->link->bridged))
		return DOCA_ERROR_INVALID_VALUE;
	return dpa_cm_hang_up(rdma_connection->link) ? DOCA_SUCCESS : DOCA_ERROR_CONNECTION_ABORTED;
}

doca_error_t doca_rdma_connection_get_addr(const struct doca_rdma_connection *rdma_connection,
					   struct doca_rdma_addr **addr)
{
	if (!dpa_live(rdma_connection) || !addr || !rdma_connection->link)
		return DOCA_ERROR_INVALID_VALUE;
	*addr = rdma_connection->link->addr;
	return DOCA_SUCCESS;
}
